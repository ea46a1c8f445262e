/* The memory of one run of an entry, for the interpreter of plans (plan_run.h): of each buffer its elements' values, and
 * when which kernel wrote them for which tensor. Buffers of which the plan puts one in the place of another share bytes:
 * what is written to one of them is lost in the others. */
#pragma once
#include "runtime/model.h"
#include "tools/pipeline/compile.h"

enum { NEO_PLAN_NOBODY = -1, NEO_PLAN_SEVERAL = -2 };

typedef struct {
  uint64_t time;     /* when it was written; 0: it holds nothing */
  neo_tensor tensor; /* that it is an element of; without a time what was written over it, or 0 */
  uint32_t read_in, written_in; /* runs of kernels, from 1 */
  int64_t read_by, written_by;  /* units of these; NEO_PLAN_SEVERAL: more than one */
} neo_plan_cell;

typedef struct {
  neo_tensor like; /* as many elements, to name them */
  uint8_t mem;
  neo_type type;
  int64_t offset, size_bytes, n;
  neo_value *at;
  neo_plan_cell *cell;
  NEO_VEC(int32_t) shares; /* bytes with these buffers */
} neo_plan_region;

typedef struct {
  neo_arena *arena;
  neo_module *m;
  const neo_plan *plan;
  const int64_t *sizes; /* by id */
  const neo_rti_place *place; /* of the entry's frame at these sizes */
  int32_t first_place;
  neo_plan_region *
      *region; /* by the number of a buffer that is no part of another; null: not used */
  uint64_t time;
} neo_plan_memory;

/* Memory of an entry, in which nothing is written. place: of its frame, as a context has it in a
 * call with these sizes. */
neo_plan_memory neo_plan_memory_new(neo_arena *a, neo_module *m, const neo_plan *plan,
                                    const neo_rt_entry *e, const int64_t *sizes,
                                    const neo_rti_place *place);
/* Makes room for a tensor in a buffer, at the sizes of now: those of loops change. */
void neo_plan_memory_reach(neo_plan_memory *x, int32_t buf, neo_tensor t);
/* The region of a buffer; its element `shift` is the buffer's first. */
neo_plan_region *neo_plan_region_of(const neo_plan_memory *x, int32_t buf, int64_t *shift);
/* Unit `unit` of a run accesses an element, to write it for tensor t. BROKEN, or false: another unit of the run accesses
 * it as well, unless both add to it; *why gets a text. */
neo_memory_state neo_plan_memory_read(neo_plan_memory *x, neo_plan_region *r, int64_t at,
                                      uint32_t run, int64_t unit, bool adds, neo_str *why);
bool neo_plan_memory_write(neo_plan_memory *x, neo_plan_region *r, int64_t at, neo_tensor t,
                           uint32_t run, int64_t unit, bool adds, neo_str *why);
/* Why an element that is read for tensor t is empty. */
void neo_plan_add_empty(neo_str *out, const neo_plan_memory *x, const neo_plan_region *r,
                        int64_t at, neo_tensor t);
/* "h[2, 1]": an element of a tensor at these sizes. */
void neo_plan_add_element(neo_str *out, const neo_module *m, const int64_t *sizes, neo_tensor t,
                          int64_t element);

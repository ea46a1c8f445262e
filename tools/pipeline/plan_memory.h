/* For plan_run.c: the memory of one run of an entry, for the interpreter of plans (plan_run.h): the
 * values of each buffer's elements, and when which kernel wrote them for which tensor. Buffers that
 * the plan puts at the same addresses share bytes: a write to one destroys elements of the
 * other. */
#pragma once
#include "runtime/model.h"
#include "tools/pipeline/compile.h"

enum { NEO_PLAN_NOBODY = -1, NEO_PLAN_SEVERAL = -2 };

typedef struct {
  uint64_t time;     /* time of the write; 0: no value */
  neo_tensor tensor; /* the tensor of the value; if there is none, the tensor that overwrote it, or
                        0 */
  uint32_t read_in, written_in; /* number of the run of a kernel, from 1 */
  int64_t read_by, written_by;  /* units of that run; NEO_PLAN_SEVERAL: more than one */
} neo_plan_cell;

typedef struct {
  neo_tensor like; /* a tensor with as many elements, to name them */
  uint8_t mem;
  neo_type type;
  int64_t offset, size_bytes, n;
  neo_value *at;
  neo_plan_cell *cell;
  NEO_VEC(int32_t) shares; /* buffers that share bytes with it */
} neo_plan_region;

typedef struct {
  neo_arena *arena;
  neo_module *m;
  const neo_plan *plan;
  const int64_t *sizes;       /* by id */
  const neo_rti_place *place; /* buffers of the entry's frame at these sizes */
  int32_t first_place;
  neo_plan_region **region; /* by number of a buffer that is no part of another; null: not used */
  uint64_t time;
} neo_plan_memory;

/* The memory of an entry, with nothing written. `place` are the buffers of its frame, as a context
 * has them in a call with these sizes. */
neo_plan_memory neo_plan_memory_new(neo_arena *a, neo_module *m, const neo_plan *plan,
                                    const neo_rt_entry *e, const int64_t *sizes,
                                    const neo_rti_place *place);
/* Makes room for a tensor in a buffer at the present sizes: sizes in loops change. */
void neo_plan_memory_reach(neo_plan_memory *x, int32_t buf, neo_tensor t);
/* The region of a buffer, whose first element is element `shift` of the region. Owned by the
 * memory. */
neo_plan_region *neo_plan_region_of(const neo_plan_memory *x, int32_t buf, int64_t *shift);
/* Read or write an element in unit `unit` of a run; a write is for tensor t. BROKEN or false, with
 * a text in *why: another unit of the run accesses the element as well, and not both add to it. */
neo_memory_state neo_plan_memory_read(neo_plan_memory *x, neo_plan_region *r, int64_t at,
                                      uint32_t run, int64_t unit, bool adds, neo_str *why);
bool neo_plan_memory_write(neo_plan_memory *x, neo_plan_region *r, int64_t at, neo_tensor t,
                           uint32_t run, int64_t unit, bool adds, neo_str *why);
/* Adds the reason why an element that is read for tensor t has no value. */
void neo_plan_add_empty(neo_str *out, const neo_plan_memory *x, const neo_plan_region *r,
                        int64_t at, neo_tensor t);
/* "h[2, 1]": an element of a tensor at these sizes. */
void neo_plan_add_element(neo_str *out, const neo_module *m, const int64_t *sizes, neo_tensor t,
                          int64_t element);

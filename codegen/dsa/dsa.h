/* Dynamic storage allocation: offsets for buffers with known lifetimes in one block of memory, so
 * that its size, the peak, is smallest. solve.c says how it is done. */
#pragma once
#include "base/arena.h"
#include <stdbool.h>

typedef struct {                   /* a buffer */
  int64_t size_bytes, align_bytes; /* the offset is a multiple of align_bytes; 0 counts as 1 */
  int64_t first, last;             /* steps of its life, both included; first <= last */
  int64_t fixed;                   /* its offset, a multiple of align_bytes; NEO_DSA_FREE: any */
  int64_t offset;                  /* out; 0 for a buffer of no bytes */
} neo_dsa_item;
enum { NEO_DSA_FREE = -1 };

/* Budgets of the search, in nodes; a node of a wide instance counts as several, so that a budget
 * bounds the time. For a plan that is the whole work, and for one of n items within a compilation,
 * where each item is a kernel or more to be compiled. */
enum { NEO_DSA_BENCH_NODES = 4000000 };
static inline int64_t neo_dsa_compile_budget(size_t n) {
  return 1000 + 16 * (int64_t)n;
}

typedef struct {
  int64_t peak_bytes;  /* the largest end of a buffer */
  int64_t bound_bytes; /* the largest sum of sizes live at one time: no plan is smaller */
  bool optimal;  /* no plan with these alignments and fixed offsets is smaller, except perhaps by
                        * less than the greatest common divisor of the alignments */
  int64_t nodes; /* visited nodes of the search */
} neo_dsa_result;

/* Plans `n` items; sums of sizes must not overflow. The plan depends on the items alone: not on the
 * machine, and not on the order of lifetimes. Fixed items that overlap one another are the caller's
 * mistake, and keep their offsets. Working memory comes from `scratch`. */
neo_dsa_result neo_dsa_plan(neo_dsa_item *items, size_t n, int64_t budget_nodes,
                            neo_arena *scratch);

/* The plan at smaller sizes than the bounds, as a relation. A place is a buffer of the plan, or,
 * without a buffer, a height of no bytes; `below` of a place are earlier places, none of which ends
 * above its beginning. The offsets
 *
 *   offset(place) = the largest offset(p) + size(p), aligned, of the places p in `below`; 0: none
 *
 * have two properties: buffers that live at the same time share no bytes, for any sizes; and if no
 * size is above that of the plan, no offset is. A buffer of no bytes has no place. */
typedef struct {
  int64_t offset; /* in the plan */
  size_t item;    /* NEO_DSA_NO_ITEM: a height */
  uint32_t below, n_below;
} neo_dsa_place;
#define NEO_DSA_NO_ITEM SIZE_MAX
typedef struct {
  neo_dsa_place *place;
  uint32_t *below; /* numbers of places */
  size_t n, n_below;
} neo_dsa_stack;
/* The places of a valid plan, from below to above; n_below is less than 3 for each of them.
 * always: buffers that share no bytes in the plan share none at other sizes, though they do not
 * live at one time. In a (stack.c). */
neo_dsa_stack neo_dsa_stack_of(const neo_dsa_item *items, size_t n, bool always, neo_arena *a);

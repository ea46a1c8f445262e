/* Concatenations without copies (storage coalescing). A definition that selects each element from
 * several tensors, by ranges of its indices, needs no kernel if their kernels write into its
 * memory:
 *
 *     a[n, c < 16] = ..                                          a is within y at (0, 0)
 *     y[n, c < 24] = select(c < 16, a[n, c], x[n, c - 16])   ->  rest.y[n, c < 8] = x[n, c]
 *                                                                rest.y is within y at (0, 16)
 *
 * The kernel of `a` writes its part of y, one kernel copies x, which is the caller's, and none
 * computes y. */
#pragma once
#include "base/machine.h"
#include "fusion/group.h"
#include "ir/prove/prove.h"

enum { NEO_CONCAT_RANK = 16, NEO_CONCAT_PARTS = 256 };

typedef struct {   /* elements of the result: lo <= index < hi in each dimension */
  neo_expr value;  /* their expression over the axes of the result */
  neo_tensor from; /* a tensor of extents hi - lo with these elements in order; 0: none */
  bool lies;       /* written in place (coalesce.c) */
  neo_expr lo[NEO_CONCAT_RANK], hi[NEO_CONCAT_RANK]; /* over constants and sizes */
} neo_concat_part;

typedef struct {
  neo_tensor out;
  NEO_VEC(neo_concat_part) parts; /* disjoint; they cover the result */
} neo_concat;

/* Splits member k of the group, a root; false: it is not made of two or more parts. Inline members
 * are substituted. In the arena. */
bool neo_concat_of(neo_prover *p, neo_arena *a, const neo_group *g, size_t k, neo_concat *out);

/* Bytes of the tensor at the largest sizes. (live.c) */
double neo_most_bytes(neo_module *m, neo_tensor t);
/* The peak of temporaries' bytes, at the largest sizes, while the groups with runs[g] run in order.
 * Parts of `separate` have their own memory; over[t] is the tensor in whose memory t is, besides
 * what groups say. (live.c) */
double neo_grouping_peak(neo_module *m, neo_arena *a, const neo_grouping *all, const bool *runs,
                         neo_tensor separate, const neo_tensor *over);

/* Writes parts of concatenations in place, if a kernel computes them anyway and nothing else fixes
 * their memory: neither callers nor loops of recurrences see them. Groups that make or read them
 * get new forms and keys. The profile (null: that of x86-64-v3) weighs remaining copies, a kernel
 * each, against the bytes saved. A concatenation is live from its first part on: if that adds more
 * to an entry's peak, as a share, than copies add to its time, early parts are copied. */
void neo_grouping_coalesce(neo_module *m, neo_arena *a, const neo_profile *profile,
                           neo_grouping *all);

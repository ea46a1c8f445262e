/* Concatenations without copies. A definition that takes each element from one of several tensors, by ranges of its
 * indices, needs no kernel where those tensors are made in its memory:
 *
 *     a[n, c < 16] = ..                                          a within y at (0, 0)
 *     y[n, c < 24] = select(c < 16, a[n, c], x[n, c - 16])   ->  rest.y[n, c < 8] = x[n, c]   within y at (0, 16)
 *
 * The kernel of `a` writes its part of y, one kernel copies x, which the caller has, and none makes y. */
#pragma once
#include "base/machine.h"
#include "fusion/group.h"
#include "ir/prove.h"

enum { NEO_CONCAT_RANK = 16, NEO_CONCAT_PARTS = 256 };

typedef struct {  /* the elements of the result at lo <= index < hi, in each dimension */
  neo_expr value; /* over the axes of the result: its expression there */
  neo_tensor
      from;  /* a tensor of the extents hi - lo, whose elements, in order, are these; 0: none */
  bool lies; /* it is made there (coalesce.c) */
  neo_expr lo[NEO_CONCAT_RANK], hi[NEO_CONCAT_RANK]; /* over constants and sizes */
} neo_concat_part;

typedef struct {
  neo_tensor out;
  NEO_VEC(neo_concat_part) parts; /* disjoint; they cover the result */
} neo_concat;

/* Is member k of the group, a root, made of two parts or more? What the group has inline is put in. All of it is in
 * the arena. */
bool neo_concat_of(neo_prover *p, neo_arena *a, const neo_group *g, size_t k, neo_concat *out);

/* Bytes of the tensor at the largest sizes. (live.c) */
double neo_most_bytes(neo_module *m, neo_tensor t);
/* The most bytes of temporaries that are live at once, at the largest sizes, while those of the groups run, in their
 * order, of which runs[g] holds. Parts of `apart` have memory of their own; over[t] is the tensor in whose memory t lies,
 * beside what groups say. (live.c) */
double neo_grouping_peak(neo_module *m, neo_arena *a, const neo_grouping *all, const bool *runs,
                         neo_tensor apart, const neo_tensor *over);

/* Puts parts of concatenations where they belong, wherever a kernel writes them anyway and nothing else says how they
 * lie: neither callers nor loops of recurrences see them. The groups that make or read them get forms and keys anew. The
 * profile (null: that of x86-64-v3) weighs copies that are left, each a kernel, against the bytes that are not copied.
 * A concatenation is live from its first part on: where that adds more to the peak of an entry, as a share of it, than
 * copies add to the entry's time, the parts that come first are copied. */
void neo_grouping_coalesce(neo_module *m, neo_arena *a, const neo_profile *profile,
                           neo_grouping *all);

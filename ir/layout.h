/* Permutations of dimensions: of tensors, and of the axes of definitions. */
#pragma once
#include "ir/ir.h"

/* Permutes the axes of a definition: the new k-th axis is the old one at[k]. Output axes have to
 * come first, and an axis after those that its bounds use. The results keep their dimensions. */
void neo_def_order_axes(neo_module *m, neo_def d, const uint32_t *at);

/* By tensor: null if it stays; else, for the new dimension k, the old one. */
typedef const uint32_t *const *neo_layout;
/* Permutes the dimensions of tensors, and the indices of all reads. The caller permutes the
 * definitions of the tensors. */
void neo_layout_tensors(neo_module *m, neo_layout layout);

/* By tensor: whether users see its dimensions, as an entry, or a gradient that is requested or
 * given, names it. */
bool *neo_named_tensors(const neo_module *m, neo_arena *a);

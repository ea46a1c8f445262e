/* The order of dimensions: of tensors, and of the axes of definitions. */
#pragma once
#include "ir/ir.h"

/* Puts the axes of a definition in another order: the k-th is what was at[k], for all of its axes. Output axes
 * come first, and an axis behind those that its bounds use. Its results keep their dimensions. */
void neo_def_order_axes(neo_module *m, neo_def d, const uint32_t *at);

/* By tensor, null: it stays; else, for dimension k, which one it was. */
typedef const uint32_t *const *neo_layout;
/* Puts the dimensions of tensors in another order, and the indices of all reads. The definitions that make
 * them are left to the caller. */
void neo_layout_tensors(neo_module *m, neo_layout layout);

/* By tensor: do entries, or gradients that are asked for or given, name it? Then users see how it lies. */
bool *neo_named_tensors(const neo_module *m, neo_arena *a);

/* Where elements lie. A tensor has memory of its own, row-major, or is a part of another one's, whose strides it then has:
 *
 *     y[n, c < 24] = select(c < 16, a[n, c], b[n, c - 16])
 *
 *     a within y at (0, 0), b within y at (0, 16):   b[n, c] is element n*24 + c + 16 of y's memory
 *
 * Parts of one tensor have no element in common. fusion/concat.h decides which tensors are parts. */
#pragma once
#include "ir/ir.h"

/* The tensor whose memory holds t: t itself, or the one that it is a part of, through parts of parts. */
neo_tensor neo_tensor_store(const neo_module *m, neo_tensor t);
/* The index along dimension `dim` of neo_tensor_store(m, t) of an element of t whose index is `index`. */
neo_expr neo_store_index(neo_module *m, neo_tensor t, uint32_t dim, neo_expr index);
/* t's elements begin at element `at` of `in` from now on: as many exprs as t has dimensions. */
void neo_store_within(neo_module *m, neo_tensor t, neo_tensor in, const neo_expr *at);

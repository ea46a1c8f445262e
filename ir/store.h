/* Memory of tensors. A tensor has memory of its own, row-major, or is a part of another tensor,
 * whose strides it then has:
 *
 *     y[n, c < 24] = select(c < 16, a[n, c], b[n, c - 16])
 *
 *     a within y at (0, 0), b within y at (0, 16):   b[n, c] is element n*24 + c + 16 of y's memory
 *
 * Parts of one tensor have no element in common. fusion/concat.h decides which tensors are
 * parts. */
#pragma once
#include "ir/ir.h"

/* The tensor whose memory holds t: t itself, or the one that t is a part of, directly or through
 * other parts. */
neo_tensor neo_tensor_store(const neo_module *m, neo_tensor t);
/* The index along dimension `dim` of neo_tensor_store(m, t), of the element of t with index
 * `index`. */
neo_expr neo_store_index(neo_module *m, neo_tensor t, uint32_t dim, neo_expr index);
/* Makes t a part of `in`, at element `at`, which has one expr per dimension of t. */
void neo_store_within(neo_module *m, neo_tensor t, neo_tensor in, const neo_expr *at);

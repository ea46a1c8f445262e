/* Memory of tensors. A tensor has memory of its own, row-major, or lies in that of another tensor.
 * As a part of that tensor it has its strides:
 *
 *     y[n, c < 24] = select(c < 16, a[n, c], b[n, c - 16])
 *
 *     a within y at (0, 0), b within y at (0, 16):   b[n, c] is element n*24 + c + 16 of y's memory
 *
 * Parts of one tensor have no element in common. fusion/concat.h decides which tensors are
 * parts.
 *
 * Or it has a part of its rows: leading dimensions, those before the store's last one, are the
 * same, and the others are row-major from one element of the row on. Tensors of different shapes
 * share rows in turn (fusion/overlay.h):
 *
 *     a[t, i, j]: 3 x 5, at 0 of rows[t, 15]:   a[t, i, j] is element t*15 + i*5 + j
 *     b[t, i]: 9, at 6 of rows[t, 15]:          b[t, i] is element t*15 + 6 + i */
#pragma once
#include "ir/ir.h"

/* The tensor whose memory holds t: t itself, or the one that t lies in, directly or through other
 * parts. */
neo_tensor neo_tensor_store(const neo_module *m, neo_tensor t);
/* The index along dimension `dim` of neo_tensor_store(m, t), of the element of t with index
 * `index`. */
neo_expr neo_store_index(neo_module *m, neo_tensor t, uint32_t dim, neo_expr index);
/* Makes t a part of `in`, at element `at`, which has one expr per dimension of t. */
void neo_store_within(neo_module *m, neo_tensor t, neo_tensor in, const neo_expr *at);
/* Puts t into the rows of `in`, from element `at` of each. */
void neo_store_in_rows(neo_module *m, neo_tensor t, neo_tensor in, neo_expr at);
/* The element of a row of another tensor at which t begins; 0: t lies in no rows. *n_outer: how
 * many dimensions are before a row; all if it lies in none. */
neo_expr neo_store_in_row(const neo_module *m, neo_tensor t, uint32_t *n_outer);

/* Guards of kernels: a kernel computes its results only if they are needed. */
#pragma once
#include "codegen/loop/loop.h"
#include "fusion/group.h"

/* Puts the kernel's statements under the conditions of its group (g->when):
 *
 *     for u in 0..4 unit                 for u in 0..4 unit
 *       y[u] = ...                 ->      if far[0]
 *                                            y[u] = ...
 *
 * The group reads the conditions, so they are in buffers of the kernel. On a GPU all threads of a
 * block read the same values, and in a persistent grid the blocks meet at all barriers. */
void neo_kernel_guard(neo_module *m, neo_kernel *k, const neo_group *g);
/* The same with a condition that is the kernel's expression; null: always. */
void neo_kernel_put_under(neo_kernel *k, const neo_lx *condition);

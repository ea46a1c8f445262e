/* For grad_functions.c: the values that are held fixed while differences are taken.
 *
 * A gradient flows neither through stop(x) nor, as the body says it, through a function with its
 * own gradient; a difference sees both. So differences are taken of a copy of the graph in which
 * these are inputs, with the values that they have at the point:
 *
 *     y[i] = a[i] * stop(a[i] + b[i])      held.y[i] = a[i] * (held.a[i] + held.b[i])
 *     q = ste(a);  l = sum[i] q[i]*a[i]    held.l = sum[i] held.q[i] * a[i]
 *
 * The inputs of the copy stand for the tensors that stop() reads, and for the results of such
 * functions. */
#pragma once
#include "base/map.h"
#include "ir/ir.h"

typedef struct {
  neo_tensor of, input;
} neoc_held;

typedef struct {
  NEO_VEC(neoc_held) at;
  neo_map input_of; /* tensor -> its input */
  bool own;         /* own gradients are taken to be true ones: their functions are not held */
} neoc_holds;

/* Begins without held values, in arena `a`; own: gradients of the program's own are taken to be
 * true ones. */
void neoc_holds_init(neoc_holds *h, neo_arena *a, bool own);
/* Whether t is an input that stands for another tensor. */
bool neoc_holds_input(const neoc_holds *h, neo_tensor t);
/* y in a copy of its graph in which the results of functions with their own gradient are inputs,
 * and, with `stops`, the arguments of stop(); y itself if there are none. Requests for gradients in
 * the graph are copied too. If y is such a result, it is an input. */
neo_tensor neoc_hold(neo_module *m, neo_arena *a, neo_tensor y, bool stops, neoc_holds *h);
/* read[t]: y depends on t. Gradients in the model are still requests: they depend on everything
 * that their y depends on. */
bool *neoc_reads(const neo_module *m, neo_arena *a, neo_tensor y);

/* Definitions that passes add. */
#pragma once
#include "ir/ir.h"

/* A new temporary tensor: what it takes from another one (`like`), and what it has of its own. */
typedef struct {
  const char *prefix; /* prefix of its name, before the name of `like` */
  neo_tensor like;    /* gives name and region */
  neo_type type;
  neo_expr bound;        /* bound of integer elements; 0: none */
  neo_expr least, below; /* ends over the tensor's own indices (ir/ir.h) */
} neo_temp;

/* Adds the tensor and its definition `r`, whose only result it is. Its extents are the upper bounds
 * of r's output axes; its span is r's. Returns the tensor. */
neo_tensor neo_temp_define(neo_module *m, const neo_temp *x, neo_def_rec r);

/* The beginning of a definition that is derived from `of`: its span and its origin. */
neo_def_rec neo_def_derived(const neo_module *m, neo_def of);

/* Makes t, which no definition makes any more, an equation that is derived from `of`:
 *
 *     t[axes] = value */
void neo_equation_define(neo_module *m, neo_def of, neo_tensor t, neo_list axes, neo_expr value);

/* The element of t whose indices are AXIS 0, AXIS 1, ... */
neo_expr neo_load_own(neo_module *m, neo_tensor t, neo_span span);

/* A reduction becomes an equation, in which `value` is what it reduced:
 *
 *     y[i] = f(acc),  acc = sum[r] x[i, r]   ->   y[i] = f(value) */
void neo_reduction_replace(neo_module *m, neo_def d, neo_expr value);

/* Defines a new temporary tensor that holds a part of the computation of definition `of`:
 *
 *     prefix.Y[axes 0 .. n_out - 1] = reducer[axes n_out ..] where ...; body
 *
 * Y is the first result of `of`; span and origin (if `of` has one) are those of `of`. Bounds,
 * `where` (0: always) and `body` are over the axes of the list, AXIS 0 the first; the extents are
 * the upper bounds of the output axes. The elements have the type of `body`, and the sum is not
 * rounded to another type at its end. */
typedef struct {
  const char *prefix;
  neo_def of;
  neo_reducer reducer;
  neo_list axes;
  uint32_t n_out;
  neo_expr where, body;
} neo_partial;

/* Returns the tensor. *x may be a local. */
neo_tensor neo_partial_define(neo_module *m, const neo_partial *x);

/* For horizontal_fusion.c: definitions that are equal up to constants in their indices. The words
 * of a definition are all of it except these constants and the tensors that it reads:
 *
 *     P[n, j] = sum[i] X[n, 3, i] * W[i, j]      reads X at (n, +3, i), W at (i, j)
 *
 * Two definitions with equal words and tensors differ in the constants alone, and are one
 * definition with another axis if their constants grow by one step. */
#pragma once
#include "ir/ir.h"

typedef struct {
  neo_tensor tensor;
  neo_expr load;
  uint32_t first; /* its first constant; one for each dimension */
} neo_structure_read;

typedef struct {
  NEO_VEC(uint32_t) words;
  NEO_VEC(neo_structure_read) reads; /* each node once, in order of occurrence */
  NEO_VEC(int64_t) constants;
} neo_structure;

/* Compared part: the whole definition, or its reduction without `finish`. */
typedef enum { NEO_STRUCTURE_WHOLE, NEO_STRUCTURE_REDUCTION } neo_structure_part;

/* The structure of a definition, or of this part of it, in arena `a`. */
neo_structure neo_structure_of(neo_module *m, neo_arena *a, neo_def d, neo_structure_part part);
/* Are words and tensors equal? */
bool neo_structure_matches(const neo_structure *x, const neo_structure *y);

/* Rewrites an expression of the definition of `form`: AXIS k as by[k] (n of them), and the constant
 * c of an index as c + step*t; step[] has an entry for each of form->constants. */
typedef struct {
  neo_module *m;
  const neo_structure *form;
  const neo_expr *by;
  uint32_t n;
  const int64_t *step;
  neo_expr t;
} neo_structure_family;
neo_expr neo_structure_member(const neo_structure_family *f, neo_arena *a, neo_expr e);

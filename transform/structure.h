/* Definitions that say the same but for constants in their indices. The words of a definition are
 * all of it except these constants, and except which tensors it reads:
 *
 *     P[n, j] = sum[i] X[n, 3, i] * W[i, j]      reads X at (n, +3, i), W at (i, j)
 *
 * Two definitions with equal words that read the same tensors differ in the constants alone, and
 * are one definition of an axis more where their constants grow evenly. */
#pragma once
#include "ir/ir.h"

typedef struct {
  neo_tensor tensor;
  neo_expr load;
  uint32_t first; /* of its constants, one a dimension */
} neo_structure_read;

typedef struct {
  NEO_VEC(uint32_t) words;
  NEO_VEC(neo_structure_read) reads; /* each node once, in order of occurrence */
  NEO_VEC(int64_t) constants;
} neo_structure;

/* What is compared: the whole definition, or its reduction without `finish`. */
typedef enum { NEO_STRUCTURE_WHOLE, NEO_STRUCTURE_REDUCTION } neo_structure_part;

neo_structure neo_structure_of(neo_module *m, neo_arena *a, neo_def d, neo_structure_part part);
/* Equal words, equal tensors. */
bool neo_structure_matches(const neo_structure *x, const neo_structure *y);

/* An expression of the definition that `form` is of, with AXIS k as by[k] (n of them) and the
 * constant c of an index as c + step*t: step[] has as many entries as form->constants. */
typedef struct {
  neo_module *m;
  const neo_structure *form;
  const neo_expr *by;
  uint32_t n;
  const int64_t *step;
  neo_expr t;
} neo_structure_family;
neo_expr neo_structure_member(const neo_structure_family *f, neo_arena *a, neo_expr e);

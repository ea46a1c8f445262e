/* A definition that takes one of several tensors, as the result of a run-time `case` does:
 *
 *     z[n, j] = select(k[] == 0, a[n, j], select(k[] == 1, b[n, j], c[n, j]))
 *
 * Where a, b and c are never made in one call they may be z: then nobody has to take anything. */
#pragma once
#include "ir/needed.h"

enum { NEO_MOST_CHOICES = 256 };

typedef struct {
  neo_tensor of;                     /* the result */
  uint32_t n;                        /* at least 2 */
  neo_tensor from[NEO_MOST_CHOICES]; /* each once; like the result */
} neo_choice;

/* May t be where `of` is: a temporary tensor of the same type and extents? */
bool neo_choice_is_like(const neo_module *m, neo_tensor t, neo_tensor of);
/* Is the definition one? */
bool neo_choice_of(const neo_module *m, neo_def d, neo_choice *out);
/* Do conditions under which the k-th tensor is made exclude those of all others? */
bool neo_choice_is_exclusive(neo_module *m, const neo_choice *c, const neo_conditions *when);

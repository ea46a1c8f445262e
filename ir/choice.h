/* Choices: definitions that select one of several whole tensors, as the result of a run-time `case`
 * does.
 *
 *     z[n, j] = select(k[] == 0, a[n, j], select(k[] == 1, b[n, j], c[n, j]))
 *
 * If no call makes two of a, b and c, all of them can be z itself: the selection costs nothing. */
#pragma once
#include "ir/needed.h"

enum { NEO_MOST_CHOICES = 256 };

typedef struct {
  neo_tensor of;                     /* the tensor that is defined */
  uint32_t n;                        /* number of choices, at least 2 */
  neo_tensor from[NEO_MOST_CHOICES]; /* the tensors chosen from, each once; of the type and extents
                                        of `of` */
} neo_choice;

/* Whether t can share the memory of `of`: t is a temporary tensor of the same type and extents. */
bool neo_choice_is_like(const neo_module *m, neo_tensor t, neo_tensor of);
/* Whether the definition is a choice. */
bool neo_choice_of(const neo_module *m, neo_def d, neo_choice *out);
/* Whether the conditions under which the k-th tensor is made exclude the conditions of all
 * others. */
bool neo_choice_is_exclusive(neo_module *m, const neo_choice *c, const neo_conditions *when);

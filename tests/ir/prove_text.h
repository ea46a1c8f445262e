/* Questions for the prover as text, for the tests: one letter or word for each axis, size and
 * tensor.
 *
 *   sizes    "N<=512; 0<=E<=8; P=(N-3)/2+1"           run-time sizes, then derived ones
 *   tensors  "Y<10; L; Z<N"                           i32 tensors of rank 1, perhaps with a bound;
 *                                                     i64 where the name has a 64 in it
 *   axes     "i<N; 1<=k<i+1"                          in position order
 *   expressions: + - * / % < <= > >= == != and or not min() max() clamp() abs() select() Y[e]
 *                Y[e | other] is LOAD_ELSE */
#ifndef NEO_TESTS_PROVE_TEXT_H
#define NEO_TESTS_PROVE_TEXT_H
#include "ir/prove/prove.h"

typedef struct {
  neo_module *m;
  uint32_t n_axes, n_sizes, n_tensors;
  char axis_name[16][8], size_name[16][8], tensor_name[16][8];
  neo_axis_rec axis[16];
  neo_size size[16];
  neo_tensor tensor[16];
  neo_expr assume[4];
  uint32_t n_assume;
  const char *at;
} question;

/* Null texts are empty. */
void question_init(question *q, neo_module *m, const char *sizes, const char *tensors,
                   const char *axes, const char *assume);
neo_expr question_expr(question *q, const char *text);
neo_facts question_facts(const question *q);

#endif

/* Parts of `neoc verify`. */
#pragma once
#include "tools/neoc/run/runner.h"

typedef struct { /* a tensor with unusual errors */
  const char *what;
  neo_rt_array like; /* its shape */
  int64_t at;        /* one of the elements */
  double got, want, usual, error;
} suspicion;

typedef struct {
  neoc_cli *cli;
  neoc_runner compiled, reference;
  uint64_t seed, state;
  int failures, checks;
  double worst_error, worst_share; /* of one check */
  const char *worst;
  int64_t unbounded; /* elements that rounding alone may move anywhere, and their largest error */
  double loose_error;
  NEO_VEC(suspicion) suspicions; /* of one check */
  double work; /* of the interpreter so far: elements and terms */
  int left; /* checks that are still to come */
} verifier;

/* ---- begin.c */
/* Reports a failure at element k of the tensor x. */
void neoc_verify_complain(verifier *v, const char *what, const neo_rt_array *x, int64_t k,
                          double got, double want, double bound);
/* Both at their start, with v->seed. */
neoc_exit neoc_verify_begin(verifier *v);
/* Parameters and states of the compiled code to a runner that interprets: how far initial values
 * may differ is known, but not to the interpreter that starts from them. */
neoc_exit neoc_verify_align(verifier *v, neoc_runner *r);

/* ---- judge.c */
/* Reports the suspicions whose errors are beyond what rounding moves. The check had so many steps,
 * and `state` of the random inputs when it began. */
neoc_exit neoc_verify_judge(verifier *v, int entry, int steps, uint64_t state);

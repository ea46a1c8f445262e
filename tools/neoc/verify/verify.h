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
  double worst_error, worst_share; /* largest in one check */
  const char *worst;
  int64_t unbounded; /* elements whose error bound is infinite, and their largest error */
  double loose_error;
  NEO_VEC(suspicion) suspicions; /* suspicions of one check */
  double work;                   /* work of the interpreter so far: elements and terms */
  int left;                      /* number of remaining checks */
} verifier;

/* ---- begin.c */
/* Reports a failure at element k of the tensor x. */
void neoc_verify_complain(verifier *v, const char *what, const neo_rt_array *x, int64_t k,
                          double got, double want, double bound);
/* Puts both runners at their start, with v->seed. */
neoc_exit neoc_verify_begin(verifier *v);
/* Copies parameters and states of the compiled code to a runner that interprets. Initial values may
 * differ by a known bound, which the interpreter does not know when it starts from them. */
neoc_exit neoc_verify_align(verifier *v, neoc_runner *r);

/* ---- judge.c */
/* Reports the suspicions whose errors are larger than rounding explains. The check had `steps`
 * steps, and the state of the random inputs at its beginning was `state`. */
neoc_exit neoc_verify_judge(verifier *v, int entry, int steps, uint64_t state);

/* The parts of `neoc grad-check`: grad_check.c compares, grad_functions.c prepares the module. */
#pragma once
#include "tools/neoc/run/runner.h"
#include "tools/neoc/verify/grad_hold.h"

typedef struct { /* one grad_function of the model */
  const char *name;
  neo_tensor y, seed; /* seed 0: y is a scalar */
  neo_tensor y_held;  /* y with held values (grad_hold.h), of which differences are taken */
  neoc_holds *holds;
  NEO_VEC(neo_tensor) wrt;
  uint32_t value, gradient, hold; /* entries; hold: computes the values held, if holds->at.n */
} grad_function;

typedef struct {
  neoc_cli *cli;
  neoc_runner r;
  NEO_VEC(grad_function) functions;
  uint64_t state;
  double eps, rtol, atol;
  double size;     /* sum of the magnitudes of the present value's parts */
  double rounding; /* the resulting error of the present difference */
  int64_t samples, order;
  int64_t checked, failures, kinks;
  NEO_VEC(const char *) own; /* pairs that are not compared */
  bool empty;                /* the model has no entries */
} grad_checker;

/* Called between frontend and passes, with a checker: adds the functions to compare, and everything
 * that they need, to the module. Always NEO_OK. (grad_functions.c) */
neo_status neoc_grad_prepare(void *checker, neo_module *m) NEO_MUST_CHECK;

/* Modules for tests of gradients: text, the pass, values. */
#ifndef NEO_TESTS_GRAD_WORLD_H
#define NEO_TESTS_GRAD_WORLD_H
#include "ir/interp/interp.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_diags *diags;
  neo_names *names;
} grad_world;

void grad_begin(grad_world *w);
/* The messages so far. */
const char *grad_messages(grad_world *w);
/* Carries out the requests of w->m, verified before and after. */
void grad_pass(grad_world *w);
/* Evaluates t; a failure fails the test. */
void grad_eval(neo_interp *p, grad_world *w, neo_tensor t);
/* Inputs from a seed: floats in [0.2, 1.7). */
void grad_fill(grad_world *w, neo_interp *p, uint64_t seed);
/* A text's last request against central differences. */
void grad_check(const char *text);

#endif

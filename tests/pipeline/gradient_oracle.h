/* Gradients of a module against a loop that scatters (random/scatter.h), before and after the
 * passes that rewrite them. All values are small integers: equality is asked for. */
#ifndef NEO_TESTS_GRADIENT_ORACLE_H
#define NEO_TESTS_GRADIENT_ORACLE_H
#include "tests/random/gen.h"

typedef struct {
  bool second;        /* the gradient of a weighted sum of all first gradients, too */
  uint64_t max_proof; /* isl operations a question; 0: as ever */
  /* what was seen */
  uint64_t modules, pieces, split; /* of gradients, tensors in more than one */
  uint64_t remarks;                /* proofs given up */
  double worst; /* points of a gradient's loops over those of the forward pass and its elements */
  uint64_t compared;
  bool broken; /* the last program itself is: it reads out of range at some size */
} gradient_oracle;

/* Adds requests for the gradient of the first entry's first output, with a seed of its own, by
 * every floating-point input, and compares the outcome at several values of the run-time sizes:
 * after autodiff, after `phases`, after `windows`. The module is a copy (its text, parsed), g
 * stays. False: *why says what is wrong, with the module. */
bool gradient_oracle_check(gradient_oracle *o, const neo_gen_program *g, neo_str *why);

/* Only adds the request to m, and an entry "grad" with its outcome. */
neo_grad_rec gradient_oracle_request(neo_module *m);

#endif

/* A model with its network, run side by side by the interpreters. For tests. */
#ifndef NEO_TESTS_NETWORK_WORLD_H
#define NEO_TESTS_NETWORK_WORLD_H
#include "network/interp.h"
#include "tools/pipeline/compile.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

typedef struct {
  const char *path, *text; /* text null: the file `path` below the project's folder */
  const neo_define_option *defines;
  int n_defines;
  bool wide;         /* all floats are f64 */
  uint32_t nodes;    /* neo_net_options */
  const char *entry; /* null: the first that trains */
} world_model;

typedef struct {
  neo_compilation c;
  neo_module *m;
  bool derived;
  uint32_t entry;
  neo_network *n;
  int64_t *sizes;
  neo_interp *whole; /* the synchronous step */
  neo_net_interp *net;
  neo_values **inputs;   /* by tensor of m; of the instance to be sent */
  uint64_t steps, tests; /* instances sent */
} world;

/* Compiles, cuts, verifies. `root` is the project's folder. A failure fails the test. */
void world_open(world *w, const char *root, const world_model *x);
void world_close(world *w);
/* Run-time sizes; all are as large as they may be before. */
void world_size(world *w, const char *name, int64_t value);
/* Derives the gradients of the model and of all actors, and adds the stashes. */
void world_derive(world *w);
/* Begins with initial values, after world_derive, which it calls if need be. */
void world_begin(world *w, uint64_t seed);
/* Fills inputs by a hash of seed, name and element. */
void world_fill(world *w, uint64_t seed);
/* Gives an input or parameter these values, in both. */
void world_give(world *w, const char *name, const double *x, int64_t n);
/* One instance through both, and the losses and everything kept compared: the relative difference
 * must not exceed `tolerance`; 0: equal. */
void world_step(world *w, double tolerance);
/* One instance evaluated by both: the model has an entry that is not for training and returns the
 * loss. Losses are compared, and everything kept. */
void world_test(world *w, double tolerance);
/* The instance of the present inputs, with the next number. */
neo_net_instance world_instance(world *w, double weight);
void world_check(world *w, neo_status s, const neo_str *why);
/* The number of nodes of a kind. */
uint32_t world_count(const world *w, neo_net_kind kind);

#endif

/* Shared by the files of checked facts: facts.c compares modules, facts_plan.c compares a plan with
 * its module, facts_inputs.c makes inputs, facts_count.c counts evaluations that were left out. */
#pragma once
#include "ir/interp/interp.h"
#include "tools/pipeline/compile.h"
#include "tools/pipeline/facts.h"

enum { NEO_FACT_ROUNDS = 4, NEO_FACT_WORK = 200000 };

typedef struct { /* a result of an entry */
  uint32_t entry, name;
  bool update; /* the new value of a parameter or state, which may be an output as well */
  neo_type type;
  neo_values v;
  double *error; /* null: all 0 */
  bool gradient; /* a gradient, computed on a copy of the program as written */
} neo_fact;

typedef struct {  /* one choice of sizes and inputs */
  int64_t *sizes; /* by id; null: there are none */
  uint32_t n_sizes;
  NEO_VEC(neo_fact) known; /* results of the last evaluation */
} neo_fact_round;

typedef enum { NEO_FACT_OF_MODULES, NEO_FACT_OF_PLANS, NEO_FACT_KINDS } neo_fact_kind;
/* The fate of an entry's evaluation on one choice of sizes and inputs. */
typedef enum {
  NEO_FACT_DONE,
  NEO_FACT_NO_SIZES,
  NEO_FACT_LARGE,
  NEO_FACT_NO_INPUTS,
  NEO_FACT_LONG,
  NEO_FACT_ROUNDED,
  NEO_FACT_REFUSED,
  NEO_FACT_OUTCOMES
} neo_fact_outcome;

struct neo_fact_check {
  neo_arena *arena;
  neo_fact_round round[NEO_FACT_ROUNDS];
  int64_t count[NEO_FACT_KINDS][NEO_FACT_OUTCOMES];
};

/* ---- facts_inputs.c */
/* Small sizes at which the program's conditions hold; null: none were found. */
int64_t *neo_fact_sizes(neo_arena *a, const neo_module *m, uint64_t seed);
/* Whether the tensors would take much memory. */
bool neo_fact_are_large(const neo_module *m, const int64_t *sizes);
/* Sets the inputs of choice `number`. False: some input has no valid value at these sizes. */
bool neo_fact_draw(neo_module *m, neo_interp *interp, const int64_t *sizes, uint32_t number);

/* ---- facts_count.c */
/* Adds n to the number of evaluations of this kind that had this outcome. */
void neo_fact_count(neo_fact_check *f, neo_fact_kind kind, neo_fact_outcome k, int64_t n);
/* The number of entries that are evaluated. */
int64_t neo_fact_entries(const neo_module *m);

/* ---- facts.c, for facts_plan.c */
/* Whether the values are equal up to this error. */
bool neo_fact_same(neo_type t, neo_value a, neo_value b, double error);
/* Appends a value of type t, for messages. */
void neo_fact_add_value(neo_str *s, neo_type t, neo_value x);
/* "[2, 1]" for an element by its number; nothing for a scalar. */
void neo_fact_add_index(neo_str *s, const int64_t *extent, uint32_t rank, int64_t element);

/* A question as integer constraints (prove_relation.c), for the solver of integer sets
 * (prove_isl.c) and the memory of what it found (prove_store.c). Private to the prover.
 *
 * Words: the number of dimensions, then conditions, all of which hold.
 *
 *   condition = TRUE | FALSE | AND condition condition | OR condition condition
 *             | (GE | EQ) constant n {dimension coefficient}      constant + sum >= 0, or == 0   */
#pragma once
#include "ir/prove_scope.h"

enum { NEO_REL_DIMS = 40, NEO_REL_CASES = 8, NEO_REL_RULES = 160, NEO_REL_ASSUMED = 64 };
enum { NEO_REL_BRANCHES = 2 * NEO_REL_CASES };
enum { NEO_REL_FALSE, NEO_REL_TRUE, NEO_REL_GE, NEO_REL_EQ, NEO_REL_AND, NEO_REL_OR };

/* A branch of a select, or the second of two conditions: it is evaluated where condition c has this value. `around` is
 * the branch that it is in. Branches are numbered from 1 on; 0 is none. */
typedef struct {
  neo_expr c;
  bool value;
  uint32_t around;
} neo_relation_branch;

typedef struct { /* g >= 0, or g == 0 */
  neo_poly g;
  bool equal;
  int of; /* it holds where this dimension is evaluated; -1: anywhere */
} neo_relation_rule;

/* v (a dimension) is x where c holds, else y; for min and max, c is their comparison. */
typedef struct {
  uint32_t v;
  neo_expr c, x, y;
} neo_relation_choice;

/* A relation holds one question at a time; its storage is used for the next one. */
typedef struct neo_relation {
  neo_prover_scope *s;
  neo_module *m;
  uint32_t n_dims, n_rules, n_choices, n_assumed, n_branches;
  uint32_t here; /* the branch that is looked at: a number, or 0: none */
  uint64_t axes; /* that the goal reaches */
  neo_mono dim[NEO_REL_DIMS];
  uint32_t branch_of[NEO_REL_DIMS]; /* in which a dimension is evaluated; 0: anywhere */
  neo_relation_branch branches[NEO_REL_BRANCHES];
  neo_relation_rule rules[NEO_REL_RULES];
  neo_relation_choice choices[NEO_REL_CASES];
  struct {
    neo_expr e;
    bool value, used;
  } assumed[NEO_REL_ASSUMED];
  NEO_VEC(int64_t) words;
} neo_relation;

/* Writes the words of "the facts, and goal is not `value`". False: too large. */
bool neo_relation_of(neo_relation *r, neo_prover_scope *s, neo_expr goal,
                     bool value) NEO_MUST_CHECK;

/* ---- prove_isl.c */
typedef enum { NEO_ISL_EMPTY, NEO_ISL_POINT, NEO_ISL_QUOTA, NEO_ISL_FAILED } neo_isl_answer;
/* Is there an integer point? If so, its coordinates that fit are in point[] (others: INT64_MIN).
 * At most so many operations. */
neo_isl_answer neo_isl_sample(neo_isl *isl, const int64_t *words, size_t n, uint64_t max_operations,
                              int64_t *point);
/* The solver's context ends with the arena at the latest. */
neo_isl *neo_isl_new(neo_arena *arena);
void neo_isl_free(neo_isl *isl); /* null is allowed */

/* ---- prove_store.c */
/* neo_isl_sample, unless the module's memory of answers has these words. */
neo_isl_answer neo_proofs_sample(neo_prover *p, const int64_t *words, size_t n, uint64_t quota,
                                 int64_t *point);
uint64_t
neo_prover_quota(const neo_prover *p);  /* of operations, for a question that is asked now */
void neo_prover_gave_up(neo_prover *p); /* tells the user, at the place that is asked about */

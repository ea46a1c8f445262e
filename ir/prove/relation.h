/* A question as integer constraints (relation.c), for the solver of integer sets
 * (isl.c) and the memory of its answers (store.c). Private to the prover.
 *
 * Words: the number of dimensions, then conditions, all of which hold.
 *
 *   condition = TRUE | FALSE | AND condition condition | OR condition condition
 *             | (GE | EQ) constant n {dimension coefficient}      constant + sum >= 0, or == 0 */
#pragma once
#include "ir/prove/scope.h"

enum { NEO_REL_DIMS = 40, NEO_REL_CASES = 8, NEO_REL_RULES = 160, NEO_REL_ASSUMED = 64 };
enum { NEO_REL_BRANCHES = 2 * NEO_REL_CASES };
enum { NEO_REL_FALSE, NEO_REL_TRUE, NEO_REL_GE, NEO_REL_EQ, NEO_REL_AND, NEO_REL_OR };

/* A branch of a select, or the second of two conditions: evaluated where condition c has this
 * value. `around` is the branch that contains it. Branches are numbered from 1 on; 0 is none. */
typedef struct {
  neo_expr c;
  bool value;
  uint32_t around;
} neo_relation_branch;

typedef struct { /* g >= 0, or g == 0 */
  neo_poly g;
  bool equal;
  int of; /* the rule holds where this dimension is evaluated; -1: everywhere */
} neo_relation_rule;

/* v (a dimension) is x where c holds, else y. For min and max, c is their comparison. */
typedef struct {
  uint32_t v;
  neo_expr c, x, y;
} neo_relation_choice;

/* Holds one question at a time; its storage is reused for the next one. */
typedef struct neo_relation {
  neo_prover_scope *s;
  neo_module *m;
  uint32_t n_dims, n_rules, n_choices, n_assumed, n_branches;
  uint32_t here; /* the branch being visited, by number; 0: none */
  uint64_t axes; /* axes that the goal depends on */
  neo_mono dim[NEO_REL_DIMS];
  uint32_t branch_of[NEO_REL_DIMS]; /* the branch in which a dimension is evaluated; 0:
                                       everywhere */
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

/* ---- isl.c, for store.c */
typedef enum { NEO_ISL_EMPTY, NEO_ISL_POINT, NEO_ISL_QUOTA, NEO_ISL_FAILED } neo_isl_answer;
/* Finds an integer point, with at most max_operations operations. Its coordinates are in point[],
 * INT64_MIN for those that do not fit. */
neo_isl_answer neo_isl_sample(neo_isl *isl, const int64_t *words, size_t n, uint64_t max_operations,
                              int64_t *point);
/* Makes a context of the solver, which ends with the arena at the latest. */
neo_isl *neo_isl_new(neo_arena *arena);
void neo_isl_free(neo_isl *isl); /* null is allowed */

/* ---- store.c, for prove.c */
/* neo_isl_sample, unless the module's memory of answers has these words. */
neo_isl_answer neo_proofs_sample(neo_prover *p, const int64_t *words, size_t n, uint64_t quota,
                                 int64_t *point);
/* The quota of operations for a question that is asked now. */
uint64_t neo_prover_quota(const neo_prover *p);

/* Declarations that the files of the prover share. A scope is a context (axes, assumptions) with
 * everything that was derived in it. A question passes through:
 *
 *   prove.c           memo, the order of methods, statistics
 *   logic.c     conditions -> questions "polynomial >= 0"; assumptions -> facts
 *   form.c      expression -> polynomial over atoms, where no operator wraps
 *   digits.c    / and % of polynomials; n*(x/n) + x%n back to x
 *   bound.c     lower bound of a polynomial, by substituting bounds of atoms, innermost first
 *   range.c     numeric ranges of atoms, by the arithmetic of range.h
 *   witness.c   points where a goal is false, by evaluation
 *   relation.c  the remaining questions, as integer constraints
 *   isl.c       a point that satisfies the constraints
 *   store.c     results shared by all provers of a module; the statistics
 *
 * Invariant: caches are written only while no temporary fact is pushed and fuel is left, so that
 * they hold in the scope without conditions. Private to the prover. */
#pragma once
#include "ir/prove/poly.h"
#include "ir/prove/prove.h"
#include "ir/range.h"

typedef struct {
  const neo_poly *g; /* g >= 0, tightened */
  uint32_t top;      /* the atom of g that is eliminated first */
} neo_fact;

typedef struct { /* a bool expression of known value */
  uint32_t e;
  bool value;
} neo_literal;

typedef struct neo_prover_scope {
  neo_prover *p;
  neo_module *m;
  const neo_axis_rec *axes;
  const neo_expr *assume;
  uint32_t n_axes, n_assume;
  struct neo_prover_scope *next; /* next with equal hash */
  NEO_VEC(neo_fact) facts;
  NEO_VEC(neo_literal) known;
  neo_map forms, ranges; /* expression -> neo_poly *, neo_range * */
  neo_map results;       /* goal -> neo_result * */
  neo_map simple;        /* expression -> its simplified form */
  uint64_t maybe_empty;  /* axes that may have no points, */
  bool knows_empty;      /* set once the question was asked */
  uint32_t pushed;       /* conditions pushed */
  uint32_t depth;        /* depth of the forms being built */
  uint32_t eliminations; /* nested ones; too many use up the fuel, which bounds the stack */
  int32_t fuel;          /* steps left for this question */
  bool never;            /* the facts contradict each other: no point is in the domain */
} neo_prover_scope;

typedef struct {
  neo_proof proof;
  const neo_witness *witness; /* REFUTED */
  bool gave_up;               /* the quota ended the search: the proof is UNKNOWN */
  uint64_t quota;             /* the quota at the time of the proof */
} neo_result;

typedef struct neo_isl neo_isl;
typedef struct neo_proofs neo_proofs;
typedef struct neo_witness_search neo_witness_search;
struct neo_prover {
  neo_module *m;
  neo_map scopes; /* hash -> neo_prover_scope * */
  neo_isl *isl;   /* made at the first use, as is `relation` */
  struct neo_relation *relation;
  bool quiet;        /* a proof that is given up is counted, and not reported */
  uint64_t given_up; /* answers */
  neo_span at;       /* the source position of the question */
  double at_seconds; /* seconds in isl for that position */
  bool insists;
  neo_prover_stats stats;
};

enum { NEO_PROVE_FUEL = 600 };

/* ---- prove.c */
neo_prover_scope *neo_prover_of(neo_prover *p, const neo_facts *facts);
/* The scope with one more assumption: e has this value. */
neo_prover_scope *neo_prover_under(neo_prover_scope *s, neo_expr e, bool value);
/* All methods; the result lives as long as the scope. */
const neo_result *neo_prover_prove(neo_prover_scope *s, neo_expr goal);

/* ---- logic.c */
/* Whether e (bool) always has the value `value`, by polynomials alone. */
bool neo_prover_decide(neo_prover_scope *s, neo_expr e, bool value);
/* Adds the facts that e == value implies. */
void neo_prover_assume(neo_prover_scope *s, neo_expr e, bool value);
/* Adds them until pop, which takes the mark. */
typedef struct {
  size_t facts, known;
  bool never;
} neo_mark;
neo_mark neo_prover_push(neo_prover_scope *s, neo_expr e, bool value);
void neo_prover_pop(neo_prover_scope *s, neo_mark mark);
/* Adds, until pop, that the axes that e depends on have points; false: that is no new fact. */
bool neo_prover_push_points(neo_prover_scope *s, neo_expr e, neo_mark *mark) NEO_MUST_CHECK;
/* The comparison as "g >= 0" (LT, LE) or "g == 0" (EQ, NE); false if it is not of integers. */
bool neo_prover_compare(neo_prover_scope *s, neo_expr e, neo_poly *g) NEO_MUST_CHECK;

/* ---- form.c */
/* The value of any integer expression (of any integer type) as a polynomial; an atom if nothing
 * better is known. */
void neo_prover_form(neo_prover_scope *s, neo_expr e, neo_poly *out);
/* The atom without conversions that preserve its value. */
neo_expr neo_prover_peel(neo_prover_scope *s, neo_expr e);
bool neo_expr_is_integer(const neo_module *m, neo_expr e); /* whether e has an integer type, not
                                                              bool */

/* ---- digits.c */
/* Whether n >= 1 wherever e, which divides by it, has a value. If e depends on an axis, that axis
 * has points: for i < N*M, where N and M may be 0, i/M has no points if M is 0. An expression that
 * does not depend on the axis proves nothing, as it may be moved out of its loop. */
bool neo_prover_divisor(neo_prover_scope *s, const neo_poly *n, neo_expr e);
/* Turns a polynomial g = x/c - k, with numbers c > 0 and k, into x - c*k: both are nonnegative for
 * the same x. False: g has another form. */
bool neo_prover_unquotient(neo_prover_scope *s, neo_poly *g) NEO_MUST_CHECK;
/* hi - lo - 1 of an axis, which is not negative where the axis has a value. */
bool neo_prover_points_of_axis(neo_prover_scope *s, uint32_t axis, neo_poly *g) NEO_MUST_CHECK;
/* The form of a DIV or MOD node by a positive divisor; false if nothing is known. */
bool neo_digits_form(neo_prover_scope *s, neo_expr e, neo_poly *out) NEO_MUST_CHECK;
/* a*n*(x/n) + a*(x%n) + b -> a*x + b, in place. */
void neo_digits_merge(neo_prover_scope *s, neo_poly *p);

/* ---- bound.c */
neo_range neo_prover_bounds(neo_prover_scope *s, const neo_poly *g);
bool neo_prover_nonneg(neo_prover_scope *s, const neo_poly *g);
/* g + c >= 0 */
bool neo_prover_at_least(neo_prover_scope *s, const neo_poly *g, int64_t c);
/* The order of elimination: atoms of inner axes first, opaque atoms before the axes in them. */
uint32_t neo_prover_level(const neo_prover_scope *s, uint32_t atom);
uint32_t neo_prover_top(neo_prover_scope *s, const neo_poly *g); /* g is not a constant */

/* ---- range.c */
neo_range neo_prover_range(neo_prover_scope *s, uint32_t atom);
/* A range from the ranges of the atoms of g: quick. */
neo_range neo_prover_box(neo_prover_scope *s, const neo_poly *g);
neo_range neo_prover_box_term(neo_prover_scope *s, const neo_mono *t);
neo_range neo_prover_expr_range(neo_prover_scope *s, neo_expr e);

/* ---- store.c */
/* The module's witness search, which its provers share; null at first. */
neo_witness_search **neo_proofs_trial(neo_module *m);

/* ---- witness.c, for prove.c */
/* Prepares the search for a point of this scope at which e does not have this value. The storage
 * is the module's and valid until the next question of any of its provers. */
neo_witness_search *neo_witness_search_new(neo_prover_scope *s, neo_expr e, bool value);
/* Tries corners and some inner points. True: *w is a counterexample, shrunk. */
bool neo_witness_search_points(neo_witness_search *t, neo_witness *w);
/* Whether *w is a counterexample. Axis k is first set to its least value where bit k of `given` is
 * not set. */
bool neo_witness_search_check(neo_witness_search *t, uint64_t given, neo_witness *w);
void neo_witness_search_shrink(neo_witness_search *t, neo_witness *w);
/* Enumerates all points of the domain, if they are few. */
neo_proof neo_witness_search_all(neo_witness_search *t, neo_witness *w);
/* The position of a run-time size in witnesses, -1 if it has none. */
int neo_witness_search_size(const neo_witness_search *t, uint32_t size);
/* Sets everything in *w to its least value. */
void neo_witness_search_start(const neo_witness_search *t, neo_witness *w);

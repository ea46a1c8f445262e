/* Proofs over index expressions: polynomials and intervals first, isl where they fail.
 *
 * Facts: each axis k lies in [lo_k, hi_k) (bounds over earlier axes and sizes), each run-time size
 * in its declared range, each element of a tensor with a bound in [0, bound), and the assumptions
 * given (quasi-affine parts of and/or/not and comparisons are used; what is not quasi-affine is
 * ignored, which is sound). Products of sizes, loads and other non-affine i64 nodes are opaque
 * parameters with their interval as a fact. Flattened indices (b*T + t with t < T, and / % T back)
 * are recognised as mixed-radix digits before isl. Results are memoised by canonical question; isl
 * runs under an operations quota, so every question terminates quickly; a domain of few points is
 * gone through where isl has not decided after few operations, before it gets the whole quota.
 *
 * Integer arithmetic that may wrap is opaque, so that a proof also holds for the machine's
 * integers. The files behind this header are listed in scope.h. */
#pragma once
#include "ir/ir.h"

typedef enum { NEO_UNKNOWN, NEO_PROVED, NEO_REFUTED } neo_proof;
typedef struct neo_prover neo_prover;

typedef struct { /* a counterexample: values of axes and of the run-time sizes that matter */
  uint32_t n_axes, n_sizes;
  int64_t axis[NEO_DEF_AXES];
  struct {
    neo_size size;
    int64_t value;
  } size[32];
} neo_witness;

/* Makes a prover in the module's arena; its isl context ends with that arena, if neo_prover_free is
 * not called before. One thread at a time. */
neo_prover *neo_prover_new(neo_module *m);
void neo_prover_free(neo_prover *p); /* null is allowed */
/* The module that the prover was made for; never null. */
neo_module *neo_prover_module(const neo_prover *p);
/* Sets the source position of the questions from here on: a proof given up for its quota is
 * reported there, as a remark. Returns the position before. */
neo_span neo_prover_at(neo_prover *p, neo_span at);

/* Suppresses remarks for proofs that are given up from here on: no compiled code depends on
 * them. */
void neo_prover_be_quiet(neo_prover *p);
/* The number of questions that were given up because the quota was used up. */
uint64_t neo_prover_given_up(const neo_prover *p);
/* Switches insisting on or off. An insisting prover answers questions that decide whether a program
 * is valid, such as the order of a recurrence: each proof has at least NEO_PROOF_QUOTA operations.
 * Returns the previous setting. */
bool neo_prover_insist(neo_prover *p, bool insists);

/* Statistics of a prover, for `explain`. Exactly one of the counts memo .. unknown grows with each
 * question. */
typedef struct {
  uint64_t questions, memo, interval, points, isl_proved, isl_refuted, enumerated, unknown;
  uint64_t isl_calls, isl_known, isl_quota; /* calls of isl; answers from an equal set; quota
                                               exceeded */
  double isl_seconds;                       /* CPU time of this process */
  neo_span slowest;                         /* the question that isl worked longest on */
  double slowest_seconds;
} neo_prover_stats;
/* The statistics of this prover so far. */
neo_prover_stats neo_prover_statistics(const neo_prover *p);

/* State that the provers of a module share: the memory of integer sets, the quota of operations per
 * question, and the sum of their statistics, to which a prover adds its own when it is freed. */
enum { NEO_PROOF_QUOTA = 300000 };
void neo_proofs_limit(neo_module *m, uint64_t max_operations); /* 0: NEO_PROOF_QUOTA */
uint64_t neo_proofs_most(const neo_module *m);                 /* the quota */
/* The same for all provers of a module so far. */
neo_prover_stats neo_proofs_total(const neo_module *m);
void neo_proofs_restart(neo_module *m); /* sums begin at 0 again */

/* A context: axes in position order (AXIS k is axes[k]) and assumptions (bool expressions that
 * hold). At most NEO_DEF_AXES axes. Null where there are neither. */
typedef struct {
  const neo_axis_rec *axes;
  uint32_t n_axes;
  const neo_expr *assume;
  uint32_t n_assume;
} neo_facts;

/* Decides whether `goal` (bool) holds at all points of the domain. REFUTED fills w (may be null)
 * with a point at which it does not, and which certainly exists (no opaque value is involved).
 * UNKNOWN: neither could be shown. */
neo_proof neo_prove(neo_prover *p, const neo_facts *facts, neo_expr goal, neo_witness *w);
bool neo_proves(neo_prover *p, const neo_facts *facts, neo_expr goal); /* PROVED, and no witness */
/* Decides whether 0 <= index < extent at all points. */
neo_proof neo_prove_index(neo_prover *p, const neo_facts *facts, neo_expr index, neo_expr extent,
                          neo_witness *w);
bool neo_proves_index(neo_prover *p, const neo_facts *facts, neo_expr index, neo_expr extent);
/* The interval of an i64 expression. False: an end is unbounded, and is INT64_MIN or INT64_MAX.
 * Facts that hold at no point are left out. */
bool neo_interval(neo_prover *p, const neo_facts *facts, neo_expr e, int64_t *lo, int64_t *hi);
/* Simplifies e: comparisons that the facts decide become constants, a LOAD_ELSE whose guard always
 * holds becomes a LOAD, and x % n and x / n of x in [0, n) disappear. */
neo_expr neo_simplify_under(neo_prover *p, const neo_facts *facts, neo_expr e);

/* Loop bounds from conditions. The comparisons of the conjunction `cond` that bound AXIS `axis`
 * linearly become exact integer bounds. (The axis' coefficient is a constant or of proved sign; all
 * else in the comparison is free of this and of later axes.)
 *
 *     p in [0, P), cond 0 <= z - 2*p < 3
 *     ->  lo = max(0, (z - 1)/2), hi = min(P, z/2 + 1), rest = none
 *
 * [lo, hi) starts from the axis' own bounds; the points of the axis with lo <= axis < hi and `rest`
 * are those with cond. Bounds that the facts on earlier axes make redundant are dropped, and so are
 * conjuncts that always hold. *rest is the remaining condition ({0}: none). True if [lo, hi) or the
 * condition changed. The range is empty if hi <= lo. */
bool neo_tighten(neo_prover *p, const neo_facts *facts, uint32_t axis, neo_expr cond, neo_expr *lo,
                 neo_expr *hi, neo_expr *rest);

/* Declarations shared by system.c (the equations), solve.c (the rules) and gather.c (from a read to
 * its term). */
#pragma once
#include "autodiff/internal.h"

enum { AD_MAX_EQ = 48, AD_MAX_RADIX = 8 };

typedef struct {
  neo_expr lhs, rhs; /* lhs over all axes, rhs over the output position and unsolved axes */
  bool done;
} ad_equation;

/* The system of a read. AXIS 0 .. n_out are the output position z, AXIS n_out + k is the
 * definition's k-th axis. Bounds of an unsolved axis use the output position and earlier unsolved
 * axes; bounds of a solved axis are not changed. */
typedef struct {
  ad_env *env;
  neo_module *m;
  uint32_t n_out, n; /* output axes; all axes */
  neo_axis_rec axis[NEO_DEF_AXES];
  bool solved[NEO_DEF_AXES];
  neo_expr by[NEO_DEF_AXES]; /* substitution of solved axes */
  ad_equation eq[AD_MAX_EQ];
  uint32_t n_eq;
  /* Conditions of substituted axes, ordered so that each may rely on those before it; and the other
   * conditions, which may rely on all of these. */
  neo_expr range, where;
  uint64_t in_hull; /* axes whose bounds the present hull uses: stops endless recursion */
  uint32_t n_radix; /* axes that rules have split or added */
  bool left;        /* no axis is substituted: every index becomes a condition */
  bool failed;      /* the range of an axis depends on later axes, and is not bounded without
                       them */
} ad_system;

/* ---- system.c, for solve.c */
/* Does an unsolved axis occur in e? */
bool ad_system_is_open(ad_system *s, neo_expr e);
/* e simplified under the facts. */
neo_expr ad_system_simpler(ad_system *s, const neo_facts *f, neo_expr e);
/* Substitutes `value` for axis k, whose range becomes a condition. */
void ad_system_substitute(ad_system *s, uint32_t k, neo_expr value);
/* Adds a condition. */
void ad_system_require(ad_system *s, neo_expr cond);
/* The axes with their bounds. */
neo_facts ad_system_facts(ad_system *s);
/* Whether k is proved to be positive, and free of unsolved axes. */
bool ad_system_is_positive(ad_system *s, neo_expr k);
/* The least (sign < 0) or largest value of e over the allowed axes; false: it has none. */
bool ad_system_hull(ad_system *s, neo_expr e, uint64_t allowed, int sign, neo_expr *out);
/* Adds the equation lhs == rhs; with too many equations the system fails. */
void ad_system_equate(ad_system *s, neo_expr lhs, neo_expr rhs);
/* e with the solved axes substituted; 0 stays 0. */
neo_expr ad_system_apply(ad_system *s, neo_expr e);
/* e with guards on its reads, which may be out of range where the conditions do not hold. */
neo_expr ad_guard_reads(neo_module *m, neo_expr e);

/* ---- solve.c, for gather.c */
/* Takes the equations out of the system's condition, and solves them for the axes as far as the
 * rules of solve.c go. */
void ad_system_solve(ad_system *s);

/* Conditions that a kernel can ask for before its loops: bool expressions over run-time sizes
 * and elements at fixed positions, as `far[]`, `k[] == 2`, `not (kind[3] < B)`.
 *
 * They are of integers and bools alone, and so exact: whoever computes one finds the same. One that
 * is hidden in several expressions is written in one way (neo_condition_of). */
#pragma once
#include "ir/ir.h"

/* Is it of this kind, and neither a constant nor a conjunction? */
bool neo_is_condition(const neo_module *m, neo_expr e);
/* The same of a condition at a point: its elements may lie at positions over axes, as `k[AXIS 0] == 2` does. Comparisons of axes alone are none. Whether such
 * a position is in range only its reader knows. */
bool neo_is_point_condition(const neo_module *m, neo_expr e);
/* Has it one value in a call: without axes, results of a reduction, random numbers and indices of
 * loops? Such an expression is a condition once its value is in memory (frontend/sema/branches.c). */
bool neo_is_uniform(const neo_module *m, neo_expr e);
/* The same condition as comparisons by ==, < and elements, or the negation of one: x != y is not
 * (x == y). */
neo_expr neo_condition_of(neo_module *m, neo_expr e);
neo_expr neo_condition_not(neo_module *m, neo_expr e);
/* The parts of a conjunction, each as neo_condition_of has it; false: they are more than `most`. */
bool neo_condition_parts(neo_module *m, neo_expr e, neo_expr *at, uint32_t *n,
                         uint32_t most) NEO_MUST_CHECK;

typedef enum { NEO_CONDITION_OPEN, NEO_CONDITION_HOLDS, NEO_CONDITION_FAILS } neo_condition_value;
/* What a condition is where others, as neo_condition_of has them, hold: k[] == 3 fails where k[]
 * == 2 does. */
neo_condition_value neo_condition_where(neo_module *m, const neo_expr *holds, uint32_t n,
                                        neo_expr e);

/* Adds the parts of e to a conjunction at[0 .. *n - 1], without what follows from the others;
 * those for which there is no room are left out. False: they never all hold. */
bool neo_condition_add(neo_module *m, neo_expr *at, uint32_t *n, uint32_t most, neo_expr e);

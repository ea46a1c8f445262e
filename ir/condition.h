/* Conditions that a kernel can test before its loops: bool expressions over run-time sizes and
 * elements at fixed positions, as `far[]`, `k[] == 2`, `not (kind[3] < B)`.
 *
 * A condition is of integers and bools alone, and so exact: every kernel that computes it gets the
 * same value. Equal conditions that are written in several ways get one form (neo_condition_of). */
#pragma once
#include "ir/ir.h"

/* Whether e is a condition, and neither a constant nor a conjunction. */
bool neo_is_condition(const neo_module *m, neo_expr e);
/* Whether e is a condition at a point: its elements may be at positions over axes, as in
 * `k[AXIS 0] == 2`. A comparison of axes alone is none. The reader has to know that such a position
 * is in range. */
bool neo_is_point_condition(const neo_module *m, neo_expr e);
/* Whether e has one value per call: it uses no axes, accumulators, random numbers or indices of
 * loops. Such an expression is a condition once its value is in memory
 * (frontend/sema/branches.c). */
bool neo_is_uniform(const neo_module *m, neo_expr e);
/* The canonical form of a condition: comparisons by ==, < and elements, or the negation of one.
 * `x != y` becomes `not (x == y)`. */
neo_expr neo_condition_of(neo_module *m, neo_expr e);
/* The canonical form of the negation. */
neo_expr neo_condition_not(neo_module *m, neo_expr e);
/* Lists the parts of a conjunction, each in canonical form; false: they are more than `most`. */
bool neo_condition_parts(neo_module *m, neo_expr e, neo_expr *at, uint32_t *n,
                         uint32_t most) NEO_MUST_CHECK;

typedef enum { NEO_CONDITION_OPEN, NEO_CONDITION_HOLDS, NEO_CONDITION_FAILS } neo_condition_value;
/* The value of a condition under the assumption that others hold, all as neo_condition_of writes
 * them: k[] == 3 fails where k[] == 2 holds. */
neo_condition_value neo_condition_where(neo_module *m, const neo_expr *holds, uint32_t n,
                                        neo_expr e);

/* Adds the parts of e to the conjunction at[0 .. *n - 1], except those that follow from the others;
 * parts beyond `most` are left out. False: the conjunction never holds. */
bool neo_condition_add(neo_module *m, neo_expr *at, uint32_t *n, uint32_t most, neo_expr e);

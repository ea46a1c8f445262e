/* For frontend/check: parameters of a signature while they are bound to arguments (calls.c). */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {
  const neo_ast_expr *e;
  neo_expr extent;
  uint32_t param, dim;
} neo_pending;

typedef struct {
  neo_inst *in;
  const neo_inst *at; /* the instance in which errors of arguments are reported */
  const neo_ast_sig *sig;
  const neo_actuals *actual;
  const neo_val *option;
  const neo_span *option_span;
  NEO_VEC(neo_pending) later;
} neo_binding;

/* Adds a parameter with the value of its argument to the scope of the instance. */
void neo_param_bind(neo_inst *in, const neo_ast_name *name, neo_val v);
/* Whether the expression is a number or bool, or one with a sign. */
bool neo_ast_is_literal(const neo_ast_expr *e);
int neo_option_index(const neo_ast_sig *sig, const char *name); /* -1: none */
void neo_option_unknown(neo_frame *f, const neo_ast_sig *sig, const neo_ast_arg *arg); /* reports */

/* Reports an extent that is not the declared one; returns false. */
bool neo_param_extent_differs(neo_binding *b, uint32_t param, uint32_t dim, const neo_ast_expr *e,
                              neo_expr want, neo_expr have);
/* The names in e that the scope itself does not define: their number, and the last of them. */
typedef struct {
  const neo_ast_name *name;
  uint32_t n;
} neo_unknowns;
/* The names in an expression that the scope does not know yet. */
neo_unknowns neo_param_unknowns(const neo_scope *scope, const neo_ast_expr *e);
/* Makes dimensions first .. first + n of v the parameter's `..`. Parameters may differ there, as
 * long as each statement of the function reads one shape at `..` (neo_pack_differs). */
void neo_param_pack(neo_binding *b, const neo_view *v, uint32_t param, uint32_t first, uint32_t n);
/* The other functions are checks that report and return false. */
bool neo_param_rank(neo_binding *b, uint32_t param, uint32_t rank) NEO_MUST_CHECK;
/* Checks the type; a literal takes the parameter's type. False after a report. */
bool neo_param_type(neo_binding *b, uint32_t param, neo_val *v) NEO_MUST_CHECK;
/* The exclusive upper bound that the elements are known to have; 0: none. */
neo_expr neo_param_bound(neo_binding *b, const neo_val *v);
/* Whether the elements of the argument, below `have` (0: not known), are below `want`; false after
 * a report. */
bool neo_param_bound_holds(neo_binding *b, uint32_t param, neo_expr have,
                           neo_expr want) NEO_MUST_CHECK;

/* The rules of the language, over its syntax tree.
 *
 *   files       modules.c, which calls outputs.c and train.c at the end of the main file
 *   statements  statements.c define.c declare.c      } call each other, as an expression may
 *   calls       calls.c                              } call a function, whose body is statements;
 *   expressions exprs.c ranges.c                     } all else is in frontend/sema
 *
 * The functions that they are written with are in frontend/sema/parts.h.
 *
 * Memory: frames, results and scopes are in the arena of the compilation. A value that an error
 * left is poison, which is not reported again.
 *
 * A function that returns bool returns false after a report, unless its comment says otherwise. */
#pragma once
#include "frontend/sema/parts.h"

/* ---- expressions (exprs.c) */
/* Checks an expression; its value, or poison after a report. */
neo_val neo_check_expr(neo_frame *f, const neo_ast_expr *e);
neo_expr neo_check_condition(neo_frame *f, const neo_ast_expr *e); /* bool; 0 if poison */
neo_expr neo_check_index(neo_frame *f, const neo_ast_expr *e);     /* i64; 0 if poison */
/* Checks e where type t is wanted. Literals that meet no typed operand get type t; or f64, if t is
 * an integer and they are not, which the caller converts or reports. */
neo_val neo_check_typed(neo_frame *f, const neo_ast_expr *e, neo_type t);

/* ---- unused names (unused.c) */
/* Warns of names of the main file that no entry needs; `scope` is its top level. */
void neo_check_unused(neo_fe *fe, const neo_scope *scope);
/* Warns of carries that never change. False, after an error: a definition hides a carry that has no
 * next value. */
bool neo_check_carries(neo_inst *in, const neo_ast_region *g) NEO_MUST_CHECK;

/* ---- references (exprs.c) */
neo_val neo_check_base(neo_frame *f, const neo_ast_expr *e, bool quiet); /* before subscripts */
neo_val neo_check_view(neo_frame *f, const neo_ast_expr *e); /* as an argument: view or scalar */

/* ---- extents of indices (ranges.c) */
/* Infers the extents of the output indices (`left`, from innermost out) and of every reducer in
 * e. */
void neo_ranges_infer(neo_frame *f, neo_wants *left, const neo_ast_expr *e);
/* Determines the number of indices that `..` stands for; `left` are the statement's output axes, or
 * NULL. If a call that uses indices decides it, and `..` ends the left side, neo_ranges_infer finds
 * it (f->pack_is_open). */
bool neo_ranges_pack(neo_frame *f, const neo_ast_axes *left, const neo_ast_expr *e,
                     neo_span at) NEO_MUST_CHECK;

/* ---- sizes, types, extents (declare.c) */
neo_expr neo_size_eval(neo_inst *in, const neo_ast_expr *e); /* i64 over sizes; 0 after a report */
/* A compile-time integer. */
bool neo_size_int(neo_inst *in, const neo_ast_expr *e, int64_t *x) NEO_MUST_CHECK;
/* Solves e == extent for the unknown name in e; false after a report. */
bool neo_size_solve(neo_inst *in, const neo_ast_expr *e, const neo_ast_name *unknown,
                    neo_expr extent, neo_expr *value) NEO_MUST_CHECK;
/* The bounds of a declared type; `own`: a frame whose output axes are the dimensions of the
 * tensor, NULL for a scalar. */
bool neo_type_ends(neo_inst *in, const neo_frame *own, const neo_ast_type *t,
                   neo_ends *out) NEO_MUST_CHECK;
/* A definition whose indices are declared, as that of a constant: `g[4, j < 8] = j`. */
neo_val neo_declared_value(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                           const char *full);
bool neo_extents_eval(neo_inst *in, const neo_ast_axes *axes, uint32_t *n, neo_expr *extent,
                      const char **name) NEO_MUST_CHECK;
/* dim, assert, input, param, state, const, update */
void neo_check_declaration(neo_inst *in, const neo_ast_stmt *s);

/* ---- definitions (define.c) */
/* Checks a definition of one or several names, and binds them. */
void neo_check_define(neo_inst *in, const neo_ast_stmt *s);
/* Makes the output axes, and infers every extent of the statement. `given`: known extents
 * (update). */
bool neo_define_axes(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value,
                     const neo_expr *given) NEO_MUST_CHECK;
/* Adds an output axis; hi.i == 0: its extent is not known yet. False after a report. */
bool neo_output_push(neo_frame *f, neo_wants *wants, const char *name, neo_span span, neo_expr hi,
                     bool bounded) NEO_MUST_CHECK;
typedef enum {
  NEO_DEFINE_STATEMENT, /* a name, which the value may read: a recurrence */
  NEO_DEFINE_FIRST,     /* the first value of a carry */
  NEO_DEFINE_NEXT       /* its next one */
} neo_define_kind;
/* Checks a definition `var = value`; returns its symbol's value, without binding it. `Y = X` and
 * `Y = f(X)` give the existing tensor. `full` is the tensor's name. The caller, or the last
 * iteration, may have chosen that name, so the params and states of calls are named after `var` in
 * this instance, or, if it is a next value or the call stands alone, after the function. */
neo_val neo_define_any(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                       const char *full, neo_define_kind kind, const char **prefix);

/* ---- definitions that read themselves (recur.c) */
/* Whether the reference is to the name that the frame defines. */
bool neo_recur_reads(const neo_frame *f, const neo_ast_expr *e);
/* The type of a definition that reads itself: the declared one, else that of the first typed
 * operand, else f32. */
neo_type neo_recur_type(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value);
/* Reports if no order is found in which the elements of these tensors are computed before they are
 * read. */
bool neo_recur_check(neo_inst *in, const neo_tensor *t, size_t n) NEO_MUST_CHECK;

/* ---- calls (calls.c) */
/* The results of a call of a function, or of grad(…); made once per node and frame. */
neo_results *neo_call(neo_frame *f, const neo_ast_expr *e, neo_sym *fn, const char *prefix,
                      uint32_t n_names, const char *const *full);
neo_results *neo_grad_call(neo_frame *f, const neo_ast_expr *e, uint32_t n_names,
                           const char *const *full);
/* After an error in the number of results: lists the results of the function, if it is the
 * program's. */
void neo_call_results_help(neo_inst *in, const neo_ast_expr *e, const neo_sym *fn, int handle);
/* Adds the arguments of a call by position, after the first a->n; `vertex`: the call is of a vertex
 * function. */
bool neo_call_arguments(neo_frame *f, const neo_ast_args *args, neo_span call,
                        const neo_ast_sig *sig, bool vertex, neo_actuals *a) NEO_MUST_CHECK;
/* Options of a call by name; `known`: they must be known at compile time. span[k] is 0 if not
 * given. */
bool neo_call_options(neo_frame *f, const neo_ast_args *args, const neo_ast_sig *sig, bool known,
                      neo_val *option, neo_span *span) NEO_MUST_CHECK;
/* Binds sizes, pack, parameters and options of a signature in the instance's scope. */
bool neo_params_bind(neo_inst *in, const neo_ast_sig *sig, const neo_actuals *actual,
                     const neo_val *option, const neo_span *option_span) NEO_MUST_CHECK;

/* ---- statements (statements.c) */
/* Checks one statement of a file or a block. */
void neo_check_stmt(neo_inst *in, const neo_ast_stmt *s);
/* Checks statements in their order, until the compilation's limits are exhausted. */
void neo_check_stmts(neo_inst *in, const neo_ast_stmts *stmts);

/* ---- files and entries (modules.c, outputs.c, train.c) */
/* Parses the text of a file (n bytes) and checks its statements; errors are reported. Returns its
 * scope. */
neo_scope *neo_module_read(neo_fe *fe, const char *path, const char *text, size_t n,
                           const neo_module_source *source, bool is_main);
/* Make the entries of the outputs and of the training statements of the main file. */
void neo_check_outputs(neo_fe *fe, neo_inst *in);
void neo_check_trains(neo_fe *fe, neo_inst *in);

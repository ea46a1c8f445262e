/* The functions that the rules of the language (frontend/check) are written with. None of them
 * calls frontend/check. The list begins with the lowest layer; a file calls only files before it in
 * the list.
 *
 *   names, sizes  builtins.c sizes.c values.c scope.c
 *   types, axes   types.c type_variables.c arith.c frames.c bounds.c ends.c inits.c elements.c
 *   the module    tensors.c gradients.c train_values.c
 *   constructs    the meaning of a construct whose parts are checked: lookup.c (references),
 *                 reduce.c, hoist.c (reducers), sweep.c (extents of indices), ambient.c,
 *                 signature.c (calls),
 *                 declare.c dims.c consts.c updates.c iterations.c rolled.c loops.c alive.c
 *                 branches.c vertices.c edge_values.c (statements)
 *
 * A function that returns bool returns false after a report, unless its comment says otherwise.
 *
 * Memory: what is returned by pointer is in the arena of the compilation, and is null only where
 * its comment says so. */
#pragma once
#include "frontend/sema/state.h"

/* ---- built-in functions by name (builtins.c) */
enum { NEO_BUILTIN_ARGS = 3, NEO_INIT_ARGS = 2 };
typedef struct {
  const char *name;
  uint32_t arity;
  neo_op op;
  neo_type to; /* CAST: the type; bool, to which nothing converts, for the type in which a sum
                  accumulates */
} neo_builtin;
const neo_builtin *neo_builtin_find(const char *name);           /* NULL: none */
const neo_builtin *neo_builtin_conversion(neo_type to);          /* NULL: bool has none */
static inline bool neo_builtin_is_wide(const neo_builtin *row) { /* the function wide(x) */
  return row->op == NEO_OP_CAST && row->to == NEO_BOOL_T;
}
static inline bool neo_builtin_is_cast(const neo_builtin *row) { /* f32(x), … */
  return row->op == NEO_OP_CAST && row->to != NEO_BOOL_T;
}
/* Whether the name is built in; grad is, too. */
bool neo_builtin_is(const char *name);
const char *neo_builtin_name(uint32_t k); /* with training, step; NULL after the last */

/* ---- errors (scope.c). A message inside a call gets notes that say which call. */
/* Adds to a diagnostic (its handle) a note for each of the innermost four calls around it; returns
 * the handle. */
int neo_fe_note_calls(const neo_inst *in, int handle);
#define NEO_ERR(in_, at_, id_, ...) \
  neo_fe_note_calls((in_), neo_diag((in_)->fe->diags, (at_), NEO_D_##id_, __VA_ARGS__))
/* Adds a note like "X is declared at m.expr:7:9". */
void neo_fe_note_place(neo_fe *fe, int handle, const char *what, neo_span at);

/* ---- names (scope.c) */
/* An instance of a function or module, without symbols of its own; prefix: of its tensors'
 * names. */
neo_inst *neo_inst_new(neo_fe *fe, neo_scope *scope, const char *prefix);
/* An empty scope inside of `parent` (null: none). */
neo_scope *neo_scope_new(neo_fe *fe, neo_scope *parent);
/* Keeps the scope of a block of a loop for help with names that are unknown after it. */
void neo_scope_note_block(neo_fe *fe, const neo_scope *block);
neo_sym *neo_scope_find(const neo_scope *s, const char *name); /* here or in a parent; NULL */
/* The symbol of a name in this scope itself; null: it has none, whatever outer scopes have. */
neo_sym *neo_scope_own(const neo_scope *s, const char *name);
/* Adds a symbol. A second definition of a name is reported, and the first one stays valid. Returns
 * the valid symbol. */
neo_sym *neo_scope_add(const neo_inst *in, neo_scope *s, neo_sym sym);
/* Makes a name that is not defined yet poison, so that its uses are not reported. */
void neo_scope_poison(const neo_inst *in, const neo_ast_name *name);
/* The one copy of a text, so that equal texts have equal addresses. */
const char *neo_fe_intern(neo_fe *fe, const char *text);
const char *neo_fe_join(neo_fe *fe, const char *prefix, const char *name); /* "h.W"; "W" if "" */
/* Notes the names that the statements use: in a module only functions and options, in the model's
 * file all (written.c). */
void neo_fe_note_written(neo_fe *fe, const neo_ast_stmts *stmts, bool is_main);
bool neo_fe_is_written(neo_fe *fe, const char *full); /* whether the last part of the full name is
                                                         noted */
const char *neo_fe_unique(neo_fe *fe, const char *name); /* the name, or name2, name3, ... if it is
                                                            taken; marks it as taken */
const char *neo_inst_prefix(neo_inst *in, const char *name);     /* unique among the calls in the
                                                                    instance */
const char *neo_inst_full(const neo_inst *in, const char *name); /* the full name of a local name */
/* The symbol of a path; NULL if there is none (reported unless `quiet`). Makes the symbol of a path
 * such as `h.W`. */
neo_sym *neo_path_find(neo_inst *in, const neo_ast_path *path, bool quiet);
/* The path as it is written: "nn.linear". */
const char *neo_path_text(neo_fe *fe, const neo_ast_path *path);
/* Reports an unknown name, with the nearest known one; returns the diagnostic's handle. f may be
 * null. */
int neo_name_unknown(neo_inst *in, neo_span at, const char *name, const neo_frame *f);
/* Enters an expression (cost 1), call or region (32); false, after a report, when too deep. */
bool neo_fe_enter(neo_fe *fe, const neo_inst *in, neo_span at, uint32_t cost) NEO_MUST_CHECK;
/* Leaves what neo_fe_enter entered, at the same cost. */
void neo_fe_leave(neo_fe *fe, uint32_t cost);
/* Counts one definition, call or iteration. False: the limit is reached. */
bool neo_fe_spend(neo_fe *fe, const neo_inst *in, neo_span at) NEO_MUST_CHECK;

/* ---- values and views (values.c) */
static inline neo_val neo_val_poison(void) {
  return (neo_val){.kind = NEO_VAL_POISON};
}
/* Values: literals, expressions, indices, and views of tensors. An expression 0, which an error
 * left, gives the poison value, which is not reported again. */
neo_val neo_val_int(int64_t i);
neo_val neo_val_float(double x);
neo_val neo_val_bool(bool b);
neo_val neo_val_expr(neo_expr e);
neo_val neo_val_index(neo_expr e);
neo_val neo_val_view(neo_view v);
const char *neo_val_text(neo_fe *fe, const neo_val *v);       /* "f32", "a literal", for messages */
const char *neo_val_shape_text(neo_fe *fe, const neo_val *v); /* "[B, 4]", "a scalar" */
/* A constant i64 or bool expression as a literal, else v itself. */
neo_val neo_val_known(const neo_frame *f, neo_val v);
/* The view of all dimensions of a tensor. */
neo_view neo_view_whole(const neo_module *m, neo_tensor t);
/* A view of a tensor that `in` defines. */
neo_view neo_view_ambient(const neo_inst *in, neo_tensor t, uint32_t rank);
/* The extent of a free dimension of a view. */
neo_expr neo_view_extent(const neo_fe *fe, const neo_view *v, uint32_t free_dim);
/* Whether all dimensions of the view are free: it stands for its tensor. */
bool neo_view_is_whole(const neo_view *v);
/* Whether v is a tensor as `in` defines it: a dimension for each ambient axis, then the free
 * ones. */
bool neo_view_is_own(const neo_inst *in, const neo_view *v);

/* The iteration of the k-th repeat around the instance: its axis or, if unrolled, a constant. */
static inline neo_expr neo_iteration_index(const neo_inst *in, uint32_t k) {
  const neo_iteration *r = &in->iteration[k];
  return r->axis ? neo_axis_ref(in->fe->m, r->axis - 1) : neo_const_i64(in->fe->m, r->at);
}

/* ---- sizes (sizes.c) */
neo_facts neo_size_facts(neo_fe *fe); /* the assertions */
/* Whether two sizes are equal for all values of the run-time sizes; false: they differ, or it is
 * not proved. */
bool neo_size_equal(neo_fe *fe, neo_expr a, neo_expr b);
neo_expr neo_size_add1(neo_fe *fe, neo_expr e, int64_t k); /* e + k */
/* x / a, divided term by term if a divides every coefficient. */
neo_expr neo_size_quotient(neo_fe *fe, neo_expr x, neo_expr a);
/* The size as users would write it: "2*N + 1". */
const char *neo_size_text(neo_fe *fe, neo_expr e);
/* Whether e has constants and sizes only. */
bool neo_size_is_pure(const neo_module *m, neo_expr e);
bool neo_size_max(neo_fe *fe, neo_expr e, int64_t *x) NEO_MUST_CHECK; /* false: not known */
/* Reports each size that is no dimension of an input: no array could tell it at run time. */
void neo_check_sizes_used(neo_fe *fe);

/* ---- types (types.c) */
/* The value as an expression of type t (literals only convert); 0 after a report. */
neo_expr neo_val_as(neo_frame *f, neo_span at, neo_val v, neo_type t);
/* Both as expressions of one type; false after a report. `ints` lets integer types mix as i64. */
bool neo_val_unify(neo_frame *f, neo_span at, neo_val a, neo_val b, bool ints, neo_expr *x,
                   neo_expr *y) NEO_MUST_CHECK;
/* A scalar. A literal takes the frame's type for literals, which is f32 (a bool: bool); 0 if
 * poison. */
neo_expr neo_val_scalar(neo_frame *f, neo_span at, neo_val v);
/* The type that a sum of t accumulates in. */
neo_type neo_type_wide(neo_type t);
/* e, with arithmetic on narrow types done in the type that a sum accumulates in (f16, bf16: f32;
 * i8, u8: i32): the operand of a sum, product or mean over e. */
neo_expr neo_expr_widen(neo_frame *f, neo_expr e);
/* Whether an expression consists of literals alone (literals.c), and whether of integers alone.
 * Such an expression takes its type from the other operand. */
typedef enum { NEO_LITERALS_NONE, NEO_LITERALS_INTS, NEO_LITERALS_NUMBERS } neo_literals;
/* The literals that an expression consists of; NONE: it has other operands as well. */
neo_literals neo_literals_of(neo_frame *f, const neo_ast_expr *e);
static inline bool neo_is_untyped(neo_frame *f, const neo_ast_expr *e) {
  return neo_literals_of(f, e) != NEO_LITERALS_NONE;
}
/* The value of an operator on a literal; poison, after a report, where types do not fit. */
neo_val neo_lit_unary(neo_frame *f, const neo_ast_expr *e, neo_lit x);
/* The value of an operator on two literals; poison, after a report, where types do not fit or the
 * result is undefined. */
neo_val neo_lit_binary(neo_frame *f, const neo_ast_expr *e, neo_lit x, neo_lit y);

/* ---- type variables (type_variables.c) */
/* Binds the type variables of a signature in the scope of the instance, before its parameters.
 * `option` are the values that the call gives to the signature's options, in order. */
void neo_types_bind(neo_inst *in, const neo_ast_sig *sig, const neo_actuals *actual,
                    const neo_val *option);
/* The type as written; a variable has the type that it has in this call. */
neo_type neo_type_written(const neo_inst *in, const neo_ast_type *t);
neo_type neo_declared_type(const neo_inst *in, const neo_ast_type *t); /* f32 if none is written */

/* ---- arithmetic (arith.c), for frontend/check */
/* The value of an operator on two values; poison, after a report, where types or shapes do not
 * fit. */
neo_val neo_val_arith(neo_frame *f, const neo_ast_expr *at, neo_ast_op op, neo_val a, neo_val b);
/* The value as a condition; `who` requires it, for messages. */
bool neo_val_condition(neo_frame *f, const neo_ast_expr *e, neo_val v, const char *who,
                       neo_expr *c) NEO_MUST_CHECK;

/* ---- frames (frames.c) */
/* A frame without axes but the ambient ones, for a definition whose tensor is `target`. */
void neo_frame_init(neo_frame *f, neo_inst *in, const char *target);
/* Pushes an axis. Returns its position, or -1, after a report, if there are too many. */
int neo_frame_push(neo_frame *f, const char *name, neo_axis_rec rec);
int neo_frame_axis(const neo_frame *f, const char *name); /* position, -1 */
/* Adds a condition that holds at all points of the frame. */
void neo_frame_assume(neo_frame *f, neo_expr condition);
/* The ranges of the frame's axes and its assumptions, for proofs; valid until the frame changes. */
neo_facts neo_frame_facts(const neo_frame *f);
/* Notes whether the extent of an axis, which may reuse a position, comes from a guarded read. */
static inline void neo_frame_set_guarded(neo_frame *f, uint32_t axis, bool guarded) {
  uint64_t bit = axis < 63 ? 1ULL << axis : 0;
  f->guarded = guarded ? f->guarded | bit : f->guarded & ~bit;
}
/* An upper bound of a position, over sizes alone (bounds of axes may use other axes and elements),
 * where the first n_axes axes have values and the first n_assume conditions hold. No expression,
 * after a report: nothing bounds it. */
neo_expr neo_frame_hull(neo_frame *f, uint32_t position, uint32_t n_axes, size_t n_assume);
typedef struct { /* a range over sizes alone that contains an axis: [low, low + extent), low <= 0 */
  neo_expr low, extent;
} neo_box;
/* A lower bound of a position, over sizes alone and at most 0, under the first n_axes axes and
 * n_assume conditions of the frame. No expression: nothing bounds it. */
neo_expr neo_frame_low(neo_frame *f, uint32_t position, uint32_t n_axes, size_t n_assume);
/* The box of a position over sizes alone, under the first n_axes axes and n_assume conditions of
 * the frame. False, after a report: nothing bounds it. */
bool neo_frame_box(neo_frame *f, uint32_t position, uint32_t n_axes, size_t n_assume,
                   neo_box *box) NEO_MUST_CHECK;
/* The box that follows from the range alone, whatever the conditions are. False, after a report:
 * nothing bounds the position. */
bool neo_frame_range(neo_frame *f, uint32_t position, neo_box *box) NEO_MUST_CHECK;
neo_expr neo_box_from_low(neo_frame *f, const neo_box *box, neo_expr index);    /* index - low */
neo_expr neo_box_from_zero(neo_frame *f, const neo_box *box, neo_expr element); /* + low */
/* The frame's axes; the first n_axes get the range of their box. */
void neo_frame_widen(neo_frame *f, uint32_t n_axes, size_t n_assume, neo_axis_rec *axis);
/* Whether the axis has a range from 0 to an end over sizes alone. */
bool neo_frame_is_rect(const neo_frame *f, uint32_t position);
neo_expr neo_rand_make(neo_frame *f); /* with a new site; 0 after a report */
/* The name of the k-th axis of a pack `..`, which programs cannot write. */
const char *neo_frame_pack_name(neo_fe *fe, uint32_t k);
/* The name of the index over owners of edges, which programs cannot use. */
const char *neo_owners_name(neo_fe *fe);
neo_expr neo_expr_upper(neo_frame *f, neo_expr e); /* an upper bound of e, over sizes alone; 0:
                                                      none */
neo_expr neo_expr_bound(neo_frame *f, neo_expr e); /* elements are in [0, this); 0: not known */
/* The same, or ends over sizes alone if e may be negative, as far as both are known. */
neo_ends neo_expr_ends(neo_frame *f, neo_expr e);
/* Rewrites an expression over the result of the statement's own reduction as one over a last axis
 * in *with, which stands for the result; 0: the range of the result is not known. */
neo_expr neo_frame_result(neo_frame *f, neo_expr e, neo_frame *with);

/* ---- proofs (bounds.c) */
/* Records a proved read while reducers are open: a reducer may be hoisted, and its reads are proved
 * again then. */
void neo_bounds_remember(neo_frame *f, neo_expr index, neo_expr extent);
/* Proves that the index is in [0, extent), or reports that it is not; `dim` is the number of the
 * subscript. */
bool neo_bounds_check(neo_frame *f, neo_span at, const neo_view *v, const neo_expr *index,
                      uint32_t dim) NEO_MUST_CHECK;
/* Whether a condition is proved for all points of the frame; false: it may not hold. */
bool neo_bounds_holds(neo_frame *f, neo_expr goal);

/* ---- bounds of elements (ends.c) */
/* Sets and gets the bounds of a tensor's elements (neo_tensor_rec). */
void neo_ends_set(neo_fe *fe, neo_tensor t, const neo_ends *ends);
neo_ends neo_ends_of(const neo_fe *fe, neo_tensor t);
/* The ends that the text declares for a value that begins with `first`. Ends that follow from the
 * value of `first` alone are not among them, as they say nothing of later values. */
neo_ends neo_ends_written(const neo_fe *fe, const neo_ast_type *type, const neo_val *first);
/* Whether every element satisfies the ends, which are over the first axes of the frame. */
bool neo_ends_hold(neo_frame *f, neo_expr e, const neo_ends *ends);
/* Whether e is in [0, bound). */
bool neo_ends_within(neo_frame *f, neo_expr e, neo_expr bound);
/* Whether the ends hold for the elements of a view, which becomes the tensor that `var` declares;
 * false after a report. */
bool neo_ends_check(neo_inst *in, neo_val v, const neo_ends *ends, const neo_ast_var *var,
                    neo_span at) NEO_MUST_CHECK;

/* ---- functions of values (elements.c, inits.c), for frontend/check */
/* The row of the function that is called; null: a name of the program hides it. */
const neo_builtin *neo_builtin_called(neo_frame *f, const neo_ast_expr *e);
bool neo_builtin_missing(neo_frame *f, const neo_ast_expr *e); /* reports a call of an unknown
                                                                  function */
void neo_builtin_unknown(neo_frame *f, const neo_ast_expr *e, const char *name); /* reports it */
bool neo_builtin_count(neo_frame *f, const neo_ast_expr *e, const neo_builtin *row) NEO_MUST_CHECK;
/* Applies an element function to as many values as its row has arguments. */
neo_val neo_builtin_apply(neo_frame *f, const neo_ast_expr *e, const neo_builtin *row,
                          const neo_val *x);
neo_val neo_builtin_widen(neo_frame *f, const neo_ast_expr *e, neo_val v); /* wide(v) */
/* The value converted to type t, with a warning for a quotient of sizes that may have a
 * remainder. */
neo_val neo_builtin_cast(neo_frame *f, const neo_ast_expr *e, neo_type t, neo_val v);
/* select(c, a, b); poison, after a report, if the types differ. */
neo_val neo_select_make(neo_frame *f, const neo_ast_expr *e, neo_expr c, neo_val a, neo_val b);
/* Warns if the condition is always true, because a guarded read gave the index its extent. */
void neo_select_warn(neo_frame *f, const neo_ast_expr *e, neo_expr cond);
bool neo_init_is(const char *name); /* uniform, normal, … */
bool neo_init_count(neo_frame *f, const neo_ast_expr *e, const char *name) NEO_MUST_CHECK;
neo_expr neo_init_argument(neo_frame *f, neo_span at, neo_val v); /* as f32; 0 after a report */
/* The value of an initial distribution by its name, with its arguments; takes the type of the
 * tensor. */
neo_val neo_init_apply(neo_frame *f, const char *name, const neo_expr *a);

/* ---- the module (tensors.c) */
/* The span of a definition, with the calls that lead to the instance. */
neo_span neo_inst_span(const neo_inst *in, neo_span span);
/* Adds a tensor, checking rank and number of elements; 0 after a report. */
neo_tensor neo_tensor_make(neo_inst *in, neo_tensor_rec rec, const neo_expr *extent, uint32_t n,
                           const char *full);
/* Adds the definition of `out` from a frame whose own reduction and finish are complete. `outer`
 * are constant indices of the first n_outer dimensions of `out`, which have no axes in the
 * frame. */
neo_def neo_define_piece(neo_frame *f, neo_tensor out, neo_expr finish, neo_span span, bool piece,
                         const int64_t *outer, uint32_t n_outer);
/* Adds a temporary tensor with the extents of the frame's output axes. */
neo_tensor neo_define_temp(neo_frame *f, const char *full, neo_type type, neo_expr bound,
                           neo_span span);
/* A frame whose output axes are the free dimensions of the value; *e is the value's element there,
 * 0 after a report. */
neo_frame *neo_element_frame(neo_inst *in, const neo_val *v, const char *target, neo_span at,
                             neo_expr *e);
/* Defines a TEMP over the frame's output axes with elements e; poison after a report, or for e =
 * 0. */
neo_val neo_define_element(neo_frame *f, neo_expr e, const char *full, neo_expr bound, neo_span at);
neo_val neo_define_copy(neo_inst *in, neo_val v, const char *full, neo_span at); /* as a TEMP */
/* The view with element type `to`: v itself if it has that type, else a TEMP. */
neo_val neo_define_cast(neo_inst *in, neo_val v, neo_type to, const char *full, neo_span at);
/* Whether the bounds of a declared type are proved for the value; false after a report. */
bool neo_bounds_of_value(neo_frame *f, const neo_ast_var *var, neo_span at, neo_expr e,
                         const neo_ends *ends);
/* The value as an element of its target. *ends are the declared ends, then those that hold. */
bool neo_define_value(neo_frame *f, const neo_ast_var *var, neo_span at, neo_val v, neo_expr *e,
                      neo_ends *ends) NEO_MUST_CHECK;
/* Binds a name to a value in the instance; a poison value makes the name poison, so that its uses
 * are not reported. */
void neo_define_bind(neo_inst *in, const neo_ast_name *name, neo_val v, const char *prefix);
/* Binds a name to a view of a tensor. */
void neo_define_view(neo_inst *in, const neo_ast_name *name, neo_view v);
/* The k-th name on the left of a definition; owned by the tree. */
const neo_ast_name *neo_define_target(const neo_ast_stmt *s, uint32_t k);

/* ---- gradients (gradients.c), for frontend/check */
/* Marks every tensor that the root depends on, and the root; by tensor id. */
bool *neo_tensor_reach(neo_fe *fe, neo_tensor root);
/* Whether a grad(…) of the program may name this result of a region. Then the result becomes a
 * tensor of its own, because a gradient with respect to it must count the reads of the result, and
 * no other reads of the carry or of the tensor whose value it is. */
bool neo_grad_may_name(const neo_fe *fe, const neo_val *v);
/* Adds a request and its result tensors, without pieces. */
void neo_grad_request(neo_fe *fe, neo_tensor y, neo_tensor seed, const neo_tensor *wrt, uint32_t n,
                      const char *const *full, neo_span span, neo_tensor *out);
typedef struct { /* grad(y, wrt …; seed) */
  neo_frame *f;
  const neo_ast_expr *e;
  neo_view y, seed;
  bool seeded;
  uint32_t n;
  neo_view *wrt;
  neo_span *at; /* by wrt */
} neo_grad_asked;
bool neo_grad_of_float(neo_frame *f, const neo_view *v, neo_span at) NEO_MUST_CHECK;
bool neo_grad_check(neo_grad_asked *q) NEO_MUST_CHECK;
bool neo_grad_make(neo_grad_asked *q, uint32_t n_names, const char *const *full,
                   neo_results *r) NEO_MUST_CHECK;
/* Makes the arguments of a function with its own gradient tensors of their own, so that requests
 * can name them. */
bool neo_custom_actuals(neo_inst *in, const neo_ast_stmt *fn, neo_actuals *actual) NEO_MUST_CHECK;
typedef struct {
  uint32_t n_in, n_out, *in, *out, *dy, *dx; /* in, dx: of each float argument */
  neo_view *in_view;
} neo_custom;
/* neo_custom_begin is called after the body, and opens the scope of the gradient's block;
 * neo_custom_end is called after that block, and adds the record. */
bool neo_custom_begin(neo_inst *in, const neo_ast_stmt *fn, const neo_actuals *actual,
                      neo_results *r, neo_custom *c) NEO_MUST_CHECK;
bool neo_custom_end(neo_inst *in, const neo_ast_stmt *fn, neo_custom *c) NEO_MUST_CHECK;

/* ---- scalars of a training entry (train_values.c), for lookup.c */
neo_val neo_train_norm(neo_frame *f); /* global_norm */
/* The value of `step`: the entry's own in a `train` statement, in its optimizer and in functions
 * that these call. */
neo_val neo_train_step(neo_inst *in);

/* ---- references (lookup.c), for frontend/check */
/* Whether the expression is a call that gives tensors; *fn is the function, or null for grad(…) and
 * if the result is false. */
bool neo_call_is(neo_inst *in, const neo_ast_expr *e, neo_sym **fn);
/* The value of a path, without its subscripts; poison, after a report unless `quiet`, if it has
 * none. */
neo_val neo_path_value(neo_frame *f, const neo_ast_expr *e, bool quiet);
/* The prefix for the tensors of a call without a name. */
const char *neo_call_prefix(neo_frame *f, const neo_ast_expr *e);
/* Reports a wrong number of subscripts (neo_check_count), or a tensor without subscripts. */
void neo_check_count(neo_frame *f, const neo_ast_expr *e, const neo_view *v);
/* Reports a tensor without subscripts; returns poison. */
neo_val neo_bare_report(neo_frame *f, const neo_ast_expr *e, const neo_view *v);
/* The n axes of `..`, as subscripts. */
bool neo_pack_indices(neo_frame *f, const neo_ast_expr *e, neo_span at, uint32_t n,
                      neo_expr *sub) NEO_MUST_CHECK;
/* All indices of the tensor: those of the view, and the subscripts for its free dimensions. */
neo_view neo_view_with(neo_module *m, neo_view v, const neo_expr *sub);
bool neo_view_in_range(neo_frame *f, const neo_view *from, const neo_view *v,
                       const neo_span *at) NEO_MUST_CHECK;
neo_val neo_view_load(neo_frame *f, neo_view v, neo_span at); /* rank 0, in range */
/* Checks the subscripts of a scalar: none, or an empty pack. Others are reported and give
 * poison. */
neo_val neo_scalar_subs(neo_frame *f, const neo_ast_expr *e, neo_val v);
/* The value as it is used at this place: an integer in a subscript becomes i64. */
neo_val neo_scalar_use(neo_frame *f, neo_val v);
neo_val neo_bare_index(neo_frame *f, const neo_ast_expr *e, bool *found); /* an axis by its name */

/* ---- extents (sweep.c) */
bool neo_ranges_missing(neo_frame *f, const neo_want *w); /* reports a want without extent */

/* ---- declarations (declare.c, dims.c, consts.c, updates.c, iterations.c, loops.c, alive.c,
 * branches.c), for frontend/check */
/* Whether arguments of the call differ in `..`; if so, reports that a statement needs it. */
bool neo_pack_differs(const neo_inst *in);
bool neo_pack_extents(neo_inst *in, const neo_ast_axis *a, uint32_t *n, neo_expr *extent,
                      const char **name) NEO_MUST_CHECK;
/* Makes a frame's axes and pack those of a declaration. */
void neo_declared_axes(neo_frame *f, const neo_expr *extent, const char *const *name, uint32_t n,
                       neo_span span);
void neo_declared_pack(neo_frame *f, const char *const *name, uint32_t n);
/* Makes v the initial value of t, which `var` declares. Tensors with ids from first_hoisted on were
 * made for that value. */
void neo_init_define(neo_frame *f, neo_tensor t, const neo_ast_var *var, neo_val v, neo_span at,
                     uint32_t first_hoisted);
/* The view of a parameter or state that this instance declares, in the iterations that it is in. */
neo_view neo_owned_view(const neo_inst *in, neo_tensor t);
/* The tensor that the statement declared before under this name; *known: there is one. */
neo_tensor neo_owned_earlier(neo_inst *in, const neo_ast_stmt *s, const char *full,
                             const neo_expr *extent, uint32_t n, bool *known);
/* Declares a parameter or state with these extents; its tensor, or 0 after a report. */
neo_tensor neo_owned_declare(neo_inst *in, const neo_ast_stmt *s, const char *full,
                             const neo_expr *extent, uint32_t n, const neo_ends *ends);
/* Whether the size is given by -D, or by the compiler's caller. */
bool neo_dim_replaced(neo_inst *in, const neo_ast_stmt *s, int64_t *x);
/* The expression of a run-time size in [lo, hi]; 0, after a report, where none may be declared. */
neo_expr neo_dim_runtime(neo_inst *in, const neo_ast_stmt *s, int64_t lo, int64_t hi);
/* Adds a condition on sizes to the module; one that depends on elements, or is known to be false,
 * is reported. */
void neo_assert_add(neo_inst *in, neo_span at, neo_expr c);
/* The value of a constant, with its elements from the text or a file; poison after a report. */
neo_val neo_const_data(neo_inst *in, const neo_ast_stmt *s, const neo_expr *extent, uint32_t n,
                       const neo_ends *ends);
/* Reports an update in a loop or branch. */
void neo_update_once(neo_inst *in, const neo_ast_bind *b);
bool neo_update_target(neo_inst *in, const neo_ast_var *var, neo_view *v) NEO_MUST_CHECK;
bool neo_update_pack(neo_frame *f, const neo_ast_var *var, const neo_view *v) NEO_MUST_CHECK;
/* v as the new value of t; 0 after a report. */
neo_expr neo_update_value(neo_frame *f, const neo_ast_bind *b, neo_tensor t, neo_val v);
/* The tensor of the new values of t; 0, after a report, if t has been updated before. */
neo_tensor neo_update_tensor(neo_inst *in, neo_tensor t, const neo_ast_var *var, uint32_t n_outer);
/* Checks a `collect`: adds its names to the results of the region. */
void neo_check_collect(neo_inst *in, const neo_ast_stmt *s);
/* Whether both values are scalars, or views of the same shape. */
bool neo_val_same_shape(neo_fe *fe, const neo_val *a, const neo_val *b);

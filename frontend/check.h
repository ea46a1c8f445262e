/* The checker's own picture of a program; seen by the files of frontend/ alone.
 *
 * fe        one run: the module being built, the prover, names given out, what `output` says
 * scope     names -> symbols; a block's scope has its parent
 * inst      where statements are checked: a file, a call of a function, a round of a `repeat`
 * frame     one statement: its axes (AXIS k of every expression lowered in it), the conditions
 *           around the place being lowered, its pack
 * val       what an expression is: poison, a literal without type, a scalar expression, or a view
 *
 * Ambient axes. A call whose arguments depend on indices of the caller is checked with those
 * indices as ambient axes: they are the first axes of every frame of the call, and the first
 * dimensions of every tensor that it defines. A view names an element of such a dimension by an
 * index expression.
 *
 * Positions. In a frame the axes are a stack: ambient, output, then those of the reducers that are
 * open. A reducer is kept as the statement's own reduction or hoisted into a definition before it
 * is closed, so its positions can be given out again. */
#ifndef NEO_FRONTEND_CHECK_H
#define NEO_FRONTEND_CHECK_H
#include "base/map.h"
#include "frontend/ast.h"
#include "frontend/frontend.h"
#include "ir/prove.h"

enum { NEO_MAX_DEPTH = 2048, NEO_CALL_DEPTH = 32 };
enum { NEO_MAX_RANK = 16, NEO_MAX_AXES = 60, NEO_MAX_RESULTS = 16, NEO_MAX_ROUNDS = 6 };

typedef struct neo_fe neo_fe;
typedef struct neo_inst neo_inst;
typedef struct neo_scope neo_scope;
typedef struct neo_frame neo_frame;
typedef struct neo_trainee neo_trainee;

/* ---- values
 * ------------------------------------------------------------------------------------- */

typedef enum { NEO_LIT_INT, NEO_LIT_FLOAT, NEO_LIT_BOOL } neo_lit_kind;
typedef struct { /* known at compile time, takes the type of what it meets */
  neo_lit_kind kind;
  int64_t i; /* INT, BOOL */
  double f;  /* FLOAT; of an INT its nearest double */
} neo_lit;

/* A tensor with some dimensions fixed: index[d] is the index of dimension d, over ambient axes of
 * the frame; 0 where the dimension is free. `rank` counts the free ones. */
typedef struct {
  neo_tensor tensor;
  uint32_t rank, n;
  neo_expr index[NEO_MAX_RANK];
} neo_view;

typedef enum { NEO_VAL_POISON, NEO_VAL_LIT, NEO_VAL_EXPR, NEO_VAL_VIEW } neo_val_kind;
typedef struct {
  neo_val_kind kind;
  bool index; /* EXPR of sizes, indices and literals only: mixes with integers of any type */
  neo_lit lit;
  neo_expr e;
  neo_view view;
} neo_val;

typedef enum {
  NEO_SYM_POISON,
  NEO_SYM_VALUE,
  NEO_SYM_FN,
  NEO_SYM_OPTIMIZER,
  NEO_SYM_MODULE,
  NEO_SYM_ROUND
} neo_sym_kind;
typedef struct {
  neo_sym_kind kind;
  const char *name; /* interned */
  neo_span span;    /* where it was declared */
  neo_val value;
  const char *prefix;     /* full name of the call that defined it; NULL */
  const neo_ast_stmt *fn; /* FN, OPTIMIZER */
  neo_scope *scope;       /* FN, OPTIMIZER: of its file; MODULE: its names */
  uint32_t round;         /* ROUND: which of the instance's */
} neo_sym;

struct neo_scope {
  neo_scope *parent;
  neo_map map;
  NEO_VEC(neo_sym *) syms;
};

/* ---- one run
 * ------------------------------------------------------------------------------------ */

typedef struct { /* a param or state of a call, by its full name */
  neo_tensor tensor;
  neo_span span;
  uint32_t n_rounds; /* leading dimensions that count rounds */
  uint32_t region[NEO_MAX_ROUNDS];
} neo_owned;

typedef struct { /* `update` of the model (not of an optimizer) */
  neo_tensor updates, update;
  neo_span span;
  int64_t pieces;
} neo_update_rec;

typedef struct {
  const char *path;
  neo_scope *scope; /* NULL while it is being read */
} neo_file_rec;

struct neo_fe {
  neo_arena *arena;
  neo_names *names;
  neo_diags *diags;
  neo_module *m;
  neo_prover *prover;
  const neo_frontend_options *options;
  uint32_t spent, limit;
  uint32_t depth;   /* of expressions, calls and regions that are open: bounds the stack */
  bool exhausted;   /* the limit was reached and reported */
  neo_map taken;    /* full names in use */
  neo_map owned;    /* full name -> index + 1 into owned_at */
  neo_map declared; /* the same, by the name that it should have had, and the statement */
  NEO_VEC(neo_owned) owned_at;
  NEO_VEC(neo_expr) asserts;
  NEO_VEC(neo_update_rec) updates;
  NEO_VEC(neo_file_rec) files;
  NEO_VEC(const neo_ast_stmt *) outputs, trains;
  neo_map regions; /* a repeat, within the round around it -> its number */
  bool *define_used;
};

/* ---- where statements are checked
 * ----------------------------------------------------------------- */

typedef struct {
  uint32_t region;
  int64_t at, count;
} neo_round;

struct neo_inst {
  neo_fe *fe;
  neo_scope *scope;
  const char *prefix; /* "" in the main file */
  neo_map prefixes;   /* of calls in it; each round starts anew, so that names are the same */
  uint32_t n_ambient;
  neo_axis_rec ambient[NEO_MAX_AXES];
  bool has_pack; /* `..` of the parameters */
  uint32_t n_pack;
  neo_expr pack[NEO_MAX_RANK];
  uint32_t n_rounds;
  neo_round round[NEO_MAX_ROUNDS];
  const neo_ast_stmt *fn; /* the function, NULL in a file */
  neo_span call;
  const neo_inst *caller;
  uint32_t n_results; /* names that the caller gives to results */
  const char *result[NEO_MAX_RESULTS], *result_full[NEO_MAX_RESULTS];
  neo_trainee *trainee;        /* in an optimizer: whom it trains */
  struct neo_trainer *trainer; /* the entry whose `train` statements are checked from here */
  bool is_main;                /* the main file, not a module */
  struct neo_rounds *repeat;   /* what `next` and `collect` write; NULL outside */
  size_t n_owned;              /* params and states of the program before this call */
};

/* A read that was proved in range, kept until the reducers around it are closed. */
typedef struct {
  neo_expr index, extent;
  uint32_t first_assume, n_assume; /* into frame.proofs */
} neo_read;

typedef struct { /* the reduction that stays with the statement */
  bool set;
  neo_reducer reducer;
  neo_expr where, body[2], bound;
  uint32_t n_body, n_axes;
  neo_axis_rec axis[NEO_MAX_RANK];
} neo_kept;

typedef struct { /* an index whose reducer is over */
  const char *name, *word;
  neo_span span;
} neo_closed;

struct neo_frame {
  neo_inst *in;
  neo_fe *fe;
  neo_module *m;
  const char *target; /* full name: what hoisted definitions and anonymous calls are named after */
  uint32_t n_axes, n_out;
  neo_axis_rec axis[NEO_MAX_AXES];
  const char *axis_name[NEO_MAX_AXES]; /* NULL: ambient, has no name here */
  uint64_t guarded; /* bit k: the extent of axis k was found in guarded reads only */
  NEO_VEC(neo_expr) assume;
  NEO_VEC(neo_read) reads;
  NEO_VEC(neo_expr) proofs;
  NEO_VEC(neo_closed) closed; /* indices of reducers that are over */
  neo_map calls;              /* REF node -> neo_results */
  neo_map inferred;           /* REDUCE node -> its wants */
  bool has_pack;
  uint32_t n_pack;
  const char *pack_name[NEO_MAX_RANK];
  uint32_t subscript; /* > 0: in a subscript, bound or size: integers are i64, `/` floors */
  uint32_t no_keep;   /* > 0: a reducer here must be hoisted */
  uint32_t depth;     /* reducers open */
  uint32_t n_hoisted;
  bool init;       /* an initial value: uniform() … are known */
  bool sizes_only; /* no tensors here (extents) */
  neo_kept kept;
};

/* ---- errors (scope.c). A message inside a call gets notes that say which call. */
int neo_fe_note_calls(const neo_inst *in, int handle);
#define NEO_ERR(in_, at_, id_, ...) \
  neo_fe_note_calls((in_), neo_diag((in_)->fe->diags, (at_), NEO_D_##id_, __VA_ARGS__))
/* A note as "X is declared at m.expr:7:9". */
void neo_fe_note_place(neo_fe *fe, int handle, const char *what, neo_span at);

/* ---- names (scope.c) */
neo_inst *neo_inst_new(neo_fe *fe, neo_scope *scope, const char *prefix);
neo_scope *neo_scope_new(neo_fe *fe, neo_scope *parent);
neo_sym *neo_scope_find(const neo_scope *s, const char *name); /* here or in a parent; NULL */
neo_sym *neo_scope_own(const neo_scope *s, const char *name);
/* Adds; a second definition is reported and poisons nothing: the first stays. */
neo_sym *neo_scope_add(const neo_inst *in, neo_scope *s, neo_sym sym);
void neo_scope_poison(const neo_inst *in, const neo_ast_name *name);
const char *neo_fe_intern(neo_fe *fe, const char *text);
const char *neo_fe_join(neo_fe *fe, const char *prefix, const char *name); /* "h.W"; "W" if "" */
const char *neo_fe_unique(neo_fe *fe, const char *name); /* with 2, 3 where it is taken; takes it */
const char *neo_inst_prefix(neo_inst *in, const char *name);     /* unique among the calls in it */
const char *neo_inst_full(const neo_inst *in, const char *name); /* full name of a local one */
/* The symbol of a path; NULL if there is none (reported unless quiet). `h.W` makes one. */
neo_sym *neo_path_find(neo_inst *in, const neo_ast_path *path, bool quiet);
const char *neo_path_text(neo_fe *fe, const neo_ast_path *path);
int neo_name_unknown(neo_inst *in, neo_span at, const char *name, const neo_frame *f);
/* Enters an expression (cost 1), call or region (32); false, after a report, when too deep. */
bool neo_fe_enter(neo_fe *fe, const neo_inst *in, neo_span at, uint32_t cost);
void neo_fe_leave(neo_fe *fe, uint32_t cost);
bool neo_fe_spend(neo_fe *fe, const neo_inst *in, neo_span at); /* false: the limit is reached */

/* ---- values and types (types.c) */
static inline neo_val neo_val_poison(void) {
  return (neo_val){.kind = NEO_VAL_POISON};
}
neo_val neo_val_int(int64_t i);
neo_val neo_val_float(double x);
neo_val neo_val_bool(bool b);
neo_val neo_val_expr(neo_expr e);
neo_val neo_val_index(neo_expr e);
neo_val neo_val_view(neo_view v);
/* The value as an expression of type t (literals only convert); 0 after a report. */
neo_expr neo_val_as(neo_frame *f, neo_span at, neo_val v, neo_type t);
/* Both as expressions of one type; false after a report. `ints` lets integer types mix as i64. */
bool neo_val_unify(neo_frame *f, neo_span at, neo_val a, neo_val b, bool ints, neo_expr *x,
                   neo_expr *y);
/* A scalar: a literal becomes f32 (bool: bool); 0 if poison. */
neo_expr neo_val_scalar(neo_frame *f, neo_span at, neo_val v);
const char *neo_val_text(neo_fe *fe, const neo_val *v); /* "f32", "a literal", for messages */
/* e with arithmetic on narrow types done in the type that a sum accumulates in (f16, bf16: f32;
 * i8, u8: i32): what a sum, product or mean over e computes. */
neo_expr neo_expr_widen(neo_frame *f, neo_expr e);
neo_val neo_lit_unary(neo_frame *f, const neo_ast_expr *e, neo_lit x);
neo_val neo_lit_binary(neo_frame *f, const neo_ast_expr *e, neo_lit x, neo_lit y);
/* A constant i64 or bool expression as a literal, else v itself. */
neo_val neo_val_known(const neo_frame *f, neo_val v);

/* ---- sizes (sizes.c) */
neo_expr neo_size_eval(neo_inst *in, const neo_ast_expr *e); /* i64 over sizes; 0 after a report */
bool neo_size_int(neo_inst *in, const neo_ast_expr *e, int64_t *x); /* a compile-time integer */
bool neo_size_equal(neo_fe *fe, neo_expr a, neo_expr b);
neo_expr neo_size_add1(neo_fe *fe, neo_expr e, int64_t k); /* e + k */
const char *neo_size_text(neo_fe *fe, neo_expr e);
bool neo_size_is_pure(const neo_module *m, neo_expr e); /* constants and sizes only */
bool neo_size_max(neo_fe *fe, neo_expr e, int64_t *x);
void neo_check_dim(neo_inst *in, const neo_ast_stmt *s);
void neo_check_assert(neo_inst *in, const neo_ast_stmt *s);
void neo_check_sizes_used(neo_fe *fe);
/* The unknown name of `e` such that e == extent; false after a report. */
bool neo_size_solve(neo_inst *in, const neo_ast_expr *e, const neo_ast_name *unknown,
                    neo_expr extent, neo_expr *value);

/* ---- frames (frames.c) */
void neo_frame_init(neo_frame *f, neo_inst *in, const char *target);
/* Pushes an axis; its position, or -1 when there are too many (reported). */
int neo_frame_push(neo_frame *f, const char *name, neo_axis_rec rec);
int neo_frame_axis(const neo_frame *f, const char *name); /* position, -1 */
void neo_frame_assume(neo_frame *f, neo_expr condition);
neo_facts neo_frame_facts(const neo_frame *f);
/* Notes where the extent of an axis, which may reuse a place, comes from. */
static inline void neo_frame_set_guarded(neo_frame *f, uint32_t axis, bool guarded) {
  uint64_t bit = axis < 63 ? 1ULL << axis : 0;
  f->guarded = guarded ? f->guarded | bit : f->guarded & ~bit;
}
/* Upper bound of a position over sizes alone (an axis' bounds may use other axes and elements). */
neo_expr neo_frame_hull(neo_frame *f, uint32_t position);
bool neo_frame_is_rect(const neo_frame *f, uint32_t position); /* lo is 0, hi over sizes alone */
/* Row-major element over all axes; in an initial value, which calls share, without ambient ones. */
neo_expr neo_frame_linear(neo_frame *f);
const char *neo_frame_pack_name(neo_fe *fe, uint32_t k);
neo_expr neo_expr_upper(neo_frame *f, neo_expr e); /* e's largest value + 0, over sizes alone; 0 */
neo_expr neo_expr_bound(neo_frame *f, neo_expr e); /* elements lie in [0, this); 0 if not known */

/* ---- ranges (ranges.c) */
typedef struct neo_want { /* an index whose extent is looked for */
  const char *name;
  neo_span span;
  bool bounded; /* a bound is written */
  bool guarded; /* the extent was found in guarded reads only */
  bool hushed;  /* something is broken and reported */
  neo_expr extent;
  neo_span place;
  int dim;
  const char *tensor, *tensor2; /* the second: a conflict */
  neo_expr extent2;
  neo_span place2, declared2;
  int dim2;
  struct neo_want *outer;
} neo_want;
typedef struct {
  uint32_t n;
  neo_want *at;
} neo_wants;
/* Looks for the extents of the output indices (`left`, from innermost out) and of every reducer in
 * e. */
void neo_ranges_infer(neo_frame *f, neo_wants *left, const neo_ast_expr *e);
/* How many indices `..` stands for in a statement; `left`: its output axes, or NULL. */
bool neo_ranges_pack(neo_frame *f, const neo_ast_axes *left, const neo_ast_expr *e, neo_span at);
bool neo_ranges_missing(neo_frame *f, const neo_want *w); /* reports a want without extent */
void neo_ast_children(const neo_ast_expr *e, void (*each)(void *ctx, const neo_ast_expr *e),
                      void *ctx);
bool neo_ast_binds_pack(const neo_ast_expr *e); /* a reducer in e binds `..` */

/* ---- expressions */
neo_val neo_check_expr(neo_frame *f, const neo_ast_expr *e);       /* exprs.c */
neo_expr neo_check_condition(neo_frame *f, const neo_ast_expr *e); /* bool; 0 if poison */
neo_expr neo_check_index(neo_frame *f, const neo_ast_expr *e);     /* i64; 0 if poison */
neo_val neo_check_arith(neo_frame *f, const neo_ast_expr *at, neo_ast_op op, neo_val a, neo_val b);
neo_val neo_check_ref(neo_frame *f, const neo_ast_expr *e, const neo_ast_expr *other); /* refs.c */
void neo_check_count(neo_frame *f, const neo_ast_expr *e, const neo_view *v);          /* reports */
neo_val neo_check_base(neo_frame *f, const neo_ast_expr *e, bool quiet); /* before subscripts */
neo_val neo_check_view(neo_frame *f, const neo_ast_expr *e);  /* as an argument: view or scalar */
neo_val neo_view_load(neo_frame *f, neo_view v, neo_span at); /* rank 0 */
neo_expr neo_view_extent(const neo_fe *fe, const neo_view *v, uint32_t free_dim);
neo_view neo_view_whole(const neo_module *m, neo_tensor t);
neo_view neo_view_ambient(const neo_inst *in, neo_tensor t, uint32_t rank); /* of an own tensor */
neo_view neo_view_subst(neo_module *m, neo_view v, const neo_expr *by, uint32_t n);
neo_val neo_check_reduce(neo_frame *f, const neo_ast_expr *e); /* reducers.c */
bool neo_builtin_is(const char *name);                         /* builtins.c */
bool neo_builtin_missing(neo_frame *f, const neo_ast_expr *e); /* reports a call of nothing */
neo_val neo_check_builtin(neo_frame *f, const neo_ast_expr *e, const char *name);
bool neo_builtin_value(neo_frame *f, const char *name, neo_val *v); /* training, step, … */
const char *neo_builtin_name(uint32_t k);                           /* NULL after the last */
bool neo_init_is(const char *name);
/* inits.c */
neo_val neo_init_call(neo_frame *f, const neo_ast_expr *e, const char *name, bool *known);
neo_expr neo_rand_make(neo_frame *f);

/* ---- proofs (bounds.c) */
/* Shows that the index is in [0, extent), or reports; `free_dim` is the subscript in question. */
bool neo_bounds_check(neo_frame *f, neo_span at, const neo_view *v, const neo_expr *index,
                      uint32_t dim);
bool neo_bounds_holds(neo_frame *f, neo_expr goal);

/* ---- statements */
void neo_check_stmts(neo_inst *in, const neo_ast_stmts *stmts);   /* statements.c */
void neo_check_declare(neo_inst *in, const neo_ast_stmts *stmts); /* functions look ahead */
void neo_check_define(neo_inst *in, const neo_ast_stmt *s);       /* define.c */
/* The span of a definition: as it is reached by the calls that the instance is in. */
neo_span neo_inst_span(const neo_inst *in, neo_span span);
/* Adds the definition of `outs` from a frame whose kept reduction and finish are ready. */
/* `lead`: the element of the first n_lead dimensions of `out`, which the frame does not have. */
neo_def neo_define_piece(neo_frame *f, neo_tensor out, neo_expr finish, neo_span span, bool piece,
                         const int64_t *lead, uint32_t n_lead);
neo_tensor neo_define_temp(neo_frame *f, const char *full, neo_type type, neo_expr bound,
                           neo_span span);
bool neo_define_axes(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value,
                     const neo_expr *given);
bool neo_define_finish(neo_frame *f, const neo_ast_var *var, neo_span at, neo_val v, neo_expr *e,
                       neo_expr *bound);
bool neo_type_eval(neo_inst *in, const neo_ast_type *t, neo_expr *bound); /* false: reported */
/* A definition `var = value`; its symbol's value, without binding it. `Y = X` and `Y = f(X)` give
 * what is there. `full` is the name of the tensor; the caller or the last round may have chosen it,
 * so what calls own is named after `var` in this instance, or if `anonymous` and the whole value is
 * a call, after the function. */
neo_val neo_define_any(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                       const char *full, bool anonymous, const char **prefix);
void neo_define_bind(neo_inst *in, const neo_ast_name *name, neo_val v, const char *prefix);
const neo_ast_name *neo_define_target(const neo_ast_stmt *s, uint32_t k);
neo_val neo_define_copy(neo_inst *in, neo_val v, const char *full, neo_span at); /* a TEMP of it */
void neo_check_update(neo_inst *in, const neo_ast_stmt *s);                      /* updates.c */
void neo_check_input(neo_inst *in, const neo_ast_stmt *s);                       /* tensors.c */
void neo_check_owned(neo_inst *in, const neo_ast_stmt *s);                       /* param, state */
void neo_check_const(neo_inst *in, const neo_ast_stmt *s);                       /* consts.c */
neo_val neo_const_define(neo_inst *in, const neo_ast_stmt *s, const char *full); /* tensors.c */
bool neo_extents_eval(neo_inst *in, const neo_ast_axes *axes, uint32_t *n, neo_expr *extent,
                      const char **name);
/* Adds a tensor, checking rank and number of elements; 0 after a report. */
neo_tensor neo_tensor_make(neo_inst *in, neo_tensor_rec rec, const neo_expr *extent, uint32_t n,
                           const char *full);
void neo_check_import(neo_inst *in, const neo_ast_stmt *s); /* modules.c */
neo_scope *neo_module_read(neo_fe *fe, const char *path, const char *text, size_t n, bool is_main);

/* ---- calls (calls.c, params.c) */
typedef struct {
  bool poison;
  uint32_t n;
  neo_val at[NEO_MAX_RESULTS];
  const char *prefix;
} neo_results;
/* The results of a call of a function, or of grad(…), made once for a node in a frame. */
neo_results *neo_call(neo_frame *f, const neo_ast_expr *e, neo_sym *fn, const char *prefix,
                      uint32_t n_names, const char *const *full);
bool neo_call_is(neo_inst *in, const neo_ast_expr *e, neo_sym **fn); /* a call that gives tensors */
neo_results *neo_grad_call(neo_frame *f, const neo_ast_expr *e, uint32_t n_names,
                           const char *const *full);
/* Binds sizes, pack, parameters and options of a signature in the instance's scope. */
typedef struct {
  uint32_t n;
  neo_val at[NEO_MAX_RESULTS];
  neo_span span[NEO_MAX_RESULTS];
} neo_actuals;
bool neo_params_bind(neo_inst *in, const neo_ast_sig *sig, const neo_actuals *actual,
                     const neo_val *option, const neo_span *option_span);
/* Adds a request and its result tensors, without pieces. */
void neo_grad_request(neo_fe *fe, neo_tensor y, neo_tensor seed, const neo_tensor *wrt, uint32_t n,
                      const char *const *full, neo_span span, neo_tensor *out);
/* Options of a call by name; `known`: they must be known at compile time. span[k] is 0 if not
 * given. */
bool neo_call_options(neo_frame *f, const neo_ast_args *args, const neo_ast_sig *sig, bool known,
                      neo_val *option, neo_span *span);
/* Arguments as tensors of their own, so that gradients can be told for them. */
bool neo_custom_actuals(neo_inst *in, const neo_ast_stmt *fn, neo_actuals *actual);
/* The function's own gradient, after its body was checked; false after a report. */
bool neo_custom_make(neo_inst *in, const neo_ast_stmt *fn, const neo_actuals *actual,
                     neo_results *r); /* grads.c */

/* ---- regions (regions.c) */
void neo_check_region(neo_inst *in, const neo_ast_stmt *s);
void neo_check_next(neo_inst *in, const neo_ast_stmt *s);
void neo_check_collect(neo_inst *in, const neo_ast_stmt *s);

/* ---- entries (train.c, outputs.c) */
struct neo_trainee {
  neo_tensor param, grad;
  struct neo_trainer *trainer;
  size_t first_update; /* of the entry, among the program's updates */
};
neo_val neo_train_norm(neo_inst *in); /* global_norm */
/* `step`: in a `train` statement, its optimizer and what these call, the entry's own; train_step.c */
neo_val neo_train_step(neo_inst *in);
void neo_check_outputs(neo_fe *fe, neo_inst *in);
void neo_check_trains(neo_fe *fe, neo_inst *in);
/* Marks everything that the root depends on, itself too; by tensor id. */
bool *neo_tensor_reach(neo_fe *fe, neo_tensor root);
bool neo_view_is_whole(const neo_view *v);

#endif

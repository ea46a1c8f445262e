/* The checker's state.
 *
 * fe        one run: the module being built, the prover, names given out, the outputs scope
 * names -> symbols; a block's scope has its parent inst      the context of statements: a file, a
 * call of a function, an iteration of a `repeat` frame     one statement: its axes (AXIS k of every
 * expression lowered in it), the conditions
 *           around the expression being lowered, its pack
 * val       the value of an expression: poison, a literal without type, a scalar expression, or a
 * view
 *
 * Ambient axes. A call whose arguments depend on indices of the caller is checked with those
 * indices as ambient axes: they are the first axes of every frame of the call, and the first
 * dimensions of every tensor that it defines. A view names an element of such a dimension by an
 * index expression.
 *
 * Positions. In a frame the axes are a stack: ambient, output, then those of the open reducers. A
 * reducer is kept as the statement's own reduction, or hoisted into a definition, before it is
 * closed, so its positions can be given out again. */
#pragma once
#include "base/map.h"
#include "frontend/frontend.h"
#include "frontend/syntax/ast.h"
#include "ir/limits.h"
#include "ir/prove/prove.h"

enum { NEO_MAX_DEPTH = 2048, NEO_CALL_DEPTH = 32 };
enum { NEO_MAX_RANK = NEO_TENSOR_RANK, NEO_MAX_AXES = 40, NEO_MAX_ITERATIONS = 6 };

typedef struct neo_fe neo_fe;
typedef struct neo_inst neo_inst;
typedef struct neo_scope neo_scope;
typedef struct neo_frame neo_frame;
typedef struct neo_trainee neo_trainee;
typedef struct neo_graph neo_graph;

/* ---- values
 * ------------------------------------------------------------------------------------- */

typedef enum { NEO_LIT_INT, NEO_LIT_FLOAT, NEO_LIT_BOOL } neo_lit_kind;
typedef struct { /* known at compile time; takes the type of the other operand */
  neo_lit_kind kind;
  int64_t i; /* INT, BOOL */
  double f;  /* FLOAT; for INT its nearest double */
} neo_lit;

/* A tensor with some dimensions fixed: index[d] is the index of dimension d, over ambient axes of
 * the frame; 0 where the dimension is free. `rank` counts the free ones. */
typedef struct {
  neo_tensor tensor;
  /* A tensor whose element is the index in this view's first free dimension; 0: there is none. */
  neo_tensor through;
  uint32_t rank, n;
  neo_expr index[NEO_MAX_RANK];
} neo_view;

typedef enum { NEO_VAL_POISON, NEO_VAL_LIT, NEO_VAL_EXPR, NEO_VAL_VIEW } neo_val_kind;
typedef struct {
  neo_val_kind kind;
  bool index; /* EXPR of sizes, indices and literals only: combines with integers of any type */
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
  NEO_SYM_ITERATION,
  NEO_SYM_VERTEX,
  NEO_SYM_GRAPH,
  NEO_SYM_TYPE
} neo_sym_kind;
typedef struct {
  neo_sym_kind kind;
  const char *name; /* interned */
  neo_span span;    /* span of the declaration */
  neo_val value;
  const char *prefix;        /* full name of the call that defined it; NULL */
  const neo_ast_stmt *fn;    /* FN, OPTIMIZER, VERTEX */
  neo_scope *scope;          /* FN, OPTIMIZER, VERTEX: the scope of its file; MODULE, GRAPH: its
                             names */
  const neo_graph *graph;    /* GRAPH */
  uint32_t iteration;        /* ITERATION: number in the instance */
  neo_type type;             /* TYPE: the type that the variable stands for */
  const char *binder;        /* TYPE: the parameter that determined it; NULL */
  const neo_val *trip_count; /* VALUE of a `while`: the number of iterations that ran; NULL */
} neo_sym;

struct neo_scope {
  neo_scope *parent;
  neo_map map;
  NEO_VEC(neo_sym *) syms;
};

typedef struct {         /* ends of integer elements; 0: none */
  neo_expr bound;        /* elements are in [0, bound), over sizes alone */
  neo_expr least, below; /* ends of each element, see ir/ir.h */
} neo_ends;

/* ---- one run
 * ------------------------------------------------------------------------------------ */

typedef struct { /* a param or state of a call, by its full name */
  neo_tensor tensor;
  neo_span span;
  uint32_t n_iterations; /* leading dimensions, one per iteration around */
  uint32_t region[NEO_MAX_ITERATIONS];
} neo_owned;

typedef struct { /* `update` of the model (not of an optimizer) */
  neo_tensor updates, update;
  neo_span span;
  int64_t pieces;
} neo_update_rec;

typedef struct {
  const char *path;
  const neo_module_source *source; /* a module in memory; NULL: a file, or the main text */
  bool read;
  uint32_t file;    /* number among the sources, once the file is read */
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
  uint32_t depth;      /* open expressions, calls and regions: bounds the stack */
  bool exhausted;      /* the limit was reached, and is reported */
  bool asks_gradients; /* the program has a grad of some named tensor */
  neo_inst *main;      /* the instance of the model's file */
  neo_map taken;       /* full names in use */
  neo_map written;     /* names in the program's text (written.c) */
  neo_map owned;       /* full name -> index + 1 into owned_at */
  neo_map declared;    /* as `owned`, by the name that the tensor would have had, and the
                          statement */
  NEO_VEC(neo_owned) owned_at;
  NEO_VEC(const neo_scope *) blocks; /* scopes of the blocks of loops, for help with their names */
  NEO_VEC(neo_expr) asserts;
  NEO_VEC(neo_update_rec) updates;
  NEO_VEC(neo_file_rec) files;
  NEO_VEC(const neo_ast_stmt *) outputs, trains;
  NEO_VEC(neo_graph *) graphs;
  neo_map regions; /* a repeat, within the iteration around it -> its number */
  bool *define_used;
};

/* ---- where statements are checked
 * ----------------------------------------------------------------- */

typedef struct {
  uint32_t region;
  int64_t at, count;
  uint32_t axis; /* 1 + the ambient axis of the iteration, for a repeat that is a loop; 0: the
                    iteration is `at` */
} neo_iteration;

struct neo_inst {
  neo_fe *fe;
  neo_scope *scope;
  const char *prefix; /* "" in the main file */
  neo_map prefixes;   /* prefixes of calls so far; reset in each iteration, so that names repeat */
  uint32_t n_ambient;
  neo_axis_rec ambient[NEO_MAX_AXES];
  bool has_pack;       /* the parameters have a `..`, with one shape */
  neo_span pack_other; /* an argument whose shape there differs from an earlier one; 0: none */
  uint32_t n_pack;
  neo_expr pack[NEO_MAX_RANK];
  uint32_t n_iterations;
  neo_iteration iteration[NEO_MAX_ITERATIONS];
  const neo_ast_stmt *fn; /* the function, NULL in a file */
  neo_span call;
  const neo_inst *caller;
  uint32_t n_results; /* names that the caller gives to results */
  const char **result, **result_full;
  neo_trainee *trainee;              /* in an optimizer: the parameter that it trains */
  struct neo_trainer *trainer;       /* the entry of the `train` statements being checked */
  bool is_main;                      /* the main file, not a module */
  struct neo_iterations *iterations; /* the region of `next` and `collect`; NULL outside */
  struct neo_vertex *vertex;         /* the vertex function of `gather`, `scatter` and `push`; NULL
                                  outside */
  const char *once;   /* "scan", "while" or "case" around this instance or a caller, where
                                  a state cannot be updated; NULL */
  bool branch;        /* a branch of a case on a run-time value: no `next`, no `collect` */
  uint64_t loop_axes; /* ambient axes that are iterations of a scan or while, as bits */
  neo_tensor alive;   /* condition of the innermost while around, in this function; 0: none */
  size_t n_owned;     /* number of params and states in the program before this call */
};

/* A read that was proved in range, kept until the reducers around it are closed. */
typedef struct {
  neo_expr index, extent;
  uint32_t first_assume, n_assume; /* into frame.proofs */
} neo_read;

typedef struct { /* the reduction that stays in the statement */
  bool set;
  neo_reducer reducer;
  neo_expr where, body[2];
  neo_expr least, bound; /* its result is in [least, bound), over sizes alone; 0: not known */
  uint32_t n_body, n_axes;
  neo_axis_rec axis[NEO_MAX_RANK];
} neo_own_reduction;

typedef struct { /* an index whose reducer is closed */
  const char *name, *word;
  neo_span span;
} neo_closed;

struct neo_frame {
  neo_inst *in;
  neo_fe *fe;
  neo_module *m;
  const char *target; /* full name, from which hoisted definitions and anonymous calls get theirs */
  uint32_t n_axes, n_out;
  neo_axis_rec axis[NEO_MAX_AXES];
  const char *axis_name[NEO_MAX_AXES]; /* NULL: ambient, has no name here */
  uint64_t guarded; /* bit k: the extent of axis k was found in guarded reads only */
  NEO_VEC(neo_expr) assume;
  NEO_VEC(neo_read) reads;
  NEO_VEC(neo_expr) proofs;
  NEO_VEC(neo_closed) closed;  /* indices of closed reducers */
  neo_map calls;               /* REF node -> neo_results */
  neo_map inferred;            /* REDUCE node -> its wants */
  neo_map unrounded;           /* a hoisted sum of a narrow type -> the sum before rounding */
  bool has_pack, pack_is_open; /* open: a call that uses the other indices determines the number of
                                  `..` */
  uint32_t n_pack;
  const char *pack_name[NEO_MAX_RANK];
  neo_type literal;    /* type of literals that meet no typed operand: f32, unless another one is
                       wanted */
  uint32_t subscript;  /* > 0: in a subscript, bound or size: integers are i64, `/` floors */
  uint32_t must_hoist; /* > 0: a reducer here must be hoisted */
  uint32_t depth;      /* number of open reducers */
  uint32_t wide;       /* > 0: in wide(…), where sums of narrow types are not rounded */
  uint32_t n_hoisted;
  bool init;       /* an initial value: functions such as uniform() are allowed */
  bool sizes_only; /* tensors are not allowed (extents) */
  /* The carry of which this is the next value: gives extents that nothing else determines. */
  const neo_view *carry;
  const char *self; /* the name being defined, if its value reads it; NULL */
  NEO_VEC(neo_tensor)
  recurrence; /* the tensor being defined, and hoisted reductions that depend on
                                     it */
  neo_own_reduction own;
};

/* ---- calls and gradients */

typedef struct {
  bool poison;
  uint32_t n;
  neo_val *at; /* `n` can grow to the capacity made by neo_results_room */
  const char *prefix;
} neo_results;

typedef struct { /* arguments of a call */
  uint32_t n;
  neo_val *at; /* by parameter of the signature */
  neo_span *span;
} neo_actuals;

struct neo_trainee {
  neo_tensor param, grad;
  struct neo_trainer *trainer;
  size_t first_update; /* the entry's first update among the program's updates */
};

/* ---- inference of extents */

typedef struct neo_want { /* an index whose extent is being inferred */
  const char *name;
  neo_span span;
  bool bounded; /* the text has a bound */
  bool guarded; /* the extent comes from guarded reads only */
  bool hushed;  /* an error was reported: say no more */
  neo_expr extent;
  neo_span place;
  int dim;
  const char *tensor, *tensor2; /* the second: in conflict with the first */
  neo_expr extent2;
  neo_span place2, declared2;
  int dim2;
  struct neo_want *outer;
} neo_want;
typedef struct {
  uint32_t n;
  neo_want *at;
} neo_wants;

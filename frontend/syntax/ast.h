/* Syntax tree of one `.expr` file: the parser makes it; the checker and the formatter read it.
 *
 * Plain structs in one arena, tagged unions, no ownership. Lists are exact arrays {at, n}. Every
 * node has a span over its source text (neo_span, base/diag.h). Names are interned: two names are
 * equal exactly when their `text` pointers are (neo_name_text of the neo_names given to the
 * parser); a name that is absent has text == NULL.
 *
 * The tree is syntax alone. Nothing is resolved: `max(a, b)` is a REF with arguments, `b.W` a path
 * of two names, `x[N, C]` in a parameter list has SIZE axes whose `hi` is the path N.
 *
 * Bounds that a consumer may rely on for recursion: statements, brackets and reducers nest at most
 * NEO_AST_MAX_DEPTH deep, and the tree of one expression is at most NEO_AST_MAX_HEIGHT high (a
 * chain a + b + c … leans to the left). The parser reports larger ones. */
#pragma once
#include "base/diag.h"
#include "ir/ir.h"
#include <stdbool.h>

enum { NEO_AST_MAX_DEPTH = 256, NEO_AST_MAX_HEIGHT = 1024 };

typedef struct neo_ast_expr neo_ast_expr;
typedef struct neo_ast_stmt neo_ast_stmt;
typedef struct neo_ast_region neo_ast_region;

#define NEO_AST_LIST(T) \
  struct {              \
    T *at;              \
    uint32_t n;         \
  }

typedef struct {
  const char *text; /* interned; NULL = absent */
  neo_span span;
} neo_ast_name;
typedef NEO_AST_LIST(neo_ast_name) neo_ast_names;

typedef struct { /* h.block.W: one span a component, and one over all */
  neo_ast_name *at;
  uint32_t n; /* at least 1 */
  neo_span span;
} neo_ast_path;
typedef NEO_AST_LIST(neo_ast_path) neo_ast_paths;

/* ---- expressions ----------------------------------------------------------------------------- */

typedef enum {
  NEO_AST_NUMBER, /* 12, 0.5, 1e-3, inf, nan, pi */
  NEO_AST_BOOL,   /* true, false */
  NEO_AST_REF,    /* path [args] [subs]: a name, a call, an element (of a call's result) */
  NEO_AST_UNARY,  /* -x, not x */
  NEO_AST_BINARY, /* arithmetic, comparisons, and, or */
  NEO_AST_GUARD,  /* (value else fallback) */
  NEO_AST_REDUCE, /* sum[k < K where c] body */
  NEO_AST_EXPR_KINDS
} neo_ast_expr_kind;

/* Operators: X(name, text). The comparisons are EQ to GE, in this order. */
#define NEO_AST_OPS(X) \
  X(ADD, "+")          \
  X(SUB, "-")          \
  X(MUL, "*")          \
  X(DIV, "/")          \
  X(MOD, "%")          \
  X(POW, "^")          \
  X(EQ, "==")          \
  X(NE, "!=")          \
  X(LT, "<")           \
  X(LE, "<=")          \
  X(GT, ">")           \
  X(GE, ">=")          \
  X(AND, "and")        \
  X(OR, "or")          \
  X(NEG, "-")          \
  X(NOT, "not")
typedef enum {
#define X(name, text) NEO_AST_##name,
  NEO_AST_OPS(X)
#undef X
      NEO_AST_OP_COUNT
} neo_ast_op;
static inline bool neo_ast_op_is_cmp(neo_ast_op op) {
  return op >= NEO_AST_EQ && op <= NEO_AST_GE;
}
/* The operator as it is written: "+". Constant text. */
const char *neo_ast_op_text(neo_ast_op op);

/* Reducers: X(name, text). Words like any other, except before `[` in an expression. */
#define NEO_AST_REDUCERS(X) \
  X(SUM, "sum")             \
  X(PROD, "prod")           \
  X(MAX, "max")             \
  X(MIN, "min")             \
  X(MEAN, "mean")           \
  X(ARGMAX, "argmax")       \
  X(ARGMIN, "argmin")       \
  X(ANY, "any")             \
  X(ALL, "all")             \
  X(LOGSUMEXP, "logsumexp")
typedef enum {
#define X(name, text) NEO_AST_RED_##name,
  NEO_AST_REDUCERS(X)
#undef X
      NEO_AST_RED_COUNT
} neo_ast_reducer;
/* The reducer as it is written: "sum". Constant text. */
const char *neo_ast_reducer_text(neo_ast_reducer r);

typedef enum { NEO_AST_REL_NONE, NEO_AST_REL_LT, NEO_AST_REL_LE } neo_ast_rel; /* absent, <, <= */

/* An axis or an index, wherever one is introduced:
 *   PACK    `..`; only `span` is set
 *   INDEX   a name with optional bounds: [lo lo_rel] name [hi_rel hi]. `lo` occurs in reducers only
 *   SIZE    an extent without a name, in `hi`; in declarations and parameters only (`x[N, 28]`,
 *           `param W[2*K]`). In declarations a bounded INDEX (`W[i < N]`) names the axis. */
typedef enum { NEO_AST_PACK, NEO_AST_INDEX, NEO_AST_SIZE } neo_ast_axis_kind;
typedef struct {
  neo_ast_axis_kind kind;
  neo_span span;
  neo_ast_name name;
  neo_ast_rel lo_rel, hi_rel;
  neo_ast_expr *lo, *hi; /* NULL = not written */
} neo_ast_axis;
typedef NEO_AST_LIST(neo_ast_axis) neo_ast_axes;

typedef struct {           /* `: i32 < V`, `: -1 <= i32 < v`, `: real`, `: wide(real)` */
  bool given;              /* false: nothing below is set */
  neo_type type;           /* the type, if `variable` is absent */
  neo_ast_name variable;   /* a type variable of the enclosing signature */
  bool wide;               /* wide(variable) */
  neo_ast_rel rel, lo_rel; /* NONE: no such bound */
  neo_ast_expr *bound, *lo;
  neo_span span;
} neo_ast_type;

typedef struct {     /* positional, or by name */
  neo_ast_name name; /* text NULL = positional */
  neo_ast_expr *value;
  neo_span span;
} neo_ast_arg;
typedef NEO_AST_LIST(neo_ast_arg) neo_ast_args;

typedef struct {
  neo_ast_expr *expr; /* NULL = `..` */
  neo_span span;
} neo_ast_sub;
typedef NEO_AST_LIST(neo_ast_sub) neo_ast_subs;

struct neo_ast_expr {
  neo_ast_expr_kind kind;
  uint16_t height; /* 1 + that of the highest child */
  bool parens;     /* stood in parentheses of its own (a GUARD's do not count) */
  neo_span span;   /* with those parentheses */
  union {
    struct {
      const char *text; /* as written, interned */
      bool is_int;      /* then `i` is exact, and `value` its nearest double */
      int64_t i;        /* never negative */
      double value;     /* nearest double; inf, nan and pi too */
    } number;
    bool boolean;
    struct {
      neo_ast_path path;
      bool has_args, has_subs; /* f() has arguments: none */
      neo_ast_args args;
      neo_ast_subs subs;
      neo_span subs_span; /* the bracket */
    } ref;
    struct {
      neo_ast_op op; /* NEG, NOT */
      neo_span op_span;
      neo_ast_expr *x;
    } unary;
    struct {
      neo_ast_op op; /* a < b < c is (a < b) < c with parens false; the checker objects */
      neo_span op_span;
      neo_ast_expr *x, *y;
    } binary;
    struct {
      neo_ast_expr *value, *fallback;
    } guard;
    struct {
      neo_ast_reducer reducer;
      neo_span word;       /* span of the reducer, as `sum` */
      neo_ast_axes axes;   /* PACK and INDEX; at least one */
      neo_ast_expr *where; /* NULL = none */
      neo_ast_expr *body;
    } reduce;
  } u;
};

/* [1, [2, 3], -inf]: the value of a `const`. */
typedef struct neo_ast_literal neo_ast_literal;
struct neo_ast_literal {
  neo_span span;
  neo_ast_expr *number; /* a NUMBER, or NEG of one; NULL = a list, in `items` */
  NEO_AST_LIST(neo_ast_literal) items;
};

/* ---- parts of statements --------------------------------------------------------------------- */

/* A declared or defined tensor: name, axes, type. On the left of a definition (`target` in the
 * grammar) the axes are PACK and INDEX; in a declaration (`var`) all three kinds. */
typedef struct {
  neo_ast_name name;
  bool indexed; /* has a bracket; else the axes are empty */
  neo_ast_axes axes;
  neo_ast_type type;
  neo_span span;
} neo_ast_var;
typedef NEO_AST_LIST(neo_ast_var) neo_ast_vars;

typedef struct { /* `r[c] = e` after next, update, scatter, from, gather */
  neo_ast_var var;
  neo_ast_expr *value;
  neo_span span;
} neo_ast_bind;
typedef NEO_AST_LIST(neo_ast_bind) neo_ast_binds;

typedef struct {
  bool input; /* stays settable at run time (optimizers) */
  neo_ast_name name;
  neo_ast_type type;
  neo_ast_expr *value; /* NULL = required */
  neo_span span;
} neo_ast_option;
typedef NEO_AST_LIST(neo_ast_option) neo_ast_options;

typedef struct { /* name(params; options) */
  neo_ast_name name;
  neo_ast_vars params;
  neo_ast_options options;
  neo_span span;
} neo_ast_sig;

typedef NEO_AST_LIST(neo_ast_stmt *) neo_ast_stmts;
typedef struct {
  neo_ast_stmts stmts;
  neo_span span;        /* with the braces */
  neo_span open, close; /* the braces; close is 0 where it is missing */
} neo_ast_block;

typedef struct {              /* nn as layers */
  neo_ast_name module, alias; /* alias.text NULL = none */
  neo_span span;
} neo_ast_alias;

typedef struct { /* head.*: a component with text NULL is `*` */
  neo_ast_names parts;
  neo_span span;
} neo_ast_pattern;

/* ---- regions: on the right of a definition --------------------------------------------------- */

typedef enum {
  NEO_AST_SCAN,   /* scan index < extent [down] from binds block */
  NEO_AST_REPEAT, /* repeat index < extent from binds block */
  NEO_AST_WHILE,  /* while cond limit extent from binds block */
  NEO_AST_CASE,   /* case cond { label block … else block } */
  NEO_AST_REGION_KINDS
} neo_ast_region_kind;

typedef enum { NEO_AST_LABEL_NUMBER, NEO_AST_LABEL_BOOL, NEO_AST_LABEL_ELSE } neo_ast_label_kind;
typedef struct {
  neo_ast_label_kind kind;
  neo_ast_expr *label; /* NUMBER, NEG of one, or BOOL; NULL for else */
  neo_ast_block block;
  neo_span span;
} neo_ast_arm;

struct neo_ast_region {
  neo_ast_region_kind kind;
  neo_span span, word;            /* whole; the word `scan` */
  neo_ast_name index;             /* SCAN, REPEAT */
  bool down;                      /* SCAN: from the last to the first */
  neo_ast_expr *extent;           /* SCAN, REPEAT: number of iterations; WHILE: the limit; CASE:
                                     NULL */
  neo_ast_expr *cond;             /* WHILE: tested before each iteration; CASE: the value to select
                                     by */
  neo_ast_binds from;             /* carries with their initial values */
  neo_ast_block block;            /* not for CASE */
  NEO_AST_LIST(neo_ast_arm) arms; /* CASE; else, if any, is the last */
};

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum {
  NEO_AST_IMPORT,    /* u.import */
  NEO_AST_DIM,       /* u.dim */
  NEO_AST_ASSERT,    /* u.expr */
  NEO_AST_INPUT,     /* u.decl; value may be NULL */
  NEO_AST_PARAM,     /* u.decl */
  NEO_AST_STATE,     /* u.decl */
  NEO_AST_CONST,     /* u.decl; value or literal */
  NEO_AST_DEFINE,    /* u.define */
  NEO_AST_NEXT,      /* u.binds */
  NEO_AST_UPDATE,    /* u.binds */
  NEO_AST_SCATTER,   /* u.binds */
  NEO_AST_GATHER,    /* u.binds; axes as in a declaration */
  NEO_AST_COLLECT,   /* u.names */
  NEO_AST_PUSH,      /* u.names, one */
  NEO_AST_FN,        /* u.fn */
  NEO_AST_OPTIMIZER, /* u.fn without results */
  NEO_AST_VERTEX,    /* u.fn with `over` */
  NEO_AST_GRAPH,     /* u.graph */
  NEO_AST_OUTPUT,    /* u.output */
  NEO_AST_TRAIN,     /* u.train */
  NEO_AST_BROKEN,    /* u.names: the names that it would have defined, whose uses give no errors */
  NEO_AST_STMT_KINDS
} neo_ast_stmt_kind;

/* The keyword at its beginning; NULL for DEFINE and BROKEN. */
const char *neo_ast_stmt_word(neo_ast_stmt_kind kind);

/* children <= most, edges <= most, type.edges <= most */
typedef struct {
  neo_ast_name type; /* type of the edges, if they have one */
  bool lists;        /* edges in lists of any length; false: children in a fixed number of slots */
  neo_ast_expr *most;
} neo_ast_edge;
typedef struct {
  neo_ast_edge *at;
  uint32_t n;
} neo_ast_edges;

struct neo_ast_stmt {
  neo_ast_stmt_kind kind;
  neo_span span; /* whole statement, with its blocks */
  neo_span word; /* the first word: `input`, `fn`, or the name defined */
  union {
    struct {
      NEO_AST_LIST(neo_ast_alias) aliases;
    } import;
    struct { /* dim B = hi (rel NONE); dim [lo <=] B <= hi (rel LE) */
      neo_ast_name name;
      neo_ast_rel rel;
      neo_ast_expr *lo, *hi;
    } dim;
    neo_ast_expr *expr;
    struct {
      neo_ast_var var;
      neo_ast_expr *value;
      neo_ast_literal *literal;
    } decl;
    struct { /* target, more… = value or region; exactly one of the two is set */
      neo_ast_var target;
      neo_ast_names more; /* further results */
      neo_ast_expr *value;
      neo_ast_region *region;
    } define;
    neo_ast_binds binds;
    neo_ast_names names;
    struct {
      neo_ast_sig sig;
      neo_ast_names results;
      neo_ast_block block;
      bool has_grad; /* grad(seeds) -> grads block */
      neo_ast_names seeds, grads;
      neo_ast_block grad_block;
      neo_ast_name over; /* VERTEX: the graph */
      bool down;         /* VERTEX: from parents to children */
    } fn;
    struct {
      neo_ast_name name;
      neo_ast_edges edges; /* at least one */
      neo_ast_expr *vertices;
    } graph;
    struct { /* output [entry:] tensors [update updates] */
      neo_ast_name entry;
      neo_ast_paths tensors, updates;
    } output;
    /* train [entry:] loss [over|except patterns] using optimizer(args) [every N [of rows]] */
    struct {
      neo_ast_name entry;
      neo_ast_path loss;
      bool except; /* the patterns name what is left out */
      NEO_AST_LIST(neo_ast_pattern) patterns;
      neo_ast_path optimizer;
      neo_ast_args args;
      neo_ast_expr *every, *of; /* null: not given */
    } train;
  } u;
};

/* ---- a file ---------------------------------------------------------------------------------- */

typedef struct {           /* for the formatter; the checker ignores them */
  uint32_t offset, length; /* from `#` to the end of the line, without it */
  bool alone;              /* nothing else stands on its line */
} neo_ast_comment;

typedef struct {
  const char *path;
  const char *text; /* as given to the parser */
  size_t size_bytes;
  uint32_t file_id; /* in neo_sources */
  neo_ast_stmts stmts;
  NEO_AST_LIST(neo_ast_comment) comments; /* in order */
  bool had_errors;                        /* something was reported; some statements are BROKEN */
  bool asks_gradients;                    /* contains a `grad(…)` */
} neo_ast_file;

/* ---- walking (ast.c) */
/* Calls `each` for the expressions directly below e, in the order of the text. */
void neo_ast_children(const neo_ast_expr *e, void (*each)(void *ctx, const neo_ast_expr *e),
                      void *ctx);
/* Visits the values of definitions, carries and states in the statements, and the values that
 * regions test. */
void neo_ast_exprs(const neo_ast_stmts *stmts, void (*each)(void *ctx, const neo_ast_expr *e),
                   void *ctx);
/* Whether a reducer in e binds `..`. */
bool neo_ast_binds_pack(const neo_ast_expr *e);
/* Whether e is one name and nothing else; false if it is null. */
bool neo_ast_is_bare(const neo_ast_expr *e);

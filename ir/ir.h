/* The expression IR: one level, from the checked program to code generation.
 *
 * A module is a flat set of tables: expressions (hash-consed, immutable), sizes, axes, tensors,
 * definitions, entries, gradient requests. A definition says what each element of its tensors is:
 *
 *     out[stride*x + offset] = finish(x, acc),   acc = reducer[r | where(x, r)] body(x, r)
 *
 * x are its output axes, r its reduction axes; AXIS k in an expression is the definition's k-th
 * axis (output axes first), so expressions of different definitions are shared when they are equal.
 * A tensor has one or more pieces (definitions whose images are disjoint and cover it). No operator
 * is known by name.
 *
 * Elements are row-major in the order of a tensor's dimensions. The one exception is a part of a
 * concatenation, which fusion puts into the result's memory, with the result's strides
 * (ir/store.h). Callers see the order of dimensions of all roles but TEMP, and of the tensors that
 * entries return: it is the program's. A pass may permute the dimensions of another TEMP, in its
 * extents and in all its definitions and reads at once (transform/channels_last.c), or define a
 * tensor that holds the same elements in another order (transform/prepack.c).
 *
 * The module says nothing of the machine: passes get a neo_pass_target for that.
 *
 * Invariants (verified by ir/verify/verify.h): ids are in range; types obey ops.def; every LOAD has
 * one i64 index per dimension; AXIS positions exist; ACC occurs in finish only; the dependence
 * between definitions has an order (ir/order.h), where a read of a parameter or state means its
 * value before the step.
 *
 * Everything lives in the module's arena. One thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"
#include "ir/limits.h"
#include <assert.h>
#include <stdbool.h>

typedef enum {
#define X(name, text, size, kind) NEO_##name##_T,
#include "ir/types.def"
#undef X
  NEO_TYPE_COUNT
} neo_type; /* NEO_F32_T, ... */

typedef enum {
#define X(name, text, arity, rule, cost, meaning) NEO_OP_##name,
#include "ir/ops.def"
#undef X
  NEO_OP_COUNT
} neo_op;

typedef enum {
#define X(name, text, max_body, n_acc, meaning) NEO_RED_##name,
#include "ir/reducers.def"
#undef X
  NEO_RED_COUNT
} neo_reducer;

/* Distinct ids; 0 is "none" in every table. */
#define NEO_ID(n)  \
  typedef struct { \
    uint32_t i;    \
  } neo_##n
NEO_ID(expr);
NEO_ID(size);
NEO_ID(axis);
NEO_ID(tensor);
NEO_ID(def);
NEO_ID(region);
NEO_ID(rows);
#undef NEO_ID

typedef struct { /* a slice of the module's pool of u32 */
  uint32_t at, n;
} neo_list;

typedef struct {
  uint8_t op, type;
  uint32_t attr;
  neo_span span; /* the first place in the text that wrote it; not part of its identity */
  neo_list arg;
} neo_node;

typedef enum { NEO_SIZE_RUNTIME, NEO_SIZE_DERIVED } neo_size_kind;
typedef struct {
  uint8_t kind;
  uint32_t name;   /* name id */
  int64_t lo, hi;  /* lo <= value <= hi */
  bool loop_index; /* the index of a loop of a recurrence (fusion/recurrence.h) */
  uint8_t depth;   /* number of loops around that loop */
  bool has_usual;
  int64_t usual;  /* the value that cost models assume; set where it is far from both bounds */
  neo_expr value; /* DERIVED: over other sizes. Affine solving knows lo and hi of it only */
  neo_span span;
} neo_size_rec;

typedef struct {
  uint32_t name;
  neo_expr lo, hi; /* lo <= axis < hi; i64 over earlier axes, sizes, loads; outputs: lo = 0 */
  neo_span span;
} neo_axis_rec;

typedef enum {
  NEO_ROLE_INPUT,    /* given by the caller */
  NEO_ROLE_SETTING,  /* scalar input with a default (init); keeps the value that it was set to */
  NEO_ROLE_PARAM,    /* trained; init */
  NEO_ROLE_STATE,    /* persists between steps; init */
  NEO_ROLE_CONST,    /* data */
  NEO_ROLE_TEMP,     /* defined by pieces */
  NEO_ROLE_UPDATE,   /* defined by pieces: the new value of `updates` when the entry ends */
  NEO_ROLE_COTANGENT /* an adjoint inside a custom gradient; differentiation replaces it */
} neo_role;

/* The tables of the order of a graph (neo_rows_rec), by what their elements are. Elements of CHILD
 * and PARENTS name rows; an element of KIND is the kind of a row.
 *
 * FIRST is nondecreasing and ends with n. The elements after the first one that equals n are
 * neither written nor read, except those below index NEO_SATURATED and the last. */
typedef enum {
  NEO_ROW_NONE,
  NEO_ROW_TABLE,   /* any other */
  NEO_ROW_FIRST,   /* [block]: the block's first row */
  NEO_ROW_CHILD,   /* [row, ..]: a row in an earlier block than this row */
  NEO_ROW_PARENTS, /* a row in a later block, times the slots of its list, plus a slot */
  NEO_ROW_KIND,    /* [row]: the row's kind; the rows of block b have kind b % kinds */
  NEO_ROW_LISTED   /* a position in the list of a row in a later block */
} neo_row_role;
enum { NEO_SATURATED = 64 };

typedef struct {
  uint8_t role, type;
  uint32_t name; /* full dotted name ("h.W"), unique in the module */
  neo_span span;
  neo_expr bound;        /* integer elements are in [0, bound), over constants and sizes; 0: none */
  neo_expr least, below; /* elements are in [least, below); both may use the element's indices, as
                            AXIS k for dimension k; 0: no such end */
  neo_list extent;       /* exprs over constants and sizes, outermost first */
  neo_list pieces;       /* defs */
  neo_def init; /* PARAM, STATE, SETTING: a definition (not a piece) whose out is this tensor */
  neo_tensor updates; /* UPDATE: the tensor it replaces */
  /* The definition is a select, and the elements for which its condition does not hold are never
   * read: they need not be written. */
  bool partial;
  /* The definition is a sum, and the elements that have no term are never read: they need not be
   * written. */
  bool terms;
  bool optimizer; /* STATE: belongs to an optimizer, or counts an entry's steps */
  bool inner;     /* a reduction that was written within the expression that reads it */
  /* Its memory is at another address in each iteration of a loop that code generation makes. */
  bool moves;
  neo_rows rows;    /* the order of a graph that it is a table of (neo_rows_rec); 0: none */
  uint8_t row_role; /* neo_row_role: which table */
  /* INPUT of rank 1. If it names the tensor itself: the elements begin with 0, are nondecreasing,
   * and end with the tensor's bound - 1, the number of positions; they cut the positions into
   * lists, list v being the positions [v] .. [v + 1] - 1. If it names another tensor t: the
   * elements have these positions, and each is below the number of the list that it is in. TEMP:
   * the same, of a table in the order of a graph; or, with lists.h, the number of that list. */
  neo_tensor offsets;
  neo_region in; /* reserved for regions; 0: outside of all */
  /* A tensor of the same type and rank whose memory holds this one: element x is at element x + at
   * of it (ir/store.h); 0: this tensor has memory of its own. */
  neo_tensor within;
  neo_list at;      /* one expr over constants and sizes per dimension; empty without `within` */
  const void *data; /* CONST: row-major elements of `type`, n_data_bytes of them */
  size_t n_data_bytes;
} neo_tensor_rec;

/* The order of a graph by levels, which a definition of the kind LEVELS computes from n vertices v
 * and their children. A vertex comes after its children. Its level is one more than the highest
 * level of a child, and 0 for a leaf. Rows are the vertices sorted by level, then by kind, then by
 * number. The rows of one level and kind are a block: block b has the rows first[b] .. first[b + 1]
 * - 1. All tables are of i32; all but the first three are optional (id 0). ir/level_schedule.h has
 * the formulas.
 *
 *     levels (level, first, place, vertex, kind; placed, end, edge)[v: n, k: 2] = child[v, k] */
enum { NEO_ROWS_LISTS = 8 };
/* The children of each vertex, in one of two forms.
 *
 * Slots: child[v, k] for k < slots; a negative number means that slot k is empty. placed[row, k] is
 * the row of the child, or -1. edge lists the parents of each vertex u, as edge[end[u - 1]] ..
 * edge[end[u] - 1] (from 0 on if u is 0): the parent's row times slots, plus the slot, sorted by
 * the parent's number.
 *
 * Lists: the edges of vertex v are begin[v] .. begin[v + 1] - 1, of E edges
 * (neo_tensor_rec.offsets). placed[e] is the row of the child of edge e. edge has the numbers of
 * edges, and parent the row of the vertex in whose list the edge is; slots is 1. */
typedef struct {
  int64_t slots;
  neo_tensor begin;             /* 0: the form with slots */
  neo_tensor placed, end, edge; /* placed: [n, slots] or [E]; end: [n]; edge: [n*slots] or [E] */
  neo_tensor parent;            /* [E], for lists alone */
} neo_row_list;
typedef struct {
  int64_t kinds;     /* number of kinds of vertices; at least 1 */
  neo_tensor level;  /* [n]: the block of a vertex, which is its level times kinds, plus its kind */
  neo_tensor first;  /* [n*kinds + 1]: the first row of a block; the last element is n */
  neo_tensor place;  /* [n]: the row of a vertex */
  neo_tensor vertex; /* [n]: the vertex of a row */
  neo_tensor kind;   /* [n]: the kind of a row */
  uint32_t n_lists;
  neo_row_list list[NEO_ROWS_LISTS];
} neo_rows_rec;

/* A definition. One of the kind LEVELS has `rows`: its axes are the vertices, then the slots of
 * each list in turn. Its body has the children of each list, a LOAD, then the kind of a vertex if
 * there is more than one kind, then the begins of lists. It has no output axes and no finish;
 * neo_rows_rec describes its results. */
typedef struct {
  neo_rows rows; /* 0: an equation, as at the top of this file */
  neo_region in;
  neo_list axes; /* ids of axes: n_out output axes, then reduction axes */
  uint32_t n_out;
  neo_expr where; /* condition of the reduction; 0: always. Only with a reducer */
  uint8_t reducer;
  neo_list body;    /* exprs; empty for the reducer NONE */
  neo_list finish;  /* one expr for each out; may use ACC */
  neo_list out;     /* 1..4 tensors of equal extents; any number for LEVELS */
  neo_list out_map; /* accessed through ir/out_map.h; empty: identity */
  neo_span span;
  uint32_t origin; /* id of the definition that it was derived from, for `explain`; 0: itself */
  /* The order of factors in its products is the program's. Products of a gradient have no order
   * (docs/language.md, Types). Set when autodiff begins; the text form omits it, so parsed
   * definitions count as a gradient's. */
  bool as_written;
  /* Definitions of equal number run in one loop along their first axes, if fusion can make it
   * (transform/checkpoint/checkpoint.c); 0: none. */
  uint32_t chunk_loop;
  uint32_t inner_loop; /* the chunk loop inside of an iteration of that one; 0: none */
  /* A tensor that must be computed before, although this does not read it
   * (transform/recompute/recompute.c); 0: none. */
  neo_tensor after;
} neo_def_rec;

/* Regions, one axis each (scan, while, case, vertex). Reserved: the table is always empty. */
typedef struct {
  uint8_t kind;
  neo_region parent;
  neo_axis axis;
} neo_region_rec;

typedef enum { NEO_ENTRY_FORWARD, NEO_ENTRY_TRAIN, NEO_ENTRY_GRAD, NEO_ENTRY_INIT } neo_entry_kind;
typedef struct {
  uint8_t kind;
  uint32_t name; /* "forward", "test", "step", "grad", "init" */
  /* Tensors returned, in order. TRAIN: the loss; GRAD: the loss, then the gradients. */
  neo_list outputs;
  neo_list names;   /* ids of the names that callers use for the outputs ("L", "loss", "grad:W1") */
  neo_list updates; /* UPDATE tensors that take effect */
  neo_span span;
} neo_entry_rec;

/* A request for gradients. The frontend makes it; neo_pass_autodiff carries it out by defining
 * `out`: out[k] = seed . dy/dwrt[k]. For a scalar y, seed 0 means 1.
 *
 * With n_batch > 0 the request is one for each point p of the first n_batch dimensions of y and
 * seed, as the iterations of a loop are: out[k][p] = seed[p] . dy[p]/dwrt[k]. If out[k] has the
 * rank of wrt[k], wrt[k] has these dimensions too, and the derivative is that by wrt[k][p]. No
 * gradient flows through the tensors of `hold`, the values that an iteration begins with. */
typedef struct {
  neo_tensor y, seed;
  neo_list wrt, out;
  uint32_t n_batch;
  neo_list hold;
  bool done;
  neo_span span;
} neo_grad_rec;

/* A call of a function with its own gradient. The adjoints of `outs`, once known, replace `dys`,
 * and `dxs` are then the contributions to the adjoints of `ins` (a dx of 0: none). */
typedef struct {
  neo_list ins, outs, dys, dxs;
  neo_span span;
} neo_custom_rec;

/* A condition on run-time sizes, checked in every call of the library. */
typedef struct {
  neo_expr holds; /* bool, over constants and sizes */
  neo_span span;
} neo_assert_rec;

/* The precision that the user allows instead of f32 (transform/mixed_precision.c). 3XTF32 rounds no
 * operand: a product x*y of f32 may be computed as three products of tf32, X*Y + X*v + u*Y, where
 * X and Y are x and y rounded to tf32, and u and v are the remainders x - X and y - Y, rounded too.
 * The relative error is at most 3 * 2^-22 if both operands are at least 2^-114 and below 2^127; a
 * product of infinite operands is NaN. */
typedef enum {
  NEO_PRECISION_F32,
  NEO_PRECISION_BF16,
  NEO_PRECISION_TF32,
  NEO_PRECISION_3XTF32
} neo_precision;

typedef struct neo_module {
  neo_arena *arena;
  neo_names *names;
  neo_diags *diags;
  uint32_t name;       /* as in "mlp" */
  uint8_t math, store; /* neo_precision: of operands of contractions; of tensors in memory */
  bool recurrent;      /* some definitions depend on themselves; valid once fusion begins */
  NEO_VEC(uint32_t) pool;
  NEO_VEC(uint64_t) constants;
  NEO_VEC(neo_node) nodes; /* [0] unused, as in the tables below */
  NEO_VEC(uint64_t) used;  /* by node: the result of neo_expr_axes */
  NEO_VEC(uint64_t) accs;  /* by node: the result of neo_expr_accs */
  NEO_VEC(neo_size_rec) sizes;
  NEO_VEC(neo_axis_rec) axes;
  NEO_VEC(neo_tensor_rec) tensors;
  NEO_VEC(neo_def_rec) defs;
  NEO_VEC(neo_rows_rec) rows;
  NEO_VEC(neo_region_rec) regions;
  NEO_VEC(neo_entry_rec) entries;  /* from 0 */
  NEO_VEC(neo_grad_rec) grads;     /* from 0 */
  NEO_VEC(neo_custom_rec) customs; /* from 0 */
  NEO_VEC(neo_assert_rec) asserts; /* from 0 */
  uint32_t n_sites;                /* rand() sites given out */
  neo_map intern;                  /* hash-consing; private to node.c */
  neo_map named;                   /* name -> the first tensor that has it; private to build.c */
  neo_map copies;                  /* "prefix.of" -> the highest number taken; private to clone.c */
  struct neo_proofs *proofs;       /* state that provers share; private to prove/store.c */
  neo_map *proved_reads;       /* definitions whose reads were proved; private to verify/reads.c */
  struct neo_walks *walks;     /* marks of the walks in progress; private to walk.c */
  struct neo_linears *linears; /* memo of linear forms; private to linear.c */
} neo_module;

/* ---- tables (ir/tables.c) */
/* Type rules of ops.def. */
typedef enum {
  NEO_RULE_LEAF,
  NEO_RULE_SAME,
  NEO_RULE_FLOAT,
  NEO_RULE_CMP,
  NEO_RULE_LOGIC,
  NEO_RULE_SELECT,
  NEO_RULE_CAST,
  NEO_RULE_LOAD,
  NEO_RULE_NUM,
  NEO_RULE_RAND
} neo_rule;
/* The typing rule of an operator, from its row in ops.def. */
neo_rule neo_op_rule(neo_op op);
/* The cost of an operator on a processor, as a class of ir/cost.def: the one price that passes,
 * fusion, schedules and code generation use. */
typedef enum {
#define X(name, additions, meaning) NEO_COST_##name,
#include "ir/cost.def"
#undef X
  NEO_COST_COUNT
} neo_cost_class;
neo_cost_class neo_op_cost(neo_op op);
/* The cost of the operator on floats, in additions of one lane. */
double neo_op_additions(neo_op op);
/* The name of a type; its size in bytes. Constant text. */
const char *neo_type_text(neo_type t);
uint32_t neo_type_bytes(neo_type t);
/* Whether the type is f64, f32, f16 or bf16. */
bool neo_type_is_float(neo_type t);
/* Whether the type is i64, i32, i8 or u8. */
bool neo_type_is_int(neo_type t);
bool neo_type_of_text(const char *text, neo_type *t) NEO_MUST_CHECK;
/* The name of an operator, and the number of its arguments. Constant text. */
const char *neo_op_text(neo_op op);
int neo_op_arity(neo_op op);
/* The elementwise operator of this name; false: there is none. */
bool neo_op_of_text(const char *text, neo_op *op) NEO_MUST_CHECK;
/* Whether the operator takes elements to an element: all but leaves, loads and random numbers. */
bool neo_op_is_elementwise(neo_op op);
/* The name of a reducer. Constant text. */
const char *neo_reducer_text(neo_reducer r);
/* The reducer of this name; false: there is none. */
bool neo_reducer_of_text(const char *text, neo_reducer *r) NEO_MUST_CHECK;
/* The largest number of body expressions. The smallest is one, except for NONE. */
uint32_t neo_reducer_bodies(neo_reducer r);
/* The number of accumulators, ACC 0 and on, that finish may use. */
uint32_t neo_reducer_accs(neo_reducer r);
/* The type of ACC k if body[0] has type t: t itself for k = 0, i64 for k = 1. */
neo_type neo_reducer_acc_type(neo_type t, uint32_t k);
/* The word for a role in the text of the IR. Constant text. */
const char *neo_role_text(neo_role r);

/* ---- building (ir/node.c, ir/build.c). Ids are stable; records may move when a table grows, so
 * copy a record before adding to its table. */
/* An empty module in arena `a`; names and diagnostics are the caller's and must outlive it. */
neo_module *neo_module_new(neo_arena *a, neo_names *names, neo_diags *d, const char *name);

/* A slice of the pool with these n ids, or with one. */
neo_list neo_list_new(neo_module *m, const uint32_t *at, size_t n);
neo_list neo_list_one(neo_module *m, uint32_t id);
static inline uint32_t neo_list_at(const neo_module *m, neo_list l, uint32_t k) {
  assert(k < l.n); /* beyond are elements of another list */
  return m->pool.at[l.at + k];
}
static inline neo_expr neo_list_expr(const neo_module *m, neo_list l, uint32_t k) {
  return (neo_expr){neo_list_at(m, l, k)};
}
static inline neo_list neo_list_first(neo_list l, uint32_t n) { /* its first n */
  return (neo_list){l.at, n};
}
static inline neo_tensor neo_list_tensor(const neo_module *m, neo_list l, uint32_t k) {
  return (neo_tensor){neo_list_at(m, l, k)};
}
static inline neo_def neo_list_def(const neo_module *m, neo_list l, uint32_t k) {
  return (neo_def){neo_list_at(m, l, k)};
}

/* Hash-consed nodes. i64 arithmetic on constants folds, and so do x+0, x-0, x*1, x*0, x/1, x%1,
 * min/max of equals, and logic with constants; floats are never folded except NEG of a constant. */
neo_expr neo_expr_make(neo_module *m, neo_op op, neo_type type, uint32_t attr, const neo_expr *arg,
                       size_t n, neo_span span);
neo_expr neo_const_int(neo_module *m, neo_type t,
                       int64_t x); /* A constant; of a float type, the float with that value. */
neo_expr neo_const_i64(neo_module *m, int64_t x);
neo_expr neo_const_float(neo_module *m, neo_type t, double x); /* rounded to the type */
neo_expr neo_const_bool(neo_module *m, bool x);
neo_expr neo_axis_ref(neo_module *m, uint32_t position);
neo_expr neo_size_ref(neo_module *m, neo_size s);
neo_expr neo_acc_ref(neo_module *m, neo_type t, uint32_t k);
neo_expr neo_op1(neo_module *m, neo_op op, neo_expr a); /* type by the op's rule */
neo_expr neo_op2(neo_module *m, neo_op op, neo_expr a, neo_expr b);
neo_expr neo_op3(neo_module *m, neo_op op, neo_expr a, neo_expr b, neo_expr c);
neo_expr neo_between(neo_module *m, neo_expr lo, neo_expr x, neo_expr hi); /* lo <= x < hi */
neo_expr neo_both(neo_module *m, neo_expr a, neo_expr b); /* a and b, of which 0 always holds */
neo_expr neo_cast(neo_module *m, neo_type t, neo_expr a); /* a itself if it has that type */
neo_expr neo_load(neo_module *m, neo_tensor t, const neo_expr *index, size_t n, neo_span span);
neo_expr neo_load_else(neo_module *m, neo_tensor t, const neo_expr *index, size_t n, neo_expr other,
                       neo_span span);
/* The LOAD_ELSE that reads like the LOAD, and is 0 outside of its tensor. */
neo_expr neo_load_else_zero(neo_module *m, neo_expr load);

static inline const neo_node *neo_expr_node(const neo_module *m, neo_expr e) {
  return &m->nodes.at[e.i];
}
static inline bool neo_node_is_load(const neo_node *n) { /* with an `else`, or without */
  return n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE;
}
static inline neo_type neo_expr_type(const neo_module *m, neo_expr e) {
  return (neo_type)m->nodes.at[e.i].type;
}
static inline neo_expr neo_expr_arg(const neo_module *m, neo_expr e, uint32_t k) {
  return neo_list_expr(m, m->nodes.at[e.i].arg, k);
}
/* Whether e is an integer or bool constant; *x is then its value, and else unchanged. */
bool neo_expr_is_int(const neo_module *m, neo_expr e, int64_t *x);
/* Whether e is a float constant; *x is then its value, and else unchanged. */
bool neo_expr_is_float(const neo_module *m, neo_expr e, double *x);
/* Is it the constant 0 of any type, -0.0 and false included? Where bits count, 0.0 alone leaves a
 * sum as it is, and select(c, x, 0.0) is a load under a guard: neo_expr_is_positive_zero. */
bool neo_expr_is_zero(const neo_module *m, neo_expr e);
/* Is it the constant 0 of any type, but not -0.0? */
bool neo_expr_is_positive_zero(const neo_module *m, neo_expr e);

/* Add a size, an axis, or n axes (at most NEO_DEF_AXES) to the tables; return the id, or the list
 * of ids. */
neo_size neo_size_add(neo_module *m, neo_size_rec rec);
neo_axis neo_axis_add(neo_module *m, neo_axis_rec rec);
neo_list neo_axes_add(neo_module *m, const neo_axis_rec *axis, uint32_t n);
/* The number of points of the axis, max(hi - lo, 0): its bounds may cross where it is empty. */
neo_expr neo_axis_points(neo_module *m, const neo_axis_rec *x);
neo_tensor neo_tensor_add(neo_module *m, neo_tensor_rec rec); /* the record's name is not changed */
/* Adds a definition. `piece`: appends it to the pieces of its outs; otherwise it is an init, and
 * the caller stores its id in the tensor. */
neo_def neo_def_add(neo_module *m, neo_def_rec rec, bool piece);
static inline neo_tensor_rec *neo_tensor_at(const neo_module *m, neo_tensor t) {
  return &m->tensors.at[t.i];
}
static inline neo_def_rec *neo_def_at(const neo_module *m, neo_def d) {
  return &m->defs.at[d.i];
}
static inline neo_rows_rec *neo_rows_at(const neo_module *m, neo_rows r) {
  return &m->rows.at[r.i];
}
static inline bool neo_def_is_levels(const neo_def_rec *d) {
  return d->rows.i != 0;
}
/* ---- the order of a graph (ir/rows.c) */
/* Adds a definition of the kind LEVELS whose results are the tensors of `rows`, and sets their
 * roles. */
neo_def neo_levels_add(neo_module *m, neo_def_rec rec, const neo_rows_rec *rows);
/* The table FIRST of the blocks that the elements of t refer to, as rows or as the kind of a row;
 * 0: they refer to none. */
neo_tensor neo_tensor_blocks(const neo_module *m, neo_tensor t);
/* The factor of the rows in the elements of t: an element is a row times this number, plus a slot.
 * 1: it is a row. */
int64_t neo_tensor_slots(const neo_module *m, neo_tensor t);
/* The number of kinds of the blocks whose first rows are in `first`; 1 if `first` is no such
 * table. */
int64_t neo_blocks_kinds(const neo_module *m, neo_tensor first);
/* Whether each vertex has at most one child, in a slot, and there is one kind. Then its child is in
 * the block before its own, and its parents are in the next one; with kinds, the vertices of a
 * level would be in several blocks. */
bool neo_rows_are_chains(const neo_rows_rec *r);
static inline neo_size_rec *neo_size_at(const neo_module *m, neo_size s) {
  return &m->sizes.at[s.i];
}
/* The index of a size's value in the array of a call's sizes: first the sizes by id, from 0 on;
 * after them one index of loops for each depth, as loops of one depth do not run at the same
 * time. */
uint32_t neo_size_number(const neo_module *m, neo_size s);
/* The length of that array. Its names are those of the sizes, and "iteration:0", "iteration:1", ...
 * for indices of loops. */
uint32_t neo_size_numbers(const neo_module *m);
static inline neo_axis_rec *neo_axis_at(const neo_module *m, neo_axis a) {
  return &m->axes.at[a.i];
}
/* Whether the result depends on the order in which the reduction visits points. It does where a
 * second body tells which of equal values won, as the first one wins; sums, and the largest value
 * alone, are the same in any order. */
static inline bool neo_def_is_ordered(const neo_def_rec *d) {
  return (d->reducer == NEO_RED_MAX || d->reducer == NEO_RED_MIN) && d->body.n > 1;
}
/* The k-th axis record of a definition. */
neo_axis_rec *neo_def_axis(const neo_module *m, const neo_def_rec *d, uint32_t k);
/* The k-th result of a definition. */
static inline neo_tensor neo_def_out(const neo_module *m, neo_def d, uint32_t k) {
  return neo_list_tensor(m, neo_def_at(m, d)->out, k);
}
static inline neo_type neo_tensor_type(const neo_module *m, neo_tensor t) {
  return (neo_type)m->tensors.at[t.i].type;
}
static inline const char *neo_tensor_name(const neo_module *m, neo_tensor t) {
  return neo_name_text(m->names, m->tensors.at[t.i].name);
}
/* The k-th definition of a tensor. */
static inline neo_def neo_tensor_piece(const neo_module *m, neo_tensor t, uint32_t k) {
  return neo_list_def(m, m->tensors.at[t.i].pieces, k);
}
/* The number of a tensor's dimensions, and the extent of one of them. */
uint32_t neo_tensor_rank(const neo_module *m, neo_tensor t);
neo_expr neo_tensor_extent(const neo_module *m, neo_tensor t, uint32_t dim);
neo_tensor neo_tensor_find(const neo_module *m, const char *name); /* 0 if none */

/* ---- walking (ir/walk.c) */
/* Calls f for every distinct node reachable from e, arguments first. */
void neo_expr_visit(const neo_module *m, neo_expr e, void (*f)(void *ctx, neo_expr e), void *ctx);
/* Does `is` hold for a node of e? x is its own. */
typedef bool neo_expr_is(const neo_module *m, neo_expr e, const void *x);
/* Whether `is` holds for a node of e; it gets x with each node. */
bool neo_expr_any(const neo_module *m, neo_expr e, neo_expr_is *is, const void *x);
/* Rebuilds e bottom-up: f gets each node with its arguments already rewritten and returns its
 * replacement (or itself). Shared nodes are rewritten once. */
neo_expr neo_expr_rewrite(neo_module *m, neo_expr e,
                          neo_expr (*f)(void *ctx, neo_module *m, neo_expr e), void *ctx);
/* Replaces AXIS k by by[k] for k < n; a by[k] of 0 leaves it. */
neo_expr neo_expr_subst_axes(neo_module *m, neo_expr e, const neo_expr *by, uint32_t n);
/* Replaces `from` by `to` in e. */
neo_expr neo_expr_replace(neo_module *m, neo_expr e, neo_expr from, neo_expr to);
/* The same of each expression of a list. */
neo_list neo_list_rewrite(neo_module *m, neo_list l,
                          neo_expr (*f)(void *ctx, neo_module *m, neo_expr e), void *ctx);
neo_list neo_list_subst_axes(neo_module *m, neo_list l, const neo_expr *by, uint32_t n);
neo_list neo_list_replace(neo_module *m, neo_list l, neo_expr from, neo_expr to);
/* Bit k: e uses AXIS k (bit 63: any position >= 63). An accumulator varies along axes that e itself
 * does not use: for expressions of a form call neo_form_axes (fusion/form.h). */
uint64_t neo_expr_axes(const neo_module *m, neo_expr e);
/* Bit k: e uses ACC k (bit 63: any number >= 63). */
uint64_t neo_expr_accs(const neo_module *m, neo_expr e);
/* Whether a node of e has this operator. */
bool neo_expr_uses_op(const neo_module *m, neo_expr e, neo_op op);
/* Whether e reads a tensor, with an `else` or without. */
bool neo_expr_has_loads(const neo_module *m, neo_expr e);
/* Rewrites every expression of a definition: axis bounds, where, body, finish. */
void neo_def_rewrite(neo_module *m, neo_def d, neo_expr (*f)(void *ctx, neo_module *m, neo_expr e),
                     void *ctx);
void neo_def_replace(neo_module *m, neo_def d, neo_expr from, neo_expr to);
void neo_def_visit(const neo_module *m, neo_def d, void (*f)(void *ctx, neo_expr e), void *ctx);
/* The tensors that a definition reads, each once, in order of first occurrence, then the tables
 * FIRST of the rows that it reads (neo_tensor_blocks). */
size_t neo_def_reads(const neo_module *m, neo_def d, neo_arena *a, neo_tensor **out);
/* The definitions needed for the roots (pieces of the roots and of everything they read), each
 * once, producers first; ties by id. Definitions that depend on each other (ir/component.h) are
 * consecutive, sorted by id. *recurrences (may be null): whether any definition depends on itself,
 * directly or through others. Inputs, params and states are not entered. */
size_t neo_module_topo(const neo_module *m, const neo_tensor *roots, size_t n, neo_arena *a,
                       neo_def **out, bool *recurrences);
/* The same for what the entry returns and updates, and for what all entries do; with `inits`, also
 * for what the first values of tensors are computed of. */
size_t neo_entry_defs(const neo_module *m, const neo_entry_rec *e, neo_arena *a, neo_def **out);
/* The definitions that all entries need, in order (producers first); returns their number. *out is
 * in arena `a`. */
size_t neo_needed_defs(const neo_module *m, bool inits, neo_arena *a, neo_def **out);
/* Adds the tensors of the list, without those of 0; and all that an entry returns and updates. */
typedef NEO_VEC(neo_tensor) neo_tensors;
/* Appends the tensors of a list of ids, without those of id 0, to *to in arena `a`. */
void neo_tensors_add(const neo_module *m, neo_arena *a, neo_tensors *to, neo_list l);
/* Appends the tensors that an entry computes for its caller or for later calls: outputs and
 * updates. */
void neo_entry_roots(const neo_module *m, neo_arena *a, neo_tensors *to, const neo_entry_rec *e);
/* Whether t is a state whose initial value depends on parameters. */
bool neo_tensor_follows(const neo_module *m, neo_tensor t, neo_arena *scratch);

/* Linear form of an i64 expression: constant + sum of coefficient * atom; atoms are AXIS, SIZE, or
 * any other i64 node (DIV, MOD, LOAD, MIN, products of sizes ...). Terms sorted by atom id, no
 * zero coefficients. */
typedef struct {
  int64_t constant;
  uint32_t n;
  struct {
    neo_expr atom;
    int64_t coef;
  } term[32];
} neo_linear;
bool neo_linear_of(neo_module *m, neo_expr e,
                   neo_linear *out) NEO_MUST_CHECK; /* false: overflow or more than 32 terms */
/* The sum as an expression of type i64. */
neo_expr neo_linear_expr(neo_module *m, const neo_linear *l);
neo_expr neo_linear_form(neo_module *m, neo_expr e); /* e, in linear form if it has one */
/* The coefficient of an atom; 0: the sum lacks it. */
int64_t neo_linear_coef(const neo_linear *l, neo_expr atom);
/* Whether the form is so far within i64 that a comparison may be moved around it (from a + c < x to
 * a < x - c), also at indices a little outside of their ranges. Its atoms are indices, sizes,
 * numbers of narrower types and data with declared bounds. Other data of i64 may be anything: x - c
 * may wrap where a + c does not. */
bool neo_linear_is_modest(const neo_module *m, const neo_linear *l);
/* a + k*b; false: overflow or too many terms. */
bool neo_linear_add(const neo_linear *a, int64_t k, const neo_linear *b,
                    neo_linear *out) NEO_MUST_CHECK;

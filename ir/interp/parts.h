/* The interpreter's parts; private to interp*.c.
 *
 * A definition is compiled once a run to a table of nodes in which arguments precede their users.
 * A node is evaluated on demand, so that a branch that is not taken costs nothing and cannot fail,
 * and remembers its value until one of the axes it depends on changes: its level is one more than
 * the last axis it needs, and since[level] is the time when such an axis last changed. */
#pragma once
#include "ir/interp/interp.h"
#include "ir/tree/tree.h"

enum {
  NEO_INTERP_AXES = NEO_DEF_AXES,
  NEO_FACTOR_MAPS = 4 /* conversions of a read before it is multiplied */
};

/* The memory of a tensor while a tree that computes it runs; each cell knows which element it
 * holds. */
typedef struct {
  int64_t n, *holds; /* by cell: the index of the element held, + 1; 0: none */
  /* Evaluates a cell's coordinates, with the indices of an element as AXIS; null: one cell per
   * element. */
  struct neo_interp_frame *where;
  uint32_t rank, at[16]; /* nodes of the cell's coordinates, in `where` */
  int64_t extent[16];
  neo_value *v;
  double *error; /* as in neo_interp_store */
} neo_interp_cells;

typedef struct {
  neo_values v;
  double *error;           /* while tracking; null: all 0 */
  size_t cap;              /* capacity of v.at and error */
  bool error_valid;        /* `error` belongs to the values */
  neo_interp_cells *cells; /* null: no tree that computes the tensor is running */
} neo_interp_store;

typedef struct {
  uint64_t seed, step, call;
  bool training, track;
  uint64_t *work;  /* elements and terms that may still be evaluated; null: any number */
  uint64_t *noise; /* state of the random disturbance; null: none (neo_interp_disturb) */
} neo_interp_env;

typedef struct {
  uint8_t op, type, arg_type, level;
  uint32_t n_arg, attr;
  const uint32_t *arg;          /* nodes */
  const neo_interp_store *from; /* tensor of a load */
  uint64_t stamp;               /* the time of its last evaluation */
  neo_value v;
  double error;
} neo_inode;

typedef struct neo_interp_frame {
  neo_module *m;
  neo_arena *arena; /* arena of the run */
  const neo_interp_env *env;
  const int64_t *size;
  neo_interp_store *store; /* by tensor */
  neo_def_rec d;
  NEO_VEC(neo_inode) node;
  neo_map index; /* expr -> node */
  uint32_t lo[NEO_INTERP_AXES], hi[NEO_INTERP_AXES], where, body[2], finish[4];
  uint32_t n_factors, factor[2]; /* the factors, if the body is a product (product.c); 0: it
                                    is not */
  int64_t axis[NEO_INTERP_AXES];
  int64_t from[NEO_INTERP_AXES],
      /* The part of the output axes to evaluate. */
      to[NEO_INTERP_AXES];
  uint64_t tick, since[NEO_INTERP_AXES + 1];
  neo_value acc[2];
  double acc_error[2];
  bool unsure; /* whether a point is in the reduction's domain is uncertain */
  neo_status status;
  neo_str *why;
} neo_interp_frame;

/* ---- expr.c */
/* The value of a node at the present position of the axes. */
neo_value neo_interp_frame_eval(neo_interp_frame *f, uint32_t node);
/* Moves axis k to x: values that depend on it, or on axes inside of it, become stale. */
void neo_interp_frame_set_axis(neo_interp_frame *f, uint32_t k, int64_t x);
/* Sets the status and the message, formatted as by printf, unless an earlier failure did. */
void neo_interp_frame_fail(neo_interp_frame *f, neo_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the values of all nodes stale, also of those that depend on no axis. */
void neo_interp_frame_forget(neo_interp_frame *f);

/* The cell of element `at`; if `read`, the cell must hold that element. -1, after a report: there
 * is no such cell, or it holds another element. */
int64_t neo_interp_frame_cell(neo_interp_frame *f, const neo_interp_cells *c, const neo_values *v,
                              uint32_t tensor, int64_t at, bool read);

/* The row-major offset of the element that a load reads; -1, after a report, if it is outside of
 * its tensor. An index that is not certain adds to *error. */
int64_t neo_interp_frame_offset(neo_interp_frame *f, const neo_inode *load, double *error);

/* ---- def.c, for ir/tree/interp.c: a definition at once (run), or the part whose output axes are
 * in `from` .. `to` (prepare, then run_part) */
/* Evaluates a definition; the status of the first failure, whose text is in *why of the frame. */
neo_status neo_interp_frame_run(neo_interp_frame *f, neo_def d) NEO_MUST_CHECK;
/* Compiles a definition to the frame's table of nodes. */
void neo_interp_frame_prepare(neo_interp_frame *f, neo_def d);
/* Evaluates the frame's definition at the points of the frame's part. */
void neo_interp_frame_run_part(neo_interp_frame *f);
/* Prepares a frame for expressions alone, over AXIS k up to NEO_INTERP_AXES. */
void neo_interp_frame_prepare_exprs(neo_interp_frame *f);
uint32_t neo_interp_frame_add(neo_interp_frame *f, neo_expr e); /* returns its node */

/* ---- tree/interp.c: runs the tree, whose instances are of `defs`, in frame k for defs[k].
 * NEO_INTERNAL, with a text: a read of a tensor that they compute finds another element than it
 * asks for. */
neo_status neo_interp_tree(neo_interp_frame *frames, const neo_def *defs, size_t n,
                           const neo_schedule_tree *t) NEO_MUST_CHECK;

/* ---- reduce.c, for def.c */
typedef struct {
  neo_reducer reducer;
  neo_type type;
  bool track;
  int64_t taken;
  double sum, scale, peak; /* floats: sum or product; of exponentials; largest so far */
  uint64_t isum;
  neo_value best, picked;
  double error, size, best_error, rival; /* errors; see reduce.c */
  bool infinite;                         /* some term is infinite or NaN */
  bool product;                          /* floats: the body is a product or a quotient */
  double quantum;                        /* all terms so far are multiples of this power of two */
  bool unsure;
  uint64_t *noise; /* null: none */
} neo_accu;
/* An accumulator without terms, of a reducer and a type; track: error bounds are needed, too. */
void neo_accu_begin(neo_accu *a, neo_reducer r, neo_type type, bool track);
/* Takes body[0] with its error. True: the caller has to store body[1] of this element in
 * `picked`. */
bool neo_accu_take(neo_accu *a, neo_value x, double error);
void neo_accu_sum(neo_accu *a, double x, double error); /* neo_accu_take for a sum of floats */
/* The results: ACC 0 and 1 with their errors. */
void neo_accu_end(neo_accu *a, neo_value acc[2], double error[2]);

/* ---- product.c, for def.c */
/* Fills n_factors and factor once the definition is compiled. */
void neo_interp_frame_find_product(neo_interp_frame *f);
/* Takes the products at [lo, hi) of the innermost axis. False: nothing was taken, and the caller
 * has to take them one by one. */
bool neo_interp_frame_sum(neo_interp_frame *f, neo_accu *a, uint32_t axis, int64_t lo,
                          int64_t hi) NEO_MUST_CHECK;

/* ---- error.c */
double neo_error_unit(neo_type t);  /* half an ulp of 1 */
double neo_error_least(neo_type t); /* absolute error near 0 */
/* The bound e of a finite value y of type t; infinity if a value that far away may round to
 * infinity, or if e is NaN. */
double neo_error_in_range(neo_type t, double y, double e);
/* The extra error of a product of f32 that may be computed as three products of tf32 (ir.h). */
double neo_error_split(const neo_value *x, double y);
/* The error bound of an operator's result y from arguments x with errors e. */
double neo_error_op(neo_op op, neo_type result, neo_type arg, const neo_value *x, const double *e,
                    neo_value y);

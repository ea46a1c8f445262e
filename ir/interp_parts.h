/* The interpreter's parts; private to interp*.c.
 *
 * A definition is compiled once a run to a table of nodes in which arguments precede their users.
 * A node is evaluated on demand, so that a branch that is not taken costs nothing and cannot fail,
 * and remembers its value until one of the axes it depends on changes: its level is one more than
 * the last axis it needs, and since[level] is the time when such an axis last changed. */
#pragma once
#include "ir/interp.h"
#include "ir/tree/tree.h"

enum { NEO_INTERP_AXES = 64, NEO_FACTOR_MAPS = 4 /* of a read, before it is multiplied */ };

/* Memory of a tensor while a tree runs that makes it: each cell knows which element it holds. */
typedef struct {
  int64_t n, *holds; /* by cell: an element, + 1; 0: none */
  struct neo_interp_frame
      *where;            /* its AXIS are an element's indices; null: a cell for each element */
  uint32_t rank, at[16]; /* nodes of the cell's coordinates */
  int64_t extent[16];
  neo_value *v;
  double *error; /* as in neo_interp_store */
} neo_interp_cells;

typedef struct {
  neo_values v;
  double *error;           /* while tracking; null: all 0 */
  size_t cap;              /* of v.at and error */
  bool error_valid;        /* `error` belongs to the values */
  neo_interp_cells *cells; /* null: no tree is running that makes the tensor */
} neo_interp_store;

typedef struct {
  uint64_t seed, step, call;
  bool training, track;
  uint64_t *work;  /* elements and terms that are left; null: any number */
  uint64_t *noise; /* state of the random disturbance; null: none (neo_interp_disturb) */
} neo_interp_env;

typedef struct {
  uint8_t op, type, arg_type, level;
  uint32_t n_arg, attr;
  const uint32_t *arg;          /* nodes */
  const neo_interp_store *from; /* of loads */
  uint64_t stamp;               /* when it was evaluated last */
  neo_value v;
  double error;
} neo_inode;

typedef struct neo_interp_frame {
  neo_module *m;
  neo_arena *arena; /* of the run */
  const neo_interp_env *env;
  const int64_t *size;
  neo_interp_store *store; /* by tensor */
  neo_def_rec d;
  NEO_VEC(neo_inode) node;
  neo_map index; /* expr -> node */
  uint32_t lo[NEO_INTERP_AXES], hi[NEO_INTERP_AXES], where, body[2], finish[4];
  uint32_t n_factors, factor[2]; /* that the body multiplies (interp_product.c); 0: another */
  int64_t axis[NEO_INTERP_AXES];
  int64_t from[NEO_INTERP_AXES],
      to[NEO_INTERP_AXES]; /* output axes run over these positions, of those they have */
  uint64_t tick, since[NEO_INTERP_AXES + 1];
  neo_value acc[2];
  double acc_error[2];
  bool unsure; /* the reduction's domain itself is uncertain */
  neo_status status;
  neo_str *why;
} neo_interp_frame;

/* ---- interp_expr.c */
neo_value neo_interp_frame_eval(neo_interp_frame *f, uint32_t node);
double neo_interp_frame_error(const neo_interp_frame *f,
                              uint32_t node); /* of the last evaluation */
/* Moves axis k to x: values that depend on it or on axes inside of it are old. */
void neo_interp_frame_set_axis(neo_interp_frame *f, uint32_t k, int64_t x);
void neo_interp_frame_fail(neo_interp_frame *f, neo_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Values of all nodes are old, also of those that depend on no axis. */
void neo_interp_frame_forget(neo_interp_frame *f);

/* Counts n elements or terms; fails where no more may be taken. */
void neo_interp_frame_count(neo_interp_frame *f, uint64_t n);

/* The cell of element `at`, which is to hold it if it is `read`; -1 after a report: it is none, or holds another. */
int64_t neo_interp_frame_cell(neo_interp_frame *f, const neo_interp_cells *c, const neo_values *v,
                              uint32_t tensor, int64_t at, bool read);

/* Where a read is in its tensor; -1, after a report, where it is outside. An index that is not
 * certain adds to *error. */
int64_t neo_interp_frame_offset(neo_interp_frame *f, const neo_inode *load, double *error);

/* ---- interp_def.c: evaluates a definition into the stores of its results: all of it, or once it is
 * prepared the part where output axes are in `from` .. `to` */
neo_status neo_interp_frame_run(neo_interp_frame *f, neo_def d) NEO_MUST_CHECK;
void neo_interp_frame_prepare(neo_interp_frame *f, neo_def d);
void neo_interp_frame_run_part(neo_interp_frame *f);
/* Prepares a frame for expressions alone, over AXIS k up to NEO_INTERP_AXES. */
void neo_interp_frame_prepare_exprs(neo_interp_frame *f);
uint32_t neo_interp_frame_add(neo_interp_frame *f, neo_expr e); /* its node */

/* ---- tree/interp.c: runs the tree, whose instances are of these definitions, frame k for defs[k]. Each read of a
 * tensor that they make finds the element that it asks for, or the run fails: NEO_INTERNAL with a text. */
neo_status neo_interp_tree(neo_interp_frame *frames, const neo_def *defs, size_t n,
                           const neo_schedule_tree *t) NEO_MUST_CHECK;

/* ---- interp_reduce.c */
typedef struct {
  neo_reducer reducer;
  neo_type type;
  bool track;
  int64_t taken;
  double sum, scale, peak; /* floats: sum or product; of exponentials; largest so far */
  uint64_t isum;
  neo_value best, picked;
  double error, size, best_error, rival; /* see interp_reduce.c */
  bool infinite;                         /* some term is, or is NaN */
  bool product;                          /* of floats: the body is a product or a quotient */
  double quantum;                        /* all terms so far are multiples of this power of two */
  bool unsure;
  uint64_t *noise; /* null: none */
} neo_accu;
void neo_accu_begin(neo_accu *a, neo_reducer r, neo_type type, bool track);
/* Takes body[0] with its error; true if body[1] of this element is wanted (store it in `picked`).
 */
bool neo_accu_take(neo_accu *a, neo_value x, double error);
void neo_accu_sum(neo_accu *a, double x, double error); /* the same, of a float to a sum */
void neo_accu_end(neo_accu *a, neo_value acc[2], double error[2]);

/* ---- interp_product.c */
/* Fills n_factors and factor once the definition is compiled. */
void neo_interp_frame_find_product(neo_interp_frame *f);
/* Takes the products at [lo, hi) of the innermost axis; false, and nothing is taken, where they
 * must be taken one by one. */
bool neo_interp_frame_sum(neo_interp_frame *f, neo_accu *a, uint32_t axis, int64_t lo,
                          int64_t hi) NEO_MUST_CHECK;

/* ---- interp_error.c */
double neo_error_unit(neo_type t);  /* half an ulp of 1 */
double neo_error_least(neo_type t); /* absolute error near 0 */
/* The bound e of a finite value y of type t; infinity where a value as far away may round to an
 * infinity, and where e is NaN. */
double neo_error_in_range(neo_type t, double y, double e);
/* The further error of a product of f32 that may be made of three products of tf32 (ir.h). */
double neo_error_split(const neo_value *x, double y);
/* Bound of an operator's result y from arguments x with errors e. */
double neo_error_op(neo_op op, neo_type result, neo_type arg, const neo_value *x, const double *e,
                    neo_value y);

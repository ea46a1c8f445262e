/* Private to lower_nest*.c: a kernel with sums inside of sums, while it is lowered. */
#ifndef NEO_CODEGEN_LOWER_NEST_H
#define NEO_CODEGEN_LOWER_NEST_H
#include "codegen/lower_scope.h"
#include "schedule/nest.h"

typedef struct { /* rows, steps or columns of a block, of which a thread has a tile */
  uint64_t axes; /* positions in the stage at hand */
  int64_t block, tile, vector, threads;
  const neo_lx *lo, *total;
} side;

typedef struct { /* of steps: [from, to) */
  const neo_lx *from, *to;
} neo_ln_range;

typedef struct {
  lowering *l;
  neo_nest n;
  int64_t threads;
  side rows, steps, columns;
  neo_ln_range some, all; /* what some row of the block takes, whole blocks from there on; what all
                             rows take, null where a condition does not say so */
  uint32_t a, b;                          /* buffers of an inner sum's operands */
  uint32_t inner[MAX_ACCS];               /* registers of inner sums, by accumulator */
  uint32_t part[MAX_ACCS], row[MAX_ACCS]; /* buffers: parts of rows, rows; by accumulator */
  bool done[MAX_ACCS];                    /* it is in row[] */
  const neo_lx *thread;
} nest;

typedef struct {                          /* an element of a thread's tile along a side */
  const neo_lx *group, *element, *number; /* number: in the tile */
  const neo_lx *at;                       /* in the block */
} point;

static inline const neo_lx *both(lowering *l, const neo_lx *a, const neo_lx *b) {
  return !a || !b ? (a ? a : b) : neo_lx_op2(l->k, NEO_OP_AND, a, b);
}

static inline const neo_lx *below(lowering *l, const neo_lx *at, const neo_lx *n) {
  return neo_lx_op2(l->k, NEO_OP_LT, at, n);
}

static inline neo_block *open_loop(lowering *l, neo_block *in, neo_loop_kind kind, const char *name,
                                   int64_t n, const neo_lx **v) {
  uint32_t var = neo_kernel_var(l->k, name);
  *v = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, kind, var, lx_int(l, 0), lx_int(l, n), 1)->body;
}

static inline neo_type type_of(const neo_stage *s) {
  return (neo_type)s->accs.at[0].type;
}

/* ---- lower_nest.c */
neo_block *neo_ln_open_threads(nest *x, neo_block *in);
uint32_t neo_ln_shared_buffer(lowering *l, const char *name, neo_type t, int64_t elems);
/* A register for each thread, declared in the block. */
uint32_t neo_ln_thread_reg(nest *x, neo_block *in, const char *name, neo_type t, int64_t rows,
                           int64_t columns);
/* How many points these axes, as bits, of a stage have. */
const neo_lx *neo_ln_points(lowering *l, const neo_stage *s, uint64_t axes);
/* Axes, as bits, of a stage at point `at` of them, the last one fastest. */
void neo_ln_set_axes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at);
/* Place of the thread along rows and along the other side; a loop over its points of a side. */
void neo_ln_place_of(const nest *x, const neo_lx *out[2]);
neo_block *neo_ln_open_side(lowering *l, neo_block *in, const side *s, const neo_lx *place,
                            point *p);
/* The steps of a stage; the loop over blocks of them, which the caller closes; the inner sums that
 * the stage uses, at the block at hand. */
void neo_ln_set_steps(nest *x, const neo_stage *host);
neo_block *neo_ln_open_steps(nest *x, neo_block *in);
void neo_ln_inner_sums(nest *x, neo_block *in, const neo_stage *host);
/* Loops over a thread's rows and steps, with axes and inner sums there; *cond: whether they exist,
 * and the stage takes them. Until end_points. */
neo_block *neo_ln_open_points(nest *x, neo_block *in, const neo_stage *host, const side *rows,
                              const side *steps, point p[2], const neo_lx **cond);
void neo_ln_end_points(nest *x);

/* ---- lower_nest_range.c: x->some and x->all, of the stage whose steps are set */
void neo_ln_set_ranges(nest *x, const neo_stage *host);

/* ---- lower_nest_rows.c: all of a kernel whose rows are reduced */
void neo_ln_rows(nest *x, neo_block *in);

#endif

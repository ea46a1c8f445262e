/* A kernel of nested reductions, while it is lowered. Private to codegen/lower/gpu_nested. */
#ifndef NEO_CODEGEN_LOWER_NESTED_H
#define NEO_CODEGEN_LOWER_NESTED_H
#include "codegen/lower/gpu_block/block.h"
#include "schedule/gpu_nested/nested.h"

typedef struct { /* rows, steps or columns of a block, of which a thread has a tile */
  uint64_t axes; /* positions in the stage at hand */
  int64_t block, tile, vector, threads;
  int64_t of_warp; /* of which a warp has so many, in fragments; 0: threads have theirs */
  int64_t warps;   /* beside each other, along steps and columns */
  bool down;       /* the rows */
  const neo_lx *lo, *total;
} tile_dim;

typedef struct { /* of steps: [from, to) */
  const neo_lx *from, *to;
} neo_ln_range;

typedef struct {
  lowering *l;
  neo_nested n;
  int64_t threads;
  tile_dim rows, steps, columns;
  neo_ln_range some, all; /* what some row of the block takes, whole blocks from there on; what all
                             rows take, null where a condition does not say so */
  uint32_t a, b;          /* buffers of an inner sum's operands */
  neo_nested_warps kinds; /* what warps multiply; .on: they do */
  neo_products warp[NEO_NESTED_SUMS + 1]; /* of each inner sum, then of the product */
  int64_t depth[NEO_NESTED_SUMS];         /* steps of an inner sum at a time */
  bool whole[NEO_NESTED_SUMS];            /* all, and those of rows stay in shared memory */
  uint32_t inner[MAX_ACCS];               /* registers of inner sums, by accumulator */
  uint32_t part[MAX_ACCS], row[MAX_ACCS]; /* buffers: parts of rows, rows; by accumulator */
  bool done[MAX_ACCS];                    /* it is in row[] */
  const neo_lx *thread;
  int64_t stages;        /* of the operands of steps, by warps; 0: one buffer each */
  const neo_lx *stage;   /* whose turn it is */
  const neo_stage *host; /* of the loop over steps, with stages; where that is, its body */
  neo_block *around, *body;
  tile_dim next_steps;                /* the steps that are copied */
  uint32_t next[NEO_NESTED_SUMS + 1]; /* registers of what comes by way of them */
  const neo_lx *end;                  /* of steps that some row takes */
} nested_kernel;

/* An operand in shared memory: zero where there is none. */
typedef struct {
  const neo_stage *s;
  const neo_nested_factors *factors;
  const tile_dim *points;
  uint64_t steps; /* axes */
  const neo_lx *from, *total;
  int64_t depth; /* steps that are copied */
  uint32_t buf;
  int64_t per_point, per_step; /* elements between two in shared memory */
  const neo_lx *start;         /* the first one there; null: 0 */
} copied;

typedef struct {        /* an element of a thread's tile along a side */
  const neo_lx *number; /* in the tile */
  const neo_lx *at;     /* in the block */
} point;

typedef struct { /* what threads multiply, in shared memory */
  const tile_dim *rows, *columns;
  uint32_t a, b, acc;
  bool tested; /* not all rows take all steps */
} nested_product;

static inline neo_type type_of(const neo_stage *s) {
  return (neo_type)s->accs.at[0].type;
}

/* ---- lower/gpu_nested/block.c, steps.c */
neo_block *neo_ln_open_threads(nested_kernel *x, neo_block *in);
/* Axes, as bits, of a stage at point `at` of them, the last one fastest. */
void neo_ln_set_axes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at);
/* And lanes along the last of them from there on; null: none. */
void neo_ln_set_lanes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at,
                      const neo_lx *lane);
/* Place of the thread along rows and along the other side; a loop over its points of a side. */
void neo_ln_place_of(const nested_kernel *x, const neo_lx *out[2]);
neo_block *neo_ln_open_dim(lowering *l, neo_block *in, const tile_dim *s, const neo_lx *place,
                           point *p);
/* Number of the thread among those that have the same rows. */
const neo_lx *neo_ln_part(const nested_kernel *x);
int64_t neo_ln_pitch(const tile_dim *s);
/* Reads rely on no condition. The product of factors at the axes at hand. */
bool neo_ln_safe_alone(nested_kernel *x, const neo_nested_factors *f);
const neo_lx *neo_ln_product_of(lowering *l, const neo_nested_factors *f);
bool neo_ln_along_steps(const nested_kernel *x, const copied *o);
/* Does the condition of the product's stage hold at a row and a step of the block? */
const neo_lx *neo_ln_takes(nested_kernel *x, const neo_lx *row, const neo_lx *step);
void neo_ln_clear(nested_kernel *x, neo_block *in, uint32_t reg);
/* The steps of a stage; the loop over blocks of them; the inner sums that the stage uses, at the
 * block at hand; the loop's end. */
void neo_ln_set_steps(nested_kernel *x, const neo_stage *host);
neo_block *neo_ln_open_steps(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_inner_sums(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_close_steps(nested_kernel *x);
/* Loops over a thread's rows and steps, with axes and inner sums there; *cond: whether they exist,
 * and the stage takes them. Until end_points. */
neo_block *neo_ln_open_points(nested_kernel *x, neo_block *in, const neo_stage *host,
                              const tile_dim *rows, const tile_dim *steps, point p[2],
                              const neo_lx **cond);
void neo_ln_end_points(nested_kernel *x);

/* Own axes [from, to) of a stage, as bits. */
uint64_t neo_ln_own_axes(const lowering *l, uint32_t from, uint32_t to);
/* How threads have the points of a side. */
neo_gpu_tile_dim neo_ln_dim_of(const tile_dim *s);

/* ---- lower/gpu_nested/fma.c: acc += a * b over n steps of the block */
void neo_ln_multiply(nested_kernel *x, neo_block *in, const nested_product *p, int64_t n);

/* ---- lower/gpu_nested/product.c: all of a kernel whose outer sum is a product */
void neo_ln_product(nested_kernel *x, neo_block *in);

/* ---- lower/gpu_nested/operands.c: own steps of an inner sum, as bits; operand k of one, copied */
uint64_t neo_ln_steps_of(const lowering *l, const neo_stage *s);
void neo_ln_copy_operand(nested_kernel *x, neo_block *in, uint32_t which, int k,
                         const neo_lx *from);

/* ---- lower/gpu_nested/copy.c: a thread's part of an operand, from memory to shared memory */
void neo_ln_copy(nested_kernel *x, neo_block *in, const copied *o);
/* The same in two halves, by way of these registers: of one loop of threads, or of several. */
uint32_t neo_ln_next(nested_kernel *x, neo_block *in, const copied *o, bool several);
void neo_ln_get(nested_kernel *x, neo_block *in, const copied *o, uint32_t next);
void neo_ln_put(nested_kernel *x, neo_block *in, const copied *o, uint32_t next);
/* Can it be copied asynchronously? Then *out says from where. Starts that. */
bool neo_ln_plan_source(nested_kernel *x, const copied *o, neo_warps kind, operand *out);
void neo_ln_start_copies(nested_kernel *x, neo_block *in, const copied *o, const operand *from);

/* ---- lower/gpu_nested/pipeline.c: operands of steps ahead of their products, where x->stages */
void neo_ln_plan_stages(nested_kernel *x);
neo_block *neo_ln_open_stages(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_close_stages(nested_kernel *x);

/* ---- lower/gpu_nested/warp.c: products by warps */
void neo_ln_make_warps(nested_kernel *x);
void neo_ln_begin_warps(nested_kernel *x, neo_block *in);
/* What stays of rows while the stage goes over its steps; an inner sum at a block of steps. */
void neo_ln_copy_rows(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_warp_sum(nested_kernel *x, neo_block *in, uint32_t k);
/* Operand k, 0 of rows, 1 of steps, of an inner sum; from: its first own step. */
copied neo_ln_inner_operand(nested_kernel *x, uint32_t which, int k, const neo_lx *from);
/* The product's columns, of steps from there on. */
copied neo_ln_columns(nested_kernel *x, const neo_lx *from);
/* The product: its sum, and a block of steps of it; tested: not all rows take all of these. */
uint32_t neo_ln_warp_acc(nested_kernel *x, neo_block *in);
void neo_ln_warp_product(nested_kernel *x, neo_block *in, uint32_t acc, bool tested);

/* ---- lower/gpu_nested/range.c: x->some and x->all, of the stage whose steps are set */
void neo_ln_set_ranges(nested_kernel *x, const neo_stage *host);

/* ---- lower/gpu_nested/rows.c: all of a kernel whose rows are reduced */
void neo_ln_rows(nested_kernel *x, neo_block *in);

#endif

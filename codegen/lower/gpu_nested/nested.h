/* A kernel of nested reductions, while it is lowered. Private to codegen/lower/gpu_nested. */
#pragma once
#include "codegen/lower/gpu_block/block.h"
#include "schedule/gpu_nested/nested.h"

typedef struct { /* rows, steps or columns of a block, of which a thread has a tile */
  uint64_t axes; /* positions in the current stage, as bits */
  int64_t block, tile, vector, threads;
  int64_t of_warp; /* elements of a warp, in fragments; 0: threads divide them */
  int64_t warps;   /* number of warps along steps and columns */
  bool down;       /* the dimension is rows */
  const neo_lx *lo, *total;
} tile_dim;

typedef struct { /* a range of steps: [from, to) */
  const neo_lx *from, *to;
} neo_ln_range;

typedef struct {
  lowering *l;
  neo_nested n;
  int64_t threads;
  tile_dim rows, steps, columns;
  neo_ln_range some;      /* steps that some row of the block needs, rounded to blocks */
  neo_ln_range all;       /* steps that all rows need; null: unknown */
  uint32_t a, b;          /* buffers of an inner sum's operands */
  neo_nested_warps kinds; /* types of warps' products; .on: warps multiply */
  neo_products warp[NEO_NESTED_SUMS + 1]; /* products of each inner sum, then the outer product */
  int64_t depth[NEO_NESTED_SUMS];         /* steps of an inner sum in shared memory at a time */
  bool whole
      /* inner sums whose steps are all in shared memory at a time; rows' steps are then
       * invariant */
      [NEO_NESTED_SUMS];
  uint32_t inner[MAX_ACCS];               /* registers of inner sums, by accumulator */
  uint32_t part[MAX_ACCS], row[MAX_ACCS]; /* buffers: parts of rows, rows; by accumulator */
  bool done[MAX_ACCS];                    /* the accumulator is in row[] */
  const neo_lx *thread;
  int64_t stages;        /* pipeline stages of the operands of steps; 0: one buffer each */
  const neo_lx *stage;   /* the current stage */
  const neo_stage *host; /* with stages: the outer stage; blocks around and in its loop */
  neo_block *around, *body;
  tile_dim next_steps;                /* the block of steps that is copied */
  uint32_t next[NEO_NESTED_SUMS + 1]; /* registers of operands that go through registers */
  const neo_lx *end;                  /* end of the steps that some row needs */
} nested_kernel;

/* An operand in shared memory. It is zero at points and steps that do not exist. */
typedef struct {
  const neo_stage *s;
  const neo_nested_factors *factors;
  const tile_dim *points;
  uint64_t steps; /* axes of the steps, as bits */
  const neo_lx *from, *total;
  int64_t depth; /* number of steps that are copied */
  uint32_t buf;
  int64_t per_point, per_step; /* strides in shared memory */
  const neo_lx *start;         /* offset of the first element; null: 0 */
} copied;

typedef struct {        /* an element of a thread's tile along a dimension */
  const neo_lx *number; /* number in the tile */
  const neo_lx *at;     /* number in the block */
} point;

typedef struct { /* a product by threads of operands in shared memory */
  const tile_dim *rows, *columns;
  uint32_t a, b, acc;
  bool tested; /* some row does not need all steps */
} nested_product;

static inline neo_type type_of(const neo_stage *s) {
  return (neo_type)s->accs.at[0].type;
}

/* ---- lower/gpu_nested/block.c, steps.c */
neo_block *neo_ln_open_threads(nested_kernel *x, neo_block *in);
/* Sets axes (bits) of a stage to point `at` of them, the last one fastest. */
void neo_ln_set_axes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at);
/* Does so with lanes along the last of them; null: none. */
void neo_ln_set_lanes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at,
                      const neo_lx *lane);
/* place_of: the thread's place along rows and along the other dimension. open_dim: the loop over
 * the thread's points of a dimension. */
void neo_ln_place_of(const nested_kernel *x, const neo_lx *out[2]);
neo_block *neo_ln_open_dim(lowering *l, neo_block *in, const tile_dim *s, const neo_lx *place,
                           point *p);
/* The thread's number among those that have the same rows. */
const neo_lx *neo_ln_part(const nested_kernel *x);
int64_t neo_ln_pitch(const tile_dim *s);
/* The product of the factors at the current axes. */
const neo_lx *neo_ln_product_of(lowering *l, const neo_nested_factors *f);
bool neo_ln_along_steps(const nested_kernel *x, const copied *o);
/* Does the condition of the product's stage hold at a row and a step of the block? */
const neo_lx *neo_ln_takes(nested_kernel *x, const neo_lx *row, const neo_lx *step);
void neo_ln_clear(nested_kernel *x, neo_block *in, uint32_t reg);
/* set_steps sets the steps of a stage; open_steps opens the loop over blocks of them; inner_sums
 * computes the inner sums that the stage uses, for the current block; close_steps ends the loop. */
void neo_ln_set_steps(nested_kernel *x, const neo_stage *host);
neo_block *neo_ln_open_steps(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_inner_sums(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_close_steps(nested_kernel *x);
/* Opens loops over a thread's rows and steps, and until end_points sets axes and inner sums there.
 * *cond: the row and the step exist, and the stage's condition holds. */
neo_block *neo_ln_open_points(nested_kernel *x, neo_block *in, const neo_stage *host,
                              const tile_dim *rows, const tile_dim *steps, point p[2],
                              const neo_lx **cond);
void neo_ln_end_points(nested_kernel *x);

/* The division of a dimension's points among threads. */
neo_gpu_tile_dim neo_ln_dim_of(const tile_dim *s);

/* ---- lower/gpu_nested/fma.c: acc += a * b over n steps of the block */
void neo_ln_multiply(nested_kernel *x, neo_block *in, const nested_product *p, int64_t n);

/* ---- lower/gpu_nested/operands.c: axes of an inner sum's steps, as bits; the copy of its operand
 * k */
uint64_t neo_ln_steps_of(const lowering *l, const neo_stage *s);
void neo_ln_copy_operand(nested_kernel *x, neo_block *in, uint32_t which, int k,
                         const neo_lx *from);

/* ---- lower/gpu_nested/copy.c: a thread's part of an operand, from memory to shared memory */
void neo_ln_copy(nested_kernel *x, neo_block *in, const copied *o);
/* The copy in two halves: get loads to registers that next declares, put stores to shared memory.
 * several: the registers live across loops of threads. */
uint32_t neo_ln_next(nested_kernel *x, neo_block *in, const copied *o, bool several);
void neo_ln_get(nested_kernel *x, neo_block *in, const copied *o, uint32_t next);
void neo_ln_put(nested_kernel *x, neo_block *in, const copied *o, uint32_t next);
/* plan_source: can copies of the operand be asynchronous? Then *out has their source. start_copies
 * starts them. */
bool neo_ln_plan_source(nested_kernel *x, const copied *o, neo_warps kind, operand *out);
void neo_ln_start_copies(nested_kernel *x, neo_block *in, const copied *o, const operand *from);

/* ---- lower/gpu_nested/pipeline.c: if x->stages, pipelined copies of the operands of steps */
void neo_ln_plan_stages(nested_kernel *x);
neo_block *neo_ln_open_stages(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_close_stages(nested_kernel *x);

/* ---- lower/gpu_nested/warp.c: products by warps */
void neo_ln_make_warps(nested_kernel *x);
/* copy_rows copies the operands of rows that are invariant in the loop over steps; warp_sum
 * computes an inner sum for a block of steps. */
void neo_ln_copy_rows(nested_kernel *x, neo_block *in, const neo_stage *host);
void neo_ln_warp_sum(nested_kernel *x, neo_block *in, uint32_t k);
/* The copy of operand k (0: rows; 1: steps) of an inner sum. from: its first step. */
copied neo_ln_inner_operand(nested_kernel *x, uint32_t which, int k, const neo_lx *from);
/* The copy of the product's columns, for steps from `from` on. */
copied neo_ln_columns(nested_kernel *x, const neo_lx *from);
/* warp_acc declares the product's sum; warp_product adds a block of steps. tested: some row does
 * not need all of these. */
uint32_t neo_ln_warp_acc(nested_kernel *x, neo_block *in);
void neo_ln_warp_product(nested_kernel *x, neo_block *in, uint32_t acc, bool tested);

/* ---- lower/gpu_nested/rows.c: the kernel if rows are reduced */
void neo_ln_rows(nested_kernel *x, neo_block *in);

/* Nested reductions by a block of threads (fusion/nested.h, schedule/gpu_nested/nested.h).
 *
 *   for u in 0..units unit                         batches, blocks of rows, blocks of columns
 *     reg acc threads
 *     for j in 0..steps step BLOCK_K
 *       for each inner sum:
 *         reg inner[TILE_M, tile] threads          its value at rows and steps of the thread
 *         for d in 0..its steps step NEO_NESTED_STEPS
 *           for t in 0..threads thread             both operands into shared memory
 *           for t in 0..threads thread             inner += rows * steps
 *       the stage around them, of one of two kinds:
 *         for t: acc[row, step] = reducer(acc[row, step], body(inner))         rows are reduced
 *         for t: block[step, row] = factors with inner sums; columns <- memory    a product
 *         for t: acc[row, column] += block[step, row] * columns[step, column]
 *     rows are reduced: a tree reduces the threads' parts of a row into shared memory, from which
 *     the next stages read them
 *     for t: stages that store
 *
 * The schedule alone determines the terms of each thread, so that results have the same bits in any
 * order of threads.
 *
 * The loop over steps skips steps that none of the block's rows needs (lower/gpu_nested/range.c).
 *
 * Rows and steps beyond the ends are zero as operands. A row does not accumulate a body at such a
 * step, or at one that its condition excludes. In a product such a step is zero in the block. Since
 * zero times NaN is NaN, each product is tested as well, unless all rows of the block need all its
 * steps. */
#include "codegen/lower/gpu_nested/nested.h"
#include "codegen/lower/gpu_nested/gpu_nested.h"
#include <assert.h>

enum { WARP = 32 };

/* ---- the kernel */

static tile_dim dim_of(uint64_t axes, int64_t block, int64_t each, neo_type t) {
  return (tile_dim){.axes = axes,
                    .block = block,
                    .tile = each,
                    .vector = neo_gpu_vector_of(each, t),
                    .threads = block / each};
}

/* The dimension of warps, of which `warps` divide steps and columns; a thread has its part of their
 * fragments. */
static tile_dim fragments_of(uint64_t axes, int64_t block, int64_t of_warp, int64_t warps,
                             bool down) {
  return (tile_dim){.axes = axes,
                    .block = block,
                    .tile = of_warp / (down ? 8 : 4),
                    .vector = down ? 1 : 2,
                    .threads = 4 * warps,
                    .of_warp = of_warp,
                    .warps = warps,
                    .down = down};
}

static void make_dims(nested_kernel *x) {
  const neo_nested_params *s = &x->l->s->nested;
  neo_type t = type_of(&x->l->f->stages.at[x->n.sum[0].stage]);
  int64_t height = s->block_m / s->tile_m, width = x->threads / height;
  if (!x->kinds.on) {
    x->rows = dim_of(x->n.rows, s->block_m, s->tile_m, t);
    x->steps = dim_of(0, s->block_k, s->block_k / width, t);
    if (x->n.columns)
      x->columns = dim_of(x->n.columns, s->block_n, s->tile_n, t);
    return;
  }
  width /= WARP;
  x->rows = fragments_of(x->n.rows, s->block_m, s->tile_m, width, true);
  x->steps = fragments_of(0, s->block_k, s->block_k / width, width, false);
  if (x->n.columns)
    x->columns = fragments_of(x->n.columns, s->block_n, s->tile_n, width, false);
}

/* Opens the loop over units, and sets the batch, block of rows and block of columns of each. */
static neo_block *open_units(nested_kernel *x) {
  static const neo_stage none;
  lowering *l = x->l;
  tile_dim *dims[] = {&x->rows, &x->columns};
  const neo_lx *blocks[2], *n = neo_gpu_points(l, &none, x->n.batches), *u;
  int n_sides = x->n.columns ? 2 : 1;
  for (int k = 0; k < n_sides; k++) {
    dims[k]->total = neo_gpu_points(l, &none, dims[k]->axes);
    blocks[k] = neo_lower_ceil_div(l, dims[k]->total, dims[k]->block);
    n = neo_lx_op2(l->k, NEO_OP_MUL, n, blocks[k]);
  }
  neo_block *body = neo_lower_open_units(l, &l->k->body, n, &u);
  for (int k = n_sides - 1; k >= 0; k--) {
    const neo_lx *at = neo_lx_op2(l->k, NEO_OP_MOD, u, blocks[k]);
    dims[k]->lo = lx_mul(l, at, dims[k]->block);
    u = neo_lx_op2(l->k, NEO_OP_DIV, u, blocks[k]);
  }
  neo_ln_set_axes(l, &none, x->n.batches, u);
  return body;
}

void neo_lower_gpu_nested(lowering *l) {
  const neo_nested_params *s = &l->s->nested;
  nested_kernel x = {.l = l, .threads = s->threads, .stages = s->stages};
  bool found = neo_nested_of(l->m, l->f, &x.n);
  assert(found && "blocks of rows are legal for such forms alone");
  (void)found;
  neo_type t = type_of(&l->f->stages.at[x.n.sum[0].stage]);
  if (s->products)
    x.kinds = neo_nested_warps_of(l->m, l->f, &x.n);
  make_dims(&x);
  if (x.kinds.on) {
    neo_ln_make_warps(&x);
    if (x.stages)
      neo_ln_plan_stages(&x);
  } else {
    x.a = neo_gpu_shared_buffer(l, "a", t, NEO_NESTED_STEPS * neo_ln_pitch(&x.rows),
                                NEO_GPU_ALIGN_BYTES);
    x.b = neo_gpu_shared_buffer(l, "b", t, NEO_NESTED_STEPS * neo_ln_pitch(&x.steps),
                                NEO_GPU_ALIGN_BYTES);
  }
  neo_block *body = open_units(&x);
  l->depth++; /* threads */
  if (x.kinds.on)
    neo_ln_begin_warps(&x, body);
  if (x.n.columns)
    neo_ln_product(&x, body);
  else
    neo_ln_rows(&x, body);
}

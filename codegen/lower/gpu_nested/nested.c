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
 * The loop over steps skips steps that none of the block's rows needs (lower/gpu_nested/steps.c).
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

/* Declares and sets the registers that all loads of fragments use. */
static void begin_warps(nested_kernel *x, neo_block *in) {
  uint32_t n = x->n.n_sums + (x->n.columns != 0);
  for (uint32_t k = 0; k < n; k++)
    neo_mma_declare(&x->warp[k], in);
  in = neo_ln_open_threads(x, in);
  for (uint32_t k = 0; k < n; k++) {
    x->warp[k].thread = x->thread;
    neo_mma_set_rows(&x->warp[k], in);
  }
}

/* ---- A nested kernel whose outer sum is a product with values of inner sums. */

/* Stores the factors of rows, at a thread's rows and steps, to shared memory. */
static void put_block(nested_kernel *x, neo_block *in, const neo_stage *s, const copied *to) {
  lowering *l = x->l;
  point p[2];
  const neo_lx *cond, *step;
  in = neo_ln_open_points(x, in, s, &x->rows, &x->steps, p, &cond);
  const neo_lx *y = neo_ln_product_of(l, &x->n.of_rows);
  y = neo_lx_op3(l->k, NEO_OP_SELECT, cond, y, neo_gpu_zero(l, (neo_type)y->type));
  step = lx_mul(l, p[1].at, to->per_step);
  neo_ls_store(l->k, in, to->buf, lx_add(l, step, lx_mul(l, p[0].at, to->per_point)), y, NULL);
  neo_ln_end_points(x);
}

static void store_product(nested_kernel *x, neo_block *in, uint32_t acc) {
  lowering *l = x->l;
  const neo_lx *place[2];
  point p[2];
  in = neo_ln_open_threads(x, in);
  neo_ln_place_of(x, place);
  in = neo_ln_open_dim(l, in, &x->rows, place[0], &p[0]);
  in = neo_ln_open_dim(l, in, &x->columns, place[1], &p[1]);
  const neo_lx *row = lx_add(l, x->rows.lo, p[0].at), *column = lx_add(l, x->columns.lo, p[1].at);
  in = &neo_ls_if(l->k, in, lx_lt(l, row, x->rows.total))->branch.then;
  in = &neo_ls_if(l->k, in, lx_lt(l, column, x->columns.total))->branch.then;
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    if (s->accs.n)
      continue;
    neo_lower_facts(l, l->f, s);
    neo_ln_set_axes(l, s, x->rows.axes, row);
    neo_ln_set_axes(l, s, x->columns.axes, column);
    const neo_lx *at[] = {p[0].number, p[1].number};
    if (x->kinds.on)
      neo_lower_in_fragments(l, (uint32_t)neo_mma_fragments(&x->warp[x->n.n_sums].o[1]), at[0],
                             at[1], at);
    l->acc_value = neo_lx_reg(l->k, acc, at, 2);
    neo_lower_store_point(l, in, s, NULL);
    l->acc_value = NULL;
  }
}

static void multiply_block(nested_kernel *x, neo_block *in, nested_product p, bool tested) {
  p.tested = tested;
  if (x->kinds.on)
    neo_ln_warp_product(x, in, p.acc, tested);
  else
    neo_ln_multiply(x, neo_ln_open_threads(x, in), &p, x->steps.block);
}

/* Steps are tested unless all rows of the block need all of them. */
static void multiply_tested(nested_kernel *x, neo_block *in, nested_product p) {
  lowering *l = x->l;
  if (!x->all.from) {
    multiply_block(x, in, p, true);
    return;
  }
  const neo_lx *end = lx_add(l, x->steps.lo, lx_int(l, x->steps.block));
  const neo_lx *from = neo_lx_op2(l->k, NEO_OP_LE, x->all.from, x->steps.lo);
  const neo_lx *to = neo_lx_op2(l->k, NEO_OP_LE, end, x->all.to);
  neo_ls *whole = neo_ls_if(l->k, in, lx_and(l, from, to));
  multiply_block(x, &whole->branch.then, p, false);
  multiply_block(x, &whole->branch.otherwise, p, true);
}

/* Makes its operands in shared memory: the block, and columns. */
static void make_operands(nested_kernel *x, nested_product *p, copied *block, copied *columns) {
  lowering *l = x->l;
  neo_type t = type_of(columns->s);
  const operand *o = x->warp[x->n.n_sums].o;
  copied *c[] = {block, columns};
  for (int k = 0; k < 2; k++) {
    const tile_dim *of = k ? &x->columns : &x->rows;
    bool inside = x->kinds.on && o[k].steps_inside;
    int64_t pitch = x->kinds.on ? o[k].pitch : neo_ln_pitch(of);
    c[k]->buf = x->kinds.on ? o[k].buf
                            : neo_gpu_shared_buffer(l, k ? "columns" : "block", t,
                                                    x->steps.block * pitch, NEO_GPU_ALIGN_BYTES);
    c[k]->per_point = inside ? pitch : 1;
    c[k]->per_step = inside ? 1 : pitch;
  }
  *p = (nested_product){&x->rows, &x->columns, block->buf, columns->buf, 0, false};
}

static void product(nested_kernel *x, neo_block *in) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  nested_product p;
  copied block = {.s = s}, columns = {s, &x->n.of_columns, &x->columns, .depth = x->steps.block};
  make_operands(x, &p, &block, &columns);
  p.acc = x->kinds.on ? neo_ln_warp_acc(x, in)
                      : neo_gpu_thread_reg(x->l, in, "acc", type_of(s), x->rows.tile,
                                           x->columns.tile, x->threads);
  neo_ln_set_steps(x, s);
  neo_ln_clear(x, in, p.acc);
  neo_block *body = neo_ln_open_steps(x, in, s);
  neo_ln_inner_sums(x, body, s);
  neo_block *threads = neo_ln_open_threads(x, body);
  put_block(x, threads, s, &block);
  columns.steps = x->steps.axes;
  columns.from = x->steps.lo;
  columns.total = x->steps.total;
  if (!x->stages)
    neo_ln_copy(x, threads, &columns);
  if (s->where.i)
    multiply_tested(x, body, p);
  else
    multiply_block(x, body, p, false);
  neo_ln_close_steps(x);
  store_product(x, in, p.acc);
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
    begin_warps(&x, body);
  if (x.n.columns)
    product(&x, body);
  else
    neo_ln_rows(&x, body);
}

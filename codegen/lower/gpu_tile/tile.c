/* A contraction's tile by a block of threads (schedule/gpu_tile/gpu_tile.h), with FMA.
 *
 *   for u in 0..units unit                     batch axes, blocks of rows, blocks of columns
 *     reg acc[TILE_M, TILE_N] threads          zero
 *     rows, columns <- steps 0..BLOCK_K        each thread copies some elements of each operand
 *     for k in 0..steps step BLOCK_K
 *       for t in 0..threads thread
 *         next <- steps k + BLOCK_K ..         from memory into registers
 *         for s in 0..BLOCK_K unroll           from shared memory: a[TILE_M], b[TILE_N]
 *           acc[i, j] += a[i] * b[j]
 *         the other half of rows, columns = next
 *     for t in 0..threads thread: stages after it, at each element of the thread's tile
 *
 * Shared memory is double-buffered: two halves of [step][row] and of [step][column]. So a block of
 * steps costs one barrier, and loads for the next half overlap products of this one. A thread reads
 * its rows and columns as vectors. A step is padded by PAD elements: if an operand is contiguous
 * along the steps, the threads of a warp copy neighbouring steps, and padding avoids bank
 * conflicts.
 *
 * A thread's rows are groups of up to four contiguous ones, one group for each pass over the
 * block's rows; columns are alike. The threads of a warp are 4 by 8, so that eight of them read the
 * same vector of rows, and four the same vector of columns.
 *
 * Stages may replace the two halves (lower/gpu_tile/pipeline.c).
 *
 * Operands are zero beyond their ends and where the sum's condition excludes a step. What zeros do
 * not express is tested at each product (lower/tile/pack.c). No load is outside of its buffer: a
 * load that is safe only under a condition which its copy cannot test is tested itself. */
#include "codegen/lower/gpu_tile/tile.h"
#include "codegen/lower/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/producer.h"
#include <assert.h>

enum { HALVES = 2 };

static void sum(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *k, *zero = lx_int(l, 0);
  neo_block *body = open_threads(x, in);
  neo_gpu_clear(x->p.l, body, x->p.acc, "i", "j");
  if (x->stages) {
    neo_btile_sum_stages(x, in);
    return;
  }
  neo_btile_declare_next(x, body, false);
  for (int i = 0; i < 2; i++) {
    neo_btile_get_next(x, body, &x->p.o[i], zero);
    neo_btile_put_next(x, body, &x->p.o[i], x->p.o[i].buf, zero);
  }
  in = neo_lower_open(l, in, "k", zero, x->steps, x->p.block_k, &k);
  const neo_lx *half = lx_mod(l, lx_div(l, k, x->p.block_k), lx_int(l, HALVES));
  body = open_threads(x, in);
  neo_btile_declare_next(x, body, false);
  for (int i = 0; i < 2; i++)
    neo_btile_get_next(x, body, &x->p.o[i], lx_add(l, k, lx_int(l, x->p.block_k)));
  neo_btile_multiply(x, body, k, half);
  half = lx_sub(l, lx_int(l, 1), half);
  for (int i = 0; i < 2; i++)
    neo_btile_put_next(x, body, &x->p.o[i], x->p.o[i].buf, lx_mul(l, half, x->p.o[i].elements));
  neo_lower_close(l);
}

/* ---- the stages that store */

static void store(block_tile *x, neo_block *in) {
  const neo_lx *number[2], *at[2];
  in = neo_btile_open_points(x, open_threads(x, in), at, number);
  neo_btile_store_point(x, in, at, neo_lx_reg(x->p.l->k, x->p.acc, number, 2));
}

/* ---- the kernel */

static int64_t warpgroup_operand(block_tile *x, operand *o) {
  o->swizzled = true;
  o->transposed = x->p.warps != NEO_WARPS_TF32 && !o->along_steps && o->tile % NEO_WGMMA_SIDE == 0;
  o->pitch = x->p.block_k;
  return o->block * o->pitch;
}

static void make_operand(block_tile *x, operand *o, neo_type t) {
  lowering *l = x->p.l;
  const char *name = o->side == NEO_SIDE_ROWS ? "rows" : "columns";
  o->vector = neo_gpu_vector_of(o->tile, t);
  o->pitch = o->block + NEO_THREADS_PAD;
  o->total = neo_gpu_points(l, NULL, o->axes);
  neo_btile_choose_fast(x, o);
  o->elements = x->warpgroups ? warpgroup_operand(x, o)
                : x->p.warps  ? neo_mma_operand(&x->p, o, t)
                              : x->p.block_k * o->pitch;
  bool separate = !x->stages && x->p.warps;
  int64_t elements = (x->stages ? x->stages : separate ? 1 : HALVES) * o->elements;
  int64_t align = x->warpgroups ? NEO_WGMMA_ALIGN_BYTES : 64;
  o->buf = o->other = neo_gpu_shared_buffer(l, name, t, elements, align);
  if (separate)
    o->other = neo_gpu_shared_buffer(l, name, t, elements, align);
}

/* Splits the condition into the part that the copies test and the rest. */
static void take_conditions(block_tile *x) {
  lowering *l = x->p.l;
  uint64_t reach[NEO_MAX_FACTORS], rows = x->p.o[0].axes, columns = x->p.o[1].axes;
  neo_expr where = x->s->where;
  neo_lower_facts(l, l->f, x->s);
  for (uint32_t k = 0; k < x->c.n; k++)
    reach[k] = neo_tile_copy_axes(&x->c.factor[k], rows, columns);
  for (int i = 0; i < 2; i++) {
    operand *o = &x->p.o[i];
    if (where.i)
      neo_condition_take(l->m, l->f, where, ~x->p.o[!i].axes, &o->cond);
    for (uint32_t k = 0; k < x->c.n; k++)
      if (neo_btile_has_factor(x, o, k))
        o->bounded = o->bounded || !neo_lower_safe_under(l, x->c.factor[k].e, o->cond);
    o->bounded = o->bounded || (o->cond.i && !neo_lower_safe_under(l, o->cond, (neo_expr){0}));
  }
  neo_condition_context known = neo_lower_condition_context(l);
  if (where.i)
    x->left = neo_condition_left(&known, &x->c, where, reach);
  assert(!(x->p.warps && x->left.i) && "a condition at each product is legal for threads alone");
}

/* Finds the operands that asynchronous copies can bring: those that are read without computing. */
static void find_sources(block_tile *x) {
  lowering *l = x->p.l;
  bool rounded = false, rounds = x->p.warps && !x->warpgroups;
  for (int k = 0; k < 2; k++) {
    operand *o = &x->p.o[k];
    neo_expr from = neo_stages_source(l->m, &x->c, l->s, o->side, rounds ? &rounded : NULL);
    uint32_t buf = from.i ? neo_gpu_source_buffer(l, from) : 0;
    if (!from.i || l->k->bufs.at[buf].use != NEO_BUF_READ)
      continue;
    o->from = from;
    o->rounded = rounded;
    o->from_buf = buf;
  }
}

/* An asynchronous copy has at least 4 bytes; other operands go through registers. */
static void plan_copies(block_tile *x, operand *o) {
  int64_t bytes = neo_type_bytes((neo_type)x->p.l->k->bufs.at[o->buf].type);
  int64_t width = neo_btile_lane_pitch(o) == 1 ? o->width : 1;
  if (width * bytes < 4) {
    o->from = (neo_expr){0};
    o->rounded = false;
    return;
  }
  o->width = width;
  neo_btile_count_copies(x, o);
}

static void plan_stages(block_tile *x) {
  if (!x->stages)
    return;
  find_sources(x);
  if (neo_btile_plan_tma(x))
    return;
  for (int k = 0; k < 2; k++)
    if (x->p.o[k].from.i)
      plan_copies(x, &x->p.o[k]);
}

void neo_lower_gpu_tile(lowering *l) {
  const neo_block_params *s = &l->s->block;
  block_tile x = {.p = {.l = l, .threads = s->threads, .block_k = s->block_k}};
  x.warpgroups = s->products == NEO_THREADS_WARPGROUPS;
  x.stages = s->stages;
  bool found = neo_contraction_of(l->m, l->f, &x.c);
  assert(found && "blocks of rows and columns are legal for contractions alone");
  (void)found;
  x.s = &l->f->stages.at[x.c.stage];
  neo_type t = (neo_type)x.s->accs.at[0].type, of_operands = t;
  if (s->products) {
    x.p.warps = neo_threads_warps(l->m, l->f, &x.c);
    of_operands = neo_expr_type(l->m, x.c.factor[0].e);
  }
  x.p.o[0] = (operand){
      .axes = (uint64_t)s->row_axes, .side = NEO_SIDE_ROWS, .block = s->block_m, .tile = s->tile_m};
  x.p.o[1] = (operand){.axes = (uint64_t)s->column_axes,
                       .side = NEO_SIDE_COLUMNS,
                       .block = s->block_n,
                       .tile = s->tile_n};
  for (int k = 0; k < 2; k++)
    make_operand(&x, &x.p.o[k], of_operands);
  take_conditions(&x);
  x.persistent = s->persistent;
  l->k->persistent = x.persistent ? neo_producer_blocks(l->machine, l->s) : 0;
  neo_block *in = &l->k->body;
  neo_block *body =
      neo_btile_open_units(&x, x.persistent ? neo_btile_open_specialized(&x, in) : in);
  for (int k = 0; k < 2; k++)
    neo_btile_vectorize_copies(&x, &x.p.o[k]);
  plan_stages(&x);
  if (x.tma)
    neo_btile_plan_producer(&x);
  l->depth++; /* threads */
  if (x.p.warps) {
    (x.warpgroups ? neo_btile_warpgroups : neo_btile_warps)(&x, body);
    return;
  }
  x.p.acc = neo_gpu_thread_reg(l, body, "acc", t, x.p.o[0].tile, x.p.o[1].tile, x.p.threads);
  sum(&x, body);
  store(&x, body);
}

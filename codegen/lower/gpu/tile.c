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
 * Shared memory holds two halves of [step][row] and of [step][column], so that a thread reads its
 * rows and columns as vectors and a block of steps costs one barrier; what the next half will hold
 * is on its way from memory while this one is used. A step is PAD elements longer than the block:
 * where an operand lies contiguous along the steps, the threads of a warp copy neighbouring steps,
 * and their stores fall on different banks.
 *
 * A thread's rows are groups of up to four that lie next to each other, one group for each pass
 * over the block's rows; the same for columns. Within a warp threads are 4 by 8, so that a vector
 * of rows is read by eight of them at once, one of columns by four.
 *
 * In place of two halves there may be stages (lower/gpu/tile_pipeline.c).
 *
 * Operands are zero beyond their ends and where the condition of the sum excludes a step; what
 * zeros do not make up for is tested at each product (lower/cpu/pack.c says what that is). Nothing is
 * read outside of a buffer: where that follows only from a condition that a copy cannot look at,
 * each load is tested. */
#include "codegen/lower/gpu/tile.h"
#include "schedule/gpu_tile/producer.h"
#include <assert.h>

enum { WARP = 32, WARP_ROWS = 4, WARP_COLUMNS = 8, HALVES = 2 };

static const neo_lx *points_of(lowering *l, uint64_t axes) {
  const neo_lx *n = lx_int(l, 1);
  for (uint32_t k = 0; k < l->f->axes.n; k++)
    if (axes >> k & 1)
      n = neo_lx_op2(l->k, NEO_OP_MUL, n, neo_lower_extent(l, k));
  return n;
}

/* Place of the thread along rows (0) and columns (1), in tiles. */
static void place_of(const block_tile *x, const neo_lx *out[2]) {
  lowering *l = x->l;
  int64_t tall = x->o[0].block / x->o[0].tile, wide = x->o[1].block / x->o[1].tile;
  if (tall % WARP_ROWS || wide % WARP_COLUMNS) {
    out[0] = lx_div(l, x->thread, wide);
    out[1] = lx_mod(l, x->thread, lx_int(l, wide));
    return;
  }
  int64_t warps = wide / WARP_COLUMNS;
  const neo_lx *warp = lx_div(l, x->thread, WARP), *lane = lx_mod(l, x->thread, lx_int(l, WARP));
  out[0] = lx_add(l, lx_mul(l, lx_div(l, warp, warps), WARP_ROWS), lx_div(l, lane, WARP_COLUMNS));
  out[1] = lx_add(l, lx_mul(l, lx_mod(l, warp, lx_int(l, warps)), WARP_COLUMNS),
                  lx_mod(l, lane, lx_int(l, WARP_COLUMNS)));
}

/* The thread's row (or column) `element` of group `group`, counted from the block's first. */
static const neo_lx *element_of(const block_tile *x, const operand *o, const neo_lx *place,
                                const neo_lx *group, const neo_lx *element) {
  lowering *l = x->l;
  const neo_lx *at = lx_mul(l, place, o->vector);
  at = lx_add(l, at, lx_mul(l, group, o->block / o->tile * o->vector));
  return element ? lx_add(l, at, element) : at;
}

/* ---- products */

/* A vector of rows or columns for each group, at a step of a block of them. */
static void get_values(block_tile *x, neo_block *in, operand *o, const neo_lx *place,
                       const neo_lx *block, const neo_lx *step) {
  lowering *l = x->l;
  neo_reg r = {.name = o->side == NEO_SIDE_ROWS ? "a" : "b", .rank = 2};
  const neo_lx *group, *lane;
  r.type = l->k->bufs.at[o->buf].type;
  r.extent[0] = o->tile / o->vector;
  r.extent[1] = o->vector;
  o->value = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, o->value);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", r.extent[0], &group);
  in = open_loop(l, in, NEO_LOOP_VECTOR, "l", o->vector, &lane);
  const neo_lx *at = lx_add(l, lx_mul(l, block, o->elements), lx_mul(l, step, o->pitch));
  at = lx_add(l, at, element_of(x, o, place, group, NULL));
  neo_ls_set(l->k, in, o->value, (const neo_lx *[]){group, lane}, 2,
             neo_lx_load(l->k, o->buf, lx_add(l, at, lane)));
}

/* Loops over groups and their elements: returns the number in the tile. */
static neo_block *open_elements(block_tile *x, neo_block *in, const operand *o,
                                const neo_lx *index[2], const neo_lx **number) {
  in = open_loop(x->l, in, NEO_LOOP_UNROLL, "g", o->tile / o->vector, &index[0]);
  in = open_loop(x->l, in, NEO_LOOP_UNROLL, "e", o->vector, &index[1]);
  *number = lx_add(x->l, lx_mul(x->l, index[0], o->vector), index[1]);
  return in;
}

void neo_btile_multiply(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *block) {
  lowering *l = x->l;
  const neo_lx *step, *i[2], *j[2], *at[2], *place[2];
  place_of(x, place);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", x->block_k, &step);
  for (int k = 0; k < 2; k++)
    get_values(x, in, &x->o[k], place[k], block, step);
  in = open_elements(x, in, &x->o[0], i, &at[0]);
  in = open_elements(x, in, &x->o[1], j, &at[1]);
  const neo_lx *old = neo_lx_reg(l->k, x->acc, at, 2);
  const neo_lx *y = neo_lx_fma(l->k, neo_lx_reg(l->k, x->o[0].value, i, 2),
                               neo_lx_reg(l->k, x->o[1].value, j, 2), old);
  if (x->left.i) {
    neo_btile_set_own(x, from, step, NULL);
    step = lx_add(l, from, step);
    for (int k = 0; k < 2; k++) {
      const neo_lx *e = element_of(x, &x->o[k], place[k], (k ? j : i)[0], (k ? j : i)[1]);
      neo_btile_set_shared(l, x->o[k].axes, x->o[k].fast, lx_add(l, x->o[k].lo, e), NULL);
    }
    const neo_lx *exists = neo_lx_op2(l->k, NEO_OP_LT, step, x->steps), *outer = l->guard;
    for (int k = 0; k < 2; k++) {
      const neo_lx *e = element_of(x, &x->o[k], place[k], (k ? j : i)[0], (k ? j : i)[1]);
      exists = lx_and(l, exists, below(l, lx_add(l, x->o[k].lo, e), x->o[k].total, x->o[k].block));
    }
    l->guard = exists;
    l->exact = l->bounded = true;
    neo_lower_forget(l);
    y = neo_lx_op3(l->k, NEO_OP_SELECT, lx_and(l, exists, neo_lower_expr(l, x->left)), y, old);
    l->guard = outer;
    l->exact = l->bounded = false;
    neo_lower_forget(l);
  }
  neo_ls_set(l->k, in, x->acc, at, 2, y);
}

static void clear(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *at[2];
  in = open_loop(l, in, NEO_LOOP_UNROLL, "i", x->o[0].tile, &at[0]);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", x->o[1].tile, &at[1]);
  neo_ls_set(l->k, in, x->acc, at, 2, neo_btile_zero(l, (neo_type)l->k->regs.at[x->acc].type));
}

static void sum(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *k, *zero = lx_int(l, 0);
  neo_block *body = open_threads(x, in);
  clear(x, body);
  if (x->stages) {
    neo_btile_sum_stages(x, in);
    return;
  }
  neo_btile_declare_next(x, body, false);
  for (int i = 0; i < 2; i++) {
    neo_btile_get_next(x, body, &x->o[i], zero);
    neo_btile_put_next(x, body, &x->o[i], x->o[i].buf, zero);
  }
  in = neo_lower_open(l, in, "k", zero, x->steps, x->block_k, &k);
  const neo_lx *half = lx_mod(l, lx_div(l, k, x->block_k), lx_int(l, HALVES));
  body = open_threads(x, in);
  neo_btile_declare_next(x, body, false);
  for (int i = 0; i < 2; i++)
    neo_btile_get_next(x, body, &x->o[i], lx_add(l, k, lx_int(l, x->block_k)));
  neo_btile_multiply(x, body, k, half);
  half = lx_sub(l, lx_int(l, 1), half);
  for (int i = 0; i < 2; i++)
    neo_btile_put_next(x, body, &x->o[i], x->o[i].buf, lx_mul(l, half, x->o[i].elements));
  neo_lower_close(l);
}

/* ---- the stages that store */

void neo_btile_store_point(block_tile *x, neo_block *in, const neo_lx *const *at,
                           const neo_lx *sum) {
  lowering *l = x->l;
  const neo_lx *e[2];
  for (int k = 0; k < 2; k++) {
    const operand *o = &x->o[k];
    e[k] = lx_add(l, o->lo, at[k]);
    const neo_lx *exists = below(l, e[k], o->total, o->block);
    if (exists)
      in = &neo_ls_if(l->k, in, exists)->branch.then;
  }
  for (int k = 0; k < 2; k++)
    neo_btile_set_shared(l, x->o[k].axes, x->o[k].fast, e[k], NULL);
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    if (s->accs.n)
      continue;
    neo_lower_facts(l, l->f, s);
    l->acc_value = sum;
    neo_lower_store_point(l, in, s, NULL);
    l->acc_value = NULL;
  }
}

static void store(block_tile *x, neo_block *in) {
  const neo_lx *place[2], *index[2], *number[2], *at[2];
  in = open_threads(x, in);
  place_of(x, place);
  for (int k = 0; k < 2; k++) {
    in = open_elements(x, in, &x->o[k], index, &number[k]);
    at[k] = element_of(x, &x->o[k], place[k], index[0], index[1]);
  }
  neo_btile_store_point(x, in, at, neo_lx_reg(x->l->k, x->acc, number, 2));
}

/* ---- the kernel */

static int64_t vector_of(int64_t n, neo_type t) {
  int64_t most = 16 / neo_type_bytes(t);
  return n % 4 == 0 && most >= 4 ? 4 : n % 2 == 0 && most >= 2 ? 2 : 1;
}

static void make_operand(block_tile *x, operand *o, neo_type t) {
  lowering *l = x->l;
  neo_kbuf b = {.name = o->side == NEO_SIDE_ROWS ? "rows" : "columns", .type = (uint8_t)t};
  o->vector = vector_of(o->tile, t);
  o->pitch = o->block + NEO_THREADS_PAD;
  o->total = points_of(l, o->axes);
  neo_btile_choose_fast(x, o);
  b.use = NEO_BUF_SCRATCH;
  b.no_alias = true;
  b.align = 64;
  o->elements = x->warpgroups ? neo_btile_warpgroup_operand(x, o)
                : x->warps    ? neo_btile_warp_operand(x, o, t)
                              : x->block_k * o->pitch;
  if (x->warpgroups)
    b.align = NEO_WGMMA_ALIGN_BYTES;
  bool apart = !x->stages && x->warps;
  b.scratch_elems = (x->stages ? x->stages : apart ? 1 : HALVES) * o->elements;
  o->buf = o->other = neo_kernel_buf(l->k, b);
  if (apart)
    o->other = neo_kernel_buf(l->k, b);
}

/* What the copies take of the condition, and what is left of it. */
static void take_conditions(block_tile *x) {
  lowering *l = x->l;
  uint64_t reach[NEO_MAX_FACTORS], rows = x->o[0].axes, columns = x->o[1].axes;
  neo_expr where = x->s->where;
  neo_lower_facts(l, l->f, x->s);
  for (uint32_t k = 0; k < x->c.n; k++)
    reach[k] = neo_tile_reach(&x->c.factor[k], rows, columns);
  for (int i = 0; i < 2; i++) {
    operand *o = &x->o[i];
    if (where.i)
      neo_condition_take(l->m, l->f, where, ~x->o[!i].axes, &o->cond);
    for (uint32_t k = 0; k < x->c.n; k++)
      if (neo_btile_has_factor(x, o, k))
        o->bounded = o->bounded || !neo_lower_safe_under(l, x->c.factor[k].e, o->cond);
    o->bounded = o->bounded || (o->cond.i && !neo_lower_safe_under(l, o->cond, (neo_expr){0}));
  }
  neo_condition_context known = neo_lower_known(l);
  if (where.i)
    x->left = neo_condition_left(&known, &x->c, where, reach);
  assert(!(x->warps && x->left.i) && "a condition at each product is legal for threads alone");
}

static void make_axes(block_tile *x) {
  lowering *l = x->l;
  x->steps = lx_int(l, 1);
  for (uint32_t k = 0; k < x->s->axes.n; k++) {
    const neo_axis_rec *own = &x->s->axes.at[k];
    x->least[k] = neo_lower_expr(l, own->lo);
    const neo_lx *n = lx_sub(l, neo_lower_expr(l, own->hi), x->least[k]);
    x->length[k] = lx_max(l, n, lx_int(l, 0));
    x->steps = neo_lx_op2(l->k, NEO_OP_MUL, x->steps, x->length[k]);
  }
}

static const neo_lx *quotient(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_DIV, a, b);
}

/* Block of rows and block of columns of unit u, as they are counted; returns the batch. */
static const neo_lx *in_order(lowering *l, const neo_lx *u, const neo_lx *const *blocks,
                              const neo_lx **at) {
  for (int k = 1; k >= 0; k--) {
    at[k] = lx_mod(l, u, blocks[k]);
    u = quotient(l, u, blocks[k]);
  }
  return u;
}

/* The same in groups of GROUP blocks of rows, of which those at the same columns are neighbours:
 * what persistent blocks take at the same time reads less of the operands than a few rows and all
 * columns do. The last group of a batch may be lower. */
static const neo_lx *in_groups(const block_tile *x, const neo_lx *u, const neo_lx *const *blocks,
                               const neo_lx **at) {
  enum { GROUP = 8 };
  lowering *l = x->l;
  int64_t group = x->o[1].block > x->o[0].block ? 2 * GROUP : GROUP, rows;
  const neo_lx *tiles = neo_lx_op2(l->k, NEO_OP_MUL, blocks[0], blocks[1]);
  const neo_lx *of_group = lx_mul(l, blocks[1], group), *low = lx_int(l, group);
  const neo_lx *batch = quotient(l, u, tiles), *in_batch = lx_mod(l, u, tiles);
  const neo_lx *first = lx_mul(l, quotient(l, in_batch, of_group), group);
  if (!neo_lx_is_int(blocks[0], &rows) || rows % group)
    low = lx_min(l, lx_sub(l, blocks[0], first), low);
  const neo_lx *in_group = lx_mod(l, in_batch, of_group);
  at[0] = lx_add(l, first, lx_mod(l, in_group, low));
  at[1] = quotient(l, in_group, low);
  return batch;
}

/* Batch, block of rows, block of columns of a unit. */
neo_block *neo_btile_open_units(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  uint64_t batches = ((1ULL << l->f->axes.n) - 1) & ~x->o[0].axes & ~x->o[1].axes;
  const neo_lx *blocks[2], *at[2], *n = points_of(l, batches), *u;
  for (int k = 0; k < 2; k++) {
    blocks[k] = neo_lower_ceil_div(l, x->o[k].total, x->o[k].block);
    n = neo_lx_op2(l->k, NEO_OP_MUL, n, blocks[k]);
  }
  neo_block *body = neo_lower_open_units(l, in, n, &u);
  u = x->persistent ? in_groups(x, u, blocks, at) : in_order(l, u, blocks, at);
  for (int k = 0; k < 2; k++)
    x->o[k].lo = lx_mul(l, at[k], x->o[k].block);
  neo_btile_set_shared(l, batches, 63, u, NULL);
  neo_lower_facts(l, l->f, x->s);
  make_axes(x);
  return body;
}

void neo_lower_block_tile(lowering *l) {
  const neo_block_params *s = &l->s->block;
  block_tile x = {.l = l, .threads = s->threads, .block_k = s->block_k};
  x.warpgroups = s->products == NEO_THREADS_WARPGROUPS;
  x.stages = s->stages;
  bool found = neo_contraction_of(l->m, l->f, &x.c);
  assert(found && "blocks of rows and columns are legal for contractions alone");
  (void)found;
  x.s = &l->f->stages.at[x.c.stage];
  neo_type t = (neo_type)x.s->accs.at[0].type, of_operands = t;
  if (s->products) {
    x.warps = neo_threads_warps(l->m, l->f, &x.c);
    of_operands = neo_expr_type(l->m, x.c.factor[0].e);
  }
  x.o[0] = (operand){
      .axes = (uint64_t)s->row_axes, .side = NEO_SIDE_ROWS, .block = s->block_m, .tile = s->tile_m};
  x.o[1] = (operand){.axes = (uint64_t)s->column_axes,
                     .side = NEO_SIDE_COLUMNS,
                     .block = s->block_n,
                     .tile = s->tile_n};
  for (int k = 0; k < 2; k++)
    make_operand(&x, &x.o[k], of_operands);
  take_conditions(&x);
  x.persistent = s->persistent;
  l->k->persistent = x.persistent ? neo_producer_blocks(l->s) : 0;
  neo_block *in = &l->k->body;
  neo_block *body = neo_btile_open_units(&x, x.persistent ? neo_btile_open_roles(&x, in) : in);
  for (int k = 0; k < 2; k++)
    neo_btile_widen(&x, &x.o[k]);
  neo_btile_plan_stages(&x);
  l->depth++; /* threads */
  if (x.warps) {
    (x.warpgroups ? neo_btile_warpgroups : neo_btile_warps)(&x, body);
    return;
  }
  neo_reg acc = {.name = "acc", .type = (uint8_t)t, .rank = 2, .threads = x.threads};
  acc.extent[0] = x.o[0].tile;
  acc.extent[1] = x.o[1].tile;
  x.acc = neo_kernel_reg(l->k, acc);
  neo_ls_reg(l->k, body, x.acc);
  sum(&x, body);
  store(&x, body);
}

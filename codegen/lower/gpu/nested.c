/* Sums inside of sums by a block of threads (fusion/nested.h, schedule/gpu_nested/nested.h).
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
 *     rows are reduced: the threads' parts of a row are joined by a tree, into shared memory, where
 *     the next stages find them
 *     for t: stages that store
 *
 * Which thread adds what follows from the schedule: the same bits in any order of threads.
 *
 * The loop over steps leaves out what none of the block's rows takes (lower/gpu/nested_range.c).
 *
 * Rows and steps that do not exist are zero as operands; a row's body is not taken there, nor where
 * its condition excludes a step. In a product such a step is zero in the block, and is tested at
 * each product as well, since zero times NaN is NaN, but where all rows of the block take all of
 * its steps. */
#include "codegen/lower/gpu/nested.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include <assert.h>

enum { WARP = 32, WARP_ROWS = 4, WARP_COLUMNS = 8 };

/* ---- small things */

static const neo_lx *mod(lowering *l, const neo_lx *a, int64_t n) {
  return neo_lx_op2(l->k, NEO_OP_MOD, a, lx_int(l, n));
}

neo_block *neo_ln_open_threads(nest *x, neo_block *in) {
  return open_loop(x->l, in, NEO_LOOP_THREAD, "t", x->threads, &x->thread);
}

static const neo_lx *zero_of(lowering *l, neo_type t) {
  (void)t;
  return neo_lx_const(l->k, t, (neo_value){.f = 0});
}

uint32_t neo_ln_shared_buffer(lowering *l, const char *name, neo_type t, int64_t elems) {
  neo_kbuf b = {.name = name, .type = (uint8_t)t, .use = NEO_BUF_SCRATCH, .scratch_elems = elems};
  b.no_alias = true;
  b.align = 64;
  return neo_kernel_buf(l->k, b);
}

uint32_t neo_ln_thread_reg(nest *x, neo_block *in, const char *name, neo_type t, int64_t rows,
                           int64_t columns) {
  neo_reg r = {.name = name, .type = (uint8_t)t, .rank = 2, .threads = x->threads};
  r.extent[0] = rows;
  r.extent[1] = columns;
  uint32_t reg = neo_kernel_reg(x->l->k, r);
  neo_ls_reg(x->l->k, in, reg);
  return reg;
}

int64_t neo_ln_pitch(const side *s) {
  return s->block + NEO_THREADS_PAD;
}

/* ---- axes */

/* The extent of an axis of a stage, own axes after shared ones. */
static const neo_lx *extent_of(lowering *l, const neo_stage *s, uint32_t k) {
  uint32_t n = (uint32_t)l->f->axes.n;
  if (k < n)
    return neo_lower_extent(l, k);
  return lx_max(l, neo_lower_expr(l, s->axes.at[k - n].hi), lx_int(l, 0));
}

const neo_lx *neo_ln_points(lowering *l, const neo_stage *s, uint64_t axes) {
  const neo_lx *n = lx_int(l, 1);
  for (uint32_t k = 0; k < l->f->axes.n + s->axes.n; k++)
    if (axes >> k & 1)
      n = neo_lx_op2(l->k, NEO_OP_MUL, n, extent_of(l, s, k));
  return n;
}

void neo_ln_set_lanes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at,
                      const neo_lx *lane) {
  for (uint32_t k = (uint32_t)(l->f->axes.n + s->axes.n); k-- > 0;) {
    if (!(axes >> k & 1))
      continue;
    bool first = !(axes & ((1ULL << k) - 1));
    const neo_lx *n = lx_max(l, extent_of(l, s, k), lx_int(l, 1));
    axis_value v = {.n = 0};
    neo_lower_push_part(&v, first ? at : neo_lx_op2(l->k, NEO_OP_MOD, at, n), 1, l->depth);
    neo_lower_push_part(&v, lane, 1, DEPTH_LANE);
    neo_lower_set_parts(l, k, v);
    at = first ? at : neo_lx_op2(l->k, NEO_OP_DIV, at, n);
    lane = NULL;
  }
}

/* Axes at point `at` of them, the last one fastest. */
void neo_ln_set_axes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at) {
  neo_ln_set_lanes(l, s, axes, at, NULL);
}

static uint64_t own_axes(const lowering *l, uint32_t from, uint32_t to) {
  return ((1ULL << to) - (1ULL << from)) << l->f->axes.n;
}

/* ---- threads of a block
 *
 * A thread's points along a side are groups of up to four that lie next to each other, one group
 * for each pass over the block. Within a warp threads are 4 by 8 where that is possible, so that
 * reads of shared memory are few. */

void neo_ln_place_of(const nest *x, const neo_lx *out[2]) {
  lowering *l = x->l;
  if (x->kinds.on) {
    out[0] = out[1] = x->thread;
    return;
  }
  int64_t tall = x->rows.threads, wide = x->steps.threads;
  if (tall % WARP_ROWS || wide % WARP_COLUMNS) {
    out[0] = lx_div(l, x->thread, wide);
    out[1] = mod(l, x->thread, wide);
    return;
  }
  int64_t warps = wide / WARP_COLUMNS;
  const neo_lx *warp = lx_div(l, x->thread, WARP), *lane = mod(l, x->thread, WARP);
  out[0] = lx_add(l, lx_mul(l, lx_div(l, warp, warps), WARP_ROWS), lx_div(l, lane, WARP_COLUMNS));
  out[1] = lx_add(l, lx_mul(l, mod(l, warp, warps), WARP_COLUMNS), mod(l, lane, WARP_COLUMNS));
}

/* Of fragments (codegen/loop/warp.h) a thread has rows 8 apart, and pairs of columns 8 apart. */
static const neo_lx *fragment_at(lowering *l, const side *s, const neo_lx *thread,
                                 const neo_lx *group) {
  const neo_lx *warp = lx_div(l, thread, WARP), *lane = mod(l, thread, WARP);
  warp = s->down ? lx_div(l, warp, s->warps) : mod(l, warp, s->warps);
  lane = s->down ? lx_div(l, lane, 4) : lx_mul(l, mod(l, lane, 4), 2);
  return lx_add(l, lx_add(l, lx_mul(l, warp, s->of_warp), lane), lx_mul(l, group, 8));
}

const neo_lx *neo_ln_part(const nest *x) {
  lowering *l = x->l;
  const neo_lx *place[2];
  neo_ln_place_of(x, place);
  if (!x->kinds.on)
    return place[1];
  const neo_lx *warp = mod(l, lx_div(l, x->thread, WARP), x->steps.warps);
  return lx_add(l, lx_mul(l, warp, 4), mod(l, x->thread, 4));
}

/* The first point of a group, counted from the block's first. */
static const neo_lx *group_at(lowering *l, const side *s, const neo_lx *place,
                              const neo_lx *group) {
  if (s->of_warp)
    return fragment_at(l, s, place, group);
  return lx_add(l, lx_mul(l, place, s->vector), lx_mul(l, group, s->threads * s->vector));
}

neo_block *neo_ln_open_side(lowering *l, neo_block *in, const side *s, const neo_lx *place,
                            point *p) {
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", s->tile / s->vector, &p->group);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "e", s->vector, &p->element);
  p->number = lx_add(l, lx_mul(l, p->group, s->vector), p->element);
  p->at = lx_add(l, group_at(l, s, place, p->group), p->element);
  return in;
}

/* ---- operands */

bool neo_ln_along_steps(const nest *x, const copied *o) {
  return neo_nested_along_steps(x->l->m, x->l->f, o->factors, o->points->axes, o->steps);
}

const neo_lx *neo_ln_product_of(lowering *l, const neo_nested_factors *f) {
  const neo_lx *y = NULL;
  for (uint32_t k = 0; k < f->n; k++) {
    const neo_lx *e = neo_lower_expr(l, f->at[k]);
    y = y ? neo_lx_op2(l->k, NEO_OP_MUL, y, e) : e;
  }
  return y;
}

void neo_ln_begin_guard(lowering *l, const neo_lx *guard, bool bounded) {
  l->guard = guard;
  l->exact = true;
  l->bounded = bounded;
  neo_lower_forget(l);
}

void neo_ln_end_guard(lowering *l) {
  l->guard = NULL;
  l->exact = l->bounded = false;
  neo_lower_forget(l);
}

/* ---- products of what lies in shared memory */

static uint32_t get_values(nest *x, neo_block *in, const side *s, uint32_t buf, const neo_lx *place,
                           const neo_lx *step) {
  lowering *l = x->l;
  const neo_lx *group, *lane;
  neo_reg r = {.name = "v", .type = l->k->bufs.at[buf].type, .rank = 2};
  r.extent[0] = s->tile / s->vector;
  r.extent[1] = s->vector;
  uint32_t reg = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, reg);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", r.extent[0], &group);
  in = open_loop(l, in, NEO_LOOP_VECTOR, "l", s->vector, &lane);
  const neo_lx *at = lx_add(l, lx_mul(l, step, neo_ln_pitch(s)), group_at(l, s, place, group));
  neo_ls_set(l->k, in, reg, (const neo_lx *[]){group, lane}, 2,
             neo_lx_load(l->k, buf, lx_add(l, at, lane)));
  return reg;
}

typedef struct {
  const side *rows, *columns;
  uint32_t a, b, acc;
  const neo_lx *(*test)(nest *x, const point *row, const neo_lx *step); /* null: always */
} product;

/* acc += a * b at one step of the block. */
static void multiply(nest *x, neo_block *in, const product *p, const neo_lx *const *place,
                     const neo_lx *step) {
  lowering *l = x->l;
  point row, column;
  uint32_t a = get_values(x, in, p->rows, p->a, place[0], step);
  uint32_t b = get_values(x, in, p->columns, p->b, place[1], step);
  in = neo_ln_open_side(l, in, p->rows, place[0], &row);
  const neo_lx *test = p->test ? p->test(x, &row, step) : NULL;
  in = neo_ln_open_side(l, in, p->columns, place[1], &column);
  const neo_lx *at[] = {row.number, column.number};
  const neo_lx *old = neo_lx_reg(l->k, p->acc, at, 2);
  const neo_lx *y =
      neo_lx_fma(l->k, neo_lx_reg(l->k, a, (const neo_lx *[]){row.group, row.element}, 2),
                 neo_lx_reg(l->k, b, (const neo_lx *[]){column.group, column.element}, 2), old);
  if (test)
    y = neo_lx_op3(l->k, NEO_OP_SELECT, test, y, old);
  neo_ls_set(l->k, in, p->acc, at, 2, y);
}

/* Over n steps, some of them at a time unrolled. */
static void multiply_all(nest *x, neo_block *in, const product *p, int64_t n) {
  lowering *l = x->l;
  int64_t few = n % 8 == 0 ? 8 : n % 4 == 0 ? 4 : 1;
  const neo_lx *place[2], *from, *step;
  neo_ln_place_of(x, place);
  in = neo_lower_open(l, in, "s", lx_int(l, 0), lx_int(l, n), few, &from);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", few, &step);
  multiply(x, in, p, place, lx_add(l, from, step));
  neo_lower_close(l);
}

void neo_ln_clear(nest *x, neo_block *in, uint32_t reg) {
  lowering *l = x->l;
  const neo_reg *r = &l->k->regs.at[reg];
  neo_type t = (neo_type)r->type;
  const neo_lx *at[2];
  int64_t rows = r->extent[0], columns = r->extent[1];
  in = neo_ln_open_threads(x, in);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "i", rows, &at[0]);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", columns, &at[1]);
  neo_ls_set(l->k, in, reg, at, 2, zero_of(l, t));
}

/* ---- inner sums */

static void inner_sum(nest *x, neo_block *in, uint32_t k) {
  lowering *l = x->l;
  const neo_nested_sum *sum = &x->n.sum[k];
  const neo_stage *s = &l->f->stages.at[sum->stage];
  uint64_t own = own_axes(l, s->over, (uint32_t)s->axes.n);
  uint32_t reg = neo_ln_thread_reg(x, in, "inner", type_of(s), x->rows.tile, x->steps.tile);
  x->inner[s->first_acc] = reg;
  neo_lower_facts(l, l->f, s);
  const neo_lx *total = neo_ln_points(l, s, own), *from;
  neo_ln_clear(x, in, reg);
  neo_block *body = neo_lower_open(l, in, "d", lx_int(l, 0), total, NEO_NESTED_STEPS, &from);
  neo_block *copies = neo_ln_open_threads(x, body);
  copied o = {s,     &sum->rows,       &x->rows, own, from,
              total, NEO_NESTED_STEPS, x->a,     1,   neo_ln_pitch(&x->rows),
              NULL};
  neo_ln_copy(x, copies, &o);
  o.factors = &sum->steps;
  o.points = &x->steps;
  o.buf = x->b;
  o.per_step = neo_ln_pitch(&x->steps);
  neo_ln_copy(x, copies, &o);
  product p = {&x->rows, &x->steps, x->a, x->b, reg, NULL};
  multiply_all(x, neo_ln_open_threads(x, body), &p, NEO_NESTED_STEPS);
  neo_lower_close(l);
}

/* Those that the stage around them uses, at a block of its steps. */
void neo_ln_inner_sums(nest *x, neo_block *in, const neo_stage *host) {
  for (uint32_t k = 0; k < x->n.n_sums; k++)
    if (neo_lower_uses_stage(x->l, host, &x->l->f->stages.at[x->n.sum[k].stage]))
      (x->kinds.on ? neo_ln_warp_sum : inner_sum)(x, in, k);
}

/* Loops over a thread's rows and steps, with axes and inner sums there; *cond: whether they exist,
 * and the stage takes them. Until end_points. */
neo_block *neo_ln_open_points(nest *x, neo_block *in, const neo_stage *host, const side *rows,
                              const side *steps, point p[2], const neo_lx **cond) {
  lowering *l = x->l;
  const neo_lx *place[2];
  neo_ln_place_of(x, place);
  neo_lower_facts(l, l->f, host);
  in = neo_ln_open_side(l, in, steps, place[1], &p[1]);
  in = neo_ln_open_side(l, in, rows, place[0], &p[0]);
  const neo_lx *row = lx_add(l, rows->lo, p[0].at), *step = lx_add(l, steps->lo, p[1].at);
  neo_ln_set_axes(l, host, rows->axes, row);
  neo_ln_set_axes(l, host, steps->axes, step);
  l->row = p[0].number;
  l->col = p[1].number;
  for (uint32_t k = 0; k < x->n.n_sums; k++) {
    uint32_t acc = l->f->stages.at[x->n.sum[k].stage].first_acc;
    uint32_t fragments = x->kinds.on ? (uint32_t)neo_btile_fragments(&x->warp[k].o[1]) : 0;
    l->acc[acc] = (acc_reg){x->inner[acc], 2, true, true, fragments};
  }
  *cond = lx_and(l, lx_lt(l, row, rows->total), lx_lt(l, step, steps->total));
  neo_ln_begin_guard(l, *cond, true);
  if (host->where.i) {
    *cond = lx_and(l, *cond, neo_lower_expr(l, host->where));
    neo_ln_begin_guard(l, *cond, false);
  }
  return in;
}

void neo_ln_end_points(nest *x) {
  x->l->row = x->l->col = NULL;
  neo_ln_end_guard(x->l);
}

neo_block *neo_ln_open_steps(nest *x, neo_block *in, const neo_stage *host) {
  lowering *l = x->l;
  if (x->stages)
    return neo_ln_open_stages(x, in, host);
  if (x->kinds.on)
    neo_ln_copy_rows(x, in, host);
  return neo_lower_open(l, in, "j", x->some.from, x->some.to, x->steps.block, &x->steps.lo);
}

void neo_ln_close_steps(nest *x) {
  if (x->stages)
    neo_ln_close_stages(x);
  else
    neo_lower_close(x->l);
}

void neo_ln_set_steps(nest *x, const neo_stage *host) {
  lowering *l = x->l;
  neo_lower_facts(l, l->f, host);
  x->steps.axes = own_axes(l, 0, (uint32_t)host->axes.n);
  x->steps.total = neo_ln_points(l, host, x->steps.axes);
  neo_ln_set_ranges(x, host);
}

/* ---- products */

const neo_lx *neo_ln_takes(nest *x, const point *row, const neo_lx *step) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  const neo_lx *at = lx_add(l, x->rows.lo, row->at);
  step = lx_add(l, x->steps.lo, step);
  neo_ln_set_axes(l, s, x->rows.axes, at);
  neo_ln_set_axes(l, s, x->steps.axes, step);
  const neo_lx *exists = lx_and(l, lx_lt(l, at, x->rows.total), lx_lt(l, step, x->steps.total));
  neo_ln_begin_guard(l, exists, true);
  const neo_lx *y = lx_and(l, exists, neo_lower_expr(l, s->where));
  neo_ln_end_guard(l);
  return y;
}

/* The factors of rows at a thread's rows and steps, into shared memory. */
static void put_block(nest *x, neo_block *in, const neo_stage *s, const copied *to) {
  lowering *l = x->l;
  point p[2];
  const neo_lx *cond, *step;
  in = neo_ln_open_points(x, in, s, &x->rows, &x->steps, p, &cond);
  const neo_lx *y = neo_ln_product_of(l, &x->n.of_rows);
  y = neo_lx_op3(l->k, NEO_OP_SELECT, cond, y, zero_of(l, (neo_type)y->type));
  step = lx_mul(l, p[1].at, to->per_step);
  neo_ls_store(l->k, in, to->buf, lx_add(l, step, lx_mul(l, p[0].at, to->per_point)), y, NULL);
  neo_ln_end_points(x);
}

static void store_product(nest *x, neo_block *in, uint32_t acc) {
  lowering *l = x->l;
  const neo_lx *place[2];
  point p[2];
  in = neo_ln_open_threads(x, in);
  neo_ln_place_of(x, place);
  in = neo_ln_open_side(l, in, &x->rows, place[0], &p[0]);
  in = neo_ln_open_side(l, in, &x->columns, place[1], &p[1]);
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
      neo_lower_in_fragments(l, (uint32_t)neo_btile_fragments(&x->warp[x->n.n_sums].o[1]), at[0],
                             at[1], at);
    l->acc_value = neo_lx_reg(l->k, acc, at, 2);
    neo_lower_store_point(l, in, s, NULL);
    l->acc_value = NULL;
  }
}

bool neo_ln_safe_alone(nest *x, const neo_nested_factors *f) {
  bool safe = true;
  for (uint32_t k = 0; k < f->n; k++)
    safe = safe && neo_lower_safe_under(x->l, f->at[k], (neo_expr){0});
  return safe;
}

/* ---- the product with what inner sums make */

static void multiply_block(nest *x, neo_block *in, product p, bool tested) {
  p.test = tested ? neo_ln_takes : NULL;
  if (x->kinds.on)
    neo_ln_warp_product(x, in, p.acc, tested);
  else
    multiply_all(x, neo_ln_open_threads(x, in), &p, x->steps.block);
}

/* Steps are tested where not all rows of the block take all of them. */
static void multiply_tested(nest *x, neo_block *in, product p) {
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

/* Its operands in shared memory: the block, and columns. */
static void make_operands(nest *x, product *p, copied *block, copied *columns) {
  lowering *l = x->l;
  neo_type t = type_of(columns->s);
  const operand *o = x->warp[x->n.n_sums].o;
  copied *c[] = {block, columns};
  for (int k = 0; k < 2; k++) {
    const side *of = k ? &x->columns : &x->rows;
    bool inside = x->kinds.on && o[k].steps_inside;
    int64_t pitch = x->kinds.on ? o[k].pitch : neo_ln_pitch(of);
    c[k]->buf = x->kinds.on
                    ? o[k].buf
                    : neo_ln_shared_buffer(l, k ? "columns" : "block", t, x->steps.block * pitch);
    c[k]->per_point = inside ? pitch : 1;
    c[k]->per_step = inside ? 1 : pitch;
  }
  *p = (product){&x->rows, &x->columns, block->buf, columns->buf, 0, NULL};
}

static void product_of_block(nest *x, neo_block *in) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  product p;
  copied block = {.s = s}, columns = {s, &x->n.of_columns, &x->columns, .depth = x->steps.block};
  make_operands(x, &p, &block, &columns);
  p.acc = x->kinds.on ? neo_ln_warp_acc(x, in)
                      : neo_ln_thread_reg(x, in, "acc", type_of(s), x->rows.tile, x->columns.tile);
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

/* ---- the kernel */

static int64_t vector_of(int64_t n, neo_type t) {
  int64_t most = 16 / neo_type_bytes(t);
  return n % 4 == 0 && most >= 4 ? 4 : n % 2 == 0 && most >= 2 ? 2 : 1;
}

static side side_of(uint64_t axes, int64_t block, int64_t each, neo_type t) {
  return (side){.axes = axes,
                .block = block,
                .tile = each,
                .vector = vector_of(each, t),
                .threads = block / each};
}

/* Of warps, of which `warps` are beside each other; a thread's part of their fragments. */
static side fragments_of(uint64_t axes, int64_t block, int64_t of_warp, int64_t warps, bool down) {
  return (side){.axes = axes,
                .block = block,
                .tile = of_warp / (down ? 8 : 4),
                .vector = down ? 1 : 2,
                .threads = 4 * warps,
                .of_warp = of_warp,
                .warps = warps,
                .down = down};
}

static void make_sides(nest *x) {
  const neo_nested_params *s = &x->l->s->nested;
  neo_type t = type_of(&x->l->f->stages.at[x->n.sum[0].stage]);
  int64_t tall = s->block_m / s->tile_m, wide = x->threads / tall;
  if (!x->kinds.on) {
    x->rows = side_of(x->n.rows, s->block_m, s->tile_m, t);
    x->steps = side_of(0, s->block_k, s->block_k / wide, t);
    if (x->n.columns)
      x->columns = side_of(x->n.columns, s->block_n, s->tile_n, t);
    return;
  }
  wide /= WARP;
  x->rows = fragments_of(x->n.rows, s->block_m, s->tile_m, wide, true);
  x->steps = fragments_of(0, s->block_k, s->block_k / wide, wide, false);
  if (x->n.columns)
    x->columns = fragments_of(x->n.columns, s->block_n, s->tile_n, wide, false);
}

/* Batch, block of rows, block of columns of a unit. */
static neo_block *open_units(nest *x) {
  static const neo_stage none;
  lowering *l = x->l;
  side *sides[] = {&x->rows, &x->columns};
  const neo_lx *blocks[2], *n = neo_ln_points(l, &none, x->n.batches), *u;
  int n_sides = x->n.columns ? 2 : 1;
  for (int k = 0; k < n_sides; k++) {
    sides[k]->total = neo_ln_points(l, &none, sides[k]->axes);
    blocks[k] = neo_lower_ceil_div(l, sides[k]->total, sides[k]->block);
    n = neo_lx_op2(l->k, NEO_OP_MUL, n, blocks[k]);
  }
  neo_block *body = neo_lower_open_units(l, &l->k->body, n, &u);
  for (int k = n_sides - 1; k >= 0; k--) {
    const neo_lx *at = neo_lx_op2(l->k, NEO_OP_MOD, u, blocks[k]);
    sides[k]->lo = lx_mul(l, at, sides[k]->block);
    u = neo_lx_op2(l->k, NEO_OP_DIV, u, blocks[k]);
  }
  neo_ln_set_axes(l, &none, x->n.batches, u);
  return body;
}

void neo_lower_nested(lowering *l) {
  const neo_nested_params *s = &l->s->nested;
  nest x = {.l = l, .threads = s->threads, .stages = s->stages};
  bool found = neo_nested_of(l->m, l->f, &x.n);
  assert(found && "blocks of rows are legal for such forms alone");
  (void)found;
  neo_type t = type_of(&l->f->stages.at[x.n.sum[0].stage]);
  if (s->products)
    x.kinds = neo_nested_warps_of(l->m, l->f, &x.n);
  make_sides(&x);
  if (x.kinds.on) {
    neo_ln_make_warps(&x);
  } else {
    x.a = neo_ln_shared_buffer(l, "a", t, NEO_NESTED_STEPS * neo_ln_pitch(&x.rows));
    x.b = neo_ln_shared_buffer(l, "b", t, NEO_NESTED_STEPS * neo_ln_pitch(&x.steps));
  }
  neo_block *body = open_units(&x);
  l->depth++; /* threads */
  if (x.kinds.on)
    neo_ln_begin_warps(&x, body);
  if (x.n.columns)
    product_of_block(&x, body);
  else
    neo_ln_rows(&x, body);
}

/* The loops around a group's register tiles: outer loops, units of work, blocks.
 *
 * The outer loops are over the shared axes that are neither rows nor columns of the register
 * tile, in order, then over blocks of columns, then over blocks of rows; or blocks come first,
 * if the schedule says so. The first UNIT_AXES loops are fused into one, of which a unit takes
 * UNIT_SIZE iterations; the others are loops inside a unit. So the boundaries of units depend on
 * sizes and schedule alone. If results are sums over blocks of rows (form.h), UNIT_SIZE counts
 * these blocks. */
#include "codegen/lower/loops/loops.h"
#include "codegen/lower/keyed_scan/keyed_scan.h"
#include "codegen/lower/pairs/pairs.h"
#include "codegen/lower/scan/scan.h"
#include "codegen/lower/segment/segment.h"
#include "codegen/lower/tile/pack.h"
#include "schedule/contract.h"
#include "schedule/extent.h"
#include "schedule/loops/nontemporal.h"
#include <assert.h>

typedef neo_outer_loop outer_loop;

typedef struct {
  outer_loop at[NEO_FORM_MAX_AXES + 2];
  uint32_t n;
  const neo_lx *m_lo, *m_hi, *n_lo, *n_hi;
  int32_t m_axis, n_axis;
  needed_range needed;
  neo_expr asked
      [2]; /* conditions: results differ from the old content; results are needed; 0: unknown */
  neo_form_flags flags;
} outer_loops;

static const neo_lx *trips(lowering *l, const outer_loop *o) {
  const neo_lx *n = neo_lower_extent(l, (uint32_t)o->axis);
  return o->block ? neo_lower_ceil_div(l, n, o->block) : n;
}

/* The condition, if outer loops decide it; else 0. */
static neo_expr asked_outside(lowering *l, const outer_loops *c, neo_expr e) {
  uint64_t axes = 0;
  for (uint32_t k = 0; k < c->n; k++)
    if (!c->at[k].block)
      axes |= (uint64_t)1 << c->at[k].axis;
  return e.i && !(neo_form_axes(l->m, l->original, e) & ~axes) ? e : (neo_expr){0};
}

/* ---- Blocks of rows without work. A tensor of bools, the flags, says which rows of a shared axis
 * change, or are needed. Most rows of a large table do not, and a test of each row would cost more
 * than the rows that do. So a vector of flags is tested first:
 *
 *     for n in 0..N: if flag[n]: row(n)
 *     ->
 *     for b in 0..N step 64
 *       some = true
 *       if b + 64 <= N: some = any[l] flag[b + l]
 *       if some: for n in b..min(b + 64, N): if flag[n]: row(n) */

enum { LEAST_BLOCKS = 4 };

/* The flags (bools) that outer loops test a block at a time; load 0: there are none. */
static neo_form_flags lower_flags(lowering *l) {
  neo_form_flags flags, none = {0};
  if (l->n_fused > 1 || neo_form_row_block(l->original) ||
      !neo_form_flags_of(l->m, l->original, &flags))
    return none;
  int64_t rows = neo_axis_most(l->m, &l->original->axes.at[flags.axis]);
  return rows >= LEAST_BLOCKS * NEO_FLAGS_BLOCK ? flags : none;
}

/* Any of the lanes first, first + step, ... of a register. */
static const neo_lx *any_of(lowering *l, uint32_t reg, int64_t first, int64_t step) {
  if (step == NEO_FLAGS_BLOCK) {
    const neo_lx *index[] = {lx_int(l, 0), lx_int(l, 0), lx_int(l, first)};
    return neo_lx_reg(l->k, reg, index, 3);
  }
  return neo_lx_op2(l->k, NEO_OP_OR, any_of(l, reg, first, 2 * step),
                    any_of(l, reg, first + step, 2 * step));
}

static const neo_lx *any_flag(lowering *l, neo_block *in, const neo_form_flags *flags,
                              const neo_lx *from) {
  uint32_t reg = neo_lower_reg(l, in, "flag", NEO_BOOL_T, 1, 1, NEO_FLAGS_BLOCK);
  uint32_t lane = neo_kernel_var(l->k, "l");
  const neo_lx *zero = lx_int(l, 0), *at = neo_lx_var(l->k, lane);
  neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_VECTOR, lane, zero, lx_int(l, NEO_FLAGS_BLOCK), 1);
  neo_lower_set_axis(l, flags->axis, lx_add(l, from, at), ++l->depth);
  const neo_lx *index[] = {zero, zero, at}, *flag = neo_lower_expr(l, flags->load);
  neo_ls_set(l->k, &loop->loop.body, reg, index, 3, flag);
  l->depth--;
  neo_lower_forget(l);
  return any_of(l, reg, 0, 1);
}

/* Opens the loops over blocks of [lo, hi), and over the elements of a block that has a flag set;
 * *v: the variable. */
static neo_block *open_flagged(lowering *l, neo_block *in, const neo_form_flags *flags,
                               const neo_lx *lo, const neo_lx *hi, const neo_lx **v) {
  const neo_lx *from, *zero = lx_int(l, 0), *index[] = {zero, zero};
  in = neo_lower_open(l, in, "b", lo, hi, NEO_FLAGS_BLOCK, &from);
  const neo_lx *to = lx_add(l, from, lx_int(l, NEO_FLAGS_BLOCK));
  uint32_t some = neo_lower_reg(l, in, "some", NEO_BOOL_T, 1, 1, 1);
  neo_ls_set(l->k, in, some, index, 2, neo_lx_const(l->k, NEO_BOOL_T, (neo_value){.i = 1}));
  neo_block *whole = &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LE, to, hi))->branch.then;
  neo_ls_set(l->k, whole, some, index, 2, any_flag(l, whole, flags, from));
  in = &neo_ls_if(l->k, in, neo_lx_reg(l->k, some, index, 2))->branch.then;
  return neo_lower_open(l, in, "i", from, lx_min(l, to, hi), 1, v);
}

static void close_flagged(lowering *l) {
  neo_lower_close(l);
  neo_lower_close(l);
}

static outer_loops outer_loops_of(lowering *l) {
  const neo_loop_params *s = &l->s->loops;
  int64_t v = s->vector_axis;
  bool shared = v >= 0 && v < (int64_t)l->f->axes.n;
  outer_loops c = {.m_axis = (int32_t)s->axis_m};
  c.n_axis = (int32_t)(shared ? v : s->axis_n);
  c.n = neo_schedule_outer_loops(l->f, l->s, c.at);
  const neo_lx *zero = lx_int(l, 0);
  c.m_lo = c.n_lo = c.m_hi = c.n_hi = zero;
  if (c.m_axis >= 0)
    c.m_hi = neo_lower_extent(l, (uint32_t)c.m_axis);
  if (c.n_axis >= 0)
    c.n_hi = neo_lower_extent(l, (uint32_t)c.n_axis);
  c.needed = l->n_fused > 1 ? (needed_range){0} : neo_lower_needed(l);
  l->narrowed = c.needed.on && c.m_axis >= 0 && c.needed.axis == (uint32_t)c.m_axis;
  if (l->narrowed)
    neo_lower_narrow(l, &c.needed, &c.m_lo, &c.m_hi);
  neo_expr changes = l->n_fused > 1 ? (neo_expr){0} : neo_form_changes_where(l->m, l->original);
  c.asked[0] = asked_outside(l, &c, changes);
  c.asked[1] = asked_outside(l, &c, c.needed.where);
  if (c.asked[0].i || c.asked[1].i)
    c.flags = lower_flags(l);
  l->leaves_out = c.needed.on || c.asked[0].i || c.asked[1].i;
  return c;
}

/* A number that divides the extent e. */
static int64_t multiple_of(const neo_lx *e) {
  int64_t n;
  if (neo_lx_is_int(e, &n))
    return n;
  if (e->kind != NEO_LX_OP || e->attr != NEO_OP_MUL)
    return 1;
  int64_t a = multiple_of(e->arg[0]), b = multiple_of(e->arg[1]);
  return __builtin_mul_overflow(a, b, &n) ? 1 : n;
}

/* Sets the loop's axis or block to iteration `at`. */
static void enter(lowering *l, outer_loops *c, const outer_loop *o, const neo_lx *at) {
  if (!o->block) {
    neo_lower_set_axis(l, (uint32_t)o->axis, at, l->depth);
    return;
  }
  const neo_lx *lo = lx_mul(l, at, o->block), *n = neo_lower_extent(l, (uint32_t)o->axis);
  const neo_lx *end = lx_add(l, lo, lx_int(l, o->block));
  bool even = multiple_of(n) % o->block == 0;
  const neo_lx *hi = even ? end : lx_min(l, end, n);
  if (o->axis == c->m_axis) {
    c->m_lo = lo;
    c->m_hi = hi;
    if (l->narrowed)
      neo_lower_narrow(l, &c->needed, &c->m_lo, &c->m_hi);
  } else {
    c->n_lo = lo;
    c->n_hi = hi;
  }
}

/* ---- Blocks of the reduction, and packing of operands around them. */

/* Scratch begins at the least value of each own axis; at the block's start of the first one. */
static void set_origins(lowering *l, const neo_stage *s) {
  for (uint32_t k = 0; k < s->axes.n; k++) {
    int64_t lo = 0, hi = 0;
    neo_axis_range(l->m, l->original, s, k, &lo, &hi);
    l->k_origin[k] = k == 0 && l->block.on ? l->block.lo : lx_int(l, lo);
  }
  l->k_origin_depth = l->depth;
}

static const neo_stage *summing_stage(lowering *l, const stage_bounds **b) {
  neo_contraction c;
  bool wanted = l->n_packs || l->s->loops.block_k;
  if (!wanted || !neo_contraction_of(l->m, l->original, &c))
    return NULL;
  *b = &l->bounds[c.stage];
  return &l->original->stages.at[c.stage];
}

/* Packs the operands of a level, for rows [range[0], range[1]) and columns [range[2], range[3]). */
static void pack_level(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  const stage_bounds *b = NULL;
  const neo_stage *s = summing_stage(l, &b);
  if (!s)
    return;
  set_origins(l, s);
  neo_lower_facts(l, l->original, s);
  for (uint32_t k = 0; k < l->n_packs; k++)
    if (l->packs[k].level == level && l->matrix.on)
      neo_lower_matrix_copy(l, in, &l->packs[k], range);
    else if (l->packs[k].level == level)
      neo_lower_copy(l, in, &l->packs[k], s, b, range);
  neo_lower_facts(l, l->f, NULL);
}

/* Opens the loop over blocks of the reduction. Until close_steps, code is for one block. */
static neo_block *open_steps(lowering *l, neo_block *in) {
  const neo_lx *v;
  const stage_bounds *b = NULL;
  int64_t size = l->s->loops.block_k, from, to;
  summing_stage(l, &b);
  /* at least one block, so that an empty sum is stored too */
  const neo_lx *lo = neo_lower_expr(l, b->lo[0]), *hi = neo_lower_expr(l, b->hi[0]);
  const neo_lx *end = lx_max(l, hi, lx_add(l, lo, lx_int(l, 1)));
  neo_block *body = neo_lower_open(l, in, "kb", lo, end, size, &v);
  const neo_lx *next = lx_add(l, v, lx_int(l, size));
  bool known = neo_lx_is_int(lo, &from) && neo_lx_is_int(hi, &to);
  bool even = known && from < to && (to - from) % size == 0;
  l->block.on = true;
  l->block.lo = v;
  l->block.hi = even ? next : lx_min(l, next, hi);
  l->block.is_first = neo_lx_op2(l->k, NEO_OP_EQ, v, lo);
  l->block.is_last = neo_lx_op2(l->k, NEO_OP_LE, end, next);
  return body;
}

static void close_steps(lowering *l) {
  l->block.on = false;
  neo_lower_close(l);
}

static void one_block(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  l->block.m_lo = range[0];
  l->block.n_lo = range[2];
  pack_level(l, in, level, range);
  neo_lower_block(l, in, range);
}

/* For each block of the reduction: packs the innermost level's operands, then lowers the tiles. */
static void lower_blocks(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  const stage_bounds *b = NULL;
  if (l->block.on || !summing_stage(l, &b) || !l->s->loops.block_k) {
    one_block(l, in, level, range);
    return;
  }
  one_block(l, open_steps(l, in), level, range);
  close_steps(l);
}

static void make_packs(lowering *l, neo_block *in, outer_loops *c, int32_t level) {
  pack_level(l, in, level, (const neo_lx *[]){c->m_lo, c->m_hi, c->n_lo, c->n_hi});
}

/* Counts the current block among those that have partial sums at the same time: each has its
 * own. */
static void count_block(lowering *l, const outer_loop *o, const neo_lx *v) {
  k_block *b = &l->block;
  int64_t most = neo_outer_loop_most(l->m, l->original, l->s, o);
  b->at = b->at ? lx_add(l, lx_mul(l, b->at, most), v) : v;
  b->depth = l->depth;
}

/* The block in which the axes of outer loops are at elements that are needed. */
static neo_block *where_needed(lowering *l, neo_block *in, const outer_loops *c) {
  const neo_lx *lo = lx_int(l, 0), *hi = lo;
  for (uint32_t k = 0; k < c->n && c->needed.on; k++) {
    if (c->at[k].block || (uint32_t)c->at[k].axis != c->needed.axis)
      continue;
    const neo_lx *at = neo_lower_axis(l, c->needed.axis);
    hi = lx_add(l, at, lx_int(l, 1));
    lo = at;
    neo_lower_narrow(l, &c->needed, &lo, &hi);
    return &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, lo, hi))->branch.then;
  }
  return in;
}

/* Is it the loop of which flags rule out blocks? */
static bool tests_flags(const lowering *l, const outer_loops *c, const outer_loop *o) {
  return c->flags.load.i && !l->block.on && !o->block && (uint32_t)o->axis == c->flags.axis;
}

/* Opens the iterations [lo, hi) of a leading loop. */
static neo_block *open_loop(lowering *l, neo_block *in, const outer_loops *c, const outer_loop *o,
                            const neo_lx *lo, const neo_lx *hi, const neo_lx **v) {
  return tests_flags(l, c, o) ? open_flagged(l, in, &c->flags, lo, hi, v)
                              : neo_lower_open(l, in, "i", lo, hi, 1, v);
}

static void close_loop(lowering *l, const outer_loops *c, const outer_loop *o) {
  if (tests_flags(l, c, o))
    close_flagged(l);
  else
    neo_lower_close(l);
}

/* The code inside of all leading loops, by strategy. */
#define OF_TILES(name) lower_blocks
#define OF_PAIRS(name) lower_blocks
#define OF_PASS(name) neo_lower_##name
#define OF_THREADS(name) NULL
static neo_lower_inside *const inside[] = {
#define X(id, name, family, body, keyed, prefetches, meaning) OF_##body(name),
#include "schedule/strategy.def"
#undef X
};

static void inner_loops(lowering *l, neo_block *in, outer_loops *c, uint32_t k) {
  k_block around = l->block;
  if (neo_schedule_steps_first(l->s) && !around.on) {
    inner_loops(l, open_steps(l, in), c, k);
    close_steps(l);
    return;
  }
  if (k == c->n) {
    in = where_needed(l, in, c);
    for (int i = 0; i < 2; i++)
      if (c->asked[i].i)
        in = &neo_ls_if(l->k, in, neo_lower_expr(l, c->asked[i]))->branch.then;
    inside[l->s->strategy](l, in, (int32_t)k,
                           (const neo_lx *[]){c->m_lo, c->m_hi, c->n_lo, c->n_hi});
    return;
  }
  const neo_lx *v;
  make_packs(l, in, c, (int32_t)k);
  const neo_lx *end = trips(l, &c->at[k]);
  neo_block *body = open_loop(l, in, c, &c->at[k], lx_int(l, 0), end, &v);
  enter(l, c, &c->at[k], v);
  if (around.on)
    count_block(l, &c->at[k], v);
  inner_loops(l, body, c, k + 1);
  if (around.on)
    l->block = around;
  close_loop(l, c, &c->at[k]);
}

/* Sets the first n loops, fused into one, to iteration `at`. */
static void decode(lowering *l, outer_loops *c, uint32_t n, const neo_lx *at) {
  for (uint32_t k = n; k-- > 0;) {
    const neo_lx *trip = trips(l, &c->at[k]);
    const neo_lx *i = k ? neo_lx_op2(l->k, NEO_OP_MOD, at, trip) : at;
    enter(l, c, &c->at[k], i);
    if (k)
      at = neo_lx_op2(l->k, NEO_OP_DIV, at, trip);
  }
}

enum { BEFORE_UNIT = -1 }; /* before the loop over a unit's iterations */

static bool matters(const outer_loops *c, const outer_loop *o, const pack *p) {
  if (o->block)
    return (o->axis == c->m_axis) == (p->side == NEO_SIDE_ROWS);
  return p->axes >> o->axis & 1;
}

static void place_packs(lowering *l, const outer_loops *c) {
  int32_t units = (int32_t)l->s->loops.unit_axes;
  bool blocks = l->s->loops.block_k, first = neo_schedule_steps_first(l->s);
  bool sequence = units && l->s->loops.unit_size > 1 && !blocks;
  for (uint32_t k = 0; k < l->n_packs; k++) {
    pack *p = &l->packs[k];
    p->level = (int32_t)c->n;
    if (blocks && !first)
      continue; /* the copy is of one block of the reduction */
    while (p->level > 0 && !matters(c, &c->at[p->level - 1], p)) {
      const neo_lx *n = trips(l, &c->at[--p->level]);
      p->around = p->around ? neo_lx_op2(l->k, NEO_OP_MUL, p->around, n) : n;
    }
    if (p->level < units)
      p->level = p->level == 0 && sequence ? BEFORE_UNIT : units;
  }
}

static bool is_read(const lowering *l, neo_tensor t) {
  for (size_t k = 0; k < l->g->reads.n; k++)
    if (l->g->reads.at[k].i == t.i)
      return true;
  return false;
}

/* Marks the results whose stores are nontemporal. */
static void choose_nontemporal(lowering *l) {
  for (size_t k = 0; k < l->g->roots.n; k++) {
    neo_tensor t = l->g->roots.at[k];
    uint64_t buf = 0;
    neo_map_get(&l->buf_of, t.i, &buf);
    if (!is_read(l, t))
      l->k->bufs.at[buf].nontemporal = neo_nontemporal_fits(l->m, l->g, l->s, t);
  }
}

static void units(lowering *l) {
  outer_loops c = outer_loops_of(l);
  uint32_t n = (uint32_t)l->s->loops.unit_axes;
  int64_t size = l->s->loops.unit_size, run = neo_form_row_block(l->f);
  if (run) /* one unit has all of a block of rows */
    size *= run;
  assert(n <= c.n && size >= 1);
  place_packs(l, &c);
  if (n == 0) {
    inner_loops(l, &l->k->body, &c, 0);
    return;
  }
  const neo_lx *total = lx_int(l, 1), *v;
  for (uint32_t k = 0; k < n; k++)
    total = neo_lx_op2(l->k, NEO_OP_MUL, total, trips(l, &c.at[k]));
  const neo_lx *n_units = neo_lower_ceil_div(l, total, size);
  neo_block *body = neo_lower_open_units(l, &l->k->body, n_units, &v);
  make_packs(l, body, &c, BEFORE_UNIT);
  if (size > 1) {
    const neo_lx *from = lx_mul(l, v, size);
    const neo_lx *to = lx_min(l, lx_add(l, from, lx_int(l, size)), total);
    body = n == 1 ? open_loop(l, body, &c, &c.at[0], from, to, &v)
                  : neo_lower_open(l, body, "i", from, to, 1, &v);
  }
  decode(l, &c, n, v);
  inner_loops(l, body, &c, n);
}

/* Fuses axes into the last of them; the others get one iteration. */
static void fuse_axes(lowering *l) {
  const neo_loop_params *s = &l->s->loops;
  l->n_fused = (uint32_t)s->fused;
  l->fused_last = l->n_fused > 1 ? (uint32_t)s->vector_axis : 0;
  if (l->n_fused > 1)
    l->f = neo_form_fused(l->m, l->f, l->fused_last, l->n_fused);
  for (uint32_t k = 1; k < l->n_fused; k++)
    neo_lower_set_axis(l, l->fused_last - k, lx_int(l, 0), 0);
}

static void plan(lowering *l) {
  const neo_loop_params *p = &l->s->loops;
  bool shared = p->vector_axis < (int64_t)l->original->axes.n;
  l->lanes = (lane_axes){p->vector_axis, p->axis_m, p->axis_n, shared ? p->partial : p->unroll_k,
                         p->tile_m < p->tile_n};
  if (p->nontemporal)
    choose_nontemporal(l);
  fuse_axes(l);
  neo_lower_bounds(l);
  if (neo_strategy_body_of(l->s->strategy) == NEO_BODY_PAIRS)
    neo_lower_matrix_plan(l);
  else
    neo_lower_plan_packs(l);
  if (p->stash)
    neo_lower_plan_row_stash(l, 0);
  neo_lower_plan_tile_prefetch(l);
  neo_lower_plan_row_prefetch(l);
  neo_lower_facts(l, l->f, NULL);
}

void neo_lower_loops(lowering *l) {
  plan(l);
  units(l);
}

/* A group and its schedule to a kernel: buffers, units of work, blocks.
 *
 * The leading loops are the shared axes that are neither rows nor columns of the register tile, in
 * order, then blocks of columns, then blocks of rows; or blocks come first, where the schedule says
 * so. The first UNIT_AXES of them are run as one sequence of which a unit takes UNIT_SIZE; the
 * others are loops inside a unit. So the boundaries of units depend on sizes and schedule alone.
 * Where results are sums of runs of points (form.h), UNIT_SIZE counts runs. */
#include "codegen/lower/scope.h"
#include "schedule/loops/collapse.h"
#include "schedule/loops/nontemporal.h"
#include <assert.h>

typedef neo_outer_loop outer_loop;

typedef struct {
  outer_loop at[NEO_FORM_MAX_AXES + 2];
  uint32_t n;
  const neo_lx *m_lo, *m_hi, *n_lo, *n_hi;
  int32_t m_axis, n_axis;
} nest;

/* ---- buffers */

static bool may_share(const lowering *l, neo_tensor t, bool root) {
  const neo_group *g = l->g;
  if (root) {
    neo_tensor old = neo_tensor_at(l->m, t)->updates;
    for (size_t k = 0; k < g->reads.n; k++)
      if (old.i && g->reads.at[k].i == old.i)
        return true;
    return false;
  }
  for (size_t k = 0; k < g->roots.n; k++)
    if (neo_tensor_at(l->m, g->roots.at[k])->updates.i == t.i)
      return true;
  return false;
}

static void add_buffer(lowering *l, neo_tensor t, neo_buf_use use) {
  const neo_tensor_rec *r = neo_tensor_at(l->m, t);
  uint64_t old;
  if (neo_map_get(&l->buf_of, t.i, &old)) { /* a root that is read as well */
    l->k->bufs.at[old].use = NEO_BUF_READ | NEO_BUF_WRITE;
    return;
  }
  neo_kbuf b = {.name = neo_name_text(l->m->names, r->name), .type = r->type, .use = (uint8_t)use};
  b.tensor = t;
  b.shift = neo_form_base(l->f, t);
  b.no_alias = !may_share(l, t, use == NEO_BUF_WRITE);
  b.nontemporal =
      use == NEO_BUF_WRITE && l->loops.nontemporal && neo_stream_fits(l->m, l->g, l->s, t);
  b.align = neo_type_bytes((neo_type)r->type);
  neo_map_set(&l->buf_of, t.i, neo_kernel_buf(l->k, b));
}

static void add_buffers(lowering *l) {
  for (size_t k = 0; k < l->g->reads.n; k++)
    add_buffer(l, l->g->reads.at[k], NEO_BUF_READ);
  for (size_t k = 0; k < l->g->roots.n; k++)
    add_buffer(l, l->g->roots.at[k], NEO_BUF_WRITE);
  for (size_t k = 0; k < l->f->stages.n; k++)
    for (size_t i = 0; i < l->f->stages.at[k].outs.n; i++) {
      uint64_t buf = 0;
      if (l->f->stages.at[k].outs.at[i].row_block &&
          neo_map_get(&l->buf_of, l->f->stages.at[k].outs.at[i].tensor.i, &buf))
        l->k->bufs.at[buf].use = NEO_BUF_READ | NEO_BUF_WRITE;
    }
}

static void name_sizes(lowering *l) {
  for (uint32_t k = 1; k < l->m->sizes.n; k++)
    neo_kernel_size(l->k, k - 1, neo_name_text(l->m->names, l->m->sizes.at[k].name));
}

/* ---- loops */

const neo_lx *neo_lower_extent(lowering *l, uint32_t axis) {
  return lx_max(l, neo_lower_expr(l, l->f->axes.at[axis].hi), lx_int(l, 0));
}

const neo_lx *neo_lower_ceil_div(lowering *l, const neo_lx *x, int64_t n) {
  return n == 1 ? x : lx_div(l, lx_add(l, x, lx_int(l, n - 1)), n);
}

static const neo_lx *trips(lowering *l, const outer_loop *o) {
  const neo_lx *n = neo_lower_extent(l, (uint32_t)o->axis);
  return o->block ? neo_lower_ceil_div(l, n, o->block) : n;
}

static nest nest_of(lowering *l) {
  const neo_loop_params *s = &l->loops;
  int64_t v = s->vector_axis;
  bool shared = v >= 0 && v < (int64_t)l->f->axes.n;
  nest c = {.m_axis = (int32_t)s->axis_m};
  c.n_axis = (int32_t)(shared ? v : s->axis_n);
  c.n = neo_schedule_outer_loops(l->f, l->s, c.at);
  const neo_lx *zero = lx_int(l, 0);
  c.m_lo = c.n_lo = c.m_hi = c.n_hi = zero;
  if (c.m_axis >= 0)
    c.m_hi = neo_lower_extent(l, (uint32_t)c.m_axis);
  if (c.n_axis >= 0)
    c.n_hi = neo_lower_extent(l, (uint32_t)c.n_axis);
  return c;
}

/* A number that divides e, which is an extent. */
static int64_t multiple_of(const neo_lx *e) {
  int64_t n;
  if (neo_lx_is_int(e, &n))
    return n;
  if (e->kind != NEO_LX_OP || e->attr != NEO_OP_MUL)
    return 1;
  int64_t a = multiple_of(e->arg[0]), b = multiple_of(e->arg[1]);
  return __builtin_mul_overflow(a, b, &n) ? 1 : n;
}

/* The loop is at iteration `at`. */
static void enter(lowering *l, nest *c, const outer_loop *o, const neo_lx *at) {
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
  } else {
    c->n_lo = lo;
    c->n_hi = hi;
  }
}

static void make_packs(lowering *l, neo_block *in, nest *c, int32_t level) {
  neo_lower_make_packs(l, in, level, (const neo_lx *[]){c->m_lo, c->m_hi, c->n_lo, c->n_hi});
}

/* Sums of a block of rows and columns lie apart from those of others that have some meanwhile. */
static void count_block(lowering *l, const outer_loop *o, const neo_lx *v) {
  k_block *b = &l->block;
  int64_t most = neo_outer_loop_most(l->m, l->original, l->s, o);
  b->at = b->at ? lx_add(l, lx_mul(l, b->at, most), v) : v;
  b->depth = l->depth;
}

static void inner_loops(lowering *l, neo_block *in, nest *c, uint32_t k) {
  k_block around = l->block;
  if (neo_schedule_steps_first(l->s) && !around.on) {
    inner_loops(l, neo_lower_open_steps(l, in), c, k);
    neo_lower_close_steps(l);
    return;
  }
  if (k == c->n) {
    if (l->s->strategy == NEO_STRATEGY_SEGMENT)
      neo_lower_segment(l, in, c->m_lo, c->m_hi, c->n_lo, c->n_hi);
    else if (l->s->strategy == NEO_STRATEGY_SCAN)
      neo_lower_running(l, in, c->n_lo, c->n_hi);
    else
      neo_lower_blocks(l, in, (int32_t)k, (const neo_lx *[]){c->m_lo, c->m_hi, c->n_lo, c->n_hi});
    return;
  }
  const neo_lx *v;
  make_packs(l, in, c, (int32_t)k);
  neo_block *body = neo_lower_open(l, in, "i", lx_int(l, 0), trips(l, &c->at[k]), 1, &v);
  enter(l, c, &c->at[k], v);
  if (around.on)
    count_block(l, &c->at[k], v);
  inner_loops(l, body, c, k + 1);
  if (around.on)
    l->block = around;
  neo_lower_close(l);
}

/* Iteration `at` of the first n loops, run as one. */
static void decode(lowering *l, nest *c, uint32_t n, const neo_lx *at) {
  for (uint32_t k = n; k-- > 0;) {
    const neo_lx *trip = trips(l, &c->at[k]);
    const neo_lx *i = k ? neo_lx_op2(l->k, NEO_OP_MOD, at, trip) : at;
    enter(l, c, &c->at[k], i);
    if (k)
      at = neo_lx_op2(l->k, NEO_OP_DIV, at, trip);
  }
}

/* ---- where operands are packed: as far out in a unit as they are the same */

enum { BEFORE_UNIT = -1 }; /* before the loop over what a unit takes of the sequence */

static bool matters(const nest *c, const outer_loop *o, const pack *p) {
  if (o->block)
    return (o->axis == c->m_axis) == (p->side == NEO_SIDE_ROWS);
  return p->axes >> o->axis & 1;
}

static void place_packs(lowering *l, const nest *c) {
  int32_t units = (int32_t)l->loops.unit_axes;
  bool blocks = l->loops.block_k, first = neo_schedule_steps_first(l->s);
  bool sequence = units && l->loops.unit_size > 1 && !blocks;
  for (uint32_t k = 0; k < l->n_packs; k++) {
    pack *p = &l->packs[k];
    p->level = (int32_t)c->n;
    if (blocks && !first)
      continue; /* it is of one block of the reduction */
    while (p->level > 0 && !matters(c, &c->at[p->level - 1], p)) {
      const neo_lx *n = trips(l, &c->at[--p->level]);
      p->around = p->around ? neo_lx_op2(l->k, NEO_OP_MUL, p->around, n) : n;
    }
    if (p->level < units)
      p->level = p->level == 0 && sequence ? BEFORE_UNIT : units;
  }
}

neo_block *neo_lower_open_units(lowering *l, neo_block *in, const neo_lx *n, const neo_lx **unit) {
  uint32_t u = neo_kernel_var(l->k, "u");
  neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_UNIT, u, lx_int(l, 0), n, 1);
  l->depth++;
  *unit = neo_lx_var(l->k, u);
  return &loop->loop.body;
}

static void units(lowering *l) {
  nest c = nest_of(l);
  uint32_t n = (uint32_t)l->loops.unit_axes;
  int64_t size = l->loops.unit_size, run = neo_form_row_block(l->f);
  if (run) /* a run of points is one unit's */
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
    body = neo_lower_open(l, body, "i", from, to, 1, &v);
  }
  decode(l, &c, n, v);
  inner_loops(l, body, &c, n);
}

/* Merged axes become one, the last of them; of the others there is one iteration. */
static void walk(lowering *l) {
  const neo_loop_params *s = &l->loops;
  l->original = l->f;
  l->walk_n = (uint32_t)s->fused;
  l->walk_last = l->walk_n > 1 ? (uint32_t)s->vector_axis : 0;
  if (l->walk_n > 1)
    l->f = neo_form_walked(l->m, l->f, l->walk_last, l->walk_n);
  for (uint32_t k = 1; k < l->walk_n; k++)
    neo_lower_set_axis(l, l->walk_last - k, lx_int(l, 0), 0);
}

/* What code that all strategies share asks of lanes and steps. */
static neo_loop_params loops_of(const neo_schedule *s) {
  neo_loop_params p = s->loops;
  if (s->strategy == NEO_STRATEGY_GPU_ROWS) {
    p.vector_axis = s->rows.vector_axis;
    p.vector_width = s->rows.vector_width;
    p.unroll_k = s->rows.unroll_k;
    p.stash = s->rows.stash;
  }
  return p;
}

static void lower_by_strategy(lowering *l) {
  switch (l->s->strategy) {
  case NEO_STRATEGY_GPU_ROWS:
    neo_lower_points(l);
    break;
  case NEO_STRATEGY_GPU_TILE:
    neo_lower_block_tile(l);
    break;
  case NEO_STRATEGY_GPU_NESTED:
    neo_lower_nested(l);
    break;
  default:
    units(l);
  }
}

neo_status neo_lower(neo_module *m, const neo_group *g, const neo_schedule *s, neo_arena *a,
                     neo_kernel **out, neo_str *why) {
  neo_beside x = neo_beside_of(m, neo_group_form(m, g), s);
  lowering l = {.m = m, .a = a, .g = g, .s = &x.s, .why = why, .f = x.f};
  l.loops = loops_of(&x.s);
  l.k = neo_kernel_new(a, g->name);
  l.p = neo_prover_new(m);
  l.k->span = g->members.n ? neo_def_at(m, g->members.at[0].def)->span : 0;
  neo_prover_at(l.p, l.k->span);
  neo_map_init(&l.buf_of, a);
  neo_map_init(&l.packed, a);
  name_sizes(&l);
  add_buffers(&l);
  walk(&l);
  neo_lower_bounds(&l);
  neo_lower_plan_packs(&l);
  neo_lower_plan_keeps(&l);
  neo_lower_plan_fetches(&l);
  neo_lower_plan_ahead(&l);
  neo_lower_facts(&l, l.f, NULL);
  lower_by_strategy(&l);
  neo_prover_free(l.p);
  *out = l.k;
  return l.failed ? NEO_INTERNAL : NEO_OK;
}

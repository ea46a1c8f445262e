/* How threads copy an operand of a nest into shared memory (lower/gpu_nested/nested.c): first into registers,
 * then there, 16 bytes at a time where it lies contiguous and warps read it. */
#include "codegen/lower/gpu_nested/nested.h"
#include "schedule/vector_access.h"

typedef struct {
  nest *x;
  const copied *o;
  bool along, bounded; /* neighbouring threads copy neighbouring steps; each read is tested */
  int64_t wide, fast;  /* elements that are copied as one, of so many along the faster way */
} way;

static const neo_lx *zero_of(lowering *l, neo_type t) {
  return neo_lx_const(l->k, t, (neo_value){.f = 0});
}

static const neo_lx *mod(lowering *l, const neo_lx *a, int64_t n) {
  return neo_lx_op2(l->k, NEO_OP_MOD, a, lx_int(l, n));
}

/* May n elements be copied as one? */
static bool copies_wide(const way *c, int64_t n) {
  lowering *l = c->x->l;
  const copied *o = c->o;
  uint64_t axes = c->along ? o->steps : o->points->axes;
  uint32_t axis = 63 - (uint32_t)__builtin_clzll(axes), shared = (uint32_t)l->f->axes.n;
  neo_expr hi = axis < shared ? l->f->axes.at[axis].hi : o->s->axes.at[axis - shared].hi;
  bool some = false, good = !c->bounded && c->fast % n == 0 && neo_wide_multiple(l->m, hi, n);
  for (uint32_t k = 0; good && k < o->factors->n; k++)
    good = neo_wide_reads(l->m, l->f, o->factors->at[k], axis, n, &some);
  return good && some;
}

static int64_t widest(const way *c) {
  int64_t bytes = neo_type_bytes((neo_type)c->x->l->k->bufs.at[c->o->buf].type);
  int64_t most = NEO_WIDE_BYTES / bytes, least = bytes < 4 ? most / 2 : most;
  for (int64_t n = most; c->x->kinds.on && n >= least && n > 1; n /= 2)
    if (copies_wide(c, n))
      return n;
  return 1;
}

/* Point and step of the thread's copy i; returns whether there is one, null: always. */
static const neo_lx *copy_at(const way *c, const neo_lx *i, const neo_lx *at[2]) {
  lowering *l = c->x->l;
  int64_t n = c->o->points->block * c->o->depth / c->wide, fast = c->fast / c->wide;
  const neo_lx *e = lx_add(l, lx_mul(l, i, c->x->threads), c->x->thread);
  at[c->along] = lx_mul(l, mod(l, e, fast), c->wide);
  at[!c->along] = lx_div(l, e, fast);
  return n % c->x->threads ? lx_lt(l, e, lx_int(l, n)) : NULL;
}

static neo_block *open_lanes(const way *c, neo_block *in, neo_loop_kind kind, const neo_lx **lane) {
  *lane = NULL;
  return c->wide > 1 ? open_loop(c->x->l, in, kind, "l", c->wide, lane) : in;
}

/* A load that is zero where the condition does not hold, or what rounding makes of it. */
static bool is_guarded(const neo_lx *y, const neo_lx *cond) {
  while (y->kind == NEO_LX_OP && (y->attr == NEO_OP_CAST || y->attr == NEO_OP_TF32))
    y = y->arg[0];
  return y->kind == NEO_LX_LOADIF && y->arg[1] == cond;
}

/* Sets axes at a point and a step, and the guard under which these and the thread's copy exist,
 * until end_guard; returns it. */
static const neo_lx *enter(const way *c, const neo_lx *const *at, const neo_lx *lane,
                           const neo_lx *exists) {
  lowering *l = c->x->l;
  const copied *o = c->o;
  const neo_lx *which = lx_add(l, o->points->lo, at[0]), *step = lx_add(l, o->from, at[1]);
  exists = lx_and(l, exists, lx_lt(l, which, o->points->total));
  exists = lx_and(l, exists, lx_lt(l, step, o->total));
  neo_ln_set_lanes(l, o->s, o->points->axes, which, c->along ? NULL : lane);
  neo_ln_set_lanes(l, o->s, o->steps, step, c->along ? lane : NULL);
  neo_ln_begin_guard(l, exists, c->bounded);
  return exists;
}

static const neo_lx *place_in(const way *c, const neo_lx *const *at) {
  lowering *l = c->x->l;
  const copied *o = c->o;
  const neo_lx *to = lx_add(l, lx_mul(l, at[1], o->per_step), lx_mul(l, at[0], o->per_point));
  return o->start ? lx_add(l, o->start, to) : to;
}

static void get(const way *c, neo_block *in, uint32_t next, const neo_lx *i) {
  lowering *l = c->x->l;
  const neo_lx *at[2], *lane;
  in = open_lanes(c, in, NEO_LOOP_VECTOR, &lane);
  const neo_lx *exists = copy_at(c, i, at);
  exists = enter(c, at, lane, exists);
  const neo_lx *y = neo_ln_product_of(l, c->o->factors);
  if (!is_guarded(y, exists))
    y = neo_lx_op3(l->k, NEO_OP_SELECT, exists, y, zero_of(l, (neo_type)y->type));
  neo_ls_set(l->k, in, next, (const neo_lx *[]){i, lane}, lane ? 2 : 1, y);
  neo_ln_end_guard(l);
}

static void put(const way *c, neo_block *in, uint32_t next, const neo_lx *i) {
  lowering *l = c->x->l;
  const copied *o = c->o;
  const neo_lx *at[2], *lane;
  int64_t apart = c->along ? o->per_step : o->per_point;
  in = open_lanes(c, in, apart == 1 ? NEO_LOOP_VECTOR : NEO_LOOP_UNROLL, &lane);
  const neo_lx *exists = copy_at(c, i, at);
  const neo_lx *to = place_in(c, at);
  if (lane)
    to = lx_add(l, to, lx_mul(l, lane, apart));
  neo_ls_store(l->k, in, o->buf, to,
               neo_lx_reg(l->k, next, (const neo_lx *[]){i, lane}, lane ? 2 : 1), exists);
}

static way way_of(nest *x, const copied *o) {
  way c = {.x = x, .o = o, .along = neo_ln_along_steps(x, o), .wide = 1};
  neo_lower_facts(x->l, x->l->f, o->s);
  c.bounded = !neo_ln_safe_alone(x, o->factors);
  c.fast = c.along ? o->depth : o->points->block;
  c.wide = widest(&c);
  return c;
}

static int64_t copies_of(const way *c) {
  return (c->o->points->block * c->o->depth / c->wide + c->x->threads - 1) / c->x->threads;
}

uint32_t neo_ln_next(nest *x, neo_block *in, const copied *o, bool several) {
  lowering *l = x->l;
  way c = way_of(x, o);
  neo_reg r = {.name = "next", .type = l->k->bufs.at[o->buf].type, .rank = c.wide > 1 ? 2 : 1};
  r.threads = several ? (uint32_t)x->threads : 0;
  r.extent[0] = copies_of(&c);
  r.extent[1] = c.wide;
  uint32_t next = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, next);
  return next;
}

void neo_ln_get(nest *x, neo_block *in, const copied *o, uint32_t next) {
  const neo_lx *i;
  way c = way_of(x, o);
  neo_block *each = open_loop(x->l, in, NEO_LOOP_UNROLL, "c", copies_of(&c), &i);
  get(&c, each, next, i);
}

void neo_ln_put(nest *x, neo_block *in, const copied *o, uint32_t next) {
  const neo_lx *i;
  way c = way_of(x, o);
  neo_block *each = open_loop(x->l, in, NEO_LOOP_UNROLL, "c", copies_of(&c), &i);
  put(&c, each, next, i);
}

void neo_ln_copy(nest *x, neo_block *in, const copied *o) {
  uint32_t next = neo_ln_next(x, in, o, false);
  neo_ln_get(x, in, o, next);
  neo_ln_put(x, in, o, next);
}

/* ---- asynchronous copies */

bool neo_ln_plan_source(nest *x, const copied *o, neo_warps kind, operand *out) {
  enum { LEAST_BYTES = 4 };
  lowering *l = x->l;
  bool rounded = false;
  if (o->factors->n != 1)
    return false;
  way c = way_of(x, o);
  int64_t bytes = neo_type_bytes((neo_type)l->k->bufs.at[o->buf].type);
  neo_expr from =
      neo_stages_plain(l->m, o->factors->at[0], kind == NEO_WARPS_TF32 ? &rounded : NULL);
  if (!from.i || c.wide * bytes < LEAST_BYTES || (c.along ? o->per_step : o->per_point) != 1)
    return false;
  uint32_t buf = neo_btile_source_buffer(l, from);
  if (l->k->bufs.at[buf].use != NEO_BUF_READ ||
      l->k->bufs.at[buf].type != l->k->bufs.at[o->buf].type)
    return false;
  out->from = from;
  out->from_buf = buf;
  out->rounded = rounded;
  return true;
}

void neo_ln_start_copies(nest *x, neo_block *in, const copied *o, const operand *from) {
  lowering *l = x->l;
  const neo_lx *i, *at[2];
  way c = way_of(x, o);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "c", copies_of(&c), &i);
  const neo_lx *mine = copy_at(&c, i, at);
  if (mine)
    in = &neo_ls_if(l->k, in, mine)->branch.then;
  const neo_lx *to = place_in(&c, at), *exists = enter(&c, at, NULL, NULL);
  const neo_lx *place = neo_btile_source_at(l, neo_lower_expr(l, from->from), &exists);
  neo_ls_copy(l->k, in, c.wide, o->buf, to, from->from_buf, place, exists);
  neo_ln_end_guard(l);
}

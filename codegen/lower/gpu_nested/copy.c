/* Copies of an operand into shared memory by threads (lower/gpu_nested/nested.h), through registers
 * or asynchronous. A copy has 16 bytes if the operand is contiguous and warps read it. */
#include "codegen/lower/gpu_nested/nested.h"
#include "schedule/vector_access.h"

typedef struct {
  nested_kernel *x;
  const copied *o;
  bool along, bounded; /* neighbouring threads copy neighbouring steps; each load is tested */
  int64_t width, fast; /* elements of a copy; extent along the fastest axis */
} way;

static const neo_lx *mod(lowering *l, const neo_lx *a, int64_t n) {
  return neo_lx_op2(l->k, NEO_OP_MOD, a, lx_int(l, n));
}

/* May one copy have n elements? */
static bool may_vectorize(const way *c, int64_t n) {
  lowering *l = c->x->l;
  const copied *o = c->o;
  uint64_t axes = c->along ? o->steps : o->points->axes;
  uint32_t axis = 63 - (uint32_t)__builtin_clzll(axes), shared = (uint32_t)l->f->axes.n;
  neo_expr hi = axis < shared ? l->f->axes.at[axis].hi : o->s->axes.at[axis - shared].hi;
  bool some = false, good = !c->bounded && c->fast % n == 0 && neo_vector_multiple(l->m, hi, n);
  for (uint32_t k = 0; good && k < o->factors->n; k++)
    good = neo_vector_reads(l->m, l->f, o->factors->at[k], axis, n, &some);
  return good && some;
}

static int64_t widest(const way *c) {
  neo_type type = (neo_type)c->x->l->k->bufs.at[c->o->buf].type;
  for (int64_t n = neo_gpu_widest(type); c->x->kinds.on && n >= neo_gpu_narrowest(type) && n > 1;
       n /= 2)
    if (may_vectorize(c, n))
      return n;
  return 1;
}

/* Sets point and step of the thread's copy i; returns whether the copy exists (null: always). */
static const neo_lx *copy_at(const way *c, const neo_lx *i, const neo_lx *at[2]) {
  lowering *l = c->x->l;
  int64_t n = c->o->points->block * c->o->depth / c->width, fast = c->fast / c->width;
  const neo_lx *e = lx_add(l, lx_mul(l, i, c->x->threads), c->x->thread);
  at[c->along] = lx_mul(l, mod(l, e, fast), c->width);
  at[!c->along] = lx_div(l, e, fast);
  return n % c->x->threads ? lx_lt(l, e, lx_int(l, n)) : NULL;
}

/* Sets the axes to a point and a step, and until end_guard the guard: these and the thread's copy
 * exist. Returns the guard. */
static const neo_lx *enter(const way *c, const neo_lx *const *at, const neo_lx *lane,
                           const neo_lx *exists) {
  lowering *l = c->x->l;
  const copied *o = c->o;
  const neo_lx *which = lx_add(l, o->points->lo, at[0]), *step = lx_add(l, o->from, at[1]);
  exists = lx_and(l, exists, lx_lt(l, which, o->points->total));
  exists = lx_and(l, exists, lx_lt(l, step, o->total));
  neo_ln_set_lanes(l, o->s, o->points->axes, which, c->along ? NULL : lane);
  neo_ln_set_lanes(l, o->s, o->steps, step, c->along ? lane : NULL);
  neo_gpu_begin_guard(l, exists, c->bounded);
  return exists;
}

static const neo_lx *place_in(const way *c, const neo_lx *const *at) {
  lowering *l = c->x->l;
  const copied *o = c->o;
  const neo_lx *to = lx_add(l, lx_mul(l, at[1], o->per_step), lx_mul(l, at[0], o->per_point));
  return o->start ? lx_add(l, o->start, to) : to;
}

/* Are the factors' loads safe without a condition? product_of: their product at the current
 * axes. */
static bool safe_alone(nested_kernel *x, const neo_nested_factors *f) {
  bool safe = true;
  for (uint32_t k = 0; k < f->n; k++)
    safe = safe && neo_lower_safe_under(x->l, f->at[k], (neo_expr){0});
  return safe;
}

static way way_of(nested_kernel *x, const copied *o) {
  way c = {.x = x, .o = o, .along = neo_ln_along_steps(x, o), .width = 1};
  neo_lower_facts(x->l, x->l->f, o->s);
  c.bounded = !safe_alone(x, o->factors);
  c.fast = c.along ? o->depth : o->points->block;
  c.width = widest(&c);
  return c;
}

static int64_t copies_of(const way *c) {
  return (c->o->points->block * c->o->depth / c->width + c->x->threads - 1) / c->x->threads;
}

static neo_gpu_copy copy_of(const way *c) {
  const copied *o = c->o;
  return (neo_gpu_copy){.l = c->x->l,
                        .threads = c->x->threads,
                        .copies = copies_of(c),
                        .width = c->width,
                        .lane_pitch = c->along ? o->per_step : o->per_point,
                        .buf = o->buf};
}

uint32_t neo_ln_next(nested_kernel *x, neo_block *in, const copied *o, bool several) {
  way w = way_of(x, o);
  neo_gpu_copy c = copy_of(&w);
  return neo_gpu_declare_next(&c, in, several);
}

void neo_ln_get(nested_kernel *x, neo_block *in, const copied *o, uint32_t next) {
  const neo_lx *at[2];
  way w = way_of(x, o);
  neo_gpu_copy c = copy_of(&w);
  neo_gpu_copied to;
  in = neo_gpu_open_copy(&c, in, false, &to);
  const neo_lx *exists = copy_at(&w, to.i, at);
  exists = enter(&w, at, to.lane, exists);
  neo_gpu_get_next(&c, in, next, &to, neo_ln_product_of(x->l, o->factors), exists);
  neo_gpu_end_guard(x->l);
}

void neo_ln_put(nested_kernel *x, neo_block *in, const copied *o, uint32_t next) {
  const neo_lx *at[2];
  way w = way_of(x, o);
  neo_gpu_copy c = copy_of(&w);
  neo_gpu_copied to;
  in = neo_gpu_open_copy(&c, in, true, &to);
  const neo_lx *exists = copy_at(&w, to.i, at);
  neo_gpu_put_next(&c, in, next, &to, place_in(&w, at), exists);
}

void neo_ln_copy(nested_kernel *x, neo_block *in, const copied *o) {
  uint32_t next = neo_ln_next(x, in, o, false);
  neo_ln_get(x, in, o, next);
  neo_ln_put(x, in, o, next);
}

/* ---- asynchronous copies */

bool neo_ln_plan_source(nested_kernel *x, const copied *o, neo_warps kind, operand *out) {
  enum { LEAST_BYTES = 4 };
  lowering *l = x->l;
  bool rounded = false;
  if (o->factors->n != 1)
    return false;
  way c = way_of(x, o);
  int64_t bytes = neo_type_bytes((neo_type)l->k->bufs.at[o->buf].type);
  neo_expr from =
      neo_stages_plain(l->m, o->factors->at[0], kind == NEO_WARPS_TF32 ? &rounded : NULL);
  if (!from.i || c.width * bytes < LEAST_BYTES || (c.along ? o->per_step : o->per_point) != 1)
    return false;
  uint32_t buf = neo_gpu_source_buffer(l, from);
  if (l->k->bufs.at[buf].use != NEO_BUF_READ ||
      l->k->bufs.at[buf].type != l->k->bufs.at[o->buf].type)
    return false;
  out->from = from;
  out->from_buf = buf;
  out->rounded = rounded;
  return true;
}

void neo_ln_start_copies(nested_kernel *x, neo_block *in, const copied *o, const operand *from) {
  lowering *l = x->l;
  const neo_lx *i, *at[2];
  way w = way_of(x, o);
  neo_gpu_copy c = copy_of(&w);
  in = neo_gpu_open_starts(&c, in, &i);
  const neo_lx *mine = copy_at(&w, i, at);
  if (mine)
    in = &neo_ls_if(l->k, in, mine)->branch.then;
  const neo_lx *to = place_in(&w, at), *exists = enter(&w, at, NULL, NULL);
  neo_gpu_start_copy(&c, in, to, from->from_buf, neo_lower_expr(l, from->from), exists);
  neo_gpu_end_guard(l);
}

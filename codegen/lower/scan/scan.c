/* Scans: reductions whose domain grows with a shared axis u (schedule/scan/scan.h).
 *
 *     acc = identity
 *     for k in [lo, edge(u0 - 1)): acc += body(x, k)                  the domain before the first u
 *     for u: for k in [edge(u - 1), edge(u)): acc += body(x, k)       cut to [lo, hi)
 *            P[x, u] = finish(x, u, acc)                              x in lanes
 *
 * If the domain grows as u falls, the loop over u runs down. If the domain is a suffix, the ranges
 * are on the other side of the edge. If the edge moves by one, the inner loop has one value of k.
 * Elements of a prefix are added in the order of the definition. */
#include "codegen/lower/scan/scan.h"
#include "schedule/scan/scan.h"
#include <string.h>

typedef struct {
  lowering *l;
  neo_scan x;
  stage_bounds bounds; /* bounds of the other own axes */
  const tile *t;
  neo_stage stage; /* the reducing stage, with k's whole range and without the edge's condition */
} scan_loop;

static neo_expr at_u(scan_loop *c, neo_expr e, neo_expr u) {
  neo_expr by[NEO_FORM_MAX_AXES] = {{0}};
  by[c->x.axis] = u;
  return neo_expr_subst_axes(c->l->m, e, by, c->x.axis + 1);
}

static neo_expr i64_of(scan_loop *c, int64_t x) {
  return neo_const_i64(c->l->m, x);
}

/* e + n, in linear form. */
static neo_expr plus(scan_loop *c, neo_expr e, int64_t n) {
  neo_linear l;
  if (!neo_linear_of(c->l->m, e, &l) || __builtin_add_overflow(l.constant, n, &l.constant))
    return neo_op2(c->l->m, NEO_OP_ADD, e, i64_of(c, n));
  return neo_linear_expr(c->l->m, &l);
}

/* The edge at the step of u before, where the domain was smaller. */
static neo_expr before(scan_loop *c, neo_expr edge) {
  return plus(c, edge, c->x.suffix ? c->x.step : -c->x.step);
}

static neo_expr clamped(scan_loop *c, neo_expr e) {
  neo_module *m = c->l->m;
  neo_expr above = neo_op2(m, NEO_OP_MAX, e, c->x.lo);
  return neo_op2(m, NEO_OP_MIN, above, c->x.hi);
}

/* ---- points of the domain */

static void other_axes(scan_loop *c, neo_block *in, uint32_t k) {
  lowering *l = c->l;
  const neo_lx *v;
  if (k == c->stage.axes.n) {
    neo_lower_accumulate(l, in, &c->stage, c->t, &c->bounds);
    return;
  }
  if (k == c->x.own) {
    other_axes(c, in, k + 1);
    return;
  }
  const neo_lx *lo = neo_lower_expr(l, c->bounds.lo[k]), *hi = neo_lower_expr(l, c->bounds.hi[k]);
  neo_block *body = neo_lower_open(l, in, "k", lo, hi, 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, v, l->depth);
  other_axes(c, body, k + 1);
  neo_lower_close(l);
}

static void points(scan_loop *c, neo_block *in, const neo_lx *from, const neo_lx *to) {
  lowering *l = c->l;
  const neo_lx *v;
  int64_t a, b;
  if (neo_lx_is_int(from, &a) && neo_lx_is_int(to, &b) && a >= b)
    return;
  neo_block *body = neo_lower_open(l, in, "k", from, to, 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + c->x.own, v, l->depth);
  other_axes(c, body, 0);
  neo_lower_close(l);
}

/* Adds the single point at the edge, if it is in the range. */
static void one_point(scan_loop *c, neo_block *in) {
  lowering *l = c->l;
  neo_module *m = l->m;
  neo_expr k = c->x.suffix ? c->x.edge : plus(c, c->x.edge, -1);
  neo_expr goal[] = {neo_op2(m, NEO_OP_LE, c->x.lo, k), neo_op2(m, NEO_OP_LT, k, c->x.hi)};
  neo_expr left = {0};
  /* The range of own axes says nothing here: it may be empty, and then anything follows from it. */
  neo_facts shared = {l->fact_axes, (uint32_t)l->f->axes.n, NULL, 0};
  for (int i = 0; i < 2; i++)
    if (!neo_proves(l->p, &shared, goal[i]))
      left = left.i ? neo_op2(m, NEO_OP_AND, left, goal[i]) : goal[i];
  if (left.i)
    in = &neo_ls_if(l->k, in, neo_lower_expr(l, left))->branch.then;
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + c->x.own, neo_lower_expr(l, k), l->depth);
  other_axes(c, in, 0);
}

/* Adds the points that the domain has before the first step of u. */
static void first_points(scan_loop *c, neo_block *in) {
  lowering *l = c->l;
  neo_module *m = l->m;
  neo_expr n = l->f->axes.at[c->x.axis].hi, zero = i64_of(c, 0);
  neo_expr first = c->x.down ? neo_op2(m, NEO_OP_SUB, n, i64_of(c, 1)) : zero;
  neo_expr edge = clamped(c, before(c, at_u(c, c->x.edge, first)));
  neo_expr none = c->x.suffix ? c->x.hi : c->x.lo, any = neo_op2(m, NEO_OP_LT, zero, n);
  edge = neo_op3(m, NEO_OP_SELECT, any, edge, none);
  edge =
      neo_simplify_under(l->p, &(neo_facts){l->fact_axes, (uint32_t)l->f->axes.n, NULL, 0}, edge);
  if (c->x.suffix)
    points(c, in, neo_lower_expr(l, edge), neo_lower_expr(l, c->x.hi));
  else
    points(c, in, neo_lower_expr(l, c->x.lo), neo_lower_expr(l, edge));
}

static void next_points(scan_loop *c, neo_block *in) {
  lowering *l = c->l;
  if (c->x.step == 1) {
    one_point(c, in);
    return;
  }
  neo_expr now = clamped(c, c->x.edge), old = clamped(c, before(c, c->x.edge));
  neo_expr from = c->x.suffix ? now : old, to = c->x.suffix ? old : now;
  points(c, in, neo_lower_expr(l, from), neo_lower_expr(l, to));
}

/* ---- along u */

static void along(scan_loop *c, neo_block *in) {
  lowering *l = c->l;
  const neo_lx *v, *n = neo_lower_extent(l, c->x.axis);
  neo_lower_facts(l, l->f, &c->stage);
  acc_reg shown[MAX_ACCS], acc[MAX_ACCS], *live = &l->acc[c->stage.first_acc];
  bool payload = neo_lower_has_payload(&c->stage);
  if (payload) {
    neo_lower_begin_accs(l, in, &c->stage, c->t);
    memcpy(shown, live, c->stage.accs.n * sizeof *live);
  }
  neo_lower_begin_accs(l, in, &c->stage, c->t);
  first_points(c, in);
  neo_block *body = neo_lower_open(l, in, "u", lx_int(l, 0), n, 1, &v);
  if (c->x.down) {
    axis_value u = {.at = {{lx_sub(l, n, lx_int(l, 1)), 1, 0}, {v, -1, l->depth}}, .n = 2};
    neo_lower_set_parts(l, c->x.axis, u);
  } else {
    neo_lower_set_axis(l, c->x.axis, v, l->depth);
  }
  next_points(c, body);
  if (payload)
    neo_lower_show_accs(l, body, &c->stage, c->t, shown, acc);
  for (size_t k = 1; k < l->f->stages.n; k++) {
    neo_lower_facts(l, l->f, &l->f->stages.at[k]);
    neo_lower_store(l, body, &l->f->stages.at[k], c->t);
  }
  if (payload)
    memcpy(live, acc, c->stage.accs.n * sizeof *live);
  neo_lower_close(l);
}

void neo_lower_scan(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  const neo_lx *n_lo = range[2], *n_hi = range[3];
  (void)level;
  scan_loop c = {.l = l};
  int64_t axis = l->s->loops.vector_axis, a, b;
  tile t = {
      .m_axis = -1, .n_axis = axis >= 0 ? (int32_t)axis : -1, .rows = 1, .cols = 1, .width = 1};
  if (!neo_scan_of(l->m, l->g, &c.x)) {
    neo_lower_fail(l, "the schedule runs along an axis that no domain grows with");
    return;
  }
  c.t = &t;
  c.stage = l->f->stages.at[0];
  c.stage.where = c.x.where;
  c.stage.axes.at = neo_arena_copy(l->a, c.stage.axes.at, c.stage.axes.n * sizeof *c.stage.axes.at);
  c.stage.axes.at[c.x.own].lo = c.x.lo;
  c.stage.axes.at[c.x.own].hi = c.x.hi;
  c.bounds = neo_lower_bounds_of(l, &c.stage, c.x.own);
  c.x.lo = c.bounds.lo[c.x.own];
  c.x.hi = c.bounds.hi[c.x.own];
  if (t.n_axis < 0) {
    along(&c, in);
    return;
  }
  const neo_lx *from = n_lo, *v;
  for (t.width = l->s->loops.vector_width; t.width >= 1; t.width = t.width > 1 ? 1 : 0) {
    const neo_lx *to = neo_lower_floor_to_multiple(l, from, n_hi, t.width);
    if (neo_lx_is_int(from, &a) && neo_lx_is_int(to, &b) && a == b)
      continue;
    neo_block *body = neo_lower_open(l, in, "n", from, to, t.width, &v);
    t.n_at = v;
    t.n_depth = l->depth;
    along(&c, body);
    neo_lower_close(l);
    from = to;
  }
}

/* Loop normalisation: a reduction axis whose range moves with an output axis counts from its start.
 *
 *     Y[y] = sum[p: y .. min(P, y + 2)] D[p] * F[2*y + 2 - 2*p]
 *     ->
 *     Y[y] = sum[t: 0 .. min(2, P - y)] D[y + t] * F[2 - 2*t]
 *
 * A gathered gradient thus becomes a convolution: taps at constant positions, and edges that only
 * cut the range. An axis of one point is substituted. Points and their order stay. */
#include "transform/normalize_loops.h"
#include <assert.h>

enum { MAX_ENDS = 16, MAX_LENGTH = 1 << 16 };

typedef struct {
  uint32_t n;
  neo_expr at[MAX_ENDS];
} ends;

/* Collects the arguments of nested maxima or minima. False: too many. */
static bool collect(const neo_module *m, neo_expr e, neo_op op, ends *out) {
  if (neo_expr_node(m, e)->op == op)
    return collect(m, neo_expr_arg(m, e, 0), op, out) && collect(m, neo_expr_arg(m, e, 1), op, out);
  if (out->n == MAX_ENDS)
    return false;
  out->at[out->n++] = e;
  return true;
}

/* Is b - a a constant? Sets *out. */
static bool distance(neo_module *m, neo_expr a, neo_expr b, int64_t *out) {
  neo_linear l;
  if (!neo_linear_of(m, neo_op2(m, NEO_OP_SUB, b, a), &l) || l.n)
    return false;
  *out = l.constant;
  return true;
}

static bool is_plain(const neo_module *m, neo_expr e) {
  return !neo_expr_has_loads(m, e);
}

/* An end of the axis' range from which the other is a constant away: lo = max(base, ...), hi =
 * min(base + length, ...), the shortest such length. False: there is none. */
static bool start_of(neo_module *m, const neo_axis_rec *axis, neo_expr *base, int64_t *length) {
  ends lo = {0}, hi = {0};
  int64_t best = MAX_LENGTH + 1, d;
  if (!collect(m, axis->lo, NEO_OP_MAX, &lo) || !collect(m, axis->hi, NEO_OP_MIN, &hi))
    return false;
  for (uint32_t i = 0; i < lo.n; i++) {
    if (!is_plain(m, lo.at[i]))
      continue;
    for (uint32_t j = 0; j < hi.n; j++)
      if (distance(m, lo.at[i], hi.at[j], &d) && d > 0 && d < best) {
        best = d;
        *base = lo.at[i];
      }
  }
  *length = best;
  return best <= MAX_LENGTH;
}

bool neo_loop_start_wanted(neo_module *m, neo_prover *p, const neo_facts *f,
                           const neo_axis_rec *axis) {
  ends lo = {0}, hi = {0};
  neo_expr base;
  int64_t length, least, most;
  if (!collect(m, axis->lo, NEO_OP_MAX, &lo) || !collect(m, axis->hi, NEO_OP_MIN, &hi))
    return false;
  if (!start_of(m, axis, &base, &length))
    return true;
  for (uint32_t i = 0; i < lo.n; i++)
    for (uint32_t j = 0; j < hi.n; j++) {
      neo_expr d = neo_op2(m, NEO_OP_SUB, hi.at[j], lo.at[i]);
      if (is_plain(m, d) && neo_expr_axes(m, lo.at[i]) && neo_expr_axes(m, hi.at[j]) &&
          neo_interval(p, f, d, &least, &most) && least < most && most < length)
        return true;
    }
  return false;
}

/* ---- the transformation */

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def_rec r;
  neo_axis_rec axis[NEO_DEF_AXES];
  neo_expr edges, where; /* edges of moved axes; own condition, which may rely on them */
} job;

static neo_expr simpler(job *j, neo_expr e, uint32_t n_axes) {
  neo_facts f = {.axes = j->axis, .n_axes = n_axes};
  return e.i ? neo_simplify_under(j->prover, &f, e) : e;
}

static void subst_conditions(job *j, const neo_expr *by) {
  uint32_t n = j->r.axes.n;
  if (j->edges.i)
    j->edges = neo_expr_subst_axes(j->m, j->edges, by, n);
  if (j->where.i)
    j->where = neo_expr_subst_axes(j->m, j->where, by, n);
}

/* Replaces AXIS k by `value` everywhere. */
static void substitute(job *j, uint32_t k, neo_expr value) {
  neo_module *m = j->m;
  neo_expr by[NEO_DEF_AXES] = {{0}};
  uint32_t n = j->r.axes.n;
  by[k] = value;
  for (uint32_t i = k + 1; i < n; i++) {
    j->axis[i].lo = simpler(j, neo_expr_subst_axes(m, j->axis[i].lo, by, i), i);
    j->axis[i].hi = simpler(j, neo_expr_subst_axes(m, j->axis[i].hi, by, i), i);
  }
  subst_conditions(j, by);
  uint32_t ids[8];
  assert(j->r.body.n <= 8);
  for (uint32_t i = 0; i < j->r.body.n; i++)
    ids[i] = simpler(j, neo_expr_subst_axes(m, neo_list_expr(m, j->r.body, i), by, n), n).i;
  j->r.body = neo_list_new(m, ids, j->r.body.n);
}

static neo_expr and_also(job *j, neo_expr a, neo_expr b) {
  return a.i ? neo_op2(j->m, NEO_OP_AND, a, b) : b;
}

/* The ends that the window does not imply, as a condition on the moved axis. */
static neo_expr edges_of(job *j, const neo_axis_rec *a, neo_expr base, neo_expr at) {
  neo_module *m = j->m;
  ends lo = {0}, hi = {0};
  neo_expr cond = {0};
  collect(m, a->lo, NEO_OP_MAX, &lo);
  collect(m, a->hi, NEO_OP_MIN, &hi);
  for (uint32_t i = 0; i < lo.n; i++)
    if (lo.at[i].i != base.i)
      cond = and_also(j, cond, neo_op2(m, NEO_OP_LE, lo.at[i], at));
  for (uint32_t i = 0; i < hi.n; i++)
    cond = and_also(j, cond, neo_op2(m, NEO_OP_LT, at, hi.at[i]));
  return cond;
}

static bool later_ranges_read(const job *j, uint32_t k) {
  for (uint32_t i = k + 1; i < j->r.axes.n; i++) {
    const neo_expr end[2] = {j->axis[i].lo, j->axis[i].hi};
    for (int e = 0; e < 2; e++)
      if (neo_expr_uses_op(j->m, end[e], NEO_OP_LOAD))
        return true;
  }
  return false;
}

static bool move(job *j, uint32_t k) {
  neo_module *m = j->m;
  neo_axis_rec old = j->axis[k];
  neo_expr base, rest;
  int64_t length;
  if (!start_of(m, &old, &base, &length) || !neo_expr_axes(m, base))
    return false;
  neo_expr at = neo_op2(m, NEO_OP_ADD, base, neo_axis_ref(m, k));
  neo_expr cond = edges_of(j, &old, base, at);
  j->axis[k].lo = neo_const_i64(m, 0);
  j->axis[k].hi = neo_const_i64(m, length);
  neo_facts f = {.axes = j->axis, .n_axes = k + 1}; /* later ranges are not moved yet */
  neo_expr lo = j->axis[k].lo, hi = j->axis[k].hi;
  if (neo_tighten(j->prover, &f, k, cond, &lo, &hi, &rest)) {
    j->axis[k].lo = lo;
    j->axis[k].hi = hi;
    cond = rest;
  }
  if (cond.i && later_ranges_read(j, k)) { /* points outside would enter later ranges */
    j->axis[k] = old;
    return false;
  }
  substitute(j, k, at);
  if (cond.i)
    j->edges = and_also(j, j->edges, cond);
  return true;
}

/* Drops an axis of one point, unless it is the last. */
static bool drop_unit_axis(job *j, uint32_t k) {
  neo_module *m = j->m;
  int64_t lo, hi;
  uint32_t n = j->r.axes.n;
  if (n == j->r.n_out + 1 || !neo_expr_is_int(m, j->axis[k].lo, &lo) ||
      !neo_expr_is_int(m, j->axis[k].hi, &hi) || hi - lo != 1)
    return false;
  substitute(j, k, neo_const_i64(m, lo));
  neo_expr by[NEO_DEF_AXES] = {{0}};
  for (uint32_t i = k + 1; i < n; i++)
    by[i] = neo_axis_ref(m, i - 1);
  uint32_t ids[8];
  for (uint32_t i = 0; i < j->r.body.n; i++)
    ids[i] = neo_expr_subst_axes(m, neo_list_expr(m, j->r.body, i), by, n).i;
  j->r.body = neo_list_new(m, ids, j->r.body.n);
  subst_conditions(j, by);
  for (uint32_t i = k; i + 1 < n; i++) {
    j->axis[i] = j->axis[i + 1];
    j->axis[i].lo = neo_expr_subst_axes(m, j->axis[i].lo, by, n);
    j->axis[i].hi = neo_expr_subst_axes(m, j->axis[i].hi, by, n);
  }
  j->r.axes.n--;
  return true;
}

static void write(job *j, neo_def d) {
  uint32_t ids[NEO_DEF_AXES];
  for (uint32_t k = 0; k < j->r.axes.n; k++)
    ids[k] = neo_axis_add(j->m, j->axis[k]).i;
  j->r.axes = neo_list_new(j->m, ids, j->r.axes.n);
  neo_expr where = j->where.i ? and_also(j, j->edges, j->where) : j->edges;
  j->r.where = simpler(j, where, j->r.axes.n);
  *neo_def_at(j->m, d) = j->r;
}

static void definition(neo_module *m, neo_prover *p, neo_def d) {
  job j = {.m = m, .prover = p, .r = *neo_def_at(m, d)};
  bool changed = false;
  for (uint32_t k = 0; k < j.r.axes.n; k++)
    j.axis[k] = *neo_def_axis(m, &j.r, k);
  j.where = j.r.where;
  for (uint32_t k = j.r.n_out; k < j.r.axes.n; k++)
    changed = move(&j, k) || changed;
  for (uint32_t k = j.r.axes.n; k-- > j.r.n_out;)
    changed = drop_unit_axis(&j, k) || changed;
  if (changed)
    write(&j, d);
}

neo_status neo_pass_normalize_loops(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (uint32_t k = 1; k < m->defs.n; k++) {
    neo_prover_at(pass->p, m->defs.at[k].span);
    if (!neo_def_is_levels(&m->defs.at[k])) /* its axes number slots of tables */
      definition(m, pass->p, (neo_def){k});
  }
  return NEO_OK;
}

/* Reduction factoring (rfactor): a long reduction to few elements becomes reductions of parts,
 * which workers share, since one element is the unit of parallel work.
 *
 *     L[] = sum[n: N, d: 1024] x[n, d]^2             (N <= 4096)
 *     ->
 *     partial.L[n: N] = sum[d: 1024] x[n, d]^2,     L[] = sum[n: N] partial.L[n]
 *
 *     M[] = max[i: 1000000] x[i]
 *     ->
 *     partial.M[s: 16] = max[i: 62500] x[62500*s + i],  M[] = max[s: 16] partial.M[s]
 *
 * The parts are a reduction axis of suitable extent, or else sixteen ranges of the longest axis of
 * constant extent, the last one shorter if 16 does not divide. Both are reductions of the IR, so
 * they are fused and scheduled like others; the number of parts does not depend on the number of
 * threads. Conditions stay with the parts. A mean becomes a sum over a known count, or stays whole.
 *
 * A GPU has thousands of threads to fill, also by sums of products and of columns, whose steps few
 * threads share: there the number of parts fills the machine, as long as a part has enough steps to
 * pay for its addition. Parts are contiguous, so that these sums read whole rows.
 *
 *     G[i: 64, j: 576] = sum[n: 50176] x[n, i] * y[n, j]
 *     ->
 *     partial.G[s: 28, i: 64, j: 576] = sum[n: 1792] x[1792*s + n, i] * y[1792*s + n, j]
 *     G[i: 64, j: 576] = sum[s: 28] partial.G[s, i, j] */
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/prove/prove.h"
#include "transform/transform.h"

enum {
  MOST_OUTPUTS = 4,       /* results; more are parallel already */
  LEAST_POINTS = 1 << 17, /* points of a reduction that pay for another kernel */
  LEAST_PARTS = 8,
  MOST_PARTS = 4096,
  LEAST_PART = 1 << 7, /* points of a part */
  RANGES = 16,
};

typedef struct {
  neo_module *m;
  neo_def def;
  neo_def_rec r;
  neo_axis_rec axis[NEO_PATTERN_AXES];
  double extent[NEO_PATTERN_AXES];
  double points;        /* points of the reduction */
  double outs;          /* results */
  uint32_t part;        /* axis that is divided */
  int64_t range;        /* its positions in a part; 0: one */
  uint32_t gpu_threads; /* 0: the target is a processor */
  double wanted;        /* parts that fill a GPU */
} split;

static bool splits(neo_reducer r) {
  return r == NEO_RED_SUM || r == NEO_RED_PROD || r == NEO_RED_MAX || r == NEO_RED_MIN ||
         r == NEO_RED_MEAN || r == NEO_RED_ANY || r == NEO_RED_ALL;
}

/* The largest number of iterations; 0: unknown. */
static double extent_of(const split *x, neo_prover *p, uint32_t k) {
  neo_facts f = {.axes = x->axis, .n_axes = k};
  int64_t lo, hi, unused;
  if (!neo_interval(p, &f, x->axis[k].lo, &lo, &unused) ||
      !neo_interval(p, &f, x->axis[k].hi, &unused, &hi))
    return 0;
  return hi > lo ? (double)hi - (double)lo : 0;
}

/* Does axis k run from 0 to a size? */
static bool is_plain(const split *x, uint32_t k) {
  int64_t lo;
  return neo_expr_is_int(x->m, x->axis[k].lo, &lo) && !lo && !neo_expr_axes(x->m, x->axis[k].hi) &&
         !neo_expr_has_loads(x->m, x->axis[k].hi);
}

/* Does the expression read ACC 1? */
static bool uses_second(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_ACC)
    return n->attr == 1;
  for (uint32_t k = 0; k < n->arg.n; k++)
    if (uses_second(m, neo_list_expr(m, n->arg, k)))
      return true;
  return false;
}

/* Must it stay whole? A mean without a known count, an argmin or argmax, a narrow float's wide
 * sum. */
static bool is_whole(const split *x) {
  neo_type t = neo_expr_type(x->m, neo_list_expr(x->m, x->r.body, 0));
  if (t == NEO_F16_T || t == NEO_BF16_T)
    return true;
  bool mean = x->r.reducer == NEO_RED_MEAN, counted = !x->r.where.i;
  for (uint32_t k = x->r.n_out; k < x->r.axes.n; k++)
    counted = counted && is_plain(x, k);
  return mean ? !counted : uses_second(x->m, neo_list_expr(x->m, x->r.finish, 0));
}

/* ---- GPUs: the number of parts that fills one */

typedef struct {
  const split *x;
  bool across, along; /* neighbouring results, or steps, are contiguous */
} reading;

static void see_load(void *ctx, neo_expr e) {
  reading *r = ctx;
  const neo_node *n = neo_expr_node(r->x->m, e);
  uint32_t others = n->op == NEO_OP_LOAD_ELSE; /* its last argument is no index */
  if ((n->op != NEO_OP_LOAD && !others) || n->arg.n < 1 + others)
    return;
  uint64_t axes = neo_expr_axes(r->x->m, neo_list_expr(r->x->m, n->arg, n->arg.n - 1 - others));
  r->across = r->across || (r->x->r.n_out && axes >> (r->x->r.n_out - 1) & 1);
  r->along = r->along || axes >> (r->x->r.axes.n - 1) & 1;
}

static bool is_product(const split *x, neo_expr body) {
  uint64_t outs = (1ULL << x->r.n_out) - 1;
  if (neo_expr_node(x->m, body)->op != NEO_OP_MUL || x->r.reducer != NEO_RED_SUM)
    return false;
  uint64_t a = neo_expr_axes(x->m, neo_expr_arg(x->m, body, 0)) & outs;
  uint64_t b = neo_expr_axes(x->m, neo_expr_arg(x->m, body, 1)) & outs;
  return (a & ~b) && (b & ~a);
}

typedef struct {
  double results; /* results of a thread's tile; below 1: threads that share one */
  double least;   /* steps of a part */
  double work;    /* steps in all */
  double most;    /* parts */
} share;

static share share_of(const split *x) {
  static const share product = {8, 512, 1 << 22, 64}, columns = {1.0 / 16, 64, 1 << 19, 1024},
                     rows = {1.0 / 256, 2048, 1 << 19, 1024};
  neo_expr body = neo_list_expr(x->m, x->r.body, 0);
  reading r = {.x = x};
  if (is_product(x, body))
    return product;
  neo_expr_visit(x->m, body, see_load, &r);
  return r.across && !r.along ? columns : rows;
}

static bool fills_more(split *x) {
  share s = share_of(x);
  x->wanted = (double)x->gpu_threads * s.results / x->outs;
  if (x->wanted > x->points / s.least)
    x->wanted = x->points / s.least;
  if (x->wanted > s.most)
    x->wanted = s.most;
  return x->wanted >= 2 && x->points * x->outs >= s.work;
}

static bool match(split *x, neo_prover *p, neo_def d) {
  neo_module *m = x->m;
  x->outs = 1;
  x->def = d;
  x->r = *neo_def_at(m, d);
  if (!splits((neo_reducer)x->r.reducer) || x->r.out.n != 1 || x->r.axes.n >= NEO_PATTERN_AXES ||
      x->r.axes.n == x->r.n_out)
    return false;
  x->points = 1;
  for (uint32_t k = 0; k < x->r.axes.n; k++) {
    x->axis[k] = *neo_def_axis(m, &x->r, k);
    x->extent[k] = extent_of(x, p, k);
    *(k < x->r.n_out ? &x->outs : &x->points) *= x->extent[k];
  }
  if (x->outs <= 0 || is_whole(x))
    return false;
  return x->gpu_threads ? fills_more(x) : x->outs <= MOST_OUTPUTS && x->points >= LEAST_POINTS;
}

/* ---- choosing the parts */

static bool axis_suits(const split *x, uint32_t k) {
  return is_plain(x, k) && x->extent[k] >= LEAST_PARTS && x->extent[k] <= MOST_PARTS &&
         x->points / x->extent[k] >= LEAST_PART;
}

/* May ranges be the innermost axis of their parts? No bound may use it. */
static bool range_suits(const split *x, uint32_t k, int64_t *extent) {
  for (uint32_t j = k + 1; j < x->r.axes.n; j++)
    if ((neo_expr_axes(x->m, x->axis[j].lo) | neo_expr_axes(x->m, x->axis[j].hi)) >> k & 1)
      return false;
  return is_plain(x, k) && neo_expr_is_int(x->m, x->axis[k].hi, extent) && *extent >= RANGES;
}

/* Distance from the wanted number of parts, as ranges or (range 0) positions. */
static double distance(const split *x, double parts, double extent, int64_t range) {
  enum { UNEVEN = 2 };
  double far = parts > x->wanted ? parts / x->wanted : x->wanted / parts;
  return far * (range && (int64_t)extent % range ? UNEVEN : 1);
}

/* A range of the axis; one that divides it, if its number of parts is near enough. */
static int64_t range_near(const split *x, int64_t extent) {
  int64_t wanted = (int64_t)x->wanted;
  for (int64_t far = 0; 3 * far <= wanted; far++)
    for (int sign = -1; sign <= 1; sign += 2)
      if (extent % (wanted + sign * far) == 0)
        return extent / (wanted + sign * far);
  return (int64_t)((double)extent / x->wanted + 0.5);
}

/* GPU: chooses the axis and range whose number of parts is nearest to the wanted one. */
static bool choose_nearest(split *x) {
  enum { FARTHEST = 4 };
  double best = FARTHEST;
  for (uint32_t k = x->r.n_out; k < x->r.axes.n; k++) {
    int64_t extent = 0, range = 0;
    if (!is_plain(x, k))
      continue;
    if (range_suits(x, k, &extent))
      range = range_near(x, extent);
    range = range < 2 ? 0 : range;
    double parts = range ? (double)((extent + range - 1) / range) : x->extent[k];
    double far = parts < 2 ? FARTHEST : distance(x, parts, x->extent[k], range);
    if (far >= best)
      continue;
    best = far;
    x->part = k;
    x->range = range;
  }
  return best < FARTHEST;
}

/* Processor: chooses the outermost suitable axis, one part a position, else ranges of the longest
 * one. */
static bool choose_parts(split *x) {
  int64_t extent, longest = 0;
  if (x->gpu_threads)
    return choose_nearest(x);
  for (x->part = x->r.n_out; x->part < x->r.axes.n; x->part++)
    if (axis_suits(x, x->part))
      return true;
  for (uint32_t k = x->r.n_out; k < x->r.axes.n; k++)
    if (range_suits(x, k, &extent) && extent > longest) {
      longest = extent;
      x->part = k;
    }
  x->range = (longest + RANGES - 1) / RANGES;
  return longest > 0;
}

/* ---- writing the definitions */

/* The axis of parts; *whole becomes the divided axis' value. */
static neo_axis_rec part_axis(const split *x, uint32_t at, neo_expr inner, neo_expr *whole) {
  neo_module *m = x->m;
  neo_axis_rec a = x->axis[x->part];
  *whole = neo_axis_ref(m, at);
  if (x->range) {
    neo_expr length = neo_const_i64(m, x->range);
    a.name = neo_name_of(m->names, "part");
    a.hi = neo_const_i64(m, (int64_t)(x->extent[x->part] + (double)x->range - 1) / x->range);
    *whole = neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, length, *whole), inner);
  }
  return a;
}

/* Iterations of one range: the last may be shorter. */
static neo_expr range_length(const split *x, uint32_t at) {
  neo_module *m = x->m;
  neo_expr length = neo_const_i64(m, x->range);
  neo_expr start = neo_op2(m, NEO_OP_MUL, length, neo_axis_ref(m, at));
  return (int64_t)x->extent[x->part] % x->range
             ? neo_op2(m, NEO_OP_MIN, length, neo_op2(m, NEO_OP_SUB, x->axis[x->part].hi, start))
             : length;
}

static uint32_t range_axis(const split *x, uint32_t parts) {
  neo_axis_rec a = x->axis[x->part];
  a.hi = range_length(x, parts);
  return neo_axis_add(x->m, a).i;
}

/* Position of the axis of parts: before the output axes, or after them. */
static uint32_t parts_at(const split *x) {
  return x->gpu_threads ? 0 : x->r.n_out;
}

/* Position of a range's axis: that of the divided axis, or last. */
static uint32_t range_at(const split *x) {
  return x->gpu_threads ? x->part + 1 : x->r.axes.n;
}

static uint32_t moved_axis(const split *x, uint32_t k, const neo_expr *by) {
  neo_module *m = x->m;
  neo_axis_rec a = x->axis[k];
  a.lo = neo_expr_subst_axes(m, a.lo, by, x->r.axes.n);
  a.hi = neo_expr_subst_axes(m, a.hi, by, x->r.axes.n);
  return neo_axis_add(m, a).i;
}

/* Axes of the parts' definition: output axes, parts, the remaining reduction; by[k] replaces axis
 * k. */
static neo_list axes_of_parts(const split *x, neo_expr *by) {
  neo_module *m = x->m;
  uint32_t ids[NEO_PATTERN_AXES + 1], at = parts_at(x), n = 0;
  neo_expr inner = neo_axis_ref(m, range_at(x));
  for (uint32_t k = 0; k < x->r.n_out; k++) {
    n += n == at;
    by[k] = neo_axis_ref(m, n);
    ids[n++] = moved_axis(x, k, by);
  }
  n += n == at;
  ids[at] = neo_axis_add(m, part_axis(x, at, inner, &by[x->part])).i;
  for (uint32_t k = x->r.n_out; k < x->r.axes.n; k++) {
    if (k == x->part && x->range && x->gpu_threads)
      ids[n++] = range_axis(x, at);
    if (k == x->part)
      continue;
    by[k] = neo_axis_ref(m, n);
    ids[n++] = moved_axis(x, k, by);
  }
  if (x->range && !x->gpu_threads)
    ids[n++] = range_axis(x, at);
  return neo_list_new(m, ids, n);
}

static neo_reducer reducer_of(const split *x) {
  return x->r.reducer == NEO_RED_MEAN ? NEO_RED_SUM : (neo_reducer)x->r.reducer;
}

static neo_tensor define_parts(const split *x) {
  neo_module *m = x->m;
  neo_expr by[NEO_PATTERN_AXES] = {{0}}, body = neo_list_expr(m, x->r.body, 0);
  neo_partial p = {.prefix = "partial", .of = x->def, .reducer = reducer_of(x)};
  p.axes = axes_of_parts(x, by);
  p.n_out = x->r.n_out + 1;
  p.body = neo_expr_subst_axes(m, body, by, x->r.axes.n);
  if (x->r.where.i)
    p.where = neo_expr_subst_axes(m, x->r.where, by, x->r.axes.n);
  return neo_partial_define(m, &p);
}

static neo_expr put_mean(void *ctx, neo_module *m, neo_expr e) {
  const neo_expr *count = ctx;
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_ACC)
    return e;
  return n->attr ? *count : neo_op2(m, NEO_OP_DIV, e, neo_cast(m, (neo_type)n->type, *count));
}

/* Sets `finish` for a sum in place of a mean. */
static void finish_mean(const split *x, neo_def_rec *r) {
  neo_module *m = x->m;
  neo_expr count = neo_const_i64(m, 1);
  for (uint32_t k = x->r.n_out; k < x->r.axes.n; k++)
    count = neo_op2(m, NEO_OP_MUL, count, neo_axis_points(m, &x->axis[k]));
  neo_expr e = neo_expr_rewrite(m, neo_list_expr(m, r->finish, 0), put_mean, &count);
  r->finish = neo_list_one(m, e.i);
}

/* Makes the definition reduce its parts. */
static void reduce_parts(const split *x, neo_tensor parts) {
  neo_module *m = x->m;
  neo_def_rec r = x->r;
  neo_expr index[NEO_PATTERN_AXES], unused;
  uint32_t ids[NEO_PATTERN_AXES], n = x->r.n_out;
  uint32_t at = parts_at(x);
  for (uint32_t k = 0, from = 0; k <= n; k++)
    index[k] = neo_axis_ref(m, k == at ? n : from++);
  for (uint32_t k = 0; k < n; k++)
    ids[k] = neo_list_at(m, x->r.axes, k);
  ids[n] = neo_axis_add(m, part_axis(x, n, neo_const_i64(m, 0), &unused)).i;
  neo_expr body = neo_load(m, parts, index, n + 1, x->r.span);
  r.axes = neo_list_new(m, ids, n + 1);
  r.where = (neo_expr){0};
  r.body = neo_list_one(m, body.i);
  if (x->r.reducer == NEO_RED_MEAN) {
    r.reducer = NEO_RED_SUM;
    finish_mean(x, &r);
  }
  *neo_def_at(m, x->def) = r;
}

neo_status neo_pass_rfactor(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (uint32_t k = 1; k < pass->n_defs; k++) {
    split x = {.m = m, .gpu_threads = pass->target->gpu_threads};
    neo_prover_at(pass->p, m->defs.at[k].span);
    if (match(&x, pass->p, (neo_def){k}) && choose_parts(&x))
      reduce_parts(&x, define_parts(&x));
  }
  return NEO_OK;
}

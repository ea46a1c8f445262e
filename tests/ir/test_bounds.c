/* Error bounds against a second evaluator that differs from the interpreter in all that is free: it
 * computes in f32, with the C library's f32 functions, sums in f32 from the last term to the first,
 * and multiplies and adds in one rounding where it can. */
#include "tests/ir/ir_test.h"
#include "tests/random/gen.h"
#include <math.h>

enum { PROGRAMS = 500 };

typedef struct {
  const neo_gen_program *g;
  neo_interp *p;
  int64_t axis[64];
  neo_value acc[2];
} other;

static neo_value eval(other *o, neo_expr e);

static float unary(neo_op op, float x) {
  switch (op) {
  case NEO_OP_SQRT:
    return sqrtf(x);
  case NEO_OP_RSQRT:
    return 1 / sqrtf(x);
  case NEO_OP_EXP:
    return expf(x);
  case NEO_OP_EXPM1:
    return expm1f(x);
  case NEO_OP_LOG:
    return logf(x);
  case NEO_OP_LOG1P:
    return log1pf(x);
  case NEO_OP_SIN:
    return sinf(x);
  case NEO_OP_COS:
    return cosf(x);
  case NEO_OP_TAN:
    return tanf(x);
  case NEO_OP_TANH:
    return tanhf(x);
  case NEO_OP_SIGMOID:
    return 1 / (1 + expf(-x));
  case NEO_OP_GELU:
    return 0.5F * x * (1 + erff(x * 0.70710678F));
  case NEO_OP_SILU:
    return x * (1 / (1 + expf(-x)));
  case NEO_OP_ELU:
    return x > 0 ? x : expm1f(x);
  case NEO_OP_ERF:
    return erff(x);
  default: {
    neo_value v = {.f = (double)x};
    return (float)neo_value_op(op, NEO_F32_T, NEO_F32_T, &v).f;
  }
  }
}

static float binary(neo_op op, float x, float y) {
  neo_value v[2] = {{.f = (double)x}, {.f = (double)y}};
  if (op == NEO_OP_POW)
    return powf(x, y);
  return (float)neo_value_op(op, NEO_F32_T, NEO_F32_T, v).f;
}

/* a*b + c in one rounding. */
static bool fused(other *o, neo_expr e, neo_value *y) {
  const neo_module *m = o->g->m;
  neo_expr x = neo_expr_arg(m, e, 0), c = neo_expr_arg(m, e, 1);
  if (neo_expr_node(m, e)->op != NEO_OP_ADD || neo_expr_node(m, x)->op != NEO_OP_MUL)
    return false;
  float a = (float)eval(o, neo_expr_arg(m, x, 0)).f, b = (float)eval(o, neo_expr_arg(m, x, 1)).f;
  y->f = (double)fmaf(a, b, (float)eval(o, c).f);
  return true;
}

static neo_value read_value(other *o, neo_expr e, neo_node n) {
  const neo_values *v = neo_interp_tensor(o->p, (neo_tensor){n.attr});
  int64_t at = 0;
  for (uint32_t k = 0; k < v->rank; k++) {
    int64_t i = eval(o, neo_expr_arg(o->g->m, e, k)).i;
    bool inside = i >= 0 && i < v->extent[k];
    if (!inside && n.op == NEO_OP_LOAD_ELSE)
      return eval(o, neo_expr_arg(o->g->m, e, v->rank));
    assert_true(inside);
    at = at * v->extent[k] + i;
  }
  return v->at[at];
}

static neo_value leaf(other *o, neo_expr e, neo_node n) {
  neo_value v = {.i = 0};
  switch (n.op) {
  case NEO_OP_AXIS:
    v.i = o->axis[n.attr];
    break;
  case NEO_OP_SIZE:
    v.i = o->g->sizes[n.attr];
    break;
  case NEO_OP_ACC:
    v = o->acc[n.attr];
    break;
  default:
    if (!neo_expr_is_float(o->g->m, e, &v.f))
      (void)neo_expr_is_int(o->g->m, e, &v.i);
  }
  return v;
}

static neo_value operation(other *o, neo_expr e, neo_node n) {
  neo_value v[3], y;
  if (n.op == NEO_OP_SELECT)
    return eval(o, neo_expr_arg(o->g->m, e, eval(o, neo_expr_arg(o->g->m, e, 0)).i ? 1 : 2));
  if (n.op == NEO_OP_AND && !eval(o, neo_expr_arg(o->g->m, e, 0)).i)
    return (neo_value){.i = 0};
  if (n.op == NEO_OP_OR && eval(o, neo_expr_arg(o->g->m, e, 0)).i)
    return (neo_value){.i = 1};
  if (n.type == NEO_F32_T && n.arg.n == 2 && fused(o, e, &y))
    return y;
  for (uint32_t k = 0; k < n.arg.n; k++)
    v[k] = eval(o, neo_expr_arg(o->g->m, e, k));
  neo_type arg = neo_expr_type(o->g->m, neo_expr_arg(o->g->m, e, 0));
  bool number = n.type == NEO_F32_T && arg == NEO_F32_T && n.op != NEO_OP_CAST;
  if (number && n.arg.n == 1)
    return (neo_value){.f = (double)unary((neo_op)n.op, (float)v[0].f)};
  if (number && n.arg.n == 2)
    return (neo_value){.f = (double)binary((neo_op)n.op, (float)v[0].f, (float)v[1].f)};
  return neo_value_op((neo_op)n.op, (neo_type)n.type, arg, v);
}

static neo_value eval(other *o, neo_expr e) {
  neo_node n = *neo_expr_node(o->g->m, e);
  if (n.op == NEO_OP_LOAD || n.op == NEO_OP_LOAD_ELSE)
    return read_value(o, e, n);
  return n.arg.n ? operation(o, e, n) : leaf(o, e, n);
}

/* ---- reductions, from the last element to the first */

typedef struct {
  neo_value x[4096];
  int64_t pick[4096];
  size_t n;
} terms;

static void gather(other *o, const neo_def_rec *d, uint32_t k, terms *t) {
  if (k < d->axes.n) {
    const neo_axis_rec *x = neo_def_axis(o->g->m, d, k);
    int64_t hi = eval(o, x->hi).i;
    for (int64_t i = eval(o, x->lo).i; i < hi; i++) {
      o->axis[k] = i;
      gather(o, d, k + 1, t);
    }
  } else if (t->n < 4096 && (!d->where.i || eval(o, d->where).i)) {
    t->x[t->n] = eval(o, neo_list_expr(o->g->m, d->body, 0));
    t->pick[t->n++] = d->body.n > 1 ? eval(o, neo_list_expr(o->g->m, d->body, 1)).i : 0;
  }
}

static float sum_of(const terms *t) {
  float s = 0;
  for (size_t k = t->n; k > 0; k--)
    s += (float)t->x[k - 1].f;
  return s;
}

static float logsumexp_of(const terms *t) {
  float top = -INFINITY, s = 0;
  for (size_t k = 0; k < t->n; k++)
    top = fmaxf(top, (float)t->x[k].f);
  if (isinf(top))
    return top;
  for (size_t k = t->n; k > 0; k--)
    s += expf((float)t->x[k - 1].f - top);
  return top + logf(s);
}

static neo_value fold_best(other *o, const terms *t, bool largest) {
  size_t best = 0;
  o->acc[1].i = 0;
  if (!t->n)
    return (neo_value){.f = largest ? -(double)INFINITY : (double)INFINITY};
  for (size_t k = 1; k < t->n; k++) {
    double x = t->x[k].f, b = t->x[best].f;
    if (b == b && (x != x || (largest ? x > b : x < b)))
      best = k;
  }
  o->acc[1].i = t->pick[best];
  return t->x[best];
}

/* Float reductions; false for the others, which have nothing to be free in. */
static bool reduce(other *o, const neo_def_rec *d) {
  static terms t;
  t.n = 0;
  gather(o, d, d->n_out, &t);
  float product = 1;
  for (size_t k = t.n; k > 0; k--)
    product *= (float)t.x[k - 1].f;
  switch (d->reducer) {
  case NEO_RED_SUM:
    o->acc[0].f = (double)sum_of(&t);
    break;
  case NEO_RED_PROD:
    o->acc[0].f = (double)product;
    break;
  case NEO_RED_MEAN:
    o->acc[0].f = (double)(sum_of(&t) / (float)t.n);
    o->acc[1].i = (int64_t)t.n;
    break;
  case NEO_RED_LOGSUMEXP:
    o->acc[0].f = (double)logsumexp_of(&t);
    break;
  default:
    o->acc[0] = fold_best(o, &t, d->reducer == NEO_RED_MAX);
  }
  return t.n < 4096;
}

/* ---- comparing one definition, on the interpreter's own values of what it reads */

static bool comparable(const neo_module *m, const neo_def_rec *d) {
  if (d->finish.n != 1 || d->out_map.n ||
      neo_expr_uses_op(m, neo_list_expr(m, d->finish, 0), NEO_OP_RAND))
    return false;
  if (!d->body.n)
    return true;
  neo_expr body = neo_list_expr(m, d->body, 0);
  return neo_expr_type(m, body) == NEO_F32_T && !neo_expr_uses_op(m, body, NEO_OP_RAND);
}

static size_t compare(other *o, const neo_def_rec *d, int64_t limit) {
  neo_tensor t = {neo_list_at(o->g->m, d->out, 0)};
  const neo_values *v = neo_interp_tensor(o->p, t);
  const double *error = neo_interp_errors(o->p, t);
  neo_type type = (neo_type)neo_tensor_at(o->g->m, t)->type;
  size_t sure = 0;
  for (int64_t at = 0; at < v->n && at < limit; at++) {
    int64_t rest = at;
    for (uint32_t k = d->n_out; k > 0; k--) {
      o->axis[k - 1] = rest % v->extent[k - 1];
      rest /= v->extent[k - 1];
    }
    if (d->body.n && !reduce(o, d))
      continue;
    neo_value got = eval(o, neo_list_expr(o->g->m, d->finish, 0));
    if (!neo_gen_same(type, v->at[at], error[at], got)) {
      neo_str text;
      neo_str_init(&text, o->g->m->arena);
      neo_gen_print(o->g, &text);
      fail_msg("%s element %lld: %.9g, not %.9g within %.3g\n%s",
               neo_name_text(o->g->m->names, neo_tensor_at(o->g->m, t)->name), (long long)at, got.f,
               v->at[at].f, error[at], neo_str_text(&text));
    }
    sure += isfinite(error[at]) != 0;
  }
  return sure;
}

/* Reads must be certain for a definition to be judged alone: the inputs of a chain's first link. */
static bool reads_inputs_only(const neo_module *m, neo_def d, neo_arena *a) {
  neo_tensor *read;
  size_t n = neo_def_reads(m, d, a, &read);
  for (size_t k = 0; k < n; k++)
    if (neo_tensor_at(m, read[k])->role == NEO_ROLE_TEMP)
      return false;
  return true;
}

static void a_second_evaluator_stays_within_the_bounds(void **state) {
  neo_gen_options options = neo_gen_default;
  size_t sure = 0;
  (void)state;
  options.has &= ~(uint32_t)(NEO_GEN_TYPES | NEO_GEN_SPECIAL | NEO_GEN_PARAMS);
  for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = neo_gen_make(&a, seed, &options);
    other *o = neo_arena_alloc(&a, sizeof *o);
    *o = (other){.g = &g, .p = neo_gen_interp(&a, &g)};
    assert_int_equal(neo_interp_run(o->p, 0, &why), NEO_OK);
    for (uint32_t d = 1; d < g.m->defs.n; d++) {
      neo_def_rec rec = *neo_def_at(g.m, (neo_def){d});
      neo_tensor out = {neo_list_at(g.m, rec.out, 0)};
      bool known = neo_interp_errors(o->p, out) != NULL;
      if (known && comparable(g.m, &rec) && reads_inputs_only(g.m, (neo_def){d}, &a))
        sure += compare(o, &rec, 40);
    }
    neo_arena_free(&a);
  }
  assert_true(sure > 2000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_second_evaluator_stays_within_the_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

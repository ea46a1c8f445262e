/* See scatter.h. A point is evaluated by recursion with a memory of the nodes seen at it; adjoints
 * go down every path of an expression by recursion. Slow, and short enough to be read. */
#include "tests/random/scatter.h"
#include "ir/out_map.h"
#include <assert.h>
#include <math.h>

typedef struct {
  neo_arena *arena;
  neo_module *m;
  neo_interp *p;
  const int64_t *size;
  double **adjoint;
  /* the point */
  neo_def_rec d;
  int64_t axis[64];
  neo_value acc[2];
  double acc_adjoint;
  neo_value *value; /* by node */
  uint64_t *stamp, now;
  int64_t points;
} scatter;

/* ---- values */

static neo_value eval(scatter *s, neo_expr e);

/* Place of the element that a read takes, -1 outside. */
static int64_t place(scatter *s, neo_node n) {
  const neo_values *v = neo_interp_tensor(s->p, (neo_tensor){n.attr});
  int64_t at = 0;
  for (uint32_t k = 0; k < v->rank; k++) {
    int64_t i = eval(s, neo_list_expr(s->m, n.arg, k)).i;
    if (i < 0 || i >= v->extent[k])
      return -1;
    at = at * v->extent[k] + i;
  }
  return at;
}

static neo_value read(scatter *s, neo_node n) {
  int64_t at = place(s, n);
  if (at < 0 && n.op == NEO_OP_LOAD_ELSE)
    return eval(s, neo_list_expr(s->m, n.arg, n.arg.n - 1));
  assert(at >= 0 && "a read out of range");
  return neo_interp_tensor(s->p, (neo_tensor){n.attr})->at[at];
}

static neo_value constant(scatter *s, neo_expr e, neo_type t) {
  neo_value v = {.i = 0};
  if (neo_type_is_float(t))
    (void)neo_expr_is_float(s->m, e, &v.f);
  else
    (void)neo_expr_is_int(s->m, e, &v.i);
  return v;
}

static neo_value compute(scatter *s, neo_expr e) {
  neo_node n = *neo_expr_node(s->m, e);
  neo_value x[3] = {{.i = 0}};
  switch ((neo_op)n.op) {
  case NEO_OP_CONST:
    return constant(s, e, (neo_type)n.type);
  case NEO_OP_AXIS:
    return (neo_value){.i = s->axis[n.attr]};
  case NEO_OP_SIZE:
    return (neo_value){.i = s->size[n.attr]};
  case NEO_OP_ACC:
    return s->acc[n.attr];
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    return read(s, n);
  case NEO_OP_AND:
    x[0] = eval(s, neo_list_expr(s->m, n.arg, 0));
    return x[0].i ? eval(s, neo_list_expr(s->m, n.arg, 1)) : x[0];
  case NEO_OP_OR:
    x[0] = eval(s, neo_list_expr(s->m, n.arg, 0));
    return x[0].i ? x[0] : eval(s, neo_list_expr(s->m, n.arg, 1));
  case NEO_OP_SELECT:
    x[0] = eval(s, neo_list_expr(s->m, n.arg, 0));
    return eval(s, neo_list_expr(s->m, n.arg, x[0].i ? 1 : 2));
  default:
    for (uint32_t k = 0; k < n.arg.n; k++)
      x[k] = eval(s, neo_list_expr(s->m, n.arg, k));
    neo_type t = neo_expr_type(s->m, neo_list_expr(s->m, n.arg, 0));
    return neo_value_op((neo_op)n.op, (neo_type)n.type, t, x);
  }
}

static neo_value eval(scatter *s, neo_expr e) {
  if (s->stamp[e.i] != s->now) {
    s->value[e.i] = compute(s, e);
    s->stamp[e.i] = s->now;
  }
  return s->value[e.i];
}

/* ---- points */

typedef void visit(scatter *s, void *ctx);

/* Axes from k to `end` in order; `where` is the visitor's. */
static void loop(scatter *s, uint32_t k, uint32_t end, visit *f, void *ctx) {
  if (k == end) {
    s->now++;
    f(s, ctx);
    return;
  }
  neo_axis_rec a = *neo_def_axis(s->m, &s->d, k);
  s->now++;
  int64_t lo = eval(s, a.lo).i, hi = eval(s, a.hi).i;
  for (int64_t x = lo; x < hi; x++) {
    s->axis[k] = x;
    loop(s, k + 1, end, f, ctx);
  }
  s->now++;
}

static bool taken(scatter *s) {
  s->points++;
  return !s->d.where.i || eval(s, s->d.where).i;
}

/* ---- reducing */

typedef struct {
  double sum, product;
  int64_t n, best_n; /* points taken; the winner among them */
  neo_value best, picked;
  bool any, all;
} reduction;

static bool is_better(const scatter *s, neo_type t, neo_value x, neo_value best) {
  bool most = s->d.reducer == NEO_RED_MAX;
  if (neo_type_is_float(t))
    return most ? x.f > best.f : x.f < best.f;
  return most ? x.i > best.i : x.i < best.i;
}

static void reduce_point(scatter *s, void *ctx) {
  reduction *r = ctx;
  neo_expr body = neo_list_expr(s->m, s->d.body, 0);
  neo_type t = neo_expr_type(s->m, body);
  if (!taken(s))
    return;
  neo_value x = eval(s, body);
  double f = neo_type_is_float(t) ? x.f : (double)x.i;
  r->sum += f;
  r->product *= f;
  r->any = r->any || x.i;
  r->all = r->all && x.i;
  if (r->n == 0 || is_better(s, t, x, r->best)) {
    r->best = x;
    r->best_n = r->n;
    r->picked.i = s->d.body.n > 1 ? eval(s, neo_list_expr(s->m, s->d.body, 1)).i : 0;
  }
  r->n++;
}

static neo_value number(neo_type t, double x) {
  return neo_type_is_float(t) ? (neo_value){.f = x} : (neo_value){.i = (int64_t)x};
}

static reduction reduce(scatter *s) {
  reduction r = {.product = 1, .all = true};
  loop(s, s->d.n_out, s->d.axes.n, reduce_point, &r);
  neo_type t = neo_expr_type(s->m, neo_list_expr(s->m, s->d.body, 0));
  s->acc[1] = r.picked;
  switch ((neo_reducer)s->d.reducer) {
  case NEO_RED_SUM:
    s->acc[0] = number(t, r.sum);
    break;
  case NEO_RED_MEAN:
    s->acc[0] = number(t, r.sum / (double)r.n);
    s->acc[1].i = r.n;
    break;
  case NEO_RED_PROD:
    s->acc[0] = number(t, r.product);
    break;
  case NEO_RED_MAX:
  case NEO_RED_MIN:
    s->acc[0] = r.n ? r.best : number(t, s->d.reducer == NEO_RED_MAX ? -INFINITY : INFINITY);
    break;
  case NEO_RED_ANY:
    s->acc[0].i = r.any;
    break;
  case NEO_RED_ALL:
    s->acc[0].i = r.all;
    break;
  default:
    assert(false && "a reducer that is not exact");
  }
  return r;
}

/* ---- adjoints of expressions at a point */

static void push(scatter *s, neo_expr e, double g);

static void push_arg(scatter *s, neo_node n, uint32_t k, double g) {
  push(s, neo_list_expr(s->m, n.arg, k), g);
}

static double arg(scatter *s, neo_node n, uint32_t k) {
  return eval(s, neo_list_expr(s->m, n.arg, k)).f;
}

static void push_read(scatter *s, neo_node n, double g) {
  int64_t at = place(s, n), size = neo_interp_tensor(s->p, (neo_tensor){n.attr})->n;
  if (at < 0) {
    push_arg(s, n, n.arg.n - 1, g);
    return;
  }
  if (!s->adjoint[n.attr])
    s->adjoint[n.attr] = NEO_NEW_ARRAY(s->arena, double, size + 1);
  s->adjoint[n.attr][at] += g;
}

/* Operators of two arguments. */
static void push_two(scatter *s, neo_node n, double g) {
  double x = arg(s, n, 0), y = arg(s, n, 1);
  switch ((neo_op)n.op) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    push_arg(s, n, 0, g);
    push_arg(s, n, 1, n.op == NEO_OP_ADD ? g : -g);
    return;
  case NEO_OP_MUL:
    push_arg(s, n, 0, g * y);
    push_arg(s, n, 1, g * x);
    return;
  case NEO_OP_DIV:
    push_arg(s, n, 0, g / y);
    push_arg(s, n, 1, -g * x / (y * y));
    return;
  case NEO_OP_MAX: /* the first of equals */
    push_arg(s, n, y <= x ? 0 : 1, g);
    return;
  case NEO_OP_MIN:
    push_arg(s, n, x <= y ? 0 : 1, g);
    return;
  default:
    assert(false && "an operator that is not exact");
  }
}

static void push(scatter *s, neo_expr e, double g) {
  neo_node n = *neo_expr_node(s->m, e);
  if (g == 0 || !neo_type_is_float((neo_type)n.type))
    return;
  switch ((neo_op)n.op) {
  case NEO_OP_CONST:
  case NEO_OP_STOP:
    return;
  case NEO_OP_ACC:
    s->acc_adjoint += g;
    return;
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    push_read(s, n, g);
    return;
  case NEO_OP_NEG:
    push_arg(s, n, 0, -g);
    return;
  case NEO_OP_ABS:
    push_arg(s, n, 0, arg(s, n, 0) > 0 ? g : arg(s, n, 0) < 0 ? -g : 0);
    return;
  case NEO_OP_RELU:
    push_arg(s, n, 0, arg(s, n, 0) > 0 ? g : 0);
    return;
  case NEO_OP_CAST:
    push_arg(s, n, 0, g);
    return;
  case NEO_OP_SELECT:
    push_arg(s, n, eval(s, neo_list_expr(s->m, n.arg, 0)).i ? 1 : 2, g);
    return;
  default:
    push_two(s, n, g);
  }
}

/* ---- definitions */

typedef struct {
  reduction r;
  double g; /* adjoint of the accumulator */
  int64_t n;
  double *others; /* product of all bodies but the n-th */
} backward;

typedef struct {
  double *of;
  int64_t n, skip;
} product;

static void multiply(scatter *s, void *ctx) {
  product *p = ctx;
  if (!taken(s))
    return;
  if (p->n++ != p->skip)
    *p->of *= eval(s, neo_list_expr(s->m, s->d.body, 0)).f;
}

static void push_point(scatter *s, void *ctx) {
  backward *b = ctx;
  if (!taken(s))
    return;
  double g = b->g;
  if (s->d.reducer == NEO_RED_MEAN)
    g /= (double)b->r.n;
  if (s->d.reducer == NEO_RED_MAX || s->d.reducer == NEO_RED_MIN)
    g = b->n == b->r.best_n ? g : 0;
  if (s->d.reducer == NEO_RED_PROD)
    g *= b->others[b->n];
  b->n++;
  push(s, neo_list_expr(s->m, s->d.body, 0), g);
}

static void backward_body(scatter *s, reduction r, double g) {
  backward b = {.r = r, .g = g};
  if (s->d.reducer == NEO_RED_PROD) {
    b.others = NEO_NEW_ARRAY(s->arena, double, r.n + 1);
    for (int64_t k = 0; k < r.n; k++) {
      b.others[k] = 1;
      loop(s, s->d.n_out, s->d.axes.n, multiply, &(product){&b.others[k], 0, k});
    }
  }
  loop(s, s->d.n_out, s->d.axes.n, push_point, &b);
}

/* Place in the outputs of the point at hand. */
static int64_t out_place(scatter *s) {
  const neo_values *v = neo_interp_tensor(s->p, (neo_tensor){neo_list_at(s->m, s->d.out, 0)});
  int64_t at = 0;
  for (uint32_t k = 0; k < s->d.n_out; k++) {
    neo_out_dim p = neo_out_map_at(s->m, s->d.out_map, k);
    int64_t i = s->axis[k] * p.stride + p.offset;
    at = at * v->extent[k] + i;
  }
  return at;
}

static void backward_point(scatter *s, void *ctx) {
  (void)ctx;
  int64_t at = out_place(s), axis[64];
  reduction r = {0};
  for (uint32_t k = 0; k < s->d.n_out; k++)
    axis[k] = s->axis[k];
  if (s->d.reducer != NEO_RED_NONE)
    r = reduce(s);
  s->now++;
  s->acc_adjoint = 0;
  for (uint32_t k = 0; k < s->d.out.n; k++) {
    const double *g = s->adjoint[neo_list_at(s->m, s->d.out, k)];
    if (g)
      push(s, neo_list_expr(s->m, s->d.finish, k), g[at]);
  }
  if (s->d.reducer != NEO_RED_NONE && s->acc_adjoint != 0)
    backward_body(s, r, s->acc_adjoint);
  for (uint32_t k = 0; k < s->d.n_out; k++)
    s->axis[k] = axis[k];
}

static scatter scatter_new(neo_arena *a, neo_module *m, neo_interp *p, const int64_t *sizes) {
  scatter s = {.arena = a, .m = m, .p = p, .size = sizes, .now = 1};
  s.value = NEO_NEW_ARRAY(a, neo_value, m->nodes.n);
  s.stamp = NEO_NEW_ARRAY(a, uint64_t, m->nodes.n);
  s.adjoint = NEO_NEW_ARRAY(a, double *, m->tensors.n);
  return s;
}

double **neo_scatter(neo_arena *a, neo_module *m, neo_interp *p, const int64_t *sizes, neo_tensor y,
                     const double *seed) {
  scatter s = scatter_new(a, m, p, sizes);
  int64_t n = neo_interp_tensor(p, y)->n;
  s.adjoint[y.i] = NEO_NEW_ARRAY(a, double, n + 1);
  for (int64_t k = 0; k < n; k++)
    s.adjoint[y.i][k] = seed ? seed[k] : 1;
  neo_def *order;
  size_t n_order = neo_module_topo(m, &y, 1, a, &order, NULL);
  while (n_order-- > 0) {
    s.d = *neo_def_at(m, order[n_order]);
    loop(&s, 0, s.d.n_out, backward_point, NULL);
  }
  return s.adjoint;
}

static void count_point(scatter *s, void *ctx) {
  (void)ctx;
  s->points++;
}

int64_t neo_scatter_points(neo_arena *a, neo_module *m, neo_interp *p, const int64_t *sizes,
                           neo_def d) {
  scatter s = scatter_new(a, m, p, sizes);
  s.d = *neo_def_at(m, d);
  loop(&s, 0, s.d.axes.n, count_point, NULL);
  return s.points;
}

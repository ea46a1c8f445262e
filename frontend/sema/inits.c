/* Distributions of initial values: uniform, normal, glorot, he. Each use has its own random sites.
 *
 *   glorot(i, o)  uniform in +-sqrt(6/(i + o))   Glorot, Bengio: Understanding the difficulty of
 *                                                training deep feedforward neural networks, 2010
 *   he(i)         normal, deviation sqrt(2/i)    He et al.: Delving deep into rectifiers, 2015
 *   normal        Box, Muller: A note on the generation of random normal deviates, 1958:
 *                 sqrt(-2 log(1 - u)) * cos(2 pi v); u, v in [0, 1): the logarithm is finite */
#include "frontend/sema/parts.h"
#include <math.h>

typedef struct {
  const char *name;
  uint32_t arity;
} init_row;

static const init_row rows[] = {{"uniform", 2}, {"normal", 2}, {"glorot", 2}, {"he", 1}};

enum { UNIFORM, NORMAL, GLOROT, HE, N_ROWS };

static neo_expr real(neo_frame *f, double x) {
  return neo_const_float(f->m, NEO_F32_T, x);
}

static neo_expr mul(neo_frame *f, neo_expr a, neo_expr b) {
  return neo_op2(f->m, NEO_OP_MUL, a, b);
}

static neo_expr add(neo_frame *f, neo_expr a, neo_expr b) {
  return neo_op2(f->m, NEO_OP_ADD, a, b);
}

/* An argument as f32: a number, or a size. */
neo_expr neo_init_argument(neo_frame *f, neo_span at, neo_val v) {
  if (v.kind == NEO_VAL_EXPR && v.index)
    v = neo_val_expr(neo_cast(f->m, NEO_F32_T, v.e));
  int64_t x;
  if (v.kind == NEO_VAL_EXPR && neo_expr_node(f->m, v.e)->op == NEO_OP_CAST &&
      neo_expr_is_int(f->m, neo_expr_arg(f->m, v.e, 0), &x))
    return real(f, (double)x);
  return neo_val_as(f, at, v, NEO_F32_T);
}

static neo_expr uniform(neo_frame *f, neo_expr lo, neo_expr hi) {
  return add(f, lo, mul(f, neo_op2(f->m, NEO_OP_SUB, hi, lo), neo_rand_make(f)));
}

static bool is_real(neo_frame *f, neo_expr e, double x) {
  double y;
  return neo_expr_is_float(f->m, e, &y) && x == y;
}

static neo_expr normal(neo_frame *f, neo_expr mean, neo_expr deviation) {
  neo_expr u = neo_rand_make(f), v = neo_rand_make(f);
  neo_expr log_u = neo_op1(f->m, NEO_OP_LOG, neo_op2(f->m, NEO_OP_SUB, real(f, 1), u));
  neo_expr radius = neo_op1(f->m, NEO_OP_SQRT, mul(f, real(f, -2), log_u));
  neo_expr angle = neo_op1(f->m, NEO_OP_COS, mul(f, real(f, 2 * M_PI), v));
  neo_expr x = mul(f, radius, angle);
  if (!is_real(f, deviation, 1))
    x = mul(f, deviation, x);
  return is_real(f, mean, 0) ? x : add(f, x, mean);
}

static neo_expr root_of(neo_frame *f, double over, neo_expr n) {
  double x;
  if (neo_expr_is_float(f->m, n, &x))
    return real(f, sqrt(over / x));
  return neo_op1(f->m, NEO_OP_SQRT, neo_op2(f->m, NEO_OP_DIV, real(f, over), n));
}

static neo_expr sum_of(neo_frame *f, neo_expr a, neo_expr b) {
  double x, y;
  if (neo_expr_is_float(f->m, a, &x) && neo_expr_is_float(f->m, b, &y))
    return real(f, x + y);
  return add(f, a, b);
}

static neo_expr distribution(neo_frame *f, uint32_t which, const neo_expr *a) {
  switch (which) {
  case UNIFORM:
    return uniform(f, a[0], a[1]);
  case NORMAL:
    return normal(f, a[0], a[1]);
  case GLOROT: {
    neo_expr limit = root_of(f, 6, sum_of(f, a[0], a[1]));
    return uniform(f, neo_op1(f->m, NEO_OP_NEG, limit), limit);
  }
  default:
    return normal(f, real(f, 0), root_of(f, 2, a[0]));
  }
}

bool neo_init_is(const char *name) {
  for (uint32_t k = 0; k < N_ROWS; k++)
    if (neo_streq(rows[k].name, name))
      return true;
  return false;
}

static uint32_t row_of(const char *name) {
  uint32_t which = 0;
  while (!neo_streq(rows[which].name, name))
    which++;
  return which;
}

bool neo_init_count(neo_frame *f, const neo_ast_expr *e, const char *name) {
  uint32_t arity = rows[row_of(name)].arity;
  if (!f->init) {
    int h = NEO_ERR(f->in, e->span, INIT_PLACE, name);
    neo_diag_help(f->fe->diags, h, "elsewhere, write an expression of rand()");
    return false;
  }
  if (e->u.ref.args.n == arity)
    return true;
  NEO_ERR(f->in, e->span, ARGUMENT_COUNT, name, (int)arity, (int)e->u.ref.args.n);
  return false;
}

neo_val neo_init_apply(neo_frame *f, const char *name, const neo_expr *a) {
  neo_val v = neo_val_expr(distribution(f, row_of(name), a));
  v.index = true; /* takes the type of the tensor that it initialises */
  return v;
}

/* Index arithmetic: sums of multiples, so that unrolled copies differ in a constant and lanes in
 * whole steps. Terms are added from the outermost loop inwards, which lets invariant partial sums
 * move out of loops. Quotients and remainders by constants are split where the divisible part is
 * known: (16*i + l) / 8 is 2*i + l/8. What they make of the lanes is a constant pattern: for lanes
 * l in 0..4, (16*i + l) / 2 is 8*i + {0, 0, 1, 1}. */
#include "base/whole.h"
#include "codegen/llvm/gen.h"
#include <assert.h>
#include <string.h>

enum { MAX_TERMS = sizeof((neo_ll_lin *)0)->t / sizeof((neo_ll_lin *)0)->t[0] };

static bool mul_over(int64_t a, int64_t b, int64_t *out) {
  return __builtin_mul_overflow(a, b, out);
}

static bool add_over(int64_t a, int64_t b, int64_t *out) {
  return __builtin_add_overflow(a, b, out);
}

static bool add_multiple(neo_ll_lin *x, LLVMValueRef v, int64_t coef, uint32_t depth,
                         int64_t multiple) {
  uint32_t at = 0;
  for (uint32_t k = 0; k < x->n; k++)
    if (x->t[k].v == v)
      return !add_over(x->t[k].coef, coef, &x->t[k].coef);
  if (x->n == MAX_TERMS)
    return false;
  while (at < x->n && x->t[at].depth <= depth)
    at++;
  memmove(&x->t[at + 1], &x->t[at], (x->n - at) * sizeof x->t[0]);
  x->t[at].v = v;
  x->t[at].coef = coef;
  x->t[at].depth = depth;
  x->t[at].multiple = multiple;
  x->n++;
  return true;
}

static bool add_term(neo_ll_lin *x, LLVMValueRef v, int64_t coef, uint32_t depth) {
  return add_multiple(x, v, coef, depth, 1);
}

int64_t neo_ll_lane_offset(const neo_ll_lin *x, uint32_t lane) {
  return x->step * (int64_t)lane + (x->pattern ? x->pattern[lane] : 0);
}

static bool is_constant(const neo_ll_lin *x) {
  if (x->step || x->stride || x->pattern)
    return false;
  for (uint32_t k = 0; k < x->n; k++)
    if (x->t[k].coef)
      return false;
  return true;
}

static LLVMValueRef times(neo_ll_gen *g, LLVMValueRef v, int64_t c) {
  return c == 1 ? v : LLVMBuildMul(g->l->b, v, neo_ll_int64(g->l, c), "");
}

static LLVMValueRef plus(neo_ll_gen *g, LLVMValueRef a, LLVMValueRef b) {
  return a && b ? LLVMBuildAdd(g->l->b, a, b, "") : a ? a : b;
}

/* x's lanes from lane 0 on: what is no multiple of the lane is its pattern. False: too far. */
static bool set_lanes(neo_ll_gen *g, neo_ll_lin *x, const int64_t *offset) {
  int64_t step = g->width > 1 ? offset[1] - offset[0] : 0, *pattern = NULL;
  for (uint32_t k = 0; k < g->width; k++) {
    if (offset[k] > INT32_MAX || offset[k] < INT32_MIN)
      return false;
    if (offset[k] - offset[0] != step * (int64_t)k && !pattern)
      pattern = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width);
  }
  x->c += offset[0];
  x->step = pattern ? 0 : step;
  x->pattern = pattern;
  for (uint32_t k = 0; pattern && k < g->width; k++)
    pattern[k] = offset[k] - offset[0];
  return true;
}

/* z's lanes are those of x + k*y. */
static bool add_lanes(neo_ll_gen *g, const neo_ll_lin *x, int64_t k, const neo_ll_lin *y,
                      neo_ll_lin *z) {
  int64_t *offset = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width), far;
  for (uint32_t i = 0; i < g->width; i++) {
    if (mul_over(k, neo_ll_lane_offset(y, i), &far))
      return false;
    if (add_over(far, neo_ll_lane_offset(x, i), &offset[i]))
      return false;
  }
  return set_lanes(g, z, offset);
}

/* out = x + k*y */
static bool add_scaled(neo_ll_gen *g, const neo_ll_lin *x, int64_t k, const neo_ll_lin *y,
                       neo_ll_lin *out) {
  int64_t c;
  neo_ll_lin z = *x;
  if (mul_over(k, y->c, &c) || add_over(z.c, c, &z.c))
    return false;
  if (mul_over(k, y->step, &c) || add_over(z.step, c, &z.step))
    return false;
  if (y->stride)
    z.stride = plus(g, z.stride, times(g, y->stride, k));
  for (uint32_t i = 0; i < y->n; i++)
    if (mul_over(k, y->t[i].coef, &c) ||
        !add_multiple(&z, y->t[i].v, c, y->t[i].depth, y->t[i].multiple))
      return false;
  if ((x->pattern || y->pattern) && !add_lanes(g, x, k, y, &z))
    return false;
  *out = z;
  return true;
}

LLVMValueRef neo_ll_linear_value(neo_ll_gen *g, const neo_ll_lin *x, bool with_constant,
                                 uint32_t *depth) {
  LLVMValueRef sum = NULL;
  if (depth)
    *depth = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    if (!x->t[k].coef)
      continue;
    sum = plus(g, sum, times(g, x->t[k].v, x->t[k].coef));
    if (depth && x->t[k].depth > *depth)
      *depth = x->t[k].depth;
  }
  if (with_constant && (x->c || !sum))
    sum = plus(g, sum, neo_ll_int64(g->l, x->c));
  return sum;
}

/* x * v for a uniform v: each term by itself. */
static bool distribute(neo_ll_gen *g, const neo_ll_lin *x, LLVMValueRef v, uint32_t depth,
                       neo_ll_lin *out) {
  neo_ll_lin z = {0};
  if (x->pattern)
    return false;
  if (x->c && !add_term(&z, v, x->c, depth))
    return false;
  for (uint32_t k = 0; k < x->n; k++) {
    LLVMValueRef p = LLVMBuildMul(g->l->b, x->t[k].v, v, "");
    if (!add_term(&z, p, x->t[k].coef, depth > x->t[k].depth ? depth : x->t[k].depth))
      return false;
  }
  LLVMValueRef stride = plus(g, x->step ? times(g, v, x->step) : NULL,
                             x->stride ? LLVMBuildMul(g->l->b, x->stride, v, "") : NULL);
  z.stride = stride;
  *out = z;
  return true;
}

static bool multiply(neo_ll_gen *g, const neo_ll_lin *x, const neo_ll_lin *y, neo_ll_lin *out) {
  neo_ll_lin zero = {0};
  if (is_constant(x))
    return add_scaled(g, &zero, x->c, y, out);
  if (is_constant(y))
    return add_scaled(g, &zero, y->c, x, out);
  bool x_lanes = x->step || x->stride || x->pattern, y_lanes = y->step || y->stride || y->pattern;
  if (x_lanes && y_lanes)
    return false;
  const neo_ll_lin *uniform = x_lanes ? y : y_lanes || y->n > x->n ? x : y;
  uint32_t depth;
  LLVMValueRef v = neo_ll_linear_value(g, uniform, true, &depth);
  return distribute(g, uniform == x ? y : x, v, depth, out);
}

/* coef*v / d for a v that is a multiple of m, d dividing coef*m. */
static bool add_quotient(neo_ll_gen *g, neo_ll_lin *q, LLVMValueRef v, int64_t coef, int64_t d,
                         uint32_t depth, int64_t m) {
  if (coef % d == 0)
    return add_multiple(q, v, coef / d, depth, m);
  int64_t by = d / neo_gcd(coef, d);
  v = LLVMBuildExactSDiv(g->l->b, v, neo_ll_int64(g->l, by), "");
  return add_multiple(q, v, coef / (d / by), depth, m / by);
}

/* x = d*q + r, with q a sum and r a constant in [0, d) for each lane. False: terms are not
 * divisible. */
static bool split(neo_ll_gen *g, const neo_ll_lin *x, int64_t d, neo_ll_lin *q, neo_ll_lin *r) {
  neo_ll_lin zero = {0};
  int64_t all, whole;
  if (x->stride || d <= 0)
    return false;
  *q = *r = zero;
  for (uint32_t k = 0; k < x->n; k++)
    if (mul_over(x->t[k].coef, x->t[k].multiple, &all) || all % d)
      return false;
  int64_t *quotient = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width);
  int64_t *rest = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width);
  whole = x->c - ((x->c % d) + d) % d;
  for (uint32_t k = 0; k < g->width; k++) {
    int64_t at;
    if (add_over(x->c - whole, neo_ll_lane_offset(x, k), &at))
      return false;
    rest[k] = ((at % d) + d) % d;
    quotient[k] = (at - rest[k]) / d;
  }
  q->c = whole / d;
  if (!set_lanes(g, q, quotient) || !set_lanes(g, r, rest))
    return false;
  for (uint32_t k = 0; k < x->n; k++)
    if (!add_quotient(g, q, x->t[k].v, x->t[k].coef, d, x->t[k].depth, x->t[k].multiple))
      return false;
  return true;
}

static bool opaque(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  neo_ll_val v = neo_ll_expr(g, e);
  neo_ll_lin z = {0};
  if (v.lanes)
    return false;
  if (LLVMIsAConstantInt(v.v)) {
    z.c = LLVMConstIntGetSExtValue(v.v);
    *out = z;
    return true;
  }
  *out = z;
  return add_term(out, v.v, 1, v.depth);
}

static bool variable(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  const neo_ll_var *v = &g->var[e->attr];
  neo_ll_lin z = {0};
  *out = z;
  switch (v->kind) {
  case NEO_LL_FIXED:
    out->c = v->fixed;
    return true;
  case NEO_LL_LANE:
    out->c = v->fixed;
    out->step = 1;
    return true;
  case NEO_LL_LOOP:
    return add_multiple(out, v->v, 1, v->depth, v->multiple > 0 ? v->multiple : 1);
  default:
    assert(0 && "a variable of an enclosing loop");
    return false;
  }
}

/* The form of an operator, or false if it has none of its own. */
static bool operation(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  neo_ll_lin x, y, q, r, zero = {0};
  neo_op op = (neo_op)e->attr;
  if (e->n == 0 || !neo_ll_linear(g, e->arg[0], &x))
    return false;
  if (op == NEO_OP_NEG)
    return add_scaled(g, &zero, -1, &x, out);
  if (e->n != 2 || !neo_ll_linear(g, e->arg[1], &y))
    return false;
  switch (op) {
  case NEO_OP_ADD:
    return add_scaled(g, &x, 1, &y, out);
  case NEO_OP_SUB:
    return add_scaled(g, &x, -1, &y, out);
  case NEO_OP_MUL:
    return multiply(g, &x, &y, out);
  case NEO_OP_DIV:
  case NEO_OP_MOD:
    if (!is_constant(&y) || !split(g, &x, y.c, &q, &r))
      return false;
    *out = op == NEO_OP_DIV ? q : r;
    return true;
  default:
    return false;
  }
}

static bool has_form(const neo_lx *e) {
  if (e->kind != NEO_LX_OP || e->type != NEO_I64_T)
    return false;
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_MOD:
  case NEO_OP_NEG:
    return true;
  default:
    return false;
  }
}

/* A failure is remembered: trying again at every level would take exponential time. */
bool neo_ll_linear_form(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  if (!has_form(e) || g->memo[e->id].no_form == g->stamp)
    return false;
  if (operation(g, e, out))
    return true;
  g->memo[e->id].no_form = g->stamp;
  return false;
}

bool neo_ll_linear(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  int64_t c;
  neo_ll_lin z = {0};
  if (neo_lx_is_int(e, &c)) {
    *out = z;
    out->c = c;
    return true;
  }
  if (e->kind == NEO_LX_VAR)
    return variable(g, e, out);
  return neo_ll_linear_form(g, e, out) || opaque(g, e, out);
}

/* ---- facts about index expressions */

int64_t neo_ll_multiple(neo_ll_gen *g, const neo_lx *e) {
  int64_t x, y, z;
  if (neo_lx_is_int(e, &x))
    return x;
  if (e->kind == NEO_LX_VAR) {
    const neo_ll_var *v = &g->var[e->attr];
    return v->kind == NEO_LL_LOOP ? v->multiple : v->fixed;
  }
  if (e->kind != NEO_LX_OP || e->n != 2)
    return 1;
  x = neo_ll_multiple(g, e->arg[0]);
  y = neo_ll_multiple(g, e->arg[1]);
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_MOD:
    return neo_gcd(x, y);
  case NEO_OP_MUL:
    return mul_over(x, y, &z) ? 1 : z;
  default:
    return 1;
  }
}

bool neo_ll_nonneg(neo_ll_gen *g, const neo_lx *e) {
  int64_t x;
  if (neo_lx_is_int(e, &x))
    return x >= 0;
  if (e->kind == NEO_LX_SIZE)
    return true;
  if (e->kind == NEO_LX_VAR) {
    const neo_ll_var *v = &g->var[e->attr];
    return v->kind == NEO_LL_FIXED ? v->fixed >= 0 : v->kind == NEO_LL_LANE || v->nonneg;
  }
  if (e->kind != NEO_LX_OP || e->n != 2)
    return false;
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_MIN:
    return neo_ll_nonneg(g, e->arg[0]) && neo_ll_nonneg(g, e->arg[1]);
  case NEO_OP_MOD:
    return neo_ll_nonneg(g, e->arg[1]);
  case NEO_OP_MAX:
    return neo_ll_nonneg(g, e->arg[0]) || neo_ll_nonneg(g, e->arg[1]);
  default:
    return false;
  }
}

static int64_t least_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* x + y or x * y of two bounds, none of which is negative. */
static int64_t bound_of(neo_op op, int64_t x, int64_t y) {
  int64_t z;
  bool wraps =
      op == NEO_OP_ADD ? __builtin_add_overflow(x, y, &z) : __builtin_mul_overflow(x, y, &z);
  return wraps ? INT64_MAX : z;
}

int64_t neo_ll_most(neo_ll_gen *g, const neo_lx *e) {
  int64_t x, y, c;
  if (neo_lx_is_int(e, &x))
    return x;
  if (e->kind == NEO_LX_VAR && g->var[e->attr].kind == NEO_LL_FIXED)
    return g->var[e->attr].fixed;
  if (e->kind == NEO_LX_VAR && g->var[e->attr].kind == NEO_LL_LANE)
    return g->var[e->attr].fixed + (int64_t)g->width - 1;
  if (e->kind == NEO_LX_VAR && g->var[e->attr].kind == NEO_LL_LOOP && g->var[e->attr].most > 0)
    return g->var[e->attr].most;
  if (e->kind != NEO_LX_OP || e->n != 2 || !neo_ll_nonneg(g, e->arg[0]) ||
      !neo_ll_nonneg(g, e->arg[1]))
    return INT64_MAX;
  x = neo_ll_most(g, e->arg[0]);
  y = neo_ll_most(g, e->arg[1]);
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_MUL:
    return bound_of((neo_op)e->attr, x, y);
  case NEO_OP_DIV:
    return neo_lx_is_int(e->arg[1], &c) && c > 0 && x < INT64_MAX ? x / c : x;
  case NEO_OP_MOD:
    return least_of(x, y < INT64_MAX && y > 0 ? y - 1 : y);
  case NEO_OP_MIN:
    return least_of(x, y);
  case NEO_OP_MAX:
    return x > y ? x : y;
  default:
    return INT64_MAX;
  }
}

/* ---- neighbours */

enum { MOST_PARTS = 32 };

typedef struct {
  const neo_lx *at[MOST_PARTS];
  uint32_t n;
} parts;

static bool add_parts(const neo_lx *e, parts *p) {
  if (e->kind == NEO_LX_OP && e->attr == NEO_OP_ADD)
    return add_parts(e->arg[0], p) && add_parts(e->arg[1], p);
  if (p->n == MOST_PARTS)
    return false;
  p->at[p->n++] = e;
  return true;
}

/* Takes one that both have from both. */
static bool cancel(parts *a, parts *b) {
  for (uint32_t i = 0; i < a->n; i++)
    for (uint32_t k = 0; k < b->n; k++)
      if (a->at[i] == b->at[k]) {
        a->at[i] = a->at[--a->n];
        b->at[k] = b->at[--b->n];
        return true;
      }
  return false;
}

static bool add_all(neo_ll_gen *g, const parts *p, int64_t sign, neo_ll_lin *sum) {
  for (uint32_t k = 0; k < p->n; k++) {
    neo_ll_lin x, before = *sum;
    if (!neo_ll_linear(g, p->at[k], &x) || !add_scaled(g, &before, sign, &x, sum))
      return false;
  }
  return true;
}

bool neo_ll_is_next(neo_ll_gen *g, const neo_lx *a, const neo_lx *b) {
  parts x = {.n = 0}, y = {.n = 0};
  neo_ll_lin apart = {0};
  if (!add_parts(a, &x) || !add_parts(b, &y))
    return false;
  while (cancel(&x, &y))
    continue;
  return add_all(g, &y, 1, &apart) && add_all(g, &x, -1, &apart) && is_constant(&apart) &&
         apart.c == 1;
}

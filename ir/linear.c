/* Linear forms of i64 expressions: sums of atoms with coefficients. Sums, differences, negations
 * and products are multiplied out; a product of atoms is itself an atom, with its factors sorted,
 * so that b*T and T*b agree. Index arithmetic that may wrap is an atom (transform/wrapping.c), and
 * coefficients are checked.
 *
 * Nodes never change, so the module memoises the form of each expression that was asked for. A form
 * has room for 32 terms and mostly one or two: the unused terms are never touched. */
#include "ir/ir.h"
#include "ir/limits.h"
#include "ir/product.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

enum { MAX_TERMS = 32, MAX_DEPTH = 200, MAX_VISITS = 2000 };

static bool mul(int64_t a, int64_t b, int64_t *y) {
  return !__builtin_mul_overflow(a, b, y);
}

/* a + k*b into *y. */
static bool fused(int64_t a, int64_t k, int64_t b, int64_t *y) {
  int64_t p;
  return mul(k, b, &p) && !__builtin_add_overflow(a, p, y);
}

static bool push_term(neo_linear *l, neo_expr atom, int64_t coef) {
  if (coef == 0)
    return true;
  if (l->n == MAX_TERMS)
    return false;
  l->term[l->n].atom = atom;
  l->term[l->n++].coef = coef;
  return true;
}

static void copy(neo_linear *out, int64_t constant, const void *terms, uint32_t n) {
  out->constant = constant;
  out->n = n;
  memmove(out->term, terms, n * sizeof *out->term);
}

bool neo_linear_add(const neo_linear *a, int64_t k, const neo_linear *b, neo_linear *out) {
  neo_linear y;
  uint32_t i = 0, j = 0;
  y.n = 0;
  if (!fused(a->constant, k, b->constant, &y.constant))
    return false;
  while (i < a->n || j < b->n) {
    uint32_t x = i < a->n ? a->term[i].atom.i : UINT32_MAX;
    uint32_t z = j < b->n ? b->term[j].atom.i : UINT32_MAX;
    int64_t coef = x <= z ? a->term[i].coef : 0;
    if (z <= x && !fused(coef, k, b->term[j].coef, &coef))
      return false;
    if (!push_term(&y, (neo_expr){x < z ? x : z}, coef))
      return false;
    i += x <= z;
    j += z <= x;
  }
  copy(out, y.constant, y.term, y.n);
  return true;
}

int64_t neo_linear_coef(const neo_linear *l, neo_expr atom) {
  for (uint32_t k = 0; k < l->n; k++)
    if (l->term[k].atom.i == atom.i)
      return l->term[k].coef;
  return 0;
}

/* ---- products of atoms */

typedef struct {
  uint32_t n;
  neo_expr at[NEO_PRODUCT_FACTORS];
} factors;

static void sort_factors(factors *f) {
  for (uint32_t i = 1; i < f->n; i++) {
    neo_expr e = f->at[i];
    uint32_t k = i;
    for (; k > 0 && f->at[k - 1].i > e.i; k--)
      f->at[k] = f->at[k - 1];
    f->at[k] = e;
  }
}

static bool product_atom(neo_module *m, neo_expr a, neo_expr b, neo_expr *y) {
  factors f = {0};
  if (!neo_product_factors(m, a, f.at, &f.n, NEO_PRODUCT_FACTORS) ||
      !neo_product_factors(m, b, f.at, &f.n, NEO_PRODUCT_FACTORS))
    return false;
  sort_factors(&f);
  *y = f.at[0];
  for (uint32_t k = 1; k < f.n; k++)
    *y = neo_op2(m, NEO_OP_MUL, *y, f.at[k]);
  return true;
}

static bool add_one(neo_linear *l, neo_expr atom, int64_t coef) {
  neo_linear one;
  one.constant = 0;
  one.n = 1;
  one.term[0].atom = atom;
  one.term[0].coef = coef;
  return neo_linear_add(l, 1, &one, l);
}

static bool linear_product(neo_module *m, const neo_linear *a, const neo_linear *b,
                           neo_linear *out) {
  neo_linear y;
  copy(&y, 0, y.term, 0);
  if (!neo_linear_add(&y, a->constant, b, &y))
    return false;
  for (uint32_t i = 0; i < a->n; i++) {
    int64_t coef;
    if (!mul(a->term[i].coef, b->constant, &coef))
      return false;
    if (!add_one(&y, a->term[i].atom, coef))
      return false;
    for (uint32_t j = 0; j < b->n; j++) {
      neo_expr atom;
      if (!mul(a->term[i].coef, b->term[j].coef, &coef))
        return false;
      if (!product_atom(m, a->term[i].atom, b->term[j].atom, &atom))
        return false;
      if (!add_one(&y, atom, coef))
        return false;
    }
  }
  copy(out, y.constant, y.term, y.n);
  return true;
}

/* ---- from and to expressions */

/* How much work is left: a shared subexpression is visited once a use, which can double per level.
 */
typedef struct {
  int depth, visits;
} quota;

static bool linear_of(neo_module *m, neo_expr e, neo_linear *out, quota *q);

static bool linear_pair(neo_module *m, neo_expr e, neo_linear *a, neo_linear *b, quota *q) {
  return linear_of(m, neo_expr_arg(m, e, 0), a, q) && linear_of(m, neo_expr_arg(m, e, 1), b, q);
}

static bool linear_inside(neo_module *m, neo_expr e, neo_linear *out, quota *q) {
  neo_linear a, b;
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  switch (op) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    return linear_pair(m, e, &a, &b, q) && neo_linear_add(&a, op == NEO_OP_ADD ? 1 : -1, &b, out);
  case NEO_OP_MUL:
    return linear_pair(m, e, &a, &b, q) && linear_product(m, &a, &b, out);
  case NEO_OP_NEG:
    return linear_of(m, neo_expr_arg(m, e, 0), &a, q) && neo_linear_add(out, -1, &a, out);
  default:
    return add_one(out, e, 1);
  }
}

static bool linear_of(neo_module *m, neo_expr e, neo_linear *out, quota *q) {
  copy(out, 0, out->term, 0);
  if (neo_expr_is_int(m, e, &out->constant))
    return true;
  if (q->visits-- <= 0)
    return false;
  if (q->depth == 0)
    return add_one(out, e, 1);
  q->depth--;
  bool ok = linear_inside(m, e, out, q);
  q->depth++;
  return ok;
}

/* ---- memo */

typedef struct {
  int64_t constant;
  uint32_t n;
  bool failed;
  void *terms;
} known;

struct neo_linears {
  neo_map at; /* expression -> known */
};

static known *find(neo_module *m, neo_expr e) {
  uint64_t at;
  if (!m->linears) {
    m->linears = NEO_NEW(m->arena, struct neo_linears);
    neo_map_init(&m->linears->at, m->arena);
  }
  return neo_map_get(&m->linears->at, e.i, &at) ? (known *)(uintptr_t)at : NULL;
}

static void remember(neo_module *m, neo_expr e, const neo_linear *l, bool ok) {
  known *k = NEO_NEW(m->arena, known);
  k->failed = !ok;
  if (ok) {
    k->constant = l->constant;
    k->n = l->n;
    k->terms = neo_arena_copy(m->arena, l->term, l->n * sizeof *l->term);
  }
  neo_map_set(&m->linears->at, e.i, (uint64_t)(uintptr_t)k);
}

bool neo_linear_of(neo_module *m, neo_expr e, neo_linear *out) {
  quota q = {MAX_DEPTH, MAX_VISITS};
  assert(neo_expr_type(m, e) == NEO_I64_T);
  const known *k = find(m, e);
  if (k) {
    if (!k->failed)
      copy(out, k->constant, k->terms, k->n);
    return !k->failed;
  }
  bool ok = linear_of(m, e, out, &q);
  remember(m, e, out, ok);
  return ok;
}

static neo_expr scaled(neo_module *m, neo_expr atom, int64_t k) {
  return neo_op2(m, NEO_OP_MUL, atom, neo_const_i64(m, k));
}

/* Positive terms first, so that negative ones become subtractions; the constant last. */
neo_expr neo_linear_expr(neo_module *m, const neo_linear *l) {
  neo_expr y = neo_const_i64(m, 0);
  for (uint32_t k = 0; k < l->n; k++)
    if (l->term[k].coef > 0)
      y = neo_op2(m, NEO_OP_ADD, y, scaled(m, l->term[k].atom, l->term[k].coef));
  for (uint32_t k = 0; k < l->n; k++) {
    int64_t c = l->term[k].coef;
    if (c >= 0)
      continue;
    bool least = c == INT64_MIN; /* has no opposite */
    y = neo_op2(m, least ? NEO_OP_ADD : NEO_OP_SUB, y, scaled(m, l->term[k].atom, least ? c : -c));
  }
  bool subtract = l->constant < 0 && l->constant != INT64_MIN;
  neo_expr c = neo_const_i64(m, subtract ? -l->constant : l->constant);
  return neo_op2(m, subtract ? NEO_OP_SUB : NEO_OP_ADD, y, c);
}

neo_expr neo_linear_form(neo_module *m, neo_expr e) {
  neo_linear l;
  return neo_linear_of(m, e, &l) ? neo_linear_expr(m, &l) : e;
}

/* ---- forms that may be moved around in */

enum { MODEST_TERMS = 16 };

static bool is_modest(const neo_module *m, neo_expr e);

static bool are_modest(const neo_module *m, const neo_node *n, uint32_t first) {
  for (uint32_t k = first; k < n->arg.n; k++)
    if (!is_modest(m, neo_list_expr(m, n->arg, k)))
      return false;
  return true;
}

static bool is_modest(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  const neo_tensor_rec *t;
  int64_t x;
  switch ((neo_op)n->op) {
  case NEO_OP_AXIS:
  case NEO_OP_SIZE:
    return true;
  case NEO_OP_CONST:
    return neo_expr_is_int(m, e, &x) && x >= -((int64_t)1 << 40) && x <= (int64_t)1 << 40;
  case NEO_OP_CAST:
    return neo_type_is_int(neo_expr_type(m, neo_list_expr(m, n->arg, 0))) &&
           (neo_expr_type(m, neo_list_expr(m, n->arg, 0)) != NEO_I64_T || are_modest(m, n, 0));
  case NEO_OP_DIV:
  case NEO_OP_MOD:
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_CLAMP:
    return are_modest(m, n, 0);
  case NEO_OP_SELECT:
    return are_modest(m, n, 1);
  case NEO_OP_LOAD:
    t = neo_tensor_at(m, (neo_tensor){n->attr});
    return t->type != NEO_I64_T || t->bound.i || (t->least.i && t->below.i);
  default:
    return false;
  }
}

bool neo_linear_is_modest(const neo_module *m, const neo_linear *l) {
  const int64_t coef = (int64_t)1 << 18, constant = (int64_t)1 << 60;
  bool is = l->n <= MODEST_TERMS && l->constant >= -constant && l->constant <= constant;
  for (uint32_t k = 0; k < l->n && is; k++)
    is = l->term[k].coef >= -coef && l->term[k].coef <= coef && is_modest(m, l->term[k].atom);
  return is;
}

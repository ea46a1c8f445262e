/* Polynomials over atoms: see poly.h. */
#include "ir/prove/poly.h"
#include <assert.h>
#include <string.h>

int64_t neo_div_floor(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b < 0);
}

int64_t neo_div_ceil(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q + (a % b > 0);
}

void neo_poly_copy(neo_poly *out, const neo_poly *a) {
  out->constant = a->constant;
  out->n = a->n;
  memcpy(out->term, a->term, a->n * sizeof *a->term);
}

neo_poly *neo_poly_new(neo_arena *arena, const neo_poly *a) {
  neo_poly *y = neo_arena_alloc(arena, sizeof *a - (NEO_POLY_TERMS - a->n) * sizeof *a->term);
  neo_poly_copy(y, a);
  return y;
}

void neo_poly_atom(neo_poly *out, neo_expr atom) {
  neo_poly_set(out, 0);
  out->n = 1;
  out->term[0] = (neo_mono){1, 1, {atom.i}};
}

int neo_mono_compare(const neo_mono *a, const neo_mono *b) {
  if (a->n != b->n)
    return a->n > b->n ? 1 : -1;
  for (uint32_t k = 0; k < a->n; k++)
    if (a->atom[k] != b->atom[k])
      return a->atom[k] > b->atom[k] ? 1 : -1;
  return 0;
}

static bool fused(int64_t a, int64_t k, int64_t b, int64_t *y) {
  int64_t p;
  return !__builtin_mul_overflow(k, b, &p) && !__builtin_add_overflow(a, p, y);
}

static bool push(neo_poly *out, const neo_mono *t, int64_t coef) {
  if (coef == 0)
    return true;
  if (out->n == NEO_POLY_TERMS)
    return false;
  out->term[out->n] = *t;
  out->term[out->n++].coef = coef;
  return true;
}

bool neo_poly_add(const neo_poly *a, int64_t k, const neo_poly *b, neo_poly *out) {
  uint32_t i = 0, j = 0;
  assert(out != a && out != b);
  neo_poly_set(out, 0);
  if (!fused(a->constant, k, b->constant, &out->constant))
    return false;
  while (i < a->n || j < b->n) {
    int order = i == a->n ? -1 : j == b->n ? 1 : neo_mono_compare(&a->term[i], &b->term[j]);
    int64_t coef = order >= 0 ? a->term[i].coef : 0;
    if (order <= 0 && !fused(coef, k, b->term[j].coef, &coef))
      return false;
    if (!push(out, order >= 0 ? &a->term[i] : &b->term[j], coef))
      return false;
    i += order >= 0;
    j += order <= 0;
  }
  return true;
}

bool neo_poly_scale(const neo_poly *a, int64_t k, neo_poly *out) {
  neo_poly zero;
  neo_poly_set(&zero, 0);
  return neo_poly_add(&zero, k, a, out);
}

static bool mono_mul(const neo_mono *a, const neo_mono *b, neo_mono *y) {
  uint32_t i = 0, j = 0;
  if (a->n + b->n > NEO_POLY_DEGREE)
    return false;
  *y = (neo_mono){.n = a->n + b->n};
  for (uint32_t k = 0; k < y->n; k++) {
    bool left = j == b->n || (i < a->n && a->atom[i] >= b->atom[j]);
    y->atom[k] = left ? a->atom[i++] : b->atom[j++];
  }
  return !__builtin_mul_overflow(a->coef, b->coef, &y->coef);
}

/* Adds one term in place. */
static bool insert(neo_poly *p, const neo_mono *t) {
  uint32_t at = 0;
  int order = -1;
  if (t->coef == 0)
    return true;
  if (t->n == 0)
    return fused(p->constant, 1, t->coef, &p->constant);
  while (at < p->n && (order = neo_mono_compare(&p->term[at], t)) > 0)
    at++;
  if (at < p->n && order == 0) {
    if (!fused(p->term[at].coef, 1, t->coef, &p->term[at].coef))
      return false;
    if (p->term[at].coef == 0)
      memmove(&p->term[at], &p->term[at + 1], (--p->n - at) * sizeof *p->term);
    return true;
  }
  if (p->n == NEO_POLY_TERMS)
    return false;
  memmove(&p->term[at + 1], &p->term[at], (p->n++ - at) * sizeof *p->term);
  p->term[at] = *t;
  return true;
}

/* out += t*b */
static bool insert_product(neo_poly *out, const neo_mono *t, const neo_poly *b) {
  neo_mono y, one = {.coef = b->constant};
  if (!mono_mul(t, &one, &y) || !insert(out, &y))
    return false;
  for (uint32_t j = 0; j < b->n; j++)
    if (!mono_mul(t, &b->term[j], &y) || !insert(out, &y))
      return false;
  return true;
}

bool neo_poly_fma(const neo_poly *a, const neo_poly *b, const neo_poly *c, neo_poly *out) {
  assert(out != a && out != b && out != c);
  if (a->n == 0)
    return neo_poly_add(c, a->constant, b, out);
  if (b->n == 0)
    return neo_poly_add(c, b->constant, a, out);
  neo_poly_copy(out, c);
  neo_mono one = {.coef = a->constant};
  if (!insert_product(out, &one, b))
    return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (!insert_product(out, &a->term[i], b))
      return false;
  return true;
}

bool neo_poly_mul(const neo_poly *a, const neo_poly *b, neo_poly *out) {
  neo_poly zero;
  neo_poly_set(&zero, 0);
  return neo_poly_fma(a, b, &zero, out);
}

/* t / d as a term with coefficient truncated; false if the product of d does not divide. */
static bool mono_divide(const neo_mono *t, const neo_mono *d, neo_mono *y) {
  uint32_t j = 0;
  *y = (neo_mono){.coef = t->coef / d->coef};
  for (uint32_t i = 0; i < t->n; i++) {
    if (j < d->n && d->atom[j] == t->atom[i])
      j++;
    else
      y->atom[y->n++] = t->atom[i];
  }
  return j == d->n && y->coef != 0;
}

bool neo_poly_divide(const neo_poly *x, const neo_poly *d, neo_poly *q, neo_poly *r) {
  neo_mono leading = {.coef = d->constant}, y;
  assert(d->n || d->constant);
  if (d->n)
    leading = d->term[0];
  if (leading.coef == -1 || leading.coef == INT64_MIN)
    return false; /* INT64_MIN / -1 */
  neo_poly_set(q, 0);
  neo_poly_copy(r, x);
  for (uint32_t i = 0; i < r->n;) {
    neo_mono t = r->term[i];
    if (!mono_divide(&t, &leading, &y)) {
      i++;
      continue;
    }
    if (y.coef == INT64_MIN || !insert(q, &y))
      return false;
    y.coef = -y.coef;
    if (!insert_product(r, &y, d))
      return false;
    /* Terms before i are higher than every product subtracted: untouched. */
    i += i < r->n && neo_mono_compare(&r->term[i], &t) == 0;
  }
  if (d->n == 0 && d->constant > 0) {
    int64_t k = neo_div_floor(r->constant, d->constant);
    q->constant += k;
    r->constant -= k * d->constant;
  }
  return true;
}

static uint32_t power(const neo_mono *t, uint32_t atom) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < t->n; k++)
    n += t->atom[k] == atom;
  return n;
}

bool neo_poly_split(const neo_poly *g, uint32_t atom, neo_poly *a, neo_poly *b) {
  neo_mono one = {1, 1, {atom}}, y;
  neo_poly_set(a, 0);
  neo_poly_set(b, g->constant);
  for (uint32_t k = 0; k < g->n; k++) {
    uint32_t n = power(&g->term[k], atom);
    if (n > 1)
      return false;
    if (n == 0) {
      b->term[b->n++] = g->term[k];
    } else {
      mono_divide(&g->term[k], &one, &y);
      if (!insert(a, &y))
        return false;
    }
  }
  return true;
}

bool neo_poly_uses(const neo_poly *g, uint32_t atom) {
  for (uint32_t k = 0; k < g->n; k++)
    if (power(&g->term[k], atom))
      return true;
  return false;
}

bool neo_poly_equal(const neo_poly *a, const neo_poly *b) {
  if (a->n != b->n || a->constant != b->constant)
    return false;
  for (uint32_t k = 0; k < a->n; k++)
    if (a->term[k].coef != b->term[k].coef || neo_mono_compare(&a->term[k], &b->term[k]))
      return false;
  return true;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

void neo_poly_tighten(neo_poly *g) {
  uint64_t d = 0;
  for (uint32_t k = 0; k < g->n && d != 1; k++) {
    int64_t c = g->term[k].coef;
    d = gcd(d, c < 0 ? 0 - (uint64_t)c : (uint64_t)c);
  }
  if (d <= 1 || d > INT64_MAX)
    return;
  for (uint32_t k = 0; k < g->n; k++)
    g->term[k].coef /= (int64_t)d;
  g->constant = neo_div_floor(g->constant, (int64_t)d);
}

/* ---- to expressions */

static neo_expr term_expr(neo_module *m, const neo_mono *t, int64_t coef) {
  neo_expr y = {t->atom[t->n - 1]};
  for (uint32_t k = t->n - 1; k > 0; k--)
    y = neo_op2(m, NEO_OP_MUL, y, (neo_expr){t->atom[k - 1]});
  return neo_op2(m, NEO_OP_MUL, y, neo_const_i64(m, coef));
}

static neo_expr add_terms(neo_module *m, const neo_poly *g, bool positive, neo_expr y) {
  for (uint32_t k = g->n; k-- > 0;) {
    int64_t c = g->term[k].coef;
    if ((c > 0) != positive)
      continue;
    bool subtract = c < 0 && c != INT64_MIN; /* INT64_MIN has no opposite */
    neo_expr t = term_expr(m, &g->term[k], subtract ? -c : c);
    y = neo_op2(m, subtract ? NEO_OP_SUB : NEO_OP_ADD, y, t);
  }
  return y;
}

/* Positive terms, then the others, the constant last; first where no term is positive. */
neo_expr neo_poly_expr(neo_module *m, const neo_poly *g) {
  neo_expr y = add_terms(m, g, true, neo_const_i64(m, 0));
  int64_t zero, c = g->constant;
  if (neo_expr_is_int(m, y, &zero))
    return add_terms(m, g, false, neo_const_i64(m, c));
  y = add_terms(m, g, false, y);
  bool subtract = c < 0 && c != INT64_MIN;
  return neo_op2(m, subtract ? NEO_OP_SUB : NEO_OP_ADD, y, neo_const_i64(m, subtract ? -c : c));
}

/* See keyed_axes.h. */
#include "ir/keyed_axes.h"
#include "ir/comparison.h"

enum { MOST_CONJUNCTS = 16 };

typedef struct {
  neo_prover *p;
  neo_facts facts;
  uint32_t n_out;
  neo_keyed_axes *out;
} finder;

/* The key -r/c from c*v + r == 0, where c is 1 or -1, if r reads data. 0: the equation does not
 * determine axis v. */
static neo_expr key_of(neo_module *m, const neo_linear *f, uint32_t axis) {
  neo_linear rest = {0}, none = {0}, key;
  neo_expr v = neo_axis_ref(m, axis), no = {0};
  int64_t c = neo_linear_coef(f, v);
  if (c != 1 && c != -1)
    return no;
  rest.constant = f->constant;
  for (uint32_t k = 0; k < f->n; k++)
    if (f->term[k].atom.i != v.i)
      rest.term[rest.n++] = f->term[k];
  if (!neo_linear_add(&none, -c, &rest, &key))
    return no;
  neo_expr e = neo_linear_expr(m, &key);
  return neo_expr_uses_op(m, e, NEO_OP_LOAD) && !(neo_expr_axes(m, e) >> axis & 1) ? e : no;
}

/* Whether this key would chain keys: it uses a keyed axis, or the key of another axis uses
 * `axis`. */
static bool is_chained(const finder *x, uint32_t axis, neo_expr key) {
  const neo_module *m = neo_prover_module(x->p);
  bool chained = neo_expr_axes(m, key) & x->out->axes;
  for (uint32_t v = 0; v < x->n_out && !chained; v++)
    chained = x->out->key[v].i && neo_expr_axes(m, x->out->key[v]) >> axis & 1;
  return chained;
}

/* Takes the equation as that of an axis which is not keyed yet. Returns the axis; n_out: the
 * equation determines none. */
static uint32_t take(finder *x, neo_expr e) {
  neo_module *m = neo_prover_module(x->p);
  neo_linear f;
  if (neo_comparison_of(m, e, &f) != NEO_EQUALS_0 || !neo_linear_is_modest(m, &f))
    return x->n_out;
  for (uint32_t v = 0; v < x->n_out; v++) {
    neo_expr key = x->out->axes >> v & 1 ? (neo_expr){0} : key_of(m, &f, v);
    if (!key.i || is_chained(x, v, key))
      continue;
    x->out->axes |= (uint64_t)1 << v;
    x->out->key[v] = key;
    bool within = !(neo_expr_axes(m, key) & (((uint64_t)1 << x->n_out) - 1)) &&
                  neo_proves_index(x->p, &x->facts, key, x->facts.axes[v].hi);
    x->out->within |= (uint64_t)within << v;
    return v;
  }
  return x->n_out;
}

void neo_keyed_axes_of(neo_prover *p, const neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                       neo_expr where, neo_keyed_axes *out) {
  neo_module *m = neo_prover_module(p);
  neo_expr part[MOST_CONJUNCTS], rest[MOST_CONJUNCTS], others[MOST_CONJUNCTS];
  uint32_t n = 0, n_rest = 0, n_others = 0;
  finder x = {p, {.axes = axis, .n_axes = n_axes}, n_out, out};
  *out = (neo_keyed_axes){.rest = where, .others = where};
  if (!where.i || n_out >= NEO_KEYED_AXES || !neo_conjuncts_of(m, where, part, &n, MOST_CONJUNCTS))
    return;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t v = take(&x, part[k]);
    if (v == n_out)
      others[n_others++] = part[k];
    if (v == n_out || !(out->within >> v & 1))
      rest[n_rest++] = part[k];
  }
  out->rest = neo_conjunction(m, rest, n_rest);
  out->others = neo_conjunction(m, others, n_others);
}

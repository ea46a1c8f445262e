/* See keyed_axes.h. */
#include "transform/keyed_axes.h"
#include "ir/comparison.h"

enum { MOST_CONJUNCTS = 16 };

/* c*v + r == 0, c being 1 or -1: the key -r/c, if r holds data. 0: it says nothing of axis v. */
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

/* Takes the equation as that of an axis which no other one says. *within: it need not be asked where the key is read. */
static bool take(neo_prover *p, const neo_facts *f, uint32_t n_out, neo_expr e, neo_keyed_axes *out,
                 bool *within) {
  neo_module *m = neo_prover_module(p);
  neo_linear x;
  uint64_t outs = ((uint64_t)1 << n_out) - 1;
  if (neo_comparison_of(m, e, &x) != NEO_EQUALS_0 || !neo_linear_is_modest(m, &x))
    return false;
  for (uint32_t v = 0; v < n_out; v++) {
    neo_expr key = out->axes >> v & 1 ? (neo_expr){0} : key_of(m, &x, v);
    if (!key.i)
      continue;
    out->axes |= (uint64_t)1 << v;
    *within = !(neo_expr_axes(m, key) & outs) &&
              neo_prove_index(p, f, key, f->axes[v].hi, NULL) == NEO_PROVED;
    if (*within) {
      out->within |= (uint64_t)1 << v;
      out->at[v] = key;
    }
    return true;
  }
  return false;
}

void neo_keyed_axes_of(neo_prover *p, const neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                       neo_expr where, neo_keyed_axes *out) {
  neo_module *m = neo_prover_module(p);
  neo_expr part[MOST_CONJUNCTS], rest[MOST_CONJUNCTS];
  uint32_t n = 0, n_rest = 0;
  neo_facts f = {.axes = axis, .n_axes = n_axes};
  *out = (neo_keyed_axes){.rest = where};
  if (!where.i || n_out >= NEO_KEYED_AXES || !neo_conjuncts_of(m, where, part, &n, MOST_CONJUNCTS))
    return;
  for (uint32_t k = 0; k < n; k++) {
    bool within = false;
    if (!take(p, &f, n_out, part[k], out, &within) || !within)
      rest[n_rest++] = part[k];
  }
  out->rest = neo_conjunction(m, rest, n_rest);
}

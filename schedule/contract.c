/* Contractions are matched here, and neighbouring axes are fused into one. */
#include "schedule/contract.h"
#include "ir/product.h"
#include "ir/prove/prove.h"
#include "schedule/match.h"

/* ---- factors */

static bool add_factors(const neo_module *m, const neo_form *f, neo_contraction *c, neo_expr e) {
  neo_expr at[NEO_MAX_FACTORS];
  if (!neo_product_factors(m, e, at, &c->n, NEO_MAX_FACTORS))
    return false;
  for (uint32_t k = 0; k < c->n; k++)
    c->factor[k] = (neo_factor){.e = at[k], .axes = neo_form_axes(m, f, at[k])};
  return true;
}

static bool finishing_only(const neo_stage *s) {
  return s->accs.n == 0 && s->axes.n == 0;
}

bool neo_match_contraction(neo_module *m, const neo_form *f, neo_contraction *out) {
  *out = (neo_contraction){.stage = UINT32_MAX};
  for (uint32_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    if (finishing_only(s))
      continue;
    if (s->accs.n != 1 || out->stage != UINT32_MAX)
      return false;
    out->stage = k;
  }
  if (out->stage == UINT32_MAX)
    return false;
  const neo_stage *s = &f->stages.at[out->stage];
  const neo_form_acc *a = &s->accs.at[0];
  bool sum = a->kind == NEO_RED_SUM && a->type != NEO_BOOL_T;
  return sum && s->axes.n && add_factors(m, f, out, a->body) && out->n >= 2;
}

neo_side neo_factor_side(const neo_factor *x, uint64_t row_axes, uint64_t column_axes) {
  bool rows = (x->axes & row_axes) != 0, columns = (x->axes & column_axes) != 0;
  return rows ? (columns ? NEO_SIDE_BOTH : NEO_SIDE_ROWS)
              : (columns ? NEO_SIDE_COLUMNS : NEO_SIDE_NONE);
}

/* ---- fused axes */

bool neo_form_fusible(const neo_module *m, const neo_form *f, uint32_t last, uint32_t n) {
  int64_t extent;
  if (n == 0 || n > last + 1)
    return false;
  for (uint32_t k = last + 2 - n; k <= last; k++)
    if (!neo_expr_is_int(m, f->axes.at[k].hi, &extent) || extent < 1)
      return false;
  return true;
}

/* Expresses each fused axis by `last`: the innermost is x % n, the next is (x / n) % n', and the
 * first is the quotient that remains. */
static void fused_axes(neo_module *m, const neo_form *f, uint32_t last, uint32_t n, neo_expr *by) {
  neo_expr x = neo_axis_ref(m, last);
  uint32_t first = last + 1 - n;
  for (uint32_t k = last; k > first; k--) {
    by[k] = neo_op2(m, NEO_OP_MOD, x, f->axes.at[k].hi);
    x = neo_op2(m, NEO_OP_DIV, x, f->axes.at[k].hi);
  }
  by[first] = x;
}

static neo_expr canonical_node(void *ctx, neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  neo_linear l;
  (void)ctx;
  if ((n.op != NEO_OP_LOAD && n.op != NEO_OP_RAND) || !n.arg.n)
    return e;
  if (!neo_flat_linear(m, neo_expr_arg(m, e, 0), &l))
    return e;
  neo_expr at = neo_linear_expr(m, &l);
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, &at, 1, n.span);
}

neo_expr neo_fused_expr(neo_module *m, const neo_form *f, uint32_t last, uint32_t n, neo_expr e) {
  neo_expr by[NEO_DEF_AXES] = {{0}};
  if (!e.i || n < 2)
    return e;
  fused_axes(m, f, last, n, by);
  return neo_expr_rewrite(m, neo_expr_subst_axes(m, e, by, last + 1), canonical_node, NULL);
}

static neo_expr fused_offset(neo_module *m, const neo_form *f, uint32_t last, uint32_t n,
                             neo_expr e) {
  neo_linear l;
  e = neo_fused_expr(m, f, last, n, e);
  return neo_flat_linear(m, e, &l) ? neo_linear_expr(m, &l) : e;
}

static neo_stage fused_stage(neo_module *m, const neo_form *f, uint32_t last, uint32_t n,
                             const neo_stage *s) {
  neo_stage y = {.first_acc = s->first_acc};
  for (size_t k = 0; k < s->axes.n; k++) {
    neo_axis_rec x = s->axes.at[k];
    x.lo = neo_fused_expr(m, f, last, n, x.lo);
    x.hi = neo_fused_expr(m, f, last, n, x.hi);
    NEO_PUSH(m->arena, &y.axes, x);
  }
  y.where = neo_fused_expr(m, f, last, n, s->where);
  for (size_t k = 0; k < s->accs.n; k++) {
    neo_form_acc x = s->accs.at[k];
    x.body = neo_fused_expr(m, f, last, n, x.body);
    NEO_PUSH(m->arena, &y.accs, x);
  }
  for (size_t k = 0; k < s->outs.n; k++) {
    neo_form_out x = s->outs.at[k];
    x.offset = fused_offset(m, f, last, n, x.offset);
    x.value = neo_fused_expr(m, f, last, n, x.value);
    NEO_PUSH(m->arena, &y.outs, x);
  }
  return y;
}

neo_form *neo_form_fused(neo_module *m, const neo_form *f, uint32_t last, uint32_t n) {
  neo_form *y = NEO_NEW(m->arena, neo_form);
  y->n_accs = f->n_accs;
  y->accesses.at = f->accesses.at; /* points are the same */
  y->accesses.n = f->accesses.n;
  neo_expr whole = f->axes.at[last + 1 - n].hi;
  for (uint32_t k = last + 2 - n; k <= last; k++)
    whole = neo_op2(m, NEO_OP_MUL, whole, f->axes.at[k].hi);
  for (uint32_t k = 0; k < f->axes.n; k++) {
    neo_axis_rec x = f->axes.at[k];
    if (k + n > last && k <= last)
      x.hi = k == last ? whole : neo_const_i64(m, 1);
    NEO_PUSH(m->arena, &y->axes, x);
  }
  for (size_t k = 0; k < f->stages.n; k++) {
    neo_stage s = fused_stage(m, f, last, n, &f->stages.at[k]);
    NEO_PUSH(m->arena, &y->stages, s);
  }
  return y;
}

/* ---- ranges */

bool neo_axis_range(neo_module *m, const neo_form *f, const neo_stage *s, uint32_t own, int64_t *lo,
                    int64_t *hi) {
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  int64_t unused;
  uint32_t n = neo_stage_axes(f, s, axes);
  const neo_axis_rec *x = &s->axes.at[own];
  bool ok = true;
  if (!neo_expr_is_int(m, x->lo, lo) || !neo_expr_is_int(m, x->hi, hi)) {
    neo_prover *p = neo_prover_new(m);
    neo_facts facts = {axes, n, NULL, 0};
    ok = neo_interval(p, &facts, x->lo, lo, &unused) && neo_interval(p, &facts, x->hi, &unused, hi);
    neo_prover_free(p);
  }
  return ok && *lo > -(1LL << 40) && *hi < 1LL << 40;
}

bool neo_steps_unroll(int64_t steps, int64_t vectors) {
  enum { STEPS = 8, PRODUCTS = 48 };
  return steps <= STEPS && steps * vectors <= PRODUCTS;
}

/* Axes of a form with inner sums (nested.h).
 *
 * The factors of an inner sum are of two kinds: a factor with own axes of the host (the stage that
 * uses the sum) belongs to the steps, any other to the rows. A shared axis is a row if only factors
 * of rows use it, in every inner sum, and a batch if factors of both kinds do. If the host is a sum
 * of products, a shared axis is a column if only its factors without inner sums use it. */
#include "fusion/nested.h"
#include "ir/product.h"

static uint64_t shared_of(const neo_form *f) {
  return (1ULL << f->axes.n) - 1;
}

static bool add_factors(const neo_module *m, neo_nested_factors *out, neo_expr e) {
  return neo_product_factors(m, e, out->at, &out->n, NEO_NESTED_FACTORS);
}

static uint64_t axes_of(const neo_module *m, const neo_form *f, const neo_nested_factors *x) {
  uint64_t axes = 0;
  for (uint32_t k = 0; k < x->n; k++)
    axes |= neo_form_axes(m, f, x->at[k]);
  return axes;
}

/* Do the axes run from 0 to invariant extents? */
static bool plain_axes(const neo_module *m, const neo_form *f, const neo_stage *s) {
  int64_t lo;
  for (size_t k = 0; k < s->axes.n; k++) {
    const neo_axis_rec *x = &s->axes.at[k];
    if (!neo_expr_is_int(m, x->lo, &lo) || lo || neo_form_axes(m, f, x->hi) ||
        neo_form_reads(m, x->hi))
      return false;
  }
  return true;
}

static bool are_of(const neo_module *m, const neo_nested_factors *x, neo_type t) {
  for (uint32_t k = 0; k < x->n; k++)
    if (neo_expr_type(m, x->at[k]) != t)
      return false;
  return t == NEO_F32_T || t == NEO_F64_T;
}

/* ---- inner sums */

static bool add_sum(const neo_module *m, const neo_form *f, uint32_t stage, neo_nested *out) {
  const neo_stage *s = &f->stages.at[stage];
  neo_nested_factors all = {.n = 0};
  if (out->n_sums == NEO_NESTED_SUMS || s->accs.n != 1 || s->where.i ||
      !add_factors(m, &all, s->accs.at[0].body) || !are_of(m, &all, (neo_type)s->accs.at[0].type) ||
      (out->n_sums && s->accs.at[0].type != f->stages.at[out->sum[0].stage].accs.at[0].type))
    return false;
  neo_nested_sum *x = &out->sum[out->n_sums++];
  x->stage = stage;
  uint64_t steps = ((1ULL << s->over) - 1) << f->axes.n;
  for (uint32_t k = 0; k < all.n; k++) {
    neo_nested_factors *side = neo_form_axes(m, f, all.at[k]) & steps ? &x->steps : &x->rows;
    side->at[side->n++] = all.at[k];
  }
  return x->rows.n && x->steps.n;
}

/* ---- hosts */

static bool uses_inner(const neo_module *m, neo_expr e) {
  return neo_expr_uses_op(m, e, NEO_OP_ACC);
}

/* Splits a product into factors with inner sums and without. */
static bool split_product(const neo_module *m, const neo_form *f, neo_nested *out) {
  const neo_stage *s = &f->stages.at[out->host];
  neo_nested_factors all = {.n = 0};
  uint64_t fixed = 0;
  if (s->accs.n != 1 || s->accs.at[0].kind != NEO_RED_SUM ||
      s->accs.at[0].type != f->stages.at[out->sum[0].stage].accs.at[0].type ||
      !add_factors(m, &all, s->accs.at[0].body) || !are_of(m, &all, (neo_type)s->accs.at[0].type))
    return false;
  for (uint32_t k = 0; k < out->n_sums; k++)
    fixed |= axes_of(m, f, &out->sum[k].rows) | axes_of(m, f, &out->sum[k].steps);
  for (uint32_t k = 0; k < all.n; k++)
    if (uses_inner(m, all.at[k]))
      fixed |= neo_form_axes(m, f, all.at[k]);
  for (uint32_t k = 0; k < all.n; k++) {
    bool in_columns = neo_form_axes(m, f, all.at[k]) & shared_of(f) & ~fixed;
    neo_nested_factors *side = in_columns ? &out->of_columns : &out->of_rows;
    side->at[side->n++] = all.at[k];
  }
  uint64_t columns = axes_of(m, f, &out->of_columns) & shared_of(f);
  out->columns = columns & ~fixed & ~axes_of(m, f, &out->of_rows);
  return out->columns && !(neo_form_axes(m, f, s->where) & out->columns);
}

/* Stages with accumulators that are no inner sums; the last of them. */
static uint32_t hosts_of(const neo_form *f, uint32_t *last) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].accs.n && !f->stages.at[k].over) {
      *last = k;
      n++;
    }
  return n;
}

static bool has_payload(const neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++)
    if (s->accs.at[k].kind == NEO_RED_NONE)
      return true;
  return false;
}

static bool stages_fit(const neo_module *m, const neo_form *f, neo_nested *out) {
  for (uint32_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    if (!plain_axes(m, f, s) || has_payload(s) || (!s->accs.n && s->axes.n))
      return false;
    if (s->over && !add_sum(m, f, k, out))
      return false;
  }
  return out->n_sums > 0;
}

static bool match(neo_module *m, const neo_form *f, neo_nested *out) {
  *out = (neo_nested){.rows = 0};
  if (!stages_fit(m, f, out) || !hosts_of(f, &out->host))
    return false;
  uint64_t steps = 0;
  for (uint32_t k = 0; k < out->n_sums; k++) {
    out->rows |= axes_of(m, f, &out->sum[k].rows);
    steps |= axes_of(m, f, &out->sum[k].steps);
  }
  if (hosts_of(f, &out->host) == 1 && !split_product(m, f, out))
    out->of_rows.n = out->of_columns.n = 0, out->columns = 0;
  out->rows &= shared_of(f) & ~steps & ~axes_of(m, f, &out->of_columns);
  out->batches = shared_of(f) & ~out->rows & ~out->columns;
  uint64_t used = axes_of(m, f, &out->of_columns) | steps | out->rows;
  for (uint32_t k = 0; k < out->n_sums; k++)
    used |= axes_of(m, f, &out->sum[k].rows);
  return out->rows && !(shared_of(f) & ~used);
}

struct neo_nested_match {
  bool found;
  neo_nested shape;
};

bool neo_nested_of(neo_module *m, const neo_form *f, neo_nested *out) {
  if (!f->nested) { /* const but for its cache */
    struct neo_nested_match *x = NEO_NEW(m->arena, struct neo_nested_match);
    x->found = match(m, f, &x->shape);
    ((neo_form *)f)->nested = x;
  }
  *out = f->nested->shape;
  return f->nested->found;
}

/* The accumulators of a reduction by keys: a table of each, [keys' axes .., columns], or the
 * result itself. */
#include "codegen/lower/common/acc.h"
#include "codegen/lower/segment/segment.h"
#include "schedule/extent.h"

static const neo_form_acc *acc_of(const neo_lower_tables *t, uint32_t k) {
  const neo_form *f = t->l->f;
  for (size_t s = 0; s < f->stages.n; s++)
    if (k - f->stages.at[s].first_acc < f->stages.at[s].accs.n)
      return &f->stages.at[s].accs.at[k - f->stages.at[s].first_acc];
  return NULL;
}

static bool in_result(const neo_lower_tables *t, uint32_t k) {
  return k == 0 && t->seg.in_place;
}

static const char *const names[NEO_SEGMENT_ACCS] = {"table", "table2", "table3", "table4"};

void neo_lower_add_tables(neo_lower_tables *t) {
  lowering *l = t->l;
  const neo_loop_params *p = &l->s->loops;
  uint64_t buf = 0;
  t->columns = t->n_axis < 0 ? 1
               : p->block_n  ? p->block_n
                             : neo_axis_most(l->m, &l->f->axes.at[t->n_axis]);
  for (uint32_t k = 0; k < l->f->n_accs; k++) {
    if (in_result(t, k)) {
      neo_map_get(&l->buf_of, t->store->outs.at[0].tensor.i, &buf);
      l->k->bufs.at[buf].use = NEO_BUF_READ | NEO_BUF_WRITE;
      t->buf[k] = (uint32_t)buf;
      continue;
    }
    double elements = neo_form_points(l->m, l->f, t->seg.axes) * (double)t->columns;
    t->buf[k] = neo_kernel_scratch(l->k, names[k], (neo_type)acc_of(t, k)->type, (int64_t)elements);
  }
}

/* The keys' axes by their largest extents, the last one innermost, then columns counted from the
 * block's first one. */
static const neo_lx *table_offset(neo_lower_tables *t) {
  lowering *l = t->l;
  lower_terms sum = {.n = 0};
  int64_t stride = t->columns;
  for (uint32_t k = (uint32_t)l->f->axes.n; k-- > 0;)
    if (t->seg.axes >> k & 1) {
      neo_lower_add_axis(l, &sum, k, stride);
      stride *= neo_axis_most(l->m, &l->f->axes.at[k]);
    }
  if (t->n_axis >= 0) {
    neo_lower_add_axis(l, &sum, (uint32_t)t->n_axis, 1);
    neo_lower_add_term(&sum, t->n_lo, -1, 0);
  }
  return neo_lower_sum(l, &sum, 0);
}

const neo_lx *neo_lower_table_at(neo_lower_tables *t, uint32_t k) {
  return in_result(t, k) ? neo_lower_expr(t->l, t->store->outs.at[0].offset) : table_offset(t);
}

/* The elements of a row of the result, if its rows with all columns are contiguous from element 0
 * on; else 0. */
static int64_t result_row(const neo_lower_tables *t) {
  const lowering *l = t->l;
  neo_linear at;
  neo_expr row = neo_axis_ref(l->m, t->seg.axis);
  int64_t n = 1, lo, hi;
  if (t->n_axis >= 0 && (!neo_lx_is_int(t->n_lo, &lo) || lo != 0 || !neo_lx_is_int(t->n_hi, &n)))
    return 0;
  if (l->f->axes.n != 1u + (t->n_axis >= 0) ||
      !neo_flat_linear(l->m, t->store->outs.at[0].offset, &at) || at.constant ||
      at.n != l->f->axes.n || neo_linear_coef(&at, row) != n)
    return 0;
  if (t->n_axis < 0)
    return n;
  neo_expr column = neo_axis_ref(l->m, (uint32_t)t->n_axis);
  bool whole = neo_expr_is_int(l->m, l->f->axes.at[t->n_axis].hi, &hi) && hi == n;
  return whole && neo_linear_coef(&at, column) == 1 ? n : 0;
}

bool neo_lower_fill_table(neo_lower_tables *t, neo_block *in, uint32_t k) {
  lowering *l = t->l;
  const neo_form_acc *a = acc_of(t, k);
  bool one = (t->seg.axes & (t->seg.axes - 1)) == 0;
  int64_t row = !one ? 0 : in_result(t, k) ? result_row(t) : t->columns;
  neo_type type = (neo_type)a->type;
  if (row)
    neo_lower_fill(l, in, t->buf[k], lx_mul(l, t->m_lo, row), lx_mul(l, t->m_hi, row),
                   neo_lx_const(l->k, type, neo_acc_identity((neo_reducer)a->kind, type)));
  return row != 0;
}

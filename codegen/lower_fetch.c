/* Fetching what the next tile reads (schedule/fetch.h).
 *
 *     for k: fetch W[(k + 8)*1024 + n], ...; acc[r, v, lane] += X[r, k] * W[k*1024 + n + ...]
 *
 * One element of each cache line is named. Only the first tile of rows of a block does it for the
 * columns, which are the same for all of them. */
#include "codegen/lower_scope.h"

void neo_lower_plan_fetches(lowering *l) {
  l->n_fetches = l->s->at[NEO_SCHED_FETCH] ? neo_fetch_find(l->m, l->f, l->s, l->fetch) : 0;
}

/* A tile with a column for each line. */
static tile lines_of(const tile *t, int64_t bytes, bool rows) {
  tile y = *t;
  y.width = NEO_FETCH_LINE / bytes;
  y.cols = (t->cols * t->width * bytes + NEO_FETCH_LINE - 1) / NEO_FETCH_LINE;
  y.rows = rows ? t->rows : 1;
  y.n_end = NULL;
  return y;
}

static void fetch_one(lowering *l, neo_block *in, const tile *t, const neo_fetch *x) {
  uint64_t buf = 0, axes = neo_expr_axes(l->m, x->load);
  bool rows = t->m_axis >= 0 && axes >> t->m_axis & 1;
  tile lines = lines_of(t, neo_type_bytes(neo_expr_type(l->m, x->load)), rows);
  in = neo_lower_open_tile(l, in, &lines, false);
  axis_value here = l->axis[x->axis], there = here;
  there.at[there.n++] = (axis_part){lx_int(l, 1), x->by, 0};
  neo_lower_set_parts(l, x->axis, there);
  neo_map_get(&l->buf_of, neo_expr_node(l->m, x->load)->attr, &buf);
  neo_ls_fetch(l->k, in, (uint32_t)buf, neo_lower_expr(l, neo_flat_at(l->m, x->load)));
  neo_lower_set_parts(l, x->axis, here);
  neo_lower_close_tile(l, &lines);
}

void neo_lower_fetch(lowering *l, neo_block *in, const tile *t, bool at_end) {
  for (uint32_t k = 0; k < l->n_fetches; k++)
    if (l->fetch[k].at_end == at_end && (at_end || t->leads))
      fetch_one(l, in, t, &l->fetch[k]);
}

/* Fetching what the next tile reads (schedule/fetch.h).
 *
 *     for k: fetch W[(k + 8)*1024 + n], ...; acc[r, v, lane] += X[r, k] * W[k*1024 + n + ...]
 *
 * One element of each cache line is named. Only the first tile of rows of a block does it for the
 * columns, which are the same for all of them. What the next copy into scratch reads is fetched in
 * parts, one before each tile:
 *
 *     for f in kb + j*part..kb + (j + 1)*part: fetch W[(f + 256)*1024 + n]
 */
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

/* The lines of a tile, of the point `by` further along the axis. */
static void fetch_one(lowering *l, neo_block *in, const tile *t, const neo_fetch *x) {
  uint64_t buf = 0, axes = neo_expr_axes(l->m, x->load);
  bool rows = t->m_axis >= 0 && axes >> t->m_axis & 1;
  tile lines = lines_of(t, neo_type_bytes(neo_expr_type(l->m, x->load)), rows);
  in = neo_lower_open_tile(l, in, &lines, false);
  axis_value here = l->axis[x->axis], there = here;
  there.at[there.n++] = (axis_part){lx_int(l, 1), x->by, 0};
  neo_lower_set_parts(l, x->axis, there);
  neo_map_get(&l->buf_of, neo_expr_node(l->m, x->load)->attr, &buf);
  neo_ls_fetch(l->k, in, (uint32_t)buf, neo_lower_expr(l, neo_flat_at(l->m, x->load)), false);
  neo_lower_set_parts(l, x->axis, here);
  neo_lower_close_tile(l, &lines);
}

void neo_lower_fetch(lowering *l, neo_block *in, const tile *t, bool at_end) {
  for (uint32_t k = 0; k < l->n_fetches; k++)
    if (l->fetch[k].at_end == at_end && !l->fetch[k].copied && (at_end || t->leads))
      fetch_one(l, in, t, &l->fetch[k]);
}

/* ---- of the next copy */

static const neo_lx *ceil_div(lowering *l, const neo_lx *x, const neo_lx *n) {
  const neo_lx *up = lx_sub(l, lx_add(l, x, n), lx_int(l, 1));
  return neo_lx_op2(l->k, NEO_OP_DIV, up, n);
}

/* Tile j of n tiles of rows: steps [lo + j*part, lo + (j + 1)*part) of the block's [lo, hi), which
 * has `length` of them or, where it is the last one, fewer. */
static void fetch_part(lowering *l, neo_block *in, const tile *t, const neo_fetch *x,
                       const neo_lx *lo, const neo_lx *hi, const neo_lx *length) {
  const neo_lx *size = lx_int(l, l->s->at[NEO_SCHED_TILE_M]), *v;
  const neo_lx *tiles = ceil_div(l, neo_lower_extent(l, (uint32_t)t->m_axis), size);
  const neo_lx *part = ceil_div(l, length, tiles);
  const neo_lx *at = neo_lx_op2(l->k, NEO_OP_DIV, t->m_pack, size);
  const neo_lx *from = lx_add(l, lo, neo_lx_op2(l->k, NEO_OP_MUL, at, part));
  neo_block *body = neo_lower_open(l, in, "f", from, lx_min(l, lx_add(l, from, part), hi), 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n, v, l->depth);
  fetch_one(l, body, t, x);
  neo_lower_close(l);
}

void neo_lower_fetch_copied(lowering *l, neo_block *in, const tile *t, size_t stage) {
  const stage_bounds *b = &l->bounds[stage];
  for (uint32_t k = 0; k < l->n_fetches; k++) {
    const neo_fetch *x = &l->fetch[k];
    if (!x->copied || x->stage != stage)
      continue;
    const neo_lx *lo = neo_lower_expr(l, b->lo[0]), *hi = neo_lower_expr(l, b->hi[0]);
    if (l->block.on)
      fetch_part(l, in, t, x, l->block.lo, l->block.hi, lx_int(l, l->s->at[NEO_SCHED_BLOCK_K]));
    else
      fetch_part(l, in, t, x, lo, hi, lx_sub(l, hi, lo));
  }
}

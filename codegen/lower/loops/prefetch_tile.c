/* Prefetches of the data that the next register tiles read (schedule/tile/prefetch.h), an element
 * of each line.
 *
 * Each step of a tile prefetches for the same step of the next tile of columns. Only a block's
 * first tile of rows does so, because all its tiles of rows read the same columns:
 *
 *     for k: prefetch W[k*1024 + n + 32], ...; acc[r, v, lane] += X[r, k] * W[k*1024 + n + ...]
 *
 * The tiles of a block divide the lines of the next packing evenly, in the order of memory. The
 * lines that the next tile of rows needs in its finish are prefetched by one tile. In both cases
 * the steps of a tile divide its lines, because many prefetches at once would delay all loads that
 * miss L1.
 *
 *     for k: for f in t*14 + k..min(t*14 + k + 1, (t + 1)*14):
 *       prefetch W[(f/64 + 32)*1024 + f%64*16]
 */
#include "codegen/lower/loops/loops.h"

void neo_lower_plan_tile_prefetch(lowering *l) {
  l->n_prefetches =
      l->s->loops.prefetch ? neo_prefetch_find(l->m, l->f, l->machine, l->s, l->prefetches) : 0;
}

/* The tile with one column for each cache line. */
static tile lines_of(const lowering *l, const tile *t, int64_t bytes, bool rows) {
  tile y = *t;
  y.width = l->line_bytes / bytes;
  y.cols = (t->cols * t->width * bytes + l->line_bytes - 1) / l->line_bytes;
  y.rows = rows ? t->rows : 1;
  y.n_end = NULL;
  return y;
}

/* Prefetches the lines of a tile at the point `by` further along the axis. */
static void prefetch_lines(lowering *l, neo_block *in, const tile *t, const neo_prefetch *x) {
  uint64_t buf = 0, axes = neo_form_axes(l->m, l->f, x->load);
  bool rows = t->m_axis >= 0 && axes >> t->m_axis & 1;
  tile lines = lines_of(l, t, neo_type_bytes(neo_expr_type(l->m, x->load)), rows);
  in = neo_lower_open_tile(l, in, &lines, false);
  axis_value here = l->axis[x->axis], there = here;
  there.at[there.n++] = (axis_part){lx_int(l, 1), x->by, 0};
  neo_lower_set_parts(l, x->axis, there);
  neo_map_get(&l->buf_of, neo_expr_node(l->m, x->load)->attr, &buf);
  neo_ls_prefetch(l->k, in, (uint32_t)buf, neo_lower_expr(l, neo_flat_at(l->m, x->load)), x->far);
  neo_lower_set_parts(l, x->axis, here);
  neo_lower_close_tile(l);
}

void neo_lower_prefetch_tile(lowering *l, neo_block *in, const tile *t, bool at_end) {
  for (uint32_t k = 0; k < l->n_prefetches; k++)
    if (!l->prefetches[k].shared && l->prefetches[k].at_end == at_end && (at_end || t->first_row))
      prefetch_lines(l, in, t, &l->prefetches[k]);
}

/* ---- lines that steps divide */

static const neo_lx *times(lowering *l, const neo_lx *x, const neo_lx *y) {
  return neo_lx_op2(l->k, NEO_OP_MUL, x, y);
}

static const neo_lx *quotient(lowering *l, const neo_lx *x, const neo_lx *n) {
  return neo_lx_op2(l->k, NEO_OP_DIV, x, n);
}

static const neo_lx *ceil_div(lowering *l, const neo_lx *x, const neo_lx *n) {
  return quotient(l, lx_sub(l, lx_add(l, x, n), lx_int(l, 1)), n);
}

/* The current iteration of a sequence, and the sequence's length. */
typedef struct {
  const neo_lx *at, *n;
} iteration;

/* The tile's number among those of its block, in the order in which they run. */
static iteration iteration_of_tile(lowering *l, const tile *t) {
  const neo_lx *high = lx_int(l, l->s->loops.tile_m);
  const neo_lx *width = lx_int(l, l->s->loops.tile_n * t->width);
  iteration rows = {quotient(l, t->m_pack, high), ceil_div(l, lx_sub(l, t->m_hi, t->m_lo), high)};
  iteration columns = {quotient(l, t->n_pack, width),
                       ceil_div(l, lx_sub(l, t->n_hi, t->n_lo), width)};
  bool columns_first = neo_schedule_columns_first(l->m, l->original, l->s);
  iteration outer = columns_first ? columns : rows, inner = columns_first ? rows : columns;
  return (iteration){lx_add(l, times(l, outer.at, inner.n), inner.at), times(l, outer.n, inner.n)};
}

/* An area that is read: [lo, hi) of an axis, of length `most` unless it is the last, and columns
 * [n_lo, n_hi). */
typedef struct {
  uint32_t axis;
  const neo_lx *lo, *hi, *most, *n_lo, *n_hi;
} area;

/* Prefetches the line that begins at a column, at value `at` of an area's axis. */
static void prefetch_line(lowering *l, neo_block *in, const tile *t, const neo_prefetch *x,
                          uint32_t axis, const neo_lx *at, const neo_lx *column) {
  uint64_t buf = 0;
  axis_value columns = l->axis[t->n_axis], old = l->axis[axis];
  neo_lower_set_axis(l, (uint32_t)t->n_axis, column, l->depth);
  neo_lower_set_axis(l, axis, at, l->depth);
  axis_value there = l->axis[x->axis];
  neo_lower_push_part(&there, lx_int(l, 1), x->by, 0);
  neo_lower_set_parts(l, x->axis, there);
  neo_map_get(&l->buf_of, neo_expr_node(l->m, x->load)->attr, &buf);
  neo_ls_prefetch(l->k, in, (uint32_t)buf, neo_lower_expr(l, neo_flat_at(l->m, x->load)), x->far);
  neo_lower_set_parts(l, axis, old);
  neo_lower_set_parts(l, (uint32_t)t->n_axis, columns);
}

/* Prefetches the current tile's and step's share of an area's lines. Tiles divide the lines, and
 * the steps of a tile divide its share. */
static void prefetch_part(lowering *l, neo_block *in, const tile *t, const neo_prefetch *x,
                          const area *a, iteration of_tile, iteration of_step) {
  int64_t bytes = neo_type_bytes(neo_expr_type(l->m, x->load));
  const neo_lx *line = lx_int(l, l->line_bytes / bytes), *v;
  const neo_lx *row = ceil_div(l, lx_sub(l, a->n_hi, a->n_lo), line);
  const neo_lx *part = ceil_div(l, times(l, a->most, row), of_tile.n);
  const neo_lx *from = times(l, of_tile.at, part), *to = lx_add(l, from, part);
  const neo_lx *each = ceil_div(l, part, of_step.n);
  to = lx_min(l, to, times(l, lx_sub(l, a->hi, a->lo), row));
  from = lx_add(l, from, times(l, of_step.at, each));
  in = neo_lower_open(l, in, "f", from, lx_min(l, lx_add(l, from, each), to), 1, &v);
  const neo_lx *column = times(l, neo_lx_op2(l->k, NEO_OP_MOD, v, row), line);
  prefetch_line(l, in, t, x, a->axis, lx_add(l, a->lo, quotient(l, v, row)),
                lx_add(l, a->n_lo, column));
  neo_lower_close(l);
}

/* The area of the columns that a block's packing reads; its axis is the block's steps. */
static area copied_area(lowering *l, const tile *t, const stage_bounds *b) {
  area a = {(uint32_t)l->f->axes.n, l->block.lo, l->block.hi, NULL, t->n_lo, t->n_hi};
  if (l->block.on) {
    a.most = lx_int(l, l->s->loops.block_k);
    return a;
  }
  a.lo = neo_lower_expr(l, b->lo[0]), a.hi = neo_lower_expr(l, b->hi[0]);
  a.most = lx_sub(l, a.hi, a.lo);
  return a;
}

static area rows_area(lowering *l, const tile *t) {
  const neo_lx *rows = lx_int(l, t->rows), *width = lx_int(l, t->cols * t->width);
  return (area){(uint32_t)t->m_axis,      t->m_at, lx_add(l, t->m_at, rows), rows, t->n_at,
                lx_add(l, t->n_at, width)};
}

int64_t neo_lower_prefetch_steps(lowering *l, const tile *t, size_t stage) {
  int64_t steps = 0;
  for (uint32_t k = 0; k < l->n_prefetches; k++) {
    const neo_prefetch *x = &l->prefetches[k];
    if (!x->shared || x->stage != stage)
      continue;
    if (!x->at_end)
      return -1;
    int64_t line = l->line_bytes / neo_type_bytes(neo_expr_type(l->m, x->load));
    int64_t lines = t->rows * ((t->cols * t->width + line - 1) / line);
    steps = lines > steps ? lines : steps;
  }
  return steps;
}

void neo_lower_prefetch_shared(lowering *l, neo_block *in, const tile *t, size_t stage) {
  const iteration alone = {lx_int(l, 0), lx_int(l, 1)};
  for (uint32_t k = 0; k < l->n_prefetches; k++) {
    const neo_prefetch *x = &l->prefetches[k];
    if (!x->shared || x->stage != stage || (x->at_end && l->end_prefetched))
      continue;
    area block = copied_area(l, t, &l->bounds[stage]), rows = rows_area(l, t);
    iteration step = {lx_sub(l, neo_lower_axis(l, block.axis), block.lo), block.most};
    if (x->at_end)
      prefetch_part(l, in, t, x, &rows, alone, step);
    else
      prefetch_part(l, in, t, x, &block, iteration_of_tile(l, t), step);
  }
}

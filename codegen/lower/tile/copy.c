/* Copies of a contraction's operands into scratch (codegen/lower/tile/pack.c has the layout there).
 *
 * A copy is a nest of loops over the own axes that the operand uses and over rows or columns. The
 * loop along which the operand is contiguous in memory is the innermost, so that loads are vectors;
 * own axes that are contiguous in memory and in scratch become one loop, a run. Columns, and rows
 * that are contiguous in memory across tiles, are copied for a few tiles at a time, so that the
 * reads for one k are some consecutive cache lines:
 *
 *     for groups of tiles t: for k: for g, e: scratch[t + g][k][e] = operand */
#include "codegen/lower/tile/copy.h"

enum { GROUP_BYTES = 256 };

/* ---- runs: the last own axes of the operand, if they are contiguous in memory and in scratch */

/* The first own axis of the run; it is never after the last axis that the operand uses. All
 * elements that a run of a plain load covers are in range, since each is at a point of the
 * domain. */
static uint32_t run_start(copier *c) {
  lowering *l = c->l;
  uint32_t n = (uint32_t)c->s->axes.n, last = n, start;
  for (uint32_t k = 0; k < n; k++)
    if (c->p->k_coef[k])
      last = k;
  start = last;
  if (last == n || c->p->k_coef[last] != 1 || neo_expr_node(l->m, c->value)->op != NEO_OP_LOAD)
    return last;
  neo_expr at = neo_flat_at(l->m, c->value);
  int64_t unit, stride, extent = 1, x;
  if (!neo_flat_stride(l->m, l->f, at, (uint32_t)l->f->axes.n + last, &unit) || unit != 1)
    return last;
  for (uint32_t k = last + 1; k-- > 0;) {
    copy_loop o = neo_copy_own_loop(c, k);
    if (!c->p->k_coef[k])
      continue;
    if (!neo_flat_stride(l->m, l->f, at, (uint32_t)l->f->axes.n + k, &stride) ||
        stride != c->p->k_coef[k] || stride != extent)
      break;
    start = k;
    if (!neo_lx_is_int(lx_sub(l, o.hi, o.lo), &x) || x < 1)
      break; /* the length is unknown, so that axes around this one cannot join the run */
    extent *= x;
  }
  return start;
}

/* Adds the run as one loop over its last axis, with the others at their first element. */
static void add_run(copier *c, uint32_t start) {
  lowering *l = c->l;
  uint32_t last = start;
  copy_loop first = neo_copy_own_loop(c, start), x = first;
  const neo_lx *length = lx_sub(l, first.hi, first.lo);
  for (uint32_t k = start + 1; k < c->s->axes.n; k++) {
    if (!c->p->k_coef[k])
      continue;
    x = neo_copy_own_loop(c, k);
    length = neo_lx_op2(l->k, NEO_OP_MUL, length, lx_sub(l, x.hi, x.lo));
    last = k;
  }
  for (uint32_t k = start; k < last; k++) {
    if (!c->p->k_coef[k])
      continue;
    copy_loop o = neo_copy_own_loop(c, k);
    neo_lower_set_axis(l, o.axis, o.lo, l->depth);
    neo_lower_add_term(&c->offset, lx_sub(l, o.lo, o.origin), o.coef, l->depth);
  }
  x.hi = lx_add(l, x.lo, length);
  neo_copy_add(c, x);
}

/* Adds loops over the own axes that the operand uses. */
static void add_own_loops(copier *c) {
  uint32_t start = run_start(c);
  for (uint32_t k = 0; k < c->s->axes.n; k++) {
    if (!c->p->k_coef[k])
      continue;
    if (k >= start) {
      add_run(c, k);
      return;
    }
    neo_copy_add(c, neo_copy_own_loop(c, k));
  }
}

/* ---- rows and columns of one axis */

/* scratch[row][k] */
static void copy_rows(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo, const neo_lx *hi) {
  c->n = 0;
  c->offset.n = 0;
  neo_copy_add(c, (copy_loop){axis, false, lo, hi, 1, 1, c->p->unit, lo, 0});
  add_own_loops(c);
  neo_copy_loops(c, in, 0);
}

/* scratch[k][row] */
static void copy_row_vectors(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo,
                             const neo_lx *hi) {
  c->n = 0;
  c->offset.n = 0;
  add_own_loops(c);
  neo_copy_source_order(c, c->n);
  neo_copy_add(c, (copy_loop){axis, false, lo, hi, 1, 1, 1, lo, 0});
  neo_copy_loops(c, in, 0);
}

/* Copies [lo, hi) of an axis, by groups of `group` tiles of `size` elements; group 0: one smaller
 * tile. start: where the block starts. */
static void copy_tiles(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo, const neo_lx *hi,
                       const neo_lx *start, int64_t size, int64_t group) {
  lowering *l = c->l;
  const neo_lx *v, *zero = lx_int(l, 0);
  int64_t n;
  if (neo_lx_is_int(lx_sub(l, hi, lo), &n) && n <= 0)
    return;
  neo_block *body = neo_lower_open(l, in, "t", lo, hi, size * (group ? group : 1), &v);
  neo_lower_set_axis(l, axis, v, l->depth);
  c->n = 0;
  c->offset.n = 0;
  neo_lower_add_term(&c->offset, lx_sub(l, v, start), c->p->tile_coef, l->depth);
  add_own_loops(c);
  neo_copy_source_order(c, c->n);
  const neo_lx *tiles = lx_int(l, group), *end = group ? lx_int(l, size) : lx_sub(l, hi, v);
  if (group > 1)
    neo_copy_add(c, (copy_loop){axis, true, zero, tiles, 1, size, size * c->p->tile_coef, zero, 0});
  neo_copy_add(c, (copy_loop){axis, true, zero, end, 1, 1, c->p->unit, zero, 0});
  c->square = c->n;
  neo_copy_squares(c);
  if (c->square == c->n)
    neo_copy_contiguous_last(c);
  neo_copy_loops(c, body, 0);
  neo_lower_close(l);
}

/* scratch[tile][k][element] */
static void copy_axis(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo, const neo_lx *hi,
                      int64_t size) {
  lowering *l = c->l;
  const neo_lx *mid = neo_lower_floor_to_multiple(l, lo, hi, size), *many = lo;
  int64_t bytes = size * neo_type_bytes((neo_type)neo_expr_type(l->m, c->value));
  int64_t group = GROUP_BYTES / bytes;
  if (group > 1 && neo_expr_unit_stride(l->m, l->f, c->p->from, axis)) {
    many = neo_lower_floor_to_multiple(l, lo, hi, size * group);
    copy_tiles(c, in, axis, lo, many, lo, size, group);
  }
  copy_tiles(c, in, axis, many, mid, lo, size, 1);
  copy_tiles(c, in, axis, mid, hi, lo, size, 0);
}

/* ---- sliding rows and columns */

/* scratch[k][u]. The axis of rows or columns is at its first element, and own axis slide.own takes
 * the value that gives u. Facts for proofs and conditions have the whole range of these values. */
static void copy_sliding(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo,
                         const neo_lx *hi) {
  lowering *l = c->l;
  const pack *p = c->p;
  const neo_sliding *w = &p->slide;
  uint32_t own = (uint32_t)l->f->axes.n + w->own;
  int64_t base = w->lo - w->beta * p->shift, most = p->reach - 1;
  neo_axis_rec before = l->fact_axes[own], *now = &l->fact_axes[own];
  now->lo = neo_const_i64(l->m, w->beta < 0 ? base - most : base);
  now->hi = neo_const_i64(l->m, (w->beta < 0 ? base : base + most) + 1);
  neo_map_init(&l->safe, l->a);
  neo_lower_set_axis(l, axis, lo, l->depth);
  c->n = 0;
  c->offset.n = 0;
  for (uint32_t k = 0; k < c->s->axes.n; k++)
    if (p->k_coef[k] && k != w->own)
      neo_copy_add(c, neo_copy_own_loop(c, k));
  const neo_lx *zero = lx_int(l, 0), *steps = lx_sub(l, lx_sub(l, hi, lo), lx_int(l, 1));
  const neo_lx *end = lx_add(l, lx_mul(l, steps, w->alpha), lx_int(l, w->n));
  neo_copy_add(c, (copy_loop){own, false, zero, end, 1, w->beta, 1, zero, base});
  neo_copy_contiguous_last(c);
  neo_copy_loops(c, in, 0);
  *now = before;
  neo_map_init(&l->safe, l->a);
  neo_lower_forget(l);
}

/* ---- an operand */

/* An operand's reads are known to be in range only at points of the domain. So nothing is copied if
 * some loop around the operand's use is empty. */
static neo_block *open_nonempty(copier *c, neo_block *in, const neo_lx *const *range) {
  lowering *l = c->l;
  const neo_lx *cond = neo_lx_const(l->k, NEO_BOOL_T, (neo_value){.i = 1});
  int64_t known;
  for (int k = l->s->loops.axis_m < 0 ? 2 : 0; k < 4; k += 2)
    if (!neo_lx_is_int(lx_sub(l, range[k + 1], range[k]), &known) || known < 1)
      cond =
          neo_lx_op2(l->k, NEO_OP_AND, cond, neo_lx_op2(l->k, NEO_OP_LT, range[k], range[k + 1]));
  for (uint32_t k = 0; k < c->s->axes.n; k++) {
    if (c->p->k_coef[k] || !neo_lower_range_is_one(l, c->b->lo[k], c->b->hi[k]))
      continue; /* no guard: plan_pack made sure that several ranges need none */
    const neo_lx *lo = neo_lower_expr(l, c->b->lo[k]), *hi = neo_lower_expr(l, c->b->hi[k]);
    cond = neo_lx_op2(l->k, NEO_OP_AND, cond, neo_lx_op2(l->k, NEO_OP_LT, lo, hi));
  }
  if (c->p->around)
    cond =
        neo_lx_op2(l->k, NEO_OP_AND, cond, neo_lx_op2(l->k, NEO_OP_LT, lx_int(l, 0), c->p->around));
  if (neo_lx_is_int(cond, &known) && known)
    return in;
  return &neo_ls_if(l->k, in, cond)->branch.then;
}

/* ---- Packing of columns that are several fused axes, such as the pixels of an image. A row of the
 * image may begin anywhere in a tile. So some steps of k are first copied to a temporary, row by
 * row, and from there to tiles:
 *
 *   temp[k][y*W + x] = X[k, y, x]               rows of the image
 *   scratch[tile][k][column] = temp[k][tile*size + column]
 *
 * Both copies use vectors. */

typedef struct { /* columns [lo, hi) */
  const neo_lx *lo, *hi;
  uint32_t first; /* the first own axis that the temporary holds */
} fused_columns;

/* temp[k][column]: whole iterations of the first of the axes. */
static void fill_temp(copier *c, neo_block *in, const fused_columns *w) {
  lowering *l = c->l;
  uint32_t first = l->fused_last + 1 - l->n_fused;
  int64_t inner = 1, extent = 1, unit = c->p->temp_pitch;
  uint32_t before = c->n;
  c->buf = (uint32_t)c->p->temp;
  for (uint32_t k = (uint32_t)c->s->axes.n; k-- > w->first;) {
    if (!c->p->k_coef[k])
      continue;
    copy_loop x = neo_copy_own_loop(c, k);
    x.coef = unit;
    neo_copy_add(c, x);
    unit *= c->p->k_extent[k];
  }
  for (uint32_t k = before; k < before + (c->n - before) / 2; k++) { /* outermost first */
    copy_loop x = c->at[k], *y = &c->at[c->n - 1 - (k - before)];
    c->at[k] = *y;
    *y = x;
  }
  for (uint32_t k = first + 1; k <= l->fused_last; k++) {
    neo_expr_is_int(l->m, l->original->axes.at[k].hi, &extent);
    inner *= extent;
  }
  const neo_lx *from = lx_div(l, w->lo, inner), *to = lx_div(l, w->hi, inner), *zero = lx_int(l, 0);
  neo_copy_add(c, (copy_loop){first, false, from, to, 1, 1, inner, from, 0});
  for (uint32_t k = first + 1; k <= l->fused_last; k++) {
    neo_expr_is_int(l->m, l->original->axes.at[k].hi, &extent);
    inner /= extent;
    neo_copy_add(c, (copy_loop){k, false, zero, lx_int(l, extent), 1, 1, inner, zero, 0});
  }
  neo_copy_contiguous_last(c);
  neo_copy_loops(c, in, before);
  c->n = before;
  for (uint32_t k = 1; k < l->n_fused; k++)
    neo_lower_set_axis(l, l->fused_last - k, zero, 0);
}

/* scratch[tile][k][column] = temp[k][column] for the steps in the temporary. offset: that of the
 * first of them in scratch. */
static void cut_temp(copier *c, neo_block *in, const fused_columns *w, const lower_terms *offset) {
  lowering *l = c->l;
  int64_t width = l->s->loops.vector_width, steps = 1;
  int64_t size = l->s->loops.tile_n * width;
  const neo_lx *t, *k, *zero = lx_int(l, 0);
  for (uint32_t i = w->first; i < c->s->axes.n; i++)
    steps *= c->p->k_coef[i] ? c->p->k_extent[i] : 1;
  neo_block *body = neo_lower_open(l, in, "t", zero, lx_sub(l, w->hi, w->lo), size, &t);
  uint32_t t_depth = l->depth;
  body = neo_lower_open(l, body, "k", zero, lx_int(l, steps), 1, &k);
  uint32_t v = neo_kernel_var(l->k, "v"), lane = neo_kernel_var(l->k, "l");
  const neo_lx *vectors = lx_int(l, size / width), *lanes = lx_int(l, width);
  body = &neo_ls_for(l->k, body, NEO_LOOP_UNROLL, v, zero, vectors, 1)->loop.body;
  body = &neo_ls_for(l->k, body, NEO_LOOP_VECTOR, lane, zero, lanes, 1)->loop.body;
  lower_terms to = *offset, from = {.n = 0};
  neo_lower_add_term(&to, t, c->p->tile_coef, t_depth);
  neo_lower_add_term(&from, t, 1, t_depth);
  neo_lower_add_term(&to, k, size, l->depth);
  neo_lower_add_term(&from, k, c->p->temp_pitch, l->depth);
  lower_terms *both[] = {&to, &from};
  for (int i = 0; i < 2; i++) {
    neo_lower_add_term(both[i], neo_lx_var(l->k, v), width, DEPTH_UNROLL);
    neo_lower_add_term(both[i], neo_lx_var(l->k, lane), 1, DEPTH_LANE);
  }
  const neo_lx *x = neo_lx_load(l->k, (uint32_t)c->p->temp, neo_lower_sum(l, &from, 0));
  neo_ls_store(l->k, body, c->p->buf, neo_lower_sum(l, &to, 0), x, NULL);
  neo_lower_close(l);
  neo_lower_close(l);
}

/* Opens loops over own axes from k on that the temporary does not hold; inside, fills it and cuts
 * it into tiles. */
static void copy_fused(copier *c, neo_block *in, const fused_columns *w, uint32_t k) {
  lowering *l = c->l;
  while (k < w->first && !c->p->k_coef[k])
    k++;
  if (k >= w->first) {
    lower_terms offset = c->offset;
    c->offset.n = 0;
    c->n = 0;
    fill_temp(c, in, w);
    cut_temp(c, in, w, &offset);
    c->offset = offset;
    return;
  }
  const neo_lx *v;
  copy_loop x = neo_copy_own_loop(c, k);
  neo_block *body = neo_lower_open(l, in, "e", x.lo, x.hi, 1, &v);
  lower_terms before = c->offset;
  neo_lower_set_axis(l, x.axis, v, l->depth);
  neo_lower_add_term(&c->offset, lx_sub(l, v, x.origin), x.coef, l->depth);
  c->step = x.axis;
  c->at_step = v;
  c->end_step = x.hi;
  copy_fused(c, body, w, k + 1);
  c->offset = before;
  neo_lower_close(l);
}

void neo_lower_copy(lowering *l, neo_block *in, const pack *p, const neo_stage *s,
                    const stage_bounds *b, const neo_lx *const *range) {
  copier c = {.l = l, .p = p, .s = s, .b = b, .value = p->from, .buf = p->buf};
  c.square = UINT32_MAX;
  in = open_nonempty(&c, in, range);
  const neo_loop_params *at = &l->s->loops;
  uint32_t rows = (uint32_t)at->axis_m, columns = (uint32_t)at->vector_axis;
  if (p->cond.i) {
    neo_expr zero = neo_const_int(l->m, neo_expr_type(l->m, p->from), 0);
    c.value = neo_op3(l->m, NEO_OP_SELECT, p->cond, p->from, zero);
  }
  if (p->slides)
    copy_sliding(&c, in, p->side == NEO_SIDE_ROWS ? rows : columns,
                 range[p->side == NEO_SIDE_ROWS ? 0 : 2], range[p->side == NEO_SIDE_ROWS ? 1 : 3]);
  else if (p->side == NEO_SIDE_ROWS && p->unit > 1)
    copy_rows(&c, in, rows, range[0], range[1]);
  else if (p->side == NEO_SIDE_ROWS && p->tile_coef == 1)
    copy_row_vectors(&c, in, rows, range[0], range[1]);
  else if (p->side == NEO_SIDE_ROWS)
    copy_axis(&c, in, rows, range[0], range[1], at->tile_m);
  else if (p->temp >= 0)
    copy_fused(&c, in, &(fused_columns){range[2], range[3], (uint32_t)s->axes.n - p->temp_axes}, 0);
  else
    copy_axis(&c, in, columns, range[2], range[3], at->tile_n * at->vector_width);
}

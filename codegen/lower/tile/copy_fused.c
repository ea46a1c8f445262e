/* Packing of columns that are several fused axes, such as the pixels of an image. A row of the
 * image may begin anywhere in a tile. So some steps of k are first copied to a temporary, row by
 * row, and from there to tiles:
 *
 *   temp[k][y*W + x] = X[k, y, x]               rows of the image
 *   scratch[tile][k][column] = temp[k][tile*size + column]
 *
 * Both copies use vectors. */
#include "codegen/lower/tile/copy.h"

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

void neo_copy_fused(copier *c, neo_block *in, const fused_columns *w, uint32_t k) {
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
  neo_copy_fused(c, body, w, k + 1);
  c->offset = before;
  neo_lower_close(l);
}

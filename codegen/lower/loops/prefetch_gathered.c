/* Prefetches of gathered rows, for kernels that do little except copying them:
 *
 *     for i: prefetch l2 X[row[min(i + 32, n - 1)]*64 + j]
 *            Y[i*64 + j + lane] = X[row[i]*64 + j + lane]
 *
 * Hardware prefetchers cannot predict the next row, and do not follow consecutive rows into the
 * next page; a processor executes only a few rows ahead. So each iteration of the innermost loop
 * around a row prefetches the row of some iterations later. The table of row numbers must be safe
 * to read there: either every index of the loop is inside of the table, or every iteration reads
 * the table anyway. A prefetch changes no result. */
#include "codegen/lower/loops/loops.h"

enum {
  DISTANCE_BYTES =
      8 << 10, /* bytes of rows between two iterations; a processor has time to fetch them */
  LEAST_BYTES = 1 << 20, /* size of a tensor; smaller ones stay in a cache */
};

typedef struct {
  lowering *l;
  const tile *t;
  const neo_lx *value; /* the value of the stage */
  uint32_t step;       /* the axis whose later iteration is prefetched */
  neo_expr load;       /* 0: none is gathered */
  bool safe;
} gathered;

static bool is_large(const lowering *l, neo_tensor t) {
  int64_t n = neo_extent_most(l->m, neo_tensor_elements(l->m, t));
  return n < 0 || n * neo_type_bytes(neo_tensor_type(l->m, t)) >= LEAST_BYTES;
}

/* Is every load of the index one that may be made at any iteration? */
static void look_at_index(void *ctx, neo_expr e) {
  gathered *x = ctx;
  lowering *l = x->l;
  uint64_t buf = 0;
  neo_node n = *neo_expr_node(l->m, e);
  if (n.op != NEO_OP_LOAD || neo_form_inside(l->m, l->p, l->f, &l->facts, e))
    return;
  neo_map_get(&l->buf_of, n.attr, &buf);
  const neo_lx *at = neo_lower_expr(l, neo_flat_at(l->m, e));
  x->safe = x->safe && !l->leaves_out && neo_lx_always_loads(x->value, (uint32_t)buf, at);
}

/* The axis of the innermost loop around a row, if there is one and the row depends on it; else
 * false. */
static bool find_step(gathered *x, neo_expr offset) {
  lowering *l = x->l;
  uint64_t axes = neo_form_axes(l->m, l->f, offset) & ~(1ULL << x->t->n_axis);
  uint32_t depth = 0;
  if (x->t->m_axis >= 0 && axes >> x->t->m_axis & 1)
    return false;
  for (uint32_t k = 0; k < l->f->axes.n; k++) {
    const axis_value *v = &l->axis[k];
    if (!(axes >> k & 1) || v->n != 1 || v->at[0].depth <= depth)
      continue;
    depth = v->at[0].depth;
    x->step = k;
  }
  bool pieces =
      x->t->n_at->kind == NEO_LX_VAR && x->t->n_depth == l->depth; /* a loop over a row's */
  /* depth 0: no loop around the row is the row's */
  return depth && depth + pieces == l->depth && l->axis[x->step].at[0].e->kind == NEO_LX_VAR;
}

static void look(void *ctx, neo_expr e) {
  gathered *x = ctx;
  lowering *l = x->l;
  neo_node n = *neo_expr_node(l->m, e);
  int64_t along;
  if (x->load.i || n.op != NEO_OP_LOAD || !is_large(l, (neo_tensor){n.attr}))
    return;
  neo_expr at = neo_flat_at(l->m, e);
  if (!neo_expr_uses_op(l->m, at, NEO_OP_LOAD) ||
      !neo_flat_stride(l->m, l->f, at, (uint32_t)x->t->n_axis, &along) || along != 1 ||
      !find_step(x, at))
    return;
  x->safe = true;
  neo_expr_visit(l->m, at, look_at_index, x);
  x->load = x->safe ? e : (neo_expr){0};
}

/* Rows that have no sums and are whole vectors. */
static bool copies_rows(const lowering *l, const neo_stage *s, const tile *t) {
  return l->f->stages.n == 1 && !s->axes.n && s->outs.n == 1 && l->s->loops.fused == 1 &&
         neo_lower_lanes_shared(l) && t->n_axis >= 0 && !t->n_end && t->width > 1;
}

void neo_lower_prefetch_gathered(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  gathered x = {.l = l, .t = t};
  int64_t extent;
  uint64_t buf = 0;
  if (!copies_rows(l, s, t))
    return;
  x.value = neo_lower_expr(l, s->outs.at[0].value);
  neo_expr_visit(l->m, s->outs.at[0].value, look, &x);
  if (!x.load.i)
    return;
  int64_t bytes = neo_type_bytes(neo_expr_type(l->m, x.load)), n = t->cols * t->width;
  int64_t row = n;
  (void)neo_lx_is_int(lx_sub(l, t->n_hi, t->n_lo), &row);
  int64_t distance = DISTANCE_BYTES < row * bytes ? 1 : DISTANCE_BYTES / (row * bytes);
  const neo_lx *end = neo_lower_extent(l, x.step);
  if (neo_lx_is_int(end, &extent) && extent <= distance)
    return;
  axis_value step = l->axis[x.step], columns = l->axis[t->n_axis];
  const neo_lx *later = lx_add(l, step.at[0].e, lx_int(l, distance));
  neo_map_get(&l->buf_of, neo_expr_node(l->m, x.load)->attr, &buf);
  neo_lower_set_axis(l, x.step, lx_min(l, later, lx_sub(l, end, lx_int(l, 1))), l->depth);
  for (int64_t i = 0; i < n; i += l->line_bytes / bytes) {
    neo_lower_set_axis(l, (uint32_t)t->n_axis, lx_add(l, t->n_at, lx_int(l, i)), t->n_depth);
    neo_ls_prefetch(l->k, in, (uint32_t)buf, neo_lower_expr(l, neo_flat_at(l->m, x.load)), true);
  }
  neo_lower_set_parts(l, x.step, step);
  neo_lower_set_parts(l, (uint32_t)t->n_axis, columns);
  neo_lower_forget(l);
}

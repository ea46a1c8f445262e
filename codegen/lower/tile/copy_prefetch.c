/* Prefetches of rows that a copy gathers: H[child[v], j] for the steps v of a sum. Hardware
 * prefetchers cannot predict the next row, and a copy has no arithmetic to hide the latency, so
 * each step of the loop around a row's elements prefetches the row of some steps later. A prefetch
 * changes no result. */
#include "codegen/lower/tile/copy.h"

enum { STEPS = 12, MOST_LINES = 16 };

typedef struct {
  copier *c;
  uint32_t step, row; /* axes: the loop around a row; along it */
  neo_expr load;      /* 0: none is gathered */
} gathered;

static void look_at_index(void *ctx, neo_expr e) {
  gathered *x = ctx;
  lowering *l = x->c->l;
  if (neo_expr_node(l->m, e)->op == NEO_OP_LOAD && !neo_form_inside(l->m, l->p, l->f, &l->facts, e))
    x->load.i = 0;
}

/* Is it a load of a row that an element of a tensor names, which may be read for every step? */
static void look(void *ctx, neo_expr e) {
  gathered *x = ctx;
  lowering *l = x->c->l;
  int64_t along;
  if (x->load.i || neo_expr_node(l->m, e)->op != NEO_OP_LOAD)
    return;
  neo_expr at = neo_flat_at(l->m, e);
  if (!neo_expr_uses_op(l->m, at, NEO_OP_LOAD) || !(neo_form_axes(l->m, l->f, at) >> x->step & 1) ||
      !neo_flat_stride(l->m, l->f, at, x->row, &along) || along != 1)
    return;
  x->load = e;
  neo_expr_visit(l->m, at, look_at_index, x);
}

/* The most elements of a row that the inner loops copy. */
static int64_t row_elements(const copier *c, uint32_t k) {
  int64_t all = 1, n, block = c->l->s->loops.block_m;
  for (uint32_t i = k + 1; i < c->n; i++)
    all *= neo_lx_is_int(lx_sub(c->l, c->at[i].hi, c->at[i].lo), &n) ? n : block ? block : 1;
  return all;
}

/* Are all loops inside of loop k along a row? */
static bool is_last(const copier *c, uint32_t k) {
  bool last = k + 1 < c->n;
  for (uint32_t i = k + 1; i < c->n; i++)
    last = last && c->at[i].axis == c->at[c->n - 1].axis;
  return last && c->at[k].axis != c->at[c->n - 1].axis && c->at[c->n - 1].axis < c->l->f->axes.n;
}

void neo_copy_prefetch(copier *c, neo_block *in, uint32_t k) {
  lowering *l = c->l;
  gathered y = {c, c->step, c->at[c->n - 1].axis, {0}};
  if (!c->at_step || !is_last(c, k))
    return;
  neo_expr_visit(l->m, c->p->from, look, &y);
  if (!y.load.i)
    return;
  uint64_t buf = 0;
  int64_t n = row_elements(c, k),
          line = l->line_bytes / neo_type_bytes(neo_expr_type(l->m, y.load));
  neo_map_get(&l->buf_of, neo_expr_node(l->m, y.load)->attr, &buf);
  axis_value step = l->axis[y.step], row = l->axis[y.row];
  const neo_lx *last = lx_sub(l, c->end_step, lx_int(l, 1)), *first = c->at[k + 1].lo;
  if (c->at[k + 1].adds)
    first = neo_lower_axis(l, y.row);
  neo_lower_set_axis(l, y.step, lx_min(l, lx_add(l, c->at_step, lx_int(l, STEPS)), last), l->depth);
  for (int64_t i = 0; i < n && i < MOST_LINES * line; i += line) {
    neo_lower_set_axis(l, y.row, lx_add(l, first, lx_int(l, i)), l->depth);
    neo_ls_prefetch(l->k, in, (uint32_t)buf, neo_lower_expr(l, neo_flat_at(l->m, y.load)), false);
  }
  neo_lower_set_parts(l, y.step, step);
  neo_lower_set_parts(l, y.row, row);
  neo_lower_forget(l);
}

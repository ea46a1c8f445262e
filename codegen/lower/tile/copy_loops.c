/* The loops of a copy. The innermost one copies vectors, then single elements. If the operand is
 * zero outside of a range of that loop, vectors inside of the range need no mask. */
#include "codegen/lower/tile/copy.h"
#include <assert.h>

static void set_copy_axis(copier *c, const copy_loop *x, const neo_lx *v, const neo_lx *lane) {
  lowering *l = c->l;
  axis_value old = x->adds ? l->axis[x->axis] : (axis_value){.n = 0};
  assert(old.n + 3 <= MAX_PARTS);
  if (x->base)
    old.at[old.n++] = (axis_part){lx_int(l, x->base), 1, 0};
  old.at[old.n++] = (axis_part){v, x->scale, l->depth};
  if (lane)
    old.at[old.n++] = (axis_part){lane, x->scale, DEPTH_LANE};
  neo_lower_set_parts(l, x->axis, old);
}

static void copy_element(copier *c, neo_block *in, const copy_loop *x, const neo_lx *v,
                         const neo_lx *lane) {
  lowering *l = c->l;
  axis_value old = l->axis[x->axis];
  lower_terms at = c->offset;
  set_copy_axis(c, x, v, lane);
  neo_lower_add_term(&at, lx_sub(l, v, x->origin), x->coef, l->depth);
  if (lane)
    neo_lower_add_term(&at, lane, x->coef, DEPTH_LANE);
  neo_ls_store(l->k, in, c->buf, neo_lower_sum(l, &at, 0), neo_lower_expr(l, c->value), NULL);
  neo_lower_set_parts(l, x->axis, old);
}

/* Unrolls some iterations of the loop around the innermost one. Where lanes are strided in scratch,
 * these iterations are contiguous there, and the emitter combines their stores. */
static neo_block *open_across(copier *c, neo_block *in) {
  lowering *l = c->l;
  const copy_loop *x = c->across;
  uint32_t var = neo_kernel_var(l->k, "r");
  const neo_lx *r = neo_lx_var(l->k, var);
  axis_value v = l->axis[x->axis];
  neo_lower_push_part(&v, r, x->scale, DEPTH_UNROLL);
  neo_lower_set_parts(l, x->axis, v);
  neo_lower_add_term(&c->offset, r, x->coef, DEPTH_UNROLL);
  return &neo_ls_for(l->k, in, NEO_LOOP_UNROLL, var, lx_int(l, 0), lx_int(l, c->n_across), 1)
              ->loop.body;
}

/* A vector of elements, or a single one. */
static void copy_lanes(copier *c, neo_block *in, const copy_loop *x, const neo_lx *v,
                       int64_t width) {
  lowering *l = c->l;
  if (width == 1) {
    copy_element(c, in, x, v, NULL);
    return;
  }
  uint32_t var = neo_kernel_var(l->k, "l");
  in = &neo_ls_for(l->k, in, NEO_LOOP_VECTOR, var, lx_int(l, 0), lx_int(l, width), 1)->loop.body;
  copy_element(c, in, x, v, neo_lx_var(l->k, var));
}

/* Copies [from, to) by vectors of `width` elements, or by single ones. */
static void copy_range(copier *c, neo_block *in, const copy_loop *x, const neo_lx *from,
                       const neo_lx *to, int64_t width) {
  lowering *l = c->l;
  const neo_lx *v;
  int64_t n;
  if (neo_lx_is_int(lx_sub(l, to, from), &n) && n <= 0)
    return;
  neo_block *body = neo_lower_open(l, in, "e", from, to, width, &v);
  lower_terms before = c->offset;
  axis_value old = l->axis[c->across ? c->across->axis : x->axis];
  if (c->across)
    body = open_across(c, body);
  copy_lanes(c, body, x, v, width);
  if (c->across)
    neo_lower_set_parts(l, c->across->axis, old);
  c->offset = before;
  neo_lower_close(l);
}

/* ---- edges: where a condition holds for a range of the innermost loop, vectors inside of the
 * range need no mask */

typedef struct {
  const neo_lx *lo, *hi;
  neo_expr value, zero, rest; /* rest: of the condition; 0: none */
} inside;

/* Tightens the range of an axis by the condition, with the axis moved to the end: bounds of an axis
 * may only use the axes before it. */
static bool tighten_last(copier *c, uint32_t axis, neo_expr cond, neo_expr *lo, neo_expr *hi,
                         neo_expr *rest) {
  lowering *l = c->l;
  uint32_t n = l->facts.n_axes, last = n - 1;
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  neo_expr by[NEO_FORM_MAX_AXES];
  for (uint32_t k = 0; k < n; k++)
    by[k] = neo_axis_ref(l->m, k == axis ? last : k == last ? axis : k);
  for (uint32_t k = 0; k < n; k++) {
    const neo_axis_rec *x = &l->facts.axes[k];
    if ((neo_form_axes(l->m, l->f, x->lo) | neo_form_axes(l->m, l->f, x->hi)) >> axis & 1)
      return false;
    neo_axis_rec *y = &axes[k == axis ? last : k == last ? axis : k];
    *y = *x;
    y->lo = neo_expr_subst_axes(l->m, x->lo, by, n);
    y->hi = neo_expr_subst_axes(l->m, x->hi, by, n);
  }
  neo_facts f = {axes, n, l->facts.assume, l->facts.n_assume};
  if (!neo_tighten(l->p, &f, last, neo_expr_subst_axes(l->m, cond, by, n), lo, hi, rest))
    return false;
  *lo = neo_expr_subst_axes(l->m, *lo, by, n);
  *hi = neo_expr_subst_axes(l->m, *hi, by, n);
  if (rest->i)
    *rest = neo_expr_subst_axes(l->m, *rest, by, n);
  return !(rest->i && neo_form_axes(l->m, l->f, *rest) >> axis & 1);
}

/* Is the value select(condition, x, 0) with a condition that is a range of the axis? */
static bool inside_of(copier *c, const copy_loop *x, inside *y) {
  lowering *l = c->l;
  neo_expr lo, hi, rest;
  neo_node n = *neo_expr_node(l->m, c->value);
  if (n.op != NEO_OP_SELECT || !neo_expr_is_zero(l->m, neo_list_expr(l->m, n.arg, 2)))
    return false;
  neo_expr cond = neo_list_expr(l->m, n.arg, 0), value = neo_list_expr(l->m, n.arg, 1);
  if (neo_expr_uses_op(l->m, cond, NEO_OP_LOAD) || !tighten_last(c, x->axis, cond, &lo, &hi, &rest))
    return false;
  uint64_t used = neo_form_axes(l->m, l->f, lo) | neo_form_axes(l->m, l->f, hi);
  if (c->across && (used | (rest.i ? neo_form_axes(l->m, l->f, rest) : 0)) >> c->across->axis & 1)
    return false;
  const neo_lx *begun = x->adds ? neo_lower_axis(l, x->axis) : lx_int(l, x->base);
  const neo_lx *from = neo_lower_expr(l, lo), *to = neo_lower_expr(l, hi), *one = lx_int(l, 1);
  bool down = x->scale < 0;
  y->lo = down ? lx_add(l, lx_sub(l, begun, to), one) : lx_sub(l, from, begun);
  y->hi = down ? lx_add(l, lx_sub(l, begun, from), one) : lx_sub(l, to, begun);
  y->value = value;
  y->zero = neo_list_expr(l->m, n.arg, 2);
  y->rest = rest;
  return true;
}

/* Full vectors up to `to`: masked before the range, unmasked inside of it, masked after it. */
static void copy_vectors(copier *c, neo_block *in, const copy_loop *x, const neo_lx *to,
                         int64_t width) {
  lowering *l = c->l;
  enum { WORTH = 4 };
  inside y;
  int64_t n;
  const neo_lx *length = lx_sub(l, to, x->lo);
  if ((neo_lx_is_int(length, &n) && n < WORTH * width) || !inside_of(c, x, &y)) {
    copy_range(c, in, x, x->lo, to, width);
    return;
  }
  const neo_lx *zero = lx_int(l, 0), *up = lx_int(l, width - 1);
  const neo_lx *skip = lx_max(l, lx_sub(l, y.lo, x->lo), zero), *first, *last;
  first = lx_mul(l, lx_div(l, lx_add(l, lx_min(l, skip, length), up), width), width);
  last = lx_max(l, lx_min(l, lx_sub(l, y.hi, x->lo), length), zero);
  last = lx_max(l, first, lx_mul(l, lx_div(l, last, width), width));
  first = lx_add(l, x->lo, first);
  last = lx_add(l, x->lo, last);
  neo_expr whole = c->value;
  copy_range(c, in, x, x->lo, first, width);
  neo_ls *branch = y.rest.i ? neo_ls_if(l->k, in, neo_lower_expr(l, y.rest)) : NULL;
  if (branch) {
    c->value = y.zero;
    copy_range(c, &branch->branch.otherwise, x, first, last, width);
  }
  c->value = y.value;
  copy_range(c, branch ? &branch->branch.then : in, x, first, last, width);
  c->value = whole;
  copy_range(c, in, x, last, to, width);
}

/* The innermost loop: vectors, then single elements. */
static void copy_inner(copier *c, neo_block *in, const copy_loop *x) {
  lowering *l = c->l;
  const neo_lx *from = x->lo;
  int64_t whole = l->s->loops.vector_width, n;
  bool fixed = neo_lx_is_int(lx_sub(l, x->hi, x->lo), &n);
  for (int64_t width = x->scale <= 1 ? whole : 1; width >= 1; width /= 2) {
    const neo_lx *to = neo_lower_floor_to_multiple(l, from, x->hi, width);
    if (width > 1 && !fixed && width < whole)
      continue;
    if (width == whole && width > 1)
      copy_vectors(c, in, x, to, width);
    else
      copy_range(c, in, x, from, to, width);
    from = to;
  }
}

/* ---- Prefetches of rows that a copy gathers: H[child[v], j] for the steps v of a sum. Hardware
 * prefetchers cannot predict the next row, and a copy has no arithmetic to hide the latency, so
 * each step of the loop around a row's elements prefetches the row of some steps later. A prefetch
 * changes no result. */

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

/* Prefetches a later row within loop k, if it is the innermost loop around a row's elements and the
 * row is gathered. */
static void copy_prefetch(copier *c, neo_block *in, uint32_t k) {
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

/* Loop k over [lo, hi), with its body. */
static void copy_steps(copier *c, neo_block *in, uint32_t k, const neo_lx *lo, const neo_lx *hi,
                       int64_t step) {
  lowering *l = c->l;
  const copy_loop *x = &c->at[k];
  const neo_lx *v;
  neo_block *body = neo_lower_open(l, in, "e", lo, hi, step, &v);
  axis_value old = l->axis[x->axis];
  lower_terms before = c->offset;
  set_copy_axis(c, x, v, NULL);
  neo_lower_add_term(&c->offset, lx_sub(l, v, x->origin), x->coef, l->depth);
  if (x->axis >= l->f->axes.n && !x->adds && x->scale == 1 && !x->base) {
    c->step = x->axis;
    c->at_step = v;
    c->end_step = hi;
  }
  copy_prefetch(c, body, k);
  neo_copy_loops(c, body, k + 1);
  c->offset = before;
  neo_lower_set_parts(l, x->axis, old);
  neo_lower_close(l);
}

/* Loop k, with n_across iterations unrolled in the innermost loop. The remainder is unrolled as
 * well if its length is known; otherwise its iterations run one by one. */
static void copy_across(copier *c, neo_block *in, uint32_t k) {
  lowering *l = c->l;
  const copy_loop *x = &c->at[k];
  int64_t most = l->s->loops.vector_width, n;
  bool fixed = neo_lx_is_int(lx_sub(l, x->hi, x->lo), &n);
  const neo_lx *mid = neo_lower_floor_to_multiple(l, x->lo, x->hi, most);
  int64_t rest = fixed ? n % most : 1;
  c->across = x;
  c->n_across = most;
  if (!fixed || n >= most)
    copy_steps(c, in, k, x->lo, mid, most);
  c->across = rest > 1 ? x : NULL;
  c->n_across = rest;
  if (rest > 0)
    copy_steps(c, in, k, mid, x->hi, rest);
  c->across = NULL;
}

void neo_copy_loops(copier *c, neo_block *in, uint32_t k) {
  const copy_loop *x = &c->at[k];
  if (k + 1 == c->n)
    copy_inner(c, in, x);
  else if (k == c->square)
    copy_across(c, in, k);
  else
    copy_steps(c, in, k, x->lo, x->hi, x->step);
}

void neo_copy_add(copier *c, copy_loop x) {
  c->at[c->n++] = x;
}

copy_loop neo_copy_own_loop(copier *c, uint32_t k) {
  lowering *l = c->l;
  bool block = k == 0 && l->block.on, whole = c->p->whole;
  const neo_axis_rec *x = &c->s->axes.at[k];
  return (copy_loop){.axis = (uint32_t)l->f->axes.n + k,
                     .lo = block ? l->block.lo : neo_lower_expr(l, whole ? x->lo : c->b->lo[k]),
                     .hi = block ? l->block.hi : neo_lower_expr(l, whole ? x->hi : c->b->hi[k]),
                     .step = 1,
                     .scale = 1,
                     .coef = c->p->k_coef[k],
                     .origin = l->k_origin[k]};
}

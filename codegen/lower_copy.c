/* Operands of a contraction copied into scratch (codegen/lower_pack.c says how they lie there).
 *
 * A copy is a nest of loops over the own axes that the operand uses and over rows or columns. The
 * loop along which the operand lies contiguously in memory becomes the innermost, so that loads are
 * vectors; own axes that are contiguous in memory and in scratch are one loop, a run. Columns, and
 * rows that are contiguous in memory across tiles, are copied for a few tiles at a time, so that
 * what is read for one k is some cache lines in a row:
 *
 *     for groups of tiles t: for k: for g, e: scratch[t + g][k][e] = operand
 *
 * Where lanes walk several axes as one, the pixels of an image, a row of the image may begin
 * anywhere in a tile: some steps of k are copied to a buffer of their own first, row by row, and
 * from there cut into tiles, all as vectors. */
#include "codegen/lower_scope.h"
#include <assert.h>

enum { GROUP_BYTES = 256 };

typedef struct { /* a loop of the copy */
  uint32_t axis;
  bool adds; /* its variable is added to the axis' value, which another loop began */
  const neo_lx *lo, *hi;
  int64_t step, scale, coef; /* of an iteration: elements of the axis, of scratch */
  const neo_lx *origin;      /* where scratch counts from */
  int64_t base;              /* of the axis where the variable is 0 */
} copy_loop;

typedef struct {
  lowering *l;
  const pack *p;
  const neo_stage *s;
  const stage_bounds *b;
  neo_expr value;
  uint32_t buf;
  copy_loop at[NEO_FORM_MAX_AXES + 4];
  uint32_t n;
  lower_terms offset;
  const copy_loop *across; /* around the innermost loop: `n_across` iterations, unrolled inside */
  int64_t n_across;
  uint32_t square; /* the loop of which iterations go there; c->n: there is none */
} copier;

/* ---- loops */

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

/* The iterations of the loop around the innermost one, from the one at hand on: where lanes lie
 * apart in scratch, these lie side by side, and the emitter stores them together. */
static neo_block *open_across(copier *c, neo_block *in) {
  lowering *l = c->l;
  const copy_loop *x = c->across;
  uint32_t var = neo_kernel_var(l->k, "r");
  const neo_lx *r = neo_lx_var(l->k, var);
  axis_value v = l->axis[x->axis];
  neo_lower_push_part(&v, r, x->scale, DEPTH_UNROLL);
  neo_lower_set_parts(l, x->axis, v);
  neo_lower_add_term(&c->offset, r, x->coef, DEPTH_UNROLL);
  return &neo_ls_for(l->k, in, NEO_LOOP_UNROLL, var, lx_int(l, 0), lx_int(l, c->n_across), 1)->body;
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
  in = &neo_ls_for(l->k, in, NEO_LOOP_VECTOR, var, lx_int(l, 0), lx_int(l, width), 1)->body;
  copy_element(c, in, x, v, neo_lx_var(l->k, var));
}

/* Vectors of `width` elements, or single ones, in [from, to). */
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

/* The condition with the axis as the last of all: bounds of an axis are found over the axes before
 * it. */
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
    if ((neo_expr_axes(l->m, x->lo) | neo_expr_axes(l->m, x->hi)) >> axis & 1)
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
  return !(rest->i && neo_expr_axes(l->m, *rest) >> axis & 1);
}

/* Is the value select(condition, something, 0) with a condition that is a range of the axis? */
static bool inside_of(copier *c, const copy_loop *x, inside *y) {
  lowering *l = c->l;
  neo_expr lo, hi, rest;
  double zero;
  neo_node n = *neo_expr_node(l->m, c->value);
  if (n.op != NEO_OP_SELECT || !neo_expr_is_float(l->m, neo_list_expr(l->m, n.arg, 2), &zero) ||
      zero != 0)
    return false;
  neo_expr cond = neo_list_expr(l->m, n.arg, 0), value = neo_list_expr(l->m, n.arg, 1);
  if (neo_expr_uses_op(l->m, cond, NEO_OP_LOAD) || !tighten_last(c, x->axis, cond, &lo, &hi, &rest))
    return false;
  uint64_t used = neo_expr_axes(l->m, lo) | neo_expr_axes(l->m, hi);
  if (c->across && (used | (rest.i ? neo_expr_axes(l->m, rest) : 0)) >> c->across->axis & 1)
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

/* Whole vectors up to `to`: with masks, without, with masks. */
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
    copy_range(c, &branch->other, x, first, last, width);
  }
  c->value = y.value;
  copy_range(c, branch ? &branch->body : in, x, first, last, width);
  c->value = whole;
  copy_range(c, in, x, last, to, width);
}

/* The innermost loop: vectors, then single elements. */
static void copy_inner(copier *c, neo_block *in, const copy_loop *x) {
  lowering *l = c->l;
  const neo_lx *from = x->lo;
  int64_t whole = l->s->at[NEO_SCHED_VECTOR_WIDTH], n;
  bool fixed = neo_lx_is_int(lx_sub(l, x->hi, x->lo), &n);
  for (int64_t width = x->scale <= 1 ? whole : 1; width >= 1; width /= 2) {
    const neo_lx *to = neo_lower_whole(l, from, x->hi, width);
    if (width > 1 && !fixed && width < whole)
      continue;
    if (width == whole && width > 1)
      copy_vectors(c, in, x, to, width);
    else
      copy_range(c, in, x, from, to, width);
    from = to;
  }
}

static void copy_nest(copier *c, neo_block *in, uint32_t k);

/* Loop k over [lo, hi), and what is inside of it. */
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
  copy_nest(c, body, k + 1);
  c->offset = before;
  neo_lower_set_parts(l, x->axis, old);
  neo_lower_close(l);
}

/* Loop k, so many iterations of it inside of the innermost loop; what is left over: together where
 * their number is known, else one by one. */
static void copy_across(copier *c, neo_block *in, uint32_t k) {
  lowering *l = c->l;
  const copy_loop *x = &c->at[k];
  int64_t most = l->s->at[NEO_SCHED_VECTOR_WIDTH], n;
  bool fixed = neo_lx_is_int(lx_sub(l, x->hi, x->lo), &n);
  const neo_lx *mid = neo_lower_whole(l, x->lo, x->hi, most);
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

static void copy_nest(copier *c, neo_block *in, uint32_t k) {
  const copy_loop *x = &c->at[k];
  if (k + 1 == c->n)
    copy_inner(c, in, x);
  else if (k == c->square)
    copy_across(c, in, k);
  else
    copy_steps(c, in, k, x->lo, x->hi, x->step);
}

/* How good a loop is as the innermost: contiguous loads as vectors, or every second element; best
 * if the stores are contiguous too. */
static int64_t merit(copier *c, const copy_loop *x) {
  enum { NONE, SHORT, SCATTERED, SECOND, GOOD };
  neo_module *m = c->l->m;
  int64_t n, width = c->l->s->at[NEO_SCHED_VECTOR_WIDTH];
  bool unit = x->scale <= 1 && neo_expr_has_stride(m, c->p->from, x->axis, x->scale);
  if (x->step > 1 || x->scale > 1)
    return NONE;
  if (!neo_lx_is_int(lx_sub(c->l, x->hi, x->lo), &n))
    n = 1 << 20;
  if (!unit && x->coef == 1 && n >= width && neo_expr_has_stride(m, c->p->from, x->axis, 2))
    return SECOND;
  return !unit ? NONE : n * 2 < width ? SHORT : x->coef == 1 ? GOOD : SCATTERED;
}

/* The loop along which the operand's loads are contiguous becomes the innermost, so that they are
 * vectors. */
static void put_contiguous_last(copier *c) {
  uint32_t best = c->n - 1;
  for (uint32_t k = c->n; k-- > 0;)
    if (merit(c, &c->at[k]) > merit(c, &c->at[best]))
      best = k;
  copy_loop x = c->at[best];
  for (uint32_t k = best; k + 1 < c->n; k++)
    c->at[k] = c->at[k + 1];
  c->at[c->n - 1] = x;
}

/* Is the loop one of lanes that lie side by side in memory, or of every second element, but apart
 * in scratch? */
static bool is_down(copier *c, const copy_loop *x) {
  int64_t n, width = c->l->s->at[NEO_SCHED_VECTOR_WIDTH];
  if (x->step != 1 || x->scale != 1 || x->coef == 1)
    return false;
  if (neo_lx_is_int(lx_sub(c->l, x->hi, x->lo), &n) && 2 * n < width)
    return false;
  return neo_expr_has_stride(c->l->m, c->p->from, x->axis, 1) ||
         neo_expr_has_stride(c->l->m, c->p->from, x->axis, 2);
}

static int64_t source_stride(const copier *c, uint32_t axis);

/* Where no loop is contiguous on both sides, but one in memory and another one in scratch, squares
 * of these two are read as vectors along the one, the innermost, and written as vectors along the
 * other (llvm_turn.c). That one comes where it moves in memory: each of its vectors is a stream. */
static void make_squares(copier *c) {
  enum { LEAST = 4 };
  uint32_t down = c->n, along = c->n - 1, to = 0;
  int64_t n;
  copy_loop x = c->at[along];
  if (x.coef != 1 || x.step != 1 || x.scale != 1 || merit(c, &x) ||
      (neo_lx_is_int(lx_sub(c->l, x.hi, x.lo), &n) && n < LEAST))
    return;
  for (uint32_t k = 0; k < along; k++)
    if (c->at[k].axis != x.axis && is_down(c, &c->at[k]))
      down = k;
  if (down == c->n || source_stride(c, x.axis) <= 0)
    return;
  copy_loop y = c->at[down];
  for (uint32_t k = down; k + 1 < c->n; k++)
    c->at[k] = c->at[k + 1];
  while (to + 2 < c->n && source_stride(c, c->at[to].axis) > source_stride(c, x.axis))
    to++;
  for (uint32_t k = c->n - 2; k > to; k--)
    c->at[k] = c->at[k - 1];
  c->at[to] = x;
  c->at[c->n - 1] = y;
  c->square = to;
}

static void add_loop(copier *c, copy_loop x) {
  c->at[c->n++] = x;
}

/* Over own axis k: all of it, of the first the block at hand. */
static copy_loop own_loop(copier *c, uint32_t k) {
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

/* ---- runs: own axes, the last that the operand uses, that lie in memory as in scratch */

/* The first own axis of the run; what is returned is at least the last axis that is used. Elements
 * of a plain load are in range for all that the run covers, since they are for each point of it. */
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
  if (!neo_flat_stride(l->m, at, (uint32_t)l->f->axes.n + last, &unit) || unit != 1)
    return last;
  for (uint32_t k = last + 1; k-- > 0;) {
    copy_loop o = own_loop(c, k);
    if (!c->p->k_coef[k])
      continue;
    if (!neo_flat_stride(l->m, at, (uint32_t)l->f->axes.n + k, &stride) ||
        stride != c->p->k_coef[k] || stride != extent)
      break;
    start = k;
    if (!neo_lx_is_int(lx_sub(l, o.hi, o.lo), &x) || x < 1)
      break; /* of unknown length: nothing around it can be part of the run */
    extent *= x;
  }
  return start;
}

/* The run as one loop of the last axis, the others at their first element. */
static void add_run(copier *c, uint32_t start) {
  lowering *l = c->l;
  uint32_t last = start;
  copy_loop first = own_loop(c, start), x = first;
  const neo_lx *length = lx_sub(l, first.hi, first.lo);
  for (uint32_t k = start + 1; k < c->s->axes.n; k++) {
    if (!c->p->k_coef[k])
      continue;
    x = own_loop(c, k);
    length = neo_lx_op2(l->k, NEO_OP_MUL, length, lx_sub(l, x.hi, x.lo));
    last = k;
  }
  for (uint32_t k = start; k < last; k++) {
    if (!c->p->k_coef[k])
      continue;
    copy_loop o = own_loop(c, k);
    neo_lower_set_axis(l, o.axis, o.lo, l->depth);
    neo_lower_add_term(&c->offset, lx_sub(l, o.lo, o.origin), o.coef, l->depth);
  }
  x.hi = lx_add(l, x.lo, length);
  add_loop(c, x);
}

/* Loops over the own axes from `from` on that the operand uses. */
static void add_own_loops(copier *c, uint32_t from) {
  uint32_t start = run_start(c);
  for (uint32_t k = from; k < c->s->axes.n; k++) {
    if (!c->p->k_coef[k])
      continue;
    if (k >= start) {
      add_run(c, k);
      return;
    }
    add_loop(c, own_loop(c, k));
  }
}

/* ---- the order in which the operand lies */

typedef struct {
  neo_module *m;
  uint32_t axis;
  int64_t stride; /* the largest of its loads; -1: not known */
} source;

static void look_at_source(void *ctx, neo_expr e) {
  source *x = ctx;
  int64_t stride;
  if (neo_expr_node(x->m, e)->op != NEO_OP_LOAD || x->stride < 0)
    return;
  if (!neo_flat_stride(x->m, neo_flat_at(x->m, e), x->axis, &stride))
    x->stride = -1;
  else if (x->stride < (stride < 0 ? -stride : stride))
    x->stride = stride < 0 ? -stride : stride;
}

static int64_t source_stride(const copier *c, uint32_t axis) {
  source x = {c->l->m, axis, 0};
  neo_expr_visit(c->l->m, c->p->from, look_at_source, &x);
  return x.stride;
}

/* Loops over own axes go from large steps in memory to small ones: what is read stays near, though
 * the reduction has another order. Ranges that depend on other own axes keep theirs. */
static void put_in_source_order(copier *c, uint32_t n) {
  int64_t stride[NEO_FORM_MAX_AXES];
  for (uint32_t k = 0; k < c->s->axes.n; k++)
    if (neo_lower_range_moves(c->l, c->b->lo[k], c->b->hi[k]))
      return;
  for (uint32_t k = 0; k < n; k++)
    if ((stride[k] = source_stride(c, c->at[k].axis)) < 0)
      return;
  for (uint32_t k = 1; k < n; k++)
    for (uint32_t i = k; i && stride[i] > stride[i - 1]; i--) {
      copy_loop x = c->at[i];
      int64_t step = stride[i];
      c->at[i] = c->at[i - 1];
      stride[i] = stride[i - 1];
      c->at[i - 1] = x;
      stride[i - 1] = step;
    }
}

/* ---- rows and columns of one axis */

/* scratch[row][k] */
static void copy_rows(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo, const neo_lx *hi) {
  c->n = 0;
  c->offset.n = 0;
  add_loop(c, (copy_loop){axis, false, lo, hi, 1, 1, c->p->unit, lo, 0});
  add_own_loops(c, 0);
  copy_nest(c, in, 0);
}

/* Tiles [lo, hi) of an axis, `group` of `size` elements at a time; group 0: a smaller one. start:
 * of the block. */
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
  add_own_loops(c, 0);
  put_in_source_order(c, c->n);
  const neo_lx *tiles = lx_int(l, group), *end = group ? lx_int(l, size) : lx_sub(l, hi, v);
  if (group > 1)
    add_loop(c, (copy_loop){axis, true, zero, tiles, 1, size, size * c->p->tile_coef, zero, 0});
  add_loop(c, (copy_loop){axis, true, zero, end, 1, 1, c->p->unit, zero, 0});
  c->square = c->n;
  make_squares(c);
  if (c->square == c->n)
    put_contiguous_last(c);
  copy_nest(c, body, 0);
  neo_lower_close(l);
}

/* scratch[tile][k][element] */
static void copy_axis(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo, const neo_lx *hi,
                      int64_t size) {
  lowering *l = c->l;
  const neo_lx *mid = neo_lower_whole(l, lo, hi, size), *many = lo;
  int64_t bytes = size * neo_type_bytes((neo_type)neo_expr_type(l->m, c->value));
  int64_t group = GROUP_BYTES / bytes;
  if (group > 1 && neo_expr_unit_stride(l->m, c->p->from, axis)) {
    many = neo_lower_whole(l, lo, hi, size * group);
    copy_tiles(c, in, axis, lo, many, lo, size, group);
  }
  copy_tiles(c, in, axis, many, mid, lo, size, 1);
  copy_tiles(c, in, axis, mid, hi, lo, size, 0);
}

/* ---- rows and columns that slide */

/* scratch[k][u]: with the side's axis at its first element, what own axis slide.own would have to
 * be for each u. Conditions and proofs are about the whole range that it then has. */
static void copy_sliding(copier *c, neo_block *in, uint32_t axis, const neo_lx *lo,
                         const neo_lx *hi) {
  lowering *l = c->l;
  const pack *p = c->p;
  const neo_sliding *w = &p->slide;
  uint32_t own = (uint32_t)l->f->axes.n + w->own;
  int64_t base = w->lo - w->beta * p->shift, most = p->reach - 1;
  neo_axis_rec before = l->fact_axes[own], *now = &l->fact_axes[own];
  now->lo = neo_const_int(l->m, NEO_I64_T, w->beta < 0 ? base - most : base);
  now->hi = neo_const_int(l->m, NEO_I64_T, (w->beta < 0 ? base : base + most) + 1);
  neo_map_init(&l->safe, l->a);
  neo_lower_set_axis(l, axis, lo, l->depth);
  c->n = 0;
  c->offset.n = 0;
  for (uint32_t k = 0; k < c->s->axes.n; k++)
    if (p->k_coef[k] && k != w->own)
      add_loop(c, own_loop(c, k));
  const neo_lx *zero = lx_int(l, 0), *steps = lx_sub(l, lx_sub(l, hi, lo), lx_int(l, 1));
  const neo_lx *end = lx_add(l, lx_mul(l, steps, w->alpha), lx_int(l, w->n));
  add_loop(c, (copy_loop){own, false, zero, end, 1, w->beta, 1, zero, base});
  put_contiguous_last(c);
  copy_nest(c, in, 0);
  *now = before;
  neo_map_init(&l->safe, l->a);
  neo_lower_forget(l);
}

/* ---- columns of several axes walked as one */

typedef struct {
  const neo_lx *lo, *hi;
  uint32_t first; /* own axis from which on steps are in the temporary together */
} walked;

/* temp[k][column]: whole iterations of the first of the axes. */
static void fill_temp(copier *c, neo_block *in, const walked *w) {
  lowering *l = c->l;
  uint32_t first = l->walk_last + 1 - l->walk_n;
  int64_t inner = 1, extent = 1, unit = c->p->temp_pitch;
  uint32_t before = c->n;
  c->buf = (uint32_t)c->p->temp;
  for (uint32_t k = (uint32_t)c->s->axes.n; k-- > w->first;) {
    if (!c->p->k_coef[k])
      continue;
    copy_loop x = own_loop(c, k);
    x.coef = unit;
    add_loop(c, x);
    unit *= c->p->k_extent[k];
  }
  for (uint32_t k = before; k < before + (c->n - before) / 2; k++) { /* outermost first */
    copy_loop x = c->at[k], *y = &c->at[c->n - 1 - (k - before)];
    c->at[k] = *y;
    *y = x;
  }
  for (uint32_t k = first + 1; k <= l->walk_last; k++) {
    neo_expr_is_int(l->m, l->original->axes.at[k].hi, &extent);
    inner *= extent;
  }
  const neo_lx *from = lx_div(l, w->lo, inner), *to = lx_div(l, w->hi, inner), *zero = lx_int(l, 0);
  add_loop(c, (copy_loop){first, false, from, to, 1, 1, inner, from, 0});
  for (uint32_t k = first + 1; k <= l->walk_last; k++) {
    neo_expr_is_int(l->m, l->original->axes.at[k].hi, &extent);
    inner /= extent;
    add_loop(c, (copy_loop){k, false, zero, lx_int(l, extent), 1, 1, inner, zero, 0});
  }
  put_contiguous_last(c);
  copy_nest(c, in, before);
  c->n = before;
  for (uint32_t k = 1; k < l->walk_n; k++)
    neo_lower_set_axis(l, l->walk_last - k, zero, 0);
}

/* scratch[tile][k][column] = temp[k][column] for the steps in the temporary; `offset`: of the first
 * of them. */
static void cut_temp(copier *c, neo_block *in, const walked *w, const lower_terms *offset) {
  lowering *l = c->l;
  int64_t width = l->s->at[NEO_SCHED_VECTOR_WIDTH], steps = 1;
  int64_t size = l->s->at[NEO_SCHED_TILE_N] * width;
  const neo_lx *t, *k, *zero = lx_int(l, 0);
  for (uint32_t i = w->first; i < c->s->axes.n; i++)
    steps *= c->p->k_coef[i] ? c->p->k_extent[i] : 1;
  neo_block *body = neo_lower_open(l, in, "t", zero, lx_sub(l, w->hi, w->lo), size, &t);
  uint32_t t_depth = l->depth;
  body = neo_lower_open(l, body, "k", zero, lx_int(l, steps), 1, &k);
  uint32_t v = neo_kernel_var(l->k, "v"), lane = neo_kernel_var(l->k, "l");
  const neo_lx *vectors = lx_int(l, size / width), *lanes = lx_int(l, width);
  body = &neo_ls_for(l->k, body, NEO_LOOP_UNROLL, v, zero, vectors, 1)->body;
  body = &neo_ls_for(l->k, body, NEO_LOOP_VECTOR, lane, zero, lanes, 1)->body;
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

/* Loops over the own axes that are not in the temporary, then it is filled and cut. */
static void copy_walked(copier *c, neo_block *in, const walked *w, uint32_t k) {
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
  copy_loop x = own_loop(c, k);
  neo_block *body = neo_lower_open(l, in, "e", x.lo, x.hi, 1, &v);
  lower_terms before = c->offset;
  neo_lower_set_axis(l, x.axis, v, l->depth);
  neo_lower_add_term(&c->offset, lx_sub(l, v, x.origin), x.coef, l->depth);
  copy_walked(c, body, w, k + 1);
  c->offset = before;
  neo_lower_close(l);
}

/* ---- an operand */

/* An operand's reads are only known to be in range at points of the whole domain: where some loop
 * around its use is empty, there are none, and nothing is copied. */
static neo_block *open_nonempty(copier *c, neo_block *in, const neo_lx *const *range) {
  lowering *l = c->l;
  const neo_lx *cond = neo_lx_const(l->k, NEO_BOOL_T, (neo_value){.i = 1});
  int64_t known;
  for (int k = l->s->at[NEO_SCHED_AXIS_M] < 0 ? 2 : 0; k < 4; k += 2)
    if (!neo_lx_is_int(lx_sub(l, range[k + 1], range[k]), &known) || known < 1)
      cond =
          neo_lx_op2(l->k, NEO_OP_AND, cond, neo_lx_op2(l->k, NEO_OP_LT, range[k], range[k + 1]));
  for (uint32_t k = 0; k < c->s->axes.n; k++) {
    if (c->p->k_coef[k] || neo_lower_range_moves(l, c->b->lo[k], c->b->hi[k]))
      continue; /* a range that moves protects nothing here: planning has seen to that */
    const neo_lx *lo = neo_lower_expr(l, c->b->lo[k]), *hi = neo_lower_expr(l, c->b->hi[k]);
    cond = neo_lx_op2(l->k, NEO_OP_AND, cond, neo_lx_op2(l->k, NEO_OP_LT, lo, hi));
  }
  if (c->p->around)
    cond =
        neo_lx_op2(l->k, NEO_OP_AND, cond, neo_lx_op2(l->k, NEO_OP_LT, lx_int(l, 0), c->p->around));
  if (neo_lx_is_int(cond, &known) && known)
    return in;
  return &neo_ls_if(l->k, in, cond)->body;
}

void neo_lower_copy(lowering *l, neo_block *in, const pack *p, const neo_stage *s,
                    const stage_bounds *b, const neo_lx *const *range) {
  copier c = {.l = l, .p = p, .s = s, .b = b, .value = p->from, .buf = p->buf};
  c.square = UINT32_MAX;
  in = open_nonempty(&c, in, range);
  const int64_t *at = l->s->at;
  uint32_t rows = (uint32_t)at[NEO_SCHED_AXIS_M], columns = (uint32_t)at[NEO_SCHED_VECTOR_AXIS];
  if (p->cond.i) {
    neo_expr zero = neo_const_int(l->m, neo_expr_type(l->m, p->from), 0);
    c.value = neo_op3(l->m, NEO_OP_SELECT, p->cond, p->from, zero);
  }
  if (p->slides)
    copy_sliding(&c, in, p->side == NEO_SIDE_ROWS ? rows : columns,
                 range[p->side == NEO_SIDE_ROWS ? 0 : 2], range[p->side == NEO_SIDE_ROWS ? 1 : 3]);
  else if (p->side == NEO_SIDE_ROWS && p->unit > 1)
    copy_rows(&c, in, rows, range[0], range[1]);
  else if (p->side == NEO_SIDE_ROWS)
    copy_axis(&c, in, rows, range[0], range[1], at[NEO_SCHED_TILE_M]);
  else if (p->temp >= 0)
    copy_walked(&c, in, &(walked){range[2], range[3], (uint32_t)s->axes.n - p->temp_axes}, 0);
  else
    copy_axis(&c, in, columns, range[2], range[3],
              at[NEO_SCHED_TILE_N] * at[NEO_SCHED_VECTOR_WIDTH]);
}

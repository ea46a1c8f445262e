/* The loop over blocks of a stage's steps, and the inner sums at each. */
#include "codegen/lower/gpu_nested/nested.h"

/* Own axes [from, to) of a stage, as bits. */
static uint64_t own_axes(const lowering *l, uint32_t from, uint32_t to) {
  return ((1ULL << to) - (1ULL << from)) << l->f->axes.n;
}

static void inner_sum(nested_kernel *x, neo_block *in, uint32_t k) {
  lowering *l = x->l;
  const neo_nested_sum *sum = &x->n.sum[k];
  const neo_stage *s = &l->f->stages.at[sum->stage];
  uint64_t own = own_axes(l, s->over, (uint32_t)s->axes.n);
  uint32_t reg =
      neo_gpu_thread_reg(x->l, in, "inner", type_of(s), x->rows.tile, x->steps.tile, x->threads);
  x->inner[s->first_acc] = reg;
  neo_lower_facts(l, l->f, s);
  const neo_lx *total = neo_gpu_points(l, s, own), *from;
  neo_ln_clear(x, in, reg);
  neo_block *body = neo_lower_open(l, in, "d", lx_int(l, 0), total, NEO_NESTED_STEPS, &from);
  neo_block *copies = neo_ln_open_threads(x, body);
  copied o = {s,     &sum->rows,       &x->rows, own, from,
              total, NEO_NESTED_STEPS, x->a,     1,   neo_ln_pitch(&x->rows),
              NULL};
  neo_ln_copy(x, copies, &o);
  o.factors = &sum->steps;
  o.points = &x->steps;
  o.buf = x->b;
  o.per_step = neo_ln_pitch(&x->steps);
  neo_ln_copy(x, copies, &o);
  nested_product p = {&x->rows, &x->steps, x->a, x->b, reg, false};
  neo_ln_multiply(x, neo_ln_open_threads(x, body), &p, NEO_NESTED_STEPS);
  neo_lower_close(l);
}

/* Computes the inner sums that the stage around them uses, for a block of its steps. */
void neo_ln_inner_sums(nested_kernel *x, neo_block *in, const neo_stage *host) {
  for (uint32_t k = 0; k < x->n.n_sums; k++)
    if (neo_lower_uses_stage(x->l, host, &x->l->f->stages.at[x->n.sum[k].stage]))
      (x->kinds.on ? neo_ln_warp_sum : inner_sum)(x, in, k);
}

/* Opens loops over a thread's rows and steps, with axes and inner sums there. *cond: the row and
 * the step exist, and the stage's condition holds. */
neo_block *neo_ln_open_points(nested_kernel *x, neo_block *in, const neo_stage *host,
                              const tile_dim *rows, const tile_dim *steps, point p[2],
                              const neo_lx **cond) {
  lowering *l = x->l;
  const neo_lx *place[2];
  neo_ln_place_of(x, place);
  neo_lower_facts(l, l->f, host);
  in = neo_ln_open_dim(l, in, steps, place[1], &p[1]);
  in = neo_ln_open_dim(l, in, rows, place[0], &p[0]);
  const neo_lx *row = lx_add(l, rows->lo, p[0].at), *step = lx_add(l, steps->lo, p[1].at);
  neo_ln_set_axes(l, host, rows->axes, row);
  neo_ln_set_axes(l, host, steps->axes, step);
  l->row = p[0].number;
  l->col = p[1].number;
  for (uint32_t k = 0; k < x->n.n_sums; k++) {
    uint32_t acc = l->f->stages.at[x->n.sum[k].stage].first_acc;
    uint32_t fragments = x->kinds.on ? (uint32_t)neo_mma_fragments(&x->warp[k].o[1]) : 0;
    l->acc[acc] = (acc_reg){x->inner[acc], 2, true, true, fragments, 0};
  }
  *cond = lx_and(l, lx_lt(l, row, rows->total), lx_lt(l, step, steps->total));
  neo_gpu_begin_guard(l, *cond, true);
  if (host->where.i) {
    *cond = lx_and(l, *cond, neo_lower_expr(l, host->where));
    neo_gpu_begin_guard(l, *cond, false);
  }
  return in;
}

void neo_ln_end_points(nested_kernel *x) {
  x->l->row = x->l->col = NULL;
  neo_gpu_end_guard(x->l);
}

neo_block *neo_ln_open_steps(nested_kernel *x, neo_block *in, const neo_stage *host) {
  lowering *l = x->l;
  if (x->stages)
    return neo_ln_open_stages(x, in, host);
  if (x->kinds.on)
    neo_ln_copy_rows(x, in, host);
  return neo_lower_open(l, in, "j", x->some.from, x->some.to, x->steps.block, &x->steps.lo);
}

void neo_ln_close_steps(nested_kernel *x) {
  if (x->stages)
    neo_ln_close_stages(x);
  else
    neo_lower_close(x->l);
}

/* ---- The steps that the rows of a block need (lower/gpu_nested/nested.c). Conditions that are
 * affine in a step and in rows bound the block's loop over steps, so that steps which no row needs
 * are not computed.
 *
 *   sum[j where j <= i] ...         rows i in [lo, last]:  steps from 0 to last + 1
 *
 * In [0, lo + 1) all rows need all steps, and there is no test.
 *
 * A product whose factor of rows is zero elsewhere, select(j <= i, x, 0), has such bounds too. The
 * other factor is not read there, so that an infinity in it makes no NaN. */

typedef struct {
  nested_kernel *x;
  neo_ln_range some, all; /* ranges of the first own axis; null: no bound */
  bool known;             /* `all` follows from the whole condition */
} ranges;

/* ---- where a factor is not zero */

/* A condition without which the expression is zero; 0: unknown. */
static neo_expr nonzero(neo_module *m, neo_expr e) {
  const neo_node n = *neo_expr_node(m, e);
  neo_expr a = n.arg.n > 0 ? neo_list_expr(m, n.arg, 0) : (neo_expr){0};
  neo_expr b = n.arg.n > 1 ? neo_list_expr(m, n.arg, 1) : (neo_expr){0};
  switch (n.op) {
  case NEO_OP_CAST:
  case NEO_OP_TF32:
  case NEO_OP_NEG:
    return nonzero(m, a);
  case NEO_OP_MUL:
    return neo_both(m, nonzero(m, a), nonzero(m, b));
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    a = nonzero(m, a);
    return a.i && a.i == nonzero(m, b).i ? a : (neo_expr){0};
  case NEO_OP_SELECT:
    return neo_expr_is_zero(m, neo_list_expr(m, n.arg, 2)) ? neo_both(m, a, nonzero(m, b))
                                                           : (neo_expr){0};
  default:
    return (neo_expr){0};
  }
}

/* ---- conditions */

/* The value of a row axis at the block's first row or its last one. */
static const neo_lx *row_at(const nested_kernel *x, uint32_t axis, bool last) {
  static const neo_stage none;
  lowering *l = x->l;
  uint64_t axes = x->rows.axes, before = (1ULL << axis) - 1;
  uint64_t inner = axes & ~before & ~(1ULL << axis);
  if (axes & before) /* earlier row axes vary in the block, so this one has all positions */
    return last ? lx_sub(l, neo_lower_extent(l, axis), lx_int(l, 1)) : lx_int(l, 0);
  const neo_lx *end = lx_min(l, lx_add(l, x->rows.lo, lx_int(l, x->rows.block)), x->rows.total);
  const neo_lx *at = last ? lx_sub(l, end, lx_int(l, 1)) : x->rows.lo;
  const neo_lx *n = inner ? neo_gpu_points(l, &none, inner) : NULL;
  return n ? neo_lx_op2(l->k, NEO_OP_DIV, at, lx_max(l, n, lx_int(l, 1))) : at;
}

/* The linear form without the step: its largest or smallest value over the block's rows. False if
 * it has other axes. */
static bool rest_of(ranges *r, const neo_linear *d, bool largest, const neo_lx **out) {
  lowering *l = r->x->l;
  uint64_t fixed = r->x->n.batches;
  const neo_lx *sum = lx_int(l, d->constant);
  for (uint32_t k = 0; k < d->n; k++) {
    neo_expr e = d->term[k].atom;
    const neo_node *n = neo_expr_node(l->m, e);
    bool axis = n->op == NEO_OP_AXIS;
    const neo_lx *at = NULL;
    if (axis && n->attr == l->f->axes.n)
      continue;
    if (axis && r->x->rows.axes >> n->attr & 1)
      at = row_at(r->x, n->attr, (d->term[k].coef > 0) == largest);
    else if (!(neo_form_axes(l->m, l->f, e) & ~fixed) && neo_lower_safe_under(l, e, (neo_expr){0}))
      at = neo_lower_expr(l, e);
    if (!at)
      return false;
    sum = lx_add(l, sum, lx_mul(l, at, d->term[k].coef));
  }
  *out = sum;
  return true;
}

/* Narrows the range by a*step + rest >= 0. */
static void narrow(lowering *l, neo_ln_range *r, int64_t a, const neo_lx *rest) {
  int64_t size = a > 0 ? a : -a;
  const neo_lx *at = size == 1 ? rest : lx_div(l, rest, size); /* floor */
  if (a > 0) {
    at = lx_mul(l, at, -1);
    r->from = r->from ? lx_max(l, r->from, at) : at;
  } else {
    at = lx_add(l, at, lx_int(l, 1));
    r->to = r->to ? lx_min(l, r->to, at) : at;
  }
}

/* Narrows the ranges by small <= large; less: by small < large. */
static bool compare(ranges *r, neo_expr small, neo_expr large, bool less) {
  lowering *l = r->x->l;
  neo_linear a, b, d;
  const neo_lx *most, *least;
  if (neo_expr_type(l->m, small) != NEO_I64_T || !neo_flat_linear(l->m, small, &a) ||
      !neo_flat_linear(l->m, large, &b) || !neo_linear_add(&b, -1, &a, &d) ||
      !neo_linear_is_modest(l->m, &d))
    return false;
  d.constant -= less;
  int64_t coef = neo_linear_coef(&d, neo_axis_ref(l->m, (uint32_t)l->f->axes.n));
  if (!coef || !rest_of(r, &d, true, &most) || !rest_of(r, &d, false, &least))
    return false;
  narrow(l, &r->some, coef, most);
  narrow(l, &r->all, coef, least);
  return true;
}

static void condition(ranges *r, neo_expr e) {
  const neo_module *m = r->x->l->m;
  if (!e.i)
    return;
  const neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_AND) {
    condition(r, neo_list_expr(m, n.arg, 0));
    condition(r, neo_list_expr(m, n.arg, 1));
    return;
  }
  bool compares = n.op == NEO_OP_LE || n.op == NEO_OP_LT;
  if (!compares ||
      !compare(r, neo_list_expr(m, n.arg, 0), neo_list_expr(m, n.arg, 1), n.op == NEO_OP_LT))
    r->known = false;
}

/* Turns a range of the first own axis into one of all steps, within [0, their number). */
static neo_ln_range of_steps(nested_kernel *x, neo_ln_range r, const neo_lx *each) {
  lowering *l = x->l;
  const neo_lx *zero = lx_int(l, 0);
  if (r.from)
    r.from = neo_lx_op2(l->k, NEO_OP_MUL, lx_max(l, r.from, zero), each);
  if (r.to)
    r.to = lx_min(l, neo_lx_op2(l->k, NEO_OP_MUL, lx_max(l, r.to, zero), each), x->steps.total);
  return (neo_ln_range){r.from ? r.from : zero, r.to ? r.to : x->steps.total};
}

static void set_ranges(nested_kernel *x, const neo_stage *host) {
  lowering *l = x->l;
  ranges r = {.x = x, .known = true};
  uint64_t inner = x->steps.axes & ~(1ULL << l->f->axes.n);
  const neo_lx *each = neo_gpu_points(l, host, inner);
  condition(&r, host->where);
  r.known = r.known && host->where.i;
  for (uint32_t k = 0; x->n.columns && k < x->n.of_rows.n; k++)
    condition(&r, nonzero(l->m, x->n.of_rows.at[k]));
  x->all = r.known ? of_steps(x, r.all, each) : (neo_ln_range){NULL, NULL};
  x->some = of_steps(x, r.some, each);
  x->some.from = lx_mul(l, lx_div(l, x->some.from, x->steps.block), x->steps.block);
}

void neo_ln_set_steps(nested_kernel *x, const neo_stage *host) {
  lowering *l = x->l;
  neo_lower_facts(l, l->f, host);
  x->steps.axes = own_axes(l, 0, (uint32_t)host->axes.n);
  x->steps.total = neo_gpu_points(l, host, x->steps.axes);
  set_ranges(x, host);
}

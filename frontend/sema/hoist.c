/* Decides where a reduction is computed: in its statement, or in a definition of its own over the
 * outer axes that it uses, at the hull of their extents. Guards may surround the reduction (select,
 * and, or, where): if its reads cannot be shown in range without those conditions, they are
 * conjoined to its `where`. */
#include "frontend/sema/reduce.h"
#include <string.h>

/* ---- outer axes and guards */

static uint64_t outer_axes(neo_frame *f, const neo_reduction *r) {
  uint64_t bits = 0;
  for (uint32_t k = 0; k < r->n_body; k++)
    bits |= neo_expr_axes(f->m, r->body[k]);
  if (r->where.i)
    bits |= neo_expr_axes(f->m, r->where);
  for (uint32_t k = r->base; k < r->base + r->n_own; k++)
    bits |= neo_expr_axes(f->m, f->axis[k].lo) | neo_expr_axes(f->m, f->axis[k].hi);
  return bits & (((uint64_t)1 << r->base) - 1);
}

static bool all_rect(const neo_frame *f, uint32_t n) {
  for (uint32_t p = 0; p < n; p++)
    if (!neo_frame_is_rect(f, p))
      return false;
  return true;
}

/* The axes around the reduction, for its own definition: those that it uses, at their hull. Another
 * axis is made to have one point, as the definition is computed even where the range of that axis
 * is empty. */
static void axes_of_definition(neo_frame *f, const neo_reduction *r, uint64_t used,
                               neo_axis_rec *axis) {
  neo_frame_widen(f, r->base, r->n_assume, axis);
  for (uint32_t p = 0; p < r->base; p++)
    if (!(used >> p & 1)) {
      axis[p].lo = neo_const_i64(f->m, 0);
      axis[p].hi = neo_const_i64(f->m, 1);
    }
}

/* The facts that hold at a read inside of the reduction: assertions, the conditions inside, and the
 * guard. */
static neo_facts facts_inside(neo_frame *f, const neo_reduction *r, const neo_read *x,
                              neo_expr guard, const neo_axis_rec *axis) {
  uint32_t n = 0, asserts = (uint32_t)f->fe->asserts.n;
  neo_expr *assume = NEO_NEW_ARRAY(f->fe->arena, neo_expr, x->n_assume + 1);
  for (uint32_t k = 0; k < x->n_assume; k++)
    if (k < asserts || k >= r->n_assume)
      assume[n++] = f->proofs.at[x->first_assume + k];
  if (guard.i)
    assume[n++] = guard;
  return (neo_facts){axis, f->n_axes, assume, n};
}

/* Whether the reads inside are in range within the hoisted definition, where only the guard holds
 * and no other condition of the reduction's position. */
static bool reads_hold(neo_frame *f, const neo_reduction *r, neo_expr guard) {
  neo_axis_rec axis[NEO_MAX_AXES];
  axes_of_definition(f, r, r->uses | (guard.i ? neo_expr_axes(f->m, guard) : 0), axis);
  for (uint32_t p = 0; p < r->base; p++)
    if (!axis[p].hi.i)
      return true; /* reported */
  for (size_t k = r->n_reads; k < f->reads.n; k++) {
    const neo_read *x = &f->reads.at[k];
    neo_facts facts = facts_inside(f, r, x, guard, axis);
    if (!neo_proves_index(f->fe->prover, &facts, x->index, x->extent))
      return false;
  }
  return true;
}

/* The conjuncts of a condition that use no accumulator, and so may be outside of finish. */
static neo_expr without_acc(neo_frame *f, neo_expr c) {
  neo_node n = *neo_expr_node(f->m, c);
  if (!neo_expr_uses_op(f->m, c, NEO_OP_ACC))
    return c;
  if (n.op != NEO_OP_AND)
    return (neo_expr){0};
  return neo_both(f->m, without_acc(f, neo_list_expr(f->m, n.arg, 0)),
                  without_acc(f, neo_list_expr(f->m, n.arg, 1)));
}

static neo_expr read_else_zero(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  return neo_expr_node(m, e)->op == NEO_OP_LOAD ? neo_load_else_zero(m, e) : e;
}

/* An end of a range for a position where no condition is known to hold: reads out of range give
 * 0. */
static neo_expr end_anywhere(neo_frame *f, neo_expr end) {
  return neo_expr_rewrite(f->m, end, read_else_zero, NULL);
}

static neo_expr in_range(neo_frame *f, uint32_t p) {
  neo_expr x = neo_axis_ref(f->m, p);
  neo_expr lo = end_anywhere(f, f->axis[p].lo);
  return neo_between(f->m, lo, x, end_anywhere(f, f->axis[p].hi));
}

/* The condition that axes which the definition does not use have values. */
static neo_expr others_have_points(neo_frame *f, uint64_t used, uint32_t n) {
  neo_expr all = {0};
  int64_t known;
  for (uint32_t p = 0; p < n; p++) {
    neo_expr any =
        neo_op2(f->m, NEO_OP_LT, end_anywhere(f, f->axis[p].lo), end_anywhere(f, f->axis[p].hi));
    if (!(used >> p & 1) && !neo_expr_is_int(f->m, any, &known))
      all = neo_both(f->m, all, any);
  }
  return all;
}

/* Extends `guard` by the ranges of the axes that it, the reduction or the conditions around it use,
 * and then by these conditions, whose own reads are in range only within the ranges:
 *     sum[2 <= t < C] (sum[u where x[t - 2] > 0] f(sum[v] w[v, t]))
 *     sum1[t < C] = sum[v] where 2 <= t and t < C and x[t - 2] > 0 ... */
static neo_expr outer_guard(neo_frame *f, const neo_reduction *r, neo_expr guard) {
  neo_expr place = {0};
  uint64_t done = 0;
  for (size_t k = f->fe->asserts.n; k < r->n_assume; k++)
    place = neo_both(f->m, place, without_acc(f, f->assume.at[k]));
  uint64_t first = r->uses | (place.i ? neo_expr_axes(f->m, place) : 0);
  for (bool more = true; more;) {
    uint64_t bits = first | (guard.i ? neo_expr_axes(f->m, guard) : 0);
    more = false;
    for (uint32_t p = 0; p < r->base; p++) {
      if (!(bits >> p & 1) || done >> p & 1 || neo_frame_is_rect(f, p))
        continue;
      done |= (uint64_t)1 << p;
      guard = neo_both(f->m, guard, in_range(f, p));
      more = true;
    }
  }
  return neo_both(f->m, guard, place);
}

static bool reads_recurrence(const neo_module *m, neo_expr e, const void *frame) {
  const neo_frame *f = frame;
  const neo_node *n = neo_expr_node(m, e);
  bool reads = false;
  for (size_t k = 0; k < f->recurrence.n && neo_node_is_load(n); k++)
    reads = reads || n->attr == f->recurrence.at[k].i;
  return reads;
}

/* Whether the reduction reads the tensor that the statement defines. Then the conditions around it
 * tell which elements exist. */
static bool recurs(const neo_frame *f, const neo_reduction *r) {
  bool does = neo_expr_any(f->m, r->where, reads_recurrence, f);
  for (uint32_t k = 0; k < r->n_body; k++)
    does = does || neo_expr_any(f->m, r->body[k], reads_recurrence, f);
  for (uint32_t k = r->base; k < r->base + r->n_own; k++)
    does = does || neo_expr_any(f->m, f->axis[k].lo, reads_recurrence, f) ||
           neo_expr_any(f->m, f->axis[k].hi, reads_recurrence, f);
  return does;
}

void neo_reduction_guard(neo_frame *f, neo_reduction *r) {
  r->uses = outer_axes(f, r);
  bool outside = r->n_assume > f->fe->asserts.n || !all_rect(f, r->base) ||
                 r->uses != ((uint64_t)1 << r->base) - 1;
  neo_expr none = {0};
  bool own = f->recurrence.n && recurs(f, r);
  if (!outside || (!own && (f->reads.n == r->n_reads || reads_hold(f, r, none))))
    return;
  neo_expr guard = outer_guard(f, r, none);
  if (!reads_hold(f, r, guard)) {
    uint64_t used = r->uses | (guard.i ? neo_expr_axes(f->m, guard) : 0);
    guard = outer_guard(f, r, others_have_points(f, used, r->base));
  }
  if (!guard.i)
    return;
  r->where = neo_both(f->m, guard, r->where);
  r->guarded = true;
  for (uint32_t k = r->base; k < r->base + r->n_own; k++) { /* evaluated before the guard */
    f->axis[k].lo = end_anywhere(f, f->axis[k].lo);
    f->axis[k].hi = end_anywhere(f, f->axis[k].hi);
  }
  r->uses = outer_axes(f, r);
}

/* ---- own reductions and hoisted ones */

static bool may_be_own(const neo_frame *f, const neo_reduction *r) {
  bool outermost = f->depth == 0 && f->must_hoist == 0 && r->base == f->n_out;
  return outermost && !f->own.set && r->uses == ((uint64_t)1 << f->n_out) - 1 &&
         r->n_own <= NEO_MAX_RANK;
}

static neo_val make_own(neo_frame *f, const neo_reduction *r) {
  neo_own_reduction *k = &f->own;
  *k = (neo_own_reduction){.set = true,
                           .reducer = r->reducer,
                           .where = r->where,
                           .least = r->least,
                           .bound = r->bound,
                           .n_body = r->n_body,
                           .n_axes = r->n_own};
  memcpy(k->body, r->body, sizeof k->body);
  memcpy(k->axis, f->axis + r->base, r->n_own * sizeof *k->axis);
  const neo_node *n = neo_expr_node(f->m, r->finish);
  if (n->op == NEO_OP_CAST && neo_type_wide((neo_type)n->type) != (neo_type)n->type)
    neo_map_set(&f->unrounded, r->finish.i, neo_list_at(f->m, n->arg, 0));
  return neo_val_expr(r->finish);
}

typedef struct { /* index k of the definition is outer axis outer[k], minus box[k].low */
  uint32_t n_outer, outer[NEO_MAX_AXES];
  neo_expr by[NEO_MAX_AXES];
  neo_expr extent[NEO_MAX_AXES];
  neo_box box[NEO_MAX_AXES];
} hoisting;

static bool hoist_axes(neo_frame *f, const neo_reduction *r, hoisting *h) {
  memset(h, 0, sizeof *h);
  for (uint32_t p = 0; p < r->base; p++) {
    if (!(r->uses >> p & 1))
      continue;
    neo_box *box = &h->box[h->n_outer];
    if (!neo_frame_box(f, p, r->base, r->n_assume, box))
      return false;
    h->by[p] = neo_box_from_zero(f, box, neo_axis_ref(f->m, h->n_outer));
    h->extent[h->n_outer] = box->extent;
    h->outer[h->n_outer++] = p;
  }
  for (uint32_t k = 0; k < r->n_own; k++)
    h->by[r->base + k] = neo_axis_ref(f->m, h->n_outer + k);
  return true;
}

static neo_expr moved(neo_frame *f, const hoisting *h, neo_expr e) {
  return neo_expr_subst_axes(f->m, e, h->by, NEO_MAX_AXES);
}

/* The finish of a sum of a narrow type within a reducer or wide(), whose body may be computed in a
 * wider type (neo_expr_widen): the sum is stored before it is rounded, and rounded where it is
 * read. */
static neo_expr kept_finish(const neo_frame *f, const neo_reduction *r) {
  const neo_node *n = neo_expr_node(f->m, r->finish);
  bool narrow = n->type == NEO_F16_T || n->type == NEO_BF16_T;
  return (f->depth || f->wide) && narrow && n->op == NEO_OP_CAST ? neo_list_expr(f->m, n->arg, 0)
                                                                 : r->finish;
}

static neo_expr rounded(neo_frame *f, const neo_reduction *r, neo_expr kept) {
  neo_expr e = neo_cast(f->m, neo_expr_type(f->m, r->finish), kept);
  if (e.i != kept.i)
    neo_map_set(&f->unrounded, e.i, kept.i);
  return e;
}

static neo_def_rec hoisted_rec(neo_frame *f, const neo_reduction *r, const hoisting *h,
                               neo_tensor t) {
  uint32_t axes[NEO_MAX_AXES], n = 0, body[2];
  for (uint32_t k = 0; k < h->n_outer; k++) {
    neo_axis_rec rec = f->axis[h->outer[k]];
    rec.lo = neo_const_i64(f->m, 0);
    rec.hi = h->extent[k];
    axes[n++] = neo_axis_add(f->m, rec).i;
  }
  for (uint32_t k = 0; k < r->n_own; k++) {
    neo_axis_rec rec = f->axis[r->base + k];
    rec.lo = moved(f, h, rec.lo);
    rec.hi = moved(f, h, rec.hi);
    axes[n++] = neo_axis_add(f->m, rec).i;
  }
  for (uint32_t k = 0; k < r->n_body; k++)
    body[k] = moved(f, h, r->body[k]).i;
  return (neo_def_rec){.axes = neo_list_new(f->m, axes, n),
                       .n_out = h->n_outer,
                       .where = moved(f, h, r->where),
                       .reducer = (uint8_t)r->reducer,
                       .body = neo_list_new(f->m, body, r->n_body),
                       .finish = neo_list_one(f->m, kept_finish(f, r).i),
                       .out = neo_list_one(f->m, t.i),
                       .span = neo_inst_span(f->in, r->e->span)};
}

/* The element of the definition that replaces the reduction. Conditions at the reduction's position
 * may imply tighter bounds than hold for all elements: a clamp states them. */
static neo_expr at_place(neo_frame *f, const neo_reduction *r, neo_expr e, const neo_ends *ends) {
  neo_type t = neo_expr_type(f->m, e);
  if (!neo_type_is_int(t) || !r->bound.i || ends->bound.i == r->bound.i ||
      (ends->below.i == r->bound.i && ends->least.i == r->least.i))
    return e;
  neo_expr most = neo_cast(f->m, t, neo_size_add1(f->fe, r->bound, -1));
  return neo_op3(f->m, NEO_OP_CLAMP, e, neo_cast(f->m, t, r->least), most);
}

static neo_val hoist(neo_frame *f, const neo_reduction *r) {
  hoisting h;
  neo_expr index[NEO_MAX_AXES];
  if (!neo_fe_spend(f->fe, f->in, r->e->span) || !hoist_axes(f, r, &h))
    return neo_val_poison();
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  const char *full =
      neo_arena_printf(f->fe->arena, "%s.%s%d", f->target, word, (int)++f->n_hoisted);
  neo_tensor_rec rec = {.role = NEO_ROLE_TEMP,
                        .type = (uint8_t)neo_expr_type(f->m, kept_finish(f, r)),
                        .span = r->e->span,
                        .inner = neo_type_is_float(neo_expr_type(f->m, r->finish))};
  neo_ends ends = {0};
  if (neo_type_is_int((neo_type)rec.type))
    ends = neo_reduction_ends(f, r);
  neo_tensor t = neo_tensor_make(f->in, rec, h.extent, h.n_outer, neo_fe_unique(f->fe, full));
  if (!t.i)
    return neo_val_poison();
  neo_ends_set(f->fe, t, &ends);
  neo_def_add(f->m, hoisted_rec(f, r, &h, t), true);
  if (f->recurrence.n && recurs(f, r))
    NEO_PUSH(f->fe->arena, &f->recurrence, t);
  for (uint32_t k = 0; k < h.n_outer; k++)
    index[k] = neo_box_from_low(f, &h.box[k], neo_axis_ref(f->m, h.outer[k]));
  neo_expr e = rounded(f, r, neo_load(f->m, t, index, h.n_outer, r->e->span));
  return neo_val_expr(at_place(f, r, e, &ends));
}

neo_val neo_reduction_place(neo_frame *f, const neo_reduction *r) {
  return may_be_own(f, r) ? make_own(f, r) : hoist(f, r);
}

void neo_reduction_close(neo_frame *f, const neo_reduction *r) {
  for (uint32_t k = r->base; k < r->base + r->n_own; k++)
    NEO_PUSH(f->fe->arena, &f->closed,
             (neo_closed){f->axis_name[k], neo_ast_reducer_text(r->e->u.reduce.reducer),
                          r->e->u.reduce.word});
  f->n_axes = r->base;
  f->assume.n = r->n_assume;
  if (!neo_reduction_is_scalar(r)) /* a scalar reduction keeps its body */
    f->reads.n = r->n_reads;
}

void neo_reduction_remember(neo_frame *f, neo_val v) {
  if (v.kind != NEO_VAL_EXPR)
    return;
  neo_node n = *neo_expr_node(f->m, v.e);
  if (n.op == NEO_OP_CLAMP || n.op == NEO_OP_CAST)
    n = *neo_expr_node(f->m, neo_expr_arg(f->m, v.e, 0));
  for (uint32_t d = 0; n.op == NEO_OP_LOAD && d < n.arg.n; d++)
    neo_bounds_remember(f, neo_list_expr(f->m, n.arg, d),
                        neo_tensor_extent(f->m, (neo_tensor){n.attr}, d));
}

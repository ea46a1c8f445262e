/* Builds what a reducer computes: its bodies, its result, and the result's bound. */
#include "frontend/sema/reduce.h"
#include <string.h>

static bool needs_float(neo_frame *f, const neo_reduction *r, neo_type t) {
  if (neo_type_is_float(t))
    return true;
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  int h = NEO_ERR(f->in, r->e->u.reduce.body->span, NEEDS_FLOAT, word, neo_type_text(t));
  neo_diag_help(f->fe->diags, h, "convert it with f32(...)");
  return false;
}

static bool needs_number(neo_frame *f, const neo_reduction *r, neo_type t) {
  if (t != NEO_BOOL_T)
    return true;
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  int h = NEO_ERR(f->in, r->e->u.reduce.body->span, BOOL_ARITHMETIC, word);
  neo_diag_help(f->fe->diags, h, "count with i32(...), or use any or all");
  return false;
}

static neo_expr row_major(neo_frame *f, neo_expr at, neo_expr extent, neo_expr index) {
  return neo_op2(f->m, NEO_OP_ADD, neo_op2(f->m, NEO_OP_MUL, at, extent), index);
}

/* The row-major number of a point among the axes bound here, and its range if no axis is empty.
 * With one axis it is the index; with several, each is multiplied by the numbers of values of the
 * axes after it. An edge has one owner, which does not count. */
static neo_expr position(neo_frame *f, neo_reduction *r) {
  neo_expr at = neo_const_i64(f->m, 0), last = at;
  bool first = true;
  r->least = at;
  for (uint32_t k = r->base; k < r->base + r->n_own; k++) {
    if (f->axis_name[k] == neo_owners_name(f->fe))
      continue;
    neo_box box = {.low = neo_frame_low(f, k, k + 1, f->fe->asserts.n),
                   .extent = neo_frame_hull(f, k, k + 1, f->fe->asserts.n)};
    neo_expr end = box.extent;
    if (!end.i || (!first && !neo_frame_range(f, k, &box)))
      return (neo_expr){0};
    end = !first ? neo_box_from_zero(f, &box, box.extent) : end;
    at = row_major(f, at, box.extent, neo_axis_ref(f->m, k));
    last = row_major(f, last, box.extent, neo_size_add1(f->fe, end, -1));
    r->least = r->least.i && box.low.i ? row_major(f, r->least, box.extent, box.low) : box.low;
    first = false;
  }
  r->bound = neo_size_add1(f->fe, last, 1);
  return at;
}

static neo_expr less(neo_frame *f, neo_expr a, neo_expr b) {
  return neo_op2(f->m, NEO_OP_LT, a, b);
}

/* The outer axes that the reduction depends on, and the outer axes that their ranges depend on. */
static uint64_t axes_around(const neo_frame *f, const neo_reduction *r) {
  uint64_t used = r->where.i ? neo_expr_axes(f->m, r->where) : 0;
  for (uint32_t k = 0; k < r->n_body; k++)
    used |= neo_expr_axes(f->m, r->body[k]);
  for (uint32_t k = r->base + r->n_own; k-- > 0;)
    if (k >= r->base || used >> k & 1)
      used |= neo_expr_axes(f->m, f->axis[k].lo) | neo_expr_axes(f->m, f->axis[k].hi);
  return used;
}

/* Gives axes around the reduction that it does not use one point: the reduction may become a
 * definition without them, which has a value even where such an axis has no points. */
static void forget_unused(neo_frame *f, const neo_reduction *r, neo_axis_rec *axis) {
  uint64_t used = axes_around(f, r);
  for (uint32_t k = 0; k < r->base; k++)
    if (!(used >> k & 1)) {
      axis[k].lo = neo_const_i64(f->m, 0);
      axis[k].hi = neo_const_i64(f->m, 1);
    }
}

/* Whether the reduction has a term at all points. Each range is proved nonempty under the axes
 * before it alone, as an axis that has a value already implies that its own range is not empty. */
static bool never_empty(neo_frame *f, const neo_reduction *r) {
  neo_facts facts = neo_frame_facts(f);
  neo_axis_rec axis[NEO_MAX_AXES];
  bool taken = !r->where.i;
  memcpy(axis, facts.axes, facts.n_axes * sizeof *axis);
  forget_unused(f, r, axis);
  facts.axes = axis;
  for (uint32_t k = r->base; taken && k < r->base + r->n_own; k++) {
    facts.n_axes = k;
    taken = neo_proves(f->fe->prover, &facts, less(f, f->axis[k].lo, f->axis[k].hi));
  }
  return taken;
}

/* The bound, at least 1: the position of an extremum over nothing is 0, which no range of 0 values
 * contains. */
static neo_expr above_zero(neo_frame *f, neo_expr bound) {
  neo_facts nothing = {0};
  neo_expr zero = neo_const_i64(f->m, 0), one = neo_const_i64(f->m, 1);
  if (neo_proves(f->fe->prover, &nothing, less(f, zero, bound)))
    return bound;
  return neo_op2(f->m, NEO_OP_MAX, bound, one);
}

static bool at_least(neo_frame *f, neo_expr least, neo_expr e) {
  return neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, least, e));
}

/* Ends of a position: [0, end) if it is never negative; else [least, end), which contains 0. */
static neo_ends ends_of_position(neo_frame *f, const neo_reduction *r) {
  neo_ends none = {0};
  neo_expr zero = neo_const_i64(f->m, 0);
  if (!neo_bounds_holds(f, less(f, r->body[1], r->bound)))
    return none;
  neo_expr end = above_zero(f, r->bound);
  if (at_least(f, zero, r->body[1]))
    return (neo_ends){.bound = end};
  if (!r->least.i || !at_least(f, r->least, r->body[1]) || !at_least(f, r->least, zero))
    return none;
  return (neo_ends){.least = r->least, .below = end};
}

/* The bounds of an extremum; none if the reduction may be empty, where the result is an end of its
 * type. */
static neo_ends ends_of_extremum(neo_frame *f, const neo_reduction *r) {
  return never_empty(f, r) ? neo_expr_ends(f, r->body[0]) : (neo_ends){0};
}

static bool is_position(const neo_reduction *r) {
  neo_ast_reducer word = r->e->u.reduce.reducer;
  return word == NEO_AST_RED_ARGMAX || word == NEO_AST_RED_ARGMIN;
}

neo_ends neo_reduction_ends(neo_frame *f, const neo_reduction *r) {
  neo_frame wide = *f;
  neo_ends none = {0};
  if (!r->bound.i)
    return none;
  neo_frame_widen(f, r->base, r->n_assume, wide.axis);
  forget_unused(&wide, r, wide.axis);
  wide.assume.at = r->n_assume == 0 ? f->assume.at : f->assume.at + r->n_assume;
  wide.assume.n -= r->n_assume;
  wide.assume.cap = wide.assume.n;
  if (is_position(r)) /* the position is 0 where the guard leaves no point */
    return ends_of_position(&wide, r);
  return r->guarded ? none : ends_of_extremum(&wide, r);
}

/* Whether the reduction runs for no element: an axis of it or of the definition has no values, as
 * with `dim N = 0`, or the conditions around it never hold, as `i != 0` where i has one value.
 * Intervals prove nothing then. */
static bool has_no_elements(neo_frame *f, const neo_reduction *r) {
  neo_facts nothing = {0}, facts = neo_frame_facts(f);
  if (neo_proves(f->fe->prover, &facts, neo_const_int(f->m, NEO_BOOL_T, 0)))
    return true;
  for (uint32_t k = 0; k < r->base + r->n_own; k++) {
    neo_expr empty = neo_op2(f->m, NEO_OP_LE, f->axis[k].hi, f->axis[k].lo);
    if (neo_proves(f->fe->prover, &nothing, empty))
      return true;
  }
  return false;
}

/* Are the positions within i32? */
static bool fits(neo_frame *f, const neo_reduction *r) {
  int64_t least, most;
  if (has_no_elements(f, r))
    return true;
  neo_facts facts = neo_frame_facts(f);
  neo_interval(f->fe->prover, &facts, r->body[1], &least, &most);
  return least >= INT32_MIN && neo_size_max(f->fe, r->bound, &most) && most <= INT32_MAX;
}

static bool extremum(neo_frame *f, neo_reduction *r, neo_reducer reducer, bool arg) {
  neo_type t = neo_expr_type(f->m, r->body[0]);
  if (!needs_number(f, r, t))
    return false;
  r->reducer = reducer;
  r->n_body = 2;
  r->body[1] = position(f, r);
  if (!r->body[1].i)
    return false;
  r->finish =
      arg ? neo_cast(f->m, NEO_I32_T, neo_acc_ref(f->m, NEO_I64_T, 1)) : neo_acc_ref(f->m, t, 0);
  if (arg && !fits(f, r)) {
    NEO_ERR(f->in, r->e->span, ARGMAX_LARGE, neo_ast_reducer_text(r->e->u.reduce.reducer));
    return false;
  }
  neo_ends ends = arg ? ends_of_position(f, r) : ends_of_extremum(f, r);
  r->bound = ends.bound.i ? ends.bound : ends.below;
  r->least = ends.bound.i ? neo_const_i64(f->m, 0) : ends.least;
  return true;
}

static bool accumulation(neo_frame *f, neo_reduction *r, neo_reducer reducer) {
  neo_type t = neo_expr_type(f->m, r->body[0]);
  if (!needs_number(f, r, t))
    return false;
  bool real = reducer == NEO_RED_MEAN || reducer == NEO_RED_LOGSUMEXP;
  if (real && !needs_float(f, r, t))
    return false;
  r->reducer = reducer;
  r->body[0] = neo_expr_widen(f, r->body[0]);
  neo_type wide = neo_expr_type(f->m, r->body[0]);
  r->finish = neo_acc_ref(f->m, wide, 0);
  if (neo_type_is_float(t))
    r->finish = neo_cast(f->m, t, r->finish);
  return true;
}

static bool logical(neo_frame *f, neo_reduction *r, neo_reducer reducer) {
  neo_type t = neo_expr_type(f->m, r->body[0]);
  r->reducer = reducer;
  r->finish = neo_acc_ref(f->m, NEO_BOOL_T, 0);
  if (t == NEO_BOOL_T)
    return true;
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  NEO_ERR(f->in, r->e->u.reduce.body->span, NEEDS_BOOL, word, neo_type_text(t));
  return false;
}

bool neo_reduction_choose(neo_frame *f, neo_reduction *r) {
  r->n_body = 1;
  switch (r->e->u.reduce.reducer) {
  case NEO_AST_RED_SUM:
    return accumulation(f, r, NEO_RED_SUM);
  case NEO_AST_RED_PROD:
    return accumulation(f, r, NEO_RED_PROD);
  case NEO_AST_RED_MEAN:
    return accumulation(f, r, NEO_RED_MEAN);
  case NEO_AST_RED_LOGSUMEXP:
    return accumulation(f, r, NEO_RED_LOGSUMEXP);
  case NEO_AST_RED_MAX:
    return extremum(f, r, NEO_RED_MAX, false);
  case NEO_AST_RED_MIN:
    return extremum(f, r, NEO_RED_MIN, false);
  case NEO_AST_RED_ARGMAX:
    return extremum(f, r, NEO_RED_MAX, true);
  case NEO_AST_RED_ARGMIN:
    return extremum(f, r, NEO_RED_MIN, true);
  case NEO_AST_RED_ANY:
    return logical(f, r, NEO_RED_ANY);
  default:
    return logical(f, r, NEO_RED_ALL);
  }
}

bool neo_reduction_is_scalar(const neo_reduction *r) {
  return r->n_own == 0 && !r->where.i;
}

neo_val neo_reduction_scalar(neo_frame *f, const neo_reduction *r) {
  if (is_position(r))
    return neo_val_expr(neo_const_int(f->m, NEO_I32_T, 0));
  return neo_val_expr(neo_cast(f->m, neo_expr_type(f->m, r->finish), r->body[0]));
}

/* What a reducer computes: its bodies, its result, and the bound of that. */
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

/* Row-major position among the axes bound here, and what it is below, in r->bound. The index of one axis
 * is its position; those of more are multiplied by how many values the axes after them may have. */
static neo_expr position(neo_frame *f, neo_reduction *r) {
  neo_expr at = neo_const_int(f->m, NEO_I64_T, 0);
  r->bound = neo_const_int(f->m, NEO_I64_T, 1);
  for (uint32_t k = r->base; k < r->base + r->n_own; k++) {
    neo_box box = {.extent = neo_frame_hull(f, k)};
    if (!box.extent.i || (k > r->base && !neo_frame_range(f, k, &box)))
      return (neo_expr){0};
    at =
        neo_op2(f->m, NEO_OP_ADD, neo_op2(f->m, NEO_OP_MUL, at, box.extent), neo_axis_ref(f->m, k));
    r->bound = neo_op2(f->m, NEO_OP_MUL, r->bound, box.extent);
  }
  return at;
}

/* Is no position below 0? */
static bool is_natural(neo_frame *f, const neo_reduction *r) {
  neo_expr zero = neo_const_int(f->m, NEO_I64_T, 0);
  return neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, zero, r->body[1]));
}

static neo_expr less(neo_frame *f, neo_expr a, neo_expr b) {
  return neo_op2(f->m, NEO_OP_LT, a, b);
}

/* The axes around that the reduction has something of, and those that say where these are. */
static uint64_t axes_around(const neo_frame *f, const neo_reduction *r) {
  uint64_t used = 0;
  for (uint32_t k = 0; k < r->n_body; k++)
    used |= neo_expr_axes(f->m, r->body[k]);
  for (uint32_t k = r->base + r->n_own; k-- > 0;)
    if (k >= r->base || used >> k & 1)
      used |= neo_expr_axes(f->m, f->axis[k].lo) | neo_expr_axes(f->m, f->axis[k].hi);
  return used;
}

/* Is something taken at all points? Each range is asked about under the axes before it alone: an
 * axis that has a value says that its own range is not empty. One around that the reduction does not use says
 * nothing: it may become a definition without that axis, which has a value where there are no points. */
static bool never_empty(neo_frame *f, const neo_reduction *r) {
  neo_facts facts = neo_frame_facts(f);
  neo_axis_rec axis[NEO_MAX_AXES];
  uint64_t used = axes_around(f, r);
  bool taken = !r->where.i;
  memcpy(axis, facts.axes, facts.n_axes * sizeof *axis);
  for (uint32_t k = 0; k < r->base; k++)
    if (!(used >> k & 1)) {
      axis[k].lo = neo_const_int(f->m, NEO_I64_T, 0);
      axis[k].hi = neo_const_int(f->m, NEO_I64_T, 1);
    }
  facts.axes = axis;
  for (uint32_t k = r->base; taken && k < r->base + r->n_own; k++) {
    facts.n_axes = k;
    taken =
        neo_prove(f->fe->prover, &facts, less(f, f->axis[k].lo, f->axis[k].hi), NULL) == NEO_PROVED;
  }
  return taken;
}

/* The position in nothing is 0, which is below no extent of 0. */
static neo_expr above_zero(neo_frame *f, neo_expr bound) {
  neo_facts nothing = {0};
  neo_expr zero = neo_const_int(f->m, NEO_I64_T, 0), one = neo_const_int(f->m, NEO_I64_T, 1);
  if (neo_prove(f->fe->prover, &nothing, less(f, zero, bound), NULL) == NEO_PROVED)
    return bound;
  return neo_op2(f->m, NEO_OP_MAX, bound, one);
}

static neo_expr bound_of_position(neo_frame *f, const neo_reduction *r, neo_expr end) {
  return is_natural(f, r) ? above_zero(f, end) : (neo_expr){0};
}

/* The extremum of nothing is the end of its type. */
static neo_expr bound_of_extremum(neo_frame *f, const neo_reduction *r) {
  return never_empty(f, r) ? neo_expr_bound(f, r->body[0]) : (neo_expr){0};
}

static bool is_position(const neo_reduction *r) {
  neo_ast_reducer word = r->e->u.reduce.reducer;
  return word == NEO_AST_RED_ARGMAX || word == NEO_AST_RED_ARGMIN;
}

neo_expr neo_reduction_bound(neo_frame *f, const neo_reduction *r) {
  neo_frame wide = *f;
  neo_expr none = {0};
  if (!r->bound.i)
    return none;
  neo_frame_widen(f, r->base, r->n_assume, wide.axis);
  wide.assume.at = r->n_assume == 0 ? f->assume.at : f->assume.at + r->n_assume;
  wide.assume.n -= r->n_assume;
  wide.assume.cap = wide.assume.n;
  if (is_position(r)) /* 0 where a guard leaves nothing */
    return is_natural(&wide, r) && neo_bounds_holds(&wide, less(f, r->body[1], r->bound)) ? r->bound
                                                                                          : none;
  return r->guarded ? none : bound_of_extremum(&wide, r);
}

/* Are the positions within i32? */
static bool fits(neo_frame *f, const neo_reduction *r) {
  int64_t least, most;
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
  r->bound = arg ? bound_of_position(f, r, r->bound) : bound_of_extremum(f, r);
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

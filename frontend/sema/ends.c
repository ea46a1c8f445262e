/* Bounds of elements: those that follow for a value, and whether declared ones hold. */
#include "frontend/sema/parts.h"

void neo_ends_set(neo_fe *fe, neo_tensor t, const neo_ends *ends) {
  neo_tensor_rec *r = neo_tensor_at(fe->m, t);
  r->bound = ends->bound;
  r->least = ends->least;
  r->below = ends->below;
}

neo_ends neo_ends_of(const neo_fe *fe, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(fe->m, t);
  return (neo_ends){r->bound, r->least, r->below};
}

neo_ends neo_ends_written(const neo_fe *fe, const neo_ast_type *type, const neo_val *first) {
  if ((type->rel == NEO_AST_REL_NONE && !type->lo) || first->kind != NEO_VAL_VIEW)
    return (neo_ends){0};
  neo_ends ends = neo_ends_of(fe, first->view.tensor);
  int64_t least;
  bool natural = !ends.least.i || (neo_expr_is_int(fe->m, ends.least, &least) && least >= 0);
  if (!natural || (ends.least.i && !ends.below.i))
    ends.bound = (neo_expr){0};
  return ends;
}

static bool hold(neo_frame *f, neo_expr e, const neo_ends *ends);

static bool hold_under(neo_frame *f, neo_expr condition, neo_expr e, const neo_ends *ends) {
  NEO_PUSH(f->fe->arena, &f->assume, condition);
  bool ok = hold(f, e, ends);
  f->assume.n--;
  return ok;
}

/* The result of a reduction has the ends of its axis. */
static bool result_holds(neo_frame *f, neo_expr e, const neo_ends *ends) {
  neo_frame *with = NEO_NEW(f->fe->arena, neo_frame);
  neo_expr value = neo_frame_result(f, e, with);
  return value.i && hold(with, value, ends);
}

static bool hold(neo_frame *f, neo_expr e, const neo_ends *ends) {
  if (neo_expr_uses_op(f->m, e, NEO_OP_ACC)) {
    if (result_holds(f, e, ends))
      return true;
    if (neo_expr_node(f->m, e)->op == NEO_OP_SELECT) {
      neo_expr c = neo_expr_arg(f->m, e, 0);
      return hold_under(f, c, neo_expr_arg(f->m, e, 1), ends) &&
             hold_under(f, neo_op1(f->m, NEO_OP_NOT, c), neo_expr_arg(f->m, e, 2), ends);
    }
  }
  neo_expr x = neo_cast(f->m, NEO_I64_T, e);
  return (!ends->least.i || neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, ends->least, x))) &&
         (!ends->below.i || neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LT, x, ends->below)));
}

/* Assumes that no extent is 0: ends are stated for elements, and there is one. */
static size_t assume_extents(neo_frame *f) {
  size_t before = f->assume.n;
  for (uint32_t k = 0; k < f->n_out; k++)
    NEO_PUSH(f->fe->arena, &f->assume, neo_op2(f->m, NEO_OP_LT, f->axis[k].lo, f->axis[k].hi));
  return before;
}

bool neo_ends_hold(neo_frame *f, neo_expr e, const neo_ends *ends) {
  if (!ends->least.i && !ends->below.i)
    return true;
  size_t before = assume_extents(f);
  bool ok = hold(f, e, ends);
  f->assume.n = before;
  return ok;
}

bool neo_ends_within(neo_frame *f, neo_expr e, neo_expr bound) {
  neo_expr own = neo_expr_bound(f, e);
  if (own.i && neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, own, bound)))
    return true;
  neo_expr zero = neo_const_i64(f->m, 0);
  return neo_ends_hold(f, e, &(neo_ends){.least = zero, .below = bound});
}

bool neo_ends_check(neo_inst *in, neo_val v, const neo_ends *ends, const neo_ast_var *var,
                    neo_span at) {
  neo_expr e;
  neo_frame *f = neo_element_frame(in, &v, in->prefix, at, &e);
  if (!e.i)
    return false;
  if (ends->least.i) {
    if (neo_ends_hold(f, e, ends))
      return true;
    neo_diag_range(f->fe->diags, NEO_ERR(in, at, ENDS_NOT_PROVED, var->name.text), var->type.span);
    return false;
  }
  if (!ends->bound.i || neo_ends_within(f, e, ends->bound))
    return true;
  int h = NEO_ERR(in, at, BOUND_NOT_PROVED, neo_size_text(f->fe, ends->bound));
  neo_diag_help(f->fe->diags, h, "use clamp(..., 0, %s)",
                neo_size_text(f->fe, neo_size_add1(f->fe, ends->bound, -1)));
  return false;
}

/* Bounds of elements: what is known of a value, and whether those that are declared hold. */
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

/* A result of a reduction lies in [0, its bound). */
static bool reduction_holds(neo_frame *f, neo_expr e, const neo_ends *ends) {
  int64_t least = INT64_MIN;
  neo_expr bound = neo_expr_bound(f, e);
  bool low = !ends->least.i || (bound.i && neo_expr_is_int(f->m, ends->least, &least) && least <= 0);
  return low && (!ends->below.i ||
                 (bound.i && neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, bound, ends->below))));
}

bool neo_ends_hold(neo_frame *f, neo_expr e, const neo_ends *ends) {
  if (!ends->least.i && !ends->below.i)
    return true;
  if (neo_expr_uses_op(f->m, e, NEO_OP_ACC) && reduction_holds(f, e, ends))
    return true;
  neo_expr x = neo_cast(f->m, NEO_I64_T, e);
  return (!ends->least.i || neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, ends->least, x))) &&
         (!ends->below.i || neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LT, x, ends->below)));
}

/* Sums of runs are recognised by writing the same expressions again: these are hash-consed, so
 * equal ones have equal ids. */
#include "ir/row_blocks.h"

neo_expr neo_row_block_point(neo_module *m, int64_t length, neo_expr s, neo_expr i) {
  neo_expr start = neo_op2(m, NEO_OP_MUL, neo_const_i64(m, length), s);
  return neo_op2(m, NEO_OP_ADD, start, i);
}

neo_expr neo_row_block_points(neo_module *m, int64_t length, int64_t extent, neo_expr s) {
  neo_expr n = neo_const_i64(m, length);
  if (extent % length == 0)
    return n;
  neo_expr start = neo_op2(m, NEO_OP_MUL, n, s);
  neo_expr left = neo_op2(m, NEO_OP_SUB, neo_const_i64(m, extent), start);
  return neo_op2(m, NEO_OP_MIN, n, left);
}

/* R and the length from the ranges of s and i. */
static bool lengths(neo_module *m, const neo_axis_rec *s, const neo_axis_rec *i, uint32_t at,
                    neo_row_block *out) {
  int64_t lo, runs, extent;
  neo_expr axis = neo_axis_ref(m, at);
  if (!neo_expr_is_int(m, i->lo, &lo) || lo || !neo_expr_is_int(m, s->lo, &lo) || lo ||
      !neo_expr_is_int(m, s->hi, &runs))
    return false;
  if (neo_expr_is_int(m, i->hi, &out->length)) {
    extent = runs * out->length;
  } else {
    const neo_node *n = neo_expr_node(m, i->hi);
    if (n->op != NEO_OP_MIN || !neo_expr_is_int(m, neo_expr_arg(m, i->hi, 0), &out->length))
      return false;
    neo_expr left = neo_expr_arg(m, i->hi, 1);
    if (neo_expr_node(m, left)->op != NEO_OP_SUB ||
        !neo_expr_is_int(m, neo_expr_arg(m, left, 0), &extent))
      return false;
  }
  out->at = at;
  out->extent = neo_const_i64(m, extent);
  return out->length > 1 && i->hi.i == neo_row_block_points(m, out->length, extent, axis).i &&
         runs == (extent + out->length - 1) / out->length;
}

bool neo_row_block_of(neo_module *m, neo_def d, neo_row_block *out) {
  enum { STAND_IN = 62 };
  neo_def_rec r = *neo_def_at(m, d);
  if (r.reducer != NEO_RED_SUM || r.where.i || r.out.n != 1 || r.out_map.n || r.n_out < 2 ||
      r.axes.n != r.n_out + 1 || r.axes.n > STAND_IN)
    return false;
  neo_expr body = neo_list_expr(m, r.body, 0), finish = neo_list_expr(m, r.finish, 0);
  if (neo_expr_node(m, finish)->op != NEO_OP_ACC)
    return false;
  uint32_t at = r.n_out - 2;
  if (!lengths(m, neo_def_axis(m, &r, at), neo_def_axis(m, &r, r.n_out), at, out))
    return false;
  neo_expr s = neo_axis_ref(m, at), i = neo_axis_ref(m, r.n_out), by[STAND_IN + 1] = {{0}};
  neo_expr point = neo_row_block_point(m, out->length, s, i);
  body = neo_expr_replace(m, body, point, neo_axis_ref(m, STAND_IN));
  if (neo_expr_axes(m, body) & (1ULL << at | 1ULL << r.n_out))
    return false;
  by[STAND_IN] = s;
  out->body = neo_expr_subst_axes(m, body, by, STAND_IN + 1);
  return true;
}

/* Expression nodes: hash-consed, and the leaves and constants, which nothing folds.
 *
 * An expression's identity is (op, type, attribute, arguments); a constant's attribute stands for
 * its bits. The intern map goes from a 64-bit hash to a node; a collision moves on to the next
 * hash, so that equal nodes always have equal ids. Arguments are made before the node that uses
 * them: ids ascend along every path from a leaf, which the walks rely on. */
#include "ir/node.h"
#include "base/hash.h"
#include "ir/interp/interp.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static uint64_t node_hash(neo_op op, neo_type type, uint64_t attr, const neo_expr *arg, size_t n) {
  uint64_t h = neo_hash_mix((uint64_t)op << 8 | (uint64_t)type, attr);
  for (size_t k = 0; k < n; k++)
    h = neo_hash_mix(h, arg[k].i);
  return h;
}

static bool node_equal(const neo_module *m, const neo_node *x, neo_op op, neo_type type,
                       uint64_t attr, const neo_expr *arg, size_t n) {
  uint64_t old = op == NEO_OP_CONST ? m->constants.at[x->attr] : x->attr;
  if (x->op != op || x->type != type || old != attr || x->arg.n != n)
    return false;
  for (size_t k = 0; k < n; k++)
    if (m->pool.at[x->arg.at + k] != arg[k].i)
      return false;
  return true;
}

neo_expr neo_node_intern(neo_module *m, neo_op op, neo_type type, uint64_t attr,
                         const neo_expr *arg, size_t n, neo_span span) {
  uint64_t h = node_hash(op, type, attr, arg, n), found;
  for (; neo_map_get(&m->intern, h, &found); h++) {
    const neo_node *x = &m->nodes.at[found];
    if (x->op == op && node_equal(m, x, op, type, attr, arg, n))
      return (neo_expr){(uint32_t)found};
  }
  neo_node node = {.op = (uint8_t)op, .type = (uint8_t)type, .attr = (uint32_t)attr, .span = span};
  if (op == NEO_OP_CONST) {
    node.attr = (uint32_t)m->constants.n;
    NEO_PUSH(m->arena, &m->constants, attr);
  }
  node.arg = (neo_list){(uint32_t)m->pool.n, (uint32_t)n};
  uint64_t bit = 1ULL << (node.attr < 63 ? node.attr : 63);
  uint64_t used = op == NEO_OP_AXIS ? bit : 0, accs = op == NEO_OP_ACC ? bit : 0;
  for (size_t k = 0; k < n; k++) {
    NEO_PUSH(m->arena, &m->pool, arg[k].i);
    used |= m->used.at[arg[k].i];
    accs |= m->accs.at[arg[k].i];
  }
  neo_expr e = {(uint32_t)m->nodes.n};
  NEO_PUSH(m->arena, &m->nodes, node);
  NEO_PUSH(m->arena, &m->used, used);
  NEO_PUSH(m->arena, &m->accs, accs);
  neo_map_set(&m->intern, h, e.i);
  return e;
}

static neo_expr constant(neo_module *m, neo_type t, uint64_t bits) {
  return neo_node_intern(m, NEO_OP_CONST, t, bits, NULL, 0, 0);
}

neo_expr neo_const_float(neo_module *m, neo_type t, double x) {
  uint64_t bits = 0;
  assert(neo_type_is_float(t));
  x = isnan(x) ? (double)NAN : neo_value_round(t, x); /* one NaN, so that equal means same text */
  memcpy(&bits, &x, sizeof bits);
  return constant(m, t, bits);
}

neo_expr neo_const_int(neo_module *m, neo_type t, int64_t x) {
  neo_value v = neo_value_cast(t, NEO_I64_T, (neo_value){.i = x});
  return neo_type_is_float(t) ? neo_const_float(m, t, v.f) : constant(m, t, (uint64_t)v.i);
}

neo_expr neo_const_i64(neo_module *m, int64_t x) {
  return constant(m, NEO_I64_T, (uint64_t)x);
}

neo_expr neo_const_bool(neo_module *m, bool x) {
  return constant(m, NEO_BOOL_T, x);
}

static neo_expr leaf(neo_module *m, neo_op op, neo_type t, uint32_t attr) {
  return neo_node_intern(m, op, t, attr, NULL, 0, 0);
}

neo_expr neo_axis_ref(neo_module *m, uint32_t k) {
  return leaf(m, NEO_OP_AXIS, NEO_I64_T, k);
}
neo_expr neo_size_ref(neo_module *m, neo_size s) {
  return leaf(m, NEO_OP_SIZE, NEO_I64_T, s.i);
}
neo_expr neo_acc_ref(neo_module *m, neo_type t, uint32_t k) {
  return leaf(m, NEO_OP_ACC, t, k);
}

bool neo_expr_is_int(const neo_module *m, neo_expr e, int64_t *x) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_CONST || neo_type_is_float((neo_type)n->type))
    return false;
  *x = (int64_t)m->constants.at[n->attr];
  return true;
}

bool neo_expr_is_float(const neo_module *m, neo_expr e, double *x) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_CONST || !neo_type_is_float((neo_type)n->type))
    return false;
  memcpy(x, &m->constants.at[n->attr], sizeof *x);
  return true;
}

bool neo_expr_is_zero(const neo_module *m, neo_expr e) {
  double x;
  int64_t i;
  return neo_expr_is_float(m, e, &x) ? x == 0 : neo_expr_is_int(m, e, &i) && i == 0;
}

bool neo_expr_is_positive_zero(const neo_module *m, neo_expr e) {
  double x;
  return neo_expr_is_zero(m, e) && !(neo_expr_is_float(m, e, &x) && signbit(x));
}

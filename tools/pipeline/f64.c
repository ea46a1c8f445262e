/* All floats of a module become f64, for checks of gradients:
 *
 *   X[b, i] : f32    Y[b, i] : f16 = f16(exp(X[b, i]))    becomes
 *   X[b, i] : f64    Y[b, i] : f64 = exp(X[b, i])
 *
 * Every float node is made again from its rewritten arguments, with type f64; conversions between
 * floats vanish; data of constants is converted. Constants keep their value, which has been
 * rounded once. */
#include "ir/interp/interp.h"
#include "tools/pipeline/compile.h"

static neo_type wide(neo_type t) {
  return neo_type_is_float(t) ? NEO_F64_T : t;
}

/* Widens a node. One whose type depends on nothing but its arguments gets the right type by
 * op1..op3; others are made with the wide type. The runner of rewrites has replaced the arguments
 * already. */
static neo_expr widen(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  const neo_node n = *neo_expr_node(m, e);
  if (!neo_type_is_float((neo_type)n.type) || n.type == NEO_F64_T)
    return e;
  if (n.op == NEO_OP_CONST) {
    double x = 0;
    neo_expr_is_float(m, e, &x);
    return neo_const_float(m, NEO_F64_T, x);
  }
  neo_expr arg[17];
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  if (n.op == NEO_OP_CAST && neo_expr_type(m, arg[0]) == NEO_F64_T)
    return arg[0];
  return neo_expr_make(m, (neo_op)n.op, NEO_F64_T, n.attr, arg, n.arg.n, n.span);
}

static void widen_data(neo_module *m, neo_tensor_rec *t) {
  size_t from = neo_type_bytes((neo_type)t->type);
  size_t n = t->n_data_bytes / from;
  char *to = neo_arena_array(m->arena, n + 1, 8);
  for (size_t k = 0; k < n; k++) {
    neo_value v = neo_value_read((neo_type)t->type, (const char *)t->data + k * from);
    neo_value_write(NEO_F64_T, v, to + k * 8);
  }
  t->data = to;
  t->n_data_bytes = n * 8;
}

void neo_module_widen(neo_module *m) {
  for (uint32_t k = 1; k < m->tensors.n; k++) {
    neo_tensor_rec *t = &m->tensors.at[k];
    if (!neo_type_is_float((neo_type)t->type))
      continue;
    if (t->data && t->type != NEO_F64_T)
      widen_data(m, t);
    t->type = (uint8_t)wide((neo_type)t->type);
  }
  for (uint32_t k = 1; k < m->defs.n; k++)
    neo_def_rewrite(m, (neo_def){k}, widen, NULL);
}

/* Specialisation on `training`: one graph serves all entries, and only definitions that depend on
 * `training` are copied. The copy (false) is for entries that do not train; the original becomes
 * the training one. */
#include "ir/clone.h"
#include "transform/transform.h"

static neo_expr set_training(void *ctx, neo_module *m, neo_expr e) {
  const bool *value = ctx;
  const neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_TRAINING)
    return neo_const_bool(m, *value);
  int64_t c;
  if (n.op == NEO_OP_SELECT && neo_expr_is_int(m, neo_list_expr(m, n.arg, 0), &c))
    return neo_list_expr(m, n.arg, c ? 1 : 2);
  return e;
}

/* Is it a branch that is 0 for this value of `training`? */
static bool vanishes(neo_module *m, neo_expr e, bool value) {
  double x;
  return neo_expr_node(m, e)->op == NEO_OP_SELECT && neo_expr_uses_op(m, e, NEO_OP_TRAINING) &&
         neo_expr_is_float(m, neo_expr_rewrite(m, e, set_training, &value), &x) && x == 0;
}

/* Drops terms of a gradient that belong to the branch not taken. A constant 0 of the program stays:
 * -0 + 0 is 0, and 1 divided by it is inf. */
static neo_expr drop_terms(void *ctx, neo_module *m, neo_expr e) {
  const bool *value = ctx;
  if (neo_expr_node(m, e)->op != NEO_OP_ADD)
    return e;
  for (uint32_t k = 0; k < 2; k++)
    if (vanishes(m, neo_expr_arg(m, e, k), *value))
      return neo_expr_arg(m, e, 1 - k);
  return e;
}

static void look(void *ctx, neo_expr e) {
  void **c = ctx;
  const neo_module *m = c[0];
  if (neo_expr_node(m, e)->op == NEO_OP_TRAINING)
    *(bool *)c[1] = true;
}

static bool uses_training(neo_module *m, neo_def d) {
  bool found = false;
  void *ctx[2] = {m, &found};
  neo_def_visit(m, d, look, ctx);
  return found;
}

static bool trains(const neo_entry_rec *e) {
  return e->kind == NEO_ENTRY_TRAIN || e->kind == NEO_ENTRY_GRAD;
}

static void specialize(neo_module *m, neo_def d, bool value) {
  if (uses_training(m, d))
    neo_def_rewrite(m, d, drop_terms, &value);
  neo_def_rewrite(m, d, set_training, &value);
}

static void split(neo_module *m, neo_arena *scratch) {
  neo_tensors roots = {0};
  for (size_t i = 0; i < m->entries.n; i++)
    if (!trains(&m->entries.at[i]))
      neo_entry_roots(m, scratch, &roots, &m->entries.at[i]);
  neo_def *defs;
  size_t n = neo_module_topo(m, roots.at, roots.n, scratch, &defs, NULL);
  neo_map to = neo_map_in(scratch);
  const bool *marked = neo_defs_affected(m, defs, n, &to, uses_training, scratch);
  neo_defs_clone(m, defs, n, marked, "eval", &to);
  for (size_t k = 0; k < n; k++)
    if (marked[k])
      specialize(m, defs[k], false);
  for (size_t i = 0; i < m->entries.n; i++) {
    if (trains(&m->entries.at[i]))
      continue;
    neo_list outputs = neo_tensors_renamed(m, m->entries.at[i].outputs, &to, scratch);
    neo_list updates = neo_tensors_renamed(m, m->entries.at[i].updates, &to, scratch);
    m->entries.at[i].outputs = outputs;
    m->entries.at[i].updates = updates;
  }
}

static bool is_init(const neo_module *m, neo_def d) {
  const neo_def_rec *r = neo_def_at(m, d);
  return r->out.n == 1 && neo_tensor_at(m, neo_list_tensor(m, r->out, 0))->init.i == d.i;
}

neo_status neo_pass_specialize(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  split(m, pass->a);
  for (uint32_t k = 1; k < m->defs.n; k++)
    specialize(m, (neo_def){k}, !is_init(m, (neo_def){k}));
  return NEO_OK;
}

/* Integers and bools that say where elements are (needed.h). */
#include "ir/needed.h"

static void mark_load(void *ctx, neo_expr e) {
  void **c = ctx;
  const neo_module *m = c[0];
  const neo_node *n = neo_expr_node(m, e);
  if (neo_node_is_load(n))
    ((bool *)c[1])[n->attr] = true;
}

/* Reads within the indices of reads. */
static void mark_indices(void *ctx, neo_expr e) {
  void **c = ctx;
  const neo_module *m = c[0];
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n))
    return;
  for (uint32_t k = 0; k < neo_tensor_rank(m, (neo_tensor){n->attr}); k++)
    neo_expr_visit(m, neo_list_expr(m, n->arg, k), mark_load, ctx);
}

static bool is_integer(const neo_module *m, uint32_t t) {
  neo_type type = neo_tensor_type(m, (neo_tensor){t});
  return type == NEO_BOOL_T || neo_type_is_int(type);
}

static bool makes_steering(const neo_module *m, const neo_def_rec *r, const bool *steers) {
  for (uint32_t k = 0; k < r->out.n; k++)
    if (is_integer(m, neo_list_at(m, r->out, k)) && steers[neo_list_at(m, r->out, k)])
      return true;
  return false;
}

/* Marks the tensors that the definition's own indices, condition and bounds read. */
static void mark_own(const neo_module *m, neo_def d, bool *steers) {
  neo_def_rec r = *neo_def_at(m, d);
  void *ctx[] = {(void *)(uintptr_t)m, steers};
  neo_def_visit(m, d, mark_indices, ctx);
  if (r.where.i)
    neo_expr_visit(m, r.where, mark_load, ctx);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, &r, k)->lo, mark_load, ctx);
    neo_expr_visit(m, neo_def_axis(m, &r, k)->hi, mark_load, ctx);
  }
}

bool *neo_steering_tensors(const neo_module *m, const neo_def *defs, size_t n, neo_arena *a) {
  bool *steers = NEO_NEW_ARRAY(a, bool, m->tensors.n), changed = true;
  neo_arena scratch = neo_arena_scratch(a);
  for (size_t k = 0; k < n; k++)
    mark_own(m, defs[k], steers);
  while (changed) {
    changed = false;
    for (size_t k = n; k-- > 0;) {
      neo_tensor *in;
      if (!makes_steering(m, neo_def_at(m, defs[k]), steers))
        continue;
      for (size_t i = neo_def_reads(m, defs[k], &scratch, &in); i-- > 0;) {
        changed = changed || (is_integer(m, in[i].i) && !steers[in[i].i]);
        steers[in[i].i] = true;
      }
    }
  }
  neo_arena_free(&scratch);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    steers[t] = steers[t] && is_integer(m, t);
  return steers;
}

/* See loop_axes.h. */
#include "ir/loop_axes.h"
#include "ir/component.h"
#include "ir/order.h"

typedef struct {
  const neo_module *m;
  const uint32_t *number; /* number of the recurrence, by definition */
  uint32_t own;
  bool by_data;
} data_look;

static bool is_own(const data_look *l, uint32_t tensor) {
  neo_list pieces = neo_tensor_at(l->m, (neo_tensor){tensor})->pieces;
  return pieces.n && l->number[neo_list_at(l->m, pieces, 0)] == l->own;
}

static void look_read(void *ctx, neo_expr e) {
  data_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  if (!neo_node_is_load(n) || !is_own(l, n->attr))
    return;
  for (uint32_t k = 0; k < neo_tensor_rank(l->m, (neo_tensor){n->attr}); k++) {
    neo_expr at = neo_list_expr(l->m, n->arg, k);
    l->by_data = l->by_data || neo_expr_has_loads(l->m, at);
  }
}

static void mark(const neo_order_step *loop, uint64_t *axes) {
  for (uint32_t k = 0; k < loop->n_members; k++)
    axes[loop->member[k].def.i] |= (uint64_t)1 << loop->member[k].axis;
  for (uint32_t k = 0; k < loop->n_steps; k++)
    if (!loop->step[k].def.i)
      mark(&loop->step[k], axes);
}

const uint64_t *neo_loop_axes(neo_prover *p, const neo_def *defs, size_t n, neo_arena *a) {
  const neo_module *m = neo_prover_module(p);
  uint64_t *axes = NEO_NEW_ARRAY(a, uint64_t, m->defs.n);
  uint32_t *number = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  uint32_t n_found = neo_recurrences(m, defs, n, a, number);
  for (uint32_t r = 1; r <= n_found; r++) {
    data_look l = {m, number, r, false};
    neo_order_step loop = {0};
    size_t n_own;
    const neo_def *own = neo_recurrence_members(number, (uint32_t)m->defs.n, r, a, &n_own);
    for (size_t k = 0; k < n_own; k++)
      neo_def_visit((neo_module *)(uintptr_t)m, own[k], look_read, &l);
    if (!l.by_data && neo_order_find(p, own, n_own, a, &loop, NULL))
      mark(&loop, axes);
  }
  return axes;
}

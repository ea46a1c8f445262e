/* Trees before rewrites: definitions in the order of their reads, recurrences in their order.
 *
 *   order  t { h y }   with y one iteration after h
 *   ->
 *   band t in 0..T + 1
 *     seq
 *       leaf h[t]
 *       leaf y[t - 1]
 *
 * A definition that runs by owner (ir/order.h) is a leaf over the positions of the iteration's
 * list: leaf s[begin[v]..begin[v + 1]]. */
#include "ir/component.h"
#include "ir/lists.h"
#include "ir/tree/tree.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  NEO_VEC(const neo_order_step *) around;
} grower;

static const neo_order_member *member_of(const neo_order_step *loop, neo_def d) {
  for (uint32_t k = 0; k < loop->n_members; k++)
    if (loop->member[k].def.i == d.i)
      return &loop->member[k];
  return NULL;
}

/* The bound of list r, as an element of its offsets. */
static neo_expr bound_of(neo_module *m, neo_tensor owner, neo_expr r) {
  return neo_list_element(m, neo_tensor_at(m, owner)->offsets, r);
}

static const neo_tree *leaf_of(grower *g, neo_def d) {
  neo_module *m = g->m;
  uint32_t n_out = neo_def_at(m, d)->n_out;
  neo_expr *lo = NEO_NEW_ARRAY(g->a, neo_expr, n_out + 1);
  neo_tree_leaf leaf = {.number = d.i};
  neo_expr *hi = NEO_NEW_ARRAY(g->a, neo_expr, n_out + 1);
  for (uint32_t k = 0; k < g->around.n; k++) {
    const neo_order_member *x = member_of(g->around.at[k], d);
    neo_expr at = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, k), neo_const_i64(m, x->delay));
    lo[x->axis] = x->owner.i ? bound_of(m, x->owner, at) : at;
    if (x->owner.i)
      hi[x->axis] = bound_of(m, x->owner, neo_op2(m, NEO_OP_ADD, at, neo_const_i64(m, 1)));
  }
  neo_instance x = {.def = d, .lo = lo, .hi = hi};
  NEO_PUSH(g->a, &leaf.instances, x);
  return neo_tree_of_leaf(g->a, leaf);
}

static const neo_tree *band_of(grower *g, const neo_order_step *loop) {
  neo_order_member x = loop->member[0];
  neo_tree_band band = {.down = loop->down};
  neo_trees children = {0};
  band.name = neo_def_axis(g->m, neo_def_at(g->m, x.def), x.axis)->name;
  neo_order_iterations(g->m, loop, &band.lo, &band.hi);
  NEO_PUSH(g->a, &g->around, loop);
  for (uint32_t k = 0; k < loop->n_steps; k++) {
    const neo_order_step *s = &loop->step[k];
    const neo_tree *child = s->def.i ? leaf_of(g, s->def) : band_of(g, s);
    NEO_PUSH(g->a, &children, child);
  }
  g->around.n--;
  return neo_tree_of_band(g->a, band, neo_tree_sequence(g->a, &children));
}

/* The bands of an order, with a leaf for each definition. */
static const neo_tree *tree_of_order(neo_module *m, neo_arena *a, const neo_order_step *loop) {
  grower g = {.m = m, .a = a};
  return band_of(&g, loop);
}

const neo_tree *neo_tree_of_recurrence(neo_module *m, neo_arena *a, const neo_def *defs, size_t n,
                                       neo_str *why) {
  neo_order_step loop;
  neo_prover *p = neo_prover_new(m);
  bool found = neo_list_order_find(p, defs, n, a, &loop, NULL);
  neo_prover_free(p);
  if (found)
    return tree_of_order(m, a, &loop);
  neo_tensor t = neo_def_out(m, defs[0], 0);
  neo_str_addf(why, "%s needs itself, in no order", neo_tensor_name(m, t));
  return NULL;
}

const neo_tree *neo_tree_of_roots(neo_module *m, neo_arena *a, const neo_tensor *roots, size_t n,
                                  neo_str *why) {
  grower g = {.m = m, .a = a};
  neo_trees children = {0};
  neo_def *defs;
  size_t n_defs = neo_module_topo(m, roots, n, a, &defs, NULL), end;
  uint32_t *number = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  (void)neo_recurrences(m, defs, n_defs, a, number);
  for (size_t k = 0; k < n_defs; k = end) {
    uint32_t own = number[defs[k].i];
    for (end = k + 1; own && end < n_defs && number[defs[end].i] == own;)
      end++;
    const neo_tree *child =
        own ? neo_tree_of_recurrence(m, a, defs + k, end - k, why) : leaf_of(&g, defs[k]);
    if (!child)
      return NULL;
    NEO_PUSH(a, &children, child);
  }
  return neo_tree_sequence(a, &children);
}

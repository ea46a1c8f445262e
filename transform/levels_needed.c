/* Which places of a tensor in the order are read: those of leaves, those of others, or all (levels_leaves.c). What
 * nobody reads is left out: such a tensor is `partial`, and its definition a select. So a branch of a choice that asks for
 * children runs for as many vertices as take it, and adjoints that children gather are made for those who have some:
 *
 *     z[p, j] = sum[i] x[p, i]*W[i, j]          read where p < leaves alone
 *     ->
 *     z[p, j] = select(p < leaves, sum[i] .., 0)      partial */
#include "ir/guarded_read.h"
#include "transform/levels_parts.h"

enum { LEAF = 1, OTHER = 2, ALL = 3 };

typedef struct {
  levels *s;
  const neo_def *defs; /* that entries need */
  size_t n;
  uint8_t *need; /* by tensor in an order: places that are read */
  bool *wanted;  /* by tensor: it is in an order */
  levels_graph **graph;
  uint32_t *dim;
  bool changed;
} needs;

/* ---- conditions */

static uint8_t by_condition(const needs *x, neo_expr c, bool holds, neo_expr at, neo_expr leaves) {
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, c);
  if (n.op == NEO_OP_NOT)
    return by_condition(x, neo_list_expr(m, n.arg, 0), !holds, at, leaves);
  if (n.op == NEO_OP_AND && holds)
    return by_condition(x, neo_list_expr(m, n.arg, 0), true, at, leaves) &
           by_condition(x, neo_list_expr(m, n.arg, 1), true, at, leaves);
  if (n.op != NEO_OP_LE && n.op != NEO_OP_LT)
    return ALL;
  neo_expr a = neo_list_expr(m, n.arg, 0), b = neo_list_expr(m, n.arg, 1);
  if (n.op == NEO_OP_LE && a.i == leaves.i && b.i == at.i)
    return holds ? OTHER : LEAF;
  if (n.op == NEO_OP_LT && a.i == at.i && b.i == leaves.i)
    return holds ? LEAF : OTHER;
  return ALL;
}

/* Of an axis: those that its range leaves. */
static uint8_t by_range(const needs *x, const neo_axis_rec *axis, neo_expr leaves) {
  neo_module *m = x->s->m;
  const neo_node *hi = neo_expr_node(m, axis->hi);
  if (axis->lo.i == leaves.i)
    return OTHER;
  bool ends = hi->op == NEO_OP_MIN &&
              (neo_list_at(m, hi->arg, 0) == leaves.i || neo_list_at(m, hi->arg, 1) == leaves.i);
  return ends ? LEAF : ALL;
}

/* ---- what a read needs */

/* Places that the definition's own elements are needed at. */
static uint8_t own_need(const needs *x, const neo_def_rec *d) {
  uint8_t all = 0;
  for (uint32_t k = 0; k < d->out.n; k++) {
    uint32_t t = neo_list_at(x->s->m, d->out, k);
    all |= x->wanted[t] ? x->need[t] : ALL;
  }
  return all;
}

static uint8_t need_of(const needs *x, neo_def id, const neo_guarded_read *r) {
  neo_module *m = x->s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_expr_node(m, r->read)->attr;
  neo_expr at = neo_expr_arg(m, r->read, x->dim[t]), leaves;
  const levels_graph *g = x->graph[t];
  const neo_node *n = neo_expr_node(m, at);
  uint8_t need = ALL;
  leaves = levels_leaves_of(x->s, g, d.span);
  uint32_t own = neo_list_at(m, d.out, 0);
  if (n->op == NEO_OP_AXIS && n->attr < d.n_out) {
    if (x->wanted[own] && x->graph[own] == g && x->dim[own] == n->attr)
      need = own_need(x, &d);
  } else if (n->op == NEO_OP_AXIS) {
    need = by_range(x, neo_def_axis(m, &d, n->attr), leaves);
  } else if (levels_is_parent(x->s, g, at)) {
    need = OTHER;
  }
  for (uint32_t k = 0; k < r->n_assume; k++)
    need &= by_condition(x, r->assume[k], true, at, leaves);
  return need;
}

static void look(needs *x, neo_def d) {
  neo_guarded_reads reads = {0};
  if (!own_need(x, neo_def_at(x->s->m, d)))
    return;
  neo_guarded_reads_of(x->s->m, d, x->wanted, x->s->a, &reads);
  for (size_t k = 0; k < reads.n; k++) {
    uint32_t t = neo_expr_node(x->s->m, reads.at[k].read)->attr;
    uint8_t need = x->need[t] | need_of(x, d, &reads.at[k]);
    x->changed = x->changed || need != x->need[t];
    x->need[t] = need;
  }
}

/* ---- partial tensors */

static void leave_out(const needs *x, neo_def id) {
  neo_module *m = x->s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_list_at(m, d.out, 0);
  if (d.out.n != 1 || !x->wanted[t] || (x->need[t] != LEAF && x->need[t] != OTHER))
    return;
  neo_expr at = neo_axis_ref(m, x->dim[t]), leaves = levels_leaves_of(x->s, x->graph[t], d.span);
  neo_expr c =
      x->need[t] == LEAF ? neo_op2(m, NEO_OP_LT, at, leaves) : neo_op2(m, NEO_OP_LE, leaves, at);
  neo_expr value = neo_list_expr(m, d.finish, 0);
  neo_type type = neo_expr_type(m, value);
  neo_expr none = type == NEO_BOOL_T ? neo_const_bool(m, false) : neo_const_int(m, type, 0);
  value = neo_op3(m, NEO_OP_SELECT, c, value, none);
  neo_list finish = neo_list_new(m, &value.i, 1);
  neo_def_at(m, id)->finish = finish;
  neo_tensor_at(m, (neo_tensor){t})->partial = true;
}

static size_t needed_defs(levels *s, neo_def **out) {
  neo_module *m = s->m;
  NEO_VEC(neo_tensor) roots = {0};
  for (size_t e = 0; e < m->entries.n; e++) {
    neo_list lists[] = {m->entries.at[e].outputs, m->entries.at[e].updates};
    for (int l = 0; l < 2; l++)
      for (uint32_t k = 0; k < lists[l].n; k++)
        NEO_PUSH(s->a, &roots, (neo_tensor){neo_list_at(m, lists[l], k)});
  }
  return neo_module_topo(m, roots.at, roots.n, s->a, out, NULL);
}

void levels_leave_out(levels *s) {
  neo_module *m = s->m;
  neo_def *defs;
  needs x = {.s = s, .changed = true};
  x.n = needed_defs(s, &defs);
  x.need = NEO_NEW_ARRAY(s->a, uint8_t, m->tensors.n);
  x.wanted = NEO_NEW_ARRAY(s->a, bool, m->tensors.n);
  x.graph = NEO_NEW_ARRAY(s->a, levels_graph *, m->tensors.n);
  x.dim = NEO_NEW_ARRAY(s->a, uint32_t, m->tensors.n);
  for (uint32_t t = 1; t < s->n_tensors; t++)
    if (s->of[t].graph) {
      uint32_t to = s->of[t].to.i;
      x.wanted[to] = true;
      x.graph[to] = s->of[t].graph;
      x.dim[to] = s->of[t].dim;
    }
  while (x.changed) {
    x.changed = false;
    for (size_t k = x.n; k > 0; k--)
      look(&x, defs[k - 1]);
  }
  for (size_t k = 0; k < x.n; k++)
    leave_out(&x, defs[k]);
}

/* Owners of edges. A sum over the vertices that has one term for each edge, its owner (the vertex
 * in whose list it is), becomes a read (parts.h). Gradients of features of edges are such
 * sums:
 *
 *     d[e, j] = sum[v: child[e] + 1 .. V] where begin[v] <= e and e < begin[v + 1];
 *               g[v, j]*h[child[e], j]
 *     ->
 *     d[e, j] = g[owner[e], j]*h[child[e], j]
 *     owner[e] = sum[i] where edge[i] == e; order[parent[i]]
 *
 * The owner comes after the edge's child. The cost is linear in the edges, on any device. */
#include "ir/clone.h"
#include "ir/comparison.h"
#include "ir/limits.h"
#include "transform/levels/parts.h"

enum { MOST_CONJUNCTS = 8 };

typedef struct {
  levels *s;
  levels_graph *g;
  levels_index *index;
  neo_def_rec d;
  uint32_t edge, vertex; /* axes of the edge and the vertex */
  neo_expr rest;         /* the rest of the condition; 0: none */
} owned;

static neo_expr element(const levels *s, neo_tensor t, neo_expr at) {
  return neo_cast(s->m, NEO_I64_T, neo_load(s->m, t, &at, 1, neo_tensor_at(s->m, t)->span));
}

/* Removes the two conditions that the edge is in the vertex' list; false: they are missing. */
static bool take_conditions(owned *x, neo_tensor begin) {
  neo_module *m = x->s->m;
  neo_expr part[MOST_CONJUNCTS], v = neo_axis_ref(m, x->vertex), e = neo_axis_ref(m, x->edge);
  neo_expr next = neo_op2(m, NEO_OP_ADD, v, levels_int(x->s, 1));
  neo_expr from = neo_op2(m, NEO_OP_LE, element(x->s, begin, v), e);
  neo_expr below = neo_op2(m, NEO_OP_LT, e, element(x->s, begin, next));
  uint32_t n = 0, found = 0;
  x->rest = (neo_expr){0};
  if (!neo_conjuncts_of(m, x->d.where, part, &n, MOST_CONJUNCTS))
    return false;
  for (uint32_t k = 0; k < n; k++) {
    if (part[k].i == from.i || part[k].i == below.i)
      found++;
    else
      x->rest = x->rest.i ? neo_op2(m, NEO_OP_AND, x->rest, part[k]) : part[k];
  }
  return found == 2;
}

/* Does the axis run over all vertices, perhaps without those that cannot come after the edge's
 * child? */
static bool runs_over_owners(const owned *x, uint32_t axis) {
  neo_module *m = x->s->m;
  const neo_axis_rec *a = neo_def_axis(m, &x->d, axis);
  neo_expr child = element(x->s, x->index->child, neo_axis_ref(m, x->edge));
  neo_expr after = neo_op2(m, NEO_OP_ADD, child, levels_int(x->s, 1));
  return a->hi.i == x->g->n.i && (a->lo.i == levels_int(x->s, 0).i || a->lo.i == after.i);
}

static bool find_in_list(owned *x) {
  const levels *s = x->s;
  neo_expr edges = neo_tensor_extent(s->m, x->index->child, 0);
  if (!levels_is_list(s, x->index->child))
    return false;
  for (x->edge = 0; x->edge < x->d.n_out; x->edge++)
    for (x->vertex = x->d.n_out; x->vertex < x->d.axes.n; x->vertex++)
      if (levels_is_vertex(s, &x->d, x->edge, edges) && runs_over_owners(x, x->vertex) &&
          take_conditions(x, neo_tensor_at(s->m, x->index->child)->offsets))
        return x->d.axes.n > x->d.n_out + 1 || !x->rest.i;
  return false;
}

static bool find(owned *x) {
  if (!x->d.where.i || x->d.axes.n > NEO_DEF_AXES)
    return false;
  for (size_t g = 0; g < x->s->graphs.n; g++)
    for (uint32_t k = 0; k < x->s->graphs.at[g]->n_indices; k++) {
      x->g = x->s->graphs.at[g];
      x->index = &x->g->index[k];
      if (find_in_list(x))
        return true;
    }
  return false;
}

/* ---- the definition without the axis */

static neo_expr term(void *ctx, neo_module *m, neo_expr e) {
  const owned *x = ctx;
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_ACC ? neo_list_expr(m, x->d.body, n->attr) : e;
}

/* Replaces the reduction of one term by the term. */
static void leave_reduction(owned *x) {
  x->d.finish = neo_list_rewrite(x->s->m, x->d.finish, term, x);
  x->d.body = (neo_list){0};
  x->d.reducer = NEO_RED_NONE;
}

static void name_owner(owned *x) {
  levels *s = x->s;
  neo_module *m = s->m;
  neo_expr by[NEO_DEF_AXES] = {{0}};
  uint32_t id[NEO_DEF_AXES], n = 0;
  for (uint32_t k = 0; k < x->d.axes.n; k++)
    by[k] = neo_axis_ref(m, k - (k > x->vertex));
  by[x->vertex] = element(s, x->index->owner, neo_axis_ref(m, x->edge));
  for (uint32_t k = 0; k < x->d.axes.n; k++) {
    neo_axis_rec a = *neo_def_axis(m, &x->d, k);
    a.lo = neo_expr_subst_axes(m, a.lo, by, NEO_DEF_AXES);
    a.hi = neo_expr_subst_axes(m, a.hi, by, NEO_DEF_AXES);
    if (k != x->vertex)
      id[n++] = neo_axis_add(m, a).i;
  }
  x->d.axes = neo_list_new(m, id, n);
  x->d.body = neo_list_subst_axes(x->s->m, x->d.body, by, NEO_DEF_AXES);
  x->d.finish = neo_list_subst_axes(x->s->m, x->d.finish, by, NEO_DEF_AXES);
  x->d.where = neo_expr_subst_axes(m, x->rest, by, NEO_DEF_AXES);
  if (n == x->d.n_out)
    leave_reduction(x);
}

static void ask_for_owner(levels *s, const levels_graph *g, levels_index *index) {
  neo_module *m = s->m;
  neo_tensor_rec r = *neo_tensor_at(m, index->child);
  if (index->owner.i)
    return;
  index->has_parents = true;
  index->owner = neo_tensor_add(
      m,
      (neo_tensor_rec){.role = NEO_ROLE_TEMP,
                       .type = NEO_I32_T,
                       .name = neo_tensor_fresh_name(m, "owner", neo_name_text(m->names, r.name)),
                       .span = r.span,
                       .bound = g->n,
                       .extent = r.extent});
}

void levels_name_owners(levels *s, const bool *is_init) {
  neo_def *defs;
  size_t n = neo_needed_defs(s->m, false, s->a, &defs);
  for (size_t k = 0; k < n; k++) {
    owned x = {.s = s, .d = *neo_def_at(s->m, defs[k])};
    if (is_init[defs[k].i] || s->number[defs[k].i] || !find(&x))
      continue;
    ask_for_owner(s, x.g, x.index);
    name_owner(&x);
    *neo_def_at(s->m, defs[k]) = x.d;
  }
}

void levels_define_owner(levels *s, const levels_graph *g, const levels_index *index) {
  neo_module *m = s->m;
  neo_span span = neo_tensor_at(m, index->owner)->span;
  neo_expr edges = neo_tensor_extent(m, index->owner, 0), zero = levels_int(s, 0);
  neo_axis_rec e = {neo_name_of(m->names, "e"), zero, edges, span},
               i = {neo_name_of(m->names, "i"), zero, edges, span};
  uint32_t axes[] = {neo_axis_add(m, e).i, neo_axis_add(m, i).i};
  neo_expr at = neo_axis_ref(m, 1), place = element(s, index->parent, at);
  neo_expr vertex = neo_load(m, g->order, &place, 1, span);
  neo_expr is = neo_op2(m, NEO_OP_EQ, element(s, index->edge, at), neo_axis_ref(m, 0));
  neo_expr sum = neo_acc_ref(m, NEO_I32_T, 0);
  neo_def_add(m,
              (neo_def_rec){.axes = neo_list_new(m, axes, 2),
                            .n_out = 1,
                            .where = is,
                            .reducer = NEO_RED_SUM,
                            .body = neo_list_one(m, vertex.i),
                            .finish = neo_list_one(m, sum.i),
                            .out = neo_list_one(m, index->owner.i),
                            .span = span},
              true);
}

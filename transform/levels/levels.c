/* Level order of recurrences over graphs. The level of a vertex is one more than the highest of its
 * children's, so vertices of one level are independent. A recurrence that reads itself only at
 * children or parents, and tensors over its vertices, are sorted by levels:
 *
 *     h[v, j] = f(x[v], sum[k] (h[child[v, k], j] else 0))
 *     ->
 *     h'[p, j] = f(x[order[p]], sum[k] (h'[placed[p, k], j] else 0)),   h[v, j] = h'[place[v], j]
 *
 * It is still a recurrence, since placed[p, k] < p, but reads rows of earlier levels only
 * (NEO_ROW_CHILD), so that fusion may run a whole level at once (fusion/recurrence). A sum over all
 * vertices becomes one over all positions; a sum over the parents of a vertex becomes one over a
 * list:
 *
 *     d[u, j] = sum[v, k where child[v, k] == u] g[v, k, j]
 *     ->
 *     d'[p, j] = sum[i: end[u - 1] .. end[u] where p < edge[i]/K] g'[edge[i]/K, edge[i]%K, j]
 *                with u = order[p]
 *
 * A definition of the kind LEVELS computes the order (tables.c). (S. Xu et al., Cavs: an
 * efficient runtime system for dynamic neural networks, USENIX ATC 2018, section 3.2; its batches
 * are the levels.) */
#include "ir/component.h"
#include "ir/limits.h"
#include "ir/lists.h"
#include "ir/out_map.h"
#include "transform/embed.h"
#include "transform/levels/parts.h"
#include "transform/transform.h"

enum { LEAST_WORK = 8 };

/* ---- recurrences */

/* Does the axis index the same dimension of all results? */
static bool is_dim(const levels *s, const neo_def_rec *d, uint32_t axis) {
  neo_out_dim map = neo_out_map_at(s->m, d->out_map, axis);
  return map.stride == 1 && map.offset == 0;
}

/* Can the definition's results be permuted along the axis? If a tensor has several definitions,
 * each makes a part of it for every vertex. */
static bool can_move(const levels *s, const neo_def_rec *d, uint32_t axis) {
  const neo_module *m = s->m;
  bool can = is_dim(s, d, axis) && d->n_out && d->n_out <= LEVELS_RANK && d->axes.n < NEO_SET_AXES;
  for (uint32_t k = 0; k < d->out.n && can; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, neo_list_tensor(m, d->out, k));
    can = t->role == NEO_ROLE_TEMP && (t->pieces.n == 1 || d->out.n == 1);
  }
  return can;
}

/* Is it the only definition of each result? */
static bool is_whole(const levels *s, const neo_def_rec *d) {
  bool whole = !d->out_map.n;
  for (uint32_t k = 0; k < d->out.n && whole; k++)
    whole = neo_tensor_at(s->m, neo_list_tensor(s->m, d->out, k))->pieces.n == 1;
  return whole;
}

/* Values of a vertex in one definition, at the largest sizes. */
static double work_of(const levels *s, const neo_order_member *x) {
  neo_def_rec d = *neo_def_at(s->m, x->def);
  double all = 1;
  for (uint32_t k = 0; k < d.axes.n; k++) {
    int64_t lo, hi = 1;
    bool known = k != x->axis && neo_interval(s->p, NULL, neo_def_axis(s->m, &d, k)->hi, &lo, &hi);
    all *= known && hi > 1 ? (double)hi : 1;
  }
  return all;
}

static levels_graph *graph_of(levels *s, neo_expr n) {
  for (size_t k = 0; k < s->graphs.n; k++)
    if (s->graphs.at[k]->n.i == n.i)
      return s->graphs.at[k];
  levels_graph *g = NEO_NEW(s->a, levels_graph);
  g->n = n;
  NEO_PUSH(s->a, &s->graphs, g);
  return g;
}

/* Are all definitions in the loop, with a position for each vertex? */
static bool has_vertices(const levels *s, const neo_order_step *loop, size_t n, neo_expr extent) {
  bool has = loop->n_members == n;
  for (uint32_t k = 0; k < loop->n_members && has; k++) {
    const neo_order_member *x = &loop->member[k];
    const neo_def_rec *d = neo_def_at(s->m, x->def);
    has = x->delay == 0 && is_whole(s, d) && can_move(s, d, x->axis) &&
          (x->owner.i ? neo_tensor_at(s->m, x->owner)->bound.i == extent.i
                      : levels_is_vertex(s, d, x->axis, extent));
  }
  return has;
}

static void set_vertex(levels *s, neo_def d, uint32_t axis, levels_graph *g) {
  if (!s->vertex[d.i])
    s->vertex[d.i] = NEO_NEW_ARRAY(s->a, levels_graph *, NEO_SET_AXES + 1);
  s->vertex[d.i][axis] = g;
}

static void move(levels *s, neo_def id, uint32_t axis, levels_graph *g) {
  const neo_def_rec *d = neo_def_at(s->m, id);
  set_vertex(s, id, axis, g);
  for (uint32_t k = 0; k < d->out.n; k++)
    s->of[neo_list_at(s->m, d->out, k)] = (levels_tensor){.graph = g, .dim = axis};
}

/* The definition, which runs by owner, and its results lie in the order of the owners. */
static void move_edges(levels *s, const neo_order_member *x, levels_graph *g) {
  const neo_def_rec *d = neo_def_at(s->m, x->def);
  s->edges[x->def.i] = levels_index_of(g, neo_child_of(s->m, x->owner));
  s->of_edge[x->def.i] = x->axis;
  for (uint32_t k = 0; k < d->out.n; k++)
    s->of[neo_list_at(s->m, d->out, k)] =
        (levels_tensor){.edges = s->edges[x->def.i], .dim = x->axis};
}

/* Are the numbers of all vertices and edges below 2^31? The tables are of i32. */
static bool tables_fit(const levels *s, const levels_graph *g) {
  int64_t lo, hi;
  bool fit = neo_interval(s->p, NULL, g->n, &lo, &hi);
  for (uint32_t k = 0; fit && k < g->n_indices; k++) {
    neo_tensor child = g->index[k].child;
    int64_t slots = levels_slots_of(s, child), edges = 0;
    fit = slots > 0 && hi <= INT32_MAX / slots &&
          neo_interval(s->p, NULL, neo_tensor_extent(s->m, child, 0), &lo, &edges) &&
          edges < INT32_MAX;
  }
  return fit;
}

/* A sum over parents is one over their list, even if it reads values of the edges alone. */
static void move_parents(levels *s, neo_def id, levels_graph *g) {
  const neo_def_rec *d = neo_def_at(s->m, id);
  for (uint32_t k = d->n_out; k < d->axes.n && !s->edges[id.i]; k++)
    if (levels_runs_parents(s, d, k, g))
      set_vertex(s, id, k, g);
}

static bool try_recurrence(levels *s, const neo_def *own, size_t n) {
  neo_order_step loop;
  double work = 0;
  if (!neo_list_order_find(s->p, own, n, s->a, &loop, NULL) || !loop.n_members)
    return false;
  const neo_order_member *x = &loop.member[0];
  neo_expr extent = x->owner.i ? neo_tensor_at(s->m, x->owner)->bound
                               : neo_def_axis(s->m, neo_def_at(s->m, x->def), x->axis)->hi;
  bool lists = neo_order_has_lists(&loop);
  if (!has_vertices(s, &loop, n, extent)) {
    s->unlisted = s->unlisted || lists;
    return false;
  }
  for (uint32_t k = 0; k < loop.n_members; k++)
    work = work_of(s, &loop.member[k]) > work ? work_of(s, &loop.member[k]) : work;
  levels_graph *g = graph_of(s, extent), before = *g;
  if (work < s->least_work || !levels_reads_fit(s, &loop, g) || !g->n_indices ||
      !tables_fit(s, g)) {
    *g = before;
    s->unlisted = s->unlisted || lists;
    return false;
  }
  for (uint32_t k = 0; k < loop.n_members; k++)
    if (loop.member[k].owner.i)
      move_edges(s, &loop.member[k], g);
    else
      move(s, loop.member[k].def, loop.member[k].axis, g);
  for (uint32_t k = 0; k < loop.n_members; k++)
    move_parents(s, loop.member[k].def, g);
  return true;
}

/* ---- other tensors in the order */

typedef struct {
  levels *s;
  neo_def def;
  bool changed;
} spread;

/* A recurrence along other axes than the vertices: which axis of each of its definitions they
 * are. */
typedef struct {
  const levels *s;
  neo_def reader;
  uint32_t number, n_known;
  uint32_t *axis; /* by definition: + 1; 0: it is not known yet */
  bool differs;
} own_look;

static void know_axis(own_look *l, neo_def d, uint32_t axis) {
  l->differs = l->differs || (l->axis[d.i] && l->axis[d.i] != axis + 1);
  l->n_known += !l->axis[d.i];
  l->axis[d.i] = axis + 1;
}

/* Takes a read of the recurrence's own tensors, which has to be of the vertex that it is read
 * for. */
static void look_own(void *ctx, neo_expr e) {
  own_look *l = ctx;
  const neo_module *m = l->s->m;
  const neo_node *n = neo_expr_node(m, e);
  uint32_t own = l->axis[l->reader.i];
  if (!neo_node_is_load(n) || !own || n->attr >= l->s->n_tensors)
    return;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  for (uint32_t i = 0; i < pieces.n; i++) {
    neo_def made = neo_list_def(m, pieces, i);
    if (l->s->number[made.i] != l->number)
      continue;
    uint32_t k = 0, rank = neo_tensor_rank(m, (neo_tensor){n->attr});
    while (k < rank && (neo_expr_node(m, neo_list_expr(m, n->arg, k))->op != NEO_OP_AXIS ||
                        neo_expr_node(m, neo_list_expr(m, n->arg, k))->attr + 1 != own))
      k++;
    if (k < rank)
      know_axis(l, made, k);
    l->differs = l->differs || k == rank;
  }
}

/* Do the elements of a vertex need those of no other vertex in the recurrence of d, whose axis is
 * the vertices'? */
static bool keeps_vertices(const levels *s, neo_def d, uint32_t axis) {
  size_t n;
  own_look l = {.s = s, .number = s->number[d.i]};
  const neo_def *own = neo_recurrence_members(s->number, s->n_defs, l.number, s->a, &n);
  l.axis = NEO_NEW_ARRAY(s->a, uint32_t, s->n_defs);
  know_axis(&l, d, axis);
  for (uint32_t before = 0; before != l.n_known && !l.differs;) {
    before = l.n_known;
    for (size_t k = 0; k < n; k++) {
      l.reader = own[k];
      neo_def_visit(s->m, own[k], look_own, &l);
    }
  }
  for (size_t k = 0; k < n && !l.differs; k++)
    l.differs = !l.axis[own[k].i] || l.axis[own[k].i] > neo_def_at(s->m, own[k])->n_out;
  return !l.differs;
}

static bool is_free(const levels *s, neo_def d, uint32_t axis) {
  return can_move(s, neo_def_at(s->m, d), axis) &&
         (!s->number[d.i] || s->leveled[s->number[d.i]] || keeps_vertices(s, d, axis));
}

static bool has_vertex(const levels *s, neo_def d) {
  bool has = false;
  for (uint32_t k = 0; s->vertex[d.i] && k < neo_def_at(s->m, d)->n_out; k++)
    has = has || s->vertex[d.i][k];
  return has;
}

/* May the reduction take the vertices of the axis in another order? An argmax keeps the first of
 * equals, and lists of parents are sorted by number. */
static bool may_reorder(const levels *s, const neo_def_rec *d, uint32_t axis,
                        const levels_graph *g) {
  return d->reducer != NEO_RED_NONE && (d->body.n == 1 || levels_runs_parents(s, d, axis, g));
}

/* Permutes the tensor along dimension dim, with all that define it; false: it has to stay. */
static bool try_move(levels *s, neo_tensor t, uint32_t dim, levels_graph *g) {
  neo_list pieces = neo_tensor_at(s->m, t)->pieces;
  bool can = neo_tensor_at(s->m, t)->role == NEO_ROLE_TEMP && pieces.n;
  for (uint32_t k = 0; k < pieces.n && can; k++) {
    neo_def made = {neo_list_at(s->m, pieces, k)};
    can = is_free(s, made, dim) && !has_vertex(s, made) &&
          levels_is_vertex(s, neo_def_at(s->m, made), dim, g->n);
  }
  for (uint32_t k = 0; k < pieces.n && can; k++)
    move(s, neo_list_def(s->m, pieces, k), dim, g);
  return can;
}

/* Spreads the order to a definition that reads an element of each vertex: its results have one,
 * too, or it sums over them. */
static void spread_to_reader(spread *x, uint32_t axis, levels_graph *g) {
  levels *s = x->s;
  const neo_def_rec *d = neo_def_at(s->m, x->def);
  if (!levels_is_vertex(s, d, axis, g->n) || (s->vertex[x->def.i] && s->vertex[x->def.i][axis]))
    return;
  if (axis < d->n_out) {
    x->changed |= try_move(s, neo_list_tensor(s->m, d->out, 0), axis, g);
  } else if (may_reorder(s, d, axis, g)) {
    set_vertex(s, x->def, axis, g);
    x->changed = true;
  }
}

static void spread_to_producer(spread *x, neo_tensor t, uint32_t dim, levels_graph *g) {
  x->changed |= try_move(x->s, t, dim, g);
}

static void look_at_read(void *ctx, neo_expr e) {
  spread *x = ctx;
  levels *s = x->s;
  neo_node n = *neo_expr_node(s->m, e);
  if (!neo_node_is_load(&n) || n.attr >= s->n_tensors)
    return;
  const levels_tensor *of = &s->of[n.attr];
  for (uint32_t k = 0; k < neo_tensor_rank(s->m, (neo_tensor){n.attr}); k++) {
    neo_expr index = neo_list_expr(s->m, n.arg, k), vertex;
    const neo_node *at = neo_expr_node(s->m, index);
    const neo_def_rec *d = neo_def_at(s->m, x->def);
    if (of->graph && of->dim == k &&
        (levels_child_of(s, index, &vertex).i || levels_listed_child_of(s, d, index, &vertex).i))
      at = neo_expr_node(s->m,
                         vertex); /* reads of a child of each vertex are along the vertices too */
    if (at->op != NEO_OP_AXIS)
      continue;
    levels_graph *g = s->vertex[x->def.i] ? s->vertex[x->def.i][at->attr] : NULL;
    if (of->graph && of->dim == k)
      spread_to_reader(x, at->attr, of->graph);
    else if (!of->graph && g)
      spread_to_producer(x, (neo_tensor){n.attr}, k, g);
  }
}

static void spread_all(levels *s, const bool *is_init) {
  spread x = {.s = s, .changed = true};
  while (x.changed) {
    x.changed = false;
    for (uint32_t d = 1; d < s->n_defs; d++) {
      x.def.i = d;
      if (!is_init[d])
        neo_def_visit(s->m, x.def, look_at_read, &x);
    }
  }
}

/* ---- the pass */

/* Needed recurrences; others must not decide on the order, or on what the entry is given. */
static bool *needed_recurrences(levels *s, uint32_t n_found) {
  bool *needed = NEO_NEW_ARRAY(s->a, bool, n_found + 1);
  neo_def *defs;
  size_t n = neo_needed_defs(s->m, false, s->a, &defs);
  for (size_t k = 0; k < n; k++)
    needed[s->number[defs[k].i]] = true;
  return needed;
}

static bool may_run_by_owner(const levels *s, const neo_def *own, size_t n) {
  bool may = false;
  for (size_t k = 0; k < n; k++) {
    neo_def_rec d = *neo_def_at(s->m, own[k]);
    for (uint32_t i = 0; i < d.n_out && !may; i++)
      may = neo_owner_of(s->m, neo_def_axis(s->m, &d, i)->hi).i;
  }
  return may;
}

static bool find(levels *s, uint32_t n_found) {
  const bool *needed = needed_recurrences(s, n_found);
  bool any = false;
  for (uint32_t r = 1; r <= n_found; r++) {
    size_t n;
    const neo_def *own = neo_recurrence_members(s->number, s->n_defs, r, s->a, &n);
    s->leveled[r] = needed[r] && try_recurrence(s, own, n);
    s->unlisted = s->unlisted || (!needed[r] && may_run_by_owner(s, own, n));
    any = any || s->leveled[r];
  }
  return any && !s->unlisted; /* owners are by place in all recurrences, or in none */
}

static void define_tables(levels *s) {
  for (size_t k = 0; k < s->graphs.n; k++) {
    levels_graph *g = s->graphs.at[k];
    if (g->n_indices)
      levels_define(s, g);
  }
}

/* Guards reads whose proof relied on the order of vertices, such as that a child's number is in
 * range. Conditions of kinds are evaluated for all vertices. */
static void embed_all(levels *s) {
  for (uint32_t t = 1; t < s->m->tensors.n; t++) {
    neo_list pieces = neo_tensor_at(s->m, (neo_tensor){t})->pieces;
    for (uint32_t k = 0; k < pieces.n; k++)
      neo_embed_def(s->p, neo_list_def(s->m, pieces, k));
  }
}

neo_status neo_pass_levels(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  levels s = {.m = m, .a = pass->a, .n_defs = pass->n_defs, .n_tensors = (uint32_t)m->tensors.n};
  bool *is_init = NEO_NEW_ARRAY(pass->a, bool, s.n_defs);
  for (uint32_t t = 1; t < s.n_tensors; t++)
    is_init[neo_tensor_at(m, (neo_tensor){t})->init.i] = true;
  s.number = pass->number;
  s.of = NEO_NEW_ARRAY(pass->a, levels_tensor, s.n_tensors);
  s.vertex = NEO_NEW_ARRAY(pass->a, levels_graph **, s.n_defs);
  s.edges = NEO_NEW_ARRAY(pass->a, const levels_index *, s.n_defs);
  s.of_edge = NEO_NEW_ARRAY(pass->a, uint32_t, s.n_defs);
  s.leveled = NEO_NEW_ARRAY(pass->a, bool, pass->n_recurrences + 1);
  s.p = pass->p;
  s.least_work = pass->target->tile_iterations ? 1 : LEAST_WORK;
  if (pass->n_recurrences && find(&s, pass->n_recurrences)) {
    if (pass->target->batch_kinds)
      levels_find_keys(&s);
    levels_name_owners(&s, is_init);
    spread_all(&s, is_init);
    define_tables(&s);
    levels_rewrite(&s, is_init);
    levels_leave_out(&s);
    levels_write_kinds(&s);
    levels_leave_out_kinds(&s);
    levels_read_there(&s);
    embed_all(&s);
  }
  return NEO_OK;
}

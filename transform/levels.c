/* Recurrences over graphs in the order of levels. The level of a vertex is one more than the highest of its children, so
 * vertices of one level do not need each other. A recurrence that reads itself at children or parents alone, and
 * what has an element for each of its vertices, is written in an order by levels:
 *
 *     h[v, j] = f(x[v], sum[k] (h[child[v, k], j] else 0))
 *     ->
 *     h'[p, j] = f(x[order[p]], sum[k] (h'[placed[p, k], j] else 0)),   h[v, j] = h'[place[v], j]
 *
 * It is a recurrence as before, as placed[p, k] < p, and reads rows of earlier levels only (NEO_ROW_CHILD):
 * so fusion may run a level at once (fusion/recurrence). A sum over all vertices is one over all places; one over the
 * vertices of which this one is a child is one over a list:
 *
 *     d[u, j] = sum[v, k where child[v, k] == u] g[v, k, j]
 *     ->
 *     d'[p, j] = sum[i: end[u - 1] .. end[u] where p < edge[i]/K] g'[edge[i]/K, edge[i]%K, j],   u = order[p]
 *
 * The graph is ordered by a definition of the kind LEVELS (levels_tables.c). (S. Xu et al., Cavs: an efficient runtime system for
 * dynamic neural networks, USENIX ATC 2018, section 3.2; its batches are the levels.) */
#include "ir/component.h"
#include "ir/lists.h"
#include "ir/out_map.h"
#include "transform/embed.h"
#include "transform/levels_parts.h"
#include "transform/transform.h"

enum { LEAST_WORK = 8, MOST_AXES = 63 };

/* ---- recurrences */

/* Does the axis run along the same dimension of the definition's results, one by one? */
static bool is_dim(const levels *s, const neo_def_rec *d, uint32_t axis) {
  neo_out_dim map = neo_out_map_at(s->m, d->out_map, axis);
  return map.stride == 1 && map.offset == 0;
}

/* Can the definition's results lie in another order along the axis? Of several definitions each makes a part of a
 * tensor, all of them for every vertex. */
static bool can_move(const levels *s, const neo_def_rec *d, uint32_t axis) {
  const neo_module *m = s->m;
  bool can = is_dim(s, d, axis) && d->n_out && d->n_out <= LEVELS_RANK && d->axes.n < MOST_AXES;
  for (uint32_t k = 0; k < d->out.n && can; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, neo_list_tensor(m, d->out, k));
    can = t->role == NEO_ROLE_TEMP && (t->pieces.n == 1 || d->out.n == 1);
  }
  return can;
}

/* Is each result made by this definition alone? */
static bool is_whole(const levels *s, const neo_def_rec *d) {
  bool whole = !d->out_map.n;
  for (uint32_t k = 0; k < d->out.n && whole; k++)
    whole = neo_tensor_at(s->m, neo_list_tensor(s->m, d->out, k))->pieces.n == 1;
  return whole;
}

/* Values of a vertex that one definition computes, at the largest sizes. */
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
    s->vertex[d.i] = NEO_NEW_ARRAY(s->a, levels_graph *, MOST_AXES + 1);
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

/* ---- what else lies in the order */

typedef struct {
  levels *s;
  neo_def def;
  bool changed;
} spread;

static bool is_free(const levels *s, neo_def d, uint32_t axis) {
  return (!s->number[d.i] || s->leveled[s->number[d.i]]) && can_move(s, neo_def_at(s->m, d), axis);
}

static bool has_vertex(const levels *s, neo_def d) {
  bool has = false;
  for (uint32_t k = 0; s->vertex[d.i] && k < neo_def_at(s->m, d)->n_out; k++)
    has = has || s->vertex[d.i][k];
  return has;
}

/* May the reduction take the vertices of the axis in another order? Of the largest it keeps the first. Parents are in a
 * list by their number. */
static bool may_reorder(const levels *s, const neo_def_rec *d, uint32_t axis,
                        const levels_graph *g) {
  return d->reducer != NEO_RED_NONE && (d->body.n == 1 || levels_runs_parents(s, d, axis, g));
}

/* Moves the tensor, whose dimension is the vertices, with all that define it; false: it has to stay. */
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

/* The definition reads an element of each vertex: its own results have one, too, or it adds up over them. */
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
                         vertex); /* who reads a child of each vertex, reads along the vertices */
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

/* Recurrences that an entry needs: others would decide on the order, too, and on what the entry is given. */
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

/* In the order of levels nothing may show any more what does in the order of vertices: that a child of that number has a
 * place is that there is one. Conditions that tell kinds are asked of all vertices. */
static void embed_all(levels *s) {
  for (uint32_t t = 1; t < s->m->tensors.n; t++) {
    neo_list pieces = neo_tensor_at(s->m, (neo_tensor){t})->pieces;
    for (uint32_t k = 0; k < pieces.n; k++)
      neo_embed_def(s->p, neo_list_def(s->m, pieces, k));
  }
}

neo_status neo_pass_levels(neo_module *m, const neo_pass_target *target) {
  neo_arena scratch = neo_arena_scratch(m->arena);
  levels s = {
      .m = m, .a = &scratch, .n_defs = (uint32_t)m->defs.n, .n_tensors = (uint32_t)m->tensors.n};
  bool *is_init = NEO_NEW_ARRAY(&scratch, bool, s.n_defs);
  uint32_t *number, n_found = neo_all_recurrences(m, &scratch, &number);
  for (uint32_t t = 1; t < s.n_tensors; t++)
    is_init[neo_tensor_at(m, (neo_tensor){t})->init.i] = true;
  s.number = number;
  s.of = NEO_NEW_ARRAY(&scratch, levels_tensor, s.n_tensors);
  s.vertex = NEO_NEW_ARRAY(&scratch, levels_graph **, s.n_defs);
  s.edges = NEO_NEW_ARRAY(&scratch, const levels_index *, s.n_defs);
  s.of_edge = NEO_NEW_ARRAY(&scratch, uint32_t, s.n_defs);
  s.leveled = NEO_NEW_ARRAY(&scratch, bool, n_found + 1);
  s.p = n_found ? neo_prover_new(m) : NULL;
  s.least_work = target->tile_rounds ? 1 : LEAST_WORK;
  if (n_found && find(&s, n_found)) {
    if (target->batch_kinds)
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
  neo_prover_free(s.p);
  neo_arena_free(&scratch);
  return NEO_OK;
}

/* Tarjan's algorithm with a stack of its own, as chains of definitions are long. */
#include "ir/component.h"

typedef struct {
  uint32_t node, edge; /* the next edge to look at */
} visit;

typedef struct {
  const neo_dependence *edge;
  uint32_t *first, *next; /* readers of a node: edge number + 1 */
  uint32_t *index, *low, *component;
  bool *open;
  uint32_t n_index, n_components;
  neo_arena *arena;
  NEO_VEC(visit) stack;
  NEO_VEC(uint32_t) path;
} search;

static void enter(search *s, uint32_t v) {
  s->index[v] = s->low[v] = ++s->n_index;
  s->open[v] = true;
  NEO_PUSH(s->arena, &s->path, v);
  NEO_PUSH(s->arena, &s->stack, (visit){v, s->first[v]});
}

static void least(uint32_t *a, uint32_t b) {
  *a = b < *a ? b : *a;
}

/* Closes v after all of its edges have been followed: the root of a component pops the
 * component. */
static void leave(search *s, uint32_t v) {
  if (s->low[v] == s->index[v]) {
    s->n_components++;
    uint32_t w;
    do {
      w = s->path.at[--s->path.n];
      s->open[w] = false;
      s->component[w] = s->n_components;
    } while (w != v);
  }
  s->stack.n--;
  if (s->stack.n)
    least(&s->low[s->stack.at[s->stack.n - 1].node], s->low[v]);
}

static void step(search *s) {
  visit *top = &s->stack.at[s->stack.n - 1];
  uint32_t v = top->node, e = top->edge;
  if (!e) {
    leave(s, v);
    return;
  }
  top->edge = s->next[e - 1];
  uint32_t w = s->edge[e - 1].reader;
  if (!s->index[w])
    enter(s, w);
  else if (s->open[w])
    least(&s->low[v], s->index[w]);
}

uint32_t neo_components_of(const neo_dependence *edge, size_t n_edges, uint32_t n_nodes,
                           neo_arena *scratch, uint32_t *component) {
  search s = {.edge = edge, .component = component, .arena = scratch};
  s.first = NEO_NEW_ARRAY(scratch, uint32_t, n_nodes + 1);
  s.next = NEO_NEW_ARRAY(scratch, uint32_t, n_edges + 1);
  s.index = NEO_NEW_ARRAY(scratch, uint32_t, n_nodes + 1);
  s.low = NEO_NEW_ARRAY(scratch, uint32_t, n_nodes + 1);
  s.open = NEO_NEW_ARRAY(scratch, bool, n_nodes + 1);
  for (size_t k = n_edges; k > 0; k--) {
    s.next[k - 1] = s.first[edge[k - 1].producer];
    s.first[edge[k - 1].producer] = (uint32_t)k;
  }
  for (uint32_t v = 0; v < n_nodes; v++)
    if (!s.index[v])
      for (enter(&s, v); s.stack.n;)
        step(&s);
  /* Tarjan closes a component after all that it reaches: the last one to close has no producers. */
  for (uint32_t v = 0; v < n_nodes; v++)
    component[v] = s.n_components + 1 - component[v];
  return s.n_components;
}

/* ---- definitions */

typedef NEO_VEC(neo_dependence) dependences;

static void add_reads(const neo_module *m, neo_def d, const bool *wanted, neo_arena *a,
                      dependences *out) {
  neo_tensor *read;
  size_t n = neo_def_reads(m, d, a, &read);
  for (size_t k = 0; k < n; k++) {
    neo_list pieces = neo_tensor_at(m, read[k])->pieces;
    for (uint32_t j = 0; j < pieces.n; j++) {
      uint32_t p = neo_list_at(m, pieces, j);
      if (wanted[p])
        NEO_PUSH(a, out, (neo_dependence){p, d.i});
    }
  }
}

uint32_t neo_recurrences(const neo_module *m, const neo_def *defs, size_t n, neo_arena *scratch,
                         uint32_t *number) {
  dependences edges = {0};
  uint32_t n_defs = (uint32_t)m->defs.n, n_found = 0;
  bool *wanted = NEO_NEW_ARRAY(scratch, bool, n_defs);
  for (size_t k = 0; k < n; k++)
    wanted[defs[k].i] = true;
  for (size_t k = 0; k < n; k++)
    add_reads(m, defs[k], wanted, scratch, &edges);
  uint32_t n_components = neo_components_of(edges.at, edges.n, n_defs, scratch, number);
  uint32_t *found = NEO_NEW_ARRAY(scratch, uint32_t, n_components + 1);
  for (size_t k = 0; k < edges.n; k++)
    if (number[edges.at[k].producer] == number[edges.at[k].reader])
      found[number[edges.at[k].producer]] = 1;
  for (uint32_t k = 1; k <= n_components; k++)
    found[k] = found[k] ? ++n_found : 0;
  for (uint32_t d = 0; d < n_defs; d++)
    number[d] = wanted[d] ? found[number[d]] : 0;
  return n_found;
}

uint32_t neo_all_recurrences(const neo_module *m, neo_arena *a, uint32_t **number) {
  neo_def *defs = NEO_NEW_ARRAY(a, neo_def, m->defs.n);
  *number = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  for (uint32_t d = 1; d < m->defs.n; d++)
    defs[d - 1].i = d;
  return neo_recurrences(m, defs, m->defs.n - 1, a, *number);
}

neo_def *neo_recurrence_members(const uint32_t *number, uint32_t n_defs, uint32_t which,
                                neo_arena *a, size_t *n) {
  neo_def *own = NEO_NEW_ARRAY(a, neo_def, n_defs);
  *n = 0;
  for (uint32_t d = 1; d < n_defs; d++)
    if (number[d] == which)
      own[(*n)++].i = d;
  return own;
}

bool *neo_recurrent_defs(const neo_module *m, neo_arena *a) {
  bool *recurs = NEO_NEW_ARRAY(a, bool, m->defs.n);
  uint32_t *number;
  (void)neo_all_recurrences(m, a, &number);
  for (uint32_t d = 1; d < m->defs.n; d++)
    recurs[d] = number[d] != 0;
  return recurs;
}

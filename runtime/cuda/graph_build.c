/* graph_build.c: the nodes of an entry's graph, and the edges between them.
 *
 * A graph has a node for each step that does something, behind the nodes that it needs
 * (conflict.c). So values that share a place over time keep their order, and others may run side by
 * side.
 *
 * Between two kernels of which the later one waits by itself (NEO_RT_STEP_WAITS) the edge is
 * programmatic (programmatic dependent launch), where the driver has such edges: the later one's
 * blocks come to the device while the earlier one's last are still at work, so that no launch is
 * waited for. NEO_CUDA_EARLY=0: there are no such edges.
 *
 * Steps that one cooperative kernel runs (grid.c) are one node, with plain edges: its launch is of
 * another kind, with which programmatic ones may not go together. Such nodes are in a chain,
 * whatever they need: each has as many blocks as the device holds, so that blocks of two side by
 * side would wait for others that have no room. */
#include "runtime/cuda/graph.h"
#include <string.h>

/* ------------------------------------------------------------ steps that are one node */

cuda_part neo_rti_cuda_graph_part(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g,
                                  int32_t i) {
  if (!g->grid[i])
    return (cuda_part){i, 1};
  const neo_rt_grid *x = &c->model->grids[g->grid[i] - 1];
  return (cuda_part){x->first_step - e->first_step, x->n_steps};
}

static void choose_grids(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g) {
  memset(g->grid, 0, (size_t)e->n_steps * sizeof *g->grid);
  for (int32_t k = 0; k < c->model->n_grids; k++) {
    int32_t first = c->model->grids[k].first_step - e->first_step;
    if (first < 0 || first >= e->n_steps || !cuda_of(c)->with_grid_nodes ||
        !neo_rti_cuda_grid_runs(c, k))
      continue;
    for (int32_t i = 0; i < c->model->grids[k].n_steps; i++)
      g->grid[first + i] = k + 1;
  }
}

/* Are there loops which no kernel runs? */
static bool has_rounds(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g) {
  bool has = false;
  for (int32_t i = 0; i < e->n_steps; i++)
    has = has ||
          (c->model->steps[e->first_step + i].op == NEO_RT_STEP_LOOP && g->units[i] && !g->grid[i]);
  return has;
}

static bool parts_conflict(const neo_rt_ctx *c, const neo_rt_entry *e, cuda_part a, cuda_part b) {
  bool is = false;
  for (int32_t i = a.first; i < a.first + a.n; i++)
    for (int32_t k = b.first; !is && k < b.first + b.n; k++)
      is = neo_rti_cuda_conflict(c, e->first_step + i, e->first_step + k);
  return is;
}

typedef struct {                  /* while a graph is built; n: the entry's steps */
  uint64_t *before;               /* [n] sets of steps, as bits: those that each one waits for */
  cuda_node *after;               /* [n] of one step: nodes that end before it is launched, */
  cuda_node *programmatic, *self; /* [n] and others, whose end it waits for itself; its own node */
  cuda_edge *edge;                /* [n] between these two */
  size_t n_after, n_programmatic;
} waiting;

static bool waits_itself(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g,
                         int32_t i, int32_t of) {
  const neo_rt_step *steps = c->model->steps + e->first_step;
  return cuda_of(c)->with_programmatic && !g->grid[i] && !g->grid[of] &&
         steps[i].flags & NEO_RT_STEP_WAITS && steps[of].op == NEO_RT_STEP_RUN;
}

/* Finds the nodes that the node of step i must wait for: those that it depends on, and, if it is
 * cooperative, the last cooperative node before it. A node that another of these waits for is left
 * out, because the edge is implied (transitive reduction). */
static void find_before(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g,
                        int32_t i, waiting *w) {
  size_t words = ((size_t)e->n_steps + 63) / 64;
  uint64_t *own = w->before + (size_t)i * words;
  cuda_part self = neo_rti_cuda_graph_part(c, e, g, i);
  w->n_after = w->n_programmatic = 0;
  for (int32_t k = i; k-- > 0;) {
    cuda_part other = neo_rti_cuda_graph_part(c, e, g, k);
    bool cooperate = g->grid[i] && g->grid[k];
    if (!g->node[k] || own[k / 64] >> (k % 64) & 1 ||
        (!cooperate && !parts_conflict(c, e, self, other)))
      continue;
    if (waits_itself(c, e, g, i, k))
      w->programmatic[w->n_programmatic++] = g->node[k];
    else
      w->after[w->n_after++] = g->node[k];
    own[k / 64] |= (uint64_t)1 << (k % 64);
    for (size_t b = 0; b < words; b++)
      own[b] |= w->before[(size_t)k * words + b];
  }
}

/* ------------------------------------------------------------ building */

cuda_copy_node neo_rti_cuda_graph_copy(const neo_rt_ctx *c, int32_t step) {
  const neo_rt_step *s = &c->model->steps[step];
  int64_t n = 0;
  (void)neo_rti_cuda_step_runs(c, step, &n);
  cuda_copy_side to = {.memory = CUDA_MEMORY_OF_DEVICE,
                       .device = (cuda_ptr)(uintptr_t)c->ptr[s->first]};
  cuda_copy_side from = {.memory = CUDA_MEMORY_OF_DEVICE,
                         .device = (cuda_ptr)(uintptr_t)c->ptr[s->first + 1]};
  return (cuda_copy_node){from, to, (size_t)n, 1, 1};
}

void neo_rti_cuda_graph_note_places(const neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g) {
  const neo_rti_patch *p = neo_rti_cuda_patch(c, e);
  for (int32_t i = 0; i < p->n; i++)
    g->placed[i] = c->ptr[c->patches[p->first + i]];
}

static cuda_result add_edges(neo_rt_ctx *c, cached_graph *g, cuda_node node, waiting *w) {
  for (size_t k = 0; k < w->n_programmatic; k++) {
    w->self[k] = node;
    w->edge[k] = (cuda_edge){.from_port = CUDA_PORT_PROGRAMMATIC, .type = CUDA_EDGE_PROGRAMMATIC};
  }
  return w->n_programmatic ? cuda_of(c)->api.graph_edges(g->graph, w->programmatic, w->self,
                                                         w->edge, w->n_programmatic)
                           : 0;
}

static cuda_result add_grid(neo_rt_ctx *c, cached_graph *g, int32_t grid, cuda_node *node,
                            waiting *w, const uint64_t *key) {
  static const cuda_node_value yes = {.cooperative = 1};
  cuda_kernel_node k = neo_rti_cuda_grid_kernel(c, grid, key);
  cuda_result r = cuda_of(c)->api.graph_kernel(node, g->graph, w->after, w->n_after, &k);
  return r ? r : cuda_of(c)->api.graph_attribute(*node, CUDA_NODE_COOPERATIVE, &yes);
}

static cuda_result add_node(neo_rt_ctx *c, cached_graph *g, int32_t step, cuda_node *node,
                            waiting *w, const uint64_t *key) {
  neo_rti_cuda *u = cuda_of(c);
  if (c->model->steps[step].op == NEO_RT_STEP_COPY) {
    cuda_copy_node copy = neo_rti_cuda_graph_copy(c, step);
    return u->api.graph_copy(node, g->graph, w->after, w->n_after, &copy, u->context);
  }
  cuda_result r = neo_rti_cuda_maps(c, step);
  if (r)
    return r;
  cuda_kernel_node k = neo_rti_cuda_kernel(c, step, key);
  r = u->api.graph_kernel(node, g->graph, w->after, w->n_after, &k);
  return r ? r : add_edges(c, g, *node, w);
}

static cuda_result add_nodes(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                             const uint64_t *key, waiting *w) {
  cuda_result r = cuda_of(c)->api.graph_create(&g->graph, 0);
  for (int32_t i = 0; !r && i < e->n_steps; i++) {
    if (!(g->grid[i] ? neo_rti_cuda_graph_part(c, e, g, i).first == i : g->units[i]))
      continue;
    find_before(c, e, g, i, w);
    r = g->grid[i] ? add_grid(c, g, (int32_t)g->grid[i] - 1, &g->node[i], w, key)
                   : add_node(c, g, e->first_step + i, &g->node[i], w, key);
  }
  return r ? r : cuda_of(c)->api.graph_make(&g->exec, g->graph, 0);
}

/* Drops a graph that was not finished. */
static void undo(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g) {
  if (g->graph)
    (void)cuda_of(c)->api.graph_destroy(g->graph);
  g->graph = NULL;
  g->exec = NULL;
  memset(g->node, 0, (size_t)e->n_steps * sizeof *g->node);
}

/* A driver that does not take cooperative nodes, or programmatic edges, gets plain ones. */
cuda_result neo_rti_cuda_graph_build(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                                     const uint64_t *key) {
  size_t n = (size_t)e->n_steps, bits = n * ((n + 63) / 64) * sizeof(uint64_t);
  size_t bytes = bits + n * (3 * sizeof(cuda_node) + sizeof(cuda_edge));
  char *p = c->env.alloc.resize(c->env.alloc.ctx, NULL, bytes);
  if (!p)
    return CUDA_OUT_OF_MEMORY;
  waiting w = {.before = (uint64_t *)(void *)p, .after = (cuda_node *)(void *)(p + bits)};
  w.programmatic = w.after + n;
  w.self = w.programmatic + n;
  w.edge = (cuda_edge *)(void *)(w.self + n);
  memset(p, 0, bytes);
  bool *with[] = {&cuda_of(c)->with_grid_nodes, &cuda_of(c)->with_programmatic};
  choose_grids(c, e, g);
  cuda_result r = add_nodes(c, e, g, key, &w);
  for (int k = 0; r && k < 2; k++) {
    if (!*with[k])
      continue;
    *with[k] = false;
    undo(c, e, g);
    memset(p, 0, bytes);
    choose_grids(c, e, g);
    if (has_rounds(c, e, g))
      break;
    r = add_nodes(c, e, g, key, &w);
  }
  NEO_RTI_FREE(&c->env.alloc, p);
  neo_rti_cuda_graph_note_places(c, e, g);
  memcpy(g->key, key, sizeof g->key);
  return r;
}

/* graph_build.c: the nodes of an entry's graph, and the edges between them.
 *
 * A graph has a node for each step that does something, in each iteration of a loop that no kernel
 * counts (unless these are too many: they are launched one by one then), after the nodes that it
 * depends on (conflict.c). So buffers that share memory over time keep their order, and other nodes
 * may run at the same time.
 *
 * Between two kernels of which the later one waits by itself (NEO_RT_STEP_WAITS) the edge is
 * programmatic (programmatic dependent launch), if the driver has such edges: the later one's
 * blocks start while the last blocks of the earlier one are running, which hides the launch.
 * NEO_CUDA_EARLY=0: no such edges.
 *
 * Steps that one cooperative kernel runs (grid.c) are one node, with plain edges: programmatic
 * edges are not allowed with a cooperative launch. Such nodes form a chain, whatever they depend
 * on: each has as many blocks as the device holds, so that blocks of two at the same time would
 * wait for others that have no room. */
#include "runtime/cuda/graph.h"
#include <string.h>

enum { MOST_NODES = 1024, CUDA_TOO_MANY = -1 };

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

static bool parts_conflict(const neo_rt_ctx *c, const neo_rt_entry *e, cuda_part a, cuda_part b,
                           bool other_iteration) {
  bool is = false;
  for (int32_t i = a.first; i < a.first + a.n; i++)
    for (int32_t k = b.first; !is && k < b.first + b.n; k++)
      is = neo_rti_cuda_conflict(c, e->first_step + i, e->first_step + k, other_iteration);
  return is;
}

typedef struct { /* while a graph is built; n: its nodes */
  const neo_rt_entry *e;
  cached_graph *g;
  const uint64_t *key;
  uint64_t *before;               /* [n] bit sets: the nodes that each node waits for */
  cuda_node *after;               /* [n] of one node: nodes that end before it is launched, */
  cuda_node *programmatic, *self; /* [n] nodes whose end the kernel awaits itself; this node
                                     itself */
  cuda_edge *edge;                /* [n] edges between these two */
  size_t n_after, n_programmatic, words;
} waiting;

static bool waits_itself(const neo_rt_ctx *c, const waiting *w, int32_t i, int32_t of) {
  const neo_rt_step *steps = c->model->steps + w->e->first_step;
  return cuda_of(c)->with_programmatic && !w->g->grid[i] && !w->g->grid[of] &&
         steps[i].flags & NEO_RT_STEP_WAITS && steps[of].op == NEO_RT_STEP_RUN;
}

/* Finds the nodes that node k must wait for: those that it depends on, and, if it is
 * cooperative, the last cooperative node before it. A node that another of these waits for is left
 * out, because the edge is implied (transitive reduction). */
static void find_before(const neo_rt_ctx *c, int32_t k, waiting *w) {
  const cached_graph *g = w->g;
  const cuda_at *own = &g->at[k];
  uint64_t *mine = w->before + (size_t)k * w->words;
  cuda_part self = neo_rti_cuda_graph_part(c, w->e, g, own->step);
  w->n_after = w->n_programmatic = 0;
  for (int32_t j = k; j-- > 0;) {
    const cuda_at *of = &g->at[j];
    cuda_part other = neo_rti_cuda_graph_part(c, w->e, g, of->step);
    bool cooperate = g->grid[own->step] && g->grid[of->step];
    if (mine[j / 64] >> (j % 64) & 1 ||
        (!cooperate && !parts_conflict(c, w->e, self, other, own->iteration != of->iteration)))
      continue;
    if (waits_itself(c, w, own->step, of->step))
      w->programmatic[w->n_programmatic++] = of->node;
    else
      w->after[w->n_after++] = of->node;
    mine[j / 64] |= (uint64_t)1 << (j % 64);
    for (size_t b = 0; b < w->words; b++)
      mine[b] |= w->before[(size_t)j * w->words + b];
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

static cuda_result add(neo_rt_ctx *c, void *ctx, int32_t step, int32_t iteration) {
  waiting *w = ctx;
  cached_graph *g = w->g;
  int32_t k = g->n_nodes;
  g->at[k] = (cuda_at){.step = step, .iteration = iteration};
  find_before(c, k, w);
  cuda_result r = g->grid[step]
                      ? add_grid(c, g, (int32_t)g->grid[step] - 1, &g->at[k].node, w, w->key)
                      : add_node(c, g, w->e->first_step + step, &g->at[k].node, w, w->key);
  g->n_nodes += !r;
  return r;
}

static cuda_result count(neo_rt_ctx *c, void *ctx, int32_t step, int32_t iteration) {
  int32_t *n = ctx;
  (void)c, (void)step, (void)iteration;
  return ++*n > MOST_NODES ? CUDA_TOO_MANY : 0;
}

/* Drops a graph that was not finished. */
static void undo(neo_rt_ctx *c, cached_graph *g) {
  if (g->graph)
    (void)cuda_of(c)->api.graph_destroy(g->graph);
  g->graph = NULL;
  g->exec = NULL;
  g->n_nodes = 0;
}

static cuda_result add_nodes(neo_rt_ctx *c, waiting *w) {
  cached_graph *g = w->g;
  cuda_result r = cuda_of(c)->api.graph_create(&g->graph, 0);
  if (!r)
    r = neo_rti_cuda_walk(c, w->e, g->grid, add, w);
  return r ? r : cuda_of(c)->api.graph_make(&g->exec, g->graph, 0);
}

/* Builds the graph, with room for n nodes. */
static cuda_result try_nodes(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                             const uint64_t *key, size_t n) {
  waiting w = {.e = e, .g = g, .key = key, .words = (n + 63) / 64};
  size_t bits = n * w.words * sizeof(uint64_t);
  size_t bytes = bits + n * (3 * sizeof(cuda_node) + sizeof(cuda_edge));
  char *p = c->env.alloc.resize(c->env.alloc.ctx, NULL, bytes + 1);
  cuda_at *at = c->env.alloc.resize(c->env.alloc.ctx, g->at, (n + 1) * sizeof *at);
  g->at = at ? at : g->at;
  cuda_result r = CUDA_OUT_OF_MEMORY;
  if (p && at) {
    memset(p, 0, bytes);
    w.before = (uint64_t *)(void *)p;
    w.after = (cuda_node *)(void *)(p + bits);
    w.programmatic = w.after + n;
    w.self = w.programmatic + n;
    w.edge = (cuda_edge *)(void *)(w.self + n);
    r = add_nodes(c, &w);
  }
  if (p)
    NEO_RTI_FREE(&c->env.alloc, p);
  return r;
}

static cuda_result build(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                         const uint64_t *key) {
  int32_t n = 0;
  undo(c, g);
  choose_grids(c, e, g);
  g->too_long = neo_rti_cuda_walk(c, e, g->grid, count, &n) != 0;
  return g->too_long ? 0 : try_nodes(c, e, g, key, (size_t)n);
}

/* Builds the graph. A driver that rejects cooperative nodes, or programmatic edges, gets plain
 * ones. */
cuda_result neo_rti_cuda_graph_build(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                                     const uint64_t *key) {
  bool *with[] = {&cuda_of(c)->with_grid_nodes, &cuda_of(c)->with_programmatic};
  cuda_result r = build(c, e, g, key);
  for (int k = 0; r && k < 2; k++) {
    if (!*with[k])
      continue;
    *with[k] = false;
    r = build(c, e, g, key);
  }
  neo_rti_cuda_graph_note_places(c, e, g);
  memcpy(g->key, key, sizeof g->key);
  return r;
}

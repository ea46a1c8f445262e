/* graph.c: an entry's steps as one graph of the driver, which is launched as a whole.
 *
 * A graph has a node for each step that does something, after those that it needs: which wrote
 * what it reads, or read or wrote what it writes, but for pieces of one tensor that both write.
 * Steps are compared by the addresses of their arguments, so values that share a place over time
 * keep their order, and others may run side by side. Between two kernels of which the later one
 * waits by itself (NEO_RT_STEP_WAITS) the edge is programmatic, where the driver has such edges:
 * the later one's blocks come to the device while the earlier one's last are still at work, so that
 * no launch is waited for. NEO_CUDA_EARLY=0: there are no such edges. Steps that one kernel runs,
 * whose blocks stay (grid.c), are one node, with plain edges: its launch is of another kind,
 * with which they may not go together. Such nodes are in a chain, whatever they need: each has as
 * many blocks as the device holds, so that blocks of two side by side would wait for others that
 * have no room.
 *
 * An entry has up to KEPT_GRAPHS graphs: one for each set of run-time sizes, and of steps that a
 * kept value spares. One is built when its sizes come the second time, so that an entry that runs
 * once, or with other sizes each time, costs nothing (NEO_CUDA_GRAPHS=2: the first time); that is
 * the only time when an entry that runs asks for memory. Of a graph that is there, nodes are
 * changed where a tensor of the caller's lies elsewhere, and in each call those whose kernels read
 * seed, step or call.
 *
 * Without graphs kernels are launched one by one, which always works: where the driver has none, or
 * refuses one, and for a call with an input that lies within the context (a view), as what its
 * steps wait for is another question. */
#include "runtime/cuda/cuda.h"
#include <string.h>

enum { KEPT_GRAPHS = 8 };

typedef struct {
  cuda_graph graph;
  cuda_exec exec;
  uint64_t used; /* when: 0: never */
  uint64_t key[3];
  int64_t *sizes;  /* [n_sizes]; one block with what follows */
  int64_t *units;  /* [n_steps] of the entry; 0: no node, also for copies of nothing */
  int64_t *grid;   /* [n_steps] number of the grid that it is a part of, + 1; 0: none */
  void **placed;   /* [patches of the entry] where the caller's tensors are */
  cuda_node *node; /* [n_steps]; of a grid's steps the first has it */
} kept_graph;

struct cuda_graphs {
  uint64_t clock;
  kept_graph kept[KEPT_GRAPHS];
};

size_t neo_rti_cuda_graphs_bytes(const neo_rt_model *m) {
  return (size_t)m->n_entries * sizeof(cuda_graphs);
}

static void drop(neo_rt_ctx *c, kept_graph *g) {
  if (g->exec)
    (void)c->cuda->api.graph_end(g->exec);
  if (g->graph)
    (void)c->cuda->api.graph_destroy(g->graph);
  if (g->sizes)
    NEO_RTI_FREE(&c->env.alloc, g->sizes);
  memset(g, 0, sizeof *g);
}

void neo_rti_cuda_graphs_close(neo_rt_ctx *c) {
  for (int32_t e = 0; e < c->model->n_entries; e++)
    for (int k = 0; k < KEPT_GRAPHS; k++)
      drop(c, &c->cuda->graphs[e].kept[k]);
}

/* ------------------------------------------------------------ which graph */

static int64_t units_of(const neo_rt_ctx *c, int32_t step) {
  return neo_rti_cuda_step_runs(c, step, NULL) ? c->units[step] : 0;
}

static bool is_for(const neo_rt_ctx *c, const neo_rt_entry *e, const kept_graph *g) {
  if (!g->used || memcmp(g->sizes, c->sizes, (size_t)c->model->n_sizes * sizeof *g->sizes) != 0)
    return false;
  for (int32_t i = 0; i < e->n_steps; i++)
    if (g->units[i] != units_of(c, e->first_step + i))
      return false;
  return true;
}

/* The one for this call, or the one that was used least lately. */
static kept_graph *find(const neo_rt_ctx *c, const neo_rt_entry *e, cuda_graphs *of) {
  kept_graph *oldest = &of->kept[0];
  for (int k = 0; k < KEPT_GRAPHS; k++) {
    kept_graph *g = &of->kept[k];
    if (is_for(c, e, g))
      return g;
    if (g->used < oldest->used)
      oldest = g;
  }
  return oldest;
}

static const neo_rti_patch *patch_of(const neo_rt_ctx *c, const neo_rt_entry *e) {
  return &c->patch[e - c->model->entries];
}

/* Does a tensor of the caller's lie within the context, but not in its own place there? */
static bool strays(const neo_rt_ctx *c, const neo_rt_entry *e) {
  const neo_rti_patch *p = patch_of(c, e);
  for (int32_t i = p->first; i < p->first + p->n; i++) {
    const unsigned char *at = c->ptr[c->patches[i]];
    if (at >= c->arena && at < c->arena + c->arena_bytes &&
        (at < c->spill || at >= c->base[NEO_RT_MEM_TAPE]))
      return true;
  }
  return false;
}

/* Sizes that come for the first time: what tells them again. */
static bool remember(neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g) {
  size_t n_sizes = (size_t)c->model->n_sizes, n = (size_t)e->n_steps;
  size_t n_placed = (size_t)patch_of(c, e)->n;
  drop(c, g);
  int64_t *p =
      c->env.alloc.resize(c->env.alloc.ctx, NULL, (n_sizes + n + n + n_placed + n + 1) * sizeof *p);
  if (!p)
    return false;
  g->sizes = p;
  g->units = p + n_sizes;
  g->grid = g->units + n;
  g->placed = (void **)(void *)(g->grid + n);
  g->node = (cuda_node *)(void *)(g->placed + n_placed);
  memset(g->node, 0, n * sizeof *g->node);
  memset(g->grid, 0, n * sizeof *g->grid);
  if (n_sizes)
    memcpy(g->sizes, c->sizes, n_sizes * sizeof *g->sizes);
  for (int32_t i = 0; i < e->n_steps; i++)
    g->units[i] = units_of(c, e->first_step + i);
  return true;
}

/* ------------------------------------------------------------ what steps wait for */

typedef struct {
  const neo_rt_step *step;
  int32_t written, n; /* arguments before it are read only */
} uses;

static uses uses_of(const neo_rt_step *s) {
  uses u = {s, 0, s->op == NEO_RT_STEP_COPY ? 2 : s->n};
  if (s->op == NEO_RT_STEP_RUN && s->n_written)
    u.written = s->n - s->n_written;
  return u;
}

/* Of a copy the first argument is written, and the other one read. */
static bool writes(uses u, int32_t arg) {
  return u.step->op == NEO_RT_STEP_COPY ? arg == 0 : arg >= u.written;
}

static bool meet(const neo_rt_ctx *c, int32_t a, int32_t b) {
  const unsigned char *p = c->ptr[a], *q = c->ptr[b];
  const neo_rt_buf *bufs = c->model->bufs;
  return p < q + bufs[c->model->args[b]].size_bytes && q < p + bufs[c->model->args[a]].size_bytes;
}

/* Do both write it, each its own pieces? */
static bool are_pieces(const neo_rt_ctx *c, uses a, int32_t i, uses b, int32_t k) {
  const neo_rt_model *m = c->model;
  int32_t whole = m->bufs[m->args[a.step->first + i]].whole;
  bool known = a.step->op == NEO_RT_STEP_RUN && b.step->op == NEO_RT_STEP_RUN &&
               a.step->n_written && b.step->n_written;
  return known && whole && whole == m->bufs[m->args[b.step->first + k]].whole && writes(a, i) &&
         writes(b, k);
}

bool neo_rti_cuda_clash(const neo_rt_ctx *c, int32_t step, int32_t other) {
  uses a = uses_of(&c->model->steps[step]), b = uses_of(&c->model->steps[other]);
  for (int32_t i = 0; i < a.n; i++)
    for (int32_t k = 0; k < b.n; k++)
      if ((writes(a, i) || writes(b, k)) && meet(c, a.step->first + i, b.step->first + k) &&
          !are_pieces(c, a, i, b, k))
        return true;
  return false;
}

/* ------------------------------------------------------------ steps that are one node */

static void choose_grids(neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g) {
  memset(g->grid, 0, (size_t)e->n_steps * sizeof *g->grid);
  for (int32_t k = 0; k < c->model->n_grids; k++) {
    int32_t first = c->model->grids[k].first_step - e->first_step;
    if (first < 0 || first >= e->n_steps || !neo_rti_cuda_grid_runs(c, k))
      continue;
    for (int32_t i = 0; i < c->model->grids[k].n_steps; i++)
      g->grid[first + i] = k + 1;
  }
}

typedef struct {
  int32_t first, n; /* of the entry's steps */
} part;

/* The steps of the node that runs step i. */
static part part_of(const neo_rt_ctx *c, const neo_rt_entry *e, const kept_graph *g, int32_t i) {
  if (!g->grid[i])
    return (part){i, 1};
  const neo_rt_grid *x = &c->model->grids[g->grid[i] - 1];
  return (part){x->first_step - e->first_step, x->n_steps};
}

static bool parts_clash(const neo_rt_ctx *c, const neo_rt_entry *e, part a, part b) {
  bool is = false;
  for (int32_t i = a.first; i < a.first + a.n; i++)
    for (int32_t k = b.first; !is && k < b.first + b.n; k++)
      is = neo_rti_cuda_clash(c, e->first_step + i, e->first_step + k);
  return is;
}

typedef struct {           /* while a graph is built; n: the entry's steps */
  uint64_t *before;        /* [n] sets of steps, as bits: those that each one waits for */
  cuda_node *after;        /* [n] of one step: nodes that end before it is launched, */
  cuda_node *early, *self; /* [n] and others, whose end it waits for itself; its own node */
  cuda_edge *edge;         /* [n] between these two */
  size_t n_after, n_early;
} waiting;

static bool waits_itself(const neo_rt_ctx *c, const neo_rt_entry *e, const kept_graph *g, int32_t i,
                         int32_t of) {
  const neo_rt_step *steps = c->model->steps + e->first_step;
  return c->cuda->with_early && !g->grid[i] && !g->grid[of] && steps[i].flags & NEO_RT_STEP_WAITS &&
         steps[of].op == NEO_RT_STEP_RUN;
}

/* Nodes before that of step i, the first of its own, which this one must wait for, without those
 * that these wait for: those that it needs, and of a grid that stays the one before. A step that waits for one of these waits for all that this one waited for,
 * whoever does the waiting: it ends later. */
static void find_before(const neo_rt_ctx *c, const neo_rt_entry *e, const kept_graph *g, int32_t i,
                        waiting *w) {
  size_t words = ((size_t)e->n_steps + 63) / 64;
  uint64_t *own = w->before + (size_t)i * words;
  part self = part_of(c, e, g, i);
  w->n_after = w->n_early = 0;
  for (int32_t k = i; k-- > 0;) {
    part other = part_of(c, e, g, k);
    bool stay = g->grid[i] && g->grid[k];
    if (!g->node[k] || own[k / 64] >> (k % 64) & 1 || (!stay && !parts_clash(c, e, self, other)))
      continue;
    if (waits_itself(c, e, g, i, k))
      w->early[w->n_early++] = g->node[k];
    else
      w->after[w->n_after++] = g->node[k];
    own[k / 64] |= (uint64_t)1 << (k % 64);
    for (size_t b = 0; b < words; b++)
      own[b] |= w->before[(size_t)k * words + b];
  }
}

/* ------------------------------------------------------------ building */

static cuda_copy_node copy_of(const neo_rt_ctx *c, int32_t step) {
  const neo_rt_step *s = &c->model->steps[step];
  int64_t n = 0;
  (void)neo_rti_cuda_step_runs(c, step, &n);
  cuda_copy_side to = {.memory = CUDA_MEMORY_OF_DEVICE,
                       .device = (cuda_ptr)(uintptr_t)c->ptr[s->first]};
  cuda_copy_side from = {.memory = CUDA_MEMORY_OF_DEVICE,
                         .device = (cuda_ptr)(uintptr_t)c->ptr[s->first + 1]};
  return (cuda_copy_node){from, to, (size_t)n, 1, 1};
}

static cuda_result add_edges(neo_rt_ctx *c, kept_graph *g, cuda_node node, waiting *w) {
  for (size_t k = 0; k < w->n_early; k++) {
    w->self[k] = node;
    w->edge[k] = (cuda_edge){.from_port = CUDA_PORT_PROGRAMMATIC, .type = CUDA_EDGE_PROGRAMMATIC};
  }
  return w->n_early ? c->cuda->api.graph_edges(g->graph, w->early, w->self, w->edge, w->n_early)
                    : 0;
}

static cuda_result add_grid(neo_rt_ctx *c, kept_graph *g, int32_t grid, cuda_node *node, waiting *w,
                            const uint64_t *key) {
  static const cuda_node_value yes = {.cooperative = 1};
  cuda_kernel_node k = neo_rti_cuda_grid_kernel(c, grid, key);
  cuda_result r = c->cuda->api.graph_kernel(node, g->graph, w->after, w->n_after, &k);
  return r ? r : c->cuda->api.graph_attribute(*node, CUDA_NODE_COOPERATIVE, &yes);
}

static cuda_result add_node(neo_rt_ctx *c, kept_graph *g, int32_t step, cuda_node *node, waiting *w,
                            const uint64_t *key) {
  neo_rti_cuda *u = c->cuda;
  if (c->model->steps[step].op == NEO_RT_STEP_COPY) {
    cuda_copy_node copy = copy_of(c, step);
    return u->api.graph_copy(node, g->graph, w->after, w->n_after, &copy, u->context);
  }
  cuda_result r = neo_rti_cuda_maps(c, step);
  if (r)
    return r;
  cuda_kernel_node k = neo_rti_cuda_kernel(c, step, key);
  r = u->api.graph_kernel(node, g->graph, w->after, w->n_after, &k);
  return r ? r : add_edges(c, g, *node, w);
}

static cuda_result add_nodes(neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g,
                             const uint64_t *key, waiting *w) {
  cuda_result r = c->cuda->api.graph_create(&g->graph, 0);
  for (int32_t i = 0; !r && i < e->n_steps; i++) {
    if (!(g->grid[i] ? part_of(c, e, g, i).first == i : g->units[i]))
      continue;
    find_before(c, e, g, i, w);
    r = g->grid[i] ? add_grid(c, g, (int32_t)g->grid[i] - 1, &g->node[i], w, key)
                   : add_node(c, g, e->first_step + i, &g->node[i], w, key);
  }
  return r ? r : c->cuda->api.graph_make(&g->exec, g->graph, 0);
}

/* A graph that was not finished. */
static void undo(neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g) {
  if (g->graph)
    (void)c->cuda->api.graph_destroy(g->graph);
  g->graph = NULL;
  g->exec = NULL;
  memset(g->node, 0, (size_t)e->n_steps * sizeof *g->node);
}

static void note_places(const neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g) {
  const neo_rti_patch *p = patch_of(c, e);
  for (int32_t i = 0; i < p->n; i++)
    g->placed[i] = c->ptr[c->patches[p->first + i]];
}

/* A driver that does not take grids that stay, or edges of that kind, gets plain ones. */
static cuda_result build(neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g, const uint64_t *key) {
  size_t n = (size_t)e->n_steps, bits = n * ((n + 63) / 64) * sizeof(uint64_t);
  size_t bytes = bits + n * (3 * sizeof(cuda_node) + sizeof(cuda_edge));
  char *p = c->env.alloc.resize(c->env.alloc.ctx, NULL, bytes);
  if (!p)
    return CUDA_OUT_OF_MEMORY;
  waiting w = {.before = (uint64_t *)(void *)p, .after = (cuda_node *)(void *)(p + bits)};
  w.early = w.after + n;
  w.self = w.early + n;
  w.edge = (cuda_edge *)(void *)(w.self + n);
  memset(p, 0, bytes);
  bool *with[] = {&c->cuda->with_grids, &c->cuda->with_early};
  choose_grids(c, e, g);
  cuda_result r = add_nodes(c, e, g, key, &w);
  for (int k = 0; r && k < 2; k++) {
    if (!*with[k])
      continue;
    *with[k] = false;
    undo(c, e, g);
    memset(p, 0, bytes);
    choose_grids(c, e, g);
    r = add_nodes(c, e, g, key, &w);
  }
  NEO_RTI_FREE(&c->env.alloc, p);
  note_places(c, e, g);
  memcpy(g->key, key, sizeof g->key);
  return r;
}

static neo_rt_status load_kernels(neo_rt_ctx *c, const neo_rt_entry *e) {
  neo_rt_status s = NEO_OK;
  for (int32_t i = e->first_step; !s && i < e->first_step + e->n_steps; i++)
    if (c->model->steps[i].op == NEO_RT_STEP_RUN)
      s = neo_rti_cuda_function(c, c->model->steps[i].arg);
  return s;
}

/* ------------------------------------------------------------ changing and launching */

/* Has the caller moved an argument of this step? Patches are in the order of steps. */
static bool moved(const neo_rt_ctx *c, const neo_rt_entry *e, const kept_graph *g, int32_t step,
                  int32_t *at) {
  const neo_rti_patch *p = patch_of(c, e);
  const neo_rt_step *s = &c->model->steps[step];
  int32_t end = s->first + uses_of(s).n;
  bool is = false;
  for (; *at < p->n && c->patches[p->first + *at] < end; ++*at)
    is = is || g->placed[*at] != c->ptr[c->patches[p->first + *at]];
  return is;
}

static cuda_result change(neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g, part of,
                          const uint64_t *key) {
  neo_rti_cuda *u = c->cuda;
  int32_t step = e->first_step + of.first;
  cuda_node node = g->node[of.first];
  if (g->grid[of.first]) {
    cuda_kernel_node k = neo_rti_cuda_grid_kernel(c, (int32_t)g->grid[of.first] - 1, key);
    return u->api.graph_set_kernel(g->exec, node, &k);
  }
  if (c->model->steps[step].op == NEO_RT_STEP_COPY) {
    cuda_copy_node copy = copy_of(c, step);
    return u->api.graph_set_copy(g->exec, node, &copy, u->context);
  }
  cuda_result r = neo_rti_cuda_maps(c, step);
  cuda_kernel_node k = neo_rti_cuda_kernel(c, step, key);
  return r ? r : u->api.graph_set_kernel(g->exec, node, &k);
}

static cuda_result change_nodes(neo_rt_ctx *c, const neo_rt_entry *e, kept_graph *g,
                                const uint64_t *key) {
  bool other_key = memcmp(g->key, key, sizeof g->key) != 0, is_other = false;
  cuda_result r = 0;
  int32_t at = 0;
  for (int32_t i = 0; !r && i < e->n_steps; i++) {
    const neo_rt_step *s = &c->model->steps[e->first_step + i];
    part of = part_of(c, e, g, i);
    bool keyed = s->op == NEO_RT_STEP_RUN && !(s->flags & NEO_RT_STEP_KEYLESS);
    bool is_moved = moved(c, e, g, e->first_step + i, &at);
    is_other = (i > of.first && is_other) || is_moved || (keyed && other_key);
    if (is_other && g->node[of.first] && i + 1 == of.first + of.n)
      r = change(c, e, g, of, key);
  }
  note_places(c, e, g);
  memcpy(g->key, key, sizeof g->key);
  return r;
}

/* A driver that makes no graph, or takes no change: this context asks no more. */
static neo_rt_status give_up(neo_rt_ctx *c, kept_graph *g, cuda_result r) {
  const char *name = NULL;
  (void)c->cuda->api.error_name(r, &name);
  c->cuda->with_graphs = false;
  drop(c, g);
  neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: no graph of kernels (%s): they are launched one by one",
              c->cuda->name, name ? name : "unknown error");
  return NEO_OK;
}

neo_rt_status neo_rti_cuda_graph_run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key,
                                     bool *ran) {
  neo_rti_cuda *u = c->cuda;
  cuda_graphs *of = &u->graphs[e - c->model->entries];
  if (!u->with_graphs || e->n_steps < 2 || strays(c, e))
    return NEO_OK;
  kept_graph *g = find(c, e, of);
  bool known = is_for(c, e, g);
  if (!known && !remember(c, e, g))
    return NEO_OK;
  g->used = ++of->clock;
  if (!known && !u->at_once)
    return NEO_OK;
  neo_rt_status s = g->exec ? NEO_OK : load_kernels(c, e);
  if (s)
    return s;
  cuda_result r = g->exec ? change_nodes(c, e, g, key) : build(c, e, g, key);
  if (r)
    return give_up(c, g, r);
  *ran = true;
  return neo_rti_cuda_told(c, u->api.graph_launch(g->exec, u->stream), e->name);
}

/* graph.c: an entry's steps as one graph of the driver, which is launched as a whole: finds the
 * graph for the present call, and updates it.
 *
 * An entry has up to CACHED_GRAPHS graphs: one for each set of run-time sizes, and of steps whose
 * cached values are up to date. A graph is built in the second call with its sizes, so that an
 * entry that runs once, or with other sizes each time, costs nothing (NEO_CUDA_GRAPHS=2: in the
 * first call); only then does a running entry ask for memory. In later calls nodes are updated if a
 * tensor of the caller's is at another address, and if their kernels read seed, step or call.
 *
 * Without graphs kernels are launched one by one, which always works: if the driver has no graphs,
 * or refuses one; for an entry with loops of very many iterations that no kernel counts; and for a
 * call with an input within the context (a view), as its steps may depend on others than the
 * graph's do. */
#include "runtime/cuda/graph.h"
#include <string.h>

enum { CACHED_GRAPHS = 8 };

struct cuda_graphs {
  uint64_t clock;
  cached_graph cached[CACHED_GRAPHS];
};

size_t neo_rti_cuda_graphs_bytes(const neo_rt_model *m) {
  return (size_t)m->n_entries * sizeof(cuda_graphs);
}

static void drop(neo_rt_ctx *c, cached_graph *g) {
  if (g->exec)
    (void)cuda_of(c)->api.graph_end(g->exec);
  if (g->graph)
    (void)cuda_of(c)->api.graph_destroy(g->graph);
  if (g->sizes)
    NEO_RTI_FREE(&c->env.alloc, g->sizes);
  if (g->at)
    NEO_RTI_FREE(&c->env.alloc, g->at);
  memset(g, 0, sizeof *g);
}

void neo_rti_cuda_graphs_close(neo_rt_ctx *c) {
  for (int32_t e = 0; e < c->model->n_entries; e++)
    for (int k = 0; k < CACHED_GRAPHS; k++)
      drop(c, &cuda_of(c)->graphs[e].cached[k]);
}

/* ------------------------------------------------------------ which graph */

static int64_t units_of(const neo_rt_ctx *c, int32_t step) {
  return neo_rti_cuda_step_runs(c, step, NULL) ? c->units[step] : 0;
}

static bool is_for(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g) {
  if (!g->used || memcmp(g->sizes, c->sizes, (size_t)c->model->n_sizes * sizeof *g->sizes) != 0)
    return false;
  for (int32_t i = 0; i < e->n_steps; i++)
    if (g->units[i] != units_of(c, e->first_step + i))
      return false;
  return true;
}

/* The graph for this call, or the one that was used least recently. */
static cached_graph *find(const neo_rt_ctx *c, const neo_rt_entry *e, cuda_graphs *of) {
  cached_graph *oldest = &of->cached[0];
  for (int k = 0; k < CACHED_GRAPHS; k++) {
    cached_graph *g = &of->cached[k];
    if (is_for(c, e, g))
      return g;
    if (g->used < oldest->used)
      oldest = g;
  }
  return oldest;
}

/* Whether a tensor of the caller's is within the context, but not at its own address there. */
static bool strays(const neo_rt_ctx *c, const neo_rt_entry *e) {
  const neo_rti_patch *p = neo_rti_cuda_patch(c, e);
  for (int32_t i = p->first; i < p->first + p->n; i++) {
    const unsigned char *at = c->ptr[c->patches[i]];
    if ((at >= c->arena && at < c->arena + c->arena_bytes) || (at >= c->work && at < c->spill))
      return true;
  }
  return false;
}

/* Makes *g the graph for the present sizes, which are new. */
static bool remember(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g) {
  size_t n_sizes = (size_t)c->model->n_sizes, n = (size_t)e->n_steps;
  size_t n_placed = (size_t)neo_rti_cuda_patch(c, e)->n;
  drop(c, g);
  int64_t *p =
      c->env.alloc.resize(c->env.alloc.ctx, NULL, (n_sizes + 3 * n + n_placed + 1) * sizeof *p);
  if (!p)
    return false;
  g->sizes = p;
  g->units = p + n_sizes;
  g->grid = g->units + n;
  g->other = g->grid + n;
  g->placed = (void **)(void *)(g->other + n);
  memset(g->grid, 0, n * sizeof *g->grid);
  if (n_sizes)
    memcpy(g->sizes, c->sizes, n_sizes * sizeof *g->sizes);
  for (int32_t i = 0; i < e->n_steps; i++)
    g->units[i] = units_of(c, e->first_step + i);
  return true;
}

/* ------------------------------------------------------------ changing and launching */

/* Has the caller moved an argument of this step? Patches are in the order of steps. */
static bool moved(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g, int32_t step,
                  int32_t *at) {
  const neo_rti_patch *p = neo_rti_cuda_patch(c, e);
  const neo_rt_step *s = &c->model->steps[step];
  int32_t end = s->first + neo_rti_step_args(s);
  bool is = false;
  for (; *at < p->n && c->patches[p->first + *at] < end; ++*at)
    is = is || g->placed[*at] != c->ptr[c->patches[p->first + *at]];
  return is;
}

typedef struct {
  const neo_rt_entry *e;
  cached_graph *g;
  const uint64_t *key;
  int32_t k; /* node */
} changing;

static cuda_result change(neo_rt_ctx *c, changing *x, cuda_node node, int32_t of) {
  neo_rti_cuda *u = cuda_of(c);
  int32_t step = x->e->first_step + of;
  if (x->g->grid[of]) {
    cuda_kernel_node k = neo_rti_cuda_grid_kernel(c, (int32_t)x->g->grid[of] - 1, x->key);
    return u->api.graph_set_kernel(x->g->exec, node, &k);
  }
  if (c->model->steps[step].op == NEO_RT_STEP_COPY) {
    cuda_copy_node copy = neo_rti_cuda_graph_copy(c, step);
    return u->api.graph_set_copy(x->g->exec, node, &copy, u->context);
  }
  cuda_result r = neo_rti_cuda_maps(c, step);
  cuda_kernel_node k = neo_rti_cuda_kernel(c, step, x->key);
  return r ? r : u->api.graph_set_kernel(x->g->exec, node, &k);
}

static cuda_result change_if_other(neo_rt_ctx *c, void *ctx, int32_t step, int32_t iteration) {
  changing *x = ctx;
  cuda_part part = neo_rti_cuda_graph_part(c, x->e, x->g, step);
  cuda_node node = x->g->at[x->k++].node;
  bool is_other = false;
  (void)iteration;
  for (int32_t i = part.first; i < part.first + part.n; i++)
    is_other = is_other || x->g->other[i];
  return is_other ? change(c, x, node, step) : 0;
}

static cuda_result change_nodes(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                                const uint64_t *key) {
  bool other_key = memcmp(g->key, key, sizeof g->key) != 0, any = false;
  changing x = {e, g, key, 0};
  int32_t at = 0;
  for (int32_t i = 0; i < e->n_steps; i++) {
    const neo_rt_step *s = &c->model->steps[e->first_step + i];
    bool keyed = s->op == NEO_RT_STEP_RUN && !(s->flags & NEO_RT_STEP_KEYLESS);
    g->other[i] = moved(c, e, g, e->first_step + i, &at) || (keyed && other_key);
    any = any || g->other[i];
  }
  cuda_result r = any ? neo_rti_cuda_walk(c, e, g->grid, change_if_other, &x) : 0;
  neo_rti_cuda_graph_note_places(c, e, g);
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

/* Stops using graphs in this context, after the driver refused to make or change one. */
static neo_rt_status give_up(neo_rt_ctx *c, cached_graph *g, cuda_result r) {
  const char *name = NULL;
  (void)cuda_of(c)->api.error_name(r, &name);
  cuda_of(c)->with_graphs = false;
  drop(c, g);
  neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: no graph of kernels (%s): they are launched one by one",
              cuda_of(c)->name, name ? name : "unknown error");
  return NEO_OK;
}

neo_rt_status neo_rti_cuda_graph_run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key,
                                     bool *ran) {
  neo_rti_cuda *u = cuda_of(c);
  cuda_graphs *of = &u->graphs[e - c->model->entries];
  neo_rt_status s = u->with_graphs && e->n_steps > 1 ? load_kernels(c, e) : NEO_OK;
  if (s || !u->with_graphs || e->n_steps < 2 || strays(c, e))
    return s;
  cached_graph *g = find(c, e, of);
  bool known = is_for(c, e, g);
  if (!known && !remember(c, e, g))
    return NEO_OK;
  g->used = ++of->clock;
  if (!known && !u->at_once)
    return NEO_OK;
  if (g->too_long)
    return NEO_OK;
  cuda_result r = g->exec ? change_nodes(c, e, g, key) : neo_rti_cuda_graph_build(c, e, g, key);
  if (r)
    return give_up(c, g, r);
  if (g->too_long)
    return NEO_OK;
  *ran = true;
  return neo_rti_cuda_status(c, u->api.graph_launch(g->exec, u->stream), e->name);
}

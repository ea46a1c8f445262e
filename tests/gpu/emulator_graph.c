/* Graphs of the emulated driver: nodes run in any order that their dependencies allow, which
 * NEO_EMULATOR_SEED mixes, so that one too few shows in the results.
 *
 * NEO_EMULATOR_GRAPHS=0: the driver makes none. NEO_EMULATOR_EDGES=0: it takes no edges with data.
 * Like a driver it refuses nodes of other graphs, and what it launches is what its nodes were then,
 * whatever becomes of them later. A graph in which two cooperative nodes may run at the same time,
 * of which a driver takes any, is refused: a device may come to a standstill in it. */
#include "tests/gpu/emulator_bulk.h"
#include "tests/gpu/emulator_driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_node_s {
  cuda_graph graph;
  unsigned number;
};
typedef struct {
  bool is_copy;
  emu_launch launch;
  cuda_copy_node copy;
  unsigned *after, n_after;
} task;
typedef struct {
  task *at;
  unsigned n;
} tasks;
struct cuda_graph_s {
  tasks tasks;
  cuda_node node[4096];
};
struct cuda_exec_s {
  cuda_graph of;
  tasks tasks;
};

static bool refused(void) {
  return !emu_environment("NEO_EMULATOR_GRAPHS", 1) || !emu_has_context();
}

static emu_launch launch_copy(const emu_launch *l) {
  emu_launch to = *l;
  to.params = calloc(l->n + 1, sizeof *to.params);
  to.value = calloc(l->n + 1, EMU_MAP_BYTES);
  memcpy(to.value, l->value, l->n * (size_t)EMU_MAP_BYTES);
  for (unsigned i = 0; i < l->n; i++)
    to.params[i] = to.value + i * EMU_MAP_BYTES;
  return to;
}

static tasks copy_tasks(const tasks *from) {
  tasks to = {calloc(from->n + 1, sizeof *to.at), from->n};
  for (unsigned i = 0; i < from->n; i++) {
    to.at[i] = from->at[i];
    to.at[i].after = calloc(from->at[i].n_after + 1, sizeof(unsigned));
    memcpy(to.at[i].after, from->at[i].after, from->at[i].n_after * sizeof(unsigned));
    if (!from->at[i].is_copy)
      to.at[i].launch = launch_copy(&from->at[i].launch);
  }
  return to;
}

static void free_tasks(tasks *t) {
  for (unsigned i = 0; i < t->n; i++) {
    free(t->at[i].after);
    if (!t->at[i].is_copy)
      emu_launch_free(&t->at[i].launch);
  }
  free(t->at);
}

/* ---- building */

DRIVER(cuGraphCreate)(cuda_graph *graph, unsigned flags) {
  if (refused() || flags)
    return CUDA_NOT_SUPPORTED;
  *graph = calloc(1, sizeof **graph);
  return *graph ? 0 : CUDA_OUT_OF_MEMORY;
}
DRIVER(cuGraphDestroy)(cuda_graph graph) {
  for (unsigned i = 0; i < graph->tasks.n; i++)
    free(graph->node[i]);
  free_tasks(&graph->tasks);
  free(graph);
  return 0;
}

static cuda_result add(cuda_node *node, cuda_graph g, const cuda_node *after, size_t n, task t) {
  unsigned number = g->tasks.n;
  if (number == 4096)
    return CUDA_OUT_OF_MEMORY;
  t.after = calloc(n + 1, sizeof *t.after);
  for (size_t i = 0; i < n; i++) {
    if (after[i]->graph != g)
      return INVALID_VALUE;
    t.after[t.n_after++] = after[i]->number;
  }
  g->tasks.at = realloc(g->tasks.at, (number + 1) * sizeof t);
  g->tasks.at[g->tasks.n++] = t;
  *node = g->node[number] = malloc(sizeof **node);
  *g->node[number] = (struct cuda_node_s){g, number};
  return 0;
}

static bool is_line(const cuda_copy_node *c) {
  return c->height == 1 && c->depth == 1 && c->from.memory == CUDA_MEMORY_OF_DEVICE &&
         c->to.memory == CUDA_MEMORY_OF_DEVICE &&
         emu_device_bytes(c->from.device, c->width_bytes) &&
         emu_device_bytes(c->to.device, c->width_bytes);
}

DRIVER(cuGraphAddKernelNode)
(cuda_node *node, cuda_graph graph, const cuda_node *after, size_t n,
 const cuda_kernel_node *kernel) {
  task t = {0};
  return emu_launch_new(kernel, &t.launch) ? add(node, graph, after, n, t) : INVALID_VALUE;
}
DRIVER(cuGraphAddMemcpyNode)
(cuda_node *node, cuda_graph graph, const cuda_node *after, size_t n, const cuda_copy_node *copy,
 cuda_context context) {
  task t = {.is_copy = true, .copy = *copy};
  return context && is_line(copy) ? add(node, graph, after, n, t) : INVALID_VALUE;
}

/* NEO_EMULATOR_COOPERATIVE=2: the device has such launches, but a graph takes none. */
DRIVER(cuGraphKernelNodeSetAttribute)
(cuda_node node, int attribute, const cuda_node_value *value) {
  task *t = &node->graph->tasks.at[node->number];
  if (attribute != CUDA_NODE_COOPERATIVE || t->is_copy)
    return INVALID_VALUE;
  if (emu_environment("NEO_EMULATOR_COOPERATIVE", 1) != 1)
    return CUDA_NOT_SUPPORTED;
  t->launch.is_cooperative = value->cooperative != 0;
  return t->launch.blocks > emu_most_blocks() ? TOO_LARGE : 0;
}

/* Programmatic edges, from kernels to kernels: the later one has to wait by itself. */
DRIVER(cuGraphAddDependencies_v2)
(cuda_graph graph, const cuda_node *from, const cuda_node *to, const cuda_edge *edge, size_t n) {
  if (!emu_environment("NEO_EMULATOR_EDGES", 1))
    return CUDA_NOT_SUPPORTED;
  for (size_t k = 0; k < n; k++) {
    if (from[k]->graph != graph || to[k]->graph != graph || from[k]->number >= to[k]->number ||
        edge[k].from_port != CUDA_PORT_PROGRAMMATIC || edge[k].to_port ||
        edge[k].type != CUDA_EDGE_PROGRAMMATIC)
      return INVALID_VALUE;
    task *t = &graph->tasks.at[to[k]->number], *other = &graph->tasks.at[from[k]->number];
    if (t->is_copy || other->is_copy || t->launch.is_cooperative || other->launch.is_cooperative)
      return INVALID_VALUE;
    t->launch.is_early = true;
    t->after = realloc(t->after, (t->n_after + 1) * sizeof *t->after);
    t->after[t->n_after++] = from[k]->number;
    emu_counts.early++;
  }
  return 0;
}

/* Is there a path between these? Nodes only follow those that were there before. */
static bool follows(const tasks *t, unsigned from, unsigned to) {
  bool *is = calloc(t->n + 1, sizeof *is);
  is[from] = true;
  for (unsigned i = from + 1; i <= to; i++)
    for (unsigned k = 0; k < t->at[i].n_after; k++)
      is[i] = is[i] || is[t->at[i].after[k]];
  bool found = is[to];
  free(is);
  return found;
}

/* Blocks of two cooperative nodes side by side may wait for others of theirs that have no room. A
 * path from each to the next is a path between any two. */
static bool may_lock(const tasks *t, unsigned *n) {
  unsigned last = t->n;
  for (unsigned i = *n = 0; i < t->n; i++) {
    if (t->at[i].is_copy || !t->at[i].launch.is_cooperative)
      continue;
    if (last < t->n && !follows(t, last, i))
      return true;
    last = i;
    ++*n;
  }
  return false;
}

DRIVER(cuGraphInstantiateWithFlags)(cuda_exec *exec, cuda_graph graph, unsigned long long flags) {
  unsigned cooperative;
  if (refused() || flags)
    return CUDA_NOT_SUPPORTED;
  if (may_lock(&graph->tasks, &cooperative)) {
    fprintf(stderr, "emulator: two cooperative nodes of a graph may run at the same time\n");
    return INVALID_VALUE;
  }
  emu_counts.cooperative += cooperative;
  emu_counts.graphs++;
  *exec = malloc(sizeof **exec);
  (*exec)->of = graph;
  (*exec)->tasks = copy_tasks(&graph->tasks);
  return 0;
}
DRIVER(cuGraphExecDestroy)(cuda_exec exec) {
  free_tasks(&exec->tasks);
  free(exec);
  return 0;
}

/* ---- changing */

static task *task_of(cuda_exec exec, cuda_node node, bool is_copy) {
  if (node->graph != exec->of || exec->tasks.at[node->number].is_copy != is_copy)
    return NULL;
  return &exec->tasks.at[node->number];
}

DRIVER(cuGraphExecKernelNodeSetParams)
(cuda_exec exec, cuda_node node, const cuda_kernel_node *kernel) {
  task *t = task_of(exec, node, false);
  emu_launch l;
  emu_counts.changes++;
  if (!t || kernel->function != t->launch.function || !emu_launch_new(kernel, &l))
    return INVALID_VALUE;
  l.is_early = t->launch.is_early;
  l.is_cooperative = t->launch.is_cooperative;
  emu_launch_free(&t->launch);
  t->launch = l;
  return 0;
}
DRIVER(cuGraphExecMemcpyNodeSetParams)
(cuda_exec exec, cuda_node node, const cuda_copy_node *copy, cuda_context context) {
  task *t = task_of(exec, node, true);
  if (!t || !context || !is_line(copy))
    return INVALID_VALUE;
  t->copy = *copy;
  return 0;
}

/* ---- running */

static bool is_ready(const task *t, const bool *done) {
  for (unsigned i = 0; i < t->n_after; i++)
    if (!done[t->after[i]])
      return false;
  return true;
}

/* A task that may run next, drawn at random; without a seed the last task, which launches in order
 * would run last. */
static unsigned next_task(const tasks *t, const bool *done, uint64_t *seed) {
  unsigned chosen = t->n, n = 0;
  for (unsigned i = 0; i < t->n; i++) {
    if (done[i] || !is_ready(&t->at[i], done))
      continue;
    if (*seed)
      *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    if (*seed == 0 || (*seed >> 33) % ++n == 0)
      chosen = i;
  }
  return chosen;
}

static cuda_result run_task(const task *t) {
  if (!t->is_copy)
    return emu_run_kernel(&t->launch);
  memmove((void *)(uintptr_t)t->copy.to.device, (const void *)(uintptr_t)t->copy.from.device,
          t->copy.width_bytes);
  return 0;
}

static cuda_result run_tasks(void *x) {
  const tasks *t = x;
  bool *done = calloc(t->n + 1, sizeof *done);
  uint64_t seed = (uint64_t)emu_environment("NEO_EMULATOR_SEED", 0);
  cuda_result r = 0;
  for (unsigned n = 0; n < t->n && !r; n++) {
    unsigned i = next_task(t, done, &seed);
    r = i == t->n ? INVALID_VALUE : run_task(&t->at[i]);
    done[i < t->n ? i : 0] = true;
  }
  free(done);
  return r;
}
static cuda_result end_tasks(void *x) {
  free_tasks(x);
  free(x);
  return 0;
}

DRIVER(cuGraphLaunch)(cuda_exec exec, cuda_stream stream) {
  if (!emu_stream_ok(stream))
    return INVALID_VALUE;
  emu_counts.graph_launches++;
  tasks *t = malloc(sizeof *t);
  *t = copy_tasks(&exec->tasks);
  return emu_put_work(stream, run_tasks, end_tasks, t);
}

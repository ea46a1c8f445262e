/* graph.c: batches of graphs, in the order that vertex functions need.
 *
 * The order is the one in which a depth-first search leaves vertices. The search's stack is at the
 * end of `order`: a vertex is either not reached, on the stack, or placed, so both fit. `work` has
 * the state of a vertex: 0 for not reached, -1 for placed, and k > 0 for one on the stack whose
 * first k - 1 children were visited. */
#include "include/neo/neo_graph.h"
#include "runtime/files.h"
#include <limits.h>
#include <string.h>

typedef struct {
  const neo_rt_graph *g;
  const char *where; /* prefix of messages */
  char *error;
  size_t error_bytes;
} checked;

#define REJECT(c, status, format, ...) \
  neo_rti_say((c)->error, (c)->error_bytes, status, "%s" format, (c)->where, __VA_ARGS__)

/* ---- checks of a graph */

static neo_rt_status check_vertex(const checked *c, int64_t v, int64_t most_children) {
  const neo_rt_graph *g = c->g;
  if (g->first[v] < 0)
    return REJECT(c, NEO_ARGUMENT, "vertex %lld: its children begin at %lld", (long long)v,
                  (long long)g->first[v]);
  if (g->first[v + 1] < g->first[v])
    return REJECT(c, NEO_ARGUMENT, "vertex %lld: its children end before they begin", (long long)v);
  int64_t n = g->first[v + 1] - g->first[v];
  if (n > 0 && !g->child)
    return REJECT(c, NEO_NULL, "vertex %lld: the pointer to the children is null", (long long)v);
  if (n > most_children)
    return REJECT(c, NEO_SHAPE, "vertex %lld: %lld children, there is room for %lld", (long long)v,
                  (long long)n, (long long)most_children);
  for (int64_t k = 0; k < n; k++) {
    int32_t child = g->child[g->first[v] + k];
    if (child < -1 || child >= g->vertices)
      return REJECT(c, NEO_RANGE, "vertex %lld: child %lld is %d, not in [-1, %lld)", (long long)v,
                    (long long)k, child, (long long)g->vertices);
  }
  return NEO_OK;
}

/* Checks a graph; *in_order: children already come before their vertices. */
static neo_rt_status check_graph(const checked *c, int64_t most_children, bool *in_order) {
  const neo_rt_graph *g = c->g;
  *in_order = true;
  if (g->vertices < 0 || g->vertices > INT32_MAX)
    return REJECT(c, NEO_SHAPE, "%lld vertices", (long long)g->vertices);
  for (int64_t v = 0; v < g->vertices; v++) {
    neo_rt_status status = check_vertex(c, v, most_children);
    if (status)
      return status;
    for (int64_t k = g->first[v]; k < g->first[v + 1]; k++)
      *in_order = *in_order && g->child[k] < v;
  }
  return NEO_OK;
}

/* ---- the order */

/* Reports a cycle: the end of the stack is a path from `child` to a vertex that has it as child. */
static neo_rt_status reject_cycle(const checked *c, const int32_t *top, int32_t child) {
  char path[256] = "";
  size_t n = 0;
  const int32_t *v = top;
  while (*v != child)
    v++;
  for (; v >= top && n + 32 < sizeof path; v--) {
    neo_rti_say(path + n, sizeof path - n, NEO_OK, "%d -> ", *v);
    n += strlen(path + n);
  }
  return REJECT(c, NEO_ARGUMENT, "vertex %d is below itself: %s%s%d", child, path,
                v >= top ? "... -> " : "", child);
}

/* Places all vertices below `root` that are not placed yet, and `root`; *n vertices are placed. */
static neo_rt_status visit(const checked *c, int32_t root, int32_t *order, int64_t *n,
                           int32_t *work) {
  const neo_rt_graph *g = c->g;
  int32_t *const end = order + g->vertices, *top = end;
  *--top = root;
  work[root] = 1;
  while (top < end) {
    int32_t v = *top;
    int64_t next = g->first[v] + work[v] - 1;
    if (next == g->first[v + 1]) {
      work[v] = -1;
      top++;
      order[(*n)++] = v;
      continue;
    }
    work[v]++;
    int32_t child = g->child[next];
    if (child < 0 || work[child] < 0)
      continue;
    if (work[child] > 0)
      return reject_cycle(c, top, child);
    *--top = child;
    work[child] = 1;
  }
  return NEO_OK;
}

static neo_rt_status order_of(const checked *c, int64_t most_children, int32_t *order,
                              int32_t *work) {
  const neo_rt_graph *g = c->g;
  bool in_order;
  int64_t n = 0;
  neo_rt_status status = check_graph(c, most_children, &in_order);
  if (status)
    return status;
  for (int32_t v = 0; in_order && v < g->vertices; v++)
    order[v] = v;
  if (in_order)
    return NEO_OK;
  memset(work, 0, (size_t)g->vertices * sizeof *work);
  for (int32_t v = 0; v < g->vertices && !status; v++)
    if (work[v] == 0)
      status = visit(c, v, order, &n, work);
  return status;
}

neo_rt_status neo_rt_graph_order(const neo_rt_graph *g, int32_t *order, int32_t *work, char *error,
                                 size_t error_bytes) {
  if (!g || (g->vertices > 0 && (!g->first || !order || !work)))
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  /* more children than `work` can count would be more than are ever looked at */
  return order_of(&(checked){g, "", error, error_bytes}, INT32_MAX - 1, order, work);
}

/* ---- batches */

static neo_rt_status check_room(const neo_rt_graph_batch *b, const neo_rt_graph *g, char *error,
                                size_t error_bytes) {
  bool child = b->child || (b->begin ? !b->most_edges : !b->children);
  if (!b->from || !b->start || !b->work || !child || (g->vertices > 0 && !g->first))
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  if (b->vertices < 0 || b->graphs < 0 || b->edges < 0)
    return neo_rti_say(error, error_bytes, NEO_ARGUMENT, "a batch of %lld graphs, %lld vertices",
                       (long long)b->graphs, (long long)b->vertices);
  if (b->graphs >= b->most_graphs)
    return neo_rti_say(error, error_bytes, NEO_SHAPE,
                       "graph %lld: there is room for %lld graphs in a batch", (long long)b->graphs,
                       (long long)b->most_graphs);
  if (g->vertices > b->most_vertices - b->vertices || b->most_vertices > INT32_MAX)
    return neo_rti_say(error, error_bytes, NEO_SHAPE,
                       "graph %lld: %lld vertices, there is room for %lld of %lld in the batch",
                       (long long)b->graphs, (long long)g->vertices,
                       (long long)(b->most_vertices - b->vertices), (long long)b->most_vertices);
  return NEO_OK;
}

/* Whether the batch has room for the graph's edges, if it stores children in lists. */
static neo_rt_status check_edges(const neo_rt_graph_batch *b, const neo_rt_graph *g, char *error,
                                 size_t error_bytes) {
  int64_t n = 0;
  for (int64_t v = 0; v < g->vertices; v++)
    for (int64_t k = g->first[v]; k < g->first[v + 1]; k++)
      n += g->child[k] >= 0;
  if (!b->begin || (n <= b->most_edges - b->edges && b->most_edges <= INT32_MAX))
    return NEO_OK;
  return neo_rti_say(error, error_bytes, NEO_SHAPE,
                     "graph %lld: %lld edges, there is room for %lld of %lld in the batch",
                     (long long)b->graphs, (long long)n, (long long)(b->most_edges - b->edges),
                     (long long)b->most_edges);
}

/* Appends the child lists of the graph's vertices; `work` has the vertices' positions. */
static void put_lists(neo_rt_graph_batch *b, const neo_rt_graph *g, const int32_t *order) {
  b->begin[b->vertices] = (int32_t)b->edges;
  for (int64_t k = 0; k < g->vertices; k++) {
    for (int64_t j = g->first[order[k]]; j < g->first[order[k] + 1]; j++) {
      if (g->child[j] < 0)
        continue;
      if (b->edge)
        b->edge[b->edges] = j;
      b->child[b->edges++] = b->work[g->child[j]];
    }
    b->begin[b->vertices + k + 1] = (int32_t)b->edges;
  }
}

/* Stores the children of the graph's vertices in their slots; `work` has the vertices'
 * positions. */
static void put_children(neo_rt_graph_batch *b, const neo_rt_graph *g, const int32_t *order) {
  for (int64_t k = 0; k < g->vertices; k++) {
    int32_t v = order[k], *out = b->child + (b->vertices + k) * b->children;
    int64_t n = g->first[v + 1] - g->first[v];
    for (int64_t j = 0; j < b->children; j++) {
      int32_t child = j < n ? g->child[g->first[v] + j] : -1;
      out[j] = child < 0 ? -1 : b->work[child];
    }
  }
}

neo_rt_status neo_rt_graph_batch_add(neo_rt_graph_batch *b, const neo_rt_graph *g, char *error,
                                     size_t error_bytes) {
  char where[48];
  if (!b || !g)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  neo_rt_status status = check_room(b, g, error, error_bytes);
  if (status)
    return status;
  neo_rti_say(where, sizeof where, NEO_OK, "graph %lld, ", (long long)b->graphs);
  int32_t *order = b->from + b->vertices;
  int64_t most = b->begin ? INT32_MAX - 1 : b->children;
  status = order_of(&(checked){g, where, error, error_bytes}, most, order, b->work);
  if (!status)
    status = check_edges(b, g, error, error_bytes);
  if (status)
    return status;
  for (int64_t k = 0; k < g->vertices; k++)
    b->work[order[k]] = (int32_t)(b->vertices + k);
  (b->begin ? put_lists : put_children)(b, g, order);
  b->start[b->graphs] = b->vertices;
  b->vertices += g->vertices;
  b->start[++b->graphs] = b->vertices;
  return NEO_OK;
}

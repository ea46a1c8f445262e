/* Maximum flow by blocking flows of shortest paths (E. Dinic, "Algorithm for solution of a problem
 * of maximum flow in networks with power estimation", 1970). A round numbers the vertices by their
 * distance from the source, then fills paths along which the distance grows; the sink's distance
 * grows from round to round. Arcs that are left, followed back from the sink, give the cut nearest
 * to it. */
#include "network/min_cut.h"

typedef struct {
  neo_min_cut *c;
  uint32_t source, sink;
  uint32_t *distance; /* by vertex; UINT32_MAX: not reached */
  uint32_t *next;     /* by vertex: the arc of its list to try next */
  uint32_t *work;     /* vertices to visit; arcs of the path */
} flow;

neo_min_cut neo_min_cut_new(neo_arena *a, uint32_t n) {
  neo_min_cut c = {.a = a, .n = n};
  c.out = neo_arena_alloc(a, ((size_t)n + 1) * sizeof *c.out);
  for (uint32_t k = 0; k <= n; k++) {
    c.out[k].at = NULL;
    c.out[k].n = c.out[k].cap = 0;
  }
  return c;
}

void neo_min_cut_add(neo_min_cut *c, uint32_t from, uint32_t to, int64_t capacity) {
  NEO_PUSH(c->a, &c->out[from], (uint32_t)c->arcs.n);
  NEO_PUSH(c->a, &c->arcs, (neo_min_cut_arc){to, capacity});
  NEO_PUSH(c->a, &c->out[to], (uint32_t)c->arcs.n);
  NEO_PUSH(c->a, &c->arcs, (neo_min_cut_arc){from, 0});
}

/* Whether the sink is reached. */
static bool find_distances(const flow *f) {
  uint32_t first = 0, n = 1;
  for (uint32_t k = 0; k < f->c->n; k++) {
    f->distance[k] = UINT32_MAX;
    f->next[k] = 0;
  }
  f->distance[f->source] = 0;
  f->work[0] = f->source;
  while (first < n) {
    uint32_t v = f->work[first++];
    for (size_t k = 0; k < f->c->out[v].n; k++) {
      const neo_min_cut_arc *x = &f->c->arcs.at[f->c->out[v].at[k]];
      if (x->left <= 0 || f->distance[x->to] != UINT32_MAX)
        continue;
      f->distance[x->to] = f->distance[v] + 1;
      f->work[n++] = x->to;
    }
  }
  return f->distance[f->sink] != UINT32_MAX;
}

/* The next arc of v along which a path may go on; UINT32_MAX: none. */
static uint32_t step_from(const flow *f, uint32_t v) {
  for (; f->next[v] < f->c->out[v].n; f->next[v]++) {
    uint32_t arc = f->c->out[v].at[f->next[v]];
    const neo_min_cut_arc *x = &f->c->arcs.at[arc];
    if (x->left > 0 && f->distance[x->to] == f->distance[v] + 1)
      return arc;
  }
  return UINT32_MAX;
}

/* Sends what the path of n arcs can take; returns the number of arcs before the first full one. */
static uint32_t fill(const flow *f, uint32_t n, int64_t *sent) {
  neo_min_cut_arc *arc = f->c->arcs.at;
  int64_t most = NEO_MIN_CUT_NEVER;
  uint32_t full = n;
  for (uint32_t k = 0; k < n; k++)
    most = arc[f->work[k]].left < most ? arc[f->work[k]].left : most;
  for (uint32_t k = n; k-- > 0;) {
    arc[f->work[k]].left -= most;
    arc[f->work[k] ^ 1].left += most;
    full = arc[f->work[k]].left == 0 ? k : full;
  }
  *sent = most;
  return full;
}

/* Fills paths of this round's distances; returns what they take. */
static int64_t fill_paths(const flow *f) {
  uint32_t v = f->source, n = 0;
  int64_t total = 0, sent;
  for (;;) {
    uint32_t arc = v == f->sink ? UINT32_MAX : step_from(f, v);
    if (arc != UINT32_MAX) {
      f->work[n++] = arc;
      v = f->c->arcs.at[arc].to;
    } else if (v == f->sink) {
      n = fill(f, n, &sent);
      total += sent;
      if (total >= NEO_MIN_CUT_NEVER)
        return total;
      v = n ? f->c->arcs.at[f->work[n - 1]].to : f->source;
    } else if (v == f->source) {
      return total;
    } else { /* a dead end: its arc is not tried again in this round */
      f->distance[v] = UINT32_MAX;
      n--;
      v = f->c->arcs.at[f->work[n] ^ 1].to;
    }
  }
}

static const bool *sides(const flow *f) {
  bool *is = NEO_NEW_ARRAY(f->c->a, bool, f->c->n);
  uint32_t n = 1;
  is[f->sink] = true;
  f->work[0] = f->sink;
  while (n) {
    uint32_t v = f->work[--n];
    for (size_t k = 0; k < f->c->out[v].n; k++) {
      uint32_t arc = f->c->out[v].at[k], from = f->c->arcs.at[arc].to;
      if (f->c->arcs.at[arc ^ 1].left <= 0 || is[from])
        continue;
      is[from] = true;
      f->work[n++] = from;
    }
  }
  return is;
}

const bool *neo_min_cut_sides(neo_min_cut *c, uint32_t source, uint32_t sink) {
  flow f = {.c = c, .source = source, .sink = sink};
  int64_t total = 0;
  f.distance = NEO_NEW_ARRAY(c->a, uint32_t, c->n);
  f.next = NEO_NEW_ARRAY(c->a, uint32_t, c->n);
  f.work = NEO_NEW_ARRAY(c->a, uint32_t, c->n + 1);
  while (total < NEO_MIN_CUT_NEVER && find_distances(&f))
    total += fill_paths(&f);
  return total < NEO_MIN_CUT_NEVER ? sides(&f) : NULL;
}

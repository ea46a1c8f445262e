/* Depth-first search for a plan within a capacity, without recursion.
 *
 * A goal is a range of columns whose ends no free buffer crosses; goals are independent. A node
 * takes one goal and decides one of its columns (branch.c). The rest of the goal splits into new
 * goals at the columns that no free buffer crosses. If a goal fails, the fault is in the decision
 * that made it, and not in decisions of other goals: the search returns to the node that made the
 * goal.
 *
 * The search stores failed goals as hashes of their free buffers and floors: the same buffers in
 * another order often result in the same floors. */
#include "base/hash.h"
#include "codegen/dsa/branch.h"
#include <string.h>

typedef struct {
  int32_t begin, end; /* columns */
  int32_t parent;     /* the node that made it; -1: none */
  int32_t next;       /* the goal after it; -1: none */
} goal;

typedef struct {
  goal of;
  size_t mark;  /* length of the trail */
  size_t goals; /* number of goals, and the first one left when this node took its own */
  int32_t column, pending;
  size_t choice, last; /* in `choices`: those that remain to be tried */
  bool risen;          /* the branch that raises the floor was tried, too */
} node;

struct dsa_searcher {
  dsa_state state;
  const dsa_strategy *by;
  NEO_VEC(goal) goals;
  NEO_VEC(node) nodes;
  NEO_VEC(int32_t) choices;
  int32_t pending;  /* the first goal to be reached */
  uint64_t *failed; /* hashes, 0: none */
  size_t n_failed_slots;
  bool any_failed;
};

enum { PROBES = 4 };

static uint64_t hash_of(const dsa_searcher *q, const goal *g) {
  const dsa_state *s = &q->state;
  uint64_t h = neo_hash_mix((uint64_t)g->begin, (uint64_t)g->end);
  for (int32_t c = g->begin; c < g->end; c++)
    h = neo_hash_mix(h, (uint64_t)s->floor[c]);
  uint64_t bits = 1;
  int32_t last = s->in->start_at[g->end];
  for (int32_t i = s->in->start_at[g->begin]; i < last; i++) {
    bits = bits << 1 | s->placed[i];
    if (bits >> 63)
      h = neo_hash_mix(h, bits), bits = 1;
  }
  h = neo_hash_mix(h, bits);
  return h ? h : 1;
}

static bool has_failed(const dsa_searcher *q, const goal *g) {
  if (!q->any_failed)
    return false;
  uint64_t h = hash_of(q, g);
  for (size_t k = 0; k < PROBES; k++)
    if (q->failed[(h + k) & (q->n_failed_slots - 1)] == h)
      return true;
  return false;
}

static void note_failed(dsa_searcher *q, const goal *g) {
  uint64_t h = hash_of(q, g);
  size_t slot = h & (q->n_failed_slots - 1);
  for (size_t k = 0; k < PROBES && q->failed[slot]; k++)
    slot = (h + k) & (q->n_failed_slots - 1);
  q->failed[slot] = h;
  q->any_failed = true;
}

/* Makes goals of the free buffers in columns begin to end - 1, the narrowest goal first. */
static void split(dsa_searcher *q, int32_t begin, int32_t end, int32_t parent) {
  const dsa_state *s = &q->state;
  size_t from = q->goals.n, k;
  for (int32_t c = begin + 1; c <= end; c++) {
    if (c < end && s->crossing[c])
      continue;
    goal g = {begin, c, parent, -1};
    begin = c;
    if (!s->left[c - 1])
      continue;
    NEO_PUSH(s->in->arena, &q->goals, g);
    for (k = q->goals.n - 1; k > from; k--) {
      goal *a = &q->goals.at[k - 1];
      if (a->end - a->begin >= g.end - g.begin)
        break;
      q->goals.at[k] = *a;
    }
    q->goals.at[k] = g;
  }
  for (k = from; k < q->goals.n; k++) {
    q->goals.at[k].next = q->pending;
    q->pending = (int32_t)k;
  }
}

static void begin_node(dsa_searcher *q, const goal *g) {
  dsa_state *s = &q->state;
  node n = {.of = *g, .mark = s->trail.n, .goals = q->goals.n, .pending = q->pending};
  n.column = dsa_branch_column(s, q->by, g->begin, g->end);
  n.choice = q->choices.n;
  int32_t most = s->in->cover_at[n.column + 1] - s->in->cover_at[n.column];
  for (int32_t k = 0; k < most; k++)
    NEO_PUSH(s->in->arena, &q->choices, 0);
  q->choices.n =
      n.choice + (size_t)dsa_branch_buffers(s, q->by, n.column, q->choices.at + n.choice);
  n.last = q->choices.n;
  NEO_PUSH(s->in->arena, &q->nodes, n);
}

/* Goes on with the next choice of the last node; false: it has none. */
static bool choose(dsa_searcher *q) {
  dsa_state *s = &q->state;
  node *n = &q->nodes.at[q->nodes.n - 1];
  while (n->choice < n->last || !n->risen) {
    bool good;
    if (n->choice < n->last) {
      good = dsa_state_place(s, q->choices.at[n->choice++]);
    } else {
      n->risen = true;
      int64_t floor = dsa_branch_rise(s, n->column);
      good = floor <= s->capacity && dsa_state_raise(s, n->column, floor);
    }
    if (good) {
      split(q, n->of.begin, n->of.end, (int32_t)q->nodes.n - 1);
      return true;
    }
    dsa_state_undo(s, n->mark);
  }
  return false;
}

/* Back to the state in which node k made its last choice, which is taken back. */
static void back_to(dsa_searcher *q, int32_t k) {
  node *n = &q->nodes.at[k];
  dsa_state_undo(&q->state, n->mark);
  q->goals.n = n->goals;
  q->pending = n->pending;
  q->choices.n = n->last;
  q->nodes.n = (size_t)k + 1;
}

/* The goal that the search is at has failed. False: so has the whole. */
static bool backtrack(dsa_searcher *q, int32_t parent) {
  while (parent >= 0) {
    back_to(q, parent);
    if (choose(q))
      return true;
    const goal *g = &q->nodes.at[parent].of;
    note_failed(q, g);
    parent = g->parent;
  }
  return false;
}

static dsa_answer run(dsa_searcher *q, dsa_effort *effort) {
  int64_t limit = effort->charge + q->by->limit;
  while (q->pending >= 0) {
    goal g = q->goals.at[q->pending];
    q->pending = g.next;
    bool good = !has_failed(q, &g);
    if (good) {
      if (effort->charge >= limit)
        return DSA_LIMIT;
      effort->nodes++;
      effort->charge += dsa_charge(q->state.in, q->by->pick, g.begin, g.end);
      begin_node(q, &g);
      good = choose(q);
      if (!good)
        note_failed(q, &g);
    }
    if (!good && !backtrack(q, g.parent))
      return DSA_NONE;
  }
  return DSA_FOUND;
}

dsa_searcher *dsa_searcher_new(const dsa_instance *in, int64_t limit) {
  dsa_searcher *q = NEO_NEW(in->arena, dsa_searcher);
  q->n_failed_slots = 1024;
  while (q->n_failed_slots < (size_t)limit && q->n_failed_slots < (size_t)1 << 20)
    q->n_failed_slots *= 2;
  q->failed = NEO_NEW_ARRAY(in->arena, uint64_t, q->n_failed_slots);
  dsa_state_init(&q->state, in);
  return q;
}

static void reset(dsa_searcher *q, const dsa_strategy *by) {
  dsa_state_undo(&q->state, 0);
  q->state.capacity = by->capacity;
  q->by = by;
  q->goals.n = q->nodes.n = q->choices.n = 0;
  q->pending = -1;
  if (q->any_failed)
    memset(q->failed, 0, sizeof *q->failed * q->n_failed_slots);
  q->any_failed = false;
}

dsa_answer dsa_search(dsa_searcher *q, const dsa_strategy *by, int64_t *offset,
                      dsa_effort *effort) {
  const dsa_instance *in = q->state.in;
  reset(q, by);
  if (!dsa_state_settle(&q->state))
    return DSA_NONE;
  split(q, 0, in->n_columns, -1);
  dsa_answer answer = run(q, effort);
  for (int32_t i = 0; answer == DSA_FOUND && i < in->n; i++)
    offset[i] = q->state.offset[i];
  return answer;
}

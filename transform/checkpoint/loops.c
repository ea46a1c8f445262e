/* Loops over chunks: which definitions share one. A loop has aligned definitions of one direction
 * that read each other in the same iteration. A definition that reads the results of a loop
 * otherwise, or runs in the other direction, is in a loop of a higher level. Such a loop recomputes
 * what it reads of lower levels in the same iteration. */
#include "transform/checkpoint/parts.h"

typedef struct {
  checkpoints *c;
  const checkpoint_def *reader;
  uint32_t number; /* recurrence of the definition */
  uint32_t level[2];
  uint32_t home[2]; /* a loop of each direction at its level */
} level_look;

static void need(level_look *l, int down, uint32_t level, uint32_t home) {
  if (level > l->level[down])
    l->home[down] = 0;
  if (level >= l->level[down] && home)
    l->home[down] = home;
  l->level[down] = level > l->level[down] ? level : l->level[down];
}

static void need_maker(level_look *l, const checkpoint_def *x) {
  checkpoints *c = l->c;
  if (l->number && x->number == l->number)
    return;
  const checkpoint_loop *chunk_loop = x->home ? &c->loops.at[x->home - 1] : NULL;
  bool iteration = chunk_loop && l->reader->kind && x->kind == CHECKPOINT_RUNS;
  for (int down = 0; down < 2; down++) {
    if (!chunk_loop)
      need(l, down, x->level[down], 0);
    else if (iteration && chunk_loop->down == (down == 1))
      need(l, down, chunk_loop->level, x->home);
    else
      need(l, down, chunk_loop->level + 1, 0);
  }
}

static void look(void *ctx, neo_expr e) {
  level_look *l = ctx;
  const neo_node *n = neo_expr_node(l->c->m, e);
  if (!neo_node_is_load(n) ||
      (checkpoint_maker(l->c, n->attr) && checkpoint_crosses(l->c, e, neo_axis_ref(l->c->m, 0))))
    return;
  neo_list pieces = neo_tensor_at(l->c->m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    need_maker(l, &l->c->def[neo_list_at(l->c->m, pieces, k)]);
}

static uint32_t chunk_loop_of(checkpoints *c, bool down, uint32_t level) {
  uint32_t mark = 0;
  for (size_t k = 0; k < c->loops.n; k++) {
    const checkpoint_loop *x = &c->loops.at[k];
    if (x->down == down && x->level == level)
      return (uint32_t)k + 1;
  }
  for (size_t k = 1; k < c->m->defs.n; k++)
    mark = c->m->defs.at[k].chunk_loop > mark ? c->m->defs.at[k].chunk_loop : mark;
  checkpoint_loop x = {down, level, mark + (uint32_t)c->loops.n + 1, {0}};
  neo_map_init(&x.made, c->a);
  NEO_PUSH(c->a, &c->loops, x);
  return (uint32_t)c->loops.n;
}

/* Finds the loop of definitions order[from .. to - 1], one or a recurrence. */
static void find_home(checkpoints *c, size_t from, size_t to) {
  checkpoint_def *first = &c->def[c->order[from]];
  level_look l = {.c = c, .number = first->number};
  uint32_t home = 0;
  for (size_t k = from; k < to; k++) {
    l.reader = &c->def[c->order[k]];
    neo_def_visit(c->m, (neo_def){c->order[k]}, look, &l);
  }
  bool down = first->carried && c->down[first->number];
  if (first->carried)
    home = chunk_loop_of(c, down, l.level[down]);
  else if (first->kind)
    home = l.home[0] ? l.home[0] : l.home[1];
  for (size_t k = from; k < to; k++) {
    checkpoint_def *x = &c->def[c->order[k]];
    x->home = home;
    x->level[0] = l.level[0];
    x->level[1] = l.level[1];
  }
}

/* ---- sums over definitions that any chunk_loop can recompute */

typedef struct {
  const checkpoints *c;
  const bool *after;
  bool is;
} after_look;

static void look_after(void *ctx, neo_expr e) {
  after_look *l = ctx;
  const neo_module *m = l->c->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n) ||
      (checkpoint_maker(l->c, n->attr) && checkpoint_crosses(l->c, e, neo_axis_ref(l->c->m, 0))))
    return;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    l->is = l->is || l->after[neo_list_at(m, pieces, k)];
}

/* Does a chunk_loop need definition d? */
static bool loops_need(const checkpoints *c, uint32_t d) {
  bool *after = NEO_NEW_ARRAY(c->a, bool, c->n_defs);
  bool changed = true, need_it = false;
  after[d] = true;
  while (changed) { /* recurrences need a second pass */
    changed = false;
    for (size_t k = 0; k < c->n_order; k++) {
      uint32_t x = c->order[k];
      after_look l = {c, after, after[x]};
      neo_def_visit(c->m, (neo_def){x}, look_after, &l);
      changed = changed || l.is != after[x];
      after[x] = l.is;
      need_it = need_it || (x != d && l.is && c->def[x].home);
    }
  }
  return need_it;
}

/* The chunk_loop of the highest level. */
static uint32_t last_loop(const checkpoints *c) {
  uint32_t last = 0;
  for (size_t k = 0; k < c->loops.n; k++)
    if (!last || c->loops.at[k].level > c->loops.at[last - 1].level)
      last = (uint32_t)k + 1;
  return last;
}

/* ---- what is read as a whole */

static void look_whole(void *ctx, neo_expr e) {
  checkpoints *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  uint32_t d = neo_node_is_load(n) ? checkpoint_maker(c, n->attr) : 0;
  if (d && c->def[d].kind == CHECKPOINT_RUNS &&
      !checkpoint_is_over_sizes(c->m, neo_expr_arg(c->m, e, c->def[d].axis)))
    c->def[d].whole = true;
}

static void find_whole(checkpoints *c) {
  for (size_t k = 0; k < c->n_order; k++) {
    checkpoint_def *x = &c->def[c->order[k]];
    x->whole = x->whole || x->wanted;
    if (!x->kind || (x->kind == CHECKPOINT_SUM && !x->home))
      neo_def_visit(c->m, (neo_def){c->order[k]}, look_whole, c);
  }
}

void checkpoint_find_loops(checkpoints *c) {
  for (size_t k = 0; k < c->n_order;) {
    uint32_t number = c->def[c->order[k]].number;
    size_t end = k + 1;
    while (number && end < c->n_order && c->def[c->order[end]].number == number)
      end++;
    find_home(c, k, end);
    k = end;
  }
  uint32_t last = last_loop(c);
  for (size_t k = 0; k < c->n_order && last; k++) {
    checkpoint_def *x = &c->def[c->order[k]];
    const checkpoint_loop *chunk_loop = &c->loops.at[last - 1];
    if (x->kind == CHECKPOINT_SUM && !x->home && x->level[chunk_loop->down] <= chunk_loop->level &&
        !loops_need(c, c->order[k]))
      x->home = last;
  }
  find_whole(c);
}

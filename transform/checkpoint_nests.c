/* Which definitions share a loop over chunks: those along rounds of one direction that read each other round by
 * round. What reads otherwise what a nest makes, or runs in the other direction, comes after it, in a nest of a
 * higher level. What such a nest reads round by round of those below is made in it again. */
#include "transform/checkpoint_parts.h"

typedef struct {
  checkpoints *c;
  const checkpoint_def *reader;
  uint32_t number; /* of its recurrence */
  uint32_t level[2];
  uint32_t home[2]; /* a nest of the level that it may be in */
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
  const checkpoint_nest *nest = x->home ? &c->nests.at[x->home - 1] : NULL;
  bool round = nest && l->reader->kind && x->kind == CHECKPOINT_RUNS;
  for (int down = 0; down < 2; down++) {
    if (!nest)
      need(l, down, x->level[down], 0);
    else if (round && nest->down == (down == 1))
      need(l, down, nest->level, x->home);
    else
      need(l, down, nest->level + 1, 0);
  }
}

static void look(void *ctx, neo_expr e) {
  level_look *l = ctx;
  const neo_node *n = neo_expr_node(l->c->m, e);
  if (!checkpoint_is_read(n))
    return;
  neo_list pieces = neo_tensor_at(l->c->m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    need_maker(l, &l->c->def[neo_list_at(l->c->m, pieces, k)]);
}

static uint32_t nest_of(checkpoints *c, bool down, uint32_t level) {
  uint32_t mark = 0;
  for (size_t k = 0; k < c->nests.n; k++) {
    const checkpoint_nest *x = &c->nests.at[k];
    if (x->down == down && x->level == level)
      return (uint32_t)k + 1;
  }
  for (size_t k = 1; k < c->m->defs.n; k++)
    mark = c->m->defs.at[k].nest > mark ? c->m->defs.at[k].nest : mark;
  checkpoint_nest x = {down, level, mark + (uint32_t)c->nests.n + 1, {0}};
  neo_map_init(&x.made, c->a);
  NEO_PUSH(c->a, &c->nests, x);
  return (uint32_t)c->nests.n;
}

/* Definitions order[from .. to - 1], one or a recurrence. */
static void find_home(checkpoints *c, size_t from, size_t to) {
  checkpoint_def *first = &c->def[c->order[from]];
  level_look l = {.c = c, .number = first->number};
  uint32_t home = 0;
  for (size_t k = from; k < to; k++) {
    l.reader = &c->def[c->order[k]];
    neo_def_visit(c->m, (neo_def){c->order[k]}, look, &l);
  }
  bool down = first->number && c->down[first->number];
  if (first->kind && first->number)
    home = nest_of(c, down, l.level[down]);
  else if (first->kind)
    home = l.home[0] ? l.home[0] : l.home[1];
  for (size_t k = from; k < to; k++) {
    checkpoint_def *x = &c->def[c->order[k]];
    x->home = home;
    x->level[0] = l.level[0];
    x->level[1] = l.level[1];
  }
}

/* ---- sums of what any nest can make again */

typedef struct {
  const checkpoints *c;
  const bool *after;
  bool is;
} after_look;

static void look_after(void *ctx, neo_expr e) {
  after_look *l = ctx;
  const neo_module *m = l->c->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!checkpoint_is_read(n))
    return;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    l->is = l->is || l->after[neo_list_at(m, pieces, k)];
}

/* Does what some nest makes need definition d? */
static bool nests_need(const checkpoints *c, uint32_t d) {
  bool *after = NEO_NEW_ARRAY(c->a, bool, c->n_defs);
  bool changed = true, need_it = false;
  after[d] = true;
  while (changed) { /* twice where there are recurrences */
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

/* The nest of the highest level. */
static uint32_t last_nest(const checkpoints *c) {
  uint32_t last = 0;
  for (size_t k = 0; k < c->nests.n; k++)
    if (!last || c->nests.at[k].level > c->nests.at[last - 1].level)
      last = (uint32_t)k + 1;
  return last;
}

void checkpoint_find_nests(checkpoints *c) {
  for (size_t k = 0; k < c->n_order;) {
    uint32_t number = c->def[c->order[k]].number;
    size_t end = k + 1;
    while (number && end < c->n_order && c->def[c->order[end]].number == number)
      end++;
    find_home(c, k, end);
    k = end;
  }
  uint32_t last = last_nest(c);
  for (size_t k = 0; k < c->n_order && last; k++) {
    checkpoint_def *x = &c->def[c->order[k]];
    const checkpoint_nest *nest = &c->nests.at[last - 1];
    if (x->kind == CHECKPOINT_SUM && !x->home && x->level[nest->down] <= nest->level &&
        !nests_need(c, c->order[k]))
      x->home = last;
  }
}

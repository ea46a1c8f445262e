/* The groups of a recurrence's segments (fusion/recurrence.h). A segment is a program whose results are the slices that
 * it stores. Its groups are needed where the recurrence is, read what says that an iteration runs, and of rows that run
 * alone add up in the order of their axes. */
#include "fusion/recurrence.h"
#include "fusion/search/search.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_fuse_options options;
  const neo_group *of;
  NEO_VEC(neo_expr) asked; /* of guards around the segment at hand */
} segments;

/* Kernels that ask for themselves whether they run read the conditions of the guards around. */
static void finish(const segments *x, neo_group *g, bool in_order) {
  for (size_t k = 0; k < x->of->when.n; k++)
    neo_group_needed_where(x->m, x->a, g, x->of->when.at[k]);
  for (size_t k = 0; k < x->asked.n && x->options.recurrences.predicated; k++)
    neo_group_read_too(x->m, x->a, g, x->asked.at[k]);
  if (!in_order)
    return;
  g->in_order = true;
  g->form = NULL; /* which says so, too */
}

static neo_status fuse_segment(const segments *x, neo_recurrence_segment *s, bool in_order) {
  neo_program program = {s->defs.at, s->defs.n, s->roots.at, s->roots.n};
  neo_grouping all;
  neo_status status = neo_fuse_program(x->m, x->a, &program, &x->options, &all);
  for (size_t k = 0; k < all.groups.n && !status; k++) {
    finish(x, &all.groups.at[k], in_order);
    NEO_PUSH(x->a, &s->groups, all.groups.at[k]);
  }
  return status;
}

static neo_status fuse_tree(segments *x, const neo_tree *t, bool in_order) {
  neo_status status = NEO_OK;
  size_t n_asked = x->asked.n;
  if (t->kind == NEO_TREE_LEAF)
    return fuse_segment(x, &x->of->recurrence->segments.at[t->leaf.number], in_order);
  if (t->kind == NEO_TREE_BAND && t->band.rows.first.i)
    in_order = t->band.rows.range == NEO_BLOCKS_SERIAL;
  if (neo_recurrence_asks(x->m, t))
    NEO_PUSH(x->a, &x->asked, t->condition);
  for (size_t k = 0; k < t->children.n && !status; k++)
    status = fuse_tree(x, t->children.at[k], in_order);
  x->asked.n = n_asked;
  return status;
}

static neo_status fuse_in_group(segments *x, const neo_group *g) {
  neo_status status = NEO_OK;
  x->of = g;
  if (g->recurrence)
    status = fuse_tree(x, g->recurrence->tree.root, false);
  for (size_t k = 0; k < g->loops.n && !status; k++)
    status = fuse_in_group(x, &g->loops.at[k]);
  return status;
}

neo_status fuse_segments(neo_arena *a, const neo_fuse_options *o, neo_grouping *all) {
  segments x = {.m = all->m, .a = a, .options = o ? *o : (neo_fuse_options){0}};
  neo_status status = NEO_OK;
  x.options.off |=
      1u << NEO_FUSE_CACHE | 1u << NEO_FUSE_GRID | 1u << NEO_FUSE_COLUMNS | 1u << NEO_FUSE_LOOPS;
  for (size_t k = 0; k < all->groups.n && !status; k++)
    status = fuse_in_group(&x, &all->groups.at[k]);
  return status;
}

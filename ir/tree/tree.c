/* Nodes of schedule trees. */
#include "ir/tree/tree.h"

static neo_tree *node(neo_arena *a, neo_tree_kind kind, const neo_tree *child) {
  neo_tree *t = NEO_NEW(a, neo_tree);
  t->kind = (uint8_t)kind;
  if (child)
    NEO_PUSH(a, &t->children, child);
  return t;
}

const neo_tree *neo_tree_sequence(neo_arena *a, const neo_trees *children) {
  if (children->n == 1)
    return children->at[0];
  neo_tree *t = node(a, NEO_TREE_SEQUENCE, NULL);
  for (size_t k = 0; k < children->n; k++) {
    const neo_tree *c = children->at[k];
    for (size_t i = 0; c->kind == NEO_TREE_SEQUENCE && i < c->children.n; i++)
      NEO_PUSH(a, &t->children, c->children.at[i]);
    if (c->kind != NEO_TREE_SEQUENCE)
      NEO_PUSH(a, &t->children, c);
  }
  return t;
}

const neo_tree *neo_tree_of_band(neo_arena *a, neo_tree_band band, const neo_tree *child) {
  neo_tree *t = node(a, NEO_TREE_BAND, child);
  t->band = band;
  return t;
}

const neo_tree *neo_tree_guard(neo_arena *a, neo_expr condition, const neo_tree *child) {
  neo_tree *t = node(a, NEO_TREE_GUARD, child);
  t->condition = condition;
  return t;
}

const neo_tree *neo_tree_exit(neo_arena *a, neo_expr unless) {
  neo_tree *t = node(a, NEO_TREE_EXIT, NULL);
  t->condition = unless;
  return t;
}

const neo_tree *neo_tree_of_leaf(neo_arena *a, neo_tree_leaf leaf) {
  neo_tree *t = node(a, NEO_TREE_LEAF, NULL);
  t->leaf = leaf;
  return t;
}

const neo_tree *neo_tree_mark(neo_arena *a, uint32_t mark, const neo_tree *child) {
  neo_tree *t = node(a, NEO_TREE_MARK, child);
  t->mark = mark;
  return t;
}

typedef struct {
  neo_arena *a;
  bool *seen;
  NEO_VEC(neo_def) defs;
} collector;

static void collect(collector *c, const neo_tree *t) {
  for (size_t k = 0; t->kind == NEO_TREE_LEAF && k < t->leaf.instances.n; k++) {
    neo_def d = t->leaf.instances.at[k].def;
    if (!c->seen[d.i])
      NEO_PUSH(c->a, &c->defs, d);
    c->seen[d.i] = true;
  }
  for (size_t k = 0; k < t->children.n; k++)
    collect(c, t->children.at[k]);
}

size_t neo_tree_defs(const neo_module *m, const neo_tree *t, neo_arena *a, neo_def **out) {
  collector c = {.a = a, .seen = NEO_NEW_ARRAY(a, bool, m->defs.n)};
  collect(&c, t);
  *out = c.defs.at;
  return c.defs.n;
}

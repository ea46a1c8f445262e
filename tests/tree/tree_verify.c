/* The invariants of schedule trees that need no proof (tree_text.h). */
#include "tests/tree/tree_text.h"

enum { MOST_BANDS = 64 };

typedef struct {
  const neo_module *m;
  neo_str *why;
  const neo_tree_band *band[MOST_BANDS];
  uint32_t depth;
  bool good;
} verifier;

static void fail(verifier *v, const char *what) {
  if (v->good)
    neo_str_addf(v->why, "schedule tree: %s", what);
  v->good = false;
}

/* ---- expressions */

static bool is_index(const neo_tree_band *b, uint32_t size) {
  return b->index.i == size ||
         (b->rows.first.i && (b->rows.begin.i == size || b->rows.end.i == size));
}

static void look_index(void *ctx, neo_expr e) {
  verifier *v = ctx;
  const neo_node *n = neo_expr_node(v->m, e);
  if (n->op == NEO_OP_AXIS && n->attr >= v->depth)
    fail(v, "an index is used outside of its band");
  if (n->op != NEO_OP_SIZE || !neo_size_at(v->m, (neo_size){n->attr})->loop_index)
    return;
  bool found = false;
  for (uint32_t k = 0; k < v->depth && !found; k++)
    found = is_index(v->band[k], n->attr);
  if (!found)
    fail(v, "a size that stands for an index is used outside of its band");
}

static void check_expr(verifier *v, neo_expr e, neo_type type) {
  if (!e.i)
    return;
  neo_expr_visit(v->m, e, look_index, v);
  if (neo_expr_type(v->m, e) != type)
    fail(v, type == NEO_BOOL_T ? "a condition is no bool" : "a position is no i64");
}

/* ---- stores */

/* Coordinates are over the indices of an element alone. */
static void check_store(verifier *v, const neo_store *s) {
  uint32_t rank = neo_tensor_rank(v->m, s->tensor);
  for (uint32_t k = 0; k < s->rank; k++)
    if (neo_expr_axes(v->m, s->at[k]) >> rank || neo_expr_axes(v->m, s->extent[k]))
      fail(v, "a cell depends on more than the element's indices");
}

static bool is_of(const verifier *v, neo_def d, neo_tensor t) {
  neo_list pieces = neo_tensor_at(v->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (neo_list_at(v->m, pieces, k) == d.i)
      return true;
  return false;
}

typedef struct {
  const neo_module *m;
  neo_tensor t;
  bool is;
} use_look;

static void look_use(void *ctx, neo_expr e) {
  use_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  l->is = l->is || ((n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE) && n->attr == l->t.i);
}

static bool uses(const verifier *v, neo_def d, neo_tensor t) {
  use_look l = {v->m, t, is_of(v, d, t)};
  neo_def_visit(v->m, d, look_use, &l);
  return l.is;
}

/* Do leaves outside of the store's scope write its tensor, or read it? */
static bool is_used_outside(const verifier *v, const neo_store *s, const neo_tree *t) {
  if (t == s->scope)
    return false;
  for (size_t k = 0; t->kind == NEO_TREE_LEAF && k < t->leaf.instances.n; k++)
    if (uses(v, t->leaf.instances.at[k].def, s->tensor))
      return true;
  for (size_t k = 0; k < t->children.n; k++)
    if (is_used_outside(v, s, t->children.at[k]))
      return true;
  return false;
}

/* ---- nodes */

static void check_instance(verifier *v, const neo_instance *x) {
  if (!x->def.i || x->def.i >= v->m->defs.n) {
    fail(v, "an instance is of no definition");
    return;
  }
  for (uint32_t k = 0; k < neo_def_at(v->m, x->def)->n_out; k++) {
    check_expr(v, x->lo[k], NEO_I64_T);
    check_expr(v, x->hi[k], NEO_I64_T);
    if (x->hi[k].i && !x->lo[k].i)
      fail(v, "positions of an axis have an end and no begin");
  }
}

static bool has_one_child(const neo_tree *t) {
  return t->kind == NEO_TREE_BAND || t->kind == NEO_TREE_GUARD || t->kind == NEO_TREE_MARK;
}

static void check_node(verifier *v, const neo_tree *t, bool in_band);

static void check_children(verifier *v, const neo_tree *t, bool in_band) {
  if (t->kind != NEO_TREE_SEQUENCE && t->children.n != has_one_child(t))
    fail(v, "a node has too many children, or too few");
  bool exits = t->kind == NEO_TREE_BAND || (t->kind == NEO_TREE_SEQUENCE && in_band);
  for (size_t k = 0; k < t->children.n && v->good; k++)
    check_node(v, t->children.at[k], exits);
}

/* in_band: it is a band's child, or one of the sequence that is. */
static void check_node(verifier *v, const neo_tree *t, bool in_band) {
  if (t->kind == NEO_TREE_EXIT && !in_band)
    fail(v, "an early exit is not in the sequence of a band");
  if (t->kind == NEO_TREE_GUARD || t->kind == NEO_TREE_EXIT)
    check_expr(v, t->condition, NEO_BOOL_T);
  for (size_t k = 0; t->kind == NEO_TREE_LEAF && k < t->leaf.instances.n; k++)
    check_instance(v, &t->leaf.instances.at[k]);
  if (t->kind != NEO_TREE_BAND) {
    check_children(v, t, in_band);
    return;
  }
  check_expr(v, t->band.lo, NEO_I64_T);
  check_expr(v, t->band.hi, NEO_I64_T);
  if (v->depth == MOST_BANDS) {
    fail(v, "too many bands are in one another");
    return;
  }
  v->band[v->depth++] = &t->band;
  check_children(v, t, true);
  v->depth--;
}

neo_status neo_tree_verify(const neo_module *m, const neo_schedule_tree *t, neo_str *why) {
  verifier v = {.m = m, .why = why, .good = true};
  check_node(&v, t->root, false);
  for (size_t k = 0; k < t->stores.n && v.good; k++) {
    check_store(&v, &t->stores.at[k]);
    if (is_used_outside(&v, &t->stores.at[k], t->root))
      fail(&v, "a store's tensor is used outside of its scope");
  }
  return v.good ? NEO_OK : NEO_INTERNAL;
}

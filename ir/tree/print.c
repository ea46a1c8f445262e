/* Schedule trees as text:
 *
 *   store c [2, H] at (d0 % 2, d1)
 *   band t in 0..T
 *     seq
 *       leaf z[t] c[t]
 *       exit unless alive[t]
 *       guard t < 3
 *         leaf y[t, 0..N]
 *
 * The contents of a node are indented below it. A store is printed before the node that is its
 * scope; d0 is the first index of an element. An instance has its positions up to the last axis
 * with fewer than all; an axis before it with all positions is `..`. A definition that is not the
 * only one of its tensor has its number, h@12[t]. A size that stands for a band's index has the
 * band's name. */
#include "ir/text.h"
#include "ir/tree/tree.h"

enum { MOST_BANDS = 64 };

typedef struct {
  neo_module *m;
  const neo_schedule_tree *tree;
  neo_str *out;
  neo_arena scratch;
  const char *name[MOST_BANDS]; /* names of the enclosing bands */
  neo_size index[MOST_BANDS];
  uint32_t depth; /* bands around */
} printer;

/* ---- expressions */

static neo_expr with_axes(void *ctx, neo_module *m, neo_expr e) {
  const printer *p = ctx;
  const neo_node *n = neo_expr_node(m, e);
  for (uint32_t k = 0; n->op == NEO_OP_SIZE && k < p->depth; k++)
    if (p->index[k].i == n->attr)
      return neo_axis_ref(m, k);
  return e;
}

static void add_expr(printer *p, neo_expr e) {
  e = neo_expr_rewrite(p->m, e, with_axes, p);
  neo_text_expr t = {.m = p->m, .out = p->out, .axis = p->name, .n_axes = p->depth};
  neo_text_add_expr(&t, e, LEVEL_OR);
}

static bool is_taken(const printer *p, const char *name) {
  for (uint32_t k = 0; k < p->depth; k++)
    if (neo_streq(p->name[k], name))
      return true;
  for (uint32_t k = 1; k < p->m->sizes.n; k++) {
    const neo_size_rec *s = &p->m->sizes.at[k];
    if (!s->loop_index && neo_streq(neo_name_text(p->m->names, s->name), name))
      return true;
  }
  return false;
}

static const char *band_name(printer *p, const neo_tree_band *b) {
  const char *name = neo_name_text(p->m->names, b->name);
  if (!*name)
    name = neo_arena_printf(&p->scratch, "_%u", p->depth);
  while (is_taken(p, name))
    name = neo_arena_printf(&p->scratch, "%s_%u", name, p->depth);
  return name;
}

/* ---- nodes */

static void add_position(printer *p, const neo_instance *x, uint32_t k) {
  if (k)
    neo_str_add(p->out, ", ");
  if (x->lo[k].i)
    add_expr(p, x->lo[k]);
  if (!x->lo[k].i || x->hi[k].i)
    neo_str_add(p->out, "..");
  if (x->hi[k].i)
    add_expr(p, x->hi[k]);
}

static void add_instance(printer *p, const neo_instance *x) {
  const neo_def_rec *d = neo_def_at(p->m, x->def);
  neo_tensor t = {neo_list_at(p->m, d->out, 0)};
  uint32_t n = d->n_out;
  neo_text_add_tensor(p->m, p->out, t);
  if (neo_tensor_at(p->m, t)->pieces.n != 1)
    neo_str_addf(p->out, "@%u", x->def.i);
  while (n && !x->lo[n - 1].i && !x->hi[n - 1].i)
    n--;
  if (!n)
    return;
  neo_str_addc(p->out, '[');
  for (uint32_t k = 0; k < n; k++)
    add_position(p, x, k);
  neo_str_addc(p->out, ']');
}

static void add_rows(printer *p, const neo_tree_rows *r) {
  static const char *const ranges[] = {"", " wide", " serial", " whole"};
  neo_str_add(p->out, " rows ");
  neo_text_add_tensor(p->m, p->out, r->first);
  neo_str_add(p->out, " as ");
  neo_text_add_size(p->m, p->out, r->begin);
  neo_str_add(p->out, "..");
  neo_text_add_size(p->m, p->out, r->end);
  neo_str_add(p->out, ranges[r->range]);
}

static void add_band(printer *p, const neo_tree_band *b, const char *name) {
  neo_str_add(p->out, "band ");
  neo_text_add_name(p->out, name);
  neo_str_add(p->out, " in ");
  add_expr(p, b->lo);
  neo_str_add(p->out, "..");
  add_expr(p, b->hi);
  if (b->bound.i) {
    neo_str_add(p->out, " below ");
    add_expr(p, b->bound);
  }
  if (b->down)
    neo_str_add(p->out, " down");
  if (b->rows.first.i)
    add_rows(p, &b->rows);
}

static void add_leaf(printer *p, const neo_tree_leaf *l) {
  neo_str_add(p->out, "leaf");
  for (size_t k = 0; k < l->instances.n; k++) {
    neo_str_addc(p->out, ' ');
    add_instance(p, &l->instances.at[k]);
  }
}

static void add_head(printer *p, const neo_tree *t) {
  switch ((neo_tree_kind)t->kind) {
  case NEO_TREE_SEQUENCE:
    neo_str_add(p->out, "seq");
    break;
  case NEO_TREE_BAND:
    add_band(p, &t->band, band_name(p, &t->band));
    break;
  case NEO_TREE_GUARD:
    neo_str_add(p->out, "guard ");
    add_expr(p, t->condition);
    break;
  case NEO_TREE_EXIT:
    neo_str_add(p->out, "exit unless ");
    add_expr(p, t->condition);
    break;
  case NEO_TREE_LEAF:
    add_leaf(p, &t->leaf);
    break;
  case NEO_TREE_MARK:
    neo_str_addf(p->out, "kernel %u", t->mark);
    break;
  }
}

/* ---- stores */

static void add_list(printer *p, const neo_text_expr *t, const neo_expr *at, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    if (k)
      neo_str_add(p->out, ", ");
    neo_text_add_expr(t, at[k], LEVEL_OR);
  }
}

static void add_store(printer *p, const neo_store *s) {
  static const char *const axis[] = {"d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
                                     "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"};
  neo_text_expr t = {.m = p->m, .out = p->out, .axis = axis};
  t.n_axes = neo_tensor_rank(p->m, s->tensor);
  neo_str_add(p->out, "store ");
  neo_text_add_tensor(p->m, p->out, s->tensor);
  neo_str_add(p->out, " [");
  add_list(p, &t, s->extent, s->rank);
  neo_str_add(p->out, "] at (");
  add_list(p, &t, s->at, s->rank);
  neo_str_addc(p->out, ')');
}

/* ---- the whole */

static void indent(printer *p, uint32_t level) {
  for (uint32_t k = 0; k < level; k++)
    neo_str_add(p->out, "  ");
}

static void add_node(printer *p, const neo_tree *t, uint32_t level) {
  for (size_t k = 0; k < p->tree->stores.n; k++)
    if (p->tree->stores.at[k].scope == t) {
      indent(p, level);
      add_store(p, &p->tree->stores.at[k]);
      neo_str_addc(p->out, '\n');
    }
  indent(p, level);
  add_head(p, t);
  neo_str_addc(p->out, '\n');
  bool band = t->kind == NEO_TREE_BAND;
  assert(p->depth < MOST_BANDS);
  if (band) {
    p->name[p->depth] = band_name(p, &t->band);
    p->index[p->depth] = t->band.index;
  }
  p->depth += band;
  for (size_t k = 0; k < t->children.n; k++)
    add_node(p, t->children.at[k], level + 1);
  p->depth -= band;
}

void neo_tree_print(neo_module *m, const neo_schedule_tree *t, neo_str *out) {
  printer p = {.m = m, .tree = t, .out = out};
  p.scratch = neo_arena_scratch(m->arena);
  add_node(&p, t->root, 0);
  neo_arena_free(&p.scratch);
}

/* Conditions under which an iteration needs an instance.
 *
 *     band t in 0..T                               band t in 0..T
 *       a[t] = ...                          ->       a[t] = ...        where k[t] == 2
 *       z[t] = select(k[t] == 2, a[t], b[t])         z[t] = select(k[t] == 2, a[t], b[t])
 *
 * A condition of a definition's points (ir/needed.h) that varies along axes of loops alone becomes
 * a condition of the iteration. The elements that it reads have to be in memory before the
 * instance runs. */
#include "fusion/recurrence/internal.h"

typedef struct {
  const outliner *o;
  const outline_instance *x;
  bool can;
} element_look;

/* Checks that every element that the condition reads exists. */
static void look_inside(void *ctx, neo_expr e) {
  element_look *l = ctx;
  neo_module *m = l->o->m;
  const neo_node *n = neo_expr_node(m, e);
  l->can = l->can && n->op != NEO_OP_LOAD_ELSE;
  if (n->op != NEO_OP_LOAD)
    return;
  neo_tensor t = {n->attr};
  for (uint32_t k = 0; k < neo_tensor_rank(m, t) && l->can; k++) {
    neo_expr at = neo_expr_arg(m, e, k);
    neo_expr above = neo_op2(m, NEO_OP_LE, outline_number(l->o, 0), at);
    neo_expr below = neo_op2(m, NEO_OP_LT, at, neo_tensor_extent(m, t, k));
    l->can = outline_proved(l->o, l->x, 0, above) && outline_proved(l->o, l->x, 0, below);
  }
}

/* The condition in the current iteration; 0: it differs between elements of the instance. */
static neo_expr in_iteration(const outliner *o, const outline_instance *x, neo_expr condition) {
  neo_expr by[OUTLINE_AXES] = {{0}};
  uint64_t axes = neo_expr_axes(o->m, condition);
  for (uint32_t k = 0; k < OUTLINE_AXES; k++) {
    if (!(axes >> k & 1))
      continue;
    if (k >= x->rec.n_out || !outline_has_one_position(o, x, k))
      return (neo_expr){0};
    by[k] = x->base[k].i ? x->base[k] : outline_number(o, 0);
  }
  neo_facts facts = {NULL, 0, x->assume, x->n_assume};
  neo_expr e = neo_expr_subst_axes(o->m, condition, by, OUTLINE_AXES);
  return neo_condition_of(o->m, neo_simplify_under(o->p, &facts, e));
}

static void note_needed(const outliner *o, outline_instance *x, uint64_t but_along) {
  const neo_conditions *c = o->options->needed ? &o->options->needed[x->def.i] : NULL;
  x->needed.n = 0;
  for (uint32_t k = 0; c && k < c->n; k++) {
    bool along = neo_expr_axes(o->m, c->at[k]) & but_along;
    neo_expr e = along ? (neo_expr){0} : in_iteration(o, x, c->at[k]);
    element_look l = {o, x, e.i && neo_expr_node(o->m, e)->op != NEO_OP_CONST};
    if (l.can)
      neo_expr_visit(o->m, e, look_inside, &l);
    if (l.can)
      NEO_PUSH(o->a, &x->needed, e);
  }
}

void outline_note_needed(const outliner *o, outline_instance *x) {
  note_needed(o, x, 0);
}

static bool has_condition(const outline_instance *x, neo_expr e) {
  bool has = false;
  for (size_t k = 0; k < x->needed.n; k++)
    has = has || x->needed.at[k].i == e.i;
  return has;
}

void outline_note_needed_along(const outliner *o, const outline_instance *x, uint32_t axis,
                               outline_instance *y) {
  size_t n = 0;
  note_needed(o, y, (uint64_t)1 << axis);
  for (size_t k = 0; k < y->needed.n; k++)
    if (has_condition(x, y->needed.at[k]))
      y->needed.at[n++] = y->needed.at[k];
  y->needed.n = n;
}

bool outline_is_needed_by_iteration(const outliner *o, const outline_instance *x, uint32_t axis) {
  const neo_conditions *c = o->options->needed ? &o->options->needed[x->def.i] : NULL;
  bool is = false;
  for (uint32_t k = 0; c && k < c->n && !is; k++)
    is = neo_expr_axes(o->m, c->at[k]) >> axis & 1;
  return is && !outline_has_one_position(o, x, axis);
}

/* ---- conditions known before the instance */

typedef struct {
  const outliner *o;
  outline_instance *x;
  bool after;   /* the walk has reached x */
  bool unmade;  /* an instance at x or after it may make the element */
  neo_expr own; /* an element that it reads */
} unmade_look;

/* Is there an instance that may make the element, at x or after it? */
static void look_after(unmade_look *l, const neo_tree *t) {
  const outline_instance *y = t->kind == NEO_TREE_LEAF ? outline_at(l->o, t) : NULL;
  l->after = l->after || y == l->x;
  if (y && l->after && outline_makes(l->o, y, neo_expr_node(l->o->m, l->own)->attr))
    l->unmade = l->unmade || outline_may_make(l->o, y, l->x, 0, l->own);
  for (size_t k = 0; k < t->children.n && !l->unmade; k++)
    look_after(l, t->children.at[k]);
}

typedef struct {
  unmade_look look;
  const neo_tree *root;
} unmade_elements;

static void look_element(void *ctx, neo_expr e) {
  unmade_elements *c = ctx;
  const neo_node *n = neo_expr_node(c->look.o->m, e);
  if (n->op != NEO_OP_LOAD || !c->look.o->own[n->attr])
    return;
  c->look.own = e;
  c->look.after = false;
  look_after(&c->look, c->root);
}

static void drop_unmade_of(const outliner *o, const neo_tree *root, outline_instance *x) {
  outline_instance all = *x; /* parts of one instance share their list */
  x->needed.at = NULL;
  x->needed.n = x->needed.cap = 0;
  for (size_t k = 0; k < all.needed.n; k++) {
    unmade_elements c = {{o, x, false, false, {0}}, root};
    neo_expr_visit(o->m, all.needed.at[k], look_element, &c);
    if (!c.look.unmade)
      NEO_PUSH(o->a, &x->needed, all.needed.at[k]);
  }
}

static void drop_unmade(const outliner *o, const neo_tree *root, const neo_tree *t) {
  if (t->kind == NEO_TREE_LEAF)
    drop_unmade_of(o, root, outline_at(o, t));
  for (size_t k = 0; k < t->children.n; k++)
    drop_unmade(o, root, t->children.at[k]);
}

void outline_drop_unmade(const outliner *o, const neo_tree *t) {
  drop_unmade(o, t, t);
}

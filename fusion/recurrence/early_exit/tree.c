/* The tree with exits and guards (early_exit.h). Each skipped leaf gets a guard; adjacent guards
 * with the condition of one iteration are joined; and a band whose whole iteration is under one
 * guard exits early:
 *
 *     band r              band r                     band r                         band r
 *       leaf alive[r]       guard c: leaf alive[r]     guard c: alive[r], h[r]        exit unless c
 *       leaf h[r]     ->    guard c: leaf h[r]   ->                              ->   leaf alive[r]
 *                                                                                  leaf h[r] */
#include "fusion/recurrence/early_exit/early_exit.h"
#include "ir/trip_count.h"

bool early_exit_uses_index(const neo_module *m, neo_expr e, neo_size index) {
  const neo_node *n = neo_expr_node(m, e);
  bool uses = n->op == NEO_OP_SIZE && n->attr == index.i;
  for (uint32_t k = 0; k < n->arg.n && !uses; k++)
    uses = early_exit_uses_index(m, neo_list_expr(m, n->arg, k), index);
  return uses;
}

/* ---- the condition in memory */

/* The position along the axis of t's cell for the iteration n before at[axis], or, in a loop that
 * runs down, for at[axis]. -1: fewer than n iterations were before it. */
static neo_expr cell_before(const early_exit *q, neo_tensor t, uint32_t axis, neo_expr *at,
                            int64_t n) {
  const outliner *o = q->o;
  neo_module *m = o->m;
  neo_expr none = outline_number(o, -1), zero = outline_number(o, 0);
  neo_expr end = neo_tensor_extent(m, q->alive, early_exit_axis(q)), left;
  if (early_exit_loop(q)->down)
    left = neo_op2(m, NEO_OP_SUB, neo_op2(m, NEO_OP_SUB, end, at[axis]), outline_number(o, n + 1));
  else
    left = at[axis] = neo_op2(m, NEO_OP_SUB, at[axis], outline_number(o, n));
  int64_t x;
  neo_expr e = outline_cell(o, t, axis, at);
  if (outline_distance(o, left, zero, &x))
    return x < 0 ? none : e;
  return neo_op3(m, NEO_OP_SELECT, neo_op2(m, NEO_OP_LE, zero, left), e, none);
}

static neo_expr any_before(const early_exit *q, const outline_instance *x, int64_t back) {
  neo_expr at[OUTLINE_AXES] = {{0}};
  uint32_t axis = outline_member(early_exit_loop(q), q->shape)->axis;
  at[axis] = early_exit_position(q, q->n_loops - 1, q->shape, x);
  return early_exit_load_cell(q, q->any, cell_before(q, q->any, axis, at, back), x->rec.span);
}

/* The condition that the iteration r of x is not dead, or became so less than `back` iterations
 * before: (alive[.., r - back] else true) in memory, of a batch any[r - back]. In a loop that runs
 * down: alive[.., r], or true in the first `back` iterations. */
static neo_expr ran_before(const early_exit *q, const outline_instance *x, int64_t back) {
  neo_module *m = q->o->m;
  neo_expr at[OUTLINE_FOLDS], index[OUTLINE_FOLDS], always = neo_const_bool(m, true);
  if (early_exit_is_batch(q, x))
    return any_before(q, x, back);
  for (uint32_t k = 0; k < q->n_loops; k++)
    at[q->axis[k]] = early_exit_position(q, k, q->maker.i ? q->maker : x->def, x);
  for (uint32_t k = 0; k + 1 < q->n_loops; k++)
    index[q->axis[k]] = outline_cell(q->o, q->alive, q->axis[k], at);
  index[early_exit_axis(q)] = cell_before(q, q->alive, early_exit_axis(q), at, back);
  return neo_load_else(m, outline_memory_of(q->o, q->alive), index, q->n_loops, always,
                       x->rec.span);
}

/* The condition under which an iteration runs: q->n dead ones do. */
static neo_expr runs_where(const early_exit *q, const outline_instance *x) {
  return ran_before(q, x, q->n);
}

/* Does the condition always hold, since no iteration is before? */
static bool holds_always(const neo_module *m, neo_expr condition) {
  bool always = false;
  int64_t at;
  for (uint32_t k = 0; k + 1 < neo_expr_node(m, condition)->arg.n; k++)
    always = always || (neo_expr_is_int(m, neo_expr_arg(m, condition, k), &at) && at < 0);
  return always;
}

/* ---- guards */

/* Is it a guard with a condition of this loop? */
static bool is_guard(const early_exit *q, const neo_tree *t) {
  const neo_node *n = t && t->kind == NEO_TREE_GUARD ? neo_expr_node(q->o->m, t->condition) : NULL;
  return n && n->op == NEO_OP_LOAD_ELSE &&
         (n->attr == outline_memory_of(q->o, q->alive).i ||
          (q->any.i && n->attr == outline_memory_of(q->o, q->any).i));
}

/* Joins adjacent guards with the same condition, which is then read before any of their bodies
 * runs. */
static const neo_tree *joined(const early_exit *q, const neo_trees *all) {
  neo_arena *a = q->o->a;
  neo_trees out = {0}, run = {0};
  neo_expr condition = {0};
  const neo_tree *flat = neo_tree_sequence(a, all);
  if (flat->kind != NEO_TREE_SEQUENCE)
    return flat;
  for (size_t k = 0; k <= flat->children.n; k++) {
    const neo_tree *one = k < flat->children.n ? flat->children.at[k] : NULL;
    bool joins = is_guard(q, one);
    if (run.n && (!joins || one->condition.i != condition.i)) {
      NEO_PUSH(a, &out, neo_tree_guard(a, condition, neo_tree_sequence(a, &run)));
      run = (neo_trees){0};
    }
    if (joins) {
      condition = one->condition;
      NEO_PUSH(a, &run, one->children.at[0]);
    } else if (one) {
      NEO_PUSH(a, &out, one);
    }
  }
  return neo_tree_sequence(a, &out);
}

/* The body of dead iterations that run, with guards around definitions that no reader needs
 * there. */
static const neo_tree *needed_alone(const early_exit *q, const neo_tree *t) {
  neo_arena *a = q->o->a;
  neo_trees in = {0};
  for (size_t k = 0; k < t->children.n; k++)
    NEO_PUSH(a, &in, needed_alone(q, t->children.at[k]));
  if (t->kind == NEO_TREE_SEQUENCE)
    return joined(q, &in);
  if (t->kind == NEO_TREE_BAND)
    return neo_tree_of_band(a, t->band, in.at[0]);
  if (t->kind == NEO_TREE_GUARD)
    return neo_tree_guard(a, t->condition, in.at[0]);
  const outline_instance *x = t->kind == NEO_TREE_LEAF ? outline_at(q->o, t) : NULL;
  bool needed = !x || !q->unneeded || !q->unneeded[x->def.i];
  return needed ? t : neo_tree_guard(a, ran_before(q, x, 0), t);
}

static const neo_tree *under(const early_exit *q, neo_expr condition, const neo_tree *t) {
  return holds_always(q->o->m, condition) ? needed_alone(q, t)
                                          : neo_tree_guard(q->o->a, condition, t);
}

static void add_under(const early_exit *q, bool guarded, neo_expr condition, const neo_trees *in,
                      neo_trees *to) {
  const neo_tree *t = neo_tree_sequence(q->o->a, in);
  NEO_PUSH(q->o->a, to, guarded ? under(q, condition, t) : t);
}

/* The leaf under a guard, followed by writes of cells: `any` after the condition, without a guard
 * where iterations ask; `last` only in iterations that run. */
static const neo_tree *guarded_leaf(const early_exit *q, const neo_tree *t) {
  const outline_instance *x = outline_at(q->o, t);
  neo_trees in = {0}, all = {0};
  if (!outline_member(early_exit_loop(q), x->def))
    return t;
  neo_expr c = runs_where(q, x), at = early_exit_position(q, q->n_loops - 1, q->shape, x);
  bool skipped = q->skipped[x->def.i], own = x->def.i == q->shape.i && !x->added;
  bool any = own && q->any.i && !early_exit_loop(q)->down && early_exit_is_batch(q, x);
  NEO_PUSH(q->o->a, &in, t);
  if (any && !q->predicated)
    outline_push(q->o, &in, early_exit_any_of(q, x));
  add_under(q, skipped, c, &in, &all);
  if (any && q->predicated)
    outline_push(q->o, &all, early_exit_any_of(q, x));
  if (own && q->last.i) {
    in.n = 0;
    outline_push(q->o, &in, early_exit_in_cell(q, x, q->last, at));
    add_under(q, true, c, &in, &all);
  }
  return neo_tree_sequence(q->o->a, &all);
}

static const neo_tree *guarded_sequence(const early_exit *q, const neo_tree *t) {
  neo_trees all = {0};
  for (size_t k = 0; k < t->children.n; k++)
    NEO_PUSH(q->o->a, &all, early_exit_guarded(q, t->children.at[k]));
  return joined(q, &all);
}

/* ---- loops that run down */

neo_tensor early_exit_counts(const early_exit *q) {
  const outliner *o = q->o;
  neo_tensor trip_count = neo_trip_count(o->m, q->alive, early_exit_axis(q)), *in;
  bool there = false;
  for (size_t k = 0; k < o->n && trip_count.i && !there; k++)
    for (size_t i = neo_def_reads(o->m, o->defs[k], o->a, &in); i-- > 0;)
      there = there || in[i].i == trip_count.i;
  return there && !o->own[trip_count.i] ? trip_count : (neo_tensor){0};
}

/* An instance of one of the loop's members: readers that run in its iterations are none. */
static const outline_instance *any_member(const early_exit *q, const neo_tree *t) {
  const outline_instance *x = t->kind == NEO_TREE_LEAF ? outline_at(q->o, t) : NULL;
  if (x && !outline_member(early_exit_loop(q), x->def))
    x = NULL;
  for (size_t k = 0; k < t->children.n && !x; k++)
    x = any_member(q, t->children.at[k]);
  return x;
}

/* The constant c for which index i of the band is position i + c of the loop; 0: there is none. */
static neo_expr position_from(const early_exit *q, const neo_tree_band *band,
                              const outline_instance *x) {
  neo_module *m = q->o->m;
  neo_linear by;
  neo_expr at = early_exit_position(q, q->n_loops - 1, x->def, x);
  bool is = neo_linear_of(m, neo_op2(m, NEO_OP_SUB, at, neo_size_ref(m, band->index)), &by);
  neo_expr c = is ? neo_linear_expr(m, &by) : (neo_expr){0};
  return is && !early_exit_uses_index(m, c, band->index) ? c : (neo_expr){0};
}

/* Splits a band that runs down into the first n iterations, which always run, and the iterations
 * that are not dead; null: their number is unknown.
 *
 *     band r in 0..L down       ->   band r in L-n..L down
 *       guard c: leaf h[r]             leaf h[r]
 *                                    band r in 0..L-n below trip_count[t] down
 *                                      guard c: leaf h[r] */
static const neo_tree *split_down(const early_exit *q, const neo_tree *t, const neo_tree *guard) {
  const outliner *o = q->o;
  neo_module *m = o->m;
  const outline_instance *x = any_member(q, guard);
  neo_tensor trip_count = early_exit_counts(q);
  bool batch = x && early_exit_is_batch(q, x);
  neo_expr index[OUTLINE_FOLDS];
  neo_expr c = batch || (x && trip_count.i) ? position_from(q, &t->band, x) : (neo_expr){0};
  neo_tree_band first = t->band, rest = t->band;
  int64_t always, all;
  neo_trees both = {0};
  if (!c.i)
    return NULL;
  neo_expr end = neo_tensor_extent(m, q->alive, early_exit_axis(q));
  first.lo = neo_op2(m, NEO_OP_SUB, neo_op2(m, NEO_OP_SUB, end, outline_number(o, q->n)), c);
  if (!outline_distance(o, first.hi, first.lo, &always) ||
      (always > 0 && (!outline_distance(o, first.hi, rest.lo, &all) || all <= always)))
    return NULL;
  for (uint32_t k = 0; k + 1 < q->n_loops && !batch; k++)
    index[q->axis[k] - (q->axis[k] > early_exit_axis(q))] = early_exit_position(q, k, x->def, x);
  neo_expr ran = batch ? early_exit_load_cell(q, q->most, (neo_expr){0}, x->rec.span)
                       : neo_load(m, trip_count, index, q->n_loops - 1, x->rec.span);
  rest.bound = neo_op2(m, NEO_OP_SUB, neo_cast(m, NEO_I64_T, ran), c);
  if (always > 0) {
    rest.hi = first.lo;
    NEO_PUSH(o->a, &both, neo_tree_of_band(o->a, first, needed_alone(q, guard->children.at[0])));
  }
  NEO_PUSH(o->a, &both, neo_tree_of_band(o->a, rest, guard));
  return neo_tree_sequence(o->a, &both);
}

/* Moves a guard around the whole band's body out of the band, if its condition is of an outer
 * iteration; else the band exits where the condition fails. */
static const neo_tree *guarded_band(const early_exit *q, const neo_tree *t) {
  neo_arena *a = q->o->a;
  const neo_tree *in = early_exit_guarded(q, t->children.at[0]), *first = NULL;
  neo_trees out = {0};
  if (in->kind == NEO_TREE_SEQUENCE && in->children.n == 2 &&
      in->children.at[0]->kind == NEO_TREE_EXIT) { /* an inner loop's */
    first = in->children.at[0];
    NEO_PUSH(a, &out, first);
  }
  const neo_tree *guard = first ? in->children.at[1] : in;
  bool own = is_guard(q, guard) && early_exit_uses_index(q->o->m, guard->condition, t->band.index);
  const neo_tree *late =
      own && early_exit_loop(q)->down && !first && !q->predicated ? split_down(q, t, guard) : NULL;
  if (!is_guard(q, guard) || (own && (q->predicated || early_exit_loop(q)->down)))
    return late ? late : neo_tree_of_band(a, t->band, in);
  if (own)
    NEO_PUSH(a, &out, neo_tree_exit(a, guard->condition));
  NEO_PUSH(a, &out, guard->children.at[0]);
  const neo_tree *band = neo_tree_of_band(a, t->band, neo_tree_sequence(a, &out));
  return own ? band : neo_tree_guard(a, guard->condition, band);
}

static const neo_tree *guarded_guard(const early_exit *q, const neo_tree *t) {
  const neo_tree *in = early_exit_guarded(q, t->children.at[0]);
  if (!is_guard(q, in))
    return neo_tree_guard(q->o->a, t->condition, in);
  const neo_tree *own = neo_tree_guard(q->o->a, t->condition, in->children.at[0]);
  return neo_tree_guard(q->o->a, in->condition, own);
}

const neo_tree *early_exit_guarded(const early_exit *q, const neo_tree *t) {
  switch (t->kind) {
  case NEO_TREE_LEAF:
    return guarded_leaf(q, t);
  case NEO_TREE_SEQUENCE:
    return guarded_sequence(q, t);
  case NEO_TREE_BAND:
    return guarded_band(q, t);
  case NEO_TREE_GUARD:
    return guarded_guard(q, t);
  default:
    return t;
  }
}

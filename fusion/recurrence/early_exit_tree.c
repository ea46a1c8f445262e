/* The tree with exits and guards (early_exit.h). Each leaf that is skipped gets a guard; guards of
 * one condition, which is one iteration's, are joined; and a band whose whole iteration is under
 * one ends early:
 *
 *     band r              band r                     band r                         band r
 *       leaf alive[r]       guard c: leaf alive[r]     guard c: alive[r], h[r]        exit unless c
 *       leaf h[r]     ->    guard c: leaf h[r]   ->                              ->   leaf alive[r]
 *                                                                                  leaf h[r] */
#include "fusion/recurrence/early_exit.h"
#include "ir/trip_count.h"

bool early_exit_uses_index(const neo_module *m, neo_expr e, neo_size index) {
  const neo_node *n = neo_expr_node(m, e);
  bool uses = n->op == NEO_OP_SIZE && n->attr == index.i;
  for (uint32_t k = 0; k < n->arg.n && !uses; k++)
    uses = early_exit_uses_index(m, neo_list_expr(m, n->arg, k), index);
  return uses;
}

/* ---- the condition in memory */

neo_expr early_exit_iteration(const early_exit *q, uint32_t level, const outline_instance *x) {
  neo_expr at = {0};
  (void)outline_iteration_of(q->o, q->loop[level], x, &at);
  return at;
}

neo_expr early_exit_position(const early_exit *q, uint32_t level, neo_def of,
                             const outline_instance *x) {
  neo_expr delay = outline_number(q->o, outline_member(q->loop[level], of)->delay);
  return neo_op2(q->o->m, NEO_OP_SUB, early_exit_iteration(q, level, x), delay);
}

/* The cell of iteration at[axis] - n, or at[axis] of a loop that runs down, where n iterations are before it, else -1. */
static neo_expr cell_before(const early_exit *q, neo_expr *at) {
  const outliner *o = q->o;
  neo_module *m = o->m;
  uint32_t axis = early_exit_axis(q);
  neo_expr none = outline_number(o, -1), zero = outline_number(o, 0);
  neo_expr end = neo_tensor_extent(m, q->alive, axis), left;
  if (early_exit_loop(q)->down)
    left = neo_op2(m, NEO_OP_SUB, neo_op2(m, NEO_OP_SUB, end, at[axis]),
                   outline_number(o, q->n + 1));
  else
    left = at[axis] = neo_op2(m, NEO_OP_SUB, at[axis], outline_number(o, q->n));
  int64_t x;
  neo_expr e = outline_cell(o, q->alive, axis, at);
  if (outline_distance(o, left, zero, &x))
    return x < 0 ? none : e;
  return neo_op3(m, NEO_OP_SELECT, neo_op2(m, NEO_OP_LE, zero, left), e, none);
}

static neo_tensor cells_of(const early_exit *q) {
  neo_tensor cells = q->o->storage[q->alive.i].tensor;
  return cells.i ? cells : q->alive;
}

/* (alive[.., r - n] else true), where it lies in memory; r: the iteration that x is in. Of a loop
 * that runs down alive[.., r], but for the first n iterations. */
static neo_expr runs_where(const early_exit *q, const outline_instance *x) {
  neo_module *m = q->o->m;
  neo_expr at[OUTLINE_FOLDS], index[OUTLINE_FOLDS];
  for (uint32_t k = 0; k < q->n_loops; k++)
    at[q->axis[k]] = early_exit_position(q, k, q->maker.i ? q->maker : x->def, x);
  for (uint32_t k = 0; k + 1 < q->n_loops; k++)
    index[q->axis[k]] = outline_cell(q->o, q->alive, q->axis[k], at);
  index[early_exit_axis(q)] = cell_before(q, at);
  neo_expr always = neo_const_bool(m, true);
  return neo_load_else(m, cells_of(q), index, q->n_loops, always, x->rec.span);
}

/* Does it hold in every case, as there is no earlier iteration? */
static bool holds_always(const neo_module *m, neo_expr condition) {
  bool always = false;
  int64_t at;
  for (uint32_t k = 0; k + 1 < neo_expr_node(m, condition)->arg.n; k++)
    always = always || (neo_expr_is_int(m, neo_expr_arg(m, condition, k), &at) && at < 0);
  return always;
}

/* ---- guards */

static const neo_tree *under(const early_exit *q, neo_expr condition, const neo_tree *t) {
  return holds_always(q->o->m, condition) ? t : neo_tree_guard(q->o->a, condition, t);
}

/* Is it a guard with a condition of this loop? */
static bool is_guard(const early_exit *q, const neo_tree *t) {
  const neo_node *n = t && t->kind == NEO_TREE_GUARD ? neo_expr_node(q->o->m, t->condition) : NULL;
  return n && n->op == NEO_OP_LOAD_ELSE && n->attr == cells_of(q).i;
}

/* The number of the last iteration that ran is noted behind its condition. */
static const neo_tree *guarded_leaf(const early_exit *q, const neo_tree *t) {
  const outline_instance *x = outline_at(q->o, t);
  neo_trees out = {0}, last = {0};
  if (!outline_member(early_exit_loop(q), x->def))
    return t;
  neo_expr c = runs_where(q, x);
  NEO_PUSH(q->o->a, &out, q->skipped[x->def.i] ? under(q, c, t) : t);
  if (q->last.i && x->def.i == q->maker.i && !x->added) {
    outline_push(q->o, &last, early_exit_last_of(q, x));
    NEO_PUSH(q->o->a, &out, under(q, c, last.at[0]));
  }
  return neo_tree_sequence(q->o->a, &out);
}

/* Neighbours with the same condition are under one guard: it is read before anything of them runs.
 */
static const neo_tree *guarded_sequence(const early_exit *q, const neo_tree *t) {
  neo_arena *a = q->o->a;
  neo_trees all = {0}, out = {0}, run = {0};
  neo_expr condition = {0};
  for (size_t k = 0; k < t->children.n; k++)
    NEO_PUSH(a, &all, early_exit_guarded(q, t->children.at[k]));
  const neo_tree *flat = neo_tree_sequence(a, &all);
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

/* ---- loops that begin late */

/* The trip counts, if the group reads them: they are in memory before it. */
static neo_tensor counts_of(const early_exit *q) {
  const outliner *o = q->o;
  neo_tensor rounds = neo_trip_count(o->m, q->alive, early_exit_axis(q)), *in;
  bool there = false;
  for (size_t k = 0; k < o->n && rounds.i && !there; k++)
    for (size_t i = neo_def_reads(o->m, o->defs[k], o->a, &in); i-- > 0;)
      there = there || in[i].i == rounds.i;
  return there && !o->own[rounds.i] ? rounds : (neo_tensor){0};
}

static const outline_instance *any_instance(const early_exit *q, const neo_tree *t) {
  const outline_instance *x = NULL;
  if (t->kind == NEO_TREE_LEAF)
    x = outline_at(q->o, t);
  for (size_t k = 0; k < t->children.n && !x; k++)
    x = any_instance(q, t->children.at[k]);
  return x;
}

/* Index i of the band is position i + c of the loop; 0: it is not. */
static neo_expr position_from(const early_exit *q, const neo_tree_band *band,
                              const outline_instance *x) {
  neo_module *m = q->o->m;
  neo_linear by;
  neo_expr at = early_exit_position(q, q->n_loops - 1, x->def, x);
  bool is = neo_linear_of(m, neo_op2(m, NEO_OP_SUB, at, neo_size_ref(m, band->index)), &by);
  neo_expr c = is ? neo_linear_expr(m, &by) : (neo_expr){0};
  return is && !early_exit_uses_index(m, c, band->index) ? c : (neo_expr){0};
}

/* The band as two: the first n iterations of the loop, which always run, then those that are not dead; null: it is not
 * known which they are.
 *
 *     band r in 0..L down: guard c: h[r]   ->   band r in L-n..L down: h[r]
 *                                               band r in 0..L-n below rounds[t] down: guard c: h[r] */
static const neo_tree *begun_late(const early_exit *q, const neo_tree *t, const neo_tree *guard) {
  const outliner *o = q->o;
  neo_module *m = o->m;
  const outline_instance *x = any_instance(q, guard);
  neo_tensor rounds = counts_of(q);
  neo_expr index[OUTLINE_FOLDS], c = rounds.i ? position_from(q, &t->band, x) : (neo_expr){0};
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
  for (uint32_t k = 0; k + 1 < q->n_loops; k++)
    index[q->axis[k] - (q->axis[k] > early_exit_axis(q))] = early_exit_position(q, k, x->def, x);
  neo_expr ran = neo_load(m, rounds, index, q->n_loops - 1, x->rec.span);
  rest.bound = neo_op2(m, NEO_OP_SUB, neo_cast(m, NEO_I64_T, ran), c);
  if (always > 0) {
    rest.hi = first.lo;
    NEO_PUSH(o->a, &both, neo_tree_of_band(o->a, first, guard->children.at[0]));
  }
  NEO_PUSH(o->a, &both, neo_tree_of_band(o->a, rest, guard));
  return neo_tree_sequence(o->a, &both);
}

/* A guard around all that runs in the band is around it, where its condition is of an iteration
 * around; else, where it fails the band ends. */
static const neo_tree *guarded_band(const early_exit *q, const neo_tree *t) {
  neo_arena *a = q->o->a;
  const neo_tree *in = early_exit_guarded(q, t->children.at[0]), *first = NULL;
  neo_trees out = {0};
  if (in->kind == NEO_TREE_SEQUENCE && in->children.n == 2 &&
      in->children.at[0]->kind == NEO_TREE_EXIT) { /* of a loop in this one */
    first = in->children.at[0];
    NEO_PUSH(a, &out, first);
  }
  const neo_tree *guard = first ? in->children.at[1] : in;
  bool own = is_guard(q, guard) && early_exit_uses_index(q->o->m, guard->condition, t->band.index);
  const neo_tree *late =
      own && early_exit_loop(q)->down && !first && !q->predicated ? begun_late(q, t, guard) : NULL;
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

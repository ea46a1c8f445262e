/* Writes before and after each run of a loop with an early exit (early_exit.h). Before it, alive
 * becomes false, which stays for iterations that do not run. After it, a tensor that stores all
 * iterations gets the element of the last iteration that ran as its last element.
 *
 *     band t                       band t
 *       band r                       leaf alive[t, ..] = false
 *         exit unless ..             band r
 *         leaf alive[t, r]   ->        exit unless ..
 *         leaf h[t, r]                 leaf alive[t, r], last = r
 *                                      leaf h[t, r]
 *                                    leaf h[t, L - 1] = h[t, last] */
#include "fusion/recurrence/early_exit/early_exit.h"
#include "ir/clone.h"

/* ---- the last iteration that ran */

static bool is_ended(const early_exit *q, neo_def d) {
  return q->ends[d.i] && q->skipped[d.i];
}

void early_exit_note_last(early_exit *q) {
  const neo_order_step *loop = early_exit_loop(q);
  bool asked = false;
  for (uint32_t k = 0; k < loop->n_members; k++)
    asked = asked || is_ended(q, loop->member[k].def);
  q->last = asked ? early_exit_cell(q, "last", NEO_I64_T, 1) : (neo_tensor){0};
}

/* A copy of the instance that writes `value`. */
static outline_instance *writing(const early_exit *q, const outline_instance *x, neo_expr value) {
  outline_instance *y = NEO_NEW(q->o->a, outline_instance);
  *y = *x;
  y->rec.finish = neo_list_new(q->o->m, &value.i, 1);
  y->needed.at = NULL; /* x keeps its own */
  y->needed.n = y->needed.cap = 0;
  y->added = true;
  return y;
}

/* ---- instances that write */

/* h[.., L - 1] = h[.., last], for an x that makes an element of h */
static outline_instance *end_of(const early_exit *q, const outline_instance *x) {
  const outliner *o = q->o;
  neo_module *m = o->m;
  uint32_t axis = outline_member(early_exit_loop(q), x->def)->axis;
  neo_tensor t = {neo_list_at(m, x->rec.out, 0)};
  neo_expr index[OUTLINE_AXES];
  for (uint32_t k = 0; k < x->rec.n_out; k++) {
    index[k] = x->fixed[k] ? x->base[k] : neo_axis_ref(m, k);
    if (!x->fixed[k] && x->base[k].i)
      index[k] = neo_op2(m, NEO_OP_ADD, x->base[k], index[k]);
  }
  index[axis] = early_exit_read_cell(q, q->last, x);
  outline_instance *y = writing(q, x, neo_load(m, t, index, x->rec.n_out, x->rec.span));
  y->base[axis] = neo_op2(m, NEO_OP_SUB, neo_tensor_extent(m, t, axis), outline_number(o, 1));
  outline_note_needed_along(o, x, axis, y);
  return y;
}

/* alive[.., ..] = false, along the loop, for an x that makes an element of it */
static outline_instance *fill_of(const early_exit *q, const outline_instance *x) {
  neo_module *m = q->o->m;
  outline_instance *y = writing(q, x, neo_const_bool(m, false));
  uint32_t axis = outline_member(early_exit_loop(q), x->def)->axis;
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < x->rec.axes.n; k++)
    id[k] = neo_list_at(m, k == axis ? neo_def_at(m, x->def)->axes : x->rec.axes, k);
  y->rec.axes = neo_list_new(m, id, x->rec.axes.n);
  y->fixed[axis] = false;
  y->base[axis] = y->extent[axis] = (neo_expr){0};
  y->iterations = q->n_loops == 1 ? -1 : x->iterations;
  return y;
}

/* ---- runs of the loop */

/* The runs of the loop that the instances in a tree belong to. */
typedef struct {
  /* alive[.., 0] at the iterations of the loops around, which differs from run to run; 0: the tree
   * has no instance of the loop. */
  neo_expr run;
  bool several; /* the instances are in several runs */
} runs;

static neo_expr run_of(const early_exit *q, const outline_instance *x) {
  neo_expr at[OUTLINE_AXES];
  uint32_t rank = neo_tensor_rank(q->o->m, q->alive);
  for (uint32_t k = 0; k < rank; k++) {
    const outline_around *all = k + 1 < q->n_loops ? outline_range_in(q->loop[k], x) : NULL;
    at[k] = all                  ? all->hi
            : k + 1 < q->n_loops ? early_exit_iteration(q, k, x)
                                 : outline_number(q->o, 0);
  }
  return neo_load(q->o->m, q->alive, at, rank, x->rec.span);
}

/* Does each iteration of the band have a run of its own? */
static bool changes_in(const early_exit *q, neo_expr run, const neo_tree_band *band) {
  const neo_module *m = q->o->m;
  return early_exit_uses_index(m, run, band->index) ||
         (band->rows.first.i && early_exit_uses_index(m, run, band->rows.end));
}

static runs runs_of(const early_exit *q, const neo_tree *t) {
  runs all = {0};
  const outline_instance *x = t->kind == NEO_TREE_LEAF ? outline_at(q->o, t) : NULL;
  if (x && outline_member(early_exit_loop(q), x->def))
    all.run = run_of(q, x);
  for (size_t k = 0; k < t->children.n; k++) {
    runs one = runs_of(q, t->children.at[k]);
    all.several = all.several || one.several || (all.run.i && one.run.i && all.run.i != one.run.i);
    all.run = one.run.i ? one.run : all.run;
  }
  all.several =
      all.several || (t->kind == NEO_TREE_BAND && all.run.i && changes_in(q, all.run, &t->band));
  return all;
}

/* An instance in the tree that is in this run, of definition d, or of any of the loop's (0). */
static const outline_instance *instance_in(const early_exit *q, const neo_tree *t, neo_def d,
                                           neo_expr run) {
  const outline_instance *x = NULL;
  if (t->kind == NEO_TREE_LEAF) {
    x = outline_at(q->o, t);
    bool is = d.i ? x->def.i == d.i : outline_member(early_exit_loop(q), x->def) != NULL;
    return is && !x->added && run_of(q, x).i == run.i ? x : NULL;
  }
  for (size_t k = 0; k < t->children.n && !x; k++)
    x = instance_in(q, t->children.at[k], d, run);
  return x;
}

/* Adds the writes before the run, which is in `t`. */
static void add_fill(const early_exit *q, neo_trees *to, const neo_tree *t, neo_expr run) {
  const outline_instance *x = q->fills ? instance_in(q, t, q->maker, run) : NULL;
  const outline_instance *first = q->most.i ? instance_in(q, t, (neo_def){0}, run) : NULL;
  neo_trees in = {0};
  if (x)
    outline_push(q->o, &in, fill_of(q, x));
  if (first && early_exit_is_batch(q, first)) {
    outline_push(q->o, &in, early_exit_most_of(q, first, early_exit_counts(q)));
    outline_push(q->o, &in, early_exit_all_of(q, first));
  }
  neo_expr always = neo_const_bool(q->o->m, true);
  if (in.n)
    NEO_PUSH(q->o->a, to, neo_tree_guard(q->o->a, always, neo_tree_sequence(q->o->a, &in)));
}

/* Adds the writes after the run, which is in `t`. */
static void add_ends(const early_exit *q, neo_trees *to, const neo_tree *t, neo_expr run) {
  const neo_order_step *loop = early_exit_loop(q);
  neo_module *m = q->o->m;
  neo_trees in = {0};
  for (uint32_t k = 0; k < loop->n_members && q->last.i; k++) {
    neo_def d = loop->member[k].def;
    const outline_instance *x = is_ended(q, d) ? instance_in(q, t, d, run) : NULL;
    if (x)
      outline_push(q->o, &in, end_of(q, x));
  }
  neo_expr extent = neo_tensor_extent(m, q->alive, early_exit_axis(q));
  neo_expr some = neo_op2(m, NEO_OP_LT, outline_number(q->o, 0), extent);
  if (in.n)
    NEO_PUSH(q->o->a, to, neo_tree_guard(q->o->a, some, neo_tree_sequence(q->o->a, &in)));
}

/* Adds writes around runs to a sequence `t` of parts: before the first part of a run and after its
 * last one, or inside of a part that has several runs. */
static const neo_tree *with_ends(const early_exit *q, const neo_tree *t, const neo_trees *parts) {
  neo_trees out = {0};
  runs *of = NEO_NEW_ARRAY(q->o->a, runs, parts->n + 1);
  for (size_t k = 0; k < parts->n; k++)
    of[k] = runs_of(q, parts->at[k]);
  for (size_t k = 0; k < parts->n; k++) {
    const neo_tree *part = parts->at[k];
    bool begins = of[k].run.i && !of[k].several, ends = begins;
    for (size_t i = 0; i < parts->n; i++) {
      bool same = !of[i].several && of[i].run.i == of[k].run.i;
      begins = begins && !(same && i < k);
      ends = ends && !(same && i > k);
    }
    if (begins)
      add_fill(q, &out, t, of[k].run);
    NEO_PUSH(q->o->a, &out, of[k].several ? early_exit_with_ends(q, part) : part);
    if (ends)
      add_ends(q, &out, t, of[k].run);
  }
  return neo_tree_sequence(q->o->a, &out);
}

const neo_tree *early_exit_with_ends(const early_exit *q, const neo_tree *t) {
  neo_arena *a = q->o->a;
  neo_trees one = {0};
  if (t->kind == NEO_TREE_SEQUENCE)
    return with_ends(q, t, &t->children);
  if (!runs_of(q, t).several) {
    NEO_PUSH(a, &one, t);
    return with_ends(q, t, &one);
  }
  const neo_tree *child = early_exit_with_ends(q, t->children.at[0]);
  return t->kind == NEO_TREE_BAND ? neo_tree_of_band(a, t->band, child)
                                  : neo_tree_guard(a, t->condition, child);
}

/* What is written before and after each run of a loop that ends early (early_exit.h): where nothing
 * ran alive is false, and of what is stored whole the last element is that of the last iteration
 * that ran.
 *
 *     band t                       band t
 *       band r                       leaf alive[t, ..] = false
 *         exit unless ..             band r
 *         leaf alive[t, r]   ->        exit unless ..
 *         leaf h[t, r]                 leaf alive[t, r], last = r
 *                                      leaf h[t, r]
 *                                    leaf h[t, L - 1] = h[t, last] */
#include "fusion/recurrence/early_exit.h"
#include "ir/clone.h"

/* ---- the last iteration that ran */

static bool is_ended(const early_exit *q, neo_def d) {
  return q->ends[d.i] && q->skipped[d.i];
}

/* A number for each run, all in one cell. */
static neo_tensor define_cell(early_exit *q, const char *what) {
  outliner *o = q->o;
  neo_module *m = o->m;
  outline_storage r = {.order = q->loop[0], .n_folds = q->n_loops};
  uint32_t extent[OUTLINE_FOLDS];
  const neo_tensor_rec *alive = neo_tensor_at(m, q->alive);
  neo_tensor_rec t = {.role = NEO_ROLE_TEMP, .type = NEO_I64_T, .extent = alive->extent};
  t.name = neo_tensor_fresh_name(m, what, neo_name_text(m->names, alive->name));
  neo_tensor cell = neo_tensor_add(m, t);
  for (uint32_t k = 0; k < q->n_loops; k++) {
    r.fold[k] = (outline_fold){q->axis[k], 1, q->loop[k], false};
    extent[k] = outline_number(o, 1).i;
  }
  t.name = neo_tensor_fresh_name(m, "ring", neo_name_text(m->names, t.name));
  t.extent = neo_list_new(m, extent, q->n_loops);
  r.tensor = neo_tensor_add(m, t);
  outline_grow(o);
  o->own[cell.i] = o->stored[cell.i] = true;
  o->storage[cell.i] = r;
  return cell;
}

void early_exit_note_last(early_exit *q) {
  const neo_order_step *loop = early_exit_loop(q);
  bool asked = false;
  for (uint32_t k = 0; k < loop->n_members; k++)
    asked = asked || is_ended(q, loop->member[k].def);
  q->last = asked ? define_cell(q, "last") : (neo_tensor){0};
}

/* A copy of an instance that writes this in place of its definition's value. */
static outline_instance *writing(const early_exit *q, const outline_instance *x, neo_expr value) {
  outline_instance *y = NEO_NEW(q->o->a, outline_instance);
  *y = *x;
  y->rec.finish = neo_list_new(q->o->m, &value.i, 1);
  y->needed.n = 0;
  y->added = true;
  return y;
}

outline_instance *early_exit_last_of(const early_exit *q, const outline_instance *x) {
  outline_instance *y = writing(q, x, early_exit_position(q, q->n_loops - 1, q->maker, x));
  y->rec.out = neo_list_new(q->o->m, &q->last.i, 1);
  return y;
}

static neo_expr read_cell(const early_exit *q, neo_tensor cell, neo_span span) {
  neo_expr at[OUTLINE_FOLDS];
  for (uint32_t k = 0; k < q->n_loops; k++)
    at[k] = outline_number(q->o, 0);
  return neo_load(q->o->m, cell, at, q->n_loops, span);
}

/* ---- what is written */

/* h[.., L - 1] = h[.., last], where x makes an element of h */
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
  index[axis] = read_cell(q, q->last, x->rec.span);
  outline_instance *y = writing(q, x, neo_load(m, t, index, x->rec.n_out, x->rec.span));
  y->base[axis] = neo_op2(m, NEO_OP_SUB, neo_tensor_extent(m, t, axis), outline_number(o, 1));
  return y;
}

/* alive[.., ..] = false, along the loop, where x makes an element of it */
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

/* In which run of the loop the tree's instances of it are: alive[.., 0] at the iteration of the
 * loops around; 0: there are none. `several`: they are in more than one. */
typedef struct {
  neo_expr run;
  bool several;
} runs;

static neo_expr run_of(const early_exit *q, const outline_instance *x) {
  neo_expr at[OUTLINE_FOLDS];
  for (uint32_t k = 0; k < q->n_loops; k++)
    at[k] = k + 1 < q->n_loops ? early_exit_iteration(q, k, x) : outline_number(q->o, 0);
  return neo_load(q->o->m, q->alive, at, q->n_loops, x->rec.span);
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
  all.several = all.several || (t->kind == NEO_TREE_BAND && all.run.i &&
                                early_exit_uses_index(q->o->m, all.run, t->band.index));
  return all;
}

/* An instance of the definition in the tree, in this run. */
static const outline_instance *instance_in(const early_exit *q, const neo_tree *t, neo_def d,
                                           neo_expr run) {
  const outline_instance *x = NULL;
  if (t->kind == NEO_TREE_LEAF) {
    x = outline_at(q->o, t);
    return x->def.i == d.i && !x->added && run_of(q, x).i == run.i ? x : NULL;
  }
  for (size_t k = 0; k < t->children.n && !x; k++)
    x = instance_in(q, t->children.at[k], d, run);
  return x;
}

/* Adds what is written before the run, which is in `t`. */
static void add_fill(const early_exit *q, neo_trees *to, const neo_tree *t, neo_expr run) {
  const outline_instance *x = q->fills ? instance_in(q, t, q->maker, run) : NULL;
  neo_trees in = {0};
  if (!x)
    return;
  outline_push(q->o, &in, fill_of(q, x));
  NEO_PUSH(q->o->a, to, neo_tree_guard(q->o->a, neo_const_bool(q->o->m, true), in.at[0]));
}

/* Adds what is written after the run, which is in `t`. */
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

/* A run may have parts in several of the trees, which are all of `t`. */
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

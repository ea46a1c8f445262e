/* Storage folding (as Halide's): a tensor that no other group reads stores n slices along a loop's
 * axis, if its readers read elements of the last n - 1 iterations and of the current one:
 *
 *   band t in 0..T                                   store u [1, 2, N] at (d0 % 1, d1 % 2, d2)
 *     band r in 0..R                                 store h [2, N] at (d0 % 2, d1)
 *       leaf u[t, r]  # reads u[t, r - 1]       ->   band t in 0..T
 *     leaf h[t]       # reads u[t, R - 1],             band r in 0..R
 *                     # h[t - 1], h[t - 2]               leaf u[t, r]
 *                                                      leaf h[t]
 *
 * (Lifetimes in iterations: the occupancy vectors of D. Wilde and S. Rajopadhye, along one axis.)
 * Each loop around a definition is examined alone, the outermost first:
 *
 * - readers in the same iterations of the outer loops read elements of a constant number of
 * iterations before;
 * - readers after the loop read the last iterations. Their slices live until the outer loop's next
 * iteration with the same slice, and such reads need one of their own there;
 * - iterations of the outermost loop that run at once, as positions of an axis, are the first ones,
 * and find all earlier elements.
 *
 * An iteration overwrites the slice that the iteration before it read last, so the order within an
 * iteration does not matter. One slice less is enough if the oldest element is read only to compute
 * the element that overwrites it, as h[t - 2, i] for h[t, i], and no other definition of the
 * iteration reads the new one. The new element is then not recomputed: its readers are in another
 * segment (segments.c).
 *
 * Nested loops count as one loop, with the iterations of the innermost one, if each inner loop
 * starts from the last values of the outer iteration before it and that needs fewer slices:
 *
 *   band s in 0..S                                       store n at ((d0*R + d1) % 2, d2)
 *     band r in 0..R                                ->
 *       leaf n[s, r]  # reads n[s, r - 1], n[s - 1, R - 1]
 *
 * Outer loops with an early exit are excluded: the contents of the cells then depend on the last
 * iteration that ran.
 *
 * For rows in level order (levels.c) an iteration is a level. Two levels are stored if rows are
 * read only in their own level and the next one (neo_rows_are_chains). A hoisted definition
 * (hoist.c) stores one block. cells.c addresses the elements. */
#include "fusion/recurrence/internal.h"

typedef struct {
  const outliner *o;
  const outline_loops *ending; /* loops with an early exit */
  neo_tensor tensor;
  const neo_order_step *loop[OUTLINE_FOLDS];   /* loops around its definition, outermost first */
  const neo_order_member *made[OUTLINE_FOLDS]; /* the member of each */
  uint32_t n_loops, first, level;              /* loops first .. level are examined as one */
  bool by_level;                               /* iterations are levels of rows */
  const outline_instance *x;                   /* current instance */
  bool after;                                  /* the walk is past a band */
  bool good;
  int64_t n_in_place;   /* slices that are needed if elements overwrite their operands */
  int64_t n_slices;     /* slices that are needed if they do not */
  bool reads_iteration; /* an instance reads results of its own iteration */
  int64_t head;         /* iterations that run at once before the first band */
} fold_look;

static void need(fold_look *l, int64_t in_place, int64_t slices) {
  l->n_in_place = in_place > l->n_in_place ? in_place : l->n_in_place;
  l->n_slices = slices > l->n_slices ? slices : l->n_slices;
}

/* The loops of the order that make d. */
static void find_loops(fold_look *l, const neo_order_step *order, neo_def d) {
  for (const neo_order_step *in = order; in && l->n_loops < OUTLINE_FOLDS;) {
    const neo_order_step *next = NULL;
    l->made[l->n_loops] = outline_member(in, d);
    l->loop[l->n_loops++] = in;
    for (uint32_t k = 0; k < in->n_steps; k++)
      if (!in->step[k].def.i && outline_member(&in->step[k], d))
        next = &in->step[k];
    in = next;
  }
}

/* ---- distances */

bool outline_iteration_of(const outliner *o, const neo_order_step *loop, const outline_instance *x,
                          neo_expr *at) {
  const neo_order_member *own = outline_member(loop, x->def);
  if (!own || !outline_has_one_position(o, x, own->axis))
    return false;
  *at = outline_number(o, own->delay);
  if (x->base[own->axis].i)
    *at = neo_op2(o->m, NEO_OP_ADD, x->base[own->axis], *at);
  return true;
}

/* The iteration of loop `level` that the current instance is in; false: none, or several. */
static bool is_at(const fold_look *l, uint32_t level, neo_expr *at) {
  const neo_order_member *own = outline_member(l->loop[level], l->x->def);
  if (own && own->owner.i)
    return false;
  if (level)
    return outline_iteration_of(l->o, l->loop[level], l->x, at);
  *at = l->x->iteration;
  return l->x->iterations == 1;
}

/* The number of the loop's iterations from `first` to `later`. */
static neo_expr between(const outliner *o, const neo_order_step *loop, neo_expr first,
                        neo_expr later) {
  return loop->down ? outline_difference(o, first, later) : outline_difference(o, later, first);
}

/* The number of iterations of loop `level` in `outer` iterations of the loop around it and `inner`
 * ones of its own. */
static neo_expr with_inner(const fold_look *l, uint32_t level, neo_expr outer, neo_expr inner) {
  neo_module *m = l->o->m;
  neo_expr extent = neo_tensor_extent(m, l->tensor, l->made[level]->axis);
  return neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, outer, extent), inner);
}

typedef struct {
  int64_t least, most;
} distance;

/* Finds the least and the largest value of a distance in iterations. False: it may be negative, or
 * is unbounded. */
static bool is_distance(const fold_look *l, neo_expr e, distance *d) {
  neo_facts none = {0};
  bool is = outline_distance(l->o, e, outline_number(l->o, 0), &d->most);
  d->least = d->most;
  is = is || neo_interval(l->o->p, &none, e, &d->least, &d->most);
  return is && d->least >= 0 && d->most < INT32_MAX;
}

/* The position of the read element along its axis. */
static neo_expr position_of(const fold_look *l, neo_expr read, uint32_t axis) {
  const outline_instance *x = l->x;
  const neo_order_member *own = x->iterations == 1 ? outline_member(l->loop[0], x->def) : NULL;
  neo_expr by[OUTLINE_AXES] = {{0}};
  for (uint32_t k = 0; k < x->rec.n_out; k++)
    if (!x->fixed[k] && ((own && own->axis == k) || outline_has_one_position(l->o, x, k)))
      by[k] = outline_number(l->o, 0);
  return neo_expr_subst_axes(l->o->m, neo_expr_arg(l->o->m, read, axis), by, x->rec.n_out);
}

/* Finds the number of iterations from the read element to the reader; loops first .. level count
 * as one. */
static bool distance_of(const fold_look *l, uint32_t first, uint32_t level, neo_expr read,
                        distance *d) {
  neo_expr sum = outline_number(l->o, 0), here;
  for (uint32_t k = first; k <= level; k++) {
    neo_expr delay = outline_number(l->o, l->made[k]->delay);
    neo_expr made = outline_sum(l->o, position_of(l, read, l->made[k]->axis), delay);
    if (!is_at(l, k, &here))
      return false;
    sum = with_inner(l, k, sum, between(l->o, l->loop[k], made, here));
  }
  return is_distance(l, sum, d);
}

/* Finds the number of iterations from the read element to the last iteration of the loops. */
static bool distance_from_end(const fold_look *l, neo_expr read, distance *d) {
  neo_expr sum = outline_number(l->o, 0), one = outline_number(l->o, 1), here;
  for (uint32_t k = l->first; k <= l->level; k++) {
    uint32_t axis = l->made[k]->axis;
    neo_expr end = neo_tensor_extent(l->o->m, l->tensor, axis);
    neo_expr last = l->loop[k]->down ? outline_number(l->o, 0) : outline_difference(l->o, end, one);
    sum = with_inner(l, k, sum, between(l->o, l->loop[k], position_of(l, read, axis), last));
    if (l->first < l->level && is_at(l, k, &here)) /* in some of the loops */
      return false;
  }
  return is_distance(l, sum, d);
}

/* The levels between the read row and the reader's. */
static bool level_distance(const fold_look *l, neo_expr read, distance *d) {
  const outliner *o = l->o;
  const neo_order_member *reader = outline_member(l->loop[0], l->x->def);
  neo_expr at = neo_expr_arg(o->m, read, l->made[0]->axis);
  bool before;
  if (!reader || reader->owner.i || !l->x->level.first.i || !l->x->base[reader->axis].i)
    return false;
  int64_t rows;
  if (outline_distance(o, at, outline_position(o, l->x, reader->axis), &rows) && rows == 0)
    return true;
  *d = (distance){1, 1};
  return outline_level_table(o, l->x, at, &before).i;
}

/* ---- reads */

static bool is_at_all(const fold_look *l, uint32_t first, uint32_t level) {
  bool is = true;
  neo_expr at;
  for (uint32_t k = first; k <= level && is; k++)
    is = is_at(l, k, &at);
  return is;
}

/* Was the read element made in the reader's own iteration of loop `level`? In a range of
 * iterations that run at once, in the iteration of the reader's element. */
static bool is_of_iteration(const fold_look *l, uint32_t level, neo_expr read) {
  const outliner *o = l->o;
  const neo_order_member *own = outline_member(l->loop[level], l->x->def), *made = l->made[level];
  distance d;
  int64_t between_axes;
  if (distance_of(l, level, level, read, &d))
    return d.most == 0;
  if (!own || !outline_range_in(l->loop[level], l->x))
    return false;
  neo_expr at = outline_position(o, l->x, own->axis);
  return outline_distance(o, at, neo_expr_arg(o->m, read, made->axis), &between_axes) &&
         between_axes + own->delay == made->delay;
}

/* Does the reader run in the examined loops, and was the read element made in the same iterations
 * of the loops around these? */
static bool is_in_loop(const fold_look *l, neo_expr read) {
  bool is = is_at_all(l, l->first, l->level);
  for (uint32_t k = 0; k < l->first && is; k++)
    is = is_of_iteration(l, k, read);
  return is;
}

static bool is_along(const fold_look *l, uint32_t axis) {
  bool is = false;
  for (uint32_t k = l->first; k <= l->level; k++)
    is = is || l->made[k]->axis == axis;
  return is;
}

/* Does the read serve only the element that overwrites it? A sum over an equation of data is an
 * exception: it may be accumulated in its result (codegen/lower/segment) before it reads. */
static bool is_own(const fold_look *l, neo_expr read) {
  const outliner *o = l->o;
  const outline_instance *x = l->x;
  bool added = x->rec.where.i && neo_expr_uses_op(o->m, x->rec.where, NEO_OP_EQ);
  bool own = outline_makes(o, x, l->tensor.i) && !added;
  for (uint32_t k = 0; k < x->rec.n_out && own; k++) {
    int64_t d;
    own =
        is_along(l, k) ||
        (outline_distance(o, neo_expr_arg(o->m, read, k), outline_position(o, x, k), &d) && d == 0);
  }
  return own;
}

static bool runs_by_owner(const fold_look *l) {
  bool runs = false;
  for (uint32_t k = 0; k < l->n_loops; k++) {
    const neo_order_member *own = outline_member(l->loop[k], l->x->def);
    runs = runs || (own && own->owner.i);
  }
  return runs;
}

static void look(void *ctx, neo_expr read, uint32_t n_axes) {
  fold_look *l = ctx;
  distance d = {0, 0};
  (void)n_axes;
  if (neo_expr_node(l->o->m, read)->attr != l->tensor.i || !l->good)
    return;
  bool in = !l->by_level && is_in_loop(l, read), in_place = in && !l->first;
  if (l->by_level)
    l->good = level_distance(l, read, &d);
  else if (in)
    l->good = distance_of(l, l->first, l->level, read, &d);
  else if (runs_by_owner(l))
    l->good = false;
  else if (l->first || l->x->iterations == 0 || l->x->iterations == 1)
    l->good = distance_from_end(l, read, &d);
  else
    l->good = !l->level && !l->after; /* no slice was overwritten yet */
  if (!l->good)
    return;
  l->reads_iteration = l->reads_iteration || (in_place && d.least == 0);
  need(l, in_place && d.least && is_own(l, read) ? d.most : d.most + 1, d.most + 1);
}

/* ---- producers */

/* Iterations that run at once must be contiguous in memory. */
static void look_made(fold_look *l, bool outermost) {
  const outline_instance *x = l->x;
  uint32_t axis = l->made[0]->axis;
  int64_t first;
  neo_expr at;
  bool one = is_at_all(l, l->first, l->level);
  for (uint32_t k = 0; k < l->first && one; k++)
    one = is_at(l, k, &at) || outline_range_in(l->loop[k], x);
  if (l->by_level) {
    l->good = x->level.first.i && x->base[axis].i;
  } else if (!one) {
    bool from_start = neo_expr_is_int(l->o->m, x->base[axis], &first) && first >= 0;
    l->good = !l->level && x->iterations > 1 && from_start && !l->loop[0]->down && !l->after;
    need(l, from_start ? first + x->iterations : 0, from_start ? first + x->iterations : 0);
  }
  l->head += outermost && !l->first && !l->after ? x->iterations : 0;
}

/* Walks the tree; outermost: in no band. */
static void look_tree(fold_look *l, const neo_tree *t, bool outermost) {
  bool band = t->kind == NEO_TREE_BAND;
  if (t->kind == NEO_TREE_LEAF) {
    l->x = outline_at(l->o, t);
    if (outline_makes(l->o, l->x, l->tensor.i))
      look_made(l, outermost);
    outline_reads(l->o, l->x, look, l);
  }
  l->after = l->after || band;
  for (size_t k = 0; k < t->children.n && l->good; k++)
    look_tree(l, t->children.at[k], outermost && !band);
}

/* Finds the number of slices that are needed along loops first .. level as one. False: all. */
static bool find_slices(fold_look *l, const neo_tree *tree, uint32_t first, uint32_t level,
                        bool by_level) {
  l->first = first;
  l->level = level;
  l->by_level = by_level;
  l->good = true;
  l->after = l->reads_iteration = false;
  l->n_in_place = l->n_slices = 1;
  l->head = 0;
  look_tree(l, tree, true);
  need(l, l->head, l->head);
  return l->good;
}

/* ---- folds */

static bool is_hoisted(const outliner *o, neo_def d) {
  for (size_t k = 0; k < o->n_hoisted && o->hoist_block; k++)
    if (o->hoisted[k].i == d.i)
      return true;
  return false;
}

/* The most positions along the axis of loop `level`; 0: unknown. */
static int64_t most_along(const fold_look *l, uint32_t level) {
  neo_facts none = {0};
  int64_t lo, hi;
  neo_expr extent = neo_tensor_extent(l->o->m, l->tensor, l->made[level]->axis);
  return neo_interval(l->o->p, &none, extent, &lo, &hi) ? hi : 0;
}

static void add_fold(const fold_look *l, uint32_t level, int64_t n, outline_storage *out) {
  if (n && most_along(l, level) > n)
    out->fold[out->n_folds++] = (outline_fold){l->made[level]->axis, n, l->loop[level], false};
}

static bool may_end_early(const fold_look *l, uint32_t level) {
  bool may = false;
  for (size_t k = 0; k < l->ending->n; k++)
    may = may || l->ending->at[k] == l->loop[level];
  return may;
}

/* May loops first .. last count as one? All elements of an inner loop's axis are made before the
 * next outer iteration. */
static bool may_join(const fold_look *l, uint32_t first, uint32_t last) {
  bool may = true;
  for (uint32_t k = first + 1; k <= last && may; k++)
    may =
        l->loop[k]->down == l->loop[first]->down && !l->made[k]->delay && !may_end_early(l, k - 1);
  return may;
}

/* The number of slices that are needed. Elements overwrite their operands only if the fold is the
 * tensor's only one (`alone`) and along its outermost loop. */
static int64_t slices(const fold_look *l, bool alone) {
  return alone && !l->first && !l->reads_iteration ? l->n_in_place : l->n_slices;
}

/* Finds loops first .. *last that need fewer slices as one loop than with n[k] slices each (0:
 * all). Returns the number of slices; 0: no loops do. */
static int64_t find_joined(fold_look *l, const neo_tree *tree, uint32_t first, const int64_t *n,
                           uint32_t *last) {
  for (*last = l->n_loops - 1; *last > first; --*last) {
    double product = 1;
    for (uint32_t k = first; k <= *last; k++)
      product *= n[k] ? (double)n[k] : (double)most_along(l, k);
    if (!may_join(l, first, *last) || !find_slices(l, tree, first, *last, false))
      continue;
    int64_t joined = slices(l, *last + 1 == l->n_loops);
    if ((double)joined < product)
      return joined;
  }
  return 0;
}

/* Finds the folds. If elements overwrite their operands, the only fold is along the outermost loop,
 * or along all loops as one. */
static void find_folds(fold_look *l, const neo_tree *tree, outline_storage *out) {
  int64_t n[OUTLINE_FOLDS] = {0}, joined;
  bool inner = false;
  if (is_hoisted(l->o, l->made[0]->def)) {
    add_fold(l, 0, l->o->hoist_block, out);
    return;
  }
  bool by_level = find_slices(l, tree, 0, 0, true) && l->n_slices == 2;
  if (by_level)
    out->fold[out->n_folds++] =
        (outline_fold){l->made[0]->axis, OUTLINE_TWO_LEVELS, l->loop[0], false};
  for (uint32_t k = l->n_loops; k-- > by_level;) {
    n[k] = find_slices(l, tree, k, k, false) ? slices(l, !inner) : 0;
    inner = inner || (n[k] && n[k] < most_along(l, k));
  }
  for (uint32_t k = by_level, last; k < l->n_loops; k++) {
    joined = find_joined(l, tree, k, n, &last);
    for (; joined && k < last; k++)
      out->fold[out->n_folds++] = (outline_fold){l->made[k]->axis, 1, l->loop[k], true};
    if (joined)
      out->fold[out->n_folds++] = (outline_fold){l->made[k]->axis, joined, l->loop[k], false};
    else
      add_fold(l, k, n[k], out);
  }
}

static void fold_tensor(outliner *o, const neo_tree *tree, const neo_order_step *order,
                        const outline_loops *ending, neo_tensor t) {
  const neo_tensor_rec *rec = neo_tensor_at(o->m, t);
  fold_look l = {.o = o, .ending = ending, .tensor = t};
  outline_storage out = {.order = order};
  if (o->stored[t.i] || rec->role != NEO_ROLE_TEMP || rec->pieces.n != 1)
    return;
  neo_def d = {neo_list_at(o->m, rec->pieces, 0)};
  if (!outline_member(order, d) || neo_def_at(o->m, d)->out_map.n)
    return;
  find_loops(&l, order, d);
  for (uint32_t k = 0; k < l.n_loops; k++)
    if (l.made[k] && l.made[k]->owner.i)
      return; /* an iteration makes several positions */
  find_folds(&l, tree, &out);
  if (!out.n_folds)
    return;
  out.tensor = outline_cells_new(o, t, &out);
  o->storage[t.i] = out;
}

void outline_fold_storage(outliner *o, const neo_tree *t, const neo_order_step *order,
                          const outline_loops *ending) {
  for (size_t k = 0; k < o->n; k++) {
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    for (uint32_t i = 0; i < out.n; i++)
      if (neo_list_at(o->m, out, i) < o->n_tensors)
        fold_tensor(o, t, order, ending, (neo_tensor){neo_list_at(o->m, out, i)});
  }
}

/* ---- overwritten elements */

typedef struct {
  fold_look reader;
  int64_t n;     /* slices along the outermost loop, or the loops joined with it */
  int64_t later; /* iterations from the read to the write */
  bool reads, is;
} overwrite_look;

static void look_overwritten(void *ctx, neo_expr read, uint32_t n_axes) {
  overwrite_look *l = ctx;
  distance d;
  (void)n_axes;
  if (neo_expr_node(l->reader.o->m, read)->attr != l->reader.tensor.i)
    return;
  l->reads = true;
  l->is =
      l->is || !distance_of(&l->reader, 0, l->reader.level, read, &d) || d.most + l->later >= l->n;
}

/* Finds the number of iterations of the examined loops from p to x. False: not a constant. */
static bool find_later(overwrite_look *l, const outline_instance *x, const outline_instance *p) {
  const outliner *o = l->reader.o;
  neo_expr sum = between(o, l->reader.loop[0], p->iteration, x->iteration), of_x, of_p;
  for (uint32_t k = 1; k <= l->reader.level; k++) {
    if (!outline_iteration_of(o, l->reader.loop[k], x, &of_x) ||
        !outline_iteration_of(o, l->reader.loop[k], p, &of_p))
      return false;
    sum = with_inner(&l->reader, k, sum, between(o, l->reader.loop[k], of_p, of_x));
  }
  return outline_distance(o, sum, outline_number(o, 0), &l->later);
}

/* Are x and p in the same iterations of the examined loops along which the storage is folded? */
static bool are_together(const overwrite_look *l, const outline_storage *r,
                         const outline_instance *x, const outline_instance *p) {
  const outliner *o = l->reader.o;
  bool together = true;
  for (uint32_t k = 0; k < r->n_folds && together; k++) {
    const neo_order_step *loop = r->fold[k].order;
    neo_expr of_x, of_p;
    int64_t d;
    for (uint32_t i = 0; i <= l->reader.level && loop; i++)
      loop = l->reader.loop[i] == loop ? NULL : loop;
    together = !loop || (outline_iteration_of(o, loop, x, &of_x) &&
                         outline_iteration_of(o, loop, p, &of_p) &&
                         outline_distance(o, of_x, of_p, &d) && d == 0);
  }
  return together;
}

static bool overwrites(const outliner *o, const outline_instance *x, const outline_instance *p,
                       uint32_t tensor) {
  const outline_storage *r = &o->storage[tensor];
  bool makes = outline_makes(o, p, tensor);
  if (!r->n_folds)
    return false;
  overwrite_look l = {.reader = {.o = o, .tensor = {tensor}, .x = p}};
  l.n = outline_slices(r, r->order);
  find_loops(&l.reader, r->order, x->def);
  l.reader.level = r->fold[0].order == r->order ? outline_run_end(r, 0) : 0;
  if (!find_later(&l, x, p))
    return true;
  outline_reads(o, p, look_overwritten, &l);
  if (!l.later && (l.reads || makes) && !are_together(&l, r, x, p))
    return true;
  if (!l.n || (p != x && p->def.i == x->def.i && !l.later)) /* parts have disjoint elements */
    return false;
  return l.is || (l.later >= l.n && makes);
}

bool outline_overwrites(const outliner *o, const outline_instance *x, const outline_instance *p) {
  bool is = false;
  if (x->iterations != 1 ||
      p->iterations != 1) /* iterations that run at once have their own slices */
    return false;
  for (uint32_t k = 0; k < x->rec.out.n && !is; k++)
    is = overwrites(o, x, p, neo_list_at(o->m, x->rec.out, k));
  return is;
}

/* The condition of a batch (early_exit.h): a loop whose iterations compute several positions at
 * once, as the rows of a level (levels.c) or the indices of a call, runs as long as alive is true
 * for one of them.
 *
 *     band v rows begin..end                    band v rows begin..end
 *       band r in 0..L                            band r in 0..L
 *         leaf alive[begin..end, r]                 exit unless any[r - n]
 *         leaf h[begin..end, r]          ->         leaf alive[begin..end, r]
 *                                                   leaf any[r] = any[v] alive[v, r]
 *                                                   leaf h[begin..end, r]
 *
 * A position that has ended keeps its values while others run. If alive is computed before the
 * loop, as for an adjoint, which runs down, the number of iterations is known before it:
 *
 *     band r in 0..L down                       leaf most = max[v] trip_count[v]
 *       leaf d[begin..end, r]            ->     leaf any[0..L] = r < most
 *                                               band r in 0..L below most down
 *                                                 guard any[r]: leaf d[begin..end, r]
 *
 * The cells `any` and `most` have elements for the current batch alone. */
#include "fusion/recurrence/early_exit/early_exit.h"
#include "ir/clone.h"

/* ---- positions of an instance */

/* The loop along which alive's axis k is; q->n_loops: k is an axis of the batch. */
static uint32_t loop_of(const early_exit *q, uint32_t k) {
  uint32_t loop = 0;
  while (loop < q->n_loops && q->axis[loop] != k)
    loop++;
  return loop;
}

/* The range of the loop's iterations that the instance computes at once; null: one iteration. */
static const outline_around *range_of(const early_exit *q, uint32_t level,
                                      const outline_instance *x) {
  const outline_around *all = outline_range_in(q->loop[level], x);
  int64_t n;
  return all && outline_distance(q->o, all->hi, all->lo, &n) && n == 1 ? NULL : all;
}

bool early_exit_is_batch(const early_exit *q, const outline_instance *x) {
  bool is = neo_tensor_rank(q->o->m, q->alive) > q->n_loops;
  for (uint32_t k = 0; k + 1 < q->n_loops; k++)
    is = is || range_of(q, k, x);
  return is;
}

static const neo_order_member *axis_of(const early_exit *q, uint32_t level) {
  return outline_member(q->loop[level], q->shape);
}

static neo_def_rec *shape_of(const early_exit *q) {
  return neo_def_at(q->o->m, q->shape);
}

bool early_exit_has_batch(const early_exit *q, const outline_instance *x) {
  bool has = true;
  for (uint32_t k = 0; k < x->rec.n_out && has; k++) {
    uint32_t level = 0;
    while (level < q->n_loops && outline_member(q->loop[level], x->def)->axis != k)
      level++;
    const outline_around *all = level < q->n_loops ? range_of(q, level, x) : NULL;
    int64_t d;
    if (all)
      has = outline_distance(q->o, x->base[k], all->lo, &d) && d == 0 &&
            outline_distance(q->o, x->extent[k], outline_difference(q->o, all->hi, all->lo), &d) &&
            d == 0;
    else
      has = level < q->n_loops || !x->extent[k].i;
  }
  return has;
}

/* ---- iterations */

neo_expr early_exit_iteration(const early_exit *q, uint32_t level, const outline_instance *x) {
  neo_expr at = {0};
  return outline_iteration_of(q->o, q->loop[level], x, &at)
             ? at
             : outline_range_in(q->loop[level], x)->lo;
}

neo_expr early_exit_position(const early_exit *q, uint32_t level, neo_def of,
                             const outline_instance *x) {
  neo_expr delay = outline_number(q->o, outline_member(q->loop[level], of)->delay);
  return neo_op2(q->o->m, NEO_OP_SUB, early_exit_iteration(q, level, x), delay);
}

/* ---- cells */

neo_tensor early_exit_cell(early_exit *q, const char *what, neo_type type, int64_t n) {
  outliner *o = q->o;
  neo_module *m = o->m;
  outline_storage r = {.order = q->loop[0]};
  uint32_t extent[OUTLINE_AXES], n_out = shape_of(q)->n_out;
  const neo_tensor_rec *alive = neo_tensor_at(m, q->alive);
  for (uint32_t k = 0; k < n_out; k++)
    extent[k] = outline_number(o, 1).i;
  neo_tensor_rec t = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type};
  t.name = neo_tensor_fresh_name(m, what, neo_name_text(m->names, alive->name));
  for (uint32_t k = 0; k < q->n_loops; k++) {
    bool own = k + 1 == q->n_loops;
    extent[axis_of(q, k)->axis] = neo_tensor_extent(m, q->alive, q->axis[k]).i;
    if (!own || n)
      r.fold[r.n_folds++] = (outline_fold){axis_of(q, k)->axis, own ? n : 1, q->loop[k], false};
  }
  t.extent = neo_list_new(m, extent, n_out);
  neo_tensor cell = neo_tensor_add(m, t);
  r.tensor = r.n_folds ? outline_cells_new(o, cell, &r) : (neo_tensor){0};
  outline_grow(o);
  o->own[cell.i] = o->stored[cell.i] = true;
  o->storage[cell.i] = r;
  return cell;
}

neo_expr early_exit_read_cell(const early_exit *q, neo_tensor cell, const outline_instance *x) {
  neo_expr at[OUTLINE_AXES];
  uint32_t n_out = shape_of(q)->n_out;
  for (uint32_t k = 0; k < n_out; k++)
    at[k] = outline_number(q->o, 0);
  for (uint32_t k = 0; k < q->n_loops; k++)
    at[axis_of(q, k)->axis] = early_exit_position(q, k, q->shape, x);
  return neo_load(q->o->m, cell, at, n_out, x->rec.span);
}

neo_expr early_exit_load_cell(const early_exit *q, neo_tensor cell, neo_expr at, neo_span span) {
  neo_expr index[OUTLINE_AXES];
  uint32_t n_out = shape_of(q)->n_out;
  neo_tensor memory = outline_memory_of(q->o, cell);
  for (uint32_t k = 0; k < n_out; k++)
    index[k] = outline_number(q->o, 0);
  if (!at.i)
    return neo_load(q->o->m, memory, index, n_out, span);
  index[axis_of(q, q->n_loops - 1)->axis] = at;
  return neo_load_else(q->o->m, memory, index, n_out, neo_const_bool(q->o->m, true), span);
}

outline_instance *early_exit_in_cell(const early_exit *q, const outline_instance *x,
                                     neo_tensor cell, neo_expr value) {
  neo_module *m = q->o->m;
  outline_instance *y = NEO_NEW(q->o->a, outline_instance);
  neo_def_rec shape = *shape_of(q);
  uint32_t id[OUTLINE_AXES];
  *y = *x;
  y->def = q->shape;
  for (uint32_t k = 0; k < shape.n_out; k++) {
    neo_axis_rec axis = *neo_def_axis(m, &shape, k);
    axis.lo = outline_number(q->o, 0);
    axis.hi = y->extent[k] = outline_number(q->o, 1);
    y->base[k] = outline_number(q->o, 0);
    y->fixed[k] = true;
    id[k] = neo_axis_add(m, axis).i;
  }
  for (uint32_t k = 0; k < q->n_loops; k++)
    y->base[axis_of(q, k)->axis] = early_exit_position(q, k, q->shape, x);
  y->rec = (neo_def_rec){.n_out = shape.n_out, .span = x->rec.span};
  y->rec.axes = neo_list_new(m, id, shape.n_out);
  y->rec.out = neo_list_new(m, &cell.i, 1);
  y->rec.finish = neo_list_new(m, &value.i, 1);
  y->needed.n = 0;
  y->row_facts.n = 0;
  y->added = true;
  return y;
}

/* ---- reductions over the batch */

/* Adds axes to y that run over the batch, and writes alive's index at each of its positions. The
 * index along the loop is that of x, or, if `whole`, an axis over all iterations. */
static void add_batch(const early_exit *q, const outline_instance *x, outline_instance *y,
                      neo_expr *index, bool whole) {
  neo_module *m = q->o->m;
  uint32_t id[OUTLINE_AXES], n = y->rec.axes.n;
  for (uint32_t k = 0; k < n; k++)
    id[k] = neo_list_at(m, y->rec.axes, k);
  for (uint32_t k = 0; k < neo_tensor_rank(m, q->alive); k++) {
    uint32_t level = loop_of(q, k);
    bool own = level + 1 == q->n_loops;
    const outline_around *all = level < q->n_loops ? range_of(q, level, x) : NULL;
    neo_axis_rec axis = {.name = neo_def_axis(m, shape_of(q), 0)->name, .span = x->rec.span};
    if (level < q->n_loops && !all && !(own && whole)) {
      index[k] = early_exit_position(q, level, q->shape, x);
      continue;
    }
    axis.lo = outline_number(q->o, 0);
    axis.hi = all ? outline_difference(q->o, all->hi, all->lo) : neo_tensor_extent(m, q->alive, k);
    index[k] = neo_axis_ref(m, n);
    if (all)
      index[k] = outline_sum(q->o, early_exit_position(q, level, q->shape, x), index[k]);
    id[n++] = neo_axis_add(m, axis).i;
  }
  y->rec.axes = neo_list_new(m, id, n);
}

static void reduce(const early_exit *q, outline_instance *y, neo_reducer r, neo_expr body) {
  y->rec.reducer = (uint8_t)r;
  y->rec.body = neo_list_new(q->o->m, &body.i, 1);
}

outline_instance *early_exit_any_of(const early_exit *q, const outline_instance *x) {
  neo_module *m = q->o->m;
  neo_expr index[OUTLINE_AXES];
  outline_instance *y = early_exit_in_cell(q, x, q->any, neo_acc_ref(m, NEO_BOOL_T, 0));
  add_batch(q, x, y, index, false);
  reduce(q, y, NEO_RED_ANY,
         neo_load(m, q->alive, index, neo_tensor_rank(m, q->alive), x->rec.span));
  return y;
}

outline_instance *early_exit_most_of(const early_exit *q, const outline_instance *x,
                                     neo_tensor trip_count) {
  neo_module *m = q->o->m;
  neo_expr index[OUTLINE_AXES], zero = outline_number(q->o, 0);
  uint32_t rank = neo_tensor_rank(m, q->alive), own = early_exit_axis(q);
  outline_instance *y = early_exit_in_cell(q, x, q->most, neo_acc_ref(m, NEO_I64_T, 0));
  add_batch(q, x, y, index, !trip_count.i);
  neo_expr ran, last = outline_sum(q->o, index[own], outline_number(q->o, 1));
  if (trip_count.i) {
    for (uint32_t k = own; k + 1 < rank; k++)
      index[k] = index[k + 1];
    ran = neo_cast(m, NEO_I64_T, neo_load(m, trip_count, index, rank - 1, x->rec.span));
  } else {
    ran = neo_load(m, q->alive, index, rank, x->rec.span);
    ran = neo_op3(m, NEO_OP_SELECT, ran, last, zero);
  }
  reduce(q, y, NEO_RED_MAX, ran);
  return y;
}

outline_instance *early_exit_all_of(const early_exit *q, const outline_instance *x) {
  neo_module *m = q->o->m;
  uint32_t axis = axis_of(q, q->n_loops - 1)->axis, id[OUTLINE_AXES];
  neo_expr most = early_exit_read_cell(q, q->most, x);
  neo_expr runs = neo_op2(m, NEO_OP_LT, neo_axis_ref(m, axis), most);
  outline_instance *y = early_exit_in_cell(q, x, q->any, runs);
  for (uint32_t k = 0; k < y->rec.axes.n; k++)
    id[k] = neo_list_at(m, k == axis ? shape_of(q)->axes : y->rec.axes, k);
  y->rec.axes = neo_list_new(m, id, y->rec.n_out);
  y->fixed[axis] = false;
  y->base[axis] = y->extent[axis] = (neo_expr){0};
  y->iterations = q->n_loops == 1 ? -1 : x->iterations;
  return y;
}

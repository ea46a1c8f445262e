/* Circular buffers: storage of folded tensors. A tensor with an axis that fold.c folds to n
 * elements is stored in a smaller one, which has position r of the axis in element r % n:
 *
 *     h[r, j] = f(h[r - 1, j])     ->     folded[r % 2, j] = f(folded[(r - 1) % 2, j])
 *
 * Axes of extents S and R that are folded together have n cells for both, with position s, r in
 * (s*R + r) % n.
 *
 * A tensor in level order, c[p, j] = f[p, j]*(c[placed[p], j] else 0), stores the rows of two
 * levels. Two levels never have more than the V rows of the tensor, so rows of even levels are at
 * the beginning of its memory, and rows of odd levels at its end. Row p of level l, whose rows are
 * begin .. end - 1, is at
 *
 *     p - begin + (l % 2) * (V - (end - begin))
 *
 * The rows of a level are contiguous, and the memory between the two levels is never touched. */
#include "fusion/recurrence/internal.h"
#include "ir/clone.h"
#include "ir/element.h"
#include "ir/out_map.h"

neo_tensor outline_cells_new(const outliner *o, neo_tensor of, const outline_storage *r) {
  neo_module *m = o->m;
  neo_tensor_rec t = *neo_tensor_at(m, of);
  uint32_t extent[OUTLINE_AXES];
  for (uint32_t k = 0; k < t.extent.n; k++)
    extent[k] = neo_list_at(m, t.extent, k);
  for (uint32_t k = 0; k < r->n_folds; k++)
    if (r->fold[k].n != OUTLINE_TWO_LEVELS)
      extent[r->fold[k].axis] = outline_number(o, r->fold[k].n).i;
  t.extent = neo_list_new(m, extent, t.extent.n);
  neo_element_ends_drop(&t);
  t.pieces = (neo_list){0};
  t.name = neo_tensor_fresh_name(m, "folded", neo_name_text(m->names, t.name));
  return neo_tensor_add(m, t);
}

void outline_set_slices(outliner *o, neo_tensor t, const neo_order_step *loop, int64_t n) {
  outline_storage *r = &o->storage[t.i];
  bool changed = false;
  for (uint32_t k = 0; k < r->n_folds; k++)
    if (r->fold[k].order == loop && r->fold[k].n != n) {
      r->fold[k].n = n;
      changed = true;
    }
  if (changed)
    r->tensor = outline_cells_new(o, t, r);
}

neo_tensor outline_memory_of(const outliner *o, neo_tensor t) {
  return o->storage[t.i].tensor.i ? o->storage[t.i].tensor : t;
}

/* ---- positions */

/* The fold along the axis; n_folds: none. */
static uint32_t fold_along(const outline_storage *r, uint32_t axis) {
  uint32_t k = 0;
  while (k < r->n_folds && r->fold[k].axis != axis)
    k++;
  return k;
}

/* The position along fold k's axis, and along the axes joined with it. */
static neo_expr position_along(const outliner *o, neo_tensor t, uint32_t k, const neo_expr *at) {
  neo_module *m = o->m;
  const outline_fold *fold = o->storage[t.i].fold;
  neo_expr here = at[fold[k].axis];
  if (!k || !fold[k - 1].joined)
    return here;
  neo_expr outer = position_along(o, t, k - 1, at);
  outer = neo_op2(m, NEO_OP_MUL, outer, neo_tensor_extent(m, t, fold[k].axis));
  return neo_op2(m, NEO_OP_ADD, outer, here);
}

neo_expr outline_cell(const outliner *o, neo_tensor t, uint32_t axis, const neo_expr *at) {
  const outline_storage *r = &o->storage[t.i];
  uint32_t k = fold_along(r, axis);
  neo_linear l;
  if (k == r->n_folds || r->fold[k].n == OUTLINE_TWO_LEVELS)
    return at[axis];
  neo_expr p = position_along(o, t, k, at);
  if (neo_linear_of(o->m, p, &l))
    p = neo_linear_expr(o->m, &l);
  return r->fold[k].n == 1 ? outline_number(o, 0)
                           : neo_op2(o->m, NEO_OP_MOD, p, outline_number(o, r->fold[k].n));
}

/* The position in memory of the first row of a level with rows begin .. end - 1. */
static neo_expr begin_of(const outliner *o, neo_tensor t, uint32_t axis, neo_expr level,
                         neo_expr begin, neo_expr end) {
  neo_expr all = neo_tensor_extent(o->m, t, axis);
  neo_expr free = neo_op2(o->m, NEO_OP_SUB, all, neo_op2(o->m, NEO_OP_SUB, end, begin));
  return neo_op2(o->m, NEO_OP_MUL, neo_op2(o->m, NEO_OP_MOD, level, outline_number(o, 2)), free);
}

/* The first row of the level, which may be beyond the last one. */
static neo_expr first_of(const outliner *o, const outline_instance *x, neo_tensor first,
                         neo_expr level) {
  neo_module *m = o->m;
  neo_expr none = neo_const_int(m, NEO_I32_T, 0);
  return neo_cast(m, NEO_I64_T, neo_load_else(m, first, &level, 1, none, x->rec.span));
}

/* The position in memory of row `at`, as written, which x reads as `row`. `first`: the copy of
 * x->level.first. */
static neo_expr cell_of_row(const outliner *o, const outline_instance *x, neo_tensor t,
                            uint32_t axis, neo_tensor first, neo_expr row, neo_expr at) {
  neo_expr one = outline_number(o, 1);
  bool before;
  neo_tensor table = outline_level_table(o, x, row, &before);
  neo_expr level = x->level.number, begin = x->level.begin, end = x->level.end;
  if (table.i && before) {
    level = neo_op2(o->m, NEO_OP_SUB, level, one);
    end = begin;
    begin = first_of(o, x, first, level);
  } else if (table.i) {
    level = neo_op2(o->m, NEO_OP_ADD, level, one);
    begin = end;
    end = x->level.serial ? neo_op2(o->m, NEO_OP_ADD, begin, one)
                          : first_of(o, x, first, neo_op2(o->m, NEO_OP_ADD, level, one));
  }
  return neo_op2(o->m, NEO_OP_ADD, neo_op2(o->m, NEO_OP_SUB, at, begin),
                 begin_of(o, t, axis, level, begin, end));
}

neo_expr outline_cell_read(const outliner *o, const outline_instance *x, neo_expr read,
                           uint32_t axis, const neo_expr *at, neo_tensor first) {
  neo_tensor t = {neo_expr_node(o->m, read)->attr};
  const outline_storage *r = &o->storage[t.i];
  uint32_t k = fold_along(r, axis);
  return k < r->n_folds && r->fold[k].n == OUTLINE_TWO_LEVELS
             ? cell_of_row(o, x, t, axis, first, neo_expr_arg(o->m, read, axis), at[axis])
             : outline_cell(o, t, axis, at);
}

/* The beginning of the instance's elements along the axis. */
static neo_expr begin_along(const outliner *o, const outline_instance *x, uint32_t axis) {
  neo_out_dim map = neo_out_map_at(o->m, x->rec.out_map, axis);
  if (!x->fixed[axis] && !x->base[axis].i)
    return outline_number(o, 0);
  neo_expr scaled = neo_op2(o->m, NEO_OP_MUL, x->base[axis], outline_number(o, map.stride));
  return neo_op2(o->m, NEO_OP_ADD, scaled, outline_number(o, map.offset));
}

neo_slice outline_slice_of(const outliner *o, neo_tensor t, const outline_instance *x) {
  neo_module *m = o->m;
  const outline_storage *r = &o->storage[t.i];
  neo_slice s = {.offset = outline_number(o, 0)};
  neo_expr at[OUTLINE_AXES];
  uint32_t id[OUTLINE_AXES], rank = neo_tensor_rank(m, t);
  bool one = true;
  for (uint32_t k = 0; k < rank; k++)
    at[k] = begin_along(o, x, k);
  for (uint32_t k = 0; k < rank; k++) {
    bool by_level = outline_is_by_level(r) && r->fold[0].axis == k;
    neo_expr i = by_level ? begin_of(o, t, k, x->level.number, x->level.begin, x->level.end)
                          : outline_cell(o, t, k, at);
    s.offset = neo_op2(m, NEO_OP_MUL, s.offset, neo_tensor_extent(m, outline_memory_of(o, t), k));
    s.offset = neo_op2(m, NEO_OP_ADD, s.offset, i);
    one = one && outline_has_one_position(o, x, k);
    s.fixed += one;
    id[k] = i.i;
  }
  s.at = neo_list_new(m, id, rank);
  return s;
}

/* ---- stores of the tree */

/* Tensors in level order get no store: the position of a row depends on its level, too. */
void outline_add_stores(outliner *o) {
  neo_module *m = o->m;
  for (uint32_t t = 1; t < o->n_tensors; t++) {
    const outline_storage *r = &o->storage[t];
    neo_store s = {.tensor = {t}, .scope = o->out->tree.root};
    if (!r->n_folds || outline_is_by_level(r))
      continue;
    s.rank = neo_tensor_rank(m, s.tensor);
    neo_expr *at = NEO_NEW_ARRAY(o->a, neo_expr, s.rank + 1);
    neo_expr *extent = NEO_NEW_ARRAY(o->a, neo_expr, s.rank + 1);
    neo_expr *position = NEO_NEW_ARRAY(o->a, neo_expr, s.rank + 1);
    for (uint32_t k = 0; k < s.rank; k++)
      position[k] = neo_axis_ref(m, k);
    for (uint32_t k = 0; k < s.rank; k++) {
      extent[k] = neo_tensor_extent(m, r->tensor, k);
      at[k] = outline_cell(o, s.tensor, k, position);
    }
    s.at = at;
    s.extent = extent;
    NEO_PUSH(o->a, &o->out->tree.stores, s);
  }
}

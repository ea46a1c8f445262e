/* Instances as definitions of a segment (segments.c). A tensor in memory gets a copy without
 * definition, as which the segment reads it, and each result a slice:
 *
 *     leaf u[t]   # u[t - 1]   ->   slice.u[j] = f(memory.folded.u[(t - 1) % 2, j])
 *                                   slice.u at element t % 2 of folded.u */
#include "fusion/recurrence/internal.h"
#include "ir/clone.h"
#include "ir/element.h"
#include "ir/out_map.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  outliner *o;
  const outline_open *open;
  const outline_instance *x;
  neo_map *copies;
  uint32_t n_axes;
  neo_map made; /* expression -> its replacement */
} writer;

/* ---- reads */

/* The segment's copy of t, which is in memory. No definition of the segment makes it, so that the
 * loops alone order its readers and writers. */
static neo_tensor copy_of(writer *w, neo_tensor t) {
  uint64_t made;
  neo_module *m = w->o->m;
  t = outline_memory_of(w->o, t);
  neo_tensor_rec r = *neo_tensor_at(m, t);
  if (r.role != NEO_ROLE_TEMP && r.role != NEO_ROLE_UPDATE)
    return t;
  if (neo_map_get(w->copies, t.i, &made))
    return (neo_tensor){(uint32_t)made};
  r.role = NEO_ROLE_TEMP;
  r.updates = (neo_tensor){0};
  r.pieces = (neo_list){0};
  r.name = neo_tensor_fresh_name(m, "memory", neo_name_text(m->names, r.name));
  neo_tensor copy = neo_tensor_add(m, r);
  neo_map_set(w->copies, t.i, copy.i);
  neo_map_set(&w->o->out->memory, copy.i, t.i);
  return copy;
}

/* The slice of instance p for its result t. */
static neo_tensor slice_of(const writer *w, const outline_instance *p, neo_tensor t) {
  for (uint32_t k = 0; k < p->rec.out.n; k++)
    if (neo_list_at(w->o->m, p->rec.out, k) == t.i)
      return p->slice[k];
  return t;
}

/* The read of a slice: positions count from its first element. */
static neo_tensor in_slice(const writer *w, const outline_instance *p, neo_tensor t,
                           neo_expr *arg) {
  neo_module *m = w->o->m;
  for (uint32_t k = 0; k < p->rec.n_out; k++) {
    neo_linear l;
    if (p->fixed[k])
      arg[k] = outline_number(w->o, 0);
    else if (p->base[k].i)
      arg[k] = neo_op2(m, NEO_OP_SUB, arg[k], p->base[k]);
    if (neo_linear_of(m, arg[k], &l))
      arg[k] = neo_linear_expr(m, &l);
  }
  return slice_of(w, p, t);
}

static neo_expr written(writer *w, neo_expr e);

/* Adds to `all` the condition that position `at` is inside of the tensor: on a folded axis the read
 * itself, at a remainder, is inside for any position. */
static neo_expr within(writer *w, neo_tensor t, uint32_t axis, neo_expr at, neo_expr all) {
  neo_module *m = w->o->m;
  neo_expr part[2] = {neo_op2(m, NEO_OP_LE, outline_number(w->o, 0), at),
                      neo_op2(m, NEO_OP_LT, at, neo_tensor_extent(m, t, axis))};
  for (int k = 0; k < 2; k++)
    if (!outline_proved(w->o, w->x, w->n_axes, part[k]))
      all = all.i ? neo_op2(m, NEO_OP_AND, all, part[k]) : part[k];
  return all;
}

static neo_expr written_memory(writer *w, neo_expr e, const neo_node *n, neo_expr *arg) {
  neo_module *m = w->o->m;
  neo_tensor t = {n->attr}, copy = copy_of(w, t);
  const outline_storage *r = &w->o->storage[t.i];
  uint32_t rank = neo_tensor_rank(m, t);
  neo_expr inside = {0}, at[OUTLINE_AXES];
  memcpy(at, arg, rank * sizeof *at);
  neo_tensor first = outline_is_by_level(r) ? copy_of(w, w->x->level.first) : (neo_tensor){0};
  for (uint32_t k = 0; k < r->n_folds; k++) {
    uint32_t axis = r->fold[k].axis;
    if (n->op == NEO_OP_LOAD_ELSE)
      inside = within(w, t, axis, at[axis], inside);
    arg[axis] = outline_cell_read(w->o, w->x, e, axis, at, first);
  }
  if (n->op == NEO_OP_LOAD)
    return neo_load(m, copy, arg, rank, n->span);
  neo_expr made = neo_load_else(m, copy, arg, rank, arg[rank], n->span);
  return inside.i ? neo_op3(m, NEO_OP_SELECT, inside, made, arg[rank]) : made;
}

static neo_expr written_read(writer *w, neo_expr e, const neo_node *n, neo_expr *arg) {
  neo_module *m = w->o->m;
  neo_tensor t = {n->attr};
  uint32_t rank = neo_tensor_rank(m, t);
  int from = outline_producer(w->o, w->open, w->x, w->n_axes, e);
  if (from < 0)
    return written_memory(w, e, n, arg);
  t = in_slice(w, w->open->at[from], t, arg);
  if (n->op == NEO_OP_LOAD)
    return neo_load(m, t, arg, rank, n->span);
  return neo_load_else(m, t, arg, rank, arg[rank], n->span);
}

static neo_expr write_node(writer *w, neo_expr e) {
  neo_module *m = w->o->m;
  neo_node n = *neo_expr_node(m, e);
  neo_expr *arg = NEO_NEW_ARRAY(w->o->a, neo_expr, n.arg.n + 1);
  bool same = true;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    neo_expr from = neo_list_expr(m, n.arg, k);
    arg[k] = written(w, from);
    same = same && arg[k].i == from.i;
  }
  if (outline_is_read(&n))
    return written_read(w, e, &n, arg);
  return same ? e : neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
}

static neo_expr written(writer *w, neo_expr e) {
  uint64_t made;
  if (!e.i)
    return e;
  if (neo_map_get(&w->made, e.i, &made))
    return (neo_expr){(uint32_t)made};
  neo_expr x = write_node(w, e);
  neo_map_set(&w->made, e.i, x.i);
  return x;
}

/* An expression that uses the first n_axes axes. */
static neo_expr written_at(writer *w, neo_expr e, uint32_t n_axes) {
  if (w->n_axes != n_axes)
    neo_map_init(&w->made, w->o->a); /* facts differ */
  w->n_axes = n_axes;
  return written(w, e);
}

static neo_list written_list(writer *w, neo_list l, uint32_t n_axes) {
  uint32_t id[NEO_DEF_AXES];
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = written_at(w, neo_list_expr(w->o->m, l, k), n_axes).i;
  return neo_list_new(w->o->m, id, l.n);
}

static neo_list written_axes(writer *w, const neo_def_rec *r) {
  uint32_t id[NEO_DEF_AXES];
  for (uint32_t k = 0; k < r->axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(w->o->m, r, k);
    axis.lo = written_at(w, axis.lo, k);
    axis.hi = written_at(w, axis.hi, k);
    id[k] = neo_axis_add(w->o->m, axis).i;
  }
  return neo_list_new(w->o->m, id, r->axes.n);
}

/* ---- slices */

/* A stored slice has the extents of the whole, so that its strides match. */
static neo_tensor slice_new(writer *w, neo_recurrence_segment *s, neo_tensor t, bool partial) {
  outliner *o = w->o;
  neo_module *m = o->m;
  bool stored = o->stored[t.i];
  neo_tensor whole = stored ? outline_memory_of(o, t) : t;
  neo_tensor_rec r = *neo_tensor_at(m, whole);
  uint32_t extent[16];
  for (uint32_t k = 0; k < r.extent.n; k++)
    extent[k] = (!stored && w->x->extent[k].i ? w->x->extent[k] : neo_list_expr(m, r.extent, k)).i;
  r.extent = neo_list_new(m, extent, r.extent.n);
  neo_element_ends_drop(&r);
  r.role = NEO_ROLE_TEMP;
  r.updates = (neo_tensor){0};
  r.pieces = (neo_list){0};
  r.moves = stored;
  r.partial = r.partial && partial;
  r.terms = false;
  r.name = neo_tensor_fresh_name(m, "slice", neo_name_text(m->names, r.name));
  neo_tensor slice = neo_tensor_add(m, r);
  neo_slice part = outline_slice_of(o, t, w->x);
  part.slice = slice;
  part.whole = whole;
  part.stored = stored;
  NEO_PUSH(o->a, &o->out->slices, part);
  if (stored)
    NEO_PUSH(o->a, &s->roots, slice);
  return slice;
}

/* The instance's out_map in the slice: a fixed axis has one element, the slice's first. */
static neo_list map_of(const outliner *o, const outline_instance *x) {
  neo_out_dim map[NEO_DEF_AXES];
  if (!x->rec.out_map.n)
    return x->rec.out_map;
  for (uint32_t k = 0; k < x->rec.n_out; k++)
    map[k] = x->fixed[k] ? (neo_out_dim){1, 0} : neo_out_map_at(o->m, x->rec.out_map, k);
  return neo_out_map_new(o->m, map, x->rec.n_out);
}

/* Have the written values the same selects as the instance's (simplify.c)? */
static bool has_same_selects(writer *w, const neo_def_rec *from, const neo_def_rec *to) {
  neo_module *m = w->o->m;
  bool same = w->x->partial;
  for (uint32_t k = 0; k < from->finish.n && same; k++) {
    neo_expr e = neo_list_expr(m, from->finish, k), now = neo_list_expr(m, to->finish, k);
    same = neo_expr_node(m, now)->op == NEO_OP_SELECT &&
           neo_expr_arg(m, now, 0).i == written_at(w, neo_expr_arg(m, e, 0), from->n_out).i;
  }
  return same;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = ((const neo_expr *)a)->i, y = ((const neo_expr *)b)->i;
  return (x > y) - (x < y);
}

/* Conditions, on elements in memory, under which the instance is needed. */
static neo_conditions needed_where(writer *w) {
  neo_expr *at = NEO_NEW_ARRAY(w->o->a, neo_expr, w->x->needed.n + 1);
  uint32_t n = 0;
  for (size_t k = 0; k < w->x->needed.n; k++)
    at[n++] = neo_condition_of(w->o->m, written_at(w, w->x->needed.at[k], 0));
  qsort(at, n, sizeof *at, by_number);
  return (neo_conditions){n, at};
}

void outline_write(outliner *o, neo_recurrence_segment *s, const outline_open *open,
                   outline_instance *x, neo_map *copies) {
  writer w = {.o = o, .open = open, .x = x, .copies = copies};
  neo_def_rec r = x->rec;
  neo_def_rec y = {.n_out = r.n_out, .reducer = r.reducer, .span = r.span};
  uint32_t out[4];
  neo_map_init(&w.made, o->a);
  y.axes = written_axes(&w, &r);
  y.where = written_at(&w, r.where, r.axes.n);
  y.body = written_list(&w, r.body, r.axes.n);
  y.finish = written_list(&w, r.finish, r.n_out);
  y.out_map = map_of(o, x);
  bool partial = has_same_selects(&w, &r, &y);
  for (uint32_t k = 0; k < r.out.n; k++) {
    x->slice[k] = slice_new(&w, s, (neo_tensor){neo_list_at(o->m, r.out, k)}, partial);
    out[k] = x->slice[k].i;
  }
  y.out = neo_list_new(o->m, out, r.out.n);
  neo_def made = neo_def_add(o->m, y, true);
  NEO_PUSH(o->a, &s->defs, made);
  NEO_PUSH(o->a, &s->when, needed_where(&w));
}

/* Two passes over the order: the first finds segments and what has to be in memory, the second writes
 * the definitions. */
#include "fusion/recurrence.h"
#include "ir/clone.h"
#include "ir/out_map.h"

typedef struct { /* a loop around the point at hand */
  const neo_order_step *order;
  neo_expr index; /* its size */
} around;

typedef struct {
  neo_module *m;
  neo_arena *a;
  const neo_def *defs;
  size_t n;
  bool *own;    /* by tensor: a definition of the recurrence makes it */
  bool *stored; /* by tensor: it is in memory */
  bool write;   /* the second pass */
  NEO_VEC(around) loops;
  neo_recurrence *out;
  neo_recurrence_step *segment; /* that is open; null: none is */
  neo_map sliced;               /* a tensor that the open segment makes -> its definition */
  neo_map slice_of;             /* the same -> slice (second pass) */
  neo_map copies;               /* a tensor in memory -> the tensor that stands for it */
} outliner;

/* ---- where a definition is in its loops */

static const neo_order_member *member_of(const around *l, neo_def d) {
  for (uint32_t k = 0; k < l->order->n_members; k++)
    if (l->order->member[k].def.i == d.i)
      return &l->order->member[k];
  return NULL;
}

static neo_expr number(const outliner *o, int64_t x) {
  return neo_const_int(o->m, NEO_I64_T, x);
}

/* The position of an axis of a loop: its index less the delay. */
static neo_expr position(const outliner *o, const around *l, const neo_order_member *x) {
  return neo_op2(o->m, NEO_OP_SUB, l->index, number(o, x->delay));
}

/* by[axis] becomes the position of each axis of d that is a loop's; the others stay 0. */
static void positions(const outliner *o, neo_def d, neo_expr *by) {
  for (size_t k = 0; k < o->loops.n; k++) {
    const neo_order_member *x = member_of(&o->loops.at[k], d);
    if (x)
      by[x->axis] = position(o, &o->loops.at[k], x);
  }
}

/* Does d run in this round? 0: always. */
static neo_expr condition(const outliner *o, neo_def d) {
  neo_module *m = o->m;
  neo_expr all = {0}, lo, hi;
  for (size_t k = 0; k < o->loops.n; k++) {
    const neo_order_member *x = member_of(&o->loops.at[k], d);
    neo_expr at = position(o, &o->loops.at[k], x);
    neo_expr extent = neo_def_axis(m, neo_def_at(m, d), x->axis)->hi;
    neo_order_rounds(m, o->loops.at[k].order, &lo, &hi);
    neo_expr end = neo_op2(m, NEO_OP_ADD, extent, number(o, x->delay));
    neo_expr part[2] = {{0}};
    if (lo.i != number(o, x->delay).i)
      part[0] = neo_op2(m, NEO_OP_LE, number(o, 0), at);
    if (hi.i != end.i)
      part[1] = neo_op2(m, NEO_OP_LT, at, extent);
    for (int i = 0; i < 2; i++)
      if (part[i].i)
        all = all.i ? neo_op2(m, NEO_OP_AND, all, part[i]) : part[i];
  }
  return all;
}

/* ---- reads of what the open segment makes */

typedef enum { EARLIER, SAME, UNKNOWN } when_read;

static bool distance(const outliner *o, neo_expr a, neo_expr b, int64_t *x) {
  neo_linear l;
  if (!neo_linear_of(o->m, neo_op2(o->m, NEO_OP_SUB, a, b), &l) || l.n)
    return false;
  *x = l.constant;
  return true;
}

/* A read in d, of a tensor that definition `from` of the open segment makes. */
static when_read when_of(const outliner *o, neo_def d, neo_def from, neo_expr read) {
  neo_module *m = o->m;
  neo_def_rec p = *neo_def_at(m, from);
  neo_expr here[64] = {{0}}, there[64] = {{0}};
  bool whole = !p.out_map.n && neo_expr_node(m, read)->op == NEO_OP_LOAD;
  neo_tensor t = {neo_expr_node(m, read)->attr};
  bool same = whole && neo_tensor_at(m, t)->pieces.n == 1, earlier = false;
  positions(o, d, here);
  positions(o, from, there);
  for (uint32_t k = 0; k < p.n_out; k++) {
    if (!there[k].i)
      continue;
    int64_t x;
    neo_expr at = neo_expr_subst_axes(m, neo_expr_arg(m, read, k), here, 64);
    bool constant = whole && distance(o, at, there[k], &x);
    same = same && constant && x == 0;
    earlier = earlier || (constant && x != 0);
  }
  return earlier ? EARLIER : same ? SAME : UNKNOWN;
}

typedef struct {
  outliner *o;
  neo_def d;
  when_read worst;
} read_look;

static bool is_read(const neo_node *n) {
  return n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE;
}

static void look_read(void *ctx, neo_expr e) {
  read_look *l = ctx;
  const neo_node *n = neo_expr_node(l->o->m, e);
  uint64_t from;
  if (!is_read(n) || !neo_map_get(&l->o->sliced, n->attr, &from))
    return;
  if (when_of(l->o, l->d, (neo_def){(uint32_t)from}, e) == UNKNOWN)
    l->worst = UNKNOWN;
}

/* Can d join the open segment? It cannot if it may read in this round what the segment makes, in
 * another way than as a slice. */
static bool joins(outliner *o, neo_def d, neo_expr when) {
  read_look l = {o, d, SAME};
  if (!o->segment || o->segment->when.i != when.i)
    return false;
  neo_def_visit(o->m, d, look_read, &l);
  return l.worst != UNKNOWN;
}

/* ---- the first pass: what is read from memory */

static void look_stored(void *ctx, neo_expr e) {
  read_look *l = ctx;
  const neo_node *n = neo_expr_node(l->o->m, e);
  uint64_t from;
  if (!is_read(n))
    return;
  if (!neo_map_get(&l->o->sliced, n->attr, &from) ||
      when_of(l->o, l->d, (neo_def){(uint32_t)from}, e) != SAME)
    l->o->stored[n->attr] = true;
}

/* ---- the second pass: definitions of a round */

static neo_tensor copy_of(outliner *o, neo_tensor t) {
  uint64_t made;
  neo_tensor_rec r = *neo_tensor_at(o->m, t);
  if (r.role != NEO_ROLE_TEMP && r.role != NEO_ROLE_UPDATE)
    return t;
  if (neo_map_get(&o->copies, t.i, &made))
    return (neo_tensor){(uint32_t)made};
  r.role = NEO_ROLE_TEMP;
  r.updates = (neo_tensor){0};
  r.pieces = (neo_list){0};
  r.name = neo_tensor_fresh_name(o->m, "memory", neo_name_text(o->m->names, r.name));
  neo_tensor copy = neo_tensor_add(o->m, r);
  neo_map_set(&o->copies, t.i, copy.i);
  neo_map_set(&o->out->memory, copy.i, t.i);
  return copy;
}

static neo_expr rewrite_read(void *ctx, neo_module *m, neo_expr e) {
  read_look *l = ctx;
  outliner *o = l->o;
  neo_node n = *neo_expr_node(m, e);
  neo_expr arg[17], there[64] = {{0}};
  uint64_t from, slice = 0;
  if (!is_read(&n))
    return e;
  neo_tensor t = {n.attr};
  uint32_t rank = neo_tensor_rank(m, t);
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  /* Axes of loops are positions already, which when_of leaves as they are. */
  bool same = neo_map_get(&o->sliced, n.attr, &from) &&
              when_of(o, l->d, (neo_def){(uint32_t)from}, e) == SAME;
  if (same) {
    positions(o, (neo_def){(uint32_t)from}, there);
    (void)neo_map_get(&o->slice_of, n.attr, &slice);
    for (uint32_t k = 0; k < rank; k++)
      arg[k] = there[k].i ? number(o, 0) : arg[k];
  }
  t = same ? (neo_tensor){(uint32_t)slice} : copy_of(o, t);
  if (n.op == NEO_OP_LOAD)
    return neo_load(m, t, arg, rank, n.span);
  return neo_load_else(m, t, arg, rank, arg[rank], n.span);
}

typedef struct {
  neo_expr by[64];
  uint32_t n;
} axes_at;

static neo_expr place_axes(const outliner *o, const axes_at *x, neo_expr e) {
  return e.i ? neo_expr_subst_axes(o->m, e, x->by, x->n) : e;
}

static neo_expr rewritten(outliner *o, neo_def d, const axes_at *x, neo_expr e) {
  read_look l = {o, d, SAME};
  return e.i ? neo_expr_rewrite(o->m, place_axes(o, x, e), rewrite_read, &l) : e;
}

static neo_list rewritten_list(outliner *o, neo_def d, const axes_at *x, neo_list list) {
  uint32_t id[64];
  for (uint32_t k = 0; k < list.n; k++)
    id[k] = rewritten(o, d, x, neo_list_expr(o->m, list, k)).i;
  return neo_list_new(o->m, id, list.n);
}

static neo_list round_axes(outliner *o, neo_def d, const neo_def_rec *r, const axes_at *x) {
  uint32_t id[64];
  for (uint32_t k = 0; k < r->axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(o->m, r, k);
    bool fixed = k < r->n_out && x->by[k].i;
    axis.lo = fixed ? number(o, 0) : rewritten(o, d, x, axis.lo);
    axis.hi = fixed ? number(o, 1) : rewritten(o, d, x, axis.hi);
    id[k] = neo_axis_add(o->m, axis).i;
  }
  return neo_list_new(o->m, id, r->axes.n);
}

/* Where the round's elements begin in the tensor, row-major. */
static neo_expr offset_of(const outliner *o, neo_tensor t, const neo_def_rec *d, const axes_at *x) {
  neo_module *m = o->m;
  neo_expr at = number(o, 0);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    neo_out_dim map = neo_out_map_at(m, d->out_map, k);
    neo_expr i = number(o, 0);
    if (x->by[k].i)
      i = neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, x->by[k], number(o, map.stride)),
                  number(o, map.offset));
    at = neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, at, neo_tensor_extent(m, t, k)), i);
  }
  return at;
}

/* A slice that is stored has the extents of the whole, so that its rows are as far apart. */
static neo_tensor slice_new(outliner *o, neo_tensor t, const neo_def_rec *d, const axes_at *x) {
  neo_module *m = o->m;
  neo_tensor_rec r = *neo_tensor_at(m, t);
  bool stored = o->stored[t.i];
  uint32_t extent[16];
  for (uint32_t k = 0; k < r.extent.n; k++)
    extent[k] = (!stored && x->by[k].i ? number(o, 1) : neo_list_expr(m, r.extent, k)).i;
  r.extent = neo_list_new(m, extent, r.extent.n);
  r.role = NEO_ROLE_TEMP;
  r.updates = (neo_tensor){0};
  r.pieces = (neo_list){0};
  r.name = neo_tensor_fresh_name(m, "round", neo_name_text(m->names, r.name));
  neo_tensor slice = neo_tensor_add(m, r);
  NEO_PUSH(o->a, &o->out->slices, (neo_slice){slice, t, offset_of(o, t, d, x), stored});
  neo_map_set(&o->slice_of, t.i, slice.i);
  if (stored)
    NEO_PUSH(o->a, &o->segment->roots, slice);
  return slice;
}

/* The map of the round's elements in the slice: axes of loops are at its beginning. */
static neo_list round_map(outliner *o, const neo_def_rec *d, const axes_at *x) {
  neo_out_dim map[64];
  if (!d->out_map.n)
    return d->out_map;
  for (uint32_t k = 0; k < d->n_out; k++)
    map[k] = x->by[k].i ? (neo_out_dim){1, 0} : neo_out_map_at(o->m, d->out_map, k);
  return neo_out_map_new(o->m, map, d->n_out);
}

static void write_def(outliner *o, neo_def d) {
  neo_module *m = o->m;
  neo_def_rec r = *neo_def_at(m, d);
  axes_at x = {.n = r.n_out};
  uint32_t out[4];
  positions(o, d, x.by);
  neo_def_rec y = {.n_out = r.n_out, .reducer = r.reducer, .span = r.span};
  y.axes = round_axes(o, d, &r, &x);
  y.where = rewritten(o, d, &x, r.where);
  y.body = rewritten_list(o, d, &x, r.body);
  y.finish = rewritten_list(o, d, &x, r.finish);
  y.out_map = round_map(o, &r, &x);
  for (uint32_t k = 0; k < r.out.n; k++)
    out[k] = slice_new(o, (neo_tensor){neo_list_at(m, r.out, k)}, &r, &x).i;
  y.out = neo_list_new(m, out, r.out.n);
  neo_def made = neo_def_add(m, y, true);
  NEO_PUSH(o->a, &o->segment->defs, made);
}

/* ---- both passes */

static void close_segment(outliner *o) {
  o->segment = NULL;
  neo_map_init(&o->sliced, o->a);
  neo_map_init(&o->slice_of, o->a);
}

static void add_def(outliner *o, neo_recurrence_steps *steps, neo_def d) {
  neo_expr when = condition(o, d);
  neo_list out = neo_def_at(o->m, d)->out;
  read_look l = {o, d, SAME};
  if (!joins(o, d, when)) {
    close_segment(o);
    NEO_PUSH(o->a, steps, (neo_recurrence_step){.when = when});
    o->segment = &steps->at[steps->n - 1];
  }
  if (o->write)
    write_def(o, d);
  else
    neo_def_visit(o->m, d, look_stored, &l);
  for (uint32_t k = 0; k < out.n; k++)
    neo_map_set(&o->sliced, neo_list_at(o->m, out, k), d.i);
}

static neo_recurrence_step loop_of(outliner *o, const neo_order_step *order) {
  neo_module *m = o->m;
  neo_recurrence_step out = {.is_loop = true, .down = order->down};
  neo_order_rounds(m, order, &out.lo, &out.hi);
  neo_prover *p = neo_prover_new(m);
  neo_facts none = {0};
  int64_t lo, hi, unused;
  (void)neo_interval(p, &none, out.lo, &lo, &unused);
  (void)neo_interval(p, &none, out.hi, &unused, &hi);
  neo_prover_free(p);
  const neo_order_member *x = &order->member[0];
  out.index =
      neo_size_add(m, (neo_size_rec){.kind = NEO_SIZE_RUNTIME,
                                     .loop_index = true,
                                     .name = neo_def_axis(m, neo_def_at(m, x->def), x->axis)->name,
                                     .lo = lo,
                                     .hi = hi > lo ? hi - 1 : lo});
  close_segment(o);
  NEO_PUSH(o->a, &o->loops, (around){order, neo_size_ref(m, out.index)});
  for (uint32_t k = 0; k < order->n_steps; k++) {
    if (order->step[k].def.i) {
      add_def(o, &out.steps, order->step[k].def);
      continue;
    }
    neo_recurrence_step inner = loop_of(o, &order->step[k]);
    NEO_PUSH(o->a, &out.steps, inner);
  }
  close_segment(o);
  o->loops.n--;
  return out;
}

static void add_once(neo_arena *a, neo_recurrence *r, neo_tensor t) {
  for (size_t k = 0; k < r->reads.n; k++)
    if (r->reads.at[k].i == t.i)
      return;
  NEO_PUSH(a, &r->reads, t);
}

static void look_outside(void *ctx, neo_expr e) {
  read_look *l = ctx;
  const neo_node *n = neo_expr_node(l->o->m, e);
  if (is_read(n) && !l->o->own[n->attr])
    add_once(l->o->a, l->o->out, (neo_tensor){n->attr});
}

static bool is_member(const outliner *o, uint32_t d) {
  for (size_t k = 0; k < o->n; k++)
    if (o->defs[k].i == d)
      return true;
  return false;
}

/* Has the tensor pieces that others make? */
static bool is_shared(const outliner *o, neo_tensor t) {
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (!is_member(o, neo_list_at(o->m, pieces, k)))
      return true;
  return false;
}

/* Lists the tensors that the recurrence reads and writes. One of which it makes some pieces is read, too. */
static void find_memory(outliner *o) {
  for (size_t k = 0; k < o->n; k++) {
    read_look l = {o, o->defs[k], SAME};
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    neo_def_visit(o->m, o->defs[k], look_outside, &l);
    for (uint32_t j = 0; j < out.n; j++) {
      neo_tensor t = {neo_list_at(o->m, out, j)};
      bool listed = !o->stored[t.i];
      for (size_t i = 0; i < o->out->roots.n && !listed; i++)
        listed = o->out->roots.at[i].i == t.i;
      if (listed)
        continue;
      NEO_PUSH(o->a, &o->out->roots, t);
      if (is_shared(o, t))
        add_once(o->a, o->out, t);
    }
  }
}

static void mark(outliner *o, const bool *leaves) {
  for (size_t k = 0; k < o->n; k++) {
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    for (uint32_t j = 0; j < out.n; j++) {
      uint32_t t = neo_list_at(o->m, out, j);
      o->own[t] = true;
      o->stored[t] = leaves[t] || neo_tensor_at(o->m, (neo_tensor){t})->pieces.n > 1;
    }
  }
}

neo_recurrence *neo_recurrence_of(neo_module *m, neo_arena *a, const neo_def *defs, size_t n,
                                  const bool *leaves) {
  neo_order_step order;
  outliner o = {.m = m, .a = a, .defs = defs, .n = n};
  neo_prover *p = neo_prover_new(m);
  bool found = neo_order_find(p, defs, n, a, &order, NULL);
  neo_prover_free(p);
  if (!found)
    return NULL;
  o.own = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  o.stored = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  o.out = NEO_NEW(a, neo_recurrence);
  neo_map_init(&o.out->memory, a);
  neo_map_init(&o.copies, a);
  mark(&o, leaves);
  for (int pass = 0; pass < 2; pass++) {
    o.write = pass == 1;
    o.out->loop = loop_of(&o, &order);
  }
  find_memory(&o);
  return o.out;
}

const neo_slice *neo_recurrence_slice(const neo_recurrence *r, neo_tensor slice) {
  for (size_t k = 0; k < r->slices.n; k++)
    if (r->slices.at[k].slice.i == slice.i)
      return &r->slices.at[k];
  return NULL;
}

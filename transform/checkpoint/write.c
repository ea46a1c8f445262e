/* Strip-mined definitions. An axis t of T iterations becomes a chunk q, the first axis, and an
 * iteration r in it:
 *
 *     h[t, j] = f(x[t, j], (h[t-1, j] else 0))
 *     ->
 *     chunk.u[q, r, j] = f(x[q*K + r, j],
 *                          select(r >= 1, chunk.u[q, r-1, j], (edge.u[q-1, r-1 + 1, j] else 0)))
 *     edge.u[q, i, j] = chunk.u[q, K-1 + i, j]
 *
 * A backward loop has not computed chunk q-1 yet and reads the edges of the forward pass:
 *
 *     again.u[q, r, j] = f(x[q*K + r, j],
 *                          select(r >= 1, again.u[q, r-1, j], (edge.u[q-1, r-1 + 1, j] else 0)))
 *
 * Where the last chunk may be shorter, the definition is a select; nobody reads elements past the
 * last iteration. */
#include "ir/clone.h"
#include "ir/define.h"
#include "ir/element.h"
#include "transform/checkpoint/parts.h"
#include "transform/embed.h"
#include <string.h>

static neo_expr plus(const checkpoints *c, neo_expr a, neo_expr b) {
  return neo_op2(c->m, NEO_OP_ADD, a, b);
}

static neo_expr times_chunk(const checkpoints *c, neo_expr q) {
  return neo_op2(c->m, NEO_OP_MUL, q, checkpoint_number(c, c->chunk));
}

checkpoint_scope checkpoint_scope_of(checkpoints *c, uint32_t chunk_loop, const neo_def_rec *d,
                                     uint32_t axis) {
  checkpoint_scope s = {.c = c, .chunk_loop = chunk_loop, .n_axes = d->axes.n};
  for (uint32_t k = 0; k < d->axes.n; k++)
    s.by[k] = neo_axis_ref(c->m, checkpoint_place(c, k));
  s.q = neo_axis_ref(c->m, checkpoint_chunk_place(c));
  s.r = s.by[axis];
  s.t = plus(c, times_chunk(c, s.q), s.r);
  s.by[axis] = s.t;
  return s;
}

/* ---- reads */

typedef struct { /* a read of tensor `from`, whose chunks are `to` */
  checkpoint_scope *s;
  neo_node n;
  neo_tensor from, to;
  uint32_t along; /* dimension of `from` along the iterations */
  int64_t offset; /* iterations from the reader's to the read one */
  neo_expr other; /* value where there is no element */
} chunk_read;

/* Reads tensor t; `one`: index in t of dimensions cut to one element; null: none is cut. */
static neo_expr read_at(const chunk_read *x, neo_tensor t, int64_t chunks, int64_t by, bool guarded,
                        const neo_expr *one) {
  neo_module *m = x->s->c->m;
  neo_expr at[NEO_DEF_AXES];
  uint32_t rank = neo_tensor_rank(m, x->from);
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t to = checkpoint_place(x->s->c, k);
    at[to] = one && one[to].i ? checkpoint_number(x->s->c, 0) : neo_list_expr(m, x->n.arg, k);
  }
  at[checkpoint_chunk_place(x->s->c)] = checkpoint_sum(x->s->c, x->s->q, chunks);
  at[checkpoint_place(x->s->c, x->along)] = checkpoint_sum(x->s->c, x->s->r, by);
  if (!guarded)
    return neo_load(m, t, at, rank + 1, x->n.span);
  return neo_load_else(m, t, at, rank + 1, x->other, x->n.span);
}

/* Is chunk q + by computed before chunk q? */
static bool is_made(const checkpoints *c, uint32_t chunk_loop, int64_t by) {
  return c->loops.at[chunk_loop - 1].down ? by > 0 : by < 0;
}

/* ---- edges */

/* The index of a dimension, if it is the same for all readers, such as the last of a loop in the
 * iteration; the edge has that element alone. 0: it is not. */
neo_expr checkpoint_one_element(const checkpoints *c, neo_node n, uint32_t dim) {
  neo_module *m = c->m;
  neo_expr e = neo_list_expr(m, n.arg, dim), zero = checkpoint_number(c, 0);
  if (!checkpoint_is_over_sizes(m, e))
    return (neo_expr){0};
  neo_expr extent = neo_tensor_extent(m, (neo_tensor){n.attr}, dim);
  bool inside = neo_proves(c->p, NULL, neo_op2(m, NEO_OP_LE, zero, e)) &&
                neo_proves(c->p, NULL, neo_op2(m, NEO_OP_LT, e, extent));
  return inside ? e : (neo_expr){0};
}

static neo_tensor define_edge(const chunk_read *x, neo_tensor chunked, bool first,
                              const neo_expr *one) {
  checkpoints *c = x->s->c;
  neo_module *m = c->m;
  uint32_t d = checkpoint_maker(c, x->from.i), rank = neo_tensor_rank(m, chunked), id[NEO_DEF_AXES];
  uint32_t chunk = checkpoint_chunk_place(c), along = checkpoint_place(c, x->along);
  neo_expr at[NEO_DEF_AXES], from = checkpoint_number(c, first ? 0 : c->chunk - c->lag);
  neo_def_rec r = {.n_out = rank, .span = neo_tensor_at(m, x->from)->span, .origin = d};
  checkpoint_mark(c, c->def[d].home, 0, &r);
  for (uint32_t k = 0; k < rank; k++) {
    neo_axis_rec axis = *neo_def_axis(m, neo_def_at(m, (neo_def){d}), k > chunk ? k - 1 : k);
    axis = k == chunk ? checkpoint_chunk_axis(c) : axis;
    axis.hi = k == along ? checkpoint_number(c, c->lag) : axis.hi;
    axis.hi = one[k].i ? checkpoint_number(c, 1) : axis.hi;
    id[k] = neo_axis_add(m, axis).i;
    at[k] = one[k].i ? one[k] : neo_axis_ref(m, k);
  }
  at[along] = c->lag == 1 ? from : plus(c, from, at[along]);
  neo_expr value = neo_load(m, chunked, at, rank, r.span);
  if (!c->exact) {
    neo_expr iteration = plus(c, times_chunk(c, at[chunk]), at[along]);
    value = neo_op3(m, NEO_OP_SELECT, neo_op2(m, NEO_OP_LT, iteration, c->iterations), value,
                    neo_const_int(m, neo_expr_type(m, value), 0));
  }
  r.axes = neo_list_new(m, id, rank);
  r.finish = neo_list_one(m, value.i);
  neo_temp t = {.prefix = "edge",
                .like = x->from,
                .type = neo_expr_type(m, value),
                .bound = neo_tensor_at(m, x->from)->bound};
  neo_tensor edge = neo_temp_define(m, &t, r);
  neo_tensor_at(m, edge)->partial = !c->exact;
  return edge;
}

/* The last (or first) slices of the tensor's chunks, in the loop that computes it. one[k] gets the
 * only element along dimension k; 0: all. */
static neo_tensor edge_of(const chunk_read *x, bool first, neo_expr *one) {
  checkpoints *c = x->s->c;
  bool some = false;
  uint32_t rank = neo_tensor_rank(c->m, x->from);
  for (uint32_t k = 0; k < rank; k++) {
    neo_expr e = k == x->along ? (neo_expr){0} : checkpoint_one_element(c, x->n, k);
    one[checkpoint_place(c, k)] = e;
    some = some || e.i;
  }
  one[checkpoint_chunk_place(c)].i = 0;
  neo_tensor chunked = checkpoint_chunked(c, c->def[checkpoint_maker(c, x->from.i)].home, x->from);
  if (c->exact && c->chunk == c->lag && !some)
    return chunked;
  for (size_t k = 0; k < c->edges.n; k++) {
    const checkpoint_part *y = &c->edges.at[k];
    if (y->of.i == x->from.i && y->first == first &&
        memcmp(y->one, one, (rank + 1) * sizeof *one) == 0)
      return y->part;
  }
  checkpoint_part y = {.of = x->from, .first = first};
  memcpy(y.one, one, (rank + 1) * sizeof *one);
  y.part = define_edge(x, chunked, first, one);
  NEO_PUSH(c->a, &c->edges, y);
  return y.part;
}

/* The read's element in a neighbouring chunk; 0: it is not computed yet. */
static neo_expr read_neighbour(const chunk_read *x) {
  checkpoints *c = x->s->c;
  int64_t by = x->offset < 0 ? -1 : 1;
  const checkpoint_def *d = &c->def[checkpoint_maker(c, x->from.i)];
  bool made = is_made(c, x->s->chunk_loop, by), own = d->home == x->s->chunk_loop;
  if (made && !own)
    return read_at(x, x->to, by, x->offset - by * c->chunk, true, NULL);
  if (!d->home || made != own)
    return (neo_expr){0};
  neo_expr one[NEO_DEF_AXES];
  neo_tensor edge = edge_of(x, by > 0, one);
  return read_at(x, edge, by, by < 0 ? x->offset + c->lag : x->offset - c->chunk, true, one);
}

static neo_expr read_chunk(const chunk_read *x, neo_expr whole) {
  checkpoints *c = x->s->c;
  neo_module *m = c->m;
  bool guarded = x->n.op == NEO_OP_LOAD_ELSE;
  neo_expr own = read_at(x, x->to, 0, x->offset, guarded, NULL), first = checkpoint_number(c, 0),
           is;
  if (!x->offset)
    return own;
  neo_expr other = read_neighbour(x), at = checkpoint_sum(c, x->s->r, x->offset);
  if (!other.i)
    return whole;
  if (x->offset < 0)
    is = neo_op2(m, NEO_OP_LE, first, at);
  else
    is = neo_op2(m, NEO_OP_LT, at, checkpoint_number(c, c->chunk));
  neo_expr value = c->chunk == 1 ? other : neo_op3(m, NEO_OP_SELECT, is, own, other);
  if (x->offset < 0 || c->exact || !guarded)
    return value;
  neo_expr iteration = checkpoint_sum(c, x->s->t, x->offset);
  return neo_op3(m, NEO_OP_SELECT, neo_op2(m, NEO_OP_LT, iteration, c->iterations), value,
                 x->other);
}

static neo_expr look(void *ctx, neo_module *m, neo_expr e) {
  checkpoint_scope *s = ctx;
  checkpoints *c = s->c;
  chunk_read x = {.s = s, .n = *neo_expr_node(m, e)};
  neo_linear l;
  uint32_t d = neo_node_is_load(&x.n) ? checkpoint_maker(c, x.n.attr) : 0;
  if (!d || c->def[d].kind != CHECKPOINT_RUNS || checkpoint_crosses(c, e, s->by[0]))
    return e;
  x.from.i = x.n.attr;
  x.along = c->def[d].axis;
  neo_expr away = neo_op2(m, NEO_OP_SUB, neo_expr_arg(m, e, x.along), s->t);
  if (!neo_linear_of(m, away, &l) || l.n || l.constant > c->lag || l.constant < -c->lag)
    return e;
  x.offset = l.constant;
  x.to = checkpoint_chunked(c, s->chunk_loop, x.from);
  x.other = x.n.op == NEO_OP_LOAD_ELSE ? neo_list_expr(m, x.n.arg, x.n.arg.n - 1)
                                       : neo_const_int(c->m, (neo_type)x.n.type, 0);
  return x.to.i ? read_chunk(&x, e) : e;
}

neo_expr checkpoint_in_chunks(checkpoint_scope *s, neo_expr e) {
  if (!e.i)
    return e;
  return neo_expr_rewrite(s->c->m, neo_expr_subst_axes(s->c->m, e, s->by, s->n_axes), look, s);
}

/* ---- definitions */

neo_axis_rec checkpoint_chunk_axis(const checkpoints *c) {
  return (neo_axis_rec){
      .name = neo_name_of(c->m->names, "chunk"), .lo = checkpoint_number(c, 0), .hi = c->chunks};
}

static neo_tensor new_tensor(const checkpoints *c, neo_tensor t, uint32_t along,
                             const char *prefix) {
  neo_module *m = c->m;
  neo_tensor_rec r = *neo_tensor_at(m, t);
  uint32_t extent[NEO_DEF_AXES];
  extent[checkpoint_chunk_place(c)] = c->chunks.i;
  for (uint32_t k = 0; k < r.extent.n; k++)
    extent[checkpoint_place(c, k)] =
        (k == along ? checkpoint_number(c, c->chunk) : neo_list_expr(m, r.extent, k)).i;
  r.extent = neo_list_new(m, extent, r.extent.n + 1);
  neo_element_ends_drop(&r);
  r.pieces = (neo_list){0};
  r.partial = !c->exact;
  r.offsets = (neo_tensor){0};
  r.name = neo_tensor_fresh_name(m, prefix, neo_name_text(m->names, r.name));
  return neo_tensor_add(m, r);
}

static neo_list axes_in_chunks(checkpoint_scope *s, const neo_def_rec *d, uint32_t along) {
  neo_module *m = s->c->m;
  uint32_t id[NEO_DEF_AXES];
  id[checkpoint_chunk_place(s->c)] = neo_axis_add(m, checkpoint_chunk_axis(s->c)).i;
  for (uint32_t k = 0; k < d->axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, d, k);
    x.lo = checkpoint_in_chunks(s, x.lo);
    x.hi = k == along ? checkpoint_number(s->c, s->c->chunk) : checkpoint_in_chunks(s, x.hi);
    id[checkpoint_place(s->c, k)] = neo_axis_add(m, x).i;
  }
  return neo_list_new(m, id, d->axes.n + 1);
}

static neo_list list_in_chunks(checkpoint_scope *s, neo_list l, neo_expr is) {
  neo_module *m = s->c->m;
  uint32_t id[NEO_DEF_AXES];
  for (uint32_t k = 0; k < l.n; k++) {
    neo_expr e = checkpoint_in_chunks(s, neo_list_expr(m, l, k));
    if (is.i)
      e = neo_op3(m, NEO_OP_SELECT, is, e, neo_const_int(s->c->m, neo_expr_type(m, e), 0));
    id[k] = e.i;
  }
  return neo_list_new(m, id, l.n);
}

/* Is the point an iteration? 0: always. */
static neo_expr is_round(const checkpoint_scope *s) {
  const checkpoints *c = s->c;
  return c->exact ? (neo_expr){0} : neo_op2(c->m, NEO_OP_LT, s->t, c->iterations);
}

static void define(checkpoints *c, uint32_t chunk_loop, uint32_t id, neo_list out) {
  neo_module *m = c->m;
  neo_def_rec d = *neo_def_at(m, (neo_def){id}), r = d;
  checkpoint_scope s = checkpoint_scope_of(c, chunk_loop, &d, c->def[id].axis);
  neo_expr is = is_round(&s);
  r.n_out = d.n_out + 1;
  r.origin = d.origin ? d.origin : id;
  checkpoint_mark(c, chunk_loop, d.chunk_loop, &r);
  r.out = out;
  r.axes = axes_in_chunks(&s, &d, c->def[id].axis);
  r.where = checkpoint_in_chunks(&s, d.where);
  if (d.reducer != NEO_RED_NONE && is.i)
    r.where = r.where.i ? neo_op2(m, NEO_OP_AND, is, r.where) : is;
  r.body = list_in_chunks(&s, d.body, (neo_expr){0});
  r.finish = list_in_chunks(&s, d.finish, is);
  neo_embed_def(c->p, neo_def_add(m, r, true));
}

/* Adds the results of definition d in the loop. */
static neo_list add_results(checkpoints *c, uint32_t chunk_loop, uint32_t d) {
  neo_list out = neo_def_at(c->m, (neo_def){d})->out;
  uint32_t id[4];
  const char *prefix = c->def[d].home == chunk_loop ? "chunk" : "again";
  for (uint32_t k = 0; k < out.n; k++) {
    neo_tensor t = {neo_list_at(c->m, out, k)};
    id[k] = new_tensor(c, t, c->def[d].axis, prefix).i;
    neo_map_set(&c->loops.at[chunk_loop - 1].made, t.i, id[k]);
  }
  return neo_list_new(c->m, id, out.n);
}

/* Writes definition d in the loop, with its recurrence. */
static void make(checkpoints *c, uint32_t chunk_loop, uint32_t d) {
  uint32_t number = c->def[d].number;
  neo_list *out = NEO_NEW_ARRAY(c->a, neo_list, c->n_order + 1);
  for (size_t k = 0; k < c->n_order; k++)
    if (c->order[k] == d || (number && c->def[c->order[k]].number == number))
      out[k] = add_results(c, chunk_loop, c->order[k]);
  for (size_t k = 0; k < c->n_order; k++)
    if (out[k].n)
      define(c, chunk_loop, c->order[k], out[k]);
}

neo_tensor checkpoint_chunked(checkpoints *c, uint32_t chunk_loop, neo_tensor t) {
  const checkpoint_loop *n = &c->loops.at[chunk_loop - 1];
  uint32_t id = checkpoint_maker(c, t.i);
  const checkpoint_def *d = &c->def[id];
  uint64_t made;
  if (neo_map_get(&n->made, t.i, &made))
    return (neo_tensor){(uint32_t)made};
  if (d->home && d->home != chunk_loop && c->loops.at[d->home - 1].level >= n->level)
    return (neo_tensor){0};
  if (!d->home && d->whole)
    return (neo_tensor){0};
  make(c, chunk_loop, id);
  (void)neo_map_get(&c->loops.at[chunk_loop - 1].made, t.i, &made);
  return (neo_tensor){(uint32_t)made};
}

void checkpoint_define_copy(checkpoints *c, uint32_t id) {
  neo_module *m = c->m;
  neo_def_rec d = *neo_def_at(m, (neo_def){id});
  neo_expr at[NEO_DEF_AXES], n = checkpoint_number(c, c->chunk),
                             t = neo_axis_ref(m, c->def[id].axis);
  uint32_t finish[4];
  at[checkpoint_chunk_place(c)] = neo_op2(m, NEO_OP_DIV, t, n);
  for (uint32_t k = 0; k < d.n_out; k++)
    at[checkpoint_place(c, k)] = neo_axis_ref(m, k);
  at[checkpoint_place(c, c->def[id].axis)] = neo_op2(m, NEO_OP_MOD, t, n);
  for (uint32_t k = 0; k < d.out.n; k++) {
    neo_tensor of = {neo_list_at(m, d.out, k)};
    neo_tensor chunked = checkpoint_chunked(c, c->def[id].home, of);
    finish[k] = neo_load(m, chunked, at, d.n_out + 1, d.span).i;
  }
  neo_def_rec *to = neo_def_at(m, (neo_def){id});
  to->finish = neo_list_new(m, finish, d.out.n);
  to->chunk_loop = to->inner_loop = 0;
  neo_reduction_replace(m, (neo_def){id}, (neo_expr){0});
}

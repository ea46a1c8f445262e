/* Bounds inference (J. Ragan-Kelley et al., "Halide: a language and compiler for optimizing
 * parallelism, locality, and recomputation in image processing pipelines"): a tensor shrinks to the
 * box that is read of it.
 *
 *     dv[t, k: 912] = sum[j] dz[t, j]*W[k, j],  dh[t, k: 128] = g(dv[t+1, k])
 *     ->
 *     dv[t, k: 128] = sum[j] dz[t, j]*W[k, j]
 *
 * The adjoint of concatenated operands is such a tensor if one of them has no gradient, such as a
 * recurrent cell's input beside its state. Boxes are constant; a read that may be outside of the
 * tensor counts as one of its end. Tensors that would shrink little, or are visible from outside,
 * stay. */
#include "ir/component.h"
#include "ir/layout.h"
#include "ir/limits.h"
#include "ir/prove/prove.h"
#include "transform/transform.h"

enum { LEAST_LEFT_OUT = 8 };

typedef struct {
  int64_t lo[NEO_TENSOR_RANK], hi[NEO_TENSOR_RANK]; /* positions that are read; lo >= hi: none */
} box;

typedef struct {
  neo_module *m;
  neo_prover *prover;
  box *read; /* by tensor */
  neo_axis_rec axis[NEO_DEF_AXES];
  uint32_t n; /* axes of the current definition */
  box cut;    /* box of the shrinking tensor */
  neo_tensor of;
} bounds;

/* ---- what is read */

static void look(void *ctx, neo_expr e) {
  bounds *b = ctx;
  neo_node n = *neo_expr_node(b->m, e);
  neo_tensor t = {n.attr};
  neo_facts f = {.axes = b->axis, .n_axes = b->n};
  if (!neo_node_is_load(&n))
    return;
  uint32_t rank = neo_tensor_rank(b->m, t);
  for (uint32_t k = 0; k < rank && k < NEO_TENSOR_RANK; k++) {
    int64_t lo, hi, *least = &b->read[t.i].lo[k], *most = &b->read[t.i].hi[k];
    if (!neo_interval(b->prover, &f, neo_list_expr(b->m, n.arg, k), &lo, &hi))
      lo = 0, hi = INT64_MAX - 1;
    *least = lo < *least ? lo : *least;
    *most = hi + 1 > *most ? hi + 1 : *most;
  }
}

static void look_at(bounds *b, neo_def d) {
  const neo_def_rec *r = neo_def_at(b->m, d);
  b->n = r->axes.n < NEO_DEF_AXES ? r->axes.n : 0; /* 0: intervals are not known */
  for (uint32_t k = 0; k < b->n; k++)
    b->axis[k] = *neo_def_axis(b->m, r, k);
  neo_prover_at(b->prover, r->span);
  neo_def_visit(b->m, d, look, b);
}

/* ---- shrinking tensors */

/* The definition of all of the tensor, and of no other; 0: there is none. */
static neo_def only_def(const neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  neo_def none = {0};
  if (r->role != NEO_ROLE_TEMP || r->pieces.n != 1 || r->extent.n > NEO_TENSOR_RANK)
    return none;
  neo_def d = {neo_list_at(m, r->pieces, 0)};
  const neo_def_rec *x = neo_def_at(m, d);
  return x->out.n == 1 && !x->out_map.n && x->axes.n < NEO_DEF_AXES ? d : none;
}

static neo_expr number(neo_module *m, int64_t x) {
  return neo_const_i64(m, x);
}

/* Finds the box. False: it is nearly the whole tensor. `recurs`: only ends are cut, since reads of
 * a recurrence, and with them its order, have to stay. */
static bool find_cut(bounds *b, neo_tensor t, bool recurs) {
  bool smaller = false;
  for (uint32_t k = 0; k < neo_tensor_rank(b->m, t); k++) {
    int64_t extent, lo = b->read[t.i].lo[k], hi = b->read[t.i].hi[k];
    if (!neo_expr_is_int(b->m, neo_tensor_extent(b->m, t, k), &extent))
      extent = INT64_MAX;
    bool none = lo >= hi;
    lo = lo < 0 || none || recurs ? 0 : lo;
    hi = hi > extent || none ? extent : hi;
    bool less =
        extent < INT64_MAX && hi - lo < extent && hi - lo <= extent - extent / LEAST_LEFT_OUT;
    b->cut.lo[k] = less ? lo : 0;
    b->cut.hi[k] = less ? hi : extent;
    smaller = smaller || less;
  }
  return smaller;
}

/* The index less the first position that is read. */
static neo_expr moved(neo_module *m, neo_expr index, int64_t lo) {
  neo_linear l;
  if (!lo || !neo_linear_of(m, index, &l) || __builtin_sub_overflow(l.constant, lo, &l.constant))
    return lo ? neo_op2(m, NEO_OP_SUB, index, number(m, lo)) : index;
  return neo_linear_expr(m, &l);
}

static neo_expr move_reads(void *ctx, neo_module *m, neo_expr e) {
  const bounds *b = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr index[NEO_TENSOR_RANK];
  if (!neo_node_is_load(&n) || n.attr != b->of.i)
    return e;
  uint32_t rank = neo_tensor_rank(m, b->of);
  for (uint32_t k = 0; k < rank; k++)
    index[k] = moved(m, neo_list_expr(m, n.arg, k), b->cut.lo[k]);
  if (n.op == NEO_OP_LOAD)
    return neo_load(m, b->of, index, rank, n.span);
  return neo_load_else(m, b->of, index, rank, neo_list_expr(m, n.arg, rank), n.span);
}

typedef struct {
  neo_expr by[NEO_DEF_AXES];
} positions;

static neo_expr move_axes(void *ctx, neo_module *m, neo_expr e) {
  const positions *p = ctx;
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_AXIS && n->attr < NEO_DEF_AXES && p->by[n->attr].i ? p->by[n->attr] : e;
}

static void shrink(bounds *b, neo_tensor t, neo_def d) {
  neo_module *m = b->m;
  positions p = {{{0}}};
  uint32_t extent[NEO_TENSOR_RANK], axis[NEO_DEF_AXES], rank = neo_tensor_rank(m, t);
  b->of = t;
  for (uint32_t k = 0; k < rank; k++) {
    bool cut = b->cut.hi[k] < INT64_MAX;
    extent[k] = cut ? number(m, b->cut.hi[k] - b->cut.lo[k]).i : neo_tensor_extent(m, t, k).i;
    p.by[k] = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, k), number(m, b->cut.lo[k]));
  }
  neo_def_rewrite(m, d, move_axes, &p);
  neo_def_rec r = *neo_def_at(m, d);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, &r, k);
    if (k < rank)
      x.hi.i = extent[k];
    axis[k] = neo_axis_add(m, x).i;
  }
  neo_def_at(m, d)->axes = neo_list_new(m, axis, r.axes.n);
  neo_tensor_rec cut = *neo_tensor_at(m, t);
  cut.extent = neo_list_new(m, extent, rank);
  cut.least = cut.least.i ? neo_expr_rewrite(m, cut.least, move_axes, &p) : cut.least;
  cut.below = cut.below.i ? neo_expr_rewrite(m, cut.below, move_axes, &p) : cut.below;
  *neo_tensor_at(m, t) = cut;
  for (uint32_t k = 1; k < m->defs.n; k++)
    neo_def_rewrite(m, (neo_def){k}, move_reads, b);
}

neo_status neo_pass_infer_bounds(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  const bool *named = neo_named_tensors(m, pass->a);
  bounds b = {.m = m, .prover = pass->p};
  b.read = NEO_NEW_ARRAY(pass->a, box, m->tensors.n);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    for (uint32_t k = 0; k < NEO_TENSOR_RANK; k++)
      b.read[t].lo[k] = INT64_MAX;
  for (uint32_t k = 1; k < m->defs.n; k++)
    look_at(&b, (neo_def){k});
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    neo_def d = only_def(m, (neo_tensor){t});
    if (d.i && !named[t] && find_cut(&b, (neo_tensor){t}, pass->number[d.i]))
      shrink(&b, (neo_tensor){t}, d);
  }
  return NEO_OK;
}

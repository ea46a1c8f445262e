/* Requests inside of loops, and in functions that are called with indices: one gradient per point t
 * of a batch.
 *
 *     loss[t] = sum[j] (w[t, j] - x[t, j])^2,  w[t, j] = (next[t - 1, j] else first[j])
 *     gradient of loss batch 1 hold w for w into g:      g[t, j] = d loss[t] / d w[t, j]
 *
 * All tensors between y and a `wrt` are copied, and the copies read leaves instead of the `wrt`:
 * then no gradient flows from one point to another, and the gradients of all points are those of
 * their sum.
 *
 *     leaf[t, j] = w[t, j],  copy.loss[t] = sum[j] (leaf[t, j] - x[t, j])^2
 *     gradient of copy.loss seed 1 for leaf into g
 *
 * A weight W that all points share becomes leaf[t, i, j] = W[i, j]; a tensor outside of the points
 * that depends on it is lifted: copied with the points' dimensions before its own. A slice W[t, ..]
 * of the present point is recognized where it is read: W[e, j] becomes select(e == t, leaf[t, j],
 * W[e, j]).
 *
 * A copy has the values of its original. So when the gradient is complete it reads the originals,
 * and no definition reads the copies any more. */
#include "autodiff/batch.h"
#include "ir/clone.h"
#include "ir/element.h"
#include "ir/limits.h"
#include "ir/out_map.h"

enum { BATCH_AXES = NEO_DEF_AXES - 4 }; /* room for axes of the copies' readers */

typedef struct { /* the tensor whose values a copy has */
  uint32_t of;
  bool lifted;
} origin;

static void set_origin(ad_batch_state *b, neo_tensor copy, uint32_t of, bool lifted) {
  neo_map_set(b->back, copy.i, (uint64_t)of << 1 | lifted);
}

static bool get_origin(const neo_map *back, uint32_t copy, origin *o) {
  uint64_t x;
  if (!neo_map_get(back, copy, &x))
    return false;
  *o = (origin){(uint32_t)(x >> 1), x & 1};
  return true;
}

neo_tensor ad_batch_origin(const neo_map *back, neo_tensor t) {
  origin o;
  return back && get_origin(back, t.i, &o) ? (neo_tensor){o.of} : t;
}

/* ---- tensors of the copies */

/* A new tensor with the type and extents of t; lifted: with leading dimensions for the points. */
static neo_tensor tensor_like(ad_batch_state *b, neo_tensor t, bool lifted) {
  neo_module *m = b->m;
  uint32_t extent[2 * NEO_TENSOR_RANK], n = 0;
  neo_tensor_rec r = *neo_tensor_at(m, t);
  for (uint32_t k = 0; lifted && k < b->n; k++)
    extent[n++] = ad_batch_extent(b, k).i;
  for (uint32_t k = 0; k < r.extent.n; k++)
    extent[n++] = neo_list_at(m, r.extent, k);
  if (n > NEO_TENSOR_RANK) {
    neo_diag(m->diags, b->request.span, NEO_D_RANK_TOO_LARGE, (int)n, NEO_TENSOR_RANK);
    b->failed = true;
    n = NEO_TENSOR_RANK;
  }
  if (r.role != NEO_ROLE_COTANGENT)
    r.role = NEO_ROLE_TEMP;
  r.name = neo_tensor_fresh_name(m, "at", neo_name_text(m->names, r.name));
  r.extent = neo_list_new(m, extent, n);
  neo_element_ends_drop(&r);
  r.pieces = (neo_list){0};
  r.init = (neo_def){0};
  r.updates = (neo_tensor){0};
  return neo_tensor_add(m, r);
}

static neo_tensor twin_of(ad_batch_state *b, neo_tensor t) {
  bool lifted = b->is[t.i] & AD_LIFTED;
  if (!b->twin[t.i]) {
    neo_tensor twin = tensor_like(b, t, lifted);
    b->twin[t.i] = twin.i;
    set_origin(b, twin, t.i, lifted);
  }
  return (neo_tensor){b->twin[t.i]};
}

/* ---- reads in the copies, whose first axes are the points */

typedef struct {
  neo_node node; /* LOAD or LOAD_ELSE; else a LOAD is made */
  neo_tensor t;
  neo_expr index[2 * NEO_TENSOR_RANK], other;
  uint32_t n;
} access;

static neo_expr load_of(neo_module *m, const access *a) {
  return a->other.i ? neo_load_else(m, a->t, a->index, a->n, a->other, a->node.span)
                    : neo_load(m, a->t, a->index, a->n, a->node.span);
}

/* A load of another tensor in place of `a`: at the point, then at the indices of `a` from `skip`
 * on. */
static neo_expr load_at_point(ad_batch_state *b, const access *a, neo_tensor t, uint32_t skip) {
  access x = {.node = a->node, .t = t, .other = a->other};
  for (uint32_t k = 0; k < b->n; k++)
    x.index[x.n++] = neo_axis_ref(b->m, k);
  for (uint32_t k = skip; k < a->n && x.n < NEO_TENSOR_RANK; k++)
    x.index[x.n++] = a->index[k];
  return load_of(b->m, &x);
}

/* Whether the access is to the present point. */
static neo_expr is_here(ad_batch_state *b, const access *a) {
  neo_module *m = b->m;
  neo_expr here = neo_const_bool(m, true);
  for (uint32_t k = 0; k < b->n; k++) {
    neo_expr axis = neo_axis_ref(m, k);
    neo_linear l;
    if (a->index[k].i == axis.i)
      continue;
    if (neo_linear_of(m, neo_op2(m, NEO_OP_SUB, a->index[k], axis), &l) && !l.n)
      return neo_const_bool(m, l.constant == 0);
    here = neo_op2(m, NEO_OP_AND, here, neo_op2(m, NEO_OP_EQ, a->index[k], axis));
  }
  return here;
}

/* The expression in a copy that replaces an access of the program: the first leaf from number
 * `from` on that the access reaches, or else the copied tensor, or the original one where no
 * gradient flows through it. */
static neo_expr read_of(ad_batch_state *b, const access *a, uint32_t from) {
  neo_module *m = b->m;
  uint32_t k = from;
  while (k < b->request.wrt.n && (neo_list_at(m, b->request.wrt, k) != a->t.i || !b->leaf[k].i))
    k++;
  if (k < b->request.wrt.n) {
    neo_expr here = ad_batch_is_own(b, k) ? is_here(b, a) : neo_const_bool(m, true);
    int64_t known;
    bool is_known = neo_expr_is_int(m, here, &known);
    if (is_known && !known)
      return read_of(b, a, k + 1);
    neo_expr leaf = load_at_point(b, a, b->leaf[k], ad_batch_is_own(b, k) ? b->n : 0);
    return is_known ? leaf : neo_op3(m, NEO_OP_SELECT, here, leaf, read_of(b, a, k + 1));
  }
  if (!(b->is[a->t.i] & AD_PATH))
    return load_of(m, a);
  neo_tensor twin = twin_of(b, a->t);
  if (b->is[a->t.i] & AD_LIFTED)
    return load_at_point(b, a, twin, 0);
  access x = *a;
  x.t = twin;
  return load_of(m, &x);
}

/* ---- copies of definitions */

typedef struct {
  ad_batch_state *b;
  uint32_t shift; /* added to axis numbers: axes come after those of the points */
} copying;

static neo_expr copy_node(void *ctx, neo_module *m, neo_expr e) {
  const copying *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_AXIS)
    return neo_axis_ref(m, n.attr + c->shift);
  if (!neo_node_is_load(&n) || !(c->b->is[n.attr] & (AD_PATH | AD_ASKED)) ||
      !neo_type_is_float((neo_type)n.type))
    return e;
  access a = {.node = n, .t = {n.attr}, .n = neo_tensor_rank(m, (neo_tensor){n.attr})};
  for (uint32_t k = 0; k < a.n; k++)
    a.index[k] = neo_list_expr(m, n.arg, k);
  if (n.op == NEO_OP_LOAD_ELSE)
    a.other = neo_list_expr(m, n.arg, a.n);
  return read_of(c->b, &a, 0);
}

static neo_axis_rec point_axis(const ad_batch_state *b, uint32_t k) {
  const char *name = neo_arena_printf(b->m->arena, "p%u", k);
  return (neo_axis_rec){neo_name_of(b->m->names, name), neo_const_i64(b->m, 0),
                        ad_batch_extent(b, k), b->request.span};
}

static neo_list lifted_map(ad_batch_state *b, const neo_def_rec *d) {
  neo_out_dim map[2 * NEO_TENSOR_RANK];
  if (!d->out_map.n)
    return d->out_map;
  for (uint32_t k = 0; k < b->n + d->n_out; k++)
    map[k] = k < b->n ? (neo_out_dim){1, 0} : neo_out_map_at(b->m, d->out_map, k - b->n);
  return neo_out_map_new(b->m, map, b->n + d->n_out);
}

static neo_def copy_def(ad_batch_state *b, neo_def d, bool lifted) {
  neo_module *m = b->m;
  neo_def_rec r = *neo_def_at(m, d);
  uint32_t axes[BATCH_AXES + NEO_TENSOR_RANK], outs[4], n = 0;
  if (r.axes.n + b->n > BATCH_AXES) {
    neo_diag(m->diags, b->request.span, NEO_D_TOO_MANY_AXES, BATCH_AXES);
    b->failed = true;
  }
  for (uint32_t k = 0; k < r.out.n; k++)
    outs[k] = twin_of(b, neo_list_tensor(m, r.out, k)).i;
  if (b->failed)
    return d;
  for (uint32_t k = 0; lifted && k < b->n; k++)
    axes[n++] = neo_axis_add(m, point_axis(b, k)).i;
  for (uint32_t k = 0; k < r.axes.n; k++)
    axes[n++] = neo_axis_add(m, *neo_def_axis(m, &r, k)).i;
  r.out = neo_list_new(m, outs, r.out.n);
  r.axes = neo_list_new(m, axes, n);
  r.out_map = lifted ? lifted_map(b, &r) : r.out_map;
  r.n_out += lifted ? b->n : 0;
  r.origin = r.origin ? r.origin : d.i;
  neo_def copy = neo_def_add(m, r, true);
  neo_def_rewrite(m, copy, copy_node, &(copying){b, lifted ? b->n : 0});
  return copy;
}

/* Are the results of the definition lifted? All of them are, if one is. */
static bool is_lifted(ad_batch_state *b, neo_def d) {
  neo_list outs = neo_def_at(b->m, d)->out;
  bool lifted = false;
  for (uint32_t k = 0; k < outs.n; k++)
    lifted = lifted || b->is[neo_list_at(b->m, outs, k)] & AD_LIFTED;
  for (uint32_t k = 0; lifted && k < outs.n; k++)
    b->is[neo_list_at(b->m, outs, k)] |= AD_LIFTED;
  return lifted;
}

/* Defines a copy of t by the read that replaces a read of t in copies; used if nothing else of t is
 * copied. Its axes come after those of the points if t is lifted. Leaves from number `from` on
 * replace t. */
static void define_reading(ad_batch_state *b, neo_tensor copy, neo_tensor t, bool lifted,
                           uint32_t from) {
  access a = {.t = t, .n = neo_tensor_rank(b->m, t)};
  a.node.span = b->request.span;
  for (uint32_t k = 0; k < a.n; k++)
    a.index[k] = neo_axis_ref(b->m, k + (lifted ? b->n : 0));
  if (!b->failed)
    ad_define_value(b->m, copy, read_of(b, &a, from), b->request.span);
}

/* ---- functions with their own gradient */

/* The tensor that takes the place of t, an argument or a result, in a copied call. */
static neo_tensor end_of(ad_batch_state *b, neo_tensor t, bool lifted) {
  if (!(b->is[t.i] & (AD_PATH | AD_ASKED)))
    return t;
  if (b->is[t.i] & AD_PATH && !(b->is[t.i] & AD_ASKED)) {
    neo_tensor twin = twin_of(b, t);
    if (!neo_tensor_at(b->m, twin)->pieces.n) { /* t is a result: the twin has the program's
                                                   value */
      uint8_t is = b->is[t.i];
      b->is[t.i] = 0;
      define_reading(b, twin, t, lifted, b->request.wrt.n);
      b->is[t.i] = is;
    }
    return twin;
  }
  neo_tensor copy = tensor_like(b, t, lifted);
  set_origin(b, copy, t.i, lifted);
  define_reading(b, copy, t, lifted, 0);
  return copy;
}

static neo_list ends_of(ad_batch_state *b, neo_list tensors, bool lifted) {
  uint32_t *ids = NEO_NEW_ARRAY(b->scratch, uint32_t, tensors.n + 1);
  for (uint32_t k = 0; k < tensors.n; k++)
    ids[k] = end_of(b, neo_list_tensor(b->m, tensors, k), lifted).i;
  return neo_list_new(b->m, ids, tensors.n);
}

/* Lifts the clause of a lifted call: it turns the cotangents of all points into the contributions
 * of all points. */
static void lift_clause(ad_batch_state *b, neo_custom_rec *c) {
  neo_module *m = b->m;
  ad_batch_state clause = {.m = m, .scratch = b->scratch, .n = b->n, .back = b->back};
  neo_def *defs;
  neo_tensors roots = {0};
  clause.request = (neo_grad_rec){.y = b->request.y, .span = b->request.span};
  clause.is = NEO_NEW_ARRAY(b->scratch, uint8_t, m->tensors.n);
  clause.twin = NEO_NEW_ARRAY(b->scratch, uint32_t, m->tensors.n);
  neo_map dys = neo_map_in(b->scratch);
  for (uint32_t k = 0; k < c->dys.n; k++) {
    clause.is[neo_list_at(m, c->dys, k)] = AD_PATH | AD_LIFTED;
    neo_map_set(&dys, neo_list_at(m, c->dys, k), 1);
  }
  neo_tensors_add(m, b->scratch, &roots, c->dxs);
  size_t n = neo_module_topo(m, roots.at, roots.n, b->scratch, &defs, NULL);
  const bool *affected = neo_defs_affected(m, defs, n, &dys, NULL, b->scratch);
  for (size_t k = 0; k < n; k++)
    for (uint32_t i = 0; affected[k] && i < neo_def_at(m, defs[k])->out.n; i++)
      clause.is[neo_def_out(m, defs[k], i).i] = AD_PATH | AD_LIFTED;
  for (size_t k = 0; k < n; k++)
    if (affected[k])
      (void)copy_def(&clause, defs[k], true);
  uint32_t *dx = NEO_NEW_ARRAY(b->scratch, uint32_t, c->dxs.n + 1);
  uint32_t *dy = NEO_NEW_ARRAY(b->scratch, uint32_t, c->dys.n + 1);
  for (uint32_t k = 0; k < c->dys.n; k++)
    dy[k] = twin_of(&clause, neo_list_tensor(m, c->dys, k)).i;
  for (uint32_t k = 0; k < c->dxs.n; k++) {
    neo_tensor t = {neo_list_at(m, c->dxs, k)};
    if (t.i && !clause.is[t.i]) { /* equal at all points */
      neo_tensor copy = tensor_like(&clause, t, true);
      define_reading(&clause, copy, t, true, 0);
      clause.twin[t.i] = copy.i;
    }
    dx[k] = t.i ? clause.twin[t.i] : 0;
  }
  c->dys = neo_list_new(m, dy, c->dys.n);
  c->dxs = neo_list_new(m, dx, c->dxs.n);
  b->failed = b->failed || clause.failed;
}

static void copy_custom(ad_batch_state *b, uint32_t row) {
  neo_custom_rec c = b->m->customs.at[row];
  bool lifted = b->is[neo_list_at(b->m, c.outs, 0)] & AD_LIFTED;
  for (uint32_t k = 0; k < c.outs.n; k++)
    lifted = lifted || b->is[neo_list_at(b->m, c.outs, k)] & AD_LIFTED;
  c.ins = ends_of(b, c.ins, lifted);
  c.outs = ends_of(b, c.outs, lifted);
  if (lifted && !b->failed)
    lift_clause(b, &c);
  NEO_PUSH(b->m->arena, &b->m->customs, c);
}

/* ---- from the copies back to the program */

static neo_expr back_node(void *ctx, neo_module *m, neo_expr e) {
  const ad_batch_state *b = ctx;
  neo_node n = *neo_expr_node(m, e);
  origin o;
  if (!neo_node_is_load(&n) || !get_origin(b->back, n.attr, &o))
    return e;
  access a = {.node = n, .t = {o.of}};
  uint32_t rank = neo_tensor_rank(m, (neo_tensor){n.attr});
  for (uint32_t k = o.lifted ? b->n : 0; k < rank; k++)
    a.index[a.n++] = neo_list_expr(m, n.arg, k);
  if (n.op == NEO_OP_LOAD_ELSE)
    a.other = neo_list_expr(m, n.arg, rank);
  return load_of(m, &a);
}

/* Makes definition `of` itself keep the accumulators that the gradient added to its copy. */
static void move_accs(ad_batch_state *b, neo_def copy, neo_def of, bool lifted) {
  ad_state s = {.m = b->m, .scratch = b->scratch, .request = b->request};
  neo_def_rec c = *neo_def_at(b->m, copy);
  uint32_t n = neo_def_at(b->m, of)->out.n;
  for (uint32_t k = n; k < c.out.n; k++) {
    uint32_t acc = neo_expr_node(b->m, neo_list_expr(b->m, c.finish, k))->attr;
    set_origin(b, neo_list_tensor(b->m, c.out, k), ad_stored_acc(&s, of, acc).i, lifted);
  }
}

static void make_leaves(ad_batch_state *b) {
  for (uint32_t k = b->request.wrt.n; k-- > 0;) {
    neo_tensor t = {neo_list_at(b->m, b->request.wrt, k)};
    bool own = ad_batch_is_own(b, k);
    neo_tensor leaf = tensor_like(b, t, !own);
    set_origin(b, leaf, t.i, !own);
    define_reading(b, leaf, t, !own, k + 1); /* reads only leaves that have been made */
    b->leaf[k] = leaf;
  }
}

static neo_grad_rec request_of_copies(ad_batch_state *b) {
  uint32_t *wrt = NEO_NEW_ARRAY(b->scratch, uint32_t, b->request.wrt.n + 1);
  neo_grad_rec r = b->request;
  for (uint32_t k = 0; k < r.wrt.n; k++)
    wrt[k] = b->leaf[k].i;
  r.y = tensor_like(b, b->request.y, false);
  set_origin(b, r.y, b->request.y.i, false);
  define_reading(b, r.y, b->request.y, false, 0);
  r.wrt = neo_list_new(b->m, wrt, r.wrt.n);
  r.hold = (neo_list){0};
  return r;
}

/* Copies the definitions on the paths from y to a `wrt`; copies[k] becomes that of b->defs[k]. */
static void copy_path(ad_batch_state *b, neo_def *copies) {
  for (size_t k = 0; k < b->defs.n && !b->failed; k++)
    copies[k] = copy_def(b, b->defs.at[k].d, is_lifted(b, b->defs.at[k].d));
  for (size_t k = 0; k < b->customs.n && !b->failed; k++)
    copy_custom(b, b->customs.at[k]);
}

static void go_back(ad_batch_state *b, const neo_def *copies, size_t first) {
  for (size_t k = 0; k < b->defs.n; k++)
    move_accs(b, copies[k], b->defs.at[k].d, is_lifted(b, b->defs.at[k].d));
  for (size_t d = first; d < b->m->defs.n; d++)
    neo_def_rewrite(b->m, (neo_def){(uint32_t)d}, back_node, b);
}

bool ad_batch(neo_module *m, neo_prover *prover, neo_arena *scratch, neo_grad_rec request) {
  ad_batch_state b = {.m = m, .scratch = scratch, .request = request, .n = request.n_batch};
  size_t first = m->defs.n, n_customs = m->customs.n;
  neo_map back = neo_map_in(scratch);
  b.back = &back;
  b.is = NEO_NEW_ARRAY(scratch, uint8_t, m->tensors.n);
  b.twin = NEO_NEW_ARRAY(scratch, uint32_t, m->tensors.n);
  b.leaf = NEO_NEW_ARRAY(scratch, neo_tensor, request.wrt.n + 1);
  ad_batch_path(&b);
  neo_def *copies = NEO_NEW_ARRAY(scratch, neo_def, b.defs.n + 1);
  make_leaves(&b);
  copy_path(&b, copies);
  bool good = !b.failed && ad_carry_out(m, prover, scratch, request_of_copies(&b), b.back);
  m->customs.n = n_customs;
  if (good)
    go_back(&b, copies, first);
  return good;
}

/* Horizontal fusion (NeoFlow, section 4): independent definitions that agree except for constants
 * in their indices become one definition with another axis.
 *
 *     P0[n, j] = sum[i] X[n, i] * W[0, i, j]
 *     P1[n, j] = sum[i] X[n, i] * W[1, i, j]
 *     Y[n, j]  = tanh(P1[n, j]) + P0[n, j]
 *     ->
 *     fused.P0[n, t < 2, j] = sum[i] X[n, i] * W[t, i, j]
 *     Y[n, j] = tanh(fused.P0[n, 1, j]) + fused.P0[n, 0, j]
 *
 * Eight convolutions of one image become one with eight times the channels, the gates of a cell one
 * product. Candidates:
 * - reductions, whole or without their `finish`, which stays as a definition (gates with different
 * activations, products in a recurrence)
 * - copies (a read, a cast): slices of one tensor become one slice with the axis
 * - elementwise definitions that read all slices of a fused definition
 * - pieces of one tensor that are such slices: the tensor then has one piece
 *
 * Definitions at the same distance from the graph's sources are independent, so only these fuse,
 * sources first, and no cycle arises. They also need the same entries (entry_sets.h) and conditions
 * (ir/needed.h): no entry computes slices for another, nor does a branch of a `case`. The pass runs
 * before autodiff, so that gradients are fused too.
 *
 * The new axis follows the output axes that come before it in the first read that has it, so that
 * memory is visited as that read does (X[n, t, i] gives [n, t, ..], W[t, i, j] gives [.., t, j]):
 * neighbouring axes collapse in the kernel. */
#include "base/hash.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/needed.h"
#include "ir/out_map.h"
#include "transform/entry_sets.h"
#include "transform/structure.h"
#include "transform/transform.h"
#include <assert.h>

typedef struct { /* tensor -> slice `at` of tensor `in` along its dimension `dim` */
  neo_tensor in;
  uint32_t dim;
  int64_t at;
} slice;

typedef struct {
  neo_def def;
  neo_structure form;
} candidate;
typedef NEO_VEC(candidate) candidates;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_map kept;   /* tensors named outside of definitions */
  neo_map sliced; /* tensor -> index into slices */
  NEO_VEC(slice) slices;
  neo_map depth;              /* by tensor; absent: 0 */
  neo_map users;              /* by tensor, see entry_sets.h */
  const neo_conditions *when; /* conditions by old definition; null: none */
} merger;

/* ---- distance from the sources */

typedef struct {
  merger *q;
  uint64_t most;
} depth_ctx;

static void look_depth(void *ctx, neo_expr e) {
  depth_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->q->m, e);
  uint64_t depth = 0;
  if (neo_node_is_load(n))
    neo_map_get(&c->q->depth, n->attr, &depth);
  c->most = depth > c->most ? depth : c->most;
}

/* The greatest depth of the tensors that the definition reads, or its reduction without
 * `finish`. */
static uint64_t depth_of(merger *q, neo_def d, neo_structure_part part) {
  const neo_def_rec *r = neo_def_at(q->m, d);
  depth_ctx c = {q, 0};
  if (part == NEO_STRUCTURE_WHOLE) {
    neo_def_visit(q->m, d, look_depth, &c);
    return c.most + 1;
  }
  neo_expr_visit(q->m, r->where, look_depth, &c);
  for (uint32_t k = 0; k < r->body.n; k++)
    neo_expr_visit(q->m, neo_list_expr(q->m, r->body, k), look_depth, &c);
  for (uint32_t k = 0; k < r->axes.n; k++) {
    neo_expr_visit(q->m, neo_def_axis(q->m, r, k)->lo, look_depth, &c);
    neo_expr_visit(q->m, neo_def_axis(q->m, r, k)->hi, look_depth, &c);
  }
  return c.most + 1;
}

static uint64_t set_depth(merger *q, neo_def d) {
  neo_list out = neo_def_at(q->m, d)->out;
  uint64_t depth = depth_of(q, d, NEO_STRUCTURE_WHOLE), old;
  for (uint32_t k = 0; k < out.n; k++) {
    uint32_t t = neo_list_at(q->m, out, k);
    if (!neo_map_get(&q->depth, t, &old) || old < depth)
      neo_map_set(&q->depth, t, depth);
  }
  return depth;
}

/* ---- slices of fused definitions */

/* Makes reads of sliced tensors reads of the slices. */
static neo_expr resolve(void *ctx, neo_module *m, neo_expr e) {
  merger *q = ctx;
  const neo_node n = *neo_expr_node(m, e);
  uint64_t at;
  neo_expr arg[NEO_PATTERN_AXES];
  bool load = neo_node_is_load(&n);
  if (!load || !neo_map_get(&q->sliced, n.attr, &at) || n.arg.n + 1 > NEO_PATTERN_AXES)
    return e;
  slice s = q->slices.at[at];
  for (uint32_t k = 0; k < s.dim; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  arg[s.dim] = neo_const_i64(m, s.at);
  for (uint32_t k = s.dim; k < n.arg.n; k++)
    arg[k + 1] = neo_list_expr(m, n.arg, k);
  neo_expr x = neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, s.in.i, arg, n.arg.n + 1, n.span);
  return resolve(q, m, x);
}

static void resolve_reads(merger *q, neo_def d) {
  if (q->sliced.n)
    neo_def_rewrite(q->m, d, resolve, q);
}

/* ---- runs of definitions whose constants grow by one step */

static int compare(const candidate *x, const candidate *y) {
  for (size_t k = 0; k < x->form.constants.n; k++) {
    int64_t a = x->form.constants.at[k], b = y->form.constants.at[k];
    if (a != b)
      return a < b ? -1 : 1;
  }
  return 0;
}

/* Stable sort: equal ones keep the order of their definitions. */
static void sort(candidate *at, size_t n) {
  for (size_t i = 1; i < n; i++) {
    candidate x = at[i];
    size_t k = i;
    for (; k > 0 && compare(&at[k - 1], &x) > 0; k--)
      at[k] = at[k - 1];
    at[k] = x;
  }
}

static bool follows(const candidate *x, const candidate *y, const int64_t *step) {
  for (size_t k = 0; k < x->form.constants.n; k++)
    if (y->form.constants.at[k] - x->form.constants.at[k] != step[k])
      return false;
  return true;
}

/* The length of the run at `at` that grows by the step of its first two. */
static size_t run_length(merger *q, const candidate *at, size_t n, int64_t **step) {
  size_t constants = at->form.constants.n, len = 1;
  *step = NEO_NEW_ARRAY(q->a, int64_t, constants + 1);
  if (n < 2 || compare(at, at + 1) == 0)
    return 1;
  for (size_t k = 0; k < constants; k++)
    (*step)[k] = at[1].form.constants.at[k] - at[0].form.constants.at[k];
  while (len < n && follows(&at[len - 1], &at[len], *step))
    len++;
  return len;
}

/* ---- does it pay? */

static bool is_copy(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  while (n->op == NEO_OP_CAST)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  return n->op == NEO_OP_LOAD;
}

/* Does the read take every slice of a fused tensor? */
static bool covers(merger *q, const neo_structure *form, const neo_structure_read *r,
                   const int64_t *step, size_t n) {
  uint32_t moving = 0;
  bool all = true;
  for (uint32_t k = 0; k < neo_tensor_rank(q->m, r->tensor); k++) {
    int64_t extent;
    if (!step[r->first + k])
      continue;
    moving++;
    all = all && step[r->first + k] == 1 && form->constants.at[r->first + k] == 0 &&
          neo_expr_is_int(q->m, neo_tensor_extent(q->m, r->tensor, k), &extent) &&
          extent == (int64_t)n;
  }
  return moving <= 1 && all;
}

static bool pays(merger *q, const candidate *c, const int64_t *step, size_t n) {
  const neo_def_rec r = *neo_def_at(q->m, c->def);
  if (n < 2)
    return false;
  if (r.reducer != NEO_RED_NONE || is_copy(q->m, neo_list_expr(q->m, r.finish, 0)))
    return true;
  for (size_t k = 0; k < c->form.reads.n; k++)
    if (!covers(q, &c->form, &c->form.reads.at[k], step, n))
      return false;
  return true;
}

/* ---- merging */

/* The position of the new axis among the output axes; see the head. */
static uint32_t place_of(merger *q, const neo_def_rec *r, const neo_structure *form,
                         const int64_t *step) {
  uint64_t out = (1ull << r->n_out) - 1;
  for (size_t k = 0; k < form->reads.n; k++) {
    const neo_structure_read *x = &form->reads.at[k];
    neo_list arg = neo_expr_node(q->m, x->load)->arg;
    uint32_t rank = neo_tensor_rank(q->m, x->tensor), d = 0;
    while (d < rank && !step[x->first + d])
      d++;
    if (d == rank)
      continue;
    uint64_t before = 0, after = 0;
    for (uint32_t i = 0; i < rank; i++)
      *(i < d ? &before : &after) |= neo_expr_axes(q->m, neo_list_expr(q->m, arg, i)) & out;
    if (before)
      return 64 - (uint32_t)__builtin_clzll(before);
    return after ? (uint32_t)__builtin_ctzll(after) : r->n_out;
  }
  return 0;
}

static neo_list member_list(const neo_structure_family *f, neo_arena *a, neo_list l) {
  uint32_t ids[8];
  assert(l.n <= 8);
  for (uint32_t k = 0; k < l.n; k++)
    ids[k] = neo_structure_member(f, a, neo_list_expr(f->m, l, k)).i;
  return neo_list_new(f->m, ids, l.n);
}

/* The axes of r with an axis of n iterations before axis `dim`; bounds follow. */
static neo_list axes_with(merger *q, const neo_def_rec *r, const neo_expr *by, uint32_t dim,
                          size_t n) {
  uint32_t ids[NEO_DEF_AXES];
  for (uint32_t k = 0; k <= r->axes.n; k++) {
    neo_axis_rec x = {.name = neo_name_of(q->m->names, "t"),
                      .lo = neo_const_i64(q->m, 0),
                      .hi = neo_const_i64(q->m, (int64_t)n),
                      .span = r->span};
    if (k != dim) {
      x = *neo_def_axis(q->m, r, k - (k > dim));
      x.lo = neo_expr_subst_axes(q->m, x.lo, by, r->axes.n);
      x.hi = neo_expr_subst_axes(q->m, x.hi, by, r->axes.n);
    }
    ids[k] = neo_axis_add(q->m, x).i;
  }
  return neo_list_new(q->m, ids, r->axes.n + 1);
}

/* Defines all members at once; returns the tensor. */
static neo_tensor define_all(merger *q, const candidate *c, const int64_t *step, size_t n,
                             uint32_t dim, neo_structure_part part) {
  neo_module *m = q->m;
  neo_def_rec r = *neo_def_at(m, c->def);
  neo_expr by[NEO_DEF_AXES];
  for (uint32_t k = 0; k < r.axes.n; k++)
    by[k] = neo_axis_ref(m, k + (k >= dim));
  neo_structure_family f = {m, &c->form, by, r.axes.n, step, neo_axis_ref(m, dim)};
  const neo_tensor first = {neo_list_at(m, r.out, 0)};
  neo_temp all = {.prefix = "fused", .like = first};
  r.axes = axes_with(q, &r, by, dim, n);
  if (part == NEO_STRUCTURE_REDUCTION) {
    all.type = neo_expr_type(m, neo_list_expr(m, r.body, 0));
    r.finish = neo_list_one(m, neo_acc_ref(m, all.type, 0).i);
  } else {
    const neo_tensor_rec like = *neo_tensor_at(m, first);
    all.type = (neo_type)like.type;
    all.bound = like.bound;
    all.least = neo_expr_subst_axes(m, like.least, by, f.n);
    all.below = neo_expr_subst_axes(m, like.below, by, f.n);
    r.finish = member_list(&f, q->a, r.finish);
  }
  r.body = member_list(&f, q->a, r.body);
  r.where = neo_expr_subst_axes(m, r.where, by, f.n);
  r.n_out++;
  r.origin = r.origin ? r.origin : c->def.i;
  return neo_temp_define(m, &all, r);
}

static neo_expr element_of(merger *q, neo_tensor all, uint32_t dim, int64_t at) {
  neo_expr index[NEO_PATTERN_AXES];
  uint32_t rank = neo_tensor_rank(q->m, all);
  for (uint32_t k = 0; k < rank; k++)
    index[k] = k == dim ? neo_const_i64(q->m, at) : neo_axis_ref(q->m, k - (k > dim));
  return neo_load(q->m, all, index, rank, neo_tensor_at(q->m, all)->span);
}

/* Makes the definition elementwise over its slice of `all`. */
static void define_slice(merger *q, neo_def d, neo_tensor all, uint32_t dim, int64_t at,
                         neo_structure_part part) {
  neo_module *m = q->m;
  neo_expr value = element_of(q, all, dim, at);
  if (part != NEO_STRUCTURE_REDUCTION)
    neo_def_at(m, d)->finish = neo_list_one(m, value.i);
  neo_reduction_replace(m, d, value);
}

static void merge_run(merger *q, const candidate *c, const int64_t *step, size_t n,
                      neo_structure_part part) {
  const neo_def_rec r = *neo_def_at(q->m, c->def);
  uint32_t dim = place_of(q, &r, &c->form, step);
  neo_tensor first = {neo_list_at(q->m, r.out, 0)};
  uint64_t depth = 0;
  neo_tensor all = define_all(q, c, step, n, dim, part);
  neo_map_get(&q->depth, first.i, &depth);
  neo_map_set(&q->depth, all.i, part == NEO_STRUCTURE_WHOLE ? depth : depth_of(q, c->def, part));
  for (size_t k = 0; k < n; k++) {
    define_slice(q, c[k].def, all, dim, (int64_t)k, part);
    if (part == NEO_STRUCTURE_REDUCTION)
      continue;
    neo_map_set(&q->sliced, neo_def_out(q->m, c[k].def, 0).i, q->slices.n);
    NEO_PUSH(q->a, &q->slices, (slice){all, dim, (int64_t)k});
  }
}

/* All members of a bucket match. */
static void merge_bucket(merger *q, candidates *b, neo_structure_part part) {
  int64_t *step;
  sort(b->at, b->n);
  for (size_t k = 0; k < b->n;) {
    size_t n = run_length(q, &b->at[k], b->n - k, &step);
    if (pays(q, &b->at[k], step, n))
      merge_run(q, &b->at[k], step, n, part);
    k += n > 1 ? n : 1;
  }
}

/* ---- candidates of a level */

static bool mergeable(merger *q, neo_def d) {
  const neo_def_rec *r = neo_def_at(q->m, d);
  if (r->out.n != 1 || r->out_map.n || r->n_out == 0 || r->n_out == NEO_TENSOR_RANK ||
      r->axes.n + 1 >= NEO_PATTERN_AXES)
    return false;
  const neo_tensor_rec *t = neo_tensor_at(q->m, neo_list_tensor(q->m, r->out, 0));
  return t->role == NEO_ROLE_TEMP && t->pieces.n == 1 &&
         !neo_map_get(&q->kept, neo_list_at(q->m, r->out, 0), NULL);
}

/* Is it a reduction with a `finish`? */
static bool has_finish(merger *q, neo_def d) {
  const neo_def_rec *r = neo_def_at(q->m, d);
  return r->reducer != NEO_RED_NONE && neo_reducer_accs((neo_reducer)r->reducer) == 1 &&
         r->body.n == 1 && neo_expr_node(q->m, neo_list_expr(q->m, r->finish, 0))->op != NEO_OP_ACC;
}

static uint64_t users_of(merger *q, neo_def d) {
  uint64_t users = 0;
  neo_map_get(&q->users, neo_def_out(q->m, d, 0).i, &users);
  return users;
}

static uint64_t when_key(const merger *q, neo_def d) {
  uint64_t h = 0;
  for (uint32_t k = 0; q->when && k < q->when[d.i].n; k++)
    h = neo_hash_mix(h, q->when[d.i].at[k].i);
  return h;
}

static void merge_matching(merger *q, const neo_def *defs, size_t n, neo_structure_part part) {
  NEO_VEC(candidates) buckets = {0};
  neo_map by_words = neo_map_in(q->a);
  for (size_t k = 0; k < n; k++) {
    candidate c = {defs[k], neo_structure_of(q->m, q->a, defs[k], part)};
    uint64_t h = neo_hash(c.form.words.at, c.form.words.n * sizeof *c.form.words.at, 0), at;
    h = neo_hash_mix(neo_hash_mix(h, users_of(q, defs[k])), when_key(q, defs[k]));
    for (size_t i = 0; i < c.form.reads.n; i++)
      h = neo_hash_mix(h, c.form.reads.at[i].tensor.i);
    if (!neo_map_get(&by_words, h, &at)) {
      at = buckets.n;
      neo_map_set(&by_words, h, at);
      NEO_PUSH(q->a, &buckets, (candidates){0});
    }
    candidates *b = &buckets.at[at];
    if (!b->n || neo_structure_matches(&b->at[0].form, &c.form))
      NEO_PUSH(q->a, b, c);
  }
  for (size_t k = 0; k < buckets.n; k++)
    if (buckets.at[k].n > 1)
      merge_bucket(q, &buckets.at[k], part);
}

/* ---- pieces of one tensor */

/* The dimension along which piece k of n is slice k, whole in all others; -1: there is none. */
static int32_t stacked_dim(merger *q, neo_tensor t) {
  const neo_tensor_rec r = *neo_tensor_at(q->m, t);
  int32_t dim = -1;
  int64_t extent;
  for (uint32_t k = 0; k < r.pieces.n; k++) {
    const neo_def_rec *d = neo_def_at(q->m, neo_list_def(q->m, r.pieces, k));
    if (d->out.n != 1 || neo_out_map_rank(d->out_map) != r.extent.n)
      return -1;
    for (uint32_t i = 0; i < r.extent.n; i++) {
      neo_out_dim p = neo_out_map_at(q->m, d->out_map, i);
      if (p.stride != 1 || (p.offset != 0 && p.offset != (int32_t)k) ||
          (p.offset && dim >= 0 && dim != (int32_t)i))
        return -1;
      dim = p.offset ? (int32_t)i : dim;
    }
  }
  bool fits = dim >= 0 &&
              neo_expr_is_int(q->m, neo_list_expr(q->m, r.extent, (uint32_t)dim), &extent) &&
              extent == (int64_t)r.pieces.n;
  return fits ? dim : -1;
}

/* The form of a piece whose axis along `dim` has the one value 0. */
static bool piece_form(merger *q, neo_def d, uint32_t dim, neo_structure *out) {
  int64_t lo, hi;
  const neo_axis_rec *x = neo_def_axis(q->m, neo_def_at(q->m, d), dim);
  *out = neo_structure_of(q->m, q->a, d, NEO_STRUCTURE_WHOLE);
  return neo_expr_is_int(q->m, x->lo, &lo) && neo_expr_is_int(q->m, x->hi, &hi) && !lo && hi == 1;
}

static void merge_pieces(merger *q, neo_tensor t) {
  neo_module *m = q->m;
  neo_list pieces = neo_tensor_at(m, t)->pieces;
  int32_t dim = pieces.n > 1 ? stacked_dim(q, t) : -1;
  int64_t *step;
  if (dim < 0)
    return;
  candidates all = {0};
  for (uint32_t k = 0; k < pieces.n; k++) {
    candidate c = {.def = {neo_list_at(m, pieces, k)}};
    if (!piece_form(q, c.def, (uint32_t)dim, &c.form) ||
        (k && !neo_structure_matches(&all.at[0].form, &c.form)))
      return;
    NEO_PUSH(q->a, &all, c);
  }
  if (run_length(q, all.at, all.n, &step) != all.n)
    return;
  neo_def_rec r = *neo_def_at(m, all.at[0].def);
  neo_expr by[NEO_DEF_AXES] = {{0}};
  uint32_t ids[NEO_DEF_AXES];
  by[dim] = neo_const_i64(m, 0);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, &r, k);
    x.lo = neo_expr_subst_axes(m, x.lo, by, r.axes.n);
    x.hi = k == (uint32_t)dim ? neo_tensor_extent(m, t, k)
                              : neo_expr_subst_axes(m, x.hi, by, r.axes.n);
    ids[k] = neo_axis_add(m, x).i;
  }
  neo_structure_family f = {m, &all.at[0].form, by, r.axes.n, step, neo_axis_ref(m, (uint32_t)dim)};
  r.finish = member_list(&f, q->a, r.finish);
  r.body = member_list(&f, q->a, r.body);
  r.where = neo_expr_subst_axes(m, r.where, by, r.axes.n);
  r.axes = neo_list_new(m, ids, r.axes.n);
  r.out_map = (neo_list){0};
  r.origin = r.origin ? r.origin : all.at[0].def.i;
  neo_tensor_at(m, t)->pieces = (neo_list){0};
  neo_def_add(m, r, true);
}

/* ---- the whole */

static void keep(merger *q, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    neo_map_set(&q->kept, neo_list_at(q->m, l, k), 1);
}

static void add_roots(merger *q, neo_list l, neo_tensors *out) {
  keep(q, l);
  neo_tensors_add(q->m, q->a, out, l);
}

/* Needed tensors that are named from outside. */
static neo_tensors roots_of(merger *q) {
  neo_module *m = q->m;
  neo_tensors roots = {0};
  for (size_t k = 0; k < m->entries.n; k++) {
    add_roots(q, m->entries.at[k].outputs, &roots);
    add_roots(q, m->entries.at[k].updates, &roots);
  }
  for (size_t k = 0; k < m->grads.n; k++) {
    const neo_grad_rec *g = &m->grads.at[k];
    uint32_t y[] = {g->y.i, g->seed.i};
    add_roots(q, neo_list_new(m, y, 2), &roots);
    keep(q, g->wrt);
    keep(q, g->out);
  }
  for (size_t k = 0; k < m->customs.n; k++) {
    const neo_custom_rec *c = &m->customs.at[k];
    const neo_list lists[] = {c->ins, c->outs, c->dys, c->dxs};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
      add_roots(q, lists[i], &roots);
  }
  return roots;
}

typedef NEO_VEC(neo_def) defs;

static void level(merger *q, const defs *whole, const defs *reductions) {
  defs still = {0}, open = {0};
  for (size_t k = 0; k < whole->n; k++) {
    neo_def_rec r = *neo_def_at(q->m, whole->at[k]);
    neo_tensor t = {neo_list_at(q->m, r.out, 0)};
    resolve_reads(q, whole->at[k]);
    bool last = neo_tensor_piece(q->m, t, neo_tensor_at(q->m, t)->pieces.n - 1).i == whole->at[k].i;
    if (last)
      merge_pieces(q, t);
    if (mergeable(q, whole->at[k]))
      NEO_PUSH(q->a, &still, whole->at[k]);
  }
  merge_matching(q, still.at, still.n, NEO_STRUCTURE_WHOLE);
  for (size_t k = 0; k < reductions->n; k++) {
    resolve_reads(q, reductions->at[k]);
    if (mergeable(q, reductions->at[k]) && has_finish(q, reductions->at[k]))
      NEO_PUSH(q->a, &open, reductions->at[k]);
  }
  merge_matching(q, open.at, open.n, NEO_STRUCTURE_REDUCTION);
}

/* Sources of gradients are read by definitions that do not exist yet. */
static void find_conditions(merger *q, const neo_def *order, size_t n) {
  bool *always = NEO_NEW_ARRAY(q->a, bool, q->m->tensors.n);
  for (uint32_t t = 1; t < q->m->tensors.n; t++)
    always[t] = neo_map_get(&q->kept, t, NULL);
  neo_prover *p = neo_prover_new(q->m);
  neo_needed_input in = {order, n, always, NULL, p};
  q->when = neo_needed_where(q->m, &in, q->a);
  neo_prover_free(p);
}

neo_status neo_pass_horizontal_fusion(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  merger q = {.m = m, .a = pass->a, .kept = neo_map_in(pass->a), .sliced = neo_map_in(pass->a)};
  neo_map_init(&q.depth, pass->a);
  neo_map_init(&q.users, pass->a);
  neo_entry_sets_find(m, pass->a, &q.users);
  neo_tensors roots = roots_of(&q);
  neo_def *order;
  size_t n = neo_module_topo(m, roots.at, roots.n, pass->a, &order, NULL);
  NEO_VEC(defs) whole = {0}, reductions = {0};
  find_conditions(&q, order, n);
  for (size_t k = 0; k < n; k++) {
    /* before its own depth is known, so that a read of the definition itself does not count */
    uint64_t part = depth_of(&q, order[k], NEO_STRUCTURE_REDUCTION), at = set_depth(&q, order[k]);
    while (whole.n <= at) {
      NEO_PUSH(pass->a, &whole, (defs){0});
      NEO_PUSH(pass->a, &reductions, (defs){0});
    }
    NEO_PUSH(pass->a, &whole.at[at], order[k]);
    NEO_PUSH(pass->a, &reductions.at[part], order[k]);
  }
  for (size_t k = 0; k < whole.n; k++)
    level(&q, &whole.at[k], &reductions.at[k]);
  return NEO_OK;
}

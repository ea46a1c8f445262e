/* Mixed precision (`--math`, `--store`), as casts in the IR.
 *
 * math = bf16: operands of contractions are rounded, sums stay f32:
 *
 *     Y[b, j] = sum[i] X[b, i] * W[i, j]
 *     ->  sum[i] f32(bf16(X[b, i])) * f32(bf16(W[i, j]))
 *
 * math = tf32: the same with tf32(X[b, i]), an f32 with 10 bits of mantissa.
 *
 * math = 3xtf32 rounds nothing (ir.h says what it permits).
 *
 * A contraction is a sum of products in which two factors share a reduction axis and one has an
 * output axis that the other lacks: each element is used many times, it is rounded once, when it is
 * packed, and hardware may multiply the rounded values. Sums of squares, norms and products of
 * equal axes stay.
 *
 * store = bf16: intermediate tensors of at least two dimensions are stored as bf16; arithmetic on
 * them is f32. Exempt are tensors named by an entry, a request for gradients or a custom gradient;
 * elementwise sources of new parameters and states (gradients of weights, their sums); and
 * recurrences, whose errors would grow with the iterations. */
#include "ir/component.h"
#include "ir/limits.h"
#include "ir/product.h"
#include "transform/transform.h"

/* Does bf16, or tf32, have all values of the type? */
static bool is_narrow_type(const neo_module *m, neo_type t) {
  return t == NEO_BF16_T || (t == NEO_F16_T && m->math == NEO_PRECISION_TF32);
}

/* The rounded expression; values from bf16 are rounded already. */
static neo_expr rounded(neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST && is_narrow_type(m, neo_expr_type(m, neo_list_expr(m, n->arg, 0))))
    return e;
  if (m->math == NEO_PRECISION_TF32)
    return neo_op1(m, NEO_OP_TF32, e);
  return neo_cast(m, NEO_F32_T, neo_cast(m, NEO_BF16_T, e));
}

/* ---- operands of contractions */

typedef struct {
  neo_expr at[NEO_PRODUCT_FACTORS];
  uint32_t n;
} factors;

static bool contracts(const neo_module *m, const neo_def_rec *r, neo_expr x, neo_expr y) {
  uint64_t a = neo_expr_axes(m, x), b = neo_expr_axes(m, y), out = (1ull << r->n_out) - 1;
  return (a & b & ~out) && ((a ^ b) & out) && neo_expr_has_loads(m, x) && neo_expr_has_loads(m, y);
}

static neo_expr product_of(neo_module *m, neo_expr e, const factors *from, const neo_expr *to) {
  if (neo_expr_node(m, e)->op == NEO_OP_MUL) {
    neo_expr a = product_of(m, neo_expr_arg(m, e, 0), from, to);
    neo_expr b = product_of(m, neo_expr_arg(m, e, 1), from, to);
    return neo_op2(m, NEO_OP_MUL, a, b);
  }
  for (uint32_t k = 0; k < from->n; k++)
    if (from->at[k].i == e.i)
      return to[k];
  return e;
}

static void round_operands(neo_module *m, neo_def d) {
  const neo_def_rec r = *neo_def_at(m, d);
  factors f = {.n = 0};
  if (r.reducer != NEO_RED_SUM || r.body.n != 1 || r.n_out >= 63)
    return;
  neo_expr body = neo_list_expr(m, r.body, 0), to[NEO_PRODUCT_FACTORS];
  if (neo_expr_type(m, body) != NEO_F32_T ||
      !neo_product_factors(m, body, f.at, &f.n, NEO_PRODUCT_FACTORS))
    return;
  for (uint32_t k = 0; k < f.n; k++) {
    to[k] = f.at[k];
    for (uint32_t i = 0; i < f.n && to[k].i == f.at[k].i; i++)
      if (contracts(m, &r, f.at[k], f.at[i]))
        to[k] = rounded(m, f.at[k]);
  }
  body = product_of(m, body, &f, to);
  neo_def_at(m, d)->body = neo_list_one(m, body.i);
}

/* ---- tensors in memory */

typedef struct {
  neo_module *m;
  neo_map exact; /* tensors whose type stays */
  neo_map narrow;
} store;

static void keep(store *s, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    neo_map_set(&s->exact, neo_list_at(s->m, l, k), 1);
}

static bool same_extents(const neo_module *m, neo_tensor a, neo_tensor b) {
  const neo_tensor_rec *x = neo_tensor_at(m, a), *y = neo_tensor_at(m, b);
  for (uint32_t k = 0; k < x->extent.n && x->extent.n == y->extent.n; k++)
    if (neo_list_at(m, x->extent, k) != neo_list_at(m, y->extent, k))
      return false;
  return x->extent.n == y->extent.n;
}

/* Are the elements of r those of t, in any order? */
static bool copies(const neo_module *m, const neo_def_rec *r, neo_tensor t) {
  const neo_node *n = neo_expr_node(m, neo_list_expr(m, r->finish, 0));
  return neo_node_is_load(n) && n->attr == t.i;
}

/* Keeps the elementwise sources of exact tensors exact. */
static void keep_sources(store *s, neo_def d, neo_arena *a) {
  const neo_def_rec r = *neo_def_at(s->m, d);
  neo_tensor *read, out = {neo_list_at(s->m, r.out, 0)};
  const neo_tensor_rec *t = neo_tensor_at(s->m, out);
  bool weight = t->role == NEO_ROLE_UPDATE || neo_map_get(&s->exact, out.i, NULL);
  size_t n = neo_def_reads(s->m, d, a, &read);
  for (size_t k = 0; weight && k < n; k++)
    if (same_extents(s->m, read[k], out) || copies(s->m, &r, read[k]))
      neo_map_set(&s->exact, read[k].i, 1);
}

static bool is_narrow(const store *s, neo_tensor t) {
  const neo_module *m = s->m;
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  if (r->role != NEO_ROLE_TEMP || r->type != NEO_F32_T || !r->pieces.n ||
      neo_map_get(&s->exact, t.i, NULL))
    return false;
  const neo_def_rec *d = neo_def_at(m, neo_list_def(m, r->pieces, 0));
  return r->extent.n >= 2u + (d->chunk_loop != 0) + (d->inner_loop != 0); /* less those of chunks */
}

static neo_expr read_narrow(void *ctx, neo_module *m, neo_expr e) {
  const store *s = ctx;
  const neo_node n = *neo_expr_node(m, e);
  neo_expr arg[24];
  bool otherwise = n.op == NEO_OP_LOAD_ELSE;
  if ((n.op != NEO_OP_LOAD && !otherwise) || n.type != NEO_F32_T || n.arg.n > 24 ||
      !neo_map_get(&s->narrow, n.attr, NULL))
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  if (otherwise)
    arg[n.arg.n - 1] = neo_cast(m, NEO_BF16_T, arg[n.arg.n - 1]);
  neo_expr x = neo_expr_make(m, (neo_op)n.op, NEO_BF16_T, n.attr, arg, n.arg.n, n.span);
  return neo_cast(m, NEO_F32_T, x);
}

static void write_narrow(store *s, neo_def d) {
  const neo_def_rec r = *neo_def_at(s->m, d);
  uint32_t ids[8];
  for (uint32_t k = 0; k < r.finish.n; k++) {
    neo_expr e = neo_list_expr(s->m, r.finish, k);
    bool narrow = neo_map_get(&s->narrow, neo_list_at(s->m, r.out, k), NULL);
    ids[k] = narrow ? neo_cast(s->m, NEO_BF16_T, e).i : e.i;
  }
  neo_def_at(s->m, d)->finish = neo_list_new(s->m, ids, r.finish.n);
}

/* Gives a gradient the type of its tensor. */
static void keep_gradients(store *s) {
  const neo_module *m = s->m;
  for (size_t k = 0; k < m->grads.n; k++) {
    const neo_grad_rec *g = &m->grads.at[k];
    neo_map_set(&s->exact, g->y.i, 1);
    neo_map_set(&s->exact, g->seed.i, 1);
    keep(s, g->wrt);
    keep(s, g->out);
  }
  for (size_t k = 0; k < m->customs.n; k++) {
    const neo_custom_rec *c = &m->customs.at[k];
    keep(s, c->ins);
    keep(s, c->outs);
    keep(s, c->dys);
    keep(s, c->dxs);
  }
}

static void keep_recurrences(store *s, neo_arena *a) {
  const bool *recurs = neo_recurrent_defs(s->m, a);
  for (uint32_t d = 1; d < s->m->defs.n; d++) /* chunks are read while they are cached */
    if (recurs[d] || neo_def_at(s->m, (neo_def){d})->chunk_loop)
      keep(s, neo_def_at(s->m, (neo_def){d})->out);
}

static void find_narrow(store *s, neo_arena *a) {
  neo_module *m = s->m;
  neo_def *order;
  for (size_t k = 0; k < m->entries.n; k++) {
    keep(s, m->entries.at[k].outputs);
    keep(s, m->entries.at[k].updates);
  }
  for (size_t k = neo_needed_defs(m, false, a, &order); k-- > 0;)
    keep_sources(s, order[k], a);
  keep_gradients(s);
  keep_recurrences(s, a);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (is_narrow(s, (neo_tensor){t}))
      neo_map_set(&s->narrow, t, 1);
}

static void store_narrow(neo_module *m, neo_arena *a) {
  store s = {.m = m, .exact = neo_map_in(a), .narrow = neo_map_in(a)};
  find_narrow(&s, a);
  for (uint32_t d = 1; d < m->defs.n && s.narrow.n; d++) {
    neo_def_rewrite(m, (neo_def){d}, read_narrow, &s);
    write_narrow(&s, (neo_def){d});
  }
  for (size_t k = 0; k < s.narrow.n; k++)
    m->tensors.at[s.narrow.key[k]].type = NEO_BF16_T;
}

neo_status neo_pass_mixed_precision(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  if (m->store == NEO_PRECISION_BF16)
    store_narrow(m, pass->a);
  bool rounds = m->math == NEO_PRECISION_BF16 || m->math == NEO_PRECISION_TF32;
  for (uint32_t d = 1; rounds && d < m->defs.n; d++)
    round_operands(m, (neo_def){d});
  return NEO_OK;
}

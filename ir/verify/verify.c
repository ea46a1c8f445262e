/* The verifier: definitions, and the order of the checks. Definitions that are neither a piece nor
 * an initialiser were replaced by a pass and are not looked at. */
#include "ir/verify/verify.h"
#include "ir/limits.h"
#include "ir/out_map.h"
#include "ir/verify/parts.h"

/* ---- definitions */

static bool check_axes(neo_verifier *v, const neo_def_rec *d) {
  const neo_module *m = v->m;
  if (d->n_out > d->axes.n || d->axes.n > NEO_DEF_AXES)
    return neo_verify_fail(v, "wrong number of axes");
  for (uint32_t k = 0; k < d->axes.n; k++) {
    uint32_t id = neo_list_at(m, d->axes, k);
    neo_verify_scope in = {.n_axes = k, .sizes_only = k < d->n_out};
    if (id == 0 || id >= m->axes.n)
      return neo_verify_fail(v, "an axis does not exist");
    const neo_axis_rec *x = neo_def_axis(m, d, k);
    if (!neo_verify_expr(v, &in, x->lo, NEO_I64_T, "the start of an axis"))
      return false;
    if (!neo_verify_expr(v, &in, x->hi, NEO_I64_T, "the end of an axis"))
      return false;
    int64_t lo;
    if (k < d->n_out && (!neo_expr_is_int(m, x->lo, &lo) || lo))
      return neo_verify_fail(v, "an output axis starts at 0");
  }
  return true;
}

static bool body_type_fits(neo_reducer r, neo_type t) {
  switch (r) {
  case NEO_RED_ANY:
  case NEO_RED_ALL:
    return t == NEO_BOOL_T;
  case NEO_RED_MEAN:
  case NEO_RED_LOGSUMEXP:
    return neo_type_is_float(t);
  default:
    return t != NEO_BOOL_T;
  }
}

static bool check_reduction(neo_verifier *v, const neo_def_rec *d) {
  neo_reducer r = (neo_reducer)d->reducer;
  neo_verify_scope in = {.n_axes = d->axes.n};
  if (r == NEO_RED_NONE) {
    bool bare = d->axes.n == d->n_out && !d->where.i && !d->body.n;
    return bare ? true : neo_verify_fail(v, "reduces without a reducer");
  }
  if (d->where.i && !neo_verify_expr(v, &in, d->where, NEO_BOOL_T, "the condition"))
    return false;
  if (d->body.n == 0 || d->body.n > neo_reducer_bodies(r))
    return neo_verify_fail(v, "wrong number of bodies");
  neo_expr first = neo_list_expr(v->m, d->body, 0);
  if (first.i == 0 || first.i >= v->m->nodes.n)
    return neo_verify_fail(v, "a body is missing");
  if (!neo_verify_expr(v, &in, first, neo_expr_type(v->m, first), "the body"))
    return false;
  if (!body_type_fits(r, neo_expr_type(v->m, first)))
    return neo_verify_fail(v, "%s of %s", neo_reducer_text(r),
                           neo_type_text(neo_expr_type(v->m, first)));
  return d->body.n < 2 ||
         neo_verify_expr(v, &in, neo_list_expr(v->m, d->body, 1), NEO_I64_T, "the second body");
}

/* The number of accumulators that the finish may use. */
static uint32_t accs_of(const neo_def_rec *d) {
  bool picks = d->reducer == NEO_RED_MAX || d->reducer == NEO_RED_MIN;
  return picks ? d->body.n : neo_reducer_accs((neo_reducer)d->reducer);
}

static bool check_finish(neo_verifier *v, const neo_def_rec *d) {
  neo_verify_scope in = {.n_axes = d->n_out, .n_accs = accs_of(d)};
  if (d->body.n)
    in.acc = neo_expr_type(v->m, neo_list_expr(v->m, d->body, 0));
  if (d->finish.n != d->out.n)
    return neo_verify_fail(v, "not one expression a result");
  for (uint32_t k = 0; k < d->out.n; k++) {
    neo_tensor t = {neo_list_at(v->m, d->out, k)};
    neo_type type = neo_tensor_type(v->m, t);
    if (!neo_verify_expr(v, &in, neo_list_expr(v->m, d->finish, k), type, "the result"))
      return false;
  }
  return true;
}

static bool check_outs(neo_verifier *v, const neo_def_rec *d) {
  if (d->out.n == 0 || d->out.n > 4)
    return neo_verify_fail(v, "wrong number of results");
  for (uint32_t k = 0; k < d->out.n; k++) {
    neo_tensor t = {neo_list_at(v->m, d->out, k)}, first = {neo_list_at(v->m, d->out, 0)};
    if (!neo_verify_id(v, t.i))
      return false;
    if (neo_tensor_rank(v->m, t) != d->n_out)
      return neo_verify_fail(v, "not one output axis a dimension");
    if (k && !neo_verify_same_shape(v, t, first))
      return false;
    for (uint32_t j = 0; j < k; j++)
      if (neo_list_at(v->m, d->out, j) == t.i)
        return neo_verify_fail(v, "defines a tensor twice");
  }
  return true;
}

static bool check_map(neo_verifier *v, const neo_def_rec *d) {
  if (d->out_map.n && (d->out_map.n % 2 || neo_out_map_rank(d->out_map) != d->n_out))
    return neo_verify_fail(v, "the out map does not fit the dimensions");
  for (uint32_t k = 0; k < d->n_out; k++)
    if (neo_out_map_at(v->m, d->out_map, k).stride <= 0)
      return neo_verify_fail(v, "strides of the out map are positive");
  return true;
}

static bool check_def(neo_verifier *v, neo_def id, bool init) {
  const neo_def_rec *d = neo_def_at(v->m, id);
  v->where = neo_arena_printf(v->arena, "definition %u", id.i);
  if (neo_def_is_levels(d) && !init)
    return check_axes(v, d) && neo_verify_levels(v, d);
  if (!check_outs(v, d))
    return false;
  neo_tensor out = {neo_list_at(v->m, d->out, 0)};
  v->where = neo_arena_printf(v->arena, "%s %u of %s", init ? "initialiser" : "definition", id.i,
                              neo_verify_tensor_name(v, out));
  if (d->in.i)
    return neo_verify_fail(v, "the region does not exist");
  if (d->reducer >= NEO_RED_COUNT)
    return neo_verify_fail(v, "the reducer is unknown");
  if (d->origin >= v->m->defs.n)
    return neo_verify_fail(v, "the origin does not exist");
  if (d->after.i >= v->m->tensors.n)
    return neo_verify_fail(v, "the tensor before it does not exist");
  if (init && (d->out.n != 1 || d->out_map.n))
    return neo_verify_fail(v, "an initialiser defines one whole tensor");
  return check_map(v, d) && check_axes(v, d) && check_reduction(v, d) && check_finish(v, d);
}

/* Is the definition a piece of every tensor that it defines? */
static bool check_membership(neo_verifier *v, neo_def id) {
  const neo_def_rec *d = neo_def_at(v->m, id);
  for (uint32_t k = 0; k < d->out.n; k++) {
    neo_tensor t = {neo_list_at(v->m, d->out, k)};
    neo_list pieces = neo_tensor_at(v->m, t)->pieces;
    uint32_t n = 0;
    for (uint32_t j = 0; j < pieces.n; j++)
      n += neo_list_at(v->m, pieces, j) == id.i;
    if (n != 1)
      return neo_verify_fail(v, "is not once a piece of %s", neo_verify_tensor_name(v, t));
  }
  return true;
}

static bool init_cover(neo_verifier *v, neo_tensor t, const neo_def_rec *d) {
  for (uint32_t k = 0; k < d->n_out; k++)
    for (uint32_t s = 0; s < v->n_samples; s++) {
      int64_t hi = neo_verify_eval(v, s, neo_def_axis(v->m, d, k)->hi);
      int64_t extent = neo_verify_eval(v, s, neo_tensor_extent(v->m, t, k));
      if (hi != extent && (hi > 0 || extent > 0))
        return neo_verify_fail(v, "does not cover all elements");
    }
  return true;
}

static bool reads_input(neo_verifier *v, neo_def d) {
  neo_tensor *read;
  size_t n = neo_def_reads(v->m, d, v->arena, &read);
  for (size_t k = 0; k < n; k++)
    if (neo_tensor_at(v->m, read[k])->role == NEO_ROLE_INPUT)
      return true;
  return false;
}

static bool check_init(neo_verifier *v, neo_tensor t) {
  neo_def d = neo_tensor_at(v->m, t)->init;
  if (!check_def(v, d, true) || !init_cover(v, t, neo_def_at(v->m, d)))
    return false;
  return reads_input(v, d) ? neo_verify_fail(v, "reads an input") : true;
}

static bool check_defs(neo_verifier *v) {
  bool *done = NEO_NEW_ARRAY(v->arena, bool, v->m->defs.n);
  for (uint32_t k = 1; k < v->m->tensors.n; k++) {
    const neo_tensor_rec *r = &v->m->tensors.at[k];
    if (r->init.i && !check_init(v, (neo_tensor){k}))
      return false;
    for (uint32_t j = 0; j < r->pieces.n; j++) {
      neo_def d = {neo_list_at(v->m, r->pieces, j)};
      if (!done[d.i] && (!check_def(v, d, false) || !check_membership(v, d)))
        return false;
      done[d.i] = true;
    }
    v->where = neo_verify_tensor_name(v, (neo_tensor){k});
    if (!neo_verify_cover(v, (neo_tensor){k}))
      return false;
  }
  return true;
}

/* Operators and arguments exist; only then can expressions be walked. */
static bool check_nodes(neo_verifier *v) {
  for (uint32_t k = 1; k < v->m->nodes.n; k++) {
    const neo_node *n = &v->m->nodes.at[k];
    if (n->op >= NEO_OP_COUNT || n->type >= NEO_TYPE_COUNT)
      return neo_verify_fail(v, "the operator or type of node %u does not exist", k);
    if ((uint64_t)n->arg.at + n->arg.n > v->m->pool.n)
      return neo_verify_fail(v, "the arguments of node %u do not exist", k);
    if (n->arg.n > NEO_NODE_ARGS)
      return neo_verify_fail(v, "node %u has more than %d arguments", k, NEO_NODE_ARGS);
    for (uint32_t j = 0; j < n->arg.n; j++) {
      uint32_t a = neo_list_at(v->m, n->arg, j);
      if (a == 0 || a >= k)
        return neo_verify_fail(v, "an argument of node %u does not exist", k);
    }
  }
  return true;
}

neo_status neo_module_verify(const neo_module *m, neo_str *why) {
  neo_arena scratch = neo_arena_scratch(m->arena);
  neo_verifier v = {.m = m, .why = why, .arena = &scratch, .where = "module"};
  v.value = NEO_NEW_ARRAY(&scratch, int64_t, m->nodes.n);
  bool ok = check_nodes(&v) && neo_verify_sizes(&v) && neo_verify_tensors(&v) && check_defs(&v) &&
            neo_verify_entries(&v) && neo_verify_gradients(&v) && neo_verify_customs(&v);
  neo_arena_free(&scratch);
  return ok ? NEO_OK : NEO_INTERNAL;
}

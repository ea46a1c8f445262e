/* Invariants of the tables: sizes, tensors, entries, gradient requests, custom gradients. */
#include "base/hash.h"
#include "ir/element.h"
#include "ir/verify/parts.h"

/* ---- sizes */

static int64_t sampled(const neo_size_rec *s, uint32_t sample, uint32_t id) {
  uint64_t width = (uint64_t)s->hi - (uint64_t)s->lo;
  if (sample == 0 || width == 0)
    return s->lo;
  if (sample == 1)
    return s->hi;
  uint64_t h = neo_hash_mix(sample, id);
  uint64_t range = width < 40 ? width : 40; /* small sizes find more */
  return (int64_t)((uint64_t)s->lo + h % (range + 1));
}

/* Values of all sizes; false when a derived one breaks its range, so that the sample is void. */
static bool take_sample(neo_verifier *v, uint32_t sample, int64_t *value) {
  v->size[v->n_samples] = value;
  for (uint32_t k = 1; k < v->m->sizes.n; k++) {
    const neo_size_rec *s = &v->m->sizes.at[k];
    value[k] = s->kind == NEO_SIZE_DERIVED ? neo_verify_eval(v, v->n_samples, s->value)
                                           : sampled(s, sample, k);
    if (value[k] < s->lo || value[k] > s->hi)
      return false;
  }
  for (size_t k = 0; k < v->m->asserts.n; k++)
    if (!neo_verify_eval(v, v->n_samples, v->m->asserts.at[k].holds))
      return false;
  return true;
}

static void take_samples(neo_verifier *v) {
  uint32_t n = v->m->sizes.n > 1 ? NEO_VERIFY_SAMPLES : 1;
  for (uint32_t k = 0; k < n; k++) {
    int64_t *value = NEO_NEW_ARRAY(v->arena, int64_t, v->m->sizes.n);
    if (take_sample(v, k, value))
      v->n_samples++;
  }
}

static bool unique_name(neo_verifier *v, neo_map *seen, uint32_t name) {
  if (!name)
    return true;
  if (neo_map_get(seen, name, NULL))
    return neo_verify_fail(v, "the name is used twice");
  neo_map_set(seen, name, 1);
  return true;
}

/* The same for an expression over constants and sizes. False: *why says what is wrong. */
static bool verify_size(neo_verifier *v, neo_expr e, neo_type type, const char *what) {
  return neo_verify_expr(v, &(neo_verify_scope){.sizes_only = true}, e, type, what);
}

static bool check_size(neo_verifier *v, uint32_t id, neo_map *seen) {
  const neo_size_rec *s = &v->m->sizes.at[id];
  v->where = neo_arena_printf(v->arena, "size '%s'", neo_name_text(v->m->names, s->name));
  if (s->lo < 0 || s->lo > s->hi)
    return neo_verify_fail(v, "the range is empty or negative");
  if (!unique_name(v, seen, s->name))
    return false;
  if (s->kind == NEO_SIZE_RUNTIME)
    return s->value.i ? neo_verify_fail(v, "has a value") : true;
  if (s->kind != NEO_SIZE_DERIVED)
    return neo_verify_fail(v, "the kind is unknown");
  return verify_size(v, s->value, NEO_I64_T, "the value");
}

typedef struct {
  const neo_module *m;
  uint32_t largest;
} size_use;

static void note_size(void *ctx, neo_expr e) {
  size_use *u = ctx;
  const neo_node *n = neo_expr_node(u->m, e);
  if (n->op == NEO_OP_SIZE && n->attr > u->largest)
    u->largest = n->attr;
}

/* Checks the assertions, bools over sizes, before samples of sizes are taken, which satisfy
 * them. */
static bool check_asserts(neo_verifier *v) {
  v->where = "an assertion";
  for (size_t k = 0; k < v->m->asserts.n; k++)
    if (!verify_size(v, v->m->asserts.at[k].holds, NEO_BOOL_T, "the condition"))
      return false;
  take_samples(v);
  return true;
}

bool neo_verify_sizes(neo_verifier *v) {
  neo_map seen = neo_map_in(v->arena);
  for (uint32_t k = 1; k < v->m->sizes.n; k++) {
    size_use use = {.m = v->m};
    if (!check_size(v, k, &seen))
      return false;
    neo_expr_visit(v->m, v->m->sizes.at[k].value, note_size, &use);
    if (use.largest >= k)
      return neo_verify_fail(v, "the value needs a later size");
  }
  return check_asserts(v);
}

/* ---- tensors */

const char *neo_verify_tensor_name(neo_verifier *v, neo_tensor t) {
  uint32_t name = neo_tensor_at(v->m, t)->name;
  if (!name)
    return neo_arena_printf(v->arena, "tensor %u", t.i);
  return neo_arena_printf(v->arena, "tensor '%s'", neo_name_text(v->m->names, name));
}

bool neo_verify_id(neo_verifier *v, uint32_t tensor) {
  bool ok = tensor > 0 && tensor < v->m->tensors.n;
  return ok ? true : neo_verify_fail(v, "names a tensor that does not exist");
}

bool neo_verify_same_shape(neo_verifier *v, neo_tensor a, neo_tensor b) {
  neo_list x = neo_tensor_at(v->m, a)->extent, y = neo_tensor_at(v->m, b)->extent;
  bool same = x.n == y.n;
  for (uint32_t k = 0; same && k < x.n; k++) {
    neo_expr p = neo_list_expr(v->m, x, k), q = neo_list_expr(v->m, y, k);
    for (uint32_t s = 0; same && p.i != q.i && s < v->n_samples; s++)
      same = neo_verify_eval(v, s, p) == neo_verify_eval(v, s, q);
  }
  return same ? true
              : neo_verify_fail(v, "extents differ from those of %s", neo_verify_tensor_name(v, b));
}

static bool check_const(neo_verifier *v, neo_tensor t, const neo_tensor_rec *r) {
  uint64_t n = neo_type_bytes((neo_type)r->type);
  for (uint32_t k = 0; k < r->extent.n; k++) {
    int64_t x;
    if (!neo_expr_is_int(v->m, neo_tensor_extent(v->m, t, k), &x) || x < 0)
      return neo_verify_fail(v, "data needs constant extents");
    if (__builtin_mul_overflow(n, (uint64_t)x, &n))
      return neo_verify_fail(v, "too large");
  }
  if (n != r->n_data_bytes)
    return neo_verify_fail(v, "the data does not fill the extents");
  return n && !r->data ? neo_verify_fail(v, "has no data") : true;
}

static bool check_update(neo_verifier *v, neo_tensor t, const neo_tensor_rec *r) {
  if (r->role != NEO_ROLE_UPDATE)
    return r->updates.i ? neo_verify_fail(v, "only an update replaces a tensor") : true;
  if (!neo_verify_id(v, r->updates.i))
    return false;
  const neo_tensor_rec *old = neo_tensor_at(v->m, r->updates);
  if (old->role != NEO_ROLE_PARAM && old->role != NEO_ROLE_STATE)
    return neo_verify_fail(v, "updates what is neither parameter nor state");
  if (old->type != r->type)
    return neo_verify_fail(v, "differs in type from what it updates");
  return neo_verify_same_shape(v, t, r->updates);
}

static bool list_has(const neo_module *m, neo_list l, uint32_t x) {
  for (uint32_t k = 0; k < l.n; k++)
    if (neo_list_at(m, l, k) == x)
      return true;
  return false;
}

static bool check_definers(neo_verifier *v, neo_tensor t, const neo_tensor_rec *r) {
  bool computed = r->role == NEO_ROLE_TEMP || r->role == NEO_ROLE_UPDATE;
  bool kept = r->role == NEO_ROLE_PARAM || r->role == NEO_ROLE_STATE || r->role == NEO_ROLE_SETTING;
  if (r->pieces.n && !computed)
    return neo_verify_fail(v, "has pieces, but is not computed");
  if (r->init.i && !kept)
    return neo_verify_fail(v, "has an initialiser, but is not kept");
  if (r->init.i >= v->m->defs.n)
    return neo_verify_fail(v, "the initialiser does not exist");
  if (r->init.i && !list_has(v->m, neo_def_at(v->m, r->init)->out, t.i))
    return neo_verify_fail(v, "the initialiser defines something else");
  for (uint32_t k = 0; k < r->pieces.n; k++) {
    neo_def d = {neo_list_at(v->m, r->pieces, k)};
    if (d.i == 0 || d.i >= v->m->defs.n)
      return neo_verify_fail(v, "a piece does not exist");
    if (!list_has(v->m, neo_def_at(v->m, d)->out, t.i))
      return neo_verify_fail(v, "piece %u defines something else", d.i);
  }
  return true;
}

/* An end of the elements: affine in the tensor's indices. */
static bool check_end(neo_verifier *v, const neo_tensor_rec *r, neo_expr e) {
  neo_verify_scope in = {.n_axes = r->extent.n};
  if (!e.i)
    return true;
  if (!neo_type_is_int((neo_type)r->type))
    return neo_verify_fail(v, "a bound is for integers");
  if (!neo_verify_expr(v, &in, e, NEO_I64_T, "the bound"))
    return false;
  return neo_element_end_is_affine(v->m, e, r->extent.n) ||
         neo_verify_fail(v, "a bound is not affine in the indices");
}

/* A tensor with offsets, and the offsets themselves (whose own `offsets` field is themselves), must
 * have integers, be of one dimension, and be inputs or tables. */
static bool check_offsets(neo_verifier *v, const neo_tensor_rec *r) {
  if (!neo_verify_id(v, r->offsets.i))
    return false;
  bool good = (r->role == NEO_ROLE_INPUT || r->role == NEO_ROLE_TEMP) && r->extent.n == 1 &&
              r->bound.i && neo_tensor_at(v->m, r->offsets)->offsets.i == r->offsets.i;
  return good ||
         neo_verify_fail(v, "offsets are of inputs and tables of one dimension that have a bound");
}

static bool check_tensor(neo_verifier *v, neo_tensor t, neo_map *seen) {
  const neo_tensor_rec *r = neo_tensor_at(v->m, t);
  v->where = neo_verify_tensor_name(v, t);
  if (r->role > NEO_ROLE_COTANGENT)
    return neo_verify_fail(v, "the role is unknown");
  if (r->type >= NEO_TYPE_COUNT)
    return neo_verify_fail(v, "the type is unknown");
  if (!unique_name(v, seen, r->name))
    return false;
  if (r->in.i)
    return neo_verify_fail(v, "the region does not exist");
  if (r->extent.n > NEO_VERIFY_RANK)
    return neo_verify_fail(v, "more than 16 dimensions");
  for (uint32_t k = 0; k < r->extent.n; k++)
    if (!verify_size(v, neo_list_expr(v->m, r->extent, k), NEO_I64_T, "an extent"))
      return false;
  if (r->bound.i && !neo_type_is_int((neo_type)r->type))
    return neo_verify_fail(v, "a bound is for integers");
  if (r->bound.i && !verify_size(v, r->bound, NEO_I64_T, "the bound"))
    return false;
  if (!check_end(v, r, r->least) || !check_end(v, r, r->below))
    return false;
  if (r->offsets.i && !check_offsets(v, r))
    return false;
  if (r->role == NEO_ROLE_SETTING && r->extent.n)
    return neo_verify_fail(v, "a setting is a scalar");
  if (r->role == NEO_ROLE_CONST && !check_const(v, t, r))
    return false;
  return check_definers(v, t, r);
}

bool neo_verify_tensors(neo_verifier *v) {
  neo_map seen = neo_map_in(v->arena);
  for (uint32_t k = 1; k < v->m->tensors.n; k++)
    if (!check_tensor(v, (neo_tensor){k}, &seen))
      return false;
  for (uint32_t k = 1; k < v->m->tensors.n; k++) {
    v->where = neo_verify_tensor_name(v, (neo_tensor){k});
    if (!check_update(v, (neo_tensor){k}, &v->m->tensors.at[k]))
      return false;
  }
  return true;
}

/* ---- entries, gradients */

static bool check_ids(neo_verifier *v, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    if (!neo_verify_id(v, neo_list_at(v->m, l, k)))
      return false;
  return true;
}

static bool check_entry_updates(neo_verifier *v, const neo_entry_rec *e) {
  neo_map seen = neo_map_in(v->arena);
  for (uint32_t k = 0; k < e->updates.n; k++) {
    const neo_tensor_rec *r = neo_tensor_at(v->m, neo_list_tensor(v->m, e->updates, k));
    if (r->role != NEO_ROLE_UPDATE)
      return neo_verify_fail(v, "takes what is no update");
    if (neo_map_get(&seen, r->updates.i, NULL))
      return neo_verify_fail(v, "updates %s twice", neo_verify_tensor_name(v, r->updates));
    neo_map_set(&seen, r->updates.i, 1);
  }
  return true;
}

bool neo_verify_entries(neo_verifier *v) {
  for (size_t k = 0; k < v->m->entries.n; k++) {
    const neo_entry_rec *e = &v->m->entries.at[k];
    v->where = neo_arena_printf(v->arena, "entry '%s'", neo_name_text(v->m->names, e->name));
    if (e->kind > NEO_ENTRY_INIT)
      return neo_verify_fail(v, "the kind is unknown");
    if (e->names.n != e->outputs.n)
      return neo_verify_fail(v, "not one name an output");
    if (!check_ids(v, e->outputs) || !check_ids(v, e->updates))
      return false;
    if (!check_entry_updates(v, e))
      return false;
  }
  return true;
}

static bool same_shape(neo_verifier *v, neo_tensor a, neo_tensor b) {
  if (neo_tensor_at(v->m, a)->type != neo_tensor_at(v->m, b)->type)
    return neo_verify_fail(v, "%s and %s differ in type", neo_verify_tensor_name(v, a),
                           neo_verify_tensor_name(v, b));
  return neo_verify_same_shape(v, a, b);
}

/* Whether the gradient dx has one leading dimension for each batch axis of the request; x may have
 * them itself. */
static bool check_batched(neo_verifier *v, const neo_grad_rec *g, neo_tensor x, neo_tensor dx) {
  const neo_module *m = v->m;
  uint32_t rank = neo_tensor_rank(m, x), more = neo_tensor_rank(m, dx) - rank;
  bool good = (more == 0 && rank >= g->n_batch) || more == g->n_batch;
  for (uint32_t k = 0; good && k < g->n_batch; k++)
    good = neo_tensor_extent(m, dx, k).i == neo_tensor_extent(m, g->y, k).i;
  for (uint32_t k = more ? 0 : g->n_batch; good && k < rank; k++)
    good = neo_tensor_extent(m, dx, more + k).i == neo_tensor_extent(m, x, k).i;
  return good || neo_verify_fail(v, "%s has another shape than the gradients of %s at each point",
                                 neo_verify_tensor_name(v, dx), neo_verify_tensor_name(v, x));
}

static bool check_gradient(neo_verifier *v, const neo_grad_rec *g) {
  if (!neo_verify_id(v, g->y.i) || !check_ids(v, g->wrt) || !check_ids(v, g->out) ||
      !check_ids(v, g->hold))
    return false;
  if (g->n_batch > neo_tensor_rank(v->m, g->y))
    return neo_verify_fail(v, "the differentiated tensor has fewer dimensions than the request");
  if (!neo_type_is_float(neo_tensor_type(v->m, g->y)))
    return neo_verify_fail(v, "the differentiated tensor is no float");
  if (!g->seed.i && neo_tensor_rank(v->m, g->y) != g->n_batch)
    return neo_verify_fail(v, "only a scalar needs no seed");
  if (g->seed.i && (!neo_verify_id(v, g->seed.i) || !same_shape(v, g->seed, g->y)))
    return false;
  if (g->wrt.n != g->out.n)
    return neo_verify_fail(v, "not one result a tensor");
  for (uint32_t k = 0; k < g->wrt.n; k++) {
    neo_tensor x = {neo_list_at(v->m, g->wrt, k)}, dx = {neo_list_at(v->m, g->out, k)};
    if (g->n_batch ? !check_batched(v, g, x, dx) : !same_shape(v, dx, x))
      return false;
  }
  return true;
}

bool neo_verify_gradients(neo_verifier *v) {
  for (size_t k = 0; k < v->m->grads.n; k++) {
    v->where = neo_arena_printf(v->arena, "gradient %u", (unsigned)k);
    if (!check_gradient(v, &v->m->grads.at[k]))
      return false;
  }
  return true;
}

/* Adjoints are as their tensors; 0 is none. */
static bool check_adjoints(neo_verifier *v, neo_list adjoint, neo_list of) {
  if (adjoint.n != of.n)
    return neo_verify_fail(v, "not one adjoint a tensor");
  for (uint32_t k = 0; k < of.n; k++) {
    neo_tensor d = {neo_list_at(v->m, adjoint, k)}, t = {neo_list_at(v->m, of, k)};
    if (d.i && (!neo_verify_id(v, d.i) || !same_shape(v, d, t)))
      return false;
  }
  return true;
}

bool neo_verify_customs(neo_verifier *v) {
  for (size_t k = 0; k < v->m->customs.n; k++) {
    const neo_custom_rec *c = &v->m->customs.at[k];
    v->where = neo_arena_printf(v->arena, "custom gradient %u", (unsigned)k);
    if (!check_ids(v, c->ins) || !check_ids(v, c->outs))
      return false;
    if (!check_adjoints(v, c->dys, c->outs) || !check_adjoints(v, c->dxs, c->ins))
      return false;
  }
  return true;
}

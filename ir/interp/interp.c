/* The interpreter: the stores of all tensors, and which definitions a run evaluates, in which
 * order. */
#include "ir/interp/interp.h"
#include "ir/component.h"
#include "ir/element.h"
#include "ir/interp/parts.h"
#include "ir/level_schedule.h"
#include <assert.h>
#include <string.h>

struct neo_interp {
  neo_arena *arena;
  neo_module *m;
  uint64_t seed, step, calls;
  int64_t *size;
  neo_interp_store *store; /* by tensor */
  bool track, disturbed;
  bool limited;
  uint64_t noise, work;
  neo_status init_status;
  neo_str init_why;
  NEO_VEC(neo_values *) outputs; /* outputs of the last run */
};

/* ---- sizes */

typedef struct {
  const neo_interp *p;
  neo_map value;
} size_eval;

static void eval_size_node(void *ctx, neo_expr e) {
  size_eval *s = ctx;
  const neo_module *m = s->p->m;
  const neo_node *n = neo_expr_node(m, e);
  neo_value x[3] = {{.i = 0}};
  if (n->op == NEO_OP_SIZE)
    x[0].i = s->p->size[n->attr];
  if (n->op != NEO_OP_SIZE && !neo_expr_is_int(m, e, &x[0].i)) {
    uint64_t v = 0;
    for (uint32_t k = 0; k < n->arg.n && k < 3; k++) {
      (void)neo_map_get(&s->value, neo_list_at(m, n->arg, k), &v);
      x[k].i = (int64_t)v;
    }
    neo_type t = neo_expr_type(m, neo_expr_arg(m, e, 0));
    x[0] = neo_value_op((neo_op)n->op, (neo_type)n->type, t, x);
  }
  neo_map_set(&s->value, e.i, (uint64_t)x[0].i);
}

/* An expression over constants and sizes. */
static int64_t eval_size(const neo_interp *p, neo_expr e) {
  uint64_t v = 0;
  int64_t constant;
  if (neo_expr_is_int(p->m, e, &constant))
    return constant;
  if (neo_expr_node(p->m, e)->op == NEO_OP_SIZE)
    return p->size[neo_expr_node(p->m, e)->attr];
  neo_arena scratch = neo_arena_scratch(p->arena);
  size_eval s = {.p = p, .value = neo_map_in(&scratch)};
  neo_expr_visit(p->m, e, eval_size_node, &s);
  (void)neo_map_get(&s.value, e.i, &v);
  neo_arena_free(&scratch);
  return (int64_t)v;
}

static void set_sizes(neo_interp *p, const int64_t *sizes) {
  p->size = NEO_NEW_ARRAY(p->arena, int64_t, p->m->sizes.n);
  for (uint32_t k = 1; k < p->m->sizes.n; k++) {
    const neo_size_rec *s = &p->m->sizes.at[k];
    p->size[k] = s->kind == NEO_SIZE_DERIVED ? eval_size(p, s->value) : sizes[k];
  }
}

/* ---- stores */

static bool is_kept(neo_role r) {
  return r == NEO_ROLE_PARAM || r == NEO_ROLE_STATE || r == NEO_ROLE_SETTING || r == NEO_ROLE_CONST;
}

static bool is_computed(neo_role r) {
  return r == NEO_ROLE_TEMP || r == NEO_ROLE_UPDATE;
}

static neo_role role_of(const neo_interp *p, uint32_t t) {
  return (neo_role)p->m->tensors.at[t].role;
}

/* Sets the tensor's extents at the present sizes. Its elements are lost unless the extents stay the
 * same. */
static void shape_store(neo_interp *p, uint32_t t) {
  neo_interp_store *s = &p->store[t];
  neo_values v = {.rank = neo_tensor_rank(p->m, (neo_tensor){t}), .n = 1};
  assert(v.rank <= 16);
  bool same = s->v.at && s->v.rank == v.rank;
  for (uint32_t k = 0; k < v.rank; k++) {
    int64_t x = eval_size(p, neo_tensor_extent(p->m, (neo_tensor){t}, k));
    v.extent[k] = x > 0 ? x : 0;
    v.n *= v.extent[k];
    same = same && s->v.extent[k] == v.extent[k];
  }
  if (same)
    return;
  if (!s->v.at || (size_t)v.n > s->cap) {
    s->cap = (size_t)v.n;
    s->v.at = NEO_NEW_ARRAY(p->arena, neo_value, v.n + 1);
    s->error = NULL;
  } else {
    memset(s->v.at, 0, (size_t)v.n * sizeof *s->v.at);
  }
  v.at = s->v.at;
  s->v = v;
  s->error_valid = false;
}

static void want_errors(neo_interp *p, uint32_t t) {
  neo_interp_store *s = &p->store[t];
  if (p->track && !s->error)
    s->error = NEO_NEW_ARRAY(p->arena, double, s->cap + 1);
  s->error_valid = p->track;
}

static void fill_const(neo_interp *p, uint32_t t) {
  const neo_tensor_rec *r = &p->m->tensors.at[t];
  neo_values *v = &p->store[t].v;
  uint32_t size = neo_type_bytes((neo_type)r->type);
  for (int64_t k = 0; k < v->n && (size_t)(k + 1) * size <= r->n_data_bytes; k++)
    v->at[k] = neo_value_read((neo_type)r->type, (const char *)r->data + (size_t)k * size);
  v->known = true;
}

/* ---- evaluating definitions */

typedef struct {
  neo_interp *p;
  neo_interp_env env;
  neo_arena scratch;
  neo_str *why;
} run;

static void run_begin(run *r, neo_interp *p, bool training, neo_str *why) {
  *r = (run){.p = p, .why = why};
  r->env = (neo_interp_env){.seed = p->seed,
                            .step = p->step,
                            .training = training,
                            .call = training ? 0 : p->calls,
                            .track = p->track,
                            .work = p->limited ? &p->work : NULL,
                            .noise = p->disturbed ? &p->noise : NULL};
  r->scratch = neo_arena_scratch(p->arena);
}

static const char *name_of(const neo_interp *p, uint32_t t) {
  return neo_name_text(p->m->names, p->m->tensors.at[t].name);
}

/* An end of each element; INT64_MIN or INT64_MAX if there is none. */
typedef struct {
  int64_t rest;
  neo_element_end of;
} end_value;

static bool begin_end(const run *r, neo_expr e, uint32_t rank, end_value *x) {
  if (!e.i || !neo_element_end_of(r->p->m, e, rank, &x->of))
    return false;
  x->rest = eval_size(r->p, x->of.rest);
  return true;
}

static int64_t end_at(const end_value *x, const neo_values *v, int64_t element) {
  int64_t end = x->rest;
  for (uint32_t d = v->rank; d-- > 0; element /= v->extent[d])
    end += x->of.coef[d] * (element % v->extent[d]);
  return end;
}

static neo_status check_ends(const run *r, uint32_t t) {
  const neo_tensor_rec *rec = &r->p->m->tensors.at[t];
  const neo_values *v = &r->p->store[t].v;
  end_value least, below;
  bool low = begin_end(r, rec->least, v->rank, &least);
  bool high = begin_end(r, rec->below, v->rank, &below);
  for (int64_t k = 0; (low || high) && k < v->n; k++) {
    int64_t x = v->at[k].i, from = low ? end_at(&least, v, k) : INT64_MIN;
    int64_t to = high ? end_at(&below, v, k) : INT64_MAX;
    if (x >= from && x < to)
      continue;
    neo_str_addf(r->why, "%s: element %lld is %lld, not in [%lld, %lld)", name_of(r->p, t),
                 (long long)k, (long long)x, (long long)from, (long long)to);
    return NEO_RANGE;
  }
  return NEO_OK;
}

static neo_status check_bound(const run *r, uint32_t t) {
  const neo_tensor_rec *rec = &r->p->m->tensors.at[t];
  const neo_values *v = &r->p->store[t].v;
  neo_status status = check_ends(r, t);
  if (!rec->bound.i || status)
    return status;
  int64_t bound = eval_size(r->p, rec->bound);
  for (int64_t k = 0; k < v->n; k++) {
    int64_t x = v->at[k].i;
    if (x >= 0 && x < bound)
      continue;
    neo_str_addf(r->why, "%s: element %lld is %lld, not in [0, %lld)", name_of(r->p, t),
                 (long long)k, (long long)x, (long long)bound);
    return NEO_RANGE;
  }
  return NEO_OK;
}

static int64_t element_of(const run *r, neo_tensor t, int64_t at) {
  return r->p->store[t.i].v.at[at].i;
}

/* Checks the offsets and, within each list that they delimit, the children (neo_tensor_rec.offsets)
 * of inputs whose bounds hold. */
static neo_status check_lists(const run *r, neo_tensor t) {
  neo_tensor begin = neo_tensor_at(r->p->m, t)->offsets;
  int64_t lists = r->p->store[begin.i].v.n - 1;
  int64_t all = eval_size(r->p, neo_tensor_at(r->p->m, begin)->bound) - 1;
  bool good = element_of(r, begin, 0) == 0 && element_of(r, begin, lists) == all;
  for (int64_t v = 0; v < lists && good; v++) {
    int64_t from = element_of(r, begin, v), to = element_of(r, begin, v + 1);
    good = from <= to && to <= all;
    for (int64_t e = from; e < to && good && begin.i != t.i; e++)
      good = element_of(r, t, e) < v;
  }
  if (good)
    return NEO_OK;
  neo_str_addf(r->why,
               begin.i == t.i ? "%s: offsets begin with 0, never fall, and end with %lld"
                              : "%s: children come before their vertices, of %lld edges",
               name_of(r->p, t.i), (long long)all);
  return NEO_RANGE;
}

static bool is_among(const neo_module *m, neo_tensor t, const neo_def *defs, size_t n) {
  neo_list pieces = neo_tensor_at(m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    for (size_t j = 0; j < n; j++)
      if (neo_list_at(m, pieces, k) == defs[j].i)
        return true;
  return false;
}

/* Checks that everything that definition d reads is known, except results of `defs`, which are
 * evaluated together with it. */
static neo_status check_reads(run *r, neo_def d, const neo_def *defs, size_t n_defs) {
  neo_tensor *read;
  size_t n = neo_def_reads(r->p->m, d, &r->scratch, &read);
  for (size_t k = 0; k < n; k++) {
    uint32_t t = read[k].i;
    if (is_among(r->p->m, read[k], defs, n_defs))
      continue;
    if (!r->p->store[t].v.known) {
      neo_str_addf(r->why, "%s has no value", name_of(r->p, t));
      return NEO_STATE;
    }
    neo_status s = is_computed(role_of(r->p, t)) ? NEO_OK : check_bound(r, t);
    neo_tensor begin = neo_tensor_at(r->p->m, read[k])->offsets;
    if (!s && begin.i && !is_computed(role_of(r->p, t)) && r->p->store[begin.i].v.known)
      s = check_lists(r, read[k]);
    if (s)
      return s;
  }
  return NEO_OK;
}

static neo_interp_frame new_frame(run *r, neo_def d) {
  neo_interp *p = r->p;
  neo_list out = neo_def_at(p->m, d)->out;
  for (uint32_t k = 0; k < out.n; k++)
    want_errors(p, neo_list_at(p->m, out, k));
  return (neo_interp_frame){.m = p->m,
                            .arena = &r->scratch,
                            .env = &r->env,
                            .size = p->size,
                            .store = p->store,
                            .why = r->why};
}

static neo_value *values_of(const run *r, neo_tensor t) {
  return t.i ? r->p->store[t.i].v.at : NULL;
}

static const neo_value *values_read(const run *r, neo_list loads, uint32_t k) {
  return values_of(r, (neo_tensor){neo_expr_node(r->p->m, neo_list_expr(r->p->m, loads, k))->attr});
}

static void eval_levels(run *r, const neo_def_rec *d) {
  const neo_rows_rec *x = neo_rows_at(r->p->m, d->rows);
  neo_level_list list[NEO_ROWS_LISTS];
  for (uint32_t k = 0; k < x->n_lists; k++)
    list[k] = (neo_level_list){.slots = x->list[k].slots,
                               .child = values_read(r, d->body, k),
                               .begin = values_of(r, x->list[k].begin),
                               .placed = values_of(r, x->list[k].placed),
                               .end = values_of(r, x->list[k].end),
                               .edge = values_of(r, x->list[k].edge),
                               .parent = values_of(r, x->list[k].parent)};
  neo_level_schedule all = {.n = r->p->store[x->level.i].v.n,
                            .kinds = x->kinds,
                            .kind = x->kinds > 1 ? values_read(r, d->body, x->n_lists) : NULL,
                            .level = values_of(r, x->level),
                            .first = values_of(r, x->first),
                            .place = values_of(r, x->place),
                            .vertex = values_of(r, x->vertex),
                            .placed_kind = values_of(r, x->kind),
                            .n_lists = x->n_lists,
                            .list = list};
  neo_level_schedule_make(&all);
}

static neo_status eval_def(run *r, neo_def d) {
  neo_status status = check_reads(r, d, NULL, 0);
  if (status)
    return status;
  if (neo_def_is_levels(neo_def_at(r->p->m, d))) {
    eval_levels(r, neo_def_at(r->p->m, d));
    return NEO_OK;
  }
  neo_interp_frame *f = NEO_NEW(&r->scratch, neo_interp_frame);
  *f = new_frame(r, d);
  return neo_interp_frame_run(f, d);
}

static neo_status eval_tree(run *r, const neo_schedule_tree *t, const neo_def *defs, size_t n) {
  neo_interp_frame *frames = NEO_NEW_ARRAY(&r->scratch, neo_interp_frame, n);
  neo_status status = NEO_OK;
  for (size_t k = 0; k < n && !status; k++) {
    status = check_reads(r, defs[k], defs, n);
    frames[k] = new_frame(r, defs[k]);
  }
  return status || !n ? status : neo_interp_tree(frames, defs, n, t);
}

static neo_status eval_recurrence(run *r, const neo_def *defs, size_t n) {
  neo_schedule_tree t = {0};
  t.root = neo_tree_of_recurrence(r->p->m, &r->scratch, defs, n, r->why);
  return t.root ? eval_tree(r, &t, defs, n) : NEO_INTERNAL;
}

static bool pieces_done(const neo_interp *p, const bool *done, uint32_t t) {
  neo_list pieces = p->m->tensors.at[t].pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (!done[neo_list_at(p->m, pieces, k)])
      return false;
  return true;
}

static bool has_store(const neo_schedule_tree *t, uint32_t tensor) {
  for (size_t k = 0; t && k < t->stores.n; k++)
    if (t->stores.at[k].tensor.i == tensor)
      return true;
  return false;
}

/* Marks d and its complete tensors as done. tree: the schedule tree that evaluated d; null for
 * none, or for one without stores. */
static neo_status finish_def(run *r, neo_def d, bool *done, const neo_schedule_tree *tree) {
  neo_list out = neo_def_at(r->p->m, d)->out;
  neo_status status = NEO_OK;
  done[d.i] = true;
  for (uint32_t k = 0; k < out.n && !status; k++) {
    uint32_t t = neo_list_at(r->p->m, out, k);
    if (!pieces_done(r->p, done, t) || has_store(tree, t))
      continue;
    r->p->store[t].v.known = true;
    status = check_bound(r, t);
  }
  return status;
}

/* Evaluates the definition at `defs`, or the recurrence that begins there; *n is its number of
 * definitions. */
static neo_status eval_unit(run *r, const neo_def *defs, size_t left, const uint32_t *recurrence,
                            size_t *n) {
  uint32_t number = recurrence[defs->i];
  *n = 1;
  while (number && *n < left && recurrence[defs[*n].i] == number)
    ++*n;
  return number ? eval_recurrence(r, defs, *n) : eval_def(r, *defs);
}

static neo_status eval_roots(run *r, const neo_tensor *roots, size_t n) {
  neo_interp *p = r->p;
  neo_def *order;
  size_t n_order = neo_module_topo(p->m, roots, n, &r->scratch, &order, NULL), n_unit;
  bool *done = NEO_NEW_ARRAY(&r->scratch, bool, p->m->defs.n);
  uint32_t *recurrence = NEO_NEW_ARRAY(&r->scratch, uint32_t, p->m->defs.n);
  (void)neo_recurrences(p->m, order, n_order, &r->scratch, recurrence);
  for (uint32_t t = 1; t < p->m->tensors.n; t++)
    if (is_computed(role_of(p, t)))
      p->store[t].v.known = false;
  for (size_t k = 0; k < n_order; k += n_unit) {
    neo_status s = eval_unit(r, order + k, n_order - k, recurrence, &n_unit);
    for (size_t j = 0; j < n_unit && !s; j++)
      s = finish_def(r, order[k + j], done, NULL);
    if (s)
      return s;
  }
  for (size_t k = 0; k < n; k++)
    if (!p->store[roots[k].i].v.known) {
      neo_str_addf(r->why, "%s has no value", name_of(p, roots[k].i));
      return NEO_STATE;
    }
  return NEO_OK;
}

/* ---- initial values */

/* Whether all kept tensors that the definitions of `d` read have been initialized. */
static bool init_ready(run *r, neo_def d) {
  neo_tensor *read;
  neo_def *order;
  size_t n = neo_def_reads(r->p->m, d, &r->scratch, &read);
  size_t n_order = neo_module_topo(r->p->m, read, n, &r->scratch, &order, NULL);
  for (size_t k = 0; k <= n_order; k++) {
    if (k)
      n = neo_def_reads(r->p->m, order[k - 1], &r->scratch, &read);
    for (size_t j = 0; j < n; j++)
      if (is_kept(role_of(r->p, read[j].i)) && !r->p->store[read[j].i].v.known)
        return false;
  }
  return true;
}

static neo_status eval_init(run *r, uint32_t t) {
  neo_def d = r->p->m->tensors.at[t].init;
  neo_tensor *read;
  size_t n = neo_def_reads(r->p->m, d, &r->scratch, &read);
  neo_tensor *computed = NEO_NEW_ARRAY(&r->scratch, neo_tensor, n + 1);
  size_t n_computed = 0;
  for (size_t k = 0; k < n; k++)
    if (is_computed(role_of(r->p, read[k].i)))
      computed[n_computed++] = read[k];
  neo_status status = n_computed ? eval_roots(r, computed, n_computed) : NEO_OK;
  if (!status)
    status = eval_def(r, d);
  r->p->store[t].v.known = true;
  return status;
}

/* Initialises tensors that are not known, in several passes, since an initialiser may read the
 * result of another. */
static neo_status run_inits(neo_interp *p, neo_str *why) {
  run r;
  neo_status status = NEO_OK;
  uint64_t step = p->step, calls = p->calls;
  p->step = p->calls = 0;
  run_begin(&r, p, false, why);
  for (bool progress = true; progress && !status;) {
    progress = false;
    for (uint32_t t = 1; t < p->m->tensors.n && !status; t++) {
      neo_def d = p->m->tensors.at[t].init;
      if (!d.i || p->store[t].v.known || !init_ready(&r, d))
        continue;
      status = eval_init(&r, t);
      progress = true;
    }
  }
  neo_arena_free(&r.scratch);
  p->step = step;
  p->calls = calls;
  return status;
}

static void shape_all(neo_interp *p) {
  for (uint32_t t = 1; t < p->m->tensors.n; t++) {
    neo_role role = role_of(p, t);
    shape_store(p, t);
    if (role == NEO_ROLE_CONST)
      fill_const(p, t);
    /* Without an initialiser a parameter is zero. */
    if (is_kept(role) && !p->m->tensors.at[t].init.i)
      p->store[t].v.known = true;
  }
  p->init_status = run_inits(p, &p->init_why);
}

/* ---- interface */

neo_interp *neo_interp_new(neo_arena *a, neo_module *m, const int64_t *sizes, uint64_t seed) {
  neo_interp *p = NEO_NEW(a, neo_interp);
  *p = (neo_interp){.arena = a, .m = m, .seed = seed};
  neo_str_init(&p->init_why, a);
  p->store = NEO_NEW_ARRAY(a, neo_interp_store, m->tensors.n);
  set_sizes(p, sizes);
  shape_all(p);
  return p;
}

void neo_interp_resize(neo_interp *p, const int64_t *sizes) {
  set_sizes(p, sizes);
  shape_all(p);
}

void neo_interp_set_step(neo_interp *p, uint64_t step) {
  p->step = step;
}

neo_values *neo_interp_tensor(neo_interp *p, neo_tensor t) {
  neo_values *v = &p->store[t.i].v;
  if (!is_computed(role_of(p, t.i)))
    v->known = true;
  return v;
}

void neo_interp_disturb(neo_interp *p, uint64_t seed) {
  p->disturbed = true;
  p->noise = seed;
}

void neo_interp_limit(neo_interp *p, uint64_t work) {
  p->limited = true;
  p->work = work;
}

uint64_t neo_interp_left(const neo_interp *p) {
  return p->work;
}

void neo_interp_track_errors(neo_interp *p, bool on) {
  p->track = on;
}

const double *neo_interp_errors(neo_interp *p, neo_tensor t) {
  const neo_interp_store *s = &p->store[t.i];
  return s->error_valid ? s->error : NULL;
}

const neo_values *neo_interp_output(neo_interp *p, uint32_t k) {
  return p->outputs.at[k];
}

neo_status neo_interp_eval(neo_interp *p, const neo_tensor *roots, size_t n, bool training,
                           neo_str *why) {
  run r;
  if (p->init_status) {
    neo_str_add(why, neo_str_text(&p->init_why));
    return p->init_status;
  }
  run_begin(&r, p, training, why);
  neo_status status = eval_roots(&r, roots, n);
  neo_arena_free(&r.scratch);
  return status;
}

neo_status neo_interp_eval_tree(neo_interp *p, const neo_schedule_tree *t, bool training,
                                neo_str *why) {
  run r;
  neo_def *defs;
  if (p->init_status) {
    neo_str_add(why, neo_str_text(&p->init_why));
    return p->init_status;
  }
  run_begin(&r, p, training, why);
  size_t n = neo_tree_defs(p->m, t->root, &r.scratch, &defs);
  bool *done = NEO_NEW_ARRAY(&r.scratch, bool, p->m->defs.n);
  neo_status status = eval_tree(&r, t, defs, n);
  for (size_t k = 0; k < n && !status; k++)
    status = finish_def(&r, defs[k], done, t);
  for (size_t k = 0; k < t->stores.n; k++)
    p->store[t->stores.at[k].tensor.i].v.known = false;
  neo_arena_free(&r.scratch);
  return status;
}

static neo_values *copy_of(neo_interp *p, const neo_values *v) {
  neo_values *copy = NEO_NEW(p->arena, neo_values);
  *copy = *v;
  copy->at = neo_arena_copy(p->arena, v->at, ((size_t)v->n + 1) * sizeof *v->at);
  return copy;
}

static bool is_updated(const neo_interp *p, const neo_entry_rec *e, uint32_t t) {
  for (uint32_t k = 0; k < e->updates.n; k++) {
    neo_tensor u = {neo_list_at(p->m, e->updates, k)};
    if (neo_tensor_at(p->m, u)->updates.i == t)
      return true;
  }
  return false;
}

static void keep_outputs(neo_interp *p, const neo_entry_rec *e) {
  p->outputs.n = 0;
  for (uint32_t k = 0; k < e->outputs.n; k++) {
    uint32_t t = neo_list_at(p->m, e->outputs, k);
    neo_values *v = &p->store[t].v;
    NEO_PUSH(p->arena, &p->outputs, is_updated(p, e, t) ? copy_of(p, v) : v);
  }
}

static void commit(neo_interp *p, const neo_entry_rec *e) {
  for (uint32_t k = 0; k < e->updates.n; k++) {
    uint32_t u = neo_list_at(p->m, e->updates, k);
    neo_interp_store *from = &p->store[u], *to = &p->store[p->m->tensors.at[u].updates.i];
    memcpy(to->v.at, from->v.at, (size_t)to->v.n * sizeof *to->v.at);
    to->error_valid = from->error_valid;
    if (!from->error_valid)
      continue;
    if (!to->error)
      to->error = NEO_NEW_ARRAY(p->arena, double, to->cap + 1);
    memcpy(to->error, from->error, (size_t)to->v.n * sizeof *to->error);
  }
}

neo_status neo_interp_run(neo_interp *p, uint32_t entry, neo_str *why) {
  neo_entry_rec e = p->m->entries.at[entry];
  neo_arena scratch = neo_arena_scratch(p->arena);
  size_t n = e.outputs.n + e.updates.n;
  neo_tensor *roots = NEO_NEW_ARRAY(&scratch, neo_tensor, n + 1);
  for (uint32_t k = 0; k < e.outputs.n; k++)
    roots[k].i = neo_list_at(p->m, e.outputs, k);
  for (uint32_t k = 0; k < e.updates.n; k++)
    roots[e.outputs.n + k].i = neo_list_at(p->m, e.updates, k);
  bool training = e.kind == NEO_ENTRY_TRAIN || e.kind == NEO_ENTRY_GRAD;
  neo_status status = neo_interp_eval(p, roots, n, training, why);
  neo_arena_free(&scratch);
  if (status)
    return status;
  keep_outputs(p, &e);
  commit(p, &e);
  if (e.kind == NEO_ENTRY_TRAIN)
    p->step++;
  if (e.kind == NEO_ENTRY_FORWARD)
    p->calls++;
  return NEO_OK;
}

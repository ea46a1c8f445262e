/* See runner.h. */
#include "tools/neoc/runner.h"
#include <string.h>

/* ---- making */

neoc_exit neoc_read_sizes(const neoc_cli *cli, const neo_module *m, int64_t *sizes) {
  const neoc_texts *given = &cli->value[NEOC_O_SIZE];
  for (size_t k = 0; k < given->n; k++) {
    const char *value = NULL, *name = neoc_pair(cli, given->at[k], &value);
    int64_t x = 0;
    uint32_t found = 0;
    if (!name || !neoc_parse_int(value, &x))
      return neoc_usage(cli, "--size takes NAME=NUMBER, not '%s'", given->at[k]);
    for (uint32_t s = 1; s < m->sizes.n; s++)
      if (neo_streq(neo_name_text(m->names, m->sizes.at[s].name), name))
        found = s;
    if (!found)
      return neoc_usage(cli, "%s is no run-time size of the model", name);
    if (x < m->sizes.at[found].lo || x > m->sizes.at[found].hi)
      return neoc_fail(cli, NEOC_FAILED, "%s = %lld is not in [%lld, %lld]", name, (long long)x,
                       (long long)m->sizes.at[found].lo, (long long)m->sizes.at[found].hi);
    sizes[found] = x;
  }
  return NEOC_OK;
}

neoc_exit neoc_runner_compile(neoc_runner *r, neoc_cli *cli, const neo_compile_options *o,
                              bool interpreted) {
  *r = (neoc_runner){.cli = cli};
  neo_compilation_init(&r->c, o);
  neo_status s = neo_compile_front(&r->c);
  if (!s)
    s = neo_compile_passes(&r->c);
  if (!s && !interpreted)
    s = neo_compile_kernels(&r->c);
  if (!s && !interpreted)
    s = neo_library_make(&r->c, &r->lib);
  neoc_exit e = s ? neoc_report(cli, &r->c, s, NULL) : NEOC_OK;
  if (!e) {
    r->sizes = NEO_NEW_ARRAY(cli->arena, int64_t, r->c.module->sizes.n + 1);
    for (uint32_t k = 1; k < r->c.module->sizes.n; k++)
      r->sizes[k] = -1;
    r->input = NEO_NEW_ARRAY(cli->arena, neo_rt_array, r->c.module->tensors.n + 1);
    r->needs = NEO_NEW_ARRAY(cli->arena, neoc_tensors, r->c.module->entries.n + 1);
    e = neoc_read_sizes(cli, r->c.module, r->sizes);
  }
  if (e)
    neoc_runner_close(r);
  return e;
}

int64_t *neoc_runner_sizes(const neoc_runner *r) {
  neo_module *m = r->c.module;
  int64_t *s = NEO_NEW_ARRAY(r->cli->arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    s[k] = r->sizes[k] < 0 ? m->sizes.at[k].hi : r->sizes[k];
  return s;
}

static neoc_exit runtime_error(const neoc_runner *r, neo_rt_status s) {
  const char *why = r->ctx ? neo_rt_error(r->ctx) : "";
  return neoc_fail(r->cli, neoc_exit_of((neo_status)s), "%s", *why ? why : neo_rt_status_text(s));
}

neoc_exit neoc_runner_begin(neoc_runner *r, int32_t threads, uint64_t seed) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = threads, .seed = seed};
  r->seed = seed;
  if (!r->lib.handle) {
    r->interp = neo_interp_new(r->c.module->arena, r->c.module, neoc_runner_sizes(r), seed);
    return NEOC_OK;
  }
  neo_rt_status s = neo_rt_create(r->lib.model, &config, &r->ctx);
  if (!s && neoc_has(r->cli, NEOC_O_TRACE) && !r->aside)
    s = neo_rt_trace(r->ctx, neoc_text(r->cli, NEOC_O_TRACE, ""));
  return s ? runtime_error(r, s) : NEOC_OK;
}

neoc_exit neoc_runner_end_trace(neoc_runner *r) {
  neo_rt_status s = r->ctx ? neo_rt_trace(r->ctx, NULL) : NEO_OK;
  return s ? runtime_error(r, s) : NEOC_OK;
}

neoc_exit neoc_runner_twin(neoc_runner *r, const neoc_runner *of, uint64_t seed) {
  *r = *of;
  r->lib = (neo_library){0};
  r->ctx = NULL;
  return neoc_runner_begin(r, 1, seed);
}

void neoc_runner_close(neoc_runner *r) {
  if (r->ctx)
    neo_rt_destroy(r->ctx);
  neo_library_close(&r->lib);
  neo_compilation_free(&r->c);
  r->ctx = NULL;
}

/* ---- what entries need */

const char *neoc_entry_name(const neoc_runner *r, int entry) {
  return neo_name_text(r->c.names, r->c.module->entries.at[entry].name);
}

const char *neoc_tensor_name(const neoc_runner *r, neo_tensor t) {
  return neo_name_text(r->c.names, neo_tensor_at(r->c.module, t)->name);
}

int neoc_entry_find(neoc_runner *r, const char *name, neo_entry_kind kind, bool optional) {
  static const char *const what[] = {"output", "train", "train", "init"};
  const neo_module *m = r->c.module;
  neo_str known;
  neo_str_init(&known, r->cli->arena);
  for (size_t k = 0; k < m->entries.n; k++) {
    const char *own = neoc_entry_name(r, (int)k);
    if (name ? neo_streq(own, name) : m->entries.at[k].kind == kind)
      return (int)k;
    neo_str_addf(&known, "%s%s", known.n ? ", " : "", own);
  }
  if (optional)
    return -1;
  if (name)
    neoc_fail(r->cli, NEOC_FAILED, "the model has no entry '%s' (it has: %s)", name,
              known.n ? neo_str_text(&known) : "none");
  else
    neoc_fail(r->cli, NEOC_FAILED, "the model has no `%s` statement", what[kind]);
  return -1;
}

static neo_tensor *entry_roots(const neoc_runner *r, int entry, size_t *n) {
  const neo_module *m = r->c.module;
  const neo_entry_rec *e = &m->entries.at[entry];
  neo_tensor *roots = NEO_NEW_ARRAY(r->cli->arena, neo_tensor, e->outputs.n + e->updates.n + 1);
  *n = 0;
  for (uint32_t k = 0; k < e->outputs.n; k++)
    roots[(*n)++].i = neo_list_at(m, e->outputs, k);
  for (uint32_t k = 0; k < e->updates.n; k++)
    roots[(*n)++].i = neo_list_at(m, e->updates, k);
  return roots;
}

/* read[id]: the entry reads or returns the tensor. */
static bool *entry_reads(neoc_runner *r, int entry) {
  neo_module *m = r->c.module;
  neo_arena *a = r->cli->arena;
  bool *read = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  size_t n;
  neo_tensor *roots = entry_roots(r, entry, &n), *reads;
  neo_def *defs;
  size_t n_defs = neo_module_topo(m, roots, n, a, &defs, NULL);
  for (size_t k = 0; k < n; k++)
    read[roots[k].i] = true;
  for (size_t d = 0; d < n_defs; d++) {
    size_t n_reads = neo_def_reads(m, defs[d], a, &reads);
    for (size_t k = 0; k < n_reads; k++)
      read[reads[k].i] = true;
  }
  return read;
}

neoc_tensors neoc_entry_inputs(neoc_runner *r, int entry, bool settings) {
  neo_module *m = r->c.module;
  bool *read = entry_reads(r, entry);
  neoc_tensors out = {NEO_NEW_ARRAY(r->cli->arena, neo_tensor, m->tensors.n), 0};
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    uint8_t role = m->tensors.at[t].role;
    if (read[t] && (role == NEO_ROLE_INPUT || (settings && role == NEO_ROLE_SETTING)))
      out.at[out.n++].i = t;
  }
  return out;
}

typedef struct {
  const neo_module *m;
  bool *used;
} size_uses;

static void use_size(void *ctx, neo_expr e) {
  size_uses *u = ctx;
  const neo_node *n = neo_expr_node(u->m, e);
  if (n->op == NEO_OP_SIZE)
    u->used[n->attr] = true;
}

bool *neoc_entry_sizes(neoc_runner *r, int entry) {
  neo_module *m = r->c.module;
  size_uses u = {m, NEO_NEW_ARRAY(r->cli->arena, bool, m->sizes.n + 1)};
  bool *read = entry_reads(r, entry);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    for (uint32_t d = 0; read[t] && d < neo_tensor_rank(m, (neo_tensor){t}); d++)
      neo_expr_visit(m, neo_tensor_extent(m, (neo_tensor){t}, d), use_size, &u);
  return u.used;
}

/* ---- giving and setting */

static neoc_exit wrong_shape(const neoc_runner *r, neo_tensor t, const neo_rt_array *x,
                             const int64_t *want, uint32_t rank) {
  neo_arena *a = r->cli->arena;
  return neoc_fail(r->cli, NEOC_FAILED, "%s: shape is %s, expected %s", neoc_tensor_name(r, t),
                   neoc_shape_text(a, x->rank, x->extent), neoc_shape_text(a, rank, want));
}

/* Sizes that are a whole dimension, from the array's shape. */
static neoc_exit learn_sizes(neoc_runner *r, neo_tensor t, const neo_rt_array *x) {
  neo_module *m = r->c.module;
  uint32_t rank = neo_tensor_rank(m, t);
  int64_t want[16];
  if (x->rank != rank)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: rank is %d, expected %u", neoc_tensor_name(r, t),
                     x->rank, (unsigned)rank);
  for (uint32_t d = 0; d < rank; d++) {
    const neo_node *n = neo_expr_node(m, neo_tensor_extent(m, t, d));
    if (n->op != NEO_OP_SIZE || r->sizes[n->attr] >= 0)
      continue;
    const neo_size_rec *s = neo_size_at(m, (neo_size){n->attr});
    if (x->extent[d] < s->lo || x->extent[d] > s->hi)
      return neoc_fail(r->cli, NEOC_FAILED, "%s: dim %u is %lld, but %s must be in [%lld, %lld]",
                       neoc_tensor_name(r, t), d, (long long)x->extent[d],
                       neo_name_text(m->names, s->name), (long long)s->lo, (long long)s->hi);
    r->sizes[n->attr] = x->extent[d];
  }
  neo_tensor_elements_at(m, t, neoc_runner_sizes(r), want);
  for (uint32_t d = 0; d < rank; d++)
    if (want[d] != x->extent[d])
      return wrong_shape(r, t, x, want, rank);
  return NEOC_OK;
}

static neoc_exit converted(neoc_runner *r, neo_tensor t, neo_rt_array *x) {
  uint8_t type = neo_tensor_at(r->c.module, t)->type;
  neo_rt_array y;
  if (x->type == type)
    return NEOC_OK;
  neo_rt_status s = neo_rt_array_convert(x, type, &y);
  if (s)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: %s", neoc_tensor_name(r, t), neo_rt_status_text(s));
  void *data = neo_arena_copy(r->cli->arena, y.data, y.size_bytes + (y.size_bytes == 0));
  *x = y;
  x->data = data;
  neo_rt_array_free(&y);
  return NEOC_OK;
}

neoc_exit neoc_runner_give(neoc_runner *r, neo_tensor t, neo_rt_array *array) {
  neoc_exit e = learn_sizes(r, t, array);
  if (!e)
    e = converted(r, t, array);
  if (!e)
    r->input[t.i] = *array;
  return e;
}

static void to_values(const neo_rt_array *x, neo_values *v) {
  size_t bytes = neo_type_bytes((neo_type)x->type);
  for (int64_t k = 0; k < v->n; k++)
    v->at[k] = neo_value_read((neo_type)x->type, (const char *)x->data + (size_t)k * bytes);
}

static neo_rt_array of_values(neoc_runner *r, neo_type type, const neo_values *v) {
  neo_rt_array x = neoc_array_new(r->cli->arena, type, v->rank, v->extent);
  size_t bytes = neo_type_bytes(type);
  for (int64_t k = 0; k < v->n; k++)
    neo_value_write(type, v->at[k], (char *)x.data + (size_t)k * bytes);
  return x;
}

neoc_exit neoc_runner_set(neoc_runner *r, neo_tensor t, neo_rt_array *x) {
  neo_module *m = r->c.module;
  int64_t want[16];
  uint32_t rank = neo_tensor_rank(m, t);
  int64_t n = neo_tensor_elements_at(m, t, neoc_runner_sizes(r), want);
  neoc_exit e = converted(r, t, x);
  if (e)
    return e;
  if (neoc_array_count(x) != n || (x->rank != rank && rank))
    return wrong_shape(r, t, x, want, rank);
  if (r->interp) {
    to_values(x, neo_interp_tensor(r->interp, t));
    return NEOC_OK;
  }
  int32_t k = neo_rt_find(r->lib.model, neoc_tensor_name(r, t));
  neo_rt_status s = neo_rt_set(r->ctx, k, x->data, x->size_bytes);
  return s ? runtime_error(r, s) : NEOC_OK;
}

neoc_exit neoc_runner_get(neoc_runner *r, neo_tensor t, neo_rt_array *out) {
  neo_module *m = r->c.module;
  int64_t extent[16];
  neo_type type = (neo_type)neo_tensor_at(m, t)->type;
  if (r->interp) {
    *out = of_values(r, type, neo_interp_tensor(r->interp, t));
    return NEOC_OK;
  }
  neo_tensor_elements_at(m, t, neoc_runner_sizes(r), extent);
  *out = neoc_array_new(r->cli->arena, type, neo_tensor_rank(m, t), extent);
  int32_t k = neo_rt_find(r->lib.model, neoc_tensor_name(r, t));
  neo_rt_status s = neo_rt_get(r->ctx, k, out->data, out->size_bytes);
  return s ? runtime_error(r, s) : NEOC_OK;
}

/* ---- running */

static neoc_exit missing_input(const neoc_runner *r, int entry, neo_tensor t) {
  return neoc_usage(r->cli, "entry %s needs %s: give %s=@file.npy, or %s=random:1",
                    neoc_entry_name(r, entry), neoc_tensor_name(r, t), neoc_tensor_name(r, t),
                    neoc_tensor_name(r, t));
}

static neoc_output *new_outputs(neoc_runner *r, int entry, size_t *n) {
  neo_module *m = r->c.module;
  neo_entry_rec e = m->entries.at[entry];
  int64_t *sizes = neoc_runner_sizes(r), extent[16];
  neoc_output *out = NEO_NEW_ARRAY(r->cli->arena, neoc_output, e.outputs.n + 1);
  *n = e.outputs.n;
  for (uint32_t k = 0; k < e.outputs.n; k++) {
    neo_tensor t = {neo_list_at(m, e.outputs, k)};
    out[k].name = neo_name_text(m->names, neo_list_at(m, e.names, k));
    neo_tensor_elements_at(m, t, sizes, extent);
    out[k].array = neoc_array_new(r->cli->arena, (neo_type)neo_tensor_at(m, t)->type,
                                  neo_tensor_rank(m, t), extent);
  }
  return out;
}

static neoc_exit run_compiled(neoc_runner *r, int entry, neoc_output *out, size_t n_out) {
  const neo_rt_model *rt = r->lib.model;
  int64_t *known = neoc_runner_sizes(r);
  int32_t number = neo_rt_find_entry(rt, neoc_entry_name(r, entry));
  const neo_rt_entry *e = &rt->entries[number];
  void **args = NEO_NEW_ARRAY(r->cli->arena, void *, e->n_args + 1);
  int64_t *sizes = NEO_NEW_ARRAY(r->cli->arena, int64_t, e->n_sizes + 1);
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = known[rt->entry_sizes[e->sizes + k] + 1];
  for (int32_t k = 0; k < e->n_inputs; k++) {
    const char *name = rt->tensors[rt->entry_args[e->args + k]].name;
    args[k] = r->input[neo_tensor_find(r->c.module, name).i].data;
  }
  for (size_t k = 0; k < n_out; k++)
    args[(size_t)e->n_inputs + k] = out[k].array.data;
  neo_rt_status s = neo_rt_call(r->ctx, number, sizes, args);
  return s ? runtime_error(r, s) : NEOC_OK;
}

static neoc_exit run_interpreted(neoc_runner *r, int entry, neoc_tensors inputs, neoc_output *out,
                                 size_t n_out) {
  neo_str why;
  neo_str_init(&why, r->cli->arena);
  neoc_exit e = neoc_sizes_check(r, neoc_entry_sizes(r, entry));
  if (e)
    return e;
  neo_interp_resize(r->interp, neoc_runner_sizes(r));
  for (size_t k = 0; k < inputs.n; k++)
    to_values(&r->input[inputs.at[k].i], neo_interp_tensor(r->interp, inputs.at[k]));
  neo_status s = neo_interp_run(r->interp, (uint32_t)entry, &why);
  if (s)
    return neoc_fail(r->cli, neoc_exit_of(s), "%s", neo_str_text(&why));
  for (size_t k = 0; k < n_out; k++)
    out[k].array =
        of_values(r, (neo_type)out[k].array.type, neo_interp_output(r->interp, (uint32_t)k));
  return NEOC_OK;
}

neoc_exit neoc_runner_run(neoc_runner *r, int entry, neoc_output **out, size_t *n) {
  if (!r->needs[entry].at)
    r->needs[entry] = neoc_entry_inputs(r, entry, false);
  neoc_tensors inputs = r->needs[entry];
  for (size_t k = 0; k < inputs.n; k++)
    if (!r->input[inputs.at[k].i].data)
      return missing_input(r, entry, inputs.at[k]);
  *out = new_outputs(r, entry, n);
  return r->interp ? run_interpreted(r, entry, inputs, *out, *n) : run_compiled(r, entry, *out, *n);
}

neoc_exit neoc_runner_randomize(neoc_runner *r, int entry, uint64_t *seed) {
  neo_module *m = r->c.module;
  neoc_tensors inputs = neoc_entry_inputs(r, entry, false);
  int64_t *sizes = neoc_runner_sizes(r), extent[16];
  for (size_t k = 0; k < inputs.n; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, inputs.at[k]);
    int64_t bound = t->bound.i ? neo_size_value(m, t->bound, sizes) : 0;
    neo_tensor_elements_at(m, inputs.at[k], sizes, extent);
    neo_rt_array x = neoc_array_new(r->cli->arena, (neo_type)t->type, t->extent.n, extent);
    neoc_array_random(&x, bound, seed);
    r->input[inputs.at[k].i] = x;
  }
  return NEOC_OK;
}

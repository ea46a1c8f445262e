/* See runner.h. */
#include "tools/neoc/run/runner.h"
#include "ir/print.h"

/* ---- making */

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
    s = neo_compile_networks(&r->c);
  if (!s && !interpreted)
    s = neo_library_make(&r->c, &r->lib);
  neoc_progress_clear(cli);
  neoc_exit e = s ? neoc_report(cli, &r->c, s, NULL) : NEOC_OK;
  neoc_report_facts(cli, &r->c);
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
  return s ? neoc_runner_failed(r, s) : NEOC_OK;
}

neoc_exit neoc_runner_end_trace(neoc_runner *r) {
  neo_rt_status s = r->ctx ? neo_rt_trace(r->ctx, NULL) : NEO_OK;
  return s ? neoc_runner_failed(r, s) : NEOC_OK;
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
    out[k].array =
        neoc_array_new(r->cli->arena, neo_tensor_type(m, t), neo_tensor_rank(m, t), extent);
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
  return s ? neoc_runner_failed(r, s) : NEOC_OK;
}

typedef struct {
  const neo_module *m;
  const bool *used;
  bool inside; /* all sizes found are used */
} size_look;

static void look_size(void *ctx, neo_expr e) {
  size_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  if (n->op == NEO_OP_SIZE)
    l->inside = l->inside && (!l->used || l->used[n->attr]);
}

/* The first violated assertion, among those over used sizes alone (used null: all); null: none. */
static const neo_assert_rec *sizes_broken(const neo_module *m, const bool *used,
                                          const int64_t *sizes) {
  for (size_t k = 0; k < m->asserts.n; k++) {
    size_look l = {.m = m, .used = used, .inside = true};
    neo_expr_visit(m, m->asserts.at[k].holds, look_size, &l);
    if (l.inside && !neo_size_value(m, m->asserts.at[k].holds, sizes))
      return &m->asserts.at[k];
  }
  return NULL;
}

/* Reports a violated assertion, as libneort does. */
static neoc_exit sizes_check(const neoc_runner *r, const bool *used) {
  const neo_module *m = r->c.module;
  const neo_assert_rec *broken = sizes_broken(m, used, neoc_runner_sizes(r));
  if (!broken)
    return NEOC_OK;
  neo_str text = neo_str_in(r->cli->arena);
  neo_expr_print(m, NULL, broken->holds, &text);
  return neoc_fail(r->cli, neoc_exit_of(NEO_SHAPE), "the sizes do not obey: %s (%s)",
                   neo_str_text(&text), neo_span_text(neo_diags_sources(m->diags), broken->span));
}

static neoc_exit run_interpreted(neoc_runner *r, int entry, neoc_tensors inputs, neoc_output *out,
                                 size_t n_out) {
  neo_str why = neo_str_in(r->cli->arena);
  neoc_exit e = sizes_check(r, neoc_entry_sizes(r, entry));
  if (e)
    return e;
  neo_interp_resize(r->interp, neoc_runner_sizes(r));
  for (size_t k = 0; k < inputs.n; k++)
    neoc_array_to_values(&r->input[inputs.at[k].i], neo_interp_tensor(r->interp, inputs.at[k]));
  neo_status s = neo_interp_run(r->interp, (uint32_t)entry, &why);
  if (s)
    return neoc_fail(r->cli, neoc_exit_of(s), "%s", neo_str_text(&why));
  for (size_t k = 0; k < n_out; k++)
    out[k].array = neoc_array_of_values(r->cli->arena, (neo_type)out[k].array.type,
                                        neo_interp_output(r->interp, (uint32_t)k));
  return NEOC_OK;
}

neoc_exit neoc_runner_run(neoc_runner *r, int entry, neoc_output **out, size_t *n) {
  if (!r->needs[entry].at)
    r->needs[entry] = neoc_entry_inputs(r, entry);
  neoc_tensors inputs = r->needs[entry];
  for (size_t k = 0; k < inputs.n; k++)
    if (!r->input[inputs.at[k].i].data)
      return missing_input(r, entry, inputs.at[k]);
  *out = new_outputs(r, entry, n);
  return r->interp ? run_interpreted(r, entry, inputs, *out, *n) : run_compiled(r, entry, *out, *n);
}

neoc_exit neoc_runner_randomize(neoc_runner *r, int entry, uint64_t *seed) {
  neo_module *m = r->c.module;
  neoc_tensors inputs = neoc_entry_inputs(r, entry);
  int64_t *sizes = neoc_runner_sizes(r), extent[16];
  for (size_t k = 0; k < inputs.n; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, inputs.at[k]);
    int64_t bound = t->bound.i ? neo_size_value(m, t->bound, sizes) : 0;
    neo_tensor_elements_at(m, inputs.at[k], sizes, extent);
    neo_rt_array x = neoc_array_new(r->cli->arena, (neo_type)t->type, t->extent.n, extent);
    neo_ends_at ends = neo_tensor_ends_at(m, inputs.at[k], sizes);
    if (ends.given)
      neoc_array_random_between(&x, &ends, seed);
    else
      neoc_array_random(&x, bound, seed);
    r->input[inputs.at[k].i] = x;
  }
  return NEOC_OK;
}

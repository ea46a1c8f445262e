/* `neoc run`: evaluates an entry's outputs for the given inputs, and gradients if asked. */
#include "tools/neoc/run/runner.h"
#include <errno.h>
#include <math.h>
#include <string.h>

typedef struct {
  neoc_runner r;
  int entry;
  NEO_VEC(int) grads; /* entries that compute requested gradients */
  NEO_VEC(neoc_output) results, gradients;
} run_state;

/* ---- inputs */

static bool is_needed(neoc_tensors list, neo_tensor t) {
  for (size_t k = 0; k < list.n; k++)
    if (list.at[k].i == t.i)
      return true;
  return false;
}

static const char *given_text(neoc_cli *cli, const char *name) {
  for (int k = 0; k < cli->n_args; k++) {
    const char *value = NULL, *own = neoc_pair(cli, cli->args[k], &value);
    if (own && neo_streq(own, name))
      return value;
  }
  return NULL;
}

static int64_t bound_of(const neoc_runner *r, neo_tensor t) {
  const neo_tensor_rec *rec = neo_tensor_at(r->c.module, t);
  return rec->bound.i ? neo_size_value(r->c.module, rec->bound, neoc_runner_sizes(r)) : 0;
}

/* Whether the value has a shape of its own. Such values come first, as they determine the sizes of
 * others. */
static bool has_shape(const char *text) {
  return text[0] == '@' || strchr(text, '[') != NULL;
}

static neoc_exit give(run_state *s, neo_tensor t, const char *text) {
  neoc_runner *r = &s->r;
  neo_module *m = r->c.module;
  neo_rt_array like = {.rank = (uint8_t)neo_tensor_rank(m, t)}, x;
  neo_tensor_elements_at(m, t, neoc_runner_sizes(r), like.extent);
  neo_ends_at ends = neo_tensor_ends_at(m, t, neoc_runner_sizes(r));
  neoc_exit e = neoc_array_read(r->cli, neoc_tensor_name(r, t), text, neo_tensor_type(m, t), &like,
                                bound_of(r, t), &ends, &x);
  return e ? e : neoc_runner_give(r, t, &x);
}

static neoc_exit give_inputs(run_state *s, neoc_tensors inputs) {
  neoc_exit e = NEOC_OK;
  for (int shaped = 1; shaped >= 0; shaped--)
    for (size_t k = 0; k < inputs.n && !e; k++) {
      const char *text = given_text(s->r.cli, neoc_tensor_name(&s->r, inputs.at[k]));
      if (text && has_shape(text) == (shaped == 1))
        e = give(s, inputs.at[k], text);
    }
  return e;
}

/* Arguments that name a parameter, state or setting; the first n_set are those of --set. */
static neoc_exit set_values(run_state *s, const neoc_texts *pairs, size_t n_set) {
  neoc_runner *r = &s->r;
  neo_module *m = r->c.module;
  for (size_t k = 0; k < pairs->n; k++) {
    const char *value = NULL, *name = neoc_pair(r->cli, pairs->at[k], &value);
    if (!name)
      return neoc_usage(r->cli, "'%s' is not NAME=VALUE", pairs->at[k]);
    neo_tensor t = neo_tensor_find(m, name);
    neo_role role = t.i ? (neo_role)neo_tensor_at(m, t)->role : NEO_ROLE_TEMP;
    if (role == NEO_ROLE_INPUT && k >= n_set)
      continue; /* already set */
    if (role == NEO_ROLE_INPUT)
      return neoc_usage(r->cli, "--set: %s is an input: %s, without --set", name, pairs->at[k]);
    if (role != NEO_ROLE_PARAM && role != NEO_ROLE_STATE && role != NEO_ROLE_SETTING)
      return neoc_usage(r->cli, "the model has no input, parameter, state or setting '%s'", name);
    neo_rt_array x, like = {.rank = (uint8_t)neo_tensor_rank(m, t)};
    neo_tensor_elements_at(m, t, r->sizes, like.extent);
    neo_ends_at ends = neo_tensor_ends_at(m, t, neoc_runner_sizes(r));
    neoc_exit e = neoc_array_read(r->cli, name, value, neo_tensor_type(m, t), &like, bound_of(r, t),
                                  &ends, &x);
    if (!e)
      e = neoc_runner_set(r, t, &x);
    if (e)
      return e;
  }
  return NEOC_OK;
}

/* Checks the names in the arguments. A name of no tensor is a usage error. An input that the entry
 * does not read, or on which nothing depends as the compiler found, is reported and left out. */
static neoc_exit check_names(run_state *s, neoc_tensors needed) {
  neoc_cli *cli = s->r.cli;
  for (int k = 1; k < cli->n_args; k++) {
    const char *value = NULL, *name = neoc_pair(cli, cli->args[k], &value);
    if (!name)
      return neoc_usage(cli, "'%s' is not NAME=VALUE", cli->args[k]);
    neo_tensor t = neo_tensor_find(s->r.c.module, name);
    if (!t.i)
      return neoc_usage(cli, "the model has no input '%s'", name);
    if (neo_tensor_at(s->r.c.module, t)->role == NEO_ROLE_INPUT && !is_needed(needed, t))
      fprintf(stderr, "neoc run: entry %s does not read %s\n", neoc_entry_name(&s->r, s->entry),
              name);
  }
  return NEOC_OK;
}

/* ---- gradients */

static bool wanted(neoc_texts names, const char *output) {
  for (size_t k = 0; k < names.n; k++)
    if (strncmp(output, "grad:", 5) == 0 && neo_streq(output + 5, names.at[k]))
      return true;
  return false;
}

/* The entries of the model that return a gradient which was asked for; every name must have one. */
static neoc_exit find_gradients(run_state *s) {
  neo_module *m = s->r.c.module;
  neoc_texts names = neoc_words(s->r.cli, NEOC_O_GRAD);
  bool *used = NEO_NEW_ARRAY(s->r.cli->arena, bool, m->entries.n + 1);
  for (size_t w = 0; w < names.n; w++) {
    neoc_texts one = {&names.at[w], 1, 1};
    bool found = false;
    for (size_t k = 0; k < m->entries.n && !found; k++) {
      const neo_entry_rec *e = &m->entries.at[k];
      for (uint32_t i = 0; e->kind == NEO_ENTRY_GRAD && i < e->names.n; i++)
        found = found || wanted(one, neo_name_text(m->names, neo_list_at(m, e->names, i)));
      if (found && !used[k])
        NEO_PUSH(s->r.cli->arena, &s->grads, (int)k);
      used[k] = used[k] || found;
    }
    if (!found)
      return neoc_usage(s->r.cli, "--grad: '%s' is no trained parameter", names.at[w]);
  }
  return NEOC_OK;
}

/* Computes gradients, before the entry, which may update the values at which they are taken. */
static neoc_exit make_gradients(run_state *s) {
  neoc_texts names = neoc_words(s->r.cli, NEOC_O_GRAD);
  neoc_exit e = NEOC_OK;
  for (size_t g = 0; g < s->grads.n && !e; g++) {
    neoc_output *out;
    size_t n = 0;
    e = neoc_runner_run(&s->r, s->grads.at[g], &out, &n);
    for (size_t k = 0; k < n && !e; k++)
      if (wanted(names, out[k].name))
        NEO_PUSH(s->r.cli->arena, &s->gradients, out[k]);
  }
  return e;
}

/* ---- Arrays as text: as NumPy prints them, and as JSON. */

enum { EDGE = 3, LONG = 1000, LINE = 75 };

static void put_number(const neo_rt_array *x, int64_t k, neo_str *out) {
  double v = neoc_array_at(x, k);
  if (x->type == NEO_BOOL_T)
    neo_str_add(out, v != 0 ? "true" : "false");
  else if (x->type == NEO_I64_T)
    neo_str_addf(out, "%lld", (long long)((const int64_t *)x->data)[k]);
  else if (!neo_type_is_float((neo_type)x->type))
    neo_str_addf(out, "%.0f", v);
  else
    neo_str_addf(out, x->type == NEO_F64_T ? "%.10g" : "%.7g", neoc_printed(v));
}

/* Prints dimension d of the elements from `at` on; `step`: elements that it spans. */
static void put_dim(const neo_rt_array *x, int d, int64_t at, int64_t step, bool shorten,
                    neo_str *out) {
  int64_t n = x->extent[d], inner = n > 0 ? step / n : 0;
  bool cut = shorten && n > 2 * EDGE, last = d + 1 == x->rank;
  neo_str_addc(out, '[');
  size_t line = out->n;
  for (int64_t k = 0; k < n; k++) {
    bool wrap = !last || out->n - line > LINE;
    if (k && wrap)
      neo_str_addf(out, ",\n%*s", d + 1, "");
    if (k && !wrap)
      neo_str_add(out, ", ");
    if (wrap)
      line = out->n;
    if (cut && k == EDGE) {
      neo_str_add(out, "...");
      k = n - EDGE - 1;
      continue;
    }
    if (last)
      put_number(x, at + k, out);
    else
      put_dim(x, d + 1, at + k * inner, inner, shorten, out);
  }
  neo_str_addc(out, ']');
}

/* Prints an array as NumPy does, long ones shortened. */
static void array_print(const neo_rt_array *x, neo_str *out) {
  int64_t n = neoc_array_count(x);
  if (x->rank == 0)
    put_number(x, 0, out);
  else
    put_dim(x, 0, 0, n, n > LONG, out);
}

/* Numbers that JSON lacks are strings. */
static void json_number(const neo_rt_array *x, int64_t k, neo_str *out) {
  double v = neoc_array_at(x, k);
  if (!neo_type_is_float((neo_type)x->type)) {
    put_number(x, k, out);
    return;
  }
  if (!isfinite(v))
    neo_str_addc(out, '"');
  neo_str_add_f64(out, v);
  if (!isfinite(v))
    neo_str_addc(out, '"');
}

/* Appends an array as JSON: type, shape and all elements. */
static void array_json(const neo_rt_array *x, neo_str *out) {
  int64_t n = neoc_array_count(x);
  neo_str_addf(out, "{\"type\": \"%s\", \"shape\": [", neo_type_text((neo_type)x->type));
  for (int d = 0; d < x->rank; d++)
    neo_str_addf(out, "%s%lld", d ? ", " : "", (long long)x->extent[d]);
  neo_str_add(out, "], \"values\": [");
  for (int64_t k = 0; k < n; k++) {
    if (k)
      neo_str_add(out, ", ");
    json_number(x, k, out);
  }
  neo_str_add(out, "]}");
}

static void put_text(run_state *s) {
  for (size_t k = 0; k < s->results.n; k++) {
    const neoc_output *o = &s->results.at[k];
    neo_str text = neo_str_in(s->r.cli->arena);
    array_print(&o->array, &text);
    printf("%s %s %s\n%s\n", o->name, neo_type_text((neo_type)o->array.type),
           neoc_shape_text(s->r.cli->arena, o->array.rank, o->array.extent), neo_str_text(&text));
  }
}

static void put_json(run_state *s) {
  neo_str text = neo_str_in(s->r.cli->arena);
  neo_str_add(&text, "{\"outputs\": {");
  for (size_t k = 0; k < s->results.n; k++) {
    if (k)
      neo_str_add(&text, ", ");
    neo_str_add_json(&text, s->results.at[k].name);
    neo_str_add(&text, ": ");
    array_json(&s->results.at[k].array, &text);
  }
  printf("%s}}\n", neo_str_text(&text));
}

static neoc_exit save(run_state *s, const char *path) {
  neo_rt_named_array *named = NEO_NEW_ARRAY(s->r.cli->arena, neo_rt_named_array, s->results.n + 1);
  for (size_t k = 0; k < s->results.n; k++)
    named[k] = (neo_rt_named_array){s->results.at[k].name, &s->results.at[k].array};
  errno = 0;
  neo_rt_status status = neo_rt_array_save_npz(path, named, (int32_t)s->results.n);
  if (!status)
    return NEOC_OK;
  return neoc_fail(s->r.cli, neoc_exit_of((neo_status)status), "%s: %s", path,
                   errno ? strerror(errno) : neo_rt_status_text(status));
}

/* ---- the command */

/* Reports results that are NaN because a size is 0: the mean of nothing is NaN, which surprises
 * users. */
static void tell_empty(run_state *s) {
  const neo_module *m = s->r.c.module;
  bool *used = neoc_entry_sizes(&s->r, s->entry);
  for (size_t k = 0; k < s->results.n; k++) {
    const neoc_output *o = &s->results.at[k];
    bool nan = o->array.rank == 0 && neo_type_is_float((neo_type)o->array.type) &&
               isnan(neoc_array_at(&o->array, 0));
    for (uint32_t i = 1; nan && i < m->sizes.n; i++)
      if (used[i] && s->r.sizes[i] == 0) {
        fprintf(stderr, "%s of entry %s is nan, and %s is 0 in this call\n", o->name,
                neoc_entry_name(&s->r, s->entry), neo_name_text(m->names, m->sizes.at[i].name));
        return;
      }
  }
}

/* The inputs of the entry and of the entries that compute gradients. */
static neoc_tensors all_inputs(run_state *s) {
  neoc_tensors all = {NEO_NEW_ARRAY(s->r.cli->arena, neo_tensor, s->r.c.module->tensors.n), 0};
  for (size_t g = 0; g <= s->grads.n; g++) {
    int entry = g < s->grads.n ? s->grads.at[g] : s->entry;
    neoc_tensors own = neoc_entry_inputs(&s->r, entry);
    for (size_t k = 0; k < own.n; k++)
      if (!is_needed(all, own.at[k]))
        all.at[all.n++] = own.at[k];
  }
  return all;
}

static bool is_result(const run_state *s, const char *name) {
  for (size_t k = 0; k < s->results.n; k++)
    if (neo_streq(s->results.at[k].name, name))
      return true;
  return false;
}

static neoc_exit evaluate(run_state *s) {
  neoc_cli *cli = s->r.cli;
  neoc_tensors inputs = all_inputs(s);
  neoc_output *out;
  size_t n = 0;
  neoc_exit e = NEOC_OK;
  int32_t threads = neoc_count(cli, NEOC_O_THREADS, 0, 0, &e);
  int64_t seed = neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  neoc_texts pairs = {0};
  for (size_t k = 0; k < cli->value[NEOC_O_SET].n; k++)
    NEO_PUSH(cli->arena, &pairs, cli->value[NEOC_O_SET].at[k]);
  size_t n_set = pairs.n;
  for (int k = 1; k < cli->n_args; k++)
    NEO_PUSH(cli->arena, &pairs, cli->args[k]);
  if (!e)
    e = neoc_pairs_differ(cli, "", pairs);
  if (!e)
    e = check_names(s, inputs);
  if (!e)
    e = give_inputs(s, inputs);
  if (!e)
    e = neoc_runner_begin(&s->r, threads, (uint64_t)seed);
  if (!e)
    e = neoc_runner_load(&s->r, true);
  if (!e)
    e = set_values(s, &pairs, n_set);
  if (!e)
    e = make_gradients(s);
  if (!e)
    e = neoc_runner_run(&s->r, s->entry, &out, &n);
  for (size_t k = 0; k < n && !e; k++)
    NEO_PUSH(cli->arena, &s->results, out[k]);
  for (size_t k = 0; k < s->gradients.n && !e; k++)
    /* the entry itself may have returned the gradient */
    if (!is_result(s, s->gradients.at[k].name))
      NEO_PUSH(cli->arena, &s->results, s->gradients.at[k]);
  return e;
}

static neoc_exit find_entries(run_state *s) {
  const char *name = neoc_text(s->r.cli, NEOC_O_ENTRY, NULL);
  s->entry = neoc_entry_find(&s->r, name);
  if (s->entry < 0)
    return NEOC_FAILED;
  return find_gradients(s);
}

neoc_exit neoc_run(neoc_cli *cli) {
  run_state s = {0};
  neo_compile_options o;
  if (cli->n_args < 1)
    return neoc_usage(cli, "which model?");
  neoc_exit e = neoc_compile_options(cli, cli->args[0], &o);
  if (!e && neoc_has(cli, NEOC_O_TRACE) && neoc_has(cli, NEOC_O_INTERP))
    e = neoc_usage(cli, "--trace is of compiled code, which --interp has none of");
  if (!e)
    e = neoc_runner_compile(&s.r, cli, &o, neoc_has(cli, NEOC_O_INTERP));
  if (e)
    return e;
  e = find_entries(&s);
  if (!e)
    e = evaluate(&s);
  if (!e)
    e = neoc_runner_end_trace(&s.r);
  if (!e)
    tell_empty(&s);
  if (!e && cli->json)
    put_json(&s);
  if (!e && !cli->json)
    put_text(&s);
  if (!e && neoc_has(cli, NEOC_O_OUTPUT))
    e = save(&s, neoc_text(cli, NEOC_O_OUTPUT, ""));
  neoc_runner_close(&s.r);
  return e;
}

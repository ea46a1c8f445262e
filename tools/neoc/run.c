/* `neoc run`: evaluates an entry's outputs for the given inputs, and gradients if asked. */
#include "tools/neoc/runner.h"
#include <string.h>

typedef struct {
  neoc_runner r;
  int entry, grad; /* grad: -1 without --grad */
  NEO_VEC(neoc_output) results;
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

/* Values that carry their shape come first: they tell the sizes of the others. */
static bool has_shape(const char *text) {
  return text[0] == '@' || strchr(text, '[') != NULL;
}

static neoc_exit give(run_state *s, neo_tensor t, const char *text) {
  neoc_runner *r = &s->r;
  neo_module *m = r->c.module;
  neo_rt_array like = {.rank = (uint8_t)neo_tensor_rank(m, t)}, x;
  neo_tensor_elements_at(m, t, neoc_runner_sizes(r), like.extent);
  neoc_exit e = neoc_array_read(r->cli, neoc_tensor_name(r, t), text,
                                (neo_type)neo_tensor_at(m, t)->type, &like, bound_of(r, t), &x);
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

/* Arguments that name a parameter, state or setting. */
static neoc_exit set_values(run_state *s, const neoc_texts *pairs) {
  neoc_runner *r = &s->r;
  neo_module *m = r->c.module;
  for (size_t k = 0; k < pairs->n; k++) {
    const char *value = NULL, *name = neoc_pair(r->cli, pairs->at[k], &value);
    if (!name)
      return neoc_usage(r->cli, "'%s' is not NAME=VALUE", pairs->at[k]);
    neo_tensor t = neo_tensor_find(m, name);
    neo_role role = t.i ? (neo_role)neo_tensor_at(m, t)->role : NEO_ROLE_TEMP;
    if (role == NEO_ROLE_INPUT)
      continue;
    if (role != NEO_ROLE_PARAM && role != NEO_ROLE_STATE && role != NEO_ROLE_SETTING)
      return neoc_usage(r->cli, "the model has no input, parameter, state or setting '%s'", name);
    neo_rt_array x, like = {.rank = (uint8_t)neo_tensor_rank(m, t)};
    neo_tensor_elements_at(m, t, r->sizes, like.extent);
    neoc_exit e = neoc_array_read(r->cli, name, value, (neo_type)neo_tensor_at(m, t)->type, &like,
                                  bound_of(r, t), &x);
    if (!e)
      e = neoc_runner_set(r, t, &x);
    if (e)
      return e;
  }
  return NEOC_OK;
}

static neoc_exit check_names(run_state *s, neoc_tensors a, neoc_tensors b) {
  neoc_cli *cli = s->r.cli;
  for (int k = 1; k < cli->n_args; k++) {
    const char *value = NULL, *name = neoc_pair(cli, cli->args[k], &value);
    if (!name)
      return neoc_usage(cli, "'%s' is not NAME=VALUE", cli->args[k]);
    neo_tensor t = neo_tensor_find(s->r.c.module, name);
    if (!t.i)
      return neoc_usage(cli, "the model has no input '%s'", name);
    if (neo_tensor_at(s->r.c.module, t)->role == NEO_ROLE_INPUT && !is_needed(a, t) &&
        !is_needed(b, t))
      return neoc_usage(cli, "entry %s does not read %s", neoc_entry_name(&s->r, s->entry), name);
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

static neoc_exit add_gradients(run_state *s) {
  neoc_texts names = neoc_words(s->r.cli, NEOC_O_GRAD);
  neoc_output *out;
  size_t n, before = s->results.n;
  if (s->grad < 0)
    return NEOC_OK;
  neoc_exit e = neoc_runner_run(&s->r, s->grad, &out, &n);
  for (size_t k = 0; k < n && !e; k++)
    if (wanted(names, out[k].name))
      NEO_PUSH(s->r.cli->arena, &s->results, out[k]);
  for (size_t w = 0; w < names.n && !e; w++) {
    bool found = false;
    for (size_t k = before; k < s->results.n; k++)
      found = found || neo_streq(s->results.at[k].name + 5, names.at[w]);
    if (!found)
      e = neoc_usage(s->r.cli, "--grad: '%s' is no trained parameter", names.at[w]);
  }
  return e;
}

/* ---- results */

static void put_text(run_state *s) {
  for (size_t k = 0; k < s->results.n; k++) {
    const neoc_output *o = &s->results.at[k];
    neo_str text;
    neo_str_init(&text, s->r.cli->arena);
    neoc_array_print(&o->array, &text);
    printf("%s %s %s\n%s\n", o->name, neo_type_text((neo_type)o->array.type),
           neoc_shape_text(s->r.cli->arena, o->array.rank, o->array.extent), neo_str_text(&text));
  }
}

static void put_json(run_state *s) {
  neo_str text;
  neo_str_init(&text, s->r.cli->arena);
  neo_str_add(&text, "{\"outputs\": {");
  for (size_t k = 0; k < s->results.n; k++) {
    if (k)
      neo_str_add(&text, ", ");
    neo_str_add_json(&text, s->results.at[k].name);
    neo_str_add(&text, ": ");
    neoc_array_json(&s->results.at[k].array, &text);
  }
  printf("%s}}\n", neo_str_text(&text));
}

static neoc_exit save(run_state *s, const char *path) {
  neo_rt_named_array *named = NEO_NEW_ARRAY(s->r.cli->arena, neo_rt_named_array, s->results.n + 1);
  for (size_t k = 0; k < s->results.n; k++)
    named[k] = (neo_rt_named_array){s->results.at[k].name, &s->results.at[k].array};
  neo_rt_status status = neo_rt_array_save_npz(path, named, (int32_t)s->results.n);
  if (!status)
    return NEOC_OK;
  return neoc_fail(s->r.cli, neoc_exit_of((neo_status)status), "%s: %s", path,
                   neo_rt_status_text(status));
}

/* ---- the command */

static neoc_exit evaluate(run_state *s) {
  neoc_cli *cli = s->r.cli;
  neoc_tensors inputs = neoc_entry_inputs(&s->r, s->entry, false), more = {0};
  neoc_output *out;
  size_t n = 0;
  neoc_exit e = NEOC_OK;
  if (s->grad >= 0)
    more = neoc_entry_inputs(&s->r, s->grad, false);
  int64_t threads = neoc_int(cli, NEOC_O_THREADS, 0, 0, &e);
  int64_t seed = neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  neoc_texts pairs = cli->value[NEOC_O_SET];
  for (int k = 1; k < cli->n_args; k++)
    NEO_PUSH(cli->arena, &pairs, cli->args[k]);
  if (!e)
    e = check_names(s, inputs, more);
  if (!e)
    e = give_inputs(s, inputs);
  if (!e)
    e = give_inputs(s, more);
  if (!e)
    e = neoc_runner_begin(&s->r, (int32_t)threads, (uint64_t)seed);
  if (!e && neoc_has(cli, NEOC_O_LOAD))
    e = neoc_runner_load(&s->r, neoc_text(cli, NEOC_O_LOAD, ""));
  if (!e)
    e = set_values(s, &pairs);
  if (!e)
    e = neoc_runner_run(&s->r, s->entry, &out, &n);
  for (size_t k = 0; k < n && !e; k++)
    NEO_PUSH(cli->arena, &s->results, out[k]);
  return e ? e : add_gradients(s);
}

static neoc_exit find_entries(run_state *s) {
  neoc_cli *cli = s->r.cli;
  s->grad = -1;
  const char *name = neoc_text(cli, NEOC_O_ENTRY, NULL);
  s->entry = neoc_entry_find(&s->r, name, NEO_ENTRY_FORWARD, false);
  if (s->entry < 0)
    return NEOC_FAILED;
  if (!neoc_has(cli, NEOC_O_GRAD))
    return NEOC_OK;
  s->grad = neoc_entry_find(&s->r, NULL, NEO_ENTRY_GRAD, false);
  return s->grad < 0 ? NEOC_FAILED : NEOC_OK;
}

neoc_exit neoc_run(neoc_cli *cli) {
  run_state s = {0};
  neo_compile_options o;
  if (cli->n_args < 1)
    return neoc_usage(cli, "which model?");
  neoc_exit e = neoc_compile_options(cli, cli->args[0], &o);
  if (!e)
    e = neoc_runner_compile(&s.r, cli, &o, neoc_has(cli, NEOC_O_INTERP));
  if (e)
    return e;
  e = find_entries(&s);
  if (!e)
    e = evaluate(&s);
  if (!e && cli->json)
    put_json(&s);
  if (!e && !cli->json)
    put_text(&s);
  if (!e && neoc_has(cli, NEOC_O_OUTPUT))
    e = save(&s, neoc_text(cli, NEOC_O_OUTPUT, ""));
  neoc_runner_close(&s.r);
  return e;
}

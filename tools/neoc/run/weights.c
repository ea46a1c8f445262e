/* --load, --only and --rename: parameters and states from a file, into compiled code's context or
 * the interpreter. */
#include "runtime/context.h"
#include "tools/neoc/run/runner.h"

/* ---- the interpreter */

static void slot_of(const neoc_runner *r, neo_tensor t, neo_rti_slot *s) {
  static const uint8_t roles[] = {[NEO_ROLE_SETTING] = NEO_RT_ROLE_SETTING,
                                  [NEO_ROLE_PARAM] = NEO_RT_ROLE_PARAM,
                                  [NEO_ROLE_STATE] = NEO_RT_ROLE_STATE};
  const neo_module *m = r->c.module;
  const neo_tensor_rec *rec = neo_tensor_at(m, t);
  *s = (neo_rti_slot){.name = neoc_tensor_name(r, t),
                      .role = roles[rec->role],
                      .type = rec->type,
                      .rank = (uint8_t)neo_tensor_rank(m, t)};
  s->kind = (uint8_t)neo_rti_slot_kind_of(s->role, rec->optimizer);
  s->place = neo_span_text(neo_diags_sources(m->diags), rec->span);
  s->count = neo_tensor_elements_at(m, t, neoc_runner_sizes(r), s->extent);
}

static void make_slots(const neoc_runner *r, neo_rti_weights *w, neo_tensor *tensor) {
  const neo_module *m = r->c.module;
  w->slots = NEO_NEW_ARRAY(w->arena, neo_rti_slot, m->tensors.n + 1);
  for (uint32_t k = 1; k < m->tensors.n; k++) {
    if (!m->tensors.at[k].init.i)
      continue;
    tensor[w->n_slots].i = k;
    slot_of(r, tensor[w->n_slots], &w->slots[w->n_slots]);
    w->slots[w->n_slots].follows = neo_tensor_follows(m, tensor[w->n_slots], r->cli->arena);
    w->n_slots++;
  }
}

static neoc_exit fill_slots(neoc_runner *r, const char *path, neo_rti_weights *w,
                            const neo_tensor *tensor) {
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; !e && k < w->n_slots; k++) {
    const neo_rti_slot *s = &w->slots[k];
    if (s->found == 0) {
      if (s->follows) /* computed when it is needed, from the parameters at that time */
        neo_interp_tensor(r->interp, tensor[k])->known = false;
      continue;
    }
    neo_rt_array x = neoc_array_new(w->arena, (neo_type)s->type, s->rank, s->extent);
    if (neo_rti_weights_fill(w, k, x.data))
      return neoc_fail(r->cli, NEOC_FAILED, "%s: %s", path, neo_str_text(&w->error));
    e = neoc_runner_set(r, tensor[k], &x);
  }
  return e;
}

static neoc_exit load_interp(neoc_runner *r, const char *path, const neo_rt_weights *o,
                             neo_rti_summary *summary) {
  neo_arena *a = r->cli->arena;
  char *text, error[1024] = "";
  size_t n;
  neo_rti_file_tensors file;
  if (neo_file_read(&neo_io_default, a, path, 0, &text, &n))
    return neoc_fail(r->cli, NEOC_IO, "%s: cannot be read", path);
  neo_rti_source s = {.alloc = &neo_alloc_default,
                      .p = (const unsigned char *)text,
                      .n = n,
                      .error = error,
                      .error_bytes = sizeof error};
  if (neo_rti_tensors_read(&s, &file))
    return neoc_fail(r->cli, NEOC_FAILED, "%s: %s", path, error);
  neo_rti_weights w = {.arena = a, .file = &file};
  neo_tensor *tensor = NEO_NEW_ARRAY(a, neo_tensor, r->c.module->tensors.n + 1);
  make_slots(r, &w, tensor);
  neoc_exit e = NEOC_OK;
  if (neo_rti_weights_match(&w, o))
    e = neoc_fail(r->cli, NEOC_FAILED, "%s: %s", path, neo_str_text(&w.error));
  if (!e)
    e = fill_slots(r, path, &w, tensor);
  if (!e)
    neo_rti_weights_summary(&w, summary);
  neo_rti_file_tensors_free(&file);
  return e;
}

/* ---- both */

static neoc_exit read_table(neoc_runner *r, neo_rt_weights *o) {
  const char *path = neoc_text(r->cli, NEOC_O_RENAME, NULL);
  char *text;
  size_t n;
  if (!path)
    return NEOC_OK;
  if (neo_file_read(&neo_io_default, r->cli->arena, path, 0, &text, &n))
    return neoc_fail(r->cli, NEOC_IO, "%s: cannot be read", path);
  o->rename = text;
  return NEOC_OK;
}

/* The patterns of all uses of --only, as one list. */
static const char *patterns(neoc_runner *r) {
  neoc_texts words = neoc_words(r->cli, NEOC_O_ONLY);
  neo_str s = neo_str_in(r->cli->arena);
  for (size_t k = 0; k < words.n; k++)
    neo_str_addf(&s, "%s%s", k ? "," : "", words.at[k]);
  return words.n ? neo_str_text(&s) : NULL;
}

neoc_exit neoc_runner_load(neoc_runner *r, bool all) {
  const char *path = neoc_text(r->cli, NEOC_O_LOAD, NULL);
  if (!path && (neoc_has(r->cli, NEOC_O_ONLY) || neoc_has(r->cli, NEOC_O_RENAME)))
    return neoc_usage(r->cli, "--only and --rename are about the file of --load: which?");
  if (!path)
    return NEOC_OK;
  neo_rt_weights o = {.only = patterns(r), .flags = all ? NEO_RT_WEIGHTS_ALL : 0};
  neo_rti_summary summary = {0};
  neoc_exit e = read_table(r, &o);
  if (!e && r->interp)
    e = load_interp(r, path, &o, &summary);
  else if (!e) {
    neo_rt_status s = neo_rti_load_weights(r->ctx, path, &o, &summary);
    if (s)
      e = neoc_fail(r->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_error(r->ctx));
  }
  bool say = !r->told && !neoc_has(r->cli, NEOC_O_QUIET) && (!all || summary.partly);
  r->told = true;
  if (!e && say)
    fprintf(stderr, "%s: %s\n", path, summary.text);
  return e;
}

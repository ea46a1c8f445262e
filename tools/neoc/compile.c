/* `neoc compile`: model -> library, header, and other outputs asked for. `neoc check`: only the
 * errors. */
#include "tools/neoc/tune/tune.h"

static const char *json_results(neoc_cli *cli, const neo_compilation *c, const neo_summary *p) {
  neo_str s = neo_str_in(cli->arena);
  neo_str_add(&s, "\"prefix\": ");
  neo_str_add_json(&s, c->prefix);
  neo_str_addf(&s, ", \"kernels\": %zu, \"entries\": [", p->kernels);
  for (size_t k = 0; k < p->entries.n; k++) {
    const neo_entry_memory *e = &p->entries.at[k];
    neo_str_add(&s, k ? ", {\"name\": " : "{\"name\": ");
    neo_str_add_json(&s, e->name);
    neo_str_addf(&s, ", \"frame_bytes\": %lld, \"lower_bound_bytes\": %lld}",
                 (long long)e->frame_bytes, (long long)e->lower_bound_bytes);
  }
  neo_str_addf(&s, "], \"param_bytes\": %lld, \"state_bytes\": %lld, \"cached_bytes\": %lld",
               (long long)p->param_bytes, (long long)p->state_bytes, (long long)p->cached_bytes);
  neo_str_addf(&s, ", \"scratch_bytes\": %lld", (long long)p->scratch_bytes);
  return neo_str_text(&s);
}

neoc_exit neoc_compile(neoc_cli *cli) {
  neo_compile_options o;
  neo_compilation c;
  neo_summary made = {0};
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  if (!e)
    e = neoc_emit_options(cli, &o);
  if (e)
    return e;
  bool links = (o.emit & NEO_EMIT_SO) || ((o.emit & NEO_EMIT_A) && o.runtime == NEO_RUNTIME_STATIC);
  if (links && !o.lib_dir && o.runtime != NEO_RUNTIME_NONE)
    return neoc_fail(cli, NEOC_IO, "libneort is not where neoc expects it: see `neoc doctor`");
  if (neoc_has(cli, NEOC_O_TUNE) && o.target && !neo_streq(o.target, "cpu"))
    return neoc_usage(cli, "--tune measures on this machine: it has no --target");
  if (neoc_has(cli, NEOC_O_TUNE))
    e = neoc_tune_before(cli, neoc_text(cli, NEOC_O_TUNE, ""), &o);
  if (e)
    return e;
  neo_compilation_init(&c, &o);
  neo_status s = neo_compile_all(&c);
  if (!s)
    made = neo_compile_summary(&c);
  e = neoc_report(cli, &c, s, s ? NULL : json_results(cli, &c, &made));
  neoc_report_facts(cli, &c);
  if (!s && !cli->json && !neoc_has(cli, NEOC_O_QUIET))
    fputs(neoc_memory_text(cli->arena, &made), stdout);
  neo_compilation_free(&c);
  return e;
}

neoc_exit neoc_check(neoc_cli *cli) {
  neo_compile_options o;
  neo_compilation c;
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  if (e)
    return e;
  neo_compilation_init(&c, &o);
  neo_status s = neo_compile_front(&c);
  if (!s)
    neo_compile_has_entries(&c, NEO_D_NO_ENTRY_YET);
  if (!s)
    s = neo_compile_passes(&c);
  if (!s && o.check_facts && c.module->entries.n)
    s = neo_compile_kernels(&c);
  e = neoc_report(cli, &c, s, NULL);
  neoc_report_facts(cli, &c);
  if (!s && !cli->json && !neoc_has(cli, NEOC_O_QUIET))
    printf("%s: ok\n", path);
  neo_compilation_free(&c);
  return e;
}

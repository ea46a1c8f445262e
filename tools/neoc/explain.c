/* `neoc explain`: the IR after any pass, what became one kernel and why, schedules, loop IR. */
#include "ir/print.h"
#include "tools/neoc/neoc.h"
#include <string.h>

static void put_ir(neoc_cli *cli, const neo_module *m) {
  neo_str s;
  neo_str_init(&s, cli->arena);
  neo_module_print(m, &s);
  fwrite(neo_str_text(&s), 1, s.n, stdout);
}

static void dump(void *ctx, const char *pass, const neo_module *m, bool changed) {
  (void)pass;
  (void)changed;
  put_ir(ctx, m);
}

/* ---- what the backward pass reads */

static bool *made_by(neo_compilation *c, neo_arena *a, const neo_tensor *roots, size_t n) {
  neo_module *m = c->module;
  bool *made = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  neo_def *defs;
  size_t n_defs = neo_module_topo(m, roots, n, a, &defs, NULL);
  for (size_t k = 0; k < n_defs; k++) {
    neo_list out = neo_def_at(m, defs[k])->out;
    for (uint32_t i = 0; i < out.n; i++)
      made[neo_list_at(m, out, i)] = true;
  }
  return made;
}

static int64_t bytes_of(const neo_module *m, neo_arena *a, neo_tensor t) {
  int64_t *sizes = NEO_NEW_ARRAY(a, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    sizes[k] = m->sizes.at[k].hi;
  return neo_tensor_elements_at(m, t, sizes, NULL) *
         neo_type_bytes((neo_type)neo_tensor_at(m, t)->type);
}

/* Tensors that the loss needs and that something else of the entry reads again. */
static void put_backward(neoc_cli *cli, neo_compilation *c, const neo_entry_rec *e) {
  neo_module *m = c->module;
  neo_arena *a = cli->arena;
  neo_tensor loss = {neo_list_at(m, e->outputs, 0)};
  bool *forward = made_by(c, a, &loss, 1), *kept = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  size_t n = 0;
  neo_tensor *roots = NEO_NEW_ARRAY(a, neo_tensor, e->outputs.n + e->updates.n + 1), *reads;
  for (uint32_t k = 0; k < e->outputs.n; k++)
    roots[n++].i = neo_list_at(m, e->outputs, k);
  for (uint32_t k = 0; k < e->updates.n; k++)
    roots[n++].i = neo_list_at(m, e->updates, k);
  neo_def *defs;
  size_t n_defs = neo_module_topo(m, roots, n, a, &defs, NULL);
  for (size_t k = 0; k < n_defs; k++) {
    if (forward[neo_list_at(m, neo_def_at(m, defs[k])->out, 0)])
      continue;
    size_t n_reads = neo_def_reads(m, defs[k], a, &reads);
    for (size_t i = 0; i < n_reads; i++)
      kept[reads[i].i] = kept[reads[i].i] || forward[reads[i].i];
  }
  int64_t total = 0;
  printf("backward pass of %s reads\n", neo_name_text(m->names, e->name));
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    if (!kept[t])
      continue;
    int64_t bytes = bytes_of(m, a, (neo_tensor){t});
    total += bytes;
    printf("  %-24s %12lld B\n", neo_name_text(m->names, m->tensors.at[t].name), (long long)bytes);
  }
  printf("  %-24s %12lld B\n", "in all", (long long)total);
}

/* ---- groups */

static void put_group(neo_compilation *c, size_t g) {
  static const char *const places[] = {"memory", "inline", "registers"};
  const neo_group *gr = &c->grouping.groups.at[g];
  neo_module *m = c->module;
  printf("group %zu %s: kernel %u, key %016llx%016llx\n", g, gr->name, c->kernel_of_group.at[g],
         (unsigned long long)gr->key[0], (unsigned long long)gr->key[1]);
  for (size_t k = 0; k < gr->members.n; k++) {
    const neo_def_rec *d = neo_def_at(m, gr->members.at[k].def);
    neo_tensor t = {neo_list_at(m, d->out, 0)};
    printf("  %-9s %s\n", places[gr->members.at[k].place],
           neo_name_text(m->names, neo_tensor_at(m, t)->name));
  }
  printf("  reads    ");
  for (size_t k = 0; k < gr->reads.n; k++)
    printf(" %s", neo_name_text(m->names, neo_tensor_at(m, gr->reads.at[k])->name));
  printf("\n");
}

static void put_groups(neoc_cli *cli, neo_compilation *c) {
  if (c->explain.n)
    printf("decisions\n%s", neo_str_text(&c->explain));
  for (size_t g = 0; g < c->grouping.groups.n; g++)
    put_group(c, g);
  for (size_t k = 0; k < c->module->entries.n; k++) {
    neo_entry_rec e = c->module->entries.at[k];
    if (e.kind == NEO_ENTRY_TRAIN && e.outputs.n)
      put_backward(cli, c, &e);
  }
}

static void put_schedules(neoc_cli *cli, neo_compilation *c) {
  for (size_t g = 0; g < c->schedules.n; g++) {
    neo_str s;
    neo_str_init(&s, cli->arena);
    neo_schedule_print(&c->schedules.at[g], &s);
    printf("%s: %s\n", c->grouping.groups.at[g].name, neo_str_text(&s));
  }
}

static void put_kernels(neoc_cli *cli, neo_compilation *c) {
  for (size_t k = 0; k < c->kernels.n; k++) {
    neo_str s;
    neo_str_init(&s, cli->arena);
    neo_kernel_print(c->kernels.at[k].kernel, &s);
    printf("# %s\n%s\n", c->kernels.at[k].symbol, neo_str_text(&s));
  }
}

/* ---- the command */

static bool is_pass(const char *name) {
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  for (size_t k = 0; k < n; k++)
    if (neo_streq(p[k].name, name))
      return true;
  return false;
}

static neo_status explain(neoc_cli *cli, neo_compilation *c) {
  const char *after = neoc_text(cli, NEOC_O_AFTER, NULL);
  bool groups = neoc_has(cli, NEOC_O_GROUPS), schedule = neoc_has(cli, NEOC_O_SCHEDULE);
  bool kernels = neoc_has(cli, NEOC_O_KERNELS);
  neo_status s = neo_compile_front(c);
  if (!s && after && neo_streq(after, "front"))
    put_ir(cli, c->module);
  if (!s)
    s = neo_compile_passes(c);
  if (!s && !after && !groups && !schedule && !kernels)
    put_ir(cli, c->module);
  if (!s && (groups || schedule || kernels))
    s = neo_compile_kernels(c);
  if (s)
    return s;
  if (groups)
    put_groups(cli, c);
  if (schedule)
    put_schedules(cli, c);
  if (kernels)
    put_kernels(cli, c);
  return NEO_OK;
}

neoc_exit neoc_explain(neoc_cli *cli) {
  neo_compile_options o;
  neo_compilation c;
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e), *after = neoc_text(cli, NEOC_O_AFTER, NULL);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  if (e)
    return e;
  if (after && !neo_streq(after, "front")) {
    if (!is_pass(after))
      return neoc_usage(cli, "--after: there is no pass '%s'", after);
    o.passes.dump_after = after;
    o.passes.dump = dump;
    o.passes.dump_ctx = cli;
  }
  neo_compilation_init(&c, &o);
  e = neoc_report(cli, &c, explain(cli, &c), NULL);
  neo_compilation_free(&c);
  return e;
}

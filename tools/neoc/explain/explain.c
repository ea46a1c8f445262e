/* `neoc explain`: the IR after any pass and the tensors that gradients read, networks, kernels
 * and the reasons for them, schedules, loop IR, costs of compiling. Each part is a text, or a
 * member of one JSON object; --html writes everything that does not depend on the machine's
 * speed as a page. */
#include "tools/neoc/explain/explain.h"
#include "ir/print.h"

typedef struct {
  neoc_cli *cli;
  neo_compilation *c;
  neo_str *text;
} explainer;

typedef void part_fn(neoc_cli *cli, neo_compilation *c, neo_str *out);

static void put_text(explainer *x, const char *name, const neo_str *part) {
  if (!x->cli->json) {
    neo_str_addn(x->text, neo_str_text(part), part->n);
    return;
  }
  neoc_explain_member(x->text, name);
  neo_str_add_json(x->text, neo_str_text(part));
}

static void put_ir(explainer *x, const neo_module *m) {
  neo_str s = neo_str_in(x->cli->arena);
  neo_module_print(m, &s);
  put_text(x, "ir", &s);
}

static void put_part(explainer *x, const char *name, part_fn *part) {
  neo_str s = neo_str_in(x->cli->arena);
  part(x->cli, x->c, &s);
  put_text(x, name, &s);
}

static void put_networks(explainer *x) {
  neo_str s = neo_str_in(x->cli->arena);
  for (size_t k = 0; k < x->c->networks.n; k++)
    neo_network_print(x->c->networks.at[k], &s);
  put_text(x, "network", &s);
}

static void dump(void *ctx, const char *pass, const neo_module *m, bool changed) {
  explainer *x = ctx;
  (void)changed;
  put_ir(x, m);
  if (neo_streq(pass, "autodiff"))
    neoc_explain_gradients(x->cli, x->c, x->text);
}

/* ---- Schedule trees as text: those of entries without rewrites, and those of recurrences, which
 * are groups, after fusion.
 *
 *   tree forward
 *   band t in 0..T
 *     leaf h[t]
 *   tree of group 0 h
 *   store h [1, 8] at (d0 % 1, d1)
 *   seq
 *     leaf h[0..1]
 *     band t in 1..T
 *       leaf h[t] */

static void put_entry(neoc_cli *cli, neo_module *m, const neo_entry_rec *e, neo_str *out) {
  neo_tensors roots = {0};
  neo_str why = neo_str_in(cli->arena);
  neo_entry_roots(m, cli->arena, &roots, e);
  neo_schedule_tree t = {.root = neo_tree_of_roots(m, cli->arena, roots.at, roots.n, &why)};
  neo_str_addf(out, "tree %s\n", neo_name_text(m->names, e->name));
  if (t.root)
    neo_tree_print(m, &t, out);
  else
    neo_str_addf(out, "%s\n", neo_str_text(&why));
}

/* The schedule tree of each entry (ir/tree/tree.h), and of each recurrence after fusion; as text
 * only. */
static void explain_trees(neoc_cli *cli, neo_compilation *c, neo_str *out) {
  neo_module *m = c->module;
  for (size_t k = 0; k < m->entries.n; k++) {
    neo_entry_rec e = m->entries.at[k];
    put_entry(cli, m, &e, out);
  }
  for (size_t g = 0; g < c->grouping.groups.n; g++) {
    const neo_group *x = &c->grouping.groups.at[g];
    if (!x->recurrence)
      continue;
    neo_str_addf(out, "tree of group %zu %s\n", g, x->name);
    neo_tree_print(m, &x->recurrence->tree, out);
  }
}

static neo_status explain(explainer *x) {
  neo_compilation *c = x->c;
  const char *after = neoc_text(x->cli, NEOC_O_AFTER, NULL);
  const char *page = neoc_text(x->cli, NEOC_O_HTML, NULL);
  bool groups = neoc_has(x->cli, NEOC_O_GROUPS), schedule = neoc_has(x->cli, NEOC_O_SCHEDULE);
  bool kernels = neoc_has(x->cli, NEOC_O_KERNELS), timings = neoc_has(x->cli, NEOC_O_TIMINGS);
  bool trees = neoc_has(x->cli, NEOC_O_SCHEDULE_TREE), network = neoc_has(x->cli, NEOC_O_NETWORK);
  neo_status s = neo_compile_front(c);
  if (!s && after && neo_streq(after, "front"))
    put_ir(x, c->module);
  if (!s && network)
    put_networks(x);
  if (!s && network && !after && !trees && !groups && !schedule && !kernels && !timings && !page)
    return s;
  if (!s)
    s = neo_compile_passes(c);
  if (!s && !after && !network && !trees && !groups && !schedule && !kernels && !timings && !page)
    put_ir(x, c->module);
  if (!s && (trees || groups || schedule || kernels || page || (timings && !after)))
    s = neo_compile_kernels(c);
  if (!s && trees)
    put_part(x, "trees", explain_trees);
  if (!s && groups)
    put_part(x, "groups", neoc_explain_groups);
  if (!s && schedule)
    put_part(x, "schedules", neoc_explain_schedules);
  if (!s && kernels)
    put_part(x, "kernels", neoc_explain_kernels);
  if (!s && timings)
    neoc_explain_costs(x->cli, c, x->text);
  return s;
}

neo_status neoc_explain_by(neoc_cli *cli, neo_compile_options *o, neo_compilation *c,
                           neo_str *out) {
  explainer *x = NEO_NEW(cli->arena, explainer); /* passes refer to it later */
  const char *after = neoc_text(cli, NEOC_O_AFTER, NULL);
  *x = (explainer){cli, c, out};
  if (after && !neo_streq(after, "front")) {
    o->passes.dump_after = after;
    o->passes.dump = dump;
    o->passes.dump_ctx = x;
  }
  neo_compilation_init(c, o);
  return explain(x);
}

/* *bad: an error in --size, which was reported. */
static neo_status put_page(neoc_cli *cli, neo_compilation *c, const char *path, neoc_exit *bad) {
  int64_t *sizes;
  neo_rt_model m = neo_compile_model(c);
  *bad = neoc_read_model_sizes(cli, &m, &sizes);
  return *bad ? NEO_OK : neoc_explain_html(cli, c, sizes, path);
}

neoc_exit neoc_explain(neoc_cli *cli) {
  neo_compile_options o;
  neo_compilation c;
  neoc_exit e = NEOC_OK, bad = NEOC_OK;
  const char *path = neoc_model_path(cli, &e), *after = neoc_text(cli, NEOC_O_AFTER, NULL);
  const char *page = neoc_text(cli, NEOC_O_HTML, NULL);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  if (!e && after)
    e = neoc_pass_check(cli, "after", after, "front");
  if (!e && neoc_has(cli, NEOC_O_TRACE) && !page)
    e = neoc_usage(cli, "--trace gives the times of --html");
  if (!e && neoc_has(cli, NEOC_O_SIZE) && !page)
    e = neoc_usage(cli, "--size tells the memory of --html");
  if (e)
    return e;
  neo_str text = neo_str_in(cli->arena);
  neo_status s = neoc_explain_by(cli, &o, &c, &text);
  if (!s && page)
    s = put_page(cli, &c, page, &bad);
  if (!cli->json)
    fwrite(neo_str_text(&text), 1, text.n, stdout);
  e = neoc_report(cli, &c, s, neo_str_text(&text));
  neo_compilation_free(&c);
  return bad ? bad : e;
}

/* Schedule trees as text: those of entries without rewrites, and those of recurrences, which are
 * groups, after fusion.
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
#include "tools/neoc/explain/explain.h"

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

void neoc_explain_trees(neoc_cli *cli, neo_compilation *c, neo_str *out) {
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

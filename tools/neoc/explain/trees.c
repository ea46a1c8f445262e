/* Schedule trees as text: those of entries without rewrites, and those of recurrences, which are groups, after fusion.
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
#include "fusion/recurrence.h"
#include "tools/neoc/explain/explain.h"

static size_t roots_of(const neo_module *m, const neo_entry_rec *e, neo_arena *a,
                       neo_tensor **out) {
  NEO_VEC(neo_tensor) roots = {0};
  neo_list lists[] = {e->outputs, e->updates};
  for (int l = 0; l < 2; l++)
    for (uint32_t k = 0; k < lists[l].n; k++)
      NEO_PUSH(a, &roots, (neo_tensor){neo_list_at(m, lists[l], k)});
  *out = roots.at;
  return roots.n;
}

static void put_entry(neoc_cli *cli, neo_module *m, const neo_entry_rec *e, neo_str *out) {
  neo_tensor *roots;
  neo_str why;
  neo_str_init(&why, cli->arena);
  size_t n = roots_of(m, e, cli->arena, &roots);
  neo_schedule_tree t = {.root = neo_tree_of_roots(m, cli->arena, roots, n, &why)};
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

/* Groups of a module. */
#include "fusion/form.h"

static void add_lone(neo_module *m, neo_arena *a, neo_grouping *out, neo_def d) {
  neo_group g = {0};
  neo_member x = {d, NEO_PLACE_ROOT};
  NEO_PUSH(a, &g.members, x);
  neo_group_finish(m, a, &g);
  NEO_PUSH(a, &out->groups, g);
}

static void add_list(neo_arena *a, neo_module *m, neo_list l, void *to) {
  NEO_VEC(neo_tensor) *v = to;
  for (uint32_t k = 0; k < l.n; k++)
    NEO_PUSH(a, v, (neo_tensor){neo_list_at(m, l, k)});
}

neo_status neo_fuse(neo_module *m, neo_arena *a, neo_grouping *out, neo_str *explain) {
  NEO_VEC(neo_tensor) roots = {0};
  neo_def *order;
  *out = (neo_grouping){.m = m};
  (void)explain;
  for (uint32_t k = 1; k < m->tensors.n; k++)
    if (m->tensors.at[k].init.i)
      add_lone(m, a, out, m->tensors.at[k].init);
  for (size_t k = 0; k < m->entries.n; k++) {
    add_list(a, m, m->entries.at[k].outputs, &roots);
    add_list(a, m, m->entries.at[k].updates, &roots);
  }
  size_t n = neo_module_topo(m, roots.at, roots.n, a, &order, NULL);
  for (size_t k = 0; k < n; k++)
    add_lone(m, a, out, order[k]);
  return NEO_OK;
}

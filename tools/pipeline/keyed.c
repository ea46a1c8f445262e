/* Remarks on reductions by key that compare each element with every key. */
#include "schedule/keyed_pairs.h"
#include "tools/pipeline/lower.h"

static const char *const advice[] = {
    [NEO_KEYED_BY_SELECT] =
        "with the condition in the range, each term is read once: sum[e where key[e] == v] x[e]",
    [NEO_KEYED_BY_KEY] =
        "a sum for each value of the key reads each term once, and its rows are read after "
        "that: y[v] = sum[e where key[e] == v] x[e], then y[other[i]]",
    [NEO_KEYED_OTHER] =
        "a reduction by keys in a definition of its own reads each term once: "
        "max[e where key[e] == v] x[e]",
};

void neo_compile_report_keyed(neo_compilation *c, size_t group) {
  const neo_group *g = &c->grouping.groups.at[group];
  neo_keyed_pairs x;
  if (!neo_group_has_form(g) || !neo_keyed_pairs_of(c->module, g, &c->schedules.at[group], &x))
    return;
  const neo_def_rec *d = neo_def_at(c->module, g->members.at[g->members.n - 1].def);
  int h = neo_diag(c->diags, d->span, NEO_D_KEYED_PAIRS, g->name, x.elements, x.keys);
  neo_diag_help(c->diags, h, "%s", advice[x.form]);
}

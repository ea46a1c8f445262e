/* The groups, with the reasons for them, their schedules and their loop IR. */
#include "ir/print.h"
#include "tools/neoc/explain/explain.h"

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

/* Whether the group computes something for a training step that is not part of the forward
 * computation. */
static bool is_backward(const neo_group *g, const bool *forward, const bool *needed) {
  bool backward = false;
  for (size_t k = 0; k < g->roots.n; k++)
    backward = backward || (needed[g->roots.at[k].i] && !forward[g->roots.at[k].i]);
  return backward;
}

neoc_passes neoc_passes_of(neo_compilation *c, neo_arena *a, const neo_entry_rec *e) {
  neo_module *m = c->module;
  neo_tensor loss = {neo_list_at(m, e->outputs, 0)};
  bool *forward = made_by(c, a, &loss, 1), *saved = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  neo_tensors roots = {0};
  neo_entry_roots(m, a, &roots, e);
  const bool *needed = made_by(c, a, roots.at, roots.n);
  for (size_t k = 0; k < c->grouping.groups.n; k++) {
    const neo_group *g = &c->grouping.groups.at[k];
    bool here = g->entry == neo_group_entry(m, e) && is_backward(g, forward, needed);
    for (size_t i = 0; here && i < g->reads.n; i++)
      saved[g->reads.at[i].i] = saved[g->reads.at[i].i] || forward[g->reads.at[i].i];
  }
  return (neoc_passes){forward, saved};
}

static void put_backward(neoc_cli *cli, neo_compilation *c, const neo_entry_rec *e, neo_str *out) {
  neo_module *m = c->module;
  neo_arena *a = cli->arena;
  const bool *saved = neoc_passes_of(c, a, e).saved;
  int64_t total = 0;
  neo_str_addf(out, "backward pass of %s reads\n", neo_name_text(m->names, e->name));
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    if (!saved[t])
      continue;
    int64_t bytes = neoc_tensor_bytes(m, a, (neo_tensor){t});
    total += bytes;
    neo_str_addf(out, "  %-24s %12lld B\n", neo_name_text(m->names, m->tensors.at[t].name),
                 (long long)bytes);
  }
  neo_str_addf(out, "  %-24s %12lld B\n", "in all", (long long)total);
}

static void put_size_expr(const neo_module *m, neo_expr e, neo_str *out) {
  if (e.i)
    neo_expr_print(m, NULL, e, out);
  else
    neo_str_add(out, "0");
}

static void put_band(const neo_module *m, const neo_tree_band *b, neo_str *out) {
  neo_str_addf(out, "for %s in ", neo_name_text(m->names, neo_size_at(m, b->index)->name));
  put_size_expr(m, b->lo, out);
  neo_str_add(out, "..");
  put_size_expr(m, b->hi, out);
  neo_str_add(out, b->rows.range == NEO_BLOCKS_WIDE ? ", while several rows are at once"
                   : b->rows.range == NEO_BLOCKS_SERIAL
                       ? ", the rest, whose rows run one after another"
                   : b->rows.range == NEO_BLOCKS_WHOLE ? ", their lists at once"
                                                       : "");
  neo_str_add(out, b->down ? " down" : "");
}

/* Adds the loops of a recurrence, in the groups and in the plan, and their kernels. */
static void put_tree(const neo_compilation *c, const neo_plan_tree *of, const neo_tree *t,
                     int depth, neo_str *out) {
  bool deeper = t->kind != NEO_TREE_SEQUENCE;
  if (t->kind == NEO_TREE_EXIT) /* printed at its band */
    return;
  if (deeper)
    neo_str_addf(out, "%*s", 2 * depth, "");
  if (t->kind == NEO_TREE_MARK) {
    uint32_t kernel = of->marks.at[t->mark].kernel;
    neo_str_addf(out, "kernel %u %s\n", kernel, c->kernels.at[kernel].symbol);
    return;
  }
  if (t->kind == NEO_TREE_BAND) {
    put_band(c->module, &t->band, out);
    neo_expr more = neo_recurrence_exit(t);
    if (more.i)
      neo_str_add(out, " while ");
    if (more.i)
      put_size_expr(c->module, more, out);
    neo_str_addc(out, '\n');
  } else if (t->kind == NEO_TREE_GUARD) {
    neo_str_add(out, "if ");
    put_size_expr(c->module, t->condition, out);
    neo_str_addc(out, '\n');
  }
  for (size_t k = 0; k < t->children.n; k++)
    put_tree(c, of, t->children.at[k], depth + deeper, out);
}

static void put_group(neo_compilation *c, size_t g, neo_str *out) {
  const neo_group *gr = &c->grouping.groups.at[g];
  neo_module *m = c->module;
  neo_str_addf(out, "group %zu %s: ", g, gr->name);
  if (gr->in_parts)
    neo_str_add(out, "no kernel, what it reads is written where it lies");
  else
    neo_str_addf(out, "kernel %u, key %016llx%016llx", c->kernel_of_group.at[g],
                 (unsigned long long)gr->key[0], (unsigned long long)gr->key[1]);
  neo_str_addf(out, "%s%s%s\n", gr->entry ? ", in " : "",
               gr->entry ? neo_name_text(m->names, m->entries.at[gr->entry - 1].name) : "",
               gr->cached ? ", cached between calls" : "");
  for (size_t k = 0; k < gr->members.n; k++) {
    const neo_def_rec *d = neo_def_at(m, gr->members.at[k].def);
    neo_tensor t = {neo_list_at(m, d->out, 0)};
    neo_str_addf(out, "  %-9s %s\n", neo_group_place_text(m, gr, k), neo_tensor_name(m, t));
  }
  neo_str_addf(out, "  reads    ");
  for (size_t k = 0; k < gr->reads.n; k++)
    neo_str_addf(out, " %s", neo_tensor_name(m, gr->reads.at[k]));
  neo_str_addf(out, "\n");
  if (c->tree_of_group.at[g].root)
    put_tree(c, &c->tree_of_group.at[g], c->tree_of_group.at[g].root, 1, out);
}

static void put_grid_loop(const neo_plan *p, const neo_rt_step *s, neo_rt_grid_part part,
                          neo_str *out) {
  const neo_rt_loop *l = &p->loops.at[s->arg];
  const char *order = part.lone ? ", in turn" : "";
  if (l->index < 0)
    neo_str_addf(out, "phase %d%s: if\n", part.phase, order);
  else
    neo_str_addf(out, "phase %d%s: for %s%s%s\n", part.phase, order, p->sizes.at[l->index].name,
                 l->down ? " down" : "", part.meets ? ", all blocks meet after an iteration" : "");
}

/* Writes parts first to end - 1 of a grid, with the parts inside of loops. */
static void put_grid_parts(const neo_plan *p, const neo_plan_grid *g, int32_t first, int32_t end,
                           int depth, neo_str *out) {
  for (int32_t i = first; i < end; i++) {
    const neo_rt_step *s = &p->steps.at[g->rt.first_step + i];
    neo_rt_grid_part part = p->grid_parts.at[g->rt.part + i];
    neo_str_addf(out, "%*s", 2 * depth, "");
    if (s->op == NEO_RT_STEP_LOOP) {
      put_grid_loop(p, s, part, out);
      put_grid_parts(p, g, i + 1, i + 1 + s->n, depth + 1, out);
      i += s->n;
      continue;
    }
    neo_str_addf(out, "phase %d%s %s\n", part.phase, part.lone ? ", in turn:" : ":",
                 p->kernels.at[s->arg].symbol);
  }
}

void neoc_explain_grids(const neo_plan *p, neo_str *out) {
  for (size_t k = 0; k < p->chains.n; k++) {
    const neo_plan_chain *x = &p->chains.at[k];
    neo_str_addf(out, "%s: %d steps, %d of them one after the other\n", x->entry, x->steps,
                 x->levels);
  }
  for (size_t k = 0; k < p->grids.n; k++) {
    const neo_plan_grid *x = &p->grids.at[k];
    neo_str_addf(out,
                 "grid %s: one kernel of %d, %d threads; launches %.1f us apart (%d levels), "
                 "%.1f us as one (%d phases)\n",
                 x->rt.name, x->rt.n_steps, x->rt.block, 1e6 * x->separate_s, x->levels,
                 1e6 * x->joined_s, x->phases);
    put_grid_parts(p, x, 0, x->rt.n_steps, 1, out);
  }
}

void neoc_explain_groups(neoc_cli *cli, neo_compilation *c, neo_str *out) {
  neo_str decisions = neo_str_in(cli->arena);
  neo_decisions_print(c->module, &c->decisions, &decisions);
  if (decisions.n)
    neo_str_addf(out, "decisions\n%s", neo_str_text(&decisions));
  for (size_t g = 0; g < c->grouping.groups.n; g++)
    put_group(c, g, out);
  for (size_t k = 0; k < c->module->entries.n; k++) {
    const neo_entry_rec *e = &c->module->entries.at[k];
    if (e->kind == NEO_ENTRY_TRAIN && e->outputs.n)
      put_backward(cli, c, e, out);
  }
  neoc_explain_grids(c->plan, out);
}

/* Writes the segments in the loops of a recurrence. */
static void put_segments(neoc_cli *cli, const neo_compilation *c, const neo_group *of,
                         neo_str *out) {
  for (size_t k = 0; k < c->segments.n; k++) {
    const neo_segment *x = &c->segments.at[k];
    if (x->of != of)
      continue;
    neo_str s = neo_str_in(cli->arena);
    neo_schedule_print(&x->schedule, &s);
    neo_str_addf(out, "  %s: %s\n    %s\n", x->g->name, neo_str_text(&s),
                 neoc_segment_origin(c, cli->arena, x));
  }
}

void neoc_explain_schedules(neoc_cli *cli, neo_compilation *c, neo_str *out) {
  for (size_t g = 0; g < c->schedules.n; g++) {
    neo_str s = neo_str_in(cli->arena);
    neo_schedule_print(&c->schedules.at[g], &s);
    neo_str_addf(out, "%s: %s\n  %s\n", c->grouping.groups.at[g].name, neo_str_text(&s),
                 neoc_schedule_origin(c, cli->arena, g));
    put_segments(cli, c, &c->grouping.groups.at[g], out);
  }
}

static void put_kernel(neoc_cli *cli, const neo_kernel *k, const char *symbol, neo_str *out) {
  neo_str s = neo_str_in(cli->arena);
  neo_kernel_print(k, &s);
  neo_str_addf(out, "# %s\n%s\n", symbol, neo_str_text(&s));
}

/* Writes the kernels. A variant for machines with more features comes after the kernel for all
 * others. */
void neoc_explain_kernels(neoc_cli *cli, neo_compilation *c, neo_str *out) {
  for (size_t k = 0; k < c->kernels.n; k++) {
    const neo_plan_kernel *x = &c->kernels.at[k];
    put_kernel(cli, x->kernel, x->symbol, out);
    if (x->fast)
      put_kernel(cli, x->fast, x->fast_symbol, out);
  }
}

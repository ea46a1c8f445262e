/* Groups and kernels of the page: the computation of a group and its source lines, its inputs and
 * outputs, its price and the decisions about it; the schedule and the loops of a kernel. */
#include "ir/print.h"
#include "tools/neoc/explain/page.h"

static const neo_group *group_at(const page *p, uint32_t g) {
  return &p->c->grouping.groups.at[g];
}

/* ---- a group */

static const char *entry_of(const page *p, uint32_t g) {
  const neo_module *m = p->c->module;
  uint32_t e = group_at(p, g)->entry;
  return p->group[g].init ? "initial values"
         : e              ? neo_name_text(m->names, m->entries.at[e - 1].name)
                          : "entries that do not train";
}

static void put_summary(page *p, uint32_t g) {
  const neo_group *x = group_at(p, g);
  uint32_t k = p->c->kernel_of_group.at[g];
  neoc_html_open(p->out, "summary", NULL);
  neoc_html_leaf(p->out, "b", x->name, NULL);
  const char *text = x->in_parts ? neo_arena_printf(p->a, "group %u, no kernel", g)
                                 : neo_arena_printf(p->a, "group %u, kernel %u", g, k);
  neoc_html_leaf(p->out, "span", text, "class", "tag", NULL);
  if (x->cached)
    neoc_html_leaf(p->out, "span", "cached between calls", "class", "tag", NULL);
  double s = p->group[g].measured > 0 ? p->group[g].measured : x->cost.total_s;
  if (s > 0)
    neoc_html_leaf(p->out, "span", page_seconds(p, s), "class", "right", NULL);
  neoc_html_close(p->out, "summary");
}

static void put_definition(page *p, const neo_group *g, size_t k) {
  const neo_member *y = &g->members.at[k];
  const char *place = neo_group_place_text(p->c->module, g, k);
  neo_str s = neo_str_in(p->a);
  neo_def_print(p->c->module, y->def, &s);
  neo_span span = neo_def_at(p->c->module, y->def)->span;
  neoc_html_open(p->out, "tr", NULL);
  neoc_html_leaf(p->out, "td", place, "class", place, NULL);
  neoc_html_open(p->out, "td", NULL);
  if (span) {
    neo_place at = neo_span_place(p->c->sources, span);
    page_put_line(p, (page_line){at.file_id, at.line, 0});
  }
  neoc_html_close(p->out, "td");
  neoc_html_open(p->out, "td", NULL);
  neoc_html_leaf(p->out, "pre", neo_str_text(&s), NULL);
  neo_str_add(p->out, "</td></tr>\n");
}

static void put_tensors(page *p, const char *what, const neo_tensor *at, size_t n) {
  neo_str_addf(p->out, "<dt>%s</dt><dd>", what);
  for (size_t k = 0; k < n; k++) {
    int64_t bytes = neoc_tensor_bytes(p->c->module, p->a, at[k]);
    neoc_html_leaf(p->out, "span", page_tensor_name(p, at[k]), "class", "tensor", "title",
                   neoc_bytes_text(p->a, bytes), NULL);
  }
  neo_str_add(p->out, n ? "</dd>\n" : "nothing</dd>\n");
}

static void put_price(page *p, const neo_group_cost *x) {
  if (!(x->total_s > 0))
    return;
  neo_str s = neo_str_in(p->a);
  if (x->read_bytes > 0)
    neo_str_addf(&s, "%s read in %s, ", neoc_bytes_text(p->a, (int64_t)x->read_bytes),
                 page_seconds(p, x->read_s));
  neo_str_addf(&s, "%s written in %s, ", neoc_bytes_text(p->a, (int64_t)x->written_bytes),
               page_seconds(p, x->written_s));
  neo_str_addf(&s, "%s operations in %s, ", page_count(p, x->work + x->products),
               page_seconds(p, x->work_s));
  neo_str_addf(&s, "launch %s: %s", page_seconds(p, x->launch_s), page_seconds(p, x->total_s));
  neo_str_add(p->out, "<dt>price</dt>");
  neoc_html_leaf(p->out, "dd", neo_str_text(&s), NULL);
}

static void put_group_decisions(page *p, const page_group *g) {
  if (!g->decisions.n)
    return;
  neo_str_add(p->out, "<dt>decisions</dt><dd><ul>\n");
  for (size_t k = 0; k < g->decisions.n; k++) {
    const neo_decision *d = g->decisions.at[k];
    neo_str s = neo_str_in(p->a);
    neo_decision_print(p->c->module, d, &s);
    neoc_html_leaf(p->out, "li", neo_str_text(&s), "class",
                   d->verb == NEO_DECISION_REJECT ? "rejected" : "made", NULL);
  }
  neo_str_add(p->out, "</ul></dd>\n");
}

static void put_facts(page *p, uint32_t g) {
  const neo_group *x = group_at(p, g);
  uint32_t k = p->c->kernel_of_group.at[g];
  neo_str_add(p->out, "<dl>");
  put_tensors(p, "reads", x->reads.at, x->reads.n);
  put_tensors(p, "writes", x->roots.at, x->roots.n);
  put_price(p, &x->cost);
  if (!x->in_parts) {
    neo_str_add(p->out, "<dt>schedule and loops</dt><dd>");
    neoc_html_link(p->out, page_href(p, "k", k), neo_arena_printf(p->a, "kernel %u", k));
    neo_str_add(p->out, "</dd>\n");
  }
  put_group_decisions(p, &p->group[g]);
  neo_str_add(p->out, "</dl>\n");
}

/* "g12". */
static const char *anchor(const page *p, const char *prefix, uint32_t n) {
  return neo_arena_printf(p->a, "%s%u", prefix, n);
}

static void put_group(page *p, uint32_t g) {
  const neo_group *x = group_at(p, g);
  neoc_html_open(p->out, "section", "class", "group", "id", anchor(p, "g", g), "data-g",
                 neo_arena_printf(p->a, "%u", g), NULL);
  neo_str_add(p->out, "<details>");
  put_summary(p, g);
  neo_str_add(p->out, "<table class=\"members\">\n");
  for (size_t k = 0; k < x->members.n; k++)
    put_definition(p, x, k);
  neo_str_add(p->out, "</table>\n");
  put_facts(p, g);
  neo_str_add(p->out, "</details></section>\n");
}

void page_put_groups(page *p) {
  neo_str_add(p->out, "<section id=\"groups\"><h2>Groups</h2>\n");
  neoc_html_leaf(p->out, "p",
                 "A group is what runs as one kernel. Its definitions are computed inline where "
                 "they are read, or kept in registers, or written to memory.",
                 "class", "note", NULL);
  for (uint32_t g = 0; g < p->c->grouping.groups.n; g++) {
    if (!g || !neo_streq(entry_of(p, g), entry_of(p, g - 1)))
      neoc_html_leaf(p->out, "h3", entry_of(p, g), NULL);
    put_group(p, g);
  }
  neo_str_add(p->out, "</section>\n");
}

/* ---- a kernel */

/* Whether the group runs the kernel. A recurrence runs several kernels in loops, other groups
 * one. */
static bool group_runs(const page *p, size_t g, uint32_t kernel) {
  const neo_plan_tree *tree = &p->c->tree_of_group.at[g];
  bool runs = !tree->root && p->c->kernel_of_group.at[g] == kernel;
  for (size_t k = 0; k < tree->marks.n && !runs; k++)
    runs = tree->marks.at[k].kernel == kernel;
  return runs;
}

static void put_users(page *p, uint32_t kernel) {
  neo_str_add(p->out, "<p class=\"users\">runs ");
  for (uint32_t g = 0, n = 0; g < p->c->grouping.groups.n; g++)
    if (group_runs(p, g, kernel)) {
      neo_str_add(p->out, n++ ? ", " : "");
      neoc_html_leaf(p->out, "a", group_at(p, g)->name, "href", page_href(p, "g", g), "data-g",
                     neo_arena_printf(p->a, "%u", g), NULL);
    }
  neo_str_add(p->out, "</p>\n");
}

/* The parameters of a schedule that differ from a plain one's. */
static void put_schedule(page *p, size_t g) {
  neo_schedule plain = neo_schedule_plain();
  const neo_schedule *s = &p->c->schedules.at[g];
  neo_str_add(p->out, "<p class=\"schedule\">");
  for (int k = 0; k < NEO_PARAMS; k++)
    if (s->at[k] != plain.at[k]) {
      const char *text =
          neo_arena_printf(p->a, "%s=%lld", neo_param_text((neo_param)k), (long long)s->at[k]);
      neoc_html_leaf(p->out, "span", text, "class", "tag", "title", neo_param_meaning((neo_param)k),
                     NULL);
    }
  neoc_html_leaf(p->out, "span", neoc_schedule_origin(p->c, p->a, g), "class", "note", NULL);
  neo_str_add(p->out, "</p>\n");
}

static void put_loops(page *p, const neo_kernel *k, const char *symbol) {
  neo_str s = neo_str_in(p->a);
  neo_kernel_print(k, &s);
  neoc_html_leaf(p->out, "h4", symbol, NULL);
  neoc_html_leaf(p->out, "pre", neo_str_text(&s), "class", "loops", NULL);
}

/* The first group that runs the kernel; the number of groups if none does. */
static size_t first_group_of(const page *p, uint32_t kernel) {
  size_t g = 0;
  while (g < p->c->grouping.groups.n && !group_runs(p, g, kernel))
    g++;
  return g;
}

static void put_kernel(page *p, uint32_t k) {
  const neo_plan_kernel *x = &p->c->kernels.at[k];
  neoc_html_open(p->out, "section", "class", "kernel", "id", anchor(p, "k", k), NULL);
  neo_str_add(p->out, "<details>");
  neoc_html_open(p->out, "summary", NULL);
  neoc_html_leaf(p->out, "b", x->symbol, NULL);
  neoc_html_leaf(p->out, "span", neo_arena_printf(p->a, "kernel %u", k), "class", "tag", NULL);
  neoc_html_close(p->out, "summary");
  put_users(p, k);
  size_t g = first_group_of(p, k);
  if (g < p->c->grouping.groups.n)
    put_schedule(p, g);
  put_loops(p, x->kernel, x->symbol);
  if (x->fast)
    put_loops(p, x->fast, x->fast_symbol);
  neo_str_add(p->out, "</details></section>\n");
}

void page_put_kernels(page *p) {
  neo_str_add(p->out, "<section id=\"kernels\"><h2>Kernels</h2>\n");
  neoc_html_leaf(p->out, "p",
                 "Groups that compute the same share a kernel. Of its schedule the parameters are "
                 "named that are not as in a plain one.",
                 "class", "note", NULL);
  for (uint32_t k = 0; k < p->c->kernels.n; k++)
    put_kernel(p, k);
  neo_str_add(p->out, "</section>\n");
}

void page_put_decisions(page *p) {
  neo_str s = neo_str_in(p->a);
  neo_decisions_print(p->c->module, &p->c->decisions, &s);
  neo_str_add(p->out, "<section id=\"decisions\"><h2>Decisions</h2>\n<details><summary>");
  neo_str_add(p->out, "All decisions of fusion, in order</summary>\n");
  neoc_html_leaf(p->out, "pre", neo_str_text(&s), NULL);
  neo_str_add(p->out, "</details></section>\n");
}

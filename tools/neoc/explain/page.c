/* `neoc explain --html`: one page, complete in itself, with the model's text beside its kernels.
 * Nothing in it differs from run to run. */
#include "tools/neoc/explain/page.h"
#include "base/file.h"
#include "runtime/model.h"
#include <errno.h>
#include <string.h>

/* ---- tiles: a figure and its name */

static void put_tile(page *p, const char *figure, const char *what) {
  neo_str_add(p->out, "<div class=\"tile\">");
  neoc_html_leaf(p->out, "b", figure, NULL);
  neoc_html_leaf(p->out, "span", what, NULL);
  neo_str_add(p->out, "</div>");
}

static void put_count_tile(page *p, size_t n, const char *what) {
  put_tile(p, neo_arena_printf(p->a, "%zu", n), what);
}

static void put_bytes_tile(page *p, int64_t n, const char *what) {
  put_tile(p, neoc_bytes_text(p->a, n), what);
}

/* ---- the steps of an entry */

static void put_cell(page *p, const char *text) {
  neoc_html_leaf(p->out, "td", text, "class", "num", NULL);
}

static void put_names(page *p, const neo_tensor *at, size_t n) {
  enum { MOST = 3 };
  neo_str_add(p->out, "<td>");
  for (size_t k = 0; k < n && k < MOST; k++)
    neoc_html_leaf(p->out, "span", page_tensor_name(p, at[k]), "class", "tensor", NULL);
  if (n > MOST)
    neo_str_addf(p->out, "and %zu more", n - MOST);
  neo_str_add(p->out, "</td>");
}

static void put_share(page *p, double share) {
  neo_str_add(p->out, "<td class=\"share\">");
  neoc_html_leaf(p->out, "span", share > 0 ? page_percent(p, share) : "", "style",
                 neo_arena_printf(p->a, "--s:%.4f", share), NULL);
  neo_str_add(p->out, "</td>");
}

/* Writes the bytes and the work of a group, in the row of its first step alone. */
static void put_price(page *p, const neo_group *g, bool first, double seconds, double total) {
  if (first) {
    put_cell(p, neoc_bytes_text(p->a, (int64_t)g->cost.read_bytes));
    put_cell(p, neoc_bytes_text(p->a, (int64_t)g->cost.written_bytes));
    put_cell(p, page_count(p, g->cost.work + g->cost.products));
  } else {
    neo_str_add(p->out, "<td></td><td></td><td></td>");
  }
  put_cell(p, seconds > 0 ? page_seconds(p, seconds) : "");
  put_share(p, total > 0 ? seconds / total : 0);
}

/* The text of a step: "for iteration:1", "if", the name of the group or of its kernel if the group
 * has several, or the kind of another step. */
static const char *step_text(const page *p, const neo_rt_entry *e, int32_t k, const neo_group *g) {
  const neo_plan *plan = p->c->plan;
  const neo_rt_step *s = &plan->steps.at[e->first_step + k];
  bool alone =
      page_step_is_first(p, e, k) && (k + 1 == e->n_steps || page_step_is_first(p, e, k + 1));
  if (s->op == NEO_RT_STEP_RUN)
    return alone ? g->name : plan->rt_kernels.at[s->arg].name;
  if (s->op != NEO_RT_STEP_LOOP)
    return neo_rti_step_kind(s);
  const neo_rt_loop *l = &plan->loops.at[s->arg];
  return l->index < 0 ? "if"
                      : neo_arena_printf(p->a, "for %s%s", plan->sizes.at[l->index].name,
                                         l->down ? " down" : "");
}

static void put_step_name(page *p, const neo_rt_entry *e, int32_t k, uint32_t g) {
  const neo_group *x = &p->c->grouping.groups.at[g];
  unsigned depth = p->c->plan->step_depth.at[e->first_step + k];
  const char *style =
      depth ? neo_arena_printf(p->a, "padding-left:%uem", depth + depth / 2 + 1) : NULL;
  neoc_html_open(p->out, "td", "style", style, NULL);
  neoc_html_link(p->out, page_href(p, "g", g), step_text(p, e, k, x));
  neo_str_add(p->out, x->cached ? " <span class=\"tag\">cached</span></td><td>" : "</td><td>");
}

/* Links to the lines of a group, at most `most` of them. */
static void put_lines(page *p, uint32_t g, size_t most) {
  const page_group *x = &p->group[g];
  for (size_t k = 0; k < x->lines.n && k < most; k++) {
    neo_str_add(p->out, k ? ", " : "");
    page_put_line(p, x->lines.at[k]);
  }
  if (x->lines.n > most)
    neo_str_addf(p->out, " and %zu more", x->lines.n - most);
}

static void put_run(page *p, const neo_rt_entry *e, int32_t k, double total) {
  uint32_t g = (uint32_t)page_step_group(p, e, k);
  const neo_group *x = &p->c->grouping.groups.at[g];
  bool first = page_step_is_first(p, e, k);
  neoc_html_open(p->out, "tr", "data-g", neo_arena_printf(p->a, "%u", g), NULL);
  put_cell(p, neo_arena_printf(p->a, "%d", k));
  put_step_name(p, e, k, g);
  if (first)
    put_lines(p, g, 3);
  neo_str_add(p->out, "</td>");
  put_names(p, x->roots.at, first ? x->roots.n : 0);
  if (p->group[g].init)
    neo_str_add(p->out, "<td colspan=\"5\"></td>");
  else
    put_price(p, x, first, page_step_seconds(p, e, k), total);
  neo_str_add(p->out, "</tr>\n");
}

static void put_copy(page *p, const neo_rt_entry *e, int32_t k) {
  const neo_plan *plan = p->c->plan;
  const neo_rt_step *s = &plan->steps.at[e->first_step + k];
  int64_t bytes = plan->bufs.at[plan->args.at[s->first]].size_bytes;
  neo_str_add(p->out, "<tr>");
  put_cell(p, neo_arena_printf(p->a, "%d", k));
  neo_str_add(p->out, "<td>copy</td><td></td><td></td>");
  put_cell(p, neoc_bytes_text(p->a, bytes));
  put_cell(p, neoc_bytes_text(p->a, bytes));
  neo_str_add(p->out, "<td></td><td></td><td></td></tr>\n");
}

static void put_steps(page *p, const neo_rt_entry *e) {
  double total = page_entry_seconds(p, e);
  neo_str_add(p->out,
              "<table class=\"steps\"><thead><tr><th>step</th><th>kernel</th><th>from line</th>"
              "<th>writes</th><th>bytes read</th><th>written</th><th>operations</th>"
              "<th>");
  neo_str_add(p->out, page_is_measured(p, e) ? "measured" : "time");
  neo_str_add(p->out, "</th><th>share</th></tr></thead><tbody>\n");
  for (int32_t k = 0; k < e->n_steps; k++)
    if (page_step_group(p, e, k) < 0)
      put_copy(p, e, k);
    else
      put_run(p, e, k, total);
  neo_str_add(p->out, "</tbody></table>\n");
}

/* ---- entries */

/* "memory at B = 48, T = 7" */
static const char *sizes_text(const page *p) {
  neo_str s = neo_str_in(p->a);
  for (int32_t k = 0; k < neo_rti_call_sizes(&p->model); k++)
    neo_str_addf(&s, "%s%s = %lld", k ? ", " : "memory at ", p->model.sizes[k].name,
                 (long long)p->sizes[k]);
  return neo_str_text(&s);
}

static void put_entry_tiles(page *p, const neo_rt_entry *e) {
  double traffic = 0, work = 0;
  size_t runs = 0;
  for (int32_t k = 0; k < e->n_steps; k++) {
    int32_t g = page_step_group(p, e, k);
    const neo_group *x = g < 0 ? NULL : &p->c->grouping.groups.at[g];
    bool runs_kernel = p->c->plan->steps.at[e->first_step + k].op == NEO_RT_STEP_RUN;
    if (!x || x->cached)
      continue;
    runs += runs_kernel;
    if (!page_step_is_first(p, e, k))
      continue;
    traffic += x->cost.read_bytes + x->cost.written_bytes;
    work += x->cost.work + x->cost.products;
  }
  neo_str_add(p->out, "<div class=\"tiles\">");
  put_count_tile(p, runs, "kernels run");
  put_bytes_tile(p, (int64_t)traffic, "traffic");
  put_tile(p, page_count(p, work), "operations");
  put_tile(p, page_seconds(p, page_entry_seconds(p, e)),
           page_is_measured(p, e) ? "measured in kernels" : "model's time");
  if (page_is_measured(p, e))
    put_tile(p, page_seconds(p, p->measured_entry[e - p->c->plan->entries.at]), "measured in all");
  put_bytes_tile(p, e->frame_bytes, "planned memory");
  if (p->sizes && e->n_places)
    put_bytes_tile(p, neo_rti_frame_bytes(&p->model, e, p->sizes), sizes_text(p));
  put_bytes_tile(p, e->lower_bound_bytes, "lower bound");
  neo_str_add(p->out, "</div>\n");
}

static const char *kind_text(const neo_rt_entry *e) {
  switch (e->kind) {
  case NEO_RT_ENTRY_TRAIN:
    return "one training step";
  case NEO_RT_ENTRY_GRAD:
    return "gradients";
  case NEO_RT_ENTRY_INIT:
    return "initial values, when a context is created or reset";
  default:
    return "outputs";
  }
}

static void put_entry(page *p, const neo_rt_entry *e) {
  bool main = e == p->entry;
  neoc_html_open(p->out, "section", "class", "entry", "id",
                 neo_arena_printf(p->a, "entry-%s", e->name), NULL);
  neoc_html_open(p->out, "details", "open", main ? "open" : NULL, NULL);
  neoc_html_open(p->out, "summary", NULL);
  neoc_html_leaf(p->out, "h2", e->name, NULL);
  neoc_html_leaf(p->out, "span", kind_text(e), "class", "note", NULL);
  neoc_html_close(p->out, "summary");
  if (e->kind != NEO_RT_ENTRY_INIT) {
    put_entry_tiles(p, e);
    page_put_memory(p, e);
  }
  put_steps(p, e);
  neo_str_add(p->out, "</details></section>\n");
}

static void put_entries(page *p) {
  put_entry(p, p->entry);
  for (size_t k = 0; k < p->c->plan->entries.n; k++)
    if (&p->c->plan->entries.at[k] != p->entry)
      put_entry(p, &p->c->plan->entries.at[k]);
}

/* ---- the page */

static const char *target_text(const page *p) {
  const neo_target *t = &p->c->target;
  return t->sm ? neo_arena_printf(p->a, "NVIDIA GPU, %s", t->level)
               : neo_arena_printf(p->a, "%s, %s", t->triple, t->level);
}

static void put_navigation(page *p) {
  neo_str_add(p->out, "<nav>");
  for (size_t k = 0; k < p->c->plan->entries.n; k++) {
    const char *name = p->c->plan->entries.at[k].name;
    neoc_html_link(p->out, neo_arena_printf(p->a, "#entry-%s", name), name);
  }
  if (p->c->networks.n)
    neoc_html_link(p->out, "#networks", "Networks");
  neo_str_add(p->out, "<a href=\"#groups\">Groups</a><a href=\"#kernels\">Kernels</a>"
                      "<a href=\"#decisions\">Decisions</a></nav>\n");
}

static void put_header(page *p) {
  const neo_plan *plan = p->c->plan;
  neo_str_add(p->out, "<header>");
  neoc_html_leaf(p->out, "h1", neo_name_text(p->c->module->names, p->c->module->name), NULL);
  neoc_html_leaf(p->out, "span", target_text(p), "class", "note", NULL);
  for (size_t k = 0; k < plan->sizes.n; k++) {
    const neo_rt_size *s = &plan->sizes.at[k];
    neoc_html_leaf(
        p->out, "span",
        neo_arena_printf(p->a, "%lld <= %s <= %lld", (long long)s->lo, s->name, (long long)s->hi),
        "class", "tag", NULL);
  }
  put_navigation(p);
  neo_str_add(p->out, "</header>\n");
}

static void put_model_tiles(page *p) {
  const neo_plan *plan = p->c->plan;
  neo_str_add(p->out, "<div class=\"tiles\">");
  put_count_tile(p, p->c->grouping.groups.n, "groups");
  put_count_tile(p, plan->kernels.n, "kernels");
  put_count_tile(p, plan->entries.n - 1, "entries");
  put_bytes_tile(p, plan->param_bytes, "parameters");
  put_bytes_tile(p, plan->state_bytes, "state");
  put_bytes_tile(p, plan->cached_bytes, "cached between calls");
  put_bytes_tile(p, plan->frame_bytes, "largest frame");
  put_bytes_tile(p, plan->scratch_bytes, "scratch per thread");
  neo_str_add(p->out, "</div>\n");
  neoc_html_leaf(
      p->out, "p",
      p->measured_step
          ? "Bytes and operations are at the largest sizes; times are those of the trace, "
            "at the sizes that it ran with: of each step the median over the calls. An "
            "entry that the trace does not have shows the times of fusion's model."
          : "All figures are at the largest sizes. Times are those of the model by which "
            "fusion compares ways: they tell which kernels weigh most, not how long one "
            "takes on a machine, which --trace says.",
      "class", "note", NULL);
}

static void put_grids(page *p) {
  neo_str s = neo_str_in(p->a);
  neoc_explain_grids(p->c->plan, &s);
  if (!s.n)
    return;
  neo_str_add(p->out, "<section id=\"grids\"><h2>Launches</h2>\n");
  neoc_html_leaf(p->out, "pre", neo_str_text(&s), NULL);
  neo_str_add(p->out, "</section>\n");
}

static void put_page(page *p) {
  neo_str_add(p->out, "<!DOCTYPE html>\n<html lang=\"en\" "
                      "xmlns=\"http://www.w3.org/1999/xhtml\"><head>\n<meta charset=\"utf-8\"/>\n"
                      "<meta name=\"viewport\" content=\"width=device-width\"/>\n");
  neoc_html_leaf(p->out, "title", neo_name_text(p->c->module->names, p->c->module->name), NULL);
  neo_str_addf(p->out, "\n<style>\n%s</style></head>\n<body>\n", neoc_text_page_css);
  put_header(p);
  neo_str_add(p->out, "<div id=\"columns\">\n");
  page_put_source(p);
  neo_str_add(p->out, "<main>\n");
  put_model_tiles(p);
  put_entries(p);
  page_put_networks(p);
  put_grids(p);
  page_put_groups(p);
  page_put_kernels(p);
  page_put_decisions(p);
  neo_str_addf(p->out, "</main></div>\n<script>\n%s</script>\n</body></html>\n", neoc_text_page_js);
}

neo_status neoc_explain_page(neoc_cli *cli, neo_compilation *c, const int64_t *sizes,
                             neo_str *out) {
  page p = {.c = c, .a = cli->arena, .out = out, .model = neo_compile_model(c), .sizes = sizes};
  const char *trace = neoc_text(cli, NEOC_O_TRACE, NULL);
  neo_status read = trace ? page_read_trace(&p, trace, &c->why) : NEO_OK;
  if (read)
    return read;
  page_find_facts(&p);
  put_page(&p);
  return NEO_OK;
}

neo_status neoc_explain_html(neoc_cli *cli, neo_compilation *c, const int64_t *sizes,
                             const char *path) {
  neo_str out = neo_str_in(cli->arena);
  neo_status s = neoc_explain_page(cli, c, sizes, &out);
  if (s)
    return s;
  s = neo_file_write(&neo_io_default, path, neo_str_text(&out), out.n);
  if (s)
    c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(errno));
  return s;
}

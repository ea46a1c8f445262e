/* Facts about groups that the page alone needs: the source lines that a group comes from, its
 * decisions, its share of the main entry's time. A group's time is divided evenly among its
 * definitions; a line has the time of the definitions on it, and of all definitions that its calls
 * lead to. */
#include "tools/neoc/explain/page.h"

const char *page_tensor_name(const page *p, neo_tensor t) {
  return neo_tensor_name(p->c->module, t);
}

/* ---- lines */

static void add_line(page *p, page_group *g, neo_span span, double part) {
  neo_place at = neo_span_place(p->c->sources, span);
  for (size_t k = 0; k < g->lines.n; k++)
    if (g->lines.at[k].file == at.file_id && g->lines.at[k].line == at.line) {
      g->lines.at[k].part += part;
      return;
    }
  NEO_PUSH(p->a, &g->lines, (page_line){at.file_id, at.line, part});
}

static bool same_line(const page *p, neo_span a, neo_span b) {
  neo_place x = neo_span_place(p->c->sources, a), y = neo_span_place(p->c->sources, b);
  return x.file_id == y.file_id && x.line == y.line;
}

/* Adds the lines of the calls. A recursive function counts once for each line. */
static void add_calls(page *p, page_group *g, neo_span span, double part) {
  for (neo_span at = span; at; at = neo_span_caller(p->c->sources, at)) {
    bool before = false;
    for (neo_span x = span; x != at; x = neo_span_caller(p->c->sources, x))
      before = before || same_line(p, x, at);
    add_line(p, g, at, before ? 0 : part);
  }
}

/* Moves the model's lines before the library's, in a stable order. */
static void order_lines(page *p, page_group *g) {
  page_line *out = NEO_NEW_ARRAY(p->a, page_line, g->lines.n + 1);
  size_t n = 0;
  for (int library = 0; library < 2; library++)
    for (size_t k = 0; k < g->lines.n; k++)
      if ((g->lines.at[k].file != 0) == library)
        out[n++] = g->lines.at[k];
  g->lines.at = out;
}

static bool is_init(const neo_module *m, neo_def d) {
  neo_list out = neo_def_at(m, d)->out;
  return out.n == 1 && neo_tensor_at(m, neo_list_tensor(m, out, 0))->init.i == d.i;
}

static void find_lines(page *p, size_t g) {
  const neo_group *x = &p->c->grouping.groups.at[g];
  const neo_module *m = p->c->module;
  size_t known = 0;
  for (size_t k = 0; k < x->members.n; k++)
    known += neo_def_at(m, x->members.at[k].def)->span != 0;
  for (size_t k = 0; k < x->members.n; k++)
    add_calls(p, &p->group[g], neo_def_at(m, x->members.at[k].def)->span, 1.0 / (double)known);
  order_lines(p, &p->group[g]);
  p->group[g].init = x->members.n && is_init(m, x->members.at[0].def);
}

/* ---- decisions */

/* Whether the group computes the tensor. copies: also if it is recomputed inline. */
static bool has_tensor(const neo_module *m, const neo_group *g, neo_tensor t, bool copies) {
  for (size_t k = 0; k < g->members.n; k++) {
    neo_list out = neo_def_at(m, g->members.at[k].def)->out;
    for (uint32_t i = 0; i < out.n && (copies || g->members.at[k].place != NEO_PLACE_INLINE); i++)
      if (neo_list_at(m, out, i) == t.i)
        return true;
  }
  return false;
}

/* Whether a decision concerns the group: a copy concerns the groups that compute the value, also
 * inline; any other decision the groups that it names. */
static bool concerns(const neo_module *m, const neo_decision *d, const neo_group *g) {
  bool copies = d->verb == NEO_DECISION_COPY;
  bool any = has_tensor(m, g, d->of, copies);
  for (uint32_t k = 0; !copies && k < d->n_with; k++)
    any = any || has_tensor(m, g, d->with[k], false);
  return g->entry == d->entry && any;
}

static void find_decisions(page *p) {
  for (size_t k = 0; k < p->c->decisions.list.n; k++)
    for (size_t g = 0; g < p->c->grouping.groups.n; g++) {
      const neo_decision *d = &p->c->decisions.list.at[k];
      if (!p->group[g].init && concerns(p->c->module, d, &p->c->grouping.groups.at[g]))
        NEO_PUSH(p->a, &p->group[g].decisions, d);
    }
}

/* ---- time */

int32_t page_step_group(const page *p, const neo_rt_entry *e, int32_t k) {
  return p->c->plan->step_group.at[e->first_step + k];
}

bool page_is_measured(const page *p, const neo_rt_entry *e) {
  return p->measured_entry && p->measured_entry[e - p->c->plan->entries.at] > 0;
}

bool page_step_is_first(const page *p, const neo_rt_entry *e, int32_t k) {
  int32_t g = page_step_group(p, e, k);
  return k == 0 || page_step_group(p, e, k - 1) != g;
}

double page_step_seconds(const page *p, const neo_rt_entry *e, int32_t k) {
  int32_t g = page_step_group(p, e, k);
  if (page_is_measured(p, e))
    return p->measured_step[e->first_step + k];
  if (g < 0 || p->c->grouping.groups.at[g].cached || !page_step_is_first(p, e, k))
    return 0;
  return p->c->grouping.groups.at[g].cost.total_s;
}

double page_entry_seconds(const page *p, const neo_rt_entry *e) {
  double t = 0;
  for (int32_t k = 0; k < e->n_steps; k++)
    t += page_step_seconds(p, e, k);
  return t;
}

static void find_shares(page *p) {
  const neo_plan *plan = p->c->plan;
  p->entry = plan->entries.at;
  for (size_t k = plan->entries.n; k-- > 0;)
    if (plan->entries.at[k].kind == NEO_RT_ENTRY_TRAIN)
      p->entry = &plan->entries.at[k];
  double total = page_entry_seconds(p, p->entry);
  for (int32_t k = 0; total > 0 && k < p->entry->n_steps; k++) {
    int32_t g = page_step_group(p, p->entry, k);
    if (g < 0)
      continue;
    p->group[g].share += page_step_seconds(p, p->entry, k) / total;
    if (page_is_measured(p, p->entry))
      p->group[g].measured += page_step_seconds(p, p->entry, k);
  }
}

void page_find_facts(page *p) {
  size_t n = p->c->grouping.groups.n;
  p->group = NEO_NEW_ARRAY(p->a, page_group, n + 1);
  for (size_t g = 0; g < n; g++)
    find_lines(p, g);
  find_decisions(p);
  find_shares(p);
}

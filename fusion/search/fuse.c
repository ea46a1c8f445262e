/* Groups of a module: definitions that become one kernel (the search: search.h). */
#include "fusion/recurrence.h"
#include "fusion/search/search.h"

bool neo_fuse_caches(const neo_fuse_options *o) {
  return !o || (!(o->off >> NEO_FUSE_CACHE & 1) && o->memory == NEO_FUSE_FAST);
}

/* One for each definition. */
static void make_groups(fuser *q) {
  q->listed = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  q->found = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++) {
    fuse_group g = {0};
    fuse_def *d = &q->def[q->order[k]];
    const fuse_def *before = k ? &q->def[q->order[k - 1]] : NULL;
    bool joins = before && d->recurrence && before->recurrence == d->recurrence;
    if (!joins)
      NEO_PUSH(q->a, &q->groups, g);
    d->home = (uint32_t)q->groups.n;
    NEO_PUSH(q->a, &q->groups.at[q->groups.n - 1].members, q->order[k]);
  }
}

static void begin(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o,
                  const fuse_demand *of, neo_decisions *decisions) {
  *q = (fuser){.m = m, .a = a, .decisions = decisions, .off = o ? o->off : 0};
  q->entry = of->entry;
  q->program = of->program;
  q->consumers_join = o && o->consumers_join;
  q->recurrences = o ? o->recurrences : (neo_loop_options){0};
  q->profile = neo_profile_or_usual(o ? o->profile : NULL);
  q->caches = neo_fuse_caches(o) && !of->program;
  fuse_facts(q);
  make_groups(q);
  fuse_order(q);
  fuse_price(q, 0);
}

void fuse_begin(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o, uint32_t entry,
                neo_decisions *decisions) {
  begin(q, m, a, o, &(fuse_demand){.entry = entry}, decisions);
}

static void add_inits(fuser *q, neo_grouping *out) {
  for (uint32_t k = 1; k < q->m->tensors.n; k++) {
    if (!q->m->tensors.at[k].init.i)
      continue;
    neo_group g = {0};
    neo_member x = {q->m->tensors.at[k].init, NEO_PLACE_ROOT, NULL, false};
    NEO_PUSH(q->a, &g.members, x);
    neo_group_finish(q->m, q->a, &g);
    NEO_PUSH(q->a, &out->groups, g);
  }
}

/* Emits groups in their order; each may still join one that is finished. */
static void emit(fuser *q, neo_grouping *out) {
  q->made = out;
  q->first_made = (uint32_t)out->groups.n;
  if (!q->entry && !q->program)
    add_inits(q, out);
  for (size_t at = 0; at < q->n_order; at++) {
    uint32_t g = q->by_place[at];
    if (!g || !q->groups.at[g - 1].members.n)
      continue;
    neo_group made = fuse_group_of(q, &q->groups.at[g - 1]);
    if (made.cached)
      fuse_record(q, &(neo_decision){.verb = NEO_DECISION_CACHE, .of = made.roots.at[0]});
    NEO_PUSH(q->a, &out->groups, made);
    fuse_in_order(q, FUSE_LAST, (uint32_t)out->groups.n - 1);
  }
}

/* ---- memory */

/* The position of the last definition that evaluates d or a copy of it. */
static uint32_t last_place(fuser *q, uint32_t d) {
  uint32_t last = q->def[d].at;
  if (q->seen[d] == q->walk)
    return last;
  q->seen[d] = q->walk;
  for (size_t k = 0; k < q->def[d].readers.n; k++) {
    fuse_edge e = q->def[d].readers.at[k];
    uint32_t at = fuse_read_of(q, e)->copied ? last_place(q, e.def) : q->def[e.def].at;
    last = at > last ? at : last;
  }
  return last;
}

/* Bytes of forward or recomputed tensors that the backward pass reads, without results of entries:
 * the most at any time. */
static double saved_bytes(fuser *q) {
  double *change = NEO_NEW_ARRAY(q->a, double, q->n_order + 2), now = 0, most = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    double bytes = fuse_saved_bytes(q, q->order[k]);
    if (bytes <= 0)
      continue;
    q->walk++;
    change[k] += bytes;
    change[last_place(q, q->order[k]) + 1] -= bytes;
  }
  for (size_t k = 0; k < q->n_order; k++) {
    now += change[k];
    most = now > most ? now : most;
  }
  return most;
}

/* Reports that the limit cannot be met, with the largest saved tensors. */
static void report_limit(fuser *q, uint32_t entry, int64_t most) {
  const neo_module *m = q->m;
  double largest = 0;
  neo_tensor of = {0};
  if (!m->diags || !entry)
    return;
  for (size_t k = 0; k < q->n_order; k++) {
    double bytes = fuse_saved_bytes(q, q->order[k]);
    of = bytes > largest ? fuse_out(q, q->order[k], 0) : of;
    largest = bytes > largest ? bytes : largest;
  }
  const neo_entry_rec *e = &m->entries.at[entry - 1];
  int h = neo_diag(m->diags, e->span, NEO_D_MEMORY_LIMIT, neo_name_text(m->names, e->name),
                   saved_bytes(q), (long long)most);
  if (of.i)
    neo_diag_note(m->diags, h, "%.0f bytes of them are %s", largest, neo_tensor_name(m, of));
}

static bool has_backward(const fuser *q) {
  bool has = false;
  for (size_t k = 0; k < q->n_order && !has; k++)
    has = q->def[q->order[k]].backward;
  return has;
}

/* Searches with a price on saved activations, which makes groups recompute more: the lowest price
 * at which the rest fits, or else the highest. */
static void search(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o,
                   const fuse_demand *of, neo_decisions *decisions) {
  static const double prices[] = {0, 3e-12, 1e-11, 3e-11, 1e-10, 3e-10, 1e-9, 1e-8, 1e-6};
  enum { N = sizeof prices / sizeof *prices };
  int64_t most = o ? o->memory : NEO_FUSE_FAST;
  for (int k = most == NEO_FUSE_SMALL ? N - 1 : 0; k < N; k++) {
    size_t mark = decisions ? decisions->list.n : 0;
    begin(q, m, a, o, of, decisions);
    fuse_price(q, has_backward(q) ? prices[k] : 0);
    for (uint32_t g = 0; g < q->groups.n; g++)
      fuse_in_order(q, FUSE_FIRST, g);
    fuse_greedy(q);
    bool fits = most <= 0 || saved_bytes(q) <= (double)most;
    if (!fits && k + 1 == N)
      report_limit(q, of->entry, most);
    if (fits || k + 1 == N)
      return;
    if (decisions)
      decisions->list.n = mark;
  }
}

/* ---- entries */

static void fuse_for(neo_module *m, neo_arena *a, const neo_fuse_options *o, const fuse_demand *of,
                     neo_grouping *out, neo_decisions *decisions) {
  fuser q;
  search(&q, m, a, o, of, decisions);
  emit(&q, out);
}

/* Groups what the roots need: nothing is cached between calls, and no initial values are made. */
static neo_status fuse_program(neo_module *m, neo_arena *a, const neo_program *program,
                               const neo_fuse_options *o, neo_grouping *out) {
  *out = (neo_grouping){.m = m};
  fuse_for(m, a, o, &(fuse_demand){.program = program}, out, NULL);
  return NEO_OK;
}

/* ---- segments of recurrences
 *
 * A segment is a program whose results are the slices that it stores. Its groups have the
 * recurrence's conditions, read the guard of its iterations, and add up in the order of axes where
 * rows run alone. */

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_fuse_options options;
  const neo_group *of;
  NEO_VEC(neo_expr) asked; /* guards around the current segment */
} segments;

/* Adds reads of the guards around to kernels that test whether they run. */
static void finish(const segments *x, neo_group *g, bool always, bool in_order) {
  for (size_t k = 0; k < x->of->when.n && !always; k++)
    neo_group_needed_where(x->m, x->a, g, x->of->when.at[k]);
  for (size_t k = 0; k < x->asked.n && x->options.recurrences.predicated; k++)
    neo_group_read_too(x->m, x->a, g, x->asked.at[k]);
  if (!in_order)
    return;
  g->in_order = true;
  g->form = NULL; /* form, which depends on them */
}

static neo_status fuse_segment(const segments *x, neo_recurrence_segment *s, bool in_order) {
  neo_program program = {s->defs.at, s->defs.n, s->roots.at, s->roots.n, s->when.at};
  neo_grouping all;
  neo_status status = fuse_program(x->m, x->a, &program, &x->options, &all);
  for (size_t k = 0; k < all.groups.n && !status; k++) {
    finish(x, &all.groups.at[k], s->always, in_order);
    NEO_PUSH(x->a, &s->groups, all.groups.at[k]);
  }
  return status;
}

static neo_status fuse_tree(segments *x, const neo_tree *t, bool in_order) {
  neo_status status = NEO_OK;
  size_t n_asked = x->asked.n;
  if (t->kind == NEO_TREE_LEAF)
    return fuse_segment(x, &x->of->recurrence->segments.at[t->leaf.number], in_order);
  if (t->kind == NEO_TREE_BAND && t->band.rows.first.i && t->band.rows.range != NEO_BLOCKS_WHOLE)
    in_order = t->band.rows.range == NEO_BLOCKS_SERIAL;
  if (neo_recurrence_asks(x->m, t))
    NEO_PUSH(x->a, &x->asked, t->condition);
  for (size_t k = 0; k < t->children.n && !status; k++)
    status = fuse_tree(x, t->children.at[k], in_order);
  x->asked.n = n_asked;
  return status;
}

static neo_status fuse_segments(neo_arena *a, const neo_fuse_options *o, neo_grouping *all) {
  segments x = {.m = all->m, .a = a, .options = o ? *o : (neo_fuse_options){0}};
  neo_status status = NEO_OK;
  x.options.off |= 1u << NEO_FUSE_CACHE | 1u << NEO_FUSE_GRID | 1u << NEO_FUSE_COLUMNS;
  for (size_t k = 0; k < all->groups.n && !status; k++) {
    x.of = &all->groups.at[k];
    if (x.of->recurrence)
      status = fuse_tree(&x, x.of->recurrence->tree.root, false);
  }
  return status;
}

neo_status neo_fuse_with(neo_module *m, neo_arena *a, const neo_fuse_options *o, neo_grouping *out,
                         neo_decisions *decisions) {
  *out = (neo_grouping){.m = m};
  fuse_for(m, a, o, &(fuse_demand){0}, out, decisions);
  for (size_t k = 0; k < m->entries.n; k++)
    if (neo_group_entry(m, &m->entries.at[k]))
      fuse_for(m, a, o, &(fuse_demand){.entry = (uint32_t)k + 1}, out, decisions);
  return fuse_segments(a, o, out);
}

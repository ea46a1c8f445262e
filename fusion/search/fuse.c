/* Groups of a module: which definitions become one kernel (search/search.h: how they are found). */
#include "fusion/search/search.h"
#include <assert.h>

static const struct {
  const char *text, *meaning;
} kinds[] = {
#define X(name, text, meaning) {text, meaning},
#include "fusion/kinds.def"
#undef X
};

const char *neo_fuse_kind_text(neo_fuse_kind k) {
  return kinds[k].text;
}

const char *neo_fuse_kind_meaning(neo_fuse_kind k) {
  return kinds[k].meaning;
}

/* ---- the first state */

static void make_groups(fuser *q) {
  q->listed = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  q->found = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++) {
    fuse_group g = {0};
    NEO_PUSH(q->a, &g.members, q->order[k]);
    NEO_PUSH(q->a, &q->groups, g);
    q->def[q->order[k]].home = (uint32_t)q->groups.n;
  }
}

void fuse_price(fuser *q, double price) {
  fuse_parts p;
  const char *why;
  q->price = price;
  for (size_t k = 0; k < q->groups.n; k++) {
    fuse_group *g = &q->groups.at[k];
    if (fuse_parts_of(q, g->members.at, g->members.n, &p, &why))
      g->cost = fuse_cost(q, &p);
  }
}

bool neo_fuse_caches(const neo_fuse_options *o) {
  return !o || (!(o->off >> NEO_FUSE_CACHE & 1) && o->memory == NEO_FUSE_FAST);
}

void fuse_begin(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o, uint32_t entry,
                neo_str *explain) {
  *q = (fuser){.m = m, .a = a, .explain = explain, .entry = entry, .off = o ? o->off : 0};
  q->profile = o && o->profile ? o->profile : neo_profile_of(32);
  q->caches = neo_fuse_caches(o);
  fuse_facts(q);
  make_groups(q);
  fuse_order(q);
  fuse_price(q, 0);
}

double fuse_total(const fuser *q) {
  double t = 0;
  for (size_t k = 0; k < q->groups.n; k++)
    t += q->groups.at[k].cost;
  return t;
}

/* ---- the last state as groups */

static const int8_t *shared_of(fuser *q, const fuse_parts *p, uint32_t k) {
  bool first = true;
  for (uint32_t s = 0; s < p->n_shared; s++)
    first = first && p->shared[k][s] == (int8_t)s;
  return first ? NULL : neo_arena_copy(q->a, p->shared[k], sizeof p->shared[k]);
}

neo_group fuse_group_of(fuser *q, const fuse_group *x) {
  neo_group g = {.entry = q->entry};
  fuse_parts p;
  const char *why;
  bool ok = fuse_parts_of(q, x->members.at, x->members.n, &p, &why);
  assert(ok && "groups have a form");
  (void)ok;
  g.cached = fuse_is_cached(q, &p);
  for (uint32_t k = 0; k < p.n; k++) {
    neo_member y = {{p.def[k]}, NEO_PLACE_INLINE, NULL, false};
    if (p.member[k]) {
      y.place = fuse_leaves(q, &p, k) ? NEO_PLACE_ROOT : NEO_PLACE_REGISTER;
      y.shared = shared_of(q, &p, k);
    }
    NEO_PUSH(q->a, &g.members, y);
  }
  g.cost = fuse_cost_of(q, &p);
  neo_group_finish(q->m, q->a, &g);
  return g;
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

static void emit(fuser *q, neo_grouping *out) {
  size_t first = out->groups.n;
  if (!q->entry)
    add_inits(q, out);
  for (size_t at = 0; at < q->n_order; at++) {
    uint32_t g = q->by_place[at];
    if (!g || !q->groups.at[g - 1].members.n)
      continue;
    neo_group made = fuse_group_of(q, &q->groups.at[g - 1]);
    if (made.cached && q->explain)
      neo_str_addf(q->explain, "cache %s between calls\n", made.name);
    if (!fuse_columns(q, out, first, &made))
      NEO_PUSH(q->a, &out->groups, made);
  }
}

/* ---- memory */

/* Bytes of tensors that are made forward and read backward, but for what entries return. */
static double kept_bytes(fuser *q) {
  double n = 0;
  for (size_t k = 0; k < q->n_order; k++)
    n += fuse_saved_bytes(q, q->order[k]);
  return n;
}

/* With a price on what is kept, more is computed again: the lowest of these with which the rest
 * fits is taken. */
static void search(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o, uint32_t entry,
                   neo_str *explain) {
  static const double prices[] = {0, 3e-12, 1e-11, 3e-11, 1e-10, 3e-10, 1e-9, 1e-8, 1e-6};
  enum { N = sizeof prices / sizeof *prices };
  int64_t most = o ? o->memory : NEO_FUSE_FAST;
  for (int k = most == NEO_FUSE_SMALL ? N - 1 : 0; k < N; k++) {
    size_t mark = explain ? explain->n : 0;
    fuse_begin(q, m, a, o, entry, explain);
    fuse_price(q, prices[k]);
    fuse_nested(q);
    fuse_greedy(q);
    if (most <= 0 || kept_bytes(q) <= (double)most || k + 1 == N)
      return;
    if (explain && explain->at)
      explain->at[explain->n = mark] = 0;
  }
}

/* ---- entries */

uint32_t neo_group_entry(const neo_module *m, const neo_entry_rec *e) {
  return e->kind == NEO_ENTRY_TRAIN ? (uint32_t)(e - m->entries.at) + 1 : 0;
}

static void fuse_entry(neo_module *m, neo_arena *a, const neo_fuse_options *o, uint32_t entry,
                       neo_grouping *out, neo_str *explain) {
  fuser q;
  if (explain && entry)
    neo_str_addf(explain, "in %s:\n", neo_name_text(m->names, m->entries.at[entry - 1].name));
  search(&q, m, a, o, entry, explain);
  emit(&q, out);
}

neo_status neo_fuse_with(neo_module *m, neo_arena *a, const neo_fuse_options *o, neo_grouping *out,
                         neo_str *explain) {
  *out = (neo_grouping){.m = m};
  fuse_entry(m, a, o, 0, out, explain);
  for (size_t k = 0; k < m->entries.n; k++)
    if (neo_group_entry(m, &m->entries.at[k]))
      fuse_entry(m, a, o, (uint32_t)k + 1, out, explain);
  return NEO_OK;
}

neo_status neo_fuse(neo_module *m, neo_arena *a, neo_grouping *out, neo_str *explain) {
  return neo_fuse_with(m, a, NULL, out, explain);
}

/* Storage coalescing of concatenations (concat.h): chooses the parts, and rewrites their groups. A
 * tensor may be a part if it is temporary and every group that makes or reads it has a form, runs
 * in each call, and is unconditional. Nested concatenations: the outermost one gets its parts
 * first, so that a part of both has one position in memory.
 *
 * Entries have their own groups. A concatenation has the same parts in all entries that compute it,
 * since no other kernel may write their memory. Where entries concatenate differently, such as
 * training and evaluation, a tensor may be part of several concatenations with the same layout. */
#include "fusion/concat.h"
#include "fusion/form/steps.h"
#include "ir/define.h"
#include "ir/store.h"

typedef NEO_VEC(size_t) group_list;

typedef struct { /* a concatenation and its group */
  size_t group, member;
  neo_concat c;
} found_concat;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const neo_profile *profile;
  neo_grouping *all;
  bool *fixed;         /* by tensor: cannot be a part */
  bool *split;         /* by tensor: consists of parts */
  group_list *writers; /* by tensor */
  uint64_t
      *entries; /* by group: entries that need it, as bits; bit 63 stands for all further ones */
  NEO_VEC(found_concat) found;
} coalescer;

static neo_group *group_at(const coalescer *x, size_t g) {
  return &x->all->groups.at[g];
}

static bool is_simple(const neo_group *g) {
  return neo_group_has_form(g) && !g->cached && !g->when.n;
}

/* ---- constraints on memory */

static bool is_plain(const neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  return r->role == NEO_ROLE_TEMP && !r->partial && !r->terms && !r->rows.i && !r->moves &&
         !r->least.i && !r->below.i && !r->offsets.i;
}

static void fix_all(coalescer *x, const neo_tensor *at, size_t n) {
  for (size_t k = 0; k < n; k++)
    x->fixed[at[k].i] = true;
}

static void fix_list(coalescer *x, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    x->fixed[neo_list_at(x->m, l, k)] = true;
}

static void find_fixed(coalescer *x) {
  for (uint32_t t = 1; t < x->m->tensors.n; t++)
    x->fixed[t] = !is_plain(x->m, (neo_tensor){t});
  for (size_t k = 0; k < x->m->entries.n; k++) {
    fix_list(x, x->m->entries.at[k].outputs);
    fix_list(x, x->m->entries.at[k].updates);
  }
  for (size_t g = 0; g < x->all->groups.n; g++) {
    const neo_group *y = group_at(x, g);
    for (size_t k = 0; k < y->roots.n; k++)
      NEO_PUSH(x->a, &x->writers[y->roots.at[k].i], g);
    if (is_simple(y))
      continue;
    fix_all(x, y->roots.at, y->roots.n);
    fix_all(x, y->reads.at, y->reads.n);
  }
}

/* ---- entries of groups */

static void need(coalescer *x, uint32_t number, uint64_t bit, neo_tensor t) {
  for (size_t k = 0; k < x->writers[t.i].n; k++) {
    size_t g = x->writers[t.i].at[k];
    if (group_at(x, g)->entry != number || x->entries[g] & bit)
      continue;
    x->entries[g] |= bit;
    for (size_t i = 0; i < group_at(x, g)->reads.n; i++)
      need(x, number, bit, group_at(x, g)->reads.at[i]);
  }
}

static void find_entries(coalescer *x) {
  for (size_t k = 0; k < x->m->entries.n; k++) {
    const neo_entry_rec *e = &x->m->entries.at[k];
    const neo_list all[] = {e->outputs, e->updates};
    for (int i = 0; i < 2; i++)
      for (uint32_t t = 0; t < all[i].n; t++)
        need(x, neo_group_entry(x->m, e), 1ULL << (k < 63 ? k : 63),
             neo_list_tensor(x->m, all[i], t));
  }
}

/* ---- finding concatenations */

static bool is_own(const neo_module *m, neo_expr e, const void *group) {
  const neo_node *n = neo_expr_node(m, e);
  const neo_group *g = group;
  for (size_t k = 0; k < g->members.n && neo_node_is_load(n); k++) {
    neo_list out = neo_def_at(m, g->members.at[k].def)->out;
    for (uint32_t i = 0; i < out.n; i++)
      if (neo_list_at(m, out, i) == n->attr)
        return true;
  }
  return false;
}

/* Does a part need results of the group itself? */
static bool needs_group(const coalescer *x, const neo_group *g, const neo_concat *c) {
  bool needs = false;
  for (size_t k = 0; k < c->parts.n && !needs; k++)
    needs = neo_expr_any(x->m, c->parts.at[k].value, is_own, g);
  return needs;
}

static bool is_selection(const coalescer *x, const neo_member *y) {
  const neo_def_rec *d = neo_def_at(x->m, y->def);
  return d->reducer == NEO_RED_NONE && d->finish.n == 1 &&
         neo_expr_node(x->m, neo_list_expr(x->m, d->finish, 0))->op == NEO_OP_SELECT;
}

/* Do the other members of the group have the same shared axes, if there are any? */
static bool preserves_axes(const coalescer *x, const neo_group *g) {
  uint32_t all = UINT32_MAX, left = UINT32_MAX;
  for (size_t k = 0; k < g->members.n; k++) {
    const neo_member *y = &g->members.at[k];
    uint32_t n = neo_def_at(x->m, y->def)->n_out;
    if (y->place == NEO_PLACE_INLINE)
      continue;
    all = n < all ? n : all;
    left = n < left && !is_selection(x, y) ? n : left;
  }
  return left == UINT32_MAX || left == all;
}

static void find_concats(coalescer *x) {
  for (size_t g = 0; g < x->all->groups.n; g++) {
    const neo_group *y = group_at(x, g);
    if (!is_simple(y) || !preserves_axes(x, y))
      continue;
    for (size_t k = 0; k < y->members.n; k++) {
      found_concat f = {.group = g, .member = k};
      if (neo_concat_of(x->p, x->a, y, k, &f.c) && is_plain(x->m, f.c.out) &&
          !needs_group(x, y, &f.c))
        NEO_PUSH(x->a, &x->found, f);
    }
  }
}

/* ---- deciding */

static bool is_equal(neo_module *m, neo_expr a, neo_expr b) {
  neo_linear x, y, d;
  return neo_linear_of(m, a, &x) && neo_linear_of(m, b, &y) && neo_linear_add(&x, -1, &y, &d) &&
         !d.n && !d.constant;
}

/* Has the part's tensor the position in its memory that the concatenation wants? Memory of equal
 * extents matches. */
static bool has_same_layout(coalescer *x, neo_tensor out, const neo_concat_part *part) {
  neo_module *m = x->m;
  neo_expr zero = neo_const_i64(m, 0);
  neo_tensor is = neo_tensor_store(m, part->from), to = neo_tensor_store(m, out);
  for (uint32_t k = 0; k < neo_tensor_rank(m, out); k++)
    if (!is_equal(m, neo_tensor_extent(m, is, k), neo_tensor_extent(m, to, k)) ||
        !is_equal(m, neo_store_index(m, part->from, k, zero),
                  neo_store_index(m, out, k, part->lo[k])))
      return false;
  return true;
}

/* Is it a part of another concatenation in an entry that runs this group? */
static bool is_elsewhere(const coalescer *x, const found_concat *f, neo_tensor t) {
  neo_tensor to = neo_tensor_store(x->m, f->c.out);
  for (size_t k = 0; k < x->found.n; k++) {
    const found_concat *other = &x->found.at[k];
    if (neo_tensor_store(x->m, other->c.out).i == to.i ||
        !(x->entries[other->group] & x->entries[f->group]))
      continue;
    for (size_t i = 0; i < other->c.parts.n; i++)
      if (other->c.parts.at[i].lies && other->c.parts.at[i].from.i == t.i)
        return true;
  }
  return false;
}

static bool has_part(const neo_concat *c, neo_tensor t) {
  for (size_t k = 0; k < c->parts.n; k++)
    if (c->parts.at[k].from.i == t.i)
      return true;
  return false;
}

static bool is_made_in(const coalescer *x, neo_tensor t, uint32_t entry) {
  for (size_t k = 0; k < x->writers[t.i].n; k++)
    if (group_at(x, x->writers[t.i].at[k])->entry == entry)
      return true;
  return false;
}

static bool may_be_part(const coalescer *x, neo_tensor out, neo_tensor t) {
  if (!t.i || x->fixed[t.i] || !x->writers[t.i].n)
    return false;
  for (size_t k = 0; k < x->found.n; k++) {
    const found_concat *f = &x->found.at[k];
    if (f->c.out.i == out.i && is_made_in(x, t, group_at(x, f->group)->entry) &&
        !has_part(&f->c, t))
      return false;
  }
  return true;
}

static bool coalesces(coalescer *x, const found_concat *f, const neo_concat_part *part) {
  neo_tensor t = part->from;
  return may_be_part(x, f->c.out, t) &&
         (!neo_tensor_at(x->m, t)->within.i ||
          (has_same_layout(x, f->c.out, part) && !is_elsewhere(x, f, t)));
}

/* Seconds saved: parts are neither read nor written, but each copied part takes a kernel. `placed`:
 * parts are chosen. */
static double saved_s(coalescer *x, const found_concat *f, bool placed) {
  double whole = neo_most_bytes(x->m, f->c.out), bytes = 0, copies = 0;
  for (size_t k = 0; k < f->c.parts.n; k++) {
    const neo_concat_part *part = &f->c.parts.at[k];
    bool lies = placed ? part->lies : coalesces(x, f, part);
    bytes += lies ? 2 * neo_most_bytes(x->m, part->from) : 0;
    copies += !lies;
  }
  return bytes == 0 ? -1
                    : neo_profile_traffic(x->profile, bytes, whole) / x->profile->workers +
                          x->profile->launch_s * (1 - copies);
}

/* Can every group that computes it leave that to parts? */
static bool can_split(coalescer *x, neo_tensor out) {
  size_t n = 0;
  double saved = 0;
  for (size_t k = 0; k < x->found.n; k++)
    if (x->found.at[k].c.out.i == out.i) {
      n++;
      saved += saved_s(x, &x->found.at[k], false);
    }
  return n == x->writers[out.i].n && saved >= 0;
}

static void place_parts(coalescer *x, found_concat *f) {
  for (size_t k = 0; k < f->c.parts.n; k++) {
    neo_concat_part *part = &f->c.parts.at[k];
    part->lies = coalesces(x, f, part);
    if (part->lies && !neo_tensor_at(x->m, part->from)->within.i)
      neo_store_within(x->m, part->from, f->c.out, part->lo);
  }
}

static void decide(coalescer *x) {
  for (size_t k = x->found.n; k-- > 0;) {
    found_concat *f = &x->found.at[k];
    if (!x->split[f->c.out.i] && !can_split(x, f->c.out))
      continue;
    x->split[f->c.out.i] = true;
    place_parts(x, f);
  }
}

/* ---- memory */

/* Does one of its parts belong to another concatenation, or the reverse, with the same layout? */
static bool shares_part(const coalescer *x, neo_tensor out) {
  for (size_t k = 0; k < x->found.n; k++) {
    const neo_concat *c = &x->found.at[k].c;
    for (size_t i = 0; i < c->parts.n; i++) {
      uint32_t in = neo_tensor_at(x->m, c->parts.at[i].from)->within.i;
      if (c->parts.at[i].lies && (c->out.i == out.i) != (in == out.i))
        return true;
    }
  }
  return false;
}

/* Bytes of the entry's temporaries at its peak, where parts of `separate` have their own memory. */
static double peak_of(coalescer *x, const bool *runs, neo_tensor separate) {
  neo_tensor *over = NEO_NEW_ARRAY(x->a, neo_tensor, x->m->tensors.n);
  for (size_t k = 0; k < x->found.n; k++) {
    const neo_concat *c = &x->found.at[k].c;
    neo_tensor to = neo_tensor_store(x->m, c->out);
    for (size_t i = 0; i < c->parts.n && runs[x->found.at[k].group] && c->out.i != separate.i;
         i++) {
      neo_tensor in = {0};
      if (c->parts.at[i].lies)
        in = neo_tensor_store(x->m, c->parts.at[i].from);
      if (in.i && in.i != to.i) /* they share memory here */
        over[to.i] = in;
    }
  }
  return neo_grouping_peak(x->m, x->a, x->all, runs, separate, over);
}

/* Is the increase of the entry's peak memory a smaller share than the decrease of its time? */
static bool is_worth(coalescer *x, neo_tensor out, uint64_t entry) {
  double saved = 0, total = 0;
  bool *runs = NEO_NEW_ARRAY(x->a, bool, x->all->groups.n + 1);
  for (size_t g = 0; g < x->all->groups.n; g++) {
    runs[g] = x->entries[g] & entry;
    total += runs[g] && !group_at(x, g)->cached ? group_at(x, g)->cost.total_s : 0;
  }
  for (size_t k = 0; k < x->found.n; k++)
    if (x->found.at[k].c.out.i == out.i && runs[x->found.at[k].group])
      saved += saved_s(x, &x->found.at[k], true);
  double separate = peak_of(x, runs, out);
  double within = peak_of(x, runs, (neo_tensor){0});
  return within <= separate || (within - separate) * total <= saved * separate;
}

/* The stored part that is computed first; 0: none. */
static neo_tensor first_part(const coalescer *x, neo_tensor out) {
  neo_tensor first = {0};
  for (uint32_t t = 1; t < x->m->tensors.n; t++)
    if (neo_tensor_at(x->m, (neo_tensor){t})->within.i == out.i &&
        (!first.i || x->writers[t].at[0] < x->writers[first.i].at[0]))
      first.i = t;
  return first;
}

/* Gives the part its own memory, from which it is copied. */
static void take_out(coalescer *x, neo_tensor out, neo_tensor part) {
  neo_tensor_rec *r = neo_tensor_at(x->m, part);
  r->within.i = 0;
  r->at = (neo_list){0};
  for (size_t k = 0; k < x->found.n; k++) {
    neo_concat *c = &x->found.at[k].c;
    for (size_t i = 0; i < c->parts.n && c->out.i == out.i; i++)
      c->parts.at[i].lies = c->parts.at[i].lies && c->parts.at[i].from.i != part.i;
  }
  x->split[out.i] = first_part(x, out).i != 0;
}

/* Copies early parts where that saves much: a concatenation is live from its first part on. */
static void weigh_memory(coalescer *x) {
  if (x->found.n)
    neo_grouping_find_over(x->m, x->all);
  for (size_t k = 0; k < x->found.n; k++) {
    neo_tensor out = x->found.at[k].c.out;
    uint64_t all = shares_part(x, out) ? 0 : x->entries[x->found.at[k].group];
    while (all && x->split[out.i])
      if (is_worth(x, out, all & -all))
        all &= all - 1;
      else
        take_out(x, out, first_part(x, out));
  }
  for (size_t g = 0; g < x->all->groups.n; g++)
    if (group_at(x, g)->over.i) { /* in-place results are found again for the new groups */
      group_at(x, g)->over.i = 0;
      neo_form_key(x->m, group_at(x, g), group_at(x, g)->key);
    }
}

/* ---- rewriting groups */

static void add_group(coalescer *x, neo_grouping *to, const neo_group *like, neo_def d) {
  neo_group g = {.entry = like->entry};
  NEO_PUSH(x->a, &g.members, ((neo_member){d, NEO_PLACE_ROOT, NULL, false}));
  neo_group_finish(x->m, x->a, &g);
  NEO_PUSH(x->a, &to->groups, g);
}

static neo_expr extent_of(neo_module *m, neo_expr lo, neo_expr hi) {
  neo_linear x, y, d;
  bool is = neo_linear_of(m, hi, &x) && neo_linear_of(m, lo, &y) && neo_linear_add(&x, -1, &y, &d);
  return is ? neo_linear_expr(m, &d) : neo_op2(m, NEO_OP_SUB, hi, lo);
}

/* A tensor with the elements of the part, within the concatenation. */
static neo_tensor define_part(coalescer *x, const found_concat *f, const neo_concat_part *part) {
  neo_module *m = x->m;
  neo_def id = group_at(x, f->group)->members.at[f->member].def;
  const neo_def_rec of = *neo_def_at(m, id);
  neo_def_rec d = neo_def_derived(m, id);
  uint32_t axes[NEO_CONCAT_RANK];
  neo_expr by[NEO_CONCAT_RANK];
  for (uint32_t k = 0; k < of.n_out; k++) {
    neo_axis_rec axis = *neo_def_axis(m, &of, k);
    axis.hi = extent_of(m, part->lo[k], part->hi[k]);
    axes[k] = neo_axis_add(m, axis).i;
    by[k] = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, k), part->lo[k]);
  }
  neo_expr value = neo_expr_subst_axes(m, part->value, by, of.n_out);
  d.n_out = of.n_out;
  d.axes = neo_list_new(m, axes, of.n_out);
  d.finish = neo_list_one(m, value.i);
  const neo_tensor_rec out = *neo_tensor_at(m, f->c.out);
  neo_temp t = {.prefix = "rest", .like = f->c.out, .type = (neo_type)out.type, .bound = out.bound};
  neo_tensor made = neo_temp_define(m, &t, d);
  neo_store_within(m, made, f->c.out, part->lo);
  return made;
}

/* Writes the groups that copy other parts, and the group that lists the parts. */
static void write_parts(coalescer *x, neo_grouping *to, const found_concat *f) {
  const neo_group *g = group_at(x, f->group);
  neo_group y = {.entry = g->entry, .in_parts = true};
  NEO_PUSH(x->a, &y.members, g->members.at[f->member]);
  for (size_t k = 0; k < f->c.parts.n; k++) {
    const neo_concat_part *part = &f->c.parts.at[k];
    neo_tensor t = part->from;
    if (!part->lies) {
      t = define_part(x, f, part);
      add_group(x, to, g, neo_tensor_piece(x->m, t, 0));
    }
    NEO_PUSH(x->a, &y.reads, t);
  }
  NEO_PUSH(x->a, &y.roots, f->c.out);
  y.name = neo_arena_printf(x->a, "%s", neo_tensor_name(x->m, f->c.out));
  NEO_PUSH(x->a, &to->groups, y);
}

static bool touches_part(const coalescer *x, const neo_group *g) {
  for (size_t k = 0; k < g->reads.n; k++)
    if (neo_tensor_at(x->m, g->reads.at[k])->within.i)
      return true;
  for (size_t k = 0; k < g->roots.n; k++)
    if (neo_tensor_at(x->m, g->roots.at[k])->within.i)
      return true;
  return false;
}

/* Writes the group without its concatenations. */
static void write_rest(coalescer *x, neo_grouping *to, size_t at) {
  neo_group g = *group_at(x, at);
  size_t roots = 0;
  bool *gone = NEO_NEW_ARRAY(x->a, bool, g.members.n + 1);
  for (size_t k = 0; k < x->found.n; k++)
    if (x->found.at[k].group == at && x->split[x->found.at[k].c.out.i])
      gone[x->found.at[k].member] = true;
  const neo_group all = g;
  g.members.at = NULL;
  g.members.n = g.members.cap = 0;
  for (size_t k = 0; k < all.members.n; k++)
    if (!gone[k]) {
      NEO_PUSH(x->a, &g.members, all.members.at[k]);
      roots += all.members.at[k].place == NEO_PLACE_ROOT;
    }
  if (g.members.n == all.members.n && !touches_part(x, &all)) {
    NEO_PUSH(x->a, &to->groups, all);
  } else if (roots) {
    neo_group_finish(x->m, x->a, &g);
    NEO_PUSH(x->a, &to->groups, g);
  }
}

static void write(coalescer *x) {
  neo_grouping out = {.m = x->m};
  size_t next = 0;
  for (size_t g = 0; g < x->all->groups.n; g++) {
    for (; next < x->found.n && x->found.at[next].group == g; next++)
      if (x->split[x->found.at[next].c.out.i])
        write_parts(x, &out, &x->found.at[next]);
    write_rest(x, &out, g);
  }
  *x->all = out;
}

void neo_grouping_coalesce(neo_module *m, neo_arena *a, const neo_profile *profile,
                           neo_grouping *all) {
  coalescer x = {.m = m, .a = a, .profile = profile, .all = all};
  x.p = neo_prover_new(m);
  x.profile = neo_profile_or_usual(profile);
  x.fixed = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  x.split = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  x.writers = NEO_NEW_ARRAY(a, group_list, m->tensors.n + 1);
  x.entries = NEO_NEW_ARRAY(a, uint64_t, all->groups.n + 1);
  find_fixed(&x);
  find_entries(&x);
  find_concats(&x);
  decide(&x);
  weigh_memory(&x);
  write(&x);
  neo_prover_free(x.p);
}

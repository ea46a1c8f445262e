/* Feasibility of a kernel: whether a set of definitions has a form (form.h; its cost:
 * search/cost.c).
 *
 * Shared axes are those of the members with the fewest output axes. Reductions have exactly these;
 * elementwise members may have more, their own axes ("rows"). A value that depends on a reduction
 * of the group ("late") is known at the current point of the shared axes only, and may be read
 * there alone. Other values may be read anywhere; they are computed again there. */
#include "fusion/search/search.h"

/* ---- parts: members and their copies */

typedef struct {
  fuser *q;
  fuse_parts *p;
  bool full;
} collector;

static void add_part(collector *c, uint32_t d, bool member) {
  fuser *q = c->q;
  if (fuse_is_part(q, d) || c->full)
    return;
  if (c->p->n == FUSE_MOST_PARTS) {
    c->full = true;
    return;
  }
  q->part_of[d] = q->now;
  c->p->member[c->p->n] = member;
  c->p->def[c->p->n++] = d;
}

/* Sorts the parts in the order of definitions, and numbers them. */
static void sort_parts(fuser *q, fuse_parts *p) {
  for (uint32_t i = 1; i < p->n; i++) {
    uint32_t d = p->def[i], j = i;
    bool member = p->member[i];
    for (; j && q->def[p->def[j - 1]].at > q->def[d].at; j--) {
      p->def[j] = p->def[j - 1];
      p->member[j] = p->member[j - 1];
    }
    p->def[j] = d;
    p->member[j] = member;
  }
  for (uint32_t k = 0; k < p->n; k++)
    q->part[p->def[k]] = k;
}

static bool collect(fuser *q, const uint32_t *members, size_t n, fuse_parts *p) {
  collector c = {q, p, false};
  q->now++;
  p->n = 0;
  for (size_t k = 0; k < n; k++)
    add_part(&c, members[k], true);
  for (uint32_t k = 0; k < p->n && !c.full; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    for (uint32_t i = 0; i < d->n_read; i++)
      if (d->read[i].copied)
        add_part(&c, d->read[i].from, false);
  }
  sort_parts(q, p);
  return !c.full;
}

/* ---- shared axes */

typedef struct {
  fuser *q;
  fuse_parts *p;
  uint32_t x;      /* member whose reads are followed */
  uint32_t budget; /* reads that may still be visited */
  const char *why;
} matcher;

/* Notes that shared axis s of member x is its own axis `axis`. False: another read contradicts. */
static bool fix_axis(matcher *c, uint32_t s, int axis) {
  int8_t *at = &c->p->shared[c->x][s];
  const fuse_def *d = &c->q->def[c->p->def[c->x]];
  if (axis < 0 || axis >= (int)d->n_out)
    return false;
  if (*at < 0)
    *at = (int8_t)axis;
  return *at == axis;
}

/* Follows the reads of part e, which member x evaluates at axis[k] (its own axes, -1: elsewhere)
 * for e's output axis k. */
static bool follow(matcher *c, uint32_t e, const int8_t *axis, uint32_t n_axes) {
  fuser *q = c->q;
  const fuse_def *d = &q->def[c->p->def[e]];
  for (uint32_t i = 0; i < d->n_read; i++) {
    const fuse_read *r = &d->read[i];
    if (!r->from || !fuse_is_part(q, r->from))
      continue;
    if (!c->budget--) {
      c->budget = 0;
      c->why = "too many reads of one another";
      return false;
    }
    int8_t at[NEO_DEF_AXES];
    for (uint32_t k = 0; k < r->rank && k < NEO_DEF_AXES; k++) {
      int a = r->axis[k];
      at[k] = a < 0 ? -1 : e == c->x ? (int8_t)a : (uint32_t)a < n_axes ? axis[a] : -1;
    }
    uint32_t y = q->part[r->from];
    if (!c->p->late[y] || !c->p->member[y]) {
      if (!follow(c, y, at, r->rank))
        return false;
      continue;
    }
    for (uint32_t s = 0; s < c->p->n_shared; s++)
      if (!fix_axis(c, s, at[c->p->shared[y][s]])) {
        c->why = "reads a result of the kernel at another element";
        return false;
      }
  }
  return true;
}

/* Gives axes that no read has fixed the first free ones. */
static void fix_rest(fuse_parts *p, uint32_t x) {
  uint64_t taken = 0;
  int8_t *at = p->shared[x];
  for (uint32_t s = 0; s < p->n_shared; s++)
    taken |= at[s] >= 0 ? 1ULL << at[s] : 0;
  for (uint32_t s = 0; s < p->n_shared; s++) {
    if (at[s] >= 0)
      continue;
    at[s] = 0;
    while (taken >> at[s] & 1)
      at[s]++;
    taken |= 1ULL << at[s];
  }
}

static bool distinct(const int8_t *at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < i; j++)
      if (at[i] == at[j])
        return false;
  return true;
}

static bool match_member(matcher *c, uint32_t base) {
  fuser *q = c->q;
  fuse_parts *p = c->p;
  const fuse_def *d = &q->def[p->def[c->x]];
  for (uint32_t s = 0; s < p->n_shared; s++)
    p->shared[c->x][s] = d->n_out == p->n_shared ? (int8_t)s : -1;
  if (!follow(c, c->x, NULL, 0))
    return false;
  fix_rest(p, c->x);
  c->why = "over other axes";
  if (!distinct(p->shared[c->x], p->n_shared))
    return false;
  for (uint32_t s = 0; s < p->n_shared; s++)
    if (fuse_out_extent(q, p->def[c->x], (uint32_t)p->shared[c->x][s]).i !=
        fuse_out_extent(q, p->def[base], s).i)
      return false;
  return true;
}

static void find_late(fuser *q, fuse_parts *p) {
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    p->late[k] = fuse_is_reduction(d);
    for (uint32_t i = 0; i < d->n_read && !p->late[k]; i++)
      p->late[k] =
          d->read[i].from && fuse_is_part(q, d->read[i].from) && p->late[q->part[d->read[i].from]];
  }
}

static bool match(fuser *q, fuse_parts *p, const char **why) {
  uint32_t base = UINT32_MAX;
  p->n_shared = UINT32_MAX;
  for (uint32_t k = 0; k < p->n; k++)
    if (p->member[k] && q->def[p->def[k]].n_out < p->n_shared) {
      p->n_shared = q->def[p->def[k]].n_out;
      base = k;
    }
  find_late(q, p);
  if (p->n_shared > FUSE_MOST_SHARED) {
    *why = "too many axes";
    return false;
  }
  for (uint32_t k = 0; k < p->n; k++) {
    matcher c = {q, p, k, 400, NULL};
    if (p->member[k] && !match_member(&c, base)) {
      *why = c.why;
      return false;
    }
  }
  return true;
}

/* ---- compatibility */

/* Is each part with its copies small enough? */
static bool small_enough(fuser *q, const fuse_parts *p) {
  uint32_t size[FUSE_MOST_PARTS];
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    bool copies = false;
    size[k] = d->size;
    for (uint32_t i = 0; i < d->n_read; i++)
      if (d->read[i].copied) {
        copies = true;
        size[k] += size[q->part[d->read[i].from]];
      }
    if (copies && size[k] > FUSE_MOST_SIZE)
      return false;
  }
  return true;
}

typedef struct {
  uint32_t members, sums, products, outs, accs;
  bool rows, alone, scans, ranged;
  bool early;     /* a member is not late */
  bool has_inner; /* the part has inner sums */
} census;

static census census_of(const fuser *q, const fuse_parts *p) {
  census c = {.ranged = true};
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    c.has_inner = c.has_inner || fuse_is_inner(q, p, k);
    if (!p->member[k])
      continue;
    c.members++;
    c.early = c.early || !p->late[k];
    c.outs += d->n_outs;
    c.accs += d->n_accs;
    c.sums += fuse_is_reduction(d);
    c.products += d->product;
    c.rows = c.rows || d->n_out > p->n_shared;
    c.alone = c.alone || d->lone || d->equation;
    c.scans = c.scans || d->scans;
    c.ranged = c.ranged && (d->ranged || !fuse_is_reduction(d));
  }
  return c;
}

static bool is_off(const fuser *q, neo_fuse_kind k) {
  return q->off >> k & 1;
}

/* The reason why members do not fit: reductions have the shared axes alone, and rows need a
 * reduction. */
static const char *misfit(const fuser *q, const fuse_parts *p, const census *c) {
  if (c->members < 2)
    return NULL;
  if (c->alone)
    return "a kernel of its own kind";
  if (c->outs > FUSE_MOST_OUTS || c->accs > FUSE_MOST_ACCS)
    return "too many results";
  if (c->has_inner && (c->sums > 1 || c->early || c->rows))
    return "a sum with others in it has a kernel of its own";
  if (c->products && (c->sums > 1 || c->early))
    return "a product has a kernel of its own";
  if (c->scans && c->early)
    return "a reduction with a kernel of its own kind";
  if (c->rows && !c->sums)
    return "over other axes";
  if ((c->rows || c->sums > 1) && (c->products || c->scans || !c->ranged))
    return "a reduction with a kernel of its own kind";
  for (uint32_t k = 0; k < p->n; k++)
    if (p->member[k] && fuse_is_reduction(&q->def[p->def[k]]) &&
        q->def[p->def[k]].n_out > p->n_shared)
      return "reductions over different axes";
  if ((c->rows && is_off(q, NEO_FUSE_ROWS)) || (c->sums > 1 && is_off(q, NEO_FUSE_SUMS)))
    return "switched off";
  if (c->sums && c->sums < c->members && !c->rows && is_off(q, NEO_FUSE_EPILOGUE))
    return "switched off";
  if (!c->sums && is_off(q, NEO_FUSE_SIBLINGS))
    return "switched off";
  return NULL;
}

static const char *copy_misfit(const fuser *q, const fuse_parts *p) {
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    for (uint32_t i = 0; i < d->n_read; i++)
      if (d->read[i].copied && is_off(q, d->read[i].reduced ? NEO_FUSE_PROLOGUE : NEO_FUSE_INLINE))
        return "switched off";
  }
  return NULL;
}

static bool same_entries(const fuser *q, const fuse_parts *p) {
  uint32_t set = 0;
  for (uint32_t k = 0; k < p->n; k++) {
    uint32_t x = q->def[p->def[k]].entries;
    if (p->member[k] && set && x != set)
      return false;
    set = p->member[k] ? x : set;
  }
  return true;
}

/* ---- updates in place */

/* Uses of tensor `old` in a part: bit 0: reads it, in copies too; bit 1: not at the current
 * element. */
static unsigned use_of(fuser *q, const fuse_parts *p, neo_tensor old, unsigned *use) {
  unsigned all = 0;
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    use[k] = 0;
    for (uint32_t i = 0; i < d->n_read; i++) {
      const fuse_read *r = &d->read[i];
      bool inner = r->from && fuse_is_part(q, r->from);
      unsigned x = r->t.i == old.i ? 1 : inner ? use[q->part[r->from]] : 0;
      bool here = !fuse_is_reduction(d);
      for (uint32_t a = 0; a < r->rank; a++)
        here = here && r->axis[a] == (int)a;
      use[k] |= x && !here ? x | 2 : x;
    }
    all |= use[k];
  }
  return all;
}

/* Does a writer of the new version read the old one elsewhere than at the current element, or in
 * another pass? */
static bool update_conflict(fuser *q, const fuse_parts *p) {
  unsigned use[FUSE_MOST_PARTS];
  if (p->n < 2)
    return false;
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *w = &q->def[p->def[k]];
    for (uint32_t i = 0; p->member[k] && i < w->n_outs; i++) {
      neo_tensor old = neo_tensor_at(q->m, fuse_out(q, p->def[k], i))->updates;
      if (!old.i || !use_of(q, p, old, use))
        continue;
      for (uint32_t x = 0; x < p->n; x++)
        if (use[x] & 2 || (use[x] && p->member[x] && x != k && w->n_out > p->n_shared))
          return true;
    }
  }
  return false;
}

neo_fuse_kind fuse_kind_of(const fuser *q, const fuse_parts *p) {
  census c = census_of(q, p);
  return c.rows       ? NEO_FUSE_ROWS
         : c.sums > 1 ? NEO_FUSE_SUMS
         : c.sums     ? NEO_FUSE_EPILOGUE
                      : NEO_FUSE_SIBLINGS;
}

/* Is it a recurrence, or the order of a graph? */
static bool has_no_form(const fuser *q, const uint32_t *members, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (q->def[members[k]].recurrence || neo_def_is_levels(neo_def_at(q->m, (neo_def){members[k]})))
      return true;
  return false;
}

/* Are both needed under the same conditions? */
static bool same_branch(const fuser *q, uint32_t a, uint32_t b) {
  return neo_conditions_same(&q->def[a].when, &q->def[b].when) && !q->def[a].flag &&
         !q->def[b].flag;
}

/* Would the definition read elements that are not computed, if it ran wherever `host` does? */
static bool reads_unmade(const fuser *q, uint32_t d, uint32_t host) {
  for (uint32_t k = 0; k < q->def[d].n_read; k++) {
    neo_tensor t = q->def[d].read[k].t;
    neo_type type = neo_tensor_type(q->m, t);
    neo_list pieces = neo_tensor_at(q->m, t)->pieces;
    for (uint32_t i = 0; i < pieces.n && (type == NEO_BOOL_T || neo_type_is_int(type)); i++)
      if (!neo_conditions_imply(q->m, &q->def[host].when,
                                &q->def[neo_list_at(q->m, pieces, i)].when))
        return true;
  }
  return false;
}

/* May a kernel with the conditions of `host` compute d as well? */
static bool runs_in(const fuser *q, uint32_t d, uint32_t host) {
  if (neo_conditions_same(&q->def[d].when, &q->def[host].when))
    return true;
  return !fuse_is_reduction(&q->def[d]) && !reads_unmade(q, d, host);
}

static bool of_one_branch(const fuser *q, const uint32_t *members, size_t n) {
  for (size_t k = 1; k < n; k++)
    if (!same_branch(q, members[0], members[k]))
      return false;
  return true;
}

/* May all copies of the member be computed under its conditions? */
static bool copies_run(const fuser *q, const fuse_parts *p, uint32_t member) {
  for (uint32_t k = 0; k < p->n; k++)
    if (!p->member[k] && !runs_in(q, p->def[k], member))
      return false;
  return true;
}

bool fuse_parts_of(fuser *q, const uint32_t *members, size_t n, fuse_parts *p, const char **why) {
  *why = "a recurrence has a kernel of its own";
  if (has_no_form(q, members, n))
    return false;
  *why = "needed under other conditions";
  if (!of_one_branch(q, members, n))
    return false;
  *why = "too many definitions";
  if (!collect(q, members, n, p))
    return false;
  *why = "needed under other conditions";
  if (q->has_branches && !copies_run(q, p, members[0]))
    return false;
  *why = "too large";
  if (!small_enough(q, p))
    return false;
  *why = "needed by other entries";
  if (!same_entries(q, p) || !match(q, p, why))
    return false;
  census c = census_of(q, p);
  *why = misfit(q, p, &c);
  if (!*why)
    *why = copy_misfit(q, p);
  if (!*why && update_conflict(q, p))
    *why = "an update would not be in place";
  return !*why;
}

/* A set of definitions as one kernel: whether form.h has a form for them, and what it costs.
 *
 * Shared axes are those of the members with the fewest output axes. Reductions have exactly these;
 * elementwise members may have more, which then are axes of their own ("rows"). What depends on a
 * reduction of the group ("late") is known at the point of the shared axes at hand only: it may be
 * read nowhere else. What is not late may be read anywhere; it is computed again there. */
#include "fusion/fuse.h"
#include <assert.h>
#include <string.h>

/* ---- the parts: members and what they copy */

typedef struct {
  fuser *q;
  fuse_parts *p;
  bool full;
} collector;

static bool is_part(const fuser *q, uint32_t d) {
  return q->part_of[d] == q->now;
}

static void add_part(collector *c, uint32_t d, bool member) {
  fuser *q = c->q;
  if (is_part(q, d) || c->full)
    return;
  if (c->p->n == FUSE_MOST_PARTS) {
    c->full = true;
    return;
  }
  q->part_of[d] = q->now;
  c->p->member[c->p->n] = member;
  c->p->def[c->p->n++] = d;
}

/* In the order of definitions; numbers of parts follow. */
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

/* Numbers of parts again, after another set was looked at. */
static void number_parts(fuser *q, const fuse_parts *p) {
  q->now++;
  for (uint32_t k = 0; k < p->n; k++) {
    q->part_of[p->def[k]] = q->now;
    q->part[p->def[k]] = k;
  }
}

/* ---- which axes are shared */

typedef struct {
  fuser *q;
  fuse_parts *p;
  uint32_t x;      /* the member whose reads are followed */
  uint32_t budget; /* reads that may be looked at */
  const char *why;
} matcher;

static bool is_reduction(const fuse_def *d) {
  return d->spans > 0;
}

/* Shared axis s of member x is its own axis `axis`: so says a read. */
static bool fix_axis(matcher *c, uint32_t s, int axis) {
  int8_t *at = &c->p->shared[c->x][s];
  const fuse_def *d = &c->q->def[c->p->def[c->x]];
  if (axis < 0 || axis >= (int)d->n_out)
    return false;
  if (*at < 0)
    *at = (int8_t)axis;
  return *at == axis;
}

/* The reads of part e, which member x evaluates at axis[k] (its own axes, -1: elsewhere) for e's
 * output axis k. */
static bool follow(matcher *c, uint32_t e, const int8_t *axis, uint32_t n_axes) {
  fuser *q = c->q;
  const fuse_def *d = &q->def[c->p->def[e]];
  for (uint32_t i = 0; i < d->n_read; i++) {
    const fuse_read *r = &d->read[i];
    if (!r->from || !is_part(q, r->from))
      continue;
    if (!c->budget--) {
      c->budget = 0;
      c->why = "too many reads of one another";
      return false;
    }
    int8_t at[64];
    for (uint32_t k = 0; k < r->rank && k < 64; k++) {
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

/* Axes that no read has fixed are the first ones left. */
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

static neo_expr out_extent(const fuser *q, uint32_t d, uint32_t axis) {
  const neo_def_rec *r = neo_def_at(q->m, (neo_def){d});
  return neo_def_axis(q->m, r, axis)->hi;
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
    if (out_extent(q, p->def[c->x], (uint32_t)p->shared[c->x][s]).i !=
        out_extent(q, p->def[base], s).i)
      return false;
  return true;
}

static void find_late(fuser *q, fuse_parts *p) {
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    p->late[k] = is_reduction(d);
    for (uint32_t i = 0; i < d->n_read && !p->late[k]; i++)
      p->late[k] =
          d->read[i].from && is_part(q, d->read[i].from) && p->late[q->part[d->read[i].from]];
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

/* ---- what may be together */

/* The size of a part with all that it copies. */
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
  bool rows, alone, runs, ranged;
  bool early; /* a member is not late */
} census;

static census census_of(const fuser *q, const fuse_parts *p) {
  census c = {.ranged = true};
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    if (!p->member[k])
      continue;
    c.members++;
    c.early = c.early || !p->late[k];
    c.outs += d->n_outs;
    c.accs += d->n_accs;
    c.sums += is_reduction(d);
    c.products += d->product;
    c.rows = c.rows || d->n_out > p->n_shared;
    c.alone = c.alone || d->lone || d->equation;
    c.runs = c.runs || d->runs;
    c.ranged = c.ranged && (d->ranged || !is_reduction(d));
  }
  return c;
}

static bool is_off(const fuser *q, neo_fuse_kind k) {
  return q->off >> k & 1;
}

/* Reductions have no axes besides the shared ones, and rows have a reduction. */
static const char *misfit(const fuser *q, const fuse_parts *p, const census *c) {
  if (c->members < 2)
    return NULL;
  if (c->alone)
    return "a kernel of its own kind";
  if (c->outs > FUSE_MOST_OUTS || c->accs > FUSE_MOST_ACCS)
    return "too many results";
  if (c->products && (c->sums > 1 || c->early))
    return "a product has a kernel of its own";
  if (c->runs && c->early)
    return "a reduction with a kernel of its own kind";
  if (c->rows && !c->sums)
    return "over other axes";
  if ((c->rows || c->sums > 1) && (c->products || c->runs || !c->ranged))
    return "a reduction with a kernel of its own kind";
  for (uint32_t k = 0; k < p->n; k++)
    if (p->member[k] && is_reduction(&q->def[p->def[k]]) && q->def[p->def[k]].n_out > p->n_shared)
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

/* ---- updates stay in place */

/* What a part makes of tensor `old`: bit 0: reads it, by way of copies too; bit 1: elsewhere than
 * at the element at hand. */
static unsigned use_of(fuser *q, const fuse_parts *p, neo_tensor old, unsigned *use) {
  unsigned all = 0;
  for (uint32_t k = 0; k < p->n; k++) {
    const fuse_def *d = &q->def[p->def[k]];
    use[k] = 0;
    for (uint32_t i = 0; i < d->n_read; i++) {
      const fuse_read *r = &d->read[i];
      bool inner = r->from && is_part(q, r->from);
      unsigned x = r->t.i == old.i ? 1 : inner ? use[q->part[r->from]] : 0;
      bool here = !is_reduction(d);
      for (uint32_t a = 0; a < r->rank; a++)
        here = here && r->axis[a] == (int)a;
      use[k] |= x && !here ? x | 2 : x;
    }
    all |= use[k];
  }
  return all;
}

/* Who writes the new version reads the old one at the element at hand alone, in one pass. */
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

bool fuse_parts_of(fuser *q, const uint32_t *members, size_t n, fuse_parts *p, const char **why) {
  *why = "too many definitions";
  if (!collect(q, members, n, p))
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

/* ---- what leaves */

/* Is definition d computed inside of the parts alone, wherever it is copied to? */
static bool confined(fuser *q, const fuse_parts *p, uint32_t d) {
  if (q->seen[d] == q->walk)
    return true;
  q->seen[d] = q->walk;
  const fuse_def *x = &q->def[d];
  bool inside = is_part(q, d) && p->member[q->part[d]];
  if (x->home && !inside)
    return false;
  for (size_t k = 0; k < x->readers.n; k++) {
    fuse_edge e = x->readers.at[k];
    if (fuse_read_of(q, e)->copied && !confined(q, p, e.def))
      return false;
  }
  return true;
}

static bool is_temporary(const fuser *q, uint32_t d) {
  bool temporary = true;
  for (uint32_t k = 0; k < q->def[d].n_outs; k++)
    temporary = temporary && neo_tensor_at(q->m, fuse_out(q, d, k))->role == NEO_ROLE_TEMP;
  return temporary;
}

static bool leaves(fuser *q, const fuse_parts *p, uint32_t part) {
  const fuse_def *d = &q->def[p->def[part]];
  if (d->wanted || d->lone || !is_temporary(q, p->def[part]))
    return true;
  q->walk++;
  for (size_t k = 0; k < d->readers.n; k++) {
    fuse_edge e = d->readers.at[k];
    if (!fuse_read_of(q, e)->copied && !confined(q, p, e.def))
      return true;
  }
  return false;
}

bool fuse_leaves(fuser *q, const fuse_parts *p, uint32_t part) {
  number_parts(q, p);
  return leaves(q, p, part);
}

/* ---- cost */

typedef struct { /* memory that is read */
  neo_tensor t;
  uint32_t passes; /* stages, as bits: reductions by their level, stores from bit 16 on */
  double bytes;
  bool lines; /* a shared axis runs along memory */
} traffic;

typedef struct {
  fuser *q;
  const fuse_parts *p;
  uint32_t level[FUSE_MOST_PARTS]; /* reductions that have to be done before its value is known */
  uint32_t same[FUSE_MOST_PARTS];  /* stages in which it is evaluated at its own element */
  uint32_t stages[FUSE_MOST_PARTS];
  uint32_t along[FUSE_MOST_PARTS]; /* sums along a row that read it at the row's elements */
  double extra[FUSE_MOST_PARTS];   /* evaluations elsewhere, and for those sums */
  traffic read[4 * FUSE_MOST_PARTS];
  uint32_t n_read;
  double work, shared_points;
} pricing;

enum { OPERAND_WORK = 4 };
enum { CALLS_KEPT = 64 }; /* calls for which a kept value is made once: a guess */

static uint32_t stage_bit(uint32_t level, bool store) {
  return 1u << ((level > 14 ? 14 : level) + (store ? 16 : 0));
}

static void find_levels(pricing *c) {
  for (uint32_t k = 0; k < c->p->n; k++) {
    const fuse_def *d = &c->q->def[c->p->def[k]];
    c->level[k] = 0;
    for (uint32_t i = 0; i < d->n_read; i++) {
      uint32_t from = d->read[i].from;
      if (from && is_part(c->q, from) && c->level[c->q->part[from]] > c->level[k])
        c->level[k] = c->level[c->q->part[from]];
    }
    c->level[k] += d->spans;
  }
}

static bool at_same_element(const fuse_read *r, uint32_t n_out) {
  bool same = r->rank == n_out;
  for (uint32_t k = 0; same && k < r->rank; k++)
    same = r->axis[k] == (int)k;
  return same;
}

/* A load of t, in these stages, so often. */
static void count_read(pricing *c, uint32_t part, const fuse_read *r, uint32_t stages,
                       double evals) {
  uint32_t k = 0;
  double whole = fuse_bytes(c->q, r->t);
  double bytes = evals * neo_type_bytes((neo_type)neo_tensor_at(c->q->m, r->t)->type);
  while (k < c->n_read && c->read[k].t.i != r->t.i)
    k++;
  if (k == 4 * FUSE_MOST_PARTS)
    return;
  if (k == c->n_read)
    c->read[c->n_read++] = (traffic){.t = r->t};
  traffic *x = &c->read[k];
  x->passes |= stages;
  x->bytes = x->bytes + bytes > whole ? whole : x->bytes + bytes;
  int last = r->rank ? r->axis[r->rank - 1] : -1;
  for (uint32_t s = 0; c->p->member[part] && last >= 0 && s < c->p->n_shared; s++)
    x->lines = x->lines || c->p->shared[part][s] == last;
}

/* A row of part k may stay in scratch between stages (schedule/keep.h): it is short, and has one
 * axis besides the shared ones. */
static bool is_row(const pricing *c, uint32_t k) {
  enum { MOST_ROW = 32 << 10 };
  const fuse_def *d = &c->q->def[c->p->def[k]];
  int64_t n;
  return !is_reduction(d) && d->n_out == c->p->n_shared + 1 &&
         d->points <= MOST_ROW * c->shared_points &&
         neo_expr_is_int(c->q->m, out_extent(c->q, c->p->def[k], d->n_out - 1), &n);
}

/* Does the reduction d read this at each element of a row once? */
static bool goes_along(const fuse_def *d, const fuse_read *r) {
  uint32_t own = 0;
  for (uint32_t k = 0; k < r->rank; k++) {
    if (r->axis[k] < 0)
      return false;
    own += (uint32_t)r->axis[k] >= d->n_out;
  }
  return is_reduction(d) && r->reduced && r->places == 1 && own == 1 && r->rank == d->n_out + 1;
}

/* The work of part k, evaluated so often: once for each element of a row that is kept, then read. */
static double work_of(const pricing *c, uint32_t k, double evals) {
  enum { KEPT_WORK = 2, LEAST_WORK = 8 };
  const fuse_def *d = &c->q->def[c->p->def[k]];
  uint32_t times = (uint32_t)__builtin_popcount(c->same[k]) + c->along[k];
  double kept = 0;
  if (times > 1 && d->end_work >= LEAST_WORK && is_row(c, k))
    kept = (times - 1) * d->points;
  return d->end_work * (evals - kept) + KEPT_WORK * kept;
}

/* Part k evaluates what it reads: in memory, or another part. */
static void spread(pricing *c, uint32_t k) {
  const fuse_def *d = &c->q->def[c->p->def[k]];
  double evals = (double)__builtin_popcount(c->same[k]) * d->points + c->extra[k];
  uint32_t body = 0;
  for (uint32_t i = 0; i < d->spans; i++)
    body |= stage_bit(c->level[k] - d->spans + i, false);
  for (uint32_t i = 0; i < d->n_read; i++) {
    const fuse_read *r = &d->read[i];
    uint32_t stages = r->reduced ? body : c->stages[k];
    double times = is_reduction(d) ? (r->reduced ? d->spans : 1) : evals / d->points;
    if (!r->from || !is_part(c->q, r->from)) {
      count_read(c, k, r, stages, r->evals * times);
      continue;
    }
    uint32_t y = c->q->part[r->from];
    if (is_reduction(&c->q->def[r->from]))
      continue; /* in a register */
    c->stages[y] |= stages;
    if (!is_reduction(d) && at_same_element(r, d->n_out)) {
      c->same[y] |= c->same[k];
      c->extra[y] += c->extra[k];
    } else {
      c->along[y] += goes_along(d, r) ? d->spans : 0;
      /* operands of products are copied an element at a time where they are not vectors */
      c->extra[y] += r->evals * times * (d->product && r->reduced ? OPERAND_WORK : 1);
    }
  }
  if (is_reduction(d))
    c->work += d->body_work * d->steps * d->spans + d->end_work * d->points;
  else
    c->work += work_of(c, k, evals);
}

static double slice_bytes(const pricing *c, const traffic *x) {
  double line = x->lines ? 64.0 / neo_type_bytes((neo_type)neo_tensor_at(c->q->m, x->t)->type) : 1;
  double n = x->bytes * line / c->shared_points;
  return n < x->bytes ? n : x->bytes;
}

/* What a point of the shared axes reads again is in the cache that it fits, and free in the first
 * one. */
static double read_seconds(const pricing *c) {
  const neo_profile *pr = c->q->profile;
  double slices = 0, t = 0;
  for (uint32_t k = 0; k < c->n_read; k++)
    if (__builtin_popcount(c->read[k].passes) > 1)
      slices += slice_bytes(c, &c->read[k]);
  bool fits = slices <= (double)pr->level[0].bytes;
  for (uint32_t k = 0; k < c->n_read; k++) {
    const traffic *x = &c->read[k];
    double whole = fuse_bytes(c->q, x->t);
    double again = fits ? 0 : x->bytes * (__builtin_popcount(x->passes) - 1);
    t += neo_profile_traffic(pr, x->bytes, whole);
    t += neo_profile_traffic(pr, again, whole < slices ? whole : slices);
  }
  return t;
}

/* Is d evaluated in the backward pass, be it as a copy, in another group than `home`? */
static bool runs_backward(fuser *q, uint32_t d, uint32_t home) {
  if (q->seen[d] == q->walk)
    return false;
  q->seen[d] = q->walk;
  const fuse_def *x = &q->def[d];
  if (x->backward && x->home && x->home != home)
    return true;
  for (size_t k = 0; k < x->readers.n; k++)
    if (fuse_read_of(q, x->readers.at[k])->copied && runs_backward(q, x->readers.at[k].def, home))
      return true;
  return false;
}

static bool read_backward(fuser *q, const fuse_def *d, neo_tensor t) {
  q->walk++;
  for (size_t k = 0; k < d->readers.n; k++) {
    fuse_edge e = d->readers.at[k];
    const fuse_read *r = fuse_read_of(q, e);
    if (r->t.i == t.i && !r->copied && runs_backward(q, e.def, d->home))
      return true;
  }
  return false;
}

/* What one definition makes of a tensor, which may have other pieces. */
static double piece_bytes(fuser *q, const fuse_def *d, neo_tensor t) {
  double n = d->points * neo_type_bytes((neo_type)neo_tensor_at(q->m, t)->type);
  double all = fuse_bytes(q, t);
  return n < all ? n : all;
}

double fuse_kept(fuser *q, uint32_t id) {
  const fuse_def *d = &q->def[id];
  double n = 0;
  if (!d->home || d->backward || d->wanted || !is_temporary(q, id))
    return 0;
  for (uint32_t i = 0; i < d->n_outs; i++)
    if (read_backward(q, d, fuse_out(q, id, i)))
      n += piece_bytes(q, d, fuse_out(q, id, i));
  return n;
}

static double write_seconds(const pricing *c, uint32_t k) {
  const fuse_def *d = &c->q->def[c->p->def[k]];
  double t = 0;
  for (uint32_t i = 0; i < d->n_outs; i++) {
    double bytes = fuse_bytes(c->q, fuse_out(c->q, c->p->def[k], i));
    t += neo_profile_traffic(c->q->profile, bytes, bytes);
  }
  return t + (c->q->price > 0 ? c->q->price * fuse_kept(c->q, c->p->def[k]) : 0);
}

bool fuse_is_kept(const fuser *q, const fuse_parts *p) {
  bool kept = true;
  for (uint32_t k = 0; k < p->n; k++)
    kept = kept && q->def[p->def[k]].lasting;
  return kept;
}

double fuse_cost(fuser *q, const fuse_parts *p) {
  pricing c = {.q = q, .p = p, .shared_points = 1};
  double t = 0;
  q->n_priced++;
  number_parts(q, p);
  find_levels(&c);
  for (uint32_t k = 0; k < p->n; k++)
    if (p->member[k] && q->def[p->def[k]].n_out == p->n_shared)
      c.shared_points = q->def[p->def[k]].points;
  for (uint32_t k = p->n; k-- > 0;) {
    const fuse_def *d = &q->def[p->def[k]];
    bool stored = p->member[k] && leaves(q, p, k);
    if (stored)
      t += write_seconds(&c, k);
    if (stored || is_reduction(d))
      c.stages[k] |= stage_bit(c.level[k], true);
    if (stored && !is_reduction(d))
      c.same[k] |= stage_bit(c.level[k], true);
    spread(&c, k);
  }
  t += read_seconds(&c) + c.work / q->profile->work_per_s;
  if (c.shared_points >= FUSE_LEAST_POINTS)
    t /= q->profile->workers;
  t += q->profile->launch_s;
  return fuse_is_kept(q, p) ? t / CALLS_KEPT : t;
}

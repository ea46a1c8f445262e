/* The cost of a group: results that leave it, memory that it reads and how often, its work, and the
 * activations that it saves for the backward pass. */
#include "fusion/search/search.h"
#include <math.h>

/* Numbers the parts again, after a look at another set. */
static void number_parts(fuser *q, const fuse_parts *p) {
  q->now++;
  for (uint32_t k = 0; k < p->n; k++) {
    q->part_of[p->def[k]] = q->now;
    q->part[p->def[k]] = k;
  }
}

/* ---- results */

/* Is definition d computed inside of the parts alone, copies included? */
static bool confined(fuser *q, const fuse_parts *p, uint32_t d) {
  if (q->seen[d] == q->walk)
    return true;
  q->seen[d] = q->walk;
  const fuse_def *x = &q->def[d];
  bool inside = fuse_is_part(q, d) && p->member[q->part[d]];
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
  uint32_t passes; /* stages as bits: reductions by their level, stores from bit 16 on */
  double bytes;
  bool lines; /* a shared axis runs along memory */
} traffic;

typedef struct {
  fuser *q;
  const fuse_parts *p;
  uint32_t level[FUSE_MOST_PARTS]; /* level of the last reduction that its value depends on */
  uint32_t same[FUSE_MOST_PARTS];  /* stages that evaluate it at their own element */
  uint32_t stages[FUSE_MOST_PARTS];
  uint32_t along[FUSE_MOST_PARTS]; /* sums along a row that read it at the row's elements */
  double extra[FUSE_MOST_PARTS];   /* other evaluations, with those of these sums */
  traffic read[4 * FUSE_MOST_PARTS];
  uint32_t n_read;
  double work, shared_points;
  double products; /* multiplications that have their own rate */
  bool has_inner;
} pricing;

enum { OPERAND_WORK = 4 };
#define VIEW_WORK 0.5       /* a load instead of another one */
enum { CALLS_CACHED = 64 }; /* calls that share a cached value: a guess */

static uint32_t stage_bit(uint32_t level, bool store) {
  return 1u << ((level > 14 ? 14 : level) + (store ? 16 : 0));
}

static void find_levels(pricing *c) {
  for (uint32_t k = 0; k < c->p->n; k++) {
    const fuse_def *d = &c->q->def[c->p->def[k]];
    c->level[k] = 0;
    for (uint32_t i = 0; i < d->n_read; i++) {
      uint32_t from = d->read[i].from;
      if (from && fuse_is_part(c->q, from) && c->level[c->q->part[from]] > c->level[k])
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

/* Counts a load of t in these stages. */
static void count_read(pricing *c, uint32_t part, const fuse_read *r, uint32_t stages,
                       double evals) {
  uint32_t k = 0;
  double whole = fuse_bytes(c->q, r->t);
  double bytes = evals * neo_type_bytes(neo_tensor_type(c->q->m, r->t));
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

/* May a row of part k be stored in scratch between stages (schedule/row_stash.h)? It is short, and
 * has one axis besides the shared ones. */
static bool is_row(const pricing *c, uint32_t k) {
  enum { MOST_ROW = 32 << 10 };
  const fuse_def *d = &c->q->def[c->p->def[k]];
  int64_t n;
  return !fuse_is_reduction(d) && d->n_out == c->p->n_shared + 1 &&
         d->points <= MOST_ROW * c->shared_points &&
         neo_expr_is_int(c->q->m, fuse_out_extent(c->q, c->p->def[k], d->n_out - 1), &n);
}

/* Does the reduction d read this at each element of a row once? */
static bool goes_along(const fuse_def *d, const fuse_read *r) {
  uint32_t own = 0;
  for (uint32_t k = 0; k < r->rank; k++) {
    if (r->axis[k] < 0)
      return false;
    own += (uint32_t)r->axis[k] >= d->n_out;
  }
  return fuse_is_reduction(d) && r->reduced && r->places == 1 && own == 1 &&
         r->rank == d->n_out + 1;
}

/* The work of part k for this many evaluations. Elements of a stashed row are computed once, then
 * read. */
static double work_of(const pricing *c, uint32_t k, double evals) {
  enum { STASH_WORK = 2, LEAST_WORK = 8 };
  const fuse_def *d = &c->q->def[c->p->def[k]];
  uint32_t times = (uint32_t)__builtin_popcount(c->same[k]) + c->along[k];
  double stashed = 0;
  if (times > 1 && d->end_work >= LEAST_WORK && is_row(c, k))
    stashed = (times - 1) * d->points;
  return d->end_work * (evals - stashed) + STASH_WORK * stashed;
}

/* Blocks of columns of the product k, each of which computes the inner sums that r reads or depends
 * on. */
static double column_blocks(const pricing *c, uint32_t k, const fuse_read *r) {
  enum { COLUMNS = 64, OF_WARPS = 128 };
  const fuse_def *d = &c->q->def[c->p->def[k]];
  double n = d->product && r->reduced ? 1.0 / (d->rate > 1 ? OF_WARPS : COLUMNS) : 0;
  for (uint32_t i = 0; n > 0 && i < d->n_out; i++) {
    bool used = false;
    for (uint32_t a = 0; a < r->rank; a++)
      used = used || r->axis[a] == (int)i;
    int64_t extent = used ? 1 : neo_extent_most(c->q->m, fuse_out_extent(c->q, c->p->def[k], i));
    n *= extent > 1 ? (double)extent : 1;
  }
  return n > 1 ? n : 1;
}

/* Adds the evaluations of part k's operands, in memory or in other parts. */
static void spread(pricing *c, uint32_t k) {
  const fuse_def *d = &c->q->def[c->p->def[k]];
  double evals = (double)__builtin_popcount(c->same[k]) * d->points + c->extra[k];
  uint32_t body = 0;
  for (uint32_t i = 0; i < d->spans; i++)
    body |= stage_bit(c->level[k] - d->spans + i, false);
  for (uint32_t i = 0; i < d->n_read; i++) {
    const fuse_read *r = &d->read[i];
    uint32_t stages = r->reduced ? body : c->stages[k];
    double times = fuse_is_reduction(d) ? (r->reduced ? d->spans : 1) : evals / d->points;
    if (!r->from || !fuse_is_part(c->q, r->from)) {
      count_read(c, k, r, stages, r->evals * times);
      continue;
    }
    uint32_t y = c->q->part[r->from];
    if (fuse_is_inner(c->q, c->p, y)) /* a logsumexp takes one pass over inner sums */
      c->extra[y] += r->evals * (fuse_is_reduction(d) ? 1 : times) * column_blocks(c, k, r);
    if (fuse_is_reduction(&c->q->def[r->from]))
      continue; /* in a register */
    c->stages[y] |= stages;
    if (!fuse_is_reduction(d) && at_same_element(r, d->n_out)) {
      c->same[y] |= c->same[k];
      c->extra[y] += c->extra[k];
    } else {
      c->along[y] += goes_along(d, r) ? d->spans : 0;
      /* operands of products are copied element by element unless they are vectors */
      double copies = c->has_inner ? column_blocks(c, k, r) : OPERAND_WORK;
      c->extra[y] += r->evals * times * (d->product && r->reduced ? copies : 1);
    }
  }
  bool inner = fuse_is_inner(c->q, c->p, k), view = c->has_inner && d->end_work <= VIEW_WORK;
  double times = inner ? evals / d->points : 1;
  if (inner || (d->product && c->q->profile->products_per_s > 0)) {
    c->products += d->steps * times / d->rate;
    c->work += d->end_work * d->points * times;
  } else if (fuse_is_reduction(d))
    c->work += d->body_work * d->steps * d->spans + d->end_work * d->points;
  else if (!view)
    c->work += work_of(c, k, evals);
}

static double slice_bytes(const pricing *c, const traffic *x) {
  double line = (double)c->q->profile->line_bytes;
  double run = x->lines ? line / neo_type_bytes(neo_tensor_type(c->q->m, x->t)) : 1;
  double n = x->bytes * run / c->shared_points;
  return n < x->bytes ? n : x->bytes;
}

/* Prices reads. A repeated read in one point of the shared axes comes from the cache that its data
 * fit in, and is free in the first one. */
static void price_reads(const pricing *c, neo_group_cost *out) {
  const neo_profile *pr = c->q->profile;
  double slices = 0;
  for (uint32_t k = 0; k < c->n_read; k++)
    if (__builtin_popcount(c->read[k].passes) > 1)
      slices += slice_bytes(c, &c->read[k]);
  bool fits = slices <= (double)pr->level[0].bytes;
  for (uint32_t k = 0; k < c->n_read; k++) {
    const traffic *x = &c->read[k];
    double whole = fuse_bytes(c->q, x->t);
    double again = fits ? 0 : x->bytes * (__builtin_popcount(x->passes) - 1);
    out->read_bytes += x->bytes + again;
    out->read_s += neo_profile_traffic(pr, x->bytes, whole);
    out->read_s += neo_profile_traffic(pr, again, whole < slices ? whole : slices);
  }
}

/* Is d evaluated in the backward pass, copies included, in another group than `home`? */
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

/* Bytes of a tensor that the definition computes; it may have other pieces. */
static double piece_bytes(fuser *q, const fuse_def *d, neo_tensor t) {
  double n = d->points * neo_type_bytes(neo_tensor_type(q->m, t));
  double all = fuse_bytes(q, t);
  return n < all ? n : all;
}

double fuse_saved_bytes(fuser *q, uint32_t id) {
  const fuse_def *d = &q->def[id];
  double n = 0;
  if (!d->home || d->backward || d->wanted || !is_temporary(q, id))
    return 0;
  for (uint32_t i = 0; i < d->n_outs; i++)
    if (read_backward(q, d, fuse_out(q, id, i)))
      n += piece_bytes(q, d, fuse_out(q, id, i));
  return n;
}

static void price_writes(const pricing *c, uint32_t k, neo_group_cost *out) {
  const fuse_def *d = &c->q->def[c->p->def[k]];
  double t = 0;
  for (uint32_t i = 0; i < d->n_outs; i++) {
    double bytes = fuse_bytes(c->q, fuse_out(c->q, c->p->def[k], i));
    out->written_bytes += bytes;
    t += neo_profile_traffic(c->q->profile, bytes, bytes);
  }
  out->written_s += t + (c->q->price > 0 ? c->q->price * fuse_saved_bytes(c->q, c->p->def[k]) : 0);
}

bool fuse_is_cached(const fuser *q, const fuse_parts *p) {
  bool cached = true;
  for (uint32_t k = 0; k < p->n; k++)
    cached = cached && q->def[p->def[k]].call_invariant;
  return cached;
}

/* Is the part stored once at each of the shared points? Then it is with the last such store
 * (fusion/form/fuse_stages.c). */
static bool is_point(const pricing *c, uint32_t k) {
  return !c->has_inner && c->p->member[k] && c->q->def[c->p->def[k]].n_out == c->p->n_shared;
}

static uint32_t last_level(const pricing *c, const bool *stored) {
  uint32_t last = 0;
  for (uint32_t k = 0; k < c->p->n; k++)
    if (stored[k] && is_point(c, k) && c->level[k] > last)
      last = c->level[k];
  return last;
}

/* Prices parts, the last one first, so that readers of a value come before it. */
static void price_parts(pricing *c, neo_group_cost *out) {
  const fuse_parts *p = c->p;
  bool stored[FUSE_MOST_PARTS];
  for (uint32_t k = 0; k < p->n; k++)
    stored[k] = p->member[k] && leaves(c->q, p, k);
  uint32_t last = last_level(c, stored);
  for (uint32_t k = p->n; k-- > 0;) {
    const fuse_def *d = &c->q->def[p->def[k]];
    uint32_t bit = stage_bit(stored[k] && is_point(c, k) ? last : c->level[k], true);
    if (stored[k])
      price_writes(c, k, out);
    if (stored[k] || (fuse_is_reduction(d) && p->member[k]))
      c->stages[k] |= bit;
    if (stored[k] && !fuse_is_reduction(d))
      c->same[k] |= bit;
    spread(c, k);
  }
}

/* Workers that the kernel keeps busy: cores by its points; multiprocessors by its threads, which
 * share the work of a point. */
static double workers_of(const pricing *c) {
  enum { LEAST_SHARE = 4, MOST_THREADS = 1024 }; /* additions of a thread; threads of a point */
  const neo_profile *p = c->q->profile;
  if (p->threads <= 0)
    return c->shared_points >= FUSE_LEAST_POINTS ? p->workers : 1;
  double each = (c->work + c->products) / c->shared_points / LEAST_SHARE;
  each = each < 1 ? 1 : each > MOST_THREADS ? MOST_THREADS : each;
  double n = c->shared_points * each / p->threads;
  return n < 1 ? 1 : n > p->workers ? p->workers : n;
}

neo_group_cost fuse_cost_of(fuser *q, const fuse_parts *p) {
  pricing c = {.q = q, .p = p, .shared_points = 1};
  neo_group_cost out = {.launch_s = q->profile->launch_s};
  q->n_priced++;
  number_parts(q, p);
  find_levels(&c);
  for (uint32_t k = 0; k < p->n; k++) {
    if (p->member[k] && q->def[p->def[k]].n_out == p->n_shared)
      c.shared_points = q->def[p->def[k]].points;
    c.has_inner = c.has_inner || fuse_is_inner(q, p, k);
  }
  price_parts(&c, &out);
  price_reads(&c, &out);
  out.work = c.work;
  out.products = c.products;
  out.work_s = c.work / q->profile->work_per_s;
  double nested_s = c.products > 0 ? c.products / q->profile->products_per_s : 0;
  double workers = workers_of(&c), moving = fmin(q->profile->workers, workers * q->profile->alone);
  out.read_s *= workers / moving;
  out.written_s *= workers / moving;
  double t = out.written_s + (out.read_s + out.work_s) + nested_s;
  out.work_s += nested_s;
  out.read_s /= workers;
  out.written_s /= workers;
  out.work_s /= workers;
  out.total_s = t / workers + out.launch_s;
  return out;
}

neo_group_cost fuse_cost_sum(neo_group_cost x, neo_group_cost y) {
  x.read_bytes += y.read_bytes;
  x.written_bytes += y.written_bytes;
  x.work += y.work;
  x.products += y.products;
  x.read_s += y.read_s;
  x.written_s += y.written_s;
  x.work_s += y.work_s;
  return x;
}

double fuse_cost(fuser *q, const fuse_parts *p) {
  if (p->n == 1 && q->def[p->def[0]].choice) /* a choice that needs no kernel */
    return 0;
  double t = fuse_cost_of(q, p).total_s;
  return fuse_is_cached(q, p) ? t / CALLS_CACHED : t;
}

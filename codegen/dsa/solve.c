/* Dynamic storage allocation: the whole of a plan.
 *
 * The problem is to stack rectangles with given positions in time, so that the stack is lowest. It
 * is NP-hard, and the stack can be higher than the bound, the largest sum alive at one time
 * (Buchsbaum, Karloff, Kenyon, Reingold, Thorup, "OPT versus LOAD in dynamic storage allocation").
 * Networks nearly always reach the bound by some greedy order (Pisarchyk, Lee, "Efficient memory
 * management for deep neural net inference"); packed instances do not, and are searched.
 *
 * 1. Time is cut at the steps that no lifetime crosses, and each part has a plan of its own. The
 *    time of a part is the list of maximal cliques of its interval graph, the columns (columns.c).
 * 2. Greedy orders give a first plan (fit.c). A part whose plan reaches its bound is done.
 * 3. "Is there a plan within this capacity?" is searched (search.c) for the bound first, then by
 *    bisection between the bound and the best plan. Strategies alternate, each with a limit that
 *    grows fourfold from one restart to the next until the budget is used: an instance that is hard
 *    for one is often easy for another, and a search that begins badly rarely recovers (Gomes,
 *    Selman, Kautz, "Boosting combinatorial search through randomization"). A search that ends
 *    without a plan raises the bound, so that a plan can be proved optimal.
 *
 * The search places buffers upwards, and needs to visit only plans in which each rests on another
 * or on the ground (Moffitt, "MiniMalloc: a lightweight memory allocator for hardware-accelerated
 * machine learning"; Martello, Monaci, Vigo, "An exact approach to the strip-packing problem"). It
 * decides a column of a valley of the skyline (branch.c), where few buffers fit, as the best-fit
 * heuristic does (Burke, Kendall, Whitwell, "A new placement heuristic for the orthogonal
 * stock-cutting problem"). Bytes that no buffer can use any more are counted against the column's
 * slack, capacity less load; without slack the next buffer of a column is often forced. The rest
 * splits into goals that are independent in time, and a goal that failed before, with the same
 * floors and buffers, is not searched again.
 *
 * An instance whose columns have too many buffers to list them has a greedy plan alone.
 *
 * Budgets count visited nodes, never time: the same input has the same plan on every machine. The
 * planner does not support buffers that move during their life, and lives with gaps. Buffers that
 * share an address (a loop's carried values) are one item with the union of their lives. Buffers of
 * exclusive branches have steps of their own for each branch, so that they never live at the same
 * time. */
#include "base/whole.h"
#include "codegen/dsa/internal.h"
#include <stdlib.h>

typedef struct {
  const neo_dsa_item *items;
  size_t *item_of; /* by buffer: its item; sorted */
  size_t n;
  int64_t grain, unit;
  neo_arena *arena;
} work;

typedef struct { /* buffers that no moment separates */
  dsa_instance in;
  size_t first; /* its first buffer's place in item_of */
  int64_t *offset, peak;
  int64_t lower; /* no plan is smaller */
} part;

static int64_t align_of(const neo_dsa_item *it) {
  return it->align_bytes > 1 ? it->align_bytes : 1;
}

/* All offsets are multiples of the grain, so sizes may be rounded up to it. */
static void find_units(work *w) {
  for (size_t k = 0; k < w->n; k++) {
    const neo_dsa_item *it = &w->items[w->item_of[k]];
    w->grain = neo_gcd(w->grain, align_of(it));
    if (it->fixed > 0)
      w->grain = neo_gcd(w->grain, it->fixed);
  }
  for (size_t k = 0; k < w->n; k++) {
    const neo_dsa_item *it = &w->items[w->item_of[k]];
    w->unit = neo_gcd(w->unit, dsa_align_up(it->size_bytes, w->grain));
    w->unit = neo_gcd(w->unit, align_of(it));
    if (it->fixed > 0)
      w->unit = neo_gcd(w->unit, it->fixed);
  }
}

/* ---- order: by start, then by all other fields, so that the order of the input is irrelevant */

typedef struct {
  neo_dsa_item item;
  size_t number;
} numbered;

static int sign(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int compare(const void *a, const void *b) {
  const numbered *x = a, *y = b;
  int by[] = {
      sign(x->item.first, y->item.first),           sign(y->item.last, x->item.last),
      sign(y->item.size_bytes, x->item.size_bytes), sign(y->item.align_bytes, x->item.align_bytes),
      sign(x->item.fixed, y->item.fixed),           sign((int64_t)x->number, (int64_t)y->number)};
  for (size_t k = 0; k < sizeof by / sizeof *by; k++)
    if (by[k])
      return by[k];
  return 0;
}

static work sorted(const neo_dsa_item *items, size_t n, neo_arena *scratch) {
  work w = {.items = items, .arena = scratch};
  numbered *at = NEO_NEW_ARRAY(scratch, numbered, n + 1);
  w.item_of = NEO_NEW_ARRAY(scratch, size_t, n + 1);
  for (size_t i = 0; i < n; i++)
    if (items[i].size_bytes > 0)
      at[w.n++] = (numbered){items[i], i};
  qsort(at, w.n, sizeof *at, compare);
  for (size_t k = 0; k < w.n; k++)
    w.item_of[k] = at[k].number;
  find_units(&w);
  return w;
}

/* ---- bound */

typedef struct {
  int64_t step, bytes; /* a start or, with negative bytes, the step after an end */
} change;

static int compare_changes(const void *a, const void *b) {
  const change *x = a, *y = b;
  return x->step != y->step ? sign(x->step, y->step) : sign(x->bytes, y->bytes);
}

static int64_t most_alive(const neo_dsa_item *items, size_t n, neo_arena *scratch) {
  change *at = NEO_NEW_ARRAY(scratch, change, 2 * n + 1);
  int64_t now = 0, most = 0;
  for (size_t i = 0; i < n; i++) {
    at[2 * i] = (change){items[i].first, items[i].size_bytes};
    at[2 * i + 1] = (change){items[i].last + 1, -items[i].size_bytes};
  }
  qsort(at, 2 * n, sizeof *at, compare_changes);
  for (size_t k = 0; k < 2 * n; k++) {
    now += at[k].bytes;
    most = now > most ? now : most;
  }
  return most;
}

/* ---- parts */

static dsa_buffer buffer_of(const work *w, const neo_dsa_item *it) {
  return (dsa_buffer){.size = dsa_align_up(it->size_bytes, w->grain) / w->unit,
                      .align = align_of(it) / w->unit > 0 ? align_of(it) / w->unit : 1,
                      .fixed = it->fixed >= 0 ? it->fixed / w->unit : NEO_DSA_FREE,
                      .life = it->last - it->first + 1};
}

static int64_t bound_of(const dsa_instance *in) {
  int64_t bound = 0;
  for (int32_t c = 0; c < in->n_columns; c++)
    bound = in->load[c] > bound ? in->load[c] : bound;
  for (int32_t i = 0; i < in->n; i++)
    if (in->buffer[i].fixed >= 0 && in->buffer[i].fixed + in->buffer[i].size > bound)
      bound = in->buffer[i].fixed + in->buffer[i].size;
  return bound;
}

static part part_of(const work *w, size_t first, size_t end) {
  part p = {.first = first};
  p.in.arena = w->arena;
  p.in.n = (int32_t)(end - first);
  p.in.buffer = NEO_NEW_ARRAY(w->arena, dsa_buffer, p.in.n);
  for (int32_t i = 0; i < p.in.n; i++)
    p.in.buffer[i] = buffer_of(w, &w->items[w->item_of[first + (size_t)i]]);
  dsa_columns(&p.in, w->items, w->item_of + first);
  p.lower = p.in.bound = bound_of(&p.in);
  p.offset = NEO_NEW_ARRAY(w->arena, int64_t, p.in.n);
  p.peak = dsa_fit(&p.in, p.offset);
  return p;
}

static size_t end_of_part(const work *w, size_t first) {
  int64_t last = w->items[w->item_of[first]].last;
  size_t k = first + 1;
  for (; k < w->n && w->items[w->item_of[k]].first <= last; k++)
    if (w->items[w->item_of[k]].last > last)
      last = w->items[w->item_of[k]].last;
  return k;
}

/* ---- improving */

/* The first is quick on networks, the next on packed instances; the others differ from them. */
static const dsa_strategy strategies[] = {
    {DSA_PICK_TIGHT, DSA_AREA, 0, 0},      {DSA_PICK_FORCED, DSA_LARGEST, 0, 0},
    {DSA_PICK_FORCED, DSA_WIDEST, 0, 0},   {DSA_PICK_LOWEST, DSA_WIDEST, 0, 0},
    {DSA_PICK_FORCED, DSA_AREA, 0, 0},     {DSA_PICK_CHOICES, DSA_NARROWEST, 0, 0},
    {DSA_PICK_TIGHT, DSA_NARROWEST, 0, 0}, {DSA_PICK_CHOICES, DSA_WIDEST, 0, 0},
};
enum { N_STRATEGIES = sizeof strategies / sizeof *strategies };

typedef struct {
  part *p;
  dsa_searcher *searcher;
  int64_t limit, budget; /* charges: of one search, of all */
  dsa_effort effort;
} improver;

static int64_t left(const improver *v) {
  return v->budget - v->effort.charge;
}

static int64_t peak_of(const part *p) {
  int64_t peak = 0;
  for (int32_t i = 0; i < p->in.n; i++)
    if (p->offset[i] + p->in.buffer[i].size > peak)
      peak = p->offset[i] + p->in.buffer[i].size;
  return peak;
}

static void learn(part *p, dsa_answer answer, int64_t capacity) {
  if (answer == DSA_FOUND)
    p->peak = peak_of(p);
  if (answer == DSA_NONE)
    p->lower = capacity + 1;
}

/* One strategy after the other, until one has an answer. */
static dsa_answer ask(improver *v, int64_t capacity) {
  dsa_answer answer = DSA_LIMIT;
  for (int k = 0; k < N_STRATEGIES && left(v) > 0 && answer == DSA_LIMIT; k++) {
    dsa_strategy by = strategies[k];
    by.capacity = capacity;
    by.limit = v->limit < left(v) ? v->limit : left(v);
    answer = dsa_search(v->searcher, &by, v->p->offset, &v->effort);
  }
  learn(v->p, answer, capacity);
  return answer;
}

/* Searches for a plan at the bound, then by bisection between the bound and the best plan. A search
 * that reaches its limit counts as a failure here; the next call searches again with a higher
 * limit. */
static void bisect(improver *v, int64_t enough) {
  int64_t low = v->p->lower > enough ? v->p->lower : enough, capacity = low;
  for (; low < v->p->peak && left(v) > 0; capacity = low + (v->p->peak - low) / 2)
    if (ask(v, capacity) != DSA_FOUND)
      low = capacity + 1;
}

/* The first limit is room for a plan that is found with few mistakes. */
static dsa_effort improve(part *p, int64_t enough, int64_t budget) {
  int64_t charge = dsa_charge(&p->in, DSA_PICK_TIGHT, 0, p->in.n_columns);
  improver v = {.p = p, .budget = budget, .limit = (p->in.n + p->in.n / 8 + 1000) * charge};
  v.searcher = dsa_searcher_new(&p->in, budget);
  for (; left(&v) > 0 && p->peak > p->lower && p->peak > enough; v.limit *= 4)
    bisect(&v, enough);
  return v.effort;
}

/* ---- the whole */

static void finish(neo_dsa_item *items, const work *w, const part *p, neo_dsa_result *r) {
  for (int32_t i = 0; i < p->in.n; i++) {
    neo_dsa_item *it = &items[w->item_of[p->first + (size_t)i]];
    it->offset = p->offset[i] * w->unit;
    if (it->offset + it->size_bytes > r->peak_bytes)
      r->peak_bytes = it->offset + it->size_bytes;
  }
}

typedef NEO_VEC(part) part_vec;

static part_vec parts_of(const work *w) {
  part_vec parts = {0};
  for (size_t k = 0, end; k < w->n; k = end) {
    end = end_of_part(w, k);
    NEO_PUSH(w->arena, &parts, part_of(w, k, end));
  }
  return parts;
}

/* The plan of all parts. A part's plan is good enough if it is no larger than another part's lower
 * bound. */
neo_dsa_result neo_dsa_plan(neo_dsa_item *items, size_t n, int64_t budget, neo_arena *scratch) {
  neo_dsa_result r = {.bound_bytes = most_alive(items, n, scratch)};
  work w = sorted(items, n, scratch);
  part_vec parts = parts_of(&w);
  int64_t enough = 0, peak = 0;
  for (size_t i = 0; i < n; i++)
    items[i].offset = 0;
  for (size_t k = 0; k < parts.n; k++)
    enough = parts.at[k].lower > enough ? parts.at[k].lower : enough;
  for (size_t k = 0; k < parts.n; k++) {
    part *p = &parts.at[k];
    if (p->peak > enough && p->in.cover) {
      dsa_effort effort = improve(p, enough, budget);
      budget -= effort.charge;
      r.nodes += effort.nodes;
    }
    peak = p->peak > peak ? p->peak : peak;
    enough = p->lower > enough ? p->lower : enough;
    finish(items, &w, p, &r);
  }
  r.optimal = peak <= enough;
  return r;
}

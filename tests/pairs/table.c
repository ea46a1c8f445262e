/* See table.h. */
#include "tests/pairs/table.h"
#include <string.h>

/* ---- counting */

static void count(uint32_t *at) {
  __atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
}

static void add_feature(pairs_table *t, uint32_t f, const pairs_kernel *x) {
  for (uint32_t k = 0; k < PAIRS_KINDS; k++) {
    if (!(x->kinds >> k & 1))
      continue;
    count(&t->kind[f][k]);
    for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++)
      if (x->strategies >> s & 1)
        count(&t->triple[f][k][s]);
  }
  for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++)
    if (x->strategies >> s & 1)
      count(&t->strategy[f][s]);
  for (uint32_t g = 0; g < PAIRS_FEATURES; g++)
    if (x->has >> g & 1)
      count(&t->both[f][g]);
}

static uint32_t ways_of(const pairs_how *how) {
  const char *cpu = how->mcpu ? how->mcpu : "";
  uint32_t ways = how->off == ~0u ? 1u << PAIRS_WAY_ALONE : how->off;
  ways |= (how->schedules ? 1u << PAIRS_WAY_RANDOM : 0) | (how->math ? 1u << PAIRS_WAY_MATH : 0) |
          (how->store ? 1u << PAIRS_WAY_STORE : 0) |
          (strcmp(cpu, "x86-64-v2") == 0 ? 1u << PAIRS_WAY_V2 : 0) |
          (strcmp(cpu, "x86-64-v3") == 0 ? 1u << PAIRS_WAY_V3 : 0);
  return ways ? ways : 1u << PAIRS_WAY_DEFAULT;
}

static void add_recurrences(pairs_table *t, const pairs_run *r, uint32_t ways) {
  uint64_t all = 0;
  for (size_t k = 0; k < r->kernels.n; k++) {
    pairs_kernel x = r->kernels.at[k];
    all |= x.recurs;
    for (uint32_t i = 0; i < PAIRS_RECURRENCES; i++) {
      if (!(x.recurs >> i & 1))
        continue;
      for (uint32_t f = 0; f < PAIRS_FEATURES; f++)
        if (x.has >> f & 1)
          count(&t->recurs_feature[i][f]);
      for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++)
        if (x.strategies >> s & 1)
          count(&t->recurs_strategy[i][s]);
    }
  }
  for (uint32_t i = 0; i < PAIRS_RECURRENCES; i++)
    for (uint32_t w = 0; w < PAIRS_WAYS; w++)
      if (all >> i & 1 && ways >> w & 1)
        count(&t->recurs_way[i][w]);
}

void pairs_table_add(pairs_table *t, const pairs_run *r, const pairs_how *how) {
  count(&t->runs);
  add_recurrences(t, r, ways_of(how));
  __atomic_fetch_add(&t->compared, (uint64_t)r->compared, __ATOMIC_RELAXED);
  __atomic_fetch_add(&t->promised, (uint64_t)r->promised, __ATOMIC_RELAXED);
  __atomic_fetch_add(&t->loops, r->loops, __ATOMIC_RELAXED);
  __atomic_fetch_add(&t->grid_loops, r->grid_loops, __ATOMIC_RELAXED);
  __atomic_fetch_add(&t->grid_launches, r->grid_launches, __ATOMIC_RELAXED);
  for (size_t k = 0; k < r->kernels.n; k++) {
    count(&t->kernels);
    for (uint32_t f = 0; f < PAIRS_FEATURES; f++)
      if (r->kernels.at[k].has >> f & 1)
        add_feature(t, f, &r->kernels.at[k]);
  }
}

/* ---- what cannot be reached */

static const pairs_strategy rare[] = {
#define RARE(strategy, reason) PAIRS_BY_##strategy,
#define KIND(feature, kind, reason)
#define STRATEGY(feature, strategy, reason)
#include "tests/pairs/unreachable.def"
#undef RARE
#undef KIND
#undef STRATEGY
};

static const struct {
  int feature, kind, strategy;
} never[] = {
#define RARE(strategy, reason)
#define KIND(f, k, reason) {PAIRS_##f, NEO_FUSE_##k, -1},
#define STRATEGY(f, s, reason) {PAIRS_##f, -1, PAIRS_BY_##s},
#include "tests/pairs/unreachable.def"
#undef RARE
#undef KIND
#undef STRATEGY
};

static bool is_reachable(uint32_t f, int kind, int strategy) {
  bool reachable = true;
  for (size_t k = 0; k < sizeof never / sizeof *never; k++)
    reachable = reachable && (never[k].feature != (int)f || never[k].kind != kind ||
                              never[k].strategy != strategy);
  return reachable;
}

static bool is_legal(uint32_t f, int kind, int strategy) {
  bool legal = is_reachable(f, kind, strategy);
  for (size_t k = 0; k < sizeof rare / sizeof *rare; k++)
    legal = legal && strategy != (int)rare[k];
  return legal;
}

static bool has_strategy(bool gpu, uint32_t s) {
  static const int of[] = {
#define X(name, text, gpu, meaning) gpu,
#include "tests/pairs/strategies.def"
#undef X
  };
  return of[s] == 2 || of[s] == (int)gpu;
}

/* Processors have no grids and compute no sums again inside of others. Rows are added up one after
 * the other where a matrix is larger than caches: tests/transform/test_rfactor_columns.c has such ones. What lies in
 * concatenations is drawn by tests/pipeline/test_concat.c. */
static bool has_kind(bool gpu, uint32_t k) {
  return k != NEO_FUSE_COLUMNS && k != NEO_FUSE_CONCAT &&
         (gpu || (k != NEO_FUSE_GRID && k != NEO_FUSE_NESTED));
}

static bool of_pair(const pairs_table *t, bool gpu, uint32_t f, uint32_t k, uint32_t *n) {
  bool kind = k < PAIRS_KINDS;
  uint32_t s = k - PAIRS_KINDS;
  *n = kind ? t->kind[f][k] : t->strategy[f][s];
  return kind ? has_kind(gpu, k) && is_legal(f, (int)k, -1)
              : has_strategy(gpu, s) && is_legal(f, -1, (int)s);
}

uint32_t pairs_table_reached(const pairs_table *t, bool gpu, uint32_t *legal) {
  uint32_t reached = 0, n;
  *legal = 0;
  for (uint32_t f = 0; f < PAIRS_FEATURES; f++)
    for (uint32_t k = 0; k < PAIRS_KINDS + PAIRS_STRATEGIES; k++)
      if (of_pair(t, gpu, f, k, &n)) {
        ++*legal;
        reached += n > 0;
      }
  return reached;
}

static void tell(neo_str *out, uint32_t f, const char *other, uint32_t n) {
  if (out)
    neo_str_addf(out, "%s x %s: %u\n", pairs_feature_text(f), other, n);
}

uint32_t pairs_table_least(const pairs_table *t, bool gpu, uint32_t below, neo_str *scarce) {
  uint32_t least = UINT32_MAX, n;
  for (uint32_t f = 0; f < PAIRS_FEATURES; f++)
    for (uint32_t k = 0; k < PAIRS_KINDS + PAIRS_STRATEGIES; k++) {
      if (!of_pair(t, gpu, f, k, &n))
        continue;
      least = n < least ? n : least;
      if (n < below)
        tell(scarce, f, k < PAIRS_KINDS ? pairs_kind_text(k) : pairs_strategy_text(k - PAIRS_KINDS),
             n);
    }
  return least;
}

/* ---- printing */

static void put_count(neo_str *out, uint32_t n, bool legal) {
  if (!legal && !n)
    neo_str_add(out, "       -");
  else
    neo_str_addf(out, " %7u", n);
}

static void put_kinds(const pairs_table *t, bool gpu, neo_str *out) {
  neo_str_addf(out, "\n%-14s", "feature x kind");
  for (uint32_t k = 0; k < PAIRS_KINDS; k++)
    if (has_kind(gpu, k))
      neo_str_addf(out, " %7.7s", pairs_kind_text(k));
  neo_str_add(out, "\n");
  for (uint32_t f = 0; f < PAIRS_FEATURES; f++) {
    neo_str_addf(out, "%-14s", pairs_feature_text(f));
    for (uint32_t k = 0; k < PAIRS_KINDS; k++)
      if (has_kind(gpu, k))
        put_count(out, t->kind[f][k], is_legal(f, (int)k, -1));
    neo_str_add(out, "\n");
  }
}

static void put_strategies(const pairs_table *t, bool gpu, neo_str *out) {
  neo_str_addf(out, "\n%-14s", "x strategy");
  for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++)
    if (has_strategy(gpu, s))
      neo_str_addf(out, " %7.7s", pairs_strategy_text(s));
  neo_str_add(out, "\n");
  for (uint32_t f = 0; f < PAIRS_FEATURES; f++) {
    neo_str_addf(out, "%-14s", pairs_feature_text(f));
    for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++)
      if (has_strategy(gpu, s))
        put_count(out, t->strategy[f][s], is_legal(f, -1, (int)s));
    neo_str_add(out, "\n");
  }
}

/* How many pairs of features are in a kernel together, by how often. */
static void put_both(const pairs_table *t, neo_str *out) {
  static const uint32_t at_least[] = {1, 10, 100, 1000};
  neo_str_addf(
      out, "\npairs of features in one kernel (of %u):", PAIRS_FEATURES * (PAIRS_FEATURES - 1) / 2);
  for (size_t i = 0; i < sizeof at_least / sizeof *at_least; i++) {
    uint32_t n = 0;
    for (uint32_t f = 0; f < PAIRS_FEATURES; f++)
      for (uint32_t g = 0; g < f; g++)
        n += t->both[f][g] >= at_least[i];
    neo_str_addf(out, " %u at least %u times;", n, at_least[i]);
  }
  neo_str_add(out, "\n");
}

/* unreachable.def is wrong about these. */
static void put_wrong(const pairs_table *t, bool gpu, neo_str *out) {
  for (uint32_t f = 0; f < PAIRS_FEATURES; f++) {
    for (uint32_t k = 0; k < PAIRS_KINDS; k++)
      if (t->kind[f][k] && has_kind(gpu, k) && !is_reachable(f, (int)k, -1))
        neo_str_addf(out, "reached against unreachable.def: %s x %s, %u times\n",
                     pairs_feature_text(f), pairs_kind_text(k), t->kind[f][k]);
    for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++)
      if (t->strategy[f][s] && has_strategy(gpu, s) && !is_reachable(f, -1, (int)s))
        neo_str_addf(out, "reached against unreachable.def: %s x %s, %u times\n",
                     pairs_feature_text(f), pairs_strategy_text(s), t->strategy[f][s]);
  }
}

static void put_triples(const pairs_table *t, neo_str *out) {
  uint32_t n = 0, often = 0;
  for (uint32_t f = 0; f < PAIRS_FEATURES; f++)
    for (uint32_t k = 0; k < PAIRS_KINDS; k++)
      for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++) {
        n += t->triple[f][k][s] > 0;
        often += t->triple[f][k][s] >= 10;
      }
  neo_str_addf(out, "feature x kind x strategy: %u reached, %u ten times\n", n, often);
}

/* ---- recurrences */

static const char *way_text(uint32_t w) {
  static const char *const text[] = {"default", "no fuse", "random", "math", "store", "v2", "v3"};
  return w < NEO_FUSE_KINDS ? pairs_kind_text(w) : text[w - NEO_FUSE_KINDS];
}

static void put_row(neo_str *out, uint32_t r, const uint32_t *n, uint32_t most) {
  neo_str_addf(out, "%-14s", pairs_recurrence_text(r));
  for (uint32_t k = 0; k < most; k++)
    put_count(out, n[k], true);
  neo_str_add(out, "\n");
}

void pairs_table_recurrences(const pairs_table *t, neo_str *out) {
  uint32_t met = 0;
  neo_str_addf(out, "\n%-14s", "x strategy");
  for (uint32_t s = 0; s < PAIRS_STRATEGIES; s++)
    neo_str_addf(out, " %7.7s", pairs_strategy_text(s));
  neo_str_add(out, "\n");
  for (uint32_t r = 0; r < PAIRS_RECURRENCES; r++)
    put_row(out, r, t->recurs_strategy[r], PAIRS_STRATEGIES);
  neo_str_addf(out, "\n%-14s", "x without");
  for (uint32_t w = 0; w < PAIRS_WAYS; w++)
    neo_str_addf(out, " %7.7s", way_text(w));
  neo_str_add(out, "\n");
  for (uint32_t r = 0; r < PAIRS_RECURRENCES; r++)
    put_row(out, r, t->recurs_way[r], PAIRS_WAYS);
  neo_str_add(out, "\nkinds of recurrences never met with a feature:\n");
  for (uint32_t r = 0; r < PAIRS_RECURRENCES; r++) {
    neo_str_addf(out, "%s:", pairs_recurrence_text(r));
    for (uint32_t f = 0; f < PAIRS_FEATURES; f++) {
      met += t->recurs_feature[r][f] > 0;
      if (!t->recurs_feature[r][f])
        neo_str_addf(out, " %s", pairs_feature_text(f));
    }
    neo_str_add(out, "\n");
  }
  neo_str_addf(out, "%u of %u pairs of a kind and a feature are met\n", met,
               (uint32_t)PAIRS_RECURRENCES * PAIRS_FEATURES);
}

void pairs_table_print(const pairs_table *t, bool gpu, neo_str *out) {
  neo_str_addf(out,
               "%u programs (%u not taken by the frontend), %u runs, %u kernels, %u failures\n"
               "%llu elements compared, for %llu of them the bound promises something\n",
               t->programs, t->rejected, t->runs, t->kernels, t->failed,
               (unsigned long long)t->compared, (unsigned long long)t->promised);
  put_kinds(t, gpu, out);
  put_strategies(t, gpu, out);
  put_both(t, out);
  put_triples(t, out);
  put_wrong(t, gpu, out);
}

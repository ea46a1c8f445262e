/* Plans of dynamic storage allocation: against every plan of small random instances, by the
 * validator, and by what must not matter. */
#include "tests/pick.h"
#include "tools/benchmarks/alloc/valid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 300 };

static neo_dsa_item item(int64_t size, int64_t first, int64_t last) {
  return (neo_dsa_item){size, 1, first, last, NEO_DSA_FREE, -7};
}

static neo_dsa_result plan(neo_dsa_item *items, size_t n, int64_t budget) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_dsa_result r = neo_dsa_plan(items, n, budget, &a);
  neo_arena_free(&a);
  return r;
}

static neo_dsa_verdict verdict(const neo_dsa_item *items, size_t n) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_dsa_verdict v = neo_dsa_valid(items, n, &a);
  neo_arena_free(&a);
  return v;
}

static int64_t most_alive(const neo_dsa_item *items, size_t n) {
  int64_t most = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t now = 0;
    for (size_t k = 0; k < n; k++)
      if (items[k].first <= items[i].first && items[i].first <= items[k].last)
        now += items[k].size_bytes;
    most = now > most ? now : most;
  }
  return most;
}

static neo_dsa_result plan_checked(neo_dsa_item *items, size_t n, int64_t budget) {
  neo_dsa_result r = plan(items, n, budget);
  int64_t peak = 0;
  assert_int_equal(verdict(items, n).fault, NEO_DSA_VALID);
  for (size_t i = 0; i < n; i++)
    if (items[i].size_bytes > 0 && items[i].offset + items[i].size_bytes > peak)
      peak = items[i].offset + items[i].size_bytes;
  assert_int_equal(r.peak_bytes, peak);
  assert_int_equal(r.bound_bytes, most_alive(items, n));
  assert_true(r.peak_bytes >= r.bound_bytes);
  return r;
}

/* ---- every plan: in each order, each item on top of those before it that live with it */

typedef struct {
  neo_dsa_item *items;
  size_t n;
  bool placed[16];
  int64_t best;
} oracle;

static int64_t top_below(const oracle *o, size_t i) {
  int64_t top = 0;
  for (size_t k = 0; k < o->n; k++) {
    const neo_dsa_item *a = &o->items[k], *b = &o->items[i];
    bool together = a->first <= b->last && b->first <= a->last;
    if (o->placed[k] && together && a->offset + a->size_bytes > top)
      top = a->offset + a->size_bytes;
  }
  int64_t align = o->items[i].align_bytes;
  return (top + align - 1) / align * align;
}

static void try_orders(oracle *o, size_t n_placed, int64_t peak) {
  if (peak >= o->best)
    return;
  if (n_placed == o->n) {
    o->best = peak;
    return;
  }
  for (size_t i = 0; i < o->n; i++) {
    neo_dsa_item *it = &o->items[i];
    int64_t top = top_below(o, i);
    if (o->placed[i] || (it->fixed >= 0 && it->fixed < top))
      continue;
    it->offset = it->fixed >= 0 ? it->fixed : top;
    o->placed[i] = true;
    int64_t end = it->offset + it->size_bytes;
    try_orders(o, n_placed + 1, end > peak ? end : peak);
    o->placed[i] = false;
  }
}

static int64_t smallest_peak(const neo_dsa_item *items, size_t n) {
  neo_dsa_item copy[16];
  oracle o = {.items = copy, .n = n, .best = INT64_MAX};
  memcpy(copy, items, n * sizeof *items);
  try_orders(&o, 0, 0);
  return o.best;
}

/* Items that live long and are of like sizes, so that the bound is often not reached. */
static size_t small_instance(uint64_t *seed, neo_dsa_item *items) {
  size_t n = (size_t)neo_pick(seed, 1, 7);
  int64_t steps = neo_pick(seed, 2, 9), sizes = neo_pick(seed, 2, 12);
  for (size_t i = 0; i < n; i++) {
    int64_t first = neo_pick(seed, 0, steps - 1);
    items[i] = item(neo_pick(seed, 1, sizes), first, neo_pick(seed, first, steps - 1));
  }
  return n;
}

static void small_plans_are_optimal(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (int round = 0; round < 1500; round++) {
    neo_dsa_item items[16];
    size_t n = small_instance(&seed, items);
    neo_dsa_result r = plan_checked(items, n, 1 << 20);
    assert_true(r.optimal);
    assert_int_equal(r.peak_bytes, smallest_peak(items, n));
  }
}

/* No plan reaches the bound of such instances, which are rare. */
static void a_plan_above_the_bound_is_proved_optimal(void **state) {
  (void)state;
  neo_dsa_item items[] = {item(5, 4, 5), item(6, 0, 1), item(5, 0, 0), item(3, 1, 3),
                          item(6, 2, 4), item(5, 3, 4), item(4, 0, 1), item(3, 2, 3),
                          item(4, 6, 6), item(3, 1, 2), item(2, 6, 6)};
  neo_dsa_result r = plan_checked(items, 11, 100000);
  assert_int_equal(r.bound_bytes, 17);
  assert_int_equal(r.peak_bytes, 18);
  assert_true(r.optimal);
  assert_int_equal(smallest_peak(items, 11), 18);
}

static void small_plans_with_alignments_are_optimal(void **state) {
  (void)state;
  uint64_t seed = 2;
  for (int round = 0; round < 1000; round++) {
    neo_dsa_item items[16];
    size_t n = small_instance(&seed, items);
    int64_t shared = 16, base = INT64_C(1) << neo_pick(&seed, 0, 2);
    for (size_t i = 0; i < n; i++) {
      items[i].align_bytes = base << neo_pick(&seed, 0, 2);
      shared = items[i].align_bytes < shared ? items[i].align_bytes : shared;
    }
    neo_dsa_result r = plan_checked(items, n, 1 << 20);
    int64_t best = smallest_peak(items, n);
    assert_true(r.peak_bytes >= best);
    assert_true(r.optimal);
    assert_true((r.peak_bytes - 1) / shared <= (best - 1) / shared);
  }
}

static void small_plans_around_fixed_offsets_are_optimal(void **state) {
  (void)state;
  uint64_t seed = 3;
  for (int round = 0; round < 1000; round++) {
    neo_dsa_item items[16];
    size_t n = small_instance(&seed, items);
    items[0].fixed = neo_pick(&seed, 0, 10);
    if (n > 1 && items[1].first > items[0].last) /* apart from the first */
      items[1].fixed = neo_pick(&seed, 0, 10);
    neo_dsa_result r = plan_checked(items, n, 1 << 20);
    assert_true(r.optimal);
    assert_int_equal(r.peak_bytes, smallest_peak(items, n));
  }
}

/* ---- what must not matter */

/* A perfect packing: a rectangle that is cut again and again. */
static size_t cut(uint64_t *seed, neo_dsa_item *items, int64_t begin, int64_t end, int64_t height,
                  size_t n) {
  if (n <= 1 || (end - begin < 2 && height < 2)) {
    items[0] = item(height, begin, end - 1);
    return 1;
  }
  size_t m;
  if (height < 2 || (end - begin > 1 && neo_splitmix(seed) % 2)) {
    int64_t middle = neo_pick(seed, begin + 1, end - 1);
    m = cut(seed, items, begin, middle, height, n / 2);
    return m + cut(seed, items + m, middle, end, height, n - n / 2);
  }
  int64_t part = neo_pick(seed, 1, height - 1);
  m = cut(seed, items, begin, end, part, n / 2);
  return m + cut(seed, items + m, begin, end, height - part, n - n / 2);
}

static void shuffle(uint64_t *seed, neo_dsa_item *items, size_t n) {
  for (size_t i = n; i-- > 1;) {
    size_t k = (size_t)neo_pick(seed, 0, (int64_t)i);
    neo_dsa_item t = items[i];
    items[i] = items[k];
    items[k] = t;
  }
}

static void a_perfect_packing_is_found(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed < 40; seed++) {
    neo_dsa_item items[MOST];
    uint64_t random = seed;
    size_t n = cut(&random, items, 0, 60, 500, 40);
    shuffle(&random, items, n);
    neo_dsa_result r = plan_checked(items, n, 1 << 20);
    assert_int_equal(r.bound_bytes, 500);
    assert_int_equal(r.peak_bytes, 500);
  }
}

static void the_same_items_give_the_same_plan(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed < 12; seed++) {
    neo_dsa_item items[MOST], again[MOST];
    uint64_t random = seed;
    size_t n = cut(&random, items, 0, 100, 1000, 100);
    memcpy(again, items, sizeof items);
    neo_dsa_result a = plan_checked(items, n, 20000), b = plan_checked(again, n, 20000);
    assert_memory_equal(items, again, n * sizeof *items);
    assert_int_equal(a.nodes, b.nodes);
    shuffle(&random, again, n);
    b = plan_checked(again, n, 20000);
    assert_int_equal(a.peak_bytes, b.peak_bytes);
    assert_int_equal(a.nodes, b.nodes);
  }
}

static void a_larger_budget_gives_no_larger_plan(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed < 6; seed++) {
    int64_t last = INT64_MAX;
    for (int64_t budget = 0; budget <= 64000; budget = budget * 4 + 1000) {
      neo_dsa_item items[MOST];
      uint64_t random = seed;
      size_t n = cut(&random, items, 0, 100, 1000, 150);
      neo_dsa_result r = plan_checked(items, n, budget);
      assert_true(r.peak_bytes <= last);
      last = r.peak_bytes;
    }
  }
}

static void times_with_nothing_alive_cut_the_instance(void **state) {
  (void)state;
  neo_dsa_item items[MOST];
  size_t n = 0;
  uint64_t seed = 5;
  for (int64_t k = 0; k < 5; k++)
    n += cut(&seed, items + n, 1000 * k, 1000 * k + 20, 100 * (k + 1), 20);
  shuffle(&seed, items, n);
  neo_dsa_result r = plan_checked(items, n, 1 << 20);
  assert_int_equal(r.peak_bytes, 500);
  assert_true(r.optimal);
}

/* ---- corners */

static void an_empty_instance_and_empty_buffers_take_nothing(void **state) {
  (void)state;
  neo_dsa_item items[] = {item(0, 0, 5), item(8, 2, 3), item(0, 3, 3)};
  neo_dsa_result r = plan(NULL, 0, 100);
  assert_int_equal(r.peak_bytes, 0);
  assert_int_equal(r.bound_bytes, 0);
  assert_true(r.optimal);
  r = plan_checked(items, 3, 100);
  assert_int_equal(r.peak_bytes, 8);
  assert_int_equal(items[0].offset, 0);
  assert_int_equal(items[2].offset, 0);
  items[1].size_bytes = 0;
  assert_int_equal(plan_checked(items, 3, 100).peak_bytes, 0);
}

static void large_sizes_and_late_steps_are_planned(void **state) {
  (void)state;
  int64_t huge = INT64_C(1) << 58, late = INT64_C(1) << 60;
  neo_dsa_item items[] = {item(huge, -late, late), item(huge + 1, 0, late), item(3, late, late)};
  neo_dsa_result r = plan_checked(items, 3, 1000);
  assert_int_equal(r.peak_bytes, 2 * huge + 4);
}

static void an_instance_that_is_too_wide_for_the_search_is_planned(void **state) {
  (void)state;
  enum { N = 20000, LIFE = 9000 };
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_dsa_item *items = NEO_NEW_ARRAY(&a, neo_dsa_item, N);
  for (int64_t i = 0; i < N; i++)
    items[i] = item(1 + i % 3, i, i + LIFE);
  neo_dsa_result r = plan(items, N, NEO_DSA_BENCH_NODES);
  assert_int_equal(verdict(items, N).fault, NEO_DSA_VALID);
  assert_int_equal(r.bound_bytes, 18003);
  assert_true(r.peak_bytes <= 2 * r.bound_bytes);
  assert_int_equal(r.nodes, 0);
  neo_arena_free(&a);
}

/* ---- the validator */

static void planted_faults_are_found(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed < 200; seed++) {
    neo_dsa_item items[MOST];
    uint64_t random = seed;
    size_t n = cut(&random, items, 0, 40, 200, 30);
    (void)plan_checked(items, n, 2000);
    size_t a = (size_t)neo_pick(&random, 0, (int64_t)n - 1), b = a;
    for (size_t k = 0; k < n; k++)
      if (k != a && items[k].first <= items[a].last && items[a].first <= items[k].last)
        b = k;
    if (a == b)
      continue;
    items[b].offset = items[a].offset + items[a].size_bytes - 1;
    assert_int_equal(verdict(items, n).fault, NEO_DSA_OVERLAP);
  }
}

static void each_fault_has_a_name(void **state) {
  (void)state;
  neo_dsa_item items[] = {item(10, 0, 2), item(10, 2, 3)};
  items[0].offset = 0, items[1].offset = 9;
  neo_dsa_verdict v = verdict(items, 2);
  assert_int_equal(v.fault, NEO_DSA_OVERLAP);
  assert_int_equal(v.a + v.b, 1);
  items[1].offset = 10;
  assert_int_equal(verdict(items, 2).fault, NEO_DSA_VALID);
  items[1].align_bytes = 4;
  assert_int_equal(verdict(items, 2).fault, NEO_DSA_MISALIGNED);
  items[1].offset = 12, items[1].fixed = 16;
  assert_int_equal(verdict(items, 2).fault, NEO_DSA_MOVED);
  items[1].offset = -4;
  assert_int_equal(verdict(items, 2).fault, NEO_DSA_NEGATIVE);
  items[1] = item(10, 3, 3);
  items[1].offset = 0;
  assert_int_equal(verdict(items, 2).fault, NEO_DSA_VALID);
}

static void fixed_items_that_overlap_are_found(void **state) {
  (void)state;
  neo_dsa_item items[] = {item(10, 0, 2), item(10, 2, 3), item(5, 0, 3)};
  items[0].fixed = 4, items[1].fixed = 8;
  (void)plan(items, 3, 1000);
  assert_int_equal(verdict(items, 3).fault, NEO_DSA_OVERLAP);
}

/* ---- other sizes */

typedef struct {
  int64_t offset, size, first, last, before, end_before; /* before: in the plan */
} moved;

static int64_t up_to(int64_t n, int64_t align) {
  return (n + align - 1) / align * align;
}

/* Offsets at the sizes of `at`, by what dsa.h says of places alone; returns the peak. */
static int64_t restack(const neo_dsa_stack *s, int64_t align, moved *at) {
  int64_t end[2 * MOST + 2], peak = 0;
  for (size_t k = 0; k < s->n; k++) {
    const neo_dsa_place *x = &s->place[k];
    int64_t offset = 0;
    for (uint32_t i = 0; i < x->n_below; i++) {
      uint32_t under = s->below[x->below + i];
      assert_true(under < k);
      offset = end[under] > offset ? end[under] : offset;
    }
    end[k] = offset;
    if (x->item == NEO_DSA_NO_ITEM)
      continue;
    at[x->item].offset = offset;
    end[k] = up_to(offset + at[x->item].size, align);
    peak = end[k] > peak ? end[k] : peak;
  }
  return peak;
}

static bool overlap(int64_t a, int64_t end_a, int64_t b, int64_t end_b) {
  return a < end_b && b < end_a && a < end_a && b < end_b;
}

/* No two that live together, or, `always`, that were apart in the plan, may meet. */
static void expect_apart(const moved *at, size_t n, bool always) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++) {
      const moved *a = &at[i], *b = &at[k];
      bool together = a->first <= b->last && b->first <= a->last;
      bool apart = !overlap(a->before, a->end_before, b->before, b->end_before);
      if (together || (always && apart))
        assert_false(overlap(a->offset, a->offset + a->size, b->offset, b->offset + b->size));
    }
}

/* Smaller sizes, empty ones and those of the plan; larger ones, of which dsa.h promises that they are apart. */
static void draw_sizes(uint64_t *seed, const neo_dsa_item *items, size_t n, bool larger,
                       moved *at) {
  for (size_t k = 0; k < n; k++) {
    const neo_dsa_item *it = &items[k];
    int64_t most = larger ? 3 * it->size_bytes : it->size_bytes, kind = neo_pick(seed, 0, 3);
    int64_t size = kind == 0 ? 0 : kind == 1 ? it->size_bytes : neo_pick(seed, 0, most);
    at[k] = (moved){0, size, it->first, it->last, it->offset, it->offset + it->size_bytes};
  }
}

static void check_stack(uint64_t *seed, const neo_dsa_item *items, size_t n, int64_t peak,
                        bool always) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_dsa_stack s = neo_dsa_stack_of(items, n, always, &a);
  moved at[MOST];
  assert_true(s.n_below <= 3 * s.n && s.n <= 2 * n);
  for (int round = 0; round < 8; round++) {
    draw_sizes(seed, items, n, round % 2, at);
    int64_t top = restack(&s, items[0].align_bytes, at);
    expect_apart(at, n, always);
    if (round % 2 == 0)
      assert_true(top <= up_to(peak, items[0].align_bytes));
  }
  neo_arena_free(&a);
}

static void buffers_that_live_together_are_apart_at_all_sizes(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int round = 0; round < 400; round++) {
    neo_dsa_item items[MOST];
    size_t n = (size_t)neo_pick(&seed, 1, round % 8 ? 24 : 120);
    int64_t steps = neo_pick(&seed, 1, 60), align = round % 3 ? 64 : 1;
    for (size_t k = 0; k < n; k++) {
      int64_t first = neo_pick(&seed, 0, steps - 1);
      items[k] = item(neo_pick(&seed, 0, 500), first, neo_pick(&seed, first, steps - 1));
      items[k].align_bytes = align;
    }
    neo_dsa_result r = plan_checked(items, n, 500);
    check_stack(&seed, items, n, r.peak_bytes, false);
    check_stack(&seed, items, n, r.peak_bytes, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_plans_are_optimal),
      cmocka_unit_test(a_plan_above_the_bound_is_proved_optimal),
      cmocka_unit_test(small_plans_with_alignments_are_optimal),
      cmocka_unit_test(small_plans_around_fixed_offsets_are_optimal),
      cmocka_unit_test(a_perfect_packing_is_found),
      cmocka_unit_test(the_same_items_give_the_same_plan),
      cmocka_unit_test(a_larger_budget_gives_no_larger_plan),
      cmocka_unit_test(times_with_nothing_alive_cut_the_instance),
      cmocka_unit_test(an_empty_instance_and_empty_buffers_take_nothing),
      cmocka_unit_test(large_sizes_and_late_steps_are_planned),
      cmocka_unit_test(an_instance_that_is_too_wide_for_the_search_is_planned),
      cmocka_unit_test(planted_faults_are_found),
      cmocka_unit_test(each_fault_has_a_name),
      cmocka_unit_test(fixed_items_that_overlap_are_found),
      cmocka_unit_test(buffers_that_live_together_are_apart_at_all_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

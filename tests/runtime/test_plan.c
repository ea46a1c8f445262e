/* Plans, size programs, orders of rows, descriptions. */
#include "base/random.h"
#include "base/status.h"
#include "tests/runtime/toy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t plan_checked(neo_rt_item *items, int32_t n, int64_t align, int64_t *bound) {
  int64_t *scratch = malloc(((size_t)n + 1) * sizeof *scratch), most = 0;
  int64_t peak = neo_rt_plan(items, n, align, scratch, bound);
  free(scratch);
  for (int32_t i = 0; i < n; i++) {
    int64_t end = items[i].offset + items[i].size_bytes;
    assert_int_equal(items[i].offset % align, 0);
    if (end > most && items[i].size_bytes > 0)
      most = end;
  }
  assert_int_equal(neo_rt_plan_valid(items, n), 1);
  assert_int_equal(peak, most);
  assert_true(peak >= *bound);
  return peak;
}

/* The bound by definition: the sum at every step. */
static int64_t slow_bound(const neo_rt_item *items, int32_t n, int32_t steps) {
  int64_t most = 0;
  for (int32_t s = 0; s < steps; s++) {
    int64_t now = 0;
    for (int32_t i = 0; i < n; i++)
      if (items[i].first <= s && s <= items[i].last)
        now += items[i].size_bytes;
    most = now > most ? now : most;
  }
  return most;
}

static void random_plans_are_valid_and_deterministic(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int round = 0; round < 120; round++) {
    neo_rt_item items[60], again[60];
    int32_t n = (int32_t)(neo_splitmix(&seed) % 60),
            steps = 1 + (int32_t)(neo_splitmix(&seed) % 30);
    int64_t align = INT64_C(1) << neo_splitmix(&seed) % 7, bound, other;
    for (int32_t i = 0; i < n; i++) {
      int32_t first = (int32_t)(neo_splitmix(&seed) % (uint64_t)steps);
      int32_t last = first + (int32_t)(neo_splitmix(&seed) % (uint64_t)(steps - first));
      int64_t size = neo_splitmix(&seed) % 8 ? (int64_t)(neo_splitmix(&seed) % 1000) : 0;
      items[i] = (neo_rt_item){size, first, last, -1};
    }
    memcpy(again, items, sizeof items);
    int64_t peak = plan_checked(items, n, align, &bound);
    assert_int_equal(bound, slow_bound(items, n, steps));
    assert_int_equal(peak, plan_checked(again, n, align, &other));
    assert_memory_equal(items, again, (size_t)n * sizeof *items);
  }
}

static void easy_plans_reach_the_bound(void **state) {
  (void)state;
  neo_rt_item chain[50];
  int64_t bound;
  for (int32_t i = 0; i < 50; i++)
    chain[i] = (neo_rt_item){64 * (1 + i % 3), i, i + 1, 0};
  int64_t peak = plan_checked(chain, 50, 64, &bound);
  assert_int_equal(peak, bound);
  neo_rt_item apart[] = {{100, 0, 1, 0}, {100, 2, 3, 0}, {100, 4, 4, 0}};
  assert_int_equal(plan_checked(apart, 3, 1, &bound), 100);
  assert_int_equal(plan_checked(apart, 0, 1, &bound), 0);
}

static void an_invalid_plan_is_noticed(void **state) {
  (void)state;
  neo_rt_item items[] = {{10, 0, 2, 0}, {10, 2, 3, 9}};
  assert_int_equal(neo_rt_plan_valid(items, 2), 0);
  items[1].offset = 10;
  assert_int_equal(neo_rt_plan_valid(items, 2), 1);
  items[1].offset = 0;
  items[1].first = 3;
  assert_int_equal(neo_rt_plan_valid(items, 2), 1);
  items[1].offset = -1;
  assert_int_equal(neo_rt_plan_valid(items, 2), 0);
}

/* One instance: id, lower, upper (exclusive), size. Returns the ratio to the bound. */
static double plan_file(const char *folder, const char *name) {
  char path[512], line[256];
  snprintf(path, sizeof path, "%s/data/%s", folder, name);
  FILE *f = fopen(path, "r");
  if (!f)
    return 0;
  neo_rt_item *items = malloc(20000 * sizeof *items);
  int32_t n = 0;
  if (!fgets(line, sizeof line, f))
    n = 0;
  while (n < 20000 && fgets(line, sizeof line, f)) {
    char *at = strchr(line, ',');
    assert_non_null(at);
    int64_t first = strtoll(at + 1, &at, 10), last = strtoll(at + 1, &at, 10);
    items[n++] = (neo_rt_item){strtoll(at + 1, NULL, 10), (int32_t)first, (int32_t)last - 1, 0};
  }
  fclose(f);
  int64_t bound, peak = plan_checked(items, n, 1, &bound);
  free(items);
  printf("  %-28s %6d items, peak / bound %.4f\n", name, n, (double)peak / (double)bound);
  return (double)peak / (double)bound;
}

static void benchmark_plans_are_near_the_bound(void **state) {
  (void)state;
  const char *shared = getenv("NEO_SHARED");
  static const struct {
    const char *name;
    double most;
  } files[] = {{"minimalloc/A.1048576.csv", 1.25}, {"minimalloc/C.1048576.csv", 1.30},
               {"minimalloc/G.1048576.csv", 1.20}, {"minimalloc/K.1048576.csv", 1.28},
               {"minimalloc/input.12.csv", 1.0},   {"idealloc/resnet50.csv", 1.004}};
  if (!shared) {
    printf("  skipped: NEO_SHARED does not name a folder with data/minimalloc\n");
    skip();
  }
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    assert_true(plan_file(shared, files[i].name) <= files[i].most);
}

/* ------------------------------------------------------------ programs */

static int64_t eval(const int64_t *code, int64_t a, int64_t b) {
  neo_rt_model model = {.n_sizes = 2, .programs = code};
  return neo_rt_eval(&model, 0, (int64_t[]){a, b});
}

static void programs_compute_with_floors_and_saturation(void **state) {
  (void)state;
  enum { END = NEO_RT_OP_END, CON = NEO_RT_OP_CONST, SIZ = NEO_RT_OP_SIZE };
  static const int64_t want[][3] = {/* op, of (7, 2), of (-7, 2) */
                                    {NEO_RT_OP_ADD, 9, -5},   {NEO_RT_OP_SUB, 5, -9},
                                    {NEO_RT_OP_MUL, 14, -14}, {NEO_RT_OP_DIV, 3, -4},
                                    {NEO_RT_OP_MOD, 1, 1},    {NEO_RT_OP_MIN, 2, -7},
                                    {NEO_RT_OP_MAX, 7, 2}};
  for (int i = 0; i < 7; i++) {
    const int64_t code[] = {SIZ, 0, SIZ, 1, want[i][0], END};
    assert_int_equal(eval(code, 7, 2), want[i][1]);
    assert_int_equal(eval(code, -7, 2), want[i][2]);
  }
  const int64_t div[] = {SIZ, 0, SIZ, 1, NEO_RT_OP_DIV, END},
                mod[] = {SIZ, 0, SIZ, 1, NEO_RT_OP_MOD, END};
  const int64_t mul[] = {SIZ, 0, SIZ, 1, NEO_RT_OP_MUL, END};
  assert_int_equal(eval(div, 5, 0), 0);
  assert_int_equal(eval(mod, 5, 0), 0);
  assert_int_equal(eval(mod, -5, -3), -2);
  assert_int_equal(eval(div, INT64_MIN, -1), INT64_MAX);
  assert_int_equal(eval(mul, INT64_MAX, 2), INT64_MAX);
  assert_int_equal(eval(mul, INT64_MAX, -2), INT64_MIN);
  const int64_t nested[] = {SIZ, 0, CON, 3, NEO_RT_OP_ADD, CON, 4, NEO_RT_OP_MUL, END};
  assert_int_equal(eval(nested, 2, 0), 20);
}

static void malformed_programs_give_minus_one(void **state) {
  (void)state;
  enum { END = NEO_RT_OP_END, CON = NEO_RT_OP_CONST, SIZ = NEO_RT_OP_SIZE };
  int64_t deep[100], n = 0;
  for (int i = 0; i < 40; i++) {
    deep[n++] = CON;
    deep[n++] = 1;
  }
  deep[n] = END;
  const int64_t empty[] = {END}, two[] = {CON, 1, CON, 2, END},
                under[] = {CON, 1, NEO_RT_OP_ADD, END};
  const int64_t unknown[] = {CON, 1, CON, 1, 77, END}, size[] = {SIZ, 2, END};
  assert_int_equal(eval(deep, 0, 0), -1);
  assert_int_equal(eval(empty, 0, 0), -1);
  assert_int_equal(eval(two, 0, 0), -1);
  assert_int_equal(eval(under, 0, 0), -1);
  assert_int_equal(eval(unknown, 0, 0), -1);
  assert_int_equal(eval(size, 0, 0), -1);
}

/* ------------------------------------------------------------ orders of rows */

static void a_shuffle_is_a_permutation_of_seed_and_epoch(void **state) {
  (void)state;
  enum { N = 1000 };
  int64_t a[N], b[N];
  uint8_t seen[N] = {0};
  neo_rt_shuffle(1, 2, N, a);
  neo_rt_shuffle(1, 2, N, b);
  assert_memory_equal(a, b, sizeof a);
  for (int i = 0; i < N; i++)
    seen[a[i]]++;
  for (int i = 0; i < N; i++)
    assert_int_equal(seen[i], 1);
  int same = 0;
  for (int epoch = 3; epoch < 13; epoch++) {
    neo_rt_shuffle(1, (uint64_t)epoch, N, b);
    for (int i = 0; i < N; i++)
      same += a[i] == b[i];
  }
  assert_true(same < 40); /* 10 are expected */
  neo_rt_shuffle(2, 2, N, b);
  assert_true(memcmp(a, b, sizeof a) != 0);
  neo_rt_shuffle(1, 2, 0, NULL);
}

static void every_permutation_is_equally_likely(void **state) {
  (void)state;
  int counts[64] = {0};
  for (uint64_t epoch = 0; epoch < 6000; epoch++) {
    int64_t p[3];
    neo_rt_shuffle(5, epoch, 3, p);
    counts[p[0] * 16 + p[1] * 4 + p[2]]++;
  }
  for (int i = 0; i < 64; i++)
    assert_true(counts[i] == 0 || (counts[i] > 850 && counts[i] < 1150));
}

/* ------------------------------------------------------------ descriptions */

static void a_description_names_sizes_tensors_entries_and_memory(void **state) {
  (void)state;
  char text[8192], cut[32];
  size_t n = neo_rt_describe(&toy_model, 0, text, sizeof text);
  assert_int_equal(n, strlen(text));
  static const char *const parts[] = {
      "1 <= B <= 256",
      "X[B, 4] : f32  (toy.expr:2:7)",
      "Y[B] : i32 < 10  (toy.expr:3:7)",
      "E[B/2] : f32",
      "  lr : f32  (toy.expr:7:7)",
      "step(B, X, Y) -> (loss, W)",
      "train, 5 steps, frame 20.0 KiB, lower bound 20.0 KiB (1.000)",
      "key() -> (K)",
      "parameters 160 B"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    assert_non_null(strstr(text, parts[i]));
  memset(cut, 'x', sizeof cut);
  assert_int_equal(neo_rt_describe(&toy_model, 0, cut, 10), n);
  assert_int_equal(strlen(cut), 9);
  assert_int_equal(cut[10], 'x');
  assert_int_equal(neo_rt_describe(&toy_model, 0, NULL, 0), n);
}

static void the_json_description_holds_the_same(void **state) {
  (void)state;
  char text[8192];
  size_t n = neo_rt_describe(&toy_model, 1, text, sizeof text);
  assert_int_equal(n, strlen(text));
  static const char *const parts[] = {
      "{\"name\": \"B\", \"lo\": 1, \"hi\": 256}",
      "{\"name\": \"Y\", \"role\": \"input\", \"type\": \"i32\", \"shape\": [\"B\"], \"bound\": 10",
      "\"shape\": [\"B/2\"]",
      "\"shape\": [4, 10]",
      "{\"name\": \"step\", \"kind\": \"train\", \"sizes\": [\"B\"], ",
      "\"inputs\": [\"X\", \"Y\"], \"outputs\": [\"loss\", \"W\"]"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    assert_non_null(strstr(text, parts[i]));
  int depth = 0;
  for (size_t i = 0; i < n; i++)
    depth += (text[i] == '{' || text[i] == '[') - (text[i] == '}' || text[i] == ']');
  assert_int_equal(depth, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_plans_are_valid_and_deterministic),
      cmocka_unit_test(easy_plans_reach_the_bound),
      cmocka_unit_test(an_invalid_plan_is_noticed),
      cmocka_unit_test(benchmark_plans_are_near_the_bound),
      cmocka_unit_test(programs_compute_with_floors_and_saturation),
      cmocka_unit_test(malformed_programs_give_minus_one),
      cmocka_unit_test(a_shuffle_is_a_permutation_of_seed_and_epoch),
      cmocka_unit_test(every_permutation_is_equally_likely),
      cmocka_unit_test(a_description_names_sizes_tensors_entries_and_memory),
      cmocka_unit_test(the_json_description_holds_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Size programs, orders of rows, descriptions. */
#include "tests/runtime/toy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
      cmocka_unit_test(programs_compute_with_floors_and_saturation),
      cmocka_unit_test(malformed_programs_give_minus_one),
      cmocka_unit_test(a_shuffle_is_a_permutation_of_seed_and_epoch),
      cmocka_unit_test(every_permutation_is_equally_likely),
      cmocka_unit_test(a_description_names_sizes_tensors_entries_and_memory),
      cmocka_unit_test(the_json_description_holds_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Integer arithmetic that may wrap is opaque to the passes after it. */
#include "tests/transform/world.h"

#define HEAD                                                                               \
  "neo-ir 1\nmodule t\nsize B 1..1000000\ninput x : f32 [7]\ninput k : i64 [B]\n"          \
  "input s : i32 [B]\ninput n : i64 [B] < B\ninput a : i64 [4, 8]\ninput b : i64 [8, 4]\n" \
  "temp y : f32 [B]\n"
#define REST "entry forward forward: y = y\n"

static void becomes(const char *defs, const char *part) {
  world w;
  load_two(&w, HEAD, defs);
  apply(&w, neo_pass_wrapping);
  const char *made = text_of(&w);
  if (!strstr(made, part))
    fail_msg("%s is not in\n%s", part, made);
  apply(&w, neo_pass_wrapping);
  assert_string_equal(text_of(&w), made);
  neo_arena_free(&w.arena);
}

static void stays(const char *defs) {
  world w;
  load_two(&w, HEAD, defs);
  const char *before = text_of(&w);
  apply(&w, neo_pass_wrapping);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void a_product_that_may_leave_i64_is_opaque(void **state) {
  (void)state;
  becomes("def @1 y[b: B] = (x[b * b * b * b * b % 7] else 0.0)\n" REST,
          "x[stop(stop(b * b * b * b) * b) % 7]");
  becomes("def @1 y[b: B] = (x[k[b] + 1] else 0.0)\n" REST, "x[stop(k[b] + 1)]");
  becomes("def @1 y[b: B] = (x[-k[b]] else 0.0)\n" REST, "x[stop(-k[b])]");
  becomes("def @1 y[b: B] =\n  sum[j: 7] where k[b] - j < 3;\n  x[j]\n" REST, "stop(k[b] - j) < 3");
  becomes("def @1 y[b: B] =\n  sum[j: k[b] * 4 .. 7] (x[j] else 0.0)\n" REST, "stop(k[b] * 4)");
}

static void what_fits_is_not(void **state) {
  (void)state;
  stays("def @1 y[b: B] = (x[b * b * b % 7] else 0.0)\n" REST);
  stays("def @1 y[b: B] = (x[abs(i64(s[b])) * 4000 - 11] else 0.0)\n" REST);
  stays("def @1 y[b: B] = (x[n[b] * n[b] + step] else 0.0)\n" REST);
  stays("def @1 y[b: B] = (x[clamp(k[b], -1, 4) * 1000000 + k[b] % 8] else 0.0)\n" REST);
  stays("def @1 y[b: B] =\n  sum[j: k[b]] (x[j * 4 + 1] else 0.0)\n" REST);
}

/* A sum of products is found by its form. */
static void values_that_nobody_asks_stay_as_they_are(void **state) {
  (void)state;
  stays("temp c : i64 [4, 4]\ndef @1 c[i: 4, j: 4] =\n  sum[l: 8] a[i, l] * b[l, j]\n"
        "entry forward forward: c = c\n");
}

static void values_that_become_indices_are_opaque(void **state) {
  (void)state;
  becomes("temp h : i64 [B]\ntemp g : i64 [B]\ndef @1 h[b: B] = k[b] * 4\ndef @2 g[b: B] = h[b]\n"
          "def @3 y[b: B] = (x[g[b] / 4] else 0.0)\n" REST,
          "h[b: B] = stop(k[b] * 4)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_that_may_leave_i64_is_opaque),
      cmocka_unit_test(what_fits_is_not),
      cmocka_unit_test(values_that_nobody_asks_stay_as_they_are),
      cmocka_unit_test(values_that_become_indices_are_opaque),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

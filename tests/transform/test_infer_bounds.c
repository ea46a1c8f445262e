/* Tensors of which only a box is read. */
#include "tests/transform/world.h"

#define HEAD                                                                        \
  "neo-ir 1\nmodule t\nsize N 1..64\ninput d : f32 [9, 4]\ninput W : f32 [40, 4]\n" \
  "temp v : f32 [9, 40]\ntemp y : f32 [9, 16]\n"                                    \
  "def @1 v[t: 9, k: 40] =\n  sum[j: 4] d[t, j] * W[k, j]\n  then f32(k) * acc0\n"

static void becomes(const char *rest, const char *part, const char *reader) {
  world w;
  load_two(&w, HEAD, rest);
  apply(&w, neo_pass_infer_bounds);
  const char *made = text_of(&w);
  if (!strstr(made, part) || !strstr(made, reader))
    fail_msg("%s%sare not in\n%s", part, reader, made);
  apply(&w, neo_pass_infer_bounds);
  assert_string_equal(text_of(&w), made);
  neo_arena_free(&w.arena);
}

static void stays(const char *rest) {
  world w;
  load_two(&w, HEAD, rest);
  const char *before = text_of(&w);
  apply(&w, neo_pass_infer_bounds);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void what_nobody_reads_is_not_made(void **state) {
  (void)state;
  becomes("def @2 y[t: 9, k: 16] = v[t, k]\nentry forward forward: y = y\n",
          " v[t: 9, k: 16] =\n    sum[j: 4] d[t, j] * W[k, j]\n    then f32(k) * acc0\n",
          " y[t: 9, k: 16] = v[t, k]\n");
}

static void it_counts_from_the_first_element_that_is_read(void **state) {
  (void)state;
  becomes("def @2 y[t: 9, k: 16] = v[t, k + 24] + (v[t - 1, k + 23] else 0.0)\n"
          "entry forward forward: y = y\n",
          " v[t: 9, k: 17] =\n    sum[j: 4] d[t, j] * W[k + 23, j]\n"
          "    then f32(k + 23) * acc0\n",
          " y[t: 9, k: 16] = v[t, k + 1] + (v[t - 1, k] else 0.0)\n");
}

static void what_is_named_or_read_nearly_all_stays(void **state) {
  (void)state;
  stays("def @2 y[t: 9, k: 16] = v[t, k]\nentry forward forward: y = y, v = v\n");
  stays("def @2 y[t: 9, k: 16] = v[t, 2 * k + 6] + v[t, k]\nentry forward forward: y = y\n");
  stays("def @2 y[t: 9, k: 16] = (v[t, 3 * k] else 0.0)\nentry forward forward: y = y\n");
}

static void values_are_the_same(void **state) {
  (void)state;
  static const char rest[] = "def @2 y[t: 9, k: 16] = v[t, k + 20] + (v[t - 1, 35 - k] else 0.5)\n"
                             "entry forward forward: y = y\n";
  world before, after;
  load_two(&before, HEAD, rest);
  load_two(&after, HEAD, rest);
  apply(&after, neo_pass_infer_bounds);
  assert_non_null(strstr(text_of(&after), "temp v : f32 [9, 16]"));
  const neo_values *x = neo_interp_output(values_of(&before, 1), 0);
  const neo_values *y = neo_interp_output(values_of(&after, 1), 0);
  for (int64_t k = 0; k < x->n; k++)
    assert_true(x->at[k].f == y->at[k].f);
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_nobody_reads_is_not_made),
      cmocka_unit_test(it_counts_from_the_first_element_that_is_read),
      cmocka_unit_test(what_is_named_or_read_nearly_all_stays),
      cmocka_unit_test(values_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

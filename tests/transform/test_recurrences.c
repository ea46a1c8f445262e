/* Passes leave definitions of a recurrence whole: each of these would become several that have no
 * order. */
#include "ir/order.h"
#include "tests/transform/world.h"
#include "transform/winograd.h"

static neo_status filter_always(neo_module *m, const neo_pass_target *target) {
  (void)target;
  return neo_winograd(m, true);
}

static void stays(neo_pass_fn *pass, const char *text) {
  world w;
  neo_str why;
  load(&w, text);
  neo_str_init(&why, &w.arena);
  const char *before = text_of(&w);
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  apply(&w, pass);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void remainders_make_no_pieces(void **state) {
  (void)state;
  stays(neo_pass_polyphase, "neo-ir 1\nmodule t\nsize N 1..9\ninput x : f32 [N]\ntemp y : f32 [N]\n"
                            "def @1 y[i: N] =\n  sum[t: i] where (t + i) % 3 != 1;\n  y[t]\n"
                            "  then x[i] + acc0\nentry forward forward: y = y\n");
}

static void a_filter_along_its_own_axis_is_not_made_from_fewer_products(void **state) {
  (void)state;
  stays(filter_always,
        "neo-ir 1\nmodule t\ninput F : f32 [48, 64, 3]\ntemp Y : f32 [48, 64]\n"
        "def @1 Y[k: 48, q: 64] =\n  sum[c: 48, s: 3] F[k, c, s] * (Y[c, q + s - 3] else 0.0)\n"
        "  then acc0\nentry forward forward: Y = Y\n");
}

static void a_condition_stays_with_the_reads_that_it_orders(void **state) {
  (void)state;
  stays(neo_pass_factor,
        "neo-ir 1\nmodule t\ninput p : i32 [40] < 40\ninput U : f32 [16, 16]\n"
        "temp h : f32 [40, 16]\ndef @1 h[t: 40, j: 16] =\n"
        "  sum[k: 16] where i64(p[t]) < t;\n  h[i64(p[t]), k] * U[k, j]\n  then 1.0 + acc0\n"
        "entry forward forward: h = h\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(remainders_make_no_pieces),
      cmocka_unit_test(a_filter_along_its_own_axis_is_not_made_from_fewer_products),
      cmocka_unit_test(a_condition_stays_with_the_reads_that_it_orders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

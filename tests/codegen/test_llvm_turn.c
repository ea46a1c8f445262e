/* Tiles whose lanes lie apart in memory and whose rows side by side: they are turned before they
 * are stored, and agree with the interpreter. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const int64_t elems[] = {4000, 4000};

static const char *kernel(loop_fix *f, const char *type, const char *body) {
  return neo_arena_printf(
      &f->arena,
      "neo-loop 2\nkernel k(x: %s read noalias, z: %s write noalias) units 3\nfor u in 0..3 unit\n"
      "%s",
      type, type, body);
}

static void agrees(loop_fix *f, const char *text) {
  loop_check(f, text, &(loop_case){.n_elems = elems, .tolerance = 1e-5, .seed = 5});
}

static size_t count(loop_fix *f, const char *text, const char *cpu, const char *what) {
  size_t n = 0;
  for (const char *at = loop_asm(f, text, cpu); (at = strstr(at, what)); at++)
    n++;
  return n;
}

/* Each number of rows, more of them than lanes too; each width. */
static void rows_and_lanes_of_any_number_agree(void **state) {
  loop_fix *f = *state;
  for (int rows = 2; rows <= 21; rows += rows < 9 ? 1 : 4)
    for (int lanes = 2; lanes <= 16; lanes *= 2) {
      const char *body = neo_arena_printf(&f->arena,
                                          "  for r in 0..%d unroll\n    for l in 0..%d vector\n"
                                          "      z[u*900 + l*24 + r + 7] = x[r*32 + l + u] + 2.0\n",
                                          rows, lanes);
      agrees(f, kernel(f, "f32", body));
    }
}

static void each_size_of_element_agrees(void **state) {
  static const char body[] =
      "  for r in 0..11 unroll\n    for v in 0..2 unroll\n      for l in 0..8 vector\n"
      "        z[u*900 + v*400 + l*13 + r] = x[r*32 + v*8 + l + u]\n";
  static const char *const types[] = {"f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u8"};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    agrees(*state, kernel(*state, types[k], body));
}

/* Other loops, other orders of them, steps and starts; dead lanes; rows that begin anywhere. */
static void loops_and_conditions_agree(void **state) {
  static const char *const bodies[] = {
      "  for v in 0..3 unroll\n    for r in 0..6 unroll\n      for l in 0..8 vector\n"
      "        z[u*900 + v*9 + l*30 + r] = x[v*60 + r*8 + l]\n",
      "  for r in 0..6 unroll\n    for v in 0..3 unroll\n      for l in 0..8 vector\n"
      "        z[u*900 + v*9 + l*30 + r] = x[v*60 + r*8 + l] if l + v*8 < 19\n",
      "  for r in 3..9 unroll\n    for l in 0..8 vector\n"
      "      z[u*900 - l*10 + r + 90] = x[r*8 + l + u] if l < u*3\n",
      "  for r in 0..6 unroll\n    for l in 0..8 vector\n"
      "      z[u*900 + l*10 + r] = x[r*8 + l] if l + r < 9\n",
      "  for r in 0..6 unroll\n    for l in 0..8 vector\n"
      "      z[u*900 + l*10 + r] = x[2*(r*8 + l) if l < u*4 else 7.0] if l < u*3\n",
      "  for r in 0..6 unroll\n    for l in 0..8 vector\n"
      "      z[u*900 + l*10 + r*2] = x[r*8 + l]\n",
      "  for r in 0..12 step 2 unroll\n    for l in 0..8 vector\n"
      "      z[u*900 + l*20 + r] = x[r*8 + l]\n",
      "  for r in 0..6 unroll\n    for l in 0..8 vector\n"
      "      z[u*900 + (l*10 + r)*7 % 80] = x[r*8 + l]\n",
  };
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++)
    agrees(*state, kernel(*state, "f32", bodies[k]));
}

static void rows_side_by_side_are_stored_together(void **state) {
  loop_fix *f = *state;
  static const char body[] =
      "  for r in 0..8 unroll\n    for l in 0..8 vector\n      z[u*900 + l*%d + r%s] = x[r*8 + l]\n";
  const char *turned = kernel(f, "f32", neo_arena_printf(&f->arena, body, 13, ""));
  const char *apart = kernel(f, "f32", neo_arena_printf(&f->arena, body, 30, "*3"));
  assert_int_equal(count(f, turned, "x86-64-v3", "vextractps"), 0);
  assert_true(count(f, turned, "x86-64-v3", "vunpck") >= 16);
  assert_true(count(f, apart, "x86-64-v3", "vextractps") > 8);
}

/* An update: what is read lies as what is stored does, and is computed of runs. */
static void updates_of_any_rows_and_lanes_agree(void **state) {
  loop_fix *f = *state;
  static const char *const values[] = {"x[u*900 + l*24 + r + 7] - 0.5 * acc[r, l]",
                                       "exp(acc[r, l]) * x[u*900 + l*24 + r + 7] + x[l + u]",
                                       "x[l*24 + r if l < u*5 else 3.0] + acc[r, l] * acc[r, l]"};
  static const int some[] = {3, 4, 7, 8, 13, 21};
  for (int i = 0; i < 6; i++)
    for (int lanes = 4; lanes <= 16; lanes *= 2)
      for (int k = i % 2; k < 6; k += 2) {
        const char *body = neo_arena_printf(
            &f->arena,
            "  reg acc[%d, %d]: f32\n  for r in 0..%d unroll\n    for l in 0..%d vector\n"
            "      acc[r, l] = x[r*40 + l + u]\n"
            "  for r in 0..%d unroll\n    for l in 0..%d vector\n"
            "      z[u*900 + l*24 + r + 7] = %s%s\n",
            some[i], lanes, some[i], lanes, some[i], lanes, values[k / 2],
            k % 2 ? " if l < u*3 + 1" : "");
        agrees(f, kernel(f, "f32", body));
      }
}

/* Registers of conditions are turned as others are. */
static void updates_by_conditions_agree(void **state) {
  loop_fix *f = *state;
  for (int lanes = 4; lanes <= 16; lanes *= 2) {
    const char *body = neo_arena_printf(
        &f->arena,
        "  reg is[8, %d]: bool\n  for r in 0..8 unroll\n    for l in 0..%d vector\n"
        "      is[r, l] = x[r*40 + l + u] < 0.25\n  for r in 0..8 unroll\n    for l in 0..%d vector\n"
        "      z[u*900 + l*24 + r + 7] = select(is[r, l], x[u*900 + l*24 + r + 7], 2.0)\n",
        lanes, lanes, lanes);
    agrees(f, kernel(f, "f32", body));
  }
}

static void what_lies_like_the_result_is_read_in_runs(void **state) {
  loop_fix *f = *state;
  static const char body[] =
      "  reg acc[8, 8]: f32\n  for r in 0..8 unroll\n    for l in 0..8 vector\n"
      "      acc[r, l] = x[r*8 + l]\n  for r in 0..8 unroll\n    for l in 0..8 vector\n"
      "      z[u*900 + l*13 + r] = x[u*900 + l*13 + r%s] - acc[r, l]\n";
  const char *runs = kernel(f, "f32", neo_arena_printf(&f->arena, body, ""));
  const char *apart = kernel(f, "f32", neo_arena_printf(&f->arena, body, "*2"));
  assert_int_equal(count(f, runs, "x86-64-v3", "vinsertps"), 0);
  assert_true(count(f, apart, "x86-64-v3", "vinsertps") > 8);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(rows_and_lanes_of_any_number_agree),  TEST(each_size_of_element_agrees),
      TEST(loops_and_conditions_agree),          TEST(rows_side_by_side_are_stored_together),
      TEST(updates_of_any_rows_and_lanes_agree), TEST(what_lies_like_the_result_is_read_in_runs),
      TEST(updates_by_conditions_agree),
  };
  return cmocka_run_group_tests_name("llvm_turn", tests, NULL, NULL);
}

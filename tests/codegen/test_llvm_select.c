/* Choices that all lanes share; what lanes make together. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#define AT "u*64 + k + l"
#define LOOP                                                                  \
  "neo-loop 2\nkernel k(x: f32 read noalias, z: f32 write noalias) units 3\n" \
  "for u in 0..3 unit\n  for k in 0..64 step 16\n    for l in 0..16 vector\n      "

static const char *const texts[] = {
    LOOP "z[" AT "] = select(x[u] < 0.25, x[" AT "] * 2.0, 0.0) + 1.0\n",
    LOOP "z[" AT "] = select(x[u] < 0.25, 0.0, x[" AT "] * 2.0)\n",
    LOOP "z[" AT "] = select(x[u] < 0.25, 0.0, x[" AT "]) * select(x[u + 1] < 0.5, -0.0, x[" AT
         "])\n",
};

static void the_side_that_is_not_taken_does_not_show(void **state) {
  static const int64_t elems[] = {192, 192};
  for (uint64_t seed = 1; seed < 4; seed++)
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
      loop_check(*state, texts[k],
                 &(loop_case){.n_elems = elems, .tolerance = 0, .seed = seed, .specials = true});
}

static void nothing_or_something_is_a_mask_made_before_the_loop(void **state) {
  for (size_t k = 0; k < 2; k++)
    assert_null(strstr(loop_asm(*state, texts[k], "x86-64-v3"), "vpmovzx"));
}

#define TREE(op)                                                                                   \
  "neo-loop 2\nkernel k(x: f32 read noalias, z: f32 write noalias) units 3\n"                      \
  "for u in 0..3 unit\n  reg a[8]: f32\n  for l in 0..8 vector\n    a[l] = x[u*8 + l]\n"           \
  "  z[u] = " op "(" op "(" op "(a[0], a[4]), " op "(a[2], a[6])), " op "(" op "(a[1], a[5]), " op \
  "(a[3], a[7])))\n"
/* Lane 7 twice, lane 3 not at all. */
#define NO_TREE                                                                          \
  "neo-loop 2\nkernel k(x: f32 read noalias, z: f32 write noalias) units 3\n"            \
  "for u in 0..3 unit\n  reg a[8]: f32\n  for l in 0..8 vector\n    a[l] = x[u*8 + l]\n" \
  "  z[u] = max(max(max(a[0], a[4]), max(a[2], a[6])), max(max(a[1], a[5]), max(a[7], a[7])))\n"

static size_t count(const char *text, const char *what) {
  size_t n = 0;
  for (const char *p = strstr(text, what); p; p = strstr(p + 1, what))
    n++;
  return n;
}

static void lanes_are_joined_half_by_half(void **state) {
  static const int64_t elems[] = {24, 3};
  static const char *const all[] = {TREE("max"), TREE("min"), NO_TREE};
  static const char *const levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    for (uint64_t seed = 1; seed < 9; seed++)
      loop_check(*state, all[k],
                 &(loop_case){.n_elems = elems, .tolerance = 0, .seed = seed, .specials = true});
  for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
    assert_int_equal(count(loop_asm(*state, all[0], levels[k]), "maxss"), 1);
    assert_true(count(loop_asm(*state, NO_TREE, levels[k]), "maxss") > 1);
  }
}

#define GUARDED(cond)                                                                              \
  "neo-loop 2\nkernel k(x: f32 read noalias, w: f32 read noalias, z: f32 write noalias) units 3\n" \
  "for u in 0..3 unit\n  for k in 0..64 step 16\n    for l in 0..16 vector\n      "                \
  "z[" AT "] = x[" AT " if " cond " else 1.0]\n"

/* At a page without memory a vector whose mask is empty costs hundreds of cycles. */
static void a_vector_that_data_mask_out_is_not_read_where_it_lies(void **state) {
  static const int64_t elems[] = {192, 192, 192};
  static const char of_data[] = GUARDED("w[" AT "] < 0.25"), of_index[] = GUARDED("k + l < 50");
  for (uint64_t seed = 1; seed < 9; seed++) {
    loop_case c = {.n_elems = elems, .tolerance = 0, .seed = seed, .specials = true};
    loop_check(*state, of_data, &c);
    loop_check(*state, of_index, &c);
  }
  assert_non_null(strstr(loop_asm(*state, of_data, "x86-64-v4"), "kortest"));
  assert_null(strstr(loop_asm(*state, of_index, "x86-64-v4"), "kortest"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(the_side_that_is_not_taken_does_not_show),
      TEST(nothing_or_something_is_a_mask_made_before_the_loop),
      TEST(lanes_are_joined_half_by_half),
      TEST(a_vector_that_data_mask_out_is_not_read_where_it_lies),
  };
  return cmocka_run_group_tests_name("llvm_select", tests, NULL, NULL);
}

/* A guarded element is only read where its condition holds. */
#include "codegen/loop/loop.h"
#include "tests/codegen/lower_test.h"

static void check(const char *text) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    lower_options o = {.seed = seed, .n_random = 3, .jit = seed == 1};
    lower_check(text, &o);
  }
}

#define HEAD "input x : f32 [5]\ninput y : f32 [9]\ntemp S : f32 [9]\n"

static void the_second_side_of_an_and_is_read_where_the_first_holds(void **state) {
  (void)state;
  check(HEAD "def S[i: 9] = select(i < 5 and 0.5 < x[i], y[i], 0.0)\n");
  check(HEAD "def S[i: 9] =\n  sum[k: 9] where k < 5 and x[k] < 0.5;\n  y[k]\n  then acc0\n");
}

static void the_second_side_of_an_or_is_read_where_the_first_does_not(void **state) {
  (void)state;
  check(HEAD "def S[i: 9] = select(5 <= i or 0.5 < x[i], y[i], 0.0)\n");
  check(HEAD "def S[i: 9] =\n  sum[k: 9] where 5 <= k or x[k] < 0.5;\n  y[k]\n  then acc0\n");
}

/* leaf[order[i]]: a condition on it reads both, but what a select chooses is not sure to be read. */
static void what_a_condition_reads_is_sure_to_be_read(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_kernel *k = neo_kernel_new(&a, "k");
  uint32_t buf[3];
  for (int i = 0; i < 3; i++)
    buf[i] = neo_kernel_buf(k, (neo_kbuf){.name = "b", .type = NEO_I64_T, .use = NEO_BUF_READ});
  const neo_lx *zero = neo_lx_int(k, 0), *i = neo_lx_var(k, neo_kernel_var(k, "i"));
  const neo_lx *order = neo_lx_load(k, buf[0], i), *leaf = neo_lx_load(k, buf[1], order);
  const neo_lx *cond = neo_lx_op2(k, NEO_OP_LE, zero, leaf);
  const neo_lx *row = neo_lx_loadif(k, buf[2], leaf, cond, zero);
  assert_true(neo_lx_always_loads(cond, buf[1], order));
  assert_true(neo_lx_always_loads(cond, buf[0], i));
  assert_true(neo_lx_always_loads(row, buf[0], i));
  assert_false(neo_lx_always_loads(row, buf[2], leaf));
  assert_false(neo_lx_always_loads(cond, buf[0], zero));
  const neo_lx *chosen = neo_lx_op3(k, NEO_OP_SELECT, cond, neo_lx_load(k, buf[2], i), zero);
  assert_true(neo_lx_always_loads(chosen, buf[0], i));
  assert_false(neo_lx_always_loads(chosen, buf[2], i));
  const neo_lx *both = neo_lx_op2(k, NEO_OP_AND, neo_lx_op2(k, NEO_OP_LT, i, zero), cond);
  assert_false(neo_lx_always_loads(both, buf[0], i));
  neo_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_second_side_of_an_and_is_read_where_the_first_holds),
      cmocka_unit_test(the_second_side_of_an_or_is_read_where_the_first_does_not),
      cmocka_unit_test(what_a_condition_reads_is_sure_to_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

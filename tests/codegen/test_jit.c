/* Objects linked into this process (codegen/llvm/jit.h): what they may call, and what is refused. */
#include "codegen/llvm/emit.h"
#include "codegen/llvm/jit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static neo_arena arena;

static int set_up(void **state) {
  (void)state;
  neo_arena_init(&arena, neo_alloc_default, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  neo_arena_free(&arena);
  return 0;
}

/* An object with `ret f(x) { return callee(x); }`. */
static const char *object(const char *target, char ret, const char *callee, size_t *n) {
  neo_target t;
  neo_llvm *l;
  const char *why, *data;
  const neo_entry_arg arg[] = {{.kind = NEO_ARG_PARAM, .value = 0}};
  if (neo_target_choose(&arena, target, NULL, &t, &why) || neo_llvm_new(&arena, &t, "m", &l, &why))
    fail_msg("%s", why);
  neo_llvm_entry(l, "f", ret, ret == 'd' ? "d" : "i", callee, arg, 1);
  if (neo_llvm_finish(l, &why) || neo_llvm_take_object(l, &arena, &data, n, &why))
    fail_msg("%s", why);
  neo_llvm_free(l);
  return data;
}

static int32_t twice(int32_t x) {
  return 2 * x;
}

static const neo_jit_symbol table[] = {{"twice", (neo_jit_fn *)twice}};

static void the_table_comes_first(void **state) {
  (void)state;
  size_t n;
  neo_jit *j;
  const void *at;
  const char *why, *data = object(NULL, 'i', "twice", &n);
  assert_int_equal(neo_jit_load(&arena, data, n, table, 1, "f", &j, &at, &why), NEO_OK);
  int32_t (*f)(int32_t) = (int32_t(*)(int32_t))(uintptr_t)at;
  assert_int_equal(f(-5), -10);
  neo_jit_free(j);
}

static void functions_of_libm_are_there(void **state) {
  (void)state;
  size_t n;
  neo_jit *j;
  const void *at;
  const char *why, *data = object(NULL, 'd', "expm1", &n);
  assert_int_equal(neo_jit_load(&arena, data, n, table, 1, "f", &j, &at, &why), NEO_OK);
  double (*f)(double) = (double (*)(double))(uintptr_t)at;
  assert_true(f(0.0) == 0.0 && f(1.0) > 1.718281 && f(1.0) < 1.718282);
  neo_jit_free(j);
}

static void the_process_is_not_searched(void **state) {
  (void)state;
  size_t n;
  neo_jit *j;
  const void *at;
  const char *why, *data = object(NULL, 'i', "putchar", &n);
  assert_int_equal(neo_jit_load(&arena, data, n, table, 1, "f", &j, &at, &why), NEO_INTERNAL);
  assert_null(j);
  assert_non_null(strstr(why, "putchar"));
}

static void a_symbol_that_is_missing_is_told(void **state) {
  (void)state;
  size_t n;
  neo_jit *j;
  const void *at;
  const char *why, *data = object(NULL, 'i', "twice", &n);
  assert_int_equal(neo_jit_load(&arena, data, n, table, 1, "g", &j, &at, &why), NEO_INTERNAL);
  assert_non_null(strstr(why, "g"));
}

static void what_is_no_object_of_this_machine_is_refused(void **state) {
  (void)state;
  size_t n;
  neo_jit *j;
  const void *at;
  const char *why, *data = object("aarch64", 'i', "twice", &n);
#if defined(__x86_64__)
  assert_int_equal(neo_jit_load(&arena, data, n, table, 1, "f", &j, &at, &why), NEO_UNSUPPORTED);
#endif
  data = object(NULL, 'i', "twice", &n);
  assert_int_equal(neo_jit_load(&arena, data, 10, table, 1, "f", &j, &at, &why), NEO_UNSUPPORTED);
  assert_int_equal(neo_jit_load(&arena, data, n / 2, table, 1, "f", &j, &at, &why), NEO_INTERNAL);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(the_table_comes_first),
      TEST(functions_of_libm_are_there),
      TEST(the_process_is_not_searched),
      TEST(a_symbol_that_is_missing_is_told),
      TEST(what_is_no_object_of_this_machine_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Compiling when memory ends: whichever allocation of the arena fails, the pipeline returns
 * NEO_MEMORY, says so (in which pass, if it was in one), and can be used again. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "tests/fault.h"
#include "tools/pipeline/compile.h"
#include <stdio.h>
#include <string.h>

static const char *const imports[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};

/* *in_pass: did memory end in a pass, and does the text say in which? */
static neo_status compile(neo_alloc alloc, bool *in_pass) {
  neo_compile_options o = {.path = NEO_TEST_SOURCE_DIR "/models/mnist/mlp.expr",
                           .import_paths = imports,
                           .passes = {.verify = true},
                           .alloc = alloc};
  neo_compilation c;
  neo_compilation_init(&c, &o);
  neo_status s = neo_compile_plan(&c);
  *in_pass = c.failed_pass && c.why && strstr(c.why, "out of memory in the pass ") &&
             strstr(c.why, c.failed_pass);
  assert_true(!s || c.why);
  neo_compilation_free(&c);
  return s;
}

static void any_allocation_may_fail(void **state) {
  (void)state;
  neo_alloc_fault count = {0};
  bool in_pass, in_any = false;
  assert_int_equal(compile(neo_alloc_with_fault(&count), &in_pass), NEO_OK);
  assert_true(count.count > 20);
  for (size_t n = 1; n <= count.count; n += 1 + n / 6) {
    neo_alloc_fault fault = {.fail_at = n, .forever = n % 2};
    neo_status s = compile(neo_alloc_with_fault(&fault), &in_pass);
    if (s != NEO_MEMORY)
      printf("allocation %zu of %zu: %s\n", n, count.count, neo_status_text(s));
    assert_int_equal(s, NEO_MEMORY);
    in_any = in_any || in_pass;
  }
  assert_true(in_any);
  assert_int_equal(compile(neo_alloc_default, &in_pass), NEO_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

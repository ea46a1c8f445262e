/* Machine code that is made while kernels are still lowered: the same as made afterwards. */
// clang-format off
#define _GNU_SOURCE 1 /* sched_setaffinity */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "base/file.h"
#include "tests/fault.h"
#include "tools/pipeline/compile.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const imports[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};

static neo_compile_options options(const char *folder, neo_alloc alloc) {
  return (neo_compile_options){.path = NEO_TEST_SOURCE_DIR "/models/mnist/mlp.expr",
                               .import_paths = imports,
                               .out_dir = folder,
                               .emit = NEO_EMIT_SO,
                               .runtime = NEO_RUNTIME_NONE,
                               .alloc = alloc};
}

static neo_status ahead(const char *folder, neo_alloc alloc) {
  neo_compile_options o = options(folder, alloc);
  neo_compilation c;
  neo_compilation_init(&c, &o);
  neo_status s = neo_compile_all(&c);
  neo_compilation_free(&c);
  return s;
}

static neo_status afterwards(const char *folder) {
  neo_compile_options o = options(folder, neo_alloc_default);
  neo_compilation c;
  neo_compilation_init(&c, &o);
  neo_status s = neo_compile_plan(&c);
  if (!s)
    s = neo_compile_emit(&c);
  neo_compilation_free(&c);
  return s;
}

/* The library's bytes; it is removed. */
static char *take_library(neo_arena *a, const char *folder, size_t *n) {
  enum { LIMIT_BYTES = 1 << 24 };
  char *data;
  const char *path = neo_path_join(a, folder, "libmlp.so");
  assert_int_equal(neo_file_read(&neo_io_default, a, path, LIMIT_BYTES, &data, n), NEO_OK);
  unlink(path);
  return data;
}

static void ahead_or_afterwards_and_on_one_core_the_bytes_are_the_same(void **state) {
  char folder[] = "/tmp/neo-ahead-XXXXXX";
  neo_arena a;
  cpu_set_t all, one;
  size_t n, m;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  assert_non_null(mkdtemp(folder));
  assert_int_equal(afterwards(folder), NEO_OK);
  char *expected = take_library(&a, folder, &n);
  assert_int_equal(ahead(folder, neo_alloc_default), NEO_OK);
  char *made = take_library(&a, folder, &m);
  assert_true(n == m && memcmp(expected, made, n) == 0);
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (size_t k = 0; CPU_COUNT(&one) == 0; k++)
    if (CPU_ISSET(k, &all))
      CPU_SET(k, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(ahead(folder, neo_alloc_default), NEO_OK);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  made = take_library(&a, folder, &m);
  assert_true(n == m && memcmp(expected, made, n) == 0);
  rmdir(folder);
  neo_arena_free(&a);
}

static void memory_may_end_in_any_thread(void **state) {
  char folder[] = "/tmp/neo-ahead-XXXXXX";
  neo_alloc_fault count = {0};
  (void)state;
  assert_non_null(mkdtemp(folder));
  assert_int_equal(ahead(folder, neo_alloc_with_fault(&count)), NEO_OK);
  for (size_t part = 4; part < 8; part++) {
    neo_alloc_fault fault = {.fail_at = count.count * part / 8, .forever = true};
    assert_int_equal(ahead(folder, neo_alloc_with_fault(&fault)), NEO_MEMORY);
  }
  char *path = NULL;
  assert_true(asprintf(&path, "%s/libmlp.so", folder) > 0);
  unlink(path);
  free(path);
  assert_int_equal(rmdir(folder), 0); /* nothing else is left there */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ahead_or_afterwards_and_on_one_core_the_bytes_are_the_same),
      cmocka_unit_test(memory_may_end_in_any_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

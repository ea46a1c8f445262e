/* Constant data and entries: what JIT-compiled C would see. Targets: what may be asked for. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static neo_llvm *new_module(loop_fix *f) {
  neo_target t;
  neo_llvm *l;
  const char *why;
  if (neo_target_choose(&f->arena, NULL, NULL, &t, &why))
    fail_msg("%s", why);
  if (neo_llvm_new(&f->arena, &t, "test", &l, &why))
    fail_msg("%s", why);
  return l;
}

static void *address(neo_llvm *l, const char *symbol) {
  const char *why;
  void *p = neo_llvm_jit(l, symbol, &why);
  if (!p)
    fail_msg("%s", why);
  return p;
}

static void finish(neo_llvm *l) {
  const char *why;
  if (neo_llvm_finish(l, &why))
    fail_msg("%s", why);
}

typedef struct {
  const char *name;
  uint8_t kind;
  int64_t x;
  neo_rt_fn *fn;
  const void *nothing;
} row;

typedef struct {
  int32_t n;
  const row *rows;
  const uint8_t *bytes;
  const int16_t *none;
} table;

static void records_have_the_layout_of_c(void **state) {
  loop_fix *f = *state;
  neo_llvm *l = new_module(f);
  const char *why;
  static const uint8_t bytes[5] = {1, 0, 255, 7, 0};
  const neo_lconst *rows[2], *fields[5];
  for (int i = 0; i < 2; i++) {
    const neo_lconst *field[] = {neo_lconst_string(l, i ? "two" : "one \"1\""),
                                 neo_lconst_int(l, 8, 200 + i), neo_lconst_int(l, 64, -5 - i),
                                 neo_lconst_symbol(l, "late"), neo_lconst_null(l)};
    rows[i] = neo_lconst_struct(l, field, 5);
  }
  fields[0] = neo_lconst_int(l, 32, 2);
  fields[1] = neo_lconst_array(l, rows, 2);
  fields[2] = neo_lconst_bytes(l, bytes, 5, 64);
  fields[3] = neo_lconst_array(l, NULL, 0);
  neo_llvm_global(l, "record", neo_lconst_struct(l, fields, 4), true);
  /* The kernel that the record names comes after it. */
  neo_kernel *k = loop_kernel(f, "neo-loop 2\nkernel k(z: i64 write) units 1\nz[0] = 42\n");
  if (neo_llvm_kernel(l, k, "late", &why))
    fail_msg("%s", why);
  finish(l);
  const table *t = address(l, "record");
  assert_int_equal(t->n, 2);
  assert_string_equal(t->rows[0].name, "one \"1\"");
  assert_string_equal(t->rows[1].name, "two");
  assert_int_equal(t->rows[1].kind, 201);
  assert_int_equal(t->rows[1].x, -6);
  assert_null(t->rows[1].nothing);
  assert_memory_equal(t->bytes, bytes, 5);
  assert_int_equal((uintptr_t)t->bytes % 64, 0);
  assert_null(t->none);
  int64_t z = 0;
  void *buf[] = {&z};
  neo_rt_args args = {.buf = buf, .hi = 1};
  assert_int_equal(t->rows[0].fn(&args), 0);
  assert_int_equal(z, 42);
  assert_ptr_equal((void *)(uintptr_t)t->rows[1].fn, address(l, "late"));
  neo_llvm_free(l);
}

/* Entries call functions of the C library here, which the process has. */
static void entries_pass_their_arguments_on(void **state) {
  loop_fix *f = *state;
  neo_llvm *l = new_module(f);
  const neo_entry_arg copy[] = {{.kind = NEO_ARG_PARAM, .value = 0},
                                {.kind = NEO_ARG_ARRAY, .value = 1, .n = 3},
                                {.kind = NEO_ARG_PARAM, .value = 4}};
  neo_llvm_entry(l, "gather", 'p', "plllz", "memcpy", copy, 3);
  const neo_entry_arg power[] = {{.kind = NEO_ARG_PARAM, .value = 1},
                                 {.kind = NEO_ARG_PARAM, .value = 0}};
  neo_llvm_entry(l, "swapped", 'd', "dd", "pow", power, 2);
  const neo_entry_arg compare[] = {{.kind = NEO_ARG_SYMBOL, .symbol = "word"},
                                   {.kind = NEO_ARG_PARAM, .value = 0}};
  neo_llvm_entry(l, "is_word", 'i', "p", "strcmp", compare, 2);
  const neo_entry_arg letter[] = {{.kind = NEO_ARG_INT, .value = -3}};
  neo_llvm_entry(l, "three", 'i', "", "abs", letter, 1);
  const neo_lconst *bytes[] = {neo_lconst_int(l, 8, 'h'), neo_lconst_int(l, 8, 'i'),
                               neo_lconst_int(l, 8, 0)};
  neo_llvm_global(l, "word", neo_lconst_struct(l, bytes, 3), false);
  finish(l);
  int64_t got[3] = {0};
  void *(*gather)(void *, int64_t, int64_t, int64_t, size_t);
  double (*swapped)(double, double);
  int32_t (*is_word)(const char *), (*three)(void);
  *(void **)&gather = address(l, "gather");
  *(void **)&swapped = address(l, "swapped");
  *(void **)&is_word = address(l, "is_word");
  *(void **)&three = address(l, "three");
  assert_ptr_equal(gather(got, 7, -8, 9, sizeof got), got);
  assert_int_equal(got[1], -8);
  assert_int_equal(got[2], 9);
  assert_true(swapped(3, 2) == 8);
  assert_int_equal(is_word("hi"), 0);
  assert_int_not_equal(is_word("ho"), 0);
  assert_int_equal(three(), 3);
  neo_llvm_free(l);
}

static void targets_are_known_or_explained(void **state) {
  loop_fix *f = *state;
  neo_target t;
  const char *why;
  assert_int_equal(neo_target_choose(&f->arena, "x86_64", "x86-64-v4", &t, &why), NEO_OK);
  assert_int_equal(t.vector_bytes, 64);
  assert_int_equal(t.vector_regs, 32);
  assert_int_equal(neo_target_choose(&f->arena, "x86_64", "haswell", &t, &why), NEO_OK);
  assert_int_equal(t.vector_bytes, 32);
  assert_true(t.fma);
  assert_int_equal(neo_target_choose(&f->arena, "x86_64", "x86-64-v2", &t, &why), NEO_OK);
  assert_false(t.fma);
  assert_int_equal(neo_target_choose(&f->arena, "aarch64", NULL, &t, &why), NEO_OK);
  assert_int_equal(t.vector_bytes, 16);
  assert_int_equal(t.vector_regs, 32);
  assert_int_equal(neo_target_choose(&f->arena, "vax", NULL, &t, &why), NEO_UNSUPPORTED);
  assert_non_null(strstr(why, "vax"));
  assert_int_equal(neo_target_choose(&f->arena, "x86_64", "i486", &t, &why), NEO_UNSUPPORTED);
  assert_non_null(strstr(why, "i486"));
  assert_int_equal(neo_target_choose(&f->arena, NULL, "native", &t, &why), NEO_OK);
  assert_true(t.is_host_arch);
}

static void files_that_cannot_be_written_are_an_error(void **state) {
  loop_fix *f = *state;
  neo_llvm *l = new_module(f);
  const char *why;
  finish(l);
  assert_int_equal(neo_llvm_emit_object(l, "/nowhere/at/all.o", &why), NEO_IO);
  assert_true(strlen(why) > 0);
  assert_int_equal(neo_llvm_emit_text(l, "/nowhere/at/all.ll", &why), NEO_IO);
  assert_null(neo_llvm_jit(l, "absent", &why));
  assert_non_null(strstr(why, "absent"));
  neo_llvm_free(l);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(records_have_the_layout_of_c),
      TEST(entries_pass_their_arguments_on),
      TEST(targets_are_known_or_explained),
      TEST(files_that_cannot_be_written_are_an_error),
  };
  return cmocka_run_group_tests_name("llvm_const", tests, NULL, NULL);
}

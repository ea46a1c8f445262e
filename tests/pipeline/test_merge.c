/* Several objects as one (tools/pipeline/merge.h), as the loader of this process sees them. */
#include "codegen/llvm/jit.h"
#include "tools/pipeline/merge.h"
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  neo_arena arena;
  const char *target;
} fixture;

static int set_up(void **state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  neo_arena_init(&f.arena, neo_alloc_default, NULL);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  neo_arena_free(&f->arena);
  return 0;
}

static neo_llvm *module(fixture *f) {
  neo_target t;
  neo_llvm *l;
  const char *why;
  if (neo_target_choose(&f->arena, f->target, NULL, &t, &why) ||
      neo_llvm_new(&f->arena, &t, "m", &l, &why))
    fail_msg("%s", why);
  return l;
}

static neo_object object_of(fixture *f, neo_llvm *l) {
  neo_object o;
  const char *why;
  if (neo_llvm_finish(l, &why) || neo_llvm_take_object(l, &f->arena, &o.data, &o.size_bytes, &why))
    fail_msg("%s", why);
  neo_llvm_free(l);
  return o;
}

/* int64_t symbol(int64_t x) { return callee(x, number); } */
static neo_object caller(fixture *f, const char *symbol, const char *callee, int32_t number) {
  neo_llvm *l = module(f);
  const neo_entry_arg arg[] = {{.kind = NEO_ARG_PARAM, .value = 0},
                               {.kind = NEO_ARG_INT, .value = number}};
  neo_llvm_entry(l, symbol, 'l', "l", callee, arg, 2);
  return object_of(f, l);
}

/* A table {text, function}; the text's own symbol has the same name in every object. */
static neo_object table(fixture *f, const char *symbol, const char *text, const char *function) {
  neo_llvm *l = module(f);
  const neo_lconst *field[] = {neo_lconst_string(l, text), neo_lconst_symbol(l, function)};
  neo_llvm_global(l, symbol, neo_lconst_struct(l, field, 2), true);
  return object_of(f, l);
}

static neo_object merged(fixture *f, const neo_object *objects, size_t n) {
  neo_object out;
  const char *why;
  if (neo_objects_merge(&f->arena, objects, n, &out, &why))
    fail_msg("%s", why);
  return out;
}

static int64_t add(int64_t x, int64_t y) {
  return x + (int32_t)y;
}

static const neo_jit_symbol runtime[] = {{"add", (neo_jit_fn *)add}};

typedef struct {
  const char *text;
  int64_t (*function)(int64_t x);
} row;

static void functions_and_data_of_several_objects_find_each_other(void **state) {
  fixture *f = *state;
  const neo_object objects[] = {
      table(f, "first", "one", "by_two"), caller(f, "by_two", "by_three", 2),
      table(f, "second", "two", "by_three"), caller(f, "by_three", "add", 3)};
  neo_object whole = merged(f, objects, 4);
  const char *const names[] = {"first", "second"}, *const texts[] = {"one", "two"};
  for (int k = 0; k < 2; k++) {
    neo_jit *j;
    const void *at;
    const char *why;
    if (neo_jit_load(&f->arena, whole.data, whole.size_bytes, runtime, 1, names[k], &j, &at, &why))
      fail_msg("%s", why);
    const row *r = at;
    assert_string_equal(r->text, texts[k]);
    assert_int_equal(r->function(10), 13);
    neo_jit_free(j);
  }
}

static void the_same_objects_give_the_same_bytes(void **state) {
  fixture *f = *state;
  const neo_object objects[] = {table(f, "t", "x", "g"), caller(f, "g", "add", 3)};
  neo_object x = merged(f, objects, 2), y = merged(f, objects, 2);
  assert_int_equal(x.size_bytes, y.size_bytes);
  assert_memory_equal(x.data, y.data, x.size_bytes);
}

static void one_object_stays_what_it_is(void **state) {
  fixture *f = *state;
  neo_object one = caller(f, "g", "add", 5), whole = merged(f, &one, 1);
  neo_jit *j;
  const void *at;
  const char *why;
  assert_int_equal(
      neo_jit_load(&f->arena, whole.data, whole.size_bytes, runtime, 1, "g", &j, &at, &why),
      NEO_OK);
  int64_t (*g)(int64_t) = (int64_t(*)(int64_t))(uintptr_t)at;
  assert_int_equal(g(1), 6);
  neo_jit_free(j);
}

static void objects_of_other_machines_are_merged_too(void **state) {
  fixture *f = *state;
  f->target = "aarch64";
  const neo_object objects[] = {table(f, "t", "x", "g"), caller(f, "g", "add", 3)};
  neo_object whole = merged(f, objects, 2);
  Elf64_Ehdr head;
  memcpy(&head, whole.data, sizeof head);
  assert_int_equal(head.e_machine, EM_AARCH64);
  assert_int_equal(head.e_type, ET_REL);
}

static void refuses(fixture *f, const neo_object *objects, size_t n, const char *text) {
  neo_object out;
  const char *why = NULL;
  assert_int_equal(neo_objects_merge(&f->arena, objects, n, &out, &why), NEO_INTERNAL);
  assert_non_null(strstr(why, text));
}

static void what_does_not_go_together_is_refused(void **state) {
  fixture *f = *state;
  const neo_object twice[] = {caller(f, "g", "add", 1), caller(f, "g", "add", 2)};
  refuses(f, twice, 2, "g is defined twice");
  f->target = "aarch64";
  neo_object arm = caller(f, "h", "add", 1);
  f->target = "x86_64";
  const neo_object mixed[] = {caller(f, "g", "add", 1), arm};
  refuses(f, mixed, 2, "not as it must be");
  const neo_object none[] = {
      {"no object, but long enough to be the head of one: it is a text that says so.", 72}};
  refuses(f, none, 1, "not as it must be");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(functions_and_data_of_several_objects_find_each_other),
      TEST(the_same_objects_give_the_same_bytes),
      TEST(one_object_stays_what_it_is),
      TEST(objects_of_other_machines_are_merged_too),
      TEST(what_does_not_go_together_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Arena, vectors, maps, allocators. */
#include "base/arena.h"
#include "base/map.h"
#include "base/random.h"
#include "base/vec.h"
#include "tests/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void arena_memory_is_zeroed_aligned_and_separate(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  unsigned char *last = NULL;
  size_t last_size = 0;
  uint64_t seed = 1;
  for (int i = 0; i < 3000; i++) {
    size_t n = (size_t)(neo_splitmix(&seed) % (i % 100 == 0 ? 100000 : 200));
    unsigned char *p = neo_arena_alloc(&a, n);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t k = 0; k < n; k++)
      assert_int_equal(p[k], 0);
    if (n > 0)
      memset(p, 0xff, n);
    for (size_t k = 0; k < last_size; k++)
      assert_int_equal(last[k], 0xff);
    last = p;
    last_size = n;
  }
  neo_arena_free(&a);
  assert_int_equal(a.total_bytes, 0);
  assert_non_null(neo_arena_alloc(&a, 10));
  neo_arena_free(&a);
}

static void arena_text_is_copied_and_formatted(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  char text[] = "abcdef";
  char *whole = neo_arena_strdup(&a, text), *part = neo_arena_strndup(&a, text, 3);
  text[0] = 'x';
  assert_string_equal(whole, "abcdef");
  assert_string_equal(part, "abc");
  assert_string_equal(neo_arena_printf(&a, "%s-%d", part, 42), "abc-42");
  assert_memory_equal(neo_arena_copy(&a, text, 3), "xbc", 3);
  neo_arena_free(&a);
}

/* Allocates in every way; returns 0, or 1 if memory ran out on the way. */
static int work(neo_arena *a) {
  jmp_buf out_of_memory;
  a->on_fail = &out_of_memory;
  if (setjmp(out_of_memory))
    return 1;
  NEO_VEC(uint64_t) v = {0};
  neo_map m;
  neo_map_init(&m, a);
  for (uint64_t i = 0; i < 5000; i++) {
    NEO_PUSH(a, &v, i * i);
    neo_map_set(&m, i * 7, i);
  }
  assert_int_equal(v.at[4999], 4999 * 4999);
  assert_string_equal(neo_arena_printf(a, "%d", 7), "7");
  neo_arena_alloc(a, 1 << 20);
  return 0;
}

static void arena_survives_every_failing_allocation_once_and_forever(void **state) {
  (void)state;
  for (int forever = 0; forever < 2; forever++) {
    int failed = 1;
    for (size_t n = 1; failed; n++) {
      neo_alloc_fault fault = {.fail_at = n, .forever = forever};
      neo_arena a;
      neo_arena_init(&a, neo_alloc_with_fault(&fault), NULL);
      failed = work(&a);
      neo_arena_free(&a); /* the leak sanitizer sees what is forgotten */
      assert_true(failed ? fault.count == n : fault.count < n);
      assert_true(n < 1000);
    }
  }
}

static void count(void *object) {
  ++*(int *)object;
}

static void objects_that_their_owner_left_end_with_the_arena(void **state) {
  (void)state;
  neo_alloc_fault fault = {.fail_at = 2};
  jmp_buf on_fail;
  int left = 0, ended = 0;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_with_fault(&fault), &on_fail);
  if (setjmp(on_fail) == 0) {
    neo_arena_cleanup *owned = neo_arena_defer(&a, count), *none = neo_arena_defer(&a, count);
    neo_arena_defer(&a, count)->object = &left;
    owned->object = &ended;
    owned->object = none->object = NULL; /* as its owner ends it */
    (void)neo_arena_alloc(&a, 1 << 20);
    fail_msg("the second request fails");
  }
  neo_arena_free(&a);
  assert_int_equal(left, 1);
  assert_int_equal(ended, 0);
  neo_arena_free(&a);
  assert_int_equal(left, 1);
}

static void arena_refuses_sizes_that_overflow(void **state) {
  (void)state;
  jmp_buf out_of_memory;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, &out_of_memory);
  volatile int failures = 0;
  if (setjmp(out_of_memory))
    failures++;
  if (failures == 0)
    neo_arena_array(&a, SIZE_MAX / 2, 3);
  if (failures == 1)
    neo_arena_alloc(&a, SIZE_MAX - 3);
  if (failures == 2)
    neo_arena_strndup(&a, "", SIZE_MAX);
  assert_int_equal(failures, 3);
  neo_arena_free(&a);
}

static void vector_keeps_its_elements_as_it_grows(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  typedef struct {
    int x, y;
  } pair;
  NEO_VEC(pair) v = {0};
  for (int i = 0; i < 1000; i++)
    NEO_PUSH(&a, &v, (pair){i, -i});
  assert_int_equal(v.n, 1000);
  assert_true(v.cap >= v.n);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(v.at[i].x, i);
    assert_int_equal(v.at[i].y, -i);
  }
  neo_arena_free(&a);
}

static void map_finds_what_was_set_and_nothing_else(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_map m;
  neo_map_init(&m, &a);
  uint64_t value = 99;
  assert_false(neo_map_get(&m, 0, &value));
  uint64_t seed = 5;
  for (uint64_t i = 0; i < 4000; i++)
    neo_map_set(&m, neo_splitmix(&seed), i);
  neo_map_set(&m, 0, 1);
  neo_map_set(&m, UINT64_MAX, 2);
  seed = 5;
  for (uint64_t i = 0; i < 4000; i++) {
    uint64_t key = neo_splitmix(&seed);
    assert_true(neo_map_get(&m, key, &value));
    assert_int_equal(value, i);
    assert_false(neo_map_get(&m, key ^ 1, NULL));
  }
  assert_true(neo_map_get(&m, 0, &value) && value == 1);
  assert_true(neo_map_get(&m, UINT64_MAX, &value) && value == 2);
  neo_arena_free(&a);
}

static void map_iterates_in_the_order_of_insertion(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_map m;
  neo_map_init(&m, &a);
  for (uint64_t i = 0; i < 300; i++)
    neo_map_set(&m, (300 - i) * 1000, i);
  neo_map_set(&m, 150 * 1000, 7777); /* replaced in place */
  assert_int_equal(m.n, 300);
  for (uint64_t i = 0; i < 300; i++) {
    assert_int_equal(m.key[i], (300 - i) * 1000);
    assert_int_equal(m.value[i], i == 150 ? 7777 : i);
  }
  neo_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arena_memory_is_zeroed_aligned_and_separate),
      cmocka_unit_test(arena_text_is_copied_and_formatted),
      cmocka_unit_test(arena_survives_every_failing_allocation_once_and_forever),
      cmocka_unit_test(objects_that_their_owner_left_end_with_the_arena),
      cmocka_unit_test(arena_refuses_sizes_that_overflow),
      cmocka_unit_test(vector_keeps_its_elements_as_it_grows),
      cmocka_unit_test(map_finds_what_was_set_and_nothing_else),
      cmocka_unit_test(map_iterates_in_the_order_of_insertion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

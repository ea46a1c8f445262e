/* Finding records: the best of a group, the nearest shapes of its family, the same whatever the
 * order in which they were read. */
#include "tests/cache/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const target = "x86-64-v3 vector=32x16";
static const char *const build = "neo 0.1.0 schedules 1";

static neo_record variant(world *w, double ratio, uint32_t threads, const char *schedule) {
  neo_record r = world_record(&w->arena, 0);
  r.default_ns = 2000;
  r.time_ns = ratio * 2000;
  r.threads = threads;
  r.schedule = schedule;
  return r;
}

static const char *found(const neo_records *s, uint32_t threads) {
  const neo_record *r = neo_records_find(s, s->all.at[0].key, target, build, threads);
  return r ? r->schedule : NULL;
}

static void the_lowest_time_relative_to_its_own_default_is_found(void **state) {
  world *w = *state;
  neo_records s;
  neo_records_init(&s, &w->arena);
  neo_record slow_machine = variant(w, 0.5, 1, "b=1"), fast_machine = variant(w, 0.9, 1, "a=1");
  fast_machine.time_ns /= 10; /* the faster machine, not the better schedule */
  fast_machine.default_ns /= 10;
  neo_records_add(&s, &slow_machine);
  neo_records_add(&s, &fast_machine);
  assert_string_equal(found(&s, 0), "b=1");
}

static void of_equals_the_later_one_is_found(void **state) {
  world *w = *state;
  neo_records s;
  neo_records_init(&s, &w->arena);
  neo_record a = variant(w, 0.5, 1, "a=1"), b = variant(w, 0.5, 1, "b=1");
  neo_records_add(&s, &a);
  neo_records_add(&s, &b);
  assert_string_equal(found(&s, 0), "b=1");
}

static void a_record_for_as_many_threads_comes_first(void **state) {
  world *w = *state;
  neo_records s;
  neo_records_init(&s, &w->arena);
  neo_record all[] = {variant(w, 0.4, 1, "one=1"), variant(w, 0.8, 2, "two=1"),
                      variant(w, 0.6, 2, "two=2")};
  for (int k = 0; k < 3; k++)
    neo_records_add(&s, &all[k]);
  assert_string_equal(found(&s, 0), "one=1");
  assert_string_equal(found(&s, 1), "one=1");
  assert_string_equal(found(&s, 2), "two=2");
  assert_string_equal(found(&s, 8), "one=1");
}

static void other_targets_builds_and_keys_are_not_found(void **state) {
  world *w = *state;
  neo_records s;
  neo_records_init(&s, &w->arena);
  for (int64_t k = 0; k < 10; k++) {
    neo_record r = world_record(&w->arena, k);
    neo_records_add(&s, &r);
  }
  const uint64_t *key = s.all.at[4].key, other[2] = {key[0], key[1] ^ 1};
  assert_ptr_equal(neo_records_find(&s, key, target, build, 0), &s.all.at[4]);
  assert_null(neo_records_find(&s, key, "x86-64-v4", build, 0));
  assert_null(neo_records_find(&s, key, target, "neo 0.2.0", 0));
  assert_null(neo_records_find(&s, other, target, build, 0));
}

/* 1-D shapes of one family at sizes[0]. */
static void add_shape(world *w, neo_records *s, int64_t size, double ratio) {
  neo_record r = variant(w, ratio, 1, neo_arena_printf(&w->arena, "n=%lld", (long long)size));
  int64_t *sizes = NEO_NEW(&w->arena, int64_t);
  *sizes = size;
  r.sizes = sizes;
  r.n_sizes = 1;
  r.key[0] = (uint64_t)size;
  neo_records_add(s, &r);
}

static void check_nearest(const neo_records *s, int64_t size, size_t most, const char *want) {
  const neo_record *out[16];
  char text[256] = "";
  size_t n = neo_records_nearest(s, s->all.at[0].family, &size, 1, target, build, out, most);
  for (size_t k = 0; k < n; k++) {
    strcat(text, k ? " " : "");
    strcat(text, out[k]->schedule);
  }
  assert_string_equal(text, want);
}

static void the_nearest_shapes_come_by_ratio_of_sizes(void **state) {
  world *w = *state;
  static const int64_t shapes[] = {1000, 1, 64, 100, 256};
  neo_records s;
  neo_records_init(&s, &w->arena);
  for (int k = 0; k < 5; k++)
    add_shape(w, &s, shapes[k], 0.5);
  check_nearest(&s, 64, 3, "n=64 n=100 n=256");
  check_nearest(&s, 128, 2, "n=100 n=64"); /* 64 and 256 are equally far: the smaller first */
  check_nearest(&s, 128, 3, "n=100 n=64 n=256");
  check_nearest(&s, 3000, 1, "n=1000");
  check_nearest(&s, 3000, 16, "n=1000 n=256 n=100 n=64 n=1");
  check_nearest(&s, 3000, 0, "");
}

static void each_shape_is_there_once_with_its_best_record(void **state) {
  world *w = *state;
  neo_records s;
  neo_records_init(&s, &w->arena);
  add_shape(w, &s, 64, 0.5);
  add_shape(w, &s, 100, 0.5);
  add_shape(w, &s, 64, 0.3);
  add_shape(w, &s, 64, 0.9);
  s.all.at[2].schedule = "best=1";
  check_nearest(&s, 60, 4, "best=1 n=100");
}

static void the_order_of_reading_does_not_matter(void **state) {
  world *w = *state;
  uint64_t seed = 7;
  for (int round = 0; round < 50; round++) {
    neo_records a, b;
    const neo_record *x[5], *y[5];
    int64_t size = 1 + (int64_t)((seed = seed * 6364136223846793005u + 1) >> 56);
    neo_records_init(&a, &w->arena);
    neo_records_init(&b, &w->arena);
    for (int k = 0; k < 20; k++) {
      seed = seed * 6364136223846793005u + 1;
      add_shape(w, &a, 1 + (int64_t)(seed >> 58), 0.01 * (double)(k + 1));
    }
    for (size_t k = a.all.n; k-- > 0;)
      neo_records_add(&b, &a.all.at[k]);
    const uint64_t *family = a.all.at[0].family;
    size_t n = neo_records_nearest(&a, family, &size, 1, target, build, x, 5);
    assert_int_equal(neo_records_nearest(&b, family, &size, 1, target, build, y, 5), n);
    for (size_t k = 0; k < n; k++)
      assert_true(world_same(x[k], y[k]));
  }
}

static void other_families_and_ranks_are_not_near(void **state) {
  world *w = *state;
  neo_records s;
  const neo_record *out[4];
  int64_t sizes[] = {64, 64};
  neo_records_init(&s, &w->arena);
  add_shape(w, &s, 64, 0.5);
  const uint64_t other[2] = {1, 1}, *family = s.all.at[0].family;
  assert_int_equal(neo_records_nearest(&s, other, sizes, 1, target, build, out, 4), 0);
  assert_int_equal(neo_records_nearest(&s, family, sizes, 2, target, build, out, 4), 0);
  assert_int_equal(neo_records_nearest(&s, family, sizes, 1, "other", build, out, 4), 0);
  assert_int_equal(neo_records_nearest(&s, family, sizes, 1, target, build, out, 4), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_lowest_time_relative_to_its_own_default_is_found),
      TEST(of_equals_the_later_one_is_found),
      TEST(a_record_for_as_many_threads_comes_first),
      TEST(other_targets_builds_and_keys_are_not_found),
      TEST(the_nearest_shapes_come_by_ratio_of_sizes),
      TEST(each_shape_is_there_once_with_its_best_record),
      TEST(the_order_of_reading_does_not_matter),
      TEST(other_families_and_ranks_are_not_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

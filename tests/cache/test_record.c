/* One record: as JSON, as a line, and what is not taken for one. */
#include "tests/cache/world.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *line_of(world *w, const neo_record *r, size_t *n) {
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_record_line(r, &s);
  *n = s.n;
  return neo_str_text(&s);
}

static void a_record_reads_back_as_it_was_written(void **state) {
  world *w = *state;
  for (int64_t k = 0; k < 50; k++) {
    neo_record r = world_record(&w->arena, k), back;
    const char *why = NULL, *json;
    size_t n, json_bytes;
    const char *line = line_of(w, &r, &n);
    json = neo_record_unline(line, n, &json_bytes);
    assert_non_null(json);
    assert_ptr_equal(json + json_bytes, line + n - 1);
    assert_int_equal(neo_record_parse(&w->arena, json, json_bytes, &back, &why), NEO_OK);
    assert_true(world_same(&r, &back));
    assert_memory_equal(r.key, back.key, sizeof r.key);
    assert_int_equal(back.sizes[1], 2 * k + 1);
    assert_true(back.time_ns == r.time_ns);
  }
}

static void quotes_and_backslashes_in_texts_survive(void **state) {
  world *w = *state;
  neo_record r = world_record(&w->arena, 1), back;
  const char *why;
  size_t n, json_bytes;
  r.name = "a \"b\" \\ {c}";
  const char *line = line_of(w, &r, &n), *json = neo_record_unline(line, n, &json_bytes);
  assert_int_equal(neo_record_parse(&w->arena, json, json_bytes, &back, &why), NEO_OK);
  assert_string_equal(back.name, r.name);
}

static void every_changed_byte_of_a_line_is_noticed(void **state) {
  world *w = *state;
  neo_record r = world_record(&w->arena, 5);
  size_t n, json_bytes;
  char line[2048];
  const char *good = line_of(w, &r, &n);
  assert_true(n < sizeof line);
  for (size_t at = 0; at + 1 < n; at++) /* the newline is no part of the record */
    for (int byte = 0; byte < 256; byte++) {
      memcpy(line, good, n);
      if (line[at] == (char)byte)
        continue;
      line[at] = (char)byte;
      assert_null(neo_record_unline(line, n, &json_bytes));
    }
}

static void every_shortened_line_is_noticed(void **state) {
  world *w = *state;
  neo_record r = world_record(&w->arena, 5);
  size_t n, json_bytes;
  const char *good = line_of(w, &r, &n);
  for (size_t cut = 0; cut + 1 < n; cut++)
    assert_null(neo_record_unline(good, cut, &json_bytes));
  assert_non_null(neo_record_unline(good, n - 1, &json_bytes));
}

typedef void change(neo_record *r);
static void no_time(neo_record *r) {
  r->time_ns = 0;
}
static void negative_time(neo_record *r) {
  r->time_ns = -1;
}
static void nan_time(neo_record *r) {
  r->time_ns = NAN;
}
static void endless_time(neo_record *r) {
  r->time_ns = INFINITY;
}
static void no_default(neo_record *r) {
  r->default_ns = 0;
}
static void no_threads(neo_record *r) {
  r->threads = 0;
}
static void no_schedule(neo_record *r) {
  r->schedule = "";
}
static void no_target(neo_record *r) {
  r->target = NULL;
}
static void newline(neo_record *r) {
  r->name = "a\nb";
}
static void escape(neo_record *r) {
  r->name = "\033[31mred";
}
static void many_sizes(neo_record *r) {
  r->n_sizes = NEO_RECORD_MAX_SIZES + 1;
}
static void negative_size(neo_record *r) {
  static const int64_t sizes[] = {-1};
  r->sizes = sizes;
  r->n_sizes = 1;
}
static void negative_trials(neo_record *r) {
  r->trials = -1;
}

static void what_no_measurement_can_give_is_no_record(void **state) {
  world *w = *state;
  change *const changes[] = {no_time,    negative_time, nan_time,       endless_time, no_default,
                             no_threads, no_schedule,   no_target,      newline,      escape,
                             many_sizes, negative_size, negative_trials};
  for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
    neo_record r = world_record(&w->arena, 1);
    const char *why = NULL;
    assert_true(neo_record_valid(&r, &why));
    changes[k](&r);
    assert_false(neo_record_valid(&r, &why));
    assert_non_null(why);
    assert_int_equal(neo_record_append(&neo_io_default, &w->arena, w->path, &r, 0, &why),
                     NEO_ARGUMENT);
  }
  assert_false(neo_path_exists(w->path));
}

/* Members in place of those of a good record; a checksum would not help, since it would be right.
 */
static void json_with_wrong_members_is_refused(void **state) {
  static const char *const wrong[][2] = {
      {"\"key\":\"0000000000000002", "\"key\":\"000000000000000"},
      {"\"key\":\"0000000000000002", "\"key\":\"000000000000000G"},
      {"\"key\":\"0000000000000002", "\"key\":\"000000000000000A"},
      {"\"family\"", "\"families\""},
      {"[2,3]", "[2,-3]"},
      {"[2,3]", "[2,0.5]"},
      {"[2,3]", "[2,\"3\"]"},
      {"[2,3]", "2"},
      {"\"threads\":1", "\"threads\":0"},
      {"\"threads\":1", "\"threads\":1e9"},
      {"\"time_ns\":500", "\"time_ns\":\"500\""},
      {"\"time_ns\":500", "\"time_ns\":-500"},
      {"\"time_ns\":500", "\"time_ns\":1e999"},
      {"\"trials\":17", "\"trials\":null"},
      {"\"schedule\":\"vector_axis=1 tile_m=1\"", "\"schedule\":\"\""},
      {"\"target\":", "\"goal\":"},
      {"group_1", "group\\n1"},
  };
  world *w = *state;
  neo_record r = world_record(&w->arena, 1), back;
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_record_json(&r, &s);
  const char *json = neo_str_text(&s), *why = NULL;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    const char *at = strstr(json, wrong[k][0]);
    if (!at)
      fail_msg("%s is not in %s", wrong[k][0], json);
    char *bad = neo_arena_printf(&w->arena, "%.*s%s%s", (int)(at - json), json, wrong[k][1],
                                 at + strlen(wrong[k][0]));
    assert_int_equal(neo_record_parse(&w->arena, bad, strlen(bad), &back, &why), NEO_FORMAT);
    assert_non_null(why);
  }
}

static void unknown_members_are_ignored_and_counts_may_be_missing(void **state) {
  world *w = *state;
  neo_record back;
  const char *why;
  const char *json =
      "{\"later\":[1],\"key\":\"00000000000000010000000000000002\","
      "\"family\":\"00000000000000030000000000000004\",\"sizes\":[],\"target\":\"t\","
      "\"build\":\"b\",\"name\":\"\",\"threads\":2,\"time_ns\":1.5,\"default_ns\":3,"
      "\"schedule\":\"merge=1\"}";
  assert_int_equal(neo_record_parse(&w->arena, json, strlen(json), &back, &why), NEO_OK);
  assert_int_equal(back.key[1], 2);
  assert_int_equal(back.trials, 0);
  assert_true(neo_record_ratio(&back) == 0.5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_record_reads_back_as_it_was_written),
      TEST(quotes_and_backslashes_in_texts_survive),
      TEST(every_changed_byte_of_a_line_is_noticed),
      TEST(every_shortened_line_is_noticed),
      TEST(what_no_measurement_can_give_is_no_record),
      TEST(json_with_wrong_members_is_refused),
      TEST(unknown_members_are_ignored_and_counts_may_be_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Files of records that something happened to: every byte changed, every length cut. Nothing that
 * was not written is ever read, and what was not hit is kept, by readers and by the next writer. */
#include "base/hash.h"
#include "tests/cache/world.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 3 };

typedef struct {
  world *w;
  char *good;
  size_t n, end[N + 1]; /* end[k]: after record k - 1's newline; end[0]: after the first line */
} sample;

static sample make_sample(world *w) {
  sample s = {.w = w};
  world_append(w, 0, N);
  s.good = world_read(w, &s.n);
  const char *p = s.good;
  for (int k = 0; k <= N; k++) {
    p = strchr(p, '\n') + 1;
    s.end[k] = (size_t)(p - s.good);
  }
  assert_int_equal(s.end[N], s.n);
  return s;
}

/* The records of a set as bits, bit k for world_record(k); one that was never written fails. */
static unsigned bits_of(const neo_records *set, neo_arena *a) {
  unsigned bits = 0;
  for (size_t i = 0; i < set->all.n; i++) {
    int64_t k = set->all.at[i].trials - 16;
    assert_in_range(k, 0, N);
    neo_record r = world_record(a, k);
    assert_true(world_same(&r, &set->all.at[i]));
    assert_int_equal(bits & 1u << k, 0);
    bits |= 1u << k;
  }
  return bits;
}

static unsigned read_bits(world *w, neo_arena *a, neo_status *status) {
  neo_records set;
  const char *why = NULL;
  neo_records_init(&set, a);
  *status = neo_records_load(&set, &neo_io_default, w->path, 0, &why);
  if (*status)
    assert_non_null(strstr(why, w->path));
  return bits_of(&set, a);
}

static unsigned take_bits(neo_arena *a, const char *text, size_t n) {
  neo_records set;
  const char *why = NULL;
  neo_records_init(&set, a);
  assert_int_equal(neo_records_take(&set, "text", text, n, &why), NEO_OK);
  return bits_of(&set, a);
}

/* After one more record is appended, the file has it and all of `want`. */
static void check_append(world *w, neo_arena *a, unsigned want) {
  const char *why = NULL;
  neo_status s;
  neo_record r = world_record(a, N);
  assert_int_equal(neo_record_append(&neo_io_default, a, w->path, &r, 0, &why), NEO_OK);
  unsigned bits = read_bits(w, a, &s);
  assert_int_equal(s, NEO_OK);
  assert_int_equal(bits, want | 1u << N);
}

/* Which record a changed byte is in, as a bit; none: it is in the first line, or a newline. */
static unsigned hit_by(const sample *s, size_t at) {
  for (int k = 0; k < N; k++)
    if (at >= s->end[k] && at + 1 < s->end[k + 1])
      return 1u << k;
  return 0;
}

static void every_changed_byte_costs_its_own_record_at_most(void **state) {
  world *w = *state;
  sample s = make_sample(w);
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (size_t at = 0; at < s.n; at++)
    for (int flip = 0; flip < 11; flip++) {
      char was = s.good[at];
      int byte = flip < 8 ? was ^ 1 << flip : "\n 0"[flip - 8];
      unsigned whole = ((1u << N) - 1) & ~(was == (char)byte ? 0 : hit_by(&s, at));
      s.good[at] = (char)byte;
      assert_int_equal(take_bits(&a, s.good, s.n), whole);
      s.good[at] = was;
      neo_arena_free(&a);
    }
}

static void a_writer_keeps_what_a_changed_byte_left(void **state) {
  static const char bytes[] = {'\n', 'x', 0};
  world *w = *state;
  sample s = make_sample(w);
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (size_t at = 0; at < s.n; at += hit_by(&s, at) ? 5 : 1) {
    char was = s.good[at];
    s.good[at] = bytes[at % 3] == was ? 'y' : bytes[at % 3];
    world_write(w, s.good, s.n);
    s.good[at] = was;
    check_append(w, &a, ((1u << N) - 1) & ~hit_by(&s, at));
    neo_arena_free(&a);
  }
}

static void every_cut_keeps_the_whole_records_before_it(void **state) {
  world *w = *state;
  sample s = make_sample(w);
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (size_t n = 0; n <= s.n; n++) {
    unsigned want = 0;
    for (int k = 0; k < N; k++)
      if (n + 1 >= s.end[k + 1]) /* all but its newline is there */
        want |= 1u << k;
    assert_int_equal(take_bits(&a, s.good, n), want);
    if (n % 5 == 0 || !hit_by(&s, n) || !hit_by(&s, n - 1)) {
      world_write(w, s.good, n);
      check_append(w, &a, want);
    }
    neo_arena_free(&a);
  }
}

/* As a file system may leave it when the machine stops: length written, contents not. */
static void zeros_at_the_end_are_cut(void **state) {
  world *w = *state;
  sample s = make_sample(w);
  for (int zeros = 1; zeros < 10000; zeros *= 3) {
    neo_status status;
    world_write(w, s.good, s.n);
    assert_int_equal(truncate(w->path, (off_t)s.n + zeros), 0);
    assert_int_equal(read_bits(w, &w->arena, &status), (1u << N) - 1);
    check_append(w, &w->arena, (1u << N) - 1);
    size_t n;
    assert_non_null(world_read(w, &n));
    assert_in_range(n, s.n + 1, s.n + 1000);
  }
}

static void any_number_of_damaged_lines_is_counted_and_passed_over(void **state) {
  world *w = *state;
  sample s = make_sample(w);
  neo_records set;
  const char *why;
  char *text = neo_arena_printf(&w->arena, "%.*s\n\nnonsense\n%.*s12 abc\n%s", (int)s.end[1],
                                s.good, (int)s.end[1], s.good, s.good + s.end[1]);
  world_write(w, text, strlen(text));
  neo_records_init(&set, &w->arena);
  assert_int_equal(neo_records_load(&set, &neo_io_default, w->path, 0, &why), NEO_OK);
  assert_int_equal(set.all.n, N + 1); /* the first one twice: files may be put together */
  assert_int_equal(set.files.at[0].bad_lines, 4);
  assert_string_equal(set.files.at[0].first_bad, "line 3: length or checksum");
}

static void a_file_of_a_newer_version_is_left_alone(void **state) {
  world *w = *state;
  neo_str s;
  neo_status status;
  const char *why = NULL;
  size_t n;
  neo_str_init(&s, &w->arena);
  neo_str_addf(&s, "neo-records 2 %016llx\n", (unsigned long long)neo_hash("neo-records 2", 13, 0));
  neo_str_add(&s, "whatever that will be");
  world_write(w, neo_str_text(&s), s.n);
  assert_int_equal(read_bits(w, &w->arena, &status), 0);
  assert_int_equal(status, NEO_FORMAT);
  neo_record r = world_record(&w->arena, 0);
  assert_int_equal(neo_record_append(&neo_io_default, &w->arena, w->path, &r, 0, &why), NEO_FORMAT);
  assert_non_null(strstr(why, "newer version"));
  assert_string_equal(world_read(w, &n), neo_str_text(&s));
}

static void a_file_that_is_no_file_of_records_is_left_alone(void **state) {
  static const char *const others[] = {
      "dim B = 3\noutput X\n", "x", "neo-records", "\n", "neo-records 1 0000000000000000\n",
      "neo-records 0\n"};
  world *w = *state;
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    neo_status status;
    const char *why = NULL;
    size_t n;
    bool part = k == 2; /* a first part of the first line: a writer was killed at once */
    world_write(w, others[k], strlen(others[k]));
    assert_int_equal(read_bits(w, &w->arena, &status), 0);
    assert_int_equal(status, part ? NEO_OK : NEO_FORMAT);
    neo_record r = world_record(&w->arena, 0);
    status = neo_record_append(&neo_io_default, &w->arena, w->path, &r, 0, &why);
    assert_int_equal(status, part ? NEO_OK : NEO_FORMAT);
    if (!part)
      assert_string_equal(world_read(w, &n), others[k]);
  }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(every_changed_byte_costs_its_own_record_at_most),
      TEST(a_writer_keeps_what_a_changed_byte_left),
      TEST(every_cut_keeps_the_whole_records_before_it),
      TEST(zeros_at_the_end_are_cut),
      TEST(any_number_of_damaged_lines_is_counted_and_passed_over),
      TEST(a_file_of_a_newer_version_is_left_alone),
      TEST(a_file_that_is_no_file_of_records_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

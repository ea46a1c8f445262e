/* Strings, names, UTF-8, edit distance. */
#include "base/random.h"
#include "base/status.h"
#include "base/str.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state) {
  static neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  *state = &a;
  return 0;
}

static int tear_down(void **state) {
  neo_arena_free(*state);
  return 0;
}

static void text_grows_and_stays_terminated(void **state) {
  neo_str s;
  neo_str_init(&s, *state);
  assert_string_equal(neo_str_text(&s), "");
  for (int i = 0; i < 1000; i++) {
    neo_str_addf(&s, "%d,", i);
    assert_int_equal(strlen(s.at), s.n);
  }
  neo_str_addc(&s, '!');
  neo_str_addn(&s, "abc", 2);
  assert_memory_equal(s.at, "0,1,2,3,", 8);
  assert_string_equal(s.at + s.n - 7, "999,!ab");
}

static void format_longer_than_the_room_is_kept_whole(void **state) {
  neo_str s;
  neo_str_init(&s, *state);
  char wide[300];
  memset(wide, 'w', sizeof wide - 1);
  wide[sizeof wide - 1] = '\0';
  neo_str_addf(&s, "%s|%s", wide, wide);
  assert_int_equal(s.n, 2 * 299 + 1);
  assert_int_equal(s.at[299], '|');
}

static const char *decimal(neo_arena *a, double x) {
  neo_str s;
  neo_str_init(&s, a);
  neo_str_add_f64(&s, x);
  return neo_str_text(&s);
}

static void decimals_are_short_and_read_back_exactly(void **state) {
  assert_string_equal(decimal(*state, 0.5), "0.5");
  assert_string_equal(decimal(*state, 1e-5), "1e-05");
  assert_string_equal(decimal(*state, 0.1), "0.1");
  assert_string_equal(decimal(*state, 784), "784");
  assert_string_equal(decimal(*state, -0.0), "-0");
  assert_string_equal(decimal(*state, 1.0 / 0.0), "inf");
  assert_string_equal(decimal(*state, -1.0 / 0.0), "-inf");
  assert_string_equal(decimal(*state, -(0.0 / 0.0)), "nan");
  uint64_t seed = 3;
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = neo_splitmix(&seed);
    double x;
    memcpy(&x, &bits, sizeof x);
    if (x - x == 0) {
      double back = strtod(decimal(*state, x), NULL);
      assert_memory_equal(&back, &x, sizeof x);
    }
  }
}

static void json_strings_are_escaped(void **state) {
  neo_str s;
  neo_str_init(&s, *state);
  neo_str_add_json(&s, "a\"b\\c\n\t\r\x01\x7f\xc3\xa9");
  assert_string_equal(neo_str_text(&s), "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f\xc3\xa9\"");
}

static void distance_counts_edits_and_swaps(void **state) {
  (void)state;
  assert_int_equal(neo_str_distance("", "", 3), 0);
  assert_int_equal(neo_str_distance("relu", "relu", 3), 0);
  assert_int_equal(neo_str_distance("relu", "rleu", 3), 1);
  assert_int_equal(neo_str_distance("relu", "relux", 3), 1);
  assert_int_equal(neo_str_distance("relu", "elu", 3), 1);
  assert_int_equal(neo_str_distance("relu", "reLu", 3), 1);
  assert_int_equal(neo_str_distance("softmax", "sfotmxa", 3), 2);
  assert_int_equal(neo_str_distance("ca", "abc", 9), 3);
  assert_int_equal(neo_str_distance("abcd", "wxyz", 2), 3);
  assert_int_equal(neo_str_distance("", "abc", 3), 3);
  assert_int_equal(neo_str_distance("ab", "ba", 0), 1);
}

/* The recursive definition, against which the rows are checked. */
static int slow_distance(const char *a, size_t m, const char *b, size_t n) {
  if (m == 0 || n == 0)
    return (int)(m + n);
  int d = slow_distance(a, m - 1, b, n - 1) + (a[m - 1] != b[n - 1]);
  int drop = slow_distance(a, m - 1, b, n) + 1, add = slow_distance(a, m, b, n - 1) + 1;
  d = drop < d ? drop : d;
  d = add < d ? add : d;
  if (m > 1 && n > 1 && a[m - 1] == b[n - 2] && a[m - 2] == b[n - 1]) {
    int swap = slow_distance(a, m - 2, b, n - 2) + 1;
    d = swap < d ? swap : d;
  }
  return d;
}

static void distance_equals_its_definition_up_to_the_limit(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int i = 0; i < 2000; i++) {
    char text[2][7] = {{0}};
    for (int k = 0; k < 2; k++)
      for (size_t j = neo_splitmix(&seed) % 6; j > 0; j--)
        text[k][j - 1] = (char)('a' + neo_splitmix(&seed) % 3);
    int limit = (int)(neo_splitmix(&seed) % 6);
    int d = slow_distance(text[0], strlen(text[0]), text[1], strlen(text[1]));
    assert_int_equal(neo_str_distance(text[0], text[1], limit), d > limit ? limit + 1 : d);
  }
}

static void names_too_long_for_suggestions_are_far_apart(void **state) {
  (void)state;
  char wide[400];
  memset(wide, 'w', sizeof wide - 1);
  wide[sizeof wide - 1] = '\0';
  assert_int_equal(neo_str_distance(wide, wide + 1, 3), 4);
  assert_int_equal(neo_str_distance(wide, wide, 3), 0);
}

static void equal_texts_have_equal_names(void **state) {
  neo_names *names = neo_names_new(*state);
  assert_int_equal(neo_name_of(names, ""), 0);
  uint32_t x = neo_name_of(names, "x");
  char text[16];
  for (int i = 0; i < 5000; i++) {
    snprintf(text, sizeof text, "n%d", i);
    assert_int_equal(neo_name_of(names, text), x + 1 + (uint32_t)i);
  }
  assert_int_equal(neo_name_ofn(names, "n17tail", 3), x + 18);
  assert_int_equal(neo_name_of(names, "x"), x);
  assert_string_equal(neo_name_text(names, x + 18), "n17");
  assert_string_equal(neo_name_text(names, 0), "");
}

static void utf8_accepts_what_is_valid_only(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t n, length;
    uint32_t code;
  } cases[] = {
      {"a", 1, 1, 'a'},
      {"\0", 1, 1, 0},
      {"\xc3\xa9", 2, 2, 0xe9},
      {"\xe2\x82\xac", 3, 3, 0x20ac},
      {"\xf0\x9f\x98\x80", 4, 4, 0x1f600},
      {"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
      {"", 0, 0, 0},
      {"\x80", 1, 0, 0},
      {"\xc3", 1, 0, 0},
      {"\xc0\x80", 2, 0, 0},         /* overlong */
      {"\xe0\x80\x80", 3, 0, 0},     /* overlong */
      {"\xed\xa0\x80", 3, 0, 0},     /* surrogate */
      {"\xf4\x90\x80\x80", 4, 0, 0}, /* above the last */
      {"\xe2\x28\xa1", 3, 0, 0},
      {"\xff", 1, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t code = 0;
    assert_int_equal(neo_utf8_decode(cases[i].text, cases[i].n, &code), cases[i].length);
    assert_int_equal(code, cases[i].code);
  }
}

static void every_status_has_its_text(void **state) {
  (void)state;
#define X(name, value, text)           \
  assert_int_equal(NEO_##name, value); \
  assert_string_equal(neo_status_text(NEO_##name), text);
#include "base/status.def"
#undef X
  assert_string_equal(neo_status_text((neo_status)999), "unknown status");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(text_grows_and_stays_terminated),
      TEST(format_longer_than_the_room_is_kept_whole),
      TEST(decimals_are_short_and_read_back_exactly),
      TEST(json_strings_are_escaped),
      TEST(distance_counts_edits_and_swaps),
      TEST(distance_equals_its_definition_up_to_the_limit),
      TEST(names_too_long_for_suggestions_are_far_apart),
      TEST(equal_texts_have_equal_names),
      TEST(utf8_accepts_what_is_valid_only),
      TEST(every_status_has_its_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The JSON wrapper. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static neo_status parse(const char *text, neo_json **j) {
  return neo_json_parse(text, strlen(text), j);
}

static void values_are_read_back(void **state) {
  (void)state;
  neo_json *j;
  assert_int_equal(parse(" {\"a\": [1, 2.5, \"x\"], \"b\": {\"c\": true}}\n", &j), NEO_OK);
  assert_true(neo_json_is_object(j) && !neo_json_is_array(j));
  neo_json *a = neo_json_get(j, "a"), *item = neo_json_first(a);
  assert_true(neo_json_is_array(a));
  int64_t n = 0;
  double x = 0;
  assert_true(neo_json_integer(item, &n) && n == 1);
  item = neo_json_next(item);
  assert_false(neo_json_integer(item, &n));
  assert_true(neo_json_number(item, &x) && x == 2.5);
  item = neo_json_next(item);
  assert_string_equal(neo_json_text(item), "x");
  assert_null(neo_json_next(item));
  neo_json_free(j);
}

static void null_travels_through_chains(void **state) {
  (void)state;
  int64_t n = 7;
  double x = 7;
  assert_null(neo_json_get(neo_json_get(NULL, "a"), "b"));
  assert_null(neo_json_first(NULL));
  assert_null(neo_json_next(NULL));
  assert_null(neo_json_text(NULL));
  assert_false(neo_json_integer(NULL, &n) || neo_json_number(NULL, &x));
  assert_false(neo_json_is_array(NULL) || neo_json_is_object(NULL));
  assert_null(neo_json_print(NULL));
  neo_json_free(NULL);
  assert_true(n == 7 && x == 7);
}

static void malformed_text_is_refused(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",      "   ",    "{",      "[1,]", "{\"a\"}", "{\"a\":1,}", "tru",  "1 2",
      "[1] x", "\"open", "{a: 1}", "[",    "]",       "nul",        "+1",   "\"\\u12\"",
      "[1 2]", "{]",     "1.2.3",  "-",    "\"\\q\"", "{\"a\" 1}",  "[\"]", "//c\n1",
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    neo_json *j = (neo_json *)(uintptr_t)1;
    assert_int_equal(parse(bad[i], &j), NEO_FORMAT);
    assert_null(j);
  }
}

static void text_need_not_be_terminated(void **state) {
  (void)state;
  const char text[] = {'[', '1', '2', ']', '3'};
  neo_json *j;
  assert_int_equal(neo_json_parse(text, 4, &j), NEO_OK);
  neo_json_free(j);
  assert_int_equal(neo_json_parse(text, 3, &j), NEO_FORMAT);
  assert_int_equal(neo_json_parse(text, 5, &j), NEO_FORMAT);
}

/* `depth` arrays around a string that is full of brackets. */
static neo_status parse_nested(int depth) {
  char text[400] = {0};
  for (int i = 0; i < depth; i++)
    strcat(text, "[");
  strcat(text, "\"[[[[{{{\\\"[[\"");
  for (int i = 0; i < depth; i++)
    strcat(text, "]");
  neo_json *j;
  neo_status status = parse(text, &j);
  neo_json_free(j);
  return status;
}

static void nesting_ends_at_64(void **state) {
  (void)state;
  assert_int_equal(parse_nested(0), NEO_OK);
  assert_int_equal(parse_nested(64), NEO_OK);
  assert_int_equal(parse_nested(65), NEO_FORMAT);
  char *deep = malloc(1 << 20);
  memset(deep, '[', 1 << 20);
  neo_json *j;
  assert_int_equal(neo_json_parse(deep, 1 << 20, &j), NEO_FORMAT);
  free(deep);
}

static void integers_are_exact_or_refused(void **state) {
  (void)state;
  neo_json *j;
  assert_int_equal(parse("[9007199254740992, -9007199254740992, 9007199254740994, 1e300, 0.5]", &j),
                   NEO_OK);
  int64_t n = 0;
  neo_json *item = neo_json_first(j);
  assert_true(neo_json_integer(item, &n) && n == INT64_C(9007199254740992));
  item = neo_json_next(item);
  assert_true(neo_json_integer(item, &n) && n == -INT64_C(9007199254740992));
  for (item = neo_json_next(item); item; item = neo_json_next(item))
    assert_false(neo_json_integer(item, &n));
  neo_json_free(j);
}

static void what_is_printed_parses_to_the_same(void **state) {
  (void)state;
  neo_json *j, *back;
  assert_int_equal(parse("{\"name\": \"a \\\"quoted\\\"\\n\xc3\xa9 text\","
                         " \"pi\": 3.141592653589793, \"list\": [1, true, {\"k\": \"v\"}]}",
                         &j),
                   NEO_OK);
  char *text = neo_json_print(j);
  assert_int_equal(parse(text, &back), NEO_OK);
  double pi = 0;
  assert_true(neo_json_number(neo_json_get(back, "pi"), &pi) && pi == 3.141592653589793);
  assert_string_equal(neo_json_text(neo_json_get(back, "name")), "a \"quoted\"\n\xc3\xa9 text");
  char *again = neo_json_print(back);
  assert_string_equal(text, again);
  free(text);
  free(again);
  neo_json_free(j);
  neo_json_free(back);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_read_back),
      cmocka_unit_test(null_travels_through_chains),
      cmocka_unit_test(malformed_text_is_refused),
      cmocka_unit_test(text_need_not_be_terminated),
      cmocka_unit_test(nesting_ends_at_64),
      cmocka_unit_test(integers_are_exact_or_refused),
      cmocka_unit_test(what_is_printed_parses_to_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The formatter. Golden files show the canonical form; test_parser.c formats random programs. */
#include "parse_test.h"

#include <string.h>

static const char *format_of(neo_arena *a, const char *name, const char *text, size_t n) {
  parsing p;
  parsing_begin(&p);
  neo_ast_file *file = parse_bytes(&p, text, n);
  if (file->had_errors)
    fail_msg("%s:\n%s", name, reported(&p));
  const char *result = neo_arena_strdup(a, formatted(&p, file));
  parsing_end(&p);
  check_any_text(text, n, name);
  return result;
}

static void canonical_forms_are_as_expected(void **state) {
  (void)state;
  check_golden_folder(NEO_TEST_SOURCE_DIR "/tests/golden/format", format_of);
}

static void assert_formats(parsing *p, const char *text, const char *expected) {
  neo_ast_file *file = parse_text(p, text);
  assert_string_equal(reported(p), "");
  assert_string_equal(formatted(p, file), expected);
}

static void an_empty_file_stays_empty(void **state) {
  parsing *p = *state;
  assert_formats(p, "", "");
  assert_formats(p, " \n\n;;\n", "");
  assert_formats(p, "\n\n# c", "# c\n");
}

static void at_most_one_blank_line_is_kept(void **state) {
  parsing *p = *state;
  assert_formats(p, "\n\na = 1\n\n\n\nb = 2\nc = 3\n\n\n", "a = 1\n\nb = 2\nc = 3\n");
  assert_formats(p, "fn f() -> y {\n\n\n  y = 1\n\n}\n", "fn f() -> y {\n  y = 1\n}\n");
}

static void statements_of_one_line_get_one_each(void **state) {
  parsing *p = *state;
  assert_formats(p, "a = 1; b = 2  # both", "a = 1\nb = 2  # both\n");
}

static void doubled_parentheses_become_single(void **state) {
  parsing *p = *state;
  assert_formats(p, "a = (((x)))+((y else 0))", "a = (x) + (y else 0)\n");
}

static void comments_behind_lines_share_a_column(void **state) {
  parsing *p = *state;
  assert_formats(p, "a = 1 # one\nbcd = 2 # two\n\nc = 3 # three\n",
                 "a = 1    # one\nbcd = 2  # two\n\nc = 3  # three\n");
}

static void no_line_is_longer_than_100_columns(void **state) {
  parsing *p = *state;
  neo_str text;
  neo_str_init(&text, &p->arena);
  neo_str_add(&text, "y = f(");
  for (int i = 0; i < 200; i++)
    neo_str_addf(&text, "%sx%d[%d, i + 1]*%d", i ? i % 3 ? " + " : ", " : "", i, i, i);
  neo_str_add(&text, ")");
  const char *result = formatted(p, parse_text(p, neo_str_text(&text)));
  for (const char *line = result; *line; line += strcspn(line, "\n") + 1)
    assert_true(strcspn(line, "\n") <= 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      PARSING(canonical_forms_are_as_expected),    PARSING(an_empty_file_stays_empty),
      PARSING(at_most_one_blank_line_is_kept),     PARSING(statements_of_one_line_get_one_each),
      PARSING(doubled_parentheses_become_single),  PARSING(comments_behind_lines_share_a_column),
      PARSING(no_line_is_longer_than_100_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

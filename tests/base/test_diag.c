/* Diagnostics, compared with the text that a user sees. */
#include "base/diag.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  neo_arena arena;
  neo_sources *sources;
  neo_diags *diags;
  uint32_t file;
  const char *text;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  neo_arena_init(&f->arena, neo_alloc_default, NULL);
  f->sources = neo_sources_new(&f->arena);
  f->diags = neo_diags_new(&f->arena, f->sources);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  neo_arena_free(&f->arena);
  free(f);
  return 0;
}

static void use_source(fixture *f, const char *name, const char *text) {
  f->text = text;
  f->file = neo_sources_add(f->sources, name, text, strlen(text));
}

/* The span of `what`, at its first place from `after` on. */
static neo_span span_of(fixture *f, const char *after, const char *what) {
  const char *from = strstr(f->text, after);
  assert_non_null(from);
  const char *at = strstr(from, what);
  assert_non_null(at);
  return neo_span_of(f->sources, f->file, (uint32_t)(at - f->text), (uint32_t)strlen(what));
}

static const char *printed(fixture *f) {
  neo_str out;
  neo_str_init(&out, &f->arena);
  neo_diags_print(f->diags, &out, false);
  return neo_str_text(&out);
}

static const char mlp[] = "import nn\n"
                          "dim B <= 256\n"
                          "input X[B, 784]\n"
                          "input Y[B]: i32\n"
                          "\n"
                          "# 784 -> 128 -> 10\n"
                          "\n"
                          "param W1[748, 128] = 0\n"
                          "param b1[128] = 0\n"
                          "param W2[128, 10] = 0\n"
                          "param b2[10] = 0\n"
                          "\n"
                          "H[b, j] = relu(sum[i] X[b, i] * W1[i, j] + b1[j])\n";

static void message_has_place_code_line_caret_range_and_note(void **state) {
  fixture *f = *state;
  use_source(f, "mlp.expr", mlp);
  neo_span at = span_of(f, "X[b, i]", "i"), range = span_of(f, "W1[i, j]", "i");
  int handle = neo_diag(f->diags, at, NEO_D_EXTENT_CONFLICT, "i", "784", "X", 1, "748", "W1", 0);
  neo_diag_range(f->diags, handle, range);
  neo_diag_note(f->diags, handle, "W1 is declared at %s",
                neo_span_text(f->sources, span_of(f, "W1[748", "W1")));
  assert_string_equal(printed(f),
                      "mlp.expr:13:28: error[E0203]: index 'i' has two extents: 784 (X, dimension "
                      "1) and 748 (W1, dimension 0)\n"
                      "   13 | H[b, j] = relu(sum[i] X[b, i] * W1[i, j] + b1[j])\n"
                      "      |                            ^       ~\n"
                      "note: W1 is declared at mlp.expr:8:7\n");
  assert_int_equal(neo_diags_errors(f->diags), 1);
}

static void longer_spans_are_underlined(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "y = soft(x)\n");
  int handle = neo_diag(f->diags, span_of(f, "", "soft"), NEO_D_NAME_UNKNOWN, "soft");
  neo_diag_range(f->diags, handle, span_of(f, "", "(x)"));
  neo_diag_help(f->diags, handle, "did you mean '%s'?", "softmax");
  assert_string_equal(printed(f), "m.expr:1:5: error[E0101]: unknown name 'soft'\n"
                                  "    1 | y = soft(x)\n"
                                  "      |     ^~~~~~~\n"
                                  "help: did you mean 'softmax'?\n");
}

static void ranges_on_other_lines_show_those_lines(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "x = 1\n\nx = 2\n");
  int handle =
      neo_diag(f->diags, neo_span_of(f->sources, f->file, 7, 1), NEO_D_NAME_REDEFINED, "x");
  neo_diag_range(f->diags, handle, neo_span_of(f->sources, f->file, 0, 1));
  assert_string_equal(printed(f), "m.expr:3:1: error[E0102]: 'x' is already defined\n"
                                  "    1 | x = 1\n"
                                  "      | ~\n"
                                  "    3 | x = 2\n"
                                  "      | ^\n");
}

static void ranges_in_other_files_name_their_file(void **state) {
  fixture *f = *state;
  uint32_t lib = neo_sources_add(f->sources, "nn.expr", "fn f(x) -> y\n", 13);
  use_source(f, "m.expr", "y = f()\n");
  int handle = neo_diag(f->diags, span_of(f, "", "f()"), NEO_D_NAME_UNKNOWN, "f");
  neo_diag_range(f->diags, handle, neo_span_of(f->sources, lib, 3, 1));
  assert_string_equal(printed(f), "m.expr:1:5: error[E0101]: unknown name 'f'\n"
                                  "    1 | y = f()\n"
                                  "      |     ^~~\n"
                                  "  nn.expr:1:4:\n"
                                  "    1 | fn f(x) -> y\n"
                                  "      |    ~\n");
}

static void columns_count_code_points_and_tabs_stay_aligned(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "\t\xce\xb1\xe2\x82\xac = q\r\n");
  neo_diag(f->diags, span_of(f, "", "q"), NEO_D_NAME_UNKNOWN, "q");
  assert_string_equal(printed(f), "m.expr:1:7: error[E0101]: unknown name 'q'\n"
                                  "    1 | \t\xce\xb1\xe2\x82\xac = q\n"
                                  "      | \t     ^\n");
}

static void wild_bytes_are_printed_clean(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "a\x1b[2J\xff = \x07q\n");
  neo_diag(f->diags, span_of(f, "", "q"), NEO_D_BAD_CHAR, "\x1b\xc3");
  assert_string_equal(printed(f),
                      "m.expr:1:11: error[E0001]: unexpected character '\xef\xbf\xbd\xef\xbf\xbd'\n"
                      "    1 | a\xef\xbf\xbd[2J\xef\xbf\xbd = \xef\xbf\xbdq\n"
                      "      |           ^\n");
}

static void end_of_file_has_a_place(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "x = (1");
  neo_diag(f->diags, neo_span_of(f->sources, f->file, 6, 0), NEO_D_UNCLOSED, "(");
  assert_string_equal(printed(f), "m.expr:1:7: error[E0004]: '(' is never closed\n"
                                  "    1 | x = (1\n"
                                  "      |       ^\n");
}

static void spans_over_lines_are_marked_to_the_end_of_the_first(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "y = f(a,\n  b)\n");
  neo_diag(f->diags, span_of(f, "", "f(a,\n  b)"), NEO_D_UNEXPECTED, "call");
  assert_string_equal(printed(f), "m.expr:1:5: error[E0006]: unexpected call\n"
                                  "    1 | y = f(a,\n"
                                  "      |     ^~~~~\n");
}

static void long_lines_show_a_window(void **state) {
  fixture *f = *state;
  char *text = neo_arena_alloc(&f->arena, 5001);
  memset(text, 'a', 5000);
  text[3000] = '@';
  use_source(f, "m.expr", text);
  neo_diag(f->diags, span_of(f, "", "@"), NEO_D_BAD_CHAR, "@");
  const char *out = printed(f);
  assert_true(strlen(out) < 500);
  const char *line = strstr(out, " | ..."), *at = strchr(line, '@');
  const char *below = strstr(line + 3, " | "), *caret = strchr(below, '^');
  assert_non_null(strstr(out, "m.expr:1:3001: "));
  assert_int_equal(at - line, caret - below);
}

static void messages_are_sorted_by_place_and_those_without_come_last(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "a\nb\n");
  neo_diag(f->diags, 0, NEO_D_INTERNAL, "lost");
  neo_diag(f->diags, span_of(f, "", "b"), NEO_D_NAME_UNKNOWN, "b");
  neo_diag(f->diags, span_of(f, "", "a"), NEO_D_MODULE_MISSING, "a");
  neo_diag(f->diags, span_of(f, "", "a"), NEO_D_NAME_UNKNOWN, "a");
  const char *out = printed(f);
  const char *order[] = {"m.expr:1:1: error[E0101]", "m.expr:1:1: error[E0103]",
                         "m.expr:2:1: error[E0101]", "error[E0000]: internal error: lost\n"};
  for (size_t i = 0; i < 4; i++) {
    out = strstr(out, order[i]);
    assert_non_null(out);
  }
}

static void repetition_is_reported_once_and_its_notes_are_ignored(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "x\n");
  neo_span at = span_of(f, "", "x");
  assert_int_equal(neo_diag(f->diags, at, NEO_D_NAME_UNKNOWN, "x"), 0);
  int again = neo_diag(f->diags, at, NEO_D_NAME_UNKNOWN, "x");
  assert_int_equal(again, -1);
  neo_diag_note(f->diags, again, "lost");
  neo_diag_help(f->diags, again, "lost");
  neo_diag_range(f->diags, again, at);
  assert_int_equal(neo_diag(f->diags, at, NEO_D_NAME_REDEFINED, "x"), 1);
  assert_int_equal(neo_diag(f->diags, 0, NEO_D_INTERNAL, "a"), 2);
  assert_int_equal(neo_diag(f->diags, 0, NEO_D_INTERNAL, "b"), 3);
  assert_int_equal(neo_diag(f->diags, 0, NEO_D_INTERNAL, "a"), -1);
  assert_int_equal(neo_diags_count(f->diags), 4);
  assert_null(strstr(printed(f), "lost"));
}

static void a_flood_of_errors_is_counted_but_not_kept(void **state) {
  fixture *f = *state;
  char *text = neo_arena_alloc(&f->arena, 5001);
  memset(text, '@', 5000);
  use_source(f, "m.expr", text);
  for (uint32_t i = 0; i < 5000; i++)
    neo_diag(f->diags, neo_span_of(f->sources, f->file, i, 1), NEO_D_BAD_CHAR, "@");
  assert_int_equal(neo_diags_errors(f->diags), 5000);
  assert_int_equal(neo_diags_count(f->diags), 1000);
  assert_non_null(strstr(printed(f), "note: 4000 more are not shown\n"));
}

static void equal_spans_are_interned(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "alpha = beta\n");
  neo_span a = span_of(f, "", "alpha"), b = span_of(f, "", "beta");
  assert_int_equal(a, span_of(f, "", "alpha"));
  assert_int_not_equal(a, b);
  size_t n;
  assert_memory_equal(neo_span_bytes(f->sources, b, &n), "beta", 4);
  assert_int_equal(n, 4);
  assert_string_equal(neo_span_text(f->sources, b), "m.expr:1:9");
  assert_string_equal(neo_span_text(f->sources, 0), "");
  for (uint32_t i = 0; i < 13; i++) /* however many there are, all stay apart */
    for (uint32_t k = 0; k + i <= 13; k++) {
      neo_place p = neo_span_place(f->sources, neo_span_of(f->sources, f->file, i, k));
      assert_true(p.offset == i && p.length == k && p.column == i + 1);
    }
}

static void spans_tell_the_calls_that_lead_to_them(void **state) {
  fixture *f = *state;
  use_source(f, "mlp.expr", mlp);
  neo_span place = span_of(f, "import", "nn"), call = span_of(f, "dim", "B");
  neo_span outer = neo_span_called(f->sources, call, place);
  neo_span inner = neo_span_called(f->sources, place, outer);
  assert_int_equal(neo_span_called(f->sources, place, outer), inner);
  assert_int_not_equal(inner, place);
  assert_int_equal(neo_span_caller(f->sources, inner), outer);
  assert_int_equal(neo_span_caller(f->sources, outer), place);
  assert_int_equal(neo_span_caller(f->sources, place), 0);
  assert_string_equal(neo_span_text(f->sources, inner), neo_span_text(f->sources, place));
  assert_int_equal(neo_span_called(f->sources, inner, 0), place);
  assert_int_equal(neo_span_called(f->sources, 0, call), 0);
  neo_diag(f->diags, inner, NEO_D_TENSOR_TOO_LARGE, 40);
  assert_int_equal(neo_diag(f->diags, place, NEO_D_TENSOR_TOO_LARGE, 40), -1);
}

static void spans_beyond_the_file_are_cut(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "ab");
  neo_place p = neo_span_place(f->sources, neo_span_of(f->sources, f->file, 1, 99));
  assert_int_equal(p.length, 1);
  p = neo_span_place(f->sources, neo_span_of(f->sources, f->file, 50, UINT32_MAX));
  assert_int_equal(p.offset, 2);
  assert_int_equal(p.length, 0);
}

static void json_form_parses_and_holds_the_same(void **state) {
  fixture *f = *state;
  use_source(f, "m \"q\".expr",
             "y = \xff"
             "f(x)\n");
  int handle = neo_diag(f->diags, span_of(f, "", "f"), NEO_D_NAME_UNKNOWN, "f\"\xff");
  neo_diag_range(f->diags, handle, span_of(f, "", "x"));
  neo_diag_note(f->diags, handle, "a note");
  neo_diag_help(f->diags, handle, "a way out");
  neo_str out;
  neo_str_init(&out, &f->arena);
  neo_diags_print_json(f->diags, &out);
  neo_json *j;
  assert_int_equal(neo_json_parse(neo_str_text(&out), out.n, &j), NEO_OK);
  neo_json *d = neo_json_first(neo_json_get(j, "diagnostics"));
  assert_string_equal(neo_json_text(neo_json_get(d, "code")), "E0101");
  assert_string_equal(neo_json_text(neo_json_get(d, "severity")), "error");
  assert_string_equal(neo_json_text(neo_json_get(d, "message")), "unknown name 'f\"\xef\xbf\xbd'");
  assert_string_equal(neo_json_text(neo_json_get(d, "file")), "m \"q\".expr");
  int64_t line, column;
  assert_true(neo_json_integer(neo_json_get(d, "line"), &line) && line == 1);
  assert_true(neo_json_integer(neo_json_get(d, "column"), &column) && column == 6);
  neo_json *range = neo_json_first(neo_json_get(d, "ranges"));
  assert_true(neo_json_integer(neo_json_get(range, "column"), &column) && column == 8);
  assert_string_equal(neo_json_text(neo_json_first(neo_json_get(d, "notes"))), "a note");
  assert_string_equal(neo_json_text(neo_json_first(neo_json_get(d, "help"))), "a way out");
  neo_json_free(j);
}

static void colour_adds_escapes_and_nothing_else(void **state) {
  fixture *f = *state;
  use_source(f, "m.expr", "x\n");
  neo_diag(f->diags, span_of(f, "", "x"), NEO_D_NAME_UNKNOWN, "x");
  neo_str out, bare;
  neo_str_init(&out, &f->arena);
  neo_str_init(&bare, &f->arena);
  neo_diags_print(f->diags, &out, true);
  assert_non_null(strstr(out.at, "\033[1;31merror"));
  for (size_t i = 0; i < out.n; i++) {
    if (out.at[i] == '\033')
      while (out.at[i] != 'm')
        i++;
    else
      neo_str_addc(&bare, out.at[i]);
  }
  assert_string_equal(neo_str_text(&bare), printed(f));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(message_has_place_code_line_caret_range_and_note),
      TEST(longer_spans_are_underlined),
      TEST(ranges_on_other_lines_show_those_lines),
      TEST(ranges_in_other_files_name_their_file),
      TEST(columns_count_code_points_and_tabs_stay_aligned),
      TEST(wild_bytes_are_printed_clean),
      TEST(end_of_file_has_a_place),
      TEST(spans_over_lines_are_marked_to_the_end_of_the_first),
      TEST(long_lines_show_a_window),
      TEST(messages_are_sorted_by_place_and_those_without_come_last),
      TEST(repetition_is_reported_once_and_its_notes_are_ignored),
      TEST(a_flood_of_errors_is_counted_but_not_kept),
      TEST(equal_spans_are_interned),
      TEST(spans_tell_the_calls_that_lead_to_them),
      TEST(spans_beyond_the_file_are_cut),
      TEST(json_form_parses_and_holds_the_same),
      TEST(colour_adds_escapes_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

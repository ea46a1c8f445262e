/* Words, line ends and brackets. */
#include "frontend/syntax/lexer.h"
#include "parse_test.h"

#include <string.h>

/* The tokens as text: kinds by their spelling, END as `|`, what was made up in <>. */
static const char *lexed(parsing *p, const char *text) {
  neo_lexer l = {.arena = &p->arena, .names = p->names, .diags = p->diags, .text = text};
  l.size_bytes = strlen(text);
  l.file_id = neo_sources_add(p->sources, "t.expr", text, l.size_bytes);
  neo_lex(&l);
  neo_str out;
  neo_str_init(&out, &p->arena);
  for (size_t i = 0; i + 1 < l.tokens.n; i++) {
    const neo_token *t = &l.tokens.at[i];
    const char *shown = t->kind == NEO_TOK_END     ? "|"
                        : t->kind == NEO_TOK_ERROR ? "?"
                        : t->text                  ? t->text
                                                   : neo_tok_text((neo_tok)t->kind);
    neo_str_addf(&out, t->made_up ? "%s<%s>" : "%s%s", out.n ? " " : "", shown);
  }
  assert_int_equal(l.tokens.at[l.tokens.n - 1].kind, NEO_TOK_EOF);
  return neo_str_text(&out);
}

static void words_are_the_longest_possible(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "a<=b==c->d..e.f"), "a <= b == c -> d .. e . f |");
  assert_string_equal(lexed(p, "X[1..]"), "X [ 1 .. ] |");
  assert_string_equal(lexed(p, "1.5e-3-2e4"), "1.5e-3 - 2e4 |");
  assert_string_equal(lexed(p, "infinity nano pine inf nan pi"), "infinity nano pine inf nan pi |");
  assert_string_equal(reported(p), "");
}

static void comments_reach_to_the_end_of_their_line(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "a # b ( \xc3\xa9\n# c\nd"), "a | d |");
  assert_string_equal(reported(p), "");
}

static void a_line_end_ends_a_statement_unless_the_line_goes_on(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "a\n\n\nb"), "a | b |");
  assert_string_equal(lexed(p, "a +\nb,\nc =\nd"), "a + b , c = d |");
  assert_string_equal(lexed(p, "f(a\nb[\n1])\nc"), "f ( a b [ 1 ] ) | c |");
  assert_string_equal(lexed(p, "not\na"), "not a |");
  assert_string_equal(lexed(p, "a;b"), "a | b |");
  assert_string_equal(lexed(p, "f(a;b)"), "f ( a ; b ) |");
  assert_string_equal(lexed(p, "{a\nb}"), "{ a | b } |");
  assert_string_equal(lexed(p, "a\r\nb\r\n"), "a | b |");
}

static void a_line_goes_on_after_a_reducers_bracket_only(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "y = sum[k]\nx[k]\nz"), "y = sum [ k ] x [ k ] | z |");
  assert_string_equal(lexed(p, "y = total[k]\nx"), "y = total [ k ] | x |");
}

static void a_missing_bracket_is_made_up_where_a_statement_begins(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "a = f(x[1\ninput b"), "a = f ( x [ 1 <]> <)> | input b |");
  assert_string_equal(lexed(p, "a = (b +\nY[i] = c"), "a = ( b + <)> | Y [ i ] = c |");
  assert_string_equal(lexed(p, "a = f(b,\nc = 3)"), "a = f ( b , c = 3 ) |");
  assert_string_equal(lexed(p, "{ a = ( }\nb"), "{ a = ( <)> } | b |");
  assert_string_equal(codes(p), "E0004 E0004 E0004 E0004");
}

static void a_dangling_operator_spoils_one_statement(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "a = b +\nc = d"), "a = b + | c = d |");
  assert_string_equal(lexed(p, "a = b +\nparam d = 1"), "a = b + | param d = 1 |");
}

static void a_wrong_closing_bracket_is_taken_for_the_right_one(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "f(a]"), "f ( a ) |");
  assert_string_equal(lexed(p, "f(a[1)"), "f ( a [ 1 <]> ) |");
  assert_string_equal(lexed(p, "a)"), "a ? |");
  assert_string_equal(codes(p), "E0019 E0004 E0007");
}

static void spellings_of_other_languages_are_reported_and_read(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "a ** b && c != d"), "a ^ b and c != d |");
  assert_string_equal(codes(p), "E0008 E0008");
  assert_string_equal(lexed(p, "a \xe2\x89\xa4 b ... !c"), "a <= b .. not c |");
}

static void what_is_no_word_is_one_error(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "\"a b\" $ 3x .5 1. 1.2.3"), "? ? ? ? ? 1.2 ? |");
  assert_string_equal(codes(p), "E0009 E0001 E0003 E0003 E0003 E0003");
}

static void text_that_is_not_utf8_is_reported_once(void **state) {
  parsing *p = *state;
  lexed(p, "a = 1 # \xff\xfe\nb = \xc3\n");
  assert_string_equal(codes(p), "E0002");
}

static void a_byte_order_mark_and_nul_are_no_danger(void **state) {
  parsing *p = *state;
  assert_string_equal(lexed(p, "\xef\xbb\xbf"
                               "a"),
                      "a |");
  assert_string_equal(reported(p), "");
  neo_ast_file *file = parse_bytes(p, "a = 1\0b\n", 8);
  assert_true(file->had_errors);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      PARSING(words_are_the_longest_possible),
      PARSING(comments_reach_to_the_end_of_their_line),
      PARSING(a_line_end_ends_a_statement_unless_the_line_goes_on),
      PARSING(a_line_goes_on_after_a_reducers_bracket_only),
      PARSING(a_missing_bracket_is_made_up_where_a_statement_begins),
      PARSING(a_dangling_operator_spoils_one_statement),
      PARSING(a_wrong_closing_bracket_is_taken_for_the_right_one),
      PARSING(spellings_of_other_languages_are_reported_and_read),
      PARSING(what_is_no_word_is_one_error),
      PARSING(text_that_is_not_utf8_is_reported_once),
      PARSING(a_byte_order_mark_and_nul_are_no_danger),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

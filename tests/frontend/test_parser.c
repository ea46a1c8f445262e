/* The parser: its trees and its messages (golden files), and what must hold for any input. */
#include "parse_test.h"
#include "syntax_gen.h"

#include <math.h>
#include <string.h>

#define GOLDEN NEO_TEST_SOURCE_DIR "/tests/golden/"

/* ---- golden files -------------------------------------------------------------------------- */

static const char *tree_of(neo_arena *a, const char *name, const char *text, size_t n) {
  parsing p;
  parsing_begin(&p);
  neo_ast_file *file = parse_bytes(&p, text, n);
  if (file->had_errors)
    fail_msg("%s:\n%s", name, reported(&p));
  const char *tree = neo_arena_strdup(a, dumped(&p, file));
  parsing_end(&p);
  check_any_text(text, n, name);
  return tree;
}

static void trees_are_as_expected(void **state) {
  (void)state;
  check_golden_folder(GOLDEN "parse", tree_of);
}

static const char *errors_of(neo_arena *a, const char *name, const char *text, size_t n) {
  parsing p;
  parsing_begin(&p);
  neo_ast_file *file = neo_parse(&p.arena, p.names, p.diags, name, text, n);
  if (!file->had_errors)
    fail_msg("%s: no error", name);
  const char *errors = neo_arena_strdup(a, reported(&p));
  parsing_end(&p);
  return errors;
}

static void messages_are_as_expected(void **state) {
  (void)state;
  check_golden_folder(GOLDEN "errors-syntax", errors_of);
}

/* ---- recovery ------------------------------------------------------------------------------ */

static void every_broken_statement_is_reported_once(void **state) {
  parsing *p = *state;
  parse_text(p, "a = 1 +\nb = )\nc = [\nd = 3 4\ninput\ne = x\n");
  assert_string_equal(codes(p), "E0005 E0007 E0004 E0006 E0005");
}

static void a_broken_statement_keeps_the_names_it_defines(void **state) {
  parsing *p = *state;
  neo_ast_file *file = parse_text(p, "Y[i], Z = X[i] X[i]\n");
  assert_int_equal(file->stmts.n, 1);
  const neo_ast_stmt *s = file->stmts.at[0];
  assert_int_equal(s->kind, NEO_AST_BROKEN);
  assert_int_equal(s->u.names.n, 2);
  assert_string_equal(s->u.names.at[0].text, "Y");
  assert_string_equal(s->u.names.at[1].text, "Z");
}

static void an_error_in_a_block_breaks_only_its_statement(void **state) {
  parsing *p = *state;
  neo_ast_file *file = parse_text(p, "fn f(x) -> y {\n  a = 1 1\n  y = 2\n}\n");
  assert_int_equal(file->stmts.at[0]->kind, NEO_AST_FN);
  neo_ast_block block = file->stmts.at[0]->u.fn.block;
  assert_int_equal(block.stmts.at[0]->kind, NEO_AST_BROKEN);
  assert_int_equal(block.stmts.at[1]->kind, NEO_AST_DEFINE);
}

static void errors_in_the_block_of_a_broken_head_are_found(void **state) {
  parsing *p = *state;
  parse_text(p, "fn f(x = 1) -> y {\n  a = 1 1\n}\ny = scan t {\n  b = )\n}\n");
  assert_string_equal(codes(p), "E0005 E0006 E0005 E0007");
}

static void an_unclosed_bracket_spoils_only_its_statement(void **state) {
  parsing *p = *state;
  neo_ast_file *file = parse_text(p, "a = f(x\nY[i] = (X[i]\nparam W[3 = 0\nz = 1\n");
  assert_string_equal(codes(p), "E0004 E0004 E0004");
  assert_int_equal(file->stmts.n, 4);
  assert_int_equal(file->stmts.at[3]->kind, NEO_AST_DEFINE);
}

/* ---- the tree ------------------------------------------------------------------------------ */

static const neo_ast_expr *value_of(parsing *p, const char *text) {
  neo_ast_file *file = parse_text(p, text);
  assert_false(file->had_errors);
  return file->stmts.at[0]->u.define.value;
}

static void equal_names_are_equal_pointers(void **state) {
  parsing *p = *state;
  neo_ast_file *file = parse_text(p, "abc = 1\nx = abc\n");
  const neo_ast_expr *use = file->stmts.at[1]->u.define.value;
  assert_ptr_equal(file->stmts.at[0]->u.define.target.name.text, use->u.ref.path.at[0].text);
}

static void numbers_are_exact(void **state) {
  parsing *p = *state;
  const neo_ast_expr *e = value_of(p, "x = 9223372036854775807");
  assert_true(e->u.number.is_int);
  assert_true(e->u.number.i == INT64_MAX);
  assert_true(value_of(p, "x = 0.1")->u.number.value == 0.1);
  assert_false(value_of(p, "x = 1.0")->u.number.is_int);
  assert_true(isinf(value_of(p, "x = inf")->u.number.value));
  assert_true(value_of(p, "x = pi")->u.number.value == acos(-1.0));
}

static void assert_spells(parsing *p, neo_span span, const char *text) {
  size_t n;
  const char *at = neo_span_bytes(p->sources, span, &n);
  assert_int_equal(n, strlen(text));
  assert_memory_equal(at, text, n);
}

static void spans_cover_what_was_written(void **state) {
  parsing *p = *state;
  neo_ast_file *file = parse_text(p, "  Y[i, j < N] = (a + b)*f(c)[i]  # c\n");
  const neo_ast_stmt *s = file->stmts.at[0];
  assert_spells(p, s->span, "Y[i, j < N] = (a + b)*f(c)[i]");
  assert_spells(p, s->word, "Y");
  assert_spells(p, s->u.define.target.axes.at[1].span, "j < N");
  const neo_ast_expr *product = s->u.define.value;
  assert_spells(p, product->span, "(a + b)*f(c)[i]");
  assert_spells(p, product->u.binary.op_span, "*");
  assert_true(product->u.binary.x->parens);
  assert_spells(p, product->u.binary.x->span, "(a + b)");
  assert_spells(p, product->u.binary.y->u.ref.subs_span, "[i]");
}

static void words_of_statements_are_names_elsewhere(void **state) {
  parsing *p = *state;
  neo_ast_file *file =
      parse_text(p, "input = 1\nstate[i] = next[i] + update\noutput next: input\n");
  assert_string_equal(reported(p), "");
  assert_string_equal(dumped(p, file), "(= input 1)\n(= state[i] (+ next[i] update))\n"
                                       "(output next: input)\n");
}

static void a_line_goes_on_where_it_cannot_end(void **state) {
  parsing *p = *state;
  const char *text = "a =\n b +\n c*\n sum[k]\n f(x,\n  y\n )\nb = 1\nupdate a = 1,\n b = 2\n";
  assert_string_equal(dumped(p, parse_text(p, text)),
                      "(= a (+ b (* c (sum [k] (f x y)))))\n(= b 1)\n(update (= a 1) (= b 2))\n");
}

/* ---- limits -------------------------------------------------------------------------------- */

static const char *repeated(parsing *p, const char *first, const char *text, size_t times,
                            const char *last) {
  neo_str s;
  neo_str_init(&s, &p->arena);
  neo_str_add(&s, first);
  for (size_t i = 0; i < times; i++)
    neo_str_add(&s, text);
  neo_str_add(&s, last);
  return neo_str_text(&s);
}

static void nesting_of_256_is_fine_and_of_257_an_error(void **state) {
  parsing *p = *state;
  const char *open = repeated(p, "y = ", "(", 255, "x"); /* the statement is the first level */
  parse_text(p, repeated(p, open, ")", 255, "\n"));
  assert_string_equal(reported(p), "");
  open = repeated(p, "y = ", "(", 256, "x");
  parse_text(p, repeated(p, open, ")", 256, "\n"));
  assert_string_equal(codes(p), "E0902");
}

static void every_way_to_nest_is_bounded(void **state) {
  static const char *const pieces[][2] = {
      {"y = ", "-"},
      {"y = ", "not "},
      {"y = ", "x^"},
      {"y = ", "sum[k] "},
      {"y = ", "any[k] "},
      {"y = ", "f("},
      {"y = ", "x["},
      {"y = ", "x + "},
      {"y = ", "x and "},
      {"const k = ", "["},
      {"", "fn f() -> y {"},
      {"", "y = case 1 { 1 {"},
      {"y = ", "max[k < "},
      {"Y[i < ", "x["},
      {"", "y = scan t < 2 {"},
      {"input x : i32 < ", "("},
  };
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    parsing p;
    parsing_begin(&p);
    neo_ast_file *file = parse_text(&p, repeated(&p, pieces[i][0], pieces[i][1], 100000, "x"));
    assert_true(file->had_errors);
    assert_true(strlen(dumped(&p, file)) > 0);
    parsing_end(&p);
  }
  (void)state;
}

static void a_source_of_more_than_4_mib_is_refused(void **state) {
  parsing *p = *state;
  size_t n = (size_t)NEO_SOURCE_LIMIT_BYTES;
  char *text = neo_arena_alloc(&p->arena, n + 2);
  memset(text, ' ', n + 1);
  assert_false(parse_bytes(p, text, n)->had_errors);
  neo_ast_file *file = parse_bytes(p, text, n + 1);
  assert_true(file->had_errors);
  assert_int_equal(file->stmts.n, 0);
  assert_string_equal(codes(p), "E0901");
}

/* ---- any input ----------------------------------------------------------------------------- */

static void random_programs_parse_and_format(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 800; seed++) {
    parsing p;
    parsing_begin(&p);
    neo_str text;
    neo_str_init(&text, &p.arena);
    gen_program(&text, seed);
    neo_ast_file *file = parse_bytes(&p, neo_str_text(&text), text.n);
    if (file->had_errors)
      fail_msg("seed %d:\n%s\n%s", (int)seed, reported(&p), neo_str_text(&text));
    check_any_text(neo_str_text(&text), text.n, neo_arena_printf(&p.arena, "seed %d", (int)seed));
    parsing_end(&p);
  }
}

static void damaged_programs_never_crash(void **state) {
  (void)state;
  static char text[1 << 20];
  for (uint64_t seed = 1; seed <= 800; seed++) {
    parsing p;
    parsing_begin(&p);
    neo_str program;
    neo_str_init(&program, &p.arena);
    gen_program(&program, seed);
    size_t n = program.n < sizeof text ? program.n : sizeof text;
    memcpy(text, neo_str_text(&program), n);
    gen_damage(text, &n, sizeof text, seed);
    check_any_text(text, n, neo_arena_printf(&p.arena, "damage, seed %d", (int)seed));
    parsing_end(&p);
  }
}

static void token_soup_never_crashes(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 2500; seed++) {
    parsing p;
    parsing_begin(&p);
    neo_str text;
    neo_str_init(&text, &p.arena);
    gen_token_soup(&text, seed);
    check_any_text(neo_str_text(&text), text.n, neo_arena_printf(&p.arena, "soup %d", (int)seed));
    parsing_end(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      PARSING(trees_are_as_expected),
      PARSING(messages_are_as_expected),
      PARSING(every_broken_statement_is_reported_once),
      PARSING(a_broken_statement_keeps_the_names_it_defines),
      PARSING(an_error_in_a_block_breaks_only_its_statement),
      PARSING(errors_in_the_block_of_a_broken_head_are_found),
      PARSING(an_unclosed_bracket_spoils_only_its_statement),
      PARSING(equal_names_are_equal_pointers),
      PARSING(numbers_are_exact),
      PARSING(spans_cover_what_was_written),
      PARSING(words_of_statements_are_names_elsewhere),
      PARSING(a_line_goes_on_where_it_cannot_end),
      PARSING(nesting_of_256_is_fine_and_of_257_an_error),
      PARSING(every_way_to_nest_is_bounded),
      PARSING(a_source_of_more_than_4_mib_is_refused),
      PARSING(random_programs_parse_and_format),
      PARSING(damaged_programs_never_crash),
      PARSING(token_soup_never_crashes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* See parse_test.h. */
#include "parse_test.h"
#include "tests/syntax/ast_dump.h"

#include <stdlib.h>
#include <string.h>

void parsing_begin(parsing *p) {
  neo_arena_init(&p->arena, neo_alloc_default, NULL);
  p->names = neo_names_new(&p->arena);
  p->sources = neo_sources_new(&p->arena);
  p->diags = neo_diags_new(&p->arena, p->sources);
}

void parsing_end(parsing *p) {
  neo_arena_free(&p->arena);
}

int parsing_set_up(void **state) {
  *state = calloc(1, sizeof(parsing));
  parsing_begin(*state);
  return 0;
}

int parsing_tear_down(void **state) {
  parsing_end(*state);
  free(*state);
  return 0;
}

neo_ast_file *parse_bytes(parsing *p, const char *text, size_t n) {
  return neo_parse(&p->arena, p->names, p->diags, "t.expr", text, n);
}

neo_ast_file *parse_text(parsing *p, const char *text) {
  return parse_bytes(p, text, strlen(text));
}

const char *dumped(parsing *p, const neo_ast_file *file) {
  neo_str out;
  neo_str_init(&out, &p->arena);
  neo_ast_dump(file, &out);
  return neo_str_text(&out);
}

const char *formatted(parsing *p, const neo_ast_file *file) {
  neo_str out;
  neo_str_init(&out, &p->arena);
  neo_format(&p->arena, file, p->sources, &out);
  return neo_str_text(&out);
}

const char *reported(parsing *p) {
  neo_str out;
  neo_str_init(&out, &p->arena);
  neo_diags_print(p->diags, &out, false);
  return neo_str_text(&out);
}

const char *codes(parsing *p) {
  neo_str out;
  neo_str_init(&out, &p->arena);
  for (const char *at = reported(p); (at = strstr(at, ": error[")); at++)
    neo_str_addf(&out, "%s%.5s", out.n ? " " : "", at + 8);
  return neo_str_text(&out);
}

/* ---- properties ---------------------------------------------------------------------------- */

static void check_format(parsing *p, const neo_ast_file *file, const char *what) {
  const char *once = formatted(p, file);
  neo_ast_file *again = parse_text(p, once);
  if (again->had_errors)
    fail_msg("%s: formatting broke it:\n%s\n%s", what, reported(p), once);
  if (strcmp(dumped(p, file), dumped(p, again)) != 0)
    fail_msg("%s: formatting changed the tree:\n%s", what, once);
  const char *twice = formatted(p, again);
  if (strcmp(once, twice) != 0)
    fail_msg("%s: formatting twice differs:\n%s\n---\n%s", what, once, twice);
}

void check_any_text(const char *text, size_t n, const char *what) {
  parsing p;
  parsing_begin(&p);
  neo_ast_file *file = parse_bytes(&p, text, n);
  if (file->had_errors != (neo_diags_errors(p.diags) > 0))
    fail_msg("%s: errors and had_errors disagree", what);
  bool broken = strstr(dumped(&p, file), "(broken") != NULL;
  if (broken && !file->had_errors)
    fail_msg("%s: a broken statement without an error", what);
  if (!file->had_errors)
    check_format(&p, file, what);
  else
    assert_true(strlen(reported(&p)) > 0);
  parsing_end(&p);
}

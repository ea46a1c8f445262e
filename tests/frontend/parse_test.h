/* Helpers of the tests of the syntax: a fresh compilation each, and golden files. */
#ifndef NEO_TESTS_PARSE_TEST_H
#define NEO_TESTS_PARSE_TEST_H
#include "frontend/syntax/format.h"
#include "frontend/syntax/parser.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct {
  neo_arena arena;
  neo_names *names;
  neo_sources *sources;
  neo_diags *diags;
} parsing;

int parsing_set_up(void **state); /* *state: a parsing */
int parsing_tear_down(void **state);
void parsing_begin(parsing *p); /* for loops: begin, use, end */
void parsing_end(parsing *p);
#define PARSING(name) cmocka_unit_test_setup_teardown(name, parsing_set_up, parsing_tear_down)

neo_ast_file *parse_bytes(parsing *p, const char *text, size_t n);
neo_ast_file *parse_text(parsing *p, const char *text);
const char *dumped(parsing *p, const neo_ast_file *file);
const char *formatted(parsing *p, const neo_ast_file *file);
const char *reported(parsing *p); /* the diagnostics as text */
/* The codes of what was reported, in order: "E0004 E0005". */
const char *codes(parsing *p);

/* Parses; checks what must hold for any input; if there are no errors, that formatting changes no
 * tree and that formatting twice is formatting once. `what` is shown on failure. */
void check_any_text(const char *text, size_t n, const char *what);

/* Golden files: every .expr file of the folder holds an input, a line `# expect:`, and what the
 * function makes of the input, each line behind `# `. With NEO_GOLDEN_REFRESH set in the
 * environment they are rewritten. `result` gets the text before `# expect:` and the file's name. */
typedef const char *golden_result(neo_arena *a, const char *name, const char *text, size_t n);
void check_golden_folder(const char *path, golden_result *result);

#endif

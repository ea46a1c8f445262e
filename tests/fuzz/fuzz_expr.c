/* Any bytes as an `.expr` file: read without a crash; what has no errors is formatted, the result
 * has the same tree, and formatting it again changes nothing. */
#include "frontend/syntax/format.h"
#include "frontend/syntax/parser.h"
#include "tests/syntax/ast_dump.h"

#include <assert.h>
#include <string.h>

typedef struct {
  neo_arena arena;
  neo_names *names;
  neo_sources *sources;
  neo_diags *diags;
} fuzz;

static neo_str format(fuzz *f, const neo_ast_file *file) {
  neo_str out;
  neo_str_init(&out, &f->arena);
  neo_format(&f->arena, file, f->sources, &out);
  return out;
}

static neo_str dump(fuzz *f, const neo_ast_file *file) {
  neo_str out;
  neo_str_init(&out, &f->arena);
  neo_ast_dump(file, &out);
  return out;
}

static void check_format(fuzz *f, const neo_ast_file *file) {
  neo_str once = format(f, file);
  const char *text = neo_str_text(&once);
  neo_ast_file *again = neo_parse(&f->arena, f->names, f->diags, "again", text, once.n);
  assert(!again->had_errors && "canonical form parses");
  neo_str before = dump(f, file), after = dump(f, again);
  assert(strcmp(neo_str_text(&before), neo_str_text(&after)) == 0 && "the tree stays");
  neo_str twice = format(f, again);
  assert(strcmp(text, neo_str_text(&twice)) == 0 && "twice is once");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  fuzz f;
  neo_arena_init(&f.arena, neo_alloc_default, NULL);
  f.names = neo_names_new(&f.arena);
  f.sources = neo_sources_new(&f.arena);
  f.diags = neo_diags_new(&f.arena, f.sources);
  neo_ast_file *file = neo_parse(&f.arena, f.names, f.diags, "input", (const char *)data, n);
  neo_str out;
  neo_str_init(&out, &f.arena);
  neo_diags_print(f.diags, &out, false);
  if (!file->had_errors)
    check_format(&f, file);
  neo_arena_free(&f.arena);
  return 0;
}

/* A file: its words, then its statements. */
#include "frontend/syntax/parser.h"

#include "frontend/syntax/parse_rec.h"

/* ---- a file ---------------------------------------------------------------------------------- */

static void free_locale(void *locale) {
  freelocale(locale);
}

static void parse_tokens(neo_parser *p, neo_ast_file *file) {
  neo_arena_cleanup *cleanup = neo_arena_defer(p->arena, free_locale);
  p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  cleanup->object = p->c_locale;
  file->stmts = neo_p_statements(p, true);
  freelocale(p->c_locale);
  cleanup->object = NULL;
  file->had_errors |= p->had_errors;
  file->asks_gradients = p->asks_gradients;
}

neo_ast_file *neo_parse(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                        const char *text, size_t n) {
  neo_ast_file *file = NEO_NEW(a, neo_ast_file);
  file->path = path;
  bool large = n > NEO_SOURCE_LIMIT_BYTES;
  file->text = text;
  file->size_bytes = large ? 0 : n;
  file->file_id = neo_sources_add(neo_diags_sources(d), path, text, file->size_bytes);
  if (large) {
    file->had_errors = true;
    neo_diag(d, neo_span_of(neo_diags_sources(d), file->file_id, 0, 0), NEO_D_TOO_LARGE,
             NEO_SOURCE_LIMIT_BYTES >> 20);
    return file;
  }
  neo_lexer l = {.arena = a, .names = names, .diags = d, .file_id = file->file_id, .text = text};
  l.size_bytes = n;
  neo_lex(&l);
  file->had_errors = l.had_errors;
  NEO_P_LIST(&file->comments, &l.comments);
  neo_parser p = {.arena = a, .diags = d, .file_id = file->file_id, .tokens = l.tokens};
  p.sources = neo_diags_sources(d);
  parse_tokens(&p, file);
  return file;
}

/* Blocks of comments, and the functions or sections that they belong to. */
#include "tools/neoc/doc/doc.h"
#include <string.h>

static const char *line_end(const char *at, const char *end) {
  const char *found = memchr(at, '\n', (size_t)(end - at));
  return found ? found + 1 : end;
}

/* The next block from *at on; *at is moved after it. */
static bool next_block(const char **at, const char *end, doc_block *b) {
  while (*at < end && **at != '#')
    *at = line_end(*at, end);
  b->at = *at;
  while (*at < end && **at == '#')
    *at = line_end(*at, end);
  b->n = (size_t)(*at - b->at);
  return b->n > 0;
}

doc_block doc_line(doc_block *rest) {
  const char *end = rest->at + rest->n, *next = line_end(rest->at, end);
  const char *from = rest->at + 1, *to = next > rest->at && next[-1] == '\n' ? next - 1 : next;
  if (from < to && *from == ' ')
    from++;
  *rest = (doc_block){next, (size_t)(end - next)};
  return (doc_block){from, (size_t)(to - from)};
}

bool doc_is_code(doc_block line) {
  return line.n > 2 && line.at[0] == ' ' && line.at[1] == ' ';
}

doc_block doc_title(doc_block b) {
  doc_block line = b.n ? doc_line(&b) : b;
  if (line.n < 5 || memcmp(line.at, "---- ", 5) != 0)
    return (doc_block){0};
  return (doc_block){line.at + 5, line.n - 5};
}

static bool has_code(doc_block b) {
  while (b.n)
    if (doc_is_code(doc_line(&b)))
      return true;
  return false;
}

static bool is_function(const neo_ast_stmt *s) {
  return s->kind == NEO_AST_FN || s->kind == NEO_AST_OPTIMIZER || s->kind == NEO_AST_VERTEX;
}

static void count(doc_entries *list) {
  for (size_t k = list->n; k-- > 0;)
    if (!list->at[k].fn) {
      list->at[k].functions++;
      return;
    }
}

/* Adds the comment blocks between two statements; the last block may belong to the second
 * statement. */
static void add_gap(doc_page *p, const char *at, const char *end, const neo_ast_stmt *next) {
  doc_block b;
  while (next_block(&at, end, &b)) {
    bool of_next = next && b.at + b.n == end && is_function(next);
    if (of_next && has_code(b)) {
      NEO_PUSH(p->cli->arena, &p->entries, (doc_entry){b, next, 0});
      count(&p->entries);
    } else if (!of_next && (b.at == p->source->text || doc_title(b).n)) {
      NEO_PUSH(p->cli->arena, &p->entries, (doc_entry){b, NULL, 0});
    }
  }
}

void doc_entries_find(doc_page *p) {
  const neoc_source *s = p->source;
  const char *at = s->text;
  for (uint32_t k = 0; k < s->file->stmts.n; k++) {
    const neo_ast_stmt *stmt = s->file->stmts.at[k];
    size_t n;
    const char *from = neo_span_bytes(s->sources, stmt->span, &n);
    if (at < from)
      add_gap(p, at, from, stmt);
    at = line_end(from + n, s->text + s->n); /* a comment after it is no block */
  }
  add_gap(p, at, s->text + s->n, NULL);
}

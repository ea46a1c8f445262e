/* A block of comments as Markdown: prose, and code between fences. */
#include "tools/neoc/doc/doc.h"
#include <ctype.h>
#include <string.h>

enum { COLUMNS = 120 };

void doc_add_word(doc_page *p, const char *word) {
  size_t column = 0;
  const char *text = neo_str_text(&p->out);
  while (column < p->out.n && text[p->out.n - 1 - column] != '\n')
    column++;
  neo_str_addf(&p->out, "%s%s", column + 1 + strlen(word) <= COLUMNS ? " " : "\n  ", word);
}

/* Adds a line of prose; characters that have a meaning in Markdown are escaped, except in code. */
static void add_prose(neo_str *out, doc_block line) {
  bool code = false;
  for (size_t k = 0; k < line.n; k++) {
    code = code != (line.at[k] == '`');
    if (!code && strchr("*<|", line.at[k]))
      neo_str_addc(out, '\\');
    neo_str_addc(out, line.at[k]);
  }
  neo_str_addc(out, '\n');
}

static bool is_name(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* The length of `nn.` of a call nn.linear(…) at the end of the first n bytes; 0: there is none. */
static size_t module_of(const char *at, size_t n) {
  size_t name = n, dot;
  while (name > 0 && is_name(at[name - 1]))
    name--;
  if (name == n || name < 2 || at[name - 1] != '.')
    return 0;
  dot = name - 1;
  while (dot > 0 && is_name(at[dot - 1]))
    dot--;
  return name - 1 - dot;
}

/* Adds the modules of the calls in a line of code to a list " nn, optim,". */
static void add_modules(doc_page *p, doc_block line, neo_str *list) {
  for (size_t k = 0; k < line.n; k++) {
    size_t dot = k, n = line.at[k] == '(' ? module_of(line.at, k) : 0;
    while (n && line.at[dot] != '.')
      dot--;
    const char *word = neo_arena_printf(p->cli->arena, " %.*s,", (int)n, line.at + dot - n);
    if (n && !strstr(neo_str_text(list), word))
      neo_str_add(list, word);
  }
}

/* Adds an import of each module whose functions the code calls. */
static void add_imports(doc_page *p, doc_block b) {
  neo_str list = neo_str_in(p->cli->arena);
  while (b.n) {
    const doc_block line = doc_line(&b);
    if (doc_is_code(line))
      add_modules(p, line, &list);
  }
  if (list.n)
    neo_str_addf(&p->out, "import%.*s\n", (int)list.n - 1, neo_str_text(&list));
}

static void add_code(doc_page *p, doc_block line) {
  neo_str_addn(&p->out, line.at + 2, line.n - 2);
  neo_str_addc(&p->out, '\n');
}

static void open_code(doc_page *p, doc_block whole, bool example) {
  neo_str_add(&p->out, example ? "```expr\n" : "```expr fragment\n");
  if (example)
    add_imports(p, whole);
}

void doc_add_block(doc_page *p, doc_block b, bool example) {
  const doc_block whole = b;
  bool in_code = false, blank = false;
  while (b.n) {
    const doc_block line = doc_line(&b);
    const bool code = doc_is_code(line);
    if (!line.n) {
      blank = true;
      continue;
    }
    if (in_code && !code)
      neo_str_add(&p->out, "```\n");
    neo_str_add(&p->out, blank ? "\n" : "");
    if (code && !in_code)
      open_code(p, whole, example);
    if (code)
      add_code(p, line);
    else
      add_prose(&p->out, line);
    in_code = code;
    blank = false;
  }
  if (in_code)
    neo_str_add(&p->out, "```\n");
}

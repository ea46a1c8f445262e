/* Records and fields, as in RFC 4180: a field in quotes may contain separators and line ends, and
 * two quotes in it are one. Lines end with \n, \r\n or \r; a byte order mark and empty lines at the
 * end are skipped. An empty line elsewhere is a record of one empty field: skipping it would shift
 * the rows after it. */
#include "tools/neoc/csv/parts.h"
#include <string.h>
#include <strings.h>

/* ---- the separator */

/* Tabs and semicolons are rare where they separate nothing, commas are not: 1,5;2,5. */
static char find_separator(const char *p, const char *end) {
  bool quoted = false, semicolon = false;
  for (; p < end && (quoted || (*p != '\n' && *p != '\r')); p++) {
    quoted = quoted != (*p == '"');
    if (*p == '\t' && !quoted)
      return '\t';
    semicolon = semicolon || (*p == ';' && !quoted);
  }
  return semicolon ? ';' : ',';
}

void neoc_csv_begin(neo_arena *a, const char *text, size_t n, char separator, neoc_csv_text *t) {
  *t = (neoc_csv_text){.arena = a, .p = text, .end = text + n, .line = 1};
  if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
    t->p += 3;
  t->separator = separator ? separator : find_separator(t->p, t->end);
}

/* ---- fields */

static bool ends_line(char c) {
  return c == '\n' || c == '\r';
}

static void pass_line_end(neoc_csv_text *t) {
  if (t->p >= t->end)
    return;
  bool pair = *t->p == '\r' && t->p + 1 < t->end && t->p[1] == '\n';
  t->p += pair ? 2 : 1;
  t->line++;
}

static bool is_space(const neoc_csv_text *t, char c) {
  return c == ' ' || (c == '\t' && t->separator != '\t');
}

static neoc_csv_field plain(neoc_csv_text *t) {
  const char *from = t->p;
  while (t->p < t->end && *t->p != t->separator && !ends_line(*t->p))
    t->p++;
  const char *to = t->p;
  while (from < to && is_space(t, *from))
    from++;
  while (to > from && is_space(t, to[-1]))
    to--;
  return (neoc_csv_field){from, (size_t)(to - from), false};
}

/* Two quotes become one. */
static neoc_csv_field unescaped(neoc_csv_text *t, const char *from, const char *to) {
  char *out = neo_arena_alloc(t->arena, (size_t)(to - from) + 1), *w = out;
  for (const char *p = from; p < to; p++) {
    *w++ = *p;
    p += *p == '"';
  }
  return (neoc_csv_field){out, (size_t)(w - out), true};
}

static neoc_csv_field quoted(neoc_csv_text *t) {
  const char *from = ++t->p;
  bool doubled = false;
  for (;; t->p++) {
    if (t->p == t->end) {
      t->error = "a quote is not closed";
      return (neoc_csv_field){0};
    }
    t->line += *t->p == '\n';
    if (*t->p != '"')
      continue;
    if (t->p + 1 == t->end || t->p[1] != '"')
      break;
    doubled = true;
    t->p++;
  }
  const char *to = t->p++;
  while (t->p < t->end && is_space(t, *t->p))
    t->p++;
  if (t->p < t->end && *t->p != t->separator && !ends_line(*t->p))
    t->error = "text after a closing quote";
  return doubled ? unescaped(t, from, to) : (neoc_csv_field){from, (size_t)(to - from), true};
}

static neoc_csv_field next_field(neoc_csv_text *t) {
  const char *p = t->p;
  while (p < t->end && is_space(t, *p))
    p++;
  if (p == t->end || *p != '"')
    return plain(t);
  t->p = p;
  return quoted(t);
}

static bool rest_is_empty(const neoc_csv_text *t) {
  const char *p = t->p;
  while (p < t->end && ends_line(*p))
    p++;
  return p == t->end;
}

bool neoc_csv_next(neoc_csv_text *t, neoc_csv_record *r) {
  if (rest_is_empty(t))
    return false;
  r->fields.n = 0;
  r->line = t->line;
  for (;;) {
    neoc_csv_field f = next_field(t);
    if (t->error)
      return false;
    NEO_PUSH(t->arena, &r->fields, f);
    if (t->p == t->end || *t->p != t->separator)
      break;
    t->p++;
  }
  pass_line_end(t);
  return true;
}

/* ---- meaning of a field */

static bool is_word(neoc_csv_field f, const char *word) {
  return f.n == strlen(word) && strncasecmp(f.at, word, f.n) == 0;
}

bool neoc_csv_is_missing(neoc_csv_field f) {
  static const char *const words[] = {"NA", "N/A", "NaN", "null", "?"};
  for (size_t k = 0; k < sizeof words / sizeof *words && !f.quoted; k++)
    if (is_word(f, words[k]))
      return true;
  return f.n == 0;
}

bool neoc_csv_number(neoc_csv_field f, neoc_number *x) {
  char text[512];
  const char *end;
  bool truth = is_word(f, "true");
  *x = (neoc_number){.whole = true, .i = truth, .f = truth};
  if (truth || is_word(f, "false"))
    return true;
  bool begins = f.n > 0 && strchr("+-.0123456789", f.at[0]) != NULL;
  if (!begins || f.n >= sizeof text || memchr(f.at, 'x', f.n) || memchr(f.at, 'X', f.n))
    return false;
  memcpy(text, f.at, f.n);
  text[f.n] = 0;
  return neoc_read_number(text, &end, x) && end == text + f.n && x->f == x->f;
}

const char *neoc_csv_quote(neo_arena *a, neoc_csv_field f) {
  enum { MOST = 40 };
  bool cut = f.n > MOST;
  return neo_arena_printf(a, "'%.*s%s'", (int)(cut ? MOST : f.n), f.at, cut ? "..." : "");
}

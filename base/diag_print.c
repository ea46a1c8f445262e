/* Diagnostics as text.
 *
 *   mlp.expr:13:28: error[E0203]: index 'i' has two extents: ...
 *      13 | H[b, j] = relu(sum[i] X[b, i] * W1[i, j] + b1[j])
 *         |                            ^       ~
 *
 * Under each line that the place or a range touches: `^~~` for the place, `~~~` for ranges. A
 * span that runs on is marked to the end of its first line. Whatever the source holds, the output
 * is clean: control characters and broken UTF-8 show as U+FFFD, and of a long line only a window
 * around the mark is shown. One column is one code point; tabs are kept in the line of marks. */
#include "base/diag_rec.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

enum { BEFORE = 80, WINDOW = 160 }; /* code points shown before the mark, and in all */

typedef struct {
  const char *bold, *severity[3], *mark, *off;
} palette;

static const palette plain = {"", {"", "", ""}, "", ""};
static const palette coloured = {
    "\033[1m", {"\033[1;31m", "\033[1;35m", "\033[1;34m"}, "\033[1;32m", "\033[0m"};

/* Adds one code point of the text in printable form; returns its length in bytes. */
static size_t add_point(neo_str *out, const char *text, size_t n) {
  uint32_t code = 0;
  size_t length = neo_utf8_decode(text, n, &code);
  if (code == '\t')
    neo_str_addc(out, '\t');
  else if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
    neo_str_add(out, REPLACEMENT);
  else
    neo_str_addn(out, text, length);
  return length ? length : 1;
}

/* Messages may quote the source. */
static void add_clean(neo_str *out, const char *text) {
  for (size_t n = strlen(text); n > 0;) {
    size_t length = add_point(out, text, n);
    text += length;
    n -= length;
  }
}

typedef struct {
  neo_line line;
  neo_span span;
  bool primary, elsewhere; /* elsewhere: not in the primary's file */
} mark;

/* The primary's file first, then by file and line. */
static int compare_marks(const void *x, const void *y) {
  const mark *m = x, *n = y;
  const neo_line *a = &m->line, *b = &n->line;
  if (m->elsewhere != n->elsewhere)
    return m->elsewhere ? 1 : -1;
  if (a->file != b->file)
    return a->file < b->file ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

static char mark_at(const mark *marks, size_t n, uint32_t i) {
  char c = ' ';
  for (size_t k = 0; k < n; k++) {
    const neo_line *line = &marks[k].line;
    bool first = i == line->from;
    if (first && marks[k].primary)
      return '^';
    if (first || (i > line->from && i < line->to))
      c = '~';
  }
  return c;
}

/* The byte of the line at which to start showing, so that the first mark is in the window. */
static uint32_t window_start(const mark *marks, size_t n) {
  const neo_line *line = &marks[0].line;
  uint32_t i = line->n;
  for (size_t k = 0; k < n; k++)
    i = marks[k].line.from < i ? marks[k].line.from : i;
  for (int points = 0; i > 0 && points < BEFORE; points++)
    do
      i--;
    while (i > 0 && ((unsigned char)line->text[i] & 0xc0) == 0x80);
  return i;
}

/* The line of source, and below it the marks, which share that line. */
static void add_line(neo_str *out, neo_arena *arena, const palette *c, const mark *marks,
                     size_t n) {
  const neo_line *line = &marks[0].line;
  neo_str below = neo_str_in(arena);
  uint32_t i = window_start(marks, n);
  neo_str_addf(out, "%5u | %s", line->number, i > 0 ? "..." : "");
  neo_str_add(&below, i > 0 ? "   " : "");
  for (int points = 0; i < line->n && points < WINDOW; points++) {
    char m = mark_at(marks, n, i);
    neo_str_addc(&below, m == ' ' && line->text[i] == '\t' ? '\t' : m);
    i += (uint32_t)add_point(out, line->text + i, line->n - i);
  }
  if (i < line->n)
    neo_str_add(out, "...");
  else
    neo_str_addc(&below, mark_at(marks, n, i));
  size_t width = below.n;
  while (width > 0 && strchr(" \t", below.at[width - 1]))
    width--;
  neo_str_addf(out, "\n      | %s%.*s%s\n", c->mark, (int)width, neo_str_text(&below), c->off);
}

static void add_lines(neo_str *out, neo_diags *d, const palette *c, const neo_diag_rec *rec) {
  size_t n = rec->ranges.n + 1;
  mark *marks = NEO_NEW_ARRAY(d->arena, mark, n);
  marks[0] = (mark){neo_span_line(d->sources, rec->at), rec->at, true, false};
  for (size_t i = 1; i < n; i++) {
    neo_span span = rec->ranges.at[i - 1];
    neo_line line = neo_span_line(d->sources, span);
    marks[i] = (mark){line, span, false, line.file != marks[0].line.file};
  }
  uint32_t shown_file = marks[0].line.file;
  qsort(marks, n, sizeof *marks, compare_marks);
  for (size_t i = 0, j; i < n; i = j) {
    for (j = i + 1; j < n && compare_marks(&marks[i], &marks[j]) == 0;)
      j++;
    if (marks[i].line.file != shown_file)
      neo_str_addf(out, "  %s:\n", neo_span_text(d->sources, marks[i].span));
    shown_file = marks[i].line.file;
    add_line(out, d->arena, c, marks + i, j - i);
  }
}

static void add_rec(neo_str *out, neo_diags *d, const palette *c, const neo_diag_rec *rec) {
  neo_severity severity = neo_diag_severity(rec->id);
  neo_str_add(out, c->bold);
  if (rec->at) {
    add_clean(out, neo_span_text(d->sources, rec->at));
    neo_str_add(out, ": ");
  }
  neo_str_addf(out, "%s%s%s[%s]: %s%s", c->off, c->severity[severity], neo_severity_text(severity),
               neo_diag_code(rec->id), c->off, c->bold);
  add_clean(out, rec->text);
  neo_str_addf(out, "%s\n", c->off);
  if (rec->at)
    add_lines(out, d, c, rec);
  for (size_t i = 0; i < rec->remarks.n; i++) {
    neo_str_add(out, rec->remarks.at[i].help ? "help: " : "note: ");
    add_clean(out, rec->remarks.at[i].text);
    neo_str_addc(out, '\n');
  }
}

void neo_diags_print(neo_diags *d, neo_str *out, bool colour) {
  const neo_diag_rec **sorted = neo_diags_sorted(d);
  for (size_t i = 0; i < d->recs.n; i++)
    add_rec(out, d, colour ? &coloured : &plain, sorted[i]);
  if (d->dropped > 0)
    neo_str_addf(out, "note: %zu more are not shown\n", d->dropped);
}

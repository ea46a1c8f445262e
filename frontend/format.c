/* Files and blocks, the comments between statements, and the column of those behind them. */
#include "frontend/format_rec.h"

#include <assert.h>
#include <string.h>

/* ---- between statements
 * ------------------------------------------------------------------------ */

/* Is there a line with nothing on it? */
static bool has_blank_line(const neo_f *f, uint32_t from, uint32_t to) {
  int ends = 0;
  for (uint32_t i = from; i < to && ends < 2; i++)
    if (f->file->text[i] == '\n')
      ends++;
    else if (!strchr(" \t\r", f->file->text[i]))
      ends = 0;
  return ends >= 2;
}

static bool has_line_end(const neo_f *f, uint32_t from, uint32_t to) {
  return memchr(f->file->text + from, '\n', to - from) != NULL;
}

/* Nothing but spaces, and perhaps the `;` of the statement. */
static bool is_beside(const neo_f *f, uint32_t from, uint32_t to) {
  while (from < to && strchr(" \t\r;", f->file->text[from]))
    from++;
  return from == to;
}

static void blank_line(neo_f *f, uint32_t before) {
  bool first = f->out.n == 0 || f->block_start;
  if (!first && has_blank_line(f, f->end, before))
    neo_f_end_line(f);
  f->block_start = false;
}

static const neo_ast_comment *next_comment(const neo_f *f, uint32_t before) {
  if (f->comment >= f->file->comments.n)
    return NULL;
  const neo_ast_comment *c = &f->file->comments.at[f->comment];
  return c->offset < before ? c : NULL;
}

static void own_line(neo_f *f, const neo_ast_comment *c) {
  neo_str_addf(&f->out, "%*s", (int)f->indent, "");
  neo_str_addn(&f->out, f->file->text + c->offset, c->length);
  neo_f_end_line(f);
  f->end = c->offset + c->length;
}

static void comment_lines(neo_f *f, uint32_t before) {
  for (const neo_ast_comment *c; (c = next_comment(f, before)); f->comment++) {
    blank_line(f, c->offset);
    own_line(f, c);
  }
}

void neo_f_lead(neo_f *f, uint32_t from) {
  comment_lines(f, from);
  blank_line(f, from);
}

/* Ends the line at the offset `to` of the text, with the comments that were not printed within what
 * ends here, and the one behind it. */
static void finish_line(neo_f *f, uint32_t to) {
  f->end = to;
  for (const neo_ast_comment *c; (c = next_comment(f, UINT32_MAX)); f->comment++) {
    bool within = c->offset < to;
    if (!within && !is_beside(f, to, c->offset))
      break;
    if (!f->in_line) {
      own_line(f, c);
      continue;
    }
    neo_f_trail(f, f->file->text + c->offset, c->length);
    neo_f_end_line(f);
    f->end = within ? to : c->offset + c->length;
  }
  if (f->in_line)
    neo_f_end_line(f);
}

void neo_f_tail(neo_f *f, uint32_t to) {
  neo_f_print(f);
  finish_line(f, to);
}

/* ---- blocks
 * ------------------------------------------------------------------------------------- */

static void statements(neo_f *f, neo_ast_stmts list) {
  for (uint32_t i = 0; i < list.n; i++) {
    const neo_ast_stmt *s = list.at[i];
    if (f->flat) {
      neo_f_text(f, i ? "; " : "");
      neo_f_stmt(f, s);
      continue;
    }
    neo_f_lead(f, neo_f_from(f, s->span));
    neo_f_stmt(f, s);
    neo_f_tail(f, neo_f_to(f, s->span));
  }
}

static void block_inside(neo_f *f, const void *block) {
  statements(f, ((const neo_ast_block *)block)->stmts);
}

/* Adds the braces to the line if they were written on one and fit; what stands before is
 * printed. */
static bool fits_flat(neo_f *f, const neo_f_braced *b) {
  bool short_line = b->close - b->open <= 4 * NEO_F_COLUMNS && !has_line_end(f, b->open, b->close);
  if (!short_line || next_comment(f, b->close))
    return false;
  bool outer = f->flat;
  f->flat = true;
  neo_f_text(f, " { ");
  b->inside(f, b->what);
  neo_f_text(f, " }");
  f->flat = outer;
  if (outer)
    return true;
  bool fits = f->column + neo_f_width(f) <= NEO_F_COLUMNS;
  if (fits)
    neo_f_print(f);
  f->items.n = 0;
  return fits;
}

static void put_lines(neo_f *f, const neo_f_braced *b) {
  neo_f_text(f, " {");
  neo_f_print(f);
  finish_line(f, b->open + 1);
  neo_f outer = *f; /* the statement goes on behind the braces, with its groups */
  f->indents.at = NULL;
  f->indents.n = f->indents.cap = 0;
  f->indent += NEO_F_BLOCK;
  f->block_start = true;
  b->inside(f, b->what);
  comment_lines(f, b->close);
  f->indent = outer.indent;
  f->indents.at = outer.indents.at;
  f->indents.n = outer.indents.n;
  f->indents.cap = outer.indents.cap;
  f->block_start = false;
  neo_f_text(f, "}");
}

void neo_f_braces(neo_f *f, neo_f_braced b) {
  if (!f->flat)
    neo_f_print(f);
  if (b.empty && !next_comment(f, b.close))
    neo_f_text(f, " { }");
  else if (!fits_flat(f, &b))
    put_lines(f, &b);
}

void neo_f_block(neo_f *f, const neo_ast_block *b) {
  neo_f_braces(f, (neo_f_braced){neo_f_from(f, b->open), neo_f_from(f, b->close), block_inside, b,
                                 b->stmts.n == 0});
}

/* ---- a file
 * ------------------------------------------------------------------------------------- */

enum { NEAR = 60 }; /* columns of code up to which comments are put below each other */

/* The column of the comments of the run of lines that starts at trailer i; `n`: how many. */
static uint32_t column_of_run(const neo_f *f, size_t i, size_t *n) {
  const neo_f_trailer *t = f->trailers.at;
  uint32_t column = 0;
  size_t k = i;
  do {
    if (t[k].column <= NEAR && t[k].column > column)
      column = t[k].column;
    k++;
  } while (k < f->trailers.n && t[k].line == t[k - 1].line + 1);
  *n = k - i;
  return column;
}

static void join(const neo_f *f, neo_str *out) {
  size_t done = 0;
  for (size_t i = 0, n; i < f->trailers.n; i += n) {
    uint32_t column = column_of_run(f, i, &n);
    for (size_t k = i; k < i + n; k++) {
      const neo_f_trailer *t = &f->trailers.at[k];
      uint32_t gap = t->column < column ? column - t->column : 0;
      neo_str_addn(out, f->out.at + done, t->at - done);
      neo_str_addf(out, "%*s", (int)gap + 2, "");
      neo_str_addn(out, t->text, t->n);
      done = t->at;
    }
  }
  neo_str_addn(out, f->out.at + done, f->out.n - done);
}

void neo_format(neo_arena *a, const neo_ast_file *file, neo_sources *sources, neo_str *out) {
  assert(!file->had_errors && "only what was understood can be written again");
  neo_f f = {.arena = a, .file = file, .sources = sources};
  neo_str_init(&f.out, a);
  statements(&f, file->stmts);
  comment_lines(&f, UINT32_MAX);
  if (f.out.n)
    join(&f, out);
}

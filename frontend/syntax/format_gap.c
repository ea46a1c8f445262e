/* The text between statements: comments, blank lines, and the comment after a line. */
#include "frontend/syntax/format_rec.h"
#include <string.h>

/* ---- between statements
 * ------------------------------------------------------------------------ */

/* Whether the text contains an empty line. */
static bool has_blank_line(const neo_f *f, uint32_t from, uint32_t to) {
  int ends = 0;
  for (uint32_t i = from; i < to && ends < 2; i++)
    if (f->file->text[i] == '\n')
      ends++;
    else if (!strchr(" \t\r", f->file->text[i]))
      ends = 0;
  return ends >= 2;
}

/* Whether the text consists of spaces and the statement's `;` only. */
static bool is_adjacent(const neo_f *f, uint32_t from, uint32_t to) {
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

const neo_ast_comment *neo_f_next_comment(const neo_f *f, uint32_t before) {
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

void neo_f_comment_lines(neo_f *f, uint32_t before) {
  for (const neo_ast_comment *c; (c = neo_f_next_comment(f, before)); f->comment++) {
    blank_line(f, c->offset);
    own_line(f, c);
  }
}

void neo_f_gap_before(neo_f *f, uint32_t from) {
  neo_f_comment_lines(f, from);
  blank_line(f, from);
}

/* Ends the line at the offset `to` of the text, with the comments inside of the ended part that
 * were not printed, and the comment after it. */
void neo_f_finish_line(neo_f *f, uint32_t to) {
  f->end = to;
  for (const neo_ast_comment *c; (c = neo_f_next_comment(f, UINT32_MAX)); f->comment++) {
    bool within = c->offset < to;
    if (!within && !is_adjacent(f, to, c->offset))
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

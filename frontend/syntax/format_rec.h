/* The formatter's parts; private to format*.c.
 *
 * A statement (to the brace of a block) is first turned into a sequence of items: texts, possible
 * line breaks, nested groups, comments. The items are then laid out as lines:
 *
 *   format.c       files, blocks, comments between statements
 *   format_stmt.c  statements to items
 *   format_expr.c  expressions to items
 *   format_line.c  items to lines */
#pragma once
#include "base/vec.h"
#include "frontend/syntax/format.h"

typedef enum {
  NEO_F_TEXT,
  NEO_F_TIGHT, /* an operator without spaces; at the end of a line it gets one before it */
  NEO_F_BREAK, /* a space (or nothing) or a line end */
  NEO_F_OPEN,  /* a group: continued lines are indented by `width` more */
  NEO_F_CLOSE,
  NEO_F_COMMENT, /* and a line end */
} neo_f_kind;

typedef struct {
  uint8_t kind;
  bool reluctant; /* BREAK: taken only if the next piece would not fit */
  bool alone;     /* COMMENT: on a line of its own */
  uint32_t width; /* columns of the text, or the number described above */
  uint32_t n;     /* bytes of the text */
  const char *text;
} neo_f_item;

typedef struct { /* a comment after code: printed when all lines are known */
  size_t at;     /* in `out` */
  uint32_t line, column;
  const char *text;
  uint32_t n;
} neo_f_trailer;

typedef struct {
  neo_arena *arena;
  const neo_ast_file *file;
  neo_sources *sources;
  neo_str out; /* without trailing comments */
  NEO_VEC(neo_f_trailer) trailers;
  NEO_VEC(neo_f_item) items;
  NEO_VEC(uint32_t) indents; /* indents of the open groups */
  uint32_t comment;          /* the next one to print */
  uint32_t indent;           /* indent of the block */
  uint32_t line, column;
  bool in_line;     /* the current line has text */
  bool flat;        /* within a block on one line */
  bool block_start; /* nothing was printed since the brace */
  uint32_t end;     /* offset after the last printed text */
} neo_f;

enum { NEO_F_COLUMNS = 100, NEO_F_BLOCK = 2, NEO_F_CONTINUE = 4, NEO_F_DEEPEST = 40 };

/* ---- items (format_line.c) ------------------------------------------------------------------- */
void neo_f_text(neo_f *f, const char *text); /* kept by reference */
/* Add an item: an operator without spaces, a break, a break that is taken only if the next piece
 * would not fit, the beginning of a group, whose continued lines are indented by `indent` more, and
 * its end. Texts are kept by reference. */
void neo_f_tight(neo_f *f, const char *text);
void neo_f_break(neo_f *f, const char *flat); /* "" or " " */
void neo_f_break_reluctant(neo_f *f, const char *flat);
void neo_f_open(neo_f *f, uint32_t indent);
void neo_f_close(neo_f *f);
/* Adds the comments before the offset as items. */
void neo_f_comments_before(neo_f *f, uint32_t offset);
/* Prints the items, without ending the line. */
void neo_f_print(neo_f *f);
/* The columns that the items take without a break. */
uint32_t neo_f_width(const neo_f *f);
/* Ends the line, without spaces at its end. */
void neo_f_end_line(neo_f *f);
/* Adds a comment after the code of the current line. */
void neo_f_trail(neo_f *f, const char *text, uint32_t n);

/* ---- positions ------------------------------------------------------------------------------- */
/* The offsets in the file at which a span begins and ends, in bytes. */
uint32_t neo_f_from(const neo_f *f, neo_span span);
uint32_t neo_f_to(const neo_f *f, neo_span span);

/* ---- format_expr.c --------------------------------------------------------------------------- */
/* Writes the separator before element i of a list. */
void neo_f_comma(neo_f *f, uint32_t i);
/* Add the items of a name, of a path, and of an expression. */
void neo_f_name(neo_f *f, neo_ast_name name);
void neo_f_path(neo_f *f, const neo_ast_name *at, uint32_t n);
void neo_f_expr(neo_f *f, const neo_ast_expr *e);
/* close: the offset of `)`, or the one after it */
void neo_f_args(neo_f *f, neo_ast_args args, uint32_t close);
/* Add the items of axes, and of the relation before a bound. */
void neo_f_axes(neo_f *f, neo_ast_axes axes);
void neo_f_rel(neo_f *f, neo_ast_rel rel);

/* ---- format_gap.c ---------------------------------------------------------------------------- */
/* Prints what precedes a statement or branch at `from`: comments, and one blank line if there was
 * any. */
void neo_f_gap_before(neo_f *f, uint32_t from);
/* Ends the line at the offset `to`, with the comments before it that were not printed. */
void neo_f_finish_line(neo_f *f, uint32_t to);
/* Prints the comments before the offset, one per line. */
void neo_f_comment_lines(neo_f *f, uint32_t before);
/* The next comment to print, if it is before the offset; else NULL. */
const neo_ast_comment *neo_f_next_comment(const neo_f *f, uint32_t before);

/* ---- format_stmt.c --------------------------------------------------------------------------- */
/* Prints statements, with what is between them. */
void neo_f_stmts(neo_f *f, neo_ast_stmts list);

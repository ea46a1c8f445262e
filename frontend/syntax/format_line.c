/* Items to lines.
 *
 * At a break the line continues if everything up to the next break of the same or an outer group
 * fits. Else it ends here if that text would fit on a line of its own, or if not even the next
 * piece (up to the next break of any kind) fits; if neither, a break further inside ends the
 * line. So a line breaks as far outside as possible. All widths are sums over the items: time is
 * linear. */
#include "frontend/syntax/format_rec.h"

#include <assert.h>
#include <string.h>

/* ---- building
 * ---------------------------------------------------------------------------------- */

static void put(neo_f *f, neo_f_kind kind, const char *text, uint32_t n, bool flag) {
  neo_f_item item = {.kind = (uint8_t)kind, .text = text, .n = n, .width = n};
  item.reluctant = item.alone = flag;
  NEO_PUSH(f->arena, &f->items, item);
}

void neo_f_text(neo_f *f, const char *text) {
  put(f, NEO_F_TEXT, text, (uint32_t)strlen(text), false);
}

void neo_f_tight(neo_f *f, const char *text) {
  put(f, NEO_F_TIGHT, text, (uint32_t)strlen(text), false);
  f->items.at[f->items.n - 1].width++; /* for a space that may be added */
}

void neo_f_break(neo_f *f, const char *flat) {
  put(f, NEO_F_BREAK, flat, (uint32_t)strlen(flat), false);
}

void neo_f_break_reluctant(neo_f *f, const char *flat) {
  put(f, NEO_F_BREAK, flat, (uint32_t)strlen(flat), true);
}

void neo_f_open(neo_f *f, uint32_t indent) {
  put(f, NEO_F_OPEN, "", 0, false);
  f->items.at[f->items.n - 1].width = indent;
}

void neo_f_close(neo_f *f) {
  put(f, NEO_F_CLOSE, "", 0, false);
}

/* Inserts the comment before the breaks and groups that were begun after the last text. */
static void put_comment(neo_f *f, const neo_ast_comment *c) {
  put(f, NEO_F_COMMENT, f->file->text + c->offset, c->length, c->alone);
  neo_f_item comment = f->items.at[f->items.n - 1];
  size_t i = f->items.n - 1;
  for (; i > 0; i--) {
    uint8_t before = f->items.at[i - 1].kind;
    if (before != NEO_F_BREAK && before != NEO_F_OPEN)
      break;
    f->items.at[i] = f->items.at[i - 1];
  }
  f->items.at[i] = comment;
}

void neo_f_comments_before(neo_f *f, uint32_t offset) {
  while (f->comment < f->file->comments.n && f->file->comments.at[f->comment].offset < offset)
    put_comment(f, &f->file->comments.at[f->comment++]);
}

uint32_t neo_f_width(const neo_f *f) {
  uint32_t width = 0;
  for (size_t i = 0; i < f->items.n; i++)
    if (f->items.at[i].kind <= NEO_F_BREAK)
      width += f->items.at[i].width;
  return width;
}

/* ---- output
 * ------------------------------------------------------------------------------------ */

void neo_f_end_line(neo_f *f) {
  while (f->out.n > 0 && f->out.at[f->out.n - 1] == ' ')
    f->out.at[--f->out.n] = '\0';
  neo_str_addc(&f->out, '\n');
  f->line++;
  f->column = 0;
  f->in_line = false;
}

static void write(neo_f *f, uint32_t indent, const char *text, uint32_t n) {
  if (!f->in_line) {
    f->column = indent;
    neo_str_addf(&f->out, "%*s", (int)f->column, "");
    f->in_line = true;
  }
  neo_str_addn(&f->out, text, n);
  f->column += n;
}

void neo_f_trail(neo_f *f, const char *text, uint32_t n) {
  while (f->out.n > 0 && f->out.at[f->out.n - 1] == ' ') {
    f->out.at[--f->out.n] = '\0';
    f->column--;
  }
  NEO_PUSH(f->arena, &f->trailers, (neo_f_trailer){f->out.n, f->line, f->column, text, n});
}

/* ---- breaking
 * ---------------------------------------------------------------------------------- */

typedef struct {  /* columns from after a break to the next break */
  uint32_t chunk; /* to the next break of the same or an outer group */
  uint32_t piece; /* to the next break of any group */
} reach;

typedef struct {
  uint32_t level, to_end;
} waiting;

/* Computes the reach of all breaks, from right to left: the columns from each item to the end, and,
 * on a stack, the next break of each group for the items to the left. A comment ends the text that
 * has to fit on a line. */
static reach *measure(neo_f *f) {
  size_t n = f->items.n;
  reach *r = NEO_NEW_ARRAY(f->arena, reach, n);
  waiting *stack = NEO_NEW_ARRAY(f->arena, waiting, n + 1); /* stack[0] is the end */
  size_t top = 0;
  uint32_t to_end = 0, next = 0, level = 0; /* level 0: the outermost group, counted from its end */
  for (size_t i = n; i-- > 0;) {
    const neo_f_item *item = &f->items.at[i];
    level += item->kind == NEO_F_CLOSE;
    level -= item->kind == NEO_F_OPEN;
    if (item->kind == NEO_F_COMMENT) {
      top = 0;
      stack[0].to_end = next = to_end;
    } else if (item->kind == NEO_F_BREAK) {
      while (top > 0 && stack[top].level > level)
        top--;
      r[i].chunk = to_end - stack[top].to_end;
      r[i].piece = to_end - next;
      to_end += item->width;
      stack[++top] = (waiting){level, to_end};
      next = to_end;
    } else if (item->kind < NEO_F_BREAK) {
      to_end += item->width;
    }
  }
  return r;
}

static bool breaks_here(const neo_f *f, const neo_f_item *item, reach r, uint32_t indent) {
  uint32_t column = f->column + item->width;
  if (!f->in_line || column + r.chunk <= NEO_F_COLUMNS)
    return false;
  bool piece_fits = column + r.piece <= NEO_F_COLUMNS;
  if (item->reluctant || indent + r.chunk > NEO_F_COLUMNS)
    return !piece_fits && column > indent;
  return true;
}

static void print_comment(neo_f *f, const neo_f_item *item, uint32_t indent) {
  if (item->alone && f->in_line)
    neo_f_end_line(f);
  if (f->in_line)
    neo_f_trail(f, item->text, item->n);
  else
    write(f, indent, item->text, item->n);
  neo_f_end_line(f);
}

/* A tight operator at the end of a line is set off. */
static void loosen(neo_f *f, const neo_f_item *before) {
  if (!before || before->kind != NEO_F_TIGHT || !f->in_line)
    return;
  f->out.n -= before->n;
  f->out.at[f->out.n] = '\0';
  neo_str_addc(&f->out, ' ');
  neo_str_addn(&f->out, before->text, before->n);
  f->column++;
}

static void print_break(neo_f *f, const neo_f_item *item, reach r, uint32_t indent,
                        const neo_f_item **text) {
  if (breaks_here(f, item, r, indent)) {
    loosen(f, *text);
    neo_f_end_line(f);
  } else if (f->in_line && item->n) {
    write(f, indent, item->text, item->n);
    *text = NULL;
  }
}

void neo_f_print(neo_f *f) {
  const reach *r = measure(f);
  uint32_t indent = f->indent;
  for (size_t i = 0; i < f->indents.n; i++)
    indent += f->indents.at[i];
  const neo_f_item *text = NULL; /* printed last */
  bool fresh = true;             /* the first text is at the block's indent */
  for (size_t i = 0; i < f->items.n; i++) {
    const neo_f_item *item = &f->items.at[i];
    uint32_t here = fresh ? f->indent : indent < NEO_F_DEEPEST ? indent : NEO_F_DEEPEST;
    switch (item->kind) {
    case NEO_F_OPEN:
      indent += item->width;
      NEO_PUSH(f->arena, &f->indents, item->width);
      break;
    case NEO_F_CLOSE:
      assert(f->indents.n > 0);
      indent -= f->indents.at[--f->indents.n];
      break;
    case NEO_F_BREAK:
      print_break(f, item, r[i], here, &text);
      break;
    case NEO_F_COMMENT:
      loosen(f, text);
      print_comment(f, item, here);
      break;
    default:
      write(f, here, item->text, item->n);
      text = item;
      fresh = false;
    }
  }
  f->items.n = 0;
}

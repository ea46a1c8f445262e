/* Formats a file, and aligns the comments after its lines. */
#include "frontend/syntax/format_rec.h"

#include <assert.h>

/* ---- a file
 * ------------------------------------------------------------------------------------- */

enum { NEAR = 60 }; /* trailing comments after at most this many columns of code are aligned */

/* The column at which trailing comments are aligned in the run of lines that starts at trailer i.
 * *n: number of lines. */
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
  neo_f f = {.arena = a, .file = file, .sources = sources, .out = neo_str_in(a)};
  neo_f_stmts(&f, file->stmts);
  neo_f_comment_lines(&f, UINT32_MAX);
  if (f.out.n)
    join(&f, out);
}

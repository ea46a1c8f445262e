/* See log.h: writing, and the rows of a picture, for all files of a log. */
#include "base/file.h"
#include "tools/neoc/train/log.h"
#include <errno.h>
#include <string.h>

neoc_exit neoc_log_failed(const neoc_log *l, const char *path) {
  return neoc_fail(l->cli, NEOC_IO, "%s: %s", path, errno ? strerror(errno) : "cannot be written");
}

neoc_exit neoc_log_append(const neoc_log *l, int fd, const char *path, const void *p, size_t n) {
  return neo_io_write(&neo_io_default, fd, p, n) ? NEOC_OK : neoc_log_failed(l, path);
}

/* ---- rows of the picture */

static void copy_row(const neoc_log *l, neoc_log_row *to, const neoc_log_row *from) {
  neoc_log_value *value = to->value;
  *to = *from;
  to->value = value;
  memcpy(value, from->value, l->columns.n * sizeof *value);
}

/* Merges two rows into the later one, with the means of values that both have. */
static void join(const neoc_log *l, neoc_log_row *a, const neoc_log_row *b) {
  for (size_t k = 0; k < l->columns.n; k++) {
    neoc_log_value *x = &a->value[k];
    const neoc_log_value *y = &b->value[k];
    if (x->has && y->has)
      x->x = (x->x + y->x) / 2;
    else if (y->has)
      *x = *y;
  }
  a->step = b->step;
  a->epoch = b->epoch;
  a->seconds = b->seconds;
}

static void halve(neoc_log *l) {
  size_t n = l->n_rows / 2;
  for (size_t k = 0; k < n; k++) {
    join(l, &l->rows[2 * k], &l->rows[2 * k + 1]);
    copy_row(l, &l->rows[k], &l->rows[2 * k]);
  }
  l->n_rows = n;
}

void neoc_log_remember(neoc_log *l, const neoc_log_row *row) {
  if (l->n_rows == NEOC_LOG_ROWS)
    halve(l);
  copy_row(l, &l->rows[l->n_rows++], row);
}

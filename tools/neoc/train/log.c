/* See log.h. */
#include "tools/neoc/train/log.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { REDRAW_SECONDS = 10 };

neoc_exit neoc_log_failed(const neoc_log *l, const char *path) {
  return neoc_fail(l->cli, NEOC_IO, "%s: %s", path, errno ? strerror(errno) : "cannot be written");
}

neoc_exit neoc_log_append(const neoc_log *l, int fd, const char *path, const void *p, size_t n) {
  const char *at = p;
  while (n > 0) {
    ssize_t put = write(fd, at, n);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return neoc_log_failed(l, path);
    at += put;
    n -= (size_t)put;
  }
  return NEOC_OK;
}

/* ---- rows of the picture */

static void copy_row(const neoc_log *l, neoc_log_row *to, const neoc_log_row *from) {
  neoc_log_value *value = to->value;
  *to = *from;
  to->value = value;
  memcpy(value, from->value, l->columns.n * sizeof *value);
}

/* The later of two rows, with the means of what both have. */
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

/* ---- all three */

static void make_rows(neoc_log *l) {
  neo_arena *a = l->cli->arena;
  neoc_log_value *values = NEO_NEW_ARRAY(a, neoc_log_value, NEOC_LOG_ROWS * (l->columns.n + 1));
  l->rows = NEO_NEW_ARRAY(a, neoc_log_row, NEOC_LOG_ROWS);
  for (size_t k = 0; k < NEOC_LOG_ROWS; k++)
    l->rows[k].value = values + k * l->columns.n;
}

neoc_exit neoc_log_open(neoc_log *l) {
  l->table = l->events = -1;
  if (!neoc_log_is_wanted(l))
    return NEOC_OK;
  make_rows(l);
  neoc_exit e = l->table_path ? neoc_table_open(l) : NEOC_OK;
  if (!e && l->curve_path)
    e = neoc_curve_open(l);
  if (!e && l->events_folder)
    e = neoc_events_open(l);
  return e;
}

neoc_exit neoc_log_add(neoc_log *l, const neoc_log_row *row) {
  if (!neoc_log_is_wanted(l))
    return NEOC_OK;
  neoc_log_remember(l, row);
  neoc_exit e = l->table_path ? neoc_table_add(l, row) : NEOC_OK;
  if (!e && l->events_folder)
    e = neoc_events_add(l, row);
  bool old = time(NULL) - l->drawn >= REDRAW_SECONDS;
  return e || !old || !l->curve_path ? e : neoc_curve_write(l);
}

neoc_exit neoc_log_sync(neoc_log *l) {
  if (l->table >= 0)
    (void)fsync(l->table); /* a pipe has no disk */
  if (l->events >= 0 && fsync(l->events) != 0)
    return neoc_log_failed(l, l->events_folder);
  return l->curve_path ? neoc_curve_write(l) : NEOC_OK;
}

void neoc_log_close(neoc_log *l) {
  if (!neoc_log_is_wanted(l))
    return;
  if (l->table >= 0)
    close(l->table);
  if (l->events >= 0)
    close(l->events);
  l->table = l->events = -1;
}

double neoc_log_seconds(const neoc_log *l) {
  return l->n_rows ? l->rows[l->n_rows - 1].seconds : 0;
}

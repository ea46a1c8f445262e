/* See log.h: all three files together. */
#include "tools/neoc/train/log.h"
#include <unistd.h>

enum { REDRAW_SECONDS = 10 };

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

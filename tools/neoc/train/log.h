/* What a training was like, row by row: a table (--history), a picture (--curve) and event files of
 * TensorBoard (--tensorboard).
 *
 *   log.c      which values a row has; opens, continues and ends all three
 *   log_rows.c what the files share
 *   table.c    rows as CSV, and back
 *   curve.c    rows as SVG
 *   events.c   rows as records of TensorFlow
 *
 * A row is written behind those that are there, with one call, so that a file is never more than one
 * row short. A training that goes on from a checkpoint removes the rows that are of later steps: they
 * will come again. */
#pragma once
#include "tools/neoc/neoc.h"
#include <time.h>

typedef struct {
  double x;
  bool has; /* not all rows have all values: a test is made at the end of an epoch */
} neoc_log_value;

typedef struct {
  uint64_t step;
  int64_t epoch; /* from 1 */
  double seconds;
  neoc_log_value *value; /* [columns] */
} neoc_log_row;

enum { NEOC_LOG_ROWS = 4096 }; /* that a picture is made of */

typedef struct {
  neoc_cli *cli;
  const char *title;
  neoc_texts columns;       /* behind step and epoch, in front of seconds */
  const char *const *panel; /* [columns]: the part of the picture that has it; null: none */
  uint64_t kept_step;       /* rows of later steps are removed from files that are there */
  bool goes_on;             /* else files are begun anew */
  const char *table_path, *curve_path, *events_folder; /* null: not wanted */
  int table, events;                                   /* descriptors; -1 */
  neoc_log_row *rows;                                  /* [NEOC_LOG_ROWS], for the picture */
  size_t n_rows;
  time_t drawn; /* when the picture was written */
} neoc_log;

static inline bool neoc_log_is_wanted(const neoc_log *l) {
  return l->table_path || l->curve_path || l->events_folder;
}
/* The files as far as they go on, with columns and all that is above them set. */
neoc_exit neoc_log_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_log_add(neoc_log *l, const neoc_log_row *row) NEO_MUST_CHECK;
/* Everything is on the disk then, and the picture is up to date. */
neoc_exit neoc_log_sync(neoc_log *l) NEO_MUST_CHECK;
void neoc_log_close(neoc_log *l);
/* Seconds of the last row that was kept; 0: there is none. */
double neoc_log_seconds(const neoc_log *l);

/* ---- table.c */
neoc_exit neoc_table_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_table_add(neoc_log *l, const neoc_log_row *row) NEO_MUST_CHECK;
void neoc_table_put_head(const neoc_log *l, neo_str *out);
void neoc_table_put_row(const neoc_log *l, const neoc_log_row *row, neo_str *out);
/* Reads rows up to the step that is kept from text, whose first line must be the head: false if it is
 * another one. */
bool neoc_table_parse(neoc_log *l, const char *text);

/* ---- curve.c */
neoc_exit neoc_curve_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_curve_write(neoc_log *l) NEO_MUST_CHECK;

/* ---- events.c */
neoc_exit neoc_events_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_events_add(neoc_log *l, const neoc_log_row *row) NEO_MUST_CHECK;

/* ---- log_rows.c */
/* Remembers a row for the picture; of too many, two become one. */
void neoc_log_remember(neoc_log *l, const neoc_log_row *row);
/* Writes all of it behind what a file has; NEOC_IO, with a message. */
neoc_exit neoc_log_append(const neoc_log *l, int fd, const char *path, const void *p,
                          size_t n) NEO_MUST_CHECK;
neoc_exit neoc_log_failed(const neoc_log *l, const char *path) NEO_MUST_CHECK;

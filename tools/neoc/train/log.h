/* The log of a training, row by row: a table (--history), a picture (--curve) and event files of
 * TensorBoard (--tensorboard).
 *
 *   log.c      which values a row has; opens, continues and ends all three
 *   log_rows.c shared by the others
 *   table.c    rows as CSV, and back
 *   curve.c    rows as SVG
 *   events.c   rows as records of TensorFlow
 *
 * A row is appended with one call, so that a file is never more than one row short. A training that
 * continues from a checkpoint removes the rows of later steps, as it will write them again. */
#pragma once
#include "tools/neoc/neoc.h"
#include <time.h>

typedef struct {
  double x;
  bool has; /* not all rows have all values: a test is only made at the end of an epoch */
} neoc_log_value;

typedef struct {
  uint64_t step;
  int64_t epoch; /* from 1 */
  double seconds;
  neoc_log_value *value; /* [columns] */
} neoc_log_row;

enum { NEOC_LOG_ROWS = 4096 }; /* the largest number of rows in a picture */

typedef struct {
  neoc_cli *cli;
  const char *title;
  neoc_texts columns;       /* between step and epoch, and seconds */
  const char *const *panel; /* [columns]: the part of the picture that shows it; null: none */
  uint64_t kept_step;       /* rows of later steps are removed from existing files */
  bool goes_on;             /* continues existing files; else they are begun anew */
  const char *table_path, *curve_path, *events_folder; /* null: not wanted */
  int table, events;                                   /* descriptors; -1 */
  neoc_log_row *rows;                                  /* [NEOC_LOG_ROWS], for the picture */
  size_t n_rows;
  time_t drawn; /* time of the last picture */
} neoc_log;

static inline bool neoc_log_is_wanted(const neoc_log *l) {
  return l->table_path || l->curve_path || l->events_folder;
}
/* Opens the files, and reads existing ones if it continues them. `columns` and all members above it
 * must be set. */
neoc_exit neoc_log_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_log_add(neoc_log *l, const neoc_log_row *row) NEO_MUST_CHECK;
/* Puts everything on the disk, and brings the picture up to date. */
neoc_exit neoc_log_sync(neoc_log *l) NEO_MUST_CHECK;
/* Closes the files of the log. */
void neoc_log_close(neoc_log *l);
/* Seconds of the last row that is kept; 0: there is none. */
double neoc_log_seconds(const neoc_log *l);

/* ---- table.c */
/* Opens the table, and adds a row; an error was reported. */
neoc_exit neoc_table_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_table_add(neoc_log *l, const neoc_log_row *row) NEO_MUST_CHECK;
/* Append the line of the columns' names, and the line of one row, as CSV. */
void neoc_table_put_head(const neoc_log *l, neo_str *out);
void neoc_table_put_row(const neoc_log *l, const neoc_log_row *row, neo_str *out);
/* Reads rows up to kept_step from text; false: its first line is another head. */
bool neoc_table_parse(neoc_log *l, const char *text);

/* ---- curve.c */
/* Reads the rows of a picture that goes on, and writes the picture; an error was reported. */
neoc_exit neoc_curve_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_curve_write(neoc_log *l) NEO_MUST_CHECK;

/* ---- events.c */
/* Opens a file of events, and adds a row; an error was reported. */
neoc_exit neoc_events_open(neoc_log *l) NEO_MUST_CHECK;
neoc_exit neoc_events_add(neoc_log *l, const neoc_log_row *row) NEO_MUST_CHECK;

/* ---- log_rows.c */
/* Stores a row for the picture; beyond the limit, pairs of rows are merged. */
void neoc_log_remember(neoc_log *l, const neoc_log_row *row);
/* Appends n bytes to a file; NEOC_IO, with a message. */
neoc_exit neoc_log_append(const neoc_log *l, int fd, const char *path, const void *p,
                          size_t n) NEO_MUST_CHECK;
neoc_exit neoc_log_failed(const neoc_log *l, const char *path) NEO_MUST_CHECK;

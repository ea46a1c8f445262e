/* Tables as text: `iris.csv:1..4`, `iris.csv:species`, `prices.tsv:close:fill=0`.
 *
 *   split.c     text -> records of fields: separators, quotes, line ends
 *   options.c   the options after the file's name
 *   read.c      COLUMNS -> numbers of columns, by the names of the first line; names -> integers;
 *               fields -> an array
 *
 * Fields are numbers, or names of classes. Everything else is an error with line and column: a file
 * is never silently read in another way than it is meant. */
#pragma once
#include "tools/neoc/neoc.h"

/* Whether the path names a table: file.csv or file.tsv, possibly with `:...` after it. */
bool neoc_csv_is(const char *path);

typedef struct {
  const char *tensor; /* the tensor whose values it has, for messages */
  bool integer;       /* every number must be an integer; else numbers are read as f64 */
  bool tells;         /* prints on stderr how the file was understood */
  const neoc_texts
      *known;    /* the classes that names are: those of the training; null: the file's own */
  bool no_names; /* names are an error: nothing records the number of each class */
} neoc_csv_wish;

/* Reads the chosen columns as i64 or f64, of shape [rows] for one column, else [rows, columns]; the
 * caller frees the array. *classes gets the names, if fields are names (may be null with
 * `no_names`). Errors are reported. */
neoc_exit neoc_csv_read(neoc_cli *cli, const char *path, const neoc_csv_wish *wish,
                        neo_rt_array *out, neoc_texts *classes) NEO_MUST_CHECK;

/* Tables as text: `iris.csv:1..4`, `iris.csv:species`, `prices.tsv:close:fill=0`.
 *
 *   split.c     text -> records of fields: separators, quotes, line ends
 *   columns.c   COLUMNS -> numbers of columns, by the names of the first line
 *   options.c   what stands behind the file's name
 *   classes.c   names -> integers
 *   read.c      fields -> an array
 *
 * Fields are numbers, or names of classes. Everything else is an error that tells line and column: a
 * file is never read in another way than it is meant without a word. */
#pragma once
#include "tools/neoc/neoc.h"

/* Does the path name a table: file.csv or file.tsv, perhaps with `:...` behind? */
bool neoc_csv_is(const char *path);

typedef struct {
  const char *tensor; /* whose values it has, for messages */
  bool integer;       /* every number has to be one; else they are read as f64 */
  bool tells;         /* says on stderr how the file was understood */
  const neoc_texts
      *known;    /* the classes that names are: those of the training; null: the file's own */
  bool no_names; /* names are an error: nothing keeps which class is which number */
} neoc_csv_wish;

/* The chosen columns as i64 or f64, [rows] of one column, [rows, columns] of more, which the caller
 * frees; *classes gets the names, if fields are such (may be null with `no_names`). Errors have been
 * reported. */
neoc_exit neoc_csv_read(neoc_cli *cli, const char *path, const neoc_csv_wish *wish,
                        neo_rt_array *out, neoc_texts *classes) NEO_MUST_CHECK;

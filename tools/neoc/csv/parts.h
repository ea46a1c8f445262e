/* Declarations that the files of this folder share. Private to tools/neoc/csv. */
#pragma once
#include "tools/neoc/csv/csv.h"

/* ---- options.c, for read.c: data.csv:COLUMNS:OPTION:OPTION */

typedef enum { NEOC_CSV_GUESS, NEOC_CSV_HEADER, NEOC_CSV_NO_HEADER } neoc_csv_head;

typedef struct {
  const char *file;
  const char *columns; /* null: all */
  const char *fill;    /* value for missing fields; null: they are errors */
  char separator;      /* 0: determined from the first line */
  neoc_csv_head head;
  bool classes; /* fields are names, even if they look like numbers */
} neoc_csv_options;
neoc_exit neoc_csv_options_read(neoc_cli *cli, const char *tensor, const char *path,
                                neoc_csv_options *out) NEO_MUST_CHECK;

/* ---- split.c, for read.c */

typedef struct {
  const char *at; /* without quotes; without spaces around, unless it is quoted */
  size_t n;
  bool quoted;
} neoc_csv_field;

typedef struct {
  NEO_VEC(neoc_csv_field) fields;
  int64_t line; /* line in which it begins, from 1 */
} neoc_csv_record;

typedef struct {
  neo_arena *arena;
  const char *p, *end;
  char separator;
  int64_t line;
  const char *error; /* the fault of the last record; null: none */
} neoc_csv_text;

/* Starts at the beginning of a text. A separator of 0 is determined from the first line. */
void neoc_csv_begin(neo_arena *a, const char *text, size_t n, char separator, neoc_csv_text *out);
/* Reads the next record over the previous one; false at the end, or with t->error. */
bool neoc_csv_next(neoc_csv_text *t, neoc_csv_record *r);
/* Whether the field is empty, or a word for a missing value: NA, N/A, NaN, null, ? */
bool neoc_csv_is_missing(neoc_csv_field f);
/* The field as a number; false: it is no number. */
bool neoc_csv_number(neoc_csv_field f, neoc_number *out);
/* "'12 m'", shortened. */
const char *neoc_csv_quote(neo_arena *a, neoc_csv_field f);

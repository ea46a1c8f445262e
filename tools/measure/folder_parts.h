/* The parts of measuring a folder: folder.c measures and stores results, list.c reads and checks
 * the list of candidates. */
#pragma once
#include "tools/measure/lines.h"
#include "tools/measure/measure.h"

typedef enum {
  FOLDER_OK = 0,
  FOLDER_DAMAGED = 1,
  FOLDER_USAGE = 2,
  FOLDER_FILES = 3,
  FOLDER_NO_DEVICE = 4,
  FOLDER_UNFINISHED = 130
} folder_exit;

typedef struct {
  long id;
  size_t line;       /* the line "try ..." */
  bool measured, ok; /* a result is there; the result is ok */
  bool raced;        /* the result is that of a race */
  double ratio;      /* ratio of the last result */
} folder_candidate;

typedef struct {
  size_t first, end; /* lines from "task ..." to the one after the last */
  folder_candidate *at;
  size_t n;
  bool failed; /* the base gave a wrong answer */
} folder_task;

typedef struct {
  measure_server *s;
  const char *folder, *results; /* path of the folder; of the results, null: in the folder */
  double seconds, begun_ns;     /* 0: no limit */
  int device;
  bool quiet;
  measure_lines lines;
  folder_task *tasks;
  size_t n_tasks;
  int64_t measured, left;
  int out; /* descriptor of the file of results */
  char name[256];
} folder;

/* Prints an error, and returns the code. */
folder_exit folder_say(folder_exit code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- list.c */
/* Reads the list of candidates and checks all files that it names. */
folder_exit folder_read(folder *f);

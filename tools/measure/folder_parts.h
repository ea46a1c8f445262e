/* The parts of measuring a folder: folder.c measures, results.c keeps what was measured, list.c reads
 * and checks what is to be measured. */
#ifndef NEO_TOOLS_MEASURE_FOLDER_PARTS_H
#define NEO_TOOLS_MEASURE_FOLDER_PARTS_H
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
  size_t line;       /* "try ..." */
  bool measured, ok; /* has a result; a good one */
  bool raced;        /* has one of a race */
  double ratio;      /* by the last result */
} folder_candidate;

typedef struct {
  size_t first, end; /* lines: "task ...", and after its last one */
  folder_candidate *at;
  size_t n;
  bool failed; /* its base has not answered right */
} folder_task;

typedef struct {
  measure_server *s;
  const char *folder, *results; /* path of the results; null: in the folder */
  double seconds, begun_ns;     /* 0: no limit */
  int device;
  bool quiet;
  measure_lines lines;
  folder_task *tasks;
  size_t n_tasks;
  int64_t measured, left;
  int out; /* descriptor of the results */
  char name[256];
} folder;

/* Prints an error, and returns the code. */
folder_exit folder_say(folder_exit code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- list.c */
/* Reads the list of candidates and looks at everything that it names. */
folder_exit folder_read(folder *f);

/* ---- results.c */
/* Opens the file of results, and takes what is in it. */
folder_exit folder_results_open(folder *f);
/* Appends a line, on the disk when this returns, and takes it. */
folder_exit folder_results_add(folder *f, const char *text);

#endif

/* Shared by the files of tools/cache: the first line, the undamaged lines of a file's text, and who
 * may write where. */
#pragma once
#include "tools/cache/set.h"

enum { NEO_RECORDS_HEAD_BYTES = 64 /* at least as long as the first line of any version */ };

/* "neo-records 1 CHECKSUM\n" of this version. */
void neo_records_head(char text[NEO_RECORDS_HEAD_BYTES]);

typedef enum {
  NEO_HEAD_OURS,
  NEO_HEAD_NEWER,
  NEO_HEAD_TORN, /* the text ends within the first line: it is empty, a first part of ours, or only
                    zeros */
  NEO_HEAD_OTHER
} neo_head;
/* Classifies the beginning of a file of n bytes. *line_bytes is set for OURS, *version for
 * NEWER. */
neo_head neo_records_head_of(const char *text, size_t n, size_t *line_bytes, int64_t *version);

/* One line of a file, in order. */
typedef struct {
  const char *json; /* null: damaged */
  size_t json_bytes, line;
} neo_records_line;
typedef struct {
  const char *text;
  size_t n, at, line;
  size_t missing_newlines; /* whole lines that are not followed by a newline */
  size_t torn_bytes;       /* bytes after the last line, at the end */
} neo_records_reader;
/* Reads the next line; false at the end. Skips first lines of files that were concatenated. */
bool neo_records_next(neo_records_reader *r, neo_records_line *out);

/* Whether this file and its folder may be trusted with the user's records. A missing one may. */
bool neo_records_trusted(neo_arena *a, const char *path, const char **why);

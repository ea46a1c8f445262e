/* Shared by the files of tools/cache: the first line, what is whole in a file's text, who may write
 * where. */
#pragma once
#include "tools/cache/set.h"

enum { NEO_RECORDS_HEAD_BYTES = 64 /* at least as long as the first line of any version */ };

/* "neo-records 1 CHECKSUM\n" of this version. */
void neo_records_head(char text[NEO_RECORDS_HEAD_BYTES]);

typedef enum {
  NEO_HEAD_OURS,
  NEO_HEAD_NEWER,
  NEO_HEAD_TORN, /* the text ends within it: empty, a first part of ours, or nothing but zeros */
  NEO_HEAD_OTHER
} neo_head;
/* What stands at the beginning of a file of n bytes. *line_bytes: of OURS; *version: of NEWER. */
neo_head neo_records_head_of(const char *text, size_t n, size_t *line_bytes, int64_t *version);

/* One line of a file, in order. */
typedef struct {
  const char *json; /* null: damaged */
  size_t json_bytes, line;
} neo_records_line;
typedef struct {
  const char *text;
  size_t n, at, line;
  size_t missing_newlines; /* whole lines that something else than a newline follows */
  size_t torn_bytes;       /* after the last line, when all have been seen */
} neo_records_reader;
/* False at the end. First lines of files that were put together are passed over. */
bool neo_records_next(neo_records_reader *r, neo_records_line *out);

/* May this file, and its folder, be trusted with the user's records? What does not exist, may. */
bool neo_records_trusted(neo_arena *a, const char *path, const char **why);

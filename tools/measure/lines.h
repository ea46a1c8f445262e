/* A folder of candidates, as `neoc tune --emit` writes it and neo-measure and `neoc tune --import`
 * read it (docs/tuning.md describes its contents). It has two files of lines, and the files that
 * they name:
 *
 *   candidates   the kernels to be measured. Written once, whole
 *   results      measurements, a line each; only ever appended to, and on the disk before the next
 *                candidate runs
 *
 * A line is "LENGTH CHECKSUM TEXT": the bytes of the text in decimal, and 16 hexadecimal digits of
 * their hash. So a truncated or changed line is detected. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MEASURE_CANDIDATES "candidates"
#define MEASURE_RESULTS "results"
enum {
  MEASURE_FORMAT =
      3, /* the version that is written; 2 had no files of inputs, and no buffers that are
                         read and written; 1 had no `code` in results */
  MEASURE_OLDEST = 1, /* the oldest version that is read */
  MEASURE_SEED = 1    /* seed of the hashes in all versions so far */
};

typedef struct {
  char *text; /* text of the whole file; malloc'ed */
  size_t bytes;
  const char **line; /* texts of lines, NUL-terminated; malloc'ed */
  size_t n;
  size_t whole_bytes; /* bytes of complete lines; the rest was not finished */
  char why[512];      /* what is wrong; "": nothing */
} measure_lines;

/* Reads a file of lines. False: r->why says what is wrong. torn: an unfinished line at the end is
 * no error. The first line is "HEAD VERSION...". */
bool measure_lines_read(measure_lines *r, const char *path, const char *head, bool torn);
/* Frees the lines, which are then none. */
void measure_lines_free(measure_lines *r);
/* Formats a line with its newline; the caller frees it. Null: no memory. */
char *measure_line_of(const char *text, size_t *bytes);

/* Opens a file of the folder for reading, if it is one: a pipe or a device would not end. Null:
 * errno says why. */
FILE *measure_file_open(const char *path);
/* Length and hash of a file; false: it cannot be read. */
bool measure_file_digest(const char *path, int64_t *bytes, uint64_t *digest);
/* Reads the list of candidates, whose last line is "end N" after N lines. False: r->why says what
 * is wrong. */
bool measure_candidates_read(measure_lines *r, const char *folder);
/* The digest by which results refer to their list. */
uint64_t measure_lines_digest(const measure_lines *r);
/* The text after this word in the first line that starts with it; null: there is none. */
const char *measure_lines_find(const measure_lines *r, const char *word);

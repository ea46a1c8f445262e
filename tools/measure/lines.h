/* A folder of candidates, as `neoc tune --emit` writes it and neo-measure and `neoc tune --import`
 * read it (docs/tuning.md says what stands in it). Two files of lines, and those that they name:
 *
 *   candidates   what is to be measured. Written once, whole
 *   results      what was measured, a line each; only ever appended to, and on the disk before the
 *                next candidate runs
 *
 * A line is "LENGTH CHECKSUM TEXT": bytes of the text in decimal, 16 hexadecimal digits of their
 * hash. So a line that was cut off, or changed, is seen. */
#ifndef NEO_TOOLS_MEASURE_LINES_H
#define NEO_TOOLS_MEASURE_LINES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEASURE_CANDIDATES "candidates"
#define MEASURE_RESULTS "results"
enum {
  MEASURE_FORMAT = 2, /* that is written; 1 had no `code` in results */
  MEASURE_OLDEST = 1, /* that is read */
  MEASURE_SEED = 1    /* of the hashes, of all versions so far */
};

typedef struct {
  char *text; /* of the whole file; malloc'ed */
  size_t bytes;
  const char **line; /* texts of lines, NUL-terminated; malloc'ed */
  size_t n;
  size_t whole_bytes; /* of whole lines; what comes after them was not finished */
  char why[512];      /* what is wrong; "": nothing */
} measure_lines;

/* Reads a file of lines; false: with r->why. torn: what is not finished at its end is no mistake.
 * The first line is "HEAD VERSION...". */
bool measure_lines_read(measure_lines *r, const char *path, const char *head, bool torn);
void measure_lines_free(measure_lines *r);
/* A line with its newline, to be freed; null: no memory. */
char *measure_line_of(const char *text, size_t *bytes);

/* Length and hash of a file; false: it cannot be read. */
bool measure_file_digest(const char *path, int64_t *bytes, uint64_t *digest);
/* Reads the list of candidates, whose last line is "end N" after N lines. */
bool measure_candidates_read(measure_lines *r, const char *folder);
/* The digest that results name. */
uint64_t measure_lines_digest(const measure_lines *r);
/* The text of the only line that begins with this word, after it; null: there is none. */
const char *measure_lines_find(const measure_lines *r, const char *word);

#endif

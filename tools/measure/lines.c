/* Reads and writes lines with checksums (lines.h). */
#include "tools/measure/lines.h"
#include "base/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_BYTES = 256 << 20 };

FILE *measure_file_open(const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
    close(fd);
    errno = EINVAL;
    return NULL;
  }
  return fd < 0 ? NULL : fdopen(fd, "rb");
}

static bool read_file(const char *path, char **text, size_t *bytes) {
  FILE *f = measure_file_open(path);
  long n = -1;
  *text = NULL;
  if (f && fseek(f, 0, SEEK_END) == 0)
    n = ftell(f);
  if (n >= 0 && n <= LIMIT_BYTES && (*text = malloc((size_t)n + 1)) != NULL) {
    rewind(f);
    *bytes = fread(*text, 1, (size_t)n, f);
    (*text)[*bytes] = 0;
    if (*bytes != (size_t)n)
      free(*text), *text = NULL, errno = EIO;
  } else if (n > LIMIT_BYTES) {
    errno = EFBIG;
  }
  int error = errno;
  if (f)
    fclose(f);
  errno = error;
  return *text != NULL;
}

bool measure_file_digest(const char *path, int64_t *bytes, uint64_t *digest) {
  char *text;
  size_t n;
  if (!read_file(path, &text, &n))
    return false;
  *bytes = (int64_t)n;
  *digest = neo_hash(text, n, MEASURE_SEED);
  free(text);
  return true;
}

/* ---- lines */

char *measure_line_of(const char *text, size_t *bytes) {
  size_t n = strlen(text);
  char *line = malloc(n + 64);
  if (!line)
    return NULL;
  int head =
      snprintf(line, 64, "%zu %016llx ", n, (unsigned long long)neo_hash(text, n, MEASURE_SEED));
  memcpy(line + head, text, n);
  line[(size_t)head + n] = '\n';
  *bytes = (size_t)head + n + 1;
  line[*bytes] = 0;
  return line;
}

/* Takes the line at p: checks it and ends its text with a zero. Null: it is not valid. */
static char *take_line(char *p, char *end) {
  char *rest, sum[17];
  unsigned long n = strtoul(p, &rest, 10);
  if (rest == p || *rest != ' ' || n > (size_t)(end - rest) || (size_t)(end - rest) < n + 19)
    return NULL;
  char *text = rest + 18;
  snprintf(sum, sizeof sum, "%016llx", (unsigned long long)neo_hash(text, n, MEASURE_SEED));
  if (memcmp(rest + 1, sum, 16) != 0 || text[-1] != ' ' || text[n] != '\n')
    return NULL;
  text[n] = 0;
  return text;
}

static bool fail(measure_lines *r, const char *path, const char *what) {
  snprintf(r->why, sizeof r->why, "%.300s: %s", path, what);
  return false;
}

static bool take_lines(measure_lines *r, const char *path, bool torn) {
  char *end = r->text + r->bytes, text[64];
  for (char *p = r->text; p < end;) {
    char *newline = memchr(p, '\n', (size_t)(end - p));
    char *line = newline ? take_line(p, end) : NULL;
    if (!line && torn && (!newline || newline + 1 == end))
      break;
    if (!line) {
      snprintf(text, sizeof text, newline ? "line %zu is damaged" : "it is cut off in line %zu",
               r->n + 1);
      return fail(r, path, text);
    }
    r->line[r->n++] = line;
    p = line + strlen(line) + 1;
    r->whole_bytes = (size_t)(p - r->text);
  }
  return true;
}

static bool check_head(measure_lines *r, const char *path, const char *head) {
  char text[128];
  size_t n = strlen(head);
  if (!r->n || strncmp(r->line[0], head, n) != 0 || r->line[0][n] != ' ') {
    snprintf(text, sizeof text, "it is no file of %s", head);
    return fail(r, path, text);
  }
  long version = strtol(r->line[0] + n, NULL, 10);
  if (version >= MEASURE_OLDEST && version <= MEASURE_FORMAT)
    return true;
  snprintf(text, sizeof text, "it is of version %ld, and this program reads versions %d to %d",
           version, MEASURE_OLDEST, MEASURE_FORMAT);
  return fail(r, path, text);
}

bool measure_lines_read(measure_lines *r, const char *path, const char *head, bool torn) {
  *r = (measure_lines){0};
  if (!read_file(path, &r->text, &r->bytes))
    return fail(r, path, strerror(errno));
  size_t n = 1;
  for (size_t k = 0; k < r->bytes; k++)
    n += r->text[k] == '\n';
  r->line = calloc(n, sizeof *r->line);
  if (!r->line)
    return fail(r, path, "out of memory");
  if (!take_lines(r, path, torn))
    return false;
  return (torn && !r->n) || check_head(r, path, head);
}

void measure_lines_free(measure_lines *r) {
  free(r->text);
  free(r->line);
  *r = (measure_lines){0};
}

bool measure_candidates_read(measure_lines *r, const char *folder) {
  char path[4096], end[32];
  snprintf(path, sizeof path, "%s/" MEASURE_CANDIDATES, folder);
  if (!measure_lines_read(r, path, "neo-candidates", false))
    return false;
  snprintf(end, sizeof end, "end %zu", r->n - 1);
  return strcmp(r->line[r->n - 1], end) == 0 || fail(r, path, "it is cut off");
}

uint64_t measure_lines_digest(const measure_lines *r) {
  uint64_t digest = MEASURE_SEED;
  for (size_t k = 0; k < r->n; k++)
    digest = neo_hash(r->line[k], strlen(r->line[k]), digest);
  return digest;
}

const char *measure_lines_find(const measure_lines *r, const char *word) {
  size_t n = strlen(word);
  for (size_t k = 0; k < r->n; k++)
    if (strncmp(r->line[k], word, n) == 0 && r->line[k][n] == ' ')
      return r->line[k] + n + 1;
  return NULL;
}

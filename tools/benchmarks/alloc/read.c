/* A reader of CSV files without quotes. */
#include "tools/benchmarks/alloc/read.h"
#include "base/file.h"
#include "base/str.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ID, LOWER, UPPER, SIZE, ALIGNMENT, OFFSET, N_FIELDS, N_MUST = ALIGNMENT, MOST_COLUMNS = 16 };
static const char *const names[N_FIELDS] = {"id", "lower", "upper", "size", "alignment", "offset"};

typedef struct {
  neo_arena *arena;
  const char *path;
  int line;
  int field[MOST_COLUMNS], n_columns; /* by column: its field */
  const char *error;
} reader;

#define FAIL(r, ...) (r->error = place(r, neo_arena_printf(r->arena, __VA_ARGS__)), false)

static const char *place(reader *r, const char *text) {
  return neo_arena_printf(r->arena, "%s:%d: %s", r->path, r->line, text);
}

/* Cuts the line at commas, without spaces around values; returns the number of values. */
static int cut(char *line, char *value[MOST_COLUMNS + 1]) {
  int n = 0;
  for (char *at = line; at && n <= MOST_COLUMNS; n++) {
    char *comma = strchr(at, ',');
    if (comma)
      *comma++ = 0;
    at += strspn(at, " \t\r");
    size_t length = strlen(at);
    while (length && strchr(" \t\r", at[length - 1]))
      at[--length] = 0;
    value[n] = at;
    at = comma;
  }
  return n;
}

static int field_of(const char *name) {
  for (int k = 0; k < N_FIELDS; k++)
    if (neo_streq(name, names[k]))
      return k;
  return -1;
}

static bool read_head(reader *r, char *line) {
  char *value[MOST_COLUMNS + 1];
  bool seen[N_FIELDS] = {false};
  r->n_columns = cut(line, value);
  if (r->n_columns > MOST_COLUMNS)
    return FAIL(r, "more than %d columns", MOST_COLUMNS);
  for (int k = 0; k < r->n_columns; k++) {
    int field = r->field[k] = field_of(value[k]);
    if (field < 0)
      return FAIL(r, "unknown column '%s'", value[k]);
    if (seen[field])
      return FAIL(r, "two columns '%s'", value[k]);
    seen[field] = true;
  }
  for (int k = 0; k < N_MUST; k++)
    if (!seen[k])
      return FAIL(r, "no column '%s'", names[k]);
  return true;
}

static bool read_number(reader *r, int field, const char *text, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(text, &end, 10);
  if (end == text || *end)
    return FAIL(r, "%s '%s' is no integer", names[field], text);
  if (errno || *out > INT64_MAX / 4 || *out < -(INT64_MAX / 4))
    return FAIL(r, "%s %s is too large", names[field], text);
  return true;
}

static bool check(reader *r, const int64_t *v) {
  if (v[UPPER] <= v[LOWER])
    return FAIL(r, "upper %lld is not above lower %lld", (long long)v[UPPER], (long long)v[LOWER]);
  if (v[SIZE] < 0)
    return FAIL(r, "size %lld is negative", (long long)v[SIZE]);
  if (v[ALIGNMENT] < 1)
    return FAIL(r, "alignment %lld is not positive", (long long)v[ALIGNMENT]);
  if (v[OFFSET] < NEO_DSA_FREE || (v[OFFSET] > 0 && v[OFFSET] % v[ALIGNMENT]))
    return FAIL(r, "offset %lld is no multiple of the alignment", (long long)v[OFFSET]);
  return true;
}

static bool read_row(reader *r, char *line, neo_dsa_item *out) {
  char *value[MOST_COLUMNS + 1];
  int64_t v[N_FIELDS] = {[ALIGNMENT] = 1, [OFFSET] = NEO_DSA_FREE};
  int n = cut(line, value);
  if (n != r->n_columns)
    return FAIL(r, "%d values, %d columns", n, r->n_columns);
  for (int k = 0; k < n; k++) {
    int field = r->field[k];
    bool may_lack = field >= N_MUST && !value[k][0];
    if (field != ID && !may_lack && !read_number(r, field, value[k], &v[field]))
      return false;
  }
  if (!check(r, v))
    return false;
  *out = (neo_dsa_item){v[SIZE], v[ALIGNMENT], v[LOWER], v[UPPER] - 1, v[OFFSET], 0};
  return true;
}

static bool add(reader *r, neo_dsa_item it, int64_t *total, alloc_items *out) {
  if (__builtin_add_overflow(*total, it.size_bytes + it.align_bytes, total) ||
      *total > INT64_MAX / 4)
    return FAIL(r, "the sum of sizes is too large");
  NEO_PUSH(r->arena, out, it);
  return true;
}

static void read_lines(reader *r, char *text, alloc_items *out) {
  int64_t total = 0;
  bool good = true;
  for (char *line = text; line && good;) {
    char *next = strchr(line, '\n');
    neo_dsa_item it;
    if (next)
      *next++ = 0;
    r->line++;
    if (line[strspn(line, " \t\r")])
      good = r->n_columns ? read_row(r, line, &it) && add(r, it, &total, out) : read_head(r, line);
    line = next;
  }
  if (good && !r->n_columns)
    (void)FAIL(r, "no line names the columns");
}

const char *alloc_read(neo_arena *a, const char *path, alloc_items *out) {
  reader r = {.arena = a, .path = path};
  char *text;
  size_t n;
  if (neo_file_read(&neo_io_default, a, path, 0, &text, &n))
    return neo_arena_printf(a, "%s: %s", path, strerror(errno));
  if (strlen(text) != n)
    return neo_arena_printf(a, "%s: is no text", path);
  read_lines(&r, text, out);
  return r.error;
}

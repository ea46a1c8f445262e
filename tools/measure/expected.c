/* A sample of the plain kernel's answer in a file, for a machine that has no code for that kernel
 * or another processor.
 *
 * Format, little endian: "neo-expected 1\n", then for each buffer that is written the number of
 * elements, their indices (i64, ascending), and their bytes. The list of candidates has the file's
 * digest (folder.h), so that the reader only checks that it fits the buffers. */
#include "runtime/element.h"
#include "tools/measure/lines.h"
#include "tools/measure/measure.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* elements per buffer */

static const char head[] = "neo-expected 1\n";

/* ---- saving */

static int64_t count_written(const measure_buf *b) {
  int64_t n = 0;
  for (int64_t k = 0; k < b->n; k++)
    n += !measure_unwritten(b, b->plain, k, 1);
  return n;
}

/* Saves all elements, or MOST at equal distances. */
static void save_buffer(const measure_buf *b, FILE *f) {
  size_t size = neo_rti_type_bytes(b->type);
  int64_t written = count_written(b), n = written < MOST ? written : MOST, seen = 0, saved = 0;
  int64_t *at = calloc((size_t)n + 1, sizeof *at);
  for (int64_t k = 0; at && k < b->n && saved < n; k++) {
    if (measure_unwritten(b, b->plain, k, 1))
      continue;
    if (seen++ == (int64_t)((double)saved * (double)written / (double)n))
      at[saved++] = k;
  }
  fwrite(&saved, sizeof saved, 1, f);
  if (saved)
    fwrite(at, sizeof *at, (size_t)saved, f);
  for (int64_t k = 0; k < saved; k++)
    fwrite(b->plain + (size_t)at[k] * size, size, 1, f);
  free(at);
}

const char *measure_answer_save(const measure_job *j, const char *path) {
  FILE *f = fopen(path, "wb");
  if (!f)
    return strerror(errno);
  fwrite(head, sizeof head - 1, 1, f);
  bool missing = false;
  for (int k = 0; k < j->n_bufs; k++)
    if (j->buf[k].write) {
      missing = missing || !j->buf[k].plain;
      if (j->buf[k].plain)
        save_buffer(&j->buf[k], f);
    }
  bool bad = ferror(f);
  if (fclose(f) || bad)
    return "cannot be written";
  return missing ? "there is no answer of a plain kernel" : NULL;
}

/* ---- loading */

static const char *load_buffer(measure_buf *b, FILE *f) {
  static const char other[] = "the expected answers are another kernel's";
  size_t size = neo_rti_type_bytes(b->type);
  int64_t n = -1, at[MOST];
  double sum = 0, finite = 0;
  if (fread(&n, sizeof n, 1, f) != 1 || n < 0 || n > MOST || n > b->n ||
      fread(at, sizeof *at, (size_t)n, f) != (size_t)n)
    return other;
  if (!b->plain && !(b->plain = malloc(b->bytes + 1)))
    return "no memory for the expected answers";
  measure_forget(b, b->plain);
  for (int64_t k = 0; k < n; k++) {
    double x;
    if (at[k] < 0 || at[k] >= b->n || fread(b->plain + (size_t)at[k] * size, size, 1, f) != 1)
      return other;
    neo_rti_convert(b->type, b->plain + (size_t)at[k] * size, NEO_RT_F64, &x, 1);
    if (isfinite(x))
      sum += x * x, finite++;
  }
  b->scale = finite > 0 ? sqrt(sum / finite) : 0;
  return NULL;
}

const char *measure_answer_load(measure_job *j, const char *path) {
  char text[sizeof head] = "";
  FILE *f = measure_file_open(path);
  const char *wrong = f ? NULL : "the expected answers cannot be read";
  if (f && (fread(text, sizeof head - 1, 1, f) != 1 || strcmp(text, head) != 0))
    wrong = "no file of expected answers";
  if (!wrong && !j->ready)
    wrong = "expected answers come after `ready`";
  for (int k = 0; k < j->n_bufs && !wrong; k++)
    if (j->buf[k].write)
      wrong = load_buffer(&j->buf[k], f);
  if (f)
    fclose(f);
  return wrong;
}

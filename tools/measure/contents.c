/* The contents of a job's buffers: random numbers, or the bytes of a file; and which parts a kernel
 * has written since. */
#include "base/random.h"
#include "runtime/element.h"
#include "tools/measure/lines.h"
#include "tools/measure/measure.h"
#include <stdio.h>
#include <string.h>

static double uniform(uint64_t *state) {
  return (double)(neo_splitmix(state) >> 40) * 0x1p-24;
}

static void fill_floats(const measure_job *j, measure_buf *b, uint64_t state) {
  double chunk[512];
  size_t size = neo_rti_type_bytes(b->type);
  for (int64_t at = 0; at < b->n; at += 512) {
    int64_t n = b->n - at < 512 ? b->n - at : 512;
    for (int64_t k = 0; k < n; k++)
      chunk[k] = j->positive ? uniform(&state) * 0.875 + 0.125 : uniform(&state) * 2 - 1;
    neo_rti_convert(NEO_RT_F64, chunk, b->type, b->data + (size_t)at * size, n);
  }
}

static void fill_integers(measure_buf *b, uint64_t state) {
  bool given = b->bound > b->least && (b->bound || b->least);
  int64_t chunk[512], n_values = b->type == NEO_RT_BOOL ? 2 : given ? b->bound - b->least : 7;
  size_t size = neo_rti_type_bytes(b->type);
  for (int64_t at = 0; at < b->n; at += 512) {
    int64_t n = b->n - at < 512 ? b->n - at : 512;
    for (int64_t k = 0; k < n; k++)
      chunk[k] = b->least + (int64_t)(neo_splitmix(&state) % (uint64_t)n_values);
    neo_rti_convert(NEO_RT_I64, chunk, b->type, b->data + (size_t)at * size, n);
  }
}

/* The file has the elements as they are in memory, and nothing else. */
static bool read_file(measure_buf *b) {
  FILE *f = measure_file_open(b->path);
  bool good = f && fread(b->data, 1, b->bytes, f) == b->bytes && fgetc(f) == EOF;
  if (f)
    fclose(f);
  return good;
}

bool measure_fill(measure_job *j, int k) {
  measure_buf *b = &j->buf[k];
  uint64_t state = j->seed + (uint64_t)k * 0x9e37;
  if (b->path)
    return read_file(b);
  if (b->type <= NEO_RT_BF16)
    fill_floats(j, b, state);
  else
    fill_integers(b, state);
  return true;
}

/* ---- written elements */

void measure_forget(const measure_buf *b, char *to) {
  if (b->start)
    memcpy(to, b->start, b->bytes);
  else
    memset(to, MEASURE_UNWRITTEN, b->bytes);
}

bool measure_unwritten(const measure_buf *b, const char *p, int64_t at, int64_t n) {
  size_t size = neo_rti_type_bytes(b->type), from = (size_t)at * size, bytes = (size_t)n * size;
  if (b->start)
    return memcmp(p + from, b->start + from, bytes) == 0;
  return !bytes || ((unsigned char)p[from] == MEASURE_UNWRITTEN &&
                    memcmp(p + from, p + from + 1, bytes - 1) == 0);
}

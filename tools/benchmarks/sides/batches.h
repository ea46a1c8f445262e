/* Reads files of batches, whose form rows/batches.py describes, for programs in C. */
#ifndef NEO_TOOLS_BATCHES_H
#define NEO_TOOLS_BATCHES_H
#include "tools/benchmarks/sides/bench.h"
#include <inttypes.h>

/* Called for each line, in the order of the file; `user` is theirs. */
typedef struct {
  void *user;
  void (*batch)(void *user);
  void (*size)(void *user, const char *name, int64_t n);
  void (*array)(void *user, const char *name, void *data); /* data: lives as long as the process */
} batches_reader;

static inline char *batches_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f)
    bench_die(path, "cannot be read");
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *data = aligned_alloc(64, (*n + 64) / 64 * 64);
  if (!data || fread(data, 1, *n, f) != *n)
    bench_die(path, "cannot be read");
  data[*n] = 0;
  fclose(f);
  return data;
}

static inline void batches_line(const batches_reader *r, const char *line, char *arrays) {
  char name[256];
  int64_t n;
  if (!strcmp(line, "batch"))
    r->batch(r->user);
  else if (sscanf(line, "size %255s %" SCNd64, name, &n) == 2)
    r->size(r->user, name, n);
  else if (sscanf(line, "array %255s %*s %" SCNd64, name, &n) == 2)
    r->array(r->user, name, arrays + n);
  else
    bench_die(line, "is neither a batch, nor a size, nor an array");
}

static inline void batches_read(const char *path, const batches_reader *r) {
  size_t n;
  char *text = batches_file(path, &n), *end = strstr(text, "\nend\n");
  if (!end)
    bench_die(path, "has no end of its text");
  size_t head = (size_t)(end - text) + strlen("\nend\n");
  char *arrays = text + (head + 63) / 64 * 64;
  *end = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    batches_line(r, line, arrays);
}

#endif

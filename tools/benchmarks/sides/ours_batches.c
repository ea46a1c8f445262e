/* Our side of a comparison (serve.h) that steps through batches: a call runs one entry of a
 * generated library on every batch of a file, in turn.
 *
 *   ours_batches LIB PREFIX ENTRY THREADS BATCHES [save=FOLDER] [trace=FILE] [NAME=VALUE ...]
 *
 * BATCHES is a file that batches.py wrote; inputs that it does not have are those of arrays.h.
 * NAME=VALUE sets a setting of the model, such as lr. With save=, parameters are written to
 * FOLDER/params.safetensors before the first call; with trace=, the pass after the first one is
 * traced. The answer `ready` has the mean of the output `loss` over the batches, for the first two
 * passes. */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/arrays.h"
#include "tools/benchmarks/sides/serve.h"
#include <inttypes.h>

enum { MAX_BATCHES = 4096, MAX_ARGS = 256, MAX_SIZES = 32, ALIGN = 64 };

typedef struct {
  int64_t sizes[MAX_SIZES]; /* the model's sizes */
  int64_t of_entry[MAX_SIZES];
  void *arg[MAX_ARGS];
} batch;

typedef struct {
  const neo_rt_model *model;
  const neo_rt_entry *entry;
  neo_rt_ctx *ctx;
  int32_t number;
  batch *batches;
  int n_batches;
  char *data; /* the file's bytes, from the arrays on */
  float *loss;
  double sum; /* the sum of losses in the last pass */
} side;

/* ---- the file */

static char *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f)
    bench_die(path, "cannot be read");
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *data = bench_memory(*n + 1);
  if (fread(data, 1, *n, f) != *n)
    bench_die(path, "cannot be read");
  data[*n] = 0;
  fclose(f);
  return data;
}

static void set_size(const side *s, batch *b, const char *line) {
  char name[256];
  int64_t n;
  if (sscanf(line, "size %255s %" SCNd64, name, &n) != 2)
    bench_die(line, "is no size");
  for (int k = 0; k < s->model->n_sizes; k++)
    if (!strcmp(s->model->sizes[k].name, name))
      b->sizes[k] = n;
}

static void set_array(const side *s, batch *b, const char *line) {
  char name[256];
  int64_t offset;
  if (sscanf(line, "array %255s %*s %" SCNd64, name, &offset) != 2)
    bench_die(line, "is no array");
  for (int k = 0; k < s->entry->n_inputs; k++)
    if (!strcmp(s->model->tensors[s->model->entry_args[s->entry->args + k]].name, name))
      b->arg[k] = s->data + offset;
}

static void read_batches(side *s, const char *path) {
  size_t n;
  char *text = read_file(path, &n), *end = strstr(text, "\nend\n");
  if (!end)
    bench_die(path, "has no end of its text");
  size_t head = (size_t)(end - text) + strlen("\nend\n");
  s->data = text + (head + ALIGN - 1) / ALIGN * ALIGN;
  *end = 0;
  s->batches = bench_memory(MAX_BATCHES * sizeof *s->batches);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    batch *b = &s->batches[s->n_batches ? s->n_batches - 1 : 0];
    if (!strcmp(line, "batch")) {
      if (s->n_batches == MAX_BATCHES)
        bench_die(path, "has too many batches");
      memset(&s->batches[s->n_batches++], 0, sizeof *b);
    } else if (!strncmp(line, "size ", 5)) {
      set_size(s, b, line);
    } else {
      set_array(s, b, line);
    }
  }
}

/* ---- the entry */

/* Adds the arrays that the file lacks: outputs, which all batches share, at the sizes' bounds. */
static void complete(side *s) {
  const neo_rt_model *m = s->model;
  int64_t most[MAX_SIZES];
  for (int k = 0; k < m->n_sizes; k++)
    most[k] = m->sizes[k].hi;
  for (int k = 0; k < s->entry->n_args; k++) {
    const neo_rt_tensor *t = &m->tensors[m->entry_args[s->entry->args + k]];
    void *shared = s->batches[0].arg[k] ? NULL : bench_array(m, t, most, (unsigned)k + 1);
    for (int b = 0; b < s->n_batches; b++)
      if (!s->batches[b].arg[k])
        s->batches[b].arg[k] = shared;
    if (!strcmp(t->name, "loss"))
      s->loss = shared;
  }
  for (int b = 0; b < s->n_batches; b++)
    for (int k = 0; k < s->entry->n_sizes; k++)
      s->batches[b].of_entry[k] = s->batches[b].sizes[m->entry_sizes[s->entry->sizes + k]];
}

static void open_side(side *s, char **v) {
  s->ctx = bench_open(v[0], v[1], atoi(v[3]), &s->model);
  s->number = neo_rt_find_entry(s->model, v[2]);
  if (s->number < 0)
    bench_die(v[2], "is no entry");
  s->entry = &s->model->entries[s->number];
  if (s->entry->n_args > MAX_ARGS || s->model->n_sizes > MAX_SIZES)
    bench_die(v[0], "has too many arguments or sizes");
  read_batches(s, v[4]);
  if (!s->n_batches)
    bench_die(v[4], "has no batches");
  complete(s);
}

static void run(void *ctx) {
  side *s = ctx;
  s->sum = 0;
  for (int k = 0; k < s->n_batches; k++) {
    batch *b = &s->batches[k];
    if (neo_rt_call(s->ctx, s->number, b->of_entry, b->arg))
      bench_die("run", neo_rt_error(s->ctx));
    s->sum += s->loss ? (double)*s->loss : 0;
  }
}

static void option(side *s, char *text, const char **trace) {
  char path[4096], *value = strchr(text, '=');
  if (!value)
    bench_die(text, "is not NAME=VALUE");
  *value++ = 0;
  snprintf(path, sizeof path, "%s/params.safetensors", value);
  if (!strcmp(text, "trace"))
    *trace = value;
  else if (!strcmp(text, "save") ? neo_rt_save(s->ctx, path, NULL, 0)
                                 : neo_rt_set_scalar(s->ctx, text, atof(value)))
    bench_die(text, neo_rt_error(s->ctx));
}

int main(int argc, char **argv) {
  static side s;
  char about[256];
  const char *trace = NULL;
  if (argc < 6)
    bench_die("usage",
              "ours_batches LIB PREFIX ENTRY THREADS BATCHES [save=FOLDER] [NAME=VALUE ...]");
  open_side(&s, argv + 1);
  for (int k = 6; k < argc; k++)
    option(&s, argv[k], &trace);
  run(&s);
  double first = s.sum / s.n_batches;
  if (trace && neo_rt_trace(s.ctx, trace))
    bench_die(trace, neo_rt_error(s.ctx));
  run(&s);
  if (trace && neo_rt_trace(s.ctx, NULL))
    bench_die(trace, neo_rt_error(s.ctx));
  snprintf(about, sizeof about, "{\"losses\": [%.8g, %.8g]}", first, s.sum / s.n_batches);
  serve(run, &s, s.loss ? about : "{}");
  neo_rt_destroy(s.ctx);
  return 0;
}

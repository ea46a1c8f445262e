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
#include "tools/benchmarks/sides/batches.h"
#include "tools/benchmarks/sides/serve.h"

enum { MAX_BATCHES = 4096, MAX_ARGS = 256, MAX_SIZES = 32 };

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
  float *loss;
  double sum; /* the sum of losses in the last pass */
} side;

/* ---- the file */

static batch *last_batch(side *s) {
  if (!s->n_batches)
    bench_die("batches", "begin with a size or an array");
  return &s->batches[s->n_batches - 1];
}

static void add_batch(void *user) {
  side *s = user;
  if (s->n_batches == MAX_BATCHES)
    bench_die("batches", "are too many");
  memset(&s->batches[s->n_batches++], 0, sizeof *s->batches);
}

static void set_size(void *user, const char *name, int64_t n) {
  side *s = user;
  for (int k = 0; k < s->model->n_sizes; k++)
    if (!strcmp(s->model->sizes[k].name, name))
      last_batch(s)->sizes[k] = n;
}

static void set_array(void *user, const char *name, void *data) {
  side *s = user;
  for (int k = 0; k < s->entry->n_inputs; k++)
    if (!strcmp(s->model->tensors[s->model->entry_args[s->entry->args + k]].name, name))
      last_batch(s)->arg[k] = data;
}

static void read_batches(side *s, const char *path) {
  batches_reader r = {s, add_batch, set_size, set_array};
  s->batches = bench_memory(MAX_BATCHES * sizeof *s->batches);
  batches_read(path, &r);
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

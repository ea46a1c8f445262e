/* Our side of a comparison (serve.h): calls entries of a generated library, one after the other.
 *
 *   ours LIB PREFIX ENTRY[,ENTRY...] THREADS [save=FOLDER] [NAME=VALUE ...]
 *
 * NAME=VALUE sets a setting of the model, such as lr. Arrays are those of arrays.h; a tensor that
 * two entries have is one array. With save=, what the others need to compute the same is written
 * before the first call: FOLDER/params.safetensors and FOLDER/inputs.safetensors. The answer
 * `ready` has what shows that others compute the same: values of the output `loss` at the first two
 * calls, or, where there is none, the mean size of each f32 output. */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/arrays.h"
#include "tools/benchmarks/sides/serve.h"
#include <math.h>

enum { MAX_ENTRIES = 8, MAX_TENSORS = 4096, MAX_SIZES = 32 };

typedef struct {
  int32_t entry;
  int64_t size[MAX_SIZES]; /* the largest */
  void *arg[MAX_TENSORS];
} call;

typedef struct {
  const neo_rt_model *model;
  neo_rt_ctx *ctx;
  int64_t sizes[MAX_SIZES];
  call calls[MAX_ENTRIES];
  int n_calls;
  void *array[MAX_TENSORS]; /* by the tensor's number */
  bool is_input[MAX_TENSORS];
  float *loss;
} side;

static void add_entry(side *s, const char *name) {
  const neo_rt_model *m = s->model;
  if (s->n_calls == MAX_ENTRIES)
    bench_die(name, "is one entry too many");
  call *c = &s->calls[s->n_calls++];
  c->entry = neo_rt_find_entry(m, name);
  if (c->entry < 0)
    bench_die(name, "is no entry");
  const neo_rt_entry *e = &m->entries[c->entry];
  for (int k = 0; k < e->n_sizes; k++)
    c->size[k] = s->sizes[m->entry_sizes[e->sizes + k]];
  for (int k = 0; k < e->n_args; k++) {
    int32_t t = m->entry_args[e->args + k];
    if (!s->array[t])
      s->array[t] = bench_array(m, &m->tensors[t], s->sizes, (unsigned)t + 1);
    s->is_input[t] |= k < e->n_inputs;
    c->arg[k] = s->array[t];
    if (!strcmp(m->tensors[t].name, "loss"))
      s->loss = s->array[t];
  }
}

static void open_side(side *s, char **v) {
  s->ctx = bench_open(v[0], v[1], atoi(v[3]), &s->model);
  if (s->model->n_tensors > MAX_TENSORS || s->model->n_sizes > MAX_SIZES)
    bench_die(v[0], "has too many tensors or sizes");
  for (int k = 0; k < s->model->n_sizes; k++)
    s->sizes[k] = s->model->sizes[k].hi;
  char *names = strdup(v[2]);
  for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
    add_entry(s, name);
  free(names);
}

static int64_t elements(const side *s, const neo_rt_tensor *t) {
  int64_t n = 1;
  for (int k = 0; k < t->rank; k++)
    n *= neo_rt_eval(s->model, s->model->extents[t->extent + k], s->sizes);
  return n;
}

/* The header's entry of an input; `at`: where its bytes begin. Returns where they end. */
static int64_t describe_input(const side *s, int32_t k, FILE *f, int64_t at) {
  static const char *const names[] = {"F64", "F32", "F16", "BF16", "I64",
                                      "I32", "I8",  "U8",  "BOOL"};
  const neo_rt_tensor *t = &s->model->tensors[k];
  int64_t end = at + elements(s, t) * (int64_t)bench_type_bytes(t->type);
  fprintf(f, "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [", at ? ", " : "", t->name, names[t->type]);
  for (int d = 0; d < t->rank; d++)
    fprintf(f, "%s%lld", d ? ", " : "",
            (long long)neo_rt_eval(s->model, s->model->extents[t->extent + d], s->sizes));
  fprintf(f, "], \"data_offsets\": [%lld, %lld]}", (long long)at, (long long)end);
  return end;
}

/* safetensors: the header's length in 8 bytes, the header in JSON, the elements. */
static void save_inputs(const side *s, const char *path) {
  char *header;
  size_t n;
  int64_t at = 0;
  FILE *text = open_memstream(&header, &n), *f = fopen(path, "wb");
  if (!text || !f)
    bench_die(path, "cannot be written");
  fputc('{', text);
  for (int32_t k = 0; k < s->model->n_tensors; k++)
    if (s->is_input[k])
      at = describe_input(s, k, text, at);
  fputc('}', text);
  fclose(text);
  uint64_t length = n;
  fwrite(&length, sizeof length, 1, f);
  fwrite(header, 1, n, f);
  for (int32_t k = 0; k < s->model->n_tensors; k++) {
    const neo_rt_tensor *t = &s->model->tensors[k];
    if (s->is_input[k])
      fwrite(s->array[k], bench_type_bytes(t->type), (size_t)elements(s, t), f);
  }
  free(header);
  if (fclose(f))
    bench_die(path, "cannot be written");
}

static void save(side *s, const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/params.safetensors", folder);
  if (neo_rt_save(s->ctx, path, NULL, 0))
    bench_die(path, neo_rt_error(s->ctx));
  snprintf(path, sizeof path, "%s/inputs.safetensors", folder);
  save_inputs(s, path);
}

static void option(side *s, char *text) {
  char *value = strchr(text, '=');
  if (!value)
    bench_die(text, "is not NAME=VALUE");
  *value++ = 0;
  if (!strcmp(text, "save"))
    save(s, value);
  else if (neo_rt_set_scalar(s->ctx, text, atof(value)))
    bench_die(text, neo_rt_error(s->ctx));
}

static void run(void *ctx) {
  side *s = ctx;
  for (int k = 0; k < s->n_calls; k++)
    if (neo_rt_call(s->ctx, s->calls[k].entry, s->calls[k].size, s->calls[k].arg))
      bench_die("run", neo_rt_error(s->ctx));
}

static double mean_size(const float *x, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum += fabs((double)x[k]);
  return sum / (double)n;
}

static void tell_outputs(const side *s, FILE *f) {
  const neo_rt_model *m = s->model;
  const char *separator = "";
  for (int c = 0; c < s->n_calls; c++) {
    const neo_rt_entry *e = &m->entries[s->calls[c].entry];
    for (int k = e->n_inputs; k < e->n_args; k++) {
      const neo_rt_tensor *t = &m->tensors[m->entry_args[e->args + k]];
      if (t->type != NEO_RT_F32)
        continue;
      fprintf(f, "%s%.8g", separator, mean_size(s->calls[c].arg[k], elements(s, t)));
      separator = ", ";
    }
  }
}

static void tell(side *s, FILE *f) {
  run(s);
  if (s->loss) {
    fprintf(f, "{\"losses\": [%.8g, ", (double)*s->loss);
    run(s);
    fprintf(f, "%.8g]}", (double)*s->loss);
  } else {
    fputs("{\"outputs\": [", f);
    tell_outputs(s, f);
    fputs("]}", f);
  }
}

int main(int argc, char **argv) {
  static side s;
  char *about;
  size_t n;
  if (argc < 5)
    bench_die("usage", "ours LIB PREFIX ENTRY[,ENTRY...] THREADS [save=FOLDER] [NAME=VALUE ...]");
  open_side(&s, argv + 1);
  for (int k = 5; k < argc; k++)
    option(&s, argv[k]);
  FILE *f = open_memstream(&about, &n);
  if (!f)
    bench_die("memory", "out of memory");
  tell(&s, f);
  fclose(f);
  serve(run, &s, about);
  free(about);
  neo_rt_destroy(s.ctx);
  return 0;
}

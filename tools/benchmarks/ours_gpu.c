/* Our side of a comparison on a GPU (serve.h): calls one entry of a generated library, its inputs
 * and outputs on the device, calls following each other in the stream without a wait.
 *
 *   ours_gpu LIB PREFIX ENTRY [load=FILE] [save=FILE] [inputs=FILE] [dump=FILE] [NAME=VALUE ...]
 *   ours_gpu copy BYTES
 *
 * NAME=VALUE sets a setting; load and save are of parameters; inputs writes the arrays that it
 * calls with (those of arrays.h, run-time sizes the largest), dump what the first call returned,
 * both as safetensors. A library for a processor is called on the host, which gives the values that
 * a GPU's are compared with. `copy` is a copy on the device, which tells its bandwidth. */
#define _GNU_SOURCE
#include "include/neo/dlpack.h"
#include "runtime/cuda_api.h"
#include "tools/benchmarks/arrays.h"
#include "tools/benchmarks/serve.h"
#include <math.h>

enum { MOST_TENSORS = 4096, MOST_SIZES = 32, MOST_RANK = 16 };

typedef struct {
  cuda_api cuda;
  cuda_stream stream;
  cuda_context context;
  const neo_rt_model *model;
  neo_rt_ctx *ctx;
  const neo_rt_entry *entry;
  int32_t number;
  int64_t sizes[MOST_SIZES], given[MOST_SIZES];
  void *host[MOST_TENSORS]; /* by argument, as the next */
  cuda_ptr device[MOST_TENSORS];
  int64_t shape[MOST_TENSORS][MOST_RANK];
  cuda_ptr from, to; /* of `copy` */
  size_t bytes;
} side;

static void must(int bad, const char *what, const char *why) {
  if (bad)
    bench_die(what, why ? why : "failed");
}

/* ---- the driver */

static void open_driver(side *s) {
  const char *own = getenv("NEO_CUDA_DRIVER");
  void *driver = dlopen(own ? own : "libcuda.so.1", RTLD_NOW);
  cuda_device device;
  int n = 0;
  if (!driver)
    serve_missing(dlerror());
#define FIND(member, symbol, params) *(void **)&s->cuda.member = dlsym(driver, #symbol);
  CUDA_FUNCTIONS(FIND)
#undef FIND
  if (s->cuda.init(0) || s->cuda.device_count(&n) || n == 0)
    serve_missing("there is no GPU");
  must(s->cuda.device_get(&device, 0), "device", NULL);
  must(s->cuda.context_retain(&s->context, device), "context", NULL);
  must(s->cuda.context_push(s->context), "context", NULL);
  must(s->cuda.stream_create(&s->stream, CUDA_STREAM_NON_BLOCKING), "stream", NULL);
}

static cuda_ptr on_device(side *s, size_t bytes) {
  cuda_ptr p;
  must(s->cuda.memory_alloc(&p, bytes ? bytes : 1), "memory of the device", NULL);
  return p;
}

/* ---- tensors */

static const neo_rt_tensor *argument(const side *s, int k) {
  return &s->model->tensors[s->model->entry_args[s->entry->args + k]];
}

static size_t bytes_of(side *s, int k) {
  const neo_rt_tensor *t = argument(s, k);
  size_t n = bench_type_bytes(t->type);
  for (int d = 0; d < t->rank; d++) {
    s->shape[k][d] = neo_rt_eval(s->model, s->model->extents[t->extent + d], s->sizes);
    n *= (size_t)s->shape[k][d];
  }
  return n;
}

static neo_dl_type type_of(const neo_rt_tensor *t) {
  static const uint8_t code[] = {NEO_DL_FLOAT,  NEO_DL_FLOAT, NEO_DL_FLOAT,
                                 NEO_DL_BFLOAT, NEO_DL_INT,   NEO_DL_INT,
                                 NEO_DL_INT,    NEO_DL_UINT,  NEO_DL_BOOL};
  return (neo_dl_type){code[t->type], (uint8_t)(8 * bench_type_bytes(t->type)), 1};
}

static void bind_argument(side *s, int k) {
  const neo_rt_tensor *t = argument(s, k);
  size_t bytes = bytes_of(s, k);
  s->device[k] = on_device(s, bytes);
  must(s->cuda.upload(s->device[k], s->host[k], bytes, s->stream), t->name, "upload");
  neo_dl_tensor dl = {.data = (void *)(uintptr_t)s->device[k],
                      .device = {NEO_DL_CUDA, 0},
                      .ndim = t->rank,
                      .dtype = type_of(t),
                      .shape = s->shape[k]};
  must(neo_rt_bind(s->ctx, s->model->entry_args[s->entry->args + k], &dl), t->name,
       neo_rt_error(s->ctx));
}

static void open_side(side *s, char **v) {
  char symbol[256];
  void *lib = dlopen(v[0], RTLD_NOW);
  must(!lib, v[0], lib ? NULL : dlerror());
  snprintf(symbol, sizeof symbol, "%s_model", v[1]);
  s->model = dlsym(lib, symbol);
  must(!s->model, symbol, "not in the library");
  if (s->model->device)
    open_driver(s);
  neo_rt_config config = {.struct_size = sizeof config,
                          .threads = 1,
                          .seed = 1,
                          .stream = s->stream,
                          .flags = NEO_RT_ASYNC | NEO_RT_TRUST_INDICES};
  if (neo_rt_create(s->model, &config, &s->ctx))
    serve_missing(s->ctx ? neo_rt_error(s->ctx) : v[0]);
  s->number = neo_rt_find_entry(s->model, v[2]);
  must(s->number < 0, v[2], "is no entry");
  s->entry = &s->model->entries[s->number];
  must(s->entry->n_args > MOST_TENSORS || s->model->n_sizes > MOST_SIZES, v[0], "is too large");
  for (int k = 0; k < s->model->n_sizes; k++)
    s->sizes[k] = s->model->sizes[k].hi;
  for (int k = 0; k < s->entry->n_sizes; k++)
    s->given[k] = s->sizes[s->model->entry_sizes[s->entry->sizes + k]];
  for (int k = 0; k < s->entry->n_args; k++) {
    int32_t t = s->model->entry_args[s->entry->args + k];
    s->host[k] = bench_array(s->model, &s->model->tensors[t], s->sizes, (unsigned)t + 1);
    if (s->model->device)
      bind_argument(s, k);
  }
}

/* ---- running */

static void run(side *s) {
  must(s->model->device ? neo_rt_run(s->ctx, s->number)
                        : neo_rt_call(s->ctx, s->number, s->given, s->host),
       "run", neo_rt_error(s->ctx));
}

static void wait_all(side *s) {
  must(neo_rt_wait(s->ctx), "wait", neo_rt_error(s->ctx));
}

/* What the last call returned, to the host. */
static void take(side *s) {
  wait_all(s);
  for (int k = s->entry->n_inputs; s->model->device && k < s->entry->n_args; k++)
    must(s->cuda.download(s->host[k], s->device[k], bytes_of(s, k), s->stream), "download", NULL);
  if (s->model->device)
    must(s->cuda.stream_wait(s->stream), "download", NULL);
}

/* ---- files: arguments [from, to) */

static void save_arguments(side *s, const char *path, int from, int to) {
  static const char *const names[] = {"F64", "F32", "F16", "BF16", "I64",
                                      "I32", "I8",  "U8",  "BOOL"};
  char *header;
  size_t n, at = 0;
  FILE *text = open_memstream(&header, &n), *f = fopen(path, "wb");
  must(!text || !f, path, "cannot be written");
  for (int k = from; k < to; k++) {
    size_t end = at + bytes_of(s, k);
    fprintf(text, "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [", k > from ? ", " : "{",
            argument(s, k)->name, names[argument(s, k)->type]);
    for (int d = 0; d < argument(s, k)->rank; d++)
      fprintf(text, "%s%lld", d ? ", " : "", (long long)s->shape[k][d]);
    fprintf(text, "], \"data_offsets\": [%zu, %zu]}", at, end);
    at = end;
  }
  fputs(from < to ? "}" : "{}", text);
  fclose(text);
  uint64_t length = n;
  fwrite(&length, sizeof length, 1, f);
  fwrite(header, 1, n, f);
  for (int k = from; k < to; k++)
    fwrite(s->host[k], 1, bytes_of(s, k), f);
  free(header);
  must(fclose(f), path, "cannot be written");
}

static const char *option(side *s, char *text) {
  char *value = strchr(text, '=');
  must(!value, text, "is not NAME=VALUE");
  *value++ = 0;
  if (!strcmp(text, "dump"))
    return value;
  if (!strcmp(text, "inputs"))
    save_arguments(s, value, 0, s->entry->n_inputs);
  else if (!strcmp(text, "save"))
    must(neo_rt_save(s->ctx, value, NULL, 0), value, neo_rt_error(s->ctx));
  else if (!strcmp(text, "load"))
    must(neo_rt_load(s->ctx, value), value, neo_rt_error(s->ctx));
  else
    must(neo_rt_set_scalar(s->ctx, text, atof(value)), text, neo_rt_error(s->ctx));
  return NULL;
}

static double mean_size(const float *x, size_t n) {
  double sum = 0;
  for (size_t k = 0; k < n; k++)
    sum += fabs((double)x[k]);
  return n ? sum / (double)n : 0;
}

static bool is_training(const side *s) {
  return s->entry->kind == NEO_RT_ENTRY_TRAIN;
}

/* The loss before two steps of a training; else the mean size of each f32 output. */
static void tell(side *s, FILE *f, const char *dump) {
  fprintf(f, "{\"%s\": [", is_training(s) ? "losses" : "outputs");
  const char *separator = "";
  for (int call = 0; call < (is_training(s) ? 2 : 1); call++) {
    run(s);
    take(s);
    for (int k = s->entry->n_inputs; k < s->entry->n_args; k++) {
      const neo_rt_tensor *t = argument(s, k);
      if (t->type != NEO_RT_F32 || (is_training(s) && strcmp(t->name, "loss") != 0))
        continue;
      fprintf(f, "%s%.8g", separator, mean_size(s->host[k], bytes_of(s, k) / sizeof(float)));
      separator = ", ";
    }
    if (dump && call == 0)
      save_arguments(s, dump, s->entry->n_inputs, s->entry->n_args);
  }
  fputs("]}", f);
}

/* ---- answers */

static void copy(side *s) {
  must(s->cuda.copy(s->to, s->from, s->bytes, s->stream), "copy", NULL);
}
static void wait_copy(side *s) {
  must(s->cuda.stream_wait(s->stream), "copy", NULL);
}

static void answer(side *s, void (*f)(side *), void (*end)(side *), const char *about) {
  char command[256];
  printf("ready %s\n", about);
  fflush(stdout);
  while (fgets(command, sizeof command, stdin)) {
    int calls = 0;
    if (sscanf(command, "run %d", &calls) == 1) {
      if (calls > 1)
        f(s);
      end(s);
      double wall = bench_now_us(), cpu = serve_cpu_us();
      for (int k = 0; k < calls; k++)
        f(s);
      end(s);
      printf("us %.3f %.3f\n", bench_now_us() - wall, serve_cpu_us() - cpu);
    } else {
      printf("kb %ld\n", serve_memory_kb());
    }
    fflush(stdout);
  }
}

static void copy_on_device(side *s, const char *bytes) {
  char about[64];
  s->bytes = (size_t)atoll(bytes);
  open_driver(s);
  s->from = on_device(s, s->bytes);
  s->to = on_device(s, s->bytes);
  snprintf(about, sizeof about, "{\"bytes\": %zu}", 2 * s->bytes);
  answer(s, copy, wait_copy, about);
}

int main(int argc, char **argv) {
  static side s;
  char *about;
  size_t n;
  const char *dump = NULL;
  if (argc == 3 && !strcmp(argv[1], "copy")) {
    copy_on_device(&s, argv[2]);
    return 0;
  }
  must(argc < 4, "usage", "ours_gpu LIB PREFIX ENTRY [NAME=VALUE ...]");
  open_side(&s, argv + 1);
  for (int k = 4; k < argc; k++) {
    const char *to = option(&s, argv[k]);
    dump = to ? to : dump;
  }
  FILE *f = open_memstream(&about, &n);
  must(!f, "memory", "out of memory");
  tell(&s, f, dump);
  fclose(f);
  answer(&s, run, wait_all, about);
  free(about);
  neo_rt_destroy(s.ctx);
  return 0;
}

/* Our side of a comparison on a GPU (serve.h): calls one entry of a generated library, its inputs
 * and outputs on the device, calls following each other in the stream without a wait.
 *
 *   ours_gpu LIB PREFIX ENTRY [OPTION ...]      ours_gpu copy BYTES
 *
 * Options are obeyed in their order:
 *
 *   NAME=VALUE           a setting
 *   samples=N            of a tensor's elements, for `values`
 *   reference=TEXT       what they are compared with (gpu_reference.h)
 *   values=FILE          a call's sampled values (gpu_values.h)
 *   load=FILE, save=FILE of parameters
 *   inputs=FILE          the arrays that it calls with (arrays.h)
 *   quit=1               nothing more
 *   graph=N              N calls are captured as one graph, which is what is timed: a call that is
 *                        shorter than the host needs to launch it would measure the host
 *
 * A library for a processor is called on the host, which gives the values that a GPU's are compared
 * with. `copy` is a copy on the device, which tells its bandwidth. */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/gpu_reference.h"
#include "tools/benchmarks/sides/gpu_values.h"
#include "tools/benchmarks/sides/serve.h"
#include <math.h>

enum { SAMPLES = 4096, CAPTURE_RELAXED = 2 };

typedef struct {
  gpu_side side;
  gpu_values_how how;
  bool quit;
  cuda_exec graph; /* a graph of graph_calls calls */
  int graph_calls;
  cuda_ptr from, to; /* the operands of `copy` */
  size_t bytes;
} bench;

/* ---- options */

static void save_inputs(gpu_side *s, const char *path) {
  gpu_tensor *t = bench_memory((size_t)(s->entry->n_inputs + 1) * sizeof *t);
  for (int k = 0; k < s->entry->n_inputs; k++) {
    const neo_rt_tensor *of = gpu_argument(s, k);
    t[k] = (gpu_tensor){.type = gpu_type_name(of->type),
                        .data = s->host[k],
                        .bytes = gpu_bytes(s, k),
                        .rank = of->rank};
    snprintf(t[k].name, sizeof t[k].name, "%s", of->name);
    memcpy(t[k].shape, s->shape[k], sizeof t[k].shape);
  }
  gpu_save(path, t, s->entry->n_inputs);
  free(t);
}

static void obey(bench *b, char *text) {
  char *value = strchr(text, '=');
  neo_rt_ctx *ctx = b->side.ctx;
  gpu_must(!value, text, "is not NAME=VALUE");
  *value++ = 0;
  if (!strcmp(text, "samples"))
    b->how.most = atoll(value);
  else if (!strcmp(text, "reference"))
    b->how.reference = value;
  else if (!strcmp(text, "values"))
    gpu_values_write(&b->side, value, b->how);
  else if (!strcmp(text, "inputs"))
    save_inputs(&b->side, value);
  else if (!strcmp(text, "save"))
    gpu_must(neo_rt_save(ctx, value, NULL, 0), value, neo_rt_error(ctx));
  else if (!strcmp(text, "load"))
    gpu_must(neo_rt_load(ctx, value), value, neo_rt_error(ctx));
  else if (!strcmp(text, "quit"))
    b->quit = true;
  else if (!strcmp(text, "graph"))
    b->graph_calls = atoi(value);
  else
    gpu_must(neo_rt_set_scalar(ctx, text, atof(value)), text, neo_rt_error(ctx));
}

/* ---- what it says of itself */

static double mean_size(const void *x, uint8_t type, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum += fabs(gpu_element(x, type, k));
  return n ? sum / (double)n : 0;
}

static bool is_training(const gpu_side *s) {
  return s->entry->kind == NEO_RT_ENTRY_TRAIN;
}

/* The loss before two steps of a training; else the mean size of each output. */
static void tell(gpu_side *s, FILE *f) {
  fprintf(f, "{\"%s\": [", is_training(s) ? "losses" : "outputs");
  const char *separator = "";
  for (int call = 0; call < (is_training(s) ? 2 : 1); call++) {
    gpu_run(s);
    gpu_take(s);
    for (int k = s->entry->n_inputs; k < s->entry->n_args; k++) {
      const neo_rt_tensor *t = gpu_argument(s, k);
      if (t->type > NEO_RT_BF16 || (is_training(s) && strcmp(t->name, "loss") != 0))
        continue;
      int64_t n = (int64_t)(gpu_bytes(s, k) / bench_type_bytes(t->type));
      fprintf(f, "%s%.8g", separator, mean_size(s->host[k], t->type, n));
      separator = ", ";
    }
  }
  fputs("]", f);
}

/* ---- calls as one graph */

typedef cuda_result begin_fn(cuda_stream stream, int mode);
typedef cuda_result end_fn(cuda_stream stream, cuda_graph *graph);

/* Null; or why the driver does not take it. */
static const char *capture(bench *b) {
  gpu_side *s = &b->side;
  const char *own = getenv("NEO_CUDA_DRIVER");
  void *driver = dlopen(own ? own : "libcuda.so.1", RTLD_NOW);
  cuda_graph graph = NULL;
  begin_fn *begin;
  end_fn *end;
  *(void **)&begin = driver ? dlsym(driver, "cuStreamBeginCapture_v2") : NULL;
  *(void **)&end = driver ? dlsym(driver, "cuStreamEndCapture") : NULL;
  if (!begin || !end || !s->cuda.graph_make || !s->cuda.graph_launch)
    return "the driver captures no calls";
  for (int k = 0; k < 2; k++) /* the runtime makes its own graph in the second call */
    gpu_run(s);
  gpu_wait(s);
  if (begin(s->stream, CAPTURE_RELAXED))
    return "capturing cannot begin";
  for (int k = 0; k < b->graph_calls; k++)
    gpu_run(s);
  if (end(s->stream, &graph) || !graph)
    return "calls cannot be captured";
  return s->cuda.graph_make(&b->graph, graph, 0) ? "a captured graph cannot be made" : NULL;
}

/* ---- answers */

static void run_all(bench *b, int calls) {
  int launches = b->graph ? (calls + b->graph_calls - 1) / b->graph_calls : calls;
  for (int k = 0; k < launches; k++)
    if (b->bytes)
      gpu_must(b->side.cuda.copy(b->to, b->from, b->bytes, b->side.stream), "copy", NULL);
    else if (b->graph)
      gpu_must(b->side.cuda.graph_launch(b->graph, b->side.stream), "launch", NULL);
    else
      gpu_run(&b->side);
}

static void wait_all(bench *b) {
  if (b->bytes || b->graph)
    gpu_must(b->side.cuda.stream_wait(b->side.stream), "wait", NULL);
  else
    gpu_wait(&b->side);
}

/* Calls that are made if `calls` are asked for: a graph's are made together. */
static double made(const bench *b, int calls) {
  int of = b->graph ? b->graph_calls : 1;
  return (double)((calls + of - 1) / of * of);
}

static void answer(bench *b, const char *about) {
  char command[256];
  printf("ready %s\n", about);
  fflush(stdout);
  while (fgets(command, sizeof command, stdin)) {
    int calls = 0;
    if (sscanf(command, "run %d", &calls) == 1) {
      if (calls > 1)
        run_all(b, 1);
      wait_all(b);
      double wall = bench_now_us(), cpu = serve_cpu_us();
      run_all(b, calls);
      wait_all(b);
      double share = calls / made(b, calls);
      printf("us %.3f %.3f\n", share * (bench_now_us() - wall), share * (serve_cpu_us() - cpu));
    } else {
      printf("kb %ld\n", serve_memory_kb());
    }
    fflush(stdout);
  }
}

static void copy_on_device(bench *b, const char *bytes) {
  char about[64];
  b->bytes = (size_t)atoll(bytes);
  gpu_open_driver(&b->side);
  b->from = gpu_memory(&b->side, b->bytes);
  b->to = gpu_memory(&b->side, b->bytes);
  snprintf(about, sizeof about, "{\"bytes\": %zu}", 2 * b->bytes);
  answer(b, about);
}

static void serve_entry(bench *b) {
  char *about;
  size_t n;
  FILE *f = open_memstream(&about, &n);
  gpu_must(!f, "memory", "out of memory");
  tell(&b->side, f);
  const char *why = b->graph_calls ? capture(b) : NULL;
  if (why)
    serve_missing(why);
  fprintf(f, ", \"graph\": %d}", b->graph ? b->graph_calls : 0);
  fclose(f);
  answer(b, about);
  free(about);
}

int main(int argc, char **argv) {
  static bench b = {.how = {.most = SAMPLES}};
  if (argc == 3 && !strcmp(argv[1], "copy")) {
    copy_on_device(&b, argv[2]);
    return 0;
  }
  gpu_must(argc < 4, "usage", "ours_gpu LIB PREFIX ENTRY [OPTION ...]");
  gpu_open(&b.side, argv[1], argv[2], argv[3]);
  for (int k = 4; k < argc; k++)
    obey(&b, argv[k]);
  if (!b.quit)
    serve_entry(&b);
  neo_rt_destroy(b.side.ctx);
  return 0;
}

/* The child that runs kernels of a GPU. Opening a device takes longer than measuring a candidate,
 * so one child serves a whole job. A failure (a bad address makes a context unusable) ends the
 * child and costs the candidate that was measured.
 *
 * Buffers on the device are surrounded by guard strips of known content. Inputs are copied again
 * for each candidate, since an earlier one may have overwritten them; outputs are filled with a
 * pattern that no kernel writes. Candidate and base first compute one answer each. Then they
 * alternate: several launches, as one graph, between two events. At the end the candidate
 * answers once more, and the strips are checked.
 *
 * There is no filter of system calls here and no limit except on time: the driver makes system
 * calls of its own and maps more addresses than there is memory, and no code of a candidate runs on
 * the processor. */
#include "runtime/cuda_api.h"
#include "tools/measure/device.h"
#include "tools/measure/lines.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  STRIP = 512,
  MOST_LAUNCHES = 512,
  MOST_PARAMS = MEASURE_MAX_BUFS + MEASURE_MAX_SIZES + 5 + NEO_RT_MOST_MAPS
};

static const double least_sample_ns = 200e3;

typedef struct { /* consecutive launches of one kernel as one graph of the driver */
  cuda_graph graph;
  cuda_exec exec; /* null: there is none */
} measure_series;

typedef struct {
  cuda_module module;
  cuda_function function;
  const measure_kernel *kernel;
  int runs;              /* launches of a sample */
  measure_series series; /* several launches as one graph */
  cuda_map map[NEO_RT_MOST_MAPS];
  int64_t units;
  double first_ns;
} kernel;

typedef struct {
  const measure_job *j;
  measure_device d;
  measure_request ask;
  kernel k[2];
  char *compare;                  /* a copy of the largest buffer, for comparison */
  cuda_ptr buf[MEASURE_MAX_BUFS]; /* address of the elements, after a strip */
  measure_message m;
} child;

/* ---- telling the parent */

static void must(child *c, cuda_result r, const char *doing) {
  char text[CUDA_TEXT];
  const char *why = measure_device_told(&c->d, r, doing, text);
  if (why)
    measure_child_fail(&c->m, why);
}

/* ---- buffers */

static void make_buffers(child *c) {
  size_t most = 1;
  for (int k = 0; k < c->j->n_bufs; k++) {
    must(c, c->d.api.memory_alloc(&c->buf[k], c->j->buf[k].bytes + 2 * STRIP), "allocating memory");
    c->buf[k] += STRIP;
    most = c->j->buf[k].bytes > most ? c->j->buf[k].bytes : most;
  }
  c->compare = malloc(most);
}

/* Resets buffers to their initial content. */
static void renew_buffers(child *c) {
  const cuda_api *api = &c->d.api;
  for (int k = 0; k < c->j->n_bufs; k++) {
    const measure_buf *b = &c->j->buf[k];
    must(c,
         api->memory_zero(c->buf[k] - STRIP, MEASURE_UNWRITTEN, b->bytes + 2 * STRIP, c->d.stream),
         "filling memory");
    if (b->reads && b->bytes)
      must(c, api->upload(c->buf[k], b->start ? b->start : b->data, b->bytes, c->d.stream),
           "copying to the device");
  }
}

static void finish(child *c, const char *doing) {
  must(c, c->d.api.stream_wait(c->d.stream), doing);
}

static void take_answers(child *c) {
  for (int k = 0; k < c->j->n_bufs; k++) {
    const measure_buf *b = &c->j->buf[k];
    if (b->write && b->bytes)
      must(c, c->d.api.download(b->data, c->buf[k], b->bytes, c->d.stream),
           "copying from the device");
  }
  finish(c, "copying from the device");
}

static void check_strip(child *c, cuda_ptr at) {
  unsigned char strip[STRIP];
  must(c, c->d.api.download(strip, at, STRIP, c->d.stream), "copying from the device");
  finish(c, "copying from the device");
  for (int k = 0; k < STRIP; k++)
    if (strip[k] != MEASURE_UNWRITTEN)
      measure_child_fail(&c->m, "writes over the end of a buffer");
}

static void check_unchanged(child *c, int buf) {
  const measure_buf *b = &c->j->buf[buf];
  if (!c->compare || !b->bytes)
    return;
  must(c, c->d.api.download(c->compare, c->buf[buf], b->bytes, c->d.stream),
       "copying from the device");
  finish(c, "copying from the device");
  if (memcmp(c->compare, b->data, b->bytes) != 0)
    measure_child_fail(&c->m, "writes what it is to read");
}

static void nothing_beyond(child *c) {
  for (int k = 0; k < c->j->n_bufs; k++) {
    if (!c->j->buf[k].write)
      check_unchanged(c, k);
    check_strip(c, c->buf[k] - STRIP);
    check_strip(c, c->buf[k] + c->j->buf[k].bytes);
  }
}

/* ---- kernels */

/* Reads the file and appends a zero, since PTX is a text. */
static char *read_image(child *c, const char *path) {
  FILE *f = measure_file_open(path);
  if (!f || fseek(f, 0, SEEK_END) != 0)
    measure_child_fail(&c->m, "its code cannot be read");
  long n = ftell(f);
  char *image = n > 0 ? malloc((size_t)n + 1) : NULL;
  rewind(f);
  if (!image || fread(image, 1, (size_t)n, f) != (size_t)n)
    measure_child_fail(&c->m, "its code cannot be read");
  fclose(f);
  image[n] = 0;
  return image;
}

/* Describes the kernel's buffers, whose addresses do not change. */
static void describe(child *c, kernel *x) {
  for (int i = 0; i < x->kernel->n_maps; i++) {
    const measure_map *m = &x->kernel->map[i];
    if (m->of.arg >= c->j->n_bufs)
      measure_child_fail(&c->m, "a map is of a buffer");
    must(c,
         neo_rti_cuda_map(&c->d.api, &m->of, m->extent, (void *)(uintptr_t)c->buf[m->of.arg],
                          &x->map[i]),
         "describing tensors to the device");
  }
}

static void load(child *c, int which, const measure_kernel *k) {
  kernel *x = &c->k[which];
  char *image = read_image(c, k->path);
  *x = (kernel){.kernel = k, .runs = 1};
  must(c, c->d.api.module_load(&x->module, image), "loading the kernel");
  free(image);
  must(c, c->d.api.module_function(&x->function, x->module, k->symbol), "looking up the kernel");
  if (k->scratch_bytes > CUDA_PLAIN_SHARED_BYTES)
    must(c, c->d.api.function_set(x->function, CUDA_MOST_SHARED, (int)k->scratch_bytes),
         "asking for shared memory");
  describe(c, x);
}

/* The launch of a kernel; `param` has room for MOST_PARAMS. A grid without blocks is not
 * launched. */
static cuda_kernel_node node_of(child *c, int which, void **param) {
  static const uint64_t key[3] = {42, 1, 0};
  kernel *x = &c->k[which];
  size_t n = 0;
  x->units = x->kernel->units;
  for (int k = 0; k < c->j->n_bufs; k++)
    param[n++] = &c->buf[k];
  for (int k = 0; k < c->j->n_sizes; k++)
    param[n++] = (void *)(uintptr_t)&c->j->sizes[k];
  for (int k = 0; k < 3; k++)
    param[n++] = (void *)(uintptr_t)&key[k];
  param[n++] = &x->units;
  for (int k = 0; k < x->kernel->n_maps; k++)
    param[n++] = &x->map[k];
  param[n] = NULL;
  int64_t grid =
      cuda_blocks(x->units, x->kernel->block_units, x->kernel->persistent, c->d.processors);
  return (cuda_kernel_node){.function = x->function,
                            .grid = {(unsigned)grid, 1, 1},
                            .block = {(unsigned)x->kernel->block, 1, 1},
                            .shared_bytes = (unsigned)x->kernel->scratch_bytes,
                            .params = param};
}

static void launch(child *c, int which) {
  void *param[MOST_PARAMS];
  cuda_kernel_node k = node_of(c, which, param);
  if (k.grid[0] > 0)
    must(c,
         c->d.api.launch(k.function, k.grid[0], 1, 1, k.block[0], 1, 1, k.shared_bytes, c->d.stream,
                         param, NULL),
         "launching");
}

/* ---- Launches of one kernel as one graph of the driver. A single launch takes the host about 2.5
 * us, which would hide the time of a shorter kernel; a graph launches them all at once. */

/* Frees the graph; an empty series is allowed. */
static void series_end(const cuda_api *api, measure_series *s) {
  if (s->exec)
    (void)api->graph_end(s->exec);
  if (s->graph)
    (void)api->graph_destroy(s->graph);
  *s = (measure_series){0};
}

static cuda_result add_all(const cuda_api *api, const cuda_kernel_node *node, int n,
                           measure_series *s) {
  cuda_node next, before = NULL;
  cuda_result r = api->graph_create(&s->graph, 0);
  for (int k = 0; !r && k < n; k++) {
    r = api->graph_kernel(&next, s->graph, k ? &before : NULL, k ? 1 : 0, node);
    before = next;
  }
  return r ? r : api->graph_make(&s->exec, s->graph, 0);
}

/* Makes a graph of n launches. False: the driver cannot, and *s is empty. */
static bool series_make(const cuda_api *api, const cuda_kernel_node *node, int n,
                        measure_series *s) {
  *s = (measure_series){0};
  if (!api->graph_create || !api->graph_kernel || !api->graph_make || !api->graph_launch ||
      !api->graph_end || !api->graph_destroy)
    return false;
  if (!add_all(api, node, n, s))
    return true;
  series_end(api, s);
  return false;
}

/* Makes one graph of a sample's launches. */
static void make_series(child *c, int which) {
  void *param[MOST_PARAMS];
  cuda_kernel_node k = node_of(c, which, param);
  if (c->k[which].runs > 1 && k.grid[0] > 0)
    (void)series_make(&c->d.api, &k, c->k[which].runs, &c->k[which].series);
}

/* Nanoseconds per launch, over `runs` launches. */
static double timed(child *c, int which, int runs) {
  const measure_device *d = &c->d;
  float ms = 0;
  must(c, d->api.event_record(d->from, d->stream), "recording an event");
  bool as_graph = runs > 1 && c->k[which].series.exec;
  if (as_graph)
    must(c, d->api.graph_launch(c->k[which].series.exec, d->stream), "launching a graph");
  for (int k = 0; !as_graph && k < runs; k++)
    launch(c, which);
  must(c, d->api.event_record(d->to, d->stream), "recording an event");
  finish(c, "running");
  must(c, d->api.event_ms(&ms, d->from, d->to), "reading a clock");
  return 1e6 * (double)ms / runs;
}

/* ---- answers */

static void answer(child *c, int which) {
  renew_buffers(c);
  finish(c, "copying to the device");
  c->k[which].first_ns = timed(c, which, 1);
  take_answers(c);
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write)
      memcpy(c->j->buf[k].answer, c->j->buf[k].data, c->j->buf[k].bytes);
  c->m.kind = MEASURE_ANSWER;
  c->m.which = which;
  c->m.whole = true;
  measure_child_tell(&c->m);
  (void)measure_child_permission();
}

/* Checks that the last answer is the one that the parent checked. */
static void same_as_before(child *c) {
  renew_buffers(c);
  launch(c, 0);
  finish(c, "running");
  take_answers(c);
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write &&
        memcmp(c->j->buf[k].answer, c->j->buf[k].data, c->j->buf[k].bytes) != 0)
      measure_child_fail(&c->m, "another answer at another run");
}

/* ---- samples, alternating */

static bool hopeless(const child *c) {
  double limit = c->ask.kernel.best_ratio;
  if (c->ask.mode != MEASURE_TRY || limit <= 0 || c->m.n < 3)
    return false;
  for (int k = 0; k < c->m.n; k++)
    if (c->m.sample_ns[0][k] < 1.5 * limit * c->m.sample_ns[1][k])
      return false;
  return true;
}

static bool enough(const child *c, double spent_ns) {
  bool race = c->ask.mode == MEASURE_RACE;
  double total = c->j->total_ns * (race ? 4 : 1);
  int least = c->j->least_runs * (race ? 2 : 1);
  if (c->m.n >= MEASURE_MAX_SAMPLES || (c->m.n >= 2 && spent_ns >= total) || hopeless(c))
    return true;
  return c->m.n >= least && spent_ns >= total / 4;
}

/* Chooses the launches of a sample. The first launch is not counted: it loads code and data. */
static void choose_runs(child *c, int which) {
  double once = timed(c, which, 1);
  once = once < c->k[which].first_ns ? once : c->k[which].first_ns;
  double runs = once > 0 ? least_sample_ns / once + 1 : MOST_LAUNCHES;
  c->k[which].runs = runs < MOST_LAUNCHES ? (int)runs : MOST_LAUNCHES;
}

static void take_samples(child *c, int n) {
  double spent = 0;
  c->m.n = 0;
  c->m.graph = true;
  for (int which = 0; which < n; which++) {
    choose_runs(c, which);
    make_series(c, which);
    c->m.graph = c->m.graph && c->k[which].series.exec;
  }
  for (; !enough(c, spent); c->m.n++)
    for (int pass = 0; pass < n; pass++) {
      int which = (pass + c->m.n) % n;
      double t = timed(c, which, c->k[which].runs);
      c->m.sample_ns[which][c->m.n] = t > 0 ? t : 1;
      spent += t * c->k[which].runs;
    }
}

/* ---- the whole */

static void serve(child *c) {
  int n = c->ask.mode >= MEASURE_TRY ? 2 : 1;
  for (int k = n - 1; k >= 0; k--) {
    load(c, k, k ? &c->ask.base : &c->ask.kernel);
    answer(c, k);
  }
  take_samples(c, n);
  same_as_before(c);
  nothing_beyond(c);
  for (int k = 0; k < n; k++)
    series_end(&c->d.api, &c->k[k].series);
  for (int k = 0; k < n; k++)
    must(c, c->d.api.module_unload(c->k[k].module), "unloading the kernel");
  c->m.kind = MEASURE_TIMES;
  c->m.busy = 1;
  measure_child_tell(&c->m);
}

static void set_up(child *c) {
  static const struct rlimit none = {0, 0};
  char text[CUDA_TEXT];
  setrlimit(RLIMIT_CORE, &none);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  const char *why = measure_device_open(c->j, &c->d, text);
  if (why)
    measure_child_fail(&c->m, why);
  must(c, c->d.api.context_retain(&c->d.context, c->d.number), "opening the device");
  must(c, c->d.api.context_push(c->d.context), "opening the device");
  must(c, c->d.api.stream_create(&c->d.stream, CUDA_STREAM_NON_BLOCKING), "making a stream");
  must(c, c->d.api.event_create(&c->d.from, 0), "making an event");
  must(c, c->d.api.event_create(&c->d.to, 0), "making an event");
  make_buffers(c);
}

/* Serves the next request. False: the parent has gone or needs no more. */
static bool next(child *c) {
  char *p = (char *)&c->ask;
  for (size_t n = 0; n < sizeof c->ask;) {
    ssize_t got = read(MEASURE_FROM_PARENT, p + n, sizeof c->ask - n);
    if (got == 0 || (got < 0 && errno != EINTR))
      return false;
    n += got > 0 ? (size_t)got : 0;
  }
  return true;
}

void measure_gpu_child(const measure_job *j, int in, int out) {
  child *c = calloc(1, sizeof *c);
  measure_child_begin(in, out);
  if (!c)
    _exit(1);
  c->j = j;
  set_up(c);
  while (next(c))
    serve(c);
  _exit(0);
}

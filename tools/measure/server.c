/* Interprets lines (measure.h): those that describe a job, and kernels to run in it. The first
 * error in a job is reported when the job is used. */
#include "runtime/element.h"
#include "tools/measure/measure.h"
#include <stdlib.h>
#include <string.h>

typedef measure_server server;

/* ---- reading a line */

static uint8_t type_of(const char *name, size_t n) {
  for (uint8_t t = 0; t <= NEO_RT_BOOL; t++)
    if (strlen(neo_rti_type_name(t)) == n && memcmp(neo_rti_type_name(t), name, n) == 0)
      return t;
  return UINT8_MAX;
}

/* Parses 0:bf16:100,0,64:33,200,64 and returns the text after it; null: it is no map. */
static const char *read_map(const char *p, measure_map *m) {
  char *end;
  m->of.arg = (int32_t)strtol(p, &end, 10);
  if (end == p || *end++ != ':' || m->of.arg < 0 || m->of.arg >= MEASURE_MAX_BUFS)
    return NULL;
  size_t n = strcspn(end, ":; ");
  m->of.type = type_of(end, n);
  for (p = end + n; *p == ':' && m->of.rank < NEO_RT_MAP_RANK; m->of.rank++) {
    int64_t x[3];
    for (int i = 0; i < 3; i++, p = end) {
      x[i] = strtoll(p + 1, &end, 10);
      if (end == p + 1 || *p != (i ? ',' : ':'))
        return NULL;
    }
    m->extent[m->of.rank] = x[0];
    m->of.stride_bytes[m->of.rank] = x[1];
    m->of.box[m->of.rank] = (int32_t)x[2];
  }
  return m->of.type == UINT8_MAX || !m->of.rank ? NULL : p;
}

/* Reads all maps of a line. False: the syntax is wrong. */
static bool read_maps(const char *line, measure_kernel *k) {
  const char *p = measure_after(line, "maps");
  for (; p && *p != ' ' && k->n_maps < NEO_RT_MOST_MAPS; p += *p == ';')
    if (!(p = read_map(p, &k->map[k->n_maps++])) || (*p != ';' && *p != ' '))
      return false;
  return !p || *p == ' ';
}

/* Parses a kernel; returns what is wrong with the line, null: nothing. */
static const char *read_kernel(const char *line, measure_kernel *k) {
  const char *path = measure_after(line, "path");
  memset(k, 0, sizeof *k);
  k->id = (long)measure_number(line, "id", -1);
  k->units = (int64_t)measure_number(line, "units", -1);
  k->scratch_bytes = (size_t)measure_number(line, "scratch", 0);
  k->block = (int32_t)measure_number(line, "block", 0);
  k->block_units = (int32_t)measure_number(line, "block_units", 1);
  k->persistent = (int32_t)measure_number(line, "persistent", 0);
  k->best_ratio = measure_number(line, "best_ratio", 0);
  measure_word(line, "symbol", k->symbol, sizeof k->symbol);
  if (path && strlen(path) < sizeof k->path)
    snprintf(k->path, sizeof k->path, "%s", path);
  bool whole = k->symbol[0] && k->path[0] && k->units >= 0;
  whole = whole && k->block >= 0 && k->block <= 1024 && k->block_units >= 1;
  whole = whole && k->persistent >= 0;
  if (!whole)
    return "a kernel has symbol=, units= and path=";
  return read_maps(line, k) ? NULL : "maps are BUFFER:TYPE:EXTENT,STRIDE,BOX:...";
}

/* Stores the first error. */
static void complain(server *s, const char *why) {
  s->wrong = s->wrong ? s->wrong : why;
}

static bool is_use(const char *line, measure_buf *b) {
  b->write = measure_is(line, "write") || measure_is(line, "update");
  b->reads = measure_is(line, "read") || measure_is(line, "update");
  return b->write || b->reads;
}

/* read|write|update TYPE N ... */
static void add_buffer(server *s, const char *line) {
  measure_buf b = {0};
  const char *path = measure_after(line, "path");
  if (s->job.n_bufs == MEASURE_MAX_BUFS || !is_use(line, &b)) {
    complain(s, "a buffer is read, write or update; there are too many");
    return;
  }
  const char *p = line + strcspn(line, " ");
  p += *p == ' ';
  size_t n = strcspn(p, " ");
  b.type = type_of(p, n);
  b.n = strtoll(p + n, NULL, 10);
  b.bound = (int64_t)measure_number(line, "bound", 0);
  b.least = (int64_t)measure_number(line, "least", 0);
  b.rtol = measure_number(line, "rtol", 0);
  b.atol = measure_number(line, "atol", 0);
  b.loose = measure_number(line, "loose", 0);
  b.rare = measure_number(line, "rare", 0);
  b.path = path ? strdup(path) : NULL;
  if (b.type == UINT8_MAX || (path && !b.path)) {
    free(b.path);
    complain(s, b.type == UINT8_MAX ? "no such type" : "out of memory");
    return;
  }
  s->job.buf[s->job.n_bufs++] = b;
}

static void read_sizes(server *s, const char *p) {
  for (int k = 0; *p; k++) {
    char *end;
    int64_t x = strtoll(p, &end, 10);
    if (end == p || k == MEASURE_MAX_SIZES) {
      complain(s, "sizes are numbers, not too many");
      return;
    }
    s->job.sizes[k] = x;
    s->job.n_sizes = k + 1;
    p = end + strspn(end, " ");
  }
}

/* ---- measuring */

/* Sets the unit of samples, which is the same for all candidates of a job. */
static void calibrate(measure_job *j) {
  for (int k = 0; k < 50; k++) {
    double t = measure_calibrate(j, 1);
    if (k == 0 || t < j->calibration_ns)
      j->calibration_ns = t;
  }
}

const char *measure_server_run(measure_server *s, measure_mode mode, const char *line, long *id,
                               measure_result *r) {
  measure_kernel k;
  const char *wrong = s->wrong ? s->wrong : read_kernel(line, &k);
  if (!wrong && (!s->job.ready || (mode >= MEASURE_TRY && !s->has_base)))
    wrong = "what to measure with is missing: ready, base";
  if (!wrong && k.block && !s->job.gpu)
    wrong = "a kernel with blocks is for a GPU, and no device is named";
  if (wrong)
    return wrong;
  *r = measure_trial(&s->job, mode, &k, &s->base);
  *id = k.id;
  if (mode == MEASURE_BASE && r->ok) {
    s->base = k;
    s->has_base = true;
  }
  return NULL;
}

/* ---- lines that describe the job; `p` is the text after the first word */

static void describe_job(server *s, const char *p) {
  (void)p;
  measure_job_clear(&s->job);
  s->has_base = false;
  s->wrong = NULL;
}

static void describe_threads(server *s, const char *p) {
  s->job.threads = (int32_t)strtol(p, NULL, 10);
  if (s->job.threads < 1 || s->job.threads > 256)
    complain(s, "threads: 1 to 256");
}

static void describe_seed(server *s, const char *p) {
  s->job.seed = strtoull(p, NULL, 10);
}

static void describe_fill(server *s, const char *p) {
  s->job.positive = measure_is(p, "positive");
}

static void describe_limit(server *s, const char *p) {
  enum { MB = 1 << 20 };
  measure_job *j = &s->job;
  j->wall_ms = (int64_t)measure_number(p, "wall_ms", (double)j->wall_ms);
  j->cpu_ms = (int64_t)measure_number(p, "cpu_ms", (double)j->wall_ms);
  j->memory_bytes = (int64_t)(measure_number(p, "memory_mb", (double)(j->memory_bytes / MB)) * MB);
}

static void describe_time(server *s, const char *p) {
  measure_job *j = &s->job;
  j->run_ns = 1e6 * measure_number(p, "run_ms", j->run_ns / 1e6);
  j->total_ns = 1e6 * measure_number(p, "total_ms", j->total_ns / 1e6);
  j->least_runs = (int)measure_number(p, "least_runs", j->least_runs);
}

static void describe_between(server *s, const char *p) {
  double bytes = measure_number(p, "bytes", -1);
  if (bytes < 0)
    complain(s, "between has bytes=, 0 or more");
  else
    s->job.between_bytes = bytes < 0x1p40 ? (size_t)bytes : (size_t)1 << 40;
}

static void describe_loose(server *s, const char *p) {
  (void)p;
  for (int k = 0; k < s->job.n_bufs; k++)
    s->job.buf[k].atol += s->job.buf[k].loose;
}

static void describe_expect(server *s, const char *p) {
  const char *path = measure_after(p, "path");
  const char *wrong = path ? measure_answer_load(&s->job, path) : "expect has path=";
  if (wrong)
    complain(s, wrong);
}

static void describe_ready(server *s, const char *p) {
  (void)p;
  if (s->job.ready || !measure_job_ready(&s->job))
    complain(s, "no memory for the buffers, or a file of one cannot be read");
  calibrate(&s->job);
}

void measure_server_describe(measure_server *s, const char *line) {
  static const struct {
    const char *word;
    void (*describe)(server *s, const char *p);
  } lines[] = {
      {"job", describe_job},         {"threads", describe_threads}, {"seed", describe_seed},
      {"fill", describe_fill},       {"limit", describe_limit},     {"time", describe_time},
      {"between", describe_between}, {"sizes", read_sizes},         {"buffer", add_buffer},
      {"loose", describe_loose},     {"expect", describe_expect},   {"ready", describe_ready}};
  for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
    if (measure_is(line, lines[k].word)) {
      const char *p = line + strlen(lines[k].word);
      lines[k].describe(s, p + strspn(p, " "));
      return;
    }
  complain(s, "no such command");
}

bool measure_server_mode(const char *line, measure_mode *mode) {
  static const char *const runs[] = {"plain", "base", "try", "race"};
  for (int k = 0; k < 4; k++)
    if (measure_is(line, runs[k])) {
      *mode = (measure_mode)k;
      return true;
    }
  return false;
}

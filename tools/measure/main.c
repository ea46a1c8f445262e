/* The commands (measure.h), one after the other, from standard input; answers to standard
 * output. */
#include "base/alloc.h"
#include "runtime/internal.h"
#include "tools/measure/measure.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  measure_job job;
  measure_kernel base;
  bool has_base;
  const char *wrong; /* with what describes the job; null: nothing */
} server;

/* ---- reading a line */

/* The text after "key=", or null. */
static const char *after(const char *line, const char *key) {
  size_t n = strlen(key);
  for (const char *p = line; (p = strstr(p, key)) != NULL; p += n)
    if (p[n] == '=' && (p == line || p[-1] == ' '))
      return p + n + 1;
  return NULL;
}

static double number(const char *line, const char *key, double otherwise) {
  const char *p = after(line, key);
  return p ? strtod(p, NULL) : otherwise;
}

static void word(const char *line, const char *key, char *out, size_t n) {
  const char *p = after(line, key);
  size_t length = p ? strcspn(p, " ") : 0;
  if (length >= n)
    length = 0;
  memcpy(out, p ? p : "", length);
  out[length] = 0;
}

/* What is wrong with it; null: nothing. */
static const char *read_kernel(const char *line, measure_kernel *k) {
  const char *path = after(line, "path");
  memset(k, 0, sizeof *k);
  k->id = (long)number(line, "id", -1);
  k->units = (int64_t)number(line, "units", -1);
  k->scratch_bytes = (size_t)number(line, "scratch", 0);
  k->best_ratio = number(line, "best_ratio", 0);
  word(line, "symbol", k->symbol, sizeof k->symbol);
  if (path && strlen(path) < sizeof k->path)
    snprintf(k->path, sizeof k->path, "%s", path);
  bool whole = k->symbol[0] && k->path[0] && k->units >= 0;
  return whole ? NULL : "a kernel has symbol=, units= and path=";
}

/* The first thing that is wrong is told. */
static void complain(server *s, const char *why) {
  s->wrong = s->wrong ? s->wrong : why;
}

static uint8_t type_of(const char *name, size_t n) {
  for (uint8_t t = 0; t <= NEO_RT_BOOL; t++)
    if (strlen(neo_rti_type_name(t)) == n && memcmp(neo_rti_type_name(t), name, n) == 0)
      return t;
  return UINT8_MAX;
}

/* buffer read|write TYPE N ... */
static void add_buffer(server *s, const char *line) {
  const char *p = line + strlen("buffer ");
  bool write = strncmp(p, "write ", 6) == 0;
  measure_buf b = {.write = write};
  if (s->job.n_bufs == MEASURE_MAX_BUFS || (!write && strncmp(p, "read ", 5) != 0)) {
    complain(s, "a buffer is read or write; there are too many");
    return;
  }
  p += write ? 6 : 5;
  size_t n = strcspn(p, " ");
  b.type = type_of(p, n);
  b.n = strtoll(p + n, NULL, 10);
  b.bound = (int64_t)number(line, "bound", 0);
  b.rtol = number(line, "rtol", 0);
  b.atol = number(line, "atol", 0);
  b.rare = number(line, "rare", 0);
  if (b.type == UINT8_MAX)
    complain(s, "no such type");
  else
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
    p = end + strspn(end, " ");
  }
}

/* ---- measuring */

/* What samples are in units of: the same for all candidates of a job, so taken once. */
static void calibrate(measure_job *j) {
  for (int k = 0; k < 50; k++) {
    double t = measure_calibrate(j, 1);
    if (k == 0 || t < j->calibration_ns)
      j->calibration_ns = t;
  }
}

static void put_text(const char *text) {
  putchar('"');
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else if ((unsigned char)*text >= ' ')
      putchar(*text);
  putchar('"');
}

static void put_result(long id, measure_mode mode, const measure_result *r) {
  printf("{\"id\":%ld,\"ok\":%s", id, r->ok ? "true" : "false");
  if (!r->ok) {
    printf(",\"why\":");
    put_text(r->why);
  } else if (mode != MEASURE_PLAIN) {
    printf(",\"ns\":%.1f,\"ratio\":%.5f,\"samples\":%d,\"share\":%.4g,\"busy\":%.3f", r->ns,
           r->ratio, r->samples, r->share, r->busy);
  }
  if (r->ok && mode == MEASURE_BASE)
    printf(",\"finite\":%.4f", r->finite);
  printf("}\n");
}

static void run(server *s, measure_mode mode, const char *line) {
  measure_kernel k;
  const char *wrong = s->wrong ? s->wrong : read_kernel(line, &k);
  if (!wrong && (!s->job.ready || (mode >= MEASURE_TRY && !s->has_base)))
    wrong = "what to measure with is missing: ready, base";
  if (wrong) {
    printf("{\"ok\":false,\"error\":\"%s\"}\n", wrong);
    return;
  }
  measure_result r = measure_trial(&s->job, mode, &k, &s->base);
  if (mode == MEASURE_BASE && r.ok) {
    s->base = k;
    s->has_base = true;
  }
  put_result(k.id, mode, &r);
}

/* ---- commands */

static bool is(const char *line, const char *command) {
  size_t n = strlen(command);
  return strncmp(line, command, n) == 0 && (line[n] == ' ' || line[n] == 0);
}

static void describe(server *s, const char *line) {
  measure_job *j = &s->job;
  if (is(line, "job")) {
    measure_job_clear(j);
    s->has_base = false;
    s->wrong = NULL;
  } else if (is(line, "threads")) {
    j->threads = (int32_t)strtol(line + 7, NULL, 10);
    if (j->threads < 1 || j->threads > 256)
      complain(s, "threads: 1 to 256");
  } else if (is(line, "seed")) {
    j->seed = strtoull(line + 4, NULL, 10);
  } else if (is(line, "fill")) {
    j->positive = strstr(line, "positive") != NULL;
  } else if (is(line, "limit")) {
    j->wall_ms = (int64_t)number(line, "wall_ms", (double)j->wall_ms);
    j->cpu_ms = (int64_t)number(line, "cpu_ms", (double)j->wall_ms);
    j->memory_bytes =
        (int64_t)(number(line, "memory_mb", (double)(j->memory_bytes >> 20)) * 1048576);
  } else if (is(line, "time")) {
    j->run_ns = 1e6 * number(line, "run_ms", j->run_ns / 1e6);
    j->total_ns = 1e6 * number(line, "total_ms", j->total_ns / 1e6);
    j->least_runs = (int)number(line, "least_runs", j->least_runs);
  } else if (is(line, "sizes")) {
    read_sizes(s, line + 5 + strspn(line + 5, " "));
  } else if (is(line, "buffer")) {
    add_buffer(s, line);
  } else if (is(line, "ready")) {
    if (j->ready || !measure_job_ready(j))
      complain(s, "no memory for the buffers");
    calibrate(j);
  } else {
    complain(s, "no such command");
  }
}

/* False: quit. */
static bool obey(server *s, const char *line) {
  static const char *const runs[] = {"plain", "base", "try", "race"};
  for (int k = 0; k < 4; k++)
    if (is(line, runs[k])) {
      run(s, (measure_mode)k, line);
      fflush(stdout);
      return true;
    }
  if (is(line, "quit"))
    return false;
  if (*line && *line != '#')
    describe(s, line);
  return true;
}

int main(int argc, char **argv) {
  server *s = calloc(1, sizeof *s);
  char *line = malloc(MEASURE_LINE);
  if (!s || !line)
    return 4;
  s->job.sandbox = !(argc > 1 && strcmp(argv[1], "--no-filter") == 0);
  measure_job_clear(&s->job);
  signal(SIGPIPE, SIG_IGN);
  bool more = true;
  while (more && fgets(line, MEASURE_LINE, stdin)) {
    line[strcspn(line, "\n")] = 0;
    more = obey(s, line);
  }
  measure_job_clear(&s->job);
  free(line);
  free(s);
  return 0;
}

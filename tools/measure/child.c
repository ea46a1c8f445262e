/* The child: opens the candidate, runs it, tells. Standard streams go nowhere; descriptors but the two pipes are closed.
 *
 * Few units of a long kernel are run, next to each other from its middle, as many as take about run_ms: units are alike,
 * so the rest would tell nothing new. The answer of one run is handed over and judged before time is taken; after that the
 * same units run until there are enough samples, and once more what they wrote is compared, with the first time. */
#include "runtime/internal.h"
#include "tools/measure/measure.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  TO_PARENT = MEASURE_TO_PARENT,
  FROM_PARENT = MEASURE_FROM_PARENT,
  FIRST_FREE,
  MOST_DESCRIPTORS = 64,
  LEAST_SAMPLE_NS = 20000
};

typedef struct {
  const measure_job *j;
  measure_mode mode;
  neo_rt_pool *pool;
  neo_rt_fn *fn[2];
  const measure_kernel *kernel[2];
  char *scratch[2];
  size_t stride[2]; /* of a worker's scratch */
  void *buf[MEASURE_MAX_BUFS];
  int64_t lo, hi; /* units that run; of a race: all of each */
  measure_message m;
} child;

/* ---- telling the parent */

static void tell(child *c) {
  const char *p = (const char *)&c->m;
  for (size_t n = sizeof c->m; n;) {
    ssize_t done = write(TO_PARENT, p, n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      _exit(1);
    p += done, n -= (size_t)done;
  }
}

static void fail(child *c, const char *what) __attribute__((noreturn));
static void fail(child *c, const char *what) {
  c->m.kind = MEASURE_FAIL;
  snprintf(c->m.why, sizeof c->m.why, "%s", what);
  tell(c);
  _exit(0);
}

static void wait_for_permission(void) {
  char go;
  ssize_t n;
  while ((n = read(FROM_PARENT, &go, 1)) < 0 && errno == EINTR)
    ;
  if (n != 1)
    _exit(0);
}

/* ---- setting up */

static void close_all(int in, int out) {
  int null = open("/dev/null", O_RDWR);
  int to = fcntl(out, F_DUPFD, 100), from = fcntl(in, F_DUPFD, 100); /* out of each other's way */
  for (int fd = 0; fd < 3; fd++)
    dup2(null, fd);
  dup2(to, TO_PARENT);
  dup2(from, FROM_PARENT);
#ifdef __NR_close_range
  if (syscall(__NR_close_range, FIRST_FREE, ~0U, 0) == 0)
    return;
#endif
  for (int fd = FIRST_FREE; fd < 1024; fd++)
    close(fd);
}

static bool leaks_descriptors(void) {
  for (int fd = FIRST_FREE; fd < MOST_DESCRIPTORS; fd++)
    if (fcntl(fd, F_GETFD) >= 0)
      return true;
  return false;
}

static void open_kernel(child *c, int which) {
  const measure_kernel *k = c->kernel[which];
  void *library = dlopen(k->path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(c, dlerror());
  void *symbol = dlsym(library, k->symbol);
  if (!symbol)
    fail(c, "no such symbol");
  memcpy(&c->fn[which], &symbol, sizeof symbol);
  c->stride[which] = (k->scratch_bytes + 64 + 4095) / 4096 * 4096;
  size_t bytes = c->stride[which] * (size_t)c->j->threads;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    fail(c, "no memory for scratch");
  c->scratch[which] = p;
}

/* ---- running */

typedef struct {
  child *c;
  int which;
  int64_t lo, hi;
  _Atomic int failed;
} region;

static void run_worker(void *user, int32_t worker, int32_t n) {
  static const uint64_t key[3] = {42, 1, 0};
  region *r = user;
  const child *c = r->c;
  int64_t units = r->hi - r->lo;
  neo_rt_args args = {.buf = c->buf, .size = c->j->sizes, .key = key};
  args.lo = r->lo + units / n * worker + units % n * worker / n;
  args.hi = r->lo + units / n * (worker + 1) + units % n * (worker + 1) / n;
  args.scratch = c->scratch[r->which] + c->stride[r->which] * (size_t)worker;
  if (args.lo < args.hi && c->fn[r->which](&args) != 0)
    r->failed = 1;
}

static void run(child *c, int which, int64_t lo, int64_t hi) {
  region r = {c, which, lo, hi, 0};
  if (c->pool)
    neo_rti_pool_run(c->pool, run_worker, &r);
  else
    run_worker(&r, 0, 1);
  if (r.failed)
    fail(c, "the kernel says that it failed");
}

static double timed(child *c, int which, int64_t lo, int64_t hi, int runs) {
  double begun = measure_now_ns(c->j);
  for (int k = 0; k < runs; k++)
    run(c, which, lo, hi);
  return (measure_now_ns(c->j) - begun) / runs;
}

/* As many units as take about run_ns. The first run of some is slow: it touches memory that nobody had. */
static void choose_units(child *c) {
  int64_t units = c->kernel[0]->units, n = c->j->threads, mid = units / 2;
  c->lo = 0, c->hi = units;
  if (c->mode == MEASURE_RACE || c->mode == MEASURE_BASE || units < 4 * n)
    return;
  for (; n < units; n *= 2) {
    int64_t lo = mid - n / 2;
    (void)timed(c, 0, lo, lo + n, 1);
    double t = timed(c, 0, lo, lo + n, 1);
    if (t * 2 <= c->j->run_ns)
      continue;
    n = (int64_t)((double)n * c->j->run_ns / t);
    break;
  }
  n = n < c->j->threads ? c->j->threads : n;
  if (n * 5 >= units * 4)
    return;
  c->lo = mid - n / 2, c->hi = c->lo + n;
}

/* ---- answers */

static void forget(const child *c) {
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write)
      memset(c->j->buf[k].data, MEASURE_UNWRITTEN, c->j->buf[k].bytes);
}

static void hand_over(child *c) {
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write)
      memcpy(c->j->buf[k].answer, c->j->buf[k].data, c->j->buf[k].bytes);
  c->m.kind = MEASURE_ANSWER;
  c->m.share = c->kernel[0]->units ? (double)(c->hi - c->lo) / (double)c->kernel[0]->units : 1;
  tell(c);
  wait_for_permission();
}

static void same_as_before(child *c) {
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write &&
        memcmp(c->j->buf[k].answer, c->j->buf[k].data, c->j->buf[k].bytes) != 0)
      fail(c, "another answer at another run");
}

static bool overrun(const measure_buf *b) {
  for (const char *p = b->data + b->bytes; ((uintptr_t)p & 63) != 0; p++)
    if ((unsigned char)*p != (b->write ? MEASURE_UNWRITTEN : 0))
      return true;
  return false;
}

static void nothing_beyond(child *c) {
  for (int k = 0; k < c->j->n_bufs; k++)
    if (overrun(&c->j->buf[k]))
      fail(c, "writes over the end of a buffer");
  if (leaks_descriptors())
    fail(c, "leaves descriptors open");
}

/* ---- the reference: single units, spread evenly, as many as there is time for */

static void run_plain(child *c) {
  enum { MOST = 4096 };
  int64_t units = c->kernel[0]->units, n = units < MOST ? units : MOST;
  double begun = measure_wall_ns(), most = (double)c->j->wall_ms * 1e6 / 4;
  for (int64_t k = 0; k < n; k++) {
    int64_t at = (k * 2 + 1) % n * 997 % n; /* scattered, in case that time ends */
    int64_t u = n == units ? at : (int64_t)((double)at / (double)n * (double)units);
    run(c, 0, u, u + 1);
    if (k % 2 == 1 && measure_wall_ns() - begun > most)
      break;
  }
  run(c, 0, 0, units > 0);
  run(c, 0, units > 0 ? units - 1 : 0, units);
}

/* ---- samples */

static bool enough(const child *c, double spent) {
  const measure_message *m = &c->m;
  if (m->n >= MEASURE_MAX_SAMPLES || (m->n >= 2 && spent >= c->j->total_ns))
    return true;
  double best = c->kernel[0]->best_ns;
  if (c->mode == MEASURE_TRY && best > 0 && m->n >= 2 && m->sample_ns[0][0] > 1.5 * best &&
      m->sample_ns[0][1] > 1.5 * best)
    return true;
  return m->n >= c->j->least_runs && spent >= c->j->total_ns / 6;
}

static void take_samples(child *c) {
  double share = c->m.share > 0 ? c->m.share : 1, spent = 0;
  double once = timed(c, 0, c->lo, c->hi, 1);
  int runs = once < LEAST_SAMPLE_NS ? (int)(LEAST_SAMPLE_NS / (once + 10)) + 1 : 1;
  int n_kernels = c->mode == MEASURE_RACE ? 2 : 1;
  while (!enough(c, spent)) {
    for (int which = 0; which < n_kernels; which++) {
      int64_t hi = which ? c->kernel[1]->units : c->hi;
      double t = timed(c, which, which ? 0 : c->lo, hi, runs);
      spent += t * runs;
      c->m.sample_ns[which][c->m.n] = t / (which ? 1 : share);
    }
    c->m.n++;
  }
}

void measure_child(const measure_job *j, measure_mode mode, const measure_kernel *k,
                   const measure_kernel *base, int in, int out) {
  child c = {.j = j, .mode = mode, .kernel = {k, base}};
  setpgid(0, 0);
  close_all(in, out);
  size_t scratch = k->scratch_bytes + (mode == MEASURE_RACE ? base->scratch_bytes : 0);
  measure_limits_set(j, scratch + (1 << 20));
  for (int i = 0; i < j->n_bufs; i++)
    c.buf[i] = j->buf[i].data;
  for (int i = 0; i < (mode == MEASURE_RACE ? 2 : 1); i++)
    open_kernel(&c, i);
  if (j->threads > 1 && neo_rt_pool_create(j->threads, &c.pool))
    fail(&c, "no threads");
  if (j->sandbox)
    measure_limits_calls();
  if (mode == MEASURE_PLAIN)
    run_plain(&c);
  else
    choose_units(&c);
  if (mode != MEASURE_PLAIN) {
    forget(&c);
    run(&c, 0, c.lo, c.hi);
  }
  hand_over(&c);
  if (mode != MEASURE_PLAIN) {
    take_samples(&c);
    if (mode != MEASURE_RACE)
      same_as_before(&c);
    nothing_beyond(&c);
  }
  c.m.kind = MEASURE_TIMES;
  tell(&c);
  _exit(0);
}

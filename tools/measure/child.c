/* The child of a processor's job: it opens the candidate, runs it and reports.
 *
 * Of a long kernel only some consecutive units in its middle run, as many as take about run_ms; the
 * parent sees from what they wrote how large a share that is. A race runs all units. The parent
 * checks the answer of one run before any time is measured. Then the same units run until there are
 * enough samples, and the last answer is compared with the first. */
#include "base/machine.h"
#include "runtime/pool.h"
#include "runtime/processor.h"
#include "tools/measure/measure.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  LEAST_SAMPLE_NS = 20000,
  LEAST_COLD_NS = 5000 /* time of a run after other memory was read; shorter runs are repeated */
};

typedef struct {
  const measure_job *j;
  measure_mode mode;
  neo_rt_pool *pool;
  neo_rt_fn *fn[2];
  const measure_kernel *kernel[2];
  char *scratch[2];
  size_t stride[2]; /* bytes of a worker's scratch */
  void *buf[MEASURE_MAX_BUFS];
  int n;                /* kernels: the candidate, and perhaps the base */
  int64_t lo[2], hi[2]; /* range of units that run */
  double share[2];      /* their share of all units */
  double first_ns[2];   /* time of the run that made the answer */
  measure_message m;
} child;

/* ---- setting up */

static void open_kernel(child *c, int which) {
  const measure_kernel *k = c->kernel[which];
  void *symbol;
  const char *wrong = measure_library_open(k->path, k->symbol, &symbol);
  if (wrong)
    measure_child_fail(&c->m, wrong);
  memcpy(&c->fn[which], &symbol, sizeof symbol);
  c->stride[which] = (k->scratch_bytes + 64 + 4095) / 4096 * 4096;
  size_t bytes = c->stride[which] * (size_t)c->j->threads;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    measure_child_fail(&c->m, "no memory for scratch");
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
    measure_child_fail(&c->m, "the kernel says that it failed");
}

static double timed(child *c, int which, int64_t lo, int64_t hi, int runs) {
  double begun = measure_now_ns(c->j);
  for (int k = 0; k < runs; k++)
    run(c, which, lo, hi);
  return (measure_now_ns(c->j) - begun) / runs;
}

/* Chooses as many units as take about run_ns. The first run of units is slow, since it touches new
 * pages. */
static void choose_units(child *c, int which) {
  int64_t units = c->kernel[which]->units, n = c->j->threads, mid = units / 2;
  c->lo[which] = 0, c->hi[which] = units;
  if (c->mode != MEASURE_TRY || units < 4 * n)
    return;
  for (; n < units; n *= 2) {
    int64_t lo = mid - n / 2;
    (void)timed(c, which, lo, lo + n, 1);
    double t = timed(c, which, lo, lo + n, 1);
    if (t * 2 <= c->j->run_ns)
      continue;
    n = (int64_t)((double)n * c->j->run_ns / t);
    break;
  }
  n = n < c->j->threads ? c->j->threads : n;
  if (n * 5 >= units * 4)
    return;
  c->lo[which] = mid - n / 2, c->hi[which] = c->lo[which] + n;
}

/* ---- answers */

static void forget(const child *c) {
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write)
      measure_forget(&c->j->buf[k], c->j->buf[k].data);
}

static void hand_over(child *c, int which) {
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write)
      memcpy(c->j->buf[k].answer, c->j->buf[k].data, c->j->buf[k].bytes);
  c->m.kind = MEASURE_ANSWER;
  c->m.which = which;
  c->m.whole = c->hi[which] - c->lo[which] == c->kernel[which]->units;
  measure_child_tell(&c->m);
  c->share[which] = measure_child_permission();
}

static void answer(child *c, int which) {
  choose_units(c, which);
  forget(c);
  c->first_ns[which] = timed(c, which, c->lo[which], c->hi[which], 1);
  hand_over(c, which);
}

/* Checks that the last answer is the one that the parent checked. */
static void same_as_before(child *c) {
  forget(c);
  run(c, 0, c->lo[0], c->hi[0]);
  for (int k = 0; k < c->j->n_bufs; k++)
    if (c->j->buf[k].write &&
        memcmp(c->j->buf[k].answer, c->j->buf[k].data, c->j->buf[k].bytes) != 0)
      measure_child_fail(&c->m, "another answer at another run");
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
      measure_child_fail(&c->m, "writes over the end of a buffer");
  if (measure_child_leaks())
    measure_child_fail(&c->m, "leaves descriptors open");
}

/* ---- the reference: single units, spread evenly, as many as time allows, and the last one. Each
 * runs once, as a unit may add to values in its buffers. */

static void run_plain(child *c) {
  enum { MOST = 4096 };
  int64_t units = c->kernel[0]->units, n = units < MOST ? units : MOST;
  int64_t step = n % 997 ? 997 : 991;
  double begun = measure_wall_ns(), most = (double)c->j->wall_ms * 1e6 / 4;
  bool last = units == 0;
  for (int64_t k = 0; k < n; k++) {
    int64_t at = k * step % n; /* all units, in scattered order, as time may end */
    int64_t u = n == units ? at : (int64_t)((double)at / (double)n * (double)units);
    run(c, 0, u, u + 1);
    last = last || u == units - 1;
    if (k % 2 == 1 && measure_wall_ns() - begun > most)
      break;
  }
  if (!last)
    run(c, 0, units - 1, units);
  c->lo[0] = 0, c->hi[0] = -1; /* marks that not all units ran */
}

/* ---- the rest of the step: a kernel finds in the caches what the step leaves there, not the
 * results of its own last run. Each worker reads a part of that memory. */

static void read_part(void *user, int32_t worker, int32_t n) {
  const measure_job *j = ((const child *)user)->j;
  size_t lines = j->between_bytes / NEO_PADDING_BYTES;
  size_t lo = lines * (size_t)worker / (size_t)n, hi = lines * (size_t)(worker + 1) / (size_t)n;
  for (size_t k = lo; k < hi; k++)
    (void)*(const volatile char *)(j->between + k * NEO_PADDING_BYTES);
}

/* Returns the time in nanoseconds. */
static double others_run(child *c) {
  double begun = measure_now_ns(c->j);
  if (!c->j->between)
    return 0;
  if (c->pool)
    neo_rti_pool_run(c->pool, read_part, c);
  else
    read_part(c, 0, 1);
  return measure_now_ns(c->j) - begun;
}

/* ---- samples: candidate and base alternate, so that whatever slows the machine slows both. The
 * calibration loop runs between pairs; a pair is dropped if the loop's time changed. */

enum { MOST_DROPPED = 30 };

typedef struct {
  double before, all[MEASURE_MAX_SAMPLES];
  int times, dropped; /* repetitions of the calibration loop; dropped pairs */
  double spent;
} calibration;

/* Is the candidate so much slower that three pairs suffice? */
static bool hopeless(const child *c) {
  const measure_message *m = &c->m;
  double limit = c->kernel[0]->best_ratio;
  if (c->mode != MEASURE_TRY || limit <= 0 || m->n < 3)
    return false;
  for (int k = 0; k < m->n; k++)
    if (m->sample_ns[0][k] / c->share[0] < 1.5 * limit * m->sample_ns[1][k] / c->share[1])
      return false;
  return true;
}

static bool enough(const child *c, const calibration *k) {
  const measure_message *m = &c->m;
  double total = c->j->total_ns * (c->mode == MEASURE_RACE ? 4 : 1);
  if (m->n >= MEASURE_MAX_SAMPLES || (m->n >= 2 && k->spent >= total) || hopeless(c))
    return true;
  int least = c->j->least_runs * (c->mode == MEASURE_RACE ? 2 : 1);
  return m->n >= least && k->spent >= total / 4;
}

/* Takes one sample of each, in alternating order, since the calibration loop runs before the first.
 * False: the machine's speed changed. */
static bool sample(child *c, calibration *k, const int runs[2]) {
  static const double drift = 1.25;
  double before = k->before;
  for (int pass = 0; pass < c->n; pass++) {
    int which = (pass + c->m.n) % c->n;
    k->spent += others_run(c);
    double t = timed(c, which, c->lo[which], c->hi[which], runs[which]);
    c->m.sample_ns[which][c->m.n] = t;
    k->spent += t * runs[which];
  }
  double after = k->before = measure_calibrate(c->j, k->times);
  if ((after > before * drift || before > after * drift) && k->dropped++ < MOST_DROPPED)
    return false;
  k->all[c->m.n] = (before + after) / 2;
  return true;
}

/* Uses the first run as the sample if it took long enough. False: it did not. */
static bool take_first(child *c) {
  if (c->mode == MEASURE_RACE || c->first_ns[0] + c->first_ns[1] < c->j->total_ns)
    return false;
  for (int which = 0; which < c->n; which++)
    c->m.sample_ns[which][0] = c->first_ns[which];
  c->m.n = 1;
  c->m.busy = measure_calibrate(c->j, 16) / c->j->calibration_ns;
  return true;
}

static void take_samples(child *c) {
  int runs[2] = {1, 1};
  double longest = 0;
  for (int which = 0; which < c->n; which++) {
    double once = c->first_ns[which];
    if (once < c->j->run_ns)
      once = timed(c, which, c->lo[which], c->hi[which], 1);
    double least = c->j->between ? LEAST_COLD_NS : LEAST_SAMPLE_NS;
    runs[which] = once < least ? (int)(LEAST_SAMPLE_NS / (once + 10)) + 1 : 1;
    longest = once * runs[which] > longest ? once * runs[which] : longest;
  }
  int times = (int)(longest / 20 / (c->j->calibration_ns + 1));
  calibration k = {.times = times < 1 ? 1 : times > 16 ? 16 : times};
  k.before = measure_calibrate(c->j, k.times);
  while (!enough(c, &k))
    if (sample(c, &k, runs))
      c->m.n++;
  c->m.busy = measure_median(k.all, c->m.n) / c->j->calibration_ns;
}

/* ---- the whole */

static void nothing(void *user, int32_t worker, int32_t n) {
  (void)user, (void)worker, (void)n;
}

static void set_up(child *c, int in, int out) {
  size_t scratch = 1 << 20;
  measure_child_begin(in, out);
  for (int i = 0; i < c->n; i++)
    scratch += c->kernel[i]->scratch_bytes;
  measure_limits_set(c->j, scratch);
  measure_job_own(c->j);
  for (int i = 0; i < c->j->n_bufs; i++)
    c->buf[i] = c->j->buf[i].data;
  for (int i = 0; i < c->n; i++)
    open_kernel(c, i);
  char missing[64]; /* AMX needs the system's permission; without it candidates fail */
  neo_rti_features_check("amx-tile", missing, sizeof missing);
  if (c->j->threads > 1 && neo_rt_pool_create(c->j->threads, &c->pool))
    measure_child_fail(&c->m, "no threads");
  if (c->pool) /* threads start with system calls of their own */
    neo_rti_pool_run(c->pool, nothing, NULL);
  if (c->j->sandbox)
    measure_limits_calls();
}

void measure_child(const measure_job *j, measure_mode mode, const measure_kernel *k,
                   const measure_kernel *base, int in, int out) {
  child c = {.j = j, .mode = mode, .kernel = {k, base}, .n = mode >= MEASURE_TRY ? 2 : 1};
  set_up(&c, in, out);
  if (mode == MEASURE_PLAIN) {
    run_plain(&c);
    hand_over(&c, 0);
  } else {
    for (int i = c.n - 1; i >= 0; i--)
      answer(&c, i);
    if (!take_first(&c)) {
      take_samples(&c);
      same_as_before(&c);
    }
    nothing_beyond(&c);
  }
  c.m.kind = MEASURE_TIMES;
  measure_child_tell(&c.m);
  _exit(0);
}

/* `neoc doctor --measure`: a profile of this machine (base/machine_text.h), from kernels that neoc
 * compiles and from loops of instructions, in some seconds.
 *
 * Each number is the best of many short runs, so that other load counts little. Bandwidths are
 * those of a map, which reads and writes; the cost of a kernel's start is that of a region of the
 * thread pool. Fusion's additions are measured by a function known to be EXPONENTIAL of them;
 * kernels reach a part of that, as loads and addresses take issue slots too. Numbers that are not
 * measured stay the row's: how lines come from the caches, and the cost of a tile's loops. */
#include "tools/neoc/doctor/measure.h"
#include "base/clock.h"
#include "base/temp.h"
#include "ir/ir.h"
#include "runtime/pool.h"
#include "runtime/processor.h"
#include "tools/neoc/run/runner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The share of the additions of an isolated function that kernels reach. */
#define OF_ADDITIONS 0.33

/* The processor time of this thread, which does not advance while others have its core. */
static double worked(void) {
  return neo_clock_s(CLOCK_THREAD_CPUTIME_ID);
}

/* Rounds to three digits, more than a shared machine reproduces. */
static double rounded(double x) {
  double unit = pow(10, floor(log10(x)) - 2);
  return round(x / unit) * unit;
}

/* ---- kernels of neoc */

typedef struct {
  neoc_runner r;
  int64_t n;
  float *x, *y;
} map;

static neoc_exit compile_map(map *p, neoc_cli *cli, const char *folder, const char *text) {
  neo_compile_options o = {.on_fail = cli->arena->on_fail, .lib_dir = neo_place_lib(cli->arena)};
  o.path = neo_path_join(cli->arena, folder, "map.expr");
  if (neo_file_write(&neo_io_default, o.path, text, strlen(text)))
    return neoc_fail(cli, NEOC_IO, "%s cannot be written", o.path);
  neoc_exit e = neoc_runner_compile(&p->r, cli, &o, false);
  unlink(o.path);
  return e ? e : neoc_runner_begin(&p->r, 1, 0);
}

/* Seconds of a call with n elements: the best of the batches that `budget_s` holds, 3 at least. */
static double seconds_of(map *p, int64_t n, double budget_s) {
  enum { BATCH_ELEMENTS = 1 << 16 };
  void *args[] = {p->x, p->y};
  int calls = n < BATCH_ELEMENTS ? (int)(BATCH_ELEMENTS / n) : 1;
  double best = 1e30, begin = neo_now_s();
  for (int k = 0; k < 3 || neo_now_s() - begin < budget_s; k++) {
    double t = worked();
    for (int i = 0; i < calls; i++)
      if (neo_rt_call(p->r.ctx, 0, &n, args))
        return 0;
    t = (worked() - t) / calls;
    best = t < best ? t : best;
  }
  return best;
}

static neoc_exit measure_map(neoc_cli *cli, const char *folder, const char *text, int64_t n,
                             map *p) {
  *p = (map){.n = n};
  p->x = malloc((size_t)n * sizeof *p->x);
  p->y = malloc((size_t)n * sizeof *p->y);
  for (int64_t k = 0; p->x && p->y && k < n; k++)
    p->x[k] = (float)(k % 64) / 64, p->y[k] = 0;
  return p->x && p->y ? compile_map(p, cli, folder, text)
                      : neoc_fail(cli, NEOC_DEVICE, "not enough memory to measure");
}

static void close_map(map *p, neoc_exit e) {
  if (!e)
    neoc_runner_close(&p->r);
  free(p->x);
  free(p->y);
}

/* Measures reading and writing of tensors for each level of caches: with half of its bytes, and for
 * memory with far more than any level has. */
static neoc_exit measure_bandwidths(neoc_cli *cli, const char *folder, neo_profile *out) {
  enum { MOST = 1 << 24 };
  map p;
  neoc_exit e = measure_map(
      cli, folder, "dim N <= 16777216\ninput X[N]\nY[i] = X[i] * 1.5 + 2.5\noutput Y\n", MOST, &p);
  for (int k = 0; !e && k < NEO_MACHINE_CACHES; k++) {
    double half = out->level[k].bytes / 2 / sizeof *p.x;
    int64_t n = k + 1 < NEO_MACHINE_CACHES && half < MOST ? (int64_t)half : MOST;
    double t = seconds_of(&p, n, 0.7);
    if (t > 0)
      out->level[k].bytes_per_s = rounded(2.0 * (double)n * sizeof *p.x / t);
  }
  for (int k = NEO_MACHINE_CACHES - 1; k-- > 0;) /* a farther level is no faster */
    out->level[k].bytes_per_s = fmax(out->level[k].bytes_per_s, out->level[k + 1].bytes_per_s);
  close_map(&p, e);
  return e;
}

/* Measures the time of a function of floats, beyond that of a copy. */
static neoc_exit measure_work(neoc_cli *cli, const char *folder, neo_profile *out) {
  enum { N = 4096 };
  static const char *const text[] = {"dim N <= 4096\ninput X[N]\nY[i] = X[i] + 1.5\noutput Y\n",
                                     "dim N <= 4096\ninput X[N]\nY[i] = tanh(X[i])\noutput Y\n"};
  double t[2] = {0};
  neoc_exit e = NEOC_OK;
  for (int k = 0; !e && k < 2; k++) {
    map p;
    e = measure_map(cli, folder, text[k], N, &p);
    if (!e)
      t[k] = seconds_of(&p, N, 0.3);
    close_map(&p, e);
  }
  double more = neo_op_additions(NEO_OP_TANH) - neo_op_additions(NEO_OP_ADD);
  if (!e && t[1] > t[0])
    out->work_per_s = rounded(OF_ADDITIONS * more * N / (t[1] - t[0]));
  return e;
}

/* ---- the thread pool */

static void nothing(void *user, int32_t worker, int32_t n) {
  (void)user, (void)worker, (void)n;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Measures the time of a region of the pool: the lowest decile of many times, because other regions
 * may have waited for a core that somebody else used. */
static void measure_pool(neo_machine *m) {
  enum { REGIONS = 4000, PART = 10 };
  static const double least_s = 100e-9, most_s = 20e-6, budget_s = 1;
  neo_rt_pool *pool;
  int32_t cores = neo_rti_cores(), n = 0;
  double took[REGIONS], begin = neo_now_s();
  m->profile.workers = (uint32_t)cores;
  if (cores < 2 || neo_rt_pool_create(cores, &pool))
    return;
  for (; n < REGIONS && (n < PART || neo_now_s() - begin < budget_s); n++) {
    double t = neo_now_s();
    neo_rti_pool_run(pool, nothing, NULL);
    took[n] = neo_now_s() - t;
  }
  neo_rt_pool_destroy(pool);
  qsort(took, (size_t)n, sizeof *took, by_size);
  m->profile.launch_s = rounded(fmin(fmax(took[n / PART], least_s), most_s));
  m->core.region = rounded(m->profile.launch_s * m->hz);
}

/* ---- caches */

/* Asks the system for cache sizes, except the last one: virtual machines report that of the whole
 * processor. */
static void ask_caches(neo_machine *m) {
  long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (l1 >= 4096 && l1 <= 1 << 24)
    m->l1_bytes = l1;
  if (l2 >= 65536 && l2 <= 1 << 28)
    m->l2_bytes = l2;
}

neoc_exit neoc_measure_machine(neoc_cli *cli, neo_machine *m) {
  const char *folder;
  if (neo_temp_folder(cli->arena, NULL, &folder))
    return neoc_fail(cli, NEOC_IO, "%s: cannot be made", folder);
  neoc_measure_core(m);
  ask_caches(m);
  measure_pool(m);
  neoc_exit e = measure_bandwidths(cli, folder, &m->profile);
  if (!e)
    e = measure_work(cli, folder, &m->profile);
  rmdir(folder);
  return e;
}

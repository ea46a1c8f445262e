/* f32 matrix products against OpenBLAS, alternating in one run after a calibration loop.
 *
 *   bench_gemm LIB PREFIX M N K TA TB THREADS ROUNDS
 *
 * LIB is compiled from gemm*.expr. Prints a row of JSON: median times in microseconds, GFLOP/s, ratio (peer time over ours),
 * and the largest difference of the two results. Exit code 77 where OpenBLAS is not installed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <neo/neo_rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct {
  int m, n, k, ta, tb, threads, rounds;
  float *a, *b, *ours, *peer;
  neo_rt_ctx *ctx;
  int32_t entry;
  sgemm_fn *sgemm;
} bench;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void die(const char *what, const char *why) {
  fprintf(stderr, "gemm: %s: %s\n", what, why);
  exit(3);
}

static void run_ours(bench *g) {
  void *args[] = {g->a, g->b, g->ours};
  if (neo_rt_call(g->ctx, g->entry, NULL, args))
    die("run", neo_rt_error(g->ctx));
}

static void run_peer(bench *g) {
  enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
  g->sgemm(ROW_MAJOR, g->ta ? TRANSPOSED : PLAIN, g->tb ? TRANSPOSED : PLAIN, g->m, g->n, g->k, 1,
           g->a, g->ta ? g->m : g->k, g->b, g->tb ? g->k : g->n, 0, g->peer, g->n);
}

/* Calls for about 5 ms of work, so that the clock does not count. */
static int calibrate(bench *g, void (*run)(bench *)) {
  int calls = 1;
  for (;;) {
    double start = now();
    for (int i = 0; i < calls; i++)
      run(g);
    double t = now() - start;
    if (t > 5000 || calls > 1 << 20)
      return calls;
    calls *= 2;
  }
}

static double once(bench *g, void (*run)(bench *), int calls) {
  double start = now();
  for (int i = 0; i < calls; i++)
    run(g);
  return (now() - start) / calls;
}

static int less(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *t, int n) {
  qsort(t, (size_t)n, sizeof *t, less);
  return n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
}

static float *numbers(size_t n, unsigned seed) {
  float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
  if (!x)
    die("memory", "out of memory");
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / 8388608.0f - 1;
  }
  return x;
}

static void open_peer(bench *g) {
  void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
  if (!blas) {
    printf("gemm: OpenBLAS is not installed: no peer to compare with\n");
    exit(77);
  }
  *(void **)&g->sgemm = dlsym(blas, "cblas_sgemm");
  void (*threads)(int);
  *(void **)&threads = dlsym(blas, "openblas_set_num_threads");
  if (!g->sgemm || !threads)
    die("OpenBLAS", "lacks cblas_sgemm");
  threads(g->threads);
}

static void open_ours(bench *g, const char *path, const char *prefix) {
  char symbol[256];
  void *lib = dlopen(path, RTLD_NOW);
  if (!lib)
    die(path, dlerror());
  snprintf(symbol, sizeof symbol, "%s_model", prefix);
  const neo_rt_model *model = dlsym(lib, symbol);
  if (!model)
    die(symbol, "not in the library");
  neo_rt_config config = {.struct_size = sizeof config, .threads = g->threads};
  if (neo_rt_create(model, &config, &g->ctx))
    die("create", g->ctx ? neo_rt_error(g->ctx) : path);
  g->entry = neo_rt_find_entry(model, "forward");
}

int main(int argc, char **argv) {
  if (argc != 10)
    die("usage", "bench_gemm LIB PREFIX M N K TA TB THREADS ROUNDS");
  bench g = {.m = atoi(argv[3]),
             .n = atoi(argv[4]),
             .k = atoi(argv[5]),
             .ta = atoi(argv[6]),
             .tb = atoi(argv[7])};
  g.threads = atoi(argv[8]);
  g.rounds = atoi(argv[9]);
  open_peer(&g);
  open_ours(&g, argv[1], argv[2]);
  size_t c = (size_t)g.m * (size_t)g.n;
  g.a = numbers((size_t)g.m * (size_t)g.k, 1), g.b = numbers((size_t)g.k * (size_t)g.n, 2);
  g.ours = numbers(c, 3), g.peer = numbers(c, 4);
  int n_ours = calibrate(&g, run_ours), n_peer = calibrate(&g, run_peer);
  double *ours = calloc((size_t)g.rounds, sizeof *ours),
         *peer = calloc((size_t)g.rounds, sizeof *peer), worst = 0;
  if (!ours || !peer)
    die("memory", "out of memory");
  for (int r = 0; r < g.rounds; r++) {
    ours[r] = once(&g, run_ours, n_ours);
    peer[r] = once(&g, run_peer, n_peer);
  }
  for (size_t i = 0; i < c; i++)
    worst = fmax(worst, fabs((double)g.ours[i] - (double)g.peer[i]));
  double mo = median(ours, g.rounds), mp = median(peer, g.rounds), flop = 2.0 * g.m * g.n * g.k;
  printf(
      "{\"name\": \"gemm f32 %dx%dx%d %s%s\", \"peer\": \"OpenBLAS\", \"threads\": %d, \"ratio\": %.3f, \"must\": 0.5, "
      "\"ours_us\": %.1f, \"peer_us\": %.1f, \"ours_gflops\": %.1f, \"peer_gflops\": %.1f, \"difference\": %.2g}\n",
      g.m, g.n, g.k, g.ta ? "T" : "N", g.tb ? "T" : "N", g.threads, mp / mo, mo, mp,
      flop / mo / 1e3, flop / mp / 1e3, worst);
  neo_rt_destroy(g.ctx);
  return worst < 1e-3 * sqrt(g.k) ? 0 : 1;
}

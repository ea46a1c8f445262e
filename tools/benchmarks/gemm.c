/* f32 matrix products against OpenBLAS, alternating in one run after a calibration loop.
 *
 *   bench_gemm LIB PREFIX M N K TA TB THREADS ROUNDS
 *
 * LIB is compiled from gemm*.expr. Prints a row of JSON: median times in microseconds, GFLOP/s, ratio (peer time over ours),
 * and the largest difference of the two results. Exit code 77 where OpenBLAS is not installed. */
#define _GNU_SOURCE
#include "tools/benchmarks/bench.h"
#include <math.h>

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct {
  int m, n, k, ta, tb, threads, rounds;
  float *a, *b, *ours, *peer;
  neo_rt_ctx *ctx;
  int32_t entry;
  sgemm_fn *sgemm;
} bench;

static void run_ours(void *ctx) {
  bench *g = ctx;
  void *args[] = {g->a, g->b, g->ours};
  if (neo_rt_call(g->ctx, g->entry, NULL, args))
    bench_die("run", neo_rt_error(g->ctx));
}

static void run_peer(void *ctx) {
  bench *g = ctx;
  enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
  g->sgemm(ROW_MAJOR, g->ta ? TRANSPOSED : PLAIN, g->tb ? TRANSPOSED : PLAIN, g->m, g->n, g->k, 1,
           g->a, g->ta ? g->m : g->k, g->b, g->tb ? g->k : g->n, 0, g->peer, g->n);
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
    bench_die("OpenBLAS", "lacks cblas_sgemm");
  threads(g->threads);
}

int main(int argc, char **argv) {
  if (argc != 10)
    bench_die("usage", "bench_gemm LIB PREFIX M N K TA TB THREADS ROUNDS");
  bench g = {.m = atoi(argv[3]),
             .n = atoi(argv[4]),
             .k = atoi(argv[5]),
             .ta = atoi(argv[6]),
             .tb = atoi(argv[7])};
  g.threads = atoi(argv[8]);
  g.rounds = atoi(argv[9]);
  open_peer(&g);
  const neo_rt_model *model;
  g.ctx = bench_open(argv[1], argv[2], g.threads, &model);
  g.entry = neo_rt_find_entry(model, "forward");
  size_t c = (size_t)g.m * (size_t)g.n;
  g.a = bench_numbers((size_t)g.m * (size_t)g.k, 1), g.b = bench_numbers((size_t)g.k * (size_t)g.n, 2);
  g.ours = bench_numbers(c, 3), g.peer = bench_numbers(c, 4);
  double mo, mp, worst = 0;
  bench_compare(run_ours, &g, run_peer, &g, g.rounds, &mo, &mp);
  for (size_t i = 0; i < c; i++)
    worst = fmax(worst, fabs((double)g.ours[i] - (double)g.peer[i]));
  double flop = 2.0 * g.m * g.n * g.k;
  printf(
      "{\"name\": \"gemm f32 %dx%dx%d %s%s\", \"peer\": \"OpenBLAS\", \"threads\": %d, \"ratio\": %.3f, \"must\": 0.5, "
      "\"ours_us\": %.1f, \"peer_us\": %.1f, \"ours_gflops\": %.1f, \"peer_gflops\": %.1f, \"difference\": %.2g}\n",
      g.m, g.n, g.k, g.ta ? "T" : "N", g.tb ? "T" : "N", g.threads, mp / mo, mo, mp,
      flop / mo / 1e3, flop / mp / 1e3, worst);
  neo_rt_destroy(g.ctx);
  return worst < 1e-3 * sqrt(g.k) ? 0 : 1;
}

/* OpenBLAS's side of a comparison (serve.h): an f32 product of row-major matrices.
 *
 *   openblas THREADS M N K TRANSPOSED_A TRANSPOSED_B */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/serve.h"
#include <unistd.h>

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct {
  int m, n, k, ta, tb;
  float *a, *b, *c;
  sgemm_fn *sgemm;
  char about[128]; /* JSON: its version and the kernels that it chose */
} product;

static void run(void *ctx) {
  enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
  product *p = ctx;
  p->sgemm(ROW_MAJOR, p->ta ? TRANSPOSED : PLAIN, p->tb ? TRANSPOSED : PLAIN, p->m, p->n, p->k, 1,
           p->a, p->ta ? p->m : p->k, p->b, p->tb ? p->k : p->n, 0, p->c, p->n);
}

/* An OpenBLAS that is older than the processor takes kernels for any: it starts again with those
 * for the processor's vectors. */
static void choose_kernels(const char *core, char **argv) {
  const char *best = __builtin_cpu_supports("avx512f") ? "SkylakeX"
                     : __builtin_cpu_supports("avx2")  ? "Haswell"
                                                       : NULL;
  if (!core || strcmp(core, "Prescott") != 0 || !best || getenv("OPENBLAS_CORETYPE"))
    return;
  setenv("OPENBLAS_CORETYPE", best, 1);
  execv("/proc/self/exe", argv);
}

static void open_library(product *p, int threads, char **argv) {
  void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
  if (!blas)
    serve_missing("OpenBLAS (Debian's libopenblas0-pthread) is not installed");
  void (*set_threads)(int);
  *(void **)&p->sgemm = dlsym(blas, "cblas_sgemm");
  *(void **)&set_threads = dlsym(blas, "openblas_set_num_threads");
  if (!p->sgemm || !set_threads)
    serve_missing("libopenblas.so.0 lacks cblas_sgemm");
  set_threads(threads);
  char *(*config)(void), *(*core)(void);
  *(void **)&config = dlsym(blas, "openblas_get_config");
  *(void **)&core = dlsym(blas, "openblas_get_corename");
  if (!config || !core)
    return;
  choose_kernels(core(), argv);
  char version[32] = "";
  sscanf(config(), "OpenBLAS %31s", version);
  snprintf(p->about, sizeof p->about, "{\"version\": \"OpenBLAS %s, kernels %.32s\"}", version,
           core());
}

int main(int argc, char **argv) {
  if (argc != 7)
    bench_die("usage", "openblas THREADS M N K TRANSPOSED_A TRANSPOSED_B");
  product p = {.about = "{}",
               .m = atoi(argv[2]),
               .n = atoi(argv[3]),
               .k = atoi(argv[4]),
               .ta = atoi(argv[5]),
               .tb = atoi(argv[6])};
  open_library(&p, atoi(argv[1]), argv);
  p.a = bench_numbers((size_t)p.m * (size_t)p.k, 1);
  p.b = bench_numbers((size_t)p.k * (size_t)p.n, 2);
  p.c = bench_numbers((size_t)p.m * (size_t)p.n, 3);
  run(&p);
  serve(run, &p, p.about);
  return 0;
}

/* Products of square matrices in f32, one thread: our kernels against OpenBLAS (dlopen of libopenblas.so.0), alternating in
 * one run, medians, results compared. */
#include "codegen/llvm_emit.h"
#include "codegen/lower.h"
#include "include/neo/neo_rt.h"
#include "ir/print.h"
#include "tools/benchmarks/bench.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct {
  const char *name, *left, *right;
  bool ta, tb;
} product;

static const product products[] = {{"A*B", "A[i, k]", "B[k, j]", false, false},
                                   {"A^T*B", "A[k, i]", "B[k, j]", true, false},
                                   {"A*B^T", "A[i, k]", "B[j, k]", false, true}};

typedef struct {
  neo_arena arena;
  neo_llvm *llvm;
  neo_rt_fn *fn;
  int64_t units;
  size_t scratch_bytes;
  neo_str schedule;
} compiled;

static const char *compile(compiled *c, const product *p, int n) {
  neo_arena *a = &c->arena;
  const char *why = "";
  neo_target target;
  neo_kernel *k;
  neo_str text;
  neo_arena_init(a, neo_alloc_default, NULL);
  neo_str_init(&text, a);
  neo_str_init(&c->schedule, a);
  char *source = neo_arena_printf(
      a, "neo-ir 1\nmodule gemm\ninput A : f32 [%d, %d]\ninput B : f32 [%d, %d]\ntemp C : f32 [%d, %d]\n"
         "def C[i: %d, j: %d] =\n  sum[k: %d] %s * %s\n  then acc0\nentry forward forward: C = C\n",
      n, n, n, n, n, n, n, n, n, p->left, p->right);
  neo_module *m = neo_module_parse(a, neo_names_new(a), neo_diags_new(a, neo_sources_new(a)), "gemm",
                                   source, strlen(source));
  neo_grouping g;
  if (!m || neo_fuse(m, a, &g, NULL) != NEO_OK || neo_target_choose(a, NULL, NULL, &target, &why))
    return why;
  neo_machine machine = {target.vector_bytes, target.vector_regs, target.l1_bytes, target.l2_bytes,
                         target.fma};
  neo_schedule s = neo_schedule_default(m, &g.groups.at[0], &machine);
  neo_schedule_print(&s, &c->schedule);
  if (neo_lower(m, &g.groups.at[0], &s, a, &k, &text) != NEO_OK)
    return neo_str_text(&text);
  if (neo_llvm_new(a, &target, "gemm", &c->llvm, &why) || neo_llvm_kernel(c->llvm, k, "gemm", &why) ||
      neo_llvm_finish(c->llvm, &why))
    return why;
  void *at = neo_llvm_jit(c->llvm, "gemm", &why);
  memcpy(&c->fn, &at, sizeof at);
  c->units = neo_kernel_units(k, NULL);
  c->scratch_bytes = (size_t)neo_kernel_scratch_bytes(k);
  return at ? NULL : why;
}

static float *matrix(int n, unsigned seed) {
  float *x = aligned_alloc(64, ((size_t)n * (size_t)n * sizeof *x + 63) / 64 * 64);
  for (size_t i = 0; x && i < (size_t)n * (size_t)n; i++)
    x[i] = (float)((i * 7919 + seed) % 1000) / 1000.0f - 0.5f;
  return x;
}

typedef struct {
  float *a, *b, *ours, *theirs;
  void *scratch;
} data;

static void run_ours(const compiled *c, const data *d) {
  void *buf[] = {d->a, d->b, d->ours};
  uint64_t key[3] = {0};
  neo_rt_args args = {.buf = buf, .key = key, .hi = c->units, .scratch = d->scratch};
  c->fn(&args);
}

static void run_theirs(sgemm_fn *f, const product *p, int n, const data *d) {
  f(101, p->ta ? 112 : 111, p->tb ? 112 : 111, n, n, n, 1, d->a, n, d->b, n, 0, d->theirs, n);
}

static double difference(const data *d, int n) {
  double most = 0;
  for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
    double x = fabs((double)d->ours[i] - (double)d->theirs[i]) / (1 + fabs((double)d->theirs[i]));
    most = x > most ? x : most;
  }
  return most;
}

/* One line of JSON; false if the results differ. */
static bool measure(sgemm_fn *f, const product *p, int n) {
  compiled c = {.llvm = NULL};
  const char *why = compile(&c, p, n);
  if (why) {
    fprintf(stderr, "gemm: %s\n", why);
    return false;
  }
  data d = {matrix(n, 1), matrix(n, 17), matrix(n, 0), matrix(n, 0), NULL};
  d.scratch = aligned_alloc(4096, (c.scratch_bytes + 8191) / 4096 * 4096);
  double flops = 2.0 * n * n * n, ours[BENCH_ROUNDS], theirs[BENCH_ROUNDS];
  int repeat = (int)(2e8 / flops) + 1;
  run_ours(&c, &d);
  for (int round = 0; round < BENCH_ROUNDS; round++) {
    double start = bench_now();
    for (int k = 0; k < repeat; k++)
      run_ours(&c, &d);
    double middle = bench_now();
    for (int k = 0; f && k < repeat; k++)
      run_theirs(f, p, n, &d);
    ours[round] = (middle - start) / repeat;
    theirs[round] = (bench_now() - middle) / repeat;
  }
  double x = bench_median(ours), y = bench_median(theirs), error = f ? difference(&d, n) : 0;
  printf("  {\"product\": \"%s\", \"n\": %d, \"ours_gflops\": %.2f, ", p->name, n, flops / x * 1e-9);
  if (f)
    printf("\"openblas_gflops\": %.2f, \"ratio\": %.3f, \"difference\": %.2g, ", flops / y * 1e-9, y / x, error);
  printf("\"schedule\": \"%s\"}", neo_str_text(&c.schedule));
  free(d.a);
  free(d.b);
  free(d.ours);
  free(d.theirs);
  free(d.scratch);
  neo_llvm_free(c.llvm);
  neo_arena_free(&c.arena);
  return error < 1e-3;
}

int bench_gemm(int n_args, char **args) {
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *library = dlopen("libopenblas.so.0", RTLD_NOW);
  void *at = library ? dlsym(library, "cblas_sgemm") : NULL;
  sgemm_fn *f;
  memcpy(&f, &at, sizeof at);
  static char *const sizes[] = {"64", "128", "256", "512", "1024"};
  if (!n_args) {
    n_args = sizeof sizes / sizeof sizes[0];
    args = (char **)sizes;
  }
  bool good = true;
  printf("{\"bench\": \"gemm\", \"threads\": 1, \"type\": \"f32\", \"openblas\": %s, \"results\": [\n",
         f ? "true" : "false");
  for (int i = 0; i < n_args; i++)
    for (size_t k = 0; k < sizeof products / sizeof products[0]; k++) {
      if (i || k)
        printf(",\n");
      good = measure(f, &products[k], atoi(args[i])) && good;
      fflush(stdout);
    }
  printf("\n]}\n");
  if (!f)
    fprintf(stderr, "gemm: libopenblas.so.0 is missing: nothing to compare with\n");
  return !good ? 1 : f ? 0 : 77;
}

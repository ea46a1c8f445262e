/* f32 convolutions and matrix products against oneDNN 2, alternating in one run after a calibration
 * loop. oneDNN's tensors are in the layouts that it chose itself: nothing that it would reorder is
 * counted.
 *
 *   onednn LIB PREFIX conv N C H K R STRIDE PAD THREADS ROUNDS     LIB is compiled from conv.expr
 *   onednn LIB PREFIX gemm M N K THREADS ROUNDS                    LIB is compiled from gemm_nn.expr
 *
 * Prints rows of JSON. OMP_NUM_THREADS must be the number of threads. */
#include "tools/benchmarks/bench.h"
#include <oneapi/dnnl/dnnl.h>

enum { MAX_TENSORS = 3 };

typedef struct {
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t arg[MAX_TENSORS];
  int n;
  dnnl_stream_t stream;
} peer;

typedef struct {
  neo_rt_ctx *ctx;
  int32_t entry;
  void *arg[MAX_TENSORS];
} ours;

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void check(dnnl_status_t s, const char *what) {
  if (s != dnnl_success)
    bench_die("oneDNN", what);
}

static void run_peer(void *ctx) {
  peer *p = ctx;
  check(dnnl_primitive_execute(p->primitive, p->stream, p->n, p->arg), "execute");
  check(dnnl_stream_wait(p->stream), "wait");
}

static void run_ours(void *ctx) {
  ours *o = ctx;
  if (neo_rt_call(o->ctx, o->entry, NULL, o->arg))
    bench_die("run", neo_rt_error(o->ctx));
}

static dnnl_memory_desc_t any(int n, const dnnl_dims_t dims) {
  dnnl_memory_desc_t d;
  check(dnnl_memory_desc_init_by_tag(&d, n, dims, dnnl_f32, dnnl_format_tag_any), "a descriptor");
  return d;
}

static void add_tensor(peer *p, const_dnnl_primitive_desc_t pd, dnnl_query_t what, int arg) {
  const dnnl_memory_desc_t *d = dnnl_primitive_desc_query_md(pd, what, 0);
  size_t bytes = dnnl_memory_desc_get_size(d);
  float *x = bench_numbers(bytes / sizeof(float), (unsigned)arg + 1);
  p->arg[p->n].arg = arg;
  check(dnnl_memory_create(&p->arg[p->n].memory, d, engine, x), "memory");
  p->n++;
}

static dnnl_primitive_desc_t describe(const void *op, const_dnnl_primitive_desc_t hint) {
  dnnl_primitive_desc_t pd;
  check(dnnl_primitive_desc_create(&pd, op, NULL, engine, hint), "a primitive descriptor");
  return pd;
}

static void row(const char *name, ours *o, peer *p, double flop, int threads, int rounds) {
  double us, peer_us;
  bench_compare(run_ours, o, run_peer, p, rounds, &us, &peer_us);
  printf("{\"name\": \"%s\", \"peer\": \"oneDNN\", \"threads\": %d, \"ratio\": %.3f, \"ours_us\": "
         "%.1f, \"peer_us\": %.1f, \"ours_gflops\": %.1f, \"peer_gflops\": %.1f}\n",
         name, threads, peer_us / us, us, peer_us, flop / us / 1e3, flop / peer_us / 1e3);
  fflush(stdout);
}

static void conv(const neo_rt_model *model, neo_rt_ctx *ctx, char **v) {
  long n = atol(v[0]), c = atol(v[1]), h = atol(v[2]), k = atol(v[3]), r = atol(v[4]);
  long stride = atol(v[5]), pad = atol(v[6]);
  int threads = atoi(v[7]), rounds = atoi(v[8]);
  long out = (h + 2 * pad - r) / stride + 1;
  dnnl_dims_t xs = {n, c, h, h}, fs = {k, c, r, r}, ys = {n, k, out, out};
  dnnl_dims_t strides = {stride, stride}, pads = {pad, pad};
  dnnl_memory_desc_t x = any(4, xs), f = any(4, fs), y = any(4, ys);
  dnnl_convolution_desc_t forward, data, weights;
  check(dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                           &x, &f, NULL, &y, strides, pads, pads),
        "forward");
  check(dnnl_convolution_backward_data_desc_init(&data, dnnl_convolution_direct, &x, &f, &y,
                                                 strides, pads, pads),
        "gradient to data");
  check(dnnl_convolution_backward_weights_desc_init(&weights, dnnl_convolution_direct, &x, &f, NULL,
                                                    &y, strides, pads, pads),
        "gradient to weights");
  dnnl_primitive_desc_t pf = describe(&forward, NULL), pd = describe(&data, pf),
                        pw = describe(&weights, pf), pds[] = {pf, pd, pw};
  float *X = bench_numbers((size_t)(n * c * h * h), 1), *F = bench_numbers((size_t)(k * c * r * r), 2);
  float *Y = bench_numbers((size_t)(n * k * out * out), 3);
  static const char *const entries[] = {"forward", "data", "weights"};
  static const int args[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                 {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                                 {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS}};
  static const dnnl_query_t queries[3][3] = {
      {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
      {dnnl_query_diff_dst_md, dnnl_query_weights_md, dnnl_query_diff_src_md},
      {dnnl_query_src_md, dnnl_query_diff_dst_md, dnnl_query_diff_weights_md}};
  double flop = 2.0 * (double)(n * k * out * out) * (double)(c * r * r);
  for (int e = 0; e < 3; e++) {
    char name[128];
    peer p = {.stream = stream};
    ours o = {.ctx = ctx, .entry = neo_rt_find_entry(model, entries[e])};
    for (int t = 0; t < 3; t++)
      add_tensor(&p, pds[e], queries[e][t], args[e][t]);
    check(dnnl_primitive_create(&p.primitive, pds[e]), "a primitive");
    const neo_rt_entry *entry = &model->entries[o.entry];
    for (int t = 0; t < entry->n_args; t++) {
      const char *tensor = model->tensors[model->entry_args[entry->args + t]].name;
      o.arg[t] = !strcmp(tensor, "X") || !strcmp(tensor, "dX")   ? X
                 : !strcmp(tensor, "F") || !strcmp(tensor, "dF") ? F
                                                                 : Y;
    }
    snprintf(name, sizeof name, "conv f32 n%ld %ldx%ldx%ld %ldx%ld/%ld %s", n, c, h, k, r, r, stride,
             entries[e]);
    row(name, &o, &p, flop, threads, rounds);
  }
}

static void gemm(const neo_rt_model *model, neo_rt_ctx *ctx, char **v) {
  long m = atol(v[0]), n = atol(v[1]), k = atol(v[2]);
  int threads = atoi(v[3]), rounds = atoi(v[4]);
  dnnl_dims_t as = {m, k}, bs = {k, n}, cs = {m, n};
  dnnl_memory_desc_t a, b = any(2, bs), c;
  check(dnnl_memory_desc_init_by_tag(&a, 2, as, dnnl_f32, dnnl_ab), "a descriptor");
  check(dnnl_memory_desc_init_by_tag(&c, 2, cs, dnnl_f32, dnnl_ab), "a descriptor");
  dnnl_matmul_desc_t op;
  check(dnnl_matmul_desc_init(&op, &a, &b, NULL, &c), "a matrix product");
  dnnl_primitive_desc_t pd = describe(&op, NULL);
  peer p = {.stream = stream};
  add_tensor(&p, pd, dnnl_query_src_md, DNNL_ARG_SRC);
  add_tensor(&p, pd, dnnl_query_weights_md, DNNL_ARG_WEIGHTS);
  add_tensor(&p, pd, dnnl_query_dst_md, DNNL_ARG_DST);
  check(dnnl_primitive_create(&p.primitive, pd), "a primitive");
  ours o = {.ctx = ctx, .entry = neo_rt_find_entry(model, "forward")};
  o.arg[0] = bench_numbers((size_t)(m * k), 1);
  o.arg[1] = bench_numbers((size_t)(k * n), 2);
  o.arg[2] = bench_numbers((size_t)(m * n), 3);
  char name[128];
  snprintf(name, sizeof name, "gemm f32 %ldx%ldx%ld", m, n, k);
  row(name, &o, &p, 2.0 * (double)m * (double)n * (double)k, threads, rounds);
}

int main(int argc, char **argv) {
  const neo_rt_model *model;
  bool is_conv = argc == 13 && !strcmp(argv[3], "conv");
  if (!is_conv && !(argc == 9 && !strcmp(argv[3], "gemm")))
    bench_die("usage", "onednn LIB PREFIX conv N C H K R STRIDE PAD THREADS ROUNDS | gemm M N K "
                       "THREADS ROUNDS");
  neo_rt_ctx *ctx = bench_open(argv[1], argv[2], atoi(argv[is_conv ? 11 : 7]), &model);
  check(dnnl_engine_create(&engine, dnnl_cpu, 0), "no engine");
  check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "no stream");
  if (is_conv)
    conv(model, ctx, argv + 4);
  else
    gemm(model, ctx, argv + 4);
  neo_rt_destroy(ctx);
  return 0;
}

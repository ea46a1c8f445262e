/* oneDNN's side of a comparison (serve.h), in the layouts that it chooses itself: nothing that it
 * would reorder is counted.
 *
 *   onednn THREADS conv forward|data|weights N C H K R STRIDE PAD     f32
 *   onednn THREADS gemm f32|bf16 M N K                                weights prepacked
 *
 * OMP_NUM_THREADS must be the number of threads. */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/serve.h"
#include <oneapi/dnnl/dnnl.h>

enum { MAX_TENSORS = 3 };

typedef struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t arg[MAX_TENSORS];
  int n;
} peer;

static void check(dnnl_status_t s, const char *what) {
  if (s != dnnl_success)
    bench_die("oneDNN", what);
}

static void run(void *ctx) {
  peer *p = ctx;
  check(dnnl_primitive_execute(p->primitive, p->stream, p->n, p->arg), "execute");
  check(dnnl_stream_wait(p->stream), "wait");
}

static dnnl_memory_desc_t tensor(int n, const dnnl_dims_t dims, dnnl_data_type_t type,
                                 dnnl_format_tag_t tag) {
  dnnl_memory_desc_t d;
  check(dnnl_memory_desc_init_by_tag(&d, n, dims, type, tag), "a descriptor");
  return d;
}

static dnnl_memory_desc_t any(int n, const dnnl_dims_t dims) {
  return tensor(n, dims, dnnl_f32, dnnl_format_tag_any);
}

static void add_tensor(peer *p, const_dnnl_primitive_desc_t pd, dnnl_query_t what, int arg) {
  const dnnl_memory_desc_t *d = dnnl_primitive_desc_query_md(pd, what, 0);
  size_t bytes = dnnl_memory_desc_get_size(d);
  float *x = bench_numbers(bytes / sizeof(float), (unsigned)arg + 1);
  if (d->data_type == dnnl_bf16)
    memset(x, 0, bytes);
  p->arg[p->n].arg = arg;
  check(dnnl_memory_create(&p->arg[p->n].memory, d, p->engine, x), "memory");
  p->n++;
}

static dnnl_primitive_desc_t describe(peer *p, const void *op, const_dnnl_primitive_desc_t hint) {
  dnnl_primitive_desc_t pd;
  dnnl_status_t s = dnnl_primitive_desc_create(&pd, op, NULL, p->engine, hint);
  if (s == dnnl_unimplemented)
    serve_missing("oneDNN has no such operation on this processor");
  check(s, "a primitive descriptor");
  return pd;
}

typedef struct {
  dnnl_memory_desc_t x, f, y;
  dnnl_dims_t strides, pads;
} conv;

static conv conv_of(char **v) {
  long n = atol(v[0]), c = atol(v[1]), h = atol(v[2]), k = atol(v[3]), r = atol(v[4]);
  long stride = atol(v[5]), pad = atol(v[6]), out = (h + 2 * pad - r) / stride + 1;
  dnnl_dims_t xs = {n, c, h, h}, fs = {k, c, r, r}, ys = {n, k, out, out};
  return (conv){.x = any(4, xs),
                .f = any(4, fs),
                .y = any(4, ys),
                .strides = {stride, stride},
                .pads = {pad, pad}};
}

static dnnl_primitive_desc_t conv_forward(peer *p, const conv *c) {
  dnnl_convolution_desc_t d;
  check(dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct,
                                           &c->x, &c->f, NULL, &c->y, c->strides, c->pads, c->pads),
        "forward");
  return describe(p, &d, NULL);
}

static dnnl_primitive_desc_t conv_data(peer *p, const conv *c) {
  dnnl_convolution_desc_t d;
  check(dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &c->x, &c->f, &c->y,
                                                 c->strides, c->pads, c->pads),
        "gradient to data");
  return describe(p, &d, conv_forward(p, c));
}

static dnnl_primitive_desc_t conv_weights(peer *p, const conv *c) {
  dnnl_convolution_desc_t d;
  check(dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &c->x, &c->f, NULL,
                                                    &c->y, c->strides, c->pads, c->pads),
        "gradient to weights");
  return describe(p, &d, conv_forward(p, c));
}

static dnnl_primitive_desc_t make_conv(peer *p, const char *pass, char **v) {
  conv c = conv_of(v);
  dnnl_primitive_desc_t pd;
  if (!strcmp(pass, "forward")) {
    pd = conv_forward(p, &c);
    add_tensor(p, pd, dnnl_query_src_md, DNNL_ARG_SRC);
    add_tensor(p, pd, dnnl_query_weights_md, DNNL_ARG_WEIGHTS);
    add_tensor(p, pd, dnnl_query_dst_md, DNNL_ARG_DST);
  } else if (!strcmp(pass, "data")) {
    pd = conv_data(p, &c);
    add_tensor(p, pd, dnnl_query_diff_dst_md, DNNL_ARG_DIFF_DST);
    add_tensor(p, pd, dnnl_query_weights_md, DNNL_ARG_WEIGHTS);
    add_tensor(p, pd, dnnl_query_diff_src_md, DNNL_ARG_DIFF_SRC);
  } else {
    pd = conv_weights(p, &c);
    add_tensor(p, pd, dnnl_query_src_md, DNNL_ARG_SRC);
    add_tensor(p, pd, dnnl_query_diff_dst_md, DNNL_ARG_DIFF_DST);
    add_tensor(p, pd, dnnl_query_diff_weights_md, DNNL_ARG_DIFF_WEIGHTS);
  }
  return pd;
}

static dnnl_primitive_desc_t make_gemm(peer *p, const char *type, char **v) {
  long m = atol(v[0]), n = atol(v[1]), k = atol(v[2]);
  dnnl_dims_t as = {m, k}, bs = {k, n}, cs = {m, n};
  dnnl_data_type_t t = !strcmp(type, "bf16") ? dnnl_bf16 : dnnl_f32;
  dnnl_memory_desc_t a = tensor(2, as, t, dnnl_ab), b = tensor(2, bs, t, dnnl_format_tag_any);
  dnnl_memory_desc_t c = tensor(2, cs, dnnl_f32, dnnl_ab);
  dnnl_matmul_desc_t op;
  check(dnnl_matmul_desc_init(&op, &a, &b, NULL, &c), "a matrix product");
  dnnl_primitive_desc_t pd = describe(p, &op, NULL);
  add_tensor(p, pd, dnnl_query_src_md, DNNL_ARG_SRC);
  add_tensor(p, pd, dnnl_query_weights_md, DNNL_ARG_WEIGHTS);
  add_tensor(p, pd, dnnl_query_dst_md, DNNL_ARG_DST);
  return pd;
}

int main(int argc, char **argv) {
  peer p = {0};
  bool is_conv = argc == 11 && !strcmp(argv[2], "conv");
  if (!is_conv && !(argc == 7 && !strcmp(argv[2], "gemm")))
    bench_die("usage", "onednn THREADS conv forward|data|weights N C H K R STRIDE PAD | "
                       "THREADS gemm f32|bf16 M N K");
  check(dnnl_engine_create(&p.engine, dnnl_cpu, 0), "no engine");
  check(dnnl_stream_create(&p.stream, p.engine, dnnl_stream_default_flags), "no stream");
  dnnl_primitive_desc_t pd = (is_conv ? make_conv : make_gemm)(&p, argv[3], argv + 4);
  check(dnnl_primitive_create(&p.primitive, pd), "a primitive");
  run(&p);
  const dnnl_version_t *v = dnnl_version();
  char about[64];
  snprintf(about, sizeof about, "{\"version\": \"oneDNN %d.%d.%d\"}", v->major, v->minor, v->patch);
  serve(run, &p, about);
  return 0;
}

#include "tools/benchmarks/sides/gpu_reference.h"
#include "tools/benchmarks/sides/arrays.h"
#include <math.h>

enum { MOST_WORK = 400 * 1000 * 1000, FEWEST = 256, MOST = 1 << 16, RUN = 1 << 13 };

double gpu_element(const void *p, uint8_t type, int64_t at) {
  switch (type) {
  case NEO_RT_F64:
    return ((const double *)p)[at];
  case NEO_RT_F32:
    return (double)((const float *)p)[at];
  case NEO_RT_F16:
    return (double)bench_from_f16(((const uint16_t *)p)[at]);
  case NEO_RT_BF16:
    return (double)bench_from_bf16(((const uint16_t *)p)[at]);
  default:
    return nan("");
  }
}

/* ---- operands, as f32, rounded as products round them */

/* 10 bits after the leading one, ties away from zero. */
static float to_tf32(float x) {
  return bench_float((bench_bits(x) + 0x1000) & 0xffffe000u);
}

typedef struct {
  float *x; /* malloc */
  int64_t shape[4];
} operand;

static operand rounded(const gpu_reference *r, const char *name, const char *kind) {
  uint8_t type;
  const int64_t *shape;
  operand out = {0};
  const void *p = r->tensor(r->ctx, name, &type, &shape);
  int64_t n = 1;
  if (!p)
    return out;
  for (int d = 0; d < 4; d++)
    out.shape[d] = shape[d];
  for (int d = 0; d < 4 && shape[d]; d++)
    n *= shape[d];
  out.x = bench_memory((size_t)n * sizeof *out.x);
  for (int64_t k = 0; k < n; k++) {
    float x = (float)gpu_element(p, type, k);
    out.x[k] = !strcmp(kind, "bf16")   ? bench_from_bf16(bench_to_bf16(x))
               : !strcmp(kind, "tf32") ? to_tf32(x)
                                       : x;
  }
  return out;
}

/* ---- sums */

typedef struct {
  double sum, squares;
} total;

static void accumulate(total *t, double product) {
  t->sum += product;
  t->squares += product * product;
}

static gpu_expected expected(total t, int64_t terms, uint8_t type, const char *kind) {
  double n = (double)terms, norm = sqrt(t.squares);
  double rounding = type == NEO_RT_BF16 ? 0x1p-8 : type == NEO_RT_F16 ? 0x1p-11 : 0x1p-24;
  double bound = 4 * 0x1p-24 * n * norm + rounding * fabs(t.sum);
  if (!strcmp(kind, "3xtf32"))
    bound += 3 * 0x1p-22 * sqrt(n) * norm;
  return (gpu_expected){t.sum, bound};
}

/* Some elements of one row of A B, as many columns at a time as the caches hold. */
static void product_row(const float *a, const float *b, int64_t k, int64_t n, const int64_t *column,
                        int64_t columns, total *t) {
  for (int64_t c = 0; c < columns; c++)
    t[c] = (total){0, 0};
  for (int64_t s = 0; s < k; s++)
    for (int64_t c = 0; c < columns; c++)
      accumulate(&t[c], (double)a[s] * (double)b[s * n + column[c]]);
}

static const char *product(const gpu_reference *r, uint8_t type, const int64_t *at, int64_t n,
                           gpu_expected *out) {
  static int64_t column[RUN];
  static total t[RUN];
  const char *kind = r->text + strlen("product:");
  operand a = rounded(r, "A", kind), b = rounded(r, "B", kind);
  if (!a.x || !b.x)
    return "a product is of A and B";
  int64_t terms = a.shape[1], columns = b.shape[1];
  for (int64_t from = 0, count; from < n; from += count) {
    int64_t row = at[from] / columns;
    for (count = 0; count < RUN && from + count < n && at[from + count] / columns == row; count++)
      column[count] = at[from + count] % columns;
    product_row(a.x + row * terms, b.x, terms, columns, column, count, t);
    for (int64_t c = 0; c < count; c++)
      out[from + c] = expected(t[c], terms, type, kind);
  }
  free(a.x);
  free(b.x);
  return NULL;
}

/* ---- convolutions: images X [B, C, H, H] and D [B, K, P, P], filters F [K, C, R, R] */

typedef struct {
  operand x, d, f;
  const int64_t *image; /* [B, C, H, H] */
  int64_t filters, size, out, stride, pad;
} conv;

static double at4(const operand *o, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t *s = o->shape;
  return (double)o->x[((a * s[1] + b) * s[2] + c) * s[3] + d];
}

static bool inside(int64_t x, int64_t extent) {
  return 0 <= x && x < extent;
}

static total forward_at(const conv *v, const int64_t *i) {
  total t = {0, 0};
  for (int64_t c = 0; c < v->image[1]; c++)
    for (int64_t r = 0; r < v->size; r++)
      for (int64_t s = 0; s < v->size; s++) {
        int64_t h = i[2] * v->stride + r - v->pad, w = i[3] * v->stride + s - v->pad;
        if (inside(h, v->image[2]) && inside(w, v->image[3]))
          accumulate(&t, at4(&v->x, i[0], c, h, w) * at4(&v->f, i[1], c, r, s));
      }
  return t;
}

static total data_at(const conv *v, const int64_t *i) {
  total t = {0, 0};
  for (int64_t k = 0; k < v->filters; k++)
    for (int64_t r = 0; r < v->size; r++)
      for (int64_t s = 0; s < v->size; s++) {
        int64_t h = i[2] + v->pad - r, w = i[3] + v->pad - s;
        if (h % v->stride || w % v->stride)
          continue;
        if (inside(h / v->stride, v->out) && inside(w / v->stride, v->out) && h >= 0 && w >= 0)
          accumulate(&t,
                     at4(&v->d, i[0], k, h / v->stride, w / v->stride) * at4(&v->f, k, i[1], r, s));
      }
  return t;
}

static total weights_at(const conv *v, const int64_t *i) {
  total t = {0, 0};
  for (int64_t b = 0; b < v->image[0]; b++)
    for (int64_t p = 0; p < v->out; p++)
      for (int64_t q = 0; q < v->out; q++) {
        int64_t h = p * v->stride + i[2] - v->pad, w = q * v->stride + i[3] - v->pad;
        if (inside(h, v->image[2]) && inside(w, v->image[3]))
          accumulate(&t, at4(&v->x, b, i[1], h, w) * at4(&v->d, b, i[0], p, q));
      }
  return t;
}

typedef struct {
  const char *entry;
  total (*element)(const conv *v, const int64_t *index);
} conv_kind;

/* Terms of each element, by the entry. */
static int64_t terms_of(const conv *v, const char *entry) {
  int64_t taps = v->size * v->size;
  return !strcmp(entry, "forward") ? v->image[1] * taps
         : !strcmp(entry, "data")  ? v->filters * taps
                                   : v->image[0] * v->out * v->out;
}

static const char *open_conv(const gpu_reference *r, const int64_t *shape, conv *v, char *entry) {
  if (sscanf(r->text, "conv:%15[a-z]:%ld:%ld", entry, &v->stride, &v->pad) != 3)
    return "a convolution is conv:ENTRY:STRIDE:PAD";
  v->x = rounded(r, "X", "f32");
  v->d = rounded(r, "D", "f32");
  v->f = rounded(r, "F", "f32");
  v->image = v->x.x ? v->x.shape : shape;
  v->size = v->f.x ? v->f.shape[2] : shape[2];
  v->filters = v->f.x ? v->f.shape[0] : shape[0];
  v->out = (v->image[2] + 2 * v->pad - v->size) / v->stride + 1;
  bool enough = (v->x.x || !strcmp(entry, "data")) && (v->f.x || !strcmp(entry, "weights")) &&
                (v->d.x || !strcmp(entry, "forward"));
  return enough ? NULL : "a convolution is of X, F and D";
}

static void close_conv(conv *v) {
  free(v->x.x);
  free(v->d.x);
  free(v->f.x);
}

static const char *convolution(const gpu_reference *r, uint8_t type, const int64_t *shape,
                               const int64_t *at, int64_t n, gpu_expected *out) {
  static const conv_kind kinds[] = {
      {"forward", forward_at}, {"data", data_at}, {"weights", weights_at}};
  conv v = {0};
  char entry[16];
  const char *why = open_conv(r, shape, &v, entry);
  for (size_t k = 0; !why && k < sizeof kinds / sizeof *kinds; k++)
    for (int64_t e = 0; !strcmp(entry, kinds[k].entry) && e < n; e++) {
      int64_t index[4], rest = at[e];
      for (int d = 3; d >= 0; d--) {
        index[d] = rest % shape[d];
        rest /= shape[d];
      }
      out[e] = expected(kinds[k].element(&v, index), terms_of(&v, entry), type, "f32");
    }
  close_conv(&v);
  return why;
}

/* ---- */

const char *gpu_reference_make(const gpu_reference *r, uint8_t type, const int64_t *shape,
                               const int64_t *at, int64_t n, gpu_expected *out) {
  if (!strncmp(r->text, "product:", 8))
    return product(r, type, at, n, out);
  return convolution(r, type, shape, at, n, out);
}

int64_t gpu_reference_most(const gpu_reference *r, const int64_t *shape) {
  uint8_t type;
  const int64_t *a;
  conv v = {0};
  char entry[16];
  int64_t terms = 1;
  if (!strncmp(r->text, "product:", 8))
    terms = r->tensor(r->ctx, "A", &type, &a) ? a[1] / 2 : 1; /* in rows: quicker */
  else if (!open_conv(r, shape, &v, entry))
    terms = 2 * terms_of(&v, entry);
  close_conv(&v);
  int64_t most = MOST_WORK / (terms > 0 ? terms : 1);
  return most < FEWEST ? FEWEST : most > MOST ? MOST : most;
}

/* toy.c: the toy model's kernels and record. See toy.h. */
#include "tests/runtime/toy.h"
#include "base/hash.h"
#include "base/random.h"
#include <assert.h>
#include <string.h>

/* ------------------------------------------------------------ kernels */

#define AT(T, k) ((T *)a->buf[k])

/* Noise in [0, 1) from the key: kernels number their elements, so threads do not matter. */
static float noise(const uint64_t *key, uint64_t element) {
  return (float)neo_rand_uniform(key[0], key[1], 7, (uint32_t)key[2], element);
}

static int32_t init(const neo_rt_args *a) { /* W m lr pick last */
  for (int i = 0; i < 40; i++) {
    AT(float, 0)[i] = noise(a->key, (uint64_t)i) - 0.5f;
    AT(float, 1)[i] = 0;
    AT(float, 4)[i] = 0;
  }
  *AT(float, 2) = 0.5f;
  *AT(int32_t, 3) = 3;
  return 0;
}

static int32_t product(const neo_rt_args *a) { /* L = X W; a unit is a row */
  float *row = a->scratch;                     /* this worker's own, aligned */
  if ((uintptr_t)row % 64)
    return 1;
  for (int64_t b = a->lo; b < a->hi; b++) {
    for (int j = 0; j < 10; j++) {
      row[j] = 0;
      for (int i = 0; i < 4; i++)
        row[j] += AT(const float, 1)[b * 4 + i] * AT(const float, 2)[i * 10 + j];
    }
    memcpy(AT(float, 0) + b * 10, row, 10 * sizeof *row);
  }
  return 0;
}

static int32_t error_of(const neo_rt_args *a) { /* err = (L - onehot(Y)) / B */
  for (int64_t b = a->lo; b < a->hi; b++)
    for (int j = 0; j < 10; j++) {
      float hit = AT(const int32_t, 2)[b] == j;
      AT(float, 0)[b * 10 + j] = (AT(const float, 1)[b * 10 + j] - hit) / (float)a->size[0];
    }
  return 0;
}

static int32_t loss_of(const neo_rt_args *a) { /* loss = sum err^2 */
  float sum = 0;
  for (int64_t i = 0; i < a->size[0] * 10; i++)
    sum += AT(const float, 1)[i] * AT(const float, 1)[i];
  *AT(float, 0) = sum;
  return 0;
}

static int32_t update(const neo_rt_args *a) { /* W m err X lr; a unit is an element of W */
  for (int64_t e = a->lo; e < a->hi; e++) {
    float g = 0;
    for (int64_t b = 0; b < a->size[0]; b++)
      g += AT(const float, 3)[b * 4 + e / 10] * AT(const float, 2)[b * 10 + e % 10];
    AT(float, 1)[e] = 0.9f * AT(float, 1)[e] + g;
    AT(float, 0)[e] += -*AT(float, 4) * AT(float, 1)[e] + 1e-3f * noise(a->key, (uint64_t)e);
  }
  return 0;
}

static int32_t half(const neo_rt_args *a) { /* S = sum X + sum E + number of F */
  float sum = 0;
  for (int64_t i = 0; i < a->size[0] * 4; i++)
    sum += AT(const float, 1)[i];
  for (int64_t i = 0; i < a->size[0] / 2; i++)
    sum += AT(const float, 2)[i];
  for (int64_t i = 0; i < a->size[0]; i++)
    sum += (float)AT(const uint8_t, 3)[i];
  *AT(float, 0) = sum;
  return 0;
}

static int32_t show_key(const neo_rt_args *a) {
  for (int i = 0; i < 3; i++)
    AT(int64_t, 0)[i] = (int64_t)a->key[i];
  return 0;
}

static int32_t fail(const neo_rt_args *a) { /* its unit 1 fails */
  return a->lo <= 1 && a->hi > 1;
}

static int32_t twice(const neo_rt_args *a) {
  for (int64_t i = a->lo; i < a->hi; i++)
    AT(float, 0)[i] = 2 * AT(const float, 1)[i];
  return 0;
}

/* ------------------------------------------------------------ the record */

enum {
  P4 = 0,
  P10 = 3,
  PB = 6,
  PN = 9,
  P1 = 12,
  P40 = 15,
  P160 = 18,
  PHALF = 21,
  P4N = 27,
  P3 = 33
};
static const int64_t programs[] = {NEO_RT_OP_CONST,
                                   4,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_CONST,
                                   10,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_SIZE,
                                   0,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_SIZE,
                                   1,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_CONST,
                                   1,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_CONST,
                                   40,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_CONST,
                                   160,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_SIZE,
                                   0,
                                   NEO_RT_OP_CONST,
                                   2,
                                   NEO_RT_OP_DIV,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_SIZE,
                                   1,
                                   NEO_RT_OP_CONST,
                                   4,
                                   NEO_RT_OP_MUL,
                                   NEO_RT_OP_END,
                                   NEO_RT_OP_CONST,
                                   3,
                                   NEO_RT_OP_END};

static const neo_rt_size sizes[] = {{"B", 1, 256}, {"N", 0, 100000}};

/* Extents: X and L share B; [4, 10] for W, m, last. */
static const int32_t extents[] = {PB, P4, PB, P10, P4, P10, PHALF, PN, P3};
enum { XB4 = 0, XB10 = 2, X4_10 = 4, XHALF = 6, XN = 7, X3 = 8, XB = 0, X0 = 0 };

static const neo_rt_tensor tensors[] = {
    [X] = {"X", "toy.expr:2:7", NEO_RT_ROLE_INPUT, NEO_RT_F32, 2, 0, 0, XB4, -1, 0, X, 0},
    [Y] = {"Y", "toy.expr:3:7", NEO_RT_ROLE_INPUT, NEO_RT_I32, 1, 0, 0, XB, P10, 0, Y, 0},
    [E] = {"E", "toy.expr:4:7", NEO_RT_ROLE_INPUT, NEO_RT_F32, 1, 0, 0, XHALF, -1, 0, E, 0},
    [F] = {"F", "toy.expr:5:7", NEO_RT_ROLE_INPUT, NEO_RT_BOOL, 1, 0, 0, XB, -1, 0, F, 0},
    [V] = {"V", "toy.expr:6:7", NEO_RT_ROLE_INPUT, NEO_RT_F32, 1, 0, 0, XN, -1, 0, V, 0},
    [LR] = {"lr", "toy.expr:7:7", NEO_RT_ROLE_SETTING, NEO_RT_F32, 0, 1, 0, X0, -1, 0, LR, 0},
    [W] = {"W", "toy.expr:8:7", NEO_RT_ROLE_PARAM, NEO_RT_F32, 2, 1, 0, X4_10, -1, 0, W, 0},
    [M] = {"m", "toy.expr:9:7", NEO_RT_ROLE_STATE, NEO_RT_F32, 2, 1, 0, X4_10, -1, 0, M, 0},
    [PICK] = {"pick", "toy.expr:10:7", NEO_RT_ROLE_STATE, NEO_RT_I32, 0, 1, 0, X0, P10, 0, PICK, 0},
    [LAST] = {"last", "toy.expr:11:7", NEO_RT_ROLE_STATE, NEO_RT_F32, 2, 0, 0, X4_10, -1, 0, LAST, 0},
    [L] = {"L", "toy.expr:12:1", NEO_RT_ROLE_OUTPUT, NEO_RT_F32, 2, 0, 0, XB10, -1, 0, L, 0},
    [LOSS] = {"loss", "toy.expr:13:1", NEO_RT_ROLE_OUTPUT, NEO_RT_F32, 0, 0, 0, X0, -1, 0, LOSS, 0},
    [S] = {"S", "toy.expr:14:1", NEO_RT_ROLE_OUTPUT, NEO_RT_F32, 0, 0, 0, X0, -1, 0, S, 0},
    [K] = {"K", "toy.expr:15:1", NEO_RT_ROLE_OUTPUT, NEO_RT_I64, 1, 0, 0, X3, -1, 0, K, 0},
    [Z] = {"Z", "toy.expr:16:1", NEO_RT_ROLE_OUTPUT, NEO_RT_F32, 1, 0, 0, XN, -1, 0, Z, 0}};

/* Buffers 0 .. TOY_TENSORS-1 are the tensors'; then two of the frame. */
enum { B_LOGITS = TOY_TENSORS, B_ERROR };
#define CALLER(k, t, n) [k] = {NEO_RT_MEM_CALLER, t, k, n, 0, 0}
static const neo_rt_buf bufs[] = {CALLER(X, NEO_RT_F32, 4096),
                                  CALLER(Y, NEO_RT_I32, 1024),
                                  CALLER(E, NEO_RT_F32, 512),
                                  CALLER(F, NEO_RT_BOOL, 256),
                                  CALLER(V, NEO_RT_F32, 400000),
                                  CALLER(L, NEO_RT_F32, 10240),
                                  CALLER(LOSS, NEO_RT_F32, 4),
                                  CALLER(S, NEO_RT_F32, 4),
                                  CALLER(K, NEO_RT_I64, 24),
                                  CALLER(Z, NEO_RT_F32, 400000),
                                  [W] = {NEO_RT_MEM_PARAM, NEO_RT_F32, 0, 160, 0, 0},
                                  [M] = {NEO_RT_MEM_STATE, NEO_RT_F32, 0, 160, 0, 0},
                                  [LAST] = {NEO_RT_MEM_STATE, NEO_RT_F32, 192, 160, 0, 0},
                                  [LR] = {NEO_RT_MEM_STATE, NEO_RT_F32, 384, 4, 0, 0},
                                  [PICK] = {NEO_RT_MEM_STATE, NEO_RT_I32, 448, 4, 0, 0},
                                  [B_LOGITS] = {NEO_RT_MEM_FRAME, NEO_RT_F32, 0, 10240, 0, 0},
                                  [B_ERROR] = {NEO_RT_MEM_FRAME, NEO_RT_F32, 10240, 10240, 0, 0}};

enum { K_INIT, K_PRODUCT, K_ERROR, K_LOSS, K_UPDATE, K_HALF, K_KEY, K_FAIL, TOY_KERNELS };
static const neo_rt_kernel kernels[] = {[K_INIT] = {.name = "init", .fn = init, .units = P1},
                                        [K_PRODUCT] = {"product", product, PB, 40, NULL, NULL, 0},
                                        [K_ERROR] = {.name = "error", .fn = error_of, .units = PB},
                                        [K_LOSS] = {.name = "loss", .fn = loss_of, .units = P1},
                                        [K_UPDATE] = {.name = "update", .fn = update, .units = P40},
                                        [K_HALF] = {.name = "half", .fn = half, .units = P1},
                                        [K_KEY] = {.name = "key", .fn = show_key, .units = P1},
                                        [K_FAIL] = {.name = "fail", .fn = fail, .units = P3}};

static const int32_t args[] = {W,        M,        LR,      PICK, LAST, /* 0: init */
                               L,        X,        W,                   /* 5: product for forward */
                               B_ERROR,  L,        Y,                   /* 8: error for test */
                               LOSS,     B_ERROR,                       /* 11: loss */
                               S,        X,        E,       F,          /* 13: half */
                               K,                                       /* 17: key */
                               Z,        V,                             /* 18: copy */
                               B_LOGITS, X,        W,                   /* 20: product for step */
                               B_ERROR,  B_LOGITS, Y,                   /* 23: error for step */
                               LAST,     W,                             /* 26: copy for step */
                               W,        M,        B_ERROR, X,    LR,   /* 28: update */
                               W};                                      /* 33: fail */
static const neo_rt_step steps[] = {
    {NEO_RT_STEP_RUN, 0, 0, K_INIT, 0, 5, 0},     /* 0 init */
    {NEO_RT_STEP_RUN, 0, 0, K_PRODUCT, 5, 3, 0},  /* 1 forward, test */
    {NEO_RT_STEP_RUN, 0, 0, K_ERROR, 8, 3, 0},    /* 2 test */
    {NEO_RT_STEP_RUN, 0, 0, K_LOSS, 11, 2, 0},    /* 3 test */
    {NEO_RT_STEP_RUN, 0, 0, K_HALF, 13, 4, 0},    /* 4 half */
    {NEO_RT_STEP_RUN, 0, 0, K_KEY, 17, 1, 0},     /* 5 key */
    {NEO_RT_STEP_COPY, 0, 0, P4N, 18, 2, 0},      /* 6 copy */
    {NEO_RT_STEP_RUN, 0, 0, K_PRODUCT, 20, 3, 0}, /* 7 step */
    {NEO_RT_STEP_RUN, 0, 0, K_ERROR, 23, 3, 0},   {NEO_RT_STEP_RUN, 0, 0, K_LOSS, 11, 2, 0},
    {NEO_RT_STEP_COPY, 0, 0, P160, 26, 2, 0},     {NEO_RT_STEP_RUN, 0, 0, K_UPDATE, 28, 5, 0},
    {NEO_RT_STEP_RUN, 0, 0, K_FAIL, 33, 1, 0}}; /* 12 fail */
static const int32_t entry_args[] = {
    X, L,             /* 0 forward */
    X, Y, L,    LOSS, /* 2 test */
    X, E, F,    S,    /* 6 half */
    K,                /* 10 key */
    V, Z,             /* 11 copy */
    X, Y, LOSS, W     /* 13 step; W: a parameter as an output */
};
static const int32_t entry_sizes[] = {0, 1};
static const int32_t entry_writes[] = {W, M, LAST}; /* of step */
static const neo_rt_entry entries[] = {
    [INIT] = {"init", NEO_RT_ENTRY_INIT, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    [FORWARD] = {"forward", NEO_RT_ENTRY_FORWARD, 0, 1, 1, 0, 2, 1, 0, 1, 0, 0, 0, 0},
    [TEST] = {"test", NEO_RT_ENTRY_FORWARD, 0, 1, 3, 2, 4, 2, 0, 1, 20480, 10240, 0, 0},
    [HALF] = {"half", NEO_RT_ENTRY_FORWARD, 0, 4, 1, 6, 4, 3, 0, 1, 0, 0, 0, 0},
    [KEY] = {"key", NEO_RT_ENTRY_FORWARD, 0, 5, 1, 10, 1, 0, 0, 0, 0, 0, 0, 0},
    [COPY] = {"copy", NEO_RT_ENTRY_FORWARD, 0, 6, 1, 11, 2, 1, 1, 1, 0, 0, 0, 0},
    [STEP] = {"step", NEO_RT_ENTRY_TRAIN, 0, 7, 5, 13, 4, 2, 0, 1, 20480, 20480, 0, 3},
    [FAIL] = {"fail", NEO_RT_ENTRY_TRAIN, 0, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}};

const neo_rt_model toy_model = {.abi = NEO_RT_ABI,
                                .name = "toy",
                                .prefix = "toy",
                                .source_hash = "0123",
                                .target = "test",
                                .features = "",
                                .n_sizes = 2,
                                .n_tensors = TOY_TENSORS,
                                .n_bufs = TOY_TENSORS + 2,
                                .n_kernels = TOY_KERNELS,
                                .n_steps = 13,
                                .n_entries = TOY_ENTRIES,
                                .sizes = sizes,
                                .tensors = tensors,
                                .bufs = bufs,
                                .kernels = kernels,
                                .steps = steps,
                                .entries = entries,
                                .extents = extents,
                                .args = args,
                                .entry_args = entry_args,
                                .entry_sizes = entry_sizes,
                                .entry_writes = entry_writes,
                                .programs = programs,
                                .param_bytes = 160,
                                .state_bytes = 452,
                                .frame_bytes = 20480,
                                .scratch_bytes = 40};

static const neo_rt_size twice_sizes[] = {{"B", 1, 1}, {"N", 0, 100000}};
static const neo_rt_tensor twice_tensors[] = {
    {"V", "twice.expr:2:7", NEO_RT_ROLE_INPUT, NEO_RT_F32, 1, 0, 0, XN, -1, 0, 0, 0},
    {"Z", "twice.expr:3:1", NEO_RT_ROLE_OUTPUT, NEO_RT_F32, 1, 0, 0, XN, -1, 0, 1, 0}};
static const neo_rt_buf twice_bufs[] = {{NEO_RT_MEM_CALLER, NEO_RT_F32, 0, 400000, 0, 0, 0},
                                        {NEO_RT_MEM_CALLER, NEO_RT_F32, 1, 400000, 0, 0, 0}};
static const neo_rt_kernel twice_kernels[] = {{.name = "twice", .fn = twice, .units = PN}};
static const int32_t twice_args[] = {1, 0}, twice_entry_args[] = {0, 1};
static const neo_rt_step twice_steps[] = {{NEO_RT_STEP_RUN, 0, 0, 0, 0, 2, 0}};
static const neo_rt_entry twice_entries[] = {
    {"forward", NEO_RT_ENTRY_FORWARD, 0, 0, 1, 0, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0}};
const neo_rt_model twice_model = {.abi = NEO_RT_ABI,
                                  .name = "twice",
                                  .prefix = "twice",
                                  .source_hash = "4567",
                                  .target = "test",
                                  .features = NULL,
                                  .n_sizes = 2,
                                  .n_tensors = 2,
                                  .n_bufs = 2,
                                  .n_kernels = 1,
                                  .n_steps = 1,
                                  .n_entries = 1,
                                  .sizes = twice_sizes,
                                  .tensors = twice_tensors,
                                  .bufs = twice_bufs,
                                  .kernels = twice_kernels,
                                  .steps = twice_steps,
                                  .entries = twice_entries,
                                  .extents = extents,
                                  .args = twice_args,
                                  .entry_args = twice_entry_args,
                                  .entry_sizes = entry_sizes,
                                  .programs = programs};

/* ------------------------------------------------------------ use */

neo_rt_ctx *toy_create(int32_t threads, uint64_t seed) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = threads, .seed = seed};
  neo_rt_ctx *ctx;
  neo_rt_status status = neo_rt_create(&toy_model, &config, &ctx);
  assert(status == 0);
  (void)status;
  return ctx;
}

void toy_data(int64_t n, float *x, int32_t *y) {
  uint64_t state = 42;
  for (int64_t b = 0; b < n; b++) {
    for (int i = 0; i < 4; i++)
      x[b * 4 + i] = (float)(neo_splitmix(&state) >> 40) * 0x1p-24f - 0.5f;
    y[b] = (int32_t)(neo_splitmix(&state) % 10);
  }
}

float toy_train(neo_rt_ctx *ctx, int from, int n) {
  float x[256 * 4], loss = 0;
  int32_t y[256];
  toy_data(256, x, y);
  for (int i = from; i < from + n; i++) {
    int64_t b = 7, row = i * 7 % 249;
    void *p[] = {x + row * 4, y + row, &loss, NULL};
    neo_rt_status status = neo_rt_call(ctx, STEP, &b, p);
    assert(status == 0);
    (void)status;
  }
  return loss;
}

uint64_t toy_digest(neo_rt_ctx *ctx) {
  uint64_t h = neo_rt_step_count(ctx);
  const int kept[] = {LR, W, M, PICK, LAST};
  for (int i = 0; i < 5; i++) {
    float value[40];
    size_t n = kept[i] == LR || kept[i] == PICK ? 4 : 160;
    neo_rt_status status = neo_rt_get(ctx, kept[i], value, n);
    assert(status == 0);
    (void)status;
    h = neo_hash(value, n, h);
  }
  return h;
}

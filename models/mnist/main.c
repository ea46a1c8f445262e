/* Trains a digit model on MNIST, evaluates it, saves it, loads it again. The same program serves
 * mlp.expr and cnn.expr: both take X and Y and are compiled under the prefix `net`.
 *
 *   neoc compile mlp.expr --prefix=net -o out
 *   cc main.c -Iout -Lout -lnet -lneort -lm -o mnist
 *   ./mnist FOLDER [EPOCHS [THREADS]]
 *
 * FOLDER holds the four IDX files of MNIST, plain or .gz. Exit codes: 0 done, 2 usage, 3 a file or
 * the library failed. */
#define _POSIX_C_SOURCE 200809L
#include "net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 128 };

typedef struct {
  neo_rt_array x, y; /* f32 pixels in [0, 1]; i32 labels */
  int64_t n;
} dataset;

static void die(const char *what, const char *why) {
  fprintf(stderr, "mnist: %s: %s\n", what, why);
  exit(3);
}

static void check(net_status status, const net_ctx *ctx, const char *what) {
  if (status)
    die(what, ctx && *net_error(ctx) ? net_error(ctx) : net_status_text(status));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first of the names that exists, as `type`. */
static neo_rt_array load(const char *folder, const char *const *names, int type) {
  char error[512] = "no such file", path[4096];
  for (; *names; names++) {
    neo_rt_array raw, out;
    snprintf(path, sizeof path, "%s/%s", folder, *names);
    FILE *f = fopen(path, "rb");
    if (!f)
      continue;
    fclose(f);
    if (neo_rt_array_load(path, &raw, error, sizeof error))
      die(path, error);
    if (neo_rt_array_convert(&raw, (uint8_t)type, &out))
      die(path, "cannot be converted");
    neo_rt_array_free(&raw);
    return out;
  }
  die(folder, "holds no MNIST files");
  exit(3);
}

static dataset read_set(const char *folder, const char *const *images, const char *const *labels) {
  dataset d = {load(folder, images, NEO_RT_F32), load(folder, labels, NEO_RT_I32), 0};
  d.n = d.x.extent[0];
  if (d.y.extent[0] != d.n || d.x.size_bytes != (size_t)d.n * 784 * sizeof(float))
    die(folder, "images and labels do not belong together");
  float *x = d.x.data;
  for (int64_t i = 0; i < d.n * 784; i++)
    x[i] *= 1.0f / 255;
  return d;
}

static void train_epoch(net_ctx *ctx, const dataset *d, uint64_t epoch, int64_t *order) {
  static float x[BATCH * 784];
  static int32_t y[BATCH];
  double start = now(), sum = 0;
  neo_rt_shuffle(1, epoch, d->n, order);
  for (int64_t at = 0; at < d->n; at += BATCH) {
    int64_t n = d->n - at < BATCH ? d->n - at : BATCH; /* the last batch is smaller */
    float loss;
    neo_rt_gather(&d->x, order + at, n, x);
    neo_rt_gather(&d->y, order + at, n, y);
    check(net_step(ctx, n, x, y, &loss), ctx, "training");
    if (!isfinite(loss))
      die("training", "the loss is not finite");
    sum += (double)loss * (double)n;
  }
  double t = now() - start;
  printf("epoch %d: loss %.4f, %.1f s, %.0f images/s\n", (int)epoch + 1, sum / (double)d->n, t,
         (double)d->n / t);
  fflush(stdout);
}

static double evaluate(net_ctx *ctx, const dataset *d) {
  double hits = 0;
  for (int64_t at = 0; at < d->n; at += BATCH) {
    int64_t n = d->n - at < BATCH ? d->n - at : BATCH;
    float accuracy, *x = d->x.data;
    int32_t *y = d->y.data;
    check(net_test(ctx, n, x + at * 784, y + at, NULL, &accuracy), ctx, "evaluation");
    hits += (double)accuracy * (double)n;
  }
  return 100 * hits / (double)d->n;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: mnist FOLDER [EPOCHS [THREADS]]\n");
    return 2;
  }
  static const char *const train_x[] = {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz",
                                        NULL};
  static const char *const train_y[] = {"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz",
                                        NULL};
  static const char *const test_x[] = {"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz",
                                       "t10k-first3000-images-idx3-ubyte.gz", NULL};
  static const char *const test_y[] = {"t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz",
                                       "t10k-first3000-labels-idx1-ubyte.gz", NULL};
  dataset train = read_set(argv[1], train_x, train_y), test = read_set(argv[1], test_x, test_y);
  int epochs = argc > 2 ? atoi(argv[2]) : 2;
  net_config config = {
      .struct_size = sizeof config, .seed = 1, .threads = argc > 3 ? atoi(argv[3]) : 0};
  net_ctx *ctx, *again;
  check(net_create(&config, &ctx), ctx, "create");

  int64_t *order = malloc((size_t)train.n * sizeof *order);
  if (!order)
    die("training", "out of memory");
  for (int e = 0; e < epochs; e++)
    train_epoch(ctx, &train, (uint64_t)e, order);
  double accuracy = evaluate(ctx, &test);
  printf("test accuracy: %.2f %% of %lld images\n", accuracy, (long long)test.n);

  check(net_save(ctx, "mnist.safetensors", NULL, 0), ctx, "saving");
  check(net_create(&config, &again), again, "create");
  check(net_load(again, "mnist.safetensors"), again, "loading");
  double reloaded = evaluate(again, &test);
  printf("saved to mnist.safetensors and loaded again: %.2f %%\n", reloaded);

  net_destroy(again);
  net_destroy(ctx);
  free(order);
  neo_rt_array *arrays[] = {&train.x, &train.y, &test.x, &test.y};
  for (int k = 0; k < 4; k++)
    neo_rt_array_free(arrays[k]);
  return reloaded == accuracy ? 0 : 3;
}

/* Trains the character model of charlm.expr on text files and writes a sample. A plain C program
 * over the generated header:
 *
 *   neoc compile charlm.expr -o out
 *   cc main.c -Iout -Lout -lcharlm -lneort -lm
 *
 *   charlm [--seconds N] [--threads N] [--seed N] [--sample N] [--save FILE] TEXT...
 *
 * The last tenth of each file is held out. Bytes above 127 are read as '?'. */
#define _POSIX_C_SOURCE 200809L
#include "charlm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { T = 32, V = 128, BATCH = 256 };

typedef struct { /* positions that can be predicted: a whole context stands before each */
  const uint8_t **at;
  size_t n, cap;
} examples;

typedef struct {
  double seconds;
  int threads, sample;
  uint64_t seed;
  const char *save;
} options;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what, const char *why) {
  fprintf(stderr, "charlm: %s: %s\n", what, why);
  exit(3);
}

static void check(charlm_status status, const charlm_ctx *ctx, const char *what) {
  if (status)
    die(what, ctx && *charlm_error(ctx) ? charlm_error(ctx) : charlm_status_text(status));
}

static void add(examples *e, const uint8_t *p) {
  if (e->n == e->cap) {
    e->cap = e->cap ? 2 * e->cap : 1 << 16;
    e->at = realloc(e->at, e->cap * sizeof *e->at);
    if (!e->at)
      die("examples", "out of memory");
  }
  e->at[e->n++] = p;
}

/* Reads a file as character classes; its last tenth goes to `held`. The text stays allocated:
 * examples point into it. */
static size_t read_text(const char *path, examples *train, examples *held) {
  FILE *f = fopen(path, "rb");
  if (!f)
    die(path, "cannot be read");
  size_t n = 0, cap = 1 << 16;
  uint8_t *text = malloc(cap);
  for (int c; text && (c = getc(f)) != EOF; text[n++] = c < V ? (uint8_t)c : '?')
    if (n + 1 == cap)
      text = realloc(text, cap *= 2);
  if (!text || ferror(f))
    die(path, "cannot be read");
  fclose(f);
  size_t cut = n - n / 10;
  for (size_t i = T; i < cut; i++)
    add(train, text + i);
  for (size_t i = cut + T; i < n; i++)
    add(held, text + i); /* no context from the training part */
  return n;
}

static void put_example(const uint8_t *p, int32_t *x, int32_t *y) {
  for (int t = 0; t < T; t++)
    x[t] = p[t - T];
  *y = *p;
}

static int64_t put_batch(const examples *e, const int64_t *order, size_t at, int32_t *x,
                         int32_t *y) {
  int64_t n = 0;
  for (; n < BATCH && at + (size_t)n < e->n; n++) {
    size_t k = order ? (size_t)order[at + (size_t)n] : at + (size_t)n;
    put_example(e->at[k], x + n * T, y + n);
  }
  return n;
}

/* Mean loss and share of hits over the held-out examples. */
static double evaluate(charlm_ctx *ctx, const examples *held, double *hits) {
  static int32_t x[BATCH * T], y[BATCH];
  double loss = 0, hit = 0;
  for (size_t at = 0; at < held->n; at += BATCH) {
    float l, h;
    int64_t n = put_batch(held, NULL, at, x, y);
    check(charlm_test(ctx, n, x, y, &l, &h), ctx, "evaluation");
    loss += (double)l * (double)n;
    hit += (double)h * (double)n;
  }
  *hits = hit / (double)held->n;
  return loss / (double)held->n;
}

typedef struct {
  double start, end, shown, loss;
  size_t done;
} progress;

static void show(progress *p, int final) {
  double t = now();
  if (!final && t - p->shown < 0.5)
    return;
  p->shown = t;
  double left = p->end - t > 0 ? p->end - t : 0;
  fprintf(stderr, "%sloss %.3f  %8.0f characters/s  %3.0f s left%s", isatty(2) ? "\r" : "", p->loss,
          (double)p->done / (t - p->start), left, isatty(2) && !final ? " " : "\n");
}

/* The learning rate falls to a tenth over the time that is given. */
static void train(charlm_ctx *ctx, const examples *e, const options *o) {
  static int32_t x[BATCH * T], y[BATCH];
  int64_t *order = malloc(e->n * sizeof *order);
  if (!order)
    die("training", "out of memory");
  progress p = {.start = now(), .loss = log(V)};
  p.end = p.start + o->seconds;
  double every = isatty(2) ? 0 : 5; /* a log file wants fewer lines */
  p.shown = p.start + every;
  for (uint64_t epoch = 0; now() < p.end; epoch++) {
    neo_rt_shuffle(o->seed, epoch, (int64_t)e->n, order);
    for (size_t at = 0; at < e->n && now() < p.end; at += BATCH) {
      float loss;
      int64_t n = put_batch(e, order, at, x, y);
      double done = (now() - p.start) / o->seconds;
      check(charlm_set_scalar(ctx, "lr", 2e-3 * pow(0.05, done)), ctx, "lr");
      check(charlm_step(ctx, n, x, y, &loss), ctx, "training");
      if (!isfinite(loss))
        die("training", "the loss is not finite");
      p.loss += 0.02 * ((double)loss - p.loss);
      p.done += (size_t)n;
      if (now() - p.shown > every)
        show(&p, 0);
    }
  }
  show(&p, 1);
  free(order);
}

/* A character drawn from the model at a temperature that makes it a little bolder than it is. */
static int draw(const float *logit, uint64_t *state) {
  double weight[V], sum = 0, top = logit[0];
  for (int v = 1; v < V; v++)
    top = fmax(top, (double)logit[v]);
  for (int v = 0; v < V; v++)
    sum += weight[v] = exp(((double)logit[v] - top) / 0.7);
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  double u = (double)(*state >> 11) / 9007199254740992.0 * sum;
  for (int v = 0; v < V; v++)
    if ((u -= weight[v]) < 0)
      return v;
  return ' ';
}

static void sample(charlm_ctx *ctx, const uint8_t *start, const options *o) {
  int32_t x[T];
  uint64_t state = o->seed + 1;
  for (int t = 0; t < T; t++)
    putchar(x[t] = start[t - T]);
  for (int k = 0; k < o->sample; k++) {
    float logit[V];
    check(charlm_forward(ctx, 1, x, logit), ctx, "sampling");
    memmove(x, x + 1, (T - 1) * sizeof *x);
    putchar(x[T - 1] = draw(logit, &state));
  }
  putchar('\n');
}

static options parse(int argc, char **argv, int *first) {
  options o = {.seconds = 60, .sample = 400, .seed = 1};
  int k = 1;
  for (; k < argc && !strncmp(argv[k], "--", 2); k += 2) {
    if (k + 1 >= argc)
      die(argv[k], "needs a value");
    if (!strcmp(argv[k], "--seconds"))
      o.seconds = strtod(argv[k + 1], NULL);
    else if (!strcmp(argv[k], "--threads"))
      o.threads = atoi(argv[k + 1]);
    else if (!strcmp(argv[k], "--seed"))
      o.seed = strtoull(argv[k + 1], NULL, 10);
    else if (!strcmp(argv[k], "--sample"))
      o.sample = atoi(argv[k + 1]);
    else if (!strcmp(argv[k], "--save"))
      o.save = argv[k + 1];
    else
      die(argv[k], "unknown option");
  }
  *first = k;
  if (k == argc)
    die("usage",
        "charlm [--seconds N] [--threads N] [--seed N] [--sample N] [--save FILE] TEXT...");
  return o;
}

int main(int argc, char **argv) {
  int first;
  size_t bytes = 0;
  examples train_set = {0}, held = {0};
  options o = parse(argc, argv, &first);
  for (int k = first; k < argc; k++)
    bytes += read_text(argv[k], &train_set, &held);
  if (!train_set.n || !held.n)
    die("text", "too short: ten contexts of 32 characters at least");
  printf("%d files, %zu characters: %zu to train on, %zu held out\n", argc - first, bytes,
         train_set.n, held.n);
  fflush(stdout); /* before the progress on stderr */

  charlm_ctx *ctx;
  charlm_config config = {.struct_size = sizeof config, .threads = o.threads, .seed = o.seed};
  check(charlm_create(&config, &ctx), ctx, "create");
  train(ctx, &train_set, &o);
  double hits, loss = evaluate(ctx, &held, &hits);
  printf("held out: %.3f nats a character, %.1f %% of the characters guessed\n\n", loss,
         100 * hits);
  sample(ctx, held.at[0], &o);
  if (o.save)
    check(charlm_save(ctx, o.save, NULL, 0), ctx, o.save);
  charlm_destroy(ctx);
  free(train_set.at);
  free(held.at);
  return 0;
}

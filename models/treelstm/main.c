/* Learns the sentiment of phrases from a treebank, with the Tree-LSTM of treelstm.expr. A plain C
 * program over the generated header:
 *
 *   neoc compile treelstm.expr -o out
 *   cc main.c data.c -Iout -Lout -ltreelstm -lneort -lm -o treelstm
 *   ./treelstm --save w.safetensors train.txt dev.txt test.txt
 *
 * Files hold labelled bracketed trees, as the Stanford sentiment treebank does. Words are numbered
 * by their frequency in the first file. After each epoch the two accuracies, over all vertices and
 * over the roots, are told for the second; those of the third at the end. What is saved, at the end
 * of each epoch and on Ctrl-C, goes on with --resume as if it had never stopped. Exit codes: 0
 * done, 2 usage, 3 a file or the library failed. */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: treelstm [OPTIONS] TRAIN DEV TEST\n"
    "  --epochs N     10 if not given; 0 only evaluates TEST\n"
    "  --batch N      trees in a step, 25 if not given\n"
    "  --steps N      stop after so many steps in all\n"
    "  --limit N      take the first N trees of each file\n"
    "  --lr X         learning rate, 1e-3 if not given; that of words is twice as large\n"
    "  --decay X      what it is multiplied with after each epoch, 0.95 if not given\n"
    "  --save FILE    a checkpoint after each epoch, and on Ctrl-C\n"
    "  --resume       go on from it\n"
    "  --threads N    one for each core if not given\n"
    "  --seed N       of initial values, dropout and the order of trees\n";

typedef struct {
  int64_t epochs, batch, steps, limit, threads;
  uint64_t seed;
  double lr, decay;
  const char *save, *file[3];
  int resume;
} options;

typedef struct { /* where a training stands */
  int64_t epoch, position;
  double loss; /* of this epoch so far, summed over trees */
} progress;

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
  (void)number;
  stopped = 1;
}

static void check(treelstm_status status, const treelstm_ctx *ctx, const char *what) {
  if (status)
    die(what, ctx && *treelstm_error(ctx) ? treelstm_error(ctx) : treelstm_status_text(status));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- evaluation */

static void evaluate(treelstm_ctx *ctx, const treebank *d, batch *b, const char *name) {
  double hits = 0, at_roots = 0, sum = 0, vertices = 0;
  for (int64_t at = 0, n; at < d->n; at += n) {
    float loss, all, root;
    n = d->n - at < b->graph.most_graphs ? d->n - at : b->graph.most_graphs;
    fill(b, d, NULL, at, n);
    int64_t v = b->graph.vertices;
    check(treelstm_test(ctx, n, v, b->graph.child, b->word, b->label, b->root, &loss, &all, &root),
          ctx, "evaluation");
    sum += (double)loss * (double)v;
    hits += round((double)all * (double)v);
    at_roots += round((double)root * (double)n);
    vertices += (double)v;
  }
  printf("%s: loss %.4f, %.2f %% of %.0f vertices, %.2f %% of %" PRId64 " roots\n", name,
         sum / vertices, 100 * hits / vertices, vertices, 100 * at_roots / (double)d->n, d->n);
  fflush(stdout);
}

/* ---- checkpoints */

static void save(treelstm_ctx *ctx, const options *o, const progress *p, const neo_rt_vocab *vocab,
                 int64_t trees) {
  char text[8][40];
  if (!o->save)
    return;
  snprintf(text[0], 40, "%" PRId64, p->epoch);
  snprintf(text[1], 40, "%" PRId64, p->position);
  snprintf(text[2], 40, "%a", p->loss);
  snprintf(text[3], 40, "%" PRId64, o->batch);
  snprintf(text[4], 40, "%" PRId64, trees);
  snprintf(text[5], 40, "%016" PRIx64, neo_rt_vocab_hash(vocab));
  snprintf(text[6], 40, "%a", o->lr);
  snprintf(text[7], 40, "%a", o->decay);
  neo_rt_pair extra[] = {{"epoch", text[0]}, {"position", text[1]}, {"epoch_loss", text[2]},
                         {"batch", text[3]}, {"trees", text[4]},    {"vocabulary", text[5]},
                         {"lr", text[6]},    {"decay", text[7]}};
  check(treelstm_save(ctx, o->save, extra, sizeof extra / sizeof *extra), ctx, o->save);
}

static const char *loaded(const treelstm_ctx *ctx, const options *o, const char *key) {
  const char *text = treelstm_loaded(ctx, key);
  if (!text)
    die(o->save, "is no checkpoint of this program");
  return text;
}

static progress resume(treelstm_ctx *ctx, options *o, const neo_rt_vocab *vocab, int64_t trees) {
  check(treelstm_load(ctx, o->save), ctx, o->save);
  progress p = {.epoch = strtoll(loaded(ctx, o, "epoch"), NULL, 10),
                .position = strtoll(loaded(ctx, o, "position"), NULL, 10),
                .loss = strtod(loaded(ctx, o, "epoch_loss"), NULL)};
  if (strtoull(loaded(ctx, o, "vocabulary"), NULL, 16) != neo_rt_vocab_hash(vocab))
    die(o->save, "was made with the words of another file");
  if (o->epochs && (strtoll(loaded(ctx, o, "batch"), NULL, 10) != o->batch ||
                    strtoll(loaded(ctx, o, "trees"), NULL, 10) != trees))
    die(o->save, "was made with another --batch or number of trees");
  o->seed = strtoull(loaded(ctx, o, "seed"), NULL, 10);
  o->lr = strtod(loaded(ctx, o, "lr"), NULL);
  o->decay = strtod(loaded(ctx, o, "decay"), NULL);
  return p;
}

/* ---- training */

static void step(treelstm_ctx *ctx, const batch *b, progress *p) {
  float loss;
  check(treelstm_step(ctx, b->graph.vertices, b->graph.child, b->word, b->label, &loss), ctx,
        "training");
  if (!isfinite(loss))
    die("training", "the loss is not finite");
  p->position += b->graph.graphs;
  p->loss += (double)loss * (double)b->graph.graphs;
}

/* Ends early on a signal, or after --steps; whether the epoch is done. */
static int train_epoch(treelstm_ctx *ctx, const options *o, const treebank *d, batch *b,
                       progress *p) {
  int64_t *order = allocate(d->n, sizeof *order), begun = p->position;
  double start = now();
  neo_rt_shuffle(o->seed, (uint64_t)p->epoch, d->n, order);
  while (p->position < d->n && !stopped) {
    int64_t left = d->n - p->position;
    fill(b, d, order, p->position, left < o->batch ? left : o->batch);
    step(ctx, b, p);
    if (o->steps && treelstm_step_count(ctx) >= (uint64_t)o->steps)
      stopped = 1;
  }
  free(order);
  double t = now() - start;
  if (p->position < d->n)
    return 0;
  printf("epoch %" PRId64 ": loss %.6f, %.1f s, %.0f trees/s\n", p->epoch + 1,
         p->loss / (double)d->n, t, (double)(d->n - begun) / t);
  *p = (progress){.epoch = p->epoch + 1};
  return 1;
}

static void train(treelstm_ctx *ctx, const options *o, const treebank *d, batch *b, progress *p,
                  const neo_rt_vocab *vocab) {
  batch trained = make_batch(o->batch);
  while (p->epoch < o->epochs && !stopped) {
    double lr = o->lr * pow(o->decay, (double)p->epoch);
    check(treelstm_set_scalar(ctx, "step.lr", lr), ctx, "--lr");
    check(treelstm_set_scalar(ctx, "step.lr2", 2 * lr), ctx, "--lr");
    if (train_epoch(ctx, o, &d[0], &trained, p))
      evaluate(ctx, &d[1], b, "dev");
    save(ctx, o, p, vocab, d[0].n);
  }
  free_batch(&trained);
}

/* ---- the command line */

static void misuse(const char *what) {
  fprintf(stderr, "treelstm: %s\n%s", what, usage);
  exit(2);
}

static int64_t number(const char *name, const char *text) {
  char *end = NULL;
  long long x = text ? strtoll(text, &end, 10) : -1;
  if (!text || end == text || *end || x < 0)
    misuse(name);
  return x;
}

static double real(const char *name, const char *text) {
  char *end;
  double x = strtod(text, &end);
  if (end == text || *end || !(x >= 0) || isinf(x))
    misuse(name);
  return x;
}

static int number_option(options *o, const char *name, const char *value) {
  struct {
    const char *name;
    int64_t *to;
  } const all[] = {{"--epochs", &o->epochs},
                   {"--batch", &o->batch},
                   {"--steps", &o->steps},
                   {"--limit", &o->limit},
                   {"--threads", &o->threads}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (!strcmp(name, all[k].name)) {
      *all[k].to = number(name, value);
      return 1;
    }
  return 0;
}

static options parse(int argc, char **argv) {
  options o = {.epochs = 10, .batch = 25, .seed = 1, .lr = 1e-3, .decay = 0.95};
  int files = 0;
  for (int k = 1; k < argc; k++) {
    const char *value = k + 1 < argc ? argv[k + 1] : NULL;
    if (strncmp(argv[k], "--", 2)) {
      if (files == 3)
        misuse("more than three files");
      o.file[files++] = argv[k];
    } else if (!strcmp(argv[k], "--resume")) {
      o.resume = 1;
    } else if (!value) {
      misuse(argv[k]);
    } else if (!strcmp(argv[k], "--save")) {
      o.save = argv[++k];
    } else if (!strcmp(argv[k], "--seed")) {
      o.seed = (uint64_t)number(argv[k], value), k++;
    } else if (!strcmp(argv[k], "--lr")) {
      o.lr = real(argv[k], value), k++;
    } else if (!strcmp(argv[k], "--decay")) {
      o.decay = real(argv[k], value), k++;
    } else if (number_option(&o, argv[k], value)) {
      k++;
    } else {
      misuse(argv[k]);
    }
  }
  if (files < 3)
    misuse("three files are needed");
  if (o.resume && !o.save)
    misuse("--resume goes on from the file of --save");
  if (o.batch < 1)
    misuse("--batch");
  return o;
}

int main(int argc, char **argv) {
  options o = parse(argc, argv);
  treebank d[3];
  neo_rt_vocab *vocab = NULL;
  for (int k = 0; k < 3; k++)
    d[k] = read_trees(o.file[k], o.limit, &vocab);
  batch b = make_batch(trees_that_fit(d, o.file, o.batch));
  printf("%" PRId64 " trees to train on, %" PRId64 " vertices, %" PRId64 " words\n", d[0].n,
         d[0].trees.start[d[0].n], neo_rt_vocab_size(vocab) - 1);

  treelstm_ctx *ctx;
  treelstm_config config = {
      .struct_size = sizeof config, .threads = (int32_t)o.threads, .seed = o.seed};
  check(treelstm_create(&config, &ctx), ctx, "create");
  progress p = {0};
  if (o.resume)
    p = resume(ctx, &o, vocab, d[0].n);
  sigaction(SIGINT, &(struct sigaction){.sa_handler = on_signal}, NULL);
  train(ctx, &o, d, &b, &p, vocab);
  if (!stopped)
    evaluate(ctx, &d[2], &b, "test");
  else
    printf("stopped after step %" PRIu64 "\n", treelstm_step_count(ctx));

  treelstm_destroy(ctx);
  neo_rt_vocab_destroy(vocab);
  free_batch(&b);
  for (int k = 0; k < 3; k++) {
    free(d[k].id);
    neo_rt_trees_free(&d[k].trees);
  }
  return 0;
}

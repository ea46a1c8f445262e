/* Learns the sentiment of phrases from a treebank, with the Tree-LSTM of treelstm.expr. A plain C
 * program over the generated header:
 *
 *   neoc compile treelstm.expr -o out
 *   cc main.c -Iout -Lout -ltreelstm -lneort -lm -o treelstm
 *   ./treelstm --save w.safetensors train.txt dev.txt test.txt
 *
 * Files hold labelled bracketed trees, as the Stanford sentiment treebank does. Words are numbered by
 * their frequency in the first file. After each epoch the two accuracies, over all vertices and over
 * the roots, are told for the second; those of the third at the end. What is saved, at the end of each
 * epoch and on Ctrl-C, goes on with --resume as if it had never stopped. Exit codes: 0 done, 2 usage,
 * 3 a file or the library failed. */
#define _POSIX_C_SOURCE 200809L
#include "treelstm.h"
#include <inttypes.h>
#include <math.h>
#include <neo/neo_graph.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: treelstm [OPTIONS] TRAIN DEV TEST\n"
    "  --epochs N     10 if not given; 0 only evaluates\n"
    "  --batch N      trees in a step, 25 if not given\n"
    "  --steps N      stop after so many steps in all\n"
    "  --limit N      take the first N trees of each file\n"
    "  --lr X         learning rate, 1e-3 if not given; of words too\n"
    "  --save FILE    a checkpoint after each epoch, and on Ctrl-C\n"
    "  --resume       go on from it\n"
    "  --threads N    one for each core if not given\n"
    "  --seed N       of initial values, dropout and the order of trees\n";

typedef struct {
  int64_t epochs, batch, steps, limit, threads;
  uint64_t seed;
  double lr; /* 0: not given */
  const char *save, *file[3];
  int resume;
} options;

typedef struct { /* a file; `id` of each of its words */
  neo_rt_trees trees;
  int32_t *id;
  int64_t n; /* trees that are used */
} treebank;

typedef struct { /* a batch, its graph and what belongs to its vertices */
  neo_rt_graph_batch graph;
  int32_t *word, *label, *root;
} batch;

typedef struct { /* where a training stands */
  int64_t epoch, position;
  double loss; /* of this epoch so far, summed over trees */
} progress;

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
  (void)number;
  stopped = 1;
}

static void die(const char *what, const char *why) {
  fprintf(stderr, "treelstm: %s: %s\n", what, why);
  exit(3);
}

static void check(treelstm_status status, const treelstm_ctx *ctx, const char *what) {
  if (status)
    die(what, ctx && *treelstm_error(ctx) ? treelstm_error(ctx) : treelstm_status_text(status));
}

static void *allocate(int64_t n, size_t bytes) {
  void *p = calloc((size_t)n + 1, bytes);
  if (!p)
    die("memory", "there is too little");
  return p;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what the model says of itself */

static int64_t extent(int tensor, int dimension) {
  const neo_rt_model *m = &treelstm_model;
  return neo_rt_eval(m, m->extents[m->tensors[tensor].extent + dimension], NULL);
}

static int64_t most(const char *size) {
  for (int k = 0; k < treelstm_model.n_sizes; k++)
    if (!strcmp(treelstm_model.sizes[k].name, size))
      return treelstm_model.sizes[k].hi;
  die(size, "the model has no such size");
  return 0;
}

/* ---- data */

static treebank read_trees(const char *path, int64_t limit, neo_rt_vocab **vocab) {
  treebank d;
  char error[512];
  if (neo_rt_trees_load(path, &d.trees, error, sizeof error))
    die("data", error);
  if (!*vocab && neo_rt_vocab_create(&d.trees, extent(TREELSTM_T_table, 0), vocab))
    die(path, "no memory for its vocabulary");
  d.id = allocate(d.trees.words, sizeof *d.id);
  for (int64_t k = 0; k < d.trees.words; k++)
    d.id[k] = neo_rt_vocab_find(*vocab, d.trees.text[k]);
  d.n = limit && limit < d.trees.trees ? limit : d.trees.trees;
  return d;
}

/* A label that the model does not have, or a vertex with more children, is told with its place. */
static void check_trees(const treebank *d, const char *path) {
  char what[512];
  for (int64_t v = 0; v < d->trees.vertices; v++) {
    int64_t children = d->trees.first[v + 1] - d->trees.first[v];
    snprintf(what, sizeof what, "%s:%d:%d", path, d->trees.line[v], d->trees.column[v]);
    if (d->trees.label[v] >= extent(TREELSTM_T_L_b, 0))
      die(what, "the model has no class for this label");
    if (children > extent(TREELSTM_T_G_child, 1))
      die(what, "more children than a vertex of the model has");
  }
}

static batch make_batch(int64_t trees) {
  int64_t n = most("G.vertices"), k = extent(TREELSTM_T_G_child, 1);
  batch b = {.graph = {.children = (int32_t)k, .most_vertices = n, .most_graphs = trees}};
  b.graph.child = allocate(n * k, sizeof *b.graph.child);
  b.graph.from = allocate(n, sizeof *b.graph.from);
  b.graph.work = allocate(n, sizeof *b.graph.work);
  b.graph.start = allocate(trees + 1, sizeof *b.graph.start);
  b.word = allocate(n, sizeof *b.word);
  b.label = allocate(n, sizeof *b.label);
  b.root = allocate(trees, sizeof *b.root);
  return b;
}

static void free_batch(batch *b) {
  void *all[] = {b->graph.child, b->graph.from, b->graph.work, b->graph.start,
                 b->word,        b->label,      b->root};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    free(all[k]);
}

static void add_tree(batch *b, const treebank *d, int64_t t) {
  char error[256];
  int64_t at = b->graph.vertices, v0 = d->trees.start[t];
  neo_rt_graph g = neo_rt_trees_graph(&d->trees, t);
  if (neo_rt_graph_batch_add(&b->graph, &g, error, sizeof error))
    die("batch", error);
  for (; at < b->graph.vertices; at++) {
    int64_t v = v0 + b->graph.from[at];
    b->word[at] = d->trees.word[v] < 0 ? -1 : d->id[d->trees.word[v]];
    b->label[at] = d->trees.label[v];
  }
  b->root[b->graph.graphs - 1] = (int32_t)at - 1;
}

/* Trees order[0 .. n), or those from `first` on where there is no order. */
static void fill(batch *b, const treebank *d, const int64_t *order, int64_t first, int64_t n) {
  b->graph.vertices = b->graph.graphs = 0;
  for (int64_t k = first; k < first + n; k++)
    add_tree(b, d, order ? order[k] : k);
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
  char text[6][40];
  if (!o->save)
    return;
  snprintf(text[0], 40, "%" PRId64, p->epoch);
  snprintf(text[1], 40, "%" PRId64, p->position);
  snprintf(text[2], 40, "%a", p->loss);
  snprintf(text[3], 40, "%" PRId64, o->batch);
  snprintf(text[4], 40, "%" PRId64, trees);
  snprintf(text[5], 40, "%016" PRIx64, neo_rt_vocab_hash(vocab));
  neo_rt_pair extra[] = {{"epoch", text[0]}, {"position", text[1]}, {"epoch_loss", text[2]},
                         {"batch", text[3]}, {"trees", text[4]},    {"vocabulary", text[5]}};
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

static int number_option(options *o, const char *name, const char *value) {
  struct {
    const char *name;
    int64_t *to;
  } const all[] = {{"--epochs", &o->epochs}, {"--batch", &o->batch}, {"--steps", &o->steps},
                   {"--limit", &o->limit},   {"--threads", &o->threads}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (!strcmp(name, all[k].name)) {
      *all[k].to = number(name, value);
      return 1;
    }
  return 0;
}

static options parse(int argc, char **argv) {
  options o = {.epochs = 10, .batch = 25, .seed = 1};
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
      o.lr = strtod(argv[++k], NULL);
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

/* A batch of evaluation has as many trees as fit whatever they are. */
static int64_t trees_that_fit(const treebank *d, const options *o) {
  int64_t largest = 1, n = most("G.vertices"), fit;
  for (int k = 0; k < 3; k++) {
    check_trees(&d[k], o->file[k]);
    largest = d[k].trees.most_vertices > largest ? d[k].trees.most_vertices : largest;
  }
  fit = n / largest < most("B") ? n / largest : most("B");
  if (fit < o->batch) {
    char why[160];
    snprintf(why, sizeof why,
             "trees of up to %" PRId64 " vertices: the model takes %" PRId64 " of them at once",
             largest, fit);
    die("--batch", why);
  }
  return fit;
}

int main(int argc, char **argv) {
  options o = parse(argc, argv);
  treebank d[3];
  neo_rt_vocab *vocab = NULL;
  for (int k = 0; k < 3; k++)
    d[k] = read_trees(o.file[k], o.limit, &vocab);
  batch b = make_batch(trees_that_fit(d, &o));
  printf("%" PRId64 " trees to train on, %" PRId64 " vertices, %" PRId64 " words\n", d[0].n,
         d[0].trees.start[d[0].n], neo_rt_vocab_size(vocab) - 1);

  treelstm_ctx *ctx;
  treelstm_config config = {
      .struct_size = sizeof config, .threads = (int32_t)o.threads, .seed = o.seed};
  check(treelstm_create(&config, &ctx), ctx, "create");
  progress p = {0};
  if (o.resume)
    p = resume(ctx, &o, vocab, d[0].n);
  if (o.lr > 0) {
    check(treelstm_set_scalar(ctx, "step.lr", o.lr), ctx, "--lr");
    check(treelstm_set_scalar(ctx, "step.lr2", o.lr), ctx, "--lr");
  }
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

/* See trees.h. Everything that could be wrong with a batch is looked at when the file is opened:
 * labels against their bound, numbers of children, and the largest trees against the graph's
 * vertices. */
#include "tools/neoc/train/trees.h"
#include "runtime/model.h"
#include <stdlib.h>
#include <string.h>

static const char *const members[] = {"word", "label", "root"}; /* NEOC_WORD and so on */

static const neo_rt_tensor *tensor_at(const neoc_data *d, int32_t t) {
  return &d->r->lib.model->tensors[t];
}

/* ---- the graph */

/* "G" of the run-time size "G.vertices"; null for others. */
static const char *graph_of_size(const neoc_data *d, int32_t size) {
  static const char end[] = ".vertices";
  const char *name = size >= 0 ? d->r->lib.model->sizes[size].name : "";
  size_t n = strlen(name), k = sizeof end - 1;
  bool is = n > k && neo_streq(name + n - k, end);
  return is ? neo_arena_strndup(d->r->cli->arena, name, n - k) : NULL;
}

static int32_t first_size(const neoc_data *d, int32_t tensor) {
  const neo_rt_model *m = d->r->lib.model;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  return t->rank ? neo_rti_program_size(m, m->extents[t->extent]) : -1;
}

const char *neoc_graph_of(const neoc_data *d, int32_t tensor) {
  return graph_of_size(d, first_size(d, tensor));
}

/* The size of a graph of this name over whose vertices an entry reads an input; else -1. */
static int32_t vertices_of(const neoc_data *d, const int32_t *entries, size_t n, const char *name) {
  const neo_rt_model *m = d->r->lib.model;
  for (size_t k = 0; k < n; k++)
    for (int32_t i = 0; i < m->entries[entries[k]].n_inputs; i++) {
      int32_t size = first_size(d, m->entry_args[m->entries[entries[k]].args + i]);
      const char *graph = graph_of_size(d, size);
      if (graph && neo_streq(graph, name))
        return size;
    }
  return -1;
}

const char *neoc_treebank_place(const neoc_data *d) {
  return d->bank->child >= 0 ? tensor_at(d, d->bank->child)->place : d->r->lib.model->name;
}

/* ---- the file */

static int descending(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? 1 : *x > *y ? -1 : 0;
}

static void sum_largest(neo_arena *a, neoc_treebank *b) {
  int64_t n = b->trees.trees;
  b->largest = NEO_NEW_ARRAY(a, int64_t, n + 1);
  for (int64_t t = 0; t < n; t++)
    b->largest[t + 1] = b->trees.start[t + 1] - b->trees.start[t];
  qsort(b->largest + 1, (size_t)n, sizeof *b->largest, descending);
  for (int64_t t = 0; t < n; t++)
    b->largest[t + 1] += b->largest[t];
}

static neoc_exit fail_at(const neoc_data *d, int64_t vertex, const char *what) {
  const neoc_treebank *b = d->bank;
  return neoc_fail(d->r->cli, NEOC_FAILED, "%s:%d:%d: %s", b->path, b->trees.line[vertex],
                   b->trees.column[vertex], what);
}

/* Trees that the graph has no room for. */
static neoc_exit check_trees(const neoc_data *d) {
  const neoc_treebank *b = d->bank;
  const neo_rt_model *m = d->r->lib.model;
  neo_arena *a = d->r->cli->arena;
  int64_t most = neoc_treebank_children(d);
  int64_t vertices = m->sizes[b->vertices].hi;
  for (int64_t v = 0; v < b->trees.vertices && b->begin < 0; v++)
    if (b->trees.first[v + 1] - b->trees.first[v] > most)
      return fail_at(d, v,
                     neo_arena_printf(a, "%lld children, but %s has children <= %lld (%s)",
                                      (long long)(b->trees.first[v + 1] - b->trees.first[v]),
                                      b->graph, (long long)most, neoc_treebank_place(d)));
  for (int64_t t = 0; t < b->trees.trees; t++)
    if (b->trees.start[t + 1] - b->trees.start[t] > vertices)
      return fail_at(d, b->trees.start[t + 1] - 1,
                     neo_arena_printf(a,
                                      "a tree of %lld vertices, but %s has vertices <= %lld (%s)",
                                      (long long)(b->trees.start[t + 1] - b->trees.start[t]),
                                      b->graph, (long long)vertices, neoc_treebank_place(d)));
  return NEOC_OK;
}

static neoc_exit load(neoc_data *d, int32_t vertices, const char *graph, const char *path) {
  char error[1024] = "";
  neoc_cli *cli = d->r->cli;
  neoc_treebank *b = d->bank = NEO_NEW(cli->arena, neoc_treebank);
  *b = (neoc_treebank){.graph = graph, .path = path, .vertices = vertices, .edges = -1};
  b->child = neo_rt_find(d->r->lib.model, neo_arena_printf(cli->arena, "%s.child", graph));
  b->begin = neo_rt_find(d->r->lib.model, neo_arena_printf(cli->arena, "%s.begin", graph));
  if (b->begin >= 0 && b->child >= 0)
    b->edges = first_size(d, b->child);
  neo_rt_status status = neo_rt_trees_load(path, &b->trees, error, sizeof error);
  if (status)
    return neoc_fail(cli, neoc_exit_of((neo_status)status), "%s: %s", graph, error);
  sum_largest(cli->arena, b);
  d->rows = b->trees.trees;
  return check_trees(d);
}

neoc_exit neoc_treebank_open(neoc_data *d, const int32_t *entries, size_t n,
                             const neoc_data *before) {
  neoc_texts words = neoc_words(d->r->cli, d->option);
  neoc_exit e = NEOC_OK;
  for (size_t w = 0; w < words.n && !e; w++) {
    const char *value = NULL, *name = neoc_pair(d->r->cli, words.at[w], &value);
    int32_t vertices = name ? vertices_of(d, entries, n, name) : -1;
    if (vertices < 0)
      continue;
    if (d->bank)
      return neoc_usage(d->r->cli, "%s and %s: the trees of one graph are a batch", d->bank->graph,
                        name);
    e = load(d, vertices, name, value[0] == '@' ? value + 1 : value);
  }
  if (d->bank)
    d->bank->words = before && before->bank ? &before->bank->trees : &d->bank->trees;
  return e;
}

void neoc_treebank_close(neoc_treebank *b) {
  if (!b)
    return;
  neo_rt_vocab_destroy(b->vocab);
  neo_rt_trees_free(&b->trees);
}

/* ---- inputs */

/* The member of trees that an input gets: by the word after "G:" in --data, else by the input's
 * name. */
static neoc_member member_of(const neoc_data *d, int32_t tensor, const char *text) {
  const neoc_treebank *b = d->bank;
  size_t n = strlen(b->graph);
  if ((tensor == b->child || tensor == b->begin) && !text)
    return tensor == b->child ? NEOC_CHILD : NEOC_BEGIN;
  if (text && (strncmp(text, b->graph, n) != 0 || text[n] != ':'))
    return NEOC_ROWS;
  const char *name = text ? text + n + 1 : tensor_at(d, tensor)->name;
  for (int k = 0; k < 3; k++)
    if (neo_streq(name, members[k]))
      return (neoc_member)(NEOC_WORD + k);
  return NEOC_ROWS;
}

bool neoc_treebank_gives(const neoc_data *d, int32_t tensor, const char *text) {
  return d->bank && member_of(d, tensor, text) != NEOC_ROWS;
}

static neoc_exit check_shape(const neoc_data *d, int32_t tensor, neoc_member member) {
  const neo_rt_model *m = d->r->lib.model;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  bool of_vertices =
      t->rank == 1 && neo_rti_program_size(m, m->extents[t->extent]) == d->bank->vertices;
  if (t->type == NEO_RT_I32 && t->rank == 1 && of_vertices == (member != NEOC_ROOT))
    return NEOC_OK;
  return neoc_fail(d->r->cli, NEOC_FAILED, "%s: the %ss of %s need `input %s[%s%s] : i32 < …` (%s)",
                   t->name, members[member - NEOC_WORD], d->bank->path, t->name,
                   member == NEOC_ROOT ? "B" : d->bank->graph,
                   member == NEOC_ROOT ? "" : ".vertices", t->place);
}

/* The exclusive upper bound of the input's values, and whether -1 is allowed. */
static int64_t bound_of(const neoc_data *d, const neo_rt_tensor *t, bool *minus_one) {
  const neo_rt_model *m = d->r->lib.model;
  int32_t lo = t->ends ? m->extents[t->ends - 1] : -1, hi = t->ends ? m->extents[t->ends] : -1;
  *minus_one = lo >= 0 ? neo_rti_eval(m, lo, NULL) < 0 : t->bound < 0;
  hi = t->ends ? hi : t->bound;
  return hi >= 0 && neo_rti_program_fixed(m, hi) ? neo_rti_eval(m, hi, NULL) : INT32_MAX;
}

static neoc_exit check_labels(const neoc_data *d, const neo_rt_tensor *t) {
  bool minus_one;
  const neo_rt_trees *trees = &d->bank->trees;
  int64_t bound = bound_of(d, t, &minus_one);
  for (int64_t v = 0; v < trees->vertices; v++)
    if (trees->label[v] >= bound)
      return fail_at(d, v,
                     neo_arena_printf(d->r->cli->arena, "label %d is not in [0, %lld) (%s)",
                                      trees->label[v], (long long)bound, t->place));
  return NEOC_OK;
}

static neoc_exit make_vocab(neoc_data *d, const neo_rt_tensor *t, int64_t bound) {
  neoc_treebank *b = d->bank;
  neoc_cli *cli = d->r->cli;
  if (neo_rt_vocab_create(b->words, bound, &b->vocab))
    return neoc_fail(cli, NEOC_FAILED, "%s: out of memory", b->path);
  if (b->words == &b->trees && b->words->words >= bound && !neoc_has(cli, NEOC_O_QUIET))
    fprintf(stderr, "%s has %lld words, %s takes the %lld most frequent ones (%s)\n", b->path,
            (long long)b->trees.words, t->name, (long long)bound - 1, t->place);
  return NEOC_OK;
}

/* Ids of the file's words. */
static neoc_exit number_words(neoc_data *d, const neo_rt_tensor *t) {
  neoc_treebank *b = d->bank;
  bool minus_one;
  int64_t bound = bound_of(d, t, &minus_one);
  neoc_exit e = b->vocab ? NEOC_OK : make_vocab(d, t, bound);
  if (e)
    return e;
  if (neo_rt_vocab_size(b->vocab) > bound)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s: %lld words have ids, but it is below %lld (%s)",
                     t->name, (long long)neo_rt_vocab_size(b->vocab) - 1, (long long)bound,
                     t->place);
  b->id = NEO_NEW_ARRAY(d->r->cli->arena, int32_t, b->trees.words + 1);
  for (int64_t k = 0; k < b->trees.words; k++)
    b->id[k] = neo_rt_vocab_find(b->vocab, b->trees.text[k]);
  return NEOC_OK;
}

neoc_exit neoc_treebank_take(neoc_data *d, int32_t tensor, const char *text) {
  const neo_rt_tensor *t = tensor_at(d, tensor);
  neoc_source *s = &d->source[tensor];
  s->path = d->bank->path;
  s->member = member_of(d, tensor, text);
  if (s->member == NEOC_CHILD || s->member == NEOC_BEGIN)
    return NEOC_OK;
  neoc_exit e = check_shape(d, tensor, s->member);
  if (e || s->member == NEOC_ROOT)
    return e;
  bound_of(d, t, &s->minus_one);
  return s->member == NEOC_LABEL ? check_labels(d, t) : number_words(d, t);
}

int64_t neoc_treebank_children(const neoc_data *d) {
  const neo_rt_model *m = d->r->lib.model;
  const neoc_treebank *b = d->bank;
  return b->child < 0 || b->begin >= 0
             ? b->trees.most_children
             : neo_rti_eval(m, m->extents[m->tensors[b->child].extent + 1], NULL);
}

int64_t neoc_treebank_most(const neoc_data *d, int64_t n) {
  const neoc_treebank *b = d->bank;
  int64_t trees = b->trees.trees;
  return n / trees * b->largest[trees] + b->largest[n % trees];
}

int64_t neoc_treebank_edges(const neoc_data *d, int64_t n) {
  return neoc_treebank_most(d, n) - n;
}

bool neoc_treebank_tells(const neoc_data *d, int32_t size) {
  return d->bank && size >= 0 && (size == d->bank->vertices || size == d->bank->edges);
}

int64_t neoc_treebank_fits(const neoc_data *d) {
  const neoc_treebank *b = d->bank;
  const neo_rt_size *size = d->r->lib.model->sizes;
  int64_t n = 0, edges = b->edges < 0 ? INT64_MAX : size[b->edges].hi;
  while (n < b->trees.trees && b->largest[n + 1] <= size[b->vertices].hi &&
         neoc_treebank_edges(d, n + 1) <= edges)
    n++;
  return n;
}

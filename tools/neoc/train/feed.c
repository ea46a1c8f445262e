/* Batches for an entry: rows of data gathered into buffers that are made once. */
#include "runtime/model.h"
#include "tools/neoc/train/graphs.h"
#include "tools/neoc/train/stream.h"
#include "tools/neoc/train/trees.h"

/* Adds an input with rows: all inputs must have the same number of rows. */
static neoc_exit add_rows(neoc_feed *f, const neo_rt_tensor *t, const neo_rt_tensor **first) {
  const neo_rt_model *m = f->data->r->lib.model;
  if (t->rank == 0)
    return neoc_fail(f->data->r->cli, NEOC_FAILED, "%s is a scalar: train feeds rows", t->name);
  int32_t size = neo_rti_program_size(m, m->extents[t->extent]);
  if (size < 0 && !neo_rti_program_fixed(m, m->extents[t->extent]))
    return neoc_fail(f->data->r->cli, NEOC_FAILED,
                     "%s: dim 0 counts rows, so it is a number or a size (%s)", t->name, t->place);
  int64_t rows = size < 0 ? neo_rti_eval(m, m->extents[t->extent], NULL) : m->sizes[size].hi;
  if (*first && (size != f->batch_size || rows != f->most))
    return neoc_fail(f->data->r->cli, NEOC_FAILED, "%s and %s do not have the same number of rows",
                     (*first)->name, t->name);
  *first = t;
  f->batch_size = size;
  f->most = rows;
  f->least = size < 0 ? rows : m->sizes[size].lo;
  return NEOC_OK;
}

/* Whether the input has one element per row; data of vertices have not. */
static bool has_rows(const neoc_feed *f, int32_t input) {
  const neo_rt_model *m = f->data->r->lib.model;
  neoc_member member = f->data->source[m->entry_args[m->entries[f->entry].args + input]].member;
  return member == NEOC_ROWS || member == NEOC_ROOT;
}

static void count_rows(neoc_feed *f, int32_t size) {
  const neo_rt_size *s = &f->data->r->lib.model->sizes[size];
  f->batch_size = size;
  f->least = s->lo;
  f->most = s->hi;
}

/* Whether data determine the size, in a step or in all of them. */
static bool is_told(const neoc_data *d, int32_t size) {
  return d->told[size].n >= 0 || neoc_ragged_find(d, size) >= 0;
}

static neoc_exit too_many(const neoc_feed *f) {
  const neoc_data *d = f->data;
  const neo_rt_model *m = d->r->lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  const char *name = "";
  for (int32_t k = e->n_sizes; k-- > 0;) {
    int32_t size = m->entry_sizes[e->sizes + k];
    if (size != f->batch_size && !is_told(d, size) && !neoc_treebank_tells(d, size))
      name = m->sizes[size].name;
  }
  return neoc_fail(d->r->cli, NEOC_FAILED,
                   "entry %s has a run-time size that no data tell, %s: fix it by -D %s=N, or give "
                   "--%s %s=FILE with offsets, where rows differ in it",
                   e->name, name, name, d->option == NEOC_O_TEST ? "test" : "data", name);
}

/* Finds the batch size: the run-time size that is the first dimension of all inputs, or a constant
 * number of rows. */
static neoc_exit find_batch(neoc_feed *f) {
  const neoc_runner *r = f->data->r;
  const neo_rt_model *m = r->lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  const neo_rt_tensor *first = NULL;
  int known = 0; /* sizes that data tell */
  f->batch_size = -1;
  f->least = 1; /* without inputs and sizes, any number works */
  f->most = INT64_MAX;
  for (int32_t k = 0; k < e->n_inputs; k++) {
    neoc_exit code = has_rows(f, k) ? add_rows(f, neoc_feed_tensor(f, k), &first) : NEOC_OK;
    if (code)
      return code;
  }
  if (e->n_inputs == 0 && e->n_sizes == 1) /* an entry without inputs computes as many rows as
                                              others have */
    count_rows(f, m->entry_sizes[e->sizes]);
  for (int32_t k = 0; k < e->n_sizes; k++) {
    int32_t size = m->entry_sizes[e->sizes + k];
    if (is_told(f->data, size) || neoc_treebank_tells(f->data, size))
      known++;
    else if (f->data->graphs && f->batch_size < 0)
      count_rows(f, size);
  }
  if (f->batch_size >= 0 && is_told(f->data, f->batch_size))
    return neoc_fail(r->cli, NEOC_FAILED, "entry %s: %s counts rows, and is a dimension of rows",
                     e->name, m->sizes[f->batch_size].name);
  if (e->n_sizes > (f->batch_size >= 0) + known)
    return too_many(f);
  return NEOC_OK;
}

static neoc_exit too_many_trees(const neoc_data *d, int64_t n, int64_t have, const char *what,
                                int64_t most) {
  return neoc_fail(d->r->cli, NEOC_FAILED,
                   "%s: a batch of %lld trees may have %lld %s, but %s has %s <= %lld (%s); "
                   "%lld trees always fit",
                   d->bank->path, (long long)n, (long long)have, what, d->bank->graph, what,
                   (long long)most, neoc_treebank_place(d), (long long)neoc_treebank_fits(d));
}

/* Checks that any trees of a batch fit into the graph's vertices and edges. */
static neoc_exit limit_trees(int64_t batch, neoc_feed *f) {
  const neoc_data *d = f->data;
  neoc_cli *cli = d->r->cli;
  if (!d->bank)
    return NEOC_OK;
  const neo_rt_size *size = d->r->lib.model->sizes;
  int64_t vertices = size[d->bank->vertices].hi;
  int64_t edges = d->bank->edges < 0 ? INT64_MAX : size[d->bank->edges].hi;
  int64_t fit = neoc_treebank_fits(d), n = batch;
  if (batch == 0 && f->most == INT64_MAX && d->rows > 1 && d->option == NEOC_O_DATA)
    return neoc_usage(cli, "--batch is missing: how many trees are a step of entry %s?",
                      d->r->lib.model->entries[f->entry].name);
  if (neoc_feed_is_exact(f))
    n = f->most;
  else if (n > d->rows)
    n = d->rows;
  if (neoc_treebank_most(d, n) > vertices)
    return too_many_trees(d, n, neoc_treebank_most(d, n), "vertices", vertices);
  if (neoc_treebank_edges(d, n) > edges)
    return too_many_trees(d, n, neoc_treebank_edges(d, n), "edges", edges);
  if (!neoc_feed_is_exact(f) && fit < d->rows && fit < f->most)
    f->most = fit;
  return NEOC_OK;
}

/* Limits the rows of a step by the sizes of graphs. */
static neoc_exit limit_graphs(int64_t batch, neoc_feed *f) {
  const neoc_data *d = f->data;
  int64_t n = batch ? batch : f->most, fit;
  if (!d->graphs)
    return NEOC_OK;
  if (batch == 0 && f->most == INT64_MAX && d->rows > 1 && d->option == NEOC_O_DATA)
    return neoc_usage(d->r->cli, "--batch is missing: how many rows are a step of entry %s?",
                      d->r->lib.model->entries[f->entry].name);
  neoc_exit e = neoc_graphs_limit(d, 0, &fit);
  bool whole = batch == 0 && d->option != NEOC_O_DATA && !neoc_feed_is_exact(f);
  n = whole && n > fit && fit > 0 ? fit : n; /* a test takes as many as fit */
  n = neoc_feed_is_exact(f) ? f->most : n < d->rows ? n : d->rows;
  if (whole && f->most > n)
    f->most = n;
  return e ? e : neoc_graphs_limit(d, n < d->rows ? n : d->rows, &fit);
}

static neoc_exit choose_batch(int64_t batch, neoc_feed *f) {
  const neoc_runner *r = f->data->r;
  neoc_cli *cli = r->cli;
  f->batch = batch ? batch : f->most;
  if (f->most == 0)
    return neoc_fail(cli, NEOC_FAILED, "entry %s takes no rows: the first size of its inputs is 0",
                     r->lib.model->entries[f->entry].name);
  if (neoc_feed_is_exact(f) && f->batch != f->most)
    return neoc_fail(cli, NEOC_FAILED, "the model takes exactly %lld rows, not --batch %lld",
                     (long long)f->most, (long long)batch);
  if (f->batch < f->least || f->batch > f->most)
    return neoc_fail(cli, NEOC_FAILED, "--batch %lld: %s must be in [%lld, %lld]", (long long)batch,
                     f->batch_size < 0 ? "it" : r->lib.model->sizes[f->batch_size].name,
                     (long long)f->least, (long long)f->most);
  if (!neoc_feed_is_exact(f) && f->data->rows < f->batch && f->data->rows >= f->least)
    f->batch = f->data->rows;
  return NEOC_OK;
}

static void *room(const neoc_feed *f, const neo_rt_tensor *t) {
  const neoc_runner *r = f->data->r;
  void *p = neo_arena_alloc(r->cli->arena, (size_t)neo_rti_spill_bytes(r->lib.model, t) + 128);
  return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
}

neoc_exit neoc_feed_open(neoc_data *d, int32_t entry, int64_t batch, neoc_feed *f) {
  const neo_rt_entry *e = &d->r->lib.model->entries[entry];
  neo_arena *a = d->r->cli->arena;
  *f = (neoc_feed){.data = d, .entry = entry};
  f->args = NEO_NEW_ARRAY(a, void *, e->n_args + 1);
  f->sizes = NEO_NEW_ARRAY(a, int64_t, e->n_sizes + 1);
  neoc_exit code = find_batch(f);
  if (!code)
    code = limit_trees(batch, f);
  if (!code)
    code = limit_graphs(batch, f);
  if (!code)
    code = choose_batch(batch, f);
  for (int32_t k = 0; k < e->n_args && !code; k++)
    f->args[k] = room(f, neoc_feed_tensor(f, k));
  if (!code && d->bank)
    f->trees = neoc_tree_batch_new(d, f->batch);
  return code;
}

/* A run-time size of a batch of n rows. */
static int64_t size_of(const neoc_feed *f, int32_t size, int64_t n) {
  const neoc_data *d = f->data;
  int ragged = neoc_ragged_find(d, size);
  if (ragged >= 0)
    return d->graphs->at[ragged].now;
  if (d->told[size].n >= 0)
    return d->told[size].n;
  if (f->trees && neoc_treebank_tells(d, size))
    return size == d->bank->vertices ? f->trees->graph.vertices : f->trees->graph.edges;
  return n;
}

neoc_exit neoc_feed_fill(neoc_feed *f, const int64_t *order, int64_t n) {
  const neo_rt_model *m = f->data->r->lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  if (f->trees)
    neoc_tree_batch_fill(f->data, f->trees, order, n);
  if (f->data->graphs)
    neoc_graphs_begin(f->data, order, n);
  neoc_exit code = NEOC_OK;
  for (int32_t k = 0; k < e->n_inputs && !code; k++) {
    int32_t tensor = m->entry_args[e->args + k];
    if (f->data->source[tensor].member == NEOC_ROWS)
      code = neoc_data_gather(f->data, tensor, order, n, f->args[k]);
    else if (f->data->graphs)
      neoc_graphs_put(f->data, tensor, order, n, f->args[k]);
    else
      neoc_tree_batch_put(f->data, f->trees, tensor, order, f->args[k]);
  }
  for (int32_t k = 0; k < e->n_sizes; k++)
    f->sizes[k] = size_of(f, m->entry_sizes[e->sizes + k], n);
  return code;
}

void neoc_feed_prefetch(neoc_feed *f, const int64_t *order, int64_t n) {
  if (n > 0)
    neoc_prefetch_begin(f->data, order, n);
}

double neoc_feed_scalar(const neoc_feed *f, int32_t output) {
  int32_t arg = f->data->r->lib.model->entries[f->entry].n_inputs + output;
  neo_rt_array x = {.type = neoc_feed_tensor(f, arg)->type, .data = f->args[arg]};
  return neoc_array_at(&x, 0);
}

const char *neoc_feed_empty(const neoc_feed *f) {
  const neo_rt_model *m = f->data->r->lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  for (int32_t k = 0; k < e->n_sizes; k++)
    if (f->sizes[k] == 0)
      return m->sizes[m->entry_sizes[e->sizes + k]].name;
  return NULL;
}

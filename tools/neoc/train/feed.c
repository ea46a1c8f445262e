/* Batches for an entry: rows of data gathered into buffers that are made once. */
#include "runtime/model.h"
#include "tools/neoc/train/data.h"

/* The size that is the first dimension of all inputs; a constant number of rows otherwise. */
static neoc_exit find_batch(neoc_feed *f) {
  const neoc_runner *r = f->data->r;
  const neo_rt_model *m = r->lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  f->batch_size = -1;
  f->least = 1; /* without inputs and sizes any number will do */
  f->most = INT64_MAX;
  for (int32_t k = 0; k < e->n_inputs; k++) {
    const neo_rt_tensor *t = neoc_feed_tensor(f, k);
    if (t->rank == 0)
      return neoc_fail(r->cli, NEOC_FAILED, "%s is a scalar: train feeds rows", t->name);
    int32_t size = neo_rti_program_size(m, m->extents[t->extent]);
    int64_t rows = size < 0 ? neo_rti_eval(m, m->extents[t->extent], NULL) : m->sizes[size].hi;
    if (k > 0 && (size != f->batch_size || rows != f->most))
      return neoc_fail(r->cli, NEOC_FAILED, "%s and %s do not have the same number of rows",
                       neoc_feed_tensor(f, 0)->name, t->name);
    f->batch_size = size;
    f->most = rows;
    f->least = size < 0 ? rows : m->sizes[size].lo;
  }
  if (e->n_inputs == 0 && e->n_sizes == 1) { /* what it computes has as many rows as others have */
    f->batch_size = m->entry_sizes[e->sizes];
    f->least = m->sizes[f->batch_size].lo;
    f->most = m->sizes[f->batch_size].hi;
  }
  if (e->n_sizes > (f->batch_size >= 0))
    return neoc_fail(r->cli, NEOC_FAILED, "entry %s has more run-time sizes than the rows' number",
                     e->name);
  return NEOC_OK;
}

static neoc_exit choose_batch(int64_t batch, neoc_feed *f) {
  neoc_cli *cli = f->data->r->cli;
  f->batch = batch ? batch : f->most;
  if (f->least == f->most && f->batch != f->most)
    return neoc_fail(cli, NEOC_FAILED, "the model takes exactly %lld rows, not --batch %lld",
                     (long long)f->most, (long long)batch);
  if (f->batch < f->least || f->batch > f->most)
    return neoc_fail(cli, NEOC_FAILED, "--batch %lld: %s must be in [%lld, %lld]", (long long)batch,
                     f->data->r->lib.model->sizes[f->batch_size].name, (long long)f->least,
                     (long long)f->most);
  if (f->batch_size >= 0 && f->data->rows < f->batch && f->data->rows >= f->least)
    f->batch = f->data->rows;
  return NEOC_OK;
}

static void *room(const neoc_feed *f, const neo_rt_tensor *t) {
  const neoc_runner *r = f->data->r;
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(r->lib.model, t, NULL, extent);
  size_t bytes = (size_t)n * neo_rti_type_bytes(t->type) + 64;
  void *p = neo_arena_alloc(r->cli->arena, bytes + 64);
  return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
}

neoc_exit neoc_feed_open(const neoc_data *d, int32_t entry, int64_t batch, neoc_feed *f) {
  const neo_rt_entry *e = &d->r->lib.model->entries[entry];
  neo_arena *a = d->r->cli->arena;
  *f = (neoc_feed){.data = d, .entry = entry};
  f->args = NEO_NEW_ARRAY(a, void *, e->n_args + 1);
  f->sizes = NEO_NEW_ARRAY(a, int64_t, e->n_sizes + 1);
  neoc_exit code = find_batch(f);
  if (!code)
    code = choose_batch(batch, f);
  for (int32_t k = 0; k < e->n_args && !code; k++)
    f->args[k] = room(f, neoc_feed_tensor(f, k));
  return code;
}

void neoc_feed_fill(neoc_feed *f, const int64_t *order, int64_t n) {
  const neo_rt_model *m = f->data->r->lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  for (int32_t k = 0; k < e->n_inputs; k++)
    neoc_data_gather(f->data, m->entry_args[e->args + k], order, n, f->args[k]);
  for (int32_t k = 0; k < e->n_sizes; k++)
    f->sizes[k] = n;
}

double neoc_feed_scalar(const neoc_feed *f, int32_t output) {
  int32_t arg = f->data->r->lib.model->entries[f->entry].n_inputs + output;
  neo_rt_array x = {.type = neoc_feed_tensor(f, arg)->type, .data = f->args[arg]};
  return neoc_array_at(&x, 0);
}

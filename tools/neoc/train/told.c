/* Run-time sizes that are dimensions of rows, as T in `input y[B, T, 3]`: the files determine them,
 * one value for all rows. Rows that differ in such a size have offsets (graphs.h). */
#include "runtime/model.h"
#include "tools/neoc/train/data.h"

static const neo_rt_size *size_at(const neoc_data *d, int32_t size) {
  return &d->r->lib.model->sizes[size];
}

void neoc_told_init(neoc_data *d) {
  int32_t n = d->r->lib.model->n_sizes;
  d->told = NEO_NEW_ARRAY(d->r->cli->arena, neoc_told, (size_t)n + 1);
  for (int32_t k = 0; k < n; k++)
    d->told[k].n = -1;
}

/* The run-time size that is dimension k of the rows, if files may determine it; -1: none is. */
static int32_t size_of_dim(const neoc_data *d, const neo_rt_tensor *t, int k) {
  return neo_rti_program_size(d->r->lib.model, d->r->lib.model->extents[t->extent + k]);
}

static bool is_fixed(const neoc_data *d, const neo_rt_tensor *t, int k) {
  const neo_rt_model *m = d->r->lib.model;
  return neo_rti_program_fixed(m, m->extents[t->extent + k]);
}

neoc_exit neoc_told_can(const neoc_data *d, const neo_rt_tensor *t, bool crop) {
  for (int k = 1; k < t->rank; k++) {
    int32_t size = size_of_dim(d, t, k);
    if (is_fixed(d, t, k) || (size >= 0 && !crop))
      continue;
    if (size >= 0)
      return neoc_fail(d->r->cli, NEOC_FAILED,
                       "%s: dim %d is %s, and no file tells how long windows are: say -D %s=N (%s)",
                       t->name, k, size_at(d, size)->name, size_at(d, size)->name, t->place);
    return neoc_fail(d->r->cli, NEOC_FAILED,
                     "%s: dim %d is computed from run-time sizes, which no file tells: fix them by "
                     "-D NAME=N (%s)",
                     t->name, k, t->place);
  }
  return NEOC_OK;
}

static neoc_exit take(neoc_data *d, int32_t tensor, int32_t size, int64_t n) {
  const neo_rt_model *m = d->r->lib.model;
  const neo_rt_size *s = size_at(d, size);
  neoc_told *told = &d->told[size];
  const char *path = d->source[tensor].path, *name = m->tensors[tensor].name;
  if (n < s->lo || n > s->hi)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s: rows of %s have %s = %lld, expected %lld to %lld",
                     name, path, s->name, (long long)n, (long long)s->lo, (long long)s->hi);
  if (told->n >= 0 && told->n != n)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s: rows of %s have %s = %lld, those of %s have %lld",
                     name, path, s->name, (long long)n, d->source[told->by].path,
                     (long long)told->n);
  *told = (neoc_told){n, tensor};
  return NEOC_OK;
}

neoc_exit neoc_told_take(neoc_data *d, int32_t tensor) {
  const neo_rt_tensor *t = &d->r->lib.model->tensors[tensor];
  const neo_rt_array *x = &d->source[tensor].array;
  neoc_exit e = NEOC_OK;
  for (int k = 1; k < t->rank && !e; k++) {
    int32_t size = is_fixed(d, t, k) ? -1 : size_of_dim(d, t, k);
    if (size < 0)
      continue;
    if (x->rank != t->rank)
      return neoc_fail(d->r->cli, NEOC_FAILED,
                       "%s: %s has %d dimensions, expected %d, of which dim %d tells %s (%s)",
                       t->name, d->source[tensor].path, (int)x->rank, (int)t->rank, k,
                       size_at(d, size)->name, t->place);
    e = take(d, tensor, size, x->extent[k]);
  }
  return e;
}

void neoc_told_extents(const neoc_data *d, const neo_rt_tensor *t, int64_t *extent) {
  int32_t n = d->r->lib.model->n_sizes;
  int64_t *sizes = NEO_NEW_ARRAY(d->r->cli->arena, int64_t, (size_t)n + 1);
  for (int32_t k = 0; k < n; k++)
    sizes[k] = d->told[k].n >= 0 ? d->told[k].n : 1; /* the number of rows, which is not used
                                                        here */
  neo_rti_extents(d->r->lib.model, t, sizes, extent);
}

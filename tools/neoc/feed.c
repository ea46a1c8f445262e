/* Data files as an entry's inputs: types converted once, rows flattened to the input's shape, 8-bit
 * pictures scaled to [0, 1]; then batches of rows gathered into buffers that are made once. */
#include "runtime/internal.h"
#include "tools/neoc/train.h"
#include <stdlib.h>
#include <string.h>

static const neo_rt_tensor *arg_tensor(const neoc_runner *r, const neo_rt_entry *e, int32_t k) {
  return &r->lib.model->tensors[r->lib.model->entry_args[e->args + k]];
}

static const char *path_for(neoc_cli *cli, neoc_option option, const char *name) {
  neoc_texts words = neoc_words(cli, option);
  for (size_t k = 0; k < words.n; k++) {
    const char *value = NULL, *own = neoc_pair(cli, words.at[k], &value);
    if (own && neo_streq(own, name))
      return value[0] == '@' ? value + 1 : value;
  }
  return NULL;
}

/* ---- shapes */

/* The size that is the first dimension of all inputs; a constant number of rows otherwise. */
static neoc_exit find_batch(neoc_runner *r, const neo_rt_entry *e, neoc_feed *f) {
  const neo_rt_model *m = r->lib.model;
  f->batch_size = -1;
  f->constant = -1;
  for (int32_t k = 0; k < e->n_inputs; k++) {
    const neo_rt_tensor *t = arg_tensor(r, e, k);
    if (t->rank == 0)
      return neoc_fail(r->cli, NEOC_FAILED, "%s is a scalar: train feeds rows", t->name);
    int32_t size = neo_rti_program_size(m, m->extents[t->extent]);
    int64_t rows = size < 0 ? neo_rti_eval(m, m->extents[t->extent], NULL) : -1;
    if (k > 0 && (size != f->batch_size || rows != f->constant))
      return neoc_fail(r->cli, NEOC_FAILED, "%s and %s do not have the same number of rows",
                       arg_tensor(r, e, 0)->name, t->name);
    f->batch_size = size;
    f->constant = rows;
  }
  if (e->n_sizes > (f->batch_size >= 0))
    return neoc_fail(r->cli, NEOC_FAILED, "entry %s has more run-time sizes than the rows' number",
                     e->name);
  return NEOC_OK;
}

static neoc_exit choose_batch(neoc_runner *r, int64_t batch, neoc_feed *f) {
  if (f->batch_size < 0) {
    if (batch && batch != f->constant)
      return neoc_fail(r->cli, NEOC_FAILED, "the model takes exactly %lld rows, not --batch %lld",
                       (long long)f->constant, (long long)batch);
    f->batch = f->constant;
  } else {
    const neo_rt_size *s = &r->lib.model->sizes[f->batch_size];
    f->batch = batch ? batch : s->hi;
    if (f->batch < s->lo || f->batch > s->hi)
      return neoc_fail(r->cli, NEOC_FAILED, "--batch %lld: %s must be in [%lld, %lld]",
                       (long long)batch, s->name, (long long)s->lo, (long long)s->hi);
  }
  if (f->rows == 0 || (f->batch_size < 0 && f->rows < f->batch))
    return neoc_fail(r->cli, NEOC_FAILED, "%lld rows are too few for a step of %lld",
                     (long long)f->rows, (long long)f->batch);
  if (f->batch > f->rows)
    f->batch = f->rows;
  return NEOC_OK;
}

static neoc_exit fit_rows(neoc_runner *r, const neo_rt_tensor *t, const char *path,
                          neo_rt_array *x) {
  int64_t want[NEO_RTI_MAX_RANK], in = 1, own = 1;
  neo_rti_extents(r->lib.model, t, NULL, want);
  if (x->rank == 0)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: %s has no rows", t->name, path);
  for (int d = 1; d < x->rank; d++)
    in *= x->extent[d];
  for (int d = 1; d < t->rank; d++)
    own *= want[d];
  if (in != own)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: a row of %s has shape %s, expected %s (%s)", t->name,
                     path, neoc_shape_text(r->cli->arena, x->rank - 1u, x->extent + 1),
                     neoc_shape_text(r->cli->arena, t->rank - 1u, want + 1), t->place);
  for (int d = 1; d < t->rank; d++)
    x->extent[d] = want[d];
  x->rank = t->rank;
  return NEOC_OK;
}

/* ---- values */

static neoc_exit scale_of(neoc_runner *r, const char *name, bool picture, double *out) {
  const char *text = path_for(r->cli, NEOC_O_SCALE, name);
  *out = picture ? 1.0 / 255 : 1;
  if (text && !neoc_parse_real(text, out))
    return neoc_usage(r->cli, "--scale %s=%s is no number or fraction", name, text);
  return NEOC_OK;
}

static neoc_exit convert(neoc_runner *r, const neo_rt_tensor *t, neo_rt_array *x) {
  bool floats = neo_type_is_float((neo_type)t->type);
  double scale;
  neoc_exit e = scale_of(r, t->name, floats && x->type == NEO_RT_U8, &scale);
  if (e)
    return e;
  if (x->type != t->type) {
    neo_rt_array y;
    neo_rt_status s = neo_rt_array_convert(x, t->type, &y);
    if (s)
      return neoc_fail(r->cli, neoc_exit_of((neo_status)s), "%s: %s", t->name,
                       neo_rt_status_text(s));
    neo_rt_array_free(x);
    *x = y;
  }
  if (scale != 1)
    for (int64_t k = 0, n = neoc_array_count(x); k < n; k++)
      neoc_array_put(x, k, neoc_array_at(x, k) * scale);
  return NEOC_OK;
}

static neoc_exit open_input(neoc_runner *r, neoc_option option, const neo_rt_entry *e, int32_t k,
                            neoc_feed *f) {
  char error[1024] = "";
  const neo_rt_tensor *t = arg_tensor(r, e, k);
  const char *path = path_for(r->cli, option, t->name),
             *word = option == NEOC_O_DATA ? "data" : "test";
  if (!path)
    return neoc_usage(r->cli, "--%s lacks %s: entry %s needs --%s %s=FILE", word, t->name, e->name,
                      word, t->name);
  neo_rt_array *x = &f->data[k];
  neo_rt_status s = neo_rt_array_load(path, x, error, sizeof error);
  if (s)
    return neoc_fail(r->cli, neoc_exit_of((neo_status)s), "%s: %s", t->name, error);
  neoc_exit code = fit_rows(r, t, path, x);
  if (!code)
    code = convert(r, t, x);
  if (code)
    return code;
  if (k > 0 && x->extent[0] != f->rows)
    return neoc_fail(r->cli, NEOC_FAILED, "%s has %lld rows, but %s has %lld", t->name,
                     (long long)x->extent[0], arg_tensor(r, e, 0)->name, (long long)f->rows);
  f->rows = x->extent[0];
  return NEOC_OK;
}

static neoc_exit check_words(neoc_runner *r, neoc_option option, const neo_rt_entry *e) {
  neoc_texts words = neoc_words(r->cli, option);
  for (size_t w = 0; w < words.n; w++) {
    const char *value = NULL, *name = neoc_pair(r->cli, words.at[w], &value);
    bool found = false;
    if (!name)
      return neoc_usage(r->cli, "'%s' is not NAME=FILE", words.at[w]);
    for (int32_t k = 0; k < e->n_inputs; k++)
      found = found || neo_streq(arg_tensor(r, e, k)->name, name);
    if (!found)
      return neoc_usage(r->cli, "entry %s has no input '%s'", e->name, name);
  }
  return NEOC_OK;
}

static void *row_room(neoc_runner *r, const neo_rt_tensor *t, int64_t rows) {
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(r->lib.model, t, NULL, extent);
  (void)rows;
  size_t bytes = (size_t)n * neo_rti_type_bytes(t->type) + 64;
  void *p = neo_arena_alloc(r->cli->arena, bytes + 64);
  return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
}

neoc_exit neoc_feed_open(neoc_runner *r, neoc_option option, int32_t entry, int64_t batch,
                         neoc_feed *f) {
  const neo_rt_entry *e = &r->lib.model->entries[entry];
  neo_arena *a = r->cli->arena;
  *f = (neoc_feed){.entry = entry};
  f->data = NEO_NEW_ARRAY(a, neo_rt_array, e->n_args + 1);
  f->args = NEO_NEW_ARRAY(a, void *, e->n_args + 1);
  f->sizes = NEO_NEW_ARRAY(a, int64_t, e->n_sizes + 1);
  f->out_count = NEO_NEW_ARRAY(a, int64_t, e->n_args + 1);
  neoc_exit code = check_words(r, option, e);
  if (!code)
    code = find_batch(r, e, f);
  for (int32_t k = 0; k < e->n_inputs && !code; k++)
    code = open_input(r, option, e, k, f);
  if (!code)
    code = choose_batch(r, batch, f);
  for (int32_t k = 0; k < e->n_args && !code; k++) {
    int64_t extent[NEO_RTI_MAX_RANK];
    f->args[k] = row_room(r, arg_tensor(r, e, k), f->batch);
    f->out_count[k] = neo_rti_extents(r->lib.model, arg_tensor(r, e, k), NULL, extent);
  }
  return code;
}

void neoc_feed_close(neoc_runner *r, neoc_feed *f) {
  const neo_rt_entry *e = &r->lib.model->entries[f->entry];
  for (int32_t k = 0; f->data && k < e->n_inputs; k++)
    neo_rt_array_free(&f->data[k]);
}

void neoc_feed_fill(neoc_runner *r, neoc_feed *f, const int64_t *order, int64_t n) {
  const neo_rt_entry *e = &r->lib.model->entries[f->entry];
  for (int32_t k = 0; k < e->n_inputs; k++)
    neo_rt_gather(&f->data[k], order, n, f->args[k]);
  for (int32_t k = 0; k < e->n_sizes; k++)
    f->sizes[k] = n;
}

/* Arrays of data files: whole ones, or, if they are larger than --data-memory, the positions of
 * rows (stream.c). */
#include "tools/neoc/csv/csv.h"
#include "tools/neoc/train/stream.h"
#include <sys/stat.h>

static const neo_rt_tensor *tensor_at(const neoc_data *d, int32_t t) {
  return &d->r->lib.model->tensors[t];
}

/* The classes that the training data give to names of this input; null if these are the training
 * data themselves. */
static const neoc_texts *known_classes(const neoc_data *d, int32_t tensor) {
  const neoc_data *b = d->before;
  int32_t k = b ? neo_rt_find(b->r->lib.model, tensor_at(d, tensor)->name) : -1;
  return k >= 0 && b->source[k].path && b->source[k].classes.n ? &b->source[k].classes : NULL;
}

static neoc_exit load_table(neoc_data *d, int32_t tensor) {
  neoc_source *s = &d->source[tensor];
  const neo_rt_tensor *t = tensor_at(d, tensor);
  neoc_csv_wish wish = {.tensor = t->name,
                        .integer = !neo_type_is_float((neo_type)t->type),
                        .tells = !d->r->aside && !neoc_has(d->r->cli, NEOC_O_QUIET),
                        .known = known_classes(d, tensor)};
  return neoc_csv_read(d->r->cli, s->path, &wish, &s->array, &s->classes);
}

/* Refuses devices, which have no end. */
static neoc_exit check_file(const neoc_data *d, const char *name, const char *path) {
  struct stat st;
  if (stat(path, &st) != 0 || (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)))
    return NEOC_OK; /* reading it reports what is wrong */
  return neoc_fail(d->r->cli, NEOC_IO, "%s: %s is a device, not a file", name, path);
}

neoc_exit neoc_data_load(neoc_data *d, const char *name, const char *path, bool floats,
                         neo_rt_array *out) {
  char error[1024] = "";
  neoc_csv_wish wish = {.tensor = name, .integer = !floats, .no_names = true};
  neoc_exit e = check_file(d, name, path);
  if (e)
    return e;
  if (neoc_csv_is(path))
    return neoc_csv_read(d->r->cli, path, &wish, out, NULL);
  neo_rt_status s = neo_rt_array_load(path, out, error, sizeof error);
  return s ? neoc_fail(d->r->cli, neoc_exit_of((neo_status)s), "%s: %s", name, error) : NEOC_OK;
}

neoc_exit neoc_data_load_rows(neoc_data *d, int32_t tensor) {
  char error[1024] = "";
  neoc_source *s = &d->source[tensor];
  bool is_stream = false;
  neoc_exit e = check_file(d, tensor_at(d, tensor)->name, s->path);
  if (!e && neoc_csv_is(s->path))
    return load_table(d, tensor);
  if (!e)
    e = neoc_stream_open(d, tensor, &is_stream);
  if (e || is_stream)
    return e;
  neo_rt_status status = neo_rt_array_load(s->path, &s->array, error, sizeof error);
  return status ? neoc_fail(d->r->cli, neoc_exit_of((neo_status)status), "%s: %s",
                            tensor_at(d, tensor)->name, error)
                : NEOC_OK;
}

neoc_exit neoc_data_fit(const neoc_data *d, int32_t tensor) {
  neoc_runner *r = d->r;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  neo_rt_array *x = &d->source[tensor].array;
  const char *path = d->source[tensor].path;
  int64_t want[NEO_RTI_MAX_RANK], in = 1, own = 1;
  neoc_told_extents(d, t, want);
  if (x->rank == 0)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: %s has no rows", t->name, path);
  for (int k = 1; k < x->rank; k++)
    in *= x->extent[k];
  for (int k = 1; k < t->rank; k++)
    own *= want[k];
  if (in != own)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: a row of %s has shape %s, expected %s (%s)", t->name,
                     path, neoc_shape_text(r->cli->arena, x->rank - 1u, x->extent + 1),
                     neoc_shape_text(r->cli->arena, t->rank - 1u, want + 1), t->place);
  for (int k = 1; k < t->rank; k++)
    x->extent[k] = want[k];
  x->rank = t->rank;
  return NEOC_OK;
}

const char *neoc_data_place(const neoc_data *d, int32_t tensor, int64_t row, int64_t element) {
  const neoc_source *s = &d->source[tensor];
  if (!s->window)
    return neo_arena_printf(d->r->cli->arena, "row %lld of %s", (long long)row, s->path);
  int64_t of = neoc_array_count(&s->array) / s->array.extent[0];
  return neo_arena_printf(d->r->cli->arena, "element %lld of %s",
                          (long long)(row + s->shift + element / of), s->path);
}

/* See data.h. */
#include "tools/neoc/train/data.h"
#include "runtime/files.h"
#include "runtime/model.h"
#include "tools/neoc/csv/csv.h"
#include "tools/neoc/train/graphs.h"
#include "tools/neoc/train/stream.h"
#include "tools/neoc/train/trees.h"
#include <string.h>
#include <unistd.h>

static const neo_rt_tensor *tensor_at(const neoc_data *d, int32_t t) {
  return &d->r->lib.model->tensors[t];
}

static const char *option_word(const neoc_data *d) {
  return d->option == NEOC_O_DATA ? "data" : "test";
}

/* ---- NAME=FILE */

static const char *text_for(const neoc_data *d, const char *name) {
  neoc_texts words = neoc_words(d->r->cli, d->option);
  for (size_t k = 0; k < words.n; k++) {
    const char *value = NULL, *own = neoc_pair(d->r->cli, words.at[k], &value);
    if (own && neo_streq(own, name))
      return value[0] == '@' ? value + 1 : value;
  }
  return NULL;
}

/* Splits "text.txt:crop+1" into "text.txt" and 1; false if the word is no crop. */
static bool cut_crop(neo_arena *a, const char **path, int64_t *shift) {
  static const char word[] = ":crop";
  const char *at = NULL;
  for (const char *p = *path; (p = strstr(p, word)) != NULL; p++)
    at = p;
  *shift = 0;
  if (!at)
    return false;
  const char *rest = at + sizeof word - 1;
  if (*rest && (*rest != '+' || !neoc_parse_int(rest + 1, shift) || *shift < 0))
    return false;
  *path = neo_arena_strndup(a, *path, (size_t)(at - *path));
  return true;
}

/* ---- windows of a sequence */

/* Loads a file that is no array as a text: the bytes themselves if there is a class for each, else
 * numbers of the different bytes that occur. */
static neoc_exit load_sequence(neoc_data *d, int32_t tensor) {
  char error[1024] = "";
  neoc_source *s = &d->source[tensor];
  const neo_rt_tensor *t = tensor_at(d, tensor);
  if (neoc_csv_is(s->path) || neo_rti_is_array(s->path))
    return neoc_data_load_rows(d, tensor);
  neo_rt_status status = neo_rt_array_load(s->path, &s->array, error, sizeof error);
  if (status == NEO_FORMAT) {
    int64_t bound = neoc_data_bound(d, t);
    bound = bound < 0 ? 256 : bound;
    int16_t bytes[256];
    for (int16_t k = 0; k < 256; k++)
      bytes[k] = k;
    status = neo_rt_text_load(s->path, bound >= 256 ? bytes : d->vocab, NULL, &s->array, error,
                              sizeof error);
  }
  return status ? neoc_fail(d->r->cli, neoc_exit_of((neo_status)status), "%s: %s", t->name, error)
                : NEOC_OK;
}

/* Sets the shape of windows: a window is dimension 1 of the input, and an element of the sequence
 * the dimensions after it; without a dimension 1 a window is one element. */
static neoc_exit fit_windows(neoc_data *d, int32_t tensor) {
  neoc_cli *cli = d->r->cli;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  neoc_source *s = &d->source[tensor];
  int64_t want[NEO_RTI_MAX_RANK], in = 1, own = 1;
  neo_rti_extents(d->r->lib.model, t, NULL, want);
  s->window = t->rank > 1 ? want[1] : 1;
  for (int k = 1; k < s->array.rank; k++)
    in *= s->array.extent[k];
  for (int k = 2; k < t->rank; k++)
    own *= want[k];
  if (s->array.rank == 0 || in != own)
    return neoc_fail(cli, NEOC_FAILED,
                     "%s: an element of the sequence in %s has %lld numbers, expected %lld (%s)",
                     t->name, s->path, (long long)in, (long long)own, t->place);
  int64_t places = s->array.extent[0] - s->shift - s->window + 1;
  if (places < 1)
    return neoc_fail(cli, NEOC_FAILED, "%s: %s has %lld elements, too few for a window of %lld",
                     t->name, s->path, (long long)s->array.extent[0],
                     (long long)(s->window + s->shift));
  if (s->stream) {
    s->stream->shift = s->shift;
    s->stream->span = s->window;
  }
  d->places = d->places && d->places < places ? d->places : places;
  return NEOC_OK;
}

/* Counts the windows that fit without overlap. */
static void count_windows(neoc_data *d) {
  int64_t longest = 1;
  for (int32_t t = 0; t < d->r->lib.model->n_tensors; t++)
    if (d->source[t].path && d->source[t].window > longest)
      longest = d->source[t].window;
  d->crop_step = longest;
  d->rows = (d->places - 1) / longest + 1;
}

/* ---- opening */

/* Reports an array with another number of rows: a mistake, or one that counts the vertices or edges
 * of graphs, for which offsets have to be given. */
static neoc_exit other_rows(const neoc_data *d, int32_t tensor, int32_t first) {
  const neo_rt_model *m = d->r->lib.model;
  const neo_rt_tensor *t = tensor_at(d, tensor), *x = tensor_at(d, first);
  long long rows = d->source[tensor].array.extent[0], of_first = d->rows;
  int32_t a = x->rank ? neo_rti_program_size(m, m->extents[x->extent]) : -1;
  int32_t b = t->rank ? neo_rti_program_size(m, m->extents[t->extent]) : -1;
  if (a < 0 || b < 0 || a == b)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s has %lld rows, but %s has %lld", t->name, rows,
                     x->name, of_first);
  const char *p = m->sizes[a].name, *q = m->sizes[b].name;
  return neoc_fail(
      d->r->cli, NEOC_FAILED,
      "%s has %lld rows, of %s, but %s has %lld, of %s: where a row of the data is a graph, "
      "give offsets too, --%s %s=FILE,%s=FILE (of one graph they are [0, %lld] and [0, "
      "%lld])",
      x->name, of_first, p, t->name, rows, q, option_word(d), p, q, of_first, rows);
}

static neoc_exit check_same(neoc_data *d, int32_t tensor, bool crop, int32_t *first) {
  neoc_cli *cli = d->r->cli;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  int64_t rows = d->source[tensor].array.extent[0];
  if (d->bank) {
    if (crop)
      return neoc_fail(cli, NEOC_FAILED, "%s: a row is a tree of %s, not a window", t->name,
                       d->bank->path);
    if (rows != d->rows)
      return neoc_fail(cli, NEOC_FAILED, "%s has %lld rows, but %s has %lld trees", t->name,
                       (long long)rows, d->bank->path, (long long)d->rows);
  } else if (d->graphs) {
    if (crop || rows != d->rows)
      return neoc_fail(cli, NEOC_FAILED, "%s has %lld rows, but %s tells %lld", t->name,
                       (long long)rows, d->graphs->at[0].path, (long long)d->rows);
  } else if (*first < 0) {
    *first = tensor;
    d->rows = rows;
  } else if (crop != (d->source[*first].window > 0)) {
    return neoc_fail(cli, NEOC_FAILED, "%s and %s: either all inputs are crops or none is",
                     tensor_at(d, *first)->name, t->name);
  } else if (!crop && rows != d->rows) {
    return other_rows(d, tensor, *first);
  }
  return NEOC_OK;
}

static neoc_exit lacking(const neoc_data *d, const neo_rt_entry *e, int32_t tensor) {
  const char *option = option_word(d), *graph = neoc_graph_of(d, tensor), *file = "FILE";
  const char *name = tensor_at(d, tensor)->name;
  if (graph && !d->bank)
    name = graph, file = "TREES";
  else if (d->bank)
    file = neo_arena_printf(d->r->cli->arena, "FILE, or %s:word, %s:label or %s:root",
                            d->bank->graph, d->bank->graph, d->bank->graph);
  return neoc_usage(d->r->cli, "--%s lacks %s: entry %s needs --%s %s=%s", option, name, e->name,
                    option, name, file);
}

static neoc_exit open_input(neoc_data *d, const neo_rt_entry *e, int32_t tensor, int32_t *first) {
  const neo_rt_tensor *t = tensor_at(d, tensor);
  neoc_source *s = &d->source[tensor];
  if (s->path)
    return NEOC_OK;
  s->path = text_for(d, t->name);
  if (neoc_treebank_gives(d, tensor, s->path))
    return neoc_treebank_take(d, tensor, s->path);
  if (neoc_graphs_give(d, tensor, s->path) && (s->path || s->member != NEOC_RAGGED))
    return neoc_graphs_take(d, tensor, s->path);
  if (!s->path)
    return lacking(d, e, tensor);
  bool crop = cut_crop(d->r->cli->arena, &s->path, &s->shift);
  neoc_exit code = neoc_told_can(d, t, crop);
  if (!code)
    code = crop ? load_sequence(d, tensor) : neoc_data_load_rows(d, tensor);
  if (!code)
    code = neoc_told_take(d, tensor);
  if (!code)
    code = crop ? fit_windows(d, tensor) : neoc_data_fit(d, tensor);
  if (!code)
    code = neoc_data_convert(d, tensor);
  return code ? code : check_same(d, tensor, crop, first);
}

static neoc_exit check_words(const neoc_data *d, const int32_t *entries, size_t n) {
  const neo_rt_model *m = d->r->lib.model;
  neoc_texts words = neoc_words(d->r->cli, d->option);
  const char *option = neo_arena_printf(d->r->cli->arena, "--%s ", option_word(d));
  neoc_exit e = neoc_pairs_differ(d->r->cli, option, words);
  if (e)
    return e;
  for (size_t w = 0; w < words.n; w++) {
    const char *value = NULL, *name = neoc_pair(d->r->cli, words.at[w], &value);
    bool found = name && ((d->bank && neo_streq(name, d->bank->graph)) || neoc_graphs_has(d, name));
    if (!name)
      return neoc_usage(d->r->cli, "'%s' is not NAME=FILE", words.at[w]);
    for (size_t k = 0; k < n; k++)
      for (int32_t i = 0; i < m->entries[entries[k]].n_inputs; i++)
        found = found ||
                neo_streq(m->tensors[m->entry_args[m->entries[entries[k]].args + i]].name, name);
    if (!found)
      return neoc_usage(d->r->cli, "entry %s has no input '%s'", m->entries[entries[0]].name, name);
  }
  return NEOC_OK;
}

/* The value of --data-memory, or a quarter of the machine's memory. */
static neoc_exit read_memory(neoc_cli *cli, int64_t *out) {
  const char *text = neoc_text(cli, NEOC_O_DATA_MEMORY, NULL);
  *out = (int64_t)sysconf(_SC_PHYS_PAGES) / 4 * (int64_t)sysconf(_SC_PAGESIZE);
  if (text && !neoc_parse_bytes(text, out))
    return neoc_usage(cli, "--data-memory is a number of bytes, as 512M or 4G, not '%s'", text);
  return NEOC_OK;
}

neoc_exit neoc_data_open(neoc_runner *r, neoc_option option, const int32_t *entries, size_t n,
                         const neoc_data *before, neoc_data *d) {
  const neo_rt_model *m = r->lib.model;
  int32_t first = -1;
  *d = (neoc_data){.r = r, .option = option, .before = before};
  neoc_exit code = read_memory(r->cli, &d->memory);
  d->source = NEO_NEW_ARRAY(r->cli->arena, neoc_source, m->n_tensors + 1);
  neoc_told_init(d);
  for (int k = 0; k < 256; k++)
    d->vocab[k] = before ? before->vocab[k] : -1;
  if (!code)
    code = neoc_treebank_open(d, entries, n, before);
  if (!code)
    code = neoc_graphs_open(d, entries, n);
  if (!code)
    code = check_words(d, entries, n);
  for (size_t k = 0; k < n; k++)
    for (int32_t i = 0; i < m->entries[entries[k]].n_inputs && !code; i++)
      code = open_input(d, &m->entries[entries[k]], m->entry_args[m->entries[entries[k]].args + i],
                        &first);
  if (!code && d->places)
    count_windows(d);
  if (!code && (first >= 0 || d->graphs) && d->rows == 0)
    code = neoc_fail(r->cli, NEOC_FAILED, "%s has no rows",
                     d->graphs ? d->graphs->at[0].path : d->source[first].path);
  return code;
}

bool neoc_data_has_rows(const neoc_data *d, int32_t tensor) {
  return d->source[tensor].path && d->source[tensor].member == NEOC_ROWS;
}

void neoc_data_close(neoc_data *d) {
  for (int32_t t = 0; d->source && t < d->r->lib.model->n_tensors; t++)
    neo_rt_array_free(&d->source[t].array);
  neoc_prefetch_end(d);
  for (int32_t t = 0; d->source && t < d->r->lib.model->n_tensors; t++)
    if (d->source[t].stream)
      neoc_stream_close(d->source[t].stream);
  neoc_treebank_close(d->bank);
}

/* ---- rows */

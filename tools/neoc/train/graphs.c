/* See graphs.h. All that could be wrong with a batch is looked at when files are opened: offsets,
 * numbers of vertices, and the largest and smallest batches against the model's sizes. */
#include "tools/neoc/train/graphs.h"
#include "runtime/files.h"
#include "runtime/model.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const neo_rt_tensor *tensor_at(const neoc_data *d, int32_t t) {
  return &d->r->lib.model->tensors[t];
}

/* The size that is the first dimension; -1: none. */
static int32_t first_size(const neoc_data *d, int32_t tensor) {
  const neo_rt_model *m = d->r->lib.model;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  return t->rank ? neo_rti_program_size(m, m->extents[t->extent]) : -1;
}

/* The size that all elements are below; -1: none. */
static int32_t bound_size(const neoc_data *d, int32_t tensor) {
  const neo_rt_model *m = d->r->lib.model;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  int32_t below = t->ends ? m->extents[t->ends] : t->bound;
  return below >= 0 ? neo_rti_program_size(m, below) : -1;
}

int neoc_ragged_find(const neoc_data *d, int32_t size) {
  for (size_t k = 0; d->graphs && k < d->graphs->n; k++)
    if (d->graphs->at[k].size == size)
      return (int)k;
  return -1;
}

/* Whether the input has the offsets of lists. */
static bool are_offsets(const neoc_data *d, int32_t tensor) {
  return tensor_at(d, tensor)->offsets == tensor + 1;
}

/* The size that counts the input's elements; for offsets, the size of the tensors that they cut
 * into lists. */
static int32_t own_size(const neoc_data *d, int32_t tensor) {
  const neo_rt_model *m = d->r->lib.model;
  for (int32_t t = 0; are_offsets(d, tensor) && t < m->n_tensors; t++)
    if (t != tensor && m->tensors[t].offsets == tensor + 1)
      return first_size(d, t);
  return first_size(d, tensor);
}

static const neoc_ragged *ragged_of(const neoc_data *d, int32_t tensor) {
  return &d->graphs->at[neoc_ragged_find(d, own_size(d, tensor))];
}

bool neoc_graphs_has(const neoc_data *d, const char *name) {
  for (size_t k = 0; d->graphs && k < d->graphs->n; k++)
    if (neo_streq(d->graphs->at[k].name, name))
      return true;
  return false;
}

static int64_t length(const neoc_ragged *g, int64_t row) {
  return g->start[row + 1] - g->start[row];
}

/* Takes a last ":word" off; false: it ends otherwise. */
static bool cut_word(neo_arena *a, const char **text, const char *word) {
  const char *colon = strrchr(*text, ':');
  if (!colon || !neo_streq(colon + 1, word))
    return false;
  *text = neo_arena_strndup(a, *text, (size_t)(colon - *text));
  return true;
}

/* ---- offsets */

/* An array of integers of one dimension, as i64. */
static neoc_exit load_integers(neoc_data *d, const char *name, const char *path, int64_t **out,
                               int64_t *n) {
  neo_rt_array x, y = {0};
  neoc_exit e = neoc_data_load(d, name, path, false, &x);
  if (e)
    return e;
  *n = x.rank == 1 ? x.extent[0] : -1;
  if (*n < 0 || !neo_rti_type_is_int(x.type) || neo_rt_array_convert(&x, NEO_RT_I64, &y))
    e = neoc_fail(d->r->cli, NEOC_FAILED, "%s: %s is no list of integers", name, path);
  else
    *out = neo_arena_copy(d->r->cli->arena, y.data, y.size_bytes + (y.size_bytes == 0));
  neo_rt_array_free(&x);
  neo_rt_array_free(&y);
  return e;
}

static neoc_exit check_offsets(const neoc_data *d, const char *name, const char *path,
                               const int64_t *start, int64_t n) {
  if (n < 1 || start[0] != 0)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s: offsets in %s do not begin with 0", name, path);
  for (int64_t k = 1; k < n; k++)
    if (start[k] < start[k - 1])
      return neoc_fail(d->r->cli, NEOC_FAILED,
                       "%s: offset %" PRId64 " of %s is %" PRId64 ", less than %" PRId64
                       " before it",
                       name, k, path, start[k], start[k - 1]);
  return NEOC_OK;
}

static neoc_exit sum_counts(const neoc_data *d, const char *name, const char *path, int64_t **start,
                            int64_t *n) {
  int64_t *sums = NEO_NEW_ARRAY(d->r->cli->arena, int64_t, *n + 1);
  for (int64_t k = 0; k < *n; k++)
    if ((*start)[k] < 0 || __builtin_add_overflow(sums[k], (*start)[k], &sums[k + 1]))
      return neoc_fail(d->r->cli, NEOC_FAILED, "%s: count %" PRId64 " of %s is %" PRId64, name, k,
                       path, (*start)[k]);
  *start = sums;
  ++*n;
  return NEOC_OK;
}

/* Expands compressed rows: for each vertex the position at which its edges begin, counted through
 * the file, or in each graph anew, which then has one number more. */
static neoc_exit expand_rows(neoc_data *d, neoc_ragged *g, const int64_t *first, int64_t n) {
  const neoc_ragged *v = &d->graphs->at[g->vertices];
  neo_arena *a = d->r->cli->arena;
  int64_t vertices = v->start[d->rows], anew = n != vertices + 1;
  if (anew && n != vertices + d->rows)
    return neoc_fail(d->r->cli, NEOC_FAILED,
                     "%s: %s has %" PRId64 " numbers, but %" PRId64 " vertices need %" PRId64
                     ", or %" PRId64 " where each graph begins with 0",
                     g->name, g->path, n, vertices, vertices + 1, vertices + d->rows);
  g->vertex_start = NEO_NEW_ARRAY(a, int64_t, vertices + 1);
  g->start = NEO_NEW_ARRAY(a, int64_t, d->rows + 1);
  for (int64_t k = 0, base = 0; k < d->rows; k++) {
    const int64_t *own = first + v->start[k] + (anew ? k : 0);
    if (own[0] != (anew ? 0 : base))
      return neoc_fail(d->r->cli, NEOC_FAILED,
                       "%s: offsets of row %" PRId64 " in %s begin with %" PRId64, g->name, k,
                       g->path, own[0]);
    for (int64_t i = 0; i < length(v, k); i++) {
      if (own[i + 1] < own[i])
        return neoc_fail(d->r->cli, NEOC_FAILED,
                         "%s: of row %" PRId64 " in %s offset %" PRId64 " is %" PRId64
                         ", less than %" PRId64 " before it",
                         g->name, k, g->path, i + 1, own[i + 1], own[i]);
      g->vertex_start[v->start[k] + i] = own[i] + (anew ? base : 0);
    }
    base = own[length(v, k)] + (anew ? base : 0);
    g->start[k + 1] = g->vertex_start[v->start[k + 1]] = base;
  }
  return NEOC_OK;
}

static int ascending(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Sums the largest rows, and the smallest rows, for every number of rows. */
static void sum_rows(const neoc_data *d, neoc_ragged *g) {
  neo_arena *a = d->r->cli->arena;
  int64_t *by = NEO_NEW_ARRAY(a, int64_t, d->rows + 1);
  g->largest = NEO_NEW_ARRAY(a, int64_t, d->rows + 1);
  g->smallest = NEO_NEW_ARRAY(a, int64_t, d->rows + 1);
  for (int64_t k = 0; k < d->rows; k++)
    by[k] = length(g, k);
  qsort(by, (size_t)d->rows, sizeof *by, ascending);
  for (int64_t k = 0; k < d->rows; k++) {
    g->smallest[k + 1] = g->smallest[k] + by[k];
    g->largest[k + 1] = g->largest[k] + by[d->rows - 1 - k];
  }
}

/* Finds the vertices of compressed rows: the elements of the only size with plain offsets. */
static neoc_exit find_vertices(neoc_data *d, neoc_ragged *g) {
  size_t found = 0;
  for (size_t k = 0; k < d->graphs->n; k++)
    if (!d->graphs->at[k].vertex_start) {
      g->vertices = k;
      found++;
    }
  return found == 1 ? NEOC_OK
                    : neoc_usage(d->r->cli,
                                 "%s=...:csr needs one size of vertices in --data, as V=%s:start",
                                 g->name, g->path);
}

static neoc_exit read_size(neoc_data *d, int32_t size, const char *text, bool compressed) {
  neoc_cli *cli = d->r->cli;
  neoc_ragged g = {.size = size, .name = d->r->lib.model->sizes[size].name, .path = text};
  int64_t n = 0, *start = NULL;
  cut_word(cli->arena, &g.path, "csr");
  bool counts = cut_word(cli->arena, &g.path, "counts");
  neoc_exit e = load_integers(d, g.name, g.path, &start, &n);
  if (!e && compressed && (e = find_vertices(d, &g)) == NEOC_OK)
    e = expand_rows(d, &g, start, n);
  else if (!e && counts)
    e = sum_counts(d, g.name, g.path, &start, &n);
  if (!e && !compressed)
    e = check_offsets(d, g.name, g.path, start, n);
  if (e)
    return e;
  if (!compressed)
    g.start = start;
  if (!compressed && d->graphs->n && n - 1 != d->rows)
    return neoc_fail(cli, NEOC_FAILED, "%s tells %" PRId64 " rows, but %s tells %" PRId64, g.path,
                     n - 1, d->graphs->at[0].path, d->rows);
  if (!compressed)
    d->rows = n - 1;
  sum_rows(d, &g);
  d->graphs->at[d->graphs->n++] = g;
  return NEOC_OK;
}

/* The size of this name that an entry has; -1. */
static int32_t size_named(const neoc_data *d, const int32_t *entries, size_t n, const char *name) {
  const neo_rt_model *m = d->r->lib.model;
  for (size_t k = 0; k < n; k++)
    for (int32_t i = 0; i < m->entries[entries[k]].n_sizes; i++) {
      int32_t size = m->entry_sizes[m->entries[entries[k]].sizes + i];
      if (neo_streq(m->sizes[size].name, name))
        return size;
    }
  return -1;
}

neoc_exit neoc_graphs_open(neoc_data *d, const int32_t *entries, size_t n) {
  neo_arena *a = d->r->cli->arena;
  neoc_texts words = neoc_words(d->r->cli, d->option);
  struct neoc_graphs *g = NEO_NEW(a, struct neoc_graphs);
  neoc_exit e = NEOC_OK;
  g->at = NEO_NEW_ARRAY(a, neoc_ragged, words.n + 1);
  d->graphs = g;
  for (int compressed = 0; compressed < 2; compressed++) /* compressed rows need the sizes of the
                                                            others */
    for (size_t w = 0; w < words.n && !e; w++) {
      const char *text = NULL, *name = neoc_pair(d->r->cli, words.at[w], &text);
      int32_t size = name ? size_named(d, entries, n, name) : -1;
      if (size >= 0 && neoc_ends_with(text, ":csr") == (compressed == 1))
        e = read_size(d, size, text, compressed == 1);
    }
  if (!g->n)
    d->graphs = NULL;
  return e;
}

/* ---- inputs */

bool neoc_graphs_give(const neoc_data *d, int32_t tensor, const char *text) {
  neoc_source *s = &d->source[tensor];
  int own = d->graphs ? neoc_ragged_find(d, own_size(d, tensor)) : -1;
  if (own < 0 || (text && are_offsets(d, tensor)))
    return false;
  bool lists = neoc_ragged_find(d, bound_size(d, tensor)) >= 0;
  s->member = NEOC_RAGGED;
  if (are_offsets(d, tensor))
    s->member = NEOC_BEGIN;
  else if (!text && !lists && bound_size(d, tensor) >= 0)
    s->member = NEOC_GRAPH;
  else if (text && neo_streq(text, neo_arena_printf(d->r->cli->arena, "%s:vertex",
                                                    d->graphs->at[own].name)))
    s->member = NEOC_VERTEX;
  return true;
}

static neoc_exit take_made(neoc_data *d, int32_t tensor) {
  const neo_rt_tensor *t = tensor_at(d, tensor);
  neoc_source *s = &d->source[tensor];
  const neoc_ragged *g = ragged_of(d, tensor);
  s->path = g->path;
  if (t->rank != 1 || t->type != NEO_RT_I32)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s: needs `input %s[%s] : i32 < ...` (%s)", t->name,
                     t->name, g->name, t->place);
  if (s->member == NEOC_VERTEX && !g->vertex_start)
    return neoc_usage(d->r->cli, "%s=%s:vertex: %s is no compressed list of rows (%s=FILE:csr)",
                      t->name, g->name, g->path, g->name);
  if (s->member == NEOC_BEGIN && !g->vertex_start)
    return neoc_usage(d->r->cli, "%s: %s is no compressed list of rows (%s=FILE:csr)", t->name,
                      g->path, g->name);
  return NEOC_OK;
}

/* Keeps one side of an array of pairs, [2, M] or [M, 2]. */
static neoc_exit take_side(neoc_data *d, int32_t tensor, int side) {
  neo_rt_array *x = &d->source[tensor].array;
  neo_rt_array half = {.type = x->type, .rank = 1};
  size_t bytes = neo_rti_type_bytes(x->type);
  int64_t n = ragged_of(d, tensor)->start[d->rows];
  bool rows = x->rank == 2 && x->extent[0] == 2 && x->extent[1] == n;
  bool columns = x->rank == 2 && x->extent[1] == 2 && x->extent[0] == n;
  if (rows == columns)
    return neoc_fail(d->r->cli, NEOC_FAILED,
                     "%s: %s has the shape %s, which is not one of [2, %lld] and [%lld, 2]",
                     tensor_at(d, tensor)->name, d->source[tensor].path,
                     neoc_shape_text(d->r->cli->arena, x->rank, x->extent), (long long)n,
                     (long long)n);
  half.extent[0] = n;
  if (neo_rti_array_alloc(&neo_alloc_default, &half))
    return neoc_fail(d->r->cli, NEOC_DEVICE, "%s: out of memory", d->source[tensor].path);
  for (int64_t k = 0; k < n; k++)
    memcpy((char *)half.data + (size_t)k * bytes,
           (const char *)x->data + (size_t)(rows ? side * n + k : 2 * k + side) * bytes, bytes);
  neo_rt_array_free(x);
  *x = half;
  return NEOC_OK;
}

/* Checks that vertex numbers are within their graph. Numbers that count through the file are made
 * to count from the graph's first vertex. */
static neoc_exit check_vertices(neoc_data *d, int32_t tensor, bool global) {
  neoc_source *s = &d->source[tensor];
  const neoc_ragged *g = ragged_of(d, tensor), *v = &d->graphs->at[s->shift];
  int64_t of = g->start[d->rows] ? neoc_array_count(&s->array) / g->start[d->rows] : 0;
  for (int64_t k = 0; k < d->rows; k++)
    for (int64_t i = g->start[k] * of; i < g->start[k + 1] * of; i++) {
      int64_t x = (int64_t)neoc_array_at(&s->array, i) - (global ? v->start[k] : 0);
      if (x < 0 || x >= length(v, k))
        return neoc_fail(
            d->r->cli, NEOC_FAILED,
            "%s: element %" PRId64 " of row %" PRId64 " of %s is %" PRId64
            ", but the row has %" PRId64 " of %s%s",
            tensor_at(d, tensor)->name, i / of - g->start[k], k, s->path,
            (int64_t)neoc_array_at(&s->array, i), length(v, k), v->name,
            global ? "" : " (:global after the file's name if they count through all rows)");
      neoc_array_put(&s->array, i, (double)x);
    }
  return NEOC_OK;
}

/* Checks that the child of each edge in a list comes before the vertex. */
static neoc_exit check_children(const neoc_data *d, int32_t tensor) {
  const neoc_source *s = &d->source[tensor];
  const neoc_ragged *g = ragged_of(d, tensor), *v = &d->graphs->at[s->shift];
  for (int64_t k = 0; g->vertex_start && k < d->rows; k++)
    for (int64_t i = v->start[k]; i < v->start[k + 1]; i++)
      for (int64_t e = g->vertex_start[i]; e < g->vertex_start[i + 1]; e++)
        if ((int64_t)neoc_array_at(&s->array, e) >= i - v->start[k])
          return neoc_fail(d->r->cli, NEOC_FAILED,
                           "%s: element %" PRId64 " of row %" PRId64 " of %s is %" PRId64
                           ", which is not before vertex %" PRId64 ", whose child it is",
                           tensor_at(d, tensor)->name, e - g->start[k], k, s->path,
                           (int64_t)neoc_array_at(&s->array, e), i - v->start[k]);
  return NEOC_OK;
}

neoc_exit neoc_graphs_take(neoc_data *d, int32_t tensor, const char *text) {
  neo_arena *a = d->r->cli->arena;
  const neo_rt_tensor *t = tensor_at(d, tensor);
  neoc_source *s = &d->source[tensor];
  const neoc_ragged *g = ragged_of(d, tensor);
  if (s->member != NEOC_RAGGED)
    return take_made(d, tensor);
  s->shift = neoc_ragged_find(d, bound_size(d, tensor));
  bool global = s->shift >= 0 && cut_word(a, &text, "global");
  int side = cut_word(a, &text, "from") ? 0 : cut_word(a, &text, "to") ? 1 : -1;
  s->path = text;
  neoc_exit e = neoc_data_load(d, t->name, text, neo_type_is_float((neo_type)t->type), &s->array);
  if (!e && side >= 0)
    e = take_side(d, tensor, side);
  if (!e)
    e = neoc_data_fit(d, tensor);
  if (!e && s->array.extent[0] != g->start[d->rows])
    e = neoc_fail(d->r->cli, NEOC_FAILED, "%s: %s has %" PRId64 " rows, but %s ends at %" PRId64,
                  t->name, text, s->array.extent[0], g->path, g->start[d->rows]);
  if (!e)
    e = neoc_data_convert(d, tensor);
  if (!e && s->shift >= 0)
    e = check_vertices(d, tensor, global);
  return e || s->shift < 0 || !t->offsets ? e : check_children(d, tensor);
}

/* ---- sizes of batches */

static neoc_exit too_many(const neoc_data *d, const neoc_ragged *g, int64_t n, int64_t most) {
  return neoc_fail(d->r->cli, NEOC_FAILED,
                   "%s: a batch of %" PRId64 " rows may have %s = %" PRId64
                   ", but the model has %s <= %" PRId64 "; %" PRId64 " rows always fit",
                   g->path, n, g->name, g->largest[n], g->name, d->r->lib.model->sizes[g->size].hi,
                   most);
}

neoc_exit neoc_graphs_limit(const neoc_data *d, int64_t n, int64_t *most) {
  *most = d->rows;
  for (size_t k = 0; k < d->graphs->n; k++)
    while (*most > 0 &&
           d->graphs->at[k].largest[*most] > d->r->lib.model->sizes[d->graphs->at[k].size].hi)
      --*most;
  for (size_t k = 0; n && k < d->graphs->n; k++) {
    const neoc_ragged *g = &d->graphs->at[k];
    const neo_rt_size *size = &d->r->lib.model->sizes[g->size];
    int64_t last = d->rows % n ? d->rows % n : n; /* rows of the smallest step */
    if (g->largest[n] > size->hi)
      return too_many(d, g, n, *most);
    if (g->smallest[last] < size->lo)
      return neoc_fail(d->r->cli, NEOC_FAILED,
                       "%s: a batch of %" PRId64 " rows may have %s = %" PRId64
                       ", but the model has it at least %" PRId64 ": write `dim 0 <= %s <= ...`",
                       g->path, last, g->name, g->smallest[last], size->lo, g->name);
  }
  return NEOC_OK;
}

/* ---- batches */

void neoc_graphs_begin(const neoc_data *d, const int64_t *order, int64_t n) {
  for (size_t k = 0; k < d->graphs->n; k++) {
    neoc_ragged *g = &d->graphs->at[k];
    g->now = 0;
    for (int64_t i = 0; i < n; i++)
      g->now += length(g, order[i]);
  }
}

static void put_graphs(const neoc_ragged *g, const int64_t *order, int64_t n, int32_t *out) {
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = length(g, order[k]); i > 0; i--)
      *out++ = (int32_t)k;
}

static void put_vertices(const neoc_data *d, const neoc_ragged *g, const int64_t *order, int64_t n,
                         int32_t *out) {
  const neoc_ragged *v = &d->graphs->at[g->vertices];
  int32_t vertex = 0;
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = v->start[order[k]]; i < v->start[order[k] + 1]; i++, vertex++)
      for (int64_t e = g->vertex_start[i]; e < g->vertex_start[i + 1]; e++)
        *out++ = vertex;
}

static void put_offsets(const neoc_data *d, const neoc_ragged *g, const int64_t *order, int64_t n,
                        int32_t *out) {
  const neoc_ragged *v = &d->graphs->at[g->vertices];
  int32_t end = 0;
  *out++ = end;
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = v->start[order[k]]; i < v->start[order[k] + 1]; i++)
      *out++ = end += (int32_t)(g->vertex_start[i + 1] - g->vertex_start[i]);
}

/* Adds to the vertex numbers of a row the number of vertices in the rows before it. */
static void shift(const neo_rt_array *x, int64_t base, int64_t n, char *at) {
  neo_rt_array part = {.type = x->type, .data = at};
  for (int64_t k = 0; k < n; k++)
    neoc_array_put(&part, k, neoc_array_at(&part, k) + (double)base);
}

void neoc_graphs_put(const neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                     void *out) {
  const neoc_source *s = &d->source[tensor];
  const neoc_ragged *g = ragged_of(d, tensor);
  if (s->member == NEOC_GRAPH) {
    put_graphs(g, order, n, out);
    return;
  }
  if (s->member == NEOC_VERTEX || s->member == NEOC_BEGIN) {
    (s->member == NEOC_VERTEX ? put_vertices : put_offsets)(d, g, order, n, out);
    return;
  }
  int64_t total = g->start[d->rows], base = 0;
  int64_t of = total ? neoc_array_count(&s->array) / total : 0;
  size_t bytes = total ? s->array.size_bytes / (size_t)total : 0;
  char *at = out;
  for (int64_t k = 0; k < n; k++) {
    int64_t count = length(g, order[k]);
    if (count && bytes)
      memcpy(at, (const char *)s->array.data + (size_t)g->start[order[k]] * bytes,
             (size_t)count * bytes);
    if (s->shift >= 0) {
      shift(&s->array, base, count * of, at);
      base += length(&d->graphs->at[s->shift], order[k]);
    }
    at += (size_t)count * bytes;
  }
}

int64_t neoc_graphs_count(const neoc_data *d, int32_t tensor) {
  return ragged_of(d, tensor)->now;
}

const char *neoc_graphs_place(const neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                              int64_t element) {
  const neoc_ragged *g = ragged_of(d, tensor);
  int64_t k = 0;
  for (; k + 1 < n && element >= length(g, order[k]); k++)
    element -= length(g, order[k]);
  return neo_arena_printf(d->r->cli->arena, "element %" PRId64 " of row %" PRId64 " of %s", element,
                          order[k], d->source[tensor].path);
}

/* Diagnostics: the table and the collection. Printing is in diag_print.c and diag_json.c. */
#include "base/diag_rec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *code;
  neo_severity severity;
  const char *format;
} row;

static const row table[NEO_D_COUNT] = {
#define X(id, code, severity, format) {code, NEO_SEV_##severity, format},
#include "base/diag.def"
#undef X
};

const char *neo_diag_code(neo_diag_id id) {
  return table[id].code;
}

neo_severity neo_diag_severity(neo_diag_id id) {
  return table[id].severity;
}

const char *neo_severity_text(neo_severity severity) {
  switch (severity) {
  case NEO_SEV_ERROR:
    return "error";
  case NEO_SEV_WARNING:
    return "warning";
  case NEO_SEV_REMARK:
    return "remark";
  }
  return "error";
}

neo_diags *neo_diags_new(neo_arena *a, neo_sources *sources) {
  neo_diags *d = NEO_NEW(a, neo_diags);
  d->arena = a;
  d->sources = sources;
  neo_map_init(&d->seen, a);
  return d;
}

neo_sources *neo_diags_sources(neo_diags *d) {
  return d->sources;
}

/* Whether one of its kind is at the same position; diagnostics without a position are compared by
 * their text. */
static bool is_repetition(neo_diags *d, neo_span at, neo_diag_id id, const char *text) {
  if (at != 0)
    return neo_map_get(&d->seen, (uint64_t)at << 32 | (uint32_t)id, NULL);
  for (size_t i = 0; i < d->recs.n; i++)
    if (d->recs.at[i].at == 0 && d->recs.at[i].id == id && neo_streq(d->recs.at[i].text, text))
      return true;
  return false;
}

int neo_diag(neo_diags *d, neo_span at, neo_diag_id id, ...) {
  assert(id < NEO_D_COUNT);
  va_list ap;
  va_start(ap, id);
  char *text = neo_arena_vprintf(d->arena, table[id].format, ap);
  va_end(ap);
  at = neo_span_called(d->sources, at, 0);
  if (d->closed || is_repetition(d, at, id, text))
    return -1;
  d->errors += table[id].severity == NEO_SEV_ERROR;
  if (d->recs.n == NEO_DIAGS_KEPT) {
    d->dropped++;
    return -1;
  }
  uint32_t handle = (uint32_t)d->recs.n;
  neo_diag_rec rec = {.at = at, .id = id, .text = text, .order = handle};
  NEO_PUSH(d->arena, &d->recs, rec);
  neo_map_set(&d->seen, (uint64_t)at << 32 | (uint32_t)id, handle);
  return (int)handle;
}

void neo_diags_close(neo_diags *d) {
  d->closed = true;
}

static neo_diag_rec *rec_of(neo_diags *d, int handle) {
  assert(handle >= 0 && (size_t)handle < d->recs.n);
  return &d->recs.at[handle];
}

void neo_diag_range(neo_diags *d, int handle, neo_span range) {
  if (handle >= 0 && range != 0)
    NEO_PUSH(d->arena, &rec_of(d, handle)->ranges, range);
}

static void add_remark(neo_diags *d, int handle, bool help, const char *text) {
  NEO_PUSH(d->arena, &rec_of(d, handle)->remarks, (neo_diag_remark){help, text});
}

void neo_diag_note(neo_diags *d, int handle, const char *fmt, ...) {
  if (handle < 0)
    return;
  va_list ap;
  va_start(ap, fmt);
  add_remark(d, handle, false, neo_arena_vprintf(d->arena, fmt, ap));
  va_end(ap);
}

void neo_diag_help(neo_diags *d, int handle, const char *fmt, ...) {
  if (handle < 0)
    return;
  va_list ap;
  va_start(ap, fmt);
  add_remark(d, handle, true, neo_arena_vprintf(d->arena, fmt, ap));
  va_end(ap);
}

size_t neo_diags_errors(const neo_diags *d) {
  return d->errors;
}

size_t neo_diags_count(const neo_diags *d) {
  return d->recs.n;
}

typedef struct {
  const neo_diag_rec *rec;
  uint64_t place; /* file and offset */
} sort_key;

static int compare_keys(const void *x, const void *y) {
  const sort_key *a = x, *b = y;
  if (a->place != b->place)
    return a->place < b->place ? -1 : 1;
  int codes = strcmp(neo_diag_code(a->rec->id), neo_diag_code(b->rec->id));
  if (codes != 0)
    return codes;
  return a->rec->order < b->rec->order ? -1 : a->rec->order > b->rec->order;
}

const neo_diag_rec **neo_diags_sorted(neo_diags *d) {
  size_t n = d->recs.n;
  sort_key *keys = NEO_NEW_ARRAY(d->arena, sort_key, n);
  for (size_t i = 0; i < n; i++) {
    keys[i].rec = &d->recs.at[i];
    keys[i].place = UINT64_MAX;
    if (keys[i].rec->at) {
      neo_line line = neo_span_line(d->sources, keys[i].rec->at);
      keys[i].place = (uint64_t)line.file << 32 | line.offset;
    }
  }
  if (n > 1)
    qsort(keys, n, sizeof *keys, compare_keys);
  const neo_diag_rec **sorted = NEO_NEW_ARRAY(d->arena, const neo_diag_rec *, n);
  for (size_t i = 0; i < n; i++)
    sorted[i] = keys[i].rec;
  return sorted;
}

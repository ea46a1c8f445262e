/* Diagnostics as the structs of neo.h, in an arena that outlives the compilation. */
#include "tools/library/build.h"

typedef struct {
  neo_arena *arena;
  const neo_sources *sources;
} copier;

static neo_note note_at(const copier *x, neo_span span) {
  neo_place p = neo_span_place(x->sources, span);
  return (neo_note){.file = neo_arena_strdup(x->arena, p.file),
                    .line = (int32_t)p.line,
                    .column = (int32_t)p.column,
                    .length = (int32_t)p.length,
                    .text = ""};
}

/* Copies the notes, then the other places of a diagnostic. */
static void copy_notes(const copier *x, const neo_diag_item *item, neo_diagnostic *d) {
  neo_note *n = NEO_NEW_ARRAY(x->arena, neo_note, item->n_notes + item->n_ranges + 1);
  d->notes = n;
  for (size_t k = 0; k < item->n_notes; k++)
    n[d->n_notes++].text = neo_arena_strdup(x->arena, item->notes[k]);
  for (size_t k = 0; k < item->n_ranges; k++)
    n[d->n_notes++] = note_at(x, item->ranges[k]);
}

static const char *copy_help(const copier *x, const neo_diag_item *item) {
  neo_str s = neo_str_in(x->arena);
  for (size_t k = 0; k < item->n_helps; k++)
    neo_str_addf(&s, "%s%s", k ? "\n" : "", item->helps[k]);
  return item->n_helps ? neo_str_text(&s) : NULL;
}

static void copy_place(const copier *x, const neo_diag_item *item, neo_diagnostic *d) {
  if (!item->at)
    return;
  neo_note place = note_at(x, item->at);
  d->file = place.file;
  d->line = place.line;
  d->column = place.column;
  d->length = place.length;
  d->source_line = neo_arena_strndup(x->arena, item->line, item->line_bytes);
}

const neo_diagnostic *neo_diagnostics_copy(neo_arena *a, neo_diags *d, int32_t *n) {
  copier x = {a, neo_diags_sources(d)};
  size_t count;
  const neo_diag_item *items = neo_diags_items(d, &count);
  neo_diagnostic *out = NEO_NEW_ARRAY(a, neo_diagnostic, count + 1);
  for (size_t k = 0; k < count; k++) {
    out[k].severity = items[k].severity; /* these two are constants */
    out[k].code = items[k].code;
    out[k].message = neo_arena_strdup(a, items[k].text);
    copy_place(&x, &items[k], &out[k]);
    out[k].help = copy_help(&x, &items[k]);
    copy_notes(&x, &items[k], &out[k]);
  }
  *n = (int32_t)count;
  return out;
}

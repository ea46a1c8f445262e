/* Diagnostics as data, for programs. */
#include "base/diag_rec.h"

static const char *const *remarks_of(neo_arena *a, const neo_diag_rec *r, bool help, size_t *n) {
  const char **out = NEO_NEW_ARRAY(a, const char *, r->remarks.n + 1);
  *n = 0;
  for (size_t k = 0; k < r->remarks.n; k++)
    if (r->remarks.at[k].help == help)
      out[(*n)++] = r->remarks.at[k].text;
  return out;
}

static void fill(const neo_diags *d, const neo_diag_rec *r, neo_diag_item *out) {
  *out = (neo_diag_item){.severity = neo_severity_text(neo_diag_severity(r->id)),
                         .code = neo_diag_code(r->id),
                         .text = r->text,
                         .at = r->at,
                         .ranges = r->ranges.at,
                         .n_ranges = r->ranges.n};
  out->notes = remarks_of(d->arena, r, false, &out->n_notes);
  out->helps = remarks_of(d->arena, r, true, &out->n_helps);
  if (!r->at)
    return;
  neo_line line = neo_span_line(d->sources, r->at);
  out->line = line.text;
  out->line_bytes = line.n;
}

const neo_diag_item *neo_diags_items(neo_diags *d, size_t *n) {
  const neo_diag_rec **sorted = neo_diags_sorted(d);
  neo_diag_item *items = NEO_NEW_ARRAY(d->arena, neo_diag_item, d->recs.n + 1);
  *n = d->recs.n;
  for (size_t k = 0; k < *n; k++)
    fill(d, sorted[k], &items[k]);
  return items;
}

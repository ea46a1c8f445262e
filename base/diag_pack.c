/* Diagnostics as bytes, and back, for caches of what a compilation made.
 *
 * A position is the number of its file among the sources, from 1, then offset and length, and then
 * the position of the call around it; 0 ends it. */
#include "base/diag_rec.h"
#include "base/pack.h"

/* ---- writing */

static void put_span(neo_str *out, const neo_sources *s, neo_span span) {
  for (; span; span = neo_span_caller(s, span)) {
    neo_place p = neo_span_place(s, span);
    neo_pack_number(out, p.file_id + 1);
    neo_pack_number(out, p.offset);
    neo_pack_number(out, p.length);
  }
  neo_pack_number(out, 0);
}

static void put_rec(neo_str *out, const neo_sources *s, const neo_diag_rec *r) {
  put_span(out, s, r->at);
  neo_pack_number(out, r->id);
  neo_pack_text(out, r->text);
  neo_pack_number(out, r->ranges.n);
  for (size_t k = 0; k < r->ranges.n; k++)
    put_span(out, s, r->ranges.at[k]);
  neo_pack_number(out, r->remarks.n);
  for (size_t k = 0; k < r->remarks.n; k++) {
    neo_pack_number(out, r->remarks.at[k].help);
    neo_pack_text(out, r->remarks.at[k].text);
  }
}

void neo_diags_pack(const neo_diags *d, neo_str *out) {
  neo_pack_number(out, d->recs.n);
  neo_pack_number(out, d->dropped);
  for (size_t k = 0; k < d->recs.n; k++)
    put_rec(out, d->sources, &d->recs.at[k]);
}

/* ---- reading */

/* Reads a position, from the innermost call to the outermost. */
static neo_span span(neo_diags *d, neo_unpack *r) {
  neo_sources *s = d->sources;
  size_t bytes = 0;
  uint64_t file = neo_unpack_below(r, (uint64_t)neo_sources_count(s) + 1);
  if (!file)
    return 0;
  (void)neo_sources_text(s, (uint32_t)file - 1, &bytes);
  uint32_t offset = (uint32_t)neo_unpack_below(r, bytes + 1);
  uint32_t length = (uint32_t)neo_unpack_below(r, bytes - offset + 1);
  neo_span own = neo_span_of(s, (uint32_t)file - 1, offset, length), caller = span(d, r);
  return caller ? neo_span_called(s, own, caller) : own;
}

static void read_rec(neo_diags *d, neo_unpack *r) {
  neo_diag_rec rec = {.at = span(d, r), .order = (uint32_t)d->recs.n};
  rec.id = (neo_diag_id)neo_unpack_below(r, NEO_D_COUNT);
  rec.text = neo_arena_strdup(d->arena, neo_unpack_text(r));
  for (uint64_t k = 0, n = neo_unpack_number(r); k < n && !r->bad; k++)
    NEO_PUSH(d->arena, &rec.ranges, span(d, r));
  for (uint64_t k = 0, n = neo_unpack_number(r); k < n && !r->bad; k++) {
    neo_diag_remark remark = {.help = neo_unpack_below(r, 2) != 0};
    remark.text = neo_arena_strdup(d->arena, neo_unpack_text(r));
    NEO_PUSH(d->arena, &rec.remarks, remark);
  }
  d->errors += neo_diag_severity(rec.id) == NEO_SEV_ERROR;
  neo_map_set(&d->seen, (uint64_t)rec.at << 32 | rec.id, rec.order);
  NEO_PUSH(d->arena, &d->recs, rec);
}

bool neo_diags_unpack(neo_diags *d, const char *data, size_t n) {
  neo_unpack r = {.at = data, .n = n};
  uint64_t count = neo_unpack_below(&r, NEO_DIAGS_KEPT + 1);
  d->dropped = neo_unpack_number(&r);
  for (uint64_t k = 0; k < count && !r.bad; k++)
    read_rec(d, &r);
  return !r.bad && r.n == 0;
}

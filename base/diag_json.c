/* Diagnostics as JSON, for editors and scripts. */
#include "base/diag_rec.h"
#include "base/utf8.h"

#include <string.h>

/* JSON must be UTF-8 whatever the source holds: other bytes become U+FFFD. */
static void add_text(neo_str *out, neo_arena *arena, const char *text) {
  neo_str clean = neo_str_in(arena);
  for (size_t n = strlen(text); n > 0;) {
    size_t length = neo_utf8_decode(text, n, NULL);
    neo_str_addn(&clean, length ? text : "\xef\xbf\xbd", length ? length : 3);
    length = length ? length : 1;
    text += length;
    n -= length;
  }
  neo_str_add_json(out, neo_str_text(&clean));
}

static void add_place(neo_str *out, neo_diags *d, neo_span span) {
  neo_place p = neo_span_place(d->sources, span);
  neo_str_add(out, "\"file\": ");
  add_text(out, d->arena, p.file);
  neo_str_addf(out, ", \"line\": %u, \"column\": %u, \"offset\": %u, \"length\": %u", p.line,
               p.column, p.offset, p.length);
}

static void add_remarks(neo_str *out, neo_diags *d, const neo_diag_rec *rec, bool help) {
  neo_str_addf(out, ", \"%s\": [", help ? "help" : "notes");
  const char *comma = "";
  for (size_t i = 0; i < rec->remarks.n; i++) {
    if (rec->remarks.at[i].help != help)
      continue;
    neo_str_add(out, comma);
    add_text(out, d->arena, rec->remarks.at[i].text);
    comma = ", ";
  }
  neo_str_addc(out, ']');
}

static void add_rec(neo_str *out, neo_diags *d, const neo_diag_rec *rec) {
  neo_str_addf(out,
               "{\"code\": \"%s\", \"severity\": \"%s\", \"message\": ", neo_diag_code(rec->id),
               neo_severity_text(neo_diag_severity(rec->id)));
  add_text(out, d->arena, rec->text);
  neo_str_add(out, ", ");
  add_place(out, d, rec->at);
  neo_str_add(out, ", \"ranges\": [");
  for (size_t i = 0; i < rec->ranges.n; i++) {
    neo_str_add(out, i ? ", {" : "{");
    add_place(out, d, rec->ranges.at[i]);
    neo_str_addc(out, '}');
  }
  neo_str_addc(out, ']');
  add_remarks(out, d, rec, false);
  add_remarks(out, d, rec, true);
  neo_str_addc(out, '}');
}

void neo_diags_print_json(neo_diags *d, neo_str *out) {
  const neo_diag_rec **sorted = neo_diags_sorted(d);
  neo_str_add(out, "{\"diagnostics\": [");
  for (size_t i = 0; i < d->recs.n; i++) {
    neo_str_add(out, i ? ",\n  " : "\n  ");
    add_rec(out, d, sorted[i]);
  }
  neo_str_add(out, d->recs.n ? "\n]}\n" : "]}\n");
}

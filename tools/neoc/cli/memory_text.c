#include "tools/neoc/neoc.h"

static void add_entry(neo_str *s, neo_arena *a, const neo_entry_memory *e) {
  neo_str_addf(s, "%s: memory %s, lower bound %s", e->name, neoc_bytes_text(a, e->frame_bytes),
               neoc_bytes_text(a, e->lower_bound_bytes));
  if (e->lower_bound_bytes > 0)
    neo_str_addf(s, " (%.3f)", (double)e->frame_bytes / (double)e->lower_bound_bytes);
  neo_str_addc(s, '\n');
}

const char *neoc_memory_text(neo_arena *a, const neo_summary *made) {
  neo_str s = neo_str_in(a);
  for (size_t k = 0; k < made->entries.n; k++)
    add_entry(&s, a, &made->entries.at[k]);
  if (made->cached_bytes)
    neo_str_addf(&s, "cached between calls: %s\n", neoc_bytes_text(a, made->cached_bytes));
  return neo_str_text(&s);
}

/* Any bytes as a file of records: nothing goes wrong, and what is accepted is valid, prints and
 * reads back the same. */
#include "tools/cache/set.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(neo_arena *a, const neo_record *r) {
  neo_str line, again;
  neo_record back;
  const char *why = NULL;
  size_t n;
  assert(neo_record_valid(r, &why));
  neo_str_init(&line, a);
  neo_str_init(&again, a);
  neo_record_line(r, &line);
  const char *json = neo_record_unline(neo_str_text(&line), line.n, &n);
  assert(json && json + n + 1 == neo_str_text(&line) + line.n);
  neo_status s = neo_record_parse(a, json, n, &back, &why);
  assert(s == NEO_OK);
  neo_record_line(&back, &again);
  assert(neo_streq(neo_str_text(&line), neo_str_text(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  neo_arena a;
  neo_records s;
  neo_record r;
  const char *why = NULL;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_records_init(&s, &a);
  neo_status status = neo_records_take(&s, "fuzz", (const char *)data, n, &why);
  assert(!status || why);
  for (size_t k = 0; k < s.all.n; k++)
    check(&a, &s.all.at[k]);
  /* without the checksum, which chance does not find */
  if (neo_record_parse(&a, (const char *)data, n, &r, &why) == NEO_OK)
    check(&a, &r);
  neo_arena_free(&a);
  return 0;
}

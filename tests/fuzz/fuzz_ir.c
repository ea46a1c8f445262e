/* Any bytes as IR text: the parser answers, and what it accepts prints to text that it accepts
 * again and that prints the same. */
#include "ir/print.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static neo_module *parse(neo_arena *a, const char *text, size_t n) {
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "fuzz.ir", text, n);
  neo_str s;
  neo_str_init(&s, a);
  neo_diags_print(d, &s, false);
  if (!m && neo_diags_errors(d) == 0)
    abort();
  return m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_module *m = parse(&a, (const char *)data, size);
  if (m) {
    neo_str first, second;
    neo_str_init(&first, &a);
    neo_str_init(&second, &a);
    neo_module_print(m, &first);
    neo_module *again = parse(&a, neo_str_text(&first), first.n);
    if (!again)
      abort();
    neo_module_print(again, &second);
    if (!neo_streq(neo_str_text(&first), neo_str_text(&second)))
      abort();
  }
  neo_arena_free(&a);
  return 0;
}

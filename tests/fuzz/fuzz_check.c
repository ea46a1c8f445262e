/* The whole frontend on any text: no crash, no hang, and a module that verifies when there are no
 * errors. The limit on definitions keeps a small text from becoming a large program. */
#include "frontend/frontend.h"
#include "ir/order.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(neo_arena *a, const uint8_t *data, size_t size) {
  neo_names *names = neo_names_new(a);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_frontend_options o = {.limit = 300};
  const char *text = neo_arena_strndup(a, (const char *)data, size);
  neo_module *m = neo_frontend(a, names, d, "fuzz.expr", text, size, &o);
  neo_str s;
  neo_str_init(&s, a);
  neo_diags_print(d, &s, false);
  if ((m == NULL) != (neo_diags_errors(d) > 0))
    abort();
  if (m && neo_module_check(m, &s) != NEO_OK) {
    fprintf(stderr, "%s\n", neo_str_text(&s));
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  neo_arena a;
  jmp_buf failed;
  neo_arena_init(&a, neo_alloc_default, &failed);
  if (!setjmp(failed) && size < 1 << 16)
    check(&a, data, size);
  neo_arena_free(&a);
  return 0;
}

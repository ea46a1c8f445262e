/* See world.h. */
#include "tests/transform/world.h"
#include "ir/print.h"
#include "ir/verify.h"

void load(world *w, const char *text) {
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(&w->arena, neo_sources_new(&w->arena));
  w->m = neo_module_parse(&w->arena, neo_names_new(&w->arena), d, "test", text, strlen(text));
  if (!w->m) {
    neo_str s;
    neo_str_init(&s, &w->arena);
    neo_diags_print(d, &s, false);
    fail_msg("%s\n%s", neo_str_text(&s), text);
  }
}

void apply(world *w, neo_status (*pass)(neo_module *)) {
  neo_str why;
  neo_str_init(&why, &w->arena);
  assert_int_equal(pass(w->m), NEO_OK);
  if (neo_module_verify(w->m, &why))
    fail_msg("%s", neo_str_text(&why));
}

const char *text_of(world *w) {
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_module_print(w->m, &s);
  return neo_str_text(&s);
}

const char *piece(world *w, const char *tensor, uint32_t k) {
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_tensor t = neo_tensor_find(w->m, tensor);
  if (!t.i || neo_tensor_at(w->m, t)->pieces.n <= k)
    fail_msg("no piece %u of %s", k, tensor);
  neo_def_print(w->m, (neo_def){neo_list_at(w->m, neo_tensor_at(w->m, t)->pieces, k)}, &s);
  return neo_str_text(&s);
}

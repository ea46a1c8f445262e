/* See world.h. */
#include "tests/transform/world.h"
#include "base/random.h"
#include "ir/order.h"
#include "ir/print.h"
#include "ir/verify/verify.h"

void load(world *w, const char *text) {
  w->target = (neo_pass_target){0};
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

void load_two(world *w, const char *head, const char *rest) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  load(w, neo_arena_printf(&a, "%s%s", head, rest));
  neo_arena_free(&a);
}

void apply(world *w, neo_pass_fn *pass) {
  neo_str why;
  neo_str_init(&why, &w->arena);
  bool proved = neo_reads_verify(w->m, &why) == NEO_OK;
  neo_str_init(&why, &w->arena);
  assert_int_equal(neo_pass_call(w->m, &w->target, pass), NEO_OK);
  if (proved ? neo_module_check_reads(w->m, &why) : neo_module_check(w->m, &why))
    fail_msg("%s", neo_str_text(&why));
}

static void must_have(world *w, const char *part) {
  if (!strstr(text_of(w), part))
    fail_msg("%s is not in\n%s", part, text_of(w));
}

void becomes_by(neo_pass_fn *pass, const char *head, const char *rest, const char *parts,
                const char *whole) {
  world w;
  load_two(&w, head, rest);
  apply(&w, pass);
  if (parts)
    must_have(&w, parts);
  else if (strstr(text_of(&w), "partial."))
    fail_msg("parts in\n%s", text_of(&w));
  must_have(&w, whole);
  neo_arena_free(&w.arena);
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

static int64_t below(uint64_t *seed, int64_t n) {
  return (int64_t)(neo_splitmix(seed) % (uint64_t)n);
}

neo_interp *values_of(world *w, int64_t size) {
  neo_interp *p = neo_interp_new(&w->arena, w->m, (int64_t[2]){0, size}, 1);
  neo_str why;
  neo_str_init(&why, &w->arena);
  uint64_t seed = 7;
  for (uint32_t t = 1; t < w->m->tensors.n; t++) {
    const neo_tensor_rec *r = &w->m->tensors.at[t];
    int64_t bound = 4;
    if (r->role != NEO_ROLE_INPUT)
      continue;
    if (r->bound.i)
      neo_expr_is_int(w->m, r->bound, &bound);
    neo_values *v = neo_interp_tensor(p, (neo_tensor){t});
    for (int64_t i = 0; i < v->n; i++)
      if (neo_type_is_float((neo_type)r->type))
        v->at[i].f = (double)(below(&seed, 9) - 4) / 4;
      else
        v->at[i].i = below(&seed, bound);
  }
  if (neo_interp_run(p, 0, &why))
    fail_msg("%s\n%s", neo_str_text(&why), text_of(w));
  return p;
}

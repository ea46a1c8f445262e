/* Objects of kernels in the cache. The record, which is every build's own, is not among them. */
#include "base/hash.h"
#include "base/pack.h"
#include "tools/pipeline/code.h"

/* Functions that kernels share have the prefix in their names. */
void neo_code_kernels_begin(neo_compilation *c) {
  neo_str s;
  neo_code_begin(c);
  if (!c->code)
    return;
  neo_str_init(&s, &c->arena);
  neo_pack_text(&s, "neo kernel 1");
  neo_pack_text(&s, c->code->compiler);
  neo_pack_text(&s, c->prefix);
  neo_code_add_target(&s, &c->host);
  neo_hash128(neo_str_text(&s), s.n, c->code->kernels);
}

static void add(neo_str *s, const neo_kernel *k, const char *symbol) {
  uint64_t key[2];
  neo_kernel_code_key(k, s->arena, key);
  neo_pack_text(s, symbol);
  neo_str_addn(s, (const char *)key, sizeof key);
}

static neo_code_key key_of(const neo_compilation *c, const neo_plan_kernel *k, neo_arena *scratch) {
  neo_str s;
  neo_str_init(&s, scratch);
  neo_str_addn(&s, (const char *)c->code->kernels, sizeof c->code->kernels);
  add(&s, k->kernel, k->symbol);
  if (k->fast)
    add(&s, k->fast, k->fast_symbol);
  return neo_code_key_of(NEO_CODE_KERNEL, neo_str_text(&s), s.n);
}

bool neo_code_kernel_find(const neo_compilation *c, const neo_plan_kernel *k, neo_arena *scratch,
                          neo_arena *a, neo_object *out) {
  return c->code && neo_code_get(c->code->cache, key_of(c, k, scratch), a, &out->data,
                                 &out->size_bytes);
}

void neo_code_kernel_keep(const neo_compilation *c, const neo_plan_kernel *k, neo_arena *scratch,
                          const neo_object *made) {
  if (c->code)
    neo_code_put(c->code->cache, key_of(c, k, scratch), made->data, made->size_bytes, false);
}

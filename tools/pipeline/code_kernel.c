/* Objects of kernels in the cache. The object with the record is not cached: it differs between
 * builds. */
#include "base/hash.h"
#include "base/pack.h"
#include "tools/pipeline/code.h"

/* Prepares the keys of kernels. The prefix is part of a key, because functions that kernels share
 * have it in their names. */
void neo_code_kernels_begin(neo_compilation *c) {
  neo_code_begin(c);
  if (!c->code)
    return;
  neo_str s = neo_str_in(&c->arena);
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

neo_code_key neo_code_kernel_key(const neo_compilation *c, const neo_plan_kernel *k,
                                 neo_arena *scratch) {
  neo_str s = neo_str_in(scratch);
  neo_str_addn(&s, (const char *)c->code->kernels, sizeof c->code->kernels);
  neo_pack_text(&s, "kernel");
  add(&s, k->kernel, k->symbol);
  if (k->fast)
    add(&s, k->fast, k->fast_symbol);
  return neo_code_key_of(NEO_CODE_KERNEL, neo_str_text(&s), s.n);
}

neo_code_key neo_code_shared_key(const neo_compilation *c, const char *name, neo_arena *scratch) {
  neo_str s = neo_str_in(scratch);
  neo_str_addn(&s, (const char *)c->code->kernels, sizeof c->code->kernels);
  neo_pack_text(&s, "shared");
  neo_pack_text(&s, name);
  return neo_code_key_of(NEO_CODE_KERNEL, neo_str_text(&s), s.n);
}

bool neo_code_part_find(const neo_compilation *c, neo_code_key key, neo_arena *a,
                        neo_code_part *out) {
  neo_unpack r = {0};
  *out = (neo_code_part){0};
  if (!neo_code_get(c->code->cache, key, a, &r.at, &r.n))
    return false;
  for (uint64_t k = 0, n = neo_unpack_number(&r); k < n && !r.bad; k++)
    NEO_PUSH(a, &out->calls, neo_unpack_text(&r));
  out->object.data = neo_unpack_bytes(&r, &out->object.size_bytes);
  return !r.bad && r.n == 0;
}

void neo_code_part_keep(const neo_compilation *c, neo_code_key key, neo_arena *scratch,
                        const neo_code_part *made) {
  neo_str s = neo_str_in(scratch);
  neo_pack_number(&s, made->calls.n);
  for (size_t k = 0; k < made->calls.n; k++)
    neo_pack_text(&s, made->calls.at[k]);
  neo_pack_bytes(&s, made->object.data, made->object.size_bytes);
  neo_code_put(c->code->cache, key, neo_str_text(&s), s.n, false);
}

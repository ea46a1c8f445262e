/* Schedules that were searched for, in this compilation and in earlier ones: searched.h. */
#include "tools/pipeline/searched.h"
#include "base/machine_text.h"
#include "base/pack.h"
#include "fusion/extract.h"
#include "ir/prove/prove.h"
#include "tools/pipeline/code.h"
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

typedef struct {
  uint64_t hash[2];
  neo_schedule schedule;
} searched;

struct neo_searched {
  neo_map at; /* the first word of a key -> index into all, of the last one that has it */
  NEO_VEC(searched) all;
};

/* ---- keys */

_Static_assert(sizeof(neo_machine) == 560, "a field that is added is added to add_machine");

/* Adds every bit of the numbers that prices depend on: the text of a machine has fewer digits. */
static void add_machine(neo_str *s, const neo_machine *m) {
  const char *prices = (const char *)&m->profile.threads;
  int64_t x[] = {m->isa,      m->vector_bytes, m->vector_regs,  m->fma,      m->l1_bytes,
                 m->l2_bytes, m->matrix,       m->threads,      m->gpu,      m->warps,
                 m->async,    m->warpgroups,   m->shared_bytes, m->few_rows, m->profile.workers};
  neo_machine_print(m, s);
  neo_str_addn(s, (const char *)x, sizeof x);
  neo_pack_bytes(s, (const char *)&m->hz, sizeof m->hz);
  neo_pack_bytes(s, (const char *)&m->core, sizeof m->core);
  neo_pack_bytes(s, (const char *)&m->sm, sizeof m->sm);
  neo_pack_bytes(s, prices, sizeof m->profile - offsetof(neo_profile, threads));
}

static neo_code_key key_of(const neo_compilation *c, const neo_module *m, const neo_group *g,
                           const neo_machine *machine, neo_arena *scratch) {
  neo_str s = neo_str_in(scratch);
  neo_pack_text(&s, "neo schedule 1");
  neo_pack_text(&s, c->code ? c->code->compiler : "");
  add_machine(&s, machine);
  neo_extract_print(m, g, &s);
  return neo_code_key_of(NEO_CODE_SCHEDULE, neo_str_text(&s), s.n);
}

/* ---- results of this compilation */

static const searched *known(const neo_compilation *c, neo_code_key key) {
  uint64_t at;
  if (!c->searched || !neo_map_get(&c->searched->at, key.hash[0], &at))
    return NULL;
  const searched *x = &c->searched->all.at[at];
  return x->hash[1] == key.hash[1] ? x : NULL;
}

static void note(neo_compilation *c, neo_code_key key, const neo_schedule *s) {
  if (!c->searched) {
    c->searched = NEO_NEW(&c->arena, struct neo_searched);
    neo_map_init(&c->searched->at, &c->arena);
  }
  neo_map_set(&c->searched->at, key.hash[0], c->searched->all.n);
  NEO_PUSH(&c->arena, &c->searched->all, (searched){{key.hash[0], key.hash[1]}, *s});
}

/* ---- the cache */

static bool read(neo_compilation *c, neo_code_key key, neo_arena *scratch, neo_schedule *out) {
  const char *text;
  size_t n;
  return c->code && neo_code_get(c->code->cache, key, scratch, &text, &n) && strlen(text) == n &&
         neo_schedule_parse(text, out);
}

static void keep(neo_compilation *c, neo_code_key key, neo_arena *scratch, const neo_schedule *s) {
  neo_str text = neo_str_in(scratch);
  neo_schedule_print(s, &text);
  if (c->code)
    neo_code_put(c->code->cache, key, neo_str_text(&text), text.n, false);
}

/* ---- searching */

static neo_schedule search(neo_compilation *c, const neo_group *g, const neo_machine *machine,
                           neo_arena *scratch) {
  neo_group own;
  neo_schedule s;
  neo_module *m = neo_group_extract(c->module, g, scratch, &own);
  neo_code_key key = key_of(c, m, &own, machine, scratch);
  const searched *x = known(c, key);
  if (x)
    return x->schedule;
  if (!read(c, key, scratch, &s) || !neo_schedule_legal(m, &own, machine, &s, NULL)) {
    s = neo_schedule_default(m, &own, machine);
    if (neo_proofs_total(m).isl_quota)
      return s;
    keep(c, key, scratch, &s);
  }
  note(c, key, &s);
  return s;
}

/* Searches. False: memory ended. The caller frees the scratch in any case. */
static bool try_search(neo_compilation *c, const neo_group *g, const neo_machine *machine,
                       neo_arena *scratch, neo_schedule *out) {
  jmp_buf here;
  jmp_buf *volatile outer = c->arena.on_fail;
  volatile bool good = false;
  if (outer)
    c->arena.on_fail = scratch->on_fail = &here;
  if (setjmp(here) == 0) {
    *out = search(c, g, machine, scratch);
    good = true;
  }
  c->arena.on_fail = outer;
  return good;
}

neo_schedule neo_compile_search(neo_compilation *c, const neo_group *g,
                                const neo_machine *machine) {
  neo_arena scratch;
  neo_schedule s;
  if (!neo_schedule_is_searched(c->module, g))
    return neo_schedule_default(c->module, g, machine);
  neo_arena_init(&scratch, c->arena.alloc, NULL);
  bool good = try_search(c, g, machine, &scratch, &s);
  neo_arena_free(&scratch);
  if (!good)
    neo_arena_fail(&c->arena);
  bool legal = neo_schedule_legal(c->module, g, machine, &s, NULL);
  return legal ? s : neo_schedule_default(c->module, g, machine);
}

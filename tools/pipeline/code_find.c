/* Looking for a build in the cache, and keeping one. code.h says what keys are made of. */
#include "base/file.h"
#include "base/hash.h"
#include "base/pack.h"
#include "tools/pipeline/code.h"
#include "tools/pipeline/stages.h"
#include <string.h>

/* ---- the cache */

void neo_code_begin(neo_compilation *c) {
  const char *compiler, *why = NULL;
  if (c->code || !c->options.cache || !(compiler = neo_compiler_id(&c->arena)))
    return;
  struct neo_code_use *x = NEO_NEW(&c->arena, struct neo_code_use);
  x->compiler = compiler;
  x->cache = neo_code_open(&neo_io_default, &c->arena, c->options.cache, neo_code_limit(), &why);
  c->code_refused = why;
  c->code = x->cache ? x : NULL;
}

void neo_code_end(neo_compilation *c) {
  if (c->code)
    neo_code_close(c->code->cache);
  c->code = NULL;
}

/* A folder that is not to be trusted is worth a word; one that cannot be written, where the user has named it. */
static void report(neo_compilation *c) {
  const char *why = c->code_refused;
  if (!why && c->code && c->options.cache_named)
    why = neo_code_failure(c->code->cache, &c->arena);
  if (why)
    neo_diag(c->diags, 0, NEO_D_CODE_CACHE_UNUSED, why);
}

/* ---- what is at the paths of modules */

void neo_code_looked(void *compilation, const char *path, bool found) {
  neo_compilation *c = compilation;
  if (!c->code)
    return;
  for (size_t k = 0; k < c->code->probes.n; k++)
    if (neo_streq(c->code->probes.at[k].path, path))
      return;
  NEO_PUSH(&c->arena, &c->code->probes, (neo_probe){path, found});
}

typedef struct {
  const char *path, *text; /* text null: nothing is there */
  size_t n;
} module;

typedef struct {
  neo_compilation *c;
  NEO_VEC(module) modules;
} finder;

static neo_code_key second_key(finder *f) {
  neo_str s;
  neo_str_init(&s, &f->c->arena);
  neo_str_addn(&s, (const char *)f->c->code->build.hash, sizeof f->c->code->build.hash);
  for (size_t k = 0; k < f->modules.n; k++) {
    const module *m = &f->modules.at[k];
    uint64_t h[2] = {0};
    if (m->text)
      neo_hash128(m->text, m->n, h);
    neo_pack_text(&s, m->path);
    neo_pack_number(&s, m->text ? m->n : UINT64_MAX);
    neo_str_addn(&s, (const char *)h, sizeof h);
  }
  return neo_code_key_of(NEO_CODE_BUILD, neo_str_text(&s), s.n);
}

/* False: there is something that cannot be read, which the frontend will report. */
static bool read_module(finder *f, const char *path) {
  module m = {.path = path};
  char *text = NULL;
  bool found = neo_path_exists(path);
  if (found && neo_file_read(&neo_io_default, &f->c->arena, path, 0, &text, &m.n))
    return false;
  m.text = text;
  NEO_PUSH(&f->c->arena, &f->modules, m);
  return true;
}

static bool read_modules(finder *f, const char *data, size_t n) {
  neo_unpack r = {.at = data, .n = n};
  for (uint64_t k = 0, count = neo_unpack_number(&r); k < count && !r.bad; k++)
    if (!read_module(f, neo_unpack_text(&r)))
      return false;
  return !r.bad && r.n == 0;
}

static const char *text_of(void *ctx, const char *name, size_t *n) {
  finder *f = ctx;
  const struct neo_code_use *x = f->c->code;
  if (neo_streq(name, f->c->options.path)) {
    *n = x->text_bytes;
    return x->text;
  }
  for (size_t k = 0; k < f->modules.n; k++)
    if (neo_streq(f->modules.at[k].path, name) && f->modules.at[k].text) {
      *n = f->modules.at[k].n;
      return f->modules.at[k].text;
    }
  return NULL;
}

/* ---- looking */

/* What the front does first; a failure is left to it. */
static bool begin(neo_compilation *c) {
  bool good = !neo_compile_begin(c, &c->code->text, &c->code->text_bytes) &&
              !neo_compile_choose_target(c);
  c->why = NULL;
  return good;
}

static bool first_key(neo_compilation *c) {
  neo_str s;
  neo_str_init(&s, &c->arena);
  if (!neo_code_key_text(c, &s))
    return false;
  neo_code_records(c, c->code->records);
  neo_str_addn(&s, (const char *)c->code->records, sizeof c->code->records);
  c->code->build = neo_code_key_of(NEO_CODE_INPUTS, neo_str_text(&s), s.n);
  return true;
}

/* Nothing of a build that is not whole may stay. */
static bool unpack(finder *f, const char *data, size_t n) {
  neo_compilation *c = f->c;
  if (neo_code_unpack(c, data, n, text_of, f))
    return true;
  c->outputs.n = c->objects.n = 0;
  c->summary = (neo_summary){0};
  c->sources = NULL;
  c->diags = NULL;
  return false;
}

void neo_code_find(neo_compilation *c) {
  finder f = {.c = c};
  const char *data;
  size_t n;
  if (!c->code || !begin(c) || !first_key(c))
    return;
  c->code->whole = true;
  neo_code_cache *cache = c->code->cache;
  c->found = neo_code_get(cache, c->code->build, &c->arena, &data, &n) &&
             read_modules(&f, data, n) &&
             neo_code_get(cache, second_key(&f), &c->arena, &data, &n) && unpack(&f, data, n);
}

/* ---- keeping */

static const char *source_text(neo_compilation *c, const char *name, size_t *n) {
  for (uint32_t k = 0; k < neo_sources_count(c->sources); k++)
    if (neo_streq(neo_sources_name(c->sources, k), name))
      return neo_sources_text(c->sources, k, n);
  return NULL;
}

/* What was compiled, not what may be there by now. */
static bool compiled_modules(finder *f) {
  neo_compilation *c = f->c;
  for (size_t k = 0; k < c->code->probes.n; k++) {
    const neo_probe *p = &c->code->probes.at[k];
    module m = {.path = p->path};
    if (p->found && !(m.text = source_text(c, p->path, &m.n)))
      return false;
    NEO_PUSH(&c->arena, &f->modules, m);
  }
  return true;
}

static void keep_inputs(const finder *f) {
  neo_str s;
  neo_compilation *c = f->c;
  neo_str_init(&s, &c->arena);
  neo_pack_number(&s, f->modules.n);
  for (size_t k = 0; k < f->modules.n; k++)
    neo_pack_text(&s, f->modules.at[k].path);
  neo_code_put(c->code->cache, c->code->build, neo_str_text(&s), s.n, true);
}

static bool records_stayed(neo_compilation *c) {
  uint64_t now[2];
  neo_code_records(c, now);
  return memcmp(now, c->code->records, sizeof now) == 0;
}

static void keep(neo_compilation *c) {
  finder f = {.c = c};
  neo_str s;
  if (!compiled_modules(&f) || !records_stayed(c))
    return;
  neo_str_init(&s, &c->arena);
  neo_code_pack(c, &s);
  neo_code_put(c->code->cache, second_key(&f), neo_str_text(&s), s.n, true);
  keep_inputs(&f);
}

void neo_code_keep(neo_compilation *c) {
  if (c->code && c->code->whole && !c->found)
    keep(c);
  report(c);
}

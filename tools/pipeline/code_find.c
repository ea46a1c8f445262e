/* Looks for a build in the cache, and adds one. code.h describes the keys. */
#include "base/file.h"
#include "base/hash.h"
#include "base/pack.h"
#include "tools/pipeline/code.h"
#include "tools/pipeline/compile.h"
#include "tools/pipeline/stages.h"
#include <string.h>

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

/* Warns of a cache folder that cannot be trusted, and, if the user has named the folder, of one
 * that cannot be written. */
static void report(neo_compilation *c) {
  const char *why = c->code_refused;
  if (!why && c->code && c->options.cache_named)
    why = neo_code_failure(c->code->cache, &c->arena);
  if (why)
    neo_diag(c->diags, 0, NEO_D_CODE_CACHE_UNUSED, why);
}

/* ---- files at the paths of modules */

void neo_code_looked(void *compilation, const char *path, const char *text, size_t n) {
  neo_compilation *c = compilation;
  if (!c->code)
    return;
  for (size_t k = 0; k < c->code->probes.n; k++)
    if (neo_streq(c->code->probes.at[k].path, path))
      return;
  NEO_PUSH(&c->arena, &c->code->probes, (neo_probe){path, text, n});
}

static neo_code_key second_key(neo_compilation *c) {
  neo_str s = neo_str_in(&c->arena);
  neo_str_addn(&s, (const char *)c->code->build.hash, sizeof c->code->build.hash);
  for (size_t k = 0; k < c->code->probes.n; k++) {
    const neo_probe *p = &c->code->probes.at[k];
    uint64_t h[2] = {0};
    if (p->text)
      neo_hash128(p->text, p->text_bytes, h);
    neo_pack_text(&s, p->path);
    neo_pack_number(&s, p->text ? p->text_bytes : UINT64_MAX);
    neo_str_addn(&s, (const char *)h, sizeof h);
  }
  return neo_code_key_of(NEO_CODE_BUILD, neo_str_text(&s), s.n);
}

/* Looks for one file. False: it exists and cannot be read, which the frontend will report. */
static bool probe(neo_compilation *c, const char *path) {
  neo_probe p = {.path = path};
  char *text = NULL;
  bool found = neo_path_exists(path);
  if (found && neo_file_read(&neo_io_default, &c->arena, path, 0, &text, &p.text_bytes))
    return false;
  p.text = text;
  NEO_PUSH(&c->arena, &c->code->probes, p);
  return true;
}

/* Looks for all files that the cached compilation looked for. */
static bool probe_all(neo_compilation *c, const char *data, size_t n) {
  neo_unpack r = {.at = data, .n = n};
  for (uint64_t k = 0, count = neo_unpack_number(&r); k < count && !r.bad; k++)
    if (!probe(c, neo_unpack_text(&r)))
      return false;
  return !r.bad && r.n == 0;
}

/* ---- looking */

/* Runs the first steps of the front. A failure is left for the front to report. */
static bool begin(neo_compilation *c) {
  bool good =
      !neo_compile_begin(c, &c->code->text, &c->code->text_bytes) && !neo_compile_choose_target(c);
  c->why = NULL;
  return good;
}

static bool first_key(neo_compilation *c) {
  neo_str s = neo_str_in(&c->arena);
  if (!neo_code_key_text(c, &s))
    return false;
  neo_code_records(c, c->code->records);
  neo_str_addn(&s, (const char *)c->code->records, sizeof c->code->records);
  c->code->build = neo_code_key_of(NEO_CODE_INPUTS, neo_str_text(&s), s.n);
  return true;
}

/* Resets everything that an unsuccessful search has set. */
static void forget(neo_compilation *c) {
  c->outputs.n = c->objects.n = c->code->probes.n = 0;
  c->summary = (neo_summary){0};
  c->records = (neo_records){0};
  c->sources = NULL;
  c->diags = NULL;
}

/* ---- A build as bytes: prefix, summary, names of sources and records' files, diagnostics,
 * outputs, objects. */

static void put_summary(neo_compilation *c, neo_str *out) {
  neo_summary s = neo_compile_summary(c);
  neo_pack_number(out, s.kernels);
  neo_pack_number(out, (uint64_t)s.param_bytes);
  neo_pack_number(out, (uint64_t)s.state_bytes);
  neo_pack_number(out, (uint64_t)s.cached_bytes);
  neo_pack_number(out, (uint64_t)s.scratch_bytes);
  neo_pack_number(out, s.entries.n);
  for (size_t k = 0; k < s.entries.n; k++) {
    neo_pack_text(out, s.entries.at[k].name);
    neo_pack_number(out, (uint64_t)s.entries.at[k].frame_bytes);
    neo_pack_number(out, (uint64_t)s.entries.at[k].lower_bound_bytes);
  }
}

/* The text of a source by its number: 0 the model, then the modules in memory, then the files that
 * were looked for. */
static const char *text_at(const neo_compilation *c, uint64_t number, size_t *n) {
  uint64_t k = number - 1, modules = (uint64_t)c->options.n_modules;
  const neo_probes *probes = &c->code->probes;
  if (!number) {
    *n = c->code->text_bytes;
    return c->code->text;
  }
  if (k < modules) {
    *n = c->options.modules[k].text_bytes;
    return c->options.modules[k].text;
  }
  if (k - modules >= probes->n)
    return NULL;
  *n = probes->at[k - modules].text_bytes;
  return probes->at[k - modules].text;
}

/* Writes the number of a source, found by its text's address: names may be equal. */
static bool put_source(neo_compilation *c, uint32_t file, neo_str *out) {
  size_t n, bytes = 0;
  const char *text = neo_sources_text(c->sources, file, &n);
  uint64_t end = 1 + (uint64_t)c->options.n_modules + c->code->probes.n;
  for (uint64_t k = 0; k < end; k++)
    if (text_at(c, k, &bytes) == text && bytes == n) {
      neo_pack_text(out, neo_sources_name(c->sources, file));
      neo_pack_number(out, k);
      return true;
    }
  return false;
}

static bool put_files(neo_compilation *c, neo_str *out) {
  neo_pack_number(out, neo_sources_count(c->sources));
  for (uint32_t k = 0; k < neo_sources_count(c->sources); k++)
    if (!put_source(c, k, out))
      return false;
  neo_pack_number(out, c->records.files.n);
  for (size_t k = 0; k < c->records.files.n; k++)
    neo_pack_text(out, c->records.files.at[k].path);
  return true;
}

static void put_diagnostics(neo_compilation *c, neo_str *out) {
  neo_str s = neo_str_in(&c->arena);
  neo_diags_pack(c->diags, &s);
  neo_pack_bytes(out, neo_str_text(&s), s.n);
}

/* Packs a build. False: a source is neither the model, nor a module in memory, nor one of the
 * probes. */
static bool code_pack(neo_compilation *c, neo_str *out) {
  neo_pack_text(out, c->prefix);
  put_summary(c, out);
  if (!put_files(c, out))
    return false;
  put_diagnostics(c, out);
  neo_pack_number(out, c->outputs.n);
  for (size_t k = 0; k < c->outputs.n; k++) {
    neo_pack_number(out, c->outputs.at[k].kind);
    neo_pack_bytes(out, c->outputs.at[k].data, c->outputs.at[k].size_bytes);
  }
  neo_pack_number(out, c->objects.n);
  for (size_t k = 0; k < c->objects.n; k++)
    neo_pack_bytes(out, c->objects.at[k].data, c->objects.at[k].size_bytes);
  return true;
}

/* ---- reading */

static void read_summary(neo_compilation *c, neo_unpack *r) {
  neo_summary s = {.kernels = (size_t)neo_unpack_number(r)};
  s.param_bytes = (int64_t)neo_unpack_number(r);
  s.state_bytes = (int64_t)neo_unpack_number(r);
  s.cached_bytes = (int64_t)neo_unpack_number(r);
  s.scratch_bytes = (int64_t)neo_unpack_number(r);
  for (uint64_t k = 0, n = neo_unpack_number(r); k < n && !r->bad; k++) {
    neo_entry_memory e = {.name = neo_unpack_text(r)};
    e.frame_bytes = (int64_t)neo_unpack_number(r);
    e.lower_bound_bytes = (int64_t)neo_unpack_number(r);
    NEO_PUSH(&c->arena, &s.entries, e);
  }
  c->summary = s;
}

/* Reads the list of sources, each with its former number. */
static void read_files(neo_compilation *c, neo_unpack *r) {
  for (uint64_t k = 0, n = neo_unpack_number(r); k < n && !r->bad; k++) {
    size_t bytes = 0;
    const char *name = neo_unpack_text(r);
    const char *text = text_at(c, neo_unpack_number(r), &bytes);
    r->bad = r->bad || !text;
    if (text)
      neo_sources_add(c->sources, name, text, bytes);
  }
  neo_records_init(&c->records, &c->arena);
  for (uint64_t k = 0, n = neo_unpack_number(r); k < n && !r->bad; k++) {
    neo_records_file f = {.path = neo_unpack_text(r)};
    NEO_PUSH(&c->arena, &c->records.files, f);
  }
}

static void read_results(neo_compilation *c, neo_unpack *r) {
  for (uint64_t k = 0, n = neo_unpack_number(r); k < n && !r->bad; k++) {
    neo_output o = {.kind = (neo_emit)neo_unpack_number(r)};
    o.data = neo_unpack_bytes(r, &o.size_bytes);
    NEO_PUSH(&c->arena, &c->outputs, o);
  }
  for (uint64_t k = 0, n = neo_unpack_number(r); k < n && !r->bad; k++) {
    neo_object o = {0};
    o.data = neo_unpack_bytes(r, &o.size_bytes);
    NEO_PUSH(&c->arena, &c->objects, o);
  }
}

/* Unpacks a build. False: the bytes are no build of this model, these modules and probes. */
static bool code_unpack(neo_compilation *c, const char *data, size_t n) {
  neo_unpack r = {.at = data, .n = n};
  size_t bytes;
  bool named = neo_streq(neo_unpack_text(&r), c->prefix);
  read_summary(c, &r);
  read_files(c, &r);
  const char *said = neo_unpack_bytes(&r, &bytes);
  r.bad = r.bad || !neo_diags_unpack(c->diags, said, bytes);
  read_results(c, &r);
  return named && !r.bad && r.n == 0;
}

void neo_code_find(neo_compilation *c) {
  const char *data;
  size_t n;
  if (!c->code || !begin(c) || !first_key(c))
    return;
  c->code->whole = true;
  neo_code_cache *cache = c->code->cache;
  c->found = neo_code_get(cache, c->code->build, &c->arena, &data, &n) && probe_all(c, data, n) &&
             neo_code_get(cache, second_key(c), &c->arena, &data, &n) && code_unpack(c, data, n);
  if (!c->found)
    forget(c);
}

/* ---- keeping */

static void keep_inputs(const neo_compilation *c, neo_str *s) {
  const neo_probes *probes = &c->code->probes;
  neo_pack_number(s, probes->n);
  for (size_t k = 0; k < probes->n; k++)
    neo_pack_text(s, probes->at[k].path);
  neo_code_put(c->code->cache, c->code->build, neo_str_text(s), s->n, false);
}

static bool records_stayed(neo_compilation *c) {
  uint64_t now[2];
  neo_code_records(c, now);
  return memcmp(now, c->code->records, sizeof now) == 0;
}

static void keep(neo_compilation *c) {
  neo_str build = neo_str_in(&c->arena);
  neo_str inputs = neo_str_in(&c->arena);
  if (!records_stayed(c) || !code_pack(c, &build))
    return;
  neo_code_put(c->code->cache, second_key(c), neo_str_text(&build), build.n, true);
  keep_inputs(c, &inputs);
}

void neo_code_keep(neo_compilation *c) {
  if (c->code && c->code->whole && !c->found)
    keep(c);
  report(c);
}

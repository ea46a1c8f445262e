/* A build as bytes: prefix, summary, names of sources and records' files, diagnostics, outputs,
 * objects. */
#include "base/pack.h"
#include "tools/pipeline/code.h"

/* ---- writing */

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

bool neo_code_pack(neo_compilation *c, neo_str *out) {
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

bool neo_code_unpack(neo_compilation *c, const char *data, size_t n) {
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

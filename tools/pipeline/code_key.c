/* The text of everything that a build depends on: its hash is the first key. code_key.def lists the
 * options. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "base/hash.h"
#include "base/machine_text.h"
#include "tools/cache/file.h"
#include "tools/pipeline/code.h"
#include <string.h>

enum { TEXT, NUMBER, OWN, WITH, AFTER, NEVER };
enum { LARGEST_FILE_BYTES = 256 << 20 };

/* Adds a text with its length before it, so that it cannot be mistaken for the text after it. */
static void add_text(neo_str *s, const char *text) {
  if (text)
    neo_str_addf(s, "%zu:%s\n", strlen(text), text);
  else
    neo_str_add(s, "-\n");
}

static void add_number(neo_str *s, const char *name, int64_t x) {
  neo_str_addf(s, "%s %lld\n", name, (long long)x);
}

static void add_hash(neo_str *s, const char *data, size_t n) {
  uint64_t h[2];
  neo_hash128(data, n, h);
  neo_str_addf(s, "%zu %016llx%016llx\n", n, (unsigned long long)h[0], (unsigned long long)h[1]);
}

/* ---- options that are more than one text or number */

static void add_import_paths(neo_str *s, const neo_compile_options *o) {
  for (const char *const *p = o->import_paths; p && *p; p++)
    add_text(s, *p);
  add_text(s, NULL);
}

static void add_modules(neo_str *s, const neo_compile_options *o) {
  for (int k = 0; k < o->n_modules; k++) {
    add_text(s, o->modules[k].name);
    neo_str_addf(s, "%zu\n", o->modules[k].text_bytes);
    neo_str_addn(s, o->modules[k].text, o->modules[k].text_bytes);
  }
  add_text(s, NULL);
}

static void add_defines(neo_str *s, const neo_compile_options *o) {
  for (int k = 0; k < o->n_defines; k++) {
    add_text(s, o->defines[k].name);
    add_number(s, "=", o->defines[k].value);
  }
  add_text(s, NULL);
}

static void add_names(neo_str *s, const neo_compile_options *o) {
  add_number(s, "names", o->n_names);
  for (int k = 0; k < o->n_names; k++) {
    add_text(s, o->names[k].ident);
    add_text(s, o->names[k].name);
  }
}

/* Adds what is emitted. Shared and static library count as one: they are made of the same
 * objects. */
static void add_emit(neo_str *s, const neo_compile_options *o) {
  unsigned libraries = NEO_EMIT_SO | NEO_EMIT_A;
  add_number(s, "libraries", (o->emit & libraries) != 0);
  add_number(s, "others", o->emit & ~libraries);
}

static void add_machine(neo_str *s, const neo_compile_options *o) {
  if (o->machine)
    neo_machine_print(o->machine, s);
}

/* Adds the passes that are skipped. Verification between passes is no part: it does not change the
 * result. */
static void add_passes(neo_str *s, const neo_compile_options *o) {
  for (const char *const *p = o->passes.skip; p && *p; p++)
    add_text(s, *p);
  add_text(s, NULL);
}

static void add_fusion(neo_str *s, const neo_compile_options *o) {
  const neo_fuse_options *f = &o->fusion;
  add_number(s, "off", f->off);
  add_number(s, "memory", f->memory);
  add_number(s, "consumers", f->consumers_join);
  add_number(s, "rounds", f->recurrences.tile_iterations);
  add_number(s, "blocks", f->recurrences.blocks_only);
}

static void add_records(neo_str *s, const neo_compile_options *o) {
  for (const neo_records_source *r = o->records; r && r->path; r++) {
    add_text(s, r->path);
    add_number(s, "flags", r->flags);
    add_number(s, "optional", r->optional);
  }
  add_text(s, NULL);
}

/* ---- all options */

#define ADD_TEXT(s, o, field) add_text(s, (o)->field)
#define ADD_NUMBER(s, o, field) add_number(s, #field, (int64_t)(o)->field)
#define ADD_OWN(s, o, field) add_##field(s, o)
#define ADD_WITH(s, o, field)
#define ADD_AFTER(s, o, field)
#define ADD_NEVER(s, o, field)

static void add_options(neo_str *s, const neo_compile_options *o) {
#define X(field, how) ADD_##how(s, o, field);
#include "tools/pipeline/code_key.def"
#undef X
}

#define HAS_TEXT(o, field) false
#define HAS_NUMBER(o, field) false
#define HAS_OWN(o, field) false
#define HAS_WITH(o, field) false
#define HAS_AFTER(o, field) false
#define HAS_NEVER(o, field) ((o)->field != 0)

/* Whether an option is set that a key cannot express. */
static bool is_special(const neo_compile_options *o) {
  bool is = o->passes.dump_after || o->passes.check || o->fusion.profile;
#define X(field, how) is = is || HAS_##how(o, field);
#include "tools/pipeline/code_key.def"
#undef X
  return is;
}

/* ---- the target */

void neo_code_add_target(neo_str *s, const neo_target *t) {
  add_text(s, t->triple);
  add_text(s, t->cpu);
  add_text(s, t->tune);
  add_text(s, t->level);
  add_text(s, t->features);
  add_text(s, t->rt_features);
  add_text(s, t->profile);
  add_text(s, t->device);
  add_text(s, t->matrix_needs);
  neo_str_addf(s, "%d %u %u %d %lld %lld %d %u %lld %d %d %d %d %d\n", (int)t->isa, t->vector_bytes,
               t->vector_regs, t->fma, (long long)t->l1_bytes, (long long)t->l2_bytes,
               t->is_host_arch, t->sm, (long long)t->shared_bytes, t->sm_own, t->split, t->emulated,
               t->own_math, (int)t->matrix);
  neo_machine_print(&t->machine, s);
}

/* Adds a hash of the program that assembles GPU code, if there is one. */
static void add_assembler(neo_compilation *c, neo_str *s) {
  char *data;
  size_t n;
  const char *path = c->target.sm ? neo_program_path(&c->arena, "ptxas") : NULL;
  if (path && !neo_file_read(&neo_io_default, &c->arena, path, 0, &data, &n))
    add_hash(s, data, n);
  else
    add_text(s, path);
}

bool neo_code_key_text(neo_compilation *c, neo_str *out) {
  if (is_special(&c->options) || c->target.emulated)
    return false;
  neo_str_add(out, "neo build 1\n");
  add_text(out, c->code->compiler);
  add_options(out, &c->options);
  neo_code_add_target(out, &c->target);
  neo_code_add_target(out, &c->host);
  add_assembler(c, out);
  neo_str_addf(out, "%zu\n", c->code->text_bytes);
  neo_str_addn(out, c->code->text, c->code->text_bytes);
  return true;
}

/* ---- records */

static void add_file(neo_str *s, const char *path, unsigned flags) {
  char *data;
  size_t n;
  const char *why = "";
  neo_arena *a = s->arena;
  neo_status status = neo_file_read(&neo_io_default, a, path, LARGEST_FILE_BYTES, &data, &n);
  add_text(s, path);
  if (status)
    add_number(s, "unreadable", status);
  else
    add_hash(s, data, n);
  if (flags & NEO_RECORDS_PRIVATE && !neo_records_trusted(a, path, &why))
    add_text(s, why);
}

void neo_code_records(neo_compilation *c, uint64_t hash[2]) {
  neo_arena scratch = neo_arena_scratch(&c->arena);
  neo_str s = neo_str_in(&scratch);
  if (c->options.records_dir) {
    const char *name = neo_records_shipped_name(&scratch, &c->target);
    add_file(&s, neo_path_join(&scratch, c->options.records_dir, name), 0);
  }
  for (const neo_records_source *r = c->options.records; r && r->path; r++)
    add_file(&s, r->path, r->flags);
  neo_hash128(neo_str_text(&s), s.n, hash);
  neo_arena_free(&scratch);
}

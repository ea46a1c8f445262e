/* The cache of compiled code, as a compilation uses it (tools/cache/code.h is its folder). Private
 * to tools/pipeline.
 *
 * The cache holds three kinds of things. A build is everything made from one model: objects,
 * header, description and other outputs, with diagnostics and a summary. A kernel is one object,
 * which several builds may have: after a change in one layer, the kernels of all other layers are
 * found. A schedule is the model's choice for a group (searched.h).
 *
 * A build is found in two steps. The first key is of the facts known before anything is compiled:
 * the model's text, the options (code_key.def), records, target and compiler. It leads to the list
 * of paths at which modules were looked for. The second key adds the present contents of these
 * paths, or that they are absent. So a module that changes, or that appears where none was, gives
 * another key, and so does another list. A kernel's key is of its loop IR, symbol, target and
 * compiler. No key contains a time.
 *
 * Libraries are linked each time: a linker's result depends on more than a key could cover. */
#pragma once
#include "tools/cache/code.h"
#include "tools/pipeline/emit.h"

typedef struct {           /* a path at which a module was looked for */
  const char *path, *text; /* text null: nothing is there */
  size_t text_bytes;
} neo_probe;
typedef NEO_VEC(neo_probe) neo_probes;

struct neo_code_use {
  neo_code_cache *cache;
  const char *compiler; /* neo_compiler_id */
  bool whole;           /* whole builds are looked for and added */
  neo_code_key build;   /* the first key */
  uint64_t records[2];  /* hash of the records' contents, which may change during the compilation */
  const char *text;     /* the model's text, as read for the key; null: not read */
  size_t text_bytes;
  neo_probes probes;   /* the frontend's probes, or those that the cache has for it */
  uint64_t kernels[2]; /* the common part of all kernels' keys */
};

/* ---- compiler_id.c, code_key.c, for code_find.c */
/* A text that identifies this build of the compiler; null: it cannot be found. */
const char *neo_compiler_id(neo_arena *a);
/* The text of the first key, without records. Call it after the target was chosen. False: such a
 * build is not cached. */
bool neo_code_key_text(neo_compilation *c, neo_str *out) NEO_MUST_CHECK;
void neo_code_add_target(neo_str *s, const neo_target *t);
/* Hashes the present contents of the records' files. */
void neo_code_records(neo_compilation *c, uint64_t hash[2]);

/* ---- code_find.c, for compile.c and emit.c: opens the cache, looks for a build, adds one */
/* Opens the cache that the options name. A failure to open does not fail the compilation. */
void neo_code_begin(neo_compilation *c);
/* Looks for the build. If it is there, c->found is set, and outputs, objects, diagnostics and
 * summary are as if it had just been made. Call it after neo_code_begin, instead of the front. */
void neo_code_find(neo_compilation *c);
/* Adds the build to the cache, if that is allowed. */
void neo_code_keep(neo_compilation *c);
void neo_code_end(neo_compilation *c);
/* Notes a path at which the frontend looks for a module. (neo_frontend_options.looked) */
void neo_code_looked(void *compilation, const char *path, const char *text, size_t n);

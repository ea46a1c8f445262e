/* Private to tools/pipeline: the cache of compiled code in a compilation (tools/cache/code.h is its
 * folder).
 *
 * Three kinds of things are kept. A build is all that was made from one model: objects, header,
 * description and what else was asked for, with diagnostics and a summary. A kernel is one object,
 * which other builds may have too: after a change in one layer, the kernels of all others are
 * found. A schedule is the model's choice for a group (searched.h).
 *
 * A build is found in two steps. The first key is of what is known before anything is compiled: the
 * model's text, the options (code_key.def), records, target and compiler; what it finds is the list
 * of paths at which modules were looked for. The second key adds what is at these paths now:
 * contents, or nothing. So a module that changes, or one that appears where none was, is another
 * key, and so is another list. A kernel's key is of its loop IR, symbol, target and compiler. No
 * key has a time in it.
 *
 * Libraries are linked each time: what linkers do depends on more than could be told. */
#pragma once
#include "tools/cache/code.h"
#include "tools/pipeline/emit.h"

typedef struct {           /* where a module was looked for */
  const char *path, *text; /* text null: nothing is there */
  size_t text_bytes;
} neo_probe;
typedef NEO_VEC(neo_probe) neo_probes;

struct neo_code_use {
  neo_code_cache *cache;
  const char *compiler; /* neo_compiler_id */
  bool whole;           /* builds are looked for and kept */
  neo_code_key build;   /* the first key */
  uint64_t records[2];  /* hash of what records say: they may change meanwhile */
  const char *text;     /* the model's, as it was read for the key; null: it was not */
  size_t text_bytes;
  neo_probes probes;   /* as the frontend looked for modules, or as the cache says that it would */
  uint64_t kernels[2]; /* what all kernels' keys have in common */
};

/* ---- compiler_id.c */
/* A text that no other build of the compiler has; null: it cannot be told. */
const char *neo_compiler_id(neo_arena *a);

/* ---- code_key.c */
/* The text of the first key, without records. False: such a build is not kept. After the target was
 * chosen. */
bool neo_code_key_text(neo_compilation *c, neo_str *out) NEO_MUST_CHECK;
void neo_code_add_target(neo_str *s, const neo_target *t);
/* What the records' files say now. */
void neo_code_records(neo_compilation *c, uint64_t hash[2]);

/* ---- code_find.c: opening, looking for a build, keeping one */
/* Opens the cache that the options name; no failure is one of the compilation. */
void neo_code_begin(neo_compilation *c);
/* Looks for the build: c->found tells whether it is there, with outputs, objects, diagnostics and
 * summary as if it had just been made. After neo_code_begin, in place of the front. */
void neo_code_find(neo_compilation *c);
/* Keeps what was made, if it may be. */
void neo_code_keep(neo_compilation *c);
void neo_code_end(neo_compilation *c);
/* Notes where the frontend looks for a module. (neo_frontend_options.looked) */
void neo_code_looked(void *compilation, const char *path, const char *text, size_t n);

/* ---- code_pack.c: a build as bytes */
/* False: there is a source that is neither the model, nor a module in memory, nor one of the
 * probes. */
bool neo_code_pack(neo_compilation *c, neo_str *out) NEO_MUST_CHECK;
/* False: the bytes are no build of this model, these modules and probes. */
bool neo_code_unpack(neo_compilation *c, const char *data, size_t n) NEO_MUST_CHECK;

/* ---- code_kernel.c: threads call these, with arenas of their own */

/* Code that is a part of a library: a kernel, or a function that kernels share. */
typedef struct {
  neo_object object;
  NEO_VEC(const char *) calls; /* names of the shared functions that it needs */
} neo_code_part;

/* Before the others, once prefix and target are known. */
void neo_code_kernels_begin(neo_compilation *c);
neo_code_key neo_code_kernel_key(const neo_compilation *c, const neo_plan_kernel *k,
                                 neo_arena *scratch);
neo_code_key neo_code_shared_key(const neo_compilation *c, const char *name, neo_arena *scratch);
/* Its part, in the arena; false: it is not there. */
bool neo_code_part_find(const neo_compilation *c, neo_code_key key, neo_arena *a,
                        neo_code_part *out);
void neo_code_part_keep(const neo_compilation *c, neo_code_key key, neo_arena *scratch,
                        const neo_code_part *made);

/* Private to tools/library: what a build is, and how requests are read. */
#pragma once
#include "include/neo/neo.h"
#include "tools/pipeline/compile.h"

/* ---- request.c */

/* The request with all fields that this library has; null, or what is wrong with it. */
const char *neo_request_copy(const neo_request *given, neo_request *out);
/* Its fields and options as options of the pipeline, in the arena; what the request points to is
 * not copied. `emit`: what is made if it says nothing. After a failure *wrong has a text. */
neo_status neo_request_read(neo_arena *a, const neo_request *r, const char *emit,
                            neo_compile_options *out, const char **wrong) NEO_MUST_CHECK;
/* A copy that lives as long as the arena; nobody is told of its progress. It was read without
 * failure. */
void neo_request_keep(neo_arena *a, const neo_request *r, neo_request *out);

/* ---- options.c */

/* The request's options; it has some. */
neo_status neo_options_read(neo_arena *a, const neo_request *r, const char *path,
                            neo_compile_options *out, const char **wrong) NEO_MUST_CHECK;
/* Puts the name of this machine's first GPU in place of "nvptx:native". */
neo_status neo_options_native(neo_arena *a, const char **target, const char **wrong) NEO_MUST_CHECK;

/* ---- messages.c: texts that the caller frees */

char *neo_text_take(const char *text, size_t n); /* a copy; never null */
char *neo_text_no_memory(void);
/* Diagnostics and failure of a compilation, as text or JSON. */
void neo_text_of(const neo_compilation *c, neo_status s, bool json, neo_str *out);

/* ---- diagnostics.c */

/* The compilation's diagnostics in an arena that outlives it. */
const neo_diagnostic *neo_diagnostics_copy(neo_arena *a, neo_diags *d, int32_t *n);

/* ---- build.c */

typedef struct {
  const char *kind; /* "o" */
  const char *data; /* a NUL follows */
  size_t size_bytes;
} neo_build_part;

struct neo_build {
  neo_arena arena; /* of all that follows */
  jmp_buf on_fail;
  neo_status status;
  neo_request request;     /* with the text that was read, if it was read; for explaining */
  bool beside_file;        /* imports are looked for in the folder of the request's path */
  const char *source_hash; /* null: nothing was compiled */
  const char *prefix;
  const char *messages, *failure;
  const neo_diagnostic *diagnostics;
  int32_t n_diagnostics;
  NEO_VEC(neo_build_part) parts;
};

/* A build that `made` fills in; false: memory ended, and nothing is left but what is the
 * build's. */
int32_t neo_build_by(bool (*made)(neo_build *, const neo_request *), const neo_request *request,
                     neo_build **out);
/* It failed for a reason that is no diagnostic; the text is in its arena, or constant. */
void neo_build_fail(neo_build *b, neo_status s, const char *why);

/* A build, and the parsing of requests. Private to tools/library. */
#pragma once
#include "include/neo/neo.h"
#include "tools/pipeline/compile.h"

/* ---- request.c */

/* Copies the fields of the request that this library has. Null, or what is wrong with the
 * request. */
const char *neo_request_copy(const neo_request *given, neo_request *out);
/* Turns fields and options of the request into options of the pipeline, in the arena; memory that
 * the request points to is not copied. `emit` is the default of the request's. After a failure
 * *wrong has a text. */
neo_status neo_request_read(neo_arena *a, const neo_request *r, const char *emit,
                            neo_compile_options *out, const char **wrong) NEO_MUST_CHECK;
/* A copy that lives as long as the arena, without the progress callback. The request was read
 * without failure before. */
void neo_request_keep(neo_arena *a, const neo_request *r, neo_request *out);

/* ---- messages.c: texts for the caller to free */

char *neo_text_take(const char *text, size_t n); /* a copy; never null */
char *neo_text_no_memory(void);
/* Writes the diagnostics and the failure of a compilation, as text or JSON. */
void neo_text_of(const neo_compilation *c, neo_status s, bool json, neo_str *out);

/* ---- diagnostics.c */

/* Copies the compilation's diagnostics to an arena that outlives it. */
const neo_diagnostic *neo_diagnostics_copy(neo_arena *a, neo_diags *d, int32_t *n);

/* ---- build.c */

typedef struct {
  const char *kind; /* "o" */
  const char *data; /* a NUL follows */
  size_t size_bytes;
} neo_build_part;

struct neo_build {
  neo_arena arena; /* owns all members below */
  jmp_buf on_fail;
  neo_status status;
  neo_request request;     /* with the model's text, if that was read; for neo_build_explain */
  bool beside_file;        /* imports are looked for in the folder of the request's path */
  const char *source_hash; /* null: nothing was compiled */
  const char *prefix;
  const char *messages, *failure;
  const neo_diagnostic *diagnostics;
  int32_t n_diagnostics;
  NEO_VEC(neo_build_part) parts;
};

/* Makes a build with `made`. False: memory ended, and only the build's own memory is left. */
int32_t neo_build_by(bool (*made)(neo_build *, const neo_request *), const neo_request *request,
                     neo_build **out);
/* Notes a failure that is no diagnostic; the text is in the build's arena, or constant. */
void neo_build_fail(neo_build *b, neo_status s, const char *why);

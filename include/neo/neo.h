/* neo.h: the compiler as a library (libneo): a model's text in, a training library out.
 *
 *   neo_request r = {.struct_size = sizeof r, .path = "mlp.expr", .out_dir = "out"};
 *   char *messages;
 *   int32_t status = neo_compile(&r, &messages);
 *   fputs(messages, stderr);
 *   neo_messages_free(messages);
 *
 * Thread-safe: every call has its own state. Generated libraries need libneort only (neo_rt.h), not
 * this one. */
#ifndef NEO_H
#define NEO_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef NEO_API
#define NEO_API __attribute__((visibility("default")))
#endif

typedef struct {
  const char *name;
  int64_t value;
} neo_define; /* replaces the value of `dim NAME = ...` */

/* What to compile. All zero but `path` is fine: null means the default. */
typedef struct {
  size_t struct_size;              /* sizeof(neo_request); 0 is taken as that. Fields are only
                                       added at the end: those beyond it are taken as 0 */
  const char *path;                /* the model, .expr or textual IR */
  const char *const *import_paths; /* where imported modules are looked for, null-terminated; the
                                       shipped library comes last by itself */
  const neo_define *defines;
  int32_t n_defines;
  const char *out_dir;    /* folder to write to: the current one */
  const char *prefix;     /* of symbols and files: the model's name */
  const char *emit;       /* a list of so a o h ll s json: "so,h" */
  const char *target;     /* cpu, x86_64, aarch64: cpu */
  const char *mcpu;       /* native, x86-64-v3, ...: native */
  int32_t static_runtime; /* not 0: libneort inside the library */
  const char *lib_dir;    /* where libneort is: beside libneo */
  int32_t json;           /* not 0: messages as one JSON object */
  const char *records;    /* records of schedules besides the shipped ones: a list of files, `user`,
                             `none` (docs/records.md); null: the shipped ones */
} neo_request;

/* Compiles. Returns 0, or a status as in neo_rt.h: 12 errors in the model, 7 files, 1 bad request,
 * 15 the target is not supported, 6 out of memory (LLVM, which knows no way out, aborts), 13 a bug in
 * the compiler. *messages (may be null) gets diagnostics with line and caret, then the failure, as
 * text: never null, to be given to neo_messages_free. */
NEO_API int32_t neo_compile(const neo_request *request, char **messages);
NEO_API void neo_messages_free(char *messages);
/* Reports the errors of a model; writes nothing. */
NEO_API int32_t neo_check(const neo_request *request, char **messages);
/* "0.1.0" */
NEO_API const char *neo_version(void);

#ifdef __cplusplus
}
#endif
#endif

/* neo.h: the compiler as a library (libneo): a model's text in, a training library out, as files
 *
 *   neo_request r = {.struct_size = sizeof r, .path = "mlp.expr", .out_dir = "out"};
 *   char *messages;
 *   int32_t status = neo_compile(&r, &messages);
 *   fputs(messages, stderr);
 *   neo_messages_free(messages);
 *
 * or in memory, to be called at once, without a linker:
 *
 *   neo_request r = {.struct_size = sizeof r, .text = text, .text_bytes = strlen(text)};
 *   neo_build *build;
 *   neo_code *code;
 *   if (neo_build_make(&r, &build) == 0 && neo_code_load(build, &code, NULL) == 0)
 *     neo_rt_create(neo_code_model(code), NULL, &context);
 *
 * libneo has the compiler, LLVM and the runtime inside, and exports the functions here and those
 * of neo_rt.h and neo_graph.h. Threads: every call has its own state, and calls in several
 * threads do not wait for one another. Libraries in files need libneort only (neo_rt.h), not
 * this one.
 *
 * Memory: when it ends, calls return 6, and their memory is freed. LLVM and isl cannot do this:
 * they abort the process. */
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

typedef struct {
  const char *name, *text;
  size_t text_bytes;
} neo_module_text; /* the module that `import NAME` finds before any file */

/* Renames a tensor, an entry or a size, called `ident` in the model's text. `name` is its name in
 * the record, and so in files, messages of the runtime, JSON and neo_rt_find: any UTF-8 of 1 to 500
 * bytes without control characters, such as "layers.0.weight". With {"h", "encoder"} the parameter
 * h.W of a call is "encoder.W", and a state of its optimizer "encoder.W.adam.m". C identifiers in
 * the header stay those of the text. */
typedef struct {
  const char *ident, *name;
} neo_name_pair;

/* A request to compile. Either `path` or `text` is required; all other fields may be zero (null:
 * the default). The request and everything it points to are read during the call only. */
typedef struct {
  size_t struct_size;              /* sizeof(neo_request), or 0 for it. Fields are only
                                       added at the end: those beyond it are taken as 0 */
  const char *path;                /* the model, .expr or textual IR */
  const char *const *import_paths; /* folders of imported modules, null-terminated; the shipped
                                       library comes last by itself */
  const neo_define *defines;
  int32_t n_defines;
  const char *out_dir;    /* folder to write to: the current one */
  const char *prefix;     /* prefix of symbols and files: the model's name */
  const char *emit;       /* a list of so a o h ll s json: "so,h"; in memory see below */
  const char *target;     /* cpu, x86_64, aarch64: cpu */
  const char *mcpu;       /* native, x86-64-v3, ...: native */
  int32_t static_runtime; /* not 0: libneort inside the library */
  const char *lib_dir;    /* folder of libneort: that of libneo */
  int32_t json;           /* not 0: messages as one JSON object */
  const char *records;    /* records of schedules besides the shipped ones: a list of files, `user`,
                             `none` (docs/records.md); null: the shipped ones */
  /* The model, UTF-8, of any content; null: it is read from `path`. With a text, `path` is its name
   * in messages ("model.expr" if null); imports are looked for in the folder of `path`, if it has
   * one. */
  const char *text;
  size_t text_bytes;
  const neo_module_text *modules;
  int32_t n_modules;
  /* Further options, as those of `neoc compile` (`neoc help compile`), null-terminated:
   * {"--math=bf16", "-D", "B=4", NULL}. */
  const char *const *options;
  /* Another thread, or a signal handler, writes 1: the compilation ends soon, with 14. */
  const volatile int32_t *cancel;
  /* Called by a thread of the compiler as work gets done, "12 of 340" if `of` is not 0; one call at
   * a time. It must not call back into the compilation. */
  void (*progress)(void *ctx, const char *what, size_t done, size_t of);
  void *progress_ctx;
  const char *cache; /* folder of the cache of builds; null: the user's own; "none": none */
  const neo_name_pair *names; /* for programs; two of a kind that are the same are a bad request,
                                 as is an identifier that the model does not have */
  int32_t n_names;
} neo_request;

/* ---- files */

/* Compiles. Returns 0, or a status as in neo_rt.h: 12 errors in the model, 7 files, 1 bad request,
 * 15 the target is not supported, 6 out of memory, 14 cancelled, 13 a bug in the compiler.
 * *messages (may be null) gets diagnostics with line and caret, then the failure, as text; it is
 * never null, and the caller frees it with neo_messages_free. */
NEO_API int32_t neo_compile(const neo_request *request, char **messages);
/* Frees a text of messages; null is allowed. */
NEO_API void neo_messages_free(char *messages);
/* Reports the errors of a model; writes nothing. Status and messages as for neo_compile; the caller
 * frees *messages. */
NEO_API int32_t neo_check(const neo_request *request, char **messages);
/* The version, "0.1.0". Constant text. */
NEO_API const char *neo_version(void);

/* ---- in memory */

/* The result of a compilation. It is immutable, so several threads may use it, and holds no pointer
 * into its request. */
typedef struct neo_build neo_build;

/* Compiles in memory: writes no file but those of the cache, and needs no other program but, for
 * a GPU, ptxas where it is installed. `emit` is a list of code o h ll s json ptx, and "code" if
 * it is null: "code" is for neo_code_load, "o" an object with the functions of the header "h",
 * which takes longer to make and can be loaded, too. The status is neo_compile's. *out is null
 * only when memory ended; after any other failure it has the diagnostics. The caller frees it. */
NEO_API int32_t neo_build_make(const neo_request *request, neo_build **out);
NEO_API void neo_build_free(neo_build *build); /* null is fine */

/* A source position with a text. */
typedef struct {
  const char *file; /* null: no position */
  int32_t line, column, length;
  const char *text; /* "": the diagnostic's message mentions the position */
} neo_note;

typedef struct {
  const char *severity; /* "error", "warning", "remark" */
  const char *code;     /* "E0203" */
  const char *message;
  const char *file, *source_line; /* null: no position */
  int32_t line, column, length;   /* from 1, columns in code points, length in bytes; 0: none */
  const char *help;               /* null: none */
  const neo_note *notes;
  int32_t n_notes;
} neo_diagnostic;

/* The number of diagnostics, which are sorted by position; *at gets them. The build owns their
 * texts and all texts below. */
NEO_API int32_t neo_build_diagnostics(const neo_build *build, const neo_diagnostic **at);
/* All diagnostics as text, then the failure: the messages of neo_compile. Never null. */
NEO_API const char *neo_build_messages(const neo_build *build);
/* The reason of a failure that is no diagnostic: of the request, a file or the target; null if
 * there is none. */
NEO_API const char *neo_build_failure(const neo_build *build);
/* An output that the request's `emit` asked for, by its name there: "o", "h", "json", "ll", "s",
 * "ptx". The build owns it. A NUL follows it, which *bytes (may be null) does not count. Null: it
 * was not asked for, or not made. */
NEO_API const void *neo_build_output(const neo_build *build, const char *kind, size_t *bytes);

/* An explanation of the compilation, as `neoc explain` prints it. `what` is "groups" (the kernels,
 * and why they are what they are), "schedule", "kernels", "memory", "timings", "ir", "after=PASS",
 * or "html", a page with all of it. Compiles again. The caller frees the text with
 * neo_messages_free; after a failure it is messages, whose last line begins with "neo: ". */
NEO_API char *neo_build_explain(const neo_build *build, const char *what);

/* The names of a text, from its syntax alone, as an output "names" of JSON:
 *
 *   {"reads": [{"name": "A", "rank": 2, "line": 1, "column": 17, "callable": false,
 *               "size": false, "subscript": false}],
 *    "defines": [{"name": "C", "rank": 2, "read": false}],
 *    "declares": ["dim N", "input X", "fn f", "import nn", "output forward", "train step"]}
 *
 * reads: names that are read but neither defined nor declared, in the order of their first read;
 * without indices and built-in names. A function of a module that is not imported is "nn.softmax".
 * "size": it occurs in an extent or a bound. "subscript": each read is a whole subscript, as k in
 * x[i, k]. "rank" is null if the syntax does not determine it, as for a tensor without brackets.
 * "read" of a definition: another statement reads it. Syntax errors are status 12 and diagnostics;
 * no other errors are found. Options are parsed, and those that no compilation accepts are an
 * error, but have no other effect. For programs that make a model from a few definitions. */
NEO_API int32_t neo_build_names(const neo_request *request, neo_build **out);

/* A build in this process. It is independent of the build, and contexts (neo_rt_create) end
 * before it. */
typedef struct neo_code neo_code;

/* Loads the object of a build that has one. Returns 0, or 15 if it is another machine's, 11 if
 * there is no object, 6, 13; then *message (may be null) gets a text for neo_messages_free, else
 * null. neo_rt_create checks the processor for the features that the code needs. */
NEO_API int32_t neo_code_load(const neo_build *build, neo_code **out, char **message);
struct neo_rt_model; /* <neo/neo_rt.h> */
/* The record of the loaded code, for neo_rt_create; owned by the code and valid until that is
 * freed. */
NEO_API const struct neo_rt_model *neo_code_model(const neo_code *code);
NEO_API void neo_code_free(neo_code *code); /* null is fine */

/* ---- the program */

/* The program neoc as a function: prints to stdout and stderr, and returns its
 * exit code. argv[0] is its name, argv[1] the command. Unlike the program it does not survive a
 * bug of the compiler, nor the end of memory within LLVM and isl. Signals are blocked in the
 * thread that calls. */
NEO_API int32_t neo_command(int argc, const char *const *argv);

#ifdef __cplusplus
}
#endif
#endif

/* The frontend: text of a model -> checked expression IR.
 *
 * The parser (parser.c) makes the syntax tree of one file. The checker walks the tree once,
 * statement by statement, and lowers as it checks: a function is checked where it is called, with
 * the ranks, types and sizes of that call. Every error becomes a diagnostic; one run reports all
 * errors of a program. */
#pragma once
#include "base/diag.h"
#include "base/file.h"
#include "ir/ir.h"

typedef struct { /* -D B=128 */
  const char *name;
  int64_t value;
} neo_define_option;

typedef struct { /* a module whose text is in memory */
  const char *name, *text;
  size_t text_bytes;
} neo_module_source;

typedef struct {
  /* Folders, NULL-terminated: -I in order, then the shipped library. The folder of the importing
   * file comes before them. May be NULL. */
  const char *const *import_paths;
  const neo_module_source *modules; /* `import name` finds these before any file */
  int n_modules;
  bool no_folder; /* the main text is no file: imports are not looked for in its folder */
  int n_defines;
  const neo_define_option *defines; /* replace `dim NAME = constant` of the main file */
  const neo_io *io;                 /* for imports; NULL: the default */
  /* Called for each file that was read and, with NULL, for each path at which an imported module
   * was looked for and not found; may be NULL. */
  void (*looked)(void *ctx, const char *path, const char *text, size_t n);
  void *looked_ctx;
  uint32_t limit;       /* definitions, calls and iterations together; 0: the default */
  uint64_t proof_quota; /* see neo_proofs_limit */
  /* The number of statements in all iterations of a `repeat` beyond which it becomes a loop, if it
   * can be one; 0: the default. */
  int64_t unroll;
} neo_frontend_options;

enum { NEO_FRONTEND_LIMIT = 100000, NEO_FRONTEND_UNROLL = 2048 };

/* Parses and checks the file `path` with the given text (both kept by reference in diagnostics),
 * and everything it imports. Returns the module, in the arena, or NULL if there were errors (in
 * `d`). `options` may be NULL. A file without outputs is fine: a module without entries. */
neo_module *neo_frontend(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                         const char *text, size_t n, const neo_frontend_options *options);

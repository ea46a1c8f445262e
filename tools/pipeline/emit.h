/* The last stage: LLVM module, objects, and the files asked for.
 *
 * Paths are in the arena of the compilation.
 *
 * Statuses are those of compile.h, with the text of a failure in c->why. */
#pragma once
#include "tools/pipeline/compile.h"

/* A kind of file, with its name for --emit; its path is neo_emit_path(c, before, after).
 * (files.c) */
typedef struct {
  const char *name, *before, *after;
  unsigned bit; /* NEO_EMIT_... */
} neo_emit_kind;
extern const neo_emit_kind neo_emit_kinds[];
extern const size_t neo_emit_n_kinds;
const neo_emit_kind *neo_emit_kind_of(neo_emit bit);
/* Stores an output in the compilation's arena. Unless the build is in memory, also writes the file
 * of that kind into the temporary folder. (put.c) */
neo_status neo_emit_put(neo_compilation *c, neo_emit bit, const char *data,
                        size_t n) NEO_MUST_CHECK;
/* The same for all outputs that exist. (put.c) */
neo_status neo_emit_put_all(neo_compilation *c) NEO_MUST_CHECK;
/* Reads a file of the temporary folder as an output, if it was asked for and exists. (put.c) */
neo_status neo_emit_take(neo_compilation *c, neo_emit bit) NEO_MUST_CHECK;
/* Writes a file of the temporary folder. (put.c) */
neo_status neo_emit_write(neo_compilation *c, const char *path, const char *data,
                          size_t n) NEO_MUST_CHECK;
/* The output folder, and "<folder>/<before><prefix><after>". (files.c) */
const char *neo_emit_folder(const neo_compilation *c);
const char *neo_emit_path(neo_compilation *c, const char *before, const char *after);
/* A kernel and its variant, if there is one. (parts.c) */
neo_status neo_emit_kernel(neo_llvm *l, const neo_plan_kernel *k, const char **why) NEO_MUST_CHECK;
/* Makes c->objects, on all cores. Ends c->parts. (parts.c) */
neo_status neo_emit_objects(neo_compilation *c) NEO_MUST_CHECK;
/* Makes the temporary folder of all files, c->staging, unless it exists. (publish.c) */
neo_status neo_emit_stage(neo_compilation *c) NEO_MUST_CHECK;
/* "<staging>/<before><prefix><after>": the path at which a file is made. (publish.c) */
const char *neo_emit_staged(neo_compilation *c, const char *before, const char *after);
/* Moves all files to their final paths, or leaves everything as it was. (publish.c) */
neo_status neo_emit_publish(neo_compilation *c) NEO_MUST_CHECK;
/* Removes the temporary folder, if there is one. (publish.c) */
void neo_emit_discard(neo_compilation *c);
/* For a GPU: fills in c->images, and makes the text files asked for. (device.c) */
neo_status neo_emit_device(neo_compilation *c) NEO_MUST_CHECK;
/* Makes shared library and archive, as asked for. (link.c) */
neo_status neo_emit_binaries(neo_compilation *c) NEO_MUST_CHECK;
/* Bracket this thread's use of c->llvm (neo_llvm_enter). neo_emit_leave may be called after a jump
 * out of it, and if it was not entered. (enter.c) */
void neo_emit_enter(neo_compilation *c);
void neo_emit_leave(neo_compilation *c);
/* Makes all files asked for; creates the folder. */
neo_status neo_emit_files(neo_compilation *c) NEO_MUST_CHECK;

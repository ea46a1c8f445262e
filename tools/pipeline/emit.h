/* The last stage: LLVM module, object, and the files that were asked for. */
#pragma once
#include "tools/pipeline/compile.h"

/* A kind of file, as --emit names it; its path is neo_emit_path(c, before, after). (files.c) */
typedef struct {
  const char *name, *before, *after;
  unsigned bit; /* NEO_EMIT_... */
} neo_emit_kind;
extern const neo_emit_kind neo_emit_kinds[];
extern const size_t neo_emit_n_kinds;
const neo_emit_kind *neo_emit_kind_of(neo_emit bit);
/* Keeps what was made, in the compilation's arena, as an output. Unless the build is one in memory,
 * the file of that kind is written into the temporary folder, too. (put.c) */
neo_status neo_emit_put(neo_compilation *c, neo_emit bit, const char *data,
                        size_t n) NEO_MUST_CHECK;
/* The same for all outputs that there are. (put.c) */
neo_status neo_emit_put_all(neo_compilation *c) NEO_MUST_CHECK;
/* Reads a file of the temporary folder as an output, if it was asked for and is there. (put.c) */
neo_status neo_emit_take(neo_compilation *c, neo_emit bit) NEO_MUST_CHECK;
/* Writes any file of the temporary folder. (put.c) */
neo_status neo_emit_write(neo_compilation *c, const char *path, const char *data,
                          size_t n) NEO_MUST_CHECK;
/* The folder that is written to, and "<folder>/<before><prefix><after>". (files.c) */
const char *neo_emit_folder(const neo_compilation *c);
const char *neo_emit_path(neo_compilation *c, const char *before, const char *after);
/* A kernel and its variant, if there is one. (parts.c) */
neo_status neo_emit_kernel(neo_llvm *l, const neo_plan_kernel *k, const char **why) NEO_MUST_CHECK;
/* Makes c->objects, on all cores. Ends c->parts. (parts.c) */
neo_status neo_emit_objects(neo_compilation *c) NEO_MUST_CHECK;
/* Makes the temporary folder of all files, c->staging, unless it is there. (publish.c) */
neo_status neo_emit_stage(neo_compilation *c) NEO_MUST_CHECK;
/* "<staging>/<before><prefix><after>": where a file is made. (publish.c) */
const char *neo_emit_staged(neo_compilation *c, const char *before, const char *after);
/* Moves all that was asked for to its place, or leaves everything as it was. (publish.c) */
neo_status neo_emit_publish(neo_compilation *c) NEO_MUST_CHECK;
/* Removes the temporary folder, if there is one. (publish.c) */
void neo_emit_discard(neo_compilation *c);
/* The text of the depfile; in the compilation's arena. (depfile.c) */
void neo_emit_depfile(neo_compilation *c, neo_str *out);
/* The source, record or result that the depfile would be written over; null: there is none. */
const char *neo_emit_depfile_replaces(neo_compilation *c);
/* For a GPU: fills in c->images, and makes the text files that were asked for. (device.c) */
neo_status neo_emit_device(neo_compilation *c) NEO_MUST_CHECK;
/* Shared library and archive, as asked for. (link.c) */
neo_status neo_emit_binaries(neo_compilation *c) NEO_MUST_CHECK;
/* Around what this thread does with c->llvm (neo_llvm_enter); the second one also after a jump out of
 * that, and where it was not entered. (enter.c) */
void neo_emit_enter(neo_compilation *c);
void neo_emit_leave(neo_compilation *c);
/* All that was asked for; creates the folder. */
neo_status neo_emit_files(neo_compilation *c) NEO_MUST_CHECK;

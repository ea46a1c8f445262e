/* For emit.c: merges several relocatable objects into one, in memory, as `ld -r` does for objects
 * that LLVM made. Private to tools/pipeline and its tests. */
#pragma once
#include "tools/pipeline/compile.h"

/* Objects are ELF, 64 bits, little endian, of one machine, have relocations with addends, and no
 * groups of sections. Sections are concatenated unchanged. The result is in the arena; the same
 * objects give the same bytes. NEO_INTERNAL, with a text in *why, if an object has another form. */
neo_status neo_objects_merge(neo_arena *a, const neo_object *objects, size_t n, neo_object *out,
                             const char **why) NEO_MUST_CHECK;

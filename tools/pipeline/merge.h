/* Private to tools/pipeline and its tests: several relocatable objects as one, in memory, as `ld
 * -r` makes it of objects that are LLVM's. */
#pragma once
#include "tools/pipeline/compile.h"

/* ELF, 64 bits, little endian, of one machine, with relocations that have addends, without
 * groups of sections. Sections stay as they are, one after the other. The result is in the
 * arena; the same objects give the same bytes. NEO_INTERNAL with a text in *why where an object
 * is not as it must be. */
neo_status neo_objects_merge(neo_arena *a, const neo_object *objects, size_t n, neo_object *out,
                             const char **why) NEO_MUST_CHECK;

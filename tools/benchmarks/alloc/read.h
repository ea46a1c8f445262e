/* Instances of dynamic storage allocation in files. */
#ifndef NEO_TOOLS_BENCHMARKS_ALLOC_READ_H
#define NEO_TOOLS_BENCHMARKS_ALLOC_READ_H
#include "base/status.h"
#include "base/vec.h"
#include "codegen/dsa/dsa.h"

typedef NEO_VEC(neo_dsa_item) alloc_items;

/* Reads a CSV file, a buffer a line. Its first line names the columns, in any order: `id` (any
 * text), `lower` and `upper` (its life is lower <= t < upper) and `size`, all integers; and, if
 * they are there, `alignment` and `offset` (where the buffer must be; empty: anywhere). Empty lines
 * are left out. Returns null, or what is wrong, "FILE:LINE: text", in the arena. */
const char *alloc_read(neo_arena *a, const char *path, alloc_items *out);

#endif

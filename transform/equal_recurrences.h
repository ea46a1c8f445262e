/* Equal recurrences (equal_recurrences.c). Private to transform. */
#pragma once
#include "ir/ir.h"

/* Maps in `to` tensors of recurrences to earlier equal ones, except those in `kept`. defs: needed
 * definitions, producers first (neo_module_topo). Returns whether there are any. */
bool neo_equal_recurrences(neo_module *m, const neo_def *defs, size_t n, const neo_map *kept,
                           neo_map *to, neo_arena *scratch);

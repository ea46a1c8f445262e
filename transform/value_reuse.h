/* Private to transform: the second half of neo_pass_cse. */
#pragma once
#include "ir/ir.h"

/* Replaces expressions of a definition that equal elements of tensors which it reads
 * (value_reuse.c). `defs`: all needed definitions, producers first, as of neo_module_topo. */
void neo_reuse_values(neo_module *m, const neo_def *defs, size_t n, neo_arena *scratch);

/* Private to transform: the second half of neo_pass_cse. */
#pragma once
#include "ir/ir.h"

/* Expressions of a definition that are elements of tensors which it reads become reads of them (value_reuse.c
 * shows it). `defs`: all that entries need, producers first, as neo_module_topo gives them. */
void neo_reuse_values(neo_module *m, const neo_def *defs, size_t n, neo_arena *scratch);

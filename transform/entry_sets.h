/* Entries that need a tensor. Private to transform. */
#pragma once
#include "ir/ir.h"

/* users: tensor -> a number, equal for tensors that the same entries need; absent: no entry. An
 * entry needs the tensors that it names, the reads of their definitions, and for a gradient what is
 * differentiated. */
void neo_entry_sets_find(const neo_module *m, neo_arena *a, neo_map *users);

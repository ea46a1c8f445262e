/* Which entries need a tensor. */
#pragma once
#include "ir/ir.h"

/* users: tensor -> a number that is equal for tensors that the same entries need; absent: none
 * needs it. An entry needs what it names, what definitions of that read, and for a gradient what is
 * differentiated. */
void neo_entry_sets_find(const neo_module *m, neo_arena *a, neo_map *users);

/* For codegen/make.c: group and schedule to loop IR. */
#pragma once
#include "codegen/loop/loop.h"
#include "schedule/schedule.h"

/* Lowers a group to a kernel, by a schedule that is legal for it on the machine. The buffers are
 * the group's reads (in order), its roots, then scratch; a buffer begins at the first element of
 * its tensor that the form uses. The number of a NEO_LX_SIZE is the size's id - 1. Tensors are
 * row-major. Any legal schedule gives the same values up to reassociation of float sums. On
 * NEO_INTERNAL *why has the reason. */
neo_status neo_lower(neo_module *m, const neo_group *g, const neo_schedule *s,
                     const neo_machine *machine, neo_arena *a, neo_kernel **out,
                     neo_str *why) NEO_MUST_CHECK;

/* Group and schedule to loop IR. */
#ifndef NEO_CODEGEN_LOWER_H
#define NEO_CODEGEN_LOWER_H
#include "codegen/loop/loop.h"
#include "schedule/schedule.h"

/* The kernel of a group. Buffers: the group's reads (in order), then its roots; then scratch; each
 * begins where the form does in its tensor. NEO_LX_SIZE numbers are size ids - 1. Any legal
 * schedule gives the same values up to reassociation of float sums. Storage is logical row-major.
 * */
neo_status neo_lower(neo_module *m, const neo_group *g, const neo_schedule *s, neo_arena *a,
                     neo_kernel **out, neo_str *why) NEO_MUST_CHECK;

#endif

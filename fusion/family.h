/* What a group is to records of schedules: the same in every model that computes it.
 *
 * The key of a group (form.h) says which groups of one module may share a kernel; it knows the
 * module's numbers of sizes and sites. Here they are numbered as they occur, sums are taken in any
 * order, and
 *
 *   key      covers types, structure, all constants, the bounds of run-time sizes
 *   family   leaves constants and bounds out: the same computation of another shape
 *   sizes    are the extents of the axes, shared axes first, then each stage's own, as they are
 *            at most; 0: bounded by data
 *
 * Both are hashes. Equal ones of different groups could only cost speed: whoever takes a schedule
 * from elsewhere asks neo_schedule_legal. */
#pragma once
#include "fusion/group.h"

typedef struct {
  uint64_t key[2], family[2];
  NEO_VEC(int64_t) sizes; /* in the module's arena */
} neo_family;

/* Adds no expression to the module: what is compiled afterwards does not depend on this call. */
void neo_group_family(neo_module *m, const neo_group *g, neo_family *out);

/* For tools/pipeline: the identity of a group in records of schedules, equal in every model that
 * computes it.
 *
 * The key of a group (form.h) tells which groups of one module may share a kernel, by the module's
 * numbers of sizes and sites. Here these are numbered by occurrence, sums have any order, and
 *
 *   key      covers types, structure, all constants, the bounds of run-time sizes
 *   family   leaves constants and bounds out: the same computation of another shape
 *   sizes    are the largest extents of the axes, shared axes first, then each stage's own;
 *            0: bounded by data
 *
 * Both are hashes. A collision only costs speed: neo_schedule_legal checks every schedule from
 * elsewhere. */
#pragma once
#include "fusion/group.h"

typedef struct {
  uint64_t key[2], family[2];
  NEO_VEC(int64_t) sizes; /* in the module's arena */
} neo_family;

/* Adds no expression to the module, so later compilation does not depend on this call. */
void neo_group_family(neo_module *m, const neo_group *g, neo_family *out);

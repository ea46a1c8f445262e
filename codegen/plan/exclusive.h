/* Private to codegen/plan: memory for what is not made in one call.
 *
 * Branches of a `case` exclude one another: of two buffers that are written under conditions of
 * which one fails where the other holds, at most one is written. They may have the same bytes,
 * as those have that do not live at one time. */
#pragma once
#include "base/vec.h"
#include "codegen/dsa/dsa.h"
#include "ir/needed.h"

typedef struct
{ /* of an item: what is written under these conditions is in it from the first step to the last */
  neo_conditions when;
  int64_t first, last;
} plan_life;
typedef NEO_VEC(plan_life) plan_lives;

typedef struct {
  neo_dsa_item *item;
  const plan_lives *lives; /* of each item, one at least */
  size_t n;
  int64_t least_bytes; /* smaller ones are left alone */
} plan_exclusive;

/* Puts items into others where that saves memory: into[k] is the item in whose place the k-th
 * is, k if it has its own. That item then has room for all, and lives from the first to the
 * last; the others have no bytes. */
void plan_share_exclusive(neo_module *m, const plan_exclusive *x, size_t *into, neo_arena *scratch);

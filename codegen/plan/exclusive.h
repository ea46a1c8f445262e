/* For frame.c: shared memory for buffers that are never written in the same call. Private to
 * codegen/plan.
 *
 * Branches of a `case` exclude one another: if two buffers are written under conditions of which at
 * most one can hold, a call writes at most one of them. So they may share memory, like buffers that
 * do not live at the same time:
 *
 *   a in steps 0..3 when c
 *   b in steps 2..7 when not c    ->    one item of max(a, b) bytes in steps 0..7 */
#pragma once
#include "base/vec.h"
#include "codegen/dsa/dsa.h"
#include "ir/needed.h"

typedef struct
{ /* steps of an item: the tensors written under these conditions are live from `first` to `last` */
  neo_conditions when;
  int64_t first, last;
} plan_life;
typedef NEO_VEC(plan_life) plan_lives;

typedef struct {
  neo_dsa_item *item;
  const plan_lives *lives; /* [item] at least one */
  size_t n;
  int64_t least_bytes; /* smaller items do not share memory */
} plan_exclusive;

/* Merges items if that saves memory: into[k] is the item whose memory item k shares, or k. That
 * item then has room for all of them, and lives from the first step to the last; the others have no
 * bytes. */
void plan_share_exclusive(neo_module *m, const plan_exclusive *x, size_t *into, neo_arena *scratch);

/* Reads of a definition, each with the conditions that hold where it is evaluated: branches of
 * `select`, left sides of `and` and `or`, the condition of a reduction, and that the read itself is
 * in range. */
#pragma once
#include "ir/prove/prove.h"

typedef struct {
  neo_expr read;   /* LOAD or LOAD_ELSE */
  uint32_t n_axes; /* axes of the definition that the read may use; in finish, the output axes */
  const neo_expr *assume;
  uint32_t n_assume;
  uint32_t n_around; /* the first ones of them; those after say that the read itself is in range */
  bool knows_all;    /* all conditions are listed; false: there were too many */
} neo_guarded_read;

typedef NEO_VEC(neo_guarded_read) neo_guarded_reads;

/* Appends the definition's reads of the tensors marked in `wanted` (by id). A read that occurs
 * several times is listed once per set of conditions. Lists are in the arena. */
void neo_guarded_reads_of(neo_module *m, neo_def d, const bool *wanted, neo_arena *arena,
                          neo_guarded_reads *out);

/* The facts that hold at a read: the axes that it may use, and its conditions. `axes` has room for
 * 64. */
neo_facts neo_guarded_read_facts(const neo_module *m, neo_def d, const neo_guarded_read *r,
                                 neo_axis_rec *axes);

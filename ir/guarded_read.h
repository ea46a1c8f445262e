/* Reads of a definition with what holds where they are made: branches of `select`, the left sides of
 * `and` and `or`, the condition of a reduction, and that the read itself is in range. */
#pragma once
#include "ir/prove.h"

typedef struct {
  neo_expr read;   /* LOAD or LOAD_ELSE */
  uint32_t n_axes; /* of the definition, that the read may use: the output axes in finish */
  const neo_expr *assume;
  uint32_t n_assume;
  uint32_t n_around; /* of them: without those that the read itself is in range, which come last */
  bool knows_all;    /* no condition was left out because there are so many */
} neo_guarded_read;

typedef NEO_VEC(neo_guarded_read) neo_guarded_reads;

/* Adds the definition's reads of the tensors that `wanted` holds (by id). One that is made in several
 * places appears once for each set of conditions. Lists are of the arena. */
void neo_guarded_reads_of(neo_module *m, neo_def d, const bool *wanted, neo_arena *arena,
                          neo_guarded_reads *out);

/* The axes of the definition that the read may use, as facts with its conditions. `axes` has room for
 * 64. */
neo_facts neo_guarded_read_facts(const neo_module *m, neo_def d, const neo_guarded_read *r,
                                 neo_axis_rec *axes);

/* Private to the generator: what its forms of recurrences share. gen_self.c draws definitions that
 * read themselves, gen_loop.c loops and choices at run time. */
#ifndef NEO_TESTS_PAIRS_GEN_RECUR_H
#define NEO_TESTS_PAIRS_GEN_RECUR_H
#include "tests/pairs/gen.h"

/* Notes the kind; the statement at hand has it. */
static inline void pg_kind(pgen *g, pairs_recurrence k) {
  g->recurs |= PAIRS_RECURS(k);
}

/* "y[i < N, j < M] : f32 = ..." that reads itself, with the indices that are at hand behind its own.
 * Notes the number of rounds. False: not with these extents. */
bool pg_self_text(pgen *g, ptensor *y, const char **text);
/* Notes whether the extent is that of no round, one, or a run-time number of them. */
void pg_note_rounds(pgen *g, uint32_t extent);
/* A value of this type that has `self`, a part that is at hand already, in it, and stays small. */
const char *pg_damped(pgen *g, neo_type t, const char *self);
neo_type pg_recurrent_type(pgen *g);
enum { PG_MOST_RESULTS = 8 };
/* "a, b = while ... { ... }" for the block of a vertex function, with loops in it, and its results. */
const char *pg_block_loop(pgen *g, ptensor *results, uint32_t *n);
void pg_note_type(pgen *g, neo_type t);

#endif

/* Values of a row that several stages need. The first of these stages computes them and stashes
 * them in scratch or in registers for the others. Softmax, whose stages are
 *
 *     stage 0  i  m = max X[r, i]
 *     stage 1  i  s = sum exp(X[r, i] - m)
 *     stage 2  i  Y[r, i] = exp(X[r, i] - m) * (1/s)
 *
 * computes exp(X[r, i] - m) once: stage 1 writes it to a row that stays in the cache, stage 2 reads
 * it from there.
 *
 * Axes have the same positions in all stages, so that a stage of another length, or one from
 * another element on, has the same expression. It reads the row only if the row has all of its
 * elements. */
#pragma once
#include "fusion/form.h"
#include "ir/prove/prove.h"
#include "schedule/schedule.h"

enum { NEO_STASH_MOST = 4 };

typedef struct {
  uint32_t n;
  int64_t row; /* elements of each value: the extent of the stages' own axis */
  struct {
    neo_expr value;
    uint32_t first; /* stage that computes it; later ones read it, if the row has their elements */
  } at[NEO_STASH_MOST];
} neo_stash;

/* The values that can be stashed where lanes run along own axes, or threads divide a row (threads);
 * n may be 0. Threads stash their share of a row in registers. */
neo_stash neo_stash_find(neo_module *m, const neo_form *f, bool threads);

/* Has the row an element for each position of the stage? The facts are of its axes. */
bool neo_stash_has_all(neo_module *m, neo_prover *p, const neo_stash *stash, const neo_stage *s,
                       const neo_facts *facts);

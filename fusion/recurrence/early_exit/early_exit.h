/* Private to fusion/recurrence. Early exit: the iterations of a `while` after the one in which its
 * condition failed change nothing, and are skipped.
 *
 *     band t                                     band t
 *       band r in 0..L                             band r in 0..L
 *         leaf alive[t, r]                           exit unless alive[t, r - n]
 *         leaf next[t, r]                ->          leaf alive[t, r]
 *         leaf h[t, r]                               leaf next[t, r]
 *                                                    leaf h[t, r]
 *
 *     alive[t, r] = (alive[t, r-1] else true) and c(h[t, r-1])
 *     h[t, r]     = select(alive[t, r], next[t, r], (h[t, r-1] else first))
 *
 * Iteration r is dead if alive[t, r] is false; then all later ones are dead, too. Readers after the
 * loop still find the last element:
 *
 * - storage of h and alive that is folded to at most n cells along r (fold.c) has the last value in
 *   all of its cells after n dead iterations, which do run;
 * - in storage of all iterations, the element of the last iteration that ran is copied to the last
 *   position (ends.c);
 * - other tensors of the loop are skipped only if their readers are iterations that are not dead.
 *
 * Predication: if a definition has to run in all iterations, since a reader takes h[t, r] of any r,
 * the loop does not end, and each other leaf is under a guard with the condition. On a GPU each
 * leaf is, since the kernels test it (neo_loop_options). The condition must not change while an
 * iteration runs, so alive then has n + 1 cells, and is computed in all iterations.
 *
 * A parallel band (parallel.c) has no iterations to end, and gets a guard. A loop that runs down,
 * as an adjoint's does, begins with its dead iterations, which get guards.
 *
 * An iteration for several positions at once (rows of a level, or indices of a call) is dead if
 * alive is false for all of them (batch.c).
 *
 *   early_exit.c walks over the loops, inner ones first
 *   condition.c  finds a loop's condition, and the definitions that keep their value once it fails
 *   reads.c      finds the readers of the loop's tensors
 *   members.c    finds the definitions that dead iterations skip
 *   batch.c      computes the condition of several positions at once
 *   tree.c       adds exits and guards to the tree
 *   ends.c       adds writes before and after a run of the loop */
#pragma once
#include "fusion/recurrence/internal.h"

typedef NEO_VEC(neo_def) early_exit_defs;
/* Do readers of a definition, direct or indirect, use elements only of iterations that ran? */
enum { MASK_UNKNOWN, MASKED, UNMASKED };

typedef struct {
  outliner *o;
  const neo_order_step *loop[OUTLINE_FOLDS]; /* outermost first; the last one exits early */
  uint32_t n_loops;
  neo_def *needed; /* definitions that entries need */
  size_t n_needed;
  early_exit_defs *readers; /* by tensor: the definitions among `needed` that read it */
  uint32_t *recurrence;     /* by definition: number of its recurrence; 0: none */
  const bool *steers;       /* by tensor: an index depends on it, so an unused select reads it */
  const bool *outside;      /* by tensor: read outside of the group */
  neo_tensor alive;         /* the condition */
  neo_def maker; /* the loop's definition of alive; 0: alive is computed before the loop */
  neo_def shape; /* maker, or the loop's first definition: cells have its output axes */
  uint32_t axis[OUTLINE_FOLDS]; /* alive's axis along each loop; its other axes are a batch */
  /* By tensor: is it read, outside of iterations that ran, at other positions than the last
   * iteration's (read_after), at that position (read_last)? */
  bool *read_after, *read_last;
  uint8_t *masked;      /* by definition: MASK_UNKNOWN, MASKED or UNMASKED */
  uint8_t *masked_axis; /* by definition and loop: the axis along the loop, if MASKED */
  int64_t n;            /* number of dead iterations that run */
  bool *skipped;        /* by definition: dead iterations skip it */
  bool *unneeded;  /* by definition: no reader uses elements of dead iterations; null: unknown */
  bool *ends;      /* by definition: stored for all iterations, and read at the last position */
  bool fills;      /* alive is read where no iteration ran, so it is set to false there */
  bool predicated; /* the loop does not end; leaves are under guards */
  bool batches;    /* some instances compute a batch (batch.c) */
  /* Cells with an element for each run of the loop; 0: unused. */
  neo_tensor last; /* the last iteration that ran */
  neo_tensor any;  /* by iteration: does a position of the batch run in it? */
  neo_tensor most; /* number of iterations that run */
} early_exit;

static inline const neo_order_step *early_exit_loop(const early_exit *q) {
  return q->loop[q->n_loops - 1];
}

static inline uint32_t early_exit_axis(const early_exit *q) {
  return q->axis[q->n_loops - 1];
}

/* ---- condition.c */
/* Finds q->alive: a loop that runs up computes it, one that runs down reads it. */
bool early_exit_find_condition(early_exit *q);
/* The loop's member that computes the whole tensor; null: there is none. */
const neo_order_member *early_exit_maker(const early_exit *q, uint32_t tensor);
/* The iterations of loop `level` between the element of `made` at `read` and the point of
 * definition x; false: not a constant. */
bool early_exit_distance(const early_exit *q, uint32_t level, neo_def x, neo_def made,
                         neo_expr read, int64_t *d);
/* Is e alive[..] at the iteration of x's point? */
bool early_exit_is_condition(const early_exit *q, neo_def x, neo_expr e);
/* Does an element of the member, in a dead iteration, equal that of the iteration before? */
bool early_exit_is_unchanged(const early_exit *q, const neo_order_member *x);

/* ---- reads.c */
/* Finds q->read_after and q->read_last. */
void early_exit_find_readers(early_exit *q);
/* Finds q->unneeded. */
void early_exit_find_unneeded(early_exit *q);

/* ---- members.c: finds q->skipped; false: no definition is skipped. */
bool early_exit_find_skipped(early_exit *q, const neo_tree *t);

/* ---- batch.c */
/* The iteration of loop `level` that the instance is in, or the first of several; and the same as
 * a position of definition `of`, less its delay. */
neo_expr early_exit_iteration(const early_exit *q, uint32_t level, const outline_instance *x);
neo_expr early_exit_position(const early_exit *q, uint32_t level, neo_def of,
                             const outline_instance *x);
/* Does the instance compute several positions of the condition at once? */
bool early_exit_is_batch(const early_exit *q, const outline_instance *x);
/* Does instance x of q->maker compute the condition of the whole batch? */
bool early_exit_has_batch(const early_exit *q, const outline_instance *x);
/* A new tensor with an element for each run of the loop. Along the loop it has n elements, as a
 * circular buffer; 0: one for each iteration. */
neo_tensor early_exit_cell(early_exit *q, const char *what, neo_type type, int64_t n);
/* The cell's element for the iteration of instance x, as an instance reads it. */
neo_expr early_exit_read_cell(const early_exit *q, neo_tensor cell, const outline_instance *x);
/* The same as a guard reads it, from memory: at position `at` along the loop, true if that is
 * outside of the cell; `at` 0: of a cell without an axis along the loop. */
neo_expr early_exit_load_cell(const early_exit *q, neo_tensor cell, neo_expr at, neo_span span);
/* An instance that writes the value to the cell, in the iteration of x. */
outline_instance *early_exit_in_cell(const early_exit *q, const outline_instance *x,
                                     neo_tensor cell, neo_expr value);
/* Instances that write q->any in the iteration of x; q->most before the run, from the trip counts
 * if these are in memory (0: from alive); q->any of all iterations, from q->most. */
outline_instance *early_exit_any_of(const early_exit *q, const outline_instance *x);
outline_instance *early_exit_most_of(const early_exit *q, const outline_instance *x,
                                     neo_tensor trip_count);
outline_instance *early_exit_all_of(const early_exit *q, const outline_instance *x);

/* ---- tree.c */
bool early_exit_uses_index(const neo_module *m, neo_expr e, neo_size index);
/* The tree with exits and guards for the innermost of q's loops. */
const neo_tree *early_exit_guarded(const early_exit *q, const neo_tree *t);
/* The loop's trip counts, if they are in memory before the group; else 0. */
neo_tensor early_exit_counts(const early_exit *q);

/* ---- ends.c */
/* Sets q->last to a new cell; 0: no tensor needs it. */
void early_exit_note_last(early_exit *q);
/* The tree with writes before and after each run of the loop. */
const neo_tree *early_exit_with_ends(const early_exit *q, const neo_tree *t);

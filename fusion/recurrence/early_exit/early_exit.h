/* Private to fusion/recurrence. Early exit: iterations of a `while` after the one in which its
 * condition failed change nothing, and are not run.
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
 * An iteration is dead where alive[t, r] is false: all later ones are, too. The storage of h and
 * alive is folded to n cells at most along r (fold.c); n dead iterations later all of
 * these cells have the value that those of the last iteration would have, so readers after the loop
 * find it. Of what is stored whole the last element is copied from that of the last iteration that
 * ran. Whatever else the loop makes, only iterations that are not dead may read.
 *
 * Positions of r that are no band's (parallel.c) are under a guard with the same condition. Where
 * something has to run in all iterations (who reads h[t, r] of any r needs it), each leaf that need
 * not is under such a guard: predication. So are all on a GPU, where kernels ask
 * (neo_loop_options). As the condition must not change while an iteration runs, alive then has a
 * cell more, and is made in all iterations.
 *
 * A loop that runs down, as that of an adjoint does, begins with the dead iterations. They are
 * under guards, too.
 *
 * An iteration for several positions at once, rows of a level or indices of a call, is dead if
 * alive is false for all of them (batch.c).
 *
 *   early_exit.c            the loops, those in other loops first
 *   condition.c  which condition a loop has, and what keeps its value where it fails
 *   reads.c      who reads what the loop makes
 *   members.c    which definitions dead iterations skip
 *   batch.c      conditions of several positions at once
 *   tree.c       the tree with exits and guards
 *   ends.c       what is written before and after a run of the loop */
#pragma once
#include "fusion/recurrence/internal.h"

typedef NEO_VEC(neo_def) early_exit_defs;
enum { HANDS_UNKNOWN, HANDS_ON, HANDS_NOT }; /* whether a definition hands elements on */

typedef struct {
  outliner *o;
  const neo_order_step *loop[OUTLINE_FOLDS]; /* outermost first; the last one exits early */
  uint32_t n_loops;
  neo_def *needed; /* definitions that entries need */
  size_t n_needed;
  early_exit_defs *readers; /* of them, by tensor */
  uint32_t *recurrence;     /* number of its recurrence, by definition */
  /* By tensor: an index is made of it, which is read where a select does not take it, too. */
  const bool *steers;
  const bool *outside; /* by tensor: needed outside of the group */
  neo_tensor alive;
  neo_def maker; /* of alive, in the loop; 0: it is outside, and all of it is there before */
  neo_def shape; /* maker, or another one of the loop: the axes of cells are its */
  uint32_t axis[OUTLINE_FOLDS]; /* of alive: along each loop. Along others it has a batch */
  /* By tensor: others than iterations of the loop read it, and not only that of the last one; they
   * read the one of the last iteration. */
  bool *read_after, *read_last;
  /* By definition: whether to who asks for iterations that ran alone; which of its axes are along
   * the loops. */
  uint8_t *hands, *hand_axis;
  int64_t n;      /* dead iterations that run */
  bool *skipped;  /* by definition: dead iterations skip it */
  bool *unneeded; /* by definition: nobody needs its elements of dead iterations; null: not asked */
  bool *ends;     /* by definition: all elements are stored, and the last one is read */
  bool fills;     /* elements of alive without an iteration are read: they become false */
  bool predicated; /* leaves ask: the loop does not end */
  bool batches;    /* some instances are of batches (batch.c) */
  /* Cells of a run: the last iteration that ran; does one of a batch run in an iteration, and in how many; 0: nobody asks. */
  neo_tensor last, any, most;
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
/* Is it the condition of the iteration of x's point? */
bool early_exit_is_condition(const early_exit *q, neo_def x, neo_expr e);
/* Has the member's element, in a dead iteration, its value of the iteration before? */
bool early_exit_is_unchanged(const early_exit *q, const neo_order_member *x);

/* ---- reads.c */
/* Finds q->read_after and q->read_last. */
void early_exit_find_readers(early_exit *q);
/* Finds q->unneeded. */
void early_exit_find_unneeded(early_exit *q);

/* ---- members.c: finds q->skipped; false: nothing is. */
bool early_exit_find_skipped(early_exit *q, const neo_tree *t);

/* ---- batch.c */
/* The iteration of loop `level` that the instance is in; *where: in positions of definition
 * `of`. */
neo_expr early_exit_iteration(const early_exit *q, uint32_t level, const outline_instance *x);
neo_expr early_exit_position(const early_exit *q, uint32_t level, neo_def of,
                             const outline_instance *x);
/* Are several positions of the condition the instance's at once? */
bool early_exit_is_batch(const early_exit *q, const outline_instance *x);
/* Has the instance, of the condition, all of them? */
bool early_exit_has_batch(const early_exit *q, const outline_instance *x);
/* A tensor with an element for each run, in one cell, or n along the loop; 0: one for each iteration. */
neo_tensor early_exit_cell(early_exit *q, const char *what, neo_type type, int64_t n);
/* Its element in the run of instance x, for another instance there; and where it lies in memory, along the loop at `at`,
 * where true is behind its ends. */
neo_expr early_exit_read_cell(const early_exit *q, neo_tensor cell, const outline_instance *x);
neo_expr early_exit_ask_cell(const early_exit *q, neo_tensor cell, neo_expr at, neo_span span);
/* Makes the element, in the iteration that x is in. */
outline_instance *early_exit_in_cell(const early_exit *q, const outline_instance *x,
                                     neo_tensor cell, neo_expr value);
/* Make q->any in x's iteration; q->most, before the run, from the trip counts if they are there; q->any of it. */
outline_instance *early_exit_any_of(const early_exit *q, const outline_instance *x);
outline_instance *early_exit_most_of(const early_exit *q, const outline_instance *x,
                                     neo_tensor rounds);
outline_instance *early_exit_all_of(const early_exit *q, const outline_instance *x);

/* ---- tree.c */
bool early_exit_uses_index(const neo_module *m, neo_expr e, neo_size index);
const neo_tree *early_exit_guarded(const early_exit *q, const neo_tree *t);
/* The trip counts, if the group reads them: they are in memory before it. */
neo_tensor early_exit_counts(const early_exit *q);

/* ---- ends.c */
/* Makes q->last, the number of the last iteration that ran; 0 if no stored tensor needs it. */
void early_exit_note_last(early_exit *q);
/* The tree in which the first and last elements are there around each run of the loop. */
const neo_tree *early_exit_with_ends(const early_exit *q, const neo_tree *t);

/* Private to codegen/dsa: an instance in columns, and functions of its files.
 *
 * Two buffers conflict if their lives overlap. The moments at which no further buffer can be added
 * to those alive, the maximal cliques of the interval graph, determine all conflicts. These
 * moments, in order, are the columns; a buffer is in columns begin to end - 1. Sizes, alignments
 * and offsets are in units, the greatest common divisor of them all. */
#pragma once
#include "base/vec.h"
#include "codegen/dsa/dsa.h"

typedef struct {
  int64_t size, align, fixed; /* fixed: NEO_DSA_FREE, or the offset */
  int64_t life;               /* steps */
  int32_t begin, end;         /* columns */
} dsa_buffer;

typedef struct {
  dsa_buffer *buffer; /* sorted by begin */
  int32_t n, n_columns;
  int32_t *cover_at, *cover; /* buffers of column c: cover[cover_at[c]] to cover[cover_at[c+1]-1];
                              * null: there are too many for a search */
  int32_t *start_at;         /* buffers that begin in column c: start_at[c] to start_at[c+1] - 1 */
  int64_t *load;             /* by column: sum of sizes */
  int64_t bound;             /* the largest load, or the end of a fixed buffer */
  neo_arena *arena;
} dsa_instance;

/* ---- columns.c, for solve.c: fills all but `bound`, for n buffers whose sizes are set and whose
 * items, in the same order, are sorted by their first step. */
void dsa_columns(dsa_instance *in, const neo_dsa_item *items, const size_t *item_of);

/* ---- fit.c, for solve.c: the best plan of several greedy orders; returns its peak. offset: of
 * each buffer. */
int64_t dsa_fit(const dsa_instance *in, int64_t *offset);
int64_t dsa_align_up(int64_t n, int64_t align);

/* ---- search.c, for solve.c */
/* The rule for the next column to decide: a single choice, else the least slack; the fewest
 * choices; the least slack, then the fewest choices; the least floor; the least slack, then the
 * least floor. */
typedef enum {
  DSA_PICK_FORCED,
  DSA_PICK_CHOICES,
  DSA_PICK_SLACK,
  DSA_PICK_LOWEST,
  DSA_PICK_TIGHT
} dsa_pick;
/* The rule for the first buffer of a column to try. Area: size times life. */
typedef enum { DSA_WIDEST, DSA_LARGEST, DSA_AREA, DSA_NARROWEST } dsa_first;
typedef struct {
  dsa_pick pick;
  dsa_first first;
  int64_t capacity;
  int64_t limit; /* charge at which the search ends */
} dsa_strategy;
typedef enum { DSA_FOUND, DSA_NONE, DSA_LIMIT } dsa_answer;
typedef struct {
  int64_t nodes, charge;
} dsa_effort;
/* The charge of a node that visits the columns begin to end - 1; if `pick` counts choices, it
 * visits their buffers, too. */
int64_t dsa_charge(const dsa_instance *in, dsa_pick pick, int32_t begin, int32_t end);
typedef struct dsa_searcher dsa_searcher;
/* Room for searches that are charged `limit` at most, in the instance's arena. */
dsa_searcher *dsa_searcher_new(const dsa_instance *in, int64_t limit);
/* Is there a plan whose peak is at most the capacity? FOUND: `offset` is one. Adds to *effort. */
dsa_answer dsa_search(dsa_searcher *q, const dsa_strategy *by, int64_t *offset, dsa_effort *effort);

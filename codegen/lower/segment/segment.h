/* Lowering of segmented reductions (schedule/segment/segment.h).
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"
#include "schedule/segment/segment.h"

neo_lower_inside neo_lower_segment;
/* Opens the block for terms whose row is in [lo, hi): the term at the current own axes, with the
 * axis of the equation at its row. seg: of one equation (neo_segment_is_sum). */
neo_block *neo_lower_segment_term(lowering *l, neo_block *in, const neo_segment *seg,
                                  const neo_lx *lo, const neo_lx *hi);

/* ---- lower/segment/keys.c */

/* The body of the loops over terms: it adds statements at one point of all axes but the columns. */
typedef void neo_lower_keyed_body(void *ctx, neo_block *in);
/* Calls f in the block for the term at the current own axes and its rows in [lo, hi) along `row`,
 * with the keys' axes at the row. Each key that is an interval opens a loop along its axis. */
void neo_lower_keyed_term(lowering *l, neo_block *in, const neo_segment_pass *p, uint32_t row,
                          const neo_lx *lo, const neo_lx *hi, neo_lower_keyed_body *f, void *ctx);

/* For keys that are equations: sets their axes to the keys, in lanes too, and returns the condition
 * under which the term belongs to a row; null: always. The condition guards loads until the caller
 * resets l->guard and l->exact. */
const neo_lx *neo_lower_keyed_condition(lowering *l, const neo_segment_pass *p, uint32_t row,
                                        const neo_lx *lo, const neo_lx *hi);

/* ---- lower/segment/table.c: the accumulators of the rows in memory */

typedef struct {
  lowering *l;
  neo_segment seg;
  const neo_stage *store;
  uint32_t buf[NEO_SEGMENT_ACCS]; /* [accumulator] */
  int64_t columns;                /* elements of a row of a table */
  int32_t n_axis;                 /* -1: there are no columns */
  const neo_lx *m_lo, *m_hi, *n_lo, *n_hi;
} neo_lower_tables;

/* Adds the kernel's tables. */
void neo_lower_add_tables(neo_lower_tables *t);
/* The index, in its buffer, of accumulator k of the current row and column. */
const neo_lx *neo_lower_table_at(neo_lower_tables *t, uint32_t k);
/* Sets all elements of an accumulator to the reducer's identity, if they are contiguous. False:
 * they are not. */
bool neo_lower_fill_table(neo_lower_tables *t, neo_block *in, uint32_t k);

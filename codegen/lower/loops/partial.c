/* Sums whose lanes are results, with several accumulators for each result, which take the steps
 * cyclically and are added up at the end. So a sum with few results is not bound by the latency of
 * a chain of additions.
 *
 *     reg acc[n, cols, w]; acc = 0
 *     for k step n: for col unrolled: for lane: acc[0, col, lane] += body(k)
 *                   for col unrolled: for lane: acc[1, col, lane] += body(k + 1)
 *     for col unrolled: for lane: acc[0, col, lane] = acc[0, col, lane] + acc[1, col, lane]
 *
 * Accumulator i of an element in row r of the tile is row i*rows + r of the register. */
#include "codegen/lower/common/acc.h"
#include "codegen/lower/loops/loops.h"

int64_t neo_lower_partial_sums(const lowering *l, const neo_stage *s) {
  bool one_after_the_other = !neo_lower_lanes_shared(l) || !s->axes.n || s->over || l->matrix.on ||
                             neo_lower_has_payload(s);
  return one_after_the_other || l->lanes.partial_sums < 1 ? 1 : l->lanes.partial_sums;
}

void neo_lower_partial_begin(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                             int64_t n) {
  tile all = *t;
  all.rows *= n;
  neo_acc_begin(l, in, s, &all, true);
}

void neo_lower_partial_step(lowering *l, const neo_stage *s, const tile *t, int64_t step) {
  for (uint32_t k = 0; k < s->accs.n; k++)
    l->acc[s->first_acc + k].first_row = step * t->rows;
}

/* The sum of the accumulators first, first + step, ... of the current element. */
static const neo_lx *sum_of(lowering *l, const neo_stage *s, uint32_t k, int64_t rows,
                            int64_t first, int64_t step, int64_t n) {
  if (n == 1) {
    l->acc[s->first_acc + k].first_row = first * rows;
    const neo_lx *acc = neo_lower_acc(l, s->first_acc + k);
    l->acc[s->first_acc + k].first_row = 0;
    return acc;
  }
  const neo_lx *a = sum_of(l, s, k, rows, first, 2 * step, (n + 1) / 2);
  const neo_lx *b = sum_of(l, s, k, rows, first + step, 2 * step, n / 2);
  return neo_acc_combined(l, (neo_reducer)s->accs.at[k].kind, a, b);
}

void neo_lower_partial_join(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            int64_t n) {
  neo_block *b = neo_lower_open_tile(l, in, t, true);
  for (uint32_t k = 0; k < s->accs.n; k++)
    neo_acc_set(l, b, &l->acc[s->first_acc + k], sum_of(l, s, k, t->rows, 0, 1, n));
  neo_lower_close_tile(l);
}

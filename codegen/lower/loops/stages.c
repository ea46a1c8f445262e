/* The stages of a form at one register tile.
 *
 * If lanes run over a shared axis (the store's), every lane has its own accumulator
 * (lower/common/acc.c).
 *
 *     reg acc[rows, cols, w]; acc = 0
 *     for k: for row, col unrolled: for lane: acc[row, col, lane] += body
 *     for row, col unrolled: for lane: Y[...] = finish(acc[row, col, lane])
 *
 * If lanes run over a stage's own axis, they hold partial results, which are then reduced
 * (lower/common/lanes.c). */
#include "codegen/lower/common/acc.h"
#include "codegen/lower/loops/loops.h"
#include "codegen/lower/pairs/pairs.h"

/* ---- reduction loops */

/* Does a packed operand slide with own axis k? Then an unrolled loop's bodies share elements of
 * rows, and LLVM would need more registers for these than there are. */
static bool shares_rows(const lowering *l, uint32_t k, const tile *t) {
  for (uint32_t i = 0; i < l->n_packs; i++) {
    const pack *p = &l->packs[i];
    if (t->rows > 1 && p->side == NEO_SIDE_ROWS && p->slides && p->slide.own == k)
      return true;
  }
  return false;
}

/* ---- Sums whose lanes are results, with several accumulators for each result, which take the
 * steps cyclically and are added up at the end. So a sum with few results is not bound by the
 * latency of a chain of additions.
 *
 *     reg acc[n, cols, w]; acc = 0
 *     for k step n: for col unrolled: for lane: acc[0, col, lane] += body(k)
 *                   for col unrolled: for lane: acc[1, col, lane] += body(k + 1)
 *     for col unrolled: for lane: acc[0, col, lane] = acc[0, col, lane] + acc[1, col, lane]
 *
 * Accumulator i of an element in row r of the tile is row i*rows + r of the register. */

/* Accumulators of each element of the tile; 1: the stage's steps are added one after the other. */
static int64_t partial_sums(const lowering *l, const neo_stage *s) {
  bool one_after_the_other = !neo_lower_lanes_shared(l) || !s->axes.n || s->over || l->matrix.on ||
                             neo_lower_has_payload(s);
  return one_after_the_other || l->lanes.partial_sums < 1 ? 1 : l->lanes.partial_sums;
}

/* Declares and clears n accumulators of each element. */
static void partial_begin(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          int64_t n) {
  tile all = *t;
  all.rows *= n;
  neo_acc_begin(l, in, s, &all, true);
}

/* Makes the accumulators of step `step` of n the current ones. */
static void partial_step(lowering *l, const neo_stage *s, const tile *t, int64_t step) {
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

/* Adds up the accumulators of each element in its first one. */
static void partial_join(lowering *l, neo_block *in, const neo_stage *s, const tile *t, int64_t n) {
  neo_block *b = neo_lower_open_tile(l, in, t, true);
  for (uint32_t k = 0; k < s->accs.n; k++)
    neo_acc_set(l, b, &l->acc[s->first_acc + k], sum_of(l, s, k, t->rows, 0, 1, n));
  neo_lower_close_tile(l);
}

static bool unrolls(const lowering *l, const neo_stage *s, uint32_t k, const tile *t,
                    const neo_lx *lo, const neo_lx *hi) {
  int64_t a, b;
  if (shares_rows(l, k, t) || partial_sums(l, s) > 1)
    return false;
  if (!neo_lx_is_int(lo, &a) || !neo_lx_is_int(hi, &b) || b - a < 1)
    return false;
  return k + 1 == s->axes.n && neo_steps_unroll(b - a, t->rows * t->cols);
}

static void reduce_loops(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const stage_bounds *b, uint32_t k);

/* Computes the inner sums that the stage uses, at the current point of its axes. Inner sums do not
 * have the stage's condition, so that loads which are safe only under it are tested. */
static void inner_sums(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  bool any = false;
  for (size_t k = 0; k < l->f->stages.n && &l->f->stages.at[k] != s; k++) {
    const neo_stage *x = &l->f->stages.at[k];
    if (!x->over || !neo_lower_uses_stage(l, s, x))
      continue;
    any = true;
    neo_lower_facts(l, l->f, x);
    neo_acc_begin(l, in, x, t, false);
    l->bounded = !neo_lower_safe_under(l, x->accs.at[0].body, (neo_expr){0});
    neo_lower_forget(l);
    reduce_loops(l, in, x, t, &l->bounds[k], x->over);
    l->bounded = false;
    neo_lower_forget(l);
  }
  if (any)
    neo_lower_facts(l, l->f, s);
}

static void step_loop(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                      const stage_bounds *b, uint32_t k, const neo_lx *lo, const neo_lx *hi) {
  uint32_t axis = (uint32_t)l->f->axes.n + k;
  const neo_lx *v;
  neo_block *body = neo_lower_open(l, in, "k", lo, hi, 1, &v);
  neo_lower_set_axis(l, axis, v, l->depth);
  if (k + 1 == s->axes.n)
    neo_lower_prefetch_columns(l, body, s, t, axis, v);
  reduce_loops(l, body, s, t, b, k + 1);
  neo_lower_close(l);
}

/* The last own axis in steps of n, each of which has accumulators of its own. */
static void partial_loop(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const stage_bounds *b, const neo_lx *lo, const neo_lx *hi, int64_t n) {
  uint32_t k = (uint32_t)s->axes.n - 1;
  const neo_lx *v, *mid = neo_lower_floor_to_multiple(l, lo, hi, n);
  neo_block *body = neo_lower_open(l, in, "k", lo, mid, n, &v);
  for (int64_t j = 0; j < n; j++) {
    axis_value at = {.n = 0};
    neo_lower_push_part(&at, v, 1, l->depth);
    neo_lower_push_part(&at, j ? lx_int(l, j) : NULL, 1, 0);
    neo_lower_set_parts(l, (uint32_t)l->f->axes.n + k, at);
    partial_step(l, s, t, j);
    reduce_loops(l, body, s, t, b, k + 1);
  }
  partial_step(l, s, t, 0);
  neo_lower_close(l);
  if (mid != hi)
    step_loop(l, in, s, t, b, k, mid, hi);
}

/* A loop over steps in two parts, of which only the first prefetches for the tile's end. A branch
 * in a single loop would make LLVM spill accumulators. */
static void divided_loop(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const stage_bounds *b, uint32_t k, const neo_lx *lo, const neo_lx *hi) {
  int64_t steps = 0, n;
  if (s->axes.n == 1 && neo_lx_is_int(lx_sub(l, hi, lo), &n))
    steps = neo_lower_prefetch_steps(l, t, (size_t)(s - l->f->stages.at));
  if (steps <= 0 || n <= 2 * steps) {
    step_loop(l, in, s, t, b, k, lo, hi);
    return;
  }
  const neo_lx *mid = lx_add(l, lo, lx_int(l, steps));
  step_loop(l, in, s, t, b, k, lo, mid);
  l->end_prefetched = true;
  step_loop(l, in, s, t, b, k, mid, hi);
  l->end_prefetched = false;
}

static void last_loop(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                      const stage_bounds *b, uint32_t k, const neo_lx *lo, const neo_lx *hi) {
  int64_t n = k + 1 == s->axes.n ? partial_sums(l, s) : 1;
  if (n > 1)
    partial_loop(l, in, s, t, b, lo, hi, n);
  else
    divided_loop(l, in, s, t, b, k, lo, hi);
}

/* Is the loop long enough to be divided where the condition begins to hold for all of a tile? */
static bool divides(lowering *l, const neo_stage *s, uint32_t k) {
  enum { LEAST = 32 };
  int64_t lo, hi;
  return k + 1 == s->axes.n && neo_axis_range(l->m, l->f, s, k, &lo, &hi) && hi - lo >= LEAST;
}

static void clipped_loops(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b, uint32_t k, const clipped_range *r) {
  stage_bounds always = *b;
  const neo_lx *from = lx_max(l, r->lo, lx_min(l, r->all_lo, r->hi));
  const neo_lx *to = lx_max(l, from, lx_min(l, r->all_hi, r->hi));
  always.where = (neo_expr){0};
  if (from != r->lo)
    last_loop(l, in, s, t, b, k, r->lo, from);
  last_loop(l, in, s, t, &always, k, from, to);
  if (to != r->hi)
    last_loop(l, in, s, t, b, k, to, r->hi);
}

static void reduce_loops(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const stage_bounds *b, uint32_t k) {
  if (k == s->axes.n) {
    inner_sums(l, in, s, t);
    neo_lower_prefetch_tile(l, in, t, false);
    neo_lower_prefetch_shared(l, in, t, (size_t)(s - l->f->stages.at));
    neo_lower_accumulate(l, in, s, t, b);
    return;
  }
  const neo_lx *lo, *hi;
  neo_lower_own_range(l, b, k, &lo, &hi);
  clipped_range r = neo_lower_clip(l, b, k, t, lo, hi);
  if (unrolls(l, s, k, t, r.lo, r.hi)) {
    uint32_t var = neo_kernel_var(l->k, "k");
    neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_UNROLL, var, r.lo, r.hi, 1);
    neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, neo_lx_var(l->k, var), DEPTH_UNROLL);
    reduce_loops(l, &loop->loop.body, s, t, b, k + 1);
  } else if (r.all && divides(l, s, k)) {
    clipped_loops(l, in, s, t, b, k, &r);
  } else {
    last_loop(l, in, s, t, b, k, r.lo, r.hi);
  }
}

/* Adds the partial sums of earlier blocks to acc and, but for the last block, stores acc as partial
 * sums. Returns the branch of the last block, which does the rest of the tile's work. */
static neo_block *end_block(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes) {
  const k_block *c = &l->block;
  tile whole = *t; /* scratch has room for dead lanes */
  whole.n_end = NULL;
  for (int pass = 0; pass < 2; pass++) {
    const neo_lx *skip = pass ? c->is_last : c->is_first;
    neo_ls *branch = neo_ls_if(l->k, in, neo_lx_op1(l->k, NEO_OP_NOT, skip));
    neo_block *b = neo_lower_open_tile(l, &branch->branch.then, &whole, lanes);
    lower_terms at = {.n = 0};
    if (c->at)
      neo_lower_add_term(&at, c->at, c->size, c->depth);
    if (t->m_axis >= 0) {
      neo_lower_add_axis(l, &at, (uint32_t)t->m_axis, c->pitch);
      neo_lower_add_term(&at, c->m_lo, -c->pitch, 0);
    }
    if (t->n_axis >= 0) {
      neo_lower_add_axis(l, &at, (uint32_t)t->n_axis, 1);
      neo_lower_add_term(&at, c->n_lo, -1, 0);
    }
    const neo_lx *offset = neo_lower_sum(l, &at, 0), *acc = neo_lower_acc(l, s->first_acc);
    if (pass)
      neo_ls_store(l->k, b, c->partial, offset, acc, NULL);
    else
      neo_acc_set(l, b, &l->acc[s->first_acc],
                  neo_lx_op2(l->k, NEO_OP_ADD, acc, neo_lx_load(l->k, c->partial, offset)));
    neo_lower_close_tile(l);
  }
  return &neo_ls_if(l->k, in, c->is_last)->branch.then;
}

/* The sum of a stage, element by element. */
static void sum_stage(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                      const stage_bounds *b, bool lanes) {
  int64_t n = partial_sums(l, s);
  if (n > 1) {
    partial_begin(l, in, s, t, n);
    reduce_loops(l, neo_lower_where_summed(l, in, t), s, t, b, 0);
    partial_join(l, in, s, t, n);
    return;
  }
  neo_acc_begin(l, in, s, t, lanes);
  in = neo_lower_where_summed(l, in, t);
  if (l->matrix.on)
    neo_lower_dots(l, in, s, t);
  else
    reduce_loops(l, in, s, t, b, 0);
}

/* Returns the block for the stages after it. */
static neo_block *reduce_stage(lowering *l, neo_block *in, size_t k, const tile *t) {
  const neo_stage *s = &l->f->stages.at[k];
  const stage_bounds *b = &l->bounds[k];
  bool shared = neo_lower_lanes_shared(l),
       in_lanes = !shared && t->width > 1 && neo_lower_lanes_fit(l, s);
  tile scalar = *t;
  if (!shared)
    scalar.width = 1;
  neo_lower_facts(l, l->f, s);
  if (in_lanes) {
    neo_lower_reduce_lanes(l, in, s, t, b);
  } else {
    neo_lower_prefetch_tile(l, in, &scalar, true);
    sum_stage(l, in, s, &scalar, b, shared);
  }
  neo_lower_end_payloads(l, in, s, &scalar, shared);
  return l->block.on ? end_block(l, in, s, &scalar, shared) : in;
}

void neo_lower_stages(lowering *l, neo_block *in, const tile *t) {
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    if (s->over)
      continue;
    if (s->accs.n) {
      in = reduce_stage(l, in, k, t);
      continue;
    }
    neo_lower_facts(l, l->f, s);
    neo_lower_prefetch_gathered(l, in, s, t);
    neo_lower_store(l, in, s, t);
  }
}

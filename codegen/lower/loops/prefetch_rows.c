/* Prefetches of elements of large tensors.
 *
 * Rows (softmax, the images of a channel): the first stage that reads a row waits for memory, and
 * the stages after it compute or write. So the longest of these prefetches the row that the first
 * stage reads in the next iteration of the innermost loop around the row. The prefetch is to L2,
 * because L1 holds the current row and has few line fill buffers, which loads and stores need too.
 *
 * Columns (sums of a matrix's rows, lanes along the rows): each step of the sum reads a piece of
 * another row, and the hardware prefetcher does not cross pages. So a step prefetches the pieces of
 * PREFETCH_DISTANCE steps later.
 *
 * A prefetch changes no result. */
#include "codegen/lower/loops/loops.h"
#include "schedule/extent.h"

enum {
  LEAST_BYTES = 4 << 20, /* size of a tensor; smaller ones stay in a cache */
  LEAST_ROW = 64,
  MOST_ROW = 256 << 10, /* elements */
  LEAST_STEP_BYTES = 1 << 10,
  PREFETCH_DISTANCE = 4
};

/* Collects the prefetches for the loads of a stage. */
typedef struct {
  lowering *l;
  uint32_t lane, step; /* the axis along a line; the axis whose next iteration is prefetched */
  row_prefetch *at;
  uint32_t n, stage;
} finder;

static int64_t type_bytes(const lowering *l, neo_tensor t) {
  return neo_type_bytes(neo_tensor_type(l->m, t));
}

static bool is_large(lowering *l, neo_tensor t) {
  int64_t n = neo_extent_most(l->m, neo_tensor_elements(l->m, t));
  return n < 0 || n * type_bytes(l, t) >= LEAST_BYTES;
}

static bool is_known(const finder *c, neo_tensor t) {
  for (uint32_t k = 0; k < c->n; k++)
    if (c->at[k].tensor.i == t.i)
      return true;
  return false;
}

static void find(void *ctx, neo_expr e) {
  finder *c = ctx;
  neo_node n = *neo_expr_node(c->l->m, e);
  neo_tensor t = {n.attr};
  int64_t along, step;
  if (n.op != NEO_OP_LOAD || c->n == MOST_ROW_PREFETCHES || is_known(c, t))
    return;
  neo_expr offset = neo_flat_at(c->l->m, e);
  if (!is_large(c->l, t) || neo_expr_uses_op(c->l->m, offset, NEO_OP_LOAD) ||
      !neo_flat_stride(c->l->m, c->l->f, offset, c->lane, &along) || along != 1 ||
      !neo_flat_stride(c->l->m, c->l->f, offset, c->step, &step) || !step)
    return;
  c->at[c->n++] = (row_prefetch){t, offset, step, c->stage};
}

static void find_in(finder *c, const neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++)
    neo_expr_visit(c->l->m, s->accs.at[k].body, find, c);
  for (size_t k = 0; k < s->outs.n; k++)
    neo_expr_visit(c->l->m, s->outs.at[k].value, find, c);
}

static bool is_plain(const lowering *l) {
  return !l->n_packs && !l->n_prefetches && !l->matrix.on && l->s->loops.tile_m == 1 &&
         l->s->loops.fused == 1 && neo_strategy_body_of(l->s->strategy) == NEO_BODY_TILES &&
         !l->s->loops.block_k;
}

/* ---- rows */

/* Does the stage run along a row from 0 that is short enough to stay in a cache until it is
 * read? */
static bool is_row(const lowering *l, const neo_stage *s) {
  int64_t lo, hi = 0, n = 1;
  for (size_t k = 0; k < s->axes.n; k++) {
    const neo_axis_rec *x = &s->axes.at[k];
    if (!neo_expr_is_int(l->m, x->lo, &lo) || lo || !neo_expr_is_int(l->m, x->hi, &hi) || hi < 1 ||
        hi > MOST_ROW / n)
      return false;
    n *= hi;
  }
  return hi >= LEAST_ROW;
}

static bool same_row(const lowering *l, const neo_stage *a, const neo_stage *b) {
  bool same = a->axes.n == b->axes.n && is_row(l, a) && is_row(l, b);
  for (size_t k = 0; k < a->axes.n && same; k++)
    same = a->axes.at[k].hi.i == b->axes.at[k].hi.i;
  return same;
}

/* The next stage with own axes after stage k, if it runs along the same row; else 0. */
static uint32_t next_along(const lowering *l, uint32_t k) {
  const neo_form *f = l->f;
  for (uint32_t i = k + 1; i < f->stages.n; i++)
    if (f->stages.at[i].axes.n)
      return same_row(l, &f->stages.at[k], &f->stages.at[i]) ? i : 0;
  return 0;
}

typedef struct {
  const lowering *l;
  uint32_t stage, lane;
  double ops; /* operations of stashed values, which the stage does not compute */
} stashed_ops;

static void find_stashed(void *ctx, neo_expr e) {
  stashed_ops *c = ctx;
  for (uint32_t k = 0; k < c->l->stash.n; k++)
    if (c->l->stash.at[k].value.i == e.i && neo_lower_reads_stash(c->l, k, c->stage))
      c->ops += neo_model_lane_ops(c->l->m, e, c->lane);
}

static double value_ops(const lowering *l, uint32_t stage, uint32_t lane, neo_expr e) {
  stashed_ops c = {l, stage, lane, 0};
  neo_expr_visit(l->m, e, find_stashed, &c);
  return neo_model_lane_ops(l->m, e, lane) - c.ops;
}

/* Operations of a stage at each point. */
static double ops_of(const lowering *l, uint32_t stage) {
  const neo_stage *s = &l->f->stages.at[stage];
  uint32_t lane = (uint32_t)(l->f->axes.n + s->axes.n - 1);
  double ops = 0;
  for (size_t k = 0; k < s->accs.n; k++)
    ops += value_ops(l, stage, lane, s->accs.at[k].body);
  for (size_t k = 0; k < s->outs.n; k++)
    ops += value_ops(l, stage, lane, s->outs.at[k].value);
  return ops;
}

/* The longest-computing stage along the row after stage k; 0: there is none. */
static uint32_t longest_after(const lowering *l, uint32_t k) {
  uint32_t longest = next_along(l, k);
  for (uint32_t i = longest; i; i = next_along(l, i))
    if (ops_of(l, i) > ops_of(l, longest))
      longest = i;
  return longest;
}

void neo_lower_plan_row_prefetch(lowering *l) {
  const neo_form *f = l->f;
  uint32_t n = (uint32_t)f->axes.n;
  finder c = {.l = l, .step = n - 1, .at = l->row_prefetches};
  if (!is_plain(l) || !n || l->s->loops.vector_axis != (int64_t)n || l->s->loops.axis_n >= 0)
    return;
  for (uint32_t k = 0; k < f->stages.n; k++) {
    c.stage = longest_after(l, k);
    c.lane = n + (uint32_t)f->stages.at[k].axes.n - 1;
    if (c.stage)
      find_in(&c, &f->stages.at[k]);
  }
  l->n_row_prefetches = c.n;
}

/* ---- columns */

void neo_lower_prefetch_columns(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                                uint32_t own, const neo_lx *v) {
  row_prefetch all[MOST_ROW_PREFETCHES];
  finder c = {.l = l, .lane = (uint32_t)t->n_axis, .step = own, .at = all};
  if (!is_plain(l) || !neo_lower_lanes_shared(l) || t->n_axis < 0 || t->n_end)
    return;
  find_in(&c, s);
  axis_value lanes = l->axis[t->n_axis], steps = l->axis[own];
  for (uint32_t k = 0; k < c.n; k++) {
    int64_t bytes = type_bytes(l, all[k].tensor);
    uint64_t buf = 0;
    if (all[k].step * bytes < LEAST_STEP_BYTES)
      continue;
    neo_map_get(&l->buf_of, all[k].tensor.i, &buf);
    neo_lower_set_axis(l, own, lx_add(l, v, lx_int(l, PREFETCH_DISTANCE)), l->depth);
    for (int64_t i = 0; i < t->cols * t->width; i += l->line_bytes / bytes) {
      neo_lower_set_axis(l, (uint32_t)t->n_axis, lx_add(l, t->n_at, lx_int(l, i)), t->n_depth);
      neo_ls_prefetch(l->k, in, (uint32_t)buf, neo_lower_expr(l, all[k].offset), false);
    }
  }
  neo_lower_set_parts(l, (uint32_t)t->n_axis, lanes);
  neo_lower_set_parts(l, own, steps);
  neo_lower_forget(l);
}

/* Which lines a tile fetches for the next one (fetch.h). */
#include "schedule/fetch.h"
#include "schedule/contract.h"
#include "schedule/model.h"
#include <stdlib.h>

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_schedule *s;
  const neo_stage *stage; /* the sum */
  int64_t ahead;
  bool columns_first;
  bool at_end, copied;
  uint32_t index; /* of the stage */
  neo_fetch *out;
  uint32_t n;
} finder;

/* Does the step to the next point lead to another line? */
static bool moves(const finder *c, neo_expr load, uint32_t axis, int64_t by) {
  int64_t stride, bytes = neo_type_bytes(neo_expr_type(c->m, load));
  return neo_flat_stride(c->m, c->f, neo_flat_at(c->m, load), axis, &stride) &&
         llabs(stride) * by * bytes >= NEO_FETCH_LINE;
}

/* Columns of a tile are contiguous and next to those of the following one. */
static bool is_row(const finder *c, neo_expr load) {
  int64_t stride;
  uint32_t v = (uint32_t)c->s->at[NEO_SCHED_VECTOR_AXIS];
  neo_expr at = neo_flat_at(c->m, load);
  return !neo_expr_uses_op(c->m, at, NEO_OP_LOAD) && neo_flat_stride(c->m, c->f, at, v, &stride) &&
         stride == 1;
}

/* Do the steps of a tile share the lines? Those of an end where there are more than a processor
 * waits for beside others, and one loop of steps that lasts as long as a line takes to come. */
static bool is_shared(const finder *c, neo_expr load) {
  enum { FEW_STEPS = 4, FEW_LINES = 12 };
  const int64_t *p = c->s->at;
  int64_t wide = p[NEO_SCHED_TILE_N] * p[NEO_SCHED_VECTOR_WIDTH];
  int64_t row = wide * neo_type_bytes(neo_expr_type(c->m, load));
  int64_t lines = p[NEO_SCHED_TILE_M] * ((row + NEO_FETCH_LINE - 1) / NEO_FETCH_LINE);
  return c->copied || (c->at_end && c->stage->axes.n == 1 && lines > FEW_LINES &&
                       neo_axis_most(c->m, &c->stage->axes.at[0]) >= FEW_STEPS);
}

/* Would the nearest cache lose a line before it is read? Until then the columns of the block are,
 * or those of a tile, and with each row what is written to it. */
static bool is_far(const finder *c, neo_expr load, uint32_t axis) {
  const int64_t *p = c->s->at;
  bool next_tile = !c->copied && axis == (uint32_t)p[NEO_SCHED_VECTOR_AXIS];
  int64_t wide = next_tile ? p[NEO_SCHED_TILE_N] * p[NEO_SCHED_VECTOR_WIDTH]
                           : neo_partial_shape_of(c->m, c->f, c->s).pitch;
  double rows = neo_schedule_block_steps(c->m, c->stage, c->s);
  if (c->at_end)
    rows += (double)p[NEO_SCHED_TILE_M];
  return !neo_elements_are_near(rows * (double)(wide * c->ahead),
                                neo_type_bytes(neo_expr_type(c->m, load)));
}

static void add(finder *c, neo_expr load, uint32_t axis, int64_t by) {
  if (c->n < NEO_FETCH_MOST && moves(c, load, axis, by))
    c->out[c->n++] = (neo_fetch){.load = load,
                                 .axis = axis,
                                 .by = by * c->ahead,
                                 .far = is_far(c, load, axis),
                                 .at_end = c->at_end,
                                 .shared = is_shared(c, load),
                                 .stage = c->index};
}

static bool one_row_tile(const finder *c) {
  const int64_t *p = c->s->at, am = p[NEO_SCHED_AXIS_M];
  return am < 0 || neo_axis_most(c->m, &c->f->axes.at[am]) <= p[NEO_SCHED_TILE_M];
}

static void look(void *ctx, neo_expr e) {
  finder *c = ctx;
  const int64_t *p = c->s->at;
  uint32_t first = (uint32_t)c->f->axes.n, last = first + (uint32_t)c->stage->axes.n - 1;
  if (neo_expr_node(c->m, e)->op != NEO_OP_LOAD || !is_row(c, e))
    return;
  if (!c->at_end && !moves(c, e, last, 1))
    return;
  if (!c->at_end && p[NEO_SCHED_BLOCK_K] && (!c->columns_first || one_row_tile(c)))
    add(c, e, first, p[NEO_SCHED_BLOCK_K]);
  else if (c->columns_first && !c->at_end)
    add(c, e, (uint32_t)p[NEO_SCHED_VECTOR_AXIS], p[NEO_SCHED_TILE_N] * p[NEO_SCHED_VECTOR_WIDTH]);
  else if (!c->columns_first && c->at_end && p[NEO_SCHED_AXIS_M] >= 0)
    add(c, e, (uint32_t)p[NEO_SCHED_AXIS_M], p[NEO_SCHED_TILE_M]);
}

/* ---- columns that are copied */

/* Columns that are copied anew for each block of the reduction, or else for each block of columns,
 * and walk one own axis, which the tiles of rows can share. */
static bool copies_blocks(const finder *c, const neo_factor *x) {
  const int64_t *p = c->s->at;
  uint64_t own = x->axes >> c->f->axes.n;
  return own == 1 && c->stage->axes.n == 1 && p[NEO_SCHED_AXIS_M] >= 0 && !p[NEO_SCHED_BLOCK_M] &&
         (p[NEO_SCHED_BLOCK_K] || p[NEO_SCHED_BLOCK_N]) &&
         !neo_pack_shape_of(c->m, c->f, c->stage, x, NEO_SIDE_COLUMNS, c->s).slides;
}

static void look_at_copied(void *ctx, neo_expr e) {
  finder *c = ctx;
  const int64_t *p = c->s->at;
  if (neo_expr_node(c->m, e)->op != NEO_OP_LOAD || !is_row(c, e))
    return;
  if (p[NEO_SCHED_BLOCK_K])
    add(c, e, (uint32_t)c->f->axes.n, p[NEO_SCHED_BLOCK_K]);
  else
    add(c, e, (uint32_t)p[NEO_SCHED_VECTOR_AXIS], p[NEO_SCHED_BLOCK_N]);
}

/* ---- all */

static void look_at_columns(finder *c, const neo_factor *x, bool packed) {
  if (neo_schedule_side(c->f, c->s, x) != NEO_SIDE_COLUMNS)
    return;
  c->copied = packed;
  if (!packed)
    neo_expr_visit(c->m, x->e, look, c);
  else if (copies_blocks(c, x))
    neo_expr_visit(c->m, x->e, look_at_copied, c);
  c->copied = false;
}

static void look_at_end(finder *c) {
  c->at_end = true;
  for (size_t k = 0; k < c->f->stages.n; k++)
    for (size_t i = 0; i < c->f->stages.at[k].outs.n; i++)
      neo_expr_visit(c->m, c->f->stages.at[k].outs.at[i].value, look, c);
}

uint32_t neo_fetch_find(neo_module *m, const neo_form *f, const neo_schedule *s, neo_fetch *out) {
  const int64_t *p = s->at;
  neo_contraction c;
  int64_t v = p[NEO_SCHED_VECTOR_AXIS];
  if (v < 0 || v >= (int64_t)f->axes.n || p[NEO_SCHED_MERGE] > 1 || p[NEO_SCHED_MATRIX] ||
      p[NEO_SCHED_SEGMENT] || p[NEO_SCHED_RUNNING] || neo_schedule_steps_first(s) ||
      !neo_contraction_of(m, f, &c))
    return 0;
  finder x = {.m = m, .f = f, .s = s, .stage = &f->stages.at[c.stage], .out = out};
  x.index = (uint32_t)c.stage;
  x.ahead = p[NEO_SCHED_FETCH] > 1 ? p[NEO_SCHED_FETCH] : 1;
  x.columns_first = neo_schedule_columns_first(m, f, s);
  for (uint32_t k = 0; k < c.n; k++)
    look_at_columns(&x, &c.factor[k], p[NEO_SCHED_PACK] >> k & 1);
  if (!p[NEO_SCHED_BLOCK_K])
    look_at_end(&x);
  return x.n;
}

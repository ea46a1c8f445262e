/* Finds the lines that a tile prefetches for the next one (prefetch.h). */
#include "schedule/tile/prefetch.h"
#include "schedule/contract.h"
#include "schedule/model.h"
#include <stdlib.h>

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_schedule *s;
  const neo_stage *stage; /* the stage of the sum */
  int64_t line_bytes, distance;
  bool columns_first;
  bool at_end, copied;
  uint32_t index; /* number of that stage */
  neo_prefetch *out;
  uint32_t n;
} finder;

/* Does a step along the axis lead to another line? */
static bool moves(const finder *c, neo_expr load, uint32_t axis, int64_t by) {
  int64_t stride, bytes = neo_type_bytes(neo_expr_type(c->m, load));
  return neo_flat_stride(c->m, c->f, neo_flat_at(c->m, load), axis, &stride) &&
         llabs(stride) * by * bytes >= c->line_bytes;
}

/* Does the load read columns that are contiguous, so that the next tile's are adjacent? */
static bool is_row(const finder *c, neo_expr load) {
  int64_t stride;
  uint32_t v = (uint32_t)c->s->loops.vector_axis;
  neo_expr at = neo_flat_at(c->m, load);
  return !neo_expr_uses_op(c->m, at, NEO_OP_LOAD) && neo_flat_stride(c->m, c->f, at, v, &stride) &&
         stride == 1;
}

/* Do the steps of a tile share the prefetches? They do for copies, and at the end of a tile with
 * more lines than a processor has in flight, if a single loop of steps is long enough to hide their
 * latency. */
static bool is_shared(const finder *c, neo_expr load) {
  enum { FEW_STEPS = 4, FEW_LINES = 12 };
  const neo_loop_params *p = &c->s->loops;
  int64_t wide = p->tile_n * p->vector_width;
  int64_t row = wide * neo_type_bytes(neo_expr_type(c->m, load));
  int64_t lines = p->tile_m * ((row + c->line_bytes - 1) / c->line_bytes);
  return c->copied || (c->at_end && c->stage->axes.n == 1 && lines > FEW_LINES &&
                       neo_axis_most(c->m, &c->stage->axes.at[0]) >= FEW_STEPS);
}

/* Would L1 evict a line before it is read? Meanwhile the kernel reads the columns of the block, or
 * those of a tile, and accesses the results of each row. */
static bool is_far(const finder *c, neo_expr load, uint32_t axis) {
  const neo_loop_params *p = &c->s->loops;
  bool next_tile = !c->copied && axis == (uint32_t)p->vector_axis;
  int64_t wide =
      next_tile ? p->tile_n * p->vector_width : neo_partial_shape_of(c->m, c->f, c->s).pitch;
  double rows = neo_schedule_block_steps(c->m, c->stage, c->s);
  if (c->at_end)
    rows += (double)p->tile_m;
  return !neo_elements_are_near(rows * (double)(wide * c->distance),
                                neo_type_bytes(neo_expr_type(c->m, load)));
}

static void add(finder *c, neo_expr load, uint32_t axis, int64_t by) {
  if (c->n < NEO_PREFETCH_MOST && moves(c, load, axis, by))
    c->out[c->n++] = (neo_prefetch){.load = load,
                                    .axis = axis,
                                    .by = by * c->distance,
                                    .far = is_far(c, load, axis),
                                    .at_end = c->at_end,
                                    .shared = is_shared(c, load),
                                    .stage = c->index};
}

static bool one_row_tile(const finder *c) {
  const neo_loop_params *p = &c->s->loops;
  const int64_t am = p->axis_m;
  return am < 0 || neo_axis_most(c->m, &c->f->axes.at[am]) <= p->tile_m;
}

static void look(void *ctx, neo_expr e) {
  finder *c = ctx;
  const neo_loop_params *p = &c->s->loops;
  uint32_t first = (uint32_t)c->f->axes.n, last = first + (uint32_t)c->stage->axes.n - 1;
  if (neo_expr_node(c->m, e)->op != NEO_OP_LOAD || !is_row(c, e))
    return;
  if (!c->at_end && !moves(c, e, last, 1))
    return;
  if (!c->at_end && p->block_k && (!c->columns_first || one_row_tile(c)))
    add(c, e, first, p->block_k);
  else if (c->columns_first && !c->at_end)
    add(c, e, (uint32_t)p->vector_axis, p->tile_n * p->vector_width);
  else if (!c->columns_first && c->at_end && p->axis_m >= 0)
    add(c, e, (uint32_t)p->axis_m, p->tile_m);
}

/* ---- columns that are copied */

/* Are the columns packed again for each block of the reduction, or else for each block of columns,
 * along one own axis, so that the tiles of rows can share the prefetches? */
static bool copies_blocks(const finder *c, const neo_factor *x) {
  const neo_loop_params *p = &c->s->loops;
  uint64_t own = x->axes >> c->f->axes.n;
  return own == 1 && c->stage->axes.n == 1 && p->axis_m >= 0 && !p->block_m &&
         (p->block_k || p->block_n) &&
         !neo_pack_shape_of(c->m, c->f, c->stage, x, NEO_SIDE_COLUMNS, c->s).slides;
}

static void look_at_copied(void *ctx, neo_expr e) {
  finder *c = ctx;
  const neo_loop_params *p = &c->s->loops;
  if (neo_expr_node(c->m, e)->op != NEO_OP_LOAD || !is_row(c, e))
    return;
  if (p->block_k)
    add(c, e, (uint32_t)c->f->axes.n, p->block_k);
  else
    add(c, e, (uint32_t)p->vector_axis, p->block_n);
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

uint32_t neo_prefetch_find(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s, neo_prefetch *out) {
  neo_contraction c;
  int64_t v = s->loops.vector_axis;
  if (v < 0 || v >= (int64_t)f->axes.n || s->loops.fused > 1 || s->loops.pairs ||
      neo_strategy_body_of(s->strategy) == NEO_BODY_PASS || neo_schedule_steps_first(s) ||
      !neo_contraction_of(m, f, &c))
    return 0;
  finder x = {.m = m, .f = f, .s = s, .stage = &f->stages.at[c.stage], .out = out};
  x.line_bytes = machine->profile.line_bytes;
  x.index = (uint32_t)c.stage;
  x.distance = s->loops.prefetch > 1 ? s->loops.prefetch : 1;
  x.columns_first = neo_schedule_columns_first(m, f, s);
  for (uint32_t k = 0; k < c.n_operands; k++)
    if (neo_schedule_reads(f, s, &c, k))
      look_at_columns(&x, &c.factor[k], s->loops.pack >> k & 1);
  if (!s->loops.block_k)
    look_at_end(&x);
  return x.n;
}

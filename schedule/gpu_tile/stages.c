/* The choice of the operands that are copied asynchronously, and of the number of stages
 * (stages.h).
 *
 * Blocks may request more than 48 KB of shared memory. The model requests no more than all
 * devices of a level have: code for sm_80 also runs on 8.6 and 8.9, which have 99 KB. It has
 * about 24 steps in flight, and 48 for warps, which are faster: as many as a multiprocessor
 * computes within the latency of memory. Warpgroups have two blocks of steps in flight. sm_90a
 * runs on devices of one kind, whose shared memory is all for one block, or for two where
 * registers hold the sums of two. */
#include "schedule/gpu_tile/stages.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/vector_access.h"

/* Is it a load, or a select of one and zero? */
static bool is_plain(neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_SELECT)
    return neo_expr_is_positive_zero(m, neo_expr_arg(m, e, 2)) &&
           is_plain(m, neo_expr_arg(m, e, 1));
  return n->op == NEO_OP_LOAD;
}

neo_expr neo_stages_plain(neo_module *m, neo_expr e, bool *rounded) {
  if (rounded)
    *rounded = neo_expr_node(m, e)->op == NEO_OP_TF32;
  if (rounded && *rounded)
    e = neo_expr_arg(m, e, 0);
  return is_plain(m, e) ? e : (neo_expr){0};
}

neo_expr neo_stages_source(neo_module *m, const neo_contraction *c, const neo_schedule *s,
                           neo_side side, bool *rounded) {
  uint64_t rows = (uint64_t)s->block.row_axes;
  uint64_t columns = (uint64_t)s->block.column_axes;
  neo_expr found = {0};
  if (rounded)
    *rounded = false;
  for (uint32_t k = 0; k < c->n; k++) {
    bool of_rows = neo_factor_side(&c->factor[k], rows, columns) == NEO_SIDE_ROWS;
    if (of_rows != (side == NEO_SIDE_ROWS))
      continue;
    if (found.i)
      return (neo_expr){0}; /* the operand is a product of two */
    found = c->factor[k].e;
  }
  return found.i ? neo_stages_plain(m, found, rounded) : found;
}

/* ---- boxes */

enum { MOST_SIDE = 64, STRIDE_BYTES = 16 };

static bool is_one(uint64_t axes) {
  return axes && !(axes & (axes - 1));
}

/* The terms of an offset as axes, in any order. */
static bool collect_axes(neo_module *m, neo_expr offset, neo_stages_box *b) {
  neo_linear x;
  if (!neo_flat_linear(m, offset, &x) || x.constant || x.n > NEO_STAGES_RANK)
    return false;
  for (b->rank = 0; b->rank < x.n; b->rank++) {
    const neo_node *n = neo_expr_node(m, x.term[b->rank].atom);
    if (n->op != NEO_OP_AXIS || x.term[b->rank].coef < 1)
      return false;
    b->at[b->rank] = x.term[b->rank].atom;
    b->axis[b->rank] = n->attr;
    b->stride[b->rank] = x.term[b->rank].coef;
  }
  return true;
}

static void exchange(neo_stages_box *b, uint32_t i, uint32_t k) {
  neo_stages_box was = *b;
  b->at[i] = was.at[k], b->axis[i] = was.axis[k], b->stride[i] = was.stride[k];
  b->at[k] = was.at[i], b->axis[k] = was.axis[i], b->stride[k] = was.stride[i];
}

/* Moves an axis to place k. False: the box has no such axis. */
static bool place_axis(neo_stages_box *b, uint32_t k, uint32_t axis) {
  for (uint32_t i = k; i < b->rank; i++)
    if (b->axis[i] == axis) {
      exchange(b, k, i);
      return true;
    }
  return false;
}

bool neo_stages_boxed(neo_module *m, const neo_form *f, const neo_contraction *c,
                      const neo_schedule *s, neo_side side, neo_stages_box *out) {
  bool rows = side == NEO_SIDE_ROWS;
  uint64_t axes = (uint64_t)(rows ? s->block.row_axes : s->block.column_axes);
  int64_t tile = rows ? s->block.tile_m : s->block.tile_n, lo;
  const neo_stage *st = &f->stages.at[c->stage];
  neo_expr e = neo_stages_source(m, c, s, side, NULL);
  if (!e.i || neo_expr_node(m, e)->op != NEO_OP_LOAD || !neo_expr_node(m, e)->arg.n ||
      !is_one(axes) || st->axes.n != 1 || st->where.i ||
      !neo_expr_is_int(m, st->axes.at[0].lo, &lo) || lo ||
      !neo_vector_start(m, f, (neo_tensor){neo_expr_node(m, e)->attr}) ||
      !collect_axes(m, neo_flat_at(m, e), out))
    return false;
  uint32_t own = (uint32_t)f->axes.n, row = 0;
  int64_t bytes = neo_type_bytes(neo_expr_type(m, e));
  while (!(axes >> row & 1))
    row++;
  if (!place_axis(out, 0, own) || !place_axis(out, 1, row))
    return false;
  out->along_steps = out->stride[0] == 1;
  if (!out->along_steps)
    exchange(out, 0, 1);
  for (uint32_t d = 1; d < out->rank; d++)
    if (out->stride[d] * bytes % STRIDE_BYTES)
      return false;
  return out->stride[0] == 1 && (out->along_steps || tile % MOST_SIDE == 0);
}

int64_t neo_stages_buffers(const neo_schedule *s) {
  return s->block.stages ? s->block.stages : 2;
}

int64_t neo_stages_wanted(const neo_schedule *s) {
  enum { OF_WARPGROUPS = 4 };
  int64_t in_flight = s->block.products ? 48 : 24, bk = s->block.block_k;
  if (s->block.products == NEO_THREADS_WARPGROUPS)
    return OF_WARPGROUPS;
  int64_t n = 1 + (in_flight + bk - 1) / bk;
  return n < 2 ? 2 : n > 4 ? 4 : n;
}

/* A step of the search over loops: values that depend on the parameter that was set, and pairs of
 * parameters that are set together. */
#include "base/whole.h"
#include "schedule/loops/collapse.h"
#include "schedule/loops/loops.h"
#include "schedule/model.h"

/* Sets the parameters without which a new one has no effect: lanes need a width, rows a number. */
static void propagate_axes(const neo_space *x, int64_t before, neo_param k, neo_schedule *s) {
  neo_loop_params *p = &s->loops;
  int64_t now = s->at[k], n = (int64_t)x->f->axes.n;
  if (k == NEO_PARAM(loops, vector_axis)) {
    if (now >= 0 && p->vector_width < 2)
      p->vector_width = neo_loops_lanes(x);
    if (now == p->axis_m)
      p->axis_m = before >= 0 && before < n ? before : -1;
    if (now < n)
      p->axis_n = -1;
  }
  if (k == NEO_PARAM(loops, axis_m) && before < 0 && p->tile_m < 2)
    p->tile_m = 4;
  if (p->axis_m < 0)
    p->tile_m = 1, p->block_m = p->order = 0;
}

/* Does the parameter change which loops there are? Units are then chosen again. */
static bool moves_loops(neo_param k) {
  switch (k) {
  case NEO_PARAM(loops, vector_axis):
  case NEO_PARAM(loops, fused):
  case NEO_PARAM(loops, axis_m):
  case NEO_PARAM(loops, axis_n):
  case NEO_PARAM(loops, block_m):
  case NEO_PARAM(loops, block_n):
    return true;
  default:
    return false;
  }
}

void neo_loops_propagate(const neo_space *x, const neo_schedule *from, neo_param k,
                         neo_schedule *s) {
  neo_loop_params *p = &s->loops;
  propagate_axes(x, from->at[k], k, s);
  if (k == NEO_PARAM(loops, tile_m) && p->block_m)
    p->block_m = neo_round_up(p->block_m, p->tile_m);
  bool whole = p->fused > 1 || neo_schedule_is_collapsed(x->f, s);
  if (k == NEO_PARAM(loops, tile_n) && p->block_n && !whole)
    p->block_n = neo_round_up(p->block_n, p->tile_n * p->vector_width);
  if (moves_loops(k)) /* units of the old loops would be illegal */
    p->unit_axes = 0, p->unit_size = 1;
}

const neo_param neo_loops_repairs[NEO_LOOPS_REPAIRS] = {
    NEO_PARAM(loops, prefetch), NEO_PARAM(loops, order),  NEO_PARAM(loops, block_n),
    NEO_PARAM(loops, block_k),  NEO_PARAM(loops, pack),   NEO_PARAM(loops, fused),
    NEO_PARAM(loops, block_m),  NEO_PARAM(loops, tile_n), NEO_PARAM(loops, unroll_k),
    NEO_PARAM(loops, partial),
    NEO_PARAM(loops, axis_n),   NEO_PARAM(loops, tile_m), NEO_PARAM(loops, axis_m)};

bool neo_loops_moved(const neo_schedule *from, const neo_schedule *s) {
  bool moved = false;
  for (neo_param k = 0; k < NEO_PARAMS; k++)
    moved = moved || (moves_loops(k) && s->at[k] != from->at[k]);
  return moved;
}

void neo_loops_update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s) {
  if (neo_loops_moved(from, s))
    neo_model_units(x->m, x->f, s);
}

/* ---- two settings at once */

static size_t add_pair(neo_setting (*out)[2], size_t n, size_t most, neo_setting a, neo_setting b) {
  if (n < most)
    out[n][0] = a, out[n][1] = b, n++;
  return n;
}

/* Tiles of other shapes with the same number of accumulators, the nearest shape first. */
static size_t other_tiles(const neo_loop_params *p, neo_setting (*out)[2], size_t most) {
  enum { MOST_COLUMNS = 8 };
  size_t n = 0;
  for (int64_t d = 1; d < MOST_COLUMNS && p->axis_m >= 0; d++)
    for (int sign = -1; sign <= 1; sign += 2) {
      int64_t columns = p->tile_n + sign * d, all = p->tile_m * p->tile_n;
      if (columns < 1 || columns > MOST_COLUMNS)
        continue;
      for (int64_t rows = all / columns, last = rows + (all % columns > 0); rows <= last; rows++)
        if (rows > 0 && rows != p->tile_m)
          n = add_pair(out, n, most, (neo_setting){NEO_PARAM(loops, tile_m), rows},
                       (neo_setting){NEO_PARAM(loops, tile_n), columns});
    }
  return n;
}

/* Blocks half or twice as long along k, and the opposite along the columns. */
size_t neo_loops_reshape(const neo_space *x, const neo_schedule *s, neo_setting (*out)[2],
                         size_t most) {
  int64_t k[NEO_SPACE_VALUES], columns[NEO_SPACE_VALUES];
  size_t n = other_tiles(&s->loops, out, most);
  size_t n_k = neo_loops_values(x, s, NEO_PARAM(loops, block_k), k);
  size_t n_columns = neo_loops_values(x, s, NEO_PARAM(loops, block_n), columns);
  for (size_t i = 0; i < 2 && i < n_k; i++)
    for (size_t j = 0; j < 2 && j < n_columns; j++)
      n = add_pair(out, n, most, (neo_setting){NEO_PARAM(loops, block_k), k[i]},
                   (neo_setting){NEO_PARAM(loops, block_n), columns[j]});
  return n;
}

/* Which schedules are legal for a group. A legal schedule changes speed, never values (but for the
 * rounding of sums). */
#include "base/whole.h"
#include "fusion/form.h"
#include "schedule/loops/collapse.h"
#include "schedule/tile/prefetch.h"
#include "schedule/row_stash.h"
#include "schedule/model.h"
#include "schedule/gpu_nested/nested.h"
#include "schedule/reject.h"
#include "schedule/scan/scan.h"
#include "schedule/segment/segment.h"
#include "schedule/loops/nontemporal.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include <stdarg.h>
#include <string.h>

/* Points of a run are taken one after the other, in order. */
static bool run_legal(const neo_form *f, const neo_loop_params *s, neo_str *why) {
  int64_t v = s->vector_axis;
  bool plain =
      s->axis_m < 0 && s->axis_n < 0 && (v < 0 || v == (int64_t)f->axes.n) && s->fused == 1;
  return !neo_form_row_block(f) || plain ||
         reject(why, "rows that are added up are no lanes and no tiles");
}

static bool vector_legal(const neo_form *f, const neo_machine *machine, const neo_loop_params *s,
                         neo_str *why) {
  int64_t v = s->vector_axis, w = s->vector_width, n = (int64_t)f->axes.n;
  if (v < -1 || v > n || (v == n && !neo_form_has_own_axes(f)))
    return reject(why, "vector_axis is no axis");
  if (!neo_is_power_of_2(w) || w > machine->vector_bytes)
    return reject(why, "vector_width is no number of lanes");
  return (v >= 0) == (w > 1) || reject(why, "a vector_axis and a vector_width above 1 go together");
}

static bool shared_axis(const neo_form *f, int64_t axis) {
  return axis >= -1 && axis < (int64_t)f->axes.n;
}

static bool tile_legal(const neo_form *f, const neo_schedule *sched, neo_str *why) {
  const neo_loop_params *s = &sched->loops;
  int64_t v = s->vector_axis, am = s->axis_m, an = s->axis_n;
  bool lanes_shared = v >= 0 && v < (int64_t)f->axes.n;
  if (!shared_axis(f, am) || !shared_axis(f, an))
    return reject(why, "axis_m or axis_n is no shared axis");
  if (am >= 0 && (am == v || am == an))
    return reject(why, "axis_m is used twice");
  if (an >= 0 && v < 0)
    return reject(why, "axis_n is for tiles with lanes");
  if (an >= 0 && lanes_shared && (s->fused < 1 || s->fused > v + 1))
    return reject(why, "these axes cannot be fused");
  if (an >= 0 && lanes_shared && an >= v - s->fused && an <= v)
    return reject(why, "axis_n lies next to the lanes already: fused has it");
  if (an >= 0 && lanes_shared && sched->strategy != NEO_STRATEGY_LOOPS &&
      sched->strategy != NEO_STRATEGY_TILE)
    return reject(why, "axis_n is for loops and tiles where lanes are shared");
  if (s->tile_m < 1 || s->tile_m > 32 || s->tile_n < 1 || s->tile_n > 16)
    return reject(why, "the tile is too large or empty");
  if (s->tile_m > 1 && am < 0)
    return reject(why, "tile_m without axis_m");
  if (s->tile_n > 1 && an < 0 && !lanes_shared)
    return reject(why, "tile_n without columns");
  if (s->order != 0 && (s->order != 1 || am < 0 || (!lanes_shared && an < 0)))
    return reject(why, "order is for tiles of rows and columns");
  if (s->unroll_k < 1 || s->unroll_k > 16)
    return reject(why, "unroll_k is not in 1..16");
  return true;
}

static bool blocks_legal(const neo_form *f, const neo_schedule *sched, neo_str *why) {
  const neo_loop_params *s = &sched->loops;
  if (s->block_k < 0 || s->block_m < 0 || s->block_n < 0)
    return reject(why, "a block is negative");
  if (s->blocks_first & ~7LL)
    return reject(why, "blocks_first is not in 0..7");
  if (s->blocks_first & NEO_STEPS_FIRST &&
      (!s->block_k || s->pairs || neo_schedule_is_beside(f, sched)))
    return reject(why, "blocks of the reduction are first only where a tile of vectors has them");
  if (s->unit_axes < 0 || s->unit_axes > neo_schedule_loops(f, sched))
    return reject(why, "unit_axes is more than there are loops");
  return s->unit_size >= 1 || reject(why, "unit_size is less than 1");
}

/* Rows are the axis of the equation, in one block; nothing is packed. */
static bool segment_legal(neo_module *m, const neo_group *g, const neo_form *f,
                          const neo_loop_params *s, neo_str *why) {
  neo_segment x;
  if (!neo_segment_of(m, g, &x))
    return reject(why, "segment is for sums over a data equation");
  if (s->axis_m != x.axis || s->tile_m != 1 || s->block_m)
    return reject(why, "the axis of a data equation has to be the rows");
  if (s->fused != 1 || s->order || s->vector_axis >= (int64_t)f->axes.n)
    return reject(why, "a sum over a data equation has lanes over a shared axis");
  if (s->vector_axis >= 0 && neo_segment_tested(m, f, &x) >> s->vector_axis & 1)
    return reject(why, "the condition of a sum over a data equation divides the lanes");
  return true;
}

/* Rows are the axis along which the domain grows, in one block; nothing is packed. */
static bool scan_legal(neo_module *m, const neo_group *g, const neo_form *f,
                       const neo_loop_params *s, neo_str *why) {
  neo_running x;
  int64_t v = s->vector_axis;
  if (!neo_running_of(m, g, &x))
    return reject(why, "scan is for reductions whose domain grows with an axis");
  if (s->axis_m != x.axis || s->tile_m != 1 || s->block_m)
    return reject(why, "the axis that a domain grows with has to be the rows");
  if (s->fused != 1 || s->tile_n != 1 || s->order || v >= (int64_t)f->axes.n)
    return reject(why, "a scan has lanes over a shared axis");
  if (v >= 0 && neo_running_fixed(m, f, &x) >> v & 1)
    return reject(why, "a loop's bounds change inside the lanes");
  return true;
}

static bool prefetch_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why) {
  neo_fetch any[NEO_FETCH_MOST];
  int64_t n = s->loops.prefetch;
  return !n || (n >= 1 && n <= NEO_FETCH_AHEAD && neo_fetch_find(m, f, s, any)) ||
         reject(why, "prefetch is for tiles of a contraction that read rows from memory");
}

/* Packs, blocks of a reduction and prefetches are a tile's; pairs have packs and blocks too. */
static bool of_strategy(const neo_schedule *s, neo_str *why) {
  const neo_loop_params *p = &s->loops;
  bool tile = s->strategy == NEO_STRATEGY_TILE, pairs = s->strategy == NEO_STRATEGY_PAIRS;
  if ((p->pack || p->block_k) && !tile && !pairs)
    return reject(why, "pack and block_k are for contractions");
  if (p->prefetch && !tile)
    return reject(why, "prefetch is for tiles of a contraction that read rows from memory");
  return pairs == (p->pairs != 0) ||
         reject(why, "pairs are multiplied by the strategy of that name");
}

static bool row_parts_legal(neo_module *m, const neo_group *g, const neo_form *f,
                            const neo_machine *machine, const neo_schedule *s, neo_str *why) {
  const neo_loop_params *p = &s->loops;
  if (machine->gpu && p->nontemporal)
    return reject(why, "nontemporal is for the caches of a processor");
  if (p->nontemporal && (p->nontemporal != 1 || !neo_stream_any(m, g, s)))
    return reject(why, "nontemporal is for large results that lanes run along");
  return !p->stash || (p->stash == 1 && neo_keep_find(m, f, s).n) ||
         reject(why, "stash is for values that several stages along a row need");
}

/* Axes of the tile, as bits. */
static uint64_t tile_axes(const neo_form *f, const neo_loop_params *s) {
  int64_t axes[] = {s->vector_axis, s->axis_m, s->axis_n};
  uint64_t tile = 0;
  for (int k = 0; k < 3; k++)
    if (axes[k] >= 0 && axes[k] < (int64_t)f->axes.n)
      tile |= 1ULL << axes[k];
  return tile;
}

static bool contraction_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                              const neo_schedule *s, neo_str *why) {
  neo_beside x = neo_beside_of(m, f, s);
  if (s->loops.prefetch && machine->gpu)
    return reject(why, "prefetch is for the caches of a processor");
  return neo_contraction_legal(m, x.f, machine, &x.s, why) && prefetch_legal(m, x.f, &x.s, why);
}

static bool loops_legal(neo_module *m, const neo_group *g, const neo_form *f,
                        const neo_machine *machine, const neo_schedule *sched, neo_str *why) {
  const neo_loop_params *s = &sched->loops;
  if (!of_strategy(sched, why) || !vector_legal(f, machine, s, why) || !tile_legal(f, sched, why) ||
      !blocks_legal(f, sched, why) || !run_legal(f, s, why) ||
      !row_parts_legal(m, g, f, machine, sched, why))
    return false;
  if (sched->strategy == NEO_STRATEGY_SCAN)
    return scan_legal(m, g, f, s, why);
  if (neo_form_bound_axes(m, f) & tile_axes(f, s))
    return reject(why, "a loop's bounds change inside the tile");
  if (sched->strategy == NEO_STRATEGY_SEGMENT)
    return segment_legal(m, g, f, s, why);
  return contraction_legal(m, f, machine, sched, why);
}

static bool units_alone(const neo_schedule *s) {
  neo_schedule y = neo_schedule_plain();
  y.loops.unit_axes = s->loops.unit_axes;
  y.loops.unit_size = s->loops.unit_size;
  return neo_schedule_equal(&y, s);
}

bool neo_schedule_legal(neo_module *m, const neo_group *g, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why) {
  const neo_form *f = neo_group_form(m, g);
  if (!neo_schedule_keeps_to_strategy(s))
    return reject(why, "there are parameters of another strategy");
  if (neo_strategy_has_threads(s->strategy) && !machine->gpu)
    return reject(why, "blocks of threads are for GPUs");
  if (s->strategy == NEO_STRATEGY_GPU_NESTED)
    return neo_nested_legal(m, f, machine, s, why);
  if (neo_form_is_nested(f))
    return units_alone(s) ? blocks_legal(f, s, why)
                          : reject(why, "nested reductions have units alone, or blocks of threads");
  if (neo_strategy_has_threads(s->strategy))
    return (!neo_form_row_block(f) ||
            reject(why, "rows that are added up are no lanes and no tiles")) &&
           neo_threads_legal(m, f, machine, s, why);
  return loops_legal(m, g, f, machine, s, why);
}

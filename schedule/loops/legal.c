/* Legality of loops on registers and caches. */
#include "base/whole.h"
#include "fusion/form.h"
#include "schedule/loops/collapse.h"
#include "schedule/loops/loops.h"
#include "schedule/loops/nontemporal.h"
#include "schedule/model.h"
#include "schedule/reject.h"

/* Points of a row block run one after the other, in order. */
static bool run_legal(const neo_form *f, const neo_loop_params *s, neo_str *why) {
  int64_t v = s->vector_axis;
  bool plain =
      s->axis_m < 0 && s->axis_n < 0 && (v < 0 || v == (int64_t)f->axes.n) && s->fused == 1;
  return !neo_form_row_block(f) || plain || reject(why, "row blocks have neither lanes nor tiles");
}

static bool vector_legal(const neo_form *f, const neo_machine *machine, const neo_loop_params *s,
                         neo_str *why) {
  int64_t v = s->vector_axis, w = s->vector_width, n = (int64_t)f->axes.n;
  if (v < -1 || v > n || (v == n && !neo_form_has_own_axes(f)))
    return reject(why, "vector_axis is not an axis");
  if (!neo_is_power_of_2(w) || w > machine->vector_bytes)
    return reject(why, "vector_width is not a number of lanes");
  return (v >= 0) == (w > 1) || reject(why, "a vector_axis and a vector_width above 1 go together");
}

bool neo_schedule_is_in_order(neo_module *m, const neo_group *g, const neo_schedule *s) {
  const neo_form *f = neo_group_form(m, g);
  bool loops = neo_strategy_body_of(s->strategy) == NEO_BODY_TILES;
  bool whole = loops && s->loops.partial == 1 && !s->loops.block_k &&
               s->loops.vector_axis < (int64_t)f->axes.n;
  return !neo_form_has_own_axes(f) || (whole && !neo_form_is_nested(f));
}

static bool shared_axis(const neo_form *f, int64_t axis) {
  return axis >= -1 && axis < (int64_t)f->axes.n;
}

static bool tile_legal(const neo_form *f, const neo_loop_params *s, neo_str *why) {
  int64_t v = s->vector_axis, am = s->axis_m, an = s->axis_n;
  bool lanes_shared = v >= 0 && v < (int64_t)f->axes.n;
  if (!shared_axis(f, am) || !shared_axis(f, an))
    return reject(why, "axis_m or axis_n is not a shared axis");
  if (am >= 0 && (am == v || am == an))
    return reject(why, "axis_m is used twice");
  if (an >= 0 && v < 0)
    return reject(why, "axis_n is for tiles with lanes");
  if (an >= 0 && lanes_shared && (s->fused < 1 || s->fused > v + 1))
    return reject(why, "these axes cannot be fused");
  if (an >= 0 && lanes_shared && an >= v - s->fused && an <= v)
    return reject(why, "axis_n is adjacent to the lanes: use fused");
  if (s->tile_m < 1 || s->tile_m > 32 || s->tile_n < 1 || s->tile_n > 16)
    return reject(why, "the tile is too large or empty");
  if (s->tile_m > 1 && am < 0)
    return reject(why, "tile_m without axis_m");
  if (s->tile_n > 1 && an < 0 && !lanes_shared)
    return reject(why, "tile_n without columns");
  if (s->order != 0 && (s->order < 1 || s->order > 2 || am < 0 || (!lanes_shared && an < 0)))
    return reject(why, "order is for tiles of rows and columns");
  if (s->unroll_k < 1 || s->unroll_k > 16)
    return reject(why, "unroll_k is not in 1..16");
  if (s->partial < 1 || s->partial > 8 || (s->partial > 1 && !lanes_shared))
    return reject(why, "partial is not in 1..8, or lanes are no results");
  return true;
}

static bool blocks_legal(const neo_form *f, const neo_schedule *sched, neo_str *why) {
  const neo_loop_params *s = &sched->loops;
  if (s->block_k < 0 || s->block_m < 0 || s->block_n < 0)
    return reject(why, "a block is negative");
  if (s->blocks_first & ~7LL)
    return reject(why, "blocks_first is not in 0..7");
  if (s->blocks_first & NEO_STEPS_FIRST &&
      (!s->block_k || s->pairs || neo_schedule_is_collapsed(f, sched)))
    return reject(why,
                  "blocks of the reduction can be first only with block_k and a tile of vectors");
  if (s->unit_axes < 0 || s->unit_axes > neo_schedule_loops(f, sched))
    return reject(why, "unit_axes is more than there are loops");
  return s->unit_size >= 1 || reject(why, "unit_size is less than 1");
}

neo_stash neo_loops_stash(neo_module *m, const neo_form *f, const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  bool rows = neo_strategy_body_of(s->strategy) == NEO_BODY_TILES;
  bool along = p->vector_axis == (int64_t)f->axes.n && p->tile_m == 1 && p->tile_n == 1 &&
               p->fused == 1 && !p->block_k && !p->pack;
  return rows && along ? neo_stash_find(m, f, false) : (neo_stash){.n = 0};
}

static bool row_parts_legal(neo_module *m, const neo_group *g, const neo_form *f,
                            const neo_machine *machine, const neo_schedule *s, neo_str *why) {
  const neo_loop_params *p = &s->loops;
  if (machine->gpu && p->nontemporal)
    return reject(why, "nontemporal is for the caches of a processor");
  if (p->prefetch && !neo_strategy_prefetches(s->strategy))
    return reject(why, "prefetch is for tiles of a contraction that read rows from memory");
  if (p->nontemporal && (p->nontemporal != 1 || !neo_nontemporal_any(m, g, s)))
    return reject(why, "nontemporal is for large results that lanes run along");
  return !p->stash || (p->stash == 1 && neo_loops_stash(m, f, s).n) ||
         reject(why, "stash is for values that several stages along a row need");
}

bool neo_loops_legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  const neo_loop_params *p = &s->loops;
  return vector_legal(x->f, x->machine, p, why) && tile_legal(x->f, p, why) &&
         blocks_legal(x->f, s, why) && run_legal(x->f, p, why) &&
         row_parts_legal(x->m, x->g, x->f, x->machine, s, why);
}

bool neo_loops_units_legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  neo_schedule y = neo_schedule_plain();
  y.strategy = s->strategy;
  y.loops.unit_axes = s->loops.unit_axes;
  y.loops.unit_size = s->loops.unit_size;
  return neo_schedule_equal(&y, s)
             ? blocks_legal(x->f, s, why)
             : reject(why, "nested reductions have units alone, or thread blocks");
}

/* The axes of the tile, as bits. */
static uint64_t tile_axes(const neo_form *f, const neo_loop_params *s) {
  int64_t axes[] = {s->vector_axis, s->axis_m, s->axis_n};
  uint64_t tile = 0;
  for (int k = 0; k < 3; k++)
    if (axes[k] >= 0 && axes[k] < (int64_t)f->axes.n)
      tile |= 1ULL << axes[k];
  return tile;
}

bool neo_loops_bounds_legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  return !(neo_form_bound_axes(x->m, x->f) & tile_axes(x->f, &s->loops)) ||
         reject(why, "a loop's bounds change inside the tile");
}

bool neo_loops_fused_legal(const neo_module *m, const neo_form *f, const neo_schedule *sched,
                           neo_str *why) {
  const neo_loop_params *s = &sched->loops;
  int64_t n = s->fused, v = s->vector_axis, am = s->axis_m;
  if (n == 1)
    return true;
  if (n < 1 || v < 0 || v >= (int64_t)f->axes.n ||
      !neo_form_fusible(m, f, (uint32_t)v, (uint32_t)n))
    return reject(why, "these axes cannot be fused");
  if (am >= 0 && am <= v && am > v - n)
    return reject(why, "axis_m is one of the fused axes");
  int64_t inner = 1, extent;
  for (int64_t k = v - n + 2; k <= v; k++)
    inner *= neo_expr_is_int(m, f->axes.at[k].hi, &extent) ? extent : 1;
  if (s->block_n % inner)
    return reject(why, "block_n is not a multiple of the inner fused axes");
  uint64_t fused = ((1ULL << n) - 1) << (v - n + 1);
  return !(neo_form_bound_axes(m, f) & fused) || reject(why, "a fused axis bounds a loop");
}

bool neo_loops_plain_legal(const neo_schedule *s, neo_str *why) {
  const neo_loop_params *p = &s->loops;
  if (p->pack || p->block_k)
    return reject(why, "pack and block_k are for contractions");
  return !p->pairs || reject(why, "pairs are multiplied by the strategy of that name");
}

bool neo_loops_columns_legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  const neo_loop_params *p = &s->loops;
  bool lanes_shared = p->vector_axis >= 0 && p->vector_axis < (int64_t)x->f->axes.n;
  return p->axis_n < 0 || !lanes_shared ||
         reject(why, "axis_n is for loops and tiles where lanes are shared");
}

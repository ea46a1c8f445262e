/* Which schedules are legal for a group. A legal schedule changes speed, never values (but for the
 * rounding of sums). */
#include "base/whole.h"
#include "fusion/form.h"
#include "schedule/beside.h"
#include "schedule/fetch.h"
#include "schedule/keep.h"
#include "schedule/model.h"
#include "schedule/nested.h"
#include "schedule/running.h"
#include "schedule/segment.h"
#include "schedule/stream.h"
#include "schedule/threads.h"
#include <stdarg.h>
#include <string.h>

neo_schedule neo_schedule_plain(void) {
  neo_schedule s = {{0}};
  int64_t *p = s.at;
  p[NEO_SCHED_VECTOR_AXIS] = p[NEO_SCHED_AXIS_M] = p[NEO_SCHED_AXIS_N] = -1;
  p[NEO_SCHED_VECTOR_WIDTH] = p[NEO_SCHED_MERGE] = p[NEO_SCHED_TILE_M] = p[NEO_SCHED_TILE_N] = 1;
  p[NEO_SCHED_UNIT_SIZE] = p[NEO_SCHED_UNROLL_K] = 1;
  return s;
}

static bool no(neo_str *why, const char *what) {
  if (why)
    neo_str_add(why, what);
  return false;
}

bool neo_form_has_own_axes(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].axes.n)
      return true;
  return false;
}

/* Shared axes (as bits) that bounds of stages' own axes depend on. */
uint64_t neo_form_bound_axes(const neo_module *m, const neo_form *f) {
  uint64_t axes = 0;
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].axes.n; i++) {
      const neo_axis_rec *x = &f->stages.at[k].axes.at[i];
      axes |= neo_form_axes(m, f, x->lo) | neo_form_axes(m, f, x->hi);
    }
  return axes & ((1ULL << f->axes.n) - 1);
}

/* Points of a run are taken one after the other, in order. */
static bool run_legal(const neo_form *f, const int64_t *s, bool threads, neo_str *why) {
  int64_t v = s[NEO_SCHED_VECTOR_AXIS];
  bool plain = !threads && s[NEO_SCHED_AXIS_M] < 0 && s[NEO_SCHED_AXIS_N] < 0 &&
               (v < 0 || v == (int64_t)f->axes.n) && s[NEO_SCHED_MERGE] == 1;
  return !neo_form_row_block(f) || plain || no(why, "rows that are added up are no lanes and no tiles");
}

static bool vector_legal(const neo_form *f, const neo_machine *machine, const int64_t *s,
                         neo_str *why) {
  int64_t v = s[NEO_SCHED_VECTOR_AXIS], w = s[NEO_SCHED_VECTOR_WIDTH], n = (int64_t)f->axes.n;
  if (v < -1 || v > n || (v == n && !neo_form_has_own_axes(f)))
    return no(why, "vector_axis is no axis");
  if (!neo_is_power_of_2(w) || w > machine->vector_bytes)
    return no(why, "vector_width is no number of lanes");
  return (v >= 0) == (w > 1) || no(why, "a vector_axis and a vector_width above 1 go together");
}

static bool shared_axis(const neo_form *f, int64_t axis) {
  return axis >= -1 && axis < (int64_t)f->axes.n;
}

static bool tile_legal(const neo_form *f, const int64_t *s, neo_str *why) {
  int64_t v = s[NEO_SCHED_VECTOR_AXIS], am = s[NEO_SCHED_AXIS_M], an = s[NEO_SCHED_AXIS_N];
  bool lanes_shared = v >= 0 && v < (int64_t)f->axes.n;
  if (!shared_axis(f, am) || !shared_axis(f, an))
    return no(why, "axis_m or axis_n is no shared axis");
  if (am >= 0 && (am == v || am == an))
    return no(why, "axis_m is used twice");
  if (an >= 0 && v < 0)
    return no(why, "axis_n is for tiles with lanes");
  if (an >= 0 && lanes_shared && (s[NEO_SCHED_MERGE] < 1 || s[NEO_SCHED_MERGE] > v + 1))
    return no(why, "merge is not possible there");
  if (an >= 0 && lanes_shared && an >= v - s[NEO_SCHED_MERGE] && an <= v)
    return no(why, "axis_n lies beside the lanes already: merge has it");
  if (an >= 0 && lanes_shared &&
      (s[NEO_SCHED_SEGMENT] || s[NEO_SCHED_RUNNING] || s[NEO_SCHED_MATRIX]))
    return no(why, "axis_n is not for segment, running or matrix where lanes are shared");
  if (s[NEO_SCHED_TILE_M] < 1 || s[NEO_SCHED_TILE_M] > 32 || s[NEO_SCHED_TILE_N] < 1 ||
      s[NEO_SCHED_TILE_N] > 16)
    return no(why, "the tile is too large or empty");
  if (s[NEO_SCHED_TILE_M] > 1 && am < 0)
    return no(why, "tile_m without axis_m");
  if (s[NEO_SCHED_TILE_N] > 1 && an < 0 && !lanes_shared)
    return no(why, "tile_n without columns");
  if (s[NEO_SCHED_ORDER] != 0 && (s[NEO_SCHED_ORDER] != 1 || am < 0 || (!lanes_shared && an < 0)))
    return no(why, "order is for tiles of rows and columns");
  if (s[NEO_SCHED_UNROLL_K] < 1 || s[NEO_SCHED_UNROLL_K] > 16)
    return no(why, "unroll_k is not in 1..16");
  return true;
}

uint32_t neo_schedule_nest(const neo_form *f, const neo_schedule *s, neo_outer_loop *out) {
  const int64_t *p = s->at;
  int64_t v = p[NEO_SCHED_VECTOR_AXIS], all = (int64_t)f->axes.n, am = p[NEO_SCHED_AXIS_M];
  int64_t an = v >= 0 && v < all ? v : p[NEO_SCHED_AXIS_N], first = an + 1 - p[NEO_SCHED_MERGE];
  int64_t beside = an == v ? p[NEO_SCHED_AXIS_N] : -1;
  neo_outer_loop blocks[] = {{(int32_t)an, p[NEO_SCHED_BLOCK_N]},
                             {(int32_t)am, p[NEO_SCHED_BLOCK_M]}};
  uint32_t n = 0;
  for (int pass = 1; pass >= 0; pass--) {
    for (int k = 0; k < 2; k++)
      if (blocks[k].axis >= 0 && blocks[k].block && (p[NEO_SCHED_BLOCKS_FIRST] >> k & 1) == pass)
        out[n++] = blocks[k];
    for (int64_t k = 0; pass && k < all; k++)
      if (k != am && k != beside && (k > an || k < first))
        out[n++] = (neo_outer_loop){(int32_t)k, 0};
  }
  return n;
}

int64_t neo_schedule_loops(const neo_form *f, const neo_schedule *s) {
  neo_outer_loop at[NEO_FORM_MAX_AXES + 2];
  return neo_schedule_nest(f, s, at);
}

static bool blocks_legal(const neo_form *f, const neo_schedule *sched, neo_str *why) {
  const int64_t *s = sched->at;
  if (s[NEO_SCHED_BLOCK_K] < 0 || s[NEO_SCHED_BLOCK_M] < 0 || s[NEO_SCHED_BLOCK_N] < 0)
    return no(why, "a block is negative");
  if (s[NEO_SCHED_BLOCKS_FIRST] & ~7LL)
    return no(why, "blocks_first is not in 0..7");
  if (s[NEO_SCHED_BLOCKS_FIRST] & NEO_STEPS_FIRST &&
      (!s[NEO_SCHED_BLOCK_K] || s[NEO_SCHED_MATRIX] || neo_schedule_is_beside(f, sched)))
    return no(why, "blocks of the reduction are first only where a tile of vectors has them");
  if (s[NEO_SCHED_UNIT_AXES] < 0 || s[NEO_SCHED_UNIT_AXES] > neo_schedule_loops(f, sched))
    return no(why, "unit_axes is more than there are loops");
  return s[NEO_SCHED_UNIT_SIZE] >= 1 || no(why, "unit_size is less than 1");
}

/* Rows are the axis of the equation, in one block; nothing is packed. */
static bool segment_legal(neo_module *m, const neo_group *g, const neo_form *f, const int64_t *s,
                          neo_str *why) {
  neo_segment x;
  if (s[NEO_SCHED_SEGMENT] != 1 || !neo_segment_of(m, g, &x))
    return no(why, "segment is for sums over a data equation");
  if (s[NEO_SCHED_AXIS_M] != x.axis || s[NEO_SCHED_TILE_M] != 1 || s[NEO_SCHED_BLOCK_M])
    return no(why, "the axis of a data equation has to be the rows");
  if (s[NEO_SCHED_PACK] || s[NEO_SCHED_BLOCK_K] || s[NEO_SCHED_MERGE] != 1 || s[NEO_SCHED_ORDER] ||
      s[NEO_SCHED_VECTOR_AXIS] >= (int64_t)f->axes.n)
    return no(why, "a sum over a data equation has lanes over a shared axis, and no packs");
  if (s[NEO_SCHED_VECTOR_AXIS] >= 0 && neo_segment_tested(m, f, &x) >> s[NEO_SCHED_VECTOR_AXIS] & 1)
    return no(why, "the condition of a sum over a data equation divides the lanes");
  return true;
}

/* Rows are the axis along which the domain grows, in one block; nothing is packed. */
static bool running_legal(neo_module *m, const neo_group *g, const neo_form *f, const int64_t *s,
                          neo_str *why) {
  neo_running x;
  int64_t v = s[NEO_SCHED_VECTOR_AXIS];
  if (s[NEO_SCHED_RUNNING] != 1 || s[NEO_SCHED_SEGMENT] || !neo_running_of(m, g, &x))
    return no(why, "running is for reductions whose domain grows with an axis");
  if (s[NEO_SCHED_AXIS_M] != x.axis || s[NEO_SCHED_TILE_M] != 1 || s[NEO_SCHED_BLOCK_M])
    return no(why, "the axis that a domain grows with has to be the rows");
  if (s[NEO_SCHED_PACK] || s[NEO_SCHED_BLOCK_K] || s[NEO_SCHED_MERGE] != 1 ||
      s[NEO_SCHED_TILE_N] != 1 || s[NEO_SCHED_ORDER] || v >= (int64_t)f->axes.n)
    return no(why, "a running reduction has lanes over a shared axis, and no packs");
  if (v >= 0 && neo_running_fixed(m, f, &x) >> v & 1)
    return no(why, "a loop's bounds change inside the lanes");
  return true;
}

static bool fetch_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why) {
  neo_fetch any[NEO_FETCH_MOST];
  int64_t fetch = s->at[NEO_SCHED_FETCH];
  return !fetch || (fetch >= 1 && fetch <= NEO_FETCH_AHEAD && neo_fetch_find(m, f, s, any)) ||
         no(why, "fetch is for tiles of a contraction that read rows from memory");
}

bool neo_schedule_legal(neo_module *m, const neo_group *g, const neo_machine *machine,
                        const neo_schedule *sched, neo_str *why) {
  const neo_form *f = neo_group_form(m, g);
  const int64_t *s = sched->at;
  uint64_t tile = 0;
  if (neo_form_is_nested(f))
    return neo_nested_legal(m, f, machine, sched, why) &&
           (s[NEO_SCHED_THREADS] || blocks_legal(f, sched, why));
  if (neo_schedule_has_threads(sched))
    return run_legal(f, s, true, why) && neo_threads_legal(m, f, machine, sched, why);
  if (!vector_legal(f, machine, s, why) || !tile_legal(f, s, why) || !blocks_legal(f, sched, why) ||
      !run_legal(f, s, false, why))
    return false;
  int64_t axes[] = {s[NEO_SCHED_VECTOR_AXIS], s[NEO_SCHED_AXIS_M], s[NEO_SCHED_AXIS_N]};
  for (int k = 0; k < 3; k++)
    if (axes[k] >= 0 && axes[k] < (int64_t)f->axes.n)
      tile |= 1ULL << axes[k];
  if (machine->gpu && (s[NEO_SCHED_STREAM] || s[NEO_SCHED_FETCH]))
    return no(why, "stream and fetch are for the caches of a processor");
  if (s[NEO_SCHED_STREAM] && (s[NEO_SCHED_STREAM] != 1 || !neo_stream_any(m, g, sched)))
    return no(why, "stream is for large results that lanes run along");
  if (s[NEO_SCHED_KEEP] && (s[NEO_SCHED_KEEP] != 1 || !neo_keep_find(m, f, sched).n))
    return no(why, "keep is for values that several stages along a row need");
  if (s[NEO_SCHED_RUNNING])
    return running_legal(m, g, f, s, why) && fetch_legal(m, f, sched, why);
  if (neo_form_bound_axes(m, f) & tile)
    return no(why, "a loop's bounds change inside the tile");
  if (s[NEO_SCHED_SEGMENT] && !segment_legal(m, g, f, s, why))
    return false;
  neo_beside x = neo_beside_of(m, f, sched);
  return neo_contraction_legal(m, x.f, machine, &x.s, why) && fetch_legal(m, x.f, &x.s, why);
}

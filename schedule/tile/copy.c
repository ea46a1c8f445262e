/* The cost of packing a contraction's operands into scratch (cost.h). */
#include "schedule/tile/cost.h"
#include <math.h>

/* Does each tile prefetch a part of the data of the next copy of columns (prefetch.h), which is
 * still cached at the copy? */
static bool copy_prefetched(const neo_tiles *q, const geometry *g, neo_side side,
                            const neo_tile_walk *w) {
  double row = g->nb * (double)q->bytes, lines = row / q->line_bytes + 1;
  reuse both = neo_tile_strided_reuse(q, 2 * g->steps * row, lines,
                                      w->jumps ? w->jump : (int64_t)q->line_bytes);
  return g->prefetches && side == NEO_SIDE_COLUMNS && q->s->axes.n == 1 && g->am >= 0 &&
         g->mb == g->m && (g->kb > 1 || g->nb < g->n) &&
         both.bytes * both.conflicts[1] <= (double)q->machine->l2_bytes;
}

bool neo_tiles_prefetch_large(neo_tiles *q, const neo_schedule *s) {
  neo_schedule y = *s;
  y.loops.prefetch = 1;
  geometry g = neo_tile_geometry(q, &y);
  for (uint32_t k = 0; k < q->c->n_operands; k++) {
    neo_tile_walk w = neo_tiles_steps(q, k);
    neo_side side = neo_factor_side(&q->c->factor[k], g.rows, g.columns);
    double bytes = neo_tiles_elements(q, k) * (double)q->bytes;
    if (!neo_operand_is_read(q->c, k, g.rows, g.columns) || side != NEO_SIDE_COLUMNS || !w.jumps ||
        q->s->axes.n > 1 || bytes <= 0.5 * (double)q->machine->l2_bytes)
      continue;
    bool packed = g.pack >> k & 1;
    if (packed ? copy_prefetched(q, &g, side, &w)
               : g.kb > 1 && neo_tile_prefetches(q, &g, ceil(g.mb / g.r)))
      return true;
  }
  return false;
}

/* The smallest stride beyond `above` among the axes that a copy reads along; *n: its iterations. 0:
 * there is none. */
static double next_stride(neo_tiles *q, const geometry *g, uint32_t k, uint64_t axes, double above,
                          double *n) {
  double least = 0;
  uint32_t first = (uint32_t)q->f->axes.n;
  for (uint32_t i = 0; i < first + q->s->axes.n; i++) {
    double stride = fabs((double)neo_tiles_along(q, k, i).stride);
    if (!(axes >> i & 1) || stride <= above || (least > 0 && stride >= least))
      continue;
    least = stride;
    *n = (double)(i < first ? q->shared[i] : q->own[i - first]);
    if (i == first)
      *n /= g->kb;
  }
  return least;
}

/* The overfetch of copies of blocks of the reduction: elements of the lines that a copy touches for
 * each element that it takes. The elements between are read again for another tap or block. */
static double stepped_over(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  uint64_t axes = side == NEO_SIDE_ROWS ? g->rows : g->columns, own = 1ULL << q->f->axes.n;
  double line = q->line_bytes / (double)q->bytes, over = 1, span = 1, stride = 0, n = 0;
  if (!g->s->loops.block_k)
    return 1;
  axes = (axes | ~(own - 1)) & q->c->factor[k].axes;
  while (span < line && (stride = next_stride(q, g, k, axes, stride, &n)) > 0) {
    if (stride > span)
      over *= fmin(stride, line) / span;
    span = fmax(span, stride * n);
  }
  return over;
}

/* Cycles of a line that the copies of one block of the reduction read `times` times, where these
 * are around the leading loops: the reuse distance is all that they read. */
static double lines_again(neo_tiles *q, const geometry *g, uint32_t k, neo_side side, double line,
                          double times) {
  const double near = 1, beyond = 3.5;
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  double area = neo_tiles_elements(q, k) * (double)q->bytes;
  if (q->c->factor[k].axes >> q->f->axes.n & 1)
    area /= g->kb;
  neo_schedule_outer_loops(q->f, g->s, loop);
  for (int64_t i = 0; i < g->s->loops.unit_axes; i++)
    if (neo_tile_depends(q, g, &loop[i], k, side))
      area /= neo_tile_trips(q, g, &loop[i]);
  double again = area <= (double)q->machine->l2_bytes ? near : beyond;
  return (line + (times - 1) * fmin(line, again)) / times;
}

/* The number of times that the copies of one block of the reduction read the same element of the
 * tensor. */
static double copied_again(neo_tiles *q, const geometry *g, uint32_t k, neo_side side,
                           double elements) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  int64_t i = neo_schedule_outer_loops(q->f, g->s, loop);
  while (neo_schedule_steps_first(g->s) && i-- > g->s->loops.unit_axes)
    if (!loop[i].block && neo_tile_depends(q, g, &loop[i], k, side))
      elements *= neo_tile_trips(q, g, &loop[i]);
  return fmax(1, elements / neo_tiles_elements(q, k));
}

/* Cycles per element of reading the source of a copy: the lines of the tensor, as often as their
 * elements are copied in a row. A long row of columns is a stream. */
static double source_cycles(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  bool rows = side == NEO_SIDE_ROWS;
  double bytes = (double)q->bytes, elements = rows ? g->m : g->n, tensor = neo_tiles_elements(q, k);
  for (uint32_t i = 0; i < q->s->axes.n; i++)
    if (q->c->factor[k].axes >> (q->f->axes.n + i) & 1)
      elements *= (double)q->own[i];
  neo_tile_walk w = neo_tiles_steps(q, k);
  double line = w.jumps ? 10 : 2.5, over = stepped_over(q, g, k, side), lines = elements * over;
  if (copy_prefetched(q, g, side, &w))
    line *= 0.3;
  if (lines * bytes <= (double)q->machine->l2_bytes)
    line = 1;
  if (neo_schedule_steps_first(g->s))
    line = lines_again(q, g, k, side, line, copied_again(q, g, k, side, lines));
  /* the part of a line that one block of the reduction skips is read again for the next */
  if (q->c->factor[k].axes >> q->f->axes.n & 1)
    tensor *= fmin(g->kb, over);
  return line * over * bytes / q->line_bytes * (tensor < lines ? tensor / lines : 1);
}

enum { SHORT = 4 }; /* vectors of a run from which on edges have a loop of their own */

/* For an operand that slides: *count elements that are read without a gap longer than themselves,
 * and the *span that they cover. False: there is no longer gap at all. */
static bool slide_jumps(neo_tiles *q, uint32_t k, const neo_sliding *w, double run, double *count,
                        double *span) {
  *count = *span = 1;
  for (uint32_t i = (uint32_t)q->s->axes.n; i-- > 0;) {
    neo_axis_access x = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
    double stride = fabs((double)x.stride), n = i == w->own ? run : (double)q->own[i];
    if (stride == 0 && !x.odd)
      continue;
    if (x.odd || stride > 2 * *span)
      return true;
    *count *= n;
    *span = fmax(*span, stride * n);
  }
  return false;
}

/* Cycles per element of reading the source of a sliding operand: the lines of a tensor beyond the
 * caches, with each copy. After a jump a line has its full latency: no prefetcher predicts it, and
 * there is no arithmetic to hide it. */
static double slide_source_cycles(neo_tiles *q, uint32_t k, const neo_sliding *w, double run) {
  const double near = 1, stream = 2.5, alone = 20;
  double count, span, bytes = (double)q->bytes;
  if (neo_tiles_elements(q, k) * bytes <= (double)q->machine->l2_bytes)
    return near * bytes / q->line_bytes;
  if (!slide_jumps(q, k, w, run, &count, &span))
    return stream * bytes / q->line_bytes;
  return alone * (span * bytes / q->line_bytes + 1) / count;
}

/* Cycles per element of copying a sliding operand: vectors, and smaller ones for the rest of a run,
 * or single elements where the length of runs varies. */
static double slide_copy_cycles(neo_tiles *q, uint32_t k, const neo_sliding *w, double lanes,
                                bool guarded, double length, bool whole) {
  neo_axis_access own = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + w->own);
  double run = (double)w->alpha * (length - 1) + (double)w->n;
  double rest = fmod(run, lanes), edges = !guarded ? 0 : run >= SHORT * lanes ? 0.15 : 0.5;
  if (own.stride != w->beta || own.odd)
    return 1.8 + edges + own.ops;
  double left = whole ? 4 * (rest > 0) + rest * 0.5 : rest * 3;
  return (0.4 * (run - rest) + left) / run + edges + own.ops / lanes;
}

/* Cycles per element where fused axes step over whole lines: each lane is a line of its own, which
 * is fetched again for the next step of the reduction. */
static double lone_cycles(const neo_tiles *q, const geometry *g, const neo_axis_access *x) {
  int64_t stride = (x->stride < 0 ? -x->stride : x->stride) * q->bytes;
  return 3 + neo_tile_miss_cycles(q, neo_tile_strided_reuse(q, g->nb * q->line_bytes, 1, stride),
                                  ALONE);
}

/* Cycles per element of copying a packed operand. */
static double copy_cycles(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  bool rows = side == NEO_SIDE_ROWS;
  uint32_t axis = (uint32_t)(rows ? g->am : g->v);
  const neo_sliding *slide = neo_tile_slide(q, g, k, side);
  neo_axis_access x = neo_tiles_along(q, k, axis);
  neo_tile_walk w = neo_tiles_steps(q, k);
  double lanes = g->lanes, length = (double)q->shared[axis], t;
  bool masked = neo_form_axes(q->m, q->f, q->s->where) & (g->rows | g->columns);
  if (slide) {
    double block = rows ? g->mb : g->nb;
    double run = (double)slide->alpha * (block - 1) + (double)slide->n;
    return slide_copy_cycles(q, k, slide, g->lanes, x.guarded || masked, block,
                             rows ? g->mb == g->m : g->nb == g->n) +
           slide_source_cycles(q, k, slide, run);
  }
  bool along = x.stride == 1 && !x.odd, second = x.stride == 2 && !x.odd;
  bool down = false,
       square = false; /* contiguous along the reduction; transposed (lower/tile/copy*.c) */
  for (uint32_t i = 0; i < q->s->axes.n && !rows && g->fused == 1; i++) {
    neo_axis_access y = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
    square |= (y.stride == 1 || y.stride == 2) && !y.odd && 2 * (double)q->own[i] >= lanes;
  }
  for (uint32_t i = (uint32_t)q->s->axes.n; i-- > 0 && !down;) {
    neo_axis_access y = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
    down = y.stride == 1 && !y.odd;
    if (y.stride)
      break;
  }
  bool wide = rows && along && neo_elements_are_near(g->mb * g->steps, q->bytes);
  double rest = fmod(g->mb, lanes);
  if (wide)
    t = (0.4 * (g->mb - rest) + 3 * rest) / g->mb;
  else if (rows && down)
    t = w.run >= 2 * lanes ? 0.3 : 1;
  else if (rows && along)
    t = 1.2; /* tiles of rows are not whole vectors */
  else if (along && length >= lanes)
    t = 0.4;
  else if (second && !rows && length >= lanes)
    t = 0.7;
  else if (square)
    t = 0.8;
  else
    t = down && w.run >= lanes ? 1.4 : 1.8;
  if (x.guarded || masked)
    t += (along || second) && length >= SHORT * lanes ? 0.15 : 0.5;
  if (!rows && g->fused > 1)
    t += along || second ? 0.2 : lone_cycles(q, g, &x);
  return t + source_cycles(q, g, k, side) + x.ops / (along ? lanes : 1);
}

/* Cycles per element of writing scratch that exceeds half of L2. */
static double scratch_cycles(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  double bytes = neo_tile_packed(q, g, k, side, g->steps) * (double)q->bytes, line = 8;
  return bytes > (double)q->machine->l2_bytes / 2 ? line * (double)q->bytes / q->line_bytes : 0;
}

/* The number of copies of an operand: codegen/lower/lower.c hoists a copy out of the loops of a
 * unit that it does not depend on. */
static double copy_count(const neo_tiles *q, const geometry *g, const neo_schedule *s, uint32_t k,
                         neo_side side) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  double count = 1;
  int64_t n = neo_schedule_outer_loops(q->f, s, loop), units = s->loops.unit_axes, level = n;
  bool blocks = s->loops.block_k, first = neo_schedule_steps_first(s);
  while ((!blocks || first) && level > 0 && !neo_tile_depends(q, g, &loop[level - 1], k, side))
    level--;
  for (int64_t i = 0; i < (level < units ? units : level); i++)
    count *= neo_tile_trips(q, g, &loop[i]);
  if (level == 0 && units > 0 && !blocks)
    count = ceil(count / (double)s->loops.unit_size);
  return count;
}

double neo_tile_copies(neo_tiles *q, const geometry *g, const neo_schedule *s) {
  double cycles = 0;
  for (uint32_t k = 0; k < q->c->n_operands; k++) {
    neo_side side = neo_factor_side(&q->c->factor[k], g->rows, g->columns);
    if (!(g->pack >> k & 1) || (side != NEO_SIDE_ROWS && side != NEO_SIDE_COLUMNS))
      continue;
    double steps = 1, elements;
    for (uint32_t i = 0; i < q->s->axes.n; i++)
      if (q->c->factor[k].axes >> (q->f->axes.n + i) & 1)
        steps *= (double)q->own[i];
    elements = neo_tile_packed(q, g, k, side, steps);
    double each = copy_cycles(q, g, k, side) + scratch_cycles(q, g, k, side);
    cycles += copy_count(q, g, s, k, side) * elements * each;
  }
  return cycles;
}

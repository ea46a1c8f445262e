/* Sizes of a contraction's scratch: packed operands and partial sums. */
#include "base/whole.h"
#include "schedule/contract.h"
#include "schedule/model.h"

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
  int64_t stride;
  bool found;
} stride_search;

static void look_at_load(void *ctx, neo_expr e) {
  stride_search *c = ctx;
  int64_t stride;
  if (neo_expr_node(c->m, e)->op == NEO_OP_LOAD &&
      neo_flat_stride(c->m, c->f, neo_flat_at(c->m, e), c->axis, &stride) && stride == c->stride)
    c->found = true;
}

bool neo_expr_has_stride(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis,
                         int64_t stride) {
  stride_search c = {m, f, axis, stride, false};
  neo_expr_visit(m, e, look_at_load, &c);
  return c.found;
}

bool neo_expr_unit_stride(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis) {
  return neo_expr_has_stride(m, f, e, axis, 1);
}

/* ---- sides */

static uint64_t column_axes(const neo_form *f, const neo_schedule *s) {
  int64_t v = s->loops.vector_axis, an = s->loops.axis_n;
  uint64_t axes = 0;
  if (v >= 0 && v < (int64_t)f->axes.n)
    for (int64_t k = 0; k < s->loops.fused; k++)
      axes |= 1ULL << (v - k);
  else if (an >= 0)
    axes = 1ULL << an;
  return axes;
}

static uint64_t row_axes(const neo_schedule *s) {
  int64_t am = s->loops.axis_m;
  return am >= 0 ? 1ULL << am : 0;
}

neo_side neo_schedule_side(const neo_form *f, const neo_schedule *s, const neo_factor *x) {
  return neo_factor_side(x, row_axes(s), column_axes(f, s));
}

bool neo_schedule_reads(const neo_form *f, const neo_schedule *s, const neo_contraction *c,
                        uint32_t k) {
  return neo_operand_is_read(c, k, row_axes(s), column_axes(f, s));
}

/* ---- shapes */

/* Elements of rows or columns in a block. */
static int64_t block_length(neo_module *m, const neo_form *f, const neo_schedule *s, bool rows) {
  int64_t block = rows ? s->loops.block_m : s->loops.block_n, n = 1;
  int64_t v = s->loops.vector_axis;
  bool shared = v >= 0 && v < (int64_t)f->axes.n;
  int64_t axis = rows ? s->loops.axis_m : shared ? v : s->loops.axis_n;
  if (axis < 0)
    return 1;
  for (int64_t k = 0; k < (rows ? 1 : s->loops.fused); k++)
    n *= neo_axis_most(m, &f->axes.at[axis - k]);
  return block && block < n ? block : n;
}

/* The pitch of rows that are not transposed: three pieces of 16 elements beyond a multiple of
 * eight. The rows of a tile then fall on different cache sets and prefetchers. (Measured: at
 * multiples of 1024 bytes a tile takes up to 2.5 times as long; here it is within 3 per cent of one
 * stream.) */
static int64_t padded_pitch(int64_t n) {
  enum { PIECE = 16, PIECES = 8, GOOD = 3 };
  int64_t n_pieces = (n + PIECE - 1) / PIECE;
  return (n_pieces + (GOOD - n_pieces % PIECES + PIECES) % PIECES) * PIECE;
}

/* The pitch of steps of columns before tiling, and of rows of partial sums: it avoids a multiple of
 * 256, so that rows do not share cache sets. */
static int64_t row_pitch(int64_t n, int64_t tile) {
  int64_t pitch = neo_round_up(n, tile);
  return pitch % 256 == 0 ? pitch + 16 : pitch;
}

static bool bounds_use_own(const neo_module *m, const neo_form *f, const neo_stage *s) {
  for (size_t k = 0; k < s->axes.n; k++) {
    uint64_t axes = neo_form_axes(m, f, s->axes.at[k].lo) | neo_form_axes(m, f, s->axes.at[k].hi);
    if (axes >> f->axes.n)
      return true;
  }
  return false;
}

/* Are rows contiguous along the reduction? They are then not transposed. */
static bool along_reduction(neo_module *m, const neo_form *f, const neo_stage *s,
                            const neo_factor *x) {
  for (uint32_t k = (uint32_t)s->axes.n; k-- > 0;)
    if (x->axes >> (f->axes.n + k) & 1)
      return neo_expr_unit_stride(m, f, x->e, (uint32_t)f->axes.n + k);
  return false;
}

/* Are rows contiguous in memory, and all steps of a block so near that no tile needs its own in one
 * piece? Then a copy takes whole vectors, however few rows a tile has. */
static bool has_row_vectors(neo_module *m, const neo_form *f, const neo_factor *x,
                            const neo_schedule *s, int64_t n, int64_t steps) {
  int64_t bytes = neo_type_bytes(neo_expr_type(m, x->e));
  return n > s->loops.tile_m && neo_elements_are_near((double)n * (double)steps, bytes) &&
         neo_expr_unit_stride(m, f, x->e, (uint32_t)s->loops.axis_m);
}

/* Gathers as many steps at a time as fit into a part of L1. */
static void add_temp(const neo_form *f, const neo_stage *s, const neo_factor *x, int64_t n,
                     int64_t tile, neo_pack_shape *y) {
  enum { MOST = 2048 };
  int64_t steps = 1;
  y->temp_pitch = row_pitch(n, tile);
  for (uint32_t k = (uint32_t)s->axes.n; k-- > 0; y->temp_axes++) {
    int64_t extent = x->axes >> (f->axes.n + k) & 1 ? y->k_extent[k] : 1;
    if (steps * extent * y->temp_pitch > MOST && extent > 1)
      break;
    steps *= extent;
  }
  y->temp_elements = steps * y->temp_pitch;
}

/* Does the operand slide along its rows, or along columns of one axis? Lanes need adjacent
 * elements. */
static bool slides(neo_module *m, const neo_form *f, const neo_stage *s, const neo_factor *x,
                   bool rows, const neo_schedule *sched, neo_sliding *out) {
  const neo_loop_params *p = &sched->loops;
  int64_t axis = rows ? p->axis_m : p->vector_axis;
  if ((!rows && p->fused > 1) || !neo_sliding_of(m, f, s, x->e, (uint32_t)axis, out))
    return false;
  return (rows || out->alpha == 1) && !(out->own == 0 && p->block_k);
}

/* Sizes of scratch[k][index] for n rows or columns. */
static void add_slide(neo_pack_shape *y, int64_t n) {
  enum { SETS = 256, MORE = 16 };
  const neo_sliding *w = &y->slide;
  y->k_extent[w->own] = 1;
  y->origin = w->beta < 0 ? w->n - 1 : 0;
  y->span = w->alpha * (n - 1) + w->n;
  y->k_unit = y->span % SETS == 0 ? y->span + MORE : y->span;
  y->unit = y->tile_coef = w->alpha;
  y->k_size /= w->n;
  y->ok = !__builtin_mul_overflow(y->k_size, y->k_unit, &y->elements) && y->elements <= 1 << 24;
}

neo_pack_shape neo_pack_shape_of(neo_module *m, const neo_form *f, const neo_stage *s,
                                 const neo_factor *x, neo_side side, const neo_schedule *sched) {
  neo_pack_shape y = {.k_size = 1};
  const neo_loop_params *p = &sched->loops;
  if (side != NEO_SIDE_ROWS && side != NEO_SIDE_COLUMNS)
    return y;
  if (s->axes.n > NEO_FORM_MAX_AXES || bounds_use_own(m, f, s))
    return y;
  for (uint32_t k = 0; k < s->axes.n; k++) {
    int64_t lo, hi;
    if (!(x->axes >> (f->axes.n + k) & 1))
      continue;
    if (!neo_axis_range(m, f, s, k, &lo, &hi))
      return y;
    y.k_extent[k] = hi > lo ? hi - lo : 1;
    if (k == 0 && p->block_k && p->block_k < y.k_extent[k])
      y.k_extent[k] = p->block_k;
    if (__builtin_mul_overflow(y.k_size, y.k_extent[k], &y.k_size) || y.k_size > 1 << 24)
      return y;
  }
  bool rows = side == NEO_SIDE_ROWS;
  int64_t n = block_length(m, f, sched, rows);
  int64_t tile = rows ? p->tile_m : p->tile_n * p->vector_width;
  y.slides = slides(m, f, s, x, rows, sched, &y.slide);
  if (y.slides) {
    add_slide(&y, rows ? n : neo_round_up(n, tile));
    return y;
  }
  if (rows && has_row_vectors(m, f, x, sched, n, y.k_size)) {
    y.k_unit = n;
    y.unit = y.tile_coef = 1;
    y.elements = y.k_size * n;
    y.ok = true;
    return y;
  }
  bool padded = rows && along_reduction(m, f, s, x);
  y.k_unit = padded ? 1 : tile;
  y.unit = padded ? padded_pitch(y.k_size) : 1;
  y.tile_coef = padded ? y.unit : y.k_size;
  int64_t width = padded ? n : neo_round_up(n, tile);
  y.ok = !__builtin_mul_overflow(y.tile_coef, width, &y.elements) && y.elements <= 1 << 24;
  if (y.ok && !rows && p->fused > 1)
    add_temp(f, s, x, n, tile, &y);
  y.ok = y.ok && y.temp_elements <= 1 << 24;
  return y;
}

bool neo_schedule_steps_first(const neo_schedule *s) {
  return s->loops.block_k && s->loops.blocks_first & NEO_STEPS_FIRST;
}

int64_t neo_outer_loop_most(neo_module *m, const neo_form *f, const neo_schedule *s,
                            const neo_outer_loop *o) {
  neo_schedule whole = *s;
  if (!o->block)
    return neo_axis_most(m, &f->axes.at[o->axis]);
  whole.loops.block_m = whole.loops.block_n = 0;
  int64_t n = block_length(m, f, &whole, o->axis == s->loops.axis_m);
  return n / o->block + (n % o->block > 0);
}

bool neo_stage_steps_uniform(const neo_module *m, const neo_form *f, const neo_stage *s) {
  const neo_axis_rec *first = &s->axes.at[0];
  bool moves = neo_form_axes(m, f, first->lo) | neo_form_axes(m, f, first->hi);
  return !moves && !(neo_form_axes(m, f, s->where) >> f->axes.n & 1);
}

static int64_t partial_blocks(neo_module *m, const neo_form *f, const neo_schedule *s) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  int64_t blocks = 1, k = neo_schedule_outer_loops(f, s, loop);
  while (neo_schedule_steps_first(s) && k-- > s->loops.unit_axes)
    if (__builtin_mul_overflow(blocks, neo_outer_loop_most(m, f, s, &loop[k]), &blocks))
      return -1;
  return blocks;
}

neo_partial_shape neo_partial_shape_of(neo_module *m, const neo_form *f, const neo_schedule *s) {
  int64_t tile = s->loops.tile_n * s->loops.vector_width;
  return (neo_partial_shape){block_length(m, f, s, true),
                             row_pitch(block_length(m, f, s, false), tile),
                             partial_blocks(m, f, s)};
}

/* ---- order */

bool neo_elements_are_near(double elements, int64_t bytes) {
  enum { NEAR_BYTES = 16384 };
  return elements * (double)bytes <= NEAR_BYTES;
}

double neo_schedule_block_steps(neo_module *m, const neo_stage *stage, const neo_schedule *s) {
  int64_t k = s->loops.block_k;
  double steps = 1;
  for (uint32_t i = 0; i < stage->axes.n; i++) {
    int64_t n = neo_axis_most(m, &stage->axes.at[i]);
    steps *= (double)(i == 0 && k && k < n ? k : n);
  }
  return steps;
}

bool neo_schedule_columns_first(neo_module *m, const neo_form *f, const neo_schedule *s) {
  neo_contraction c;
  int64_t v = s->loops.vector_axis;
  if (s->loops.order == 1)
    return false;
  if (s->loops.order == 2 || s->loops.pack)
    return true;
  if (v < 0 || v >= (int64_t)f->axes.n || !neo_contraction_of(m, f, &c))
    return false;
  const neo_stage *stage = &f->stages.at[c.stage];
  double elements = (double)block_length(m, f, s, true) * neo_schedule_block_steps(m, stage, s);
  return neo_elements_are_near(elements, neo_type_bytes((neo_type)stage->accs.at[0].type));
}

/* Sensible values of each parameter. A parameter without a rule here is stepped by one and by
 * doubling. */
#include "schedule/loops/collapse.h"
#include "schedule/loops/loops.h"
#include "schedule/loops/nontemporal.h"
#include "schedule/model.h"

typedef struct {
  const neo_space *x;
  const neo_schedule *s;
  int64_t now;
  int64_t *at;
  size_t n;
} values;

static void add(values *v, int64_t value) {
  for (size_t k = 0; k < v->n; k++)
    if (v->at[k] == value)
      return;
  if (value != v->now && v->n < NEO_SPACE_VALUES)
    v->at[v->n++] = value;
}

static void add_within(values *v, int64_t value, int64_t lo, int64_t hi) {
  if (value >= lo && value <= hi)
    add(v, value);
}

static int64_t extent(const neo_space *x, int64_t axis) {
  return axis >= 0 && axis < (int64_t)x->f->axes.n ? neo_axis_most(x->m, &x->f->axes.at[axis]) : 1;
}

int64_t neo_loops_lanes(const neo_space *x) {
  int64_t n = x->machine->vector_bytes / neo_form_widest(x->m, x->f);
  return n < 1 ? 1 : n;
}

static bool lanes_shared(const neo_space *x, const neo_schedule *s) {
  int64_t v = s->loops.vector_axis;
  return v >= 0 && v < (int64_t)x->f->axes.n;
}

/* ---- axes */

static void axes(values *v, int64_t least, bool own) {
  for (int64_t k = least; k < (int64_t)v->x->f->axes.n + own; k++)
    if (k < 0 || k == (int64_t)v->x->f->axes.n || extent(v->x, k) > 1)
      add(v, k);
}

/* ---- tiles */

static void near(values *v, int64_t lo, int64_t hi) {
  for (int64_t d = 1; d <= 2; d++) {
    add_within(v, v->now + d, lo, hi);
    add_within(v, v->now - d, lo, hi);
  }
  add_within(v, v->now * 2, lo, hi);
  add_within(v, v->now / 2, lo, hi);
}

static int64_t least_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ---- blocks: 0 is the whole length */

/* Adds about half, double and similar multiples of the current value, in multiples of `unit`, below
 * `length`. */
static void blocks(values *v, int64_t length, int64_t unit) {
  static const double factor[] = {0.5, 2, 0.75, 1.5, 0.25, 4};
  int64_t from = v->now ? v->now : length;
  for (size_t k = 0; k < sizeof factor / sizeof *factor; k++) {
    int64_t n = (int64_t)((double)from * factor[k]) / unit * unit;
    add_within(v, n < unit ? unit : n, 1, length - 1);
  }
  add(v, 0);
}

/* Blocks of columns are multiples of a tile, or of the inner fused axes where there are several. */
static int64_t column_unit(const neo_space *x, const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  int64_t unit = p->tile_n * (lanes_shared(x, s) ? p->vector_width : 1);
  bool collapsed = neo_schedule_is_collapsed(x->f, s);
  if (p->fused > 1 || collapsed)
    unit = 1;
  for (int64_t k = 0; k < p->fused - !collapsed; k++)
    unit *= extent(x, p->vector_axis - k);
  return unit;
}

int64_t neo_loops_columns(const neo_space *x, const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  if (!lanes_shared(x, s))
    return extent(x, p->axis_n);
  int64_t n = extent(x, p->axis_n);
  for (int64_t k = 0; k < p->fused; k++)
    n *= extent(x, p->vector_axis - k);
  return n;
}

/* ---- all of them */

static void each(values *v, neo_param k) {
  const neo_space *x = v->x;
  const neo_loop_params *p = &v->s->loops;
  int64_t lanes = neo_loops_lanes(x), n = (int64_t)x->f->axes.n;
  switch (k) {
  case NEO_PARAM(loops, vector_axis):
    axes(v, 0, neo_form_has_own_axes(x->f));
    break;
  case NEO_PARAM(loops, vector_width):
    add_within(v, v->now * 2, 2, lanes * 2);
    add_within(v, v->now / 2, 2, lanes * 2);
    break;
  case NEO_PARAM(loops, fused):
    add_within(v, v->now + 1, 1, 4);
    add_within(v, v->now - 1, 1, 4);
    break;
  case NEO_PARAM(loops, axis_m):
  case NEO_PARAM(loops, axis_n):
    axes(v, -1, false);
    break;
  case NEO_PARAM(loops, pairs): /* the machine decides */
    break;
  case NEO_PARAM(loops, tile_m):
    if (p->pairs) {
      bool dots = p->pairs == NEO_PAIRS_DOTS;
      add_within(v, dots ? v->now * 2 : 48 - v->now, 1, dots ? 16 : 32);
      add_within(v, dots ? v->now / 2 : 48 - v->now, 1, dots ? 16 : 32);
      break;
    }
    near(v, 1, least_of(16, extent(x, p->axis_m)));
    break;
  case NEO_PARAM(loops, tile_n):
    near(v, 1, 8);
    break;
  case NEO_PARAM(loops, pack):
    for (int bit = 0; bit < NEO_MAX_OPERANDS; bit++)
      add(v, v->now ^ 1 << bit);
    break;
  case NEO_PARAM(loops, order):
    for (int64_t order = 0; order <= 2; order++)
      if (order != v->now)
        add(v, order);
    break;
  case NEO_PARAM(loops, block_k):
    blocks(v, neo_form_steps_length(x->m, x->f), 1);
    break;
  case NEO_PARAM(loops, block_m):
    blocks(v, extent(x, p->axis_m), p->tile_m);
    break;
  case NEO_PARAM(loops, block_n):
    blocks(v, neo_loops_columns(x, v->s), column_unit(x, v->s));
    break;
  case NEO_PARAM(loops, blocks_first):
    for (int64_t bits = 0; bits < 8; bits++)
      add(v, bits);
    break;
  case NEO_PARAM(loops, unit_axes):
    near(v, 0, n + 2);
    break;
  case NEO_PARAM(loops, unit_size):
    add_within(v, v->now * 2, 1, 1 << 20);
    add_within(v, v->now * 4, 1, 1 << 20);
    add_within(v, v->now / 2, 1, 1 << 20);
    break;
  case NEO_PARAM(loops, unroll_k):
    add_within(v, v->now * 2, 1, 8);
    add_within(v, v->now / 2, 1, 8);
    break;
  case NEO_PARAM(loops, partial):
    add_within(v, v->now * 2, 1, lanes_shared(x, v->s) ? 8 : 1);
    add_within(v, v->now / 2, 1, 8);
    break;
  case NEO_PARAM(loops, stash):
  case NEO_PARAM(loops, prefetch):
    add(v, !v->now);
    break;
  case NEO_PARAM(loops, nontemporal):
    if (v->now || neo_nontemporal_worth_a_try(x->m, x->g, v->s))
      add(v, !v->now);
    break;
  default:
    near(v, 0, 1 << 20);
    add(v, 0);
    add(v, 1);
  }
}

size_t neo_loops_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]) {
  values v = {.x = x, .s = s, .now = s->at[k], .at = out};
  each(&v, k);
  return v.n;
}

bool neo_loops_sensible(const neo_space *x, const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  if (p->pairs)
    return true;
  int64_t lanes = neo_loops_lanes(x), w = p->vector_width;
  int64_t each = w > lanes ? w / lanes : 1, copies = lanes_shared(x, s) ? 1 : p->unroll_k;
  return p->tile_m * p->tile_n * each * copies <= x->machine->vector_regs;
}

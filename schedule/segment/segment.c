/* Matches reductions by keys (segment.h). */
#include "schedule/segment/segment.h"
#include "schedule/extent.h"
#include "schedule/match.h"
#include "schedule/model.h"
#include "schedule/segment/condition.h"

static uint64_t range_axes(neo_module *m, const neo_form *f, const neo_axis_rec *a) {
  return neo_form_axes(m, f, a->lo) | neo_form_axes(m, f, a->hi);
}

/* Does a result share memory with an operand, so that it cannot hold accumulators? */
static bool in_operand(const neo_module *m, const neo_group *g) {
  for (size_t i = 0; i < g->roots.n; i++) {
    neo_tensor old = neo_tensor_at(m, g->roots.at[i])->updates;
    for (size_t k = 0; k < g->reads.n; k++)
      if (g->reads.at[k].i == g->roots.at[i].i || (old.i && g->reads.at[k].i == old.i))
        return true;
  }
  return false;
}

/* Is the form a product of matrices, one with the axis of rows and one with that of columns? A
 * register tile then uses each operand for a whole row or column of results, and takes less time
 * than passes, which access memory for each term. */
static bool reuses_operands(neo_module *m, const neo_form *f, uint32_t axis) {
  neo_contraction c;
  uint64_t shared = ((uint64_t)1 << f->axes.n) - 1, row = (uint64_t)1 << axis;
  bool rows = false, columns = false, found = neo_contraction_of(m, f, &c);
  for (uint32_t k = 0; found && k < c.n; k++) {
    uint64_t axes = neo_form_axes(m, f, c.factor[k].e);
    bool own = axes & ~shared;
    rows = rows || (own && axes & row);
    columns = columns || (own && axes & shared & ~row);
  }
  return rows && columns;
}

static bool has_intervals(const neo_segment *x) {
  for (uint32_t k = 0; k < x->pass[0].n_keys; k++)
    if (x->pass[0].key[k].last.i || x->pass[0].key[k].end.i)
      return true;
  return false;
}

static bool interval_fits(neo_module *m, const neo_form *f, const neo_segment_pass *x) {
  for (uint32_t k = 0; k < x->n_keys; k++)
    if ((x->key[k].last.i || x->key[k].end.i) && reuses_operands(m, f, x->key[k].axis))
      return false;
  return true;
}

/* Finds the keys of a stage that reduces. Ranges are evaluated before the keys. */
static bool match_pass(neo_module *m, const neo_form *f, const neo_stage *s, neo_segment *out) {
  neo_segment_pass *p = &out->pass[out->n_passes++];
  uint64_t axes = 0;
  if (s->over || s->outs.n || !s->accs.n)
    return false;
  if ((!neo_segment_split(m, f, s, true, p) || !interval_fits(m, f, p)) &&
      !neo_segment_split(m, f, s, false, p))
    return false;
  for (uint32_t k = 0; k < p->n_keys; k++)
    axes |= (uint64_t)1 << p->key[k].axis;
  for (size_t k = 0; k < s->axes.n; k++)
    if (range_axes(m, f, &s->axes.at[k]) & axes)
      return false;
  bool same = out->n_passes == 1 || axes == out->axes;
  out->axes = axes;
  return same;
}

/* Can the result hold accumulator 0? No other result may be stored after it that still needs a
 * row's terms. */
static bool is_in_place(neo_module *m, const neo_group *g, const neo_form *f) {
  const neo_stage *store = &f->stages.at[f->stages.n - 1];
  return store->outs.n == 1 && !in_operand(m, g) &&
         f->stages.at[0].accs.at[0].type == neo_expr_type(m, store->outs.at[0].value);
}

/* Sets `rows`, if the result is a sum of whose rows only those with terms are read
 * (neo_tensor_rec.terms). */
static void match_terms(neo_module *m, const neo_form *f, neo_segment *out) {
  const neo_form_acc *a = &f->stages.at[0].accs.at[0];
  const neo_tensor_rec *t = neo_tensor_at(m, f->stages.at[out->n_passes].outs.at[0].tensor);
  out->rows = out->ends && a->kind == NEO_RED_SUM && t->terms;
}

bool neo_match_segment(neo_module *m, const neo_group *g, neo_segment *out) {
  const neo_form *f = neo_group_form(m, g);
  *out = (neo_segment){0};
  uint32_t n = f->stages.n ? (uint32_t)f->stages.n - 1 : 0;
  if (!n || n > NEO_SEGMENT_PASSES || f->n_accs > NEO_SEGMENT_ACCS || neo_form_row_block(f))
    return false;
  const neo_stage *store = &f->stages.at[n];
  if (!store->outs.n || store->accs.n || store->axes.n || store->where.i)
    return false;
  for (uint32_t k = 0; k < n; k++)
    if (!match_pass(m, f, &f->stages.at[k], out))
      return false;
  out->axis = out->pass[0].key[0].axis;
  out->in_place = is_in_place(m, g, f);
  out->ends = out->in_place && f->n_accs == 1 &&
              neo_expr_node(m, store->outs.at[0].value)->op == NEO_OP_ACC;
  match_terms(m, f, out);
  return neo_segment_table(m, f, out, 1) <= NEO_SEGMENT_ELEMENTS;
}

bool neo_segment_is_sum(const neo_form *f, const neo_segment *x) {
  return x->ends && x->pass[0].n_keys == 1 && !has_intervals(x) &&
         f->stages.at[0].accs.at[0].kind == NEO_RED_SUM;
}

uint64_t neo_segment_tested(const neo_module *m, const neo_form *f, const neo_segment *x) {
  uint64_t axes = x->axes;
  for (uint32_t k = 0; k < x->n_passes; k++) {
    const neo_segment_pass *p = &x->pass[k];
    axes |= neo_form_axes(m, f, p->before) | neo_form_axes(m, f, p->rest);
    for (uint32_t i = 0; i < p->n_keys; i++)
      axes |= neo_form_axes(m, f, p->key[i].from) | neo_form_axes(m, f, p->key[i].last) |
              neo_form_axes(m, f, p->key[i].end);
  }
  return axes;
}

double neo_segment_table(neo_module *m, const neo_form *f, const neo_segment *x, int64_t columns) {
  bool any = f->n_accs > (x->in_place ? 1 : 0);
  return any ? neo_form_points(m, f, x->axes) * (double)columns : 0;
}

double neo_segment_visited(neo_module *m, const neo_form *f, const neo_segment *x) {
  double rows = neo_form_points(m, f, x->axes), points = neo_stage_points(m, &f->stages.at[0]);
  double share = 1 / rows + 1 / points;
  return share < 1 ? share : 1;
}

/* ---- the model's choice: lanes over the contiguous shared axis, blocks of it as units */

static void choose_lanes(neo_module *m, const neo_form *f, const neo_segment *x, int64_t lanes,
                         neo_schedule *s) {
  uint64_t fixed = neo_form_bound_axes(m, f) | neo_segment_tested(m, f, x);
  neo_expr at = f->stages.at[x->n_passes].outs.at[0].offset;
  for (uint32_t k = 0; k < f->axes.n; k++) {
    int64_t stride, n = neo_axis_most(m, &f->axes.at[k]), width = lanes;
    while (width > 1 && (width > n || neo_segment_table(m, f, x, width) > NEO_SEGMENT_ELEMENTS))
      width /= 2;
    if (fixed >> k & 1 || width < 2 || !neo_flat_stride(m, f, at, k, &stride) || stride != 1)
      continue;
    int64_t block = n > 8 * width ? 4 * width : n > 2 * width ? 2 * width : 0;
    while (block > width && neo_segment_table(m, f, x, block) > NEO_SEGMENT_ELEMENTS)
      block /= 2;
    if (!block && neo_segment_table(m, f, x, n) > NEO_SEGMENT_ELEMENTS)
      block = width;
    s->loops.vector_axis = k;
    s->loops.vector_width = width;
    s->loops.block_n = block;
  }
}

bool neo_model_segment(neo_module *m, const neo_group *g, const neo_machine *machine,
                       neo_schedule *out) {
  const neo_form *f = neo_group_form(m, g);
  neo_segment x;
  if (!neo_segment_of(m, g, &x))
    return false;
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_SEGMENT;
  s.loops.axis_m = x.axis;
  choose_lanes(m, f, &x,
               machine->vector_bytes / neo_type_bytes((neo_type)f->stages.at[0].accs.at[0].type),
               &s);
  s.loops.unit_axes = neo_schedule_loops(f, &s);
  *out = s;
  return true;
}

/* Compares the time of a pass with that of loops over all points. A term of a pass is a load and a
 * store of its accumulator, and may wait for the term before. In that time, loops over all points
 * compare with TERM rows, or with COLUMNS rows if both have lanes over columns (measured with sums
 * and maxima of f32 and f64). Terms of intervals count as independent, as in a list of lists. */
bool neo_segment_pays(neo_module *m, const neo_group *g, const neo_machine *machine) {
  enum { TERM = 8, COLUMNS = 2 };
  const neo_form *f = neo_group_form(m, g);
  neo_segment x;
  neo_schedule s;
  if (!neo_segment_of(m, g, &x) || !neo_model_segment(m, g, machine, &s))
    return false;
  if (neo_segment_is_sum(f, &x) && neo_type_is_int((neo_type)f->stages.at[0].accs.at[0].type))
    return true; /* counts, whose terms cost less than a comparison with each row */
  double rows = neo_form_usual_points(m, f, x.axes);
  double points = neo_stage_usual_steps(m, &f->stages.at[0]);
  double terms = has_intervals(&x) && points < rows ? rows : points;
  double term = s.loops.vector_axis >= 0 ? COLUMNS : f->n_accs > 1 ? 1.5 * TERM : TERM;
  return points * rows >= term * terms + rows;
}

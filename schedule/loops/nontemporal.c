/* Decides which results may be stored past the caches, and where that pays (nontemporal.h). */
#include "schedule/loops/nontemporal.h"
#include "ir/clone.h"
#include "schedule/model.h"
#include <math.h>

/* Results below TRY_BYTES may still be cached when they are read; results above PAYS_BYTES hardly.
 * Between the two, tuning tries both. */
enum {
  TRY_BYTES = 4 << 20,
  PAYS_BYTES = 32 << 20,
  LIKELY_BYTES = 2 << 20, /* in a usual call, of a result that may be as large as that */
  LONG_OPS = 8,           /* operations of a map, for each tensor */
  LONG_STEPS = 16,        /* steps of a sum */
};

static int64_t bytes_of(neo_module *m, neo_tensor t, neo_expr elements) {
  return neo_extent_most(m, elements) * neo_type_bytes(neo_tensor_type(m, t));
}

static int64_t most_bytes(neo_module *m, neo_tensor t) {
  return bytes_of(m, t, neo_tensor_elements(m, t));
}

/* Replaces a run-time size by its usual value, or by the geometric mean of its bounds. */
static neo_expr middle(void *ctx, neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  (void)ctx;
  if (n->op != NEO_OP_SIZE)
    return e;
  const neo_size_rec *r = neo_size_at(m, (neo_size){n->attr});
  if (r->kind != NEO_SIZE_RUNTIME)
    return e;
  double least = r->lo > 1 ? (double)r->lo : 1, most = r->hi > 1 ? (double)r->hi : 1;
  return neo_const_i64(m, r->has_usual ? r->usual : (int64_t)sqrt(least * most));
}

/* Bytes of the tensor in a usual call. A result that is small is still cached when it is read. */
static int64_t likely_bytes(neo_module *m, neo_tensor t) {
  return bytes_of(m, t, neo_expr_rewrite(m, neo_tensor_elements(m, t), middle, NULL));
}

/* Does the group read the tensor or its old version, so that its lines are cached already? Slices
 * of a recurrence count, too: the next iteration reads the results of an iteration. */
static bool in_place(const neo_module *m, const neo_group *g, neo_tensor t) {
  if (neo_tensor_at(m, t)->moves)
    return true;
  neo_tensor old = neo_tensor_at(m, t)->updates;
  for (size_t k = 0; k < g->reads.n; k++)
    if (g->reads.at[k].i == t.i || (old.i && g->reads.at[k].i == old.i))
      return true;
  return false;
}

static bool is_map(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].accs.n || f->stages.at[k].axes.n)
      return false;
  return true;
}

static bool is_shared(const neo_form *f, int64_t v) {
  return v < (int64_t)f->axes.n;
}

/* Lanes run along the last own axis of a stage, or along a shared one if it has no own axes. */
static bool lanes_run_along(const neo_form *f, const neo_stage *s, int64_t v, uint32_t *axis) {
  *axis = (uint32_t)(is_shared(f, v) ? v : v + (int64_t)s->axes.n - 1);
  return v >= 0 && is_shared(f, v) == (s->axes.n == 0);
}

bool neo_nontemporal_fits(neo_module *m, const neo_group *g, const neo_schedule *s, neo_tensor t) {
  const neo_form *f = neo_group_form(m, g);
  if (s->loops.axis_n >= 0 || neo_strategy_body_of(s->strategy) == NEO_BODY_PASS ||
      s->loops.block_k || s->loops.pack)
    return false;
  if (in_place(m, g, t))
    return false;
  size_t found = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *stage = &f->stages.at[k];
    for (size_t i = 0; i < stage->outs.n; i++) {
      uint32_t axis;
      int64_t stride;
      if (stage->outs.at[i].tensor.i != t.i)
        continue;
      found++;
      if (stage->outs.at[i].row_block || !lanes_run_along(f, stage, s->loops.vector_axis, &axis) ||
          !neo_flat_stride(m, f, stage->outs.at[i].offset, axis, &stride) || stride != 1)
        return false;
    }
  }
  return found > 0;
}

static bool fits_from(neo_module *m, const neo_group *g, const neo_schedule *s,
                      int64_t (*size)(neo_module *m, neo_tensor t), int64_t bytes) {
  for (size_t k = 0; k < g->roots.n; k++)
    if (size(m, g->roots.at[k]) >= bytes && neo_nontemporal_fits(m, g, s, g->roots.at[k]))
      return true;
  return false;
}

bool neo_nontemporal_any(neo_module *m, const neo_group *g, const neo_schedule *s) {
  return fits_from(m, g, s, most_bytes, INT64_MIN);
}

bool neo_nontemporal_worth_a_try(neo_module *m, const neo_group *g, const neo_schedule *s) {
  return fits_from(m, g, s, most_bytes, TRY_BYTES);
}

/* Does computing take longer than moving the lines, in a map with a long formula or in a sum whose
 * lanes are results? Caches then hide the traffic. Nontemporal stores would stall some loads: those
 * of constants or spills whose addresses agree with a pending store in all bits but the page
 * (codegen/loop/loop.h). */
static bool computes_longer(neo_module *m, const neo_group *g, const neo_schedule *s) {
  const neo_form *f = neo_group_form(m, g);
  double ops = 0, steps = 0;
  for (size_t k = 0; is_shared(f, s->loops.vector_axis) && k < f->stages.n; k++)
    steps += f->stages.at[k].accs.n ? neo_stage_points(m, &f->stages.at[k]) : 0;
  for (size_t k = 0; is_map(f) && k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].outs.n; i++)
      ops +=
          neo_model_lane_ops(m, f->stages.at[k].outs.at[i].value, (uint32_t)s->loops.vector_axis);
  return steps >= LONG_STEPS || ops >= LONG_OPS * (double)(g->reads.n + g->roots.n);
}

/* Does the kernel write whole lines at a time? A tile writes some adjacent vectors of a row, then
 * those of other rows. */
static bool whole_lines(neo_module *m, const neo_group *g, const neo_machine *machine,
                        const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  uint32_t bytes = neo_form_widest(m, neo_group_form(m, g));
  return p->tile_m == 1 || p->tile_n * p->vector_width * bytes >= machine->profile.line_bytes;
}

bool neo_nontemporal_pays(neo_module *m, const neo_group *g, const neo_machine *machine,
                          const neo_schedule *s) {
  return fits_from(m, g, s, most_bytes, PAYS_BYTES) &&
         fits_from(m, g, s, likely_bytes, LIKELY_BYTES) && !computes_longer(m, g, s) &&
         whole_lines(m, g, machine, s);
}

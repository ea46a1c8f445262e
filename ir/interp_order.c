/* Recurrences: loops as their order says, and at each point the definitions there. */
#include "ir/interp_parts.h"
#include "ir/order.h"

typedef struct {
  neo_interp_frame *frames;
  const neo_def *defs;
  size_t n;
} recurrence;

static neo_interp_frame *frame_of(const recurrence *r, neo_def d) {
  size_t k = 0;
  while (r->defs[k].i != d.i)
    k++;
  return &r->frames[k];
}

/* Rounds of the loop at the sizes at hand. */
static void rounds(const recurrence *r, const neo_order_step *loop, int64_t *lo, int64_t *hi) {
  *lo = INT64_MAX;
  *hi = INT64_MIN;
  for (uint32_t k = 0; k < loop->n_members; k++) {
    neo_order_member x = loop->member[k];
    neo_interp_frame *f = frame_of(r, x.def);
    int64_t end = neo_interp_frame_eval(f, f->hi[x.axis]).i + x.delay;
    *lo = x.delay < *lo ? x.delay : *lo;
    *hi = end > *hi ? end : *hi;
  }
}

static neo_status run_steps(const recurrence *r, const neo_order_step *loop);

static neo_status run_round(const recurrence *r, const neo_order_step *loop, int64_t round) {
  for (uint32_t k = 0; k < loop->n_members; k++) {
    neo_order_member x = loop->member[k];
    neo_interp_frame_set_axis(frame_of(r, x.def), x.axis, round - x.delay);
  }
  return run_steps(r, loop);
}

static neo_status run_loop(const recurrence *r, const neo_order_step *loop) {
  int64_t lo, hi;
  neo_status s = NEO_OK;
  for (uint32_t k = 0; k < loop->n_members; k++)
    frame_of(r, loop->member[k].def)->fixed |= (uint64_t)1 << loop->member[k].axis;
  rounds(r, loop, &lo, &hi);
  for (int64_t k = lo; k < hi && !s; k++)
    s = run_round(r, loop, loop->down ? lo + hi - 1 - k : k);
  for (uint32_t k = 0; k < loop->n_members; k++)
    frame_of(r, loop->member[k].def)->fixed &= ~((uint64_t)1 << loop->member[k].axis);
  return s;
}

static neo_status run_steps(const recurrence *r, const neo_order_step *loop) {
  neo_status s = NEO_OK;
  for (uint32_t k = 0; k < loop->n_steps && !s; k++) {
    const neo_order_step *step = &loop->step[k];
    if (!step->def.i) {
      s = run_loop(r, step);
      continue;
    }
    neo_interp_frame *f = frame_of(r, step->def);
    neo_interp_frame_run_fixed(f);
    s = f->status;
  }
  return s;
}

neo_status neo_interp_recurrence(neo_interp_frame *frames, const neo_def *defs, size_t n,
                                 neo_str *why) {
  recurrence r = {frames, defs, n};
  neo_order_step loop;
  neo_module *m = frames->m;
  neo_prover *p = neo_prover_new(m);
  bool found = neo_order_find(p, defs, n, frames->arena, &loop, NULL);
  neo_prover_free(p);
  if (!found) {
    neo_str_addf(
        why, "%s needs itself, in no order",
        neo_name_text(
            m->names,
            neo_tensor_at(m, (neo_tensor){neo_list_at(m, neo_def_at(m, defs[0])->out, 0)})->name));
    return NEO_INTERNAL;
  }
  for (size_t k = 0; k < n; k++)
    neo_interp_frame_prepare(&frames[k], defs[k]);
  return run_loop(&r, &loop);
}

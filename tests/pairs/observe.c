/* Which features, kinds of fusion and strategies a kernel has. */
#include "fusion/form.h"
#include "tests/pairs/machine.h"
#include "tools/pipeline/compile.h"

static const char *const strategies[] = {
#define X(name, text, gpu, meaning) text,
#include "tests/pairs/strategies.def"
#undef X
};

const char *pairs_strategy_text(uint32_t s) {
  return strategies[s];
}

const char *pairs_kind_text(uint32_t k) {
  return k < NEO_FUSE_KINDS ? neo_fuse_kind_text((neo_fuse_kind)k) : "alone";
}

/* ---- strategies */

static uint32_t on(bool has, pairs_strategy s) {
  return has ? 1u << s : 0;
}

static uint32_t of_form(const neo_form *f) {
  bool reduces = false;
  for (size_t k = 0; k < f->stages.n; k++)
    reduces = reduces || f->stages.at[k].accs.n > 0;
  return on(!reduces, PAIRS_BY_MAP) | on(neo_form_row_block(f) > 0, PAIRS_BY_RUNS) |
         on(neo_form_is_nested(f), PAIRS_BY_NESTED) | on(f->stages.n > 3, PAIRS_BY_STAGES);
}

static uint32_t of_processor(const neo_form *f, const neo_schedule *s) {
  bool reduces = !(of_form(f) & 1u << PAIRS_BY_MAP);
  bool lanes = s->loops.vector_axis >= 0 && s->loops.vector_width > 1;
  bool own = s->loops.vector_axis >= (int64_t)f->axes.n;
  bool tile = s->loops.tile_m > 1 || s->loops.tile_n > 1;
  return on(lanes && own, PAIRS_BY_ROW) | on(lanes && !own && reduces, PAIRS_BY_POINTS) |
         on(tile && s->strategy != NEO_STRATEGY_SCAN, PAIRS_BY_TILE) |
         on(s->loops.fused > 1, PAIRS_BY_FUSED) |
         on(s->loops.axis_n >= 0 && lanes && !own, PAIRS_BY_STRIDED) |
         on(s->loops.pack, PAIRS_BY_PACK) |
         on(s->loops.block_k || s->loops.block_m || s->loops.block_n, PAIRS_BY_BLOCKS) |
         on(s->loops.pairs == NEO_PAIRS_TILES, PAIRS_BY_MATRIX) |
         on(s->loops.pairs == NEO_PAIRS_DOTS, PAIRS_BY_DOTS) |
         on(s->loops.unroll_k > 1, PAIRS_BY_UNROLL) | on(s->loops.stash, PAIRS_BY_STASH) |
         on(s->loops.nontemporal, PAIRS_BY_NONTEMPORAL) | on(s->loops.prefetch, PAIRS_BY_PREFETCH);
}

static uint32_t of_gpu(const neo_schedule *s) {
  bool tiled = s->strategy == NEO_STRATEGY_GPU_TILE || s->strategy == NEO_STRATEGY_GPU_NESTED;
  return on(s->strategy == NEO_STRATEGY_GPU_ROWS, PAIRS_BY_THREADS) |
         on(s->strategy == NEO_STRATEGY_GPU_SCATTER, PAIRS_BY_SCATTER) |
         on(s->rows.across, PAIRS_BY_ACROSS) | on(tiled, PAIRS_BY_TILED) |
         on(s->block.products || s->nested.products, PAIRS_BY_WARPS) |
         on(s->block.stages > 0 || s->nested.stages > 0, PAIRS_BY_ASYNC);
}

static uint32_t strategies_of(bool gpu, const neo_form *f, const neo_schedule *s) {
  bool plain = s->loops.vector_width <= 1 && !neo_strategy_has_threads(s->strategy);
  return of_form(f) | (gpu ? of_gpu(s) : of_processor(f, s)) | on(plain, PAIRS_BY_PLAIN) |
         on(s->strategy == NEO_STRATEGY_SEGMENT, PAIRS_BY_SEGMENT) |
         on(s->strategy == NEO_STRATEGY_KEYED_SCAN, PAIRS_BY_KEYED_SCAN) |
         on(s->strategy == NEO_STRATEGY_SCAN, PAIRS_BY_SCAN) |
         on(s->loops.unit_axes > 0, PAIRS_BY_UNITS);
}

/* ---- kinds of fusion */

static const char *tensor_text(const neo_module *m, uint32_t t) {
  return neo_name_text(m->names, m->tensors.at[t].name);
}

static bool has_member(const neo_module *m, const neo_group *g, neo_tensor t) {
  for (size_t k = 0; k < g->members.n; k++) {
    neo_list out = neo_def_at(m, g->members.at[k].def)->out;
    for (uint32_t i = 0; i < out.n; i++)
      if (neo_list_at(m, out, i) == t.i)
        return true;
  }
  return false;
}

static uint32_t kinds_of(const neo_compilation *c, const neo_group *g) {
  uint32_t kinds = on(g->cached, 0) << NEO_FUSE_CACHE;
  for (size_t k = 0; k < c->decisions.list.n; k++) {
    const neo_decision *d = &c->decisions.list.at[k];
    bool made = d->verb == NEO_DECISION_COPY || d->verb == NEO_DECISION_JOIN;
    if (made && d->entry == g->entry && has_member(c->module, g, d->of))
      kinds |= 1u << d->kind;
  }
  return kinds;
}

static bool in_grid(const neo_compilation *c, uint32_t kernel) {
  for (size_t k = 0; k < c->plan->grids.n; k++)
    for (int32_t i = 0; i < c->plan->grids.at[k].rt.n_steps; i++) {
      const neo_rt_step *s = &c->plan->steps.at[c->plan->grids.at[k].rt.first_step + i];
      if (s->op == NEO_RT_STEP_RUN && s->arg == (int32_t)kernel)
        return true;
    }
  return false;
}

static uint32_t loops_among(const neo_plan *p, int32_t first, size_t n) {
  uint32_t loops = 0;
  for (size_t i = 0; i < n; i++)
    loops += p->steps.at[(size_t)first + i].op == NEO_RT_STEP_LOOP;
  return loops;
}

static void observe_loops(const neo_compilation *c, pairs_run *out) {
  const neo_plan *p = c->plan;
  out->loops = loops_among(p, 0, p->steps.n);
  for (size_t k = 0; k < p->grids.n; k++)
    out->grid_loops +=
        loops_among(p, p->grids.at[k].rt.first_step, (size_t)p->grids.at[k].rt.n_steps);
}

static void add_members(const neo_module *m, const pairs_program *p, const neo_group *g,
                        pairs_kernel *x) {
  for (size_t i = 0; i < g->members.n; i++) {
    neo_list made = neo_def_at(m, g->members.at[i].def)->out;
    for (uint32_t j = 0; j < made.n; j++) {
      x->has |= pairs_features_of(p, tensor_text(m, neo_list_at(m, made, j)));
      x->recurs |= pairs_recurrences_of(p, tensor_text(m, neo_list_at(m, made, j)));
    }
  }
}

pairs_kernel pairs_observe_segment(neo_module *m, const pairs_program *p, const neo_group *g,
                                   const neo_schedule *s) {
  pairs_kernel x = {.strategies = strategies_of(false, neo_group_form(m, g), s)};
  add_members(m, p, g, &x);
  return x;
}

void pairs_observe(neo_compilation *c, const pairs_program *p, neo_arena *a, pairs_run *out) {
  observe_loops(c, out);
  for (size_t k = 0; k < c->grouping.groups.n; k++) {
    const neo_group *g = &c->grouping.groups.at[k];
    pairs_kernel x = {.kinds = kinds_of(c, g)};
    add_members(c->module, p, g, &x);
    if (neo_group_has_form(g))
      x.strategies =
          strategies_of(c->machine.gpu, neo_group_form(c->module, g), &c->schedules.at[k]);
    if (in_grid(c, c->kernel_of_group.at[k])) {
      x.kinds |= 1u << NEO_FUSE_GRID;
      x.strategies |= 1u << PAIRS_BY_GRID;
    }
    if (!x.kinds)
      x.kinds = 1u << PAIRS_ALONE;
    NEO_PUSH(a, &out->kernels, x);
  }
}

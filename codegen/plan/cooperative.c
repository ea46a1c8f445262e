/* The choice of the steps that a GPU runs as one persistent kernel (llvm/nvptx/grid.c).
 *
 * A step depends on an earlier one if one of them writes data that the other reads or writes; two
 * steps that write different pieces of a tensor are independent. A step's phase is the one after
 * the phases of the steps that it depends on (plan/phases.h). Kernels of one block need no phase
 * for each other: the same block runs them one after another. Steps whose results are cached
 * between calls, kernels of warpgroups, and long kernels have launches of their own, and so has a
 * loop around any of these; the steps in such a loop are a problem of their own. Among the
 * remaining steps, the choice is the set of runs that saves most by the prices of grid.def:
 *
 *   separate  an edge of the graph for each level, a node for each further kernel of a level
 *   as one    an edge, a barrier for each phase but the first, a block barrier for each lone kernel
 *
 * In a loop both prices are multiplied by the number of iterations; as one kernel, an iteration
 * that needs it pays one more barrier. Data determine the number of iterations of a loop over
 * blocks of rows: as one kernel the blocks read it, otherwise the host waits for each iteration. So
 * a kernel in such a loop may be long, and may have all of a multiprocessor's memory.
 *
 * The steps stay in the plan, each with its kernel: a device that cannot hold all blocks of a
 * grid at the same time runs them one by one, and a trace shows them one by one. */
#include "codegen/plan/grid.h"
#include "codegen/plan/phases.h"

enum {
  MOST_WORDS = 4096 / 8, /* parameters that the oldest readers of PTX take */
  MOST_SHARED = 48 << 10,
  MOST_THREADS = 512,
  USUAL_BLOCKS = 32, /* blocks of rows, where there are any */
  USUAL_THREADS = 128,
  WARP = 32
};

typedef struct {
  plan_steps s;
  neo_plan *p;
  const neo_plan_input *in;
  neo_arena *scratch;
  int64_t *sizes;   /* the largest; of a loop's index one in the middle */
  double *best;     /* [step] the saving from there on, in the loop around it */
  int32_t *end;     /* [step] the end of the run that begins there; 0: none does */
  plan_run **inner; /* [step] the body of a loop as a run; null: not analysed yet, or no run */
  bool *asked;      /* [step] the loop was analysed */
  bool *in_blocks;  /* [step] it is in a loop over blocks of rows */
} chooser;

static const neo_plan_kernel *kernel_at(const chooser *c, int32_t i) {
  return &c->p->kernels.at[plan_step(&c->s, i)->arg];
}
static bool in_loop(const chooser *c, int32_t i) {
  return c->p->step_depth.at[c->s.e->first_step + i] > 0;
}

/* ---- prices */

static int64_t threads_of(const chooser *c, int32_t i) {
  const neo_plan_kernel *k = kernel_at(c, i);
  return k->block_units > 1 ? USUAL_THREADS : k->block;
}

static double grid_seconds(const neo_machine *gpu, neo_grid_price of) {
  static const double launches[] = {
#define X(name, launches, meaning) launches,
#include "codegen/plan/grid.def"
#undef X
  };
  return launches[of] * gpu->profile.launch_s;
}

static double price_of(const chooser *c, neo_grid_price of) {
  return grid_seconds(c->in->machine, of);
}

/* Seconds that the step takes by itself, without its launch: the longer time of memory and
 * arithmetic. In a loop memory does not count: the part that one iteration accesses is unknown, and
 * much of it is in caches. */
static double seconds_of(const chooser *c, int32_t i) {
  const neo_profile *x = &c->in->machine->profile;
  double bytes_per_s = x->workers * x->level[NEO_MACHINE_CACHES - 1].bytes_per_s;
  double work_per_s = x->workers * x->work_per_s;
  const neo_rt_step *s = plan_step(&c->s, i);
  double bytes = 0, work = neo_kernel_work(kernel_at(c, i)->kernel, c->sizes) / work_per_s;
  for (int32_t k = 0; k < s->n && !in_loop(c, i); k++)
    bytes += (double)c->p->bufs.at[c->p->args.at[s->first + k]].size_bytes;
  bytes /= bytes_per_s;
  return bytes > work ? bytes : work;
}

static bool has_blocks(const chooser *c, int32_t i) {
  return plan_is_loop(&c->s, i) && c->p->loops.at[plan_step(&c->s, i)->arg].begin >= 0;
}

/* The number of a loop's iterations; a condition has one. */
static double iterations_of(const chooser *c, int32_t i) {
  const neo_rt_loop *l = &c->p->loops.at[plan_step(&c->s, i)->arg];
  if (l->index < 0)
    return 1;
  if (l->begin >= 0)
    return USUAL_BLOCKS;
  const neo_rt_size *index = &c->p->sizes.at[l->index];
  return (double)(index->hi - index->lo) + 1;
}

static double separate(const chooser *c, const plan_run *r) {
  neo_grid_price edge =
      c->in->waits && !r->n_loops && !in_loop(c, r->item[0]) ? NEO_GRID_EARLY : NEO_GRID_EDGE;
  int32_t levels = r->levels - r->n_loops, kernels = r->n - r->n_loops;
  return levels * price_of(c, edge) + (kernels - levels) * price_of(c, NEO_GRID_NODE) +
         r->loops_separate_s;
}

static double barriers(const chooser *c, const plan_run *r) {
  return (r->phases - 1) * price_of(c, NEO_GRID_BARRIER) +
         r->n_lone * price_of(c, NEO_GRID_MEETING) + r->loops_joined_s;
}

static double as_one(const chooser *c, const plan_run *r) {
  return price_of(c, NEO_GRID_EDGE) + barriers(c, r);
}

/* ---- which steps may be in a run */

static bool kernel_may(const chooser *c, int32_t i) {
  const neo_rt_step *s = plan_step(&c->s, i);
  if (s->op != NEO_RT_STEP_RUN || s->cached)
    return false;
  const neo_plan_kernel *k = kernel_at(c, i);
  int64_t threads = threads_of(c, i), bytes = neo_kernel_scratch_bytes(k->kernel);
  if (!k->block || threads % WARP || neo_kernel_has(k->kernel, NEO_LS_WGMMA))
    return false;
  if (c->in_blocks[i])
    return true;
  return threads <= MOST_THREADS && bytes <= MOST_SHARED &&
         (c->in->grids == NEO_GRIDS_EVERY || seconds_of(c, i) <= price_of(c, NEO_GRID_SMALL));
}

static void add_item(chooser *c, plan_run *r, int32_t i);
static bool may_stay(chooser *c, int32_t i);

/* All that is in a loop as a run; null: it may not be one. */
static plan_run *look_inside(chooser *c, int32_t i) {
  plan_run *r = NEO_NEW(c->scratch, plan_run);
  int32_t end = plan_item_end(&c->s, i);
  if (plan_step(&c->s, i)->cached)
    return NULL;
  for (int32_t k = i + 1; k < end; k = plan_item_end(&c->s, k)) {
    if (r->n == PLAN_MOST_ITEMS || r->words > MOST_WORDS || !may_stay(c, k))
      return NULL;
    add_item(c, r, k);
  }
  return r->n ? r : NULL;
}

static const plan_run *inner_of(chooser *c, int32_t i) {
  if (!c->asked[i]) {
    c->asked[i] = true;
    c->inner[i] = look_inside(c, i);
  }
  return c->inner[i];
}

static bool may_stay(chooser *c, int32_t i) {
  return plan_is_loop(&c->s, i) ? inner_of(c, i) != NULL : kernel_may(c, i);
}

/* ---- the saving of a run */

/* A barrier is necessary after an iteration only if the first phase of the next iteration depends
 * on the last phase of this one: all other dependences have a barrier between phases. */
static bool run_meets(const plan_steps *s, const plan_run *r) {
  for (int32_t k = 0; k < r->n; k++)
    for (int32_t j = 0; j < r->n; j++) {
      bool ordered = r->lone[k] && r->lone[j];
      if (r->phase[k] == 0 && r->phase[j] == r->phases - 1 && !ordered &&
          plan_needs(s, r->item[k], r->item[j], true))
        return true;
    }
  return false;
}

static bool meets(const chooser *c, int32_t i) {
  bool condition = c->p->loops.at[plan_step(&c->s, i)->arg].index < 0;
  return !condition && run_meets(&c->s, c->inner[i]);
}

static void add_item(chooser *c, plan_run *r, int32_t i) {
  const plan_run *inner = plan_is_loop(&c->s, i) ? inner_of(c, i) : NULL;
  plan_run_add(&c->s, r, i, inner);
  if (!inner)
    return;
  double iterations = iterations_of(c, i),
         asking = has_blocks(c, i) ? price_of(c, NEO_GRID_ASKING) : 0;
  r->loops_separate_s += iterations * (separate(c, inner) + asking);
  r->loops_joined_s +=
      iterations * (barriers(c, inner) + meets(c, i) * price_of(c, NEO_GRID_BARRIER));
}

static plan_run new_run(const chooser *c) {
  return (plan_run){.words = (int32_t)c->p->sizes.n + 4};
}

/* Seconds that the run saves as one kernel; 0 or less: not worth it. */
static double saved_by(const chooser *c, const plan_run *r) {
  double saved = separate(c, r) - as_one(c, r);
  if (r->words > MOST_WORDS)
    return 0;
  if (c->in->grids == NEO_GRIDS_EVERY)
    return r->steps - 1;
  return saved >= price_of(c, NEO_GRID_LEAST) ? saved : 0;
}

/* The best run that begins at item i, of items up to `end`. */
static void choose_at(chooser *c, int32_t i, int32_t end) {
  plan_run r = new_run(c);
  c->best[i] = c->best[plan_item_end(&c->s, i)];
  c->end[i] = 0;
  for (int32_t k = i; k < end && r.n < PLAN_MOST_ITEMS; k = plan_item_end(&c->s, k)) {
    int32_t after = plan_item_end(&c->s, k);
    add_item(c, &r, k);
    double saved = saved_by(c, &r);
    if (saved <= 0 || saved + c->best[after] <= c->best[i])
      continue;
    c->best[i] = saved + c->best[after];
    c->end[i] = after;
  }
}

/* Chooses the runs of the items from step `first` to before `last`, the last item first. */
static void choose(chooser *c, int32_t first, int32_t last) {
  int32_t n = 0, end = last, *item = NEO_NEW_ARRAY(c->scratch, int32_t, last - first + 1);
  for (int32_t i = first; i < last; i = plan_item_end(&c->s, i))
    item[n++] = i;
  double after = c->best[last]; /* the loop around continues with this */
  c->best[last] = 0;
  while (n-- > 0) {
    int32_t i = item[n];
    if (may_stay(c, i)) {
      choose_at(c, i, end);
      continue;
    }
    c->best[i] = c->best[plan_item_end(&c->s, i)];
    end = i;
    if (plan_is_loop(&c->s, i))
      choose(c, i + 1, plan_item_end(&c->s, i));
  }
  c->best[last] = after;
}

/* ---- the plan's part */

/* Adds the parts of a run, a loop before the parts of its body, in the order of steps. */
static void add_parts(chooser *c, neo_plan_grid *g, const plan_run *r) {
  neo_plan *p = c->p;
  for (int32_t k = 0; k < r->n; k++) {
    int32_t i = r->item[k];
    neo_rt_grid_part part = {.phase = r->phase[k], .lone = r->lone[k]};
    if (plan_is_loop(&c->s, i)) {
      part.meets = meets(c, i);
      NEO_PUSH(p->arena, &p->grid_parts, part);
      add_parts(c, g, c->inner[i]);
      continue;
    }
    NEO_PUSH(p->arena, &p->grid_parts, part);
    int64_t threads = threads_of(c, i), bytes = neo_kernel_scratch_bytes(kernel_at(c, i)->kernel);
    g->rt.block = threads > g->rt.block ? (int32_t)threads : g->rt.block;
    g->rt.scratch_bytes = bytes > g->rt.scratch_bytes ? bytes : g->rt.scratch_bytes;
  }
}

static void add_grid(chooser *c, int32_t first, int32_t end) {
  neo_plan *p = c->p;
  const neo_rt_entry *e = c->s.e;
  plan_run r = new_run(c);
  for (int32_t i = first; i < end; i = plan_item_end(&c->s, i))
    add_item(c, &r, i);
  neo_plan_grid g = {.levels = r.levels, .phases = r.phases};
  g.separate_s = separate(c, &r);
  g.joined_s = as_one(c, &r);
  g.symbol = neo_arena_printf(p->arena, "%s_g%zu_%s", p->prefix, p->grids.n,
                              neo_plan_ident(p->arena, e->name));
  g.rt = (neo_rt_grid){
      .name = neo_arena_printf(p->arena, "%s, steps %d to %d", e->name, first, end - 1),
      .first_step = e->first_step + first,
      .n_steps = end - first,
      .part = (int32_t)p->grid_parts.n};
  add_parts(c, &g, &r);
  NEO_PUSH(p->arena, &p->grids, g);
}

static void add_grids(chooser *c, int32_t first, int32_t last) {
  for (int32_t i = first; i < last;) {
    if (c->end[i])
      add_grid(c, i, c->end[i]);
    else if (plan_is_loop(&c->s, i) && !may_stay(c, i))
      add_grids(c, i + 1, plan_item_end(&c->s, i));
    i = c->end[i] ? c->end[i] : plan_item_end(&c->s, i);
  }
}

static neo_grid_part loop_part(const neo_plan *p, const neo_rt_step *s) {
  const neo_rt_loop *l = &p->loops.at[s->arg];
  return (neo_grid_part){.n = s->n,
                         .index = l->index,
                         .begin = l->begin,
                         .end = l->end,
                         .down = l->down != 0,
                         .whole = s->flags & NEO_RT_STEP_WHOLE,
                         .lo = &p->programs.at[l->lo],
                         .hi = &p->programs.at[l->hi]};
}

neo_grid_part *neo_plan_grid_parts(const neo_plan *p, const neo_plan_grid *g, neo_arena *a) {
  neo_grid_part *out = NEO_NEW_ARRAY(a, neo_grid_part, g->rt.n_steps);
  for (int32_t i = 0, loops_end = 0; i < g->rt.n_steps; i++) {
    neo_rt_grid_part part = p->grid_parts.at[g->rt.part + i];
    const neo_rt_step *s = &p->steps.at[g->rt.first_step + i];
    if (s->op == NEO_RT_STEP_LOOP) {
      out[i] = loop_part(p, s);
      loops_end = i + 1 + s->n > loops_end ? i + 1 + s->n : loops_end;
    } else {
      out[i].kernel = p->kernels.at[s->arg].kernel;
      out[i].units = i < loops_end ? &p->programs.at[p->rt_kernels.at[s->arg].units] : NULL;
    }
    out[i].phase = part.phase;
    out[i].lone = part.lone != 0;
    out[i].meets = part.meets != 0;
  }
  return out;
}

/* The length of the longest chain of dependent items of an entry. */
static int32_t longest(const chooser *c) {
  int32_t n = c->s.e->n_steps, most = 0, *level = NEO_NEW_ARRAY(c->scratch, int32_t, n + 1);
  for (int32_t i = 0; i < n; i = plan_item_end(&c->s, i)) {
    level[i] = 1;
    for (int32_t k = 0; k < i; k = plan_item_end(&c->s, k))
      if (level[k] >= level[i] && plan_needs(&c->s, i, k, false))
        level[i] = level[k] + 1;
    most = level[i] > most ? level[i] : most;
  }
  return most;
}

static void take_sizes(chooser *c) {
  const neo_plan *p = c->p;
  c->sizes = NEO_NEW_ARRAY(c->scratch, int64_t, p->sizes.n + 1);
  for (size_t k = 0; k < p->sizes.n; k++)
    c->sizes[k] = p->sizes.at[k].hi;
  for (size_t k = 0; k < p->loops.n; k++)
    if (p->loops.at[k].index >= 0) {
      const neo_rt_size *index = &p->sizes.at[p->loops.at[k].index];
      c->sizes[p->loops.at[k].index] = index->lo + (index->hi - index->lo) / 2;
    }
}

void plan_grid_add(const plan_entry_env *env, size_t entry) {
  neo_plan *p = env->store->p;
  neo_rt_entry *e = &p->entries.at[entry];
  int32_t n = e->n_steps;
  chooser c = {.s = {p, e}, .p = p, .in = env->in, .scratch = env->store->scratch};
  take_sizes(&c);
  c.best = NEO_NEW_ARRAY(c.scratch, double, n + 1);
  c.end = NEO_NEW_ARRAY(c.scratch, int32_t, n + 1);
  c.inner = NEO_NEW_ARRAY(c.scratch, plan_run *, n + 1);
  c.asked = NEO_NEW_ARRAY(c.scratch, bool, n + 1);
  c.in_blocks = NEO_NEW_ARRAY(c.scratch, bool, n + 1);
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = i + 1; has_blocks(&c, i) && k < plan_item_end(&c.s, i); k++)
      c.in_blocks[k] = true;
  neo_plan_chain chain = {e->name, n, longest(&c)};
  NEO_PUSH(p->arena, &p->chains, chain);
  if (env->in->grids == NEO_GRIDS_NONE)
    return;
  choose(&c, 0, n);
  add_grids(&c, 0, n);
}

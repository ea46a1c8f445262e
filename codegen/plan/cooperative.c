/* Which steps of an entry a GPU runs as one persistent kernel (llvm/nvptx/grid.c).
 *
 * A step depends on an earlier one if one of them writes what the other reads or writes; two steps
 * that write pieces of one tensor do not depend on each other for that. A step's phase is the next
 * after those of the steps that it depends on. Kernels of one block need no phase for each other:
 * the same block runs them one after the other. Steps whose results are cached between calls,
 * kernels of warpgroups, and long kernels have launches of their own. Of the steps between, the
 * runs are chosen that save most by the prices of grid.def:
 *
 *   separate  an edge of the graph for each level, a node for each further kernel of a level
 *   as one    an edge, a barrier for each phase but the first, a block barrier for each lone kernel
 *
 * The steps stay in the plan, each with its kernel: a device that cannot hold all blocks of a
 * grid at the same time runs them one by one, and a trace shows them one by one. */
#include "codegen/plan/grid.h"
#include "codegen/plan/internal.h"
#include <assert.h>

enum {
  MOST_STEPS = 64,
  MOST_WORDS = 4096 / 8, /* of parameters, which oldest readers of PTX take */
  MOST_SHARED = 48 << 10,
  MOST_THREADS = 512,
  USUAL_THREADS = 128,
  WARP = 32
};

typedef struct {
  neo_plan *p;
  const neo_plan_input *in;
  neo_arena *scratch;
  const neo_rt_entry *e;
  int64_t *sizes; /* the largest */
  double *best;   /* [step] what is saved from there on */
  int32_t *end;   /* [step] the run that begins there; 0: none does */
} chooser;

static const neo_rt_step *step_at(const chooser *c, int32_t i) {
  return &c->p->steps.at[c->e->first_step + i];
}
static const neo_plan_kernel *kernel_at(const chooser *c, int32_t i) {
  return &c->p->kernels.at[step_at(c, i)->arg];
}

/* ---- what needs what */

static bool writes(const neo_rt_step *s, int32_t arg) {
  if (s->op == NEO_RT_STEP_COPY)
    return arg == 0;
  return !s->n_written || arg >= s->n - s->n_written;
}

static bool meet(const chooser *c, int32_t a, int32_t b) {
  const neo_rt_buf *x = &c->p->bufs.at[c->p->args.at[a]], *y = &c->p->bufs.at[c->p->args.at[b]];
  if (x->mem != y->mem)
    return false;
  if (x->mem == NEO_RT_MEM_CALLER) /* those of other numbers do not overlap, or else it is told */
    return x->offset == y->offset;
  return x->offset < y->offset + y->size_bytes && y->offset < x->offset + x->size_bytes;
}

static bool are_pieces(const chooser *c, int32_t a, int32_t b) {
  const neo_rt_buf *bufs = c->p->bufs.at;
  return bufs[c->p->args.at[a]].whole == bufs[c->p->args.at[b]].whole;
}

static bool needs(const chooser *c, int32_t i, int32_t k) {
  const neo_rt_step *a = step_at(c, i), *b = step_at(c, k);
  bool run = a->op == NEO_RT_STEP_RUN && b->op == NEO_RT_STEP_RUN && a->n_written && b->n_written;
  for (int32_t x = 0; x < a->n; x++)
    for (int32_t y = 0; y < b->n; y++) {
      bool both = run && writes(a, x) && writes(b, y);
      if ((writes(a, x) || writes(b, y)) && meet(c, a->first + x, b->first + y) &&
          !(both && are_pieces(c, a->first + x, b->first + y)))
        return true;
    }
  return false;
}

/* ---- which steps may be in a run */

static int64_t blocks_of(const chooser *c, int32_t i) {
  const neo_plan_kernel *k = kernel_at(c, i);
  int64_t units = neo_kernel_units(k->kernel, c->sizes);
  return (units + k->block_units - 1) / k->block_units;
}

static int64_t threads_of(const chooser *c, int32_t i) {
  const neo_plan_kernel *k = kernel_at(c, i);
  return k->block_units > 1 ? USUAL_THREADS : k->block;
}

static bool is_lone(const chooser *c, int32_t i) {
  return blocks_of(c, i) <= 1;
}

static const neo_machine *machine_of(const chooser *c) {
  return c->in->machine ? c->in->machine : neo_machine_named("sm_90a");
}

static double price_of(const chooser *c, neo_grid_price of) {
  return neo_grid_seconds(machine_of(c), of);
}

/* Seconds that the step takes by itself, without its launch: the longer time of memory and
 * arithmetic. */
static double seconds_of(const chooser *c, int32_t i) {
  const neo_profile *x = &machine_of(c)->profile;
  double bytes_per_s = x->workers * x->level[NEO_MACHINE_CACHES - 1].bytes_per_s;
  double work_per_s = x->workers * x->work_per_s;
  const neo_rt_step *s = step_at(c, i);
  double bytes = 0, work = neo_kernel_work(kernel_at(c, i)->kernel, c->sizes) / work_per_s;
  for (int32_t k = 0; k < s->n; k++)
    bytes += (double)c->p->bufs.at[c->p->args.at[s->first + k]].size_bytes;
  bytes /= bytes_per_s;
  return bytes > work ? bytes : work;
}

static bool may_stay(const chooser *c, int32_t i) {
  const neo_rt_step *s = step_at(c, i);
  if (s->op != NEO_RT_STEP_RUN || s->cached || c->p->step_depth.at[c->e->first_step + i])
    return false;
  const neo_plan_kernel *k = kernel_at(c, i);
  return k->block && threads_of(c, i) <= MOST_THREADS && threads_of(c, i) % WARP == 0 &&
         neo_kernel_scratch_bytes(k->kernel) <= MOST_SHARED &&
         !neo_kernel_has(k->kernel, NEO_LS_WGMMA) &&
         (c->in->grids == NEO_GRIDS_EVERY || seconds_of(c, i) <= price_of(c, NEO_GRID_SMALL));
}

/* ---- what a run saves */

typedef struct {
  int32_t first, n, words;
  int32_t level[MOST_STEPS], phase[MOST_STEPS]; /* of each; level: if each block waited for all */
  bool lone[MOST_STEPS];
  int32_t levels, phases, n_lone;
} run;

static void add_step(const chooser *c, run *r, int32_t i) {
  int32_t k = r->n++, *level = &r->level[k], *phase = &r->phase[k];
  *level = *phase = 0;
  r->lone[k] = is_lone(c, i);
  for (int32_t j = 0; j < k; j++) {
    if (!needs(c, i, r->first + j))
      continue;
    int32_t after = r->phase[j] + !(r->lone[k] && r->lone[j]);
    *level = r->level[j] >= *level ? r->level[j] + 1 : *level;
    *phase = after > *phase ? after : *phase;
  }
  r->levels = *level >= r->levels ? *level + 1 : r->levels;
  r->phases = *phase >= r->phases ? *phase + 1 : r->phases;
  r->n_lone += r->lone[k];
  r->words += step_at(c, i)->n + 1;
}

static double separate(const chooser *c, const run *r) {
  neo_grid_price edge = c->in->waits ? NEO_GRID_EARLY : NEO_GRID_EDGE;
  return r->levels * price_of(c, edge) + (r->n - r->levels) * price_of(c, NEO_GRID_NODE);
}

static double as_one(const chooser *c, const run *r) {
  return price_of(c, NEO_GRID_EDGE) + (r->phases - 1) * price_of(c, NEO_GRID_BARRIER) +
         r->n_lone * price_of(c, NEO_GRID_MEETING);
}

static run new_run(const chooser *c, int32_t first) {
  return (run){.first = first, .words = (int32_t)c->p->sizes.n + 4};
}

/* Seconds that the run saves as one kernel; 0 or less: not worth it. */
static double saved_by(const chooser *c, const run *r) {
  double saved = separate(c, r) - as_one(c, r);
  if (r->words > MOST_WORDS)
    return 0;
  if (c->in->grids == NEO_GRIDS_EVERY)
    return r->n - 1;
  return saved >= price_of(c, NEO_GRID_LEAST) ? saved : 0;
}

/* The best run that begins at step i, of steps up to `end`. */
static void choose_at(chooser *c, int32_t i, int32_t end) {
  run r = new_run(c, i);
  c->best[i] = c->best[i + 1];
  c->end[i] = 0;
  for (int32_t k = i; k < end && r.n < MOST_STEPS; k++) {
    add_step(c, &r, k);
    double saved = saved_by(c, &r);
    if (saved <= 0 || saved + c->best[k + 1] <= c->best[i])
      continue;
    c->best[i] = saved + c->best[k + 1];
    c->end[i] = k + 1;
  }
}

static void choose(chooser *c) {
  int32_t n = c->e->n_steps, end = n;
  for (int32_t i = n; i-- > 0;)
    if (may_stay(c, i)) {
      choose_at(c, i, end);
    } else {
      c->best[i] = c->best[i + 1];
      end = i;
    }
}

/* ---- the plan's part */

static void add_grid(chooser *c, int32_t first, int32_t end) {
  neo_plan *p = c->p;
  run r = new_run(c, first);
  for (int32_t i = first; i < end; i++)
    add_step(c, &r, i);
  neo_plan_grid g = {.levels = r.levels, .phases = r.phases};
  g.separate_s = separate(c, &r);
  g.joined_s = as_one(c, &r);
  g.symbol = neo_arena_printf(p->arena, "%s_g%zu_%s", p->prefix, p->grids.n,
                              neo_plan_ident(p->arena, c->e->name));
  g.rt = (neo_rt_grid){
      .name = neo_arena_printf(p->arena, "%s, steps %d to %d", c->e->name, first, end - 1),
      .first_step = c->e->first_step + first,
      .n_steps = end - first,
      .part = (int32_t)p->grid_parts.n};
  for (int32_t k = 0; k < r.n; k++) {
    int64_t threads = threads_of(c, first + k);
    int64_t bytes = neo_kernel_scratch_bytes(kernel_at(c, first + k)->kernel);
    neo_rt_grid_part part = {.phase = r.phase[k], .lone = r.lone[k]};
    NEO_PUSH(p->arena, &p->grid_parts, part);
    g.rt.block = threads > g.rt.block ? (int32_t)threads : g.rt.block;
    g.rt.scratch_bytes = bytes > g.rt.scratch_bytes ? bytes : g.rt.scratch_bytes;
  }
  NEO_PUSH(p->arena, &p->grids, g);
}

neo_grid_part *neo_plan_grid_parts(const neo_plan *p, const neo_plan_grid *g, neo_arena *a) {
  neo_grid_part *out = NEO_NEW_ARRAY(a, neo_grid_part, g->rt.n_steps);
  for (int32_t i = 0; i < g->rt.n_steps; i++) {
    neo_rt_grid_part part = p->grid_parts.at[g->rt.part + i];
    int32_t kernel = p->steps.at[g->rt.first_step + i].arg;
    out[i] = (neo_grid_part){p->kernels.at[kernel].kernel, part.phase, part.lone != 0};
  }
  return out;
}

/* The length of the longest chain of dependent steps of an entry. */
static int32_t longest(const chooser *c) {
  int32_t *level = NEO_NEW_ARRAY(c->scratch, int32_t, c->e->n_steps + 1), most = 0;
  for (int32_t i = 0; i < c->e->n_steps; i++) {
    level[i] = 1;
    for (int32_t k = 0; k < i; k++)
      if (level[k] >= level[i] && needs(c, i, k))
        level[i] = level[k] + 1;
    most = level[i] > most ? level[i] : most;
  }
  return most;
}

void plan_grid_add(const plan_entry_env *env, size_t entry) {
  neo_plan *p = env->store->p;
  chooser c = {.p = p, .in = env->in, .scratch = env->store->scratch, .e = &p->entries.at[entry]};
  int32_t n = c.e->n_steps;
  c.sizes = NEO_NEW_ARRAY(c.scratch, int64_t, p->sizes.n + 1);
  for (size_t k = 0; k < p->sizes.n; k++)
    c.sizes[k] = p->sizes.at[k].hi;
  c.best = NEO_NEW_ARRAY(c.scratch, double, n + 1);
  c.end = NEO_NEW_ARRAY(c.scratch, int32_t, n + 1);
  neo_plan_chain chain = {c.e->name, n, longest(&c)};
  NEO_PUSH(p->arena, &p->chains, chain);
  if (env->in->grids == NEO_GRIDS_NONE)
    return;
  choose(&c);
  for (int32_t i = 0; i < n; i = c.end[i] ? c.end[i] : i + 1)
    if (c.end[i])
      add_grid(&c, i, c.end[i]);
}

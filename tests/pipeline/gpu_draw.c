/* See gpu_draw.h. */
#include "tests/pipeline/gpu_draw.h"
#include "base/random.h"
#include "fusion/form.h"
#include "schedule/contract.h"
#include "tests/draw/draw.h"

enum { WARPGROUPS = 2 }; /* of `matrix` */

neo_profile gpu_draw_eager(void) {
  neo_profile p = neo_machine_named("sm_90a")->profile;
  p.products_per_s = 1e30;
  p.room_s = 1;
  return p;
}

gpu_draw_level gpu_draw_level_of(const neo_schedule *s) {
  const neo_block_params *p = &s->block;
  if (p->tma)
    return p->persistent ? GPU_DRAW_PERSISTENT : p->producer ? GPU_DRAW_PRODUCER : GPU_DRAW_BOXES;
  if (p->products == WARPGROUPS)
    return p->stages ? GPU_DRAW_GROUPS_STAGED : GPU_DRAW_GROUPS;
  if (p->products)
    return p->stages ? GPU_DRAW_WARPS_STAGED : GPU_DRAW_WARPS;
  return GPU_DRAW_ANY;
}

/* A thread has no scratch, but a block of threads has: of the schedules for processors those that
 * ask for none will do. */
static bool fits(neo_compilation *c, const neo_group *g, const neo_schedule *s) {
  neo_kernel *k;
  const char *why;
  return !neo_compile_lower(c, g, s, &k, &why) && !neo_kernel_has(k, NEO_LS_TILE) &&
         (neo_kernel_scratch_bytes(k) == 0 || neo_kernel_threads(k));
}

/* The features wanted of a product, of a nested sum, of any other kernel. */
static gpu_draw_level wanted(gpu_draw *d, neo_compilation *c, const neo_group *g) {
  static const gpu_draw_level of_product[] = {
      GPU_DRAW_ANY,           GPU_DRAW_WARPS,      GPU_DRAW_WARPS_STAGED, GPU_DRAW_GROUPS,
      GPU_DRAW_GROUPS_STAGED, GPU_DRAW_BOXES,      GPU_DRAW_PRODUCER,     GPU_DRAW_PERSISTENT,
      GPU_DRAW_PERSISTENT,    GPU_DRAW_PERSISTENT, GPU_DRAW_PERSISTENT,   GPU_DRAW_PERSISTENT};
  static const gpu_draw_level of_nest[] = {GPU_DRAW_ANY, GPU_DRAW_WARPS, GPU_DRAW_WARPS_STAGED,
                                           GPU_DRAW_WARPS_STAGED};
  const neo_form *f = neo_group_form(c->module, g);
  neo_contraction product;
  uint64_t k = neo_splitmix(&d->state);
  if (neo_form_is_nested(f))
    return of_nest[k % (sizeof of_nest / sizeof *of_nest)];
  return neo_contraction_of(c->module, f, &product)
             ? of_product[k % (sizeof of_product / sizeof *of_product)]
             : GPU_DRAW_ANY;
}

/* Adds the features that a random schedule lacks, if they are legal. */
static void add_wanted(neo_compilation *c, const neo_group *g, gpu_draw_level want,
                       neo_schedule *s) {
  static const neo_param row[] = {NEO_PARAM(block, tma), NEO_PARAM(block, producer),
                                  NEO_PARAM(block, persistent)};
  for (int k = 0; GPU_DRAW_BOXES + k <= (int)want; k++) {
    neo_schedule y = *s;
    y.at[row[k]] = 1;
    if (neo_schedule_legal(c->module, g, &c->machine, &y, NULL))
      *s = y;
  }
}

neo_schedule gpu_draw_schedule(void *ctx, neo_compilation *c, const neo_group *g) {
  enum { FEW = 20, MANY = 150 };
  gpu_draw *d = ctx;
  gpu_draw_level want = wanted(d, c, g);
  neo_schedule best = neo_schedule_default(c->module, g, &c->machine);
  int found = -1, tries = d->small ? FEW : MANY;
  for (int k = 0; k < tries && found < (int)want; k++) {
    neo_schedule s = neo_schedule_random(c->module, g, &c->machine, &d->state);
    add_wanted(c, g, want, &s);
    int level = (int)gpu_draw_level_of(&s);
    if (level <= found || (level > (int)want && want != GPU_DRAW_ANY) || !fits(c, g, &s))
      continue;
    best = s;
    found = level;
  }
  return best;
}

/* The kernels of groups: one for each group, unless another group computes the same. */
#include "tools/pipeline/lower.h"
#include "codegen/align.h"
#include "codegen/make.h"
#include "codegen/recurrence.h"
#include "tools/pipeline/stages.h"

neo_status neo_compile_lower(neo_compilation *c, const neo_group *g, const neo_schedule *s,
                             neo_kernel **out, const char **why) {
  neo_str text;
  neo_str_init(&text, &c->arena);
  neo_status status = neo_kernel_make(c->module, g, s, c->target.sm != 0, &c->arena, out, &text);
  if (status)
    *why = neo_arena_printf(&c->arena, "kernel %s: %s", g->name, neo_str_text(&text));
  return status;
}

/* What runs where the system does not give out the tiles that the schedule wants, or the processor
 * has no dots: vectors of f32. */
static neo_status lower_without_pairs(neo_compilation *c, const neo_group *g, neo_kernel **out) {
  neo_machine machine = c->machine;
  machine.matrix = 0;
  neo_schedule s = neo_schedule_default(c->module, g, &machine);
  return neo_compile_lower(c, g, &s, out, &c->why);
}

/* A recurrence: the schedules of its segments are chosen inside. */
static neo_status lower_recurrence(neo_compilation *c, const neo_group *g, neo_kernel **out) {
  neo_str text;
  neo_str_init(&text, &c->arena);
  neo_machine machine = c->machine;
  neo_fuse_options fusion = neo_compile_fusion(c);
  machine.matrix = 0;
  neo_status s = neo_recurrence_kernel(c->module, g, &machine, &fusion, c->options.segment_schedule,
                                       c->options.schedule_ctx, &c->arena, out, &text);
  if (s)
    c->why = neo_arena_printf(&c->arena, "kernel %s: %s", g->name, neo_str_text(&text));
  return s;
}

neo_status neo_compile_group(neo_compilation *c, const neo_group *g) {
  neo_kernel *kernel;
  const neo_record *from = NULL;
  neo_schedule sched = neo_schedule_plain();
  if (!g->recurrence)
    sched = neo_compile_schedule(c, g, &from);
  neo_status s = g->recurrence ? lower_recurrence(c, g, &kernel)
                               : neo_compile_lower(c, g, &sched, &kernel, &c->why);
  if (s)
    return s;
  NEO_PUSH(&c->arena, &c->schedules, sched);
  NEO_PUSH(&c->arena, &c->schedule_from, from);
  NEO_PUSH(&c->arena, &c->kernel_of_group, (uint32_t)c->kernels.n);
  const char *symbol = neo_arena_printf(&c->arena, "%s_k%zu_%s", c->prefix, c->kernels.n, g->name);
  neo_plan_kernel made = {
      .kernel = kernel, .symbol = symbol, .keyless = !neo_kernel_reads_key(kernel)};
  if (c->target.sm)
    neo_kernel_launch(kernel, &made.block, &made.block_units);
  bool tiles = neo_kernel_has(kernel, NEO_LS_TILE);
  if (tiles || neo_kernel_has_dots(kernel)) {
    made.fast = kernel;
    made.fast_symbol = neo_arena_printf(&c->arena, tiles ? "%s_tiles" : "%s_dots", symbol);
    made.needs = c->target.matrix_needs;
    s = lower_without_pairs(c, g, &made.kernel);
  }
  NEO_PUSH(&c->arena, &c->kernels, made);
  return s;
}

/* A group whose kernel exists already: equal keys say the same up to names, also which buffers may
 * be the same memory. */
bool neo_compile_share(neo_compilation *c, size_t g) {
  const uint64_t *key = c->grouping.groups.at[g].key;
  for (size_t k = 0; k < g && (key[0] | key[1]); k++) {
    const neo_group *old = &c->grouping.groups.at[k];
    if (old->key[0] != key[0] || old->key[1] != key[1] ||
        (c->target.sm && !neo_align_matches(c->module, old, &c->grouping.groups.at[g])))
      continue;
    neo_schedule sched = c->schedules.at[k];
    const neo_record *from = c->schedule_from.at[k];
    uint32_t kernel = c->kernel_of_group.at[k];
    NEO_PUSH(&c->arena, &c->schedules, sched);
    NEO_PUSH(&c->arena, &c->schedule_from, from);
    NEO_PUSH(&c->arena, &c->kernel_of_group, kernel);
    return true;
  }
  return false;
}

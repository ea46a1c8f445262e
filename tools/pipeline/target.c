/* The target that the options name: for code generation, and the facts about it for passes. */
#include "tools/pipeline/stages.h"
#include <string.h>

bool neo_compile_for_gpu(const neo_compilation *c) {
  return c->options.target && strncmp(c->options.target, "nvptx", 5) == 0;
}

/* The target as the options name it, with the numbers of a profile if there is one. */
static neo_status take_target(neo_compilation *c, neo_target *t, const char **why) {
  neo_status s = neo_target_choose(&c->arena, c->options.target, c->options.mcpu, t, why);
  const neo_machine *profile = c->options.machine;
  return s || !profile || neo_target_take(&c->arena, t, profile, why) ? s : NEO_UNSUPPORTED;
}

neo_status neo_compile_choose_target(neo_compilation *c) {
  neo_status s = take_target(c, &c->target, &c->why);
  if (!s && c->target.sm)
    s = neo_target_choose(&c->arena, NULL, NULL, &c->host, &c->why);
  if (s)
    return s;
  c->target.split = c->target.sm && c->options.math == NEO_PRECISION_3XTF32;
  if (!c->target.sm)
    c->host = c->target;
  c->machine = neo_target_machine(&c->target);
  return NEO_OK;
}

neo_pass_target neo_compile_pass_target(neo_compilation *c) {
  neo_target t;
  const char *why;
  if (take_target(c, &t, &why))
    return (neo_pass_target){0};
  return (neo_pass_target){
      .gpu_threads = t.sm ? (uint32_t)neo_machine_busy_threads(&t.machine) : 0,
      .bf16_pairs = neo_target_pairs(&t) != 0,
      .l2_bytes = t.sm ? 0 : t.machine.l2_bytes,
      .tile_iterations = c->options.tile_iterations,
      .memory = c->options.fusion.memory,
      .profile = neo_arena_copy(&c->arena, &t.machine.profile, sizeof t.machine.profile),
      .batch_kinds = c->options.batch_kinds,
      .chunk_iterations = c->options.chunk_iterations};
}

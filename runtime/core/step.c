/* step.c: the kinds of steps, by base/steps.def. */
#include "runtime/model.h"

int32_t neo_rti_step_args(const neo_rt_step *s) {
  switch (s->op) {
#define STEP(id, text, args, writes, of_kind) \
  case NEO_RT_STEP_##id:                      \
    return args;
#include "base/steps.def"
#undef STEP
  }
  return 0;
}

bool neo_rti_step_writes(const neo_rt_step *s, int32_t k) {
  switch (s->op) {
#define STEP(id, text, args, writes, of_kind) \
  case NEO_RT_STEP_##id:                      \
    return writes;
#include "base/steps.def"
#undef STEP
  }
  return true;
}

uint16_t neo_rti_step_alien_flags(const neo_rt_step *s) {
  unsigned own = 0, all = 0;
#define STEP(id, text, args, writes, of_kind) \
  all |= (unsigned)(of_kind);                 \
  own |= s->op == NEO_RT_STEP_##id ? (of_kind) : 0u;
#include "base/steps.def"
#undef STEP
  return (uint16_t)(s->flags & all & ~own);
}

const char *neo_rti_step_kind(const neo_rt_step *s) {
  static const char *const texts[] = {
#define STEP(id, text, args, writes, of_kind) [NEO_RT_STEP_##id] = text,
#include "base/steps.def"
#undef STEP
  };
  return s->op < sizeof texts / sizeof *texts ? texts[s->op] : NULL;
}

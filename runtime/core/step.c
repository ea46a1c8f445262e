/* step.c: the kinds of steps, by base/steps.def. */
#include "runtime/model.h"
#include <stddef.h>

/* ---- the installed header has the table's kinds and fields, in the same order */

enum {
#define STEP(id, text, args, writes, of_kind) ROW_##id,
#include "base/steps.def"
#undef STEP
};
#define STEP(id, text, args, writes, of_kind) \
  _Static_assert((int)NEO_RT_STEP_##id == (int)ROW_##id, "base/steps.def has another order");
#include "base/steps.def"
#undef STEP

typedef struct {
#define FIELD(bits, name) uint##bits##_t name;
#include "base/steps.def"
#undef FIELD
} record;
_Static_assert(sizeof(record) == sizeof(neo_rt_step), "neo_rt_step has other fields");
#define FIELD(bits, name)                                                         \
  _Static_assert(offsetof(record, name) == offsetof(neo_rt_step, name) &&         \
                     sizeof((record *)0)->name == sizeof((neo_rt_step *)0)->name, \
                 "neo_rt_step has another " #name);
#include "base/steps.def"
#undef FIELD

/* ---- columns */

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

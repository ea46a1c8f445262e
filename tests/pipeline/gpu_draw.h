/* Random schedules for a GPU's groups, drawn so that those which only few groups may have come
 * often: a draw first says what it wants, then takes the first random schedule that has it, else
 * the one that comes nearest to it from below.
 *
 *   gpu_draw d = {.state = seed};
 *   options.schedule = gpu_draw_schedule; options.schedule_ctx = &d; */
#ifndef NEO_TESTS_GPU_DRAW_H
#define NEO_TESTS_GPU_DRAW_H
#include "base/machine.h"
#include "tools/pipeline/compile.h"

/* Each needs less of a product than the ones behind it. */
typedef enum {
  GPU_DRAW_ANY,
  GPU_DRAW_WARPS,         /* mma */
  GPU_DRAW_WARPS_STAGED,  /* and cp.async */
  GPU_DRAW_GROUPS,        /* wgmma */
  GPU_DRAW_GROUPS_STAGED, /* and cp.async */
  GPU_DRAW_BOXES,         /* and boxes of the copy engine instead */
  GPU_DRAW_PRODUCER,
  GPU_DRAW_PERSISTENT
} gpu_draw_level;

typedef struct {
  uint64_t state;
  bool small; /* programs that have few products: no draw goes far to find one */
} gpu_draw;

/* Prices by which fusion nests whatever can be. */
neo_profile gpu_draw_eager(void);
gpu_draw_level gpu_draw_level_of(const neo_schedule *s);
/* neo_compile_options.schedule; ctx is a gpu_draw. */
neo_schedule gpu_draw_schedule(void *ctx, neo_compilation *c, const neo_group *g);

#endif

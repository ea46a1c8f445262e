/* What the model's choice of a block's threads and random ones have in common with legality.
 * Private to schedule. */
#ifndef NEO_SCHEDULE_THREADS_SHAPE_H
#define NEO_SCHEDULE_THREADS_SHAPE_H
#include "schedule/block.h"
#include "schedule/gpu_tile/gpu_tile.h"

enum {
  NEO_BLOCK_GROUP = 128, /* threads of a warpgroup */
  NEO_BLOCK_GROUP_ROWS = 64,
  NEO_BLOCK_GROUP_COLUMNS = 8,
  NEO_BLOCK_GROUP_BYTES = 128, /* of a row's steps in a half of shared memory */
  NEO_WARP_ROWS = 16,
  NEO_WARP_COLUMNS = 8,
  NEO_WARP_CELLS = 8 /* 4 bytes of a row's steps each */
};

typedef struct {
  int64_t block_m, block_n, block_k, tile_m, tile_n;
} neo_block_shape;

/* Set x, whose tile is a thread's, a warp's or a warpgroup's, and how many threads that takes. */
void neo_block_threads(neo_schedule *s, const neo_block_shape *x);
void neo_block_warps(neo_schedule *s, const neo_block_shape *x);
void neo_block_warpgroups(neo_schedule *s, const neo_block_shape *x);
/* k becomes value where that is legal. */
void neo_gpu_tile_try(neo_module *m, const neo_form *f, const neo_machine *machine, neo_param k,
                      int64_t value, neo_schedule *s);

/* What warps multiply of c; none where the machine has no such products. */
neo_warps neo_warps_on(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_contraction *c);
/* How many steps 4 bytes hold. */
int64_t neo_warps_steps(neo_warps kind);
/* Are the operands copied several elements at a time, along one axis or the other? Single ones take
 * a thread many registers, so that blocks of steps are better short. */
bool neo_block_copies_runs(neo_module *m, const neo_form *f, const neo_contraction *c);

#endif

/* The shapes of a block's tile and its threads, for the model's choice, random schedules and
 * legality. Private to schedule and its tests. */
#pragma once
#include "schedule/block.h"
#include "schedule/gpu_tile/gpu_tile.h"

enum {
  NEO_BLOCK_GROUP = 128, /* threads of a warpgroup */
  NEO_BLOCK_GROUP_ROWS = 64,
  NEO_BLOCK_GROUP_COLUMNS = 8,
  NEO_BLOCK_GROUP_BYTES = 128, /* bytes of a row in a buffer of shared memory */
  NEO_WARP_ROWS = 16,
  NEO_WARP_COLUMNS = 8,
  NEO_WARP_CELLS = 8 /* cells of 4 bytes in a row's steps */
};

typedef struct {
  int64_t block_m, block_n, block_k, tile_m, tile_n;
} neo_block_shape;

/* Sets the shape x and the number of threads that follows from it. The tile of x is a thread's, a
 * warp's or a warpgroup's. */
void neo_block_threads(neo_schedule *s, const neo_block_shape *x);
void neo_block_warps(neo_schedule *s, const neo_block_shape *x);
void neo_block_warpgroups(neo_schedule *s, const neo_block_shape *x);
/* Sets parameter k if the schedule is then legal. */
void neo_gpu_tile_try(neo_module *m, const neo_form *f, const neo_machine *machine, neo_param k,
                      int64_t value, neo_schedule *s);

/* The type that warps of the machine multiply in c; NONE if the machine has no such products. */
neo_warps neo_warps_on(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_contraction *c);
/* The number of steps in 4 bytes of a row. */
int64_t neo_warps_steps(neo_warps kind);
/* Are the operands copied several elements at a time, along some axis? Copies of single elements
 * take many registers of a thread, so that blocks of steps should be short. */
bool neo_block_copies_runs(neo_module *m, const neo_form *f, const neo_contraction *c);

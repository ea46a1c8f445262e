/* A contraction's tile by a block of threads, while it is lowered.
 * Private to codegen/lower/gpu_tile. */
#pragma once
#include "codegen/lower/gpu_block/block.h"

/* The current stage and the parity of its mbarrier's phase: registers, and their values. */
typedef struct {
  uint32_t reg[2];
  const neo_lx *stage, *parity;
} neo_btile_pipeline_state;

typedef struct {
  neo_products p;
  const neo_stage *s;
  neo_contraction c;
  const neo_lx *steps;
  const neo_lx *length[NEO_FORM_MAX_AXES], *least[NEO_FORM_MAX_AXES]; /* own axes */
  neo_expr left;   /* the condition that is tested at each product; 0: none */
  bool warpgroups; /* warpgroups multiply (lower/gpu_tile/warpgroup.c) */
  bool tma;        /* TMA copies operands by boxes (lower/gpu_tile/tma.c) */
  uint32_t phases; /* buffer of the stages' mbarriers */
  bool producer;   /* a warp-specialized producer starts the copies (lower/gpu_tile/producer.c) */
  uint32_t empty;  /* buffer of mbarriers that say which stages are free */
  bool persistent; /* blocks take one tile after another */
  neo_ls *specialized; /* the producer's and the consumers' arms, and the state of each */
  neo_btile_pipeline_state produced, consumed;
  int64_t stages; /* 0: double buffering through registers */
} block_tile;

static inline neo_block *open_threads(block_tile *x, neo_block *in) {
  return open_loop(x->p.l, in, NEO_LOOP_THREAD, "t", x->p.threads, &x->p.thread);
}

/* ---- lower/gpu_tile/copy.c */

/* set_shared sets a mask of shared axes to point `at` of them, where axis `fast` is the fastest,
 * then the last ones. set_own sets own axes to step `step` of the block of steps from `from` on, a
 * multiple of BLOCK_K. Lanes run along the last (or fast) axis; null: none. */
void neo_btile_set_shared(lowering *l, uint64_t axes, uint32_t fast, const neo_lx *at,
                          const neo_lx *lane);
void neo_btile_set_own(block_tile *x, const neo_lx *from, const neo_lx *step, const neo_lx *lane);
/* Is factor k a part of the operand? */
bool neo_btile_has_factor(const block_tile *x, const operand *o, uint32_t k);
/* Chooses the axis along which the operand is contiguous in memory: the steps or another of its
 * axes. Copies run along it first. Sets along_steps and fast. */
void neo_btile_choose_fast(block_tile *x, operand *o);
/* Chooses the width of copies, after axes and conditions are known. */
void neo_btile_vectorize_copies(block_tile *x, operand *o);
void neo_btile_count_copies(block_tile *x, operand *o);
/* copy_of sets the first row and step, in the block, of the thread's copy i; returns whether the
 * copy exists (null: always). shared_at is their place in shared memory, and lane_pitch the stride
 * between the elements of a copy there; 0: that of rows. */
const neo_lx *neo_btile_copy_of(const block_tile *x, const operand *o, const neo_lx *i,
                                const neo_lx **row, const neo_lx **step);
const neo_lx *neo_btile_shared_at(block_tile *x, const operand *o, const neo_lx *start,
                                  const neo_lx *row, const neo_lx *step);
int64_t neo_btile_lane_pitch(const operand *o);
/* Sets axes, and until neo_gpu_end_guard the guard: `exists` holds (null: always), the axes are in
 * range, and the operand's condition holds. step: in the block of steps from `from` on. */
void neo_btile_enter_copy(block_tile *x, const operand *o, const neo_lx *exists, const neo_lx *row,
                          const neo_lx *from, const neo_lx *step, const neo_lx *lane);
/* A thread's part of the operand's copy to the buffer. */
neo_gpu_copy neo_btile_copy(const block_tile *x, const operand *o, uint32_t buf);
/* Declares registers for operands that are copied through registers. several: they live across
 * loops of threads. */
void neo_btile_declare_next(block_tile *x, neo_block *in, bool several);
/* get_next loads the thread's part of the block of steps from `from` on to registers; put_next
 * stores it to shared memory, `start` elements after the buffer's first. */
void neo_btile_get_next(block_tile *x, neo_block *in, const operand *o, const neo_lx *from);
void neo_btile_put_next(block_tile *x, neo_block *in, const operand *o, uint32_t buf,
                        const neo_lx *start);

/* ---- lower/gpu_tile/pipeline.c: lowers the sum in stages */
void neo_btile_sum_stages(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/tma.c */
/* plan_tma makes the mbarriers if TMA can copy both operands; sum_tma lowers the sum. */
bool neo_btile_plan_tma(block_tile *x);
void neo_btile_sum_tma(block_tile *x, neo_block *in);
/* A buffer of mbarriers in scratch, one for each stage. */
uint32_t neo_btile_phases(block_tile *x, const char *name);
/* Sets the expected bytes (expect_tx) of the block of steps from `from` on, and starts its
 * copies. */
void neo_btile_start_boxes(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *stage);
/* The state at the first stage, and the advance to the next stage. */
neo_btile_pipeline_state neo_btile_first_stage(block_tile *x, neo_block *in);
void neo_btile_next_stage(block_tile *x, neo_block *in, const neo_btile_pipeline_state *r);
/* Starts acc += the products of a stage; wgmma_wait ends it. */
void neo_btile_multiply_stage(block_tile *x, neo_block *in, const neo_lx *stage);

/* ---- lower/gpu_tile/producer.c: warp specialization. plan makes the mbarriers of free stages;
 * open_specialized opens the arms, in a unit or, if blocks are persistent, around units, and
 * returns the producer's; produce lowers it; open_consumers returns the consumers' arm; consume
 * lowers their sum. */
void neo_btile_plan_producer(block_tile *x);
neo_block *neo_btile_open_specialized(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/fma.c */
/* Opens loops over the thread's rows and columns. at: their numbers in the block; number: in the
 * thread's tile. */
neo_block *neo_btile_open_points(block_tile *x, neo_block *in, const neo_lx *at[2],
                                 const neo_lx *number[2]);

/* ---- lower/gpu_tile/units.c, fma.c, epilogue.c */
/* open_units opens the loop over tiles and sets the operands' and the axes' rows, columns and
 * batch. multiply adds the products of steps from `from` on, which are in that block of shared
 * memory, in a loop of threads. store_point lowers the stages that store, at a row and a column of
 * the block, if these exist. */
neo_block *neo_btile_open_units(block_tile *x, neo_block *in);
void neo_btile_multiply(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *block);
void neo_btile_store_point(block_tile *x, neo_block *in, const neo_lx *const *at,
                           const neo_lx *sum);

/* ---- lower/gpu_tile/warp.c: the sum by warps and its stores */
void neo_btile_warps(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/warpgroup.c: the sum by warpgroups and its stores */
/* The place of a row's step in the swizzled layout, in elements. */
const neo_lx *neo_btile_swizzled_at(block_tile *x, const operand *o, const neo_lx *row,
                                    const neo_lx *step);
/* Starts acc += BLOCK_K steps of rows and columns, from `start` on in these buffers; wgmma_wait
 * ends it. */
void neo_btile_multiply_by_groups(block_tile *x, neo_block *in, const uint32_t *buf,
                                  const neo_lx *const *start);
void neo_btile_warpgroups(block_tile *x, neo_block *in);

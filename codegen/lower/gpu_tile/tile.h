/* A contraction's tile by a block of threads, while it is lowered.
 * Private to codegen/lower/gpu_tile. */
#ifndef NEO_CODEGEN_LOWER_BLOCK_H
#define NEO_CODEGEN_LOWER_BLOCK_H
#include "codegen/lower/gpu_block/block.h"

/* The stage whose turn it is, and the turn: registers, and what they are. */
typedef struct {
  uint32_t reg[2];
  const neo_lx *stage, *parity;
} neo_btile_pipeline_state;

typedef struct {
  neo_products p;
  const neo_stage *s;
  neo_contraction c;
  const neo_lx *steps;
  const neo_lx *length[NEO_FORM_MAX_AXES], *least[NEO_FORM_MAX_AXES]; /* of own axes */
  neo_expr left;       /* the condition that is tested at each product; 0: none */
  bool warpgroups;     /* they multiply, not warps (lower/gpu_tile/warpgroup.c) */
  bool tma;            /* operands are boxes (lower/gpu_tile/tma.c) */
  uint32_t phases;     /* their buffer: one for each stage */
  bool producer;       /* one thread asks for them (lower/gpu_tile/producer.c) */
  uint32_t empty;      /* phases that say which stages are free */
  bool persistent;     /* blocks take one tile after another */
  neo_ls *specialized; /* the producer's and the consumers' arms; stages that each begins with: */
  neo_btile_pipeline_state produced, consumed;
  int64_t stages; /* 0: two halves, by way of registers */
} block_tile;

static inline neo_block *open_threads(block_tile *x, neo_block *in) {
  return open_loop(x->p.l, in, NEO_LOOP_THREAD, "t", x->p.threads, &x->p.thread);
}

/* ---- lower/gpu_tile/copy.c */

/* Shared axes of a mask at point `at` of them, `fast` fastest, then the last ones; own axes at step
 * `step` of the block of BLOCK_K steps from `from` on, a multiple of that. Lanes are along the last
 * of them from there on (null: none). */
void neo_btile_set_shared(lowering *l, uint64_t axes, uint32_t fast, const neo_lx *at,
                          const neo_lx *lane);
void neo_btile_set_own(block_tile *x, const neo_lx *from, const neo_lx *step, const neo_lx *lane);
/* Is it the operand's? */
bool neo_btile_has_factor(const block_tile *x, const operand *o, uint32_t k);
/* Elements that lie next to each other in memory along the steps, or along one of the operand's own
 * axes: the copies walk these first. Sets along_steps and fast. */
void neo_btile_choose_fast(block_tile *x, operand *o);
/* How many elements are copied as one: once axes are made, and conditions taken. */
void neo_btile_vectorize_copies(block_tile *x, operand *o);
void neo_btile_count_copies(block_tile *x, operand *o);
/* First row and step of the thread's copy i, counted from the block's; whether there is one: null:
 * always. Where they lie, and elements between two that are copied as one; 0: as rows lie. */
const neo_lx *neo_btile_copy_of(const block_tile *x, const operand *o, const neo_lx *i,
                                const neo_lx **row, const neo_lx **step);
const neo_lx *neo_btile_shared_at(block_tile *x, const operand *o, const neo_lx *start,
                                  const neo_lx *row, const neo_lx *step);
int64_t neo_btile_lane_pitch(const operand *o);
/* Sets axes, and the guard under which they and the operand exist, where `exists` holds (null:
 * always), until neo_gpu_end_guard. step: of the block of steps from `from` on. */
void neo_btile_enter_copy(block_tile *x, const operand *o, const neo_lx *exists, const neo_lx *row,
                          const neo_lx *from, const neo_lx *step, const neo_lx *lane);
/* A thread's part of the operand's copy to the buffer. */
neo_gpu_copy neo_btile_copy(const block_tile *x, const operand *o, uint32_t buf);
/* Registers of operands that pass through them for what is on its way: of this loop of threads, or
 * of several. */
void neo_btile_declare_next(block_tile *x, neo_block *in, bool several);
/* The thread's part of the block of steps from `from` on, into its registers; from there into
 * shared memory, `start` elements behind the buffer's first. */
void neo_btile_get_next(block_tile *x, neo_block *in, const operand *o, const neo_lx *from);
void neo_btile_put_next(block_tile *x, neo_block *in, const operand *o, uint32_t buf,
                        const neo_lx *start);

/* ---- lower/gpu_tile/pipeline.c: what is copied asynchronously, and how wide; the sum */
void neo_btile_plan_stages(block_tile *x);
void neo_btile_sum_stages(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/tma.c: where both operands are boxes, makes their phases; the sum */
bool neo_btile_plan_tma(block_tile *x);
void neo_btile_sum_tma(block_tile *x, neo_block *in);
/* Phases in scratch, one for each stage. */
uint32_t neo_btile_phases(block_tile *x, const char *name);
/* Announces the bytes of the block of steps from `from` on, and starts its boxes. */
void neo_btile_start_boxes(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *stage);
/* The first stage in the first turn; the next one. */
neo_btile_pipeline_state neo_btile_first_stage(block_tile *x, neo_block *in);
void neo_btile_next_stage(block_tile *x, neo_block *in, const neo_btile_pipeline_state *r);
/* acc += what lies in that stage, until awaited. */
void neo_btile_multiply_stage(block_tile *x, neo_block *in, const neo_lx *stage);

/* ---- lower/gpu_tile/producer.c: where operands are boxes, makes the phases of free stages; the
 * arms, in a unit or, persistent, around units: returns the producer's; what it does there; the
 * consumers' arm, or tile; their sum */
void neo_btile_plan_producer(block_tile *x);
neo_block *neo_btile_open_specialized(block_tile *x, neo_block *in);
void neo_btile_produce(block_tile *x, neo_block *in);
neo_block *neo_btile_open_consumers(block_tile *x);
void neo_btile_consume(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/fma.c: the thread's rows and columns: counted from the block's first, and in its
 * tile */
neo_block *neo_btile_open_points(block_tile *x, neo_block *in, const neo_lx *at[2],
                                 const neo_lx *number[2]);

/* ---- lower/gpu_tile/units.c, fma.c, epilogue.c: the loop over tiles, whose rows, columns and batch are the operands' and the
 * axes' from there on; products of steps from `from` on, which lie in that block of steps of shared
 * memory, in a loop of threads; the stages that store, at a row and a column counted from the
 * block's first, where they exist */
neo_block *neo_btile_open_units(block_tile *x, neo_block *in);
void neo_btile_multiply(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *block);
void neo_btile_store_point(block_tile *x, neo_block *in, const neo_lx *const *at,
                           const neo_lx *sum);

/* ---- lower/gpu_tile/warp.c: the sum and the stores */
void neo_btile_warps(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/warpgroup.c: the same */
int64_t neo_btile_warpgroup_operand(block_tile *x, operand *o);
/* Where a row's step lies, in elements. */
const neo_lx *neo_btile_swizzled_at(block_tile *x, const operand *o, const neo_lx *row,
                                    const neo_lx *step);
/* acc += BLOCK_K steps of rows and columns, which begin there in these buffers: until awaited. */
void neo_btile_multiply_by_groups(block_tile *x, neo_block *in, const uint32_t *buf,
                                  const neo_lx *const *start);
void neo_btile_warpgroups(block_tile *x, neo_block *in);

#endif

/* A contraction's tile by a block of threads, while it is lowered. Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_BLOCK_H
#define NEO_CODEGEN_LOWER_BLOCK_H
#include "codegen/lower/common/scope.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"

typedef struct { /* rows or columns */
  uint64_t axes;
  neo_side side;
  int64_t block, tile, vector, pitch;
  int64_t elements;         /* of a block of steps, in shared memory */
  bool steps_inside;        /* in shared memory a row's steps lie together: warps read that way */
  const neo_lx *lo, *total; /* first one of the block; how many there are in all */
  neo_expr cond;            /* of the copy; 0: none */
  uint32_t buf, other;      /* shared; for warps the other half, for threads the same */
  uint32_t next;            /* the thread's elements on their way */
  uint32_t value;           /* the thread's elements of a step: [tile/vector, vector]; fragments */
  uint32_t low;             /* what fragments of 3xtf32 are more than tf32 */
  uint32_t at;              /* for warps: where the thread's row of a matrix begins */
  int64_t wide;             /* elements that are copied as one, along the axis that is fastest */
  int64_t copies;           /* of those that a thread makes */
  neo_expr from;       /* what is copied asynchronously (lower/gpu_tile/pipeline.c); 0: nothing */
  uint32_t from_buf;   /* where that lies */
  neo_stages_box box;  /* what the copy engine brings, with block_tile.bulk */
  bool rounded;        /* to tf32, where fragments are read */
  const neo_lx *begin; /* in shared memory, of the stage that warps read; null: 0 */
  bool along_steps;    /* neighbouring threads copy neighbouring steps, */
  uint32_t fast;       /* or else points of this axis */
  bool exchanged, turned; /* it lies as warpgroups read it, turned round (codegen/loop/wgmma.h) */
  bool bounded;
} operand;

/* The stage whose turn it is, and the turn: registers, and what they are. */
typedef struct {
  uint32_t reg[2];
  const neo_lx *stage, *turn;
} neo_btile_round;

typedef struct {
  lowering *l;
  const neo_stage *s;
  neo_contraction c;
  operand o[2]; /* rows, columns */
  int64_t threads, block_k;
  const neo_lx *steps, *thread;
  const neo_lx *length[NEO_FORM_MAX_AXES], *least[NEO_FORM_MAX_AXES]; /* of own axes */
  neo_expr left; /* the condition that is tested at each product; 0: none */
  uint32_t acc;
  neo_warps warps; /* what is multiplied by warps (lower/gpu_tile/warp.c), if any */
  bool warpgroups; /* by warpgroups (lower/gpu_tile/warpgroup.c) */
  bool bulk;       /* operands are boxes (lower/gpu_tile/tma.c) */
  uint32_t phases; /* their buffer: one for each stage */
  bool producer;   /* one thread asks for them (lower/gpu_tile/producer.c) */
  uint32_t empty;  /* phases that say which stages are free */
  bool persistent; /* blocks take one tile after another */
  neo_ls *roles;   /* the producer's and the consumers' arms; stages that each begins with: */
  neo_btile_round produced, consumed;
  int64_t stages; /* 0: two halves, by way of registers */
} block_tile;

/* at < n; null: always, since at < most, which divides n. */
static inline const neo_lx *below(lowering *l, const neo_lx *at, const neo_lx *n, int64_t most) {
  int64_t x;
  if (neo_lx_is_int(n, &x) && x % most == 0)
    return NULL;
  return neo_lx_op2(l->k, NEO_OP_LT, at, n);
}

static inline neo_block *open_loop(lowering *l, neo_block *in, neo_loop_kind kind, const char *name,
                                   int64_t n, const neo_lx **v) {
  uint32_t var = neo_kernel_var(l->k, name);
  *v = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, kind, var, lx_int(l, 0), lx_int(l, n), 1)->loop.body;
}

static inline neo_block *open_threads(block_tile *x, neo_block *in) {
  return open_loop(x->l, in, NEO_LOOP_THREAD, "t", x->threads, &x->thread);
}

/* ---- lower/gpu_tile/copy.c */

/* Shared axes of a mask at point `at` of them, `fast` fastest, then the last ones; own axes at step
 * `step` of the block of BLOCK_K steps from `from` on, a multiple of that. Lanes are along the last
 * of them from there on (null: none). */
void neo_btile_set_shared(lowering *l, uint64_t axes, uint32_t fast, const neo_lx *at,
                          const neo_lx *lane);
void neo_btile_set_own(block_tile *x, const neo_lx *from, const neo_lx *step, const neo_lx *lane);
const neo_lx *neo_btile_zero(lowering *l, neo_type t);
/* Is it the operand's? */
bool neo_btile_has_factor(const block_tile *x, const operand *o, uint32_t k);
/* Elements that lie next to each other in memory along the steps, or along one of the operand's own
 * axes: the copies walk these first. Sets along_steps and fast. */
void neo_btile_choose_fast(block_tile *x, operand *o);
/* How many elements are copied as one: once axes are made, and conditions taken. */
void neo_btile_widen(block_tile *x, operand *o);
void neo_btile_count_copies(block_tile *x, operand *o);
/* First row and step of the thread's copy i, counted from the block's; whether there is one: null:
 * always. Where they lie, and elements between two that are copied as one; 0: as rows lie. */
const neo_lx *neo_btile_copy_of(const block_tile *x, const operand *o, const neo_lx *i,
                                const neo_lx **row, const neo_lx **step);
const neo_lx *neo_btile_shared_at(block_tile *x, const operand *o, const neo_lx *start,
                                  const neo_lx *row, const neo_lx *step);
int64_t neo_btile_lane_pitch(const operand *o);
/* Sets axes, and the guard under which they and the operand exist, where `exists` holds (null:
 * always); returns the guard before, which leave gets. step: of the block of steps from `from` on.
 */
const neo_lx *neo_btile_enter_copy(block_tile *x, const operand *o, const neo_lx *exists,
                                   const neo_lx *row, const neo_lx *from, const neo_lx *step,
                                   const neo_lx *lane);
void neo_btile_leave_copy(block_tile *x, const neo_lx *outer);
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
/* Of a source (schedule/gpu_tile/stages.h): its buffer; the offset of what is read where *cond holds, which
 * gets all conditions: elsewhere it is zero. */
uint32_t neo_btile_source_buffer(lowering *l, neo_expr from);
const neo_lx *neo_btile_source_at(lowering *l, const neo_lx *y, const neo_lx **cond);
/* The stage after or before one, round about. */
const neo_lx *neo_btile_neighbour(lowering *l, int64_t stages, const neo_lx *stage, bool next);

/* ---- lower/gpu_tile/tma.c: where both operands are boxes, makes their phases; the sum */
bool neo_btile_plan_bulk(block_tile *x);
void neo_btile_sum_bulk(block_tile *x, neo_block *in);
/* Phases in scratch, one for each stage. */
uint32_t neo_btile_phases(block_tile *x, const char *name);
/* Announces the bytes of the block of steps from `from` on, and starts its boxes. */
void neo_btile_start_boxes(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *stage);
/* The first stage in the first turn; the next one. */
neo_btile_round neo_btile_first_stage(block_tile *x, neo_block *in);
void neo_btile_next_stage(block_tile *x, neo_block *in, const neo_btile_round *r);
/* acc += what lies in that stage, until awaited. */
void neo_btile_multiply_stage(block_tile *x, neo_block *in, const neo_lx *stage);

/* ---- lower/gpu_tile/producer.c: where operands are boxes, makes the phases of free stages; the
 * arms, in a unit or, persistent, around units: returns the producer's; what it does there; the
 * consumers' arm, or tile; their sum */
void neo_btile_plan_producer(block_tile *x);
neo_block *neo_btile_open_roles(block_tile *x, neo_block *in);
void neo_btile_produce(block_tile *x, neo_block *in);
neo_block *neo_btile_open_consumers(block_tile *x);
void neo_btile_consume(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/fma.c: the thread's rows and columns: counted from the block's first, and in its
 * tile */
neo_block *neo_btile_open_points(block_tile *x, neo_block *in, const neo_lx *at[2],
                                 const neo_lx *number[2]);

/* ---- lower/gpu_tile/units.c: how many points shared axes have */
const neo_lx *neo_btile_points(lowering *l, uint64_t axes);

/* ---- lower/gpu_tile/units.c, fma.c, epilogue.c: the loop over tiles, whose rows, columns and batch are the operands' and the
 * axes' from there on; products of steps from `from` on, which lie in that block of steps of shared
 * memory, in a loop of threads; the stages that store, at a row and a column counted from the
 * block's first, where they exist */
neo_block *neo_btile_open_units(block_tile *x, neo_block *in);
void neo_btile_multiply(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *block);
void neo_btile_store_point(block_tile *x, neo_block *in, const neo_lx *const *at,
                           const neo_lx *sum);

/* ---- lower/gpu_block/fragments.c */

typedef struct {            /* of a thread of a warp */
  const neo_lx *at[2];      /* the warp's first row and column */
  const neo_lx *group, *in; /* the thread's number is 4*group + in */
} neo_btile_place;
neo_btile_place neo_btile_place_of(block_tile *x);
/* Where an operand's elements of type t lie for warps, and how many there are of a half. */
int64_t neo_btile_warp_operand(block_tile *x, operand *o, neo_type t);
int64_t neo_btile_fragments(const operand *o);
/* Registers of all threads: [n, elements]; those of both operands; what is set once. */
uint32_t neo_btile_declare(block_tile *x, neo_block *in, const char *name, int64_t n,
                           int64_t elements, neo_type t);
void neo_btile_declare_fragments(block_tile *x, neo_block *in);
void neo_btile_set_rows(block_tile *x, neo_block *in);
/* acc += BLOCK_K steps of rows and columns, which lie in these buffers. */
void neo_btile_add_products(block_tile *x, neo_block *in, const uint32_t *buf);

/* ---- lower/gpu_tile/warp.c: the sum and the stores */
void neo_btile_warps(block_tile *x, neo_block *in);

/* ---- lower/gpu_tile/warpgroup.c: the same */
int64_t neo_btile_warpgroup_operand(block_tile *x, operand *o);
/* Where a row's step lies, in elements. */
const neo_lx *neo_btile_exchanged_at(block_tile *x, const operand *o, const neo_lx *row,
                                     const neo_lx *step);
/* acc += BLOCK_K steps of rows and columns, which begin there in these buffers: until awaited. */
void neo_btile_multiply_by_groups(block_tile *x, neo_block *in, const uint32_t *buf,
                                  const neo_lx *const *start);
void neo_btile_warpgroups(block_tile *x, neo_block *in);

#endif

/* Building parts of blocks of threads that multiply, for contractions' tiles (gpu_tile) and nested
 * reductions (gpu_nested):
 *
 *   block.c      points, registers, shared memory, guards; which points of a block a thread has
 *   copy.c       copies of an operand to shared memory, through registers or asynchronous
 *   fma.c        products by threads
 *   fragments.c  products by warps (codegen/loop/warp.h)
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/loop/warp.h"
#include "codegen/loop/wgmma.h"
#include "codegen/lower/common/scope.h"
#include "include/neo/neo_rt.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"

typedef struct { /* rows or columns */
  uint64_t axes;
  neo_side side;
  int64_t block, tile, vector, pitch;
  int64_t elements;  /* elements of a block of steps in shared memory */
  bool steps_inside; /* steps are the inner dimension in shared memory; warps read that way */
  const neo_lx *lo, *total; /* the block's first row or column; their number in all */
  neo_expr cond;            /* the copy's condition; 0: none */
  uint32_t buf, other;      /* shared memory: the buffer; the second one, or the same for threads */
  uint32_t next;            /* register: the thread's elements that are being loaded */
  uint32_t value;           /* register of a step: [tile/vector, vector], or fragments */
  uint32_t low;             /* register of 3xtf32: the fragments' residuals x - tf32(x) */
  uint32_t at;              /* register of warps: the first element of the thread's matrix row */
  int64_t width;            /* elements of one copy, along the fastest axis */
  int64_t copies;           /* number of copies of a thread */
  neo_expr from;            /* source of asynchronous copies (lower/gpu_tile/pipeline.c); 0: none */
  uint32_t from_buf;        /* the source's buffer */
  neo_stages_box box;       /* box of TMA copies, if block_tile.tma */
  bool rounded;             /* fragments are rounded to tf32 when they are loaded */
  const neo_lx *begin;      /* offset in shared memory of the stage that warps read; null: 0 */
  bool along_steps;         /* neighbouring threads copy neighbouring steps */
  uint32_t fast;            /* the axis whose neighbouring points they copy if not */
  bool swizzled, transposed; /* layout in shared memory for warpgroups (codegen/loop/wgmma.h) */
  bool bounded;
} operand;

/* Alignment of buffers in shared memory, if nothing needs more. */
enum { NEO_GPU_ALIGN_BYTES = NEO_RT_ALIGN_BYTES };

typedef struct { /* products of operands in shared memory, by a block of threads */
  lowering *l;
  operand o[2]; /* rows, columns */
  int64_t threads, block_k;
  const neo_lx *thread;
  uint32_t acc;
  neo_warps warps; /* the type of warps' products; 0: threads multiply */
} neo_products;

/* The test at < n; null: it always holds, because at < most and most divides n. */
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

/* ---- lower/gpu_block/block.c */
const neo_lx *neo_gpu_zero(lowering *l, neo_type t);
/* The extent of an axis of a stage, own axes after shared ones. */
const neo_lx *neo_gpu_extent(lowering *l, const neo_stage *s, uint32_t k);
/* The number of points of a set of axes (bits): shared ones, and own ones of a stage (null:
 * none). */
const neo_lx *neo_gpu_points(lowering *l, const neo_stage *s, uint64_t axes);
/* A buffer in shared memory. */
uint32_t neo_gpu_shared_buffer(lowering *l, const char *name, neo_type t, int64_t elements,
                               int64_t align_bytes);
/* Declares a register with threads, [rows, columns] for each thread. */
uint32_t neo_gpu_thread_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                            int64_t columns, int64_t threads);
/* Sets a register of two dimensions to zero, in loops of these names. */
void neo_gpu_clear(lowering *l, neo_block *in, uint32_t reg, const char *row, const char *column);
/* Loads are guarded by a condition until end_guard; bounded: each load is tested. */
void neo_gpu_begin_guard(lowering *l, const neo_lx *guard, bool bounded);
void neo_gpu_end_guard(lowering *l);
/* The stage after (next) or before a stage, cyclically. */
const neo_lx *neo_gpu_neighbour(lowering *l, int64_t stages, const neo_lx *stage, bool next);
/* The vector width of a thread's tile: 1, 2 or 4 contiguous elements, at most 16 bytes. */
int64_t neo_gpu_vector_of(int64_t n, neo_type t);
/* The thread's place along rows (0) and columns (1), of height by width threads. The threads of a
 * warp are 4 by 8 if that is possible, so that they read few elements of shared memory. */
void neo_gpu_place_of(lowering *l, const neo_lx *thread, int64_t height, int64_t width,
                      const neo_lx *out[2]);

/* A dimension of a block, of which each thread has `tile` points: groups of `vector` contiguous
 * ones, one group for each pass over the block's threads. */
typedef struct {
  int64_t tile, vector, threads;
} neo_gpu_tile_dim;
typedef struct {                          /* a point of a thread's tile */
  const neo_lx *group, *element, *number; /* number: among the points of the tile */
} neo_gpu_point;
/* The first point of a group, counted from the block's first. */
const neo_lx *neo_gpu_group_at(lowering *l, neo_gpu_tile_dim s, const neo_lx *place,
                               const neo_lx *group);
/* The loops over a thread's points. */
neo_block *neo_gpu_open_dim(lowering *l, neo_block *in, neo_gpu_tile_dim s, neo_gpu_point *p);

/* ---- lower/gpu_block/fma.c */
/* Loads the thread's values of a dimension at a step, whose points begin at `start` in the buffer.
 * Returns their register, [groups, vector]. */
uint32_t neo_gpu_get_values(lowering *l, neo_block *in, const char *name, neo_gpu_tile_dim s,
                            uint32_t buf, const neo_lx *start, const neo_lx *place);
/* acc[row, column] += a[row] * b[column] where the test holds (null: always). */
typedef struct {
  uint32_t acc, value[2];
  neo_gpu_point at[2];
} neo_gpu_product;
void neo_gpu_add_product(lowering *l, neo_block *in, const neo_gpu_product *p, const neo_lx *test);

/* ---- lower/gpu_block/copy.c */
typedef struct { /* a thread's part of a copy to shared memory */
  lowering *l;
  int64_t threads, copies;
  int64_t width;      /* elements of one copy */
  int64_t lane_pitch; /* their stride in shared memory; 0: each has its own place */
  uint32_t buf;
} neo_gpu_copy;
typedef struct {
  const neo_lx *i, *lane; /* lane: null if a copy is one element */
} neo_gpu_copied;
/* Declares a register for elements that are being loaded. several: it lives across loops of
 * threads.
 */
uint32_t neo_gpu_declare_next(const neo_gpu_copy *c, neo_block *in, bool several);
/* Opens the loops over a thread's copies and the elements of each. put: they store to shared
 * memory. */
neo_block *neo_gpu_open_copy(const neo_gpu_copy *c, neo_block *in, bool put, neo_gpu_copied *at);
/* next = y where the guard holds, else 0. */
void neo_gpu_get_next(const neo_gpu_copy *c, neo_block *in, uint32_t next, const neo_gpu_copied *at,
                      const neo_lx *y, const neo_lx *guard);
/* Stores next to shared memory at `to` where `exists` holds (null: always). */
void neo_gpu_put_next(const neo_gpu_copy *c, neo_block *in, uint32_t next, const neo_gpu_copied *at,
                      const neo_lx *to, const neo_lx *exists);
/* Asynchronous copies; the caller waits for them. open_starts opens the loop over the thread's
 * copies. start_copy starts one: of the element that y loads from a buffer, or, where cond (null:
 * always) or a condition of y does not hold, of zeros. */
neo_block *neo_gpu_open_starts(const neo_gpu_copy *c, neo_block *in, const neo_lx **i);
void neo_gpu_start_copy(const neo_gpu_copy *c, neo_block *in, const neo_lx *to, uint32_t from,
                        const neo_lx *y, const neo_lx *cond);
/* The buffer of a source (schedule/gpu_tile/stages.h). */
uint32_t neo_gpu_source_buffer(lowering *l, neo_expr from);
/* The largest and the smallest number of elements of a vectorized copy. */
int64_t neo_gpu_widest(neo_type t);
int64_t neo_gpu_narrowest(neo_type t);

/* ---- lower/gpu_block/fragments.c */
typedef struct {            /* the place of a thread of a warp */
  const neo_lx *at[2];      /* the warp's first row and column */
  const neo_lx *group, *in; /* the thread's number is 4*group + in */
} neo_mma_place;
neo_mma_place neo_mma_place_of(neo_products *x);
/* Sets the layout of an operand of type t in shared memory for warps. Returns its elements in one
 * of two buffers. */
int64_t neo_mma_operand(neo_products *x, operand *o, neo_type t);
int64_t neo_mma_fragments(const operand *o);
/* Declares the registers of both operands; set_rows sets those that are loop-invariant. */
void neo_mma_declare(neo_products *x, neo_block *in);
void neo_mma_set_rows(neo_products *x, neo_block *in);
/* acc += BLOCK_K steps of rows and columns in these buffers. */
void neo_mma_multiply(neo_products *x, neo_block *in, const uint32_t *buf);

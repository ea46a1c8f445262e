/* What blocks of threads that multiply are made of, for contractions' tiles (gpu_tile) and nested
 * reductions (gpu_nested):
 *
 *   block.c      points, registers, shared memory, guards; which points of a block a thread has
 *   copy.c       how threads bring an operand into shared memory, by registers or asynchronously
 *   fma.c        products by threads
 *   fragments.c  products by warps (codegen/loop/warp.h)
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_GPU_BLOCK_H
#define NEO_CODEGEN_LOWER_GPU_BLOCK_H
#include "codegen/loop/warp.h"
#include "codegen/loop/wgmma.h"
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
  int64_t width;            /* elements that are copied as one, along the axis that is fastest */
  int64_t copies;           /* of those that a thread makes */
  neo_expr from;       /* what is copied asynchronously (lower/gpu_tile/pipeline.c); 0: nothing */
  uint32_t from_buf;   /* where that lies */
  neo_stages_box box;  /* what the copy engine brings, with block_tile.bulk */
  bool rounded;        /* to tf32, where fragments are read */
  const neo_lx *begin; /* in shared memory, of the stage that warps read; null: 0 */
  bool along_steps;    /* neighbouring threads copy neighbouring steps, */
  uint32_t fast;       /* or else points of this axis */
  bool swizzled,
      transposed; /* it lies as warpgroups read it, turned round (codegen/loop/wgmma.h) */
  bool bounded;
} operand;

enum { NEO_GPU_ALIGN_BYTES = 64 }; /* of buffers in shared memory, if nothing asks for more */

typedef struct { /* products of what lies in shared memory, by a block of threads */
  lowering *l;
  operand o[2]; /* rows, columns */
  int64_t threads, block_k;
  const neo_lx *thread;
  uint32_t acc;
  neo_warps warps; /* what warps multiply, if they do */
} neo_products;

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

/* ---- lower/gpu_block/block.c */
const neo_lx *neo_gpu_zero(lowering *l, neo_type t);
/* The extent of an axis of a stage, own axes after shared ones. */
const neo_lx *neo_gpu_extent(lowering *l, const neo_stage *s, uint32_t k);
/* How many points these axes, as bits, have: shared ones, and own ones of a stage (null: none). */
const neo_lx *neo_gpu_points(lowering *l, const neo_stage *s, uint64_t axes);
/* A buffer in shared memory. */
uint32_t neo_gpu_shared_buffer(lowering *l, const char *name, neo_type t, int64_t elements,
                               int64_t align_bytes);
/* A register [rows, columns] of each of so many threads, declared in the block. */
uint32_t neo_gpu_thread_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                            int64_t columns, int64_t threads);
/* The register of two dimensions becomes zero, in loops of these names. */
void neo_gpu_clear(lowering *l, neo_block *in, uint32_t reg, const char *row, const char *column);
/* Under which condition loads happen, until end_guard; bounded: each load is tested. */
void neo_gpu_begin_guard(lowering *l, const neo_lx *guard, bool bounded);
void neo_gpu_end_guard(lowering *l);
/* The stage after or before one, of so many in a ring. */
const neo_lx *neo_gpu_neighbour(lowering *l, int64_t stages, const neo_lx *stage, bool next);
/* Elements of a thread's tile that lie next to each other: 1, 2 or 4, at most 16 bytes. */
int64_t neo_gpu_vector_of(int64_t n, neo_type t);
/* The thread's place along rows (0) and columns (1), of tall by wide threads. Within a warp threads
 * are 4 by 8 where that is possible, so that reads of shared memory are few. */
void neo_gpu_place_of(lowering *l, const neo_lx *thread, int64_t height, int64_t width,
                      const neo_lx *out[2]);

/* A side of a block, of which each thread has `tile` points: groups of `vector` that lie next to each
 * other, one group for each pass over the block's threads. */
typedef struct {
  int64_t tile, vector, threads;
} neo_gpu_tile_dim;
typedef struct {                          /* a point of a thread's tile */
  const neo_lx *group, *element, *number; /* number: in the tile */
} neo_gpu_point;
/* The first point of a group, counted from the block's first. */
const neo_lx *neo_gpu_group_at(lowering *l, neo_gpu_tile_dim s, const neo_lx *place,
                               const neo_lx *group);
/* The loops over a thread's points. */
neo_block *neo_gpu_open_dim(lowering *l, neo_block *in, neo_gpu_tile_dim s, neo_gpu_point *p);

/* ---- lower/gpu_block/fma.c */
/* The thread's values of a side at a step whose points begin there in the buffer; returns their
 * register, [groups, vector]. */
uint32_t neo_gpu_get_values(lowering *l, neo_block *in, const char *name, neo_gpu_tile_dim s,
                            uint32_t buf, const neo_lx *start, const neo_lx *place);
/* acc[row, column] += a[row] * b[column], where the test (null: always) holds. */
typedef struct {
  uint32_t acc, value[2];
  neo_gpu_point at[2];
} neo_gpu_product;
void neo_gpu_add_product(lowering *l, neo_block *in, const neo_gpu_product *p, const neo_lx *test);

/* ---- lower/gpu_block/copy.c */
typedef struct { /* a thread's part of a copy to shared memory */
  lowering *l;
  int64_t threads, copies;
  int64_t width;      /* elements that are copied as one */
  int64_t lane_pitch; /* elements between two of these in shared memory; 0: as their place says */
  uint32_t buf;
} neo_gpu_copy;
typedef struct {
  const neo_lx *i, *lane; /* lane: null for one element */
} neo_gpu_copied;
/* A register for what is on its way: of this loop of threads, or of several. */
uint32_t neo_gpu_declare_next(const neo_gpu_copy *c, neo_block *in, bool several);
/* The loops over a thread's copies and the elements of each; put: to shared memory. */
neo_block *neo_gpu_open_copy(const neo_gpu_copy *c, neo_block *in, bool put, neo_gpu_copied *at);
/* next = y, which is zero where the guard does not hold. */
void neo_gpu_get_next(const neo_gpu_copy *c, neo_block *in, uint32_t next, const neo_gpu_copied *at,
                      const neo_lx *y, const neo_lx *guard);
/* Shared memory at `to` = next, where `exists` holds (null: always). */
void neo_gpu_put_next(const neo_gpu_copy *c, neo_block *in, uint32_t next, const neo_gpu_copied *at,
                      const neo_lx *to, const neo_lx *exists);
/* Copies that are started, and wait elsewhere: the loop over the thread's; one, from `y`, what is
 * read, of a buffer, where all of cond (null: always) and y's conditions hold; else it is zero. */
neo_block *neo_gpu_open_starts(const neo_gpu_copy *c, neo_block *in, const neo_lx **i);
void neo_gpu_start_copy(const neo_gpu_copy *c, neo_block *in, const neo_lx *to, uint32_t from,
                        const neo_lx *y, const neo_lx *cond);
/* The buffer of a source (schedule/gpu_tile/stages.h). */
uint32_t neo_gpu_source_buffer(lowering *l, neo_expr from);
/* How many elements are as wide as a copy may be, and as narrow; less than that are one. */
int64_t neo_gpu_widest(neo_type t);
int64_t neo_gpu_narrowest(neo_type t);

/* ---- lower/gpu_block/fragments.c */
typedef struct {            /* of a thread of a warp */
  const neo_lx *at[2];      /* the warp's first row and column */
  const neo_lx *group, *in; /* the thread's number is 4*group + in */
} neo_mma_place;
neo_mma_place neo_mma_place_of(neo_products *x);
/* Where an operand's elements of type t lie for warps, and how many there are of a half. */
int64_t neo_mma_operand(neo_products *x, operand *o, neo_type t);
int64_t neo_mma_fragments(const operand *o);
/* Registers of both operands; what is set once. */
void neo_mma_declare(neo_products *x, neo_block *in);
void neo_mma_set_rows(neo_products *x, neo_block *in);
/* acc += BLOCK_K steps of rows and columns, which lie in these buffers. */
void neo_mma_multiply(neo_products *x, neo_block *in, const uint32_t *buf);

#endif

/* Statements of the loop IR: a tagged union, with the fields and the meaning of each kind under its
 * name. loop/loop.h says what a kernel is.
 *
 * Kinds from SHUFFLE on are for GPUs: all threads of a block execute them together. They are
 * outside of THREAD loops, except COPY. */
#pragma once
#include "base/vec.h"
#include "codegen/loop/expr.h"
#include "codegen/loop/tile.h"
#include "codegen/loop/warp.h"
#include "codegen/loop/wgmma.h"

typedef enum {
  NEO_LOOP_SERIAL,
  NEO_LOOP_UNIT,
  NEO_LOOP_UNROLL,
  NEO_LOOP_VECTOR,
  NEO_LOOP_THREAD
} neo_loop_kind;

typedef enum {
  NEO_LS_FOR,             /* loop */
  NEO_LS_IF,              /* branch */
  NEO_LS_REG,             /* declare */
  NEO_LS_SET,             /* set */
  NEO_LS_STORE,           /* store */
  NEO_LS_PREFETCH,        /* prefetch */
  NEO_LS_TILE,            /* tile */
  NEO_LS_SHUFFLE,         /* shuffle */
  NEO_LS_VOTE,            /* vote */
  NEO_LS_MMA,             /* mma */
  NEO_LS_LDMATRIX,        /* ldmatrix */
  NEO_LS_WGMMA,           /* wgmma */
  NEO_LS_WGMMA_WAIT,      /* wgmma_wait */
  NEO_LS_COPY,            /* copy */
  NEO_LS_COPY_COMMIT,     /* no fields */
  NEO_LS_COPY_WAIT,       /* copy_wait */
  NEO_LS_TMA_COPY,        /* tma_copy */
  NEO_LS_EXPECT_TX,       /* expect_tx */
  NEO_LS_MBARRIER_WAIT,   /* mbarrier_wait */
  NEO_LS_MBARRIER_ARRIVE, /* mbarrier_arrive */
  NEO_LS_SPECIALIZE       /* specialize */
} neo_ls_kind;

/* An element of a buffer. */
typedef struct {
  uint32_t buf;
  const neo_lx *offset; /* i64, in elements */
} neo_element;

/* A fragment, of which each thread has its part: row `at` of a register with threads and two
 * dimensions. */
typedef struct {
  uint32_t reg;
  const neo_lx *at; /* constant after unrolling */
} neo_fragment;

enum { NEO_BOX_RANK = 5, NEO_BOX_LINE_BYTES = 128, NEO_BOX_MOST = 256 };
/* The box of a tensor that a TMA copy reads. For each axis: the first index of the box, the
 * tensor's extent (over sizes and constants), the stride in elements (1 along the first axis), and
 * the number of elements. */
typedef struct {
  uint32_t rank;
  const neo_lx *at[NEO_BOX_RANK], *extent[NEO_BOX_RANK];
  int64_t stride[NEO_BOX_RANK], count[NEO_BOX_RANK];
} neo_box;

typedef struct neo_ls neo_ls;
typedef struct {
  neo_ls **at;
  size_t n, cap;
} neo_block; /* NEO_PUSH(arena, &block, stmt) */

enum { NEO_RANK = 4 }; /* largest rank of a register */
enum { NEO_PRODUCER, NEO_CONSUMER };
enum {
  NEO_COPY_BYTES = 16,
  NEO_COPY_GROUPS = 8
}; /* largest size of a copy; most groups that a wait leaves pending */

struct neo_ls {
  neo_ls_kind kind;
  neo_span span;
  union {
    struct {
      neo_loop_kind kind;
      uint32_t var;
      const neo_lx *lo, *hi; /* [lo, hi) */
      int64_t step;          /* > 0 */
      /* SERIAL: an early exit. The condition is evaluated before each iteration; the loop ends
       * where it is false. Null: all iterations run. */
      const neo_lx *more;
      neo_block body;
    } loop;

    struct {
      const neo_lx *cond;
      neo_block then, otherwise;
    } branch;

    struct {
      uint32_t
          reg; /* the register lives from here to the end of the block; its content is undefined */
    } declare;

    struct {
      uint32_t reg;
      uint8_t n_index;
      const neo_lx *index[NEO_RANK];
      const neo_lx *value;
    } set;

    struct {
      neo_element to;
      const neo_lx *value;
      const neo_lx
          *cond; /* null: always. It is evaluated first; where it is false, nothing else is */
      /* An atomic addition of the value to the element, an integer: several iterations of a THREAD
       * loop may add to the same element. Without a condition, in a THREAD loop.
       *
       *   count[i64(key[t])] += 1:i32 */
      bool adds;
    } store;

    /* A hint that the element will be read soon. Its offset may be outside of the buffer. */
    struct {
      neo_element of;
      bool l2; /* into the second cache, for data that are not needed next */
    } prefetch;

    /* An operation of a matrix unit on its tile registers: a row of loop/tile.def. Their content is
     * lost at the end of a unit of work. */
    struct {
      neo_tile_op op;
      uint8_t reg[3];      /* as many as the row has */
      neo_element element; /* the first element in memory, if the row reads or writes memory */
      int64_t pitch;       /* elements between two rows in memory */
    } tile;

    /* A warp shuffle: each thread reads the register of another one, without shared memory. `down 4
     * of 32`: in each group of 32 threads, which begins at a multiple of 32, thread t reads the
     * value of thread t + 4, or its own if thread t + 4 is outside of the group. `first 2 of 32`:
     * even threads read the value of thread 0 of the group, odd ones that of thread 1.
     *
     *   shuffle other, sum down 4 of 32             other[1, 1], sum[1, 1]: f32 for 256 threads */
    struct {
      neo_shuffle what;
      uint32_t to, from; /* registers with threads, of the same elements */
      uint32_t n, of;    /* DOWN: the distance, FIRST: the number of sources; the size of a group */
    } shuffle;

    /* A vote of the block's threads (barrier.red.or): is a register of bool true in any of them?
     * The vote is a barrier as well, so all threads must execute it.
     *
     *   vote again, differs                  again[1]: bool, differs[1]: bool for 256 threads */
    struct {
      uint32_t any, of;
    } vote;

    /* A product of matrices in each warp (mma.sync): a row of loop/mma.def.
     *
     *   mma tf32 acc[i*4 + j], a[i], b[j]    acc[.., 4], a[.., 4], b[.., 2]: f32, 256 threads */
    struct {
      neo_mma_op op;
      neo_fragment part[3]; /* the sum, a, b */
    } mma;

    /* A load of matrices from scratch into one or more fragments, the first of which is named: a
     * row of loop/ldmatrix.def. Each thread has an offset of its own, by registers with threads.
     *
     *   ldmatrix x4 b[j], columns[at[0] + j*320]     fills b[j] and b[j + 1] */
    struct {
      neo_ldmatrix_op op;
      neo_fragment to;
      neo_element from;
    } ldmatrix;

    /* An asynchronous product in each warpgroup of 128 threads: a row of loop/wgmma.def. The sums
     * are a register with threads, [F, N/2] for F times 64 rows of N columns. The statement begins
     * to add the products of two buffers in scratch, of which it reads 128 bytes of steps for each
     * row and column, from the named elements on. Warpgroup w has the rows from w/across * 64*F on,
     * and the columns from w%across * N on.
     *
     *   wgmma bf16 acc, rows[0], transposed columns[0] across 2
     *   wgmma_wait 0, acc */
    struct {
      neo_wgmma_op op;
      uint32_t acc;
      neo_element factor[2]; /* rows, columns */
      bool transposed[2];
      uint32_t across; /* warpgroups along the columns */
    } wgmma;

    /* Waits for all but the last `pending` products. The register has no value until all products
     * that add to it have ended, and their factors may not be written before that. */
    struct {
      uint32_t acc;
      int64_t pending; /* products that may still be in flight */
    } wgmma_wait;

    /* An asynchronous copy of 4, 8 or 16 bytes from a buffer that is only read to scratch
     * (cp.async). If its condition does not hold, it reads nothing and writes zeros. The copied
     * values are those at the statement, but the elements of scratch may be read or written again
     * only after a COPY_WAIT for the copy's group. All copies of all threads belong to the group
     * that the next COPY_COMMIT closes. A copy is in a THREAD loop; at the end of a unit no copy is
     * in flight.
     *
     *   for t in 0..64 thread
     *     copy 4 rows[t*4] = X[b*256 + t*4] if t < n
     *   copy_commit
     *   copy_wait 0 */
    struct {
      neo_element to, from;
      int64_t elements;
      const neo_lx *cond; /* null: always */
    } copy;

    struct {
      int64_t
          /* the last groups, which may be in flight; all threads see the data of the others */
          pending;
    } copy_wait;

    /* An asynchronous copy of a box of a tensor to scratch, at a multiple of 1024 bytes. The 128
     * bytes of the first axis are a line, swizzled for wgmma (loop/wgmma.h). Elements outside of
     * the tensor's extents are zero and are not read. One thread of the block starts the copy, and
     * an mbarrier, an element of scratch of i64, counts its bytes. EXPECT_TX begins the next phase
     * of the mbarrier and announces its bytes; MBARRIER_WAIT lets all threads continue when these
     * have arrived. Phases have parity 0, 1, 0, ... from the first on, and a wait names the parity
     * of its phase. A phase is waited for before the next begins, and before the end of a unit.
     *
     *   expect_tx 16384 on full[0]
     *   tma_copy rows[0] = X[k of 100 by 1 box 64, i of B by 100 box 128] on full[0]
     *   mbarrier_wait full[0] parity 0 */
    struct {
      neo_element to;
      uint32_t from;
      neo_box *box;
      neo_element mbarrier;
    } tma_copy;

    struct {
      neo_element mbarrier;
      int64_t bytes;
    } expect_tx;

    struct {
      neo_element mbarrier;
      const neo_lx *parity; /* i64: 0 or 1 */
    } mbarrier_wait;

    struct {
      neo_element mbarrier;
    } mbarrier_arrive;

    /* Warp specialization: the block has the kernel's threads, the consumers, and one more
     * warpgroup, of which one thread is the producer. Both run their arms at the same time. The
     * statement is the whole body of a unit. Only the producer has EXPECT_TX and TMA_COPY; it does
     * nothing else with memory, and has no THREAD loops, registers with threads or products.
     * MBARRIER_WAIT is in both arms, and each waits for the other. MBARRIER_ARRIVE is in the
     * consumers' arm: its mbarrier has no EXPECT_TX, a phase completes when all consumers have
     * arrived, and the producer waits for it before they arrive again.
     *
     *   producer registers 40, 232
     *     mbarrier_wait empty[0] parity 0
     *     expect_tx 16384 on full[0]
     *     tma_copy rows[0] = ...
     *   consumers
     *     mbarrier_wait full[0] parity 1
     *     wgmma bf16 acc, rows[0], columns[0] across 2
     *     wgmma_wait 0, acc
     *     mbarrier_arrive empty[0] */
    struct {
      uint32_t registers
          [2]; /* a thread's, [NEO_PRODUCER], [NEO_CONSUMER]; 0, 0: the same in all threads */
      neo_block arm[2];
    } specialize;
  };
};

/* ---- parts of any statement (loop/walk.c) */

/* The k-th block inside of a statement: a loop's body, a branch's or a specialization's arms; null:
 * there are no more. */
const neo_block *neo_ls_block(const neo_ls *s, uint32_t k);
enum { NEO_LS_EXPRS = 3 + 2 * NEO_BOX_RANK };
/* Pointers to the fields of its own expressions, so that passes can replace them; without
 * expressions of inner blocks and without null ones. Returns their number. */
uint32_t neo_ls_places(neo_ls *s, const neo_lx **place[NEO_LS_EXPRS]);
/* Its own expressions. Returns their number. */
uint32_t neo_ls_exprs(const neo_ls *s, const neo_lx *expr[NEO_LS_EXPRS]);
/* Visits all statements of a block, each before its inner ones. */
typedef void neo_ls_visitor(void *ctx, neo_ls *s);
/* Calls `visit` for each statement of a block and of the blocks in it, outer ones before inner
 * ones. */
void neo_block_visit(const neo_block *b, neo_ls_visitor *visit, void *ctx);
/* The n-th statement of that kind in this order, from 0; null: there are fewer. */
neo_ls *neo_block_find(const neo_block *b, neo_ls_kind kind, size_t n);
/* Is it a loop of that kind? */
bool neo_ls_is_loop(const neo_ls *s, neo_loop_kind kind);
/* The number of iterations of a loop with constant bounds. */
int64_t neo_ls_trips(const neo_ls *s);

/* ---- builders (loop/statement.c): each appends a statement to `in`. A builder with inner blocks
 * returns the statement, and the caller fills the blocks. */

/* Appends a loop over [lo, hi). A UNIT loop sets the kernel's units to hi. The statement is in the
 * kernel's arena; its block is empty. */
neo_ls *neo_ls_for(neo_kernel *k, neo_block *in, neo_loop_kind kind, uint32_t var, const neo_lx *lo,
                   const neo_lx *hi, int64_t step);
/* Appends a condition whose block is empty. The statement is in the kernel's arena. */
neo_ls *neo_ls_if(neo_kernel *k, neo_block *in, const neo_lx *cond);
/* Append statements without blocks; each has the fields of its kind (see above). */
void neo_ls_reg(neo_kernel *k, neo_block *in, uint32_t reg);
void neo_ls_set(neo_kernel *k, neo_block *in, uint32_t reg, const neo_lx *const *index, size_t n,
                const neo_lx *value);
void neo_ls_store(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                  const neo_lx *value, const neo_lx *cond);
void neo_ls_add(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                const neo_lx *value);
void neo_ls_prefetch(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset, bool l2);
/* reg: as many tile registers as the row has. buf, offset and pitch count if it reads or writes
 * memory. */
void neo_ls_tile(neo_kernel *k, neo_block *in, neo_tile_op op, const uint8_t *reg, uint32_t buf,
                 const neo_lx *offset, int64_t pitch);
/* Append statements on registers of a warp, with the fields of their kinds (see above). */
void neo_ls_shuffle(neo_kernel *k, neo_block *in, uint32_t to, uint32_t from, neo_shuffle what,
                    int64_t n, int64_t of);
void neo_ls_vote(neo_kernel *k, neo_block *in, uint32_t any, uint32_t of);
/* reg, fragment: the registers of the sum and of both factors, and the fragment of each. */
void neo_ls_mma(neo_kernel *k, neo_block *in, neo_mma_op op, const uint32_t *reg,
                const neo_lx *const *fragment);
void neo_ls_ldmatrix(neo_kernel *k, neo_block *in, neo_ldmatrix_op op, uint32_t reg,
                     const neo_lx *fragment, uint32_t buf, const neo_lx *offset);
/* buf, offset, transposed: of the rows and of the columns. */
void neo_ls_wgmma(neo_kernel *k, neo_block *in, neo_wgmma_op op, uint32_t acc, const uint32_t *buf,
                  const neo_lx *const *offset, const bool *transposed, int64_t across);
/* Appends a wait for all but the last `pending` products. */
void neo_ls_wgmma_wait(neo_kernel *k, neo_block *in, uint32_t acc, int64_t pending);
/* Copies n elements of `from` at `start`, or zeros, to `to` at `offset`. cond: may be null,
 * always. */
void neo_ls_copy(neo_kernel *k, neo_block *in, int64_t n, uint32_t to, const neo_lx *offset,
                 uint32_t from, const neo_lx *start, const neo_lx *cond);
/* Append other statements of copies and mbarriers, with the fields of their kinds (see above). */
void neo_ls_copy_commit(neo_kernel *k, neo_block *in);
void neo_ls_copy_wait(neo_kernel *k, neo_block *in, int64_t pending);
void neo_ls_tma_copy(neo_kernel *k, neo_block *in, uint32_t to, const neo_lx *offset, uint32_t from,
                     const neo_box *box, uint32_t mbarriers, const neo_lx *which);
void neo_ls_expect_tx(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which,
                      int64_t bytes);
void neo_ls_mbarrier_wait(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which,
                          const neo_lx *parity);
void neo_ls_mbarrier_arrive(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which);
/* Appends a statement whose two blocks, of producer and consumers, are empty. In the kernel's
 * arena. */
neo_ls *neo_ls_specialize(neo_kernel *k, neo_block *in, const uint32_t registers[2]);

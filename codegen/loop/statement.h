/* Statements of the loop IR: a tagged union, with the fields of each kind under its name. What each
 * kind means is said at its fields; loop/loop.h says what a kernel is.
 *
 * From SHUFFLE on kinds are a GPU's: what the threads of a block do together. They stand outside of
 * THREAD loops, but for COPY. */
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

/* A fragment of a register with threads, of which each thread has its part: row `at` of a register
 * of two dimensions. */
typedef struct {
  uint32_t reg;
  const neo_lx *at; /* constant after unrolling */
} neo_fragment;

enum { NEO_BOX_RANK = 5, NEO_BOX_LINE_BYTES = 128, NEO_BOX_MOST = 256 };
/* The box of a tensor that a TMA copy reads. For each axis: where the box begins, the tensor's
 * extent (over sizes and constants), the stride in elements (1 along the first axis), and how
 * many elements. */
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

enum { NEO_RANK = 4 }; /* of a register, at most */
enum { NEO_PRODUCER, NEO_CONSUMER };
enum { NEO_COPY_BYTES = 16, NEO_COPY_GROUPS = 8 }; /* at most: of a copy; that a wait leaves */

struct neo_ls {
  neo_ls_kind kind;
  neo_span span;
  union {
    struct {
      neo_loop_kind kind;
      uint32_t var;
      const neo_lx *lo, *hi; /* [lo, hi) */
      int64_t step;          /* > 0 */
      /* SERIAL: read before each iteration, which runs, as those after it, where it holds; null: all do. */
      const neo_lx *more;
      neo_block body;
    } loop;

    struct {
      const neo_lx *cond;
      neo_block then, otherwise;
    } branch;

    struct {
      uint32_t reg; /* from here on in its block; its content is undefined */
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
      const neo_lx *cond; /* null: always. Else it is evaluated first, and may leave out the rest */
      /* An atomic addition: the value is added to the element, an integer, which several iterations of a THREAD loop
       * may do to the same element. Without a condition, in a THREAD loop.
       *
       *   count[i64(key[t])] += 1:i32 */
      bool adds;
    } store;

    /* A hint without meaning: the element will be read soon. Its offset may lie outside. */
    struct {
      neo_element of;
      bool l2; /* into the second cache, for what does not come next */
    } prefetch;

    /* What a matrix unit does with its tile registers, whose content is lost at the end of a unit of
     * work: a row of loop/tile.def. */
    struct {
      neo_tile_op op;
      uint8_t reg[3];      /* as many as the row has */
      neo_element element; /* the first of memory, where the row reads or writes it */
      int64_t pitch;       /* elements between two rows in memory */
    } tile;

    /* A warp shuffle: gives each thread the register of another one, without shared memory. `down 4
     * of 32`: in each 32 threads, which begin at a multiple of 32, thread t gets the value of
     * thread t + 4, or its own where that is beyond the 32. `first 2 of 32`: even threads get the
     * value of thread 0 of the 32, odd ones that of thread 1.
     *
     *   shuffle other, sum down 4 of 32             other[1, 1], sum[1, 1]: f32 for 256 threads */
    struct {
      neo_shuffle what;
      uint32_t to, from; /* registers of the same elements, for each thread */
      uint32_t n, of;    /* threads further on, or how many give; among how many threads */
    } shuffle;

    /* A vote of the block's threads (barrier.red.or): is a register of bool true in any of them? It is a barrier as
     * well, so it stands where all threads come.
     *
     *   vote again, differs                         again[1]: bool, differs[1]: bool for 256 threads */
    struct {
      uint32_t any, of;
    } vote;

    /* A product of each 32 threads (mma.sync): a row of loop/mma.def.
     *
     *   mma tf32 acc[i*4 + j], a[i], b[j]        acc[.., 4], a[.., 4], b[.., 2]: f32 for 256 threads */
    struct {
      neo_mma_op op;
      neo_fragment part[3]; /* the sum, a, b */
    } mma;

    /* Matrices from scratch fill one fragment or more, from the one that is named on: a row of
     * loop/ldmatrix.def. The offset is each thread's own, by registers with threads.
     *
     *   ldmatrix x4 b[j], columns[at[0] + j*320]     fills b[j] and b[j + 1] */
    struct {
      neo_ldmatrix_op op;
      neo_fragment to;
      neo_element from;
    } ldmatrix;

    /* A product of each 128 threads, a warpgroup, that goes on meanwhile: a row of loop/wgmma.def. It
     * begins to add to the sums of a register with threads, [F, N/2] for F times 64 rows of N
     * columns, the products of one row of 128 bytes each of two buffers in scratch, which lie from
     * the named elements on. Warpgroup w has the rows from w/across * 64*F on, and the columns from
     * w%across * N on.
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

    /* Ends all but the last few products: the register has no value until all that add to it have
     * ended, and what they read is not written before that. */
    struct {
      uint32_t acc;
      int64_t pending; /* products that may go on */
    } wgmma_wait;

    /* Copies a few elements, 4, 8 or 16 bytes, from a buffer that is only read to scratch (cp.async);
     * where its condition does not hold, it reads nothing and writes zeros. It is asynchronous: the
     * values are those of now, but the elements may be read or written again only after a COPY_WAIT
     * for its group. All copies that threads start belong to the group that the next COPY_COMMIT
     * closes. It stands in a THREAD loop; when a unit ends, no copy is under way.
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
      int64_t pending; /* groups that may be under way; all others are there, for all threads */
    } copy_wait;

    /* Copies a box of a tensor to scratch, from a multiple of 1024 bytes on: the first axis' 128
     * bytes a line, its pieces of 16 exchanged as wgmma reads them (loop/wgmma.h). What lies outside
     * of the tensor's extents is zero, and not read. One thread of the block starts it, and its bytes
     * are counted by an mbarrier, an element of scratch of i64. EXPECT_TX begins the mbarrier's next
     * phase, with how many bytes are to come; MBARRIER_WAIT goes on, for all threads, when they have.
     * Phases have parity 0, 1, 0, ... from the first on, and a wait says which it means. A phase is
     * waited for before the next begins, and before a unit ends.
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

    /* Warp specialization: the block has a warpgroup more than the kernel has threads, of which one
     * thread runs the producer's arm, while the kernel's threads, the consumers, run theirs. It is
     * all that a unit does. Only the producer has EXPECT_TX and TMA_COPY, it does nothing else with
     * memory, and it has no THREAD loops, registers with threads or products; MBARRIER_WAIT is in
     * both arms, and waits, in each, for what the other one does. MBARRIER_ARRIVE is the consumers':
     * an mbarrier that they arrive at has no EXPECT_TX, its phase completes when all of them have
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
      uint32_t registers[2]; /* each thread's, by NEO_PRODUCER and NEO_CONSUMER; 0, 0: all alike */
      neo_block arm[2];
    } specialize;
  };
};

/* ---- what any statement has (loop/walk.c) */

/* The k-th block inside of a statement: a loop's body, a branch's or a specialization's arms; null:
 * there are no more. */
const neo_block *neo_ls_block(const neo_ls *s, uint32_t k);
enum { NEO_LS_EXPRS = 3 + 2 * NEO_BOX_RANK };
/* The places of its own expressions, without those of blocks inside of it; null ones are left out.
 * Who changes a kernel's expressions writes there. Returns how many. */
uint32_t neo_ls_places(neo_ls *s, const neo_lx **place[NEO_LS_EXPRS]);
/* Its own expressions. Returns how many. */
uint32_t neo_ls_exprs(const neo_ls *s, const neo_lx *expr[NEO_LS_EXPRS]);
/* All statements of a block, each before those inside of it. */
typedef void neo_ls_visitor(void *ctx, neo_ls *s);
void neo_block_visit(const neo_block *b, neo_ls_visitor *visit, void *ctx);
/* The n-th statement of that kind in this order, from 0; null: there are not so many. */
neo_ls *neo_block_find(const neo_block *b, neo_ls_kind kind, size_t n);
/* Is it a loop of that kind? */
bool neo_ls_is_loop(const neo_ls *s, neo_loop_kind kind);
/* How often a loop of constant bounds runs. */
int64_t neo_ls_trips(const neo_ls *s);

/* ---- building (loop/statement.c): each is appended to `in`. Where a statement is returned, what is
 * inside of it follows. */

/* A UNIT loop sets the kernel's units to hi. */
neo_ls *neo_ls_for(neo_kernel *k, neo_block *in, neo_loop_kind kind, uint32_t var, const neo_lx *lo,
                   const neo_lx *hi, int64_t step);
neo_ls *neo_ls_if(neo_kernel *k, neo_block *in, const neo_lx *cond);
void neo_ls_reg(neo_kernel *k, neo_block *in, uint32_t reg);
void neo_ls_set(neo_kernel *k, neo_block *in, uint32_t reg, const neo_lx *const *index, size_t n,
                const neo_lx *value);
void neo_ls_store(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                  const neo_lx *value, const neo_lx *cond);
void neo_ls_add(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                const neo_lx *value);
void neo_ls_prefetch(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset, bool l2);
/* Tile registers: reg[] as many as the row has. buf, offset and pitch where it reads or writes
 * memory. */
void neo_ls_tile(neo_kernel *k, neo_block *in, neo_tile_op op, const uint8_t *reg, uint32_t buf,
                 const neo_lx *offset, int64_t pitch);
void neo_ls_shuffle(neo_kernel *k, neo_block *in, uint32_t to, uint32_t from, neo_shuffle what,
                    int64_t n, int64_t of);
void neo_ls_vote(neo_kernel *k, neo_block *in, uint32_t any, uint32_t of);
/* Registers of the sum and of both factors, and which fragment of each. */
void neo_ls_mma(neo_kernel *k, neo_block *in, neo_mma_op op, const uint32_t *reg,
                const neo_lx *const *fragment);
void neo_ls_ldmatrix(neo_kernel *k, neo_block *in, neo_ldmatrix_op op, uint32_t reg,
                     const neo_lx *fragment, uint32_t buf, const neo_lx *offset);
/* Rows and columns: buffers, offsets, whether they lie transposed. */
void neo_ls_wgmma(neo_kernel *k, neo_block *in, neo_wgmma_op op, uint32_t acc, const uint32_t *buf,
                  const neo_lx *const *offset, const bool *transposed, int64_t across);
void neo_ls_wgmma_wait(neo_kernel *k, neo_block *in, uint32_t acc, int64_t pending);
/* n elements of `from` at `start` to `to` at `offset`, or zeros; cond may be null: always. */
void neo_ls_copy(neo_kernel *k, neo_block *in, int64_t n, uint32_t to, const neo_lx *offset,
                 uint32_t from, const neo_lx *start, const neo_lx *cond);
void neo_ls_copy_commit(neo_kernel *k, neo_block *in);
void neo_ls_copy_wait(neo_kernel *k, neo_block *in, int64_t pending);
void neo_ls_tma_copy(neo_kernel *k, neo_block *in, uint32_t to, const neo_lx *offset, uint32_t from,
                     const neo_box *box, uint32_t mbarriers, const neo_lx *which);
void neo_ls_expect_tx(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which,
                      int64_t bytes);
void neo_ls_mbarrier_wait(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which,
                          const neo_lx *parity);
void neo_ls_mbarrier_arrive(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which);
neo_ls *neo_ls_specialize(neo_kernel *k, neo_block *in, const uint32_t registers[2]);

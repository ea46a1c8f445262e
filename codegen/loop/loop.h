/* The loop IR: what a kernel does, loop by loop. Free of LLVM: printed, parsed, verified and
 * interpreted here, and emitted by llvm/core/emit.c. A lone definition and a fused group take the same
 * path.
 *
 * Meaning is scalar and sequential: run the statements in order, loops from lo upwards. Loop kinds
 * only promise something to the emitter, and the verifier checks what can be checked:
 *   SERIAL    nothing
 *   UNIT      the outermost statement of a kernel, at most one: iterations are independent; a
 *             worker runs a part of them. A persistent kernel has one in each role instead (ROLES)
 *   UNROLL    constant trip count: emitted that many times, the variable a constant in each copy
 *   VECTOR    0..w with a constant w (the vector width; 1 is allowed): emitted once on vectors of w
 *             lanes. Iterations are independent but for registers indexed by the lane. Holds only
 *             SET, STORE (no loops, no IF); a SET in it has the lane as last index
 *
 *   THREAD    0..t with a constant t, the same in the whole kernel: iterations are independent, and
 *             run by the threads of a GPU's block. What stands outside of these loops is the same
 *             for all of them, and stores nothing; registers with threads are a set for each
 *             iteration, which lives from one THREAD loop to the next
 *
 * On a GPU, a kernel with THREAD loops runs a unit in a block of threads, with scratch in shared
 * memory; one without runs a unit in a thread, and has no scratch. One THREAD loop ends before the
 * next begins: where they share memory, the emitter puts the barrier that this needs.
 *
 * SELECT evaluates its condition and then one branch, LOADIF its condition and then either the
 * offset or the other value, a STORE its condition and then, if it holds, offset and value: what is
 * not evaluated touches no memory.
 *
 * Registers are small arrays with constant extents, private to one iteration of the loop they stand
 * in. Their indices must be constants, UNROLL variables or, in the last place, the VECTOR variable:
 * after unrolling each element is a machine register, and a last dimension indexed by a lane is a
 * vector register. Reading single lanes of a vector register (by constants or an UNROLL variable)
 * extracts them: that is how a lane reduction is written.
 *
 *   kernel H(X: f32 read, W1: f32 read, b1: f32 read, Y: f32 write) sizes B units B
 *   for b in 0..B unit
 *     for j0 in 0..128 step 16
 *       reg acc[2, 8]: f32
 *       for v in 0..2 unroll
 *         for l in 0..8 vector
 *           acc[v, l] = 0.0
 *       for i in 0..784
 *         for v in 0..2 unroll
 *           for l in 0..8 vector
 *             acc[v, l] = fma(X[b*784 + i], W1[i*128 + j0 + v*8 + l], acc[v, l])
 *       for v in 0..2 unroll
 *         for l in 0..8 vector
 *           Y[b*128 + j0 + v*8 + l] = relu(acc[v, l] + b1[j0 + v*8 + l])
 *
 * FETCH names an element that will be read soon: a hint without meaning, whose offset may lie
 * outside of the buffer. `far`: into the second cache, for what does not come next.
 *
 * TILE statements are the rows of codegen/loop/tile.def: what a matrix unit does with its tile
 * registers, whose content is lost at the end of a unit of work.
 *
 * WARP statements are the rows of codegen/loop/warp.def: what each 32 threads of a block do together.
 * One stands outside of THREAD loops, and names fragments of registers with threads, of which each
 * thread has its part. What is read from scratch fills one fragment or more, from the one that is
 * named on; the offset is each thread's own, by registers with threads:
 *
 *   warp load4 b[j], columns[at[0] + j*320]     fills b[j] and b[j + 1]
 *   warp tf32 acc[i*4 + j], a[i], b[j]          acc[.., 4], a[.., 4], b[.., 2]: f32 for 256 threads
 *
 * WARPGROUP statements are the rows of codegen/loop/warpgroup.def: what each 128 threads of a block do
 * together. One stands where a WARP statement may, and begins to add to the sums of a register with
 * threads, [F, N/2] for F times 64 rows of N columns, the products of one row of 128 bytes each of
 * two buffers in scratch, which lie from the named elements on, or turned round. Warpgroup w has
 * the rows from w/beside * 64*F on, and the columns from w%beside * N on. An AWAIT ends all but the
 * n last such statements: the register has no value until all that add to it have ended, and what
 * they read is not written before that.
 *
 *   warpgroup bf16 acc, rows[0], turned columns[0] beside 2
 *   await 0, acc
 *
 * COPY copies a few elements, 4, 8 or 16 bytes, from a buffer that is only read to scratch; where
 * its condition does not hold, it reads nothing and writes zeros. It does so asynchronously: for
 * the values that come of it, at once; but its elements may be read or written again only after a
 * WAIT for its group, which COMMIT closes. All copies that threads start belong to the group that
 * the next COMMIT closes; WAIT n goes on when all groups but the last n are there, for all threads.
 * A COPY stands in a THREAD loop, COMMIT and WAIT outside of them; when a unit ends, no copy is
 * under way:
 *
 *   for t in 0..64 thread
 *     copy 4 rows[t*4] = X[b*256 + t*4] if t < n
 *   commit
 *   wait 0
 *
 * BULK copies a box of a tensor to scratch, from a multiple of 1024 bytes on: the first axis' 128
 * bytes a line, its pieces of 16 exchanged as warpgroups read them (codegen/loop/warpgroup.h). What lies
 * outside of the tensor's extents is zero, and not read. One thread of the block starts it, and it
 * is counted by a phase in scratch of i64: EXPECT begins the phase's next turn, with how many bytes
 * are to come; REACH goes on, for all threads, when they have. Turns are even and odd, from an even
 * one on, and REACH says which it means. All stand outside of THREAD loops, a turn is reached
 * before the next begins, and before a unit ends:
 *
 *   expect 16384 on full[0]
 *   bulk rows[0] = X[k of 100 by 1 box 64, i of B by 100 box 128] on full[0]
 *   reach full[0] turn 0
 *
 * ROLES divides the block: a warpgroup more than the kernel has threads, of which one thread runs
 * the first arm, the producer's, while the kernel's threads, the consumers, run the second. It is
 * all that a unit does. Only the producer has EXPECT and BULK, it does nothing else with memory,
 * and it has no threads' loops, registers or products; REACH is in both arms, and waits, of each
 * for what the other one does. ARRIVE is the consumers': a phase that they arrive at has no EXPECT,
 * its next turn is over when all of them have arrived, and the producer reaches it, before they
 * arrive again. `registers`: of each thread of the producer's warpgroup and of a consumer, where
 * they are not all given as many; 0, 0: they are:
 *
 *   producer registers 40, 232
 *     reach empty[0] turn 0
 *     expect 16384 on full[0]
 *     bulk rows[0] = ...
 *   consumers
 *     reach full[0] turn 1
 *     warpgroup bf16 acc, rows[0], columns[0] beside 2
 *     await 0, acc
 *     arrive empty[0]
 *
 * A kernel that is `persistent n` has blocks that take one unit after another, at most n of them on
 * a multiprocessor: block b of so many takes the units b, b + blocks, b + 2*blocks ... Its body is
 * ROLES; each arm ends with a UNIT loop, all units, of which both walk those of the block, and
 * begins with registers that live as long as the block, and arrivals: turns of phases go on from
 * unit to unit, and the producer may be a unit ahead.
 *
 * SHUFFLE gives all threads what others have in a register, without shared memory. `down 4 of 32`:
 * in each 32 threads, which begin at a multiple of 32, what the thread four further on has, or
 * their own where that is not among the 32; `first 2 of 32`: what the threads 0 and 1 of the 32
 * have, in turn. It stands outside of THREAD loops:
 *
 *   shuffle other, sum down 4 of 32             other[1, 1], sum[1, 1]: f32 for 256 threads
 *
 * Elementwise operators are the rows of ir/ops.def with the same meaning. Types: i64 for addresses,
 * whose arithmetic must not wrap; f16 and bf16 values compute in f32 and round at each operator (as
 * ops.def says).
 *
 * Everything lives in the kernel's arena. */
#ifndef NEO_CODEGEN_LOOP_H
#define NEO_CODEGEN_LOOP_H
#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"
#include "codegen/loop/tile.h"
#include "codegen/loop/warp.h"
#include "codegen/loop/warpgroup.h"
#include "ir/interp.h"
#include "ir/ir.h"

typedef enum {
  NEO_LX_CONST,  /* bits: f64 bits for float types, else int64 */
  NEO_LX_VAR,    /* attr: loop variable; i64 */
  NEO_LX_SIZE,   /* attr: a run-time size's number in the model (0-based); i64 */
  NEO_LX_KEY,    /* attr: 0 seed, 1 step, 2 call; i64 */
  NEO_LX_LOAD,   /* attr: buffer; arg 0: element offset */
  NEO_LX_LOADIF, /* attr: buffer; args: offset, condition (bool), value where it is false */
  NEO_LX_REG,    /* attr: register; args: indices */
  NEO_LX_RAND,   /* attr: site; arg 0: linear element; f32 or f64 */
  NEO_LX_FMA,    /* a*b + c in one rounding or two, so tests compare with a tolerance */
  NEO_LX_PAIR,   /* two bf16 as one i32, the first in the low half */
  NEO_LX_DOT,    /* c + a . b, a and b pairs, as codegen/loop/tile.h says */
  NEO_LX_OP      /* attr: neo_op (elementwise rows); args */
} neo_lx_kind;

typedef struct neo_lx neo_lx;
struct neo_lx { /* immutable; may be shared */
  uint8_t kind, type;
  uint8_t n;
  uint32_t attr;
  uint32_t id; /* from 0; arguments have lower ids. Equal nodes are the same node */
  uint64_t bits;
  const neo_lx *arg[16];
};

typedef enum {
  NEO_LOOP_SERIAL,
  NEO_LOOP_UNIT,
  NEO_LOOP_UNROLL,
  NEO_LOOP_VECTOR,
  NEO_LOOP_THREAD
} neo_loop_kind;
typedef enum {
  NEO_LS_FOR,
  NEO_LS_IF,
  NEO_LS_REG,
  NEO_LS_SET,
  NEO_LS_STORE,
  NEO_LS_FETCH,
  NEO_LS_TILE,
  NEO_LS_WARP,
  NEO_LS_WARPGROUP,
  NEO_LS_AWAIT,
  NEO_LS_COPY,
  NEO_LS_COMMIT,
  NEO_LS_WAIT,
  NEO_LS_BULK,
  NEO_LS_EXPECT,
  NEO_LS_REACH,
  NEO_LS_ARRIVE,
  NEO_LS_ROLES,
  NEO_LS_SHUFFLE
} neo_ls_kind;

enum { NEO_BOX_RANK = 5, NEO_BOX_LINE_BYTES = 128, NEO_BOX_MOST = 256 };
/* Of a BULK copy, along each axis: where it begins in the tensor, how long that is (of sizes and
 * constants), elements between two (1 along the first axis), and how many of them it takes. */
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
struct neo_ls {
  uint8_t kind, loop;
  uint8_t op, tile[3];   /* TILE: a row of tile.def, and its registers. WARP(GROUP): of its table;
                          * WARPGROUP: tile[k]: is factor k turned round? SHUFFLE: a neo_shuffle */
  uint32_t attr;         /* FOR: variable. STORE, FETCH, TILE: buffer; COPY: the one that is
                          * written. All others: register */
  uint32_t factor[2];    /* WARP: registers; index[]: the fragment of attr and of these. One that
                          * reads: a buffer; index[]: the fragment, the offset. ROLES: registers.
                          * WARPGROUP: buffers; index[]: the first element of each. COPY: the buffer
                          * that is read. SHUFFLE: the register, and threads that it is among */
  const neo_lx *lo, *hi; /* FOR: [lo, hi) */
  int64_t step;          /* FOR: > 0. FETCH: 1, or 2: far. TILE: elements between two rows.
                          * WARPGROUP: beside. COPY: elements. AWAIT, WAIT: how many are not
                          * awaited. SHUFFLE: threads away, or how many give */
  const neo_lx *cond;    /* IF; STORE, COPY: may be null */
  uint8_t n_index;
  const neo_lx *index[4]; /* SET: register indices; else index[0] the element offset; COPY: [1] that
                             of what is read */
  const neo_lx *value;    /* SET, STORE; REACH: the turn */
  const neo_box *box;     /* BULK: of factor[0], to attr at index[0], phase factor[1] at index[1].
                           * EXPECT, REACH, ARRIVE: attr and index[0] are the phase; step: bytes */
  neo_block body, other;  /* FOR, IF; IF: else. ROLES: the producer's, the consumers' */
  neo_span span;
};

typedef enum { NEO_BUF_READ = 1, NEO_BUF_WRITE = 2, NEO_BUF_SCRATCH = 4 } neo_buf_use;
typedef struct {
  const char *name;
  uint8_t type, use;
  neo_tensor tensor; /* what it holds, in the group that the kernel was made from; 0 for scratch */
  int64_t shift;     /* its first element is this one of the tensor; other groups have their own */
  int64_t scratch_elems; /* SCRATCH: per worker, constant */
  bool no_alias;         /* overlaps no other buffer of the kernel */
  bool stream;           /* WRITE: vectors are written past the caches, where that is possible */
  int64_t align;         /* bytes; at least the element's size; only what is certain */
} neo_kbuf;

typedef struct {
  const char *name;
  uint8_t type, rank;
  int64_t extent[4];
  int64_t threads; /* 0; or the extent of THREAD loops: a register for each iteration */
} neo_reg;

typedef struct neo_kernel {
  neo_arena *arena;
  const char *name;       /* symbol without the model's prefix */
  NEO_VEC(neo_kbuf) bufs; /* non-scratch first: the order of neo_rt_args.buf */
  NEO_VEC(neo_reg) regs;
  NEO_VEC(const char *) vars;
  NEO_VEC(const char *) sizes; /* names, for print and parse; NEO_LX_SIZE attr indexes it */
  const neo_lx *units;         /* over sizes: the UNIT loop runs 0..units; 1 if there is none */
  int64_t persistent;          /* n > 0: its blocks take unit after unit, n of a multiprocessor */
  neo_block body;
  neo_span span;
  NEO_VEC(const neo_lx *) nodes; /* by id */
  neo_map intern;                /* private to loop/build.c, as the next two */
  struct {
    struct {
      uint32_t stamp;
      const neo_lx *made;
    } * at;
    size_t n, cap;
  } marks;
  uint32_t stamp;
} neo_kernel;

/* ---- building (loop/build.c). Integer constants fold as in ir/build.c; integer sums gather their
 * constants on the right. */
neo_kernel *neo_kernel_new(neo_arena *a, const char *name);
uint32_t neo_kernel_buf(neo_kernel *k, neo_kbuf buf);
uint32_t neo_kernel_reg(neo_kernel *k, neo_reg reg);
/* Fresh; the printer makes equal names distinct. */
uint32_t neo_kernel_var(neo_kernel *k, const char *name);
const neo_lx *neo_lx_int(neo_kernel *k, int64_t x); /* i64 */
const neo_lx *neo_lx_const(neo_kernel *k, neo_type t, neo_value v);
const neo_lx *neo_lx_var(neo_kernel *k, uint32_t var);
const neo_lx *neo_lx_size(neo_kernel *k, uint32_t size);
const neo_lx *neo_lx_key(neo_kernel *k, uint32_t which);
const neo_lx *neo_lx_load(neo_kernel *k, uint32_t buf, const neo_lx *offset);
const neo_lx *neo_lx_loadif(neo_kernel *k, uint32_t buf, const neo_lx *offset, const neo_lx *cond,
                            const neo_lx *other);
const neo_lx *neo_lx_reg(neo_kernel *k, uint32_t reg, const neo_lx *const *index, size_t n);
const neo_lx *neo_lx_rand(neo_kernel *k, neo_type t, uint32_t site, const neo_lx *element);
const neo_lx *neo_lx_fma(neo_kernel *k, const neo_lx *a, const neo_lx *b, const neo_lx *c);
const neo_lx *neo_lx_pair(neo_kernel *k, const neo_lx *first, const neo_lx *second);
const neo_lx *neo_lx_dot(neo_kernel *k, const neo_lx *a, const neo_lx *b, const neo_lx *c);
const neo_lx *neo_lx_op(neo_kernel *k, neo_op op, neo_type t, const neo_lx *const *arg, size_t n);
const neo_lx *neo_lx_op1(neo_kernel *k, neo_op op, const neo_lx *a);
const neo_lx *neo_lx_op2(neo_kernel *k, neo_op op, const neo_lx *a, const neo_lx *b);
const neo_lx *neo_lx_op3(neo_kernel *k, neo_op op, const neo_lx *a, const neo_lx *b,
                         const neo_lx *c);
const neo_lx *neo_lx_cast(neo_kernel *k, neo_type t, const neo_lx *a);
/* e with variable `var` replaced. */
const neo_lx *neo_lx_subst(neo_kernel *k, const neo_lx *e, uint32_t var, const neo_lx *by);

/* A UNIT loop sets the kernel's units to hi. */
neo_ls *neo_ls_for(neo_kernel *k, neo_block *in, neo_loop_kind kind, uint32_t var, const neo_lx *lo,
                   const neo_lx *hi, int64_t step);
neo_ls *neo_ls_if(neo_kernel *k, neo_block *in, const neo_lx *cond);
void neo_ls_reg(neo_kernel *k, neo_block *in, uint32_t reg); /* declares: undefined content */
void neo_ls_set(neo_kernel *k, neo_block *in, uint32_t reg, const neo_lx *const *index, size_t n,
                const neo_lx *value);
void neo_ls_store(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                  const neo_lx *value, const neo_lx *cond);

void neo_ls_fetch(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset, bool far);

/* Tile registers: reg[] as many as the row has. buf, offset and pitch where it reads or writes
 * memory. */
void neo_ls_tile(neo_kernel *k, neo_block *in, neo_tile_op op, const uint8_t *reg, uint32_t buf,
                 const neo_lx *offset, int64_t pitch);
/* Registers of the sum and of both factors, and which fragment of each. */
void neo_ls_warp(neo_kernel *k, neo_block *in, neo_warp_op op, const uint32_t *reg,
                 const neo_lx *const *fragment);
/* Fragments of a register from memory, from that one on. */
void neo_ls_warp_read(neo_kernel *k, neo_block *in, neo_warp_op op, uint32_t reg,
                      const neo_lx *fragment, uint32_t buf, const neo_lx *offset);
/* Of rows and of columns: buffers, offsets, whether they are turned round. */
void neo_ls_warpgroup(neo_kernel *k, neo_block *in, neo_warpgroup_op op, uint32_t acc,
                      const uint32_t *buf, const neo_lx *const *offset, const bool *turned,
                      int64_t beside);
void neo_ls_await(neo_kernel *k, neo_block *in, uint32_t acc, int64_t left);
/* n elements of `from` at `start` to `to` at `offset`, or zeros; cond may be null: always. */
void neo_ls_copy(neo_kernel *k, neo_block *in, int64_t n, uint32_t to, const neo_lx *offset,
                 uint32_t from, const neo_lx *start, const neo_lx *cond);
void neo_ls_bulk(neo_kernel *k, neo_block *in, uint32_t to, const neo_lx *offset, uint32_t from,
                 const neo_box *box, uint32_t phases, const neo_lx *phase);
void neo_ls_expect(neo_kernel *k, neo_block *in, uint32_t phases, const neo_lx *phase,
                   int64_t bytes);
void neo_ls_reach(neo_kernel *k, neo_block *in, uint32_t phases, const neo_lx *phase,
                  const neo_lx *turn);
void neo_ls_arrive(neo_kernel *k, neo_block *in, uint32_t phases, const neo_lx *phase);
/* Registers of each thread: of the producer's warpgroup, of the consumers. */
neo_ls *neo_ls_roles(neo_kernel *k, neo_block *in, const uint32_t *registers);
/* The kernel's ROLES statement; null: it has none. */
const neo_ls *neo_kernel_roles(const neo_kernel *k);
int64_t neo_box_elements(const neo_box *b);
/* Tensors that BULK statements copy of, in the order in which they come: what is the same but for
 * where a box begins is one (loop/box.c). Returns how many. */
enum { NEO_KERNEL_MAPS = 4 };
typedef struct {
  uint32_t buf;
  const neo_box *box;
} neo_kernel_map;
uint32_t neo_kernel_maps(const neo_kernel *k, neo_kernel_map out[NEO_KERNEL_MAPS]);
bool neo_box_same(const neo_box *a, const neo_box *b);
void neo_ls_commit(neo_kernel *k, neo_block *in);
void neo_ls_wait(neo_kernel *k, neo_block *in, int64_t groups);
enum { NEO_COPY_BYTES = 16, NEO_COPY_GROUPS = 8 }; /* at most: of a copy; that a WAIT leaves */
/* Register `to` of each thread becomes `from` of another one. */
void neo_ls_shuffle(neo_kernel *k, neo_block *in, uint32_t to, uint32_t from, neo_shuffle what,
                    int64_t n, int64_t of);
bool neo_kernel_has_tiles(const neo_kernel *k);
bool neo_kernel_has_dots(const neo_kernel *k); /* of pairs */
/* May it read seed, step or call? */
bool neo_kernel_reads_key(const neo_kernel *k);
/* The extent of its THREAD loops; 0: it has none. */
int64_t neo_kernel_threads(const neo_kernel *k);
/* Threads of a GPU's block: these, and with ROLES a warpgroup more. */
int64_t neo_kernel_block_threads(const neo_kernel *k);

bool neo_lx_implies(const neo_lx *all, const neo_lx *c); /* has `all` every conjunct of c? */
bool neo_lx_is_int(const neo_lx *e, int64_t *x);         /* an integer or bool constant */
bool neo_lx_uses(const neo_lx *e, uint32_t var);
/* By how much e grows with a variable. False: it is no plain sum of multiples of it. */
bool neo_lx_step(const neo_lx *e, uint32_t var, int64_t *step);
bool neo_lx_uses_var(neo_kernel *k, const neo_lx *e, uint32_t var);
/* Names a run-time size; returns `size`. */
uint32_t neo_kernel_size(neo_kernel *k, uint32_t size, const char *name);
/* Bytes that one worker needs: scratch buffers lie in order at multiples of 64 from
 * neo_rt_args.scratch; where it moves, from an address within a page after it.
 *
 * A processor takes a load for one of what an earlier store writes, and waits for that, if their
 * addresses agree in all but the page. A store past the caches is long on its way: a row in scratch
 * that is read a line behind where results are written waits at each line. So scratch begins half a
 * page from where the first buffer that streams does. */
enum { NEO_PAGE_BYTES = 4096 };
bool neo_kernel_scratch_moves(const neo_kernel *k);
int64_t neo_kernel_scratch_bytes(const neo_kernel *k);
int64_t neo_kernel_scratch_offset(const neo_kernel *k, uint32_t buf);

/* ---- text, checks, interpretation */
void neo_kernel_print(const neo_kernel *k, neo_str *out); /* loop/print.c: the text's form */
/* Null after an error, which d has. The kernel may still break a rule: verify it. (loop/parse.c) */
neo_kernel *neo_kernel_parse(neo_arena *a, neo_diags *d, const char *path, const char *text,
                             size_t n);
/* NEO_INTERNAL, and the first breach in *why. (loop/verify.c) */
neo_status neo_kernel_verify(const neo_kernel *k, neo_str *why) NEO_MUST_CHECK;

/* loop/interp.c: runs units [lo, hi), of a persistent kernel as one block. bufs[k]: elements of the
 * k-th buffer (scratch too), n_elems[k] how many: an access outside, a read of an undefined
 * register element, or a store to a READ buffer is NEO_INTERNAL with *why, as are two iterations of
 * one THREAD loop that meet at an element which one of them writes, and an access to what a copy
 * that is under way writes. */
typedef struct {
  neo_value *const *bufs;
  const int64_t *n_elems;
  const int64_t *sizes;
  uint64_t key[3];
  int64_t lo, hi;
  int64_t blocks; /* of a persistent kernel: it runs those lo + k*blocks; 0: all */
  uint64_t seed;  /* of the order in which iterations of THREAD loops run; 0: as they are counted */
} neo_kernel_run;
neo_status neo_kernel_interp(const neo_kernel *k, const neo_kernel_run *run,
                             neo_str *why) NEO_MUST_CHECK;
int64_t neo_kernel_units(const neo_kernel *k, const int64_t *sizes);
/* An expression of the kernel's over sizes and constants, as its units and extents of boxes are. */
int64_t neo_kernel_number(const neo_kernel *k, const neo_lx *e, const int64_t *sizes);

#endif

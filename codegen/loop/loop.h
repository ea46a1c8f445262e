/* The loop IR: what a kernel does, loop by loop. Free of LLVM: printed, verified and interpreted
 * here, and emitted by llvm/core/emit.c; tests also parse its text (tests/codegen/loop_parse.h). A lone definition and a fused group take the
 * same path.
 *
 * Meaning is scalar and sequential: run the statements in order, loops from lo upwards. Loop kinds
 * only promise something to the emitter, and the verifier checks what can be checked:
 *   SERIAL    nothing
 *   UNIT      the outermost statement of a kernel, at most one: iterations are independent; a
 *             worker runs a part of them. A persistent kernel has one in each arm of its SPECIALIZE
 *             instead
 *   UNROLL    constant trip count: emitted that many times, the variable a constant in each copy
 *   VECTOR    0..w with a constant w (the vector width; 1 is allowed): emitted once on vectors of w
 *             lanes. Iterations are independent but for registers indexed by the lane. Holds only
 *             SET, STORE (no loops, no IF); a SET in it has the lane as last index
 *   THREAD    0..t with a constant t, the same in the whole kernel: iterations are independent, and
 *             run by the threads of a GPU's block. What stands outside of these loops is the same
 *             for all of them, and stores nothing; registers with threads are a set for each
 *             iteration, which lives from one THREAD loop to the next
 *
 * On a GPU, a kernel with THREAD loops runs a unit in a block of threads, with scratch in shared
 * memory; one without runs a unit in a thread, and has no scratch. One THREAD loop ends before the
 * next begins: where they share memory, the emitter puts the barrier that this needs.
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
 * A kernel that is `persistent n` has blocks that take one unit after another, at most n of them on
 * a multiprocessor: block b of so many takes the units b, b + blocks, b + 2*blocks ... Its body is
 * a SPECIALIZE; each arm ends with a UNIT loop, all units, of which both walk those of the block,
 * and begins with registers that live as long as the block, and arrivals: phases of mbarriers go on
 * from unit to unit, and the producer may be a unit ahead.
 *
 * Everything lives in the kernel's arena. */
#pragma once
#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"
#include "codegen/loop/expr.h"
#include "codegen/loop/statement.h"
#include "ir/interp.h"
#include "ir/ir.h"

typedef enum { NEO_BUF_READ = 1, NEO_BUF_WRITE = 2, NEO_BUF_SCRATCH = 4 } neo_buf_use;
typedef struct {
  const char *name;
  uint8_t type, use;
  neo_tensor tensor; /* what it holds, in the group that the kernel was made from; 0 for scratch */
  int64_t shift;     /* its first element is this one of the tensor; other groups have their own */
  const neo_lx *origin;  /* over sizes: its first element is this one of what the kernel is given;
                           null: the first */
  int64_t scratch_elems; /* SCRATCH: per worker, constant */
  bool no_alias;         /* overlaps no other buffer of the kernel */
  bool nontemporal;      /* WRITE: vectors are written past the caches, where that is possible */
  int64_t align;         /* bytes; at least the element's size; only what is certain */
} neo_kbuf;

typedef struct {
  const char *name;
  uint8_t type, rank;
  int64_t extent[NEO_RANK];
  int64_t threads; /* 0; or the extent of THREAD loops: a register for each iteration */
} neo_reg;

struct neo_kernel {
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
  neo_map intern;                /* private to loop/expr.c */
};

/* ---- building (loop/kernel.c) */
neo_kernel *neo_kernel_new(neo_arena *a, const char *name);
uint32_t neo_kernel_buf(neo_kernel *k, neo_kbuf buf);
uint32_t neo_kernel_reg(neo_kernel *k, neo_reg reg);
/* A new variable. The printer makes equal names distinct. */
uint32_t neo_kernel_var(neo_kernel *k, const char *name);
/* Names a run-time size; returns `size`. */
uint32_t neo_kernel_size(neo_kernel *k, uint32_t size, const char *name);
/* Names all sizes of a module, and the indices of loops. */
void neo_kernel_name_sizes(neo_kernel *k, const neo_module *m);

/* ---- what a kernel has (loop/kernel.c) */
/* The kernel's UNIT loop, if it is the only statement; null: the kernel is one unit, or
 * persistent. */
const neo_ls *neo_kernel_unit_loop(const neo_kernel *k);
/* Its SPECIALIZE statement; null: it has none. */
const neo_ls *neo_kernel_specialized(const neo_kernel *k);
bool neo_kernel_has(const neo_kernel *k, neo_ls_kind kind);
bool neo_kernel_has_dots(const neo_kernel *k); /* of pairs */
/* May it read seed, step or call? */
bool neo_kernel_reads_key(const neo_kernel *k);
/* May data say how much each unit does? Loops or branches in units ask for elements of buffers. */
bool neo_kernel_uneven(const neo_kernel *k);
/* The extent of its THREAD loops; 0: it has none. */
int64_t neo_kernel_threads(const neo_kernel *k);
/* Threads of a GPU's block: these, and with a producer a warpgroup more. */
int64_t neo_kernel_block_threads(const neo_kernel *k);
/* Bytes that one worker needs: scratch buffers lie in order at multiples of 64 from
 * neo_rt_args.scratch; where it moves, from an address within a page after it.
 *
 * 4K aliasing: a processor takes a load to depend on an earlier store, and waits for the store,
 * if their addresses agree in the bits below the page. A nontemporal store takes long: a row in
 * scratch that is read one line behind the results being written would wait at each line. So
 * scratch begins half a page after the first nontemporal buffer. */
enum { NEO_PAGE_BYTES = 4096 };
bool neo_kernel_scratch_moves(const neo_kernel *k);
int64_t neo_kernel_scratch_bytes(const neo_kernel *k);
int64_t neo_kernel_scratch_offset(const neo_kernel *k, uint32_t buf);

/* ---- boxes (loop/box.c) */
int64_t neo_box_elements(const neo_box *b);
bool neo_box_same(const neo_box *a, const neo_box *b);
/* The tensor maps of the kernel, in the order of their first TMA copies: copies that differ only
 * in where their boxes begin share one. Returns how many there are. */
enum { NEO_KERNEL_MAPS = 4 };
typedef struct {
  uint32_t buf;
  const neo_box *box;
} neo_kernel_map;
uint32_t neo_kernel_maps(const neo_kernel *k, neo_kernel_map out[NEO_KERNEL_MAPS]);

/* ---- text, checks, interpretation */
void neo_kernel_print(const neo_kernel *k, neo_str *out); /* loop/print.c: the text's form */
/* A hash of that text without names and tensors: kernels with equal keys do the same. */
void neo_kernel_key(const neo_kernel *k, uint64_t key[2]);
/* A hash of all that code is made of, besides symbol and target: kernels with equal ones become the
 * same code. Threads may ask at once, each with a scratch of its own. */
void neo_kernel_code_key(const neo_kernel *k, neo_arena *scratch, uint64_t key[2]);
/* NEO_INTERNAL, and the first breach in *why. (loop/verify.c) */
neo_status neo_kernel_verify(const neo_kernel *k, neo_str *why) NEO_MUST_CHECK;

/* The memory of buffers that are no scratch. It is told of each access, of element `at` from what
 * the run was given on, by which unit. BROKEN (false), after it has reported why: units meet.
 * `adds`: they add to it. */
typedef enum { NEO_MEMORY_HELD, NEO_MEMORY_EMPTY, NEO_MEMORY_BROKEN } neo_memory_state;
typedef struct {
  void *ctx;
  neo_memory_state (*read)(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds);
  bool (*write)(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds);
} neo_kernel_memory;

/* loop/interp.c: runs units [lo, hi), of a persistent kernel as one block. bufs[k]: elements of the
 * k-th buffer (scratch too), n_elems[k] how many: an access outside, a read of an undefined
 * register element, a use of what nothing has written, a store to a READ buffer, or an index whose
 * arithmetic leaves i64 is NEO_INTERNAL with *why, as are two iterations of one THREAD loop that
 * meet at an element which one of them writes, and an access to what a copy that is under way
 * writes. */
typedef struct {
  neo_value *const *bufs;
  const int64_t *n_elems;
  const int64_t *sizes;
  uint64_t key[3];
  int64_t lo, hi;
  int64_t blocks; /* of a persistent kernel: it runs those lo + k*blocks; 0: all */
  uint64_t seed;  /* of the order in which iterations of THREAD loops run; 0: as they are counted */
  const neo_kernel_memory *memory; /* null: all elements have values */
} neo_kernel_run;
neo_status neo_kernel_interp(const neo_kernel *k, const neo_kernel_run *run,
                             neo_str *why) NEO_MUST_CHECK;
int64_t neo_kernel_units(const neo_kernel *k, const int64_t *sizes);
/* An expression of the kernel's over sizes and constants, as its units and extents of boxes are. */
int64_t neo_kernel_number(const neo_kernel *k, const neo_lx *e, const int64_t *sizes);

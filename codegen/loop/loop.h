/* The loop IR: a kernel as loops and statements, independent of LLVM. This folder prints, verifies
 * and interprets it, llvm/core/emit.c emits code, and tests parse its text
 * (tests/codegen/loop_parse.h). Single definitions and fused groups have the same path.
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
 *   THREAD    0..t with a constant t, the same in the whole kernel: iterations are independent; the
 *             threads of a GPU's block run them. Statements outside of these loops are the same for
 *             all threads, and store nothing. A register with threads has a set of elements for
 *             each iteration, which lives from one THREAD loop to the next
 *
 * On a GPU, a block of threads runs a unit of a kernel with THREAD loops, with scratch in shared
 * memory; in a kernel without them a single thread runs a unit, and there is no scratch. One THREAD
 * loop ends before the next begins: the emitter puts a barrier between them if they share memory
 * (llvm/nvptx/sync.c).
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
 * In a kernel that is `persistent n`, a block runs several units, and a multiprocessor has at most
 * n blocks: block b runs the units b, b + blocks, b + 2*blocks ... The body is a SPECIALIZE. Each
 * arm begins with registers that live as long as the block, and with arrivals, and ends with a UNIT
 * loop over the same units. Phases of mbarriers continue from unit to unit, and the producer may be
 * a unit ahead.
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
#include "ir/interp/interp.h"
#include "ir/ir.h"

typedef enum { NEO_BUF_READ = 1, NEO_BUF_WRITE = 2, NEO_BUF_SCRATCH = 4 } neo_buf_use;
typedef struct {
  const char *name;
  uint8_t type, use;
  neo_tensor tensor; /* a tensor of the kernel's first group; 0 for scratch */
  int64_t shift; /* the element of that tensor that is element 0; other groups have other values */
  const neo_lx
      *origin; /* over sizes: the element of the argument that is element 0; null: the first */
  int64_t scratch_elems; /* SCRATCH: per worker, constant */
  bool no_alias;         /* overlaps no other buffer of the kernel */
  bool nontemporal;      /* WRITE: stores of vectors are nontemporal, where that is possible */
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
  int64_t persistent; /* n > 0: a block runs several units, at most n blocks on a multiprocessor */
  neo_block body;
  neo_span span;
  NEO_VEC(const neo_lx *) nodes; /* by id */
  neo_map intern;                /* private to loop/expr.c */
};

/* ---- building (loop/kernel.c) */
/* An empty kernel of one unit, in arena `a`, which its parts will be in as well. */
neo_kernel *neo_kernel_new(neo_arena *a, const char *name);
/* Add a buffer or a register; return its number. */
uint32_t neo_kernel_buf(neo_kernel *k, neo_kbuf buf);
/* Adds a buffer of `elements` elements in a worker's scratch memory (in a block's shared memory on
 * a GPU), with that memory's alignment; returns its number. `name` is kept. */
uint32_t neo_kernel_scratch(neo_kernel *k, const char *name, neo_type type, int64_t elements);
uint32_t neo_kernel_reg(neo_kernel *k, neo_reg reg);
/* A new variable. The printer makes equal names distinct. */
uint32_t neo_kernel_var(neo_kernel *k, const char *name);
/* Names a run-time size; returns `size`. */
uint32_t neo_kernel_size(neo_kernel *k, uint32_t size, const char *name);
/* Names all sizes of a module, and the indices of loops. */
void neo_kernel_name_sizes(neo_kernel *k, const neo_module *m);

/* ---- properties of a kernel (loop/kernel.c) */
/* The kernel's UNIT loop, if it is the only statement; null: the kernel is one unit, or
 * persistent. */
const neo_ls *neo_kernel_unit_loop(const neo_kernel *k);
/* Its SPECIALIZE statement; null: it has none. */
const neo_ls *neo_kernel_specialized(const neo_kernel *k);
/* Whether the kernel has a statement of that kind, at any depth. */
bool neo_kernel_has(const neo_kernel *k, neo_ls_kind kind);
/* Whether the kernel has dot products of pairs. */
bool neo_kernel_has_dots(const neo_kernel *k);
/* May it read seed, step or call? */
bool neo_kernel_reads_key(const neo_kernel *k);
/* May the work of units depend on data? True if loops or branches in units read elements of
 * buffers. */
bool neo_kernel_uneven(const neo_kernel *k);
/* Has it a loop that may end before its last iteration? */
bool neo_kernel_ends_early(const neo_kernel *k);
/* The extent of its THREAD loops; 0: it has none. */
int64_t neo_kernel_threads(const neo_kernel *k);
/* Threads of a GPU's block: those of THREAD loops, and one more warpgroup with a producer. */
int64_t neo_kernel_block_threads(const neo_kernel *k);
/* The scratch of one worker: its bytes, and the offsets of its buffers, in order at multiples of 64
 * from neo_rt_args.scratch. If scratch moves, it begins at an address within a page after that.
 *
 * Scratch moves because of 4K aliasing: if the addresses of a load and an earlier store agree in
 * the bits below the page, a processor assumes a dependence and waits for the store. A nontemporal
 * store takes long, so reads of a row in scratch one line after the lines being written would wait
 * at each line. Therefore scratch begins half a page after the first nontemporal buffer. */
enum { NEO_PAGE_BYTES = 4096 };
/* Whether calls shift the scratch memory by a part of a page: kernels of CPUs with nontemporal
 * buffers and scratch. */
bool neo_kernel_scratch_moves(const neo_kernel *k);
/* The bytes of scratch memory that one worker needs, including room for the shift. */
int64_t neo_kernel_scratch_bytes(const neo_kernel *k);
/* The offset in bytes of a buffer in the scratch memory. */
int64_t neo_kernel_scratch_offset(const neo_kernel *k, uint32_t buf);

/* ---- boxes (loop/box.c) */
/* The number of elements that a box copies. */
int64_t neo_box_elements(const neo_box *b);
/* Whether two boxes have equal ranks, extents, strides and counts. */
bool neo_box_same(const neo_box *a, const neo_box *b);
/* The tensor maps of the kernel, in the order of their first TMA copies: copies that differ only in
 * the beginnings of their boxes share a map. Returns their number. */
enum { NEO_KERNEL_MAPS = 4 };
typedef struct {
  uint32_t buf;
  const neo_box *box;
} neo_kernel_map;
/* The tensor maps that the kernel's box copies need; returns their number, at most
 * NEO_KERNEL_MAPS. */
uint32_t neo_kernel_maps(const neo_kernel *k, neo_kernel_map out[NEO_KERNEL_MAPS]);

/* ---- text, checks, interpretation */
void neo_kernel_print(const neo_kernel *k,
                      neo_str *out); /* loop/print.c has the form of the text */
/* A hash of that text without names and tensors: kernels with equal keys compute the same. */
void neo_kernel_key(const neo_kernel *k, uint64_t key[2]);
/* A hash of everything that code depends on, except symbol and target: kernels with equal hashes
 * have the same code. Several threads may call it at once, each with a scratch of its own. */
void neo_kernel_code_key(const neo_kernel *k, neo_arena *scratch, uint64_t key[2]);
/* NEO_INTERNAL with the first violation in *why. (loop/verify.c) */
neo_status neo_kernel_verify(const neo_kernel *k, neo_str *why) NEO_MUST_CHECK;

/* A model of the memory of all buffers but scratch, which sees each access: the unit, and element
 * `at` of the buffer that the run got. It returns BROKEN (false) after it has reported a race of
 * units. adds: an atomic addition. */
typedef enum { NEO_MEMORY_HELD, NEO_MEMORY_EMPTY, NEO_MEMORY_BROKEN } neo_memory_state;
typedef struct {
  void *ctx;
  neo_memory_state (*read)(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds);
  bool (*write)(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds);
} neo_kernel_memory;

/* The interpreter (loop/interp.c): runs units [lo, hi), those of a persistent kernel as one block.
 * bufs[k]: elements of the k-th buffer (scratch too); n_elems[k]: their number. It returns
 * NEO_INTERNAL with *why for an access outside of a buffer, a read of an undefined register
 * element, a use of an element that was never written, a store to a READ buffer, an index whose
 * arithmetic leaves i64, a race of two iterations of one THREAD loop, and an access to elements
 * that an asynchronous copy in flight writes. */
typedef struct {
  neo_value *const *bufs;
  const int64_t *n_elems;
  const int64_t *sizes;
  uint64_t key[3];
  int64_t lo, hi;
  int64_t blocks;                  /* runs the units lo + k*blocks of a persistent kernel; 0: all */
  uint64_t seed;                   /* shuffles iterations of THREAD loops; 0: ascending */
  const neo_kernel_memory *memory; /* null: all elements have values */
} neo_kernel_run;
neo_status neo_kernel_interp(const neo_kernel *k, const neo_kernel_run *run,
                             neo_str *why) NEO_MUST_CHECK;
/* The number of units of work, which threads divide among themselves, for these run-time sizes. */
int64_t neo_kernel_units(const neo_kernel *k, const int64_t *sizes);
/* The value of an expression over sizes and constants, such as the units of a kernel or the extents
 * of a box. */
int64_t neo_kernel_number(const neo_kernel *k, const neo_lx *e, const int64_t *sizes);

/* A persistent kernel: its blocks run the blocks of several kernels, phase after phase, and the
 * loops around them.
 *
 *   void symbol(buffers of each kernel and loop..., sizes..., seed, step, call, units of each...,
 *               place)
 *
 *   kernel A (8 blocks), kernel B (4 blocks), kernel C reads A and B, on a grid of 4 blocks  ->
 *     phase 0   block b runs A b, A b + 4, B b
 *     barrier   of the grid
 *     phase 1   block b runs C b, C b + 4, ...
 *
 * Kernels of a phase do not depend on each other, and their blocks are numbered together: block b
 * of this grid runs blocks b, b + grid, b + 2*grid ... The exception are lone kernels, which have
 * one block each, and loops around lone kernels alone: they may depend on earlier lone ones of the
 * phase, so number 0 stands for all of them, and one block runs them in order.
 *
 * The grid barrier between two phases is a counter, `place`: 4 bytes of global memory that begin as
 * 0. It needs all blocks on the device at the same time (a cooperative launch). Each block adds 1;
 * block 0 adds the rest up to 2^31. So the top bit changes when all blocks have arrived, the other
 * bits are 0 again, and the next barrier needs no initialization, for any number of blocks. The
 * addition releases and the load acquires, both for the whole device: every thread sees what any
 * thread of another block wrote before the barrier.
 *
 * Every block counts the iterations of a loop itself. The index of the iteration is a size of the
 * kernels in the loop; the addresses of their buffers and their numbers of units are computed from
 * it. The blocks meet after an iteration if the first phase of the next iteration depends on its
 * last phase. A loop over blocks of rows reads, at its beginning, the first row of each block from
 * a buffer of its own, which an earlier phase may have written.
 *
 * In a kernel with fewer threads than the others, the remaining threads of a block are idle and
 * take part in no barrier of the kernel. A kernel whose threads are units uses all threads. The
 * threads of a block meet at the end of a block that has shared memory, because the next block uses
 * that memory again. */
#include "codegen/llvm/nvptx/nvptx.h"
#include "neo/neo_rt.h"
#include <assert.h>

typedef struct {
  neo_llvm *l;
  const neo_grid_part *part;
  size_t n;
  int64_t threads;
  neo_ll_gen *gen;      /* [part] */
  LLVMValueRef *blocks; /* [part] number of blocks */
  LLVMValueRef *rows;   /* [part] of a loop over blocks: the buffer of each block's first row */
  LLVMValueRef *size;   /* values of the model's sizes, in the current iteration */
  LLVMValueRef fn, place;
  LLVMBasicBlockRef entry;
} grid;

static LLVMBasicBlockRef new_block(const grid *x, const char *name) {
  return LLVMAppendBasicBlockInContext(x->l->ctx, x->fn, name);
}

/* ---- parameters */

/* The first kernel: all kernels of a model have the same sizes. */
static const neo_kernel *some_kernel(const grid *x) {
  size_t i = 0;
  while (!x->part[i].kernel)
    i++;
  return x->part[i].kernel;
}

static bool has_blocks(const neo_grid_part *part) {
  return !part->kernel && part->begin >= 0;
}

static void make_function(grid *x, const char *symbol) {
  size_t n_buffers = 0, n_sizes = some_kernel(x)->sizes.n;
  for (size_t i = 0; i < x->n; i++)
    n_buffers +=
        x->part[i].kernel ? neo_ll_gpu_buffers(x->part[i].kernel) : has_blocks(&x->part[i]);
  x->fn = neo_ll_gpu_new_function(x->l, symbol, n_buffers, n_sizes + 3 + x->n + 1, 0);
  x->entry = new_block(x, "entry");
  LLVMBasicBlockRef first = new_block(x, "start");
  LLVMPositionBuilderAtEnd(x->l->entry, x->entry);
  LLVMPositionBuilderAtEnd(x->l->b, first);
}

static void make_parts(grid *x, const char *symbol) {
  neo_arena *a = x->l->arena;
  x->gen = NEO_NEW_ARRAY(a, neo_ll_gen, x->n);
  for (size_t i = 0; i < x->n; i++) {
    const neo_kernel *k = x->part[i].kernel;
    x->gen[i] =
        (neo_ll_gen){.l = x->l, .k = k, .fn = x->fn, .entry_block = x->entry, .team = x->threads};
    if (!k)
      continue;
    x->gen[i].threads = neo_kernel_threads(k);
    neo_ll_state(&x->gen[i], neo_arena_printf(a, "%s.%zu", symbol, i));
  }
}

static void give(grid *x) {
  unsigned at = 0, n_sizes = (unsigned)some_kernel(x)->sizes.n;
  x->rows = NEO_NEW_ARRAY(x->l->arena, LLVMValueRef, x->n);
  for (size_t i = 0; i < x->n; i++)
    if (x->part[i].kernel)
      at = neo_ll_gpu_give_buffers(&x->gen[i], at);
    else if (has_blocks(&x->part[i]))
      x->rows[i] = neo_ll_gpu_given(&x->gen[0], neo_ll_ptr_type(x->l), at++);
  x->size = NEO_NEW_ARRAY(x->l->arena, LLVMValueRef, n_sizes + 3);
  for (unsigned k = 0; k < n_sizes + 3; k++)
    x->size[k] = neo_ll_gpu_given(&x->gen[0], neo_ll_i64(x->l), at++);
  x->blocks = NEO_NEW_ARRAY(x->l->arena, LLVMValueRef, x->n);
  for (size_t i = 0; i < x->n; i++) {
    neo_ll_gen *g = &x->gen[i];
    assert((!g->k || g->k->sizes.n == n_sizes) && "all kernels of a model have its sizes");
    for (unsigned k = 0; k < 3; k++)
      g->key[k] = x->size[n_sizes + k];
    g->units = neo_ll_gpu_given(g, neo_ll_i64(x->l), at++);
  }
  x->place = neo_ll_gpu_given(&x->gen[0], neo_ll_i64(x->l), at);
}

static LLVMValueRef blocks_of(const grid *x, const neo_ll_gen *g) {
  LLVMBuilderRef b = x->l->b;
  if (g->threads)
    return g->units;
  LLVMValueRef more = LLVMBuildNSWAdd(b, g->units, neo_ll_int64(x->l, x->threads - 1), "");
  return LLVMBuildSDiv(b, more, neo_ll_int64(x->l, x->threads), "");
}

/* ---- Code for size programs (neo_rt.h). The host evaluates them before a launch; a persistent
 * kernel evaluates them in each iteration of its loops. */

enum { STACK = 32 }; /* as deep as the runtime's */

static neo_op op_of(int64_t code) {
  switch (code) {
  case NEO_RT_OP_ADD:
    return NEO_OP_ADD;
  case NEO_RT_OP_SUB:
    return NEO_OP_SUB;
  case NEO_RT_OP_MUL:
    return NEO_OP_MUL;
  case NEO_RT_OP_DIV:
    return NEO_OP_DIV;
  case NEO_RT_OP_MOD:
    return NEO_OP_MOD;
  case NEO_RT_OP_MIN:
    return NEO_OP_MIN;
  default:
    assert(code == NEO_RT_OP_MAX && "a size program");
    return NEO_OP_MAX;
  }
}

/* The value of a size program at these sizes. */
static LLVMValueRef gpu_program(neo_llvm *l, const int64_t *code, const LLVMValueRef *size) {
  LLVMValueRef stack[STACK + 1];
  int n = 0;
  while (*code != NEO_RT_OP_END) {
    assert(n < STACK && "programs are shallow");
    int64_t op = *code++;
    if (op == NEO_RT_OP_CONST) {
      stack[n++] = neo_ll_int64(l, *code++);
    } else if (op == NEO_RT_OP_SIZE) {
      stack[n++] = size[*code++];
    } else {
      n--;
      stack[n - 1] = neo_ll_op(l, op_of(op), NEO_I64_T, NEO_I64_T, &stack[n - 1]);
    }
  }
  return stack[0];
}

/* Sets the sizes, units and addresses of part i for the current iteration. */
static void begin_kernel(grid *x, size_t i) {
  neo_ll_gen *g = &x->gen[i];
  for (size_t k = 0; k < g->k->sizes.n; k++)
    g->size[k] = x->size[k];
  if (x->part[i].units) {
    LLVMValueRef units[] = {gpu_program(x->l, x->part[i].units, x->size), neo_ll_int64(x->l, 0)};
    g->units = neo_ll_op(x->l, NEO_OP_MAX, NEO_I64_T, NEO_I64_T, units);
  }
  x->blocks[i] = blocks_of(x, g);
  neo_ll_origins(g);
}

/* ---- all blocks meet */

static void meet_threads(grid *x) {
  neo_ll_gen every = {.l = x->l, .fn = x->fn, .threads = x->threads, .team = x->threads};
  neo_ll_gpu_barrier(&every);
}

/* The grid barrier. On an emulated device it is "neo_gpu_grid_meet(place, adds)". */
static void arrive_and_wait(grid *x) {
  static const char text[] = "{\n"
                             ".reg .pred early;\n"
                             ".reg .b32 was, is;\n"
                             "atom.add.acq_rel.gpu.global.u32 was, [$0], $1;\n"
                             "again:\n"
                             "ld.acquire.gpu.global.u32 is, [$0];\n"
                             "xor.b32 is, is, was;\n"
                             "setp.ge.s32 early, is, 0;\n"
                             "@early bra again;\n"
                             "}";
  LLVMBuilderRef b = x->l->b;
  LLVMValueRef zero = neo_ll_int64(x->l, 0);
  LLVMValueRef is_first =
      LLVMBuildICmp(b, LLVMIntEQ, neo_ll_gpu_place(&x->gen[0], NEO_GPU_BLOCK), zero, "");
  LLVMValueRef grid_size = neo_ll_gpu_place(&x->gen[0], NEO_GPU_BLOCKS);
  LLVMValueRef missing = LLVMBuildSub(b, neo_ll_int64(x->l, (int64_t)1 << 31),
                                      LLVMBuildSub(b, grid_size, neo_ll_int64(x->l, 1), ""), "");
  LLVMValueRef adds = LLVMBuildSelect(b, is_first, missing, neo_ll_int64(x->l, 1), "");
  LLVMValueRef arg[] = {x->place, LLVMBuildTrunc(b, adds, neo_ll_i32(x->l), "")};
  if (x->l->target.emulated)
    neo_ll_tell(x->l, "neo_gpu_grid_meet", arg, 2);
  else
    neo_ll_gpu_assembly(&x->gen[0], text, "lr", arg);
}

static void meet_blocks(grid *x) {
  LLVMBuilderRef b = x->l->b;
  LLVMBasicBlockRef one = new_block(x, "arrive"), after = new_block(x, "met");
  meet_threads(x);
  LLVMValueRef thread = neo_ll_gpu_place(&x->gen[0], NEO_GPU_THREAD);
  LLVMValueRef is_one = LLVMBuildICmp(b, LLVMIntEQ, thread, neo_ll_int64(x->l, 0), "");
  LLVMBuildCondBr(b, is_one, one, after);
  LLVMPositionBuilderAtEnd(b, one);
  arrive_and_wait(x);
  LLVMBuildBr(b, after);
  LLVMPositionBuilderAtEnd(b, after);
  meet_threads(x);
}

/* ---- blocks of a kernel */

static void run_block(grid *x, neo_ll_gen *g) {
  LLVMBuilderRef b = x->l->b;
  if (!g->threads || g->threads == x->threads) {
    neo_ll_body(g);
    return;
  }
  LLVMBasicBlockRef run = new_block(x, "run"), after = new_block(x, "idle");
  LLVMValueRef thread = neo_ll_gpu_place(g, NEO_GPU_THREAD);
  LLVMValueRef takes_part =
      LLVMBuildICmp(b, LLVMIntSLT, thread, neo_ll_int64(x->l, g->threads), "");
  LLVMBuildCondBr(b, takes_part, run, after);
  LLVMPositionBuilderAtEnd(b, run);
  neo_ll_body(g);
  LLVMBuildBr(b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, after);
}

/* Runs this block's share of the blocks of part i: the first one is number `first`. Returns the
 * number, in the next kernel of the phase, of the block that comes next. */
static LLVMValueRef run_blocks(grid *x, size_t i, LLVMValueRef first) {
  LLVMBuilderRef b = x->l->b;
  neo_ll_gen *g = &x->gen[i];
  begin_kernel(x, i);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b);
  LLVMBasicBlockRef body = new_block(x, "blocks"), after = new_block(x, "taken");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, first, x->blocks[i], ""), body, after);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef block = LLVMBuildPhi(b, neo_ll_i64(x->l), "");
  LLVMAddIncoming(block, &first, &from, 1);
  g->block = block;
  run_block(x, g);
  if (neo_kernel_scratch_bytes(g->k))
    meet_threads(x);
  LLVMValueRef next = LLVMBuildNSWAdd(b, block, neo_ll_gpu_place(g, NEO_GPU_BLOCKS), "");
  LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
  LLVMAddIncoming(block, &next, &last, 1);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, x->blocks[i], ""), body, after);
  LLVMMoveBasicBlockAfter(after, last);
  LLVMPositionBuilderAtEnd(b, after);
  LLVMValueRef end = LLVMBuildPhi(b, neo_ll_i64(x->l), "");
  LLVMAddIncoming(end, (LLVMValueRef[]){first, next}, (LLVMBasicBlockRef[]){from, last}, 2);
  return LLVMBuildNSWSub(b, end, x->blocks[i], "");
}

/* Runs a lone kernel, if it has a block; the barrier shows its results to the next lone kernel. */
static void run_lone(grid *x, size_t i) {
  LLVMBuilderRef b = x->l->b;
  neo_ll_gen *g = &x->gen[i];
  LLVMBasicBlockRef run = new_block(x, "lone"), after = new_block(x, "done");
  LLVMValueRef zero = neo_ll_int64(x->l, 0);
  begin_kernel(x, i);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSGT, x->blocks[i], zero, ""), run, after);
  LLVMPositionBuilderAtEnd(b, run);
  g->block = zero;
  run_block(x, g);
  meet_threads(x);
  LLVMBuildBr(b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, after);
}

/* ---- parts */

typedef struct { /* the parts of one loop, or those in none */
  size_t first, end;
} range;

static size_t item_end(const grid *x, size_t i) {
  return i + 1 + (x->part[i].kernel ? 0 : (size_t)x->part[i].n);
}

static void run_loop(grid *x, size_t i);

/* Runs all lone parts of a phase in block 0. Returns the first block, by number among the blocks of
 * the other parts, that this block runs. */
static LLVMValueRef run_all_lone(grid *x, range of, int32_t phase) {
  LLVMBuilderRef b = x->l->b;
  LLVMValueRef own = neo_ll_gpu_place(&x->gen[0], NEO_GPU_BLOCK), zero = neo_ll_int64(x->l, 0);
  bool any = false;
  for (size_t i = of.first; i < of.end; i = item_end(x, i))
    any = any || (x->part[i].phase == phase && x->part[i].lone);
  if (!any)
    return own;
  LLVMBasicBlockRef first = new_block(x, "first"), others = new_block(x, "others");
  LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, own, zero, "");
  LLVMBuildCondBr(b, is_first, first, others);
  LLVMPositionBuilderAtEnd(b, first);
  for (size_t i = of.first; i < of.end; i = item_end(x, i)) {
    if (x->part[i].phase != phase || !x->part[i].lone)
      continue;
    if (x->part[i].kernel)
      run_lone(x, i);
    else
      run_loop(x, i);
  }
  LLVMBuildBr(b, others);
  LLVMMoveBasicBlockAfter(others, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, others);
  LLVMValueRef blocks = neo_ll_gpu_place(&x->gen[0], NEO_GPU_BLOCKS);
  LLVMValueRef from = LLVMBuildSelect(b, is_first, blocks, own, "");
  return LLVMBuildNSWSub(b, from, neo_ll_int64(x->l, 1), "");
}

static void run_phase(grid *x, range of, int32_t phase) {
  LLVMValueRef first = NULL;
  for (size_t i = of.first; i < of.end; i = item_end(x, i)) {
    if (x->part[i].phase != phase || x->part[i].lone)
      continue;
    if (!x->part[i].kernel) {
      run_loop(x, i);
      return;
    }
    first = first ? first : run_all_lone(x, of, phase);
    first = run_blocks(x, i, first);
  }
  if (!first)
    (void)run_all_lone(x, of, phase);
}

static void run_range(grid *x, range of) {
  int32_t phases = 0;
  for (size_t i = of.first; i < of.end; i = item_end(x, i))
    phases = x->part[i].phase >= phases ? x->part[i].phase + 1 : phases;
  for (int32_t p = 0; p < phases; p++) {
    if (p)
      meet_blocks(x);
    run_phase(x, of, p);
  }
}

/* ---- Loops over blocks of rows (neo_rt_loop) in a persistent kernel: iteration b has the rows
 * t[b] .. t[b + 1] - 1, and t never decreases. There may be as many empty blocks after the last
 * row as there are rows, so one binary search finds the first of them, and the loop ends there. */

/* The first row of block `at`. */
static LLVMValueRef gpu_row(neo_llvm *l, LLVMValueRef rows, LLVMValueRef at) {
  LLVMTypeRef i32 = neo_ll_i32(l);
  LLVMValueRef place = LLVMBuildInBoundsGEP2(l->b, i32, rows, &at, 1, "");
  return LLVMBuildSExt(l->b, LLVMBuildLoad2(l->b, i32, place, ""), neo_ll_i64(l), "");
}

/* A new block of the function. */
static LLVMBasicBlockRef append(const neo_llvm *l, LLVMValueRef fn, const char *name) {
  return LLVMAppendBasicBlockInContext(l->ctx, fn, name);
}

/* The first block in [lo, hi) from which on no block has a row, or hi. */
static LLVMValueRef gpu_blocks_end(neo_llvm *l, LLVMValueRef fn, LLVMValueRef rows, LLVMValueRef lo,
                                   LLVMValueRef hi) {
  LLVMBuilderRef b = l->b;
  LLVMTypeRef i64 = neo_ll_i64(l);
  LLVMValueRef one = neo_ll_int64(l, 1);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b), search = append(l, fn, "search");
  LLVMBasicBlockRef look = append(l, fn, "look"), found = append(l, fn, "found");
  LLVMValueRef all = gpu_row(l, rows, hi);
  LLVMBuildBr(b, search);
  LLVMPositionBuilderAtEnd(b, search);
  LLVMValueRef first = LLVMBuildPhi(b, i64, ""), last = LLVMBuildPhi(b, i64, "");
  LLVMAddIncoming(first, &lo, &from, 1);
  LLVMAddIncoming(last, &hi, &from, 1);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, first, last, ""), look, found);
  LLVMPositionBuilderAtEnd(b, look);
  LLVMValueRef middle = LLVMBuildAShr(b, LLVMBuildNSWAdd(b, first, last, ""), one, "");
  LLVMValueRef before = LLVMBuildICmp(b, LLVMIntSLT, gpu_row(l, rows, middle), all, "");
  LLVMValueRef after = LLVMBuildNSWAdd(b, middle, one, "");
  LLVMValueRef next = LLVMBuildSelect(b, before, after, first, "");
  LLVMValueRef end = LLVMBuildSelect(b, before, last, middle, "");
  LLVMAddIncoming(first, &next, &look, 1);
  LLVMAddIncoming(last, &end, &look, 1);
  LLVMBuildBr(b, search);
  LLVMPositionBuilderAtEnd(b, found);
  return first;
}

/* Runs the parts of a loop in one iteration; of blocks of rows, in those before `next`. */
static void run_iteration(grid *x, size_t i, LLVMValueRef iteration, LLVMValueRef next) {
  const neo_grid_part *loop = &x->part[i];
  int32_t number[] = {loop->index, loop->begin, loop->end};
  LLVMValueRef before[3], now[3] = {iteration};
  LLVMBasicBlockRef body = NULL, after = NULL;
  if (has_blocks(loop)) {
    LLVMBuilderRef b = x->l->b;
    next = next ? next : LLVMBuildNSWAdd(b, iteration, neo_ll_int64(x->l, 1), "");
    now[1] = gpu_row(x->l, x->rows[i], iteration);
    now[2] = gpu_row(x->l, x->rows[i], next);
    body = new_block(x, "rows"), after = new_block(x, "none");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, now[1], now[2], ""), body, after);
    LLVMPositionBuilderAtEnd(b, body);
  }
  for (int k = 0; k < 3; k++)
    if (number[k] >= 0) {
      before[k] = x->size[number[k]];
      x->size[number[k]] = now[k];
    }
  run_range(x, (range){i + 1, item_end(x, i)});
  for (int k = 0; k < 3; k++)
    if (number[k] >= 0)
      x->size[number[k]] = before[k];
  if (!after)
    return;
  LLVMBuildBr(x->l->b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(x->l->b));
  LLVMPositionBuilderAtEnd(x->l->b, after);
}

/* A loop: all blocks run the same iterations, and each computes whether another one follows. */
static void run_loop(grid *x, size_t i) {
  LLVMBuilderRef b = x->l->b;
  const neo_grid_part *loop = &x->part[i];
  LLVMValueRef one = neo_ll_int64(x->l, 1);
  LLVMValueRef lo = gpu_program(x->l, loop->lo, x->size);
  LLVMValueRef hi = gpu_program(x->l, loop->hi, x->size);
  if (loop->whole) {
    run_iteration(x, i, lo, hi);
    return;
  }
  if (has_blocks(loop))
    hi = gpu_blocks_end(x->l, x->fn, x->rows[i], lo, hi);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b), iteration = new_block(x, "iteration");
  LLVMBasicBlockRef again = new_block(x, "again"), after = new_block(x, "iterations");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, lo, hi, ""), iteration, after);
  LLVMPositionBuilderAtEnd(b, iteration);
  LLVMValueRef k = LLVMBuildPhi(b, neo_ll_i64(x->l), ""), at = k;
  LLVMAddIncoming(k, &lo, &from, 1);
  if (loop->down)
    at = LLVMBuildSub(b, LLVMBuildAdd(b, lo, LLVMBuildSub(b, hi, one, ""), ""), k, "");
  run_iteration(x, i, at, NULL);
  LLVMValueRef next = LLVMBuildNSWAdd(b, k, one, "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, hi, ""), again, after);
  LLVMMoveBasicBlockAfter(again, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, again);
  if (loop->meets)
    meet_blocks(x);
  LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
  LLVMAddIncoming(k, &next, &last, 1);
  LLVMBuildBr(b, iteration);
  LLVMMoveBasicBlockAfter(after, last);
  LLVMPositionBuilderAtEnd(b, after);
}

neo_status neo_llvm_grid(neo_llvm *l, const neo_grid_part *part, size_t n, int64_t threads,
                         const char *symbol, const char **why) {
  grid x = {.l = l, .part = part, .n = n, .threads = threads};
  neo_str text = neo_str_in(l->arena);
  *why = "";
  assert(l->target.sm && n > 0 && "kernels of a GPU");
  for (size_t i = 0; i < n; i++) {
    neo_status s = part[i].kernel ? neo_kernel_verify(part[i].kernel, &text) : NEO_OK;
    *why = neo_str_text(&text);
    if (s)
      return s;
  }
  make_function(&x, symbol);
  LLVMBasicBlockRef first = LLVMGetInsertBlock(l->b);
  make_parts(&x, symbol);
  give(&x);
  neo_ll_gpu_most_threads(&x.gen[0], threads);
  if (!l->target
           .emulated) /* one block on a multiprocessor is enough, so registers are not scarce */
    neo_ll_text_attribute(l, x.fn, "nvvm.minctasm", "1");
  if (neo_target_waits(&l->target))
    neo_ll_gpu_wait(&x.gen[0]);
  run_range(&x, (range){0, n});
  LLVMBuildRetVoid(l->b);
  LLVMBuildBr(l->entry, first);
  return NEO_OK;
}

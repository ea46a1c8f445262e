/* Code of kernels for NVIDIA GPUs: declarations of the files of this folder. core/emit.c and
 * core/kernel.c, which call it, include it as well. block.c is below all other files, statement.c
 * and kernel.c above them.
 *
 * Values and lists live as long as their neo_llvm; lists are in its arena. */
#pragma once
#include "codegen/llvm/gen.h"

/* Emits a statement that only GPUs have (nvptx/statement.c). `block` emits the blocks inside of
 * it. */
void neo_ll_gpu_statement(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block);

/* ---- kernels of GPUs (llvm/nvptx/kernel.c): the function; the values of its parameters, which
 * need the state */
void neo_ll_gpu_function(neo_ll_gen *g, const char *symbol);
void neo_ll_gpu_arguments(neo_ll_gen *g);
/* Parts of a kernel's function, which a persistent kernel (llvm/nvptx/grid.c) uses too: the number
 * of buffers that are parameters, the function, its bound of threads, the values of buffers from
 * parameter `at` on, parameter n, and the wait for earlier kernels. */
size_t neo_ll_gpu_buffers(const neo_kernel *k);
LLVMValueRef neo_ll_gpu_new_function(neo_llvm *l, const char *symbol, size_t n_buffers,
                                     size_t n_words, size_t n_maps);
void neo_ll_gpu_most_threads(neo_ll_gen *g, int64_t threads);
unsigned neo_ll_gpu_give_buffers(neo_ll_gen *g, unsigned at);
LLVMValueRef neo_ll_gpu_given(neo_ll_gen *g, LLVMTypeRef type, unsigned n);
void neo_ll_gpu_wait(neo_ll_gen *g);
typedef enum { NEO_GPU_BLOCK, NEO_GPU_BLOCK_SIZE, NEO_GPU_THREAD, NEO_GPU_BLOCKS } neo_gpu_place;
LLVMValueRef neo_ll_gpu_place(neo_ll_gen *g, neo_gpu_place what); /* i64 */
/* The number of this thread in the grid; of this thread in its block; of its block. */
LLVMValueRef neo_ll_gpu_thread(neo_ll_gen *g);
LLVMValueRef neo_ll_gpu_lane(neo_ll_gen *g);
LLVMValueRef neo_ll_gpu_block(neo_ll_gen *g);
/* A barrier of the block's threads, after which each sees what the others have written. */
void neo_ll_gpu_barrier(neo_ll_gen *g);
/* The same barrier with a vote (loop/statement.h: vote). */
void neo_ll_vote(neo_ll_gen *g, const neo_ls *s);
/* The block's shared memory. */
LLVMValueRef neo_ll_gpu_shared(neo_ll_gen *g);
/* Statements of warps: llvm/nvptx/mma.c, llvm/nvptx/shuffle.c. */
void neo_ll_mma(neo_ll_gen *g, const neo_ls *s);
void neo_ll_ldmatrix(neo_ll_gen *g, const neo_ls *s);
void neo_ll_shuffle(neo_ll_gen *g, const neo_ls *s);
/* Statements of warpgroups: llvm/nvptx/wgmma.c. neo_ll_note_wgmma marks their registers and
 * buffers; it runs before registers are made. */
void neo_ll_note_wgmma(neo_ll_gen *g);
void neo_ll_wgmma(neo_ll_gen *g, const neo_ls *s);
void neo_ll_wgmma_wait(neo_ll_gen *g, const neo_ls *s);
/* Asynchronous copies and their groups: llvm/nvptx/cp_async.c. */
void neo_ll_cp_async(neo_ll_gen *g, const neo_ls *s);
/* llvm/nvptx/tma.c: the initialization of mbarriers at a kernel's beginning; boxes and mbarriers;
 * inline assembly without a result (`rule` has a letter for each argument's constraint); the
 * address of an element in shared memory, of 32 bits. */
void neo_ll_tma_begin(neo_ll_gen *g);
void neo_ll_tma(neo_ll_gen *g, const neo_ls *s);
void neo_ll_gpu_assembly(neo_ll_gen *g, const char *text, const char *rule, LLVMValueRef *arg);
LLVMValueRef neo_ll_shared_place(neo_ll_gen *g, const neo_element *of);
/* llvm/nvptx/specialize.c: the bound of the kernel's registers, and the buffers that mbarriers
 * order, both before anything else; the number of arrivals that complete a phase; the
 * statements. */
void neo_ll_bound_registers(neo_ll_gen *g);
void neo_ll_note_stages(neo_ll_gen *g);
int64_t neo_ll_mbarrier_arrivals(const neo_ll_gen *g);
void neo_ll_specialize(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block);
void neo_ll_mbarrier_arrive(neo_ll_gen *g, const neo_ls *s);
/* Barriers between loops of threads (llvm/nvptx/sync.c): the barrier before a statement; the
 * accesses that a wait for copies opens, and those that a vote closes; a copy of the open accesses;
 * the barrier at the end of the body of a loop around loops of threads; the open accesses from here
 * on: the union of both. */
void neo_ll_gpu_before(neo_ll_gen *g, const neo_ls *s);
void neo_ll_gpu_arrived(neo_ll_gen *g);
uint8_t *neo_ll_gpu_open(neo_ll_gen *g);
void neo_ll_gpu_loop_end(neo_ll_gen *g);
void neo_ll_gpu_set_open(neo_ll_gen *g, const uint8_t *open, const uint8_t *also);

/* What the files of kernels for GPUs share; core/emit.c and core/kernel.c, which stand above them, see
 * it as well. nvptx/block.c is below all others, nvptx/statement.c and nvptx/kernel.c above. */
#pragma once
#include "codegen/llvm/gen.h"

/* A statement that only a GPU has (nvptx/statement.c). */
void neo_ll_gpu_statement(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block);

/* ---- kernels of GPUs (llvm/nvptx/kernel.c): the function; what it is given, once the state is made */
void neo_ll_gpu_function(neo_ll_gen *g, const char *symbol);
void neo_ll_gpu_arguments(neo_ll_gen *g);
/* Parts of a kernel's function, which the kernels of a persistent grid (llvm/nvptx/grid.c) use
 * too: the number of buffers that a kernel is given, their values from a parameter on, and any
 * other parameter. */
size_t neo_ll_gpu_buffers(const neo_kernel *k);
LLVMValueRef neo_ll_gpu_new_function(neo_llvm *l, const char *symbol, size_t n_buffers,
                                     size_t n_words, size_t n_maps);
void neo_ll_gpu_most_threads(neo_ll_gen *g, int64_t threads);
unsigned neo_ll_gpu_give_buffers(neo_ll_gen *g, unsigned at);
LLVMValueRef neo_ll_gpu_given(neo_ll_gen *g, LLVMTypeRef type, unsigned n);
void neo_ll_gpu_wait(neo_ll_gen *g);
/* A size program's value, by the values of sizes (llvm/nvptx/program.c). */
LLVMValueRef neo_ll_gpu_program(neo_llvm *l, const int64_t *code, const LLVMValueRef *size);
/* Where block `at` of rows begins; the first block from lo on, or hi, with none behind it (llvm/nvptx/rows.c). */
LLVMValueRef neo_ll_gpu_row(neo_llvm *l, LLVMValueRef rows, LLVMValueRef at);
LLVMValueRef neo_ll_gpu_blocks_end(neo_llvm *l, LLVMValueRef fn, LLVMValueRef rows, LLVMValueRef lo,
                                   LLVMValueRef hi);
typedef enum { NEO_GPU_BLOCK, NEO_GPU_BLOCK_SIZE, NEO_GPU_THREAD, NEO_GPU_BLOCKS } neo_gpu_place;
LLVMValueRef neo_ll_gpu_place(neo_ll_gen *g, neo_gpu_place what); /* i64 */
/* The number of this thread in the grid, in its block; of its block. */
LLVMValueRef neo_ll_gpu_thread(neo_ll_gen *g);
LLVMValueRef neo_ll_gpu_lane(neo_ll_gen *g);
LLVMValueRef neo_ll_gpu_block(neo_ll_gen *g);
/* All threads of the block meet, and see what each has written. */
void neo_ll_gpu_barrier(neo_ll_gen *g);
/* The same barrier, with a vote. */
void neo_ll_vote(neo_ll_gen *g, const neo_ls *s);
/* The block's own memory. */
LLVMValueRef neo_ll_gpu_shared(neo_ll_gen *g);
/* llvm/nvptx/mma.c, llvm/nvptx/shuffle.c: what the warps of a block do together. */
void neo_ll_mma(neo_ll_gen *g, const neo_ls *s);
void neo_ll_ldmatrix(neo_ll_gen *g, const neo_ls *s);
void neo_ll_shuffle(neo_ll_gen *g, const neo_ls *s);
/* llvm/nvptx/wgmma.c: the same of warpgroups. Before registers are made it is noted which ones these
 * use, and which buffers. */
void neo_ll_note_wgmma(neo_ll_gen *g);
void neo_ll_wgmma(neo_ll_gen *g, const neo_ls *s);
void neo_ll_wgmma_wait(neo_ll_gen *g, const neo_ls *s);
/* llvm/nvptx/cp_async.c: copies, and their groups. */
void neo_ll_cp_async(neo_ll_gen *g, const neo_ls *s);
/* llvm/nvptx/tma.c: boxes, and mbarriers, which a kernel begins with making; inline assembly without
 * a result, a letter of the rule for each argument; the address of an element in shared memory, of
 * 32 bits. */
void neo_ll_tma_begin(neo_ll_gen *g);
void neo_ll_tma(neo_ll_gen *g, const neo_ls *s);
void neo_ll_gpu_assembly(neo_ll_gen *g, const char *text, const char *rule, LLVMValueRef *arg);
LLVMValueRef neo_ll_shared_place(neo_ll_gen *g, const neo_element *of);
/* llvm/nvptx/specialize.c: what the kernel's registers are bound to, and which buffers mbarriers are for,
 * before anything else; how many arrivals complete a phase; the statements. */
void neo_ll_bound_registers(neo_ll_gen *g);
void neo_ll_note_stages(neo_ll_gen *g);
int64_t neo_ll_mbarrier_arrivals(const neo_ll_gen *g);
void neo_ll_specialize(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block);
void neo_ll_mbarrier_arrive(neo_ll_gen *g, const neo_ls *s);
/* Barriers between loops of threads: before a statement; after one that waits for copies; a copy of
 * what is open; at the end of the body of a loop around them; what is open from here on (one or the
 * other). */
void neo_ll_gpu_before(neo_ll_gen *g, const neo_ls *s);
void neo_ll_gpu_arrived(neo_ll_gen *g);
void neo_ll_gpu_voted(neo_ll_gen *g);
uint8_t *neo_ll_gpu_open(neo_ll_gen *g);
void neo_ll_gpu_loop_end(neo_ll_gen *g);
void neo_ll_gpu_set_open(neo_ll_gen *g, const uint8_t *open, const uint8_t *also);

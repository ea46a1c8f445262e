/* Warp specialization (loop/statement.h: specialize): the last warpgroup is the producer, of which
 * one thread runs the producer's arm; the warpgroups before it are the consumers, the threads of
 * the kernel.
 *
 *   if tid < threads
 *     setmaxnreg.inc; the consumers' arm
 *   else
 *     setmaxnreg.dec; if tid == threads: the producer's arm
 *
 * Registers: at launch every thread has the kernel's bound (maxnreg), so that the block has the sum
 * of what the warpgroups need. Each warpgroup sets its own count at the beginning of its arm; no
 * code follows the arms. A warpgroup that needs more registers waits until another has released
 * some.
 *
 * MBARRIER_ARRIVE is one arrival of each warp of the consumers, by its first thread: a wait before
 * it (wgmma.wait_group) is one of the whole warp. On an emulated device each thread calls
 * "neo_gpu_arrive(phase, lane)", and calls with lane 0 count; "neo_gpu_registers(more, n,
 * at_first)" replaces setmaxnreg. */
#include "base/str.h"
#include "codegen/llvm/nvptx/nvptx.h"
#include <assert.h>

enum { WARP = 32, EIGHT = 8 };

/* ---- the kernel's bound */

/* The registers of each thread at launch: the sum of what the warpgroups need later, divided
 * evenly. */
static int64_t registers_at_first(const neo_ll_gen *g, const neo_ls *s) {
  const uint32_t *n = s->specialize.registers;
  int64_t all = n[NEO_PRODUCER] * (int64_t)NEO_WARPGROUP + n[NEO_CONSUMER] * g->threads;
  int64_t groups = EIGHT * neo_kernel_block_threads(g->k);
  return (all + groups - 1) / groups * EIGHT;
}

void neo_ll_bound_registers(neo_ll_gen *g) {
  const neo_ls *s = neo_kernel_specialized(g->k);
  if (!s || !s->specialize.registers[0] || g->l->target.emulated)
    return;
  long long n = registers_at_first(g, s);
  neo_ll_text_attribute(g->l, g->fn, "nvvm.maxnreg", neo_arena_printf(g->l->arena, "%lld", n));
}

/* Marks the buffers of stages: phases of mbarriers order their accesses, and barriers do not. */
void neo_ll_note_stages(neo_ll_gen *g) {
  const neo_ls *s = neo_kernel_specialized(g->k);
  for (uint32_t b = 0; s && b < g->k->bufs.n; b++)
    g->by_mbarriers[b] = g->matrix[b];
}

/* ---- statements */

static void set_registers(neo_ll_gen *g, const neo_ls *s, bool more) {
  uint32_t n = s->specialize.registers[more];
  if (!n)
    return;
  if (g->l->target.emulated) {
    LLVMValueRef arg[] = {neo_ll_int32(g->l, more), neo_ll_int32(g->l, n),
                          neo_ll_int32(g->l, registers_at_first(g, s))};
    neo_ll_tell(g->l, "neo_gpu_registers", arg, 3);
    return;
  }
  neo_str text = neo_str_in(g->l->arena);
  neo_str_addf(&text, "setmaxnreg.%s.sync.aligned.u32 %u;", more ? "inc" : "dec", n);
  neo_ll_gpu_assembly(g, neo_str_text(&text), "", NULL);
}

static void begin_arm(neo_ll_gen *g, LLVMBasicBlockRef at, neo_ll_role role) {
  LLVMMoveBasicBlockAfter(at, LLVMGetInsertBlock(g->l->b));
  LLVMPositionBuilderAtEnd(g->l->b, at);
  g->role = role;
}

void neo_ll_specialize(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef consumers = neo_ll_new_block(g, "consumers"),
                    warps = neo_ll_new_block(g, "producers");
  LLVMBasicBlockRef one = neo_ll_new_block(g, "producer"), after = neo_ll_new_block(g, "after");
  LLVMValueRef lane = neo_ll_gpu_lane(g), threads = neo_ll_int64(g->l, g->threads);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, lane, threads, ""), consumers, warps);
  begin_arm(g, consumers, NEO_LL_CONSUMER);
  set_registers(g, s, true);
  block(g, &s->specialize.arm[NEO_CONSUMER]);
  LLVMBuildBr(b, after);
  begin_arm(g, warps, NEO_LL_PRODUCER);
  set_registers(g, s, false);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, lane, threads, ""), one, after);
  begin_arm(g, one, NEO_LL_PRODUCER);
  block(g, &s->specialize.arm[NEO_PRODUCER]);
  LLVMBuildBr(b, after);
  begin_arm(g, after, NEO_LL_ALL);
}

void neo_ll_mbarrier_arrive(neo_ll_gen *g, const neo_ls *s) {
  static const char text[] = "{\n\t.reg .pred p;\n\tsetp.eq.u32 p, $1, 0;\n\t"
                             "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n\t}";
  LLVMBuilderRef b = g->l->b;
  LLVMValueRef mbarrier = neo_ll_shared_place(g, &s->mbarrier_arrive.mbarrier);
  assert(g->role == NEO_LL_CONSUMER && "consumers arrive");
  LLVMValueRef lane = LLVMBuildTrunc(b, neo_ll_gpu_lane(g), neo_ll_i32(g->l), "");
  LLVMValueRef arg[] = {mbarrier, LLVMBuildAnd(b, lane, neo_ll_int32(g->l, WARP - 1), "")};
  if (g->l->target.emulated)
    neo_ll_tell(g->l, "neo_gpu_arrive", arg, 2);
  else
    neo_ll_gpu_assembly(g, text, "rr", arg);
}

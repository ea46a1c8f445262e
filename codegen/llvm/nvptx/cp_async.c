/* Asynchronous copies into shared memory (cp.async), from sm_80 on, by LLVM's intrinsics of NVPTX.
 * The intrinsics take the number of source bytes and write zeros after them. If the statement's
 * condition does not hold, that number is 0: the copy reads nothing and writes zeros. Copies of 16
 * bytes bypass the first cache. A copy whose address is not known to be a multiple of its size is
 * split into smaller ones.
 *
 * On an emulated device a thread calls "neo_gpu_copy(to, from, bytes, taken)", "neo_gpu_commit()"
 * and "neo_gpu_copied(groups)"; the emulator copies as late as possible. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <assert.h>

enum { GLOBAL_SPACE = 1, SHARED_SPACE = 3, LEAST_BYTES = 4 };

static void tell(neo_ll_gen *g, const char *symbol, LLVMTypeRef *type, LLVMValueRef *arg,
                 unsigned n) {
  LLVMTypeRef fn = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), type, n, false);
  LLVMBuildCall2(g->l->b, fn, neo_ll_extern(g->l, symbol, fn), arg, n, "");
}

static LLVMValueRef in_space(neo_ll_gen *g, LLVMValueRef at, unsigned space) {
  return LLVMBuildAddrSpaceCast(g->l->b, at, LLVMPointerTypeInContext(g->l->ctx, space), "");
}

static LLVMValueRef offset_by(neo_ll_gen *g, LLVMValueRef at, uint32_t bytes, bool inside) {
  LLVMTypeRef i8 = LLVMInt8TypeInContext(g->l->ctx);
  LLVMValueRef far = neo_ll_int64(g->l, bytes);
  if (!bytes)
    return at;
  return inside ? LLVMBuildInBoundsGEP2(g->l->b, i8, at, &far, 1, "")
                : LLVMBuildGEP2(g->l->b, i8, at, &far, 1, "");
}

static void part(neo_ll_gen *g, LLVMValueRef to, LLVMValueRef from, uint32_t bytes,
                 LLVMValueRef taken) {
  const char *name = bytes == 16  ? "llvm.nvvm.cp.async.cg.shared.global.16.s"
                     : bytes == 8 ? "llvm.nvvm.cp.async.ca.shared.global.8.s"
                                  : "llvm.nvvm.cp.async.ca.shared.global.4.s";
  LLVMTypeRef ptr = neo_ll_ptr_type(g->l), type[] = {ptr, ptr, neo_ll_i32(g->l), neo_ll_i32(g->l)};
  LLVMValueRef all = neo_ll_int32(g->l, bytes);
  if (!taken)
    taken = all;
  else
    taken = LLVMBuildSelect(g->l->b, taken, all, neo_ll_int32(g->l, 0), "");
  if (g->l->target.emulated)
    tell(g, "neo_gpu_copy", type, (LLVMValueRef[]){to, from, all, taken}, 4);
  else
    neo_ll_call(
        g->l, name, NULL,
        (LLVMValueRef[]){in_space(g, to, SHARED_SPACE), in_space(g, from, GLOBAL_SPACE), taken}, 3);
}

/* The source address. Loads in the offset are under the condition, too. */
static LLVMValueRef source(neo_ll_gen *g, const neo_ls *s, neo_ll_val cond, uint32_t *align) {
  neo_ll_val before = g->guard;
  uint32_t at = neo_ll_enter(g);
  g->guard = neo_ll_both(g, before, cond);
  LLVMValueRef from =
      neo_ll_address(g, s->copy.from.buf, s->copy.from.offset, cond.v != NULL, align);
  g->guard = before;
  neo_ll_leave(g, at);
  return from;
}

static void copy(neo_ll_gen *g, const neo_ls *s) {
  assert(g->threads && g->in_threads && "copies are of a GPU's threads");
  neo_ll_val cond = s->copy.cond ? neo_ll_expr(g, s->copy.cond) : (neo_ll_val){0};
  uint32_t aligned, also, step;
  neo_type type = (neo_type)g->k->bufs.at[s->copy.to.buf].type;
  uint32_t bytes = (uint32_t)s->copy.elements * neo_type_bytes(type);
  LLVMValueRef to = neo_ll_address(g, s->copy.to.buf, s->copy.to.offset, false, &aligned);
  LLVMValueRef from = source(g, s, cond, &also);
  step = aligned < also ? aligned : also;
  step = step < bytes ? step : bytes;
  assert(step >= LEAST_BYTES && "a copy begins at a multiple of four bytes");
  g->n_accesses += 2;
  for (uint32_t at = 0; at < bytes; at += step)
    part(g, offset_by(g, to, at, true), offset_by(g, from, at, !cond.v), step, cond.v);
}

static void wait_for(neo_ll_gen *g, int64_t groups) {
  LLVMTypeRef type = neo_ll_i32(g->l);
  LLVMValueRef n = neo_ll_int(type, groups);
  if (g->l->target.emulated)
    tell(g, "neo_gpu_copied", &type, &n, 1);
  else
    neo_ll_call(g->l, "llvm.nvvm.cp.async.wait.group", NULL, &n, 1);
}

void neo_ll_cp_async(neo_ll_gen *g, const neo_ls *s) {
  assert(g->threads && "groups of copies are of a GPU's blocks");
  if (s->kind == NEO_LS_COPY)
    copy(g, s);
  else if (s->kind == NEO_LS_COPY_WAIT)
    wait_for(g, s->copy_wait.pending);
  else if (g->l->target.emulated)
    tell(g, "neo_gpu_commit", NULL, NULL, 0);
  else
    neo_ll_call(g->l, "llvm.nvvm.cp.async.commit.group", NULL, NULL, 0);
}

/* Addresses of lanes, contiguous runs of lanes, and masks, for loads and stores. */
#include "codegen/llvm/core/access.h"
#include <llvm/Config/llvm-config.h>
#include <string.h>

enum { LEAST_VECTOR = 16 }; /* bytes */

/* The address `offset` elements after `at`. A guarded address may be outside of the buffer, so its
 * GEP is not inbounds. */
LLVMValueRef neo_ll_step_to(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef at,
                            LLVMValueRef offset) {
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, 1);
  if (p->guarded)
    return LLVMBuildGEP2(g->l->b, t, at, &offset, 1, "");
  return LLVMBuildInBoundsGEP2(g->l->b, t, at, &offset, 1, "");
}

bool neo_ll_has_lanes(const neo_ll_access *p) {
  return !p->affine || p->lin.step || p->lin.stride || p->lin.pattern;
}

bool neo_ll_is_run(const neo_ll_access *p) {
  return p->affine && !p->lin.stride && !p->lin.pattern && (p->lin.step == 1 || p->lin.step == -1);
}

LLVMValueRef neo_ll_lane_address(neo_ll_gen *g, const neo_ll_access *p, uint32_t lane) {
  if (!p->affine) {
    LLVMValueRef at = LLVMBuildExtractElement(g->l->b, p->offsets, neo_ll_int32(g->l, lane), "");
    return neo_ll_step_to(g, p, p->base, at);
  }
  LLVMValueRef at = p->base;
  if (p->lin.stride) {
    LLVMValueRef far = LLVMBuildMul(g->l->b, p->lin.stride, neo_ll_int64(g->l, lane), "");
    at = neo_ll_step_to(g, p, at, far);
  }
  int64_t steps = neo_ll_lane_offset(&p->lin, lane);
  return steps ? neo_ll_step_to(g, p, at, neo_ll_int64(g->l, steps)) : at;
}

void neo_ll_mark_alias(neo_ll_gen *g, uint32_t buf, LLVMValueRef access) {
  neo_ll_buf *b = &g->buf[buf];
  if (b->scope)
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(g->l->ctx, "alias.scope", 11), b->scope);
  g->n_accesses++;
  if (b->noalias)
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(g->l->ctx, "noalias", 7), b->noalias);
}

LLVMValueRef neo_ll_lane_of(neo_ll_gen *g, neo_ll_val guard, uint32_t lane) {
  if (!guard.lanes)
    return guard.v;
  return LLVMBuildExtractElement(g->l->b, guard.v, neo_ll_int32(g->l, lane), "");
}

LLVMValueRef neo_ll_reversed(neo_ll_gen *g, LLVMValueRef v) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef order[1024];
  for (uint32_t k = 0; k < g->width; k++)
    order[k] = neo_ll_int(t, (int64_t)(g->width - 1 - k));
  return LLVMBuildShuffleVector(g->l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                LLVMConstVector(order, g->width), "");
}

LLVMValueRef neo_ll_shuffled(neo_ll_gen *g, LLVMValueRef v, const uint32_t *order, uint32_t n) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef at[1024];
  for (uint32_t k = 0; k < n; k++)
    at[k] = neo_ll_int(t, order[k]);
  return LLVMBuildShuffleVector(g->l->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(at, n),
                                "");
}

/* ---- masked vectors. From LLVM 22 on the alignment is an attribute of the pointer. */

LLVMValueRef neo_ll_masked(neo_ll_gen *g, const neo_ll_access *p, const char *name, LLVMTypeRef t,
                           LLVMValueRef *arg, unsigned n, unsigned at_ptr) {
  LLVMTypeRef overload[] = {t, neo_ll_ptr_type(g->l)};
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->l->mod, id, overload, 2);
  LLVMTypeRef type = LLVMIntrinsicGetType(g->l->ctx, id, overload, 2);
#if LLVM_VERSION_MAJOR >= 22
  LLVMValueRef v = LLVMBuildCall2(g->l->b, type, fn, arg, n, "");
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAddCallSiteAttribute(v, at_ptr + 1, LLVMCreateEnumAttribute(g->l->ctx, kind, p->align));
#else
  LLVMValueRef with[8];
  for (unsigned k = 0, j = 0; k < n; k++) {
    with[j++] = arg[k];
    if (k == at_ptr)
      with[j++] = neo_ll_int32(g->l, p->align);
  }
  LLVMValueRef v = LLVMBuildCall2(g->l->b, type, fn, with, n + 1, "");
#endif
  neo_ll_mark_alias(g, p->buf, v);
  return v;
}

LLVMValueRef neo_ll_run_start(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef *mask) {
  if (p->lin.step == 1)
    return p->base;
  if (mask && *mask)
    *mask = neo_ll_reversed(g, *mask);
  return neo_ll_step_to(g, p, p->base, neo_ll_int64(g->l, -(int64_t)(g->width - 1)));
}

uint32_t neo_ll_run_align(const neo_ll_access *p) {
  return p->lin.step == 1 ? p->align : neo_type_bytes(p->type);
}

/* ---- runs of as many lanes each */

uint32_t neo_ll_piece_lanes(const neo_ll_gen *g, const neo_ll_access *p) {
  uint32_t least = LEAST_VECTOR / neo_type_bytes(p->type), n = g->width / 2;
  if (!p->affine || p->lin.stride || !p->lin.pattern)
    return 0;
  for (uint32_t k = 1; k < g->width && n >= least; k++)
    while (n >= least && k % n &&
           neo_ll_lane_offset(&p->lin, k) != neo_ll_lane_offset(&p->lin, k - 1) + 1)
      n /= 2;
  return n >= least && g->width % n == 0 ? n : 0;
}

LLVMValueRef neo_ll_piece_of(neo_ll_gen *g, LLVMValueRef v, uint32_t lane, uint32_t n) {
  uint32_t order[1024];
  for (uint32_t k = 0; k < n; k++)
    order[k] = lane + k;
  return neo_ll_shuffled(g, v, order, n);
}

LLVMBasicBlockRef neo_ll_begin_if(neo_ll_gen *g, LLVMValueRef cond) {
  if (!cond)
    return NULL;
  LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, "then");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, "");
  LLVMBuildCondBr(g->l->b, cond, then, after);
  LLVMPositionBuilderAtEnd(g->l->b, then);
  return after;
}

void neo_ll_end_if(neo_ll_gen *g, LLVMBasicBlockRef after) {
  if (!after)
    return;
  LLVMBuildBr(g->l->b, after);
  LLVMPositionBuilderAtEnd(g->l->b, after);
}

/* Products of a warp: LLVM's intrinsics of NVPTX. All threads of a block come to them together, for
 * they stand outside of loops of threads and of branches that tell threads apart.
 *
 * On an emulated device a thread hands its fragments, c, a and b one after the other, to
 * "neo_gpu_warp(op, fragments)", which meets with the others and leaves c there. */
#include "codegen/llvm_gen.h"
#include <assert.h>

enum { WORDS = NEO_WARP_C + NEO_WARP_A + NEO_WARP_B };

typedef struct {
  LLVMValueRef slot[NEO_WARP_C]; /* of its elements, on the stack */
  uint32_t n;
} fragment;

static LLVMTypeRef i32_type(neo_llvm *l) {
  return LLVMInt32TypeInContext(l->ctx);
}

static fragment fragment_of(neo_ll_gen *g, const neo_ls *s, int i) {
  const neo_ll_reg *r = &g->reg[i ? s->factor[i - 1] : s->attr];
  fragment x = {.n = neo_warp_elements[i]};
  neo_ll_lin at;
  bool form = neo_ll_linear(g, s->index[i], &at);
  assert(form && at.n == 0 && !r->vector && "a constant fragment of single elements");
  (void)form;
  for (uint32_t e = 0; e < x.n; e++)
    x.slot[e] = r->at[at.c * x.n + e];
  return x;
}

static LLVMValueRef element(neo_ll_gen *g, const neo_ls *s, int i, const fragment *x, uint32_t e) {
  neo_type t = (neo_type)neo_warp_rows[s->op].type[i];
  return LLVMBuildLoad2(g->l->b, neo_ll_type(g->l, t, 1), x->slot[e], "");
}

static void instruction(neo_ll_gen *g, const neo_ls *s, const fragment *x) {
  LLVMValueRef arg[WORDS];
  unsigned n = 0;
  for (int k = 1; k <= 3; k++) { /* a, b, c */
    int i = k % 3;
    for (uint32_t e = 0; e < x[i].n; e++) {
      LLVMValueRef v = element(g, s, i, &x[i], e);
      arg[n++] = i ? LLVMBuildBitCast(g->l->b, v, i32_type(g->l), "") : v;
    }
  }
  LLVMValueRef c = neo_ll_call(g->l, neo_warp_rows[s->op].intrinsic, NULL, arg, n);
  for (uint32_t e = 0; e < x[0].n; e++)
    LLVMBuildStore(g->l->b, LLVMBuildExtractValue(g->l->b, c, e, ""), x[0].slot[e]);
}

static LLVMValueRef word_at(neo_ll_gen *g, LLVMValueRef words, uint32_t n) {
  LLVMValueRef at = neo_ll_int(i32_type(g->l), n);
  return LLVMBuildInBoundsGEP2(g->l->b, i32_type(g->l), words, &at, 1, "");
}

static void emulated(neo_ll_gen *g, const neo_ls *s, const fragment *x) {
  LLVMTypeRef param[] = {i32_type(g->l), neo_ll_ptr_type(g->l)};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), param, 2, false);
  LLVMTypeRef all = LLVMArrayType2(i32_type(g->l), WORDS);
  LLVMValueRef words = neo_ll_alloca(g, all, 4, "fragments");
  uint32_t n = 0;
  for (int i = 0; i < 3; i++)
    for (uint32_t e = 0; e < x[i].n; e++)
      LLVMBuildStore(g->l->b, element(g, s, i, &x[i], e), word_at(g, words, n++));
  LLVMValueRef arg[] = {neo_ll_int(i32_type(g->l), s->op), words};
  LLVMBuildCall2(g->l->b, type, neo_ll_extern(g->l, "neo_gpu_warp", type), arg, 2, "");
  for (uint32_t e = 0; e < x[0].n; e++) {
    LLVMTypeRef f32 = neo_ll_type(g->l, NEO_F32_T, 1);
    LLVMValueRef v = LLVMBuildLoad2(g->l->b, f32, word_at(g, words, e), "");
    LLVMBuildStore(g->l->b, v, x[0].slot[e]);
  }
}

void neo_ll_warp(neo_ll_gen *g, const neo_ls *s) {
  fragment x[3];
  for (int i = 0; i < 3; i++)
    x[i] = fragment_of(g, s, i);
  assert(g->threads && !g->in_threads && "warps are of a GPU's blocks");
  if (g->l->target.emulated)
    emulated(g, s, x);
  else
    instruction(g, s, x);
}

/* Shuffles: the threads of a warp exchange registers as words of 32 bits (shfl.sync). All threads
 * of a block execute a shuffle together, as a barrier. The last warp may have fewer than 32
 * threads; its mask has these alone.
 *
 * On an emulated device a thread passes its words to "neo_gpu_shuffle(what, n, of, words, count,
 * mask)", which waits for the other threads and leaves the words of the other thread after them. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <assert.h>

typedef struct {
  LLVMValueRef word[2]; /* i32: the low one first */
  uint32_t n;
} words;

/* ---- values as words */

static bool is_wide(neo_type t) {
  return t == NEO_F64_T || t == NEO_I64_T;
}

static words words_of(neo_ll_gen *g, neo_type t, LLVMValueRef x) {
  LLVMBuilderRef b = g->l->b;
  if (is_wide(t)) {
    x = LLVMBuildBitCast(b, x, neo_ll_i64(g->l), "");
    LLVMValueRef high = LLVMBuildLShr(b, x, neo_ll_int64(g->l, 32), "");
    return (words){
        {LLVMBuildTrunc(b, x, neo_ll_i32(g->l), ""), LLVMBuildTrunc(b, high, neo_ll_i32(g->l), "")},
        2};
  }
  bool real = neo_type_is_float(t) || t == NEO_I32_T;
  return (words){{real ? LLVMBuildBitCast(b, x, neo_ll_i32(g->l), "")
                       : LLVMBuildZExt(b, x, neo_ll_i32(g->l), "")},
                 1};
}

static LLVMValueRef value_of(neo_ll_gen *g, neo_type t, const words *w) {
  LLVMBuilderRef b = g->l->b;
  LLVMTypeRef type = neo_ll_type(g->l, t, 1);
  if (is_wide(t)) {
    LLVMValueRef low = LLVMBuildZExt(b, w->word[0], neo_ll_i64(g->l), "");
    LLVMValueRef high = LLVMBuildZExt(b, w->word[1], neo_ll_i64(g->l), "");
    high = LLVMBuildShl(b, high, neo_ll_int64(g->l, 32), "");
    return LLVMBuildBitCast(b, LLVMBuildOr(b, low, high, ""), type, "");
  }
  bool real = neo_type_is_float(t) || t == NEO_I32_T;
  return real ? LLVMBuildBitCast(b, w->word[0], type, "") : LLVMBuildTrunc(b, w->word[0], type, "");
}

/* ---- elements of registers, counted as if none were a vector */

static int64_t elements(const neo_reg *r) {
  int64_t n = 1;
  for (uint32_t d = 0; d < r->rank; d++)
    n *= r->extent[d];
  return n;
}

static LLVMValueRef slot_of(neo_ll_gen *g, uint32_t reg, int64_t e, LLVMTypeRef *type,
                            int64_t *lane) {
  const neo_ll_reg *r = &g->reg[reg];
  int64_t w = r->vector ? r->width : 1;
  *type = neo_ll_type(g->l, (neo_type)g->k->regs.at[reg].type, (uint32_t)w);
  *lane = r->vector ? e % w : -1;
  return r->at[e / w];
}

static LLVMValueRef get(neo_ll_gen *g, uint32_t reg, int64_t e) {
  LLVMTypeRef t;
  int64_t lane;
  LLVMValueRef at = slot_of(g, reg, e, &t, &lane), v = LLVMBuildLoad2(g->l->b, t, at, "");
  return lane < 0 ? v : LLVMBuildExtractElement(g->l->b, v, neo_ll_int32(g->l, lane), "");
}

static void put(neo_ll_gen *g, uint32_t reg, int64_t e, LLVMValueRef x) {
  LLVMTypeRef t;
  int64_t lane;
  LLVMValueRef at = slot_of(g, reg, e, &t, &lane);
  if (lane >= 0)
    x = LLVMBuildInsertElement(g->l->b, LLVMBuildLoad2(g->l->b, t, at, ""), x,
                               neo_ll_int32(g->l, lane), "");
  LLVMBuildStore(g->l->b, x, at);
}

/* ---- the shuffle */

static LLVMValueRef thread_of(neo_ll_gen *g) {
  return LLVMBuildTrunc(g->l->b, neo_ll_gpu_lane(g), neo_ll_i32(g->l), "");
}

static LLVMValueRef mask_of(neo_ll_gen *g) {
  int64_t rest = g->threads % NEO_WARP, whole = g->threads - rest;
  LLVMValueRef all = neo_ll_int32(g->l, -1), some = neo_ll_int32(g->l, (int64_t)((1U << rest) - 1));
  if (!rest || !whole)
    return rest ? some : all;
  LLVMValueRef is_whole =
      LLVMBuildICmp(g->l->b, LLVMIntULT, thread_of(g), neo_ll_int32(g->l, whole), "");
  return LLVMBuildSelect(g->l->b, is_whole, all, some, "");
}

/* For the shuffle FIRST: the number in the warp of the thread that it reads. */
static LLVMValueRef first_of(neo_ll_gen *g, const neo_ls *s) {
  LLVMBuilderRef b = g->l->b;
  LLVMValueRef t = thread_of(g);
  LLVMValueRef base = LLVMBuildAnd(b, t, neo_ll_int32(g->l, NEO_WARP - (int64_t)s->shuffle.of), "");
  return LLVMBuildOr(b, base, LLVMBuildAnd(b, t, neo_ll_int32(g->l, (int64_t)s->shuffle.n - 1), ""),
                     "");
}

static void instructions(neo_ll_gen *g, const neo_ls *s, words *w) {
  bool down = s->shuffle.what == NEO_SHUFFLE_DOWN;
  const char *name = down ? "llvm.nvvm.shfl.sync.down.i32" : "llvm.nvvm.shfl.sync.idx.i32";
  int64_t parts =
      down ? (NEO_WARP - (int64_t)s->shuffle.of) << 8 : 0; /* part of the warp, and its end */
  LLVMValueRef arg[] = {mask_of(g), NULL, down ? neo_ll_int32(g->l, s->shuffle.n) : first_of(g, s),
                        neo_ll_int32(g->l, parts | (NEO_WARP - 1))};
  for (uint32_t k = 0; k < w->n; k++) {
    arg[1] = w->word[k];
    w->word[k] = neo_ll_call(g->l, name, NULL, arg, 4);
  }
}

static LLVMValueRef word_at(neo_ll_gen *g, LLVMValueRef all, uint32_t n) {
  LLVMValueRef at = neo_ll_int32(g->l, n);
  return LLVMBuildInBoundsGEP2(g->l->b, neo_ll_i32(g->l), all, &at, 1, "");
}

static void emulated(neo_ll_gen *g, const neo_ls *s, words *w) {
  LLVMTypeRef t = neo_ll_i32(g->l), param[] = {t, t, t, neo_ll_ptr_type(g->l), t, t};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), param, 6, false);
  LLVMValueRef all = neo_ll_alloca(g, LLVMArrayType2(t, 4), 4, "words");
  for (uint32_t k = 0; k < w->n; k++)
    LLVMBuildStore(g->l->b, w->word[k], word_at(g, all, k));
  LLVMValueRef arg[] = {neo_ll_int32(g->l, s->shuffle.what),
                        neo_ll_int32(g->l, s->shuffle.n),
                        neo_ll_int32(g->l, s->shuffle.of),
                        all,
                        neo_ll_int32(g->l, w->n),
                        mask_of(g)};
  LLVMBuildCall2(g->l->b, type, neo_ll_extern(g->l, "neo_gpu_shuffle", type), arg, 6, "");
  for (uint32_t k = 0; k < w->n; k++)
    w->word[k] = LLVMBuildLoad2(g->l->b, t, word_at(g, all, w->n + k), "");
}

void neo_ll_shuffle(neo_ll_gen *g, const neo_ls *s) {
  const neo_reg *r = &g->k->regs.at[s->shuffle.to];
  neo_type t = (neo_type)r->type;
  assert(g->threads && !g->in_threads && "shuffles are of a GPU's blocks");
  for (int64_t e = 0; e < elements(r); e++) {
    words w = words_of(g, t, get(g, s->shuffle.from, e));
    if (g->l->target.emulated)
      emulated(g, s, &w);
    else
      instructions(g, s, &w);
    put(g, s->shuffle.to, e, value_of(g, t, &w));
  }
}

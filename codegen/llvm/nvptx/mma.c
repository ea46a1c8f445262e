/* Products of warps (mma.sync) and loads of their operands (ldmatrix), by LLVM's intrinsics of
 * NVPTX. All threads of a block execute them together: such statements are outside of loops of
 * threads and of branches between threads.
 *
 * On an emulated device a thread passes its fragments c, a and b, one after the other, to
 * "neo_gpu_warp(op, fragments)", which waits for the other threads and leaves c there. For a load
 * it passes its row to "neo_gpu_warp_read(op, row, cells)", which leaves the cells. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <assert.h>
#include <string.h>

enum { WORDS = NEO_MMA_C + NEO_MMA_A + NEO_MMA_B, SHARED_SPACE = 3, HALVES_BEFORE = 80 };

typedef struct {
  LLVMValueRef slot[NEO_MMA_C]; /* stack slots of its elements */
  uint32_t n;
  neo_type type;
} fragment;

/* The first n elements of a fragment. */
static fragment elements_of(neo_ll_gen *g, const neo_fragment *of, uint32_t n) {
  const neo_ll_reg *r = &g->reg[of->reg];
  const neo_reg *x = &g->k->regs.at[of->reg];
  fragment y = {.n = n, .type = (neo_type)x->type};
  neo_ll_lin at;
  bool form = neo_ll_linear(g, of->at, &at);
  assert(form && at.n == 0 && !r->vector && "a constant fragment of single elements");
  (void)form;
  for (uint32_t e = 0; e < n; e++)
    y.slot[e] = r->at[at.c * x->extent[1] + e];
  return y;
}

static LLVMValueRef element(neo_ll_gen *g, const fragment *x, uint32_t e) {
  return LLVMBuildLoad2(g->l->b, neo_ll_type(g->l, x->type, 1), x->slot[e], "");
}

static void set_element(neo_ll_gen *g, const fragment *x, uint32_t e, LLVMValueRef v) {
  LLVMTypeRef t = neo_ll_type(g->l, x->type, 1);
  LLVMBuildStore(g->l->b, LLVMBuildBitCast(g->l->b, v, t, ""), x->slot[e]);
}

/* A call of an intrinsic; arguments are bitcast to its types. overload: the type in its name, or
 * null. */
static LLVMValueRef call(neo_llvm *l, const char *name, LLVMTypeRef overload, LLVMValueRef *arg,
                         unsigned n) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  size_t n_types = overload ? 1 : 0;
  LLVMTypeRef type = LLVMIntrinsicGetType(l->ctx, id, &overload, n_types), param[WORDS];
  assert(LLVMCountParamTypes(type) == n && n <= WORDS);
  LLVMGetParamTypes(type, param);
  for (unsigned k = 0; k < n; k++)
    arg[k] = LLVMTypeOf(arg[k]) == param[k] ? arg[k] : LLVMBuildBitCast(l->b, arg[k], param[k], "");
  return neo_ll_call(l, name, overload, arg, n);
}

/* ---- products */

/* c += a * b by the first or the second of `parts` parts of the cells. */
static void instruction(neo_ll_gen *g, const char *name, const fragment *x, uint32_t part,
                        uint32_t parts) {
  LLVMValueRef arg[WORDS];
  unsigned n = 0;
  for (int k = 1; k <= 3; k++) { /* a, b, c */
    const fragment *f = &x[k % 3];
    uint32_t some = k == 3 ? f->n : f->n / parts, first = k == 3 ? 0 : part * some;
    for (uint32_t e = first; e < first + some; e++)
      arg[n++] = element(g, f, e);
  }
  LLVMValueRef c = call(g->l, name, NULL, arg, n);
  for (uint32_t e = 0; e < x[0].n; e++)
    set_element(g, &x[0], e, LLVMBuildExtractValue(g->l->b, c, e, ""));
}

static LLVMValueRef word_at(neo_ll_gen *g, LLVMValueRef words, uint32_t n) {
  LLVMValueRef at = neo_ll_int32(g->l, n);
  return LLVMBuildInBoundsGEP2(g->l->b, neo_ll_i32(g->l), words, &at, 1, "");
}

static LLVMValueRef words_of(neo_ll_gen *g, uint32_t n) {
  return neo_ll_alloca(g, LLVMArrayType2(neo_ll_i32(g->l), n), 4, "fragments");
}

static void call_device(neo_ll_gen *g, const char *name, LLVMValueRef *arg, unsigned n) {
  LLVMTypeRef param[3];
  for (unsigned k = 0; k < n; k++)
    param[k] = LLVMTypeOf(arg[k]);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), param, n, false);
  LLVMBuildCall2(g->l->b, type, neo_ll_extern(g->l, name, type), arg, n, "");
}

static void get_words(neo_ll_gen *g, const fragment *x, LLVMValueRef words) {
  for (uint32_t e = 0; e < x->n; e++) {
    LLVMTypeRef t = neo_ll_type(g->l, x->type, 1);
    set_element(g, x, e, LLVMBuildLoad2(g->l->b, t, word_at(g, words, e), ""));
  }
}

static void emulated(neo_ll_gen *g, const neo_ls *s, const fragment *x) {
  LLVMValueRef words = words_of(g, WORDS);
  uint32_t n = 0;
  for (int i = 0; i < 3; i++)
    for (uint32_t e = 0; e < x[i].n; e++)
      LLVMBuildStore(g->l->b, element(g, &x[i], e), word_at(g, words, n++));
  LLVMValueRef arg[] = {neo_ll_int32(g->l, s->mma.op), words};
  call_device(g, "neo_gpu_warp", arg, 2);
  get_words(g, &x[0], words);
}

void neo_ll_mma(neo_ll_gen *g, const neo_ls *s) {
  const neo_mma_row *row = &neo_mma_rows[s->mma.op];
  fragment x[3];
  assert(g->threads && !g->in_threads && "warps are of a GPU's blocks");
  for (int i = 0; i < 3; i++)
    x[i] = elements_of(g, &s->mma.part[i], neo_mma_elements[i]);
  bool halves = row->older && g->l->target.sm < HALVES_BEFORE;
  if (g->l->target.emulated)
    emulated(g, s, x);
  else
    for (uint32_t part = 0; part < (halves ? 2 : 1); part++)
      instruction(g, halves ? row->older : row->intrinsic, x, part, halves ? 2 : 1);
}

/* ---- matrices from memory */

/* The address of the thread's row. Constants are added last, so that they become a part of the
 * instruction. */
static LLVMValueRef address(neo_ll_gen *g, const neo_element *of) {
  LLVMTypeRef t = neo_ll_mem_type(g->l, (neo_type)g->k->bufs.at[of->buf].type, 1);
  LLVMValueRef at = neo_ll_buf_value(g, of->buf);
  neo_ll_lin x;
  bool form = neo_ll_linear(g, of->offset, &x);
  assert(form && "the offset of one row");
  (void)form;
  LLVMValueRef sum = neo_ll_linear_value(g, &x, false, NULL);
  LLVMValueRef c = neo_ll_int64(g->l, x.c);
  at = sum ? LLVMBuildInBoundsGEP2(g->l->b, t, at, &sum, 1, "") : at;
  return x.c ? LLVMBuildInBoundsGEP2(g->l->b, t, at, &c, 1, "") : at;
}

void neo_ll_ldmatrix(neo_ll_gen *g, const neo_ls *s) {
  const neo_ldmatrix_row *row = &neo_ldmatrix_rows[s->ldmatrix.op];
  LLVMBuilderRef b = g->l->b;
  assert(g->threads && !g->in_threads && "warps are of a GPU's blocks");
  fragment x = elements_of(g, &s->ldmatrix.to, row->cells);
  LLVMValueRef at = address(g, &s->ldmatrix.from);
  if (g->l->target.emulated) {
    LLVMValueRef words = words_of(g, row->cells);
    LLVMValueRef arg[] = {neo_ll_int32(g->l, s->ldmatrix.op), at, words};
    call_device(g, "neo_gpu_warp_read", arg, 3);
    get_words(g, &x, words);
    return;
  }
  LLVMTypeRef shared = LLVMPointerTypeInContext(g->l->ctx, SHARED_SPACE);
  at = LLVMBuildAddrSpaceCast(b, at, shared, "");
  LLVMValueRef cells = call(g->l, row->intrinsic, shared, &at, 1);
  for (uint32_t e = 0; e < x.n; e++)
    set_element(g, &x, e, LLVMBuildExtractValue(b, cells, e, ""));
}

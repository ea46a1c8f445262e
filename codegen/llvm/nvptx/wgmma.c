/* Products of a warpgroup (loop/wgmma.h). LLVM has no intrinsic of the instruction, so a statement
 * WGMMA is one piece of inline assembly:
 *
 *   wgmma.fence; for each 32 bytes of steps, for each 64 rows: wgmma.mma_async; wgmma.commit_group
 *
 * The fence orders earlier accesses to the sums, and the commit ends the group that WGMMA_WAIT
 * counts. The sums are inputs and outputs of the assembly, and of the assembly of a WGMMA_WAIT for
 * all groups, so that LLVM moves no access to them past it.
 *
 * The instruction sees what threads wrote into shared memory after a fence of each of them and a
 * barrier; llvm/nvptx/sync.c emits both.
 *
 * On an emulated device each thread calls "neo_gpu_warpgroup(op, transposed, columns, sums, rows,
 * columns)" with the same descriptors for each instruction, "neo_gpu_warpgroup_commit()" at the
 * end, and "neo_gpu_warpgroup_wait(left)". The sums are in memory, and the emulator changes them as
 * late as possible. */
#include "base/str.h"
#include "codegen/llvm/nvptx/nvptx.h"
#include <assert.h>

enum {
  SHARED_SPACE = 3,
  UNIT = 16,
  INSTRUCTIONS = NEO_WGMMA_BYTES / NEO_WGMMA_STEP_BYTES,
  MOST_SUMS = 256,
  MOST_ARGUMENTS = MOST_SUMS + 64
};

typedef struct {
  uint32_t tall,
      wide; /* number of instructions along the rows, of 64 rows each; a thread's sums of each */
  LLVMValueRef *slot;
} sums;

static sums sums_of(neo_ll_gen *g, uint32_t reg) {
  const neo_reg *r = &g->k->regs.at[reg];
  assert(!g->reg[reg].vector && "sums are single elements");
  return (sums){(uint32_t)r->extent[0], (uint32_t)r->extent[1], g->reg[reg].at};
}

/* ---- descriptors */

/* The address of a buffer in shared memory, in the form of a descriptor: an i64. */
static LLVMValueRef address_of(neo_ll_gen *g, uint32_t buf) {
  LLVMBuilderRef b = g->l->b;
  LLVMValueRef p = neo_ll_buf_value(g, buf);
  if (g->l->target.emulated) {
    LLVMValueRef from = LLVMBuildPtrToInt(b, neo_ll_gpu_shared(g), neo_ll_i64(g->l), "");
    return LLVMBuildSub(b, LLVMBuildPtrToInt(b, p, neo_ll_i64(g->l), ""), from, "");
  }
  p = LLVMBuildAddrSpaceCast(b, p, LLVMPointerTypeInContext(g->l->ctx, SHARED_SPACE), "");
  return LLVMBuildZExt(b, LLVMBuildPtrToInt(b, p, neo_ll_i32(g->l), ""), neo_ll_i64(g->l), "");
}

/* The descriptor of factor i, `first` bytes after its beginning. */
static LLVMValueRef descriptor_of(neo_ll_gen *g, const neo_ls *s, int i, LLVMValueRef first) {
  enum { ADDRESS = 0x3ffff };
  LLVMBuilderRef b = g->l->b;
  int64_t size = neo_type_bytes((neo_type)neo_wgmma_rows[s->wgmma.op].cell);
  LLVMValueRef at =
      LLVMBuildMul(b, neo_ll_expr(g, s->wgmma.factor[i].offset).v, neo_ll_int64(g->l, size), "");
  at = LLVMBuildAdd(b, LLVMBuildAdd(b, at, first, ""), address_of(g, s->wgmma.factor[i].buf), "");
  at = LLVMBuildAnd(b, at, neo_ll_int64(g->l, ADDRESS), "");
  at = LLVMBuildLShr(b, at, neo_ll_int64(g->l, 4), "");
  return LLVMBuildOr(b, at,
                     neo_ll_int64(g->l, (int64_t)neo_wgmma_descriptor(s->wgmma.transposed[i])), "");
}

/* The descriptors of both factors for this thread's warpgroup. */
static void descriptors(neo_ll_gen *g, const neo_ls *s, const sums *x, LLVMValueRef out[2]) {
  LLVMBuilderRef b = g->l->b;
  LLVMTypeRef t = neo_ll_i64(g->l);
  LLVMValueRef w = LLVMBuildLShr(b, neo_ll_gpu_lane(g), neo_ll_int(t, 7), "");
  LLVMValueRef across = neo_ll_int(t, s->wgmma.across);
  int64_t rows = (int64_t)x->tall * NEO_WGMMA_ROWS * NEO_WGMMA_BYTES;
  int64_t columns = 2 * (int64_t)x->wide * NEO_WGMMA_BYTES;
  LLVMValueRef down = LLVMBuildMul(b, LLVMBuildUDiv(b, w, across, ""), neo_ll_int(t, rows), "");
  LLVMValueRef right = LLVMBuildMul(b, LLVMBuildURem(b, w, across, ""), neo_ll_int(t, columns), "");
  out[0] = descriptor_of(g, s, 0, down);
  out[1] = descriptor_of(g, s, 1, right);
}

/* A descriptor whose address is `bytes` larger. No carry reaches the bits above the address: shared
 * memory is smaller than its range. */
static LLVMValueRef moved(neo_ll_gen *g, LLVMValueRef descriptor, int64_t bytes) {
  return LLVMBuildAdd(g->l->b, descriptor, neo_ll_int64(g->l, bytes / UNIT), "");
}

static LLVMValueRef rows_at(neo_ll_gen *g, const neo_ls *s, LLVMValueRef rows, uint32_t f, int k) {
  int64_t next = neo_wgmma_next(s->wgmma.op, s->wgmma.transposed[0]);
  return moved(g, rows, (int64_t)f * NEO_WGMMA_ROWS * NEO_WGMMA_BYTES + k * next);
}

static LLVMValueRef columns_at(neo_ll_gen *g, const neo_ls *s, LLVMValueRef columns, int k) {
  return moved(g, columns, k * neo_wgmma_next(s->wgmma.op, s->wgmma.transposed[1]));
}

/* ---- assembly */

/* Assembly with all n sums as inputs and outputs. arg[n..] are additional inputs of i64, $(2*n) and
 * on in the text. */
static void through(neo_ll_gen *g, const sums *x, const neo_str *text, LLVMValueRef *arg,
                    unsigned more) {
  LLVMBuilderRef b = g->l->b;
  unsigned n = x->tall * x->wide;
  LLVMTypeRef type[MOST_ARGUMENTS], f32 = neo_ll_type(g->l, NEO_F32_T, 1);
  assert(n <= MOST_SUMS && n + more <= MOST_ARGUMENTS);
  neo_str rule = neo_str_in(g->l->arena);
  for (unsigned e = 0; e < n; e++) {
    neo_str_add(&rule, e ? ",=f" : "=f");
    type[e] = f32;
    arg[e] = LLVMBuildLoad2(b, f32, x->slot[e], "");
  }
  for (unsigned e = 0; e < n; e++)
    neo_str_addf(&rule, ",%u", e);
  for (unsigned i = 0; i < more; i++) {
    neo_str_add(&rule, ",l");
    type[n + i] = neo_ll_i64(g->l);
  }
  neo_str_add(&rule, n + more ? ",~{memory}" : "~{memory}");
  LLVMTypeRef out =
      n ? LLVMStructTypeInContext(g->l->ctx, type, n, false) : LLVMVoidTypeInContext(g->l->ctx);
  LLVMTypeRef fn = LLVMFunctionType(out, type, n + more, false);
  LLVMValueRef code = LLVMGetInlineAsm(fn, neo_str_text(text), text->n, neo_str_text(&rule), rule.n,
                                       true, false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef y = LLVMBuildCall2(b, fn, code, arg, n + more, "");
  for (unsigned e = 0; e < n; e++)
    LLVMBuildStore(b, LLVMBuildExtractValue(b, y, e, ""), x->slot[e]);
}

static void say_product(neo_str *text, const neo_ls *s, const sums *x, uint32_t f, unsigned rows,
                        unsigned columns) {
  const neo_wgmma_row *row = &neo_wgmma_rows[s->wgmma.op];
  neo_str_addf(text, "wgmma.mma_async.sync.aligned.m64n%uk%d.%s {", 2 * x->wide, row->steps,
               row->ptx);
  for (uint32_t e = 0; e < x->wide; e++)
    neo_str_addf(text, e ? ", $%u" : "$%u", f * x->wide + e);
  neo_str_addf(text, "}, $%u, $%u, p, 1, 1", rows, columns);
  if (row->transposes)
    neo_str_addf(text, ", %u, %u", s->wgmma.transposed[0], s->wgmma.transposed[1]);
  neo_str_add(text, ";\n\t");
}

static void assembly(neo_ll_gen *g, const neo_ls *s, const sums *x, const LLVMValueRef at[2]) {
  LLVMValueRef arg[MOST_ARGUMENTS];
  unsigned n = x->tall * x->wide, more = 0;
  neo_str text = neo_str_in(g->l->arena);
  neo_str_add(&text, "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, 1, 0;\n\t"
                     "wgmma.fence.sync.aligned;\n\t");
  for (int k = 0; k < INSTRUCTIONS; k++) {
    unsigned columns = 2 * n + more;
    arg[n + more++] = columns_at(g, s, at[1], k);
    for (uint32_t f = 0; f < x->tall; f++) {
      say_product(&text, s, x, f, 2 * n + more, columns);
      arg[n + more++] = rows_at(g, s, at[0], f, k);
    }
  }
  neo_str_add(&text, "wgmma.commit_group.sync.aligned;\n\t}");
  through(g, x, &text, arg, more);
}

/* ---- emulation */

static void call(neo_ll_gen *g, const char *name, LLVMTypeRef *param, LLVMValueRef *arg,
                 unsigned n) {
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), param, n, false);
  LLVMBuildCall2(g->l->b, type, neo_ll_extern(g->l, name, type), arg, n, "");
}

static void emulated(neo_ll_gen *g, const neo_ls *s, const sums *x, const LLVMValueRef at[2]) {
  LLVMTypeRef i32 = neo_ll_i32(g->l), i64 = neo_ll_i64(g->l);
  const bool *transposed = s->wgmma.transposed;
  LLVMTypeRef param[] = {i32, i32, i32, neo_ll_ptr_type(g->l), i64, i64};
  for (int k = 0; k < INSTRUCTIONS; k++)
    for (uint32_t f = 0; f < x->tall; f++) {
      LLVMValueRef arg[] = {
          neo_ll_int(i32, s->wgmma.op), neo_ll_int(i32, transposed[0] | 2U * transposed[1]),
          neo_ll_int(i32, 2 * x->wide), x->slot[f * x->wide],
          rows_at(g, s, at[0], f, k),   columns_at(g, s, at[1], k)};
      call(g, "neo_gpu_warpgroup", param, arg, 6);
    }
  call(g, "neo_gpu_warpgroup_commit", NULL, NULL, 0);
}

/* ---- statements */

void neo_ll_wgmma(neo_ll_gen *g, const neo_ls *s) {
  LLVMValueRef at[2];
  sums x = sums_of(g, s->wgmma.acc);
  assert(g->threads && !g->in_threads && "warpgroups are of a GPU's blocks");
  descriptors(g, s, &x, at);
  if (g->l->target.emulated)
    emulated(g, s, &x, at);
  else
    assembly(g, s, &x, at);
}

void neo_ll_wgmma_wait(neo_ll_gen *g, const neo_ls *s) {
  sums x = sums_of(g, s->wgmma_wait.acc), none = {.slot = x.slot};
  if (g->l->target.emulated) {
    LLVMTypeRef i32 = neo_ll_i32(g->l);
    LLVMValueRef left = neo_ll_int(i32, s->wgmma_wait.pending);
    call(g, "neo_gpu_warpgroup_wait", &i32, &left, 1);
    return;
  }
  LLVMValueRef arg[MOST_ARGUMENTS];
  neo_str text = neo_str_in(g->l->arena);
  neo_str_addf(&text, "wgmma.wait_group.sync.aligned %lld;", (long long)s->wgmma_wait.pending);
  through(g, s->wgmma_wait.pending ? &none : &x, &text, arg, 0);
}

/* ---- which registers and buffers these are */

static void note(void *ctx, neo_ls *s) {
  neo_ll_gen *g = ctx;
  if (s->kind != NEO_LS_WGMMA)
    return;
  g->reg[s->wgmma.acc].together = g->l->target.emulated;
  for (int k = 0; k < 2; k++)
    g->matrix[s->wgmma.factor[k].buf] = true;
}

void neo_ll_note_wgmma(neo_ll_gen *g) {
  neo_block_visit(&g->k->body, note, g);
}

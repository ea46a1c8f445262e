/* The function of a kernel: `int32_t symbol(const neo_rt_args *)`, or the entry of a GPU's kernel
 * (llvm/nvptx/kernel.c). */
#include "codegen/llvm/gen.h"
#include "codegen/llvm/nvptx/nvptx.h"
#include "neo/neo_rt.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

static void note_facts(neo_ll_gen *g) {
  for (uint32_t id = 0; id < g->k->nodes.n; id++) {
    const neo_lx *e = g->k->nodes.at[id];
    bool loads = e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF;
    bool exact = e->kind == NEO_LX_OP && e->attr != NEO_OP_STOP;
    bool index = e->type == NEO_I64_T && (e->kind == NEO_LX_CONST || e->kind == NEO_LX_VAR ||
                                          e->kind == NEO_LX_SIZE || exact);
    for (uint32_t k = 0; k < e->n; k++) {
      loads = loads || (g->facts[e->arg[k]->id] & NEO_LL_LOADS);
      index = index && (g->facts[e->arg[k]->id] & NEO_LL_INDEX);
    }
    g->facts[id] = (uint8_t)((loads ? NEO_LL_LOADS : 0) | (index ? NEO_LL_INDEX : 0));
  }
}

static bool is_alone(const neo_kbuf *b) {
  return b->no_alias || (b->use & NEO_BUF_SCRATCH);
}

static LLVMMetadataRef node(neo_llvm *l, LLVMMetadataRef *part, size_t n) {
  return LLVMMDNodeInContext2(l->ctx, part, n);
}

/* Arguments of the kernel (llvm/core/args.c), loaded in its entry block at first use: a field of
 * neo_rt_args; a size; a part of the key; the address of a buffer. And the alias scopes of its
 * buffers. */
static void scopes(neo_ll_gen *g, const char *symbol) {
  neo_llvm *l = g->l;
  size_t n = g->k->bufs.n;
  LLVMMetadataRef *scope = NEO_NEW_ARRAY(l->arena, LLVMMetadataRef, n + 1);
  LLVMMetadataRef *others = NEO_NEW_ARRAY(l->arena, LLVMMetadataRef, n + 1);
  LLVMMetadataRef text = LLVMMDStringInContext2(l->ctx, symbol, strlen(symbol));
  LLVMMetadataRef domain = node(l, &text, 1);
  for (size_t k = 0; k < n; k++) {
    const char *name = neo_arena_printf(l->arena, "%s.%zu", symbol, k);
    LLVMMetadataRef part[] = {LLVMMDStringInContext2(l->ctx, name, strlen(name)), domain};
    scope[k] = is_alone(&g->k->bufs.at[k]) ? node(l, part, 2) : NULL;
  }
  for (size_t k = 0; k < n; k++) {
    size_t m = 0;
    for (size_t j = 0; j < n; j++)
      if (j != k && scope[j])
        others[m++] = scope[j];
    if (scope[k])
      g->buf[k].scope = LLVMMetadataAsValue(l->ctx, node(l, &scope[k], 1));
    if (m)
      g->buf[k].noalias = LLVMMetadataAsValue(l->ctx, node(l, others, m));
  }
}

void neo_ll_state(neo_ll_gen *g, const char *symbol) {
  neo_arena *a = g->l->arena;
  const neo_kernel *k = g->k;
  g->width = 1;
  g->var = NEO_NEW_ARRAY(a, neo_ll_var, k->vars.n + 1);
  g->buf = NEO_NEW_ARRAY(a, neo_ll_buf, k->bufs.n + 1);
  g->reg = NEO_NEW_ARRAY(a, neo_ll_reg, k->regs.n + 1);
  g->size = NEO_NEW_ARRAY(a, LLVMValueRef, k->sizes.n + 1);
  g->memo = neo_arena_array(a, k->nodes.n + 1, sizeof *g->memo);
  g->facts = NEO_NEW_ARRAY(a, uint8_t, k->nodes.n + 1);
  g->open = NEO_NEW_ARRAY(a, uint8_t, k->bufs.n + 1);
  g->matrix = NEO_NEW_ARRAY(a, bool, k->bufs.n + 1);
  g->by_mbarriers = NEO_NEW_ARRAY(a, bool, k->bufs.n + 1);
  note_facts(g);
  scopes(g, symbol);
  neo_ll_note_wgmma(g);
  neo_ll_note_stages(g);
  neo_ll_registers(g);
}

/* A kernel without a UNIT loop is one unit: an empty part runs nothing. */
static void body(neo_ll_gen *g) {
  LLVMBuilderRef b = g->l->b;
  if (neo_kernel_unit_loop(g->k)) {
    neo_ll_block(g, &g->k->body);
    return;
  }
  if (g->threads) {
    neo_ll_block(g, &g->k->body);
    return;
  }
  if (g->l->target.sm) {
    neo_ll_thread_unit(g, neo_ll_gpu_thread(g), NULL, &g->k->body);
    return;
  }
  LLVMBasicBlockRef run = neo_ll_new_block(g, "run"), after = neo_ll_new_block(g, "after");
  LLVMValueRef lo = neo_ll_argument(g, neo_ll_i64(g->l), offsetof(neo_rt_args, lo));
  LLVMValueRef hi = neo_ll_argument(g, neo_ll_i64(g->l), offsetof(neo_rt_args, hi));
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, lo, hi, ""), run, after);
  LLVMPositionBuilderAtEnd(b, run);
  neo_ll_tiles_begin(g);
  neo_ll_block(g, &g->k->body);
  neo_ll_tiles_end(g);
  LLVMBuildBr(b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, after);
}

/* A condition: all nontemporal buffers begin at multiples of a vector. Null: there are none. */
static LLVMValueRef nontemporal(neo_ll_gen *g) {
  LLVMBuilderRef b = g->l->b;
  LLVMValueRef sum = NULL;
  for (uint32_t k = 0; k < g->k->bufs.n; k++) {
    if (!g->k->bufs.at[k].nontemporal)
      continue;
    LLVMValueRef at = LLVMBuildPtrToInt(b, neo_ll_buf_value(g, k), neo_ll_i64(g->l), "");
    sum = sum ? LLVMBuildOr(b, sum, at, "") : at;
  }
  if (!sum)
    return NULL;
  LLVMValueRef low = neo_ll_int64(g->l, (int64_t)g->l->target.vector_bytes - 1);
  LLVMValueRef zero = neo_ll_int64(g->l, 0);
  return LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, sum, low, ""), zero, "");
}

/* A fence: nontemporal stores become visible before this thread signals another one. */
static void drain(neo_ll_gen *g) {
  if (strncmp(g->l->target.triple, "x86_64", 6) == 0)
    neo_ll_call(g->l, "llvm.x86.sse.sfence", NULL, NULL, 0);
}

/* Emits the body. If the kernel has nontemporal buffers, it is emitted twice: with nontemporal
 * stores for buffers that are aligned to vectors, and with plain ones for all others. A GPU's
 * caches work differently, so there stores are plain and prefetches are left out. */
void neo_ll_body(neo_ll_gen *g) {
  LLVMValueRef aligned = g->l->target.sm ? NULL : nontemporal(g);
  if (aligned) {
    LLVMBasicBlockRef fast = neo_ll_new_block(g, "nontemporal"),
                      plain = neo_ll_new_block(g, "plain");
    LLVMBuildCondBr(g->l->b, aligned, fast, plain);
    LLVMPositionBuilderAtEnd(g->l->b, fast);
    g->nontemporal = true;
    body(g);
    drain(g);
    LLVMBuildRet(g->l->b, neo_ll_int32(g->l, 0));
    g->nontemporal = false;
    LLVMMoveBasicBlockAfter(plain, LLVMGetInsertBlock(g->l->b));
    LLVMPositionBuilderAtEnd(g->l->b, plain);
  }
  body(g);
}

neo_status neo_llvm_kernel(neo_llvm *l, const neo_kernel *k, const char *symbol, const char **why) {
  *why = "";
  assert(!l->finished && "kernels come before neo_llvm_finish");
  neo_str text = neo_str_in(l->arena);
  neo_status status = neo_kernel_verify(k, &text);
  if (status) {
    *why = neo_str_text(&text);
    return status;
  }
  LLVMTypeRef ptr = neo_ll_ptr_type(l);
  neo_ll_gen g = {.l = l, .k = k};
  bool gpu = l->target.sm != 0;
  g.threads = gpu ? neo_kernel_threads(k) : 0;
  g.n_maps = neo_kernel_maps(k, g.maps);
  if (gpu) {
    neo_ll_gpu_function(&g, symbol);
  } else {
    g.fn = neo_ll_function(l, symbol, LLVMFunctionType(neo_ll_i32(l), &ptr, 1, false), false);
    g.args = LLVMGetParam(g.fn, 0);
  }
  g.entry_block = neo_ll_new_block(&g, "entry");
  LLVMBasicBlockRef first = neo_ll_new_block(&g, "start");
  LLVMPositionBuilderAtEnd(l->entry, g.entry_block);
  LLVMPositionBuilderAtEnd(l->b, first);
  neo_ll_state(&g, symbol);
  if (gpu)
    neo_ll_gpu_arguments(&g);
  LLVMBuilderRef at = l->b;
  l->b = l->entry;
  neo_ll_origins(&g);
  l->b = at;
  g.tiles = neo_kernel_has(k, NEO_LS_TILE);
  if (g.tiles)
    neo_ll_tiles_declare(&g);
  if (neo_kernel_has_dots(k))
    neo_ll_dots_declare(&g);
  neo_ll_tma_begin(&g);
  neo_ll_body(&g);
  if (gpu)
    LLVMBuildRetVoid(l->b);
  else
    LLVMBuildRet(l->b, neo_ll_int32(l, 0));
  LLVMBuildBr(l->entry, first);
  return NEO_OK;
}

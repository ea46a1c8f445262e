/* The arguments of a kernel: buffers, sizes and keys, each loaded in the entry block at its first
 * use; and alias scopes for buffers that overlap no other. */
#include "codegen/llvm/gen.h"
#include "neo/neo_rt.h"
#include <stddef.h>
#include <string.h>

static LLVMValueRef marked(neo_ll_gen *g, LLVMValueRef load, const char *kind) {
  LLVMValueRef none = LLVMMetadataAsValue(g->l->ctx, LLVMMDNodeInContext2(g->l->ctx, NULL, 0));
  unsigned id = LLVMGetMDKindIDInContext(g->l->ctx, kind, (unsigned)strlen(kind));
  LLVMSetMetadata(load, id, none);
  return load;
}

/* Loads the n-th element of type `t` from p, which does not change while the kernel runs. */
static LLVMValueRef load_invariant(neo_ll_gen *g, LLVMTypeRef t, LLVMValueRef p, size_t n) {
  LLVMBuilderRef b = g->l->entry;
  LLVMValueRef at = LLVMConstInt(neo_ll_i64(g->l), n, false);
  if (n)
    p = LLVMBuildInBoundsGEP2(b, t, p, &at, 1, "");
  LLVMValueRef load = LLVMBuildLoad2(b, t, p, "");
  LLVMSetAlignment(load, 8);
  return marked(g, load, "invariant.load");
}

LLVMValueRef neo_ll_argument(neo_ll_gen *g, LLVMTypeRef t, size_t offset_bytes) {
  LLVMTypeRef i8 = LLVMInt8TypeInContext(g->l->ctx);
  LLVMValueRef at = LLVMConstInt(neo_ll_i64(g->l), offset_bytes, false);
  return load_invariant(g, t, LLVMBuildInBoundsGEP2(g->l->entry, i8, g->args, &at, 1, ""), 0);
}

LLVMValueRef neo_ll_size_value(neo_ll_gen *g, uint32_t size) {
  if (!g->size[size]) {
    LLVMValueRef table = neo_ll_argument(g, neo_ll_ptr_type(g->l), offsetof(neo_rt_args, size));
    g->size[size] = load_invariant(g, neo_ll_i64(g->l), table, size);
  }
  return g->size[size];
}

LLVMValueRef neo_ll_key_value(neo_ll_gen *g, uint32_t which) {
  if (!g->key[which]) {
    LLVMValueRef table = neo_ll_argument(g, neo_ll_ptr_type(g->l), offsetof(neo_rt_args, key));
    g->key[which] = load_invariant(g, neo_ll_i64(g->l), table, which);
  }
  return g->key[which];
}

static uint32_t argument_number(const neo_kernel *k, uint32_t buf) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < buf; b++)
    n += !(k->bufs.at[b].use & NEO_BUF_SCRATCH);
  return n;
}

/* Scratch begins half a page after the first nontemporal buffer (loop.h says why). */
static LLVMValueRef moved(neo_ll_gen *g, LLVMValueRef at) {
  LLVMBuilderRef b = g->l->entry;
  uint32_t first = 0;
  while (!g->k->bufs.at[first].nontemporal)
    first++;
  LLVMValueRef to = LLVMBuildPtrToInt(b, neo_ll_buf_value(g, first), neo_ll_i64(g->l), "");
  LLVMValueRef by = LLVMBuildSub(b, to, LLVMBuildPtrToInt(b, at, neo_ll_i64(g->l), ""), "");
  by = LLVMBuildAdd(b, by, neo_ll_int64(g->l, NEO_PAGE_BYTES / 2), "");
  by = LLVMBuildAnd(
      b, by, neo_ll_int64(g->l, NEO_PAGE_BYTES - g->l->target.machine.profile.line_bytes), "");
  return LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(g->l->ctx), at, &by, 1, "");
}

static LLVMValueRef scratch_value(neo_ll_gen *g) {
  if (!g->scratch) {
    g->scratch = neo_ll_argument(g, neo_ll_ptr_type(g->l), offsetof(neo_rt_args, scratch));
    if (neo_kernel_scratch_moves(g->k))
      g->scratch = moved(g, g->scratch);
  }
  return g->scratch;
}

LLVMValueRef neo_ll_buf_value(neo_ll_gen *g, uint32_t buf) {
  LLVMTypeRef ptr = neo_ll_ptr_type(g->l);
  neo_ll_buf *b = &g->buf[buf];
  if (b->ptr)
    return b->ptr;
  if (g->k->bufs.at[buf].use & NEO_BUF_SCRATCH) {
    LLVMValueRef at = scratch_value(g);
    LLVMValueRef far = LLVMConstInt(
        neo_ll_i64(g->l), (unsigned long long)neo_kernel_scratch_offset(g->k, buf), false);
    b->ptr = LLVMBuildInBoundsGEP2(g->l->entry, LLVMInt8TypeInContext(g->l->ctx), at, &far, 1, "");
  } else {
    LLVMValueRef table = neo_ll_argument(g, ptr, offsetof(neo_rt_args, buf));
    b->ptr = load_invariant(g, ptr, table, argument_number(g->k, buf));
  }
  return b->ptr;
}

/* Buffers begin at their origins, which follow from sizes alone. */
void neo_ll_origins(neo_ll_gen *g) {
  g->stamp++;
  for (uint32_t k = 0; k < g->k->bufs.n; k++) {
    const neo_kbuf *buf = &g->k->bufs.at[k];
    if (!buf->origin)
      continue;
    LLVMValueRef from = neo_ll_buf_value(g, k), at = neo_ll_expr(g, buf->origin).v;
    LLVMTypeRef type = neo_ll_mem_type(g->l, (neo_type)buf->type, 1);
    g->buf[k].ptr = LLVMBuildInBoundsGEP2(g->l->b, type, from, &at, 1, "");
  }
}

/* Stores: contiguous runs as vectors, masked if the guard has lanes; all others lane by lane. */
#include "codegen/llvm/core/access.h"

/* Reports a store to memory that asynchronous instructions read to an emulated device:
 * "neo_gpu_wrote(at, bytes)". These instructions see it only after fences. */
static void tell_of_store(neo_ll_gen *g, uint32_t buf, LLVMValueRef at, LLVMValueRef v) {
  if (!g->l->target.emulated || !g->matrix[buf])
    return;
  int64_t bytes = (int64_t)neo_ll_width(v) * neo_type_bytes((neo_type)g->k->bufs.at[buf].type);
  neo_ll_tell(g->l, "neo_gpu_wrote", (LLVMValueRef[]){at, neo_ll_int32(g->l, bytes)}, 2);
}

void neo_ll_store_one(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef at, LLVMValueRef v,
                      uint32_t align) {
  tell_of_store(g, p->buf, at, v);
  LLVMValueRef s = LLVMBuildStore(g->l->b, v, at);
  LLVMSetAlignment(s, align);
  neo_ll_mark_alias(g, p->buf, s);
}

/* A store past the caches, which then do not have to load the line. */
static void store_nontemporal(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef at,
                              LLVMValueRef v) {
  LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(neo_ll_i32(g->l), 1, false));
  LLVMValueRef s = LLVMBuildStore(g->l->b, v, at);
  LLVMSetAlignment(s, g->l->target.vector_bytes);
  LLVMSetMetadata(s, LLVMGetMDKindIDInContext(g->l->ctx, "nontemporal", 11),
                  LLVMMetadataAsValue(g->l->ctx, LLVMMDNodeInContext2(g->l->ctx, &one, 1)));
  neo_ll_mark_alias(g, p->buf, s);
}

static void store_pieces(neo_ll_gen *g, neo_ll_access *p, uint32_t n, LLVMValueRef v,
                         LLVMValueRef mask) {
  p->align = neo_type_bytes(p->type);
  for (uint32_t lane = 0; lane < g->width; lane += n) {
    LLVMValueRef at = neo_ll_lane_address(g, p, lane), piece = neo_ll_piece_of(g, v, lane, n);
    if (mask) {
      LLVMValueRef arg[] = {piece, at, neo_ll_piece_of(g, mask, lane, n)};
      tell_of_store(g, p->buf, at, piece);
      neo_ll_masked(g, p, "llvm.masked.store", LLVMTypeOf(piece), arg, 3, 1);
    } else {
      neo_ll_store_one(g, p, at, piece, p->align);
    }
  }
}

static void store_run(neo_ll_gen *g, neo_ll_access *p, LLVMValueRef v, LLVMValueRef mask,
                      bool nontemporal) {
  LLVMValueRef at = neo_ll_run_start(g, p, &mask);
  p->align = neo_ll_run_align(p);
  if (p->lin.step != 1)
    v = neo_ll_reversed(g, v);
  LLVMValueRef arg[] = {v, at, mask};
  if (mask)
    tell_of_store(g, p->buf, at, v);
  if (mask)
    neo_ll_masked(g, p, "llvm.masked.store", LLVMTypeOf(v), arg, 3, 1);
  else if (nontemporal)
    store_nontemporal(g, p, at, v);
  else
    neo_ll_store_one(g, p, at, v, p->align);
}

static void store_each(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef v, LLVMValueRef mask) {
  LLVMValueRef at[1024];
  for (uint32_t k = 0; k < g->width; k++)
    at[k] = neo_ll_lane_address(g, p, k);
  for (uint32_t k = 0; k < g->width; k++) {
    LLVMValueRef bit =
        mask ? LLVMBuildExtractElement(g->l->b, mask, neo_ll_int32(g->l, k), "") : NULL;
    LLVMValueRef x = LLVMBuildExtractElement(g->l->b, v, neo_ll_int32(g->l, k), "");
    LLVMBasicBlockRef after = neo_ll_begin_if(g, bit);
    neo_ll_store_one(g, p, at[k], x, neo_type_bytes(p->type));
    neo_ll_end_if(g, after);
  }
}

void neo_ll_store_lanes(neo_ll_gen *g, neo_ll_access *p, LLVMValueRef v, LLVMValueRef mask,
                        bool nontemporal) {
  uint32_t run = neo_ll_piece_lanes(g, p);
  if (neo_ll_is_run(p))
    store_run(g, p, v, mask, nontemporal);
  else if (run)
    store_pieces(g, p, run, v, mask);
  else
    store_each(g, p, v, mask);
}

/* In parts whose lengths are powers of two: a processor has no others. */
void neo_ll_store_first(neo_ll_gen *g, uint32_t buf, LLVMValueRef at, LLVMValueRef v, uint32_t n,
                        neo_ll_val guard, uint32_t lane) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  neo_ll_access p = {.type = (neo_type)g->k->bufs.at[buf].type, .buf = buf, .guarded = guard.v};
  LLVMBasicBlockRef after = neo_ll_begin_if(g, guard.v ? neo_ll_lane_of(g, guard, lane) : NULL);
  LLVMValueRef order[1024];
  for (uint32_t from = 0, part = neo_ll_width(v); from < n; part /= 2) {
    if (n - from < part)
      continue;
    for (uint32_t k = 0; k < part; k++)
      order[k] = neo_ll_int(t, from + k);
    LLVMValueRef x = v;
    if (part == 1 && neo_ll_width(v) > 1)
      x = LLVMBuildExtractElement(g->l->b, v, order[0], "");
    else if (part > 1)
      x = LLVMBuildShuffleVector(g->l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                 LLVMConstVector(order, part), "");
    neo_ll_store_one(g, &p, neo_ll_step_to(g, &p, at, neo_ll_int64(g->l, from)), x,
                     neo_type_bytes(p.type));
    from += part;
  }
  neo_ll_end_if(g, after);
}

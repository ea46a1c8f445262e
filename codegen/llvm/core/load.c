/* Loads. The code depends on the form of the offset:
 *   no lane          one scalar access
 *   step 1, -1       a vector, reversed for -1; masked if the guard has lanes
 *   any other step   a scalar access for each lane; step 2 loads two overlapping vectors and
 *                    shuffles
 *   a pattern        if lanes use all elements from the first to the last: one vector of these,
 *                    shuffled; if lanes form runs of equal length, such as lanes (q, j) of two
 *                    fused axes: a shorter vector for each run; else a scalar access for each lane
 *   not affine       a vector of offsets, a scalar access for each lane
 * A load whose guard does not hold reads zeros of the library: the select of the address needs no
 * branch. There is a branch only around the scalar accesses of several lanes under the same guard.
 * A masked vector whose guard depends on elements of tensors also reads these zeros if no lane
 * holds:
 *
 *   masked.load(at, mask)    ->    masked.load(any(mask) ? at : zeros, mask)
 *
 * The rows of a vector without active lanes may be in pages that were never touched
 * (transform/sparse_rows.c). In such a page a processor takes hundreds of cycles to find that the
 * load does not fault. */
#include "codegen/llvm/core/access.h"

/* A constant, not a local: of a local, passes would make a branch of each access. */
static LLVMValueRef dummy(neo_ll_gen *g) {
  enum { BYTES = 1024 };
  static const char name[] = ".neo.outside";
  LLVMValueRef v = LLVMGetNamedGlobal(g->l->mod, name);
  if (v)
    return v;
  LLVMTypeRef t = LLVMArrayType2(neo_ll_i64(g->l), BYTES / 8);
  v = LLVMAddGlobal(g->l->mod, t, name);
  LLVMSetInitializer(v, LLVMConstNull(t));
  LLVMSetGlobalConstant(v, true);
  LLVMSetLinkage(v, LLVMPrivateLinkage);
  LLVMSetUnnamedAddress(v, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(v, NEO_LL_DUMMY_ALIGN);
  return v;
}

/* The address, or that of zeros where the condition does not hold. */
static LLVMValueRef guarded_address(neo_ll_gen *g, LLVMValueRef at, LLVMValueRef cond) {
  return cond ? LLVMBuildSelect(g->l->b, cond, at, dummy(g), "") : at;
}

static LLVMValueRef plain_load(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef at, uint32_t w,
                               uint32_t align) {
  LLVMValueRef v = LLVMBuildLoad2(g->l->b, neo_ll_mem_type(g->l, p->type, w), at, "");
  LLVMSetAlignment(v, align);
  neo_ll_mark_alias(g, p->buf, v);
  return v;
}

static LLVMValueRef any(neo_ll_gen *g, neo_ll_val guard) {
  if (!guard.v || !guard.lanes)
    return guard.v;
  return neo_ll_call(g->l, "llvm.vector.reduce.or", LLVMTypeOf(guard.v), &guard.v, 1);
}

static LLVMValueRef masked_load(neo_ll_gen *g, const neo_ll_access *p, LLVMTypeRef t,
                                LLVMValueRef at, neo_ll_val mask) {
  if (mask.of_data && !g->l->target.sm)
    at = guarded_address(g, at, any(g, mask));
  LLVMValueRef arg[] = {at, mask.v, LLVMConstNull(t)};
  return neo_ll_masked(g, p, "llvm.masked.load", t, arg, 3, 0);
}

static neo_ll_val masked(neo_ll_val guard, LLVMValueRef mask) {
  guard.v = mask;
  return guard;
}

static LLVMValueRef load_run(neo_ll_gen *g, neo_ll_access *p, neo_ll_val guard) {
  LLVMValueRef mask = guard.lanes ? guard.v : NULL, v;
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, g->width);
  LLVMValueRef at = neo_ll_run_start(g, p, &mask);
  p->align = neo_ll_run_align(p);
  if (mask) {
    v = masked_load(g, p, t, at, masked(guard, mask));
  } else {
    at = guarded_address(g, at, guard.v);
    v = plain_load(g, p, at, g->width, p->align);
  }
  return p->lin.step == 1 ? v : neo_ll_reversed(g, v);
}

/* The mask of the elements [first, first + width), counted from lane 0's, that some lane reads. */
static LLVMValueRef pairs_mask(neo_ll_gen *g, LLVMValueRef lanes, uint32_t first) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef order[1024];
  for (uint32_t k = 0; k < g->width; k++)
    order[k] = neo_ll_int(t, (first + k) % 2 ? g->width : (first + k) / 2);
  return LLVMBuildShuffleVector(g->l->b, lanes, LLVMConstNull(LLVMTypeOf(lanes)),
                                LLVMConstVector(order, g->width), "");
}

/* [first, first + width) of the elements between lanes' and theirs. */
static LLVMValueRef pairs_part(neo_ll_gen *g, neo_ll_access *p, uint32_t first, neo_ll_val guard) {
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, g->width);
  LLVMValueRef at = first ? neo_ll_step_to(g, p, p->base, neo_ll_int64(g->l, first)) : p->base;
  p->align = neo_type_bytes(p->type);
  if (!guard.lanes)
    return plain_load(g, p, guarded_address(g, at, guard.v), g->width, p->align);
  return masked_load(g, p, t, at, masked(guard, pairs_mask(g, guard.v, first)));
}

/* Two vectors that together reach from the first element to the last: nothing beyond is read. */
static LLVMValueRef load_pairs(neo_ll_gen *g, neo_ll_access *p, neo_ll_val guard) {
  uint32_t w = g->width;
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef order[1024];
  LLVMValueRef a = pairs_part(g, p, 0, guard), b = pairs_part(g, p, w - 1, guard);
  for (uint32_t k = 0; k < w; k++)
    order[k] = neo_ll_int(t, k < w / 2 ? 2 * k : w + 2 * k - (w - 1));
  return LLVMBuildShuffleVector(g->l->b, a, b, LLVMConstVector(order, w), "");
}

/* ---- patterns */

enum { WINDOW = 64 }; /* most elements of a window */

typedef struct {
  int64_t first;
  uint32_t n;        /* elements from the first to the last */
  uint32_t at[1024]; /* element of each lane */
} window;

/* The window of elements that the lanes use; false: the lanes skip elements, which then may not
 * exist. */
static bool window_of(const neo_ll_gen *g, const neo_ll_access *p, window *w) {
  bool used[WINDOW] = {false};
  int64_t last = 0;
  w->first = 0;
  if (!p->affine || p->lin.stride || !p->lin.pattern)
    return false;
  for (uint32_t k = 0; k < g->width; k++) {
    int64_t at = neo_ll_lane_offset(&p->lin, k);
    w->first = at < w->first ? at : w->first;
    last = at > last ? at : last;
  }
  w->n = last - w->first < WINDOW ? (uint32_t)(last - w->first) + 1 : 0;
  for (uint32_t k = 0; k < g->width && w->n; k++) {
    w->at[k] = (uint32_t)(neo_ll_lane_offset(&p->lin, k) - w->first);
    used[w->at[k]] = true;
  }
  for (uint32_t k = 0; k < w->n; k++)
    if (!used[k])
      return false;
  return w->n > 1;
}

/* The mask of a window's elements: an element is read if one of its lanes is active. In iteration
 * r, element e takes its r-th lane, or its last one. */
static LLVMValueRef window_mask(neo_ll_gen *g, const window *w, LLVMValueRef lanes) {
  uint32_t most = 0, count[WINDOW] = {0}, order[WINDOW];
  LLVMValueRef mask = NULL;
  for (uint32_t k = 0; k < g->width; k++)
    if (++count[w->at[k]] > most)
      most = count[w->at[k]];
  for (uint32_t r = 0; r < most; r++) {
    uint32_t seen[WINDOW] = {0};
    for (uint32_t k = 0; k < g->width; k++)
      if (seen[w->at[k]]++ <= r)
        order[w->at[k]] = k;
    LLVMValueRef some = neo_ll_shuffled(g, lanes, order, w->n);
    mask = mask ? LLVMBuildOr(g->l->b, mask, some, "") : some;
  }
  return mask;
}

static LLVMValueRef load_window(neo_ll_gen *g, neo_ll_access *p, const window *w,
                                neo_ll_val guard) {
  LLVMValueRef at =
                   w->first ? neo_ll_step_to(g, p, p->base, neo_ll_int64(g->l, w->first)) : p->base,
               v;
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, w->n);
  p->align = w->first ? neo_type_bytes(p->type) : p->align;
  if (guard.lanes) {
    v = masked_load(g, p, t, at, masked(guard, window_mask(g, w, guard.v)));
  } else {
    v = plain_load(g, p, guarded_address(g, at, guard.v), w->n, p->align);
  }
  return neo_ll_shuffled(g, v, w->at, g->width);
}

/* v with the n lanes of `piece` from `lane` on. */
static LLVMValueRef with_piece(neo_ll_gen *g, LLVMValueRef v, LLVMValueRef piece, uint32_t lane,
                               uint32_t n) {
  uint32_t order[1024];
  LLVMValueRef at[1024];
  LLVMTypeRef t = neo_ll_i32(g->l);
  for (uint32_t k = 0; k < g->width; k++) {
    bool here = k >= lane && k < lane + n;
    order[k] = here ? k - lane : 0;
    at[k] = neo_ll_int(t, here ? g->width + k : k);
  }
  piece = neo_ll_shuffled(g, piece, order, g->width);
  return LLVMBuildShuffleVector(g->l->b, v, piece, LLVMConstVector(at, g->width), "");
}

static LLVMValueRef load_pieces(neo_ll_gen *g, neo_ll_access *p, uint32_t n, neo_ll_val guard) {
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, n);
  LLVMValueRef v = LLVMGetPoison(neo_ll_mem_type(g->l, p->type, g->width)), piece;
  p->align = neo_type_bytes(p->type);
  for (uint32_t lane = 0; lane < g->width; lane += n) {
    LLVMValueRef at = neo_ll_lane_address(g, p, lane);
    if (guard.lanes) {
      piece = masked_load(g, p, t, at, masked(guard, neo_ll_piece_of(g, guard.v, lane, n)));
    } else {
      piece = plain_load(g, p, guarded_address(g, at, guard.v), n, p->align);
    }
    v = with_piece(g, v, piece, lane, n);
  }
  return v;
}

static LLVMValueRef each_lane(neo_ll_gen *g, const neo_ll_access *p, neo_ll_val guard) {
  LLVMValueRef v = LLVMGetPoison(neo_ll_mem_type(g->l, p->type, g->width));
  for (uint32_t k = 0; k < g->width; k++) {
    LLVMValueRef at = neo_ll_lane_address(g, p, k);
    if (guard.v)
      at = guarded_address(g, at, neo_ll_lane_of(g, guard, k));
    LLVMValueRef x = plain_load(g, p, at, 1, neo_type_bytes(p->type));
    v = LLVMBuildInsertElement(g->l->b, v, x, neo_ll_int32(g->l, k), "");
  }
  return v;
}

static LLVMValueRef load_lanes(neo_ll_gen *g, const neo_ll_access *p, neo_ll_val guard) {
  if (!guard.v || guard.lanes)
    return each_lane(g, p, guard);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(g->l->b), after = neo_ll_begin_if(g, guard.v);
  LLVMValueRef v[] = {NULL, each_lane(g, p, (neo_ll_val){0})};
  LLVMBasicBlockRef way[] = {from, LLVMGetInsertBlock(g->l->b)};
  neo_ll_end_if(g, after);
  v[0] = LLVMConstNull(LLVMTypeOf(v[1]));
  LLVMValueRef y = LLVMBuildPhi(g->l->b, LLVMTypeOf(v[1]), "");
  LLVMAddIncoming(y, v, way, 2);
  return y;
}

LLVMValueRef neo_ll_load_simple(neo_ll_gen *g, neo_ll_access *p, neo_ll_val guard) {
  if (neo_ll_has_lanes(p))
    return load_run(g, p, guard);
  return plain_load(g, p, guarded_address(g, p->base, any(g, guard)), 1, p->align);
}

LLVMValueRef neo_ll_load_access(neo_ll_gen *g, neo_ll_access *p, neo_ll_val guard) {
  window w;
  uint32_t run = neo_ll_piece_lanes(g, p);
  if (!neo_ll_has_lanes(p) || neo_ll_is_run(p))
    return neo_ll_load_simple(g, p, guard);
  if (window_of(g, p, &w))
    return load_window(g, p, &w, guard);
  if (run)
    return load_pieces(g, p, run, guard);
  bool even = g->width % 2 == 0;
  if (p->affine && !p->lin.stride && !p->lin.pattern && p->lin.step == 2 && even)
    return load_pairs(g, p, guard);
  return load_lanes(g, p, guard);
}

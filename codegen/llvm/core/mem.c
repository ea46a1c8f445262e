/* Loads and stores. The offset's form decides:
 *   no lane          one scalar access
 *   step 1, -1       a vector, reversed for -1; masked where a guard has lanes
 *   any other step   a scalar access a lane; step 2 loads two overlapping vectors and shuffles
 *   a pattern        where lanes use all elements from the first to the last: these as one
 *                    vector, shuffled; runs of as many lanes each: a shorter vector a run, of lanes
 *                    (q, j) walked as one, say; else a scalar access a lane
 *   not affine       a vector of offsets, a scalar access a lane
 * A load whose guard fails reads zeros of the library instead: selecting the address needs no
 * branch. Only the scalar accesses of several lanes under one guard are branched around, together.
 * */
#include "codegen/llvm/gen.h"
#include <assert.h>
#include <llvm/Config/llvm-config.h>
#include <string.h>

enum { DUMMY_ALIGN = 64, LEAST_VECTOR = 16 }; /* bytes */

typedef struct {
  neo_type type;
  uint32_t buf, align;
  bool affine, guarded;
  neo_ll_lin lin;
  LLVMValueRef base;    /* address for lane 0 */
  LLVMValueRef offsets; /* not affine: a vector */
} place;

/* Behind a guard the address may lie outside: then it must not be called inbounds. */
static LLVMValueRef step_to(neo_ll_gen *g, const place *p, LLVMValueRef at, LLVMValueRef offset) {
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, 1);
  if (p->guarded)
    return LLVMBuildGEP2(g->l->b, t, at, &offset, 1, "");
  return LLVMBuildInBoundsGEP2(g->l->b, t, at, &offset, 1, "");
}

/* Alignment that the address of the offset is known to have. */
static uint32_t known_align(neo_ll_gen *g, uint32_t buf, const neo_lx *offset) {
  const neo_kbuf *b = &g->k->bufs.at[buf];
  int64_t size = neo_type_bytes((neo_type)b->type), align = b->align, m;
  if (b->use & NEO_BUF_SCRATCH)
    align = DUMMY_ALIGN;
  if (align <= size || __builtin_mul_overflow(neo_ll_multiple(g, offset), size, &m))
    return (uint32_t)size;
  if (m != 0 && (m & -m) < align)
    align = m & -m;
  return (uint32_t)(align < size ? size : align > DUMMY_ALIGN ? DUMMY_ALIGN : align);
}

static place place_of(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, bool guarded) {
  place p = {.type = (neo_type)g->k->bufs.at[buf].type, .buf = buf, .guarded = guarded};
  LLVMValueRef ptr = neo_ll_buf_value(g, buf);
  p.align = known_align(g, buf, offset);
  p.affine = neo_ll_linear(g, offset, &p.lin);
  if (!p.affine) {
    p.base = ptr;
    p.offsets = neo_ll_expr(g, offset).v;
    return p;
  }
  LLVMValueRef sum = neo_ll_linear_value(g, &p.lin, false, NULL);
  p.base = sum ? step_to(g, &p, ptr, sum) : ptr;
  if (p.lin.c)
    p.base = step_to(g, &p, p.base, neo_ll_int64(g->l, p.lin.c));
  return p;
}

static bool has_lanes(const place *p) {
  return !p->affine || p->lin.step || p->lin.stride || p->lin.pattern;
}

static bool is_run(const place *p) {
  return p->affine && !p->lin.stride && !p->lin.pattern && (p->lin.step == 1 || p->lin.step == -1);
}

static LLVMValueRef lane_address(neo_ll_gen *g, const place *p, uint32_t lane) {
  if (!p->affine) {
    LLVMValueRef at = LLVMBuildExtractElement(g->l->b, p->offsets, neo_ll_int32(g->l, lane), "");
    return step_to(g, p, p->base, at);
  }
  LLVMValueRef at = p->base;
  if (p->lin.stride) {
    LLVMValueRef far = LLVMBuildMul(g->l->b, p->lin.stride, neo_ll_int64(g->l, lane), "");
    at = step_to(g, p, at, far);
  }
  int64_t steps = neo_ll_lane_offset(&p->lin, lane);
  return steps ? step_to(g, p, at, neo_ll_int64(g->l, steps)) : at;
}

static void mark_alias(neo_ll_gen *g, uint32_t buf, LLVMValueRef access) {
  neo_ll_buf *b = &g->buf[buf];
  if (b->scope)
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(g->l->ctx, "alias.scope", 11), b->scope);
  g->n_accesses++;
  if (b->noalias)
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(g->l->ctx, "noalias", 7), b->noalias);
}

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
  LLVMSetAlignment(v, DUMMY_ALIGN);
  return v;
}

static LLVMValueRef lane_of(neo_ll_gen *g, neo_ll_val guard, uint32_t lane) {
  if (!guard.lanes)
    return guard.v;
  return LLVMBuildExtractElement(g->l->b, guard.v, neo_ll_int32(g->l, lane), "");
}

/* The address, or that of zeros where the condition does not hold. */
static LLVMValueRef guarded_address(neo_ll_gen *g, LLVMValueRef at, LLVMValueRef cond) {
  return cond ? LLVMBuildSelect(g->l->b, cond, at, dummy(g), "") : at;
}

static LLVMValueRef plain_load(neo_ll_gen *g, const place *p, LLVMValueRef at, uint32_t w,
                               uint32_t align) {
  LLVMValueRef v = LLVMBuildLoad2(g->l->b, neo_ll_mem_type(g->l, p->type, w), at, "");
  LLVMSetAlignment(v, align);
  mark_alias(g, p->buf, v);
  return v;
}

/* An emulated device is told of what asynchronous instructions will read, which see it only behind
 * fences: "neo_gpu_wrote(at, bytes)". */
static void tell_of_store(neo_ll_gen *g, uint32_t buf, LLVMValueRef at, LLVMValueRef v) {
  if (!g->l->target.emulated || !g->matrix[buf])
    return;
  int64_t bytes = (int64_t)neo_ll_width(v) * neo_type_bytes((neo_type)g->k->bufs.at[buf].type);
  neo_ll_gpu_tell(g, "neo_gpu_wrote", (LLVMValueRef[]){at, neo_ll_int32(g->l, bytes)}, 2);
}

static void plain_store(neo_ll_gen *g, const place *p, LLVMValueRef at, LLVMValueRef v,
                        uint32_t align) {
  tell_of_store(g, p->buf, at, v);
  LLVMValueRef s = LLVMBuildStore(g->l->b, v, at);
  LLVMSetAlignment(s, align);
  mark_alias(g, p->buf, s);
}

static LLVMValueRef any(neo_ll_gen *g, neo_ll_val guard) {
  if (!guard.v || !guard.lanes)
    return guard.v;
  return neo_ll_call(g->l, "llvm.vector.reduce.or", LLVMTypeOf(guard.v), &guard.v, 1);
}

static LLVMValueRef reversed(neo_ll_gen *g, LLVMValueRef v) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef order[1024];
  for (uint32_t k = 0; k < g->width; k++)
    order[k] = neo_ll_int(t, (int64_t)(g->width - 1 - k));
  return LLVMBuildShuffleVector(g->l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                LLVMConstVector(order, g->width), "");
}

/* ---- masked vectors. From LLVM 22 on the alignment is an attribute of the pointer. */

static LLVMValueRef masked(neo_ll_gen *g, const place *p, const char *name, LLVMTypeRef t,
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
  mark_alias(g, p->buf, v);
  return v;
}

/* First address of a run, and the guard in the order of memory. */
static LLVMValueRef run_start(neo_ll_gen *g, const place *p, LLVMValueRef *mask) {
  if (p->lin.step == 1)
    return p->base;
  if (mask && *mask)
    *mask = reversed(g, *mask);
  return step_to(g, p, p->base, neo_ll_int64(g->l, -(int64_t)(g->width - 1)));
}

static uint32_t run_align(const place *p) {
  return p->lin.step == 1 ? p->align : neo_type_bytes(p->type);
}

static LLVMValueRef load_run(neo_ll_gen *g, place *p, neo_ll_val guard) {
  LLVMValueRef mask = guard.lanes ? guard.v : NULL, v;
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, g->width);
  LLVMValueRef at = run_start(g, p, &mask);
  p->align = run_align(p);
  if (mask) {
    LLVMValueRef arg[] = {at, mask, LLVMConstNull(t)};
    v = masked(g, p, "llvm.masked.load", t, arg, 3, 0);
  } else {
    at = guarded_address(g, at, guard.v);
    v = plain_load(g, p, at, g->width, p->align);
  }
  return p->lin.step == 1 ? v : reversed(g, v);
}

/* Of the elements that lane 0's is the first of, those [first, first + width): which are read. */
static LLVMValueRef pairs_mask(neo_ll_gen *g, LLVMValueRef lanes, uint32_t first) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef order[1024];
  for (uint32_t k = 0; k < g->width; k++)
    order[k] = neo_ll_int(t, (first + k) % 2 ? g->width : (first + k) / 2);
  return LLVMBuildShuffleVector(g->l->b, lanes, LLVMConstNull(LLVMTypeOf(lanes)),
                                LLVMConstVector(order, g->width), "");
}

/* [first, first + width) of the elements between lanes' and theirs. */
static LLVMValueRef pairs_part(neo_ll_gen *g, place *p, uint32_t first, neo_ll_val guard) {
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, g->width);
  LLVMValueRef at = first ? step_to(g, p, p->base, neo_ll_int64(g->l, first)) : p->base;
  p->align = neo_type_bytes(p->type);
  if (!guard.lanes)
    return plain_load(g, p, guarded_address(g, at, guard.v), g->width, p->align);
  LLVMValueRef arg[] = {at, pairs_mask(g, guard.v, first), LLVMConstNull(t)};
  return masked(g, p, "llvm.masked.load", t, arg, 3, 0);
}

/* Two vectors that together reach from the first element to the last: nothing beyond is read. */
static LLVMValueRef load_pairs(neo_ll_gen *g, place *p, neo_ll_val guard) {
  uint32_t w = g->width;
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef order[1024];
  LLVMValueRef a = pairs_part(g, p, 0, guard), b = pairs_part(g, p, w - 1, guard);
  for (uint32_t k = 0; k < w; k++)
    order[k] = neo_ll_int(t, k < w / 2 ? 2 * k : w + 2 * k - (w - 1));
  return LLVMBuildShuffleVector(g->l->b, a, b, LLVMConstVector(order, w), "");
}

/* ---- patterns */

typedef struct {
  int64_t first;
  uint32_t n;        /* elements from the first to the last */
  uint32_t at[1024]; /* of each lane */
} window;

/* False: lanes leave out elements, which then need not exist. */
static bool window_of(const neo_ll_gen *g, const place *p, window *w) {
  bool used[64] = {false};
  int64_t last = 0;
  w->first = 0;
  if (!p->affine || p->lin.stride || !p->lin.pattern)
    return false;
  for (uint32_t k = 0; k < g->width; k++) {
    int64_t at = neo_ll_lane_offset(&p->lin, k);
    w->first = at < w->first ? at : w->first;
    last = at > last ? at : last;
  }
  w->n = last - w->first < 64 ? (uint32_t)(last - w->first) + 1 : 0;
  for (uint32_t k = 0; k < g->width && w->n; k++) {
    w->at[k] = (uint32_t)(neo_ll_lane_offset(&p->lin, k) - w->first);
    used[w->at[k]] = true;
  }
  for (uint32_t k = 0; k < w->n; k++)
    if (!used[k])
      return false;
  return w->n > 1;
}

static LLVMValueRef shuffled(neo_ll_gen *g, LLVMValueRef v, const uint32_t *order, uint32_t n) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef at[1024];
  for (uint32_t k = 0; k < n; k++)
    at[k] = neo_ll_int(t, order[k]);
  return LLVMBuildShuffleVector(g->l->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(at, n),
                                "");
}

/* An element is read where one of its lanes is: in round r, element e takes its r-th lane, or its
 * last. */
static LLVMValueRef window_mask(neo_ll_gen *g, const window *w, LLVMValueRef lanes) {
  uint32_t most = 0, count[64] = {0}, order[64];
  LLVMValueRef mask = NULL;
  for (uint32_t k = 0; k < g->width; k++)
    if (++count[w->at[k]] > most)
      most = count[w->at[k]];
  for (uint32_t r = 0; r < most; r++) {
    uint32_t seen[64] = {0};
    for (uint32_t k = 0; k < g->width; k++)
      if (seen[w->at[k]]++ <= r)
        order[w->at[k]] = k;
    LLVMValueRef some = shuffled(g, lanes, order, w->n);
    mask = mask ? LLVMBuildOr(g->l->b, mask, some, "") : some;
  }
  return mask;
}

static LLVMValueRef load_window(neo_ll_gen *g, place *p, const window *w, neo_ll_val guard) {
  LLVMValueRef at = w->first ? step_to(g, p, p->base, neo_ll_int64(g->l, w->first)) : p->base, v;
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, w->n);
  p->align = w->first ? neo_type_bytes(p->type) : p->align;
  if (guard.lanes) {
    LLVMValueRef arg[] = {at, window_mask(g, w, guard.v), LLVMConstNull(t)};
    v = masked(g, p, "llvm.masked.load", t, arg, 3, 0);
  } else {
    v = plain_load(g, p, guarded_address(g, at, guard.v), w->n, p->align);
  }
  return shuffled(g, v, w->at, g->width);
}

/* ---- runs of as many lanes each */

/* Lanes of a run, a power of two: of lanes l in 0..16 at (l/8)*pitch + l%8 it is 8. 0: there are
 * none, or they are shorter than a vector of the least size. */
static uint32_t piece_lanes(const neo_ll_gen *g, const place *p) {
  uint32_t least = LEAST_VECTOR / neo_type_bytes(p->type), n = g->width / 2;
  if (!p->affine || p->lin.stride || !p->lin.pattern)
    return 0;
  for (uint32_t k = 1; k < g->width && n >= least; k++)
    while (n >= least && k % n &&
           neo_ll_lane_offset(&p->lin, k) != neo_ll_lane_offset(&p->lin, k - 1) + 1)
      n /= 2;
  return n >= least && g->width % n == 0 ? n : 0;
}

/* n lanes of v from `lane` on. */
static LLVMValueRef piece_of(neo_ll_gen *g, LLVMValueRef v, uint32_t lane, uint32_t n) {
  uint32_t order[1024];
  for (uint32_t k = 0; k < n; k++)
    order[k] = lane + k;
  return shuffled(g, v, order, n);
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
  piece = shuffled(g, piece, order, g->width);
  return LLVMBuildShuffleVector(g->l->b, v, piece, LLVMConstVector(at, g->width), "");
}

static LLVMValueRef load_pieces(neo_ll_gen *g, place *p, uint32_t n, neo_ll_val guard) {
  LLVMTypeRef t = neo_ll_mem_type(g->l, p->type, n);
  LLVMValueRef v = LLVMGetPoison(neo_ll_mem_type(g->l, p->type, g->width)), piece;
  p->align = neo_type_bytes(p->type);
  for (uint32_t lane = 0; lane < g->width; lane += n) {
    LLVMValueRef at = lane_address(g, p, lane);
    if (guard.lanes) {
      LLVMValueRef arg[] = {at, piece_of(g, guard.v, lane, n), LLVMConstNull(t)};
      piece = masked(g, p, "llvm.masked.load", t, arg, 3, 0);
    } else {
      piece = plain_load(g, p, guarded_address(g, at, guard.v), n, p->align);
    }
    v = with_piece(g, v, piece, lane, n);
  }
  return v;
}

static void store_pieces(neo_ll_gen *g, place *p, uint32_t n, LLVMValueRef v, LLVMValueRef mask) {
  p->align = neo_type_bytes(p->type);
  for (uint32_t lane = 0; lane < g->width; lane += n) {
    LLVMValueRef at = lane_address(g, p, lane), piece = piece_of(g, v, lane, n);
    if (mask) {
      LLVMValueRef arg[] = {piece, at, piece_of(g, mask, lane, n)};
      tell_of_store(g, p->buf, at, piece);
      masked(g, p, "llvm.masked.store", LLVMTypeOf(piece), arg, 3, 1);
    } else {
      plain_store(g, p, at, piece, p->align);
    }
  }
}

/* Runs `then` only where cond holds; null: always. Returns the block to continue in. */
static LLVMBasicBlockRef begin_if(neo_ll_gen *g, LLVMValueRef cond) {
  if (!cond)
    return NULL;
  LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, "then");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, "");
  LLVMBuildCondBr(g->l->b, cond, then, after);
  LLVMPositionBuilderAtEnd(g->l->b, then);
  return after;
}

static void end_if(neo_ll_gen *g, LLVMBasicBlockRef after) {
  if (!after)
    return;
  LLVMBuildBr(g->l->b, after);
  LLVMPositionBuilderAtEnd(g->l->b, after);
}

static LLVMValueRef each_lane(neo_ll_gen *g, const place *p, neo_ll_val guard) {
  LLVMValueRef v = LLVMGetPoison(neo_ll_mem_type(g->l, p->type, g->width));
  for (uint32_t k = 0; k < g->width; k++) {
    LLVMValueRef at = lane_address(g, p, k);
    if (guard.v)
      at = guarded_address(g, at, lane_of(g, guard, k));
    LLVMValueRef x = plain_load(g, p, at, 1, neo_type_bytes(p->type));
    v = LLVMBuildInsertElement(g->l->b, v, x, neo_ll_int32(g->l, k), "");
  }
  return v;
}

static LLVMValueRef load_lanes(neo_ll_gen *g, const place *p, neo_ll_val guard) {
  if (!guard.v || guard.lanes)
    return each_lane(g, p, guard);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(g->l->b), after = begin_if(g, guard.v);
  LLVMValueRef v[] = {NULL, each_lane(g, p, (neo_ll_val){0})};
  LLVMBasicBlockRef way[] = {from, LLVMGetInsertBlock(g->l->b)};
  end_if(g, after);
  v[0] = LLVMConstNull(LLVMTypeOf(v[1]));
  LLVMValueRef y = LLVMBuildPhi(g->l->b, LLVMTypeOf(v[1]), "");
  LLVMAddIncoming(y, v, way, 2);
  return y;
}

/* Scratch of a known size: where the offset is in it whatever a guard says, the guard is only about
 * which value matters. */
static bool is_inside(neo_ll_gen *g, uint32_t buf, const neo_lx *offset) {
  const neo_kbuf *b = &g->k->bufs.at[buf];
  return b->use & NEO_BUF_SCRATCH && neo_ll_nonneg(g, offset) &&
         neo_ll_most(g, offset) < b->scratch_elems;
}

neo_ll_val neo_ll_load(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, neo_ll_val guard) {
  if (guard.v && is_inside(g, buf, offset))
    guard = (neo_ll_val){0};
  place p = place_of(g, buf, offset, guard.v != NULL);
  LLVMValueRef v;
  window w;
  uint32_t run = piece_lanes(g, &p);
  bool lanes = has_lanes(&p), even = g->width % 2 == 0;
  if (!lanes)
    v = plain_load(g, &p, guarded_address(g, p.base, any(g, guard)), 1, p.align);
  else if (is_run(&p))
    v = load_run(g, &p, guard);
  else if (window_of(g, &p, &w))
    v = load_window(g, &p, &w, guard);
  else if (run)
    v = load_pieces(g, &p, run, guard);
  else if (p.affine && !p.lin.stride && !p.lin.pattern && p.lin.step == 2 && even)
    v = load_pairs(g, &p, guard);
  else
    v = load_lanes(g, &p, guard);
  return (neo_ll_val){neo_ll_from_mem(g->l, p.type, v), lanes, g->depth};
}

/* Both read, or neither. */
static bool are_pairs(neo_ll_gen *g, const neo_lx *a, const neo_lx *b) {
  bool guarded = a->kind == NEO_LX_LOADIF;
  if (a->kind != b->kind || (a->kind != NEO_LX_LOAD && !guarded) || a->attr != b->attr ||
      a->type != NEO_BF16_T)
    return false;
  if (guarded && (a->arg[1] != b->arg[1] || a->arg[2] != b->arg[2] ||
                  a->arg[2]->kind != NEO_LX_CONST || a->arg[2]->bits))
    return false;
  return neo_ll_is_next(g, a->arg[0], b->arg[0]);
}

bool neo_ll_load_pair(neo_ll_gen *g, const neo_lx *first, const neo_lx *second, neo_ll_val *out) {
  if (!are_pairs(g, first, second))
    return false;
  neo_ll_val guard = g->guard;
  if (first->kind == NEO_LX_LOADIF)
    guard = neo_ll_both(g, guard, neo_ll_expr(g, first->arg[1]));
  place p = place_of(g, first->attr, first->arg[0], guard.v != NULL);
  bool lanes = has_lanes(&p);
  bool run = p.affine && !p.lin.stride && !p.lin.pattern && p.lin.step == 2;
  if (lanes ? !run : guard.lanes)
    return false;
  p.type = NEO_I32_T;
  p.lin.step = 1;
  LLVMValueRef v = lanes ? load_run(g, &p, guard)
                         : plain_load(g, &p, guarded_address(g, p.base, any(g, guard)), 1, p.align);
  *out = (neo_ll_val){v, lanes, g->depth};
  return true;
}

/* ---- stores */

/* Does a run of whole vectors lie at a multiple of their size? */
static bool streams(neo_ll_gen *g, const place *p, const neo_lx *offset) {
  int64_t size = (int64_t)neo_type_bytes(p->type) * g->width;
  bool run = g->stream && g->k->bufs.at[p->buf].stream && p->lin.step == 1;
  return run && size % g->l->target.vector_bytes == 0 && neo_ll_multiple(g, offset) % g->width == 0;
}

/* Written past the caches: they need not have the line. */
static void stream_store(neo_ll_gen *g, const place *p, LLVMValueRef at, LLVMValueRef v) {
  LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(neo_ll_i32(g->l), 1, false));
  LLVMValueRef s = LLVMBuildStore(g->l->b, v, at);
  LLVMSetAlignment(s, g->l->target.vector_bytes);
  LLVMSetMetadata(s, LLVMGetMDKindIDInContext(g->l->ctx, "nontemporal", 11),
                  LLVMMetadataAsValue(g->l->ctx, LLVMMDNodeInContext2(g->l->ctx, &one, 1)));
  mark_alias(g, p->buf, s);
}

static void store_run(neo_ll_gen *g, place *p, const neo_lx *offset, LLVMValueRef v,
                      LLVMValueRef mask) {
  LLVMValueRef at = run_start(g, p, &mask);
  p->align = run_align(p);
  if (p->lin.step != 1)
    v = reversed(g, v);
  LLVMValueRef arg[] = {v, at, mask};
  if (mask)
    tell_of_store(g, p->buf, at, v);
  if (mask)
    masked(g, p, "llvm.masked.store", LLVMTypeOf(v), arg, 3, 1);
  else if (streams(g, p, offset))
    stream_store(g, p, at, v);
  else
    plain_store(g, p, at, v, p->align);
}

static void store_lanes(neo_ll_gen *g, const place *p, LLVMValueRef v, LLVMValueRef mask) {
  LLVMValueRef at[1024];
  for (uint32_t k = 0; k < g->width; k++)
    at[k] = lane_address(g, p, k);
  for (uint32_t k = 0; k < g->width; k++) {
    LLVMValueRef bit =
        mask ? LLVMBuildExtractElement(g->l->b, mask, neo_ll_int32(g->l, k), "") : NULL;
    LLVMValueRef x = LLVMBuildExtractElement(g->l->b, v, neo_ll_int32(g->l, k), "");
    LLVMBasicBlockRef after = begin_if(g, bit);
    plain_store(g, p, at[k], x, neo_type_bytes(p->type));
    end_if(g, after);
  }
}

/* In parts whose lengths are powers of two: a processor has no others. */
void neo_ll_store_first(neo_ll_gen *g, uint32_t buf, LLVMValueRef at, LLVMValueRef v, uint32_t n,
                        neo_ll_val guard, uint32_t lane) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  place p = {.type = (neo_type)g->k->bufs.at[buf].type, .buf = buf, .guarded = guard.v};
  LLVMBasicBlockRef after = begin_if(g, guard.v ? lane_of(g, guard, lane) : NULL);
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
    plain_store(g, &p, step_to(g, &p, at, neo_ll_int64(g->l, from)), x, neo_type_bytes(p.type));
    from += part;
  }
  end_if(g, after);
}

/* A guard without lanes is a branch around; then offset and value need no guard. */
void neo_ll_store(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, const neo_lx *value,
                  neo_ll_val guard) {
  LLVMBasicBlockRef after = begin_if(g, guard.lanes ? NULL : guard.v);
  LLVMValueRef mask = guard.lanes ? guard.v : NULL;
  if (mask)
    g->guard = guard;
  place p = place_of(g, buf, offset, mask != NULL);
  neo_ll_val x = neo_ll_expr(g, value);
  if (g->width == 1 || (!has_lanes(&p) && !x.lanes && !mask)) {
    plain_store(g, &p, p.base, neo_ll_to_mem(g->l, p.type, x.v), p.align);
  } else {
    LLVMValueRef v = neo_ll_to_mem(g->l, p.type, neo_ll_spread(g, x));
    uint32_t run = piece_lanes(g, &p);
    if (is_run(&p))
      store_run(g, &p, offset, v, mask);
    else if (run)
      store_pieces(g, &p, run, v, mask);
    else
      store_lanes(g, &p, v, mask);
  }
  g->guard = (neo_ll_val){0};
  end_if(g, after);
}

LLVMValueRef neo_ll_address(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, bool guarded,
                            uint32_t *align) {
  place p = place_of(g, buf, offset, guarded);
  assert(p.affine && !has_lanes(&p) && "an offset without lanes");
  *align = p.align;
  return p.base;
}

/* To be read; cache: 1, the nearest, or 2. */
void neo_ll_prefetch(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, int64_t cache) {
  place p = place_of(g, buf, offset, true);
  LLVMValueRef arg[] = {p.base, neo_ll_int32(g->l, 0), neo_ll_int32(g->l, 4 - cache),
                        neo_ll_int32(g->l, 1)};
  neo_ll_call(g->l, "llvm.prefetch", LLVMTypeOf(p.base), arg, 4);
}

/* Loads and stores of a buffer at an offset: the analysis of the offset as an access
 * (core/access.h). */
#include "codegen/llvm/core/access.h"
#include "codegen/llvm/gen.h"
#include <assert.h>

/* Alignment that the address of the offset is known to have. */
static uint32_t known_align(neo_ll_gen *g, uint32_t buf, const neo_lx *offset) {
  const neo_kbuf *b = &g->k->bufs.at[buf];
  int64_t size = neo_type_bytes((neo_type)b->type), align = b->align, m;
  if (b->use & NEO_BUF_SCRATCH)
    align = NEO_LL_DUMMY_ALIGN;
  if (align <= size || __builtin_mul_overflow(neo_ll_multiple(g, offset), size, &m))
    return (uint32_t)size;
  if (m != 0 && (m & -m) < align)
    align = m & -m;
  return (uint32_t)(align < size ? size : align > NEO_LL_DUMMY_ALIGN ? NEO_LL_DUMMY_ALIGN : align);
}

static neo_ll_access place_of(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, bool guarded) {
  neo_ll_access p = {.type = (neo_type)g->k->bufs.at[buf].type, .buf = buf, .guarded = guarded};
  LLVMValueRef ptr = neo_ll_buf_value(g, buf);
  p.align = known_align(g, buf, offset);
  p.affine = neo_ll_linear(g, offset, &p.lin);
  if (!p.affine) {
    p.base = ptr;
    p.offsets = neo_ll_expr(g, offset).v;
    return p;
  }
  LLVMValueRef sum = neo_ll_linear_value(g, &p.lin, false, NULL);
  p.base = sum ? neo_ll_step_to(g, &p, ptr, sum) : ptr;
  if (p.lin.c)
    p.base = neo_ll_step_to(g, &p, p.base, neo_ll_int64(g->l, p.lin.c));
  return p;
}

/* Is the offset inside of scratch even where the guard fails? Then the load needs no guard: its
 * value is not used. */
static bool is_inside(neo_ll_gen *g, uint32_t buf, const neo_lx *offset) {
  const neo_kbuf *b = &g->k->bufs.at[buf];
  return b->use & NEO_BUF_SCRATCH && neo_ll_nonneg(g, offset) &&
         neo_ll_most(g, offset) < b->scratch_elems;
}

neo_ll_val neo_ll_load(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, neo_ll_val guard) {
  if (guard.v && is_inside(g, buf, offset))
    guard = (neo_ll_val){0};
  neo_ll_access p = place_of(g, buf, offset, guard.v != NULL);
  bool lanes = neo_ll_has_lanes(&p);
  LLVMValueRef v = neo_ll_load_access(g, &p, guard);
  return (neo_ll_val){neo_ll_from_mem(g->l, p.type, v), lanes, g->depth, false};
}

enum { MOST_PARTS = 32 };

typedef struct {
  const neo_lx *at[MOST_PARTS];
  uint32_t n;
} parts;

static bool add_parts(const neo_lx *e, parts *p) {
  if (e->kind == NEO_LX_OP && e->attr == NEO_OP_ADD)
    return add_parts(e->arg[0], p) && add_parts(e->arg[1], p);
  if (p->n == MOST_PARTS)
    return false;
  p->at[p->n++] = e;
  return true;
}

/* Takes one that both have from both. */
static bool cancel(parts *a, parts *b) {
  for (uint32_t i = 0; i < a->n; i++)
    for (uint32_t k = 0; k < b->n; k++)
      if (a->at[i] == b->at[k]) {
        a->at[i] = a->at[--a->n];
        b->at[k] = b->at[--b->n];
        return true;
      }
  return false;
}

static bool add_all(neo_ll_gen *g, const parts *p, int64_t sign, neo_ll_lin *sum) {
  for (uint32_t k = 0; k < p->n; k++) {
    neo_ll_lin x, before = *sum;
    if (!neo_ll_linear(g, p->at[k], &x) || !neo_ll_lin_add_scaled(g, &before, sign, &x, sum))
      return false;
  }
  return true;
}

/* Is b always a + 1? */
static bool is_next(neo_ll_gen *g, const neo_lx *a, const neo_lx *b) {
  parts x = {.n = 0}, y = {.n = 0};
  neo_ll_lin difference = {0};
  if (!add_parts(a, &x) || !add_parts(b, &y))
    return false;
  while (cancel(&x, &y))
    continue;
  return add_all(g, &y, 1, &difference) && add_all(g, &x, -1, &difference) &&
         neo_ll_lin_is_constant(&difference) && difference.c == 1;
}

/* Are these two loads of bf16 elements side by side, with the same guard? */
static bool are_pairs(neo_ll_gen *g, const neo_lx *a, const neo_lx *b) {
  bool guarded = a->kind == NEO_LX_LOADIF;
  if (a->kind != b->kind || (a->kind != NEO_LX_LOAD && !guarded) || a->attr != b->attr ||
      a->type != NEO_BF16_T)
    return false;
  if (guarded && (a->arg[1] != b->arg[1] || a->arg[2] != b->arg[2] ||
                  a->arg[2]->kind != NEO_LX_CONST || a->arg[2]->bits))
    return false;
  return is_next(g, a->arg[0], b->arg[0]);
}

bool neo_ll_load_pair(neo_ll_gen *g, const neo_lx *first, const neo_lx *second, neo_ll_val *out) {
  if (!are_pairs(g, first, second))
    return false;
  neo_ll_val guard = g->guard;
  if (first->kind == NEO_LX_LOADIF)
    guard = neo_ll_both(g, guard, neo_ll_expr(g, first->arg[1]));
  neo_ll_access p = place_of(g, first->attr, first->arg[0], guard.v != NULL);
  bool lanes = neo_ll_has_lanes(&p);
  bool run = p.affine && !p.lin.stride && !p.lin.pattern && p.lin.step == 2;
  if (lanes ? !run : guard.lanes)
    return false;
  p.type = NEO_I32_T;
  p.lin.step = lanes ? 1 : 0;
  *out = (neo_ll_val){neo_ll_load_simple(g, &p, guard), lanes, g->depth, false};
  return true;
}

/* May the store be nontemporal? It has to be a run of full vectors at multiples of their size. */
static bool nontemporal(neo_ll_gen *g, const neo_ll_access *p, const neo_lx *offset) {
  int64_t size = (int64_t)neo_type_bytes(p->type) * g->width;
  bool run = g->nontemporal && g->k->bufs.at[p->buf].nontemporal && p->lin.step == 1;
  return run && size % g->l->target.vector_bytes == 0 && neo_ll_multiple(g, offset) % g->width == 0;
}

/* A guard without lanes is a branch around; then offset and value need no guard. */
void neo_ll_store(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, const neo_lx *value,
                  neo_ll_val guard) {
  LLVMBasicBlockRef after = neo_ll_begin_if(g, guard.lanes ? NULL : guard.v);
  LLVMValueRef mask = guard.lanes ? guard.v : NULL;
  if (mask)
    g->guard = guard;
  neo_ll_access p = place_of(g, buf, offset, mask != NULL);
  neo_ll_val x = neo_ll_expr(g, value);
  if (g->width == 1 || (!neo_ll_has_lanes(&p) && !x.lanes && !mask)) {
    neo_ll_store_one(g, &p, p.base, neo_ll_to_mem(g->l, p.type, x.v), p.align);
  } else {
    LLVMValueRef v = neo_ll_to_mem(g->l, p.type, neo_ll_spread(g, x));
    neo_ll_store_lanes(g, &p, v, mask, nontemporal(g, &p, offset));
  }
  g->guard = (neo_ll_val){0};
  neo_ll_end_if(g, after);
}

/* An atomic addition, relaxed: the barrier between loops of threads orders additions before reads
 * of the sums. */
void neo_ll_add(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, const neo_lx *value) {
  neo_ll_access p = place_of(g, buf, offset, false);
  LLVMValueRef x = neo_ll_to_mem(g->l, p.type, neo_ll_expr(g, value).v);
  LLVMValueRef s = LLVMBuildAtomicRMW(g->l->b, LLVMAtomicRMWBinOpAdd, p.base, x,
                                      LLVMAtomicOrderingMonotonic, false);
  neo_ll_mark_alias(g, buf, s);
}

LLVMValueRef neo_ll_address(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, bool guarded,
                            uint32_t *align) {
  neo_ll_access p = place_of(g, buf, offset, guarded);
  assert(p.affine && !neo_ll_has_lanes(&p) && "an offset without lanes");
  *align = p.align;
  return p.base;
}

/* Prefetches the element for reading, into the first cache or the second (cache: 1 or 2). */
void neo_ll_prefetch(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, int64_t cache) {
  neo_ll_access p = place_of(g, buf, offset, true);
  LLVMValueRef arg[] = {p.base, neo_ll_int32(g->l, 0), neo_ll_int32(g->l, 4 - cache),
                        neo_ll_int32(g->l, 1)};
  neo_ll_call(g->l, "llvm.prefetch", LLVMTypeOf(p.base), arg, 4);
}

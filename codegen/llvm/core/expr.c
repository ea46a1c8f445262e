/* Expressions: each node is emitted once in a statement, as a scalar if it does not depend on the
 * lane.
 *
 * Guards replace control flow. The side of a SELECT, LOADIF or conditional STORE that is not
 * evaluated must not access memory. Only loads do, so the condition joins the guard of the side's
 * loads, and all other operators, which are total, are evaluated anyway:
 *
 *   select(c, x[i] + 1, y)    ->    t = (load x[i] if c, else 0) + 1;  select(c, t, y)
 *
 * Values that were computed under a narrower guard are forgotten at its end. */
#include "codegen/llvm/gen.h"
#include <assert.h>
#include <string.h>

LLVMValueRef neo_ll_spread(neo_ll_gen *g, neo_ll_val x) {
  return x.lanes || g->width == 1 ? x.v : neo_ll_splat(g->l, x.v, g->width);
}

neo_ll_val neo_ll_both(neo_ll_gen *g, neo_ll_val a, neo_ll_val b) {
  if (!a.v)
    return b;
  if (!b.v)
    return a;
  bool lanes = a.lanes || b.lanes;
  LLVMValueRef x = lanes ? neo_ll_spread(g, a) : a.v, y = lanes ? neo_ll_spread(g, b) : b.v;
  uint32_t depth = a.depth > b.depth ? a.depth : b.depth;
  return (neo_ll_val){LLVMBuildAnd(g->l->b, x, y, ""), lanes, depth, a.of_data || b.of_data};
}

uint32_t neo_ll_enter(neo_ll_gen *g) {
  return (uint32_t)g->trail.n;
}

void neo_ll_leave(neo_ll_gen *g, uint32_t at) {
  while (g->trail.n > at)
    g->memo[g->trail.at[--g->trail.n]].stamp = 0;
}

static bool loads(const neo_ll_gen *g, const neo_lx *e) {
  return g->facts[e->id] & NEO_LL_LOADS;
}

static bool is_index(const neo_ll_gen *g, const neo_lx *e) {
  return g->facts[e->id] & NEO_LL_INDEX;
}

static neo_ll_val uniform(LLVMValueRef v, uint32_t depth) {
  return (neo_ll_val){v, false, depth, false};
}

static neo_ll_val condition(neo_ll_gen *g, const neo_lx *e) {
  neo_ll_val c = neo_ll_expr(g, e);
  c.of_data = loads(g, e);
  return c;
}

static neo_ll_val constant(neo_ll_gen *g, const neo_lx *e) {
  LLVMTypeRef t = neo_ll_type(g->l, (neo_type)e->type, 1);
  double x;
  if (!neo_type_is_float((neo_type)e->type))
    return uniform(neo_ll_int(t, (int64_t)e->bits), 0);
  memcpy(&x, &e->bits, sizeof x);
  return uniform(neo_ll_float(t, x), 0);
}

static neo_ll_val variable(neo_ll_gen *g, const neo_lx *e) {
  const neo_ll_var *v = &g->var[e->attr];
  LLVMTypeRef i64 = neo_ll_i64(g->l);
  switch (v->kind) {
  case NEO_LL_FIXED:
    return uniform(neo_ll_int(i64, v->fixed), 0);
  case NEO_LL_LOOP:
    return uniform(v->v, v->depth);
  case NEO_LL_LANE: {
    LLVMValueRef first = neo_ll_splat(g->l, neo_ll_int(i64, v->fixed), g->width);
    LLVMValueRef lanes = neo_ll_lanes(g->l, i64, g->width, 1);
    return (neo_ll_val){LLVMBuildAdd(g->l->b, lanes, first, ""), true, 0, false};
  }
  default:
    assert(0 && "a variable of an enclosing loop");
    return uniform(NULL, 0);
  }
}

static neo_ll_val under(neo_ll_gen *g, neo_ll_val guard, const neo_lx *e) {
  neo_ll_val before = g->guard;
  uint32_t at = neo_ll_enter(g);
  g->guard = neo_ll_both(g, before, guard);
  neo_ll_val v = neo_ll_expr(g, e);
  g->guard = before;
  neo_ll_leave(g, at);
  return v;
}

static neo_ll_val negated(neo_ll_gen *g, neo_ll_val c) {
  c.v = LLVMBuildNot(g->l->b, c.v, "");
  return c;
}

/* Are comparisons of vectors vectors of bits (AVX2), without registers for conditions? */
static bool masks_are_vectors(const neo_llvm *l) {
  return l->target.isa == NEO_ISA_AVX2;
}

/* x if the condition without lanes holds, else 0, by a mask of all lanes that stays in a register
 * from before a loop. A vector of conditions would be computed again in each iteration. */
static LLVMValueRef or_zero(neo_ll_gen *g, LLVMValueRef cond, LLVMValueRef x) {
  LLVMBuilderRef b = g->l->b;
  uint32_t w = neo_ll_width(x);
  LLVMTypeRef one = neo_ll_int_type(g->l, neo_ll_bits(x), 1);
  LLVMTypeRef bits = neo_ll_int_type(g->l, neo_ll_bits(x), w);
  LLVMValueRef mask = neo_ll_splat(g->l, LLVMBuildSExt(b, cond, one, ""), w);
  LLVMValueRef y = LLVMBuildAnd(b, LLVMBuildBitCast(b, x, bits, ""), mask, "");
  return LLVMBuildBitCast(b, y, LLVMTypeOf(x), "");
}

static bool is_real_zero(neo_ll_val x) {
  LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(x.v));
  return !x.lanes && LLVMIsConstant(x.v) && LLVMIsNull(x.v) &&
         (kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind);
}

/* branch: a condition without lanes stays a scalar, so that LLVM may branch on it. */
static neo_ll_val choose(neo_ll_gen *g, neo_ll_val c, neo_ll_val x, neo_ll_val y, bool branch) {
  bool lanes = c.lanes || x.lanes || y.lanes;
  uint32_t depth = c.depth > x.depth ? c.depth : x.depth;
  if (y.depth > depth)
    depth = y.depth;
  if (!lanes)
    return uniform(LLVMBuildSelect(g->l->b, c.v, x.v, y.v, ""), depth);
  bool masks = !branch && !c.lanes && masks_are_vectors(g->l);
  if (masks && is_real_zero(y))
    return (neo_ll_val){or_zero(g, c.v, x.v), true, depth, false};
  if (masks && is_real_zero(x))
    return (neo_ll_val){or_zero(g, negated(g, c).v, y.v), true, depth, false};
  LLVMValueRef cond = branch ? c.v : neo_ll_spread(g, c);
  LLVMValueRef v = LLVMBuildSelect(g->l->b, cond, neo_ll_spread(g, x), neo_ll_spread(g, y), "");
  return (neo_ll_val){v, true, depth, false};
}

/* ---- selects */

enum { BRANCH_PAYS = 16 };

static int cost_of(neo_op op) {
  switch (op) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MUL:
  case NEO_OP_NEG:
  case NEO_OP_ABS:
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_RELU:
  case NEO_OP_CLAMP:
  case NEO_OP_CAST:
  case NEO_OP_STOP:
  case NEO_OP_SELECT:
    return 1;
  case NEO_OP_DIV:
  case NEO_OP_SQRT:
  case NEO_OP_RSQRT:
    return 4;
  default:
    return neo_op_rule(op) == NEO_RULE_FLOAT ? BRANCH_PAYS : 1;
  }
}

/* The work of evaluating the nodes of e that have no value yet, counted up to `most`. Each
 * operator costs at least 1, so that few nodes are visited. */
static int work_of(const neo_ll_gen *g, const neo_lx *e, int most) {
  int work = e->kind == NEO_LX_OP ? cost_of((neo_op)e->attr) : e->kind == NEO_LX_RAND ? most : e->n;
  if (g->memo[e->id].stamp == g->stamp || is_index(g, e))
    return 0;
  for (uint32_t k = 0; k < e->n && work < most; k++)
    work += work_of(g, e->arg[k], most - work);
  return work;
}

/* Should a select be a branch? A condition without lanes lets LLVM compute one side alone. A branch
 * pays for element functions; otherwise both sides are computed, and selected lane by lane. */
static bool branch_pays(const neo_ll_gen *g, neo_ll_val c, const neo_lx *e) {
  if (c.lanes)
    return false;
  int work = work_of(g, e->arg[1], BRANCH_PAYS);
  return work >= BRANCH_PAYS || work + work_of(g, e->arg[2], BRANCH_PAYS) >= BRANCH_PAYS;
}

static neo_ll_val select_(neo_ll_gen *g, const neo_lx *e) {
  neo_ll_val c = condition(g, e->arg[0]), x, y;
  if (LLVMIsAConstantInt(c.v))
    return neo_ll_expr(g, e->arg[LLVMConstIntGetZExtValue(c.v) ? 1 : 2]);
  bool branch = branch_pays(g, c, e);
  x = loads(g, e->arg[1]) ? under(g, c, e->arg[1]) : neo_ll_expr(g, e->arg[1]);
  y = loads(g, e->arg[2]) ? under(g, negated(g, c), e->arg[2]) : neo_ll_expr(g, e->arg[2]);
  return choose(g, c, x, y, branch);
}

/* On a GPU a load whose guard fails returns zero (llvm/core/load.c): where the other value is
 * zero, no select is needed. */
static bool is_chosen(const neo_ll_gen *g, const neo_lx *e, neo_ll_val c, neo_ll_val x) {
  bool scratch = g->k->bufs.at[e->attr].use & NEO_BUF_SCRATCH;
  return g->l->target.sm && !scratch && c.lanes <= x.lanes && e->arg[2]->kind == NEO_LX_CONST &&
         e->arg[2]->bits == 0;
}

static neo_ll_val load_if(neo_ll_gen *g, const neo_lx *e) {
  neo_ll_val c = condition(g, e->arg[1]), x, y;
  if (LLVMIsAConstantInt(c.v)) {
    if (!LLVMConstIntGetZExtValue(c.v))
      return neo_ll_expr(g, e->arg[2]);
    return neo_ll_load(g, e->attr, e->arg[0], g->guard);
  }
  neo_ll_val before = g->guard;
  uint32_t at = neo_ll_enter(g);
  g->guard = neo_ll_both(g, before, c);
  x = neo_ll_load(g, e->attr, e->arg[0], g->guard);
  g->guard = before;
  neo_ll_leave(g, at);
  if (is_chosen(g, e, c, x))
    return x;
  y = loads(g, e->arg[2]) ? under(g, negated(g, c), e->arg[2]) : neo_ll_expr(g, e->arg[2]);
  return choose(g, c, x, y, false);
}

/* ---- comparisons of sums */

enum { FAR = 1 << 30 };

/* c*lane < d as 32-bit lanes: |c*lane| is small, so a d beyond it may be cut to FAR. */
static LLVMValueRef compare_lanes(neo_ll_gen *g, neo_op op, int64_t c, LLVMValueRef d) {
  LLVMTypeRef i64 = neo_ll_i64(g->l), i32 = neo_ll_i32(g->l);
  LLVMValueRef hi[] = {d, neo_ll_int(i64, FAR)};
  hi[0] = neo_ll_call(g->l, "llvm.smin", i64, hi, 2);
  hi[1] = neo_ll_int(i64, -FAR);
  d = LLVMBuildTrunc(g->l->b, neo_ll_call(g->l, "llvm.smax", i64, hi, 2), i32, "");
  LLVMIntPredicate p = op == NEO_OP_LT   ? LLVMIntSLT
                       : op == NEO_OP_LE ? LLVMIntSLE
                       : op == NEO_OP_EQ ? LLVMIntEQ
                                         : LLVMIntNE;
  return LLVMBuildICmp(g->l->b, p, neo_ll_lanes(g->l, i32, g->width, c),
                       neo_ll_splat(g->l, d, g->width), "");
}

/* One side of a comparison as x.step * lane + base. Index arithmetic does not wrap. A scalar that
 * is no index may make the difference of the sides wrap, which is harmless for equality only,
 * unless the scalar was converted from a narrower integer. */
static bool compared(neo_ll_gen *g, neo_op op, const neo_lx *e, neo_ll_lin *x, neo_ll_val *base) {
  if (is_index(g, e)) {
    if (!neo_ll_linear(g, e, x) || x->stride || x->pattern)
      return false;
    base->v = neo_ll_linear_value(g, x, true, &base->depth);
    return true;
  }
  bool few_bits = e->kind == NEO_LX_OP && e->attr == NEO_OP_CAST &&
                  !neo_type_is_float((neo_type)e->arg[0]->type) && e->arg[0]->type != NEO_I64_T;
  if (e->type != NEO_I64_T || (op != NEO_OP_EQ && op != NEO_OP_NE && !few_bits))
    return false;
  *x = (neo_ll_lin){0};
  *base = neo_ll_expr(g, e);
  return !base->lanes;
}

/* Is y - x + more, without the lanes' part, a multiple of the number of lanes? */
static bool is_whole(const neo_ll_gen *g, const neo_ll_lin *x, const neo_ll_lin *y, int64_t more) {
  const neo_ll_lin *side[] = {x, y};
  bool whole = (y->c - x->c + more) % g->width == 0;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < side[k]->n; i++)
      whole = whole && side[k]->t[i].multiple * side[k]->t[i].coef % g->width == 0;
  return whole;
}

/* lane < d + more, or its negation, where d + more is a multiple of the number of lanes: the
 * result is the same in all lanes, so one scalar comparison is enough. */
static bool compare_whole(neo_ll_gen *g, neo_op op, int64_t c, const neo_ll_lin *x,
                          const neo_ll_lin *y, LLVMValueRef d, LLVMValueRef *out) {
  if ((c != 1 && c != -1) || (op != NEO_OP_LT && op != NEO_OP_LE))
    return false;
  /* c = 1: lane < d, lane < d + 1; c = -1: lane > -d, which is not lane < 1 - d; not lane < -d */
  int64_t more = c == 1 ? op == NEO_OP_LE : op == NEO_OP_LT ? -1 : 0;
  if (!is_whole(g, x, y, more))
    return false;
  LLVMTypeRef i64 = neo_ll_i64(g->l);
  LLVMIntPredicate p = c == 1 ? LLVMIntSGT : LLVMIntSGE;
  *out = LLVMBuildICmp(g->l->b, p, d, neo_ll_int(i64, -more), "");
  return true;
}

/* x + c1*lane < y + c2*lane is (c1 - c2)*lane < y - x. False: not of this form. */
static bool compare_indices(neo_ll_gen *g, const neo_lx *e, neo_ll_val *out) {
  neo_op op = (neo_op)e->attr;
  neo_ll_lin x, y;
  neo_ll_val a = {0}, b = {0};
  int64_t reach;
  if (g->width == 1 || (!is_index(g, e->arg[0]) && !is_index(g, e->arg[1])))
    return false;
  if (!compared(g, op, e->arg[0], &x, &a) || !compared(g, op, e->arg[1], &y, &b))
    return false;
  int64_t c = x.step - y.step;
  if (c == 0 || __builtin_mul_overflow(c, (int64_t)g->width, &reach))
    return false;
  if (reach >= FAR || reach <= -FAR)
    return false;
  bool both = is_index(g, e->arg[0]) && is_index(g, e->arg[1]);
  LLVMValueRef d = LLVMBuildSub(g->l->b, b.v, a.v, "");
  *out = (neo_ll_val){.depth = a.depth > b.depth ? a.depth : b.depth};
  out->lanes = !both || !compare_whole(g, op, c, &x, &y, d, &out->v);
  if (out->lanes)
    out->v = compare_lanes(g, op, c, d);
  return true;
}

/* ---- operators */

/* Integer sums keep the lanes as an offset from a scalar. */
static bool linear_value(neo_ll_gen *g, const neo_lx *e, neo_ll_val *out) {
  neo_ll_lin x;
  uint32_t depth;
  if (!is_index(g, e) || !neo_ll_linear_form(g, e, &x))
    return false;
  LLVMTypeRef i64 = neo_ll_i64(g->l);
  LLVMValueRef base = neo_ll_linear_value(g, &x, true, &depth);
  *out = uniform(base, depth);
  if (!x.step && !x.stride && !x.pattern)
    return true;
  LLVMValueRef lanes = neo_ll_lanes(g->l, i64, g->width, x.step);
  if (x.pattern)
    lanes = LLVMBuildAdd(g->l->b, lanes, neo_ll_numbers(g->l, i64, x.pattern, g->width), "");
  if (x.stride) {
    LLVMValueRef stride = neo_ll_splat(g->l, x.stride, g->width);
    LLVMValueRef more = LLVMBuildMul(g->l->b, stride, neo_ll_lanes(g->l, i64, g->width, 1), "");
    lanes = LLVMBuildAdd(g->l->b, lanes, more, "");
  }
  out->v = LLVMBuildAdd(g->l->b, neo_ll_splat(g->l, base, g->width), lanes, "");
  out->lanes = true;
  return true;
}

/* A GPU has no division: one of 32 bits by a constant is a few instructions, one of 64 bits many.
 * Among lanes, where addresses are made, a shift is left as it is. */
static bool is_short(neo_ll_gen *g, const neo_lx *e, LLVMValueRef x) {
  int64_t n;
  bool shift = neo_lx_is_int(e->arg[1], &n) && n > 0 && (n & (n - 1)) == 0;
  return g->l->target.sm && (g->width == 1 || (neo_ll_width(x) == 1 && !shift)) &&
         e->type == NEO_I64_T && neo_ll_most(g, e->arg[0]) <= INT32_MAX &&
         neo_ll_most(g, e->arg[1]) <= INT32_MAX;
}

static LLVMValueRef short_quotient(neo_ll_gen *g, const neo_lx *e, const LLVMValueRef *x) {
  LLVMTypeRef i32 = neo_ll_i32(g->l);
  LLVMValueRef a = LLVMBuildTrunc(g->l->b, x[0], i32, "");
  LLVMValueRef b = LLVMBuildTrunc(g->l->b, x[1], i32, "");
  LLVMValueRef y = e->attr == NEO_OP_DIV ? neo_ll_div(g->l, a, b, true, true)
                                         : neo_ll_mod(g->l, a, b, true, true);
  return LLVMBuildZExt(g->l->b, y, LLVMTypeOf(x[0]), "");
}

static LLVMValueRef divide(neo_ll_gen *g, const neo_lx *e, LLVMValueRef *x) {
  bool nonneg = neo_ll_nonneg(g, e->arg[0]) && neo_ll_nonneg(g, e->arg[1]);
  if (nonneg && is_short(g, e, x[0]))
    return short_quotient(g, e, x);
  return e->attr == NEO_OP_DIV ? neo_ll_div(g->l, x[0], x[1], true, nonneg)
                               : neo_ll_mod(g->l, x[0], x[1], true, nonneg);
}

static neo_ll_val apply(neo_ll_gen *g, const neo_lx *e) {
  neo_ll_val val[3];
  LLVMValueRef x[3];
  bool lanes = false;
  uint32_t depth = 0;
  for (uint32_t k = 0; k < e->n; k++) {
    val[k] = neo_ll_expr(g, e->arg[k]);
    lanes = lanes || val[k].lanes;
    if (val[k].depth > depth)
      depth = val[k].depth;
  }
  for (uint32_t k = 0; k < e->n; k++)
    x[k] = lanes ? neo_ll_spread(g, val[k]) : val[k].v;
  bool quotient = e->attr == NEO_OP_DIV || e->attr == NEO_OP_MOD;
  LLVMValueRef v =
      quotient && e->type == NEO_I64_T
          ? divide(g, e, x)
          : neo_ll_op(g->l, (neo_op)e->attr, (neo_type)e->type, (neo_type)e->arg[0]->type, x);
  return (neo_ll_val){v, lanes, depth, false};
}

static neo_ll_val operation(neo_ll_gen *g, const neo_lx *e) {
  neo_ll_val v;
  if (e->attr == NEO_OP_SELECT)
    return select_(g, e);
  if (linear_value(g, e, &v))
    return v;
  if (neo_op_rule((neo_op)e->attr) == NEO_RULE_CMP && compare_indices(g, e, &v))
    return v;
  return apply(g, e);
}

/* Evaluates up to three expressions into x[], all with lanes if one of them has lanes. The result
 * has the lanes and the depth of a value that is computed from them; its v is not set. */
static neo_ll_val together(neo_ll_gen *g, const neo_lx *const *e, uint32_t n, LLVMValueRef *x) {
  neo_ll_val val[3], all = {0};
  for (uint32_t k = 0; k < n; k++) {
    val[k] = neo_ll_expr(g, e[k]);
    all.lanes = all.lanes || val[k].lanes;
    if (val[k].depth > all.depth)
      all.depth = val[k].depth;
  }
  for (uint32_t k = 0; k < n; k++)
    x[k] = all.lanes ? neo_ll_spread(g, val[k]) : val[k].v;
  return all;
}

static neo_ll_val fused(neo_ll_gen *g, const neo_lx *e) {
  LLVMValueRef x[3], v;
  neo_type t = (neo_type)e->type;
  neo_ll_val all = together(g, e->arg, 3, x);
  LLVMBuilderRef b = g->l->b;
  if (!neo_type_is_float(t))
    v = LLVMBuildAdd(b, LLVMBuildMul(b, x[0], x[1], ""), x[2], "");
  else if (g->l->target.fma)
    v = neo_ll_call(g->l, "llvm.fma", LLVMTypeOf(x[0]), x, 3);
  else
    v = LLVMBuildFAdd(b, LLVMBuildFMul(b, x[0], x[1], ""), x[2], "");
  return (neo_ll_val){neo_ll_round(g->l, t, v), all.lanes, all.depth, false};
}

static neo_ll_val dot(neo_ll_gen *g, const neo_lx *e) {
  LLVMValueRef x[3];
  neo_ll_val all = together(g, e->arg, 3, x);
  all.v = neo_ll_dot(g->l, x[0], x[1], x[2]);
  return all;
}

/* Is it a conversion from f32 to bf16? */
static bool is_rounded(const neo_lx *e) {
  return e->kind == NEO_LX_OP && e->attr == NEO_OP_CAST && e->arg[0]->type == NEO_F32_T;
}

static neo_ll_val pair(neo_ll_gen *g, const neo_lx *e) {
  LLVMValueRef v[2];
  neo_ll_val loaded;
  if (neo_ll_load_pair(g, e->arg[0], e->arg[1], &loaded))
    return loaded;
  if (g->dots && is_rounded(e->arg[0]) && is_rounded(e->arg[1])) {
    const neo_lx *wide[] = {e->arg[0]->arg[0], e->arg[1]->arg[0]};
    neo_ll_val all = together(g, wide, 2, v);
    all.v = neo_ll_rounded_pairs(g, v[0], v[1]);
    if (all.v)
      return all;
  }
  neo_ll_val all = together(g, e->arg, 2, v);
  LLVMBuilderRef b = g->l->b;
  LLVMTypeRef t = neo_ll_int_type(g->l, 32, neo_ll_width(v[0]));
  LLVMValueRef low = LLVMBuildLShr(b, LLVMBuildBitCast(b, v[0], t, ""), neo_ll_int(t, 16), "");
  LLVMValueRef high = LLVMBuildAnd(b, LLVMBuildBitCast(b, v[1], t, ""), neo_ll_int(t, -65536), "");
  all.v = LLVMBuildOr(b, low, high, "");
  return all;
}

static neo_ll_val random_(neo_ll_gen *g, const neo_lx *e) {
  LLVMValueRef key[3];
  for (uint32_t k = 0; k < 3; k++)
    key[k] = neo_ll_key_value(g, k);
  neo_ll_val x = neo_ll_expr(g, e->arg[0]);
  LLVMValueRef v = neo_ll_rand(g->l, key, e->attr, x.v, e->type == NEO_F64_T ? 64 : 32);
  return (neo_ll_val){v, x.lanes, x.depth, false};
}

/* Lanes of a register that is no vector: its last dimension is in neighbouring elements. */
static LLVMValueRef gather_reg(neo_ll_gen *g, neo_type t, LLVMValueRef *element) {
  LLVMTypeRef one = neo_ll_type(g->l, t, 1);
  LLVMValueRef v = LLVMGetPoison(neo_ll_type(g->l, t, g->width));
  for (uint32_t k = 0; k < g->width; k++) {
    LLVMValueRef x = LLVMBuildLoad2(g->l->b, one, element[k], "");
    v = LLVMBuildInsertElement(g->l->b, v, x, neo_ll_int32(g->l, k), "");
  }
  return v;
}

static neo_ll_val reg(neo_ll_gen *g, const neo_lx *e) {
  neo_type t = (neo_type)e->type;
  neo_ll_reg *r = &g->reg[e->attr];
  neo_ll_place p = neo_ll_reg_place(g, e->attr, e->arg, e->n);
  if (!r->vector && p.all)
    return (neo_ll_val){gather_reg(g, t, r->at + p.at), true, g->depth, false};
  LLVMTypeRef type = neo_ll_type(g->l, t, r->vector ? (uint32_t)r->width : 1);
  LLVMValueRef v = LLVMBuildLoad2(g->l->b, type, r->at[p.at], "");
  if (r->vector && !p.all)
    v = LLVMBuildExtractElement(g->l->b, v, neo_ll_int32(g->l, p.lane), "");
  return (neo_ll_val){v, p.all, g->depth, false};
}

static neo_ll_val emit(neo_ll_gen *g, const neo_lx *e) {
  neo_ll_val joined;
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST:
    return constant(g, e);
  case NEO_LX_VAR:
    return variable(g, e);
  case NEO_LX_SIZE:
    return uniform(neo_ll_size_value(g, e->attr), 0);
  case NEO_LX_KEY:
    return uniform(neo_ll_key_value(g, e->attr), 0);
  case NEO_LX_LOAD:
    return neo_ll_load(g, e->attr, e->arg[0], g->guard);
  case NEO_LX_LOADIF:
    return load_if(g, e);
  case NEO_LX_REG:
    return reg(g, e);
  case NEO_LX_RAND:
    return random_(g, e);
  case NEO_LX_FMA:
    return fused(g, e);
  case NEO_LX_PAIR:
    return pair(g, e);
  case NEO_LX_DOT:
    return dot(g, e);
  default:
    return neo_ll_lane_tree(g, e, &joined) ? joined : operation(g, e);
  }
}

neo_ll_val neo_ll_expr(neo_ll_gen *g, const neo_lx *e) {
  if (g->memo[e->id].stamp == g->stamp)
    return g->memo[e->id].val;
  neo_ll_val v = emit(g, e);
  g->memo[e->id].stamp = g->stamp;
  g->memo[e->id].val = v;
  NEO_PUSH(g->l->arena, &g->trail, e->id);
  return v;
}

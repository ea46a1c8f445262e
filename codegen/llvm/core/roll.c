/* UNROLL loops that are emitted as loops: the epilogues of large tiles.
 *
 * A tile's rows are unrolled so that its sums stay in registers. Its epilogue is in UNROLL loops,
 * too. If the epilogue is long (an optimizer's update, strided lanes), its copies for each row are
 * the greater part of a kernel's code and of the time to compile it, for instructions that run once
 * in a tile.
 *
 *   for r in 0..14 unroll: Y[r] = f(acc[r])    ->    for r in 0..14: Y[r] = f(stack[r])
 *
 * An UNROLL loop is rolled if a copy of its body is long, no index divides by its variable, and its
 * iterations share registers only for reading: a register that the loop writes is declared in it,
 * or is used nowhere else and indexed by the variable. The body sees one row of a register that the
 * variable indexes, the window. Rows from before the loop are stored to an array on the stack, from
 * which each iteration loads its row. */
#include "codegen/llvm/gen.h"

/* Counts of instructions: the least of a body that may roll, and of all its copies; the price of a
 * strided lane, and of an element function. */
enum { LEAST_BODY = 48, LEAST_COPIES = 256, STRIDED = 2, FUNCTION = 15 };
enum { NO_DIM = -1 };

typedef struct {
  neo_ll_gen *g;
  uint32_t var, lane; /* the loop's; of the VECTOR loop around, if lanes > 1 */
  int64_t lanes, weight;
  bool refused;
  struct row {
    int dim; /* index that is the variable; NO_DIM: none */
    bool seen, written, declared;
    uint32_t mentions;
    LLVMValueRef array;
  } * row; /* by register */
} roll;

/* ---- the analysis of a body */

/* Instructions of a memory access. An offset that is not linear in the lane counts as
 * contiguous. */
static int64_t access_weight(const roll *r, const neo_lx *offset) {
  int64_t step;
  bool strided = r->lanes > 1 && neo_lx_step(offset, r->lane, &step) && step != 0 && step != 1;
  return strided ? STRIDED * r->lanes : 1;
}

static void see_register(roll *r, uint32_t reg, const neo_lx *const *index, uint32_t n) {
  struct row *x = &r->row[reg];
  int dim = NO_DIM;
  for (uint32_t d = 0; d < n; d++) {
    if (!neo_lx_uses(index[d], r->var))
      continue;
    r->refused = r->refused || index[d]->kind != NEO_LX_VAR || dim != NO_DIM;
    dim = (int)d;
  }
  bool lane = dim == (int)n - 1 && dim != NO_DIM && r->g->reg[reg].vector;
  r->refused = r->refused || lane || (x->seen && x->dim != dim);
  x->dim = dim;
  x->seen = true;
  x->mentions++;
}

/* A function whose code stands in the kernel; longer ones are called. */
static bool is_function(const neo_lx *e) {
  neo_cost_class cost = neo_op_cost((neo_op)e->attr);
  return cost == NEO_COST_EXPONENTIAL || cost == NEO_COST_ERROR;
}

/* About how many instructions it is, besides its arguments. */
static int64_t weight_of(const roll *r, const neo_lx *e) {
  if (e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF)
    return access_weight(r, e->arg[0]);
  if (e->kind == NEO_LX_CONST || e->kind == NEO_LX_REG || (r->g->facts[e->id] & NEO_LL_INDEX))
    return 0;
  return e->kind == NEO_LX_OP && is_function(e) ? FUNCTION : 1;
}

static void see(roll *r, const neo_lx *e) {
  if (r->g->memo[e->id].stamp == r->g->stamp)
    return;
  r->g->memo[e->id].stamp = r->g->stamp;
  bool divides = e->kind == NEO_LX_OP && (e->attr == NEO_OP_DIV || e->attr == NEO_OP_MOD);
  if (divides && e->type == NEO_I64_T && neo_lx_uses(e, r->var))
    r->refused = true;
  if (e->kind == NEO_LX_REG)
    see_register(r, e->attr, e->arg, e->n);
  r->weight += weight_of(r, e);
  for (uint32_t k = 0; k < e->n; k++)
    see(r, e->arg[k]);
}

static void see_block(roll *r, const neo_block *b);

static void see_loop(roll *r, const neo_ls *s) {
  int64_t before = r->weight, trips = 1;
  if (s->loop.kind == NEO_LOOP_VECTOR)
    r->lane = s->loop.var, r->lanes = (int64_t)s->loop.hi->bits;
  else if (s->loop.kind == NEO_LOOP_UNROLL)
    trips = neo_ls_trips(s);
  else
    r->refused = true; /* the body is no epilogue of a tile */
  see_block(r, &s->loop.body);
  r->weight = before + trips * (r->weight - before);
  if (s->loop.kind == NEO_LOOP_VECTOR)
    r->lanes = 1;
}

static void see_set(roll *r, const neo_ls *s) {
  see_register(r, s->set.reg, s->set.index, s->set.n_index);
  r->row[s->set.reg].written = true;
  see(r, s->set.value);
}

static void see_store(roll *r, const neo_ls *s) {
  r->weight += access_weight(r, s->store.to.offset);
  see(r, s->store.to.offset);
  see(r, s->store.value);
  if (s->store.cond)
    see(r, s->store.cond);
}

static void see_statement(roll *r, const neo_ls *s) {
  r->g->stamp++;
  switch (s->kind) {
  case NEO_LS_FOR:
    see_loop(r, s);
    break;
  case NEO_LS_IF:
    see(r, s->branch.cond);
    see_block(r, &s->branch.then);
    see_block(r, &s->branch.otherwise);
    break;
  case NEO_LS_REG:
    r->row[s->declare.reg].declared = true;
    break;
  case NEO_LS_SET:
    see_set(r, s);
    break;
  case NEO_LS_STORE:
    see_store(r, s);
    break;
  case NEO_LS_PREFETCH:
    see(r, s->prefetch.of.offset);
    break;
  default: /* statements of matrix units, and of GPUs, whose loops are not rolled */
    r->refused = true;
  }
}

static void see_block(roll *r, const neo_block *b) {
  for (size_t i = 0; i < b->n; i++)
    see_statement(r, b->at[i]);
}

static roll look_at(neo_ll_gen *g, const neo_block *b, uint32_t var) {
  roll r = {.g = g, .var = var, .lanes = 1};
  r.row = neo_arena_array(g->l->arena, g->k->regs.n + 1, sizeof *r.row);
  see_block(&r, b);
  g->stamp++;
  return r;
}

/* The number of uses of each register in the kernel. */
static const uint32_t *mentions(neo_ll_gen *g) {
  if (!g->mentions) {
    roll all = look_at(g, &g->k->body, UINT32_MAX);
    g->mentions = NEO_NEW_ARRAY(g->l->arena, uint32_t, g->k->regs.n + 1);
    for (uint32_t k = 0; k < g->k->regs.n; k++)
      g->mentions[k] = all.row[k].mentions;
  }
  return g->mentions;
}

static bool is_own(const roll *r, uint32_t reg) {
  const struct row *x = &r->row[reg];
  return x->declared || (x->dim != NO_DIM && x->mentions == mentions(r->g)[reg]);
}

static bool rolls(const roll *r, int64_t trips) {
  if (r->refused || r->weight < LEAST_BODY || trips * r->weight < LEAST_COPIES)
    return false;
  for (uint32_t k = 0; k < r->g->k->regs.n; k++)
    if (r->row[k].written && !is_own(r, k))
      return false;
  return true;
}

/* ---- rows of registers */

/* The number of elements in reg.at; *stride: the distance of two rows. */
static int64_t elements(const roll *r, uint32_t reg, int64_t *stride) {
  const neo_reg *x = &r->g->k->regs.at[reg];
  uint32_t rank = x->rank - (r->g->reg[reg].vector ? 1u : 0u);
  int64_t n = 1;
  for (uint32_t d = rank; d-- > 0;) {
    if ((int)d == r->row[reg].dim)
      *stride = n;
    n *= x->extent[d];
  }
  return n;
}

static LLVMTypeRef element_type(const roll *r, uint32_t reg) {
  const neo_ll_reg *x = &r->g->reg[reg];
  return neo_ll_type(r->g->l, (neo_type)r->g->k->regs.at[reg].type,
                     x->vector ? (uint32_t)x->width : 1);
}

static LLVMValueRef element_at(const roll *r, uint32_t reg, LLVMValueRef at) {
  return LLVMBuildInBoundsGEP2(r->g->l->b, element_type(r, reg), r->row[reg].array, &at, 1, "");
}

/* Before the loop. */
static void put_into_array(roll *r, uint32_t reg) {
  LLVMBuilderRef b = r->g->l->b;
  LLVMTypeRef i64 = neo_ll_i64(r->g->l), t = element_type(r, reg);
  int64_t stride, n = elements(r, reg, &stride);
  r->row[reg].array = neo_ll_alloca(r->g, LLVMArrayType2(t, (uint64_t)n), 0, "rows");
  for (int64_t i = 0; i < n; i++) {
    LLVMValueRef x = LLVMBuildLoad2(b, t, r->g->reg[reg].at[i], "");
    LLVMBuildStore(b, x, element_at(r, reg, neo_ll_int(i64, i)));
  }
}

/* In the loop: loads row x of the register into the window, which the body reads as row 0. */
static void open_window(roll *r, uint32_t reg, LLVMValueRef x) {
  LLVMBuilderRef b = r->g->l->b;
  LLVMTypeRef i64 = neo_ll_i64(r->g->l), t = element_type(r, reg);
  int64_t stride = 1, n = elements(r, reg, &stride);
  int64_t rows = r->g->k->regs.at[reg].extent[r->row[reg].dim];
  LLVMValueRef *at = NEO_NEW_ARRAY(r->g->l->arena, LLVMValueRef, n);
  for (int64_t i = 0; i < n; i++) {
    at[i] = r->g->reg[reg].at[i];
    if (i / stride % rows != 0)
      continue;
    at[i] = neo_ll_alloca(r->g, t, 0, "row");
    if (!r->row[reg].array)
      continue;
    LLVMValueRef from = LLVMBuildMul(b, x, neo_ll_int(i64, stride), "");
    from = LLVMBuildAdd(b, from, neo_ll_int(i64, i), "");
    LLVMBuildStore(b, LLVMBuildLoad2(b, t, element_at(r, reg, from), ""), at[i]);
  }
  r->g->reg[reg].at = at;
}

/* ---- the loop */

static void emit(roll *r, const neo_ls *s, neo_ll_emit_block *block) {
  neo_ll_gen *g = r->g;
  LLVMBuilderRef b = g->l->b;
  LLVMTypeRef i64 = neo_ll_i64(g->l);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b), body = neo_ll_new_block(g, "row");
  LLVMBasicBlockRef after = neo_ll_new_block(g, "rows");
  LLVMValueRef lo = neo_ll_int(i64, (int64_t)s->loop.lo->bits),
               hi = neo_ll_int(i64, (int64_t)s->loop.hi->bits);
  LLVMBuildBr(b, body);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef x = LLVMBuildPhi(b, i64, "");
  LLVMAddIncoming(x, &lo, &from, 1);
  g->var[s->loop.var] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                     .v = x,
                                     .depth = ++g->depth,
                                     .nonneg = true,
                                     .multiple = 1,
                                     .most = (int64_t)s->loop.hi->bits - 1,
                                     .rolled = true};
  for (uint32_t k = 0; k < g->k->regs.n; k++)
    if (r->row[k].seen && r->row[k].dim != NO_DIM)
      open_window(r, k, x);
  block(g, &s->loop.body);
  LLVMValueRef next = LLVMBuildNSWAdd(b, x, neo_ll_int(i64, s->loop.step), "");
  neo_ll_loop_end(g, x, next, hi, body, after);
  g->depth--;
}

bool neo_ll_roll(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block) {
  int64_t lo = (int64_t)s->loop.lo->bits, hi = (int64_t)s->loop.hi->bits;
  if (g->l->target.sm || lo < 0 || hi - lo <= s->loop.step)
    return false;
  roll r = look_at(g, &s->loop.body, s->loop.var);
  if (!rolls(&r, neo_ls_trips(s)))
    return false;
  LLVMValueRef **at = NEO_NEW_ARRAY(g->l->arena, LLVMValueRef *, g->k->regs.n + 1);
  for (uint32_t k = 0; k < g->k->regs.n; k++) {
    at[k] = g->reg[k].at;
    if (r.row[k].seen && r.row[k].dim != NO_DIM && !is_own(&r, k))
      put_into_array(&r, k);
  }
  neo_ll_var before = g->var[s->loop.var];
  emit(&r, s, block);
  g->var[s->loop.var] = before;
  for (uint32_t k = 0; k < g->k->regs.n; k++)
    g->reg[k].at = at[k];
  return true;
}

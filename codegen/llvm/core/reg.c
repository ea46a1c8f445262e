/* Registers of a kernel: a stack slot for each element, or for each vector if all loops of lanes
 * that index the register have the vector's width. Indices are constants, so that all slots become
 * SSA values. */
#include "codegen/llvm/gen.h"
#include <assert.h>

LLVMValueRef neo_ll_alloca(neo_ll_gen *g, LLVMTypeRef t, uint32_t align, const char *name) {
  LLVMValueRef v = LLVMBuildAlloca(g->l->entry, t, name);
  if (align)
    LLVMSetAlignment(v, align);
  return v;
}

static void note_width(neo_ll_gen *g, uint32_t reg, const neo_lx *last, uint32_t lane,
                       int64_t width) {
  neo_ll_reg *r = &g->reg[reg];
  if (last->kind != NEO_LX_VAR || last->attr != lane)
    return;
  r->width = r->width == 0 || r->width == width ? width : -1;
}

static void note_expr(neo_ll_gen *g, const neo_lx *e, uint32_t lane, int64_t width) {
  if (g->memo[e->id].stamp == g->stamp)
    return;
  g->memo[e->id].stamp = g->stamp;
  if (e->kind == NEO_LX_REG && e->n)
    note_width(g, e->attr, e->arg[e->n - 1], lane, width);
  for (uint32_t k = 0; k < e->n; k++)
    note_expr(g, e->arg[k], lane, width);
}

static void note_statement(neo_ll_gen *g, const neo_ls *s, uint32_t lane, int64_t width) {
  const neo_lx *value = s->kind == NEO_LS_SET ? s->set.value : s->store.value;
  if (s->kind == NEO_LS_SET && s->set.n_index)
    note_width(g, s->set.reg, s->set.index[s->set.n_index - 1], lane, width);
  note_expr(g, value, lane, width);
  if (s->kind == NEO_LS_STORE && s->store.cond)
    note_expr(g, s->store.cond, lane, width);
}

/* By which widths each register is read and written as vectors. */
static void note_vector(void *ctx, neo_ls *loop) {
  neo_ll_gen *g = ctx;
  if (!neo_ls_is_loop(loop, NEO_LOOP_VECTOR) || loop->loop.hi->bits == 1)
    return;
  g->stamp++;
  for (size_t i = 0; i < loop->loop.body.n; i++)
    note_statement(g, loop->loop.body.at[i], loop->loop.var, (int64_t)loop->loop.hi->bits);
}

/* As one array. */
static void make_together(neo_ll_gen *g, neo_ll_reg *r, LLVMTypeRef t, int64_t n) {
  LLVMTypeRef all = LLVMArrayType2(t, (uint64_t)n);
  LLVMValueRef first = neo_ll_alloca(g, all, 0, "sums");
  for (int64_t i = 0; i < n; i++) {
    LLVMValueRef at = neo_ll_int64(g->l, i);
    r->at[i] = LLVMBuildInBoundsGEP2(g->l->entry, t, first, &at, 1, "");
  }
}

void neo_ll_registers(neo_ll_gen *g) {
  neo_block_visit(&g->k->body, note_vector, g);
  for (uint32_t k = 0; k < g->k->regs.n; k++) {
    const neo_reg *r = &g->k->regs.at[k];
    neo_ll_reg *made = &g->reg[k];
    int64_t n = 1, last = r->rank ? r->extent[r->rank - 1] : 1;
    for (uint32_t d = 0; d < r->rank; d++)
      n *= r->extent[d];
    made->vector = made->width > 1 && made->width == last;
    if (made->vector)
      n /= last;
    LLVMTypeRef t = neo_ll_type(g->l, (neo_type)r->type, made->vector ? (uint32_t)last : 1);
    made->at = NEO_NEW_ARRAY(g->l->arena, LLVMValueRef, n);
    if (made->together) {
      make_together(g, made, t, n);
      continue;
    }
    for (int64_t i = 0; i < n; i++)
      made->at[i] = neo_ll_alloca(g, t, 0, r->name ? r->name : "");
  }
}

/* An index is a number once loops are unrolled: that of lane 0, or of the first row of a rolled
 * loop. */
static int64_t index_value(const neo_ll_gen *g, const neo_lx *e) {
  neo_value x[3];
  if (e->kind == NEO_LX_CONST)
    return (int64_t)e->bits;
  if (e->kind == NEO_LX_VAR)
    return g->var[e->attr].rolled ? 0 : g->var[e->attr].fixed;
  assert(e->kind == NEO_LX_OP && e->n <= 3 && "a constant index");
  for (uint32_t k = 0; k < e->n; k++)
    x[k].i = index_value(g, e->arg[k]);
  return neo_value_op((neo_op)e->attr, NEO_I64_T, NEO_I64_T, x).i;
}

neo_ll_place neo_ll_reg_place(neo_ll_gen *g, uint32_t reg, const neo_lx *const *index, size_t n) {
  const neo_reg *r = &g->k->regs.at[reg];
  neo_ll_place p = {0};
  for (size_t d = 0; d < n; d++) {
    int64_t x = index_value(g, index[d]);
    assert(x >= 0 && x < r->extent[d] && "a register's element");
    bool last = d + 1 == n;
    p.all = last && index[d]->kind == NEO_LX_VAR && g->var[index[d]->attr].kind == NEO_LL_LANE;
    if (last && g->reg[reg].vector)
      p.lane = x;
    else
      p.at = p.at * r->extent[d] + x;
  }
  return p;
}

void neo_ll_reg_declare(neo_ll_gen *g, const neo_ls *s) {
  const neo_reg *r = &g->k->regs.at[s->declare.reg];
  neo_ll_reg *made = &g->reg[s->declare.reg];
  int64_t n = 1, last = r->rank ? r->extent[r->rank - 1] : 1;
  for (uint32_t d = 0; d < r->rank; d++)
    n *= r->extent[d];
  if (made->vector)
    n /= last;
  LLVMTypeRef t = neo_ll_type(g->l, (neo_type)r->type, made->vector ? (uint32_t)last : 1);
  for (int64_t i = 0; i < n; i++)
    LLVMBuildStore(g->l->b, LLVMGetPoison(t), made->at[i]);
}

/* Statements of the loop IR as LLVM control flow. Loops test before they start and at their end,
 * which is the form that loop passes need. UNROLL copies its body with the variable a constant,
 * except for long bodies (llvm/core/roll.c). VECTOR sets the width and emits its body once. */
#include "base/whole.h"
#include "codegen/llvm/gen.h"
#include "codegen/llvm/nvptx/nvptx.h"
#include "neo/neo_rt.h"
#include <stddef.h>

enum { MANY_ACCESSES = 32 };

static void block(neo_ll_gen *g, const neo_block *b);

/* The last value of a loop's variable; 0: not known. */
static int64_t last_of(const neo_ls *s) {
  int64_t hi;
  return neo_lx_is_int(s->loop.hi, &hi) && hi > 1 ? hi - 1 : 0;
}

/* ---- loops */

static void forget(neo_ll_gen *g) {
  g->stamp++;
  g->trail.n = 0;
}

static void unroll(neo_ll_gen *g, const neo_ls *s) {
  int64_t lo = (int64_t)s->loop.lo->bits, hi = (int64_t)s->loop.hi->bits;
  neo_ll_var before = g->var[s->loop.var];
  if (neo_ll_transpose(g, s) || neo_ll_roll(g, s, block)) {
    g->var[s->loop.var] = before;
    return;
  }
  for (int64_t x = lo; x < hi; x += s->loop.step) {
    g->var[s->loop.var] = (neo_ll_var){.kind = NEO_LL_FIXED, .fixed = x};
    block(g, &s->loop.body);
  }
  g->var[s->loop.var] = before;
}

static void vector(neo_ll_gen *g, const neo_ls *s) {
  neo_ll_var before = g->var[s->loop.var];
  g->width = (uint32_t)s->loop.hi->bits;
  /* A single lane is no vector. */
  g->var[s->loop.var] = (neo_ll_var){.kind = g->width == 1 ? NEO_LL_FIXED : NEO_LL_LANE};
  block(g, &s->loop.body);
  g->width = 1;
  g->var[s->loop.var] = before;
}

/* x + by, a step of a loop's counter. Before code generation a pass looks for better counters
 * (loop strength reduction), in a time that grows much faster than the accesses in the loop. Where
 * these are many, they differ in constants and there is little to find: an expectation, which is
 * no code, hides the step from it. */
static LLVMValueRef counted_on(neo_ll_gen *g, LLVMValueRef x, LLVMValueRef by, bool nonneg,
                               bool hide) {
  LLVMValueRef next = LLVMBuildNSWAdd(g->l->b, x, by, "");
  if (nonneg)
    LLVMSetNUW(next, true);
  LLVMValueRef arg[] = {next, neo_ll_int64(g->l, 0)};
  return hide ? neo_ll_call(g->l, "llvm.expect", neo_ll_i64(g->l), arg, 2) : next;
}

/* An early exit in a loop's body: the loop ends unless `more` holds; the builder is then at the
 * rest of the iteration. llvm/core/control.c */
static void loop_goes_on(neo_ll_gen *g, LLVMValueRef more, LLVMBasicBlockRef after) {
  LLVMBasicBlockRef on = neo_ll_new_block(g, "on");
  LLVMBuildCondBr(g->l->b, more, on, after);
  LLVMPositionBuilderAtEnd(g->l->b, on);
}

/* body for x = lo, lo + step, ... < hi. `nonneg` and `multiple` are facts about lo. */
static void counted(neo_ll_gen *g, const neo_ls *s, LLVMValueRef lo, LLVMValueRef hi,
                    LLVMValueRef step, bool nonneg, int64_t multiple) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b), body = neo_ll_new_block(g, "loop");
  LLVMBasicBlockRef after = neo_ll_new_block(g, "done");
  neo_ll_var before = g->var[s->loop.var];
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, lo, hi, ""), body, after);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef x = LLVMBuildPhi(b, neo_ll_i64(g->l), "");
  LLVMAddIncoming(x, &lo, &from, 1);
  g->var[s->loop.var] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                     .v = x,
                                     .depth = ++g->depth,
                                     .nonneg = nonneg,
                                     .multiple = multiple,
                                     .most = nonneg ? last_of(s) : 0};
  if (s->loop.more)
    loop_goes_on(g, neo_ll_expr(g, s->loop.more).v, after);
  uint32_t accesses = g->n_accesses;
  uint8_t *open = g->threads && !g->in_threads ? neo_ll_gpu_open(g) : NULL;
  if (s->loop.kind == NEO_LOOP_UNIT)
    neo_ll_tiles_begin(g);
  block(g, &s->loop.body);
  if (s->loop.kind == NEO_LOOP_UNIT)
    neo_ll_tiles_end(g);
  if (open) {
    neo_ll_gpu_loop_end(g);
    neo_ll_gpu_set_open(g, open, NULL);
  }
  bool many = g->n_accesses - accesses > MANY_ACCESSES;
  neo_ll_loop_end(g, x, counted_on(g, x, step, nonneg, many), hi, body, after);
  g->depth--;
  g->var[s->loop.var] = before;
}

static void serial(neo_ll_gen *g, const neo_ls *s) {
  LLVMValueRef lo = neo_ll_expr(g, s->loop.lo).v, hi = neo_ll_expr(g, s->loop.hi).v;
  int64_t m = neo_ll_multiple(g, s->loop.lo);
  LLVMValueRef step = neo_ll_int64(g->l, s->loop.step);
  counted(g, s, lo, hi, step, neo_ll_nonneg(g, s->loop.lo),
          m == INT64_MIN ? 1 : neo_gcd(m, s->loop.step));
}

/* A thread is a unit. */
void neo_ll_thread_unit(neo_ll_gen *g, LLVMValueRef x, const neo_ls *s, const neo_block *in) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef body = neo_ll_new_block(g, "unit"), after = neo_ll_new_block(g, "done");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, x, g->units, ""), body, after);
  LLVMPositionBuilderAtEnd(b, body);
  if (s)
    g->var[s->loop.var] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                       .v = x,
                                       .depth = ++g->depth,
                                       .nonneg = true,
                                       .multiple = 1,
                                       .most = last_of(s)};
  block(g, in);
  LLVMBuildBr(b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, after);
}

static void block_unit(neo_ll_gen *g, const neo_ls *s) {
  g->var[s->loop.var] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                     .v = neo_ll_gpu_block(g),
                                     .depth = ++g->depth,
                                     .nonneg = true,
                                     .multiple = 1,
                                     .most = last_of(s)};
  block(g, &s->loop.body);
}

/* An iteration is this thread. */
static void thread(neo_ll_gen *g, const neo_ls *s) {
  neo_ll_var before = g->var[s->loop.var];
  g->var[s->loop.var] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                     .v = neo_ll_gpu_lane(g),
                                     .depth = ++g->depth,
                                     .nonneg = true,
                                     .multiple = 1,
                                     .most = last_of(s)};
  g->in_threads = true;
  block(g, &s->loop.body);
  g->in_threads = false;
  g->depth--;
  g->var[s->loop.var] = before;
}

static void unit(neo_ll_gen *g, const neo_ls *s) {
  if (g->k->persistent) { /* a block runs its units one after another */
    LLVMValueRef blocks = neo_ll_gpu_place(g, NEO_GPU_BLOCKS);
    counted(g, s, neo_ll_gpu_block(g), g->units, blocks, true, 1);
    return;
  }
  if (g->threads) {
    block_unit(g, s);
    return;
  }
  if (g->l->target.sm) {
    neo_ll_thread_unit(g, neo_ll_gpu_thread(g), s, &s->loop.body);
    return;
  }
  LLVMValueRef lo = neo_ll_argument(g, neo_ll_i64(g->l), offsetof(neo_rt_args, lo));
  LLVMValueRef hi = neo_ll_argument(g, neo_ll_i64(g->l), offsetof(neo_rt_args, hi));
  counted(g, s, lo, hi, neo_ll_int64(g->l, s->loop.step), true, 1);
}

static void loop(neo_ll_gen *g, const neo_ls *s) {
  forget(g);
  switch (s->loop.kind) {
  case NEO_LOOP_SERIAL:
    serial(g, s);
    break;
  case NEO_LOOP_UNIT:
    unit(g, s);
    break;
  case NEO_LOOP_UNROLL:
    unroll(g, s);
    break;
  case NEO_LOOP_VECTOR:
    vector(g, s);
    break;
  case NEO_LOOP_THREAD:
    if (g->l->target.sm)
      thread(g, s);
    else
      serial(g, s);
    break;
  }
}

static void branch(neo_ll_gen *g, const neo_ls *s) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef then = neo_ll_new_block(g, "then"), other = neo_ll_new_block(g, "else");
  LLVMBasicBlockRef after = neo_ll_new_block(g, "after");
  LLVMBuildCondBr(b, neo_ll_expr(g, s->branch.cond).v, then, other);
  bool threads = g->threads && !g->in_threads;
  uint8_t *before = threads ? neo_ll_gpu_open(g) : NULL;
  LLVMPositionBuilderAtEnd(b, then);
  block(g, &s->branch.then);
  LLVMBuildBr(b, after);
  uint8_t *one = threads ? neo_ll_gpu_open(g) : NULL;
  if (threads)
    neo_ll_gpu_set_open(g, before, NULL);
  LLVMMoveBasicBlockAfter(other, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, other);
  block(g, &s->branch.otherwise);
  if (threads)
    neo_ll_gpu_set_open(g, g->open, one);
  LLVMBuildBr(b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, after);
}

static void set(neo_ll_gen *g, const neo_ls *s) {
  LLVMBuilderRef b = g->l->b;
  neo_ll_reg *r = &g->reg[s->set.reg];
  neo_ll_val x = neo_ll_expr(g, s->set.value);
  neo_ll_place p = neo_ll_reg_place(g, s->set.reg, s->set.index, s->set.n_index);
  if (p.all) {
    LLVMValueRef v = neo_ll_spread(g, x);
    if (r->vector)
      LLVMBuildStore(b, v, r->at[p.at]);
    for (uint32_t k = 0; !r->vector && k < g->width; k++)
      LLVMBuildStore(b, LLVMBuildExtractElement(b, v, neo_ll_int32(g->l, k), ""), r->at[p.at + k]);
  } else if (r->vector) {
    LLVMTypeRef t = neo_ll_type(g->l, (neo_type)s->set.value->type, (uint32_t)r->width);
    LLVMValueRef v = LLVMBuildLoad2(b, t, r->at[p.at], "");
    LLVMBuildStore(b, LLVMBuildInsertElement(b, v, x.v, neo_ll_int32(g->l, p.lane), ""),
                   r->at[p.at]);
  } else {
    LLVMBuildStore(b, x.v, r->at[p.at]);
  }
}

static void store(neo_ll_gen *g, const neo_ls *s) {
  neo_ll_val guard = {0};
  int64_t c;
  if (s->store.adds) {
    neo_ll_add(g, s->store.to.buf, s->store.to.offset, s->store.value);
    return;
  }
  if (s->store.cond && neo_lx_is_int(s->store.cond, &c)) {
    if (!c)
      return;
  } else if (s->store.cond) {
    guard = neo_ll_expr(g, s->store.cond);
  }
  /* Under a branch nothing that was loaded before may be missing afterwards. */
  neo_ll_store(g, s->store.to.buf, s->store.to.offset, s->store.value, guard);
}

static void statement(neo_ll_gen *g, const neo_ls *s) {
  forget(g);
  switch (s->kind) {
  case NEO_LS_FOR:
    loop(g, s);
    break;
  case NEO_LS_IF:
    branch(g, s);
    break;
  case NEO_LS_REG:
    neo_ll_reg_declare(g, s);
    break;
  case NEO_LS_SET:
    set(g, s);
    break;
  case NEO_LS_STORE:
    store(g, s);
    break;
  case NEO_LS_PREFETCH:
    if (!g->l->target.sm)
      neo_ll_prefetch(g, s->prefetch.of.buf, s->prefetch.of.offset, s->prefetch.l2 ? 2 : 1);
    break;
  case NEO_LS_TILE:
    neo_ll_tile(g, s);
    break;
  default:
    neo_ll_gpu_statement(g, s, block);
  }
}

static void block(neo_ll_gen *g, const neo_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    if (g->threads && !g->in_threads)
      neo_ll_gpu_before(g, b->at[i]);
    statement(g, b->at[i]);
  }
}

void neo_ll_block(neo_ll_gen *g, const neo_block *b) {
  block(g, b);
}

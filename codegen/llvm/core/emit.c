/* Kernels: statements of the loop IR as LLVM control flow.
 *
 * A kernel is `int32_t symbol(const neo_rt_args *)`. Loops test before they start and at their end,
 * which is the form that loop passes want. UNROLL copies its body with the variable a constant, but
 * for what is long (llvm/core/roll.c). VECTOR sets the width and emits its body once. */
#include "base/whole.h"
#include "codegen/llvm/gen.h"
#include "neo/neo_rt.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { MANY_ACCESSES = 32 };

static void block(neo_ll_gen *g, const neo_block *b);

/* The last value of a loop's variable; 0: not known. */
static int64_t last_of(const neo_ls *s) {
  int64_t hi;
  return neo_lx_is_int(s->loop.hi, &hi) && hi > 1 ? hi - 1 : 0;
}

/* ---- loops */

static LLVMBasicBlockRef new_block(neo_ll_gen *g, const char *name) {
  return LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, name);
}

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

void neo_ll_loop_end(neo_ll_gen *g, LLVMValueRef x, LLVMValueRef next, LLVMValueRef hi,
                     LLVMBasicBlockRef body, LLVMBasicBlockRef after) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
  LLVMAddIncoming(x, &next, &last, 1);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, hi, ""), body, after);
  LLVMMoveBasicBlockAfter(after, last);
  LLVMPositionBuilderAtEnd(b, after);
}

/* body for x = lo, lo + step, ... < hi. `nonneg` and `multiple` are facts about lo. */
static void counted(neo_ll_gen *g, const neo_ls *s, LLVMValueRef lo, LLVMValueRef hi,
                    LLVMValueRef step, bool nonneg, int64_t multiple) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b), body = new_block(g, "loop");
  LLVMBasicBlockRef after = new_block(g, "done");
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
static void thread_unit(neo_ll_gen *g, LLVMValueRef x, const neo_ls *s, const neo_block *in) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef body = new_block(g, "unit"), after = new_block(g, "done");
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
  if (g->k->persistent) { /* one after another */
    LLVMValueRef blocks = neo_ll_gpu_place(g, NEO_GPU_BLOCKS);
    counted(g, s, neo_ll_gpu_block(g), g->units, blocks, true, 1);
    return;
  }
  if (g->threads) {
    block_unit(g, s);
    return;
  }
  if (g->l->target.sm) {
    thread_unit(g, neo_ll_gpu_thread(g), s, &s->loop.body);
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
  LLVMBasicBlockRef then = new_block(g, "then"), other = new_block(g, "else");
  LLVMBasicBlockRef after = new_block(g, "after");
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

static void store(neo_ll_gen *g, const neo_ls *s) {
  neo_ll_val guard = {0};
  int64_t c;
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
    neo_ll_reg_set(g, s);
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
  case NEO_LS_SHUFFLE:
    neo_ll_shuffle(g, s);
    break;
  case NEO_LS_MMA:
    neo_ll_mma(g, s);
    break;
  case NEO_LS_LDMATRIX:
    neo_ll_ldmatrix(g, s);
    break;
  case NEO_LS_WGMMA:
    neo_ll_wgmma(g, s);
    break;
  case NEO_LS_WGMMA_WAIT:
    neo_ll_wgmma_wait(g, s);
    break;
  case NEO_LS_COPY:
  case NEO_LS_COPY_COMMIT:
  case NEO_LS_COPY_WAIT:
    neo_ll_cp_async(g, s);
    if (s->kind == NEO_LS_COPY_WAIT)
      neo_ll_gpu_arrived(g);
    break;
  case NEO_LS_TMA_COPY:
  case NEO_LS_EXPECT_TX:
  case NEO_LS_MBARRIER_WAIT:
    neo_ll_tma(g, s);
    break;
  case NEO_LS_MBARRIER_ARRIVE:
    neo_ll_mbarrier_arrive(g, s);
    break;
  case NEO_LS_SPECIALIZE:
    neo_ll_specialize(g, s, block);
    break;
  }
}

static void block(neo_ll_gen *g, const neo_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    if (g->threads && !g->in_threads)
      neo_ll_gpu_before(g, b->at[i]);
    statement(g, b->at[i]);
  }
}

/* ---- kernels */

static void note_facts(neo_ll_gen *g) {
  for (uint32_t id = 0; id < g->k->nodes.n; id++) {
    const neo_lx *e = g->k->nodes.at[id];
    bool loads = e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF;
    bool index = e->type == NEO_I64_T && (e->kind == NEO_LX_CONST || e->kind == NEO_LX_VAR ||
                                          e->kind == NEO_LX_SIZE || e->kind == NEO_LX_OP);
    for (uint32_t k = 0; k < e->n; k++) {
      loads = loads || (g->facts[e->arg[k]->id] & NEO_LL_LOADS);
      index = index && (g->facts[e->arg[k]->id] & NEO_LL_INDEX);
    }
    g->facts[id] = (uint8_t)((loads ? NEO_LL_LOADS : 0) | (index ? NEO_LL_INDEX : 0));
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
  neo_ll_scopes(g, symbol);
  neo_ll_note_wgmma(g);
  neo_ll_note_stages(g);
  neo_ll_registers(g);
}

/* A kernel without a UNIT loop is one unit: an empty part runs nothing. */
static void body(neo_ll_gen *g) {
  LLVMBuilderRef b = g->l->b;
  if (neo_kernel_unit_loop(g->k)) {
    block(g, &g->k->body);
    return;
  }
  if (g->threads) {
    block(g, &g->k->body);
    return;
  }
  if (g->l->target.sm) {
    thread_unit(g, neo_ll_gpu_thread(g), NULL, &g->k->body);
    return;
  }
  LLVMBasicBlockRef run = new_block(g, "run"), after = new_block(g, "after");
  LLVMValueRef lo = neo_ll_argument(g, neo_ll_i64(g->l), offsetof(neo_rt_args, lo));
  LLVMValueRef hi = neo_ll_argument(g, neo_ll_i64(g->l), offsetof(neo_rt_args, hi));
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, lo, hi, ""), run, after);
  LLVMPositionBuilderAtEnd(b, run);
  neo_ll_tiles_begin(g);
  block(g, &g->k->body);
  neo_ll_tiles_end(g);
  LLVMBuildBr(b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, after);
}

/* Do all buffers that stream begin at multiples of a vector? Null: there are none. */
static LLVMValueRef streams(neo_ll_gen *g) {
  LLVMBuilderRef b = g->l->b;
  LLVMValueRef sum = NULL;
  for (uint32_t k = 0; k < g->k->bufs.n; k++) {
    if (!g->k->bufs.at[k].stream)
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

/* What is written past the caches comes before what this thread says next to another. */
static void drain(neo_ll_gen *g) {
  if (strncmp(g->l->target.triple, "x86_64", 6) == 0)
    neo_ll_call(g->l, "llvm.x86.sse.sfence", NULL, NULL, 0);
}

/* The body; where results stream, one for buffers that allow it and one for all others. A GPU has
 * other caches: there what streams, or is fetched early, is as anything else. */
void neo_ll_body(neo_ll_gen *g) {
  LLVMValueRef aligned = g->l->target.sm ? NULL : streams(g);
  if (aligned) {
    LLVMBasicBlockRef fast = new_block(g, "stream"), plain = new_block(g, "plain");
    LLVMBuildCondBr(g->l->b, aligned, fast, plain);
    LLVMPositionBuilderAtEnd(g->l->b, fast);
    g->stream = true;
    body(g);
    drain(g);
    LLVMBuildRet(g->l->b, neo_ll_int32(g->l, 0));
    g->stream = false;
    LLVMMoveBasicBlockAfter(plain, LLVMGetInsertBlock(g->l->b));
    LLVMPositionBuilderAtEnd(g->l->b, plain);
  }
  body(g);
}

neo_status neo_llvm_kernel(neo_llvm *l, const neo_kernel *k, const char *symbol, const char **why) {
  *why = "";
  assert(!l->finished && "kernels come before neo_llvm_finish");
  neo_str text;
  neo_str_init(&text, l->arena);
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
  g.entry_block = new_block(&g, "entry");
  LLVMBasicBlockRef first = new_block(&g, "start");
  LLVMPositionBuilderAtEnd(l->entry, g.entry_block);
  LLVMPositionBuilderAtEnd(l->b, first);
  neo_ll_state(&g, symbol);
  if (gpu)
    neo_ll_gpu_arguments(&g);
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

/* Kernels: statements of the loop IR as LLVM control flow.
 *
 * A kernel is `int32_t symbol(const neo_rt_args *)`. Loops test before they start and at their end,
 * which is the form that loop passes want. UNROLL copies its body with the variable a constant, but
 * for what is long (llvm_roll.c). VECTOR sets the width and emits its body once. Registers are
 * stack slots, one for each element or vector; indices are constants, so that all of them become
 * SSA values. */
#include "codegen/llvm_gen.h"
#include "neo/neo_rt.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { MANY_ACCESSES = 32 };

static void block(neo_ll_gen *g, const neo_block *b);

/* The last value of a loop's variable; 0: not known. */
static int64_t last_of(const neo_ls *s) {
  int64_t hi;
  return neo_lx_is_int(s->hi, &hi) && hi > 1 ? hi - 1 : 0;
}

static LLVMTypeRef i64_type(neo_ll_gen *g) {
  return LLVMInt64TypeInContext(g->l->ctx);
}

/* ---- what a kernel gets: loaded in the entry block at first use */

static LLVMValueRef marked(neo_ll_gen *g, LLVMValueRef load, const char *kind) {
  LLVMValueRef none = LLVMMetadataAsValue(g->l->ctx, LLVMMDNodeInContext2(g->l->ctx, NULL, 0));
  unsigned id = LLVMGetMDKindIDInContext(g->l->ctx, kind, (unsigned)strlen(kind));
  LLVMSetMetadata(load, id, none);
  return load;
}

/* The n-th element of `t` behind p. Never changes while the kernel runs. */
static LLVMValueRef fetch(neo_ll_gen *g, LLVMTypeRef t, LLVMValueRef p, size_t n) {
  LLVMBuilderRef b = g->l->entry;
  LLVMValueRef at = LLVMConstInt(i64_type(g), n, false);
  if (n)
    p = LLVMBuildInBoundsGEP2(b, t, p, &at, 1, "");
  LLVMValueRef load = LLVMBuildLoad2(b, t, p, "");
  LLVMSetAlignment(load, 8);
  return marked(g, load, "invariant.load");
}

static LLVMValueRef argument(neo_ll_gen *g, LLVMTypeRef t, size_t offset_bytes) {
  LLVMTypeRef i8 = LLVMInt8TypeInContext(g->l->ctx);
  LLVMValueRef at = LLVMConstInt(i64_type(g), offset_bytes, false);
  return fetch(g, t, LLVMBuildInBoundsGEP2(g->l->entry, i8, g->args, &at, 1, ""), 0);
}

LLVMValueRef neo_ll_size_value(neo_ll_gen *g, uint32_t size) {
  if (!g->size[size]) {
    LLVMValueRef table = argument(g, neo_ll_ptr_type(g->l), offsetof(neo_rt_args, size));
    g->size[size] = fetch(g, i64_type(g), table, size);
  }
  return g->size[size];
}

LLVMValueRef neo_ll_key_value(neo_ll_gen *g, uint32_t which) {
  if (!g->key[which]) {
    LLVMValueRef table = argument(g, neo_ll_ptr_type(g->l), offsetof(neo_rt_args, key));
    g->key[which] = fetch(g, i64_type(g), table, which);
  }
  return g->key[which];
}

static uint32_t argument_number(const neo_kernel *k, uint32_t buf) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < buf; b++)
    n += !(k->bufs.at[b].use & NEO_BUF_SCRATCH);
  return n;
}

/* Half a page from where the first buffer that streams begins (loop.h). */
static LLVMValueRef moved(neo_ll_gen *g, LLVMValueRef at) {
  enum { LINE_BYTES = 64 };
  LLVMBuilderRef b = g->l->entry;
  uint32_t first = 0;
  while (!g->k->bufs.at[first].stream)
    first++;
  LLVMValueRef to = LLVMBuildPtrToInt(b, neo_ll_buf_value(g, first), i64_type(g), "");
  LLVMValueRef by = LLVMBuildSub(b, to, LLVMBuildPtrToInt(b, at, i64_type(g), ""), "");
  by = LLVMBuildAdd(b, by, neo_ll_int(i64_type(g), NEO_PAGE_BYTES / 2), "");
  by = LLVMBuildAnd(b, by, neo_ll_int(i64_type(g), NEO_PAGE_BYTES - LINE_BYTES), "");
  return LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(g->l->ctx), at, &by, 1, "");
}

static LLVMValueRef scratch_value(neo_ll_gen *g) {
  if (g->l->target.sm)
    return neo_ll_gpu_shared(g);
  if (!g->scratch) {
    g->scratch = argument(g, neo_ll_ptr_type(g->l), offsetof(neo_rt_args, scratch));
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
    LLVMValueRef far =
        LLVMConstInt(i64_type(g), (unsigned long long)neo_kernel_scratch_offset(g->k, buf), false);
    b->ptr = LLVMBuildInBoundsGEP2(g->l->entry, LLVMInt8TypeInContext(g->l->ctx), at, &far, 1, "");
  } else {
    LLVMValueRef table = argument(g, ptr, offsetof(neo_rt_args, buf));
    b->ptr = fetch(g, ptr, table, argument_number(g->k, buf));
  }
  return b->ptr;
}

LLVMValueRef neo_ll_alloca(neo_ll_gen *g, LLVMTypeRef t, uint32_t align, const char *name) {
  LLVMValueRef v = LLVMBuildAlloca(g->l->entry, t, name);
  if (align)
    LLVMSetAlignment(v, align);
  return v;
}

/* ---- aliases: a scope for each buffer that overlaps no other */

static bool is_alone(const neo_kbuf *b) {
  return b->no_alias || (b->use & NEO_BUF_SCRATCH);
}

static LLVMMetadataRef node(neo_llvm *l, LLVMMetadataRef *part, size_t n) {
  return LLVMMDNodeInContext2(l->ctx, part, n);
}

static void make_scopes(neo_ll_gen *g, const char *symbol) {
  neo_llvm *l = g->l;
  size_t n = g->k->bufs.n;
  LLVMMetadataRef *scope = NEO_NEW_ARRAY(l->arena, LLVMMetadataRef, n + 1);
  LLVMMetadataRef *others = NEO_NEW_ARRAY(l->arena, LLVMMetadataRef, n + 1);
  LLVMMetadataRef text = LLVMMDStringInContext2(l->ctx, symbol, strlen(symbol));
  LLVMMetadataRef domain = node(l, &text, 1);
  for (size_t k = 0; k < n; k++) {
    const char *name = neo_arena_printf(l->arena, "%s.%zu", symbol, k);
    LLVMMetadataRef part[] = {LLVMMDStringInContext2(l->ctx, name, strlen(name)), domain};
    scope[k] = is_alone(&g->k->bufs.at[k]) ? node(l, part, 2) : NULL;
  }
  for (size_t k = 0; k < n; k++) {
    size_t m = 0;
    for (size_t j = 0; j < n; j++)
      if (j != k && scope[j])
        others[m++] = scope[j];
    if (scope[k])
      g->buf[k].scope = LLVMMetadataAsValue(l->ctx, node(l, &scope[k], 1));
    if (m)
      g->buf[k].noalias = LLVMMetadataAsValue(l->ctx, node(l, others, m));
  }
}

/* ---- registers */

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

static void note_vector(neo_ll_gen *g, const neo_ls *loop) {
  int64_t width = (int64_t)loop->hi->bits;
  if (width == 1)
    return;
  g->stamp++;
  for (size_t i = 0; i < loop->body.n; i++) {
    const neo_ls *s = loop->body.at[i];
    if (s->kind == NEO_LS_SET && s->n_index)
      note_width(g, s->attr, s->index[s->n_index - 1], loop->attr, width);
    if (s->value)
      note_expr(g, s->value, loop->attr, width);
    if (s->cond)
      note_expr(g, s->cond, loop->attr, width);
  }
}

/* By which widths each register is read and written as vectors. */
static void note_block(neo_ll_gen *g, const neo_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    const neo_ls *s = b->at[i];
    if (s->kind == NEO_LS_FOR && s->loop == NEO_LOOP_VECTOR) {
      note_vector(g, s);
      continue;
    }
    note_block(g, &s->body);
    note_block(g, &s->other);
  }
}

/* As one array. */
static void make_together(neo_ll_gen *g, neo_ll_reg *r, LLVMTypeRef t, int64_t n) {
  LLVMTypeRef all = LLVMArrayType2(t, (uint64_t)n);
  LLVMValueRef first = neo_ll_alloca(g, all, 0, "sums");
  for (int64_t i = 0; i < n; i++) {
    LLVMValueRef at = neo_ll_int(i64_type(g), i);
    r->at[i] = LLVMBuildInBoundsGEP2(g->l->entry, t, first, &at, 1, "");
  }
}

static void make_registers(neo_ll_gen *g) {
  note_block(g, &g->k->body);
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

neo_ll_place neo_ll_reg_place(neo_ll_gen *g, uint32_t reg, const neo_lx *const *index, size_t n) {
  const neo_reg *r = &g->k->regs.at[reg];
  neo_ll_place p = {0};
  for (size_t d = 0; d < n; d++) {
    neo_ll_lin x = {0};
    bool row = index[d]->kind == NEO_LX_VAR && g->var[index[d]->attr].rolled;
    bool form = row || neo_ll_linear(g, index[d], &x);
    assert(form && !x.pattern && x.n == 0 && x.c >= 0 && x.c < r->extent[d] && "a constant index");
    (void)form;
    bool last = d + 1 == n;
    p.all = last && x.step == 1 && !x.pattern;
    if (last && g->reg[reg].vector)
      p.lane = x.c;
    else
      p.at = p.at * r->extent[d] + x.c;
  }
  return p;
}

static void declare(neo_ll_gen *g, const neo_ls *s) {
  const neo_reg *r = &g->k->regs.at[s->attr];
  neo_ll_reg *made = &g->reg[s->attr];
  int64_t n = 1, last = r->rank ? r->extent[r->rank - 1] : 1;
  for (uint32_t d = 0; d < r->rank; d++)
    n *= r->extent[d];
  if (made->vector)
    n /= last;
  LLVMTypeRef t = neo_ll_type(g->l, (neo_type)r->type, made->vector ? (uint32_t)last : 1);
  for (int64_t i = 0; i < n; i++)
    LLVMBuildStore(g->l->b, LLVMGetPoison(t), made->at[i]);
}

static LLVMValueRef i32(neo_ll_gen *g, int64_t x) {
  return neo_ll_int(LLVMInt32TypeInContext(g->l->ctx), x);
}

static void set(neo_ll_gen *g, const neo_ls *s) {
  LLVMBuilderRef b = g->l->b;
  neo_ll_reg *r = &g->reg[s->attr];
  neo_ll_val x = neo_ll_expr(g, s->value);
  neo_ll_place p = neo_ll_reg_place(g, s->attr, s->index, s->n_index);
  if (p.all) {
    LLVMValueRef v = neo_ll_spread(g, x);
    if (r->vector)
      LLVMBuildStore(b, v, r->at[p.at]);
    for (uint32_t k = 0; !r->vector && k < g->width; k++)
      LLVMBuildStore(b, LLVMBuildExtractElement(b, v, i32(g, k), ""), r->at[p.at + k]);
  } else if (r->vector) {
    LLVMTypeRef t = neo_ll_type(g->l, (neo_type)s->value->type, (uint32_t)r->width);
    LLVMValueRef v = LLVMBuildLoad2(b, t, r->at[p.at], "");
    LLVMBuildStore(b, LLVMBuildInsertElement(b, v, x.v, i32(g, p.lane), ""), r->at[p.at]);
  } else {
    LLVMBuildStore(b, x.v, r->at[p.at]);
  }
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
  int64_t lo = (int64_t)s->lo->bits, hi = (int64_t)s->hi->bits;
  neo_ll_var before = g->var[s->attr];
  if (neo_ll_turn(g, s) || neo_ll_roll(g, s, block)) {
    g->var[s->attr] = before;
    return;
  }
  for (int64_t x = lo; x < hi; x += s->step) {
    g->var[s->attr] = (neo_ll_var){.kind = NEO_LL_FIXED, .fixed = x};
    block(g, &s->body);
  }
  g->var[s->attr] = before;
}

static void vector(neo_ll_gen *g, const neo_ls *s) {
  neo_ll_var before = g->var[s->attr];
  g->width = (uint32_t)s->hi->bits;
  /* A single lane is no vector. */
  g->var[s->attr] = (neo_ll_var){.kind = g->width == 1 ? NEO_LL_FIXED : NEO_LL_LANE};
  block(g, &s->body);
  g->width = 1;
  g->var[s->attr] = before;
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
  LLVMValueRef arg[] = {next, neo_ll_int(i64_type(g), 0)};
  return hide ? neo_ll_call(g->l, "llvm.expect", i64_type(g), arg, 2) : next;
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
  neo_ll_var before = g->var[s->attr];
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, lo, hi, ""), body, after);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef x = LLVMBuildPhi(b, i64_type(g), "");
  LLVMAddIncoming(x, &lo, &from, 1);
  g->var[s->attr] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                 .v = x,
                                 .depth = ++g->depth,
                                 .nonneg = nonneg,
                                 .multiple = multiple,
                                 .most = nonneg ? last_of(s) : 0};
  uint32_t accesses = g->n_accesses;
  uint8_t *open = g->threads && !g->in_threads ? neo_ll_gpu_open(g) : NULL;
  if (s->loop == NEO_LOOP_UNIT)
    neo_ll_tiles_begin(g);
  block(g, &s->body);
  if (s->loop == NEO_LOOP_UNIT)
    neo_ll_tiles_end(g);
  if (open) {
    neo_ll_gpu_loop_end(g);
    neo_ll_gpu_set_open(g, open, NULL);
  }
  bool many = g->n_accesses - accesses > MANY_ACCESSES;
  neo_ll_loop_end(g, x, counted_on(g, x, step, nonneg, many), hi, body, after);
  g->depth--;
  g->var[s->attr] = before;
}

static int64_t gcd(int64_t a, int64_t b) {
  return b ? gcd(b, a % b) : a < 0 ? -a : a;
}

static void serial(neo_ll_gen *g, const neo_ls *s) {
  LLVMValueRef lo = neo_ll_expr(g, s->lo).v, hi = neo_ll_expr(g, s->hi).v;
  int64_t m = neo_ll_multiple(g, s->lo);
  LLVMValueRef step = neo_ll_int(i64_type(g), s->step);
  counted(g, s, lo, hi, step, neo_ll_nonneg(g, s->lo), m == INT64_MIN ? 1 : gcd(m, s->step));
}

/* A thread is a unit. */
static void thread_unit(neo_ll_gen *g, LLVMValueRef x, const neo_ls *s, const neo_block *in) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef body = new_block(g, "unit"), after = new_block(g, "done");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, x, g->units, ""), body, after);
  LLVMPositionBuilderAtEnd(b, body);
  if (s)
    g->var[s->attr] = (neo_ll_var){.kind = NEO_LL_LOOP,
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
  g->var[s->attr] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                 .v = neo_ll_gpu_block(g),
                                 .depth = ++g->depth,
                                 .nonneg = true,
                                 .multiple = 1,
                                 .most = last_of(s)};
  block(g, &s->body);
}

/* An iteration is this thread. */
static void thread(neo_ll_gen *g, const neo_ls *s) {
  neo_ll_var before = g->var[s->attr];
  g->var[s->attr] = (neo_ll_var){.kind = NEO_LL_LOOP,
                                 .v = neo_ll_gpu_lane(g),
                                 .depth = ++g->depth,
                                 .nonneg = true,
                                 .multiple = 1,
                                 .most = last_of(s)};
  g->in_threads = true;
  block(g, &s->body);
  g->in_threads = false;
  g->depth--;
  g->var[s->attr] = before;
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
    thread_unit(g, neo_ll_gpu_thread(g), s, &s->body);
    return;
  }
  LLVMValueRef lo = argument(g, i64_type(g), offsetof(neo_rt_args, lo));
  LLVMValueRef hi = argument(g, i64_type(g), offsetof(neo_rt_args, hi));
  counted(g, s, lo, hi, neo_ll_int(i64_type(g), s->step), true, 1);
}

static void loop(neo_ll_gen *g, const neo_ls *s) {
  forget(g);
  switch ((neo_loop_kind)s->loop) {
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
  LLVMBuildCondBr(b, neo_ll_expr(g, s->cond).v, then, other);
  bool threads = g->threads && !g->in_threads;
  uint8_t *before = threads ? neo_ll_gpu_open(g) : NULL;
  LLVMPositionBuilderAtEnd(b, then);
  block(g, &s->body);
  LLVMBuildBr(b, after);
  uint8_t *one = threads ? neo_ll_gpu_open(g) : NULL;
  if (threads)
    neo_ll_gpu_set_open(g, before, NULL);
  LLVMMoveBasicBlockAfter(other, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, other);
  block(g, &s->other);
  if (threads)
    neo_ll_gpu_set_open(g, g->open, one);
  LLVMBuildBr(b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(b));
  LLVMPositionBuilderAtEnd(b, after);
}

static void store(neo_ll_gen *g, const neo_ls *s) {
  neo_ll_val guard = {0};
  int64_t c;
  if (s->cond && neo_lx_is_int(s->cond, &c)) {
    if (!c)
      return;
  } else if (s->cond) {
    guard = neo_ll_expr(g, s->cond);
  }
  /* Under a branch nothing that was loaded before may be missing afterwards. */
  neo_ll_store(g, s->attr, s->index[0], s->value, guard);
}

static void statement(neo_ll_gen *g, const neo_ls *s) {
  forget(g);
  switch ((neo_ls_kind)s->kind) {
  case NEO_LS_FOR:
    loop(g, s);
    break;
  case NEO_LS_IF:
    branch(g, s);
    break;
  case NEO_LS_REG:
    declare(g, s);
    break;
  case NEO_LS_SET:
    set(g, s);
    break;
  case NEO_LS_STORE:
    store(g, s);
    break;
  case NEO_LS_FETCH:
    if (!g->l->target.sm)
      neo_ll_fetch(g, s->attr, s->index[0], s->step);
    break;
  case NEO_LS_TILE:
    neo_ll_tile(g, s);
    break;
  case NEO_LS_WARP:
    neo_ll_warp(g, s);
    break;
  case NEO_LS_WARPGROUP:
    neo_ll_warpgroup(g, s);
    break;
  case NEO_LS_AWAIT:
    neo_ll_await(g, s);
    break;
  case NEO_LS_COPY:
  case NEO_LS_COMMIT:
  case NEO_LS_WAIT:
    neo_ll_async(g, s);
    if (s->kind == NEO_LS_WAIT)
      neo_ll_gpu_arrived(g);
    break;
  case NEO_LS_BULK:
  case NEO_LS_EXPECT:
  case NEO_LS_REACH:
    neo_ll_bulk(g, s);
    break;
  case NEO_LS_ARRIVE:
    neo_ll_arrive(g, s);
    break;
  case NEO_LS_ROLES:
    neo_ll_roles(g, s, block);
    break;
  case NEO_LS_SHUFFLE:
    neo_ll_shuffle(g, s);
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
  g->by_phases = NEO_NEW_ARRAY(a, bool, k->bufs.n + 1);
  note_facts(g);
  make_scopes(g, symbol);
  neo_ll_warpgroups_note(g);
  neo_ll_roles_note(g);
  make_registers(g);
}

static bool has_units(const neo_kernel *k) {
  return k->body.n == 1 && k->body.at[0]->kind == NEO_LS_FOR &&
         k->body.at[0]->loop == NEO_LOOP_UNIT;
}

/* A kernel without a UNIT loop is one unit: an empty part runs nothing. */
static void body(neo_ll_gen *g) {
  LLVMBuilderRef b = g->l->b;
  if (has_units(g->k)) {
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
  LLVMValueRef lo = argument(g, i64_type(g), offsetof(neo_rt_args, lo));
  LLVMValueRef hi = argument(g, i64_type(g), offsetof(neo_rt_args, hi));
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
    LLVMValueRef at = LLVMBuildPtrToInt(b, neo_ll_buf_value(g, k), i64_type(g), "");
    sum = sum ? LLVMBuildOr(b, sum, at, "") : at;
  }
  if (!sum)
    return NULL;
  LLVMValueRef low = neo_ll_int(i64_type(g), (int64_t)g->l->target.vector_bytes - 1);
  LLVMValueRef zero = neo_ll_int(i64_type(g), 0);
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
    LLVMBuildRet(g->l->b, LLVMConstInt(LLVMInt32TypeInContext(g->l->ctx), 0, false));
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
  LLVMTypeRef ptr = neo_ll_ptr_type(l), i32_type = LLVMInt32TypeInContext(l->ctx);
  neo_ll_gen g = {.l = l, .k = k};
  bool gpu = l->target.sm != 0;
  g.threads = gpu ? neo_kernel_threads(k) : 0;
  g.n_maps = neo_kernel_maps(k, g.maps);
  if (gpu) {
    neo_ll_gpu_function(&g, symbol);
  } else {
    g.fn = neo_ll_function(l, symbol, LLVMFunctionType(i32_type, &ptr, 1, false), false);
    g.args = LLVMGetParam(g.fn, 0);
  }
  g.entry_block = new_block(&g, "entry");
  LLVMBasicBlockRef first = new_block(&g, "start");
  LLVMPositionBuilderAtEnd(l->entry, g.entry_block);
  LLVMPositionBuilderAtEnd(l->b, first);
  neo_ll_state(&g, symbol);
  if (gpu)
    neo_ll_gpu_arguments(&g);
  g.tiles = neo_kernel_has_tiles(k);
  if (g.tiles)
    neo_ll_tiles_declare(&g);
  if (neo_kernel_has_dots(k))
    neo_ll_dots_declare(&g);
  neo_ll_bulk_begin(&g);
  neo_ll_body(&g);
  if (gpu)
    LLVMBuildRetVoid(l->b);
  else
    LLVMBuildRet(l->b, LLVMConstInt(i32_type, 0, false));
  LLVMBuildBr(l->entry, first);
  return NEO_OK;
}

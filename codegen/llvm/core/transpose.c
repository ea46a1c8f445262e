/* Transposition of tiles in registers before stores, for tiles whose lanes are strided in memory
 * and whose rows are contiguous.
 *
 *     for r in 0..14 unroll: for l in 0..16 vector: Y[at + r + 3136*l] = value(r, l)
 *
 * Lane by lane this would be a store of each element. Instead, up to as many rows as there are
 * lanes are computed first, and then transposed in registers, so that each lane is a run of rows
 * and needs one store. UNROLL promises that rows do not depend on each other.
 *
 * A square of n by n elements, n a power of two, is transposed in log2 n steps, each a shuffle of
 * pairs of vectors that a processor has as one instruction: elements, pairs, ... of blocks of 16
 * bytes are interleaved until a block holds one lane of several rows, then the blocks of a lane are
 * brought together. The code tracks the position of every element, so it needs no formula for the
 * order of the results.
 *
 * If the value reads memory in the layout of the result, as an update reads the parameter,
 *
 *     F[at + r + 8*l] = F[at + r + 8*l] - rate * acc[r, l]
 *
 * only its registers are transposed; the rest of the expression is computed on runs of rows, one
 * lane after another. */
#include "codegen/llvm/gen.h"
#include <assert.h>

enum { LEAST = 4, MOST = 64, BLOCK_BYTES = 16, LOOPS = 4, REGISTERS = 4 };

typedef struct {
  const neo_ls *loop[LOOPS]; /* UNROLL, outermost first */
  uint32_t n, run;           /* run: the loop whose iterations are contiguous in memory */
  const neo_ls *vector, *store;
  int64_t stride; /* elements from lane to lane */
  bool by_runs;   /* the value is computed on runs after its registers are transposed */
  const neo_lx *reg[REGISTERS];
  uint32_t n_regs;
} tile;

/* ---- the tiles that can be transposed */

/* A perfect loop nest around a single store: UNROLL loops, then a VECTOR loop. */
static bool is_tile(const neo_ls *s, tile *t) {
  for (; neo_ls_is_loop(s, NEO_LOOP_UNROLL) && t->n < LOOPS; s = s->loop.body.at[0]) {
    t->loop[t->n++] = s;
    if (s->loop.body.n != 1)
      return false;
  }
  if (!neo_ls_is_loop(s, NEO_LOOP_VECTOR) || s->loop.body.n != 1)
    return false;
  t->vector = s;
  t->store = s->loop.body.at[0];
  return t->store->kind == NEO_LS_STORE;
}

static bool is_run(const tile *t, const neo_ls *loop) {
  int64_t step;
  return neo_ls_trips(loop) >= LEAST &&
         neo_lx_step(t->store->store.to.offset, loop->loop.var, &step) &&
         step * loop->loop.step == 1 &&
         !(t->store->store.cond && neo_lx_uses(t->store->store.cond, loop->loop.var));
}

/* ---- values that are computed of runs */

typedef struct {
  tile *t;
  uint32_t run, lane, left; /* variables; nodes that may still be looked at */
  bool reads;               /* memory, along the run */
} looking;

static bool add_register(looking *c, const neo_lx *e) {
  tile *t = c->t;
  if (!neo_lx_uses(e, c->run) && !neo_lx_uses(e, c->lane))
    return true;
  const neo_lx *last = e->arg[e->n - 1];
  if (last->kind != NEO_LX_VAR || last->attr != c->lane)
    return false;
  for (uint32_t k = 0; k < t->n_regs; k++)
    if (t->reg[k] == e)
      return true;
  if (t->n_regs == REGISTERS)
    return false;
  t->reg[t->n_regs++] = e;
  return true;
}

/* Is memory read along the run, or not along it at all? */
static bool look_at_load(looking *c, const neo_lx *e) {
  int64_t step;
  if (!neo_lx_step(e->arg[0], c->run, &step) || (step != 0 && step != 1))
    return false;
  c->reads |= step == 1;
  return e->kind == NEO_LX_LOAD || !neo_lx_uses(e->arg[1], c->run);
}

static bool look(looking *c, const neo_lx *e) {
  bool load = e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF;
  if (c->left == 0)
    return false;
  c->left--;
  if (e->kind == NEO_LX_REG)
    return add_register(c, e);
  if (load && !look_at_load(c, e))
    return false;
  for (uint32_t k = load ? 2 : 0; k < e->n; k++)
    if (!look(c, e->arg[k]))
      return false;
  return true;
}

static bool is_of_runs(tile *t) {
  enum { NODES = 64 };
  looking c = {
      .t = t, .run = t->loop[t->run]->loop.var, .lane = t->vector->loop.var, .left = NODES};
  return look(&c, t->store->store.value) && c.reads && t->n_regs > 0;
}

/* ---- the whole */

static bool find(const neo_ll_gen *g, const neo_ls *s, tile *t) {
  if (!is_tile(s, t))
    return false;
  int64_t lanes = (int64_t)t->vector->loop.hi->bits, always;
  int64_t bytes = neo_type_bytes((neo_type)g->k->bufs.at[t->store->store.to.buf].type);
  bool square = lanes >= LEAST && lanes <= MOST && !(lanes & (lanes - 1)) && bytes < BLOCK_BYTES;
  if (!square || lanes * bytes > g->l->target.vector_bytes ||
      !neo_lx_step(t->store->store.to.offset, t->vector->loop.var, &t->stride))
    return false;
  if (t->store->store.cond && neo_lx_is_int(t->store->store.cond, &always))
    return false;
  for (t->run = 0; t->run < t->n && !is_run(t, t->loop[t->run]); t->run++)
    ;
  t->by_runs = t->run < t->n && is_of_runs(t);
  return t->run < t->n && t->stride != 0 && t->stride != 1 && t->stride != -1;
}

/* ---- the transposition */

typedef struct {
  neo_ll_gen *g;
  uint32_t n;
  LLVMValueRef v[MOST];
  struct {
    uint8_t row, lane;
  } is[MOST][MOST]; /* [vector][position]: which element it is */
} square;

typedef struct {
  uint32_t at[2][MOST]; /* positions in both vectors, one after the other, of the two results */
} shuffle;

/* The shuffle that interleaves runs of e elements of two vectors, in the low halves of blocks, and
 * in the high ones. */
static shuffle interleaved(uint32_t n, uint32_t block, uint32_t e) {
  shuffle s;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t in = k % block, run = in / e;
    for (uint32_t half = 0; half < 2; half++)
      s.at[half][k] = run % 2 * n + k - in + half * block / 2 + run / 2 * e + in % e;
  }
  return s;
}

/* The shuffle that takes the even blocks of two vectors, and the odd ones. */
static shuffle blocks_parted(uint32_t n, uint32_t block) {
  shuffle s;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t odd = 0; odd < 2; odd++)
      s.at[odd][k] = (2 * (k / block) + odd) * block + k % block;
  return s;
}

static LLVMValueRef shuffled(neo_ll_gen *g, LLVMValueRef a, LLVMValueRef b, const uint32_t *at,
                             uint32_t n) {
  LLVMTypeRef t = neo_ll_i32(g->l);
  LLVMValueRef order[MOST];
  for (uint32_t k = 0; k < n; k++)
    order[k] = neo_ll_int(t, at[k]);
  return LLVMBuildShuffleVector(g->l->b, a, b, LLVMConstVector(order, n), "");
}

/* LLVM would look through all steps at once for shuffles that it can combine, with more time for
 * each than for all other code of a kernel; there are none. */
static LLVMValueRef fenced(neo_ll_gen *g, LLVMValueRef v) {
  LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(v)));
  bool is = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
  return is ? neo_ll_call(g->l, "llvm.arithmetic.fence", LLVMTypeOf(v), &v, 1) : v;
}

static void shuffle_pair(square *q, uint32_t a, uint32_t b, const shuffle *s) {
  square was = *q;
  for (uint32_t half = 0; half < 2; half++) {
    uint32_t to = half ? b : a;
    q->v[to] = fenced(q->g, shuffled(q->g, was.v[a], was.v[b], s->at[half], q->n));
    for (uint32_t k = 0; k < q->n; k++) {
      uint32_t from = s->at[half][k];
      q->is[to][k] = was.is[from < q->n ? a : b][from % q->n];
    }
  }
}

/* q->v: rows, becomes lanes. */
static void transpose(square *q, int64_t bytes) {
  uint32_t block = (uint32_t)(BLOCK_BYTES / bytes), e = 1;
  block = block < q->n ? block : q->n;
  for (uint32_t stride = 1; stride < q->n; stride *= 2, e *= 2) {
    shuffle s = e < block ? interleaved(q->n, block, e) : blocks_parted(q->n, block);
    for (uint32_t k = 0; k < q->n; k++)
      if (!(k & stride))
        shuffle_pair(q, k, k + stride, &s);
  }
  LLVMValueRef lane[MOST];
  for (uint32_t k = 0; k < q->n; k++) {
    lane[q->is[k][0].lane] = q->v[k];
    for (uint32_t r = 0; r < q->n; r++)
      assert(q->is[k][r].row == r && q->is[k][r].lane == q->is[k][0].lane);
  }
  for (uint32_t k = 0; k < q->n; k++)
    q->v[k] = lane[k];
}

/* ---- stores */

static void fix(neo_ll_gen *g, const neo_ls *loop, int64_t value) {
  g->var[loop->loop.var] = (neo_ll_var){.kind = NEO_LL_FIXED, .fixed = value};
  g->stamp++;
  g->trail.n = 0;
}

static int64_t value_at(const neo_ls *loop, int64_t trip) {
  return (int64_t)loop->loop.lo->bits + trip * loop->loop.step;
}

/* The condition of the store, with all loops but `run` at their iterations; null: there is none. */
static neo_ll_val condition(neo_ll_gen *g, const tile *t) {
  neo_ll_val none = {0};
  if (!t->store->store.cond)
    return none;
  neo_ll_val x = neo_ll_expr(g, t->store->store.cond);
  return (neo_ll_val){neo_ll_spread(g, x), true, x.depth, false};
}

/* Rows [from, from + n) of an expression, transposed; `type`: as they are in memory. */
static void transposed(square *q, const tile *t, const neo_lx *e, const neo_type *type,
                       int64_t from, uint32_t n, neo_ll_val where) {
  neo_ll_gen *g = q->g;
  const neo_ls *run = t->loop[t->run];
  g->width = q->n = (uint32_t)t->vector->loop.hi->bits;
  g->var[t->vector->loop.var] = (neo_ll_var){.kind = NEO_LL_LANE};
  for (uint32_t r = 0; r < n; r++) {
    fix(g, run, value_at(run, from + r));
    g->guard = where;
    LLVMValueRef v = neo_ll_spread(g, neo_ll_expr(g, e));
    q->v[r] = type ? neo_ll_to_mem(g->l, *type, v) : v;
    g->guard = (neo_ll_val){0};
  }
  for (uint32_t r = n; r < q->n; r++)
    q->v[r] = LLVMGetPoison(LLVMTypeOf(q->v[0]));
  for (uint32_t r = 0; r < q->n; r++)
    for (uint32_t k = 0; k < q->n; k++)
      q->is[r][k].row = (uint8_t)r, q->is[r][k].lane = (uint8_t)k;
  uint32_t bits =
      (uint32_t)neo_ll_bits(q->v[0]); /* 1 of a mask, which is in a register as bytes are */
  transpose(q, bits < 8 ? 1 : bits / 8);
  g->width = 1;
}

/* Rows [first, first + n) of a transposed lane. */
static LLVMValueRef part_of(const square *q, uint32_t k, uint32_t first, uint32_t n) {
  LLVMTypeRef i32 = neo_ll_i32(q->g->l);
  LLVMValueRef order[MOST];
  for (uint32_t r = 0; r < n; r++)
    order[r] = neo_ll_int(i32, first + r);
  if (n == 1)
    return LLVMBuildExtractElement(q->g->l->b, q->v[k], order[0], "");
  return LLVMBuildShuffleVector(q->g->l->b, q->v[k], q->v[k], LLVMConstVector(order, n), "");
}

/* The value that lane k stores in n rows, which begin `first` rows after row `from`, where the
 * squares begin. */
static LLVMValueRef of_run(neo_ll_gen *g, const tile *t, const square *q, int64_t from,
                           uint32_t first, uint32_t n, uint32_t k) {
  const neo_ls *run = t->loop[t->run];
  neo_type type = (neo_type)g->k->bufs.at[t->store->store.to.buf].type;
  fix(g, t->vector, k);
  fix(g, run, value_at(run, from + first));
  if (n > 1)
    g->var[run->loop.var].kind = NEO_LL_LANE;
  g->width = n;
  if (t->store->store.cond)
    g->guard = neo_ll_expr(g, t->store->store.cond);
  for (uint32_t i = 0; i < t->n_regs; i++) {
    g->memo[t->reg[i]->id].stamp = g->stamp;
    g->memo[t->reg[i]->id].val = (neo_ll_val){part_of(&q[i], k, first, n), n > 1, g->depth, false};
  }
  LLVMValueRef v =
      neo_ll_to_mem(g->l, type, neo_ll_spread(g, neo_ll_expr(g, t->store->store.value)));
  g->guard = (neo_ll_val){0};
  g->width = 1;
  return v;
}

static LLVMValueRef moved(neo_ll_gen *g, LLVMTypeRef element, LLVMValueRef at, int64_t by) {
  LLVMValueRef x = neo_ll_int64(g->l, by);
  return LLVMBuildGEP2(g->l->b, element, at, &x, 1, "");
}

/* Rows [from, from + n) of the run. */
static void store_rows(neo_ll_gen *g, const tile *t, int64_t from, uint32_t n) {
  const neo_ls *run = t->loop[t->run];
  neo_type type = (neo_type)g->k->bufs.at[t->store->store.to.buf].type;
  LLVMTypeRef element = neo_ll_mem_type(g->l, type, 1);
  uint32_t lanes = (uint32_t)t->vector->loop.hi->bits, align, buf = t->store->store.to.buf;
  square q[REGISTERS];
  g->width = lanes;
  g->var[t->vector->loop.var] = (neo_ll_var){.kind = NEO_LL_LANE};
  fix(g, run, value_at(run, from));
  neo_ll_val where = condition(g, t);
  for (uint32_t i = 0; i < (t->by_runs ? t->n_regs : 1); i++) {
    q[i].g = g;
    transposed(&q[i], t, t->by_runs ? t->reg[i] : t->store->store.value, t->by_runs ? NULL : &type,
               from, n, where);
  }
  g->width = 1;
  fix(g, run, value_at(run, from));
  fix(g, t->vector, 0);
  LLVMValueRef first = neo_ll_address(g, buf, t->store->store.to.offset, where.v, &align);
  for (uint32_t k = 0; k < lanes; k++) {
    LLVMValueRef at = moved(g, element, first, t->stride * (int64_t)k);
    if (!t->by_runs)
      neo_ll_store_first(g, buf, at, q[0].v[k], n, where, k);
    for (uint32_t done = 0, part = MOST; t->by_runs && done < n; part /= 2)
      for (; n - done >= part; done += part)
        neo_ll_store_first(g, buf, moved(g, element, at, done),
                           of_run(g, t, q, from, done, part, k), part, where, k);
  }
}

/* The loops but `run`, from the k-th on. */
static void each_run(neo_ll_gen *g, const tile *t, uint32_t k) {
  const neo_ls *run = t->loop[t->run];
  int64_t lanes = (int64_t)t->vector->loop.hi->bits, all = neo_ls_trips(run);
  if (k == t->n) {
    for (int64_t from = 0; from < all; from += lanes)
      store_rows(g, t, from, (uint32_t)(all - from < lanes ? all - from : lanes));
    return;
  }
  for (int64_t i = 0; i < (k == t->run ? 1 : neo_ls_trips(t->loop[k])); i++) {
    fix(g, t->loop[k], value_at(t->loop[k], i));
    each_run(g, t, k + 1);
  }
}

bool neo_ll_transpose(neo_ll_gen *g, const neo_ls *s) {
  tile t = {.n = 0};
  if (g->l->target.sm || !find(g, s, &t))
    return false;
  each_run(g, &t, 0);
  return true;
}

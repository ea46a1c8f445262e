/* Tiles that are turned before they are stored: where lanes lie apart in memory and the rows of the
 * tile side by side.
 *
 *     for r in 0..14 unroll: for l in 0..16 vector: Y[at + r + 3136*l] = value(r, l)
 *
 * Lane by lane this would be a store of each element. Instead the vectors of up to as many rows as
 * there are lanes are computed first, then transposed in registers, so that what was a lane is a
 * run of rows, one store. UNROLL promises that rows do not depend on each other.
 *
 * The transposition is one of a square of n by n elements, n a power of two, in log2 n steps, each
 * a shuffle of pairs of vectors that a processor has as one instruction: elements, pairs, ... of
 * blocks of 16 bytes are interleaved until a block holds one lane of several rows, then blocks are
 * brought together. Where an element comes to lie is followed along, so that no order of the
 * results has to be known beforehand. */
#include "codegen/llvm_gen.h"
#include <assert.h>

enum { LEAST = 4, MOST = 64, BLOCK_BYTES = 16, LOOPS = 4 };

typedef struct {
  const neo_ls *loop[LOOPS]; /* UNROLL, outermost first */
  uint32_t n, run;           /* run: which one's iterations lie side by side */
  const neo_ls *vector, *store;
  int64_t apart; /* elements from lane to lane */
} turn;

/* ---- what can be turned */

static int64_t trips(const neo_ls *s) {
  return ((int64_t)s->hi->bits - (int64_t)s->lo->bits + s->step - 1) / s->step;
}

/* Loops around a single store, with nothing between them. */
static bool is_nest(const neo_ls *s, turn *t) {
  for (; s->kind == NEO_LS_FOR && s->loop == NEO_LOOP_UNROLL && t->n < LOOPS; s = s->body.at[0]) {
    t->loop[t->n++] = s;
    if (s->body.n != 1)
      return false;
  }
  if (s->kind != NEO_LS_FOR || s->loop != NEO_LOOP_VECTOR || s->body.n != 1)
    return false;
  t->vector = s;
  t->store = s->body.at[0];
  return t->store->kind == NEO_LS_STORE;
}

static bool is_run(const turn *t, const neo_ls *loop) {
  int64_t step;
  return trips(loop) >= LEAST && neo_lx_step(t->store->index[0], loop->attr, &step) &&
         step * loop->step == 1 && !(t->store->cond && neo_lx_uses(t->store->cond, loop->attr));
}

static bool find(const neo_ll_gen *g, const neo_ls *s, turn *t) {
  if (!is_nest(s, t))
    return false;
  int64_t lanes = (int64_t)t->vector->hi->bits, always;
  int64_t bytes = neo_type_bytes((neo_type)g->k->bufs.at[t->store->attr].type);
  bool square = lanes >= LEAST && lanes <= MOST && !(lanes & (lanes - 1)) && bytes < BLOCK_BYTES;
  if (!square || lanes * bytes > g->l->target.vector_bytes ||
      !neo_lx_step(t->store->index[0], t->vector->attr, &t->apart))
    return false;
  if (t->store->cond && neo_lx_is_int(t->store->cond, &always))
    return false;
  for (t->run = 0; t->run < t->n; t->run++)
    if (is_run(t, t->loop[t->run]))
      return t->apart != 0 && t->apart != 1 && t->apart != -1;
  return false;
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

/* Runs of e elements, those of both in turn: the low halves of blocks, the high ones. */
static shuffle interleaved(uint32_t n, uint32_t block, uint32_t e) {
  shuffle s;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t in = k % block, run = in / e;
    for (uint32_t half = 0; half < 2; half++)
      s.at[half][k] = run % 2 * n + k - in + half * block / 2 + run / 2 * e + in % e;
  }
  return s;
}

/* The blocks of even numbers of both, those of odd ones. */
static shuffle blocks_parted(uint32_t n, uint32_t block) {
  shuffle s;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t odd = 0; odd < 2; odd++)
      s.at[odd][k] = (2 * (k / block) + odd) * block + k % block;
  return s;
}

static LLVMValueRef shuffled(neo_ll_gen *g, LLVMValueRef a, LLVMValueRef b, const uint32_t *at,
                             uint32_t n) {
  LLVMTypeRef t = LLVMInt32TypeInContext(g->l->ctx);
  LLVMValueRef order[MOST];
  for (uint32_t k = 0; k < n; k++)
    order[k] = neo_ll_int(t, at[k]);
  return LLVMBuildShuffleVector(g->l->b, a, b, LLVMConstVector(order, n), "");
}

static void shuffle_pair(square *q, uint32_t a, uint32_t b, const shuffle *s) {
  square was = *q;
  for (uint32_t half = 0; half < 2; half++) {
    uint32_t to = half ? b : a;
    q->v[to] = shuffled(q->g, was.v[a], was.v[b], s->at[half], q->n);
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
  for (uint32_t apart = 1; apart < q->n; apart *= 2, e *= 2) {
    shuffle s = e < block ? interleaved(q->n, block, e) : blocks_parted(q->n, block);
    for (uint32_t k = 0; k < q->n; k++)
      if (!(k & apart))
        shuffle_pair(q, k, k + apart, &s);
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
  g->var[loop->attr] = (neo_ll_var){.kind = NEO_LL_FIXED, .fixed = value};
  g->stamp++;
  g->trail.n = 0;
}

static int64_t value_at(const neo_ls *loop, int64_t trip) {
  return (int64_t)loop->lo->bits + trip * loop->step;
}

/* Where a lane is stored at all, with the loops but `run` at their iterations; null: each is. */
static neo_ll_val condition(neo_ll_gen *g, const turn *t) {
  neo_ll_val none = {0};
  if (!t->store->cond)
    return none;
  neo_ll_val x = neo_ll_expr(g, t->store->cond);
  return (neo_ll_val){neo_ll_spread(g, x), true, x.depth};
}

/* Rows [from, from + n) of the run. */
static void store_rows(neo_ll_gen *g, const turn *t, int64_t from, uint32_t n) {
  const neo_ls *run = t->loop[t->run];
  neo_type type = (neo_type)g->k->bufs.at[t->store->attr].type;
  square q = {.g = g, .n = (uint32_t)t->vector->hi->bits};
  LLVMTypeRef element = neo_ll_mem_type(g->l, type, 1);
  g->width = q.n;
  g->var[t->vector->attr] = (neo_ll_var){.kind = NEO_LL_LANE};
  fix(g, run, value_at(run, from));
  neo_ll_val where = condition(g, t);
  for (uint32_t r = 0; r < q.n; r++) {
    fix(g, run, value_at(run, from + r));
    g->guard = where;
    q.v[r] = r < n ? neo_ll_to_mem(g->l, type, neo_ll_spread(g, neo_ll_expr(g, t->store->value)))
                   : LLVMGetPoison(neo_ll_mem_type(g->l, type, q.n));
    g->guard = (neo_ll_val){0};
    for (uint32_t k = 0; k < q.n; k++)
      q.is[r][k].row = (uint8_t)r, q.is[r][k].lane = (uint8_t)k;
  }
  transpose(&q, neo_type_bytes(type));
  g->width = 1;
  fix(g, run, value_at(run, from));
  fix(g, t->vector, 0);
  uint32_t align;
  LLVMValueRef first = neo_ll_address(g, t->store->attr, t->store->index[0], where.v, &align);
  for (uint32_t k = 0; k < q.n; k++) {
    LLVMValueRef by = neo_ll_int(LLVMInt64TypeInContext(g->l->ctx), t->apart * (int64_t)k);
    LLVMValueRef at = LLVMBuildGEP2(g->l->b, element, first, &by, 1, "");
    neo_ll_store_first(g, t->store->attr, at, q.v[k], n, where, k);
  }
}

/* The loops but `run`, from the k-th on. */
static void each_run(neo_ll_gen *g, const turn *t, uint32_t k) {
  const neo_ls *run = t->loop[t->run];
  int64_t lanes = (int64_t)t->vector->hi->bits, all = trips(run);
  if (k == t->n) {
    for (int64_t from = 0; from < all; from += lanes)
      store_rows(g, t, from, (uint32_t)(all - from < lanes ? all - from : lanes));
    return;
  }
  for (int64_t i = 0; i < (k == t->run ? 1 : trips(t->loop[k])); i++) {
    fix(g, t->loop[k], value_at(t->loop[k], i));
    each_run(g, t, k + 1);
  }
}

bool neo_ll_turn(neo_ll_gen *g, const neo_ls *s) {
  turn t = {.n = 0};
  if (g->l->target.sm || !find(g, s, &t))
    return false;
  each_run(g, &t, 0);
  return true;
}

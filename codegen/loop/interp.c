/* The reference interpreter of kernels: scalar, sequential, checked. An access outside a buffer, a
 * store to a buffer that is only read, and a read of an undefined register element stop it.
 *
 * A statement's expression is a graph: each node is evaluated once a statement, and only where its
 * value is needed (SELECT, LOADIF and conditional stores leave out what they do not take). */
#include "codegen/loop/interp.h"
#include "base/random.h"
#include "codegen/loop/tile.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_ARGS = 16, MAX_THREADS = 1024 };
#define HIGH 0xffff0000U

void neo_li_fail(interp *p, const char *what, const char *name, int64_t at, int64_t n) {
  if (p->failed)
    return;
  p->failed = true;
  neo_str_addf(p->why, "kernel %s: %s of %s at %lld, of %lld", p->k->name, what, name,
               (long long)at, (long long)n);
}

/* ---- buffers and registers */

bool neo_li_in_buffer(interp *p, uint32_t buf, int64_t at, const char *what) {
  if (p->failed)
    return false;
  if (at >= 0 && at < p->run->n_elems[buf])
    return true;
  neo_li_fail(p, what, p->k->bufs.at[buf].name, at, p->run->n_elems[buf]);
  return false;
}

static bool is_other(int32_t who, int32_t thread) {
  return who != NOBODY && who != thread;
}

/* Iterations of a THREAD loop run in any order, or at once. */
void neo_li_meet(interp *p, uint32_t buf, int64_t at, bool write) {
  if (p->thread == NOBODY)
    return;
  access *a = &p->met[buf][at];
  if (a->epoch != p->epoch)
    *a = (access){p->epoch, NOBODY, NOBODY};
  if (is_other(a->writer, p->thread) || (write && is_other(a->reader, p->thread)))
    neo_li_fail(p, "race", p->k->bufs.at[buf].name, at, p->run->n_elems[buf]);
  if (write)
    a->writer = p->thread;
  else
    a->reader = a->reader == NOBODY || a->reader == p->thread ? p->thread : SEVERAL;
}

void neo_li_settled(interp *p, uint32_t buf, int64_t at, const char *what) {
  int64_t by = p->copied && p->copied[buf] ? p->copied[buf][at] : 0;
  const awaited *w = by < 0 ? &p->awaiting.at[-1 - by] : NULL;
  if (w ? w->phase > w->of->waited : by > p->there)
    neo_li_fail(p, what, p->k->bufs.at[buf].name, at, p->run->n_elems[buf]);
}

neo_value neo_li_load_at(interp *p, uint32_t buf, int64_t at) {
  if (!neo_li_in_buffer(p, buf, at, "load"))
    return (neo_value){0};
  neo_li_settled(p, buf, at, "load of a copy under way");
  neo_li_meet(p, buf, at, false);
  return p->run->bufs[buf][at];
}

static neo_value load(interp *p, uint32_t buf, const neo_lx *offset) {
  return neo_li_load_at(p, buf, neo_li_eval(p, offset).i);
}

static int64_t reg_element(interp *p, uint32_t reg, const neo_lx *const *index, size_t n) {
  const neo_reg *r = &p->k->regs.at[reg];
  int64_t at = 0;
  for (size_t d = 0; d < n; d++) {
    int64_t x = neo_li_eval(p, index[d]).i;
    if (x < 0 || x >= r->extent[d])
      neo_li_fail(p, "index", r->name, x, r->extent[d]);
    at = at * r->extent[d] + (p->failed ? 0 : x);
  }
  return at + p->reg[reg].each * p->thread;
}

static neo_value reg_value(interp *p, const neo_lx *e) {
  int64_t at = reg_element(p, e->attr, e->arg, e->n);
  const reg_store *r = &p->reg[e->attr];
  if (p->failed)
    return (neo_value){0};
  if (r->defined[at] == DEFINED)
    return r->at[at];
  neo_li_fail(p, r->defined[at] ? "element that is not awaited" : "undefined element",
              p->k->regs.at[e->attr].name, at, r->n);
  return (neo_value){0};
}

/* ---- expressions */

static neo_value constant(const neo_lx *e) {
  neo_value v = {.i = (int64_t)e->bits};
  if (neo_type_is_float((neo_type)e->type))
    memcpy(&v.f, &e->bits, sizeof v.f);
  return v;
}

/* One rounding in f64, and one more for the narrower types. */
static neo_value fused(const neo_lx *e, const neo_value *x) {
  neo_type t = (neo_type)e->type;
  if (!neo_type_is_float(t)) {
    neo_value ab = neo_value_op(NEO_OP_MUL, t, t, x);
    return neo_value_op(NEO_OP_ADD, t, t, (neo_value[]){ab, x[2]});
  }
  double y = fma(x[0].f, x[1].f, x[2].f);
  return (neo_value){.f = neo_value_round(t, y)};
}

static neo_value random_(interp *p, const neo_lx *e) {
  const uint64_t *key = p->run->key;
  uint64_t element = (uint64_t)neo_li_eval(p, e->arg[0]).i;
  return (neo_value){.f = neo_rand_uniform(key[0], key[1], e->attr, (uint32_t)key[2], element)};
}

/* The 32 bits of an i32 or f32, and back. */
uint32_t neo_li_bits(neo_type t, neo_value v) {
  float x = (float)v.f;
  uint32_t u = (uint32_t)v.i;
  if (t == NEO_F32_T)
    memcpy(&u, &x, sizeof u);
  return u;
}

neo_value neo_li_of_bits(neo_type t, uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return t == NEO_F32_T ? (neo_value){.f = (double)x} : (neo_value){.i = (int32_t)u};
}

static neo_value operation(interp *p, const neo_lx *e) {
  neo_value x[MAX_ARGS];
  if (e->kind == NEO_LX_OP && e->attr == NEO_OP_SELECT)
    return neo_li_eval(p, neo_li_eval(p, e->arg[0]).i ? e->arg[1] : e->arg[2]);
  for (uint32_t k = 0; k < e->n; k++)
    x[k] = neo_li_eval(p, e->arg[k]);
  if (e->kind == NEO_LX_FMA)
    return fused(e, x);
  if (e->kind == NEO_LX_PAIR)
    return (neo_value){
        .i = (int32_t)(neo_li_bits(NEO_F32_T, x[0]) >> 16 | (neo_li_bits(NEO_F32_T, x[1]) & HIGH))};
  if (e->kind == NEO_LX_DOT) {
    uint32_t a = neo_li_bits(NEO_I32_T, x[0]), b = neo_li_bits(NEO_I32_T, x[1]);
    return (neo_value){.f = (double)neo_pair_dot((float)x[2].f, a, b)};
  }
  return neo_value_op((neo_op)e->attr, (neo_type)e->type, (neo_type)e->arg[0]->type, x);
}

static neo_value compute(interp *p, const neo_lx *e) {
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST:
    return constant(e);
  case NEO_LX_VAR:
    return (neo_value){.i = p->var[e->attr]};
  case NEO_LX_SIZE:
    return (neo_value){.i = p->run->sizes[e->attr]};
  case NEO_LX_KEY:
    return (neo_value){.i = (int64_t)p->run->key[e->attr]};
  case NEO_LX_LOAD:
    return load(p, e->attr, e->arg[0]);
  case NEO_LX_LOADIF:
    return neo_li_eval(p, e->arg[1]).i ? load(p, e->attr, e->arg[0]) : neo_li_eval(p, e->arg[2]);
  case NEO_LX_REG:
    return reg_value(p, e);
  case NEO_LX_RAND:
    return random_(p, e);
  default:
    return operation(p, e);
  }
}

neo_value neo_li_eval(interp *p, const neo_lx *e) {
  if (e->n == 0)
    return compute(p, e);
  if (p->memo[e->id].stamp == p->stamp)
    return p->memo[e->id].value;
  neo_value v = compute(p, e);
  p->memo[e->id].stamp = p->stamp;
  p->memo[e->id].value = v;
  return v;
}

/* ---- statements */

void neo_li_free_of_products(interp *p, uint32_t buf, int64_t at) {
  for (size_t i = 0; i < p->readings.n; i++) {
    const reading *r = &p->readings.at[i];
    if (r->buf == buf && at >= r->lo && at < r->hi)
      neo_li_fail(p, "store before the end of a product", p->k->bufs.at[buf].name, at,
                  p->run->n_elems[buf]);
  }
}

static void store(interp *p, const neo_ls *s) {
  uint32_t buf = s->store.to.buf;
  const neo_kbuf *b = &p->k->bufs.at[buf];
  if (s->store.cond && !neo_li_eval(p, s->store.cond).i)
    return;
  int64_t at = neo_li_eval(p, s->store.to.offset).i;
  neo_value v = neo_li_eval(p, s->store.value);
  if (!(b->use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH)))
    neo_li_fail(p, "store to a read buffer", b->name, at, 0);
  if (!neo_li_in_buffer(p, buf, at, "store"))
    return;
  neo_li_settled(p, buf, at, "store to a copy under way");
  neo_li_free_of_products(p, buf, at);
  neo_li_meet(p, buf, at, true);
  p->run->bufs[buf][at] = v;
}

static void set(interp *p, const neo_ls *s) {
  neo_value v = neo_li_eval(p, s->set.value);
  int64_t at = reg_element(p, s->set.reg, s->set.index, s->set.n_index);
  reg_store *r = &p->reg[s->set.reg];
  if (p->failed)
    return;
  if (r->defined[at] == ON_ITS_WAY)
    neo_li_fail(p, "element that is not awaited", p->k->regs.at[s->set.reg].name, at, r->n);
  r->at[at] = v;
  r->defined[at] = DEFINED;
}

static void move_tile(interp *p, const neo_ls *s, bool to_memory) {
  uint32_t buf = s->tile.element.buf;
  int64_t at = neo_li_eval(p, s->tile.element.offset).i;
  neo_type t = (neo_type)p->k->bufs.at[buf].type;
  neo_tile *x = &p->tile[s->tile.reg[0]];
  for (int m = 0; m < NEO_TILE_ROWS; m++)
    for (int n = 0; n < NEO_TILE_CELLS; n++) {
      int64_t i = at + m * s->tile.pitch + n;
      if (!neo_li_in_buffer(p, buf, i, to_memory ? "store" : "load"))
        return;
      neo_value *v = &p->run->bufs[buf][i];
      if (to_memory)
        *v = neo_li_of_bits(t, x->at[m][n]);
      else
        x->at[m][n] = neo_li_bits(t, *v);
    }
}

static void tile(interp *p, const neo_ls *s) {
  const uint8_t *r = s->tile.reg;
  bool reads = s->tile.op == NEO_TILE_DOT || s->tile.op == NEO_TILE_STORE;
  for (uint32_t k = 0; reads && k < neo_tile_rows[s->tile.op].registers; k++)
    if (!p->tile_defined[r[k]])
      neo_li_fail(p, "undefined content", "a tile", r[k], NEO_TILE_COUNT);
  if (p->failed)
    return;
  p->tile_defined[r[0]] = true;
  switch (s->tile.op) {
  case NEO_TILE_ZERO:
    memset(&p->tile[r[0]], 0, sizeof p->tile[0]);
    break;
  case NEO_TILE_DOT:
    neo_tile_dot(&p->tile[r[0]], &p->tile[r[1]], &p->tile[r[2]]);
    break;
  default:
    move_tile(p, s, s->tile.op == NEO_TILE_STORE);
  }
}

int64_t neo_li_pick(interp *p, int64_t n) {
  uint64_t z = (p->seed += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  return (int64_t)((z ^ z >> 27) % (uint64_t)n);
}

/* In an order that the seed gives. */
static void run_threads(interp *p, const neo_ls *s) {
  int32_t order[MAX_THREADS];
  int64_t n = p->threads;
  for (int32_t i = 0; i < n; i++)
    order[i] = i;
  for (int64_t i = n; p->run->seed && i-- > 1;) {
    int64_t k = neo_li_pick(p, i + 1);
    int32_t swap = order[i];
    order[i] = order[k];
    order[k] = swap;
  }
  p->epoch++;
  for (int64_t i = 0; i < n && !p->failed; i++) {
    p->var[s->loop.var] = p->thread = order[i];
    neo_li_run_block(p, &s->loop.body);
  }
  p->thread = NOBODY;
}

static void run_unit(interp *p, const neo_ls *s) {
  memset(p->tile_defined, 0, sizeof p->tile_defined);
  neo_li_run_block(p, &s->loop.body);
  neo_li_end_products(p);
  if (!p->k->persistent) /* or its mbarriers go on with the next one */
    neo_li_end_copies(p);
}

static void run_loop(interp *p, const neo_ls *s) {
  if (s->loop.kind == NEO_LOOP_THREAD) {
    run_threads(p, s);
    return;
  }
  bool unit = s->loop.kind == NEO_LOOP_UNIT;
  int64_t lo = unit ? p->run->lo : neo_li_eval(p, s->loop.lo).i,
          hi = unit ? p->run->hi : neo_li_eval(p, s->loop.hi).i;
  int64_t step = unit && p->k->persistent && p->run->blocks ? p->run->blocks : s->loop.step;
  for (int64_t x = lo; x < hi && !p->failed; x += step) {
    p->var[s->loop.var] = x;
    if (unit)
      run_unit(p, s);
    else
      neo_li_run_block(p, &s->loop.body);
  }
}

static void run(interp *p, const neo_ls *s) {
  p->stamp++;
  switch (s->kind) {
  case NEO_LS_FOR:
    run_loop(p, s);
    break;
  case NEO_LS_IF:
    neo_li_run_block(p, neo_li_eval(p, s->branch.cond).i ? &s->branch.then : &s->branch.otherwise);
    break;
  case NEO_LS_REG:
    memset(p->reg[s->declare.reg].defined, 0, (size_t)p->reg[s->declare.reg].n);
    break;
  case NEO_LS_SET:
    set(p, s);
    break;
  case NEO_LS_STORE:
    store(p, s);
    break;
  case NEO_LS_PREFETCH:
    break;
  case NEO_LS_TILE:
    tile(p, s);
    break;
  case NEO_LS_TMA_COPY:
  case NEO_LS_EXPECT_TX:
  case NEO_LS_MBARRIER_WAIT:
  case NEO_LS_MBARRIER_ARRIVE:
  case NEO_LS_SPECIALIZE:
    neo_li_box(p, s);
    break;
  case NEO_LS_SHUFFLE:
  case NEO_LS_MMA:
  case NEO_LS_LDMATRIX:
  case NEO_LS_WGMMA:
  case NEO_LS_WGMMA_WAIT:
  case NEO_LS_COPY:
  case NEO_LS_COPY_COMMIT:
  case NEO_LS_COPY_WAIT:
    neo_li_block(p, s);
    break;
  }
}

void neo_li_run_block(interp *p, const neo_block *b) {
  for (size_t i = 0; i < b->n && !p->failed; i++) {
    neo_li_producer_goes_on(p);
    run(p, b->at[i]);
  }
}

static void make_registers(interp *p) {
  p->reg = NEO_NEW_ARRAY(&p->arena, reg_store, p->k->regs.n + 1);
  for (size_t k = 0; k < p->k->regs.n; k++) {
    const neo_reg *r = &p->k->regs.at[k];
    int64_t n = 1;
    for (uint32_t d = 0; d < r->rank; d++)
      n *= r->extent[d];
    int64_t each = r->threads ? n : 0, all = r->threads ? n * r->threads : n;
    p->reg[k] = (reg_store){.at = NEO_NEW_ARRAY(&p->arena, neo_value, all),
                            .defined = NEO_NEW_ARRAY(&p->arena, uint8_t, all),
                            .n = all,
                            .each = each};
  }
}

static void make_threads(interp *p) {
  p->threads = neo_kernel_threads(p->k);
  p->thread = NOBODY;
  p->seed = p->run->seed;
  if (!p->threads)
    return;
  p->met = NEO_NEW_ARRAY(&p->arena, access *, p->k->bufs.n + 1);
  p->copied = NEO_NEW_ARRAY(&p->arena, int64_t *, p->k->bufs.n + 1);
  p->mbarriers = NEO_NEW_ARRAY(&p->arena, mbarrier *, p->k->bufs.n + 1);
  p->group = 1;
  for (size_t b = 0; b < p->k->bufs.n; b++) {
    p->met[b] = NEO_NEW_ARRAY(&p->arena, access, p->run->n_elems[b] + 1);
    if (p->k->bufs.at[b].use & NEO_BUF_SCRATCH && p->k->bufs.at[b].type == NEO_I64_T)
      p->mbarriers[b] = NEO_NEW_ARRAY(&p->arena, mbarrier, p->run->n_elems[b] + 1);
    if (p->k->bufs.at[b].use & NEO_BUF_SCRATCH)
      p->copied[b] = NEO_NEW_ARRAY(&p->arena, int64_t, p->run->n_elems[b] + 1);
  }
}

neo_status neo_kernel_interp(const neo_kernel *k, const neo_kernel_run *run_, neo_str *why) {
  interp p = {.k = k, .run = run_, .why = why};
  if (!neo_kernel_unit_loop(k) && run_->lo >= run_->hi)
    return NEO_OK;
  neo_arena_init(&p.arena, k->arena->alloc, k->arena->on_fail);
  p.var = NEO_NEW_ARRAY(&p.arena, int64_t, k->vars.n + 1);
  p.memo = neo_arena_array(&p.arena, k->nodes.n + 1, sizeof *p.memo);
  make_registers(&p);
  make_threads(&p);
  if (neo_kernel_has(k, NEO_LS_TILE))
    p.tile = NEO_NEW_ARRAY(&p.arena, neo_tile, NEO_TILE_COUNT);
  neo_li_run_block(&p, &k->body);
  neo_li_end_products(&p);
  neo_li_end_copies(&p);
  neo_arena_free(&p.arena);
  return p.failed ? NEO_INTERNAL : NEO_OK;
}

int64_t neo_kernel_number(const neo_kernel *k, const neo_lx *e, const int64_t *sizes) {
  neo_kernel_run none = {.sizes = sizes};
  neo_str why;
  neo_str_init(&why, k->arena);
  interp p = {.k = k, .run = &none, .why = &why, .stamp = 1};
  neo_arena_init(&p.arena, k->arena->alloc, k->arena->on_fail);
  p.memo = neo_arena_array(&p.arena, k->nodes.n + 1, sizeof *p.memo);
  int64_t n = neo_li_eval(&p, e).i;
  neo_arena_free(&p.arena);
  return n;
}

int64_t neo_kernel_units(const neo_kernel *k, const int64_t *sizes) {
  return neo_kernel_number(k, k->units, sizes);
}

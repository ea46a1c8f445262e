/* The reference interpreter of kernels: scalar, sequential, checked. A store to a buffer that is
 * only read is an error, as is every access that loop/interp_expr.c refuses. */
#include "codegen/loop/interp.h"
#include "codegen/loop/tile.h"
#include <string.h>

enum { MAX_THREADS = 1024 };

static void run_block(interp *p, const neo_block *b);

static void store(interp *p, const neo_ls *s) {
  uint32_t buf = s->store.to.buf;
  const neo_kbuf *b = &p->k->bufs.at[buf];
  if (s->store.cond && !neo_li_holds(p, s->store.cond))
    return;
  int64_t at = neo_li_index(p, s->store.to.offset);
  neo_value v = neo_li_eval(p, s->store.value);
  uint8_t taint = p->taint;
  if (!(b->use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH)))
    neo_li_fail(p, "store to a read buffer", b->name, at, 0);
  if (!neo_li_in_buffer(p, buf, at, "store"))
    return;
  neo_li_settled(p, buf, at, "store to a copy under way");
  neo_li_free_of_products(p, buf, at);
  if (s->store.adds) {
    neo_li_meet_adding(p, buf, at);
    neo_value x[] = {{.i = 0}, v};
    if (!neo_li_get(p, buf, at, true, &x[0]))
      neo_li_fail(p, "addition to undefined content", b->name, at, p->run->n_elems[buf]);
    v = neo_value_op(NEO_OP_ADD, (neo_type)b->type, (neo_type)b->type, x);
  } else {
    neo_li_meet(p, buf, at, true);
  }
  if (taint & POISONED && p->written[buf]) {
    p->written[buf][at] = 0;
    return;
  }
  neo_li_refuse_poison(p, taint);
  neo_li_put(p, buf, at, v, s->store.adds);
}

static void set(interp *p, const neo_ls *s) {
  neo_value v = neo_li_eval(p, s->set.value);
  uint8_t now = p->taint & POISONED ? POISON : DEFINED;
  int64_t at = neo_li_reg_element(p, s->set.reg, s->set.index, s->set.n_index);
  reg_store *r = &p->reg[s->set.reg];
  if (p->failed)
    return;
  if (r->defined[at] == ON_ITS_WAY)
    neo_li_fail(p, "element that is not awaited", p->k->regs.at[s->set.reg].name, at, r->n);
  r->at[at] = v;
  r->defined[at] = now;
}

static void move_tile(interp *p, const neo_ls *s, bool to_memory) {
  uint32_t buf = s->tile.element.buf;
  int64_t at = neo_li_index(p, s->tile.element.offset);
  neo_type t = (neo_type)p->k->bufs.at[buf].type;
  neo_tile *x = &p->tile[s->tile.reg[0]];
  for (int m = 0; m < NEO_TILE_ROWS; m++)
    for (int n = 0; n < NEO_TILE_CELLS; n++) {
      int64_t i = at + m * s->tile.pitch + n;
      neo_value v = {.i = 0};
      if (!neo_li_in_buffer(p, buf, i, to_memory ? "store" : "load"))
        return;
      if (to_memory)
        neo_li_put(p, buf, i, neo_li_of_bits(t, x->at[m][n]), false);
      else
        (void)neo_li_get(p, buf, i, false, &v), x->at[m][n] = neo_li_bits(t, v);
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

/* Runs the iterations in an order that the seed determines. */
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
    run_block(p, &s->loop.body);
  }
  p->thread = NOBODY;
}

/* Scratch holds nothing when a unit begins, but for the blocks of a persistent kernel. */
static void clear_scratch(interp *p) {
  for (size_t b = 0; b < p->k->bufs.n && !p->k->persistent; b++)
    if (p->written[b])
      memset(p->written[b], 0, (size_t)p->run->n_elems[b]);
}

static void run_unit(interp *p, const neo_ls *s) {
  memset(p->tile_defined, 0, sizeof p->tile_defined);
  clear_scratch(p);
  run_block(p, &s->loop.body);
  neo_li_end_products(p);
  /* in a persistent kernel, mbarriers and copies continue in the next unit */
  if (!p->k->persistent)
    neo_li_end_copies(p);
}

static void run_loop(interp *p, const neo_ls *s) {
  if (s->loop.kind == NEO_LOOP_THREAD) {
    run_threads(p, s);
    return;
  }
  bool unit = s->loop.kind == NEO_LOOP_UNIT;
  int64_t lo = unit ? p->run->lo : neo_li_index(p, s->loop.lo),
          hi = unit ? p->run->hi : neo_li_index(p, s->loop.hi);
  int64_t step = unit && p->k->persistent && p->run->blocks ? p->run->blocks : s->loop.step;
  for (int64_t x = lo; x < hi && !p->failed; x += step) {
    p->var[s->loop.var] = x;
    p->stamp++;
    if (s->loop.more && !neo_li_holds(p, s->loop.more))
      break;
    p->unit = unit ? x : p->unit;
    if (unit)
      run_unit(p, s);
    else
      run_block(p, &s->loop.body);
  }
}

/* The producer's arm is recorded first, and carried out while the consumers' arm runs. */
static void specialize(interp *p, const neo_ls *s) {
  p->producer.all.n = p->producer.done = 0;
  p->notes = true;
  run_block(p, &s->specialize.arm[NEO_PRODUCER]);
  p->notes = false;
  p->producer.at_work = true;
  run_block(p, &s->specialize.arm[NEO_CONSUMER]);
  neo_li_end_producer(p);
}

static void run(interp *p, const neo_ls *s) {
  p->stamp++;
  switch (s->kind) {
  case NEO_LS_FOR:
    run_loop(p, s);
    break;
  case NEO_LS_IF:
    run_block(p, neo_li_holds(p, s->branch.cond) ? &s->branch.then : &s->branch.otherwise);
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
    neo_li_box(p, s);
    break;
  case NEO_LS_SPECIALIZE:
    specialize(p, s);
    break;
  case NEO_LS_SHUFFLE:
  case NEO_LS_VOTE:
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

static void run_block(interp *p, const neo_block *b) {
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

static void make_scratch(interp *p) {
  p->written = NEO_NEW_ARRAY(&p->arena, uint8_t *, p->k->bufs.n + 1);
  for (size_t b = 0; b < p->k->bufs.n; b++)
    if (p->k->bufs.at[b].use & NEO_BUF_SCRATCH)
      p->written[b] = NEO_NEW_ARRAY(&p->arena, uint8_t, p->run->n_elems[b] + 1);
}

/* The run with buffers that begin at their origins. The origin of an empty tensor may be after its
 * end. */
static neo_kernel_run placed(interp *p, const neo_kernel_run *run) {
  neo_kernel_run y = *run;
  size_t n = p->k->bufs.n;
  neo_value **buf = NEO_NEW_ARRAY(&p->arena, neo_value *, n + 1);
  int64_t *n_elems = NEO_NEW_ARRAY(&p->arena, int64_t, n + 1);
  p->origin = NEO_NEW_ARRAY(&p->arena, int64_t, n + 1);
  for (size_t b = 0; b < n; b++) {
    const neo_lx *origin = p->k->bufs.at[b].origin;
    int64_t at = p->origin[b] = origin ? neo_kernel_number(p->k, origin, run->sizes) : 0;
    buf[b] = run->bufs[b] + at;
    n_elems[b] = run->n_elems[b] > at ? run->n_elems[b] - at : 0;
  }
  y.bufs = buf;
  y.n_elems = n_elems;
  return y;
}

neo_status neo_kernel_interp(const neo_kernel *k, const neo_kernel_run *run_, neo_str *why) {
  interp p = {.k = k, .why = why};
  if (!neo_kernel_unit_loop(k) && run_->lo >= run_->hi)
    return NEO_OK;
  p.arena = neo_arena_scratch(k->arena);
  neo_kernel_run run = placed(&p, run_);
  p.run = &run;
  p.var = NEO_NEW_ARRAY(&p.arena, int64_t, k->vars.n + 1);
  p.memo = neo_arena_array(&p.arena, k->nodes.n + 1, sizeof *p.memo);
  make_registers(&p);
  make_threads(&p);
  make_scratch(&p);
  if (neo_kernel_has(k, NEO_LS_TILE))
    p.tile = NEO_NEW_ARRAY(&p.arena, neo_tile, NEO_TILE_COUNT);
  run_block(&p, &k->body);
  neo_li_end_products(&p);
  neo_li_end_copies(&p);
  neo_arena_free(&p.arena);
  return p.failed ? NEO_INTERNAL : NEO_OK;
}

int64_t neo_kernel_number(const neo_kernel *k, const neo_lx *e, const int64_t *sizes) {
  neo_kernel_run none = {.sizes = sizes};
  neo_str why = neo_str_in(k->arena);
  interp p = {.k = k, .run = &none, .why = &why, .stamp = 1};
  p.arena = neo_arena_scratch(k->arena);
  p.memo = neo_arena_array(&p.arena, k->nodes.n + 1, sizeof *p.memo);
  int64_t n = neo_li_eval(&p, e).i;
  neo_arena_free(&p.arena);
  return n;
}

int64_t neo_kernel_units(const neo_kernel *k, const int64_t *sizes) {
  return neo_kernel_number(k, k->units, sizes);
}

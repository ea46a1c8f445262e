/* See windows.h. */
#include "codegen/windows.h"
#include "codegen/loop/clone.h"
#include <assert.h>

enum { THREADS = 512, PASSES = 32 /* between two looks at whether to go on */, MOST_ONCE = 4 };

/* ---- which kernels */

typedef struct {
  neo_kernel *k;
  const neo_ls *loop, *store;
  uint32_t buf; /* in which rounds store their values */
  bool *values; /* by node: it depends on such a value */
  bool *loads;  /* it reads memory, */
  bool *seen;   /* and was looked at */
  bool reads, fits;
  uint32_t once[MOST_ONCE], n_once; /* variables of the loops of one iteration around the store */
} look;

static bool is_load(const neo_lx *e) {
  return e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF;
}

/* Registers are taken to hold values. */
static void note_nodes(look *l) {
  for (size_t i = 0; i < l->k->nodes.n; i++) {
    const neo_lx *e = l->k->nodes.at[i];
    l->loads[i] = is_load(e);
    l->values[i] = (is_load(e) && e->attr == l->buf) || e->kind == NEO_LX_REG;
    for (uint32_t a = 0; a < e->n; a++) {
      l->loads[i] = l->loads[i] || l->loads[e->arg[a]->id];
      l->values[i] = l->values[i] || l->values[e->arg[a]->id];
    }
  }
}

/* Does a value decide where memory is accessed, or divide? */
static bool misuses_values(const look *l, const neo_lx *e) {
  const bool *v = l->values;
  if (is_load(e))
    return v[e->arg[0]->id] || (e->kind == NEO_LX_LOADIF && v[e->arg[1]->id]);
  if (e->kind != NEO_LX_OP)
    return false;
  if (e->attr == NEO_OP_SELECT)
    return v[e->arg[0]->id] && (l->loads[e->arg[1]->id] || l->loads[e->arg[2]->id]);
  return (e->attr == NEO_OP_DIV || e->attr == NEO_OP_MOD) && v[e->arg[1]->id];
}

static void look_at(look *l, const neo_lx *e) {
  if (l->seen[e->id] || !l->fits)
    return;
  l->seen[e->id] = true;
  if (is_load(e) && e->attr == l->buf) {
    l->reads = true;
    l->fits = l->loads[e->arg[0]->id]; /* where data say */
  }
  l->fits = l->fits && !misuses_values(l, e);
  for (uint32_t a = 0; a < e->n; a++)
    look_at(l, e->arg[a]);
}

/* The only store, of all rounds, at the round's own place. */
static bool is_rounds_own(look *l, const neo_ls *s, bool always) {
  const neo_lx *at = s->store.to.offset;
  for (uint32_t i = 0; i < l->n_once; i++)
    at = neo_lx_subst(l->k, at, l->once[i], neo_lx_int(l->k, 0));
  return always && !l->store && !s->store.cond && !s->store.adds && s->store.to.buf == l->buf &&
         at == neo_lx_var(l->k, l->loop->loop.var);
}

static bool runs_once(look *l, const neo_ls *s) {
  int64_t lo, hi;
  if (!neo_lx_is_int(s->loop.lo, &lo) || !neo_lx_is_int(s->loop.hi, &hi) || lo != 0 || hi != 1 ||
      l->n_once == MOST_ONCE)
    return false;
  l->once[l->n_once++] = s->loop.var;
  return true;
}

/* always: each round comes here once. */
static void look_in(look *l, const neo_block *b, bool always) {
  for (size_t i = 0; i < b->n && l->fits; i++) {
    const neo_ls *s = b->at[i];
    const neo_lx *own[NEO_LS_EXPRS];
    uint32_t n = neo_ls_exprs(s, own), outer = l->n_once;
    for (uint32_t k = 0; k < n; k++) {
      bool decides = s->kind == NEO_LS_FOR || s->kind == NEO_LS_IF;
      l->fits = l->fits && !(decides && l->values[own[k]->id]);
      look_at(l, own[k]);
    }
    bool known = s->kind == NEO_LS_REG || s->kind == NEO_LS_SET || s->kind == NEO_LS_IF ||
                 neo_ls_is_loop(s, NEO_LOOP_SERIAL) || neo_ls_is_loop(s, NEO_LOOP_UNROLL);
    if (s->kind == NEO_LS_STORE) {
      l->fits = l->fits && is_rounds_own(l, s, always);
      l->store = s;
    } else {
      l->fits = l->fits && known;
    }
    bool once = always && s->kind == NEO_LS_FOR && runs_once(l, s);
    for (uint32_t k = 0; neo_ls_block(s, k); k++)
      look_in(l, neo_ls_block(s, k), once);
    l->n_once = outer;
  }
}

/* The buffer that is read and written; false: there is another one that is written, or they may overlap. */
static bool find_values(look *l) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < l->k->bufs.n; b++) {
    const neo_kbuf *x = &l->k->bufs.at[b];
    if (!x->no_alias || x->origin || x->use & NEO_BUF_SCRATCH)
      return false;
    if (!(x->use & NEO_BUF_WRITE))
      continue;
    l->buf = b;
    n += x->use & NEO_BUF_READ && (x->type == NEO_I32_T || x->type == NEO_I64_T) ? 1 : 2;
  }
  return n == 1;
}

static bool has_rounds(look *l) {
  neo_kernel *k = l->k;
  int64_t lo;
  if (k->persistent || k->body.n != 1 || !neo_ls_is_loop(k->body.at[0], NEO_LOOP_SERIAL))
    return false;
  l->loop = k->body.at[0];
  if (l->loop->loop.step != 1 || l->loop->loop.more || !neo_lx_is_int(l->loop->loop.lo, &lo) ||
      lo != 0 || !find_values(l))
    return false;
  neo_lx_var(k, l->loop->loop.var);
  size_t n = k->nodes.n + 1;
  l->values = NEO_NEW_ARRAY(k->arena, bool, n);
  l->loads = NEO_NEW_ARRAY(k->arena, bool, n);
  l->seen = NEO_NEW_ARRAY(k->arena, bool, n);
  note_nodes(l);
  l->fits = !l->loads[l->loop->loop.hi->id];
  look_in(l, &l->loop->loop.body, true);
  return l->fits && l->reads && l->store;
}

/* ---- the kernel by windows */

typedef struct {
  const look *l;
  neo_kernel *k;
  neo_cloner *c;
  const neo_lx *n, *w;                /* rounds; the window's first one */
  uint32_t now, next, differs, again; /* now: scratch, the others: registers */
  neo_type type;
} maker;

static const neo_lx *at_zero(maker *x) {
  return neo_lx_int(x->k, 0);
}

static void set(maker *x, neo_block *in, uint32_t reg, const neo_lx *value) {
  const neo_lx *index[] = {at_zero(x)};
  neo_ls_set(x->k, in, reg, index, 1, value);
}

static const neo_lx *get(maker *x, uint32_t reg) {
  const neo_lx *index[] = {at_zero(x)};
  return neo_lx_reg(x->k, reg, index, 1);
}

static const neo_lx *truth(maker *x, bool is) {
  return neo_lx_const(x->k, NEO_BOOL_T, (neo_value){.i = is});
}

static neo_block *open_threads(maker *x, neo_block *in, const neo_lx **t) {
  uint32_t var = neo_kernel_var(x->k, "t");
  *t = neo_lx_var(x->k, var);
  return &neo_ls_for(x->k, in, NEO_LOOP_THREAD, var, at_zero(x), neo_lx_int(x->k, THREADS), 1)
              ->loop.body;
}

static neo_block *where_there(maker *x, neo_block *in, const neo_lx *t, const neo_lx **at) {
  *at = neo_lx_op2(x->k, NEO_OP_ADD, x->w, t);
  return &neo_ls_if(x->k, in, neo_lx_op2(x->k, NEO_OP_LT, *at, x->n))->branch.then;
}

/* The value from the window's memory, if it is one of the window's. */
static const neo_lx *from_window(maker *x, const neo_lx *load) {
  neo_kernel *k = x->k;
  const neo_lx *at = load->arg[0], *in = neo_lx_op2(k, NEO_OP_LE, x->w, at);
  if (load->kind == NEO_LX_LOADIF)
    in = neo_lx_op3(k, NEO_OP_SELECT, load->arg[1], in, truth(x, false));
  return neo_lx_loadif(k, x->now, neo_lx_op2(k, NEO_OP_SUB, at, x->w), in, load);
}

/* e with each read of a value redirected that `part`, of the same expression, has. seen: by node, once for each. */
static const neo_lx *redirected(maker *x, const neo_lx *e, const neo_lx *part, bool *seen) {
  if (seen[part->id])
    return e;
  seen[part->id] = true;
  if (is_load(part) && part->attr == x->l->buf)
    e = neo_lx_replace(x->k, e, part, from_window(x, part));
  for (uint32_t a = 0; a < part->n; a++)
    e = redirected(x, e, part->arg[a], seen);
  return e;
}

static void redirect(void *ctx, neo_ls *s) {
  maker *x = ctx;
  const neo_lx **place[NEO_LS_EXPRS];
  uint32_t n = neo_ls_places(s, place);
  for (uint32_t k = 0; k < n; k++) {
    bool *seen = NEO_NEW_ARRAY(x->k->arena, bool, x->k->nodes.n + 1);
    *place[k] = redirected(x, *place[k], *place[k], seen);
  }
}

/* The store is the round's next value. */
static void keep_next(maker *x, const neo_block *b) {
  neo_ls *s = neo_block_find(b, NEO_LS_STORE, 0);
  const neo_lx *value = s->store.value;
  s->kind = NEO_LS_SET;
  s->set.reg = x->next;
  s->set.n_index = 1;
  s->set.index[0] = at_zero(x);
  s->set.value = value;
}

static void add_pass(maker *x, neo_block *in) {
  neo_kernel *k = x->k;
  const neo_lx *t, *at;
  neo_block *threads = open_threads(x, in, &t);
  set(x, threads, x->differs, truth(x, false));
  neo_block *round = where_there(x, threads, t, &at);
  neo_clone_var(x->c, x->l->loop->loop.var, at);
  neo_clone_block(x->c, round, &x->l->loop->loop.body);
  keep_next(x, round);
  neo_block_visit(round, redirect, x);
  set(x, round, x->differs, neo_lx_op2(k, NEO_OP_NE, get(x, x->next), neo_lx_load(k, x->now, t)));
  threads = open_threads(x, in, &t);
  threads = &neo_ls_if(k, threads, get(x, x->differs))->branch.then;
  neo_ls_store(k, threads, x->now, t, get(x, x->next), NULL);
  neo_ls_vote(k, in, x->again, x->differs);
}

/* Two loops, so that not every pass that is left is looked at. */
static void add_passes(maker *x, neo_block *in) {
  neo_kernel *k = x->k;
  const neo_lx *rounds =
      neo_lx_op2(k, NEO_OP_MIN, neo_lx_int(k, THREADS), neo_lx_op2(k, NEO_OP_SUB, x->n, x->w));
  const neo_lx *some =
      neo_lx_op2(k, NEO_OP_DIV, neo_lx_op2(k, NEO_OP_ADD, rounds, neo_lx_int(k, PASSES)),
                 neo_lx_int(k, PASSES));
  uint32_t outer = neo_kernel_var(k, "i"), inner = neo_kernel_var(k, "j");
  in = &neo_ls_for(k, in, NEO_LOOP_SERIAL, outer, at_zero(x), some, 1)->loop.body;
  in = &neo_ls_if(k, in, get(x, x->again))->branch.then;
  in = &neo_ls_for(k, in, NEO_LOOP_SERIAL, inner, at_zero(x), neo_lx_int(k, PASSES), 1)->loop.body;
  add_pass(x, &neo_ls_if(k, in, get(x, x->again))->branch.then);
}

static uint32_t add_reg(maker *x, neo_block *in, const char *name, neo_type type, int64_t threads) {
  neo_reg r = {.name = name, .type = (uint8_t)type, .rank = 1, .extent = {1}, .threads = threads};
  uint32_t reg = neo_kernel_reg(x->k, r);
  neo_ls_reg(x->k, in, reg);
  return reg;
}

static void add_window(maker *x, neo_block *in) {
  neo_kernel *k = x->k;
  const neo_lx *t, *at;
  neo_block *threads = open_threads(x, in, &t);
  neo_ls_store(k, threads, x->now, t, neo_lx_const(k, x->type, (neo_value){.i = 0}), NULL);
  set(x, in, x->again, truth(x, true));
  add_passes(x, in);
  threads = open_threads(x, in, &t);
  threads = where_there(x, threads, t, &at);
  neo_ls_store(k, threads, x->l->buf, at, neo_lx_load(k, x->now, t), NULL);
}

static neo_clone_buf *add_buffers(maker *x) {
  const neo_kernel *from = x->l->k;
  neo_clone_buf *same = NEO_NEW_ARRAY(x->k->arena, neo_clone_buf, from->bufs.n + 1);
  for (size_t s = 0; s < from->sizes.n; s++)
    neo_kernel_size(x->k, (uint32_t)s, from->sizes.at[s]);
  for (size_t b = 0; b < from->bufs.n; b++)
    same[b] = (neo_clone_buf){neo_kernel_buf(x->k, from->bufs.at[b]), at_zero(x)};
  x->now = neo_kernel_buf(x->k, (neo_kbuf){.name = "now",
                                           .type = (uint8_t)x->type,
                                           .use = NEO_BUF_SCRATCH,
                                           .scratch_elems = THREADS,
                                           .no_alias = true,
                                           .align = 64});
  return same;
}

neo_kernel *neo_kernel_by_windows(neo_kernel *k) {
  look l = {.k = k};
  neo_map none;
  if (!has_rounds(&l))
    return NULL;
  maker x = {.l = &l, .k = neo_kernel_new(k->arena, k->name)};
  x.type = (neo_type)k->bufs.at[l.buf].type;
  x.k->span = k->span;
  neo_map_init(&none, k->arena);
  x.c = neo_cloner_new(x.k, k, add_buffers(&x), &none);
  neo_block *in = &neo_ls_for(x.k, &x.k->body, NEO_LOOP_UNIT, neo_kernel_var(x.k, "u"), at_zero(&x),
                              neo_lx_int(x.k, 1), 1)
                       ->loop.body;
  x.next = add_reg(&x, in, "next", x.type, THREADS);
  x.differs = add_reg(&x, in, "differs", NEO_BOOL_T, THREADS);
  x.again = add_reg(&x, in, "again", NEO_BOOL_T, 0);
  x.n = neo_clone_expr(x.c, l.loop->loop.hi);
  uint32_t w = neo_kernel_var(x.k, "w");
  x.w = neo_lx_var(x.k, w);
  add_window(&x, &neo_ls_for(x.k, in, NEO_LOOP_SERIAL, w, at_zero(&x), x.n, THREADS)->loop.body);
  return x.k;
}

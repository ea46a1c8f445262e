/* See fused_rounds.h. */
#include "codegen/fused_rounds.h"

enum { MOST_CONDITIONS = 2, MOST_STATEMENTS = 64 };

/* ---- copies */

typedef struct {
  neo_kernel *k;
  const neo_lx *what, *by; /* null: nothing is replaced */
} copier;

static void copy_block(copier *c, neo_block *out, const neo_block *in);

static bool has_registers(const neo_block *b) {
  return neo_block_find(b, NEO_LS_REG, 0) != NULL;
}

/* May the loop be written out? */
static bool is_unrolled(const neo_ls *s) {
  return neo_ls_is_loop(s, NEO_LOOP_UNROLL) &&
         (neo_ls_trips(s) <= 1 || !has_registers(&s->loop.body));
}

static void copy_rounds(copier *c, neo_block *out, const neo_ls *s) {
  int64_t lo = 0;
  (void)neo_lx_is_int(s->loop.lo, &lo);
  for (int64_t k = 0; k < neo_ls_trips(s); k++) {
    neo_block once = {0};
    copier inner = {c->k, neo_lx_var(c->k, s->loop.var), neo_lx_int(c->k, lo + k * s->loop.step)};
    copy_block(&inner, &once, &s->loop.body);
    copy_block(c, out, &once);
  }
}

static void copy_statement(copier *c, neo_block *out, const neo_ls *s) {
  const neo_lx **place[NEO_LS_EXPRS];
  neo_ls *y = neo_arena_copy(c->k->arena, s, sizeof *s);
  uint32_t n = neo_ls_places(y, place);
  int64_t holds;
  for (uint32_t k = 0; k < n && c->what; k++)
    *place[k] = neo_lx_replace(c->k, *place[k], c->what, c->by);
  if (s->kind == NEO_LS_STORE && y->store.cond && neo_lx_is_int(y->store.cond, &holds)) {
    y->store.cond = NULL;
    if (!holds)
      return;
  }
  if (s->kind == NEO_LS_FOR) {
    y->loop.body = (neo_block){0};
    copy_block(c, &y->loop.body, &s->loop.body);
  } else if (s->kind == NEO_LS_IF) {
    y->branch.then = y->branch.otherwise = (neo_block){0};
    copy_block(c, &y->branch.then, &s->branch.then);
    copy_block(c, &y->branch.otherwise, &s->branch.otherwise);
  }
  NEO_PUSH(c->k->arena, out, y);
}

static void copy_block(copier *c, neo_block *out, const neo_block *in) {
  for (size_t k = 0; k < in->n; k++) {
    const neo_ls *s = in->at[k];
    int64_t holds;
    if (is_unrolled(s))
      copy_rounds(c, out, s);
    else if (s->kind == NEO_LS_IF && c->what &&
             neo_lx_is_int(neo_lx_replace(c->k, s->branch.cond, c->what, c->by), &holds))
      copy_block(c, out, holds ? &s->branch.then : &s->branch.otherwise);
    else
      copy_statement(c, out, s);
  }
}

/* ---- branches around a round */

typedef struct {
  neo_kernel *k;
  uint32_t var; /* of the loop */
  const neo_lx *found;
} finder;

/* Is it the same all over the round? */
static bool is_fixed(const finder *f, const neo_lx *e) {
  bool is = e->kind == NEO_LX_VAR ? e->attr == f->var
            : e->kind == NEO_LX_LOAD
                ? !(f->k->bufs.at[e->attr].use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH))
                : e->kind == NEO_LX_CONST || e->kind == NEO_LX_SIZE || e->kind == NEO_LX_OP;
  for (uint32_t k = 0; k < e->n && is; k++)
    is = is_fixed(f, e->arg[k]);
  return is;
}

static bool loads(const neo_lx *e) {
  bool any = e->kind == NEO_LX_LOAD;
  for (uint32_t k = 0; k < e->n && !any; k++)
    any = loads(e->arg[k]);
  return any;
}

/* Only what is evaluated whatever else holds. */
static void find_in(finder *f, const neo_lx *e) {
  bool select = e->kind == NEO_LX_OP && e->attr == NEO_OP_SELECT;
  bool logic = e->kind == NEO_LX_OP && (e->attr == NEO_OP_AND || e->attr == NEO_OP_OR);
  const neo_lx *c = e->kind == NEO_LX_LOADIF ? e->arg[1] : select ? e->arg[0] : NULL;
  if (c) {
    if (loads(c) && is_fixed(f, c))
      f->found = c;
    else
      find_in(f, c);
    return;
  }
  for (uint32_t k = 0; k < (logic ? 1 : e->n) && !f->found; k++)
    find_in(f, e->arg[k]);
}

static void find(finder *f, const neo_block *b) {
  const neo_lx *expr[NEO_LS_EXPRS];
  for (size_t i = 0; i < b->n && !f->found; i++) {
    const neo_ls *s = b->at[i];
    uint32_t n = s->kind == NEO_LS_STORE && s->store.cond ? 0 : neo_ls_exprs(s, expr);
    if (s->kind == NEO_LS_IF && loads(s->branch.cond) && is_fixed(f, s->branch.cond))
      f->found = s->branch.cond;
    for (uint32_t k = 0; k < n && !f->found; k++)
      find_in(f, expr[k]);
  }
}

typedef struct {
  neo_kernel *k;
  const neo_ls *loop;
  const bool *own;
  bool *read;         /* by buffer */
  uint32_t first_reg; /* of those that are made here, each of which is set once */
} rounds;

static void finish_block(const rounds *x, neo_block *out, const neo_block *in);

/* A round has no effects but stores, so what is asked first may be any condition that is fixed. */
static void branch(const rounds *x, neo_block *out, const neo_block *in, uint32_t left) {
  finder f = {x->k, x->loop->loop.var, NULL};
  if (left)
    find(&f, in);
  if (!f.found) {
    finish_block(x, out, in);
    return;
  }
  neo_ls *s = neo_ls_if(x->k, out, f.found);
  for (int holds = 0; holds < 2; holds++) {
    copier c = {x->k, f.found, neo_lx_const(x->k, NEO_BOOL_T, (neo_value){.i = holds})};
    neo_block copy = {0};
    copy_block(&c, &copy, in);
    branch(x, holds ? &s->branch.then : &s->branch.otherwise, &copy, left - 1);
  }
}

/* ---- what is in registers */

typedef struct {
  uint32_t buf;
  const neo_lx *offset, *value;
} element;

typedef struct {
  const rounds *x;
  NEO_VEC(element) known;
  bool lanes; /* in a vector loop, which declares no registers */
} knowledge;

static int64_t constant_of(const neo_lx **e) {
  int64_t c = 0;
  if ((*e)->kind == NEO_LX_OP && (*e)->attr == NEO_OP_ADD && neo_lx_is_int((*e)->arg[1], &c))
    *e = (*e)->arg[0];
  return c;
}

/* Are they different elements, whatever data say? */
static bool differ(const neo_lx *a, const neo_lx *b) {
  int64_t c = constant_of(&a), d = constant_of(&b);
  return a == b && c != d;
}

static bool loads_from(const neo_lx *e, uint32_t buf) {
  bool any = (e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF) && e->attr == buf;
  for (uint32_t k = 0; k < e->n && !any; k++)
    any = loads_from(e->arg[k], buf);
  return any;
}

/* The element is written. */
static void forget(knowledge *y, uint32_t buf, const neo_lx *offset) {
  size_t n = 0;
  for (size_t k = 0; k < y->known.n; k++) {
    element e = y->known.at[k];
    if ((e.buf != buf || differ(e.offset, offset)) && !loads_from(e.offset, buf))
      y->known.at[n++] = e;
  }
  y->known.n = n;
}

/* Has it registers that may be set again? */
static bool may_change(const rounds *x, const neo_lx *e) {
  bool may = e->kind == NEO_LX_REG && e->attr < x->first_reg;
  for (uint32_t k = 0; k < e->n && !may; k++)
    may = may_change(x, e->arg[k]);
  return may;
}

static const neo_lx *with_known(const knowledge *y, const neo_lx *e) {
  neo_kernel *k = y->x->k;
  for (size_t i = 0; i < y->known.n; i++) {
    const element *x = &y->known.at[i];
    e = neo_lx_replace(k, e, neo_lx_load(k, x->buf, x->offset), x->value);
  }
  return e;
}

static void forget_stored(void *ctx, neo_ls *s) {
  if (s->kind == NEO_LS_STORE)
    forget(ctx, s->store.to.buf, s->store.to.offset);
}

/* Does it store what is there? */
static bool is_idle(knowledge *y, const neo_ls *s) {
  return s->kind == NEO_LS_STORE && !s->store.adds &&
         s->store.value == neo_lx_load(y->x->k, s->store.to.buf, s->store.to.offset);
}

/* The value of a store is in a register from here on. */
static void keep(knowledge *y, neo_block *out, neo_ls *s) {
  neo_kernel *k = y->x->k;
  const neo_lx *zero = neo_lx_int(k, 0), *value = s->store.value;
  forget(y, s->store.to.buf, s->store.to.offset);
  if (s->store.cond || !y->x->read[s->store.to.buf] || may_change(y->x, s->store.to.offset))
    return;
  bool made = value->kind == NEO_LX_REG && value->attr >= y->x->first_reg;
  if (value->kind != NEO_LX_CONST && !made) {
    neo_reg r = {.name = "stored", .type = value->type, .rank = 1, .extent = {1}};
    uint32_t reg = neo_kernel_reg(k, r);
    neo_ls_reg(k, out, reg);
    neo_ls_set(k, out, reg, &zero, 1, value);
    s->store.value = neo_lx_reg(k, reg, &zero, 1);
  }
  element e = {s->store.to.buf, s->store.to.offset, s->store.value};
  NEO_PUSH(k->arena, &y->known, e);
}

/* Arms of branches have their own knowledge, and what they store is not known behind them. */
static void keep_block(knowledge *y, neo_block *out, const neo_block *in) {
  for (size_t i = 0; i < in->n; i++) {
    neo_ls *s = in->at[i];
    const neo_lx **place[NEO_LS_EXPRS];
    uint32_t n = neo_ls_places(s, place);
    if (s->kind == NEO_LS_FOR)
      neo_block_visit(&s->loop.body, forget_stored, y);
    for (uint32_t k = 0; k < n; k++)
      *place[k] = with_known(y, *place[k]);
    if (is_idle(y, s))
      continue;
    if (s->kind == NEO_LS_STORE && y->lanes)
      forget(y, s->store.to.buf, s->store.to.offset);
    else if (s->kind == NEO_LS_STORE)
      keep(y, out, s);
    NEO_PUSH(y->x->k->arena, out, s);
    for (uint32_t k = 0; neo_ls_block(s, k); k++) {
      knowledge inner = {.x = y->x, .lanes = neo_ls_is_loop(s, NEO_LOOP_VECTOR)};
      neo_block made = {0};
      for (size_t j = 0; j < y->known.n; j++)
        NEO_PUSH(y->x->k->arena, &inner.known, y->known.at[j]);
      keep_block(&inner, &made, neo_ls_block(s, k));
      *(neo_block *)(uintptr_t)neo_ls_block(s, k) = made;
    }
    for (uint32_t k = 0; neo_ls_block(s, k); k++)
      neo_block_visit(neo_ls_block(s, k), forget_stored, y);
  }
}

static void finish_block(const rounds *x, neo_block *out, const neo_block *in) {
  knowledge y = {.x = x};
  keep_block(&y, out, in);
}

/* ---- stores that nobody reads */

static void read_in(bool *read, const neo_lx *e) {
  if (e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF)
    read[e->attr] = true;
  for (uint32_t k = 0; k < e->n; k++)
    read_in(read, e->arg[k]);
}

static void note_reads(void *ctx, neo_ls *s) {
  const neo_lx *expr[NEO_LS_EXPRS];
  uint32_t n = neo_ls_exprs(s, expr);
  for (uint32_t k = 0; k < n; k++)
    read_in(ctx, expr[k]);
}

static void drop_stores(const rounds *x, neo_block *b) {
  size_t n = 0;
  for (size_t i = 0; i < b->n; i++) {
    neo_ls *s = b->at[i];
    bool drops = s->kind == NEO_LS_STORE && x->own[s->store.to.buf] && !x->read[s->store.to.buf];
    for (uint32_t k = 0; neo_ls_block(s, k); k++)
      drop_stores(x, (neo_block *)(uintptr_t)neo_ls_block(s, k));
    if (!drops)
      b->at[n++] = s;
  }
  b->n = n;
}

static void count(void *ctx, neo_ls *s) {
  (void)s;
  ++*(size_t *)ctx;
}

void neo_fused_rounds(neo_kernel *k, neo_ls *loop, const bool *own) {
  bool *read = NEO_NEW_ARRAY(k->arena, bool, k->bufs.n + 1);
  rounds x = {k, loop, own, read, (uint32_t)k->regs.n};
  copier c = {k, NULL, NULL};
  neo_block plain = {0}, made = {0};
  size_t n = 0;
  copy_block(&c, &plain, &loop->loop.body);
  neo_block_visit(&plain, count, &n);
  neo_block_visit(&plain, note_reads, read);
  branch(&x, &made, &plain, n <= MOST_STATEMENTS ? MOST_CONDITIONS : 0);
  loop->loop.body = made;
  for (uint32_t b = 0; b < k->bufs.n; b++)
    read[b] = false;
  neo_block_visit(&k->body, note_reads, read);
  drop_stores(&x, &loop->loop.body);
}

/* Values in the reference interpreter: buffers, registers and expressions. It stops at an access
 * outside of a buffer, and at a read of an undefined register element. A read of memory without a
 * value, which the last lanes of a vector may make, gives poison; the interpreter stops if poison
 * is stored outside of scratch, is an index or decides a condition.
 *
 * A statement's expression is a graph: each node is evaluated once in a statement, and only if its
 * value is needed (SELECT, LOADIF and conditional stores do not evaluate unused values). */
#include "base/random.h"
#include "codegen/loop/interp.h"
#include <math.h>
#include <string.h>

enum { MAX_ARGS = 16 };
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

static access *access_of(interp *p, uint32_t buf, int64_t at) {
  access *a = &p->met[buf][at];
  if (a->epoch != p->epoch)
    *a = (access){p->epoch, NOBODY, NOBODY};
  return a;
}

void neo_li_meet_adding(interp *p, uint32_t buf, int64_t at) {
  if (p->thread == NOBODY)
    return;
  access *a = access_of(p, buf, at);
  if (a->reader != NOBODY || (a->writer != NOBODY && a->writer != ADDING))
    neo_li_fail(p, "race", p->k->bufs.at[buf].name, at, p->run->n_elems[buf]);
  a->writer = ADDING;
}

/* Iterations of a THREAD loop run in any order, or at once. */
void neo_li_meet(interp *p, uint32_t buf, int64_t at, bool write) {
  if (p->thread == NOBODY)
    return;
  access *a = access_of(p, buf, at);
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

bool neo_li_get(interp *p, uint32_t buf, int64_t at, bool adds, neo_value *v) {
  const neo_kernel_memory *m = p->run->memory;
  neo_memory_state held = NEO_MEMORY_HELD;
  if (p->written[buf])
    held = p->written[buf][at] ? NEO_MEMORY_HELD : NEO_MEMORY_EMPTY;
  else if (m)
    held = m->read(m->ctx, buf, p->origin[buf] + at, p->unit, adds);
  p->failed = p->failed || held == NEO_MEMORY_BROKEN;
  if (held == NEO_MEMORY_EMPTY) {
    p->poison_buf = buf;
    p->poison_at = at;
  }
  *v = p->run->bufs[buf][at];
  return held != NEO_MEMORY_EMPTY;
}

void neo_li_put(interp *p, uint32_t buf, int64_t at, neo_value v, bool adds) {
  const neo_kernel_memory *m = p->run->memory;
  if (p->written[buf])
    p->written[buf][at] = 1;
  else if (m && !m->write(m->ctx, buf, p->origin[buf] + at, p->unit, adds))
    p->failed = true;
  p->run->bufs[buf][at] = v;
}

/* A load that may be of nothing. */
static bool loaded(interp *p, uint32_t buf, int64_t at, neo_value *v) {
  *v = (neo_value){.i = 0};
  if (!neo_li_in_buffer(p, buf, at, "load"))
    return true;
  neo_li_settled(p, buf, at, "load of a copy under way");
  neo_li_meet(p, buf, at, false);
  return neo_li_get(p, buf, at, false, v);
}

static void fail_empty(interp *p) {
  neo_li_fail(p, "use of undefined content", p->k->bufs.at[p->poison_buf].name, p->poison_at,
              p->run->n_elems[p->poison_buf]);
}

neo_value neo_li_load_at(interp *p, uint32_t buf, int64_t at) {
  neo_value v;
  if (!loaded(p, buf, at, &v))
    fail_empty(p);
  return v;
}

static neo_value load(interp *p, const neo_lx *e) {
  neo_value v;
  bool held = loaded(p, e->attr, neo_li_index(p, e->arg[0]), &v);
  p->taint = held ? 0 : POISONED;
  return v;
}

int64_t neo_li_reg_element(interp *p, uint32_t reg, const neo_lx *const *index, size_t n) {
  const neo_reg *r = &p->k->regs.at[reg];
  int64_t at = 0;
  for (size_t d = 0; d < n; d++) {
    int64_t x = neo_li_index(p, index[d]);
    if (x < 0 || x >= r->extent[d])
      neo_li_fail(p, "index", r->name, x, r->extent[d]);
    at = at * r->extent[d] + (p->failed ? 0 : x);
  }
  return at + p->reg[reg].each * p->thread;
}

static neo_value reg_value(interp *p, const neo_lx *e) {
  int64_t at = neo_li_reg_element(p, e->attr, e->arg, e->n);
  const reg_store *r = &p->reg[e->attr];
  if (p->failed)
    return (neo_value){0};
  p->taint = r->defined[at] == POISON ? POISONED : 0;
  if (r->defined[at] == DEFINED || r->defined[at] == POISON)
    return r->at[at];
  neo_li_fail(p, r->defined[at] ? "element that is not awaited" : "undefined element",
              p->k->regs.at[e->attr].name, at, r->n);
  return (neo_value){0};
}

/* ---- indices: machine code takes it that their arithmetic stays in i64 */

static bool leaves_i64(neo_op op, const neo_value *x) {
  int64_t y;
  switch (op) {
  case NEO_OP_ADD:
    return __builtin_add_overflow(x[0].i, x[1].i, &y);
  case NEO_OP_SUB:
    return __builtin_sub_overflow(x[0].i, x[1].i, &y);
  case NEO_OP_MUL:
    return __builtin_mul_overflow(x[0].i, x[1].i, &y);
  default:
    return false;
  }
}

static void fail_wrapped(interp *p) {
  if (!p->failed)
    neo_str_addf(p->why, "kernel %s: the arithmetic of an index leaves i64", p->k->name);
  p->failed = true;
}

static void refuse(interp *p, uint8_t taint) {
  if (taint & WRAPPED)
    fail_wrapped(p);
  if (taint & POISONED)
    fail_empty(p);
}

int64_t neo_li_index(interp *p, const neo_lx *e) {
  int64_t x = neo_li_eval(p, e).i;
  if (p->taint)
    refuse(p, p->taint);
  return p->failed ? 0 : x;
}

bool neo_li_holds(interp *p, const neo_lx *e) {
  bool y = neo_li_eval(p, e).i;
  refuse(p, p->taint & POISONED);
  return y;
}

void neo_li_refuse_poison(interp *p, uint8_t taint) {
  refuse(p, taint & POISONED);
}

/* Nothing is known of a STOP's value, nor of an element's. What a plan's kernels divide may be
 * known not to be negative. */
static uint8_t wraps(interp *p, const neo_lx *e, const neo_value *x, uint8_t taint) {
  if (e->kind != NEO_LX_OP || e->type != NEO_I64_T || e->attr == NEO_OP_STOP)
    return 0;
  if (taint & WRAPPED && p->run->memory && (e->attr == NEO_OP_DIV || e->attr == NEO_OP_MOD))
    refuse(p, WRAPPED);
  return taint & WRAPPED || leaves_i64((neo_op)e->attr, x) ? WRAPPED : 0;
}

/* Does one operand, which is no poison, decide alone? */
static bool is_decided(const neo_lx *e, const neo_value *x, const uint8_t *taint) {
  bool any = e->attr == NEO_OP_OR;
  if (e->kind != NEO_LX_OP || (e->attr != NEO_OP_AND && !any))
    return false;
  for (uint32_t k = 0; k < e->n; k++)
    if (!(taint[k] & POISONED) && (x[k].i != 0) == any)
      return true;
  return false;
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
  p->taint &= POISONED;
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

/* A load under a condition; a poisoned condition loads nothing. */
static neo_value guarded_load(interp *p, const neo_lx *e) {
  bool taken = neo_li_eval(p, e->arg[1]).i;
  uint8_t poison = p->taint & POISONED;
  if (taken && !poison)
    return load(p, e);
  neo_value y = neo_li_eval(p, e->arg[2]);
  p->taint |= poison;
  return y;
}

static neo_value select_(interp *p, const neo_lx *e) {
  bool first = neo_li_eval(p, e->arg[0]).i;
  uint8_t poison = p->taint & POISONED;
  neo_value y = neo_li_eval(p, e->arg[first ? 1 : 2]);
  p->taint |= poison;
  return y;
}

/* Evaluates the operands; p->taint is then that of the operator's value. */
static void operands(interp *p, const neo_lx *e, neo_value *x) {
  uint8_t taint[MAX_ARGS], all = 0;
  for (uint32_t k = 0; k < e->n; k++) {
    x[k] = neo_li_eval(p, e->arg[k]);
    all |= taint[k] = p->taint;
  }
  p->taint = wraps(p, e, x, all);
  if (all & POISONED && !is_decided(e, x, taint))
    p->taint |= POISONED;
}

static neo_value operation(interp *p, const neo_lx *e) {
  neo_value x[MAX_ARGS];
  if (e->kind == NEO_LX_OP && e->attr == NEO_OP_SELECT)
    return select_(p, e);
  operands(p, e, x);
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
    return load(p, e);
  case NEO_LX_LOADIF:
    return guarded_load(p, e);
  case NEO_LX_REG:
    return reg_value(p, e);
  case NEO_LX_RAND:
    return random_(p, e);
  default:
    return operation(p, e);
  }
}

neo_value neo_li_eval(interp *p, const neo_lx *e) {
  node_value *m = &p->memo[e->id];
  if (e->n && m->stamp == p->stamp) {
    p->taint = m->taint;
    return m->value;
  }
  p->taint = 0;
  neo_value v = compute(p, e);
  if (e->n)
    *m = (node_value){p->stamp, v, p->taint};
  return v;
}

/* ---- products and copies in flight */

void neo_li_free_of_products(interp *p, uint32_t buf, int64_t at) {
  for (size_t i = 0; i < p->readings.n; i++) {
    const reading *r = &p->readings.at[i];
    if (r->buf == buf && at >= r->lo && at < r->hi)
      neo_li_fail(p, "store before the end of a product", p->k->bufs.at[buf].name, at,
                  p->run->n_elems[buf]);
  }
}

int64_t neo_li_pick(interp *p, int64_t n) {
  uint64_t z = (p->seed += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  return (int64_t)((z ^ z >> 27) % (uint64_t)n);
}

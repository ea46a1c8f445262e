/* Building kernels: hash-consed expressions, statements appended to blocks.
 *
 * A node's identity is (kind, type, attribute, bits, arguments); the intern map goes from a 64-bit
 * hash to a node's id + 1, and a collision moves on to the next hash. Integer and bool operators on
 * constants fold through neo_value_op, so that folding and evaluation cannot disagree; sums keep
 * one constant at their right end: the offsets of unrolled copies differ in that only. */
#include "base/hash.h"
#include "base/whole.h"
#include "codegen/loop.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_ARGS = 16, SCRATCH_ALIGN = 64 };

neo_kernel *neo_kernel_new(neo_arena *a, const char *name) {
  neo_kernel *k = NEO_NEW(a, neo_kernel);
  k->arena = a;
  k->name = neo_arena_strdup(a, name);
  neo_map_init(&k->intern, a);
  k->units = neo_lx_int(k, 1);
  return k;
}

uint32_t neo_kernel_buf(neo_kernel *k, neo_kbuf buf) {
  NEO_PUSH(k->arena, &k->bufs, buf);
  return (uint32_t)k->bufs.n - 1;
}

uint32_t neo_kernel_reg(neo_kernel *k, neo_reg reg) {
  NEO_PUSH(k->arena, &k->regs, reg);
  return (uint32_t)k->regs.n - 1;
}

uint32_t neo_kernel_var(neo_kernel *k, const char *name) {
  NEO_PUSH(k->arena, &k->vars, name);
  return (uint32_t)k->vars.n - 1;
}

uint32_t neo_kernel_size(neo_kernel *k, uint32_t size, const char *name) {
  while (k->sizes.n <= size) {
    const char *unnamed = neo_arena_printf(k->arena, "size%zu", k->sizes.n);
    NEO_PUSH(k->arena, &k->sizes, unnamed);
  }
  k->sizes.at[size] = name;
  return size;
}

static int64_t scratch_end(const neo_kernel *k, uint32_t n) {
  int64_t at = 0;
  for (uint32_t b = 0; b < n; b++) {
    const neo_kbuf *buf = &k->bufs.at[b];
    if (!(buf->use & NEO_BUF_SCRATCH))
      continue;
    int64_t bytes = buf->scratch_elems * neo_type_bytes((neo_type)buf->type);
    at = neo_round_up(at, buf->align) + neo_round_up(bytes, SCRATCH_ALIGN);
  }
  return at;
}

int64_t neo_kernel_scratch_offset(const neo_kernel *k, uint32_t buf) {
  return neo_round_up(scratch_end(k, buf), k->bufs.at[buf].align);
}

bool neo_kernel_scratch_moves(const neo_kernel *k) {
  bool streams = false;
  for (size_t b = 0; b < k->bufs.n; b++)
    streams = streams || k->bufs.at[b].stream;
  return streams && !neo_kernel_threads(k) && scratch_end(k, (uint32_t)k->bufs.n) > 0;
}

int64_t neo_kernel_scratch_bytes(const neo_kernel *k) {
  int64_t end = scratch_end(k, (uint32_t)k->bufs.n);
  return neo_kernel_scratch_moves(k) ? end + NEO_PAGE_BYTES : end;
}

/* ---- nodes */

static uint64_t node_hash(const neo_lx *e) {
  uint64_t h = neo_hash_mix((uint64_t)e->kind << 40 | (uint64_t)e->type << 32 | e->attr, e->bits);
  for (uint32_t k = 0; k < e->n; k++)
    h = neo_hash_mix(h, e->arg[k]->id);
  return h;
}

static bool node_equal(const neo_lx *x, const neo_lx *y) {
  return x->kind == y->kind && x->type == y->type && x->n == y->n && x->attr == y->attr &&
         x->bits == y->bits && memcmp(x->arg, y->arg, x->n * sizeof x->arg[0]) == 0;
}

static const neo_lx *intern(neo_kernel *k, const neo_lx *e) {
  uint64_t h = node_hash(e), found;
  for (; neo_map_get(&k->intern, h, &found); h++)
    if (node_equal(k->nodes.at[found - 1], e))
      return k->nodes.at[found - 1];
  neo_lx *made = neo_arena_copy(k->arena, e, sizeof *e);
  made->id = (uint32_t)k->nodes.n;
  NEO_PUSH(k->arena, &k->nodes, made);
  neo_map_set(&k->intern, h, made->id + 1);
  return made;
}

static const neo_lx *node(neo_kernel *k, neo_lx_kind kind, neo_type t, uint32_t attr,
                          const neo_lx *const *arg, size_t n) {
  neo_lx e = {.kind = (uint8_t)kind, .type = (uint8_t)t, .attr = attr, .n = (uint8_t)n};
  assert(n <= MAX_ARGS);
  for (size_t i = 0; i < n; i++)
    e.arg[i] = arg[i];
  return intern(k, &e);
}

const neo_lx *neo_lx_const(neo_kernel *k, neo_type t, neo_value v) {
  neo_lx e = {.kind = NEO_LX_CONST, .type = (uint8_t)t};
  if (neo_type_is_float(t)) {
    double x = isnan(v.f) ? (double)NAN : neo_value_round(t, v.f);
    memcpy(&e.bits, &x, sizeof x);
  } else {
    e.bits = (uint64_t)neo_value_cast(t, NEO_I64_T, v).i;
  }
  return intern(k, &e);
}

const neo_lx *neo_lx_int(neo_kernel *k, int64_t x) {
  return neo_lx_const(k, NEO_I64_T, (neo_value){.i = x});
}

const neo_lx *neo_lx_var(neo_kernel *k, uint32_t var) {
  assert(var < k->vars.n);
  return node(k, NEO_LX_VAR, NEO_I64_T, var, NULL, 0);
}

const neo_lx *neo_lx_size(neo_kernel *k, uint32_t size) {
  return node(k, NEO_LX_SIZE, NEO_I64_T, size, NULL, 0);
}

const neo_lx *neo_lx_key(neo_kernel *k, uint32_t which) {
  assert(which < 3);
  return node(k, NEO_LX_KEY, NEO_I64_T, which, NULL, 0);
}

const neo_lx *neo_lx_load(neo_kernel *k, uint32_t buf, const neo_lx *offset) {
  assert(buf < k->bufs.n && offset->type == NEO_I64_T);
  return node(k, NEO_LX_LOAD, (neo_type)k->bufs.at[buf].type, buf, &offset, 1);
}

const neo_lx *neo_lx_loadif(neo_kernel *k, uint32_t buf, const neo_lx *offset, const neo_lx *cond,
                            const neo_lx *other) {
  int64_t c;
  assert(buf < k->bufs.n && cond->type == NEO_BOOL_T);
  if (neo_lx_is_int(cond, &c))
    return c ? neo_lx_load(k, buf, offset) : other;
  const neo_lx *arg[] = {offset, cond, other};
  return node(k, NEO_LX_LOADIF, (neo_type)k->bufs.at[buf].type, buf, arg, 3);
}

const neo_lx *neo_lx_reg(neo_kernel *k, uint32_t reg, const neo_lx *const *index, size_t n) {
  assert(reg < k->regs.n && n == k->regs.at[reg].rank);
  return node(k, NEO_LX_REG, (neo_type)k->regs.at[reg].type, reg, index, n);
}

const neo_lx *neo_lx_rand(neo_kernel *k, neo_type t, uint32_t site, const neo_lx *element) {
  return node(k, NEO_LX_RAND, t, site, &element, 1);
}

const neo_lx *neo_lx_fma(neo_kernel *k, const neo_lx *a, const neo_lx *b, const neo_lx *c) {
  const neo_lx *arg[] = {a, b, c};
  return node(k, NEO_LX_FMA, (neo_type)a->type, 0, arg, 3);
}

const neo_lx *neo_lx_pair(neo_kernel *k, const neo_lx *first, const neo_lx *second) {
  const neo_lx *arg[] = {first, second};
  return node(k, NEO_LX_PAIR, NEO_I32_T, 0, arg, 2);
}

const neo_lx *neo_lx_dot(neo_kernel *k, const neo_lx *a, const neo_lx *b, const neo_lx *c) {
  const neo_lx *arg[] = {a, b, c};
  return node(k, NEO_LX_DOT, NEO_F32_T, 0, arg, 3);
}

/* ---- folding */

bool neo_lx_is_int(const neo_lx *e, int64_t *x) {
  if (e->kind != NEO_LX_CONST || neo_type_is_float((neo_type)e->type))
    return false;
  *x = (int64_t)e->bits;
  return true;
}

bool neo_lx_uses(const neo_lx *e, uint32_t var) {
  bool y = e->kind == NEO_LX_VAR && e->attr == var;
  for (uint32_t k = 0; k < e->n && !y; k++)
    y = neo_lx_uses(e->arg[k], var);
  return y;
}

bool neo_lx_step(const neo_lx *e, uint32_t var, int64_t *step) {
  int64_t a, b;
  *step = e->kind == NEO_LX_VAR && e->attr == var;
  if (*step || !neo_lx_uses(e, var))
    return true;
  if (e->kind != NEO_LX_OP || e->n != 2)
    return false;
  if (e->attr == NEO_OP_MUL && neo_lx_is_int(e->arg[1], &b))
    return neo_lx_step(e->arg[0], var, &a) && !__builtin_mul_overflow(a, b, step);
  if ((e->attr != NEO_OP_ADD && e->attr != NEO_OP_SUB) || !neo_lx_step(e->arg[0], var, &a) ||
      !neo_lx_step(e->arg[1], var, &b))
    return false;
  return e->attr == NEO_OP_ADD ? !__builtin_add_overflow(a, b, step)
                               : !__builtin_sub_overflow(a, b, step);
}

static bool is_int(const neo_lx *e, int64_t x) {
  int64_t y;
  return neo_lx_is_int(e, &y) && x == y;
}

static bool is_op(const neo_lx *e, neo_op op) {
  return e->kind == NEO_LX_OP && e->attr == (uint32_t)op;
}

static const neo_lx *fold_constants(neo_kernel *k, neo_op op, neo_type t, const neo_lx *const *arg,
                                    size_t n) {
  neo_value v[MAX_ARGS];
  for (size_t i = 0; i < n; i++)
    if (!neo_lx_is_int(arg[i], &v[i].i))
      return NULL;
  return neo_lx_const(k, t, neo_value_op(op, t, (neo_type)arg[0]->type, v));
}

static const neo_lx *typed_int(neo_kernel *k, neo_type t, int64_t x) {
  return neo_lx_const(k, t, (neo_value){.i = x});
}

/* (x + c1) + c2, and constants to the right. Sums wrap, so any order has the same value. */
static const neo_lx *fold_add(neo_kernel *k, const neo_lx *x, const neo_lx *y) {
  int64_t a, b;
  neo_type t = (neo_type)x->type;
  if (is_int(x, 0))
    return y;
  if (is_int(y, 0))
    return x;
  if (neo_lx_is_int(x, &a))
    return neo_lx_op2(k, NEO_OP_ADD, y, x);
  bool y_int = neo_lx_is_int(y, &b);
  if (is_op(x, NEO_OP_ADD) && neo_lx_is_int(x->arg[1], &a)) {
    if (y_int) {
      neo_value sum = {.i = (int64_t)((uint64_t)a + (uint64_t)b)};
      return neo_lx_op2(k, NEO_OP_ADD, x->arg[0], neo_lx_const(k, t, sum));
    }
    return neo_lx_op2(k, NEO_OP_ADD, neo_lx_op2(k, NEO_OP_ADD, x->arg[0], y), x->arg[1]);
  }
  if (is_op(y, NEO_OP_ADD) && neo_lx_is_int(y->arg[1], &b))
    return neo_lx_op2(k, NEO_OP_ADD, neo_lx_op2(k, NEO_OP_ADD, x, y->arg[0]), y->arg[1]);
  return NULL;
}

/* x without its constant, which goes to *c. */
static const neo_lx *base_of(const neo_lx *x, int64_t *c) {
  *c = 0;
  return is_op(x, NEO_OP_ADD) && neo_lx_is_int(x->arg[1], c) ? x->arg[0] : x;
}

/* (x + c1) - (x + c2): what a block of known length is long. */
static const neo_lx *fold_sub(neo_kernel *k, const neo_lx *x, const neo_lx *y) {
  int64_t a, b;
  if (base_of(x, &a) == base_of(y, &b))
    return typed_int(k, (neo_type)x->type, (int64_t)((uint64_t)a - (uint64_t)b));
  if (!neo_lx_is_int(y, &b))
    return NULL;
  neo_value minus = {.i = (int64_t)(0 - (uint64_t)b)};
  return neo_lx_op2(k, NEO_OP_ADD, x, neo_lx_const(k, (neo_type)x->type, minus));
}

static const neo_lx *fold_mul(neo_kernel *k, const neo_lx *x, const neo_lx *y) {
  int64_t a, b;
  if (neo_lx_is_int(x, &a))
    return neo_lx_op2(k, NEO_OP_MUL, y, x);
  if (!neo_lx_is_int(y, &b))
    return NULL;
  if (b == 0)
    return y;
  if (b == 1)
    return x;
  if (is_op(x, NEO_OP_MUL) && neo_lx_is_int(x->arg[1], &a)) {
    neo_value product = {.i = (int64_t)((uint64_t)a * (uint64_t)b)};
    return neo_lx_op2(k, NEO_OP_MUL, x->arg[0], neo_lx_const(k, (neo_type)x->type, product));
  }
  return NULL;
}

static const neo_lx *fold_arithmetic(neo_kernel *k, neo_op op, const neo_lx *x, const neo_lx *y) {
  neo_type t = (neo_type)x->type;
  switch (op) {
  case NEO_OP_ADD:
    return fold_add(k, x, y);
  case NEO_OP_SUB:
    return fold_sub(k, x, y);
  case NEO_OP_MUL:
    return fold_mul(k, x, y);
  case NEO_OP_DIV:
    if (is_int(x, 0) || is_int(y, 0))
      return typed_int(k, t, 0);
    return is_int(y, 1) ? x : NULL;
  case NEO_OP_MOD:
    return is_int(x, 0) || is_int(y, 0) || is_int(y, 1) ? typed_int(k, t, 0) : NULL;
  case NEO_OP_MIN:
  case NEO_OP_MAX:
    return x == y ? x : NULL;
  case NEO_OP_EQ:
  case NEO_OP_LE:
    return x == y ? typed_int(k, NEO_BOOL_T, 1) : NULL;
  case NEO_OP_NE:
  case NEO_OP_LT:
    return x == y ? typed_int(k, NEO_BOOL_T, 0) : NULL;
  default:
    return NULL;
  }
}

static const neo_lx *fold_logic(neo_op op, const neo_lx *x, const neo_lx *y) {
  int64_t c;
  bool unit = op == NEO_OP_AND; /* true and e is e; false or e is e */
  if (x == y)
    return x;
  if (neo_lx_is_int(x, &c))
    return (c != 0) == unit ? y : x;
  if (neo_lx_is_int(y, &c))
    return (c != 0) == unit ? x : y;
  return NULL;
}

bool neo_lx_implies(const neo_lx *all, const neo_lx *c) {
  if (is_op(c, NEO_OP_AND))
    return neo_lx_implies(all, c->arg[0]) && neo_lx_implies(all, c->arg[1]);
  return all == c || (is_op(all, NEO_OP_AND) &&
                      (neo_lx_implies(all->arg[0], c) || neo_lx_implies(all->arg[1], c)));
}

/* What is loaded only where c holds, and else is y, is chosen already. */
static const neo_lx *fold_select(const neo_lx *c, const neo_lx *x, const neo_lx *y) {
  int64_t b;
  if (x == y || (x->kind == NEO_LX_LOADIF && x->arg[2] == y && neo_lx_implies(x->arg[1], c)))
    return x;
  return neo_lx_is_int(c, &b) ? (b ? x : y) : NULL;
}

static const neo_lx *fold_neg(neo_kernel *k, const neo_lx *x) {
  double f;
  bool is_float = neo_type_is_float((neo_type)x->type);
  if (!is_float && is_op(x, NEO_OP_NEG))
    return x->arg[0];
  if (!is_float || x->kind != NEO_LX_CONST)
    return NULL;
  memcpy(&f, &x->bits, sizeof f);
  return neo_lx_const(k, (neo_type)x->type, (neo_value){.f = -f});
}

/* A node without a fold, or null. */
static const neo_lx *fold(neo_kernel *k, neo_op op, neo_type t, const neo_lx *const *arg,
                          size_t n) {
  if (op == NEO_OP_SELECT)
    return fold_select(arg[0], arg[1], arg[2]);
  if (op == NEO_OP_CAST && arg[0]->type == t)
    return arg[0];
  const neo_lx *e = fold_constants(k, op, t, arg, n);
  if (e)
    return e;
  switch (op) {
  case NEO_OP_AND:
  case NEO_OP_OR:
    return fold_logic(op, arg[0], arg[1]);
  case NEO_OP_NOT:
    return is_op(arg[0], NEO_OP_NOT) ? arg[0]->arg[0] : NULL;
  case NEO_OP_NEG:
    return fold_neg(k, arg[0]);
  default:
    break;
  }
  bool is_float = neo_type_is_float((neo_type)arg[0]->type);
  return n == 2 && !is_float ? fold_arithmetic(k, op, arg[0], arg[1]) : NULL;
}

const neo_lx *neo_lx_op(neo_kernel *k, neo_op op, neo_type t, const neo_lx *const *arg, size_t n) {
  assert(neo_op_is_elementwise(op) && neo_op_arity(op) == (int)n);
  const neo_lx *e = fold(k, op, t, arg, n);
  return e ? e : node(k, NEO_LX_OP, t, (uint32_t)op, arg, n);
}

static neo_type result_type(neo_op op, const neo_lx *const *arg) {
  switch (neo_op_rule(op)) {
  case NEO_RULE_CMP:
  case NEO_RULE_LOGIC:
    return NEO_BOOL_T;
  case NEO_RULE_SELECT:
    return (neo_type)arg[1]->type;
  default:
    return (neo_type)arg[0]->type;
  }
}

static const neo_lx *op_any(neo_kernel *k, neo_op op, const neo_lx *const *arg, size_t n) {
  assert(op != NEO_OP_CAST);
  return neo_lx_op(k, op, result_type(op, arg), arg, n);
}

const neo_lx *neo_lx_op1(neo_kernel *k, neo_op op, const neo_lx *a) {
  return op_any(k, op, (const neo_lx *[]){a, NULL, NULL}, 1);
}

const neo_lx *neo_lx_op2(neo_kernel *k, neo_op op, const neo_lx *a, const neo_lx *b) {
  return op_any(k, op, (const neo_lx *[]){a, b, NULL}, 2);
}

const neo_lx *neo_lx_op3(neo_kernel *k, neo_op op, const neo_lx *a, const neo_lx *b,
                         const neo_lx *c) {
  return op_any(k, op, (const neo_lx *[]){a, b, c}, 3);
}

const neo_lx *neo_lx_cast(neo_kernel *k, neo_type t, const neo_lx *a) {
  return neo_lx_op(k, NEO_OP_CAST, t, (const neo_lx *[]){a, NULL, NULL}, 1);
}

/* ---- rebuilding */

static const neo_lx *remake(neo_kernel *k, const neo_lx *e, const neo_lx *const *arg) {
  switch (e->kind) {
  case NEO_LX_OP:
    return neo_lx_op(k, (neo_op)e->attr, (neo_type)e->type, arg, e->n);
  case NEO_LX_LOADIF:
    return neo_lx_loadif(k, e->attr, arg[0], arg[1], arg[2]);
  default:
    return node(k, (neo_lx_kind)e->kind, (neo_type)e->type, e->attr, arg, e->n);
  }
}

/* A fresh set of marks over the nodes made so far: a walk visits a shared node once. */
static void begin_walk(neo_kernel *k) {
  while (k->marks.n < k->nodes.n) {
    NEO_RESERVE(k->arena, &k->marks);
    k->marks.n++;
  }
  k->stamp++;
}

static bool is_marked(const neo_kernel *k, const neo_lx *e) {
  return k->marks.at[e->id].stamp == k->stamp;
}

static void mark(neo_kernel *k, const neo_lx *e, const neo_lx *made) {
  k->marks.at[e->id].stamp = k->stamp;
  k->marks.at[e->id].made = made;
}

/* Nodes made on the way have no marks, and are not walked. */
static const neo_lx *subst(neo_kernel *k, const neo_lx *e, uint32_t var, const neo_lx *by) {
  if (e->kind == NEO_LX_VAR)
    return e->attr == var ? by : e;
  if (e->n == 0)
    return e;
  if (is_marked(k, e))
    return k->marks.at[e->id].made;
  const neo_lx *arg[MAX_ARGS];
  bool same = true;
  for (uint32_t i = 0; i < e->n; i++) {
    arg[i] = subst(k, e->arg[i], var, by);
    same = same && arg[i] == e->arg[i];
  }
  const neo_lx *made = same ? e : remake(k, e, arg);
  mark(k, e, made);
  return made;
}

const neo_lx *neo_lx_subst(neo_kernel *k, const neo_lx *e, uint32_t var, const neo_lx *by) {
  begin_walk(k);
  return subst(k, e, var, by);
}

static bool uses(neo_kernel *k, const neo_lx *e, uint32_t var) {
  if (e->kind == NEO_LX_VAR)
    return e->attr == var;
  if (e->n == 0 || is_marked(k, e))
    return false;
  mark(k, e, NULL);
  for (uint32_t i = 0; i < e->n; i++)
    if (uses(k, e->arg[i], var))
      return true;
  return false;
}

bool neo_lx_uses_var(neo_kernel *k, const neo_lx *e, uint32_t var) {
  begin_walk(k);
  return uses(k, e, var);
}

/* ---- statements */

static neo_ls *add(neo_kernel *k, neo_block *in, neo_ls_kind kind) {
  neo_ls *s = NEO_NEW(k->arena, neo_ls);
  s->kind = (uint8_t)kind;
  s->span = k->span;
  NEO_PUSH(k->arena, in, s);
  return s;
}

neo_ls *neo_ls_for(neo_kernel *k, neo_block *in, neo_loop_kind kind, uint32_t var, const neo_lx *lo,
                   const neo_lx *hi, int64_t step) {
  neo_ls *s = add(k, in, NEO_LS_FOR);
  s->loop = (uint8_t)kind;
  s->attr = var;
  s->lo = lo;
  s->hi = hi;
  s->step = step;
  if (kind == NEO_LOOP_UNIT)
    k->units = hi;
  return s;
}

neo_ls *neo_ls_if(neo_kernel *k, neo_block *in, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_IF);
  s->cond = cond;
  return s;
}

void neo_ls_reg(neo_kernel *k, neo_block *in, uint32_t reg) {
  add(k, in, NEO_LS_REG)->attr = reg;
}

void neo_ls_set(neo_kernel *k, neo_block *in, uint32_t reg, const neo_lx *const *index, size_t n,
                const neo_lx *value) {
  neo_ls *s = add(k, in, NEO_LS_SET);
  assert(n <= 4 && n == k->regs.at[reg].rank && value->type == k->regs.at[reg].type);
  s->attr = reg;
  s->n_index = (uint8_t)n;
  for (size_t i = 0; i < n; i++)
    s->index[i] = index[i];
  s->value = value;
}

void neo_ls_store(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                  const neo_lx *value, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_STORE);
  assert(buf < k->bufs.n && value->type == k->bufs.at[buf].type);
  s->attr = buf;
  s->n_index = 1;
  s->index[0] = offset;
  s->value = value;
  s->cond = cond;
}

void neo_ls_fetch(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset, bool far) {
  neo_ls *s = add(k, in, NEO_LS_FETCH);
  assert(buf < k->bufs.n && offset->type == NEO_I64_T);
  s->attr = buf;
  s->step = far ? 2 : 1;
  s->n_index = 1;
  s->index[0] = offset;
}

void neo_ls_tile(neo_kernel *k, neo_block *in, neo_tile_op op, const uint8_t *reg, uint32_t buf,
                 const neo_lx *offset, int64_t pitch) {
  neo_ls *s = add(k, in, NEO_LS_TILE);
  s->op = (uint8_t)op;
  for (uint32_t i = 0; i < neo_tile_rows[op].registers; i++)
    s->tile[i] = reg[i];
  if (!neo_tile_rows[op].memory)
    return;
  s->attr = buf;
  s->n_index = 1;
  s->index[0] = offset;
  s->step = pitch;
}

void neo_ls_warp(neo_kernel *k, neo_block *in, neo_warp_op op, const uint32_t *reg,
                 const neo_lx *const *fragment) {
  neo_ls *s = add(k, in, NEO_LS_WARP);
  s->op = (uint8_t)op;
  s->attr = reg[0];
  s->n_index = 3;
  for (int i = 0; i < 3; i++)
    s->index[i] = fragment[i];
  for (int i = 0; i < 2; i++)
    s->factor[i] = reg[1 + i];
}

void neo_ls_warp_read(neo_kernel *k, neo_block *in, neo_warp_op op, uint32_t reg,
                      const neo_lx *fragment, uint32_t buf, const neo_lx *offset) {
  neo_ls *s = add(k, in, NEO_LS_WARP);
  s->op = (uint8_t)op;
  s->attr = reg;
  s->factor[0] = buf;
  s->n_index = 2;
  s->index[0] = fragment;
  s->index[1] = offset;
}

void neo_ls_warpgroup(neo_kernel *k, neo_block *in, neo_warpgroup_op op, uint32_t acc,
                      const uint32_t *buf, const neo_lx *const *offset, const bool *turned,
                      int64_t beside) {
  neo_ls *s = add(k, in, NEO_LS_WARPGROUP);
  s->op = (uint8_t)op;
  s->attr = acc;
  s->n_index = 2;
  for (int i = 0; i < 2; i++) {
    s->factor[i] = buf[i];
    s->index[i] = offset[i];
    s->tile[i] = turned[i];
  }
  s->step = beside;
}

void neo_ls_await(neo_kernel *k, neo_block *in, uint32_t acc, int64_t left) {
  neo_ls *s = add(k, in, NEO_LS_AWAIT);
  s->attr = acc;
  s->step = left;
}

void neo_ls_copy(neo_kernel *k, neo_block *in, int64_t n, uint32_t to, const neo_lx *offset,
                 uint32_t from, const neo_lx *start, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_COPY);
  assert(to < k->bufs.n && from < k->bufs.n);
  s->attr = to;
  s->factor[0] = from;
  s->n_index = 2;
  s->index[0] = offset;
  s->index[1] = start;
  s->step = n;
  s->cond = cond;
}

void neo_ls_commit(neo_kernel *k, neo_block *in) {
  add(k, in, NEO_LS_COMMIT);
}

void neo_ls_wait(neo_kernel *k, neo_block *in, int64_t groups) {
  add(k, in, NEO_LS_WAIT)->step = groups;
}

void neo_ls_shuffle(neo_kernel *k, neo_block *in, uint32_t to, uint32_t from, neo_shuffle what,
                    int64_t n, int64_t of) {
  neo_ls *s = add(k, in, NEO_LS_SHUFFLE);
  assert(to < k->regs.n && from < k->regs.n);
  s->op = (uint8_t)what;
  s->attr = to;
  s->factor[0] = from;
  s->factor[1] = (uint32_t)of;
  s->step = n;
}

static bool has_tiles(const neo_block *b) {
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == NEO_LS_TILE || has_tiles(&b->at[i]->body) || has_tiles(&b->at[i]->other))
      return true;
  return false;
}

bool neo_kernel_has_tiles(const neo_kernel *k) {
  return has_tiles(&k->body);
}

bool neo_kernel_has_dots(const neo_kernel *k) {
  for (size_t i = 0; i < k->nodes.n; i++)
    if (k->nodes.at[i]->kind == NEO_LX_DOT)
      return true;
  return false;
}

bool neo_kernel_reads_key(const neo_kernel *k) {
  for (size_t i = 0; i < k->nodes.n; i++)
    if (k->nodes.at[i]->kind == NEO_LX_KEY || k->nodes.at[i]->kind == NEO_LX_RAND)
      return true;
  return false;
}

static int64_t threads_of(const neo_block *b) {
  int64_t n = 0;
  for (size_t i = 0; i < b->n && n == 0; i++) {
    const neo_ls *s = b->at[i];
    if (s->kind == NEO_LS_FOR && s->loop == NEO_LOOP_THREAD && neo_lx_is_int(s->hi, &n))
      return n;
    n = threads_of(&s->body);
    n = n ? n : threads_of(&s->other);
  }
  return n;
}

int64_t neo_kernel_threads(const neo_kernel *k) {
  return threads_of(&k->body);
}

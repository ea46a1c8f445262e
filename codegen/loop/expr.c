/* Building kernels: hash-consed expressions.
 *
 * A node's identity is (kind, type, attribute, bits, arguments); the intern map goes from a 64-bit
 * hash to a node's id + 1, and a collision moves on to the next hash. Integer and bool operators on
 * constants fold through neo_value_op, so that folding and evaluation cannot disagree; sums keep
 * one constant at their right end: the offsets of unrolled copies differ in that only. */
#include "base/hash.h"
#include "codegen/loop/loop.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_ARGS = 16, MOST_DEPTH = 6 };

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

/* The number of arguments of e that are always evaluated: the first one alone, or all of them. The
 * first one of LOADIF is its condition. */
static uint32_t sure_args(const neo_lx *e) {
  switch (e->kind) {
  case NEO_LX_LOAD:
  case NEO_LX_LOADIF:
    return 1;
  case NEO_LX_OP:
    return e->attr == NEO_OP_AND || e->attr == NEO_OP_OR || e->attr == NEO_OP_SELECT ? 1 : e->n;
  default:
    return 0;
  }
}

static bool always_loads(const neo_lx *e, uint32_t buf, const neo_lx *offset, int depth) {
  bool found = e->kind == NEO_LX_LOAD && e->attr == buf && e->arg[0] == offset;
  uint32_t n = depth ? sure_args(e) : 0, first = e->kind == NEO_LX_LOADIF;
  for (uint32_t k = 0; k < n && !found; k++)
    found = always_loads(e->arg[first + k], buf, offset, depth - 1);
  return found;
}

bool neo_lx_always_loads(const neo_lx *e, uint32_t buf, const neo_lx *offset) {
  return always_loads(e, buf, offset, MOST_DEPTH);
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

/* (x + c1) - (x + c2) is c1 - c2: the length of a block with constant extent. */
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

/* select(c, load where c else y, y) is the load alone. */
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

/* The rules of the loop IR's expressions, checked against the loops around them. Register indices
 * are small and constant after unrolling, so their range is checked by trying all values of the
 * variables in them. */
#include "codegen/loop/verify.h"
#include <stdarg.h>

enum { MAX_VARS = 4 };

void neo_lv_fail(verifier *v, const char *fmt, ...) {
  va_list ap;
  if (v->failed)
    return;
  v->failed = true;
  va_start(ap, fmt);
  neo_str_addf(v->why, "kernel %s: %s", v->k->name, neo_arena_vprintf(v->why->arena, fmt, ap));
  va_end(ap);
}

const scope *neo_lv_find(const verifier *v, uint32_t var) {
  for (uint32_t i = v->n; i-- > 0;)
    if (v->loops[i].var == var)
      return &v->loops[i];
  return NULL;
}

/* ---- register indices */

/* Value of an index over constants and unrolled variables; false if it is not one. */
static bool index_value(const neo_lx *e, const uint32_t *var, const int64_t *value, uint32_t n,
                        int64_t *out) {
  neo_value x[3];
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST:
    *out = (int64_t)e->bits;
    return true;
  case NEO_LX_VAR:
    for (uint32_t i = 0; i < n; i++)
      if (var[i] == e->attr) {
        *out = value[i];
        return true;
      }
    return false;
  case NEO_LX_OP:
    if (e->type != NEO_I64_T || e->n > 3)
      return false;
    for (uint32_t k = 0; k < e->n; k++)
      if (!index_value(e->arg[k], var, value, n, &x[k].i))
        return false;
    *out = neo_value_op((neo_op)e->attr, NEO_I64_T, NEO_I64_T, x).i;
    return true;
  default:
    return false;
  }
}

static bool add_var(uint32_t *var, uint32_t *n, uint32_t x) {
  for (uint32_t i = 0; i < *n; i++)
    if (var[i] == x)
      return true;
  if (*n == MAX_VARS)
    return false;
  var[(*n)++] = x;
  return true;
}

static bool collect(const neo_lx *e, uint32_t *var, uint32_t *n) {
  if (e->kind == NEO_LX_VAR)
    return add_var(var, n, e->attr);
  for (uint32_t k = 0; k < e->n; k++)
    if (!collect(e->arg[k], var, n))
      return false;
  return true;
}

static bool next_values(const scope *const *s, int64_t *value, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    value[i] += s[i]->step;
    if (value[i] < s[i]->hi)
      return true;
    value[i] = s[i]->lo;
  }
  return false;
}

void neo_lv_check_index(verifier *v, const neo_reg *r, uint32_t dim, const neo_lx *e) {
  uint32_t var[MAX_VARS], n = 0;
  const scope *s[MAX_VARS];
  int64_t value[MAX_VARS], x;
  if (!collect(e, var, &n))
    neo_lv_fail(v, "an index of register %s has too many variables", r->name);
  for (uint32_t i = 0; i < n && !v->failed; i++) {
    s[i] = neo_lv_find(v, var[i]);
    bool last = dim + 1U == r->rank && e->kind == NEO_LX_VAR;
    bool lane = s[i] && s[i]->kind == NEO_LOOP_VECTOR && last;
    if (!s[i] || (s[i]->kind != NEO_LOOP_UNROLL && !lane))
      neo_lv_fail(v, "index %u of register %s is neither constant nor unrolled", dim, r->name);
    else if (s[i]->lo >= s[i]->hi)
      return; /* never runs */
    else
      value[i] = s[i]->lo;
  }
  do {
    if (v->failed)
      return;
    if (!index_value(e, var, value, n, &x))
      neo_lv_fail(v, "index %u of register %s is not constant", dim, r->name);
    else if (x < 0 || x >= r->extent[dim])
      neo_lv_fail(v, "index %u of register %s is %lld, of %lld", dim, r->name, (long long)x,
                  (long long)r->extent[dim]);
  } while (next_values(s, value, n));
}

void neo_lv_check_place(verifier *v, uint32_t reg, const neo_lx *const *index, size_t n) {
  if (reg >= v->k->regs.n) {
    neo_lv_fail(v, "there is no register %u", reg);
    return;
  }
  const neo_reg *r = &v->k->regs.at[reg];
  if (!v->declared[reg])
    neo_lv_fail(v, "register %s is used outside its block", r->name);
  if (r->threads && !v->in_threads)
    neo_lv_fail(v, "register %s of threads is used outside of a thread loop", r->name);
  if (n != r->rank)
    neo_lv_fail(v, "register %s has rank %d, not %zu", r->name, r->rank, n);
  for (uint32_t d = 0; d < n && !v->failed; d++)
    neo_lv_check_index(v, r, d, index[d]);
}

/* ---- expressions */

static void expect(verifier *v, const neo_lx *e, neo_type t, const char *what) {
  if (e->type != t)
    neo_lv_fail(v, "%s is %s, not %s", what, neo_type_text((neo_type)e->type), neo_type_text(t));
}

static void check_op_types(verifier *v, const neo_lx *e) {
  neo_op op = (neo_op)e->attr;
  neo_type t = (neo_type)e->type, a = (neo_type)e->arg[0]->type;
  neo_rule rule = neo_op_rule(op);
  const char *name = neo_op_text(op);
  if (rule == NEO_RULE_CAST)
    return;
  if (rule == NEO_RULE_SELECT) {
    expect(v, e->arg[0], NEO_BOOL_T, "the condition of select");
    expect(v, e->arg[1], t, "an argument of select");
    expect(v, e->arg[2], t, "an argument of select");
    return;
  }
  for (uint32_t k = 1; k < e->n; k++)
    expect(v, e->arg[k], a, name);
  if (rule == NEO_RULE_CMP)
    expect(v, e, NEO_BOOL_T, name);
  else
    expect(v, e, a, name);
  if (rule == NEO_RULE_FLOAT && !neo_type_is_float(t))
    neo_lv_fail(v, "%s takes floats", name);
  if (rule == NEO_RULE_NUM && t == NEO_BOOL_T)
    neo_lv_fail(v, "%s takes numbers", name);
  if (rule == NEO_RULE_LOGIC && t != NEO_BOOL_T)
    neo_lv_fail(v, "%s takes bool", name);
}

static void check_op(verifier *v, const neo_lx *e) {
  if (e->attr >= NEO_OP_COUNT || !neo_op_is_elementwise((neo_op)e->attr))
    neo_lv_fail(v, "operator %u is not elementwise", e->attr);
  else if (neo_op_arity((neo_op)e->attr) != e->n)
    neo_lv_fail(v, "%s has %d arguments", neo_op_text((neo_op)e->attr), e->n);
  else
    check_op_types(v, e);
}

static void check_buffer(verifier *v, const neo_lx *e) {
  if (e->attr >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", e->attr);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[e->attr];
  bool writable = b->use & (NEO_BUF_SCRATCH | NEO_BUF_WRITE) || !b->no_alias;
  if (v->role == PRODUCER && writable)
    neo_lv_fail(v, "the producer reads %s", b->name);
  expect(v, e, (neo_type)b->type, b->name);
  expect(v, e->arg[0], NEO_I64_T, "an offset");
  if (!(b->use & (NEO_BUF_READ | NEO_BUF_SCRATCH)))
    neo_lv_fail(v, "%s is not read", b->name);
  if (e->kind != NEO_LX_LOADIF)
    return;
  expect(v, e->arg[1], NEO_BOOL_T, "the condition of a load");
  expect(v, e->arg[2], (neo_type)b->type, "the other value of a load");
}

static void check_node(verifier *v, const neo_lx *e) {
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST:
    break;
  case NEO_LX_VAR:
    if (e->attr >= v->k->vars.n || !neo_lv_find(v, e->attr))
      neo_lv_fail(v, "variable %s is used outside its loop",
                  e->attr < v->k->vars.n ? v->k->vars.at[e->attr] : "?");
    break;
  case NEO_LX_SIZE:
    if (e->attr >= v->k->sizes.n)
      neo_lv_fail(v, "there is no size %u", e->attr);
    break;
  case NEO_LX_KEY:
    if (e->attr > 2)
      neo_lv_fail(v, "there is no key %u", e->attr);
    break;
  case NEO_LX_LOAD:
  case NEO_LX_LOADIF:
    check_buffer(v, e);
    break;
  case NEO_LX_REG:
    neo_lv_check_place(v, e->attr, e->arg, e->n);
    if (!v->failed)
      expect(v, e, (neo_type)v->k->regs.at[e->attr].type, "a register's value");
    break;
  case NEO_LX_RAND:
    expect(v, e->arg[0], NEO_I64_T, "the element of rand");
    if (e->type != NEO_F32_T && e->type != NEO_F64_T)
      neo_lv_fail(v, "rand is f32 or f64");
    break;
  case NEO_LX_FMA:
    if (e->n != 3)
      neo_lv_fail(v, "fma has three arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], (neo_type)e->type, "fma");
    break;
  case NEO_LX_PAIR:
    if (e->n != 2)
      neo_lv_fail(v, "pair has two arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], NEO_BF16_T, "pair");
    expect(v, e, NEO_I32_T, "pair");
    break;
  case NEO_LX_DOT:
    if (e->n != 3)
      neo_lv_fail(v, "dot has three arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], k < 2 ? NEO_I32_T : NEO_F32_T, "dot");
    expect(v, e, NEO_F32_T, "dot");
    break;
  case NEO_LX_OP:
    check_op(v, e);
    break;
  default:
    neo_lv_fail(v, "unknown expression %d", e->kind);
  }
}

static void check(verifier *v, const neo_lx *e) {
  if (v->failed)
    return;
  if (e->id >= v->k->nodes.n || v->k->nodes.at[e->id] != e) {
    neo_lv_fail(v, "an expression of another kernel");
    return;
  }
  if (v->seen[e->id] == v->statement)
    return;
  v->seen[e->id] = v->statement;
  for (uint32_t k = 0; k < e->n; k++)
    check(v, e->arg[k]);
  if (!v->failed)
    check_node(v, e);
}

void neo_lv_check_typed(verifier *v, const neo_lx *e, neo_type t, const char *what) {
  if (!e) {
    neo_lv_fail(v, "%s is missing", what);
    return;
  }
  check(v, e);
  if (!v->failed)
    expect(v, e, t, what);
}

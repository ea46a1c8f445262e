/* Size expressions as reverse Polish code (neo_rt.h). Equal expressions share a program. Operators
 * that the code lacks are expressed by others; true is 1, and comparisons are of integers:
 *   a < b            clamp(b - a, 0, 1)           select(c, a, b)   c*a + (1 - c)*b
 *   a == b           1 - min(|a - b|, 1)          |a|               max(a, 0 - a) */
#include "codegen/plan/internal.h"
#include <assert.h>

static void put(neo_plan *p, int64_t word) {
  NEO_PUSH(p->arena, &p->programs, word);
}

static void put_constant(neo_plan *p, int64_t x) {
  put(p, NEO_RT_OP_CONST);
  put(p, x);
}

/* The value on top, and x. */
static void put_with(neo_plan *p, int64_t x, int64_t op) {
  put_constant(p, x);
  put(p, op);
}

static void put_expr(neo_plan *p, neo_expr e);

static void put_arg(neo_plan *p, neo_expr e, uint32_t k) {
  put_expr(p, neo_expr_arg(p->m, e, k));
}

static void put_between(neo_plan *p, int64_t lo, int64_t hi) {
  put_with(p, lo, NEO_RT_OP_MAX);
  put_with(p, hi, NEO_RT_OP_MIN);
}

/* 1 minus the value on top. */
static void put_not(neo_plan *p) {
  put_with(p, -1, NEO_RT_OP_MUL);
  put_with(p, 1, NEO_RT_OP_ADD);
}

static void put_difference(neo_plan *p, neo_expr e, uint32_t a, uint32_t b) {
  put_arg(p, e, a);
  put_arg(p, e, b);
  put(p, NEO_RT_OP_SUB);
}

/* 1 where the arguments differ. */
static void put_differ(neo_plan *p, neo_expr e) {
  put_difference(p, e, 0, 1);
  put_difference(p, e, 1, 0);
  put(p, NEO_RT_OP_MAX);
  put_with(p, 1, NEO_RT_OP_MIN);
}

static void put_select(neo_plan *p, neo_expr e) {
  put_arg(p, e, 0);
  put_arg(p, e, 1);
  put(p, NEO_RT_OP_MUL);
  put_arg(p, e, 0);
  put_not(p);
  put_arg(p, e, 2);
  put(p, NEO_RT_OP_MUL);
  put(p, NEO_RT_OP_ADD);
}

/* Integers wrap: to bits wide, signed or not. */
static void put_wrapped(neo_plan *p, int bits, bool is_signed) {
  int64_t half = is_signed ? (int64_t)1 << (bits - 1) : 0;
  put_with(p, half, NEO_RT_OP_ADD);
  put_with(p, (int64_t)1 << bits, NEO_RT_OP_MOD);
  put_with(p, half, NEO_RT_OP_SUB);
}

static void put_absolute(neo_plan *p, neo_expr e) {
  put_arg(p, e, 0);
  put_arg(p, e, 0);
  put_with(p, -1, NEO_RT_OP_MUL);
  put(p, NEO_RT_OP_MAX);
}

static void put_cast(neo_plan *p, neo_expr e) {
  neo_type to = neo_expr_type(p->m, e);
  if (to == NEO_BOOL_T) {
    put_absolute(p, e);
    put_with(p, 1, NEO_RT_OP_MIN);
    return;
  }
  put_arg(p, e, 0);
  if (to != NEO_I64_T && neo_expr_type(p->m, neo_expr_arg(p->m, e, 0)) != NEO_BOOL_T)
    put_wrapped(p, 8 * (int)neo_type_bytes(to), to != NEO_U8_T);
}

static int64_t code_of(neo_op op) {
  switch (op) {
  case NEO_OP_ADD:
    return NEO_RT_OP_ADD;
  case NEO_OP_SUB:
    return NEO_RT_OP_SUB;
  case NEO_OP_MUL:
    return NEO_RT_OP_MUL;
  case NEO_OP_DIV:
    return NEO_RT_OP_DIV;
  case NEO_OP_MOD:
    return NEO_RT_OP_MOD;
  case NEO_OP_MIN:
  case NEO_OP_AND:
    return NEO_RT_OP_MIN;
  case NEO_OP_MAX:
  case NEO_OP_OR:
    return NEO_RT_OP_MAX;
  default:
    return NEO_RT_OP_END;
  }
}

static void put_compare(neo_plan *p, neo_expr e, neo_op op) {
  switch (op) {
  case NEO_OP_LT:
    put_difference(p, e, 1, 0);
    put_between(p, 0, 1);
    break;
  case NEO_OP_LE:
    put_difference(p, e, 0, 1);
    put_between(p, 0, 1);
    put_not(p);
    break;
  case NEO_OP_EQ:
    put_differ(p, e);
    put_not(p);
    break;
  default:
    assert(op == NEO_OP_NE && "a size is made of constants, sizes and integer operators");
    put_differ(p, e);
  }
}

static void put_unary(neo_plan *p, neo_expr e, neo_op op) {
  if (op == NEO_OP_ABS) {
    put_absolute(p, e);
    return;
  }
  put_arg(p, e, 0);
  if (op == NEO_OP_NEG)
    put_with(p, -1, NEO_RT_OP_MUL);
  else if (op == NEO_OP_NOT)
    put_not(p);
  else if (op == NEO_OP_RELU)
    put_with(p, 0, NEO_RT_OP_MAX);
  else if (op == NEO_OP_SIGN)
    put_between(p, -1, 1);
  else
    assert(op == NEO_OP_STOP && "a size is made of constants, sizes and integer operators");
}

static void put_size(neo_plan *p, uint32_t id) {
  neo_size_rec size = p->m->sizes.at[id];
  if (size.kind == NEO_SIZE_DERIVED) {
    put_expr(p, size.value);
    return;
  }
  put(p, NEO_RT_OP_SIZE);
  put(p, neo_size_number(p->m, (neo_size){id}));
}

static void put_operator(neo_plan *p, neo_expr e, neo_op op) {
  if (op == NEO_OP_CAST) {
    put_cast(p, e);
  } else if (op == NEO_OP_SELECT) {
    put_select(p, e);
  } else if (op == NEO_OP_CLAMP) {
    put_arg(p, e, 0);
    put_arg(p, e, 1);
    put(p, NEO_RT_OP_MAX);
    put_arg(p, e, 2);
    put(p, NEO_RT_OP_MIN);
  } else if (neo_op_arity(op) == 1) {
    put_unary(p, e, op);
  } else if (code_of(op) == NEO_RT_OP_END) {
    put_compare(p, e, op);
  } else {
    put_arg(p, e, 0);
    put_arg(p, e, 1);
    put(p, code_of(op));
  }
}

static void put_expr(neo_plan *p, neo_expr e) {
  neo_node n = *neo_expr_node(p->m, e);
  int64_t x;
  if (neo_expr_is_int(p->m, e, &x))
    put_constant(p, x);
  else if (n.op == NEO_OP_SIZE)
    put_size(p, n.attr);
  else
    put_operator(p, e, (neo_op)n.op);
}

int32_t neo_plan_program(neo_plan *p, neo_expr e) {
  uint64_t at;
  if (neo_map_get(&p->program_of, e.i, &at))
    return (int32_t)at;
  at = p->programs.n;
  neo_map_set(&p->program_of, e.i, at);
  put_expr(p, e);
  put(p, NEO_RT_OP_END);
  return (int32_t)at;
}

static void put_lx(neo_plan *p, const neo_lx *e) {
  if (e->kind == NEO_LX_CONST) {
    put_constant(p, (int64_t)e->bits);
  } else if (e->kind == NEO_LX_SIZE) {
    put(p, NEO_RT_OP_SIZE);
    put(p, e->attr);
  } else {
    int64_t code = e->kind == NEO_LX_OP ? code_of((neo_op)e->attr) : NEO_RT_OP_END;
    assert(code != NEO_RT_OP_END && "units are made of constants, sizes and integer arithmetic");
    put_lx(p, e->arg[0]);
    put_lx(p, e->arg[1]);
    put(p, code);
  }
}

int32_t neo_plan_units(neo_plan *p, const neo_lx *units) {
  size_t at = p->programs.n;
  put_lx(p, units);
  put(p, NEO_RT_OP_END);
  return (int32_t)at;
}

/* ---- which sizes */

typedef struct {
  const neo_module *m;
  bool *used;
} size_use;

static void use_size(void *ctx, neo_expr e) {
  const size_use *u = ctx;
  const neo_node *n = neo_expr_node(u->m, e);
  if (n->op != NEO_OP_SIZE)
    return;
  const neo_size_rec *size = &u->m->sizes.at[n->attr];
  if (size->kind == NEO_SIZE_DERIVED)
    neo_plan_sizes(u->m, size->value, u->used);
  else
    u->used[n->attr] = true;
}

void neo_plan_sizes(const neo_module *m, neo_expr e, bool *used) {
  size_use u = {m, used};
  if (e.i)
    neo_expr_visit(m, e, use_size, &u);
}

/* Size expressions in reverse Polish code (neo_rt.h). Equal expressions share a program. */
#include "codegen/plan_internal.h"
#include <assert.h>

static void put(neo_plan *p, int64_t word) {
  NEO_PUSH(p->arena, &p->programs, word);
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
    return NEO_RT_OP_MIN;
  case NEO_OP_MAX:
    return NEO_RT_OP_MAX;
  default:
    return NEO_RT_OP_END;
  }
}

static void put_constant(neo_plan *p, int64_t x) {
  put(p, NEO_RT_OP_CONST);
  put(p, x);
}

static void put_expr(neo_plan *p, neo_expr e) {
  neo_node n = *neo_expr_node(p->m, e);
  int64_t x;
  if (neo_expr_is_int(p->m, e, &x)) {
    put_constant(p, x);
  } else if (n.op == NEO_OP_SIZE) {
    put(p, NEO_RT_OP_SIZE);
    put(p, (int64_t)n.attr - 1);
  } else if (n.op == NEO_OP_NEG) {
    put_constant(p, 0);
    put_expr(p, neo_list_expr(p->m, n.arg, 0));
    put(p, NEO_RT_OP_SUB);
  } else {
    int64_t code = code_of((neo_op)n.op);
    assert(code != NEO_RT_OP_END && "a size is made of constants, sizes and integer arithmetic");
    put_expr(p, neo_list_expr(p->m, n.arg, 0));
    put_expr(p, neo_list_expr(p->m, n.arg, 1));
    put(p, code);
  }
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

int32_t neo_plan_bytes(neo_plan *p, neo_tensor t) {
  neo_module *m = p->m;
  neo_expr n = neo_const_int(m, NEO_I64_T, neo_type_bytes((neo_type)neo_tensor_at(m, t)->type));
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    n = neo_op2(m, NEO_OP_MUL, n, neo_tensor_extent(m, t, k));
  return neo_plan_program(p, n);
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

/* Expressions of a form as expressions of the loop IR.
 *
 * Sums of indices are built from the outermost loop inwards, ((b*784 + i) + row) + lane, so that
 * loop-invariant parts can be computed outside of loops. The conditions around a load (select, and,
 * or, where, dead lanes) guard it, unless it is proved to be inside of its buffer. */
#include "codegen/lower/common/scope.h"
#include <assert.h>
#include <string.h>

/* ---- sums */

static const neo_lx *lower(lowering *l, neo_expr e);
static const neo_lx *lower_node(lowering *l, neo_expr e);

static uint32_t axis_depth(const lowering *l, uint32_t axis) {
  uint32_t depth = 0;
  for (uint32_t k = 0; k < l->axis[axis].n; k++)
    if (l->axis[axis].at[k].depth > depth)
      depth = l->axis[axis].at[k].depth;
  return depth;
}

/* Depth of the innermost loop in which the expression varies. */
static uint32_t expr_depth(lowering *l, neo_expr e) {
  uint64_t axes = neo_form_axes(l->m, l->f, e);
  uint32_t depth = 0;
  for (uint32_t k = 0; k < NEO_FORM_MAX_AXES; k++)
    if (axes >> k & 1 && axis_depth(l, k) > depth)
      depth = axis_depth(l, k);
  return depth;
}

static const neo_lx *lower_linear(lowering *l, neo_expr e, const neo_linear *x) {
  lower_terms t = {.n = 0};
  (void)e;
  for (uint32_t k = 0; k < x->n; k++) {
    const neo_node *n = neo_expr_node(l->m, x->term[k].atom);
    if (n->op == NEO_OP_AXIS)
      neo_lower_add_axis(l, &t, n->attr, x->term[k].coef);
    else
      neo_lower_add_term(&t, lower_node(l, x->term[k].atom), x->term[k].coef,
                         expr_depth(l, x->term[k].atom));
  }
  return neo_lower_sum(l, &t, x->constant);
}

/* ---- loads */

static const neo_lx *zero_of(lowering *l, neo_type t) {
  neo_value v = {.i = 0};
  if (neo_type_is_float(t))
    v.f = 0;
  return neo_lx_const(l->k, t, v);
}

/* Is the load inside of its buffer for all values of the axes in their ranges? */
static bool is_safe(lowering *l, neo_expr load) {
  uint64_t known;
  if (neo_map_get(&l->safe, load.i, &known))
    return known;
  bool safe = neo_form_inside(l->m, l->p, l->f, &l->facts, load);
  neo_map_set(&l->safe, load.i, safe);
  return safe;
}

/* Is the offset that of an element of the tensor? */
static const neo_lx *in_tensor(lowering *l, neo_tensor t, const neo_lx *at) {
  const neo_lx *n = lower(l, neo_tensor_elements(l->m, t));
  n = lx_sub(l, n, lx_int(l, neo_form_base(l->f, t)));
  return neo_lx_op2(l->k, NEO_OP_AND, neo_lx_op2(l->k, NEO_OP_LE, lx_int(l, 0), at),
                    neo_lx_op2(l->k, NEO_OP_LT, at, n));
}

/* Can the expression differ between live and dead lanes? */
static bool differs_under_mask(const lowering *l, neo_expr e) {
  return l->mask_axis >= 0 && neo_form_axes(l->m, l->f, e) >> l->mask_axis & 1;
}

static const neo_lx *lower_load(lowering *l, neo_expr e) {
  const neo_node *n = neo_expr_node(l->m, e);
  uint64_t buf = 0;
  bool known = neo_map_get(&l->buf_of, n->attr, &buf);
  assert(known && "a load of a tensor that the group does not read");
  (void)known;
  const neo_lx *guard = l->guard;
  if (guard && !l->exact && is_safe(l, e))
    guard = NULL;
  /* a guard says nothing about a dead lane */
  bool masked = l->mask && (guard || differs_under_mask(l, e));
  if (masked)
    guard = guard ? neo_lx_op2(l->k, NEO_OP_AND, l->mask, guard) : l->mask;
  const neo_lx *at = lower(l, neo_flat_at(l->m, e));
  if (l->bounded)
    guard = lx_and(l, guard, in_tensor(l, (neo_tensor){n->attr}, at));
  if (!guard || neo_lx_always_loads(guard, (uint32_t)buf, at))
    return neo_lx_load(l->k, (uint32_t)buf, at);
  return neo_lx_loadif(l->k, (uint32_t)buf, at, guard, zero_of(l, (neo_type)n->type));
}

/* A load that tightening guarded in a bound. Its value where the guard fails does not matter. */
static const neo_lx *lower_load_else(lowering *l, neo_expr e) {
  neo_node n = *neo_expr_node(l->m, e);
  uint64_t buf = 0;
  neo_tensor t = {n.attr};
  neo_map_get(&l->buf_of, n.attr, &buf);
  const neo_lx *other = lower(l, neo_list_expr(l->m, n.arg, n.arg.n - 1));
  const neo_lx *at = n.arg.n > 1 ? lower(l, neo_list_expr(l->m, n.arg, 0)) : lx_int(l, 0);
  const neo_lx *high = lower(l, neo_tensor_elements(l->m, t));
  const neo_lx *cond = neo_lx_op2(l->k, NEO_OP_AND, neo_lx_op2(l->k, NEO_OP_LE, lx_int(l, 0), at),
                                  neo_lx_op2(l->k, NEO_OP_LT, at, high));
  return neo_lx_loadif(l->k, (uint32_t)buf, at, cond, other);
}

/* The packed operand's element at the current axes. */
static const neo_lx *lower_packed(lowering *l, const pack *p) {
  const tile *t = l->tile;
  lower_terms sum = {.n = 0};
  uint32_t first = (uint32_t)l->f->axes.n;
  for (uint32_t k = 0; k < l->stage->axes.n; k++)
    if (p->k_coef[k]) {
      neo_lower_add_axis(l, &sum, first + k, p->k_coef[k]);
      neo_lower_add_term(&sum, l->k_origin[k], -p->k_coef[k], l->k_origin_depth);
    }
  if (p->side == NEO_SIDE_ROWS) {
    neo_lower_add_term(&sum, t->m_pack, p->tile_coef, t->m_depth);
    neo_lower_add_term(&sum, t->m_sub, p->unit, t->m_depth);
    if (l->row)
      neo_lower_add_term(&sum, l->row, p->unit, DEPTH_UNROLL);
  } else {
    neo_lower_add_term(&sum, t->n_pack, p->tile_coef, t->n_depth);
    neo_lower_add_term(&sum, t->n_sub, 1, t->n_depth);
    if (l->col)
      neo_lower_add_term(&sum, l->col, t->width, DEPTH_UNROLL);
    if (l->lane)
      neo_lower_add_term(&sum, l->lane, 1, DEPTH_LANE);
  }
  return neo_lx_load(l->k, p->buf, neo_lower_sum(l, &sum, p->shift));
}

/* ---- nodes */

static const neo_lx *under(lowering *l, const neo_lx *cond, neo_expr e) {
  const neo_lx *outer = l->guard;
  l->guard = outer ? neo_lx_op2(l->k, NEO_OP_AND, outer, cond) : cond;
  const neo_lx *y = lower(l, e);
  l->guard = outer;
  return y;
}

static const neo_lx *negated(lowering *l, const neo_lx *cond) {
  return neo_lx_op1(l->k, NEO_OP_NOT, cond);
}

static const neo_lx *lower_select(lowering *l, neo_expr e) {
  const neo_lx *cond = lower(l, neo_expr_arg(l->m, e, 0));
  const neo_lx *yes = under(l, cond, neo_expr_arg(l->m, e, 1));
  /* select(c, load, 0) is the load itself, whose guard gives 0 where c fails */
  bool zero = neo_expr_is_positive_zero(l->m, neo_expr_arg(l->m, e, 2));
  if (zero && yes->kind == NEO_LX_LOADIF && !l->guard && !l->mask && yes->arg[1] == cond)
    return yes;
  const neo_lx *no = under(l, negated(l, cond), neo_expr_arg(l->m, e, 2));
  return neo_lx_op3(l->k, NEO_OP_SELECT, cond, yes, no);
}

static const neo_lx *lower_logic(lowering *l, neo_expr e, neo_op op) {
  const neo_lx *a = lower(l, neo_expr_arg(l->m, e, 0));
  const neo_lx *b = under(l, op == NEO_OP_AND ? a : negated(l, a), neo_expr_arg(l->m, e, 1));
  return neo_lx_op2(l->k, op, a, b);
}

static const neo_lx *lower_const(lowering *l, const neo_node *n) {
  neo_value v = {.i = (int64_t)l->m->constants.at[n->attr]};
  if (neo_type_is_float((neo_type)n->type))
    memcpy(&v.f, &l->m->constants.at[n->attr], sizeof v.f);
  return neo_lx_const(l->k, (neo_type)n->type, v);
}

static const neo_lx *lower_size(lowering *l, uint32_t id) {
  const neo_size_rec *r = neo_size_at(l->m, (neo_size){id});
  if (r->kind == NEO_SIZE_DERIVED)
    return lower(l, r->value);
  return neo_lx_size(l->k, neo_size_number(l->m, (neo_size){id}));
}

void neo_lower_in_fragments(lowering *l, uint32_t fragments, const neo_lx *row, const neo_lx *col,
                            const neo_lx **out) {
  const neo_lx *two = lx_int(l, 2);
  out[0] = lx_add(l, lx_mul(l, lx_div(l, row, 2), fragments), lx_div(l, col, 2));
  out[1] = lx_add(l, lx_mul(l, neo_lx_op2(l->k, NEO_OP_MOD, row, two), 2),
                  neo_lx_op2(l->k, NEO_OP_MOD, col, two));
}

const neo_lx *neo_lower_acc_row(lowering *l, const acc_reg *r) {
  const neo_lx *row = lx_or_0(l, l->row);
  return r->first_row ? lx_add(l, row, lx_int(l, r->first_row)) : row;
}

const neo_lx *neo_lower_acc(lowering *l, uint32_t acc) {
  const acc_reg *r = &l->acc[acc];
  const neo_lx *zero = lx_int(l, 0), *index[3];
  assert(r->live && "an accumulator is used before its stage");
  index[0] = neo_lower_acc_row(l, r);
  index[1] = l->col && r->columns ? l->col : zero; /* a single column holds the joined copies */
  index[2] = l->lane ? l->lane : zero;
  if (r->fragments)
    neo_lower_in_fragments(l, r->fragments, index[0], l->col ? l->col : zero, index);
  return neo_lx_reg(l->k, r->reg, index, r->rank);
}

static const neo_lx *lower_elementwise(lowering *l, neo_expr e) {
  neo_node n = *neo_expr_node(l->m, e);
  const neo_lx *arg[16];
  assert(n.arg.n <= 16);
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = lower(l, neo_list_expr(l->m, n.arg, k));
  bool wraps = n.type == NEO_I64_T && arg[0]->kind == NEO_LX_OP; /* transform/wrapping.c */
  if (n.op == NEO_OP_STOP && !wraps)
    return arg[0];
  if (n.op == NEO_OP_CAST)
    return neo_lx_cast(l->k, (neo_type)n.type, arg[0]);
  return neo_lx_op(l->k, (neo_op)n.op, (neo_type)n.type, arg, n.arg.n);
}

static const neo_lx *lower_node(lowering *l, neo_expr e) {
  const neo_node *n = neo_expr_node(l->m, e);
  switch (n->op) {
  case NEO_OP_CONST:
    return lower_const(l, n);
  case NEO_OP_AXIS:
    return neo_lower_axis(l, n->attr);
  case NEO_OP_SIZE:
    return lower_size(l, n->attr);
  case NEO_OP_ACC:
    return l->acc_value ? l->acc_value : neo_lower_acc(l, n->attr);
  case NEO_OP_STEP:
    return neo_lx_key(l->k, 1);
  case NEO_OP_TRAINING:
    neo_lower_fail(l, "`training` was not replaced by a constant");
    return neo_lx_const(l->k, NEO_BOOL_T, (neo_value){.i = 0});
  case NEO_OP_RAND:
    return neo_lx_rand(l->k, (neo_type)n->type, n->attr, lower(l, neo_expr_arg(l->m, e, 0)));
  case NEO_OP_LOAD:
    return lower_load(l, e);
  case NEO_OP_LOAD_ELSE:
    return lower_load_else(l, e);
  case NEO_OP_SELECT:
    return lower_select(l, e);
  case NEO_OP_AND:
  case NEO_OP_OR:
    return lower_logic(l, e, (neo_op)n->op);
  default:
    return lower_elementwise(l, e);
  }
}

static bool is_sum(neo_op op) {
  return op == NEO_OP_ADD || op == NEO_OP_SUB || op == NEO_OP_NEG || op == NEO_OP_MUL;
}

/* Does the product have packed operands? It must not become a linear form then: that of a*(b + c)
 * is a*b + a*c, which would not read the packed copy of b + c, nor the zeros in it that replace the
 * condition. */
static bool preserves_factors(const lowering *l, neo_op op) {
  return l->tile && l->n_packs && op == NEO_OP_MUL;
}

static const neo_lx *lower(lowering *l, neo_expr e) {
  neo_node n = *neo_expr_node(l->m, e);
  uint64_t known, key = e.i | (uint64_t)(l->guard ? l->guard->id + 1 : 0) << 32;
  neo_linear x;
  if (neo_map_get(&l->memo, key, &known))
    return l->k->nodes.at[known];
  const neo_lx *y = neo_lower_stashed(l, e);
  if (y)
    return y;
  if (l->tile && neo_map_get(&l->packed, e.i, &known))
    y = lower_packed(l, &l->packs[known - 1]);
  else if (n.type == NEO_I64_T && is_sum((neo_op)n.op) && !preserves_factors(l, (neo_op)n.op) &&
           neo_flat_linear(l->m, e, &x))
    y = lower_linear(l, e, &x);
  else
    y = lower_node(l, e);
  neo_map_set(&l->memo, key, y->id);
  return y;
}

const neo_lx *neo_lower_expr(lowering *l, neo_expr e) {
  return lower(l, e);
}

const neo_lx *neo_lower_cond(lowering *l, neo_expr e) {
  return e.i ? lower(l, e) : NULL;
}

/* Building a module: expressions, folded where their arguments say enough, and the record
 * tables. */
#include "ir/node.h"
#include <assert.h>

neo_module *neo_module_new(neo_arena *a, neo_names *names, neo_diags *d, const char *name) {
  neo_module *m = NEO_NEW(a, neo_module);
  m->arena = a;
  m->names = names;
  m->diags = d;
  m->name = neo_name_of(names, name);
  neo_map_init(&m->intern, a);
  neo_map_init(&m->named, a);
  neo_map_init(&m->copies, a);
  NEO_PUSH(a, &m->pool, 0); /* the first element is unused, so that an empty list can have at ==
                               0 */
  NEO_PUSH(a, &m->nodes, (neo_node){0});
  NEO_PUSH(a, &m->used, 0);
  NEO_PUSH(a, &m->accs, 0);
  NEO_PUSH(a, &m->sizes, (neo_size_rec){0});
  NEO_PUSH(a, &m->axes, (neo_axis_rec){0});
  NEO_PUSH(a, &m->tensors, (neo_tensor_rec){0});
  NEO_PUSH(a, &m->defs, (neo_def_rec){0});
  NEO_PUSH(a, &m->rows, (neo_rows_rec){0});
  NEO_PUSH(a, &m->regions, (neo_region_rec){0});
  return m;
}

/* ---- lists */

neo_list neo_list_new(neo_module *m, const uint32_t *at, size_t n) {
  if (n == 0)
    return (neo_list){0, 0};
  neo_list l = {(uint32_t)m->pool.n, (uint32_t)n};
  /* A pool that moves leaves its old storage readable, so `at` may point into it. */
  for (size_t k = 0; k < n; k++)
    NEO_PUSH(m->arena, &m->pool, at[k]);
  return l;
}

neo_list neo_list_one(neo_module *m, uint32_t id) {
  return neo_list_new(m, &id, 1);
}

/* The list with x appended; in place when it ends the pool. */
static neo_list list_append(neo_module *m, neo_list l, uint32_t x) {
  if (l.n == 0 || l.at + l.n != m->pool.n)
    l = neo_list_new(m, m->pool.at + l.at, l.n);
  if (l.n == 0)
    l.at = (uint32_t)m->pool.n;
  NEO_PUSH(m->arena, &m->pool, x);
  l.n++;
  return l;
}

/* ---- expressions */

/* The value of arm k of a choice by c: the arm of e, if e is a choice by c itself. */
static neo_expr arm_of(const neo_module *m, neo_expr c, neo_expr e, uint32_t k) {
  const neo_node *n = neo_expr_node(m, e);
  bool same = n->op == NEO_OP_SELECT && neo_list_at(m, n->arg, 0) == c.i;
  return same ? neo_list_expr(m, n->arg, k) : e;
}

neo_expr neo_expr_make(neo_module *m, neo_op op, neo_type type, uint32_t attr, const neo_expr *arg,
                       size_t n, neo_span span) {
  neo_expr arms[3];
  assert(n <= NEO_NODE_ARGS);
  if (op == NEO_OP_SELECT) { /* select(c, select(c, x, _), select(c, _, y)) -> select(c, x, y) */
    arms[0] = arg[0];
    arms[1] = arm_of(m, arg[0], arg[1], 1);
    arms[2] = arm_of(m, arg[0], arg[2], 2);
    arg = arms;
  }
  neo_expr e = neo_fold(m, op, type, arg, n);
  if (e.i)
    return e;
  return neo_node_intern(m, op, type, op == NEO_OP_CONST ? m->constants.at[attr] : attr, arg, n,
                         span);
}

static neo_type result_type(const neo_module *m, neo_op op, const neo_expr *arg) {
  switch (neo_op_rule(op)) {
  case NEO_RULE_CMP:
  case NEO_RULE_LOGIC:
    return NEO_BOOL_T;
  case NEO_RULE_SELECT:
    return neo_expr_type(m, arg[1]);
  default:
    return neo_expr_type(m, arg[0]);
  }
}

static neo_expr operation(neo_module *m, neo_op op, const neo_expr *arg, size_t n) {
  assert(neo_op_arity(op) == (int)n && op != NEO_OP_CAST && neo_op_is_elementwise(op));
  return neo_expr_make(m, op, result_type(m, op, arg), 0, arg, n, 0);
}

neo_expr neo_op1(neo_module *m, neo_op op, neo_expr a) {
  return operation(m, op, &a, 1);
}

neo_expr neo_op2(neo_module *m, neo_op op, neo_expr a, neo_expr b) {
  return operation(m, op, (neo_expr[]){a, b}, 2);
}

neo_expr neo_op3(neo_module *m, neo_op op, neo_expr a, neo_expr b, neo_expr c) {
  return operation(m, op, (neo_expr[]){a, b, c}, 3);
}

neo_expr neo_between(neo_module *m, neo_expr lo, neo_expr x, neo_expr hi) {
  return neo_op2(m, NEO_OP_AND, neo_op2(m, NEO_OP_LE, lo, x), neo_op2(m, NEO_OP_LT, x, hi));
}

neo_expr neo_both(neo_module *m, neo_expr a, neo_expr b) {
  return a.i && b.i ? neo_op2(m, NEO_OP_AND, a, b) : a.i ? a : b;
}

neo_expr neo_cast(neo_module *m, neo_type t, neo_expr a) {
  return neo_expr_make(m, NEO_OP_CAST, t, 0, &a, 1, 0);
}

neo_expr neo_load(neo_module *m, neo_tensor t, const neo_expr *index, size_t n, neo_span span) {
  neo_type type = neo_tensor_type(m, t);
  return neo_expr_make(m, NEO_OP_LOAD, type, t.i, index, n, span);
}

neo_expr neo_load_else(neo_module *m, neo_tensor t, const neo_expr *index, size_t n, neo_expr other,
                       neo_span span) {
  neo_expr arg[NEO_NODE_ARGS];
  neo_type type = neo_tensor_type(m, t);
  assert(n < NEO_NODE_ARGS);
  for (size_t k = 0; k < n; k++)
    arg[k] = index[k];
  arg[n] = other;
  return neo_expr_make(m, NEO_OP_LOAD_ELSE, type, t.i, arg, n + 1, span);
}

neo_expr neo_load_else_zero(neo_module *m, neo_expr load) {
  neo_node n = *neo_expr_node(m, load);
  neo_type type = (neo_type)n.type;
  neo_expr at[NEO_DEF_AXES];
  assert(n.arg.n < NEO_NODE_ARGS);
  if (!n.arg.n)
    return load;
  for (uint32_t k = 0; k < n.arg.n; k++)
    at[k] = neo_list_expr(m, n.arg, k);
  neo_expr none = neo_const_int(m, type, 0);
  return neo_load_else(m, (neo_tensor){n.attr}, at, n.arg.n, none, n.span);
}

/* ---- records */

neo_size neo_size_add(neo_module *m, neo_size_rec rec) {
  NEO_PUSH(m->arena, &m->sizes, rec);
  return (neo_size){(uint32_t)m->sizes.n - 1};
}

/* The number of sizes before the indices of loops, which are added after all other sizes. */
static uint32_t sizes_of_calls(const neo_module *m) {
  uint32_t n = (uint32_t)m->sizes.n;
  while (n > 1 && m->sizes.at[n - 1].loop_index)
    n--;
  return n - 1;
}

uint32_t neo_size_number(const neo_module *m, neo_size s) {
  const neo_size_rec *r = neo_size_at(m, s);
  return r->loop_index ? sizes_of_calls(m) + r->depth : s.i - 1;
}

uint32_t neo_size_numbers(const neo_module *m) {
  uint32_t n = sizes_of_calls(m), deepest = 0;
  for (uint32_t k = n + 1; k < m->sizes.n; k++)
    deepest = m->sizes.at[k].depth + 1u > deepest ? m->sizes.at[k].depth + 1u : deepest;
  return n + deepest;
}

neo_axis neo_axis_add(neo_module *m, neo_axis_rec rec) {
  NEO_PUSH(m->arena, &m->axes, rec);
  return (neo_axis){(uint32_t)m->axes.n - 1};
}

neo_list neo_axes_add(neo_module *m, const neo_axis_rec *axis, uint32_t n) {
  uint32_t id[NEO_DEF_AXES];
  assert(n <= NEO_DEF_AXES);
  for (uint32_t k = 0; k < n; k++)
    id[k] = neo_axis_add(m, axis[k]).i;
  return neo_list_new(m, id, n);
}

neo_expr neo_axis_points(neo_module *m, const neo_axis_rec *x) {
  neo_expr n = neo_op2(m, NEO_OP_SUB, x->hi, x->lo);
  const neo_node *e = neo_expr_node(m, n);
  int64_t known;
  if (neo_expr_is_int(m, n, &known))
    return known < 0 ? neo_const_i64(m, 0) : n;
  if (e->op == NEO_OP_SIZE && neo_size_at(m, (neo_size){e->attr})->lo >= 0)
    return n;
  return neo_op2(m, NEO_OP_MAX, n, neo_const_i64(m, 0));
}

neo_tensor neo_tensor_add(neo_module *m, neo_tensor_rec rec) {
  if (!neo_map_get(&m->named, rec.name, NULL))
    neo_map_set(&m->named, rec.name, m->tensors.n);
  NEO_PUSH(m->arena, &m->tensors, rec);
  return (neo_tensor){(uint32_t)m->tensors.n - 1};
}

neo_def neo_def_add(neo_module *m, neo_def_rec rec, bool piece) {
  neo_def d = {(uint32_t)m->defs.n};
  NEO_PUSH(m->arena, &m->defs, rec);
  for (uint32_t k = 0; piece && k < rec.out.n; k++) {
    neo_tensor t = {neo_list_at(m, rec.out, k)};
    neo_tensor_at(m, t)->pieces = list_append(m, neo_tensor_at(m, t)->pieces, d.i);
  }
  return d;
}

neo_axis_rec *neo_def_axis(const neo_module *m, const neo_def_rec *d, uint32_t k) {
  return neo_axis_at(m, (neo_axis){neo_list_at(m, d->axes, k)});
}

uint32_t neo_tensor_rank(const neo_module *m, neo_tensor t) {
  return neo_tensor_at(m, t)->extent.n;
}

neo_expr neo_tensor_extent(const neo_module *m, neo_tensor t, uint32_t dim) {
  return neo_list_expr(m, neo_tensor_at(m, t)->extent, dim);
}

neo_tensor neo_tensor_find(const neo_module *m, const char *name) {
  uint64_t t = 0;
  neo_map_get(&m->named, neo_name_of(m->names, name), &t);
  return (neo_tensor){(uint32_t)t};
}

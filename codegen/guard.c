/* See guard.h. */
#include "codegen/guard.h"
#include <assert.h>

/* The buffer of a tensor that the group reads. */
static uint32_t buffer_of(const neo_kernel *k, neo_tensor t) {
  for (uint32_t b = 0; b < k->bufs.n; b++)
    if (k->bufs.at[b].tensor.i == t.i && !(k->bufs.at[b].use & NEO_BUF_SCRATCH))
      return b;
  assert(false && "a group reads its conditions");
  return 0;
}

static const neo_lx *value_of(neo_module *m, neo_kernel *k, neo_expr e);

/* An element at a fixed position; the kernel's memory of it begins where its form says. */
static const neo_lx *element_of(neo_module *m, neo_kernel *k, const neo_node *n) {
  neo_tensor t = {n->attr};
  const neo_lx *at = neo_lx_int(k, 0);
  for (uint32_t i = 0; i < n->arg.n; i++) {
    const neo_lx *extent = value_of(m, k, neo_tensor_extent(m, t, i));
    at = neo_lx_op2(k, NEO_OP_MUL, at, extent);
    at = neo_lx_op2(k, NEO_OP_ADD, at, value_of(m, k, neo_list_expr(m, n->arg, i)));
  }
  uint32_t b = buffer_of(k, t);
  at = neo_lx_op2(k, NEO_OP_SUB, at, neo_lx_int(k, k->bufs.at[b].shift));
  return neo_lx_load(k, b, at);
}

static const neo_lx *size_of(neo_module *m, neo_kernel *k, neo_size s) {
  const neo_size_rec *r = neo_size_at(m, s);
  return r->kind == NEO_SIZE_DERIVED ? value_of(m, k, r->value)
                                     : neo_lx_size(k, neo_size_number(m, s));
}

static const neo_lx *constant_of(neo_module *m, neo_kernel *k, neo_expr e, neo_type type) {
  double x = 0;
  int64_t c = 0;
  if (neo_type_is_float(type))
    return neo_expr_is_float(m, e, &x) ? neo_lx_const(k, type, (neo_value){.f = x}) : NULL;
  return neo_expr_is_int(m, e, &c) ? neo_lx_const(k, type, (neo_value){.i = c}) : NULL;
}

/* The value of a condition (ir/condition.h) in the kernel. */
static const neo_lx *value_of(neo_module *m, neo_kernel *k, neo_expr e) {
  enum { MOST_ARGUMENTS = 3 };
  neo_node n = *neo_expr_node(m, e);
  const neo_lx *arg[MOST_ARGUMENTS];
  if (n.op == NEO_OP_CONST)
    return constant_of(m, k, e, (neo_type)n.type);
  if (n.op == NEO_OP_LOAD)
    return element_of(m, k, &n);
  if (n.op == NEO_OP_SIZE)
    return size_of(m, k, (neo_size){n.attr});
  assert(n.arg.n <= MOST_ARGUMENTS && "an elementwise operator");
  for (uint32_t i = 0; i < n.arg.n; i++)
    arg[i] = value_of(m, k, neo_list_expr(m, n.arg, i));
  return neo_lx_op(k, (neo_op)n.op, (neo_type)n.type, arg, n.arg.n);
}

static const neo_lx *condition_of(neo_module *m, neo_kernel *k, const neo_group *g) {
  const neo_lx *all = NULL;
  for (size_t i = 0; i < g->when.n; i++) {
    const neo_lx *x = value_of(m, k, g->when.at[i]);
    all = all ? neo_lx_op2(k, NEO_OP_AND, all, x) : x;
  }
  return all;
}

static bool is_unit_loop(const neo_ls *s) {
  return s->kind == NEO_LS_FOR && s->loop.kind == NEO_LOOP_UNIT;
}

static bool has_unit_loop(const neo_block *b) {
  for (size_t i = 0; i < b->n; i++)
    if (is_unit_loop(b->at[i]))
      return true;
  return false;
}

/* Statements `from` to `to` of a block go into an `if`. */
static void put_under(neo_kernel *k, neo_block *out, const neo_lx *c, const neo_block *in,
                      size_t from, size_t to) {
  if (from == to)
    return;
  neo_block *then = &neo_ls_if(k, out, c)->branch.then;
  for (size_t i = from; i < to; i++)
    NEO_PUSH(k->arena, then, in->at[i]);
}

static void guard_block(neo_kernel *k, neo_block *b, const neo_lx *c);

/* Producer and consumers of a specialized statement each test the condition. Statements before an
 * arm's loop over units belong to the whole block, so they stay outside of the test. */
static void guard_arms(neo_kernel *k, neo_ls *s, const neo_lx *c) {
  for (int arm = 0; arm < 2; arm++) {
    neo_block *b = &s->specialize.arm[arm];
    if (!has_unit_loop(b))
      guard_block(k, b, c);
    for (size_t i = 0; i < b->n; i++)
      if (is_unit_loop(b->at[i]))
        guard_block(k, &b->at[i]->loop.body, c);
  }
}

static void guard_block(neo_kernel *k, neo_block *b, const neo_lx *c) {
  neo_block in = *b, out = {0};
  size_t from = 0;
  for (size_t i = 0; i < in.n; i++) {
    neo_ls *s = in.at[i];
    if (!is_unit_loop(s) && s->kind != NEO_LS_SPECIALIZE)
      continue;
    put_under(k, &out, c, &in, from, i);
    from = i + 1;
    if (is_unit_loop(s))
      guard_block(k, &s->loop.body, c);
    else
      guard_arms(k, s, c);
    NEO_PUSH(k->arena, &out, s);
  }
  put_under(k, &out, c, &in, from, in.n);
  *b = out;
}

void neo_kernel_put_under(neo_kernel *k, const neo_lx *condition) {
  if (condition)
    guard_block(k, &k->body, condition);
}

void neo_kernel_guard(neo_module *m, neo_kernel *k, const neo_group *g) {
  neo_kernel_put_under(k, condition_of(m, k, g));
}

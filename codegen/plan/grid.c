/* Prices of launches, and the work of kernels as the number of their operations. */
#include "codegen/plan/grid.h"

typedef struct {
  const neo_kernel *k;
  const int64_t *sizes;
  uint32_t *seen, stamp; /* by node: counted in the statement of this number */
} counter;

/* The value of e with each variable at its first value and each load 0. */
static int64_t value_of(const counter *c, const neo_lx *e) {
  int64_t x;
  if (neo_lx_is_int(e, &x))
    return x;
  if (e->kind == NEO_LX_SIZE)
    return c->sizes[e->attr];
  if (e->kind != NEO_LX_OP || e->n != 2)
    return 0;
  int64_t a = value_of(c, e->arg[0]), b = value_of(c, e->arg[1]);
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
    return a + b;
  case NEO_OP_SUB:
    return a - b;
  case NEO_OP_MUL:
    return a * b;
  case NEO_OP_DIV:
    return b ? a / b : 0;
  case NEO_OP_MIN:
    return a < b ? a : b;
  case NEO_OP_MAX:
    return a > b ? a : b;
  default:
    return 0;
  }
}

static double nodes_of(counter *c, const neo_lx *e) {
  double n = 1;
  if (c->seen[e->id] == c->stamp)
    return 0;
  c->seen[e->id] = c->stamp;
  for (uint32_t k = 0; k < e->n; k++)
    n += nodes_of(c, e->arg[k]);
  return n;
}

static double own_work(counter *c, const neo_ls *s) {
  enum { WARP_PRODUCTS = 16 * 8 * 8 };
  if (s->kind == NEO_LS_MMA)
    return WARP_PRODUCTS;
  c->stamp++;
  if (s->kind == NEO_LS_SET)
    return nodes_of(c, s->set.value);
  return s->kind == NEO_LS_STORE ? nodes_of(c, s->store.value) : 1;
}

static double block_work(counter *c, const neo_block *b);

static double loop_work(counter *c, const neo_ls *s) {
  int64_t length = value_of(c, s->loop.hi) - value_of(c, s->loop.lo), step = s->loop.step;
  int64_t trips = (length + step - 1) / step;
  return block_work(c, &s->loop.body) * (double)(trips > 0 ? trips : 0);
}

/* The work of a statement. Of the blocks inside of it (arms) the longest one counts. */
static double statement_work(counter *c, const neo_ls *s) {
  double most = 0;
  if (s->kind == NEO_LS_FOR)
    return loop_work(c, s);
  for (uint32_t k = 0; neo_ls_block(s, k); k++) {
    double n = block_work(c, neo_ls_block(s, k));
    most = n > most ? n : most;
  }
  return own_work(c, s) + most;
}

static double block_work(counter *c, const neo_block *b) {
  double n = 0;
  for (size_t i = 0; i < b->n; i++)
    n += statement_work(c, b->at[i]);
  return n;
}

double neo_kernel_work(const neo_kernel *k, const int64_t *sizes) {
  neo_arena scratch = neo_arena_scratch(k->arena);
  counter c = {k, sizes, NEO_NEW_ARRAY(&scratch, uint32_t, k->nodes.n + 1), 0};
  double n = block_work(&c, &k->body);
  neo_arena_free(&scratch);
  return n;
}

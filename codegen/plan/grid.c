/* Prices of launches, and what kernels take by the count of their operations. */
#include "codegen/plan/grid.h"

double neo_grid_seconds(neo_grid_price of) {
  static const double price[] = {
#define X(name, seconds, meaning) seconds,
#include "codegen/plan/grid.def"
#undef X
  };
  return price[of];
}

typedef struct {
  const neo_kernel *k;
  const int64_t *sizes;
  uint32_t *seen, stamp; /* by node: counted in the statement of this number */
} counter;

/* Variables are where they begin, and what is loaded is 0. */
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
  if (s->kind == NEO_LS_WARP && !neo_warp_rows[s->op].memory)
    return WARP_PRODUCTS;
  c->stamp++;
  return s->value ? nodes_of(c, s->value) : 1;
}

static double block_work(counter *c, const neo_block *b) {
  double n = 0;
  for (size_t i = 0; i < b->n; i++) {
    const neo_ls *s = b->at[i];
    double body = block_work(c, &s->body), other = block_work(c, &s->other);
    if (s->kind == NEO_LS_FOR) {
      int64_t trips = (value_of(c, s->hi) - value_of(c, s->lo) + s->step - 1) / s->step;
      n += body * (double)(trips > 0 ? trips : 0);
    } else {
      n += own_work(c, s) + (body > other ? body : other);
    }
  }
  return n;
}

double neo_kernel_work(const neo_kernel *k, const int64_t *sizes) {
  neo_arena scratch;
  neo_arena_init(&scratch, k->arena->alloc, k->arena->on_fail);
  counter c = {k, sizes, NEO_NEW_ARRAY(&scratch, uint32_t, k->nodes.n + 1), 0};
  double n = block_work(&c, &k->body);
  neo_arena_free(&scratch);
  return n;
}

static bool has_warpgroups(const neo_block *b) {
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == NEO_LS_WARPGROUP || has_warpgroups(&b->at[i]->body) ||
        has_warpgroups(&b->at[i]->other))
      return true;
  return false;
}

bool neo_kernel_has_warpgroups(const neo_kernel *k) {
  return has_warpgroups(&k->body);
}

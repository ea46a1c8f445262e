/* Indices with branches: a read whose index is select(c, a, b), abs, min, max or clamp of iteration
 * axes is one read under each condition, each solved for itself. Before and after, reflection at 0:
 *     Y[q] = X[select(q < 2, 2 - q, q - 2)]
 *     dX[z] = sum[q where select(q < 2, 2 - q, q - 2) == z] dY[q]
 *     dX[z] = (sum[q where q < 2 and 2 - q == z] + sum[q where not q < 2 and q - 2 == z]) dY[q]
 * The cases exclude each other, so every point is in one term. */
#include "autodiff/internal.h"

enum { MAX_CASES = 16 };

typedef struct {
  neo_module *m;
  neo_expr found; /* first branching node that depends on axes and has none in its arguments */
} search;

static bool branches(neo_op op) {
  return op == NEO_OP_SELECT || op == NEO_OP_ABS || op == NEO_OP_MIN || op == NEO_OP_MAX ||
         op == NEO_OP_CLAMP;
}

static void find(void *ctx, neo_expr e) {
  search *s = ctx;
  const neo_node *n = neo_expr_node(s->m, e);
  if (!s->found.i && branches((neo_op)n->op) && n->type == NEO_I64_T && neo_expr_axes(s->m, e) &&
      ad_is_plain_index(s->m, e))
    s->found = e;
}

/* Conditions and values of a node's cases; returns how many. */
static uint32_t cases_of(ad_state *s, const ad_space *space, neo_expr e, neo_expr *cond,
                         neo_expr *value) {
  neo_module *m = s->m;
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  neo_expr x = neo_expr_arg(m, e, 0), y = op == NEO_OP_ABS ? x : neo_expr_arg(m, e, 1);
  if (op == NEO_OP_SELECT) {
    cond[0] = x;
    value[0] = y;
    value[1] = neo_expr_arg(m, e, 2);
  } else if (op == NEO_OP_ABS) {
    neo_expr zero = neo_const_i64(m, 0);
    cond[0] = neo_op2(m, NEO_OP_LT, x, zero);
    value[0] = neo_op2(m, NEO_OP_SUB, zero, x);
    value[1] = x;
  } else if (op == NEO_OP_CLAMP) {
    neo_expr hi = neo_expr_arg(m, e, 2), ordered = neo_op2(m, NEO_OP_LE, y, hi);
    neo_facts f = {.axes = space->axis, .n_axes = space->n};
    if (!neo_proves(s->env.prover, &f, ordered)) {
      e = neo_op2(m, NEO_OP_MIN, neo_op2(m, NEO_OP_MAX, x, y), hi);
      return cases_of(s, space, e, cond, value);
    }
    cond[0] = neo_op2(m, NEO_OP_LT, x, y);
    cond[1] = neo_op2(m, NEO_OP_LT, hi, x);
    cond[2] = neo_op2(m, NEO_OP_AND, neo_op2(m, NEO_OP_LE, y, x), neo_op2(m, NEO_OP_LE, x, hi));
    value[0] = y;
    value[1] = hi;
    value[2] = x;
    return 3;
  } else {
    cond[0] = op == NEO_OP_MIN ? neo_op2(m, NEO_OP_LE, x, y) : neo_op2(m, NEO_OP_LE, y, x);
    value[0] = x;
    value[1] = y;
  }
  cond[1] = neo_op1(m, NEO_OP_NOT, cond[0]);
  return 2;
}

static bool gather(ad_state *s, const ad_read_at *r, neo_expr where, const neo_expr *index,
                   uint32_t *left) {
  neo_module *m = s->m;
  search find_in = {m, {0}};
  uint32_t rank = neo_tensor_rank(m, r->tensor), n;
  neo_expr cond[3], value[3], with[16];
  for (uint32_t d = 0; d < rank && !find_in.found.i; d++)
    neo_expr_visit(m, index[d], find, &find_in);
  n = find_in.found.i ? cases_of(s, r->space, find_in.found, cond, value) : 0;
  if (n == 0 || *left < n) {
    ad_term *term = NEO_NEW(s->scratch, ad_term);
    if (!ad_gather(&s->env, r->space, where, index, r->tensor, r->value, r->span, term))
      return false;
    ad_adjoint_add(s, r->tensor, term);
    return true;
  }
  *left -= n - 1;
  bool good = true;
  for (uint32_t k = 0; k < n && good; k++) {
    for (uint32_t d = 0; d < rank; d++)
      with[d] = neo_expr_replace(m, index[d], find_in.found, value[k]);
    good = gather(s, r, neo_both(m, where, cond[k]), with, left);
  }
  return good;
}

bool ad_gather_cases(ad_state *s, const ad_read_at *r, const neo_expr *index) {
  uint32_t left = MAX_CASES;
  return gather(s, r, r->where, index, &left);
}

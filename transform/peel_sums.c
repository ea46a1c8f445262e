/* Loop peeling of long sums: the terms for which a guard fails become a sum of their own (index-set
 * splitting: M. Griebl, P. Feautrier, C. Lengauer, "Index set splitting").
 *
 *     G[i, j] = sum[t: T, b] d[t, b, j]*(h[t-1, b, i] else 0)
 *     ->
 *     end.G[j] = sum[t: 1, b] d[t, b, j]*0
 *     G[i, j] = end.G[j] + sum[t: T-1, b] d[t+1, b, j]*h[t, b, i]
 *
 * Gradients of a recurrence's weights are such sums: the first iteration reads the initial value. A
 * product reads an element again for many results, and would evaluate its guard each time. Values
 * are the same, NaN included: no term is dropped for being 0.
 *
 * Only long products of two tensors outside of recurrences are peeled; fusion/recurrence peels the
 * loops of recurrences. */
#include "ir/component.h"
#include "transform/sum_parts.h"
#include "transform/transform.h"

enum { LEAST_PARTS = 8, MOST_PEELED = 4 };

typedef struct {
  neo_whole_sum sum;
  uint32_t at;     /* axis with the peeled end */
  int64_t length;  /* terms to peel; 0: none found */
  bool last;       /* peels the last terms, else the first */
  uint32_t guards; /* guards that fail there */
} peeling;

/* Does axis k run from 0 to a size, and is it long against its end? */
static bool is_long(const peeling *p, uint32_t k, int64_t length) {
  neo_facts none = {0};
  int64_t least, most;
  return neo_sum_is_plain_axis(&p->sum, k) &&
         neo_interval(p->sum.prover, &none, p->sum.axis[k].hi, &least, &most) && least >= length &&
         most >= LEAST_PARTS * length;
}

/* ---- where guards fail */

static void propose(peeling *p, uint32_t k, int64_t length, bool last) {
  if (!p->length && length > 0 && length <= MOST_PEELED && is_long(p, k, length)) {
    p->at = k;
    p->length = length;
    p->last = last;
  }
}

/* Finds where position i = axis k + constant is outside of an extent. */
static void look_position(peeling *p, neo_expr i, neo_expr extent) {
  neo_module *m = p->sum.m;
  neo_linear l, end;
  if (!neo_linear_of(m, i, &l) || l.n != 1 || l.term[0].coef != 1)
    return;
  const neo_node *atom = neo_expr_node(m, l.term[0].atom);
  if (atom->op != NEO_OP_AXIS || atom->attr < p->sum.r.n_out || atom->attr >= p->sum.n)
    return;
  propose(p, atom->attr, -l.constant, false);
  neo_expr past = neo_op2(m, NEO_OP_SUB, p->sum.axis[atom->attr].hi, extent);
  if (neo_linear_of(m, past, &end) && !end.n)
    propose(p, atom->attr, end.constant + l.constant, true);
}

static void look_guard(void *ctx, neo_expr e) {
  peeling *p = ctx;
  const neo_node *n = neo_expr_node(p->sum.m, e);
  neo_tensor t = {n->attr};
  if (n->op != NEO_OP_LOAD_ELSE)
    return;
  p->guards++;
  for (uint32_t k = 0; k < neo_tensor_rank(p->sum.m, t); k++)
    look_position(p, neo_expr_arg(p->sum.m, e, k), neo_tensor_extent(p->sum.m, t, k));
}

static uint32_t guards_of(peeling *p, neo_expr e) {
  p->guards = 0;
  neo_expr_visit(p->sum.m, e, look_guard, p);
  return p->guards;
}

/* ---- the two sums */

static bool peel(peeling *p) {
  const neo_whole_sum *s = &p->sum;
  neo_module *m = s->m;
  neo_expr zero = neo_const_i64(m, 0);
  p->length = 0;
  uint32_t before = guards_of(p, neo_list_expr(m, s->r.body, 0));
  if (!p->length || !neo_sum_is_box(s))
    return false;
  neo_expr length = neo_const_i64(m, p->length);
  neo_expr most = neo_op2(m, NEO_OP_SUB, s->axis[p->at].hi, length);
  neo_sum_part rest = neo_sum_part_of(s, p->at, p->last ? zero : length, most);
  if (guards_of(p, rest.body) >= before)
    return false;
  neo_sum_part end = neo_sum_part_of(s, p->at, p->last ? most : zero, length);
  neo_expr sum_of_end = neo_sum_part_define(s, "end", &end, NEO_SUM_AXES, zero);
  neo_sum_become(&p->sum, &rest, sum_of_end);
  return true;
}

static void peel_def(neo_module *m, neo_prover *prover, neo_def d) {
  peeling p = {.length = 0};
  if (neo_whole_sum_of(m, prover, d, &p.sum) && neo_sum_is_product(&p.sum))
    while (peel(&p))
      ;
}

neo_status neo_pass_peel_sums(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (uint32_t k = 1; k < pass->n_defs; k++) {
    neo_prover_at(pass->p, m->defs.at[k].span);
    if (!pass->number[k])
      peel_def(m, pass->p, (neo_def){k});
  }
  return NEO_OK;
}

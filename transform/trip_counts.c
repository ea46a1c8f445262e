/* Trip counts: sums over the iterations of a loop with an early exit end where the loop did.
 *
 *     alive[t, r] = (alive[t, r - 1] else true) and c[t, r],      trip_count[t]: the trip count
 *     G[i, j] = sum[t: T, r: L] select(alive[t, r], d[t, r, i], 0)*h[t, r, j]
 *     ->
 *     G[i, j] = sum[t: T, r: 0 .. trip_count[t]] d[t, r, i]*h[t, r, j]
 *
 * Terms of iterations that did not run are zero by a factor and are dropped, whatever the other
 * factor is. The pass runs after running_sums.c, whose sums end with their loop. A sum that alive
 * depends on comes before the count, and stays. */
#include "ir/component.h"
#include "ir/limits.h"
#include "ir/prove/prove.h"
#include "ir/trip_count.h"
#include "transform/transform.h"

typedef struct {
  neo_module *m;
  neo_prover *p;
  const uint32_t *number; /* recurrences, by definition */
  neo_def id;
  neo_def_rec d;
  uint32_t axis;       /* reduction axis */
  neo_expr alive;      /* element that is true where the iteration at the axis ran; 0: not found */
  neo_expr trip_count; /* number of iterations that ran */
} sum;

/* ---- finding the trip count */

/* Is trip_count[index] in range wherever the axis has a position? */
static bool is_in_range(const sum *s, neo_tensor trip_count, const neo_expr *index) {
  neo_axis_rec axes[NEO_DEF_AXES];
  neo_facts facts = {axes, s->axis, NULL, 0};
  bool is = true;
  for (uint32_t k = 0; k < s->axis; k++)
    axes[k] = *neo_def_axis(s->m, &s->d, k);
  for (uint32_t k = 0; k < neo_tensor_rank(s->m, trip_count) && is; k++)
    is = neo_prove_index(s->p, &facts, index[k], neo_tensor_extent(s->m, trip_count, k), NULL) ==
         NEO_PROVED;
  return is;
}

static bool is_together(const sum *s, neo_tensor t) {
  uint32_t maker = neo_list_at(s->m, neo_tensor_at(s->m, t)->pieces, 0);
  return s->number[s->id.i] && s->number[s->id.i] == s->number[maker];
}

/* Notes alive[.., AXIS k, ..], whose other indices are known before axis k. */
static void look_alive(void *ctx, neo_expr e) {
  sum *s = ctx;
  neo_module *m = s->m;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor alive = {n.attr};
  neo_expr index[NEO_DEF_AXES];
  uint32_t along = 0;
  if (s->alive.i || n.op != NEO_OP_LOAD || n.type != NEO_BOOL_T || n.arg.n > NEO_DEF_AXES)
    return;
  while (along < n.arg.n && neo_list_at(m, n.arg, along) != neo_axis_ref(m, s->axis).i)
    along++;
  for (uint32_t k = 0, next = 0; k < n.arg.n; k++)
    if (k != along) {
      index[next++] = neo_list_expr(m, n.arg, k);
      if (neo_expr_axes(m, index[next - 1]) >> s->axis)
        return;
    }
  if (along == n.arg.n || !neo_stays_false(m, alive, along) || is_together(s, alive))
    return;
  neo_tensor trip_count = neo_trip_count(m, alive, along);
  if (!trip_count.i || !is_in_range(s, trip_count, index))
    return;
  s->alive = e;
  s->trip_count = neo_cast(m, NEO_I64_T, neo_load(m, trip_count, index, n.arg.n - 1, n.span));
}

/* Does the condition fail where the iteration did not run? */
static bool asks(const sum *s, neo_expr e) {
  return e.i == s->alive.i ||
         (neo_expr_node(s->m, e)->op == NEO_OP_AND &&
          (asks(s, neo_expr_arg(s->m, e, 0)) || asks(s, neo_expr_arg(s->m, e, 1))));
}

/* Is the term zero there? */
static bool is_dead(const sum *s, neo_expr e) {
  const neo_module *m = s->m;
  const neo_node *n = neo_expr_node(m, e);
  switch ((neo_op)n->op) {
  case NEO_OP_CONST:
    return neo_expr_is_zero(m, e);
  case NEO_OP_NEG:
  case NEO_OP_CAST:
    return is_dead(s, neo_expr_arg(m, e, 0));
  case NEO_OP_MUL:
    return is_dead(s, neo_expr_arg(m, e, 0)) || is_dead(s, neo_expr_arg(m, e, 1));
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    return is_dead(s, neo_expr_arg(m, e, 0)) && is_dead(s, neo_expr_arg(m, e, 1));
  case NEO_OP_SELECT:
    return is_dead(s, neo_expr_arg(m, e, 2)) &&
           (asks(s, neo_expr_arg(m, e, 0)) || is_dead(s, neo_expr_arg(m, e, 1)));
  default:
    return false;
  }
}

/* ---- the bound */

/* Simplifies the expression for iterations that ran. */
static neo_expr ran(void *ctx, neo_module *m, neo_expr e) {
  const sum *s = ctx;
  neo_node n = *neo_expr_node(m, e);
  int64_t holds;
  if (e.i == s->alive.i)
    return neo_const_bool(m, true);
  return n.op == NEO_OP_SELECT && neo_expr_is_int(m, neo_list_expr(m, n.arg, 0), &holds)
             ? neo_list_expr(m, n.arg, holds ? 1 : 2)
             : e;
}

static void bound(sum *s) {
  neo_module *m = s->m;
  uint32_t id[NEO_DEF_AXES];
  neo_def_rec d = s->d;
  neo_axis_rec axis = *neo_def_axis(m, &d, s->axis);
  const neo_node *alive = neo_expr_node(m, s->alive);
  bool whole = false;
  for (uint32_t k = 0; k < alive->arg.n; k++)
    whole = whole || (neo_list_at(m, alive->arg, k) == neo_axis_ref(m, s->axis).i &&
                      neo_tensor_extent(m, (neo_tensor){alive->attr}, k).i == axis.hi.i);
  axis.hi = whole ? s->trip_count : neo_op2(m, NEO_OP_MIN, axis.hi, s->trip_count);
  for (uint32_t k = 0; k < d.axes.n; k++)
    id[k] = k == s->axis ? neo_axis_add(m, axis).i : neo_list_at(m, d.axes, k);
  d.axes = neo_list_new(m, id, d.axes.n);
  d.body =
      neo_list_new(m, &(uint32_t){neo_expr_rewrite(m, neo_list_expr(m, d.body, 0), ran, s).i}, 1);
  d.where = d.where.i ? neo_expr_rewrite(m, d.where, ran, s) : d.where;
  int64_t holds;
  if (d.where.i && neo_expr_is_int(m, d.where, &holds) && holds)
    d.where.i = 0;
  *neo_def_at(m, s->id) = s->d = d;
}

static void bound_sum(sum *s) {
  s->d = *neo_def_at(s->m, s->id);
  if (s->d.reducer != NEO_RED_SUM || s->d.body.n != 1 || s->d.axes.n > NEO_DEF_AXES)
    return;
  for (s->axis = s->d.n_out; s->axis < s->d.axes.n; s->axis++) {
    neo_expr body = neo_list_expr(s->m, s->d.body, 0);
    s->alive.i = 0;
    if (s->d.where.i)
      neo_expr_visit(s->m, s->d.where, look_alive, s);
    neo_expr_visit(s->m, body, look_alive, s);
    if (s->alive.i && ((s->d.where.i && asks(s, s->d.where)) || is_dead(s, body)))
      bound(s);
  }
}

neo_status neo_pass_trip_counts(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def *defs;
  size_t n = neo_needed_defs(m, true, pass->a, &defs);
  uint32_t *number = NEO_NEW_ARRAY(pass->a, uint32_t, m->defs.n);
  (void)neo_recurrences(m, defs, n, pass->a, number);
  sum s = {.m = m, .p = pass->p, .number = number};
  for (size_t k = 0; k < n; k++) {
    s.id = defs[k];
    bound_sum(&s);
  }
  return NEO_OK;
}

/* Finds the conditions that zeros in copied operands replace (conditions.h). */
#include "schedule/gpu_tile/conditions.h"

bool neo_condition_take(neo_module *m, const neo_form *f, neo_expr where, uint64_t copy_axes,
                        neo_expr *cond) {
  const neo_node *n = neo_expr_node(m, where);
  if (n->op == NEO_OP_AND) {
    neo_expr a = neo_expr_arg(m, where, 0), b = neo_expr_arg(m, where, 1);
    bool first = neo_condition_take(m, f, a, copy_axes, cond);
    return neo_condition_take(m, f, b, copy_axes, cond) && first;
  }
  if (neo_form_axes(m, f, where) & ~copy_axes)
    return false;
  *cond = neo_both(m, *cond, where);
  return true;
}

bool neo_condition_guards(const neo_condition_context *x, neo_expr e, neo_expr cond) {
  neo_module *m = x->m;
  neo_node n = *neo_expr_node(m, e);
  neo_expr a = n.arg.n ? neo_list_expr(m, n.arg, 0) : (neo_expr){0}, from = cond, other = cond;
  bool branches = n.op == NEO_OP_SELECT, joins = n.op == NEO_OP_AND || n.op == NEO_OP_OR;
  if (branches || joins) {
    neo_expr not_a = neo_op1(m, NEO_OP_NOT, a);
    from = neo_both(m, cond, n.op == NEO_OP_OR ? not_a : a);
    other = branches ? neo_both(m, cond, not_a) : from;
  }
  for (uint32_t k = 0; k < n.arg.n; k++)
    if (!neo_condition_guards(x, neo_list_expr(m, n.arg, k), k == 0 ? cond : k == 1 ? from : other))
      return false;
  if (n.op != NEO_OP_LOAD)
    return true;
  neo_facts f = x->facts;
  f.assume = &cond;
  f.n_assume = cond.i != 0;
  return neo_form_inside(m, x->p, x->f, &f, e);
}

/* Does every operand's copy have zeros where the condition does not hold? */
static bool zero_everywhere(const neo_condition_context *x, const neo_contraction *c,
                            neo_expr where, const uint64_t *copy_axes) {
  for (uint32_t k = 0; k < c->n; k++)
    if (!copy_axes[k] || neo_form_axes(x->m, x->f, where) & ~copy_axes[k])
      return false;
  return true;
}

/* Removes one conjunct from the condition. */
static neo_expr without(neo_module *m, neo_expr where, neo_expr part) {
  const neo_node n = *neo_expr_node(m, where);
  if (where.i == part.i)
    return (neo_expr){0};
  if (n.op != NEO_OP_AND)
    return where;
  neo_expr a = without(m, neo_list_expr(m, n.arg, 0), part);
  neo_expr b = without(m, neo_list_expr(m, n.arg, 1), part);
  return neo_both(m, a, b);
}

/* Is the conjunct the edge of a window: does some operand, whose copy has zeros where the conjunct
 * does not hold, have no elements there? Zero times the other operand then counts, as for a read
 * with `else 0`. Otherwise the conjunct is a mask. */
static bool is_edge(const neo_condition_context *x, const neo_contraction *c, neo_expr where,
                    neo_expr part, const uint64_t *copy_axes) {
  if (neo_form_reads(x->m, part))
    return false;
  for (uint32_t k = 0; k < c->n; k++)
    if (copy_axes[k] && !(neo_form_axes(x->m, x->f, part) & ~copy_axes[k]) &&
        !neo_condition_guards(x, c->factor[k].e, without(x->m, where, part)))
      return true;
  return false;
}

/* Edges of windows need no test, nor do masks that the copies of all operands apply. Other masks
 * are tested: a masked value may be NaN, and NaN times zero is NaN. */
static neo_expr left_of(const neo_condition_context *x, const neo_contraction *c, neo_expr all,
                        neo_expr where, const uint64_t *copy_axes) {
  const neo_node n = *neo_expr_node(x->m, where);
  if (n.op == NEO_OP_AND) {
    neo_expr a = left_of(x, c, all, neo_list_expr(x->m, n.arg, 0), copy_axes);
    neo_expr b = left_of(x, c, all, neo_list_expr(x->m, n.arg, 1), copy_axes);
    return neo_both(x->m, a, b);
  }
  bool gone = zero_everywhere(x, c, where, copy_axes) || is_edge(x, c, all, where, copy_axes);
  return gone ? (neo_expr){0} : where;
}

neo_expr neo_condition_left(const neo_condition_context *x, const neo_contraction *c,
                            neo_expr where, const uint64_t *copy_axes) {
  return left_of(x, c, where, where, copy_axes);
}

/* ---- tiles of blocks */

uint64_t neo_tile_copy_axes(const neo_factor *x, uint64_t rows, uint64_t columns) {
  return ~(neo_factor_side(x, rows, columns) == NEO_SIDE_ROWS ? columns : rows);
}

bool neo_tile_copies_conditions(neo_module *m, const neo_form *f, const neo_contraction *c,
                                uint64_t rows, uint64_t columns) {
  const neo_stage *s = &f->stages.at[c->stage];
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  uint64_t copy_axes[NEO_MAX_FACTORS];
  if (!s->where.i)
    return true;
  neo_condition_context x = {.m = m, .p = neo_prover_new(m), .f = f};
  x.facts = (neo_facts){.axes = axes, .n_axes = neo_stage_axes(f, s, axes)};
  for (uint32_t k = 0; k < c->n; k++)
    copy_axes[k] = neo_tile_copy_axes(&c->factor[k], rows, columns);
  bool all = !neo_condition_left(&x, c, s->where, copy_axes).i;
  neo_prover_free(x.p);
  return all;
}

/* Matches segmented sums (segment.h). */
#include "schedule/segment/segment.h"
#include "ir/prove.h"
#include "schedule/extent.h"
#include "schedule/match.h"
#include "schedule/model.h"

/* Splits the first conjunct AXIS v == key (or key == AXIS v) off the condition. */
static bool take_equation(neo_module *m, const neo_form *f, neo_expr where, neo_segment *out) {
  neo_node n = *neo_expr_node(m, where);
  if (n.op == NEO_OP_AND) {
    neo_expr a = neo_expr_arg(m, where, 0), b = neo_expr_arg(m, where, 1);
    if (take_equation(m, f, a, out)) {
      out->rest = out->rest.i ? neo_op2(m, NEO_OP_AND, out->rest, b) : b;
      return true;
    }
    if (!take_equation(m, f, b, out))
      return false;
    out->rest = out->rest.i ? neo_op2(m, NEO_OP_AND, a, out->rest) : a;
    return true;
  }
  if (n.op != NEO_OP_EQ)
    return false;
  for (uint32_t side = 0; side < 2; side++) {
    neo_expr v = neo_expr_arg(m, where, side), key = neo_expr_arg(m, where, 1 - side);
    const neo_node *x = neo_expr_node(m, v);
    if (x->op != NEO_OP_AXIS || x->attr >= f->axes.n || !neo_expr_uses_op(m, key, NEO_OP_LOAD))
      continue;
    if (neo_form_axes(m, f, key) >> x->attr & 1)
      continue; /* the key of an element must not depend on its destination */
    *out = (neo_segment){.stage = out->stage, .axis = x->attr, .key = key};
    return true;
  }
  return false;
}

typedef struct {
  neo_module *m;
  neo_prover *p;
  const neo_form *f;
  neo_facts facts;
  bool safe;
} safety;

static void check_load(void *ctx, neo_expr e) {
  safety *c = ctx;
  if (neo_expr_node(c->m, e)->op != NEO_OP_LOAD)
    return;
  c->safe = c->safe && neo_form_inside(c->m, c->p, c->f, &c->facts, e);
}

static bool loads_safe(neo_module *m, const neo_form *f, const neo_stage *s, neo_expr before,
                       neo_expr e) {
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  uint32_t n = neo_stage_axes(f, s, axes);
  safety c = {m, neo_prover_new(m), f, {axes, n, &before, before.i != 0}, true};
  neo_prover_at(c.p, neo_expr_node(m, e)->span);
  neo_expr_visit(m, e, check_load, &c);
  neo_prover_free(c.p);
  return c.safe;
}

static neo_expr both(neo_module *m, neo_expr a, neo_expr b) {
  return a.i && b.i ? neo_op2(m, NEO_OP_AND, a, b) : a.i ? a : b;
}

/* Conjuncts that neither use v nor read tensors go to `before`, the others to `rest`. */
static void split_rest(neo_module *m, const neo_form *f, neo_expr e, neo_segment *out) {
  if (neo_expr_node(m, e)->op == NEO_OP_AND) {
    neo_expr a = neo_expr_arg(m, e, 0), b = neo_expr_arg(m, e, 1);
    split_rest(m, f, a, out);
    split_rest(m, f, b, out);
    return;
  }
  bool early = !(neo_form_axes(m, f, e) >> out->axis & 1) && !neo_expr_uses_op(m, e, NEO_OP_LOAD);
  neo_expr *to = early ? &out->before : &out->rest;
  *to = both(m, *to, e);
}

/* Does the result, in which sums accumulate, share memory with an operand? */
static bool in_operand(const neo_module *m, const neo_group *g) {
  neo_tensor old = neo_tensor_at(m, g->roots.at[0])->updates;
  for (size_t k = 0; k < g->reads.n; k++)
    if (g->reads.at[k].i == g->roots.at[0].i || (old.i && g->reads.at[k].i == old.i))
      return true;
  return false;
}

/* The sum, or whether any term is true. */
static bool adds_up(const neo_form_acc *a) {
  return a->kind == NEO_RED_SUM || a->kind == NEO_RED_ANY;
}

bool neo_match_segment(neo_module *m, const neo_group *g, neo_segment *out) {
  const neo_form *f = neo_group_form(m, g);
  *out = (neo_segment){0};
  if (f->stages.n != 2 || f->stages.at[0].accs.n != 1 || f->stages.at[1].outs.n != 1)
    return false;
  const neo_stage *s = &f->stages.at[0];
  const neo_form_acc *a = &s->accs.at[0];
  neo_type stored = neo_expr_type(m, f->stages.at[1].outs.at[0].value);
  if (!adds_up(a) || a->type != stored || f->stages.at[1].axes.n || !s->where.i)
    return false;
  if (in_operand(m, g) || !take_equation(m, f, s->where, out))
    return false;
  for (size_t k = 0; k < s->axes.n; k++) /* ranges are evaluated before the key */
    if ((neo_form_axes(m, f, s->axes.at[k].lo) | neo_form_axes(m, f, s->axes.at[k].hi)) >>
            out->axis &
        1)
      return false;
  neo_expr rest = out->rest;
  out->rest = (neo_expr){0};
  if (rest.i)
    split_rest(m, f, rest, out);
  const neo_form_out *o = &f->stages.at[1].outs.at[0];
  out->rows = neo_tensor_at(m, o->tensor)->terms && neo_expr_node(m, o->value)->op == NEO_OP_ACC;
  out->injective = out->rows && neo_tensor_at(m, o->tensor)->injective && neo_type_is_int(stored);
  return loads_safe(m, f, s, out->before, out->key);
}

uint64_t neo_segment_tested(const neo_module *m, const neo_form *f, const neo_segment *x) {
  return neo_form_axes(m, f, x->key) | neo_form_axes(m, f, x->before) |
         neo_form_axes(m, f, x->rest);
}

double neo_segment_visited(neo_module *m, const neo_form *f, const neo_segment *x) {
  double rows = neo_form_points(m, f, 1ULL << x->axis);
  return 1 / rows + 1 / neo_stage_points(m, &f->stages.at[x->stage]);
}

/* ---- the model's choice: lanes over the contiguous shared axis, blocks of it as units */

bool neo_model_segment(neo_module *m, const neo_group *g, const neo_machine *machine,
                       neo_schedule *out) {
  const neo_form *f = neo_group_form(m, g);
  neo_segment x;
  if (!neo_segment_of(m, g, &x))
    return false;
  neo_schedule s = neo_schedule_plain();
  int64_t lanes = machine->vector_bytes / neo_type_bytes((neo_type)f->stages.at[0].accs.at[0].type);
  uint64_t fixed = neo_form_bound_axes(m, f) | neo_segment_tested(m, f, &x);
  s.strategy = NEO_STRATEGY_SEGMENT;
  s.loops.axis_m = x.axis;
  for (uint32_t k = 0; k < f->axes.n; k++) {
    int64_t stride, n = neo_axis_most(m, &f->axes.at[k]), width = lanes;
    neo_expr at = f->stages.at[1].outs.at[0].offset;
    while (width > 1 && width > n)
      width /= 2;
    if (k == x.axis || fixed >> k & 1 || width < 2 || !neo_flat_stride(m, f, at, k, &stride) ||
        stride != 1)
      continue;
    s.loops.vector_axis = k;
    s.loops.vector_width = width;
    s.loops.block_n = n > 8 * width ? 4 * width : n > 2 * width ? 2 * width : 0;
  }
  s.loops.unit_axes = neo_schedule_loops(f, &s);
  *out = s;
  return true;
}

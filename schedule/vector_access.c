/* Decides which accesses may be 16 bytes wide (vector_access.h).
 *
 * The linear form of an offset decides: the axis has coefficient 1 or 0, and all other terms are
 * multiples of the number of elements. A condition along the axis would have to be tested for each
 * element, which costs more than single accesses. */
#include "schedule/vector_access.h"
#include "schedule/model.h"

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
  int64_t n;
  bool some, good;
} search;

bool neo_vector_start(neo_module *m, const neo_form *f, neo_tensor t) {
  int64_t bytes = neo_type_bytes(neo_tensor_type(m, t));
  return !neo_tensor_at(m, t)->moves && neo_form_base(f, t) * bytes % NEO_VECTOR_BYTES == 0;
}

bool neo_vector_multiple(neo_module *m, neo_expr e, int64_t n) {
  neo_linear x;
  if (!neo_flat_linear(m, e, &x))
    return false;
  bool good = x.constant % n == 0;
  for (uint32_t k = 0; k < x.n; k++)
    good = good && x.term[k].coef % n == 0;
  return good;
}

static bool is_axis(neo_module *m, neo_expr e, uint32_t axis) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_AXIS && n->attr == axis;
}

/* Are n elements from this offset on, which depends on the axis, contiguous and aligned? */
static bool is_run(const search *x, neo_tensor t, neo_expr offset) {
  neo_linear sum;
  if (!neo_vector_start(x->m, x->f, t) || !neo_flat_linear(x->m, offset, &sum))
    return false;
  bool unit = false, good = sum.constant % x->n == 0;
  for (uint32_t k = 0; k < sum.n; k++) {
    if (is_axis(x->m, sum.term[k].atom, x->axis))
      unit = sum.term[k].coef == 1;
    else
      good = good && sum.term[k].coef % x->n == 0 &&
             !(neo_form_axes(x->m, x->f, sum.term[k].atom) >> x->axis & 1);
  }
  return unit && good;
}

/* Does the condition guard loads of e and vary along the axis? */
static bool divides(const search *x, neo_expr e, neo_expr condition) {
  return neo_form_axes(x->m, x->f, condition) >> x->axis & 1 &&
         neo_expr_uses_op(x->m, e, NEO_OP_LOAD);
}

static void look(void *ctx, neo_expr e) {
  search *x = ctx;
  neo_node n = *neo_expr_node(x->m, e);
  if (!(neo_form_axes(x->m, x->f, e) >> x->axis & 1))
    return;
  switch ((neo_op)n.op) {
  case NEO_OP_LOAD:
    x->some = true;
    x->good = x->good && n.arg.n && is_run(x, (neo_tensor){n.attr}, neo_flat_at(x->m, e));
    break;
  case NEO_OP_LOAD_ELSE:
    x->good = false;
    break;
  case NEO_OP_AND:
  case NEO_OP_OR:
    x->good = x->good && !divides(x, e, e);
    break;
  case NEO_OP_SELECT:
    x->good = x->good && !divides(x, e, neo_list_expr(x->m, n.arg, 0));
    break;
  default:
    break;
  }
}

bool neo_vector_reads(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis, int64_t n,
                      bool *some) {
  search x = {m, f, axis, n, *some, true};
  neo_expr_visit(m, e, look, &x);
  *some = x.some;
  return x.good;
}

/* ---- stages */

static bool reads_wide(search *x, neo_expr e) {
  return neo_vector_reads(x->m, x->f, e, x->axis, x->n, &x->some);
}

/* Are all accesses of a stage, in its sums and stores, this wide? */
static bool stage_is_wide(search *x, const neo_stage *s) {
  bool good = !s->where.i || !(neo_form_axes(x->m, x->f, s->where) >> x->axis & 1);
  for (size_t k = 0; k < s->accs.n && good; k++)
    good = reads_wide(x, s->accs.at[k].body);
  for (size_t k = 0; k < s->outs.n && good; k++)
    good =
        is_run(x, s->outs.at[k].tensor, s->outs.at[k].offset) && reads_wide(x, s->outs.at[k].value);
  return good;
}

bool neo_vector_rows(neo_module *m, const neo_form *f, int64_t n) {
  search x = {m, f, 0, n, false, true};
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    if (!s->axes.n)
      continue;
    const neo_axis_rec *last = &s->axes.at[s->axes.n - 1];
    x.axis = (uint32_t)(f->axes.n + s->axes.n - 1);
    if (!neo_vector_multiple(m, last->lo, n) || !neo_vector_multiple(m, last->hi, n) ||
        !stage_is_wide(&x, s))
      return false;
  }
  return x.some;
}

bool neo_vector_columns(neo_module *m, const neo_form *f, int64_t n) {
  search x = {m, f, (uint32_t)f->axes.n - 1, n, false, true};
  if (!f->axes.n || !neo_vector_multiple(m, f->axes.at[x.axis].hi, n))
    return false;
  for (size_t k = 0; k < f->stages.n; k++)
    if (!stage_is_wide(&x, &f->stages.at[k]))
      return false;
  return x.some;
}

/* ---- tensors */

typedef struct {
  search x;
  const neo_stage *s;
  neo_tensor t;
  bool found;
} tensor_search;

/* Tries all axes of the stage. */
static void try_axes(tensor_search *h, neo_expr offset) {
  int64_t n = NEO_VECTOR_BYTES / neo_type_bytes(neo_tensor_type(h->x.m, h->t));
  uint32_t n_axes = (uint32_t)(h->x.f->axes.n + h->s->axes.n);
  h->x.n = n;
  for (h->x.axis = 0; h->x.axis < n_axes && n > 1 && !h->found; h->x.axis++)
    h->found = is_run(&h->x, h->t, offset);
}

static void look_for_tensor(void *ctx, neo_expr e) {
  tensor_search *h = ctx;
  neo_node n = *neo_expr_node(h->x.m, e);
  if (n.op == NEO_OP_LOAD && n.attr == h->t.i && n.arg.n && !h->found)
    try_axes(h, neo_flat_at(h->x.m, e));
}

bool neo_vector_tensor(neo_module *m, const neo_form *f, neo_tensor t) {
  tensor_search h = {.x = {.m = m, .f = f}, .t = t};
  for (size_t k = 0; k < f->stages.n; k++) {
    h.s = &f->stages.at[k];
    neo_stage_visit(m, h.s, look_for_tensor, &h);
    for (size_t i = 0; i < h.s->outs.n && !h.found; i++)
      if (h.s->outs.at[i].tensor.i == t.i)
        try_axes(&h, h.s->outs.at[i].offset);
  }
  return h.found;
}

/* ---- maps */

static bool is_map(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].axes.n || f->stages.at[k].accs.n || f->stages.at[k].where.i)
      return false;
  return f->axes.n && !neo_form_row_block(f);
}

static bool stores_runs(neo_module *m, const neo_form *f, uint32_t axis, int64_t n) {
  search x = {m, f, axis, n, false, true};
  for (size_t k = 0; k < f->stages.n; k++)
    if (!stage_is_wide(&x, &f->stages.at[k]))
      return false;
  return true;
}

int64_t neo_vector_map(neo_module *m, const neo_form *f) {
  uint32_t axis = (uint32_t)f->axes.n - 1;
  int64_t n = NEO_VECTOR_BYTES / neo_form_widest(m, f);
  bool can = is_map(f) && n >= 2 && neo_vector_multiple(m, f->axes.at[axis].hi, n) &&
             stores_runs(m, f, axis, n);
  return can ? n : 0;
}

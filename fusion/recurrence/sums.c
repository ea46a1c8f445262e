/* Sums over rows that are made in blocks (levels.c), where lazy batching is off:
 *
 *     G[i, j] = sum[p] d[p, i]*x[p, j] then f(G)                      d: rows of a recurrence
 *     ->
 *     s[i, j] = 0
 *     for b: d[begin .. end - 1, i] at once
 *            s[i, j] = s[i, j] + sum[p: begin .. end] d[p, i]*x[p, j]
 *     G[i, j] = f(s[i, j])
 *
 * If the end of the sum is the sum itself, s is G. */
#include "fusion/recurrence/internal.h"
#include "ir/clone.h"

/* ---- which they are */

typedef struct {
  neo_module *m;
  const neo_order_step *loop;
  uint32_t n_out, axis; /* UINT32_MAX: none was read yet */
  bool good;
} row_sum_look;

static const neo_order_member *maker_of(const row_sum_look *l, neo_tensor t) {
  neo_list pieces = neo_tensor_at(l->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    for (uint32_t i = 0; i < l->loop->n_members; i++)
      if (l->loop->member[i].def.i == neo_list_at(l->m, pieces, k))
        return &l->loop->member[i];
  return NULL;
}

static void look_at_row(void *ctx, neo_expr e) {
  row_sum_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  const neo_order_member *made = outline_is_read(n) ? maker_of(l, (neo_tensor){n->attr}) : NULL;
  if (!made)
    return;
  const neo_node *at = neo_expr_node(l->m, neo_list_expr(l->m, n->arg, made->axis));
  l->good = l->good && at->op == NEO_OP_AXIS && at->attr >= l->n_out &&
            (l->axis == UINT32_MAX || l->axis == at->attr);
  l->axis = at->attr;
}

static void look_at_none(void *ctx, neo_expr e) {
  row_sum_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  if (outline_is_read(n) && maker_of(l, (neo_tensor){n->attr}))
    l->good = false;
}

/* All but the ends of the sums. */
static void visit_terms(neo_module *m, const neo_def_rec *d, void (*f)(void *ctx, neo_expr e),
                        void *ctx) {
  neo_expr_visit(m, neo_list_expr(m, d->body, 0), f, ctx);
  if (d->where.i)
    neo_expr_visit(m, d->where, f, ctx);
}

static void look_at_all(row_sum_look *l, const neo_def_rec *d) {
  visit_terms(l->m, d, look_at_row, l);
  for (uint32_t k = 0; k < d->finish.n; k++)
    neo_expr_visit(l->m, neo_list_expr(l->m, d->finish, k), look_at_none, l);
  for (uint32_t k = 0; k < d->axes.n; k++) {
    neo_expr_visit(l->m, neo_def_axis(l->m, d, k)->lo, look_at_none, l);
    neo_expr_visit(l->m, neo_def_axis(l->m, d, k)->hi, look_at_none, l);
  }
}

/* Is the axis within the rows, whatever the data are? */
static bool is_of_rows(neo_module *m, const neo_order_step *loop, const neo_axis_rec *axis) {
  neo_facts none = {0};
  neo_expr lo, hi;
  neo_order_rounds(m, loop, &lo, &hi);
  if (neo_expr_axes(m, axis->lo) || neo_expr_axes(m, axis->hi))
    return false;
  neo_prover *p = neo_prover_new(m);
  bool is = neo_prove(p, &none, neo_op2(m, NEO_OP_LE, lo, axis->lo), NULL) == NEO_PROVED &&
            neo_prove(p, &none, neo_op2(m, NEO_OP_LE, axis->hi, hi), NULL) == NEO_PROVED;
  neo_prover_free(p);
  return is;
}

/* A sum over an equation of data finds all of its terms at once: each block would look for its own. */
static bool is_plain_sum(neo_module *m, const neo_def_rec *d) {
  if (d->reducer != NEO_RED_SUM || d->body.n != 1 || d->axes.n > OUTLINE_AXES ||
      neo_tensor_at(m, (neo_tensor){neo_list_at(m, d->out, 0)})->terms ||
      (d->where.i && neo_expr_uses_op(m, d->where, NEO_OP_EQ)))
    return false;
  for (uint32_t k = 0; k < d->n_out; k++) {
    int64_t lo;
    if (!neo_expr_is_int(m, neo_def_axis(m, d, k)->lo, &lo) || lo != 0)
      return false;
  }
  neo_type t = neo_expr_type(m, neo_list_expr(m, d->body, 0));
  return t == NEO_F32_T || t == NEO_F64_T; /* narrow ones are rounded at the end alone */
}

bool neo_recurrence_sums(neo_module *m, const neo_order_step *loop, neo_def d, uint32_t *axis) {
  neo_def_rec r = *neo_def_at(m, d);
  row_sum_look l = {m, loop, r.n_out, UINT32_MAX, true};
  if (!is_plain_sum(m, &r))
    return false;
  look_at_all(&l, &r);
  *axis = l.axis;
  return l.good && l.axis != UINT32_MAX && is_of_rows(m, loop, neo_def_axis(m, &r, l.axis));
}

/* ---- what is added up so far */

static neo_type type_of(const outliner *o, const neo_def_rec *d) {
  return neo_expr_type(o->m, neo_list_expr(o->m, d->body, 0));
}

/* Is the result the sum itself? */
static bool is_sum_itself(const outliner *o, const neo_def_rec *d) {
  neo_type t = type_of(o, d);
  const neo_tensor_rec *out = neo_tensor_at(o->m, (neo_tensor){neo_list_at(o->m, d->out, 0)});
  return d->out.n == 1 && !d->out_map.n && out->pieces.n == 1 && out->type == t &&
         neo_list_expr(o->m, d->finish, 0).i == neo_acc_ref(o->m, t, 0).i;
}

static neo_tensor sum_tensor(const outliner *o, const neo_def_rec *d) {
  neo_module *m = o->m;
  neo_tensor out = {neo_list_at(m, d->out, 0)};
  if (is_sum_itself(o, d))
    return out;
  neo_tensor_rec t = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type_of(o, d), .span = d->span};
  uint32_t extent[OUTLINE_AXES];
  for (uint32_t k = 0; k < d->n_out; k++)
    extent[k] = neo_def_axis(m, d, k)->hi.i;
  t.extent = neo_list_new(m, extent, d->n_out);
  t.name = neo_tensor_fresh_name(m, "sum", neo_name_text(m->names, neo_tensor_at(m, out)->name));
  return neo_tensor_add(m, t);
}

typedef struct {
  const neo_module *m;
  const neo_def *behind;
  size_t n;
  bool is;
} behind_look;

static void look_behind(void *ctx, neo_expr e) {
  behind_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  if (!outline_is_read(n))
    return;
  neo_list pieces = neo_tensor_at(l->m, (neo_tensor){n->attr})->pieces;
  for (size_t k = 0; k < l->n; k++)
    for (uint32_t i = 0; i < pieces.n; i++)
      l->is = l->is || neo_list_at(l->m, pieces, i) == l->behind[k].i;
}

/* Are the terms there only behind the loop? */
static bool has_terms_behind(const outliner *o, neo_def d, const neo_def *behind, size_t n) {
  behind_look l = {o->m, behind, n, false};
  neo_def_rec r = *neo_def_at(o->m, d);
  visit_terms(o->m, &r, look_behind, &l);
  return l.is;
}

void outline_find_sums(outliner *o, const neo_order_step *order, const neo_def *behind, size_t n) {
  bool leads;
  o->sums.n = 0;
  if (!o->options->no_lazy_batching || !outline_blocks_of(o, order, &leads).i)
    return;
  for (size_t k = 0; k < n; k++) {
    outline_sum x = {.def = behind[k]};
    if (!neo_recurrence_sums(o->m, order, x.def, &x.axis) || has_terms_behind(o, x.def, behind, n))
      continue;
    neo_def_rec d = *neo_def_at(o->m, x.def);
    x.sum = sum_tensor(o, &d);
    NEO_PUSH(o->a, &o->sums, x);
  }
}

/* ---- instances */

/* With what holds in the loops around. */
static outline_instance *instance_of(outliner *o, const outline_sum *s, neo_def_rec rec) {
  outline_instance *x = NEO_NEW(o->a, outline_instance);
  neo_expr *assume = NEO_NEW_ARRAY(o->a, neo_expr, o->assume.n + 1);
  for (size_t k = 0; k < o->assume.n; k++)
    assume[x->n_assume++] = o->assume.at[k];
  x->assume = assume;
  x->def = s->def;
  x->of_sum = true;
  x->rec = rec;
  return x;
}

/* The element of the sum that a result is computed of. */
static neo_expr element_of(const outliner *o, const outline_sum *s, const neo_def_rec *d) {
  neo_expr at[OUTLINE_AXES];
  for (uint32_t k = 0; k < d->n_out; k++)
    at[k] = neo_axis_ref(o->m, k);
  return neo_load(o->m, s->sum, at, d->n_out, d->span);
}

static neo_list first_axes(const outliner *o, const neo_def_rec *d) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < d->n_out; k++)
    id[k] = neo_list_at(o->m, d->axes, k);
  return neo_list_new(o->m, id, d->n_out);
}

/* The definition without its reduction. */
static neo_def_rec elementwise(const outliner *o, neo_def_rec d) {
  d.axes = first_axes(o, &d);
  d.reducer = NEO_RED_NONE;
  d.where.i = 0;
  d.body = (neo_list){0};
  return d;
}

/* The definition as one of the sum. */
static neo_def_rec of_sum(const outliner *o, const outline_sum *s, neo_expr value) {
  neo_def_rec d = *neo_def_at(o->m, s->def);
  d.out = neo_list_new(o->m, &s->sum.i, 1);
  d.out_map = (neo_list){0};
  d.finish = neo_list_new(o->m, &value.i, 1);
  return d;
}

void outline_begin_sums(outliner *o, neo_trees *steps) {
  for (size_t k = 0; k < o->sums.n; k++) {
    const outline_sum *s = &o->sums.at[k];
    neo_def_rec d = *neo_def_at(o->m, s->def);
    neo_expr zero = neo_const_float(o->m, type_of(o, &d), 0);
    outline_instance *x = instance_of(o, s, elementwise(o, of_sum(o, s, zero)));
    outline_push(o, steps, x);
  }
}

/* The rows of the sum that are in the block; false: there are none. */
static bool rows_of(outliner *o, const neo_def_rec *d, uint32_t axis, neo_expr begin, neo_expr end,
                    neo_axis_rec *out) {
  *out = *neo_def_axis(o->m, d, axis);
  if (!outline_at_most(o, out->lo, begin))
    out->lo =
        outline_at_most(o, begin, out->lo) ? out->lo : neo_op2(o->m, NEO_OP_MAX, begin, out->lo);
  else
    out->lo = begin;
  if (!outline_at_most(o, end, out->hi))
    out->hi = outline_at_most(o, out->hi, end) ? out->hi : neo_op2(o->m, NEO_OP_MIN, end, out->hi);
  else
    out->hi = end;
  return !outline_at_most(o, out->hi, out->lo);
}

void outline_grow_sums(outliner *o, neo_trees *steps, neo_expr begin, neo_expr end) {
  for (size_t k = 0; k < o->sums.n; k++) {
    const outline_sum *s = &o->sums.at[k];
    neo_def_rec d = *neo_def_at(o->m, s->def);
    neo_axis_rec rows;
    uint32_t id[OUTLINE_AXES];
    if (!rows_of(o, &d, s->axis, begin, end, &rows))
      continue;
    neo_expr value =
        neo_op2(o->m, NEO_OP_ADD, element_of(o, s, &d), neo_acc_ref(o->m, type_of(o, &d), 0));
    neo_def_rec r = of_sum(o, s, value);
    for (uint32_t i = 0; i < d.axes.n; i++)
      id[i] = i == s->axis ? neo_axis_add(o->m, rows).i : neo_list_at(o->m, d.axes, i);
    r.axes = neo_list_new(o->m, id, d.axes.n);
    outline_instance *x = instance_of(o, s, r);
    x->round = begin;
    x->rounds = -1;
    outline_push(o, steps, x);
  }
}

bool outline_end_sum(outliner *o, neo_trees *steps, neo_def d) {
  const outline_sum *s = NULL;
  for (size_t k = 0; k < o->sums.n; k++)
    s = o->sums.at[k].def.i == d.i ? &o->sums.at[k] : s;
  if (!s || s->sum.i == neo_list_at(o->m, neo_def_at(o->m, d)->out, 0))
    return s != NULL;
  neo_def_rec r = *neo_def_at(o->m, d);
  neo_expr acc = neo_acc_ref(o->m, type_of(o, &r), 0), sum = element_of(o, s, &r);
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < r.finish.n; k++)
    id[k] = neo_expr_replace(o->m, neo_list_expr(o->m, r.finish, k), acc, sum).i;
  r.finish = neo_list_new(o->m, id, r.finish.n);
  outline_push(o, steps, instance_of(o, s, elementwise(o, r)));
  return true;
}

/* Sums over the positions of lists, as the edges of a graph (ir/lists.h), in the form that a
 * recurrence over lists has itself:
 *
 *     sum[v where begin[v] <= e and e < begin[v + 1]] f(v, e)   ->   f(owner[e], e)
 *     sum[e where owner[e] == v] f(e)
 *     ->   sum[e: begin[v] .. begin[v + 1] where child[e] < v] f(e)
 *     sum[e where child[e] == u] f(e)
 *     ->   sum[v, e: begin[v] .. begin[v + 1] where child[e] < v and child[e] == u] f(e)
 *
 * So an order is found (ir/order.c), and the work is that of the lists. */
#include "ir/lists.h"
#include "autodiff/internal.h"
#include "ir/comparison.h"

enum { MOST_CONJUNCTS = 16 };

typedef struct {
  neo_module *m;
  ad_term *t;
  neo_expr part[MOST_CONJUNCTS]; /* conjuncts of the term's condition */
  uint32_t n;
} lists;

static bool open(lists *x) {
  x->n = 0;
  return !x->t->where.i || neo_conjuncts_of(x->m, x->t->where, x->part, &x->n, MOST_CONJUNCTS);
}

/* The number of a conjunct; n: there is no such one. */
static uint32_t conjunct(const lists *x, neo_expr c) {
  uint32_t k = 0;
  while (k < x->n && x->part[k].i != c.i)
    k++;
  return k;
}

/* The condition of those that are left, with one more. */
static void close(lists *x, neo_expr more) {
  neo_expr all = {0};
  for (uint32_t k = 0; k < x->n; k++)
    all = x->part[k].i ? neo_both(x->m, all, x->part[k]) : all;
  x->t->where = more.i ? neo_both(x->m, all, more) : all;
}

/* The term over other axes: by[k] in place of AXIS k. */
static void substitute(lists *x, const neo_expr *by, uint32_t n) {
  neo_module *m = x->m;
  for (uint32_t k = 0; k < x->t->space.n; k++) {
    neo_axis_rec *a = &x->t->space.axis[k];
    a->lo = neo_expr_subst_axes(m, a->lo, by, n);
    a->hi = neo_expr_subst_axes(m, a->hi, by, n);
  }
  if (x->t->where.i)
    x->t->where = neo_expr_subst_axes(m, x->t->where, by, n);
  x->t->value = neo_expr_subst_axes(m, x->t->value, by, n);
}

/* `to` in place of `from`. */
static void replace(lists *x, neo_expr from, neo_expr to) {
  neo_module *m = x->m;
  for (uint32_t k = x->t->n_out; k < x->t->space.n; k++) {
    neo_axis_rec *a = &x->t->space.axis[k];
    a->lo = neo_expr_replace(m, a->lo, from, to);
    a->hi = neo_expr_replace(m, a->hi, from, to);
  }
  if (x->t->where.i)
    x->t->where = neo_expr_replace(m, x->t->where, from, to);
  x->t->value = neo_expr_replace(m, x->t->value, from, to);
}

static bool is_zero(const neo_module *m, neo_expr e) {
  int64_t n;
  return neo_expr_is_int(m, e, &n) && n == 0;
}

/* ---- the list of an edge */

/* The conditions of the range of axis v that no owner has: it is any vertex after the child. */
static neo_expr range_of(const lists *x, uint32_t v, neo_tensor owner, neo_expr edge) {
  neo_module *m = x->m;
  const neo_axis_rec a = x->t->space.axis[v];
  neo_tensor child = neo_child_of(m, owner);
  neo_expr after = {0}, at = neo_axis_ref(m, v), all = {0};
  if (child.i)
    after = neo_op2(m, NEO_OP_ADD, neo_list_element(m, child, edge), neo_const_i64(m, 1));
  if (!is_zero(m, a.lo) && a.lo.i != after.i)
    all = neo_op2(m, NEO_OP_LE, a.lo, at);
  if (a.hi.i != neo_tensor_at(m, owner)->bound.i)
    all = neo_both(m, all, neo_op2(m, NEO_OP_LT, at, a.hi));
  return all;
}

/* Puts the owner of the edge in place of axis v, which is left out. */
static void name_owner(lists *x, uint32_t v, neo_expr value) {
  neo_expr by[NEO_DEF_AXES];
  ad_space *s = &x->t->space;
  for (uint32_t k = 0; k < s->n; k++)
    by[k] = k == v ? value : neo_axis_ref(x->m, k - (k > v));
  substitute(x, by, s->n);
  for (uint32_t k = v; k + 1 < s->n; k++)
    s->axis[k] = s->axis[k + 1];
  s->n--;
}

static bool take_owner(lists *x, uint32_t v, uint32_t e) {
  neo_module *m = x->m;
  neo_expr edge = neo_axis_ref(m, e), at = neo_axis_ref(m, v);
  neo_expr next = neo_op2(m, NEO_OP_ADD, at, neo_const_i64(m, 1));
  neo_tensor owner = neo_owner_of(m, x->t->space.axis[e].hi);
  if (!owner.i || !is_zero(m, x->t->space.axis[e].lo))
    return false;
  neo_tensor begin = neo_tensor_at(m, owner)->offsets;
  uint32_t from = conjunct(x, neo_op2(m, NEO_OP_LE, neo_list_element(m, begin, at), edge));
  uint32_t to = conjunct(x, neo_op2(m, NEO_OP_LT, edge, neo_list_element(m, begin, next)));
  if (from == x->n || to == x->n)
    return false;
  x->part[from] = x->part[to] = (neo_expr){0};
  close(x, range_of(x, v, owner, edge));
  name_owner(x, v, neo_list_element(m, owner, edge));
  return true;
}

/* ---- the edges of a vertex */

/* The conjunct that says that the element is an axis, which becomes *at; n: there is none. */
static uint32_t equation(const lists *x, neo_expr element, uint32_t below, neo_expr *at) {
  for (uint32_t k = 0; k < below; k++) {
    *at = neo_axis_ref(x->m, k);
    uint32_t found = conjunct(x, neo_op2(x->m, NEO_OP_EQ, element, *at));
    found = found < x->n ? found : conjunct(x, neo_op2(x->m, NEO_OP_EQ, *at, element));
    if (found < x->n)
      return found;
  }
  return x->n;
}

/* Lets axis e run through the list of the vertex. */
static neo_expr run_list(lists *x, uint32_t e, neo_tensor owner, neo_expr vertex) {
  neo_module *m = x->m;
  neo_tensor begin = neo_tensor_at(m, owner)->offsets, child = neo_child_of(m, owner);
  neo_expr edge = neo_axis_ref(m, e);
  neo_expr next = neo_op2(m, NEO_OP_ADD, vertex, neo_const_i64(m, 1));
  replace(x, neo_list_element(m, owner, edge), vertex);
  x->t->space.axis[e].lo = neo_list_element(m, begin, vertex);
  x->t->space.axis[e].hi = neo_list_element(m, begin, next);
  return child.i ? neo_op2(m, NEO_OP_LT, neo_list_element(m, child, edge), vertex) : (neo_expr){0};
}

static bool take_list(lists *x, uint32_t e, neo_tensor owner) {
  neo_module *m = x->m;
  neo_expr vertex, edge = neo_axis_ref(m, e);
  uint32_t k = equation(x, neo_list_element(m, owner, edge), e, &vertex);
  if (k == x->n)
    return false;
  x->part[k] = (neo_expr){0};
  close(x, (neo_expr){0});
  neo_expr earlier = run_list(x, e, owner, vertex);
  x->t->where = earlier.i ? neo_both(m, x->t->where, earlier) : x->t->where;
  return true;
}

/* ---- the edges that lead to a vertex */

/* Adds an axis of all vertices before axis e. */
static void add_vertices(lists *x, uint32_t e, neo_tensor owner) {
  neo_module *m = x->m;
  neo_expr by[NEO_DEF_AXES];
  ad_space *s = &x->t->space;
  for (uint32_t k = 0; k < s->n; k++)
    by[k] = neo_axis_ref(m, k + (k >= e));
  substitute(x, by, s->n);
  for (uint32_t k = s->n++; k > e; k--)
    s->axis[k] = s->axis[k - 1];
  s->axis[e] = (neo_axis_rec){neo_name_of(m->names, "v"), neo_const_i64(m, 0),
                              neo_tensor_at(m, owner)->bound, s->axis[e].span};
}

static bool take_parents(lists *x, uint32_t e, neo_tensor owner) {
  neo_module *m = x->m;
  neo_tensor child = neo_child_of(m, owner);
  neo_expr vertex, edge = neo_axis_ref(m, e);
  if (!child.i || x->t->space.n >= 62 ||
      equation(x, neo_list_element(m, child, edge), x->t->n_out, &vertex) == x->n)
    return false;
  add_vertices(x, e, owner);
  neo_expr earlier = run_list(x, e + 1, owner, neo_axis_ref(m, e));
  x->t->where = neo_both(m, earlier, x->t->where);
  return true;
}

static bool take_any(lists *x) {
  ad_space *s = &x->t->space;
  if (!open(x))
    return false;
  for (uint32_t v = x->t->n_out; v < s->n; v++)
    for (uint32_t e = 0; e < v; e++)
      if (take_owner(x, v, e))
        return true;
  for (uint32_t e = x->t->n_out; e < s->n; e++) {
    neo_tensor owner = neo_owner_of(x->m, s->axis[e].hi);
    if (owner.i && is_zero(x->m, s->axis[e].lo) &&
        (take_list(x, e, owner) || take_parents(x, e, owner)))
      return true;
  }
  return false;
}

void ad_run_lists(neo_module *m, ad_term *t) {
  lists x = {.m = m, .t = t};
  while (t->where.i && take_any(&x))
    continue;
}

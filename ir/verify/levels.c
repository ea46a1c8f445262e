/* Invariants of definitions of the kind LEVELS (neo_rows_rec). */
#include "ir/verify/parts.h"

static bool is_axis(const neo_verifier *v, neo_expr e, uint32_t k) {
  const neo_node *n = neo_expr_node(v->m, e);
  return n->op == NEO_OP_AXIS && n->attr == k;
}

/* Is the tensor, which may be none, of i32 and of n*times + more elements? */
static bool check_table(neo_verifier *v, neo_tensor t, neo_expr n, int64_t times, int64_t more) {
  if (!t.i)
    return true;
  if (!neo_verify_id(v, t.i))
    return false;
  bool is = neo_tensor_at(v->m, t)->type == NEO_I32_T && neo_tensor_rank(v->m, t) == 1;
  for (uint32_t s = 0; is && s < v->n_samples; s++)
    is = neo_verify_eval(v, s, neo_tensor_extent(v->m, t, 0)) ==
         neo_verify_eval(v, s, n) * times + more;
  return is || neo_verify_fail(v, "a table of levels has another type or shape");
}

/* Whether the children that `load` reads are earlier vertices: by the tensor's own element bounds,
 * or because its lists begin with `begin`. */
static bool are_earlier(const neo_verifier *v, const neo_node *load, neo_tensor begin) {
  const neo_tensor_rec *t = neo_tensor_at(v->m, (neo_tensor){load->attr});
  bool bounds = begin.i ? load->attr != begin.i && t->offsets.i == begin.i
                        : t->below.i && is_axis(v, t->below, 0);
  return load->op == NEO_OP_LOAD && neo_type_is_int((neo_type)t->type) && bounds;
}

/* Whether body element `list` loads a child at vertex axis 0 and at axes from *axis on that run
 * through all slots, or at edge axis *axis. Advances *axis past the axes used. */
static bool check_child(neo_verifier *v, const neo_def_rec *d, uint32_t list, uint32_t *axis) {
  const neo_module *m = v->m;
  const neo_row_list *l = &neo_rows_at(m, d->rows)->list[list];
  const neo_node *n = neo_expr_node(m, neo_list_expr(m, d->body, list));
  int64_t slots = 1, extent = 1;
  bool good = are_earlier(v, n, l->begin) && n->arg.n &&
              (l->begin.i || is_axis(v, neo_list_expr(m, n->arg, 0), 0));
  for (uint32_t k = l->begin.i ? 0 : 1; good && k < n->arg.n; k++, ++*axis) {
    good = *axis < d->axes.n && is_axis(v, neo_list_expr(m, n->arg, k), *axis) &&
           (l->begin.i || neo_expr_is_int(m, neo_def_axis(m, d, *axis)->hi, &extent)) &&
           extent > 0 &&
           neo_tensor_extent(m, (neo_tensor){n->attr}, k).i == neo_def_axis(m, d, *axis)->hi.i;
    good = good && !__builtin_mul_overflow(slots, extent, &slots);
  }
  return (good && slots == l->slots && !l->end.i == !l->edge.i &&
          (l->begin.i ? !l->end.i == !l->parent.i : !l->parent.i)) ||
         neo_verify_fail(v, "list %u has no earlier vertices in each of its slots", list);
}

static bool check_list(neo_verifier *v, const neo_def_rec *d, uint32_t list, uint32_t *axis) {
  const neo_module *m = v->m;
  const neo_row_list *l = &neo_rows_at(m, d->rows)->list[list];
  if (!check_child(v, d, list, axis))
    return false;
  neo_tensor child = {neo_expr_node(m, neo_list_expr(m, d->body, list))->attr};
  neo_expr n = neo_def_axis(m, d, 0)->hi, edges = neo_tensor_extent(m, child, 0);
  bool placed =
      !l->placed.i || (neo_verify_id(v, l->placed.i) && neo_verify_same_shape(v, l->placed, child));
  return placed && check_table(v, l->end, n, 1, 0) && check_table(v, l->parent, edges, 1, 0) &&
         check_table(v, l->edge, l->begin.i ? edges : n, l->slots, 0);
}

/* Checks the last elements of the body, which load the offsets of the lists. */
static bool check_begins(neo_verifier *v, const neo_def_rec *d, const neo_rows_rec *r) {
  const neo_module *m = v->m;
  uint32_t at = r->n_lists + (r->kinds > 1);
  bool good = true;
  for (uint32_t k = 0; k < r->n_lists && good; k++) {
    if (!r->list[k].begin.i)
      continue;
    const neo_node *n = at < d->body.n ? neo_expr_node(m, neo_list_expr(m, d->body, at)) : NULL;
    good = n && n->op == NEO_OP_LOAD && n->attr == r->list[k].begin.i &&
           is_axis(v, neo_list_expr(m, n->arg, 0), 0);
    at++;
  }
  return (good && at == d->body.n) || neo_verify_fail(v, "levels have children, and kinds, alone");
}

static bool check_body(neo_verifier *v, const neo_def_rec *d) {
  neo_verify_scope in = {.n_axes = d->axes.n};
  for (uint32_t k = 0; k < d->body.n; k++) {
    neo_expr e = neo_list_expr(v->m, d->body, k);
    if (!neo_verify_expr(v, &in, e, neo_expr_type(v->m, e), "the children"))
      return false;
  }
  return true;
}

bool neo_verify_levels(neo_verifier *v, const neo_def_rec *d) {
  const neo_module *m = v->m;
  if (d->rows.i >= m->rows.n || !d->axes.n)
    return neo_verify_fail(v, "the rows do not exist");
  const neo_rows_rec *r = neo_rows_at(m, d->rows);
  bool bare = !d->n_out && !d->reducer && !d->where.i && !d->finish.n && !d->out_map.n;
  if (!bare || r->kinds < 1 || !r->n_lists || r->n_lists > NEO_ROWS_LISTS)
    return neo_verify_fail(v, "levels have children, and kinds, alone");
  if (!check_begins(v, d, r))
    return false;
  neo_expr n = neo_def_axis(m, d, 0)->hi;
  uint32_t axis = 1;
  bool good = r->level.i && r->first.i && r->place.i && check_body(v, d) &&
              check_table(v, r->level, n, 1, 0) && check_table(v, r->first, n, r->kinds, 1) &&
              check_table(v, r->place, n, 1, 0) && check_table(v, r->vertex, n, 1, 0) &&
              check_table(v, r->kind, n, 1, 0);
  for (uint32_t k = 0; k < r->n_lists && good; k++)
    good = check_list(v, d, k, &axis);
  return good;
}

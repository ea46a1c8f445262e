/* Rounds that change nothing are left out: those of a `while` behind the one in which its condition failed.
 *
 *     alive[r] = (alive[r-1] else true) and c(h[r-1])
 *     next[r]  = f(h[r-1])
 *     h[r]     = select(alive[r], next[r], (h[r-1] else first))
 *
 * Once alive[r] is false it stays so, and h keeps its value. If n slices of h are in memory (ring.c), all of them
 * have it n rounds later. From then on nothing has to be computed but alive, and what is not as h and next
 * are; the rest runs where (alive[r-n] else true). `next` is among the rest: it is read by what is left out
 * alike, or only where alive[r] holds. Where all rounds of h are stored, all are written. */
#include "fusion/recurrence/internal.h"

typedef enum { NEEDED, CARRIED, PASSING } leaving_kind; /* the latter are left out */

typedef struct {
  outliner *o;
  const neo_order_step *order;
  neo_tensor alive;
  leaving_kind *kind; /* by definition */
  bool chosen;        /* the reads at hand are where alive[r] holds */
  bool changed;
} leaving;

static neo_tensor result_of(const leaving *l, neo_def d) {
  return (neo_tensor){neo_list_at(l->o->m, neo_def_at(l->o->m, d)->out, 0)};
}

/* Is it a read of the tensor in the round before, and at the same place otherwise? */
static bool is_round_before(neo_module *m, neo_expr e, neo_tensor t, uint32_t axis) {
  const neo_node *n = neo_expr_node(m, e);
  bool is = outline_is_read(n) && n->attr == t.i;
  for (uint32_t k = 0; is && k < neo_tensor_rank(m, t); k++) {
    neo_linear by;
    neo_expr apart = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, k), neo_expr_arg(m, e, k));
    is = neo_linear_of(m, apart, &by) && !by.n && by.constant == (k == axis);
  }
  return is;
}

/* alive[r] = (alive[r-1] else true) and ... */
static bool stays_false(neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  if (r->pieces.n != 1 || r->type != NEO_BOOL_T || r->extent.n != 1)
    return false;
  const neo_def_rec *d = neo_def_at(m, (neo_def){neo_list_at(m, r->pieces, 0)});
  if (d->reducer != NEO_RED_NONE || d->axes.n != 1 || d->out.n != 1 || d->out_map.n)
    return false;
  neo_expr e = neo_list_expr(m, d->finish, 0);
  for (uint32_t k = 0; k < 2 && neo_expr_node(m, e)->op == NEO_OP_AND; k++) {
    neo_expr before = neo_expr_arg(m, e, k);
    int64_t first;
    if (neo_expr_node(m, before)->op == NEO_OP_LOAD_ELSE && is_round_before(m, before, t, 0) &&
        neo_expr_is_int(m, neo_expr_arg(m, before, 1), &first) && first)
      return true;
  }
  return false;
}

static bool is_condition(const leaving *l, neo_expr e, uint32_t axis) {
  neo_module *m = l->o->m;
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_LOAD && n->attr == l->alive.i &&
         neo_expr_arg(m, e, 0).i == neo_axis_ref(m, axis).i;
}

/* h[r] = select(alive[r], ..., (h[r-1] else first)), of which some slices are in memory. */
static bool is_carry(const leaving *l, const neo_order_member *x) {
  neo_module *m = l->o->m;
  const neo_def_rec *d = neo_def_at(m, x->def);
  neo_tensor t = result_of(l, x->def);
  neo_expr e = neo_list_expr(m, d->finish, 0);
  const outline_ring *r = &l->o->ring[t.i];
  return r->n_folds == 1 && outline_slices(r, l->order) && d->out.n == 1 && !d->out_map.n &&
         neo_expr_node(m, e)->op == NEO_OP_SELECT &&
         is_condition(l, neo_expr_arg(m, e, 0), x->axis) &&
         is_round_before(m, neo_expr_arg(m, e, 2), t, x->axis);
}

/* Is it in memory for the round at hand alone, or not at all? */
static bool is_passing(const leaving *l, const neo_order_member *x) {
  neo_module *m = l->o->m;
  neo_list out = neo_def_at(m, x->def)->out;
  bool is = true;
  for (uint32_t k = 0; k < out.n; k++)
    is = is && neo_list_at(m, out, k) != l->alive.i && !l->o->stored[neo_list_at(m, out, k)] &&
         neo_tensor_at(m, (neo_tensor){neo_list_at(m, out, k)})->role == NEO_ROLE_TEMP;
  return is;
}

/* ---- who reads it */

/* What a definition that is not left out reads has to be there. A float need not, where a select does not take
 * it; an integer may be an index. */
static void need_read(void *ctx, neo_expr e) {
  leaving *l = ctx;
  const neo_module *m = l->o->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!outline_is_read(n))
    return;
  const neo_tensor_rec *t = neo_tensor_at(m, (neo_tensor){n->attr});
  for (uint32_t k = 0; k < t->pieces.n; k++) {
    leaving_kind *kind = &l->kind[neo_list_at(m, t->pieces, k)];
    if (*kind != PASSING || (l->chosen && neo_type_is_float((neo_type)t->type)))
      continue;
    *kind = NEEDED;
    l->changed = true;
  }
}

static void need_reads(leaving *l, neo_def id) {
  neo_module *m = l->o->m;
  const neo_order_member *x = outline_member(l->order, id);
  neo_def_rec d = *neo_def_at(m, id);
  neo_expr e = neo_list_expr(m, d.finish, 0);
  l->chosen = false;
  if (!x || d.finish.n != 1 || neo_expr_node(m, e)->op != NEO_OP_SELECT ||
      !is_condition(l, neo_expr_arg(m, e, 0), x->axis)) {
    neo_def_visit(m, id, need_read, l);
    return;
  }
  for (uint32_t k = 0; k < d.axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, &d, k)->lo, need_read, l);
    neo_expr_visit(m, neo_def_axis(m, &d, k)->hi, need_read, l);
  }
  for (uint32_t k = 0; k < d.body.n; k++)
    neo_expr_visit(m, neo_list_expr(m, d.body, k), need_read, l);
  if (d.where.i)
    neo_expr_visit(m, d.where, need_read, l);
  neo_expr_visit(m, neo_expr_arg(m, e, 2), need_read, l);
  l->chosen = true;
  neo_expr_visit(m, neo_expr_arg(m, e, 1), need_read, l);
}

/* Finds what is left out; false: nothing is. */
static bool find_kinds(leaving *l) {
  outliner *o = l->o;
  uint32_t n = 0;
  for (uint32_t k = 0; k < l->order->n_members; k++) {
    const neo_order_member *x = &l->order->member[k];
    l->kind[x->def.i] = is_carry(l, x) ? CARRIED : is_passing(l, x) ? PASSING : NEEDED;
  }
  do {
    l->changed = false;
    for (size_t k = 0; k < o->n; k++)
      if (l->kind[o->defs[k].i] == NEEDED)
        need_reads(l, o->defs[k]);
  } while (l->changed);
  for (size_t k = 0; k < o->n; k++)
    n += l->kind[o->defs[k].i] != NEEDED;
  return n > 0;
}

/* ---- where it runs */

/* Slices of what is kept, at most. */
static int64_t slices_of(const leaving *l) {
  int64_t n = 1;
  for (uint32_t k = 0; k < l->order->n_members; k++) {
    neo_def d = l->order->member[k].def;
    bool carried = l->kind[d.i] == CARRIED;
    int64_t own = carried ? outline_slices(&l->o->ring[result_of(l, d).i], l->order) : 0;
    n = own > n ? own : n;
  }
  return n;
}

static void leave_rounds(const leaving *l, const neo_tree *t, int64_t n) {
  neo_module *m = l->o->m;
  for (size_t k = 0; k < t->children.n; k++)
    leave_rounds(l, t->children.at[k], n);
  if (t->kind != NEO_TREE_LEAF)
    return;
  outline_instance *x = outline_at(l->o, t);
  const neo_order_member *own = outline_member(l->order, x->def);
  if (!own || l->kind[x->def.i] == NEEDED || x->rounds != 1 || !x->fixed[own->axis])
    return;
  neo_expr at = neo_op2(m, NEO_OP_SUB, x->base[own->axis], outline_number(l->o, n));
  x->alive = neo_load_else(m, l->alive, &at, 1, neo_const_bool(m, true), x->rec.span);
}

/* The tensor that a value of a member is chosen by, if it stays false. */
static neo_tensor chooses(neo_module *m, const neo_order_member *x) {
  neo_expr e = neo_list_expr(m, neo_def_at(m, x->def)->finish, 0);
  neo_expr is = neo_expr_node(m, e)->op == NEO_OP_SELECT ? neo_expr_arg(m, e, 0) : e;
  const neo_node *n = neo_expr_node(m, is);
  neo_tensor t = {n->op == NEO_OP_LOAD ? n->attr : 0};
  return t.i && stays_false(m, t) ? t : (neo_tensor){0};
}

void outline_find_alive(outliner *o, const neo_order_step *order) {
  for (uint32_t k = 0; k < order->n_members; k++) /* reads with delays are none of the same round */
    if (order->down || order->member[k].delay != order->member[0].delay)
      return;
  for (uint32_t k = 0; k < order->n_members && !o->alive.i; k++)
    o->alive = chooses(o->m, &order->member[k]);
  if (o->alive.i && o->own[o->alive.i])
    o->stored[o->alive.i] = true;
}

void outline_leave(outliner *o, const neo_order_step *order, const neo_tree *t) {
  leaving l = {.o = o, .order = order, .alive = o->alive};
  if (!o->alive.i)
    return;
  l.kind = NEO_NEW_ARRAY(o->a, leaving_kind, o->m->defs.n);
  if (find_kinds(&l))
    leave_rounds(&l, t, slices_of(&l));
}

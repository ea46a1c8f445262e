/* One tensor for each branch of a `case`; see branches.h. */
#include "ir/choice.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/verify/verify.h"
#include "transform/branches/branches.h"

enum { MOST_PARTS = 64 };

typedef struct {
  branches *b;
  neo_module *m;
  neo_def def;
  bool *heavy; /* by tensor: a reduction, a recurrence, or elementwise over one */
  neo_expr *index;
  uint32_t n;   /* sides */
  bool pays;    /* an expensive definition is needed by one arm alone */
  bool outside; /* a read of one side is in range only where that side is taken */
} arms;

static bool by_condition(const neo_module *m, neo_expr e) {
  if (neo_expr_node(m, e)->op != NEO_OP_AND)
    return neo_is_condition(m, e);
  return by_condition(m, neo_expr_arg(m, e, 0)) && by_condition(m, neo_expr_arg(m, e, 1));
}

static neo_conditions more(const arms *x, const neo_conditions *c, neo_expr e) {
  neo_expr *at = NEO_NEW_ARRAY(x->b->a, neo_expr, c->n + MOST_PARTS);
  uint32_t n = 0;
  for (uint32_t k = 0; k < c->n; k++)
    at[n++] = c->at[k];
  (void)neo_condition_add(x->m, at, &n, c->n + MOST_PARTS, e);
  return (neo_conditions){n, at};
}

/* The expression with `f` applied to each side that may be taken, first to last; `where` are the
 * conditions on the way to it and of the result. */
static neo_expr each_side(arms *x, neo_expr e, neo_conditions where,
                          neo_expr (*f)(arms *x, neo_expr e, const neo_conditions *where)) {
  neo_node n = *neo_expr_node(x->m, e);
  neo_expr c = n.op == NEO_OP_SELECT ? neo_list_expr(x->m, n.arg, 0) : e;
  if (n.op != NEO_OP_SELECT || !by_condition(x->m, c))
    return f(x, e, &where);
  neo_condition_value v = neo_condition_where(x->m, where.at, where.n, c);
  if (v != NEO_CONDITION_OPEN)
    return each_side(x, neo_list_expr(x->m, n.arg, v == NEO_CONDITION_HOLDS ? 1 : 2), where, f);
  neo_expr yes = each_side(x, neo_list_expr(x->m, n.arg, 1), more(x, &where, c), f);
  neo_expr no =
      each_side(x, neo_list_expr(x->m, n.arg, 2), more(x, &where, neo_op1(x->m, NEO_OP_NOT, c)), f);
  return neo_op3(x->m, NEO_OP_SELECT, c, yes, no);
}

typedef struct {
  const arms *x;
  const neo_conditions *less; /* conditions of the result */
  bool found;
} heavy_ctx;

static const neo_conditions *made_where(const arms *x, uint32_t t) {
  neo_list pieces = neo_tensor_at(x->m, (neo_tensor){t})->pieces;
  return pieces.n ? &x->b->of[neo_list_at(x->m, pieces, 0)] : NULL;
}

/* Does the branch read something heavy that no other needs? */
static void look_heavy(void *ctx, neo_expr e) {
  heavy_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->x->m, e);
  if (n->op != NEO_OP_LOAD || !c->x->heavy[n->attr])
    return;
  const neo_conditions *own = made_where(c->x, n->attr);
  c->found = c->found || (own && !neo_conditions_imply(c->x->m, c->less, own));
}

static neo_expr look_side(arms *x, neo_expr e, const neo_conditions *where) {
  heavy_ctx c = {x, &x->b->of[x->def.i], false};
  (void)where;
  neo_expr_visit(x->m, e, look_heavy, &c);
  x->n++;
  x->pays = x->pays || c.found;
  return e;
}

/* Is the side a whole tensor that is computed under the branch alone and may be the result? */
static bool has_tensor(const arms *x, neo_expr e, const neo_conditions *where) {
  const neo_node *n = neo_expr_node(x->m, e);
  neo_def_rec d = *neo_def_at(x->m, x->def);
  neo_tensor of = {neo_list_at(x->m, d.out, 0)}, t = {n->op == NEO_OP_LOAD ? n->attr : 0};
  if (!t.i || x->b->always[t.i] || n->arg.n != d.n_out || !neo_choice_is_like(x->m, t, of))
    return false;
  for (uint32_t k = 0; k < n->arg.n; k++)
    if (neo_list_at(x->m, n->arg, k) != x->index[k].i)
      return false;
  const neo_conditions *own = made_where(x, t.i);
  return own && neo_conditions_imply(x->m, own, where);
}

static neo_expr tensor_of_side(arms *x, neo_expr e, const neo_conditions *where) {
  neo_module *m = x->m;
  neo_def_rec r = *neo_def_at(m, x->def);
  neo_tensor of = {neo_list_at(m, r.out, 0)};
  if (has_tensor(x, e, where))
    return e;
  const neo_tensor_rec *like = neo_tensor_at(m, of);
  neo_temp t = {.prefix = "case",
                .like = of,
                .type = (neo_type)like->type,
                .bound = like->bound,
                .least = like->least,
                .below = like->below};
  r.origin = r.origin ? r.origin : x->def.i;
  r.finish = neo_list_one(m, e.i);
  neo_tensor made = neo_temp_define(m, &t, r);
  neo_def d = neo_tensor_piece(m, made, 0);
  x->outside = x->outside || neo_unproved_read(x->b->p, d, x->b->a).i;
  return neo_load(m, made, x->index, r.n_out, r.span);
}

/* Does the definition write the whole tensor, from 0 to its extents? */
static bool is_whole(const neo_module *m, const neo_def_rec *r) {
  neo_tensor t = {neo_list_at(m, r->out, 0)};
  for (uint32_t k = 0; k < r->n_out; k++)
    if (neo_def_axis(m, r, k)->hi.i != neo_tensor_extent(m, t, k).i)
      return false;
  return true;
}

static bool is_elementwise(const neo_module *m, const neo_def_rec *r) {
  const neo_tensor_rec *t = neo_tensor_at(m, neo_list_tensor(m, r->out, 0));
  return r->reducer == NEO_RED_NONE && r->out.n == 1 && !r->out_map.n && r->finish.n == 1 &&
         r->n_out && t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && is_whole(m, r);
}

static void make_arms(arms *x) {
  neo_module *m = x->m;
  neo_def_rec r = *neo_def_at(m, x->def);
  x->n = 0;
  x->pays = x->outside = false;
  if (!is_elementwise(m, &r))
    return;
  x->index = NEO_NEW_ARRAY(x->b->a, neo_expr, r.n_out + 1);
  for (uint32_t k = 0; k < r.n_out; k++)
    x->index[k] = neo_axis_ref(m, k);
  neo_expr e = neo_list_expr(m, r.finish, 0);
  (void)each_side(x, e, x->b->of[x->def.i], look_side);
  if (!x->pays || x->n < 2 || x->n > NEO_MOST_CHOICES)
    return;
  e = each_side(x, e, x->b->of[x->def.i], tensor_of_side);
  if (!x->outside)
    neo_def_at(m, x->def)->finish = neo_list_one(m, e.i);
}

static void note_heavy(arms *x, neo_def d, bool recurrent) {
  const neo_def_rec *r = neo_def_at(x->m, d);
  neo_tensor *in;
  bool heavy = r->reducer != NEO_RED_NONE || recurrent;
  for (size_t n = neo_def_reads(x->m, d, x->b->a, &in); n-- > 0 && !heavy;)
    heavy = x->heavy[in[n].i];
  for (uint32_t k = 0; k < r->out.n; k++)
    x->heavy[neo_list_at(x->m, r->out, k)] |= heavy;
}

void branches_make_arms(branches *b) {
  arms x = {.b = b, .m = b->m};
  const bool *recurrent = neo_recurrent_defs(b->m, b->a);
  x.heavy = NEO_NEW_ARRAY(b->a, bool, b->m->tensors.n);
  for (size_t k = 0; k < b->n; k++)
    note_heavy(&x, b->order[k], recurrent[b->order[k].i]);
  for (size_t k = 0; k < b->n; k++) {
    x.def = b->order[k];
    if (!recurrent[x.def.i])
      make_arms(&x);
  }
}

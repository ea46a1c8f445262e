/* Tensors that are zero where conditions do not hold; see branches.h. */
#include "ir/comparison.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "transform/branches/branches.h"

enum { MOST_PARTS = 64, MOST_TERMS = 64 };

typedef struct
{ /* zero except where one of the terms holds: conjunctions over axes of the tensor or its reader */
  bool known;
  uint32_t n;
  const neo_conditions *term;
} zero;

typedef struct {
  branches *b;
  neo_module *m;
  neo_arena *a;
  zero *of;              /* zeros, by tensor */
  const bool *recurrent; /* in a recurrence, by definition */
  uint64_t loops;        /* axes of the current definition */
  neo_def at;            /* current definition */
} zeros;

static const zero unknown = {0};

typedef struct {
  const zeros *z;
  neo_facts facts;
  bool ok;
} range_look;

static void look_in_range(void *ctx, neo_expr e) {
  range_look *l = ctx;
  neo_module *m = l->z->m;
  neo_node n = *neo_expr_node(m, e);
  for (uint32_t k = 0; n.op == NEO_OP_LOAD && k < n.arg.n && l->ok; k++) {
    neo_expr i = neo_list_expr(m, n.arg, k), hi = neo_tensor_extent(m, (neo_tensor){n.attr}, k);
    l->ok = neo_proves_index(l->z->b->p, &l->facts, i, hi);
  }
}

/* Does every element that the condition reads exist wherever the current definition has an element?
 * The condition moves to where no other condition protects its reads: m[t + 1] beside t + 1 < T is
 * not moved. */
static bool reads_exist(const zeros *z, neo_expr e) {
  neo_axis_rec axes[NEO_DEF_AXES];
  const neo_def_rec *d = neo_def_at(z->m, z->at);
  range_look l = {z, {axes, d->axes.n, NULL, 0}, d->axes.n <= NEO_DEF_AXES};
  for (uint32_t k = 0; k < d->axes.n && l.ok; k++)
    axes[k] = *neo_def_axis(z->m, d, k);
  if (l.ok)
    neo_expr_visit(z->m, e, look_in_range, &l);
  return l.ok;
}

/* Is it a condition on the call, or on the iterations of the current definition? */
static bool counts(const zeros *z, neo_expr e) {
  uint64_t axes = neo_expr_axes(z->m, e);
  return axes ? !(axes & ~z->loops) && neo_is_point_condition(z->m, e) && reads_exist(z, e)
              : neo_is_condition(z->m, e);
}

/* Splits a conjunction of conditions; false: it has another form. */
static bool parts_of(zeros *z, neo_expr e, neo_conditions *out) {
  neo_expr *part = NEO_NEW_ARRAY(z->a, neo_expr, MOST_PARTS);
  uint32_t n = 0;
  bool ok = neo_condition_parts(z->m, e, part, &n, MOST_PARTS);
  for (uint32_t k = 0; k < n && ok; k++)
    ok = counts(z, part[k]);
  *out = (neo_conditions){n, part};
  return ok;
}

static zero whole(const zeros *z) {
  return (zero){true, 1, NEO_NEW(z->a, neo_conditions)};
}

/* Zero where both x and y are. */
static zero either(const zeros *z, zero x, zero y) {
  neo_conditions *term = NEO_NEW_ARRAY(z->a, neo_conditions, x.n + y.n + 1);
  if (!x.known || !y.known || x.n + y.n > MOST_TERMS)
    return unknown;
  for (uint32_t k = 0; k < x.n + y.n; k++)
    term[k] = k < x.n ? x.term[k] : y.term[k - x.n];
  return (zero){true, x.n + y.n, term};
}

static zero under(const zeros *z, zero x, const neo_conditions *c) {
  zero from = x.known ? x : whole(z);
  neo_conditions *term = NEO_NEW_ARRAY(z->a, neo_conditions, from.n + 1);
  for (uint32_t k = 0; k < from.n; k++) {
    uint32_t n = 0, most = from.term[k].n + c->n;
    neo_expr *at = NEO_NEW_ARRAY(z->a, neo_expr, most + 1);
    for (uint32_t i = 0; i < most; i++)
      (void)neo_condition_add(z->m, at, &n, most, i < c->n ? c->at[i] : from.term[k].at[i - c->n]);
    term[k] = (neo_conditions){n, at};
  }
  return (zero){true, from.n, term};
}

static zero zero_of(zeros *z, neo_expr e);

/* Conditions of a read tensor, at the position that is read. */
static zero zero_of_read(zeros *z, const neo_node *n) {
  zero x = z->of[n->attr];
  neo_expr index[NEO_TENSOR_RANK];
  neo_conditions *term = NEO_NEW_ARRAY(z->a, neo_conditions, x.n + 1);
  for (uint32_t k = 0; k < n->arg.n; k++)
    index[k] = neo_list_expr(z->m, n->arg, k);
  for (uint32_t k = 0; k < x.n; k++) {
    neo_expr *at = NEO_NEW_ARRAY(z->a, neo_expr, x.term[k].n + 1);
    for (uint32_t i = 0; i < x.term[k].n; i++) {
      neo_expr e = neo_expr_subst_axes(z->m, x.term[k].at[i], index, n->arg.n);
      if (counts(z, e))
        at[term[k].n++] = neo_condition_of(z->m, e);
    }
    term[k].at = at;
  }
  x.term = term;
  return x;
}

static zero zero_of_select(zeros *z, const neo_node *n) {
  neo_expr c = neo_list_expr(z->m, n->arg, 0);
  neo_conditions holds, fails;
  if (!parts_of(z, c, &holds))
    return unknown;
  zero x = under(z, zero_of(z, neo_list_expr(z->m, n->arg, 1)), &holds);
  zero y = zero_of(z, neo_list_expr(z->m, n->arg, 2));
  if (y.known && !y.n)
    return x;
  if (!parts_of(z, neo_op1(z->m, NEO_OP_NOT, c), &fails))
    fails.n = 0;
  return either(z, x, under(z, y, &fails));
}

/* Zeros of the expression where the accumulator has the value `acc`. */
static zero zero_with(zeros *z, neo_expr e, zero acc) {
  neo_module *m = z->m;
  neo_node n = *neo_expr_node(m, e);
  neo_expr x = n.arg.n ? neo_list_expr(m, n.arg, 0) : e,
           y = n.arg.n > 1 ? neo_list_expr(m, n.arg, 1) : e;
  if (neo_expr_is_zero(m, e))
    return (zero){.known = true};
  switch (n.op) {
  case NEO_OP_ACC:
    return acc;
  case NEO_OP_LOAD:
    return zero_of_read(z, &n);
  case NEO_OP_NEG:
    return zero_with(z, x, acc);
  case NEO_OP_CAST:
    return neo_type_is_float(neo_expr_type(m, x)) ? zero_with(z, x, acc) : unknown;
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    return either(z, zero_with(z, x, acc), zero_with(z, y, acc));
  case NEO_OP_MUL: /* a factor that is not constant may be infinite */
    return neo_expr_node(m, y)->op == NEO_OP_CONST   ? zero_with(z, x, acc)
           : neo_expr_node(m, x)->op == NEO_OP_CONST ? zero_with(z, y, acc)
                                                     : unknown;
  case NEO_OP_SELECT:
    return acc.known ? unknown : zero_of_select(z, &n);
  default:
    return unknown;
  }
}

static zero zero_of(zeros *z, neo_expr e) {
  return zero_with(z, e, unknown);
}

/* Zeros of a sum before its `finish`. */
static zero zero_of_sum(zeros *z, const neo_def_rec *d) {
  neo_conditions all, some = {0};
  zero body = zero_of(z, neo_list_expr(z->m, d->body, 0));
  if (!d->where.i)
    return body;
  neo_expr *part = NEO_NEW_ARRAY(z->a, neo_expr, MOST_PARTS);
  uint32_t n = 0, kept = 0;
  if (!neo_condition_parts(z->m, d->where, part, &n, MOST_PARTS))
    return body;
  for (uint32_t k = 0; k < n; k++)
    if (counts(z, part[k]))
      part[kept++] = part[k];
  all = (neo_conditions){kept, part};
  return kept || body.known ? under(z, body, kept ? &all : &some) : unknown;
}

static bool is_plain(const zeros *z, const neo_def_rec *d) {
  return d->out.n == 1 && !d->out_map.n && d->finish.n == 1 &&
         neo_type_is_float(neo_tensor_type(z->m, neo_list_tensor(z->m, d->out, 0)));
}

static bool is_sum(const neo_def_rec *d) {
  return d->reducer == NEO_RED_SUM && d->body.n == 1;
}

/* Is the definition outside of loops, or in loops whose axes are known? */
static bool is_known(const zeros *z, neo_def id) {
  return !z->recurrent[id.i] || z->loops;
}

static zero zero_of_def(zeros *z, neo_def id, const neo_def_rec *d) {
  neo_expr finish = neo_list_expr(z->m, d->finish, 0);
  if (is_sum(d)) {
    zero acc = zero_of_sum(z, d);
    return acc.known ? zero_with(z, finish, acc) : unknown;
  }
  return d->reducer == NEO_RED_NONE && is_known(z, id) ? zero_of(z, finish) : unknown;
}

/* ---- sums that are always needed: the sum without its conditional `finish` */

/* z[n] = sum[k] ... then f(acc)  ->  partial.z[n] = sum[k] ...,  z[n] = f(select(holds,
 * partial.z[n], 0)) */
static void split_sum(zeros *z, neo_def id, const neo_conditions *holds) {
  neo_module *m = z->m;
  neo_def_rec d = *neo_def_at(m, id);
  neo_partial p = {.prefix = "partial",
                   .of = id,
                   .reducer = NEO_RED_SUM,
                   .axes = d.axes,
                   .n_out = d.n_out,
                   .where = d.where,
                   .body = neo_list_expr(m, d.body, 0)};
  neo_tensor t = neo_partial_define(m, &p);
  neo_expr value = neo_load_own(m, t, d.span);
  value = neo_op3(m, NEO_OP_SELECT, neo_conjunction(m, holds->at, holds->n), value,
                  neo_const_int(m, neo_expr_type(m, value), 0));
  neo_reduction_replace(m, id, value);
}

static bool may_be_partial(const zeros *z, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(z->m, t);
  return r->role == NEO_ROLE_TEMP && r->pieces.n == 1 && !z->b->always[t.i];
}

/* Finds where the result is zero. Returns the number of terms; 0: not known. */
static uint32_t find_result(zeros *z, neo_def id) {
  neo_def_rec d = *neo_def_at(z->m, id);
  if (!is_plain(z, &d))
    return 0;
  neo_tensor t = {neo_list_at(z->m, d.out, 0)};
  zero x = zero_of_def(z, id, &d);
  if (!may_be_partial(z, t) || !x.known)
    return 0;
  z->of[t.i] = x;
  return x.n ? x.n : 1;
}

static void find(zeros *z, neo_def id) {
  neo_def_rec d = *neo_def_at(z->m, id);
  if (!is_plain(z, &d) || find_result(z, id) == 1) /* its readers know what holds in the sum */
    return;
  zero acc = is_sum(&d) && is_known(z, id) ? zero_of_sum(z, &d) : unknown;
  if (acc.known && acc.n == 1 && acc.term[0].n)
    split_sum(z, id, &acc.term[0]);
}

/* ---- readers */

static neo_expr read_under(void *ctx, neo_module *m, neo_expr e) {
  zeros *z = ctx;
  neo_node n = *neo_expr_node(m, e);
  zero x = n.op == NEO_OP_LOAD && z->of[n.attr].known ? zero_of_read(z, &n) : unknown;
  if (!x.known || x.n != 1 || !x.term[0].n)
    return e;
  neo_expr where = neo_conjunction(m, x.term[0].at, x.term[0].n);
  return neo_op3(m, NEO_OP_SELECT, where, e, neo_const_int(m, (neo_type)n.type, 0));
}

static bool never_both(const zeros *z, const zero *x, const zero *y) {
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < y->n; k++)
      if (!neo_conditions_exclude(z->m, &x->term[i], &y->term[k]))
        return false;
  return x->known && y->known;
}

/* x where its one term holds, else `other`: a sum of tensors of which one is not zero as a
 * select. */
static neo_expr first_of(zeros *z, neo_expr x, const neo_conditions *term, neo_expr other) {
  neo_node n = *neo_expr_node(z->m, x);
  neo_expr where = neo_conjunction(z->m, term->at, term->n);
  if (n.op == NEO_OP_SELECT && neo_list_at(z->m, n.arg, 0) == where.i)
    x = neo_list_expr(z->m, n.arg, 1);
  return neo_op3(z->m, NEO_OP_SELECT, where, x, other);
}

static neo_expr add_exclusive(void *ctx, neo_module *m, neo_expr e) {
  zeros *z = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (n.op != NEO_OP_ADD || !neo_type_is_float((neo_type)n.type))
    return e;
  neo_expr x = neo_list_expr(m, n.arg, 0), y = neo_list_expr(m, n.arg, 1);
  zero of_x = zero_of(z, x), of_y = zero_of(z, y);
  if (!of_x.n || !of_y.n || !never_both(z, &of_x, &of_y))
    return e;
  if (of_x.n == 1)
    return first_of(z, x, &of_x.term[0], y);
  return of_y.n == 1 ? first_of(z, y, &of_y.term[0], x) : e;
}

static zeros zeros_of(branches *b) {
  neo_module *m = b->m;
  zeros z = {.b = b, .m = m, .a = b->a};
  z.of = NEO_NEW_ARRAY(b->a, zero, m->tensors.n + b->n + 1); /* partial sums included */
  z.recurrent = neo_recurrent_defs(m, b->a);
  return z;
}

static void stand_at(zeros *z, neo_def d) {
  z->at = d;
  z->loops = z->b->loops[d.i];
}

void branches_ask_for_zeros(branches *b) {
  neo_module *m = b->m;
  uint32_t n_defs = (uint32_t)m->defs.n;
  zeros z = zeros_of(b);
  for (size_t k = 0; k < b->n; k++) {
    stand_at(&z, b->order[k]);
    find(&z, b->order[k]);
  }
  for (uint32_t d = 1; d < m->defs.n; d++) {
    z.at = (neo_def){d};
    z.loops = d < n_defs ? b->loops[d] : 0;
    neo_def_rewrite(m, (neo_def){d}, add_exclusive, &z);
    neo_def_rewrite(m, (neo_def){d}, read_under, &z);
  }
}

/* ---- sums over the iterations of a loop */

/* Positions at which a product may be other than zero. Terms that a condition makes zero need not
 * be multiplied, so one zero factor is enough. */
static zero zero_of_product(zeros *z, neo_expr e) {
  neo_node n = *neo_expr_node(z->m, e);
  if (n.op == NEO_OP_NEG)
    return zero_of_product(z, neo_list_expr(z->m, n.arg, 0));
  if (n.op != NEO_OP_MUL)
    return zero_of(z, e);
  zero x = zero_of_product(z, neo_list_expr(z->m, n.arg, 0));
  zero y = zero_of_product(z, neo_list_expr(z->m, n.arg, 1));
  if (x.known && y.known && y.n == 1)
    return under(z, x, &y.term[0]);
  return x.known ? x : y;
}

/* A gradient in a branch of a loop: the sum takes only the iterations that take the branch.
 *
 *     g[i, j] = sum[t] d[t, i]*h[t, j]             d is zero where not p[t]
 *     ->
 *     g[i, j] = sum[t] where p[t]; d[t, i]*h[t, j] */
static void ask_in_sum(zeros *z, neo_def id) {
  neo_module *m = z->m;
  neo_def_rec d = *neo_def_at(m, id);
  if (!is_sum(&d) || z->recurrent[id.i] || d.axes.n > NEO_DEF_AXES)
    return;
  z->at = id;
  z->loops = 0;
  for (uint32_t k = d.n_out; k < d.axes.n; k++)
    z->loops |= (uint64_t)1 << k;
  zero x = zero_of_product(z, neo_list_expr(m, d.body, 0));
  neo_expr where = d.where;
  for (uint32_t k = 0; x.known && x.n == 1 && k < x.term[0].n; k++) {
    neo_expr is = x.term[0].at[k];
    if (neo_expr_axes(m, is)) /* conditions of a call are asked once: read_under */
      where = where.i ? neo_op2(m, NEO_OP_AND, where, is) : is;
  }
  neo_def_at(m, id)->where = where;
}

void branches_ask_in_sums(branches *b) {
  zeros z = zeros_of(b);
  for (size_t k = 0; k < b->n; k++) {
    stand_at(&z, b->order[k]);
    find_result(&z, b->order[k]);
  }
  for (size_t k = 0; k < b->n; k++)
    ask_in_sum(&z, b->order[k]);
}

/* Row-sparse gradients of tables of which a step reads a few rows. Such a gradient is a
 * sum over an equation of data:
 *
 *     G[n, d] = sum[e where key[e] == n] x[e, d]
 *
 * Rows that no key equals are 0. If all readers test first whether the row has a
 * nonzero element,
 *
 *     read[n] = any[d] G[n, d] != 0,     m.next[n, d] = select(read[n], f(G[n, d]), m[n, d])
 *
 * or the program gives a condition on rows, the other rows are neither computed nor
 * tested:
 *
 *     touched[n] = any[e where key[e] == n] true
 *     S[n, d]    = sum[e where key[e] == n] x[e, d]
 *                  partial: G is select(touched[n], S[n, d], 0)
 *     R[n]       = select(touched[n], any[d] S[n, d] != 0, false)
 *                  partial: read[n] is touched[n] and R[n]
 *     m.next[n, d] = select(touched[n] and R[n], f(S[n, d]), m[n, d])
 *
 * G and read stay for entries that return them. A step then costs as much as the rows
 * that it reads (schedule/segment, codegen/lower/loops/needed.c). On a GPU no pass over
 * the terms scatters to rows: each row gathers its terms, and does so only if it has
 * some:
 *
 *     S[n, d]    = select(touched[n], sum[e where key[e] == n] x[e, d], 0)        partial
 *
 * The same holds for a sum that a recurrence only adds, such as adjoints of rows that
 * are read outside of it. It moves before the recurrence:
 *
 *     h[v, d] = f(sum[e where key[e] == v] x[e, d], h[..])
 *     ->
 *     h[v, d] = f(select(touched[v], S[v, d], 0), h[..]) */
#include "ir/comparison.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/guarded_read.h"
#include "ir/limits.h"
#include "transform/transform.h"

enum { MOST_CONJUNCTS = 8 };

typedef struct {
  neo_module *m;
  neo_arena *a;
  const neo_def *defs; /* definitions that entries need, producers first */
  size_t n;
  bool gpu;
} rows;

/* ---- sums over an equation */

/* Do ranges of the sum change along output axes other than the first? */
static bool is_ragged(neo_module *m, const neo_def_rec *d) {
  uint64_t others = ((uint64_t)1 << d->n_out) - 2;
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, d, k);
    if ((neo_expr_axes(m, x.lo) | neo_expr_axes(m, x.hi)) & others)
      return true;
  }
  return false;
}

/* Does the condition equate data and the first axis, with data and ranges free of other output
 * axes? */
static bool has_key(neo_module *m, const neo_def_rec *d) {
  neo_expr part[MOST_CONJUNCTS];
  uint32_t n = 0;
  uint64_t out = ((uint64_t)1 << d->n_out) - 1;
  if (!d->where.i || is_ragged(m, d) || !neo_conjuncts_of(m, d->where, part, &n, MOST_CONJUNCTS))
    return false;
  bool key = false, free = true;
  for (uint32_t k = 0; k < n; k++) {
    neo_node x = *neo_expr_node(m, part[k]);
    bool is = false;
    for (uint32_t side = 0; side < 2 && x.op == NEO_OP_EQ && !is; side++) {
      neo_expr a = neo_list_expr(m, x.arg, side), b = neo_list_expr(m, x.arg, 1 - side);
      is = a.i == neo_axis_ref(m, 0).i && !(neo_expr_axes(m, b) & out) &&
           neo_expr_uses_op(m, b, NEO_OP_LOAD);
    }
    key = key || is;
    free = free && (is || !(neo_expr_axes(m, part[k]) & out));
  }
  return key && free;
}

static bool is_candidate(neo_module *m, neo_def id) {
  const neo_def_rec *d = neo_def_at(m, id);
  if (d->reducer != NEO_RED_SUM || d->n_out < 2 || d->out_map.n || d->out.n != 1)
    return false;
  neo_tensor t = {neo_list_at(m, d->out, 0)};
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  neo_def_rec copy = *d;
  return r->role == NEO_ROLE_TEMP && r->pieces.n == 1 && !r->partial && has_key(m, &copy);
}

/* ---- readers */

/* Does the definition test, for each row, whether it has a nonzero element? */
static bool asks_rows(neo_module *m, neo_def id, neo_tensor t) {
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t rank = neo_tensor_rank(m, t);
  if (d.reducer != NEO_RED_ANY || d.n_out != 1 || d.where.i || d.axes.n != rank || d.out.n != 1 ||
      neo_expr_node(m, neo_list_expr(m, d.finish, 0))->op != NEO_OP_ACC)
    return false;
  neo_node n = *neo_expr_node(m, neo_list_expr(m, d.body, 0));
  if (n.op != NEO_OP_NE)
    return false;
  for (uint32_t side = 0; side < 2; side++) {
    neo_node x = *neo_expr_node(m, neo_list_expr(m, n.arg, side));
    bool is = x.op == NEO_OP_LOAD && x.attr == t.i &&
              neo_expr_is_zero(m, neo_list_expr(m, n.arg, 1 - side));
    for (uint32_t k = 0; is && k < rank; k++)
      is = neo_list_at(m, x.arg, k) == neo_axis_ref(m, k).i;
    if (is)
      return true;
  }
  return false;
}

/* Is the read guarded by an element of its row in a tensor of truths? */
static bool is_asked(const rows *x, const neo_guarded_read *r) {
  neo_module *m = x->m;
  neo_expr row = neo_expr_arg(m, r->read, 0);
  for (uint32_t k = 0; k < r->n_assume; k++) {
    neo_expr part[MOST_CONJUNCTS];
    uint32_t n = 0;
    if (!neo_conjuncts_of(m, r->assume[k], part, &n, MOST_CONJUNCTS))
      continue;
    for (uint32_t i = 0; i < n; i++) {
      const neo_node *c = neo_expr_node(m, part[i]);
      if (c->op == NEO_OP_LOAD && c->arg.n == 1 && neo_list_at(m, c->arg, 0) == row.i)
        return true;
    }
  }
  return false;
}

/* Do all readers test first? `asks`: by tensor, the definition that tests its rows. */
static bool all_ask(const rows *x, neo_tensor t, neo_def *asks) {
  neo_module *m = x->m;
  bool any = false, all = true;
  bool *wanted = NEO_NEW_ARRAY(x->a, bool, m->tensors.n);
  wanted[t.i] = true;
  for (size_t k = 0; k < x->n && all; k++) {
    neo_guarded_reads reads = {0};
    neo_tensor out = neo_def_out(m, x->defs[k], 0);
    if (asks_rows(m, x->defs[k], t) && neo_tensor_at(m, out)->role == NEO_ROLE_TEMP) {
      asks[out.i] = x->defs[k];
      continue;
    }
    neo_guarded_reads_of(m, x->defs[k], wanted, x->a, &reads);
    for (size_t i = 0; i < reads.n && all; i++)
      any = all =
          neo_expr_node(m, reads.at[i].read)->op == NEO_OP_LOAD && is_asked(x, &reads.at[i]);
  }
  return any && all;
}

/* ---- rewriting */

static neo_tensor define_touched(const rows *x, neo_def id, neo_tensor t) {
  neo_module *m = x->m;
  neo_def_rec d = *neo_def_at(m, id), r = {.n_out = 1, .reducer = NEO_RED_ANY, .span = d.span};
  uint32_t axes[NEO_DEF_AXES], n = 0;
  neo_expr by[NEO_DEF_AXES] = {{0}}, yes = neo_const_bool(m, true);
  for (uint32_t k = 0; k < d.axes.n; k++) {
    if (k > 0 && k < d.n_out)
      continue;
    by[k] = neo_axis_ref(m, n);
    neo_axis_rec axis = *neo_def_axis(m, &d, k);
    axis.lo = neo_expr_subst_axes(m, axis.lo, by, d.axes.n);
    axis.hi = neo_expr_subst_axes(m, axis.hi, by, d.axes.n);
    axes[n++] = neo_axis_add(m, axis).i;
  }
  r.axes = neo_list_new(m, axes, n);
  r.where = neo_expr_subst_axes(m, d.where, by, d.axes.n);
  r.body = neo_list_one(m, yes.i);
  r.finish = neo_list_one(m, neo_acc_ref(m, NEO_BOOL_T, 0).i);
  r.origin = d.origin ? d.origin : id.i;
  neo_temp temp = {.prefix = "touched", .like = t, .type = NEO_BOOL_T};
  return neo_temp_define(m, &temp, r);
}

static neo_expr is_touched(const rows *x, neo_tensor touched, neo_span span) {
  neo_expr row = neo_axis_ref(x->m, 0);
  return neo_load(x->m, touched, &row, 1, span);
}

/* Defines the sum for rows with terms; nobody reads the others. */
static neo_tensor define_sparse(const rows *x, neo_def_rec d, neo_tensor like, neo_type type,
                                neo_tensor touched) {
  neo_module *m = x->m;
  neo_temp temp = {.prefix = "sparse", .like = like, .type = type};
  if (x->gpu) {
    neo_expr value = neo_op3(m, NEO_OP_SELECT, is_touched(x, touched, d.span),
                             neo_list_expr(m, d.finish, 0), neo_const_int(m, type, 0));
    d.finish = neo_list_one(m, value.i);
  }
  neo_tensor made = neo_temp_define(m, &temp, d);
  neo_tensor_rec *r = neo_tensor_at(m, made);
  *(x->gpu ? &r->partial : &r->terms) = true;
  return made;
}

/* Defines the tests of rows with terms; readers use no others. */
static neo_tensor define_asking(const rows *x, neo_def id, neo_tensor touched) {
  neo_module *m = x->m;
  neo_def_rec d = *neo_def_at(m, id);
  neo_temp temp = {.prefix = "asked", .like = {neo_list_at(m, d.out, 0)}, .type = NEO_BOOL_T};
  neo_expr value = neo_op3(m, NEO_OP_SELECT, is_touched(x, touched, d.span),
                           neo_list_expr(m, d.finish, 0), neo_const_bool(m, false));
  d.finish = neo_list_one(m, value.i);
  d.origin = d.origin ? d.origin : id.i;
  neo_tensor made = neo_temp_define(m, &temp, d);
  neo_tensor_at(m, made)->partial = true;
  return made;
}

typedef struct {
  neo_tensor from, to, touched;
  const neo_tensor *answer; /* by tensor that tests rows: its partial tensor, for rows with terms */
} renaming;

static neo_expr renamed(void *ctx, neo_module *m, neo_expr e) {
  const renaming *r = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor answer = n.op == NEO_OP_LOAD ? r->answer[n.attr] : (neo_tensor){0};
  if (n.op != NEO_OP_LOAD || (n.attr != r->from.i && !answer.i))
    return e;
  neo_expr at[NEO_DEF_AXES];
  for (uint32_t k = 0; k < n.arg.n; k++)
    at[k] = neo_list_expr(m, n.arg, k);
  neo_expr is = neo_load(m, r->touched, at, 1, n.span);
  if (answer.i)
    return neo_op2(m, NEO_OP_AND, is, neo_load(m, answer, at, 1, n.span));
  return neo_op3(m, NEO_OP_SELECT, is, neo_load(m, r->to, at, n.arg.n, n.span),
                 neo_const_int(m, (neo_type)n.type, 0));
}

/* Makes the readers read the partial tensors. An entry may return the whole gradient or its tests,
 * and a read of the latter may be outside. */
static void rewrite(const rows *x, neo_def id, neo_tensor t, const neo_def *asks) {
  neo_module *m = x->m;
  neo_tensor touched = define_touched(x, id, t);
  neo_def_rec d = *neo_def_at(m, id);
  d.origin = d.origin ? d.origin : id.i;
  neo_type type = neo_tensor_type(m, t);
  uint32_t n = (uint32_t)m->tensors.n;
  neo_tensor *answer = NEO_NEW_ARRAY(x->a, neo_tensor, 2 * n + 1),
             sparse = define_sparse(x, d, t, type, touched);
  renaming to = {t, sparse, touched, answer};
  for (uint32_t k = 1; k < n; k++)
    if (asks[k].i) {
      answer[k] = define_asking(x, asks[k], touched);
      neo_def_rewrite(m, neo_tensor_piece(m, answer[k], 0), renamed, &to);
    }
  for (size_t k = 0; k < x->n; k++)
    neo_def_rewrite(m, x->defs[k], renamed, &to);
}

/* ---- sums in recurrences */

typedef struct {
  const uint32_t *of; /* by tensor: its recurrence */
  uint32_t number;
  const neo_module *m;
  bool reads;
} own_reads;

static void look_own(void *ctx, neo_expr e) {
  own_reads *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (neo_node_is_load(n))
    x->reads = x->reads || x->of[n->attr] == x->number;
}

/* Is it a sum over an equation of data, free of the recurrence? */
static bool is_outside(neo_module *m, neo_def id, const uint32_t *of, uint32_t number) {
  neo_def_rec d = *neo_def_at(m, id);
  own_reads x = {of, number, m, false};
  if (!number || d.reducer != NEO_RED_SUM || d.n_out < 2 || d.out.n != 1 || d.out_map.n ||
      d.body.n != 1 || !has_key(m, &d))
    return false;
  neo_expr_visit(m, neo_list_expr(m, d.body, 0), look_own, &x);
  neo_expr_visit(m, d.where, look_own, &x);
  return !x.reads;
}

static void make_before(const rows *x, neo_def id) {
  neo_module *m = x->m;
  neo_def_rec d = *neo_def_at(m, id), sum = d;
  neo_tensor t = {neo_list_at(m, d.out, 0)};
  neo_type type = neo_expr_type(m, neo_list_expr(m, d.body, 0));
  neo_expr zero = neo_const_int(m, type, 0);
  neo_tensor touched = define_touched(x, id, t);
  sum.finish = neo_list_one(m, neo_acc_ref(m, type, 0).i);
  sum.origin = d.origin ? d.origin : id.i;
  neo_tensor made = define_sparse(x, sum, t, type, touched);
  neo_expr value = neo_op3(m, NEO_OP_SELECT, is_touched(x, touched, d.span),
                           neo_load_own(m, made, d.span), zero);
  neo_reduction_replace(m, id, value);
}

/* Moves sums over equations that recurrences only add before them. */
static void leave_recurrences(const rows *x) {
  neo_module *m = x->m;
  uint32_t *number = NEO_NEW_ARRAY(x->a, uint32_t, m->defs.n);
  uint32_t *of = NEO_NEW_ARRAY(x->a, uint32_t, m->tensors.n + 2 * x->n); /* new ones included */
  if (!neo_recurrences(m, x->defs, x->n, x->a, number))
    return;
  for (size_t k = 0; k < x->n; k++) {
    neo_list out = neo_def_at(m, x->defs[k])->out;
    for (uint32_t i = 0; i < out.n; i++)
      of[neo_list_at(m, out, i)] = number[x->defs[k].i];
  }
  for (size_t k = 0; k < x->n; k++)
    if (is_outside(m, x->defs[k], of, number[x->defs[k].i]))
      make_before(x, x->defs[k]);
}

/* Writes any[e] key[e] == n as a condition, as sums have it: any[e where key[e] == n] true. */
static void write_as_condition(neo_module *m, neo_def id) {
  neo_def_rec d = *neo_def_at(m, id);
  if (d.reducer != NEO_RED_ANY || d.where.i || d.n_out != 1)
    return;
  d.where = neo_list_expr(m, d.body, 0);
  if (!has_key(m, &d))
    return;
  d.body = neo_list_one(m, neo_const_bool(m, true).i);
  *neo_def_at(m, id) = d;
}

neo_status neo_pass_sparse_rows(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def *defs;
  rows x = {.m = m, .a = pass->a, .gpu = pass->target->gpu_threads};
  x.n = neo_needed_defs(m, false, pass->a, &defs);
  x.defs = defs;
  leave_recurrences(&x);
  for (size_t k = 0; k < x.n; k++) {
    write_as_condition(m, defs[k]);
    if (!is_candidate(m, defs[k]))
      continue;
    neo_tensor t = neo_def_out(m, defs[k], 0);
    neo_def *asks = NEO_NEW_ARRAY(pass->a, neo_def, m->tensors.n + 1); /* `touched` included */
    if (all_ask(&x, t, asks))
      rewrite(&x, defs[k], t, asks);
  }
  return NEO_OK;
}

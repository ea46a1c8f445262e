/* Wrapping integers. i64 arithmetic wraps, but later passes that match indices (linear forms,
 * digits, strides, equations, signs) compute with exact integers. So a sum or product that may
 * leave i64, by the ranges of its operands (ir/reach.h), is put under an opaque `stop`.
 *
 *     z[b] = (x[(b*b*b*b*b) % 7] else 0)   ->   (x[stop(stop(b*b*b*b)*b) % 7] else 0)    b < 10^6
 *
 * Values that are only added, multiplied and stored are in no index and stay, so that sums of
 * products of i64 are still matched. A tensor used otherwise (in a subscript, bound, comparison,
 * quotient or conversion), or copied into one that is, counts as an index: passes substitute its
 * value for its reads. */
#include "ir/reach.h"
#include "transform/transform.h"

typedef struct {
  neo_module *m;
  neo_arena *scratch;
  neo_reaches reaches;      /* ranges in the current definition */
  bool *asked;              /* by tensor: used in an index */
  NEO_VEC(neo_tensor) work; /* used tensors that are not visited yet */
  neo_map seen;             /* expressions used in an index */
  bool marked;              /* the current definition has a new `stop` */
} wrapping;

static bool is_stop(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_STOP && n->type == NEO_I64_T;
}

/* ---- marks */

static neo_expr mark(void *ctx, neo_module *m, neo_expr e) {
  wrapping *w = ctx;
  if (is_stop(m, e) && is_stop(m, neo_expr_arg(m, e, 0)))
    return neo_expr_arg(m, e, 0);
  if (!neo_reach_wraps(&w->reaches, e))
    return e;
  w->marked = true;
  return neo_op1(m, NEO_OP_STOP, e);
}

static bool mark_definition(wrapping *w, neo_def d) {
  neo_module *m = w->m;
  neo_def_rec r = *neo_def_at(m, d);
  neo_axis_rec *axes = NEO_NEW_ARRAY(w->scratch, neo_axis_rec, r.axes.n + 1);
  for (uint32_t k = 0; k < r.axes.n; k++)
    axes[k] = *neo_def_axis(m, &r, k);
  neo_reaches_init(&w->reaches, m, w->scratch, axes, r.axes.n);
  w->marked = false;
  neo_def_rewrite(m, d, mark, w);
  return w->marked;
}

/* ---- tensors used in indices */

/* Do only sums, products and choices lie between e and an argument's value? */
static bool hands_on(const neo_module *m, neo_expr e) {
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  return neo_expr_is_whole_sum(m, e) || is_stop(m, e) ||
         (op == NEO_OP_SELECT && neo_expr_type(m, e) == NEO_I64_T);
}

static void ask_tensor(wrapping *w, neo_tensor t) {
  if (w->asked[t.i])
    return;
  w->asked[t.i] = true;
  NEO_PUSH(w->scratch, &w->work, t);
}

/* Marks the elements that e is made of. */
static void ask(wrapping *w, neo_expr e) {
  neo_node n = e.i ? *neo_expr_node(w->m, e) : (neo_node){0};
  if (n.type != NEO_I64_T || !e.i || neo_map_get(&w->seen, e.i, NULL))
    return;
  neo_map_set(&w->seen, e.i, 1);
  if (neo_node_is_load(&n))
    ask_tensor(w, (neo_tensor){n.attr});
  for (uint32_t k = 0; k < n.arg.n && hands_on(w->m, e); k++)
    ask(w, neo_list_expr(w->m, n.arg, k));
}

static void ask_args(void *ctx, neo_expr e) {
  wrapping *w = ctx;
  neo_node n = *neo_expr_node(w->m, e);
  for (uint32_t k = 0; k < n.arg.n && !hands_on(w->m, e); k++)
    ask(w, neo_list_expr(w->m, n.arg, k));
}

static void ask_in_definition(wrapping *w, neo_def d) {
  neo_def_rec r = *neo_def_at(w->m, d);
  neo_def_visit(w->m, d, ask_args, w);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    ask(w, neo_def_axis(w->m, &r, k)->lo);
    ask(w, neo_def_axis(w->m, &r, k)->hi);
  }
}

static void ask_list(wrapping *w, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    ask(w, neo_list_expr(w->m, l, k));
}

static void find_asked(wrapping *w) {
  neo_module *m = w->m;
  w->asked = NEO_NEW_ARRAY(w->scratch, bool, m->tensors.n);
  neo_map_init(&w->seen, w->scratch);
  for (uint32_t k = 1; k < m->defs.n; k++)
    ask_in_definition(w, (neo_def){k});
  while (w->work.n) {
    neo_list pieces = neo_tensor_at(m, w->work.at[--w->work.n])->pieces;
    for (uint32_t k = 0; k < pieces.n; k++) {
      const neo_def_rec *d = neo_def_at(m, neo_list_def(m, pieces, k));
      ask_list(w, d->body);
      ask_list(w, d->finish);
    }
  }
}

/* ---- values in no index */

static neo_expr plain(wrapping *w, neo_map *made, neo_expr e) {
  neo_module *m = w->m;
  uint64_t known;
  neo_expr arg[3];
  if (!hands_on(m, e))
    return e;
  if (neo_map_get(made, e.i, &known))
    return (neo_expr){(uint32_t)known};
  neo_node n = *neo_expr_node(m, e);
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = plain(w, made, neo_list_expr(m, n.arg, k));
  neo_expr y = n.op == NEO_OP_STOP
                   ? arg[0]
                   : neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
  neo_map_set(made, e.i, y.i);
  return y;
}

static neo_list plain_list(wrapping *w, neo_list l) {
  uint32_t *ids = NEO_NEW_ARRAY(w->scratch, uint32_t, l.n + 1);
  neo_map made = neo_map_in(w->scratch);
  for (uint32_t k = 0; k < l.n; k++)
    ids[k] = plain(w, &made, neo_list_expr(w->m, l, k)).i;
  return neo_list_new(w->m, ids, l.n);
}

static void unmark_values(wrapping *w, neo_def d) {
  neo_def_rec r = *neo_def_at(w->m, d);
  for (uint32_t k = 0; k < r.out.n; k++)
    if (w->asked[neo_list_at(w->m, r.out, k)])
      return;
  r.body = plain_list(w, r.body);
  r.finish = plain_list(w, r.finish);
  *neo_def_at(w->m, d) = r;
}

neo_status neo_pass_wrapping(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  NEO_VEC(neo_def) marked = {0};
  wrapping w = {.m = m, .scratch = pass->a};
  for (uint32_t k = 1; k < m->defs.n; k++)
    if (mark_definition(&w, (neo_def){k}))
      NEO_PUSH(pass->a, &marked, (neo_def){k});
  if (marked.n)
    find_asked(&w);
  for (size_t k = 0; k < marked.n; k++)
    unmark_values(&w, marked.at[k]);
  return NEO_OK;
}

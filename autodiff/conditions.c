/* Where the adjoint of a tensor can be other than zero, as its readers tell.
 *
 * A round that a `while` no longer runs and a branch that a `case` does not take compute nothing that
 * anybody reads: their results are read below select(alive[r], .., old) or select(k == 0, ..). Their
 * adjoints are zero, and their slopes may be anything, for they are taken at values that nobody asked
 * for: log(x) of the branch for positive x, 0/0 behind the last round of an iteration that has
 * converged. Zero times such a slope would be NaN, so those points have to be left out.
 *
 * The conditions of a tensor are those that hold at every read of it that passes a gradient on: of the
 * selects above the read, of the reduction whose body it is in, and of the reader's own results. For
 * tensors that need each other this is the greatest solution: a tensor has all conditions until reads of it
 * are found, and readers without reads pass nothing on. That an adjoint is zero at a point follows from the adjoints of its readers, which come before it in the
 * order of the backward pass.
 *
 * A select between values that differ by element stays what it is in other systems (and costs nothing):
 * conditions count where they are the same for all elements of a round, or for whole rows. */
#include "autodiff/internal.h"
#include "autodiff/solve.h"
#include "ir/out_map.h"

typedef NEO_VEC(neo_expr) ad_conjuncts;

typedef struct {
  ad_state *s;
  ad_conditions *c;
  neo_def_rec d;
  bool changed;
  neo_map seen; /* (node, conditions above it) */
} walk;

/* ---- which conditions count */

typedef struct {
  const ad_conditions *c;
  bool plain;  /* integers and bools, some of them read */
  bool rounds; /* all read from tensors of recurrences */
} reads_of;

static void look(void *ctx, neo_expr e) {
  reads_of *r = ctx;
  const neo_node *n = neo_expr_node(r->c->m, e);
  bool load = n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE;
  if (n->op == NEO_OP_ACC || n->op == NEO_OP_RAND || neo_type_is_float((neo_type)n->type))
    r->plain = false;
  if (load && !neo_map_get(&r->c->recurring, n->attr, NULL))
    r->rounds = false;
}

static reads_of reads_in(const ad_conditions *c, neo_expr condition) {
  reads_of r = {.c = c, .plain = !ad_is_plain_index(c->m, condition), .rounds = true};
  neo_expr_visit(c->m, condition, look, &r);
  return r;
}

static bool is_plain(const ad_conditions *c, neo_expr condition) {
  return reads_in(c, condition).plain;
}

/* Is it the same for whole rows of a tensor of `rank` axes, or for a round? `sum`: only the latter, for it
 * becomes a condition of the sums that its tensor's adjoint goes into. */
static bool counts(const ad_conditions *c, neo_expr condition, uint32_t rank, bool sum) {
  reads_of r = reads_in(c, condition);
  uint64_t axes = neo_expr_axes(c->m, condition);
  if (!r.plain)
    return false;
  if (!axes || r.rounds)
    return true;
  return !sum && (axes & (axes + 1)) == 0 && axes + 1 < 1ull << rank;
}

static bool contains(const ad_conjuncts *v, neo_expr e) {
  for (size_t k = 0; k < v->n; k++)
    if (v->at[k].i == e.i)
      return true;
  return false;
}

/* ---- one read */

/* The condition at a read's point as one at the position read; 0: it cannot be told there. */
static neo_expr at_position(const walk *w, neo_expr condition, const neo_node *read,
                            uint32_t rank) {
  neo_module *m = w->s->m;
  neo_expr by[64] = {{0}};
  uint64_t left = neo_expr_axes(m, condition);
  for (uint32_t k = 0; k < rank; k++) {
    const neo_node *i = neo_expr_node(m, neo_list_expr(m, read->arg, k));
    if (i->op != NEO_OP_AXIS || !(left >> i->attr & 1))
      continue;
    by[i->attr] = neo_axis_ref(m, k);
    left &= ~(1ull << i->attr);
  }
  return left ? (neo_expr){0} : ad_guard_reads(m, neo_expr_subst_axes(m, condition, by, 64));
}

static void add_conjuncts(const walk *w, neo_expr condition, const neo_node *read, uint32_t rank,
                          ad_conjuncts *out) {
  neo_module *m = w->s->m;
  neo_node n = *neo_expr_node(m, condition);
  if (n.op == NEO_OP_AND) {
    add_conjuncts(w, neo_list_expr(m, n.arg, 0), read, rank, out);
    add_conjuncts(w, neo_list_expr(m, n.arg, 1), read, rank, out);
    return;
  }
  neo_expr there = at_position(w, condition, read, rank);
  if (there.i && !contains(out, there) && counts(w->c, there, rank, false))
    NEO_PUSH(w->s->scratch, out, there);
}

static ad_conjuncts *of_tensor(const ad_conditions *c, neo_tensor t) {
  uint64_t at;
  return neo_map_get(&c->of, t.i, &at) ? (ad_conjuncts *)(uintptr_t)at : NULL;
}

/* The conditions of a result of d, over the axes of d. */
static void add_of_result(const walk *w, uint32_t out, const neo_node *read, uint32_t rank,
                          ad_conjuncts *to) {
  neo_module *m = w->s->m;
  const ad_conjuncts *v = of_tensor(w->c, (neo_tensor){neo_list_at(m, w->d.out, out)});
  neo_expr index[64] = {{0}};
  for (uint32_t k = 0; k < w->d.n_out; k++)
    index[k] = neo_def_out_index(m, &w->d, k);
  for (size_t k = 0; v && k < v->n; k++)
    add_conjuncts(w, neo_expr_subst_axes(m, v->at[k], index, w->d.n_out), read, rank, to);
}

static void keep_common(walk *w, neo_tensor t, ad_conjuncts now) {
  ad_conjuncts *had = of_tensor(w->c, t);
  if (!had) {
    had = NEO_NEW(w->s->scratch, ad_conjuncts);
    *had = now;
    neo_map_set(&w->c->of, t.i, (uint64_t)(uintptr_t)had);
    w->changed = true;
    return;
  }
  size_t n = 0;
  for (size_t k = 0; k < had->n; k++)
    if (contains(&now, had->at[k]))
      had->at[n++] = had->at[k];
  w->changed = w->changed || n < had->n;
  had->n = n;
}

/* A read below the conditions `above`, for result `out` of the definition. */
static void at_read(walk *w, uint32_t out, neo_expr e, neo_expr above) {
  neo_module *m = w->s->m;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor t = {n.attr};
  uint32_t rank = neo_tensor_rank(m, t);
  ad_conjuncts now = {0};
  bool passes = of_tensor(w->c, (neo_tensor){neo_list_at(m, w->d.out, out)});
  if (!passes || !ad_needs(w->s, t))
    return;
  if (above.i)
    add_conjuncts(w, above, &n, rank, &now);
  add_of_result(w, out, &n, rank, &now);
  keep_common(w, t, now);
}

/* ---- one definition */

static void go_down(walk *w, uint32_t out, neo_expr e, neo_expr above);

static void go_into_select(walk *w, uint32_t out, neo_expr e, neo_expr above) {
  neo_module *m = w->s->m;
  neo_expr c = neo_expr_arg(m, e, 0);
  bool reads = is_plain(w->c, c);
  go_down(w, out, neo_expr_arg(m, e, 1), reads ? ad_and(m, above, c) : above);
  neo_expr other = reads ? neo_op1(m, NEO_OP_NOT, c) : (neo_expr){0};
  go_down(w, out, neo_expr_arg(m, e, 2), ad_and(m, above, other));
}

/* Visits the reads that pass a gradient on. */
static void go_down(walk *w, uint32_t out, neo_expr e, neo_expr above) {
  neo_module *m = w->s->m;
  neo_node n = *neo_expr_node(m, e);
  uint64_t key = (uint64_t)e.i << 32 | above.i;
  if (!neo_type_is_float((neo_type)n.type) || neo_map_get(&w->seen, key, NULL))
    return;
  neo_map_set(&w->seen, key, 1);
  if (n.op == NEO_OP_SELECT) {
    go_into_select(w, out, e, above);
    return;
  }
  if (n.op == NEO_OP_LOAD || n.op == NEO_OP_LOAD_ELSE)
    at_read(w, out, e, above);
  for (uint32_t k = 0; k < n.arg.n; k++)
    go_down(w, out, neo_list_expr(m, n.arg, k), above);
}

/* Takes in the reads of one definition, whose own readers have been passed; true: something changed. */
bool ad_conditions_step(ad_state *s, ad_conditions *c, neo_def def) {
  neo_module *m = s->m;
  walk w = {.s = s, .c = c, .d = *neo_def_at(m, def)};
  for (uint32_t k = 0; k < w.d.out.n; k++) {
    neo_map_init(&w.seen, s->scratch);
    if (k < w.d.finish.n)
      go_down(&w, k, neo_list_expr(m, w.d.finish, k), (neo_expr){0});
    for (uint32_t i = 0; i < w.d.body.n; i++)
      go_down(&w, k, neo_list_expr(m, w.d.body, i), w.d.where);
  }
  return w.changed;
}

/* A read of which nothing is known. */
bool ad_conditions_none(ad_state *s, ad_conditions *c, neo_tensor t) {
  walk w = {.s = s, .c = c};
  keep_common(&w, t, (ad_conjuncts){0});
  return w.changed;
}

void ad_conditions_init(ad_state *s, ad_conditions *c) {
  *c = (ad_conditions){.m = s->m};
  neo_map_init(&c->of, s->scratch);
  neo_map_init(&c->recurring, s->scratch);
}

neo_expr ad_condition(ad_state *s, const ad_conditions *c, neo_tensor t, bool sum) {
  const ad_conjuncts *v = of_tensor(c, t);
  neo_expr all = {0};
  for (size_t k = 0; v && k < v->n; k++)
    if (counts(c, v->at[k], neo_tensor_rank(s->m, t), sum))
      all = ad_and(s->m, all, v->at[k]);
  return all;
}

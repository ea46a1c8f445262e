/* The conditions under which the adjoint of a tensor can be other than zero, derived from its
 * readers.
 *
 * The result of an iteration that a `while` no longer runs, and of a branch that a `case` does not
 * take, is read by nobody: its reads are below select(alive[r], .., old) or select(k == 0, ..). Its
 * adjoint is zero, but its slope may be anything, because it is taken at values for which the
 * branch was not written: log(x) in the branch for positive x, 0/0 after an iteration has
 * converged. Zero times such a slope would be NaN, so those points are left out of the backward
 * pass.
 *
 * The conditions of a tensor are those that hold at every read that passes a gradient on: the
 * conditions of the selects above the read, the `where` of the reduction whose body it is in, and
 * the conditions of the reader's own results. Tensors that need each other get the greatest
 * solution: a tensor starts with all conditions, each read of it removes some, and a reader without
 * reads passes nothing on. This is sound, as the adjoint at a point follows from the adjoints of
 * its readers, which are earlier in the backward pass.
 *
 * A select whose condition differs by element stays a plain select, as in other systems (and costs
 * nothing): conditions count where they are the same for all elements of an iteration, or for whole
 * rows. The condition of a select between tensors as they are, which is what a `case` becomes,
 * always counts. So does a condition around a reduction within an expression: the reduction is a
 * part of the definition that has the condition. */
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
  bool known;  /* reads a tensor, and no accumulator or random number */
  bool plain;  /* integers and bools only */
  bool recurs; /* every tensor read belongs to a recurrence */
} reads_of;

static void look(void *ctx, neo_expr e) {
  reads_of *r = ctx;
  const neo_node *n = neo_expr_node(r->c->m, e);
  bool load = neo_node_is_load(n);
  if (n->op == NEO_OP_ACC || n->op == NEO_OP_RAND)
    r->known = false;
  if (neo_type_is_float((neo_type)n->type))
    r->plain = false;
  if (load && !neo_map_get(&r->c->recurring, n->attr, NULL))
    r->recurs = false;
}

static reads_of reads_in(const ad_conditions *c, neo_expr condition) {
  reads_of r = {
      .c = c, .known = !ad_is_plain_index(c->m, condition), .plain = true, .recurs = true};
  neo_expr_visit(c->m, condition, look, &r);
  return r;
}

static neo_expr at_zero(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr zero = neo_const_i64(m, 0), index[16];
  if (n.op == NEO_OP_AXIS)
    return zero;
  if (!neo_node_is_load(&n))
    return e;
  uint32_t rank = neo_tensor_rank(m, (neo_tensor){n.attr});
  for (uint32_t k = 0; k < rank; k++)
    index[k] = zero;
  return neo_load(m, (neo_tensor){n.attr}, index, rank, n.span);
}

/* The id of a condition: the same at every point, and for its negation. */
static uint32_t kind_of(neo_module *m, neo_expr condition) {
  while (neo_expr_node(m, condition)->op == NEO_OP_NOT)
    condition = neo_expr_arg(m, condition, 0);
  return neo_expr_rewrite(m, condition, at_zero, NULL).i;
}

static bool chooses(const ad_conditions *c, neo_expr condition) {
  return neo_map_get(&c->choices, kind_of(c->m, condition), NULL);
}

/* Whether loops run along these axes of t, so that the condition decides what an iteration
 * computes. */
static bool is_of_iterations(const ad_conditions *c, uint64_t axes, neo_tensor t) {
  neo_list pieces = neo_tensor_at(c->m, t)->pieces;
  neo_def d = {pieces.n == 1 ? neo_list_at(c->m, pieces, 0) : 0};
  return c->loops && d.i && !neo_def_at(c->m, d)->out_map.n && !(axes & ~c->loops[d.i]);
}

/* Whether the condition is the same for whole rows of t or for an iteration, or selects between
 * tensors, or t is a part of the definition with the condition. Only some conditions apply to the
 * sums that the adjoint of t goes into. */
static bool counts(const ad_conditions *c, neo_expr condition, neo_tensor t, ad_condition_use use) {
  reads_of r = reads_in(c, condition);
  uint64_t axes = neo_expr_axes(c->m, condition);
  uint32_t rank = neo_tensor_rank(c->m, t);
  bool choice = chooses(c, condition);
  if (r.known && neo_tensor_at(c->m, t)->inner && use < AD_ITERATION_PRODUCT)
    return true;
  if (!r.known || !(r.plain || choice))
    return false;
  if (!axes || r.recurs || (choice && use < AD_ITERATION_PRODUCT))
    return true;
  if (choice && use == AD_ITERATION_PRODUCT && is_of_iterations(c, axes, t))
    return true;
  return use == AD_ELEMENT && (axes & (axes + 1)) == 0 && axes + 1 < 1ull << rank;
}

static bool contains(const ad_conjuncts *v, neo_expr e) {
  for (size_t k = 0; k < v->n; k++)
    if (v->at[k].i == e.i)
      return true;
  return false;
}

/* ---- one read */

/* Rewrites the condition at a read's point as one at the position read: an index of the read
 * becomes the position's axis. 0: it cannot be expressed there. */
static neo_expr at_position(const walk *w, neo_expr condition, const neo_node *read,
                            uint32_t rank) {
  enum { POSITION = 40 }; /* axes from here on are those of the position; ranks are up to 16 */
  neo_module *m = w->s->m;
  neo_expr by[NEO_DEF_AXES] = {{0}};
  if (neo_expr_axes(m, condition) >> POSITION)
    return (neo_expr){0};
  for (uint32_t k = 0; k < rank; k++) {
    neo_expr index = neo_list_expr(m, read->arg, k);
    by[POSITION + k] = neo_axis_ref(m, k);
    if (neo_expr_axes(m, index))
      condition = neo_expr_replace(m, condition, index, neo_axis_ref(m, POSITION + k));
  }
  if (neo_expr_axes(m, condition) & ((1ull << POSITION) - 1))
    return (neo_expr){0};
  return ad_guard_reads(m, neo_expr_subst_axes(m, condition, by, NEO_DEF_AXES));
}

static bool is_read_of(const neo_module *m, neo_expr e, const void *tensor) {
  const neo_node *n = neo_expr_node(m, e);
  return neo_node_is_load(n) && n->attr == *(const uint32_t *)tensor;
}

/* Whether the condition itself reads the tensor, as in `select(x[i] > 0, x[i], 0)`. */
static bool reads_tensor(const neo_module *m, neo_expr condition, uint32_t tensor) {
  return neo_expr_any(m, condition, is_read_of, &tensor);
}

static bool names_axes(const neo_module *m, const neo_node *read) {
  for (uint32_t k = 0; k < read->arg.n; k++)
    if (neo_expr_node(m, neo_list_expr(m, read->arg, k))->op != NEO_OP_AXIS)
      return false;
  return true;
}

/* A tensor that tells whether any point of the definition at which the condition holds reads an
 * element of t. Null: it cannot be formed. */
static neo_expr define_asked(const walk *w, neo_expr condition, const neo_node *read) {
  neo_module *m = w->s->m;
  neo_expr index[16], yes = neo_const_bool(m, true);
  neo_tensor t = {read->attr};
  uint64_t axes = neo_expr_axes(m, condition);
  for (uint32_t k = 0; k < read->arg.n; k++) {
    index[k] = neo_list_expr(m, read->arg, k);
    axes |= neo_expr_axes(m, index[k]);
  }
  ad_space *space = NEO_NEW(w->s->scratch, ad_space);
  ad_term *term = NEO_NEW(w->s->scratch, ad_term);
  *space = ad_space_of(m, &w->d, axes >> w->d.n_out ? w->d.axes.n : w->d.n_out);
  if (!ad_gather(&w->s->env, space, ad_guard_reads(m, condition), index, t, yes, read->span, term))
    return (neo_expr){0};
  neo_expr holds = neo_both(m, term->where, term->value), acc = neo_acc_ref(m, NEO_BOOL_T, 0);
  neo_tensor asked = ad_temp(m, "asked", t, NEO_BOOL_T, term->space.axis, term->n_out, read->span);
  neo_def_rec r = {.n_out = term->n_out, .reducer = NEO_RED_ANY, .span = read->span};
  r.body = neo_list_one(m, holds.i);
  r.finish = neo_list_one(m, acc.i);
  ad_define(m, asked, r, term->space.axis, term->space.n);
  return ad_read(m, asked);
}

/* The condition at a read of an inner reduction, which has fewer axes than the definition: it holds
 * anywhere along the other axes.
 *
 *     u[t] = select(k[t] == 1, r, w[t])      asked = any[t] k[t] == 1 */
static neo_expr anywhere(const walk *w, neo_expr condition, neo_expr e) {
  neo_module *m = w->s->m;
  neo_node read = *neo_expr_node(m, e);
  ad_asked key = {neo_list_at(m, w->d.out, 0), e.i, condition.i, {0}};
  if (!neo_tensor_at(m, (neo_tensor){read.attr})->inner || !names_axes(m, &read))
    return (neo_expr){0};
  for (size_t k = 0; k < w->c->asked.n; k++) {
    const ad_asked *a = &w->c->asked.at[k];
    if (a->result == key.result && a->read == key.read && a->condition == key.condition)
      return a->value;
  }
  key.value = define_asked(w, condition, &read);
  NEO_PUSH(w->s->scratch, &w->c->asked, key);
  return key.value;
}

static void add_condition(const walk *w, neo_expr there, const neo_node *read, ad_conjuncts *out) {
  if (!reads_tensor(w->s->m, there, read->attr) && !contains(out, there) &&
      counts(w->c, there, (neo_tensor){read->attr}, AD_ELEMENT))
    NEO_PUSH(w->s->scratch, out, there);
}

/* False: a conjunct cannot be expressed at the position read. */
static bool add_conjuncts(const walk *w, neo_expr condition, const neo_node *read, uint32_t rank,
                          ad_conjuncts *out) {
  neo_module *m = w->s->m;
  neo_node n = *neo_expr_node(m, condition);
  if (n.op == NEO_OP_AND) {
    bool first = add_conjuncts(w, neo_list_expr(m, n.arg, 0), read, rank, out);
    return add_conjuncts(w, neo_list_expr(m, n.arg, 1), read, rank, out) && first;
  }
  neo_expr there = at_position(w, condition, read, rank);
  if (there.i)
    add_condition(w, there, read, out);
  return there.i != 0;
}

static ad_conjuncts *of_tensor(const ad_conditions *c, neo_tensor t) {
  uint64_t at;
  return neo_map_get(&c->of, t.i, &at) ? (ad_conjuncts *)(uintptr_t)at : NULL;
}

/* The conditions of a result of d, over the axes of d. */
static neo_expr of_result(const walk *w, uint32_t out) {
  neo_module *m = w->s->m;
  const ad_conjuncts *v = of_tensor(w->c, neo_list_tensor(m, w->d.out, out));
  neo_expr index[NEO_DEF_AXES] = {{0}}, all = {0};
  for (uint32_t k = 0; k < w->d.n_out; k++)
    index[k] = neo_def_out_index(m, &w->d, k);
  for (size_t k = 0; v && k < v->n; k++)
    all = neo_both(m, all, neo_expr_subst_axes(m, v->at[k], index, w->d.n_out));
  return all;
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

/* Notes a read of result `out` of the definition that stands below the conditions `above`. */
static void at_read(walk *w, uint32_t out, neo_expr e, neo_expr above) {
  neo_module *m = w->s->m;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor t = {n.attr};
  uint32_t rank = neo_tensor_rank(m, t);
  ad_conjuncts now = {0};
  bool passes = of_tensor(w->c, neo_list_tensor(m, w->d.out, out));
  if (!passes || !ad_needs(w->s, t))
    return;
  neo_expr all = neo_both(m, above, of_result(w, out));
  if (all.i && !add_conjuncts(w, all, &n, rank, &now)) {
    neo_expr there = anywhere(w, all, e);
    if (there.i)
      add_condition(w, there, &n, &now);
  }
  keep_common(w, t, now);
}

/* ---- one definition */

static void go_down(walk *w, uint32_t out, neo_expr e, neo_expr above);

/* Whether e is a load, a constant or a select between such. */
static bool is_choice(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_SELECT)
    return is_choice(m, neo_expr_arg(m, e, 1)) && is_choice(m, neo_expr_arg(m, e, 2));
  return n->op == NEO_OP_LOAD || n->op == NEO_OP_CONST;
}

static void note_kinds(ad_conditions *c, neo_expr condition) {
  neo_node n = *neo_expr_node(c->m, condition);
  neo_map_set(&c->choices, kind_of(c->m, condition), 1);
  for (uint32_t k = 0; n.op == NEO_OP_AND && k < 2; k++)
    note_kinds(c, neo_list_expr(c->m, n.arg, k));
}

static void note_choice(void *ctx, neo_expr e) {
  ad_conditions *c = ctx;
  if (neo_expr_node(c->m, e)->op == NEO_OP_SELECT && is_choice(c->m, e))
    note_kinds(c, neo_expr_arg(c->m, e, 0));
}

/* Notes the choices of a definition. */
void ad_conditions_note(ad_state *s, ad_conditions *c, neo_def def) {
  neo_def_rec d = *neo_def_at(s->m, def);
  for (uint32_t k = 0; k < d.finish.n; k++)
    neo_expr_visit(s->m, neo_list_expr(s->m, d.finish, k), note_choice, c);
  for (uint32_t k = 0; k < d.body.n; k++)
    neo_expr_visit(s->m, neo_list_expr(s->m, d.body, k), note_choice, c);
}

static void go_into_select(walk *w, uint32_t out, neo_expr e, neo_expr above) {
  neo_module *m = w->s->m;
  neo_expr c = neo_expr_arg(m, e, 0);
  bool reads = reads_in(w->c, c).known;
  go_down(w, out, neo_expr_arg(m, e, 1), reads ? neo_both(m, above, c) : above);
  neo_expr other = reads ? neo_op1(m, NEO_OP_NOT, c) : (neo_expr){0};
  go_down(w, out, neo_expr_arg(m, e, 2), neo_both(m, above, other));
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
  if (neo_node_is_load(&n))
    at_read(w, out, e, above);
  for (uint32_t k = 0; k < n.arg.n; k++)
    go_down(w, out, neo_list_expr(m, n.arg, k), above);
}

/* Takes in the reads of one definition, whose own readers have been passed; true: something
 * changed. */
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

/* Takes in a read without conditions. */
bool ad_conditions_none(ad_state *s, ad_conditions *c, neo_tensor t) {
  walk w = {.s = s, .c = c};
  keep_common(&w, t, (ad_conjuncts){0});
  return w.changed;
}

void ad_conditions_init(ad_state *s, ad_conditions *c) {
  *c = (ad_conditions){.m = s->m};
  neo_map_init(&c->of, s->scratch);
  neo_map_init(&c->recurring, s->scratch);
  neo_map_init(&c->choices, s->scratch);
}

neo_expr ad_condition(ad_state *s, const ad_conditions *c, neo_tensor t, ad_condition_use use) {
  const ad_conjuncts *v = of_tensor(c, t);
  neo_expr all = {0};
  for (size_t k = 0; v && k < v->n; k++)
    if (counts(c, v->at[k], t, use))
      all = neo_both(s->m, all, v->at[k]);
  return all;
}

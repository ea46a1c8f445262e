/* Early exit: iterations of a `while` after the one in which its condition failed change nothing, and are not run.
 *
 *     band t                                     band t
 *       band r in 0..L                             band r in 0..L
 *         leaf alive[t, r]                           exit unless alive[t, r - n]
 *         leaf next[t, r]                ->          leaf alive[t, r]
 *         leaf h[t, r]                               leaf next[t, r]
 *                                                    leaf h[t, r]
 *
 *     alive[t, r] = (alive[t, r-1] else true) and c(h[t, r-1])
 *     h[t, r]     = select(alive[t, r], next[t, r], (h[t, r-1] else first))
 *
 * Once alive[t, r] is false it stays so, and h keeps its value. The storage of h and alive is folded to n cells at most
 * along r (ring.c, inner_fold.c); n iterations later all of these cells have the value that those of the last iteration
 * would have, so readers after the loop find it. Of what is stored whole the last element is copied from that of the last
 * iteration that ran. Whatever else the loop makes, only its own iterations may read.
 *
 * Positions of r that are no band's (place.c) are under a guard with the same condition. Where something has to run in
 * all iterations (who reads h[t, r] of any r needs it), each leaf that need not is under such a guard. So are all on a
 * GPU, where kernels ask (neo_loop_options). As the condition must not change while an iteration runs, alive then has a
 * cell more, and is made in all iterations. */
#include "fusion/recurrence/internal.h"
#include "ir/clone.h"
#include "ir/guarded_read.h"
#include "ir/needed.h"

enum { MOST_COPIES = 4 };

typedef struct {
  outliner *o;
  const neo_order_step *loop[OUTLINE_FOLDS]; /* the outermost first; the last one is left */
  uint32_t n_loops;
  neo_def *needed; /* definitions that entries need */
  size_t n_needed;
  const bool *
      steers; /* by tensor: an index is made of it, which is read where a select does not take it, too */
  neo_tensor alive;
  neo_def maker; /* of alive, in the loop; 0: it is outside, and all of it is there before */
  uint32_t axis[OUTLINE_FOLDS]; /* of alive: along each loop */
  const bool *outside;          /* by tensor: it is needed outside of the group */
  const bool *
      read_after; /* by tensor: others than iterations of the loop read it, and not only that of the last one */
  const bool *read_last; /* by tensor: they read the one of the last iteration */
  int64_t n;
  bool *out;        /* by definition: iterations leave it out */
  bool fills;       /* what the condition is where nothing ran is read */
  bool *ends;       /* by definition: all of its elements are stored, and the last one is read */
  neo_tensor last;  /* the last iteration that ran, in one cell; 0: nobody asks */
  neo_tensor count; /* how many ran of a loop that begins late, in one cell; 0: nobody asks */
  bool predicated;  /* leaves ask: the loop does not end */
} leaving;

static const neo_order_step *left_loop(const leaving *l) {
  return l->loop[l->n_loops - 1];
}

/* The definition among the loop's that makes the tensor, whole; null: there is none. */
static const neo_order_member *maker_of(const leaving *l, uint32_t tensor) {
  neo_list pieces = neo_tensor_at(l->o->m, (neo_tensor){tensor})->pieces;
  neo_def d = {pieces.n == 1 ? neo_list_at(l->o->m, pieces, 0) : 0};
  return d.i ? outline_member(left_loop(l), d) : NULL;
}

/* ---- where an element is made */

/* How many iterations of loop `level` before the one of definition x's point an element of `made` is made, at `read`. */
static bool distance_of(const leaving *l, uint32_t level, neo_def x, neo_def made, neo_expr read,
                        int64_t *d) {
  const outliner *o = l->o;
  const neo_order_member *here = outline_member(l->loop[level], x);
  const neo_order_member *there = outline_member(l->loop[level], made);
  if (!here || !there || here->delay != there->delay)
    return false;
  neo_expr at = neo_axis_ref(o->m, here->axis), made_at = neo_expr_arg(o->m, read, there->axis);
  return l->loop[level]->down ? outline_distance(o, made_at, at, d)
                              : outline_distance(o, at, made_at, d);
}

/* Is it a read, at definition x's point, of an element that was made `back` iterations before, in the same ones of the
 * loops around? */
static bool is_read_back(const leaving *l, neo_def x, neo_expr e, uint32_t tensor, int64_t back) {
  const neo_node *n = neo_expr_node(l->o->m, e);
  const neo_order_member *made =
      outline_is_read(n) && n->attr == tensor ? maker_of(l, tensor) : NULL;
  bool is = made != NULL;
  for (uint32_t k = 0; k < l->n_loops && is; k++) {
    int64_t d;
    is = distance_of(l, k, x, made->def, e, &d) && d == (k + 1 == l->n_loops ? back : 0);
  }
  return is;
}

/* ---- the condition */

static bool has_term(const leaving *l, neo_def d, neo_expr e) {
  neo_module *m = l->o->m;
  int64_t first;
  if (neo_expr_node(m, e)->op == NEO_OP_AND)
    return has_term(l, d, neo_expr_arg(m, e, 0)) || has_term(l, d, neo_expr_arg(m, e, 1));
  return neo_expr_node(m, e)->op == NEO_OP_LOAD_ELSE && is_read_back(l, d, e, l->alive.i, 1) &&
         neo_expr_is_int(m, neo_expr_arg(m, e, neo_tensor_rank(m, l->alive)), &first) && first;
}

/* alive[.., r] = (alive[.., r-1] else true) and ..., one bool for each iteration */
static bool stays_false(const leaving *l) {
  neo_module *m = l->o->m;
  const neo_tensor_rec *r = neo_tensor_at(m, l->alive);
  const neo_def_rec *d = neo_def_at(m, l->maker);
  return r->type == NEO_BOOL_T && r->pieces.n == 1 && r->extent.n == l->n_loops &&
         d->reducer == NEO_RED_NONE && d->out.n == 1 && !d->out_map.n &&
         has_term(l, l->maker, neo_list_expr(m, d->finish, 0));
}

/* Finds the condition among definitions of the loop that are in no loop in it. */
static bool find_alive(leaving *l) {
  const neo_order_step *loop = left_loop(l);
  l->alive.i = 0;
  for (uint32_t k = 0; k < loop->n_steps && !l->alive.i; k++) {
    l->maker = loop->step[k].def;
    if (!l->maker.i)
      continue;
    l->alive.i = neo_list_at(l->o->m, neo_def_at(l->o->m, l->maker)->out, 0);
    if (!stays_false(l))
      l->alive.i = 0;
  }
  for (uint32_t k = 0; k < l->n_loops && l->alive.i; k++)
    l->axis[k] = outline_member(l->loop[k], l->maker)->axis;
  return l->alive.i != 0;
}

/* The same of a tensor from outside, along its axis `axis`. */
static bool stays_false_along(neo_module *m, neo_tensor t, neo_expr e, uint32_t axis) {
  const neo_node n = *neo_expr_node(m, e);
  int64_t first;
  if (n.op == NEO_OP_AND)
    return stays_false_along(m, t, neo_list_expr(m, n.arg, 0), axis) ||
           stays_false_along(m, t, neo_list_expr(m, n.arg, 1), axis);
  bool is = n.op == NEO_OP_LOAD_ELSE && n.attr == t.i &&
            neo_expr_is_int(m, neo_list_expr(m, n.arg, neo_tensor_rank(m, t)), &first) && first;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t) && is; k++) {
    neo_expr apart = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, k), neo_list_expr(m, n.arg, k));
    neo_linear by;
    is = neo_linear_of(m, apart, &by) && !by.n && by.constant == (k == axis);
  }
  return is;
}

typedef struct {
  leaving *l;
  neo_def x;
} alive_look;

/* Takes a condition that definition x of the loop reads at its own point. */
static void look_alive(void *ctx, neo_expr e) {
  const alive_look *k = ctx;
  leaving *l = k->l;
  neo_module *m = l->o->m;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor t = {n.attr};
  if (l->alive.i || n.op != NEO_OP_LOAD || n.type != NEO_BOOL_T || n.arg.n != l->n_loops ||
      maker_of(l, t.i) || neo_tensor_at(m, t)->pieces.n != 1)
    return;
  for (uint32_t i = 0; i < l->n_loops; i++) {
    neo_expr own = neo_axis_ref(m, outline_member(l->loop[i], k->x)->axis);
    l->axis[i] = 0;
    while (l->axis[i] < n.arg.n && neo_list_at(m, n.arg, l->axis[i]) != own.i)
      l->axis[i]++;
    if (l->axis[i] == n.arg.n)
      return;
  }
  neo_def_rec d = *neo_def_at(m, (neo_def){neo_list_at(m, neo_tensor_at(m, t)->pieces, 0)});
  if (d.reducer == NEO_RED_NONE && d.out.n == 1 && !d.out_map.n &&
      stays_false_along(m, t, neo_list_expr(m, d.finish, 0), l->axis[l->n_loops - 1]))
    l->alive = t;
}

/* Finds the condition among what the loop reads of others, which all of its iterations have in memory. */
static bool find_alive_outside(leaving *l) {
  const neo_order_step *loop = left_loop(l);
  l->alive.i = l->maker.i = 0;
  for (uint32_t k = 0; k < loop->n_members && !l->alive.i; k++) {
    alive_look look = {l, loop->member[k].def};
    neo_def_visit(l->o->m, look.x, look_alive, &look);
  }
  bool folded = l->alive.i && l->alive.i < l->o->n_tensors && l->o->ring[l->alive.i].n_folds;
  return l->alive.i && !folded;
}

/* ---- what keeps its value */

static bool is_condition(const leaving *l, neo_def x, neo_expr e) {
  neo_module *m = l->o->m;
  bool is = neo_expr_node(m, e)->op == NEO_OP_LOAD && neo_expr_node(m, e)->attr == l->alive.i;
  if (l->maker.i)
    return is && is_read_back(l, x, e, l->alive.i, 0);
  for (uint32_t k = 0; k < l->n_loops && is; k++) {
    const neo_order_member *own = outline_member(l->loop[k], x);
    is = own && neo_expr_arg(m, e, l->axis[k]).i == neo_axis_ref(m, own->axis).i;
  }
  return is;
}

/* The value of what is read, at x's point, if it is computed from elements alone; 0: it is not. */
static neo_expr copied_value(const leaving *l, neo_def x, neo_expr read) {
  neo_module *m = l->o->m;
  const neo_node *n = neo_expr_node(m, read);
  neo_expr by[OUTLINE_AXES];
  const neo_order_member *made = n->op == NEO_OP_LOAD ? maker_of(l, n->attr) : NULL;
  if (!made || !is_read_back(l, x, read, n->attr, 0))
    return (neo_expr){0};
  neo_def_rec d = *neo_def_at(m, made->def);
  if (d.reducer != NEO_RED_NONE || d.out.n != 1 || d.out_map.n)
    return (neo_expr){0};
  for (uint32_t k = 0; k < d.n_out; k++)
    by[k] = neo_expr_arg(m, read, k);
  return neo_expr_subst_axes(m, neo_list_expr(m, d.finish, 0), by, d.n_out);
}

typedef struct {
  const leaving *l;
  neo_def x;
} dead_look;

static neo_expr dead_node(void *ctx, neo_module *m, neo_expr e) {
  const dead_look *k = ctx;
  return is_condition(k->l, k->x, e) ? neo_const_bool(m, false) : e;
}

static bool is_zero(const neo_module *m, neo_expr e) {
  double x;
  return neo_expr_is_float(m, e, &x) && x == 0;
}

/* Without terms that are 0. */
static neo_expr without_zeros(neo_module *m, neo_expr e) {
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  if (op == NEO_OP_NEG) {
    neo_expr x = without_zeros(m, neo_expr_arg(m, e, 0));
    return is_zero(m, x) ? x : neo_op1(m, op, x);
  }
  if ((op != NEO_OP_ADD && op != NEO_OP_SUB) || !neo_type_is_float(neo_expr_type(m, e)))
    return e;
  neo_expr a = without_zeros(m, neo_expr_arg(m, e, 0));
  neo_expr b = without_zeros(m, neo_expr_arg(m, e, 1));
  if (is_zero(m, b))
    return a;
  return is_zero(m, a) && op == NEO_OP_ADD ? b : neo_op2(m, op, a, b);
}

/* The value of an expression at x's point in an iteration that does not run and is not the first one. */
static neo_expr dead_value(const leaving *l, neo_def x, neo_expr e) {
  neo_module *m = l->o->m;
  const neo_order_step *loop = left_loop(l);
  uint32_t axis = outline_member(loop, x)->axis;
  neo_expr at = neo_axis_ref(m, axis), one = outline_number(l->o, 1);
  neo_expr end = neo_def_axis(m, neo_def_at(m, x), axis)->hi;
  neo_expr later = loop->down ? neo_op2(m, NEO_OP_LT, neo_op2(m, NEO_OP_ADD, at, one), end)
                              : neo_op2(m, NEO_OP_LE, one, at);
  neo_axis_rec axes[OUTLINE_AXES];
  neo_facts facts = {axes, neo_def_at(m, x)->n_out, &later, 1};
  dead_look look = {l, x};
  for (uint32_t k = 0; k < facts.n_axes; k++)
    axes[k] = *neo_def_axis(m, neo_def_at(m, x), k);
  for (int k = 0; k < MOST_COPIES; k++) {
    e = neo_simplify_under(l->o->p, &facts, neo_expr_rewrite(m, e, dead_node, &look));
    e = without_zeros(m, e);
    neo_expr copied = copied_value(l, x, e);
    if (!copied.i)
      break;
    e = copied;
  }
  return e;
}

/* Is it, in such an iteration, what it was in the one before? */
static bool has_old_value(const leaving *l, const neo_order_member *x) {
  neo_module *m = l->o->m;
  neo_def_rec d = *neo_def_at(m, x->def);
  uint32_t t = neo_list_at(m, d.out, 0);
  int64_t back = left_loop(l)->down ? -1 : 1;
  if (d.reducer != NEO_RED_NONE || d.out.n != 1 || d.out_map.n)
    return false;
  neo_expr e = dead_value(l, x->def, neo_list_expr(m, d.finish, 0));
  bool same = is_read_back(l, x->def, e, t, 1);
  for (uint32_t k = 0; k < d.n_out && same; k++) {
    int64_t apart;
    same = outline_distance(l->o, neo_axis_ref(m, k), neo_expr_arg(m, e, k), &apart) &&
           apart == (k == x->axis ? back : 0);
  }
  return same;
}

/* ---- who reads what the loop makes */

typedef struct {
  const leaving *l;
  neo_tensor ran;    /* [loops]: how many iterations ran, up to each; 0: nobody counts */
  neo_tensor rounds; /* [loops around]: the last of them */
} counter;

/* ran[.., r] = select(alive[.., r], (ran[.., r-1] else 0) + 1, (ran[.., r-1] else 0)) */
static bool counts(const leaving *l, neo_def id) {
  neo_module *m = l->o->m;
  const neo_def_rec *d = neo_def_at(m, id);
  neo_expr e = neo_list_expr(m, d->finish, 0), one, before;
  uint32_t t = neo_list_at(m, d->out, 0), rank = neo_tensor_rank(m, (neo_tensor){t});
  int64_t none;
  if (d->reducer != NEO_RED_NONE || d->out.n != 1 || rank != l->n_loops ||
      neo_expr_node(m, e)->op != NEO_OP_SELECT || !is_condition(l, id, neo_expr_arg(m, e, 0)))
    return false;
  before = neo_expr_arg(m, e, 2);
  one = neo_const_int(m, neo_expr_type(m, before), 1);
  return neo_expr_node(m, before)->op == NEO_OP_LOAD_ELSE && is_read_back(l, id, before, t, 1) &&
         neo_expr_is_int(m, neo_expr_arg(m, before, rank), &none) && none == 0 &&
         (neo_op2(m, NEO_OP_ADD, before, one).i == neo_expr_arg(m, e, 1).i ||
          neo_op2(m, NEO_OP_ADD, one, before).i == neo_expr_arg(m, e, 1).i);
}

/* Is it the definition of what ran holds after the last iteration, with an axis for each loop around? */
static bool is_last(const counter *c, neo_def id) {
  const outliner *o = c->l->o;
  neo_module *m = o->m;
  const neo_def_rec *d = neo_def_at(m, id);
  if (d->reducer != NEO_RED_NONE || d->out.n != 1 || d->out_map.n || d->n_out + 1 != c->l->n_loops)
    return false;
  neo_expr e = neo_list_expr(m, d->finish, 0);
  const neo_node *n = neo_expr_node(m, e);
  const neo_order_member *made =
      outline_is_read(n) && n->attr == c->ran.i ? maker_of(c->l, n->attr) : NULL;
  bool is = made != NULL;
  for (uint32_t k = 0; k < c->l->n_loops && is; k++) {
    uint32_t axis = outline_member(c->l->loop[k], made->def)->axis;
    bool last = k + 1 == c->l->n_loops;
    neo_expr extent = neo_tensor_extent(m, c->ran, axis), at = neo_expr_arg(m, e, axis);
    int64_t apart;
    is =
        last ? outline_distance(o, extent, at, &apart) && apart == 1 : at.i == neo_axis_ref(m, k).i;
  }
  return is;
}

static counter counter_of(const leaving *l) {
  const neo_order_step *loop = left_loop(l);
  const neo_module *m = l->o->m;
  counter c = {.l = l};
  for (uint32_t k = 0; k < loop->n_members && !c.ran.i; k++)
    if (counts(l, loop->member[k].def))
      c.ran.i = neo_list_at(m, neo_def_at(m, loop->member[k].def)->out, 0);
  for (uint32_t d = 1; c.ran.i && d < m->defs.n && !c.rounds.i; d++)
    if (is_last(&c, (neo_def){d}))
      c.rounds.i = neo_list_at(m, neo_def_at(m, (neo_def){d})->out, 0);
  return c;
}

/* Is the element of an iteration that ran, whatever it is: r < rounds[..]? */
static bool has_run(const counter *c, neo_def reader, const neo_guarded_read *g) {
  const leaving *l = c->l;
  neo_module *m = l->o->m;
  neo_axis_rec axes[OUTLINE_AXES];
  neo_expr index[OUTLINE_FOLDS], at = {0};
  const neo_order_member *made = maker_of(l, neo_expr_node(m, g->read)->attr);
  for (uint32_t k = 0; k < l->n_loops; k++) {
    const neo_order_member *own = outline_member(l->loop[k], made->def);
    index[k] = at = neo_expr_arg(m, g->read, own->axis);
    if (own->delay)
      return false;
  }
  neo_expr ran = neo_load(m, c->rounds, index, l->n_loops - 1, neo_expr_node(m, g->read)->span);
  neo_expr goal = neo_op2(m, NEO_OP_LT, at, neo_cast(m, NEO_I64_T, ran));
  neo_facts facts = neo_guarded_read_facts(m, reader, g, axes);
  return neo_prove(l->o->p, &facts, goal, NULL) == NEO_PROVED;
}

/* Does the condition hold of no iteration that did not run: is it alive[.., q], of an element alike that was made at q or
 * before? */
static bool tells_run(const leaving *l, neo_expr read, neo_expr condition) {
  neo_module *m = l->o->m;
  const neo_node *n = neo_expr_node(m, condition);
  if (n->op == NEO_OP_AND)
    return tells_run(l, read, neo_expr_arg(m, condition, 0)) ||
           tells_run(l, read, neo_expr_arg(m, condition, 1));
  bool tells = n->op == NEO_OP_LOAD && n->attr == l->alive.i && n->arg.n == l->n_loops;
  const neo_order_member *made = maker_of(l, neo_expr_node(m, read)->attr);
  for (uint32_t k = 0; k < l->n_loops && tells; k++) {
    neo_expr q = neo_expr_arg(m, condition, l->axis[k]);
    neo_expr p = neo_expr_arg(m, read, outline_member(l->loop[k], made->def)->axis);
    int64_t d;
    tells = outline_distance(l->o, q, p, &d) && (k + 1 < l->n_loops ? d == 0 : d >= 0);
  }
  return tells;
}

/* Is it read where an iteration ran alone, or by who is needed there alone? */
static bool is_where_run(const leaving *l, neo_def reader, const neo_guarded_read *g) {
  const neo_conditions *c = l->o->options ? l->o->options->needed : NULL;
  bool is = false;
  for (uint32_t k = 0; k < g->n_around && !is; k++)
    is = tells_run(l, g->read, g->assume[k]);
  for (uint32_t k = 0; c && k < c[reader.i].n && !is; k++)
    is = tells_run(l, g->read, c[reader.i].at[k]);
  return is;
}

/* In the loop an iteration reads what it, or an earlier one, has made. */
static bool is_within(const leaving *l, neo_def reader, neo_expr read) {
  const neo_order_member *made = maker_of(l, neo_expr_node(l->o->m, read)->attr);
  bool within = outline_member(left_loop(l), reader) != NULL;
  int64_t d;
  for (uint32_t i = 0; i + 1 < l->n_loops && within; i++)
    within = distance_of(l, i, reader, made->def, read, &d) && d == 0;
  return within;
}

/* The tensors that the loop makes; or of these those that are needed outside of the group. */
static const bool *made_in(const leaving *l, bool stored) {
  const neo_order_step *loop = left_loop(l);
  const neo_module *m = l->o->m;
  bool *made = NEO_NEW_ARRAY(l->o->a, bool, m->tensors.n);
  for (uint32_t k = 0; k < loop->n_members; k++) {
    neo_list out = neo_def_at(m, loop->member[k].def)->out;
    for (uint32_t i = 0; i < out.n; i++) {
      uint32_t t = neo_list_at(m, out, i);
      made[t] = maker_of(l, t) && (!stored || l->outside[t]);
    }
  }
  return made;
}

/* Is it the element of the last iteration? */
static bool is_of_last(const leaving *l, neo_expr read) {
  const neo_node *n = neo_expr_node(l->o->m, read);
  uint32_t axis = maker_of(l, n->attr)->axis;
  int64_t apart;
  neo_expr at = neo_expr_arg(l->o->m, read, axis);
  if (left_loop(l)->down)
    return outline_distance(l->o, at, outline_number(l->o, 0), &apart) && apart == 0;
  return outline_distance(l->o, neo_tensor_extent(l->o->m, (neo_tensor){n->attr}, axis), at,
                          &apart) &&
         apart == 1;
}

/* Marks what the definition reads of others than the iterations that run. */
static void note_reader(const leaving *l, const counter *c, const bool *made, neo_def d,
                        bool *after, bool *last) {
  neo_guarded_reads all = {0};
  neo_guarded_reads_of(l->o->m, d, made, l->o->a, &all);
  for (size_t k = 0; k < all.n; k++) {
    neo_expr e = all.at[k].read;
    uint32_t t = neo_expr_node(l->o->m, e)->attr;
    if (is_within(l, d, e))
      continue;
    bool of_last = is_of_last(l, e);
    last[t] = last[t] || of_last;
    bool asks = t != l->alive.i && !l->steers[t] && is_where_run(l, d, &all.at[k]);
    bool of_run = asks || (!l->steers[t] && c->rounds.i && has_run(c, d, &all.at[k]));
    after[l->alive.i] = after[l->alive.i] || asks;
    after[t] = after[t] || !(of_last || of_run);
  }
}

/* What an entry gives has all of its elements. */
static void note_results(const neo_module *m, bool *after) {
  for (size_t e = 0; e < m->entries.n; e++)
    for (uint32_t k = 0; k < m->entries.at[e].outputs.n; k++)
      after[neo_list_at(m, m->entries.at[e].outputs, k)] = true;
}

typedef NEO_VEC(neo_tensor) root_list;

static void add_roots(const leaving *l, neo_list tensors, root_list *to) {
  for (uint32_t k = 0; k < tensors.n; k++)
    NEO_PUSH(l->o->a, to, (neo_tensor){neo_list_at(l->o->m, tensors, k)});
}

/* Definitions that entries need; the module may have others. */
static size_t needed_defs(const leaving *l, neo_def **out) {
  const neo_module *m = l->o->m;
  root_list roots = {0};
  neo_tensor *read;
  for (size_t e = 0; e < m->entries.n; e++) {
    add_roots(l, m->entries.at[e].outputs, &roots);
    add_roots(l, m->entries.at[e].updates, &roots);
  }
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    neo_def init = m->tensors.at[t].init;
    for (size_t k = init.i ? neo_def_reads(m, init, l->o->a, &read) : 0; k-- > 0;)
      NEO_PUSH(l->o->a, &roots, read[k]);
  }
  return neo_module_topo(m, roots.at, roots.n, l->o->a, out, NULL);
}

static void find_readers(leaving *l) {
  outliner *o = l->o;
  bool *after = NEO_NEW_ARRAY(o->a, bool, o->m->tensors.n);
  bool *last = NEO_NEW_ARRAY(o->a, bool, o->m->tensors.n);
  const bool *made = made_in(l, false), *stored = made_in(l, true);
  counter c = l->maker.i ? counter_of(l) : (counter){.l = l};
  for (size_t k = 0; k < o->n; k++)
    note_reader(l, &c, made, o->defs[k], after, last);
  for (size_t k = 0; k < l->n_needed; k++)
    note_reader(l, &c, stored, l->needed[k], after, last);
  for (uint32_t t = 1; t < o->m->tensors.n; t++)
    if (o->m->tensors.at[t].init.i)
      note_reader(l, &c, stored, o->m->tensors.at[t].init, after, last);
  note_results(o->m, after);
  l->read_after = after;
  l->read_last = last;
}

static int64_t slices_of(const leaving *l, uint32_t tensor) {
  const outline_ring *r = &l->o->ring[tensor];
  return tensor < l->o->n_tensors && r->n_folds ? outline_slices(r, left_loop(l)) : 0;
}

/* May iterations leave the definition out? */
static bool may_leave_out(leaving *l, const neo_order_member *x) {
  const outliner *o = l->o;
  neo_list out = neo_def_at(o->m, x->def)->out;
  bool may = true, after = false, last = false;
  int64_t n = slices_of(l, neo_list_at(o->m, out, 0));
  for (uint32_t k = 0; k < out.n; k++) {
    uint32_t t = neo_list_at(o->m, out, k);
    const neo_tensor_rec *rec = neo_tensor_at(o->m, (neo_tensor){t});
    may = may && rec->role == NEO_ROLE_TEMP && rec->pieces.n == 1;
    after = after || l->read_after[t];
    last = last || l->read_last[t];
  }
  bool is_condition = x->def.i == l->maker.i;
  if (!may || (!after && !last && !is_condition))
    return may;
  if (is_condition ? after && n > 0 : (after && n == 0) || !has_old_value(l, x))
    return false;
  l->n = n > l->n ? n : l->n;
  l->fills = l->fills || (is_condition && n == 0 && (after || last));
  l->ends[x->def.i] = n == 0 && !is_condition;
  return true;
}

/* Is every instance of what the loop makes in one iteration of it? */
static bool is_in_iterations(const leaving *l, const neo_tree *t) {
  bool is = true;
  for (size_t k = 0; k < t->children.n && is; k++)
    is = is_in_iterations(l, t->children.at[k]);
  if (t->kind != NEO_TREE_LEAF)
    return is;
  const outline_instance *x = outline_at(l->o, t);
  neo_expr at;
  for (uint32_t k = 0; outline_member(left_loop(l), x->def) && k < l->n_loops && is; k++)
    is = outline_iteration_of(l->o, l->loop[k], x, &at);
  return is;
}

/* ---- what is needed in all iterations */

typedef struct {
  leaving *l;
  neo_def x;   /* the reader */
  bool chosen; /* the read is where the iteration runs */
  bool more;
} need_look;

/* Has it, n iterations after the last one, the value that this one gave it? */
static bool stays(const leaving *l, const neo_order_member *x) {
  int64_t n = slices_of(l, neo_list_at(l->o->m, neo_def_at(l->o->m, x->def)->out, 0));
  return n > 0 && n <= l->n && has_old_value(l, x);
}

/* A float need not be there where a select does not take it; an integer may be an index. */
static void need_read(void *ctx, neo_expr e) {
  need_look *k = ctx;
  const neo_node *n = neo_expr_node(k->l->o->m, e);
  const neo_order_member *made = outline_is_read(n) ? maker_of(k->l, n->attr) : NULL;
  if (!made || !k->l->out[made->def.i] || stays(k->l, made) ||
      (k->chosen && neo_type_is_float((neo_type)n->type)))
    return;
  k->l->out[made->def.i] = false;
  k->more = true;
}

static void need_expr(need_look *k, neo_def x, neo_expr e) {
  neo_module *m = k->l->o->m;
  k->chosen = false;
  if (neo_expr_node(m, e)->op != NEO_OP_SELECT || !is_condition(k->l, x, neo_expr_arg(m, e, 0))) {
    neo_expr_visit(m, e, need_read, k);
    return;
  }
  neo_expr_visit(m, neo_expr_arg(m, e, 2), need_read, k);
  k->chosen = true;
  neo_expr_visit(m, neo_expr_arg(m, e, 1), need_read, k);
  k->chosen = false;
}

static void need_reads(need_look *k, neo_def x) {
  neo_module *m = k->l->o->m;
  neo_def_rec d = *neo_def_at(m, x);
  for (uint32_t i = 0; i < d.axes.n; i++) {
    neo_expr_visit(m, neo_def_axis(m, &d, i)->lo, need_read, k);
    neo_expr_visit(m, neo_def_axis(m, &d, i)->hi, need_read, k);
  }
  for (uint32_t i = 0; i < d.body.n; i++)
    neo_expr_visit(m, neo_list_expr(m, d.body, i), need_read, k);
  if (d.where.i)
    neo_expr_visit(m, d.where, need_read, k);
  for (uint32_t i = 0; i < d.finish.n; i++)
    need_expr(k, x, neo_list_expr(m, d.finish, i));
}

/* What runs in all iterations has there what it reads; false: nothing is left out. */
static bool close_needed(leaving *l) {
  const neo_order_step *loop = left_loop(l);
  need_look k = {.l = l, .more = true};
  bool any = false;
  l->out[l->maker.i] = false;
  while (k.more) {
    k.more = false;
    for (uint32_t i = 0; i < loop->n_members; i++)
      if (!l->out[loop->member[i].def.i])
        need_reads(&k, loop->member[i].def);
  }
  for (uint32_t i = 0; i < loop->n_members; i++)
    any = any || l->out[loop->member[i].def.i];
  return any;
}

/* Reads of earlier iterations, of what they need not have. */
static void look_earlier(void *ctx, neo_expr e) {
  need_look *k = ctx;
  const neo_node *n = neo_expr_node(k->l->o->m, e);
  const neo_order_member *made = outline_is_read(n) ? maker_of(k->l, n->attr) : NULL;
  int64_t d;
  if (made && !stays(k->l, made))
    k->more = k->more || !distance_of(k->l, k->l->n_loops - 1, k->x, made->def, e, &d) || d != 0;
}

/* Does the loop begin with iterations that change nothing, but for the first ones of them? */
static bool begins_late(leaving *l) {
  const neo_order_step *loop = left_loop(l);
  need_look look = {.l = l};
  if (l->predicated)
    return false;
  for (uint32_t k = 0; k < loop->n_members && !look.more; k++) {
    look.x = loop->member[k].def;
    look.more = l->ends[look.x.i];
    neo_def_visit(l->o->m, look.x, look_earlier, &look);
  }
  return !look.more;
}

/* Finds what iterations leave out; false: nothing. */
static bool may_leave(leaving *l, const neo_tree *t) {
  const neo_order_step *loop = left_loop(l);
  neo_facts none = {0};
  int64_t lo, most;
  bool may = (loop->down ? find_alive_outside(l) : find_alive(l)) && is_in_iterations(l, t);
  for (uint32_t k = 0; k < loop->n_members && may; k++)
    may = loop->member[k].delay == loop->member[0].delay;
  if (!may)
    return false;
  l->n = 1;
  find_readers(l);
  l->predicated = l->o->options && l->o->options->predicated;
  l->out = NEO_NEW_ARRAY(l->o->a, bool, l->o->m->defs.n);
  l->fills = false;
  l->ends = NEO_NEW_ARRAY(l->o->a, bool, l->o->m->defs.n);
  for (uint32_t k = 0; k < loop->n_members; k++) {
    l->out[loop->member[k].def.i] = may_leave_out(l, &loop->member[k]);
    l->predicated = l->predicated || !l->out[loop->member[k].def.i];
  }
  uint32_t axis = l->axis[l->n_loops - 1];
  return (loop->down ? begins_late(l) : !l->predicated || close_needed(l)) &&
         neo_interval(l->o->p, &none, neo_tensor_extent(l->o->m, l->alive, axis), &lo, &most) &&
         most > l->n + 1;
}

/* ---- the tree */

/* Iteration `at` - n, or at + n of a loop that runs down, if there is one, else -1. */
static neo_expr iteration_before(const leaving *l, neo_expr at) {
  const outliner *o = l->o;
  neo_module *m = o->m;
  neo_expr none = outline_number(o, -1), zero = outline_number(o, 0);
  bool down = left_loop(l)->down;
  neo_expr back = neo_op2(m, NEO_OP_SUB, at, outline_number(o, l->n)), e = down ? at : back;
  neo_expr end = neo_tensor_extent(m, l->alive, l->axis[l->n_loops - 1]);
  neo_expr left =
      down ? neo_op2(m, NEO_OP_SUB, neo_op2(m, NEO_OP_SUB, end, at), outline_number(o, l->n + 1))
           : back;
  int64_t x;
  e = outline_cell(o, l->alive, l->axis[l->n_loops - 1], e);
  if (outline_distance(o, left, zero, &x))
    return x < 0 ? none : e;
  return neo_op3(m, NEO_OP_SELECT, neo_op2(m, NEO_OP_LE, zero, left), e, none);
}

/* (alive[.., r - n] else true), where it lies in memory; r: the iteration that x is in. Of a loop that runs down
 * alive[.., r], but for the first n iterations. */
static neo_expr runs_where(const leaving *l, const outline_instance *x) {
  const outliner *o = l->o;
  neo_module *m = o->m;
  neo_expr index[OUTLINE_FOLDS];
  for (uint32_t k = 0; k < l->n_loops; k++) {
    neo_def of = l->maker.i ? l->maker : x->def;
    neo_expr e = {0}, delay = outline_number(o, outline_member(l->loop[k], of)->delay);
    (void)outline_iteration_of(o, l->loop[k], x, &e);
    e = neo_op2(m, NEO_OP_SUB, e, delay);
    index[l->axis[k]] =
        k + 1 == l->n_loops ? iteration_before(l, e) : outline_cell(o, l->alive, l->axis[k], e);
  }
  neo_tensor cells = o->ring[l->alive.i].tensor;
  cells = cells.i ? cells : l->alive;
  return neo_load_else(m, cells, index, l->n_loops, neo_const_bool(m, true), x->rec.span);
}

/* Does it hold in every case, as there is no earlier iteration? */
static bool holds_always(const neo_module *m, neo_expr condition) {
  bool always = false;
  int64_t at;
  for (uint32_t k = 0; k + 1 < neo_expr_node(m, condition)->arg.n; k++)
    always = always || (neo_expr_is_int(m, neo_expr_arg(m, condition, k), &at) && at < 0);
  return always;
}

/* In which iteration of the loop all of the tree's instances are; 0: in several, or in none. *x: one of them. */
static neo_expr iteration_of(const leaving *l, const neo_tree *t, const outline_instance **x) {
  neo_expr all = {0}, one = {0};
  if (t->kind == NEO_TREE_LEAF) {
    *x = outline_at(l->o, t);
    bool own = outline_member(left_loop(l), (*x)->def) != NULL;
    return own && outline_iteration_of(l->o, left_loop(l), *x, &one) ? one : all;
  }
  for (size_t k = 0; k < t->children.n; k++) {
    if (t->children.at[k]->kind == NEO_TREE_EXIT)
      continue;
    one = iteration_of(l, t->children.at[k], x);
    if (!one.i || (all.i && one.i != all.i))
      return (neo_expr){0};
    all = one;
  }
  return all;
}

/* A number for each iteration, all in one cell. */
static neo_tensor define_cell(leaving *l, const char *what) {
  outliner *o = l->o;
  neo_module *m = o->m;
  outline_ring r = {.order = l->loop[0], .n_folds = l->n_loops};
  uint32_t extent[OUTLINE_FOLDS];
  const neo_tensor_rec *alive = neo_tensor_at(m, l->alive);
  neo_tensor_rec t = {.role = NEO_ROLE_TEMP, .type = NEO_I64_T, .extent = alive->extent};
  t.name = neo_tensor_fresh_name(m, what, neo_name_text(m->names, alive->name));
  neo_tensor cell = neo_tensor_add(m, t);
  for (uint32_t k = 0; k < l->n_loops; k++) {
    r.fold[k] = (outline_fold){l->axis[k], 1, l->loop[k]};
    extent[k] = outline_number(o, 1).i;
  }
  t.name = neo_tensor_fresh_name(m, "ring", neo_name_text(m->names, t.name));
  t.extent = neo_list_new(m, extent, l->n_loops);
  r.tensor = neo_tensor_add(m, t);
  outline_grow(o);
  o->own[cell.i] = o->stored[cell.i] = true;
  o->ring[cell.i] = r;
  return cell;
}

static neo_expr read_cell(const leaving *l, neo_tensor cell, neo_span span) {
  neo_expr at[OUTLINE_FOLDS];
  for (uint32_t k = 0; k < l->n_loops; k++)
    at[k] = outline_number(l->o, 0);
  return neo_load(l->o->m, cell, at, l->n_loops, span);
}

/* ---- sums over a loop that begins late have the terms of what ran */

/* Position of the instance along loop `level`, which it is in one iteration of. */
static bool position_of(const leaving *l, uint32_t level, const outline_instance *x, neo_expr *at) {
  const neo_order_member *own = outline_member(l->loop[level], x->def);
  if (!own || !outline_iteration_of(l->o, l->loop[level], x, at))
    return false;
  *at = neo_op2(l->o->m, NEO_OP_SUB, *at, outline_number(l->o, own->delay));
  return true;
}

typedef struct {
  const leaving *l;
  const outline_instance *x;
  uint32_t axis; /* of the reduction, along the loop */
} term_look;

static neo_expr dead_term_node(void *ctx, neo_module *m, neo_expr e) {
  const term_look *t = ctx;
  const leaving *l = t->l;
  bool is = neo_expr_node(m, e)->op == NEO_OP_LOAD && neo_expr_node(m, e)->attr == l->alive.i &&
            neo_expr_arg(m, e, l->axis[l->n_loops - 1]).i == neo_axis_ref(m, t->axis).i;
  for (uint32_t k = 0; k + 1 < l->n_loops && is; k++) {
    neo_expr at, by[OUTLINE_AXES] = {{0}}, read = neo_expr_arg(m, e, l->axis[k]);
    int64_t d;
    by[outline_member(l->loop[k], t->x->def)->axis] =
        outline_number(l->o, 0); /* its one position */
    read = neo_expr_subst_axes(m, read, by, t->x->rec.n_out);
    is = position_of(l, k, t->x, &at) && outline_distance(l->o, read, at, &d) && d == 0;
  }
  return is ? neo_const_bool(m, false) : e;
}

/* Are the terms of the sum at positions of its axis 0 where the iteration did not run? */
static bool has_dead_terms(const leaving *l, const outline_instance *x, uint32_t axis) {
  neo_module *m = l->o->m;
  const neo_def_rec *r = &x->rec;
  const neo_axis_rec *a = neo_def_axis(m, r, axis);
  neo_axis_rec axes[OUTLINE_AXES];
  neo_facts facts = {axes, r->axes.n, x->assume, x->n_assume};
  term_look look = {l, x, axis};
  int64_t lo, d;
  neo_expr extent = neo_tensor_extent(m, l->alive, l->axis[l->n_loops - 1]);
  if (!neo_expr_is_int(m, a->lo, &lo) || lo || !outline_distance(l->o, a->hi, extent, &d) || d)
    return false;
  for (uint32_t k = 0; k < r->axes.n; k++)
    axes[k] = *neo_def_axis(m, r, k);
  neo_expr e = neo_expr_rewrite(m, neo_list_expr(m, r->body, 0), dead_term_node, &look);
  return is_zero(m, without_zeros(m, neo_simplify_under(l->o->p, &facts, e)));
}

static void bound_sum(leaving *l, outline_instance *x) {
  neo_module *m = l->o->m;
  uint32_t id[OUTLINE_AXES];
  bool may =
      x->rec.reducer == NEO_RED_SUM && x->rec.body.n == 1 && !outline_member(left_loop(l), x->def);
  neo_expr at;
  for (uint32_t k = 0; k + 1 < l->n_loops && may; k++)
    may = position_of(l, k, x, &at);
  for (uint32_t k = x->rec.n_out; k < x->rec.axes.n && may; k++) {
    if (!has_dead_terms(l, x, k))
      continue;
    neo_axis_rec axis = *neo_def_axis(m, &x->rec, k);
    l->count = l->count.i ? l->count : define_cell(l, "count");
    axis.hi = read_cell(l, l->count, x->rec.span);
    for (uint32_t i = 0; i < x->rec.axes.n; i++)
      id[i] = i == k ? neo_axis_add(m, axis).i : neo_list_at(m, x->rec.axes, i);
    x->rec.axes = neo_list_new(m, id, x->rec.axes.n);
  }
}

static void bound_sums(leaving *l, const neo_tree *t) {
  for (size_t k = 0; k < t->children.n; k++)
    bound_sums(l, t->children.at[k]);
  if (t->kind == NEO_TREE_LEAF)
    bound_sum(l, outline_at(l->o, t));
}

/* count = sum[r] alive[.., r], where x is in the loop */
static outline_instance *count_of(const leaving *l, const outline_instance *x) {
  const outliner *o = l->o;
  neo_module *m = o->m;
  outline_instance *y = NEO_NEW(o->a, outline_instance);
  neo_expr index[OUTLINE_FOLDS], end;
  uint32_t id[OUTLINE_FOLDS + 1], r = l->axis[l->n_loops - 1], out = l->count.i;
  *y = *x;
  for (uint32_t k = 0; k < l->n_loops; k++) {
    id[k] = neo_list_at(m, x->rec.axes, k);
    (void)position_of(l, k, x, &index[l->axis[k]]);
  }
  end = neo_tensor_extent(m, l->alive, r);
  id[l->n_loops] = neo_axis_add(m, (neo_axis_rec){neo_def_axis(m, &x->rec, r)->name,
                                                  outline_number(o, 0), end, x->rec.span})
                       .i;
  index[r] = neo_axis_ref(m, l->n_loops);
  neo_expr body = neo_load(m, l->alive, index, l->n_loops, x->rec.span);
  uint32_t term = neo_cast(m, NEO_I64_T, body).i, acc = neo_acc_ref(m, NEO_I64_T, 0).i;
  y->rec = (neo_def_rec){.n_out = l->n_loops, .reducer = NEO_RED_SUM, .span = x->rec.span};
  y->rec.axes = neo_list_new(m, id, l->n_loops + 1);
  y->rec.body = neo_list_new(m, &term, 1);
  y->rec.finish = neo_list_new(m, &acc, 1);
  y->rec.out = neo_list_new(m, &out, 1);
  y->needed.n = 0;
  y->of_sum = true;
  return y;
}

/* A definition of the loop whose first axes are those of the condition; 0: there is none. */
static neo_def like_condition(const leaving *l) {
  const neo_order_step *loop = left_loop(l);
  for (uint32_t i = 0; i < loop->n_members; i++) {
    bool is = true;
    for (uint32_t k = 0; k < l->n_loops && is; k++)
      is = outline_member(l->loop[k], loop->member[i].def)->axis == l->axis[k];
    if (is)
      return loop->member[i].def;
  }
  return (neo_def){0};
}

/* ---- the last elements */

/* last[.., r] = r, in one cell, in the iteration that x, of the condition, is in */
static outline_instance *last_of(const leaving *l, const outline_instance *x) {
  const outliner *o = l->o;
  neo_module *m = o->m;
  outline_instance *y = NEO_NEW(o->a, outline_instance);
  neo_expr at = {0};
  (void)outline_iteration_of(o, left_loop(l), x, &at);
  at = neo_op2(m, NEO_OP_SUB, at, outline_number(o, outline_member(left_loop(l), x->def)->delay));
  uint32_t out = l->last.i;
  *y = *x;
  y->rec.finish = neo_list_new(m, &at.i, 1);
  y->rec.out = neo_list_new(m, &out, 1);
  y->needed.n = 0;
  y->of_sum = true;
  return y;
}

/* An iteration, and that it has run. */
static const neo_tree *with_last(const leaving *l, const neo_tree *t, const outline_instance *x) {
  neo_trees out = {0};
  if (!l->last.i)
    return t;
  NEO_PUSH(l->o->a, &out, t);
  outline_push(l->o, &out, last_of(l, x));
  return neo_tree_sequence(l->o->a, &out);
}

/* h[.., L - 1] = h[.., last], where x makes an element of h */
static outline_instance *end_of(const leaving *l, const outline_instance *x) {
  const outliner *o = l->o;
  neo_module *m = o->m;
  outline_instance *y = NEO_NEW(o->a, outline_instance);
  uint32_t axis = outline_member(left_loop(l), x->def)->axis;
  neo_tensor t = {neo_list_at(m, x->rec.out, 0)};
  neo_expr index[OUTLINE_AXES];
  for (uint32_t k = 0; k < x->rec.n_out; k++) {
    index[k] = x->fixed[k] ? x->base[k] : neo_axis_ref(m, k);
    if (!x->fixed[k] && x->base[k].i)
      index[k] = neo_op2(m, NEO_OP_ADD, x->base[k], index[k]);
  }
  index[axis] = read_cell(l, l->last, x->rec.span);
  uint32_t finish = neo_load(m, t, index, x->rec.n_out, x->rec.span).i;
  *y = *x;
  y->rec.finish = neo_list_new(m, &finish, 1);
  y->base[axis] = neo_op2(m, NEO_OP_SUB, neo_tensor_extent(m, t, axis), outline_number(o, 1));
  y->needed.n = 0;
  y->of_sum = true;
  return y;
}

static bool uses_index(const neo_module *m, neo_expr e, neo_size index) {
  const neo_node *n = neo_expr_node(m, e);
  bool uses = n->op == NEO_OP_SIZE && n->attr == index.i;
  for (uint32_t k = 0; k < n->arg.n && !uses; k++)
    uses = uses_index(m, neo_list_expr(m, n->arg, k), index);
  return uses;
}

/* In which iteration of the loops around all of the tree's instances of the loop are. */
typedef struct {
  bool some, many; /* are there some; are they in several? */
  neo_expr at[OUTLINE_FOLDS];
} around_loop;

static around_loop around_of(const leaving *l, const neo_tree *t) {
  around_loop all = {0};
  if (t->kind == NEO_TREE_LEAF) {
    const outline_instance *x = outline_at(l->o, t);
    all.some = outline_member(left_loop(l), x->def) != NULL;
    for (uint32_t k = 0; k + 1 < l->n_loops && all.some; k++)
      (void)outline_iteration_of(l->o, l->loop[k], x, &all.at[k]);
  }
  for (size_t k = 0; k < t->children.n; k++) {
    around_loop one = around_of(l, t->children.at[k]);
    bool both = all.some && one.some;
    all.many = all.many || one.many;
    for (uint32_t i = 0; i + 1 < l->n_loops && both; i++)
      all.many = all.many || all.at[i].i != one.at[i].i;
    if (!both && one.some)
      all = one;
  }
  for (uint32_t i = 0; t->kind == NEO_TREE_BAND && all.some && i + 1 < l->n_loops; i++)
    all.many = all.many || uses_index(l->o->m, all.at[i], t->band.index);
  return all;
}

static bool is_same_around(const leaving *l, const around_loop *a, const around_loop *b) {
  bool same = a->some && b->some && !a->many && !b->many;
  for (uint32_t k = 0; k + 1 < l->n_loops && same; k++)
    same = a->at[k].i == b->at[k].i;
  return same;
}

/* An instance of the definition in the tree, in this iteration of the loops around. */
static const outline_instance *instance_in(const leaving *l, const neo_tree *t, neo_def d,
                                           const around_loop *around) {
  const outline_instance *x = NULL;
  if (t->kind == NEO_TREE_LEAF) {
    around_loop own = around_of(l, t);
    x = outline_at(l->o, t);
    return x->def.i == d.i && !x->of_sum && is_same_around(l, &own, around) ? x : NULL;
  }
  for (size_t k = 0; k < t->children.n && !x; k++)
    x = instance_in(l, t->children.at[k], d, around);
  return x;
}

/* alive[.., ..] = false, along the loop, where x makes an element of it */
static outline_instance *fill_of(const leaving *l, const outline_instance *x) {
  neo_module *m = l->o->m;
  outline_instance *y = NEO_NEW(l->o->a, outline_instance);
  uint32_t axis = outline_member(left_loop(l), x->def)->axis, finish = neo_const_bool(m, false).i;
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < x->rec.axes.n; k++)
    id[k] = neo_list_at(m, k == axis ? neo_def_at(m, x->def)->axes : x->rec.axes, k);
  *y = *x;
  y->rec.axes = neo_list_new(m, id, x->rec.axes.n);
  y->rec.finish = neo_list_new(m, &finish, 1);
  y->fixed[axis] = false;
  y->base[axis] = y->extent[axis] = (neo_expr){0};
  y->rounds = l->n_loops == 1 ? -1 : x->rounds;
  y->needed.n = 0;
  y->of_sum = true;
  return y;
}

/* Adds what is written before the loop, of which `t` is a part. */
static void add_fill(const leaving *l, neo_trees *to, const neo_tree *t,
                     const around_loop *around) {
  neo_def like = l->count.i ? like_condition(l) : l->maker;
  const outline_instance *x = instance_in(l, t, like, around);
  neo_trees in = {0};
  if (!x)
    return;
  outline_push(l->o, &in, l->count.i ? count_of(l, x) : fill_of(l, x));
  NEO_PUSH(l->o->a, to,
           neo_tree_guard(l->o->a, neo_const_bool(l->o->m, true), neo_tree_sequence(l->o->a, &in)));
}

/* Adds what is written after the loop, of which `t` is a part. */
static void add_ends(const leaving *l, neo_trees *to, const neo_tree *t,
                     const around_loop *around) {
  const neo_order_step *loop = left_loop(l);
  neo_module *m = l->o->m;
  neo_trees in = {0};
  for (uint32_t k = 0; k < loop->n_members; k++) {
    neo_def d = loop->member[k].def;
    const outline_instance *x = l->ends[d.i] && l->out[d.i] ? instance_in(l, t, d, around) : NULL;
    if (x)
      outline_push(l->o, &in, end_of(l, x));
  }
  neo_expr extent = neo_tensor_extent(m, l->alive, l->axis[l->n_loops - 1]);
  neo_expr some = neo_op2(m, NEO_OP_LT, outline_number(l->o, 0), extent);
  NEO_PUSH(l->o->a, to, neo_tree_guard(l->o->a, some, neo_tree_sequence(l->o->a, &in)));
}

static const neo_tree *with_ends(const leaving *l, const neo_tree *t);

static const neo_tree *ends_in_sequence(const leaving *l, const neo_tree *t) {
  neo_trees out = {0};
  for (size_t k = 0; k < t->children.n; k++) {
    const neo_tree *child = t->children.at[k];
    around_loop own = around_of(l, child);
    bool begins = own.some && !own.many, ends = begins;
    for (size_t i = 0; i < t->children.n; i++) {
      around_loop other = around_of(l, t->children.at[i]);
      begins = begins && !(i < k && is_same_around(l, &own, &other));
      ends = ends && !(i > k && is_same_around(l, &own, &other));
    }
    const neo_tree *all = begins || ends ? neo_tree_sequence(l->o->a, &t->children) : NULL;
    if (begins && (l->fills || l->count.i))
      add_fill(l, &out, all, &own);
    NEO_PUSH(l->o->a, &out, own.many ? with_ends(l, child) : child);
    if (ends && l->last.i)
      add_ends(l, &out, all, &own);
  }
  return neo_tree_sequence(l->o->a, &out);
}

/* The tree in which the last elements are there after each run of the loop. */
static const neo_tree *with_ends(const leaving *l, const neo_tree *t) {
  neo_arena *a = l->o->a;
  neo_trees one = {0};
  if (t->kind == NEO_TREE_SEQUENCE)
    return ends_in_sequence(l, t);
  if (!around_of(l, t).many) {
    around_loop own = around_of(l, t);
    if (l->fills || l->count.i)
      add_fill(l, &one, t, &own);
    NEO_PUSH(a, &one, t);
    if (l->last.i)
      add_ends(l, &one, t, &own);
    return neo_tree_sequence(a, &one);
  }
  const neo_tree *child = with_ends(l, t->children.at[0]);
  return t->kind == NEO_TREE_BAND ? neo_tree_of_band(a, t->band, child)
                                  : neo_tree_guard(a, t->condition, child);
}

static bool has_ends(const leaving *l) {
  const neo_order_step *loop = left_loop(l);
  bool has = false;
  for (uint32_t k = 0; k < loop->n_members; k++)
    has = has || (l->ends[loop->member[k].def.i] && l->out[loop->member[k].def.i]);
  return has;
}

/* ---- exits and guards */

static const neo_tree *left(leaving *l, const neo_tree *t);

static const neo_tree *guarded(leaving *l, const neo_tree *t, const outline_instance *x) {
  neo_expr c = runs_where(l, x);
  t = l->predicated ? t : with_last(l, t, x);
  return holds_always(l->o->m, c) ? t : neo_tree_guard(l->o->a, c, t);
}

/* Runs of children that are of one iteration are under one guard: the condition is read before anything of it runs. */
static const neo_tree *left_sequence(leaving *l, const neo_tree *t) {
  neo_trees out = {0};
  for (size_t k = 0, end; k < t->children.n; k = end) {
    const outline_instance *x = NULL, *y;
    neo_trees run = {0};
    neo_expr at = iteration_of(l, t->children.at[k], &x);
    for (end = k; end < t->children.n && at.i; end++) {
      if (iteration_of(l, t->children.at[end], &y).i != at.i)
        break;
      NEO_PUSH(l->o->a, &run, t->children.at[end]);
    }
    end = at.i ? end : k + 1;
    const neo_tree *one = at.i ? neo_tree_sequence(l->o->a, &run) : t->children.at[k];
    NEO_PUSH(l->o->a, &out, left(l, one));
  }
  return neo_tree_sequence(l->o->a, &out);
}

static const neo_tree *left_band(leaving *l, const neo_tree *t) {
  const outline_instance *x = NULL;
  const neo_tree *child = t->children.at[0];
  neo_expr at = iteration_of(l, child, &x);
  if (!at.i || !uses_index(l->o->m, at, t->band.index))
    return neo_tree_of_band(l->o->a, t->band, left(l, child));
  if (left_loop(l)->down)
    return neo_tree_of_band(l->o->a, t->band, guarded(l, child, x));
  neo_trees in = {0};
  NEO_PUSH(l->o->a, &in, neo_tree_exit(l->o->a, runs_where(l, x)));
  NEO_PUSH(l->o->a, &in, with_last(l, child, x));
  return neo_tree_of_band(l->o->a, t->band, neo_tree_sequence(l->o->a, &in));
}

/* The tree in which iterations are left out. */
static const neo_tree *left(leaving *l, const neo_tree *t) {
  const outline_instance *x = NULL;
  neo_expr at = iteration_of(l, t, &x);
  if (t->kind == NEO_TREE_BAND && (!at.i || uses_index(l->o->m, at, t->band.index)))
    return left_band(l, t);
  if (at.i)
    return guarded(l, t, x);
  if (t->kind == NEO_TREE_GUARD)
    return neo_tree_guard(l->o->a, t->condition, left(l, t->children.at[0]));
  return t->kind == NEO_TREE_SEQUENCE ? left_sequence(l, t) : t;
}

/* ---- leaves that ask */

static const neo_tree *predicated(leaving *l, const neo_tree *t);

/* Leaves that follow one another and ask for the same are under one guard. */
static const neo_tree *predicated_sequence(leaving *l, const neo_tree *t) {
  neo_trees out = {0}, run = {0};
  neo_expr asked = {0};
  for (size_t k = 0; k <= t->children.n; k++) {
    const neo_tree *one = k < t->children.n ? predicated(l, t->children.at[k]) : NULL;
    bool asks = one && one->kind == NEO_TREE_GUARD && neo_recurrence_asks(l->o->m, one);
    if (run.n && (!asks || one->condition.i != asked.i)) {
      NEO_PUSH(l->o->a, &out, neo_tree_guard(l->o->a, asked, neo_tree_sequence(l->o->a, &run)));
      run = (neo_trees){0};
    }
    if (asks) {
      asked = one->condition;
      NEO_PUSH(l->o->a, &run, one->children.at[0]);
    } else if (one) {
      NEO_PUSH(l->o->a, &out, one);
    }
  }
  return neo_tree_sequence(l->o->a, &out);
}

/* Each leaf that is left out under a guard of its own. */
static const neo_tree *predicated(leaving *l, const neo_tree *t) {
  neo_arena *a = l->o->a;
  neo_trees both = {0}, one = {0};
  if (t->kind == NEO_TREE_LEAF) {
    const outline_instance *x = outline_at(l->o, t);
    if (l->last.i && x->def.i == l->maker.i && !x->of_sum) { /* made in all iterations */
      NEO_PUSH(a, &both, t);
      outline_push(l->o, &one, last_of(l, x));
      NEO_PUSH(a, &both, guarded(l, neo_tree_sequence(a, &one), x));
      return neo_tree_sequence(a, &both);
    }
    return l->out[x->def.i] ? guarded(l, t, x) : t;
  }
  if (t->kind == NEO_TREE_BAND)
    return neo_tree_of_band(a, t->band, predicated(l, t->children.at[0]));
  if (t->kind == NEO_TREE_GUARD)
    return neo_tree_guard(a, t->condition, predicated(l, t->children.at[0]));
  return t->kind == NEO_TREE_SEQUENCE ? predicated_sequence(l, t) : t;
}

/* Loops in the loop come first: what they leave out is then in iterations that may be left out, too. */
static const neo_tree *leave_loops(leaving *l, const neo_order_step *loop, const neo_tree *t) {
  if (l->n_loops == OUTLINE_FOLDS)
    return t;
  l->loop[l->n_loops++] = loop;
  for (uint32_t k = 0; k < loop->n_steps; k++)
    if (!loop->step[k].def.i)
      t = leave_loops(l, &loop->step[k], t);
  if (may_leave(l, t)) {
    l->o->stored[l->alive.i] = l->o->stored[l->alive.i] || l->o->own[l->alive.i];
    if (l->maker.i)
      outline_set_slices(l->o, l->alive, loop, l->n + l->predicated);
    l->last.i = l->count.i = 0;
    if (has_ends(l))
      l->last = define_cell(l, "last");
    if (loop->down && like_condition(l).i)
      bound_sums(l, t);
    t = l->predicated ? predicated(l, t) : left(l, t);
    l->fills = l->fills && !l->predicated; /* else all of them are made */
    t = l->last.i || l->fills || l->count.i ? with_ends(l, t) : t;
  }
  l->n_loops--;
  return t;
}

const neo_tree *outline_leave(outliner *o, const neo_order_step *order, const neo_tree *t) {
  leaving l = {.o = o};
  l.n_needed = needed_defs(&l, &l.needed);
  l.steers = neo_steering_tensors(o->m, l.needed, l.n_needed, o->a);
  bool *outside = NEO_NEW_ARRAY(o->a, bool, o->m->tensors.n + 1);
  for (uint32_t k = 0; k < o->n_tensors; k++)
    outside[k] = o->stored[k];
  l.outside = outside;
  return leave_loops(&l, order, t);
}

/* The loops of an order, and the definitions in them. A loop is cut into ranges of rounds, in each of which
 * conditions that depend on its index alone have one value, so that they are decided: the first rounds of
 *
 *   h[t, j] = tanh(x[t, j] + sum[k] (h[t-1, k] else h0[k]) * U[k, j])
 *
 * read h0, the others do not ask. A range whose reads all come from outside of it, or from the same
 * round, is no loop: its rounds are positions of an axis. So a triangular recurrence leaves its diagonal,
 * and what is above and below it are vectors. For the same reason a definition is cut along its other
 * axes where conditions compare them with a loop's index. */
#include "fusion/recurrence/internal.h"
#include <math.h>

enum { MOST_CUTS = 8, MOST_RANGES = 6 };

static neo_expr sum(const outliner *o, neo_expr a, neo_expr b) {
  return neo_op2(o->m, NEO_OP_ADD, a, b);
}

static neo_expr difference(const outliner *o, neo_expr a, neo_expr b) {
  neo_linear l;
  neo_expr e = neo_op2(o->m, NEO_OP_SUB, a, b);
  return neo_linear_of(o->m, e, &l) ? neo_linear_expr(o->m, &l) : e;
}

/* ---- instances */

/* Does it hold in the loops around, whatever the axes are at? */
static bool holds(const outliner *o, neo_expr goal) {
  neo_facts facts = {NULL, 0, o->assume.at, (uint32_t)o->assume.n};
  return neo_prove(o->p, &facts, goal, NULL) == NEO_PROVED;
}

bool outline_at_most(const outliner *o, neo_expr a, neo_expr b) {
  return holds(o, neo_op2(o->m, NEO_OP_LE, a, b));
}

static void place_axes(const outliner *o, outline_instance *x) {
  for (size_t k = 0; k < o->around.n; k++) {
    const outline_around *l = &o->around.at[k];
    const neo_order_member *p = outline_member(l->order, x->def);
    neo_expr delay = outline_number(o, p->delay);
    x->fixed[p->axis] = l->index.i != 0;
    x->base[p->axis] = difference(o, l->index.i ? l->index : l->lo, delay);
    x->extent[p->axis] = l->index.i ? outline_number(o, 1) : difference(o, l->hi, l->lo);
  }
}

static neo_expr placed(const outliner *o, const neo_expr *by, uint32_t n, neo_expr e) {
  return e.i ? neo_expr_subst_axes(o->m, e, by, n) : e;
}

static neo_list placed_list(const outliner *o, const neo_expr *by, uint32_t n, neo_list l) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = placed(o, by, n, neo_list_expr(o->m, l, k)).i;
  return neo_list_new(o->m, id, l.n);
}

static neo_list axes_of(const outliner *o, const outline_instance *x, const neo_def_rec *d,
                        const neo_expr *by) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < d->axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(o->m, d, k);
    bool part = k < d->n_out && x->extent[k].i;
    axis.lo = part ? outline_number(o, 0) : placed(o, by, d->n_out, axis.lo);
    axis.hi = part ? x->extent[k] : placed(o, by, d->n_out, axis.hi);
    id[k] = neo_axis_add(o->m, axis).i;
  }
  return neo_list_new(o->m, id, d->axes.n);
}

static neo_expr simpler(const outliner *o, const neo_facts *facts, neo_expr e) {
  return e.i ? neo_simplify_under(o->p, facts, e) : e;
}

static neo_list simpler_list(const outliner *o, const neo_facts *facts, neo_list l) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = simpler(o, facts, neo_list_expr(o->m, l, k)).i;
  return neo_list_new(o->m, id, l.n);
}

/* What a reduction of nothing gives; 0: not written as a constant. */
static neo_expr of_nothing(const outliner *o, neo_reducer r, neo_type t) {
  bool number = neo_type_is_float(t);
  switch (r) {
  case NEO_RED_SUM:
    return neo_const_int(o->m, t, 0);
  case NEO_RED_PROD:
    return neo_const_int(o->m, t, 1);
  case NEO_RED_ANY:
  case NEO_RED_ALL:
    return neo_const_bool(o->m, r == NEO_RED_ALL);
  case NEO_RED_LOGSUMEXP:
    return number ? neo_const_float(o->m, t, -INFINITY) : (neo_expr){0};
  default:
    return (neo_expr){0};
  }
}

/* A reduction of one value is this. */
static void drop_reduction(const outliner *o, neo_def_rec *r, neo_expr value) {
  neo_type t = neo_expr_type(o->m, neo_list_expr(o->m, r->body, 0));
  neo_expr acc = neo_acc_ref(o->m, t, 0);
  uint32_t id[OUTLINE_AXES];
  if (!value.i)
    return;
  for (uint32_t k = 0; k < r->finish.n; k++)
    id[k] = neo_expr_replace(o->m, neo_list_expr(o->m, r->finish, k), acc, value).i;
  r->finish = neo_list_new(o->m, id, r->finish.n);
  for (uint32_t k = 0; k < r->n_out; k++)
    id[k] = neo_list_at(o->m, r->axes, k);
  r->axes = neo_list_new(o->m, id, r->n_out);
  r->reducer = NEO_RED_NONE;
  r->where.i = 0;
  r->body = (neo_list){0};
}

/* The one term of a sum without a condition; 0: there may be several. */
static neo_expr only_term(const outliner *o, const neo_def_rec *r) {
  neo_expr by[OUTLINE_AXES] = {{0}};
  int64_t n = 1;
  bool only = r->reducer == NEO_RED_SUM && !r->where.i && r->axes.n > r->n_out;
  for (uint32_t k = r->n_out; k < r->axes.n && only; k++) {
    const neo_axis_rec *axis = neo_def_axis(o->m, r, k);
    by[k] = axis->lo;
    only = outline_distance(o, axis->hi, axis->lo, &n) && n == 1 &&
           !(neo_expr_axes(o->m, axis->lo) >> r->n_out);
  }
  return only ? neo_expr_subst_axes(o->m, neo_list_expr(o->m, r->body, 0), by, r->axes.n)
              : (neo_expr){0};
}

/* The list of axes with these in place of the reduction's. */
static neo_list with_axes(const outliner *o, const neo_def_rec *r, const neo_axis_rec *axes) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < r->axes.n; k++)
    id[k] = k < r->n_out ? neo_list_at(o->m, r->axes, k) : neo_axis_add(o->m, axes[k]).i;
  return neo_list_new(o->m, id, r->axes.n);
}

/* Is there an axis of the reduction that has no positions, whatever the others are at? */
static bool has_empty_range(const outliner *o, neo_facts *facts, const neo_def_rec *r) {
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    const neo_axis_rec *axis = neo_def_axis(o->m, r, k);
    neo_expr empty = neo_op2(o->m, NEO_OP_LE, axis->hi, axis->lo);
    facts->n_axes = k;
    if (neo_prove(o->p, facts, empty, NULL) == NEO_PROVED)
      return true;
  }
  return false;
}

/* Is each term 0 as a factor of it is? Of rows that are not there it is left out, whatever it is multiplied with. */
static bool has_zero_factor(const outliner *o, neo_expr e) {
  neo_module *m = o->m;
  const neo_node *n = neo_expr_node(m, e);
  return neo_expr_is_zero(m, e) ||
         (n->op == NEO_OP_MUL &&
          (has_zero_factor(o, neo_expr_arg(m, e, 0)) || has_zero_factor(o, neo_expr_arg(m, e, 1))));
}

static bool is_of_zeros(const outliner *o, const neo_facts *facts, const neo_def_rec *r) {
  return r->reducer == NEO_RED_SUM &&
         has_zero_factor(o, simpler(o, facts, neo_list_expr(o->m, r->body, 0)));
}

static bool is_partial(const outliner *o, neo_def d) {
  neo_list out = neo_def_at(o->m, d)->out;
  for (uint32_t k = 0; k < out.n; k++)
    if (!neo_tensor_at(o->m, (neo_tensor){neo_list_at(o->m, out, k)})->partial)
      return false;
  return true;
}

/* Are the values still the selects of a definition of partial tensors, so that these say which elements are read? A
 * select that is decided leaves what it chose, which may be another. */
static bool has_same_selects(const outliner *o, const neo_facts *facts, neo_list from,
                             neo_list to) {
  neo_module *m = o->m;
  bool same = true;
  for (uint32_t k = 0; k < from.n && same; k++) {
    neo_expr a = neo_list_expr(m, from, k), b = neo_list_expr(m, to, k);
    same = neo_expr_node(m, a)->op == NEO_OP_SELECT && neo_expr_node(m, b)->op == NEO_OP_SELECT &&
           simpler(o, facts, neo_expr_arg(m, a, 0)).i == neo_expr_arg(m, b, 0).i;
  }
  return same;
}

static void simplify(const outliner *o, outline_instance *x) {
  neo_axis_rec axes[OUTLINE_AXES];
  int64_t always;
  neo_def_rec *r = &x->rec;
  neo_expr *assume = NEO_NEW_ARRAY(o->a, neo_expr, x->n_assume + 1);
  neo_facts facts = {axes, r->axes.n, assume, x->n_assume};
  for (uint32_t k = 0; k < r->axes.n; k++)
    axes[k] = *neo_def_axis(o->m, r, k);
  for (uint32_t k = 0; k < x->n_assume; k++)
    assume[k] = x->assume[k];
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    facts.n_axes = k;
    axes[k].lo = simpler(o, &facts, axes[k].lo);
    axes[k].hi = simpler(o, &facts, axes[k].hi);
  }
  r->axes = with_axes(o, r, axes);
  if (has_empty_range(o, &facts, r) || ((x->leaf || o->kind) && is_of_zeros(o, &facts, r)))
    r->where = neo_const_bool(o->m, false);
  facts.n_axes = r->axes.n;
  r->where = simpler(o, &facts, r->where);
  bool decided = r->where.i && neo_expr_is_int(o->m, r->where, &always);
  if (decided && always)
    r->where.i = 0;
  else if (decided)
    drop_reduction(o, r,
                   of_nothing(o, r->reducer, neo_expr_type(o->m, neo_list_expr(o->m, r->body, 0))));
  if (only_term(o, r).i)
    drop_reduction(o, r, only_term(o, r));
  if (r->where.i)
    assume[facts.n_assume++] = r->where;
  r->body = simpler_list(o, &facts, r->body);
  facts.n_assume = x->n_assume;
  facts.n_axes = r->n_out;
  neo_list before = r->finish;
  r->finish = simpler_list(o, &facts, before);
  x->partial = is_partial(o, x->def) && has_same_selects(o, &facts, before, r->finish);
}

/* by[k]: where axis k of the definition is, over the instance's axes; 0: at its own. */
static void position_of(const outliner *o, const outline_instance *x, uint32_t n_out,
                        neo_expr *by) {
  for (uint32_t k = 0; k < n_out; k++)
    if (x->base[k].i)
      by[k] = x->fixed[k] ? x->base[k] : sum(o, x->base[k], neo_axis_ref(o->m, k));
}

/* Writes the definition with the instance's axes. */
static void place_def(outliner *o, outline_instance *x) {
  neo_def_rec d = *neo_def_at(o->m, x->def);
  neo_expr by[OUTLINE_AXES] = {{0}};
  position_of(o, x, d.n_out, by);
  x->rec = d;
  x->rec.axes = axes_of(o, x, &d, by);
  x->rec.where = placed(o, by, d.n_out, d.where);
  x->rec.body = placed_list(o, by, d.n_out, d.body);
  x->rec.finish = placed_list(o, by, d.n_out, d.finish);
  outline_read_apart(o, x);
  simplify(o, x);
}

/* Does it run in this round? 0: always. */
static neo_expr condition(const outliner *o, neo_def d) {
  neo_module *m = o->m;
  neo_expr all = o->is_kind;
  for (size_t k = 0; k < o->around.n; k++) {
    const outline_around *l = &o->around.at[k];
    const neo_order_member *x = outline_member(l->order, d);
    if (!l->index.i)
      continue;
    neo_expr at = difference(o, l->index, outline_number(o, x->delay));
    neo_expr part[2] = {neo_op2(m, NEO_OP_LE, outline_number(o, 0), at),
                        neo_op2(m, NEO_OP_LT, at, neo_def_axis(m, neo_def_at(m, d), x->axis)->hi)};
    for (int i = 0; i < 2; i++)
      if (!holds(o, part[i]))
        all = all.i ? neo_op2(m, NEO_OP_AND, all, part[i]) : part[i];
  }
  return all;
}

/* The rounds of the outermost loop that are around. */
static void note_rounds(const outliner *o, outline_instance *x) {
  const outline_around *l = o->around.n ? &o->around.at[0] : NULL;
  neo_facts none = {0};
  int64_t n = 1, least;
  if (!l)
    return;
  bool bounded = l->index.i || outline_distance(o, l->hi, l->lo, &n) ||
                 neo_interval(o->p, &none, neo_op2(o->m, NEO_OP_SUB, l->hi, l->lo), &least, &n);
  x->round = l->index.i ? l->index : l->lo;
  x->rounds = bounded && n > 0 ? n : -1;
}

outline_instance *outline_instance_of(outliner *o, neo_def d) {
  outline_instance *x = NEO_NEW(o->a, outline_instance);
  x->def = d;
  note_rounds(o, x);
  outline_note_level(o, x);
  x->when = condition(o, d);
  neo_expr *assume = NEO_NEW_ARRAY(o->a, neo_expr, o->assume.n + 1);
  for (size_t k = 0; k < o->assume.n; k++)
    assume[x->n_assume++] = o->assume.at[k];
  x->assume = assume;
  place_axes(o, x);
  place_def(o, x);
  outline_note_needed(o, x);
  return x;
}

/* ---- ranges of a loop or an axis */

typedef struct {
  neo_expr lo, hi;   /* lo <= x < hi, and empty where not lo < hi */
  neo_expr base;     /* a loop's index counts from here; 0: it is the round */
  neo_expr from, to; /* cuts without a limit to the range of all; 0: there is none */
} range;

typedef struct {
  neo_expr first, last; /* the last cut that is near the begin, the first near the end; 0: none */
  neo_expr other[MOST_RANGES]; /* in between, or not known where: in order */
  uint32_t n;
} chosen;

static void choose_other(const outliner *o, chosen *c, neo_expr cut) {
  int64_t x;
  uint32_t k = c->n;
  if (c->n == 3 || (c->n && !outline_distance(o, cut, c->other[0], &x)))
    return;
  for (; k > 0 && outline_distance(o, cut, c->other[k - 1], &x) && x < 0; k--)
    c->other[k] = c->other[k - 1];
  c->other[k] = cut;
  c->n++;
}

static chosen choose(const outliner *o, neo_expr lo, neo_expr hi, const neo_expr *cut, uint32_t n) {
  chosen c = {0};
  for (uint32_t k = 0; k < n; k++) {
    int64_t above, below, x;
    if (outline_at_most(o, cut[k], lo) || outline_at_most(o, hi, cut[k]))
      continue;
    bool near_lo = outline_distance(o, cut[k], lo, &above);
    bool near_hi = outline_distance(o, hi, cut[k], &below);
    if (near_lo && (!near_hi || above <= below)) {
      if (!c.first.i || (outline_distance(o, cut[k], c.first, &x) && x > 0))
        c.first = cut[k];
    } else if (near_hi) {
      if (!c.last.i || (outline_distance(o, cut[k], c.last, &x) && x < 0))
        c.last = cut[k];
    } else {
      choose_other(o, &c, cut[k]);
    }
  }
  return c;
}

/* The cut between the end of the range before it and `hi`. */
static neo_expr limited(const outliner *o, neo_expr before, neo_expr cut, neo_expr hi) {
  neo_expr x = outline_at_most(o, cut, hi) ? cut : neo_op2(o->m, NEO_OP_MIN, cut, hi);
  return outline_at_most(o, before, x) ? x : neo_op2(o->m, NEO_OP_MAX, before, x);
}

/* Cuts [lo, hi) into ranges that do not overlap, whatever the sizes are. Returns how many. */
static uint32_t ranges_of(const outliner *o, neo_expr lo, neo_expr hi, const neo_expr *cut,
                          uint32_t n_cuts, range *out) {
  chosen c = choose(o, lo, hi, cut, n_cuts);
  neo_expr all[MOST_RANGES];
  uint32_t n = 0;
  if (c.first.i)
    all[n++] = c.first;
  for (uint32_t k = 0; k < c.n; k++)
    all[n++] = c.other[k];
  if (c.last.i)
    all[n++] = c.last;
  out[0] = (range){.lo = lo};
  for (uint32_t k = 0; k < n; k++) {
    neo_expr at = limited(o, out[k].lo, all[k], hi);
    out[k].hi = at;
    out[k].to = all[k];
    out[k + 1] = (range){.lo = at, .from = all[k]};
  }
  out[n].hi = hi;
  return n + 1;
}

/* ---- definitions */

static bool is_empty(const outliner *o, const range *r) {
  return outline_at_most(o, r->hi, r->lo);
}

/* Adds a cut to the list, once. */
static uint32_t add_cut(neo_expr *cut, uint32_t n, uint32_t most, neo_expr at) {
  for (uint32_t k = 0; k < n; k++)
    if (cut[k].i == at.i)
      return n;
  if (n < most)
    cut[n++] = at;
  return n;
}

/* Has the instance only elements that nobody reads? They are those for which the condition of the definition's
 * select does not hold. */
static bool is_unread(outliner *o, const outline_instance *x) {
  neo_module *m = o->m;
  neo_def_rec d = *neo_def_at(m, x->def);
  neo_expr by[OUTLINE_AXES] = {{0}};
  if (!is_partial(o, x->def))
    return false;
  position_of(o, x, d.n_out, by);
  for (uint32_t k = 0; k < d.finish.n; k++) {
    neo_expr e = neo_list_expr(m, d.finish, k);
    if (neo_expr_node(m, e)->op != NEO_OP_SELECT)
      return false;
    neo_expr is = placed(o, by, d.n_out, neo_expr_arg(m, e, 0));
    neo_expr none = neo_op1(m, NEO_OP_NOT, outline_of_kind(o, outline_own_row(o, x), is));
    if (!outline_proved(o, x, d.n_out, none))
      return false;
  }
  return true;
}

/* Where the instance is cut along its axis. Definitions of partial tensors in a round are cut alike, so that
 * what one hands to another stays in a register. */
static uint32_t part_cuts(outliner *o, const outline_instance *x, uint32_t axis, neo_expr *cut,
                          uint32_t most) {
  uint32_t n = outline_cuts(o, &x->rec, axis, true, cut, most);
  const neo_order_step *loop = o->around.n ? o->around.at[o->around.n - 1].order : NULL;
  if (!is_partial(o, x->def))
    return n;
  for (uint32_t k = 0; loop && k < loop->n_members; k++) {
    neo_def d = loop->member[k].def;
    neo_expr other[MOST_CUTS];
    if (d.i == x->def.i || !is_partial(o, d) || neo_def_at(o->m, d)->n_out != x->rec.n_out)
      continue;
    uint32_t n_other =
        outline_cuts(o, &outline_instance_of(o, d)->rec, axis, true, other, MOST_CUTS);
    for (uint32_t i = 0; i < n_other; i++)
      n = add_cut(cut, n, most, other[i]);
  }
  return n;
}

/* Adds the instance, cut along its axes from `axis` on. */
static void add_parts(outliner *o, neo_trees *steps, outline_instance *x, uint32_t axis) {
  neo_expr cut[MOST_CUTS];
  range r[MOST_RANGES];
  uint32_t n = 0, n_out = x->rec.n_out;
  for (; axis < n_out && !n; axis++)
    if (!x->fixed[axis] && !x->rec.out_map.n)
      n = part_cuts(o, x, axis, cut, MOST_CUTS);
  if (!n) {
    if (!is_unread(o, x))
      outline_push(o, steps, x);
    return;
  }
  axis--;
  n = ranges_of(o, outline_number(o, 0), neo_def_axis(o->m, &x->rec, axis)->hi, cut, n, r);
  for (uint32_t k = 0; k < n; k++) {
    outline_instance *y = NEO_NEW(o->a, outline_instance);
    if (is_empty(o, &r[k]))
      continue;
    *y = *x;
    if (n > 1) {
      y->base[axis] = x->base[axis].i ? sum(o, x->base[axis], r[k].lo) : r[k].lo;
      y->extent[axis] = difference(o, r[k].hi, r[k].lo);
      place_def(o, y);
    }
    add_parts(o, steps, y, axis + 1);
  }
}

static void add_def(outliner *o, neo_trees *steps, neo_def d) {
  outline_instance *x = outline_instance_of(o, d);
  add_parts(o, steps, x, 0);
}

/* ---- loops */

/* Rounds at which a condition of a definition in the loop changes, or where it begins or ends. */
static uint32_t loop_cuts(outliner *o, const neo_order_step *order, neo_expr *cut, uint32_t most) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < order->n_members; k++) {
    neo_order_member d = order->member[k];
    neo_expr own[MOST_CUTS], delay = outline_number(o, d.delay);
    const outline_instance *x = outline_instance_of(o, d.def);
    uint32_t n_own = outline_cuts(o, &x->rec, d.axis, false, own, MOST_CUTS - 2);
    own[n_own++] = outline_number(o, 0);
    own[n_own++] = neo_def_axis(o->m, &x->rec, d.axis)->hi;
    for (uint32_t i = 0; i < n_own; i++) {
      neo_expr at = difference(o, sum(o, own[i], delay), outline_number(o, 0));
      n = add_cut(cut, n, most, at);
    }
  }
  return n;
}

typedef struct {
  outliner *o;
  const outline_around *range; /* of rounds */
  const outline_instance *x;
  bool carried;
} carry_look;

/* Is what is read of the definition `from` of the same round, or of none in the range? */
static bool is_outside(const carry_look *c, const neo_order_member *from, neo_expr read,
                       uint32_t n_axes) {
  const outliner *o = c->o;
  neo_module *m = o->m;
  const neo_order_member *to = outline_member(c->range->order, c->x->def);
  neo_expr here = sum(o, c->range->lo, neo_axis_ref(m, to->axis));
  neo_expr there = sum(o, neo_expr_arg(m, read, from->axis), outline_number(o, from->delay));
  int64_t x;
  if (outline_distance(o, there, here, &x) && x == 0)
    return true;
  return outline_proved(o, c->x, n_axes, neo_op2(m, NEO_OP_LT, there, c->range->lo)) ||
         outline_proved(o, c->x, n_axes, neo_op2(m, NEO_OP_LE, c->range->hi, there));
}

static void look_carried(void *ctx, neo_expr read, uint32_t n_axes) {
  carry_look *c = ctx;
  neo_module *m = c->o->m;
  neo_tensor t = {neo_expr_node(m, read)->attr};
  for (uint32_t k = 0; k < c->range->order->n_members && !c->carried; k++) {
    const neo_order_member *from = &c->range->order->member[k];
    neo_list out = neo_def_at(m, from->def)->out;
    for (uint32_t i = 0; i < out.n; i++)
      if (neo_list_at(m, out, i) == t.i)
        c->carried = c->carried || !is_outside(c, from, read, n_axes);
  }
}

/* Are the rounds of the range free of each other, and does every definition have them all? */
static bool is_free(outliner *o, const outline_around *l) {
  bool is = true;
  NEO_PUSH(o->a, &o->around, *l);
  for (uint32_t k = 0; k < l->order->n_members && is; k++) {
    neo_order_member d = l->order->member[k];
    neo_expr delay = outline_number(o, d.delay);
    neo_expr hi = neo_def_axis(o->m, neo_def_at(o->m, d.def), d.axis)->hi;
    is = !neo_def_at(o->m, d.def)->out_map.n && outline_at_most(o, delay, l->lo) &&
         outline_at_most(o, l->hi, sum(o, hi, delay));
    if (!is)
      break;
    carry_look c = {o, &o->around.at[o->around.n - 1], outline_instance_of(o, d.def), false};
    outline_reads(o, c.x, look_carried, &c);
    is = !c.carried;
  }
  o->around.n--;
  return is;
}

/* A size for the loop's index, in [lo, hi). */
neo_size outline_index_of(outliner *o, const neo_order_step *order, neo_expr from, neo_expr to) {
  neo_module *m = o->m;
  neo_facts facts = {NULL, 0, o->assume.at, (uint32_t)o->assume.n};
  const neo_order_member *x = &order->member[0];
  int64_t lo, hi, unused;
  unsigned depth = o->blocks;
  for (size_t k = 0; k < o->around.n; k++)
    depth += o->around.at[k].index.i != 0;
  (void)neo_interval(o->p, &facts, from, &lo, &unused);
  (void)neo_interval(o->p, &facts, to, &unused, &hi);
  return neo_size_add(m,
                      (neo_size_rec){.kind = NEO_SIZE_RUNTIME,
                                     .loop_index = true,
                                     .depth = (uint8_t)depth,
                                     .name = neo_def_axis(m, neo_def_at(m, x->def), x->axis)->name,
                                     .lo = lo,
                                     .hi = hi > lo ? hi - 1 : lo});
}

void outline_assume_between(outliner *o, neo_expr lo, neo_expr at, neo_expr hi) {
  NEO_PUSH(o->a, &o->assume, neo_op2(o->m, NEO_OP_LE, lo, at));
  NEO_PUSH(o->a, &o->assume, neo_op2(o->m, NEO_OP_LT, at, hi));
}

static void add_loop(outliner *o, neo_trees *steps, const neo_order_step *order, const range *r) {
  size_t n_assume = o->assume.n;
  neo_expr base = r->base.i ? r->base : outline_number(o, 0);
  neo_trees in = {0};
  neo_tree_band out = {
      .lo = difference(o, r->lo, base), .hi = difference(o, r->hi, base), .down = order->down};
  out.index = outline_index_of(o, order, out.lo, out.hi);
  neo_expr at = sum(o, base, neo_size_ref(o->m, out.index));
  outline_assume_between(o, r->from.i ? r->from : r->lo, at, r->to.i ? r->to : r->hi);
  NEO_PUSH(o->a, &o->around,
           (outline_around){.order = order, .index = at, .lo = r->lo, .hi = r->hi});
  outline_add_steps(o, &in, order);
  o->around.n--;
  o->assume.n = n_assume;
  outline_push_band(o, steps, out, &in);
}

void outline_add_rounds(outliner *o, neo_trees *steps, const neo_order_step *order, neo_expr lo,
                        neo_expr hi) {
  add_loop(o, steps, order, &(range){.lo = lo, .hi = hi});
}

/* ---- blocks of rounds */

typedef struct { /* a loop that is tiled */
  const neo_order_step *order;
  neo_order_step within; /* the loop without what is hoisted */
  const bool *hoisted;
  int64_t rounds; /* of a block */
} tiled;

static neo_expr times(const outliner *o, neo_expr a, int64_t n) {
  return neo_op2(o->m, NEO_OP_MUL, a, outline_number(o, n));
}

static neo_expr over(const outliner *o, neo_expr a, int64_t n) {
  return neo_op2(o->m, NEO_OP_DIV, a, outline_number(o, n));
}

static neo_expr at_least(const outliner *o, neo_expr a, neo_expr b) {
  return outline_at_most(o, b, a)   ? a
         : outline_at_most(o, a, b) ? b
                                    : neo_op2(o->m, NEO_OP_MAX, a, b);
}

static neo_expr at_most(const outliner *o, neo_expr a, neo_expr b) {
  return outline_at_most(o, a, b)   ? a
         : outline_at_most(o, b, a) ? b
                                    : neo_op2(o->m, NEO_OP_MIN, a, b);
}

/* A definition for all rounds of the range at once that it has positions in. */
static void add_at_once(outliner *o, neo_trees *steps, const tiled *t, const range *r, neo_def d) {
  outline_around at_once = {.order = t->order, .lo = r->lo, .hi = r->hi};
  const neo_order_member *x = outline_member(at_once.order, d);
  neo_expr first = outline_number(o, x->delay);
  neo_expr end = sum(o, first, neo_def_axis(o->m, neo_def_at(o->m, d), x->axis)->hi);
  at_once.lo = at_least(o, r->lo, first);
  at_once.hi = at_least(o, at_once.lo, at_most(o, r->hi, end));
  if (outline_at_most(o, at_once.hi, at_once.lo))
    return;
  NEO_PUSH(o->a, &o->around, at_once);
  add_def(o, steps, d);
  o->around.n--;
}

/* One block: what is hoisted for all of its rounds, then the rounds. */
static void add_block(outliner *o, neo_trees *steps, const tiled *t, const range *r) {
  if (is_empty(o, r))
    return;
  for (uint32_t k = 0; k < t->order->n_steps; k++)
    if (t->hoisted[k])
      add_at_once(o, steps, t, r, t->order->step[k].def);
  add_loop(o, steps, &t->within, r);
}

/* The blocks that are whole, in a loop over them. */
static void add_blocks(outliner *o, neo_trees *steps, const tiled *t, neo_expr lo, neo_expr hi) {
  neo_module *m = o->m;
  size_t n_assume = o->assume.n;
  if (outline_at_most(o, hi, lo))
    return;
  neo_trees in = {0};
  neo_tree_band out = {.index = outline_index_of(o, t->order, lo, hi), .lo = lo, .hi = hi};
  out.down = t->order->down;
  neo_expr at = neo_size_ref(m, out.index), first = times(o, at, t->rounds);
  outline_assume_between(o, lo, at, hi);
  o->blocks++;
  range r = {.lo = first, .hi = sum(o, first, outline_number(o, t->rounds)), .base = first};
  add_block(o, &in, t, &r);
  o->blocks--;
  o->assume.n = n_assume;
  outline_push_band(o, steps, out, &in);
}

/* Blocks begin at multiples of their rounds; those at the ends may be shorter. */
static void add_tiled(outliner *o, neo_trees *steps, const tiled *t, const range *r) {
  neo_module *m = o->m;
  neo_expr lo = over(o, sum(o, r->lo, outline_number(o, t->rounds - 1)), t->rounds);
  neo_expr hi = over(o, r->hi, t->rounds);
  neo_expr begin = times(o, lo, t->rounds), end = times(o, hi, t->rounds);
  range first = {.lo = r->lo,
                 .hi = outline_at_most(o, begin, r->hi) ? begin
                                                        : neo_op2(m, NEO_OP_MIN, begin, r->hi)};
  range last = {.lo = outline_at_most(o, begin, end) ? end : neo_op2(m, NEO_OP_MAX, first.hi, end),
                .hi = r->hi};
  add_block(o, steps, t, t->order->down ? &last : &first);
  add_blocks(o, steps, t, lo, hi);
  add_block(o, steps, t, t->order->down ? &first : &last);
}

/* Tiles the loop if something is hoisted out of blocks. */
static bool try_tiled(outliner *o, neo_trees *steps, const neo_order_step *order, const range *r) {
  bool *hoisted = NEO_NEW_ARRAY(o->a, bool, order->n_steps + 1);
  tiled t = {.order = order, .within = *order, .hoisted = hoisted};
  t.rounds = outline_block_of(o, order, hoisted);
  if (!t.rounds)
    return false;
  t.within.step = NEO_NEW_ARRAY(o->a, neo_order_step, order->n_steps);
  t.within.n_steps = 0;
  for (uint32_t k = 0; k < order->n_steps; k++)
    if (!hoisted[k])
      t.within.step[t.within.n_steps++] = order->step[k];
  add_tiled(o, steps, &t, r);
  return true;
}

static void add_range(outliner *o, neo_trees *steps, const neo_order_step *order, const range *r) {
  outline_around at_once = {.order = order, .lo = r->lo, .hi = r->hi};
  if (is_empty(o, r))
    return;
  if (!is_free(o, &at_once)) {
    if (!try_tiled(o, steps, order, r))
      add_loop(o, steps, order, r);
    return;
  }
  NEO_PUSH(o->a, &o->around, at_once);
  outline_add_steps(o, steps, order);
  o->around.n--;
}

static uint32_t loop_ranges(outliner *o, const neo_order_step *order, range *r) {
  neo_expr cut[4 * MOST_CUTS], lo, hi;
  neo_order_rounds(o->m, order, &lo, &hi);
  uint32_t n = loop_cuts(o, order, cut, 4 * MOST_CUTS);
  return ranges_of(o, lo, hi, cut, n, r);
}

static void add_loops(outliner *o, neo_trees *steps, const neo_order_step *order) {
  range r[MOST_RANGES];
  bool leads;
  neo_tensor blocks = outline_blocks_of(o, order, &leads);
  if (blocks.i) {
    outline_add_blocks(o, steps, order, blocks, leads);
    return;
  }
  uint32_t n = loop_ranges(o, order, r);
  for (uint32_t k = 0; k < n; k++)
    add_range(o, steps, order, &r[order->down ? n - 1 - k : k]);
}

void outline_add_steps(outliner *o, neo_trees *steps, const neo_order_step *order) {
  for (uint32_t k = 0; k < order->n_steps; k++)
    if (order->step[k].def.i)
      add_def(o, steps, order->step[k].def);
    else
      add_loops(o, steps, &order->step[k]);
}

/* ---- blocks of rounds that others lead */

/* The rounds of range r that are in the block. */
static range in_block(const outliner *o, const range *r, const range *block) {
  neo_module *m = o->m;
  neo_expr none = outline_number(o, 0), above = difference(o, r->lo, block->lo);
  neo_expr below = difference(o, r->hi, block->lo), all = difference(o, block->hi, block->lo);
  range x = {.base = block->lo, .from = r->from.i ? r->from : r->lo, .to = r->to.i ? r->to : r->hi};
  x.lo =
      sum(o, x.base, outline_at_most(o, above, none) ? none : neo_op2(m, NEO_OP_MAX, none, above));
  x.hi = sum(o, x.base, outline_at_most(o, all, below) ? all : neo_op2(m, NEO_OP_MIN, all, below));
  return x;
}

/* A block: what leads it, for all of its rounds at once, then the rounds. */
static void add_led_block(outliner *o, neo_trees *steps, const neo_order_step *order,
                          const range *block, const range *r, uint32_t n) {
  NEO_PUSH(o->a, &o->around, (outline_around){.order = order, .lo = block->lo, .hi = block->hi});
  for (size_t k = 0; k < o->n_lead; k++)
    add_def(o, steps, o->lead[k]);
  o->around.n--;
  for (uint32_t k = 0; k < n; k++) {
    range x = in_block(o, &r[order->down ? n - 1 - k : k], block);
    add_loop(o, steps, order, &x);
  }
}

/* One loop over the blocks. The last one may be shorter: its ranges end where all rounds do. */
static void add_led(outliner *o, neo_trees *steps, const neo_order_step *order, const range *r,
                    uint32_t n) {
  size_t n_assume = o->assume.n;
  neo_expr none = outline_number(o, 0), rounds = outline_number(o, o->lead_rounds);
  neo_expr end = r[n - 1].hi;
  neo_trees in = {0};
  neo_tree_band out = {.lo = none, .down = order->down};
  out.hi = over(o, sum(o, end, outline_number(o, o->lead_rounds - 1)), o->lead_rounds);
  out.index = outline_index_of(o, order, out.lo, out.hi);
  neo_expr at = neo_size_ref(o->m, out.index), first = times(o, at, o->lead_rounds);
  outline_assume_between(o, none, at, out.hi);
  NEO_PUSH(o->a, &o->assume, neo_op2(o->m, NEO_OP_LT, first, end));
  neo_expr rest = difference(o, end, first);
  if (!outline_at_most(o, rounds, rest))
    rounds = neo_op2(o->m, NEO_OP_MIN, rounds, rest);
  range block = {.lo = first, .hi = sum(o, first, rounds)};
  o->blocks++;
  add_led_block(o, &in, order, &block, r, n);
  o->blocks--;
  o->assume.n = n_assume;
  outline_push_band(o, steps, out, &in);
}

/* Are there ranges of several rounds that need no loop? They are worth more at once than in blocks. */
static bool has_free_rounds(outliner *o, const neo_order_step *order, const range *r, uint32_t n) {
  int64_t rounds;
  for (uint32_t k = 0; k < n; k++) {
    outline_around at_once = {.order = order, .lo = r[k].lo, .hi = r[k].hi};
    bool one = outline_distance(o, r[k].hi, r[k].lo, &rounds) && rounds <= 1;
    if (!one && !is_empty(o, &r[k]) && is_free(o, &at_once))
      return true;
  }
  return false;
}

neo_trees outline_place(outliner *o, const neo_order_step *order) {
  neo_trees out = {0};
  range r[MOST_RANGES];
  bool leads, in_blocks = outline_blocks_of(o, order, &leads).i;
  uint32_t n = o->lead_rounds && !in_blocks ? loop_ranges(o, order, r) : 0;
  bool *hoisted = NEO_NEW_ARRAY(o->a, bool, order->n_steps + 1);
  if (n && !has_free_rounds(o, order, r, n) && !outline_block_of(o, order, hoisted)) {
    add_led(o, &out, order, r, n);
    return out;
  }
  o->lead_rounds = 0;
  for (size_t k = 0; k < o->n_lead && !o->lead_in_blocks; k++)
    add_def(o, &out, o->lead[k]);
  outline_begin_sums(o, &out);
  add_loops(o, &out, order);
  return out;
}

void outline_place_behind(outliner *o, neo_trees *steps, neo_def d) {
  add_def(o, steps, d);
}

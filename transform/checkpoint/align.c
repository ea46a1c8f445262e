/* Alignment of definitions with iterations: which definitions run along them. These are recurrences
 * whose reads of each other are a few iterations apart, readers of the same iteration, sums over
 * the iterations, and producers that all of these read in the same iteration. A recurrence that
 * restarts in each iteration is aligned, as a reader or a producer, as a whole. */
#include "ir/out_map.h"
#include "transform/checkpoint/parts.h"

neo_expr checkpoint_number(const checkpoints *c, int64_t x) {
  return neo_const_i64(c->m, x);
}

neo_expr checkpoint_sum(const checkpoints *c, neo_expr a, int64_t by) {
  return neo_linear_form(c->m, neo_op2(c->m, NEO_OP_ADD, a, checkpoint_number(c, by)));
}

uint32_t checkpoint_maker(const checkpoints *c, uint32_t tensor) {
  neo_list pieces = neo_tensor_at(c->m, (neo_tensor){tensor})->pieces;
  if (tensor >= c->n_tensors || pieces.n != 1)
    return 0;
  uint32_t d = neo_list_at(c->m, pieces, 0);
  return d < c->n_defs && c->def[d].needed ? d : 0;
}

bool checkpoint_is_offset(const checkpoints *c, neo_expr e, uint32_t *axis, int64_t *offset) {
  neo_linear l;
  if (!neo_linear_of(c->m, e, &l) || l.n != 1 || l.term[0].coef != 1 ||
      neo_expr_node(c->m, l.term[0].atom)->op != NEO_OP_AXIS)
    return false;
  *axis = neo_expr_node(c->m, l.term[0].atom)->attr;
  *offset = l.constant;
  return l.constant >= -CHECKPOINT_MOST_LAG && l.constant <= CHECKPOINT_MOST_LAG;
}

bool checkpoint_is_over_sizes(const neo_module *m, neo_expr e) {
  return !neo_expr_axes(m, e) && !neo_expr_has_loads(m, e);
}

/* ---- candidates */

/* May elements beyond the last iteration be 0? */
static bool may_be_zero(const checkpoints *c, const neo_tensor_rec *t) {
  int64_t lo = 1, hi;
  return !t->bound.i || (neo_interval(c->p, NULL, t->bound, &lo, &hi) && lo >= 1);
}

static bool is_plain(const checkpoints *c, const neo_def_rec *d) {
  bool is =
      !d->out_map.n && d->chunk_loop == c->within && !d->inner_loop && d->axes.n <= CHECKPOINT_AXES;
  for (uint32_t k = 0; k < d->out.n && is; k++) {
    const neo_tensor_rec *t = neo_tensor_at(c->m, neo_list_tensor(c->m, d->out, k));
    is = t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && may_be_zero(c, t) && !t->partial;
  }
  return is;
}

static bool has_iterations(const checkpoints *c, const neo_def_rec *d, uint32_t axis) {
  return axis < d->n_out && d->n_out <= CHECKPOINT_RANK &&
         neo_def_axis(c->m, d, axis)->hi.i == c->iterations.i && is_plain(c, d);
}

/* ---- reads of aligned definitions */

typedef struct {
  checkpoints *c;
  uint32_t number; /* only reads of this recurrence; 0: all */
  uint32_t axis;   /* UINT32_MAX: not known yet */
  bool good, reads;
  int64_t lag;
} align_look;

static void look_aligned(void *ctx, neo_expr e) {
  align_look *l = ctx;
  checkpoints *c = l->c;
  const neo_node *n = neo_expr_node(c->m, e);
  if (!neo_node_is_load(n))
    return;
  uint32_t d = checkpoint_maker(c, n->attr), axis;
  int64_t offset;
  if (!d || c->def[d].kind != CHECKPOINT_RUNS || (l->number && c->def[d].number != l->number) ||
      checkpoint_crosses(c, e, neo_axis_ref(c->m, 0)))
    return;
  l->reads = true;
  l->good = l->good &&
            checkpoint_is_offset(c, neo_expr_arg(c->m, e, c->def[d].axis), &axis, &offset) &&
            (l->axis == UINT32_MAX || l->axis == axis);
  if (!l->good)
    return;
  l->axis = axis;
  offset = offset < 0 ? -offset : offset;
  l->lag = offset > l->lag ? offset : l->lag;
}

/* ---- recurrences */

static void forget(checkpoints *c, const uint32_t *own, size_t n) {
  for (size_t k = 0; k < n; k++) {
    c->def[own[k]].kind = CHECKPOINT_WHOLE;
    c->def[own[k]].carried = false;
  }
}

/* The end of the definition or recurrence that begins at order[from]. */
static size_t end_of(const checkpoints *c, size_t from) {
  uint32_t number = c->def[c->order[from]].number;
  size_t end = from + 1;
  while (number && end < c->n_order && c->def[c->order[end]].number == number)
    end++;
  return end;
}

static void align_recurrence(checkpoints *c, const uint32_t *own, size_t n) {
  neo_def *defs = NEO_NEW_ARRAY(c->a, neo_def, n);
  uint32_t number = c->def[own[0]].number;
  neo_order_step loop;
  for (size_t k = 0; k < n; k++)
    defs[k].i = own[k];
  if (c->within)
    loop = *c->step[number];
  else if (!neo_order_find(c->p, defs, n, c->a, &loop, NULL))
    return;
  bool good = true;
  for (uint32_t k = 0; k < loop.n_members && good; k++) {
    const neo_order_member *x = &loop.member[k];
    good = !x->delay && has_iterations(c, neo_def_at(c->m, x->def), x->axis);
    c->def[x->def.i].carried = true;
    c->def[x->def.i].kind = CHECKPOINT_RUNS;
    c->def[x->def.i].axis = x->axis;
  }
  int64_t lag = c->lag;
  for (size_t k = 0; k < n && good; k++) {
    align_look l = {c, number, c->def[own[k]].axis, true, false, lag};
    neo_def_visit(c->m, defs[k], look_aligned, &l);
    good = l.good;
    lag = l.lag;
  }
  if (!good)
    forget(c, own, n);
  c->lag = good ? lag : c->lag;
  c->down[number] = loop.down;
}

/* ---- recurrences within an iteration */

/* Gives axes to definitions that read aligned ones, or each other. Returns how many have one. */
static size_t find_axes(checkpoints *c, const uint32_t *own, size_t n) {
  size_t known = 0, before;
  do {
    before = known;
    for (size_t k = 0; k < n; k++) {
      checkpoint_def *x = &c->def[own[k]];
      align_look l = {c, 0, UINT32_MAX, true, false, 0};
      neo_def_visit(c->m, (neo_def){own[k]}, look_aligned, &l);
      if (x->kind || !l.reads || !l.good ||
          !has_iterations(c, neo_def_at(c->m, (neo_def){own[k]}), l.axis))
        continue;
      x->kind = CHECKPOINT_RUNS;
      x->axis = l.axis;
      known++;
    }
  } while (known != before);
  return known;
}

/* Aligns the definitions if they read each other only in the same iteration, and aligned
 * definitions by their axes. */
static void align_within(checkpoints *c, const uint32_t *own, size_t n) {
  bool good = find_axes(c, own, n) == n;
  int64_t lag = c->lag;
  for (size_t k = 0; k < n && good; k++) {
    const checkpoint_def *x = &c->def[own[k]];
    align_look each = {c, x->number, x->axis, true, false, 0},
               all = {c, 0, x->axis, true, false, lag};
    neo_def_visit(c->m, (neo_def){own[k]}, look_aligned, &each);
    neo_def_visit(c->m, (neo_def){own[k]}, look_aligned, &all);
    good = each.good && !each.lag && all.good;
    lag = all.lag;
  }
  if (!good)
    forget(c, own, n);
  c->lag = good ? lag : c->lag;
}

/* ---- others */

static bool is_free_of_reductions(const checkpoints *c, const neo_def_rec *d, neo_expr e) {
  return !(neo_expr_axes(c->m, e) >> d->n_out) && !neo_expr_has_loads(c->m, e);
}

/* Are all terms of the sum in iterations? Reads with an `else` may be beyond them. */
static bool is_within_iterations(const checkpoints *c, const neo_def_rec *d, uint32_t axis) {
  neo_axis_rec axes[CHECKPOINT_AXES];
  for (uint32_t k = 0; k < d->axes.n; k++)
    axes[k] = *neo_def_axis(c->m, d, k);
  neo_facts facts = {.axes = axes, .n_axes = d->n_out};
  neo_expr from = neo_op2(c->m, NEO_OP_LE, checkpoint_number(c, 0), axes[axis].lo);
  neo_expr to = neo_op2(c->m, NEO_OP_LE, axes[axis].hi, c->iterations);
  return neo_proves(c->p, &facts, from) && neo_proves(c->p, &facts, to);
}

/* Can the sum be accumulated chunk by chunk? Narrow sums are rounded only at the end. A sum over an
 * equation of data has few terms in a chunk but all results, and would compute them in each. */
static bool is_sum(const checkpoints *c, const neo_def_rec *d, uint32_t axis) {
  neo_module *m = c->m;
  bool mean = d->reducer == NEO_RED_MEAN;
  if ((d->reducer != NEO_RED_SUM && !mean) || d->body.n != 1 || d->out_map.n ||
      d->chunk_loop != c->within || d->out.n != 1 || d->axes.n > CHECKPOINT_AXES ||
      d->n_out > CHECKPOINT_RANK || (mean && d->where.i) ||
      (d->where.i && neo_expr_uses_op(m, d->where, NEO_OP_EQ)))
    return false;
  neo_type type = neo_expr_type(m, neo_list_expr(m, d->body, 0));
  bool is = type == NEO_F32_T || type == NEO_F64_T;
  for (uint32_t k = d->n_out; k < d->axes.n && is; k++) {
    const neo_axis_rec *x = neo_def_axis(m, d, k);
    is = is_free_of_reductions(c, d, x->lo) && is_free_of_reductions(c, d, x->hi);
    int64_t lo;
    if (mean) /* a mean's terms are counted */
      is = is && neo_expr_is_int(m, x->lo, &lo) && lo == 0 && !neo_expr_axes(m, x->hi);
  }
  return is && axis >= d->n_out && is_within_iterations(c, d, axis) &&
         !(neo_expr_accs(m, neo_list_expr(m, d->finish, 0)) & ~1ULL);
}

static void align_reader(checkpoints *c, uint32_t id) {
  neo_def_rec d = *neo_def_at(c->m, (neo_def){id});
  checkpoint_def *x = &c->def[id];
  align_look l = {c, 0, UINT32_MAX, true, false, c->lag};
  neo_def_visit(c->m, (neo_def){id}, look_aligned, &l);
  x->reads_aligned = l.reads;
  if (x->number || !l.reads || !l.good)
    return;
  x->axis = l.axis;
  if (has_iterations(c, &d, l.axis))
    x->kind = CHECKPOINT_RUNS;
  else if (is_sum(c, &d, l.axis))
    x->kind = CHECKPOINT_SUM;
  c->lag = x->kind ? l.lag : c->lag;
}

/* ---- producers */

typedef struct {
  checkpoints *c;
  uint32_t number; /* only reads of this recurrence; 0: of definitions without a kind */
  uint32_t axis;   /* axis of the reader */
  uint32_t *along; /* by definition: its axis + 1; 0: no reader yet; UINT32_MAX: no axis */
} feed_look;

static void look_feeds(void *ctx, neo_expr e) {
  feed_look *l = ctx;
  checkpoints *c = l->c;
  const neo_node *n = neo_expr_node(c->m, e);
  uint32_t d = neo_node_is_load(n) ? checkpoint_maker(c, n->attr) : 0, axis, found = UINT32_MAX;
  if (!d || (l->number ? c->def[d].number != l->number : c->def[d].kind))
    return;
  int64_t offset;
  const neo_def_rec *r = neo_def_at(c->m, (neo_def){d});
  for (uint32_t k = 0; k < neo_tensor_rank(c->m, (neo_tensor){n->attr}); k++)
    if (has_iterations(c, r, k) &&
        checkpoint_is_offset(c, neo_expr_arg(c->m, e, k), &axis, &offset) && axis == l->axis &&
        !offset && !checkpoint_crosses(c, e, neo_axis_ref(c->m, 0)))
      found = k + 1;
  l->along[d] = !l->along[d] || l->along[d] == found ? found : UINT32_MAX;
}

/* Is each of the definitions, one or a recurrence, read along one axis? */
static bool are_feeds(checkpoints *c, const uint32_t *own, size_t n, uint32_t *along) {
  size_t known = 0, before;
  do {
    before = known;
    known = 0;
    for (size_t k = 0; k < n; k++) {
      checkpoint_def *x = &c->def[own[k]];
      feed_look l = {c, x->number, along[own[k]] - 1, along};
      if (x->reads_aligned || x->wanted || !along[own[k]] || along[own[k]] == UINT32_MAX)
        continue;
      known++;
      if (x->number)
        neo_def_visit(c->m, (neo_def){own[k]}, look_feeds, &l);
    }
  } while (known != before);
  return known == n;
}

/* Aligns producers, readers first. */
static void align_feeds(checkpoints *c) {
  uint32_t *along = NEO_NEW_ARRAY(c->a, uint32_t, c->n_defs);
  for (size_t end = c->n_order, from; end > 0; end = from) {
    const uint32_t *own = c->order;
    for (from = end - 1; from && end_of(c, from - 1) == end; from--)
      continue;
    own += from;
    bool feeds = !c->def[*own].kind && are_feeds(c, own, end - from, along);
    for (size_t k = 0; k < end - from; k++) {
      checkpoint_def *x = &c->def[own[k]];
      x->axis = feeds ? along[own[k]] - 1 : x->axis;
      x->kind = feeds ? CHECKPOINT_RUNS : x->kind;
      feed_look l = {c, 0, x->axis, along};
      if (x->kind)
        neo_def_visit(c->m, (neo_def){own[k]}, look_feeds, &l);
    }
  }
}

/* ---- all of them */

bool checkpoint_align(checkpoints *c) {
  bool some = false;
  for (size_t k = 0; k < c->n_order; k = end_of(c, k))
    if (c->def[c->order[k]].number)
      align_recurrence(c, c->order + k, end_of(c, k) - k);
  for (size_t k = 0, end; k < c->n_order; k = end) {
    end = end_of(c, k);
    if (c->def[c->order[k]].number && !c->def[c->order[k]].kind)
      align_within(c, c->order + k, end - k);
    for (size_t i = k; i < end; i++) {
      align_reader(c, c->order[i]);
      some = some || c->def[c->order[i]].carried;
    }
  }
  if (some)
    align_feeds(c);
  return some;
}

/* Counterexamples by evaluation. Axis bounds, assumptions and the goal become one list of nodes, in
 * an order in which the bounds of axis k come before all uses of the axis; running the list chooses
 * a value for each axis between its bounds at this point. Values are three-valued: a value that
 * depends on a tensor's element is unknown, and a point counts only if it is known to be in the
 * domain and known to violate the goal. So a witness certainly exists. A small domain is
 * enumerated, which decides also questions that no other method can. */
#include "ir/interp/interp.h"
#include "ir/prove/scope.h"
#include <assert.h>

enum {
  MAX_SIZES = 32, /* as many as a neo_witness has */
  MAX_DERIVED = 256,
  RANDOM_POINTS = 24,
  MAX_NODES = 20000,
  MAX_POINTS = 4096
};

typedef enum { LOW, HIGH, RANDOM, GIVEN } choice;

typedef struct {
  bool known;
  int64_t x;
} value3;

typedef struct {
  uint32_t epoch, place; /* the node is at position `place` in list number `epoch` */
} listed;

/* One per module, reused: `place` is as long as the module's table of expressions. */
struct neo_witness_search {
  neo_prover_scope *s;
  neo_module *m;
  neo_expr goal;
  bool want, usable, shared;
  NEO_VEC(uint32_t) nodes;
  NEO_VEC(value3) at;             /* their values */
  NEO_VEC(listed) place;          /* by expression: its position in the list */
  uint32_t epoch;                 /* number of the present list */
  uint32_t segment[NEO_DEF_AXES]; /* segment[k]: number of nodes before those that need axis k */
  uint32_t n_sizes, size[MAX_SIZES];
  uint64_t random;
  uint32_t unknown; /* points of the domain where the goal was not known */
  uint32_t points;  /* tried by enumeration, ranges without one too */
};

/* ---- the list */

static bool is_listed(const neo_witness_search *t, uint32_t e) {
  return e < t->place.n && t->place.at[e].epoch == t->epoch;
}

static void add(neo_witness_search *t, neo_expr e);

static void collect(void *ctx, neo_expr e) {
  neo_witness_search *t = ctx;
  neo_arena *a = t->m->arena;
  const neo_node *n = neo_expr_node(t->m, e);
  if (is_listed(t, e.i))
    return;
  if (n->op == NEO_OP_SIZE) {
    const neo_size_rec *size = neo_size_at(t->m, (neo_size){n->attr});
    if (size->kind == NEO_SIZE_DERIVED)
      add(t, size->value);
    else if (t->n_sizes < MAX_SIZES)
      t->size[t->n_sizes++] = n->attr;
  }
  while (t->place.n <= e.i)
    NEO_PUSH(a, &t->place, (listed){0});
  t->place.at[e.i] = (listed){t->epoch, (uint32_t)t->nodes.n};
  NEO_PUSH(a, &t->nodes, e.i);
  if (t->at.n < t->nodes.n)
    NEO_PUSH(a, &t->at, (value3){0});
}

static void add(neo_witness_search *t, neo_expr e) {
  neo_expr_visit(t->m, e, collect, t);
}

static void note_shared(void *ctx, neo_expr e) {
  neo_witness_search *t = ctx;
  if (neo_expr_node(t->m, e)->op == NEO_OP_SIZE && is_listed(t, e.i))
    t->shared = true;
}

/* Lists the derived sizes that depend on a listed size, and the sizes that they need: a point
 * counts only if every derived size has its declared value. False if they are too many. */
static bool add_derived(neo_witness_search *t) {
  uint32_t before, looked = 0;
  do {
    before = (uint32_t)t->nodes.n;
    for (uint32_t k = 1; k < t->m->sizes.n && looked < MAX_DERIVED; k++) {
      if (t->m->sizes.at[k].kind != NEO_SIZE_DERIVED)
        continue;
      neo_expr e = neo_size_ref(t->m, (neo_size){k});
      if (is_listed(t, e.i))
        continue;
      looked++;
      t->shared = false;
      neo_expr_visit(t->m, t->m->sizes.at[k].value, note_shared, t);
      if (t->shared)
        add(t, e);
    }
  } while (t->nodes.n > before);
  return looked < MAX_DERIVED;
}

neo_witness_search *neo_witness_search_new(neo_prover_scope *s, neo_expr e, bool value) {
  neo_witness_search **kept = neo_proofs_trial(s->m);
  if (!*kept)
    *kept = NEO_NEW(s->m->arena, neo_witness_search);
  neo_witness_search *t = *kept;
  t->s = s;
  t->m = s->m;
  t->goal = e;
  t->want = value;
  t->random = 1;
  t->nodes.n = t->n_sizes = t->unknown = 0;
  t->epoch++;
  for (uint32_t k = 0; k < s->n_axes; k++) {
    add(t, s->axes[k].lo);
    add(t, s->axes[k].hi);
    t->segment[k] = (uint32_t)t->nodes.n;
  }
  for (uint32_t k = 0; k < s->n_assume; k++)
    add(t, s->assume[k]);
  add(t, e);
  t->usable = add_derived(t) && t->nodes.n <= MAX_NODES;
  return t;
}

int neo_witness_search_size(const neo_witness_search *t, uint32_t size) {
  for (uint32_t k = 0; k < t->n_sizes; k++)
    if (t->size[k] == size)
      return (int)k;
  return -1;
}

/* ---- one node */

static value3 look(const neo_witness_search *t, neo_expr e) {
  assert(is_listed(t, e.i));
  return t->at.at[t->place.at[e.i].place];
}

static value3 eval_size(const neo_witness_search *t, uint32_t id, const neo_witness *w) {
  const neo_size_rec *size = neo_size_at(t->m, (neo_size){id});
  if (size->kind == NEO_SIZE_DERIVED)
    return look(t, size->value);
  int k = neo_witness_search_size(t, id);
  return k < 0 ? (value3){false, 0} : (value3){true, w->size[k].value};
}

/* Unknown arguments do not matter where the others decide. */
static value3 eval_lazy(neo_op op, const value3 *v) {
  if (op == NEO_OP_SELECT)
    return v[0].known ? v[v[0].x ? 1 : 2] : (value3){false, 0};
  bool absorbing = op == NEO_OP_OR;
  for (int k = 0; k < 2; k++)
    if (v[k].known && (v[k].x != 0) == absorbing)
      return (value3){true, absorbing};
  return (value3){v[0].known && v[1].known, !absorbing};
}

static value3 eval_op(const neo_witness_search *t, const neo_node *n) {
  value3 v[3];
  neo_value x[3];
  bool known = true;
  if (n->arg.n == 0 || n->arg.n > 3 || !neo_op_is_elementwise((neo_op)n->op))
    return (value3){0};
  for (uint32_t k = 0; k < n->arg.n; k++) {
    v[k] = look(t, neo_list_expr(t->m, n->arg, k));
    known = known && v[k].known;
    x[k].i = v[k].x;
  }
  if (n->op == NEO_OP_SELECT || n->op == NEO_OP_AND || n->op == NEO_OP_OR)
    return eval_lazy((neo_op)n->op, v);
  if (!known)
    return (value3){0};
  neo_type arg = neo_expr_type(t->m, neo_list_expr(t->m, n->arg, 0));
  return (value3){true, neo_value_op((neo_op)n->op, (neo_type)n->type, arg, x).i};
}

static value3 eval_node(const neo_witness_search *t, neo_expr e, const neo_witness *w) {
  const neo_node *n = neo_expr_node(t->m, e);
  int64_t c;
  if (neo_type_is_float((neo_type)n->type))
    return (value3){0};
  if (neo_expr_is_int(t->m, e, &c))
    return (value3){true, c};
  if (n->op == NEO_OP_AXIS && n->attr < w->n_axes)
    return (value3){true, w->axis[n->attr]};
  if (n->op == NEO_OP_SIZE)
    return eval_size(t, n->attr, w);
  return eval_op(t, n);
}

/* ---- one point */

static void run_to(neo_witness_search *t, uint32_t *from, uint32_t to, const neo_witness *w) {
  for (; *from < to; ++*from)
    t->at.at[*from] = eval_node(t, (neo_expr){t->nodes.at[*from]}, w);
}

/* A value between lo and hi (inclusive), by the choice; false if there is none. */
static bool choose(neo_witness_search *t, choice how, int64_t lo, int64_t hi, int64_t *x) {
  if (lo > hi)
    return false;
  if (how == LOW)
    *x = lo;
  if (how == HIGH)
    *x = hi;
  if (how == RANDOM) {
    uint64_t n = (uint64_t)hi - (uint64_t)lo + 1;
    t->random = t->random * 6364136223846793005U + 1442695040888963407U;
    *x = (int64_t)((uint64_t)lo + (n ? (t->random >> 20) % n : t->random));
  }
  return lo <= *x && *x <= hi;
}

static bool choose_sizes(neo_witness_search *t, choice how, neo_witness *w) {
  for (uint32_t k = 0; k < t->n_sizes; k++) {
    const neo_size_rec *size = neo_size_at(t->m, (neo_size){t->size[k]});
    w->size[k].size = (neo_size){t->size[k]};
    if (!choose(t, how, size->lo, size->hi, &w->size[k].value))
      return false;
  }
  w->n_sizes = t->n_sizes;
  return true;
}

static value3 both(value3 a, value3 b) {
  return eval_lazy(NEO_OP_AND, (value3[]){a, b});
}

/* Whether all sizes are within their declared bounds. */
static value3 sizes_hold(const neo_witness_search *t) {
  value3 all = {true, 1};
  for (uint32_t k = 0; k < t->nodes.n; k++) {
    const neo_node *n = neo_expr_node(t->m, (neo_expr){t->nodes.at[k]});
    if (n->op != NEO_OP_SIZE)
      continue;
    const neo_size_rec *size = neo_size_at(t->m, (neo_size){n->attr});
    value3 x = t->at.at[k];
    all = both(all, (value3){x.known, x.x >= size->lo && x.x <= size->hi});
  }
  return all;
}

/* Whether the point, which is within the ranges of its axes, satisfies the assumptions. */
static value3 holds(const neo_witness_search *t) {
  value3 all = sizes_hold(t);
  for (uint32_t k = 0; k < t->s->n_assume; k++)
    all = both(all, look(t, t->s->assume[k]));
  return all;
}

/* Is the point with axes chosen by `how[k]` a witness? Fills w. */
static bool run(neo_witness_search *t, choice sizes, const choice *how, neo_witness *w) {
  uint32_t from = 0;
  w->n_axes = t->s->n_axes;
  if (!choose_sizes(t, sizes, w))
    return false;
  for (uint32_t k = 0; k < t->s->n_axes; k++) {
    run_to(t, &from, t->segment[k], w);
    value3 lo = look(t, t->s->axes[k].lo), hi = look(t, t->s->axes[k].hi);
    if (!lo.known || !hi.known || hi.x == INT64_MIN)
      return false;
    if (!choose(t, how[k], lo.x, hi.x - 1, &w->axis[k]))
      return false;
  }
  run_to(t, &from, (uint32_t)t->nodes.n, w);
  value3 inside = holds(t);
  if (!inside.known || !inside.x)
    return false;
  value3 goal = look(t, t->goal);
  t->unknown += !goal.known;
  return goal.known && (goal.x != 0) != t->want;
}

static void fill(choice *how, uint32_t n, choice c) {
  for (uint32_t k = 0; k < n; k++)
    how[k] = c;
}

bool neo_witness_search_check(neo_witness_search *t, uint64_t given, neo_witness *w) {
  choice how[NEO_DEF_AXES];
  for (uint32_t k = 0; k < t->s->n_axes; k++)
    how[k] = given >> k & 1 ? GIVEN : LOW;
  return t->usable && run(t, GIVEN, how, w);
}

static bool stays(neo_witness_search *t, neo_witness *w) {
  return neo_witness_search_check(t, UINT64_MAX, w);
}

void neo_witness_search_start(const neo_witness_search *t, neo_witness *w) {
  *w = (neo_witness){.n_axes = t->s->n_axes, .n_sizes = t->n_sizes};
  for (uint32_t k = 0; k < t->n_sizes; k++)
    w->size[k].value = neo_size_at(t->m, (neo_size){t->size[k]})->lo;
}

/* ---- smaller */

/* Lowers one coordinate to the least value at which the point is still a witness, by bisection:
 * whether it is one is taken for monotone in the coordinate. */
static void shrink_one(neo_witness_search *t, neo_witness *w, int64_t *x, int64_t least) {
  int64_t good = *x, bad = least - 1;
  while (good - bad > 1 && least <= good) {
    *x = bad < least ? least : bad + (good - bad) / 2;
    if (stays(t, w))
      good = *x;
    else
      bad = *x;
  }
  *x = good;
}

void neo_witness_search_shrink(neo_witness_search *t, neo_witness *w) {
  stays(t, w);
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t k = 0; k < w->n_axes; k++) {
      value3 lo = look(t, t->s->axes[k].lo);
      if (lo.known && lo.x > INT64_MIN / 2)
        shrink_one(t, w, &w->axis[k], lo.x);
      stays(t, w); /* bounds of the next axis at the new point */
    }
    for (uint32_t k = 0; k < w->n_sizes; k++)
      shrink_one(t, w, &w->size[k].value, neo_size_at(t->m, w->size[k].size)->lo);
  }
}

/* ---- search */

/* Tries the corners at which all axes are low, all are high, or one differs from the others. */
static bool try_corners(neo_witness_search *t, choice sizes, neo_witness *w) {
  choice how[NEO_DEF_AXES];
  uint32_t n = t->s->n_axes;
  for (int c = LOW; c <= HIGH; c++) {
    fill(how, n, (choice)c);
    if (run(t, sizes, how, w))
      return true;
    if (t->unknown > 3)
      return false;
  }
  for (uint32_t k = 0; n > 1 && k < 2 * n && t->unknown <= 3; k++) {
    fill(how, n, k < n ? LOW : HIGH);
    how[k % n] = k < n ? HIGH : LOW;
    if (run(t, sizes, how, w))
      return true;
  }
  return false;
}

static bool try_inside(neo_witness_search *t, neo_witness *w) {
  choice how[NEO_DEF_AXES];
  fill(how, t->s->n_axes, RANDOM);
  for (int k = 0; k < RANDOM_POINTS && t->unknown <= 3; k++)
    if (run(t, k % 3 ? RANDOM : HIGH, how, w))
      return true;
  return false;
}

bool neo_witness_search_points(neo_witness_search *t, neo_witness *w) {
  *w = (neo_witness){0};
  if (!t->usable)
    return false;
  bool found =
      try_corners(t, LOW, w) || (t->n_sizes && try_corners(t, HIGH, w)) || try_inside(t, w);
  if (found)
    neo_witness_search_shrink(t, w);
  return found;
}

/* ---- enumeration: the answer for the rest of the point, from axis k on */

static neo_proof at_point(neo_witness_search *t) {
  value3 inside = holds(t), goal = look(t, t->goal);
  if (++t->points > MAX_POINTS)
    return NEO_UNKNOWN;
  if (inside.known && !inside.x)
    return NEO_PROVED;
  if (goal.known && (goal.x != 0) == t->want)
    return NEO_PROVED;
  return inside.known && goal.known ? NEO_REFUTED : NEO_UNKNOWN;
}

static neo_proof each_axis(neo_witness_search *t, uint32_t k, uint32_t from, neo_witness *w) {
  bool last = k == t->s->n_axes;
  neo_proof y = NEO_PROVED;
  run_to(t, &from, last ? (uint32_t)t->nodes.n : t->segment[k], w);
  if (last)
    return at_point(t);
  value3 lo = look(t, t->s->axes[k].lo), hi = look(t, t->s->axes[k].hi);
  if (!lo.known || !hi.known || (hi.x > lo.x && (uint64_t)hi.x - (uint64_t)lo.x > MAX_POINTS))
    return NEO_UNKNOWN;
  if (hi.x <= lo.x && ++t->points > MAX_POINTS)
    return NEO_UNKNOWN;
  for (int64_t x = lo.x; x < hi.x && y == NEO_PROVED; x++) {
    w->axis[k] = x;
    y = each_axis(t, k + 1, from, w);
  }
  return y;
}

static neo_proof each_size(neo_witness_search *t, uint32_t k, neo_witness *w) {
  neo_proof y = NEO_PROVED;
  if (k == t->n_sizes)
    return each_axis(t, 0, 0, w);
  const neo_size_rec size = *neo_size_at(t->m, (neo_size){t->size[k]});
  w->size[k].size = (neo_size){t->size[k]};
  if (size.hi - size.lo > MAX_POINTS)
    return NEO_UNKNOWN;
  for (int64_t x = size.lo; x <= size.hi && y == NEO_PROVED; x++) {
    w->size[k].value = x;
    y = each_size(t, k + 1, w);
  }
  return y;
}

neo_proof neo_witness_search_all(neo_witness_search *t, neo_witness *w) {
  neo_witness_search_start(t, w);
  if (!t->usable)
    return NEO_UNKNOWN;
  t->points = 0;
  return each_size(t, 0, w);
}

/* The prover against enumeration: random affine and quasi-affine questions over small domains.
 * What it proves is true at every point, what it refutes is false at its witness, and it rarely
 * gives up. The same for what it simplifies, and for loop bounds. */
#include "base/random.h"
#include "ir/interp/interp.h"
#include "ir/prove/prove.h"
#include "tests/effort.h"
#include "tests/ir/ir_test.h"
#include <assert.h>

enum { AXES = 3, FACTORS = 2 };

typedef struct {
  neo_module *m;
  uint64_t random;
  uint32_t n_axes;
  neo_axis_rec axis[AXES];
  neo_size size;
  int64_t n;   /* value of the size while evaluating */
  bool affine; /* no products or divisors with the size */
  neo_size factor[FACTORS]; /* more sizes, of flat indices: see flat_world */
  int64_t of_factor[FACTORS];
} world;

static int n_seeds(void) {
  return (int)neo_test_count(2000);
}

/* Questions about large domains. */
static int n_large(void) {
  return (int)neo_test_count(300);
}

static uint32_t draw(world *w, uint32_t n) {
  w->random = w->random * 6364136223846793005U + 1442695040888963407U;
  return (uint32_t)(w->random >> 33) % n;
}

static int64_t between(world *w, int64_t lo, int64_t hi) {
  return lo + draw(w, (uint32_t)(hi - lo + 1));
}

static neo_expr num(world *w, int64_t x) {
  return neo_const_int(w->m, NEO_I64_T, x);
}

/* ---- evaluation */

static int64_t eval(const world *w, neo_expr e, const int64_t *x) {
  const neo_node *n = neo_expr_node(w->m, e);
  neo_value v[3];
  if (n->op == NEO_OP_CONST)
    return (int64_t)w->m->constants.at[n->attr];
  if (n->op == NEO_OP_AXIS)
    return x[n->attr];
  for (uint32_t k = 0; k < FACTORS && n->op == NEO_OP_SIZE; k++)
    if (w->factor[k].i == n->attr)
      return w->of_factor[k];
  if (n->op == NEO_OP_SIZE)
    return w->n;
  for (uint32_t k = 0; k < n->arg.n; k++)
    v[k].i = eval(w, neo_expr_arg(w->m, e, k), x);
  neo_type arg = neo_expr_type(w->m, neo_expr_arg(w->m, e, 0));
  return neo_value_op((neo_op)n->op, (neo_type)n->type, arg, v).i;
}

/* Calls f at every point (for every value of the size), outermost axis first; stops when f does. */
typedef bool visit(void *ctx, world *w, const int64_t *x);

static bool each_from(world *w, uint32_t k, int64_t *x, visit *f, void *ctx) {
  if (k == w->n_axes)
    return f(ctx, w, x);
  int64_t lo = eval(w, w->axis[k].lo, x), hi = eval(w, w->axis[k].hi, x);
  for (x[k] = lo; x[k] < hi; x[k]++)
    if (!each_from(w, k + 1, x, f, ctx))
      return false;
  return true;
}

static bool each(world *w, visit *f, void *ctx) {
  int64_t x[AXES] = {0};
  for (w->n = 1; w->n <= 5; w->n++)
    if (!each_from(w, 0, x, f, ctx))
      return false;
  return true;
}

/* ---- random questions */

static neo_expr add_product(world *w, neo_expr e, neo_expr a, neo_expr b) {
  return neo_op2(w->m, NEO_OP_ADD, e, neo_op2(w->m, NEO_OP_MUL, a, b));
}

static neo_expr random_linear(world *w, uint32_t axes) {
  neo_expr e = num(w, between(w, -6, 6));
  for (uint32_t k = 0; k < axes; k++)
    if (draw(w, 3))
      e = add_product(w, e, neo_axis_ref(w->m, k), num(w, between(w, -3, 3)));
  neo_expr size = neo_size_ref(w->m, w->size);
  if (draw(w, 4) == 0)
    e = neo_op2(w->m, NEO_OP_ADD, e, size);
  if (draw(w, 6) == 0 && axes && !w->affine)
    e = add_product(w, e, size, neo_axis_ref(w->m, draw(w, axes)));
  return e;
}

static neo_expr random_index(world *w, uint32_t axes, int depth) {
  neo_expr a = random_linear(w, axes);
  static const neo_op pair[] = {NEO_OP_MIN, NEO_OP_MAX, NEO_OP_ADD, NEO_OP_SUB};
  if (depth == 0)
    return a;
  uint32_t n = draw(w, 1000);
  neo_op divide = draw(w, 2) ? NEO_OP_DIV : NEO_OP_MOD;
  switch (draw(w, w->affine ? 5 : 7)) {
  case 0:
    return neo_op2(w->m, NEO_OP_DIV, a, num(w, between(w, 1, 4)));
  case 1:
    return neo_op2(w->m, NEO_OP_MOD, a, num(w, between(w, 1, 4)));
  case 2:
    return neo_op2(w->m, pair[n % 4], a, random_index(w, axes, depth - 1));
  case 5:
    return neo_op2(w->m, divide, random_index(w, axes, depth - 1), neo_size_ref(w->m, w->size));
  case 6:
    return neo_op2(w->m, divide, random_index(w, axes, depth - 1), num(w, (int64_t)(n % 8) - 2));
  default:
    return a;
  }
}

static neo_expr random_condition(world *w, uint32_t axes, int depth) {
  static const neo_op compare[] = {NEO_OP_LT, NEO_OP_LE, NEO_OP_LE,
                                   NEO_OP_LT, NEO_OP_EQ, NEO_OP_NE};
  uint32_t kind = draw(w, depth > 0 ? 10 : 6);
  if (kind == 6)
    return neo_op1(w->m, NEO_OP_NOT, random_condition(w, axes, depth - 1));
  neo_op op = compare[draw(w, 6)]; /* drawn in this order, whatever the compiler */
  if (kind > 6) {
    neo_expr a = random_condition(w, axes, depth - 1), b = random_condition(w, axes, depth - 1);
    return neo_op2(w->m, kind == 9 ? NEO_OP_OR : NEO_OP_AND, a, b);
  }
  neo_expr a = random_index(w, axes, 1), b = random_index(w, axes, 1);
  return neo_op2(w->m, op, a, b);
}

static void new_world(world *w, neo_module *m, uint64_t seed) {
  *w = (world){.m = m, .random = seed * 2654435761U + 12345};
  for (int k = 0; k < 4; k++)
    draw(w, 2);
  w->size = neo_size_add(m, (neo_size_rec){.kind = NEO_SIZE_RUNTIME, .lo = 1, .hi = 5});
  w->n_axes = 1 + draw(w, AXES);
  for (uint32_t k = 0; k < w->n_axes; k++) {
    w->axis[k].lo = draw(w, 3) ? num(w, 0) : random_linear(w, k ? 1 : 0);
    w->axis[k].hi = num(w, between(w, 1, 6));
    if (draw(w, 3) == 0)
      w->axis[k].hi = random_linear(w, k ? 1 : 0);
    if (draw(w, 4) == 0)
      w->axis[k].hi = neo_size_ref(m, w->size);
  }
}

/* ---- proofs */

typedef struct {
  neo_expr assume, goal, other;
  int64_t wrong[AXES], size;
} claim;

static bool goal_holds(void *ctx, world *w, const int64_t *x) {
  claim *c = ctx;
  if ((c->assume.i && !eval(w, c->assume, x)) || eval(w, c->goal, x))
    return true;
  for (uint32_t k = 0; k < w->n_axes; k++)
    c->wrong[k] = x[k];
  c->size = w->n;
  return false;
}

static bool in_domain(world *w, const int64_t *x) {
  for (uint32_t k = 0; k < w->n_axes; k++)
    if (x[k] < eval(w, w->axis[k].lo, x) || x[k] >= eval(w, w->axis[k].hi, x))
      return false;
  return true;
}

static void check_witness(world *w, const claim *c, const neo_witness *at, int seed) {
  w->n = at->n_sizes ? at->size[0].value : 1;
  bool fails = at->n_axes == w->n_axes && w->n >= 1 && w->n <= 5 && in_domain(w, at->axis) &&
               (!c->assume.i || eval(w, c->assume, at->axis)) && !eval(w, c->goal, at->axis);
  if (!fails)
    fail_msg("seed %d: not a witness", seed);
}

/* A module holds the sizes of one seed only, so that witnesses have one. */
static neo_module *fresh(neo_arena *a) {
  neo_arena_free(a);
  return test_module_new(a);
}

typedef struct {
  int unknown, isl, enumerated;
} tally;

static void judge(world *w, claim *c, int seed, tally *sum) {
  neo_witness at;
  if (draw(w, 3) == 0)
    c->assume = random_condition(w, w->n_axes, 1);
  c->goal = random_condition(w, w->n_axes, 2);
  neo_prover *p = neo_prover_new(w->m);
  neo_facts facts = {w->axis, w->n_axes, &c->assume, c->assume.i != 0};
  neo_proof got = neo_prove(p, &facts, c->goal, &at);
  bool holds = each(w, goal_holds, c);
  if (got == NEO_PROVED && !holds)
    fail_msg("seed %d: proved, but false", seed);
  if (got == NEO_REFUTED)
    check_witness(w, c, &at, seed);
  sum->unknown += got == NEO_UNKNOWN;
  sum->isl += neo_prover_statistics(p).isl_calls != 0;
  sum->enumerated += neo_prover_statistics(p).enumerated != 0;
  neo_prover_free(p);
}

static void answers_agree_with_enumeration(void **state) {
  neo_arena arena;
  tally sum = {0, 0, 0};
  (void)state;
  neo_arena_init(&arena, neo_alloc_default, NULL);
  for (int seed = 0; seed < n_seeds(); seed++) {
    world w;
    claim c = {.size = 0};
    new_world(&w, fresh(&arena), (uint64_t)seed);
    judge(&w, &c, seed, &sum);
  }
  print_message("of %d: %d unknown, %d by enumeration, %d calls of isl\n", n_seeds(), sum.unknown,
                sum.enumerated, sum.isl);
  assert_int_equal(sum.unknown, 0); /* these domains are small */
  assert_in_range(sum.enumerated, 0, n_seeds() / 10);
  neo_arena_free(&arena);
}

/* Too many points to go through: what polynomials, corners and isl decide by themselves. */
static void quasi_affine_questions_are_rarely_left_open(void **state) {
  neo_arena arena;
  tally sum = {0, 0, 0};
  (void)state;
  neo_arena_init(&arena, neo_alloc_default, NULL);
  for (int seed = 0; seed < n_large(); seed++) {
    world w;
    claim c = {.size = 0};
    new_world(&w, fresh(&arena), (uint64_t)seed + 300000);
    w.affine = true;
    w.n_axes = 2;
    w.axis[0] = (neo_axis_rec){.lo = num(&w, 0), .hi = num(&w, between(&w, 40, 50))};
    w.axis[1] = (neo_axis_rec){.lo = num(&w, 0), .hi = num(&w, between(&w, 30, 40))};
    judge(&w, &c, seed, &sum);
  }
  print_message("of %d: %d unknown, %d calls of isl\n", n_large(), sum.unknown, sum.isl);
  assert_in_range(sum.unknown, 0, n_large() / 50);
  neo_arena_free(&arena);
}

/* ---- flat indices of tensors whose sizes may be 0 */

static neo_expr factor(world *w) {
  return neo_size_ref(w->m, w->factor[draw(w, FACTORS)]);
}

static neo_expr product_of_sizes(world *w) {
  neo_expr e = neo_op2(w->m, NEO_OP_MUL, neo_size_ref(w->m, w->factor[0]),
                       neo_size_ref(w->m, w->factor[1]));
  return draw(w, 3) ? e : neo_op2(w->m, NEO_OP_MUL, e, num(w, between(w, 2, 3)));
}

/* The extent of a view of N*M elements: all, each other one, a few. */
static neo_expr flat_extent(world *w, uint32_t axes) {
  neo_expr all = product_of_sizes(w);
  if (axes && draw(w, 2))
    return neo_op2(w->m, NEO_OP_ADD, neo_axis_ref(w->m, axes - 1), num(w, 1));
  if (draw(w, 3) == 0)
    return num(w, between(w, 1, 4));
  if (draw(w, 2))
    return all;
  neo_expr more = neo_op2(w->m, NEO_OP_ADD, all, num(w, between(w, -2, 3)));
  return neo_op2(w->m, NEO_OP_DIV, more, num(w, between(w, 2, 3)));
}

static void flat_world(world *w, neo_module *m, uint64_t seed) {
  new_world(w, m, seed);
  w->n_axes = 1 + draw(w, 2);
  for (uint32_t k = 0; k < FACTORS; k++)
    w->factor[k] = neo_size_add(m, (neo_size_rec){.kind = NEO_SIZE_RUNTIME, .lo = 0, .hi = 4});
  for (uint32_t k = 0; k < w->n_axes; k++)
    w->axis[k] = (neo_axis_rec){.lo = num(w, 0), .hi = flat_extent(w, k)};
}

/* 0 <= x/M < N or 0 <= x % M < M for a position x; or something else of such digits. */
static neo_expr digit_condition(world *w) {
  neo_expr x = num(w, between(w, -2, 4)), by = factor(w), end = factor(w), zero = num(w, 0);
  for (uint32_t k = 0; k < w->n_axes; k++)
    x = add_product(w, x, neo_axis_ref(w->m, k), num(w, between(w, 0, 2)));
  neo_op op = draw(w, 3) ? NEO_OP_DIV : NEO_OP_MOD;
  if (draw(w, 4) == 0)
    x = neo_op2(w->m, NEO_OP_DIV, x, num(w, between(w, 2, 3)));
  neo_expr digit = neo_op2(w->m, op, x, by);
  if (draw(w, 6) == 0)
    digit = neo_op2(w->m, NEO_OP_ADD, digit, end);
  return draw(w, 2) ? neo_op2(w->m, NEO_OP_LE, zero, digit)
                    : neo_op2(w->m, NEO_OP_LT, digit, op == NEO_OP_MOD && draw(w, 2) ? by : end);
}

static bool each_flat(world *w, visit *f, void *ctx) {
  int64_t x[AXES] = {0};
  for (int64_t n = 0; n < 25; n++) {
    w->of_factor[0] = n / 5;
    w->of_factor[1] = n % 5;
    if (!each_from(w, 0, x, f, ctx))
      return false;
  }
  return true;
}

static void digits_of_flat_indices_agree_with_enumeration(void **state) {
  neo_arena arena;
  int proved = 0;
  (void)state;
  neo_arena_init(&arena, neo_alloc_default, NULL);
  for (int seed = 0; seed < n_seeds(); seed++) {
    world w;
    claim c = {.size = 0};
    flat_world(&w, fresh(&arena), (uint64_t)seed + 400000);
    neo_expr all = product_of_sizes(&w);
    if (draw(&w, 4) == 0)
      all = neo_op2(w.m, NEO_OP_DIV, all, num(&w, between(&w, 2, 3)));
    if (draw(&w, 2))
      c.assume = neo_op2(w.m, NEO_OP_LT, num(&w, between(&w, 0, 5)), all);
    c.goal = digit_condition(&w);
    neo_prover *p = neo_prover_new(w.m);
    neo_facts facts = {w.axis, w.n_axes, &c.assume, c.assume.i != 0};
    neo_proof got = neo_prove(p, &facts, c.goal, NULL);
    if (got == NEO_PROVED && !each_flat(&w, goal_holds, &c))
      fail_msg("seed %d: proved, but false", seed);
    if (got == NEO_REFUTED && each_flat(&w, goal_holds, &c))
      fail_msg("seed %d: refuted, but true", seed);
    proved += got == NEO_PROVED;
    neo_prover_free(p);
  }
  print_message("of %d: %d proved\n", n_seeds(), proved);
  assert_in_range(proved, n_seeds() / 5, n_seeds());
  neo_arena_free(&arena);
}

/* ---- simplification */

static bool same_value(void *ctx, world *w, const int64_t *x) {
  claim *c = ctx;
  if (c->assume.i && !eval(w, c->assume, x))
    return true;
  return eval(w, c->goal, x) == eval(w, c->other, x);
}

static void simplified_expressions_have_the_same_values(void **state) {
  neo_arena arena;
  int changed = 0;
  (void)state;
  neo_arena_init(&arena, neo_alloc_default, NULL);
  for (int seed = 0; seed < n_seeds() / 2; seed++) {
    world w;
    claim c = {.size = 0};
    new_world(&w, fresh(&arena), (uint64_t)seed + 100000);
    if (draw(&w, 2) == 0)
      c.assume = random_condition(&w, w.n_axes, 1);
    neo_expr cond = random_condition(&w, w.n_axes, 2);
    neo_expr a = random_index(&w, w.n_axes, 2);
    neo_expr b = random_index(&w, w.n_axes, 2);
    c.goal = neo_op3(w.m, NEO_OP_SELECT, cond, a, b);
    if (draw(&w, 2))
      c.goal = neo_op3(w.m, NEO_OP_CLAMP, c.goal, num(&w, -3), num(&w, 7));
    neo_prover *p = neo_prover_new(w.m);
    neo_facts facts = {w.axis, w.n_axes, &c.assume, c.assume.i != 0};
    c.other = neo_simplify_under(p, &facts, c.goal);
    if (!each(&w, same_value, &c))
      fail_msg("seed %d: another value", seed);
    changed += c.goal.i != c.other.i;
    neo_prover_free(p);
  }
  assert_in_range(changed, n_seeds() / 8, n_seeds());
  neo_arena_free(&arena);
}

/* ---- loop bounds */

typedef struct {
  neo_expr cond, lo, hi, rest;
  uint32_t axis;
} loop;

/* At a point of the axes outside `axis`: the same values of the axis, for all later axes. */
static bool same_point(const loop *l, world *w, int64_t *x) {
  bool inside = x[l->axis] >= eval(w, l->lo, x) && x[l->axis] < eval(w, l->hi, x);
  bool was =
      x[l->axis] >= eval(w, w->axis[l->axis].lo, x) && x[l->axis] < eval(w, w->axis[l->axis].hi, x);
  for (uint32_t k = l->axis + 1; k < w->n_axes; k++)
    if (x[k] < eval(w, w->axis[k].lo, x) || x[k] >= eval(w, w->axis[k].hi, x))
      return true;
  bool now = inside && (!l->rest.i || eval(w, l->rest, x));
  return now == (was && eval(w, l->cond, x));
}

static bool same_loops(const loop *l, world *w, uint32_t k, int64_t *x) {
  int64_t lo = -40, hi = 40;
  if (k == w->n_axes)
    return same_point(l, w, x);
  if (k < l->axis)
    lo = eval(w, w->axis[k].lo, x), hi = eval(w, w->axis[k].hi, x);
  if (k > l->axis)
    lo = eval(w, w->axis[k].lo, x), hi = eval(w, w->axis[k].hi, x);
  for (x[k] = lo; x[k] < hi; x[k]++)
    if (!same_loops(l, w, k + 1, x))
      return false;
  return true;
}

static neo_expr random_conjunction(world *w) {
  neo_expr e = random_condition(w, w->n_axes, 0);
  for (uint32_t k = draw(w, 3); k > 0; k--)
    e = neo_op2(w->m, NEO_OP_AND, e, random_condition(w, w->n_axes, draw(w, 4) == 0));
  return e;
}

static void loop_bounds_have_the_same_points(void **state) {
  neo_arena arena;
  int changed = 0;
  (void)state;
  neo_arena_init(&arena, neo_alloc_default, NULL);
  for (int seed = 0; seed < n_seeds() / 2; seed++) {
    world w;
    loop l = {.axis = 0};
    int64_t x[AXES] = {0};
    new_world(&w, fresh(&arena), (uint64_t)seed + 200000);
    l.cond = random_conjunction(&w);
    l.axis = draw(&w, w.n_axes);
    neo_prover *p = neo_prover_new(w.m);
    neo_facts facts = {w.axis, w.n_axes, NULL, 0};
    changed += neo_tighten(p, &facts, l.axis, l.cond, &l.lo, &l.hi, &l.rest);
    for (w.n = 1; w.n <= 5; w.n++)
      if (!same_loops(&l, &w, 0, x))
        fail_msg("seed %d: other points", seed);
    neo_prover_free(p);
  }
  assert_in_range(changed, n_seeds() / 8, n_seeds());
  neo_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_agree_with_enumeration),
      cmocka_unit_test(quasi_affine_questions_are_rarely_left_open),
      cmocka_unit_test(digits_of_flat_indices_agree_with_enumeration),
      cmocka_unit_test(simplified_expressions_have_the_same_values),
      cmocka_unit_test(loop_bounds_have_the_same_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

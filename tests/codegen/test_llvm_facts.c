/* Facts about index expressions in machine code (codegen/llvm/core/facts.c): they hold at all values of the variables, and
 * say as much as what is made by them needs. */
#include "base/random.h"
#include "codegen/llvm/gen.h"
#include "tests/codegen/loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>

enum { N_VARS = 5, WIDTH = 4, TREES = 3000, DRAWS = 40, SIZE = N_VARS, N_LEAVES };

enum { LOOP, BELOW, FIXED, ANY, LANE };

/* A loop from 0, a fixed variable below 0, one above, a loop that may be below 0, and lanes. No variable has a number of
 * those behind: what is asked of one takes another number for a variable's. */
static neo_ll_var vars[256] = {
    [LOOP] = {.kind = NEO_LL_LOOP, .nonneg = true, .multiple = 6, .most = 24},
    [BELOW] = {.kind = NEO_LL_FIXED, .fixed = -4},
    [FIXED] = {.kind = NEO_LL_FIXED, .fixed = 6},
    [ANY] = {.kind = NEO_LL_LOOP, .multiple = 4},
    [LANE] = {.kind = NEO_LL_LANE, .fixed = 8},
    [N_VARS... 255] = {.kind = NEO_LL_LOOP, .nonneg = true, .multiple = 7, .most = 1}};

typedef struct {
  neo_kernel *k;
  neo_ll_gen g;
} world;

static world world_of(loop_fix *f) {
  world w = {neo_kernel_new(&f->arena, "k"), {.var = vars, .width = WIDTH}};
  for (int v = 0; v < N_VARS; v++)
    (void)neo_kernel_var(w.k, "v");
  return w;
}

static const neo_lx *leaf(world *w, uint32_t which) {
  return which == SIZE ? neo_lx_size(w->k, 0) : neo_lx_var(w->k, which);
}

static const neo_lx *draw(world *w, int depth, uint64_t *seed) {
  static const neo_op ops[] = {NEO_OP_ADD, NEO_OP_SUB, NEO_OP_MUL, NEO_OP_DIV,
                               NEO_OP_MOD, NEO_OP_MIN, NEO_OP_MAX};
  uint64_t r = neo_splitmix(seed);
  if (depth == 0 || r % 4 == 0)
    return r >> 8 & 1 ? neo_lx_int(w->k, (int64_t)(r >> 16) % 9 - 3)
                      : leaf(w, (uint32_t)(r >> 16) % N_LEAVES);
  const neo_lx *a = draw(w, depth - 1, seed), *b = draw(w, depth - 1, seed);
  return neo_lx_op2(w->k, ops[(r >> 8) % 7], a, b);
}

/* One of the values that the leaf may have. */
static int64_t value_of(uint32_t which, uint64_t r) {
  if (which == SIZE)
    return (int64_t)(r % 5);
  const neo_ll_var *v = &vars[which];
  switch ((neo_ll_var_kind)v->kind) {
  case NEO_LL_LOOP:
    return v->nonneg ? (int64_t)(r % 5) * v->multiple : ((int64_t)(r % 9) - 4) * v->multiple;
  case NEO_LL_LANE:
    return v->fixed + (int64_t)(r % WIDTH);
  default:
    return v->fixed;
  }
}

static int64_t evaluate(const neo_lx *e, const int64_t *leaves) {
  int64_t x;
  if (neo_lx_is_int(e, &x))
    return x;
  if (e->kind != NEO_LX_OP)
    return leaves[e->kind == NEO_LX_SIZE ? SIZE : e->attr];
  neo_value v[2] = {{.i = evaluate(e->arg[0], leaves)}, {.i = evaluate(e->arg[1], leaves)}};
  return neo_value_op((neo_op)e->attr, NEO_I64_T, NEO_I64_T, v).i;
}

static void check(world *w, const neo_lx *e, const int64_t *leaves) {
  int64_t x = evaluate(e, leaves);
  if (neo_ll_nonneg(&w->g, e))
    assert_true(x >= 0);
  if (neo_ll_nonneg(&w->g, e) || neo_lx_is_int(e, &x))
    assert_true(x <= neo_ll_most(&w->g, e));
}

/* Alignment is asked of the first lane. */
static void check_multiple(world *w, const neo_lx *e, int64_t *leaves) {
  leaves[LANE] = vars[LANE].fixed;
  int64_t x = evaluate(e, leaves), m = neo_ll_multiple(&w->g, e);
  assert_true(m == 0 ? x == 0 : x % m == 0);
}

static void facts_hold_at_all_values(void **state) {
  world w = world_of(*state);
  uint64_t seed = 1;
  for (int n = 0; n < TREES; n++) {
    const neo_lx *e = draw(&w, 3, &seed);
    for (int k = 0; k < DRAWS; k++) {
      int64_t leaves[N_LEAVES];
      for (uint32_t v = 0; v < N_LEAVES; v++)
        leaves[v] = value_of(v, neo_splitmix(&seed) >> 8);
      check(&w, e, leaves);
      check_multiple(&w, e, leaves);
    }
  }
}

#define OP(op, a, b) neo_lx_op2(w.k, NEO_OP_##op, a, b)
#define INT(x) neo_lx_int(w.k, x)

static void signs_are_known(void **state) {
  world w = world_of(*state);
  const neo_lx *fixed = leaf(&w, FIXED), *below = leaf(&w, BELOW), *loop = leaf(&w, LOOP),
               *any = leaf(&w, ANY), *lane = leaf(&w, LANE), *size = leaf(&w, SIZE);
  const neo_lx *good[] = {INT(0),
                          size,
                          fixed,
                          loop,
                          lane,
                          OP(ADD, loop, size),
                          OP(MUL, loop, lane),
                          OP(DIV, size, fixed),
                          OP(MIN, loop, size),
                          OP(MOD, any, size),
                          OP(MAX, any, loop),
                          OP(MAX, loop, any)};
  const neo_lx *bad[] = {INT(-1),
                         below,
                         any,
                         OP(ADD, any, loop),
                         OP(ADD, loop, any),
                         OP(MUL, any, loop),
                         OP(DIV, any, loop),
                         OP(MIN, loop, any),
                         OP(MIN, any, loop),
                         OP(MOD, loop, any),
                         OP(MAX, any, below),
                         OP(SUB, loop, size),
                         neo_lx_op1(w.k, NEO_OP_NEG, loop)};
  for (size_t k = 0; k < sizeof good / sizeof *good; k++)
    assert_true(neo_ll_nonneg(&w.g, good[k]));
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    assert_false(neo_ll_nonneg(&w.g, bad[k]));
}

static void largest_values_are_known(void **state) {
  world w = world_of(*state);
  const neo_lx *fixed = leaf(&w, FIXED), *below = leaf(&w, BELOW), *loop = leaf(&w, LOOP),
               *any = leaf(&w, ANY), *lane = leaf(&w, LANE), *size = leaf(&w, SIZE);
  const struct {
    const neo_lx *e;
    int64_t most;
  } all[] = {{INT(7), 7},
             {fixed, 6},
             {below, -4},
             {loop, 24},
             {any, INT64_MAX},
             {size, INT64_MAX},
             {lane, 8 + WIDTH - 1},
             {OP(ADD, loop, lane), 35},
             {OP(MUL, loop, lane), 264},
             {OP(MUL, loop, INT(INT64_MAX / 24)), INT64_MAX / 24 * 24},
             {OP(MUL, loop, INT(INT64_MAX / 23)), INT64_MAX},
             {OP(ADD, loop, INT(INT64_MAX - 23)), INT64_MAX},
             {OP(DIV, loop, INT(5)), 4},
             {OP(DIV, loop, INT(1)), 24},
             {OP(DIV, size, INT(5)), INT64_MAX},
             {OP(DIV, loop, lane), 24},
             {OP(MOD, loop, INT(5)), 4},
             {OP(MOD, loop, INT(1)), 0},
             {OP(MOD, size, loop), 23},
             {OP(MOD, loop, size), 24},
             {OP(MIN, size, loop), 24},
             {OP(MIN, loop, lane), 11},
             {OP(MAX, loop, lane), 24},
             {OP(MAX, lane, loop), 24},
             {OP(ADD, any, loop), INT64_MAX},
             {OP(MIN, any, loop), INT64_MAX}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    assert_int_equal(neo_ll_most(&w.g, all[k].e), all[k].most);
}

static void divisors_are_known(void **state) {
  world w = world_of(*state);
  const neo_lx *fixed = leaf(&w, FIXED), *loop = leaf(&w, LOOP), *any = leaf(&w, ANY),
               *lane = leaf(&w, LANE), *size = leaf(&w, SIZE);
  const struct {
    const neo_lx *e;
    int64_t multiple;
  } all[] = {{INT(12), 12},
             {fixed, 6},
             {loop, 6},
             {any, 4},
             {lane, 8},
             {size, 1},
             {OP(ADD, loop, any), 2},
             {OP(SUB, loop, any), 2},
             {OP(ADD, any, lane), 4},
             {OP(MIN, any, lane), 4},
             {OP(MAX, any, lane), 4},
             {OP(MOD, any, lane), 4},
             {OP(MUL, loop, any), 24},
             {OP(MUL, any, INT(INT64_MAX)), 1},
             {OP(DIV, any, INT(2)), 1},
             {neo_lx_op1(w.k, NEO_OP_NEG, loop), 1}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    assert_int_equal(neo_ll_multiple(&w.g, all[k].e), all[k].multiple);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(facts_hold_at_all_values, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(signs_are_known, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(largest_values_are_known, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(divisors_are_known, loop_setup, loop_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

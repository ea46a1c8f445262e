/* Gradients of what is linear in each element, on small integers with many zeros: products over any
 * number of axes and any domain, and systems that are not solved. The derivative is the difference
 * for a step of one, and all numbers are exact: equality is asked for. */
#include "autodiff/autodiff.h"
#include "base/random.h"
#include "ir/print.h"
#include "tests/autodiff/grad_world.h"
#include <string.h>

static void fill(grad_world *w, neo_interp *p, uint64_t *seed) {
  for (uint32_t t = 1; t < w->m->tensors.n; t++) {
    const neo_tensor_rec *r = &w->m->tensors.at[t];
    int64_t bound = 5;
    if (r->role != NEO_ROLE_INPUT)
      continue;
    neo_values *v = neo_interp_tensor(p, (neo_tensor){t});
    if (r->bound.i)
      assert_true(neo_expr_is_int(w->m, r->bound, &bound));
    for (int64_t i = 0; i < v->n; i++) {
      int64_t x = (int64_t)(neo_splitmix(seed) % (uint64_t)bound);
      if (neo_type_is_float((neo_type)r->type))
        v->at[i].f = (double)(x - 2);
      else
        v->at[i].i = x;
    }
    v->known = true;
  }
}

static double value(grad_world *w, neo_interp *p, neo_tensor y) {
  grad_eval(p, w, y);
  return neo_interp_tensor(p, y)->at[0].f;
}

static void compare(grad_world *w, neo_interp *p, const char *text) {
  neo_grad_rec g = w->m->grads.at[0];
  neo_tensor x = {neo_list_at(w->m, g.wrt, 0)}, out = {neo_list_at(w->m, g.out, 0)};
  grad_eval(p, w, out);
  neo_values *d = neo_interp_tensor(p, out), *v = neo_interp_tensor(p, x);
  double *formed = NEO_NEW_ARRAY(&w->arena, double, d->n + 1), at = value(w, p, g.y);
  for (int64_t i = 0; i < d->n; i++)
    formed[i] = d->at[i].f;
  for (int64_t i = 0; i < v->n; i++) {
    v->at[i].f += 1;
    double slope = value(w, p, g.y) - at;
    v->at[i].f -= 1;
    if (slope != formed[i])
      fail_msg("%s\nd[%lld] is %g, expected %g", text, (long long)i, formed[i], slope);
  }
}

/* A module whose first request is the gradient of a scalar for a tensor. */
static void check(const char *text) {
  grad_world w;
  const char *whole;
  grad_begin(&w);
  whole = neo_arena_printf(&w.arena, "neo-ir 1\nmodule t\n%s", text);
  w.m = neo_module_parse(&w.arena, w.names, w.diags, "test", whole, strlen(whole));
  if (!w.m)
    fail_msg("%s\n%s", text, grad_messages(&w));
  grad_pass(&w);
  int64_t sizes[8] = {0};
  for (uint64_t seed = 1; seed <= 12; seed++) {
    uint64_t state = seed;
    for (uint32_t k = 1; k < w.m->sizes.n; k++) {
      const neo_size_rec *r = &w.m->sizes.at[k];
      uint64_t most = r->hi - r->lo < 6 ? (uint64_t)(r->hi - r->lo) : 6;
      sizes[k] = r->lo + (int64_t)(neo_splitmix(&state) % (most + 1));
    }
    neo_interp *p = neo_interp_new(&w.arena, w.m, sizes, 7);
    fill(&w, p, &state);
    compare(&w, p, text);
  }
  neo_arena_free(&w.arena);
}

#define SCALAR "def y[] =\n  sum[b: 3] P[b]\n  then acc0\ngradient of y for X into dX\n"
#define HEAD                                                                \
  "input X : f64 [3, 4, 5]\ninput L : i32 [3] < 5\ninput M : i32 [4] < 6\n" \
  "input K : f64 [4]\ntemp P : f64 [3]\ntemp y : f64 []\ntemp dX : f64 [3, 4, 5]\n"

static void products_over_boxes_are_exact_at_zeros(void **state) {
  (void)state;
  check("size N 0..6\ninput X : f64 [N]\ntemp y : f64 []\ntemp dX : f64 [N]\n"
        "def y[] =\n  prod[i: N] X[i]\n  then acc0 * 3.0f64\ngradient of y for X into dX\n");
  check(HEAD "def P[b: 3] =\n  prod[i: 4, j: 5] X[b, i, j]\n  then acc0\n" SCALAR);
  check(HEAD "def P[b: 3] =\n  prod[i: 2..4, j: 1..5] X[b, 5 - i, j]\n  then acc0\n" SCALAR);
  check("input X : f64 [2, 3, 2]\ntemp y : f64 []\ntemp dX : f64 [2, 3, 2]\n"
        "def y[] =\n  prod[i: 2, j: 3, k: 2] X[i, j, k]\n  then acc0\n"
        "gradient of y for X into dX\n");
}

static void products_over_ranges_that_lean_on_each_other_are_exact(void **state) {
  (void)state;
  check(HEAD "def P[b: 3] =\n  prod[i: 4, j: 0..i + 1] X[b, i, j]\n  then acc0\n" SCALAR);
  check(HEAD "def P[b: 3] =\n  prod[i: b..4, j: i..5] X[b, i, j]\n  then acc0\n" SCALAR);
  check(HEAD "def P[b: 3] =\n  prod[i: 0..b, j: 0..i, k: j..i] X[k, i, j]\n  then acc0\n" SCALAR);
}

static void products_over_ranges_from_data_are_exact(void **state) {
  (void)state;
  check(HEAD "def P[b: 3] =\n  prod[i: 0..i64(L[b])] X[b, i, 0]\n  then acc0\n" SCALAR);
  check(HEAD "def P[b: 3] =\n  prod[i: 0..i64(L[b]), j: 0..i64(M[i])] X[b, i, j]\n"
             "  then acc0\n" SCALAR);
}

/* 8 results' axes and 10 reduced ones: more than a tensor has dimensions. */
static void products_over_many_axes_are_exact(void **state) {
  (void)state;
  check("input X : f64 [2, 3, 2, 3]\ntemp Y : f64 [2, 1, 1, 1, 1, 1, 1, 3]\ntemp y : f64 []\n"
        "temp dX : f64 [2, 3, 2, 3]\n"
        "def Y[a: 2, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 3] =\n"
        "  prod[i: 2, j: 1..2, k: 1, l: 1, m: 1, n: 1, o: 1, p: 1, q: 1, r: h..3]\n"
        "  where a + r != 3; X[a, h, i, r + k]\n  then acc0\n"
        "def y[] =\n  sum[a: 2, h: 3] Y[a, 0, 0, 0, 0, 0, 0, h]\n  then acc0\n"
        "gradient of y for X into dX\n");
}

static void products_under_conditions_are_exact(void **state) {
  (void)state;
  check(HEAD "def P[b: 3] =\n  prod[i: 4, j: 5] where K[i] < 1.0f64; X[b, i, j]\n"
             "  then acc0\n" SCALAR);
  check(HEAD "def P[b: 3] =\n  prod[i: 4, j: 5] where (i + j + b) % 2 == 0; X[b, i, j]\n"
             "  then acc0\n" SCALAR);
  check(HEAD "def P[b: 3] =\n  prod[i: 0..i64(L[b]), j: i..5] where j != 3 or K[i] < 0.0f64;\n"
             "    (X[b, i, j + 1] else 2.0f64)\n  then acc0\n" SCALAR);
}

/* The range of j leans on i, for which another axis would stand, and has no bound that fits 64
 * bits: then the index stays as a condition. */
static void a_range_without_bounds_leaves_the_system_unsolved(void **state) {
  (void)state;
  check("size N 1..1000000000000\ninput X : f64 [N]\ninput V : f64 [4]\ntemp y : f64 []\n"
        "temp dX : f64 [N]\n"
        "def y[] =\n  sum[i: N, j: 0..i * N, k: N] where j < 4;\n"
        "    (X[i + 2 * k] else 0.0f64) * V[min(j, 3)]\n  then acc0\n"
        "gradient of y for X into dX\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_over_boxes_are_exact_at_zeros),
      cmocka_unit_test(products_over_ranges_that_lean_on_each_other_are_exact),
      cmocka_unit_test(products_over_ranges_from_data_are_exact),
      cmocka_unit_test(products_over_many_axes_are_exact),
      cmocka_unit_test(products_under_conditions_are_exact),
      cmocka_unit_test(a_range_without_bounds_leaves_the_system_unsolved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The interpreter against loops written by hand. */
#include "base/random.h"
#include "ir/interp/interp.h"
#include "tests/ir/ir_test.h"
#include <math.h>
#include <string.h>

/* Small multiples of 1/4, so that sums and products are exact. */
static void fill(double *x, size_t n, uint64_t seed) {
  for (size_t k = 0; k < n; k++)
    x[k] = ((double)(neo_splitmix(&seed) % 33) - 16) / 4;
}

static void assert_values(const neo_values *v, const double *x, size_t n) {
  assert_int_equal(v->n, n);
  for (size_t k = 0; k < n; k++) {
    bool same = v->at[k].f == x[k] || (isnan(v->at[k].f) && isnan(x[k]));
    if (!same)
      fail_msg("element %zu is %.9g, not %.9g", k, v->at[k].f, x[k]);
  }
}

static void assert_ints(const neo_values *v, const int64_t *x, size_t n) {
  assert_int_equal(v->n, n);
  for (size_t k = 0; k < n; k++)
    assert_int_equal(v->at[k].i, x[k]);
}

static void a_product_of_matrices_with_bias_is_right(void **state) {
  neo_module *m = test_parse(*state, "size B 0..9\n"
                                     "input X : f32 [B, 7]\n"
                                     "input W : f32 [7, 5]\n"
                                     "input b : f32 [5]\n"
                                     "temp Y : f32 [B, 5]\n"
                                     "def Y[n: B, j: 5] =\n"
                                     "    sum[i: 7] X[n, i] * W[i, j]\n"
                                     "    then relu(acc0 + b[j])\n");
  double X
  [21], W[35], b[5], y[15];
  fill(X, 21, 1), fill(W, 35, 2), fill(b, 5, 3);
  neo_interp *p = test_interp(m, (int64_t[]){3});
  test_put_f(p, m, "X", X, 21);
  test_put_f(p, m, "W", W, 35);
  test_put_f(p, m, "b", b, 5);
  for (int n = 0; n < 3; n++)
    for (int j = 0; j < 5; j++) {
      double s = 0;
      for (int i = 0; i < 7; i++)
        s += X
      [n * 7 + i] * W[i * 5 + j];
      y[n * 5 + j] = fmax(s + b[j], 0);
    }
  assert_values(test_eval(p, m, "Y"), y, 15);
}

/* A condition makes the interpreter take the products one by one. */
static void products_of_converted_reads_are_those_taken_one_by_one(void **state) {
  static const char *const factors[] = {"f32(x[i])", "tf32(w[i])", "f32(bf16(w[i]))",
                                        "tf32(f32(f16(w[i])))"};
  enum { N = 40, FACTORS = sizeof factors / sizeof *factors };
  double x[N], w[N];
  int64_t all[N];
  for (int k = 0; k < N; k++) {
    x[k] = neo_value_round(NEO_F16_T, sin(k + 1));
    w[k] = neo_value_round(NEO_F32_T, cos(3 * k + 1));
    all[k] = 1;
  }
  for (int k = 0; k < 2 * FACTORS * FACTORS; k++) {
    const char *one = factors[k % FACTORS], *two = factors[k / FACTORS % FACTORS];
    neo_module *m =
        test_parse(*state, neo_arena_printf(((neo_module *)*state)->arena,
                                            "input x : f16 [40]\ninput w : f32 [40]\n"
                                            "input on : bool [40]\ntemp s : f32 []\n"
                                            "temp t : f32 []\n"
                                            "def s[] =\n    sum[i: 40] %s * %s\n"
                                            "def t[] =\n    sum[i: 40] where on[i]; %s * %s\n",
                                            one, two, one, two));
    m->math = k < FACTORS * FACTORS ? NEO_PRECISION_F32 : NEO_PRECISION_3XTF32;
    neo_interp *p = test_interp(m, NULL);
    test_put_f(p, m, "x", x, N);
    test_put_f(p, m, "w", w, N);
    test_put_i(p, m, "on", all, N);
    neo_interp_track_errors(p, true);
    double s = test_eval(p, m, "s")->at[0].f, t = test_eval(p, m, "t")->at[0].f;
    const double *es = neo_interp_errors(p, neo_tensor_find(m, "s"));
    const double *et = neo_interp_errors(p, neo_tensor_find(m, "t"));
    double a = es ? es[0] : 0, b = et ? et[0] : 0;
    if (s != t || fabs(a - b) > 1e-9 * b)
      fail_msg("%s * %s: %a within %a, not %a within %a", one, two, s, a, t, b);
  }
}

static void a_padded_strided_convolution_is_right(void **state) {
  neo_module *m = test_parse(
      *state,
      "input x : f32 [2, 3, 6, 5]\n"
      "input f : f32 [4, 3, 3, 3]\n"
      "temp y : f32 [2, 4, 3, 5]\n"
      "def y[n: 2, k: 4, p: 3, q: 5] =\n"
      "    sum[c: 3, r: 3, s: 3] f[k, c, r, s] * (x[n, c, 2*p + r - 1, q + s - 1] else 0.0)\n");
  double x[180], f[108], y[120];
  fill(x, 180, 4), fill(f, 108, 5);
  for (int at = 0; at < 120; at++) {
    int n = at / 60, k = at / 15 % 4, p = at / 5 % 3, q = at % 5;
    y[at] = 0;
    for (int c = 0; c < 3; c++)
      for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) {
          int h = 2 * p + r - 1, w = q + s - 1;
          if (h < 0 || h >= 6 || w < 0 || w >= 5)
            continue;
          y[at] += f[((k * 3 + c) * 3 + r) * 3 + s] * x[((n * 3 + c) * 6 + h) * 5 + w];
        }
  }
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 180);
  test_put_f(p, m, "f", f, 108);
  assert_values(test_eval(p, m, "y"), y, 120);
}

static void softmax_sums_to_one_and_matches_exp(void **state) {
  neo_module *m = test_parse(*state, "input x : f64 [3, 4]\n"
                                     "temp l : f64 [3]\n"
                                     "temp y : f64 [3, 4]\n"
                                     "def l[i: 3] = logsumexp[j: 4] x[i, j]\n"
                                     "def y[i: 3, j: 4] = exp(x[i, j] - l[i])\n");
  double x[12];
  fill(x, 12, 6);
  x[5] = 1000; /* must not overflow */
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 12);
  const neo_values *y = test_eval(p, m, "y");
  for (int i = 0; i < 3; i++) {
    double top = fmax(fmax(x[4 * i], x[4 * i + 1]), fmax(x[4 * i + 2], x[4 * i + 3])), s = 0;
    for (int j = 0; j < 4; j++)
      s += exp(x[4 * i + j] - top);
    for (int j = 0; j < 4; j++)
      assert_true(fabs(y->at[4 * i + j].f - exp(x[4 * i + j] - top) / s) < 1e-12);
  }
}

static void the_first_of_equals_wins_and_nan_wins_all(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [4, 5]\n"
                                     "temp v : f32 [4]\n"
                                     "temp i : i64 [4]\n"
                                     "temp w : f32 [4]\n"
                                     "temp j : i64 [4]\n"
                                     "def (v, i)[r: 4] =\n    max[k: 5] x[r, k], k\n"
                                     "    then acc0, acc1\n"
                                     "def (w, j)[r: 4] =\n    min[k: 5] x[r, k], 10 * k\n"
                                     "    then acc0, acc1\n");
  double inf = (double)INFINITY, nan = (double)NAN;
  double x[20] = {1, 3, 2, 3, 0, -1, nan, 7, nan, 9, -inf, -inf, -inf, -inf, -inf, 5, 4, 4, 5, 6};
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 20);
  assert_values(test_eval(p, m, "v"), (double[]){3, nan, -inf, 6}, 4);
  assert_ints(test_eval(p, m, "i"), (int64_t[]){1, 1, 0, 4}, 4);
  assert_values(test_eval(p, m, "w"), (double[]){0, nan, -inf, 4}, 4);
  assert_ints(test_eval(p, m, "j"), (int64_t[]){40, 10, 0, 10}, 4);
}

static void nothing_reduced_gives_the_documented_values(void **state) {
  neo_module *m = test_parse(
      *state,
      "size N 0..4\ninput x : f32 [N]\ninput k : i32 [N]\n"
      "temp s : f32 []\ntemp p : f32 []\ntemp a : f32 []\ntemp b : f32 []\ntemp e : f32 []\n"
      "temp l : f32 []\ntemp q : bool []\ntemp r : bool []\ntemp c : i32 []\ntemp d : i32 []\n"
      "temp g : i64 []\n"
      "def s[] = sum[i: N] x[i]\ndef p[] = prod[i: N] x[i]\ndef a[] = max[i: N] x[i]\n"
      "def b[] = min[i: N] x[i]\ndef e[] = mean[i: N] x[i]\ndef l[] = logsumexp[i: N] x[i]\n"
      "def q[] = any[i: N] x[i] < 1.0\ndef r[] = all[i: N] x[i] < 1.0\n"
      "def c[] = max[i: N] k[i]\ndef d[] = min[i: N] k[i]\n"
      "def g[] = max[i: N] x[i], i + 5 then acc1\n");
  double inf = (double)INFINITY;
  neo_interp *p = test_interp(m, (int64_t[]){0});
  test_put_f(p, m, "x", NULL, 0);
  test_put_i(p, m, "k", NULL, 0);
  assert_values(test_eval(p, m, "s"), (double[]){0}, 1);
  assert_values(test_eval(p, m, "p"), (double[]){1}, 1);
  assert_values(test_eval(p, m, "a"), (double[]){-inf}, 1);
  assert_values(test_eval(p, m, "b"), (double[]){inf}, 1);
  assert_values(test_eval(p, m, "e"), (double[]){(double)NAN}, 1);
  assert_values(test_eval(p, m, "l"), (double[]){-inf}, 1);
  assert_ints(test_eval(p, m, "q"), (int64_t[]){0}, 1);
  assert_ints(test_eval(p, m, "r"), (int64_t[]){1}, 1);
  assert_ints(test_eval(p, m, "c"), (int64_t[]){INT32_MIN}, 1);
  assert_ints(test_eval(p, m, "d"), (int64_t[]){INT32_MAX}, 1);
  assert_ints(test_eval(p, m, "g"), (int64_t[]){0}, 1);
}

static void a_condition_selects_what_is_reduced(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [6]\n"
                                     "temp y : f32 [6]\n"
                                     "temp z : f32 [6]\n"
                                     "temp n : i64 []\n"
                                     "def y[i: 6] = sum[k: i..6] where x[k] < 2.0; x[k]\n"
                                     "def z[i: 6] = prod[a: i, b: a..i] x[b]\n"
                                     "def n[] = mean[k: 6] where x[k] < 2.0; x[k] then acc1\n");
  double x[6] = {1, 2, -1, 0.5, 3, 1.5}, y[6] = {0}, z[6];
  for (int i = 0; i < 6; i++) {
    z[i] = 1;
    for (int k = i; k < 6; k++)
      y[i] += x[k] < 2 ? x[k] : 0;
    for (int a = 0; a < i; a++)
      for (int b = a; b < i; b++)
        z[i] *= x[b];
  }
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 6);
  assert_values(test_eval(p, m, "y"), y, 6);
  assert_values(test_eval(p, m, "z"), z, 6);
  assert_ints(test_eval(p, m, "n"), (int64_t[]){4}, 1);
}

static void a_bound_may_be_an_element_and_an_index_too(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [3, 4]\n"
                                     "input len : i32 [3] < 5\n"
                                     "input row : i64 [2] < 3\n"
                                     "temp s : f32 [3]\n"
                                     "temp g : f32 [2, 4]\n"
                                     "def s[i: 3] = sum[t: i64(len[i])] x[i, t]\n"
                                     "def g[n: 2, j: 4] = x[row[n], j]\n");
  double x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 12);
  test_put_i(p, m, "len", (int64_t[]){0, 2, 4}, 3);
  test_put_i(p, m, "row", (int64_t[]){2, 0}, 2);
  assert_values(test_eval(p, m, "s"), (double[]){0, 11, 42}, 3);
  assert_values(test_eval(p, m, "g"), (double[]){9, 10, 11, 12, 1, 2, 3, 4}, 8);
}

static void what_breaks_a_bound_or_leaves_a_tensor_is_reported(void **state) {
  neo_str why;
  neo_module *m = test_parse(*state, "input x : f32 [4]\n"
                                     "input row : i64 [2] < 4\n"
                                     "temp g : f32 [2]\n"
                                     "temp h : f32 [2]\n"
                                     "def g[n: 2] = x[row[n]]\n"
                                     "def h[n: 2] = x[n + 3]\n");
  neo_interp *p = test_interp(m, NULL);
  assert_int_equal(test_try_eval(p, m, "h", &why), NEO_STATE); /* x was never given */
  test_put_f(p, m, "x", (double[]){1, 2, 3, 4}, 4);
  test_put_i(p, m, "row", (int64_t[]){3, 4}, 2);
  assert_int_equal(test_try_eval(p, m, "g", &why), NEO_RANGE);
  assert_non_null(strstr(neo_str_text(&why), "row: element 1 is 4"));
  assert_int_equal(test_try_eval(p, m, "h", &why), NEO_RANGE);
  assert_non_null(strstr(neo_str_text(&why), "index 4"));
}

static void what_is_not_selected_is_not_evaluated(void **state) {
  neo_module *m = test_parse(
      *state, "input x : f32 [4]\ntemp a : f32 [9]\ntemp b : bool [9]\ntemp c : bool [9]\n"
              "def a[i: 9] = select(i < 4, x[i], x[i - 5] + select(i < 100, 0.0, x[-7]))\n"
              "def b[i: 9] = i < 4 and x[i] < 2.0\n"
              "def c[i: 9] = 4 <= i or x[i] < 2.0\n");
  neo_str why;
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", (double[]){1, 2, 3, 4}, 4);
  assert_int_equal(test_try_eval(p, m, "a", &why), NEO_RANGE); /* i = 4 reads x[-1] */
  assert_ints(test_eval(p, m, "b"), (int64_t[]){1, 0, 0, 0, 0, 0, 0, 0, 0}, 9);
  assert_ints(test_eval(p, m, "c"), (int64_t[]){1, 0, 0, 0, 1, 1, 1, 1, 1}, 9);
}

static void a_guarded_read_takes_its_other_value_outside(void **state) {
  neo_module *m =
      test_parse(*state, "input x : f32 [3, 2]\ntemp a : f32 [5, 4]\n"
                         "def a[i: 5, j: 4] = (x[i - 1, j - 1] else f32(10 * i + j))\n");
  double x[6] = {1, 2, 3, 4, 5, 6}, y[20];
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 4; j++)
      y[i * 4 + j] = i >= 1 && i < 4 && j >= 1 && j < 3 ? x[(i - 1) * 2 + j - 1] : 10 * i + j;
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 6);
  assert_values(test_eval(p, m, "a"), y, 20);
}

static void pieces_fill_their_images(void **state) {
  neo_module *m = test_parse(*state, "size N 1..9\ninput x : f32 [N]\ntemp y : f32 [2*N, 3]\n"
                                     "def y[i: N, j: 3] at [2*i, j] = x[i]\n"
                                     "def y[i: N, j: 2] at [2*i + 1, j + 1] = -x[i]\n"
                                     "def y[i: N, j: 1] at [2*i + 1, j] = 100.0\n");
  neo_interp *p = test_interp(m, (int64_t[]){2});
  test_put_f(p, m, "x", (double[]){3, 5}, 2);
  assert_values(test_eval(p, m, "y"), (double[]){3, 3, 3, 100, -3, -3, 5, 5, 5, 100, -5, -5}, 12);
}

static void integers_floor_wrap_and_saturate(void **state) {
  neo_module *m =
      test_parse(*state, "input a : i32 [6]\ninput b : i32 [6]\ninput f : f32 [7]\n"
                         "temp q : i32 [6]\ntemp r : i32 [6]\ntemp w : i32 [6]\ntemp u : u8 [7]\n"
                         "temp s : i8 [7]\ntemp t : i64 [7]\ntemp n : u8 [6]\ntemp v : i8 [6]\n"
                         "def q[i: 6] = a[i] / b[i]\ndef r[i: 6] = a[i] % b[i]\n"
                         "def w[i: 6] = a[i] * 1000000000i32 + b[i]\n"
                         "def u[i: 7] = u8(f[i])\ndef s[i: 7] = i8(f[i])\ndef t[i: 7] = i64(f[i])\n"
                         "def n[i: 6] = u8(a[i])\ndef v[i: 6] = i8(a[i]) * 2i8\n");
  neo_interp *p = test_interp(m, NULL);
  double inf = (double)INFINITY;
  test_put_i(p, m, "a", (int64_t[]){7, -7, 7, -7, 5, INT32_MIN}, 6);
  test_put_i(p, m, "b", (int64_t[]){2, 2, -2, -2, 0, -1}, 6);
  test_put_f(p, m, "f", (double[]){2.9, -2.9, 300, -300, (double)NAN, inf, -inf}, 7);
  assert_ints(test_eval(p, m, "q"), (int64_t[]){3, -4, -4, 3, 0, INT32_MIN}, 6);
  assert_ints(test_eval(p, m, "r"), (int64_t[]){1, 1, -1, -1, 0, 0}, 6);
  int64_t w[6], a[6] = {7, -7, 7, -7, 5, INT32_MIN}, b[6] = {2, 2, -2, -2, 0, -1};
  for (int i = 0; i < 6; i++)
    w[i] = (int32_t)(uint32_t)(a[i] * 1000000000 + b[i]);
  assert_ints(test_eval(p, m, "w"), w, 6);
  assert_ints(test_eval(p, m, "u"), (int64_t[]){2, 0, 255, 0, 0, 255, 0}, 7);
  assert_ints(test_eval(p, m, "s"), (int64_t[]){2, -2, 127, -128, 0, 127, -128}, 7);
  assert_ints(test_eval(p, m, "t"), (int64_t[]){2, -2, 300, -300, 0, INT64_MAX, INT64_MIN}, 7);
  assert_ints(test_eval(p, m, "n"), (int64_t[]){7, 249, 7, 249, 5, 0}, 6);
  assert_ints(test_eval(p, m, "v"), (int64_t[]){14, -14, 14, -14, 10, 0}, 6);
}

static void sums_of_integers_wrap_to_their_type(void **state) {
  neo_module *m = test_parse(*state, "temp s : i32 []\ntemp p : i64 []\ntemp u : u8 []\n"
                                     "def s[] = sum[i: 3] 2000000000i32\n"
                                     "def p[] = prod[i: 70] 2\n"
                                     "def u[] = sum[i: 3] 100u8\n");
  neo_interp *p = test_interp(m, NULL);
  assert_ints(test_eval(p, m, "s"), (int64_t[]){(int32_t)(uint32_t)6000000000ULL}, 1);
  assert_ints(test_eval(p, m, "p"), (int64_t[]){0}, 1);
  assert_ints(test_eval(p, m, "u"), (int64_t[]){44}, 1);
}

static void rand_is_the_shared_generator(void **state) {
  neo_module *m = test_parse(*state, "sites 3\ninput x : f32 [1]\nparam w : f32 [2, 3]\n"
                                     "temp a : f32 [4]\ntemp l : f32 []\n"
                                     "init w[i: 2, j: 3] = rand(0, 3 * i + j)\n"
                                     "def a[i: 4] = rand(2, i) + x[0]\n"
                                     "def l[] = sum[i: 4] a[i]\n"
                                     "entry forward forward: a = a\nentry train step: l = l\n");
  neo_interp *p = test_interp(m, NULL);
  neo_str why;
  neo_str_init(&why, m->arena);
  test_put_f(p, m, "x", (double[]){0}, 1);
  const neo_values *w = neo_interp_tensor(p, neo_tensor_find(m, "w"));
  const neo_values *a = neo_interp_tensor(p, neo_tensor_find(m, "a"));
  for (uint32_t k = 0; k < 6; k++)
    assert_true(w->at[k].f == neo_rand_uniform(1, 0, 0, 0, k));
  for (uint32_t call = 0; call < 3; call++) {
    assert_int_equal(neo_interp_run(p, 0, &why), NEO_OK);
    for (uint32_t k = 0; k < 4; k++)
      assert_true(a->at[k].f == neo_rand_uniform(1, 0, 2, call, k));
  }
  for (uint32_t step = 0; step < 3; step++) {
    assert_int_equal(neo_interp_run(p, 1, &why), NEO_OK);
    for (uint32_t k = 0; k < 4; k++)
      assert_true(a->at[k].f == neo_rand_uniform(1, step, 2, 0, k));
  }
}

static void updates_take_effect_together_after_the_entry(void **state) {
  neo_module *m =
      test_parse(*state, "setting lr : f32 []\nparam w : f32 [2]\nstate v : f32 [2]\n"
                         "update w2 : f32 [2] of w\nupdate v2 : f32 [2] of v\ntemp loss : f32 []\n"
                         "temp t : bool []\ntemp n : i64 []\n"
                         "init lr[] = 0.5\ninit w[i: 2] = f32(i) + 1.0\n"
                         "def v2[i: 2] = w[i]\ndef w2[i: 2] = w[i] - lr[] * v[i] + v2[i]\n"
                         "def loss[] = sum[i: 2] w[i]\ndef t[] = training\ndef n[] = step\n"
                         "entry train step: loss = loss, w = w, t = t, n = n; updates w2, v2\n"
                         "entry forward next: t = t; updates v2\nentry grad grad: t = t\n");
  neo_interp *p = test_interp(m, NULL);
  neo_str why;
  neo_str_init(&why, m->arena);
  const neo_values *w = neo_interp_tensor(p, neo_tensor_find(m, "w"));
  const neo_values *v = neo_interp_tensor(p, neo_tensor_find(m, "v"));
  assert_values(w, (double[]){1, 2}, 2);
  assert_int_equal(neo_interp_run(p, 0, &why), NEO_OK);
  assert_values(neo_interp_output(p, 0), (double[]){3}, 1);
  assert_values(neo_interp_output(p, 1), (double[]){1, 2}, 2); /* as before the step */
  assert_ints(neo_interp_output(p, 2), (int64_t[]){1}, 1);
  assert_ints(neo_interp_output(p, 3), (int64_t[]){0}, 1);
  assert_values(w, (double[]){2, 4}, 2);
  assert_values(v, (double[]){1, 2}, 2);
  neo_interp_tensor(p, neo_tensor_find(m, "lr"))->at[0].f = 1;
  assert_int_equal(neo_interp_run(p, 0, &why), NEO_OK);
  assert_values(w, (double[]){3, 6}, 2);
  assert_values(v, (double[]){2, 4}, 2);
  assert_ints(neo_interp_output(p, 3), (int64_t[]){1}, 1);
  assert_int_equal(neo_interp_run(p, 1, &why), NEO_OK);
  assert_values(v, (double[]){3, 6}, 2);
  assert_ints(neo_interp_output(p, 0), (int64_t[]){0}, 1);
  assert_int_equal(neo_interp_run(p, 2, &why), NEO_OK);
  assert_ints(neo_interp_output(p, 0), (int64_t[]){1}, 1);
}

static void sizes_change_between_runs_and_parameters_stay(void **state) {
  neo_module *m = test_parse(*state, "size B 0..8\nsize P 0..4 = (B + 1) / 2\ninput x : f32 [B]\n"
                                     "param w : f32 [2]\ntemp y : f32 [P]\n"
                                     "init w[i: 2] = 1.0\n"
                                     "def y[i: P] = x[2*i] * w[0] + f32(B)\n");
  neo_interp *p = test_interp(m, (int64_t[]){3});
  test_put_f(p, m, "x", (double[]){1, 2, 3}, 3);
  test_put_f(p, m, "w", (double[]){10, 0}, 2);
  assert_values(test_eval(p, m, "y"), (double[]){13, 33}, 2);
  neo_interp_resize(p, (int64_t[]){0, 5, 0});
  test_put_f(p, m, "x", (double[]){1, 2, 3, 4, 5}, 5);
  assert_values(test_eval(p, m, "y"), (double[]){15, 35, 55}, 3);
  neo_interp_resize(p, (int64_t[]){0, 0, 0});
  test_put_f(p, m, "x", NULL, 0);
  assert_values(test_eval(p, m, "y"), NULL, 0);
}

static void initialisers_may_read_one_another_in_any_order(void **state) {
  neo_module *m = test_parse(*state, "param a : f32 [2]\nparam b : f32 [2]\ntemp c : f32 [2]\n"
                                     "const k : f32 [2] = {2.0, 3.0}\n"
                                     "init a[i: 2] = c[i] + 1.0\n"
                                     "def c[i: 2] = b[i] * 10.0\n"
                                     "init b[i: 2] = k[i]\n");
  neo_interp *p = test_interp(m, NULL);
  assert_values(neo_interp_tensor(p, neo_tensor_find(m, "a")), (double[]){21, 31}, 2);
}

static void training_of_a_small_regression_converges(void **state) {
  neo_module *m =
      test_parse(*state, "input x : f32 [8]\ninput y : f32 [8]\nparam w : f32 []\n"
                         "update w2 : f32 [] of w\ntemp loss : f32 []\ntemp dw : f32 []\n"
                         "init w[] = 0.0\n"
                         "def loss[] = mean[i: 8] (w[] * x[i] - y[i]) * (w[] * x[i] - y[i])\n"
                         "def dw[] = mean[i: 8] 2.0 * x[i] * (w[] * x[i] - y[i])\n"
                         "def w2[] = w[] - 0.05 * dw[]\n"
                         "entry train step: loss = loss; updates w2\n");
  neo_interp *p = test_interp(m, NULL);
  neo_str why;
  neo_str_init(&why, m->arena);
  test_put_f(p, m, "x", (double[]){1, 2, 3, 4, -1, -2, -3, -4}, 8);
  test_put_f(p, m, "y", (double[]){3, 6, 9, 12, -3, -6, -9, -12}, 8);
  for (int k = 0; k < 50; k++)
    assert_int_equal(neo_interp_run(p, 0, &why), NEO_OK);
  assert_true(fabs(neo_interp_tensor(p, neo_tensor_find(m, "w"))->at[0].f - 3) < 1e-5);
}

/* Reads that move evenly along the last axis are stepped through; with a condition they are not. */
static void sums_that_step_through_memory_are_those_of_single_reads(void **state) {
  neo_module *m = test_parse(*state, "input X : f32 [6, 9]\n"
                                     "input W : f32 [9, 6]\n"
                                     "temp a : f32 [6, 9]\n"
                                     "temp b : f32 [6, 9]\n"
                                     "temp y : f32 [6, 3]\n"
                                     "temp z : f32 [6, 3]\n"
                                     "def a[i: 6, k: 9] = exp(X[i, k])\n"
                                     "def b[i: 6, k: 9] = exp(X[i, k])\n"
                                     "def y[i: 6, j: 3] =\n"
                                     "    sum[c: 2, k: 1..4] a[i, 2*k + c] * W[j + k + c, 5 - i]\n"
                                     "def z[i: 6, j: 3] =\n"
                                     "    sum[c: 2, k: 1..4]\n"
                                     "    where k < 9;\n"
                                     "    b[i, 2*k + c] * W[j + k + c, 5 - i]\n");
  double x[54], w[54];
  fill(x, 54, 6), fill(w, 54, 7);
  w[11] = INFINITY;
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "X", x, 54);
  test_put_f(p, m, "W", w, 54);
  neo_interp_track_errors(p, true);
  const neo_values *y = test_eval(p, m, "y"), *z = test_eval(p, m, "z");
  const double *ey = neo_interp_errors(p, neo_tensor_find(m, "y"));
  const double *ez = neo_interp_errors(p, neo_tensor_find(m, "z"));
  for (int k = 0; k < 18; k++) {
    assert_true(y->at[k].f == z->at[k].f);
    assert_true(ey[k] == ez[k] || fabs(ey[k] - ez[k]) < 1e-12 * ez[k]);
    assert_true(ey[k] > 0 || !isfinite(y->at[k].f));
  }
}

/* inf*1 + inf*-2 is NaN, inf*(1 + -2) is -inf: a factor may leave the sum. The sum of terms that
 * are no products is certain, and what is made of an uncertain one is not. */
static void a_sum_of_products_with_an_infinity_promises_nothing(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [2]\n"
                                     "temp s : f32 []\n"
                                     "temp t : f32 []\n"
                                     "temp p : f32 []\n"
                                     "def s[] =\n"
                                     "    sum[i: 2] x[0] * x[i]\n"
                                     "def t[] =\n"
                                     "    sum[i: 2] x[i]\n"
                                     "def p[] =\n"
                                     "    prod[i: 2] s[]\n");
  double x[2] = {INFINITY, -2};
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 2);
  neo_interp_track_errors(p, true);
  test_eval(p, m, "s"), test_eval(p, m, "t"), test_eval(p, m, "p");
  assert_true(isinf(neo_interp_errors(p, neo_tensor_find(m, "s"))[0]));
  assert_true(isinf(neo_interp_errors(p, neo_tensor_find(m, "p"))[0]));
  const double *certain = neo_interp_errors(p, neo_tensor_find(m, "t"));
  assert_true(!certain || certain[0] == 0);
}

/* The factor may be a divisor or a sign: inf/1 + inf/-2 is NaN, inf*(1/1 + 1/-2) is infinite. */
static void a_sum_of_quotients_or_negations_with_an_infinity_promises_nothing(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [2]\n"
                                     "input d : f32 []\n"
                                     "temp q : f32 []\n"
                                     "temp n : f32 []\n"
                                     "def q[] =\n"
                                     "    sum[i: 2] x[i] / d[]\n"
                                     "def n[] =\n"
                                     "    sum[i: 2] -x[i]\n");
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", (double[]){INFINITY, -2}, 2);
  test_put_f(p, m, "d", (double[]){4}, 1);
  neo_interp_track_errors(p, true);
  test_eval(p, m, "q"), test_eval(p, m, "n");
  assert_true(isinf(neo_interp_errors(p, neo_tensor_find(m, "q"))[0]));
  assert_true(isinf(neo_interp_errors(p, neo_tensor_find(m, "n"))[0]));
}

/* A value a little further away rounds to an infinity. */
static void a_bound_at_the_largest_number_of_its_type_promises_nothing(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [2]\n"
                                     "temp s : f32 []\n"
                                     "temp h : f16 []\n"
                                     "def s[] =\n"
                                     "    sum[i: 2] x[i]\n"
                                     "def h[] = f16(s[])\n");
  neo_interp *p = test_interp(m, NULL);
  neo_interp_track_errors(p, true);
  for (int k = 0; k < 2; k++) {
    test_put_f(p, m, "x", (double[]){k ? 100.1 : 65400.3, 90}, 2);
    assert_true(isfinite(test_eval(p, m, "h")->at[0].f));
    assert_true(isinf(neo_interp_errors(p, neo_tensor_find(m, "h"))[0]) == !k);
  }
}

/* The second sum may be NaN or infinite, so it may win or not. */
static void a_position_among_uncertain_values_promises_nothing(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [2, 2]\n"
                                     "temp s : f32 [2]\n"
                                     "temp v : f32 []\n"
                                     "temp i : i64 []\n"
                                     "def s[r: 2] =\n"
                                     "    sum[k: 2] x[r, 0] * x[r, k]\n"
                                     "def (v, i)[] =\n    max[k: 2] s[k], k\n"
                                     "    then acc0, acc1\n");
  neo_interp *p = test_interp(m, NULL);
  neo_interp_track_errors(p, true);
  for (int k = 0; k < 3; k++) {
    double x[4] = {k == 1 ? 1 : (double)INFINITY, -2, k ? (double)INFINITY : 1, -2};
    test_put_f(p, m, "x", x, 4);
    test_eval(p, m, "s"), test_eval(p, m, "i");
    assert_true(isinf(neo_interp_errors(p, neo_tensor_find(m, "i"))[0]));
  }
}

static void disturbed_sums_differ_by_what_rounding_may_do(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [64]\n"
                                     "temp s : f32 []\n"
                                     "def s[] =\n"
                                     "    sum[i: 64] x[i]\n");
  double x[64];
  for (int k = 0; k < 64; k++)
    x[k] = k % 2 ? 1000 : -1000;
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 64);
  assert_true(test_eval(p, m, "s")->at[0].f == 0);
  neo_interp_disturb(p, 1);
  double off = fabs(test_eval(p, m, "s")->at[0].f);
  assert_true(off > 0 && off <= 0x1p-24 * 64 * 1000);
}

/* The difference of a probability from 1 is rounding alone if it is 1 to the last place, and so is
 * its sign. */
static void disturbed_elements_differ_in_the_last_place(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [2]\n"
                                     "temp s : f32 []\ntemp p : f32 [2]\ntemp c : f32 [2]\n"
                                     "def s[] =\n    logsumexp[i: 2] x[i]\n"
                                     "def p[i: 2] =\n    exp(x[i] - s[])\n"
                                     "def c[i: 2] =\n    select(x[i] < 0.0, -x[i], x[i])\n");
  double x[2] = {300, -300};
  bool up = false, down = false;
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 2);
  test_eval(p, m, "s");
  assert_true(test_eval(p, m, "p")->at[0].f == 1);
  for (uint64_t seed = 1; seed <= 40; seed++) {
    neo_interp_disturb(p, seed);
    assert_true(fabs(test_eval(p, m, "s")->at[0].f - 300) <= 0x1p-14);
    double one = test_eval(p, m, "p")->at[0].f;
    up = up || one > 1, down = down || one < 1;
    assert_true(fabs(one - 1) < 0x1p-13);
    assert_true(test_eval(p, m, "c")->at[1].f == 300);
  }
  assert_true(up && down);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_product_of_matrices_with_bias_is_right),
      TEST(disturbed_elements_differ_in_the_last_place),
      TEST(products_of_converted_reads_are_those_taken_one_by_one),
      TEST(a_padded_strided_convolution_is_right),
      TEST(softmax_sums_to_one_and_matches_exp),
      TEST(the_first_of_equals_wins_and_nan_wins_all),
      TEST(nothing_reduced_gives_the_documented_values),
      TEST(a_condition_selects_what_is_reduced),
      TEST(a_bound_may_be_an_element_and_an_index_too),
      TEST(what_breaks_a_bound_or_leaves_a_tensor_is_reported),
      TEST(what_is_not_selected_is_not_evaluated),
      TEST(a_guarded_read_takes_its_other_value_outside),
      TEST(pieces_fill_their_images),
      TEST(integers_floor_wrap_and_saturate),
      TEST(sums_of_integers_wrap_to_their_type),
      TEST(rand_is_the_shared_generator),
      TEST(updates_take_effect_together_after_the_entry),
      TEST(sizes_change_between_runs_and_parameters_stay),
      TEST(initialisers_may_read_one_another_in_any_order),
      TEST(training_of_a_small_regression_converges),
      TEST(sums_that_step_through_memory_are_those_of_single_reads),
      TEST(a_sum_of_products_with_an_infinity_promises_nothing),
      TEST(a_sum_of_quotients_or_negations_with_an_infinity_promises_nothing),
      TEST(a_bound_at_the_largest_number_of_its_type_promises_nothing),
      TEST(a_position_among_uncertain_values_promises_nothing),
      TEST(disturbed_sums_differ_by_what_rounding_may_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

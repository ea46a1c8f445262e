/* Results of checked programs in the reference interpreter: values against loops written by
 * hand, and that no read which was proved in range ever falls outside. */
#include "base/random.h"
#include "frontend/frontend.h"
#include "ir/interp/interp.h"
#include "parse_test.h"
#include <dirent.h>
#include <math.h>
#include <string.h>

static const char *const folders[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_interp *p;
} running;

static void start(running *r, const char *text, int64_t size) {
  int64_t sizes[16];
  neo_arena_init(&r->arena, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(&r->arena, neo_sources_new(&r->arena));
  neo_frontend_options o = {.import_paths = folders};
  r->m = neo_frontend(&r->arena, neo_names_new(&r->arena), d, "m.expr", text, strlen(text), &o);
  neo_str s;
  neo_str_init(&s, &r->arena);
  neo_diags_print(d, &s, false);
  if (!r->m)
    fail_msg("%s", neo_str_text(&s));
  for (uint32_t k = 1; k < r->m->sizes.n && k < 16; k++) { /* clamped to what is declared */
    int64_t lo = r->m->sizes.at[k].lo, hi = r->m->sizes.at[k].hi;
    sizes[k] = size < lo ? lo : size > hi ? hi : size;
  }
  r->p = neo_interp_new(&r->arena, r->m, sizes, 7);
}

static void finish(running *r) {
  neo_arena_free(&r->arena);
}

static neo_values *values_of(running *r, const char *name) {
  neo_tensor t = neo_tensor_find(r->m, name);
  if (!t.i)
    fail_msg("no tensor %s", name);
  return neo_interp_tensor(r->p, t);
}

/* Numbers in [-2, 2], integers below their bound. */
static void fill_inputs(running *r, uint64_t seed) {
  for (uint32_t k = 1; k < r->m->tensors.n; k++) {
    neo_tensor t = {k};
    const neo_tensor_rec *rec = neo_tensor_at(r->m, t);
    int64_t bound = 100;
    if (rec->role != NEO_ROLE_INPUT)
      continue;
    if (rec->bound.i)
      assert_true(neo_expr_is_int(r->m, rec->bound, &bound));
    if (rec->type == NEO_BOOL_T)
      bound = 2;
    neo_values *v = neo_interp_tensor(r->p, t);
    for (int64_t j = 0; j < v->n; j++) {
      uint64_t x = neo_splitmix(&seed);
      if (neo_type_is_float((neo_type)rec->type))
        v->at[j].f = (double)(x % 17) / 4 - 2;
      else
        v->at[j].i = (int64_t)(x % (uint64_t)bound);
    }
    v->known = true;
  }
}

static const neo_values *evaluate(running *r, const char *name) {
  neo_str why;
  neo_tensor t = neo_tensor_find(r->m, name);
  neo_str_init(&why, &r->arena);
  if (!t.i)
    fail_msg("no tensor %s", name);
  if (neo_interp_eval(r->p, &t, 1, false, &why) != NEO_OK)
    fail_msg("%s", neo_str_text(&why));
  return neo_interp_tensor(r->p, t);
}

static void close_to(double is, double want) {
  if (!(fabs(is - want) <= 1e-5 * (1 + fabs(want))))
    fail_msg("is %.9g, not %.9g", is, want);
}

/* ---- by hand */

static double padded(const neo_values *x, int n, int c, int p, int q) {
  bool inside = p >= 0 && p < x->extent[2] && q >= 0 && q < x->extent[3];
  return inside ? x->at[((n * x->extent[1] + c) * x->extent[2] + p) * x->extent[3] + q].f : 0;
}

static void test_convolution_is_that_of_the_textbook(void **state) {
  running r;
  (void)state;
  start(&r,
        "import nn\ninput x[2, 3, 7, 6]\ninput f[4, 3, 3, 2]\n"
        "y = nn.conv2d(x, f, stride = 2, pad = 1, dilation = 2)\noutput y\n",
        1);
  fill_inputs(&r, 3);
  const neo_values *y = evaluate(&r, "y"), *x = values_of(&r, "x"), *f = values_of(&r, "f");
  assert_int_equal(y->extent[2], 3);
  assert_int_equal(y->extent[3], 3);
  for (int at = 0; at < y->n; at++) {
    int q = at % 3, p = at / 3 % 3, k = at / 9 % 4, n = at / 36;
    double s = 0;
    for (int c = 0; c < 3; c++)
      for (int a = 0; a < 3; a++)
        for (int b = 0; b < 2; b++)
          s += f->at[((k * 3 + c) * 3 + a) * 2 + b].f *
               padded(x, n, c, 2 * p + 2 * a - 1, 2 * q + 2 * b - 1);
    close_to(y->at[at].f, s);
  }
  finish(&r);
}

static void test_causal_attention_looks_back_only(void **state) {
  enum { T = 4, K = 3 };
  running r;
  (void)state;
  start(&r,
        "import nn\ninput q[1, 4, 1, 3]\ninput k[1, 4, 1, 3]\ninput v[1, 4, 1, 3]\n"
        "y = nn.dot_attention(q, k, v, causal = true)\noutput y\n",
        1);
  fill_inputs(&r, 5);
  const neo_values *y = evaluate(&r, "y"), *q = values_of(&r, "q"), *k = values_of(&r, "k"),
                   *v = values_of(&r, "v");
  for (int i = 0; i < T; i++)
    for (int e = 0; e < K; e++) {
      double total = 0, s = 0;
      for (int j = 0; j <= i; j++) {
        double dot = 0;
        for (int d = 0; d < K; d++)
          dot += q->at[i * K + d].f * k->at[j * K + d].f;
        total += exp(dot / sqrt(K));
        s += exp(dot / sqrt(K)) * v->at[j * K + e].f;
      }
      close_to(y->at[i * K + e].f, s / total);
    }
  finish(&r);
}

static void test_a_repeat_uses_its_own_parameters_in_each_round(void **state) {
  running r;
  (void)state;
  start(&r,
        "input x[2]\ny, s = repeat l < 3 from y = x {\n"
        "  param w[2] = f32(l + 1)\n  next y[i] = y[i]*w[i] + f32(l)\n  collect w\n}\n"
        "output y, s\n",
        1);
  fill_inputs(&r, 1);
  const neo_values *y = evaluate(&r, "y"), *s = evaluate(&r, "s"), *x = values_of(&r, "x");
  for (int i = 0; i < 2; i++)
    close_to(y->at[i].f, (x->at[i].f * 2 + 1) * 3 + 2);
  for (int l = 0; l < 3; l++)
    close_to(s->at[2 * l].f, l + 1);
  finish(&r);
}

static void test_a_hoisted_reducer_means_what_stands_there(void **state) {
  running r;
  (void)state;
  start(&r,
        "input x[5]\ny[i < 5] = select(i > 0, sum[j < i] x[j]*x[i - 1], 10) + max[j <= i] x[j]\n"
        "z[i] = x[i]/(1 + sum[j] x[j]^2)\noutput y, z\n",
        1);
  fill_inputs(&r, 9);
  const neo_values *y = evaluate(&r, "y"), *z = evaluate(&r, "z"), *x = values_of(&r, "x");
  double squares = 0, best = -INFINITY, sum = 0;
  for (int j = 0; j < 5; j++)
    squares += x->at[j].f * x->at[j].f;
  for (int i = 0; i < 5; i++) {
    best = fmax(best, x->at[i].f);
    close_to(y->at[i].f, (i > 0 ? sum * x->at[i - 1].f : 10) + best);
    close_to(z->at[i].f, x->at[i].f / (1 + squares));
    sum += x->at[i].f;
  }
  finish(&r);
}

static double element_or(const neo_values *x, int at, double other) {
  return at >= 0 && at < x->n ? x->at[at].f : other;
}

static void test_a_reducer_within_a_range_from_below_0_is_that_of_each_index(void **state) {
  running r;
  (void)state;
  start(
      &r,
      "dim N <= 8\ninput x[N]\n"
      "y[i < N] = sum[-2 <= d < 2] (1 + max[k < 3] (x[i + d + k] else 9))\n"
      "z[i < N] = sum[-N <= d < 1] (1 + sum[d - 1 <= e < 1] (1 + max[k < 2] (x[i + e + k] else 0.5)))\n"
      "output y, z\n",
      5);
  fill_inputs(&r, 3);
  const neo_values *y = evaluate(&r, "y"), *z = evaluate(&r, "z"), *x = values_of(&r, "x");
  for (int i = 0; i < 5; i++) {
    double want_y = 0, want_z = 0;
    for (int d = -2; d < 2; d++)
      want_y += 1 + fmax(element_or(x, i + d, 9),
                         fmax(element_or(x, i + d + 1, 9), element_or(x, i + d + 2, 9)));
    for (int d = -5; d < 1; d++, want_z += 1)
      for (int e = d - 1; e < 1; e++)
        want_z += 1 + fmax(element_or(x, i + e, 0.5), element_or(x, i + e + 1, 0.5));
    close_to(y->at[i].f, want_y);
    close_to(z->at[i].f, want_z);
  }
  finish(&r);
}

static void test_a_call_at_an_index_below_0_is_that_of_its_element(void **state) {
  running r;
  (void)state;
  start(&r,
        "input x[5]\nfn f(a) -> y {\n  t = a*a\n  y = t + a\n}\n"
        "y[i < 5] = sum[-1 <= d < 2] f((x[i + d] else 3))*f32(d + 2)\n"
        "z[i < 5] = sum[-1 <= d < 2 where i + d >= 0 and i + d < 5] f(x[i + d])\noutput y, z\n",
        1);
  fill_inputs(&r, 2);
  const neo_values *y = evaluate(&r, "y"), *z = evaluate(&r, "z"), *x = values_of(&r, "x");
  for (int i = 0; i < 5; i++) {
    double want_y = 0, want_z = 0;
    for (int d = -1; d < 2; d++) {
      double a = element_or(x, i + d, 3), b = element_or(x, i + d, 0);
      want_y += (a * a + a) * (d + 2);
      want_z += b * b + b;
    }
    close_to(y->at[i].f, want_y);
    close_to(z->at[i].f, want_z);
  }
  finish(&r);
}

/* The range of j is longest where k is least, which is not where k begins for the definition that
 * sum[j] becomes. */
static void test_a_reducer_reads_another_in_range_wherever_it_is_computed(void **state) {
  running r;
  (void)state;
  start(
      &r,
      "dim N <= 8\ninput x[N]\n"
      "y[i < N] = sum[2 <= k < N] (1 + sum[j < N + 2 - k] (1 + x[i]*max[c < 2] (x[j + c] else 1)))\n"
      "output y\n",
      5);
  fill_inputs(&r, 3);
  const neo_values *y = evaluate(&r, "y"), *x = values_of(&r, "x");
  for (int i = 0; i < 5; i++) {
    double want = 0;
    for (int k = 2; k < 5; k++, want += 1)
      for (int j = 0; j < 7 - k; j++)
        want += 1 + fmax(element_or(x, j, 1), element_or(x, j + 1, 1)) * x->at[i].f;
    close_to(y->at[i].f, want);
  }
  finish(&r);
}

/* sum[m] becomes a definition without p, and is computed where p has no value. */
static void test_a_definition_reads_nothing_where_an_axis_around_it_has_no_values(void **state) {
  running r;
  (void)state;
  start(&r,
        "dim 0 <= M <= 4\ninput w[M, 2]\ninput x[3]\n"
        "fn f(a) -> y {\n  t = a*a\n  y = t + 1\n}\n"
        "a = sum[i < 8, i <= p < 3] f(x[i])\n"
        "b = sum[i < 8, i <= p < 3] (1 + max[k < 2] x[i]*f32(k))\n"
        "c = sum[p < M] (1 + sum[m] w[0, m])\nd = sum[p < M] f(w[M - 1, 0])\n"
        "output a, b, c, d\n",
        0);
  fill_inputs(&r, 4);
  const neo_values *a = evaluate(&r, "a"), *b = evaluate(&r, "b"), *x = values_of(&r, "x");
  double want_a = 0, want_b = 0;
  for (int i = 0; i < 3; i++) {
    want_a += (3 - i) * (x->at[i].f * x->at[i].f + 1);
    want_b += (3 - i) * (1 + fmax(0, x->at[i].f));
  }
  close_to(a->at[0].f, want_a);
  close_to(b->at[0].f, want_b);
  close_to(evaluate(&r, "c")->at[0].f, 0);
  close_to(evaluate(&r, "d")->at[0].f, 0);
  finish(&r);
}

static void test_a_position_that_may_be_below_0_has_no_bound(void **state) {
  running r;
  (void)state;
  start(&r,
        "input x[5]\nm = argmax[-1 <= k < 5] (x[k] else 99)\nz = (x[m] else 7)\n"
        "n = argmax[-1 <= k < 5 where k >= 0] x[k]\nu = x[n]\n"
        "e = argmin[-3 <= k < -1] 1.0\nv = (x[e + 4] else 7)\n"
        "p = argmax[-1 <= i < 2, -2 <= j < 2] f32(i == 0 and j == -1)\noutput z, u, v, p\n",
        1);
  fill_inputs(&r, 4);
  assert_false(neo_tensor_at(r.m, neo_tensor_find(r.m, "m"))->bound.i);
  assert_int_equal(evaluate(&r, "m")->at[0].i, -1);
  close_to(evaluate(&r, "z")->at[0].f, 7);
  assert_true(neo_tensor_at(r.m, neo_tensor_find(r.m, "n"))->bound.i);
  const neo_values *n = evaluate(&r, "n"), *x = values_of(&r, "x");
  close_to(evaluate(&r, "u")->at[0].f, x->at[n->at[0].i].f);
  assert_int_equal(evaluate(&r, "e")->at[0].i, -3);
  close_to(evaluate(&r, "v")->at[0].f, x->at[1].f);
  assert_int_equal(evaluate(&r, "p")->at[0].i, -1);
  finish(&r);
}

static void test_the_bound_of_an_extremum_holds_wherever_it_is_computed(void **state) {
  running r;
  (void)state;
  start(&r,
        "input x[5]\n"
        "y[i < 4] = select(i >= 2, x[min[k < 3] (i - 2 + k)], 9)\n"
        "z[i < 4] = select(i < 2, x[max[k < 3] abs(i + k)], 9)\n"
        "u[i < 4] = select(i >= 1, x[argmin[i - 1 <= k < i + 1] x[k]], 9)\noutput y, z, u\n",
        1);
  fill_inputs(&r, 4);
  const neo_values *y = evaluate(&r, "y"), *z = evaluate(&r, "z"), *u = evaluate(&r, "u"),
                   *x = values_of(&r, "x");
  for (int i = 0; i < 4; i++) {
    close_to(y->at[i].f, i >= 2 ? x->at[i - 2].f : 9);
    close_to(z->at[i].f, i < 2 ? x->at[i + 2].f : 9);
    close_to(u->at[i].f, i >= 1 ? fmin(x->at[i - 1].f, x->at[i].f) : 9);
  }
  finish(&r);
}

static void test_a_function_of_an_element_is_applied_to_each(void **state) {
  running r;
  (void)state;
  start(&r,
        "input x[6]\nfn f(a) -> y {\n  s = sum[k < 3] a*f32(k)\n  y = s^2 + a\n}\n"
        "y[i < 8] = select(i < 6, f(x[i]), -1)\n"
        "t = sum[i < 6] (sum[j <= i] f(x[j]))\noutput y, t\n",
        1);
  fill_inputs(&r, 2);
  const neo_values *y = evaluate(&r, "y"), *t = evaluate(&r, "t"), *x = values_of(&r, "x");
  double total = 0;
  for (int i = 0; i < 8; i++) {
    double a = i < 6 ? x->at[i].f : 0;
    close_to(y->at[i].f, i < 6 ? 9 * a * a + a : -1);
    if (i < 6)
      total += (6 - i) * (9 * a * a + a);
  }
  close_to(t->at[0].f, total);
  finish(&r);
}

static void test_softmax_and_losses_agree(void **state) {
  running r;
  (void)state;
  start(&r,
        "import nn\ndim B <= 8\ninput l[B, 5]\ninput y[B] : i32 < 5\ns = nn.softmax(l)\n"
        "ce = nn.cross_entropy(l, y)\nlog_s = mean[b] -log(s[b, y[b]])\noutput ce, log_s\n",
        6);
  fill_inputs(&r, 4);
  close_to(evaluate(&r, "ce")->at[0].f, evaluate(&r, "log_s")->at[0].f);
  const neo_values *s = evaluate(&r, "s");
  for (int b = 0; b < 6; b++) {
    double sum = 0;
    for (int c = 0; c < 5; c++)
      sum += s->at[b * 5 + c].f;
    close_to(sum, 1);
  }
  finish(&r);
}

/* ---- every proof holds */

static bool needs_gradient(const neo_module *m, const neo_entry_rec *e) {
  return e->kind != NEO_ENTRY_FORWARD || (m->grads.n && neo_tensor_find(m, "dW").i);
}

static void run_all(const char *text, const char *name, int64_t size) {
  running r;
  neo_str why;
  start(&r, text, size);
  neo_str_init(&why, &r.arena);
  fill_inputs(&r, (uint64_t)size + 11);
  for (uint32_t k = 0; k < r.m->entries.n; k++) {
    if (needs_gradient(r.m, &r.m->entries.at[k]))
      continue;
    if (neo_interp_run(r.p, k, &why) != NEO_OK)
      fail_msg("%s at %d: %s", name, (int)size, neo_str_text(&why));
  }
  finish(&r);
}

static void test_no_read_that_was_proved_falls_outside(void **state) {
  static const char folder[] = NEO_TEST_SOURCE_DIR "/tests/golden/check";
  neo_arena a;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    char *text;
    size_t n;
    if (!strstr(e->d_name, ".expr") || strstr(e->d_name, "mlp"))
      continue;
    assert_int_equal(
        neo_file_read(&neo_io_default, &a, neo_path_join(&a, folder, e->d_name), 0, &text, &n),
        NEO_OK);
    run_all(text, e->d_name, 1);
    run_all(text, e->d_name, 3);
  }
  closedir(dir);
  neo_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_convolution_is_that_of_the_textbook),
      cmocka_unit_test(test_causal_attention_looks_back_only),
      cmocka_unit_test(test_a_repeat_uses_its_own_parameters_in_each_round),
      cmocka_unit_test(test_a_hoisted_reducer_means_what_stands_there),
      cmocka_unit_test(test_a_reducer_within_a_range_from_below_0_is_that_of_each_index),
      cmocka_unit_test(test_a_call_at_an_index_below_0_is_that_of_its_element),
      cmocka_unit_test(test_a_reducer_reads_another_in_range_wherever_it_is_computed),
      cmocka_unit_test(test_a_definition_reads_nothing_where_an_axis_around_it_has_no_values),
      cmocka_unit_test(test_a_position_that_may_be_below_0_has_no_bound),
      cmocka_unit_test(test_the_bound_of_an_extremum_holds_wherever_it_is_computed),
      cmocka_unit_test(test_a_function_of_an_element_is_applied_to_each),
      cmocka_unit_test(test_softmax_and_losses_agree),
      cmocka_unit_test(test_no_read_that_was_proved_falls_outside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

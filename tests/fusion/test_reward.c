/* Groups by reward: near the optimum, always legal, in time that grows with the graph. */
#include "ir/print.h"
#include "tests/fusion/graphs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Loss: how much more the groups found cost than the best ones. */
static void greedy_is_near_the_optimum_of_small_graphs(void **state) {
  (void)state;
  enum { GRAPHS = 150 };
  double loss[GRAPHS];
  size_t n = 0;
  for (uint64_t seed = 1; n < GRAPHS; seed++) {
    neo_arena a;
    fuser q;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_module *m = graph_make(&a, seed, 3 + (uint32_t)(seed % 6));
    double best = graph_optimum(m, &a, NULL);
    if (best > 0) {
      fuse_begin(&q, m, &a, NULL, FUSE_EVERY, NULL);
      fuse_greedy(&q);
      loss[n++] = fuse_total(&q) / best - 1;
      if (getenv("NEO_TEST_VERBOSE") && loss[n - 1] > 0.02)
        printf("seed %llu: loss %.4f\n", (unsigned long long)seed, loss[n - 1]);
      assert_true(loss[n - 1] > -1e-9);
    }
    neo_arena_free(&a);
  }
  qsort(loss, GRAPHS, sizeof *loss, by_value);
  printf("loss against the optimum: median %.4f, 90 %% of the graphs below %.4f, at most %.4f\n",
         loss[GRAPHS / 2], loss[GRAPHS * 9 / 10], loss[GRAPHS - 1]);
  assert_true(loss[GRAPHS / 2] < 1e-9);
  assert_true(loss[GRAPHS * 9 / 10] < 0.1);
}

/* All sequences of moves of the table, uphill ones too, against all states and against the
 * search. */
static void moves_reach_the_optimum_of_most_small_graphs(void **state) {
  (void)state;
  enum { GRAPHS = 40, MOST_BEYOND = 8 };
  const double equal = 1 + 1e-9;
  size_t n = 0, beyond = 0, lost = 0;
  for (uint64_t seed = 1; n < GRAPHS; seed++) {
    neo_arena a;
    fuser q;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_module *m = graph_make(&a, seed, 3 + (uint32_t)(seed % 3));
    double best = graph_optimum(m, &a, NULL);
    if (best > 0) {
      double reached = graph_best_of_moves(m, &a, NULL);
      fuse_begin(&q, m, &a, NULL, FUSE_EVERY, NULL);
      fuse_greedy(&q);
      assert_true(best <= reached * equal && reached <= fuse_total(&q) * equal);
      beyond += reached > best * equal; /* kernels that have nothing in common save a launch */
      lost += fuse_total(&q) > reached * equal;
      n++;
    }
    neo_arena_free(&a);
  }
  assert_true(beyond <= MOST_BEYOND && lost <= MOST_BEYOND);
}

static void groups_of_random_graphs_can_run(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    neo_arena a;
    fuser q;
    const char *why = "";
    neo_arena_init(&a, neo_alloc_default, NULL);
    fuse_begin(&q, graph_make(&a, seed, 11), &a, NULL, FUSE_EVERY, NULL);
    double before = fuse_total(&q);
    fuse_greedy(&q);
    if (!graph_is_legal(&q, &why))
      fail_msg("seed %llu: %s", (unsigned long long)seed, why);
    assert_true(fuse_total(&q) <= before);
    neo_arena_free(&a);
  }
}

/* Whatever is switched off, or asked for. */
static void options_are_obeyed(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++)
    for (uint32_t kind = 0; kind <= NEO_FUSE_KINDS; kind++) {
      neo_arena a;
      fuser q;
      const char *why = "";
      neo_fuse_options o = {.off = kind < NEO_FUSE_KINDS ? 1u << kind : ~0u};
      neo_arena_init(&a, neo_alloc_default, NULL);
      fuse_begin(&q, graph_make(&a, seed, 11), &a, &o, FUSE_EVERY, NULL);
      fuse_greedy(&q);
      assert_true(graph_is_legal(&q, &why));
      for (size_t g = 0; g < q.groups.n; g++) {
        fuse_parts p;
        const fuse_group *x = &q.groups.at[g];
        if (x->members.n < 2)
          continue;
        assert_true(fuse_parts_of(&q, x->members.at, x->members.n, &p, &why));
        assert_true(kind < NEO_FUSE_KINDS && fuse_kind_of(&q, &p) != (neo_fuse_kind)kind);
      }
      neo_arena_free(&a);
    }
}

/* A chain of n cells, each a product and elementwise work that reads a state and shared weights. */
static uint64_t work_of_cells(uint32_t n) {
  neo_arena a;
  neo_str s;
  fuser q;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&s, &a);
  neo_str_add(&s, "input X : f32 [16, 64]\nparam W : f32 [64, 64]\nupdate V : f32 [64, 64] of W\n"
                  "init W[i: 64, j: 64] = 0.5\ntemp h0 : f32 [16, 64]\n");
  for (uint32_t k = 1; k <= n; k++)
    neo_str_addf(&s, "temp p%u : f32 [16, 64]\ntemp g%u : f32 [16, 64]\ntemp h%u : f32 [16, 64]\n",
                 k, k, k);
  neo_str_add(&s, "def h0[b: 16, j: 64] = X[b, j]\n");
  for (uint32_t k = 1; k <= n; k++)
    neo_str_addf(&s,
                 "def p%u[b: 16, j: 64] =\n  sum[i: 64] h%u[b, i] * W[i, j]\n  then acc0\n"
                 "def g%u[b: 16, j: 64] = tanh(p%u[b, j] + X[b, j])\n"
                 "def h%u[b: 16, j: 64] = g%u[b, j] * h%u[b, j]\n",
                 k, k - 1, k, k, k, k, k - 1);
  neo_str_addf(&s,
               "def V[i: 64, j: 64] =\n  sum[b: 16] X[b, i] * h%u[b, j]\n  then W[i, j] - acc0\n"
               "entry train step: y = h%u; updates V\n",
               n, n);
  fuse_begin(&q, graph_parse(&a, neo_str_text(&s)), &a, NULL, FUSE_EVERY, NULL);
  fuse_greedy(&q);
  const char *why = "";
  if (n < 300)
    assert_true(graph_is_legal(&q, &why));
  uint64_t work = q.n_priced + q.n_searched;
  neo_arena_free(&a);
  return work;
}

static void work_grows_with_the_graph_not_its_square(void **state) {
  (void)state;
  uint64_t few = work_of_cells(250), many = work_of_cells(2000);
  assert_true(few > 250);
  assert_in_range(many, 1, 10 * few);
}

static void memory_that_is_kept_has_a_limit(void **state) {
  (void)state;
  static const char text[] =
      "input X : f32 [1024, 1024]\nparam w : f32 [1024, 1024]\nupdate v : f32 [1024, 1024] of w\n"
      "init w[i: 1024, j: 1024] = 0.5\ntemp a : f32 [1024, 1024]\ntemp b : f32 [1024, 1024]\n"
      "temp c : f32 [1024, 1024]\n"
      "temp l : f32 []\ntemp d : f32 [1024, 1024]\n"
      "def a[i: 1024, j: 1024] =\n  sum[k: 1024] X[i, k] * w[k, j]\n  then acc0\n"
      "def b[i: 1024, j: 1024] = tanh(sin(cos(tanh(sin(cos(tanh(a[i, j])))))))\n"
      "def c[i: 1024, j: 1024] = sin(tanh(cos(tanh(sin(cos(tanh(a[i, j])))))))\n"
      "def l[] =\n  sum[i: 1024, j: 1024] b[i, j] * c[j, i]\n  then acc0\n"
      "def d[i: 1024, j: 1024] =\n  sum[k: 1024] X[k, i] * b[k, j]\n  then acc0\n"
      "def v[i: 1024, j: 1024] = w[i, j] - d[i, j] * c[j, i] * a[j, i]\n"
      "entry train step: l = l; updates v\n";
  double kept[2];
  for (int small = 0; small < 2; small++) {
    neo_arena a;
    neo_grouping g;
    fuser q;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_module *m = graph_parse(&a, text);
    neo_fuse_options o = {.memory = small ? NEO_FUSE_SMALL : NEO_FUSE_FAST};
    assert_int_equal(neo_fuse_with(m, &a, &o, &g, NULL), NEO_OK);
    fuse_begin(&q, m, &a, &o, FUSE_EVERY, NULL);
    fuse_price(&q, small ? 1e-6 : 0);
    fuse_greedy(&q);
    kept[small] = 0;
    for (size_t k = 0; k < q.n_order; k++)
      kept[small] += fuse_saved_bytes(&q, q.order[k]);
    neo_arena_free(&a);
  }
  assert_true(kept[0] == 12 << 20); /* a, b and c */
  assert_true(kept[1] == 4 << 20);  /* a */
}

/* The bytes that the forward pass of a module saves, fused without a price on them. */
static double kept_of(const char *text) {
  neo_arena a;
  fuser q;
  double n = 0;
  neo_arena_init(&a, neo_alloc_default, NULL);
  fuse_begin(&q, graph_parse(&a, text), &a, NULL, FUSE_EVERY, NULL);
  fuse_price(&q, 0);
  fuse_greedy(&q);
  for (size_t k = 0; k < q.n_order; k++)
    n += fuse_saved_bytes(&q, q.order[k]);
  neo_arena_free(&a);
  return n;
}

#define KEEPER                                                                           \
  "input X : f32 [1024, 1024]\ninput Y : f32 [1024, 1024]\nparam w : f32 [1024, 1024]\n" \
  "update v : f32 [1024, 1024] of w\ninit w[i: 1024, j: 1024] = 0.5\n"                   \
  "temp a : f32 [1024, 1024]\ntemp b : f32 [1024, 1024]\ntemp l : f32 []\n"
#define PRODUCT "sum[k: 1024] X[i, k] * Y[k, j]\n  then acc0\n"
#define LOSS "def l[] =\n  sum[i: 1024, j: 1024] a[i, j] * a[j, i]\n  then acc0\n"
#define TRAIN "entry train step: l = l; updates v\n"

static void pieces_of_a_tensor_are_kept_once(void **state) {
  (void)state;
  double n = kept_of(KEEPER "def a[i: 512, j: 1024] at [2*i, j] =\n  " PRODUCT
                            "def a[i: 512, j: 1024] at [2*i + 1, j] =\n  " PRODUCT LOSS
                            "def v[i: 1024, j: 1024] = w[i, j] - a[j, i]\n" TRAIN);
  assert_true(n == 4 << 20);
}

static void what_only_its_own_kernel_reads_is_not_kept(void **state) {
  (void)state;
  double n = kept_of(KEEPER "def a[i: 1024, j: 1024] =\n  " PRODUCT LOSS
                            "def b[i: 1024, j: 1024] = sin(a[i, j])\n"
                            "def v[i: 1024, j: 1024] = w[i, j] - b[i, j]\n" TRAIN);
  assert_true(n == 0);
}

/* A row of x is read twice, and is in a cache then. */
static void a_group_says_what_its_cost_is_made_of(void **state) {
  (void)state;
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  const char *text = "neo-ir 1\nmodule t\ninput x : f32 [4096, 64]\ntemp s : f32 [4096]\n"
                     "temp y : f32 [4096, 64]\ndef s[i: 4096] =\n  sum[j: 64] x[i, j]\n"
                     "def y[i: 4096, j: 64] = x[i, j] / s[i]\nentry forward forward: y = y\n";
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "t.ir", text, strlen(text));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
  assert_int_equal(g.groups.n, 1);
  neo_group_cost c = g.groups.at[0].cost;
  assert_true(c.read_bytes == 4 * 4096 * 64 && c.written_bytes == 4 * 4096 * 64);
  assert_true(c.work >= 2 * 4096 * 64 && c.products == 0 && c.launch_s > 0);
  double sum = c.read_s + c.written_s + c.work_s + c.launch_s;
  assert_true(fabs(c.total_s - sum) <= 1e-12 * sum);
  neo_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moves_reach_the_optimum_of_most_small_graphs),
      cmocka_unit_test(greedy_is_near_the_optimum_of_small_graphs),
      cmocka_unit_test(groups_of_random_graphs_can_run),
      cmocka_unit_test(options_are_obeyed),
      cmocka_unit_test(work_grows_with_the_graph_not_its_square),
      cmocka_unit_test(memory_that_is_kept_has_a_limit),
      cmocka_unit_test(a_group_says_what_its_cost_is_made_of),
      cmocka_unit_test(pieces_of_a_tensor_are_kept_once),
      cmocka_unit_test(what_only_its_own_kernel_reads_is_not_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

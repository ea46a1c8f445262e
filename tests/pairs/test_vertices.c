/* Random programs over graphs: machine code gives what the reference interpreter gives; by any number of threads it
 * gives the same bits; and what belongs to a vertex has the same bits in whichever batch it is.
 * `tools/pairs --vertices` runs more of them. */
#include "tests/effort.h"
#include "tests/pairs/drive.h"
#include "tests/pairs/graph.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

enum { COUNT = 80, DEVICE_COUNT = 30, GRAPHS = 200 };

static void vertices_equal_the_interpreter_and_keep_their_bits(void **state) {
  static pairs_table t;
  pairs_drive d = {.draw = pairs_draw_vertices,
                   .first = 1,
                   .n = neo_test_count(COUNT),
                   .variants = 30,
                   .jobs = 2};
  (void)state;
  if (pairs_drive_run(&d, &t))
    fail_msg("%u programs of %u fail", t.failed, t.programs);
  assert_true(t.rejected <= 2 + t.programs / 50); /* the generator's fault */
  assert_true(t.promised * 10 >= t.compared * 9);
}

static void on_the_emulated_device_they_equal_it_too(void **state) {
  static pairs_table t;
  pairs_drive d = {.draw = pairs_draw_vertices,
                   .first = 1,
                   .n = neo_test_count(DEVICE_COUNT),
                   .variants = 30,
                   .jobs = 2,
                   .target = "nvptx:sm_90a+host"};
  (void)state;
  if (NEO_TEST_SANITIZED)
    skip(); /* the stacks of emulated threads are not the sanitizers' */
  if (pairs_drive_run(&d, &t))
    fail_msg("%u programs of %u fail", t.failed, t.programs);
}

/* Programs that were wrong once:
 *
 *   117  a list of parents in the slot that an axis gives
 *   415  a table that an inline definition reads in several kernels
 *   765  positions of children in one slot alone
 *  2361  an operand that is packed for all rows of a product, of which the first one sums nothing
 *  3865  a vertex whose children have another order in another batch
 *  4965  rows of the first level in a loop over all of them */
static void programs_that_were_wrong_equal_the_interpreter(void **state) {
  static const uint64_t seeds[] = {117, 415, 765, 2361, 3865, 4965};
  (void)state;
  for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
    static pairs_table t;
    pairs_drive d = {
        .draw = pairs_draw_vertices, .first = seeds[k], .n = 1, .variants = 100, .jobs = 1};
    if (pairs_drive_run(&d, &t))
      fail_msg("seed %llu fails", (unsigned long long)seeds[k]);
  }
}

/* ---- what is compared would be found */

static void add_line(neo_arena *a, pairs_program *p, pairs_kind kind, const char *name,
                     const char *text, uint64_t reads) {
  NEO_PUSH(a, &p->lines,
           (pairs_statement){.kind = kind,
                             .text = text,
                             .name = name,
                             .reads = reads,
                             .output = kind == PAIRS_DEFINITION});
}

/* y of each vertex, which is said to depend on no other instance. */
static pairs_program program(neo_arena *a, const char *y) {
  pairs_program p = {.seed = 11};
  add_line(a, &p, PAIRS_SIZE_LINE, "K", "dim K = 2", 0);
  add_line(a, &p, PAIRS_SIZE_LINE, "G", "graph G(children <= K, vertices <= 16)", 1);
  add_line(a, &p, PAIRS_GIVEN, "x", "input x[G.vertices, 3]", 2);
  add_line(a, &p, PAIRS_DEFINITION, "y", y, 6);
  NEO_PUSH(a, &p.sizes, (pairs_size){"G.vertices", 13});
  NEO_PUSH(a, &p.graphs,
           (pairs_graph){.child = "G.child", .vertices = "G.vertices", .places = "K"});
  NEO_PUSH(a, &p.rows, (pairs_rows){.name = "x"});
  NEO_PUSH(a, &p.rows, (pairs_rows){.name = "y"});
  return p;
}

static const char *difference(neo_arena *a, const char *y) {
  const pairs_how how = {.compose = true};
  pairs_program p = program(a, y);
  pairs_reference r = pairs_evaluate(a, &p, &how);
  pairs_run x = pairs_compile_and_run(a, &r, &how);
  return x.verdict == PAIRS_SAME ? NULL : x.why;
}

static void a_value_that_depends_on_other_instances_is_found(void **state) {
  neo_arena a;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  assert_null(difference(&a, "y[v, j] = x[v, j] + sum[k] (x[G.child[v, k], j] else 0.5)"));
  const char *why = difference(&a, "y[v, j] = x[v, j] + sum[u] x[u, j]");
  assert_true(why && strstr(why, "in the batch"));
  why = difference(&a, "y[v, j] = x[v, j] + 0.5*(x[v - 1, j] else 0)");
  assert_true(why && strstr(why, "in the batch"));
  neo_arena_free(&a);
}

/* ---- graphs */

typedef struct {
  uint32_t empty, single, forests, shared, twice, gaps, several;
} seen;

static void note(const pairs_links *x, seen *s) {
  s->empty += x->n == 0;
  s->several += x->instances > 1;
  s->forests += x->forest;
  s->shared += !x->forest;
  for (int64_t v = 0; v < x->n; v++) {
    const int64_t *c = &x->child[v * x->slots];
    s->single += (v == 0 || x->instance[v - 1] != x->instance[v]) &&
                 (v + 1 == x->n || x->instance[v + 1] != x->instance[v]);
    for (uint32_t k = 0; k < x->slots; k++)
      assert_true(c[k] >= -1 && c[k] < v && (c[k] < 0 || x->instance[c[k]] == x->instance[v]));
    for (uint32_t k = 1; k < x->slots; k++) {
      s->gaps += c[k - 1] < 0 && c[k] >= 0;
      s->twice += c[k] >= 0 && c[k] == c[k - 1];
    }
  }
}

/* All vertices, or those of one instance, each behind its children; in their own order if that is kept. */
static void check(neo_arena *a, const pairs_links *x, pairs_arranging how, uint64_t which) {
  pairs_arrangement to = pairs_arrange(a, x, how, which);
  assert_true(how == PAIRS_SINGLE || to.n == x->n);
  for (int64_t i = 0; i < to.n; i++) {
    int64_t v = to.vertex[i];
    assert_true(to.place[v] == i);
    for (uint32_t k = 0; k < x->slots; k++) {
      int64_t c = x->child[v * x->slots + k];
      assert_true(c < 0 || (to.place[c] >= 0 && to.place[c] < i));
    }
    bool before = v > 0 && x->instance[v - 1] == x->instance[v];
    assert_true(how == PAIRS_SORTED || !before || (to.place[v - 1] >= 0 && to.place[v - 1] < i));
  }
}

static void graphs_are_of_all_kinds_and_children_come_first(void **state) {
  neo_arena a;
  seen s = {0};
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    pairs_program p = pairs_draw_vertices(&a, seed);
    for (uint32_t g = 0; g < p.graphs.n; g++) {
      pairs_links x = pairs_links_of(&a, &p, g);
      note(&x, &s);
      for (uint32_t how = PAIRS_MERGED; how <= PAIRS_SINGLE; how++)
        check(&a, &x, (pairs_arranging)how, seed);
    }
  }
  assert_true(s.empty && s.single && s.forests && s.shared && s.twice && s.gaps && s.several);
  neo_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_are_of_all_kinds_and_children_come_first),
      cmocka_unit_test(a_value_that_depends_on_other_instances_is_found),
      cmocka_unit_test(vertices_equal_the_interpreter_and_keep_their_bits),
      cmocka_unit_test(on_the_emulated_device_they_equal_it_too),
      cmocka_unit_test(programs_that_were_wrong_equal_the_interpreter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

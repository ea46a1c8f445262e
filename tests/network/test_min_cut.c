/* Minimum cuts of random graphs, beside all cuts of the graph. */
#include "network/min_cut.h"
#include "tests/oracle/expected.h"
#include "tests/random/seeds.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

enum { N = 400, MOST = 9, MOST_ARCS = 30, SOURCE = 0, SINK = 1 };

typedef struct {
  uint32_t from, to;
  int64_t capacity;
} arc;

typedef struct {
  uint32_t n, n_arcs;
  arc at[MOST_ARCS];
} graph;

static uint32_t draw(uint64_t *state, uint32_t n) {
  *state = expected_hash(*state, 1);
  return (uint32_t)(*state % n);
}

/* Arcs are light, empty, or in no cut. */
static graph draw_graph(uint64_t seed) {
  uint64_t state = seed;
  graph g = {.n = 2 + draw(&state, MOST - 1), .n_arcs = draw(&state, MOST_ARCS)};
  for (uint32_t k = 0; k < g.n_arcs; k++) {
    int64_t light = draw(&state, 6);
    bool never = draw(&state, 5) == 0;
    g.at[k] = (arc){draw(&state, g.n), draw(&state, g.n), never ? NEO_MIN_CUT_NEVER : light};
  }
  return g;
}

/* Bit v of `sink`: vertex v is on the sink's side. -1: the cut holds an arc that none may hold. */
static int64_t weight_of(const graph *g, uint32_t sink) {
  int64_t sum = 0;
  for (uint32_t k = 0; k < g->n_arcs; k++) {
    bool cut = !(sink >> g->at[k].from & 1) && (sink >> g->at[k].to & 1);
    if (cut && g->at[k].capacity == NEO_MIN_CUT_NEVER)
      return -1;
    sum += cut ? g->at[k].capacity : 0;
  }
  return sum;
}

static uint32_t members(uint32_t set) {
  return (uint32_t)__builtin_popcount(set);
}

/* The lightest cut, of equal ones that with the fewest on the sink's side; 0: there is none. */
static uint32_t best_of(const graph *g) {
  uint32_t best = 0;
  for (uint32_t sink = 0; sink < 1u << g->n; sink++) {
    int64_t x = weight_of(g, sink), y = best ? weight_of(g, best) : 0;
    if ((sink >> SOURCE & 1) || !(sink >> SINK & 1) || x < 0)
      continue;
    if (!best || x < y || (x == y && members(sink) < members(best)))
      best = sink;
  }
  return best;
}

static void a_cut_is_the_lightest_and_nearest_to_the_sink(void **state) {
  neo_seeds s = neo_seeds_of(1, N);
  uint32_t impossible = 0;
  (void)state;
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_arena a;
    graph g = draw_graph(seed);
    uint32_t found = 0, want = best_of(&g);
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_seeds_tell(&s, seed);
    neo_min_cut c = neo_min_cut_new(&a, g.n);
    for (uint32_t k = 0; k < g.n_arcs; k++)
      neo_min_cut_add(&c, g.at[k].from, g.at[k].to, g.at[k].capacity);
    const bool *sink = neo_min_cut_sides(&c, SOURCE, SINK);
    for (uint32_t v = 0; sink && v < g.n; v++)
      found |= (uint32_t)sink[v] << v;
    assert_int_equal(found, want);
    impossible += !want;
    neo_arena_free(&a);
  }
  assert_true(impossible > 0 && impossible < s.n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cut_is_the_lightest_and_nearest_to_the_sink),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

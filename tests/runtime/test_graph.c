/* Graphs in any order, and batches of them. */
#include "base/random.h"
#include "base/status.h"
#include "include/neo/neo_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64 };

typedef struct {
  int32_t child[MOST * 3], from[MOST], work[MOST], begin[MOST + 1];
  int64_t start[9], edge[MOST * 3];
  neo_rt_graph_batch b;
} world;

static neo_rt_graph_batch *begin(world *w, int32_t children, int64_t vertices) {
  memset(w, 0x55, sizeof *w);
  w->b = (neo_rt_graph_batch){.children = children, .most_vertices = vertices, .most_graphs = 8};
  w->b.child = w->child;
  w->b.from = w->from;
  w->b.start = w->start;
  w->b.work = w->work;
  return &w->b;
}

/* The same with children in lists. */
static neo_rt_graph_batch *begin_lists(world *w, int64_t edges) {
  neo_rt_graph_batch *b = begin(w, 0, MOST);
  b->begin = w->begin;
  b->edge = w->edge;
  b->most_edges = edges;
  return b;
}

static void a_graph_in_order_keeps_it_and_another_is_put_into_one(void **state) {
  (void)state;
  world w;
  char error[256] = "";
  neo_rt_graph_batch *b = begin(&w, 2, MOST);
  /* 2 has the children 0 and 1; then 0 has 2 and 1, of which 2 has 1 twice: 1 is shared */
  const int64_t first[] = {0, 0, 0, 2};
  const int32_t child[] = {0, 1};
  const int64_t first_of_dag[] = {0, 2, 2, 4};
  const int32_t child_of_dag[] = {2, 1, 1, 1};
  neo_rt_graph tree = {3, first, child}, dag = {3, first_of_dag, child_of_dag},
               single = {1, first, child}, empty = {0, first, child};
  assert_int_equal(neo_rt_graph_batch_add(b, &tree, error, sizeof error), NEO_OK);
  assert_int_equal(neo_rt_graph_batch_add(b, &dag, error, sizeof error), NEO_OK);
  assert_int_equal(neo_rt_graph_batch_add(b, &empty, error, sizeof error), NEO_OK);
  assert_int_equal(neo_rt_graph_batch_add(b, &single, error, sizeof error), NEO_OK);
  const int32_t want[] = {-1, -1, -1, -1, 0, 1, -1, -1, 3, 3, 4, 3, -1, -1};
  const int32_t from[] = {0, 1, 2, 1, 2, 0, 0};
  const int64_t start[] = {0, 3, 6, 6, 7};
  assert_int_equal(b->vertices, 7);
  assert_int_equal(b->graphs, 4);
  assert_memory_equal(w.child, want, sizeof want);
  assert_memory_equal(w.from, from, sizeof from);
  assert_memory_equal(w.start, start, sizeof start);
}

static void a_place_without_child_stays_empty(void **state) {
  (void)state;
  world w;
  neo_rt_graph_batch *b = begin(&w, 3, MOST);
  const int64_t first[] = {0, 2, 2};
  const int32_t child[] = {-1, 1};
  neo_rt_graph g = {2, first, child};
  assert_int_equal(neo_rt_graph_batch_add(b, &g, NULL, 0), NEO_OK);
  const int32_t want[] = {-1, -1, -1, -1, 0, -1};
  assert_memory_equal(w.child, want, sizeof want);
}

static void lists_have_the_children_that_there_are(void **state) {
  (void)state;
  world w;
  neo_rt_graph_batch *b = begin_lists(&w, 9);
  /* 0 has the children 2, none, 1 and 2 again; 2 has 1 */
  const int64_t first[] = {0, 4, 4, 5};
  const int32_t child[] = {2, -1, 1, 2, 1};
  neo_rt_graph dag = {3, first, child}, empty = {0, first, child}, single = {1, first + 1, child};
  assert_int_equal(neo_rt_graph_batch_add(b, &empty, NULL, 0), NEO_OK);
  assert_int_equal(w.begin[0], 0);
  assert_int_equal(neo_rt_graph_batch_add(b, &dag, NULL, 0), NEO_OK);
  assert_int_equal(neo_rt_graph_batch_add(b, &single, NULL, 0), NEO_OK);
  assert_int_equal(neo_rt_graph_batch_add(b, &dag, NULL, 0), NEO_OK);
  const int32_t begin[] = {0, 0, 1, 4, 4, 4, 5, 8}, children[] = {0, 1, 0, 1, 4, 5, 4, 5};
  const int64_t edge[] = {4, 0, 2, 3, 4, 0, 2, 3};
  assert_int_equal(b->vertices, 7);
  assert_int_equal(b->edges, 8);
  assert_memory_equal(w.begin, begin, sizeof begin);
  assert_memory_equal(w.child, children, sizeof children);
  assert_memory_equal(w.edge, edge, sizeof edge);
}

static void more_edges_than_there_is_room_for_change_nothing(void **state) {
  (void)state;
  world w;
  char error[256] = "";
  neo_rt_graph_batch *b = begin_lists(&w, 3);
  const int64_t first[] = {0, 0, 2};
  const int32_t child[] = {0, 0};
  neo_rt_graph g = {2, first, child};
  b->edge = NULL;
  assert_int_equal(neo_rt_graph_batch_add(b, &g, error, sizeof error), NEO_OK);
  assert_int_equal(neo_rt_graph_batch_add(b, &g, error, sizeof error), NEO_SHAPE);
  assert_string_equal(error, "graph 1: 2 edges, there is room for 1 of 3 in the batch");
  assert_true(b->vertices == 2 && b->graphs == 1 && b->edges == 2);
  b->child = NULL;
  assert_int_equal(neo_rt_graph_batch_add(b, &g, error, sizeof error), NEO_NULL);
}

/* Vertices of a random graph whose children come first, then renamed at random. */
static void draw(uint64_t *seed, int64_t n, int64_t *first, int32_t *child) {
  int32_t name[MOST], of[MOST];
  for (int32_t k = 0; k < n; k++) {
    int32_t j = (int32_t)(neo_splitmix(seed) % (uint64_t)(k + 1));
    name[k] = name[j];
    name[j] = k;
  }
  for (int32_t k = 0; k < n; k++)
    of[name[k]] = k;
  first[0] = 0;
  for (int64_t v = 0; v < n; v++) {
    int64_t k = first[v], rank = of[v], children = (int64_t)(neo_splitmix(seed) % 4);
    for (int64_t j = 0; j < children && rank > 0; j++)
      child[k++] = name[neo_splitmix(seed) % (uint64_t)rank];
    first[v + 1] = k;
  }
}

static void every_acyclic_graph_gets_an_order_in_which_children_come_first(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (int round = 0; round < 2000; round++) {
    int64_t n = (int64_t)(neo_splitmix(&seed) % MOST), first[MOST + 1];
    int32_t child[3 * MOST], order[MOST], work[MOST], place[MOST];
    draw(&seed, n, first, child);
    neo_rt_graph g = {n, first, child};
    assert_int_equal(neo_rt_graph_order(&g, order, work, NULL, 0), NEO_OK);
    memset(place, 0xff, sizeof place);
    for (int32_t k = 0; k < n; k++) {
      assert_true(order[k] >= 0 && order[k] < n && place[order[k]] < 0);
      place[order[k]] = k;
    }
    for (int64_t v = 0; v < n; v++)
      for (int64_t k = first[v]; k < first[v + 1]; k++)
        assert_true(place[child[k]] < place[v]);
  }
}

static void pointers_and_numbers_that_cannot_be_are_refused(void **state) {
  (void)state;
  world w;
  char error[256] = "";
  int32_t order[3], work[3], child[] = {0, 1};
  const int64_t first[] = {0, 0, 0, 2}, early[] = {-2, -2, -2, 0}, none[] = {0, 0, 0, 0};
  neo_rt_graph_batch *b = begin(&w, 2, MOST);
  neo_rt_graph null = {3, first, NULL}, before = {3, early, child}, bare = {3, none, NULL};
  assert_int_equal(neo_rt_graph_batch_add(b, &null, error, sizeof error), NEO_NULL);
  assert_string_equal(error, "graph 0, vertex 2: the pointer to the children is null");
  assert_int_equal(neo_rt_graph_order(&null, order, work, error, sizeof error), NEO_NULL);
  assert_int_equal(neo_rt_graph_batch_add(b, &before, error, sizeof error), NEO_ARGUMENT);
  assert_string_equal(error, "graph 0, vertex 0: its children begin at -2");
  assert_int_equal(b->vertices, 0);
  assert_int_equal(neo_rt_graph_batch_add(b, &bare, error, sizeof error), NEO_OK);
  b->vertices = -3;
  assert_int_equal(neo_rt_graph_batch_add(b, &bare, error, sizeof error), NEO_ARGUMENT);
}

static void a_chain_of_a_million_vertices_needs_no_stack(void **state) {
  (void)state;
  enum { N = 1000000 };
  int64_t *first = malloc((N + 1) * sizeof *first);
  int32_t *room = malloc(3 * N * sizeof *room), *order = room + N, *work = order + N;
  for (int32_t v = 0; v < N; v++) { /* the child of each vertex is the next one */
    first[v] = v;
    room[v] = v + 1 < N ? v + 1 : -1;
  }
  first[N] = N;
  neo_rt_graph g = {N, first, room};
  assert_int_equal(neo_rt_graph_order(&g, order, work, NULL, 0), NEO_OK);
  for (int32_t k = 0; k < N; k++)
    assert_int_equal(order[k], N - 1 - k);
  free(room);
  free(first);
}

typedef struct {
  int64_t vertices, first[5];
  int32_t child[8];
  neo_rt_status status;
  const char *message;
} bad;

static void what_is_wrong_is_told_with_graph_and_vertex_and_changes_nothing(void **state) {
  (void)state;
  static const bad cases[] = {
      {2, {0, 1, 1}, {2}, NEO_RANGE, "graph 1, vertex 0: child 0 is 2, not in [-1, 2)"},
      {2, {0, 0, 2}, {0, -2}, NEO_RANGE, "graph 1, vertex 1: child 1 is -2, not in [-1, 2)"},
      {1, {0, 3}, {-1, -1, -1}, NEO_SHAPE, "graph 1, vertex 0: 3 children, there is room for 2"},
      {2, {0, 1, 0}, {1}, NEO_ARGUMENT, "graph 1, vertex 1: its children end before they begin"},
      {1, {0, 1}, {0}, NEO_ARGUMENT, "graph 1, vertex 0 is below itself: 0 -> 0"},
      {4,
       {0, 1, 2, 3, 4},
       {1, 2, 3, 1},
       NEO_ARGUMENT,
       "graph 1, vertex 1 is below itself: 1 -> 2 -> 3 -> 1"},
      {4,
       {0, 0, 0, 0, 0},
       {0},
       NEO_SHAPE,
       "graph 1: 4 vertices, there is room for 3 of 4 in the batch"},
      {-1, {0}, {0}, NEO_SHAPE, "graph 1, -1 vertices"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    world w;
    char error[256] = "";
    bool large = cases[k].vertices == 4 && cases[k].first[1] == 0;
    neo_rt_graph_batch *b = begin(&w, 2, large ? 4 : MOST);
    neo_rt_graph one = {1, (const int64_t[]){0, 0}, NULL},
                 g = {cases[k].vertices, cases[k].first, cases[k].child};
    assert_int_equal(neo_rt_graph_batch_add(b, &one, error, sizeof error), NEO_OK);
    assert_int_equal(neo_rt_graph_batch_add(b, &g, error, sizeof error), cases[k].status);
    assert_string_equal(error, cases[k].message);
    assert_true(b->vertices == 1 && b->graphs == 1 && w.start[1] == 1);
  }
  world w;
  char error[256] = "";
  neo_rt_graph one = {1, (const int64_t[]){0, 0}, NULL};
  neo_rt_graph_batch *b = begin(&w, 2, MOST);
  for (int k = 0; k < 8; k++)
    assert_int_equal(neo_rt_graph_batch_add(b, &one, error, sizeof error), NEO_OK);
  assert_int_equal(neo_rt_graph_batch_add(b, &one, error, sizeof error), NEO_SHAPE);
  assert_string_equal(error, "graph 8: there is room for 8 graphs in a batch");
  assert_int_equal(neo_rt_graph_batch_add(NULL, &one, NULL, 0), NEO_NULL);
  b->work = NULL;
  assert_int_equal(neo_rt_graph_batch_add(b, &one, NULL, 0), NEO_NULL);
}

static void a_long_cycle_is_shown_shortened(void **state) {
  (void)state;
  int64_t first[MOST + 1];
  int32_t child[MOST], order[MOST], work[MOST];
  char error[512] = "";
  for (int32_t v = 0; v <= MOST; v++) {
    first[v] = v;
    if (v < MOST)
      child[v] = (v + 1) % MOST;
  }
  neo_rt_graph g = {MOST, first, child};
  assert_int_equal(neo_rt_graph_order(&g, order, work, error, sizeof error), NEO_ARGUMENT);
  assert_non_null(strstr(error, "vertex 0 is below itself: 0 -> 1 -> 2"));
  assert_non_null(strstr(error, "... -> 0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_in_order_keeps_it_and_another_is_put_into_one),
      cmocka_unit_test(a_place_without_child_stays_empty),
      cmocka_unit_test(lists_have_the_children_that_there_are),
      cmocka_unit_test(more_edges_than_there_is_room_for_change_nothing),
      cmocka_unit_test(every_acyclic_graph_gets_an_order_in_which_children_come_first),
      cmocka_unit_test(pointers_and_numbers_that_cannot_be_are_refused),
      cmocka_unit_test(a_chain_of_a_million_vertices_needs_no_stack),
      cmocka_unit_test(what_is_wrong_is_told_with_graph_and_vertex_and_changes_nothing),
      cmocka_unit_test(a_long_cycle_is_shown_shortened),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

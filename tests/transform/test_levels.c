/* Recurrences over graphs lie in the order of levels, and so does what has an element for each
 * vertex. Values are compared by tests/pairs (programs with vertices). */
#include "tests/transform/world.h"

#define HEAD                                                                             \
  "neo-ir 1\nmodule t\nsize V 0..40\ninput child : i32 [V, 2] in -1..d0\n"               \
  "input x : f32 [V, 16]\ninput U : f32 [2, 16, 16]\ntemp h : f32 [V, 16]\n"             \
  "temp s : f32 [V, 16]\ntemp n : i32 [V]\ntemp g : f32 [V, 16]\ntemp d : f32 [V, 16]\n" \
  "temp W : f32 [16, 16]\n"
#define UP                                             \
  "def @1 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"      \
  "  U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n" \
  "def @2 h[v: V, j: 16] = tanh(x[v, j] + s[v, j])\n"

static void has(world *w, const char *part) {
  if (!strstr(text_of(w), part))
    fail_msg("'%s' is not in\n%s", part, text_of(w));
}

static void children_are_read_at_their_places(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "entry forward forward: h = h\n");
  apply(&w, neo_pass_levels);
  has(&w, "temp placed.child : i32 [V, 2] in -1..d0\n");
  has(&w, "U[k, l, j] * (by_level.h[i64(placed.child[v, k]), l] else 0.0)\n");
  has(&w, "by_level.h[v: V, j: 16] = tanh(x[i64(level.order.child[v]), j] + by_level.s[v, j])\n");
  has(&w, " h[v: V, j: 16] = by_level.h[i64(level.place.child[v]), j]\n");
  neo_arena_free(&w.arena);
}

#define LISTS                                                                                  \
  "neo-ir 1\nmodule t\nsize V 0..40\nsize E 0..90\n"                                           \
  "input begin : i32 [V + 1] < E + 1 offsets begin\ninput child : i32 [E] < V offsets begin\n" \
  "input x : f32 [V, 16]\ninput w : f32 [E]\ntemp h : f32 [V, 16]\ntemp s : f32 [V, 16]\n"     \
  "temp g : f32 [V, 16]\ntemp d : f32 [V, 16]\n"

/* A leaf has no edges, so the sum is of others. */
static void children_in_lists_are_read_at_their_places(void **state) {
  (void)state;
  world w;
  load(&w, LISTS "def @1 s[v: V, j: 16] =\n"
                 "  sum[e: i64(begin[v])..i64(begin[v + 1])] where i64(child[e]) < v;\n"
                 "  h[i64(child[e]), j] * w[e]\n"
                 "def @2 h[v: V, j: 16] = tanh(x[v, j] + s[v, j])\n"
                 "entry forward forward: h = h\n");
  apply(&w, neo_pass_levels);
  has(&w, "temp placed.child : i32 [E] in 0..V\n");
  has(&w, "levels (level.child, level.first.child, level.place.child, level.order.child, -; "
          "placed.child, -, -, -, begin) kinds 1 [p: V, e: E] = child[e], begin[p]\n");
  has(&w,
      "sum[e: i64(begin[i64(level.order.child[v])])..i64(begin[i64(level.order.child[v]) + 1])] "
      "where i64(placed.child[e]) < v;\n    by_level.h[i64(placed.child[e]), j] * w[e]\n"
      "    then select(i64((level.first.child[1] else 0i32)) <= v, acc0, 0.0)\n");
  neo_arena_free(&w.arena);
}

/* The child of an edge in the list is the vertex itself. */
static void sums_over_edges_to_a_vertex_run_through_a_list(void **state) {
  (void)state;
  world w;
  load(&w, LISTS "def @1 g[u: V, j: 16] = tanh(x[u, j] + d[u, j])\n"
                 "def @2 d[u: V, j: 16] =\n  sum[v: V, e: i64(begin[v])..i64(begin[v + 1])] "
                 "where i64(child[e]) < v and i64(child[e]) == u;\n"
                 "  g[v, j] * x[i64(child[e]), j] * w[e]\nentry forward forward: g = g\n");
  apply(&w, neo_pass_levels);
  has(&w, "by_level.d[u: V, j: 16] =\n"
          "    sum[e: i64((parents.end.child[i64(level.order.child[u]) - 1] else 0i32))"
          "..min(i64(parents.end.child[i64(level.order.child[u])]), E)] "
          "where u < i64(parents.child[e]);\n"
          "    by_level.g[i64(parents.child[e]), j] * x[i64(level.order.child[u]), j] * "
          "w[i64(parents.edge.child[e])]\n");
  has(&w, "placed.child, parents.end.child, parents.edge.child, parents.child, begin) kinds 1 ");
  neo_arena_free(&w.arena);
}

/* The largest one of parents is the first of equal ones, as in their list. */
static void the_largest_of_parents_is_found_in_their_list(void **state) {
  (void)state;
  world w;
  load(&w, LISTS "def @1 g[u: V, j: 16] = tanh(x[u, j] + select(d[u, j] < 9.0, d[u, j], 0.0))\n"
                 "def @2 d[u: V, j: 16] =\n  min[v: V, e: i64(begin[v])..i64(begin[v + 1])] "
                 "where i64(child[e]) < v and i64(child[e]) == u;\n"
                 "  g[v, j] * w[e], e\nentry forward forward: g = g\n");
  apply(&w, neo_pass_levels);
  has(&w, "where u < i64(parents.child[e]);\n    by_level.g[i64(parents.child[e]), j] * "
          "w[i64(parents.edge.child[e])], i64(parents.edge.child[e])\n");
  neo_arena_free(&w.arena);
}

#define GATHERED                                                          \
  "temp o : f32 [E, 16]\ndef @1 s[v: V, j: 16] =\n"                       \
  "  sum[e: i64(begin[v])..i64(begin[v + 1])] where i64(child[e]) < v;\n" \
  "  h[i64(child[e]), j] * w[e]\ndef @2 h[v: V, j: 16] = tanh(x[v, j] + s[v, j])\n"
#define OWNER(from, more)                                                        \
  "def @3 o[e: E, j: 16] =\n  sum[v: " from "..V] where i64(begin[v]) <= e and " \
  "e < i64(begin[v + 1])" more ";\n  h[v, j] * x[i64(child[e]), j]\n"            \
  "entry forward forward: h = h, o = o\n"

/* The sum has one term: an edge is in one list. */
static void an_edge_reads_the_vertex_in_whose_list_it_is(void **state) {
  (void)state;
  static const char *const text[] = {LISTS GATHERED OWNER("0", ""),
                                     LISTS GATHERED OWNER("i64(child[e]) + 1", "")};
  for (int k = 0; k < 2; k++) {
    world w;
    load(&w, text[k]);
    apply(&w, neo_pass_levels);
    has(&w, "o[e: E, j: 16] = by_level.h[i64(level.place.child[i64(owner.child[e])]), j] * "
            "x[i64(child[e]), j]\n");
    has(&w, "owner.child[e: E] =\n    sum[i: E] where i64(parents.edge.child[i]) == e;\n"
            "    level.order.child[i64(parents.child[i])]\n");
    neo_arena_free(&w.arena);
  }
}

static void conditions_beside_an_owner_keep_the_sum(void **state) {
  (void)state;
  static const char *const text[] = {LISTS GATHERED OWNER("0", " and v % 2 == 0"),
                                     LISTS GATHERED OWNER("1", "")};
  for (int k = 0; k < 2; k++) {
    world w;
    load(&w, text[k]);
    apply(&w, neo_pass_levels);
    assert_null(strstr(text_of(&w), "owner"));
    neo_arena_free(&w.arena);
  }
}

/* If offsets may be anything, edges may be in several lists, and children after their vertices. */
static void lists_that_nothing_is_known_of_stay(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\nsize V 0..40\nsize E 0..90\n"
           "input begin : i32 [V + 1] < E + 1\ninput child : i32 [E] < V\n"
           "input x : f32 [V, 16]\ntemp h : f32 [V, 16]\n"
           "def @1 h[v: V, j: 16] =\n"
           "  sum[e: i64(begin[v])..i64(begin[v + 1])] where i64(child[e]) < v;\n"
           "  h[i64(child[e]), j]\n  then tanh(x[v, j] + acc0)\n"
           "entry forward forward: h = h\n");
  apply(&w, neo_pass_levels);
  assert_null(strstr(text_of(&w), "level"));
  neo_arena_free(&w.arena);
}

/* The parents are listed for sums over them alone. */
static void one_definition_orders_the_graph(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "entry forward forward: h = h\n");
  apply(&w, neo_pass_levels);
  has(&w, "levels (level.child, level.first.child, level.place.child, level.order.child, -; "
          "placed.child, -, -) kinds 1 [p: V, k: 2] = child[p, k]\n");
  neo_arena_free(&w.arena);
}

/* Tables count vertices, places and edges in i32. */
static void graphs_of_more_edges_than_an_i32_counts_stay(void **state) {
  (void)state;
  world w;
  const char *head = "neo-ir 1\nmodule t\nsize V 0..1073741824\n"
                     "input child : i32 [V, 2] in -1..d0\ninput x : f32 [V, 16]\n"
                     "input U : f32 [2, 16, 16]\ntemp h : f32 [V, 16]\ntemp s : f32 [V, 16]\n";
  load_two(&w, head, UP "entry forward forward: h = h\n");
  apply(&w, neo_pass_levels);
  assert_null(strstr(text_of(&w), "level"));
  neo_arena_free(&w.arena);
}

static void sums_over_parents_run_through_a_list(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "def @1 g[u: V, j: 16] = tanh(x[u, j] + d[u, j])\n"
                "def @2 d[u: V, j: 16] =\n  sum[v: V, k: 2] where i64(child[v, k]) == u;\n"
                "  0.5 * g[v, j]\nentry forward forward: g = g\n");
  apply(&w, neo_pass_levels);
  has(&w, "by_level.d[u: V, j: 16] =\n"
          "    sum[e: i64((parents.end.child[i64(level.order.child[u]) - 1] else 0i32))"
          "..min(i64(parents.end.child[i64(level.order.child[u])]), V * 2)] "
          "where u < i64(parents.child[e]) / 2;\n"
          "    0.5 * by_level.g[i64(parents.child[e]) / 2, j]\n");
  has(&w, "temp parents.child : i32 [V * 2] < V * 2\n");
  neo_arena_free(&w.arena);
}

/* An axis of the result says which slot; conditions beside the equation stay. Positions may be
 * compared as i32. */
static void parents_in_a_slot_are_asked_for_it(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "temp e : f32 [V, 2, 16]\n"
                "def @1 g[u: V, j: 16] =\n  sum[k: 2] e[u, k, j]\n  then tanh(x[u, j] + acc0)\n"
                "def @2 e[u: V, k: 2, j: 16] =\n"
                "  sum[v: V] where 0 <= i64(child[v, k]) and child[v, k] == i32(u);\n"
                "  0.5 * g[v, j]\nentry forward forward: g = g\n");
  apply(&w, neo_pass_levels);
  has(&w, "where u < i64(parents.child[e]) / 2 and i64(parents.child[e]) % 2 == k and "
          "0 <= i64(placed.child[i64(parents.child[e]) / 2, k]);\n"
          "    0.5 * by_level.g[i64(parents.child[e]) / 2, j]\n");
  neo_arena_free(&w.arena);
}

/* Weights get their gradient from vertices with children alone. */
static void sums_leave_out_leaves_where_a_factor_is_of_a_child(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "def @3 W[l: 16, j: 16] =\n  sum[v: V]\n"
                   "  x[v, j] * (h[i64(child[v, 0]), l] else 0.0)\n"
                   "entry forward forward: h = h, W = W\n");
  apply(&w, neo_pass_levels);
  has(&w, "sum[v: i64((level.first.child[1] else 0i32))..V] x[i64(level.order.child[v]), j] * "
          "(by_level.h[i64(placed.child[v, 0]), l] else 0.0)\n");
  neo_arena_free(&w.arena);
}

/* An arm of a choice that only leaves take is computed for leaves alone. */
static void a_branch_without_children_is_of_leaves_alone(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "def @3 n[v: V] =\n  sum[k: 2] i32(0i32 <= child[v, k])\n"
                   "def @4 g[v: V, j: 16] =\n  sum[l: 16]\n  x[v, l] * U[0, l, j]\n"
                   "def @5 d[v: V, j: 16] = select(0i32 < n[v], h[v, j], g[v, j])\n"
                   "entry forward forward: d = d\n");
  apply(&w, neo_pass_levels);
  has(&w, "temp by_level.g : f32 [V, 16] partial\n");
  has(&w, "then select(v < i64((level.first.child[1] else 0i32)), acc0, 0.0)\n");
  has(&w, "select(i64((level.first.child[1] else 0i32)) <= v, by_level.h[v, j], by_level.g[v, j])");
  neo_arena_free(&w.arena);
}

/* 256 children are 0 in 8 bits. */
static void a_count_in_fewer_bits_tells_nothing_of_leaves(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "def @3 n[v: V] =\n  sum[k: 2] i32(0i32 <= child[v, k])\n"
                   "def @4 g[v: V, j: 16] =\n  sum[l: 16]\n  x[v, l] * U[0, l, j]\n"
                   "def @5 d[v: V, j: 16] = select(0i8 < i8(n[v]), h[v, j], g[v, j])\n"
                   "entry forward forward: d = d\n");
  apply(&w, neo_pass_levels);
  has(&w, "select(0i8 < i8(by_level.n[v]), by_level.h[v, j], by_level.g[v, j])");
  neo_arena_free(&w.arena);
}

/* Parents of vertices with children have grandchildren: nobody asks those of leaves alone. */
static void adjoints_for_inner_vertices_begin_behind_level_1(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "def @1 n[v: V] =\n  sum[k: 2] i32(0i32 <= child[v, k])\n"
                "def @2 d[u: V, j: 16] =\n  sum[v: V, k: 2] where i64(child[v, k]) == u;\n"
                "  s[v, j]\n"
                "def @3 g[u: V, j: 16] = select(0i32 < n[u], x[u, j] + d[u, j], 0.0)\n"
                "def @4 s[u: V, j: 16] =\n  sum[l: 16]\n  g[u, l] * U[0, l, j]\n"
                "def @5 W[l: 16, j: 16] =\n  sum[v: V]\n  g[v, j] * x[v, l]\n"
                "entry forward forward: W = W\n");
  apply(&w, neo_pass_levels);
  has(&w, "temp by_level.s : f32 [V, 16] partial\n");
  has(&w, "then select(i64((level.first.child[2] else 1i32)) <= u, acc0, 0.0)\n");
  neo_arena_free(&w.arena);
}

/* A branch for vertices with a word is computed between the first and the last of them. */
static void what_a_kind_needs_runs_over_its_places(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\nsize V 0..40\ninput child : i32 [V, 2] in -1..d0\n"
           "input word : i32 [V] in -1..9\ninput x : f32 [V, 16]\ninput U : f32 [2, 16, 16]\n"
           "temp h : f32 [V, 16]\ntemp s : f32 [V, 16]\ntemp p : f32 [V, 16]\n"
           "temp q : f32 [V, 16]\ntemp c : f32 [V, 16]\ntemp W : f32 [16, 16]\n"
           "def @1 p[v: V, j: 16] =\n  sum[l: 16]\n  x[v, l] * U[0, l, j]\n"
           "def @2 q[v: V, j: 16] = select(0i32 <= word[v], p[v, j], 0.5)\n"
           "def @3 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"
           "  U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n"
           "def @4 h[v: V, j: 16] = tanh(q[v, j] + s[v, j])\n"
           "def @5 c[v: V, j: 16] = select(0i32 <= word[v], h[v, j], 0.0)\n"
           "def @6 W[l: 16, j: 16] =\n  sum[v: V]\n  c[v, j] * x[v, l]\n"
           "entry forward forward: h = h, W = W\n");
  apply(&w, neo_pass_levels);
  has(&w, "temp by_level.p : f32 [V, 16] partial\n");
  has(&w, "then select(i64(begin.level.place.child[]) <= v and "
          "v < i64(end.level.place.child[]), acc0, 0.0)\n");
  has(&w, "sum[v: i64(begin.level.place.child[])..min(V, i64(end.level.place.child[]))] "
          "by_level.c[v, j] *");
  has(&w, "max[p: V] i32(select(0i32 <= word[i64(level.order.child[p])], p + 1, 0))\n");
  neo_arena_free(&w.arena);
}

/* A choice between the value of a kind and a parameter is made in its few readers. */
static void a_parameter_in_place_of_a_kinds_value_is_chosen_where_it_is_read(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "input word : i32 [V] in -1..9\nparam b : f32 [16]\ntemp p : f32 [V, 16]\n"
                "temp q : f32 [V, 16]\n"
                "init @1 b[j: 16] = 0.0\n"
                "def @2 p[v: V, j: 16] =\n  sum[l: 16]\n  x[v, l] * U[0, l, j]\n"
                "def @3 q[v: V, j: 16] = select(0i32 <= word[v], p[v, j], b[j])\n"
                "def @4 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"
                "  U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n"
                "def @5 h[v: V, j: 16] = tanh(q[v, j] + s[v, j])\n"
                "entry forward forward: h = h\n");
  apply(&w, neo_pass_levels);
  has(&w, "by_level.h[v: V, j: 16] = tanh(select(0i32 <= word[i64(level.order.child[v])], "
          "by_level.p[v, j], b[j]) + by_level.s[v, j])\n");
  neo_arena_free(&w.arena);
}

/* A branch within a branch for others than leaves, for vertices with a word, runs for those of the
 * latter that are none, and so do sums of what it gives. */
static void a_branch_in_a_branch_runs_where_both_are_taken(void **state) {
  (void)state;
  world w;
  load(&w, HEAD
       "input word : i32 [V] in -1..9\ntemp p : f32 [V, 16]\ntemp q : f32 [V, 16]\n"
       "temp e : f32 [V, 16]\n"
       "def @1 n[v: V] =\n  sum[k: 2] i32(0i32 <= child[v, k])\n"
       "def @2 p[v: V, j: 16] =\n  sum[l: 16]\n  x[v, l] * U[0, l, j]\n"
       "def @3 q[v: V, j: 16] = select(0i32 < n[v], select(0i32 <= word[v], p[v, j], 0.5), 0.0)\n"
       "def @4 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"
       "  U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n"
       "def @5 h[v: V, j: 16] = tanh(x[v, j] + q[v, j] + s[v, j])\n"
       "def @6 g[v: V, j: 16] = select(0i32 <= word[v] and 0i32 < n[v], h[v, j], 0.0)\n"
       "def @7 W[l: 16, j: 16] =\n  sum[v: V]\n  g[v, j] * x[v, l]\n"
       "def @8 e[v: V, j: 16] =\n  sum[l: 16]\n  g[v, l] * U[1, j, l]\n  then acc0 + x[v, j]\n"
       "entry forward forward: h = h, W = W, e = e\n");
  apply(&w, neo_pass_levels);
  has(&w,
      "then select(max(i64((level.first.child[1] else 0i32)), i64(begin.level.place.child[])) <= v "
      "and v < i64(end.level.place.child[]), acc0, 0.0)\n");
  has(&w, "sum[v: max(i64((level.first.child[1] else 0i32)), i64(begin.level.place.child[]))"
          "..min(V, i64(end.level.place.child[]))] by_level.g[v, j] *");
  has(&w, "then select(i64((level.first.child[1] else 0i32)) <= v, acc0, 0.0) + ");
  neo_arena_free(&w.arena);
}

/* Two branches take parts of an adjoint. Their sum is the adjoint itself, and is read as such. */
static void copies_of_branches_are_read_where_they_come_from(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "temp z : f32 [V, 16]\ntemp y : f32 [V, 16]\ntemp Z : f32 [16, 16]\n"
                "def @1 n[v: V] =\n  sum[k: 2] i32(0i32 <= child[v, k])\n"
                "def @2 d[u: V, j: 16] =\n  sum[v: V, k: 2] where i64(child[v, k]) == u;\n"
                "  s[v, j]\n"
                "def @3 g[u: V, j: 16] = x[u, j] + d[u, j]\n"
                "def @4 z[u: V, j: 16] = select(0i32 < n[u], g[u, j], 0.0)\n"
                "def @5 s[u: V, j: 16] =\n  sum[l: 16]\n  z[u, l] * U[0, l, j]\n"
                "def @6 W[l: 16, j: 16] =\n  sum[v: V]\n  z[v, j] * x[v, l]\n"
                "def @7 y[u: V, j: 16] = select(0i32 < n[u], 0.0, g[u, j]) + z[u, j]\n"
                "def @8 Z[l: 16, j: 16] =\n  sum[v: V]\n  y[v, j] * x[v, l]\n"
                "entry forward forward: W = W, Z = Z\n");
  apply(&w, neo_pass_levels);
  has(&w, "sum[l: 16] by_level.g[u, l] * U[0, l, j]\n");
  has(&w, "sum[v: i64((level.first.child[1] else 0i32))..V] by_level.g[v, j] *");
  has(&w, "sum[v: V] by_level.g[v, j] *");
  neo_arena_free(&w.arena);
}

/* Blocks are of a level and a kind, and a branch is there for its kind alone. */
static void vertices_of_a_level_are_sorted_by_kinds(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "input word : i32 [V] < 9\n"
                "def @1 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"
                "  U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n"
                "def @2 h[v: V, j: 16] = select(word[v] == 3i32, s[v, j], x[v, j])\n"
                "entry forward forward: h = h\n");
  w.target.batch_kinds = true;
  apply(&w, neo_pass_levels);
  has(&w, "temp level.first.child : i32 [V * 2 + 1] < V + 1\n");
  has(&w, "temp level.kind.child : i32 [V] < 2\n");
  has(&w, "level.kinds.child[p: V] = i32(word[p] == 3i32)\n");
  has(&w, "temp by_level.s : f32 [V, 16] partial\n");
  has(&w, "then select(level.kind.child[v] == 1i32, "
          "select(i64((level.first.child[2] else 0i32)) <= v, acc0, 0.0), 0.0)\n");
  has(&w, "by_level.h[v: V, j: 16] = select(level.kind.child[v] == 1i32, by_level.s[v, j], ");
  neo_arena_free(&w.arena);
}

/* A definition that no entry needs does not order vertices. */
static void recurrences_that_nobody_needs_make_no_kinds(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "input word : i32 [V] < 9\ninput other : i32 [V, 2] in -1..d0\n"
                   "def @3 d[v: V, j: 16] = select(word[v] == 3i32, h[v, j], "
                   "(d[i64(other[v, 0]), j] else 0.0))\n"
                   "entry forward forward: h = h\n");
  w.target.batch_kinds = true;
  apply(&w, neo_pass_levels);
  has(&w, "temp placed.child : i32 [V, 2] in -1..d0\n");
  assert_null(strstr(text_of(&w), "level.kinds."));
  assert_null(strstr(text_of(&w), "placed.other"));
  neo_arena_free(&w.arena);
}

/* A count of children is computed, and so is no condition of a kind. */
static void kinds_go_by_what_is_given(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "def @3 n[v: V] =\n  sum[k: 2] i32(0i32 <= child[v, k])\n"
                   "def @4 g[v: V, j: 16] =\n  sum[l: 16]\n  x[v, l] * U[0, l, j]\n"
                   "def @5 d[v: V, j: 16] = select(n[v] == 2i32, g[v, j], h[v, j])\n"
                   "entry forward forward: d = d\n");
  apply(&w, neo_pass_levels);
  has(&w, "temp by_level.g : f32 [V, 16]\n");
  assert_null(strstr(text_of(&w), "begin."));
  neo_arena_free(&w.arena);
}

/* The child of a vertex that has no other is in the level before. */
static void children_of_chains_are_in_the_next_level(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\nsize V 0..40\ninput child : i32 [V, 1] in -1..d0\n"
           "input x : f32 [V, 16]\ntemp h : f32 [V, 16]\ntemp g : f32 [V, 16]\n"
           "temp d : f32 [V, 16]\n"
           "def @1 h[v: V, j: 16] = tanh(x[v, j] + (h[i64(child[v, 0]), j] else 0.0))\n"
           "def @2 g[u: V, j: 16] = tanh(h[u, j] + d[u, j])\n"
           "def @3 d[u: V, j: 16] =\n  sum[v: V, k: 1] where i64(child[v, k]) == u;\n"
           "  0.5 * g[v, j]\nentry forward forward: g = g\n");
  apply(&w, neo_pass_levels);
  has(&w, "temp placed.child : i32 [V, 1] in -1..d0\n");
  has(&w, "temp parents.child : i32 [V] < V\n");
  neo_arena_free(&w.arena);
}

static void tensors_of_parts_lie_in_the_order(void **state) {
  (void)state;
  world w;
  load(&w, HEAD UP "def @3 g[v: V, j: 8] at [v, j] = h[v, j]\n"
                   "def @4 g[v: V, j: 8] at [v, j + 8] = 2.0 * h[v, j]\n"
                   "def @5 d[v: V, j: 16] = g[v, j] * h[v, j]\n"
                   "entry forward forward: d = d, g = g\n");
  apply(&w, neo_pass_levels);
  has(&w, "by_level.g[v: V, j: 8] at [v, j + 8] = 2.0 * by_level.h[v, j]\n");
  has(&w, "by_level.d[v: V, j: 16] = by_level.g[v, j] * by_level.h[v, j]\n");
  has(&w, " g[v: V, j: 16] = by_level.g[i64(level.place.child[v]), j]\n");
  neo_arena_free(&w.arena);
}

/* Only roots have an adjoint from outside. It is added up before the levels, not searched for in
 * each. */
static void sums_over_equations_leave_recurrences(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\nsize V 0..40\ninput child : i32 [V, 2] in -1..d0\n"
           "input root : i32 [5] < V\ninput r : f32 [5, 16]\ntemp g : f32 [V, 16]\n"
           "temp d : f32 [V, 16]\n"
           "def @1 g[u: V, j: 16] =\n  sum[t: 5] where i64(root[t]) == u;\n  r[t, j]\n"
           "  then tanh(acc0 + d[u, j])\n"
           "def @2 d[u: V, j: 16] =\n  sum[v: V, k: 2] where i64(child[v, k]) == u;\n"
           "  0.5 * g[v, j]\nentry forward forward: g = g\n");
  apply(&w, neo_pass_levels);
  apply(&w, neo_pass_sparse_rows);
  has(&w, "temp sparse.by_level.g : f32 [V, 16] terms\n");
  has(&w, "sum[t: 5] where i64((level.place.child[i64(root[t])] else -1i32)) == u;\n    r[t, j]");
  has(&w, "by_level.g[u: V, j: 16] = tanh(select(touched.by_level.g[u], "
          "sparse.by_level.g[u, j], 0.0) + by_level.d[u, j])\n");
  neo_arena_free(&w.arena);
}

static void stays(const char *rest) {
  world w;
  load(&w, rest);
  const char *before = text_of(&w);
  apply(&w, neo_pass_levels);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void other_recurrences_stay(void **state) {
  (void)state;
  stays(HEAD "def @1 h[v: V, j: 16] = tanh(x[v, j] + (h[v - 1, j] else 0.0))\n"
             "entry forward forward: h = h\n");
  /* one number a vertex is no work for a batch */
  stays("neo-ir 1\nmodule t\nsize V 0..40\ninput child : i32 [V, 2] in -1..d0\ntemp n : i32 [V]\n"
        "def @1 n[v: V] =\n  sum[k: 2] (n[i64(child[v, k])] else 0i32)\n  then 1i32 + acc0\n"
        "entry forward forward: n = n\n");
}

#define TABLE                                                                  \
  "neo-ir 1\nmodule t\ninput key : i32 [30] < 50\ninput x : f32 [30, 8]\n"     \
  "param T : f32 [50, 8]\ntemp G : f32 [50, 8]\ntemp r : bool [50]\n"          \
  "update N : f32 [50, 8] of T\ninit @1 T[n: 50, d: 8] = 0.0\n"                \
  "def @2 G[n: 50, d: 8] =\n  sum[e: 30] where i64(key[e]) == n;\n  x[e, d]\n" \
  "def @3 r[n: 50] =\n  any[d: 8] G[n, d] != 0.0\n"                            \
  "def @4 N[n: 50, d: 8] = select(r[n], T[n, d] - G[n, d], T[n, d])\n"         \
  "entry train step: ; updates N\n"

/* On a GPU a row looks for its terms only if it has some. */
static void rows_without_terms_are_not_looked_for_on_a_gpu(void **state) {
  (void)state;
  world w;
  load(&w, TABLE);
  w.target.gpu_threads = 1 << 16;
  apply(&w, neo_pass_sparse_rows);
  has(&w, "temp sparse.G : f32 [50, 8] partial\n");
  has(&w, "x[e, d]\n    then select(touched.G[n], acc0, 0.0)\n");
  neo_arena_free(&w.arena);
}

/* A table's gradient has the rows that some key is; who asks first reads no other. */
static void gradients_of_tables_have_the_rows_that_are_read(void **state) {
  (void)state;
  world w;
  load(&w, TABLE);
  apply(&w, neo_pass_sparse_rows);
  has(&w, "temp sparse.G : f32 [50, 8] terms\n");
  has(&w, "touched.G[n: 50] =\n    any[e: 30] where i64(key[e]) == n;\n    true\n");
  has(&w, "select(touched.G[n] and asked.r[n], ");
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(children_are_read_at_their_places),
      cmocka_unit_test(children_in_lists_are_read_at_their_places),
      cmocka_unit_test(sums_over_edges_to_a_vertex_run_through_a_list),
      cmocka_unit_test(lists_that_nothing_is_known_of_stay),
      cmocka_unit_test(the_largest_of_parents_is_found_in_their_list),
      cmocka_unit_test(an_edge_reads_the_vertex_in_whose_list_it_is),
      cmocka_unit_test(conditions_beside_an_owner_keep_the_sum),
      cmocka_unit_test(children_of_chains_are_in_the_next_level),
      cmocka_unit_test(one_definition_orders_the_graph),
      cmocka_unit_test(graphs_of_more_edges_than_an_i32_counts_stay),
      cmocka_unit_test(sums_over_parents_run_through_a_list),
      cmocka_unit_test(parents_in_a_slot_are_asked_for_it),
      cmocka_unit_test(sums_leave_out_leaves_where_a_factor_is_of_a_child),
      cmocka_unit_test(a_branch_without_children_is_of_leaves_alone),
      cmocka_unit_test(a_count_in_fewer_bits_tells_nothing_of_leaves),
      cmocka_unit_test(adjoints_for_inner_vertices_begin_behind_level_1),
      cmocka_unit_test(what_a_kind_needs_runs_over_its_places),
      cmocka_unit_test(a_parameter_in_place_of_a_kinds_value_is_chosen_where_it_is_read),
      cmocka_unit_test(a_branch_in_a_branch_runs_where_both_are_taken),
      cmocka_unit_test(copies_of_branches_are_read_where_they_come_from),
      cmocka_unit_test(vertices_of_a_level_are_sorted_by_kinds),
      cmocka_unit_test(recurrences_that_nobody_needs_make_no_kinds),
      cmocka_unit_test(kinds_go_by_what_is_given),
      cmocka_unit_test(rows_without_terms_are_not_looked_for_on_a_gpu),
      cmocka_unit_test(tensors_of_parts_lie_in_the_order),
      cmocka_unit_test(sums_over_equations_leave_recurrences),
      cmocka_unit_test(other_recurrences_stay),
      cmocka_unit_test(gradients_of_tables_have_the_rows_that_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Loops along the same positions share one (codegen/fused_loops.h), and what they read has to be there. */
#include "base/machine.h"
#include "codegen/fused_loops.h"
#include "ir/print.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HEAD                                                                                \
  "neo-ir 1\nmodule t\nsize V 0..40\ninput child : i32 [V, 2] in -1..d0\n"                  \
  "temp level : i32 [V] < V\ntemp count : i32 [V] < V + 1\ntemp rank : i32 [V] < V\n"       \
  "temp again : i32 [V, 2] < V * 2\ntemp parents : i32 [V] < V * 2 + 1\n"                   \
  "temp up : i32 [V] < V\ntemp own : i32 [V] < V + 1\n"                                     \
  "input perm : i32 [V] < V\ntemp far : i32 [V] < V\n"                                      \
  "temp first : i32 [V] < V * 2 + 1\ntemp spot : i32 [V, 2] < V * 2\n"                      \
  "temp end : i32 [V] < V * 2 + 1\n"                                                        \
  "temp last : i32 [V] < V * 2 + 1\n"                                                       \
  "temp place : i32 [V] < V * 2\ntemp order : i32 [V] < V\ntemp seat : i32 [V]\n"           \
  "def level[v: V] =\n  max[k: 2] (level[i64(child[v, k])] else -1i32) + 1i32\n"            \
  "def count[l: V] =\n  sum[v: V] where i64(level[v]) == l;\n  1i32\n"                      \
  "def rank[v: V] =\n  sum[u: V] where u < v and i64(level[u]) == i64(level[v]);\n  1i32\n" \
  "def parents[u: V] =\n  sum[v: V, k: 2] where i64(child[v, k]) == u;\n  1i32\n"           \
  "def again[v: V, k: 2] =\n  sum[w: V, j: 2] where w * 2 + j < v * 2 + k and "             \
  "i64(child[w, j]) == i64(child[v, k]) and 0 <= i64(child[v, k]);\n  1i32\n"               \
  "def up[v: V] = (level[i64(child[v, 0])] else 0i32)\n"                                    \
  "def own[v: V] = count[i64(level[v])]\n"                                                  \
  "def far[v: V] = level[i64(perm[v])]\n"                                                   \
  "def first[u: V] =\n  sum[k: V] where k < u;\n  parents[k]\n"                             \
  "def spot[v: V, k: 2] =\n  sum[w: V, j: 2] where w * 2 + j < v * 2 + k and "              \
  "i64(child[w, j]) == i64(child[v, k]) and 0 <= i64(child[v, k]);\n  1i32\n"               \
  "  then (first[i64(child[v, k])] else 0i32) + acc0\n"                                     \
  "def end[u: V] = first[u] + parents[u]\n"                                                 \
  "def last[u: V] = end[i64(perm[u])]\n"                                                    \
  "def place[v: V] = (count[i64(level[v])] + rank[v]) % (rank[v] + 3i32) % 1001i32\n"       \
  "def order[p: V] =\n  sum[v: V] where i64(place[v]) == p;\n  i32(v)\n"                    \
  "def seat[p: V] =\n  sum[v: V] where i64(place[v]) == p;\n  (place[i64(child[v, 0])] else 0i32)\n"

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_grouping all;
  neo_kernel_tree tree; /* of the group whose loops are fused */
  size_t n_fused;
} world;

static void load(world *w, const char *text) {
  neo_arena *a = &w->arena;
  memset(w, 0, sizeof *w);
  neo_arena_init(a, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  w->m = neo_module_parse(a, neo_names_new(a), d, "test", text, strlen(text));
  assert_non_null(w->m);
  assert_int_equal(neo_fuse(w->m, a, &w->all, NULL), NEO_OK);
  neo_recurrence_options o = {.machine = neo_machine_named("x86-64-v3"), .all = &w->all};
  neo_str why;
  neo_str_init(&why, a);
  for (size_t g = 0; g < w->all.groups.n; g++) {
    if (!w->all.groups.at[g].loops.n)
      continue;
    w->n_fused++;
    assert_int_equal(neo_fused_loops_kernels(w->m, &w->all.groups.at[g], &o, a, &w->tree, &why),
                     NEO_OK);
  }
}

static const char *text_of(world *w, size_t k) {
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_kernel_print(w->tree.kernels.at[k].kernel, &s);
  return neo_str_text(&s);
}

static void has(world *w, const char *part) {
  if (!strstr(text_of(w, 0), part))
    fail_msg("'%s' is not in\n%s", part, text_of(w, 0));
}

static void any_has(world *w, const char *part) {
  for (size_t k = 0; k < w->tree.kernels.n; k++)
    if (strstr(text_of(w, k), part))
      return;
  fail_msg("'%s' is in no kernel", part);
}

static void sums_by_keys_of_a_recurrence_run_in_its_loop(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: level = level, count = count, rank = rank\n");
  assert_int_equal(w.n_fused, 1);
  assert_int_equal(w.tree.kernels.n, 1);
  has(&w, "        level[v_2] = stored[0]\n        rank[v_2] = count[i64(stored[0])]\n");
  has(&w, "        count[i64(stored[0])] = stored_2[0]\n");
  assert_null(strstr(text_of(&w, 0), "table"));
  neo_arena_free(&w.arena);
}

/* Two slots of a vertex may hold the same child: the second counts the first. */
static void rounds_of_a_position_take_turns(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: parents = parents, again = again\n");
  assert_int_equal(w.tree.kernels.n, 1);
  has(&w, "      again[v*2] = parents[i64(child[v*2])]\n");
  has(&w, "      parents[i64(child[v*2])] = stored");
  has(&w, "      again[v*2 + 1] = parents[i64(child[v*2 + 1])]\n");
  neo_arena_free(&w.arena);
}

/* What is made at earlier positions is there; a sum by keys only behind the last position. */
static void what_is_not_there_yet_is_read_in_another_loop(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: level = level, count = count, up = up, own = own\n");
  assert_int_equal(w.n_fused, 1);
  assert_int_equal(w.tree.kernels.n, 1);
  has(&w, "  up[v_2] = ");
  assert_null(strstr(text_of(&w, 0), "own[v"));
  neo_arena_free(&w.arena);
}

/* Data say where it is read: perhaps at a later position. */
static void what_may_come_later_is_read_in_another_loop(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: level = level, count = count, far = far\n");
  assert_int_equal(w.tree.kernels.n, 2);
  has(&w, "count[i64(stored[0])] = ");
  assert_null(strstr(text_of(&w, 0), "far"));
  neo_arena_free(&w.arena);
}

/* What children there are is asked once, around the round. */
static void conditions_are_branches_around_a_round(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: level = level, count = count, again = again\n");
  has(&w, "    if 0 <= i64(child[v_2*2])\n      if 0 <= i64(child[v_2*2 + 1])\n");
  has(&w, "    else\n      if 0 <= i64(child[v_2*2 + 1])\n");
  assert_null(strstr(text_of(&w, 0), "select"));
  neo_arena_free(&w.arena);
}

/* The table has where each key begins, and where it ends behind the loop. */
static void places_in_a_sort_are_found_in_one_table(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: spot = spot, end = end\n");
  const neo_tree_kernel *last = &w.tree.kernels.at[w.tree.kernels.n - 1];
  w.tree.kernels.at[0] = *last;
  has(&w, "      next[0] = sum[0] + parents[u]\n      end[u] = sum[0]\n      sum[0] = next[0]\n");
  has(&w, "spot[v*2] = end[i64(child[v*2])]\n");
  has(&w, "spot[v*2 + 1] = end[i64(child[v*2 + 1])]\n");
  assert_null(strstr(text_of(&w, 0), "table"));
  assert_null(strstr(text_of(&w, 0), "first["));
  neo_arena_free(&w.arena);
}

/* Sums of other numbers than those of a key's places are no ends of theirs. */
static void a_sort_that_leaves_gaps_has_a_table_of_its_own(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "temp gaps : i32 [V] < V * 2 + 1\ntemp seats : i32 [V, 2] < V * 4\n"
                "temp past : i32 [V] < V * 2 + 1\n"
                "def gaps[u: V] =\n  sum[k: V] where k < u;\n  count[k]\n"
                "def seats[v: V, k: 2] =\n  sum[w: V, j: 2] where w * 2 + j < v * 2 + k and "
                "i64(child[w, j]) == i64(child[v, k]) and 0 <= i64(child[v, k]);\n  1i32\n"
                "  then (gaps[i64(child[v, k])] else 0i32) + acc0\n"
                "def past[u: V] = gaps[u] + count[u]\n"
                "entry forward forward: seats = seats, past = past\n");
  w.tree.kernels.at[0] = w.tree.kernels.at[w.tree.kernels.n - 1];
  has(&w, "table[i64(child[v_2*2])]");
  assert_null(strstr(text_of(&w, 0), "past[i64("));
  neo_arena_free(&w.arena);
}

/* Who else reads where keys begin gets it. */
static void a_sort_whose_starts_are_read_has_two_tables(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: spot = spot, end = end, first = first\n");
  w.tree.kernels.at[0] = w.tree.kernels.at[w.tree.kernels.n - 1];
  has(&w, "first[v] = ");
  has(&w, "table[i64(child[v*2])]");
  neo_arena_free(&w.arena);
}

/* Counts that are there before the loop are added up in vectors, a run at a time. */
static void a_sort_has_the_starts_of_a_run_before_its_rounds(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: spot = spot, end = end\n");
  w.tree.kernels.at[0] = w.tree.kernels.at[w.tree.kernels.n - 1];
  has(&w,
      "  if b + 16 <= V\n    reg s[16]: i32\n    for l in 0..16 vector\n      s[l] = parents[b + l]\n");
  has(&w, "    for k in 8..16 unroll\n      t[k] = s[k - 8]\n");
  has(&w,
      "      end[b + l] = s[l] - parents[b + l] + sum[0]\n    sum[0] = sum[0] + s[15]\n  else\n");
  neo_arena_free(&w.arena);
}

/* Lines that come later are asked for before a run of rounds. */
static void tables_are_prefetched_along_the_loop(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: level = level, count = count, rank = rank\n");
  has(&w, "for b in 0..V step 16\n  prefetch child[b*2 + 256]\n  prefetch child[b*2 + 272]\n");
  has(&w, "  for v_2 in b..min(b + 16, V)\n");
  assert_null(strstr(text_of(&w, 0), "prefetch count"));
  neo_arena_free(&w.arena);
}

/* Places are a permutation: whoever writes at all of them goes through the table. */
static void tables_that_are_written_at_places_are_prefetched_too(void **state) {
  (void)state;
  world w;
  load(&w, HEAD
       "temp inverse : i32 [V] < V terms injective\ntemp twice : i32 [V, 2] < V terms injective\n"
       "def inverse[p: V] =\n  sum[v: V] where i64(place[v]) == p;\n  i32(v)\n"
       "def twice[p: V, k: 2] =\n  sum[v: V] where i64(place[v]) == p;\n  i32(v)\n"
       "entry forward forward: inverse = inverse, twice = twice, seat = seat\n");
  any_has(&w, "  prefetch inverse[b + 128]\n");
  any_has(&w, "  prefetch twice[b*2 + 256]\n  prefetch twice[b*2 + 272]\n");
  for (size_t k = 0; k < w.tree.kernels.n; k++) /* sums may have few keys */
    assert_null(strstr(text_of(&w, k), "prefetch seat"));
  neo_arena_free(&w.arena);
}

/* Ends come where counts were, and places where ranks were, if nobody else reads these. */
static void what_is_read_for_the_last_time_gives_up_its_memory(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: spot = spot, last = last\n");
  any_has(&w, "next[0] = sum[0] + end[u]\n");
  any_has(&w, " over ");
  neo_arena_free(&w.arena);
  load(&w, HEAD "entry forward forward: order = order, seat = seat\n");
  any_has(&w, "(count[i64(level[v_2])] + place[v_2]) % (place[v_2] + 3:i32)");
  any_has(&w, " over ");
  neo_arena_free(&w.arena);
}

static void what_others_read_keeps_its_memory(void **state) {
  (void)state;
  static const char *const outputs[] = {
      "order = order, rank = rank",   /* the old one is returned */
      "order = order, place = place", /* the new one is: it is in the caller's memory */
      "spot = spot, end = end",
  };
  for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) {
    world w;
    char text[sizeof HEAD + 100];
    (void)snprintf(text, sizeof text, "%sentry forward forward: %s\n", HEAD, outputs[k]);
    load(&w, text);
    for (size_t s = 0; s < w.tree.kernels.n; s++)
      assert_null(strstr(text_of(&w, s), " over "));
    neo_arena_free(&w.arena);
  }
}

/* As above, with what the caller gives in place of ranks. */
static void what_the_caller_gives_keeps_its_memory(void **state) {
  (void)state;
  world w;
  load(&w,
       HEAD "input given : i32 [V] < V\ntemp moved : i32 [V] < V * 2\n"
            "temp sorted : i32 [V] < V\n"
            "def moved[v: V] = (count[i64(level[v])] + given[v]) % (given[v] + 3i32) % 1001i32\n"
            "def sorted[p: V] =\n  sum[v: V] where i64(moved[v]) == p;\n  i32(v)\n"
            "entry forward forward: sorted = sorted\n");
  any_has(&w, " + given[v_2]) % (given[v_2] + 3:i32)");
  for (size_t s = 0; s < w.tree.kernels.n; s++)
    assert_null(strstr(text_of(&w, s), " over "));
  neo_arena_free(&w.arena);
}

/* Children come before their parents, so no round counts at a later position; levels may be any. */
static void counts_become_0_a_run_at_a_time(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "entry forward forward: level = level, count = count, again = again, "
                "parents = parents\n");
  has(&w, "  if b + 16 <= V\n    for l in 0..16 vector\n      parents[b + l] = 0:i32\n"
          "  else\n    for u in b..V\n      parents[u] = 0:i32\n");
  has(&w, "  prefetch parents[b + 128]\n");
  assert_null(strstr(text_of(&w, 0), "count[b + l] = 0:i32"));
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_by_keys_of_a_recurrence_run_in_its_loop),
      cmocka_unit_test(rounds_of_a_position_take_turns),
      cmocka_unit_test(what_is_not_there_yet_is_read_in_another_loop),
      cmocka_unit_test(what_may_come_later_is_read_in_another_loop),
      cmocka_unit_test(conditions_are_branches_around_a_round),
      cmocka_unit_test(places_in_a_sort_are_found_in_one_table),
      cmocka_unit_test(a_sort_that_leaves_gaps_has_a_table_of_its_own),
      cmocka_unit_test(a_sort_whose_starts_are_read_has_two_tables),
      cmocka_unit_test(a_sort_has_the_starts_of_a_run_before_its_rounds),
      cmocka_unit_test(tables_are_prefetched_along_the_loop),
      cmocka_unit_test(tables_that_are_written_at_places_are_prefetched_too),
      cmocka_unit_test(what_is_read_for_the_last_time_gives_up_its_memory),
      cmocka_unit_test(what_others_read_keeps_its_memory),
      cmocka_unit_test(what_the_caller_gives_keeps_its_memory),
      cmocka_unit_test(counts_become_0_a_run_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

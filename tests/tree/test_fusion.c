/* The trees that fusion makes of recurrences run literally, with circular buffers as their stores, and give what the
 * trees without rewrites give, bit for bit: loops that are cut, tiled, led by others, joined by what follows them. */
#include "fusion/recurrence.h"
#include "tests/effort.h"
#include "tests/ir/ir_test.h"
#include "tests/pairs/compilation.h"
#include "tests/tree/tree_text.h"
#include <string.h>

enum { COUNT = 120 };

typedef struct {
  neo_arena *a;
  pairs_compilation x;
  pairs_program p;
  neo_module *m;
  int64_t *sizes;
  uint32_t n_trees, n_stores;
} world;

static bool makes_partial(const neo_module *m, const neo_tree_leaf *l) {
  bool partial = false;
  for (size_t k = 0; k < l->instances.n; k++) {
    neo_list out = neo_def_at(m, l->instances.at[k].def)->out;
    for (uint32_t i = 0; i < out.n; i++)
      partial = partial || neo_tensor_at(m, (neo_tensor){neo_list_at(m, out, i)})->partial;
  }
  return partial;
}

/* Is all that runs in the tree? Sums that grow block by block, and what does not run by what data say, are not. Of partial
 * tensors some elements are not made, which may be read for results that nobody takes. */
static bool is_literal(const neo_module *m, const neo_tree *t) {
  bool is = t->kind == NEO_TREE_LEAF ? t->leaf.instances.n > 0 && !makes_partial(m, &t->leaf)
                                     : !neo_recurrence_asks(m, t);
  for (size_t k = 0; k < t->children.n && is; k++)
    is = is_literal(m, t->children.at[k]);
  return is;
}

static neo_interp *interpreter(world *w) {
  neo_interp *p = neo_interp_new(w->a, w->m, w->sizes, w->p.seed);
  for (uint32_t t = 1; t < w->m->tensors.n; t++)
    if (w->m->tensors.at[t].role == NEO_ROLE_INPUT)
      pairs_fill(&w->x, p, (neo_tensor){t}, w->sizes, w->p.seed);
  return p;
}

static neo_value *copy_of(world *w, const neo_values *v) {
  return neo_arena_copy(w->a, v->at, ((size_t)v->n + 1) * sizeof *v->at);
}

static void fail_tree(world *w, const neo_schedule_tree *t, const char *what) {
  neo_str s;
  neo_str_init(&s, w->a);
  neo_tree_print(w->m, t, &s);
  fail_msg("seed %llu: %s\n%s", (unsigned long long)w->p.seed, what, neo_str_text(&s));
}

static void check_tree(world *w, const neo_group *g) {
  const neo_schedule_tree *t = &g->recurrence->tree;
  neo_interp *p = interpreter(w);
  neo_value **want = NEO_NEW_ARRAY(w->a, neo_value *, g->roots.n + 1);
  neo_str why;
  neo_str_init(&why, w->a);
  if (neo_tree_verify(w->m, t, &why))
    fail_tree(w, t, neo_str_text(&why));
  if (!is_literal(w->m, t->root) ||
      neo_interp_eval(p, g->roots.at, g->roots.n, g->entry != 0, &why))
    return; /* a read may be out of range where no select takes it: no matter here */
  for (size_t k = 0; k < g->roots.n; k++)
    want[k] = copy_of(w, neo_interp_tensor(p, g->roots.at[k]));
  if (neo_interp_eval_tree(p, t, g->entry != 0, &why))
    fail_tree(w, t, neo_str_text(&why));
  for (size_t k = 0; k < g->roots.n; k++) {
    const neo_values *v = neo_interp_tensor(p, g->roots.at[k]);
    if (v->known && memcmp(v->at, want[k], (size_t)v->n * sizeof *v->at) != 0)
      fail_tree(w, t, neo_name_text(w->m->names, neo_tensor_at(w->m, g->roots.at[k])->name));
  }
  w->n_trees++;
  w->n_stores += (uint32_t)t->stores.n;
}

static void check_program(pairs_drawer *draw, uint64_t seed, const neo_fuse_options *o,
                          uint32_t *n_trees, uint32_t *n_stores) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  world w = {.a = &a, .p = draw(&a, seed)};
  pairs_how how = {0};
  neo_grouping all = {0};
  neo_str text;
  neo_str_init(&text, &a);
  pairs_text(&w.p, &text);
  if (pairs_open(&w.x, &w.p, neo_str_text(&text), &how, false) && !neo_compile_front(&w.x.c) &&
      !neo_compile_passes(&w.x.c)) {
    w.m = w.x.c.module;
    const int64_t *sizes = pairs_sizes(&w.x, &w.p);
    size_t n = w.m->sizes.n;
    w.m->recurrent = true;
    assert_int_equal(neo_fuse_with(w.m, &a, o, &all, NULL), NEO_OK);
    w.sizes = NEO_NEW_ARRAY(&a, int64_t, w.m->sizes.n + 1); /* indices of loops are behind */
    memcpy(w.sizes, sizes, n * sizeof *sizes);
  }
  for (size_t k = 0; k < all.groups.n; k++)
    if (all.groups.at[k].recurrence)
      check_tree(&w, &all.groups.at[k]);
  *n_trees += w.n_trees;
  *n_stores += w.n_stores;
  pairs_close(&w.x);
  neo_arena_free(&a);
}

/* Programs in three ways: as pays; with all that can in loops, whose iterations are in blocks; in blocks of rows alone. */
static void check_programs(pairs_drawer *draw) {
  uint32_t n_trees = 0, n_stores = 0;
  uint64_t n = neo_test_count(COUNT);
  neo_fuse_options ways[] = {{0},
                             {.consumers_join = true, .recurrences = {.tile_iterations = 3}},
                             {.consumers_join = true, .recurrences = {.blocks_only = true}}};
  for (uint64_t seed = 1; seed <= n; seed++)
    check_program(draw, seed, &ways[seed % 3], &n_trees, &n_stores);
  assert_true(n_trees > n / 2);
  assert_true(n_stores > n / 4);
}

static void trees_of_recurrences_run_literally(void **state) {
  (void)state;
  check_programs(pairs_draw_wide_recurrent);
}

static void trees_of_vertex_functions_run_literally(void **state) {
  (void)state;
  check_programs(pairs_draw_wide_vertices);
}

static void trees_of_loops_in_loops_run_literally(void **state) {
  (void)state;
  check_programs(pairs_draw_nested);
}

/* ---- storage of loops in loops */

static const char nest[] = "input x : f32 [8]\n"
                           "temp u : f32 [4, 20, 8]\n"
                           "temp h : f32 [4, 8]\n"
                           "temp z : f32 [8]\n"
                           "def u[t: 4, r: 20, i: 8] = 0.5 * select(r == 0, (h[t - 1, i] else 1.0),"
                           " u[t, r - 1, 7 - i]) + x[i]\n"
                           "def h[t: 4, i: 8] = 0.5 * u[t, 19, i]\n"
                           "def z[i: 8] = h[3, i]\n"
                           "entry forward f: z = z\n";

static const char deep[] =
    "input x : f32 [8]\n"
    "temp v : f32 [3, 5, 20, 8]\n"
    "temp u : f32 [3, 5, 8]\n"
    "temp h : f32 [3, 8]\n"
    "temp z : f32 [8]\n"
    "def v[t: 3, r: 5, s: 20, i: 8] = 0.5 * select(s == 0, select(r == 0, (h[t - 1, i] else 1.0),"
    " u[t, r - 1, 7 - i]), v[t, r, s - 1, 7 - i]) + x[i]\n"
    "def u[t: 3, r: 5, i: 8] = 0.25 * v[t, r, 19, i]\n"
    "def h[t: 3, i: 8] = 0.5 * u[t, 4, i]\n"
    "def z[i: 8] = h[2, i]\n"
    "entry forward f: z = z\n";

static const neo_store *store_of(const neo_schedule_tree *t, neo_module *m, const char *name) {
  for (size_t k = 0; k < t->stores.n; k++)
    if (t->stores.at[k].tensor.i == neo_tensor_find(m, name).i)
      return &t->stores.at[k];
  fail_msg("%s has no store", name);
  return NULL;
}

static int64_t cells_of(const neo_module *m, const neo_store *s) {
  int64_t n = 1, x = 0;
  for (uint32_t k = 0; k < s->rank; k++) {
    assert_true(neo_expr_is_int(m, s->extent[k], &x));
    n *= x;
  }
  return n;
}

/* Fuses the program, whose recurrence's tree gives the same in memory of its own. */
static const neo_schedule_tree *tree_of_fusion(neo_module *m) {
  neo_grouping all;
  const neo_schedule_tree *t = NULL;
  double x[8] = {0.5, -1, 2, 0.25, 1, 0, -0.5, 3};
  neo_str why;
  neo_str_init(&why, m->arena);
  m->recurrent = true;
  assert_int_equal(neo_fuse_with(m, m->arena, NULL, &all, NULL), NEO_OK);
  for (size_t k = 0; k < all.groups.n; k++)
    t = all.groups.at[k].recurrence ? &all.groups.at[k].recurrence->tree : t;
  assert_non_null(t);
  neo_interp *p = test_interp(m, (int64_t[16]){0});
  test_put_f(p, m, "x", x, 8);
  neo_values want = *test_eval(p, m, "z");
  want.at = neo_arena_copy(m->arena, want.at, 8 * sizeof *want.at);
  if (neo_interp_eval_tree(p, t, false, &why))
    fail_msg("%s", neo_str_text(&why));
  assert_memory_equal(neo_interp_tensor(p, neo_tensor_find(m, "z"))->at, want.at,
                      8 * sizeof *want.at);
  return t;
}

static void loops_in_loops_have_as_many_slices_as_reads_go_back(void **state) {
  neo_module *m = test_parse(*state, nest);
  const neo_schedule_tree *t = tree_of_fusion(m);
  assert_int_equal(cells_of(m, store_of(t, m, "u")), 2 * 8);
  m = test_parse(*state, deep);
  t = tree_of_fusion(m);
  assert_int_equal(cells_of(m, store_of(t, m, "v")), 2 * 8);
  assert_true(cells_of(m, store_of(t, m, "u")) <= 2 * 8);
}

/* All of the inner loop's elements are read behind it. */
static void what_is_read_after_its_loop_has_all_slices(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [8]\ntemp u : f32 [4, 20, 8]\n"
                                     "temp h : f32 [4, 8]\ntemp z : f32 [8]\n"
                                     "def u[t: 4, r: 20, i: 8] = 0.5 * select(r == 0,"
                                     " (h[t - 1, i] else 1.0), u[t, r - 1, 7 - i]) + x[i]\n"
                                     "def h[t: 4, i: 8] =\n    sum[r: 20] u[t, r, i]\n"
                                     "def z[i: 8] = h[3, i]\nentry forward f: z = z\n");
  const neo_schedule_tree *t = tree_of_fusion(m);
  assert_int_equal(cells_of(m, store_of(t, m, "u")), 20 * 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees_of_recurrences_run_literally),
      cmocka_unit_test(trees_of_vertex_functions_run_literally),
      cmocka_unit_test(trees_of_loops_in_loops_run_literally),
      TEST(loops_in_loops_have_as_many_slices_as_reads_go_back),
      TEST(what_is_read_after_its_loop_has_all_slices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Definitions that run in the loop over levels of a recurrence, and those that run at once for all
 * rows (neo_loop_options). */
#include "fusion/recurrence.h"
#include "ir/print.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_grouping groups;
} world;

/* The order of V vertices with so many slots for children, which are of so many kinds. */
#define LEVELS(slots, kinds, kind, own)                                                          \
  "neo-ir 1\nmodule t\nsize V 0..40\ninput child : i32 [V, " slots "] in -1..d0\n"               \
  "temp level : i32 [V]\ntemp first : i32 [V * " kinds " + 1] < V + 1\n"                         \
  "temp place : i32 [V]\ntemp placed : i32 [V, " slots "] in -1..d0\ninput x : f32 [V, 16]\n"    \
  "input U : f32 [16, 16]\ntemp h : f32 [V, 16]\n"                                               \
  "def levels (level, first, place, -, " kind "; placed, -, -) kinds " kinds " [v: V, k: " slots \
  "] = child[v, k]" own "\n"

/* Rows whose children lie in earlier blocks: z leads them, c follows, and W, b and n are sums over
 * them. */
#define ROWS                                                            \
  LEVELS("2", "1", "-", "")                                             \
  "temp z : f32 [V, 16]\n"                                              \
  "temp s : f32 [V, 16]\ntemp c : f32 [V, 16]\ntemp W : f32 [16, 16]\n" \
  "temp b : f32 [16]\ntemp n : f32 [16]\n"                              \
  "def z[v: V, j: 16] =\n  sum[l: 16] x[v, l] * U[l, j]\n"              \
  "def s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"                          \
  "  U[l, j] * (h[i64(placed[v, k]), l] else 0.0)\n"                    \
  "def h[v: V, j: 16] = tanh(z[v, j] + s[v, j])\n"                      \
  "def c[v: V, j: 16] = h[v, j] * (1.0 - h[v, j])\n"                    \
  "def W[i: 16, j: 16] =\n  sum[v: V] c[v, j] * x[v, i]\n"              \
  "def b[j: 16] =\n  sum[v: V] h[v, j]\n  then 0.5 * acc0\n"            \
  "def n[j: 16] =\n  sum[v: V] h[v, j] * b[j]\n"

/* The same of rows of two kinds, each with a product of its own: p is of kind 1, q of kind 0, which
 * r is a multiple of. */
#define KINDS                                                                                  \
  LEVELS("2", "2", "kind", ", sort[v]")                                                        \
  "input sort : i32 [V] < 2\ntemp kind : i32 [V] < 2\n"                                        \
  "temp p : f32 [V, 16] partial\ntemp q : f32 [V, 16]\ntemp r : f32 [V, 16]\n"                 \
  "def p[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"                                                 \
  "  U[l, j] * (h[i64(placed[v, k]), l] else 0.0)\n"                                           \
  "  then select(kind[v] == 1i32, acc0, 0.0)\n"                                                \
  "def q[v: V, j: 16] =\n  select(kind[v] == 0i32, (h[i64(placed[v, 0]), j] else 1.0), 0.0)\n" \
  "def r[v: V, j: 16] =\n  sum[k: 2, l: 16]\n  q[v, l] * (h[i64(placed[v, k]), j] else 0.0)\n" \
  "def h[v: V, j: 16] = select(kind[v] == 1i32, tanh(p[v, j]), x[v, j]) + r[v, j]\n"

/* Rows whose one child is in the block before, if there is one slot: c is read by them alone. */
#define CHAINS(slots)                                                                   \
  LEVELS(slots, "1", "-", "")                                                           \
  "temp s : f32 [V, 16]\ntemp c : f32 [V, 16]\n"                                        \
  "def s[v: V, j: 16] =\n  sum[l: 16] U[l, j] * (h[i64(placed[v, 0]), l] else 0.0)\n"   \
  "def c[v: V, j: 16] = 0.5 * (c[i64(placed[v, 0]), j] else 0.0) + x[v, j] * s[v, j]\n" \
  "def h[v: V, j: 16] = tanh(c[v, j] + x[v, j])\n"

static void fuse_text(world *w, const char *head, const char *entry, neo_loop_options loops) {
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  neo_arena *a = &w->arena;
  char *text = neo_arena_printf(a, "%sentry forward forward: %s\n", head, entry);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  w->m = neo_module_parse(a, neo_names_new(a), d, "test", text, strlen(text));
  neo_str said;
  neo_str_init(&said, a);
  neo_diags_print(d, &said, false);
  if (!w->m)
    fail_msg("%s", neo_str_text(&said));
  w->m->recurrent = true;
  neo_fuse_options o = {.recurrences = loops};
  assert_int_equal(neo_fuse_with(w->m, a, &o, &w->groups, NULL), NEO_OK);
}

static void fuse(world *w, const char *entry, neo_loop_options loops) {
  fuse_text(w, ROWS, entry, loops);
}

static const neo_recurrence *rows_of(const world *w) {
  const neo_recurrence *r = NULL;
  for (size_t k = 0; k < w->groups.groups.n; k++)
    r = w->groups.groups.at[k].recurrence ? w->groups.groups.at[k].recurrence : r;
  assert_non_null(r);
  return r;
}

/* How many definitions in loops have a result that is a part of the tensor. */
static uint32_t defs_of(const world *w, const neo_tree *t, const char *name, bool inside) {
  uint32_t n = 0;
  bool band = t->kind == NEO_TREE_BAND;
  assert_true(!band || inside || t->band.rows.first.i);
  for (size_t k = 0; k < t->children.n; k++)
    n += defs_of(w, t->children.at[k], name, inside || band);
  if (t->kind != NEO_TREE_LEAF || !inside)
    return n;
  const neo_recurrence_segment *s = &rows_of(w)->segments.at[t->leaf.number];
  for (size_t i = 0; i < s->defs.n; i++) {
    neo_tensor out = {neo_list_at(w->m, neo_def_at(w->m, s->defs.at[i])->out, 0)};
    const neo_slice *slice = neo_recurrence_slice(rows_of(w), out);
    const neo_tensor_rec *whole = neo_tensor_at(w->m, slice ? slice->whole : out);
    n += strcmp(neo_name_text(w->m->names, whole->name), name) == 0;
  }
  return n;
}

static uint32_t in_loop(const world *w, const char *name) {
  return defs_of(w, rows_of(w)->tree.root, name, false);
}

static bool has_group(const world *w, const char *name) {
  bool has = false;
  for (size_t k = 0; k < w->groups.groups.n; k++) {
    const neo_group *g = &w->groups.groups.at[k];
    for (size_t i = 0; i < g->roots.n && !g->recurrence; i++)
      has = has || strcmp(neo_name_text(w->m->names, neo_tensor_at(w->m, g->roots.at[i])->name),
                          name) == 0;
  }
  return has;
}

static void sums_and_what_needs_no_children_are_kernels_of_all_rows(void **state) {
  (void)state;
  world w;
  fuse(&w, "h = h, W = W, b = b", (neo_loop_options){0});
  assert_true(in_loop(&w, "h") == 3); /* the first block, others, and those of one row */
  assert_true(!in_loop(&w, "z") && has_group(&w, "z"));
  assert_true(!in_loop(&w, "W") && has_group(&w, "W"));
  assert_true(!in_loop(&w, "b") && has_group(&w, "b"));
  neo_arena_free(&w.arena);
}

/* Blocks before the run run at once; in its one round there is a loop over rows, without blocks. */
static void the_last_blocks_of_one_row_each_are_a_loop_over_rows(void **state) {
  (void)state;
  world w;
  fuse(&w, "h = h", (neo_loop_options){0});
  const neo_trees *top = &rows_of(&w)->tree.root->children;
  assert_int_equal(top->n, 3);
  assert_int_equal(top->at[0]->band.rows.range, NEO_BLOCKS_ALL);
  assert_int_equal(top->at[1]->band.rows.range, NEO_BLOCKS_WIDE);
  const neo_tree_band *blocks = &top->at[2]->band;
  const neo_tree *rows = top->at[2]->children.at[0];
  assert_int_equal(blocks->rows.range, NEO_BLOCKS_SERIAL);
  assert_true(rows->kind == NEO_TREE_BAND && !rows->band.rows.first.i);
  assert_int_equal(rows->band.lo.i, neo_size_ref(w.m, blocks->rows.begin).i);
  assert_int_equal(rows->band.hi.i, neo_size_ref(w.m, blocks->rows.end).i);
  neo_arena_free(&w.arena);
}

static void where_rows_do_not_pay_all_blocks_run_at_once(void **state) {
  (void)state;
  world w;
  fuse(&w, "h = h", (neo_loop_options){.blocks_only = true});
  const neo_trees *top = &rows_of(&w)->tree.root->children;
  assert_int_equal(top->n, 2);
  assert_int_equal(top->at[1]->band.rows.range, NEO_BLOCKS_ALL);
  assert_int_equal(in_loop(&w, "h"), 2);
  neo_arena_free(&w.arena);
}

static bool has_slice_of(const world *w, const char *name) {
  const neo_recurrence *r = rows_of(w);
  bool has = false;
  for (size_t k = 0; k < r->slices.n; k++)
    has =
        has || (r->slices.at[k].stored &&
                strcmp(neo_name_text(w->m->names, neo_tensor_at(w->m, r->slices.at[k].whole)->name),
                       name) == 0);
  return has;
}

static void rows_that_the_next_block_alone_reads_lie_in_a_ring(void **state) {
  (void)state;
  world w;
  fuse_text(&w, CHAINS("1"), "h = h", (neo_loop_options){0});
  assert_true(has_slice_of(&w, "folded.c") && !has_slice_of(&w, "c"));
  assert_true(has_slice_of(&w, "h") && !has_slice_of(&w, "folded.h"));
  neo_arena_free(&w.arena);
  fuse_text(&w, CHAINS("1"), "h = h, c = c", (neo_loop_options){0});
  assert_true(has_slice_of(&w, "c") && !has_slice_of(&w, "folded.c"));
  neo_arena_free(&w.arena);
  fuse_text(&w, CHAINS("2"), "h = h", (neo_loop_options){0});
  assert_true(has_slice_of(&w, "c") && !has_slice_of(&w, "folded.c"));
  neo_arena_free(&w.arena);
}

/* In the loop: how many segments run in blocks of some kind alone, and how many sums over axes
 * these have. */
static void look_at_kinds(const world *w, const neo_tree *t, bool guarded, uint32_t *segments,
                          uint32_t *sums) {
  for (size_t k = 0; k < t->children.n; k++)
    look_at_kinds(w, t->children.at[k], guarded || t->kind == NEO_TREE_GUARD, segments, sums);
  if (t->kind != NEO_TREE_LEAF || !guarded)
    return;
  const neo_recurrence_segment *s = &rows_of(w)->segments.at[t->leaf.number];
  ++*segments;
  for (size_t i = 0; i < s->defs.n; i++)
    *sums += neo_def_at(w->m, s->defs.at[i])->reducer != NEO_RED_NONE;
}

/* Two blocks of leaves and those behind: p and r are products of one kind each, and of no leaf. */
static void a_kind_of_rows_runs_what_it_needs(void **state) {
  (void)state;
  world w;
  uint32_t segments = 0, sums = 0;
  fuse_text(&w, KINDS, "h = h", (neo_loop_options){0});
  look_at_kinds(&w, rows_of(&w)->tree.root, false, &segments, &sums);
  assert_int_equal(segments, 4);
  assert_int_equal(sums, 2);
  assert_int_equal(in_loop(&w, "h"), 4);
  assert_true(in_loop(&w, "p") == 2); /* none of it is computed for rows of kind 0 */
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_what_needs_no_children_are_kernels_of_all_rows),
      cmocka_unit_test(the_last_blocks_of_one_row_each_are_a_loop_over_rows),
      cmocka_unit_test(where_rows_do_not_pay_all_blocks_run_at_once),
      cmocka_unit_test(rows_that_the_next_block_alone_reads_lie_in_a_ring),
      cmocka_unit_test(a_kind_of_rows_runs_what_it_needs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

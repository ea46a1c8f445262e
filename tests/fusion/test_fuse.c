/* Which definitions become one kernel. */
#include "fusion/decision.h"
#include "fusion/form.h"
#include "fusion/recurrence.h"
#include "ir/print.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_grouping groups;
  neo_decisions decisions;
} world;

static void fuse_with(world *w, const neo_fuse_options *o, const char *text) {
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  neo_arena *a = &w->arena;
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  w->m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(w->m);
  w->decisions = (neo_decisions){0};
  assert_int_equal(neo_fuse_with(w->m, a, o, &w->groups, &w->decisions), NEO_OK);
}

static void fuse(world *w, const char *text) {
  fuse_with(w, NULL, text);
}

/* Is a line of the decisions, as `neoc explain` prints them, this text or longer? */
static bool says(world *w, const char *text) {
  for (size_t k = 0; k < w->decisions.list.n; k++) {
    neo_str line;
    neo_str_init(&line, &w->arena);
    neo_decision_print(w->m, &w->decisions.list.at[k], &line);
    if (strncmp(neo_str_text(&line), text, strlen(text)) == 0)
      return true;
  }
  return false;
}

static const neo_group *writer_of(const world *w, const char *name) {
  neo_tensor t = neo_tensor_find(w->m, name);
  for (size_t k = 0; k < w->groups.groups.n; k++)
    for (size_t i = 0; i < w->groups.groups.at[k].roots.n; i++)
      if (w->groups.groups.at[k].roots.at[i].i == t.i)
        return &w->groups.groups.at[k];
  return NULL;
}

static void an_activation_joins_the_product_and_its_input_stays_in_registers(void **state) {
  (void)state;
  world w;
  fuse(&w,
       "input X : f32 [8, 16]\ninput W : f32 [16, 8]\ntemp Z : f32 [8, 8]\ntemp H : f32 [8, 8]\n"
       "def Z[b: 8, j: 8] =\n  sum[i: 16] X[b, i] * W[i, j]\n  then acc0\n"
       "def H[b: 8, j: 8] = relu(Z[b, j])\nentry forward forward: H = H\n");
  assert_int_equal(w.groups.groups.n, 1);
  assert_null(writer_of(&w, "Z"));
  assert_non_null(writer_of(&w, "H"));
  assert_true(says(&w, "join H to Z: epilogue, "));
  neo_arena_free(&w.arena);
}

/* Whatever their number: the last entry of 70 has a kernel of its own, and so has the one before.
 * */
/* Products of short vectors are one kernel. */
static void products_that_stream_large_matrices_stay_apart(void **state) {
  (void)state;
  for (int n = 16; n <= 512; n *= 32) {
    world w;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    fuse(&w,
         neo_arena_printf(&a,
                          "input x : f32 [1, %d]\ninput h : f32 [1, %d]\ninput W : f32 [%d, %d]\n"
                          "input U : f32 [%d, %d]\ntemp p : f32 [1, %d]\ntemp q : f32 [1, %d]\n"
                          "temp z : f32 [1, %d]\n"
                          "def p[b: 1, j: %d] =\n  sum[i: %d] x[b, i] * W[i, j]\n  then acc0\n"
                          "def q[b: 1, j: %d] =\n  sum[i: %d] h[b, i] * U[i, j]\n  then acc0\n"
                          "def z[b: 1, j: %d] = p[b, j] * q[b, j]\n"
                          "entry forward forward: z = z\n",
                          n, n, n, n, n, n, n, n, n, n, n, n, n, n));
    assert_int_equal(w.groups.groups.n, n == 16 ? 1 : 2);
    neo_arena_free(&w.arena);
    neo_arena_free(&a);
  }
}

static void kernels_of_different_entries_stay_apart(void **state) {
  (void)state;
  enum { ENTRIES = 70 };
  world w;
  char text[ENTRIES * 96 + 64] = "input X : f32 [40]\n";
  size_t n = strlen(text);
  for (int k = 0; k < ENTRIES; k++)
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "temp Y%d : f32 [40]\ndef Y%d[i: 40] = X[i] + %d.0\n"
                          "entry forward e%d: Y = Y%d\n",
                          k, k, k, k, k);
  fuse(&w, text);
  assert_int_equal(w.groups.groups.n, ENTRIES);
  neo_arena_free(&w.arena);
}

static void the_updates_of_a_parameter_are_one_kernel(void **state) {
  (void)state;
  world w;
  fuse(&w, "param w : f32 [40]\nstate m : f32 [40]\ninput g : f32 [40]\nupdate w2 : f32 [40] of w\n"
           "update m2 : f32 [40] of m\ninit @1 w[i: 40] = 0.5\ninit @2 m[i: 40] = 0.0\n"
           "def m2[i: 40] = m[i] * 0.9 + g[i]\ndef w2[i: 40] = w[i] - m2[i]\n"
           "entry train step: g = g; updates w2, m2\n");
  assert_non_null(writer_of(&w, "w2"));
  assert_ptr_equal(writer_of(&w, "w2"), writer_of(&w, "m2"));
  neo_arena_free(&w.arena);
}

static void an_update_stays_apart_from_a_reader_of_the_old_values_elsewhere(void **state) {
  (void)state;
  world w;
  fuse(&w, "param w : f32 [40]\ninput g : f32 [40]\nupdate w2 : f32 [40] of w\ntemp y : f32 [40]\n"
           "init @1 w[i: 40] = 0.5\ndef w2[i: 40] = w[i] - g[i]\ndef y[i: 40] = w[39 - i] * g[i]\n"
           "entry train step: y = y; updates w2\n");
  assert_ptr_not_equal(writer_of(&w, "w2"), writer_of(&w, "y"));
  neo_arena_free(&w.arena);
}

static void kernels_run_after_their_producers(void **state) {
  (void)state;
  world w;
  fuse(&w, "input X : f32 [9, 9]\ntemp a : f32 [9, 9]\ntemp s : f32 [9]\ntemp b : f32 [9, 9]\n"
           "temp c : f32 [9, 9]\n"
           "def a[i: 9, j: 9] = exp(X[i, j])\ndef s[j: 9] =\n  sum[i: 9] a[i, j]\n  then acc0\n"
           "def b[i: 9, j: 9] = a[i, j] / s[j]\ndef c[i: 9, j: 9] = a[i, j] + b[j, i]\n"
           "entry forward forward: a = a, b = b, c = c\n");
  bool *done = NEO_NEW_ARRAY(&w.arena, bool, w.m->tensors.n);
  for (size_t k = 0; k < w.groups.groups.n; k++) {
    const neo_group *g = &w.groups.groups.at[k];
    for (size_t i = 0; i < g->reads.n; i++) {
      bool given = neo_tensor_at(w.m, g->reads.at[i])->pieces.n == 0;
      assert_true(given || done[g->reads.at[i].i]);
    }
    for (size_t i = 0; i < g->roots.n; i++)
      done[g->roots.at[i].i] = true;
  }
  neo_arena_free(&w.arena);
}

static void equal_kernels_have_equal_keys_whatever_the_names(void **state) {
  (void)state;
  world w;
  fuse(&w,
       "input A : f32 [4, 6]\ninput B : f32 [6, 4]\ninput C : f32 [4, 8]\ntemp a : f32 [4, 6]\n"
       "temp b : f32 [6, 4]\n"
       "temp c : f32 [4, 8]\ndef a[i: 4, j: 6] = exp(A[i, j])\ndef b[i: 6, j: 4] = exp(B[i, j])\n"
       "def c[i: 4, j: 8] = exp(C[i, j])\nentry forward forward: a = a, b = b, c = c\n");
  assert_memory_equal(writer_of(&w, "a")->key, writer_of(&w, "b")->key, sizeof(uint64_t[2]));
  assert_memory_not_equal(writer_of(&w, "a")->key, writer_of(&w, "c")->key, sizeof(uint64_t[2]));
  neo_arena_free(&w.arena);
}

static bool share(const world *w, const char *a, const char *b) {
  return memcmp(writer_of(w, a)->key, writer_of(w, b)->key, sizeof(uint64_t[2])) == 0;
}

/* Numbers of tensors, axes and accumulators are not taken for each other. */
static void equal_kernels_have_equal_keys_wherever_their_tensors_stand(void **state) {
  (void)state;
  world w;
  fuse(&w, "input A : f32 [6, 4]\ninput B : f32 [6, 4]\ninput C : f32 [6, 4]\n"
           "input D : f32 [6, 4]\ntemp a : f32 [4, 6]\ntemp b : f32 [4, 6]\n"
           "temp d : f32 [4, 6]\ndef a[i: 4, j: 6] = exp(C[j, i]) - A[j, i]\n"
           "def b[i: 4, j: 6] = exp(D[j, i]) - B[j, i]\n"
           "def d[i: 4, j: 6] = exp(A[j, i]) - D[j, i]\n"
           "entry forward forward: a = a\nentry forward second: b = b\n"
           "entry forward third: d = d\n");
  assert_memory_equal(writer_of(&w, "a")->key, writer_of(&w, "b")->key, sizeof(uint64_t[2]));
  assert_memory_equal(writer_of(&w, "a")->key, writer_of(&w, "d")->key, sizeof(uint64_t[2]));
  neo_arena_free(&w.arena);
}

static void kernels_that_differ_in_where_they_begin_are_one(void **state) {
  (void)state;
  world w;
  fuse(
      &w,
      "input A : f32 [4, 6]\ninput B : f32 [9, 6]\ntemp a : f32 [6]\ntemp b : f32 [6]\n"
      "temp c : f32 [6]\n"
      "temp d : f32 [6]\ntemp e : f32 [6]\ndef a[j: 6] = exp(A[0, j])\ndef b[j: 6] = exp(A[3, j])\n"
      "def c[j: 6] = exp(B[7, j])\ndef d[j: 6] = exp(A[j / 2, 1])\n"
      "def e[j: 6] = exp(A[3, 5 - j])\nentry forward forward: a = a, b = b, c = c, d = d, e = e\n");
  assert_true(share(&w, "a", "b") && share(&w, "a", "c"));
  assert_false(share(&w, "a", "d") || share(&w, "a", "e"));
  const neo_group *g = writer_of(&w, "b");
  assert_int_equal(neo_form_base(neo_group_form(w.m, g), g->reads.at[0]), 18);
  neo_arena_free(&w.arena);
}

/* Loads that only a condition keeps inside are compared with the length, which must then be equal.
 * */
static void lengths_that_conditions_need_keep_kernels_apart(void **state) {
  (void)state;
  world w;
  fuse(
      &w,
      "input A : f32 [6]\ninput B : f32 [7]\ntemp a : f32 [6]\ntemp b : f32 [6]\ntemp c : f32 [6]\n"
      "def a[j: 6] = (A[j + 1] else 0.5)\ndef b[j: 6] = (B[j + 1] else 0.5)\n"
      "def c[j: 6] = (B[j] else 0.5)\n"
      "entry forward forward: a = a, b = b, c = c\n");
  assert_false(share(&w, "a", "b"));
  assert_true(
      neo_form_closed(neo_group_form(w.m, writer_of(&w, "c")), writer_of(&w, "c")->reads.at[0]));
  assert_false(
      neo_form_closed(neo_group_form(w.m, writer_of(&w, "a")), writer_of(&w, "a")->reads.at[0]));
  neo_arena_free(&w.arena);
}

/* The exponentials of a row are made once where it is short enough to be kept
 * (schedule/row_stash.h). */
static void a_softmax_and_its_gradient_are_one_kernel_where_rows_are_short(void **state) {
  (void)state;
  for (int n = 1024; n <= 65536; n *= 64) {
    world w;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    fuse(&w, neo_arena_printf(
                 &a,
                 "input X : f32 [16384, %d]\ninput D : f32 [16384, %d]\ntemp z : f32 [16384]\n"
                 "temp Y : f32 [16384, %d]\ntemp s : f32 [16384]\ntemp G : f32 [16384, %d]\n"
                 "def z[i: 16384] =\n  logsumexp[j: %d] X[i, j]\n  then acc0\n"
                 "def Y[i: 16384, j: %d] = exp(X[i, j] - z[i])\n"
                 "def s[i: 16384] =\n  sum[j: %d] D[i, j] * Y[i, j]\n  then acc0\n"
                 "def G[i: 16384, j: %d] = (D[i, j] - s[i]) * Y[i, j]\n"
                 "entry forward forward: Y = Y, G = G\n",
                 n, n, n, n, n, n, n, n));
    assert_int_equal(w.groups.groups.n == 1, n == 1024);
    neo_arena_free(&w.arena);
    neo_arena_free(&a);
  }
}

/* The second pass over both operands makes a third of the mean's: a channel of 800 KB is in the
 * second cache by then, one of 100 MB is not. */
static void what_fits_the_second_cache_is_read_again_in_one_kernel(void **state) {
  (void)state;
  for (int n = 3136; n <= 3136 * 128; n *= 128) {
    world w;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    fuse(&w, neo_arena_printf(
                 &a,
                 "input X : f32 [64, 64, %d]\ninput D : f32 [64, 64, %d]\ntemp s : f32 [64]\n"
                 "temp b : f32 [64]\ntemp v : f32 [64]\n"
                 "def s[c: 64] =\n  mean[i: 64, j: %d] X[i, c, j]\n  then acc0\n"
                 "def b[c: 64] =\n  sum[i: 64, j: %d] D[i, c, j]\n  then acc0\n"
                 "def v[c: 64] =\n  sum[i: 64, j: %d] D[i, c, j] * (X[i, c, j] - s[c])\n"
                 "  then acc0\nentry forward forward: s = s, b = b, v = v\n",
                 n, n, n, n, n));
    assert_int_equal(w.groups.groups.n, n == 3136 ? 1 : 2);
    neo_arena_free(&w.arena);
    neo_arena_free(&a);
  }
}

/* However many kernels of other entries read the same tensor in between. */
static void a_tensor_of_sixteen_dimensions_has_a_kernel(void **state) {
  (void)state;
  world w;
  fuse(&w, "input X : f32 [2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2]\n"
           "temp Y : f32 [2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2]\n"
           "def Y[a: 2, b: 1, c: 1, d: 2, e: 1, f: 1, g: 2, h: 1, i: 1, j: 2, k: 1, l: 1, m: 2, "
           "n: 1, o: 1, p: 2] =\n  X[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] * 2.0\n"
           "entry forward forward: Y = Y\n");
  assert_non_null(writer_of(&w, "Y"));
  neo_arena_free(&w.arena);
}

/* Whichever of its readers comes first. */
static void what_a_sum_reads_is_its_prologue(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    world w;
    fuse(&w, k ? "input X : f32 [64, 256]\ntemp a : f32 [64, 256]\ntemp s : f32 [256]\n"
                 "temp b : f32 [64, 256]\ndef a[i: 64, j: 256] = X[i, j] * 2.0\n"
                 "def b[i: 64, j: 256] = a[i, 255 - j] + 1.0\n"
                 "def s[j: 256] =\n  sum[i: 64] a[i, j]\n  then acc0\n"
                 "entry forward forward: s = s, b = b\n"
               : "input X : f32 [64, 256]\ntemp a : f32 [64, 256]\ntemp s : f32 [256]\n"
                 "temp b : f32 [64, 256]\ndef a[i: 64, j: 256] = X[i, j] * 2.0\n"
                 "def s[j: 256] =\n  sum[i: 64] a[i, j]\n  then acc0\n"
                 "def b[i: 64, j: 256] = a[i, 255 - j] + 1.0\n"
                 "entry forward forward: s = s, b = b\n");
    assert_null(writer_of(&w, "a"));
    assert_true(says(&w, "prologue a into all readers: "));
    neo_arena_free(&w.arena);
  }
}

/* A gate that is stored, and read behind a sum: both are stored behind the sum, so it is computed
 * once. */
static void what_the_end_of_a_sum_reads_joins_it_and_is_stored_there(void **state) {
  (void)state;
  world w;
  fuse(&w, "input Z : f32 [500, 3, 128]\ninput f : f32 [500, 2, 128]\ninput c : f32 [500, 2, 128]\n"
           "temp k : f32 [500, 128]\ntemp u : f32 [500, 128]\ntemp t : f32 [500, 128]\n"
           "def k[v: 500, j: 128] =\n  sum[k: 2] f[v, k, j] * c[v, k, j]\n  then acc0\n"
           "def u[v: 500, j: 128] = tanh(Z[v, 2, j])\n"
           "def t[v: 500, j: 128] = u[v, j] * Z[v, 0, j] + k[v, j]\n"
           "entry forward forward: u = u, t = t\n");
  assert_true(writer_of(&w, "u") == writer_of(&w, "t"));
  assert_true(says(&w, "join u to k: epilogue"));
  neo_arena_free(&w.arena);
}

static void siblings_are_found_among_readers_of_other_entries(void **state) {
  (void)state;
  world w;
  fuse(&w, "input X : f32 [4096, 1024]\ntemp a : f32 [4096, 1024]\ntemp b : f32 [4096]\n"
           "temp c : f32 [4096]\ntemp d : f32 [4096, 1024]\n"
           "def a[i: 4096, j: 1024] = X[i, j] * 2.0\n"
           "def b[i: 4096] =\n  sum[j: 1024] X[i, j]\n  then acc0\n"
           "def c[i: 4096] =\n  max[j: 1024] X[i, j]\n  then acc0\n"
           "def d[i: 4096, j: 1024] = X[i, j] + 1.0\n"
           "entry forward one: a = a, d = d\nentry forward two: b = b\n"
           "entry forward three: c = c\n");
  assert_true(writer_of(&w, "a") == writer_of(&w, "d"));
  assert_true(writer_of(&w, "b") != writer_of(&w, "c"));
  neo_arena_free(&w.arena);
}

/* y could share the loop of h, but needs the largest of all elements, which is known after the
 * loop. */
static void what_needs_a_later_kernel_does_not_share_a_loop(void **state) {
  (void)state;
  world w;
  neo_fuse_options o = {.consumers_join = true};
  fuse_with(&w, &o,
            "input x : f32 [9, 8]\ntemp h : f32 [9, 8]\ntemp m : f32 []\n"
            "temp y : f32 [9, 8]\ntemp z : f32 [9, 8]\n"
            "def h[t: 9, j: 8] = 0.5 * (h[t - 1, j] else 0.0) + x[t, j]\n"
            "def m[] =\n  max[t: 9, j: 8] h[t, j]\ndef y[t: 9, j: 8] = h[t, j] * m[]\n"
            "def z[t: 9, j: 8] = exp(h[t, j])\nentry forward f: y = y, z = z\n");
  assert_ptr_equal(writer_of(&w, "z"), writer_of(&w, "h"));
  assert_ptr_not_equal(writer_of(&w, "y"), writer_of(&w, "h"));
  neo_arena_free(&w.arena);
}

/* Neither reads the other. */
static void siblings_join_where_epilogues_may_not(void **state) {
  (void)state;
  world w;
  neo_fuse_options o = {.off = 1u << NEO_FUSE_EPILOGUE};
  fuse_with(&w, &o,
            "input x : f32 [9, 8]\ntemp a : f32 [9, 8]\ntemp b : f32 [9, 8]\n"
            "def a[i: 9, j: 8] = exp(x[i, j])\ndef b[i: 9, j: 8] = tanh(x[i, j])\n"
            "entry forward f: a = a, b = b\n");
  assert_int_equal(w.groups.groups.n, 1);
  neo_arena_free(&w.arena);
}

/* Blocks of 4 of 10 iterations; p is computed for a block at once, before these. */
static void what_each_iteration_reads_is_computed_in_blocks_of_all_iterations(void **state) {
  (void)state;
  world w;
  int64_t lo, hi;
  neo_fuse_options o = {.recurrences.tile_iterations = 4};
  fuse_with(&w, &o,
            "input X : f32 [10, 3, 8]\ninput W : f32 [8, 8]\ninput U : f32 [8, 8]\n"
            "temp p : f32 [10, 3, 8]\ntemp h : f32 [10, 3, 8]\n"
            "def p[t: 10, b: 3, j: 8] =\n  sum[i: 8] X[t, b, i] * W[i, j]\n"
            "def h[t: 10, b: 3, j: 8] =\n  sum[k: 8] (h[t - 1, b, k] else 0.0) * U[k, j]\n"
            "  then tanh(p[t, b, j] + acc0)\nentry forward f: h = h\n");
  assert_int_equal(w.groups.groups.n, 1);
  const neo_tree *t = w.groups.groups.at[0].recurrence->tree.root;
  assert_int_equal(t->kind, NEO_TREE_BAND);
  assert_true(neo_expr_is_int(w.m, t->band.lo, &lo) && lo == 0);
  assert_true(neo_expr_is_int(w.m, t->band.hi, &hi) && hi == 3);
  neo_arena_free(&w.arena);
}

/* D reads the last of u, which would do after the loop; but m needs all of a, which the same
 * definition makes. */
static void what_reads_a_last_element_and_a_later_kernel_has_its_own(void **state) {
  (void)state;
  world w;
  fuse(
      &w,
      "input x : f32 [9, 8]\ntemp u : f32 [9, 8]\ntemp a : f32 [9, 8]\ntemp m : f32 [8]\n"
      "temp D : f32 [8]\n"
      "def (u, a)[t: 9, j: 8] = 0.5 * (u[t - 1, j] else 0.0) + x[t, j], exp((u[t - 1, j] else 0.0))\n"
      "def m[j: 8] =\n  max[t: 9] a[t, j]\ndef D[j: 8] = u[8, j] * m[j]\n"
      "entry forward f: D = D\n");
  assert_ptr_not_equal(writer_of(&w, "D"), writer_of(&w, "a"));
  neo_arena_free(&w.arena);
}

/* h, e and d are of a loop over chunks. y and z read last elements, z is of another loop. */
#define CHUNKS                                                                    \
  "input x : f32 [4]\ninput s : f32 []\n"                                         \
  "temp h : f32 [3, 4]\ntemp e : f32 [3]\ntemp d : f32 [3, 4]\ntemp y : f32 []\n" \
  "temp z : f32 []\ntemp r : f32 []\n"

static void a_loop_over_chunks_runs_whole_beside_parts_of_others(void **state) {
  (void)state;
  world w;
  neo_def *in;
  fuse(&w, CHUNKS "def chunk_loop 1 h[q: 3, t: 4] = 0.5 * (h[q, t - 1] else s[]) + x[t]\n"
                  "def chunk_loop 1 e[q: 3] = 2.0 * h[q, 3]\n"
                  "def chunk_loop 1 d[q: 3, t: 4] = 0.5 * e[q] +\n"
                  "  select(t + 1 < 4, (d[q, t + 1] else 0.0), (d[q - 1, 0] else 1.0)) + h[q, t]\n"
                  "def y[] = d[2, 0] + s[]\n"
                  "def chunk_loop 2 z[] = 2.0 * d[2, 1]\n"
                  "def r[] = y[] + z[]\n"
                  "entry forward forward: r = r\n");
  const neo_group *g = writer_of(&w, "z");
  g = g && g->recurrence ? g : writer_of(&w, "y");
  assert_true(g && g->recurrence);
  const neo_trees *all = &g->recurrence->tree.root->children;
  const neo_tree *last = all->at[all->n - 1]; /* y and z, and not e, which d reads */
  assert_int_equal(last->kind, NEO_TREE_LEAF);
  assert_int_equal(neo_tree_defs(w.m, last, &w.arena, &in), 2);
  neo_arena_free(&w.arena);
}

static void a_part_of_a_loop_over_chunks_runs_behind_a_recurrence(void **state) {
  (void)state;
  world w;
  fuse(&w, CHUNKS "def h[q: 3, t: 4] = 0.5 * (h[q, t - 1] else s[]) + x[t]\n"
                  "def chunk_loop 1 z[] = h[2, 3] * 2.0\n"
                  "def r[] = z[] + s[]\n"
                  "entry forward forward: r = r\n");
  assert_non_null(writer_of(&w, "r"));
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_activation_joins_the_product_and_its_input_stays_in_registers),
      cmocka_unit_test(products_that_stream_large_matrices_stay_apart),
      cmocka_unit_test(kernels_of_different_entries_stay_apart),
      cmocka_unit_test(the_updates_of_a_parameter_are_one_kernel),
      cmocka_unit_test(an_update_stays_apart_from_a_reader_of_the_old_values_elsewhere),
      cmocka_unit_test(kernels_run_after_their_producers),
      cmocka_unit_test(equal_kernels_have_equal_keys_whatever_the_names),
      cmocka_unit_test(equal_kernels_have_equal_keys_wherever_their_tensors_stand),
      cmocka_unit_test(kernels_that_differ_in_where_they_begin_are_one),
      cmocka_unit_test(lengths_that_conditions_need_keep_kernels_apart),
      cmocka_unit_test(a_softmax_and_its_gradient_are_one_kernel_where_rows_are_short),
      cmocka_unit_test(what_fits_the_second_cache_is_read_again_in_one_kernel),
      cmocka_unit_test(a_tensor_of_sixteen_dimensions_has_a_kernel),
      cmocka_unit_test(what_a_sum_reads_is_its_prologue),
      cmocka_unit_test(what_the_end_of_a_sum_reads_joins_it_and_is_stored_there),
      cmocka_unit_test(siblings_are_found_among_readers_of_other_entries),
      cmocka_unit_test(what_needs_a_later_kernel_does_not_share_a_loop),
      cmocka_unit_test(siblings_join_where_epilogues_may_not),
      cmocka_unit_test(what_reads_a_last_element_and_a_later_kernel_has_its_own),
      cmocka_unit_test(a_loop_over_chunks_runs_whole_beside_parts_of_others),
      cmocka_unit_test(a_part_of_a_loop_over_chunks_runs_behind_a_recurrence),
      cmocka_unit_test(what_each_iteration_reads_is_computed_in_blocks_of_all_iterations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Plans of hand-written modules: what libneort computes with them is what the reference interpreter
 * computes, entry by entry, several rounds, so that a value written too early or not kept shows. */
#include "tests/pipeline/plan_world.h"
#include <stdio.h>
#include <string.h>

static void check_kind(const char *text, kernel_kind kind, const int64_t *sizes) {
  plan_world w;
  world_open(&w);
  world_parse(&w, text);
  world_begin(&w, kind, sizes);
  world_check(&w, 3);
  world_close(&w);
}

static void check_text(const char *text) {
  check_kind(text, KERNELS_INTERPRETED, NULL);
  check_kind(text, KERNELS_COMPILED, NULL);
}

/* The plan of a text, for looking at; its world stays open. */
static const neo_plan *plan_of(plan_world *w, const char *text) {
  world_open(w);
  world_parse(w, text);
  world_begin(w, KERNELS_INTERPRETED, NULL);
  return w->c.plan;
}

static size_t count_copies(const neo_plan *p, const char *entry) {
  size_t n = 0;
  for (size_t k = 0; k < p->entries.n; k++)
    for (int32_t i = 0; i < p->entries.at[k].n_steps; i++)
      n += neo_streq(p->entries.at[k].name, entry) &&
           p->steps.at[p->entries.at[k].first_step + i].op == NEO_RT_STEP_COPY;
  return n;
}

static void check_copies(const char *text, size_t n) {
  plan_world w;
  const neo_plan *p = plan_of(&w, text);
  world_check(&w, 3);
  assert_int_equal(count_copies(p, "step"), n);
  world_close(&w);
  check_kind(text, KERNELS_COMPILED, NULL);
}

#define HEAD "neo-ir 1\nmodule t\n"

static void an_elementwise_update_is_written_in_place(void **state) {
  (void)state;
  check_copies(HEAD "input X : f32 [37]\nparam w : f32 [37]\nupdate u : f32 [37] of w\n"
                    "temp L : f32 []\ninit @1 w[i: 37] = f32(i)\n"
                    "def @2 u[i: 37] = w[i] - X[i] * 0.5\n"
                    "def @3 L[] =\n  sum[i: 37] w[i] * X[i]\n  then acc0\n"
                    "entry train step: loss = L; updates u\n",
               0);
}

static void an_update_that_reads_neighbours_is_copied(void **state) {
  (void)state;
  check_copies(HEAD "param w : f32 [37]\nupdate u : f32 [37] of w\n"
                    "init @1 w[i: 37] = f32(i * i)\n"
                    "def @2 u[i: 37] = w[36 - i] + 1.0\n"
                    "entry train step:; updates u\n",
               1);
}

static void an_update_from_a_sum_over_the_old_version_is_copied(void **state) {
  (void)state;
  check_copies(HEAD "param w : f32 [37]\nupdate u : f32 [37] of w\n"
                    "init @1 w[i: 37] = f32(i)\n"
                    "def @2 u[i: 37] =\n  sum[j: 37] w[j]\n  then w[i] - acc0 * 0.125\n"
                    "entry train step:; updates u\n",
               1);
}

#define SWAP(a_of_w)                                                     \
  HEAD "param v : f32 [9]\nparam w : f32 [9]\nupdate a : f32 [9] of v\n" \
       "update b : f32 [9] of w\n"                                       \
       "init @1 v[i: 9] = f32(i)\ninit @2 w[i: 9] = f32(i) * 10.0\n"     \
       "def @3 a[i: 9] = " a_of_w "\ndef @4 b[i: 9] = v[i]\n"            \
       "entry train step:; updates a, b\n"

/* One kernel that reads both needs no copy; two kernels do. */
static void updates_that_swap_are_right(void **state) {
  (void)state;
  check_copies(SWAP("w[i]"), 0);
  check_copies(SWAP("w[8 - i]"), 1);
}

static void updates_in_a_ring_are_right(void **state) {
  (void)state;
  check_text(HEAD "param p : f32 [9]\nparam q : f32 [9]\nparam r : f32 [9]\n"
                  "update a : f32 [9] of p\nupdate b : f32 [9] of q\nupdate c : f32 [9] of r\n"
                  "init @1 p[i: 9] = f32(i)\ninit @2 q[i: 9] = f32(i) * 10.0\n"
                  "init @3 r[i: 9] = f32(i) * 100.0\n"
                  "def @4 a[i: 9] = q[8 - i]\ndef @5 b[i: 9] = r[8 - i]\n"
                  "def @6 c[i: 9] = p[8 - i]\n"
                  "entry train step:; updates a, b, c\n");
}

static void one_definition_of_two_updates_reads_both_old_versions(void **state) {
  (void)state;
  check_copies(HEAD "param v : f32 [37]\nparam w : f32 [37]\nupdate a : f32 [37] of v\n"
                    "update b : f32 [37] of w\n"
                    "init @1 v[i: 37] = f32(i)\ninit @2 w[i: 37] = f32(i) * 10.0\n"
                    "def @3 (a, b)[i: 37] = w[i] + v[i], w[i] - v[i]\n"
                    "entry train step:; updates a, b\n",
               0);
}

/* Number of the step in `step` that runs the kernel. */
static int32_t step_of(const neo_plan *p, const char *name) {
  for (size_t k = 0; k < p->entries.n; k++)
    for (int32_t i = 0; i < p->entries.at[k].n_steps; i++) {
      const neo_rt_step *s = &p->steps.at[p->entries.at[k].first_step + i];
      if (s->op == NEO_RT_STEP_RUN && neo_streq(p->entries.at[k].name, "step") &&
          neo_streq(p->kernels.at[s->arg].kernel->name, name))
        return i;
    }
  fail_msg("no step runs %s", name);
  return 0;
}

static void the_parameter_that_was_read_last_is_updated_first(void **state) {
  (void)state;
  const char *text = HEAD "input X : f32 [37]\nparam v : f32 [37]\nparam w : f32 [41]\n"
                          "update s : f32 [37] of v\nupdate t : f32 [41] of w\n"
                          "temp L : f32 []\ntemp M : f32 []\n"
                          "init @1 v[i: 37] = f32(i)\ninit @2 w[i: 41] = f32(i)\n"
                          "def @3 L[] =\n  sum[i: 37] v[i] * X[i]\n  then acc0\n"
                          "def @4 M[] =\n  sum[i: 37] w[i] * X[36 - i] + L[]\n  then acc0\n"
                          "def @5 s[i: 37] = v[i] - M[]\n"
                          "def @6 t[i: 41] = w[i] - M[]\n"
                          "entry train step: loss = M; updates s, t\n";
  plan_world w;
  world_open(&w);
  w.c.options.fusion.off = ~0u;
  world_parse(&w, text);
  world_begin(&w, KERNELS_INTERPRETED, NULL);
  assert_true(step_of(w.c.plan, "t") < step_of(w.c.plan, "s"));
  world_close(&w);
  check_text(text);
}

static void moments_and_weights_are_updated_together(void **state) {
  (void)state;
  check_copies(HEAD
               "input X : f32 [37]\nparam w : f32 [37]\nstate m : f32 [37]\nstate v : f32 [37]\n"
               "temp g : f32 [37]\nupdate a : f32 [37] of m\nupdate b : f32 [37] of v\n"
               "update c : f32 [37] of w\ninit @1 w[i: 37] = f32(i)\n"
               "init @2 m[i: 37] = 0.0\ninit @3 v[i: 37] = 0.0\n"
               "def @4 g[i: 37] = w[i] * 0.25 + X[i]\n"
               "def @5 a[i: 37] = m[i] * 0.5 + g[i] * 0.5\n"
               "def @6 b[i: 37] = v[i] * 0.75 + g[i] * g[i] * 0.25\n"
               "def @7 c[i: 37] = w[i] - a[i] / (sqrt(b[i]) + 1.0)\n"
               "entry train step:; updates a, b, c\n",
               0);
}

static void a_new_version_is_read_by_later_kernels(void **state) {
  (void)state;
  check_text(HEAD "param w : f32 [8]\nstate s : f32 [8]\nupdate u : f32 [8] of w\n"
                  "update t : f32 [8] of s\ntemp L : f32 []\n"
                  "init @1 w[i: 8] = f32(i)\ninit @2 s[i: 8] = 0.0\n"
                  "def @3 u[i: 8] = w[i] + 1.0\ndef @4 t[i: 8] = s[i] + u[7 - i]\n"
                  "def @5 L[] =\n  sum[i: 8] u[i] * w[7 - i]\n  then acc0\n"
                  "entry train step: loss = L; updates u, t\n");
}

static void an_update_is_returned_and_taken(void **state) {
  (void)state;
  check_text(HEAD "param w : f32 [8]\nupdate u : f32 [8] of w\n"
                  "init @1 w[i: 8] = f32(i)\ndef @2 u[i: 8] = w[i] * 2.0\n"
                  "entry train step: new = u, old = w, again = u; updates u\n"
                  "entry forward look: u = u, w = w\n");
}

static void outputs_may_be_inputs_constants_settings_and_the_same_twice(void **state) {
  (void)state;
  check_text(HEAD "size B 0..5\ninput X : f32 [B, 3]\nsetting lr : f32 []\nparam w : f32 [3]\n"
                  "const K : f32 [3] = {1.0, 2.0, 4.0}\ntemp Y : f32 [B, 3]\n"
                  "init @1 lr[] = 0.5\ninit @2 w[i: 3] = f32(i)\n"
                  "def @3 Y[b: B, i: 3] = X[b, i] * w[i] + K[i] * lr[]\n"
                  "entry forward all: X = X, K = K, lr = lr, w = w, Y = Y, Z = Y, x = X\n"
                  "entry forward same: Y = X\nentry forward other: Y = w, X = Y\n");
}

static void outputs_of_one_name_may_differ_between_entries(void **state) {
  (void)state;
  check_text(HEAD "input X : f32 [4]\ninput N : i32 [2, 3]\ntemp a : f32 [4]\ntemp b : i32 [2, 3]\n"
                  "def @1 a[i: 4] = X[i] + 1.0\ndef @2 b[i: 2, j: 3] = N[i, j] * 2i32\n"
                  "entry forward one: y = a\nentry forward two: y = b\n"
                  "entry forward three: y = a, y = a\n");
}

static void a_tensor_of_several_pieces_is_made_whole(void **state) {
  (void)state;
  check_text(HEAD "input X : f32 [6]\ntemp Y : f32 [18]\ntemp Z : f32 [18]\n"
                  "def @1 Y[i: 6] at [3*i] = X[i]\ndef @2 Y[i: 6] at [3*i + 1] = X[i] * 2.0\n"
                  "def @3 Y[i: 6] at [3*i + 2] = X[i] * 3.0\n"
                  "def @4 Z[i: 18] = Y[17 - i] + Y[i]\n"
                  "entry forward forward: Z = Z\nentry forward both: Y = Y\n");
}

static void an_update_in_pieces_is_copied(void **state) {
  (void)state;
  check_copies(HEAD "param w : f32 [6]\nupdate u : f32 [6] of w\n"
                    "init @1 w[i: 6] = f32(i)\n"
                    "def @2 u[i: 3] at [2*i] = w[5 - 2*i]\n"
                    "def @3 u[i: 3] at [2*i + 1] = w[2*i]\n"
                    "entry train step:; updates u\n",
               1);
}

static void initial_values_may_need_each_other_and_computed_tensors(void **state) {
  (void)state;
  check_text(HEAD "param a : f32 [4]\nparam b : f32 [4]\nstate c : f32 [4]\nsetting k : f32 []\n"
                  "temp t : f32 [4]\ntemp s : f32 []\n"
                  "init @1 a[i: 4] = b[3 - i] + 1.0\ninit @2 b[i: 4] = c[i] * 2.0\n"
                  "init @3 c[i: 4] = f32(i) + k[]\ninit @4 k[] = 0.25\n"
                  "entry forward forward: a = a, b = b, c = c\n");
  check_text(HEAD "param a : f32 [4]\nparam b : f32 [4]\ntemp t : f32 [4]\ntemp s : f32 []\n"
                  "init @1 a[i: 4] = f32(i)\n"
                  "def @2 t[i: 4] = a[i] * 2.0\ndef @3 s[] =\n  sum[i: 4] t[i]\n  then acc0\n"
                  "init @4 b[i: 4] = t[i] / s[]\n"
                  "entry forward forward: b = b\n");
}

static void empty_tensors_and_entries_without_outputs_work(void **state) {
  (void)state;
  check_text(HEAD "input X : f32 [0, 3]\nparam w : f32 [0]\nparam v : f32 [2]\n"
                  "const K : f32 [0] = {}\ntemp Y : f32 [0, 3]\ntemp s : f32 [3]\n"
                  "update u : f32 [0] of w\nupdate z : f32 [2] of v\n"
                  "init @1 w[i: 0] = 0.0\ninit @2 v[i: 2] = 1.0\n"
                  "def @3 Y[i: 0, j: 3] = X[i, j] + K[i]\n"
                  "def @4 s[j: 3] =\n  max[i: 0] Y[i, j]\n  then acc0\n"
                  "def @5 u[i: 0] = w[i] * 2.0\ndef @6 z[i: 2] = v[i] * 2.0\n"
                  "entry forward forward: Y = Y, s = s\nentry train step:; updates u, z\n"
                  "entry forward idle:\n");
}

static void sizes_of_one_entry_only_are_asked_there(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 3, 2, 4, 0};
  const char *text =
      HEAD "size B 1..5\nsize T 1..6\nsize V 1..9\nsize H 1..3 = (T + 1) / 2\n"
           "input X : f32 [B]\ninput Y : f32 [T, 2]\ninput I : i32 [2] < V\ntemp a : f32 [B]\n"
           "temp b : f32 [H, 2]\ntemp c : i32 [2]\n"
           "def @1 a[i: B] = X[i] + 1.0\ndef @2 b[i: H, j: 2] = Y[2*i, j] * f32(H)\n"
           "def @3 c[i: 2] = I[i] + 1i32\n"
           "entry forward one: a = a\nentry forward two: b = b\nentry forward three: c = c\n";
  plan_world w;
  const neo_plan *p = plan_of(&w, text);
  for (size_t k = 0; k < 3; k++) {
    assert_int_equal(p->entries.at[k].n_sizes, 1);
    assert_int_equal(p->entry_sizes.at[p->entries.at[k].sizes], k);
  }
  world_close(&w);
  check_text(text);
  check_kind(text, KERNELS_INTERPRETED, sizes);
}

static void extents_may_use_every_integer_operator(void **state) {
  (void)state;
  const char *text =
      HEAD "size B 1..9\ninput X : f32 [B]\ntemp a : f32 [10 - B]\n"
           "temp b : f32 [select(B < 4, B + 2, abs(3 - B))]\n"
           "temp c : f32 [clamp(B - 3, 1, 4) * max(B % 3, 1) + i64(B == 5) + min(B, 2)]\n"
           "def @1 a[i: 10 - B] = X[0] + f32(i)\n"
           "def @2 b[i: select(B < 4, B + 2, abs(3 - B))] = X[0] + f32(i)\n"
           "def @3 c[i: clamp(B - 3, 1, 4) * max(B % 3, 1) + i64(B == 5) + min(B, 2)] = X[0]\n"
           "entry forward forward: a = a, b = b, c = c\n";
  for (int64_t b = 1; b <= 9; b++)
    check_kind(text, KERNELS_INTERPRETED, (int64_t[]){0, b});
}

static void an_unwanted_output_that_shrinks_with_its_size_has_room(void **state) {
  (void)state;
  const char *text = HEAD "size B 1..900\nparam w : f32 [4]\nupdate u : f32 [4] of w\n"
                          "temp a : f32 [901 - B]\ntemp b : f32 [4]\n"
                          "init @1 w[i: 4] = f32(i)\ndef @2 u[i: 4] = w[i] + 1.0\n"
                          "def @3 a[i: 901 - B] = f32(i)\n"
                          "def @4 b[i: 4] = a[i % (901 - B)] + w[i]\n"
                          "entry train step: a = a, b = b, c = a; updates u\n";
  check_kind(text, KERNELS_INTERPRETED, (int64_t[]){0, 1});
  check_kind(text, KERNELS_INTERPRETED, (int64_t[]){0, 900});
}

static void a_truth_behind_a_guard_is_an_index(void **state) {
  (void)state;
  check_text(HEAD "input B : bool [5]\ninput X : f32 [2]\ntemp Y : f32 [6]\n"
                  "def @1 Y[i: 6] = (X[i64((B[i + 1] else false))] else 3.0)\n"
                  "entry forward forward: Y = Y\n");
}

static void what_is_dead_in_one_entry_is_overwritten_only_after_its_pieces(void **state) {
  (void)state;
  check_text(HEAD "input X : f32 [64]\ntemp P : f32 [128]\ntemp Q : f32 [64]\ntemp R : f32 [64]\n"
                  "temp A : f32 [64]\ntemp L : f32 []\n"
                  "def @1 (Q, A)[i: 64] = X[i] + 1.0, X[63 - i] * 2.0\n"
                  "def @2 P[i: 64] at [i] = Q[63 - i]\ndef @3 P[i: 64] at [i + 64] = A[63 - i]\n"
                  "def @4 R[i: 64] =\n  sum[j: 64] Q[j] * A[i]\n  then acc0\n"
                  "def @5 L[] =\n  sum[i: 128] P[i]\n  then acc0 + R[3]\n"
                  "entry forward forward: L = L, R = R\nentry forward part: A = A\n");
}

static void kernels_are_shared_by_groups_that_say_the_same(void **state) {
  (void)state;
  const char *text = HEAD "input X : f32 [5]\ninput Y : f32 [5]\n"
                          "temp a : f32 []\ntemp b : f32 []\n"
                          "def @1 a[] =\n  sum[i: 5] X[i] * X[i]\n  then acc0\n"
                          "def @2 b[] =\n  sum[i: 5] Y[i] * Y[i]\n  then acc0\n"
                          "entry forward forward: a = a\nentry forward test: b = b\n";
  plan_world w;
  const neo_plan *p = plan_of(&w, text);
  assert_true(p->kernels.n < w.c.grouping.groups.n);
  world_close(&w);
  check_text(text);
}

/* Slices of what the caller gives and gets, of parameters, states, constants and intermediates. */
static void kernels_are_shared_by_groups_that_begin_elsewhere(void **state) {
  (void)state;
  const char *text = HEAD "input X : f32 [3, 5]\nparam w : f32 [4, 5]\nupdate u : f32 [4, 5] of w\n"
                          "temp a : f32 [5]\ntemp b : f32 [5]\ntemp T : f32 [4, 5]\n"
                          "temp P : f32 [3, 5]\n"
                          "init @1 w[l: 4, i: 5] = f32(l * 7 + i)\n"
                          "def @2 a[i: 5] =\n  sum[j: 5] X[0, j] * w[1, i]\n  then acc0\n"
                          "def @3 b[i: 5] =\n  sum[j: 5] X[2, j] * w[3, i]\n  then acc0\n"
                          "def @4 T[l: 4, i: 5] = a[i] + b[4 - i]*f32(l)\n"
                          "def @5 P[i: 1, j: 5] at [i, j] =\n  sum[k: 5] T[1, k] * X[0, j]\n"
                          "  then acc0\n"
                          "def @6 P[i: 1, j: 5] at [i + 1, j] =\n  sum[k: 5] T[3, k] * X[1, j]\n"
                          "  then acc0\n"
                          "def @7 P[i: 1, j: 5] at [i + 2, j] =\n  sum[k: 5] T[0, k] * X[2, j]\n"
                          "  then acc0\n"
                          "def @8 u[l: 4, i: 5] = w[l, i] * 0.5 + T[l, i]\n"
                          "entry train step: a = a, P = P; updates u\n";
  plan_world w;
  const neo_plan *p = plan_of(&w, text);
  size_t parts = 0;
  for (size_t k = 0; k < p->bufs.n; k++)
    parts += p->bufs.at[k].shift != 0;
  assert_true(parts >= 4);                                   /* rows 1 and 2 of X and of P */
  assert_int_equal(p->kernels.n + 4, w.c.grouping.groups.n); /* a, b and the pieces of P are one */
  world_close(&w);
  check_text(text);
}

static void identifiers_of_the_header_are_distinct(void **state) {
  (void)state;
  plan_world w;
  neo_str s;
  const neo_plan *p =
      plan_of(&w, HEAD "size int 1..3\nsize \"a b\" 1..3\ninput a.b : f32 [int, \"a b\"]\n"
                       "input a_b : f32 [2]\ninput ctx : f32 [2]\ninput ctx_ : f32 [2]\n"
                       "input unix : f32 [2]\ntemp \"9x\" : f32 [2]\n"
                       "def @1 \"9x\"[i: 2] = a.b[0, 0] + a_b[i] + ctx[i] + ctx_[i] + unix[i]\n"
                       "entry forward load: \"9x\" = \"9x\", a_b = a_b\n"
                       "entry forward load_entry: y = a_b\nentry forward status: y = a_b\n"
                       "entry forward a.b: y = a_b\nentry forward a_b: y = a_b\n");
  neo_str_init(&s, &w.c.arena);
  neo_plan_header(p, NULL, 0, &s);
  const char *text = neo_str_text(&s);
  static const char *const parts[] = {
      "t_ctx *ctx, int64_t int_, int64_t a_b, const float *a_b_2,\n    const float *a_b_3, const "
      "float *ctx_, const float *ctx__2, const float *unix_, float *t9x,\n    float *output_a_b);",
      "t_status t_load_entry(",
      "t_status t_load_entry_entry(",
      "t_status t_status_entry(",
      "t_status t_a_b(",
      "t_status t_a_b_entry("};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    if (!strstr(text, parts[k])) {
      fputs(text, stderr);
      fail_msg("%s is missing", parts[k]);
    }
  world_close(&w);
}

/* The name of each is compared with those of all before it, which are known by then. */
static void many_entries_are_named_in_no_time(void **state) {
  (void)state;
  enum { ENTRIES = 64 };
  plan_world w;
  char text[40 * ENTRIES + 256] =
      HEAD "input X : f32 [2]\ntemp Y : f32 [2]\ndef @1 Y[i: 2] = X[i] + 1.0\n";
  size_t n = strlen(text);
  for (int k = 0; k < ENTRIES; k++)
    n += (size_t)snprintf(text + n, sizeof text - n, "entry forward e%d: Y = Y\n", k);
  const neo_plan *p = plan_of(&w, text);
  assert_string_equal(p->entry_symbols.at[ENTRIES - 1], "t_e63");
  world_close(&w);
}

static void indices_that_are_kept_are_checked_when_set(void **state) {
  (void)state;
  plan_world w;
  int32_t bad[2] = {1, 5}, good[2] = {4, 0};
  (void)plan_of(&w, HEAD "state s : i32 [2] < 5\ninput X : f32 [5]\ntemp Y : f32 [2]\n"
                         "init @1 s[i: 2] = i32(i)\ndef @2 Y[i: 2] = X[i64(s[i])]\n"
                         "entry forward forward: Y = Y\n");
  int32_t s = neo_rt_find(&w.model, "s");
  assert_int_equal(neo_rt_set(w.ctx, s, bad, sizeof bad), NEO_RT_E_RANGE);
  assert_int_equal(neo_rt_set(w.ctx, s, good, sizeof good), NEO_RT_OK);
  world_close(&w);
}

static void a_tensor_beyond_all_memory_is_an_error(void **state) {
  (void)state;
  plan_world w;
  world_open(&w);
  world_parse(&w, HEAD "input X : f32 []\ntemp Y : f32 [4194304, 4194304]\n"
                       "def @1 Y[i: 4194304, j: 4194304] = X[]\nentry forward forward: Y = Y\n");
  assert_int_equal(neo_compile_passes(&w.c), NEO_OK);
  assert_int_equal(neo_compile_kernels(&w.c), NEO_INPUT);
  assert_int_equal(neo_diags_errors(w.c.diags), 1);
  world_close(&w);
}

/* The status of planning a model that has this number of run-time sizes. */
static neo_status status_of_sizes(int sizes) {
  plan_world w;
  neo_str text;
  world_open(&w);
  neo_str_init(&text, &w.c.arena);
  neo_str_add(&text, HEAD);
  for (int k = 0; k < sizes; k++)
    neo_str_addf(&text, "size N%d 1..8\n", k);
  for (int k = 0; k < sizes; k++)
    neo_str_addf(&text, "input x%d : f32 [N%d]\n", k, k);
  neo_str_add(&text, "temp Y : f32 []\ndef @1 Y[] = x0[0]");
  for (int k = 1; k < sizes; k++)
    neo_str_addf(&text, " + x%d[0]", k);
  neo_str_add(&text, "\nentry forward forward: Y = Y\n");
  world_parse(&w, neo_str_text(&text));
  assert_int_equal(neo_compile_passes(&w.c), NEO_OK);
  neo_status s = neo_compile_kernels(&w.c);
  world_close(&w);
  return s;
}

static void a_model_has_as_many_sizes_as_a_call_keeps(void **state) {
  (void)state;
  assert_int_equal(status_of_sizes(60), NEO_OK);
  assert_int_equal(status_of_sizes(70), NEO_INPUT);
}

static void a_row_kernel_does_not_overwrite_what_its_rows_read(void **state) {
  (void)state;
  check_text(HEAD "input X : f32 [24, 40]\nparam w : f32 [24]\nupdate u : f32 [24] of w\n"
                  "temp s : f32 [24]\ntemp Y : f32 [24, 40]\ntemp Z : f32 [24, 40]\n"
                  "init @1 w[i: 24] = f32(i)\n"
                  "def @2 s[i: 24] =\n  sum[j: 40] X[i, j]\n  then acc0\n"
                  "def @3 u[i: 24] = w[i] - s[i] * 0.125\n"
                  "def @4 Y[i: 24, j: 40] = X[i, j] * s[i] + u[i]\n"
                  "def @5 Z[i: 24, j: 40] = X[i, j] * s[i] + w[i]\n"
                  "entry train step: Y = Y, Z = Z; updates u\n");
}

static void members_that_read_a_new_version_see_it_once(void **state) {
  (void)state;
  check_copies(HEAD "input X : f32 [37]\nparam v : f32 [37]\nparam w : f32 [37]\n"
                    "update a : f32 [37] of v\nupdate b : f32 [37] of w\ntemp Y : f32 [37]\n"
                    "init @1 v[i: 37] = f32(i)\ninit @2 w[i: 37] = 1.0\n"
                    "def @3 a[i: 37] = v[i] * 2.0 + X[i]\ndef @4 b[i: 37] = w[i] + a[i] * v[i]\n"
                    "def @5 Y[i: 37] = a[i] + b[i] + v[i] + w[i]\n"
                    "entry train step: Y = Y; updates a, b\n",
               0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_elementwise_update_is_written_in_place),
      cmocka_unit_test(an_update_that_reads_neighbours_is_copied),
      cmocka_unit_test(an_update_from_a_sum_over_the_old_version_is_copied),
      cmocka_unit_test(updates_that_swap_are_right),
      cmocka_unit_test(updates_in_a_ring_are_right),
      cmocka_unit_test(one_definition_of_two_updates_reads_both_old_versions),
      cmocka_unit_test(the_parameter_that_was_read_last_is_updated_first),
      cmocka_unit_test(moments_and_weights_are_updated_together),
      cmocka_unit_test(a_new_version_is_read_by_later_kernels),
      cmocka_unit_test(an_update_is_returned_and_taken),
      cmocka_unit_test(a_row_kernel_does_not_overwrite_what_its_rows_read),
      cmocka_unit_test(members_that_read_a_new_version_see_it_once),
      cmocka_unit_test(outputs_may_be_inputs_constants_settings_and_the_same_twice),
      cmocka_unit_test(outputs_of_one_name_may_differ_between_entries),
      cmocka_unit_test(a_tensor_of_several_pieces_is_made_whole),
      cmocka_unit_test(an_update_in_pieces_is_copied),
      cmocka_unit_test(initial_values_may_need_each_other_and_computed_tensors),
      cmocka_unit_test(empty_tensors_and_entries_without_outputs_work),
      cmocka_unit_test(sizes_of_one_entry_only_are_asked_there),
      cmocka_unit_test(extents_may_use_every_integer_operator),
      cmocka_unit_test(an_unwanted_output_that_shrinks_with_its_size_has_room),
      cmocka_unit_test(a_truth_behind_a_guard_is_an_index),
      cmocka_unit_test(what_is_dead_in_one_entry_is_overwritten_only_after_its_pieces),
      cmocka_unit_test(kernels_are_shared_by_groups_that_say_the_same),
      cmocka_unit_test(kernels_are_shared_by_groups_that_begin_elsewhere),
      cmocka_unit_test(identifiers_of_the_header_are_distinct),
      cmocka_unit_test(many_entries_are_named_in_no_time),
      cmocka_unit_test(indices_that_are_kept_are_checked_when_set),
      cmocka_unit_test(a_model_has_as_many_sizes_as_a_call_keeps),
      cmocka_unit_test(a_tensor_beyond_all_memory_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

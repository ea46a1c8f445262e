/* Concatenations without copies (fusion/concat.h): which kernels are left, where parts lie, and that results are
 * those of the reference interpreter, of plans with kernels that are interpreted and compiled, and with all facts
 * checked. Programs are written by hand, and drawn. */
#include "ir/store.h"
#include "tests/pick.h"
#include "tests/pipeline/plan_world.h"
#include <string.h>

#define STEP \
  "optimizer go(w[..] : real, g[..] : real) { update w[..] = w[..] - 0.1*g[..] }\ntrain loss using go()\n"

typedef struct {
  int joined, copies; /* concatenations that no kernel makes; kernels that copy a part */
} counts;

static bool has_prefix(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static counts count(const neo_compilation *c) {
  counts n = {0, 0};
  for (size_t g = 0; g < c->grouping.groups.n; g++) {
    n.joined += c->grouping.groups.at[g].in_parts;
    n.copies += has_prefix(c->grouping.groups.at[g].name, "rest_");
  }
  return n;
}

static void open_with(plan_world *w, const char *text, kernel_kind kind, uint32_t off,
                      const int64_t *sizes) {
  world_open(w);
  w->c.options.check_facts = kind == KERNELS_INTERPRETED;
  w->c.options.fusion.off = off;
  world_source(w, text);
  world_begin(w, kind, sizes);
}

/* In small programs a concatenation is seldom in memory: here all is, or what no reader has as a row of its own. */
static const uint32_t ALONE = ~(1u << NEO_FUSE_CONCAT);
static const uint32_t NO_ROWS =
    1u << NEO_FUSE_INLINE | 1u << NEO_FUSE_PROLOGUE | 1u << NEO_FUSE_ROWS;

static void check_with(const char *text, uint32_t off, int joined, int copies) {
  static const kernel_kind kinds[] = {KERNELS_INTERPRETED, KERNELS_COMPILED};
  for (int k = 0; k < 4; k++) {
    plan_world w;
    open_with(&w, text, kinds[k & 1], k < 2 ? off : 0, NULL);
    counts n = count(&w.c);
    if (k < 2 && (n.joined != joined || n.copies != copies))
      fail_msg("%s: %d concatenations without a kernel, %d copies", text, n.joined, n.copies);
    world_check(&w, 2);
    world_close(&w);
  }
}

static void check(const char *text, int joined, int copies) {
  check_with(text, ALONE, joined, copies);
}

/* ---- where parts lie */

static void sums_are_written_where_they_belong(void **state) {
  (void)state;
  check("input X[5, 4]\ninput V[4, 3]\ninput W[4, 6]\na[n, j] = sum[k] X[n, k]*V[k, j]\n"
        "b[n, j] = sum[k] X[n, k]*W[k, j]\n"
        "y[n, c < 9] = select(c < 3, a[n, c], b[n, c - 3])\n"
        "z[n] = sum[c] y[n, c]^2\nu[n] = sum[j] a[n, j]\noutput z, u\n",
        1, 0);
}

static void a_concatenation_of_concatenations_is_one_memory(void **state) {
  (void)state;
  const char *text =
      "dim B <= 4\ninput X[B, 2]\nparam V[2, 3] = normal(0, 1)\nparam W[5, 3] = normal(0, 1)\n"
      "param U[8, 3] = normal(0, 1)\n"
      "x0[n, j < 2] = sum[k] X[n, k]*V[k, j]\na[n, j] = sum[k] x0[n, k]*V[k, j]\n"
      "x1[n, c < 5] = select(c < 2, x0[n, c], a[n, c - 2])\nb[n, j] = sum[k] x1[n, k]*W[k, j]\n"
      "x2[n, c < 8] = select(c < 5, x1[n, c], b[n, c - 5])\nd[n, j] = sum[k] x2[n, k]*U[k, j]\n"
      "x3[n, c < 11] = select(c < 8, x2[n, c], d[n, c - 8])\n"
      "loss = mean[n, c] x3[n, c]^2\noutput loss\n" STEP;
  plan_world w;
  open_with(&w, text, KERNELS_INTERPRETED, ALONE, NULL);
  neo_tensor whole = neo_tensor_find(w.c.module, "x3");
  static const char *const parts[] = {"x0", "a", "x1", "b", "x2", "d"};
  for (int k = 0; k < 6; k++)
    assert_int_equal(neo_tensor_store(w.c.module, neo_tensor_find(w.c.module, parts[k])).i,
                     whole.i);
  assert_int_equal(count(&w.c).copies, 0);
  world_check(&w, 3);
  world_close(&w);
}

static void outer_axes_are_joined_too(void **state) {
  (void)state;
  check("dim B <= 3\ninput X[B, 4, 2]\na[n, r, j < 3] = sum[k] X[n, r, k]*f32(k + j)\n"
        "b[n, r < 2, j < 3] = sum[k] X[n, r, k]*f32(k - j)\n"
        "y[n, r < 6, j < 3] = select(r >= 2, a[n, r - 2, j], b[n, r, j])\n"
        "z[n, j] = sum[r] y[n, r, j]*f32(r)\noutput z\n",
        1, 0);
}

static void run_time_sizes_are_places(void **state) {
  (void)state;
  check("dim 0 <= N <= 5\ndim 0 <= M <= 4\ninput X[N, 3]\ninput Y[M, 3]\n"
        "a[n, j < 2] = sum[k] X[n, k]*f32(k + j)\nb[n, j < 2] = sum[k] Y[n, k]*f32(k - j)\n"
        "y[t < N + M, j < 2] = select(t < N, a[t, j], b[t - N, j])\n"
        "u[j < 2, t < N + M] = select(t < N, a[t, j], b[t - N, j])\n"
        "z[j] = sum[t] y[t, j]*f32(t)\ns[j] = sum[t] u[j, t]\noutput z, s\n",
        1, 0);
}

/* ---- what has to be copied */

static void what_callers_see_is_copied(void **state) {
  (void)state;
#define WITH(part)                                                                         \
  "input X[5, 2]\nparam P[5, 2] = normal(0, 1)\na[n, j < 4] = sum[k] X[n, k]*f32(k + j)\n" \
  "r[n, j < 2] = sum[k] P[n, k]*f32(k*j)\n"                                                \
  "y[n, c < 6] = select(c < 2, " part "[n, c], a[n, c - 2])\n"                             \
  "z[n] = sum[c] y[n, c]*f32(c)\noutput z, r\n"
  check(WITH("X"), 1, 1);
  check(WITH("P"), 1, 1);
  check(WITH("r"), 1, 1);
}

static void a_result_has_parts_in_the_caller_s_memory(void **state) {
  (void)state;
  check("input X[5, 2]\na[n, j < 4] = sum[k] X[n, k]*f32(k + j)\n"
        "b[n, j < 3] = sum[k] X[n, k]*f32(k*j)\n"
        "y[n, c < 7] = select(c < 4, a[n, c], b[n, c - 4])\nz[n] = sum[j] a[n, j]\noutput y, z\n",
        1, 0);
}

static void a_tensor_lies_in_one_place(void **state) {
  (void)state;
  check("input X[5, 2]\na[n, j < 4] = sum[k] X[n, k]*f32(k + j)\n"
        "b[n, j < 4] = sum[k] X[n, k]*f32(k*j)\n"
        "y[n, c < 8] = select(c < 4, a[n, c], b[n, c - 4])\n"
        "w[n, c < 12] = select(c < 4, b[n, c], select(c < 8, a[n, c - 4], a[n, c - 8]))\n"
        "z[n] = (sum[c] y[n, c]*f32(c)) + sum[c] w[n, c]*f32(c)\noutput z\n",
        1, 1);
}

static void other_types_and_orders_are_copied(void **state) {
  (void)state;
  check("input X[3, 2]\na[n, j < 3] = sum[k] X[n, k]*f32(k + j)\n"
        "b[n, j < 3] = sum[k] X[n, k]*f32(k*j)\n"
        "y[n, c < 6] = select(c < 3, a[c, n], b[n, c - 3])\n"
        "v[n, c < 5] = select(c < 2, a[n, c], b[n, c - 2])\n"
        "z[n] = (sum[c] y[n, c]*f32(c)) + sum[c] v[n, c]*f32(c)\noutput z\n",
        1, 1);
}

static void empty_and_single_parts_are_parts(void **state) {
  (void)state;
  check("dim 0 <= N <= 3\ninput X[4, 3] : f64\ninput E[N, 3] : f64\n"
        "a[n, j < 1] = sum[k] X[n, k]\nb[n, j < 1] = sum[k] X[n, k]*f64(k)\n"
        "e[n, j < 2] = sum[k] E[n, k]*f64(k + j)\n"
        "y[n, c < 2] = select(c < 1, a[n, c], b[n, c - 1])\n"
        "w[t < N + 4, c < 2] = select(t < 4, y[t, c], e[t - 4, c])\n"
        "z[c] = sum[t] w[t, c]*f64(t + 1)\noutput z\n",
        2, 0);
}

static void a_kernel_makes_several_parts_of_one_memory(void **state) {
  (void)state;
  check_with("input X[6, 4]\na[n, j < 4] = exp(X[n, j])\nb[n, j < 4] = a[n, j]*a[n, j]\n"
             "d[n, j < 4] = b[n, j] + a[n, j]\n"
             "y[n, c < 12] = select(c < 4, d[n, c], select(c < 8, b[n, c - 4], a[n, c - 8]))\n"
             "z[n] = sum[c] y[n, c]*f32(c)\ns[j] = sum[n] b[n, j]\noutput z, s\n",
             NO_ROWS, 1, 0);
}

/* ---- drawn programs */

typedef struct {
  neo_arena *a;
  neo_str *out;
  uint64_t *state;
  int n; /* tensors so far */
} drawing;

static int64_t below(drawing *d, int64_t n) {
  return neo_pick(d->state, 0, n - 1);
}

/* A tensor t<k>[B, rows, columns] that is no concatenation. */
static int draw_leaf(drawing *d, int64_t rows, int64_t columns, const char *type) {
  int t = d->n++;
  switch (below(d, 4)) {
  case 0:
    neo_str_addf(d->out, "input t%d[B, %lld, %lld] : %s\n", t, (long long)rows, (long long)columns,
                 type);
    break;
  case 1:
    neo_str_addf(d->out, "t%d[n < B, i < %lld, j < %lld] = tanh(X[n, i %% 3, j %% 2]) + %s(j)\n", t,
                 (long long)rows, (long long)columns, type);
    break;
  default:
    neo_str_addf(d->out,
                 "param W%d[2, %lld] : %s = normal(0, 1)\n"
                 "t%d[n < B, i < %lld, j < %lld] = sum[k] X[n, i %% 3, k]*W%d[k, j]\n",
                 t, (long long)columns, type, t, (long long)rows, (long long)columns, t);
  }
  return t;
}

/* Concatenations up to `depth` deep, along rows or columns, of up to three parts. */
static int draw(drawing *d, int64_t rows, int64_t columns, int depth, const char *type) {
  bool by_rows = below(d, 2);
  int64_t all = by_rows ? rows : columns;
  if (!depth || all < 2)
    return draw_leaf(d, rows, columns, type);
  int64_t first = below(d, all) + (below(d, 8) > 0);
  first = first > all ? all : first;
  int64_t rest = all - first;
  int a = draw(d, by_rows ? first : rows, by_rows ? columns : first, depth - 1, type);
  int b = below(d, 6) || rest != first
              ? draw(d, by_rows ? rest : rows, by_rows ? columns : rest, depth - 1, type)
              : a;
  int t = d->n++;
  neo_str_addf(d->out, "t%d[n < B, i < %lld, j < %lld] = ", t, (long long)rows, (long long)columns);
  neo_str_addf(d->out,
               by_rows ? "select(i < %lld, t%d[n, i, j], t%d[n, i - %lld, j])\n"
                       : "select(j < %lld, t%d[n, i, j], t%d[n, i, j - %lld])\n",
               (long long)first, a, b, (long long)first);
  return t;
}

static const char *draw_program(neo_arena *a, uint64_t seed) {
  neo_str out;
  neo_str_init(&out, a);
  drawing d = {a, &out, &seed, 0};
  const char *type = below(&d, 3) ? "f32" : "f64";
  neo_str_addf(&out, "dim 0 <= B <= %lld\ninput X[B, 3, 2] : %s\n", (long long)(1 + below(&d, 3)),
               type);
  int t = draw(&d, 1 + below(&d, 5), 1 + below(&d, 7), 1 + (int)below(&d, 3), type);
  neo_str_addf(&out, "loss = sum[n, i, j] t%d[n, i, j]*tanh(t%d[n, i, j])\n", t, t);
  int other = (int)below(&d, d.n);
  neo_str_addf(&out, "s[n, i] = sum[j] t%d[n, i, j]\noutput loss, s%s\n", other,
               below(&d, 3) ? "" : neo_arena_printf(a, ", t%d", (int)below(&d, d.n)));
  if (strstr(neo_str_text(&out), "param"))
    neo_str_add(&out, STEP);
  return neo_str_text(&out);
}

static void drawn_programs_give_what_they_say(void **state) {
  (void)state;
  int joined = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    neo_arena a;
    plan_world w;
    neo_arena_init(&a, neo_alloc_default, NULL);
    const char *text = draw_program(&a, seed);
    int64_t few[] = {0, (int64_t)seed % 2}; /* by id: there is one size */
    open_with(&w, text, seed % 4 ? KERNELS_INTERPRETED : KERNELS_COMPILED, seed % 3 ? ALONE : 0,
              seed % 5 ? NULL : few);
    joined += count(&w.c).joined;
    world_check(&w, 2);
    world_close(&w);
    neo_arena_free(&a);
  }
  assert_true(joined > 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_written_where_they_belong),
      cmocka_unit_test(a_concatenation_of_concatenations_is_one_memory),
      cmocka_unit_test(outer_axes_are_joined_too),
      cmocka_unit_test(run_time_sizes_are_places),
      cmocka_unit_test(what_callers_see_is_copied),
      cmocka_unit_test(a_result_has_parts_in_the_caller_s_memory),
      cmocka_unit_test(a_tensor_lies_in_one_place),
      cmocka_unit_test(other_types_and_orders_are_copied),
      cmocka_unit_test(empty_and_single_parts_are_parts),
      cmocka_unit_test(a_kernel_makes_several_parts_of_one_memory),
      cmocka_unit_test(drawn_programs_give_what_they_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Gradients of hand-written IR against central differences in f64, and of random access maps
 * against a loop that scatters. In the second kind all data are small integers, so sums are exact
 * and equality is asked for. */
#include "base/random.h"
#include "ir/print.h"
#include "ir/prove/prove.h"
#include "tests/autodiff/grad_world.h"
#include <string.h>

#define HEAD "neo-ir 1\nmodule t\n"
static void a_product_and_its_activation_are_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "size B 1..5\n"
                  "input X : f64 [B, 3]\ninput W : f64 [3, 4]\ninput b : f64 [4]\n"
                  "temp H : f64 [B, 4]\ntemp L : f64 []\ntemp dW : f64 [3, 4]\ntemp db : f64 [4]\n"
                  "temp dX : f64 [B, 3]\n"
                  "def H[b: B, j: 4] =\n  sum[i: 3] X[b, i] * W[i, j]\n  then tanh(acc0 + b[j])\n"
                  "def L[] =\n  mean[b: B, j: 4] H[b, j] * H[b, j]\n  then acc0\n"
                  "gradient of L for W, b, X into dW, db, dX\n");
}

static void a_padded_strided_window_is_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [9]\ninput F : f64 [3]\ntemp Y : f64 [5]\ntemp L : f64 []\n"
                  "temp dX : f64 [9]\ntemp dF : f64 [3]\n"
                  "def Y[p: 5] =\n  sum[r: 3] F[r] * (X[2*p + r - 1] else 0.0f64)\n  then acc0\n"
                  "def L[] =\n  sum[p: 5] Y[p] * Y[p]\n  then acc0\n"
                  "gradient of L for X, F into dX, dF\n");
}

static void a_maximum_sends_its_gradient_to_the_winner(void **state) {
  (void)state;
  grad_check(HEAD
             "input X : f64 [4, 6]\ntemp Y : f64 [2, 3]\ntemp L : f64 []\ntemp dX : f64 [4, 6]\n"
             "def Y[p: 2, q: 3] =\n  max[r: 2, s: 2] X[2*p + r, 2*q + s], 2*r + s\n  then acc0\n"
             "def L[] =\n  sum[p: 2, q: 3] Y[p, q] * Y[p, q]\n  then acc0\n"
             "gradient of L for X into dX\n");
}

static void cross_entropy_is_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [3, 5]\ninput Y : i32 [3] < 5\ntemp l : f64 [3]\ntemp L : f64 []\n"
                  "temp dX : f64 [3, 5]\n"
                  "def l[b: 3] =\n  logsumexp[c: 5] X[b, c]\n  then acc0\n"
                  "def L[] =\n  mean[b: 3] l[b] - X[b, i64(Y[b])]\n  then acc0\n"
                  "gradient of L for X into dX\n");
}

static void a_lookup_is_differentiated(void **state) {
  (void)state;
  grad_check(HEAD
             "input T : f64 [4, 2]\ninput Y : i32 [5] < 4\ntemp E : f64 [5, 2]\ntemp L : f64 []\n"
             "temp dT : f64 [4, 2]\n"
             "def E[b: 5, d: 2] = T[i64(Y[b]), d]\n"
             "def L[] =\n  sum[b: 5, d: 2] E[b, d] * E[b, d]\n  then acc0\n"
             "gradient of L for T into dT\n");
}

static void a_lookup_inside_a_product_is_differentiated(void **state) {
  (void)state;
  grad_check(
      HEAD
      "input T : f64 [4, 2]\ninput W : f64 [3, 2, 5]\ninput Y : i32 [6, 3] < 4\n"
      "temp H : f64 [6, 5]\n"
      "temp L : f64 []\ntemp dT : f64 [4, 2]\ntemp dW : f64 [3, 2, 5]\n"
      "def H[b: 6, j: 5] =\n  sum[t: 3, e: 2] T[i64(Y[b, t]), e] * W[t, e, j]\n  then tanh(acc0)\n"
      "def L[] =\n  sum[b: 6, j: 5] H[b, j] * H[b, j]\n  then acc0\n"
      "gradient of L for T, W into dT, dW\n");
}

static void a_triangular_sum_and_a_product_are_differentiated(void **state) {
  (void)state;
  grad_check(
      HEAD
      "input X : f64 [5]\ntemp P : f64 [5]\ntemp R : f64 []\ntemp L : f64 []\ntemp dX : f64 [5]\n"
      "def P[i: 5] =\n  sum[k: 0..i + 1] X[k] * X[i]\n  then exp(acc0 * 0.1f64)\n"
      "def R[] =\n  prod[k: 5] X[k]\n  then acc0\n"
      "def L[] =\n  sum[i: 5] P[i]\n  then acc0 * R[]\n"
      "gradient of L for X into dX\n");
}

static void the_gradient_of_a_gradient_is_right(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [3]\ninput W : f64 [3, 3]\ntemp H : f64 [3]\ntemp y : f64 []\n"
                  "temp dX : f64 [3]\n"
                  "temp L : f64 []\ntemp dW : f64 [3, 3]\n"
                  "def H[i: 3] =\n  sum[j: 3] W[i, j] * X[j]\n  then tanh(acc0)\n"
                  "def y[] =\n  sum[i: 3] H[i] * H[i]\n  then acc0\n"
                  "def L[] =\n  sum[i: 3] dX[i] * dX[i]\n  then acc0\n"
                  "gradient of y for X into dX\n"
                  "gradient of L for W into dW\n");
}

#define RECURRENCE(requests)                                                                     \
  HEAD "input X : f64 [6, 3]\ninput W : f64 [3]\ninput S : f64 [6, 3]\ntemp h : f64 [6, 3]\n"     \
       "temp y : f64 [6, 3]\ntemp dX : f64 [6, 3]\ntemp dW : f64 [3]\n"                            \
       "def h[t: 6, j: 3] = tanh(W[j] * (h[t - 1, j] else 0.0f64) + X[t, j])\n"                    \
       "def y[t: 6, j: 3] = h[t, j] * h[t, j]\n" requests

static size_t definitions_after(const char *text) {
  grad_world w;
  grad_begin(&w);
  w.m = neo_module_parse(&w.arena, w.names, w.diags, "t", text, strlen(text));
  assert_non_null(w.m);
  grad_pass(&w);
  size_t n = w.m->defs.n;
  for (size_t k = 0; k < w.m->grads.n; k++)
    assert_true(w.m->grads.at[k].done);
  neo_arena_free(&w.arena);
  return n;
}

/* As Op.vjp asks: for each argument by itself. */
static void requests_of_one_tensor_with_one_seed_share_their_adjoints(void **state) {
  (void)state;
  size_t one = definitions_after(RECURRENCE("gradient of y seed S for X, W into dX, dW\n"));
  size_t two = definitions_after(RECURRENCE("gradient of y seed S for X into dX\n"
                                            "gradient of y seed S for W into dW\n"));
  assert_int_equal(one, two);
  size_t apart = definitions_after(RECURRENCE("gradient of y seed S for X into dX\n"
                                              "gradient of y seed X for W into dW\n"));
  assert_true(apart > two);
}

/* Each element of the adjoint looks at its own step alone. */
static void adjoints_of_many_slices_are_pieces(void **state) {
  (void)state;
  grad_world w;
  neo_str text;
  grad_begin(&w);
  neo_str_init(&text, &w.arena);
  neo_str_add(&text, HEAD "input X : f64 [12, 3]\ntemp L : f64 []\ntemp dX : f64 [12, 3]\n"
                          "def L[] =\n  sum[j: 3] X[0, j]");
  for (int k = 2; k < 11; k++)
    neo_str_addf(&text, " * X[%d, j]", k);
  neo_str_add(&text, "\n  then acc0\ngradient of L for X into dX\n");
  grad_check(neo_str_text(&text));
  w.m = neo_module_parse(&w.arena, w.names, w.diags, "t", neo_str_text(&text), text.n);
  grad_pass(&w);
  assert_int_equal(neo_tensor_at(w.m, neo_tensor_find(w.m, "d.X"))->pieces.n, 12);
  neo_arena_free(&w.arena);
}

/* Layer 3 of W is read twice, layer 1 by nobody, all of W by a sum of squares: no sum passes over
 * more than its own layer. */
static void sums_into_a_slice_are_pieces(void **state) {
  (void)state;
  const char *text =
      HEAD "input X : f64 [5, 3]\ninput W : f64 [4, 3, 3]\ntemp a : f64 [5, 3]\n"
           "temp b : f64 [5, 3]\ntemp c : f64 [5, 3]\ntemp d : f64 [5, 3]\ntemp q : f64 []\n"
           "temp L : f64 []\ntemp dW : f64 [4, 3, 3]\n"
           "def a[n: 5, j: 3] =\n  sum[i: 3] X[n, i] * W[0, i, j]\n  then acc0\n"
           "def b[n: 5, j: 3] =\n  sum[i: 3] a[n, i] * W[3, i, j]\n  then acc0\n"
           "def c[n: 5, j: 3] =\n  sum[i: 3] b[n, i] * W[2, i, j]\n  then acc0\n"
           "def d[n: 5, j: 3] =\n  sum[i: 3] c[n, i] * W[3, i, j]\n  then acc0\n"
           "def q[] =\n  sum[l: 4, i: 3, j: 3] W[l, i, j] * W[l, i, j]\n  then acc0\n"
           "def L[] =\n  sum[n: 5, j: 3] d[n, j] * d[n, j]\n  then acc0 + q[]\n"
           "gradient of L for W into dW\n";
  grad_world w;
  grad_check(text);
  grad_begin(&w);
  w.m = neo_module_parse(&w.arena, w.names, w.diags, "t", text, strlen(text));
  grad_pass(&w);
  assert_int_equal(neo_tensor_at(w.m, neo_tensor_find(w.m, "dW"))->pieces.n, 4);
  neo_arena_free(&w.arena);
}

/* Windows of a rolled image: every element is in one window, at one place of it. */
static void the_gradient_of_a_rolled_read_has_no_sum(void **state) {
  (void)state;
  const char *text =
      HEAD "input X : f64 [12]\ninput S : f64 [3, 4]\ntemp Q : f64 [3, 4]\ntemp L : f64 []\n"
           "temp dX : f64 [12]\n"
           "def Q[u: 3, i: 4] = X[(4*u + i + 5) % 12] * S[u, i]\n"
           "def L[] =\n  sum[u: 3, i: 4] Q[u, i] * Q[u, i]\n  then acc0\n"
           "gradient of L for X into dX\n";
  grad_world w;
  neo_str got;
  grad_check(text);
  grad_begin(&w);
  w.m = neo_module_parse(&w.arena, w.names, w.diags, "t", text, strlen(text));
  grad_pass(&w);
  neo_str_init(&got, &w.arena);
  neo_module_print(w.m, &got);
  const char *gradient = strstr(neo_str_text(&got), "dX[z0: 12]");
  assert_non_null(gradient);
  assert_non_null(strstr(gradient, "let $0 = (z0 + 7) % 12 / 4;\n    d.Q[$0, (z0 + 3) % 4]"));
  assert_null(strstr(gradient, "sum["));
  neo_arena_free(&w.arena);
}

/* ---- random access maps */

typedef struct {
  neo_module *m;
  uint64_t *seed;
  uint32_t n_axes;
  int64_t extent[6];
} map_gen;

static int64_t pick(uint64_t *seed, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(seed) % (uint64_t)(hi - lo + 1));
}

static neo_expr i64_of(neo_module *m, int64_t x) {
  return neo_const_int(m, NEO_I64_T, x);
}

/* A random linear form, made non-negative; *hi gets its largest value. */
static neo_expr random_linear(map_gen *g, int64_t *hi) {
  int64_t low = 0, high = 0;
  neo_expr e = i64_of(g->m, 0);
  for (uint32_t k = 0; k < g->n_axes; k++) {
    static const int64_t coefs[] = {0, 0, 1, 1, 1, 2, 3, -1, -2};
    int64_t c = coefs[neo_splitmix(g->seed) % 9];
    e = neo_op2(g->m, NEO_OP_ADD, e,
                neo_op2(g->m, NEO_OP_MUL, neo_axis_ref(g->m, k), i64_of(g->m, c)));
    *(c < 0 ? &low : &high) += c * (g->extent[k] - 1);
  }
  *hi = high - low;
  return neo_op2(g->m, NEO_OP_SUB, e, i64_of(g->m, low));
}

static neo_expr random_index(map_gen *g, int64_t *hi) {
  neo_expr e = random_linear(g, hi);
  int64_t k = pick(g->seed, 2, 4);
  switch (pick(g->seed, 0, 7)) {
  case 0:
    *hi /= k;
    return neo_op2(g->m, NEO_OP_DIV, e, i64_of(g->m, k));
  case 1:
    *hi = *hi < k ? *hi : k - 1;
    return neo_op2(g->m, NEO_OP_MOD, e, i64_of(g->m, k));
  case 2: /* goes around once at most */
    e = neo_op2(g->m, NEO_OP_ADD, e, i64_of(g->m, pick(g->seed, -9, 9)));
    *hi += pick(g->seed, 0, 2);
    return neo_op2(g->m, NEO_OP_MOD, e, i64_of(g->m, *hi + 1));
  default:
    return e;
  }
}

/* e and e / k, e % k in one read: a reshape. */
static uint32_t random_indices(map_gen *g, neo_expr *index, int64_t *extent) {
  uint32_t rank = (uint32_t)pick(g->seed, 1, 3);
  for (uint32_t d = 0; d < rank; d++) {
    index[d] = random_index(g, &extent[d]);
    extent[d]++;
  }
  if (rank < 2 || pick(g->seed, 0, 3))
    return rank;
  int64_t hi, k = pick(g->seed, 2, 5);
  neo_expr e = random_linear(g, &hi);
  index[0] = neo_op2(g->m, NEO_OP_DIV, e, i64_of(g->m, k));
  index[1] = neo_op2(g->m, NEO_OP_MOD, e, i64_of(g->m, k));
  extent[0] = hi / k + 1;
  extent[1] = k;
  return rank;
}

static neo_tensor add_tensor(grad_world *w, const char *name, neo_role role, const int64_t *extent,
                             uint32_t rank) {
  uint32_t ids[8];
  for (uint32_t k = 0; k < rank; k++)
    ids[k] = i64_of(w->m, extent[k]).i;
  neo_tensor_rec r = {
      .role = (uint8_t)role, .type = NEO_F64_T, .name = neo_name_of(w->names, name)};
  r.extent = neo_list_new(w->m, ids, rank);
  return neo_tensor_add(w->m, r);
}

static void fill_integers(neo_values *v, uint64_t *seed) {
  for (int64_t i = 0; i < v->n; i++)
    v->at[i].f = (double)pick(seed, -4, 4);
  v->known = true;
}

typedef struct {
  grad_world w;
  map_gen g;
  uint64_t seed, state;
  int64_t longest; /* axis */
  uint32_t n_out, n_red, axes[8], rank;
  int64_t extent[8]; /* of A */
  neo_expr index[4], where, weight;
  neo_tensor A, S, Y, dA, probe;
} map_test;

static void make_axes(map_test *t) {
  neo_module *m = t->w.m;
  t->n_out = (uint32_t)pick(&t->state, 0, 3);
  t->n_red = (uint32_t)pick(&t->state, 0, 2);
  t->g.n_axes = t->n_out + t->n_red;
  for (uint32_t k = 0; k < t->g.n_axes; k++) {
    t->g.extent[k] = pick(&t->state, 1, t->longest);
    neo_axis_rec a = {neo_name_of(t->w.names, k < t->n_out ? "x" : "r"), i64_of(m, 0),
                      i64_of(m, t->g.extent[k]), 0};
    t->axes[k] = neo_axis_add(m, a).i;
  }
}

/* Y[x] = sum[r where ...] A[index]*weight, perhaps guarded: then A is cut, so that reads fall
 * outside on both sides. */
static void make_read(map_test *t) {
  neo_module *m = t->w.m;
  int64_t hi;
  t->rank = random_indices(&t->g, t->index, t->extent);
  bool guarded = pick(&t->state, 0, 1);
  for (uint32_t d = 0; guarded && d < t->rank; d++) {
    t->index[d] = neo_op2(m, NEO_OP_SUB, t->index[d], i64_of(m, pick(&t->state, 0, 1)));
    t->extent[d] = pick(&t->state, 1, t->extent[d]);
  }
  if (t->n_red && pick(&t->state, 0, 1))
    t->where = neo_op2(m, NEO_OP_LT, random_linear(&t->g, &hi), i64_of(m, pick(&t->state, 1, 6)));
  t->A = add_tensor(&t->w, "A", NEO_ROLE_INPUT, t->extent, t->rank);
  t->S = add_tensor(&t->w, "S", NEO_ROLE_INPUT, t->g.extent, t->n_out);
  t->Y = add_tensor(&t->w, "Y", NEO_ROLE_TEMP, t->g.extent, t->n_out);
  t->dA = add_tensor(&t->w, "dA", NEO_ROLE_TEMP, t->extent, t->rank);
  neo_expr zero = neo_const_int(m, NEO_F64_T, 0), acc = neo_acc_ref(m, NEO_F64_T, 0);
  neo_expr read = guarded ? neo_load_else(m, t->A, t->index, t->rank, zero, 0)
                          : neo_load(m, t->A, t->index, t->rank, 0);
  t->weight = neo_cast(m, NEO_F64_T, random_linear(&t->g, &hi));
  neo_expr body = neo_op2(m, NEO_OP_MUL, read, t->weight);
  neo_def_rec d = {.axes = neo_list_new(m, t->axes, t->g.n_axes), .n_out = t->n_out};
  d.where = t->where;
  d.out = neo_list_new(m, &t->Y.i, 1);
  d.reducer = t->n_red ? NEO_RED_SUM : NEO_RED_NONE;
  d.finish = neo_list_new(m, t->n_red ? &acc.i : &body.i, 1);
  if (t->n_red)
    d.body = neo_list_new(m, &body.i, 1);
  neo_def_add(m, d, true);
}

/* Per point: where it reads (or -1), and what it should add there. */
static void make_probe(map_test *t) {
  neo_module *m = t->w.m;
  uint32_t n = t->g.n_axes, axes[8];
  int64_t extent[8];
  for (uint32_t k = 0; k < n; k++) {
    extent[k] = t->g.extent[k];
    axes[k] = neo_axis_add(m, m->axes.at[t->axes[k]]).i;
  }
  extent[n] = 2;
  neo_axis_rec which = {neo_name_of(t->w.names, "w"), i64_of(m, 0), i64_of(m, 2), 0};
  axes[n] = neo_axis_add(m, which).i;
  t->probe = add_tensor(&t->w, "probe", NEO_ROLE_TEMP, extent, n + 1);
  neo_expr at = i64_of(m, 0), good = t->where.i ? t->where : neo_const_bool(m, true), out[8];
  for (uint32_t k = 0; k < t->rank; k++) {
    neo_expr end = i64_of(m, t->extent[k]);
    at = neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, at, end), t->index[k]);
    good = neo_op2(m, NEO_OP_AND, good, neo_op2(m, NEO_OP_LE, i64_of(m, 0), t->index[k]));
    good = neo_op2(m, NEO_OP_AND, good, neo_op2(m, NEO_OP_LT, t->index[k], end));
  }
  for (uint32_t k = 0; k < t->n_out; k++)
    out[k] = neo_axis_ref(m, k);
  neo_expr amount = neo_op2(m, NEO_OP_MUL, neo_load(m, t->S, out, t->n_out, 0), t->weight);
  neo_expr target =
      neo_op3(m, NEO_OP_SELECT, good, neo_cast(m, NEO_F64_T, at), neo_const_int(m, NEO_F64_T, -1));
  neo_expr first = neo_op2(m, NEO_OP_EQ, neo_axis_ref(m, n), i64_of(m, 0));
  neo_expr both = neo_op3(m, NEO_OP_SELECT, first, target, amount);
  neo_def_rec d = {.axes = neo_list_new(m, axes, n + 1), .n_out = n + 1};
  d.out = neo_list_new(m, &t->probe.i, 1);
  d.finish = neo_list_new(m, &both.i, 1);
  neo_def_add(m, d, true);
}

/* The gradient is what a loop over the probe scatters. */
static void compare_with_scatter(map_test *t) {
  int64_t sizes[1] = {0};
  neo_interp *p = neo_interp_new(&t->w.arena, t->w.m, sizes, 1);
  fill_integers(neo_interp_tensor(p, t->A), &t->state);
  fill_integers(neo_interp_tensor(p, t->S), &t->state);
  grad_eval(p, &t->w, t->probe);
  neo_values *points = neo_interp_tensor(p, t->probe), *v = neo_interp_tensor(p, t->dA);
  double *expected = NEO_NEW_ARRAY(&t->w.arena, double, v->n + 1);
  for (int64_t i = 0; i + 1 < points->n; i += 2)
    if (points->at[i].f >= 0)
      expected[(int64_t)points->at[i].f] += points->at[i + 1].f;
  grad_eval(p, &t->w, t->dA);
  for (int64_t i = 0; i < v->n; i++)
    if (v->at[i].f != expected[i]) {
      neo_str text;
      neo_str_init(&text, &t->w.arena);
      neo_module_print(t->w.m, &text);
      fail_msg("seed %llu: dA[%lld] is %g, expected %g\n%s", (unsigned long long)t->seed,
               (long long)i, v->at[i].f, expected[i], neo_str_text(&text));
    }
}

/* The number of remarks; a proof may take so many operations. */
static size_t random_map(uint64_t seed, int64_t longest, uint64_t quota) {
  map_test t = {.seed = seed, .state = seed, .longest = longest};
  grad_begin(&t.w);
  t.w.m = neo_module_new(&t.w.arena, t.w.names, t.w.diags, "t");
  neo_proofs_limit(t.w.m, quota);
  t.g = (map_gen){.m = t.w.m, .seed = &t.state};
  make_axes(&t);
  make_read(&t);
  neo_grad_rec request = {.y = t.Y,
                          .seed = t.S,
                          .wrt = neo_list_new(t.w.m, &t.A.i, 1),
                          .out = neo_list_new(t.w.m, &t.dA.i, 1)};
  NEO_PUSH(&t.w.arena, &t.w.m->grads, request);
  make_probe(&t);
  grad_pass(&t.w);
  compare_with_scatter(&t);
  size_t n = neo_diags_count(t.w.diags);
  neo_arena_free(&t.w.arena);
  return n;
}

static void gradients_of_random_access_maps_equal_a_scatter(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 1000; seed++)
    assert_int_equal(random_map(seed * 7919, 5, 0), 0);
}

static void proofs_that_are_given_up_are_told_and_cost_no_correctness(void **state) {
  (void)state;
  size_t told = 0;
  for (uint64_t seed = 1; seed <= 300; seed++)
    told += random_map(seed * 7919, 11, 1);
  assert_true(told > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_and_its_activation_are_differentiated),
      cmocka_unit_test(a_padded_strided_window_is_differentiated),
      cmocka_unit_test(a_maximum_sends_its_gradient_to_the_winner),
      cmocka_unit_test(cross_entropy_is_differentiated),
      cmocka_unit_test(a_lookup_is_differentiated),
      cmocka_unit_test(a_lookup_inside_a_product_is_differentiated),
      cmocka_unit_test(a_triangular_sum_and_a_product_are_differentiated),
      cmocka_unit_test(the_gradient_of_a_gradient_is_right),
      cmocka_unit_test(requests_of_one_tensor_with_one_seed_share_their_adjoints),
      cmocka_unit_test(adjoints_of_many_slices_are_pieces),
      cmocka_unit_test(sums_into_a_slice_are_pieces),
      cmocka_unit_test(the_gradient_of_a_rolled_read_has_no_sum),
      cmocka_unit_test(gradients_of_random_access_maps_equal_a_scatter),
      cmocka_unit_test(proofs_that_are_given_up_are_told_and_cost_no_correctness),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

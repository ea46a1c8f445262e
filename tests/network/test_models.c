/* Small models, each with something that a cut must respect: one instance at a time, the network is
 * the synchronous step. */
#include "tests/network/world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 5 };

#define HEAD "import nn, optim\ndim B <= 6\ninput X[B, 5]\ninput Y[B] : i32 < 4\n"
#define LOSS "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y)\noutput L\n"
#define SGD "train loss using optim.sgd(lr = 0.1)\n"

static void open_text(world *w, const char *text, uint32_t nodes) {
  world_model x = {.text = text, .nodes = nodes};
  world_open(w, NEO_TEST_SOURCE_DIR, &x);
  world_begin(w, 3);
}

/* Follows the step at three sizes of merged networks. */
static void follow(const char *text, double tolerance) {
  for (uint32_t nodes = 0; nodes < 4; nodes++) {
    world w;
    open_text(&w, text, nodes);
    for (uint64_t k = 0; k < STEPS; k++) {
      world_size(&w, "B", 2 + (int64_t)k % 3);
      world_fill(&w, k);
      world_step(&w, tolerance);
    }
    world_close(&w);
  }
}

static uint32_t count_of(const char *text, neo_net_kind kind) {
  world w;
  open_text(&w, text, 0);
  uint32_t n = world_count(&w, kind);
  world_close(&w);
  return n;
}

static uint32_t actors_of(const char *text) {
  world w;
  open_text(&w, text, 0);
  uint32_t n = (uint32_t)w.n->actors.n;
  world_close(&w);
  return n;
}

static void a_chain_has_a_node_for_each_product_and_the_bits_of_the_step(void **state) {
  const char *text = HEAD "a = nn.linear(X, out = 7)\nb[n, j] = relu(a[n, j])\n"
                          "h = nn.linear(b, out = 6)\n" LOSS SGD;
  (void)state;
  assert_int_equal(count_of(text, NEO_NET_PPT), 2);
  assert_int_equal(count_of(text, NEO_NET_LOSS), 1);
  assert_int_equal(actors_of(text), 3);
  follow(text, 0);
}

static void several_readers_get_copies_and_their_answers_are_added(void **state) {
  const char *text =
      HEAD "a = nn.linear(X, out = 6)\nb = nn.linear(a, out = 6)\n"
           "c = nn.linear(a, out = 6)\nh[n, j] = b[n, j]*c[n, j] + tanh(a[n, j])\n" LOSS SGD;
  (void)state;
  assert_int_equal(count_of(text, NEO_NET_BCAST), 1);
  follow(text, 1e-6);
}

static void tied_weights_are_one_actor(void **state) {
  const char *text = HEAD "param W[5, 5] = normal(0, 0.5)\na[n, j] = tanh(sum[i] X[n, i]*W[i, j])\n"
                          "h[n, j] = tanh(sum[i] a[n, i]*W[j, i])\n" LOSS SGD;
  (void)state;
  assert_int_equal(count_of(text, NEO_NET_PPT), 2);
  assert_int_equal(actors_of(text), 2);
  follow(text, 1e-6);
}

static void a_norm_over_all_gradients_is_that_of_all(void **state) {
  const char *text = HEAD "h = nn.linear(X, out = 6)\n" LOSS
                          "train loss using optim.adam(lr = 0.01, clip = 0.05)\n";
  (void)state;
  assert_int_equal(actors_of(text), 1);
  follow(text, 1e-6);
}

static void each_actor_counts_its_own_updates(void **state) {
  const char *text =
      HEAD "h = nn.linear(X, out = 6)\n" LOSS "train loss using optim.adam(lr = 0.01)\n";
  (void)state;
  assert_int_equal(actors_of(text), 2);
  follow(text, 1e-6);
}

static void two_training_entries_are_cut_one_by_one(void **state) {
  static const char text[] = HEAD
      "h = nn.linear(X, out = 6)\n" LOSS "other = mean[b, j] h[b, j]^2\n"
      "train a: loss using optim.adam(lr = 0.01)\ntrain b: other over h.* using optim.adam(lr = 0.1)\n";
  static const char *const entries[] = {"a", "b"};
  (void)state;
  for (int e = 0; e < 2; e++) {
    world w;
    world_model x = {.text = text, .entry = entries[e]};
    world_open(&w, NEO_TEST_SOURCE_DIR, &x);
    world_begin(&w, 3);
    for (uint64_t k = 0; k < STEPS; k++) {
      world_fill(&w, k);
      world_step(&w, 1e-6);
    }
    world_close(&w);
  }
}

static void running_means_change_after_both_passes_have_read_them(void **state) {
  const char *text = HEAD "a = nn.linear(X, out = 6)\nb = nn.batch_norm(a)\n"
                          "state mu[6] = 0\nm[j] = mean[n] b[n, j]^2\n"
                          "update mu[j] = 0.9*mu[j] + 0.1*m[j]\n"
                          "h[n, j] = b[n, j]*(1 + mu[j])\n" LOSS SGD;
  (void)state;
  follow(text, 1e-5);
}

static void a_count_that_the_model_reads_stays_with_its_readers(void **state) {
  const char *text = HEAD "state n = 0.0\nupdate n = n + 1.0\na = nn.linear(X, out = 6)\n"
                          "h[b, j] = tanh(a[b, j])*(1 + 0.1*n)\n" LOSS SGD;
  (void)state;
  follow(text, 1e-6);
}

static void forward_and_backward_draw_one_mask(void **state) {
  const char *text = HEAD "a = nn.linear(X, out = 6)\nb = nn.dropout(a, p = 0.4)\n"
                          "c = nn.linear(b, out = 6)\nh = nn.dropout(c, p = 0.4)\n" LOSS SGD;
  (void)state;
  follow(text, 1e-6);
}

static void a_function_with_its_own_gradient_stays_in_a_node(void **state) {
  const char *text =
      "import nn, optim\nfn ste(x[..]) -> y { z[..] = 2*x[..]\n y[..] = round(z[..]) } "
      "grad(dy) -> dx { s[..] = dy[..]*tanh(x[..])\n dx[..] = 3*s[..] }\n"
      "dim B <= 6\ninput X[B, 5]\ninput Y[B] : i32 < 4\n"
      "a = nn.linear(X, out = 6)\nb = ste(a)\nh = nn.linear(b, out = 6)\n" LOSS SGD;
  (void)state;
  follow(text, 1e-6);
}

static void a_loss_that_reads_gradients_is_one_node(void **state) {
  const char *text = HEAD "h = nn.linear(X, out = 6)\nL = nn.linear(h, out = 4)\n"
                          "e[n] = sum[j] tanh(L[n, j])\nt = sum[n] e[n]\ndX = grad(t, X)\n"
                          "p = mean[n] (sum[i] dX[n, i]^2)\n"
                          "loss = nn.cross_entropy(L, Y) + 0.1*p\noutput L\n" SGD;
  world w;
  (void)state;
  open_text(&w, text, 0);
  assert_non_null(w.n->whole);
  assert_int_equal(w.n->actors.n, 1);
  world_close(&w);
  follow(text, 1e-6);
}

static void a_loss_that_is_a_gradient_is_one_node(void **state) {
  const char *text = "import optim\ndim B <= 6\ninput X[B, 5]\ninput s\nparam W[5] = normal(0, 1)\n"
                     "y = s*s*(mean[n] (sum[i] X[n, i]*W[i])^2)\nloss = grad(y, s)\noutput y\n" SGD;
  (void)state;
  follow(text, 1e-6);
}

static void an_optimizer_sees_values_of_the_instance(void **state) {
  const char *text = "import nn, optim\ndim B <= 6\ninput word[B] : i32 < 9\ninput Y[B] : i32 < 4\n"
                     "input rate\nparam T[9, 5] = normal(0, 1)\nx[b, j] = T[word[b], j]\n"
                     "touched[n < 9] = any[b] word[b] == n\nh = nn.linear(x, out = 6)\n" LOSS
                     "train loss over T using optim.adam_rows(touched, lr = 0.1)\n"
                     "train loss except T using optim.sgd(lr = 0.1)\n";
  (void)state;
  follow(text, 1e-6);
}

static void an_optimizer_sees_an_input(void **state) {
  const char *text =
      HEAD "input rate\noptimizer by(w[..], g[..], r : f32) {\n update w[..] = w[..] - r*g[..] }\n"
           "h = nn.linear(X, out = 6)\n" LOSS "train loss using by(rate)\n";
  (void)state;
  follow(text, 1e-6);
}

static void averages_of_weights_are_of_the_weights_actor(void **state) {
  const char *text = HEAD "h = nn.linear(X, out = 6)\n" LOSS "state S[i < 5, j < 6] = h.W[i, j]\n"
                          "update S[i, j] = 0.9*S[i, j] + 0.1*h.W[i, j]\n" SGD;
  (void)state;
  follow(text, 1e-6);
}

static void a_node_that_reads_nothing_of_an_instance_is_started(void **state) {
  const char *text =
      HEAD "param U[5, 3] = normal(0, 1)\nparam V[3, 6] = normal(0, 1)\n"
           "W[i, j] = sum[k] U[i, k]*V[k, j]\nQ[i, j < 6] = sum[k] W[i, k]*V[j % 3, k]\n"
           "a[n, j] = sum[i] X[n, i]*W[i, j]\nh[n, j] = a[n, j] + Q[0, j]\n" LOSS SGD;
  (void)state;
  follow(text, 1e-5);
}

static void a_recurrence_stays_inside_of_a_node(void **state) {
  const char *text = HEAD "a = nn.linear(X, out = 6)\nparam R[6, 6] = normal(0, 0.3)\n"
                          "h = scan t < 4 from h[n < B, j < 6] = 0 {\n"
                          " next h[n, j] = tanh(a[n, j] + sum[i] h[n, i]*R[i, j]) }\n" LOSS SGD;
  (void)state;
  assert_int_equal(count_of(text, NEO_NET_PPT), 2);
  follow(text, 1e-5);
}

static void iterations_of_repeat_are_actors_with_a_slice_of_each_stack(void **state) {
  const char *text = HEAD "h = repeat l < 3 from h[n < B, j < 5] = X[n, j] {\n"
                          " a = nn.linear(h, out = 5)\n b = nn.layer_norm(a)\n"
                          " next h[n, j] = h[n, j] + relu(b[n, j]) }\n" LOSS
                          "train loss using optim.adam(lr = 0.01)\n";
  world w;
  (void)state;
  open_text(&w, text, 0);
  assert_int_equal(w.n->slices.n, 3 * 4 * 3); /* W, b, g, b, each with its means */
  assert_int_equal(w.n->actors.n, 7);         /* products and norms of three iterations, the loss */
  assert_int_equal(neo_net_interp_kept(w.net, "h.a.W")->n, 3 * 25);
  world_close(&w);
  follow(text, 1e-5);
}

/* Each model, but for the first, has a stack that only one actor can hold. */
static void stacks_that_something_reads_as_a_whole_stay_whole(void **state) {
  static const char *const rest[] = {
      LOSS "train loss using optim.adam(lr = 0.01)\n",
      LOSS "train loss using optim.adam(lr = 0.01, clip = 0.1)\n",
      "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y) + 0.01*sum[..] h.a.W[..]^2\n"
      "output L\n" SGD,
      "L[n, k < 4] = sum[l, i, j] h[n, i]*h.a.W[l, i, j]*f32(k + 1)\n"
      "loss = nn.cross_entropy(L, Y)\noutput L\n" SGD,
      LOSS "state S[l < 3, j < 5] = 0\nupdate S[l, j] = S[l, j] + h.a.b[2 - l, j]\n" SGD};
  (void)state;
  for (size_t k = 0; k < sizeof rest / sizeof *rest; k++) {
    world w;
    char text[2048];
    snprintf(text, sizeof text,
             HEAD "h = repeat l < 3 from h[n < B, j < 5] = X[n, j] {\n"
                  " a = nn.linear(h, out = 5)\n next h[n, j] = tanh(a[n, j]) }\n%s",
             rest[k]);
    open_text(&w, text, 0);
    neo_tensor whole = {0};
    for (size_t j = 0; j < w.n->actors.n; j++)
      for (int p = 0; p < 2 && !whole.i; p++)
        whole = neo_tensor_find(w.n->actors.at[j].module, p ? "h.a.b" : "h.a.W");
    assert_true((whole.i == 0) == (k == 0));
    world_close(&w);
    follow(text, 1e-5);
  }
}

static void narrow_types_have_wide_sums(void **state) {
  const char *text = "import nn, optim\ndim B <= 6\ninput X[B, 5] : bf16\ninput Y[B, 4] : bf16\n"
                     "param W[5, 6] : bf16 = normal(0, 1)\nparam V[6, 4] : bf16 = normal(0, 1)\n"
                     "h[n, j] = tanh(sum[i] X[n, i]*W[i, j])\nL[n, j] = sum[i] h[n, i]*V[i, j]\n"
                     "loss = mean[n, j] (L[n, j] - Y[n, j])^2\noutput L\n" SGD;
  (void)state;
  follow(text, 1e-2);
}

/* Masks are none, batch statistics are the running ones, and nothing changes. */
static void an_instance_is_evaluated_without_training(void **state) {
  const char *text = HEAD "a = nn.linear(X, out = 6)\nb = nn.batch_norm(a)\n"
                          "c = nn.linear(b, out = 6)\nd[n, j] = c[n, j] + b[n, j]\n"
                          "h = nn.dropout(d, p = 0.4)\n" LOSS "output test: loss\n" SGD;
  (void)state;
  for (uint32_t nodes = 0; nodes < 4; nodes++) {
    world w;
    open_text(&w, text, nodes);
    for (uint64_t k = 0; k < STEPS; k++) {
      world_size(&w, "B", 2 + (int64_t)k % 3);
      world_fill(&w, k);
      world_test(&w, 1e-5);
      world_step(&w, 1e-5);
    }
    world_close(&w);
  }
}

/* ---- intervals and several keys */

#define TWO HEAD "h = nn.linear(X, out = 6)\n" LOSS SGD

/* Before the first update, all instances see the initial weights: their gradients are those of the
 * entry `grad`, and an interval applies their weighted mean. */
static void an_interval_applies_the_weighted_mean_of_its_gradients(void **state) {
  static const double weight[] = {1, 0.5, 0.25};
  double sum[30] = {0}, total = 0;
  world w;
  (void)state;
  open_text(&w, TWO, 0);
  neo_str why = neo_str_in(&w.c.arena);
  neo_values before = *neo_net_interp_kept(w.net, "h.W");
  before.at = neo_arena_copy(&w.c.arena, before.at, (size_t)before.n * sizeof *before.at);
  assert_int_equal(before.n, 30);
  neo_tensor gradient = neo_tensor_find(w.m, "h.W.grad");
  neo_net_interp_every(w.net, 3);
  for (uint64_t k = 0; k < 3; k++) {
    world_fill(&w, k);
    world_check(&w, neo_interp_eval(w.whole, &gradient, 1, true, &why), &why);
    for (int i = 0; i < 30; i++)
      sum[i] += weight[k] * neo_interp_tensor(w.whole, gradient)->at[i].f;
    total += weight[k];
    neo_net_instance x = world_instance(&w, weight[k]);
    neo_net_interp_send(w.net, &x);
    assert_ptr_equal(neo_net_interp_loss(w.net, k), NULL);
    world_check(&w, neo_net_interp_deliver(w.net, &why), &why);
    assert_non_null(neo_net_interp_loss(w.net, k));
  }
  const neo_values *after = neo_net_interp_kept(w.net, "h.W");
  for (int i = 0; i < 30; i++)
    assert_true(fabs(after->at[i].f - (before.at[i].f - 0.1 * sum[i] / total)) < 1e-6);
  world_close(&w);
}

/* Any order of messages leaves nothing behind, and no instance is lost; with an interval that holds
 * all of them, the sums are the same. */
static void any_order_of_messages_ends(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed < 40; seed++) {
    world w;
    open_text(&w,
              HEAD "a = nn.linear(X, out = 6)\nb = nn.linear(a, out = 6)\nparam W[6, 6] = "
                   "normal(0, 1)\nc[n, j] = tanh(sum[i] a[n, i]*W[i, j])\nd[n, j] = "
                   "tanh(sum[i] b[n, i]*W[j, i])\nh[n, j] = c[n, j] + d[n, j]\n" LOSS SGD,
              0);
    neo_str why = neo_str_in(&w.c.arena);
    neo_net_interp_order(w.net, seed);
    neo_net_interp_every(w.net, (uint32_t)seed % 5 + 1);
    world_fill(&w, 1);
    for (int round = 0; round < 3; round++) {
      for (int k = 0; k < 6; k++) {
        neo_net_instance x = world_instance(&w, 1);
        neo_net_interp_send(w.net, &x);
      }
      world_check(&w, neo_net_interp_drain(w.net, &why), &why);
    }
    for (size_t k = 0; k < 18; k++)
      assert_true(isfinite(neo_net_interp_loss(w.net, k)->at[0].f));
    world_close(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_has_a_node_for_each_product_and_the_bits_of_the_step),
      cmocka_unit_test(several_readers_get_copies_and_their_answers_are_added),
      cmocka_unit_test(tied_weights_are_one_actor),
      cmocka_unit_test(a_norm_over_all_gradients_is_that_of_all),
      cmocka_unit_test(each_actor_counts_its_own_updates),
      cmocka_unit_test(two_training_entries_are_cut_one_by_one),
      cmocka_unit_test(running_means_change_after_both_passes_have_read_them),
      cmocka_unit_test(a_count_that_the_model_reads_stays_with_its_readers),
      cmocka_unit_test(forward_and_backward_draw_one_mask),
      cmocka_unit_test(a_function_with_its_own_gradient_stays_in_a_node),
      cmocka_unit_test(a_loss_that_reads_gradients_is_one_node),
      cmocka_unit_test(a_loss_that_is_a_gradient_is_one_node),
      cmocka_unit_test(an_optimizer_sees_values_of_the_instance),
      cmocka_unit_test(an_optimizer_sees_an_input),
      cmocka_unit_test(averages_of_weights_are_of_the_weights_actor),
      cmocka_unit_test(a_node_that_reads_nothing_of_an_instance_is_started),
      cmocka_unit_test(a_recurrence_stays_inside_of_a_node),
      cmocka_unit_test(iterations_of_repeat_are_actors_with_a_slice_of_each_stack),
      cmocka_unit_test(stacks_that_something_reads_as_a_whole_stay_whole),
      cmocka_unit_test(narrow_types_have_wide_sums),
      cmocka_unit_test(an_instance_is_evaluated_without_training),
      cmocka_unit_test(an_interval_applies_the_weighted_mean_of_its_gradients),
      cmocka_unit_test(any_order_of_messages_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

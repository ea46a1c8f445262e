/* Simulated devices: what a network takes in virtual time, beside what is computed by hand. */
#include "include/neo/neo_net.h"
#include "tests/network/world.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { B = 2, INPUTS = 5, MOST_WORKS = 4096, SEED = 3 };

/* Three nodes: two that answer later, and the loss, which answers at once. */
static const char chain[] =
    "import nn, optim\ndim B <= 6\ninput X[B, 5]\ninput Y[B] : i32 < 4\n"
    "a = nn.linear(X, out = 7)\nb[n, j] = relu(a[n, j])\nh = nn.linear(b, out = 6)\n"
    "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y)\noutput L\n"
    "train loss using optim.sgd(lr = 0.1)\n";

typedef struct {
  neo_compilation c;
  neo_library lib;
  const neo_rt_net *net;
  neo_rt_net_work work[MOST_WORKS];
  int n_work;
  double update_s;
  int32_t every;
} job;

static void check_compiled(job *j, neo_status s) {
  neo_str text = neo_str_in(&j->c.arena);
  if (!s)
    return;
  neo_diags_print(j->c.diags, &text, false);
  fail_msg("%s %s", neo_str_text(&text), j->c.why ? j->c.why : "");
}

static job *open_job(void) {
  char library[4096];
  job *j = test_calloc(1, sizeof *j);
  snprintf(library, sizeof library, "%s/models/std", NEO_TEST_SOURCE_DIR);
  const char *const imports[] = {library, NULL};
  neo_compile_options o = {.path = "model.expr",
                           .text = chain,
                           .text_bytes = strlen(chain),
                           .import_paths = imports,
                           .unseen = true,
                           .network = true};
  neo_compilation_init(&j->c, &o);
  check_compiled(j, neo_compile_plan(&j->c));
  check_compiled(j, neo_compile_networks(&j->c));
  check_compiled(j, neo_library_make(&j->c, &j->lib));
  j->net = dlsym(j->lib.handle, "model_net");
  assert_non_null(j->net);
  assert_int_equal(j->net->n_nodes, 4);
  return j;
}

static void close_job(job *j) {
  neo_library_close(&j->lib);
  neo_compilation_free(&j->c);
  test_free(j);
}

/* Forward 1 s, backward 2 s, the loss 3 s: each node has 3 s of an instance. */
static double price(void *user, const neo_rt_net_work *w) {
  const job *j = user;
  if (w->part == NEO_RT_NET_UPDATE)
    return j->update_s;
  return !j->net->nodes[w->node].n_out ? 3 : w->part == NEO_RT_NET_FORWARD ? 1 : 2;
}

static void keep(void *user, const neo_rt_net_work *w) {
  job *j = user;
  assert_true(j->n_work < MOST_WORKS);
  j->work[j->n_work++] = *w;
}

static neo_rt_net_devices devices_of(job *j) {
  return (neo_rt_net_devices){.price = price, .ran = keep, .user = j};
}

static neo_rt_network *create(job *j, const neo_rt_net_devices *d, int32_t keys) {
  neo_rt_net_config c = {.keys = keys, .every = j->every, .seed = SEED, .devices = d};
  neo_rt_network *n;
  char why[256] = "";
  if (neo_rt_net_create(j->net, &c, &n, why, sizeof why))
    fail_msg("%s", why);
  j->n_work = 0;
  return n;
}

static void fill(neo_rt_net_instance *x, const int64_t *sizes, int k) {
  static float pixels[B * INPUTS];
  static int32_t labels[B];
  static const void *inputs[] = {pixels, labels};
  for (int i = 0; i < B * INPUTS; i++)
    pixels[i] = (float)((7 * i + 3 * k) % 11) / 11;
  for (int i = 0; i < B; i++)
    labels[i] = (i + k) % 4;
  *x = (neo_rt_net_instance){.sizes = sizes, .inputs = inputs, .weight = 1};
}

/* The loss of the instances. */
static double send(neo_rt_network *n, int instances) {
  static const int64_t sizes[] = {B};
  double loss = NAN;
  for (int k = 0; k < instances; k++) {
    neo_rt_net_instance x;
    fill(&x, sizes, k);
    if (neo_rt_net_send(n, &x))
      fail_msg("%s", neo_rt_net_error(n));
  }
  if (neo_rt_net_wait(n, &loss))
    fail_msg("%s", neo_rt_net_error(n));
  return loss;
}

static double seconds_of(neo_rt_network *n, neo_rt_net_virtual *v) {
  neo_rt_net_virtual other;
  v = v ? v : &other;
  assert_int_equal(neo_rt_net_virtual_time(n, v), 0);
  return v->seconds;
}

static double time_of(job *j, const neo_rt_net_devices *d, int32_t keys, int instances) {
  neo_rt_network *n = create(j, d, keys);
  send(n, instances);
  double s = seconds_of(n, NULL);
  neo_rt_net_destroy(n);
  return s;
}

/* One key: 9 s each. Two: the loss works from 2 to 5 and 5 to 8, then waits until 11, so two take 9
 * s, and the last one 3 more. Three: the loss never waits after its first 2 s, and 4 s follow its
 * last work. More keys are no faster. */
static void a_chain_takes_what_is_computed_by_hand(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  (void)state;
  for (int n = 2; n <= 20; n += 2) {
    assert_true(time_of(j, &d, 1, n) == 9 * n);
    assert_true(time_of(j, &d, 2, n) == 9 * n / 2 + 3);
    for (int32_t keys = 3; keys <= 16; keys++)
      assert_true(time_of(j, &d, keys, n) == (keys > n && n == 2 ? 12 : 3 * n + 6));
  }
  close_job(j);
}

/* Six messages follow one another: three on the way out, three back. */
static void messages_take_latency_and_bytes_over_bandwidth(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  (void)state;
  d.latency_s = 0.25;
  assert_true(fabs(time_of(j, &d, 1, 4) - 4 * (9 + 6 * 0.25)) < 1e-9);
  d.latency_s = 0;
  d.bytes_per_s = 4 * B; /* floats of one column: a second */
  double columns = 5 + 2 * 7 + 2 * 6;
  assert_true(fabs(time_of(j, &d, 1, 4) - 4 * (9 + columns)) < 1e-9);
  d.devices = 1; /* the controller's messages alone */
  assert_true(fabs(time_of(j, &d, 1, 4) - 4 * (9 + 5)) < 1e-9);
  close_job(j);
}

/* Pinned, one of two devices has two of three nodes. */
static void idle_devices_take_work_of_any_actor(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  (void)state;
  d.devices = 2;
  double pinned = time_of(j, &d, 8, 60);
  d.any = 1;
  double any = time_of(j, &d, 8, 60);
  assert_true(pinned >= 6 * 60);
  assert_true(any >= 4.5 * 60 && any < 4.5 * 60 * 1.1);
  d.devices = 1;
  assert_true(time_of(j, &d, 8, 60) == 9 * 60);
  close_job(j);
}

/* Answers leave before the update; the first node's next message waits for its end. */
static void updates_follow_answers(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  (void)state;
  j->update_s = 1;
  j->every = 2; /* an update of each instance is part of its backward pass */
  assert_true(time_of(j, &d, 1, 6) == 6 * 9 + 3);
  close_job(j);
}

/* Work of a device does not overlap, and adds up to its busy time. */
static void busy_times_add_up(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  neo_rt_net_virtual v;
  (void)state;
  for (d.any = 0; d.any < 2; d.any++) {
    d.devices = 2 + !d.any;
    neo_rt_network *n = create(j, &d, 4);
    double end[3] = {0}, sum[3] = {0}, all = 0;
    send(n, 30);
    assert_true(seconds_of(n, &v) > 0 && v.devices == d.devices);
    for (int k = 0; k < j->n_work; k++) {
      const neo_rt_net_work *w = &j->work[k];
      assert_true(w->begin_s >= end[w->device] && w->end_s <= v.seconds);
      end[w->device] = w->end_s;
      sum[w->device] += w->end_s - w->begin_s;
    }
    for (int k = 0; k < v.devices; k++) {
      assert_true(fabs(sum[k] - v.busy_s[k]) < 1e-9);
      all += sum[k];
    }
    assert_true(fabs(all - 30 * 9) < 1e-9);
    neo_rt_net_destroy(n);
  }
  close_job(j);
}

static void equal_prices_give_equal_runs(void **state) {
  job *j = open_job(), *other = open_job();
  neo_rt_net_devices d = devices_of(j), e = devices_of(other);
  (void)state;
  neo_rt_network *n = create(j, &d, 4), *m = create(other, &e, 4);
  assert_true(send(n, 40) == send(m, 40));
  assert_int_equal(j->n_work, other->n_work);
  for (int k = 0; k < j->n_work; k++) {
    const neo_rt_net_work *x = &j->work[k], *y = &other->work[k];
    assert_true(x->node == y->node && x->part == y->part && x->instance == y->instance);
    assert_true(x->begin_s == y->begin_s && x->end_s == y->end_s);
  }
  neo_rt_net_destroy(n);
  neo_rt_net_destroy(m);
  close_job(j);
  close_job(other);
}

/* One key meets the weights that it left; with more, the first node is behind the most. */
static void staleness_counts_missed_updates(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  neo_rt_net_node_stats v[8];
  (void)state;
  for (int32_t keys = 1; keys <= 4; keys++) {
    neo_rt_network *n = create(j, &d, keys);
    send(n, 64);
    neo_rt_net_stats(n, NULL, v, NULL, 0);
    for (int k = 1; k < j->net->n_nodes; k++)
      assert_true(keys == 1 ? v[k].staleness == 0 : v[k].staleness <= keys - 1);
    assert_true(v[3].staleness == 0);
    assert_true(keys < 3 || (v[1].staleness > v[2].staleness && v[2].staleness > 0));
    neo_rt_net_destroy(n);
  }
  close_job(j);
}

static void one_key_computes_what_it_does_in_real_time(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  (void)state;
  neo_rt_network *n = create(j, &d, 1), *real = create(j, NULL, 1);
  assert_true(send(n, 20) == send(real, 20));
  neo_rt_net_virtual v;
  assert_int_equal(neo_rt_net_virtual_time(real, &v), NEO_RT_E_STATE);
  neo_rt_net_destroy(n);
  neo_rt_net_destroy(real);
  close_job(j);
}

/* After `calls` calls a node's price is their median: the rest of a run has three prices a node. */
static void measured_prices_become_medians(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = {.calls = 5, .ran = keep, .user = j};
  (void)state;
  neo_rt_network *n = create(j, &d, 1);
  send(n, 40);
  for (int node = 1; node < j->net->n_nodes; node++)
    for (int part = NEO_RT_NET_FORWARD; part <= NEO_RT_NET_UPDATE; part++) {
      double first = NAN;
      for (int k = 0, calls = 0; k < j->n_work; k++) {
        const neo_rt_net_work *w = &j->work[k];
        if (w->node != node || w->part != part || calls++ < d.calls)
          continue;
        double took = w->end_s - w->begin_s;
        first = isnan(first) ? took : first;
        assert_true(took > 0 && fabs(took - first) < 1e-12);
      }
    }
  neo_rt_net_destroy(n);
  close_job(j);
}

static void the_fewest_keys_near_the_best_are_chosen(void **state) {
  job *j = open_job();
  neo_rt_net_devices d = devices_of(j);
  neo_rt_net_config c = {.seed = SEED, .devices = &d};
  static const int64_t sizes[] = {B};
  neo_rt_net_instance x[40];
  double per_second[5];
  int32_t keys = 0;
  (void)state;
  d.ran = NULL;
  for (int k = 0; k < 40; k++)
    fill(&x[k], sizes, 0);
  assert_int_equal(neo_rt_net_choose_keys(j->net, &c, x, 40, 16, &keys, per_second, NULL, 0), 0);
  assert_int_equal(keys, 4);
  assert_true(fabs(per_second[0] - 1.0 / 9) < 1e-9);
  assert_true(fabs(per_second[1] - 40.0 / 183) < 1e-9);
  for (int k = 2; k < 5; k++)
    assert_true(fabs(per_second[k] - 40.0 / 126) < 1e-9);
  d.devices = 1; /* more keys bring nothing */
  assert_int_equal(neo_rt_net_choose_keys(j->net, &c, x, 40, 16, &keys, NULL, NULL, 0), 0);
  assert_int_equal(keys, 1);
  close_job(j);
}

static void devices_that_cannot_be_are_refused(void **state) {
  job *j = open_job();
  neo_rt_network *n;
  char why[256];
  (void)state;
  const int32_t place[] = {0, 1, 2};
  const neo_rt_net_devices wrong[] = {
      {.devices = 2, .place = place}, {.latency_s = -1}, {.bytes_per_s = NAN}, {.calls = -1}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    neo_rt_net_config c = {.devices = &wrong[k]};
    assert_int_equal(neo_rt_net_create(j->net, &c, &n, why, sizeof why), NEO_RT_E_ARGUMENT);
    assert_null(n);
    assert_non_null(strstr(why, "device"));
  }
  const neo_rt_net_devices d = {0};
  const neo_rt_net_config both[] = {{.devices = &d, .workers = 2},
                                    {.devices = &d, .order = NEO_RT_NET_SHUFFLED},
                                    {.devices = &d, .replay = "log"}};
  for (size_t k = 0; k < sizeof both / sizeof *both; k++) {
    assert_int_equal(neo_rt_net_create(j->net, &both[k], &n, why, sizeof why), NEO_RT_E_ARGUMENT);
    assert_non_null(strstr(why, "devices are simulated without workers"));
  }
  close_job(j);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_takes_what_is_computed_by_hand),
      cmocka_unit_test(messages_take_latency_and_bytes_over_bandwidth),
      cmocka_unit_test(idle_devices_take_work_of_any_actor),
      cmocka_unit_test(updates_follow_answers),
      cmocka_unit_test(busy_times_add_up),
      cmocka_unit_test(equal_prices_give_equal_runs),
      cmocka_unit_test(staleness_counts_missed_updates),
      cmocka_unit_test(one_key_computes_what_it_does_in_real_time),
      cmocka_unit_test(measured_prices_become_medians),
      cmocka_unit_test(the_fewest_keys_near_the_best_are_chosen),
      cmocka_unit_test(devices_that_cannot_be_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

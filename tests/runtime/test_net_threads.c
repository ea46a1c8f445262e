/* Networks that run in threads, in any order, and again. */
#include "tests/effort.h"
#include "tests/runtime/toy_net.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Every allocation of the process is counted, unless a sanitizer owns malloc. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define COUNTS_ALLOCATIONS 1
static size_t n_allocations;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *malloc(size_t n) {
  __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
  __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
  __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_realloc(p, n);
}
#endif

enum { MOST_NODES = 32 };

static toy_net_shape shape_of(uint64_t seed) {
  return (toy_net_shape){
      .nodes = 1 + (int)(seed * 7 % 9), .tied = seed % 3 == 1, .wide = seed % 4 != 0};
}

static toy_net *make(uint64_t seed) {
  toy_net_shape s = shape_of(seed);
  return toy_net_make(seed, &s);
}

static void good(neo_rt_network *n, neo_rt_status status) {
  if (status)
    fail_msg("%s", neo_rt_net_error(n));
}

/* Each message that a node had was answered. */
static void check_counts(const toy_net *t, neo_rt_network *n, uint64_t instances) {
  neo_rt_net_node_stats nodes[4 * MOST_NODES];
  neo_rt_net_total total;
  const neo_rt_net *net = toy_net_record((toy_net *)(uintptr_t)t);
  assert_true(net->n_nodes <= 4 * MOST_NODES);
  neo_rt_net_stats(n, &total, nodes, NULL, 0);
  assert_int_equal(total.sent, instances);
  assert_int_equal(total.finished, instances);
  assert_int_equal(total.on_their_way, 0);
  assert_int_equal(total.bytes, 0);
  for (int32_t k = 1; k < net->n_nodes; k++) {
    assert_int_equal(nodes[k].forward, instances);
    assert_int_equal(nodes[k].backward, instances);
    assert_int_equal(nodes[k].queue, 0);
  }
}

typedef struct {
  uint64_t digest;
  double loss;
} outcome;

static outcome run(toy_net *t, const neo_rt_net_config *c, int instances) {
  outcome x;
  neo_rt_network *n = toy_net_open(t, c);
  good(n, toy_net_train(n, 0, instances / 2, &x.loss));
  good(n, toy_net_train(n, (uint64_t)instances / 2, instances - instances / 2, &x.loss));
  assert_true(isfinite(x.loss));
  check_counts(t, n, (uint64_t)instances);
  x.digest = toy_net_digest(t, n);
  neo_rt_net_destroy(n);
  return x;
}

static void assert_same(outcome a, outcome b) {
  assert_true(a.digest == b.digest);
  assert_true(memcmp(&a.loss, &b.loss, sizeof a.loss) == 0);
}

/* ---- orders */

static void messages_in_any_order_all_come_back(void **state) {
  uint64_t n = neo_test_count(100), differ = 0;
  (void)state;
  for (uint64_t seed = 0; seed < n; seed++) {
    toy_net *t = make(seed);
    neo_rt_net_config c = {.keys = 1 + (int32_t)(seed % 6),
                           .every = 1 + (int32_t)(seed % 4),
                           .every_rows = seed % 5 == 0 ? 11 : 0,
                           .seed = seed};
    outcome sent = run(t, &c, 12);
    c.order = NEO_RT_NET_SHUFFLED;
    for (uint64_t order = 0; order < 12; order++) {
      c.order_seed = order;
      outcome x = run(t, &c, 12);
      differ += x.digest != sent.digest;
      if (order % 5 == 0)
        assert_same(x, run(t, &c, 12));
    }
    toy_net_free(t);
  }
  assert_true(differ > n); /* the order matters */
}

static void one_key_has_the_same_bits_in_threads(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < neo_test_count(20); seed++) {
    toy_net_shape s = {.nodes = 1 + (int)(seed % 9), .wide = seed % 2};
    toy_net *t = toy_net_make(seed, &s);
    neo_rt_net_config c = {.seed = seed, .every = 1 + (int32_t)(seed % 3)};
    outcome alone = run(t, &c, 10);
    for (int32_t workers = 1; workers < 4; workers++)
      for (int32_t place = NEO_RT_NET_ACTORS; place <= NEO_RT_NET_PINNED; place++) {
        c.workers = workers;
        c.place = place;
        assert_same(alone, run(t, &c, 10));
      }
    toy_net_free(t);
  }
}

/* ---- replay */

static void a_run_in_threads_is_repeated_from_its_log_bit_for_bit(void **state) {
  uint64_t n = neo_test_count(100), differ = 0;
  char path[64];
  (void)state;
  snprintf(path, sizeof path, "/tmp/neo_net_log_%d", (int)getpid());
  for (uint64_t seed = 0; seed < n; seed++) {
    toy_net *t = make(seed);
    neo_rt_net_config c = {.keys = 1 + (int32_t)(seed % 7),
                           .every = 1 + (int32_t)(seed % 3),
                           .every_rows = seed % 7 == 0 ? 9 : 0,
                           .workers = 1 + (int32_t)(seed % 4),
                           .place = (int32_t)(seed / 2 % 2),
                           .seed = seed,
                           .log = path};
    neo_rt_net_config again = {
        .keys = c.keys, .every = c.every, .every_rows = c.every_rows, .seed = seed, .replay = path};
    neo_rt_net_config sent = again;
    sent.replay = NULL;
    outcome first = run(t, &c, 24);
    assert_same(first, run(t, &again, 24));
    differ += first.digest != run(t, &sent, 24).digest;
    toy_net_free(t);
  }
  remove(path);
  assert_true(differ > 0); /* the log matters */
}

static void an_order_by_seed_is_repeated_from_its_log(void **state) {
  char path[64];
  (void)state;
  snprintf(path, sizeof path, "/tmp/neo_net_log_%d", (int)getpid());
  for (uint64_t seed = 0; seed < neo_test_count(40); seed++) {
    toy_net *t = make(seed);
    neo_rt_net_config c = {.keys = 4, .order = NEO_RT_NET_SHUFFLED, .order_seed = seed};
    neo_rt_net_config again = {.keys = 4, .replay = path};
    c.log = path;
    outcome first = run(t, &c, 20);
    assert_same(first, run(t, &again, 20));
    toy_net_free(t);
  }
  remove(path);
}

static void write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void expect_no_network(const toy_net *t, const neo_rt_net_config *c, neo_rt_status want,
                              const char *why) {
  neo_rt_network *n;
  char got[1024] = "";
  assert_int_equal(
      neo_rt_net_create(toy_net_record((toy_net *)(uintptr_t)t), c, &n, got, sizeof got), want);
  assert_null(n);
  if (!strstr(got, why))
    fail_msg("%s", got);
}

static void logs_of_other_runs_are_refused(void **state) {
  char path[64], head[128];
  toy_net_shape s = {.nodes = 3};
  toy_net *t = toy_net_make(3, &s);
  const neo_rt_net *net = toy_net_record(t);
  neo_rt_net_config c = {.replay = path};
  (void)state;
  snprintf(path, sizeof path, "/tmp/neo_net_log_%d", (int)getpid());
  remove(path);
  expect_no_network(t, &c, NEO_RT_E_IO, "cannot be read: No such file");
  write_text(path, "hello\n");
  expect_no_network(t, &c, NEO_RT_E_FORMAT, ":1: not a log");
  write_text(path, "neo log 1, 77 actors, 2 nodes\n");
  expect_no_network(t, &c, NEO_RT_E_FORMAT, ":1: the log is of another network");
  snprintf(head, sizeof head, "neo log 1, %d actors, %d nodes\n0 9999 1 f\n", (int)net->n_actors,
           (int)net->n_nodes);
  write_text(path, head);
  expect_no_network(t, &c, NEO_RT_E_FORMAT, ":2: the network has no such node");
  snprintf(head, sizeof head, "neo log 1, %d actors, %d nodes\n", (int)net->n_actors,
           (int)net->n_nodes);
  write_text(path, head);
  neo_rt_network *n = toy_net_open(t, &c);
  assert_int_equal(toy_net_train(n, 0, 1, NULL), NEO_RT_E_STATE);
  assert_non_null(strstr(neo_rt_net_error(n), "the log ends before this run"));
  neo_rt_net_destroy(n);
  remove(path);
  c.replay = NULL;
  c.log = "/no/such/folder/log";
  expect_no_network(t, &c, NEO_RT_E_IO, "/no/such/folder/log: cannot be written");
  toy_net_free(t);
}

/* ---- limits */

static void more_keys_than_instances_and_no_instances_are_fine(void **state) {
  (void)state;
  for (int32_t workers = 0; workers < 3; workers++) {
    toy_net *t = make(5);
    neo_rt_net_config c = {.keys = 100, .workers = workers};
    neo_rt_network *n = toy_net_open(t, &c);
    double loss = 0;
    good(n, neo_rt_net_wait(n, &loss));
    assert_true(isnan(loss));
    good(n, toy_net_train(n, 0, 7, &loss));
    assert_true(isfinite(loss));
    check_counts(t, n, 7);
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

static void a_network_that_nobody_waits_for_ends(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < neo_test_count(50); seed++) {
    toy_net *t = make(seed);
    neo_rt_net_config c = {.keys = 8, .workers = (int32_t)(seed % 4)};
    neo_rt_network *n = toy_net_open(t, &c);
    float x[NET_INPUTS * NET_ROWS * NET_COLUMNS];
    toy_net_data(1, x);
    for (uint64_t k = 0; k < seed % 8; k++)
      good(n, toy_net_send(n, 4, x));
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

static void payloads_take_the_room_of_their_sizes(void **state) {
  float x[NET_INPUTS * NET_ROWS * NET_COLUMNS];
  (void)state;
  toy_net_data(1, x);
  for (int32_t workers = 0; workers < 3; workers++) {
    toy_net_shape s = {.nodes = 6};
    toy_net *t = toy_net_make(2, &s);
    neo_rt_net_config c = {.keys = 16, .workers = workers, .bytes = 1};
    expect_no_network(t, &c, NEO_RT_E_MEMORY, "bytes for messages are not enough");
    c.bytes = 0;
    neo_rt_net_total one;
    neo_rt_network *n = toy_net_open(t, &c);
    good(n, toy_net_send(n, NET_ROWS, x));
    good(n, neo_rt_net_wait(n, NULL));
    neo_rt_net_stats(n, &one, NULL, NULL, 0);
    neo_rt_net_destroy(n);
    c.bytes = one.most_bytes; /* room for one of all rows, or for several small ones */
    n = toy_net_open(t, &c);
    for (int k = 0; k < 60; k++)
      good(n, toy_net_send(n, k % (NET_ROWS + 1), x));
    good(n, neo_rt_net_wait(n, NULL));
    neo_rt_net_total all;
    neo_rt_net_stats(n, &all, NULL, NULL, 0);
    assert_true(all.most_bytes <= c.bytes);
    assert_true(all.finished == 60);
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

static void bad_configurations_are_refused(void **state) {
  toy_net *t = make(1);
  (void)state;
  expect_no_network(t, &(neo_rt_net_config){.workers = -1}, NEO_RT_E_ARGUMENT, "-1 workers");
  expect_no_network(t, &(neo_rt_net_config){.workers = 5000}, NEO_RT_E_ARGUMENT, "5000 workers");
  expect_no_network(t, &(neo_rt_net_config){.place = 2}, NEO_RT_E_ARGUMENT, "place 2 is unknown");
  expect_no_network(t, &(neo_rt_net_config){.order = -1}, NEO_RT_E_ARGUMENT, "order -1");
  expect_no_network(t, &(neo_rt_net_config){.every = -1}, NEO_RT_E_ARGUMENT, "at least 0");
  expect_no_network(t, &(neo_rt_net_config){.order = NEO_RT_NET_SHUFFLED, .workers = 2},
                    NEO_RT_E_ARGUMENT, "workers must be 0");
  expect_no_network(t, &(neo_rt_net_config){.keys = INT32_MAX}, NEO_RT_E_ARGUMENT,
                    "2147483647 keys: at most 1048576");
  toy_net_free(t);
}

/* ---- failures */

/* Sends instances, of which the third has the number, until one fails. */
static neo_rt_status train_with(neo_rt_network *n, float number) {
  float x[NET_INPUTS * NET_ROWS * NET_COLUMNS];
  neo_rt_status status = NEO_RT_OK;
  for (uint64_t k = 0; k < 10 && !status; k++) {
    toy_net_data(k, x);
    for (int i = 0; k == 3 && i < NET_INPUTS; i++)
      x[i * NET_ROWS * NET_COLUMNS] = number;
    status = toy_net_send(n, 4, x);
  }
  return status ? status : neo_rt_net_wait(n, NULL);
}

static void a_loss_that_is_nan_is_a_failure_that_names_the_instance(void **state) {
  (void)state;
  for (int32_t workers = 0; workers < 3; workers++) {
    toy_net_shape s = {.nodes = 1};
    toy_net *t = toy_net_make(1, &s);
    neo_rt_net_config c = {.keys = 3, .workers = workers};
    neo_rt_network *n = toy_net_open(t, &c);
    assert_int_equal(train_with(n, NAN_INPUT), NEO_RT_E_RANGE);
    assert_string_equal(neo_rt_net_error(n),
                        "node 1 (Loss of loss): the loss of instance 3 is nan");
    assert_int_equal(neo_rt_net_wait(n, NULL), NEO_RT_E_STATE);
    neo_rt_net_destroy(n);
    c.allow_nan = 1;
    n = toy_net_open(t, &c);
    good(n, train_with(n, NAN_INPUT));
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

static void a_kernel_that_fails_is_named_with_its_node(void **state) {
  (void)state;
  for (int32_t workers = 0; workers < 4; workers++)
    for (uint64_t seed = 0; seed < 8; seed++) {
      toy_net *t = make(seed);
      neo_rt_net_config c = {.keys = 4, .workers = workers, .place = (int32_t)(seed % 2)};
      neo_rt_network *n = toy_net_open(t, &c);
      assert_int_equal(train_with(n, FAILING_INPUT), NEO_RT_E_INTERNAL);
      assert_non_null(strstr(neo_rt_net_error(n), "node "));
      assert_non_null(strstr(neo_rt_net_error(n), "a kernel of entry"));
      neo_rt_net_destroy(n);
      toy_net_free(t);
    }
}

/* A port whose messages nobody sends. */
static void messages_that_are_lost_are_found(void **state) {
  (void)state;
  for (int32_t workers = 0; workers < 3; workers++) {
    toy_net_shape s = {.nodes = 2};
    toy_net *t = toy_net_make(1, &s);
    neo_rt_net *net = toy_net_record(t);
    neo_rt_net_node nodes[8];
    assert_true(net->n_nodes <= 8);
    memcpy(nodes, net->nodes, (size_t)net->n_nodes * sizeof *nodes);
    nodes[0].n_out--; /* the loss waits for it */
    net->nodes = nodes;
    neo_rt_net_config c = {.keys = 3, .workers = workers, .watch_s = 0.2};
    neo_rt_network *n = toy_net_open(t, &c);
    assert_int_equal(toy_net_train(n, 1, 1, NULL), NEO_RT_E_INTERNAL);
    assert_non_null(strstr(neo_rt_net_error(n), "1 instances have not come back"));
    assert_non_null(strstr(neo_rt_net_error(n), "messages of instance 0"));
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

static void *stop_soon(void *n) {
  usleep(2000);
  neo_rt_net_stop(n);
  return NULL;
}

static void a_stop_leaves_a_network_that_is_whole(void **state) {
  float x[NET_INPUTS * NET_ROWS * NET_COLUMNS];
  (void)state;
  toy_net_data(1, x);
  for (int32_t workers = 0; workers < 4; workers++) {
    toy_net *t = make(6);
    neo_rt_net_config c = {.keys = 3, .workers = workers};
    neo_rt_network *n = toy_net_open(t, &c);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, n), 0);
    neo_rt_status status = NEO_RT_OK;
    uint64_t sent = 0;
    for (; !status; sent += !status)
      status = toy_net_send(n, 4, x);
    assert_int_equal(status, NEO_RT_E_INTERRUPTED);
    assert_int_equal(toy_net_send(n, 4, x), NEO_RT_E_INTERRUPTED);
    pthread_join(thread, NULL);
    double loss;
    good(n, neo_rt_net_wait(n, &loss));
    check_counts(t, n, sent);
    good(n, toy_net_train(n, 0, 5, &loss));
    check_counts(t, n, sent + 5);
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

static void a_stop_wakes_a_controller_that_waits(void **state) {
  float x[NET_INPUTS * NET_ROWS * NET_COLUMNS];
  (void)state;
  for (int32_t workers = 1; workers < 3; workers++) {
    toy_net *t = make(6);
    neo_rt_net_config c = {.keys = 1, .workers = workers};
    neo_rt_network *n = toy_net_open(t, &c);
    pthread_t thread;
    toy_net_data(1, x);
    for (int i = 0; i < NET_INPUTS; i++)
      x[i * NET_ROWS * NET_COLUMNS] = SLOW_INPUT;
    good(n, toy_net_send(n, 4, x));
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, n), 0);
    neo_rt_status status = NEO_RT_OK;
    while (!status)
      status = toy_net_send(n, 4, x);
    assert_int_equal(status, NEO_RT_E_INTERRUPTED);
    pthread_join(thread, NULL);
    good(n, neo_rt_net_wait(n, NULL));
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

/* ---- what it costs, and counts */

static void nothing_allocates_between_creation_and_end(void **state) {
#ifdef COUNTS_ALLOCATIONS
  (void)state;
  for (int32_t workers = 0; workers < 3; workers++) {
    toy_net *t = make(7);
    neo_rt_net_config c = {.keys = 4, .workers = workers};
    neo_rt_network *n = toy_net_open(t, &c);
    assert_true(n_allocations > 0); /* the counter counts */
    size_t before = n_allocations;
    good(n, toy_net_train(n, 0, 200, NULL));
    assert_int_equal(n_allocations, before);
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
#else
  (void)state;
  skip();
#endif
}

static void staleness_is_that_of_updates_in_between(void **state) {
  neo_rt_net_node_stats nodes[MOST_NODES];
  neo_rt_net_worker_stats worker;
  neo_rt_net_total total;
  toy_net_shape s = {.nodes = 5};
  (void)state;
  for (int32_t keys = 1; keys < 5; keys++) {
    toy_net *t = toy_net_make(4, &s);
    const neo_rt_net *net = toy_net_record(t);
    neo_rt_net_config c = {.keys = keys};
    neo_rt_network *n = toy_net_open(t, &c);
    good(n, toy_net_train(n, 0, 40, NULL));
    neo_rt_net_stats(n, &total, nodes, &worker, 1);
    for (int32_t k = 1; k < net->n_nodes; k++) {
      assert_true(nodes[k].staleness <= keys - 1);
      assert_true(nodes[k].most_stale <= (uint64_t)keys - 1);
      assert_true(nodes[k].updates == 40);
      assert_true(nodes[k].busy_s > 0 && nodes[k].utilisation <= 1);
    }
    assert_true(keys == 1 || nodes[1].staleness > 0);
    assert_string_equal(nodes[1].name + strlen(nodes[1].name) - 1, ")");
    assert_int_equal(worker.messages, 2 * 40 * (net->n_nodes - 1) - 40); /* the loss runs once */
    good(n, toy_net_train(n, 0, 3, NULL));
    neo_rt_net_stats(n, &total, nodes, &worker, 0);
    assert_int_equal(total.sent, 3);
    assert_int_equal(nodes[1].forward, 3);
    assert_int_equal(nodes[1].updates, 3);
    neo_rt_net_destroy(n);
    toy_net_free(t);
  }
}

static void rows_count_for_updates(void **state) {
  float x[NET_INPUTS * NET_ROWS * NET_COLUMNS];
  neo_rt_net_node_stats nodes[MOST_NODES];
  toy_net_shape s = {.nodes = 3};
  toy_net *t = toy_net_make(4, &s);
  neo_rt_net_config c = {.every_rows = 10};
  neo_rt_network *n = toy_net_open(t, &c);
  (void)state;
  toy_net_data(1, x);
  for (int k = 0; k < 12; k++)
    good(n, toy_net_send(n, 4, x)); /* updates after 3, 6, 9, 12 */
  neo_rt_net_stats(n, NULL, nodes, NULL, 0);
  assert_int_equal(nodes[1].updates, 4);
  good(n, toy_net_send(n, 4, x));
  good(n, neo_rt_net_wait(n, NULL)); /* the rest, at the barrier */
  neo_rt_net_stats(n, NULL, nodes, NULL, 0);
  assert_int_equal(nodes[1].updates, 5);
  neo_rt_net_destroy(n);
  toy_net_free(t);
}

int main(void) {
#define T(f) cmocka_unit_test(f)
  const struct CMUnitTest tests[] = {
      T(messages_in_any_order_all_come_back),
      T(one_key_has_the_same_bits_in_threads),
      T(a_run_in_threads_is_repeated_from_its_log_bit_for_bit),
      T(an_order_by_seed_is_repeated_from_its_log),
      T(logs_of_other_runs_are_refused),
      T(more_keys_than_instances_and_no_instances_are_fine),
      T(a_network_that_nobody_waits_for_ends),
      T(payloads_take_the_room_of_their_sizes),
      T(bad_configurations_are_refused),
      T(a_loss_that_is_nan_is_a_failure_that_names_the_instance),
      T(a_kernel_that_fails_is_named_with_its_node),
      T(messages_that_are_lost_are_found),
      T(a_stop_leaves_a_network_that_is_whole),
      T(a_stop_wakes_a_controller_that_waits),
      T(nothing_allocates_between_creation_and_end),
      T(staleness_is_that_of_updates_in_between),
      T(rows_count_for_updates),
  };
#undef T
  return cmocka_run_group_tests(tests, NULL, NULL);
}

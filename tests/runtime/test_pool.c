/* The thread pool: small, so that it also runs under the thread sanitizer. */
#include "runtime/pool.h"
#include "tests/fault.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_THREADS = 8, ROUNDS = 50 };

typedef struct {
  neo_rt_pool *pool;
  int32_t seen[MOST_THREADS]; /* plain memory: the barriers alone must order it */
  int32_t errors[MOST_THREADS];
} shared;

/* Every worker writes its cell, meets the others, and reads all cells. */
static void rounds(void *user, int32_t worker, int32_t n) {
  shared *s = user;
  for (int32_t r = 1; r <= ROUNDS; r++) {
    s->seen[worker] = r;
    neo_rti_pool_barrier(s->pool, worker);
    for (int32_t i = 0; i < n; i++)
      s->errors[worker] += s->seen[i] != r;
    neo_rti_pool_barrier(s->pool, worker);
  }
}

static void all_workers_meet_at_every_barrier(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 5; threads++) {
    shared s = {0};
    assert_int_equal(neo_rt_pool_create(threads, &s.pool), NEO_OK);
    assert_int_equal(neo_rt_pool_threads(s.pool), threads);
    for (int i = 0; i < 5; i++)
      neo_rti_pool_run(s.pool, rounds, &s);
    for (int i = 0; i < MOST_THREADS; i++)
      assert_int_equal(s.errors[i], 0);
    neo_rt_pool_destroy(s.pool);
  }
}

static void count(void *user, int32_t worker, int32_t n) {
  (void)n;
  ((int32_t *)user)[worker]++;
}

static void a_region_runs_once_on_every_worker_also_after_sleep(void **state) {
  (void)state;
  neo_rt_pool *pool;
  int32_t counts[4] = {0};
  assert_int_equal(neo_rt_pool_create(4, &pool), NEO_OK);
  for (int i = 0; i < 200; i++) {
    neo_rti_pool_run(pool, count, counts);
    if (i % 50 == 0)
      usleep(5000); /* longer than the spinning: workers wait on the futex */
  }
  for (int i = 0; i < 4; i++)
    assert_int_equal(counts[i], 200);
  neo_rt_pool_destroy(pool);
}

typedef struct {
  neo_rt_pool *pool;
  int64_t *total; /* shared by all callers: regions take turns, so no update is lost */
} caller;

static void add_one(void *user, int32_t worker, int32_t n) {
  (void)n;
  if (worker == 1)
    ++*(int64_t *)user;
}

static void *call(void *arg) {
  caller *c = arg;
  for (int i = 0; i < 100; i++)
    neo_rti_pool_run(c->pool, add_one, c->total);
  return NULL;
}

static void regions_of_several_threads_take_turns(void **state) {
  (void)state;
  neo_rt_pool *pool;
  int64_t total = 0;
  pthread_t threads[4];
  assert_int_equal(neo_rt_pool_create(2, &pool), NEO_OK);
  caller c = {pool, &total};
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call, &c), 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  neo_rt_pool_destroy(pool);
  assert_int_equal(total, 400);
}

typedef struct {
  neo_rt_pool *pool;
  int32_t inner; /* workers of the region that found the pool busy */
} nested;

static void note_workers(void *user, int32_t worker, int32_t n) {
  if (worker == 0)
    *(int32_t *)user = n;
}

static void *call_in_between(void *arg) {
  nested *x = arg;
  neo_rti_pool_run_or_alone(x->pool, note_workers, &x->inner);
  return NULL;
}

static void run_inside(void *user, int32_t worker, int32_t n) {
  (void)n;
  pthread_t other;
  if (worker == 0 && pthread_create(&other, NULL, call_in_between, user) == 0)
    pthread_join(other, NULL);
}

static void who_finds_the_pool_busy_computes_alone_if_it_may(void **state) {
  (void)state;
  nested x = {.inner = -1};
  assert_int_equal(neo_rt_pool_create(2, &x.pool), NEO_OK);
  neo_rti_pool_run_or_alone(x.pool, run_inside, &x);
  assert_int_equal(x.inner, 1);
  neo_rti_pool_run_or_alone(x.pool, note_workers, &x.inner);
  assert_int_equal(x.inner, 2);
  neo_rt_pool_destroy(x.pool);
}

/* The sanitizer of threads does not follow a process that forks with some. */
static void a_pool_works_in_a_child_once_it_is_restarted(void **state) {
  (void)state;
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  neo_rt_pool *pool;
  int32_t n = 0, result = -1;
  assert_int_equal(neo_rt_pool_create(3, &pool), NEO_OK);
  neo_rti_pool_run(pool, note_workers, &n);
  usleep(5000); /* workers sleep: the child has a count of sleepers that are not there */
  pid_t child = fork();
  if (child == 0) {
    neo_rt_pool_restart(pool);
    n = 0;
    neo_rti_pool_run(pool, note_workers, &n);
    neo_rt_pool_destroy(pool);
    _exit(n == 3 ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
  neo_rt_pool_destroy(pool);
}

static void bad_numbers_of_threads_are_refused(void **state) {
  (void)state;
  neo_rt_pool *pool;
  assert_int_equal(neo_rt_pool_create(-1, &pool), NEO_ARGUMENT);
  assert_null(pool);
  assert_int_equal(neo_rt_pool_create(100000, &pool), NEO_ARGUMENT);
  assert_int_equal(neo_rt_pool_create(1, NULL), NEO_NULL);
  assert_int_equal(neo_rt_pool_create(0, &pool), NEO_OK);
  assert_true(neo_rt_pool_threads(pool) >= 1);
  neo_rt_pool_destroy(pool);
  neo_rt_pool_destroy(NULL);
  neo_alloc_fault fault = {.fail_at = 1, .forever = 1};
  assert_int_equal(neo_rti_pool_create(2, neo_alloc_with_fault(&fault), &pool), NEO_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_workers_meet_at_every_barrier),
      cmocka_unit_test(a_region_runs_once_on_every_worker_also_after_sleep),
      cmocka_unit_test(regions_of_several_threads_take_turns),
      cmocka_unit_test(who_finds_the_pool_busy_computes_alone_if_it_may),
      cmocka_unit_test(a_pool_works_in_a_child_once_it_is_restarted),
      cmocka_unit_test(bad_numbers_of_threads_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

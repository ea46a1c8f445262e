/* The thread with a large stack stands in for its caller: depth, results, signals. */
#include "base/deep.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* 40,000 frames of 1 KiB. */
static int descend(int n) {
  volatile char frame[1024];
  memset((void *)(uintptr_t)frame, n & 63, sizeof frame);
  return n ? descend(n - 1) + (frame[n % 1024] == (n & 63)) : 0;
}

static void take_depth(void *ctx) {
  *(int *)ctx = descend(40000);
}

static void recursion_of_forty_megabytes_returns(void **state) {
  int n = 0;
  (void)state;
  neo_deep_run(take_depth, &n);
  assert_int_equal(n, 40000);
}

static void run_within(void *ctx) {
  neo_deep_run(take_depth, ctx);
}

static void a_run_within_a_run_returns(void **state) {
  int n = 0;
  (void)state;
  neo_deep_run(run_within, &n);
  assert_int_equal(n, 40000);
}

static void block_and_kill(void *ctx) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  kill(getpid(), SIGTERM); /* ends the process where any thread would take it */
  sigpending(&set);
  *(bool *)ctx = sigismember(&set, SIGTERM) == 1;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  if (*(bool *)ctx)
    sigwaitinfo(&set, NULL);
}

static void a_signal_that_the_function_blocks_waits_for_it(void **state) {
  bool waits = false;
  (void)state;
  neo_deep_run(block_and_kill, &waits);
  assert_true(waits);
}

static volatile sig_atomic_t seen;

static void on_signal(int sig) {
  seen = sig;
}

static void kill_own(void *ctx) {
  sigset_t now;
  kill(getpid(), SIGUSR1); /* delivered before kill returns: no other thread takes it */
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  *(bool *)ctx = seen == SIGUSR1 && sigismember(&now, SIGUSR2) == 1;
}

static void the_function_has_its_caller_s_signals(void **state) {
  bool good = false;
  sigset_t set, before, after;
  struct sigaction action = {.sa_handler = on_signal};
  (void)state;
  sigaction(SIGUSR1, &action, NULL);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  neo_deep_run(kill_own, &good);
  pthread_sigmask(SIG_SETMASK, &before, &after);
  assert_true(good);
  assert_int_equal(sigismember(&after, SIGUSR2), 1);
  assert_int_equal(sigismember(&after, SIGTERM), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recursion_of_forty_megabytes_returns),
      cmocka_unit_test(a_run_within_a_run_returns),
      cmocka_unit_test(a_signal_that_the_function_blocks_waits_for_it),
      cmocka_unit_test(the_function_has_its_caller_s_signals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The program neoc as a function of another one. */
#include "tests/embed/embed.h"
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_TEXT = 1 << 16 };

/* Runs a command with stdout and stderr in a file; its text goes to `said`. */
static int32_t run(char said[MOST_TEXT], const char *const *argv) {
  int argc = 0;
  while (argv[argc])
    argc++;
  fflush(NULL);
  int out = dup(1), err = dup(2), file = open("command.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2);
  int32_t code = neo_command(argc, argv);
  fflush(NULL);
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  ssize_t n = pread(file, said, MOST_TEXT - 1, 0);
  said[n > 0 ? n : 0] = 0;
  close(file);
  unlink("command.txt");
  return code;
}

static void write_model(const char *text) {
  FILE *f = fopen("m.expr", "w");
  CHECK(f);
  fputs(text, f);
  fclose(f);
}

static void commands_print_and_return_their_exit_code(void **state) {
  static char said[MOST_TEXT];
  (void)state;
  write_model("input X[3]\nY[i] = 2*X[i]\noutput Y\n");
  const char *const version[] = {"neoc", "version", NULL};
  assert_int_equal(run(said, version), 0);
  assert_non_null(strstr(said, neo_version()));
  const char *const compute[] = {"neoc", "run", "m.expr", "X=[1,2,3]", NULL};
  assert_int_equal(run(said, compute), 0);
  assert_non_null(strstr(said, "6"));
  const char *const check[] = {"neoc", "check", "m.expr", NULL};
  assert_int_equal(run(said, check), 0);
  assert_string_equal(said, "m.expr: ok\n");
  const char *const help[] = {"neoc", "compile", "--help", NULL};
  assert_int_equal(run(said, help), 0);
  assert_non_null(strstr(said, "--emit"));
  const char *const cache[] = {"neoc", "cache", "nonsense", NULL};
  assert_int_equal(run(said, cache), 2);
  unlink("m.expr");
}

static void failures_are_told_as_by_the_program(void **state) {
  static char said[MOST_TEXT];
  (void)state;
  write_model("Y[i] = Q[i]\noutput Y\n");
  const char *const unknown[] = {"neoc", "compil", NULL};
  assert_int_equal(run(said, unknown), 2);
  assert_non_null(strstr(said, "did you mean compile?"));
  const char *const bad[] = {"neoc", "check", "m.expr", NULL};
  assert_int_equal(run(said, bad), 1);
  assert_non_null(strstr(said, "m.expr:1:8: error[E"));
  const char *const missing[] = {"neoc", "explain", "none.expr", NULL};
  assert_int_equal(run(said, missing), 3);
  const char *const lacks[] = {"neoc", "check", "m.expr", "-D", NULL};
  assert_int_equal(run(said, lacks), 2);
  assert_non_null(strstr(said, "option '-D' needs a value"));
  unlink("m.expr");
}

static void the_callers_signals_stay(void **state) {
  static char said[MOST_TEXT];
  struct sigaction before[NSIG], after;
  sigset_t mask, now;
  (void)state;
  write_model("input X[3]\nY[i] = 2*X[i]\noutput Y\n");
  for (int k = 1; k < NSIG; k++)
    sigaction(k, NULL, &before[k]);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  const char *const verify[] = {"neoc", "verify", "m.expr", NULL};
  assert_int_equal(run(said, verify), 0);
  for (int k = 1; k < NSIG; k++)
    if (sigaction(k, NULL, &after) == 0)
      assert_true(after.sa_handler == before[k].sa_handler);
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  for (int k = 1; k < NSIG; k++)
    assert_int_equal(sigismember(&now, k), sigismember(&mask, k));
  unlink("m.expr");
}

int main(void) {
  char folder[] = "/tmp/neo_command_XXXXXX";
  CHECK(mkdtemp(folder) && chdir(folder) == 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(commands_print_and_return_their_exit_code),
      cmocka_unit_test(failures_are_told_as_by_the_program),
      cmocka_unit_test(the_callers_signals_stay),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  CHECK(chdir("/") == 0 && rmdir(folder) == 0);
  return failed;
}

/* See guard.h. No thread exists yet when the child is made, so forking is safe. */
#include "tools/neoc/guard.h"
#include "ir/print.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool compiles(const neoc_cli *cli) {
  static const char *const names[] = {"compile", "check",   "run",      "train", "grad-check",
                                      "verify",  "explain", "describe", "tune",  NULL};
  for (int k = 0; names[k]; k++)
    if (neo_streq(cli->command->name, names[k]))
      return true;
  return false;
}

/* ---- waiting */

/* Waits for the child; a signal that was sent to this process alone goes to the child too (one from
 * the terminal has reached both). */
static int wait_for(pid_t child, const sigset_t *set) {
  int status = 0;
  for (;;) {
    siginfo_t info;
    int sig = sigwaitinfo(set, &info);
    if (sig > 0 && sig != SIGCHLD && info.si_code <= 0)
      kill(child, sig);
    pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR))
      return status;
  }
}

static neoc_exit died(neoc_cli *cli, int sig) {
  if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGPIPE)
    return NEOC_INTERRUPTED;
  if (sig == SIGKILL)
    return neoc_fail(
        cli, NEOC_DEVICE,
        "killed, perhaps because the machine has no memory left: each round of a `repeat` is "
        "definitions of its own, so fewer rounds need less (-D NAME=N)");
  const char *file = neoc_reproducer(cli, strsignal(sig));
  neoc_fail(cli, NEOC_INTERNAL, "internal error: %s", strsignal(sig));
  if (file)
    fprintf(stderr, "The program that it was working on is in %s\n", file);
  return NEOC_INTERNAL;
}

neoc_exit neoc_guard(neoc_cli *cli) {
  sigset_t set, before;
  const char *off = getenv("NEOC_NO_GUARD");
  if (!compiles(cli) || (off && *off))
    return cli->command->run(cli);
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, &before);
  fflush(NULL);
  pid_t child = fork();
  if (child <= 0)
    sigprocmask(SIG_SETMASK, &before, NULL);
  if (child == 0)
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (child <= 0)
    return cli->command->run(cli); /* no process left: without the guard then */
  int status = wait_for(child, &set);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return WIFEXITED(status) ? (neoc_exit)WEXITSTATUS(status) : died(cli, WTERMSIG(status));
}

/* ---- reproducer */

static int write_reproducer(neoc_cli *cli, const char *path, const char *why) {
  neo_compile_options o;
  neo_compilation c;
  neo_str text;
  if (cli->n_args < 1 || neoc_compile_options(cli, cli->args[0], &o))
    return 1;
  neo_compilation_init(&c, &o);
  if (neo_compile_front(&c))
    return 1;
  neo_str_init(&text, cli->arena);
  neo_module_print(c.module, &text);
  neo_str_addf(&text, "# neoc %s %s: %s\n# passes:", NEO_VERSION, cli->command->name, why);
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  for (size_t k = 0; k < n; k++)
    neo_str_addf(&text, " %s", p[k].name);
  neo_str_add(&text, "\n# skipped:");
  for (const char *const *s = o.passes.skip; *s; s++)
    neo_str_addf(&text, " %s", *s);
  neo_str_add(&text, "\n");
  return neo_file_write(&neo_io_default, path, neo_str_text(&text), text.n) ? 1 : 0;
}

const char *neoc_reproducer(neoc_cli *cli, const char *why) {
  const char *folder = getenv("TMPDIR");
  const char *path = neo_arena_printf(cli->arena, "%s/neoc-%d.ir",
                                      folder && *folder ? folder : "/tmp", (int)getpid());
  fflush(NULL);
  pid_t child = fork();
  if (child == 0)
    _exit(write_reproducer(cli, path, why));
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    return NULL;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return path;
  return cli->n_args ? cli->args[0] : NULL;
}

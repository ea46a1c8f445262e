/* See guard.h. No thread exists yet when the child is made, so forking is safe. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "tools/neoc/cli/guard.h"
#include "base/deep.h"
#include "base/temp.h"
#include "tools/neoc/cli/memory.h"
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

/* What ends at once leaves its temporary files: where it writes, and in the folder for these. */
static void sweep(const neoc_cli *cli) {
  neo_temp_sweep(neoc_text(cli, NEOC_O_OUTPUT, "."));
  neo_temp_sweep(NULL);
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

typedef struct {
  neoc_cli *cli;
  neoc_exit exit;
} command_call;

/* The jump out of an allocation that fails must end on the thread that it began on. */
static void run_command(void *ctx) {
  command_call *c = ctx;
  neo_arena *a = c->cli->arena;
  jmp_buf out_of_memory, *before = a->on_fail;
  neoc_memory_guard();
  a->on_fail = &out_of_memory;
  if (setjmp(out_of_memory)) {
    fprintf(stderr, "neoc: out of memory\n");
    c->exit = NEOC_DEVICE;
  } else {
    c->exit = c->cli->command->run(c->cli);
  }
  a->on_fail = before;
}

/* Passes, the interpreter and the printers recurse as deep as a program is long. */
static neoc_exit run_deep(neoc_cli *cli) {
  command_call c = {cli, NEOC_OK};
  neo_deep_run(run_command, &c);
  return c.exit;
}

neoc_exit neoc_guard(neoc_cli *cli) {
  sigset_t set, before;
  const char *off = secure_getenv("NEOC_NO_GUARD");
  if (!compiles(cli))
    return cli->command->run(cli);
  if (off && *off)
    return run_deep(cli);
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
    return run_deep(cli); /* no process left: without the guard then */
  int status = wait_for(child, &set);
  sigprocmask(SIG_SETMASK, &before, NULL);
  bool ended = WIFEXITED(status);
  if (!ended || WEXITSTATUS(status) == NEOC_DEVICE)
    sweep(cli);
  return ended ? (neoc_exit)WEXITSTATUS(status) : died(cli, WTERMSIG(status));
}

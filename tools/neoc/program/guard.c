/* See guard.h. No thread exists yet when the child is made, so forking is safe. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "tools/neoc/program/guard.h"
#include "base/temp.h"
#include "codegen/llvm/emit.h"
#include "tools/neoc/commands.h"
#include "tools/neoc/neoc.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Removes the temporary files of a child that was killed: in the output folder, and in the folder
 * for such files. */
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
        "killed, perhaps because the machine has no memory left: each iteration of a `repeat` has "
        "its own definitions, so fewer iterations need less (-D NAME=N)");
  const char *file = neoc_reproducer(cli, strsignal(sig));
  neoc_fail(cli, NEOC_INTERNAL, "internal error: %s", strsignal(sig));
  if (file)
    fprintf(stderr, "The program that it was working on is in %s\n", file);
  return NEOC_INTERNAL;
}

/* ---- the end of memory inside of a library. The compiler's own code returns NEO_MEMORY
 * (base/arena.h); LLVM, C++ and GMP (isl's numbers) would abort. */

/* Prints the message and exits. Several threads may call this: the lock is never released, so that
 * only one prints. */
static _Noreturn void no_memory(void) {
  static const char text[] =
      "neoc: out of memory: each iteration of a `repeat` has its own definitions, so fewer "
      "iterations need less (-D NAME=N)\n";
  flockfile(stderr);
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written; /* a failure to write cannot be reported */
  _exit(NEOC_DEVICE);
}

static void ended(void) {
  no_memory();
}

static void *allocate(size_t size_bytes) {
  void *p = malloc(size_bytes);
  if (!p)
    no_memory();
  return p;
}

static void *reallocate(void *p, size_t old_bytes, size_t size_bytes) {
  (void)old_bytes;
  void *wider = realloc(p, size_bytes);
  if (!wider)
    no_memory();
  return wider;
}

static void release(void *p, size_t size_bytes) {
  (void)size_bytes;
  free(p);
}

/* isl may have been built without GMP, and we do not link it ourselves. */
static void guard_gmp(void) {
  void (*set)(void *(*)(size_t), void *(*)(void *, size_t, size_t), void (*)(void *, size_t));
  void *symbol = dlsym(RTLD_DEFAULT, "__gmp_set_memory_functions");
  memcpy(&set, &symbol, sizeof set);
  if (symbol)
    set(allocate, reallocate, release);
}

/* From now on such an end prints a sentence on stderr and exits with NEOC_DEVICE. For a process
 * whose parent removes its temporary files. */
static void memory_guard(void) {
  neo_llvm_on_no_memory(ended);
  guard_gmp();
}

static neoc_exit run(neoc_cli *cli) {
  memory_guard();
  return neoc_command_run(cli);
}

neoc_exit neoc_guard(neoc_cli *cli) {
  sigset_t set, before;
  const char *off = secure_getenv("NEOC_NO_GUARD");
  if (off && *off)
    return run(cli);
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
    return run(cli); /* no process is available: run without the guard */
  int status = wait_for(child, &set);
  sigprocmask(SIG_SETMASK, &before, NULL);
  bool ended = WIFEXITED(status);
  if (!ended || WEXITSTATUS(status) == NEOC_DEVICE)
    sweep(cli);
  return ended ? (neoc_exit)WEXITSTATUS(status) : died(cli, WTERMSIG(status));
}

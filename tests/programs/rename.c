/* A rename that fails, or in which the process is killed, at the n-th call: preloaded by tests/test_cli_files.sh.
 * RENAME_FAILS=n, RENAME_KILLS=n; calls are counted from 1, in each process. */
#define _GNU_SOURCE 1 /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int asked(const char *variable) {
  const char *text = getenv(variable);
  return text ? atoi(text) : 0;
}

int rename(const char *from, const char *to) {
  static int calls;
  int (*real)(const char *, const char *);
  *(void **)&real = dlsym(RTLD_NEXT, "rename");
  calls++;
  if (calls == asked("RENAME_KILLS"))
    raise(SIGKILL);
  if (calls == asked("RENAME_FAILS")) {
    errno = EACCES;
    return -1;
  }
  return real(from, to);
}

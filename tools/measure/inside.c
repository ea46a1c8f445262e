/* Functions for both kinds of children, which leave their parent's descriptors and process group
 * and talk to it through two pipes. */
#define _GNU_SOURCE 1 /* close_range */
#include "tools/measure/measure.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  TO_PARENT = MEASURE_TO_PARENT,
  FROM_PARENT = MEASURE_FROM_PARENT,
  FIRST_FREE,
  MOST_DESCRIPTORS = 64
};

void measure_child_tell(const measure_message *m) {
  const char *p = (const char *)m;
  for (size_t n = sizeof *m; n;) {
    ssize_t done = write(TO_PARENT, p, n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      _exit(1);
    p += done, n -= (size_t)done;
  }
}

void measure_child_fail(measure_message *m, const char *why) {
  m->kind = MEASURE_FAIL;
  snprintf(m->why, sizeof m->why, "%s", why);
  measure_child_tell(m);
  _exit(0);
}

double measure_child_permission(void) {
  double share;
  ssize_t n;
  while ((n = read(FROM_PARENT, &share, sizeof share)) < 0 && errno == EINTR)
    ;
  if (n != sizeof share)
    _exit(0);
  return share > 0 ? share : 1;
}

static void close_all(int in, int out) {
  int null = open("/dev/null", O_RDWR);
  int to = fcntl(out, F_DUPFD, 100),
      from = fcntl(in, F_DUPFD, 100); /* so that they do not overwrite each other */
  for (int fd = 0; fd < 3; fd++)
    dup2(null, fd);
  dup2(to, TO_PARENT);
  dup2(from, FROM_PARENT);
#ifdef __NR_close_range
  if (syscall(__NR_close_range, FIRST_FREE, ~0U, 0) == 0)
    return;
#endif
  for (int fd = FIRST_FREE; fd < 1024; fd++)
    close(fd);
}

/* A crash ends the child at once, without signal handlers that it inherited. */
static void die_plainly(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
  for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
    signal(signals[k], SIG_DFL);
}

void measure_child_begin(int in, int out) {
  setpgid(0, 0);
  die_plainly();
  close_all(in, out);
}

bool measure_child_leaks(void) {
  for (int fd = FIRST_FREE; fd < MOST_DESCRIPTORS; fd++)
    if (fcntl(fd, F_GETFD) >= 0)
      return true;
  return false;
}

/* Ends a child with all its processes. Its process group is killed; processes that left the group
 * are found among our children, since we are the reaper of orphans. */
#include "tools/measure/measure.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void kill_children(void) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *f = fopen(path, "r");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f)
    fclose(f);
  text[n] = 0;
  for (char *p = text; *p;) {
    long pid = strtol(p, &p, 10);
    if (pid > 1)
      kill((pid_t)pid, SIGKILL);
    p += strspn(p, " \n");
    if (pid == 0)
      break;
  }
}

/* Returns the wait status of the child itself. */
static int end_all(pid_t pid) {
  int status = 0, one;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  for (int tries = 0; tries < 10000; tries++) {
    pid_t other = waitpid(-1, &one, WNOHANG);
    if (other < 0)
      break;
    if (other == 0) {
      kill_children();
      usleep(100);
    }
  }
  return status;
}

int measure_process_end(measure_process *p) {
  int status = 0;
  if (p->pid) {
    status = end_all(p->pid);
    close(p->from), close(p->to);
  }
  *p = (measure_process){0};
  return status;
}

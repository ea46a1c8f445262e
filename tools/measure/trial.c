/* One child, from its making to the last of its processes. Whatever it does, it is over when its
 * time is: its process group is killed, and what may have left the group is found among our
 * children, whose orphans come to us. */
#include "tools/measure/measure.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  measure_job *j;
  measure_mode mode;
  pid_t pid;
  int from, to; /* pipes: its messages, our permission */
  double deadline_ns;
  double share[2]; /* of the answers: the candidate's, the base's */
  measure_result *r;
} trial;

static bool say_why(measure_result *r, const char *why) {
  r->ok = false;
  snprintf(r->why, sizeof r->why, "%s", why);
  return false;
}

/* ---- messages */

typedef enum { GOT, ENDED, LATE } arrival;

static arrival receive(trial *t, measure_message *m) {
  char *p = (char *)m;
  size_t n = 0;
  while (n < sizeof *m) {
    double left_ms = (t->deadline_ns - measure_wall_ns()) / 1e6;
    struct pollfd fd = {t->from, POLLIN, 0};
    if (left_ms <= 0)
      return LATE;
    int ready = poll(&fd, 1, (int)left_ms + 1);
    if (ready < 0 && errno != EINTR)
      return ENDED;
    if (ready <= 0)
      continue;
    ssize_t got = read(t->from, p + n, sizeof *m - n);
    if (got <= 0 && errno != EINTR)
      return ENDED;
    n += got > 0 ? (size_t)got : 0;
  }
  return GOT;
}

/* ---- the end */

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
static int end_all(trial *t) {
  int status = 0, one;
  kill(-t->pid, SIGKILL);
  kill(t->pid, SIGKILL);
  while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
    ;
  for (int tries = 0; tries < 10000; tries++) {
    pid_t pid = waitpid(-1, &one, WNOHANG);
    if (pid < 0)
      break;
    if (pid == 0) {
      kill_children();
      usleep(100);
    }
  }
  return status;
}

static int end(trial *t) {
  int status = end_all(t);
  close(t->from), close(t->to);
  if (t->pid == t->j->process.pid)
    t->j->process = (measure_process){0};
  return status;
}

void measure_process_end(measure_process *p) {
  measure_job j = {.process = *p};
  trial t = {.j = &j, .pid = p->pid, .from = p->from, .to = p->to};
  if (p->pid)
    end(&t);
  *p = (measure_process){0};
}

/* Why it ended without telling. */
static void name_death(measure_result *r, int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
    say_why(r, "a system call that no kernel needs");
  else if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
    say_why(r, "over its time");
  else if (WIFSIGNALED(status))
    snprintf(r->why, sizeof r->why, "%s", strsignal(WTERMSIG(status)));
  else
    say_why(r, "ended before it was done");
}

/* ---- one child */

static bool start(trial *t, const measure_kernel *k, const measure_kernel *base) {
  int out[2], in[2];
  if (pipe(out))
    return false;
  if (pipe(in)) {
    close(out[0]), close(out[1]);
    return false;
  }
  t->pid = fork();
  if (t->pid < 0) {
    close(out[0]), close(out[1]), close(in[0]), close(in[1]);
    return false;
  }
  if (t->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (k->block)
      measure_gpu_child(t->j, in[0], out[1]);
    measure_child(t->j, t->mode, k, base, in[0], out[1]);
  }
  close(out[1]), close(in[0]);
  t->from = out[0], t->to = in[1];
  setpgid(t->pid, t->pid); /* here too: whoever is first */
  return true;
}

/* A GPU's child is there already, or is started; it is asked. */
static bool start_or_ask(trial *t, const measure_kernel *k, const measure_kernel *base) {
  measure_process *p = &t->j->process;
  measure_request ask = {.mode = t->mode, .kernel = *k, .base = *base};
  if (!k->block)
    return start(t, k, base);
  if (p->pid)
    t->pid = p->pid, t->from = p->from, t->to = p->to;
  else if (!start(t, k, base))
    return false;
  *p = (measure_process){t->pid, t->from, t->to};
  return write(t->to, &ask, sizeof ask) == sizeof ask;
}

static void take_times(trial *t, measure_message *m) {
  measure_result *r = t->r;
  r->samples = m->n;
  r->ok = true;
  r->busy = m->busy;
  r->graph = m->graph;
  r->share = t->share[0];
  if (!m->n)
    return;
  for (int k = 0; k < m->n; k++) {
    m->sample_ns[0][k] /= t->share[0];
    m->sample_ns[1][k] = m->sample_ns[0][k] / (m->sample_ns[1][k] / t->share[1]);
  }
  r->ns = measure_median(m->sample_ns[0], m->n);
  r->ratio = t->mode >= MEASURE_TRY ? measure_median(m->sample_ns[1], m->n) : 1;
}

typedef struct {
  bool of[2], whole; /* answers that were right: of whom; one was the candidate's, of all units */
} verdicts;

/* Each kernel answers once; after that it has its time again, to be measured in. */
static bool judge(trial *t, const measure_message *m, verdicts *v) {
  if (m->which < 0 || m->which > 1 || v->of[m->which])
    return say_why(t->r, "nonsense on the pipe");
  if (!measure_answer_right(t->j, t->mode, m->whole, &t->share[m->which], t->r->why))
    return false;
  v->of[m->which] = true;
  v->whole = v->whole || (m->whole && m->which == 0);
  t->deadline_ns = measure_wall_ns() + (double)t->j->wall_ms * 1e6;
  return write(t->to, &t->share[m->which], sizeof *t->share) == sizeof *t->share ||
         say_why(t->r, "gone before its time");
}

/* Times count once all answers were right. */
static bool complete(const trial *t, const verdicts *v, const measure_message *m) {
  return m->kind == MEASURE_TIMES && v->of[0] && (t->mode < MEASURE_TRY || v->of[1]) &&
         (t->mode != MEASURE_RACE || v->whole) && m->n >= 0 && m->n <= MEASURE_MAX_SAMPLES;
}

static bool listen(trial *t, arrival *last) {
  measure_message m;
  verdicts v = {{false, false}, false};
  for (;;) {
    *last = receive(t, &m);
    if (*last != GOT)
      return false;
    m.why[sizeof m.why - 1] = 0;
    if (m.kind == MEASURE_FAIL)
      return say_why(t->r, m.why);
    if (complete(t, &v, &m)) {
      take_times(t, &m);
      return true;
    }
    if (m.kind != MEASURE_ANSWER)
      return say_why(t->r, "nonsense on the pipe");
    if (!judge(t, &m, &v))
      return false;
  }
}

measure_result measure_trial(measure_job *j, measure_mode mode, const measure_kernel *k,
                             const measure_kernel *base) {
  measure_result r = {0};
  trial t = {.j = j, .mode = mode, .share = {1, 1}, .r = &r};
  arrival last = GOT;
  measure_answers_reset(j);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  t.deadline_ns = measure_wall_ns() + (double)j->wall_ms * 1e6;
  if (!start_or_ask(&t, k, base)) {
    say_why(&r, strerror(errno));
    measure_process_end(&j->process);
    return r;
  }
  r.ok = listen(&t, &last);
  int status = 0;
  if (!r.ok || !k->block)
    status = end(&t);
  if (!r.ok && last == LATE)
    say_why(&r, "over its time");
  else if (!r.ok && !r.why[0])
    name_death(&r, status);
  if (r.ok && (mode == MEASURE_PLAIN || mode == MEASURE_BASE))
    r.finite = measure_answer_keep(j, mode);
  return r;
}

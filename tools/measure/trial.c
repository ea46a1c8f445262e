/* The life of one child, from its start to its end. Whatever the child does, it ends when its time
 * is over. */
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
  measure_process process;
  bool shared; /* the process serves the whole job: a GPU's */
  double deadline_ns;
  double share[2]; /* shares of the answers: the candidate's, the base's */
  measure_result *r;
} trial;

static bool reject(measure_result *r, measure_reason reason, const char *why) {
  r->ok = false;
  r->reason = reason;
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
    struct pollfd fd = {t->process.from, POLLIN, 0};
    if (left_ms <= 0)
      return LATE;
    int ready = poll(&fd, 1, (int)left_ms + 1);
    if (ready < 0 && errno != EINTR)
      return ENDED;
    if (ready <= 0)
      continue;
    ssize_t got = read(t->process.from, p + n, sizeof *m - n);
    if (got <= 0 && errno != EINTR)
      return ENDED;
    n += got > 0 ? (size_t)got : 0;
  }
  return GOT;
}

/* ---- the end */

static int end(trial *t) {
  int status = measure_process_end(&t->process);
  if (t->shared)
    t->j->process = t->process;
  return status;
}

/* Derives why the child ended from its wait status. */
static void name_death(measure_result *r, int status) {
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (number == SIGXCPU || number == SIGKILL)
    reject(r, MEASURE_REASON_LATE, "over its time");
  else if (number == SIGSYS)
    reject(r, MEASURE_REASON_DIED, "a system call that no kernel needs");
  else
    reject(r, MEASURE_REASON_DIED, number ? strsignal(number) : "ended before it was done");
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
  pid_t pid = fork();
  if (pid < 0) {
    close(out[0]), close(out[1]), close(in[0]), close(in[1]);
    return false;
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (k->block)
      measure_gpu_child(t->j, in[0], out[1]);
    measure_child(t->j, t->mode, k, base, in[0], out[1]);
  }
  close(out[1]), close(in[0]);
  t->process = (measure_process){pid, out[0], in[1]};
  setpgid(pid, pid); /* parent and child both set it, to avoid a race */
  return true;
}

/* Asks the GPU's child, which is started if it does not run yet. */
static bool start_or_ask(trial *t, const measure_kernel *k, const measure_kernel *base) {
  measure_request ask = {.mode = t->mode, .kernel = *k, .base = *base};
  if (!k->block)
    return start(t, k, base);
  t->shared = true;
  t->process = t->j->process;
  if (!t->process.pid && !start(t, k, base))
    return false;
  t->j->process = t->process;
  return write(t->process.to, &ask, sizeof ask) == sizeof ask;
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
  bool of[2], whole; /* by kernel: its answer was right; the candidate's answer was of all units */
} verdicts;

/* Checks an answer. Each kernel answers once; then it gets its time again for the measurement. */
static bool judge(trial *t, const measure_message *m, verdicts *v) {
  if (m->which < 0 || m->which > 1 || v->of[m->which])
    return reject(t->r, MEASURE_REASON_FAILED, "nonsense on the pipe");
  t->r->reason = measure_answer_check(t->j, t->mode, m->whole, &t->share[m->which], t->r->why);
  if (t->r->reason)
    return false;
  v->of[m->which] = true;
  v->whole = v->whole || (m->whole && m->which == 0);
  t->deadline_ns = measure_wall_ns() + (double)t->j->wall_ms * 1e6;
  return write(t->process.to, &t->share[m->which], sizeof *t->share) == sizeof *t->share ||
         reject(t->r, MEASURE_REASON_DIED, "gone before its time");
}

/* Times are valid only if all answers were right. */
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
      return reject(t->r, MEASURE_REASON_FAILED, m.why);
    if (complete(t, &v, &m)) {
      take_times(t, &m);
      return true;
    }
    if (m.kind != MEASURE_ANSWER)
      return reject(t->r, MEASURE_REASON_FAILED, "nonsense on the pipe");
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
    reject(&r, MEASURE_REASON_FAILED, strerror(errno));
    end(&t);
    return r;
  }
  r.ok = listen(&t, &last);
  int status = 0;
  if (!r.ok || !k->block)
    status = end(&t);
  if (!r.ok && last == LATE)
    reject(&r, MEASURE_REASON_LATE, "over its time");
  else if (!r.ok && !r.why[0])
    name_death(&r, status);
  if (r.ok && (mode == MEASURE_PLAIN || mode == MEASURE_BASE))
    r.finite = measure_answer_store(j, mode);
  return r;
}

/* The life of one child, from its start to its end. Whatever the child does, it ends when its time
 * is over. */
#include "runtime/element.h"
#include "tools/measure/measure.h"
#include <errno.h>
#include <math.h>
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

/* ---- Compares answers. Sums may be added in any order, so right answers differ by rounding: by
 * rtol of their own magnitude or of the root mean square of their tensor. NaN is right where NaN
 * is expected. Unwritten elements are right only where some units did not run. */

enum { CHUNK = 512 };

typedef struct {
  const measure_buf *b;
  int number;
  const char *want;
  double scale;
  bool whole; /* all expected elements have to be written */
  int64_t wrong;
  bool some_written, some_expected;
  char *why;
} comparison;

static bool close_to(double x, double y, const measure_buf *b, double scale) {
  if (x == y || (isnan(x) && isnan(y)))
    return true;
  return fabs(x - y) <= b->rtol * (fabs(y) + scale) + b->atol;
}

static void complain(comparison *c, int64_t at, double got, double want, const char *what) {
  if (!c->wrong++)
    snprintf(c->why, 256, "wrong answer: buffer %d[%lld] is %.9g%s, expected %.9g", c->number,
             (long long)at, got, what, want);
}

static void compare_each(comparison *c, int64_t at, int64_t n, const double *x, const double *y) {
  for (int64_t k = 0; k < n; k++) {
    bool none = measure_unwritten(c->b, c->b->answer, at + k, 1);
    bool nothing = measure_unwritten(c->b, c->want, at + k, 1);
    if (close_to(x[k], y[k], c->b, c->scale) || (none && !c->whole))
      continue;
    complain(c, at + k, x[k], y[k], none ? " (not written)" : nothing ? " (not its to write)" : "");
  }
}

/* Most chunks are right as a whole, so that single elements need no look. */
static void compare_chunk(comparison *c, int64_t at, int64_t n) {
  size_t size = neo_rti_type_bytes(c->b->type), bytes = (size_t)n * size;
  const char *got = c->b->answer + (size_t)at * size, *want = c->want + (size_t)at * size;
  double x[CHUNK], y[CHUNK], rtol = c->b->rtol, atol = c->b->atol;
  bool nothing = measure_unwritten(c->b, c->want, at, n);
  bool none = measure_unwritten(c->b, c->b->answer, at, n);
  c->some_written = c->some_written || !none;
  c->some_expected = c->some_expected || !nothing;
  if ((none && (nothing || !c->whole)) || (!none && memcmp(got, want, bytes) == 0))
    return;
  neo_rti_convert(c->b->type, got, NEO_RT_F64, x, n);
  neo_rti_convert(c->b->type, want, NEO_RT_F64, y, n);
  bool good = !none && !nothing;
  for (int64_t k = 0; k < n; k++)
    good &= fabs(x[k] - y[k]) <= rtol * (fabs(y[k]) + c->scale) + atol;
  if (!good)
    compare_each(c, at, n, x, y);
}

static bool compare(comparison *c) {
  for (int64_t at = 0; at < c->b->n; at += CHUNK)
    compare_chunk(c, at, c->b->n - at < CHUNK ? c->b->n - at : CHUNK);
  if (c->some_expected && !c->some_written) {
    snprintf(c->why, 256, "wrong answer: nothing is written to buffer %d", c->number);
    return false;
  }
  return (double)c->wrong <= (c->b->rare > 0 ? 1 + c->b->rare * (double)c->b->n : 0);
}

/* Compares with the reference where that was computed; its gaps are filled with the answer. */
static measure_reason check_against_plain(const measure_buf *b, int number, char why[256]) {
  size_t size = neo_rti_type_bytes(b->type);
  char *want = malloc(b->bytes + 1);
  if (!want) {
    snprintf(why, 256, "out of memory");
    return MEASURE_REASON_FAILED;
  }
  memcpy(want, b->plain, b->bytes);
  for (int64_t k = 0; k < b->n; k++)
    if (measure_unwritten(b, want, k, 1))
      memcpy(want + (size_t)k * size, b->answer + (size_t)k * size, size);
  comparison c = {.b = b, .number = number, .want = want, .scale = b->scale, .why = why};
  bool good = compare(&c);
  free(want);
  return good ? MEASURE_REASON_NONE : MEASURE_REASON_WRONG;
}

/* How many elements were written. */
static double count_written(const measure_buf *b, const char *p) {
  int64_t n = 0;
  for (int64_t k = 0; k < b->n; k++)
    n += !measure_unwritten(b, p, k, 1);
  return (double)n;
}

static double share_written(const measure_job *j) {
  double got = 0, all = 0;
  for (int k = 0; k < j->n_bufs; k++)
    if (j->buf[k].write && j->buf[k].expected) {
      got += count_written(&j->buf[k], j->buf[k].answer);
      all += count_written(&j->buf[k], j->buf[k].expected);
    }
  return all > 0 && got > 0 ? got / all : 1;
}

static measure_reason answer_check(measure_job *j, measure_mode mode, bool whole, double *share,
                                   char why[256]) {
  for (int k = 0; k < j->n_bufs; k++) {
    measure_buf *b = &j->buf[k];
    if (!b->write || mode == MEASURE_PLAIN)
      continue;
    measure_reason r =
        mode == MEASURE_BASE && b->plain ? check_against_plain(b, k, why) : MEASURE_REASON_NONE;
    if (r)
      return r;
    comparison c = {
        .b = b, .number = k, .want = b->expected, .scale = b->scale, .whole = whole, .why = why};
    if (b->expected && !compare(&c))
      return MEASURE_REASON_WRONG;
  }
  *share = whole ? 1 : share_written(j);
  return MEASURE_REASON_NONE;
}

/* ---- storing the expected answer */

static double scale_of(const measure_buf *b, const char *p, int64_t *finite, int64_t *written) {
  size_t size = neo_rti_type_bytes(b->type);
  double sum = 0;
  int64_t n_finite = 0;
  for (int64_t at = 0; at < b->n; at++) {
    double x;
    if (measure_unwritten(b, p, at, 1))
      continue;
    neo_rti_convert(b->type, p + (size_t)at * size, NEO_RT_F64, &x, 1);
    *written += 1;
    if (!isfinite(x))
      continue;
    sum += x * x;
    n_finite++;
  }
  *finite += n_finite;
  return n_finite ? sqrt(sum / (double)n_finite) : 0;
}

/* Stores the answers as the reference or as the expected ones; returns the share of finite
 * elements. */
static double answer_store(measure_job *j, measure_mode mode) {
  int64_t finite = 0, written = 0;
  for (int k = 0; k < j->n_bufs; k++) {
    measure_buf *b = &j->buf[k];
    char **to = mode == MEASURE_PLAIN ? &b->plain : &b->expected;
    if (!b->write)
      continue;
    if (!*to)
      *to = malloc(b->bytes + 1);
    if (!*to)
      return 0;
    memcpy(*to, b->answer, b->bytes);
    double scale = scale_of(b, *to, &finite, &written);
    b->scale = isfinite(scale) ? scale : 0;
  }
  return written ? (double)finite / (double)written : 1;
}

/* Checks an answer. Each kernel answers once; then it gets its time again for the measurement. */
static bool judge(trial *t, const measure_message *m, verdicts *v) {
  if (m->which < 0 || m->which > 1 || v->of[m->which])
    return reject(t->r, MEASURE_REASON_FAILED, "nonsense on the pipe");
  t->r->reason = answer_check(t->j, t->mode, m->whole, &t->share[m->which], t->r->why);
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

/* Makes all answers those of a kernel that writes nothing. */
static void answers_reset(measure_job *j) {
  for (int k = 0; k < j->n_bufs; k++)
    if (j->buf[k].write)
      measure_forget(&j->buf[k], j->buf[k].answer);
}

measure_result measure_trial(measure_job *j, measure_mode mode, const measure_kernel *k,
                             const measure_kernel *base) {
  measure_result r = {0};
  trial t = {.j = j, .mode = mode, .share = {1, 1}, .r = &r};
  arrival last = GOT;
  answers_reset(j);
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
    r.finite = answer_store(j, mode);
  return r;
}

/* Compares answers. Sums may be added in any order, so right answers differ by rounding: by rtol of
 * their own magnitude or of the root mean square of their tensor. NaN is right where NaN is
 * expected. Unwritten elements are right only where some units did not run. */
#include "runtime/element.h"
#include "tools/measure/measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

measure_reason measure_answer_check(measure_job *j, measure_mode mode, bool whole, double *share,
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

double measure_answer_store(measure_job *j, measure_mode mode) {
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

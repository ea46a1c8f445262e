/* See expected.h. */
#include "tests/oracle/expected.h"
#include "base/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
uint64_t expected_hash(uint64_t a, uint64_t b) {
  uint64_t z = (a + 1) * 0x9e3779b97f4a7c15u + b * 0xd1342543de82ef95u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* ---- reading */

static char *word(char **at) {
  return strsep(at, " ");
}

static double number(char **at) {
  char *w = word(at), *end;
  assert_non_null(w);
  double x = strtod(w, &end);
  assert_true(end != w && !*end);
  return x;
}

static expected parse(neo_arena *a, char *text) {
  expected r = {.entry = word(&text), .name = word(&text)};
  if (text)
    r.n = (int64_t)number(&text);
  if (!text)
    return r;
  r.is_summed = text[0] == '~';
  if (r.is_summed)
    word(&text);
  int64_t n = r.is_summed ? EXPECTED_SUMS + 1 : r.n;
  r.x = NEO_NEW_ARRAY(a, double, (size_t)n + 1);
  for (int64_t k = 0; k < n; k++)
    r.x[k] = number(&text);
  assert_null(text);
  return r;
}

expected *expected_read(neo_arena *a, const char *path, size_t *n) {
  char *text, *line;
  size_t bytes;
  if (neo_file_read(&neo_io_default, a, path, 0, &text, &bytes))
    fail_msg("%s cannot be read", path);
  expected *r = NEO_NEW_ARRAY(a, expected, bytes / 5 + 1);
  for (*n = 0; (line = strsep(&text, "\n")) != NULL;)
    if (*line)
      r[(*n)++] = parse(a, line);
  return r;
}

/* ---- comparing */

static double norm(const double *x, int64_t n) {
  double s = 0;
  for (int64_t k = 0; k < n; k++)
    s += isfinite(x[k]) ? x[k] * x[k] : 0;
  return sqrt(s);
}

void expected_compare(const char *model, const char *what, const double *got, const double *want,
                      int64_t n, double tolerance, double floor_norm) {
  double error = 0;
  int64_t worst = 0;
  for (int64_t k = 0; k < n; k++) {
    bool same = got[k] == want[k] || (isnan(got[k]) && isnan(want[k]));
    double e = same ? 0 : fabs(got[k] - want[k]);
    if (!same && !(isfinite(got[k]) && isfinite(want[k])))
      fail_msg("%s: %s[%lld] is %g, not %g", model, what, (long long)k, got[k], want[k]);
    if (e > fabs(got[worst] - want[worst]))
      worst = k;
    error += e * e;
  }
  error = sqrt(error);
  if (error > tolerance * fmax(norm(want, n), floor_norm))
    fail_msg("%s: %s is off by %.3g where its norm is %.3g; element %lld is %.12g, not %.12g",
             model, what, error, norm(want, n), (long long)worst, got[worst], want[worst]);
}

static double signed_sum(const double *x, int64_t n, uint64_t which) {
  double s = 0;
  for (int64_t k = 0; k < n; k++)
    s += expected_hash((uint64_t)k, which) >> 63 ? -x[k] : x[k];
  return s;
}

static void compare_sums(const char *model, const char *what, const double *got, const expected *r,
                         double tolerance, double floor_norm) {
  double allowed = tolerance * fmax(r->x[0], floor_norm), off = fabs(norm(got, r->n) - r->x[0]);
  for (int k = 0; k < EXPECTED_SUMS; k++)
    off = fmax(off, fabs(signed_sum(got, r->n, (uint64_t)k) - r->x[k + 1]));
  if (!(off <= allowed))
    fail_msg("%s: %s is off by about %.3g where its norm is %.12g; it is %.12g", model, what, off,
             r->x[0], norm(got, r->n));
}

/* ---- following */

static bool is_step(const machine *m, const expected *r) {
  return machine_has(m, r->entry, NEO_ENTRY_TRAIN);
}

static bool is_kept(const expected *r) {
  return strcmp(r->entry, "after") == 0 || strcmp(r->entry, "now") == 0;
}

/* The lines from r on compare every output of their entry, or every parameter and state. */
static void check_complete(const machine *m, const char *model, const expected *r, size_t n,
                           uint32_t want) {
  uint32_t seen = 0;
  while (seen < n && strcmp(r[seen].entry, r->entry) == 0)
    seen++;
  if (seen != want && !is_step(m, r))
    fail_msg("%s: %u of %u tensors of %s are compared", model, (unsigned)seen, (unsigned)want,
             r->entry);
}

static uint32_t count_kept(const machine *m) {
  uint32_t n = 0;
  for (uint32_t t = 1; t < m->c.module->tensors.n; t++) {
    uint8_t role = m->c.module->tensors.at[t].role;
    n += role == NEO_ROLE_PARAM || role == NEO_ROLE_STATE;
  }
  return n;
}

static void compare_line(machine *m, const char *model, const expected *r, double tolerance,
                         double floor_norm) {
  int64_t n = -1;
  char what[256];
  snprintf(what, sizeof what, "%s %s", r->entry, r->name);
  const double *got = NULL;
  if (is_kept(r)) {
    neo_tensor t = neo_tensor_find(m->c.module, r->name);
    got = t.i ? machine_get(m, t, &n) : NULL;
  } else {
    got = machine_output(m, r->name, &n);
  }
  if (!got || n != r->n)
    fail_msg("%s: %s has %lld elements, expected %lld", model, what, (long long)n, (long long)r->n);
  if (r->is_summed)
    compare_sums(model, what, got, r, tolerance, floor_norm);
  else
    expected_compare(model, what, got, r->x, n, tolerance, floor_norm);
}

void expected_follow(machine *m, const char *model, const expected *r, size_t n, double tolerance,
                     double floor_norm) {
  const char *last = "";
  for (size_t k = 0; k < n; last = r[k++].entry) {
    bool again = strcmp(r[k].entry, last) != 0 || is_step(m, &r[k]);
    if (again && !is_kept(&r[k])) {
      machine_run(m, r[k].entry);
      check_complete(m, model, &r[k], n - k, machine_outputs(m));
    } else if (again && strcmp(r[k].entry, "after") == 0) {
      check_complete(m, model, &r[k], n - k, count_kept(m));
    }
    compare_line(m, model, &r[k], tolerance, floor_norm);
  }
}

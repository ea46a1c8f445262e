/* `neoc verify`: compiled code against the reference interpreter, for every entry, on random inputs
 * and several run-time sizes: the smallest, a prime, the largest, scaled down to the remaining
 * budget of elements and terms for the interpreter (about fifteen seconds in all; --full: none is
 * scaled down). The budget counts work, not time: the same seed gives the same sizes. The
 * interpreter bounds the rounding error of every element (ir/interp/interp.h); a larger error is a
 * failure.
 *
 * Such bounds are safe, hence wide, and infinite after a comparison that could fall either way. So
 * errors must also be below a thousandth of the tensor's largest element, except in one element of
 * a hundred. If terms cancel, as in gradients that are 0 but for rounding, the largest element does
 * not tell the size of the terms. So errors that fail this test are judged by the actual effect of
 * rounding: the interpreter runs twice more, with inputs and parameters moved by a few units of the
 * last place, and each sum by as much of the sum of its terms' sizes; errors that are not far
 * larger than the resulting changes are accepted. Each step of training starts from the compiled
 * code's state after the step before: an optimizer may go either way on a gradient that is 0 but
 * for rounding, and after that all values differ. */
#include "tools/neoc/verify/verify.h"
#include "base/clock.h"
#include <math.h>
#include <string.h>

enum { STEPS = 2, PRIME = 17, SIZES = 3, RARE = 100 };

static const double BUDGET = 2e8; /* most work: elements, and terms of reductions */

/* ---- comparing */

static double largest(const neo_rt_array *x) {
  double most = 0;
  for (int64_t k = 0, n = neoc_array_count(x); k < n; k++)
    if (isfinite(neoc_array_at(x, k)))
      most = fmax(most, fabs(neoc_array_at(x, k)));
  return most;
}

static void note_error(verifier *v, const char *what, double error, double bound) {
  if (error <= v->worst_error || isinf(bound))
    return;
  v->worst_error = error;
  v->worst_share = error / bound;
  v->worst = what;
}

static void compare(verifier *v, const char *what, const neo_rt_array *got,
                    const neo_rt_array *want, const double *bound) {
  suspicion s = {.what = what, .like = *got, .usual = 1e-3 * largest(want)};
  int64_t n = neoc_array_count(got), unusual = 0;
  for (int64_t k = 0; k < n; k++) {
    double x = neoc_array_at(got, k), y = neoc_array_at(want, k), b = bound ? bound[k] : 0;
    double error = fabs(x - y);
    if (neoc_array_same(got, want, k))
      continue;
    if (!neo_type_is_float((neo_type)got->type))
      error = fmax(error, 1); /* beyond 2^53 different integers may be one f64 */
    v->unbounded += isinf(b);
    if (isinf(b))
      v->loose_error = fmax(v->loose_error, error);
    if (!isinf(b) && !(error <= b))
      neoc_verify_complain(v, what, got, k, x, y, b);
    note_error(v, what, error, b);
    if (error <= s.usual)
      continue;
    unusual++;
    if (!(error <= s.error))
      s.at = k, s.got = x, s.want = y, s.error = error;
  }
  if (unusual > n / RARE && bound && !(n < RARE && isinf(bound[s.at])))
    NEO_PUSH(v->cli->arena, &v->suspicions, s);
}

static neoc_exit compare_kept(verifier *v) {
  neo_module *m = v->compiled.c.module;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    neo_tensor_rec rec = m->tensors.at[t];
    neo_tensor id = {t};
    neo_rt_array got, want;
    if (rec.role != NEO_ROLE_PARAM && rec.role != NEO_ROLE_STATE && rec.role != NEO_ROLE_SETTING)
      continue;
    neoc_exit e = neoc_runner_get(&v->compiled, id, &got);
    if (!e)
      e = neoc_runner_get(&v->reference, id, &want);
    if (e)
      return e;
    compare(v, neoc_tensor_name(&v->compiled, id), &got, &want,
            neo_interp_errors(v->reference.interp, id));
  }
  return NEOC_OK;
}

/* ---- one entry at one choice of sizes */

static neoc_exit run_both(verifier *v, int entry) {
  neoc_output *got, *want;
  size_t n;
  neo_module *m = v->compiled.c.module;
  neoc_exit e = neoc_runner_randomize(&v->compiled, entry, &v->state);
  if (!e)
    e = neoc_runner_run(&v->compiled, entry, &got, &n);
  if (!e)
    e = neoc_runner_run(&v->reference, entry, &want, &n);
  for (size_t k = 0; k < n && !e; k++) {
    neo_tensor t = {neo_list_at(m, m->entries.at[entry].outputs, (uint32_t)k)};
    compare(v, got[k].name, &got[k].array, &want[k].array,
            neo_interp_errors(v->reference.interp, t));
  }
  if (!e)
    e = compare_kept(v);
  return e;
}

/* ---- one check */

static void put_check(verifier *v, int entry, const bool *used, double seconds, int failed) {
  neo_module *m = v->compiled.c.module;
  printf("%-10s", neoc_entry_name(&v->compiled, entry));
  for (uint32_t k = 1; k < m->sizes.n; k++)
    if (used[k])
      printf(" %s=%lld", neo_name_text(m->names, m->sizes.at[k].name),
             (long long)v->compiled.sizes[k]);
  printf(": %s, largest error %.3g", failed ? "FAILED" : "ok", v->worst_error);
  if (v->worst)
    printf(" in %s (%.2g of what rounding may do)", v->worst, v->worst_share);
  if (v->unbounded)
    printf("; for %lld elements rounding has no bound, their largest error is %.3g",
           (long long)v->unbounded, v->loose_error);
  printf(", %.2f s\n", seconds);
}

/* The work that a check may use: an equal part of the remaining budget. */
static double allowed(const verifier *v) {
  double rest = BUDGET - v->work;
  return neoc_has(v->cli, NEOC_O_FULL) ? (double)INFINITY : fmax(rest, 0) / (v->left + 1);
}

static double work_done(const verifier *v) {
  return (double)(UINT64_MAX - neo_interp_left(v->reference.interp));
}

static neoc_exit check(verifier *v, int entry, const bool *used, double *work) {
  int before = v->failures, steps = 0;
  v->worst_error = v->worst_share = 0;
  v->worst = NULL;
  v->unbounded = 0;
  v->loose_error = 0;
  v->suspicions.n = 0;
  double begun = neo_now_s(), most = allowed(v), done = 0;
  uint64_t state = v->state;
  neoc_exit e = neoc_verify_begin(v);
  if (!e) {
    neo_interp_limit(v->reference.interp, UINT64_MAX);
    e = neoc_verify_align(v, &v->reference);
  }
  bool trains = v->compiled.c.module->entries.at[entry].kind == NEO_ENTRY_TRAIN;
  for (; steps < (trains ? STEPS : 1) && !e; steps++) {
    if (steps && done > most)
      break;
    if (steps)
      e = neoc_verify_align(v, &v->reference);
    if (!e)
      e = run_both(v, entry);
    done = work_done(v);
  }
  v->work += done;
  *work = done / (steps ? steps : 1) * (trains ? STEPS : 1);
  if (!e && v->suspicions.n)
    e = neoc_verify_judge(v, entry, steps, state);
  v->checks++;
  if (!e && !v->cli->json && (!neoc_has(v->cli, NEOC_O_QUIET) || v->failures > before))
    put_check(v, entry, used, neo_now_s() - begun, v->failures > before);
  return e;
}

/* ---- sizes */

static int64_t clip(int64_t x, const neo_size_rec *s) {
  return x < s->lo ? s->lo : x > s->hi ? s->hi : x;
}

/* Sets all sizes of the entry. which: 0 the smallest, 1 a prime, 2 the largest; scaled by
 * `share`. */
static void choose(verifier *v, const int64_t *fixed, int which, double share) {
  neo_module *m = v->compiled.c.module;
  int64_t *size = NEO_NEW_ARRAY(v->cli->arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *s = &m->sizes.at[k];
    int64_t x = which == 0 ? clip(1, s) : which == 1 ? clip(PRIME, s) : s->hi;
    if (share < 1)
      x = clip((int64_t)fmax((double)x * share, 1),
               s); /* at least 1: others may have no valid index into an empty tensor */
    if (fixed[k] >= 0)
      x = fixed[k];
    size[k] = x;
  }
  neoc_sizes_settle(m, fixed, size);
  memcpy(v->compiled.sizes, size, m->sizes.n * sizeof *size);
}

static bool differ(const verifier *v, const bool *used, const int64_t *checked) {
  for (uint32_t k = 1; k < v->compiled.c.module->sizes.n; k++)
    if (used[k] && v->compiled.sizes[k] != checked[k])
      return true;
  return false;
}

static double volume(const verifier *v, const bool *used) {
  double x = 1;
  for (uint32_t k = 1; k < v->compiled.c.module->sizes.n; k++)
    if (used[k])
      x *= (double)(v->compiled.sizes[k] > 0 ? v->compiled.sizes[k] : 1);
  return x;
}

static neoc_exit check_entry(verifier *v, int entry) {
  neo_module *m = v->compiled.c.module;
  bool *used = neoc_entry_sizes(&v->compiled, entry);
  int64_t *fixed = NEO_NEW_ARRAY(v->cli->arena, int64_t, m->sizes.n + 1);
  memcpy(fixed, v->compiled.sizes, m->sizes.n * sizeof *fixed);
  int64_t *checked = neo_arena_copy(v->cli->arena, fixed, (m->sizes.n + 1) * sizeof *fixed);
  double per_unit = 0; /* work for each unit of volume */
  for (int which = 0; which < SIZES; which++) {
    double work;
    v->left--;
    choose(v, fixed, which, 1);
    double cost = per_unit * volume(v, used), most = allowed(v);
    if (which > 0 && cost > most)
      choose(v, fixed, which, most / cost);
    if (which > 0 && !differ(v, used, checked))
      continue;
    neoc_exit e = check(v, entry, used, &work);
    if (e)
      return e;
    memcpy(checked, v->compiled.sizes, m->sizes.n * sizeof *checked);
    per_unit = work / volume(v, used);
  }
  memcpy(v->compiled.sizes, fixed, m->sizes.n * sizeof *fixed);
  return NEOC_OK;
}

static bool is_meant(verifier *v, size_t entry) {
  const char *name = neoc_text(v->cli, NEOC_O_ENTRY, NULL);
  return !name || neo_streq(name, neoc_entry_name(&v->compiled, (int)entry));
}

static neoc_exit check_all(verifier *v) {
  neo_module *m = v->compiled.c.module;
  const char *name = neoc_text(v->cli, NEOC_O_ENTRY, NULL);
  if (!m->entries.n)
    return neoc_fail(v->cli, NEOC_FAILED, "the model has no outputs");
  if (name && neoc_entry_find(&v->compiled, name) < 0)
    return NEOC_FAILED;
  for (size_t k = 0; k < m->entries.n; k++)
    v->left += SIZES * is_meant(v, k);
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; k < m->entries.n && !e; k++)
    if (is_meant(v, k))
      e = check_entry(v, (int)k);
  return e;
}

neoc_exit neoc_verify(neoc_cli *cli) {
  verifier v = {.cli = cli};
  neo_compile_options o;
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  int32_t threads = neoc_count(cli, NEOC_O_THREADS, 0, 0, &e);
  v.seed = (uint64_t)neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  v.state = v.seed;
  o.check_facts = true;
  if (!e)
    e = neoc_runner_compile(&v.compiled, cli, &o, false);
  if (e)
    return e;
  e = neoc_runner_begin(&v.compiled, threads, v.seed);
  if (!e)
    e = check_all(&v);
  neoc_runner_close(&v.compiled);
  if (cli->json && !e)
    printf("{\"checks\": %d, \"failures\": %d}\n", v.checks, v.failures);
  return e ? e : v.failures ? NEOC_FAILED : NEOC_OK;
}

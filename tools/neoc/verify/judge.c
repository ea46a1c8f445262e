/* Separates rounding errors from mistakes. The interpreter runs a second time with inputs and
 * parameters moved by a few units of the last place, and each sum by as much of the sum of its
 * terms' sizes. An error is rounding's if it is not far larger than the change that this causes,
 * however small the results are. */
#include "base/random.h"
#include "tools/neoc/verify/verify.h"
#include <math.h>
#include <string.h>

enum { BEYOND = 16, MOVED = 2 }; /* BEYOND: factor of the bound; MOVED: number of repetitions */

/* Changes float elements by up to four units of the last place of f32. */
static void disturb(neo_rt_array *x, uint64_t *seed) {
  if (!neo_type_is_float((neo_type)x->type))
    return;
  for (int64_t k = 0, n = neoc_array_count(x); k < n; k++) {
    double unit = (double)(neo_splitmix(seed) >> 11) * 0x1p-52 - 1;
    neoc_array_put(x, k, neoc_array_at(x, k) * (1 + 0x1p-21 * unit));
  }
}

static neoc_exit disturb_kept(verifier *v, neoc_runner *r, uint64_t *seed) {
  neo_module *m = r->c.module;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    neo_rt_array x;
    if (m->tensors.at[t].role != NEO_ROLE_PARAM)
      continue;
    neoc_exit e = neoc_runner_get(&v->compiled, (neo_tensor){t}, &x);
    if (e)
      return e;
    neo_rt_array copy = neoc_array_new(v->cli->arena, (neo_type)x.type, x.rank, x.extent);
    memcpy(copy.data, x.data, x.size_bytes);
    disturb(&copy, seed);
    if ((e = neoc_runner_set(r, (neo_tensor){t}, &copy)) != NEOC_OK)
      return e;
  }
  return NEOC_OK;
}

static void widen_spread(verifier *v, double *spread, const char *what, const neo_rt_array *a,
                         const neo_rt_array *b) {
  for (size_t s = 0; s < v->suspicions.n; s++)
    for (int64_t k = 0, n = neoc_array_count(a); k < n && neo_streq(v->suspicions.at[s].what, what);
         k++)
      spread[s] = fmax(spread[s], fabs(neoc_array_at(a, k) - neoc_array_at(b, k)));
}

static neo_rt_array copy_of(verifier *v, const neo_rt_array *x) {
  neo_rt_array y = neoc_array_new(v->cli->arena, (neo_type)x->type, x->rank, x->extent);
  memcpy(y.data, x->data, x->size_bytes);
  return y;
}

static neoc_exit kept_spread(verifier *v, neoc_runner *moved, double *spread) {
  neo_module *m = v->compiled.c.module;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    uint8_t role = m->tensors.at[t].role;
    neo_rt_array a, b;
    if (role != NEO_ROLE_PARAM && role != NEO_ROLE_STATE)
      continue;
    neoc_exit e = neoc_runner_get(&v->reference, (neo_tensor){t}, &a);
    if (!e)
      e = neoc_runner_get(moved, (neo_tensor){t}, &b);
    if (e)
      return e;
    widen_spread(v, spread, neoc_tensor_name(moved, (neo_tensor){t}), &a, &b);
  }
  return NEOC_OK;
}

/* Runs one step of both runners: with the same inputs, and with moved ones. */
static neoc_exit run_moved(verifier *v, neoc_runner *moved, int entry, uint64_t *noise,
                           double *spread) {
  neoc_output *a, *b;
  size_t n;
  neo_rt_array *first = NULL;
  neoc_exit e = neoc_runner_randomize(&v->compiled, entry, &v->state);
  if (!e)
    e = neoc_runner_run(&v->reference, entry, &a, &n);
  if (e)
    return e;
  first = NEO_NEW_ARRAY(v->cli->arena, neo_rt_array, n + 1);
  for (size_t k = 0; k < n; k++)
    first[k] = copy_of(v, &a[k].array);
  neoc_tensors inputs = neoc_entry_inputs(moved, entry);
  for (size_t k = 0; k < inputs.n; k++)
    disturb(&v->compiled.input[inputs.at[k].i], noise);
  e = neoc_runner_run(moved, entry, &b, &n);
  for (size_t k = 0; k < n && !e; k++)
    widen_spread(v, spread, a[k].name, &first[k], &b[k].array);
  return e ? e : kept_spread(v, moved, spread);
}

/* Repeats the check from its start, together with a moved run. */
static neoc_exit measure_spread(verifier *v, int entry, int steps, uint64_t noise, double *spread) {
  neoc_runner moved;
  neoc_exit e = neoc_verify_begin(v);
  if (!e)
    e = neoc_verify_align(v, &v->reference);
  if (!e)
    e = neoc_runner_twin(&moved, &v->compiled, v->seed);
  if (!e)
    e = neoc_verify_align(v, &moved);
  if (!e)
    neo_interp_disturb(moved.interp, noise);
  if (!e)
    e = disturb_kept(v, &moved, &noise);
  for (int k = 0; k < steps && !e; k++)
    e = run_moved(v, &moved, entry, &noise, spread);
  return e;
}

/* Reports the suspicions that rounding does not explain. `state` is that of the random inputs when
 * the check began. */
neoc_exit neoc_verify_judge(verifier *v, int entry, int steps, uint64_t state) {
  uint64_t after = v->state;
  double *spread = NEO_NEW_ARRAY(v->cli->arena, double, v->suspicions.n + 1);
  neoc_exit e = NEOC_OK;
  for (uint64_t k = 1; k <= MOVED && !e; k++) {
    v->state = state;
    e = measure_spread(v, entry, steps, v->seed + k, spread);
  }
  v->state = after;
  for (size_t k = 0; k < v->suspicions.n && !e; k++) {
    const suspicion *s = &v->suspicions.at[k];
    if (!(s->error <= BEYOND * spread[k]))
      neoc_verify_complain(v, s->what, &s->like, s->at, s->got, s->want,
                           fmax(s->usual, BEYOND * spread[k]));
  }
  return e;
}

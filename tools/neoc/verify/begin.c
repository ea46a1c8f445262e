/* The two sides of a check: puts both at their start, and copies values from one to the other. */
#include "tools/neoc/verify/verify.h"

void neoc_verify_complain(verifier *v, const char *what, const neo_rt_array *x, int64_t k,
                          double got, double want, double bound) {
  if (v->failures++ > 20)
    return;
  neo_arena *a = v->cli->arena;
  int64_t index[16], rest = k;
  for (int d = x->rank; d-- > 0; rest /= x->extent[d])
    index[d] = rest % x->extent[d];
  neoc_fail(v->cli, NEOC_FAILED, "%s%s is %.9g, expected %.9g within %.3g", what,
            x->rank ? neoc_shape_text(a, x->rank, index) : "", got, want, bound);
}

neoc_exit neoc_verify_begin(verifier *v) {
  neo_rt_status s = neo_rt_reset(v->compiled.ctx, v->seed);
  if (s)
    return neoc_fail(v->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_error(v->compiled.ctx));
  neoc_exit e = neoc_runner_twin(&v->reference, &v->compiled, v->seed);
  if (e)
    return e;
  neo_interp_track_errors(v->reference.interp, true);
  /* With tracking, initial values are computed again, with error bounds. */
  e = neoc_runner_load(&v->compiled, true);
  v->reference.told = true; /* the same file, reported once */
  return e ? e : neoc_runner_load(&v->reference, true);
}

neoc_exit neoc_verify_align(verifier *v, neoc_runner *r) {
  neo_module *m = v->compiled.c.module;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    uint8_t role = m->tensors.at[t].role;
    neo_rt_array x;
    if (role != NEO_ROLE_PARAM && role != NEO_ROLE_STATE)
      continue;
    neoc_exit e = neoc_runner_get(&v->compiled, (neo_tensor){t}, &x);
    if (!e)
      e = neoc_runner_set(r, (neo_tensor){t}, &x);
    if (e)
      return e;
  }
  return NEOC_OK;
}

/* Inputs for machine code, and its results beside the interpreter's. */
#include "tests/pairs/compilation.h"
#include "tests/random/gen.h"
#include <string.h>

/* Passes reassociate sums and do more to them: products are taken out, neighbours of a window
 * share differences. A few roundings more than the interpreter's bound counts; where it is 0, all
 * is exact, and stays so. */
enum { SLACK = 4 };

bool pairs_same(const pairs_result *want, const void *got, pairs_run *out, neo_arena *a) {
  for (int64_t k = 0; k < want->n; k++) {
    neo_value y =
        neo_value_read(want->type, (const char *)got + (size_t)k * neo_type_bytes(want->type));
    double e = want->error ? SLACK * want->error[k] : 0;
    out->compared++;
    out->promised += e < (double)1e300;
    if (neo_gen_same(want->type, want->at[k], e, y))
      continue;
    bool f = neo_type_is_float(want->type);
    out->verdict = PAIRS_DIFFERS;
    out->why =
        neo_arena_printf(a, "%s[%lld] is %.9g, not %.9g within %.3g", want->name, (long long)k,
                         f ? y.f : (double)y.i, f ? want->at[k].f : (double)want->at[k].i, e);
    return false;
  }
  return true;
}

const pairs_result *pairs_input_named(const pairs_reference *r, const char *name) {
  for (size_t k = 0; k < r->inputs.n; k++)
    if (strcmp(r->inputs.at[k].name, name) == 0)
      return &r->inputs.at[k];
  return NULL;
}

void *pairs_input_bytes(neo_arena *a, const pairs_result *x) {
  size_t size = neo_type_bytes(x->type);
  char *p = NEO_NEW_ARRAY(a, char, (size_t)(x->n + 1) * size);
  for (int64_t k = 0; k < x->n; k++)
    neo_value_write(x->type, x->at[k], p + (size_t)k * size);
  return p;
}

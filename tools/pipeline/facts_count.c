/* Counts evaluations, and those that were left out. */
#include "tools/pipeline/facts_parts.h"

static const char *const why[NEO_FACT_OUTCOMES] = {
    [NEO_FACT_NO_SIZES] = "no small sizes are as the program's conditions ask",
    [NEO_FACT_LARGE] = "tensors are large",
    [NEO_FACT_NO_INPUTS] = "no inputs are in their bounds",
    [NEO_FACT_LONG] = "it takes long",
    [NEO_FACT_ROUNDED] = "the precision that was asked for rounds results",
    [NEO_FACT_REFUSED] = "the interpreter has no value",
};

static int64_t sum_of(const neo_fact_check *f, neo_fact_outcome k) {
  return f->count[NEO_FACT_OF_MODULES][k] + f->count[NEO_FACT_OF_PLANS][k];
}

bool neo_fact_check_has_left_out(const neo_fact_check *f) {
  int64_t n = 0;
  for (int k = NEO_FACT_DONE + 1; k < NEO_FACT_OUTCOMES; k++)
    n += sum_of(f, (neo_fact_outcome)k);
  return n > 0;
}

void neo_fact_check_add_counts(const neo_fact_check *f, neo_str *out) {
  bool any = false;
  neo_str_addf(out, "facts: %lld evaluations before and after passes, %lld of plans",
               (long long)f->count[NEO_FACT_OF_MODULES][NEO_FACT_DONE],
               (long long)f->count[NEO_FACT_OF_PLANS][NEO_FACT_DONE]);
  for (int k = NEO_FACT_DONE + 1; k < NEO_FACT_OUTCOMES; k++) {
    int64_t n = sum_of(f, (neo_fact_outcome)k);
    if (n)
      neo_str_addf(out, "%s %lld (%s)", any ? "," : "; left out:", (long long)n, why[k]);
    any = any || n;
  }
}

void neo_fact_count(neo_fact_check *f, neo_fact_kind kind, neo_fact_outcome k, int64_t n) {
  f->count[kind][k] += n;
}

int64_t neo_fact_entries(const neo_module *m) {
  int64_t n = 0;
  for (size_t k = 0; k < m->entries.n; k++)
    n += m->entries.at[k].kind != NEO_ENTRY_INIT;
  return n;
}

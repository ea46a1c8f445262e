/* A program with inputs and results as a line of JSON, for an evaluator of the language that knows
 * nothing of this one. Numbers have all their digits; NaN, Infinity and -Infinity are as Python
 * reads them. */
#include "tests/pairs/machine.h"
#include <math.h>

static void put_number(neo_str *out, double x, int digits) {
  if (isnan(x))
    neo_str_add(out, "NaN");
  else if (isinf(x))
    neo_str_add(out, x > 0 ? "Infinity" : "-Infinity");
  else
    neo_str_addf(out, "%.*g", digits, x);
}

static bool all_exact(const pairs_result *r) {
  bool exact = true;
  for (int64_t k = 0; r->error && exact && k < r->n; k++)
    exact = r->error[k] == 0;
  return exact;
}

static void put_result(const pairs_result *r, neo_str *out) {
  static const char *const type[] = {
#define X(name, text, size, kind) text,
#include "ir/types.def"
#undef X
  };
  neo_str_addf(out, "{\"name\": \"%s\", ", r->name);
  if (r->entry)
    neo_str_addf(out, "\"entry\": \"%s\", \"kept\": %s, ", r->entry, r->kept ? "true" : "false");
  neo_str_addf(out, "\"type\": \"%s\", \"shape\": [", type[r->type]);
  for (uint32_t k = 0; k < r->rank; k++)
    neo_str_addf(out, "%s%lld", k ? ", " : "", (long long)r->extent[k]);
  neo_str_add(out, "], \"data\": [");
  for (int64_t k = 0; k < r->n; k++) {
    neo_str_add(out, k ? ", " : "");
    if (neo_type_is_float(r->type))
      put_number(out, r->at[k].f, r->type == NEO_F64_T ? 17 : 9);
    else
      neo_str_addf(out, "%lld", (long long)r->at[k].i);
  }
  neo_str_add(out, "], \"error\": ");
  if (all_exact(r)) {
    neo_str_add(out, "null}");
    return;
  }
  for (int64_t k = 0; k < r->n; k++) {
    neo_str_add(out, k ? ", " : "[");
    put_number(out, r->error[k], 4);
  }
  neo_str_add(out, r->n ? "]}" : "[]}");
}

void pairs_put_json(const pairs_reference *r, neo_str *out) {
  const pairs_program *p = r->program;
  neo_str_addf(out, "{\"seed\": %llu, \"rounds\": %d, \"text\": ", (unsigned long long)p->seed,
               r->rounds);
  neo_str_add_json(out, r->text);
  neo_str_add(out, ", \"sizes\": {");
  for (size_t k = 0; k < p->sizes.n; k++)
    neo_str_addf(out, "%s\"%s\": %lld", k ? ", " : "", p->sizes.at[k].name,
                 (long long)p->sizes.at[k].now);
  neo_str_add(out, "}, \"inputs\": [");
  for (size_t k = 0; k < r->inputs.n; k++) {
    neo_str_add(out, k ? ", " : "");
    put_result(&r->inputs.at[k], out);
  }
  neo_str_add(out, "], \"results\": [");
  for (size_t k = 0; k < r->results.n; k++) {
    neo_str_add(out, k ? ", " : "");
    put_result(&r->results.at[k], out);
  }
  neo_str_add(out, "]}\n");
}

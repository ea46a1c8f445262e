/* The cost of compiling, stage by stage: CPU time of the process, proofs, and the methods that
 * decided them. */
#include "tools/neoc/explain/explain.h"

static neo_cost total_of(const neo_compilation *c) {
  neo_cost t = {.stage = "in all"};
  for (uint32_t k = 0; k < c->n_costs; k++) {
    const neo_prover_stats *p = &c->costs[k].proofs;
    t.seconds += c->costs[k].seconds;
    t.proofs.questions += p->questions;
    t.proofs.memo += p->memo;
    t.proofs.isl_calls += p->isl_calls;
    t.proofs.isl_known += p->isl_known;
    t.proofs.isl_quota += p->isl_quota;
    t.proofs.isl_seconds += p->isl_seconds;
    if (p->slowest_seconds <= t.proofs.slowest_seconds)
      continue;
    t.proofs.slowest = p->slowest;
    t.proofs.slowest_seconds = p->slowest_seconds;
  }
  return t;
}

static void put_row(neo_str *out, const neo_cost *c) {
  const neo_prover_stats *p = &c->proofs;
  neo_str_addf(out, "%-22s %9.2f %9llu %9llu %7llu %7llu %9.2f %9.2f %8llu\n", c->stage,
               1e3 * c->seconds, (unsigned long long)p->questions, (unsigned long long)p->memo,
               (unsigned long long)p->isl_calls, (unsigned long long)p->isl_known,
               1e3 * p->isl_seconds, 1e3 * p->slowest_seconds, (unsigned long long)p->isl_quota);
}

static void put_text(neo_compilation *c, neo_str *out) {
  neo_cost total = total_of(c);
  neo_str_addf(out, "%-22s %9s %9s %9s %7s %7s %9s %9s %8s\n", "stage", "ms", "proofs", "repeated",
               "in isl", "known", "isl ms", "most", "given up");
  for (uint32_t k = 0; k < c->n_costs; k++)
    put_row(out, &c->costs[k]);
  put_row(out, &total);
  if (total.proofs.isl_calls)
    neo_str_addf(out, "isl worked longest for %s: %.2f ms\n",
                 neo_span_text(c->sources, total.proofs.slowest),
                 1e3 * total.proofs.slowest_seconds);
}

static void put_json_row(const neo_compilation *c, const neo_cost *cost, neo_str *out) {
  const neo_prover_stats *p = &cost->proofs;
  neo_str_add(out, "{\"stage\": ");
  neo_str_add_json(out, cost->stage);
  neo_str_addf(out, ", \"seconds\": %.6f, \"proofs\": %llu, \"repeated\": %llu, ", cost->seconds,
               (unsigned long long)p->questions, (unsigned long long)p->memo);
  neo_str_addf(out, "\"isl\": %llu, \"isl_known\": %llu, \"isl_given_up\": %llu, ",
               (unsigned long long)p->isl_calls, (unsigned long long)p->isl_known,
               (unsigned long long)p->isl_quota);
  neo_str_addf(out, "\"isl_seconds\": %.6f, \"isl_most_seconds\": %.6f, \"isl_most_at\": ",
               p->isl_seconds, p->slowest_seconds);
  neo_str_add_json(out, neo_span_text(c->sources, p->slowest));
  neo_str_addc(out, '}');
}

void neoc_explain_costs(neoc_cli *cli, neo_compilation *c, neo_str *out) {
  if (!cli->json) {
    put_text(c, out);
    return;
  }
  neoc_explain_member(out, "timings");
  neo_str_addc(out, '[');
  for (uint32_t k = 0; k < c->n_costs; k++) {
    neo_str_add(out, k ? ", " : "");
    put_json_row(c, &c->costs[k], out);
  }
  neo_str_addc(out, ']');
}

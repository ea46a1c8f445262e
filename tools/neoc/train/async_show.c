/* Output about the network of --async: a summary behind an epoch's line, all of it as JSON, and a
 * table of the nodes at the end. Staleness is the number of updates of a node's actor between an
 * instance's way out and its way back; utilisation the part of the time in which a thread, or the
 * node, has work. */
#include "tools/neoc/train/async_parts.h"

typedef struct { /* over the nodes with a way back */
  double staleness, weight;
  uint64_t most;
} summary;

static summary summarize(const neoc_async *a) {
  summary s = {0};
  for (int32_t k = 0; k < a->net->n_nodes; k++) {
    const neo_rt_net_node_stats *x = &a->nodes[k];
    if (!a->net->nodes[k].backward)
      continue;
    s.weight += (double)x->backward;
    s.staleness += (double)x->backward * x->staleness;
    s.most = x->most_stale > s.most ? x->most_stale : s.most;
  }
  s.staleness = s.weight > 0 ? s.staleness / s.weight : 0;
  return s;
}

void neoc_async_begin_epoch(neoc_trainer *t) {
  if (t->async)
    neo_rt_net_stats(t->async->run, NULL, NULL, NULL, 1);
}

void neoc_async_count(neoc_trainer *t) {
  neoc_async *a = t->async;
  if (a)
    neo_rt_net_stats(a->run, &a->total, a->nodes, a->workers, 0);
}

void neoc_async_put_summary(const neoc_trainer *t, FILE *out) {
  const neoc_async *a = t->async;
  if (!a)
    return;
  summary s = summarize(a);
  fprintf(out, ", staleness %.2f (at most %llu), busy", s.staleness, (unsigned long long)s.most);
  for (int32_t k = 0; k < a->total.workers; k++)
    fprintf(out, " %.0f", 100 * a->workers[k].utilisation);
  fputs(" %", out);
}

/* ---- JSON */

static void put_node(const neoc_trainer *t, int32_t k, neo_str *out) {
  const neo_rt_net_node_stats *x = &t->async->nodes[k];
  neo_str_add(out, k ? ", {\"name\": " : "{\"name\": ");
  neo_str_add_json(out, x->name);
  neo_str_addf(out,
               ", \"actor\": %d, \"forward\": %llu, \"backward\": %llu, \"updates\": %llu, "
               "\"staleness\": %.6g, \"most_stale\": %llu, \"utilisation\": %.6g, "
               "\"most_queue\": %d}",
               x->actor, (unsigned long long)x->forward, (unsigned long long)x->backward,
               (unsigned long long)x->updates, x->staleness, (unsigned long long)x->most_stale,
               x->utilisation, x->most_queue);
}

void neoc_async_put_json(const neoc_trainer *t, FILE *out) {
  const neoc_async *a = t->async;
  neo_str s = neo_str_in(t->cli->arena);
  if (!a)
    return;
  summary of = summarize(a);
  neo_str_addf(&s,
               ", \"async\": {\"keys\": %d, \"every\": %d, \"staleness\": %.6g, "
               "\"most_stale\": %llu, \"most_bytes\": %lld, \"workers\": [",
               a->config.keys, a->config.every, of.staleness, (unsigned long long)of.most,
               (long long)a->total.most_bytes);
  for (int32_t k = 0; k < a->total.workers; k++)
    neo_str_addf(&s, "%s%.6g", k ? ", " : "", a->workers[k].utilisation);
  neo_str_add(&s, "], \"nodes\": [");
  for (int32_t k = 0; k < a->net->n_nodes; k++)
    put_node(t, k, &s);
  fprintf(out, "%s]}", neo_str_text(&s));
}

/* ---- the table */

void neoc_async_show_nodes(const neoc_trainer *t) {
  const neoc_async *a = t->async;
  if (!a || !a->nodes || t->cli->json || neoc_has(t->cli, NEOC_O_QUIET))
    return;
  fprintf(stderr, "%-24s %9s %9s %9s %9s %6s %6s\n", "node, in the last epoch", "forward",
          "backward", "updates", "staleness", "most", "busy");
  for (int32_t k = 0; k < a->net->n_nodes; k++) {
    const neo_rt_net_node_stats *x = &a->nodes[k];
    fprintf(stderr, "%-24s %9llu %9llu %9llu %9.2f %6llu %4.0f %%\n", x->name,
            (unsigned long long)x->forward, (unsigned long long)x->backward,
            (unsigned long long)x->updates, x->staleness, (unsigned long long)x->most_stale,
            100 * x->utilisation);
  }
}

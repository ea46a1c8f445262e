/* stats.c: what a network has done, and what it has left undone. */
#include "runtime/core/trace.h"
#include "runtime/net/mailbox.h"
#include "runtime/net/workers.h"
#include <stdio.h>
#include <string.h>

static double seconds_since(int64_t ns) {
  return 1e-9 * (double)(neo_rti_now_ns() - ns);
}

static void fill_total(const neo_rt_network *n, neo_rt_net_total *out) {
  *out = (neo_rt_net_total){.seconds = seconds_since(n->began_ns),
                            .sent = n->sent - n->sent_0,
                            .finished = n->finished - n->finished_0,
                            .on_their_way = n->on_their_way,
                            .workers = n->config.workers ? n->config.workers : 1,
                            .bytes = n->used_bytes,
                            .most_bytes = n->most_bytes,
                            .loss = n->loss_sum / n->loss_weight,
                            .loss_weight = n->loss_weight};
}

/* The counts of a node since the network was created; busy_s too. */
static neo_rt_net_node_stats counts_of(const neo_rt_network *n, int32_t node) {
  const neo_rti_net_count *c = &n->count[node];
  int32_t actor = n->net->nodes[node].actor;
  const neo_rti_net_mailbox *b = actor >= 0 && n->mailbox ? &n->mailbox[actor] : NULL;
  return (neo_rt_net_node_stats){.actor = actor,
                                 .forward = atomic_load(&c->forward),
                                 .backward = atomic_load(&c->backward),
                                 .updates = actor < 0 ? 0 : atomic_load(&n->updates[actor]),
                                 .staleness = (double)atomic_load(&c->stale),
                                 .most_stale = atomic_load(&c->most_stale),
                                 .busy_s = 1e-9 * (double)atomic_load(&c->busy_ns),
                                 .queue = b ? atomic_load(&b->n_heap) : 0,
                                 .most_queue = b ? atomic_load(&b->most_heap) : 0};
}

static void fill_node(const neo_rt_network *n, int32_t node, double seconds,
                      neo_rt_net_node_stats *out) {
  const neo_rt_net_node_stats *before = &n->counted[node];
  *out = counts_of(n, node);
  memcpy(out->name, neo_rti_net_name_of(n, node).text, sizeof out->name);
  out->forward -= before->forward;
  out->backward -= before->backward;
  out->updates -= before->updates < out->updates ? before->updates : out->updates;
  out->busy_s -= before->busy_s;
  out->staleness -= before->staleness;
  out->staleness = out->backward ? out->staleness / (double)out->backward : 0;
  out->utilisation = seconds > 0 ? out->busy_s / seconds : 0;
}

static void fill_caller(const neo_rt_network *n, double seconds, neo_rt_net_worker_stats *out) {
  double busy_s = 0;
  for (int32_t k = 0; k < n->net->n_nodes; k++)
    busy_s += 1e-9 * (double)atomic_load(&n->count[k].busy_ns) - n->counted[k].busy_s;
  *out = (neo_rt_net_worker_stats){.messages = n->tasks - n->tasks_0,
                                   .busy_s = busy_s,
                                   .utilisation = seconds > 0 ? busy_s / seconds : 0};
}

static void clear(neo_rt_network *n) {
  for (int32_t k = 0; k < n->net->n_nodes; k++) {
    n->counted[k] = counts_of(n, k);
    atomic_store(&n->count[k].most_stale, 0);
  }
  for (int32_t k = 0; n->mailbox && k < n->net->n_actors; k++)
    atomic_store(&n->mailbox[k].most_heap, 0);
  if (n->crew)
    neo_rti_net_crew_clear(n);
  n->most_bytes = n->used_bytes;
  n->sent_0 = n->sent;
  n->finished_0 = n->finished;
  n->tasks_0 = n->tasks;
  n->began_ns = neo_rti_now_ns();
}

void neo_rt_net_stats(neo_rt_network *n, neo_rt_net_total *total, neo_rt_net_node_stats *nodes,
                      neo_rt_net_worker_stats *workers, int clear_all) {
  double seconds = seconds_since(n->began_ns);
  if (total)
    fill_total(n, total);
  for (int32_t k = 0; nodes && k < n->net->n_nodes; k++)
    fill_node(n, k, seconds, &nodes[k]);
  if (workers && n->crew)
    neo_rti_net_crew_stats(n, seconds, workers);
  else if (workers)
    fill_caller(n, seconds, workers);
  if (clear_all)
    clear(n);
}

/* ---- what is left */

typedef struct {
  char *out;
  size_t size, n;
} text;

static void put(text *t, const char *what) {
  int n = snprintf(t->out + t->n, t->size - t->n, "%s%s", t->n ? "; " : "", what);
  t->n = n < 0 || t->n + (size_t)n >= t->size ? t->size - 1 : t->n + (size_t)n;
}

/* Some messages have come, and others have not. */
static void describe_join(const neo_rt_network *n, const neo_rti_net_slot *s, int32_t node,
                          text *t) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  int32_t in = atomic_load(&s->n_in[node]), back = atomic_load(&s->n_back[node]);
  bool waits = in < x->n_in ? in > 0 : back < x->n_out && (back > 0 || node == 0);
  char line[256];
  if (!waits)
    return;
  snprintf(line, sizeof line, "node %s has %d of %d %s of instance %llu",
           neo_rti_net_name_of(n, node).text, (int)(in < x->n_in ? in : back),
           (int)(in < x->n_in ? x->n_in : x->n_out), in < x->n_in ? "messages" : "answers",
           (unsigned long long)s->number);
  put(t, line);
}

void neo_rti_net_describe(const neo_rt_network *n, char *out, size_t size) {
  text t = {out, size, 0};
  char line[256];
  out[0] = '\0';
  for (int32_t k = 0; n->mailbox && k < n->net->n_actors; k++) {
    int32_t queue = atomic_load(&n->mailbox[k].n_heap);
    if (neo_rti_mailbox_is_idle(&n->mailbox[k]))
      continue;
    snprintf(line, sizeof line, "the queue of %s has %d messages", n->net->actors[k].model->name,
             (int)queue);
    put(&t, line);
  }
  for (int32_t k = 0; k < n->on_their_way; k++)
    for (int32_t node = 0; node < n->net->n_nodes; node++)
      describe_join(n, &n->slot[n->placed[k]], node, &t);
}

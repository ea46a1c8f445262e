/* run.c: the work of a node: its entry on the payloads of an instance, its answers, and the
 * updates of its actor. */
#include "runtime/core/trace.h"
#include "runtime/net/crew.h"
#include "runtime/net/trace.h"
#include "runtime/net/virtual.h"
#include <math.h>
#include <string.h>

/* Adds to a count that one thread at a time writes. */
static void add(_Atomic uint64_t *count, uint64_t more) {
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more,
                        memory_order_relaxed);
}

/* ---- entries */

static void *address(neo_rt_network *n, const neo_rti_net_slot *s, int32_t actor,
                     neo_rti_net_place place, int32_t which) {
  switch (place) {
  case NEO_RTI_NET_VALUE:
    return s->value[which];
  case NEO_RTI_NET_BACK:
    return s->back[which];
  case NEO_RTI_NET_WEIGHT:
    return &n->frame[actor].weight;
  case NEO_RTI_NET_LOSS:
    return n->frame[actor].loss;
  case NEO_RTI_NET_STASH:
    return s->stash[which];
  case NEO_RTI_NET_COUNT:
    return &n->frame[actor].count;
  case NEO_RTI_NET_SEEN:
    return n->seen[which];
  case NEO_RTI_NET_NOWHERE:
    break;
  }
  return NULL;
}

/* rand() draws by `number`, that of the instance (draw), in both passes; `step` in an update is
 * that of the actor's updates. */
static neo_rt_status call_entry(neo_rt_network *n, neo_rt_ctx *ctx, int32_t entry,
                                const neo_rti_net_frame *f, uint64_t number, bool trusted) {
  const uint64_t key[3] = {n->seed, number, 0};
  if (trusted && !ctx->n_exposed)
    return neo_rt_call_keyed(ctx, entry, f->sizes, f->args, key);
  neo_rt_status status = neo_rt_seek(ctx, n->seed, number);
  return status ? status : neo_rt_call(ctx, entry, f->sizes, f->args);
}

/* `sizes` null: the largest. */
static neo_rt_status call(neo_rt_network *n, int32_t actor, const neo_rti_net_call *c,
                          const neo_rti_net_slot *s, const int64_t *sizes, uint64_t number,
                          bool trusted) {
  neo_rt_ctx *ctx = n->ctx[actor];
  neo_rti_net_frame *f = &n->frame[actor];
  if (c->entry < 0)
    return NEO_OK;
  const neo_rt_entry *e = &ctx->model->entries[c->entry];
  for (int32_t k = 0; k < e->n_sizes; k++) {
    int32_t size = ctx->model->entry_sizes[e->sizes + k];
    f->sizes[k] = sizes && size < n->net->n_sizes ? sizes[size] : ctx->model->sizes[size].hi;
  }
  f->count = (int64_t)atomic_load_explicit(&n->updates[actor], memory_order_relaxed);
  for (int32_t k = 0; k < c->n; k++)
    f->args[k] = address(n, s, actor, c->arg[k].place, c->arg[k].which);
  return call_entry(n, ctx, c->entry, f, number, trusted);
}

/* The same; simulated devices take the time for the node's work. */
static neo_rt_status timed_call(neo_rt_network *n, int32_t node, int32_t part,
                                const neo_rti_net_call *c, const neo_rti_net_slot *s,
                                const int64_t *sizes, uint64_t number, bool trusted) {
  int32_t actor = n->net->nodes[node].actor;
  if (!n->devices || c->entry < 0)
    return call(n, actor, c, s, sizes, number, trusted);
  neo_rti_stopwatch w = neo_rti_stopwatch_start();
  neo_rt_status status = call(n, actor, c, s, sizes, number, trusted);
  neo_rti_virtual_charge(n, node, part, s, neo_rti_stopwatch_s(&w));
  return status;
}

static neo_rt_status explain(neo_rt_network *n, neo_rt_status status, int32_t node) {
  const neo_rt_ctx *ctx = n->ctx[n->net->nodes[node].actor];
  return status ? neo_rti_net_fail(n, status, "node %s: %s", neo_rti_net_name_of(n, node).text,
                                   neo_rt_error(ctx))
                : NEO_OK;
}

/* ---- updates */

static int64_t least_answered(const neo_rt_network *n, int32_t actor) {
  int64_t least = INT64_MAX;
  for (int32_t k = 0; k < n->net->n_nodes; k++)
    if (n->net->nodes[k].actor == actor && n->answered[k] < least)
      least = n->answered[k];
  return least == INT64_MAX ? 0 : least;
}

static neo_rt_status update(neo_rt_network *n, int32_t actor, const int64_t *sizes) {
  uint64_t number = atomic_load_explicit(&n->updates[actor], memory_order_relaxed);
  int32_t first = 0;
  for (int32_t k = n->net->n_nodes - 1; k >= 0; k--)
    if (n->net->nodes[k].actor == actor)
      n->answered[first = k] = 0;
  atomic_store_explicit(&n->updates[actor], number + 1, memory_order_relaxed);
  int64_t from = neo_rti_now_ns();
  neo_rt_status status =
      timed_call(n, first, NEO_RT_NET_UPDATE, &n->update[actor], NULL, sizes, number, true);
  neo_rti_net_trace_note(n, actor,
                         &(neo_rti_net_span){-1, n->frame[actor].worker, NEO_RTI_NET_PART_UPDATE,
                                             number, from, neo_rti_now_ns()});
  return status ? neo_rti_net_fail(n, status, "%s: %s", n->net->actors[actor].model->name,
                                   neo_rt_error(n->ctx[actor]))
                : NEO_OK;
}

typedef struct {
  bool rows; /* rows count, not instances */
  int64_t n;
} interval;

/* An update that reads values of an instance follows each. */
static interval interval_of(const neo_rt_network *n, int32_t actor) {
  if (n->net->actors[actor].n_seen)
    return (interval){false, 1};
  return n->config.every_rows > 0 ? (interval){true, n->config.every_rows}
                                  : (interval){false, n->every};
}

/* Does one entry end an instance's work and update? */
static bool applies(const neo_rt_network *n, int32_t node) {
  return n->apply[node].entry >= 0 && interval_of(n, n->net->nodes[node].actor).n == 1;
}

/* The call that ends the node's work on an instance, in the place of `usual`. */
static const neo_rti_net_call *last_call(const neo_rt_network *n, int32_t node,
                                         const neo_rti_net_call *usual) {
  if (applies(n, node))
    return &n->apply[node];
  return n->first[node].entry >= 0 && !n->answered[node] ? &n->first[node] : usual;
}

/* Counts an instance that the node has answered; true: an update is due. */
static bool count(neo_rt_network *n, int32_t node, const neo_rti_net_slot *s) {
  int32_t actor = n->net->nodes[node].actor;
  interval every = interval_of(n, actor);
  if (applies(n, node)) {
    add(&n->updates[actor], 1);
    return false;
  }
  n->answered[node] += every.rows ? s->rows : 1;
  return least_answered(n, actor) >= every.n;
}

/* An actor of several nodes updates when each has answered some instance since its last update. Of
 * other instances only one node may have: their part of the sums is applied by a later update. */
neo_rt_status neo_rti_net_flush(neo_rt_network *n) {
  neo_rt_status status = NEO_OK;
  for (int32_t k = 0; k < n->net->n_actors && !status; k++) {
    n->frame[k].weight = 0;
    if (least_answered(n, k) > 0)
      status = update(n, k, NULL);
  }
  return status;
}

/* ---- nodes */

static neo_rt_status take_loss(neo_rt_network *n, int32_t node, neo_rti_net_slot *s) {
  const neo_rti_net_frame *f = &n->frame[n->net->nodes[node].actor];
  if (!n->net->nodes[node].loss)
    return NEO_OK;
  neo_rti_convert(n->loss_type[node], f->loss, NEO_RT_F64, &s->loss, 1);
  if (!isnan(s->loss) || n->config.allow_nan)
    return NEO_OK;
  return neo_rti_net_fail(n, NEO_RT_E_RANGE, "node %s: the loss of instance %llu is nan",
                          neo_rti_net_name_of(n, node).text, (unsigned long long)s->number);
}

/* Once the answers are sent the slot may be another instance's, so what the update reads of it is
 * copied before. Other workers get the answers before it begins. */
static neo_rt_status answer(neo_rt_network *n, int32_t node, int32_t slot) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  const neo_rti_net_slot *s = &n->slot[slot];
  int64_t *sizes = n->frame[x->actor].of_instance;
  bool due = count(n, node, s);
  if (due && n->net->n_sizes)
    memcpy(sizes, s->sizes, (size_t)n->net->n_sizes * sizeof *sizes);
  neo_rti_net_post_ports(n, x->in, x->n_in, slot, true);
  if (!due)
    return NEO_OK;
  neo_rti_crew_share(n);
  return update(n, x->actor, sizes);
}

static void count_stale(neo_rt_network *n, int32_t node, const neo_rti_net_slot *s) {
  neo_rti_net_count *c = &n->count[node];
  uint64_t now = atomic_load_explicit(&n->updates[n->net->nodes[node].actor], memory_order_relaxed);
  uint64_t stale = now - s->version[node];
  add(&c->stale, stale);
  add(&c->backward, 1);
  if (stale > atomic_load_explicit(&c->most_stale, memory_order_relaxed))
    atomic_store_explicit(&c->most_stale, stale, memory_order_relaxed);
}

/* Evaluation: the answers are empty, and nothing is counted but the messages. */
static neo_rt_status evaluate(neo_rt_network *n, int32_t node, int32_t slot) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  neo_rti_net_slot *s = &n->slot[slot];
  const neo_rti_net_call *c = &n->test[node];
  neo_rt_status status =
      timed_call(n, node, NEO_RT_NET_FORWARD, c, s, s->sizes, s->draw, c->trusted);
  status = explain(n, status, node);
  status = status ? status : take_loss(n, node, s);
  if (status)
    return status;
  add(&n->count[node].forward, 1);
  if (x->n_out)
    neo_rti_net_post_ports(n, x->out, x->n_out, slot, false);
  else
    neo_rti_net_post_ports(n, x->in, x->n_in, slot, true);
  return NEO_OK;
}

static neo_rt_status forward(neo_rt_network *n, int32_t node, int32_t slot) {
  if (n->slot[slot].test)
    return evaluate(n, node, slot);
  const neo_rt_net_node *x = &n->net->nodes[node];
  neo_rti_net_slot *s = &n->slot[slot];
  const neo_rti_net_call *c = &n->forward[node];
  c = x->n_out ? c : last_call(n, node, c);
  s->version[node] = atomic_load_explicit(&n->updates[x->actor], memory_order_relaxed);
  neo_rt_status status =
      timed_call(n, node, NEO_RT_NET_FORWARD, c, s, s->sizes, s->draw, c->trusted);
  status = explain(n, status, node);
  status = status ? status : take_loss(n, node, s);
  if (status)
    return status;
  add(&n->count[node].forward, 1);
  if (x->n_out) {
    neo_rti_net_post_ports(n, x->out, x->n_out, slot, false);
    return NEO_OK;
  }
  count_stale(n, node, s);
  return answer(n, node, slot);
}

/* The rows that the forward pass checked are the same. */
static neo_rt_status backward(neo_rt_network *n, int32_t node, int32_t slot) {
  const neo_rti_net_slot *s = &n->slot[slot];
  const neo_rt_net_node *x = &n->net->nodes[node];
  if (s->test) {
    neo_rti_net_post_ports(n, x->in, x->n_in, slot, true);
    return NEO_OK;
  }
  const neo_rti_net_call *c = last_call(n, node, &n->backward[node]);
  count_stale(n, node, s);
  neo_rt_status status = timed_call(n, node, NEO_RT_NET_BACKWARD, c, s, s->sizes, s->draw, true);
  status = explain(n, status, node);
  return status ? status : answer(n, node, slot);
}

neo_rt_status neo_rti_net_run(neo_rt_network *n, int32_t node, int32_t slot, bool back) {
  int32_t actor = n->net->nodes[node].actor;
  if (n->kind[node] == NEO_RTI_NET_CONTROLLER)
    return neo_rti_net_finish(n, slot);
  if (n->kind[node] != NEO_RTI_NET_ACTOR) {
    neo_rti_net_move(n, node, slot, back);
    return NEO_OK;
  }
  n->frame[actor].weight = (float)n->slot[slot].weight;
  neo_rti_net_span x = {node,
                        n->frame[actor].worker,
                        back ? NEO_RTI_NET_PART_BACKWARD : NEO_RTI_NET_PART_FORWARD,
                        n->slot[slot].number,
                        neo_rti_now_ns(),
                        0};
  neo_rt_status status = back ? backward(n, node, slot) : forward(n, node, slot);
  x.to_ns = neo_rti_now_ns();
  n->frame[actor].taken_ns = x.to_ns - x.from_ns;
  neo_rti_net_trace_note(n, actor, &x);
  add(&n->count[node].busy_ns, (uint64_t)n->frame[actor].taken_ns);
  return status;
}

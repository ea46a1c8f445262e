/* order.c: messages in the calling thread: the oldest first, as networks are interpreted
 * (network/interp.h), or any by a seed. */
#include "base/random.h"
#include "runtime/net/log.h"

static neo_rti_net_message take(neo_rt_network *n) {
  neo_rti_net_message *first = &n->queue[n->queue_first], m;
  if (n->config.order == NEO_RT_NET_SHUFFLED) {
    int64_t k = (int64_t)(neo_splitmix(&n->order) % (uint64_t)n->queue_n);
    neo_rti_net_message *any = &n->queue[(n->queue_first + k) % n->queue_room];
    m = *any;
    *any = *first;
  } else {
    m = *first;
  }
  n->queue_first = (n->queue_first + 1) % n->queue_room;
  n->queue_n--;
  return m;
}

neo_rt_status neo_rti_net_deliver(neo_rt_network *n) {
  neo_rti_net_message m = take(n);
  int32_t node = neo_rti_net_receive(n, m);
  if (node < 0)
    return neo_rti_net_status(n);
  if (n->kind[node] == NEO_RTI_NET_ACTOR) {
    neo_rti_net_log_note(n, n->net->nodes[node].actor, &n->slot[m.slot].task[2 * node + m.back]);
    n->tasks++;
  }
  return neo_rti_net_run(n, node, m.slot, m.back);
}

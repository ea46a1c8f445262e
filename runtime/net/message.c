/* message.c: messages of failures, of which the first is the network's. */
#include "runtime/net/event.h"
#include "runtime/net/net.h"
#include <stdarg.h>
#include <stdio.h>

enum { WRITING = 1, THERE };

neo_rt_status neo_rti_net_fail(neo_rt_network *n, neo_rt_status status, const char *fmt, ...) {
  int32_t none = 0;
  if (atomic_compare_exchange_strong(&n->failed, &none, WRITING)) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(n->error, sizeof n->error, fmt, args);
    va_end(args);
    n->status = status;
    atomic_store(&n->failed, THERE);
    if (n->news)
      neo_rti_net_event_signal(n->news, 1);
  }
  return status;
}

neo_rt_status neo_rti_net_say(neo_rt_network *n, neo_rt_status status, const char *fmt, ...) {
  if (!atomic_load(&n->failed)) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(n->error, sizeof n->error, fmt, args);
    va_end(args);
  }
  return status;
}

neo_rt_status neo_rti_net_status(neo_rt_network *n) {
  return atomic_load(&n->failed) == THERE ? n->status : NEO_OK;
}

/* The tensor that tells which node it is: what it makes, or its loss. */
static const char *of(const neo_rt_network *n, const neo_rt_net_node *x) {
  for (int32_t k = 0; k < x->n_out; k++)
    if (n->net->ports[x->out + k].name)
      return n->net->ports[x->out + k].name;
  return x->loss;
}

neo_rti_net_name neo_rti_net_name_of(const neo_rt_network *n, int32_t node) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  const char *made = node ? of(n, x) : NULL;
  neo_rti_net_name name;
  snprintf(name.text, sizeof name.text, made ? "%d (%s of %s)" : "%d (%s)", (int)node, x->kind,
           made ? made : "");
  return name;
}

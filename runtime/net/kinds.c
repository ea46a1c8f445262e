/* kinds.c: the kinds of nodes that this runtime runs, by their names in the library. A node of
 * another kind, or with an actor where its kind has none, would run as something else: that is an
 * error when the network is created. */
#include "runtime/net/net.h"
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *text;
  neo_rti_net_kind kind;
} kinds[] = {{"controller", NEO_RTI_NET_CONTROLLER},
             {"PPT", NEO_RTI_NET_ACTOR},
             {"NPT", NEO_RTI_NET_ACTOR},
             {"Loss", NEO_RTI_NET_ACTOR},
             {"Bcast", NEO_RTI_NET_BCAST}};

static neo_rti_net_kind kind_of(const char *text) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (strcmp(kinds[k].text, text) == 0)
      return kinds[k].kind;
  return NEO_RTI_NET_UNKNOWN;
}

neo_rt_status neo_rti_net_find_kinds(neo_rt_network *n) {
  n->kind = calloc((size_t)n->net->n_nodes + 1, sizeof *n->kind);
  if (!n->kind)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory");
  for (int32_t k = 0; k < n->net->n_nodes; k++) {
    const neo_rt_net_node *x = &n->net->nodes[k];
    n->kind[k] = kind_of(x->kind);
    if (!n->kind[k])
      return neo_rti_net_fail(n, NEO_RT_E_UNSUPPORTED, "node %d: this runtime has no kind %s", k,
                              x->kind);
    if ((n->kind[k] == NEO_RTI_NET_CONTROLLER) != (k == 0) ||
        (n->kind[k] == NEO_RTI_NET_ACTOR) != (x->actor >= 0))
      return neo_rti_net_fail(n, NEO_RT_E_ABI, "node %d may not be of the kind %s", k, x->kind);
  }
  return NEO_OK;
}

/* The networks of the training entries (network/network.h), as they are cut: before gradients are
 * derived. */
#include "network/network.h"
#include "tools/neoc/explain/explain.h"

neo_status neoc_explain_networks(neoc_cli *cli, neo_compilation *c, neo_str *out) {
  neoc_exit e = NEOC_OK;
  neo_net_options o = {.nodes = (uint32_t)neoc_count(cli, NEOC_O_NODES, 0, 1, &e)};
  bool any = false;
  neo_status s = e ? NEO_ARGUMENT : NEO_OK;
  for (uint32_t k = 0; k < c->module->entries.n && !s; k++) {
    neo_str why = neo_str_in(&c->arena);
    if (c->module->entries.at[k].kind != NEO_ENTRY_TRAIN)
      continue;
    neo_network *n = neo_network_cut(c->module, k, &o, &c->arena);
    s = neo_network_verify(n, &why);
    if (s)
      c->why = neo_arena_printf(&c->arena, "the network is wrong: %s", neo_str_text(&why));
    else
      neo_network_print(n, out);
    any = true;
  }
  if (s || any)
    return s;
  c->why = "--network: the model trains nothing";
  return NEO_ARGUMENT;
}

/* See network.h. */
#include "tools/pipeline/network.h"
#include "tools/pipeline/stages.h"

static neo_status verify(neo_compilation *c, const neo_network *n) {
  neo_str why = neo_str_in(&c->arena);
  if (!neo_network_verify(n, &why))
    return NEO_OK;
  c->why = neo_arena_printf(&c->arena, "the network is wrong: %s", neo_str_text(&why));
  return NEO_INTERNAL;
}

/* Derives the gradients of all actors, and chooses what nodes stash. */
static neo_status stash(neo_compilation *c, neo_network *n) {
  neo_status s = NEO_OK;
  for (size_t k = 0; k < n->actors.n && !s; k++)
    s = neo_compile_derive(c, n->actors.at[k].module);
  if (s)
    return s;
  neo_network_stash(n);
  return verify(c, n);
}

neo_status neo_compile_cut(neo_compilation *c) {
  neo_net_options o = {.nodes = c->options.network_nodes};
  if (!c->options.network)
    return NEO_OK;
  if (c->options.pure) {
    c->why = "--network: actors keep their parameters, so --pure cannot be with it";
    return NEO_ARGUMENT;
  }
  neo_status s = NEO_OK;
  for (uint32_t k = 0; k < c->module->entries.n && !s; k++) {
    if (c->module->entries.at[k].kind != NEO_ENTRY_TRAIN)
      continue;
    neo_network *n = neo_network_cut(c->module, k, &o, &c->arena);
    NEO_PUSH(&c->arena, &c->networks, n);
    s = verify(c, n);
    s = s ? s : stash(c, n);
  }
  if (s || c->networks.n)
    return s;
  c->why = "--network: the model trains nothing";
  return NEO_ARGUMENT;
}

neo_status neo_network_link(neo_compilation *c, const neo_network *n, const char *base) {
  neo_llvm *l = NULL;
  neo_object o = {0};
  neo_llvm_enter();
  neo_status s = neo_llvm_new(&c->arena, &c->host, c->prefix, &l, &c->why);
  if (!s) {
    neo_network_record(c, n, base, l);
    s = neo_llvm_finish(l, &c->why);
  }
  if (!s)
    s = neo_llvm_take_object(l, &c->arena, &o.data, &o.size_bytes, &c->why);
  neo_llvm_free(l);
  neo_llvm_leave();
  if (!s)
    NEO_PUSH(&c->arena, &c->network_objects, o);
  return s;
}

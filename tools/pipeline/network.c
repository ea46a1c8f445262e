/* See network.h. An actor's module is compiled as a model of its own, from its text. Names of a
 * network begin with the library's prefix, and with the entry's name unless that is "step". */
#include "tools/pipeline/network.h"
#include "ir/print.h"
#include "tools/pipeline/stages.h"

neo_status neo_compile_cut(neo_compilation *c) {
  neo_net_options o = {.nodes = c->options.network_nodes};
  if (!c->options.network)
    return NEO_OK;
  for (uint32_t k = 0; k < c->module->entries.n; k++) {
    neo_str why = neo_str_in(&c->arena);
    if (c->module->entries.at[k].kind != NEO_ENTRY_TRAIN)
      continue;
    neo_network *n = neo_network_cut(c->module, k, &o, &c->arena);
    NEO_PUSH(&c->arena, &c->networks, n);
    if (neo_network_verify(n, &why)) {
      c->why = neo_arena_printf(&c->arena, "the network is wrong: %s", neo_str_text(&why));
      return NEO_INTERNAL;
    }
  }
  if (!c->networks.n)
    c->why = "--network: the model trains nothing";
  return c->networks.n ? NEO_OK : NEO_ARGUMENT;
}

static const char *base_of(neo_compilation *c, const neo_network *n) {
  const char *entry = neo_name_text(c->names, n->entry);
  return neo_streq(entry, "step")
             ? c->prefix
             : neo_arena_printf(&c->arena, "%s_%s", c->prefix, neo_plan_ident(&c->arena, entry));
}

/* What concerns the model's text, its files and its reports is not the actor's. */
static neo_compile_options options_of(neo_compilation *c, const neo_module *m, const char *prefix) {
  neo_compile_options o = c->options;
  neo_str text = neo_str_in(&c->arena);
  neo_module_print(m, &text);
  o.text = neo_str_text(&text);
  o.text_bytes = text.n;
  o.prefix = prefix;
  o.unseen = o.in_memory = true;
  o.emit = NEO_EMIT_CODE;
  o.network = o.pure = false;
  o.prepare = NULL;
  o.defines = NULL;
  o.names = NULL;
  o.n_defines = o.n_names = 0;
  o.depfile = NULL;
  o.passes.dump_after = NULL;
  o.schedule = NULL;
  o.segment_schedule = NULL;
  o.progress = NULL;
  return o;
}

static void tell(neo_compilation *c, const neo_compilation *actor) {
  neo_str text = neo_str_in(&c->arena);
  if (actor->diags)
    neo_diags_print(actor->diags, &text, false);
  c->why = neo_arena_printf(&c->arena, "the actor %s: %s%s", actor->options.prefix,
                            actor->why ? actor->why : "", neo_str_text(&text));
}

static void take_code(neo_compilation *c, const neo_compilation *actor) {
  for (size_t k = 0; k < actor->outputs.n; k++) {
    const neo_output *x = &actor->outputs.at[k];
    neo_object o = {neo_arena_copy(&c->arena, x->data, x->size_bytes), x->size_bytes};
    if (x->kind == NEO_EMIT_CODE)
      NEO_PUSH(&c->arena, &c->objects, o);
  }
}

static neo_status compile_actor(neo_compilation *c, const neo_module *m, const char *prefix) {
  neo_compilation *actor = NEO_NEW(&c->arena, neo_compilation);
  neo_compile_options o = options_of(c, m, prefix);
  neo_compilation_init(actor, &o);
  neo_status s = neo_compile_all(actor);
  if (s)
    tell(c, actor);
  else
    take_code(c, actor);
  neo_compilation_free(actor);
  return s;
}

static neo_status make_record(neo_compilation *c, const neo_network *n, const char *base) {
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
    NEO_PUSH(&c->arena, &c->objects, o);
  return s;
}

neo_status neo_emit_networks(neo_compilation *c) {
  neo_status s = NEO_OK;
  if (c->networks.n && neo_compile_for_gpu(c)) {
    c->why = "--network is for processors";
    return NEO_UNSUPPORTED;
  }
  for (size_t k = 0; k < c->networks.n && !s; k++) {
    const neo_network *n = c->networks.at[k];
    const char *base = base_of(c, n);
    for (size_t j = 0; j < n->actors.n && !s; j++)
      s = compile_actor(c, n->actors.at[j].module, neo_arena_printf(&c->arena, "%s_n%zu", base, j));
    if (!s)
      s = make_record(c, n, base);
  }
  return s;
}

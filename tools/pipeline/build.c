/* All stages of a build. The module of an actor (network/network.h) is a model of its own, and is
 * built from its text as the model was. */
#include "ir/print.h"
#include "tools/pipeline/network.h"
#include "tools/pipeline/stages.h"

/* The options that concern the model's text, its files and reports are not the actor's. */
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
  o.derived = true;
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
      NEO_PUSH(&c->arena, &c->network_objects, o);
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

neo_status neo_compile_networks(neo_compilation *c) {
  neo_status s = NEO_OK;
  if (c->networks.n && neo_compile_for_gpu(c)) {
    c->why = "--network is for processors";
    return NEO_UNSUPPORTED;
  }
  for (size_t k = 0; k < c->networks.n && !s; k++) {
    const neo_network *n = c->networks.at[k];
    const char *base = neo_network_base(c, n);
    for (size_t j = 0; j < n->actors.n && !s; j++)
      s = compile_actor(c, n->actors.at[j].module, neo_arena_printf(&c->arena, "%s_n%zu", base, j));
    if (!s)
      s = neo_network_link(c, n, base);
  }
  if (c->networks.n)
    neo_cost_add(c, "networks");
  return s;
}

neo_status neo_compile_all(neo_compilation *c) {
  neo_status s = neo_compile_find(c);
  if (!s && !c->found)
    s = neo_compile_plan(c);
  if (!s && !c->found)
    s = neo_compile_networks(c);
  if (!s)
    s = neo_compile_emit(c);
  if (s)
    neo_parts_end(c); /* ends the threads: the report of a bug forks */
  return s;
}

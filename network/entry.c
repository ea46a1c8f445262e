/* Entries of the module of an actor. */
#include "network/actor.h"

neo_list neo_net_list(neo_net_maker *k, const neo_tensors *from) {
  uint32_t *id = NEO_NEW_ARRAY(k->s->a, uint32_t, from->n + 1);
  for (size_t j = 0; j < from->n; j++)
    id[j] = from->at[j].i;
  return neo_list_new(k->m, id, from->n);
}

uint32_t neo_net_add_entry(neo_net_maker *k, neo_entry_kind kind, const char *name,
                           neo_list outputs, neo_list updates) {
  neo_module *m = k->m;
  neo_entry_rec e = {.kind = (uint8_t)kind, .name = neo_name_of(m->names, name)};
  uint32_t *names = NEO_NEW_ARRAY(k->s->a, uint32_t, outputs.n + 1);
  for (uint32_t j = 0; j < outputs.n; j++)
    names[j] = neo_tensor_at(m, neo_list_tensor(m, outputs, j))->name;
  e.outputs = outputs;
  e.names = neo_list_new(m, names, outputs.n);
  e.updates = updates;
  e.span = k->s->entry.span;
  NEO_PUSH(m->arena, &m->entries, e);
  return (uint32_t)m->entries.n - 1;
}

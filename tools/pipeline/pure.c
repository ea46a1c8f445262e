/* --pure: entries become functions of their arguments alone, for frameworks that keep parameters
 * themselves.
 *
 *   before   param W; state s; update s[..] = ..; train loss: the entry step, which gives the loss
 *   after    input W; input s; step gives the loss, then the new values of all updated tensors
 *
 * Parameters, states and settings become inputs of the entries that read them. The new values of
 * updated tensors become outputs, after the others, with the names of the updated tensors. Initial
 * values disappear, and so do entries that only give gradients. The number of finished steps and
 * the seed of rand() stay those of the context (neo_rt_seek). The kind of an entry stays, so that
 * `training` keeps its value. */
#include "tools/pipeline/stages.h"

static bool is_kept(uint8_t role) {
  return role == NEO_ROLE_PARAM || role == NEO_ROLE_STATE || role == NEO_ROLE_SETTING;
}

/* Makes the outputs of an entry its outputs, then its updates, under the names of the updated
 * tensors. */
static void return_updates(neo_module *m, neo_entry_rec *e) {
  uint32_t n = e->outputs.n, more = e->updates.n;
  uint32_t *outputs = NEO_NEW_ARRAY(m->arena, uint32_t, n + more);
  uint32_t *names = NEO_NEW_ARRAY(m->arena, uint32_t, n + more);
  for (uint32_t k = 0; k < n; k++) {
    outputs[k] = neo_list_at(m, e->outputs, k);
    names[k] = neo_list_at(m, e->names, k);
  }
  for (uint32_t k = 0; k < more; k++) {
    neo_tensor t = {outputs[n + k] = neo_list_at(m, e->updates, k)};
    names[n + k] = neo_tensor_at(m, neo_tensor_at(m, t)->updates)->name;
  }
  e->outputs = neo_list_new(m, outputs, n + more);
  e->names = neo_list_new(m, names, n + more);
  e->updates = (neo_list){0};
}

static void drop_gradient_entries(neo_module *m) {
  size_t n = 0;
  for (size_t k = 0; k < m->entries.n; k++)
    if (m->entries.at[k].kind != NEO_ENTRY_GRAD)
      m->entries.at[n++] = m->entries.at[k];
  m->entries.n = n;
}

void neo_module_make_pure(neo_module *m) {
  drop_gradient_entries(m);
  for (size_t k = 0; k < m->entries.n; k++)
    return_updates(m, &m->entries.at[k]);
  for (uint32_t k = 1; k < m->tensors.n; k++) {
    neo_tensor_rec *r = &m->tensors.at[k];
    if (r->role == NEO_ROLE_UPDATE) {
      r->role = NEO_ROLE_TEMP;
      r->updates = (neo_tensor){0};
    }
    if (is_kept(r->role)) {
      r->role = NEO_ROLE_INPUT;
      r->init = (neo_def){0};
    }
  }
}

/* model.c: questions about a model record. */
#include "runtime/core/ctx.h"
#include <string.h>

const char *neo_rti_role_name(uint8_t role) {
  static const char *const names[] = {"input", "setting", "parameter", "state", "output"};
  return role <= NEO_RT_ROLE_OUTPUT ? names[role] : "?";
}

bool neo_rti_tensor_persists(const neo_rt_tensor *t) {
  return t->role == NEO_RT_ROLE_PARAM || t->role == NEO_RT_ROLE_STATE ||
         t->role == NEO_RT_ROLE_SETTING;
}

int32_t neo_rt_find(const neo_rt_model *model, const char *name) {
  if (!model || !name)
    return -1;
  for (int32_t i = 0; i < model->n_tensors; i++)
    if (strcmp(model->tensors[i].name, name) == 0)
      return i;
  return -1;
}

int32_t neo_rt_find_entry(const neo_rt_model *model, const char *name) {
  if (!model || !name)
    return -1;
  for (int32_t i = 0; i < model->n_entries; i++)
    if (strcmp(model->entries[i].name, name) == 0)
      return i;
  return -1;
}

static int64_t eval_at_max(const neo_rt_model *m, int32_t program) {
  int64_t hi[NEO_RT_MOST_SIZES], x;
  if (m->n_sizes > NEO_RT_MOST_SIZES)
    return -1;
  for (int32_t i = 0; i < m->n_sizes; i++)
    hi[i] = m->sizes[i].hi;
  return neo_rti_program_eval(m->programs + program, hi, m->n_sizes, &x) ? -1 : x;
}

int32_t neo_rti_call_sizes(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t e = 0; e < m->n_entries; e++)
    for (int32_t k = 0; k < m->entries[e].n_sizes; k++) {
      int32_t size = m->entry_sizes[m->entries[e].sizes + k];
      n = size >= n ? size + 1 : n;
    }
  return n;
}

int64_t neo_rti_eval(const neo_rt_model *m, int32_t program, const int64_t *sizes) {
  return sizes ? neo_rt_eval(m, program, sizes) : eval_at_max(m, program);
}

int64_t neo_rti_extents(const neo_rt_model *model, const neo_rt_tensor *t, const int64_t *sizes,
                        int64_t *extent) {
  int64_t n = 1;
  for (int d = 0; d < t->rank; d++) {
    int64_t x = neo_rti_eval(model, model->extents[t->extent + d], sizes);
    extent[d] = x < 0 ? 0 : x;
    if (!neo_rti_mul(n, extent[d], &n))
      n = INT64_MAX;
  }
  return n;
}

int64_t neo_rti_most_bytes(const neo_rt_model *model, const neo_rt_tensor *t) {
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(model, t, NULL, extent);
  return neo_rti_mul(n, (int64_t)neo_rti_type_bytes(t->type), &n) ? n : INT64_MAX;
}

/* The buffer's size counts too: an extent may shrink as its sizes grow (10 - B). */
int64_t neo_rti_spill_bytes(const neo_rt_model *model, const neo_rt_tensor *t) {
  int64_t n = neo_rti_most_bytes(model, t), most = model->bufs[t->buf].size_bytes;
  return neo_rti_round_up(n > most ? n : most);
}

size_t neo_rti_tensor_bytes(const neo_rt_model *model, const neo_rt_tensor *t, int64_t *extent) {
  int64_t own[NEO_RTI_MAX_RANK];
  return (size_t)neo_rti_extents(model, t, NULL, extent ? extent : own) *
         neo_rti_type_bytes(t->type);
}

#include "autodiff/saved.h"

/* Marks the tensors that the definitions of y make (1) and read (2). */
static uint8_t *forward_of(neo_module *m, neo_tensor y, neo_arena *a) {
  uint8_t *is = NEO_NEW_ARRAY(a, uint8_t, m->tensors.n + 1);
  neo_def *defs;
  size_t n = neo_module_topo(m, &y, 1, a, &defs, NULL);
  for (size_t k = 0; k < n; k++) {
    neo_tensor *reads;
    neo_list out = neo_def_at(m, defs[k])->out;
    size_t n_reads = neo_def_reads(m, defs[k], a, &reads);
    for (uint32_t i = 0; i < out.n; i++)
      is[neo_list_at(m, out, i)] |= 1;
    for (size_t i = 0; i < n_reads; i++)
      is[reads[i].i] |= 2;
  }
  return is;
}

static void add_reader(neo_tensors *by, neo_tensor t, neo_arena *a) {
  size_t at = by->n;
  for (size_t k = 0; k < by->n; k++)
    if (by->at[k].i == t.i)
      return;
  NEO_PUSH(a, by, t);
  for (; at > 0 && by->at[at - 1].i > t.i; at--)
    by->at[at] = by->at[at - 1];
  by->at[at] = t;
}

/* Readers of each forward tensor among the definitions that only the gradients need. */
static neo_tensors *readers_of(neo_module *m, const neo_grad_rec *request, const uint8_t *forward,
                               neo_arena *a) {
  neo_tensors *by = NEO_NEW_ARRAY(a, neo_tensors, m->tensors.n + 1);
  neo_tensors outs = {0};
  neo_tensor *reads;
  neo_def *defs;
  neo_tensors_add(m, a, &outs, request->out);
  size_t n = neo_module_topo(m, outs.at, outs.n, a, &defs, NULL);
  for (size_t k = 0; k < n; k++) {
    neo_tensor out = neo_def_out(m, defs[k], 0);
    size_t n_reads = forward[out.i] & 1 ? 0 : neo_def_reads(m, defs[k], a, &reads);
    for (size_t i = 0; i < n_reads; i++)
      if (forward[reads[i].i])
        add_reader(&by[reads[i].i], out, a);
  }
  return by;
}

const neo_saved *neo_gradient_reads(neo_module *m, const neo_grad_rec *request, neo_arena *a,
                                    size_t *n) {
  NEO_VEC(neo_saved) found = {0};
  const uint8_t *forward = forward_of(m, request->y, a);
  const neo_tensors *by = readers_of(m, request, forward, a);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (by[t].n)
      NEO_PUSH(a, &found, (neo_saved){{t}, forward[t] & 1, by[t].at, by[t].n});
  *n = found.n;
  return found.at;
}

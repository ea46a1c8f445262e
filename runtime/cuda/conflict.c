/* conflict.c: data dependences between steps of an entry. Two steps may not be reordered if one
 * writes memory that the other one reads or writes, by the addresses of their arguments in this
 * call. Two steps that write different pieces of one tensor are independent, in one iteration of
 * loops. */
#include "runtime/cuda/cuda.h"

static bool meet(const neo_rt_ctx *c, int32_t a, int32_t b) {
  const unsigned char *p = c->ptr[a], *q = c->ptr[b];
  return p < q + c->room[c->model->args[b]] && q < p + c->room[c->model->args[a]];
}

/* Do the two steps write different pieces of one tensor? */
static bool are_pieces(const neo_rt_ctx *c, const neo_rt_step *a, int32_t i, const neo_rt_step *b,
                       int32_t k) {
  const neo_rt_model *m = c->model;
  int32_t whole = m->bufs[m->args[a->first + i]].whole;
  bool known = a->op == NEO_RT_STEP_RUN && b->op == NEO_RT_STEP_RUN && a->n_written && b->n_written;
  return known && whole && whole == m->bufs[m->args[b->first + k]].whole &&
         neo_rti_step_writes(a, i) && neo_rti_step_writes(b, k);
}

bool neo_rti_cuda_conflict(const neo_rt_ctx *c, int32_t step, int32_t other, bool other_iteration) {
  const neo_rt_step *a = &c->model->steps[step], *b = &c->model->steps[other];
  for (int32_t i = 0; i < neo_rti_step_args(a); i++)
    for (int32_t k = 0; k < neo_rti_step_args(b); k++)
      if ((neo_rti_step_writes(a, i) || neo_rti_step_writes(b, k)) &&
          meet(c, a->first + i, b->first + k) && (other_iteration || !are_pieces(c, a, i, b, k)))
        return true;
  return false;
}

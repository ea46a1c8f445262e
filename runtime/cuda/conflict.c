/* conflict.c: data dependences between steps of an entry. Two steps may not be reordered if one
 * writes memory that the other one reads or writes, by the addresses of their arguments in this
 * call. Two steps that write different pieces of one tensor are independent, in one iteration of
 * loops. */
#include "runtime/cuda/cuda.h"

typedef struct {
  const neo_rt_step *step;
  int32_t written, n; /* first written argument (those before it are only read); number of
                         arguments */
} uses;

static uses uses_of(const neo_rt_step *s) {
  uses u = {s, 0, neo_rti_step_args(s)};
  if (s->op == NEO_RT_STEP_RUN && s->n_written)
    u.written = s->n - s->n_written;
  return u;
}

/* Whether the step writes the argument. A copy writes argument 0 and reads argument 1; a loop reads
 * the offsets of its blocks. */
static bool writes(uses u, int32_t arg) {
  if (u.step->op == NEO_RT_STEP_LOOP)
    return false;
  return u.step->op == NEO_RT_STEP_COPY ? arg == 0 : arg >= u.written;
}

static bool meet(const neo_rt_ctx *c, int32_t a, int32_t b) {
  const unsigned char *p = c->ptr[a], *q = c->ptr[b];
  return p < q + c->room[c->model->args[b]] && q < p + c->room[c->model->args[a]];
}

/* Do the two steps write different pieces of one tensor? */
static bool are_pieces(const neo_rt_ctx *c, uses a, int32_t i, uses b, int32_t k) {
  const neo_rt_model *m = c->model;
  int32_t whole = m->bufs[m->args[a.step->first + i]].whole;
  bool known = a.step->op == NEO_RT_STEP_RUN && b.step->op == NEO_RT_STEP_RUN &&
               a.step->n_written && b.step->n_written;
  return known && whole && whole == m->bufs[m->args[b.step->first + k]].whole && writes(a, i) &&
         writes(b, k);
}

bool neo_rti_cuda_conflict(const neo_rt_ctx *c, int32_t step, int32_t other, bool other_round) {
  uses a = uses_of(&c->model->steps[step]), b = uses_of(&c->model->steps[other]);
  for (int32_t i = 0; i < a.n; i++)
    for (int32_t k = 0; k < b.n; k++)
      if ((writes(a, i) || writes(b, k)) && meet(c, a.step->first + i, b.step->first + k) &&
          (other_round || !are_pieces(c, a, i, b, k)))
        return true;
  return false;
}

/* A loss that is NaN or infinite: the training stops, with the step and the first tensor that is
 * not finite, looked for in the order in which a step uses them: the batch, settings, parameters,
 * states. */
#include "runtime/files.h"
#include "runtime/model.h"
#include "tools/neoc/train/graphs.h"
#include "tools/neoc/train/train.h"
#include <math.h>

/* The first element that is not finite; -1: none. */
static int64_t first_bad(const neo_rt_array *x, int64_t n) {
  if (!neo_type_is_float((neo_type)x->type))
    return -1;
  for (int64_t k = 0; k < n; k++)
    if (!isfinite(neoc_array_at(x, k)))
      return k;
  return -1;
}

static const char *element_text(neo_arena *a, const char *name, uint32_t rank,
                                const int64_t *extent, int64_t at) {
  int64_t index[NEO_RTI_MAX_RANK];
  for (uint32_t d = rank; d-- > 0; at /= extent[d])
    index[d] = at % extent[d];
  return rank ? neo_arena_printf(a, "%s%s", name, neoc_shape_text(a, rank, index)) : name;
}

/* ---- the batch */

static const char *bad_input(const neoc_trainer *t, const neoc_trained *e, int64_t n) {
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_entry *entry = &m->entries[e->feed.entry];
  for (int32_t k = 0; k < entry->n_inputs; k++) {
    const neo_rt_tensor *x = neoc_feed_tensor(&e->feed, k);
    neo_rt_array a = {.type = x->type, .data = e->feed.args[k]};
    int64_t extent[NEO_RTI_MAX_RANK], row = 1;
    neo_rti_extents(m, x, NULL, extent);
    for (int d = 1; d < x->rank; d++)
      row *= extent[d];
    int32_t tensor = m->entry_args[entry->args + k];
    bool ragged = t->data.source[tensor].member == NEOC_RAGGED;
    int64_t bad = first_bad(&a, (ragged ? neoc_graphs_count(&t->data, tensor) : n) * row);
    if (bad >= 0 && ragged)
      return neo_arena_printf(
          t->cli->arena, "%s is %g in %s", x->name, neoc_printed(neoc_array_at(&a, bad)),
          neoc_graphs_place(&t->data, tensor, t->order + t->position, n, bad / row));
    if (bad >= 0)
      return neo_arena_printf(t->cli->arena, "%s is %g in %s", x->name,
                              neoc_printed(neoc_array_at(&a, bad)),
                              neoc_data_place(&t->data, m->entry_args[entry->args + k],
                                              t->order[t->position + bad / row], bad % row));
  }
  return NULL;
}

/* ---- parameters and states */

static const char *bad_tensor(const neoc_trainer *t, int32_t tensor) {
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_tensor *x = &m->tensors[tensor];
  neo_rt_array a = {.type = x->type, .rank = x->rank};
  int64_t n = neo_rti_extents(m, x, NULL, a.extent);
  size_t bytes = (size_t)n * neo_rti_type_bytes(x->type);
  const char *text = NULL;
  a.data = neo_alloc_default.resize(neo_alloc_default.ctx, NULL, bytes + 1);
  if (!a.data)
    return NULL; /* the message then lacks the element */
  int64_t bad = neo_rt_get(t->r.ctx, tensor, a.data, bytes) ? -1 : first_bad(&a, n);
  if (bad >= 0)
    text = neo_arena_printf(t->cli->arena, "%s is %g (%s)",
                            element_text(t->cli->arena, x->name, x->rank, a.extent, bad),
                            neoc_printed(neoc_array_at(&a, bad)), x->place);
  NEO_RTI_FREE(&neo_alloc_default, a.data);
  return text;
}

/* The first parameter or state with a value that is not finite. Settings are the user's, and may be
 * infinite (clip = inf). */
static const char *bad_kept(const neoc_trainer *t) {
  static const uint8_t roles[] = {NEO_RT_ROLE_PARAM, NEO_RT_ROLE_STATE};
  const neo_rt_model *m = t->r.lib.model;
  for (size_t k = 0; k < sizeof roles; k++)
    for (int32_t i = 0; i < m->n_tensors; i++) {
      const neo_rt_tensor *x = &m->tensors[i];
      bool looked_at = x->role == roles[k] && neo_type_is_float((neo_type)x->type);
      const char *text = looked_at ? bad_tensor(t, i) : NULL;
      if (text)
        return text;
    }
  return NULL;
}

/* ---- telling */

static neoc_exit tell(const neoc_trainer *t, const char *what, const char *where) {
  const char *kept = "nothing was saved";
  if (t->save && t->saved_step)
    kept = neo_arena_printf(t->cli->arena, "%s is of step %llu", t->save,
                            (unsigned long long)t->saved_step);
  neoc_clear_progress(t);
  return neoc_fail(t->cli, NEOC_FAILED, "step %llu, epoch %lld: %s%s%s; %s (--allow-nan goes on)",
                   (unsigned long long)neo_rt_step_count(t->r.ctx), (long long)t->epoch + 1, what,
                   where ? ", " : "", where ? where : "", kept);
}

void neoc_check_empty(neoc_trainer *t, const neoc_feed *f, int32_t output) {
  const neo_rt_entry *e = &f->data->r->lib.model->entries[f->entry];
  const char *size = isnan(neoc_feed_scalar(f, output)) ? neoc_feed_empty(f) : NULL;
  if (!size || t->told_empty)
    return;
  t->told_empty = true;
  neoc_clear_progress(t);
  fprintf(stderr, "%s of entry %s is nan, and %s is 0 in this batch\n",
          neoc_feed_tensor(f, e->n_inputs + output)->name, e->name, size);
}

neoc_exit neoc_check_loss(const neoc_trainer *t, const neoc_trained *e, int64_t n) {
  if (t->allow_nan || isfinite(e->loss))
    return NEOC_OK;
  const char *what = neo_arena_printf(
      t->cli->arena, "%s is %g",
      neoc_feed_tensor(&e->feed, t->r.lib.model->entries[e->feed.entry].n_inputs)->name,
      neoc_printed(e->loss));
  const char *where = bad_input(t, e, n);
  if (where)
    return tell(t, what, where);
  where = bad_kept(t);
  return tell(t, what,
              where ? neo_arena_printf(t->cli->arena, "after it %s", where)
                    : "and inputs, parameters and states are finite");
}

neoc_exit neoc_tell_nan(const neoc_trainer *t, const char *what) {
  return tell(t, what, NULL);
}

neoc_exit neoc_check_kept(const neoc_trainer *t) {
  const char *where = bad_kept(t);
  return where ? tell(t, "the losses are finite, but", where) : NEOC_OK;
}

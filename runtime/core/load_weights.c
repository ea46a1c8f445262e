/* load_weights.c: parameters and states of a context from a file of another program, or of another
 * model (runtime/weights.h). */
#include "runtime/context.h"
#include "runtime/core/device.h"
#include "runtime/core/load.h"
#include "runtime/core/run.h"
#include <string.h>

static void make_slots(const neo_rt_ctx *c, neo_rti_weights *w, const neo_rt_tensor **tensor) {
  const neo_rt_model *m = c->model;
  w->slots = NEO_NEW_ARRAY(w->arena, neo_rti_slot, m->n_tensors + 1);
  for (int32_t i = 0; i < m->n_tensors; i++) {
    const neo_rt_tensor *t = &m->tensors[i];
    if (!t->in_safetensors || !neo_rti_tensor_persists(t))
      continue;
    tensor[w->n_slots] = t;
    neo_rti_slot *s = &w->slots[w->n_slots++];
    *s = (neo_rti_slot){
        .name = t->name, .place = t->place, .role = t->role, .type = t->type, .rank = t->rank};
    s->kind = (uint8_t)neo_rti_slot_kind_of(t->role, t->optimizer);
    s->count = neo_rti_extents(m, t, NULL, s->extent);
  }
}

/* The entry that computes the states that follow from parameters; null: there are none. */
static const neo_rt_entry *following(const neo_rt_model *m) {
  const neo_rt_entry *first = neo_rti_init_entry(m, 0);
  return first ? neo_rti_init_entry(m, 1) : NULL;
}

static void note_following(const neo_rt_model *m, neo_rti_weights *w,
                           const neo_rt_tensor **tensor) {
  const neo_rt_entry *e = following(m);
  for (int32_t i = 0; e && i < e->n_writes; i++)
    for (size_t k = 0; k < w->n_slots; k++)
      if (tensor[k] == &m->tensors[m->entry_writes[e->writes + i]])
        w->slots[k].follows = true;
}

typedef enum { CHECK, PUT_PARAMS, PUT_OTHERS } filling;

/* Checks the new elements of each slot, or stores them; `buffer` holds those of one slot at a
 * time. */
static neo_rt_status fill_slots(neo_rt_ctx *c, neo_rti_weights *w, const neo_rt_tensor **tensor,
                                void *buffer, filling how) {
  neo_rt_status status = NEO_OK;
  for (size_t k = 0; !status && k < w->n_slots; k++) {
    const neo_rti_slot *s = &w->slots[k];
    size_t n = (size_t)s->count * neo_rti_type_bytes(s->type);
    bool put = how != CHECK;
    if (s->found == 0 || (put && (how == PUT_PARAMS) != (s->role == NEO_RT_ROLE_PARAM)))
      continue;
    status = neo_rti_weights_fill(w, k, buffer);
    if (!status && put)
      status = neo_rti_put(c, neo_rti_tensor_data(c, tensor[k]), buffer, n);
    else if (!status && (status = neo_rti_check_values(c, tensor[k], buffer, NULL)) != NEO_OK)
      neo_str_add(&w->error, c->error);
  }
  return status;
}

static size_t largest_slot(const neo_rti_weights *w) {
  size_t most = 0;
  for (size_t k = 0; k < w->n_slots; k++) {
    size_t n = (size_t)w->slots[k].count * neo_rti_type_bytes(w->slots[k].type);
    most = n > most ? n : most;
  }
  return most;
}

static bool remakes_any(const neo_rti_weights *w) {
  for (size_t k = 0; k < w->n_slots; k++)
    if (neo_rti_weights_remakes(w, &w->slots[k]))
      return true;
  return false;
}

/* Copies states to `saved`, or back: those that follow from parameters but keep their values,
 * although the entry recomputes all. */
static neo_rt_status save_following(neo_rt_ctx *c, const neo_rti_weights *w,
                                    const neo_rt_tensor **tensor, void **saved, bool back) {
  neo_rt_status status = NEO_OK;
  for (size_t k = 0; !status && k < w->n_slots; k++) {
    const neo_rti_slot *s = &w->slots[k];
    size_t n = (size_t)s->count * neo_rti_type_bytes(s->type);
    if (!s->follows || neo_rti_weights_remakes(w, s))
      continue;
    void *data = neo_rti_tensor_data(c, tensor[k]);
    if (!back)
      saved[k] = neo_arena_alloc(w->arena, n + 1);
    status = back ? neo_rti_put(c, data, saved[k], n) : neo_rti_take(c, saved[k], data, n);
  }
  return status;
}

/* Puts the slots' elements into the context, after all checks. Steps that may run out of memory
 * come before any change. */
static neo_rt_status put_slots(neo_rt_ctx *c, neo_rti_weights *w, const neo_rt_tensor **tensor,
                               void *buffer) {
  void **saved = NEO_NEW_ARRAY(w->arena, void *, w->n_slots + 1);
  bool remakes = remakes_any(w);
  neo_rt_status status = NEO_OK;
  if (remakes)
    status = save_following(c, w, tensor, saved, false);
  if (!status)
    status = fill_slots(c, w, tensor, buffer, PUT_PARAMS);
  if (!status && remakes)
    status = neo_rti_init_run(c, following(c->model));
  if (!status && remakes)
    status = save_following(c, w, tensor, saved, true);
  return status ? status : fill_slots(c, w, tensor, buffer, PUT_OTHERS);
}

typedef struct {
  neo_rt_weights options;
  neo_arena arena;
  jmp_buf no_memory;
  neo_rti_summary summary;
} weights_job;

static neo_rt_status fill_from(neo_rt_ctx *c, const char *path, const neo_rti_file_tensors *file,
                               weights_job *j) {
  neo_rti_weights w = {.arena = &j->arena, .file = file};
  const neo_rt_tensor **tensor = NEO_NEW_ARRAY(w.arena, const neo_rt_tensor *, c->model->n_tensors);
  make_slots(c, &w, tensor);
  note_following(c->model, &w, tensor);
  neo_rt_status status = neo_rti_weights_match(&w, &j->options);
  void *buffer = status ? NULL : neo_arena_alloc(w.arena, largest_slot(&w) + 1);
  if (!status)
    status = fill_slots(c, &w, tensor, buffer, CHECK);
  if (!status && following(c->model)) /* its kernels read the present values */
    status = neo_rti_check_exposed(c);
  if (!status)
    status = put_slots(c, &w, tensor, buffer);
  if (status && w.error.n)
    return neo_rti_fail(c, status, "%s: %s", path, neo_str_text(&w.error));
  if (!status) {
    neo_rti_weights_summary(&w, &j->summary);
    neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: %s", path, j->summary.text);
  }
  return status;
}

static neo_rt_status fill(neo_rt_ctx *c, const char *path, const neo_rti_file_tensors *file,
                          weights_job *j) {
  if (setjmp(j->no_memory))
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
  return fill_from(c, path, file, j);
}

static neo_rt_weights full_options(const neo_rt_weights *given) {
  neo_rt_weights o = {0};
  size_t n = given && given->struct_size ? given->struct_size : sizeof o;
  if (given)
    memcpy(&o, given, n < sizeof o ? n : sizeof o);
  return o;
}

neo_rt_status neo_rti_load_weights(neo_rt_ctx *c, const char *path, const neo_rt_weights *options,
                                   neo_rti_summary *summary) {
  weights_job j = {.options = full_options(options)};
  neo_rti_loading l;
  neo_rt_status status =
      neo_rti_loading_open(c, path, (j.options.flags & NEO_RT_WEIGHTS_ALL) != 0, &l);
  if (status)
    return status;
  neo_arena_init(&j.arena, c->env.alloc, &j.no_memory);
  status = neo_rti_loading_close(c, &l, fill(c, path, &l.file, &j));
  neo_arena_free(&j.arena);
  if (summary)
    *summary = j.summary;
  return status;
}

neo_rt_status neo_rt_load_weights(neo_rt_ctx *c, const char *path, const neo_rt_weights *options) {
  return neo_rti_load_weights(c, path, options, NULL);
}

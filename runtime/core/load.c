/* load.c: loads what the context keeps from a safetensors file: a checkpoint as it was saved, or
 * parameters and states from elsewhere (weights.h).
 *
 * Loading reads the whole file, checks it against the model (every name, type, shape and index
 * value), and only then copies: a load that fails has changed nothing. */
#include "runtime/weights.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *reason(void) {
  return errno ? strerror(errno) : "input/output error";
}

static const neo_rti_st_tensor *find(const neo_rti_st *st, const char *name) {
  for (size_t i = 0; i < st->n_tensors; i++)
    if (strcmp(st->tensors[i].name, name) == 0)
      return &st->tensors[i];
  return NULL;
}

static neo_rt_status check_tensor(neo_rt_ctx *c, const char *path, const neo_rti_st *st,
                                  const neo_rt_tensor *t) {
  const neo_rti_st_tensor *f = find(st, t->name);
  int64_t extent[NEO_RTI_MAX_RANK];
  if (!f)
    return neo_rti_fail(c, NEO_NAME, "%s: %s: is missing from the file (%s)", path, t->name,
                        t->place);
  if (f->type != t->type)
    return neo_rti_fail(c, NEO_TYPE, "%s: %s: type is %s, expected %s (%s)", path, t->name,
                        f->type <= NEO_RT_BOOL ? neo_rti_type_name(f->type)
                                               : neo_rti_st_type_name(f->type),
                        neo_rti_type_name(t->type), t->place);
  if (f->rank != t->rank)
    return neo_rti_fail(c, NEO_SHAPE, "%s: %s: rank is %d, expected %d (%s)", path, t->name,
                        f->rank, t->rank, t->place);
  neo_rti_extents(c->model, t, NULL, extent);
  for (int d = 0; d < t->rank; d++)
    if (f->extent[d] != extent[d])
      return neo_rti_fail(c, NEO_SHAPE, "%s: %s: dim %d is %" PRId64 ", expected %" PRId64 " (%s)",
                          path, t->name, d, f->extent[d], extent[d], t->place);
  return NEO_OK;
}

/* The file's data need not be aligned for its type; a value check reads elements, so it copies. */
static neo_rt_status check_elements(neo_rt_ctx *c, const neo_rti_st *st, const neo_rt_tensor *t) {
  bool is_index = t->bound >= 0 && neo_rti_type_is_int(t->type);
  if (!is_index && t->type != NEO_RT_BOOL)
    return NEO_OK;
  const neo_rti_st_tensor *f = find(st, t->name);
  size_t n = f->end - f->begin;
  void *copy = st->alloc.resize(st->alloc.ctx, NULL, n + 1);
  if (!copy)
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", t->name);
  memcpy(copy, st->data + f->begin, n);
  neo_rt_status status = neo_rti_check_values(c, t, copy, NULL);
  NEO_RTI_FREE(&st->alloc, copy);
  return status;
}

/* By name among the saved ones: an output may be named as the parameter that it returns. */
static const neo_rt_tensor *find_saved(const neo_rt_model *m, const char *name) {
  for (int32_t i = 0; i < m->n_tensors; i++) {
    const neo_rt_tensor *t = &m->tensors[i];
    if (t->in_safetensors && neo_rti_tensor_kept(t) && strcmp(t->name, name) == 0)
      return t;
  }
  return NULL;
}

static neo_rt_status check_file(neo_rt_ctx *c, const char *path, const neo_rti_st *st) {
  const neo_rt_model *m = c->model;
  neo_rt_status status = NEO_OK;
  for (int32_t i = 0; !status && i < m->n_tensors; i++) {
    const neo_rt_tensor *t = &m->tensors[i];
    if (!t->in_safetensors || !neo_rti_tensor_kept(t))
      continue;
    status = check_tensor(c, path, st, t);
    if (!status)
      status = check_elements(c, st, t);
  }
  for (size_t i = 0; !status && i < st->n_tensors; i++)
    if (!find_saved(m, st->tensors[i].name))
      status = neo_rti_fail(c, NEO_NAME, "%s: %s: the model has no such parameter or state", path,
                            st->tensors[i].name);
  return status;
}

static const char *meta_value(const neo_rt_pair *meta, size_t n, const char *key) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(meta[i].key, key) == 0)
      return meta[i].value;
  return NULL;
}

/* A decimal number of the metadata; absent leaves *out (files that others wrote). */
static neo_rt_status read_u64(neo_rt_ctx *c, const char *path, const neo_rti_st *st,
                              const char *key, uint64_t *out) {
  const char *p = meta_value(st->meta, st->n_meta, key);
  uint64_t x = 0;
  if (!p)
    return NEO_OK;
  bool ok = *p != 0;
  for (; ok && *p; p++)
    ok = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(x, 10, &x) &&
         !__builtin_add_overflow(x, (uint64_t)(*p - '0'), &x);
  if (!ok)
    return neo_rti_fail(c, NEO_FORMAT, "%s: metadata '%s' is not a number", path, key);
  *out = x;
  return NEO_OK;
}

/* The metadata in one block that outlives the file: the pairs, then their text. */
static neo_rt_pair *copy_meta(const neo_rt_ctx *c, const neo_rti_st *st) {
  size_t n = st->n_meta * sizeof(neo_rt_pair) + 1;
  for (size_t i = 0; i < st->n_meta; i++)
    n += strlen(st->meta[i].key) + strlen(st->meta[i].value) + 2;
  neo_rt_pair *copy = c->env.alloc.resize(c->env.alloc.ctx, NULL, n);
  if (!copy)
    return NULL;
  char *text = (char *)(copy + st->n_meta);
  for (size_t i = 0; i < st->n_meta; i++) {
    size_t key = strlen(st->meta[i].key) + 1, value = strlen(st->meta[i].value) + 1;
    copy[i].key = memcpy(text, st->meta[i].key, key);
    copy[i].value = memcpy(text + key, st->meta[i].value, value);
    text += key + value;
  }
  return copy;
}

static neo_rt_status take_tensors(neo_rt_ctx *c, const neo_rti_st *st) {
  neo_rt_status s = NEO_OK;
  for (size_t i = 0; !s && i < st->n_tensors; i++) {
    const neo_rti_st_tensor *f = &st->tensors[i];
    const neo_rt_tensor *t = find_saved(c->model, f->name);
    s = neo_rti_put(c, neo_rti_tensor_data(c, t), st->data + f->begin, f->end - f->begin);
  }
  return s;
}

/* Metadata, seed and step become the context's; null: they stay. */
static void keep_meta(neo_rt_ctx *c, const neo_rti_st *st, neo_rt_pair *meta, const uint64_t *seed,
                      const uint64_t *step) {
  if (c->loaded)
    NEO_RTI_FREE(&c->env.alloc, c->loaded);
  c->loaded = meta;
  c->n_loaded = st->n_meta;
  c->seed = seed ? *seed : c->seed;
  c->step = step ? *step : c->step;
}

/* Assigns the file's tensors. Fails without a change, or reports a copy that failed. */
typedef neo_rt_status taking(neo_rt_ctx *c, const char *path, const neo_rti_st *st, void *user);

static neo_rt_status take_all(neo_rt_ctx *c, const char *path, const neo_rti_st *st, void *user) {
  (void)user;
  neo_rt_status status = check_file(c, path, st);
  return status ? status : take_tensors(c, st);
}

static neo_rt_status take_file(neo_rt_ctx *c, const char *path, const neo_rti_st *st, taking *take,
                               void *user, bool with_step) {
  uint64_t seed = c->seed, step = c->step;
  neo_rt_status status = with_step ? read_u64(c, path, st, "seed", &seed) : NEO_OK;
  if (!status && with_step)
    status = read_u64(c, path, st, "step", &step);
  if (status)
    return status;
  neo_rt_pair *meta = copy_meta(c, st);
  if (!meta)
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
  status = take(c, path, st, user);
  neo_rti_keep_changed(c, -1);
  if (status)
    NEO_RTI_FREE(&c->env.alloc, meta);
  else
    keep_meta(c, st, meta, &seed, &step);
  return status;
}

static neo_rt_status load(neo_rt_ctx *c, const char *path, taking *take, void *user,
                          bool with_step) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  if (!path)
    return neo_rti_fail(c, NEO_NULL, "the path is null");
  unsigned char *p;
  size_t n;
  char what[512] = "";
  errno = 0;
  status = neo_rti_file_read(&c->env, path, &p, &n);
  if (status == NEO_MEMORY)
    return neo_rti_fail(c, status, "%s: out of memory", path);
  if (status)
    return neo_rti_fail(c, status, "%s: cannot be read: %s", path, reason());
  neo_rti_st st;
  status = neo_rti_st_parse(&c->env.alloc, p, n, &st, what, sizeof what);
  if (status) {
    neo_rti_fail(c, status, "%s: %s", path, what);
  } else {
    status = take_file(c, path, &st, take, user, with_step);
    neo_rti_st_free(&st);
  }
  NEO_RTI_FREE(&c->env.alloc, p);
  return status;
}

neo_rt_status neo_rt_load(neo_rt_ctx *c, const char *path) {
  return load(c, path, take_all, NULL, true);
}

/* ------------------------------------------------------------ from elsewhere */

static void make_slots(const neo_rt_ctx *c, neo_rti_weights *w, const neo_rt_tensor **tensor) {
  const neo_rt_model *m = c->model;
  const char **entry = NEO_NEW_ARRAY(w->arena, const char *, m->n_entries + 1);
  size_t n_entries = 0;
  w->slots = NEO_NEW_ARRAY(w->arena, neo_rti_slot, m->n_tensors + 1);
  for (int32_t i = 0; i < m->n_tensors; i++) {
    const neo_rt_tensor *t = &m->tensors[i];
    if (!t->in_safetensors || !neo_rti_tensor_kept(t))
      continue;
    tensor[w->n_slots] = t;
    neo_rti_slot *s = &w->slots[w->n_slots++];
    *s = (neo_rti_slot){
        .name = t->name, .place = t->place, .role = t->role, .type = t->type, .rank = t->rank};
    s->count = neo_rti_extents(m, t, NULL, s->extent);
  }
  for (int32_t i = 0; i < m->n_entries; i++)
    if (m->entries[i].kind == NEO_RT_ENTRY_TRAIN)
      entry[n_entries++] = m->entries[i].name;
  neo_rti_slots_classify(w->slots, w->n_slots, entry, n_entries);
}

/* The entry that makes states that follow from parameters; null if there are none. */
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

/* Each slot's new elements, by way of one buffer: checked, or put in place. */
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

typedef struct {
  neo_rt_weights options;
  neo_arena arena;
  jmp_buf no_memory;
  neo_rti_summary summary;
} weights_job;

static neo_rt_status fill_from(neo_rt_ctx *c, const char *path, const neo_rti_st *st,
                               weights_job *j) {
  neo_rti_weights w = {.arena = &j->arena, .st = st};
  const neo_rt_tensor **tensor = NEO_NEW_ARRAY(w.arena, const neo_rt_tensor *, c->model->n_tensors);
  make_slots(c, &w, tensor);
  note_following(c->model, &w, tensor);
  neo_rt_status status = neo_rti_weights_match(&w, &j->options);
  void *buffer = status ? NULL : neo_arena_alloc(w.arena, largest_slot(&w) + 1);
  if (!status)
    status = fill_slots(c, &w, tensor, buffer, CHECK);
  if (!status)
    status = fill_slots(c, &w, tensor, buffer, PUT_PARAMS);
  if (!status && following(c->model))
    status = neo_rti_init_run(c, following(c->model));
  if (!status)
    status = fill_slots(c, &w, tensor, buffer, PUT_OTHERS);
  if (status && w.error.n)
    return neo_rti_fail(c, status, "%s: %s", path, neo_str_text(&w.error));
  if (!status) {
    neo_rti_weights_summary(&w, &j->summary);
    neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: %s", path, j->summary.text);
  }
  return status;
}

static neo_rt_status take_weights(neo_rt_ctx *c, const char *path, const neo_rti_st *st,
                                  void *user) {
  weights_job *j = user;
  if (setjmp(j->no_memory))
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
  return fill_from(c, path, st, j);
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
  if (!c)
    return NEO_NULL;
  neo_arena_init(&j.arena, c->env.alloc, &j.no_memory);
  neo_rt_status status =
      load(c, path, take_weights, &j, (j.options.flags & NEO_RT_WEIGHTS_ALL) != 0);
  neo_arena_free(&j.arena);
  if (summary)
    *summary = j.summary;
  return status;
}

neo_rt_status neo_rt_load_weights(neo_rt_ctx *c, const char *path, const neo_rt_weights *options) {
  return neo_rti_load_weights(c, path, options, NULL);
}

const char *neo_rt_loaded(const neo_rt_ctx *c, const char *key) {
  return c && key ? meta_value(c->loaded, c->n_loaded, key) : NULL;
}

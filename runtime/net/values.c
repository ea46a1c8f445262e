/* values.c: the values of actors as those of the whole model, for files and for its other entries.
 *
 * Actors have the model's tensors under its names, or slices of them. Of several actors that have one, one of them
 * changes it, or each counts by itself, or none does; the actor of the loss is preferred. Sums of
 * gradients are no tensors of the model; they are empty at a barrier, where values are copied. */
#include "runtime/context.h"
#include "runtime/net/net.h"
#include <stdlib.h>
#include <string.h>

static neo_rt_status at_barrier(neo_rt_network *n) {
  if (atomic_load(&n->failed))
    return NEO_RT_E_STATE;
  return n->on_their_way ? neo_rti_net_say(n, NEO_RT_E_STATE,
                                           "%d instances are on their way: neo_rt_net_wait first",
                                           (int)n->on_their_way)
                         : NEO_OK;
}

/* ---- tensors by name */

static int32_t find(const neo_rt_model *m, const char *name) {
  for (int32_t k = 0; k < m->n_tensors; k++)
    if (neo_rti_tensor_persists(&m->tensors[k]) && strcmp(m->tensors[k].name, name) == 0)
      return k;
  return -1;
}

static bool is_written(const neo_rt_model *m, int32_t tensor) {
  bool written = false;
  for (int32_t e = 0; e < m->n_entries && !written; e++)
    for (int32_t k = 0; k < m->entries[e].n_writes && !written; k++)
      written = m->entry_writes[m->entries[e].writes + k] == tensor &&
                m->entries[e].kind != NEO_RT_ENTRY_INIT;
  return written;
}

static bool has_loss(const neo_rt_net *net, int32_t actor) {
  bool has = false;
  for (int32_t k = 0; k < net->n_nodes && !has; k++)
    has = net->nodes[k].actor == actor && net->nodes[k].loss;
  return has;
}

/* The actor whose value is the model's; -1: no actor has the tensor. */
static int32_t owner(const neo_rt_net *net, const char *name, int32_t *tensor) {
  int32_t found = -1, best = -1;
  for (int32_t k = 0; k < net->n_actors; k++) {
    int32_t own = find(net->actors[k].model, name);
    int32_t worth = own < 0 ? -1 : 2 * is_written(net->actors[k].model, own) + has_loss(net, k);
    if (worth > best) {
      best = worth;
      found = k;
      *tensor = own;
    }
  }
  return found;
}

/* ---- slices */

/* The slice that an actor's tensor is; null: it is the model's tensor of this name. */
static const neo_rt_net_slice *slice_of(const neo_rt_net *net, const char *name) {
  for (int32_t k = 0; k < net->n_slices; k++)
    if (strcmp(net->slices[k].name, name) == 0)
      return &net->slices[k];
  return NULL;
}

/* The first slice of the model's tensor; null: actors have it whole. */
static const neo_rt_net_slice *first_slice(const neo_rt_net *net, const char *of) {
  for (int32_t k = 0; k < net->n_slices; k++)
    if (strcmp(net->slices[k].of, of) == 0)
      return &net->slices[k];
  return NULL;
}

/* ---- copies */

static neo_rt_status room(neo_rt_network *n, size_t bytes) {
  if (bytes < n->value_bytes)
    return NEO_OK;
  void *more = realloc(n->value, bytes + 1);
  if (!more)
    return neo_rti_net_say(n, NEO_RT_E_MEMORY, "no memory for a tensor of %zu bytes", bytes);
  n->value = more;
  n->value_bytes = bytes + 1;
  return NEO_OK;
}

static neo_rt_status copy(neo_rt_network *n, neo_rt_ctx *from, int32_t a, neo_rt_ctx *to,
                          int32_t b) {
  const neo_rt_tensor *x = &from->model->tensors[a], *y = &to->model->tensors[b];
  size_t bytes = neo_rti_tensor_bytes(from->model, x, NULL);
  if (x->type != y->type || bytes != neo_rti_tensor_bytes(to->model, y, NULL))
    return neo_rti_net_say(n, NEO_RT_E_SHAPE, "%s: %s and %s have it with other types or sizes",
                           x->name, from->model->name, to->model->name);
  neo_rt_status status = room(n, bytes);
  if (!status && (status = neo_rt_get(from, a, n->value, bytes)))
    return neo_rti_net_say(n, status, "%s", neo_rt_error(from));
  if (!status && (status = neo_rt_set(to, b, n->value, bytes)))
    return neo_rti_net_say(n, status, "%s", neo_rt_error(to));
  return status;
}

/* Checks that tensor `a` of an actor is a slice of tensor `b` of the whole model, and makes room for
 * the whole; *bytes gets the size of the slice. */
static neo_rt_status part_of(neo_rt_network *n, const neo_rt_net_slice *s, const neo_rt_model *m,
                             int32_t a, const neo_rt_model *whole, int32_t b, size_t *bytes) {
  const neo_rt_tensor *x = &m->tensors[a], *y = &whole->tensors[b];
  size_t all = neo_rti_tensor_bytes(whole, y, NULL);
  *bytes = neo_rti_tensor_bytes(m, x, NULL);
  if (x->type != y->type || *bytes * (size_t)s->n != all)
    return neo_rti_net_say(n, NEO_RT_E_SHAPE, "%s is no slice of %s", x->name, y->name);
  return room(n, all);
}

/* Tensor `b` of the context `from` becomes tensor `a` of an actor, which is a slice of it. */
static neo_rt_status take_slice(neo_rt_network *n, const neo_rt_net_slice *s, neo_rt_ctx *from,
                                int32_t b, neo_rt_ctx *to, int32_t a) {
  size_t bytes;
  neo_rt_status status = part_of(n, s, to->model, a, from->model, b, &bytes);
  if (!status && (status = neo_rt_get(from, b, n->value, bytes * (size_t)s->n)))
    return neo_rti_net_say(n, status, "%s", neo_rt_error(from));
  if (!status && (status = neo_rt_set(to, a, (char *)n->value + bytes * (size_t)s->index, bytes)))
    return neo_rti_net_say(n, status, "%s", neo_rt_error(to));
  return status;
}

/* All slices, of which s is the first, become tensor `b` of the context. */
static neo_rt_status give_slices(neo_rt_network *n, const neo_rt_net_slice *s, neo_rt_ctx *to,
                                 int32_t b) {
  size_t bytes = 0;
  neo_rt_status status = NEO_OK;
  for (int32_t k = 0; k < s->n && !status; k++) {
    int32_t own, actor = owner(n->net, s[k].name, &own);
    if (actor < 0)
      return neo_rti_net_say(n, NEO_RT_E_NAME, "no actor has %s", s[k].name);
    neo_rt_ctx *from = n->ctx[actor];
    status = part_of(n, s, from->model, own, to->model, b, &bytes);
    if (!status && (status = neo_rt_get(from, own, (char *)n->value + bytes * (size_t)k, bytes)))
      return neo_rti_net_say(n, status, "%s", neo_rt_error(from));
  }
  if (!status && (status = neo_rt_set(to, b, n->value, bytes * (size_t)s->n)))
    return neo_rti_net_say(n, status, "%s", neo_rt_error(to));
  return status;
}

/* Updates since the beginning that correspond to steps of synchronous training. */
static uint64_t steps_of(const neo_rt_network *n) {
  uint64_t most = 0;
  for (int32_t k = 0; k < n->net->n_actors; k++) {
    uint64_t each = n->net->actors[k].n_seen > 0 ? (uint64_t)n->every : 1;
    uint64_t steps = atomic_load(&n->updates[k]) / each;
    most = steps > most ? steps : most;
  }
  return most;
}

/* Each step is `every` instances, whose numbers go on after those that were used. */
static void set_steps(neo_rt_network *n, uint64_t steps) {
  uint64_t sent = steps * (uint64_t)n->every;
  for (int32_t k = 0; k < n->net->n_actors; k++)
    atomic_store(&n->updates[k], n->net->actors[k].n_seen > 0 ? sent : steps);
  n->sent_0 += (sent > n->sent ? sent : n->sent) - n->sent;
  n->sent = sent > n->sent ? sent : n->sent;
  n->drawn = sent > n->drawn ? sent : n->drawn;
}

neo_rt_status neo_rt_net_take(neo_rt_network *n, neo_rt_ctx *from) {
  neo_rt_status status = at_barrier(n);
  for (int32_t k = 0; k < n->net->n_actors && !status; k++) {
    const neo_rt_model *m = n->net->actors[k].model;
    for (int32_t t = 0; t < m->n_tensors && !status; t++) {
      bool persists = neo_rti_tensor_persists(&m->tensors[t]);
      const neo_rt_net_slice *s = slice_of(n->net, m->tensors[t].name);
      int32_t whole = persists ? find(from->model, s ? s->of : m->tensors[t].name) : -1;
      if (whole >= 0)
        status =
            s ? take_slice(n, s, from, whole, n->ctx[k], t) : copy(n, from, whole, n->ctx[k], t);
    }
  }
  if (!status)
    set_steps(n, neo_rt_step_count(from));
  return status;
}

neo_rt_status neo_rt_net_give(neo_rt_network *n, neo_rt_ctx *to) {
  neo_rt_status status = at_barrier(n);
  for (int32_t t = 0; t < to->model->n_tensors && !status; t++) {
    const neo_rt_tensor *x = &to->model->tensors[t];
    bool persists = neo_rti_tensor_persists(x);
    const neo_rt_net_slice *s = persists ? first_slice(n->net, x->name) : NULL;
    int32_t own, actor = persists && !s ? owner(n->net, x->name, &own) : -1;
    if (s)
      status = give_slices(n, s, to, t);
    else if (actor >= 0)
      status = copy(n, n->ctx[actor], own, to, t);
  }
  if (!status)
    neo_rti_set_position(to, n->seed, steps_of(n));
  return status;
}

neo_rt_status neo_rt_net_set_scalar(neo_rt_network *n, const char *name, double value) {
  neo_rt_status status = at_barrier(n);
  bool found = false;
  for (int32_t k = 0; k < n->net->n_actors && !status; k++)
    if (find(n->net->actors[k].model, name) >= 0) {
      found = true;
      status = neo_rt_set_scalar(n->ctx[k], name, value);
      if (status)
        (void)neo_rti_net_say(n, status, "%s", neo_rt_error(n->ctx[k]));
    }
  return status || found ? status
                         : neo_rti_net_say(n, NEO_RT_E_NAME, "no actor has the setting %s", name);
}

/* ---- files */

/* Tensors that no actor has are those of this context: initial values, or the file's. */
static neo_rt_status open_whole(neo_rt_network *n) {
  neo_rt_config c = {.struct_size = sizeof c, .threads = 1, .seed = n->seed};
  neo_rt_status status = at_barrier(n);
  if (status || n->whole)
    return status;
  status = neo_rt_create(n->net->model, &c, &n->whole);
  if (!status)
    return NEO_OK;
  (void)neo_rti_net_say(n, status, "%s",
                        n->whole ? neo_rt_error(n->whole) : neo_rt_status_text(status));
  neo_rt_destroy(n->whole);
  n->whole = NULL;
  return status;
}

neo_rt_status neo_rt_net_save(neo_rt_network *n, const char *path, const neo_rt_pair *extra,
                              int32_t n_extra) {
  neo_rt_status status = open_whole(n);
  status = status ? status : neo_rt_net_give(n, n->whole);
  if (!status && (status = neo_rt_save(n->whole, path, extra, n_extra)))
    return neo_rti_net_say(n, status, "%s", neo_rt_error(n->whole));
  return status;
}

neo_rt_status neo_rt_net_load(neo_rt_network *n, const char *path) {
  neo_rt_status status = open_whole(n);
  if (!status && (status = neo_rt_load(n->whole, path)))
    return neo_rti_net_say(n, status, "%s", neo_rt_error(n->whole));
  return status ? status : neo_rt_net_take(n, n->whole);
}

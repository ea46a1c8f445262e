/* values.c: the values of actors as those of the whole model, for files and for its other entries.
 *
 * Actors have the model's tensors under its names. Of several actors that have one, one of them
 * changes it, or each counts by itself, or none does; the actor of the loss is preferred. Sums of
 * gradients are no tensors of the model; they are empty at a barrier, where values are copied. An
 * actor may have a slice of a tensor, as one of the parameters that a model stacks. */
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

/* ---- copies */

typedef struct { /* a tensor of an actor, as a part of one of the model's */
  const char *of;
  int32_t index, n;
} part;

static part part_of(const neo_rt_net *net, const char *name) {
  part p = {name, 0, 1};
  for (int32_t k = 0; k < net->n_slices; k++)
    if (strcmp(net->slices[k].name, name) == 0)
      p = (part){net->slices[k].of, net->slices[k].index, net->slices[k].n};
  return p;
}

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

static size_t bytes_of(const neo_rt_ctx *c, int32_t tensor) {
  return neo_rti_tensor_bytes(c->model, &c->model->tensors[tensor], NULL);
}

static neo_rt_status get(neo_rt_network *n, neo_rt_ctx *from, int32_t tensor, void *to) {
  neo_rt_status status = neo_rt_get(from, tensor, to, bytes_of(from, tensor));
  return status ? neo_rti_net_say(n, status, "%s", neo_rt_error(from)) : NEO_OK;
}

static neo_rt_status put(neo_rt_network *n, neo_rt_ctx *to, int32_t tensor, const void *from) {
  neo_rt_status status = neo_rt_set(to, tensor, from, bytes_of(to, tensor));
  return status ? neo_rti_net_say(n, status, "%s", neo_rt_error(to)) : NEO_OK;
}

typedef struct {
  neo_rt_ctx *ctx;
  int32_t tensor;
} place;

/* Copies between a tensor of the whole model and an actor's part of it. */
static neo_rt_status copy(neo_rt_network *n, place whole, place own, part p, bool to_whole) {
  const neo_rt_tensor *x = &whole.ctx->model->tensors[whole.tensor];
  size_t all = bytes_of(whole.ctx, whole.tensor), bytes = bytes_of(own.ctx, own.tensor);
  if (x->type != own.ctx->model->tensors[own.tensor].type || bytes * (size_t)p.n != all)
    return neo_rti_net_say(n, NEO_RT_E_SHAPE, "%s: %s and %s have it with other types or sizes",
                           x->name, whole.ctx->model->name, own.ctx->model->name);
  neo_rt_status status = room(n, all);
  char *here = (char *)n->value + (size_t)p.index * bytes;
  if (!status && (!to_whole || p.n > 1))
    status = get(n, whole.ctx, whole.tensor, n->value);
  if (!status && to_whole)
    status = get(n, own.ctx, own.tensor, here);
  if (status)
    return status;
  return to_whole ? put(n, whole.ctx, whole.tensor, n->value) : put(n, own.ctx, own.tensor, here);
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

/* Copies a tensor of an actor, if the whole model has it. */
static neo_rt_status copy_own(neo_rt_network *n, neo_rt_ctx *whole, int32_t actor, int32_t own,
                              bool to_whole) {
  const neo_rt_tensor *x = &n->net->actors[actor].model->tensors[own];
  part p = part_of(n->net, x->name);
  int32_t tensor = neo_rti_tensor_persists(x) ? find(whole->model, p.of) : -1, unused;
  if (tensor < 0 || (to_whole && owner(n->net, x->name, &unused) != actor))
    return NEO_OK;
  return copy(n, (place){whole, tensor}, (place){n->ctx[actor], own}, p, to_whole);
}

static neo_rt_status copy_all(neo_rt_network *n, neo_rt_ctx *whole, bool to_whole) {
  neo_rt_status status = at_barrier(n);
  for (int32_t k = 0; k < n->net->n_actors && !status; k++)
    for (int32_t t = 0; t < n->net->actors[k].model->n_tensors && !status; t++)
      status = copy_own(n, whole, k, t, to_whole);
  return status;
}

neo_rt_status neo_rt_net_take(neo_rt_network *n, neo_rt_ctx *from) {
  neo_rt_status status = copy_all(n, from, false);
  if (!status)
    set_steps(n, neo_rt_step_count(from));
  return status;
}

neo_rt_status neo_rt_net_give(neo_rt_network *n, neo_rt_ctx *to) {
  neo_rt_status status = copy_all(n, to, true);
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

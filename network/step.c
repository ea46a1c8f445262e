/* The parts of a training step: the forward pass, whose definitions become nodes, and the
 * optimizer. Gradients are still requests (neo_grad_rec), so a definition is the optimizer's if
 * it reads results of the request for the loss, directly or through others.
 *
 *     mu.next = 0.9*mu + 0.1*mean X       the model's own: reads an instance, and no gradient
 *     W.next = W - lr*W.grad*seen         the optimizer's; it needs `seen`, which is an instance's
 *     n.next = n + 1                      the model's if the forward pass reads n, else the
 *                                         optimizer's, of which each actor may have a copy */
#include "network/parts.h"

typedef struct { /* by tensor: is it a gradient or computed from one, of an instance or from one? */
  bool *gradient, *instance;
} origins;

/* ---- the requests of the step */

static bool is_own_request(const neo_net_step *s, const neo_grad_rec *g) {
  bool own = !g->done && g->y.i == s->loss.i && !g->seed.i && !g->n_batch;
  for (uint32_t k = 0; own && k < g->wrt.n; k++)
    own = neo_tensor_at(s->m, neo_list_tensor(s->m, g->wrt, k))->role == NEO_ROLE_PARAM;
  return own;
}

static bool *read_by(const neo_net_step *s, const neo_def *defs, size_t n) {
  bool *is = NEO_NEW_ARRAY(s->a, bool, s->m->tensors.n);
  for (size_t k = 0; k < n; k++) {
    neo_tensor *read;
    size_t n_read = neo_def_reads(s->m, defs[k], s->a, &read);
    for (size_t j = 0; j < n_read; j++)
      is[read[j].i] = true;
  }
  return is;
}

static void find_pairs(neo_net_step *s, const bool *read) {
  for (size_t k = 0; k < s->m->grads.n; k++) {
    const neo_grad_rec *g = &s->m->grads.at[k];
    for (uint32_t j = 0; j < g->out.n && !g->done; j++) {
      neo_tensor out = neo_list_tensor(s->m, g->out, j);
      if (!is_own_request(s, g)) {
        s->asked[out.i] = true;
      } else if (read[out.i]) {
        s->trained[out.i] = s->changes[neo_list_at(s->m, g->wrt, j)] = true;
        NEO_PUSH(s->a, &s->pairs, (neo_net_pair){neo_list_tensor(s->m, g->wrt, j), out});
      }
    }
  }
}

/* ---- whose the updates are */

static bool note(bool *is, bool yes, uint32_t t) {
  bool more = yes && !is[t];
  is[t] = is[t] || yes;
  return more;
}

static bool find_origins_once(const neo_net_step *s, const neo_def *defs, size_t n, origins *o) {
  bool more = false;
  for (size_t k = 0; k < n; k++) {
    neo_tensor *read;
    size_t n_read = neo_def_reads(s->m, defs[k], s->a, &read);
    bool gradient = false, instance = false;
    for (size_t j = 0; j < n_read; j++) {
      gradient = gradient || o->gradient[read[j].i];
      instance = instance || o->instance[read[j].i];
    }
    neo_list out = neo_def_at(s->m, defs[k])->out;
    for (uint32_t j = 0; j < out.n; j++) {
      more = note(o->gradient, gradient, neo_list_at(s->m, out, j)) || more;
      more = note(o->instance, instance, neo_list_at(s->m, out, j)) || more;
    }
  }
  return more;
}

static origins find_origins(const neo_net_step *s, const neo_def *defs, size_t n) {
  origins o = {NEO_NEW_ARRAY(s->a, bool, s->m->tensors.n),
               NEO_NEW_ARRAY(s->a, bool, s->m->tensors.n)};
  for (uint32_t t = 1; t < s->m->tensors.n; t++) {
    o.gradient[t] = s->trained[t];
    o.instance[t] = s->asked[t] || s->m->tensors.at[t].role == NEO_ROLE_INPUT;
  }
  while (find_origins_once(s, defs, n, &o))
    ;
  return o;
}

static neo_tensor target(const neo_net_step *s, neo_tensor update) {
  return neo_tensor_at(s->m, update)->updates;
}

/* The values of an instance that an update of the optimizer reads beside gradients. */
static void find_needs(neo_net_step *s, neo_tensor update, const origins *o) {
  neo_def *defs;
  size_t n = neo_net_update_defs(s, update, &defs);
  neo_map seen = neo_map_in(s->a);
  for (size_t k = 0; k < n; k++) {
    neo_tensor *read;
    size_t n_read = neo_def_reads(s->m, defs[k], s->a, &read);
    if (!o->gradient[neo_def_out(s->m, defs[k], 0).i])
      continue;
    for (size_t j = 0; j < n_read; j++) {
      bool needed = o->instance[read[j].i] && !o->gradient[read[j].i];
      if (!needed || neo_map_get(&seen, read[j].i, NULL))
        continue;
      neo_map_set(&seen, read[j].i, 1);
      NEO_PUSH(s->a, &s->needs, (neo_net_need){read[j], update});
    }
  }
}

size_t neo_net_update_defs(const neo_net_step *s, neo_tensor update, neo_def **out) {
  return neo_module_topo(s->m, &update, 1, s->a, out, NULL);
}

/* ---- the forward pass */

static bool takes_custom(neo_net_step *s, neo_tensors *roots, bool *taken, const bool *made) {
  bool more = false;
  for (size_t c = 0; c < s->m->customs.n; c++) {
    neo_list outs = s->m->customs.at[c].outs;
    bool used = false;
    for (uint32_t k = 0; k < outs.n; k++)
      used = used || made[neo_list_at(s->m, outs, k)];
    if (!used || taken[c])
      continue;
    taken[c] = more = true;
    neo_tensors_add(s->m, s->a, roots, s->m->customs.at[c].dxs);
    neo_tensors_add(s->m, s->a, roots, s->m->customs.at[c].ins);
  }
  return more;
}

/* The requests that the forward pass reads: all that they are of is needed, and in one module. */
static bool takes_request(neo_net_step *s, neo_tensors *roots, bool *taken, const bool *read) {
  bool more = false;
  for (size_t k = 0; k < s->m->grads.n; k++) {
    const neo_grad_rec *g = &s->m->grads.at[k];
    bool used = false;
    for (uint32_t j = 0; j < g->out.n; j++)
      used = used || (s->asked[neo_list_at(s->m, g->out, j)] && read[neo_list_at(s->m, g->out, j)]);
    if (!used || taken[k])
      continue;
    taken[k] = more = true;
    s->whole = "the forward pass reads gradients";
    NEO_PUSH(s->a, roots, g->y);
    if (g->seed.i)
      NEO_PUSH(s->a, roots, g->seed);
    neo_tensors_add(s->m, s->a, roots, g->wrt);
    neo_tensors_add(s->m, s->a, roots, g->hold);
  }
  return more;
}

/* Updates of neither gradients nor instances belong to the model if the forward pass reads what
 * they change. */
static bool takes_update(neo_net_step *s, neo_tensors *roots, neo_tensors *others,
                         const bool *read) {
  size_t left = 0, all = others->n;
  for (size_t k = 0; k < all; k++) {
    neo_tensor u = others->at[k];
    if (read[target(s, u).i]) {
      NEO_PUSH(s->a, &s->own, u);
      NEO_PUSH(s->a, roots, u);
    } else {
      others->at[left++] = u;
    }
  }
  others->n = left;
  return left < all;
}

static bool *made_by(const neo_net_step *s) {
  bool *is = NEO_NEW_ARRAY(s->a, bool, s->m->tensors.n);
  for (size_t k = 0; k < s->n_defs; k++) {
    neo_list out = neo_def_at(s->m, s->defs[k])->out;
    for (uint32_t j = 0; j < out.n; j++)
      is[neo_list_at(s->m, out, j)] = true;
  }
  return is;
}

static void find_forward(neo_net_step *s, neo_tensors *others) {
  neo_tensors roots = {0};
  bool *custom = NEO_NEW_ARRAY(s->a, bool, s->m->customs.n + 1);
  bool *request = NEO_NEW_ARRAY(s->a, bool, s->m->grads.n + 1), more = true;
  NEO_PUSH(s->a, &roots, s->loss);
  for (size_t k = 0; k < s->own.n; k++)
    NEO_PUSH(s->a, &roots, s->own.at[k]);
  for (size_t k = 0; k < s->needs.n; k++)
    NEO_PUSH(s->a, &roots, s->needs.at[k].tensor);
  while (more) {
    s->n_defs = neo_module_topo(s->m, roots.at, roots.n, s->a, &s->defs, NULL);
    bool *read = read_by(s, s->defs, s->n_defs);
    for (size_t k = 0; k < roots.n; k++)
      read[roots.at[k].i] = true;
    more = takes_custom(s, &roots, custom, made_by(s));
    more = takes_request(s, &roots, request, read) || more;
    more = takes_update(s, &roots, others, read) || more;
  }
  s->place = NEO_NEW_ARRAY(s->a, uint32_t, s->m->defs.n);
  for (size_t k = 0; k < s->n_defs; k++)
    s->place[s->defs[k].i] = (uint32_t)k + 1;
}

static bool shares(const neo_module *m, neo_list a, neo_list b) {
  for (uint32_t k = 0; k < a.n; k++)
    for (uint32_t j = 0; j < b.n; j++)
      if (neo_list_at(m, a, k) == neo_list_at(m, b, j))
        return true;
  return false;
}

neo_tensors neo_net_reads(const neo_net_step *s, neo_def d) {
  neo_tensors all = {0};
  neo_tensor *read;
  size_t n = neo_def_reads(s->m, d, s->a, &read);
  for (size_t k = 0; k < n; k++) {
    neo_tensor offsets = neo_tensor_at(s->m, read[k])->offsets;
    NEO_PUSH(s->a, &all, read[k]);
    if (offsets.i && offsets.i != read[k].i)
      NEO_PUSH(s->a, &all, offsets);
  }
  for (size_t c = 0; c < s->m->customs.n; c++) {
    const neo_custom_rec *x = &s->m->customs.at[c];
    if (shares(s->m, x->outs, neo_def_at(s->m, d)->out))
      neo_tensors_add(s->m, s->a, &all, x->ins);
  }
  return all;
}

/* ---- through what a gradient flows */

static bool *upstream_of_loss(const neo_net_step *s) {
  bool *is = NEO_NEW_ARRAY(s->a, bool, s->m->tensors.n);
  is[s->loss.i] = true;
  for (bool more = true; more;) {
    more = false;
    for (size_t k = s->n_defs; k-- > 0;) {
      neo_list out = neo_def_at(s->m, s->defs[k])->out;
      bool reaches = false;
      for (uint32_t j = 0; j < out.n; j++)
        reaches = reaches || is[neo_list_at(s->m, out, j)];
      neo_tensors read = reaches ? neo_net_reads(s, s->defs[k]) : (neo_tensors){0};
      for (size_t j = 0; j < read.n; j++)
        more = note(is, true, read.at[j].i) || more;
    }
  }
  return is;
}

static bool *downstream_of_trained(const neo_net_step *s) {
  bool *is = NEO_NEW_ARRAY(s->a, bool, s->m->tensors.n);
  for (size_t k = 0; k < s->pairs.n; k++)
    is[s->pairs.at[k].wrt.i] = true;
  for (bool more = true; more;) {
    more = false;
    for (size_t k = 0; k < s->n_defs; k++) {
      neo_tensors read = neo_net_reads(s, s->defs[k]);
      bool follows = false;
      for (size_t j = 0; j < read.n; j++)
        follows = follows || is[read.at[j].i];
      neo_list out = neo_def_at(s->m, s->defs[k])->out;
      for (uint32_t j = 0; j < out.n; j++)
        more = note(is, follows, neo_list_at(s->m, out, j)) || more;
    }
  }
  return is;
}

static void find_gradients(neo_net_step *s) {
  const bool *up = upstream_of_loss(s), *down = downstream_of_trained(s);
  for (uint32_t t = 1; t < s->m->tensors.n; t++)
    s->gradient[t] = up[t] && down[t] && neo_type_is_float(neo_tensor_type(s->m, (neo_tensor){t}));
}

/* ---- copies */

/* Whether nothing but copied values decides the next one. */
static bool is_count(const neo_net_step *s, neo_tensor update) {
  neo_def *defs;
  size_t n = neo_net_update_defs(s, update, &defs);
  const bool *read = read_by(s, defs, n);
  bool count = true;
  for (uint32_t t = 1; count && t < s->m->tensors.n; t++)
    count = !read[t] || !(s->changes[t] || s->trained[t]) || s->copied[t];
  return count;
}

/* The largest set of states that decide each other's next values alone, and that the forward pass
 * does not read: the rows and the updates of `every`, for example. */
static void find_copied(neo_net_step *s) {
  const bool *read = read_by(s, s->defs, s->n_defs);
  for (size_t k = 0; k < s->optimizer.n; k++) {
    neo_tensor state = target(s, s->optimizer.at[k]);
    s->copied[state.i] = !read[state.i];
  }
  for (bool less = true; less;) {
    less = false;
    for (size_t k = 0; k < s->optimizer.n; k++) {
      bool *copied = &s->copied[target(s, s->optimizer.at[k]).i];
      if (!*copied || is_count(s, s->optimizer.at[k]))
        continue;
      *copied = false;
      less = true;
    }
  }
}

/* ---- the whole */

static void divide_updates(neo_net_step *s, const neo_def *defs, size_t n, neo_tensors *others) {
  origins o = find_origins(s, defs, n);
  for (uint32_t k = 0; k < s->entry.updates.n; k++) {
    neo_tensor u = neo_list_tensor(s->m, s->entry.updates, k);
    s->changes[target(s, u).i] = true;
    if (o.gradient[u.i]) {
      NEO_PUSH(s->a, &s->optimizer, u);
      find_needs(s, u, &o);
    } else if (o.instance[u.i]) {
      NEO_PUSH(s->a, &s->own, u);
    } else {
      NEO_PUSH(s->a, others, u);
    }
  }
}

neo_net_step neo_net_step_of(const neo_module *m, uint32_t entry, neo_arena *scratch) {
  neo_net_step s = {.m = m, .a = scratch, .entry = m->entries.at[entry]};
  size_t n = m->tensors.n;
  neo_tensors updates = {0}, others = {0};
  neo_def *defs;
  s.loss = neo_list_tensor(m, s.entry.outputs, 0);
  s.trained = NEO_NEW_ARRAY(scratch, bool, n);
  s.changes = NEO_NEW_ARRAY(scratch, bool, n);
  s.copied = NEO_NEW_ARRAY(scratch, bool, n);
  s.gradient = NEO_NEW_ARRAY(scratch, bool, n);
  s.asked = NEO_NEW_ARRAY(scratch, bool, n);
  neo_tensors_add(m, scratch, &updates, s.entry.updates);
  size_t n_defs = neo_module_topo(m, updates.at, updates.n, scratch, &defs, NULL);
  find_pairs(&s, read_by(&s, defs, n_defs));
  divide_updates(&s, defs, n_defs, &others);
  find_forward(&s, &others);
  for (size_t k = 0; k < others.n; k++)
    NEO_PUSH(scratch, &s.optimizer, others.at[k]);
  find_gradients(&s);
  find_copied(&s);
  return s;
}

/* The forward pass of an entry: definitions in order, their costs, the tensors that the backward
 * pass reads, and which can be recomputed. */
#include "transform/recompute/parts.h"

/* ---- prices */

static double most(const recompute *r, neo_expr e) {
  int64_t lo, hi;
  return neo_interval(r->p, NULL, e, &lo, &hi) && hi > 0 ? (double)hi : 1;
}

static double bytes_of(const recompute *r, neo_tensor t) {
  double n = neo_type_bytes(neo_tensor_type(r->m, t));
  for (uint32_t k = 0; k < neo_tensor_rank(r->m, t); k++)
    n *= most(r, neo_tensor_extent(r->m, t, k));
  return n;
}

typedef struct {
  const neo_module *m;
  double additions;
} work;

static void add_work(void *ctx, neo_expr e) {
  work *w = ctx;
  neo_op op = (neo_op)neo_expr_node(w->m, e)->op;
  if (op == NEO_OP_RAND || neo_op_is_elementwise(op))
    w->additions += neo_op_additions(op);
}

static double work_of(const recompute *r, neo_list exprs) {
  work w = {r->m, 1};
  for (uint32_t k = 0; k < exprs.n; k++)
    neo_expr_visit(r->m, neo_list_expr(r->m, exprs, k), add_work, &w);
  return w.additions;
}

/* Seconds of one worker: arithmetic and memory traffic. */
static double seconds_of(const recompute *r, neo_def id) {
  const neo_def_rec *d = neo_def_at(r->m, id);
  double points = 1, steps = 1, bytes = 0, s;
  neo_tensor *in;
  for (uint32_t k = 0; k < d->axes.n; k++) {
    double n = most(r, neo_def_axis(r->m, d, k)->hi);
    steps *= n;
    points *= k < d->n_out ? n : 1;
  }
  s = points * work_of(r, d->finish);
  if (d->reducer != NEO_RED_NONE)
    s += steps * work_of(r, d->body);
  s /= r->profile->work_per_s;
  for (size_t n = neo_def_reads(r->m, id, r->a, &in); n-- > 0;)
    bytes += r->tensor[in[n].i].bytes;
  for (uint32_t k = 0; k < d->out.n; k++)
    bytes += r->tensor[neo_def_out(r->m, id, k).i].bytes;
  return s + neo_profile_traffic(r->profile, bytes, bytes);
}

/* ---- finding recomputable tensors */

static bool is_plain_temp(const neo_tensor_rec *t) {
  return t->role == NEO_ROLE_TEMP && !t->rows.i && !t->moves;
}

/* Is no definition of the tensor, or of tensors defined with it, in a recurrence? */
static bool can_be_made_again(const recompute *r, neo_tensor t) {
  const neo_module *m = r->m;
  neo_list pieces = neo_tensor_at(m, t)->pieces;
  bool can = pieces.n > 0;
  for (uint32_t k = 0; k < pieces.n && can; k++) {
    neo_def d = {neo_list_at(m, pieces, k)};
    neo_list out = neo_def_at(m, d)->out;
    can = !r->recurs[d.i] && !neo_def_at(m, d)->chunk_loop && (pieces.n == 1 || out.n == 1);
    for (uint32_t i = 0; i < out.n && can; i++)
      can = is_plain_temp(neo_tensor_at(m, neo_list_tensor(m, out, i))) &&
            neo_tensor_at(m, neo_list_tensor(m, out, i))->pieces.n == pieces.n;
  }
  return can;
}

/* ---- the passes */

static void find_passes(recompute *r) {
  neo_module *m = r->m;
  neo_def *defs;
  neo_entry_roots(m, r->a, &r->roots, &m->entries.at[r->entry]);
  r->n_order = (uint32_t)neo_module_topo(m, r->roots.at, r->roots.n, r->a, &defs, NULL);
  r->order = defs;
  r->n_forward = (uint32_t)neo_module_topo(m, r->roots.at, 1, r->a, &defs, NULL);
  r->forward = defs;
  r->is_forward = NEO_NEW_ARRAY(r->a, bool, m->defs.n);
  for (uint32_t k = 0; k < r->n_forward; k++)
    r->is_forward[r->forward[k].i] = true;
}

static void find_reads(recompute *r) {
  neo_tensor *in;
  for (uint32_t k = 0; k < r->n_order; k++)
    if (!r->is_forward[r->order[k].i])
      for (size_t n = neo_def_reads(r->m, r->order[k], r->a, &in); n-- > 0;)
        if (r->tensor[in[n].i].made)
          r->tensor[in[n].i].read = r->tensor[in[n].i].saved = true;
}

static void find_tensors(recompute *r) {
  neo_module *m = r->m;
  r->n_tensors = (uint32_t)m->tensors.n;
  r->tensor = NEO_NEW_ARRAY(r->a, recompute_tensor, r->n_tensors);
  for (uint32_t t = 1; t < r->n_tensors; t++)
    r->tensor[t].bytes = bytes_of(r, (neo_tensor){t});
  for (uint32_t k = 0; k < r->n_forward; k++)
    for (uint32_t i = 0; i < neo_def_at(m, r->forward[k])->out.n; i++) {
      neo_tensor t = neo_def_out(r->m, r->forward[k], i);
      r->tensor[t.i].made = neo_tensor_at(m, t)->role == NEO_ROLE_TEMP ? k + 1 : 0;
      r->tensor[t.i].fixed = !can_be_made_again(r, t);
    }
  for (size_t k = 0; k < r->roots.n; k++)
    r->tensor[r->roots.at[k].i].made = 0;
  find_reads(r);
}

/* Did another entry that shares the definitions recompute some? */
static bool is_done(const recompute *r) {
  bool is = false;
  for (uint32_t k = 0; k < r->n_order; k++)
    is = is || neo_def_at(r->m, r->order[k])->after.i;
  return is;
}

bool recompute_find(recompute *r, uint32_t entry) {
  r->entry = entry;
  find_passes(r);
  if (r->n_forward == r->n_order || !r->n_forward || is_done(r))
    return false;
  find_tensors(r);
  return true;
}

/* ---- the chain */

/* Frees saved values that are elementwise over other saved ones: kernels that read them compute
 * them (fusion/search/copy.c). Readers come first. */
static void drop_elementwise(recompute *r) {
  neo_tensor *in;
  for (uint32_t k = r->n_forward; k-- > 0;) {
    const neo_def_rec *d = neo_def_at(r->m, r->forward[k]);
    recompute_tensor *t = &r->tensor[neo_def_out(r->m, r->forward[k], 0).i];
    if (d->reducer != NEO_RED_NONE || d->out.n != 1 || !t->saved || t->fixed)
      continue;
    double bytes = 0;
    size_t n = neo_def_reads(r->m, r->forward[k], r->a, &in);
    for (size_t i = 0; i < n; i++) {
      const recompute_tensor *x = &r->tensor[in[i].i];
      bytes += x->made && !x->saved ? x->bytes : 0;
    }
    if (bytes > t->bytes)
      continue;
    t->saved = false;
    for (size_t i = 0; i < n; i++)
      r->tensor[in[i].i].saved = r->tensor[in[i].i].made > 0;
  }
}

/* Finds definitions that saved values need, which may be recomputed; their operands cross the cuts
 * up to them. last: by tensor. */
static void find_needed(recompute *r, bool *needed, uint32_t *last) {
  neo_tensor *in;
  for (uint32_t k = r->n_forward; k-- > 0;) {
    for (uint32_t i = 0; i < neo_def_at(r->m, r->forward[k])->out.n; i++) {
      uint32_t t = neo_def_out(r->m, r->forward[k], i).i;
      needed[k] = needed[k] || ((r->tensor[t].saved || last[t]) && !r->tensor[t].fixed);
    }
    for (size_t n = needed[k] ? neo_def_reads(r->m, r->forward[k], r->a, &in) : 0; n-- > 0;)
      last[in[n].i] = last[in[n].i] ? last[in[n].i] : k + 1;
  }
}

recompute_chain recompute_chain_of(recompute *r) {
  uint32_t n_tensors = (uint32_t)r->m->tensors.n;
  bool *needed = NEO_NEW_ARRAY(r->a, bool, r->n_forward + 1);
  uint32_t *last = NEO_NEW_ARRAY(r->a, uint32_t, n_tensors);
  double *seconds = NEO_NEW_ARRAY(r->a, double, r->n_forward + 1);
  recompute_value *value = NEO_NEW_ARRAY(r->a, recompute_value, n_tensors);
  recompute_chain c = {.n = r->n_forward, .seconds = seconds, .value = value};
  drop_elementwise(r);
  find_needed(r, needed, last);
  for (uint32_t k = 0; k < r->n_forward; k++)
    seconds[k] = needed[k] ? seconds_of(r, r->forward[k]) : 0;
  for (uint32_t t = 1; t < n_tensors; t++) {
    const recompute_tensor *x = &r->tensor[t];
    if (x->made && (x->saved || last[t]) && !(x->fixed && x->saved)) /* stored anyway */
      value[c.n_values++] = (recompute_value){x->made, last[t], x->bytes, x->saved};
  }
  return c;
}

/* The way from an order to loops (internal.h), and what a recurrence has in memory. */
#include "fusion/recurrence/internal.h"

typedef struct {
  outliner *o;
} read_look;

static void add_once(neo_arena *a, neo_recurrence *r, neo_tensor t) {
  for (size_t k = 0; k < r->reads.n; k++)
    if (r->reads.at[k].i == t.i)
      return;
  NEO_PUSH(a, &r->reads, t);
}

static void look_outside(void *ctx, neo_expr e) {
  read_look *l = ctx;
  const neo_node *n = neo_expr_node(l->o->m, e);
  if (outline_is_read(n) && !l->o->own[n->attr])
    add_once(l->o->a, l->o->out, (neo_tensor){n->attr});
}

static bool is_member(const outliner *o, uint32_t d) {
  for (size_t k = 0; k < o->n; k++)
    if (o->defs[k].i == d)
      return true;
  return false;
}

/* Has the tensor pieces that others make? */
static bool is_shared(const outliner *o, neo_tensor t) {
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (!is_member(o, neo_list_at(o->m, pieces, k)))
      return true;
  return false;
}

/* Lists the tensors that the recurrence reads and writes. One of which it makes some pieces is read, too. */
static void find_memory(outliner *o) {
  for (size_t k = 0; k < o->n; k++) {
    read_look l = {o};
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    neo_def_visit(o->m, o->defs[k], look_outside, &l);
    for (uint32_t j = 0; j < out.n; j++) {
      neo_tensor t = {neo_list_at(o->m, out, j)};
      bool listed = !o->stored[t.i];
      for (size_t i = 0; i < o->out->roots.n && !listed; i++)
        listed = o->out->roots.at[i].i == t.i;
      if (listed)
        continue;
      NEO_PUSH(o->a, &o->out->roots, t);
      if (is_shared(o, t))
        add_once(o->a, o->out, t);
    }
  }
}

static void mark(outliner *o, const bool *leaves) {
  for (size_t k = 0; k < o->n; k++) {
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    for (uint32_t j = 0; j < out.n; j++) {
      uint32_t t = neo_list_at(o->m, out, j);
      o->own[t] = true;
      o->stored[t] = leaves[t] || neo_tensor_at(o->m, (neo_tensor){t})->pieces.n > 1;
    }
  }
}

neo_recurrence *neo_recurrence_of(neo_module *m, neo_arena *a, const neo_def *defs, size_t n,
                                  const bool *leaves) {
  neo_order_step order;
  outliner o = {.m = m, .a = a, .defs = defs, .n = n};
  o.p = neo_prover_new(m);
  if (!neo_order_find(o.p, defs, n, a, &order, NULL)) {
    neo_prover_free(o.p);
    return NULL;
  }
  o.own = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  o.stored = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  o.out = NEO_NEW(a, neo_recurrence);
  neo_map_init(&o.out->memory, a);
  mark(&o, leaves);
  outline_steps steps = outline_place(&o, &order);
  o.out->steps = outline_segments(&o, &steps);
  find_memory(&o);
  neo_prover_free(o.p);
  return o.out;
}

const neo_slice *neo_recurrence_slice(const neo_recurrence *r, neo_tensor slice) {
  for (size_t k = 0; k < r->slices.n; k++)
    if (r->slices.at[k].slice.i == slice.i)
      return &r->slices.at[k];
  return NULL;
}

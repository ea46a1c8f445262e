#include "ir/call_invariant.h"

static bool pieces_invariant(const neo_call_invariants *l, neo_tensor t) {
  neo_list pieces = neo_tensor_at(l->m, t)->pieces;
  bool all = true;
  for (uint32_t k = 0; k < pieces.n; k++)
    all = all && l->def[neo_list_at(l->m, pieces, k)];
  return all;
}

bool neo_tensor_is_call_invariant(const neo_call_invariants *l, neo_tensor t) {
  switch ((neo_role)neo_tensor_at(l->m, t)->role) {
  case NEO_ROLE_CONST:
    return true;
  case NEO_ROLE_PARAM:
  case NEO_ROLE_STATE:
  case NEO_ROLE_SETTING:
    return !neo_map_get(&l->updated, t.i, NULL);
  case NEO_ROLE_TEMP:
    return pieces_invariant(l, t);
  default:
    return false;
  }
}

typedef struct {
  const neo_module *m;
  bool invariant;
} passing_ctx;

/* Random numbers differ from call to call; sizes and the number of the step may. */
static void find_passing(void *ctx, neo_expr e) {
  passing_ctx *c = ctx;
  neo_op op = (neo_op)neo_expr_node(c->m, e)->op;
  if (op == NEO_OP_RAND || op == NEO_OP_TRAINING || op == NEO_OP_SIZE || op == NEO_OP_STEP)
    c->invariant = false;
}

static bool is_free(const neo_module *m, neo_def d) {
  passing_ctx c = {m, true};
  neo_def_visit(m, d, find_passing, &c);
  return c.invariant;
}

static bool def_is_invariant(neo_module *m, const neo_call_invariants *l, neo_def d, neo_arena *a) {
  const neo_list out = neo_def_at(m, d)->out;
  neo_tensor *read;
  bool invariant = true;
  for (uint32_t k = 0; invariant && k < out.n; k++) {
    neo_tensor t = {neo_list_at(m, out, k)};
    invariant = neo_tensor_at(m, t)->role == NEO_ROLE_TEMP && pieces_invariant(l, t);
  }
  size_t n = invariant ? neo_def_reads(m, d, a, &read) : 0;
  for (size_t k = 0; invariant && k < n; k++)
    invariant = neo_tensor_is_call_invariant(l, read[k]);
  return invariant;
}

/* Computes the greatest fixed point: starts from all definitions that use no random numbers, no
 * run-time sizes and the like, and removes those that read a tensor which is not call-invariant,
 * until nothing changes. */
neo_call_invariants neo_call_invariants_of(neo_module *m, const neo_def *defs, size_t n,
                                           const bool *included, neo_arena *a) {
  neo_call_invariants l = {.m = m, .def = NEO_NEW_ARRAY(a, bool, m->defs.n + 1)};
  neo_map_init(&l.updated, a);
  for (size_t e = 0; e < m->entries.n; e++) {
    neo_list updates = m->entries.at[e].updates;
    for (uint32_t k = 0; included[e] && k < updates.n; k++) {
      neo_tensor u = {neo_list_at(m, updates, k)};
      neo_map_set(&l.updated, neo_tensor_at(m, u)->updates.i, 1);
    }
  }
  for (size_t k = 0; k < n; k++)
    l.def[defs[k].i] = is_free(m, defs[k]);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < n; k++) {
      bool invariant = l.def[defs[k].i] && def_is_invariant(m, &l, defs[k], a);
      changed = changed || invariant != l.def[defs[k].i];
      l.def[defs[k].i] = invariant;
    }
  }
  return l;
}

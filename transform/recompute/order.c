/* The time of recomputation: as late as possible, but before the kernels that read it first.
 *
 *     da[i] = sum[j] dz2[j]*W2[i, j],  dz[i] = da[i]*g(z[i])            z is recomputed
 *     ->
 *     after dz2 again.z[i] = ..,  dz[i] = da[i]*g(again.z[i])
 *
 * dz is the first reader of z. z is computed after da; or after dz2, if dz is elementwise, so that
 * dz can fuse into the kernel of da. */
#include "transform/recompute/parts.h"

typedef struct {
  recompute *r;
  bool *reads_again; /* by definition: reads recomputed tensors, directly or not */
  uint32_t *at;      /* by definition: position in the order + 1; 0: not in this entry */
} look;

static bool any_maker(const recompute *r, neo_tensor t, const bool *is) {
  neo_list pieces = neo_tensor_at(r->m, t)->pieces;
  bool any = false;
  for (uint32_t k = 0; k < pieces.n; k++)
    any = any || is[neo_list_at(r->m, pieces, k)];
  return any;
}

static bool reads_any(const recompute *r, neo_def d, const bool *again) {
  neo_tensor *in;
  bool any = false;
  for (size_t n = neo_def_reads(r->m, d, r->a, &in); n-- > 0;)
    any = any || again[in[n].i];
  return any;
}

/* Does d read recomputed tensors, or depend on a definition that does? True: newly found. */
static bool find_reads(look *l, neo_def d, const bool *again) {
  recompute *r = l->r;
  neo_tensor *in;
  bool reads = reads_any(r, d, again), was = l->reads_again[d.i];
  for (size_t n = neo_def_reads(r->m, d, r->a, &in); n-- > 0;)
    reads = reads || any_maker(r, in[n], l->reads_again);
  l->reads_again[d.i] = reads || was;
  return reads && !was;
}

/* Marks whole loops over chunks, which are computed together. True: some are newly found. */
static bool spread_in_loops(look *l) {
  const recompute *r = l->r;
  bool changed = false;
  for (uint32_t k = 0; k < r->n_order; k++) {
    uint32_t loop = neo_def_at(r->m, r->order[k])->chunk_loop;
    for (uint32_t i = 0; i < r->n_order && loop && l->reads_again[r->order[k].i]; i++) {
      bool *is = &l->reads_again[r->order[i].i];
      if (*is || neo_def_at(r->m, r->order[i])->chunk_loop != loop)
        continue;
      *is = changed = true;
    }
  }
  return changed;
}

/* Finds all readers. Copies of later segments have no position in the order: what they depend on
 * may need this segment. */
static void find_readers(look *l, const bool *again) {
  recompute *r = l->r;
  bool changed = true;
  for (uint32_t k = 0; k < r->n_order; k++)
    l->at[r->order[k].i] = k + 1;
  while (changed) {
    changed = spread_in_loops(l);
    for (size_t k = 0; k < r->copies.n; k++)
      changed = find_reads(l, r->copies.at[k], again) || changed;
    for (uint32_t k = 0; k < r->n_order; k++)
      changed = (!r->is_forward[r->order[k].i] && find_reads(l, r->order[k], again)) || changed;
  }
}

/* The last operand of d in the backward pass that is not recomputed; 0: none. */
static neo_tensor last_operand(const look *l, neo_def d) {
  const recompute *r = l->r;
  neo_tensor *in, found = {0};
  uint32_t last = 0;
  for (size_t n = neo_def_reads(r->m, d, r->a, &in); n-- > 0;) {
    neo_list pieces = neo_tensor_at(r->m, in[n])->pieces;
    uint32_t at = 0;
    for (uint32_t k = 0; k < pieces.n; k++) {
      uint32_t x = neo_list_at(r->m, pieces, k);
      at = l->at[x] <= at || r->is_forward[x] ? at : l->at[x]; /* a copy has no position */
    }
    if (at <= last || any_maker(r, in[n], l->reads_again))
      continue;
    last = at;
    found = in[n];
  }
  return found;
}

static neo_tensor find_after(const look *l, const bool *again) {
  const recompute *r = l->r;
  const neo_module *m = r->m;
  for (uint32_t k = 0; k < r->n_order; k++) {
    neo_def d = r->order[k];
    neo_tensor t = {0}, before = {0};
    if (!r->is_forward[d.i] && reads_any(r, d, again))
      t = last_operand(l, d);
    if (!t.i)
      continue;
    neo_def maker = neo_tensor_piece(m, t, 0);
    if (neo_def_at(m, d)->reducer == NEO_RED_NONE && neo_def_at(m, maker)->reducer != NEO_RED_NONE)
      before = last_operand(l, maker);
    return before.i ? before : t;
  }
  return neo_list_tensor(m, m->entries.at[r->entry].outputs, 0);
}

/* ---- entries */

static const bool *needs_of(const recompute *r, uint32_t entry) {
  neo_module *m = r->m;
  bool *needs = NEO_NEW_ARRAY(r->a, bool, m->defs.n);
  neo_def *defs;
  for (size_t k = neo_entry_defs(m, &m->entries.at[entry], r->a, &defs); k-- > 0;)
    needs[defs[k].i] = true;
  return needs;
}

/* Does each entry with a reader of recomputed tensors need t too? */
static bool is_always_needed(const recompute *r, neo_tensor t, const bool *again) {
  bool is = true;
  for (uint32_t e = 0; e < r->m->entries.n && is; e++) {
    const bool *needs = needs_of(r, e);
    for (uint32_t k = 0; k < r->n_order && is && !any_maker(r, t, needs); k++)
      is = r->is_forward[r->order[k].i] || !needs[r->order[k].i] ||
           !reads_any(r, r->order[k], again);
  }
  return is;
}

neo_tensor recompute_after(recompute *r, const bool *again) {
  look l = {.r = r};
  l.reads_again = NEO_NEW_ARRAY(r->a, bool, r->m->defs.n);
  l.at = NEO_NEW_ARRAY(r->a, uint32_t, r->m->defs.n);
  find_readers(&l, again);
  neo_tensor t = find_after(&l, again);
  return is_always_needed(r, t, again) ? t : (neo_tensor){0};
}

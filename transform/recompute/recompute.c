/* Rematerialisation: segments of a training entry's forward pass are computed again for the
 * backward pass, so that their values need not be stored between the passes.
 *
 *     z[i] = f(x, i),  y[i] = g(z, i),  L = h(y),   dy[i] = h'(y, i),  dz[i] = g'(z, dy, i)
 *     ->
 *     after dy again.z[i] = f(x, i),  dz[i] = g'(again.z, dy, i)
 *
 * The forward pass is cut where few bytes cross (cuts.c), and the crossing values are
 * stored. The copies of a segment depend on a tensor of the backward pass before their first reader
 * (neo_def_rec.after, order.c), so that no kernel fuses them with the originals. Copies
 * give the same values, rand() included.
 *
 * The pass comes last, when definitions are those of kernels. Recurrences are not recomputed here
 * (checkpoint.c). Entries without a backward pass stay as they are. */
#include "ir/clone.h"
#include "ir/component.h"
#include "transform/recompute/parts.h"
#include "transform/transform.h"

/* ---- finding definitions to copy */

typedef struct {
  recompute *r;
  recompute_segment s;
  bool *marked; /* by position in the forward pass: copied */
  bool *again;  /* by tensor */
  NEO_VEC(neo_tensor)
  found, kept; /* recomputed tensors; those that their definitions read */
} copying;

/* Does something read the tensor, and is it to be recomputed? */
static bool is_made_again(const copying *x, neo_tensor t) {
  const recompute_tensor *of = &x->r->tensor[t.i];
  return of->made > x->s.begin && of->made <= x->s.end && !of->fixed && !of->kept;
}

static void need(copying *x, neo_tensor t) {
  if (x->again[t.i] || !x->r->tensor[t.i].made)
    return;
  if (!is_made_again(x, t)) {
    NEO_PUSH(x->r->a, &x->kept, t);
    return;
  }
  x->again[t.i] = true;
  NEO_PUSH(x->r->a, &x->found, t);
}

static void mark_makers(copying *x, neo_tensor t) {
  recompute *r = x->r;
  neo_list pieces = neo_tensor_at(r->m, t)->pieces;
  neo_tensor *in;
  for (uint32_t k = 0; k < pieces.n; k++) {
    neo_def d = {neo_list_at(r->m, pieces, k)};
    x->marked[d.i] = true;
    for (size_t n = neo_def_reads(r->m, d, r->a, &in); n-- > 0;)
      need(x, in[n]);
    for (uint32_t i = 0; i < neo_def_at(r->m, d)->out.n; i++)
      x->again[neo_def_out(r->m, d, i).i] = true;
  }
}

static void find_copies(copying *x) {
  recompute *r = x->r;
  x->marked = NEO_NEW_ARRAY(r->a, bool, r->m->defs.n);
  x->again = NEO_NEW_ARRAY(r->a, bool, r->m->tensors.n);
  for (uint32_t t = 1; t < r->n_tensors; t++)
    if (r->tensor[t].read && is_made_again(x, (neo_tensor){t}))
      need(x, (neo_tensor){t});
  for (size_t k = 0; k < x->found.n; k++)
    mark_makers(x, x->found.at[k]);
}

/* ---- the copies */

static void copy(copying *x, neo_tensor after) {
  recompute *r = x->r;
  neo_def *defs = NEO_NEW_ARRAY(r->a, neo_def, r->n_forward + 1);
  size_t n = 0;
  neo_map to = neo_map_in(r->a);
  for (uint32_t k = 0; k < r->n_forward; k++)
    if (x->marked[r->forward[k].i])
      defs[n++] = r->forward[k];
  neo_defs_clone(r->m, defs, n, NULL, "again", &to);
  for (size_t k = 0; k < n; k++) {
    neo_def_at(r->m, defs[k])->after = after;
    NEO_PUSH(r->a, &r->copies, defs[k]);
  }
  for (uint32_t k = 0; k < r->n_order; k++)
    if (!r->is_forward[r->order[k].i])
      neo_def_rename(r->m, r->order[k], &to);
}

static void compute_again(recompute *r, recompute_segment s) {
  copying x = {.r = r, .s = s};
  find_copies(&x);
  neo_tensor after = x.found.n ? recompute_after(r, x.again) : (neo_tensor){0};
  if (!after.i)
    return;
  for (size_t k = 0; k < x.kept.n; k++)
    r->tensor[x.kept.at[k].i].kept = true;
  copy(&x, after);
}

/* ---- entries */

/* Bytes that may be stored, less those of tensors that cannot be recomputed. */
static double room(const recompute *r, double memory) {
  for (uint32_t t = 1; t < r->n_tensors && memory >= 0; t++)
    memory -= r->tensor[t].read && r->tensor[t].fixed ? r->tensor[t].bytes : 0;
  return memory;
}

static void recompute_entry(recompute *r, uint32_t entry, int64_t memory) {
  uint32_t n;
  if (!recompute_find(r, entry))
    return;
  recompute_chain c = recompute_chain_of(r);
  const recompute_segment *s = recompute_cut(&c, room(r, (double)memory), r->a, &n);
  while (n-- > 0) /* later segments are needed first */
    if (s[n].again)
      compute_again(r, s[n]);
}

neo_status neo_pass_recompute(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  uint32_t n = (uint32_t)m->entries.n;
  if (!pass->target->memory || !pass->target->profile)
    return NEO_OK;
  for (uint32_t k = 0; k < n; k++) {
    neo_entry_kind kind = (neo_entry_kind)m->entries.at[k].kind;
    if (kind != NEO_ENTRY_TRAIN && kind != NEO_ENTRY_GRAD)
      continue;
    neo_arena scratch = neo_arena_scratch(m->arena);
    recompute r = {.m = m, .a = &scratch, .p = pass->p, .profile = pass->target->profile};
    r.recurs = neo_recurrent_defs(m, &scratch);
    recompute_entry(&r, k, pass->target->memory);
    neo_arena_free(&scratch);
  }
  return NEO_OK;
}

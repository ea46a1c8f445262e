/* Concatenations of tensors that kernels write anyway: the kernels write their parts in place
 * (fusion/concat.h). So no reader inlines one, and no kernel computes one beside other results. */
#include "fusion/concat.h"
#include "fusion/search/search.h"

/* Does the definition reduce, or apply something to each element of a reduction? Readers do not
 * copy such a value. */
static bool makes_of_sums(const fuser *q, uint32_t id, uint32_t depth) {
  const fuse_def *d = &q->def[id];
  const neo_def_rec *r = neo_def_at(q->m, (neo_def){id});
  bool is = r->reducer != NEO_RED_NONE || d->lone;
  for (uint32_t k = 0; k < d->n_read && !is && depth; k++)
    is = d->read[k].from && q->def[d->read[k].from].n_out == r->n_out &&
         makes_of_sums(q, d->read[k].from, depth - 1);
  return is;
}

static bool is_stored(const fuser *q, uint32_t id) {
  enum { MOST_DEPTH = 8 };
  const fuse_def *d = &q->def[id];
  return !d->recurrence && !d->when.n && !d->choice && !(d->call_invariant && q->caches) &&
         makes_of_sums(q, id, MOST_DEPTH);
}

static bool is_part(fuser *q, neo_tensor t) {
  if (!t.i || q->wanted[t.i] || neo_tensor_at(q->m, t)->role != NEO_ROLE_TEMP)
    return false;
  neo_list pieces = neo_tensor_at(q->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (!is_stored(q, neo_list_at(q->m, pieces, k)))
      return false;
  return true;
}

bool fuse_is_concat(fuser *q, uint32_t id) {
  const neo_def_rec *r = neo_def_at(q->m, (neo_def){id});
  const fuse_def *d = &q->def[id];
  if (q->off >> NEO_FUSE_CONCAT & 1 || q->program || d->recurrence || d->when.n ||
      (d->call_invariant && q->caches) || r->reducer != NEO_RED_NONE || r->finish.n != 1 ||
      neo_expr_node(q->m, neo_list_expr(q->m, r->finish, 0))->op != NEO_OP_SELECT)
    return false;
  neo_member member = {{id}, NEO_PLACE_ROOT, NULL, false};
  neo_group alone = {.members = {&member, 1, 1}};
  neo_concat c;
  neo_prover *p = neo_prover_new(q->m);
  bool is = neo_concat_of(p, q->a, &alone, 0, &c);
  neo_prover_free(p);
  for (size_t k = 0; k < c.parts.n && is; k++)
    is = is_part(q, c.parts.at[k].from);
  return is;
}

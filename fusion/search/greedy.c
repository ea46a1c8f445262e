/* Greedy search: the move of the best reward first.
 *
 * A heap holds the moves of kinds.def whose rules are FUSE_BEST_FIRST, by reward. Moves of a group
 * enter at the start and whenever the group changes. A move whose groups changed after it was
 * priced is priced again when it is at the top. Ties are broken by kind and numbers, so the result
 * depends on the module alone. */
#include "fusion/search/search.h"
#include <assert.h>

typedef struct {
  fuser *q;
  fuse_moves heap, found;
  neo_map offered; /* move -> its stamp when it entered last */
} greedy;

/* ---- the heap */

static bool before(const fuse_move *a, const fuse_move *b) {
  if (a->reward != b->reward)
    return a->reward > b->reward;
  if (a->kind != b->kind)
    return a->kind < b->kind;
  return a->a != b->a ? a->a < b->a : a->b < b->b;
}

static void push(greedy *s, fuse_move x) {
  NEO_PUSH(s->q->a, &s->heap, x);
  size_t k = s->heap.n - 1;
  for (; k && before(&x, &s->heap.at[(k - 1) / 2]); k = (k - 1) / 2)
    s->heap.at[k] = s->heap.at[(k - 1) / 2];
  s->heap.at[k] = x;
}

static fuse_move pop(greedy *s) {
  fuse_move top = s->heap.at[0], x = s->heap.at[--s->heap.n];
  size_t k = 0, c;
  for (; (c = 2 * k + 1) < s->heap.n; k = c) {
    c += c + 1 < s->heap.n && before(&s->heap.at[c + 1], &s->heap.at[c]);
    if (!before(&s->heap.at[c], &x))
      break;
    s->heap.at[k] = s->heap.at[c];
  }
  if (s->heap.n)
    s->heap.at[k] = x;
  return top;
}

/* ---- moves */

static uint64_t stamp_of(fuser *q, const fuse_move *x) {
  return fuse_rules_of(x)->stamp(q, x);
}

static void offer(greedy *s, fuse_move x) {
  enum { NUMBER_BITS = 28 };
  const char *why;
  uint64_t key = (uint64_t)x.kind << 60 | (uint64_t)x.a << 32 | x.b, old;
  assert(x.a >> NUMBER_BITS == 0 && "a module has fewer definitions");
  x.stamp = stamp_of(s->q, &x);
  if (neo_map_get(&s->offered, key, &old) && old == x.stamp)
    return;
  neo_map_set(&s->offered, key, x.stamp);
  if (fuse_move_price(s->q, &x, &why))
    push(s, x);
}

static void offer_group(greedy *s, uint32_t g) {
  if (!s->q->groups.at[g].members.n)
    return;
  fuse_match(s->q, FUSE_BEST_FIRST, g, &s->found);
  for (size_t k = 0; k < s->found.n; k++)
    offer(s, s->found.at[k]);
}

static void take_best(greedy *s, fuse_list *changed) {
  fuse_move x = pop(s);
  const char *why;
  uint64_t now = stamp_of(s->q, &x);
  if (now == FUSE_GONE)
    return;
  if (now != x.stamp) {
    if (fuse_move_price(s->q, &x, &why))
      push(s, x);
    return;
  }
  if (fuse_move_make(s->q, &x, changed))
    for (size_t k = 0; k < changed->n; k++)
      offer_group(s, changed->at[k]);
}

/* Records moves between neighbours that were not made, and why. */
static void record_refusals(fuser *q, uint32_t g) {
  fuse_moves near = {0};
  fuse_refusals(q, g, &near);
  for (size_t k = 0; k < near.n; k++) {
    fuse_move x = near.at[k];
    const char *why = "";
    if (fuse_move_price(q, &x, &why))
      continue;
    neo_decision d = fuse_rules_of(&x)->describe_refusal(q, g, &x);
    d.why = why;
    d.saves_s = x.reward;
    d.byte_s = q->price;
    fuse_record(q, &d);
  }
}

void fuse_greedy(fuser *q) {
  greedy s = {.q = q};
  fuse_list changed = {0};
  neo_map_init(&s.offered, q->a);
  for (uint32_t g = 0; g < q->groups.n; g++)
    offer_group(&s, g);
  while (s.heap.n)
    take_best(&s, &changed);
  for (uint32_t g = 0; q->decisions && g < q->groups.n; g++)
    if (q->groups.at[g].members.n)
      record_refusals(q, g);
}

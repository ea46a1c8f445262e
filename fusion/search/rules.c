/* The table of moves (fusion/kinds.def), and their pricing. */
#include "fusion/search/search.h"

const fuse_rules fuse_no_rules = {.when = FUSE_NEVER};

static const fuse_rules *const rules_of_kind[] = {
#define X(name, text, rules, meaning) &rules,
#include "fusion/kinds.def"
#undef X
};

const fuse_rules *fuse_rules_of(const fuse_move *x) {
  return rules_of_kind[x->kind];
}

/* Is k the first of the kinds with its rules? */
static bool is_first_of_rules(uint32_t k) {
  uint32_t i = 0;
  while (rules_of_kind[i] != rules_of_kind[k])
    i++;
  return i == k;
}

static bool all_off(const fuser *q, const fuse_rules *r) {
  bool off = true;
  for (uint32_t i = 0; i < NEO_FUSE_KINDS; i++)
    off = off && (rules_of_kind[i] != r || q->off >> i & 1);
  return off;
}

static void set_kind(fuse_moves *moves, size_t first, uint32_t kind) {
  for (size_t i = first; i < moves->n; i++)
    moves->at[i].kind = (uint8_t)kind;
}

void fuse_match(fuser *q, fuse_when when, uint32_t g, fuse_moves *out) {
  out->n = 0;
  for (uint32_t k = 0; k < NEO_FUSE_KINDS; k++) {
    const fuse_rules *r = rules_of_kind[k];
    size_t first = out->n;
    if (r->when != when || !is_first_of_rules(k) || all_off(q, r))
      continue;
    r->match(q, g, out);
    set_kind(out, first, k);
  }
}

void fuse_refusals(fuser *q, uint32_t g, fuse_moves *out) {
  for (uint32_t k = 0; k < NEO_FUSE_KINDS; k++) {
    size_t first = out->n;
    if (!rules_of_kind[k]->refusals || !is_first_of_rules(k))
      continue;
    rules_of_kind[k]->refusals(q, g, out);
    set_kind(out, first, k);
  }
}

bool fuse_move_price(fuser *q, fuse_move *x, const char **why) {
  const fuse_rules *r = fuse_rules_of(x);
  x->stamp = r->stamp ? r->stamp(q, x) : 0;
  x->reward = 0;
  bool ok = r->price(q, x, why);
  if (ok && x->reward <= 1e-6 * q->profile->launch_s) {
    *why = "costs more";
    return false;
  }
  return ok;
}

void fuse_record(fuser *q, const neo_decision *d) {
  if (!q->decisions)
    return;
  NEO_PUSH(q->a, &q->decisions->list, *d);
  q->decisions->list.at[q->decisions->list.n - 1].entry = q->entry;
}

bool fuse_move_make(fuser *q, const fuse_move *x, fuse_list *changed) {
  neo_decision d = {0};
  changed->n = 0;
  if (q->decisions)
    d = fuse_rules_of(x)->describe(q, x);
  if (!fuse_rules_of(x)->apply(q, x, changed))
    return false;
  d.saves_s = x->reward;
  d.byte_s = q->price;
  fuse_record(q, &d);
  return true;
}

void fuse_in_order(fuser *q, fuse_when when, uint32_t g) {
  fuse_moves moves = {0};
  fuse_list changed = {0};
  const char *why;
  fuse_match(q, when, g, &moves);
  for (size_t k = 0; k < moves.n; k++)
    if (fuse_move_price(q, &moves.at[k], &why) && fuse_move_make(q, &moves.at[k], &changed))
      return;
}

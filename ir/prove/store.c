/* State that the provers of one module share: the quota of a proof, which integer sets were found
 * empty or not, and statistics.
 *
 * The memory is keyed by the words of a relation, so a question is answered once whatever its axes,
 * tensors and sizes are called and whichever pass asks. Times are CPU times of this process. */
#include "base/clock.h"
#include "base/hash.h"
#include "ir/prove/relation.h"
#include <string.h>

typedef struct answer {
  struct answer *next; /* next with equal hash */
  size_t n;
  const int64_t *words, *point;
  uint64_t quota;
  neo_isl_answer is;
} answer;

struct neo_proofs {
  uint64_t max_operations;
  neo_map answers;           /* hash of words -> answer * */
  neo_witness_search *trial; /* storage of witness.c; null: not made yet */
  neo_prover_stats total;
};

static neo_proofs *proofs_of(neo_module *m) {
  if (m->proofs)
    return m->proofs;
  m->proofs = NEO_NEW(m->arena, neo_proofs);
  m->proofs->max_operations = NEO_PROOF_QUOTA;
  neo_map_init(&m->proofs->answers, m->arena);
  return m->proofs;
}

neo_witness_search **neo_proofs_trial(neo_module *m) {
  return &proofs_of(m)->trial;
}

void neo_proofs_limit(neo_module *m, uint64_t max_operations) {
  proofs_of(m)->max_operations = max_operations ? max_operations : NEO_PROOF_QUOTA;
}

uint64_t neo_proofs_most(const neo_module *m) {
  return m->proofs ? m->proofs->max_operations : NEO_PROOF_QUOTA;
}

static void add_stats(neo_prover_stats *to, const neo_prover_stats *s) {
  to->questions += s->questions;
  to->memo += s->memo;
  to->interval += s->interval;
  to->points += s->points;
  to->isl_proved += s->isl_proved;
  to->isl_refuted += s->isl_refuted;
  to->enumerated += s->enumerated;
  to->unknown += s->unknown;
  to->isl_calls += s->isl_calls;
  to->isl_known += s->isl_known;
  to->isl_quota += s->isl_quota;
  to->isl_seconds += s->isl_seconds;
  if (s->slowest_seconds <= to->slowest_seconds)
    return;
  to->slowest_seconds = s->slowest_seconds;
  to->slowest = s->slowest;
}

neo_prover_stats neo_proofs_total(const neo_module *m) {
  return m->proofs ? m->proofs->total : (neo_prover_stats){0};
}

void neo_proofs_restart(neo_module *m) {
  if (m->proofs)
    m->proofs->total = (neo_prover_stats){0};
}

/* ---- places */

neo_span neo_prover_at(neo_prover *p, neo_span at) {
  neo_span before = p->at;
  if (before != at)
    p->at_seconds = 0;
  p->at = at;
  return before;
}

static void spent(neo_prover *p, double seconds) {
  neo_prover_stats *s = &p->stats;
  s->isl_seconds += seconds;
  p->at_seconds += seconds;
  if (p->at_seconds <= s->slowest_seconds)
    return;
  s->slowest_seconds = p->at_seconds;
  s->slowest = p->at;
}

/* ---- answers */

static answer *find(neo_proofs *s, uint64_t h, const int64_t *words, size_t n) {
  uint64_t found = 0;
  neo_map_get(&s->answers, h, &found);
  for (answer *a = (answer *)(uintptr_t)found; a; a = a->next)
    if (a->n == n && memcmp(a->words, words, n * sizeof *words) == 0)
      return a;
  return NULL;
}

uint64_t neo_prover_quota(const neo_prover *p) {
  uint64_t quota = proofs_of(p->m)->max_operations;
  return p->insists && quota < NEO_PROOF_QUOTA ? NEO_PROOF_QUOTA : quota;
}

static const answer *ask(neo_prover *p, uint64_t h, const int64_t *words, size_t n,
                         uint64_t quota) {
  neo_arena *arena = p->m->arena;
  neo_proofs *s = p->m->proofs;
  int64_t *point = NEO_NEW_ARRAY(arena, int64_t, (size_t)words[0] + 1);
  if (!p->isl)
    p->isl = neo_isl_new(arena);
  double start = neo_clock_s(CLOCK_PROCESS_CPUTIME_ID);
  neo_isl_answer is = neo_isl_sample(p->isl, words, n, quota, point);
  spent(p, neo_clock_s(CLOCK_PROCESS_CPUTIME_ID) - start);
  p->stats.isl_calls++;
  answer *a = NEO_NEW(arena, answer);
  uint64_t next = 0;
  neo_map_get(&s->answers, h, &next);
  *a = (answer){(answer *)(uintptr_t)next,
                n,
                neo_arena_copy(arena, words, n * sizeof *words),
                point,
                quota,
                is};
  neo_map_set(&s->answers, h, (uint64_t)(uintptr_t)a);
  return a;
}

neo_isl_answer neo_proofs_sample(neo_prover *p, const int64_t *words, size_t n, uint64_t quota,
                                 int64_t *point) {
  neo_proofs *s = proofs_of(p->m);
  uint64_t h[2];
  neo_hash128(words, n * sizeof *words, h);
  const answer *a = find(s, h[0], words, n);
  if (a && a->is == NEO_ISL_QUOTA && a->quota < quota)
    a = NULL;
  if (a)
    p->stats.isl_known++;
  else
    a = ask(p, h[0], words, n, quota);
  if (a->is == NEO_ISL_POINT)
    memcpy(point, a->point, (size_t)words[0] * sizeof *point);
  p->stats.isl_quota += a->is == NEO_ISL_QUOTA && quota == neo_prover_quota(p);
  return a->is;
}

void neo_prover_free(neo_prover *p) {
  if (!p)
    return;
  add_stats(&proofs_of(p->m)->total, &p->stats);
  p->stats = (neo_prover_stats){0};
  neo_isl_free(p->isl);
  p->isl = NULL;
}

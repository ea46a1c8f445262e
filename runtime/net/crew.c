/* crew.c: see crew.h. */
#include "runtime/net/crew.h"
#include "base/random.h"
#include "runtime/net/mailbox.h"
#include <stdlib.h>

enum { WORD = 64 };

static neo_rti_net_set *set_of(const neo_rt_network *n, int32_t actor) {
  return &n->crew->sets[n->mailbox[actor].set];
}

void neo_rti_crew_make_ready(neo_rt_network *n, int32_t actor) {
  atomic_fetch_or(&set_of(n, actor)->ready[actor / WORD], (uint64_t)1 << actor % WORD);
}

bool neo_rti_crew_any_ready(const neo_rti_net_crew *c, const neo_rti_net_set *s) {
  bool any = false;
  for (int32_t k = 0; k < c->n_words && !any; k++)
    any = atomic_load(&s->ready[k]) != 0;
  return any;
}

/* The ready actor with the best task; NEO_RTI_NOBODY: there is none. */
static int32_t best_ready(const neo_rt_network *n, const neo_rti_net_set *s) {
  int32_t found = NEO_RTI_NOBODY;
  uint64_t least = 0;
  for (int32_t k = 0; k < n->crew->n_words; k++)
    for (uint64_t bits = atomic_load_explicit(&s->ready[k], memory_order_relaxed); bits;
         bits &= bits - 1) {
      int32_t actor = k * WORD + __builtin_ctzll(bits);
      uint64_t r = atomic_load_explicit(&n->mailbox[actor].best, memory_order_relaxed);
      if (found == NEO_RTI_NOBODY || r < least) {
        found = actor;
        least = r;
      }
    }
  return found;
}

int32_t neo_rti_crew_claim(const neo_rt_network *n, neo_rti_net_set *s) {
  for (;;) {
    int32_t actor = best_ready(n, s);
    uint64_t bit = actor == NEO_RTI_NOBODY ? 0 : (uint64_t)1 << actor % WORD;
    if (actor == NEO_RTI_NOBODY || atomic_fetch_and(&s->ready[actor / WORD], ~bit) & bit)
      return actor;
  }
}

void neo_rti_crew_put(neo_rt_network *n, neo_rti_net_task *t) {
  int32_t actor = n->net->nodes[t->node].actor;
  if (!neo_rti_mailbox_put(&n->mailbox[actor], t))
    return;
  neo_rti_crew_make_ready(n, actor);
  if (n->crew->n_sets > 1)
    neo_rti_net_event_signal(&set_of(n, actor)->event, 1);
}

void neo_rti_crew_share(neo_rt_network *n) {
  neo_rti_net_crew *c = n->crew;
  if (c && c->n_sets == 1 && neo_rti_crew_any_ready(c, &c->sets[0]))
    neo_rti_net_event_signal(&c->sets[0].event, 1);
}

bool neo_rti_crew_is_idle(const neo_rt_network *n) {
  bool idle = true;
  for (int32_t k = 0; k < n->net->n_actors && idle; k++)
    idle = neo_rti_mailbox_is_idle(&n->mailbox[k]);
  return idle;
}

/* ---- making */

/* Heavy actors have parameters: they are dealt out in turn, the others at random. */
static void place(neo_rt_network *n) {
  int32_t heavy = 0;
  uint64_t state = n->seed;
  for (int32_t k = 0; k < n->net->n_actors; k++) {
    uint64_t drawn = neo_splitmix(&state);
    bool is_heavy = n->net->actors[k].model->param_bytes > 0;
    uint64_t at = is_heavy ? (uint64_t)heavy++ : drawn;
    n->mailbox[k].set = (int32_t)(at % (uint64_t)n->crew->n_sets);
  }
}

void *neo_rti_net_lines(size_t bytes, void **raw) {
  *raw = calloc(bytes + NEO_PADDING_BYTES, 1);
  uintptr_t at = ((uintptr_t)*raw + NEO_PADDING_BYTES - 1) & ~(uintptr_t)(NEO_PADDING_BYTES - 1);
  return *raw ? (void *)at : NULL;
}

bool neo_rti_crew_open_sets(neo_rt_network *n) {
  neo_rti_net_crew *c = n->crew;
  size_t sets = (size_t)c->n_sets, line = NEO_PADDING_BYTES / sizeof(uint64_t);
  c->n_words = (n->net->n_actors + WORD - 1) / WORD;
  size_t words = ((size_t)c->n_words + line - 1) / line * line; /* in cache lines of its own */
  _Atomic uint64_t *all = neo_rti_net_lines(sets * words * sizeof *all, &c->raw_words);
  c->sets = neo_rti_net_lines(sets * sizeof *c->sets, &c->raw_sets);
  for (size_t k = 0; k < sets && c->sets && all; k++)
    c->sets[k].ready = all + k * words;
  place(n);
  return c->sets && all;
}

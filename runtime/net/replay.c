/* replay.c: a run again, in the order of its log: each actor runs the tasks of its track, as
 * soon as their messages have come. Actors may take turns otherwise than in the first run; what
 * they compute does not depend on that. */
#include "runtime/net/log.h"
#include <inttypes.h>

/* The slot of an instance; -1: it is not on its way. */
static int32_t find_slot(const neo_rt_network *n, uint64_t number) {
  for (int32_t k = 0; k < n->on_their_way; k++)
    if (n->slot[n->placed[k]].number == number)
      return n->placed[k];
  return -1;
}

/* The next task of a track, if its messages have come. */
static neo_rti_net_task *next_task(const neo_rt_network *n, const neo_rti_log_track *t) {
  int32_t slot = t->at < t->n ? find_slot(n, t->steps[t->at].number) : -1;
  if (slot < 0)
    return NULL;
  const neo_rti_log_step *s = &t->steps[t->at];
  neo_rti_net_task *task = &n->slot[slot].task[2 * s->node + s->back];
  return task->ready ? task : NULL;
}

static neo_rt_status run_next(neo_rt_network *n, int32_t actor, neo_rti_net_task *t) {
  t->ready = false;
  n->log->tracks[actor].at++;
  neo_rti_net_log_note(n, actor, t);
  if (t->node == 0)
    return neo_rti_net_finish(n, t->slot);
  n->tasks++;
  return neo_rti_net_run(n, t->node, t->slot, t->back);
}

static neo_rt_status stuck(neo_rt_network *n) {
  for (int32_t k = 0; k <= n->net->n_actors; k++) {
    const neo_rti_log_track *t = &n->log->tracks[k];
    if (t->at < t->n)
      return neo_rti_net_fail(n, NEO_RT_E_STATE,
                              "%s: node %s waits for instance %" PRIu64
                              ", which does not come: the log is of another run",
                              n->config.replay, neo_rti_net_name_of(n, t->steps[t->at].node).text,
                              t->steps[t->at].number);
  }
  return neo_rti_net_fail(n, NEO_RT_E_STATE, "%s: the log ends before this run", n->config.replay);
}

neo_rt_status neo_rti_net_replay_step(neo_rt_network *n) {
  for (int32_t k = 0; k <= n->net->n_actors; k++) {
    neo_rti_net_task *t = next_task(n, &n->log->tracks[k]);
    if (t)
      return run_next(n, k, t);
  }
  return stuck(n);
}

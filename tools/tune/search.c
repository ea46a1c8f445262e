/* See search.h. */
#include "tools/tune/search.h"
#include "base/random.h"
#include <math.h>

enum { HALF = NEO_SEARCH_HALF, POPULATION = 8, CHILDREN = 48, BARREN = 12, STEPS = 512 };

/* A candidate may be quicker than is believed by so many standard deviations. It is worth measuring
 * in a descent while that is at most `hopeful` of the best time; of children `believable`, and more
 * with each batch that found nothing. */
static const double doubt = 1.3, hopeful = 1.05, believable = 1, slack = 0.1;

/* ---- what has been tried */

static neo_trial *find(const neo_search *s, const neo_schedule *x) {
  for (size_t k = 0; k < s->trials.n; k++)
    if (neo_schedule_equal(&s->trials.at[k].schedule, x))
      return &s->trials.at[k];
  return NULL;
}

/* The model's, which is not 0. */
static double cost_of(const neo_search *s, const neo_schedule *x) {
  double cost = neo_space_cost(&s->space, x);
  return cost > 1e-9 ? cost : 1e-9;
}

static void learn(neo_search *s, size_t trial) {
  const neo_trial *t = &s->trials.at[trial];
  if (t->time_ns > 0)
    neo_belief_learn(s->belief, &t->schedule, t->cost, t->time_ns);
}

static size_t add_trial(neo_search *s, const neo_schedule *x, double time_ns) {
  neo_trial t = {*x, time_ns, cost_of(s, x), false};
  NEO_PUSH(s->arena, &s->trials, t);
  return s->trials.n - 1;
}

static bool has_best(const neo_search *s) {
  return s->trials.n && s->trials.at[s->best].time_ns > 0;
}

double neo_search_best(const neo_search *s) {
  return has_best(s) ? s->trials.at[s->best].time_ns : 0;
}

/* ---- the beginning */

void neo_search_init(neo_search *s, neo_arena *a, neo_space space, uint64_t seed) {
  *s = (neo_search){.space = space, .arena = a, .seed = seed, .belief = neo_belief_new(a, &space)};
  s->candidates = NEO_NEW_ARRAY(a, neo_search_candidate, STEPS);
  s->steps = NEO_NEW_ARRAY(a, neo_schedule, STEPS);
  neo_schedule *x = NEO_NEW_ARRAY(a, neo_schedule, NEO_SEARCH_FIRST);
  size_t n = neo_space_ranked(&space, x, NEO_SEARCH_FIRST);
  for (size_t k = 0; k < n; k++)
    NEO_PUSH(a, &s->list, x[k]);
}

void neo_search_seed(neo_search *s, const neo_schedule *x) {
  if (!neo_schedule_legal(s->space.m, s->space.g, s->space.machine, x, NULL))
    return;
  for (size_t k = 0; k < s->list.n; k++)
    if (neo_schedule_equal(&s->list.at[k], x))
      return;
  NEO_PUSH(s->arena, &s->list, *x);
  for (size_t k = s->list.n - 1; k > 1; k--)
    s->list.at[k] = s->list.at[k - 1];
  s->list.at[1] = *x;
}

void neo_search_know(neo_search *s, const neo_schedule *x, double time_ns) {
  if (find(s, x) || !neo_schedule_legal(s->space.m, s->space.g, s->space.machine, x, NULL))
    return;
  size_t k = add_trial(s, x, time_ns);
  learn(s, k);
  if (time_ns > 0 && (!has_best(s) || time_ns < s->trials.at[s->best].time_ns))
    s->best = k;
}

/* ---- batches */

typedef struct {
  neo_search *s;
  size_t *out;
  size_t n, most;
} batch;

static bool propose(batch *b, const neo_schedule *x) {
  neo_schedule y = *x;
  if (b->n == b->most || (b->s->within && !b->s->within(b->s->ctx, &y)) || find(b->s, &y))
    return false;
  b->out[b->n++] = add_trial(b->s, &y, 0);
  return true;
}

static void ask_list(neo_search *s, batch *b) {
  size_t until = HALF < s->list.n ? HALF : s->list.n;
  for (; s->listed < until && b->n < b->most; s->listed++)
    propose(b, &s->list.at[s->listed]);
  if (s->listed < until || b->n)
    return;
  s->phase = NEO_SEARCH_DESCENT;
}

/* ---- what is believed of candidates */

static double low_of(neo_search *s, const neo_schedule *x, double cost) {
  double spread, ns = neo_belief_ns(s->belief, x, cost, &spread);
  return ns * exp(-doubt * spread);
}

/* Into a list in order, the quickest first, if it is new. */
static size_t insert(neo_search *s, neo_search_candidate *c, size_t n, size_t most,
                     const neo_schedule *x) {
  size_t k = n < most ? n : most - 1;
  if (find(s, x))
    return n;
  double low = low_of(s, x, cost_of(s, x));
  if (n == most && low >= c[k].low_ns)
    return n;
  for (size_t i = 0; i < n; i++)
    if (neo_schedule_equal(&c[i].schedule, x))
      return n;
  for (; k && low < c[k - 1].low_ns; k--)
    c[k] = c[k - 1];
  c[k] = (neo_search_candidate){*x, low};
  return n < most ? n + 1 : most;
}

static bool has_pack(const neo_search *s, int64_t pack) {
  for (size_t k = 0; k < s->trials.n; k++)
    if (s->trials.at[k].schedule.at[NEO_SCHED_PACK] == pack)
      return true;
  return false;
}

/* What packing brings is what the model knows least of: each operand's is tried once where there
 * is room for it, whatever is believed of it. */
static void ask_pack(neo_search *s, batch *b) {
  neo_schedule best = s->trials.at[s->best].schedule, x;
  int64_t value[NEO_SPACE_VALUES];
  size_t n = neo_space_values(&s->space, &best, NEO_SCHED_PACK, value);
  for (size_t k = 0; k < n; k++)
    if (!has_pack(s, value[k]) && neo_space_set(&s->space, &best, NEO_SCHED_PACK, value[k], &x) &&
        propose(b, &x))
      return;
}

/* What is one step from the best one, and what is left of the model's list: those first that are
 * believed to be quickest. */
static void ask_descent(neo_search *s, batch *b) {
  neo_search_candidate *c = s->candidates;
  neo_schedule *step = s->steps;
  size_t n = 0,
         n_steps = neo_space_neighbours(&s->space, &s->trials.at[s->best].schedule, step, STEPS);
  for (size_t k = 0; k < n_steps; k++)
    n = insert(s, c, n, STEPS, &step[k]);
  for (size_t k = s->listed; k < s->list.n; k++)
    n = insert(s, c, n, STEPS, &s->list.at[k]);
  for (size_t k = 0; k < n && c[k].low_ns < hopeful * neo_search_best(s); k++)
    propose(b, &c[k].schedule);
  ask_pack(s, b);
  if (!b->n)
    s->phase = NEO_SEARCH_GENETIC;
}

/* ---- genetic */

/* Trials by time, the refused left out. */
static size_t fittest(const neo_search *s, size_t out[POPULATION]) {
  size_t n = 0;
  for (size_t k = 0; k < s->trials.n; k++) {
    double t = s->trials.at[k].time_ns;
    if (t <= 0 || (n == POPULATION && t >= s->trials.at[out[n - 1]].time_ns))
      continue;
    size_t i = n < POPULATION ? n++ : n - 1;
    for (; i && t < s->trials.at[out[i - 1]].time_ns; i--)
      out[i] = out[i - 1];
    out[i] = k;
  }
  return n;
}

static neo_schedule make_child(neo_search *s, const size_t *parents, size_t n) {
  size_t a = (size_t)(neo_splitmix(&s->seed) % n), c = (size_t)(neo_splitmix(&s->seed) % n);
  const neo_trial *x = &s->trials.at[parents[a]], *y = &s->trials.at[parents[c]];
  neo_schedule z = x->schedule;
  if (a != c)
    z = neo_space_cross(&s->space, &x->schedule, &y->schedule, &s->seed);
  if (a == c || neo_splitmix(&s->seed) % 2)
    z = neo_space_mutate(&s->space, &z, &s->seed);
  return z;
}

static void ask_genetic(neo_search *s, batch *b) {
  size_t parents[POPULATION], n = fittest(s, parents), n_children = 0;
  for (int k = 0; k < CHILDREN && n && s->barren < BARREN; k++) {
    neo_schedule x = make_child(s, parents, n);
    n_children = insert(s, s->candidates, n_children, CHILDREN, &x);
  }
  for (size_t k = 0; k < n_children && s->candidates[k].low_ns <
                                           (believable + slack * s->barren) * neo_search_best(s);
       k++)
    propose(b, &s->candidates[k].schedule);
}

static void ask_phase(neo_search *s, batch *b) {
  switch (s->phase) {
  case NEO_SEARCH_LIST:
    ask_list(s, b);
    break;
  case NEO_SEARCH_DESCENT:
    if (has_best(s))
      ask_descent(s, b);
    else
      s->phase = NEO_SEARCH_OVER;
    break;
  case NEO_SEARCH_GENETIC:
    ask_genetic(s, b);
    s->barren++;
    if (!b->n && s->barren >= BARREN)
      s->phase = NEO_SEARCH_OVER;
    break;
  case NEO_SEARCH_OVER:
    break;
  }
}

size_t neo_search_ask(neo_search *s, size_t *out, size_t most) {
  batch b = {s, out, 0, most};
  s->step = 0;
  while (!b.n && s->phase != NEO_SEARCH_OVER)
    ask_phase(s, &b);
  return b.n;
}

void neo_search_tell(neo_search *s, size_t trial, double time_ns) {
  neo_trial *t = &s->trials.at[trial];
  double before = neo_search_best(s);
  t->time_ns = time_ns;
  learn(s, trial);
  if (time_ns <= 0 || (before > 0 && time_ns >= before))
    return;
  s->best = trial;
  if (before > 0) {
    s->step += (before - time_ns) / before;
    s->barren = 0;
    if (s->phase == NEO_SEARCH_GENETIC)
      s->phase = NEO_SEARCH_DESCENT;
  }
}

size_t neo_search_unraced(const neo_search *s) {
  size_t best = s->trials.n;
  for (size_t k = 0; k < s->trials.n; k++) {
    const neo_trial *t = &s->trials.at[k];
    if (t->time_ns > 0 && !t->raced &&
        (best == s->trials.n || t->time_ns < s->trials.at[best].time_ns))
      best = k;
  }
  return best;
}

void neo_search_correct(neo_search *s, size_t trial, double time_ns) {
  s->trials.at[trial].time_ns = time_ns;
  s->trials.at[trial].raced = true;
  learn(s, trial);
  for (size_t k = 0; k < s->trials.n; k++) {
    double t = s->trials.at[k].time_ns;
    if (t > 0 && (!has_best(s) || t < s->trials.at[s->best].time_ns))
      s->best = k;
  }
}

double neo_search_hope(const neo_search *s) {
  static const double usual[] = {0.15, 0.05, 0.01, 0};
  double hope = usual[s->phase];
  return s->phase != NEO_SEARCH_OVER && s->step > hope ? (s->step + hope) / 2 : hope;
}

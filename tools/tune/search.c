/* The phases of the search (search.h). */
#include "tools/tune/search.h"
#include "base/random.h"
#include <math.h>

enum { HALF = NEO_SEARCH_HALF, POPULATION = 8, CHILDREN = 48, FRUITLESS = 12, STEPS = 512 };

/* The lower confidence bound of a candidate is its prediction less `doubt` standard deviations. A
 * descent measures candidates whose bound is at most `hopeful` times the best time, and the genetic
 * phase those below `credible` times, plus `slack` for each batch without an improvement. */
static const double doubt = 1.3, hopeful = 1.05, credible = 1, slack = 0.1;

/* ---- trials */

static neo_trial *find(const neo_search *s, const neo_schedule *x) {
  for (size_t k = 0; k < s->trials.n; k++)
    if (neo_schedule_equal(&s->trials.at[k].schedule, x))
      return &s->trials.at[k];
  return NULL;
}

/* The model's cost, never 0. */
static double cost_of(const neo_search *s, const neo_schedule *x) {
  double cost = neo_space_cost(&s->space, x);
  return cost > 1e-9 ? cost : 1e-9;
}

static void learn(neo_search *s, size_t trial) {
  const neo_trial *t = &s->trials.at[trial];
  if (t->time_ns > 0)
    neo_surrogate_learn(s->surrogate, &t->schedule, t->cost, t->time_ns);
  else
    neo_surrogate_forget(s->surrogate, &t->schedule);
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

/* ---- seeds and the model's list */

void neo_search_init(neo_search *s, neo_arena *a, neo_space space, uint64_t seed) {
  *s = (neo_search){
      .space = space, .arena = a, .seed = seed, .surrogate = neo_surrogate_new(a, &space)};
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

void neo_search_first(neo_search *s, const neo_schedule *x) {
  size_t k = 0;
  while (k < s->list.n && !neo_schedule_equal(&s->list.at[k], x))
    k++;
  if (k == s->list.n)
    NEO_PUSH(s->arena, &s->list, *x);
  for (; k; k--)
    s->list.at[k] = s->list.at[k - 1];
  s->list.at[0] = *x;
}

void neo_search_add_logged(neo_search *s, const neo_schedule *x, double time_ns) {
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
  neo_surrogate_expect(b->s->surrogate, &y);
  return true;
}

/* Proposes blocks of other lengths, about which the model errs most and whose effect carries over
 * from tile to tile: half, double, three quarters and one and a half of the first one's along the
 * sum, double and four times along the columns. */
static void ask_lengths(neo_search *s, batch *b) {
  static const struct {
    neo_param_kind block;
    size_t value; /* index in neo_space_values */
  } length[] = {{NEO_PARAM_BLOCK_K, 0}, {NEO_PARAM_BLOCK_K, 1}, {NEO_PARAM_BLOCK_K, 2},
                {NEO_PARAM_BLOCK_K, 3}, {NEO_PARAM_BLOCK_N, 1}, {NEO_PARAM_BLOCK_N, 5}};
  const neo_schedule *first = &s->list.at[0];
  for (; s->lengths < sizeof length / sizeof *length && b->n < b->most; s->lengths++) {
    int64_t value[NEO_SPACE_VALUES];
    neo_schedule x;
    neo_param block = neo_strategy_param(first->strategy, length[s->lengths].block);
    size_t k = length[s->lengths].value, n = neo_space_values(&s->space, first, block, value);
    if (k < n && neo_space_set(&s->space, first, block, value[k], &x))
      propose(b, &x);
  }
}

/* Proposes the whole list if no trial of its beginning could be measured. */
static void ask_list(neo_search *s, batch *b) {
  size_t until = s->listed < HALF || has_best(s) ? HALF : s->list.n;
  for (; s->listed < until && s->listed < s->list.n && b->n < b->most; s->listed++)
    propose(b, &s->list.at[s->listed]);
  if (has_best(s))
    ask_lengths(s, b);
  if (!b->n)
    s->phase = NEO_SEARCH_DESCENT;
}

/* ---- predicted times of candidates */

static void predict(neo_search *s, neo_search_candidate *c) {
  double spread, ns = neo_surrogate_ns(s->surrogate, &c->schedule, c->cost, &spread);
  c->low_ns = ns * exp(-doubt * spread);
}

/* Adds a candidate to a list if it is new. */
static size_t insert(neo_search *s, neo_search_candidate *c, size_t n, size_t most,
                     const neo_schedule *x) {
  if (n == most || find(s, x))
    return n;
  for (size_t i = 0; i < n; i++)
    if (neo_schedule_equal(&c[i].schedule, x))
      return n;
  c[n] = (neo_search_candidate){*x, cost_of(s, x), 0};
  return n + 1;
}

/* Proposes candidates by their lower confidence bound, up to `limit`. Each proposal is assumed to
 * take its predicted time, which changes the other predictions, so that a batch is diverse. */
static void propose_best(neo_search *s, batch *b, size_t n, double limit_ns) {
  neo_search_candidate *c = s->candidates;
  while (b->n < b->most && n) {
    size_t best = 0;
    for (size_t k = 0; k < n; k++) {
      predict(s, &c[k]);
      if (c[k].low_ns < c[best].low_ns)
        best = k;
    }
    if (c[best].low_ns >= limit_ns)
      return;
    propose(b, &c[best].schedule);
    c[best] = c[--n];
  }
}

static bool has_pack(const neo_search *s, int64_t pack) {
  for (size_t k = 0; k < s->trials.n; k++)
    if (neo_schedule_value(&s->trials.at[k].schedule, NEO_PARAM_PACK) == pack)
      return true;
  return false;
}

/* Tries each operand packed and not packed once where the batch has room, whatever the prediction,
 * since the model knows least about the gain of packing. */
static void ask_pack(neo_search *s, batch *b) {
  neo_schedule best = s->trials.at[s->best].schedule, x;
  int64_t value[NEO_SPACE_VALUES];
  neo_param pack = neo_strategy_param(best.strategy, NEO_PARAM_PACK);
  size_t n = neo_space_values(&s->space, &best, pack, value);
  for (size_t k = 0; k < n; k++)
    if (!has_pack(s, value[k]) && neo_space_set(&s->space, &best, pack, value[k], &x) &&
        propose(b, &x))
      return;
}

/* Trials by time, without refused ones. */
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

static size_t insert_steps(neo_search *s, size_t n, const neo_schedule *from) {
  size_t n_steps = neo_space_neighbours(&s->space, from, s->steps, STEPS);
  for (size_t k = 0; k < n_steps; k++)
    n = insert(s, s->candidates, n, STEPS, &s->steps[k]);
  return n;
}

/* Proposes neighbours of the best schedules and the rest of the model's list, in order of the
 * predicted time. */
static void ask_descent(neo_search *s, batch *b) {
  enum { DESCENDED = 3 };
  size_t from[POPULATION], n_from = fittest(s, from), n = 0;
  n = insert_steps(s, n, &s->trials.at[s->best].schedule);
  for (size_t k = s->listed; k < s->list.n; k++)
    n = insert(s, s->candidates, n, STEPS, &s->list.at[k]);
  for (size_t k = 0; k < n_from && k < DESCENDED; k++)
    n = insert_steps(s, n, &s->trials.at[from[k]].schedule);
  ask_pack(s, b);
  propose_best(s, b, n, hopeful * neo_search_best(s));
  if (!b->n)
    s->phase = NEO_SEARCH_GENETIC;
}

/* ---- the genetic phase */

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
  for (int k = 0; k < CHILDREN && n && s->fruitless < FRUITLESS; k++) {
    neo_schedule x = make_child(s, parents, n);
    n_children = insert(s, s->candidates, n_children, CHILDREN, &x);
  }
  propose_best(s, b, n_children, (credible + slack * s->fruitless) * neo_search_best(s));
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
    s->fruitless++;
    if (!b->n && s->fruitless >= FRUITLESS)
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
    s->fruitless = 0;
    if (s->phase == NEO_SEARCH_GENETIC)
      s->phase = NEO_SEARCH_DESCENT;
  }
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

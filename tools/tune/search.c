/* See search.h. */
#include "tools/tune/search.h"
#include "base/random.h"
#include <assert.h>

enum { POPULATION = 8, CHILDREN = 48, BARREN = 6, NEAREST = 4 };

/* Worth measuring while the model thinks it at most this much slower than the best one. */
static const double believable = 1.6;

/* ---- what has been tried */

static neo_trial *find(const neo_search *s, const neo_schedule *x) {
  for (size_t k = 0; k < s->trials.n; k++)
    if (neo_schedule_equal(&s->trials.at[k].schedule, x))
      return &s->trials.at[k];
  return NULL;
}

static size_t add_trial(neo_search *s, const neo_schedule *x, double time_ns) {
  neo_trial t = {*x, time_ns, neo_space_cost(&s->space, x), false};
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
  *s = (neo_search){.space = space, .arena = a, .seed = seed, .list_until = NEO_SEARCH_HALF};
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
  if (b->n == b->most || find(b->s, x) || (b->s->within && !b->s->within(b->s->ctx, x)))
    return false;
  b->out[b->n++] = add_trial(b->s, x, 0);
  return true;
}

static void ask_list(neo_search *s, batch *b) {
  size_t until = s->list_until < s->list.n ? s->list_until : s->list.n;
  for (; s->listed < until && b->n < b->most; s->listed++)
    propose(b, &s->list.at[s->listed]);
  if (s->listed < until || b->n)
    return;
  s->list_until = s->list.n;
  s->phase = NEO_SEARCH_DESCENT;
}

/* The most important parameters first; then whatever else the table has. */
static neo_sched_param in_order(uint32_t k) {
  static const neo_sched_param first[] = {
      NEO_SCHED_TILE_N, NEO_SCHED_TILE_M,     NEO_SCHED_BLOCK_K, NEO_SCHED_BLOCK_N,
      NEO_SCHED_PACK,   NEO_SCHED_UNROLL_K,   NEO_SCHED_BLOCK_M, NEO_SCHED_AXIS_M,
      NEO_SCHED_MERGE,  NEO_SCHED_VECTOR_AXIS};
  enum { N = sizeof first / sizeof *first };
  if (k < N)
    return first[k];
  for (uint32_t p = 0, left = k - N; p < NEO_SCHED_COUNT; p++) {
    bool among = false;
    for (uint32_t i = 0; i < N; i++)
      among = among || first[i] == p;
    if (!among && left-- == 0)
      return (neo_sched_param)p;
  }
  assert(false && "each parameter has a place in the order");
  return (neo_sched_param)0;
}

static void ask_parameter(neo_search *s, neo_sched_param p, batch *b) {
  const neo_trial best = s->trials.at[s->best];
  int64_t value[NEO_SPACE_VALUES];
  size_t n = neo_space_values(&s->space, &best.schedule, p, value);
  for (size_t k = 0; k < n && b->n < NEAREST; k++) {
    neo_schedule x;
    if (neo_space_set(&s->space, &best.schedule, p, value[k], &x) &&
        neo_space_cost(&s->space, &x) <= believable * best.cost)
      propose(b, &x);
  }
}

static void ask_shapes(neo_search *s, batch *b) {
  enum { MOST = 16 };
  const neo_trial best = s->trials.at[s->best];
  neo_schedule x[MOST];
  size_t n = neo_space_reshaped(&s->space, &best.schedule, x, MOST);
  for (size_t k = 0; k < n && b->n < NEAREST; k++)
    if (neo_space_cost(&s->space, &x[k]) <= believable * best.cost)
      propose(b, &x[k]);
}

/* The tile's shape, then each parameter. */
static void ask_descent(neo_search *s, batch *b) {
  enum { STEPS = NEO_SCHED_COUNT + 1 };
  while (!b->n && s->unchanged < STEPS) {
    if (s->parameter == 0)
      ask_shapes(s, b);
    else
      ask_parameter(s, in_order(s->parameter - 1), b);
    s->parameter = (s->parameter + 1) % STEPS;
    s->unchanged++;
  }
  if (!b->n)
    s->phase = s->listed < s->list.n ? NEO_SEARCH_LIST : NEO_SEARCH_GENETIC;
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

typedef struct {
  neo_schedule schedule;
  double guess_ns;
} child;

static child make_child(neo_search *s, const size_t *parents, size_t n) {
  size_t a = (size_t)(neo_splitmix(&s->seed) % n), c = (size_t)(neo_splitmix(&s->seed) % n);
  const neo_trial *x = &s->trials.at[parents[a]], *y = &s->trials.at[parents[c]];
  child z = {.schedule = x->schedule};
  if (a != c)
    z.schedule = neo_space_cross(&s->space, &x->schedule, &y->schedule, &s->seed);
  if (a == c || neo_splitmix(&s->seed) % 2)
    z.schedule = neo_space_mutate(&s->space, &z.schedule, &s->seed);
  double cost = neo_space_cost(&s->space, &z.schedule);
  z.guess_ns = x->cost > 0 && cost > 0 ? x->time_ns * cost / x->cost : x->time_ns;
  return z;
}

static void ask_genetic(neo_search *s, batch *b) {
  size_t parents[POPULATION], n = fittest(s, parents), n_children = 0;
  child best[CHILDREN];
  for (int k = 0; k < CHILDREN && n && s->barren < BARREN; k++) {
    child x = make_child(s, parents, n);
    bool known = find(s, &x.schedule) != NULL;
    for (size_t i = 0; i < n_children; i++)
      known = known || neo_schedule_equal(&best[i].schedule, &x.schedule);
    size_t i = n_children;
    if (known || x.guess_ns > believable * neo_search_best(s))
      continue;
    for (; i && x.guess_ns < best[i - 1].guess_ns; i--)
      best[i] = best[i - 1];
    best[i] = x;
    n_children++;
  }
  for (size_t k = 0; k < n_children; k++)
    propose(b, &best[k].schedule);
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
    if (!b->n)
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
  if (time_ns <= 0 || (before > 0 && time_ns >= before))
    return;
  s->best = trial;
  if (before > 0) {
    s->step += (before - time_ns) / before;
    s->unchanged = s->barren = 0;
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

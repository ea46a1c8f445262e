/* Steps, mutation and crossover over the space of schedules, and the model's ranking of it; all by
 * the rows of strategies and parameters. */
#include "schedule/space.h"
#include "base/random.h"
#include "schedule/strategy.h"

enum { NEIGHBOURS = 512, SHAPES = 64 };

static bool legal(const neo_space *x, const neo_schedule *s) {
  return neo_schedule_legal(x->m, x->g, x->machine, s, NULL);
}

double neo_space_cost(const neo_space *x, const neo_schedule *s) {
  return neo_strategy_row_of(s->strategy)->cost(x, s);
}

double neo_space_visited(const neo_space *x, const neo_schedule *s) {
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  double share = row->visited ? row->visited(x, s) : 1;
  return share < 1 ? share : 1;
}

bool neo_space_sensible(const neo_space *x, const neo_schedule *s) {
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  return !row->sensible || row->sensible(x, s);
}

size_t neo_space_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]) {
  neo_param_range own = neo_strategy_params(s->strategy);
  bool has = k >= own.first && k < own.first + own.n;
  return has ? neo_strategy_row_of(s->strategy)->values(x, s, k, out) : 0;
}

int64_t neo_space_columns_length(const neo_space *x, const neo_schedule *s) {
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  return row->columns ? row->columns(x, s) : 1;
}

/* ---- one step */

void neo_space_update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s) {
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  if (row->update_units)
    row->update_units(x, from, s);
}

static bool is_set(neo_param k, const neo_setting *to, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (to[i].k == k)
      return true;
  return false;
}

/* Makes an illegal step legal: parameters of the strategy's repair list become plain, one after the
 * other. */
static bool repair(const neo_space *x, const neo_setting *to, size_t n, neo_schedule *s) {
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  neo_schedule plain = neo_schedule_plain();
  bool good = legal(x, s);
  for (size_t k = 0; k < row->n_repairs && !good; k++) {
    neo_param at = row->repairs[k];
    if (s->at[at] == plain.at[at] || is_set(at, to, n))
      continue;
    s->at[at] = plain.at[at];
    good = legal(x, s);
  }
  return good;
}

static bool set(const neo_space *x, const neo_schedule *s, const neo_setting *to, size_t n,
                neo_schedule *out) {
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  neo_schedule y = *s;
  for (size_t k = 0; k < n; k++)
    y.at[to[k].k] = to[k].value;
  for (size_t k = 0; k < n && row->propagate; k++)
    row->propagate(x, s, to[k].k, &y);
  if (!repair(x, to, n, &y))
    return false;
  neo_space_update_units(x, s, &y);
  for (size_t k = 0; k < n; k++)
    if (y.at[to[k].k] != to[k].value)
      return false;
  if (!legal(x, &y) || !neo_space_sensible(x, &y))
    return false;
  *out = y;
  return true;
}

bool neo_space_set(const neo_space *x, const neo_schedule *s, neo_param k, int64_t value,
                   neo_schedule *out) {
  neo_setting one = {k, value};
  return value != s->at[k] && set(x, s, &one, 1, out);
}

size_t neo_space_switch(const neo_space *x, const neo_schedule *s, neo_strategy to,
                        neo_schedule *out, size_t most) {
  const neo_strategy_row *row = neo_strategy_row_of(to);
  size_t n, n_legal = 0;
  if (to == s->strategy || !most || neo_form_is_nested(x->f) || !neo_strategy_fits(x, to))
    return 0;
  n = row->starts ? row->starts(x, out, most) : (size_t)row->choose(x, out);
  for (size_t k = 0; k < n; k++)
    if (legal(x, &out[k]))
      out[n_legal++] = out[k];
  return n_legal;
}

static bool contains(const neo_schedule *s, const neo_schedule *at, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (neo_schedule_equal(s, &at[k]))
      return true;
  return false;
}

/* Steps that set two parameters at once, since one alone would leave registers or a cache too full
 * or too empty: tiles of other shapes with the same number of accumulators, the nearest first; then
 * blocks of about the same size with other sides. All are legal; at most `most`. */
static size_t reshaped(const neo_space *x, const neo_schedule *s, neo_schedule *out, size_t most) {
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  neo_setting pair[SHAPES][2];
  size_t n = 0, n_pairs = row->reshape ? row->reshape(x, s, pair, SHAPES) : 0;
  for (size_t k = 0; k < n_pairs && n < most; k++)
    if (set(x, s, pair[k], 2, &out[n]))
      n++;
  return n;
}

size_t neo_space_neighbours(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                            size_t most) {
  size_t n = 0, n_shapes = reshaped(x, s, out, most);
  for (size_t k = 0; k < n_shapes; k++)
    if (!contains(&out[k], out, n))
      out[n++] = out[k];
  neo_param_range own = neo_strategy_params(s->strategy);
  for (neo_param k = own.first; k < own.first + own.n; k++) {
    int64_t value[NEO_SPACE_VALUES];
    size_t n_values = neo_space_values(x, s, k, value);
    for (size_t i = 0; i < n_values && n < most; i++)
      if (neo_space_set(x, s, k, value[i], &out[n]) && !neo_schedule_equal(&out[n], s) &&
          !contains(&out[n], out, n))
        n++;
  }
  for (int to = 0; to < NEO_STRATEGIES; to++)
    n += neo_space_switch(x, s, (neo_strategy)to, out + n, most - n);
  return n;
}

/* ---- the model's order */

static size_t add_ranked(const neo_space *x, const neo_schedule *s, neo_schedule *out, size_t n,
                         size_t most) {
  if (n == most || contains(s, out, n) || !legal(x, s))
    return n;
  out[n] = *s;
  return n + 1;
}

/* Ranks the neighbours of the first schedule, for groups without any other candidates. */
static size_t add_steps(const neo_space *x, neo_schedule *out, size_t n, size_t most) {
  neo_schedule *step = NEO_NEW_ARRAY(x->m->arena, neo_schedule, NEIGHBOURS);
  double *cost = NEO_NEW_ARRAY(x->m->arena, double, NEIGHBOURS);
  size_t n_steps = neo_space_neighbours(x, &out[0], step, NEIGHBOURS);
  for (size_t k = 0; k < n_steps; k++)
    cost[k] = neo_space_cost(x, &step[k]);
  while (n < most) {
    size_t best = n_steps;
    for (size_t k = 0; k < n_steps; k++)
      if (cost[k] >= 0 && (best == n_steps || cost[k] < cost[best]))
        best = k;
    if (best == n_steps)
      return n;
    cost[best] = -1;
    n = add_ranked(x, &step[best], out, n, most);
  }
  return n;
}

/* A strategy with fewer steps has no rivals where it may be chosen. */
size_t neo_space_ranked(const neo_space *x, neo_schedule *out, size_t most) {
  if (!most)
    return 0;
  neo_ranking r = neo_ranking_new(x->m->arena, most);
  size_t n = 1;
  out[0] = neo_schedule_default(x->m, x->g, x->machine);
  for (int k = NEO_STRATEGIES - 1; k >= 0; k--) {
    const neo_strategy_row *row = neo_strategy_row_of((neo_strategy)k);
    if (row->rank && neo_strategy_fits(x, (neo_strategy)k) &&
        !neo_strategy_row_of(out[0].strategy)->fewer_steps)
      row->rank(x, &r);
  }
  for (size_t k = 0; k < r.n; k++)
    n = add_ranked(x, &r.at[k], out, n, most);
  return r.n ? n : add_steps(x, out, n, most);
}

/* ---- random steps */

static uint64_t next(uint64_t *seed, uint64_t n) {
  return neo_splitmix(seed) % n;
}

static bool random_shape(const neo_space *x, neo_schedule *s, uint64_t *seed) {
  neo_schedule shape[16];
  size_t n = reshaped(x, s, shape, sizeof shape / sizeof *shape);
  if (n)
    *s = shape[next(seed, n)];
  return n > 0;
}

static bool random_switch(const neo_space *x, neo_schedule *s, neo_strategy to, uint64_t *seed) {
  neo_schedule other[4];
  size_t n = neo_space_switch(x, s, to, other, sizeof other / sizeof *other);
  if (n)
    *s = other[next(seed, n)];
  return n > 0;
}

static bool random_value(const neo_space *x, neo_schedule *s, neo_param k, uint64_t *seed) {
  int64_t value[NEO_SPACE_VALUES];
  size_t n = neo_space_values(x, s, k, value);
  neo_schedule y;
  if (!n || !neo_space_set(x, s, k, value[next(seed, n)], &y))
    return false;
  *s = y;
  return true;
}

/* A random step: one of the strategy's parameters or, as often as any one of them, another
 * strategy. */
static bool random_step(const neo_space *x, neo_schedule *s, uint64_t *seed) {
  if (next(seed, 8) == 0 && random_shape(x, s, seed))
    return true;
  neo_param_range own = neo_strategy_params(s->strategy);
  for (int tries = 0; tries < 32; tries++) {
    neo_param k = (neo_param)next(seed, own.n + 1);
    neo_strategy to = (neo_strategy)next(seed, NEO_STRATEGIES);
    if (k < own.n ? random_value(x, s, own.first + k, seed) : random_switch(x, s, to, seed))
      return true;
  }
  return false;
}

neo_schedule neo_space_mutate(const neo_space *x, const neo_schedule *s, uint64_t *seed) {
  neo_schedule y = *s;
  for (uint64_t k = 0, n = 1 + next(seed, 2); k < n; k++)
    if (!random_step(x, &y, seed))
      break;
  return y;
}

/* Parameters that name axes, and those that depend on them, come from one parent. */
static bool names_axes(neo_param k) {
  neo_param_kind kind = neo_param_kind_of(k);
  return kind == NEO_PARAM_AXES || kind == NEO_PARAM_LANES || kind == NEO_PARAM_SHARERS;
}

neo_schedule neo_space_cross(const neo_space *x, const neo_schedule *a, const neo_schedule *b,
                             uint64_t *seed) {
  if (next(seed, 2)) {
    const neo_schedule *swap = a;
    a = b, b = swap;
  }
  neo_schedule y = *a;
  neo_param_range own = neo_strategy_params(a->strategy);
  for (neo_param k = own.first; a->strategy == b->strategy && k < own.first + own.n; k++) {
    neo_schedule z;
    if (!names_axes(k) && b->at[k] != y.at[k] && next(seed, 2) &&
        neo_space_set(x, &y, k, b->at[k], &z))
      y = z;
  }
  return y;
}

/* A small space of schedules and the replay of a search in it (survey.h). */
#include "tools/tune/survey.h"
#include "schedule/extent.h"
#include "schedule/space.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 4096, SEEDS = 101, BATCH = 4 };

/* ---- the space */

typedef struct {
  const neo_space *x;
  neo_surveyed *at;
  size_t n;
} survey;

static void add(survey *v, const neo_schedule *s) {
  if (v->n == MOST || !neo_space_sensible(v->x, s) ||
      !neo_schedule_legal(v->x->m, v->x->g, v->x->machine, s, NULL))
    return;
  for (size_t k = 0; k < v->n; k++)
    if (neo_schedule_equal(&v->at[k].schedule, s))
      return;
  v->at[v->n++] = (neo_surveyed){*s, 0};
}

/* A part of a length, in whole units; 0, the whole, if it would not be shorter. */
static int64_t part(int64_t length, int64_t n, int64_t unit) {
  int64_t block = (length / n + unit - 1) / unit * unit;
  return n > 1 && block < length && block > 0 ? block : 0;
}

/* Sets a parameter by its kind, without checking legality. */
static void put(neo_schedule *s, neo_param_kind kind, int64_t value) {
  neo_param k = neo_strategy_param(s->strategy, kind);
  if (k < NEO_PARAMS)
    s->at[k] = value;
}

/* Adds blocks of the whole length, halves, quarters, and the model's choice. */
static void each_block(survey *v, const neo_schedule *tile, const neo_schedule *model) {
  static const int64_t parts[] = {1, 2, 4, 0};
  const neo_space *x = v->x;
  int64_t steps = neo_form_steps_length(x->m, x->f), columns = neo_space_columns_length(x, tile);
  int64_t unit =
      neo_schedule_value(tile, NEO_PARAM_TILE_N) * neo_schedule_value(tile, NEO_PARAM_LANES);
  for (int k = 0; k < 4; k++)
    for (int n = 0; n < 4; n++) {
      neo_schedule s = *tile;
      put(&s, NEO_PARAM_BLOCK_K,
          parts[k] ? part(steps, parts[k], 1) : neo_schedule_value(model, NEO_PARAM_BLOCK_K));
      put(&s, NEO_PARAM_BLOCK_N,
          parts[n] ? part(columns, parts[n], unit) : neo_schedule_value(model, NEO_PARAM_BLOCK_N));
      neo_space_update_units(x, tile, &s);
      add(v, &s);
    }
}

size_t neo_survey_space(const neo_space *x, neo_surveyed **out) {
  static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14};
  survey v = {x, NEO_NEW_ARRAY(x->m->arena, neo_surveyed, MOST), 0};
  neo_schedule from = neo_schedule_default(x->m, x->g, x->machine), s = from;
  add(&v, &from);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (int64_t columns = 1; columns <= 4; columns++)
      for (int64_t pack = 0; pack < 4; pack++) {
        put(&s, NEO_PARAM_TILE_M, rows[r]);
        put(&s, NEO_PARAM_TILE_N, columns);
        put(&s, NEO_PARAM_PACK, pack);
        each_block(&v, &s, &from);
      }
  *out = v.at;
  return v.n;
}

/* ---- the replay */

typedef struct {
  const neo_surveyed *at;
  size_t n;
  bool *taken; /* proposed in this replay */
} table;

static bool same_tile(const neo_schedule *a, const neo_schedule *b) {
  static const neo_param_kind kinds[] = {NEO_PARAM_TILE_M, NEO_PARAM_TILE_N, NEO_PARAM_PACK};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (neo_schedule_value(a, kinds[k]) != neo_schedule_value(b, kinds[k]))
      return false;
  return true;
}

/* The distance of a schedule's blocks from the model's choice, in doublings. */
static double block_distance(const neo_schedule *s, const neo_schedule *model) {
  static const neo_param_kind blocks[] = {NEO_PARAM_BLOCK_K, NEO_PARAM_BLOCK_N};
  double d = 0;
  for (int k = 0; k < 2; k++) {
    double a = (double)neo_schedule_value(s, blocks[k]);
    double b = (double)neo_schedule_value(model, blocks[k]);
    d += a > 0 && b > 0 ? fabs(log2(a / b)) : a > 0 || b > 0 ? 2 : 0;
  }
  return d;
}

static bool is_block_or_unit(neo_param k) {
  neo_param_kind kind = neo_param_kind_of(k);
  return kind == NEO_PARAM_BLOCK_K || kind == NEO_PARAM_BLOCK_M || kind == NEO_PARAM_BLOCK_N ||
         kind == NEO_PARAM_UNIT_AXES || kind == NEO_PARAM_UNIT_SIZE;
}

/* Are the schedules equal except for blocks, units, and parameters that depend on these? */
static bool same_loops(const neo_schedule *a, const neo_schedule *b) {
  for (neo_param k = 0; k < NEO_PARAMS; k++)
    if (!is_block_or_unit(k) && a->at[k] != b->at[k])
      return false;
  return a->strategy == b->strategy;
}

/* The schedule of the table that is nearest to this one: its blocks differ by less than a
 * doubling. */
static const neo_surveyed *find(const table *t, const neo_schedule *s) {
  const neo_surveyed *best = NULL;
  double least = 1;
  for (size_t k = 0; k < t->n; k++) {
    if (!same_loops(&t->at[k].schedule, s))
      continue;
    double d = block_distance(&t->at[k].schedule, s);
    if (d < least)
      least = d, best = &t->at[k];
  }
  return best;
}

static bool within(void *ctx, neo_schedule *s) {
  const table *t = ctx;
  const neo_surveyed *x = find(t, s);
  if (!x || t->taken[x - t->at])
    return false;
  t->taken[x - t->at] = true;
  *s = x->schedule;
  return true;
}

/* The schedule with this tile that is nearest to the model's; t->n: none has it. */
static size_t nearest(const table *t, const neo_schedule *model) {
  size_t best = t->n;
  for (size_t k = 0; k < t->n; k++)
    if (same_tile(&t->at[k].schedule, model) &&
        (best == t->n ||
         block_distance(&t->at[k].schedule, model) < block_distance(&t->at[best].schedule, model)))
      best = k;
  return best;
}

/* Restricts the list of the first phase to schedules of this space. */
static void list_best(neo_search *s, const table *t) {
  enum { LOOK_AT = 256 };
  const neo_space *x = &s->space;
  neo_schedule *top = NEO_NEW_ARRAY(s->arena, neo_schedule, LOOK_AT);
  size_t n = neo_space_ranked(x, top, LOOK_AT);
  s->list.n = 0;
  NEO_PUSH(s->arena, &s->list, t->at[0].schedule);
  for (size_t k = 0; k < n && s->list.n < NEO_SEARCH_FIRST; k++) {
    size_t i = nearest(t, &top[k]);
    bool listed = i == t->n;
    for (size_t j = 0; j < s->list.n && !listed; j++)
      listed = neo_schedule_equal(&s->list.at[j], &t->at[i].schedule);
    if (!listed)
      NEO_PUSH(s->arena, &s->list, t->at[i].schedule);
  }
}

/* How many measurements the search needs, restricted to these schedules, until one is at most the
 * goal; -1: it ends before. */
static int64_t replay(const neo_space *x, neo_arena *a, const neo_surveyed *all, size_t n,
                      double goal_ns, uint64_t seed) {
  table t = {all, n, NEO_NEW_ARRAY(a, bool, n + 1)};
  neo_search s;
  size_t trial[BATCH];
  int64_t measured = 0;
  neo_search_init(&s, a, *x, seed);
  s.within = within;
  s.ctx = &t;
  list_best(&s, &t);
  for (;;) {
    size_t asked = neo_search_ask(&s, trial, BATCH);
    if (!asked)
      return -1;
    for (size_t k = 0; k < asked; k++) {
      double time = find(&t, &s.trials.at[trial[k]].schedule)->time_ns;
      measured++;
      if (time > 0 && time <= goal_ns)
        return measured;
      neo_search_tell(&s, trial[k], time > 0 ? time : -1);
    }
  }
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int64_t neo_survey_median(const neo_space *x, neo_arena *a, const neo_surveyed *all, size_t n,
                          double goal_ns, int seeds) {
  int64_t needed[SEEDS];
  int n_seeds = seeds < SEEDS ? seeds : SEEDS;
  for (int k = 0; k < n_seeds; k++) {
    needed[k] = replay(x, a, all, n, goal_ns, (uint64_t)k + 1);
    if (needed[k] < 0)
      needed[k] = (int64_t)n;
  }
  qsort(needed, (size_t)n_seeds, sizeof *needed, compare);
  return needed[n_seeds / 2];
}

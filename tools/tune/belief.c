/* See belief.h. The matrix is factored when it is first asked for after it has changed. */
#include "tools/tune/belief.h"
#include "schedule/space_values.h"
#include <math.h>

enum { PACKS = 6, FEATURES = NEO_SCHED_COUNT + 1 + PACKS };

/* Of the logarithm of the model's error: how much it varies, and what is only noise. */
static const double variance = 0.2 * 0.2, noise = 0.012 * 0.012;

typedef struct {
  double at[FEATURES];
} point;

struct neo_belief {
  const neo_space *space;
  double reduced, columns; /* lengths that a block of 0 has */
  size_t n, next;
  bool factored;
  double mean;
  point x[NEO_BELIEF_MOST];
  double error[NEO_BELIEF_MOST];
  double weight[NEO_BELIEF_MOST];                   /* K^-1 (error - mean) */
  double factor[NEO_BELIEF_MOST * NEO_BELIEF_MOST]; /* L of K = L L^T, rows */
};

/* ---- how schedules differ: in units of the distance at which little is told of each other */

static double logarithm(double x, double unit) {
  return log2(x > 1 ? x : 1) / unit;
}

static point point_of(const neo_belief *b, const neo_schedule *s) {
  static const double plain = 1.5; /* for a parameter of which only equality is known */
  const int64_t *p = s->at;
  point x;
  double *f = x.at;
  for (int k = 0; k < NEO_SCHED_COUNT; k++)
    *f++ = plain * (double)p[k];
  f = x.at;
  f[NEO_SCHED_TILE_M] = logarithm((double)p[NEO_SCHED_TILE_M], 1.2);
  f[NEO_SCHED_TILE_N] = logarithm((double)p[NEO_SCHED_TILE_N], 1.2);
  f[NEO_SCHED_VECTOR_WIDTH] = logarithm((double)p[NEO_SCHED_VECTOR_WIDTH], 1);
  f[NEO_SCHED_PACK] = 0;
  f[NEO_SCHED_BLOCK_K] =
      logarithm(p[NEO_SCHED_BLOCK_K] ? (double)p[NEO_SCHED_BLOCK_K] : b->reduced, 2);
  f[NEO_SCHED_BLOCK_N] =
      logarithm(p[NEO_SCHED_BLOCK_N] ? (double)p[NEO_SCHED_BLOCK_N] : b->columns, 3);
  f[NEO_SCHED_BLOCK_M] = logarithm((double)p[NEO_SCHED_BLOCK_M], 8);
  f[NEO_SCHED_UNIT_AXES] = (double)p[NEO_SCHED_UNIT_AXES] / 8;
  f[NEO_SCHED_UNIT_SIZE] = logarithm((double)p[NEO_SCHED_UNIT_SIZE], 8);
  f[NEO_SCHED_UNROLL_K] = logarithm((double)p[NEO_SCHED_UNROLL_K], 1.5);
  f += NEO_SCHED_COUNT;
  *f++ = logarithm((double)(p[NEO_SCHED_TILE_M] * p[NEO_SCHED_TILE_N]), 0.7);
  for (int k = 0; k < PACKS; k++)
    *f++ = (double)(p[NEO_SCHED_PACK] >> k & 1) / 1.5;
  return x;
}

static double covariance(const point *a, const point *b) {
  double d = 0;
  for (int k = 0; k < FEATURES; k++)
    d += (a->at[k] - b->at[k]) * (a->at[k] - b->at[k]);
  return variance * exp(-0.5 * d);
}

/* ---- the process */

neo_belief *neo_belief_new(neo_arena *a, const neo_space *space) {
  neo_belief *b = NEO_NEW(a, neo_belief);
  neo_schedule s = neo_schedule_default(space->m, space->g, space->machine);
  *b = (neo_belief){.space = space, .factored = true};
  b->reduced = (double)neo_space_reduced_length(space);
  b->columns = (double)neo_space_column_length(space, &s);
  return b;
}

void neo_belief_learn(neo_belief *b, const neo_schedule *s, double cost, double time_ns) {
  b->x[b->next] = point_of(b, s);
  b->error[b->next] = log(time_ns / cost);
  b->next = (b->next + 1) % NEO_BELIEF_MOST;
  b->n += b->n < NEO_BELIEF_MOST;
  b->factored = false;
}

/* Solves L y = x in place; `back`: L^T y = x. */
static void solve(const neo_belief *b, double *x, bool back) {
  size_t n = b->n;
  for (size_t k = 0; k < n; k++) {
    size_t i = back ? n - 1 - k : k;
    double sum = x[i];
    for (size_t j = back ? i + 1 : 0; j < (back ? n : i); j++)
      sum -= b->factor[back ? j * NEO_BELIEF_MOST + i : i * NEO_BELIEF_MOST + j] * x[j];
    x[i] = sum / b->factor[i * NEO_BELIEF_MOST + i];
  }
}

static void factor(neo_belief *b) {
  double *l = b->factor;
  b->mean = 0;
  for (size_t i = 0; i < b->n; i++)
    b->mean += b->error[i] / (double)b->n;
  for (size_t i = 0; i < b->n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = covariance(&b->x[i], &b->x[j]) + (i == j ? noise : 0);
      for (size_t k = 0; k < j; k++)
        sum -= l[i * NEO_BELIEF_MOST + k] * l[j * NEO_BELIEF_MOST + k];
      l[i * NEO_BELIEF_MOST + j] = i == j ? sqrt(sum) : sum / l[j * NEO_BELIEF_MOST + j];
    }
  for (size_t i = 0; i < b->n; i++)
    b->weight[i] = b->error[i] - b->mean;
  solve(b, b->weight, false);
  solve(b, b->weight, true);
  b->factored = true;
}

double neo_belief_ns(neo_belief *b, const neo_schedule *s, double cost, double *spread) {
  double v[NEO_BELIEF_MOST], error = 0, left = variance;
  point x = point_of(b, s);
  if (!b->factored)
    factor(b);
  for (size_t k = 0; k < b->n; k++) {
    v[k] = covariance(&x, &b->x[k]);
    error += v[k] * b->weight[k];
  }
  solve(b, v, false);
  for (size_t k = 0; k < b->n; k++)
    left -= v[k] * v[k];
  *spread = sqrt(left > 0 ? left : 0);
  return cost * exp(b->mean + error);
}

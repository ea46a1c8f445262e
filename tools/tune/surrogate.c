/* A Gaussian process over the model's errors (surrogate.h). The matrix is factored lazily, at the
 * first prediction after a change. */
#include "tools/tune/surrogate.h"
#include "schedule/extent.h"
#include "schedule/space.h"
#include <math.h>
#include <string.h>

enum { TILE = 4, BLOCKS = 5, PACKS = 6, MOST = NEO_SURROGATE_MOST };

/* Priors for the logarithm of the model's error: its variance, how many observations that prior
 * counts for, and the variance of noise. */
static const double variance = 0.2 * 0.2, usual = 5, noise = 0.012 * 0.012;
/* Shares of the variance that depend on the tile alone, on blocks alone, on packs alone, and on all
 * of them. */
static const double of_tile = 0.3, of_blocks = 0.2, of_packs = 0.3, of_all = 0.2;

typedef struct {
  double tile[TILE], blocks[BLOCKS], pack[PACKS], rest[NEO_PARAMS + 1];
} point;

struct neo_surrogate {
  const neo_space *space;
  double reduced, columns; /* lengths that a block of 0 stands for */
  size_t n, next;
  bool factored;
  double mean, scale; /* scale: factor of all standard deviations */
  point x[MOST];
  double error[MOST];
  double weight[MOST];        /* K^-1 (error - mean) */
  double factor[MOST * MOST]; /* L of K = L L^T, rows */
};

/* ---- distances between schedules, in units of the length scale */

static double logarithm(double x, double unit) {
  return log2(x > 1 ? x : 1) / unit;
}

static void point_of_tile(const neo_schedule *s, double *f) {
  double rows = (double)neo_schedule_value(s, NEO_PARAM_TILE_M);
  double columns = (double)neo_schedule_value(s, NEO_PARAM_TILE_N);
  f[0] = logarithm(rows, 1.8);
  f[1] = logarithm(columns, 1.8);
  f[2] = logarithm(rows * columns, 0.7);
  f[3] = logarithm((double)neo_schedule_value(s, NEO_PARAM_LANES), 1);
}

/* Features of blocks: their sides, and the approximate sizes of a panel of the tile's columns and
 * of a block of them, which decide the cache level. */
static void point_of_blocks(const neo_surrogate *b, const neo_schedule *s, double *f) {
  double steps = (double)neo_schedule_value(s, NEO_PARAM_BLOCK_K);
  double columns = (double)neo_schedule_value(s, NEO_PARAM_BLOCK_N);
  double k = steps > 0 ? steps : b->reduced, n = columns > 0 ? columns : b->columns;
  f[0] = logarithm(k, 2);
  f[1] = logarithm(n, 3);
  f[2] = logarithm((double)neo_schedule_value(s, NEO_PARAM_BLOCK_M), 8);
  f[3] = logarithm(k * (double)neo_schedule_value(s, NEO_PARAM_TILE_N), 3);
  f[4] = logarithm(k * n, 3);
}

/* The feature for a parameter of another kind: the logarithm of a length. Values of other kinds
 * have no order: only equality matters. */
static double feature(neo_param_kind kind, double x) {
  static const double plain = 1.5, units = 1.0 / 8;
  switch (kind) {
  case NEO_PARAM_UNIT_SIZE:
    return logarithm(x, 8);
  case NEO_PARAM_THREADS:
    return logarithm(x, 3);
  case NEO_PARAM_SHARERS:
    return logarithm(x, 2);
  case NEO_PARAM_UNROLL:
    return logarithm(x, 1.5);
  case NEO_PARAM_UNIT_AXES:
    return x * units;
  case NEO_PARAM_AXES:
  case NEO_PARAM_OTHER:
    return x * plain;
  default:
    return 0;
  }
}

static void point_of_rest(const neo_schedule *s, double *f) {
  for (neo_param k = 0; k < NEO_PARAMS; k++)
    f[k] = feature(neo_param_kind_of(k), (double)s->at[k]);
}

static point point_of(const neo_surrogate *b, const neo_schedule *s) {
  point x;
  int64_t pack = neo_schedule_value(s, NEO_PARAM_PACK);
  point_of_tile(s, x.tile);
  point_of_blocks(b, s, x.blocks);
  for (int k = 0; k < PACKS; k++)
    x.pack[k] = (double)(pack >> k & 1) / 1.5;
  point_of_rest(s, x.rest);
  x.rest[NEO_PARAMS] = (double)s->strategy * 1.5;
  return x;
}

static double distance(const double *a, const double *b, int n) {
  double d = 0;
  for (int k = 0; k < n; k++)
    d += (a[k] - b[k]) * (a[k] - b[k]);
  return sqrt(d);
}

static double matern(double d) {
  double r = sqrt(3) * d;
  return (1 + r) * exp(-r);
}

static double covariance(const point *a, const point *b) {
  double tile = matern(distance(a->tile, b->tile, TILE));
  double blocks = matern(distance(a->blocks, b->blocks, BLOCKS));
  double packs = matern(distance(a->pack, b->pack, PACKS));
  double rest = matern(distance(a->rest, b->rest, NEO_PARAMS + 1));
  return variance * rest *
         (of_tile * tile + of_blocks * blocks + of_packs * packs + of_all * tile * blocks * packs);
}

/* ---- observations */

neo_surrogate *neo_surrogate_new(neo_arena *a, const neo_space *space) {
  neo_surrogate *b = NEO_NEW(a, neo_surrogate);
  neo_schedule s = neo_schedule_default(space->m, space->g, space->machine);
  *b = (neo_surrogate){.space = space, .factored = true, .scale = 1};
  b->reduced = (double)neo_form_steps_length(space->m, space->f);
  b->columns = (double)neo_space_columns_length(space, &s);
  return b;
}

/* The index of the observation; b->n: not found. */
static size_t find(const neo_surrogate *b, const point *x) {
  size_t k = 0;
  while (k < b->n && memcmp(&b->x[k], x, sizeof *x) != 0)
    k++;
  return k;
}

static void learn(neo_surrogate *b, const point *x, double error) {
  size_t k = find(b, x);
  if (k == b->n) {
    k = b->next;
    b->next = (b->next + 1) % MOST;
    b->n += b->n < MOST;
  }
  b->x[k] = *x;
  b->error[k] = error;
  b->factored = false;
}

void neo_surrogate_learn(neo_surrogate *b, const neo_schedule *s, double cost, double time_ns) {
  point x = point_of(b, s);
  learn(b, &x, log(time_ns / cost));
}

void neo_surrogate_forget(neo_surrogate *b, const neo_schedule *s) {
  point x = point_of(b, s);
  size_t k = find(b, &x);
  if (k == b->n)
    return;
  b->n--;
  b->x[k] = b->x[b->n];
  b->error[k] = b->error[b->n];
  b->next = b->n;
  b->factored = false;
}

/* ---- the process */

/* Solves L y = x in place; `back`: L^T y = x. */
static void solve(const neo_surrogate *b, double *x, bool back) {
  size_t n = b->n;
  for (size_t k = 0; k < n; k++) {
    size_t i = back ? n - 1 - k : k;
    double sum = x[i];
    for (size_t j = back ? i + 1 : 0; j < (back ? n : i); j++)
      sum -= b->factor[back ? j * MOST + i : i * MOST + j] * x[j];
    x[i] = sum / b->factor[i * MOST + i];
  }
}

static void factor_matrix(neo_surrogate *b) {
  double *l = b->factor;
  for (size_t i = 0; i < b->n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = covariance(&b->x[i], &b->x[j]) + (i == j ? noise : 0);
      for (size_t k = 0; k < j; k++)
        sum -= l[i * MOST + k] * l[j * MOST + k];
      l[i * MOST + j] = i == j ? sqrt(sum) : sum / l[j * MOST + j];
    }
}

/* Estimates the mean by generalised least squares, and the scale given that mean. */
static void estimate(neo_surrogate *b) {
  double one[MOST], sum = 0, ones = 0, squares = 0;
  for (size_t i = 0; i < b->n; i++)
    one[i] = 1, b->weight[i] = b->error[i];
  solve(b, one, false);
  solve(b, b->weight, false);
  for (size_t i = 0; i < b->n; i++)
    sum += one[i] * b->weight[i], ones += one[i] * one[i];
  b->mean = b->n ? sum / ones : 0;
  for (size_t i = 0; i < b->n; i++) {
    b->weight[i] -= b->mean * one[i];
    squares += b->weight[i] * b->weight[i];
  }
  b->scale = sqrt((usual + squares) / (usual + (double)b->n));
}

/* Predicts the logarithm of the error; *spread: its standard deviation. */
static double predict(neo_surrogate *b, const point *x, double *spread) {
  double v[MOST], error = 0, left = covariance(x, x);
  if (!b->factored) {
    factor_matrix(b);
    estimate(b);
    solve(b, b->weight, true);
    b->factored = true;
  }
  for (size_t k = 0; k < b->n; k++) {
    v[k] = covariance(x, &b->x[k]);
    error += v[k] * b->weight[k];
  }
  solve(b, v, false);
  for (size_t k = 0; k < b->n; k++)
    left -= v[k] * v[k];
  *spread = b->scale * sqrt(left > 0 ? left : 0);
  return b->mean + error;
}

double neo_surrogate_ns(neo_surrogate *b, const neo_schedule *s, double cost, double *spread) {
  point x = point_of(b, s);
  return cost * exp(predict(b, &x, spread));
}

void neo_surrogate_expect(neo_surrogate *b, const neo_schedule *s) {
  point x = point_of(b, s);
  double spread;
  if (b->n && find(b, &x) == b->n)
    learn(b, &x, predict(b, &x, &spread));
}

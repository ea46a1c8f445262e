/* See surrogate.h. The matrix is factored when it is first asked for after it has changed. */
#include "tools/tune/surrogate.h"
#include "schedule/loops/values.h"
#include <math.h>
#include <string.h>

enum { TILE = 4, BLOCKS = 5, PACKS = 6, MOST = NEO_SURROGATE_MOST };

/* The logarithm of the model's error: its variance as it usually is, how many errors that counts
 * for, and what is only noise. */
static const double variance = 0.2 * 0.2, usual = 5, noise = 0.012 * 0.012;
/* Shares of the variance: what depends on the tile, blocks or packs only, and on all of them. */
static const double of_tile = 0.3, of_blocks = 0.2, of_packs = 0.3, of_all = 0.2;

typedef struct {
  double tile[TILE], blocks[BLOCKS], pack[PACKS], rest[NEO_PARAMS + 1];
} point;

struct neo_surrogate {
  const neo_space *space;
  double reduced, columns; /* lengths that a block of 0 has */
  size_t n, next;
  bool factored;
  double mean, scale; /* scale: of all standard deviations */
  point x[MOST];
  double error[MOST];
  double weight[MOST];        /* K^-1 (error - mean) */
  double factor[MOST * MOST]; /* L of K = L L^T, rows */
};

/* ---- how schedules differ: in units of the distance at which little is told of each other */

static double logarithm(double x, double unit) {
  return log2(x > 1 ? x : 1) / unit;
}

static void point_of_tile(const neo_schedule_shape *p, double *f) {
  f[0] = logarithm((double)p->tile_m, 1.8);
  f[1] = logarithm((double)p->tile_n, 1.8);
  f[2] = logarithm((double)(p->tile_m * p->tile_n), 0.7);
  f[3] = logarithm((double)p->vector_width, 1);
}

/* Sides; and about how much a panel of the tile's columns, and a block of them, have of a cache. */
static void point_of_blocks(const neo_surrogate *b, const neo_schedule_shape *p, double *f) {
  double k = p->block_k ? (double)p->block_k : b->reduced;
  double n = p->block_n ? (double)p->block_n : b->columns;
  f[0] = logarithm(k, 2);
  f[1] = logarithm(n, 3);
  f[2] = logarithm((double)p->block_m, 8);
  f[3] = logarithm(k * (double)p->tile_n, 3);
  f[4] = logarithm(k * n, 3);
}

/* Parameters whose values are lengths: how many doublings count as a unit. */
static double doublings(neo_param k) {
  if (k == NEO_PARAM(loops, unit_size))
    return 8;
  if (k == NEO_PARAM(rows, threads) || k == NEO_PARAM(block, threads) ||
      k == NEO_PARAM(nested, threads))
    return 3;
  if (k == NEO_PARAM(rows, lanes))
    return 2;
  return k == NEO_PARAM(loops, unroll_k) || k == NEO_PARAM(rows, unroll_k) ? 1.5 : 0;
}

static void point_of_rest(const neo_schedule *s, double *f) {
  static const double plain = 1.5, units = 1.0 / 8; /* of values of which only equality is known */
  for (neo_param k = 0; k < NEO_PARAMS; k++) {
    double x = (double)s->at[k], unit = doublings(k);
    f[k] = neo_param_is_shape(k)              ? 0
           : unit > 0                         ? logarithm(x, unit)
           : k == NEO_PARAM(loops, unit_axes) ? x * units
                                              : x * plain;
  }
}

static point point_of(const neo_surrogate *b, const neo_schedule *s) {
  point x;
  neo_schedule_shape shape = neo_schedule_shape_of(s);
  point_of_tile(&shape, x.tile);
  point_of_blocks(b, &shape, x.blocks);
  for (int k = 0; k < PACKS; k++)
    x.pack[k] = (double)(shape.pack >> k & 1) / 1.5;
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

/* ---- what is remembered */

neo_surrogate *neo_surrogate_new(neo_arena *a, const neo_space *space) {
  neo_surrogate *b = NEO_NEW(a, neo_surrogate);
  neo_schedule s = neo_schedule_default(space->m, space->g, space->machine);
  *b = (neo_surrogate){.space = space, .factored = true, .scale = 1};
  b->reduced = (double)neo_space_reduced_length(space);
  b->columns = (double)neo_space_column_length(space, &s);
  return b;
}

/* Its place; b->n: it has none. */
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

/* The mean under which the errors are likeliest, and their scale given it. */
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

/* The predicted logarithm of the error; *spread: its standard deviation. */
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

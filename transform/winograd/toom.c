/* Toom-Cook matrices; see toom.h. The points for each n were found by a search over small fractions
 * and their negatives for the least error (neo_toom_error). Such sets, in pairs about 0 and as far
 * below 1 as above, are also the best of B. Barabasz, A. Anderson, K. Soodhalter, D. Gregg: Error
 * analysis and improving the accuracy of Winograd convolution for deep neural networks, ACM TOMS
 * 2020. */
#include "transform/winograd/toom.h"
#include <assert.h>
#include <math.h>

typedef struct {
  int64_t over, under; /* under > 0, no common divisor */
} ratio;

typedef struct {
  int8_t over, under;
} point;

static const point points[NEO_TOOM_MOST + 1][NEO_TOOM_MOST - 1] = {
    [3] = {{0, 1}, {1, 1}},
    [4] = {{0, 1}, {1, 1}, {-1, 1}},
    [5] = {{0, 1}, {1, 1}, {-1, 1}, {1, 2}},
    [6] = {{0, 1}, {1, 1}, {-1, 1}, {1, 2}, {-2, 1}},
    [7] = {{0, 1}, {1, 1}, {-1, 1}, {5, 8}, {-5, 8}, {3, 1}},
    [8] = {{0, 1}, {1, 1}, {-1, 1}, {1, 2}, {-1, 2}, {2, 1}, {-2, 1}},
    [9] = {{0, 1}, {2, 1}, {-2, 1}, {3, 4}, {-3, 4}, {5, 4}, {-5, 4}, {1, 4}},
    [10] = {{0, 1}, {1, 2}, {-1, 2}, {3, 4}, {-3, 4}, {5, 4}, {-5, 4}, {5, 2}, {-5, 2}},
};

static ratio reduced(__int128 over, __int128 under) {
  __int128 a = over < 0 ? -over : over, b = under;
  while (b) {
    __int128 rest = a % b;
    a = b;
    b = rest;
  }
  assert(under > 0 && a > 0);
  over /= a;
  under /= a;
  assert(over <= INT64_MAX && over >= -INT64_MAX && under <= INT64_MAX);
  return (ratio){(int64_t)over, (int64_t)under};
}

static ratio times(ratio a, ratio b) {
  return reduced((__int128)a.over * b.over, (__int128)a.under * b.under);
}

static ratio minus(ratio a, ratio b) {
  return reduced((__int128)a.over * b.under - (__int128)b.over * a.under,
                 (__int128)a.under * b.under);
}

static ratio inverse(ratio a) {
  assert(a.over != 0);
  return a.over < 0 ? (ratio){-a.under, -a.over} : (ratio){a.under, a.over};
}

static double value(ratio a) {
  return (double)a.over / (double)a.under;
}

static ratio power(ratio a, uint32_t e) {
  ratio y = {1, 1};
  while (e--)
    y = times(y, a);
  return y;
}

static ratio point_of(const neo_toom *x, uint32_t t) {
  point p = points[x->n][t];
  return (ratio){p.over, p.under};
}

/* The product of x - a[j] over finite points except number `without`; the weight is its value
 * there. */
static void product_row(neo_toom *x, uint32_t without, ratio *weight) {
  ratio c[NEO_TOOM_MOST + 1] = {{1, 1}};
  uint32_t degree = 0;
  *weight = (ratio){1, 1};
  for (uint32_t k = 1; k <= NEO_TOOM_MOST; k++)
    c[k] = (ratio){0, 1};
  for (uint32_t j = 0; j + 1 < x->n; j++) {
    ratio a = point_of(x, j);
    if (j == without)
      continue;
    for (uint32_t k = ++degree; k > 0; k--)
      c[k] = minus(c[k - 1], times(a, c[k]));
    c[0] = minus((ratio){0, 1}, times(a, c[0]));
    if (without + 1 < x->n)
      *weight = times(*weight, minus(point_of(x, without), a));
  }
  for (uint32_t u = 0; u < x->n; u++)
    x->data[without][u] = value(c[u]);
}

bool neo_toom_of(uint32_t m, uint32_t k, neo_toom *out) {
  *out = (neo_toom){.m = m, .k = k, .n = m + k - 1};
  if (m < 2 || k < 2 || out->n > NEO_TOOM_MOST)
    return false;
  for (uint32_t t = 0; t < out->n; t++) {
    ratio weight;
    bool infinite = t + 1 == out->n;
    product_row(out, t, &weight);
    for (uint32_t r = 0; r < k; r++)
      out->taps[t][r] = infinite ? (double)(r + 1 == k)
                                 : value(times(power(point_of(out, t), r), inverse(weight)));
    for (uint32_t i = 0; i < m; i++)
      out->sums[i][t] = infinite ? (double)(i + 1 == m) : value(power(point_of(out, t), i));
  }
  return true;
}

static double length_of(const double *row, uint32_t n) {
  double sum = 0;
  for (uint32_t k = 0; k < n; k++)
    sum += row[k] * row[k];
  return sqrt(sum);
}

/* The squared error of output i, in units of the error of one product. */
static double error_of(const neo_toom *x, uint32_t i) {
  double sum = 0;
  for (uint32_t t = 0; t < x->n; t++) {
    double one = x->sums[i][t] * length_of(x->taps[t], x->k) * length_of(x->data[t], x->n);
    sum += one * one;
  }
  return sum / x->k;
}

double neo_toom_error(const neo_toom *x) {
  double most = 0;
  for (uint32_t i = 0; i < x->m; i++)
    most = fmax(most, sqrt(error_of(x, i)));
  return most;
}

double neo_toom_mean_error(const neo_toom *x) {
  double sum = 0;
  for (uint32_t i = 0; i < x->m; i++)
    sum += error_of(x, i);
  return sqrt(sum / x->m);
}

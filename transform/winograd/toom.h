/* For choose.c: matrices of minimal filtering: m outputs of a filter of k taps with n = m + k - 1
 * products.
 *
 *     y[i] = sum[r] g[r] * d[i + r]    =    sum[t] sums[i, t] * (sum[r] taps[t, r] * g[r])
 *                                                            * (sum[u] data[t, u] * d[u])
 *
 * Toom and Cook multiply two polynomials at n points, one of them infinity, and interpolate;
 * filtering is the transpose (S. Winograd: Arithmetic complexity of computations, SIAM 1980). With
 * p[t](x) the product of x - a[j] over all finite points but a[t], and p(x) that over all:
 *
 *     data[t, u] = coefficient u of p[t]    taps[t, r] = a[t]^r / p[t](a[t])    sums[i, t] = a[t]^i
 *     data[n - 1, u] = coefficient u of p   taps[n - 1, k - 1] = 1         sums[m - 1, n - 1] = 1
 *
 * All of it is exact: points are fractions with powers of two below, numbers are ratios. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { NEO_TOOM_MOST = 10 }; /* products */

typedef struct {
  uint32_t m, k, n;
  double data[NEO_TOOM_MOST][NEO_TOOM_MOST];
  double taps[NEO_TOOM_MOST][NEO_TOOM_MOST];
  double sums[NEO_TOOM_MOST][NEO_TOOM_MOST];
} neo_toom;

/* Entries are the nearest doubles. False: k or m is less than 2, or n more than NEO_TOOM_MOST. */
bool neo_toom_of(uint32_t m, uint32_t k, neo_toom *out);

/* How much larger rounding errors are than those of the plain sum, for data and taps that are
 * independent of each other: the largest over i of
 *
 *     sqrt(sum[t] (sums[i, t] * |taps[t]| * |data[t]|)^2 / k)
 *
 * with Euclidean lengths of rows. Each product carries an error in proportion to its size; sums
 * over channels add up such errors and plain ones alike. */
double neo_toom_error(const neo_toom *x);

/* The same for the root of the mean of all outputs' squares. Of several directions the numbers
 * multiply. */
double neo_toom_mean_error(const neo_toom *x);

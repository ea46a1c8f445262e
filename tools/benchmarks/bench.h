/* What the benchmark programs share. */
#ifndef NEO_TOOLS_BENCH_H
#define NEO_TOOLS_BENCH_H

enum { BENCH_ROUNDS = 15 };

double bench_now(void);                     /* seconds */
double bench_median(double x[BENCH_ROUNDS]); /* sorts x */

/* Each prints one JSON object. 0: done, 1: wrong results, 77: the peer is missing. */
int bench_gemm(int n_args, char **args);

#endif

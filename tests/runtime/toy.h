/* toy.h: a hand-written model record with C kernels, as a generated library would hold it.
 *
 *   dim B <= 256;  dim 0 <= N <= 100000
 *   input X[B, 4];  input Y[B] : i32 < 10;  input E[B/2];  input F[B] : bool;  input V[N]
 *   input lr = 0.5;  param W[4, 10] = rand;  state m[4, 10] = 0;  state pick : i32 < 10 = 3
 *   output L[B, 10]: L = X W            output test: L, loss      output half: S (of X, E, F)
 *   output key: K[3] : i64 (seed, step, call)                     output copy: Z[N] = V
 *   train: err = L - onehot(Y); g = X' err; m = 0.9 m + g; W = W - lr m + noise; last = old W */
#ifndef NEO_TESTS_RUNTIME_TOY_H
#define NEO_TESTS_RUNTIME_TOY_H
#include "include/neo/neo_rt.h"

enum { X, Y, E, F, V, LR, W, M, PICK, LAST, L, LOSS, S, K, Z, TOY_TENSORS };
enum { INIT, FORWARD, TEST, HALF, KEY, COPY, STEP, FAIL, TOY_ENTRIES };
extern const neo_rt_model toy_model;
/* Another model: output Z[N] = 2 V. */
extern const neo_rt_model twice_model;

/* A context of the toy model with these threads; fails the test if there is none. */
neo_rt_ctx *toy_create(int32_t threads, uint64_t seed);
/* The same inputs for everybody: X and Y of n rows. */
void toy_data(int64_t n, float *x, int32_t *y);
/* Runs n training steps on batches of 7 rows, of numbers from, from + 1, ...; returns the last
 * loss. */
float toy_train(neo_rt_ctx *ctx, int from, int n);
/* A hash of all that the context keeps, and its step. */
uint64_t toy_digest(neo_rt_ctx *ctx);
#endif

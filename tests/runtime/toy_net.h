/* toy_net.h: random networks with C kernels, as generated libraries would hold them.
 *
 *     input X0[B, 4], X1[B, 4], ...   0 <= B <= 8
 *     node    y = w*s/(1 + |w*s|) + noise, s the sum of its values k times k + 1; backward of that
 *             (in part: that is all a test of messages needs) into the sum acc
 *     loss    the mean of w*s
 *     update  W = W - 0.1*acc/n
 *
 * Values have up to three readers, nodes one or two values in and out; some share their parameters,
 * some start by an empty message. What an actor computes depends on the order of its messages in
 * every bit. An instance whose first number is NAN_INPUT has a loss that is NaN; FAILING_INPUT: the
 * first kernel that reads it fails; SLOW_INPUT: it takes some milliseconds. */
#ifndef NEO_TESTS_RUNTIME_TOY_NET_H
#define NEO_TESTS_RUNTIME_TOY_NET_H
#include "include/neo/neo_net.h"
#include <stdbool.h>

enum { NET_ROWS = 8, NET_COLUMNS = 4, NET_INPUTS = 3 };
#define NAN_INPUT 1001.0f
#define FAILING_INPUT 1002.0f
#define SLOW_INPUT 1003.0f

typedef struct toy_net toy_net;

typedef struct {
  int nodes;       /* with an actor */
  bool tied, wide; /* some nodes share an actor; some values have several readers */
} toy_net_shape;

/* A random network, which toy_net_free frees. */
toy_net *toy_net_make(uint64_t seed, const toy_net_shape *shape);
void toy_net_free(toy_net *t);
/* Its record, which a test may change. */
neo_rt_net *toy_net_record(toy_net *t);
/* A network that runs; fails the test if there is none. */
neo_rt_network *toy_net_open(toy_net *t, const neo_rt_net_config *config);
/* The numbers of an instance: NET_INPUTS times NET_ROWS*NET_COLUMNS. */
void toy_net_data(uint64_t number, float *x);
/* Sends an instance of `rows` rows, whose inputs are all at x. */
neo_rt_status toy_net_send(neo_rt_network *n, int64_t rows, const float *x);
/* Sends instances of numbers from, from + 1, ..., with 0 to NET_ROWS rows, then waits. */
neo_rt_status toy_net_train(neo_rt_network *n, uint64_t from, int count, double *loss);
/* A hash of all parameters and counts of updates. */
uint64_t toy_net_digest(const toy_net *t, neo_rt_network *n);
#endif

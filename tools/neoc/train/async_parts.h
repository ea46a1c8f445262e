/* A network in training. Private to async.c and async_show.c. */
#pragma once
#include "include/neo/neo_net.h"
#include "tools/neoc/train/train.h"

struct neoc_async {
  const neo_rt_net *net;
  neo_rt_net_config config;
  neo_rt_network *run;
  int64_t *sizes;     /* by number in the model */
  const void **input; /* in the network's order: buffers of the feed */
  int64_t rows;       /* rows of a message, at most */
  int64_t per_batch;  /* messages in a whole batch */
  /* Since the last barrier: rows that were sent; of these, rows whose losses were added, and their
   * sum. */
  int64_t unsettled, taken_rows;
  double taken_sum;
  /* Counts of the last epoch. */
  neo_rt_net_total total;
  neo_rt_net_node_stats *nodes;     /* [net->n_nodes] */
  neo_rt_net_worker_stats *workers; /* [total.workers] */
};

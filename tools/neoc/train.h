/* Data and position of `neoc train`. */
#ifndef NEO_TOOLS_TRAIN_H
#define NEO_TOOLS_TRAIN_H
#include "tools/neoc/runner.h"

/* Rows for the inputs of one entry: arrays of the inputs' types and row shapes, and room for a
 * batch. */
typedef struct {
  int32_t entry;                 /* of the runtime's model */
  int32_t batch_size;            /* number of the run-time size that counts rows; -1: a constant */
  int64_t rows, batch, constant; /* batch: rows in a step; constant: those that the model demands */
  neo_rt_array *data;            /* by argument */
  void **args;                   /* inputs: batch buffers; outputs: result buffers */
  int64_t *sizes;                /* of the entry */
  int64_t *out_count;            /* elements of the k-th output at the present sizes */
} neoc_feed;

/* Opens files for the inputs of an entry: words of `option`. Errors have been reported. */
neoc_exit neoc_feed_open(neoc_runner *r, neoc_option option, int32_t entry, int64_t batch,
                         neoc_feed *out);
void neoc_feed_close(neoc_runner *r, neoc_feed *f);
/* Fills the batch buffers with rows order[0 .. n). */
void neoc_feed_fill(neoc_runner *r, neoc_feed *f, const int64_t *order, int64_t n);

#endif

/* Requests and answers between a test and a program on an emulated processor: words of 64
 * bits in the order of both. */
#ifndef NEO_TESTS_PAIRS_CROSS_REQUEST_H
#define NEO_TESTS_PAIRS_CROSS_REQUEST_H
#include <stdint.h>

enum { PAIRS_MOST = 64 };

typedef struct { /* contents of the inputs follow */
  int64_t seed, entry, rounds, n_inputs, n_args, n_kept;
  int64_t sizes[PAIRS_MOST];
  int64_t arg_bytes[PAIRS_MOST]; /* inputs, then outputs */
  int64_t kept[PAIRS_MOST];      /* numbers of tensors that are read after each round */
  int64_t kept_bytes[PAIRS_MOST];
} pairs_request;

enum { PAIRS_DONE, PAIRS_ERROR, PAIRS_KILLED };

typedef struct { /* n bytes follow: outputs and kept tensors, round after round; or a message */
  int64_t state, n;
} pairs_answer;

#endif

/* The samples of a tensor's elements, the same for the same shape everywhere: a small tensor
 * whole; of a larger one the first and the last element, lines along every axis (whole lines, or
 * their ends and the borders of tiles), and others at random. */
#ifndef NEO_TOOLS_GPU_SAMPLES_H
#define NEO_TOOLS_GPU_SAMPLES_H
#include <stdint.h>

typedef struct {
  int64_t *at; /* flat indices, rising, each once; malloc */
  int64_t n;
} gpu_samples;

/* About `most` elements; all of a tensor that has no more. `line`: an axis of no more elements is
 * taken whole. Ends the program where there is no memory. */
gpu_samples gpu_samples_of(int rank, const int64_t *shape, int64_t most, int64_t line);
#endif

/* Consecutive launches of one kernel as one graph of the driver. */
#pragma once
#include "runtime/cuda_api.h"
#include <stdbool.h>

typedef struct {
  cuda_graph graph;
  cuda_exec exec; /* null: there is none */
} measure_series;

/* Makes a graph of n launches. False: the driver cannot, and *s is empty. */
bool measure_series_make(const cuda_api *api, const cuda_kernel_node *kernel, int n,
                         measure_series *s);
/* Frees the graph; an empty series is allowed. */
void measure_series_end(const cuda_api *api, measure_series *s);

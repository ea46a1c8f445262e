/* Loops on a GPU: one thread for each unit of work. A unit may be several points, or the lanes of a
 * 16-byte access. Private to schedule/loops. */
#pragma once
#include "schedule/loops/loops.h"

/* The choice for maps over long tensors: each thread takes 16 bytes. False: accesses cannot be
 * vectors, or there are too few points. */
bool neo_loops_gpu_vectors(const neo_space *x, neo_schedule *out);
/* Members of the strategy's row for GPUs (strategy.h). */
double neo_loops_gpu_cost(const neo_space *x, const neo_schedule *s);
size_t neo_loops_gpu_values(const neo_space *x, const neo_schedule *s, neo_param k,
                            int64_t out[NEO_SPACE_VALUES]);
void neo_loops_gpu_propagate(const neo_space *x, neo_param k, neo_schedule *s);
/* legal: the strategy's. */
typedef bool (*neo_loops_legality)(const neo_space *x, const neo_schedule *s, neo_str *why);
void neo_loops_gpu_rank(const neo_space *x, neo_loops_legality legal, neo_ranking *r);

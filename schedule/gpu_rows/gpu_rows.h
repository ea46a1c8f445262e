/* Blocks of threads at points: a block takes THREADS/LANES points of the shared axes, walked as
 * one; LANES threads divide the own axes of each stage at a point among them. Partial sums are
 * joined by a tree whose shape follows from LANES alone. With ACROSS, neighbouring threads are at
 * neighbouring points, for what lies contiguous along those (sums of columns); else at neighbouring
 * steps, for what lies contiguous along own axes (rows). A thread has VECTOR_WIDTH elements side by
 * side, along own axes, or points of the last shared axis (VECTOR_AXIS), and UNROLL_K steps of them
 * are written out. With STASH these are all that it has of a row, whose values stay in registers.
 * Private to schedule. */
#ifndef NEO_SCHEDULE_GPU_ROWS_H
#define NEO_SCHEDULE_GPU_ROWS_H
#include "schedule/block.h"
#include "schedule/row_stash.h"
#include "schedule/strategy.h"

/* As strategy.h's. */
bool neo_gpu_rows_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
bool neo_gpu_rows_choose(const neo_space *x, neo_schedule *out);
bool neo_gpu_rows_draw(const neo_space *x, uint64_t *seed, neo_schedule *out);

/* What the threads of a row may stash. */
neo_stash neo_gpu_rows_stash(neo_module *m, const neo_form *f, const neo_schedule *s);

/* What threads at points take (gpu_rows/cost.c): of a thread, the points that it has side by side
 * and elements that are read together; threads that share a point, threads of a block; cycles of
 * joining them; the part of its accesses that it really makes; elements of a vector. */
typedef struct {
  double points, together, lanes, block, joins, read, vector;
  bool along; /* neighbouring threads are at neighbouring steps */
} neo_gpu_thread_share;
/* Cycles of the machine, about. */
double neo_gpu_points_cost(const neo_space *x, const neo_gpu_thread_share *t);
double neo_gpu_rows_cost(const neo_space *x, const neo_schedule *s);

#endif

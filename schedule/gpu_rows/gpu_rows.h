/* Thread blocks at points. A block takes THREADS/LANES points of the shared axes, which are fused
 * into one. At each point LANES threads divide the own axes of each stage. A tree whose shape
 * follows from LANES alone combines their partial sums. With ACROSS, neighbouring threads are at
 * neighbouring points, for data that is contiguous along these (sums of columns); otherwise they
 * are at neighbouring steps, for data that is contiguous along own axes (sums of rows). A thread
 * takes VECTOR_WIDTH contiguous elements, along own axes or along the last shared axis
 * (VECTOR_AXIS), and UNROLL_K steps of them are unrolled. With STASH, a thread holds its whole
 * share of a row in registers. Private to schedule. */
#pragma once
#include "schedule/block.h"
#include "schedule/row_stash.h"
#include "schedule/strategy.h"

/* Members of the strategy's row (strategy.h). */
bool neo_gpu_rows_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
bool neo_gpu_rows_choose(const neo_space *x, neo_schedule *out);

/* The values that the threads of a row may stash. */
neo_stash neo_gpu_rows_stash(neo_module *m, const neo_form *f, const neo_schedule *s);

/* The work of threads at points (gpu_rows/cost.c). points: contiguous points of a thread; together:
 * elements that a thread reads at a time; lanes: threads that share a point; block: threads of a
 * block; joins: cycles of combining lanes; read: the share of its accesses that go to memory;
 * vector: elements of a vector. */
typedef struct {
  double points, together, lanes, block, joins, read, vector;
  bool along; /* neighbouring threads are at neighbouring steps */
} neo_gpu_thread_share;
/* Estimates in cycles of the machine. */
double neo_gpu_points_cost(const neo_space *x, const neo_gpu_thread_share *t);

/* graph.h: graphs of an entry, for the files that choose or build them. Private to runtime/cuda. */
#pragma once
#include "runtime/cuda/cuda.h"

typedef struct {
  cuda_node node;
  int32_t step;      /* number in the entry; for a grid, of its first step */
  int32_t iteration; /* steps of equal number are in one iteration, or in no loop */
} cuda_at;

typedef struct {
  cuda_graph graph;
  cuda_exec exec;
  uint64_t used; /* time of last use, for LRU replacement; 0: never */
  uint64_t key[3];
  int64_t *sizes; /* [n_sizes]; in one block with the arrays below */
  int64_t *units; /* [n_steps] of the entry; 0: no node, also for copies of nothing */
  int64_t *grid;  /* [n_steps] number of the grid that the step is a part of, + 1; 0: none */
  int64_t *other; /* [n_steps] while nodes are updated: whether the step's arguments changed */
  void **placed;  /* [patches of the entry] addresses of the caller's tensors */
  bool too_long;  /* the steps of all iterations are too many nodes, or their number is not known */
  cuda_at *at;    /* [n_nodes] in the order in which they run */
  int32_t n_nodes;
} cached_graph;

enum { CUDA_ITERATIONS_ARE_DATA = -2 };

typedef struct {
  int32_t first, n; /* range of the entry's steps */
} cuda_part;

/* The positions of the caller's tensors among the arguments of the entry's steps. */
static inline const neo_rti_patch *neo_rti_cuda_patch(const neo_rt_ctx *c, const neo_rt_entry *e) {
  return &c->patch[e - c->model->entries];
}

/* Visits the steps of an entry in the order in which they run (iterations.c). Ends when a visit
 * fails, or at a loop over blocks of rows, whose number the host does not know. Of a grid (as in
 * cached_graph) only the first step is visited. Sizes and units are those of the present
 * iteration. */
typedef cuda_result cuda_visit(neo_rt_ctx *c, void *ctx, int32_t step, int32_t iteration);
cuda_result neo_rti_cuda_walk(neo_rt_ctx *c, const neo_rt_entry *e, const int64_t *grid,
                              cuda_visit *visit, void *ctx) NEO_MUST_CHECK;

/* Adds the nodes of the entry's steps, and makes g->exec, or sets g->too_long. Kernels must be
 * loaded. */
cuda_result neo_rti_cuda_graph_build(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                                     const uint64_t *key) NEO_MUST_CHECK;
/* The steps that run in the node of step i of the entry. */
cuda_part neo_rti_cuda_graph_part(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g,
                                  int32_t i);
/* A copy step of the model as a node. */
cuda_copy_node neo_rti_cuda_graph_copy(const neo_rt_ctx *c, int32_t step);
/* Notes the addresses of the caller's tensors in this call. */
void neo_rti_cuda_graph_note_places(const neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g);

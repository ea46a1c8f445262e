/* graph.h: graphs of an entry, for the files that choose or build them. Private to runtime/cuda. */
#pragma once
#include "runtime/cuda/cuda.h"

typedef struct {
  cuda_node node;
  int32_t step;  /* of the entry; of a grid's steps the first */
  int32_t round; /* those of one number are in one round, or in no loop */
} cuda_at;

typedef struct {
  cuda_graph graph;
  cuda_exec exec;
  uint64_t used; /* time of last use, for LRU replacement; 0: never */
  uint64_t key[3];
  int64_t *sizes; /* [n_sizes]; one block with what follows */
  int64_t *units; /* [n_steps] of the entry; 0: no node, also for copies of nothing */
  int64_t *grid;  /* [n_steps] number of the grid that it is a part of, + 1; 0: none */
  int64_t *other; /* [n_steps] while nodes are changed: the step's arguments are others */
  void **placed;  /* [patches of the entry] where the caller's tensors are */
  bool too_long;  /* the steps of all rounds are too many nodes, or nobody knows how many */
  cuda_at *at;    /* [n_nodes] in the order in which they run */
  int32_t n_nodes;
} cached_graph;

enum { CUDA_ROUNDS_ARE_DATA = -2 };

typedef struct {
  int32_t first, n; /* of the entry's steps */
} cuda_part;

/* Where the caller's tensors are among the arguments of the entry's steps. */
static inline const neo_rti_patch *neo_rti_cuda_patch(const neo_rt_ctx *c, const neo_rt_entry *e) {
  return &c->patch[e - c->model->entries];
}

/* Visits the steps of an entry in the order in which they run (rounds.c), until a visit fails, or a loop over blocks
 * of rows comes, of which the host does not know how many there are; of a grid (grid: as in cached_graph) the first
 * one alone. Sizes and units are those of the round at hand. */
typedef cuda_result cuda_visit(neo_rt_ctx *c, void *ctx, int32_t step, int32_t round);
cuda_result neo_rti_cuda_walk(neo_rt_ctx *c, const neo_rt_entry *e, const int64_t *grid,
                              cuda_visit *visit, void *ctx) NEO_MUST_CHECK;

/* Adds the nodes of the entry's steps, and makes g->exec, or says that they are too many. Kernels are
 * loaded. */
cuda_result neo_rti_cuda_graph_build(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                                     const uint64_t *key) NEO_MUST_CHECK;
/* The steps of the node that runs step i of the entry. */
cuda_part neo_rti_cuda_graph_part(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g,
                                  int32_t i);
/* A copy step of the model as a node. */
cuda_copy_node neo_rti_cuda_graph_copy(const neo_rt_ctx *c, int32_t step);
/* Notes where the caller's tensors are in this call. */
void neo_rti_cuda_graph_note_places(const neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g);

/* graph.h: graphs of an entry, for the files that choose or build them. Private to runtime/cuda. */
#ifndef NEO_RUNTIME_CUDA_GRAPH_H
#define NEO_RUNTIME_CUDA_GRAPH_H
#include "runtime/cuda/cuda.h"

typedef struct {
  cuda_graph graph;
  cuda_exec exec;
  uint64_t used; /* time of last use, for LRU replacement; 0: never */
  uint64_t key[3];
  int64_t *sizes;  /* [n_sizes]; one block with what follows */
  int64_t *units;  /* [n_steps] of the entry; 0: no node, also for copies of nothing */
  int64_t *grid;   /* [n_steps] number of the grid that it is a part of, + 1; 0: none */
  void **placed;   /* [patches of the entry] where the caller's tensors are */
  cuda_node *node; /* [n_steps]; of a grid's steps the first has it */
} cached_graph;

typedef struct {
  int32_t first, n; /* of the entry's steps */
} cuda_part;

/* Where the caller's tensors are among the arguments of the entry's steps. */
static inline const neo_rti_patch *neo_rti_cuda_patch(const neo_rt_ctx *c, const neo_rt_entry *e) {
  return &c->patch[e - c->model->entries];
}

/* Adds the nodes of the entry's steps, and makes g->exec. Kernels are loaded. */
cuda_result neo_rti_cuda_graph_build(neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g,
                                     const uint64_t *key) NEO_MUST_CHECK;
/* The steps of the node that runs step i of the entry. */
cuda_part neo_rti_cuda_graph_part(const neo_rt_ctx *c, const neo_rt_entry *e, const cached_graph *g,
                                  int32_t i);
/* A copy step of the model as a node. */
cuda_copy_node neo_rti_cuda_graph_copy(const neo_rt_ctx *c, int32_t step);
/* Notes where the caller's tensors are in this call. */
void neo_rti_cuda_graph_note_places(const neo_rt_ctx *c, const neo_rt_entry *e, cached_graph *g);

#endif

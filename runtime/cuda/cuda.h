/* cuda.h: what the files of runtime/cuda share; private to them.
 *
 *   device.c  the driver, its device, the context's life, the arena, running an entry
 *   driver.c the driver as a library that is opened
 *   copy.c   copies, by way of pinned memory where the host is one side
 *   graph.c  entries as graphs of the driver
 *   map.c    tensors of which kernels copy boxes
 *   grid.c   steps as one node of such a graph
 *   trace.c  when the device ran what
 *
 * Whoever calls the driver has made the context current: neo_rti_cuda_enter, neo_rti_cuda_leave. */
#ifndef NEO_RUNTIME_CUDA_H
#define NEO_RUNTIME_CUDA_H
#include "runtime/cuda_api.h"
#include "runtime/internal.h"

enum { CUDA_PIECES = 32, CUDA_PIECE_BYTES = 1 << 20, CUDA_RING_BYTES = 4 << 20 };

typedef struct { /* a part of the ring whose copy may not be done */
  size_t at, n;
  void *to; /* of the host: gets the bytes when the copy is done; null: the device got them */
  cuda_event done;
} cuda_piece;

typedef struct {
  unsigned char *p; /* pinned memory; null: there is none, and copies wait */
  size_t head;      /* where the next piece begins */
  cuda_piece piece[CUDA_PIECES];
  unsigned first, n; /* pieces in use, the oldest first */
} cuda_ring;

typedef struct cuda_graphs cuda_graphs; /* of one entry; graph.c */
typedef struct cuda_marks cuda_marks;   /* trace.c */

typedef struct { /* a kernel whose blocks stay */
  bool asked;
  cuda_function function;
  int64_t most;   /* blocks at the same time; 0: it cannot run */
  cuda_ptr place; /* where they meet: an argument */
} cuda_resident;

struct neo_rti_cuda {
  void *library;
  cuda_api api;
  cuda_device device;
  int number, processors; /* the device's; its multiprocessors */
  char name[128];
  bool retained;
  cuda_context context;
  cuda_stream stream;
  bool own_stream;
  cuda_module module;
  cuda_function *function;        /* [n_kernels]; null: not looked up yet */
  void **param;                   /* of one launch */
  cuda_map map[NEO_RT_MOST_MAPS]; /* of one */
  cuda_ptr arena;
  bool pooled; /* the arena is of the driver's pool */
  cuda_ring ring;
  bool with_graphs, with_early; /* early: launches before what a kernel itself waits for ends */
  bool at_once;                 /* graphs are made for the first call */
  bool with_grids;              /* steps may be one node */
  bool with_persistent;         /* blocks may take one tile after another */
  cuda_resident *resident;      /* [n_grids] */
  cuda_graphs *graphs;          /* [n_entries] */
  cuda_marks *marks;            /* null: there is no trace */
};

neo_rt_status neo_rti_cuda_enter(neo_rt_ctx *c);
void neo_rti_cuda_leave(neo_rt_ctx *c);
/* NEO_OK if r is success; else what was done and what the driver says of it; `doing` null: says
 * nothing. */
neo_rt_status neo_rti_cuda_told(neo_rt_ctx *c, cuda_result r, const char *doing);

/* The function of a kernel, its module loaded. */
neo_rt_status neo_rti_cuda_function(neo_rt_ctx *c, int32_t kernel);
/* Does step i do anything in this call? A copy's bytes go to *bytes, which may be null. */
bool neo_rti_cuda_step_runs(const neo_rt_ctx *c, int32_t i, int64_t *bytes);
/* A step as a kernel node, whose parameters are in c->cuda->param until the next. */
cuda_kernel_node neo_rti_cuda_kernel(neo_rt_ctx *c, int32_t i, const uint64_t *key);

/* ---- map.c: what the kernel node of a step needs before it is made */
cuda_result neo_rti_cuda_maps(neo_rt_ctx *c, int32_t step);
/* Of a tensor at `from`, with these extents. */
cuda_result neo_rti_cuda_map(const cuda_api *api, const neo_rt_map *m, const int64_t *extent,
                             void *from, cuda_map *out);

/* ---- copy.c */
/* Memory and events of the ring; without pinned memory there is none, which is no failure. */
neo_rt_status neo_rti_cuda_ring_open(neo_rt_ctx *c);
void neo_rti_cuda_ring_close(neo_rt_ctx *c);

/* ---- graph.c */
size_t neo_rti_cuda_graphs_bytes(const neo_rt_model *m);
void neo_rti_cuda_graphs_close(neo_rt_ctx *c);
/* Puts the entry's steps into the stream as one graph, if there is one for it, or it has come to be
 * worth one; *ran tells. */
neo_rt_status neo_rti_cuda_graph_run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key,
                                     bool *ran);

/* Does step b of the model write what a reads or writes, or the other way round? */
bool neo_rti_cuda_clash(const neo_rt_ctx *c, int32_t a, int32_t b);

/* ---- grid.c */
bool neo_rti_cuda_wants_grids(const neo_rti_cuda *u);
/* Most parameters of a grid. */
size_t neo_rti_cuda_grid_params(const neo_rt_model *m);
/* May the grid take the place of its steps in this call? Its module is loaded. */
bool neo_rti_cuda_grid_runs(neo_rt_ctx *c, int32_t grid);
/* As neo_rti_cuda_kernel. */
cuda_kernel_node neo_rti_cuda_grid_kernel(neo_rt_ctx *c, int32_t grid, const uint64_t *key);

/* ---- trace.c: before and behind what goes into the stream, for a trace. Nothing without. */
void neo_rti_cuda_mark_step(neo_rt_ctx *c, int32_t step);
void neo_rti_cuda_mark_copy(neo_rt_ctx *c, neo_rti_way way, size_t bytes);
void neo_rti_cuda_mark_end(neo_rt_ctx *c);

#endif

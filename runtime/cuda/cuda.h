/* cuda.h: a context on an NVIDIA GPU. Private to runtime/cuda.
 *
 *   driver.c       opens the driver's library
 *   status.c       results of the driver as statuses
 *   trace.c        times of kernels and copies on the device
 *   copy.c         copies, through pinned memory to and from the host
 *   map.c          tensor maps for TMA copies
 *   kernel.c       the module of the kernels, and a step as a launch
 *   conflict.c     data dependences between steps
 *   grid.c         steps as one cooperative kernel
 *   iterations.c   an entry's steps in the order in which they run
 *   graph_build.c  an entry's steps as nodes of a graph of the driver
 *   graph.c        the cache of graphs, and launches of graphs
 *   arena.c        the device's memory
 *   open.c         opens and closes a context's state
 *   device.c       the table of the device; an entry's steps in the stream
 *
 * A file calls only those above it. Callers of the driver must have made the context current:
 * neo_rti_cuda_enter, neo_rti_cuda_leave. */
#pragma once
#include "runtime/core/device.h"
#include "runtime/cuda_api.h"

enum { CUDA_PIECES = 32, CUDA_PIECE_BYTES = 1 << 20, CUDA_STAGING_BYTES = 4 << 20 };

typedef struct { /* a part of the circular buffer whose copy may be in progress */
  size_t at, n;
  void *to; /* host memory that gets the bytes after the copy; null: a copy to the device */
  cuda_event done;
} cuda_piece;

typedef struct {
  unsigned char *p; /* pinned memory; null: there is none, and copies wait */
  size_t head;      /* the offset of the next piece */
  cuda_piece piece[CUDA_PIECES];
  unsigned first, n; /* pieces in use, the oldest first */
} cuda_staging;

typedef struct cuda_graphs cuda_graphs; /* the graphs of one entry (graph.c) */
typedef struct cuda_marks cuda_marks;   /* events of a trace (trace.c) */

typedef struct { /* a cooperative kernel */
  bool asked;
  cuda_function function;
  int64_t most;   /* blocks that can be resident; 0: the kernel cannot run */
  cuda_ptr place; /* memory of the grid's barrier, an argument of the kernel */
} cuda_resident;

typedef struct { /* memory of the device */
  cuda_ptr at;   /* 0: none */
  bool pooled;   /* from the driver's pool */
} cuda_block;

typedef struct { /* c->state */
  void *library;
  cuda_api api;
  cuda_device device;
  int number, processors; /* number of the device; number of its multiprocessors */
  char name[128];
  bool retained;
  cuda_context context;
  cuda_stream stream;
  bool own_stream;
  cuda_module module;
  cuda_function *function;        /* [n_kernels]; null: not looked up yet */
  void **param;                   /* parameters of one launch */
  cuda_map map[NEO_RT_MOST_MAPS]; /* tensor maps of one launch */
  cuda_block arena, work;
  cuda_staging staging;
  bool with_graphs;
  bool with_programmatic;  /* edges of programmatic dependent launch */
  bool at_once;            /* a graph is made in the first call */
  bool with_grids;         /* steps may be one cooperative kernel */
  bool with_grid_nodes;    /* graphs may have such kernels */
  bool with_persistent;    /* blocks may run several tiles */
  cuda_resident *resident; /* [n_grids] */
  cuda_graphs *graphs;     /* [n_entries] */
  cuda_marks *marks;       /* null: no trace */
} neo_rti_cuda;

static inline neo_rti_cuda *cuda_of(const neo_rt_ctx *c) {
  return c->state;
}

/* ---- status.c */
neo_rt_status neo_rti_cuda_enter(neo_rt_ctx *c) NEO_MUST_CHECK;
void neo_rti_cuda_leave(neo_rt_ctx *c);
/* Turns r into a status; a failure gets a message with `doing` (null: no message) and the driver's
 * reason. */
neo_rt_status neo_rti_cuda_status(neo_rt_ctx *c, cuda_result r, const char *doing) NEO_MUST_CHECK;

/* ---- trace.c, for device.c: functions of the device's table */
neo_rt_status neo_rti_cuda_trace_open(neo_rt_ctx *c, int32_t most_steps) NEO_MUST_CHECK;
neo_rt_status neo_rti_cuda_trace_begin(neo_rt_ctx *c) NEO_MUST_CHECK;
void neo_rti_cuda_trace_put(neo_rt_ctx *c, const neo_rt_entry *e);
void neo_rti_cuda_trace_close(neo_rt_ctx *c);
/* Record events before and after an item of the stream. They do nothing without a trace. */
void neo_rti_cuda_mark_step(neo_rt_ctx *c, int32_t step);
void neo_rti_cuda_mark_copy(neo_rt_ctx *c, neo_rti_way way, size_t bytes);
void neo_rti_cuda_mark_end(neo_rt_ctx *c);
/* Switches marks on or off within a loop: only its first iteration is marked, as each step has one
 * event. Returns the previous setting. */
bool neo_rti_cuda_mark_iterations(neo_rt_ctx *c, bool on);

/* ---- copy.c, for device.c and open.c */
/* Allocates memory and events of the circular buffer. Without pinned memory there is none, which is
 * no failure. */
neo_rt_status neo_rti_cuda_staging_open(neo_rt_ctx *c) NEO_MUST_CHECK;
void neo_rti_cuda_staging_close(neo_rt_ctx *c);
/* copy, synchronise and end of the device's table */
neo_rt_status neo_rti_cuda_copy(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from,
                                size_t n) NEO_MUST_CHECK;
neo_rt_status neo_rti_cuda_finish(neo_rt_ctx *c, const char *doing) NEO_MUST_CHECK;
/* Reads n bytes of the device's memory, after everything in the stream; waits. */
neo_rt_status neo_rti_cuda_read(neo_rt_ctx *c, void *to, const void *from, size_t n) NEO_MUST_CHECK;
neo_rt_status neo_rti_cuda_end(neo_rt_ctx *c, const char *doing) NEO_MUST_CHECK;

/* ---- map.c: makes the tensor maps that the kernel node of a step needs */
cuda_result neo_rti_cuda_maps(neo_rt_ctx *c, int32_t step) NEO_MUST_CHECK;

/* ---- kernel.c */
/* Looks up the function of a kernel; loads its module first. */
neo_rt_status neo_rti_cuda_function(neo_rt_ctx *c, int32_t kernel) NEO_MUST_CHECK;
/* Whether step i does anything in this call. A copy's bytes go to *bytes, which may be null. */
bool neo_rti_cuda_step_runs(const neo_rt_ctx *c, int32_t i, int64_t *bytes);
/* A step as a kernel node. Its parameters are in the context, until the next call of this
 * function. */
cuda_kernel_node neo_rti_cuda_kernel(neo_rt_ctx *c, int32_t i, const uint64_t *key);

/* ---- conflict.c */
/* Whether step b of the model writes memory that step a reads or writes, or the other way round.
 * other_iteration: they are in different iterations, so that pieces of one tensor may be the same
 * memory. */
bool neo_rti_cuda_conflict(const neo_rt_ctx *c, int32_t a, int32_t b, bool other_iteration);

/* ---- grid.c, for device.c and open.c */
/* Whether the model's table of grids is well formed. */
bool neo_rti_cuda_grids_check(const neo_rt_model *model);
bool neo_rti_cuda_wants_grids(const neo_rti_cuda *u);
/* The largest number of parameters of a grid. */
size_t neo_rti_cuda_grid_params(const neo_rt_model *m);
/* Whether the grid may replace its steps in this call. Its module is loaded. */
bool neo_rti_cuda_grid_runs(neo_rt_ctx *c, int32_t grid);
/* As neo_rti_cuda_kernel. */
cuda_kernel_node neo_rti_cuda_grid_kernel(neo_rt_ctx *c, int32_t grid, const uint64_t *key);
/* Launches the grid in the stream. */
neo_rt_status neo_rti_cuda_grid_launch(neo_rt_ctx *c, int32_t grid,
                                       const uint64_t *key) NEO_MUST_CHECK;
/* The grid that begins with the step (-1: none), and whether a grid has loops. */
int32_t neo_rti_cuda_grid_at(const neo_rt_ctx *c, int32_t step);
bool neo_rti_cuda_grid_has_loops(const neo_rt_ctx *c, int32_t grid);

/* ---- graph.c */
size_t neo_rti_cuda_graphs_bytes(const neo_rt_model *m);
void neo_rti_cuda_graphs_close(neo_rt_ctx *c);
/* Launches the entry's steps as one graph, if there is one for this call or it is worth building
 * one; *ran tells. */
neo_rt_status neo_rti_cuda_graph_run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key,
                                     bool *ran) NEO_MUST_CHECK;

/* ---- arena.c, for device.c and open.c */
/* allocate and regrow of the device's table */
neo_rt_status neo_rti_cuda_allocate(neo_rt_ctx *c, const neo_rt_config *config, size_t n,
                                    size_t zero) NEO_MUST_CHECK;
neo_rt_status neo_rti_cuda_regrow(neo_rt_ctx *c, size_t n, size_t least) NEO_MUST_CHECK;
void neo_rti_cuda_arena_free(neo_rti_cuda *u);

/* ---- open.c, for device.c: open and close of the device's table */
neo_rt_status neo_rti_cuda_open(neo_rt_ctx *c, const neo_rt_config *config) NEO_MUST_CHECK;
void neo_rti_cuda_close(neo_rt_ctx *c);

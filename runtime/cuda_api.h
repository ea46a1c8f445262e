/* cuda_api.h: the part of the CUDA driver's interface that the runtime uses, as the driver exports
 * it. libcuda is opened when a context for a GPU is created, so that libneort links and runs
 * without CUDA. Numbers are those of the driver's ABI, which never change. */
#pragma once
#include "include/neo/neo_rt.h"
#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* 0: success */
typedef int cuda_device;
typedef uint64_t cuda_ptr;
typedef struct cuda_context_s *cuda_context;
typedef struct cuda_module_s *cuda_module;
typedef struct cuda_function_s *cuda_function;
typedef struct cuda_stream_s *cuda_stream;
typedef struct cuda_event_s *cuda_event;
typedef struct cuda_graph_s *cuda_graph;
typedef struct cuda_node_s *cuda_node;
typedef struct cuda_exec_s *cuda_exec; /* a graph that can be launched */

enum {
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NO_DEVICE = 100,
  CUDA_NO_BINARY = 209, /* no code for this device */
  CUDA_INVALID_PTX = 218,
  CUDA_UNSUPPORTED_PTX = 222, /* the driver is older than the PTX */
  CUDA_NOT_READY = 600,
  CUDA_NOT_SUPPORTED = 801,
  CUDA_STREAM_NON_BLOCKING = 1,
  CUDA_EVENT_NO_TIMING = 2,
  CUDA_CAPABILITY_MAJOR = 75,
  CUDA_CAPABILITY_MINOR = 76,
  CUDA_MULTIPROCESSORS = 16,
  CUDA_COOPERATIVE = 95,     /* attribute of a device: it has cooperative launches, whose blocks are
                                all resident */
  CUDA_NODE_COOPERATIVE = 2, /* attribute of a node: the launch is cooperative */
  CUDA_MEMORY_POOLS = 115,
  CUDA_MEMORY_OF_DEVICE = 2,
  CUDA_PORT_PROGRAMMATIC = 1,         /* port of a kernel: opens when all its blocks say so, or have
                                 ended */
  CUDA_EDGE_PROGRAMMATIC = 1,         /* edge to a kernel that waits by itself */
  CUDA_MOST_SHARED = 8,               /* attribute of a function: bytes that a launch may ask for */
  CUDA_PLAIN_SHARED_BYTES = 48 * 1024 /* bytes that it may ask for without that attribute */
};

typedef struct { /* CUgraphEdgeData */
  unsigned char from_port, to_port, type, reserved[5];
} cuda_edge;

typedef struct { /* CUDA_KERNEL_NODE_PARAMS, its first version */
  cuda_function function;
  unsigned grid[3], block[3], shared_bytes;
  void **params, **extra;
} cuda_kernel_node;

typedef struct { /* CUtensorMap, which is made at a multiple of 64 bytes */
  unsigned char bits[128];
} cuda_map;
enum {
  CUDA_MAP_F16 = 6,
  CUDA_MAP_BF16 = 9,
  CUDA_MAP_SWIZZLE_128 = 3, /* swizzle of 128 bytes */
  CUDA_MAP_L2_256 = 3       /* the L2 cache reads 256 bytes at once */
};

typedef union { /* CUlaunchAttributeValue */
  int cooperative;
  char bytes[64];
} cuda_node_value;

typedef struct { /* layout of CUDA_MEMCPY3D */
  size_t x_bytes, y, z, level;
  unsigned memory; /* CUDA_MEMORY_OF_DEVICE */
  const void *host;
  cuda_ptr device;
  void *array, *reserved;
  size_t pitch, height;
} cuda_copy_side;
typedef struct {
  cuda_copy_side from, to;
  size_t width_bytes, height, depth;
} cuda_copy_node;

/* X(member, exported name, parameters). A kernel's parameters end with a null: the driver ignores
 * it, but an emulator, which knows nothing of kernels, needs it. */
#define CUDA_FUNCTIONS(X)                                                                          \
  X(init, cuInit, (unsigned flags))                                                                \
  X(driver_version, cuDriverGetVersion, (int *version))                                            \
  X(error_name, cuGetErrorName, (cuda_result r, const char **text))                                \
  X(error_text, cuGetErrorString, (cuda_result r, const char **text))                              \
  X(device_count, cuDeviceGetCount, (int *n))                                                      \
  X(device_get, cuDeviceGet, (cuda_device * device, int number))                                   \
  X(device_name, cuDeviceGetName, (char *name, int n, cuda_device device))                         \
  X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, cuda_device device))       \
  X(context_retain, cuDevicePrimaryCtxRetain, (cuda_context * context, cuda_device device))        \
  X(context_release, cuDevicePrimaryCtxRelease_v2, (cuda_device device))                           \
  X(context_push, cuCtxPushCurrent_v2, (cuda_context context))                                     \
  X(context_pop, cuCtxPopCurrent_v2, (cuda_context * context))                                     \
  X(stream_create, cuStreamCreate, (cuda_stream * stream, unsigned flags))                         \
  X(stream_destroy, cuStreamDestroy_v2, (cuda_stream stream))                                      \
  X(stream_wait, cuStreamSynchronize, (cuda_stream stream))                                        \
  X(memory_info, cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                     \
  X(memory_alloc, cuMemAlloc_v2, (cuda_ptr * p, size_t size_bytes))                                \
  X(memory_free, cuMemFree_v2, (cuda_ptr p))                                                       \
  X(memory_zero, cuMemsetD8Async, (cuda_ptr p, unsigned char x, size_t n, cuda_stream stream))     \
  X(upload, cuMemcpyHtoDAsync_v2, (cuda_ptr to, const void *from, size_t n, cuda_stream stream))   \
  X(download, cuMemcpyDtoHAsync_v2, (void *to, cuda_ptr from, size_t n, cuda_stream stream))       \
  X(copy, cuMemcpyDtoDAsync_v2, (cuda_ptr to, cuda_ptr from, size_t n, cuda_stream stream))        \
  X(module_load, cuModuleLoadData, (cuda_module * module, const void *image))                      \
  X(module_unload, cuModuleUnload, (cuda_module module))                                           \
  X(module_function, cuModuleGetFunction,                                                          \
    (cuda_function * function, cuda_module module, const char *name))                              \
  X(function_set, cuFuncSetAttribute, (cuda_function function, int attribute, int value))          \
  X(launch, cuLaunchKernel,                                                                        \
    (cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream, void **params, \
     void **extra))                                                                                \
  X(host_alloc, cuMemHostAlloc, (void **p, size_t n, unsigned flags))                              \
  X(host_free, cuMemFreeHost, (void *p))                                                           \
  X(event_create, cuEventCreate, (cuda_event * event, unsigned flags))                             \
  X(event_destroy, cuEventDestroy_v2, (cuda_event event))                                          \
  X(event_record, cuEventRecord, (cuda_event event, cuda_stream stream))                           \
  X(event_query, cuEventQuery, (cuda_event event))                                                 \
  X(event_wait, cuEventSynchronize, (cuda_event event))                                            \
  X(event_ms, cuEventElapsedTime, (float *ms, cuda_event from, cuda_event to))

/* Functions that are null if the driver lacks them. Cooperative launches came with CUDA 9.0,
 * attributes of nodes with 11.0, memory pools with 11.2, these graphs with 11.4, tensor maps with
 * 12.0, edges of graphs that have data with 12.3. */
#define CUDA_LATER_FUNCTIONS(X)                                                                   \
  X(launch_cooperative, cuLaunchCooperativeKernel,                                                \
    (cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream,               \
     void **params))                                                                              \
  X(pool_alloc, cuMemAllocAsync, (cuda_ptr * p, size_t n, cuda_stream stream))                    \
  X(pool_free, cuMemFreeAsync, (cuda_ptr p, cuda_stream stream))                                  \
  X(graph_create, cuGraphCreate, (cuda_graph * graph, unsigned flags))                            \
  X(graph_destroy, cuGraphDestroy, (cuda_graph graph))                                            \
  X(graph_kernel, cuGraphAddKernelNode,                                                           \
    (cuda_node * node, cuda_graph graph, const cuda_node *after, size_t n,                        \
     const cuda_kernel_node *kernel))                                                             \
  X(graph_copy, cuGraphAddMemcpyNode,                                                             \
    (cuda_node * node, cuda_graph graph, const cuda_node *after, size_t n,                        \
     const cuda_copy_node *copy, cuda_context context))                                           \
  X(graph_edges, cuGraphAddDependencies_v2,                                                       \
    (cuda_graph graph, const cuda_node *from, const cuda_node *to, const cuda_edge *edge,         \
     size_t n))                                                                                   \
  X(graph_attribute, cuGraphKernelNodeSetAttribute,                                               \
    (cuda_node node, int attribute, const cuda_node_value *value))                                \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                       \
    (int *blocks, cuda_function function, int threads, size_t shared_bytes))                      \
  X(graph_make, cuGraphInstantiateWithFlags,                                                      \
    (cuda_exec * exec, cuda_graph graph, unsigned long long flags))                               \
  X(graph_set_kernel, cuGraphExecKernelNodeSetParams,                                             \
    (cuda_exec exec, cuda_node node, const cuda_kernel_node *kernel))                             \
  X(graph_set_copy, cuGraphExecMemcpyNodeSetParams,                                               \
    (cuda_exec exec, cuda_node node, const cuda_copy_node *copy, cuda_context context))           \
  X(graph_launch, cuGraphLaunch, (cuda_exec exec, cuda_stream stream))                            \
  X(graph_end, cuGraphExecDestroy, (cuda_exec exec))                                              \
  X(map_make, cuTensorMapEncodeTiled,                                                             \
    (cuda_map * map, int type, unsigned rank, void *from, const uint64_t *extent,                 \
     const uint64_t *stride_bytes, const unsigned *box, const unsigned *step, int interleaved,    \
     int swizzle, int l2, int fill))

typedef struct {
#define CUDA_MEMBER(member, name, params) cuda_result(*member) params;
  CUDA_FUNCTIONS(CUDA_MEMBER)
  CUDA_LATER_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
} cuda_api;

enum { CUDA_TEXT = 256 }; /* bytes of a message */

/* Opens the driver: that of NEO_CUDA_DRIVER, or the system's. *api gets its functions, *library the
 * handle for dlclose (null: there is no driver). Returns null, or why the driver cannot be used.
 * (cuda/driver.c) */
const char *neo_rti_cuda_driver(cuda_api *api, void **library, char text[CUDA_TEXT]);
/* "counting devices failed: no CUDA-capable device (CUDA_ERROR_NO_DEVICE, 100)"; null if r is
 * success. */
const char *neo_rti_cuda_why(const cuda_api *api, cuda_result r, const char *doing,
                             char text[CUDA_TEXT]);

/* Makes the map of a tensor at `from` with these extents, for the copy engine of sm_90.
 * (cuda/map.c) */
cuda_result neo_rti_cuda_map(const cuda_api *api, const neo_rt_map *m, const int64_t *extent,
                             void *from, cuda_map *out);

/* The number of blocks of a launch (neo_rt_kernel.persistent) on a device with `processors`
 * multiprocessors. */
static inline int64_t cuda_blocks(int64_t units, int64_t block_units, int64_t persistent,
                                  int64_t processors) {
  int64_t all = (units + block_units - 1) / block_units, most = persistent * processors;
  return persistent && most < all ? most : all;
}

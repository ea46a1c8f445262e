/* cuda_api.h: the part of the CUDA driver's interface that the runtime uses, as the driver exports
 * it. libcuda is opened when a context for a GPU is created, so that libneort links and runs
 * without CUDA. Numbers are those of the driver's ABI, which never change. */
#ifndef NEO_RUNTIME_CUDA_API_H
#define NEO_RUNTIME_CUDA_API_H
#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* 0: success */
typedef int cuda_device;
typedef uint64_t cuda_ptr;
typedef struct cuda_context_s *cuda_context;
typedef struct cuda_module_s *cuda_module;
typedef struct cuda_function_s *cuda_function;
typedef struct cuda_stream_s *cuda_stream;

enum {
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NO_DEVICE = 100,
  CUDA_NO_BINARY = 209, /* no code for this device */
  CUDA_INVALID_PTX = 218,
  CUDA_UNSUPPORTED_PTX = 222, /* the driver is older than the PTX */
  CUDA_STREAM_NON_BLOCKING = 1,
  CUDA_CAPABILITY_MAJOR = 75,
  CUDA_CAPABILITY_MINOR = 76
};

/* X(member, exported name, parameters) */
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
  X(launch, cuLaunchKernel,                                                                        \
    (cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream, void **params, \
     void **extra))

typedef struct {
#define CUDA_MEMBER(member, name, params) cuda_result(*member) params;
  CUDA_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
} cuda_api;

#endif

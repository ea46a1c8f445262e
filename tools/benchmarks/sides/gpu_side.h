/* One entry of a generated library, with its inputs and outputs: on the device, if the library is
 * for one. What a driver or a file refuses ends the program. */
#ifndef NEO_TOOLS_GPU_SIDE_H
#define NEO_TOOLS_GPU_SIDE_H
#include "runtime/cuda_api.h"
#include "tools/benchmarks/sides/arrays.h"
#include <stdio.h>

enum { GPU_MOST_TENSORS = 4096, GPU_MOST_SIZES = 32, GPU_MOST_RANK = 16 };

typedef struct {
  cuda_api cuda;
  cuda_stream stream;
  cuda_context context;
  const neo_rt_model *model;
  neo_rt_ctx *ctx;
  const neo_rt_entry *entry;
  int32_t number;
  int64_t sizes[GPU_MOST_SIZES], given[GPU_MOST_SIZES]; /* run-time sizes are the largest */
  void *host[GPU_MOST_TENSORS];                         /* by argument, as the next */
  cuda_ptr device[GPU_MOST_TENSORS];
  int64_t shape[GPU_MOST_TENSORS][GPU_MOST_RANK];
} gpu_side;

/* Ends the program where `bad`. */
void gpu_must(int bad, const char *what, const char *why);
void gpu_open_driver(gpu_side *s);
cuda_ptr gpu_memory(gpu_side *s, size_t bytes);
/* The k-th argument's tensor, and its bytes. */
const neo_rt_tensor *gpu_argument(const gpu_side *s, int k);
size_t gpu_bytes(gpu_side *s, int k);
/* Opens the library, creates a context (seed 1), fills the inputs (arrays.h) and binds all. */
void gpu_open(gpu_side *s, const char *library, const char *prefix, const char *entry);
void gpu_run(gpu_side *s);
void gpu_wait(gpu_side *s);
/* Copies the results of the last call to the host. */
void gpu_take(gpu_side *s);

/* A parameter or state, as the context has it now. */
typedef struct {
  const neo_rt_tensor *of;
  void *data; /* malloc */
  size_t bytes;
  int64_t shape[GPU_MOST_RANK];
} gpu_kept;
/* False where tensor `number` of the model is neither. */
bool gpu_keep(gpu_side *s, int32_t number, gpu_kept *out);

/* ---- files of tensors, safetensors */
typedef struct {
  char name[256];
  const char *type; /* as the format calls it */
  const void *data;
  size_t bytes;
  int rank;
  int64_t shape[GPU_MOST_RANK];
} gpu_tensor;
const char *gpu_type_name(uint8_t type);
void gpu_save(const char *path, const gpu_tensor *t, int n);
#endif

/* The code that each of NVIDIA's GPUs runs (gpu.def). The runtime, neo-measure and neoc take the
 * name of a target from here, so that neoc accepts every name that they print. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Features of a level's code. */
enum {
  NEO_GPU_ASYNC = 1,     /* asynchronous copies into shared memory, conversion to tf32 */
  NEO_GPU_WAITS = 2,     /* kernels that wait for earlier ones (programmatic dependent launch) */
  NEO_GPU_WARPGROUPS = 4 /* products of warpgroups, the tensor memory accelerator */
};

typedef struct {
  const char *name; /* "sm_90a" */
  int capability;   /* 10 * major + minor of the first device that runs it */
  bool own;         /* no later device runs it */
  const char *ptx;  /* LLVM's feature: "+ptx80" */
  int64_t shared_bytes;
  uint32_t has; /* its features */
} neo_gpu_level;

enum { NEO_GPU_NAME = 16 }; /* bytes of a level's or device's name */

/* The meaning of NAME in --target=nvptx:NAME: a level, or a device and the level whose code it
 * runs. */
typedef struct {
  const neo_gpu_level *level;
  char device[NEO_GPU_NAME]; /* "sm_120": ptxas makes machine code for it; a level's: its name */
  int64_t shared_bytes;      /* most shared memory of a block, if it asks for it */
} neo_gpu_choice;

/* False: there is no such level or device. */
bool neo_gpu_choose(const char *name, neo_gpu_choice *out) NEO_MUST_CHECK;
/* "sm_75, sm_80, ...": every name that neo_gpu_choose takes. */
void neo_gpu_names(char *text, size_t n);

/* Does a device of this compute capability run code for the level? False if there is no such
 * level. */
bool neo_gpu_runs(int capability, const char *level);
/* The name to compile for, given a device's compute capability: "sm_90a", "sm_120". For a device
 * that gpu.def does not list it is the newest level that runs there. Returns `name`, into which
 * the text is written, or null if the device is older than all levels. */
const char *neo_gpu_name(int capability, char name[NEO_GPU_NAME]);

/* Prints the target for the first GPU of this machine, "nvptx:sm_90a"; without one says why and
 * exits with 77. What tests/gpu/on_device asks. */
#include "base/gpu.h"
#include "runtime/cuda_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

static int skip(const char *why) {
  fprintf(stderr, "no GPU: %s\n", why);
  return SKIPPED;
}

int main(void) {
  const char *own = getenv("NEO_CUDA_DRIVER");
  void *driver = dlopen(own ? own : "libcuda.so.1", RTLD_NOW);
  cuda_api cuda;
  cuda_device device;
  int n = 0, major = 0, minor = 0;
  char name[NEO_GPU_NAME];
  if (!driver)
    return skip(dlerror());
#define FIND(member, symbol, params) *(void **)&cuda.member = dlsym(driver, #symbol);
  CUDA_FUNCTIONS(FIND)
#undef FIND
  if (!cuda.init || cuda.init(0) || cuda.device_count(&n) || n == 0 || cuda.device_get(&device, 0))
    return skip("the driver has none");
  if (cuda.device_attribute(&major, CUDA_CAPABILITY_MAJOR, device) ||
      cuda.device_attribute(&minor, CUDA_CAPABILITY_MINOR, device) ||
      !neo_gpu_name(10 * major + minor, name))
    return skip("it is older than compute capability 7.5");
  printf("nvptx:%s\n", name);
  return 0;
}

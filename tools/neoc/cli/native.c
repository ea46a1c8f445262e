/* --target=nvptx:native: the name of this machine's first GPU, asked of its driver. */
#include "base/gpu.h"
#include "runtime/cuda_api.h"
#include "tools/neoc/neoc.h"
#include <dlfcn.h>

/* Asks the driver for the compute capability, 10 * major + minor. Returns null, or why it is
 * unknown. */
static const char *ask(const cuda_api *cuda, int *capability, char text[CUDA_TEXT]) {
  cuda_device device;
  int n = 0, major = 0, minor = 0;
  cuda_result r = cuda->init(0);
  if (!r)
    r = cuda->device_count(&n);
  if (!r)
    r = cuda->device_get(&device, 0);
  if (!r)
    r = cuda->device_attribute(&major, CUDA_CAPABILITY_MAJOR, device);
  if (!r)
    r = cuda->device_attribute(&minor, CUDA_CAPABILITY_MINOR, device);
  *capability = 10 * major + minor;
  return neo_rti_cuda_why(cuda, r, "asking the driver for a GPU", text);
}

neoc_exit neoc_native_gpu(neoc_cli *cli, const char **target) {
  cuda_api cuda = {0};
  void *library = NULL;
  char text[CUDA_TEXT], name[NEO_GPU_NAME];
  int capability = 0;
  if (!*target || !neo_streq(*target, "nvptx:native"))
    return NEOC_OK;
  const char *why = neo_rti_cuda_driver(&cuda, &library, text);
  if (!why)
    why = ask(&cuda, &capability, text);
  if (!why && !neo_gpu_name(capability, name))
    why = "its compute capability is below 7.5";
  if (library)
    dlclose(library);
  if (why)
    return neoc_fail(cli, NEOC_DEVICE, "--target=nvptx:native: %s; name the GPU, as in nvptx:sm_80",
                     why);
  *target = neo_arena_printf(cli->arena, "nvptx:%s", name);
  return NEOC_OK;
}

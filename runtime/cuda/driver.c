/* driver.c: the CUDA driver as a library that is opened, for contexts and for neo-measure. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "runtime/cuda_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

const char *neo_rti_cuda_driver(cuda_api *api, void **library, char text[CUDA_TEXT]) {
  const char *own = secure_getenv("NEO_CUDA_DRIVER"), *path = own && *own ? own : "libcuda.so.1";
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    snprintf(text, CUDA_TEXT, "the CUDA driver cannot be opened: %s", dlerror());
    return text;
  }
#define FIND(member, symbol, params) *(void **)&api->member = dlsym(*library, #symbol);
#define NEED(member, symbol, params)                                                         \
  if (!api->member) {                                                                        \
    snprintf(text, CUDA_TEXT, "%s: the CUDA driver is too old: it lacks %s", path, #symbol); \
    return text;                                                                             \
  }
  CUDA_FUNCTIONS(FIND)
  CUDA_FUNCTIONS(NEED)
  CUDA_LATER_FUNCTIONS(FIND)
#undef NEED
#undef FIND
  return NULL;
}

const char *neo_rti_cuda_why(const cuda_api *api, cuda_result r, const char *doing,
                             char text[CUDA_TEXT]) {
  const char *name = NULL, *what = NULL;
  if (r == 0)
    return NULL;
  (void)api->error_name(r, &name);
  (void)api->error_text(r, &what);
  snprintf(text, CUDA_TEXT, "%s failed: %s (%s, %d)", doing, what ? what : "no text",
           name ? name : "unknown error", r);
  return text;
}

/* A CUDA driver that emulates a device on the processor: what libneort opens in place of libcuda
 * where NEO_CUDA_DRIVER names it. A module is a shared library of the kernels, made by
 * --target=nvptx:LEVEL+host; device memory is memory whose first content is poison, and whose
 * addresses are not the host's: a pointer of one side used on the other ends the process.
 *
 * Threads run one after the other. */
#define _GNU_SOURCE 1
#include "runtime/cuda_api.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, NOT_FOUND = 500, POISON = 0xcd };
enum { BLOCK, BLOCK_SIZE, THREAD }; /* as codegen/llvm_ptx.c counts them */

static _Thread_local unsigned place[3];

__attribute__((visibility("default"))) unsigned neo_gpu_place(unsigned what) {
  return place[what];
}

#define DRIVER(name) __attribute__((visibility("default"))) cuda_result name

DRIVER(cuInit)(unsigned flags) {
  return flags ? INVALID_VALUE : 0;
}
DRIVER(cuDriverGetVersion)(int *version) {
  *version = 13000;
  return 0;
}
DRIVER(cuGetErrorName)(cuda_result r, const char **text) {
  *text = r == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_EMULATED";
  return 0;
}
DRIVER(cuGetErrorString)(cuda_result r, const char **text) {
  *text = r == CUDA_OUT_OF_MEMORY ? "out of memory" : "an error of the emulator";
  return 0;
}

/* ---- devices: one, of the generation NEO_EMULATOR_SM (90) */

static int environment(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

DRIVER(cuDeviceGetCount)(int *n) {
  *n = environment("NEO_EMULATOR_DEVICES", 1);
  return 0;
}
DRIVER(cuDeviceGet)(cuda_device *device, int number) {
  *device = number;
  return 0;
}
DRIVER(cuDeviceGetName)(char *name, int n, cuda_device device) {
  snprintf(name, (size_t)n, "emulated device %d", device);
  return 0;
}
DRIVER(cuDeviceGetAttribute)(int *value, int attribute, cuda_device device) {
  int sm = environment("NEO_EMULATOR_SM", 90);
  (void)device;
  if (attribute != CUDA_CAPABILITY_MAJOR && attribute != CUDA_CAPABILITY_MINOR)
    return INVALID_VALUE;
  *value = attribute == CUDA_CAPABILITY_MAJOR ? sm / 10 : sm % 10;
  return 0;
}

/* ---- contexts: only that they are used as they have to be */

struct cuda_context_s {
  int users;
};
static struct cuda_context_s primary;
static _Thread_local int depth; /* of contexts pushed by this thread */

DRIVER(cuDevicePrimaryCtxRetain)(cuda_context *context, cuda_device device) {
  (void)device;
  primary.users++;
  *context = &primary;
  return 0;
}
DRIVER(cuDevicePrimaryCtxRelease_v2)(cuda_device device) {
  (void)device;
  return --primary.users < 0 ? INVALID_VALUE : 0;
}
DRIVER(cuCtxPushCurrent_v2)(cuda_context context) {
  depth++;
  return context == &primary ? 0 : INVALID_VALUE;
}
DRIVER(cuCtxPopCurrent_v2)(cuda_context *context) {
  *context = &primary;
  return depth-- > 0 ? 0 : INVALID_VALUE;
}
static bool has_context(void) {
  return depth > 0;
}

DRIVER(cuStreamCreate)(cuda_stream *stream, unsigned flags) {
  static int one;
  (void)flags;
  *stream = (cuda_stream)(void *)&one;
  return has_context() ? 0 : INVALID_VALUE;
}
DRIVER(cuStreamDestroy_v2)(cuda_stream stream) {
  return stream && has_context() ? 0 : INVALID_VALUE;
}
DRIVER(cuStreamSynchronize)(cuda_stream stream) {
  return stream && has_context() ? 0 : INVALID_VALUE;
}

/* ---- memory */

typedef struct block {
  struct block *next;
  char *p;
  size_t n;
} block;
static block *blocks;

static size_t memory_bytes(void) {
  return (size_t)environment("NEO_EMULATOR_MIB", 16384) << 20;
}

static size_t used_bytes(void) {
  size_t n = 0;
  for (const block *b = blocks; b; b = b->next)
    n += b->n;
  return n;
}

DRIVER(cuMemGetInfo_v2)(size_t *free_bytes, size_t *total_bytes) {
  *total_bytes = memory_bytes();
  *free_bytes = *total_bytes - used_bytes();
  return 0;
}

DRIVER(cuMemAlloc_v2)(cuda_ptr *p, size_t n) {
  if (!has_context() || n == 0)
    return INVALID_VALUE;
  if (n > memory_bytes() - used_bytes())
    return CUDA_OUT_OF_MEMORY;
  block *b = malloc(sizeof *b);
  if (!b || posix_memalign((void **)&b->p, 256, n)) {
    free(b);
    return CUDA_OUT_OF_MEMORY;
  }
  b->n = n;
  b->next = blocks;
  blocks = b;
  memset(b->p, POISON, n);
  *p = (cuda_ptr)(uintptr_t)b->p;
  return 0;
}

DRIVER(cuMemFree_v2)(cuda_ptr p) {
  for (block **at = &blocks; *at; at = &(*at)->next)
    if ((cuda_ptr)(uintptr_t)(*at)->p == p) {
      block *b = *at;
      *at = b->next;
      free(b->p);
      free(b);
      return 0;
    }
  return INVALID_VALUE;
}

/* n bytes at p, all in one block of the device; else null. */
static char *device_bytes(cuda_ptr p, size_t n) {
  char *at = (char *)(uintptr_t)p;
  for (const block *b = blocks; b; b = b->next)
    if (at >= b->p && n <= b->n && (size_t)(at - b->p) <= b->n - n)
      return at;
  return NULL;
}

DRIVER(cuMemsetD8Async)(cuda_ptr p, unsigned char x, size_t n, cuda_stream stream) {
  char *to = device_bytes(p, n);
  if (!to || !stream || !has_context())
    return INVALID_VALUE;
  memset(to, x, n);
  return 0;
}
DRIVER(cuMemcpyHtoDAsync_v2)(cuda_ptr to, const void *from, size_t n, cuda_stream stream) {
  char *at = device_bytes(to, n);
  if (!at || !stream || !has_context() || device_bytes((cuda_ptr)(uintptr_t)from, 1))
    return INVALID_VALUE;
  memcpy(at, from, n);
  return 0;
}
DRIVER(cuMemcpyDtoHAsync_v2)(void *to, cuda_ptr from, size_t n, cuda_stream stream) {
  char *at = device_bytes(from, n);
  if (!at || !stream || !has_context() || device_bytes((cuda_ptr)(uintptr_t)to, 1))
    return INVALID_VALUE;
  memcpy(to, at, n);
  return 0;
}
DRIVER(cuMemcpyDtoDAsync_v2)(cuda_ptr to, cuda_ptr from, size_t n, cuda_stream stream) {
  char *dst = device_bytes(to, n), *src = device_bytes(from, n);
  if (!dst || !src || !stream || !has_context())
    return INVALID_VALUE;
  memcpy(dst, src, n);
  return 0;
}

/* ---- modules: the image is an ELF file; its section headers are the last thing in it */

static size_t elf_bytes(const unsigned char *p) {
  uint64_t sections;
  uint16_t size, n;
  memcpy(&sections, p + 40, sizeof sections);
  memcpy(&size, p + 58, sizeof size);
  memcpy(&n, p + 60, sizeof n);
  return (size_t)sections + (size_t)size * n;
}

/* Modules find neo_gpu_place in this library. */
static void show_symbols(void) {
  Dl_info self;
  if (dladdr((void *)(uintptr_t)neo_gpu_place, &self))
    dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

DRIVER(cuModuleLoadData)(cuda_module *module, const void *image) {
  char path[64];
  if (!has_context() || memcmp(image, "\177ELF", 4) != 0)
    return CUDA_NO_BINARY;
  int fd = memfd_create("module", 0);
  size_t n = elf_bytes(image);
  if (fd < 0 || write(fd, image, n) != (ssize_t)n)
    return CUDA_OUT_OF_MEMORY;
  show_symbols();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  *module = (cuda_module)dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*module)
    fprintf(stderr, "emulator: %s\n", dlerror());
  close(fd);
  return *module ? 0 : CUDA_NO_BINARY;
}
DRIVER(cuModuleUnload)(cuda_module module) {
  return dlclose(module) ? INVALID_VALUE : 0;
}
DRIVER(cuModuleGetFunction)(cuda_function *function, cuda_module module, const char *name) {
  *function = (cuda_function)dlsym(module, name);
  return *function ? 0 : NOT_FOUND;
}

/* ---- launches: an emulated kernel takes what cuLaunchKernel is given, and reads its parameters */

typedef void kernel(void **params);

DRIVER(cuLaunchKernel)
(cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
 unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream, void **params,
 void **extra) {
  kernel *run = (kernel *)(uintptr_t)function;
  if (!has_context() || !stream || extra || grid_y != 1 || grid_z != 1 || block_y != 1 ||
      block_z != 1 || grid_x == 0 || block_x == 0 || block_x > 1024 || shared_bytes > 227 << 10)
    return INVALID_VALUE;
  place[BLOCK_SIZE] = block_x;
  for (place[BLOCK] = 0; place[BLOCK] < grid_x; place[BLOCK]++)
    for (place[THREAD] = 0; place[THREAD] < block_x; place[THREAD]++)
      run(params);
  return 0;
}

/* Devices of the emulated driver, contexts, and modules: shared libraries, or code of the process.
 */
#define _GNU_SOURCE 1
#include "tests/gpu/emulator_driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int emu_environment(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

/* ---- the driver: of the version NEO_EMULATOR_CUDA (13000); before CUDA 12 it takes no module */

static int version_of_driver(void) {
  return emu_environment("NEO_EMULATOR_CUDA", 13000);
}
static int devices(void) {
  return emu_environment("NEO_EMULATOR_DEVICES", 1);
}

DRIVER(cuInit)(unsigned flags) {
  return flags ? INVALID_VALUE : devices() ? 0 : CUDA_NO_DEVICE;
}
DRIVER(cuDriverGetVersion)(int *version) {
  *version = version_of_driver();
  return 0;
}
DRIVER(cuGetErrorName)(cuda_result r, const char **text) {
  *text = r == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : r == CUDA_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
                                  : "CUDA_ERROR_EMULATED";
  return 0;
}
DRIVER(cuGetErrorString)(cuda_result r, const char **text) {
  *text = r == CUDA_OUT_OF_MEMORY ? "out of memory"
          : r == CUDA_NO_DEVICE   ? "no CUDA-capable device is detected"
                                  : "an error of the emulator";
  return 0;
}

/* ---- devices: NEO_EMULATOR_DEVICES (1), of the generation NEO_EMULATOR_SM (90), with
 * NEO_EMULATOR_PROCESSORS (3), each with room for NEO_EMULATOR_RESIDENT (1) blocks;
 * NEO_EMULATOR_COOPERATIVE=0: without cooperative launches */

DRIVER(cuDeviceGetCount)(int *n) {
  *n = devices();
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
  int sm = emu_environment("NEO_EMULATOR_SM", 90);
  (void)device;
  if (attribute == CUDA_MEMORY_POOLS) {
    *value = emu_environment("NEO_EMULATOR_POOLS", 1);
    return 0;
  }
  if (attribute == CUDA_COOPERATIVE || attribute == CUDA_MULTIPROCESSORS) {
    *value = attribute == CUDA_COOPERATIVE ? emu_environment("NEO_EMULATOR_COOPERATIVE", 1)
                                           : emu_environment("NEO_EMULATOR_PROCESSORS", 3);
    return 0;
  }
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
  if (primary.users == 1)
    emu_forget_failures();
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
bool emu_has_context(void) {
  return depth > 0;
}

/* ---- modules: the image is an ELF file, whose section headers are the last thing in it, or a
 * table of code (emulator.h) */

static size_t elf_bytes(const unsigned char *p) {
  uint64_t sections;
  uint16_t size, n;
  memcpy(&sections, p + 40, sizeof sections);
  memcpy(&size, p + 58, sizeof size);
  memcpy(&n, p + 60, sizeof n);
  return (size_t)sections + (size_t)size * n;
}

/* Modules find neo_gpu_place and others in this library. */
static void show_symbols(void) {
  Dl_info self;
  if (dladdr((void *)(uintptr_t)cuInit, &self))
    dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* Its file stays open: the loader knows libraries by their names, and the name is the file's. */
struct cuda_module_s {
  void *library; /* null: it is code of the process */
  int file;
  const neo_emulator_code *code;
};

static int write_image(const void *image) {
  int file = memfd_create("module", MFD_CLOEXEC);
  size_t n = elf_bytes(image);
  if (file >= 0 && write(file, image, n) == (ssize_t)n)
    return file;
  if (file >= 0)
    close(file);
  return -1;
}

static cuda_result load_library(struct cuda_module_s *m, const void *image) {
  char path[64];
  if ((m->file = write_image(image)) < 0)
    return CUDA_OUT_OF_MEMORY;
  show_symbols();
  snprintf(path, sizeof path, "/proc/self/fd/%d", m->file);
  m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (m->library)
    return 0;
  fprintf(stderr, "emulator: %s\n", dlerror());
  close(m->file);
  return CUDA_NO_BINARY;
}

DRIVER(cuModuleLoadData)(cuda_module *module, const void *image) {
  const neo_emulator_code *code = image;
  bool is_code = strcmp(code->magic, NEO_EMULATOR_MAGIC) == 0;
  if (!emu_has_context() || (!is_code && memcmp(image, "\177ELF", 4) != 0))
    return CUDA_NO_BINARY;
  if (version_of_driver() < 12000)
    return CUDA_UNSUPPORTED_PTX;
  struct cuda_module_s *m = calloc(1, sizeof *m);
  cuda_result r = !m ? CUDA_OUT_OF_MEMORY : is_code ? 0 : load_library(m, image);
  if (r) {
    free(m);
    return r;
  }
  m->code = is_code ? code : NULL;
  *module = m;
  return 0;
}
DRIVER(cuModuleUnload)(cuda_module m) {
  bool bad = m->library && (dlclose(m->library) || close(m->file));
  free(m);
  return bad ? INVALID_VALUE : 0;
}
DRIVER(cuModuleGetFunction)(cuda_function *function, cuda_module m, const char *name) {
  emu_counts.functions++;
  *function = m->library ? (cuda_function)dlsym(m->library, name) : NULL;
  for (int k = 0; m->code && k < m->code->n; k++)
    if (strcmp(m->code->at[k].symbol, name) == 0)
      memcpy(function, &m->code->at[k].address, sizeof *function);
  return *function ? 0 : NOT_FOUND;
}

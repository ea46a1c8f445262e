/* A CUDA driver that emulates a device on the processor: what libneort opens in place of libcuda
 * where NEO_CUDA_DRIVER names it. A module is a shared library of the kernels, made by
 * --target=nvptx:LEVEL+host; device memory is memory whose first content is poison, and whose
 * addresses are not the host's: a pointer of one side used on the other ends the process.
 *
 * Blocks run one after the other, the threads of a block in an order that NEO_EMULATOR_SEED mixes.
 */
#define _GNU_SOURCE 1
#include "tests/gpu/emulator.h"
#include "runtime/cuda_api.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, NOT_FOUND = 500, POISON = 0xcd };
enum { BLOCK, BLOCK_SIZE, THREAD }; /* as codegen/llvm_ptx.c counts them */

#define SHOWN __attribute__((visibility("default")))
#define DRIVER(name) cuda_result name
#define DECLARE(member, name, params) SHOWN cuda_result name params;
CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

/* What emulated kernels call. */
SHOWN unsigned neo_gpu_place(unsigned what);
SHOWN void *neo_gpu_shared(void);
SHOWN void neo_gpu_barrier(void);

static _Thread_local unsigned place[3];

unsigned neo_gpu_place(unsigned what) {
  return place[what];
}

static int environment(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

/* ---- the driver: of the version NEO_EMULATOR_CUDA (13000); before CUDA 12 it takes no module */

static int version_of_driver(void) {
  return environment("NEO_EMULATOR_CUDA", 13000);
}
static int devices(void) {
  return environment("NEO_EMULATOR_DEVICES", 1);
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

/* ---- devices: NEO_EMULATOR_DEVICES (1), of the generation NEO_EMULATOR_SM (90) */

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

/* Modules find neo_gpu_place in this library. */
static void show_symbols(void) {
  Dl_info self;
  if (dladdr((void *)(uintptr_t)neo_gpu_place, &self))
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
  if (!has_context() || (!is_code && memcmp(image, "\177ELF", 4) != 0))
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
  *function = m->library ? (cuda_function)dlsym(m->library, name) : NULL;
  for (int k = 0; m->code && k < m->code->n; k++)
    if (strcmp(m->code->at[k].symbol, name) == 0)
      memcpy(function, &m->code->at[k].address, sizeof *function);
  return *function ? 0 : NOT_FOUND;
}

/* ---- threads of a block
 *
 * Each runs on a stack of its own until it ends or comes to a barrier; when all have, those that
 * wait go on. A stack whose thread has ended serves the next one. All must come to the same
 * barriers: where some have ended and others wait, the launch has failed. A stack is entered for
 * the first time by swapcontext, and by longjmp from then on, which is no matter of the kernel. */

typedef void kernel(void **params);
enum { MOST_THREADS = 1024, STACK_BYTES = 256 << 10, MOST_SHARED = 227 << 10, LAUNCH_FAILED = 719 };

typedef struct {
  jmp_buf place;
  char *stack;
  unsigned thread;
  bool waits;
} fibre;

typedef struct {
  kernel *run;
  void **params;
  jmp_buf home;
  fibre *at[MOST_THREADS]; /* in use first */
  unsigned n, made;
  fibre *now;
  uint64_t seed;
} team;
static _Thread_local team own;
static _Thread_local _Alignas(128) char shared_memory[MOST_SHARED];

void *neo_gpu_shared(void) {
  return shared_memory;
}

/* From a thread to run_block, and back. */
static void leave(void) {
  if (_setjmp(own.now->place) == 0)
    _longjmp(own.home, 1);
}

static void enter(fibre *f) {
  own.now = f;
  place[THREAD] = f->thread;
  f->waits = false;
  if (_setjmp(own.home) == 0)
    _longjmp(f->place, 1);
}

void neo_gpu_barrier(void) {
  own.now->waits = true;
  leave();
}

/* A stack's whole life. */
static void run_fibre(void) {
  for (;;) {
    leave();
    own.run(own.params);
  }
}

static void begin(fibre *f, ucontext_t *first) {
  ucontext_t back;
  own.now = f;
  if (_setjmp(own.home) == 0)
    swapcontext(&back, first);
}

static fibre *new_fibre(void) {
  ucontext_t first;
  fibre *volatile f = calloc(1, sizeof *f); /* getcontext may return twice, for all gcc knows */
  if (!f || !(f->stack = malloc(STACK_BYTES)) || getcontext(&first))
    return NULL;
  first.uc_stack.ss_sp = f->stack;
  first.uc_stack.ss_size = STACK_BYTES;
  makecontext(&first, run_fibre, 0);
  begin(f, &first);
  return f;
}

static bool start(unsigned thread) {
  if (own.n == own.made && !(own.at[own.made] = new_fibre()))
    return false;
  own.made += own.n == own.made;
  fibre *f = own.at[own.n];
  f->thread = thread;
  enter(f);
  own.n += f->waits;
  return true;
}

static unsigned pick(unsigned n) {
  uint64_t z = (own.seed += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  return (unsigned)((z ^ z >> 27) % n);
}

static void mix(unsigned *order, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    order[i] = i;
  for (unsigned i = n; own.seed && i-- > 1;) {
    unsigned k = pick(i + 1), swap = order[i];
    order[i] = order[k];
    order[k] = swap;
  }
}

/* Those that wait go on to the next barrier, or to the end; false: some ended, others wait. */
static bool go_on(void) {
  unsigned ended = 0;
  for (unsigned i = 0; i < own.n; i++) {
    enter(own.at[i]);
    ended += !own.at[i]->waits;
  }
  if (ended && ended != own.n)
    return false;
  own.n = ended ? 0 : own.n;
  return true;
}

static bool run_block(unsigned threads, unsigned shared_bytes) {
  unsigned order[MOST_THREADS];
  memset(shared_memory, POISON, shared_bytes);
  mix(order, threads);
  own.n = 0;
  for (unsigned i = 0; i < threads; i++)
    if (!start(order[i]))
      return false;
  if (own.n && own.n != threads)
    return false;
  while (own.n)
    if (!go_on())
      return false;
  return true;
}

/* ---- launches: an emulated kernel takes what cuLaunchKernel is given, and reads its parameters */

DRIVER(cuLaunchKernel)
(cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
 unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream, void **params,
 void **extra) {
  if (!has_context() || !stream || extra || grid_y != 1 || grid_z != 1 || block_y != 1 ||
      block_z != 1 || grid_x == 0 || block_x == 0 || block_x > MOST_THREADS ||
      shared_bytes > MOST_SHARED)
    return INVALID_VALUE;
  own.run = (kernel *)(uintptr_t)function;
  own.params = params;
  own.seed = (uint64_t)environment("NEO_EMULATOR_SEED", 0);
  place[BLOCK_SIZE] = block_x;
  for (place[BLOCK] = 0; place[BLOCK] < grid_x; place[BLOCK]++)
    if (!run_block(block_x, shared_bytes))
      return LAUNCH_FAILED;
  return 0;
}

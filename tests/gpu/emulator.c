/* A CUDA driver that emulates a device on the processor: what libneort opens in place of libcuda
 * where NEO_CUDA_DRIVER names it. A module is a shared library of the kernels, made by
 * --target=nvptx:LEVEL+host. This file has devices, modules and the threads of a block;
 * emulator_stream.c has memory and the order of work, emulator_graph.c graphs.
 *
 * Blocks run one after the other, the threads of a block in an order that NEO_EMULATOR_SEED mixes,
 * asynchronous copies as late as may be (emulator_copy.c). */
#define _GNU_SOURCE 1
#include "tests/gpu/emulator.h"
#include "codegen/warp.h"
#include "codegen/warpgroup.h"
#include "tests/gpu/emulator_asan.h"
#include "tests/gpu/emulator_bulk.h"
#include "tests/gpu/emulator_copy.h"
#include "tests/gpu/emulator_driver.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { BLOCK, BLOCK_SIZE, THREAD }; /* as codegen/llvm_ptx.c counts them */

/* What emulated kernels call. */
SHOWN unsigned neo_gpu_place(unsigned what);
SHOWN void *neo_gpu_shared(void);
SHOWN void neo_gpu_barrier(void);
SHOWN void neo_gpu_wait(void);
SHOWN void neo_gpu_warp(unsigned op, void *fragments);
SHOWN void neo_gpu_warp_read(unsigned op, void *row, void *cells);
SHOWN void neo_gpu_warpgroup(unsigned op, unsigned turned, int columns, float *sums, uint64_t rows,
                             uint64_t other);
SHOWN void neo_gpu_warpgroup_commit(void);
SHOWN void neo_gpu_warpgroup_wait(unsigned left);
SHOWN void neo_gpu_copy(void *to, const void *from, unsigned bytes, unsigned taken);
SHOWN void neo_gpu_commit(void);
SHOWN void neo_gpu_copied(unsigned groups);
SHOWN void neo_gpu_phases(void *at, unsigned n);
SHOWN void neo_gpu_expect(void *phase, unsigned bytes);
SHOWN void neo_gpu_bulk(void *to, const void *map, void *phase, int c0, int c1, int c2, int c3,
                        int c4);
SHOWN void neo_gpu_reach(void *phase, unsigned turn);
SHOWN void neo_gpu_shuffle(unsigned what, unsigned n, unsigned of, void *words, unsigned count);
/* What tests call. */
SHOWN const neo_emulator_counts *neo_emulator_count(void);

static _Thread_local unsigned place[3];
neo_emulator_counts emu_counts;

const neo_emulator_counts *neo_emulator_count(void) {
  return &emu_counts;
}

unsigned neo_gpu_place(unsigned what) {
  return place[what];
}

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
  int sm = emu_environment("NEO_EMULATOR_SM", 90);
  (void)device;
  if (attribute == CUDA_MEMORY_POOLS) {
    *value = emu_environment("NEO_EMULATOR_POOLS", 1);
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

/* ---- threads of a block
 *
 * Each runs on a stack of its own until it ends or comes to a barrier; when all have, those that
 * wait go on. A stack whose thread has ended serves the next one. All must come to the same
 * barriers: where some have ended and others wait, the launch has failed. A stack is entered for
 * the first time by swapcontext, and by longjmp from then on, which is no matter of the kernel. */

typedef void kernel(void **params);
enum { MOST_THREADS = 1024, STACK_BYTES = 256 << 10, MOST_SHARED = 227 << 10 };

typedef struct { /* of a warpgroup, by an instruction */
  neo_warpgroup_product of;
  unsigned batch;
  float *sums;
} product;
enum { MOST_PRODUCTS = 64 };

typedef struct {
  jmp_buf place;
  char *stack;
  unsigned thread;
  bool waits, waited;             /* at a barrier; for the kernels before this one */
  bool spins;                     /* for a turn of a phase */
  product product[MOST_PRODUCTS]; /* on their way */
  unsigned n_products, batch;
  emu_copies copies;
  void *kept; /* of the sanitizer */
} fibre;

typedef struct {
  kernel *run;
  void **params;
  jmp_buf home;
  fibre *at[MOST_THREADS]; /* in use first */
  unsigned n, made;
  bool unfinished; /* a thread has ended with products on their way */
  fibre *now;
  emu_phases *phases; /* null: no block had any yet */
  bool bad_box;       /* one was started wrongly */
  bool copies_left;   /* a thread ended while some of its were under way */
  uint64_t seed;
  bool is_early; /* what its threads do before they have waited may come too early */
  void *kept;    /* of the sanitizer, and the stack of `home` */
  const void *home_stack;
  size_t home_bytes;
} team;
static _Thread_local team own;
static _Thread_local _Alignas(1024) char shared_memory[MOST_SHARED];

void neo_gpu_wait(void) {
  own.now->waited = true;
}

void *neo_gpu_shared(void) {
  return shared_memory;
}

/* What the threads of a warp multiply: each reads the others' factors, which stay until all have
 * met again. */
static _Thread_local void *handed[MOST_THREADS];

void neo_gpu_warp(unsigned op, void *fragments) {
  unsigned first = place[THREAD] / NEO_WARP * NEO_WARP, lane = place[THREAD] % NEO_WARP;
  const uint32_t *a[NEO_WARP], *b[NEO_WARP];
  handed[place[THREAD]] = fragments;
  neo_gpu_barrier();
  for (unsigned t = 0; t < NEO_WARP; t++) {
    a[t] = (const uint32_t *)handed[first + t] + NEO_WARP_C;
    b[t] = a[t] + NEO_WARP_A;
  }
  neo_warp_product((neo_warp_op)op, (int)lane, a, b, fragments);
  neo_gpu_barrier();
}

/* What they read: each names a row, which stays as it is until all have met again. */
void neo_gpu_warp_read(unsigned op, void *row, void *cells) {
  unsigned first = place[THREAD] / NEO_WARP * NEO_WARP, lane = place[THREAD] % NEO_WARP;
  handed[place[THREAD]] = row;
  neo_gpu_barrier();
  neo_warp_read((neo_warp_op)op, (int)lane, (const void *const *)handed + first, cells);
  neo_gpu_barrier();
}

/* ---- products of warpgroups: made when they are waited for, from what shared memory then holds.
 * A thread that ends while some are on their way has left the launch failed. */

static double factor_at(void *op, int factor, uint32_t address) {
  uint32_t bits = 0;
  unsigned bytes = *(neo_warpgroup_op *)op == NEO_WARPGROUP_TF32 ? 4 : 2;
  (void)factor;
  memcpy(&bits, shared_memory + address, bytes);
  return neo_warpgroup_number(*(neo_warpgroup_op *)op, bits);
}

void neo_gpu_warpgroup(unsigned op, unsigned turned, int columns, float *sums, uint64_t rows,
                       uint64_t other) {
  fibre *f = own.now;
  if (f->n_products == MOST_PRODUCTS)
    abort();
  f->product[f->n_products++] =
      (product){{(neo_warpgroup_op)op, turned, columns, {rows, other}}, f->batch, sums};
}

void neo_gpu_warpgroup_commit(void) {
  own.now->batch++;
}

void neo_gpu_warpgroup_wait(unsigned left) {
  fibre *f = own.now;
  unsigned n = 0;
  for (unsigned i = 0; i < f->n_products; i++) {
    product *x = &f->product[i];
    if (x->batch + left >= f->batch)
      f->product[n++] = *x;
    else
      neo_warpgroup_multiply(&x->of, (int)(f->thread % NEO_WARPGROUP), factor_at, &x->of.op,
                             x->sums);
  }
  f->n_products = n;
}

/* `count` words of another thread, behind this thread's own. */
void neo_gpu_shuffle(unsigned what, unsigned n, unsigned of, void *words, unsigned count) {
  int from = neo_shuffle_source((neo_shuffle)what, (int)place[THREAD], (int)n, (int)of);
  handed[place[THREAD]] = words;
  neo_gpu_barrier();
  memcpy((uint32_t *)words + count, handed[from], count * sizeof(uint32_t));
  neo_gpu_barrier();
}

/* From a thread to run_block, and back. */
static void leave(void) {
  fibre *f = own.now;
  emu_leave_stack(&f->kept, own.home_stack, own.home_bytes);
  if (_setjmp(f->place) == 0)
    _longjmp(own.home, 1);
  emu_on_stack(own.now->kept, &own.home_stack, &own.home_bytes);
}

static void enter(fibre *f) {
  own.now = f;
  place[THREAD] = f->thread;
  f->waits = false;
  emu_leave_stack(&own.kept, f->stack, STACK_BYTES);
  if (_setjmp(own.home) == 0)
    _longjmp(f->place, 1);
  emu_on_stack(own.kept, NULL, NULL);
}

void neo_gpu_barrier(void) {
  own.now->waits = true;
  leave();
}

void neo_gpu_copy(void *to, const void *from, unsigned bytes, unsigned taken) {
  emu_copy_start(&own.now->copies, to, from, bytes, taken);
}
void neo_gpu_commit(void) {
  own.now->copies.groups++;
}
void neo_gpu_copied(unsigned groups) {
  emu_copy_wait(&own.now->copies, groups);
}

/* ---- boxes, which the block's threads wait for without meeting */

void neo_gpu_phases(void *at, unsigned n) {
  own.bad_box = !emu_phases_make(&own.phases, at, n) || own.bad_box;
}
void neo_gpu_expect(void *phase, unsigned bytes) {
  own.bad_box = !emu_phase_expect(own.phases, phase, bytes) || own.bad_box;
}
void neo_gpu_bulk(void *to, const void *map, void *phase, int c0, int c1, int c2, int c3, int c4) {
  const int first[] = {c0, c1, c2, c3, c4};
  own.bad_box = !emu_box_start(own.phases, phase, to, map, first) || own.bad_box;
}
void neo_gpu_reach(void *phase, unsigned turn) {
  while (!emu_phase_reached(own.phases, phase, turn)) {
    own.now->spins = true;
    leave();
  }
}

/* A stack's whole life. */
static void run_fibre(void) {
  emu_on_stack(NULL, &own.home_stack, &own.home_bytes);
  for (;;) {
    leave();
    own.run(own.params);
    if (own.is_early && !own.now->waited) {
      fputs("emulator: a thread that may come early waits for no other kernel\n", stderr);
      abort();
    }
    own.unfinished = own.unfinished || own.now->n_products;
    own.now->n_products = 0;
    own.copies_left = !emu_copy_end(&own.now->copies) || own.copies_left;
  }
}

static void begin(fibre *f, ucontext_t *first) {
  ucontext_t back;
  own.now = f;
  emu_leave_stack(&own.kept, f->stack, STACK_BYTES);
  if (_setjmp(own.home) == 0)
    swapcontext(&back, first);
  emu_on_stack(own.kept, NULL, NULL);
}

/* The stacks of the thread that unloads the driver. */
__attribute__((destructor)) static void end_fibres(void) {
  emu_phases_free(own.phases);
  own.phases = NULL;
  for (unsigned i = 0; i < own.made; i++) {
    emu_copy_free(&own.at[i]->copies);
    free(own.at[i]->stack);
    free(own.at[i]);
  }
  own.made = 0;
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
  f->waited = false;
  f->spins = false;
  enter(f);
  own.n += f->waits || f->spins;
  return true;
}

/* Those that spin go on, until none does; false: all that do wait for what never comes. */
static bool settle(void) {
  for (bool some = true, moved; some;) {
    some = moved = false;
    for (unsigned i = 0; i < own.n; i++) {
      if (!own.at[i]->spins)
        continue;
      own.at[i]->spins = false;
      enter(own.at[i]);
      some = some || own.at[i]->spins;
      moved = moved || !own.at[i]->spins;
    }
    if (some && !moved)
      return false;
  }
  return true;
}

static unsigned count_waiting(void) {
  unsigned n = 0;
  for (unsigned i = 0; i < own.n; i++)
    n += own.at[i]->waits;
  return n;
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
  for (unsigned i = 0; i < own.n; i++)
    enter(own.at[i]);
  if (!settle())
    return false;
  unsigned waiting = count_waiting();
  if (waiting && waiting != own.n)
    return false;
  own.n = waiting;
  return true;
}

static bool run_block(unsigned threads, unsigned shared_bytes) {
  unsigned order[MOST_THREADS];
  memset(shared_memory, POISON, shared_bytes);
  mix(order, threads);
  own.n = 0;
  own.unfinished = false;
  own.copies_left = own.bad_box = false;
  emu_phases_end(own.phases);
  for (unsigned i = 0; i < threads; i++)
    if (!start(order[i]))
      return false;
  if (!settle())
    return false;
  own.n = count_waiting();
  if (own.n && own.n != threads)
    return false;
  while (own.n)
    if (!go_on())
      return false;
  return emu_phases_end(own.phases) && !own.bad_box && !own.unfinished && !own.copies_left;
}

/* ---- launches: an emulated kernel takes what cuLaunchKernel is given, and reads its parameters */

cuda_result emu_run_kernel(const emu_launch *l) {
  own.run = (kernel *)(uintptr_t)l->function;
  own.params = l->params;
  own.is_early = l->is_early;
  own.seed = (uint64_t)emu_environment("NEO_EMULATOR_SEED", 0);
  place[BLOCK_SIZE] = l->threads;
  bool good = true;
  emu_forbid(shared_memory + l->shared_bytes, MOST_SHARED - l->shared_bytes);
  for (place[BLOCK] = 0; good && place[BLOCK] < l->blocks; place[BLOCK]++)
    good = run_block(l->threads, l->shared_bytes);
  emu_permit(shared_memory, MOST_SHARED);
  return good ? 0 : LAUNCH_FAILED;
}

/* More than a little shared memory is for those only that were allowed it. */
static struct {
  cuda_function of[4096];
  unsigned bytes[4096], n;
} allowed;

static unsigned allowed_shared(cuda_function f) {
  for (unsigned k = allowed.n; k-- > 0;)
    if (allowed.of[k] == f)
      return allowed.bytes[k];
  return CUDA_PLAIN_SHARED_BYTES;
}

DRIVER(cuFuncSetAttribute)(cuda_function function, int attribute, int value) {
  unsigned k = allowed.n++ % 4096;
  if (!function || attribute != CUDA_MOST_SHARED || value < 0 || value > MOST_SHARED)
    return INVALID_VALUE;
  allowed.of[k] = function;
  allowed.bytes[k] = (unsigned)value;
  return 0;
}

/* Who launches a kernel knows what its parameters are: maps say so of themselves. */
bool emu_launch_new(const cuda_kernel_node *k, emu_launch *l) {
  enum { PLAIN_BYTES = 8 };
  unsigned n = 0;
  if (!k->function || k->extra || k->grid[1] != 1 || k->grid[2] != 1 || k->block[1] != 1 ||
      k->block[2] != 1 || k->grid[0] == 0 || k->block[0] == 0 || k->block[0] > MOST_THREADS ||
      k->shared_bytes > allowed_shared(k->function))
    return false;
  while (k->params[n])
    n++;
  *l = (emu_launch){k->function, k->grid[0], k->block[0], k->shared_bytes, NULL, NULL, n, false};
  l->params = calloc(n + 1, sizeof *l->params);
  l->value = calloc(n + 1, EMU_MAP_BYTES);
  for (unsigned i = 0; i < n; i++) {
    l->params[i] = l->value + i * EMU_MAP_BYTES;
    memcpy(l->params[i], k->params[i], emu_is_map(k->params[i]) ? EMU_MAP_BYTES : PLAIN_BYTES);
  }
  return true;
}

void emu_launch_free(emu_launch *l) {
  free(l->params);
  free(l->value);
}

DRIVER(cuLaunchKernel)
(cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
 unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream, void **params,
 void **extra) {
  cuda_kernel_node k = {
      function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, params, extra};
  emu_launch l;
  if (!emu_stream_ok(stream) || !emu_launch_new(&k, &l))
    return INVALID_VALUE;
  emu_counts.launches++;
  return emu_put_launch(stream, &l);
}

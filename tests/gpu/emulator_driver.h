/* Declarations that the files of the emulated driver share. */
#ifndef NEO_TESTS_GPU_EMULATOR_DRIVER_H
#define NEO_TESTS_GPU_EMULATOR_DRIVER_H
#include "runtime/cuda_api.h"
#include "tests/gpu/emulator.h"
#include <stdbool.h>

enum { INVALID_VALUE = 1, NOT_FOUND = 500, LAUNCH_FAILED = 719, TOO_LARGE = 720, POISON = 0xcd };

#define SHOWN __attribute__((visibility("default")))
#define DRIVER(name) cuda_result name
#define DECLARE(member, name, params) SHOWN cuda_result name params;
CUDA_FUNCTIONS(DECLARE)
CUDA_LATER_FUNCTIONS(DECLARE)
#undef DECLARE

/* A number of the environment. */
int emu_environment(const char *name, int otherwise);

extern neo_emulator_counts emu_counts;

/* ---- emulator.c */
bool emu_has_context(void);

typedef struct { /* a launch with its own copy of the parameters: of 8 bytes, or maps */
  cuda_function function;
  unsigned blocks, threads, shared_bytes;
  void **params;
  char *value;
  unsigned n;
  bool is_early;       /* may come to the device before those end whose results it needs */
  bool is_cooperative; /* its blocks are there at the same time */
} emu_launch;
bool emu_launch_new(const cuda_kernel_node *k, emu_launch *l); /* false: not one that may be */
void emu_launch_free(emu_launch *l);
unsigned emu_most_blocks(void); /* that can be there at the same time */
cuda_result emu_run_kernel(const emu_launch *l);

/* ---- emulator_stream.c */
bool emu_stream_ok(cuda_stream stream); /* there is one, and a context is current */
/* n bytes at p, all in one block of the device; else null. */
char *emu_device_bytes(cuda_ptr p, size_t n);
/* Appends the launch, which the stream then owns. */
cuda_result emu_put_launch(cuda_stream stream, const emu_launch *l);
/* Appends anything else: run(x), then end(x). */
typedef cuda_result emu_work(void *x);
cuda_result emu_put_work(cuda_stream stream, emu_work *run, emu_work *end, void *x);
/* Errors of work that has run stay until the last context is released. */
void emu_forget_failures(void);

#endif

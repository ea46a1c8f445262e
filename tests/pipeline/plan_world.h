/* A module taken through fusion, lowering and plan, and run by libneort beside the reference
 * interpreter. Kernels run as machine code, in the interpreter of loop IR (quick), or on the device
 * that tests/gpu/emulator.c emulates. */
#ifndef NEO_TESTS_PLAN_WORLD_H
#define NEO_TESTS_PLAN_WORLD_H
#include "ir/interp/interp.h"
#include "tests/random/large.h"
#include "tools/pipeline/compile.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

typedef enum { KERNELS_INTERPRETED, KERNELS_COMPILED, KERNELS_EMULATED } kernel_kind;

typedef struct {
  neo_compilation c;
  neo_rt_model model;
  neo_rt_ctx *ctx;
  neo_interp *interp;
  int64_t *sizes; /* by id */
  void **input;   /* elements by tensor id */
  uint64_t seed;
  int32_t threads;
  const char *text;       /* of the program, if it was in the language */
  const neo_large *large; /* inputs are those of this program; null: as gen.h has them */
  int32_t
      resident; /* n > 0: a multiprocessor has room for n blocks of a persistent kernel at most */
  /* By kernel, if interpreted: elements of its arguments that it wrote, and read; null: not
   * counted. */
  int64_t *writes, *reads;
} plan_world;

/* An empty module's surroundings; then the module is made in w->c.arena. */
void world_open(plan_world *w);
void world_parse(plan_world *w, const char *text);
/* A text in the language, after the options are set; a failing test prints it. */
void world_source(plan_world *w, const char *text);
/* Passes, kernels, plan and model, for contexts that the test makes itself. sizes by id; null: the
 * largest. */
void world_compile(plan_world *w, kernel_kind kind, const int64_t *sizes);
/* The same, and a context and an interpreter. Inputs are filled from `seed`. */
void world_begin(plan_world *w, kernel_kind kind, const int64_t *sizes);
void world_close(plan_world *w);

/* Other elements for all inputs. */
void world_draw(plan_world *w, uint64_t seed);
/* Writes an input in both. */
void world_input(plan_world *w, neo_tensor t, const neo_value *at);
/* Runs an entry in both and compares outputs, parameters, states and settings. False with the first
 * difference in *why. `nulls`: bit k: the k-th output is not wanted. */
bool world_run(plan_world *w, uint32_t entry, uint64_t nulls, neo_str *why);
/* The persistent tensors of both contexts. */
bool world_same(plan_world *w, neo_str *why);
/* Every entry but init, `rounds` times in turn; a difference fails the test. */
void world_check(plan_world *w, int rounds);

#endif

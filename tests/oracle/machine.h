/* A model made to run, in one of four ways, behind one interface on doubles. For tests. */
#ifndef NEO_TESTS_ORACLE_MACHINE_H
#define NEO_TESTS_ORACLE_MACHINE_H
#include "ir/interp/interp.h"
#include "tools/pipeline/compile.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

typedef enum {
  MACHINE_WIDE,         /* interpreted, every float type f64 */
  MACHINE_EXACT,        /* interpreted as the model says */
  MACHINE_COMPILED,     /* machine code, driven by libneort */
  MACHINE_COMPILED_WIDE /* the same, every float type f64 */
} machine_kind;

typedef struct {
  machine_kind kind;
  neo_compilation c;
  neo_interp *interp;
  neo_library lib;
  neo_rt_ctx *ctx;
  int64_t *sizes; /* by size id */
  void **memory;  /* of inputs, by tensor id, for compiled code */
  double **out;   /* what the last entry returned */
  int64_t *n_out;
  uint32_t entry;
} machine;

/* Compiles the file `path` below `root`, the project's folder; a message of the compiler fails the
 * test. Run-time sizes are as large as they may be; parameters have initial values. Machine code is
 * for this machine, or for what NEO_TEST_TARGET names (a GPU, with NEO_CUDA_DRIVER). With
 * NEO_TEST_GRIDS all that can be is in persistent kernels. */
void machine_open(machine *m, const char *root, const char *path, machine_kind kind);
/* The same with constants of the model replaced, as by -D. */
void machine_open_with(machine *m, const char *root, const char *path, machine_kind kind,
                       const neo_define_option *defines, int n_defines);
void machine_close(machine *m);
/* Parameters and states get their initial values again, sizes are the largest. */
void machine_reset(machine *m);
/* Sets a run-time size: false if there is none. Inputs must be filled after it. */
bool machine_size(machine *m, const char *name, int64_t value);
/* The largest value of a run-time size, 0 if there is none of this name; *lo the smallest. */
int64_t machine_size_range(const machine *m, const char *name, int64_t *lo);

/* Runs an entry of the module; a failure fails the test. Its outputs can then be had by number. */
bool machine_has(const machine *m, const char *entry, neo_entry_kind kind);
void machine_run(machine *m, const char *entry);
uint32_t machine_outputs(const machine *m);
const char *machine_output_name(const machine *m, uint32_t k);
const double *machine_output(const machine *m, const char *name, int64_t *n);

/* A parameter, state or setting: its elements, in the compilation's arena. */
double *machine_get(machine *m, neo_tensor t, int64_t *n);
/* Writes an input, parameter, state or setting; the elements are converted to its type. */
void machine_put(machine *m, neo_tensor t, const double *x, int64_t n);
int64_t machine_elements(const machine *m, neo_tensor t);
const char *machine_name(const machine *m, neo_tensor t);

/* Every input and parameter by the formula of tests/library/make_expected.py. */
void machine_fill(machine *m);

#endif

/* A model that can be run, by compiled code (a library in a temporary folder) or by the
 * interpreter, behind one interface on arrays. Inputs are the module's tensors; the inputs of an
 * entry are found in the module, so that both ways agree on them. */
#pragma once
#include "ir/interp/interp.h"
#include "tools/neoc/neoc.h"
#include <math.h>

typedef struct {
  neo_tensor *at;
  size_t n;
} neoc_tensors;

typedef struct {
  neoc_cli *cli;
  neo_compilation c;
  neo_library lib; /* compiled */
  neo_rt_ctx *ctx;
  neo_interp *interp; /* interpreted */
  uint64_t seed;
  int64_t *sizes;      /* by size id; 0: not known yet */
  neo_rt_array *input; /* by tensor id; data null: not given */
  neoc_tensors *needs; /* by entry: its inputs; at null: not found yet */
  bool told;           /* the result of --load was printed */
  bool aside;          /* a helper of another runner, which writes the file of --trace */
} neoc_runner;

typedef struct { /* a result of an entry */
  const char *name;
  neo_rt_array array;
} neoc_output;

/* Compiles, and applies --size. Errors are reported; after a failure there is nothing to close. */
neoc_exit neoc_runner_compile(neoc_runner *r, neoc_cli *cli, const neo_compile_options *o,
                              bool interpreted);
/* Makes the context or the interpreter, with initial values of parameters. Call it when every
 * relevant size is known. */
neoc_exit neoc_runner_begin(neoc_runner *r, int32_t threads, uint64_t seed);
/* Writes the file of --trace, if there is one. */
neoc_exit neoc_runner_end_trace(neoc_runner *r);
/* Ends the runner, with its library and the temporary folder. */
void neoc_runner_close(neoc_runner *r);

/* The number of an entry of the module: by name, or (name null) the first `output`; -1 after a
 * report. */
int neoc_entry_find(neoc_runner *r, const char *name);
/* The name of an entry of the module, valid as long as the module. */
const char *neoc_entry_name(const neoc_runner *r, int entry);
/* The input tensors that the entry reads, in the order of their declarations. */
neoc_tensors neoc_entry_inputs(neoc_runner *r, int entry);
/* The run-time sizes that the entry depends on: used[id]. In the arena of the command line. */
bool *neoc_entry_sizes(neoc_runner *r, int entry);
/* The name of a tensor of the module, valid as long as the module. */
const char *neoc_tensor_name(const neoc_runner *r, neo_tensor t);
/* Reports a failure of libneort, with the context's own text if there is a context. */
neoc_exit neoc_runner_failed(const neoc_runner *r, neo_rt_status s);

/* Takes the array, with its ownership, as an input, converted to the input's type. Its shape sets
 * sizes that are not known. */
neoc_exit neoc_runner_give(neoc_runner *r, neo_tensor t, neo_rt_array *array);
/* Sets a setting, parameter or state. After begin. */
neoc_exit neoc_runner_set(neoc_runner *r, neo_tensor t, neo_rt_array *array);
/* Loads the file of --load, by --only and --rename, if they are given (weights.c). `all`: also
 * settings, optimizers' states and the step, as far as the file has them. Prints on stderr what was
 * done, unless it is just what the options say. */
neoc_exit neoc_runner_load(neoc_runner *r, bool all);
/* Runs the entry; *out gets n arrays, in the arena, whose data the runner owns until it closes. */
neoc_exit neoc_runner_run(neoc_runner *r, int entry, neoc_output **out, size_t *n);
/* Makes *r an interpreter of the same model. `of` compiled it, and stays its owner, and that of all
 * memory. */
neoc_exit neoc_runner_twin(neoc_runner *r, const neoc_runner *of, uint64_t seed);
/* The present sizes; those not known have their largest values. In the arena. */
int64_t *neoc_runner_sizes(const neoc_runner *r);
/* Gives random values to every input of the entry, at the present sizes. */
neoc_exit neoc_runner_randomize(neoc_runner *r, int entry, uint64_t *seed);
/* Gets the present value of a parameter, state or setting. */
neoc_exit neoc_runner_get(neoc_runner *r, neo_tensor t, neo_rt_array *out);

/* ---- sizes that satisfy the model's assertions (sizes.c) */
/* Moves sizes to near ones that satisfy the assertions; those with fixed[id] >= 0 stay. */
void neoc_sizes_settle(const neo_module *m, const int64_t *fixed, int64_t *sizes);

/* ---- arrays (array.c) */
/* An array of zeros, whose data are in the arena. */
neo_rt_array neoc_array_new(neo_arena *a, neo_type type, uint32_t rank, const int64_t *extent);
/* The number of an array's elements. */
int64_t neoc_array_count(const neo_rt_array *x);
double neoc_array_at(const neo_rt_array *x, int64_t k); /* as a double */
/* Whether element k of two arrays of one type is the same, exactly if it is an integer. NaN equals
 * NaN. */
bool neoc_array_same(const neo_rt_array *a, const neo_rt_array *b, int64_t k);
/* The number as printed: the sign of a NaN has no meaning, and differs between machines. */
static inline double neoc_printed(double x) {
  return x != x ? (double)NAN : x;
}
/* Sets element k to v, converted to the array's type as the language converts. */
void neoc_array_put(neo_rt_array *x, int64_t k, double v);
/* Stores a number of the command line, which the type has to have. */
neoc_exit neoc_array_take(neoc_cli *cli, const char *name, neo_rt_array *x, int64_t k,
                          neoc_number v) NEO_MUST_CHECK;
/* The first element that type `to` cannot hold: an integer out of its range, or a number that
 * becomes infinite; -1: none. */
int64_t neoc_array_misfit(const neo_rt_array *x, neo_type to);
/* An element as text. */
const char *neoc_element_text(neo_arena *a, const neo_rt_array *x, int64_t k);
/* Fills an input with random data: uniform in [-1, 1), or in [0, bound) for integers. */
void neoc_array_random(neo_rt_array *x, int64_t bound, uint64_t *seed);
/* Fills an array of integers with random ones between ends. */
void neoc_array_random_between(neo_rt_array *x, const neo_ends_at *ends, uint64_t *seed);
/* "[8, 10]" */
const char *neoc_shape_text(neo_arena *a, uint32_t rank, const int64_t *extent);
/* Convert between an array and values of the interpreter; `v` has as many elements as `x`. */
void neoc_array_to_values(const neo_rt_array *x, neo_values *v);
neo_rt_array neoc_array_of_values(neo_arena *a, neo_type type, const neo_values *v);
/* Parses a value of the command line: @file.npy, @file.npz:name, random:SEED:[..], zeros:[..],
 * ones:[..], full:V:[..], a number, or a list [1, 2] or [[1, 2], [3, 4]]. A value without a shape
 * takes that of `like` (null: an error). Random integers are below `bound`, or between `ends` (may
 * be null). */
neoc_exit neoc_array_read(neoc_cli *cli, const char *name, const char *text, neo_type type,
                          const neo_rt_array *like, int64_t bound, const neo_ends_at *ends,
                          neo_rt_array *out);

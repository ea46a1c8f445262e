/* The reference interpreter: evaluates definitions element by element as ir.h says, reductions in
 * f64 (integers in i64, wrapped to their type), every operator's result rounded to its type. Slow,
 * simple, the oracle for everything else. */
#pragma once
#include "base/status.h"
#include "ir/ir.h"

typedef union {
  double f;  /* float types */
  int64_t i; /* integer types and bool */
} neo_value;

/* The elements of a tensor, row-major, each already rounded to the tensor's type. `known`: they
 * have been set or computed. */
typedef struct {
  neo_value *at;
  int64_t n, extent[16];
  uint32_t rank;
  bool known;
} neo_values;

typedef struct neo_interp neo_interp;
/* Makes an interpreter and runs all inits with this seed. sizes[id] is the value of a run-time size
 * (sizes[0] unused). */
neo_interp *neo_interp_new(neo_arena *a, neo_module *m, const int64_t *sizes, uint64_t seed);
/* The elements of a tensor, to set or to get: inputs before a run; params, states and settings at
 * any time; computed tensors after a run. Owned by the interpreter. */
neo_values *neo_interp_tensor(neo_interp *p, neo_tensor t);
/* Changes run-time sizes between runs; parameters and states keep their values. */
void neo_interp_resize(neo_interp *p, const int64_t *sizes);
/* From now on `step`, and the numbers that rand() draws in training, are those of this step. */
void neo_interp_set_step(neo_interp *p, uint64_t step);
/* Evaluates the tensors that the entry needs; afterwards its outputs are known. TRAIN entries then
 * commit updates and count the step. `training` is true in TRAIN and GRAD entries. NEO_RANGE, with
 * a message in *why: an input breaks its bound, or a read is out of range (the frontend proves that
 * none is, so this tests the proofs). */
neo_status neo_interp_run(neo_interp *p, uint32_t entry, neo_str *why) NEO_MUST_CHECK;
/* The k-th output of the last run, with the value before updates took effect. Owned by the
 * interpreter. */
const neo_values *neo_interp_output(neo_interp *p, uint32_t k);
/* Evaluates single tensors outside of any entry; the step and the count of calls stay. A failure
 * has a text in *why. */
neo_status neo_interp_eval(neo_interp *p, const neo_tensor *roots, size_t n, bool training,
                           neo_str *why) NEO_MUST_CHECK;
/* Evaluates the tensors that a schedule tree computes, in its order and in its memory
 * (ir/tree/tree.h). Tensors with a store in the tree have no value afterwards. NEO_INTERNAL, with a
 * text: a read finds an element other than the one it asks for. */
struct neo_schedule_tree;
neo_status neo_interp_eval_tree(neo_interp *p, const struct neo_schedule_tree *t, bool training,
                                neo_str *why) NEO_MUST_CHECK;
/* Error bounds, for comparing other implementations with this one. While tracking, each element of
 * a float tensor gets a bound on its distance from the result of any correct implementation: one
 * that rounds after every operator or later, sums in any order, and computes elementary functions
 * within 4 ulp. The bound is infinity where nothing can be promised (a comparison or rounding that
 * could fall either way), and 0 or infinity for integers and bools. A run is two to three times
 * slower. */
void neo_interp_track_errors(neo_interp *p, bool on);
const double *neo_interp_errors(neo_interp *p, neo_tensor t); /* null: all 0 */

/* From now on adds random noise: to each sum of floats, up or down by one rounding (in its type) of
 * the sum of its terms' sizes, and to each computed element by a unit of its last place. Runs with
 * different seeds show how much rounding moves the results; an error bound shows how much it could
 * at most. */
void neo_interp_disturb(neo_interp *p, uint64_t seed);

/* Limits the work from now on: evaluations end with NEO_INTERRUPTED once `work` elements and terms
 * of reductions were evaluated in all. */
void neo_interp_limit(neo_interp *p, uint64_t work);
/* The work that is left of the limit. The difference of two calls measures a run, the same on any
 * machine. */
uint64_t neo_interp_left(const neo_interp *p);

/* One elementwise operator on values of the given types, as the interpreter does it (shared with
 * the loop interpreter). */
neo_value neo_value_op(neo_op op, neo_type result, neo_type arg, const neo_value *x);
/* x % y with the sign of y, also of a zero. The remainder is exact; adding y where the signs differ
 * rounds in the type. x % inf is x where the signs agree, else inf; x % 0 is NaN. */
double neo_float_mod(neo_type t, double x, double y);
/* The value x of type `from`, converted to type `to` as the language converts. */
neo_value neo_value_cast(neo_type to, neo_type from, neo_value x);
double neo_value_round(neo_type t,
                       double x); /* to nearest even in f32; f16 and bf16 by way of f32 */
/* An element in memory (neo_type_bytes bytes, little-endian, any alignment). */
neo_value neo_value_read(neo_type t, const void *p);
void neo_value_write(neo_type t, neo_value v, void *p); /* v has been rounded or wrapped to t */

/* Elements of products and convolutions in f64, from the operands as the device rounds them, with a
 * bound for the error of its answer. They share nothing with what the compiler makes.
 *
 * The bound is that of a sum of n products in f32, in any order, of operands with mean 0: an
 * addition rounds a partial sum of some sqrt(n) times the root mean square of a product, so that
 *
 *   |error| <= 4 * 2^-24 * n * sqrt(sum of squared products)
 *
 * and what the answer's type rounds off, and 3xtf32's own error (docs/gpu.md). It is some
 * hundredths of what one product more or less changes. */
#ifndef NEO_TOOLS_GPU_REFERENCE_H
#define NEO_TOOLS_GPU_REFERENCE_H
#include <neo/neo_rt.h>
#include <stddef.h>

typedef struct {
  const char *text; /* what is computed, and how its operands are rounded:
                       product:KIND, KIND one of f32 bf16 tf32 3xtf32: C = A B
                       conv:forward|data|weights:STRIDE:PAD: of conv.expr, f32 */
  /* by name of a tensor: its elements as they are on the device, its type, its extents; null where
   * there is none */
  const void *(*tensor)(void *ctx, const char *name, uint8_t *type, const int64_t **shape);
  void *ctx;
} gpu_reference;

typedef struct {
  double want, bound;
} gpu_expected;

/* Elements `at` (rising) of the answer, of type `type` and these extents, into out[0 .. n). Returns
 * why it cannot be done, or null. */
const char *gpu_reference_make(const gpu_reference *r, uint8_t type, const int64_t *shape,
                               const int64_t *at, int64_t n, gpu_expected *out);
/* How many elements are looked at in some seconds, where one is a sum of so many products. */
int64_t gpu_reference_most(const gpu_reference *r, const int64_t *shape);
/* The value of an element of type f64, f32, f16 or bf16. */
double gpu_element(const void *p, uint8_t type, int64_t at);
#endif

/* Operations of the 32 threads of a warp, as every part of the compiler defines them: products of
 * small matrices (mma.def lists them), loads of their factors (ldmatrix.def), and shuffles.
 *
 * Thread t = 4*g + q holds, as f32 or as cells of 32 bits,
 *   of c[16, 8]:  element e is c[g + 8*(e/2), 2*q + e%2]
 *   of a[16, 8]:  element e is a[g + 8*(e%2), q + 4*(e/2)]
 *   of b[8, 8]:   element e is b[q + 4*e, g]
 * as PTX defines it for mma.m16n8k8 of tf32, and for mma.m16n8k16 of bf16 and f16 with two steps in
 * a cell, the first in the low half; the m16n8k8 of bf16 and f16 is half of a and of b.
 *
 * PTX does not define the order of additions. Here all products and c are added in f64, and rounded
 * once.
 *
 * Loads read matrices from shared memory by rows of 16 bytes: thread 8*m + r has the address of row
 * r of matrix m, and thread 4*g + q gets cell q of row g of each matrix. Of a transposed matrix,
 * whose elements have 2 bytes, it gets element g of rows 2*q and 2*q + 1, the first in the low
 * half. So four matrices are a fragment of a, or two fragments of b, in either order of their
 * elements. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { NEO_WARP = 32 };

/* Elements of c, a and b in a thread; cells of a row of a; rows and columns of c. */
enum { NEO_MMA_C = 4, NEO_MMA_A = 4, NEO_MMA_B = 2, NEO_MMA_CELLS = 8 };
enum { NEO_MMA_ROWS = 16, NEO_MMA_COLUMNS = 8 };

typedef enum {
#define X(name, text, sm, type, intrinsic, older, meaning) NEO_MMA_##name,
#include "codegen/loop/mma.def"
#undef X
  NEO_MMA_OPS
} neo_mma_op;

typedef struct {
  const char *text, *intrinsic, *older;
  uint32_t sm;
  uint8_t type[3]; /* types of c, a, b */
} neo_mma_row;
extern const neo_mma_row neo_mma_rows[NEO_MMA_OPS];
extern const uint8_t neo_mma_elements[3]; /* elements of c, a, b in a thread */

/* The product: c becomes the elements of thread `lane`. a[t], b[t]: the cells of thread t. */
void neo_mma_product(neo_mma_op op, int lane, const uint32_t *const *a, const uint32_t *const *b,
                     float *c);

enum { NEO_LDMATRIX_ROWS = 8, NEO_LDMATRIX_ROW_BYTES = 16, NEO_LDMATRIX_MOST = 4 };

typedef enum {
#define X(name, text, cells, transposed, intrinsic, meaning) NEO_LDMATRIX_##name,
#include "codegen/loop/ldmatrix.def"
#undef X
  NEO_LDMATRIX_OPS
} neo_ldmatrix_op;

typedef struct {
  const char *text, *intrinsic;
  uint32_t cells; /* that each thread gets: one of each matrix */
  bool transposed;
} neo_ldmatrix_row;
extern const neo_ldmatrix_row neo_ldmatrix_rows[NEO_LDMATRIX_OPS];

/* The load: the cells of thread `lane`. row[t]: the 16 bytes at the address of thread t. */
void neo_ldmatrix_read(neo_ldmatrix_op op, int lane, const void *const *row, uint32_t *cells);

/* The source of a shuffle: the thread that thread t reads, in groups of `of` neighbours that begin
 * at a multiple of `of`. DOWN n: thread t + n, or t itself if t + n is outside of the group. FIRST
 * n: thread t % n of the group. */
typedef enum { NEO_SHUFFLE_DOWN, NEO_SHUFFLE_FIRST } neo_shuffle;
/* The thread from which thread t takes its value, for distance n in groups of `of` threads. */
int neo_shuffle_source(neo_shuffle what, int t, int n, int of);

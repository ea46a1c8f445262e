/* Products of small matrices by the 32 threads of a warp, and how they get their factors, as every
 * part of the compiler understands them (warp.def lists them).
 *
 * Thread t = 4*g + q holds, as f32 or as cells of 32 bits,
 *   of c[16, 8]:  element e is c[g + 8*(e/2), 2*q + e%2]
 *   of a[16, 8]:  element e is a[g + 8*(e%2), q + 4*(e/2)]
 *   of b[8, 8]:   element e is b[q + 4*e, g]
 * which is what PTX lays down for mma.m16n8k8 of tf32, and for mma.m16n8k16 of bf16 and f16 with
 * two steps in a cell, the first in the low half; the m16n8k8 of these is half of a and of b.
 *
 * In what order the hardware adds up is not laid down. Here all products and c are summed in f64,
 * and rounded once.
 *
 * Matrices are read from shared memory by rows of 16 bytes: thread 8*m + r names where row r of
 * matrix m begins, and thread 4*g + q gets, of each matrix, cell q of row g; of matrices of 2-byte
 * elements that are turned round, element g of rows 2*q and 2*q + 1, the first in the low half. So
 * four matrices are a fragment of a, or two of b, whichever way their elements lie. */
#ifndef NEO_CODEGEN_WARP_H
#define NEO_CODEGEN_WARP_H
#include <stdint.h>

enum { NEO_WARP = 32, NEO_WARP_C = 4, NEO_WARP_A = 4, NEO_WARP_B = 2, NEO_WARP_CELLS = 8 };
enum { NEO_WARP_ROWS = 16, NEO_WARP_COLUMNS = 8, NEO_WARP_MATRIX = 8, NEO_WARP_ROW_BYTES = 16 };

typedef enum {
#define X(name, text, sm, memory, type, cells, intrinsic, older, meaning) NEO_WARP_##name,
#include "codegen/loop/warp.def"
#undef X
  NEO_WARP_OPS
} neo_warp_op;

typedef struct {
  const char *text, *intrinsic, *older;
  uint32_t sm, cells;
  char memory;
  uint8_t type[3]; /* of c, a, b */
} neo_warp_row;
extern const neo_warp_row neo_warp_rows[NEO_WARP_OPS];
extern const uint8_t neo_warp_elements[3]; /* of c, a, b in a thread */

/* What thread `lane` has in c afterwards; a[t] and b[t]: cells of thread t. */
void neo_warp_product(neo_warp_op op, int lane, const uint32_t *const *a,
                      const uint32_t *const *b, float *c);
/* What thread `lane` gets; row[t]: 16 bytes that thread t names. */
void neo_warp_read(neo_warp_op op, int lane, const void *const *row, uint32_t *cells);

/* What threads of a warp give each other, among `of` neighbours that begin at a multiple of as
 * many: DOWN n, the one n further on, or the thread itself where there is none; FIRST n, the first
 * n in turn. The number of the thread that thread t gets it from. */
typedef enum { NEO_SHUFFLE_DOWN, NEO_SHUFFLE_FIRST } neo_shuffle;
int neo_shuffle_source(neo_shuffle what, int t, int n, int of);

#endif

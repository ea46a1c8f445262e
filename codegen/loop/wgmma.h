/* Products of matrices by a warpgroup of 128 consecutive threads, with both factors in shared
 * memory (wgmma of sm_90a), as every part of the compiler defines them; wgmma.def lists them. The
 * sum, of 64 rows and a multiple of 8 columns, is in registers: element e of thread t is the one of
 *
 *   row 16*(t/32) + t%32/4 + 8*(e/2%2), column 8*(e/4) + 2*(t%4) + e%2
 *
 * A factor is a matrix with 128 bytes of steps for each row (or column) of the sum. It begins at a
 * multiple of 1024 bytes, and row r is at byte 128*r. Its pieces of 16 bytes are swizzled: piece p
 * is at position p ^ r%8. So the equal pieces of eight rows are in different banks, and so are the
 * pieces of one row.
 *
 * A factor of 2-byte elements may be transposed: the elements of 64 rows at one step are a line of
 * 128 bytes, the 64 steps are 8 KiB, and the next 64 rows follow. Line k has the layout of row k,
 * with pieces swizzled by k%8.
 *
 * A descriptor of 64 bits describes a factor to the instruction. Its fields, from low to high: 14
 * bits of the address, 2 unused, 14 of the leading offset, 2, 14 of the stride offset, 3, 3 of the
 * base offset, 10, and 2 of the mode. Offsets and address are in units of 16 bytes. Eight rows are
 * a core matrix. The stride offset is the distance of core matrices; the leading offset counts only
 * without swizzling. In a transposed factor the stride offset is from eight steps to the next
 * eight, the leading offset from 64 rows to the next 64. Modes 1, 2, 3 swizzle rows of 128, 64, 32
 * bytes: they exclusive-or the bits of the address from 4 on with those from 7 on. An address
 * inside of a row begins at a later step.
 *
 * PTX does not define the order of additions. Here all products of an instruction and the sum are
 * added in f64, and rounded once. */
#pragma once
#include "ir/ir.h"
#include <stdbool.h>
#include <stdint.h>

enum {
  NEO_WARPGROUP = 128,
  NEO_WGMMA_ROWS = 64,
  NEO_WGMMA_COLUMNS = 8,       /* the columns of the sum are a multiple of it, */
  NEO_WGMMA_WIDEST = 256,      /* and at most this */
  NEO_WGMMA_BYTES = 128,       /* a factor's row */
  NEO_WGMMA_STEP_BYTES = 32,   /* the part of a row that one instruction multiplies */
  NEO_WGMMA_SIDE = 64,         /* rows of a line of a transposed factor, and its steps */
  NEO_WGMMA_PIECE_BYTES = 16,  /* the unit of swizzling */
  NEO_WGMMA_ALIGN_BYTES = 1024 /* alignment of a factor */
};

typedef enum {
#define X(name, text, cell, steps, ptx, transposes) NEO_WGMMA_##name,
#include "codegen/loop/wgmma.def"
#undef X
  NEO_WGMMA_OPS
} neo_wgmma_op;

typedef struct {
  const char *text;
  uint8_t cell;
  int steps;
  const char *ptx;
  bool transposes; /* its factors may be transposed */
} neo_wgmma_row;
extern const neo_wgmma_row neo_wgmma_rows[NEO_WGMMA_OPS];

/* The descriptor of a factor without its address: adding address/16 completes it. */
uint64_t neo_wgmma_descriptor(bool transposed);
/* The distance, in bytes, of the steps of one instruction from those of the next. */
int64_t neo_wgmma_next(neo_wgmma_op op, bool transposed);
/* The address of a byte of a row, and of a step of a row in a transposed factor, as the instruction
 * computes it. */
uint32_t neo_wgmma_place(uint64_t descriptor, int row, int byte);
uint32_t neo_wgmma_place_transposed(uint64_t descriptor, int row, int step);
/* The number that the instruction multiplies for these bits. */
double neo_wgmma_number(neo_wgmma_op op, uint32_t bits);

/* The number at an address of factor 0 (rows) or 1 (columns). */
typedef double neo_wgmma_read(void *ctx, int factor, uint32_t address);
/* One instruction. transposed: bit k for factor k; columns: of the sum. */
typedef struct {
  neo_wgmma_op op;
  uint32_t transposed;
  int columns;
  uint64_t factor[2];
} neo_wgmma_product;
/* The product: c becomes the elements of `thread` of the warpgroup, columns/2 of them. */
void neo_wgmma_multiply(const neo_wgmma_product *x, int thread, neo_wgmma_read *read, void *ctx,
                        float *c);

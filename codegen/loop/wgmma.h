/* Products of matrices by 128 threads next to each other, a warpgroup, whose factors lie in shared
 * memory (sm_90a's wgmma), as every part of the compiler understands them (wgmma.def lists
 * them). The sum, of 64 rows and a multiple of 8 columns, lies in registers: thread t holds, as
 * element e, the one of
 *
 *   row 16*(t/32) + t%32/4 + 8*(e/2%2), column 8*(e/4) + 2*(t%4) + e%2
 *
 * A factor is a matrix of 128 bytes of steps for each row (or column) of the sum. Row r lies at
 * 128*r from a multiple of 1024 on, its pieces of 16 bytes exchanged: piece p is where p ^ r%8
 * would be. So eight rows' equal pieces lie in different banks, and so do one row's.
 *
 * One of 2-byte elements may lie transposed: 64 rows' elements of a step are 128 bytes, its 64
 * steps 8 KiB, the next 64 rows behind them. Step k lies as row k would, its pieces exchanged by
 * k%8.
 *
 * The instruction is told of a factor by a descriptor of 64 bits, from low to high: 14 of the
 * address, 2 unused, 14 of the leading offset, 2, 14 of the stride offset, 3, 3 of the base offset,
 * 10, and 2 of the mode. Offsets and address are in units of 16 bytes. Eight rows are a core
 * matrix; the stride is from one to the next, the leading offset is used where pieces are not
 * exchanged. Of a factor that is transposed the stride is from eight steps to the next, the
 * leading offset from 64 rows to the next. Modes 1, 2, 3 exchange pieces of rows of 128, 64, 32
 * bytes: bits of the address, from 4 on, by those from 7 on. An address inside of a row begins with
 * a later step.
 *
 * In what order the hardware adds up is not laid down. Here all products of an instruction and the
 * sum are added in f64, and rounded once. */
#pragma once
#include "ir/ir.h"
#include <stdbool.h>
#include <stdint.h>

enum {
  NEO_WARPGROUP = 128,
  NEO_WGMMA_ROWS = 64,
  NEO_WGMMA_COLUMNS = 8, /* the sum's are a multiple of it, */
  NEO_WGMMA_WIDEST = 256,
  NEO_WGMMA_BYTES = 128,       /* of a factor's row */
  NEO_WGMMA_STEP_BYTES = 32,   /* of these, in one instruction */
  NEO_WGMMA_SIDE = 64,         /* of a factor that is transposed: rows together, and steps */
  NEO_WGMMA_PIECE_BYTES = 16,  /* that stay together */
  NEO_WGMMA_ALIGN_BYTES = 1024 /* of a factor */
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
/* How far a descriptor moves on, in bytes, from one instruction's steps to the next's. */
int64_t neo_wgmma_next(neo_wgmma_op op, bool transposed);
/* Where the instruction finds a byte of a row; a step of a row of one that is transposed. */
uint32_t neo_wgmma_place(uint64_t descriptor, int row, int byte);
uint32_t neo_wgmma_place_transposed(uint64_t descriptor, int row, int step);
/* The number that these bits are, as the instruction takes it. */
double neo_wgmma_number(neo_wgmma_op op, uint32_t bits);

/* The number at an address of factor 0 (rows) or 1 (columns). */
typedef double neo_wgmma_read(void *ctx, int factor, uint32_t address);
/* One instruction: which factors (bit k) are transposed, of how many columns the sum is. */
typedef struct {
  neo_wgmma_op op;
  uint32_t transposed;
  int columns;
  uint64_t factor[2];
} neo_wgmma_product;
/* What `thread` of the warpgroup has in c afterwards: columns/2 elements. */
void neo_wgmma_multiply(const neo_wgmma_product *x, int thread, neo_wgmma_read *read, void *ctx,
                        float *c);

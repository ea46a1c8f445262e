/* Products of matrices by 128 threads next to each other, a warpgroup, whose factors lie in shared
 * memory (sm_90a's wgmma), as every part of the compiler understands them (warpgroup.def lists
 * them). The sum, of 64 rows and a multiple of 8 columns, lies in registers: thread t holds, as
 * element e, the one of
 *
 *   row 16*(t/32) + t%32/4 + 8*(e/2%2), column 8*(e/4) + 2*(t%4) + e%2
 *
 * A factor is a matrix of 128 bytes of steps for each row (or column) of the sum. Row r lies at
 * 128*r from a multiple of 1024 on, its pieces of 16 bytes exchanged: piece p is where p ^ r%8
 * would be. So eight rows' equal pieces lie in different banks, and so do one row's.
 *
 * One of 2-byte elements may lie turned round: 64 rows' elements of a step are 128 bytes, its 64
 * steps 8 KiB, the next 64 rows behind them. Step k lies as row k would, its pieces exchanged by
 * k%8.
 *
 * The instruction is told of a factor by a descriptor of 64 bits, from low to high: 14 of the
 * address, 2 unused, 14 of the leading offset, 2, 14 of the stride offset, 3, 3 of the base offset,
 * 10, and 2 of the mode. Offsets and address are in units of 16 bytes. Eight rows are a core
 * matrix; the stride is from one to the next, the leading offset is used where pieces are not
 * exchanged. Of a factor that is turned round the stride is from eight steps to the next, the
 * leading offset from 64 rows to the next. Modes 1, 2, 3 exchange pieces of rows of 128, 64, 32
 * bytes: bits of the address, from 4 on, by those from 7 on. An address inside of a row begins with
 * a later step.
 *
 * In what order the hardware adds up is not laid down. Here all products of an instruction and the
 * sum are added in f64, and rounded once. */
#ifndef NEO_CODEGEN_WARPGROUP_H
#define NEO_CODEGEN_WARPGROUP_H
#include "ir/ir.h"
#include <stdbool.h>
#include <stdint.h>

enum {
  NEO_WARPGROUP = 128,
  NEO_WARPGROUP_ROWS = 64,
  NEO_WARPGROUP_COLUMNS = 8, /* the sum's are a multiple of it, */
  NEO_WARPGROUP_WIDEST = 256,
  NEO_WARPGROUP_BYTES = 128,       /* of a factor's row */
  NEO_WARPGROUP_STEP_BYTES = 32,   /* of these, in one instruction */
  NEO_WARPGROUP_SIDE = 64,         /* of a factor that is turned round: rows together, and steps */
  NEO_WARPGROUP_PIECE_BYTES = 16,  /* that stay together */
  NEO_WARPGROUP_ALIGN_BYTES = 1024 /* of a factor */
};

typedef enum {
#define X(name, text, cell, steps, ptx, turns) NEO_WARPGROUP_##name,
#include "codegen/loop/warpgroup.def"
#undef X
  NEO_WARPGROUP_OPS
} neo_warpgroup_op;

typedef struct {
  const char *text;
  uint8_t cell;
  int steps;
  const char *ptx;
  bool turns; /* its factors may be turned round */
} neo_warpgroup_row;
extern const neo_warpgroup_row neo_warpgroup_rows[NEO_WARPGROUP_OPS];

/* Of a factor without its address: a sum with address/16 in the low bits is the descriptor. */
uint64_t neo_warpgroup_form(bool turned);
/* How far a descriptor moves on, in bytes, from one instruction's steps to the next's. */
int64_t neo_warpgroup_next(neo_warpgroup_op op, bool turned);
/* Where the instruction finds a byte of a row; a step of a row of one that is turned round. */
uint32_t neo_warpgroup_place(uint64_t descriptor, int row, int byte);
uint32_t neo_warpgroup_place_turned(uint64_t descriptor, int row, int step);
/* The number that these bits are, as the instruction takes it. */
double neo_warpgroup_number(neo_warpgroup_op op, uint32_t bits);

/* The number at an address of factor 0 (rows) or 1 (columns). */
typedef double neo_warpgroup_read(void *ctx, int factor, uint32_t address);
/* One instruction: which factors (bit k) are turned round, of how many columns the sum is. */
typedef struct {
  neo_warpgroup_op op;
  uint32_t turned;
  int columns;
  uint64_t factor[2];
} neo_warpgroup_product;
/* What `thread` of the warpgroup has in c afterwards: columns/2 elements. */
void neo_warpgroup_multiply(const neo_warpgroup_product *x, int thread, neo_warpgroup_read *read,
                            void *ctx, float *c);

#endif

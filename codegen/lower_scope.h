/* What the files of the lowering share: the kernel being built, and what axes and accumulators are at this place.
 *
 *   lower.c        buffers, units of work, blocks; which way a group is lowered
 *   lower_expr.c   expressions of the form -> expressions of the loop IR
 *   lower_stage.c  a stage at one register tile: accumulate, reduce lanes, store
 *   lower_tile.c   all tiles of a block: full ones, remainders
 *   lower_pack.c   operands of a contraction copied into scratch
 *   lower_segment.c  sums over a data equation
 *
 * Private to codegen/lower*.c. */
#ifndef NEO_CODEGEN_LOWER_SCOPE_H
#define NEO_CODEGEN_LOWER_SCOPE_H
#include "codegen/lower.h"
#include "fusion/form.h"
#include "ir/prove.h"
#include "schedule/contract.h"

enum { DEPTH_UNROLL = 1000, DEPTH_LANE = 1001, MAX_PARTS = 6, MAX_ACCS = 16 };

/* An axis is the sum of its parts; each changes in the loop at `depth` (0: in none). */
typedef struct {
  const neo_lx *e;
  int64_t scale;
  uint32_t depth;
} axis_part;
typedef struct {
  axis_part at[MAX_PARTS];
  uint32_t n;
} axis_value;

typedef struct { /* an accumulator's register */
  uint32_t reg;
  uint8_t rank;      /* 2: [rows, columns]; 3: [rows, columns, lanes] */
  bool columns;      /* more than one */
  bool live;
} acc_reg;

typedef struct { /* the register tile at hand; loops of extent 1 are left out */
  int32_t m_axis, n_axis; /* -1: none */
  int64_t rows, cols, width;
  const neo_lx *m_at, *n_at; /* first row, first column (element of the vector axis) */
  uint32_t m_depth, n_depth;
  const neo_lx *n_end;       /* masked: lanes at n_end and beyond are dead; null: all live */
  const neo_lx *m_pack, *n_pack; /* rows and columns counted from the start of the block */
  const neo_lx *m_sub;           /* rows counted from the last multiple of tile_m of the block */
} tile;

typedef struct {  /* an operand in scratch: element = sum of coef * axis position + tile position */
  uint32_t buf;
  uint8_t side;   /* 0: neither rows nor columns, 1: rows, 2: columns */
  int64_t block_coef, k_coef[NEO_FORM_MAX_AXES];
  int64_t flat_coef; /* columns: of an element in a row of the flat layout; else 0 */
} pack;

typedef struct lowering {
  neo_module *m;
  neo_arena *a;
  neo_kernel *k;
  const neo_group *g;
  const neo_form *f;
  const neo_schedule *s;
  neo_prover *p;
  neo_str *why;
  bool failed;
  neo_map buf_of;
  uint32_t depth; /* loops open */
  axis_value axis[NEO_FORM_MAX_AXES];
  acc_reg acc[MAX_ACCS];
  const neo_lx *row, *col, *lane; /* tile variables at hand; null: 0, or no lanes */
  const neo_stage *stage;         /* whose facts hold */
  neo_facts facts;
  neo_axis_rec fact_axes[NEO_FORM_MAX_AXES];
  const neo_lx *guard;  /* under which loads happen; null: always */
  const neo_lx *mask;   /* lanes that exist; null: all */
  int32_t mask_axis;    /* the axis whose lanes may not exist */
  neo_map memo, safe;
  neo_map packed;       /* expression -> pack + 1 */
  pack packs[8];
  size_t n_packs;
  const neo_contraction *c; /* null: none */
  const tile *tile;
  neo_map merged;       /* expressions over merged axes */
} lowering;

/* ---- lower_expr.c */
void neo_lower_set_axis(lowering *l, uint32_t axis, const neo_lx *e, uint32_t depth); /* one part */
void neo_lower_set_parts(lowering *l, uint32_t axis, axis_value v);
void neo_lower_stage_facts(lowering *l, const neo_stage *s); /* null: shared axes alone */
const neo_lx *neo_lower_expr(lowering *l, neo_expr e);
const neo_lx *neo_lower_cond(lowering *l, neo_expr e); /* null for a condition that is absent */
void neo_lower_forget(lowering *l); /* after axes or accumulators changed other than by set_axis */
const neo_lx *neo_lower_axis(lowering *l, uint32_t axis);
const neo_lx *neo_lower_acc(lowering *l, uint32_t acc);
uint32_t neo_lower_expr_depth(lowering *l, neo_expr e); /* of the innermost loop in which it changes */
void neo_lower_fail(lowering *l, const char *what);

/* Short names for building. */
static inline const neo_lx *lx_int(lowering *l, int64_t x) { return neo_lx_int(l->k, x); }
static inline const neo_lx *lx_add(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_ADD, a, b);
}
static inline const neo_lx *lx_sub(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_SUB, a, b);
}
static inline const neo_lx *lx_mul(lowering *l, const neo_lx *a, int64_t b) {
  return neo_lx_op2(l->k, NEO_OP_MUL, a, neo_lx_int(l->k, b));
}
static inline const neo_lx *lx_div(lowering *l, const neo_lx *a, int64_t b) {
  return neo_lx_op2(l->k, NEO_OP_DIV, a, neo_lx_int(l->k, b));
}
static inline const neo_lx *lx_min(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_MIN, a, b);
}
static inline const neo_lx *lx_max(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_MAX, a, b);
}
/* Opens a loop; returns its body, with *v its variable. Each loop is closed by neo_lower_close. */
neo_block *neo_lower_open(lowering *l, neo_block *in, const char *name, const neo_lx *lo, const neo_lx *hi,
                          int64_t step, const neo_lx **v);
void neo_lower_close(lowering *l);

/* ---- lower_stage.c */
/* Everything at one tile: the stages in order. */
void neo_lower_stages(lowering *l, neo_block *in, const tile *t);
const neo_lx *neo_lower_extent(lowering *l, uint32_t axis); /* of a shared axis */
/* The loops over rows, columns and lanes of a tile; returns the innermost block. lanes: also over lanes. */
neo_block *neo_lower_open_tile(lowering *l, neo_block *in, const tile *t, bool lanes);
void neo_lower_close_tile(lowering *l, const tile *t);

/* ---- lower_pack.c: packs, then neo_lower_block for each block of the reduction */
void neo_lower_blocks(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi, const neo_lx *n_lo,
                      const neo_lx *n_hi);

/* ---- lower_tile.c */
/* Tiles of the block of rows [m_lo, m_hi) and columns [n_lo, n_hi). */
void neo_lower_block(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi, const neo_lx *n_lo,
                     const neo_lx *n_hi);

#endif

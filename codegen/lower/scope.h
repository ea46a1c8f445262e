/* What the files of the lowering share: the kernel being built, and what axes and accumulators are
 * at this place.
 *
 *   lower.c        buffers, units of work, blocks; which way a group is lowered
 *   lower/common/expr.c   expressions of the form -> expressions of the loop IR
 *   lower/common/stage.c  a stage at one register tile: its loops, what is done in them
 *   lower/common/acc.c    its accumulators
 *   lower/common/lanes.c  lanes over its last own axis, and how they are joined
 *   lower/common/store.c  its stores
 *   lower/cpu/tile.c   all tiles of a block: full ones, remainders
 *   lower/common/row_stash.c   values that stages along a row share
 *   lower/cpu/prefetch_rows.c  elements of rows that are asked for before they are read
 *   lower/cpu/pack.c   operands of a contraction in scratch: which, and how they lie there
 *   lower/cpu/copy*.c  how they get there
 *   lower/cpu/prefetch_tile.c  lines that the next tile reads, named to the processor
 *   lower/cpu/matrix.c contractions on the matrix unit
 *   lower/cpu/segment.c  sums over a data equation
 *   lower/cpu/scan.c  reductions whose domain grows with an axis
 *   lower/gpu/rows.c   blocks of threads at points of the shared axes
 *   lower/gpu/rows_join.c     and how their parts of sums are joined
 *   lower/gpu/tile.c    blocks of threads that compute a contraction's tile
 *   lower/gpu/nested.c     blocks of threads for sums inside of sums
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_SCOPE_H
#define NEO_CODEGEN_LOWER_SCOPE_H
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "ir/prove.h"
#include "schedule/gpu_tile/conditions.h"
#include "schedule/tile/prefetch.h"
#include "schedule/row_stash.h"
#include "schedule/pairs/pairs.h"

enum { NEO_MOST_AHEAD = 8 };
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
  uint8_t rank; /* 2: [rows, columns]; 3: [rows, columns, lanes] */
  bool columns; /* more than one */
  bool live;
  uint32_t fragments; /* in a row of them, where it is what warps add to; 0: it is not */
} acc_reg;

typedef struct {          /* the register tile at hand; loops of extent 1 are left out */
  int32_t m_axis, n_axis; /* -1: none */
  int64_t rows, cols, width;
  int64_t apart; /* of two columns along own lanes, in elements; 0: they follow each other */
  bool leads;    /* no tile of rows in the block comes before it */
  const neo_lx *m_at, *n_at; /* first row, first column (element of the vector axis) */
  const neo_lx *m_lo, *m_hi, *n_lo, *n_hi; /* rows and columns of the block */
  uint32_t m_depth, n_depth;
  const neo_lx *n_end;           /* masked: lanes at n_end and beyond are dead; null: all live */
  const neo_lx *m_pack, *n_pack; /* rows and columns from the start of the block, whole tiles */
  const neo_lx *m_sub, *n_sub;   /* and what is left: where a remainder is cut into smaller tiles */
} tile;

typedef struct {       /* an operand in scratch */
  neo_expr from, cond; /* over the axes of the original form; zero where cond does not hold */
  neo_side side;
  uint32_t buf;
  int64_t k_size; /* steps of the reduction in a block, over the own axes that it uses */
  int64_t k_coef[NEO_FORM_MAX_AXES]; /* of own axis k, in elements; 0: not used */
  int64_t k_extent[NEO_FORM_MAX_AXES];
  int64_t tile_coef; /* of the first row or column of a tile, counted from the block */
  int64_t unit;      /* elements between two rows or columns of a tile */
  bool slides;       /* own axis slide.own is part of the index of rows or columns */
  neo_sliding slide;
  int64_t shift, reach; /* of that index; beyond its last */
  /* columns of axes walked as one: buffer where they lie before they are cut into tiles; or -1 */
  int32_t temp;
  int64_t temp_pitch;
  uint32_t temp_axes; /* how many own axes, the last ones, are in there together */
  bool whole;    /* copied for all steps of the reduction, also those that outer axes leave out */
  uint64_t axes; /* shared axes that the copy depends on */
  int32_t level; /* made at the start of this leading loop's body; see lower.c */
  const neo_lx *around; /* iterations of the loops that it is moved out of; null: of none */
} pack;

typedef struct { /* loops of a stage, after its condition was used to narrow them */
  neo_expr lo[NEO_FORM_MAX_AXES], hi[NEO_FORM_MAX_AXES];
  neo_expr where,
      where_original;           /* what is left; over the axes of the form, of the original form */
  neo_clip clip[NEO_MAX_CLIPS]; /* what its condition says about own axes and the rows of a tile */
  uint32_t n_clips;
} stage_bounds;

typedef struct { /* what a load reads in a later step */
  neo_tensor tensor;
  neo_expr offset;
  int64_t step;   /* elements from one to the next */
  uint32_t stage; /* that asks for it */
} neo_ahead;

typedef struct { /* the block of the reduction's first axis at hand */
  bool on;
  const neo_lx *lo, *hi, *is_first, *is_last;
  uint32_t partial; /* buffer of sums so far: [rows, columns] of the block */
  int64_t pitch;
  int64_t size; /* of it */
  const neo_lx *m_lo, *n_lo;
  const neo_lx *at; /* number of the block of rows and columns among those that have sums; null: */
  uint32_t depth;   /* there is one */
} k_block;

typedef struct {
  const neo_lx *e;
  int64_t coef;
  uint32_t depth;
} lower_term;
typedef struct {
  lower_term at[32 * MAX_PARTS];
  uint32_t n;
} lower_terms;

typedef struct lowering {
  neo_module *m;
  neo_arena *a;
  neo_kernel *k;
  const neo_group *g;
  const neo_form *f;
  const neo_schedule *s;
  neo_loop_params loops; /* of s; of rows' threads: their vectors and unrolled steps */
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
  const neo_lx *guard; /* under which loads happen; null: always */
  bool exact;          /* axes may be beyond their ranges: every load is guarded */
  bool bounded;        /* loads happen only where they are inside of their buffers */
  const neo_lx *mask;  /* lanes that exist; null: all */
  int32_t mask_axis;   /* the axis whose lanes may not exist; -1: none is walked by lanes */
  neo_map memo, safe;
  const tile *tile;         /* null: outside of one */
  const neo_form *original; /* f with merged axes apart; f itself if none are merged */
  uint32_t walk_last, walk_n;
  stage_bounds *bounds; /* of each stage */
  neo_map packed;       /* expression -> pack + 1 */
  pack packs[NEO_MAX_FACTORS];
  uint32_t n_packs;
  const neo_lx *k_origin[NEO_FORM_MAX_AXES]; /* where scratch counts own axis k from */
  uint32_t k_origin_depth;
  k_block block;
  neo_fetch fetch[NEO_FETCH_MOST]; /* what a tile fetches for the next one */
  uint32_t n_fetches;
  neo_keeps kept; /* values of rows in scratch */
  uint32_t kept_buf[NEO_KEEP_MOST];
  bool kept_in_threads; /* in registers of a GPU's threads: */
  bool kept_here;       /* which the tile at hand has */
  uint32_t kept_reg[NEO_KEEP_MOST];
  bool kept_moves; /* a row begins in scratch where results in kept_beside do in a page */
  uint32_t kept_beside;
  int64_t kept_stride[NEO_FORM_MAX_AXES]; /* of these results, along each shared axis */
  neo_ahead ahead[NEO_MOST_AHEAD];        /* what rows fetch for the next one */
  uint32_t n_ahead;
  bool clears;             /* stores are of zeros, to sums of runs (lower/common/store.c) */
  neo_matrix_shape matrix; /* on: operands are pairs, for tiles of the matrix unit or for dots */
  uint32_t sums; /* buffer of a tile's results, where there are no blocks of the reduction */
  const neo_lx *acc_value; /* what ACC 0 is where it lies in no register; null: it does */
} lowering;

/* ---- lower/common/expr.c */
void neo_lower_set_axis(lowering *l, uint32_t axis, const neo_lx *e, uint32_t depth); /* one part */
void neo_lower_set_parts(lowering *l, uint32_t axis, axis_value v);
void neo_lower_facts(lowering *l, const neo_form *f,
                     const neo_stage *s); /* null: shared axes alone */
const neo_lx *neo_lower_expr(lowering *l, neo_expr e);
const neo_lx *neo_lower_cond(lowering *l, neo_expr e); /* null for a condition that is absent */
void neo_lower_forget(lowering *l); /* after axes or accumulators changed other than by set_axis */
const neo_lx *neo_lower_axis(lowering *l, uint32_t axis);
const neo_lx *neo_lower_acc(lowering *l, uint32_t acc);
/* Where in fragments of a sum of warps (codegen/loop/warp.h), so many in a row, the thread's row and
 * column are, which it counts for itself: out[2]. */
void neo_lower_in_fragments(lowering *l, uint32_t fragments, const neo_lx *row, const neo_lx *col,
                            const neo_lx **out);
uint32_t neo_lower_expr_depth(lowering *l,
                              neo_expr e); /* of the innermost loop in which it changes */
void neo_lower_fail(lowering *l, const char *what);
void neo_lower_add_term(lower_terms *t, const neo_lx *e, int64_t coef, uint32_t depth);
void neo_lower_add_axis(lowering *l, lower_terms *t, uint32_t axis, int64_t coef);
const neo_lx *neo_lower_sum(lowering *l, const lower_terms *t,
                            int64_t constant); /* outermost first */

/* Short names for building. */
static inline const neo_lx *lx_int(lowering *l, int64_t x) {
  return neo_lx_int(l->k, x);
}
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
static inline const neo_lx *lx_lt(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_LT, a, b);
}
/* A tile's variable as an index; null is 0. */
static inline const neo_lx *lx_or_0(lowering *l, const neo_lx *v) {
  return v ? v : neo_lx_int(l->k, 0);
}
static inline const neo_lx *lx_mod(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_MOD, a, b);
}
/* Conjunction; null is true. */
static inline const neo_lx *lx_and(lowering *l, const neo_lx *a, const neo_lx *b) {
  return !a || !b ? (a ? a : b) : neo_lx_op2(l->k, NEO_OP_AND, a, b);
}
/* Opens a loop; returns its body, with *v its variable. Each loop is closed by neo_lower_close. */
neo_block *neo_lower_open(lowering *l, neo_block *in, const char *name, const neo_lx *lo,
                          const neo_lx *hi, int64_t step, const neo_lx **v);
void neo_lower_close(lowering *l);

/* lo + the largest multiple of n in [0, hi - lo] */
const neo_lx *neo_lower_whole(lowering *l, const neo_lx *lo, const neo_lx *hi, int64_t n);
bool neo_lower_lanes_shared(const lowering *l); /* lanes run over a shared axis */

/* What is known where axes are as the facts at hand say; are all loads of e inside their tensors
 * there, where cond holds? (schedule/gpu_tile/conditions.h) */
static inline neo_condition_context neo_lower_known(const lowering *l) {
  return (neo_condition_context){l->m, l->p, l->f, l->facts};
}
static inline bool neo_lower_safe_under(const lowering *l, neo_expr e, neo_expr cond) {
  neo_condition_context x = neo_lower_known(l);
  return neo_condition_guards(&x, e, cond);
}

/* ---- lower/common/stage.c, lower/common/acc.c, lower/common/lanes.c */
void neo_lower_bounds(lowering *l); /* fills l->bounds */
/* Everything at one tile: the stages in order. */
void neo_lower_stages(lowering *l, neo_block *in, const tile *t);
const neo_lx *neo_lower_extent(lowering *l, uint32_t axis); /* of a shared axis */
/* Its parts, for lanes over a shared axis: accumulators with nothing in them; one body at every
 * element of the tile; the stores. And the loops of a stage, with what its condition says about
 * each put into the bounds; those of one own axis keep to shared axes. */
void neo_lower_begin_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* The same for registers that there are; one body where cond (null: always) holds, at the element
 * of a tile at hand; does s use an accumulator of the other stage? */
void neo_lower_clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
void neo_lower_combine(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *cond);
bool neo_lower_uses_stage(const lowering *l, const neo_stage *s, const neo_stage *of);
/* Payloads of nothing become 0, in copies of the accumulators that the stores after it use: old[]
 * gets those that go on. Without payloads, nothing is done. */
void neo_lower_show_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const acc_reg *shown, acc_reg *old);
bool neo_lower_has_payload(const neo_stage *s);
void neo_lower_end_payloads(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes); /* in place */
/* May lanes each have a part of a stage's steps? Then the parts' registers, [rows, columns, lanes],
 * become one element a row and column of t. */
bool neo_lower_lanes_fit(const lowering *l, const neo_stage *s);
void neo_lower_join_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *part,
                          const tile *t);
void neo_lower_accumulate(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b);
/* A tile's lanes and columns along the stage's last own axis, from `at` on; those at `end` and
 * beyond are dead (null: none are). The same for its results. */
void neo_lower_accumulate_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                              const stage_bounds *b, const neo_lx *at, const neo_lx *end);
void neo_lower_store_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const neo_lx *at, const neo_lx *end);
void neo_lower_store(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* Its results where all axes are as they are set, own ones too; with a tile's lanes (null: none).
 */
void neo_lower_store_point(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* A register for a value of each element of a tile, declared in the block. */
uint32_t neo_lower_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                       int64_t cols, int64_t width);
void neo_lower_push_part(axis_value *v, const neo_lx *e, int64_t scale, uint32_t depth);
/* Vectors that a stage's results are stored in together, for each result; 1: no matter. */
int64_t neo_lower_line(const lowering *l, const neo_stage *s, int64_t width);
stage_bounds neo_lower_bounds_of(lowering *l, const neo_stage *s, uint32_t outermost);
/* The loops over rows, columns and lanes of a tile; returns the innermost block. lanes: also over
 * lanes. */
neo_block *neo_lower_open_tile(lowering *l, neo_block *in, const tile *t, bool lanes);
void neo_lower_close_tile(lowering *l, const tile *t);

static inline int64_t neo_lower_apart(const tile *t) {
  return t->apart ? t->apart : t->width;
}

/* ---- lower/common/row_stash.c: scratch, or registers of threads, for values that several stages along a row
 * need */
void neo_lower_plan_keeps(lowering *l);
/* Registers for columns of so many lanes. */
void neo_lower_declare_keeps(lowering *l, neo_block *in, int64_t columns, int64_t width);
/* After a stage's values at the lanes at hand: those that it is the first to compute. */
void neo_lower_keep(lowering *l, neo_block *in, const neo_stage *s);
/* Of a value that an earlier stage kept, at the lanes at hand; null: there is none. */
const neo_lx *neo_lower_kept(lowering *l, neo_expr e);

/* ---- lower/cpu/prefetch_rows.c: plans those of rows; asks for n elements of the next row from position `at`,
 * in the stages that do; for what a sum with lanes over a shared axis reads some steps after step v
 * of its own axis */
void neo_lower_plan_ahead(lowering *l);
void neo_lower_ahead_rows(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *at,
                          int64_t n);
void neo_lower_ahead_columns(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                             uint32_t own, const neo_lx *v);

/* ---- lower/cpu/pack.c: plans packs; makes those of a level, of rows [range[0], range[1]) and columns
 * [range[2], range[3]); makes those of the innermost level and calls neo_lower_block, for each
 * block of the reduction */
/* Does a range of an own axis depend on another one? */
bool neo_lower_range_moves(const lowering *l, neo_expr lo, neo_expr hi);
void neo_lower_plan_packs(lowering *l);
void neo_lower_make_packs(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range);
/* The loop over blocks of the reduction: what is lowered until it is closed is of one of them. */
neo_block *neo_lower_open_steps(lowering *l, neo_block *in);
void neo_lower_close_steps(lowering *l);
void neo_lower_blocks(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range);

/* ---- lower/cpu/copy.c: the block [range[0], range[1]) of rows and [range[2], range[3]) of columns of
 * an operand. s: of the original form, as the facts. */
void neo_lower_copy(lowering *l, neo_block *in, const pack *p, const neo_stage *s,
                    const stage_bounds *b, const neo_lx *const *range);

/* ---- lower/cpu/prefetch_tile.c: what there is to fetch; for each step of a tile's sum, or its end */
void neo_lower_plan_fetches(lowering *l);
void neo_lower_fetch(lowering *l, neo_block *in, const tile *t, bool at_end);
/* A step's part of what the next copy of the stage's columns reads, or the next tile of rows. */
void neo_lower_fetch_shared(lowering *l, neo_block *in, const tile *t, size_t stage);

/* ---- lower/cpu/matrix.c: instead of packs, copies and tiles, where the schedule says so */
void neo_lower_matrix_plan(lowering *l);
void neo_lower_matrix_copy(lowering *l, neo_block *in, const pack *p, const neo_lx *const *range);
void neo_lower_matrix_block(lowering *l, neo_block *in, const neo_lx *const *range);
/* lower/cpu/dots.c: a tile's sums, in the accumulators that there are */
void neo_lower_dots(lowering *l, neo_block *in, const neo_stage *s, const tile *t);

/* ---- lower/cpu/segment.c: instead of neo_lower_blocks where the schedule says so */
void neo_lower_segment(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi,
                       const neo_lx *n_lo, const neo_lx *n_hi);

/* ---- lower/cpu/scan.c: the same */
void neo_lower_running(lowering *l, neo_block *in, const neo_lx *n_lo, const neo_lx *n_hi);

/* ---- lower.c: ceil(x / n); the loop over units, which is closed where another one follows */
const neo_lx *neo_lower_ceil_div(lowering *l, const neo_lx *x, int64_t n);
neo_block *neo_lower_open_units(lowering *l, neo_block *in, const neo_lx *n, const neo_lx **unit);

/* ---- lower/gpu/rows.c, lower/gpu/tile.c, lower/gpu/nested.c: instead of all else, where the schedule has
 * threads */
void neo_lower_points(lowering *l);
void neo_lower_nested(lowering *l);
void neo_lower_block_tile(lowering *l);

/* ---- lower/cpu/tile.c */
/* Tiles of the block of rows [range[0], range[1]) and columns [range[2], range[3]). */
void neo_lower_block(lowering *l, neo_block *in, const neo_lx *const *range);

#endif

/* The state of a kernel that is being lowered, and the code that several strategies share. The
 * state has the values of axes and accumulators at the current point of code generation.
 *
 * The folders of codegen/lower:
 *
 *   lower.c      buffers of a kernel; the call of the strategy's lowering
 *   common/      expressions, accumulators, lanes, stores, the row stash: no strategy's parameters
 *   loops/       outer loops, units, register tiles, prefetches: for loops, tile, pairs
 *   tile/        operands of a contraction in scratch, and their copies
 *   pairs/       contractions of pairs of bf16
 *   keyed_scan/  running sums of equal keys
 *   segment/     segmented sums (sums over a data equation)
 *   scan/        reductions whose domain grows with an axis
 *   gpu_rows/    blocks of threads at points of the shared axes
 *   gpu_block/   a block's tile of products: operands, copies, pipeline, multiplication
 *   gpu_tile/    blocks of threads that compute a contraction's tile
 *   gpu_nested/  blocks of threads for nested reductions
 *   gpu_scatter/  segmented integer sums whose threads take terms
 *   levels/      the order of a graph by levels, which has no schedule
 *
 * Files of common/ call downwards: store.c, lanes.c, acc.c, bounds.c, units.c, tile.c,
 * prefetch.c, expr.c, row_stash.c, index.c.
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "ir/prove/prove.h"
#include "schedule/gpu_tile/conditions.h"
#include "schedule/pairs/pairs.h"
#include "schedule/row_stash.h"
#include "schedule/tile/prefetch.h"

enum { MOST_ROW_PREFETCHES = 8 };
enum { DEPTH_UNROLL = 1000, DEPTH_LANE = 1001, MAX_PARTS = 6, MAX_ACCS = 16 };

/* The value of an axis: a sum of parts. A part varies in the loop at `depth`; 0: in none. */
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
  bool columns; /* the tile has several columns */
  bool live;
  uint32_t fragments; /* number in a row, if the register holds fragments of a warp's mma; else 0 */
  int64_t first_row;  /* row of the current accumulators, if an element has several */
} acc_reg;

typedef struct {          /* the current register tile; loops of extent 1 are left out */
  int32_t m_axis, n_axis; /* -1: none */
  int64_t rows, cols, width;
  int64_t column_stride;     /* elements between columns along own lanes; 0: they are contiguous */
  bool first_row;            /* the tile is in the block's first tile of rows */
  const neo_lx *m_at, *n_at; /* first row, first column (element of the vector axis) */
  const neo_lx *m_lo, *m_hi, *n_lo, *n_hi; /* rows and columns of the block */
  uint32_t m_depth, n_depth;
  const neo_lx *n_end;           /* mask: lanes from n_end on are dead; null: all are live */
  const neo_lx *m_pack, *n_pack; /* offset of the enclosing full tile from the start of the block */
  const neo_lx *m_sub,
      *n_sub; /* offset in that tile, where a remainder is cut into smaller tiles */
} tile;

typedef struct {       /* a packed operand: a copy in scratch */
  neo_expr from, cond; /* over axes of the original form; the copy is 0 where cond does not hold */
  neo_side side;
  uint32_t buf;
  int64_t k_size; /* steps of a block of the reduction, over the own axes that the operand uses */
  int64_t k_coef[NEO_FORM_MAX_AXES]; /* stride of own axis k, in elements; 0: it is not used */
  int64_t k_extent[NEO_FORM_MAX_AXES];
  int64_t tile_coef; /* stride of a tile's first row or column, counted from the block */
  int64_t unit;      /* elements between two rows or columns of a tile */
  bool slides;       /* own axis slide.own is part of the index of rows or columns */
  neo_sliding slide;
  int64_t shift, reach; /* the sliding index's offset; one more than its largest value */
  int32_t temp;         /* with fused columns: buffer from which tiles are cut; else -1 */
  int64_t temp_pitch;
  uint32_t temp_axes; /* how many of the last own axes the buffer holds at once */
  bool whole; /* the copy covers all steps of the reduction, also those that outer axes leave out */
  uint64_t axes;        /* shared axes that the copy depends on */
  int32_t level;        /* the copy is at the start of this outer loop's body (loops/loops.c) */
  const neo_lx *around; /* trip count of the loops that the copy is hoisted out of; null: of none */
} pack;

typedef struct { /* a condition: sign*(own axis) + rest >= 0, the sign 1 or -1; clip.c */
  uint32_t own;  /* among the stage's */
  int64_t sign;
  neo_linear rest; /* over shared axes and sizes */
} lower_clip;

typedef struct { /* loops of a stage, whose ranges its condition has narrowed */
  neo_expr lo[NEO_FORM_MAX_AXES], hi[NEO_FORM_MAX_AXES];
  neo_expr where,
      where_original; /* the rest of the condition; the same over the original form's axes */
  lower_clip clip[NEO_MAX_CLIPS];
  uint32_t n_clips;
  bool only_clips; /* nothing else is left of the condition */
} stage_bounds;

typedef struct { /* a prefetch of the element that a load reads in a later step */
  neo_tensor tensor;
  neo_expr offset;
  int64_t step;   /* elements between two loads */
  uint32_t stage; /* the stage that prefetches */
} row_prefetch;

typedef struct { /* the current block of the reduction's first axis */
  bool on;
  const neo_lx *lo, *hi, *is_first, *is_last;
  uint32_t partial; /* buffer of partial sums: [rows, columns] of a block */
  int64_t pitch;
  int64_t size; /* elements of a block's partial sums */
  const neo_lx *m_lo, *n_lo;
  const neo_lx
      *at; /* number of the block among those with partial sums; null: there is one block */
  uint32_t depth;
} k_block;

/* The axes of tiles and lanes, which the strategy sets: common/ knows nothing else of a
 * schedule. */
typedef struct {
  int64_t vector_axis;   /* the axis whose iterations are lanes; -1: none */
  int64_t rows, columns; /* axis of a tile's rows; of its columns, if lanes run over an own axis */
  int64_t partial_sums; /* accumulators of an element, which take the steps of its sum cyclically */
  bool flat;            /* a tile has fewer rows than columns */
} lane_axes;

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
  const neo_machine *machine;
  int64_t line_bytes; /* a cache line of it */
  lane_axes lanes;
  neo_prover *p;
  neo_str *why;
  bool failed;
  neo_map buf_of;
  uint32_t depth; /* number of open loops */
  axis_value axis[NEO_FORM_MAX_AXES];
  acc_reg acc[MAX_ACCS];
  const neo_lx *row, *col, *lane; /* the tile's loop variables; null: 0, or no lanes */
  const neo_stage *stage;         /* the stage whose facts hold */
  neo_facts facts;
  neo_axis_rec fact_axes[NEO_FORM_MAX_AXES];
  const neo_lx *guard; /* condition of loads; null: always */
  bool exact;          /* axes may be beyond their ranges: every load is guarded */
  bool bounded;        /* each load is tested to be inside of its buffer */
  const neo_lx *mask;  /* live lanes; null: all */
  int32_t mask_axis;   /* the axis whose lanes may be dead; -1: none */
  neo_map memo, safe;
  const tile *tile;         /* null: outside of a tile */
  const neo_form *original; /* f before axes were fused; f itself if none are */
  uint32_t fused_last, n_fused;
  stage_bounds *bounds; /* bounds of each stage */
  neo_map packed;       /* expression -> pack + 1 */
  pack packs[NEO_MAX_OPERANDS];
  uint32_t n_packs;
  const neo_lx *k_origin[NEO_FORM_MAX_AXES]; /* value of own axis k at which scratch begins */
  uint32_t k_origin_depth;
  k_block block;
  bool narrowed;   /* blocks of rows have the needed rows only, fewer than the axis has */
  bool leaves_out; /* some iterations of the outer loops compute nothing */
  neo_prefetch prefetches[NEO_PREFETCH_MOST]; /* prefetches of a tile for the next one */
  uint32_t n_prefetches;
  bool end_prefetched; /* earlier steps of the tile prefetched for its end */
  neo_stash stash;     /* values of rows that later stages read */
  bool *reads_stash;   /* by stage: the row has all of its positions */
  bool stash_filled
      [NEO_STASH_MOST]; /* the value is stashed at the current point of code generation */
  uint32_t stash_buf[NEO_STASH_MOST];
  int64_t stash_threads; /* threads whose registers hold the stash; 0: it is in scratch */
  bool stash_here;       /* the current tile covers the thread's whole part of the row */
  uint32_t stash_reg[NEO_STASH_MOST];
  bool
      /* a row's offset in scratch follows the results in stash_pages_of (row_stash.c) */
      stash_moves;
  uint32_t stash_pages_of;
  int64_t stash_stride[NEO_FORM_MAX_AXES];          /* stride of these results along shared axes */
  row_prefetch row_prefetches[MOST_ROW_PREFETCHES]; /* prefetches of a row for the next one */
  uint32_t n_row_prefetches;
  bool clears;            /* stores are zeros, to sums over blocks of rows (lower/common/store.c) */
  neo_pairs_shape matrix; /* on: operands are pairs, for tiles of the matrix unit or for dots */
  uint32_t sums;          /* buffer of a tile's sums, if the reduction has no blocks */
  const neo_lx *acc_value; /* the value of ACC 0, if it is in no register; else null */
} lowering;

/* Lowers what is inside of all leading loops of a kernel with loops, for rows [range[0], range[1])
 * and columns [range[2], range[3]). level: the number of these loops. */
typedef void neo_lower_inside(lowering *l, neo_block *in, int32_t level,
                              const neo_lx *const *range);

/* ---- lower/common/index.c */
/* Records a failure; neo_lower returns the first one. */
void neo_lower_fail(lowering *l, const char *what);
/* Sets an axis to an expression that varies in the loop at `depth`, or to a sum of parts. */
void neo_lower_set_axis(lowering *l, uint32_t axis, const neo_lx *e, uint32_t depth);
void neo_lower_set_parts(lowering *l, uint32_t axis, axis_value v);
/* Adds a part to an axis' value; a null expression adds nothing. */
void neo_lower_push_part(axis_value *v, const neo_lx *e, int64_t scale, uint32_t depth);
/* Sets the facts to those of the axes of f and of stage s; null: of shared axes alone. */
void neo_lower_facts(lowering *l, const neo_form *f, const neo_stage *s);
/* Forgets lowered expressions: axes or accumulators changed other than by set_axis. */
void neo_lower_forget(lowering *l);
/* The axis' value at the current point. */
const neo_lx *neo_lower_axis(lowering *l, uint32_t axis);
/* Sums of terms, ordered from the outermost loop inwards. */
void neo_lower_add_term(lower_terms *t, const neo_lx *e, int64_t coef, uint32_t depth);
void neo_lower_add_axis(lowering *l, lower_terms *t, uint32_t axis, int64_t coef);
const neo_lx *neo_lower_sum(lowering *l, const lower_terms *t, int64_t constant);
/* Opens a loop; returns its body, with *v its variable. Each loop is closed by neo_lower_close. */
neo_block *neo_lower_open(lowering *l, neo_block *in, const char *name, const neo_lx *lo,
                          const neo_lx *hi, int64_t step, const neo_lx **v);
void neo_lower_close(lowering *l);
/* lo + the largest multiple of n in [0, hi - lo] */
const neo_lx *neo_lower_floor_to_multiple(lowering *l, const neo_lx *lo, const neo_lx *hi,
                                          int64_t n);
/* Puts a value, or zeros, into elements [from, to) of a buffer. */
void neo_lower_fill(lowering *l, neo_block *in, uint32_t buf, const neo_lx *from, const neo_lx *to,
                    const neo_lx *value);
/* Do lanes run over a shared axis? */
bool neo_lower_lanes_shared(const lowering *l);

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
/* A tile's loop variable as an index; null is 0. */
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
/* The current facts, as schedule/gpu_tile/conditions.h reads them. safe_under: are all loads of e
 * inside their tensors under these facts and cond? */
static inline neo_condition_context neo_lower_condition_context(const lowering *l) {
  return (neo_condition_context){l->m, l->p, l->f, l->facts};
}
static inline bool neo_lower_safe_under(const lowering *l, neo_expr e, neo_expr cond) {
  neo_condition_context x = neo_lower_condition_context(l);
  return neo_condition_guards(&x, e, cond);
}

/* ---- lower/common/row_stash.c: values that several stages along a row need
 * (schedule/row_stash.h), in scratch or in registers of threads */
/* Chooses the values. threads: of the block whose registers hold the values; 0: scratch holds
 * them. */
void neo_lower_plan_row_stash(lowering *l, int64_t threads);
/* Declares the registers of stashed values. */
void neo_lower_declare_row_stash(lowering *l, neo_block *in, int64_t columns, int64_t width);
/* Stashes value k at the current lanes. */
void neo_lower_put_stashed(lowering *l, neo_block *in, uint32_t k, const neo_lx *value);
/* Does the stage read value k, which an earlier stage stashes for the whole row? */
bool neo_lower_reads_stash(const lowering *l, uint32_t k, uint32_t stage);
/* The value that an earlier stage stashed, at the current lanes; null: there is none. */
const neo_lx *neo_lower_stashed(lowering *l, neo_expr e);

/* ---- lower/common/expr.c */
const neo_lx *neo_lower_expr(lowering *l, neo_expr e);
/* Lowers a condition; an absent one is null. */
const neo_lx *neo_lower_cond(lowering *l, neo_expr e);
const neo_lx *neo_lower_acc(lowering *l, uint32_t acc);
/* The row of the current accumulator in its register. */
const neo_lx *neo_lower_acc_row(lowering *l, const acc_reg *r);
/* The indices out[2], in a warp's accumulator fragments (codegen/loop/warp.h), of an element of the
 * thread. row, column: counted among the thread's own; fragments: number in a row. */
void neo_lower_in_fragments(lowering *l, uint32_t fragments, const neo_lx *row, const neo_lx *col,
                            const neo_lx **out);

/* ---- lower/common/units.c */
/* The extent of a shared axis. */
const neo_lx *neo_lower_extent(lowering *l, uint32_t axis);
/* ceil(x / n) */
const neo_lx *neo_lower_ceil_div(lowering *l, const neo_lx *x, int64_t n);
/* Opens the loop over n units. It needs neo_lower_close only if another loop follows. */
neo_block *neo_lower_open_units(lowering *l, neo_block *in, const neo_lx *n, const neo_lx **unit);

/* ---- lower/common/tile.c */
/* Opens the loops over rows, columns and, with `lanes`, lanes of a tile; returns the innermost
 * block. */
neo_block *neo_lower_open_tile(lowering *l, neo_block *in, const tile *t, bool lanes);
void neo_lower_close_tile(lowering *l);

/* Elements between two columns of a tile whose lanes run along an own axis. */
static inline int64_t neo_lower_column_stride(const tile *t) {
  return t->column_stride ? t->column_stride : t->width;
}

/* ---- lower/common/bounds.c */
/* Fills l->bounds: the loops of each stage that reduces. */
void neo_lower_bounds(lowering *l);
/* The loops of a stage, whose bounds its condition has narrowed. Bounds of own axis `outermost` use
 * shared axes alone. */
stage_bounds neo_lower_bounds_of(lowering *l, const neo_stage *s, uint32_t outermost);
/* ---- lower/common/clip.c */
/* The conjuncts that are clips; *all: all conjuncts are. `out` has room for NEO_MAX_CLIPS. */
uint32_t neo_lower_clips_of(lowering *l, neo_expr where, bool *all, lower_clip *out);

typedef struct {                 /* steps of an own axis */
  const neo_lx *lo, *hi;         /* that some element of the tile needs */
  const neo_lx *all_lo, *all_hi; /* that all elements need */
  bool some,
      all; /* a condition narrowed the range; no condition is left inside of [all_lo, all_hi) */
} clipped_range;
clipped_range neo_lower_clip(lowering *l, const stage_bounds *b, uint32_t own, const tile *t,
                             const neo_lx *lo, const neo_lx *hi);

/* The range of own axis k; for the first own axis, the current block of the reduction
 * (lower/common/bounds.c). */
void neo_lower_own_range(lowering *l, const stage_bounds *b, uint32_t k, const neo_lx **lo,
                         const neo_lx **hi);
/* Does a range of an own axis depend on another one? */
bool neo_lower_range_moves(const lowering *l, neo_expr lo, neo_expr hi);
/* Is the range independent of all axes, own and shared? */
bool neo_lower_range_is_one(const lowering *l, neo_expr lo, neo_expr hi);
/* Opens a branch on the condition if it is the same in all of the tile and along lanes of own axis
 * lane_axis (UINT32_MAX: no lanes), or on such a part of it that depends on data. *left: the rest,
 * which each lane tests. */
neo_block *neo_lower_open_where(lowering *l, neo_block *in, const stage_bounds *b,
                                uint32_t lane_axis, neo_expr *left);
/* Does s use an accumulator of the other stage? */
bool neo_lower_uses_stage(const lowering *l, const neo_stage *s, const neo_stage *of);

/* ---- lower/common/acc.c */
/* A register for a value of each element of a tile, declared in the block. */
uint32_t neo_lower_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                       int64_t cols, int64_t width);
/* begin declares accumulators for lanes over a shared axis and sets them to the identity; clear
 * sets declared accumulators to the identity. */
void neo_lower_begin_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
void neo_lower_clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* combine adds a body to the tile's current element, where cond holds (null: always); accumulate
 * does so at every element of the tile. */
void neo_lower_combine(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *cond);
void neo_lower_accumulate(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b);
/* Copies accumulators to `shown`, where payloads of empty reductions become 0, for the following
 * stores. old[] gets the accumulators themselves, for the reductions that continue. */
void neo_lower_show_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const acc_reg *shown, acc_reg *old);
bool neo_lower_has_payload(const neo_stage *s);
/* Makes payloads of empty reductions 0 in place. */
void neo_lower_end_payloads(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes);

/* ---- lower/common/prefetch.c */
/* Prefetches n elements of the next row from position `at`, if the stage has such prefetches. */
void neo_lower_prefetch_row(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *at,
                            int64_t n);

/* ---- lower/common/lanes.c */
/* May lanes share the steps of a stage? */
bool neo_lower_lanes_fit(const lowering *l, const neo_stage *s);
/* Reduces the parts' registers, [rows, columns, lanes], to an element for each row and column of
 * t. */
void neo_lower_join_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *part,
                          const tile *t);
/* Accumulates a tile's lanes and columns along the stage's last own axis, from `at` on. Lanes from
 * `end` on are dead; null: none are. */
void neo_lower_accumulate_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                              const stage_bounds *b, const neo_lx *at, const neo_lx *end);
/* Reduces a stage with lanes along its last own axis. */
void neo_lower_reduce_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            const stage_bounds *b);

/* ---- lower/common/store.c */
/* Stores a stage's results at a tile. */
void neo_lower_store(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* Stores its results along its last own axis, from `at` on; lanes from `end` on are dead. */
void neo_lower_store_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const neo_lx *at, const neo_lx *end);
/* Stores its results at the current value of all axes, own ones too; with a tile's lanes (null:
 * none).
 */
void neo_lower_store_point(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* The number of vectors of each result that are stored together, so that they fill a line; 1: lines
 * do not count. */
int64_t neo_lower_line(const lowering *l, const neo_stage *s, int64_t width);
/* Stashes the values that the stage is the first to compute, at the current lanes. */
void neo_lower_fill_row_stash(lowering *l, neo_block *in, const neo_stage *s);

/* The state of a kernel that is being lowered, and the parts that several strategies use: what axes
 * and accumulators are at the place where code is being made.
 *
 * The folders of codegen/lower:
 *
 *   lower.c      buffers of a kernel; which strategy lowers it
 *   common/      expressions, accumulators, lanes, stores, the row stash: no strategy's parameters
 *   loops/       leading loops, units, register tiles, prefetches: for loops, tile, pairs
 *   tile/        operands of a contraction in scratch, and how they are copied there
 *   pairs/       contractions of pairs of bf16
 *   segment/     sums over a data equation
 *   scan/        reductions whose domain grows with an axis
 *   gpu_rows/    blocks of threads at points of the shared axes
 *   gpu_block/   a block's tile of products: operands, copies, pipeline, multiplication
 *   gpu_tile/    blocks of threads that compute a contraction's tile
 *   gpu_nested/  blocks of threads for nested reductions
 *
 * Files of common/ call downwards: store.c, lanes.c, acc.c, bounds.c, units.c, tile.c, prefetch.c,
 * expr.c, row_stash.c, index.c.
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_SCOPE_H
#define NEO_CODEGEN_LOWER_SCOPE_H
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "ir/prove.h"
#include "schedule/gpu_tile/conditions.h"
#include "schedule/pairs/pairs.h"
#include "schedule/row_stash.h"
#include "schedule/tile/prefetch.h"

enum { MOST_ROW_PREFETCHES = 8 };
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
  int64_t column_stride;     /* of two along own lanes, in elements; 0: they follow each other */
  bool leads;                /* no tile of rows in the block comes before it */
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
} row_prefetch;

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

/* Where tiles lie and lanes run: what common/ knows of a schedule. The strategy sets it. */
typedef struct {
  int64_t vector_axis;   /* the axis whose iterations are lanes; -1: none */
  int64_t rows, columns; /* axes of a tile's rows, and of its columns where lanes are own steps */
  int64_t partial_sums;  /* vectors of them, where lanes run over an own axis */
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
  lane_axes lanes;
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
  uint32_t fused_last, n_fused;
  stage_bounds *bounds; /* of each stage */
  neo_map packed;       /* expression -> pack + 1 */
  pack packs[NEO_MAX_FACTORS];
  uint32_t n_packs;
  const neo_lx *k_origin[NEO_FORM_MAX_AXES]; /* where scratch counts own axis k from */
  uint32_t k_origin_depth;
  k_block block;
  neo_prefetch prefetches[NEO_PREFETCH_MOST]; /* what a tile fetches for the next one */
  uint32_t n_prefetches;
  neo_stash stash; /* values of rows that later stages read */
  uint32_t stash_buf[NEO_STASH_MOST];
  int64_t stash_threads; /* which have them in registers; 0: they are in scratch */
  bool stash_here;       /* the tile at hand is all that a thread has of the row */
  uint32_t stash_reg[NEO_STASH_MOST];
  bool stash_moves; /* a row begins in scratch where the results in stash_pages_of do in a page */
  uint32_t stash_pages_of;
  int64_t stash_stride[NEO_FORM_MAX_AXES];          /* of these results, along each shared axis */
  row_prefetch row_prefetches[MOST_ROW_PREFETCHES]; /* what rows fetch for the next one */
  uint32_t n_row_prefetches;
  bool clears;            /* stores are of zeros, to sums of runs (lower/common/store.c) */
  neo_pairs_shape matrix; /* on: operands are pairs, for tiles of the matrix unit or for dots */
  uint32_t sums; /* buffer of a tile's results, where there are no blocks of the reduction */
  const neo_lx *acc_value; /* what ACC 0 is where it lies in no register; null: it does */
} lowering;

/* ---- lower/common/index.c */
/* The first failure is the reason that the kernel's maker is told. */
void neo_lower_fail(lowering *l, const char *what);
/* An axis is that expression, which changes in the loop at `depth`; or it is a sum of parts. */
void neo_lower_set_axis(lowering *l, uint32_t axis, const neo_lx *e, uint32_t depth);
void neo_lower_set_parts(lowering *l, uint32_t axis, axis_value v);
/* Adds a part to an axis' value; a null expression adds nothing. */
void neo_lower_push_part(axis_value *v, const neo_lx *e, int64_t scale, uint32_t depth);
/* Facts are those of the axes of f and of stage s; null: of shared axes alone. */
void neo_lower_facts(lowering *l, const neo_form *f, const neo_stage *s);
/* Forgets lowered expressions: axes or accumulators changed other than by set_axis. */
void neo_lower_forget(lowering *l);
/* The axis at this place. */
const neo_lx *neo_lower_axis(lowering *l, uint32_t axis);
/* Depth of the innermost loop in which the expression changes. */
uint32_t neo_lower_expr_depth(lowering *l, neo_expr e);
/* Sums of terms, which are put together from the outermost loop inwards. */
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
/* What is known where axes are as the facts at hand say; are all loads of e inside their tensors
 * there, where cond holds? (schedule/gpu_tile/conditions.h) */
static inline neo_condition_context neo_lower_condition_context(const lowering *l) {
  return (neo_condition_context){l->m, l->p, l->f, l->facts};
}
static inline bool neo_lower_safe_under(const lowering *l, neo_expr e, neo_expr cond) {
  neo_condition_context x = neo_lower_condition_context(l);
  return neo_condition_guards(&x, e, cond);
}

/* ---- lower/common/row_stash.c: scratch, or registers of threads, for values that several stages
 * along a row need (schedule/row_stash.h) */
/* Chooses the values; threads: of a block whose threads have registers for them; 0: scratch. */
void neo_lower_plan_row_stash(lowering *l, int64_t threads);
/* Registers for columns of so many lanes. */
void neo_lower_declare_row_stash(lowering *l, neo_block *in, int64_t columns, int64_t width);
/* Puts value k of the stash there, at the lanes at hand. */
void neo_lower_put_stashed(lowering *l, neo_block *in, uint32_t k, const neo_lx *value);
/* The value that an earlier stage put there, at the lanes at hand; null: there is none. */
const neo_lx *neo_lower_stashed(lowering *l, neo_expr e);

/* ---- lower/common/expr.c */
const neo_lx *neo_lower_expr(lowering *l, neo_expr e);
/* Null for a condition that is absent. */
const neo_lx *neo_lower_cond(lowering *l, neo_expr e);
const neo_lx *neo_lower_acc(lowering *l, uint32_t acc);
/* Where in fragments of a sum of warps (codegen/loop/warp.h), so many in a row, the thread's row and
 * column are, which it counts for itself: out[2]. */
void neo_lower_in_fragments(lowering *l, uint32_t fragments, const neo_lx *row, const neo_lx *col,
                            const neo_lx **out);

/* ---- lower/common/units.c */
/* The extent of a shared axis. */
const neo_lx *neo_lower_extent(lowering *l, uint32_t axis);
/* ceil(x / n) */
const neo_lx *neo_lower_ceil_div(lowering *l, const neo_lx *x, int64_t n);
/* The loop over n units; it is closed where another one follows. */
neo_block *neo_lower_open_units(lowering *l, neo_block *in, const neo_lx *n, const neo_lx **unit);

/* ---- lower/common/tile.c */
/* The loops over rows, columns and, with `lanes`, lanes of a tile; returns the innermost block. */
neo_block *neo_lower_open_tile(lowering *l, neo_block *in, const tile *t, bool lanes);
void neo_lower_close_tile(lowering *l);

/* Elements between two columns of a tile along own lanes. */
static inline int64_t neo_lower_column_stride(const tile *t) {
  return t->column_stride ? t->column_stride : t->width;
}

/* ---- lower/common/bounds.c */
/* Fills l->bounds: the loops of each stage that reduces. */
void neo_lower_bounds(lowering *l);
/* The loops of a stage, with what its condition says about each put into the bounds; those of own
 * axis `outermost` keep to shared axes. */
stage_bounds neo_lower_bounds_of(lowering *l, const neo_stage *s, uint32_t outermost);
/* The range of own axis k; of the first one, the block of the reduction at hand. */
void neo_lower_own_range(lowering *l, const stage_bounds *b, uint32_t k, const neo_lx **lo,
                         const neo_lx **hi);
/* Does a range of an own axis depend on another one? */
bool neo_lower_range_moves(const lowering *l, neo_expr lo, neo_expr hi);
/* Where the condition does not change inside the tile, nor along lanes of an own axis (UINT32_MAX:
 * there are none), it is a branch; else *left is what each lane tests. */
neo_block *neo_lower_open_where(lowering *l, neo_block *in, const stage_bounds *b,
                                uint32_t lane_axis, neo_expr *left);
/* Does s use an accumulator of the other stage? */
bool neo_lower_uses_stage(const lowering *l, const neo_stage *s, const neo_stage *of);

/* ---- lower/common/acc.c */
/* A register for a value of each element of a tile, declared in the block. */
uint32_t neo_lower_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                       int64_t cols, int64_t width);
/* Accumulators with nothing in them, for lanes over a shared axis; the same for registers that there
 * are. */
void neo_lower_begin_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
void neo_lower_clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* One body more, where cond (null: always) holds, at the element of a tile at hand; at every element
 * of a tile. */
void neo_lower_combine(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *cond);
void neo_lower_accumulate(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b);
/* Payloads of nothing become 0, in copies of the accumulators that the stores after it use: old[]
 * gets those that go on. Without payloads, nothing is done. */
void neo_lower_show_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const acc_reg *shown, acc_reg *old);
bool neo_lower_has_payload(const neo_stage *s);
/* The same in place. */
void neo_lower_end_payloads(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes);

/* ---- lower/common/prefetch.c */
/* Asks for n elements of the next row from position `at`, in the stages that do. */
void neo_lower_prefetch_row(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *at,
                            int64_t n);

/* ---- lower/common/lanes.c */
/* May lanes each have a part of a stage's steps? */
bool neo_lower_lanes_fit(const lowering *l, const neo_stage *s);
/* The parts' registers, [rows, columns, lanes], become one element a row and column of t. */
void neo_lower_join_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *part,
                          const tile *t);
/* A tile's lanes and columns along the stage's last own axis, from `at` on; those at `end` and
 * beyond are dead (null: none are). */
void neo_lower_accumulate_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                              const stage_bounds *b, const neo_lx *at, const neo_lx *end);
/* The accumulators of a stage, with the steps of its last own axis in lanes. */
void neo_lower_reduce_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            const stage_bounds *b);

/* ---- lower/common/store.c */
/* A stage's results at a tile. */
void neo_lower_store(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* Its results along its last own axis, from `at` on; those at `end` and beyond are dead. */
void neo_lower_store_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const neo_lx *at, const neo_lx *end);
/* Its results where all axes are as they are set, own ones too; with a tile's lanes (null: none). */
void neo_lower_store_point(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
/* Vectors that a stage's results are stored in together, for each result; 1: no matter. */
int64_t neo_lower_line(const lowering *l, const neo_stage *s, int64_t width);
/* Stashes the values of the row that the stage is the first to compute, at the lanes at hand. */
void neo_lower_fill_row_stash(lowering *l, neo_block *in, const neo_stage *s);

#endif

/* Contractions: a form whose only reduction is a sum of a product. No operator is recognized by its
 * name. The axes that each factor uses decide whether an axis is a batch axis (in all factors), a
 * row or column axis (in one factor and in the output), or a reduction axis.
 *
 *   Y[n,k,p,q] = sum[c,r,s] F[k,c,r,s] * (X[n,c,p+r-1,q+s-1] else 0)
 *     factor 0: k c r s        factor 1: n p q c r s (its guard is part of the factor) */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

enum { NEO_MAX_FACTORS = 6, NEO_MAX_OPERANDS = 8 };

typedef struct {
  neo_expr e;
  uint64_t axes;   /* bit k: uses AXIS k */
  uint32_t within; /* bit k: the operand is a part of factor k; 0: it is a factor */
  bool split;      /* the factor has parts */
  double ops;      /* additions of an element of the factor, given its parts */
} neo_factor;

/* A sum of a product. Its operands are the factors and, after them, parts of factors (operands.c).
 * If a factor uses both the rows and the columns of a register tile, the tile reads its parts, each
 * on its own side. */
typedef struct neo_contraction {
  uint32_t stage; /* number of the summing stage */
  uint32_t n, n_operands;
  neo_factor factor[NEO_MAX_OPERANDS];
} neo_contraction;

/* Is the form a contraction? Exactly one stage sums, it sums one product of floats that has at
 * least two factors, and the other stages have no own axes. */
bool neo_contraction_of(neo_module *m, const neo_form *f, neo_contraction *out);

/* Returns the form in which the `n` shared axes that end at `last` are fused. Axis `last` gets the
 * product of their extents and the others get extent 1. Each use of them becomes a quotient or
 * remainder, which cancels in offsets that are linear over the fused range. neo_fused_expr rewrites
 * a single expression. The form is in the module's arena. */
neo_form *neo_form_fused(neo_module *m, const neo_form *f, uint32_t last, uint32_t n);
neo_expr neo_fused_expr(neo_module *m, const neo_form *f, uint32_t last, uint32_t n, neo_expr e);
/* May these axes be fused? All extents but the first one's must be constants. */
bool neo_form_fusible(const neo_module *m, const neo_form *f, uint32_t last, uint32_t n);

/* The side of the register tile that a factor is on. */
typedef enum { NEO_SIDE_NONE, NEO_SIDE_ROWS, NEO_SIDE_COLUMNS, NEO_SIDE_BOTH } neo_side;
/* The side of a factor, by the axes that it uses and those of the tile's rows and columns (bit k:
 * axis k). */
neo_side neo_factor_side(const neo_factor *x, uint64_t row_axes, uint64_t column_axes);

/* Finds the parts of the factors. */
void neo_contraction_split_factors(const neo_module *m, const neo_form *f, neo_contraction *c);
/* Does a tile of these rows and columns read operand k: a factor, or a part of a factor that uses
 * both rows and columns? */
bool neo_operand_is_read(const neo_contraction *c, uint32_t k, uint64_t row_axes,
                         uint64_t column_axes);
/* Additions, for each element of such a tile, of the functions that compute factors from their
 * parts. */
double neo_contraction_functions(const neo_contraction *c, uint64_t row_axes, uint64_t column_axes);

/* The range of an axis over all sizes. False: constants and bounds of sizes do not bound it. */
bool neo_axis_range(neo_module *m, const neo_form *f, const neo_stage *s, uint32_t own, int64_t *lo,
                    int64_t *hi);

/* Does some load of the expression have this stride along the axis? The second one asks for stride
 * 1. */
bool neo_expr_has_stride(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis,
                         int64_t stride);
bool neo_expr_unit_stride(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis);

/* Does the expression, with the stage's condition, slide along shared axis b? Then b and own axis
 * `own`, which runs over [lo, lo + n), occur in it only as alpha*b + beta*own, where alpha >= 1 and
 * beta is 1 or -1 (sliding.c). */
typedef struct {
  uint32_t own;
  int64_t alpha, beta, lo, n;
} neo_sliding;
bool neo_sliding_of(neo_module *m, const neo_form *f, const neo_stage *s, neo_expr e, uint32_t b,
                    neo_sliding *out);

/* A condition of the form of_own*(own axis) + of_shared*(shared axis) + constant >= 0
 * (schedule/tile/clip.c). neo_clips_of writes the conjuncts of `where` that have this form; `out`
 * has room for NEO_MAX_CLIPS. It returns their number; `where` 0 has none. */
enum { NEO_MAX_CLIPS = 16 };
typedef struct {
  uint32_t own, shared; /* numbers: among the stage's own axes; of the AXIS */
  int64_t of_own, of_shared, constant;
} neo_clip;
uint32_t neo_clips_of(neo_module *m, const neo_form *f, neo_expr where, neo_clip *out);

/* Is an innermost loop of `steps` steps unrolled for a register tile of `vectors` vectors? Loops of
 * large tiles are not: LLVM would hoist the loads of all copies and spill them. */
bool neo_steps_unroll(int64_t steps, int64_t vectors);

/* ---- the packed operands of a schedule (codegen/lower/tile/pack.c lays them out) */
/* The side of a factor in the schedule's register tile. */
neo_side neo_schedule_side(const neo_form *f, const neo_schedule *s, const neo_factor *x);
/* Is operand k read by the schedule's tiles? */
bool neo_schedule_reads(const neo_form *f, const neo_schedule *s, const neo_contraction *c,
                        uint32_t k);
typedef struct {
  bool ok; /* the operand can be packed */
  int64_t k_extent[NEO_FORM_MAX_AXES],
      k_size;        /* extents of the own axes that it uses, in a block, and their product */
  int64_t k_unit;    /* elements between two steps of the last of these axes */
  int64_t tile_coef; /* elements for each row or column, at whole tiles */
  int64_t unit;      /* stride of rows or columns in a tile */
  int64_t elements;
  /* The operand slides along its rows or columns: these and own axis `slide.own` are then one
   * index, the last one. */
  bool slides;
  neo_sliding slide;
  int64_t origin, span; /* alpha*(b - first b) + beta*(a - lo) + origin < span */
  int64_t temp_elements,
      temp_pitch;     /* pitch of the temporary that gathers columns of fused axes before tiling */
  uint32_t temp_axes; /* number of the innermost own axes that the temporary holds */
} neo_pack_shape;
/* The layout of a packed factor; not `ok` for one that is on no side or both, or that cannot be
 * packed. */
neo_pack_shape neo_pack_shape_of(neo_module *m, const neo_form *original, const neo_stage *s,
                                 const neo_factor *x, neo_side side, const neo_schedule *sched);
/* Writes the leading loops of a schedule, outermost first (codegen/lower/lower.c). A loop runs over
 * the elements of an axis (block 0), or over blocks of `block` rows or columns. `out` has room for
 * two more than there are axes. Returns their number. */
typedef struct {
  int32_t axis;
  int64_t block;
} neo_outer_loop;
uint32_t neo_schedule_outer_loops(const neo_form *f, const neo_schedule *s, neo_outer_loop *out);
/* The number of flags, elements of a tensor of bools (fusion/form.h), that a leading loop tests at
 * a time. */
enum { NEO_FLAGS_BLOCK = 64 };
/* In a block, are tiles of columns the outer loop and tiles of rows the inner one? This is the
 * default if operands are packed or all rows of a block stay in L1. The schedule's `order` can
 * override it: with rows outside, results are written in long runs, which matters for short
 * reductions; with columns outside, columns that are read in place stay in a cache for all rows. */
bool neo_schedule_columns_first(neo_module *m, const neo_form *f, const neo_schedule *s);
/* Do `elements` elements of `bytes` bytes each stay in a part of L1? */
bool neo_elements_are_near(double elements, int64_t bytes);
/* An upper bound of the steps of the reduction in a block. */
double neo_schedule_block_steps(neo_module *m, const neo_stage *stage, const neo_schedule *s);
/* Bits of blocks_first: the loops whose blocks are the outermost loops. */
enum { NEO_COLUMNS_FIRST = 1, NEO_ROWS_FIRST = 2, NEO_STEPS_FIRST = 4 };
/* Does blocks_first put blocks of the reduction around the loops inside of a unit? */
bool neo_schedule_steps_first(const neo_schedule *s);
/* Does the first own axis have the same range at all points, so that blocks of the reduction can be
 * around those loops? */
bool neo_stage_steps_uniform(const neo_module *m, const neo_form *f, const neo_stage *s);
/* An upper bound of the iterations of a leading loop. */
int64_t neo_outer_loop_most(neo_module *m, const neo_form *original, const neo_schedule *s,
                            const neo_outer_loop *o);
typedef struct {
  int64_t rows, pitch; /* rows and pitch of a block */
  int64_t blocks;      /* blocks whose partial sums are live at a time; -1: too many to count */
} neo_partial_shape;
/* The layout of partial sums of a schedule, in elements. */
neo_partial_shape neo_partial_shape_of(neo_module *m, const neo_form *original,
                                       const neo_schedule *sched);

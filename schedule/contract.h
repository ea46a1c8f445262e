/* Contractions: a form whose only reduction is a sum of a product. Nothing is known by name: how
 * each factor uses the axes says whether an axis is of type batch (in all), row or column (in one
 * factor and the output), or reduced.
 *
 *   Y[n,k,p,q] = sum[c,r,s] F[k,c,r,s] * (X[n,c,p+r-1,q+s-1] else 0)
 *     factor 0: k c r s        factor 1: n p q c r s (its guard is part of the factor) */
#ifndef NEO_SCHEDULE_CONTRACT_H
#define NEO_SCHEDULE_CONTRACT_H
#include "fusion/form.h"
#include "schedule/schedule.h"

enum { NEO_MAX_FACTORS = 6 };

typedef struct {
  neo_expr e;
  uint64_t axes; /* bit k: uses AXIS k */
} neo_factor;

typedef struct neo_contraction {
  uint32_t stage; /* number of the summing stage */
  uint32_t n;
  neo_factor factor[NEO_MAX_FACTORS];
} neo_contraction;

/* Is the form a contraction? One stage sums one product of floats with two factors or more; the
 * others have no own axes. */
bool neo_contraction_of(neo_module *m, const neo_form *f, neo_contraction *out);

/* The form in which the `n` shared axes that end at `last` are walked as one: `last` has the
 * product of their extents, the others have extent 1, and each of their uses is a quotient or
 * remainder, which cancels in offsets that walk them as one anyway. Expressions are rewritten by
 * neo_fused_expr. */
neo_form *neo_form_fused(neo_module *m, const neo_form *f, uint32_t last, uint32_t n);
neo_expr neo_fused_expr(neo_module *m, const neo_form *f, uint32_t last, uint32_t n, neo_expr e);
/* May they be? Extents other than the first one's are constants. */
bool neo_form_fusible(const neo_module *m, const neo_form *f, uint32_t last, uint32_t n);

/* Which side of the register tile a factor is on. */
typedef enum { NEO_SIDE_NONE, NEO_SIDE_ROWS, NEO_SIDE_COLUMNS, NEO_SIDE_BOTH } neo_side;
neo_side neo_factor_side(const neo_factor *x, uint64_t row_axes, uint64_t column_axes);

/* Range of an axis over all sizes: false if not bounded by constants and sizes. */
bool neo_axis_range(neo_module *m, const neo_form *f, const neo_stage *s, uint32_t own, int64_t *lo,
                    int64_t *hi);

/* Has some load of the expression this stride along the axis? Is it contiguous? */
bool neo_expr_has_stride(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis,
                         int64_t stride);
bool neo_expr_unit_stride(neo_module *m, const neo_form *f, neo_expr e, uint32_t axis);

/* Does the expression, and the stage's condition, slide along shared axis b? Then b and own axis
 * `own`, which runs over [lo, lo + n), occur in it only as alpha*b + beta*own, with alpha >= 1 and
 * beta 1 or -1 (sliding.c). */
typedef struct {
  uint32_t own;
  int64_t alpha, beta, lo, n;
} neo_sliding;
bool neo_sliding_of(neo_module *m, const neo_form *f, const neo_stage *s, neo_expr e, uint32_t b,
                    neo_sliding *out);

/* Conditions on steps of the reduction: of_own*(own axis) + of_shared*(shared axis) + constant >=
 * 0 (schedule/tile/clip.c). out: room for NEO_MAX_CLIPS; returns how many of the conjuncts of
 * `where` (0: none) are one. */
enum { NEO_MAX_CLIPS = 16 };
typedef struct {
  uint32_t own, shared; /* number of the own axis; AXIS */
  int64_t of_own, of_shared, constant;
} neo_clip;
uint32_t neo_clips_of(neo_module *m, const neo_form *f, neo_expr where, neo_clip *out);

/* Are so many innermost steps of a register tile of so many vectors unrolled? Few are; not those of
 * large tiles: LLVM would load the rows of all copies first, and keep them on the stack. */
bool neo_steps_unroll(int64_t steps, int64_t vectors);

/* ---- scratch of a schedule, as codegen/lower/tile/pack.c lays it out */
neo_side neo_schedule_side(const neo_form *f, const neo_schedule *s, const neo_factor *x);
typedef struct {
  bool ok; /* it can be packed */
  int64_t k_extent[NEO_FORM_MAX_AXES],
      k_size;        /* of the own axes that it uses: in a block; all together */
  int64_t k_unit;    /* elements between two steps of the last of them */
  int64_t tile_coef; /* elements an element of rows or columns, at whole tiles */
  int64_t unit;      /* elements between two rows or columns of a tile */
  int64_t elements;
  /* along its rows or columns: then these and own axis `slide.own` are one index, the last */
  bool slides;
  neo_sliding slide;
  int64_t shift,
      reach; /* the index is alpha*(b - first b) + beta*(a - lo) + shift, below reach in a block */
  int64_t temp_elements,
      temp_pitch; /* columns of several axes: steps that lie apart before they are cut into tiles */
  uint32_t temp_axes; /* how many own axes, the last ones, are in there together */
} neo_pack_shape;
neo_pack_shape neo_pack_shape_of(neo_module *m, const neo_form *original, const neo_stage *s,
                                 const neo_factor *x, neo_side side, const neo_schedule *sched);
/* The leading loops of a schedule, outermost first (codegen/lower/lower.c): an axis, one step an
 * iteration (block 0), or blocks of so many elements of rows or columns. out: room for two more
 * than there are axes. Returns how many. */
typedef struct {
  int32_t axis;
  int64_t block;
} neo_outer_loop;
uint32_t neo_schedule_outer_loops(const neo_form *f, const neo_schedule *s, neo_outer_loop *out);
/* Are tiles of columns the outer loop of a block, those of rows the inner one? So it is where
 * operands are packed, and where all rows of a block stay in the nearest cache anyway, unless the
 * schedule's order says otherwise: what is written then lies in long runs, which counts where the
 * reduction is short. */
bool neo_schedule_columns_first(neo_module *m, const neo_form *f, const neo_schedule *s);
/* Do so many elements, of so many bytes, stay in a part of the nearest cache? */
bool neo_elements_are_near(double elements, int64_t bytes);
/* Steps of the reduction in a block, at the most. */
double neo_schedule_block_steps(neo_module *m, const neo_stage *stage, const neo_schedule *s);
/* Does blocks_first say that blocks of the reduction are the first of the loops in a unit? */
enum { NEO_STEPS_FIRST = 4 };
bool neo_schedule_steps_first(const neo_schedule *s);
/* It can be: their first own axis has the same range at all points. */
bool neo_stage_steps_alike(const neo_module *m, const neo_form *f, const neo_stage *s);
/* Iterations of a leading loop, at the most. */
int64_t neo_outer_loop_most(neo_module *m, const neo_form *original, const neo_schedule *s,
                            const neo_outer_loop *o);
typedef struct {
  int64_t rows, pitch; /* of a block */
  int64_t blocks;      /* that have sums at a time; -1: too many to count */
} neo_partial_shape;
neo_partial_shape neo_partial_shape_of(neo_module *m, const neo_form *original,
                                       const neo_schedule *sched);

#endif

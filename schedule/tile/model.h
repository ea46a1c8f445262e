/* The model of contractions: facts about one, and the cost of its schedules. Private to
 * schedule/tile.
 *
 *   access.c      the accesses of operands along each axis
 *   clip.c        the share of the reduction's steps that remain under conditions
 *   cost.h        cycles of a schedule
 *   units.h       its units of work, and their balance among cores
 *   block.c       blocks and units for a register tile
 *   model.c       register tiles; entry points */
#pragma once
#include "schedule/model.h"
#include "schedule/tile/units.h"

typedef struct {           /* the loads of an expression along an axis */
  bool unit, strided, odd; /* some load has stride 0 or 1; another constant; no constant */
  bool guarded;            /* the expression has a condition */
  double ops;              /* floating-point operations of the expression */
  int64_t stride;          /* first nonzero stride of a load; 0: none */
  int64_t tile;            /* odd, but contiguous within tiles of `tile` elements; 0: not */
} neo_axis_access;

/* The cost of storing a vector of every result, with the loads for it. */
typedef struct {
  double cycles, far;    /* cycles where lines are cached; lanes' accesses beyond the caches */
  uint32_t scattered;    /* stores of single lanes, which `cycles` and `far` do not count */
  uint64_t shared_along; /* axes along which these share cache lines */
  uint32_t rows;         /* loads of rows of tensors beyond the caches */
} neo_tile_end;

/* The access pattern of a factor along the reduction: `run` adjacent steps, then a jump. */
typedef struct {
  double run;
  bool jumps;
  int64_t jump; /* bytes of the jump */
} neo_tile_walk;

enum { NEO_CLIP_ROWS = 16 }; /* rows of a tile up to which clips are counted */

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_machine *machine;
  const neo_contraction *c;
  const neo_stage *s;
  int64_t shared[NEO_FORM_MAX_AXES], own[NEO_FORM_MAX_AXES]; /* extents */
  int64_t first[NEO_FORM_MAX_AXES];                          /* first values of own axes */
  int64_t most[NEO_FORM_MAX_AXES];                           /* shared axes at the largest sizes */
  struct {
    neo_clip at[NEO_MAX_CLIPS];
    uint32_t n;
    double part[NEO_FORM_MAX_AXES][NEO_CLIP_ROWS + 1]; /* results of neo_tiles_clip; 0: none yet */
  } clips;
  double points, steps; /* points of the shared axes; steps of the reduction */
  double after;         /* additions of the epilogue of an element's sum */
  int64_t lanes, bytes; /* lanes of a register; bytes of an element */
  double line_bytes;    /* a cache line */
  bool whole_sums;      /* the reduction is not blocked */
  uint64_t fixed;       /* shared axes that bound loops: never part of a tile */
  struct {              /* cached accesses of factors along axes */
    bool cached;
    neo_axis_access look;
  } along[NEO_MAX_OPERANDS][2 * NEO_FORM_MAX_AXES];
  struct { /* cached: see neo_tiles_steps */
    bool cached;
    neo_tile_walk walk;
  } steps_of[NEO_MAX_OPERANDS];
  double elements[NEO_MAX_OPERANDS]; /* elements of the operand's tensor */
  struct {                           /* cached: does a factor slide along a shared axis? */
    bool cached, slides;
    neo_sliding slide;
  } slide[NEO_MAX_OPERANDS][NEO_FORM_MAX_AXES];
  struct { /* cached strides of results along shared axes */
    bool cached, same_stride;
    int64_t stride; /* same_stride: that of all results */
    uint64_t unit;  /* results of stride 1, numbered over all stages */
  } results[NEO_FORM_MAX_AXES];
  struct { /* cached accesses along the fused axes of the last query */
    int64_t v, fused;
    neo_axis_access factor[NEO_MAX_OPERANDS];
    int64_t lanes; /* 0: `end` is not computed yet */
    neo_tile_end end;
  } walk;
} neo_tiles;

/* False: the form is not a contraction, or its elements are too wide for lanes. */
bool neo_tiles_begin(neo_tiles *q, neo_contraction *c);
/* The accesses of a factor along AXIS `axis`; along the fused axes of lanes. */
neo_axis_access neo_tiles_along(neo_tiles *q, uint32_t factor, uint32_t axis);
neo_axis_access neo_tiles_columns(neo_tiles *q, uint32_t factor, int64_t v, int64_t fused);
/* Its access pattern along the reduction. (memory.c) */
neo_tile_walk neo_tiles_steps(neo_tiles *q, uint32_t factor);
/* The number of vector accesses that read or store `lanes` lanes over tiles of `tile` elements; 0:
 * each lane has an access of its own. */
int64_t neo_tiles_pieces(const neo_tiles *q, int64_t tile, int64_t lanes);
/* Do all results have this stride along a shared axis? Has the k-th result of all stages stride 1?
 * (Of very many results only the first ones are known.) */
bool neo_tiles_results_have_stride(neo_tiles *q, uint32_t axis, int64_t stride);
bool neo_tiles_result_is_contiguous(neo_tiles *q, uint32_t axis, size_t k);
/* Elements of the tensor that the factor reads; 0: it reads none. */
double neo_tiles_elements(neo_tiles *q, uint32_t factor);
/* Is the factor the same for blocks of rows of any length, contiguous along a shared axis, and
 * small enough for the second cache? */
bool neo_tiles_stay_near(neo_tiles *q, uint32_t factor);
neo_tile_end neo_tiles_end(neo_tiles *q, int64_t v, int64_t fused, int64_t lanes);

/* The share of the steps that remain under the conditions on a shared axis, averaged over tiles of
 * `rows` of its elements. */
double neo_tiles_clip(neo_tiles *q, uint32_t shared, int64_t rows);
/* The share of vector products that test a condition, where lanes run along a shared axis. Where
 * positions of tiles are constants and the innermost steps are unrolled, the condition is known to
 * hold for all lanes of most vectors. */
double neo_tiles_tested(neo_tiles *q, const neo_schedule *s);

/* Elements along the columns of the schedule; along its rows. */
int64_t neo_tiles_column_length(const neo_tiles *q, const neo_schedule *s);
int64_t neo_tiles_row_length(const neo_tiles *q, const neo_schedule *s);
/* The number of elements of which blocks of columns are multiples. */
int64_t neo_tiles_column_unit(const neo_tiles *q, const neo_schedule *s);
/* Would tiles prefetch columns of a large operand (prefetch.h) that are still cached when they are
 * read? */
bool neo_tiles_prefetch_large(neo_tiles *q, const neo_schedule *s);

/* The cost in cycles on one core, if it is below `limit`; else a part of it that is at least
 * `limit`. A search for the cheapest schedule passes the best cost so far, so that most evaluations
 * end early. INFINITY: the whole cost. */
double neo_tiles_cost(neo_tiles *q, const neo_schedule *s, double limit);

/* The cost with the overhead of units of work and of idle cores, with a limit as above. This number
 * ranks schedules. */
double neo_tiles_merit(neo_tiles *q, const neo_schedule *s, double limit);
/* Do tiles of one block of columns follow each other along the rows? (memory.c) */
bool neo_tiles_columns_first(const neo_tiles *q, const neo_schedule *s);
/* Sets blocks and units of a schedule that has its tile; returns its merit. */
double neo_tiles_block(neo_tiles *q, neo_schedule *s);

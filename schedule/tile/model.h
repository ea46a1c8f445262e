/* Private to the model of contractions: what is known about one, and what a schedule of it costs.
 *
 *   look.c        how operands are read along each axis
 *   clip.c        how much of the reduction conditions leave
 *   cost.h        cycles of a schedule
 *   block.c       blocks and units for a register tile
 *   model.c       register tiles; the model from outside */
#ifndef NEO_SCHEDULE_TILE_H
#define NEO_SCHEDULE_TILE_H
#include "schedule/model.h"

typedef struct {           /* an expression along an axis */
  bool unit, strided, odd; /* has loads of stride 0 or 1; of another; of none that is constant */
  bool guarded;            /* there is a condition in it */
  double ops;              /* its floating-point operations */
  int64_t stride;          /* of the first load that has one; 0: no load moves */
  int64_t tile;            /* odd, but next to each other within tiles of so many; 0: no */
} neo_look;

/* Storing a vector of every result, and the loads for it. */
typedef struct {
  double cycles, far;    /* where it is near; accesses lane by lane of what no cache holds */
  uint32_t scattered;    /* stores lane by lane, which are not counted in either */
  uint64_t shared_along; /* axes along which those lie in the same cache lines */
  uint32_t rows;         /* loads of rows of tensors that are larger than the caches */
} neo_tile_end;

enum { NEO_CLIP_ROWS = 16 }; /* most rows of a tile for which clips are known */

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_machine *machine;
  const neo_contraction *c;
  const neo_stage *s;
  int64_t shared[NEO_FORM_MAX_AXES], own[NEO_FORM_MAX_AXES]; /* extents */
  int64_t first[NEO_FORM_MAX_AXES];                          /* values of own axes */
  struct {
    neo_clip at[NEO_MAX_CLIPS];
    uint32_t n;
    double part[NEO_FORM_MAX_AXES][NEO_CLIP_ROWS + 1]; /* see neo_tiles_clip; 0: not known yet */
  } clips;
  double points, steps; /* of the shared axes; of the reduction */
  int64_t lanes, bytes; /* of the widest vector of a register; of an element */
  bool whole_sums;      /* none is kept from block to block of the reduction */
  uint64_t fixed;       /* shared axes that bound loops: never part of a tile */
  struct {              /* remembered looks */
    bool known;
    neo_look look;
  } along[NEO_MAX_FACTORS][2 * NEO_FORM_MAX_AXES];
  double elements[NEO_MAX_FACTORS]; /* of the tensor that a factor reads */
  struct {                          /* and whether factors slide along shared axes */
    bool known, slides;
    neo_sliding slide;
  } slide[NEO_MAX_FACTORS][NEO_FORM_MAX_AXES];
  struct { /* results along shared axes */
    bool known, alike;
    int64_t stride; /* alike: of all of them */
    uint64_t unit;  /* those of stride 1, counted over all stages */
  } results[NEO_FORM_MAX_AXES];
  struct { /* and those of the axes walked as one at last */
    int64_t v, merge;
    neo_look factor[NEO_MAX_FACTORS];
    int64_t lanes; /* 0: the end is not known yet */
    neo_tile_end end;
  } walk;
} neo_tiles;

/* False: no contraction, or one without lanes. */
bool neo_tiles_begin(neo_tiles *q, neo_contraction *c);
/* A factor along AXIS `axis`; columns: along the axes that the lanes walk. */
neo_look neo_tiles_along(neo_tiles *q, uint32_t factor, uint32_t axis);
neo_look neo_tiles_columns(neo_tiles *q, uint32_t factor, int64_t v, int64_t merge);
/* Vectors that as many lanes are read or stored by, which walk tiles of so many elements; 0: it is
 * done lane by lane. */
int64_t neo_tiles_pieces(const neo_tiles *q, int64_t tile, int64_t lanes);
/* Have all results this stride along a shared axis? Is it 1 of the k-th one of all stages,
 * if there are not very many? */
bool neo_tiles_results_follow(neo_tiles *q, uint32_t axis, int64_t stride);
bool neo_tiles_result_runs(neo_tiles *q, uint32_t axis, size_t k);
/* Elements of the tensor that the factor reads; 0: it reads none. */
double neo_tiles_elements(neo_tiles *q, uint32_t factor);
/* Null: it does not slide along the axis. */
const neo_sliding *neo_tiles_slide(neo_tiles *q, uint32_t factor, uint32_t axis);
neo_tile_end neo_tiles_end(neo_tiles *q, int64_t v, int64_t merge, int64_t lanes);

/* The part of the steps that the conditions with a shared axis leave, on average over tiles of so
 * many elements of it. */
double neo_tiles_clip(neo_tiles *q, uint32_t shared, int64_t rows);
/* The part of the vectors of products that a condition tests, where lanes run along a shared axis.
 * Where tiles begin at known places and the innermost steps are unrolled, it is known of most
 * vectors that it holds for all lanes. */
double neo_tiles_tested(neo_tiles *q, const neo_schedule *s);

/* Elements along the columns of the tile; of rows. */
int64_t neo_tiles_column_length(const neo_tiles *q, const neo_schedule *s);
int64_t neo_tiles_row_length(const neo_tiles *q, const neo_schedule *s);
/* Elements that blocks of columns are multiples of. */
int64_t neo_tiles_column_unit(const neo_tiles *q, const neo_schedule *s);
/* Would blocks of tiles fetch columns of a large operand (prefetch.h) that are still near when they
 * are needed? */
bool neo_tiles_prefetch_large(neo_tiles *q, const neo_schedule *s);
/* Cycles of all of it on one core; *units, if that is not null: its units of work. */
double neo_tiles_cost(neo_tiles *q, const neo_schedule *s, double *units);

/* The same, and what units of work cost by being many, or too few to keep cores busy: by this
 * schedules are ranked. */
double neo_tiles_merit(neo_tiles *q, const neo_schedule *s);
/* Sets blocks and units of a schedule that has its tile; returns its merit. */
double neo_tiles_block(neo_tiles *q, neo_schedule *s);

#endif
